"""What every backend has to do for the method, the waist of the house: sums over rows, and nothing more.

Everything the method needs is a sum over rows. A table computes such sums where its rows live (one
core, many cores, a GPU, a cluster) and takes no decision. Rows never cross this line.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .loops import Loops

F64 = NDArray[np.float64]
Index = NDArray[np.intp]

# What tables may hold: squares of values up to this, summed over any number of rows, stay within float64.
LARGEST = 1e140
# Linear predictors of discrete columns stay within ± this: their likelihoods keep some curvature.
LARGEST_PREDICTOR = 15.0

# Log-hazards are kept below this: a step that goes too far then has a log-likelihood, which is low.
LARGEST_LOG_HAZARD = 50.0
# Where a graded outcome of survival, a column each, has what its loss needs; the last two only where rows are
# at risk from a start on: the interval in which that is, and the part of it that is over by then.
SCORE, EVENT, INTERVAL, PART, FIRST, OVER = range(6)
# The same of stages, of counts, and of matched sets.
STAGE = 1
COUNT, EXPOSURE = 1, 2
CASE, SET = 1, 2
# Of matched sets with several cases and several controls, those of more rows are counted by Efron's
# approximation.
LARGEST_EXACT_SET = 40


def classes_of(outcome: np.ndarray | None, n: int) -> list[np.ndarray]:
    """(n,) masks of the rows of each class, controls first; one of all rows where there are no labels.

    What is known of the outcome of n rows is a label, 0 or 1 (n,); or, graded, floats (n, c), the first of
    which is its null score s: what the screen tests columns against, of mean zero and unit variance.
    """
    if outcome is None or outcome.ndim == 2:
        return [np.ones(n, dtype=bool)]
    return [outcome == 0, outcome == 1]


@dataclass(frozen=True)
class ColumnMoments:
    """Sums of z = x − shift for every column, by class.

    Attributes
    ----------
    count : (c,) rows in each class; c is 2, or 1 for a table without labels (see :func:`classes_of`).
    total : (c, p) Σ z.
    square : (c, p) Σ z².
    measured : (c, p) values of each column that these sum up; None where no value is missing.
    score : (3, p) Σ s z, Σ s and Σ s² over the values of each column, s being the null score of a graded
        outcome; None for labels, and for a table without an outcome.
    """

    count: F64
    total: F64
    square: F64
    measured: F64 | None = None
    score: F64 | None = None

    @property
    def values(self) -> F64:
        """(c, 1) or (c, p): how many values each sum is of."""
        return self.count[:, None] if self.measured is None else self.measured

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        measured = None
        if self.measured is not None or other.measured is not None:
            measured = self.values + other.values
        score = None if self.score is None or other.score is None else self.score + other.score
        return ColumnMoments(
            self.count + other.count, self.total + other.total, self.square + other.square, measured, score
        )

    def __rmul__(self, weight: float) -> ColumnMoments:
        measured, score = (None if sums is None else weight * sums for sums in (self.measured, self.score))
        return ColumnMoments(weight * self.count, weight * self.total, weight * self.square, measured, score)


@dataclass(frozen=True)
class LossSums:
    """One evaluation of the log-likelihood of the outcome, in k coefficients and, last, b of the baseline.

    The baseline of log-odds, of a log-rate, or of a value, is an intercept (b = 1); that of a hazard has one
    parameter for each interval of time, that of stages one for each threshold between two; matched sets have
    none (b = 0).

    Attributes
    ----------
    loglik : Σ log P(outcome | errors), less what no parameter changes.
    gradient : (k + b,) its first derivatives.
    hessian : (k + b, k + b) minus its second derivatives (observed information); of a baseline only
        neighbouring thresholds have one together.
    """

    loglik: float
    gradient: F64
    hessian: F64

    def __add__(self, other: LossSums) -> LossSums:
        return LossSums(
            self.loglik + other.loglik, self.gradient + other.gradient, self.hessian + other.hessian
        )

    def __rmul__(self, weight: float) -> LossSums:
        return LossSums(weight * self.loglik, weight * self.gradient, weight * self.hessian)


@dataclass(frozen=True)
class LevelSums:
    """Derivatives of the log-likelihoods of d discrete columns, each a cumulative logit, in m other columns.

    A row at level c, with the thresholds θ around it and the linear predictor η, has the derivatives
    s = F(θ_c − η) + F(θ_(c−1) − η) − 1 in η and, their sign changed, v = f(θ_c − η) + f(θ_(c−1) − η), where F
    is the logistic function and f = F (1 − F). Two levels make it logistic regression.

    Attributes
    ----------
    score : (d,) Σ s.
    curvature : (d,) Σ v.
    score_with : (d, m) Σ s w.
    curvature_with : (d, m) Σ v w.
    curvature_square : (d, m) Σ v w².
    """

    __array_ufunc__: ClassVar[None] = None  # so that a weight of NumPy's leaves multiplying to this class

    score: F64
    curvature: F64
    score_with: F64
    curvature_with: F64
    curvature_square: F64

    def __add__(self, other: LevelSums) -> LevelSums:
        return LevelSums(*(a + b for a, b in zip(self._all(), other._all(), strict=True)))

    def __mul__(self, weight: float) -> LevelSums:
        return LevelSums(*(weight * sums for sums in self._all()))

    __rmul__ = __mul__

    def _all(self) -> tuple[F64, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True)
class KnownEntropies:
    """Entropies in a block of m columns that are not to be taken from sums: those of discrete columns.

    Attributes
    ----------
    places : (d,) which columns of the block these are.
    given : (d, m) their entropies given each column of the block.
    """

    places: Index
    given: F64


class Described(Protocol):
    """A cohort as it came, with or without missing values: what its columns are like."""

    @property
    def backend(self) -> str:
        """What users call whoever sums here."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the whole data set, not of a part."""
        ...

    def column_moments(self, shift: F64) -> ColumnMoments:
        """Sums by class of ``x − shift``, shift (p,), without any p × p matrix."""
        ...


