"""Options that several commands take, and the files that they name: outputs, cohorts and models."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import InputError
from ..files.atomic_write import check_can_write
from ..files.memory import address_space_left
from ..files.results import result_format
from ..files.table_file import TableFile
from ..files.tables import described, refuse_streams, table_format
from ..wording import listed, quoted, shown
from .console import say, say_cohort, say_kinds, say_known, say_removed, status_if_slow
from .doubts import warn_of_doubts

if TYPE_CHECKING:
    from ..inputs.naming import Naming
    from ..inputs.outcome_columns import ChosenOutcome, OutcomeColumns
    from ..inputs.patients import Patients
    from ..inputs.roles import Roles
    from ..loading import Fitted


def _between_0_and_1(share: float | None) -> float | None:
    if share is not None and not 0 < share <= 1:
        raise typer.BadParameter("must be above 0 and at most 1.")
    return share


def bare(name: str | None) -> str | None:
    """Return the name of a column without blanks around it, as columns of files have none."""
    return None if name is None else name.strip()


# Of addresses, for compiled loops, threads and their buffers, besides the table.
FOR_A_FIT = 1 << 29
TABLE, MODEL = "The table", "The model"
CohortFile = Annotated[
    Path, typer.Argument(help="Table with one row per patient: text, Parquet, Excel, Stata or SAS.")
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--no-header/--header",
        rich_help_panel=TABLE,
        help="The first row is a patient, and columns are called V1, V2 and so on; or it holds names. Seen "
        "by itself where that is plain.",
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", rich_help_panel=TABLE, help="Sheet of an Excel workbook.", show_default="the first"
    ),
]
MaxMissing = Annotated[
    float | None,
    typer.Option(
        "--max-missing",
        callback=_between_0_and_1,
        metavar="SHARE",
        rich_help_panel=TABLE,
        help="Leave out variables of which more than this share is missing, 0.6 for 60%.",
    ),
]
Labels = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        rich_help_panel=TABLE,
        help="What to call columns on screen and page: a CSV file of column, label, unit and digits.",
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id",
        callback=bare,
        metavar="COLUMN",
        rich_help_panel=TABLE,
        help="Column with patient ids; not a variable.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        rich_help_panel=TABLE,
        help="Column to leave out; many times, or with commas between.",
    ),
]
After = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        rich_help_panel=TABLE,
        help="Column that was measured after the outcome: left out, and remembered; many times, or with "
        "commas between.",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        rich_help_panel=TABLE,
        help="Column to keep, and no others; many times, or with commas between. A date that is kept becomes "
        "days since the first.",
    ),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COLUMN=KIND",
        rich_help_panel=TABLE,
        help="What a column is, where the guess is wrong: number, binary, ordinal, nominal, or its levels "
        "in order, as in 'stage=low<mid<high' or 'size=<=20 < 20-50 < >50'; can be given many times.",
    ),
]
Log = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        rich_help_panel=TABLE,
        help="Column to take the logarithm of, where relations are straighter so; values are shown in their "
        "own unit. Many times, or with commas between.",
    ),
]
Missing = Annotated[
    Literal["impute", "refuse"],
    typer.Option(
        metavar="impute|refuse",
        rich_help_panel=TABLE,
        help="Missing values: impute them, or refuse the table.",
    ),
]
MissingWords = Annotated[
    list[str] | None,
    typer.Option(
        "--na",
        metavar="[COLUMN=]WORD",
        rich_help_panel=TABLE,
        help="Word or number that means missing, beside NA and the like, in all columns or in one, as in "
        "glucose=0; many times.",
    ),
]
DropMissing = Annotated[
    bool,
    typer.Option("--drop-missing", rich_help_panel=TABLE, help="Leave out rows with missing values."),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        callback=_between_0_and_1,
        metavar="SHARE",
        rich_help_panel=MODEL,
        help="Level of the test that leaves variables out.",
        show_default="0.2; of times and numbers so that about 20 without effect pass",
    ),
]
VariantName = Annotated[
    Literal["original", "plus", "local", "local_plus"],
    typer.Option(
        metavar="original|plus|local|local_plus",
        rich_help_panel=MODEL,
        help="Which of the paper's four searches.",
    ),
]
AttributionName = Annotated[
    Literal["sharp", "paper"],
    typer.Option(
        metavar="sharp|paper",
        rich_help_panel=MODEL,
        help="How effects of shocks are learned; paper: as published.",
    ),
]
BackendName = Annotated[
    Literal["auto", "numpy", "numba", "cupy"],
    typer.Option(metavar="auto|numpy|numba|cupy", rich_help_panel=MODEL, help="What does the sums."),
]
MechanismName = Annotated[
    Literal["linear", "nonlinear", "auto"],
    typer.Option(
        metavar="linear|nonlinear|auto",
        rich_help_panel=MODEL,
        help="Straight lines, or bent ones; auto: bent where straight ones are not enough.",
    ),
]
Confounding = Annotated[
    Literal["merge"] | None,
    typer.Option(
        metavar="merge",
        rich_help_panel=MODEL,
        help="Tell what variables add whose errors stay dependent as that of one set.",
    ),
]
Resamples = Annotated[
    int | None,
    typer.Option(
        "--bootstrap",
        min=2,
        metavar="N",
        rich_help_panel=MODEL,
        help="Resamples, for intervals: 2 or more; 200 is usual.",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        rich_help_panel=MODEL,
        help="Resamples to learn from at once; -1 is one a core.",
        show_default="1",
    ),
]


def chosen_kinds(texts: list[str] | None) -> dict[str | int, Any] | None:
    """Read ``stage=ordinal`` and ``stage=low<mid<high``; the name may itself hold an equals sign."""
    from ..inputs.kinds import KINDS

    kinds: dict[str | int, Any] = {}
    for text in texts or []:
        # From the right, since kinds have no equals sign; from the left where levels may have one.
        name, equals, kind = text.rpartition("=") if text.endswith(KINDS) else text.partition("=")
        name = name.strip()
        if not (name and equals and kind):
            raise typer.BadParameter(
                f"write COLUMN=KIND, as in stage=ordinal or 'stage=low<mid<high', not {quoted(text)}.",
                param_hint="--kind",
            )
        if name in kinds:
            raise typer.BadParameter(f"{quoted(name)} is given twice.", param_hint="--kind")
        # Levels such as <=20 have the sign themselves: spaces around it then tell where one ends.
        between = " < " if " < " in kind else "<"
        kinds[name] = [level.strip() for level in kind.split(between)] if "<" in kind else kind
    return kinds or None


def table_path(path: Path | None) -> Path | None:
    """Refuse, as wrong usage, an output whose ending names no format."""
    if path is not None:
        try:
            result_format(path)
        except InputError as error:
            raise typer.BadParameter(str(error)) from None
    return path


def page_path(path: Path) -> Path:
    """Refuse, as wrong usage, a page whose name has another ending."""
    # The ending keeps a slip of the hand from replacing a table by a page.
    if path.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter("the name of a page ends in .html, for example report.html.")
    return path


def table_at(path: Path, no_header: bool | None, sheet: str | None) -> TableFile:
    """Return the file of a table with what the options say of how it is written."""
    return TableFile(path, None if no_header is None else not no_header, sheet)


def check_output(path: Path, *others: Path) -> None:
    """Refuse, before any work, an output that cannot be written or that is one of the other files."""
    for other in others:
        if os.path.realpath(path) == os.path.realpath(other):
            raise typer.BadParameter(f"{shown(path)} would be written over by --out: choose another name.")
    check_can_write(path)


def roles_of(
    outcome: "OutcomeColumns",
    id_column: str | None,
    drop: list[str] | None,
    keep: list[str] | None,
    na: list[str] | None,
    drop_missing: bool,
    kinds: dict[str | int, Any] | None,
    log: list[str] | None,
    missing: str,
    after: list[str] | None,
    max_missing: float | None = None,
) -> "Roles":
    """Return what the options say of a cohort; options that do not go together are wrong usage."""
    from ..inputs.roles import Roles
    from ..parameters import chosen_wishes

    if keep and drop:
        raise typer.BadParameter(
            "--keep alone names all the variables; leave --drop out.", param_hint="--keep"
        )
    return Roles(
        outcome,
        id_column,
        drop or (),
        drop_missing,
        chosen_wishes(kinds, missing),
        keep or (),
        na or (),
        log=log or (),
        after=after or (),
        max_missing=max_missing,
    )


def read_labelled(
    cohort: TableFile, roles: "Roles", *, quiet: bool = False
) -> "tuple[Patients, ChosenOutcome]":
    """Read a cohort with its outcome, and say what was read."""
    from ..inputs.from_file import read_labelled_cohort

    with status_if_slow(f"reading {quoted(cohort)}"):
        patients, outcome = read_labelled_cohort(cohort, roles)
    if not quiet:
        n_rows = patients.row_numbers.size
        say_cohort(described(cohort), n_rows, patients.X.num_columns)
        say_removed(patients.n_removed, n_rows)
        for note in patients.notes:
            say(note)
        if patients.readings is not None:
            say_kinds(patients.readings)
        for line in outcome.lines(n_rows, "patients" if patients.groups is None else "rows"):
            say(line)
        if roles.knowledge is not None:
            say_known(roles.knowledge)
    return replace(patients, doubts=warn_of_doubts(patients, roles)), outcome


def say_sheet(table: TableFile) -> None:
    """Say which sheet of a workbook new patients were read from."""
    if table_format(table) == "excel":
        say(f"patients: {described(table)}")


def fitted(patients: "Patients", outcome: "ChosenOutcome", settings: dict[str, Any]) -> "Fitted":
    """Fit the estimator of this outcome to the rows of a file."""
    from ..loading import ESTIMATORS

    settings = {**chosen(settings), **outcome.parameters, "transform": patients.transforms()}
    if outcome.kind != "yes_no" and settings.pop("mechanism") != "linear":
        raise typer.BadParameter(
            "bent lines are for a diagnosis (--target): leave --mechanism out.", param_hint="--mechanism"
        )
    left = address_space_left()
    if left is not None and left < FOR_A_FIT:
        raise MemoryError  # compilers that run out of it do not always come back
    model = ESTIMATORS[outcome.kind](**settings, progress=True)
    model.fit(patients, *outcome.arguments(patients.target))
    model._keep(replace(model._found, table=patients.doubts))
    return model


def chosen(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings without a level that nobody chose: estimators have levels of their own."""
    return {name: value for name, value in settings.items() if name != "alpha" or value is not None}


