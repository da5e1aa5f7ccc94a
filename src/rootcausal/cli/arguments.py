"""Arguments that several commands take: checks of outputs, and loading the model."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..atomic_write import check_can_write
from ..errors import InputError
from ..table_files import table_format
from ..wording import shown

if TYPE_CHECKING:
    from .. import RCI

CohortFile = Annotated[Path, typer.Argument(help="Table with one row per patient, .csv or .parquet.")]
Target = Annotated[str, typer.Option(help="Column with the diagnosis: two labels.")]
Positive = Annotated[
    str | None, typer.Option(help="Label that means disease. Not needed for 0/1, true/false and yes/no.")
]
IdColumn = Annotated[str | None, typer.Option("--id", help="Column with patient ids; not a variable.")]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out; can be given many times.")]
DropMissing = Annotated[bool, typer.Option("--drop-missing", help="Leave out rows with missing values.")]


def table_path(path: Path | None) -> Path | None:
    """Refuse, as wrong usage, an output whose ending names no format."""
    if path is not None:
        try:
            table_format(path)
        except InputError as error:
            raise typer.BadParameter(str(error)) from None
    return path


def check_output(path: Path, *others: Path) -> None:
    """Refuse, before any work, an output that cannot be written or that is one of the other files."""
    for other in others:
        if os.path.realpath(path) == os.path.realpath(other):
            raise typer.BadParameter(f"{shown(path)} would be written over by --out: choose another name.")
    check_can_write(path)


def load_model(path: Path) -> "RCI":
    """Load a model that knows the names of its columns."""
    from .. import RCI

    try:
        model = RCI.load(path)
    except OSError as error:
        raise InputError(f"cannot read the model {shown(path)}: {error.strerror or error}.") from None
    if not hasattr(model, "feature_names_in_"):
        raise InputError(
            f"the model {shown(path)} was fitted on columns without names: fit it on a named table."
        )
    return model
