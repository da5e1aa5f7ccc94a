"""``rootcausal simulate``: a cohort from the paper's generator, in a file."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ..files.results import write_tables
from ..version import __version__
from ..wording import shown
from .console import provenance, say, status_if_slow
from .options import check_output, table_path
from .outcome_options import Prevalence


def simulate(
    out: Annotated[Path, typer.Option(callback=table_path, help="Cohort to write, .csv or .parquet.")],
    rows: Annotated[int, typer.Option(min=4, help="Number of patients.")] = 1000,
    variables: Annotated[
        int, typer.Option(min=2, help="Number of variables, the diagnosis d among them.")
    ] = 10,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same cohort.")] = 0,
    design: Annotated[
        Literal["cohort", "case-control"],
        typer.Option(help="Rows as they come, or as many cases as controls, drawn apart."),
    ] = "cohort",
    prevalence: Prevalence = None,
    truth: Annotated[
        Path | None,
        typer.Option(callback=table_path, help="Also write the true Shapley values to this file."),
    ] = None,
) -> None:
    """Draw a cohort from the paper's generator, with the diagnosis in column d.

    rootcausal simulate --out cohort.csv
    rootcausal simulate --rows 5000 --variables 20 --out cohort.parquet
    rootcausal simulate --seed 1 --out cohort.csv --truth truth.csv
    rootcausal simulate --design case-control --prevalence 0.02 --out study.csv
    """
    import pyarrow as pa

    from ..data import simulate as draw
    from ..inputs.outcome_columns import disease_line

    check_output(out)
    if truth is not None:
        check_output(truth, out)
    if design == "case-control" and prevalence is None:
        raise typer.BadParameter("--design case-control needs --prevalence.", param_hint="--design")
    if design == "case-control" and rows % 2:
        raise typer.BadParameter("half of the rows are cases: give an even number.", param_hint="--rows")
    details: dict[str, Any] = {"rows": rows, "variables": variables, "seed": seed}
    if prevalence is not None:
        details |= {"design": design, "prevalence": prevalence}
    with status_if_slow("drawing and writing the cohort"):
        cohort = draw(
            n_samples=rows, n_variables=variables, random_state=seed, design=design, prevalence=prevalence
        )
        names = cohort.feature_names
        tables: dict[Path, Any] = {
            out: pa.table({**dict(zip(names, cohort.X.T, strict=True)), "d": cohort.y})
        }
        if truth is not None:
            tables[truth] = pa.table(dict(zip(names, cohort.true_shapley.T, strict=True)))
        write_tables(tables, {"version": __version__, "command": "simulate", **details})
    say(f"cohort written to {shown(out)}: {rows} rows, {len(names)} variables")
    say(disease_line("d", "1", int(cohort.y.sum()), rows, prevalence))
    if truth is not None:
        say(f"true Shapley values (log-odds) written to {shown(truth)}")
    say(provenance("simulate", details))
