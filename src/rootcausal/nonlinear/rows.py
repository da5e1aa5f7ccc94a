"""What the nonlinear mechanism asks of the rows: sums, like the linear one, batched over many sets of causes.

Whoever holds the rows sums over them and decides nothing. A *design* is one effect and the terms of its
causes: columns of their splines, and products of two causes. All sums are weighted sums over rows, so that
those of parts of a cohort can be added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from ..method.table import F64, Index, Table

if TYPE_CHECKING:
    from .curves import Splines
    from .ties import Heaps

# A cause has a line and up to three columns that make it a curve.
TERMS_A_CAUSE = 4
# Beyond so many standard deviations a product of two causes does not grow.
PRODUCT_WITHIN = 2.5
# A row whose residual is so many times what is expected counts for no more: one outlier is no spread.
LARGEST_RATIO = 8.0
# Added to the diagonal of sums of squares: so many rows in which the terms say nothing.
RIDGE = 1.0
# Of the squares of errors, such a part is what adding them up leaves of nothing.
ROUNDING = 1e-14
# Logarithms of a spread stay within ± this.
LARGEST_LOG_SPREAD = 30.0


@dataclass(frozen=True, eq=False)
class Designs:
    """m effects, each with up to t terms of its causes; a constant is a term before all of them.

    Attributes
    ----------
    effect : (m,) columns that are explained; of q columns, q and above are the same on their other scales.
    first : (m, t) what each term is: a row of the splines, TERMS_A_CAUSE · column + place; zero beyond
        ``size``.
    second : (m, t) for a product of two causes the other row; -1 where the term is no product.
    size : (m,) how many terms each has.
    """

    effect: Index
    first: Index
    second: Index
    size: Index

    @classmethod
    def of(cls, effects: Sequence[int], terms: Sequence[Sequence[tuple[int, int]]]) -> Designs:
        """Of effects, and the terms (first, second) of each."""
        size = np.array([len(some) for some in terms], dtype=np.intp)
        width = max(1, int(size.max(initial=0)))
        pairs = np.zeros((len(terms), width, 2), dtype=np.intp)
        pairs[:, :, 1] = -1
        for row, some in zip(pairs, terms, strict=True):
            if some:
                row[: len(some)] = some
        return cls(np.array(effects, dtype=np.intp), pairs[:, :, 0].copy(), pairs[:, :, 1].copy(), size)

    def take(self, some: Index) -> Designs:
        """Some of them, no less wide."""
        return Designs(self.effect[some], self.first[some], self.second[some], self.size[some])

    def __len__(self) -> int:
        return self.effect.size

    @property
    def width(self) -> int:
        """Terms of the longest, and the constant."""
        return self.first.shape[1] + 1


@dataclass(frozen=True, eq=False)
class Told:
    """What is told of one column by others.

    Attributes
    ----------
    designs : of this column alone.
    beta : (1 + t,) of what is expected, or of the logit.
    gamma : (1 + t,) of the logarithm of the spread; None where it is even.
    thresholds : of a column with levels; None for a number.
    """

    designs: Designs
    beta: F64
    gamma: F64 | None = None
    thresholds: F64 | None = None

    @property
    def effect(self) -> int:
        """The column; on its other scale as designs have it."""
        return int(self.designs.effect[0])


@dataclass(frozen=True, eq=False)
class Around:
    """What lies around some values of a column.

    Attributes
    ----------
    count : (m,) how often each is there.
    below, above : (m,) the next other values; infinite where there are none.
    """

    count: Index
    below: F64
    above: F64

    def take(self, some: Index) -> Around:
        return Around(self.count[some], self.below[some], self.above[some])

    def __add__(self, other: Around) -> Around:
        """Of the rows of both."""
        below, above = np.maximum(self.below, other.below), np.minimum(self.above, other.above)
        return Around(self.count + other.count, below, above)


class PlainRows(Protocol):
    """Standardized columns before anything is known of their splines: what has to be known to make these."""

    @property
    def n_rows(self) -> int:
        """How many rows there are, whatever they weigh."""
        ...

    @property
    def weight(self) -> float:
        """Σ of the weights of all rows: as many as there are patients."""
        ...

    def gram(self) -> F64:
        """(q, q): Σ z zᵀ."""
        ...

    def extremes(self) -> F64:
        """(q, 2): the least and the greatest value of each column."""
        ...

    def quantiles(self, shares: F64) -> F64:
        """(q, s) of each column; see :mod:`.ranks`."""
        ...

    def curve_grams(self, knots: F64, curves: F64) -> F64:
        """(q, c, c): Σ of products of curves (q, c, PIECES, 4) of each column, with these knots."""
        ...

    def common(self, columns: Sequence[int], room: int) -> Mapping[int, F64]:
        """Of some columns, ascending values among which are all that more than one in ``room`` rows share."""
        ...

    def around(self, values: Mapping[int, F64]) -> Mapping[int, Around]:
        """What lies around these values of some columns."""
        ...

    def grid_counts(self, grids: Mapping[int, tuple[float, float, int]]) -> Mapping[int, F64]:
        """How many rows are near each point of a grid: the first, the last, and how many points."""
        ...

    def prepared(
        self, splines: Splines, level_values: tuple[F64, ...], heaps: Mapping[int, Heaps]
    ) -> NonlinearRows:
        """The same rows with their splines, and common values spread out."""
        ...


class SearchedRows(Protocol):
    """What a search asks of rows beside fits."""

    @property
    def weight(self) -> float:
        """Σ of the weights of all rows: as many as there are patients."""
        ...

    def sample(self, size: int) -> SearchedRows:
        """So many of the rows, the same each time; these may come together."""
        ...

    def keep_errors(self, told: Sequence[Told]) -> None:
        """Remember these errors, for :meth:`dependence`; of levels, Pearson's residuals."""
        ...

    def dependence(self, effects: Index) -> F64:
        """(m, 2, q · TERMS_A_CAUSE): what the errors that were kept have in common with all splines.

        First n r², r being the correlation of the error with a row of the splines; then of its size.
        """
        ...


