"""Which kinds the columns of a cohort are: as the user says, as their types say, or by their values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ..errors import InputError
from ..files.cells import Written, decimal_commas, is_number, one_by_one, refuse_unclear
from ..wording import listed, one_line, quoted
from .cells import Cells, Found, Texts, limit_in, typed
from .encoding import Encoding
from .kinds import (
    MOST_LEVELS,
    MOST_ORDINAL_NUMBERS,
    NO_LIMITS,
    TOO_MANY_LEVELS,
    ColumnError,
    DatesError,
    Level,
    MixedError,
    Said,
    StrangeCellError,
    TooManyLevelsError,
    Variable,
    columns_with_few_values,
    few_values,
    variable_of_counts,
    variable_of_few,
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
    beyond = [advice.limit(name, cell) for name, cell in found.items() if limit_in(cell) != NO_LIMITS]
    limits = f". Where that is a limit of detection, say {beyond[0]}; else correct" if beyond else ". Correct"
    return (
        f"numbers and other text are mixed: {listed(cells, NAMED_AT_MOST)}{limits} these cells, or "
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
Count = dict[str | float, int]
NOTHING_WRITTEN = Written()


@dataclass(frozen=True)
class Seen:
    """What some rows hold in one column, as far as it tells of its kind; those of other rows may be added.

    Attributes
    ----------
    counts : rows with each different value, numbers or texts; None where these are too many.
    text : whether some are texts, or truth values.
    written : how the texts are written; numbers count as texts of themselves.
    strange : a text that is no number, if there is one.
    n_numbers : how many of the first different texts are numbers.
    order : the levels of a type that has them in order.
    said : what the type of the column says of its kind.
    problem : a cell that is neither number nor text, with what it is instead, if there is one.
    """

    counts: Count | None
    text: bool = False
    written: Written = NOTHING_WRITTEN
    strange: str | None = None
    n_numbers: int = 0
    order: tuple[str, ...] | None = None
    said: Said | None = None
    problem: ColumnError | None = None

    @classmethod
    def of(cls, cells: Cells, *, in_part: bool) -> Seen:
        """What the cells of all rows are, or of a part of them; other parts may hold what this does not."""
        texts, numbers = cells.texts, cells.numbers
        if numbers is not None and cells.said == (False, True):
            # As they would be written, in case that other parts hold texts.
            texts = Texts(np.where(np.isnan(numbers), -1, numbers).astype(np.intp), ("false", "true"))
        if texts is not None:
            seen, order = texts.counts(), texts.levels if texts.ordered else None
            levels = tuple(seen)
            counted: Count | None = dict(seen.items()) if len(levels) <= MOST_LEVELS else None
            strange = next((text for text in levels if not is_number(text)), None)
            n_numbers = sum(map(is_number, levels[:TEXTS_TO_SEE]))
            return cls(counted, True, Written.of(levels), strange, n_numbers, order)
        assert numbers is not None
        few = few_values(numbers, MOST_LEVELS)
        counts: Count | None = None if few is None else dict(zip(*map(np.ndarray.tolist, few), strict=True))
        numbers = numbers[~np.isnan(numbers)] if in_part else numbers[:0]
        if not numbers.size:
            return cls(counts, said=cells.said)
        codes, whole = np.isin(numbers, (0.0, 1.0)).all(), (numbers == np.rint(numbers)).all()
        written = Written(some=True, truths=bool(codes), times=False, decimals=bool(whole))
        return cls(counts, written=written, said=cells.said)

    def __add__(self, other: Seen) -> Seen:
        text = self.text or other.text
        counts: Count | None = None
        if self.counts is not None and other.counts is not None:
            counts = {}
            for value, n in (*self.counts.items(), *other.counts.items()):
                key = text_of(value) if text else value
                counts[key] = counts.get(key, 0) + n
            if len(counts) > MOST_LEVELS:
                counts = None
        return Seen(
            counts,
            text,
            self.written + other.written,
            self.strange or other.strange,
            max(self.n_numbers, other.n_numbers),
            self.order if self.order == other.order else None,
            self.said if self.said is not None else other.said,
            self.problem or other.problem,
        )

    def variable(self, name: str, said: Said | None, comma: bool) -> Variable:
        """What the column is, given what is ``said`` of it, and whether it has decimal commas."""
        if self.problem is not None:
            raise self.problem
        if self.written.form == "time":
            raise DatesError(self.strange)
        as_typed = self._as_typed(comma)
        if self.text and as_typed is None:
            mixed = said is None and self.order is None and self.n_numbers > MOST_ORDINAL_NUMBERS
            several = self.counts is None or len(self.counts) > 1
            if self.strange is not None and several and (mixed or said == "number"):
                raise MixedError(self.strange)
            if self.counts is None:
                raise TooManyLevelsError
            return of_texts(name, {str(text): n for text, n in self.counts.items()}, said, self.order)
        if self.counts is None:
            return variable_of_few(name, None, said or as_typed or None)
        numbers = Counter[float]()
        if self.text:
            values = one_by_one(tuple(map(text_of, self.counts)), comma).tolist()
            for value, n in zip(values, self.counts.values(), strict=True):
                numbers[value] += n
        pairs = sorted((numbers or self.counts).items())
        different, sizes = [value for value, _ in pairs], [n for _, n in pairs]
        few = np.array(different, dtype=np.float64), np.array(sizes, dtype=np.intp)
        return variable_of_few(name, few, said or as_typed or None)

    def _as_typed(self, comma: bool) -> tuple[Level, ...] | None:
        """What texts that are all numbers or truth values say of their levels, if anything; None for others.

        It is what :func:`.cells.typed` makes of a column in memory.
        """
        if comma or self.written.form == "truth":
            return () if comma else (False, True)
        if self.order is not None:
            cells = typed(Cells(None, Texts(np.arange(len(self.order)), self.order, ordered=True)))
            return cells.said if isinstance(cells.said, tuple) else None
        return () if self.written.form in ("number", "empty") else None


def infer_types(
    found: Found, names: Sequence[str], kinds: Mapping[str | int, Said], advice: Advice, findings: Findings
) -> tuple[Encoding, np.ndarray]:
    """The variables of a cohort in memory, and a mask (p,) of columns that can be used: see ``types_of``."""
    said = dict(found.said) | by_place(kinds, names, findings)
    look = {*columns_with_few_values(found.values), *said, *found.texts}
    cells = {p: Cells(None, found.texts[p]) if p in found.texts else Cells(found.values[:, p]) for p in look}
    seen = {place: Seen.of(column, in_part=False) for place, column in cells.items()}
    return types_of(seen, names, said, advice, findings)


def types_of(
    seen: Mapping[int, Seen],
    names: Sequence[str],
    said: Mapping[int, Said],
    advice: Advice,
    findings: Findings,
) -> tuple[Encoding, np.ndarray]:
    """The variables of a cohort, and a mask (p,) of columns that can be used; what is wrong is noted.

    Those that were ``seen`` may have levels; all others are numbers. A column with fewer than two different
    values is left a number, too, for the rules about columns to refuse. Texts such as "3,4" are numbers,
    unless it was ``said`` that the column has levels.
    """
    may_be_numbers = {p for p, one in seen.items() if one.text and said.get(p, "number") == "number"}
    commas, unclear = decimal_commas({names[p]: seen[p].written for p in may_be_numbers})
    problems = Problems()
    variables = [Variable(name, "number") for name in names]
    usable = np.ones(len(names), dtype=bool)
    for place, one in sorted(seen.items()):
        name, usable[place] = names[place], False
        with findings.noting(), problems.noting(name):
            refuse_unclear(name, unclear.get(name), advice.other)
            variables[place] = one.variable(name, said.get(place, one.said), name in commas)
            usable[place] = True
    problems.note(advice, findings)
    return Encoding(tuple(variables), decimal_comma=bool(commas)), usable


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
