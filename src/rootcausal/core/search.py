"""FindRoot and FindRoot+ (paper, Algorithms 2 and 3): which variable is most independent of its residuals.

Every pair of candidates adds a penalty min(0, C_ij)² to one of the two, and the root is the candidate
with the smallest total T. Totals only grow, so a candidate is out of the race once its running total
passes that of a finished one. Both searches return the same root (Proposition 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .entropy import entropy, pair_score
from .moments import ResidualMoments
from .table import F64, Index, Table

# A running total is summed in another order than a finished one: leave room for rounding before
# calling a candidate beaten, so that near ties are settled on finished totals alone.
ROUNDING = 1e-9
# Weight of r² beside remembered scores when partners are ranked: small, it only breaks ties.
NEVER_MET = 1e-6


@dataclass(frozen=True)
class Root:
    """What a search found.

    Attributes
    ----------
    slot : where the root is stored.
    margin : by how much its penalty undercuts the next one; a lower bound under pruned search.
    entropy_given_root : (s,) entropy of each slot's residual given the root.
    n_pairs : pairs evaluated.
    """

    slot: int
    margin: float
    entropy_given_root: F64
    n_pairs: int


class Search(Protocol):
    """Finds one root a round; told when slots leave or move."""

    def find_root(self, table: Table, moments: ResidualMoments, entropies: F64) -> Root: ...

    def forget(self, slots: Index) -> None: ...

    def compact(self, keep: Index) -> None: ...


class ExhaustiveSearch:
    """FindRoot: all pairs, each round anew."""

    def find_root(self, table: Table, moments: ResidualMoments, entropies: F64) -> Root:
        slots = np.flatnonzero(moments.in_play)
        correlation = moments.correlation(slots[:, None], slots[None, :])
        np.fill_diagonal(correlation, 0.0)
        sums = table.all_pair_sums(moments.ids[slots], correlation)
        given = entropy(sums[0], sums[1], table.shape[0])
        own = given.diagonal()
        score = pair_score(own[:, None], own[None, :], given, given.T)
        negative = score.clip(None, 0.0)
        penalty = table.to_host((negative * negative).sum(axis=1))
        best = int(penalty.argmin())
        entropy_given_root = np.full(moments.ids.size, np.nan)
        entropy_given_root[slots] = table.to_host(given[:, best])
        runner_up = float(np.delete(penalty, best).min())
        n_pairs = slots.size * (slots.size - 1) // 2
        return Root(int(slots[best]), runner_up - float(penalty[best]), entropy_given_root, n_pairs)

    def forget(self, slots: Index) -> None:
        """Nothing is remembered from round to round."""

    def compact(self, keep: Index) -> None:
        """Nothing is remembered from round to round."""


class PrunedSearch:
    """FindRoot+, with what the last rounds taught.

    Scores change little from one round to the next. So the candidate with the smallest remembered
    penalty is finished first, and every other candidate first meets the one that penalized it most.
    The order of comparisons decides only how soon the search ends, never what it finds.
    """

    def __init__(self, moments: ResidualMoments) -> None:
        size = moments.ids.size
        self.round = 0
        self.score = np.zeros((size, size))  # C_ij when last seen; antisymmetric
        self.given = np.zeros((size, size))  # entropy of i's residual given j when last seen
        self.seen = np.zeros((size, size), dtype=np.int32)  # round in which a pair was last seen
        self._remembered = np.zeros(size)  # Σ_j of the penalties when last seen
        magnitude = np.abs(moments.covariance)
        np.fill_diagonal(magnitude, -1.0)
        # The likeliest rival of each slot before anything is known: its most correlated partner.
        self._rival = magnitude.argmax(axis=1) if size else np.zeros(0, dtype=np.intp)

    def find_root(self, table: Table, moments: ResidualMoments, entropies: F64) -> Root:
        slots = np.flatnonzero(moments.in_play)
        race = _Race(self, table, moments, entropies, slots)
        self.round += 1
        leader = slots[self._remembered[slots].argmin()]
        if self.round == 1:
            race.compare(slots, self._rival[slots])
            leader = slots[race.penalty[slots].argmin()]
        race.finish(leader)
        at_once = 1
        while (alive := race.alive()).size:
            per_slot = max(at_once, table.pairs_per_call // alive.size)
            race.compare(*race.next_partners(alive, per_slot))
            at_once *= 2
        return race.result()

    def record(self, a: Index, b: Index, score: F64, given: F64) -> None:
        """Remember what a < b scored, and the entropies of a given b and b given a."""
        loser, winner = np.where(score < 0, (a, b), (b, a))
        before = np.minimum(self.score[a, b], 0.0) ** 2, np.minimum(self.score[b, a], 0.0) ** 2
        size = self._remembered.size
        self._remembered += np.bincount(loser, score * score, size)
        self._remembered -= np.bincount(a, before[0], size) + np.bincount(b, before[1], size)
        self.score[a, b], self.score[b, a] = score, -score
        self.given[a, b], self.given[b, a] = given[:, 0], given[:, 1]
        self.seen[a, b] = self.seen[b, a] = self.round

    def forget(self, slots: Index) -> None:
        self._remembered -= (np.minimum(self.score[:, slots], 0.0) ** 2).sum(axis=1)
        self.score[:, slots] = 0.0

    def compact(self, keep: Index) -> None:
        square = np.ix_(keep, keep)
        self.score = self.score[square]
        self.given = self.given[square]
        self.seen = self.seen[square]
        self._remembered = self._remembered[keep]
        new_place = np.full(self._rival.size, -1)
        new_place[keep] = np.arange(keep.size)
        self._rival = new_place[self._rival[keep]]


class _Race:
    """One round of a pruned search: running totals, and who has met whom."""

    def __init__(
        self, memory: PrunedSearch, table: Table, moments: ResidualMoments, entropies: F64, slots: Index
    ) -> None:
        self._memory = memory
        self._table = table
        self._moments = moments
        self._entropies = entropies
        self._slots = slots
        size = moments.ids.size
        self.penalty = np.zeros(size)
        self._unmet = np.full(size, slots.size - 1)
        self._n_pairs = 0

    def compare(self, i: Index, j: Index) -> None:
        """Meet each pair once: pairs met before in this round, or named twice, are passed over."""
        memory, size = self._memory, self._moments.ids.size
        keys = np.unique(np.minimum(i, j) * size + np.maximum(i, j))
        a, b = np.divmod(keys, size)
        new = memory.seen[a, b] != memory.round
        a, b = a[new], b[new]
        sums = self._table.pair_sums(
            self._moments.ids[a], self._moments.ids[b], self._moments.correlation(a, b)
        )
        given = entropy(sums[:, :, 0], sums[:, :, 1], self._table.shape[0])
        score = pair_score(self._entropies[a], self._entropies[b], given[:, 0], given[:, 1])
        memory.record(a, b, score, given)
        loser = np.where(score < 0, a, b)
        self.penalty += np.bincount(loser, score * score, minlength=size)
        self._unmet -= np.bincount(a, minlength=size) + np.bincount(b, minlength=size)
        self._n_pairs += a.size

    def finish(self, slot: int) -> None:
        others = self._slots[self._slots != slot]
        self.compare(np.full(others.size, slot), others)

    def _finished(self) -> Index:
        return self._slots[self._unmet[self._slots] == 0]

    def _total(self, slot: int) -> float:
        """Summed in the order of columns, whatever the order in which pairs were met."""
        negative = np.minimum(self._memory.score[slot, self._slots], 0.0)
        return float((negative * negative).sum())

    def alive(self) -> Index:
        """Unfinished candidates that may still undercut the best finished one."""
        bound = min(self.penalty[self._finished()]) * (1.0 + ROUNDING)
        penalty = self.penalty[self._slots]
        return self._slots[(self._unmet[self._slots] > 0) & (penalty <= bound)]

    def next_partners(self, alive: Index, per_slot: int) -> tuple[Index, Index]:
        """For each candidate, the unmet partners most likely to beat it, judged by their last meeting."""
        memory = self._memory
        pairs = np.ix_(alive, self._slots)
        threat = -memory.score[pairs]
        # Pairs that never met come before those that were won, most correlated first.
        threat += NEVER_MET * self._moments.correlation(*pairs) ** 2
        threat[memory.seen[pairs] == memory.round] = -np.inf
        threat[alive[:, None] == self._slots] = -np.inf
        per_slot = min(per_slot, self._slots.size)
        chosen = np.argpartition(-threat, per_slot - 1, axis=1)[:, :per_slot]
        worth = np.take_along_axis(threat, chosen, axis=1) > -np.inf
        i = np.broadcast_to(alive[:, None], chosen.shape)[worth]
        return i, self._slots[chosen[worth]]

    def result(self) -> Root:
        finished = self._finished()
        totals = np.array([self._total(slot) for slot in finished])
        best = int(finished[totals.argmin()])
        others = self._slots[self._slots != best]
        margin = max(0.0, float(self.penalty[others].min() - totals.min()))
        return Root(best, margin, self._memory.given[:, best].copy(), self._n_pairs)
