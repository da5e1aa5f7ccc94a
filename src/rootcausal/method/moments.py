"""First and second moments: standardization, Welch's t-test, and what regressing out a root does to both.

After a root is regressed out, the covariances and the class moments of the remaining residuals follow
in closed form (Schur complements, as in a Cholesky decomposition), so neither the t-test of the next round
nor its correlations read any data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtr

from .table import F64, LARGEST, ColumnMoments, Described, Index
from .weighted import ClassWeights

# A standard deviation this small beside the mean is rounding, not variation.
FLAT = 2 * np.finfo(float).eps
# Squares of one class about its mean that are this small beside those about the cohort's are rounding.
ONE_VALUE = 1e-10
# The square of a smaller one leaves float64.
SMALLEST = 1e-140
# Standard deviations from the mean up to which a patient can be scored.
FARTHEST = 1e30
# A residual that keeps less than this share of its variance is a combination of earlier roots.
EXHAUSTED = 1e-10
#: As :func:`take_out`.
TakeOut = Callable[[F64, F64, int, Index], tuple[F64, Index, Index]]
#: As :func:`class_test`.
ClassTest = Callable[[F64, F64, F64, F64, int, F64, Index, F64], tuple[F64, F64]]

# A class with fewer rows has no variance, and so no test.
ROWS_PER_CLASS = 2


def residual_scale(r: F64) -> F64:
    """1 / sqrt(1 − r²), kept finite for columns that have become copies of each other."""
    return 1.0 / np.sqrt(np.maximum(1.0 - r * r, EXHAUSTED))


@dataclass(frozen=True)
class Columns:
    """What every raw column is like in the population.

    Attributes
    ----------
    mean, sd : (p,) of the population; the weights of the rows add up to n, and n − 1 divides (ddof = 1).
    moments : about that mean, by class and unweighted: a t-test takes the true sizes of the classes.
    weights : of the rows of each class.
    """

    mean: F64
    sd: F64
    moments: ColumnMoments
    weights: ClassWeights

    @property
    def flat(self) -> Index:
        """Columns that do not vary, or by too little for float64 to hold."""
        return np.flatnonzero(~(self.sd > np.maximum(FLAT * np.abs(self.mean), SMALLEST)))


def reach(mean: F64, sd: F64) -> F64:
    """The largest values of new patients that columns of this mean and standard deviation can take."""
    return np.minimum(np.abs(mean) + FARTHEST * sd, LARGEST)


def describe_columns(table: Described, prevalence: float | None = None) -> Columns:
    """Two passes over the rows, so that a column such as 1.7e9 ± 1 keeps its variance.

    ``prevalence`` is the share of cases in the population; None takes the sample for it. Where values are
    missing, each column is described by those that it has (available cases).
    """
    n, p = table.shape
    first = table.column_moments(np.zeros(p))
    weights = ClassWeights.of(prevalence, first.count)
    rough = weights.total(first.total) / _weight_of_values(first, weights, n)
    return columns_about(rough, table.column_moments(rough), weights, n)


def columns_about(rough: F64, about: ColumnMoments, weights: ClassWeights, n: int) -> Columns:
    """The columns of n rows, of which the moments about a rough mean (p,) are known."""
    values = _weight_of_values(about, weights, n)
    shift = weights.total(about.total) / values
    mean = rough + shift
    variance = (weights.total(about.square) - values * shift * shift) / np.maximum(values - 1, 1)
    # Moments about the exact mean: the second pass was about a rounded one.
    total = about.total - about.values * shift
    square = about.square - 2 * shift * about.total + about.values * shift * shift
    sd = np.sqrt(np.maximum(variance, 0.0))
    score = about.score
    if score is not None:
        score = np.stack([score[0] - shift * score[1], score[1], score[2]])
    return Columns(mean, sd, ColumnMoments(about.count, total, square, about.measured, score), weights)


def _weight_of_values(moments: ColumnMoments, weights: ClassWeights, n: int) -> Any:
    """What the values of each column weigh together; n where none is missing."""
    # A column without any value is the door's to refuse: until then its moments are zero.
    return n if moments.measured is None else np.maximum(weights.total(moments.measured), 1.0)


def welch_t(moments: ColumnMoments) -> tuple[F64, F64]:
    """Welch's t statistic (class 1 minus class 0) and its degrees of freedom, for each column."""
    return welch_test(moments.values, moments.total, moments.square)


