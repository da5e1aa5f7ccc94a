"""Which errors play together for the predictor, and how all their coalitions lie in memory.

The predictor is a sum of components: the curve of a place that acts on the outcome, or a product of two.
Shapley values add up likewise, so each component is a game of its own, whose players are the errors upstream
of it. Where they are few, all coalitions are gone through; as a place depends on no errors but those upstream
of it, it takes one value for each coalition of *these*, however many players there are in all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import factorial
from typing import NamedTuple

import numpy as np

from ..method.table import F64, Index
from .compiled_mechanism import CompiledMechanism

# People whose errors were drawn take part so many at a time, in turns of independent replicates.
LANES = 64
REPLICATES = 4
# Games of more players are sampled by permutations, and those that would need more room than so many rows of
# LANES: 16 MB.
MOST_PLAYERS = 10
MOST_ROWS = 2**15

#: A curve of a place (i, i, -1), or a product of two (i, j, number).
Game = tuple[int, int, int]


class Coalitions(NamedTuple):
    """Components of a predictor, as loops go through them; k places, a arrows, b products, c components.

    A coalition of players is a number whose bits say who of them, in causal order, has the patient's error.

    Attributes
    ----------
    plays : (k,) whether the error of a place is a player.
    places : of which there are rows, in causal order.
    players : (k,) how many there are upstream of each place, itself counted.
    first_row : (k,) where the rows of a place begin, one for each of their coalitions.
    rows_of_arrow : (a,) where ``rows`` begin to say, for each coalition upstream of the effect of an arrow, in
        which row of its cause the value is.
    rows_of_factor, rows_of_other_factor : (b,) likewise of products.
    rows : what these refer to, one after the other.
    place, other_place : (c,) what each component is about; the same one where it is a curve.
    product : (c,) which product of the predictor it is; -1 for a curve.
    rows_of_place, rows_of_other_place : (c,) as above, for each coalition of the component.
    first_member : (c + 1,) and member : players of each component.
    reads : (c, k) of which places a component needs the rows.
    share : (n + 1, n + 1) by how many players there are and how many are in: what a coalition counts.
    walked : places that lead to components which are left to permutations, in causal order.
    walkers : those among them that are players.
    walked_acting, walked_products : what these components are.
    """

    plays: np.ndarray
    places: Index
    players: Index
    first_row: Index
    rows_of_arrow: Index
    rows_of_factor: Index
    rows_of_other_factor: Index
    rows: Index
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

    @property
    def n_games(self) -> int:
        """Components, and what is left to permutations as one more."""
        return self.place.size + (self.walkers.size > 0)

    @classmethod
    def of(cls, machine: CompiledMechanism, upstream: np.ndarray, plays: np.ndarray) -> Coalitions:
        """Those of players (k,); ``upstream`` (k, k) says by which places [:, j] each place [i] is reached."""
        factors = zip(machine.risk_factor.tolist(), machine.risk_other_factor.tolist(), strict=True)
        games = [(i, i, -1) for i in machine.acting.tolist()]
        games += [(i, j, product) for product, (i, j) in enumerate(factors)]
        games = [one for one in games if (plays & _reads(one, upstream)).any()]
        listed, places = _listed(games, upstream, plays)
        walked = [one for one in games if one not in listed]
        seen = _any(walked, upstream)
        players = (upstream & plays).sum(axis=1)
        height = np.where(places, 1 << np.where(places, players, 0), 0)
        rows = _Rows(upstream & plays)
        effects = [np.repeat(np.arange(plays.size), np.diff(of)) for of in (machine.into, machine.products_into)]
        members = [np.flatnonzero(plays & _reads(one, upstream)) for one in listed]

        def of_causes(effects: Index, causes: Index) -> Index:
            before = [rows.upstream_of(i) if places[i] else None for i in effects.tolist()]
            return rows.told(causes.tolist(), before)

        most = max((one.size for one in members), default=0)
        return cls(
            plays=plays,
            places=np.flatnonzero(places),
            players=players,
            first_row=np.cumsum(height) - height,
            rows_of_arrow=of_causes(effects[0], machine.cause),
            rows_of_factor=of_causes(effects[1], machine.factor),
            rows_of_other_factor=of_causes(effects[1], machine.other_factor),
            rows_of_place=rows.told([i for i, _, _ in listed], members),
            rows_of_other_place=rows.told([j for _, j, _ in listed], members),
            rows=np.concatenate([np.empty(0, dtype=np.intp), *rows.kept]),
            place=_whole(i for i, _, _ in listed),
            other_place=_whole(j for _, j, _ in listed),
            product=_whole(product for _, _, product in listed),
            first_member=_whole([0, *np.cumsum([one.size for one in members]).tolist()]),
            member=np.concatenate([np.empty(0, dtype=np.intp), *members]),
            reads=np.array([_reads(one, upstream) for one in listed]).reshape(-1, plays.size),
            share=_shares(most),
            walked=np.flatnonzero(seen),
            walkers=np.flatnonzero(seen & plays),
            walked_acting=_whole(i for i, _, product in walked if product < 0),
            walked_products=_whole(product for _, _, product in walked if product >= 0),
        )


class _Rows:
    """In which row of a place its value is, for all coalitions of more players than those upstream of it."""

    def __init__(self, upstream: np.ndarray) -> None:
        self._upstream = upstream
        self._size = 0
        self.kept: list[Index] = []

    def upstream_of(self, place: int) -> Index:
        """The players that are upstream of a place, itself not counted."""
        others = self._upstream[place].copy()
        others[place] = False
        return np.flatnonzero(others)

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
                if self._upstream[place, player]:
                    row |= ((coalition >> at) & 1) << bit
                    bit += 1
            self._size += row.size
            self.kept.append(row.astype(np.intp))
        return _whole(begin)


def _listed(
    games: Sequence[Game], upstream: np.ndarray, plays: np.ndarray
) -> tuple[list[Game], np.ndarray]:
    """Games that are few enough to go through their coalitions, smallest first, and places (k,) they need."""
    listed: list[Game] = []
    places = np.zeros(plays.size, dtype=bool)
    players = (upstream & plays).sum(axis=1)
    for one in sorted(games, key=lambda one: int((plays & _reads(one, upstream)).sum())):
        reads = _reads(one, upstream)
        if (reads & plays).sum() > MOST_PLAYERS:
            break
        if (1 << players[places | reads]).sum() <= MOST_ROWS:
            listed.append(one)
            places |= reads
    return listed, places


def _reads(game: Game, upstream: np.ndarray) -> np.ndarray:
    """(k,) places that a component depends on."""
    return np.asarray(upstream[game[0]] | upstream[game[1]])


def _any(games: Sequence[Game], upstream: np.ndarray) -> np.ndarray:
    """(k,) places that any of some components depends on."""
    return np.logical_or.reduce([_reads(one, upstream) for one in games] or [np.zeros(len(upstream), dtype=bool)])


def _shares(most: int) -> F64:
    """Shapley's: of n players, how many of all orders begin with these s and go on with a certain one."""
    shares = np.zeros((most + 1, most + 1))
    for n in range(1, most + 1):
        for s in range(n):
            shares[n, s] = factorial(s) * factorial(n - s - 1) / factorial(n)
    return shares


def _whole(numbers: Iterable[int]) -> Index:
    return np.array(list(numbers), dtype=np.intp)
