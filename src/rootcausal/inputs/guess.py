"""Which kinds the columns of a cohort are: as the user says, as their types say, or by their values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ..errors import InputError
from ..files.cells import decimal_commas, refuse_unclear
from ..wording import listed, one_line, pasted, quoted
from .cells import Cells, DatesError, Found, StrangeCellError, is_number
from .encoding import Encoding
from .kinds import (
    MOST_ORDINAL_NUMBERS,
    TOO_MANY_LEVELS,
    Said,
    TooManyLevelsError,
    Variable,
    columns_with_few_values,
    few_values,
    variable_of_counts,
    variable_of_numbers,
)
from .labels import text_of
from .roles import similar
from .rules import NAMED_AT_MOST, Findings

What = TypeVar("What")


class MixedError(InputError):
    """A column holds numbers, but for some cells; the message is such a cell."""


@dataclass(frozen=True)
class Advice:
    """What to do about a column that looks like an id, and about others, in the words of a door.

    ``logs`` is what names the columns on a log scale.
    """

    id: str
    other: str
    logs: str
    in_a_shell: bool = False

    def as_number(self, name: str) -> str:
        """What says that a column holds numbers."""
        return f"--kind {pasted(f'{name}=number')}" if self.in_a_shell else f"kinds={{{name!r}: 'number'}}"

    def not_measured(self, name: str) -> str:
        """What to do about a 0 that stands for no measurement."""
        return f"say so with --na {pasted(f'{name}=0')}" if self.in_a_shell else "put NaN"


IN_PYTHON = Advice("drop it, or give it as ids=", "drop the column", "log")
ON_COMMAND_LINE = Advice(
    "name it with --id COLUMN, or leave it out with --drop COLUMN",
    "leave the column out with --drop COLUMN",
    "--log",
    in_a_shell=True,
)


def read_cells(
    columns: Mapping[int, Any],
    names: Sequence[Any],
    read: Callable[[Any], Cells],
    advice: Advice,
    findings: Findings,
) -> dict[int, Cells]:
    """The cells of columns by their places; those that are neither numbers nor texts are noted."""
    cells: dict[int, Cells] = {}
    dates: list[str] = []
    strange: list[str] = []
    for place, column in columns.items():
        try:
            cells[place] = read(column)
        except DatesError as error:
            dates.append(f"{quoted(names[place])} ({one_line(error, 30)})")
        except StrangeCellError as error:
            strange.append(f"{quoted(names[place])} ({one_line(error, 30)})")
    for what, mend, found in (
        ("dates or times", "numbers, such as days since a fixed day", dates),
        ("neither numbers nor text", "numbers", strange),
    ):
        with findings.noting():
            if found:
                raise InputError(
                    f"there are columns of {what}, here with an example: {listed(found, NAMED_AT_MOST)}. "
                    f"Turn them into {mend}, or {advice.other}"
                )
    return cells


# Texts of a column by which one sees whether numbers are among them.
TEXTS_TO_SEE = 200


def guess_kinds(
    found: Found, names: Sequence[str], kinds: Mapping[str | int, Said], advice: Advice, findings: Findings
) -> tuple[Encoding, np.ndarray]:
    """The variables of a cohort, and a mask (p,) of columns that can be used; what is wrong is noted.

    A column with fewer than two different values is left a number, for the rules about columns to refuse.
    Texts such as "3,4" are numbers, unless the user says that the column has levels.
    """
    said = dict(found.said) | by_place(kinds, names, findings)
    may_be_numbers = {p: one for p, one in found.texts.items() if said.get(p, "number") == "number"}
    commas, unclear = decimal_commas({names[p]: one.written for p, one in may_be_numbers.items()})

    def variable(place: int) -> Variable:
        texts = found.texts.get(place)
        if texts is None:
            return _of_numbers(names[place], found.values[:, place], said.get(place))
        if names[place] in commas:
            numbers = np.append(texts.numbers(decimal_comma=True), np.nan)[texts.codes]
            return _of_numbers(names[place], numbers, said.get(place))
        refuse_unclear(names[place], unclear.get(names[place]), advice.other)
        order = texts.levels if texts.ordered else None
        return of_texts(names[place], texts.counts(), said.get(place), order)

    with_levels = set(columns_with_few_values(found.values)) | set(said) | set(found.texts)
    encoding, usable = settle(names, with_levels, variable, advice, findings)
    return replace(encoding, decimal_comma=bool(commas)), usable


def settle(
    names: Sequence[str],
    with_levels: Collection[int],
    variable: Callable[[int], Variable],
    advice: Advice,
    findings: Findings,
) -> tuple[Encoding, np.ndarray]:
    """The same, where ``variable`` makes those that may have levels; all others are numbers."""
    problems = _Problems()
    variables = [Variable(name, "number") for name in names]
    usable = np.ones(len(names), dtype=bool)
    for place in sorted(with_levels):
        usable[place] = False
        with findings.noting(), problems.noting(names[place]):
            variables[place] = variable(place)
            usable[place] = True
    problems.note(advice, findings)
    return Encoding(tuple(variables)), usable


def _of_numbers(name: str, values: Any, said: Said | None) -> Variable:
    if said is not None and said != "number":
        few = few_values(values, 1)
        if few is not None and few[0].size < 2:
            return Variable(name, "number")
    return variable_of_numbers(name, values, said)


def of_texts(
    name: str, counts: Mapping[str, int], said: Said | None, order: Sequence[str] | None
) -> Variable:
    """What a column of texts is, given each with its count; ``order`` is that of its type, if it has one."""
    if len(counts) < 2:
        return Variable(name, "number")
    if isinstance(said, tuple):
        return variable_of_counts(name, counts, order=[text_of(level) for level in said])
    if order is not None and said in (None, "ordinal", "binary"):
        return variable_of_counts(name, counts, said, order)
    if said is None:
        some = list(counts)[:TEXTS_TO_SEE]
        if sum(map(is_number, some)) > MOST_ORDINAL_NUMBERS:
            raise MixedError(next(text for text in counts if not is_number(text)))
        if len(counts) > MOST_ORDINAL_NUMBERS and 2 * len(counts) > sum(counts.values()):
            raise TooManyLevelsError
    return variable_of_counts(name, counts, said)


class _Problems:
    """Columns that cannot be variables, by what is wrong with them: many of a kind become one sentence."""

    def __init__(self) -> None:
        self.mixed: dict[str, str] = {}
        self.many: list[str] = []

    @contextmanager
    def noting(self, name: str) -> Iterator[None]:
        """Keep the name of a column whose levels are too many, or that is a number but for some cells."""
        try:
            yield
        except TooManyLevelsError:
            self.many.append(name)
        except MixedError as error:
            self.mixed[name] = str(error)

    def note(self, advice: Advice, findings: Findings) -> None:
        with findings.noting():
            if self.many:
                raise InputError(
                    f"{_columns(self.many)} {TOO_MANY_LEVELS}: group them, as small sites into "
                    f"one; or, if {'it is an id' if len(self.many) == 1 else 'they are ids'} or free text, "
                    f"{advice.id}"
                )
        with findings.noting():
            if self.mixed:
                found = [f"{quoted(cell, 30)} in {quoted(name)}" for name, cell in self.mixed.items()]
                raise InputError(
                    f"numbers and other text are mixed: {listed(found, NAMED_AT_MOST)}. Correct these cells, "
                    f"or {advice.other}"
                )


def _columns(names: Sequence[str]) -> str:
    shown = listed([quoted(name) for name in names], NAMED_AT_MOST)
    return f"column {shown} has" if len(names) == 1 else f"columns {shown} have"


def by_place(
    asked: Mapping[str | int, What], names: Sequence[str], findings: Findings, option: str = "kinds"
) -> dict[int, What]:
    """What the user says by an option, by the places of columns; a column that is not there is noted."""
    places = {name: place for place, name in enumerate(names)}
    said: dict[int, What] = {}
    for key, what in asked.items():
        place = places.get(key) if isinstance(key, str) else key if 0 <= key < len(names) else None
        if place is not None:
            said[place] = what
            continue
        close = similar(str(key), names)
        hint = (
            f"did you mean {' or '.join(map(quoted, close))}?"
            if close
            else f"the columns are {listed([quoted(name) for name in names], 10)}"
        )
        with findings.noting():
            raise InputError(f"{option} names {quoted(key)}, and there is no such column: {hint}")
    return said
