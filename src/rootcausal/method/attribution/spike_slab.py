"""The regression of the sharp attribution: which columns act on D, how many there are, and how strongly.

Each coefficient is next to zero (the spike, a narrow normal distribution) or has a size (the slab). How
many have one, how large these are, and how narrow the spike is, down to zero, is learned from the data
(empirical Bayes), so that one strong cause and many weak ones are both at home here. The slab is a
moment prior, w² N(w; 0, s) / s (Johnson & Rossell 2010), which is zero at zero: a column is a cause if its
effect is of a size with those of other causes. The spike is no wider than what the data cannot tell
from zero, one standard error; what the columns within it add together is in the risk, and makes none of
them a cause.

The posterior is approximated by expectation propagation (Minka 2001; for spike and slab Hernández-Lobato et
al. 2015): a normal factor, its *site*, stands for the prior of each coefficient, and is matched to the exact
moments that the prior has beside all other sites and the likelihood. So correlations between columns are
in the posterior, as they are not in a factorized one. All that it reads of the data is a quadratic
log-likelihood, a matrix and a vector of sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..table import F64

# Of the expected square of an effect, beforehand, as a share of the variance that the outcome names.
EXPECTED_SQUARE = 0.45
# How many effects, and how many columns, what is expected beforehand counts for.
EFFECTS_WORTH = 3.0
COLUMNS_WORTH = 2.0
# How many columns without any effect are added to those that the width of the spike is learned from.
NOTHING_WORTH = 0.3
# The variance of the spike, as a share of the slab's s: at most, and where to begin.
WIDEST_SPIKE, FIRST_SPIKE = 0.25, 0.125
# The slab's s, as a multiple of that expected beforehand: columns that tell all patients apart have no finite
# effects, and a slab that goes with them has no end.
LARGEST_SLAB = 100.0
# As good as zero.
NARROWEST_SPIKE = 1e-9
# One over the variance of what is known to be zero, likewise.
NOTHING = 1e20
# What is divided by is at least this.
SMALLEST = 1e-300
# What can be learned of the share of columns that are causes.
LEAST_SHARE = 1e-4
MAX_SWEEPS = 300
# After so many sweeps sites go half of the way, after twice as many a third of it, and so on: two that share
# an effect can each send the other to and fro.
SWEEPS_A_STEP = 10
# Rank-one updates round, so the covariance is made anew so often.
SWEEPS_A_COVARIANCE = 8
# A sweep is the last one where no coefficient moves by more than this, in units of a slab's deviation, and
# what is learned of the prior by no more than that share.
TOLERANCE = 1e-4
LEARNED_TOLERANCE = 1e-3
# The variance of a coefficient that is all but zero, as a share of what it would be without a spike.
LEAST_VARIANCE = 1e-7


@dataclass(frozen=True)
class Prior:
    """What is known before seeing data.

    Attributes
    ----------
    expected : how many columns act on D.
    n_columns : of how many, also those that were left out before.
    variance : of the effect of one of them.
    certain : (k,) which columns are known to act: they have no spike.
    barred : (k,) which are known not to.
    """

    expected: float
    n_columns: int
    variance: float
    certain: np.ndarray
    barred: np.ndarray

    @classmethod
    def nothing_known(cls, k: int, expected: float, n_columns: int, variance: float) -> Prior:
        """The same of k columns none of which is known to act, or not to."""
        return cls(expected, n_columns, variance, np.zeros(k, dtype=bool), np.zeros(k, dtype=bool))

    @property
    def share(self) -> float:
        return min(0.5, self.expected / self.n_columns)

    @property
    def scale(self) -> float:
        """Of the slab, s; its variance is 3 s."""
        return EXPECTED_SQUARE * self.variance / 3.0


@dataclass(frozen=True)
class Posterior:
    """What is believed of the coefficients.

    Attributes
    ----------
    coef : (k,) their expectations.
    inclusion : (k,) probabilities that they are of the slab (posterior inclusion probability, PIP).
    precision, shift : (k,) of the sites, exp(shift w − precision w² / 2).
    share : of the columns that act on D, as far as that is learned.
    scale : s of the slab, likewise.
    spike : variance of the spike, likewise.
    settled : whether sweeping came to rest before its limit.
    """

    coef: F64
    inclusion: F64
    precision: F64
    shift: F64
    share: float
    scale: float
    spike: float
    settled: bool = True

    @classmethod
    def before(cls, prior: Prior) -> Posterior:
        """Where to begin."""
        k = prior.certain.size
        zero, precision = np.zeros(k), np.full(k, 1.0 / (3.0 * prior.scale * prior.share))
        precision[prior.certain] = 1.0 / prior.variance
        precision[prior.barred] = NOTHING / prior.variance
        inclusion = np.where(prior.certain, 1.0, np.where(prior.barred, 0.0, prior.share))
        return cls(zero, inclusion, precision, zero, prior.share, prior.scale, FIRST_SPIKE * prior.scale)


def infer(
    curvature: F64,
    slope: F64,
    prior: Prior,
    start: Posterior,
    learns: bool = True,
    most: int = MAX_SWEEPS,
) -> Posterior:
    """Posterior of the coefficients w under the log-likelihood ``slope @ w − w @ curvature @ w / 2``.

    Parameters
    ----------
    curvature, slope : (k, k) and (k,): the information matrix (minus the Hessian), and the gradient at w = 0.
    prior : how many effects there may be, and of what size.
    start : where to begin, for instance the answer to a similar question.
    learns : whether share, scale and spike are learned, or kept as they are.
    most : how many sweeps, before it is said that they have not settled.
    """
    k, free = slope.size, np.flatnonzero(~(prior.certain | prior.barred))
    precision, shift = start.precision.copy(), start.shift.copy()
    inclusion, second, small = prior.certain.astype(float), np.zeros(k), np.zeros(k)
    share, scale, spike = start.share, start.scale, start.spike
    tolerance = TOLERANCE * math.sqrt(prior.variance)
    settled = False
    for sweep in range(most):
        if sweep % SWEEPS_A_COVARIANCE == 0:
            covariance = np.linalg.inv(curvature + np.diag(precision))
            mean = covariance @ (slope + shift)
        step = 1.0 / (1 + sweep // SWEEPS_A_STEP)
        moved = sure = 0.0
        for j in free:
            column = covariance[:, j].copy()
            own, middle = float(column[j]), float(mean[j])
            cavity = 1.0 / own - precision[j]
            pull = middle / own - shift[j]
            inclusion[j], second[j], small[j], mean_j, variance_j = matched(cavity, pull, share, scale, spike)
            moved, sure = max(moved, abs(mean_j - middle)), sure + cavity
            # No slab bends less than that anywhere: two columns that share an effect both stay bounded.
            new = max(1.0 / variance_j - cavity, 1.0 / scale)
            add = step * (new - precision[j])
            push = step * (mean_j * (new + cavity) - pull - shift[j])
            precision[j] += add
            shift[j] += push
            mean += (push - add * middle) / (1.0 + add * own) * column
            covariance -= np.outer(add / (1.0 + add * own) * column, column)
        share_before, scale_before = share, scale
        if learns:
            share, scale, spike = learned(inclusion[free], second[free], small[free], sure, prior)
        if (
            moved <= tolerance
            and abs(share - share_before) <= LEARNED_TOLERANCE
            and abs(scale - scale_before) <= LEARNED_TOLERANCE * scale
        ):
            settled = True
            break
    return Posterior(mean, inclusion, precision, shift, share, scale, spike, settled)


def matched(
    cavity: float, pull: float, share: float, scale: float, spike: float
) -> tuple[float, float, float, float, float]:
    """Moments of the prior times the normal factor exp(pull w − cavity w² / 2).

    The probability that w is of the slab, the expected w² if it is, and if it is of the spike, and the mean
    and variance of w.
    """
    cavity = max(cavity, 0.0)
    near, narrow = pull / (cavity + 1.0 / spike), 1.0 / (cavity + 1.0 / spike)
    at, spread = pull / (cavity + 1.0 / scale), 1.0 / (cavity + 1.0 / scale)
    square = at * at + spread
    # The integral of the slab over that of the spike.
    log_odds = math.log(share / (1.0 - share)) + math.log(square / scale)
    log_odds += 0.5 * (math.log(spread / scale) - math.log(narrow / spike) + (at - near) * pull)
    inclusion = 1.0 / (1.0 + math.exp(-log_odds)) if log_odds > -700.0 else 0.0
    first = at * (at * at + 3.0 * spread) / square
    second = (at**4 + 6.0 * at * at * spread + 3.0 * spread * spread) / square
    small = near * near + narrow
    mean = inclusion * first + (1.0 - inclusion) * near
    variance = inclusion * second + (1.0 - inclusion) * small - mean * mean
    return inclusion, second, small, mean, max(variance, LEAST_VARIANCE * spread)


def learned(inclusion: F64, second: F64, small: F64, sure: float, prior: Prior) -> tuple[float, float, float]:
    """Share of the columns that act, scale of the slab, and variance of the spike.

    By how probably each acts, its square if it does, and its square if it does not; and by how ``sure`` the
    data are of all columns, as the sum of their precisions. Columns that were left out before count as what
    has no effect: those that are here were chosen by the same outcome.
    """
    acting, k = float(inclusion.sum()), inclusion.size
    n_columns = max(prior.n_columns, k)
    share = (acting + COLUMNS_WORTH * prior.share) / (n_columns + COLUMNS_WORTH)
    square = float(inclusion @ second) + EFFECTS_WORTH * 3.0 * prior.scale
    scale = min(square / (3.0 * (acting + EFFECTS_WORTH)), LARGEST_SLAB * prior.scale)
    spike = float((1.0 - inclusion) @ small) / (n_columns - acting + NOTHING_WORTH)
    spike = max(min(spike, WIDEST_SPIKE * scale, k / max(sure, SMALLEST)), NARROWEST_SPIKE * scale)
    return min(max(share, LEAST_SHARE), 1.0 - LEAST_SHARE), scale, spike
