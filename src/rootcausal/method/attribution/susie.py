"""SuSiE (Wang et al. 2020), the regression behind the graph: which few of many columns act on a column.

The coefficients are a sum of effects, each of which sits on one column or on none. Given the others,
the posterior of one effect is exact: a weight for each column and a normal distribution for its size.
Cycling through the effects (variational Bayes: coordinate ascent on the evidence lower bound, ELBO) gives
inclusion probabilities that stay honest where columns are correlated, and all that it reads of the data is
a quadratic log-likelihood, so a matrix and a vector of sums.

A normal prior of sizes has most of its mass on weak effects, which is what predicts best. As an answer to
which columns do anything it is too generous: many a column that does nothing keeps a probability that no row
will ever take from it, and along a path these add up. So probabilities are those of a moment prior of the
same variance, w² N(w; 0, s) / s (Johnson & Rossell 2010), which is zero at zero, given the same other
effects.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import gammainc

from ..table import F64

FIRST_EFFECTS = 6
# Doubled this often, there are more effects than any disease has direct causes.
MAX_DOUBLINGS = 8
MAX_CYCLES = 1000
# Cycling stops when no coefficient moves by more than this, in units of its prior's standard deviation.
TOLERANCE = 1e-4
# Probabilities whose logarithm is taken are at least this.
SMALLEST = 1e-300


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
        return _at_least(self.expected, n_effects)

    def log_chances(self, n_effects: int, k: int) -> tuple[F64, F64]:
        """(n_effects,) each: log-probability that an effect sits on a given one of k columns; on none."""
        existence = self.existence(n_effects)
        return np.log(existence / self.n_columns), np.log1p(-existence * k / self.n_columns)


# Two priors ask for it, again and again, and of few numbers of effects.
@lru_cache(maxsize=64)
def _at_least(expected: float, n_effects: int) -> F64:
    """(n_effects,): the probability of at least 1, 2, 3, ... of a Poisson mean; not to be written to."""
    chances = np.maximum(gammainc(np.arange(1, n_effects + 1), expected), SMALLEST)
    chances.flags.writeable = False
    return chances


@dataclass(frozen=True)
class SingleEffects:
    """Posterior of the effects: each sits on one column, with a normal size, or nowhere.

    Attributes
    ----------
    weight : (l, k) probability that effect l sits on column k; what a row lacks to one is "nowhere".
    size : (l, k) its expected coefficient if it does.
    settled : whether cycling came to rest before its limit.
    """

    weight: F64
    size: F64
    settled: bool = True

    def clear(self, curvature: F64, prior: Sparsity) -> F64:
        """(k,): probability that a column carries any effect whose size has the moment prior."""
        place, nowhere = prior.log_chances(*self.weight.shape)
        own, scale = np.diagonal(curvature), prior.variance / 3.0
        left = self.size * (own + 1.0 / prior.variance)
        spread = 1.0 / (own + 1.0 / scale)
        at = spread * left
        # The logarithm of prior probability times Bayes factor of a normal prior; that of the moment prior is
        # a multiple.
        log_evidence = place[:, None] + 0.5 * (np.log(spread / scale) + at * left)
        top = np.maximum(log_evidence.max(axis=1), nowhere)[:, None]
        odds = np.exp(log_evidence - top) * ((at * at + spread) / scale)
        odds /= odds.sum(axis=1, keepdims=True) + np.exp(nowhere[:, None] - top)
        return _any_of(odds)

    @cached_property
    def inclusion(self) -> F64:
        """(k,): probability that a column carries any effect (posterior inclusion probability, PIP)."""
        return _any_of(self.weight)

    @cached_property
    def coef(self) -> F64:
        """(k,): expected coefficients (posterior means)."""
        return (self.weight * self.size).sum(axis=0)

    def with_room(self, n_effects: int) -> SingleEffects:
        """The same, with effects that are nowhere added to make up the number."""
        added = np.zeros((n_effects - len(self.weight), self.weight.shape[1]))
        return replace(self, weight=np.vstack([self.weight, added]), size=np.vstack([self.size, added]))


def _any_of(weight: F64) -> F64:
    return 1.0 - np.prod(1.0 - weight, axis=0)


def prior_effects(k: int, prior: Sparsity) -> SingleEffects:
    """What is believed before seeing data."""
    shape = (min(FIRST_EFFECTS, k), k)
    place, _ = prior.log_chances(*shape)
    weight = np.repeat(np.exp(place), k).reshape(shape)
    return SingleEffects(weight, np.zeros(shape))


def fit_effects(curvature: F64, slope: F64, prior: Sparsity) -> SingleEffects:
    """Posterior of the coefficients w under the log-likelihood ``slope @ w − w @ curvature @ w / 2``.

    Parameters
    ----------
    curvature, slope : (k, k) and (k,): the information matrix (minus the Hessian), and the gradient at w = 0.
    prior : how many effects there may be, and of what size.
    """
    effects = prior_effects(len(slope), prior)
    for _ in range(MAX_DOUBLINGS):
        effects = _cycle(curvature, slope, prior, effects)
        all_placed = effects.weight.sum(axis=1).min() >= 0.5
        if not (all_placed and effects.inclusion.min() < 0.5):
            return effects
        # Large effects take several to make up, so a column may be left over although it matters.
        effects = effects.with_room(2 * len(effects.weight))
    return replace(effects, settled=False)


def _cycle(curvature: F64, slope: F64, prior: Sparsity, start: SingleEffects) -> SingleEffects:
    """Coordinate ascent on the bound, one effect at a time."""
    weight, size = start.weight.copy(), start.size.copy()
    place, nowhere = prior.log_chances(*weight.shape)
    precision = np.diagonal(curvature) + 1.0 / prior.variance
    place = place[:, None] - 0.5 * (math.log(prior.variance) + np.log(precision))
    spread = 1.0 / precision
    coef = (weight * size).sum(axis=0)
    own = (weight * size) @ curvature
    left_over = slope - curvature @ coef
    tolerance = TOLERANCE * math.sqrt(prior.variance)
    for _ in range(MAX_CYCLES):
        coef_before = coef
        for e in range(len(weight)):
            left = left_over + own[e]
            mean = spread * left
            # The logarithm of prior probability times Bayes factor.
            log_evidence = place[e] + 0.5 * mean * left
            top = max(np.maximum.reduce(log_evidence), nowhere[e])
            odds = np.exp(log_evidence - top)
            odds /= np.add.reduce(odds) + math.exp(nowhere[e] - top)
            mine = curvature @ (odds * mean)
            left_over += own[e] - mine
            weight[e], size[e], own[e] = odds, mean, mine
        coef = (weight * size).sum(axis=0)
        if np.abs(coef - coef_before).max() <= tolerance:
            return SingleEffects(weight, size)
    return SingleEffects(weight, size, settled=False)
