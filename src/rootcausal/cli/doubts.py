"""What ``rootcausal look`` would say, in a few lines, by commands that fit a model."""

from typing import TYPE_CHECKING

import typer

from ..wording import one_line, printable

if TYPE_CHECKING:
    from ..inputs.kinds import Kind
    from ..inputs.patients import Patients
    from ..inputs.roles import Roles

LINES = 5
# More rows would not change what is found, and a look must cost little beside a fit. Of wide tables, whose
# columns are no clinical ones, it would cost as much: there it is left to the command.
ROWS_ENOUGH = 5_000
MOST_COLUMNS = 1_000
# The others are refused by the fit, or said by the command itself.
WORTH_A_LINE = (
    "contradiction",
    "id",
    "row number",
    "date",
    "the outcome itself",
    "after the outcome",
    "diagnosis",
    "follow-up",
    "named like the target",
    "goes with follow-up",
    "calendar year",
    "absence tells",
    "part of the outcome",
    "decides",
    "nearly decides",
    "code for missing",
    "zero for missing",
    "not known tells",
    "implausible",
    "names of people",
    "coarser",
    "repeated rows",
    "codes",
    "order",
)


def warn_of_doubts(patients: "Patients", roles: "Roles") -> tuple[str, ...]:
    """Print on stderr what to doubt in the columns that are about to be fitted, and return it."""
    import numpy as np
    import pyarrow as pa

    from ..looking.look import look

    if patients.X.num_columns > MOST_COLUMNS:
        return ()
    named = dict(roles.outcome.named)
    target, time = named.get("--target", named.get("--event")), named.get("--time")
    table = patients.X
    assert patients.target is not None
    for option, column in named.items():
        # Of follow-up, the options are the names of the fields.
        values = patients.target if time is None else patients.target[option.removeprefix("--")]
        table = table.append_column(column, pa.array(values))
    if patients.ids is not None and roles.id_column is not None:
        table = table.append_column(roles.id_column, pa.array(patients.ids))
    if table.num_rows > ROWS_ENOUGH:
        table = table.take(np.linspace(0, table.num_rows - 1, ROWS_ENOUGH).astype(np.int64))
    seen = look(table, target, roles.id_column, _said(patients, roles), time, roles.outcome.said)
    # Rows that differ in a column that was left out are no copies; and of the ids everything was said.
    silent = {"repeated rows"} if roles.drop or roles.after or roles.keep else set()
    if getattr(roles.outcome, "positive", None) is not None:
        silent.add("contradiction")  # which label it is was said
    doubts = [
        one
        for one in seen.findings
        if one.name in WORTH_A_LINE
        and one.name not in silent
        and one.columns != (roles.id_column,)
        and not (one.name == "calendar year" and _adjusted_for(roles).issuperset(one.columns))
    ]
    for one in doubts[:LINES]:
        typer.echo(f"warning: {printable(one_line(one.sentence, 400))}", err=True)
    if doubts:
        more = f"{len(doubts) - LINES} more; " if len(doubts) > LINES else ""
        typer.echo(f"warning: {more}rootcausal look says what to do about it, and writes the line", err=True)
    return tuple(one.sentence for one in doubts)


def _said(patients: "Patients", roles: "Roles") -> "dict[str, Kind]":
    """What the user said that columns are; dates that were kept are numbers of days."""
    said: dict[str, Kind] = dict.fromkeys(patients.reading.get("origins", {}), "number")
    for name, kind in roles.wishes.kinds.items():
        said[str(name)] = "ordinal" if isinstance(kind, tuple) else kind
    return said


def _adjusted_for(roles: "Roles") -> set[str]:
    known = roles.knowledge
    given = known.get("covariates", ()) if isinstance(known, dict) else known.covariates if known else ()
    return {str(name) for name in given}
