"""The regression of the sharp attribution: which columns act on D, how many there are, and how strongly.

Each coefficient is zero (the spike) or has a size (the slab). How many are not zero, and how large these are,
is learned from the data (empirical Bayes), so that one strong cause and many weak ones are both at home here.
The slab is a moment prior (Johnson & Rossell 2010), w² N(w; 0, s) / s, which is zero at zero: a column is a
cause if its effect is of a size with those of other causes, and next to nothing is nothing.

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

from .table import F64

# Of the expected square of an effect, beforehand, as a share of the variance that the outcome names.
EXPECTED_SQUARE = 0.3
# How many effects, and how many columns, what is expected beforehand counts for.
EFFECTS_WORTH = 3.0
COLUMNS_WORTH = 2.0
# What can be learned of the share of columns that are causes.
LEAST_SHARE = 1e-4
MAX_SWEEPS = 300
# After so many sweeps sites go half of the way, after twice as many a third of it, and so on: two that share an
# effect can each send the other to and fro.
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
    """

    expected: float
    n_columns: int
    variance: float
    certain: np.ndarray

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
    inclusion : (k,) probabilities that they are not zero (posterior inclusion probability, PIP).
    precision, shift : (k,) of the sites, exp(shift w − precision w² / 2).
    share : of the columns that act on D, as far as that is learned.
    scale : s of the slab, likewise.
    settled : whether sweeping came to rest before its limit.
    """

    coef: F64
    inclusion: F64
    precision: F64
    shift: F64
    share: float
    scale: float
    settled: bool = True

    @classmethod
    def before(cls, prior: Prior) -> Posterior:
        """Where to begin."""
        k = prior.certain.size
        zero, precision = np.zeros(k), np.full(k, 1.0 / (3.0 * prior.scale * prior.share))
        precision[prior.certain] = 1.0 / prior.variance
        inclusion = np.where(prior.certain, 1.0, prior.share)
        return cls(zero, inclusion, precision, zero, prior.share, prior.scale)


def infer(curvature: F64, slope: F64, prior: Prior, start: Posterior, learns: bool = True) -> Posterior:
    """Posterior of the coefficients w under the log-likelihood ``slope @ w − w @ curvature @ w / 2``.

    Parameters
    ----------
    curvature, slope : (k, k) and (k,): the information matrix (minus the Hessian), and the gradient at w = 0.
    prior : how many effects there may be, and of what size.
    start : where to begin, for instance the answer to a similar question.
    learns : whether share and scale are learned, or kept as they are.
    """
    k, free = slope.size, np.flatnonzero(~prior.certain)
    precision, shift = start.precision.copy(), start.shift.copy()
    inclusion, second = prior.certain.astype(float), np.zeros(k)
    share, scale = start.share, start.scale
    tolerance = TOLERANCE * math.sqrt(prior.variance)
    settled = False
    for sweep in range(MAX_SWEEPS):
        if sweep % SWEEPS_A_COVARIANCE == 0:
            covariance = np.linalg.inv(curvature + np.diag(precision))
            mean = covariance @ (slope + shift)
        step = 1.0 / (1 + sweep // SWEEPS_A_STEP)
        moved = 0.0
        for j in free:
            column = covariance[:, j].copy()
            own, middle = float(column[j]), float(mean[j])
            cavity = 1.0 / own - precision[j]
            pull = middle / own - shift[j]
            inclusion[j], second[j], mean_j, variance_j = matched(cavity, pull, share, scale)
            moved = max(moved, abs(mean_j - middle))
            # No slab bends less than that anywhere, so that two columns that share an effect both stay bounded.
            new = max(1.0 / variance_j - cavity, 1.0 / scale)
            add = step * (new - precision[j])
            push = step * (mean_j * (new + cavity) - pull - shift[j])
            precision[j] += add
            shift[j] += push
            mean += (push - add * middle) / (1.0 + add * own) * column
            covariance -= np.outer(add / (1.0 + add * own) * column, column)
        share_before, scale_before = share, scale
        if learns:
            share, scale = learned(inclusion[free], second[free], prior)
        if (
            moved <= tolerance
            and abs(share - share_before) <= LEARNED_TOLERANCE
            and abs(scale - scale_before) <= LEARNED_TOLERANCE * scale
        ):
            settled = True
            break
    return Posterior(mean, inclusion, precision, shift, share, scale, settled)


def matched(cavity: float, pull: float, share: float, scale: float) -> tuple[float, float, float, float]:
    """Moments of the prior times the normal factor exp(pull w − cavity w² / 2).

    The probability that w is not zero, the expected w² if it is not, and mean and variance of w.
    """
    sure = max(cavity, 0.0) + 1.0 / scale
    at, spread = pull / sure, 1.0 / sure
    square = at * at + spread
    # The integral of the slab over that of the spike.
    log_odds = math.log(share / (1.0 - share)) - 1.5 * math.log(scale) + 0.5 * math.log(spread)
    log_odds += math.log(square) + 0.5 * at * pull
    inclusion = 1.0 / (1.0 + math.exp(-log_odds)) if log_odds > -700.0 else 0.0
    first = at * (at * at + 3.0 * spread) / square
    second = (at**4 + 6.0 * at * at * spread + 3.0 * spread * spread) / square
    mean = inclusion * first
    return inclusion, second, mean, max(inclusion * second - mean * mean, LEAST_VARIANCE * spread)


def learned(inclusion: F64, second: F64, prior: Prior) -> tuple[float, float]:
    """Share of the columns that act, and scale of the slab, by how probably each acts and its square then."""
    acting = float(inclusion.sum())
    share = (acting + COLUMNS_WORTH * prior.share) / (inclusion.size + COLUMNS_WORTH)
    square = float(inclusion @ second) + EFFECTS_WORTH * 3.0 * prior.scale
    return min(max(share, LEAST_SHARE), 1.0 - LEAST_SHARE), square / (3.0 * (acting + EFFECTS_WORTH))
