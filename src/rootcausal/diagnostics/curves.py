"""Bends of one column over another, and whether they are what makes two errors depend on each other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc, fdtrc

from ..core.table import F64, Index
from .moments import MOMENTS, moments_of

# P-value from which on two errors pass for independent once something is allowed for.
EXPLAINED = 0.01
# P-value below which a curve is there at all.
BENT = 1e-4
# Share of an error's variance from which on a curve is more than a hidden cause would draw.
MUCH = 0.08
# Part of what is wrong between two columns that a curve may leave, and still explain it.
MOST_LEFT = 0.4
# In a large cohort no curve fits wholly; one that leaves so little does.
LITTLE_LEFT = 0.02

#: Where the cause is low, in the middle, and high.
Heights = tuple[float, float, float]


@dataclass(frozen=True)
class Curve:
    """A bend of one column over another.

    Attributes
    ----------
    share : of the error's variance that a curve explains and a straight line does not.
    p_value : of there being none: that a straight line, in either direction, would do.
    left : chi-square statistic of dependence that the curve leaves, as a part of what the better of two
        straight lines leaves.
    p_left : p-value of independence once the curve is allowed for.
    shape : mean of the effect against the line, in its standard deviations, where the cause is in its lowest
        tenth, in its middle fifth and in its highest tenth.
    slopes : of the effect itself, line and bend together, below and above the middle of the cause.
    backwards : whether it is the earlier column that bends over the later one.
    """

    share: float
    p_value: float
    left: float
    p_left: float
    shape: Heights
    slopes: tuple[float, float]
    backwards: bool = False

    @property
    def there(self) -> bool:
        """Whether it is more than a hidden cause would draw, and most of what is wrong between the two."""
        explains = self.left < LITTLE_LEFT or (self.left < MOST_LEFT and self.p_left > 0.1 * EXPLAINED)
        return self.p_value < BENT and self.share >= MUCH and explains

    def turned(self) -> Curve:
        """The same between columns in the other order."""
        return replace(self, backwards=not self.backwards)


@dataclass(frozen=True)
class Drawn:
    """A curve and a line drawn through an effect over its cause; all but two numbers are (n,).

    Attributes
    ----------
    cause : as it is.
    first, second : what others leave of the cause and of the effect.
    error, left : what a line over the cause leaves of the effect, and what the curve leaves.
    share, p_value : of the error that the curve explains, and of there being none.
    """

    cause: F64
    first: F64
    second: F64
    error: F64
    left: F64
    share: float
    p_value: float

    def curve(self) -> Curve | None:
        """None where it is not there."""
        if self.share < MUCH or self.p_value >= BENT:
            return None
        # A cause bends over its own effect, too: a line in either direction must fail.
        by_a_line = min(chi_square(self.first, self.error), self.turned_round())
        left = chi_square(self.first, self.left)
        parts = _low_middle_high(self.cause)
        at, height = (np.array(_heights(of, parts)) for of in (self.cause, self.second))
        below, above = np.diff(height) / np.maximum(np.diff(at), 1e-12)
        found = Curve(
            self.share,
            max(self.p_value, float(chdtrc(len(MOMENTS), by_a_line))),
            left / max(by_a_line, 1e-12),
            float(chdtrc(len(MOMENTS), left)),
            _heights(self.error, parts),
            (float(below), float(above)),
        )
        return found if found.there else None

    def turned_round(self) -> float:
        """Chi-square statistic of independent errors if the effect comes first."""
        return chi_square(self.second, less(self.first, self.second))


def curves_of(x: F64) -> F64:
    """(6, n) functions of standardized values (n,): a parabola and bends at quantiles."""
    knots = np.quantile(x, (0.1, 0.3, 0.5, 0.7, 0.9))
    curves = np.vstack([x * x, np.maximum(x - knots[:, None], 0.0)])
    curves -= curves.mean(axis=1, keepdims=True)
    return curves


def share_explained(curves: F64, error: F64, n_others: int) -> tuple[float, float, F64]:
    """Share of the error's variance that curves (m, n) explain, its p-value, and what they leave (n,).

    ``n_others`` : degrees of freedom that are gone already.
    """
    m, n = curves.shape
    # Least squares by a triangle that stands for all rows: curves of a few values may be sums of others.
    triangle = np.asarray(np.linalg.qr(np.vstack([curves, error]).T, mode="r"))
    unseen = np.finfo(float).eps * max(n, m)
    fitted = np.linalg.lstsq(triangle[:, :m], triangle[:, m], rcond=unseen)[0] @ curves
    share = float((fitted @ fitted) / (error @ error))
    freedom = max(n - n_others - m, 1)
    p_value = float(fdtrc(m, freedom, share / max(1.0 - share, 1e-12) * freedom / m))
    return max(0.0, 1.0 - (1.0 - share) * (n - n_others) / freedom), p_value, error - fitted


def _low_middle_high(cause: F64) -> tuple[Index, Index, Index]:
    """Rows in the lowest tenth of the cause, in its middle fifth and in its highest tenth."""
    order = np.argsort(cause, kind="stable")
    rank = np.arange(cause.size) / max(cause.size - 1, 1)
    return order[rank <= 0.1], order[(rank >= 0.4) & (rank <= 0.6)], order[rank >= 0.9]


def _heights(effect: F64, parts: tuple[Index, Index, Index]) -> Heights:
    sd = max(float(effect.std()), 1e-300)
    low, middle, high = (float(effect[part].mean()) / sd if part.size else 0.0 for part in parts)
    return low, middle, high


def less(values: F64, cause: F64) -> F64:
    """What a straight line on the cause leaves of values."""
    return values - cause * ((values @ cause) / max(float(cause @ cause), 1e-300))


def chi_square(earlier: F64, later: F64) -> float:
    """Of independence, with five degrees of freedom; infinite where one of the two is the same in all."""
    pair = np.stack([earlier, later]).T
    if not (np.ptp(pair, axis=0) > 0).all():
        return np.inf
    return float((moments_of(pair, np.array([[0, 1]])).z ** 2).sum())


def p_value_of(earlier: F64, later: F64) -> float:
    return float(chdtrc(len(MOMENTS), chi_square(earlier, later)))
