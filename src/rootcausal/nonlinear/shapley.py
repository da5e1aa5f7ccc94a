"""Shapley values of a predictor that nonlinear mechanisms lead to: whose errors stand in for the others.

A patient is compared with people whose errors were drawn, spread evenly over all that errors can be
(scrambled Sobol points), several times independently: how much the answers of these replicates differ is the
Monte Carlo error. Between such a person and the patient all coalitions of errors are gone through, or, where
they are too many, permutations: there and back in the reverse order (antithetic), which leaves no noise of
interactions of two. On average over patients like the people drawn, a Shapley value is zero; what these
people make of it instead is known from others drawn likewise, and taken off (a control variate). All patients
are compared with the same people.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from inspect import signature
from itertools import islice, permutations

import numpy as np
from scipy.stats import qmc

from ..method.table import F64, Index
from .coalitions import LANES, REPLICATES

# Blocks of LANES people that a patient is compared with: at first one, then twice as many, up to so many.
MOST_BLOCKS = 16
# Others that each of them is compared with, to know what is noise for all patients alike.
OTHERS = 8
# Orders are tried in turns where there are no more errors than this, and at random elsewhere.
ALL_ORDERS = 5
# What is said of an average patient is averaged over so many.
AVERAGED_OVER = 4096
# A standard error is to be below a tenth of its value, or of what is notable. Sampling goes on a little
# longer, since a standard error of few replicates is itself unsure.
SAMPLED_TO = 0.09
# More is spent on games whose part in a standard error is at least so large beside the largest.
WORTH_IT = 0.25
SEED = 20_221
# What Sobol points call their generator: SciPy 1.15 renamed it.
GENERATOR = "rng" if "rng" in signature(qmc.Sobol).parameters else "seed"


@dataclass(frozen=True, eq=False)
class Draws:
    """The people that all patients are compared with; replicates take turns among the lanes.

    Attributes
    ----------
    drawn : (MOST_BLOCKS, k, LANES) their errors.
    others : (MOST_BLOCKS, OTHERS, k, LANES) errors of others with whom they are compared.
    order : (MOST_BLOCKS, LANES, w) permutations of places, where there are too many for all coalitions.
    """

    drawn: F64
    others: F64
    order: Index

    @classmethod
    def of(cls, quantiles: F64, places: Index, walkers: Index) -> Draws:
        """From errors with these quantiles (k, s), at ``places``; those elsewhere are zero."""
        k, size = len(quantiles), LANES // REPLICATES
        drawn = np.empty((MOST_BLOCKS, k, size, REPLICATES))
        others = np.empty((MOST_BLOCKS, OTHERS, k, size, REPLICATES))
        order = np.empty((MOST_BLOCKS, size, REPLICATES, walkers.size), dtype=np.intp)
        for replicate in range(REPLICATES):
            rng = np.random.default_rng([SEED, replicate])
            of_block = people(quantiles, places, MOST_BLOCKS * size, rng).reshape(MOST_BLOCKS, size, k)
            drawn[..., replicate] = of_block.transpose(0, 2, 1)
            many = people(quantiles, places, MOST_BLOCKS * OTHERS * size, rng)
            # At random who is compared with whom: both are Sobol points, whose numbers say much the same.
            of_block = rng.permuted(np.arange(OTHERS * size)[None].repeat(MOST_BLOCKS, axis=0), axis=1)
            of_block += OTHERS * size * np.arange(MOST_BLOCKS)[:, None]
            others[..., replicate] = (
                many[of_block].reshape(MOST_BLOCKS, OTHERS, size, k).transpose(0, 1, 3, 2)
            )
            if walkers.size:
                found = list(islice(_orders(walkers, rng), MOST_BLOCKS * size))
                order[:, :, replicate] = np.array(found).reshape(MOST_BLOCKS, size, -1)
        return cls(
            drawn.reshape(MOST_BLOCKS, k, LANES),
            others.reshape(MOST_BLOCKS, OTHERS, k, LANES),
            order.reshape(MOST_BLOCKS, LANES, walkers.size),
        )


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
