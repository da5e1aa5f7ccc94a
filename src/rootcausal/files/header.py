"""Names of columns: whether the first row of a table holds them, or is a patient already, and blanks in them.

A table without a header would lose its first patient, and call variables by what that one has. So each cell
of the first row is held against those below it. A text above numbers is a name; a number above numbers, a
text that comes again below, or one that is written alike (P001 above P002), is a value. Where it could be
either, we ask.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from os import PathLike
from typing import Any

from ..errors import InputError
from ..wording import listed, plural, quoted, shown
from .cells import is_written_date, may_be_a_level, says_missing

_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?")
# Of so many numbers it cannot be told that they count something.
_TOO_FEW = 2
_YEARS = range(1500, 2101)


def has_header(path: str | PathLike[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of the rows that a file begins with holds names; where that is open, ask."""
    first, *below = ([cell.strip() for cell in row] for row in rows)
    below = [row for row in below if row != first]  # a header may come again further down
    # Texts above numbers, numbers above numbers, texts that come again below, and others.
    names = alike = again = open_ = 0
    for place, cell in enumerate(first):
        column = [row[place] for row in below if place < len(row) and not _tells_nothing(row[place])]
        if _tells_nothing(cell):
            continue
        if all(map(_is_value, column)):
            alike += _is_value(cell)
            names += bool(column) and not _is_value(cell)
            open_ += not column and not _is_value(cell)
        elif cell in column or (any(map(str.isdigit, cell)) and _shape(cell) in set(map(_shape, column))):
            again += 1
        else:
            open_ += 1
    numbers = [_number(cell) for cell in first if _is_number(cell)]
    counted = _are_counted(numbers) and not again
    within = counted and _are_within(first, below)
    if counted and len(numbers) > _TOO_FEW and not within:
        return True
    if not alike and (names or len(first) == 1 or again < max(open_, 1)):
        return True
    # Names are not repeated, and have no decimals.
    patient = not open_ or (alike > open_ and not _could_be_names(numbers))
    if not names and patient and not (counted and len(numbers) == len(first)):
        return False
    raise InputError(
        f"the first row of {shown(path)} may be a patient, or the names of the columns: "
        f"{listed([quoted(cell, 20) for cell in first])}. Say with --no-header that it is a patient, or with "
        "--header that these are names."
    )


def names_without_header(path: str | PathLike[str], n_columns: int) -> tuple[str, ...]:
    """What columns of a file without names are called: as was said, or V1, V2, as R calls them."""
    said = TableFile.of(path).names
    if said is None:
        return tuple(f"V{number}" for number in range(1, n_columns + 1))
    if len(said) != n_columns:
        raise InputError(
            f"--names has {plural(len(said), 'name')}, and {shown(path)} has {plural(n_columns, 'column')}: "
            "name each column, from left to right."
        )
    return said


def begins_with_names(path: str | PathLike[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of the rows holds names: as was said, or as it is seen."""
    file = TableFile.of(path)
    if file.names is not None:
        if rows and [cell.strip() for cell in rows[0]] == list(file.names):
            raise InputError(f"the first row of {shown(path)} has these names already: leave --names out.")
        return False
    return has_header(path, rows) if file.header is None else file.header


def no_header_seen(path: str | PathLike[str], n_columns: int) -> str:
    """What is said where the first row is a patient."""
    return (
        f"{shown(path)} has no header, since its first row looks like all others: its columns are called "
        f"V1 to V{n_columns}; if these are names, add --header"
    )


def without_blanks(path: str | PathLike[str], names: Sequence[str]) -> list[str]:
    """The names without blanks around them; two that differ in nothing else are an error."""
    written: dict[str, str] = {}
    for name in names:
        other = written.setdefault(name.strip(), name)
        if other != name:
            raise InputError(
                f"{shown(path)} has the columns {quoted(other)} and {quoted(name)}, which differ in nothing "
                "but the blanks around them: rename one."
            )
    return [name.strip() for name in names]


def _tells_nothing(text: str) -> bool:
    """Whether a cell may stand for a missing value; a word that may be a level may be a name, too."""
    return says_missing(text) and (text == "-" or not may_be_a_level(text))


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _is_value(text: str) -> bool:
    return _is_number(text) or is_written_date(text)


def _are_counted(numbers: Sequence[float]) -> bool:
    """Whether numbers are names rather than values: 0, 1, 2 as pandas writes them, wavelengths, years."""
    steps = {round(after - before, 9) for before, after in pairwise(numbers)}
    if not steps or min(steps) <= 0:
        return False
    years = all(number.is_integer() and number in _YEARS for number in numbers)
    # A patient may have two or three numbers in even steps.
    return steps == {1.0} or years or (len(steps) == 1 and len(numbers) > _TOO_FEW + 1)


def _are_within(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether each number of the first row lies among those below it, as those of a patient do."""
    for place, cell in enumerate(first):
        column = [_number(row[place]) for row in below if place < len(row) and _is_number(row[place])]
        if _is_number(cell) and not (column and min(column) <= _number(cell) <= max(column)):
            return False
    return True


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _could_be_names(numbers: Sequence[float]) -> bool:
    return len(set(numbers)) == len(numbers) and all(number.is_integer() for number in numbers)


def _shape(text: str) -> str:
    """Texts that are written alike have the same: A9 for P001."""
    return re.sub(r"[^\W\d_]+", "A", re.sub(r"\d+", "9", text))


@dataclass(frozen=True)
class TableFile(PathLike[str]):
    """A path; whoever only opens or names the file takes it for one.

    Attributes
    ----------
    path : of the file.
    header : whether the first row holds the names of the columns; None: that is seen by itself.
    sheet : which sheet of a workbook is read; None: the first.
    names : of the columns, where the file has none; they are told from left to right.
    sql : a query, whose rows are the table; see :mod:`.sql`.
    redcap : the data dictionary of a file that REDCap wrote; see :mod:`.redcap`.
    seen : what was found of the file by who looked at its first lines, so that nobody has to look again.
    """

    path: str | PathLike[str]
    header: bool | None = None
    sheet: str | None = None
    names: tuple[str, ...] | None = None
    sql: str | None = None
    redcap: str | PathLike[str] | None = None
    seen: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, path: str | PathLike[str]) -> TableFile:
        return path if isinstance(path, cls) else cls(path)

    def __fspath__(self) -> str:
        return os.fspath(self.path)

    def __str__(self) -> str:
        return os.fspath(self.path)