def welch_test(values: F64, total: F64, square: F64) -> tuple[F64, F64]:
    """Welch's t statistic (class 1 minus class 0) and Satterthwaite's degrees of freedom, for each column.

    Where a column does not vary within one class, as a rare finding that none of a few cases has, that class
    says nothing of its own spread: there it is Student's t, with the pooled spread of both classes.

    Parameters
    ----------
    values : (2, 1) or (2, p) how many values of each class there are.
    total, square : (2, p) their sums, and those of their squares.
    """
    n = np.maximum(values, ROWS_PER_CLASS)
    mean = total / n
    squares = np.maximum(square - n * mean * mean, 0.0)
    squared_error = squares / (n - 1) / n
    spread = squared_error.sum(axis=0)
    one_is_flat = (squares <= ONE_VALUE * square).any(axis=0) & (spread > 0.0)
    pooled = squares.sum(axis=0) / np.maximum(n.sum(axis=0) - 2.0, 1.0) * (1.0 / n).sum(axis=0)
    spread = np.where(one_is_flat, pooled, spread)
    # Squared once more, columns far from unit scale would leave float64; a power of two changes no digit.
    _, scale = np.frexp(spread)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (mean[1] - mean[0]) / np.sqrt(spread)
        df = np.ldexp(spread, -scale) ** 2 / (np.ldexp(squared_error, -scale) ** 2 / (n - 1)).sum(axis=0)
    df = np.where(one_is_flat, n.sum(axis=0) - 2.0, df)
    # No variance within the classes: they are told apart either perfectly or not at all.
    certain = spread == 0.0
    difference = mean[1] - mean[0]
    t = np.where(certain, np.where(difference == 0.0, 0.0, np.copysign(np.inf, difference)), t)
    return t, np.where(certain, 1.0, df)


def welch_p_values(moments: ColumnMoments) -> F64:
    """Two-sided p-values of Welch's t-test of each column between the classes; 1 where it cannot be made."""
    t, df = welch_t(moments)
    testable = (moments.values >= ROWS_PER_CLASS).all(axis=0)
    return np.where(testable, p_values_of(t, df), 1.0)


def p_values_of(t: F64, df: F64) -> F64:
    """Two-sided, of t statistics with these degrees of freedom."""
    return 2.0 * stdtr(df, -np.abs(t))


def correlation_p_values(moments: ColumnMoments) -> F64:
    """Two-sided p-values of Pearson's test of each column against the null score; 1 where it cannot be made.

    Under independence, which is what is tested, it is right whatever the two distributions, up to terms that
    vanish with the number of rows.
    """
    return _correlation_test(*_beside_the_score(moments))


def score_correlations(moments: ColumnMoments) -> F64:
    """(p,) of each column with the null score; zero where either does not vary."""
    covariance, spread, _ = _beside_the_score(moments)
    return np.where(spread > 0.0, covariance / np.sqrt(np.where(spread > 0.0, spread, 1.0)), 0.0)


def _beside_the_score(moments: ColumnMoments) -> tuple[F64, F64, Any]:
    """Of each column and the null score: what :func:`_correlation_test` takes."""
    assert moments.score is not None
    product, total, square = moments.score
    n = np.maximum(moments.values[0], 1.0)
    covariance = product - total * moments.total[0] / n
    return covariance, (square - total * total / n) * (moments.square[0] - moments.total[0] ** 2 / n), n


def _correlation_test(covariance: F64, spread: F64, n: Any) -> F64:
    """p-values, given Σ of products about the means and the product of the two Σ of squares."""
    df = n - 2.0
    testable = (df >= 1.0) & (spread > 0.0)
    r_squared = np.where(testable, covariance * covariance / np.where(testable, spread, 1.0), 0.0)
    with np.errstate(divide="ignore"):
        t = np.sqrt(np.maximum(df, 1.0) * r_squared / np.maximum(1.0 - r_squared, 0.0))
    return np.where(testable, 2.0 * stdtr(np.maximum(df, 1.0), -t), 1.0)


