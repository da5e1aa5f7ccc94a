"""``rootcausal demo``: a first look, on a cohort that comes with the package."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..wording import percent, shown, together
from .console import (
    made_with,
    provenance,
    say,
    say_known,
    say_meaning,
    say_order,
    warn_of_limits,
    words_of_model,
)
from .options import check_output, page_path, table_path

if TYPE_CHECKING:
    from ..explaining.explanation import Explanation

# Enough for intervals to look at, and few enough not to keep anybody waiting.
RESAMPLES = 100


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", callback=page_path, metavar="FILE", help="Page to write, .html.")
    ] = Path("rootcausal-demo.html"),
    table_file: Annotated[
        Path | None,
        typer.Option(
            "--table",
            callback=table_path,
            metavar="FILE",
            help="Also write the cohort to this .csv or .parquet file, to try the other commands on.",
        ),
    ] = None,
) -> None:
    """Fit a cohort that comes with the package, explain three of its patients, and write their page.

    rootcausal demo
    rootcausal demo --out page.html --table pbc.csv
    """
    import numpy as np
    import pyarrow as pa

    from ..data import load_pbc
    from ..estimators.classifier import RCI
    from ..files.writing import write_tables
    from ..inputs.binary import Diagnosis
    from ..inputs.knowledge import Knowledge
    from ..report import write_report

    check_output(out)
    if table_file is not None:
        check_output(table_file, out)
    cohort = load_pbc()
    if table_file is not None:
        write_tables({table_file: cohort.to_frame()}, {})
    table = pa.table(dict(zip(cohort.feature_names, cohort.X.T, strict=True)))
    known = Knowledge.of(cohort.knowledge)
    model = RCI(knowledge=known, progress=sys.stderr.isatty()).fit(table, cohort.y)
    explanation = model.explain(table)
    say(f"{cohort.description}.")
    say(f"disease: {cohort.target_name} = 1 ({int(cohort.y.sum())} of {len(cohort.y)} patients)")
    say_known(known)
    words = words_of_model(model)
    say_order(model, words)
    by_risk = np.argsort(explanation.log_odds, kind="stable")
    chosen = {"highest": by_risk[-1], "median": by_risk[len(by_risk) // 2], "lowest": by_risk[0]}
    for word, row in chosen.items():
        say()
        _describe_patient(
            f"Patient {cohort.ids[row]}, the {word} risk of the cohort", explanation, int(row), cohort.units
        )
    say()
    say_meaning(words, explanation.base_value, explanation.covariates, explanation.notable_from)
    model.bootstrap(RESAMPLES, progress=sys.stderr.isatty())
    diagnosis = write_report(
        model.set_labels(cohort.labels),
        table,
        out,
        known=Diagnosis(cohort.y, None),
        ids=cohort.ids,
        units=cohort.units,
        target=cohort.target_name,
        notes=[cohort.description],
    )
    warn_of_limits(diagnosis, "the page")
    if table_file is not None:
        say(f"the cohort itself written to {shown(table_file)}")
    say(f"page about all {len(cohort.y)} patients written to {shown(out.resolve())}: open it in a browser")
    say(provenance("demo", made_with(model)))


def _describe_patient(title: str, explanation: "Explanation", row: int, units: dict[str, str]) -> None:
    def line(name: str, measured: str, shock: str, log_odds: str) -> None:
        say(f"  {name:<30} {measured:<16} {shock:<10} {log_odds:>8}")

    causes = explanation.root_causes(top=3)[row]
    say(f"{title}: {percent(explanation.probability[row])}")
    line("", "measured", "own shock", "log-odds")
    line("base value", "", "", f"{explanation.base_value:+.2f}")
    if explanation.covariates:
        line(together(explanation.covariates, 30), "", "", f"{explanation.covariate_effect[row]:+.2f}")
    for place, cause in enumerate(causes, start=1):
        measured = f"{cause.value:.4g} {units[cause.variable]}" if cause.level is None else cause.level
        line(
            f"root cause {place}: {cause.variable}",
            measured,
            f"{cause.error:+.1f} SD",
            f"{cause.shapley:+.2f}",
        )
    if not causes:
        line("no cause was found that stands out", "", "", "")
    rest = explanation.values[row].sum() - sum(cause.shapley for cause in causes)
    line("all other variables together", "", "", f"{rest:+.2f}")
    line("this patient", "", "", f"{explanation.log_odds[row]:+.2f}")
