"""Options that several commands take, and the files that they name: outputs, cohorts and models."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import InputError
from ..files.atomic_write import check_can_write
from ..files.tables import refuse_streams, table_format
from ..wording import quoted, shown
from .console import say_cohort, say_disease, say_removed, status_if_slow
from .doubts import warn_of_doubts

if TYPE_CHECKING:
    from ..estimator import RCI
    from ..inputs.from_file import Patients
    from ..inputs.roles import Roles
    from ..inputs.target import Disease


def _between_0_and_1(alpha: float) -> float:
    if not 0 < alpha <= 1:
        raise typer.BadParameter("must be above 0 and at most 1.")
    return alpha


def _a_share(text: str) -> float:
    number, percent = text.removesuffix("%"), text.endswith("%")
    try:
        share = float(number)
    except ValueError:
        share = float("nan")
    if 0 < share < 1 and not percent:
        return share
    hint = f"; {share:g}% is {share / 100:g}" if 0 < share < 100 else ""
    raise typer.BadParameter(f"must be a share between 0 and 1{hint}.")


CohortFile = Annotated[Path, typer.Argument(help="Table with one row per patient, .csv or .parquet.")]
TargetColumn = Annotated[str, typer.Option(help="Column with the diagnosis: two labels.")]
Positive = Annotated[
    str | None,
    typer.Option(help="Label that means disease. Not needed for 0/1, true/false, yes/no or control/case."),
]
IdColumn = Annotated[str | None, typer.Option("--id", help="Column with patient ids; not a variable.")]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out; can be given many times.")]
DropMissing = Annotated[bool, typer.Option("--drop-missing", help="Leave out rows with missing values.")]
Alpha = Annotated[
    float, typer.Option(callback=_between_0_and_1, help="Level of the test that leaves variables out.")
]
Prevalence = Annotated[
    float | None,
    typer.Option(
        parser=_a_share,
        metavar="SHARE",
        help="Share of the population with the disease, 0.02 for 2%; needed where cases and controls were "
        "sampled apart.",
    ),
]
VariantName = Annotated[
    Literal["original", "plus", "local", "local_plus"],
    typer.Option(help="Which of the paper's four searches."),
]
AttributionName = Annotated[
    Literal["sharp", "paper"], typer.Option(help="How shocks become log-odds; paper: as published.")
]
BackendName = Annotated[Literal["auto", "numpy", "numba", "cupy"], typer.Option(help="What does the sums.")]
Resamples = Annotated[
    int | None, typer.Option("--bootstrap", min=2, help="Resamples, for intervals; 200 is usual.")
]
Jobs = Annotated[
    int | None, typer.Option(help="Resamples to learn from at once; -1 is one a core.", show_default="1")
]


def table_path(path: Path | None) -> Path | None:
    """Refuse, as wrong usage, an output whose ending names no format."""
    if path is not None:
        try:
            table_format(path)
        except InputError as error:
            raise typer.BadParameter(str(error)) from None
    return path


def page_path(path: Path) -> Path:
    """Refuse, as wrong usage, a page whose name has another ending."""
    # The ending keeps a slip of the hand from replacing a table by a page.
    if path.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter("the name of a page ends in .html, for example report.html.")
    return path


def check_output(path: Path, *others: Path) -> None:
    """Refuse, before any work, an output that cannot be written or that is one of the other files."""
    for other in others:
        if os.path.realpath(path) == os.path.realpath(other):
            raise typer.BadParameter(f"{shown(path)} would be written over by --out: choose another name.")
    check_can_write(path)


def read_labelled(
    cohort: Path, roles: "Roles", prevalence: float | None, *, quiet: bool = False
) -> "tuple[Patients, Disease]":
    """Read a cohort with its diagnosis, and say what was read."""
    from ..inputs.from_file import read_labelled_cohort

    with status_if_slow(f"reading {quoted(cohort)}"):
        patients, disease = read_labelled_cohort(cohort, roles)
    if not quiet:
        n_rows = patients.X.num_rows
        say_cohort(shown(cohort), n_rows, patients.X.num_columns)
        say_removed(patients.n_removed, n_rows)
        say_disease(roles.target, disease, n_rows, prevalence)
    warn_of_doubts(patients, roles.target)
    return patients, disease


def load_model(path: Path) -> "RCI":
    """Load a model that knows the names of its columns."""
    from ..estimator import RCI

    refuse_streams(path)
    try:
        model = RCI.load(path)
    except OSError as error:
        raise InputError(f"cannot read the model {shown(path)}: {error.strerror or error}.") from None
    if not hasattr(model, "feature_names_in_"):
        raise InputError(
            f"the model {shown(path)} was fitted on columns without names: fit it on a named table."
        )
    return model


def columns_of(model: "RCI") -> dict[str, Any]:
    """Return what a model asks of a file: its ``features``, which are ``needed``, and the ``reach`` of each.

    The reach is the largest value that can be scored.
    """
    names = [str(name) for name in model.feature_names_in_]
    return {
        "features": names,
        "needed": [names[column] for column in model._needed_columns()],
        "reach": dict(zip(names, model._model.reach().tolist(), strict=True)),
    }
