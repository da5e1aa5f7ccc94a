"""A cohort with missing values, seen through sums: the waist of imputation.

As in :mod:`rootcausal.method.table`, rows stay where they are. A round of expectation-maximization (EM) asks
for sums over rows whose missing values were filled with what is expected of them; at the end the rows are
filled in at random, and become a table without missing values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ..layout import Layout
from ..table import F64, SCORE, Described, Index, RawTable
from ..weighted import ClassWeights
from .gaussian import JointGaussian, censored
from .noise import U64, ranks_among_equals

#: Times that an incomplete patient is filled in.
DRAWS = 5


@dataclass(frozen=True, eq=False)
class View:
    """How rows are seen: some columns, standardized, and after them the outcome D, which is never missing.

    Attributes
    ----------
    cols : (m,) columns of the table, ascending.
    mean, sd : (m,) what they are standardized by.
    scores : (2,) what D is for controls and for cases, standardized too; None where each row has its own.
    weights : what a row of each class counts.
    noise : (m,) variances of measurement error, standardized likewise; None where there is none.
    limits : (2, m) of detection, in the units of the table; None where there are none.
    """

    cols: Index
    mean: F64
    sd: F64
    scores: F64 | None
    weights: ClassWeights
    noise: F64 | None = None
    limits: F64 | None = None

    @property
    def size(self) -> int:
        """Columns and D together, m + 1."""
        return self.cols.size + 1

    @property
    def noise_of_all(self) -> F64 | None:
        """(m + 1,) the same with D, which has none."""
        return None if self.noise is None else np.append(self.noise, 0.0)

    @property
    def limits_of_all(self) -> F64 | None:
        """(2, m + 1) limits of standardized columns, and of D, which has none."""
        if self.limits is None:
            return None
        return np.column_stack([(self.limits - self.mean) / self.sd, [-np.inf, np.inf]])

    def lacking(self, values: F64) -> np.ndarray:
        """(n, m): which values of its columns are missing (NaN), or known only to lie beyond a limit."""
        missing = np.isnan(values)
        return missing if self.limits is None else missing | censored(values, self.limits)

    def outcome_of(self, known: np.ndarray) -> F64:
        """(n,) D, of what tables know of it (see :func:`rootcausal.method.table.classes_of`)."""
        score: F64 = known[:, SCORE] if self.scores is None else self.scores[known]
        return score

    def weights_of(self, known: np.ndarray) -> F64:
        """(n,) what each row counts."""
        if self.weights.equal:
            return np.ones(len(known))
        return np.array([self.weights.controls, self.weights.cases])[known]


@dataclass(frozen=True, eq=False)
class JointSums:
    """Weighted sums over rows z (d,) of a view.

    Attributes
    ----------
    total : (d,) Σ z.
    product : (d, d) Σ z zᵀ, and where missing ones were filled with what is expected, Σ of their covariances.
    unknown : (d,) Σ of the variances of what was filled in.
    """

    total: F64
    product: F64
    unknown: F64

    @classmethod
    def zero(cls, d: int) -> JointSums:
        return cls(np.zeros(d), np.zeros((d, d)), np.zeros(d))

    def __add__(self, other: JointSums) -> JointSums:
        return JointSums(self.total + other.total, self.product + other.product, self.unknown + other.unknown)

    def __rmul__(self, weight: float) -> JointSums:
        return JointSums(weight * self.total, weight * self.product, weight * self.unknown)


@dataclass(frozen=True, eq=False)
class Repeats:
    """Rows that hold what rows before them do, where these are elsewhere.

    Attributes
    ----------
    numbers : (r,) of such rows in the whole cohort, ascending.
    ranks : (r,) how many rows before each hold the same.
    """

    numbers: Index
    ranks: Index

    @classmethod
    def of(cls, numbers: Index, contents: U64) -> Repeats:
        """Of rows (n,) with their numbers in the cohort and hashes of what they hold."""
        order = np.argsort(numbers)
        ranks = ranks_among_equals(contents[order])
        return cls(numbers[order][ranks > 0], ranks[ranks > 0])

    def of_rows(self, numbers: Index) -> Index:
        """(n,) the ranks of some rows."""
        if not self.numbers.size:
            return np.zeros(numbers.size, dtype=np.intp)
        place = np.minimum(np.searchsorted(self.numbers, numbers), self.numbers.size - 1)
        return np.where(self.numbers[place] == numbers, self.ranks[place], 0)


@dataclass(frozen=True, eq=False)
class Imputer:
    """How to fill in at random.

    Attributes
    ----------
    view, joint : which Gaussian the columns come from, given what a row has and its D; where there is noise,
        they are true values, and their measurements come last (see :mod:`.measurement`).
    seed : of the noise, which belongs to what the row holds, the draw and the column, and to nothing else.
    ids : (m,) the columns of the view in the whole cohort: by them the noise knows its column.
    layout : of the columns of the view; those with levels get one of these.
    repeats : which rows hold the same as others; None where all rows are in one place, which shows it.
    """

    view: View
    joint: JointGaussian
    seed: int
    ids: Index
    layout: Layout
    repeats: Repeats | None = None


@runtime_checkable
class IncompleteRaw(Described, Protocol):
    """A cohort with an outcome and missing values (NaN); its moments are those of what was measured."""

    def incomplete_rows(self) -> int:
        """How many rows lack some value."""
        ...

    def measured_sums(self, view: View) -> JointSums:
        """Over the rows that have every column of the view."""
        ...

    def expected_sums(self, view: View, joint: JointGaussian) -> JointSums:
        """Over all other rows, what they lack filled with what is expected given the rest of the row."""
        ...

    def filled(self, filling: Imputer) -> tuple[RawTable, RawTable]:
        """The columns of the view, complete: rows that have them all; and :data:`DRAWS` copies of each other
        row, filled in at random. Either may have no rows. Where the view has noise, all rows are copied.
        """
        ...