def load_model(path: Path, horizon: float | None = None) -> "Fitted":
    """Load a model that knows the names of its columns and, where one is asked for, a ``horizon``."""
    from ..loading import load

    refuse_streams(path)
    try:
        model = load(path)
    except OSError as error:
        raise InputError(f"cannot read the model {shown(path)}: {error.strerror or error}.") from None
    if not hasattr(model, "feature_names_in_"):
        raise InputError(
            f"the model {shown(path)} was fitted on columns without names: fit it on a named table."
        )
    if horizon is not None and "horizon" not in model.get_params():
        raise InputError(
            f"--horizon is for the time to an event, and {shown(path)} is a model of another outcome: leave "
            "it out."
        )
    return model


def labels_of(path: Path | None) -> "dict[str, Naming] | None":
    """Read ``--labels`` before any work is done."""
    from ..inputs.naming import read_namings

    return None if path is None else read_namings(path)


def call_variables(model: "Fitted", namings: "dict[str, Naming] | None", *others_named: str | None) -> None:
    """Give a model the labels of ``--labels``.

    Where it was just fitted, ``others_named`` are the columns that other options name, and labels of yet
    others are said.
    """
    if namings is None:
        return
    model.set_labels(namings)
    others = [name for name in namings if name not in {*model._encoding.names, *others_named}]
    if others and others_named:
        say(f"labels of columns that are no variables of the model: {listed([quoted(n) for n in others])}")


def columns_of(model: "Fitted", na: list[str] | None) -> dict[str, Any]:
    """Return what a model asks of a file: its ``features``, which are ``needed``, and the ``reach`` of each.

    The reach is the largest value that can be scored. ``variables`` are those that are no numbers, or on a
    log scale. Words for missing (``na``) are those of the model's cohort and those given. Dates are counted
    from the ``origins``, and written as ``date_orders`` say; ``decimal_comma`` as the cohort was.
    """
    reading, encoding = model.provenance_.get("reading", {}), model._encoding
    names = [str(name) for name in model.feature_names_in_]
    return {
        "features": names,
        "needed": [names[place] for place in model._needed_variables()],
        "reach": dict(zip(names, encoding.reach(model._model.reach()).tolist(), strict=True)),
        "may_miss": model._completion is not None,
        "variables": {one.name: one for one in encoding.variables if one.levels or one.log},
        "na": [*reading.get("na", ()), *(na or ())],
        "origins": reading.get("origins", {}),
        "date_orders": reading.get("date_orders", {}),
        "decimal_comma": encoding.decimal_comma,
    }
