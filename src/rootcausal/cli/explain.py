"""``rootcausal explain``: a model and patients in, their root causes and risks out."""

from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..cohort_files import Patients, read_new_patients
from ..errors import InputError
from ..result_files import write_tables
from ..version import __version__
from ..wording import listed, one_line, quoted, shown
from .arguments import DropMissing, check_output, load_model, table_path
from .console import print_table, say, status_if_slow
from .summaries import made_with, patient_label, percent, provenance, say_meaning, say_removed
from .what_if import Question, answer_columns, parse_question, print_answers

if TYPE_CHECKING:
    from ..explanation import Explanation, RootCause

PATIENTS_SHOWN = 10


def explain(
    model_file: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model file written by rootcausal fit.")
    ],
    patients_file: Annotated[
        Path, typer.Argument(metavar="PATIENTS", help="Table of patients, .csv or .parquet.")
    ],
    id_column: Annotated[str | None, typer.Option("--id", help="Column with patient ids.")] = None,
    drop_missing: DropMissing = False,
    top: Annotated[
        int | None, typer.Option(min=1, show_default="3", help="Root causes to print for each patient.")
    ] = None,
    what_if: Annotated[
        str | None,
        typer.Option(metavar="VARIABLE=SHOCK", help="Set a shock, in standard deviations; 0 takes it away."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(callback=table_path, help="Write all scores to this .csv or .parquet file."),
    ] = None,
) -> None:
    """Rank the root causes of each patient, and give the risk.

    Columns are matched by name, in any order; columns that the model does not
    know are not read.

    With --out, the table has one row per patient: the id (or the row number),
    risk (a probability), log_odds, and for each variable the log-odds that the
    patient's shock on it adds (its Shapley value). In a CSV file, a name or id
    that a spreadsheet would run as a formula gets a leading apostrophe; numbers
    read back exactly as computed. A model fitted with --bootstrap adds the ends
    of a 95% interval and the share of resamples in which the variable is a root
    cause, and --what-if the risk and the measurements it predicts.

    rootcausal explain model.rci new.csv --id patient
    rootcausal explain model.rci new.csv --id patient --out scores.csv
    rootcausal explain model.rci new.csv --drop-missing --out scores.parquet
    rootcausal explain model.rci new.csv --id patient --what-if bili=0
    """
    question = parse_question(what_if)
    if out is not None:
        if top is not None:
            raise typer.BadParameter(
                "--top is for the printed table; --out writes every variable.", param_hint="--top"
            )
        check_output(out, model_file, patients_file)
    model = load_model(model_file)
    with status_if_slow(f"reading {quoted(patients_file)}"):
        patients = read_new_patients(
            patients_file, list(model.feature_names_in_), id_column=id_column, drop_missing=drop_missing
        )
    say_removed(patients)
    if question is not None and question.variable not in model.feature_names_in_:
        raise InputError(
            f"the model has no variable {quoted(question.variable)} (--what-if); it has "
            f"{listed([quoted(name) for name in model.feature_names_in_], 10)}."
        )
    if out is None:
        explanation = model.explain(patients.X.slice(0, PATIENTS_SHOWN))
        if question is not None:
            print_answers(question, patients, explanation)
        else:
            _print_root_causes(patients, explanation, 3 if top is None else top)
    else:
        explanation = model.explain(patients.X)
        details = {"model": model_file.name, **made_with(model)}
        if question is not None:
            details["what_if"] = f"{question.variable}={question.shock:g}"
        _write_scores(out, patients, explanation, id_column, question, details)
    say(provenance("explain", {"model": quoted(model_file.name), **made_with(model)}))


def _print_root_causes(patients: Patients, explanation: "Explanation", top: int) -> None:
    rows = [
        (
            patient_label(patients, row),
            percent(explanation.probability[row]),
            f"{explanation.log_odds[row]:+.2f}",
            ", ".join(_cause(cause) for cause in causes) or "none: no shock raises the risk",
        )
        for row, causes in enumerate(explanation.root_causes(top=top))
    ]
    print_table(("patient", "risk", "log-odds", "root causes, with the log-odds that each adds"), rows)
    if explanation.frequency is not None:
        say("in brackets: 95% interval, and the share of resamples in which it is a root cause")
    n_more = patients.X.num_rows - PATIENTS_SHOWN
    if n_more > 0:
        say(f"and {n_more} more patients; --out scores.csv writes them all")
    say_meaning(explanation.base_value)


def _cause(cause: "RootCause") -> str:
    text = f"{one_line(cause.variable, 40)} {cause.shapley:+.2f}"
    if cause.frequency is None:
        return text
    return f"{text} ({cause.lower:+.2f} to {cause.upper:+.2f}, {percent(cause.frequency)})"


def _uncertainty_columns(explanation: "Explanation") -> list[tuple[str, Any]]:
    """For each variable the ends of its interval and its frequency; nothing without a bootstrap."""
    return [
        (f"{name}_{kind}", values[:, place])
        for place, name in enumerate(explanation.feature_names)
        for kind in ("lower", "upper", "frequency")
        if (values := getattr(explanation, kind)) is not None
    ]


def _named_apart(columns: list[tuple[str, Any]], taken: Container[str]) -> dict[str, Any]:
    """A variable of the same name keeps it; the column beside it gives way."""
    named: dict[str, Any] = {}
    for name, column in columns:
        free = name
        while free in taken or free in named:
            free += "_"
        named[free] = column
    return named


def _write_scores(
    out: Path,
    patients: Patients,
    explanation: "Explanation",
    id_column: str | None,
    question: Question | None,
    details: dict[str, Any],
) -> None:
    import pyarrow as pa

    scores = {str(name): explanation.values[:, k] for k, name in enumerate(explanation.feature_names)}
    who = (
        ("row", patients.row_numbers)
        if id_column is None
        else (id_column, pa.array(patients.ids, pa.string()))
    )
    first = _named_apart([who, ("risk", explanation.probability), ("log_odds", explanation.log_odds)], scores)
    more = _uncertainty_columns(explanation)
    if question is not None:
        more += answer_columns(question, explanation)
    beside = _named_apart(more, scores | first)
    base_value = float(explanation.base_value)
    made_by = {"version": __version__, "command": "explain", "base_value": base_value, **details}
    with status_if_slow(f"writing {quoted(out)}"):
        write_tables({out: pa.table(first | scores | beside)}, made_by)
    say(f"scores of {patients.X.num_rows} patients written to {shown(out)}")
    say(
        f"columns: {listed([quoted(name) for name in first])}, then the log-odds that each variable adds"
        + (f", then {listed([quoted(name) for name in beside], 3)}" if beside else "")
    )
    say(f"base value: {base_value:+.4f}, the log-odds when all shocks are average; it is not the prevalence")
