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
from functools import cached_property, lru_cache
from inspect import signature
from itertools import islice, permutations

import numpy as np
from scipy.stats import qmc

from ..backends.cpu.on_demand import in_threads
from ..method.table import F64, Index
from .coalitions import LANES, REPLICATES, Coalitions, Room, Rows
from .mechanism import CompiledMechanism

# Others that each person of the first block is compared with, to know what is noise for all patients alike;
# with every doubling of the blocks half as many, but no fewer than so many.
OTHERS, FEWEST_OTHERS = 128, 8
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
# Points that are kept for the next model are at most so many numbers.
FEW_POINTS = 50_000
# What a patient costs, in values that are only read.
VALUES_A_PATIENT = 20_000
# What Sobol points call their generator: SciPy 1.15 renamed it.
GENERATOR = "rng" if "rng" in signature(qmc.Sobol).parameters else "seed"


@dataclass(frozen=True, eq=False)
class Draws:
    """The people that all patients are compared with; replicates take turns among the lanes.

    The first blocks are the same however many there are.

    Attributes
    ----------
    drawn : (blocks, k, LANES) their errors.
    others : of each block (m, k, LANES) errors of others with whom they are compared.
    order : (blocks, LANES, w) permutations of places, where there are too many for all coalitions.
    """

    drawn: F64
    others: list[F64]
    order: Index

    @classmethod
    def of(cls, quantiles: F64, places: Index, walkers: Index, blocks: int) -> Draws:
        """From errors with these quantiles (k, s), at ``places``; those elsewhere are zero."""
        k, size = len(quantiles), LANES // REPLICATES
        n_others = [max(OTHERS >> block.bit_length(), FEWEST_OTHERS) for block in range(blocks)]
        drawn = np.empty((blocks, k, size, REPLICATES))
        others = [np.empty((n, k, size, REPLICATES)) for n in n_others]
        order = np.empty((blocks, size, REPLICATES, walkers.size), dtype=np.intp)
        for replicate in range(REPLICATES):
            of_people, of_others, *seeds = ((SEED, replicate, use) for use in range(4))
            of_pairs, of_orders = map(np.random.default_rng, seeds)
            of_blocks = people(quantiles, places, blocks * size, of_people).reshape(blocks, size, k)
            drawn[..., replicate] = of_blocks.transpose(0, 2, 1)
            many, used = people(quantiles, places, _power_of_two(size * sum(n_others)), of_others), 0
            for of_block in others:
                # At random who is compared with whom: both are Sobol points, whose numbers say much the same.
                some = of_pairs.permutation(many[used : used + size * len(of_block)])
                of_block[..., replicate] = some.reshape(-1, size, k).transpose(0, 2, 1)
                used += len(some)
            if walkers.size:
                found = list(islice(_orders(walkers, of_orders), blocks * size))
                order[:, :, replicate] = np.array(found).reshape(blocks, size, -1)
        return cls(
            drawn.reshape(blocks, k, LANES),
            [of_block.reshape(-1, k, LANES) for of_block in others],
            order.reshape(blocks, LANES, walkers.size),
        )


@dataclass(frozen=True, eq=False)
class Compared:
    """People of some blocks, and what is noise by them.

    Attributes
    ----------
    noise : (blocks, games, REPLICATES, k) what others have on average by the people of each block.
    centre : (doublings, games, REPLICATES, k) the same by the people of 1, 2, 4, … blocks.
    """

    draws: Draws
    noise: F64

    @cached_property
    def centre(self) -> F64:
        doubled = 2 ** np.arange(len(self.noise).bit_length())
        centre: F64 = np.cumsum(self.noise, axis=0)[doubled - 1] / doubled[:, None, None, None]
        return centre


