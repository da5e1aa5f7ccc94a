"""Shapley values of a predictor that bent mechanisms lead to, by walks from one patient to another.

A walk starts at somebody whose errors were drawn at random, and sets them, one after the other in random order,
to those of the patient; what the predictor gains at a step belongs to the error that was set. Walks come in
pairs, there and back in the reverse order (antithetic), which leaves no noise of interactions of two; the
starts of a batch are stratified (a Latin hypercube). What an error does by itself, whatever the others, is known
from a table (a control variate), so that only interactions have to be sampled. All patients have the same walks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.table import F64, Index

# Pairs of walks in a batch, and batches at most.
PAIRS = 16
MOST_BATCHES = 16
# The table of what an error does by itself: points, and others over whom it is averaged.
POINTS = 33
OTHERS = 128
# What is said of an average patient is averaged over so many.
AVERAGED_OVER = 4096
# A standard error of this part of the value is small enough; so is that part of what is notable.
TENTH = 0.1
SEED = 20_221


@dataclass(frozen=True, eq=False)
class Walks:
    """What all patients walk along.

    Attributes
    ----------
    start : (batches · PAIRS, k) errors that walks start at.
    order : (batches · PAIRS, a) places in the order in which their errors are set.
    """

    start: F64
    order: Index

    @classmethod
    def draw(cls, quantiles: F64, places: Index, batches: int) -> Walks:
        """Through errors with these quantiles (k, s), each batch by a seed of its own."""
        starts, orders = [], []
        for batch in range(batches):
            rng = np.random.default_rng([SEED, batch])
            starts.append(stratified(quantiles, places, PAIRS, rng))
            orders.append(np.stack([rng.permutation(places) for _ in range(PAIRS)]))
        return cls(np.concatenate(starts), np.concatenate(orders).astype(np.intp))


def stratified(quantiles: F64, places: Index, n: int, rng: np.random.Generator) -> F64:
    """(n, k): errors of n people, one of each n-th of the distribution at each place (a Latin hypercube).

    Errors at other places are zero.
    """
    found = np.zeros((n, len(quantiles)))
    steps = np.linspace(0.0, 1.0, quantiles.shape[1])
    for place in places:
        share = (rng.permutation(n) + rng.random(n)) / n
        found[:, place] = np.interp(share, steps, quantiles[place])
    return found
