"""``rootcausal simulate``: a cohort from the paper's generator, or a nonlinear one, in a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..files.writing import write_tables
from ..version import __version__
from ..wording import shown
from .console import provenance, say, status_if_slow
from .options import Prevalence, a_share, check_output, of_outcome, table_path

if TYPE_CHECKING:
    from ..data import NonlinearCohort, SimulatedCohort


def simulate(
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", callback=table_path, metavar="FILE", help="Cohort to write, .csv or .parquet."
        ),
    ],
    rows: Annotated[int, typer.Option(min=4, metavar="N", help="Number of patients, 4 or more.")] = 1000,
    variables: Annotated[
        int, typer.Option(min=2, metavar="N", help="Number of variables, 2 or more, the outcome among them.")
    ] = 10,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="The same seed gives the same cohort.")] = 0,
    design: Annotated[
        Literal["cohort", "case-control"],
        typer.Option(
            metavar="cohort|case-control",
            help="Rows as they come, or as many cases as controls, drawn apart.",
        ),
    ] = "cohort",
    prevalence: Prevalence = None,
    outcome: Annotated[
        Literal["binary", "survival", "continuous", "ordinal", "count"],
        typer.Option(
            metavar="binary|survival|continuous|ordinal|count",
            help="A diagnosis, the time to an event, a number, stages, or a count.",
        ),
    ] = "binary",
    events: Annotated[
        float | None,
        of_outcome(
            parser=a_share,
            metavar="SHARE",
            help="Share of the population whose event is seen before follow-up ends; 0.62 unless given.",
        ),
    ] = None,
    mechanism: Annotated[
        Literal["linear", "nonlinear"],
        typer.Option(
            metavar="linear|nonlinear",
            help="Linear relations, as in the paper, or nonlinear ones.",
        ),
    ] = "linear",
    truth: Annotated[
        Path | None,
        typer.Option(
            callback=table_path, metavar="FILE", help="Also write the true Shapley values to this file."
        ),
    ] = None,
) -> None:
    """Draw a cohort from the paper's generator, with the diagnosis in column d.

    Another outcome is in columns time and event (1: it happened then, 0: last seen without it), severity,
    stage or events.

    rootcausal simulate --out cohort.csv
    rootcausal simulate --rows 5000 --variables 20 --out cohort.parquet
    rootcausal simulate --seed 1 --out cohort.csv --truth truth.csv
    rootcausal simulate --design case-control --prevalence 0.02 --out study.csv
    rootcausal simulate --outcome survival --events 0.35 --out cohort.csv
    rootcausal simulate --mechanism nonlinear --out cohort.csv --truth truth.csv
    """
    import pyarrow as pa

    from ..data.simulate import SIMULATORS

    check_output(out)
    if truth is not None:
        check_output(truth, out)
    beyond: dict[str, Any] = {
        "design": design,
        "prevalence": prevalence,
        "outcome": outcome,
        "events": events,
    }
    _check(rows, mechanism, **beyond)
    details: dict[str, Any] = {"rows": rows, "variables": variables, "seed": seed}
    if prevalence is not None:
        details |= {"design": design, "prevalence": prevalence}
    if outcome != "binary":
        details |= {"outcome": outcome} | ({} if events is None else {"events": events})
    if mechanism == "nonlinear":
        details |= {"mechanism": mechanism}
    with status_if_slow("drawing and writing the cohort"):
        cohort = _drawn(rows, variables, seed, mechanism, beyond)
        names = cohort.feature_names
        tables: dict[Path, Any] = {
            out: pa.table({**dict(zip(names, cohort.X.T, strict=True)), **_outcome_columns(cohort)})
        }
        if truth is not None:
            tables[truth] = pa.table(dict(zip(names, cohort.true_shapley.T, strict=True)))
        write_tables(tables, {"version": __version__, "command": "simulate", **details})
    say(f"cohort written to {shown(out)}: {rows} rows, {len(names)} variables")
    say(_outcome_line(cohort, prevalence))
    if truth is not None:
        say(f"true Shapley values ({SIMULATORS[outcome].scale}) written to {shown(truth)}")
    say(provenance("simulate", details))


def _check(
    rows: int, mechanism: str, design: str, prevalence: float | None, outcome: str, events: float | None
) -> None:
    """Refuse options that do not go together."""
    if design == "case-control" and prevalence is None:
        raise typer.BadParameter("--design case-control needs --prevalence.", param_hint="--design")
    if design == "case-control" and rows % 2:
        raise typer.BadParameter("half of the rows are cases: give an even number.", param_hint="--rows")
    if outcome != "binary" and (design != "cohort" or prevalence is not None):
        hint = "--design" if prevalence is None else "--prevalence"
        raise typer.BadParameter(f"only a diagnosis has it, not --outcome {outcome}.", param_hint=hint)
    if events is not None and outcome != "survival":
        raise typer.BadParameter("it needs --outcome survival.", param_hint="--events")
    if mechanism == "nonlinear" and (outcome != "binary" or prevalence is not None):
        hint = "--prevalence" if prevalence is not None else "--outcome"
        raise typer.BadParameter("leave it out with --mechanism nonlinear.", param_hint=hint)


def _drawn(
    rows: int, variables: int, seed: int, mechanism: str, beyond: dict[str, Any]
) -> "SimulatedCohort | NonlinearCohort":
    from ..data import simulate as draw
    from ..data import simulate_nonlinear

    if mechanism == "nonlinear":
        return simulate_nonlinear(n_samples=rows, n_variables=variables, random_state=seed)
    return draw(n_samples=rows, n_variables=variables, random_state=seed, **beyond)


def _outcome_columns(cohort: "SimulatedCohort | NonlinearCohort") -> dict[str, Any]:
    name, time = cohort.target_name.lower(), getattr(cohort, "time", None)
    return {name: cohort.y} if time is None else {"time": time, name: cohort.y}


def _outcome_line(cohort: "SimulatedCohort | NonlinearCohort", prevalence: float | None) -> str:
    from ..inputs.binary import disease_line

    *_, name = _outcome_columns(cohort)
    y, rows = cohort.y, len(cohort.y)
    if "time" in _outcome_columns(cohort):
        return f"{name} = 1 in {y.sum()} of {rows} patients; the others were last seen without it, at time"
    if name != "d":
        return f"{name}: mean {y.mean():.2f}, standard deviation {y.std():.2f}"
    return disease_line(name, "1", int(y.sum()), rows, prevalence)