class Match:
    """Patients against average people: Shapley values by the games of some players.

    Parameters
    ----------
    quantiles, places : the errors of average people are drawn from these quantiles (k, s), at these places.
    """

    def __init__(
        self, machine: CompiledMechanism, coalitions: Coalitions, quantiles: F64, places: Index
    ) -> None:
        self._machine, self._coalitions = machine, coalitions
        self._quantiles, self._places = quantiles, places
        self._made: Compared | None = None

    @property
    def values_a_patient(self) -> int:
        """Values that are kept of each patient while it is explained."""
        return int(self._coalitions.blocks.size * REPLICATES * len(self._quantiles))

    def _compared(self, blocks: int) -> Compared:
        """With the people of so many blocks, a power of two, at least: most patients need few of them."""
        made = self._made
        if made is None or len(made.noise) < blocks:
            walkers = self._coalitions.games.walkers
            draws = Draws.of(self._quantiles, self._places, walkers, blocks)
            known = [] if made is None else list(made.noise)
            more = [self._on_average(draws, block) for block in range(len(known), blocks)]
            made = self._made = Compared(draws, np.stack([*known, *more]))
        return made

    def _on_average(self, draws: Draws, block: int) -> F64:
        """(games, REPLICATES, k) values of others by the people of one block."""
        blocks, others = self._coalitions.blocks, draws.others[block]
        done = np.full((len(others), blocks.size), block)
        totals = self._added(draws, others, done, done + (block < blocks))
        return np.asarray(totals.sum(axis=0) * (REPLICATES / LANES / len(others)))

    def explained(self, errors: F64, notable: float) -> tuple[F64, F64]:
        """Shapley values of patients (n, k) with these errors, and their standard errors.

        A patient is done whose standard errors are all small enough beside their values, or what is notable.
        Else those games go on, with as many people again, that have a part in a standard error which is not.
        """
        blocks = self._coalitions.blocks
        done = np.zeros((len(errors), blocks.size), dtype=np.intp)
        until = np.ones_like(done)
        values, noise = np.zeros_like(errors), np.zeros_like(errors)
        totals = np.zeros((*done.shape, REPLICATES, errors.shape[1]))
        some = np.arange(len(errors))
        while some.size:
            made = self._compared(int(until[some].max()))
            totals[some] += self._added(made.draws, errors[some, :, None], done[some], until[some])
            done[some] = until[some]
            stage = np.log2(done[some]).round().astype(np.intp)
            means = totals[some] * (REPLICATES / LANES / done[some])[:, :, None, None]
            means -= made.centre[stage, np.arange(blocks.size)]
            values[some], noise[some] = _mean_and_error(means.sum(axis=1), axis=1)
            allowed = SAMPLED_TO * np.maximum(np.abs(values[some]), notable)
            missed = noise[some] > allowed
            _, of_game = _mean_and_error(means, axis=2)
            far = np.where(missed[:, None], of_game / allowed[:, None], 0.0).max(axis=2)
            far[done[some] >= blocks] = 0.0
            chosen = (far > 0.0) & (far >= WORTH_IT * far.max(axis=1, keepdims=True))
            until[some] = np.where(chosen, 2, 1) * done[some]
            some = some[chosen.any(axis=1)]
        return values, noise

    def _added(self, draws: Draws, mine: F64, done: Index, until: Index) -> F64:
        """(n, games, REPLICATES, k) values, summed over people, from block ``done`` up to ``until``."""
        from .coalition_kernels import add_blocks

        rows, games = self._coalitions.rows, self._coalitions.games
        one_each = Rows.of_one_each(self._machine)
        totals = np.zeros((*done.shape, REPLICATES, mine.shape[1]))

        def work(begin: int, end: int) -> None:
            room = Room.of(rows, games.share.shape[1], least=mine.shape[1])
            people = mine, draws.drawn, draws.order, done, until
            add_blocks(self._machine, rows, one_each, games, room, *people, begin, end, totals)

        in_threads(work, len(mine), len(mine) * VALUES_A_PATIENT)
        return totals


def _mean_and_error(told: F64, axis: int) -> tuple[F64, F64]:
    """What replicates along an axis say on average, and the standard error of that."""
    mean = told.mean(axis=axis, keepdims=True)
    square = ((told - mean) ** 2).sum(axis=axis)
    return mean.squeeze(axis), np.sqrt(square / (REPLICATES * (REPLICATES - 1)))


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


def people(quantiles: F64, places: Index, n: int, seed: tuple[int, ...]) -> F64:
    """(n, k): errors of n people, a power of two, spread evenly (Sobol) over distributions at some places.

    Errors at other places are zero.
    """
    found = np.zeros((n, len(quantiles)))
    if places.size:
        points = _points if n * places.size <= FEW_POINTS else _points.__wrapped__
        steps = np.linspace(0.0, 1.0, quantiles.shape[1])
        for share, place in zip(points(places.size, n, seed).T, places, strict=True):
            found[:, place] = np.interp(share, steps, quantiles[place])
    return found


@lru_cache(maxsize=64)
def _points(dimensions: int, n: int, seed: tuple[int, ...]) -> F64:
    """(n, dimensions) scrambled Sobol points: the same for all models, of which a bootstrap has hundreds."""
    rng = np.random.default_rng(seed)
    found: F64 = qmc.Sobol(dimensions, scramble=True, **{GENERATOR: rng}).random(n)
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
