"""Between a user's table and the numbers of a method: which level is which number, and back.

A table stands between the two: numbers (n, p) with one column for each variable, NaN where missing. A level
that is a number stands for itself, any other for its place among the levels. The method's matrix (n, q) is
the same, but for nominal variables, of which it has a dummy for each level but the first, and for variables
on a log scale, of which it has the logarithm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isinf, isnan, nan
from typing import Any

import numpy as np

from ..method.layout import Layout
from ..method.ordering.precedence import Precedence
from ..method.table import F64, LARGEST, Index
from .cells import Cells, Found, Texts
from .kinds import NO_LIMITS, Limits, Variable
from .labels import text_of
from .naming import Naming, named

NOBODY: Index = np.empty(0, dtype=np.intp)
# A measurement has fewer digits than this, and its logarithm and back keep more: it comes back as it was.
DIGITS = 13
# Beyond, powers of ten that round a number are none of float64.
LARGEST_ROUNDED = 600.0


@dataclass(frozen=True, eq=False)
class Unlike:
    """What cells hold that the cohort did not have, by the places of variables.

    Attributes
    ----------
    unseen : levels that nobody has seen before; they are missing.
    nearest : numbers that nobody has seen before, each with the level that it counts as.
    """

    unseen: dict[int, list[str]]
    nearest: dict[int, dict[str, str]]


@dataclass(frozen=True, eq=False)
class Encoding:
    """The variables of a user's table, what is known of them, and the columns that the method sees.

    ``decimal_comma`` says that the cohort was written with decimal commas: 1,234 is 1.234 then. ``noise``
    (q,) are the standard deviations of the columns' measurement error, where a cohort is learned from.
    """

    variables: tuple[Variable, ...]
    precedence: Precedence | None = None
    decimal_comma: bool = False
    noise: F64 | None = None

    @classmethod
    def numbers(cls, names: list[str]) -> Encoding:
        """Of a table that holds numbers only."""
        return cls(tuple(Variable(name, "number") for name in names))

    @cached_property
    def layout(self) -> Layout:
        """Which variable each of the q columns belongs to, and which values a discrete one takes."""
        found = Layout.of_variables(
            [one.levels for one in self.variables], [one.kind == "nominal" for one in self.variables]
        )
        return replace(found, precedence=self.precedence, noise=self.noise, limits=self._limits(found))

    def _limits(self, layout: Layout) -> F64 | None:
        """(2, q) limits of detection of the columns; None where there are none."""
        if not self.limited:
            return None
        found = np.tile([[-np.inf], [np.inf]], layout.n_columns)
        for place, limits in self.limited.items():
            ends = np.array([limits.lowest, limits.highest])
            if self.variables[place].log:  # nothing positive is below a limit that is not
                ends = np.where(ends > 0, logarithms(ends), -np.inf)
            found[:, layout.columns_of(place)[0]] = ends
        return found

    def knowing(self, precedence: Precedence | None) -> Encoding:
        """The same variables, and what is known of their causal order."""
        return replace(self, precedence=precedence)

    def called(self, namings: Mapping[str, Naming]) -> Encoding:
        """The same variables with these labels, units and digits in place of any others."""
        plain = [replace(variable, label="", unit="", digits=None) for variable in self.variables]
        return replace(self, variables=named(plain, namings))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """(p,) of the variables."""
        return tuple(variable.name for variable in self.variables)

    @cached_property
    def shown_names(self) -> tuple[str, ...]:
        """(p,) what the variables are called where people read of them."""
        return tuple(variable.shown for variable in self.variables)

    @cached_property
    def column_names(self) -> tuple[str, ...]:
        """(q,): "age", and "ward = ICU" for a dummy."""
        return tuple(
            name
            for variable in self.variables
            for name in (
                [f"{variable.name} = {text_of(level)}" for level in variable.levels[1:]]
                if variable.kind == "nominal"
                else [variable.name]
            )
        )

    @property
    def seen_names(self) -> tuple[str, ...]:
        """(q,) the same for what is said of the numbers that the method sees: "log of bili"."""
        if not self.on_log_scale:
            return self.column_names
        logs = [self.variables[variable].log for variable in self.layout.variable]
        named = zip(self.column_names, logs, strict=True)
        return tuple(f"log of {name}" if log else name for name, log in named)

    @cached_property
    def with_levels(self) -> list[int]:
        """The variables that are no numbers."""
        return [place for place, variable in enumerate(self.variables) if variable.levels]

    @cached_property
    def _lookups(self) -> dict[int, _Levels]:
        """The levels of variables, by their places."""
        return {place: _Levels(self.variables[place], self.decimal_comma) for place in self.with_levels}

    @cached_property
    def on_log_scale(self) -> list[int]:
        """The variables of which the method sees the logarithm."""
        return [place for place, variable in enumerate(self.variables) if variable.log]

    @cached_property
    def limited(self) -> dict[int, Limits]:
        """The variables with limits of detection, by their places, and these."""
        found = enumerate(self.variables)
        return {place: variable.limits for place, variable in found if variable.limits != NO_LIMITS}

    def logged(self) -> list[str] | None:
        """The same as the parameter ``log`` of :class:`rootcausal.RCI` says it."""
        return [self.names[place] for place in self.on_log_scale] or None

    def described(self) -> dict[str, dict[str, Any]]:
        """Variables that are no numbers, on a log scale, or with limits, by name, as a model remembers it."""
        with_levels = [self.variables[place] for place in self.with_levels]
        found: dict[str, dict[str, Any]]
        found = {one.name: {"kind": one.kind, "levels": list(one.levels)} for one in with_levels}
        found |= {name: {"kind": "number", "log": True} for name in self.logged() or ()}
        for place, limits in self.limited.items():
            name = self.names[place]
            found[name] = {"kind": "number", **found.get(name, {}), "limits": limits.said}
        return found

    @cached_property
    def dummy(self) -> np.ndarray:
        """(q,) which columns are one of several of their variable."""
        return np.bincount(self.layout.variable)[self.layout.variable] > 1

    @property
    def grouped(self) -> bool:
        """Whether the method sees more columns than there are variables."""
        return any(self.variables[place].kind == "nominal" for place in self.with_levels)

    def reach(self, of_columns: F64) -> F64:
        """(p,) the largest value of each variable, given those (q,) of columns; infinite for nominal ones."""
        of_variables = np.full(len(self.variables), np.inf)
        for place, column in enumerate(np.searchsorted(self.layout.variable, np.arange(of_variables.size))):
            if self.variables[place].kind != "nominal":
                of_variables[place] = of_columns[column]
        logs = self.on_log_scale
        of_variables[logs] = np.minimum(from_logarithms(of_variables[logs]), LARGEST)
        return of_variables

    def not_positive(self, table: F64) -> Index:
        """(p,) how many values of each variable on a log scale have no logarithm, in a table (n, p)."""
        counts = np.zeros(len(self.variables), dtype=np.intp)
        counts[self.on_log_scale] = (table[:, self.on_log_scale] <= 0).sum(axis=0)
        return counts

    def table(self, found: Found) -> tuple[F64, Unlike]:
        """(n, p): one column for each variable; and what the cohort did not have.

        Each cell is read by itself. A text that is no level is NaN, and zero where the variable is a number:
        who reads them refuses such cells. A number that is no level counts as the nearest one, unless levels
        have no order; one beyond a limit of detection is the limit. Numbers are copied only where something
        has to change and they may be the user's own.
        """
        values, unlike = found.values, Unlike({}, {})
        changes: dict[int, F64] = {}
        for place, texts in found.texts.items():
            if not self.variables[place].levels:
                numbers = np.nan_to_num(texts.numbers(self.decimal_comma), posinf=np.inf, neginf=-np.inf)
                changes[place] = np.append(numbers, np.nan)[texts.codes]
        for place, levels in self._lookups.items():
            column, cells = values[:, place], found.texts.get(place)
            odd = _Odd()
            if cells is not None:
                there = cells.only_seen()
                numbers = there.numbers(self.decimal_comma)
                changes[place] = np.append(levels.values_of(there.levels, numbers, odd), np.nan)[there.codes]
            elif not levels.holds(column):
                changes[place] = levels.of_numbers(column, found.said.get(place) == (False, True), odd)
            if odd.unseen:
                unlike.unseen[place] = odd.unseen
            if odd.nearest:
                unlike.nearest[place] = odd.nearest
        for place, limits in self.limited.items():
            column = changes.get(place, values[:, place])
            at = np.clip(column, limits.lowest, limits.highest)
            changes[place] = np.where(np.isinf(column), column, at)  # which is refused
        if changes and found.borrowed:
            values = values.copy(order="F")
        for place, changed in changes.items():
            values[:, place] = changed
        return values, unlike

    def matrix(self, table: F64) -> F64:
        """(n, q): what the method sees of a table (n, p); the same array where that is the table itself."""
        if not (self.grouped or self.on_log_scale):
            return table
        matrix = np.empty((len(table), self.layout.n_columns), order="F")
        column = 0
        for place, variable in enumerate(self.variables):
            values = table[:, place]
            if variable.kind != "nominal":
                matrix[:, column] = logarithms(values) if variable.log else values
                column += 1
                continue
            for level in range(1, len(variable.levels)):
                matrix[:, column] = np.where(np.isnan(values), np.nan, values == level)
                column += 1
        return matrix


@dataclass(frozen=True, eq=False)
class _Odd:
    """What :class:`Unlike` holds of one variable."""

    unseen: list[str] = field(default_factory=list)
    nearest: dict[str, str] = field(default_factory=dict)


class _Levels:
    """The levels of a variable, among which cells are looked for one by one."""

    def __init__(self, variable: Variable, decimal_comma: bool) -> None:
        texts = tuple(map(text_of, variable.levels))
        self._texts, self._values = texts, variable.values
        self._numbers = Texts(NOBODY, texts).numbers(decimal_comma)
        are_texts = any(isinstance(level, str) for level in variable.levels)
        self._of_numbers = not (are_texts or variable.kind == "nominal")
        self._by_text = dict(zip(texts, range(len(texts)), strict=True)) if are_texts else {}
        folded = [text.casefold() for text in texts] if are_texts else []
        self._by_truth = {one: folded.index(one) for one in ("true", "false") if folded.count(one) == 1}
        numbers = self._numbers.tolist()
        self._by_number = {
            number: place
            for place, number in enumerate(numbers)
            if not isnan(number) and numbers.count(number) == 1
        }

    def holds(self, column: F64) -> bool:
        """Whether numbers (n,) stand for themselves, all of them, or are for others to refuse."""
        return self._of_numbers and bool((~np.isfinite(column) | np.isin(column, self._numbers)).all())

    def of_numbers(self, column: F64, truth: bool, odd: _Odd) -> F64:
        """(n,): what stands in a table for each of the numbers (n,), which may be truth values."""
        different, place = np.unique(column[~np.isnan(column)], return_inverse=True)
        words = {0.0: "false", 1.0: "true"} if truth else {}
        texts = [words.get(number, text_of(number)) for number in different.tolist()]
        values = np.full(column.size, np.nan)
        values[~np.isnan(column)] = self.values_of(texts, different, odd)[place]
        return values

    def values_of(self, texts: Sequence[str], numbers: F64, odd: _Odd) -> F64:
        """(k,): what stands in a table for cells of these texts, which are these numbers (k,) or NaN."""
        return np.array([self._value_of(*cell, odd) for cell in zip(texts, numbers.tolist(), strict=True)])

    def _value_of(self, text: str, number: float, odd: _Odd) -> float:
        """It is a level as it is written, or else the only one that is the same truth value or number."""
        place = self._by_text.get(text, self._by_truth.get(text.casefold(), self._by_number.get(number)))
        if place is None and self._of_numbers and not isnan(number):
            if isinf(number):
                return number  # which is refused
            place = int(np.abs(self._numbers - number).argmin())
            odd.nearest[text] = self._texts[place]
        if place is None:
            odd.unseen.append(text)
            return nan
        return float(self._values[place])


def cells_of_levels(variable: Variable, values: F64) -> Cells:
    """The cells that stand for values (n,) of a variable with levels in a table."""
    if variable.kind != "nominal" and not any(isinstance(level, str) for level in variable.levels):
        return Cells(values)
    codes: Index = np.where(np.isnan(values), -1, values).astype(np.intp)
    return Cells(None, Texts(codes, tuple(map(text_of, variable.levels))))


def logarithms(values: F64) -> F64:
    """The natural logarithms of positive numbers; NaN for all others."""
    return np.log(np.where(values > 0, values, np.nan))


def from_logarithms(logs: F64) -> F64:
    """The numbers of these logarithms, to thirteen digits: 2.5 is 2.5 again, and equal numbers stay equal."""
    with np.errstate(over="ignore"):  # a prediction may be beyond all numbers
        values = np.exp(logs)
    rounded = np.abs(logs) < LARGEST_ROUNDED  # not where there is no number
    digits = DIGITS - 1 - np.floor(logs[rounded] / np.log(10.0))
    # Only powers of ten with a positive exponent are exact.
    up, down = 10.0 ** np.maximum(digits, 0.0), 10.0 ** np.maximum(-digits, 0.0)
    values[rounded] = np.round(values[rounded] * up / down) / up * down
    return values
