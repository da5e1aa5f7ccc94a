"""How probably each column acts on D directly, once the regression is done.

The prior of :mod:`rootcausal.method.attribution.spike_slab` is learned so that risks are right: a spike with
a width keeps weak effects that no single test would see, and takes none of them for a cause. How probably a
column acts is another question: whether its effect is zero. It is answered given all other effects, with a
spike at zero, and averaged over models (Hoeting et al. 1999): over the share of columns that act, from next
to none to next to all, and over two laws of their sizes. By one, causes have effects of a size with each
other (the moment prior, zero at zero); by the other, weak ones are as many as strong ones (a normal
distribution). The more causes there are, the more probably some of them are weak: the second law is as
probable as the share itself.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from ..table import F64
from .spike_slab import Posterior, Prior

# Shares of columns that act, as log-odds.
SHARES = expit(np.linspace(-7.0, 6.0, 40))
# How probable each law is beforehand, by share: effects of a size, and effects of any size.
LAWS = np.stack([1.0 - SHARES, SHARES])
# Columns that act, and columns that do not, which are taken for seen before any is: a beta distribution of
# the share, most of it on few.
SEEN_ACTING, SEEN_IDLE = 0.4, 2.5
# The logarithm of how much better an effect fits than none, at most: more is certainty all the same.
MOST_EVIDENCE = 600.0


def acting(covariance: F64, slope: F64, found: Posterior, prior: Prior) -> F64:
    """(k,): probability that each column acts on D directly.

    Parameters
    ----------
    slope, prior : as :func:`~rootcausal.method.attribution.spike_slab.infer` was asked.
    found, covariance : what it answered, and (k, k) the covariance of the coefficients.
    """
    own, mean = np.diagonal(covariance), covariance @ (slope + found.shift)
    free = ~(prior.certain | prior.barred)
    # What the data and all other effects say of each column, as a normal factor.
    cavity = np.maximum(1.0 / own - found.precision, 0.0)[free]
    pull = (mean / own - found.shift)[free]
    factors = bayes_factors(cavity, pull, found.scale)
    left_out = max(prior.n_columns - int(free.sum()), 0)
    probability = prior.certain.astype(float)
    probability[free] = averaged(factors, LAWS, SEEN_ACTING, SEEN_IDLE + left_out)
    return probability


def bayes_factors(cavity: F64, pull: F64, scale: float) -> F64:
    """(2, m): how much better than zero an effect of either law fits a factor exp(pull w − cavity w² / 2)."""
    variance = np.array([[scale], [3.0 * scale]])
    spread = 1.0 / (cavity + 1.0 / variance)
    at = spread * pull
    evidence = 0.5 * (np.log(spread / variance) + at * pull)
    evidence[0] += np.log((at[0] * at[0] + spread[0]) / scale)
    factors: F64 = np.exp(np.minimum(evidence, MOST_EVIDENCE))
    return factors


def averaged(factors: F64, laws: F64, some: float, none: float) -> F64:
    """(m,): probabilities that what was measured of each is no chance, averaged over shares and laws.

    Parameters
    ----------
    factors : (l, m) how much better each law explains it than chance does.
    laws : (l, s) how probable each law is beforehand, given each of the shares.
    some, none : how many others are known to be no chance, and to be chance.
    """
    by_law = SHARES[:, None, None] * factors
    total = by_law + (1.0 - SHARES)[:, None, None]
    others = some * np.log(SHARES) + none * np.log1p(-SHARES)
    evidence = np.log(total).sum(axis=2) + others[:, None] + np.log(laws.T)
    weight = np.exp(evidence - evidence.max())
    weight /= weight.sum()
    probability: F64 = np.minimum(np.einsum("sl,slm->m", weight, by_law / total), 1.0)
    return probability
