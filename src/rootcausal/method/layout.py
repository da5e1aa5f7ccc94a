"""What the columns of a table stand for: numbers, columns with a few levels, and dummies of one variable.

A table holds numbers only. A variable of a user's table is one column of it or, where it is nominal, one
column of zeros and ones (a dummy) for each of its levels but one. What is known of the causal order of the
variables goes with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .ordering.precedence import Precedence
from .table import F64, Index

NO_LEVELS = np.empty(0)
DUMMY = np.array([0.0, 1.0])
# Of one variable: all texts, all numbers, or false and true.
Levels = Sequence[str | float | bool]


def values_of(levels: Levels, nominal: bool) -> F64:
    """(levels,) what stands for each level: a number for itself, a text or a nominal one for its place."""
    if nominal or any(isinstance(level, str) for level in levels):
        return np.arange(len(levels), dtype=np.float64)
    return np.array(levels, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Layout:
    """The columns of a table, and the variables that they belong to.

    Attributes
    ----------
    variable : (q,) the variable of each column, ascending: dummies of one lie side by side.
    levels : (q,) the values that a discrete column takes, ascending; empty for a number.
    precedence : what is known of the order of the variables; None where that is nothing.
    noise : (q,) standard deviation of the measurement error of each column; None where there is none.
    limits : (2, q) the limits of detection of each column: a value at or below the first, or at or above the
        second, is known to lie there and no more. Infinite where there is none; None where no column has one.
    """

    variable: Index
    levels: tuple[F64, ...]
    precedence: Precedence | None = None
    noise: F64 | None = None
    limits: F64 | None = None

    @classmethod
    def numbers(cls, n_columns: int) -> Layout:
        """A table of numbers: each column is a variable."""
        return cls(np.arange(n_columns), (NO_LEVELS,) * n_columns)

    @classmethod
    def of_variables(cls, levels: Sequence[Levels], nominal: Sequence[bool]) -> Layout:
        """The columns of variables with these levels, none for a number; nominal ones have dummies."""
        variable: list[int] = []
        values: list[F64] = []
        for place, (some, dummies) in enumerate(zip(levels, nominal, strict=True)):
            found = (
                [DUMMY] * (len(some) - 1) if dummies else [values_of(some, dummies) if some else NO_LEVELS]
            )
            variable += [place] * len(found)
            values += found
        return cls(np.array(variable, dtype=np.intp), tuple(values))

    @property
    def n_columns(self) -> int:
        return self.variable.size

    @property
    def n_variables(self) -> int:
        return int(self.variable[-1]) + 1 if self.variable.size else 0

    @property
    def discrete(self) -> np.ndarray:
        """(q,) which columns have levels."""
        return np.array([levels.size > 0 for levels in self.levels], dtype=bool)

    @property
    def binary(self) -> np.ndarray:
        """(q,) which columns have two levels."""
        return np.array([levels.size == 2 for levels in self.levels], dtype=bool)

    @property
    def exact(self) -> bool:
        """Whether a value that is there is the true one: no column has measurement error, or a limit."""
        return self.noise is None and self.limits is None

    @property
    def grouped(self) -> bool:
        """Whether some variable has more columns than one."""
        return self.n_variables < self.n_columns

    def columns_of(self, variable: int) -> Index:
        """The columns of one variable."""
        return np.flatnonzero(self.variable == variable)

    @cached_property
    def first_columns(self) -> Index:
        """(p,) the first column of each variable."""
        return np.flatnonzero(np.append(True, np.diff(self.variable) > 0)[: self.n_columns])

    @property
    def covariate(self) -> np.ndarray:
        """(q,) which columns are adjusted for, and no root causes."""
        if self.precedence is None:
            return np.zeros(self.n_columns, dtype=bool)
        return self.precedence.covariate[self.variable]

    @property
    def kept(self) -> np.ndarray:
        """(q,) which columns no test drops and no search places."""
        if self.precedence is None:
            return np.zeros(self.n_columns, dtype=bool)
        return self.precedence.kept[self.variable]

    @property
    def acts(self) -> np.ndarray:
        """(q,) which columns are known to act on the outcome directly."""
        if self.precedence is None:
            return np.zeros(self.n_columns, dtype=bool)
        return self.precedence.acts[self.variable]

    @property
    def does_not_act(self) -> np.ndarray:
        """(q,) which columns are known not to."""
        if self.precedence is None:
            return np.zeros(self.n_columns, dtype=bool)
        return self.precedence.does_not[self.variable]

    def knowing(self, precedence: Precedence | None) -> Layout:
        """The same columns, and what is known of their variables."""
        return replace(self, precedence=precedence)

    def take(self, columns: Index) -> Layout:
        """The layout of some columns, ascending; their variables are numbered anew."""
        variables, variable = np.unique(self.variable[columns], return_inverse=True)
        known = None if self.precedence is None else self.precedence.take(variables)
        noise = None if self.noise is None or not self.noise[columns].any() else self.noise[columns]
        limits = None if self.limits is None else self.limits[:, columns]
        limits = None if limits is None or not np.isfinite(limits).any() else limits
        levels = tuple(self.levels[c] for c in columns)
        return Layout(variable.astype(np.intp), levels, known, noise, limits)

    def any_of(self, probability: F64) -> F64:
        """(p,): that at least one column of each variable is something, by probabilities (q,) of the columns.

        For a variable of several columns 1 - Π(1 - p), as if they were independent.
        """
        if not self.grouped:
            return probability
        none = np.ones(self.n_variables)
        np.multiply.at(none, self.variable, 1.0 - probability)
        return 1.0 - none


def shares_of_levels(dummies: F64) -> F64:
    """(n, m): how likely each of m levels is, by dummies (n, m - 1) of all but the first.

    Of a measured level this is one, and zero elsewhere; dummies that were expected lie in between.
    """
    others = np.clip(dummies, 0.0, 1.0)
    first = np.clip(1.0 - others.sum(axis=1, keepdims=True), 0.0, 1.0)
    shares = np.concatenate([first, others], axis=1)
    return shares / shares.sum(axis=1, keepdims=True)