class NonlinearRows(SearchedRows, Protocol):
    """The rows of a cohort, seen through sums.

    Columns are standardized. ``beta`` (m, width) are coefficients of what is expected, ``gamma`` (m, width)
    of the logarithm of the spread; the constant comes first, and what lies beyond a design's size is zero.
    """

    @property
    def n_rows(self) -> int:
        """How many rows there are, whatever they weigh."""
        ...

    def sample(self, size: int) -> NonlinearRows:
        """So many of the rows, the same each time; these may come together."""
        ...

    def of_columns(self, columns: Index) -> Self:
        """The same of some columns."""
        ...

    def gram(self) -> F64:
        """(q, q): Σ z zᵀ of the columns."""
        ...

    def extremes(self) -> F64:
        """(q, 2): the least and the greatest value of each column."""
        ...

    def error_quantiles(self, told: Sequence[Told], shares: F64) -> F64:
        """(m, s): quantiles of errors, which are not scaled; common values are not spread out for them."""
        ...

    def table(self, terms: Sequence[tuple[int, int]]) -> Table:
        """Terms as the columns of a table with the outcomes, each patient counting once."""
        ...

    def grams(self, designs: Designs, gamma: F64 | None = None) -> F64:
        """(m, width + 1, width + 1): Σ z zᵀ of the terms and, last, the effect.

        With ``gamma``, rows count for 1 / spread² of the design.
        """
        ...

    def spread_sums(self, designs: Designs, beta: F64, gamma: F64) -> F64:
        """(m, width): Σ z (min(|r| / spread, LARGEST_RATIO) − 1), r being what is left of the effect."""
        ...

    def histograms(self, designs: Designs, beta: F64, gamma: F64 | None, unit: F64) -> tuple[F64, F64]:
        """Histograms (m, BINS) of errors r / spread, in this unit (m,), and sums (m, 3) beside them.

        The sums are Σ log spread, Σ error and Σ error²; without ``gamma`` the spread is one.
        """
        ...

    def spread_limits(self, designs: Designs, gamma: F64) -> F64:
        """(m, 2): the lowest and the highest logarithm of the spread of any row."""
        ...

    def level_sums(self, designs: Designs, beta: F64, thresholds: F64) -> LevelledSums:
        """Of effects with levels, cumulative logits with ``thresholds`` (m, t), +∞ beyond their levels."""
        ...


@dataclass(frozen=True, eq=False)
class LevelledSums:
    """Derivatives of cumulative logits, one a design.

    Attributes
    ----------
    loglik : (m,).
    gradient : (m, width) in the coefficients; that of the constant is not used.
    hessian : (m, width, width) its negative derivative.
    threshold_gradient : (m, t) in the thresholds.
    threshold_hessian : (m, t, t) its negative derivative.
    cross : (m, width, t) the negative derivative of the gradient in the thresholds.
    """

    loglik: F64
    gradient: F64
    hessian: F64
    threshold_gradient: F64
    threshold_hessian: F64
    cross: F64

    @classmethod
    def zero(cls, m: int, width: int, t: int) -> LevelledSums:
        """Of m designs of this width and t thresholds, to be added to."""
        return cls(
            np.zeros(m),
            np.zeros((m, width)),
            np.zeros((m, width, width)),
            np.zeros((m, t)),
            np.zeros((m, t, t)),
            np.zeros((m, width, t)),
        )

    def __add__(self, other: LevelledSums) -> LevelledSums:
        return LevelledSums(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True, eq=False)
class SharedSums:
    """What errors, and then their sizes, have in common with the rows of splines.

    Attributes
    ----------
    with_splines : (m, 2, s) Σ of products.
    total, square : (m, 2) Σ of errors, and of their squares.
    """

    with_splines: F64
    total: F64
    square: F64

    def __add__(self, other: SharedSums) -> SharedSums:
        return SharedSums(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def dependence(self, weight: float) -> F64:
        """(m, 2, s): see :meth:`SearchedRows.dependence`; of rows of this weight."""
        mean = self.total / weight
        variance = self.square / weight - mean * mean
        # What varies by rounding alone does not. Splines have mean zero, so that none has to be taken away.
        varies = variance > ROUNDING * self.square / weight
        return np.where(varies[:, :, None], self.with_splines**2, 0.0) / (
            np.where(varies, variance, 1.0)[:, :, None] * weight
        )