def regressed_correlations(r: F64, root: int, cols: Index) -> None:
    """Overwrite the correlations among ``cols`` with the partial ones, of their residuals given ``root``."""
    with_root = r[cols, root]
    scale = residual_scale(with_root)
    square = np.ix_(cols, cols)
    r[square] = np.clip((r[square] - np.outer(with_root, with_root)) * np.outer(scale, scale), -1.0, 1.0)


def take_out(correlation: F64, variance: F64, root: int, cols: Index) -> tuple[F64, Index, Index]:
    """What a root explains of some columns leaves their variance (k,), in place.

    Parameters
    ----------
    correlation : (k,) of every column with the root.
    root : the column that is taken out.
    cols : (m,) columns, the root among them or not.

    Returns
    -------
    loading : (k,) covariance of the root's error with each of the columns; its own is its standard deviation.
    rest : the columns without the root that keep some variance.
    exhausted : those that the roots so far explain.
    """
    rest = cols[cols != root]
    before, r = variance[rest], correlation[rest]
    loading = np.zeros(variance.size)
    loading[root] = np.sqrt(variance[root])
    loading[rest] = r * np.sqrt(before)
    variance[rest] = left = before * np.maximum(1.0 - r * r, 0.0)
    return loading, rest[left >= EXHAUSTED], rest[left < EXHAUSTED]


def class_test(
    gram: F64, total: F64, weight: F64, count: F64, root: int, slope: F64, cols: Index, variance: F64
) -> tuple[F64, F64]:
    """Take a root out of the moments of some columns, in place, and test these: :func:`welch_test`.

    Parameters
    ----------
    gram, total : (k, k) and (k,) of the cases, weighted: Σ z zᵀ and Σ z.
    weight, count : (2,) what a row of each class counts for, and how many there are.
    slope : (k,) what each column loses for a unit of the root's residual.
    cols : (m,) the columns.
    variance : (m,) of what is left of them, in the population.
    """
    along = slope[cols]
    half = gram[cols, root] - along * (0.5 * gram[root, root])
    change = np.outer(half, along)
    gram[np.ix_(cols, cols)] -= change + change.T
    total[cols] -= along * total[root]
    # Columns have mean zero and a known variance in the population: the cases give the controls.
    of_cases, square = total[cols], gram[cols, cols]
    rest = (count.sum() - 1.0) * variance - square
    totals, squares = np.array([[-of_cases, of_cases], [rest, square]]) / weight[:, None]
    return welch_test(count[:, None], totals, squares)


class ClassMoments:
    """First and second moments, by class, of the residuals still in play."""

    def __init__(
        self, count: F64, weights: ClassWeights, case_total: F64, case_gram: F64, test: ClassTest
    ) -> None:
        """``count`` (2,) rows a class; over the cases and weighted, Σ z (k,) and Σ z zᵀ (k, k).

        ``test`` is :func:`class_test`, or a compiled twin.
        """
        self._count, self._weight = count, np.array([weights.controls, weights.cases])
        self._total, self._gram = case_total.copy(), case_gram.copy()
        self._test = test

    def p_values(self, root: int, slope: F64, cols: Index, variance: F64) -> F64:
        """Welch's test of each residual between the classes."""
        t, df = self._test(self._gram, self._total, self._weight, self._count, root, slope, cols, variance)
        if (self._count < ROWS_PER_CLASS).any():
            return np.ones(cols.size)
        return p_values_of(t, df)


class ScoreMoments:
    """Products with the null score of a graded outcome, of the residuals still in play.

    Columns have mean zero and a known variance, and so has the score: Σ s z is all that the test needs.
    """

    def __init__(self, n_rows: float, product: F64) -> None:
        """``product`` (k,) Σ s z of standardized columns."""
        self._rows = n_rows
        self._product = product

    @classmethod
    def of(cls, columns: Columns, kept: Index) -> ScoreMoments:
        """Of the columns that were kept, none of which lacks a value."""
        assert columns.moments.score is not None
        return cls(float(columns.moments.count.sum()), columns.moments.score[0, kept] / columns.sd[kept])

    def p_values(self, root: int, slope: F64, cols: Index, variance: F64) -> F64:
        """Pearson's test of each residual against the score."""
        self._product[cols] -= slope[cols] * self._product[root]
        free = self._rows - 1.0
        return _correlation_test(self._product[cols], free * free * variance, self._rows)
