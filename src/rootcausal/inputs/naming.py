"""What variables are called where people read of them: a label, a unit, and how many digits are shown.

Columns keep their names: whatever is asked or computed goes by these. Labels come as a dict or as a small
table with the columns ``column``, ``label``, ``unit`` and ``digits``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from typing import Any

from ..errors import InputError
from ..wording import listed, quoted, shown
from .kinds import Variable

FIELDS = ("label", "unit", "digits")
# A float has no more than these behind the point that mean anything.
MOST_DIGITS = 12
MOST_LETTERS = 300


@dataclass(frozen=True, slots=True)
class Naming:
    """What one column is called; what is empty or None is left as it is without."""

    label: str = ""
    unit: str = ""
    digits: int | None = None


def namings_of(labels: Any) -> dict[str, Naming]:
    """The namings that a user gives, by column: a dict, or the path of a CSV file."""
    if isinstance(labels, str | PathLike):
        return read_namings(labels)
    if not isinstance(labels, Mapping):
        raise InputError(
            "labels must be a dict from columns to labels, or the path of a CSV file, not "
            f"{type(labels).__name__}"
        )
    found = {str(column): _naming(f"the label of {quoted(column)}", said) for column, said in labels.items()}
    _refuse_same(found)
    return found


def read_namings(path: str | PathLike[str]) -> dict[str, Naming]:
    """The namings of a CSV file with the columns column, label, unit and digits, the last three as needed."""
    from ..files.tables import text_of_file

    text, called = text_of_file(path, "the labels "), f"labels {shown(path)}"
    rows = list(_rows(text, called))
    header = [cell.strip().lower() for cell in rows[0][1]] if rows else []
    _check_header(header, called)
    found: dict[str, Naming] = {}
    for number, cells in rows[1:]:
        where = f"{called}, line {number}"
        if len(cells) > len(header):
            raise InputError(f"{where} has {len(cells)} cells, and the header {len(header)}.")
        said = dict(zip(header, (cell.strip() for cell in cells), strict=False))
        column = said.pop("column", "")
        if not column:
            raise InputError(f"{where} names no column.")
        if column in found:
            raise InputError(f"{where} names {quoted(column)} a second time.")
        found[column] = _naming(where, said)
    _refuse_same(found, called)
    return found


def named(variables: Sequence[Variable], namings: Mapping[str, Naming]) -> tuple[Variable, ...]:
    """The same variables, called so; labels have to tell them apart."""
    found = tuple(
        replace(variable, **asdict(namings[variable.name])) if variable.name in namings else variable
        for variable in variables
    )
    _refuse_same({variable.name: Naming(variable.shown) for variable in found})
    return found


def as_plain(namings: Mapping[str, Naming]) -> dict[str, dict[str, Any]]:
    """As a model remembers them."""
    return {column: asdict(naming) for column, naming in namings.items()}


def _rows(text: str, called: str) -> Any:
    """Lines that are not empty, with their numbers."""
    first = text.partition("\n")[0]
    delimiter = ";" if first.count(";") > first.count(",") else ","
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error as error:
        raise InputError(f"{called}, line {reader.line_num}: {error}.") from None


def _check_header(header: Sequence[str], called: str) -> None:
    wanted = ("column", *FIELDS)
    if "column" not in header or len(set(header)) < len(header):
        raise InputError(f"{called}: the first line has to name the columns {', '.join(wanted)}.")
    strange = [name for name in header if name not in wanted]
    if strange:
        names = listed([quoted(name) for name in strange])
        raise InputError(f"{called}: no column {names} is known: use {', '.join(wanted)}.")


def _naming(where: str, said: Any) -> Naming:
    if isinstance(said, Naming):
        return said
    if isinstance(said, str):
        said = {"label": said}
    if not isinstance(said, Mapping) or not set(said) <= set(FIELDS):
        raise InputError(f"{where} has to be a text, or a dict of {', '.join(FIELDS)}.")
    label, unit = (said.get(name) or "" for name in ("label", "unit"))
    for text in (label, unit):
        if not isinstance(text, str) or len(text) > MOST_LETTERS:
            raise InputError(f"{where}: give label and unit as text of at most {MOST_LETTERS} letters.")
    return Naming(label.strip(), unit.strip(), _digits(where, said.get("digits")))


def _digits(where: str, said: Any) -> int | None:
    if said is None or said == "":
        return None
    try:
        digits = int(said)
    except (TypeError, ValueError):
        digits = -1
    if isinstance(said, bool) or str(digits) != str(said).strip() or not 0 <= digits <= MOST_DIGITS:
        raise InputError(
            f"{where}: digits have to be a whole number from 0 to {MOST_DIGITS}, not {quoted(said)}."
        )
    return digits


def _refuse_same(namings: Mapping[str, Naming], called: str = "labels") -> None:
    """Two variables of the same name on screen could not be told apart."""
    columns: dict[str, str] = {}
    for column, naming in namings.items():
        text = naming.label or column
        if text in columns:
            raise InputError(
                f"{called}: {quoted(columns[text])} and {quoted(column)} would both be called "
                f"{quoted(text)}: give them labels that differ."
            )
        columns[text] = column
