"""``rootcausal explain``: a model and patients in, their root causes and risks out."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..cohort_files import Patients, stream_new_patients
from ..result_files import write_pieces
from ..version import __version__
from ..wording import listed, one_line, quoted, shown
from .arguments import DropMissing, check_output, load_model, table_path
from .console import say, status_if_slow
from .summaries import made_with, percent, provenance, say_meaning, say_removed

if TYPE_CHECKING:
    from .. import RCI
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
    pieces = _Counted(
        stream_new_patients(
            patients_file, list(model.feature_names_in_), id_column=id_column, drop_missing=drop_missing
        )
    )
    if out is None:
        with status_if_slow(f"reading {quoted(patients_file)}"):
            first = next(iter(pieces))
            for _ in pieces:
                pass  # to the end, since any row may be wrong
        say_removed(pieces.n_removed, pieces.n_rows)
        explanation = model.explain(first.X.slice(0, PATIENTS_SHOWN))
        _print_root_causes(first, explanation, 3 if top is None else top, pieces.n_rows)
    else:
        names = _names_beside(model, id_column)
        made_by = {"version": __version__, "command": "explain", "base_value": float(model.intercept_)}
        details = {"model": model_file.name, **made_with(model)}
        with status_if_slow(f"writing {quoted(out)}"):
            write_pieces(out, (_scores(piece, model, names) for piece in pieces), {**made_by, **details})
        say_removed(pieces.n_removed, pieces.n_rows)
        say(f"scores of {pieces.n_rows} patients written to {shown(out)}")
        say(f"columns: {listed([quoted(n) for n in names])}, then the log-odds that each variable adds")
        say(
            f"base value: {model.intercept_:+.4f}, the log-odds when all shocks are average; "
            "it is not the prevalence"
        )
    say(provenance("explain", {"model": quoted(model_file.name), **made_with(model)}))


class _Counted:
    """The pieces of a table that have rows, as they come, and how many rows came so far."""

    def __init__(self, pieces: Iterator[Patients]) -> None:
        self._pieces = pieces
        self.n_rows = 0
        self.n_removed = 0

    def __iter__(self) -> Iterator[Patients]:
        for piece in self._pieces:
            self.n_rows += piece.X.num_rows
            self.n_removed += piece.n_removed
            if piece.X.num_rows:
                yield piece


def _print_root_causes(patients: Patients, explanation: "Explanation", top: int, n_patients: int) -> None:
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
    n_more = n_patients - PATIENTS_SHOWN
    if n_more > 0:
        say(f"and {n_more} more patients; --out scores.csv writes them all")
    say_meaning(explanation.base_value)


def _names_beside(model: "RCI", id_column: str | None) -> list[str]:
    """Names of the columns for ids, risk and log-odds: a variable of the same name keeps it."""
    taken = set(map(str, model.feature_names_in_))
    names = []
    for name in ("row" if id_column is None else id_column, "risk", "log_odds"):
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return names


def _scores(patients: Patients, model: "RCI", names: list[str]) -> Any:
    """One row a patient: the id or row number, risk, log-odds, and what each variable adds."""
    import pyarrow as pa

    explanation = model.explain(patients.X)
    ids = patients.row_numbers if patients.ids is None else pa.array(patients.ids, pa.string())
    beside = dict(zip(names, (ids, explanation.probability, explanation.log_odds), strict=True))
    return pa.table(beside | dict(zip(explanation.feature_names, explanation.values.T, strict=True)))
