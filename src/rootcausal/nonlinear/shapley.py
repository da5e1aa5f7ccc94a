"""Shapley values of a predictor that nonlinear mechanisms lead to, by permutation sampling.

A permutation starts at somebody whose errors were drawn, and sets them, one after the other, to those of the
patient; what the predictor gains at a step belongs to the error that was set. Permutations come in pairs,
there and back in the reverse order (antithetic), which leaves no noise of interactions of two. Their starts
are spread evenly over all that errors can be (scrambled Sobol points), several times independently: how much
the answers of these replicates differ is the Monte Carlo error. What an error does by itself, whatever the
others, is known from a table (a control variate), so that only interactions have to be sampled. All patients
have the same permutations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from inspect import signature
from itertools import permutations

import numpy as np
from scipy.stats import qmc

from ..method.table import F64, Index

# Independent replicates, and starts of each: at first so many, then twice as many, and so on.
REPLICATES = 4
FEWEST, MOST = 4, 64
# Orders are tried in turns where there are no more errors than this, and at random elsewhere.
ALL_ORDERS = 5
# The table of what an error does by itself: points, and others over whom it is averaged.
POINTS = 33
OTHERS = 128
# What is said of an average patient is averaged over so many.
AVERAGED_OVER = 4096
# A standard error is to be below a tenth of its value, or of what is notable. Sampling goes on a little
# longer, since a standard error of few replicates is itself unsure.
SAMPLED_TO = 0.09
SEED = 20_221
# What Sobol points call their generator: SciPy 1.15 renamed it.
GENERATOR = "rng" if "rng" in signature(qmc.Sobol).parameters else "seed"


@dataclass(frozen=True, eq=False)
class Permutations:
    """The permutations of all patients; replicates come in turns.

    Attributes
    ----------
    start : (MOST · REPLICATES, k) errors that permutations start at.
    order : (MOST · REPLICATES, a) places in the order in which their errors are set.
    """

    start: F64
    order: Index

    @classmethod
    def draw(cls, quantiles: F64, places: Index, drawn: Index) -> Permutations:
        """Through errors with these quantiles (k, s), at ``places``; those not ``drawn`` start at zero."""
        starts = np.empty((MOST, REPLICATES, len(quantiles)))
        orders = np.empty((MOST, REPLICATES, places.size), dtype=np.intp)
        for replicate in range(REPLICATES):
            rng = np.random.default_rng([SEED, replicate])
            starts[:, replicate] = people(quantiles, drawn, MOST, rng)
            following = _orders(places, rng)
            for number in range(MOST):
                orders[number, replicate] = next(following)
        return cls(starts.reshape(-1, len(quantiles)), orders.reshape(-1, places.size))


def people(quantiles: F64, places: Index, n: int, rng: np.random.Generator) -> F64:
    """(n, k): errors of n people, a power of two, spread evenly (Sobol) over distributions at some places.

    Errors at other places are zero.
    """
    found = np.zeros((n, len(quantiles)))
    if places.size:
        shares = qmc.Sobol(places.size, scramble=True, **{GENERATOR: rng}).random(n)
        steps = np.linspace(0.0, 1.0, quantiles.shape[1])
        for share, place in zip(shares.T, places, strict=True):
            found[:, place] = np.interp(share, steps, quantiles[place])
    return found


def _orders(places: Index, rng: np.random.Generator) -> Iterator[Index]:
    """Orders of the places, none of them the reverse of another; all in turns where these are few."""
    while places.size > ALL_ORDERS:
        # All its turns: so each error is at each place of an order equally often (stratified).
        order = rng.permutation(places)
        for turn in rng.permutation(places.size):
            yield np.roll(order, turn)
    all_orders = [
        np.array(order, dtype=np.intp) for order in permutations(places.tolist()) if order[0] <= order[-1]
    ]
    while True:
        for number in rng.permutation(len(all_orders)):
            yield all_orders[number]
