"""First and second moments: standardization, Welch's t-test, and what regressing out a root does to both.

After a root is regressed out, the covariances and the class moments of the remaining residuals follow
in closed form, so neither the t-test of the next round nor its correlations read any data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dger
from scipy.special import stdtr

from .table import F64, ColumnMoments, Index, RawTable

# A standard deviation this small beside the mean is rounding, not variation.
CONSTANT = 16 * np.finfo(float).eps
# A residual that keeps less than this share of its variance is a combination of earlier roots.
EXHAUSTED = 1e-10
# Storage is compacted once this share of it is no longer in use: often enough to save work, and
# seldom enough that copying stays cheap.
SLACK = 0.25


def residual_scale(r: F64) -> F64:
    """1 / sqrt(1 − r²), kept finite for columns that have become copies of each other."""
    return 1.0 / np.sqrt(np.maximum(1.0 - r * r, EXHAUSTED))


@dataclass(frozen=True)
class Columns:
    """Mean, standard deviation (ddof = 1) and moments about the mean of every raw column."""

    mean: F64
    sd: F64
    moments: ColumnMoments

    @property
    def constant(self) -> Index:
        """Columns without variation."""
        return np.flatnonzero(~(self.sd > CONSTANT * np.abs(self.mean)))


def describe_columns(table: RawTable) -> Columns:
    """Two passes over the rows, so that a column such as 1.7e9 ± 1 keeps its variance."""
    n, p = table.shape
    rough = table.column_moments(np.zeros(p)).total.sum(axis=0) / n
    about = table.column_moments(rough)
    shift = about.total.sum(axis=0) / n
    mean = rough + shift
    variance = (about.square.sum(axis=0) - n * shift * shift) / (n - 1)
    # Moments about the exact mean: the second pass was about a rounded one.
    total = about.total - about.count[:, None] * shift
    square = about.square - 2 * shift * about.total + about.count[:, None] * shift * shift
    return Columns(mean, np.sqrt(np.maximum(variance, 0.0)), ColumnMoments(about.count, total, square))


def welch_t(moments: ColumnMoments) -> tuple[F64, F64]:
    """Welch's t statistic (class 1 minus class 0) and its degrees of freedom, for each column."""
    n = moments.count[:, None]
    mean = moments.total / n
    squared_error = np.maximum(moments.square - n * mean * mean, 0.0) / (n - 1) / n
    spread = squared_error.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (mean[1] - mean[0]) / np.sqrt(spread)
        df = spread**2 / (squared_error**2 / (n - 1)).sum(axis=0)
    # Within-class variance of zero: the classes are either told apart perfectly or not at all.
    certain = spread == 0.0
    t = np.where(certain, np.where(mean[1] == mean[0], 0.0, np.inf * np.sign(mean[1] - mean[0])), t)
    return t, np.where(certain, 1.0, df)


def welch_p_values(moments: ColumnMoments) -> F64:
    """Two-sided p-values of Welch's t-test of each column between the classes."""
    t, df = welch_t(moments)
    return 2.0 * stdtr(df, -np.abs(t))


class ResidualMoments:
    """Covariances of the columns still in play, given the roots found so far.

    Variables are addressed by *slot*, a place in the stored matrices; ``ids[slot]`` is the table's column.
    Slots are renumbered by :meth:`compact` only.

    Attributes
    ----------
    ids : (s,) table column of each slot.
    in_play : (s,) bool.
    covariance : (s, s) of the residuals, in units where every column began with variance one.
    """

    def __init__(self, gram: F64, n_rows: int, case_moments: ColumnMoments | None = None) -> None:
        """``gram`` (c, k, k) by class; ``case_moments`` of the standardized columns asks for t-tests."""
        size = gram.shape[-1]
        self.ids: Index = np.arange(size)
        self.in_play = np.ones(size, dtype=bool)
        self.covariance = np.asfortranarray(gram.sum(axis=0) / (n_rows - 1))
        self._n_rows = n_rows
        self._tested = case_moments is not None
        if case_moments is not None:
            self._counts = case_moments.count
            # Over the controls the sum is minus this, since columns have mean zero; their Gram matrix
            # is what the cases leave of the total.
            self._case_total = case_moments.total[1].copy()
            self._case_gram = np.asfortranarray(gram[1])

    @property
    def variance(self) -> F64:
        return np.diagonal(self.covariance)

    def correlation(self, i: Index, j: Index) -> F64:
        """Correlation of the residuals in slots i and j (broadcast against each other)."""
        scale = np.sqrt(np.maximum(self.variance, EXHAUSTED))
        return np.clip(self.covariance[i, j] / (scale[i] * scale[j]), -1.0, 1.0)

    def p_values(self, slots: Index) -> F64:
        """Welch's test of each residual between the classes."""
        case_total = self._case_total[slots]
        case_square = np.diagonal(self._case_gram)[slots]
        control_square = (self._n_rows - 1) * self.variance[slots] - case_square
        return welch_p_values(
            ColumnMoments(
                self._counts, np.stack([-case_total, case_total]), np.stack([control_square, case_square])
            )
        )

    def drop(self, slots: Index) -> None:
        self.in_play[slots] = False

    def regress_out(self, root: int) -> F64:
        """Take the root in this slot out of all others; returns (s,) each slot's covariance with its error."""
        unit = np.sqrt(self.covariance[root, root])
        loading = self.covariance[:, root] / unit
        slope = loading / unit
        if self._tested:
            half = self._case_gram[:, root] - slope * (0.5 * self._case_gram[root, root])
            dger(-1.0, half, slope, a=self._case_gram, overwrite_a=True)
            dger(-1.0, slope, half, a=self._case_gram, overwrite_a=True)
            self._case_total -= slope * self._case_total[root]
        dger(-1.0, loading, loading, a=self.covariance, overwrite_a=True)
        self.drop(np.array([root]))
        return loading

    def compact(self) -> Index | None:
        """Forget slots out of play once they are many; returns the slots kept, or None if nothing moved."""
        if self.in_play.sum() > (1 - SLACK) * self.in_play.size:
            return None
        keep = np.flatnonzero(self.in_play)
        square = np.ix_(keep, keep)
        self.ids = self.ids[keep]
        self.in_play = self.in_play[keep]
        self.covariance = np.asfortranarray(self.covariance[square])
        if self._tested:
            self._case_gram = np.asfortranarray(self._case_gram[square])
            self._case_total = self._case_total[keep]
        return keep
