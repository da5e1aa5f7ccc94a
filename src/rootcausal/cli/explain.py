"""``rootcausal explain``: a model and patients in, their root causes and risks out."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..cohort_files import Patients, read_new_patients
from ..result_files import write_tables
from ..version import __version__
from ..wording import listed, one_line, quoted, shown
from .arguments import DropMissing, check_output, load_model, table_path
from .console import say, status_if_slow
from .summaries import made_with, percent, provenance, say_meaning, say_removed

if TYPE_CHECKING:
    from ..explanation import Explanation

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
    read back exactly as computed.

    rootcausal explain model.rci new.csv --id patient
    rootcausal explain model.rci new.csv --id patient --out scores.csv
    rootcausal explain model.rci new.csv --drop-missing --out scores.parquet
    """
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
    if out is None:
        _print_root_causes(
            patients, model.explain(patients.X.slice(0, PATIENTS_SHOWN)), 3 if top is None else top
        )
    else:
        explanation = model.explain(patients.X)
        _write_scores(out, patients, explanation, id_column, {"model": model_file.name, **made_with(model)})
    say(provenance("explain", {"model": quoted(model_file.name), **made_with(model)}))


def _print_root_causes(patients: Patients, explanation: "Explanation", top: int) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(
        "patient", "risk", "log-odds", "root causes, with the log-odds that each adds", box=box.SIMPLE
    )
    for row, causes in enumerate(explanation.root_causes(top=top)):
        label = patients.ids[row] if patients.ids is not None else ""
        table.add_row(
            one_line(label, 40) or f"row {patients.row_numbers[row]}",
            percent(explanation.probability[row]),
            f"{explanation.log_odds[row]:+.2f}",
            ", ".join(f"{one_line(c.variable, 40)} {c.shapley:+.2f}" for c in causes)
            or "none: no shock raises the risk",
        )
    width = None if sys.stdout.isatty() else 110
    # Names are data: nothing in them may act as markup or turn into an emoji.
    Console(markup=False, emoji=False, highlight=False, width=width).print(table)
    n_more = patients.X.num_rows - PATIENTS_SHOWN
    if n_more > 0:
        say(f"and {n_more} more patients; --out scores.csv writes them all")
    say_meaning(explanation.base_value)


def _write_scores(
    out: Path,
    patients: Patients,
    explanation: "Explanation",
    id_column: str | None,
    details: dict[str, Any],
) -> None:
    import pyarrow as pa

    scores = {str(name): explanation.values[:, k] for k, name in enumerate(explanation.feature_names)}
    first: dict[str, Any] = {}
    for name, column in (
        ("row", patients.row_numbers)
        if id_column is None
        else (id_column, pa.array(patients.ids, pa.string())),
        ("risk", explanation.probability),
        ("log_odds", explanation.log_odds),
    ):
        # A variable of the same name keeps it; the column beside it gives way.
        free = name
        while free in scores or free in first:
            free += "_"
        first[free] = column
    base_value = float(explanation.base_value)
    made_by = {"version": __version__, "command": "explain", "base_value": base_value, **details}
    with status_if_slow(f"writing {quoted(out)}"):
        write_tables({out: pa.table(first | scores)}, made_by)
    say(f"scores of {patients.X.num_rows} patients written to {shown(out)}")
    say(f"columns: {listed([quoted(name) for name in first])}, then the log-odds that each variable adds")
    say(f"base value: {base_value:+.4f}, the log-odds when all shocks are average; it is not the prevalence")
