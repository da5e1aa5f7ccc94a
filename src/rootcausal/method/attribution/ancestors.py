"""From the direct causes of the outcome D back to all of its ancestors, along sparse regressions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from scipy.special import gammainc

from ..linear import direct_effects, inverse
from ..table import F64

# SuSiE (Wang et al. 2020), the regression behind the graph: which few of many columns act on a column.
#
# The coefficients are a sum of effects, each of which sits on one column or on none. Given the others, the
# posterior of one effect is exact: a weight for each column and a normal distribution for its size. Cycling
# through the effects (variational Bayes: coordinate ascent on the evidence lower bound, ELBO) gives
# inclusion probabilities that stay honest where columns are correlated, and all that it reads of the data
# is a quadratic log-likelihood, so a matrix and a vector of sums.
#
# A normal prior of sizes has most of its mass on weak effects, which is what predicts best. As an answer to
# which columns do anything it is too generous: many a column that does nothing keeps a probability that no
# row will ever take from it, and along a path these add up. So probabilities are those of a moment prior of
# the same variance, w² N(w; 0, s) / s (Johnson & Rossell 2010), which is zero at zero, given the same other
# effects.

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


EXPECTED_CAUSES_OF_A_COLUMN = 2.0
# Of effects between standardized columns; that of effects on D is the outcome's.
VARIANCE_ON_A_COLUMN = 0.25
# What acts on a column that is less probably an ancestor than this is not asked.
NEGLIGIBLE = 1e-3
# That an arrow is there is said given the order, and that was learned from the same rows: of so many rows,
# every second arrow would point the right way (set on simulated cohorts of 100 to 1,000 patients).
ROWS_OF_DOUBT = 20.0


@dataclass(frozen=True)
class Traced:
    """What lies behind the direct causes of D.

    Attributes
    ----------
    edges : (k, k) expected effects between standardized columns, ``[i, j]`` of j on i.
    probability : (k,) that a column is an ancestor of D.
    settled : whether every regression came to rest.
    """

    edges: F64
    probability: F64
    settled: bool


def causes_of_a_column(k: int) -> Sparsity:
    """What is known of the direct causes of one of k columns before seeing data."""
    return Sparsity(EXPECTED_CAUSES_OF_A_COLUMN, k, VARIANCE_ON_A_COLUMN)


def least_squares(mixing: F64) -> F64:
    """(k, k): each column regressed on all before it."""
    return direct_effects(inverse(mixing))


def trace_back(mixing: F64, n_rows: float, inclusion: F64, n_first: int) -> Traced:
    """Which columns are ancestors of D, given how probably each acts on it directly.

    A column is an ancestor if it is a direct cause of D or of an ancestor. Going through the columns in
    reverse causal order, each one's probability is final before it is passed on to its causes; the first
    ``n_first`` have none. Rows of the graph are independent a posteriori, so the expected total effect is the
    total effect in the expected graph. Columns that are no ancestors keep the effects of least squares.
    """
    k = len(mixing)
    correlation, edges = mixing @ mixing.T, least_squares(mixing)
    not_ancestor = 1.0 - inclusion
    prior, settled = causes_of_a_column(k), True
    trust = n_rows / (n_rows + ROWS_OF_DOUBT)
    for effect in range(k - 1, max(n_first, 1) - 1, -1):
        here = 1.0 - not_ancestor[effect]
        if here < NEGLIGIBLE:
            continue
        # Residual variance as least squares on all earlier columns has it, corrected for their number.
        residual = mixing[effect, effect] ** 2 * n_rows / max(n_rows - effect - 1, 1)
        precision = (n_rows - 1) / min(residual, 1.0)
        curvature = precision * correlation[:effect, :effect]
        causes = fit_effects(curvature, precision * correlation[:effect, effect], prior)
        settled = settled and causes.settled
        edges[effect, :effect] = causes.coef
        not_ancestor[:effect] *= 1.0 - here * trust * causes.clear(curvature, prior)
    return Traced(edges, 1.0 - not_ancestor, settled)
