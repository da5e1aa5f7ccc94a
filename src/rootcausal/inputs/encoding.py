"""Between a user's table and the numbers of a method: which level is which number, and back.

A table stands between the two: numbers (n, p) with one column for each variable, NaN where missing. A level
that is a number stands for itself, any other for its place among the levels. The method's matrix (n, q) is
the same, but for nominal variables, of which it has a dummy for each level but the first, and for variables
on a log scale, of which it has the logarithm.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..core.layout import Layout
from ..core.precedence import Precedence
from ..core.table import F64, LARGEST
from .cells import Found, Texts
from .kinds import Variable
from .labels import text_of
from .log_scale import from_logarithms, logarithms
from .naming import Naming, named


@dataclass(frozen=True, eq=False)
class Encoding:
    """The variables of a user's table, what is known of them, and the columns that the method sees."""

    variables: tuple[Variable, ...]
    precedence: Precedence | None = None

    @classmethod
    def numbers(cls, names: list[str]) -> Encoding:
        """Of a table that holds numbers only."""
        return cls(tuple(Variable(name, "number") for name in names))

    @cached_property
    def layout(self) -> Layout:
        """Which variable each of the q columns belongs to, and which values a discrete one takes."""
        return Layout.of_variables(
            [one.levels for one in self.variables], [one.kind == "nominal" for one in self.variables]
        ).knowing(self.precedence)

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
    def on_log_scale(self) -> list[int]:
        """The variables of which the method sees the logarithm."""
        return [place for place, variable in enumerate(self.variables) if variable.log]

    def transforms(self) -> dict[str, str] | None:
        """The same as the parameter of :class:`rootcausal.RCI` says it."""
        return {self.names[place]: "log" for place in self.on_log_scale} or None

    def described(self) -> dict[str, dict[str, Any]]:
        """Variables that are no numbers, or on a log scale, by name, as a model remembers them."""
        with_levels = [self.variables[place] for place in self.with_levels]
        found = {one.name: {"kind": one.kind, "levels": list(one.levels)} for one in with_levels}
        logs = [self.names[place] for place in self.on_log_scale]
        return found | {name: {"kind": "number", "transform": "log"} for name in logs}

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

    def table(self, found: Found) -> tuple[F64, dict[int, list[str]]]:
        """(n, p): one column for each variable; and the levels, by variable, that nobody has seen before.

        These, and a text where its variable holds numbers, are NaN. Numbers are copied only where something
        has to change and they may be the user's own.
        """
        values, unseen = found.values, dict[int, list[str]]()
        changes: dict[int, F64] = {}
        for place in self.with_levels:
            texts, column = found.texts.get(place), values[:, place]
            changed, strange = (
                _numbers_as_values(self.variables[place], column)
                if texts is None
                else _texts_as_values(self.variables[place], texts)
            )
            if changed is not column:
                changes[place] = changed
            if strange:
                unseen[place] = strange
        if changes and found.borrowed:
            values = values.copy(order="F")
        for place, changed in changes.items():
            values[:, place] = changed
        return values, unseen

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


def _numbers_as_values(variable: Variable, column: F64) -> tuple[F64, list[str]]:
    """A column (n,) by the levels of its variable; the same array where nothing changes."""
    if any(isinstance(level, str) for level in variable.levels):
        known = {text_of(level): value for level, value in zip(variable.levels, variable.values, strict=True)}
        different = np.unique(column[~np.isnan(column)])
        words = {number: text_of(number) for number in different.tolist()}
        changed = np.full(column.size, np.nan)
        for number, word in words.items():
            if word in known:
                changed[column == number] = known[word]
        return changed, [word for word in words.values() if word not in known]
    levels = np.array(variable.levels, dtype=np.float64)
    strange = np.isfinite(column) & ~np.isin(column, levels)
    unseen = [text_of(level) for level in np.unique(column[strange]).tolist()]
    if variable.kind == "nominal":
        changed = np.full(column.size, np.nan)
        for place, level in enumerate(levels):
            changed[column == level] = place
        return changed, unseen
    return (np.where(strange, np.nan, column) if unseen else column), unseen


def _texts_as_values(variable: Variable, texts: Texts) -> tuple[F64, list[str]]:
    known: Mapping[str, float] = dict(
        zip(map(text_of, variable.levels), variable.values.tolist(), strict=True)
    )
    if all(isinstance(level, bool) for level in variable.levels):  # beside other words in the same column
        known = {**known, "True": 1.0, "TRUE": 1.0, "False": 0.0, "FALSE": 0.0}
    by_code = np.array([known.get(text, np.nan) for text in texts.levels] + [np.nan])
    seen = np.unique(texts.codes)
    unseen = [texts.levels[code] for code in seen if code >= 0 and texts.levels[code] not in known]
    return by_code[texts.codes], unseen
