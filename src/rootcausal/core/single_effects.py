"""Which few of many columns matter: a sum of single effects (Wang et al. 2020, "SuSiE").

The coefficients are a sum of effects, each of which sits on one column or on none. Given the others,
the posterior of one effect is exact: a weight for each column and a normal distribution for its size.
Cycling through the effects gives inclusion probabilities that stay honest where columns are correlated,
and all that it reads of the data is a quadratic log-likelihood, so a matrix and a vector of sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc

from .table import F64

FIRST_EFFECTS = 6
MAX_CYCLES = 100
# Cycling stops when no coefficient moves by more than this, in units of its prior's standard deviation.
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Sparsity:
    """What is known before seeing data.

    Attributes
    ----------
    expected : Poisson mean of the number of effects.
    n_columns : columns that could carry one, also those that were left out before.
    variance : of the size of an effect.
    """

    expected: float
    n_columns: int
    variance: float

    def existence(self, n_effects: int) -> F64:
        """(n_effects,): the probability that there are at least 1, 2, 3, ... effects.

        Ranking the effects this way breaks their symmetry; with equal chances one weak effect would be
        shared among all of them and lose to none in each.
        """
        return np.maximum(gammainc(np.arange(1, n_effects + 1), self.expected), 1e-300)


@dataclass(frozen=True)
class SingleEffects:
    """Posterior of the effects.

    Attributes
    ----------
    weight : (l, k) probability that effect l sits on column k; what a row lacks to one is "nowhere".
    size : (l, k) its expected coefficient if it does.
    """

    weight: F64
    size: F64

    @property
    def inclusion(self) -> F64:
        """(k,): probability that a column carries any effect."""
        return 1.0 - np.prod(1.0 - self.weight, axis=0)

    @property
    def coef(self) -> F64:
        """(k,): expected coefficients."""
        return (self.weight * self.size).sum(axis=0)


def no_effects(k: int) -> SingleEffects:
    n_effects = min(FIRST_EFFECTS, k)
    return SingleEffects(np.zeros((n_effects, k)), np.zeros((n_effects, k)))


def fit_effects(
    curvature: F64, slope: F64, prior: Sparsity, start: SingleEffects | None = None
) -> SingleEffects:
    """Posterior of the coefficients w under the log-likelihood ``slope @ w − w @ curvature @ w / 2``.

    Parameters
    ----------
    curvature, slope : (k, k) and (k,).
    prior : how many effects there may be, and of what size.
    start : where to begin, for instance the answer to a similar question.
    """
    effects = start if start is not None else no_effects(len(slope))
    while True:
        effects = _cycle(curvature, slope, prior, effects)
        n_effects, k = effects.weight.shape
        if n_effects == k or effects.weight.sum(axis=1).min() < 0.5:
            return effects
        # Every effect found a place, so there may be more of them.
        more = min(n_effects, k - n_effects)
        effects = SingleEffects(
            np.vstack([effects.weight, np.zeros((more, k))]), np.vstack([effects.size, np.zeros((more, k))])
        )


def _cycle(curvature: F64, slope: F64, prior: Sparsity, start: SingleEffects) -> SingleEffects:
    weight, size = start.weight.copy(), start.size.copy()
    k = len(slope)
    existence = prior.existence(len(weight))
    spread = 1.0 / (np.diagonal(curvature) + 1.0 / prior.variance)
    # Log-odds of each place before the data speak; "nowhere" includes columns that are not at hand.
    place = 0.5 * np.log(spread / prior.variance) + np.log(existence / prior.n_columns)[:, None]
    nowhere = np.log1p(-existence * k / prior.n_columns)
    coef = (weight * size).sum(axis=0)
    explained = curvature @ coef
    own = (weight * size) @ curvature
    tolerance = TOLERANCE * np.sqrt(prior.variance)
    for _ in range(MAX_CYCLES):
        before = coef
        for e in range(len(weight)):
            left = slope - explained + own[e]
            size[e] = spread * left
            log_evidence = place[e] + 0.5 * size[e] * left
            top = max(log_evidence.max(), nowhere[e])
            odds = np.exp(log_evidence - top)
            weight[e] = odds / (odds.sum() + math.exp(nowhere[e] - top))
            mine = curvature @ (weight[e] * size[e])
            explained += mine - own[e]
            own[e] = mine
        coef = (weight * size).sum(axis=0)
        if np.abs(coef - before).max() <= tolerance:
            break
    return SingleEffects(weight, size)
