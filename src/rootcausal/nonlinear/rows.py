"""What the nonlinear mechanism asks of the rows: sums, like the linear one, batched over many sets of causes.

Whoever holds the rows sums over them and decides nothing. A *design* is one effect and the terms of its
causes: columns of their splines, and products of two causes. All sums are weighted sums over rows, so that
those of parts of a cohort can be added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from ..method.table import F64, Index

# A cause has a line and up to three columns that make it a curve.
TERMS_A_CAUSE = 4
# Beyond so many standard deviations a product of two causes does not grow.
PRODUCT_WITHIN = 2.5
# A row whose residual is so many times what is expected counts for no more: one outlier is no spread.
LARGEST_RATIO = 8.0
# Added to the diagonal of sums of squares: so many rows in which the terms say nothing.
RIDGE = 1.0
# Logarithms of a spread stay within ± this.
LARGEST_LOG_SPREAD = 30.0


@dataclass(frozen=True, eq=False)
class Designs:
    """m effects, each with up to t terms of its causes; a constant is a term before all of them.

    Attributes
    ----------
    effect : (m,) columns that are explained.
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


class SearchedRows(Protocol):
    """What a search asks of rows beside fits."""

    @property
    def weight(self) -> float:
        """Σ of the weights of all rows: as many as there are patients."""
        ...

    def sample(self, size: int) -> Self:
        """So many of the rows, the same each time."""
        ...

    def keep_errors(self, designs: Designs, beta: F64, gamma: F64 | None, thresholds: F64 | None) -> None:
        """Remember the errors of these effects, for :meth:`dependence`; of levels, Pearson's residuals."""
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
