"""Some of everything, in the environment of the Python that runs this: does it work with what is installed?

It needs nothing but the package, its extras and polars, and no pytest.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import rootcausal
from rootcausal import RCI, DirectLiNGAM, RCIRegressor, RCISurvival, plots
from rootcausal.data import load_pbc

STAGES = ["mild", "worse", "grave", "bad"]  # in this order
COMMANDS = ("look", "fit", "explain", "report", "check", "simulate", "demo", "reproduce")
SIMULATED: dict[str, list[object]] = {
    "yes_no": [],
    "case_control": ["--design", "case-control", "--prevalence", 0.1],
    "survival": ["--outcome", "survival"],
    "number": ["--outcome", "continuous"],
    "bent": ["--mechanism", "nonlinear"],
}
OUTCOMES: dict[str, list[object]] = {
    "yes_no": ["--target", "d"],
    "case_control": ["--target", "d", "--prevalence", 0.1],
    "survival": ["--time", "time", "--event", "event"],
    "number": ["--target", "severity", "--outcome", "continuous"],
    "bent": ["--target", "d", "--mechanism", "nonlinear"],
}


def typed(*arguments: object) -> str:
    """What a command prints; it must succeed and be silent about the libraries below."""
    done = subprocess.run(
        [sys.executable, "-m", "rootcausal", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr, (arguments, done.stdout, done.stderr)
    assert "deprecated" not in done.stderr, (arguments, done.stderr)
    return done.stdout


def the_command_line(folder: Path) -> None:
    for command in COMMANDS:
        assert f"rootcausal {command}" in typed(command, "--help")
        assert command in typed("--help")
    for name, options in SIMULATED.items():
        cohort, model = folder / f"{name}.csv", folder / f"{name}.rci"
        truth = folder / f"{name}-truth.parquet"
        typed("simulate", "--rows", 300, "--variables", 5, *options, "--out", cohort, "--truth", truth)
        asked = OUTCOMES[name]
        typed("fit", cohort, *asked, "--bootstrap", 3, "--out", model)
        typed("explain", model, cohort, "--out", folder / f"{name}.parquet")
        typed("explain", model, cohort)
        typed("report", cohort, *asked, "--bootstrap", 3, "--out", folder / f"{name}.html")
        typed("check", cohort, *asked)
        outcome = [word for word in asked if word not in ("--mechanism", "nonlinear", "--prevalence", 0.1)]
        typed("look", cohort, *outcome)
    excel = folder / "cohort.xlsx"
    pd.read_csv(folder / "yes_no.csv").to_excel(excel, index=False)
    typed("fit", excel, "--target", "d", "--out", folder / "excel.rci")


def frames(folder: Path) -> None:
    cohort = load_pbc(complete=False, follow_up=True)
    table = pd.DataFrame(cohort.X, columns=list(cohort.feature_names))
    table["sex"] = np.where(np.arange(len(table)) % 3, "f", "m")
    stage = np.array(STAGES)[np.arange(len(table)) % len(STAGES)]
    table["stage"] = pd.Categorical(stage, STAGES, ordered=True)
    in_polars = pl.from_pandas(table.drop(columns="stage")).with_columns(
        pl.Series("stage", stage, pl.Enum(STAGES))
    )
    risks = []
    for frame in (table, in_polars, pa.Table.from_pandas(table)):
        X: Any = frame
        model = RCI(alpha=1.0).fit(X, cohort.y).bootstrap(2)
        explanation = model.explain(X)
        assert type(explanation.to_frame()) is type(X)
        risks.append(explanation.probability)
    assert all(np.array_equal(risk, risks[0]) for risk in risks)
    path = folder / "pbc.rci"
    model.save(path)
    assert np.array_equal(RCI.load(path).explain(table).probability, risks[0])
    RCISurvival().fit(table, cohort.years, cohort.y).explain(table)
    RCIRegressor().fit(table.drop(columns="age"), table["age"]).explain(table)
    model.diagnose(table, cohort.y)


def neighbours(folder: Path) -> None:
    import anndata
    import matplotlib
    import networkx

    matplotlib.use("Agg")
    cohort = load_pbc()
    table = pd.DataFrame(cohort.X, columns=list(cohort.feature_names))
    model = RCI(alpha=1.0, mechanism="linear").fit(table, cohort.y)
    explanation = model.explain(table)
    assert explanation.to_shap().values.shape[0] == len(table)
    axes = [plots.waterfall(explanation, 0)]
    axes += [draw(explanation) for draw in (plots.beeswarm, plots.prevalence, plots.heatmap)]
    for ax in axes:
        ax.figure.savefig(folder / "figure.svg")
    assert networkx.is_directed_acyclic_graph(DirectLiNGAM().fit(cohort.X).to_networkx())
    outcome = pd.DataFrame({"died": cohort.y}, index=table.index.astype(str))
    cells = anndata.AnnData(cohort.X, outcome)
    assert np.allclose(RCI(alpha=1.0, mechanism="linear").fit(cells, "died").coef_, model.coef_)


def a_cluster() -> None:
    import dask.dataframe as dd
    from distributed import Client

    cohort = load_pbc()
    table = pd.DataFrame(cohort.X, columns=list(cohort.feature_names))
    with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
        far = RCI(backend="dask").fit(dd.from_pandas(table.assign(died=cohort.y), npartitions=2), "died")
    assert np.allclose(far.coef_, RCI(mechanism="linear").fit(table, cohort.y).coef_)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        the_command_line(Path(folder))
        frames(Path(folder))
        neighbours(Path(folder))
    a_cluster()
    print(f"rootcausal {rootcausal.__version__} works with what is installed here")


if __name__ == "__main__":
    main()