class RawTable(Described, Protocol):
    """A cohort as it came, and complete: the first pass over it decides which columns go on."""

    def gram(self, cols: Index, mean: F64, sd: F64) -> F64:
        """(c, k, k): Σ z zᵀ by class of the chosen columns as ``(x − mean) / sd``, none of which is kept."""
        ...

    def by_class(self) -> tuple[RawTable, RawTable]:
        """The rows of the controls, then those of the cases, with their labels; not for unlabelled rows."""
        ...

    def standardize(self, cols: Index, mean: F64, sd: F64) -> Table:
        """The chosen columns as ``(x − mean) / sd``; from here on a column is its place in ``cols``."""
        ...


class Table(Protocol):
    """Standardized columns of a cohort, seen through sums.

    Sums arrive on the host as float64, with one exception: the squares of :meth:`leading_pair_sums` may stay
    on their device, since only their rows, columns and penalties are asked for.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the whole data set, not of a part."""
        ...

    @property
    def loops(self) -> Loops:
        """For what is computed between two sums, as fast as whoever sums here can have it."""
        ...

    @property
    def pairs_per_call(self) -> int:
        """How many pairs make one call of :meth:`pair_sums` worth its overhead here."""
        ...

    def own_search(self) -> Any:
        """A pruned search (:mod:`rootcausal.method.ordering.search`) with its accounts where the rows are, or
        None.
        """
        ...

    def gram(self) -> F64:
        """(c, k, k): Σ z zᵀ by class; c is 2, or 1 for a table without labels."""
        ...

    def column_sums(self) -> F64:
        """(k, 2): Σ log cosh z and Σ z·exp(−z²/2) of each column."""
        ...

    def with_correlations(self, r: F64) -> Table:
        """The same rows, told the (k, k) correlations of the whole data set, which a part cannot know.

        What follows needs them; :meth:`regress_out` keeps them current in closed form. Consumes this table.
        """
        ...

    def correlations(self, columns: int | Index) -> F64:
        """(k,): current correlation of every column with one; (d, k) with each of several."""
        ...

    def pair_sums(self, i: Index, j: Index) -> F64:
        """(m, 2, 2): the two sums of :meth:`column_sums` for the residuals of i given j, then of j given i.

        The residual of i given j has unit variance: ``(z_i − r z_j) / sqrt(1 − r²)``; given itself, it is the
        column as it is.
        """
        ...

    def leading_pair_sums(self, cols: Index, q: int) -> Any:
        """(2, 2, q, m): all pairs of ``cols`` (m,) with at least one member among the first q of them.

        ``[0, s, a, b]`` is sum s of the residual of cols[a] given cols[b], ``[1, s, a, b]`` of cols[b] given
        cols[a]; where a = b, of the column itself. The answer may stay on the device.
        """
        ...

    def block_penalties(
        self, sums: Any, own: F64, n_rows: int, known: KnownEntropies | None = None
    ) -> tuple[F64, F64, Any]:
        """:func:`rootcausal.method.ordering.pair_score.block_penalties` where the sums are; consumes them.

        ``given`` may stay on the device (see :meth:`to_host`).
        """
        ...

    def to_host(self, array: Any) -> F64:
        """A part of ``given``, as a NumPy array."""
        ...

    def regress_out(self, root: int, cols: Index) -> Table:
        """The table with each of ``cols`` replaced by its residual given ``root``.

        It consumes the table it is called on: rows may be overwritten, so that one copy of the data is
        enough, and only the returned table may be used afterwards.
        """
        ...

    def logit_sums(self, cols: Index, beta: F64) -> LossSums:
        """Log-likelihood of the labels given ``cols`` (a root keeps its error); intercept last in beta."""
        ...

    def square_sums(self, cols: Index, beta: F64) -> LossSums:
        """Of a graded outcome: −½ Σ (s − η)², the null score s given ``cols``; intercept last in beta."""
        ...

    def hazard_sums(self, cols: Index, beta: F64) -> LossSums:
        """Log-likelihood of follow-up given ``cols``; last in beta the log cumulative hazards of intervals.

        A row in the interval g, of which it saw the ``part`` π, has event · (α_g + η) − exp(η) · reached,
        where reached = Σ_(h < g) exp(α_h) + π exp(α_g). No η counts for more than
        :data:`LARGEST_LOG_HAZARD`.
        """
        ...

    def stage_sums(self, cols: Index, beta: F64) -> LossSums:
        """Log-likelihood of stages given ``cols`` (proportional odds); last in beta thresholds, ascending.

        A row at the stage c has log(F(θ_(c+1) − η) − F(θ_c − η)), F being the logistic function, and the
        first and last θ infinite. Where thresholds do not ascend it is −∞, and there are no derivatives.
        """
        ...

    def count_sums(self, cols: Index, beta: F64, dispersion: float) -> LossSums:
        """Log-likelihood of counts given ``cols``, negative binomial; last in beta the log-rate.

        A row with the count y and the exposure t is expected μ = t · exp(η), with the variance
        μ + ``dispersion`` · μ²; a dispersion of 0 makes it Poisson. What no η changes is left out.
        """
        ...

    def set_sums(self, cols: Index, beta: F64) -> LossSums:
        """Conditional log-likelihood of the cases among their matched sets, given ``cols``; no baseline.

        It is a sum over sets: rows that know only a part of one must not be asked.
        """
        ...

    def level_counts(self, cols: Index, edges: F64) -> F64:
        """(d, m + 1): rows at each level of ``cols`` (d,), whose standardized levels ``edges`` (d, m) part.

        Edges ascend; a column with fewer levels than others has infinite ones.
        """
        ...

    def with_levels(self, cols: Index, edges: F64, thresholds: F64) -> Table:
        """The same rows, which from here on keep the level of each of ``cols`` and a linear predictor η = 0.

        ``thresholds`` (d, m + 2) of the cumulative logits, from −∞ to ∞: those of level c are at c and c + 1.
        Called before any root is regressed out. Consumes this table.
        """
        ...

    def level_sums(self, discrete: Index, cols: Index) -> LevelSums:
        """What each of ``cols`` would add to the cumulative logits of the ``discrete`` columns."""
        ...

    def level_pair_sums(self, discrete: Index, cols: Index, intercept: F64, slope: F64) -> F64:
        """(m, 6): sums for pairs of a discrete column and another w, at η + intercept + slope · w; (m,) each.

        Σ of the log-likelihood (less what no η changes), s, v, s w, v w and v w² of :class:`LevelSums`. The
        predictors are kept within ± :data:`LARGEST_PREDICTOR`.
        """
        ...

    def shift_levels(self, root: int, discrete: Index, intercept: F64, slope: F64) -> Table:
        """The table with η + intercept + slope · root's column as the linear predictors of ``discrete``.

        They are kept within ± :data:`LARGEST_PREDICTOR`, and those of other discrete columns are forgotten.
        Consumes this table.
        """
        ...
