"""Which kinds the columns of a cohort are: as the user says, as their types say, or by their values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ..errors import InputError
from ..files.cells import decimal_commas, is_number, refuse_unclear
from ..wording import listed, one_line, quoted
from .cells import Cells, Found
from .encoding import Encoding
from .kinds import (
    MOST_ORDINAL_NUMBERS,
    TOO_MANY_LEVELS,
    ColumnError,
    DatesError,
    MixedError,
    Said,
    StrangeCellError,
    TooManyLevelsError,
    Variable,
    columns_with_few_values,
    variable_of_counts,
    variable_of_numbers,
)
from .labels import text_of
from .roles import similar
from .rules import NAMED_AT_MOST, Advice, Findings

What = TypeVar("What")


class Problems:
    """Columns that cannot be variables, by what is wrong with them: many of a kind become one sentence."""

    def __init__(self) -> None:
        self._found: dict[type[ColumnError], dict[str, str]] = {}

    @contextmanager
    def noting(self, name: Any) -> Iterator[None]:
        """Keep the name of a column that cannot be one."""
        try:
            yield
        except ColumnError as error:
            self._found.setdefault(type(error), {})[name] = str(error)

    def note(self, advice: Advice, findings: Findings) -> None:
        for kind, in_words in _PROBLEMS.items():
            with findings.noting():
                if kind in self._found:
                    raise InputError(in_words(self._found[kind], advice))


def _unusable(what: str, mend: str) -> Callable[[dict[str, str], Advice], str]:
    def in_words(found: dict[str, str], advice: Advice) -> str:
        examples = [f"{quoted(name)} ({one_line(cell, 30)})" for name, cell in found.items()]
        return (
            f"there are columns of {what}, here with an example: {listed(examples, NAMED_AT_MOST)}. "
            f"Turn them into {mend}, or {advice.other}"
        )

    return in_words


def _too_many(found: dict[str, str], advice: Advice) -> str:
    one, columns = len(found) == 1, listed([quoted(name) for name in found], NAMED_AT_MOST)
    return (
        f"{f'column {columns} has' if one else f'columns {columns} have'} {TOO_MANY_LEVELS}: group them, as "
        f"small sites into one; or, if {'it is an id' if one else 'they are ids'} or free text, {advice.id}"
    )


def _mixed(found: dict[str, str], advice: Advice) -> str:
    cells = [f"{quoted(cell, 30)} in {quoted(name)}" for name, cell in found.items()]
    return (
        f"numbers and other text are mixed: {listed(cells, NAMED_AT_MOST)}. Correct these cells, or "
        f"{advice.other}"
    )


_PROBLEMS: dict[type[ColumnError], Callable[[dict[str, str], Advice], str]] = {
    DatesError: _unusable("dates or times", "numbers, such as days since a fixed day"),
    StrangeCellError: _unusable("neither numbers nor text", "numbers"),
    TooManyLevelsError: _too_many,
    MixedError: _mixed,
}


def read_cells(
    columns: Mapping[int, Any],
    names: Sequence[Any],
    read: Callable[[Any], Cells],
    advice: Advice,
    findings: Findings,
) -> dict[int, Cells]:
    """The cells of columns by their places; those that are neither numbers nor texts are noted."""
    cells: dict[int, Cells] = {}
    problems = Problems()
    for place, column in columns.items():
        with problems.noting(names[place]):
            cells[place] = read(column)
    problems.note(advice, findings)
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
            return variable_of_numbers(names[place], found.values[:, place], said.get(place))
        if names[place] in commas:
            numbers = np.append(texts.numbers(decimal_comma=True), np.nan)[texts.codes]
            return variable_of_numbers(names[place], numbers, said.get(place))
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
    problems = Problems()
    variables = [Variable(name, "number") for name in names]
    usable = np.ones(len(names), dtype=bool)
    for place in sorted(with_levels):
        usable[place] = False
        with findings.noting(), problems.noting(names[place]):
            variables[place] = variable(place)
            usable[place] = True
    problems.note(advice, findings)
    return Encoding(tuple(variables)), usable


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


def put_on_log_scale(
    encoding: Encoding, logs: Sequence[str | int], advice: Advice, findings: Findings
) -> Encoding:
    """The same variables, some on a log scale; names of no column, and of a column with levels, are noted."""
    if not logs:
        return encoding
    variables = list(encoding.variables)
    for place in by_place(dict.fromkeys(logs, "log"), encoding.names, findings, advice.logs):
        if variables[place].levels:
            with findings.noting():
                name = encoding.names[place]
                raise InputError(
                    f"column {quoted(name)} has levels ({variables[place].kind}), and only numbers have a "
                    f"logarithm: leave it off {advice.logs} or, if it is a number, say so with "
                    f"{advice.as_number(name)}"
                )
        else:
            variables[place] = replace(variables[place], log=True)
    return replace(encoding, variables=tuple(variables))
