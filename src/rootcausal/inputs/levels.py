"""Levels in words and as numbers: what a cell that is no number says, and what a level is in a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..method.layout import Layout, shares_of_levels, values_of
from ..method.model import CausalModel
from ..method.table import F64, Index
from ..wording import listed, quoted
from .encoding import from_logarithms
from .kinds import Variable
from .labels import text_of

LEVELS_NAMED = 30
# A level this likely is said without its share.
SURE = 0.995


@dataclass(frozen=True, eq=False)
class LevelsSaid:
    """What cells of one variable with levels say.

    Attributes
    ----------
    places : (n,) the level of each in ``Variable.levels``; -1 where there is no value. What was expected and
        not measured lies between levels: of an ordinal variable the nearest, of others the likeliest.
    shares : (n,) how likely that level is; NaN where the levels have an order of more than two.
    """

    places: Index
    shares: F64


@dataclass(frozen=True, eq=False)
class TableInWords:
    """A table of numbers, and the variables that it is about.

    Attributes
    ----------
    variables : p of them.
    layout : which variable each column belongs to; None where each is one.
    columns : (n, q) the numbers.
    """

    variables: tuple[Variable, ...]
    layout: Layout | None
    columns: F64

    def numbers(self) -> F64:
        """(n, p): one number a variable, in its own unit; of a nominal one that which stands for its level.

        Where no variable has several columns or a log scale these are the columns themselves.
        """
        if self.layout is None or not self.layout.grouped:
            logs = [v for v, variable in enumerate(self.variables) if variable.log]
            if not logs:
                return self.columns
            numbers = self.columns.copy()
            numbers[:, logs] = from_logarithms(numbers[:, logs])
            return numbers
        return np.column_stack([self._numbers_of(v) for v in range(len(self.variables))])

    def levels(self) -> np.ndarray:
        """(n, p): texts of levels; None for numbers, and where there is no value."""
        shape = (len(self.columns), len(self.variables))
        having = [v for v, variable in enumerate(self.variables) if variable.levels]
        if not having:
            return np.broadcast_to(np.array(None, dtype=object), shape)
        found = np.full(shape, None, dtype=object)
        for v in having:
            texts = np.array([*level_texts(self.variables[v]), None], dtype=object)
            found[:, v] = texts[self.said(v).places]
        return found

    def said(self, v: int, row: int | None = None) -> LevelsSaid:
        """What a variable with levels says, of one patient or of all."""
        rows = slice(None) if row is None else slice(row, row + 1)
        return said_by(self.variables[v], self.of(v)[rows])

    def of(self, v: int) -> F64:
        """(n, m): the columns of one variable."""
        return self.columns[:, [v] if self.layout is None else self.layout.columns_of(v)]

    def in_unit(self, v: int, numbers: F64) -> F64:
        """Numbers of a column in the unit of its variable, which is no nominal one."""
        return from_logarithms(numbers) if self.variables[v].log else numbers

    def level_texts(self, v: int) -> list[str]:
        """What to call the levels of one variable; none for a number."""
        return level_texts(self.variables[v])

    def places(self, v: int, codes: F64) -> F64:
        """(m,): the places of the levels that numbers (m,) stand for, of a binary or ordinal variable."""
        return np.abs(codes[:, None] - codes_of(self.variables[v])).argmin(axis=1).astype(np.float64)

    def with_each_level(self, model: CausalModel, v: int) -> F64:
        """(n, m): the predictor of the outcome with each of the levels of a variable set."""
        places = range(len(self.variables[v].levels))
        wanted = [columns_of_level(self.variables[v], place) for place in places]
        return np.stack([model.with_level(self.columns, v, level)[0] for level in wanted], axis=1)

    def text(self, row: int, v: int) -> str:
        """One cell for the screen: a number, with the digits of its variable or else four; or a level.

        Of a level that is unsure its share is told, too.
        """
        variable = self.variables[v]
        if not variable.levels:
            number = self.in_unit(v, self.of(v)[[row], 0])[0]
            return f"{number:.4g}" if variable.digits is None else f"{number:.{variable.digits}f}"
        said = self.said(v, row)
        if said.places[0] < 0:
            return "nan"
        text, share = level_texts(variable)[said.places[0]], said.shares[0]
        return f"{text} ({share:.0%})" if share < SURE else text

    def _numbers_of(self, v: int) -> F64:
        variable = self.variables[v]
        if variable.kind != "nominal":
            return self.in_unit(v, self.of(v)[:, 0])
        # The last is for cells without a value, whose place is -1.
        return np.append(codes_of(variable), np.nan)[self.said(v).places]


def level_texts(variable: Variable) -> list[str]:
    return [text_of(level) for level in variable.levels]


def codes_of(variable: Variable) -> F64:
    """(m,) the number that stands for each level on the faces: its own, for a nominal variable too."""
    return values_of(variable.levels, nominal=False)


def said_by(variable: Variable, columns: F64) -> LevelsSaid:
    """What columns (n, m) of a variable with levels say."""
    known = ~np.isnan(columns).any(axis=1)
    places, shares = np.full(len(columns), -1), np.full(len(columns), np.nan)
    if variable.kind == "nominal":
        likely = shares_of_levels(columns[known])
        places[known], shares[known] = likely.argmax(axis=1), likely.max(axis=1)
        return LevelsSaid(places, shares)
    codes = codes_of(variable)
    places[known] = np.abs(columns[known] - codes).argmin(axis=1)
    if variable.kind == "binary":
        high = np.clip((columns[known, 0] - codes[0]) / (codes[1] - codes[0]), 0.0, 1.0)
        shares[known] = np.maximum(high, 1.0 - high)
    return LevelsSaid(places, shares)


def columns_of_level(variable: Variable, place: int) -> F64:
    """What the columns of a variable hold where it has this level."""
    if variable.kind == "nominal":
        return np.eye(len(variable.levels))[place, 1:]
    return codes_of(variable)[[place]]


def place_of(variable: Variable, level: Any) -> int:
    """The level that is meant, by itself or by its text; an InputError lists those there are."""
    for place, known in enumerate(variable.levels):
        same = known == level and isinstance(known, str) == isinstance(level, str)
        if same or text_of(known) == level or _same_number(known, level):
            return place
    raise InputError(
        f"{quoted(variable.name)} has no level {quoted(level)}: choose one of {levels_listed(variable)}"
    )


def _same_number(known: Any, text: Any) -> bool:
    """Whether a text such as 1.0 is the number that a level is."""
    if isinstance(known, str | bool) or not isinstance(text, str):
        return False
    try:
        return float(text) == known
    except ValueError:
        return False


def levels_listed(variable: Variable) -> str:
    return listed([quoted(text) for text in level_texts(variable)], LEVELS_NAMED)
