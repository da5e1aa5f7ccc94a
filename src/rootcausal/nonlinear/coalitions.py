"""Which errors play together for the predictor, and how all their coalitions lie in memory.

The predictor is a sum of components: the curve of a place that acts on the outcome, or a product of two.
Shapley values add up likewise, so each component is a game of its own, whose players are the errors upstream
of it. Where they are few, all coalitions are gone through; as a place depends on no errors but those upstream
of it, it takes one value for each coalition of *these*, however many players there are in all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import factorial
from typing import NamedTuple

import numpy as np

from ..method.table import F64, Index
from .mechanism import CompiledMechanism

# People whose errors were drawn take part so many at a time, in turns of independent replicates.
LANES = 64
REPLICATES = 8
# At first a patient is compared with one block of LANES people, then with twice as many, and so on: up to so
# many blocks, or fewer in games that cost much, those of more players.
MOST_BLOCKS, FEWER_BLOCKS = 64, 16
CHEAP_PLAYERS = 7
# Games of more players are sampled by permutations, and those that would need more room than so many rows of
# LANES: 16 MB.
MOST_PLAYERS = 10
MOST_ROWS = 2**15

#: A curve of a place (i, i, -1), or a product of two (i, j, number).
Game = tuple[int, int, int]


class Rows(NamedTuple):
    """Where values of places lie for all coalitions upstream of them; k places, a arrows, b products.

    Attributes
    ----------
    plays : (k,) whether the error of a place is a player.
    players : (k,) how many there are upstream of each place, itself counted.
    first : (k,) where the rows of a place begin, one for each of their coalitions.
    of_arrow : (a,) where ``number`` begins to say, for each coalition upstream of the effect of an arrow, in
        which row of its cause the value is.
    of_factor, of_other_factor : (b,) likewise of products.
    number : what these refer to, one after the other.
    """

    plays: np.ndarray
    players: Index
    first: Index
    of_arrow: Index
    of_factor: Index
    of_other_factor: Index
    number: Index

    @classmethod
    def of_one_each(cls, machine: CompiledMechanism) -> Rows:
        """One row a place, for people whose errors are what they are."""
        k, none = machine.constant.shape[0], np.zeros_like
        arrows, products = none(machine.cause), none(machine.factor)
        number = np.zeros(1, dtype=np.intp)
        places = np.arange(k, dtype=np.intp)
        return cls(np.zeros(k, dtype=bool), none(places), places, arrows, products, products, number)


class Games(NamedTuple):
    """Components of a predictor as games; k places, c components whose coalitions are gone through.

    Attributes
    ----------
    places : of which rows are needed, in causal order.
    place, other_place : (c,) what each component is about; the same one where it is a curve.
    product : (c,) which product of the predictor it is; -1 for a curve.
    rows_of_place, rows_of_other_place : (c,) as rows have it, for each coalition of the component.
    first_member : (c + 1,) and member : players of each component.
    reads : (c, k) of which places a component needs the rows.
    share : (n + 1, most) by the number of players, n at most: what each of their coalitions counts.
    walked : places that lead to components which are left to permutations, in causal order.
    walkers : those among them that are players.
    walked_acting, walked_products : what these components are.
    """

    places: Index
    place: Index
    other_place: Index
    product: Index
    rows_of_place: Index
    rows_of_other_place: Index
    first_member: Index
    member: Index
    reads: np.ndarray
    share: F64
    walked: Index
    walkers: Index
    walked_acting: Index
    walked_products: Index


class Room(NamedTuple):
    """What loops write over: rows of LANES numbers, and a number for each coalition."""

    z: F64
    f: F64
    log_g: F64
    at_cause: F64
    worth: F64
    first: Index

    @classmethod
    def of(cls, rows: Rows, n_coalitions: int = 1, least: int = 1) -> Room:
        """For values in these rows, at least so many, and games of at most so many coalitions."""
        height = int((rows.first + (1 << rows.players)).max(initial=least))
        most = int((1 << rows.players).max(initial=n_coalitions))
        return cls(
            z=np.zeros((height, LANES)),
            f=np.empty((most, LANES)),
            log_g=np.empty((most, LANES)),
            at_cause=np.empty((most, LANES)),
            worth=np.empty((REPLICATES, most)),
            first=np.zeros(2, dtype=np.intp),
        )


@dataclass(frozen=True, eq=False)
class Coalitions:
    """The games of some players, all components and what is left to permutations.

    Attributes
    ----------
    blocks : (games,) to how many blocks of people each game goes on; that of permutations comes last.
    """

    rows: Rows
    games: Games
    blocks: Index

    @classmethod
    def of(cls, machine: CompiledMechanism, upstream: np.ndarray, plays: np.ndarray) -> Coalitions:
        """Those of players (k,); ``upstream`` (k, k): by which places [:, j] each place [i] is reached."""
        factors = zip(machine.risk_factor.tolist(), machine.risk_other_factor.tolist(), strict=True)
        games = [(i, i, -1) for i in machine.acting.tolist()]
        games += [(i, j, product) for product, (i, j) in enumerate(factors)]
        games = [one for one in games if (plays & _reads(one, upstream)).any()]
        listed, places = _listed(games, upstream, plays)
        members = [np.flatnonzero(plays & _reads(one, upstream)) for one in listed]
        numbers = _Numbers(upstream & plays)
        of_place = numbers.told([i for i, _, _ in listed], members)
        of_other_place = numbers.told([j for _, j, _ in listed], members)
        rows = _rows(machine, numbers, places, plays)
        reads = np.array([_reads(one, upstream) for one in listed]).reshape(-1, plays.size)
        walked = [one for one in games if one not in listed]
        seen = np.logical_or.reduce([_reads(one, upstream) for one in walked] or [np.zeros_like(plays)])
        found = Games(
            places=np.flatnonzero(places),
            place=_whole(i for i, _, _ in listed),
            other_place=_whole(j for _, j, _ in listed),
            product=_whole(product for _, _, product in listed),
            rows_of_place=of_place,
            rows_of_other_place=of_other_place,
            first_member=_whole([0, *np.cumsum([one.size for one in members]).tolist()]),
            member=np.concatenate([np.empty(0, dtype=np.intp), *members]),
            reads=reads,
            share=_shares(max((one.size for one in members), default=0)),
            walked=np.flatnonzero(seen),
            walkers=np.flatnonzero(seen & plays),
            walked_acting=_whole(i for i, _, product in walked if product < 0),
            walked_products=_whole(product for _, _, product in walked if product >= 0),
        )
        blocks = [MOST_BLOCKS if one.size <= CHEAP_PLAYERS else FEWER_BLOCKS for one in members]
        return cls(rows, found, _whole(blocks + [FEWER_BLOCKS] * bool(walked)))


class _Numbers:
    """In which row of a place its value is, for coalitions of players upstream of it and of others."""

    def __init__(self, upstream: np.ndarray) -> None:
        self.upstream = upstream
        self._size = 0
        self.kept: list[Index] = []

    def told(self, places: Sequence[int], players: Sequence[Index | None]) -> Index:
        """(n,) where it begins to be said for these places and all coalitions of those players."""
        begin = []
        for place, among in zip(places, players, strict=True):
            begin.append(self._size)
            if among is None:
                continue
            coalition = np.arange(1 << among.size)
            row, bit = np.zeros_like(coalition), 0
            for at, player in enumerate(among.tolist()):
                if self.upstream[place, player]:
                    row |= ((coalition >> at) & 1) << bit
                    bit += 1
            self._size += row.size
            self.kept.append(row.astype(np.intp))
        return _whole(begin)


def _rows(machine: CompiledMechanism, numbers: _Numbers, places: np.ndarray, plays: np.ndarray) -> Rows:
    """Those of the places (k,) that are needed."""
    players = np.where(places, numbers.upstream.sum(axis=1), 0)
    height = np.where(places, 1 << players, 0)
    before = numbers.upstream & ~np.eye(plays.size, dtype=bool)
    causes = [np.flatnonzero(row) if there else None for row, there in zip(before, places, strict=True)]

    def of(into: Index, cause: Index) -> Index:
        effects = np.repeat(np.arange(plays.size), np.diff(into)).tolist()
        return numbers.told(cause.tolist(), [causes[effect] for effect in effects])

    of_arrow = of(machine.into, machine.cause)
    of_factor = of(machine.products_into, machine.factor)
    of_other_factor = of(machine.products_into, machine.other_factor)
    number = np.concatenate([np.zeros(1, dtype=np.intp), *numbers.kept])[1:]
    return Rows(plays, players, np.cumsum(height) - height, of_arrow, of_factor, of_other_factor, number)


def _listed(games: Sequence[Game], upstream: np.ndarray, plays: np.ndarray) -> tuple[list[Game], np.ndarray]:
    """Games that are few enough to go through their coalitions, smallest first, and places (k,) they need."""
    listed: list[Game] = []
    places = np.zeros(plays.size, dtype=bool)
    players = (upstream & plays).sum(axis=1)
    for one in sorted(games, key=lambda one: int((plays & _reads(one, upstream)).sum())):
        reads = _reads(one, upstream)
        if (reads & plays).sum() > MOST_PLAYERS:
            break
        if (1 << players)[places | reads].sum() <= MOST_ROWS:
            listed.append(one)
            places |= reads
    return listed, places


def _reads(game: Game, upstream: np.ndarray) -> np.ndarray:
    """(k,) places that a component depends on."""
    return np.asarray(upstream[game[0]] | upstream[game[1]])


def _shares(most: int) -> F64:
    """Shapley's: of n players, how many of all orders begin with a coalition and go on with a certain one."""
    size = np.array([coalition.bit_count() for coalition in range(1 << most)])
    shares = np.zeros((most + 1, size.size))
    for n in range(1, most + 1):
        for s in range(n):
            shares[n, size == s] = factorial(s) * factorial(n - s - 1) / factorial(n)
    return shares


def _whole(numbers: Iterable[int]) -> Index:
    return np.array(list(numbers), dtype=np.intp)
