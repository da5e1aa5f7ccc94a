"""FindRoot+ (paper, Algorithm 3), pair by pair: where a pair costs more than keeping account of it."""

from __future__ import annotations

import numpy as np

from .entropy import entropy, pair_score
from .levels import LevelEntropies
from .search import ROUNDING, Root
from .table import F64, Index, Table

# How many of the partners that penalized a candidate most are remembered.
RIVALS = 8
# How many more partners a candidate meets in one call than should suffice to beat it: a few pairs too
# many cost less than another call.
SPARE = 3
# Before two candidates have met, r² is all there is to rank them by: this times r² stands in for a
# score, too small to outweigh any that was seen.
UNSEEN = 1e-6


class PairSearch:
    """FindRoot+, with what earlier rounds taught.

    Scores change little from one round to the next. So the candidate with the smallest remembered
    penalty is finished first and, in the same call, every other candidate meets as many of its worst
    rivals as should beat it. Who is left then meets what should beat it now, and so on. The choice of
    comparisons decides only how soon the search ends, never what it finds.

    At least one call a root is needed: the root's pairs with all other candidates have to be seen.
    """

    def __init__(self, correlation: F64) -> None:
        """``correlation`` (k, k) of the columns before the first round."""
        self.round = 0
        squared = correlation * correlation
        np.fill_diagonal(squared, -1.0)
        self.score = -UNSEEN * squared  # C_ij when last seen
        self.given = np.zeros_like(squared)  # entropy of i's residual given j when last seen
        self.seen = np.zeros(squared.shape, dtype=np.int32)  # round in which a pair was last seen
        self._remembered = np.zeros(len(squared))  # Σ_j of the penalties when last seen
        self._rivals = np.full((len(squared), RIVALS), -1)  # columns, worst first; −1: none
        self._met = np.zeros(len(squared), dtype=bool)  # who was in a race before

    def find_root(
        self, table: Table, candidates: Index, entropies: F64, levels: LevelEntropies | None = None
    ) -> Root:
        self.round += 1
        race = _Race(self, table, candidates, entropies, levels)
        new = candidates[~self._met[candidates]]
        if new.size:
            # Nothing is known of them yet: let each meet its most correlated partner.
            self._find_rivals(new, candidates)
            race.compare(new, self._rivals[new, 0])
            self._met[new] = True
        leader = int(candidates[self._remembered[candidates].argmin()])
        race.finish(leader, *self._expected_to_beat(candidates, leader))
        alive = searched = race.alive()
        while alive.size:
            race.compare(*race.next_partners(alive, max(SPARE, table.pairs_per_call // alive.size)))
            alive = race.alive()
        self._find_rivals(searched, candidates)
        return race.result()

    def _expected_to_beat(self, candidates: Index, leader: int) -> tuple[Index, Index]:
        """Candidates beside their rivals, worst first, until remembered penalties pass the leader's."""
        rivals = self._rivals[candidates]
        usable = (rivals >= 0) & (rivals != leader) & (candidates[:, None] != leader)
        penalty = np.where(usable, _penalty(self.score[candidates[:, None], rivals]), 0.0)
        before = _penalty(self.score[candidates, leader])[:, None] + np.cumsum(penalty, axis=1) - penalty
        wanted = usable & (before <= self._remembered[leader])
        return np.broadcast_to(candidates[:, None], rivals.shape)[wanted], rivals[wanted]

    def _find_rivals(self, searched: Index, candidates: Index) -> None:
        """Look again for the rivals of those whom the remembered ones did not beat."""
        threat = -self.score[np.ix_(searched, candidates)]
        threat[searched[:, None] == candidates] = -np.inf
        worst = most_threatening(threat, min(RIVALS, candidates.size - 1))
        self._rivals[searched] = -1
        self._rivals[searched, : worst.shape[1]] = candidates[worst]

    def record(self, a: Index, b: Index, score: F64, given: F64) -> None:
        """Remember C_ab, and the entropies of a given b and of b given a."""
        size = self._remembered.size
        for i, j in ((a, b), (b, a)):
            self._remembered -= np.bincount(i, _penalty(self.score[i, j]), size)
        self._remembered += np.bincount(np.where(score < 0, a, b), score * score, size)
        self.score[a, b], self.score[b, a] = score, -score
        self.given[a, b], self.given[b, a] = given[:, 0], given[:, 1]
        self.seen[a, b] = self.seen[b, a] = self.round

    def forget(self, candidates: Index, gone: Index) -> None:
        """Take columns that left the race out of what the remaining candidates remember."""
        self._remembered[candidates] -= _penalty(self.score[np.ix_(candidates, gone)]).sum(axis=1)
        present = np.zeros(len(self._rivals) + 1, dtype=bool)  # the last place stands for −1
        present[candidates] = True
        self._rivals[~present[self._rivals]] = -1


class _Race:
    """One round of a pruned search: running totals, and who has met whom."""

    def __init__(
        self,
        memory: PairSearch,
        table: Table,
        candidates: Index,
        entropies: F64,
        levels: LevelEntropies | None,
    ) -> None:
        self._memory = memory
        self._table = table
        self._candidates = candidates
        self._entropies = entropies
        self._levels = levels
        self.penalty = np.zeros(entropies.size)
        self._unmet = np.full(entropies.size, candidates.size - 1)
        self._n_pairs = 0

    def compare(self, i: Index, j: Index) -> None:
        """Meet each pair once: pairs met before in this round, or named twice, are passed over."""
        a, b = np.minimum(i, j), np.maximum(i, j)
        a, b = self._new(a, b)
        if not a.size:
            return
        sums = self._table.pair_sums(a, b)
        given = entropy(sums[:, :, 0], sums[:, :, 1], self._table.shape[0])
        if self._levels is not None:
            self._levels.correct(a, b, given)
        score = pair_score(self._entropies[a], self._entropies[b], given[:, 0], given[:, 1])
        self._memory.record(a, b, score, given)
        size = self.penalty.size
        self.penalty += np.bincount(np.where(score < 0, a, b), score * score, size)
        self._unmet -= np.bincount(a, minlength=size) + np.bincount(b, minlength=size)
        self._n_pairs += a.size

    def _new(self, a: Index, b: Index) -> tuple[Index, Index]:
        seen = self._memory.seen
        new = seen[a, b] != self._memory.round
        a, b = a[new], b[new]
        # Of a pair named twice, the last to sign stays.
        signature = -1 - np.arange(a.size, dtype=seen.dtype)
        seen[a, b] = signature
        last = seen[a, b] == signature
        return a[last], b[last]

    def finish(self, column: int, i: Index, j: Index) -> None:
        """Let one candidate meet all others, and the pairs i, j meet in the same call."""
        others = self._candidates[self._candidates != column]
        self.compare(np.concatenate([np.full(others.size, column), i]), np.concatenate([others, j]))

    def _finished(self) -> Index:
        return self._candidates[self._unmet[self._candidates] == 0]

    def _bound(self) -> float:
        """What a penalty may not exceed to be still in the race: the smallest finished one."""
        return float(self.penalty[self._finished()].min()) * (1.0 + ROUNDING)

    def alive(self) -> Index:
        """Unfinished candidates that may still undercut the best finished one."""
        may_win = (self._unmet > 0) & (self.penalty <= self._bound())
        return self._candidates[may_win[self._candidates]]

    def next_partners(self, alive: Index, spare: int) -> tuple[Index, Index]:
        """For each candidate, the unmet partners that beat it when they last met, and some to spare."""
        pairs = np.ix_(alive, self._candidates)
        threat = -self._memory.score[pairs]
        threat[self._memory.seen[pairs] == self._memory.round] = -np.inf
        threat[alive[:, None] == self._candidates] = -np.inf
        worst_first = np.argsort(-threat, axis=1, kind="stable")
        threat = np.take_along_axis(threat, worst_first, axis=1)
        penalty = _penalty(-threat)
        before = self.penalty[alive, None] + np.cumsum(penalty, axis=1) - penalty
        enough = (before <= self._bound()).sum(axis=1) + spare
        wanted = (np.arange(self._candidates.size) < enough[:, None]) & (threat > -np.inf)
        return np.broadcast_to(alive[:, None], wanted.shape)[wanted], self._candidates[worst_first[wanted]]

    def result(self) -> Root:
        """The best finished candidate, by totals summed in the order of columns; ties go to the first."""
        finished = self._finished()
        penalty = _penalty(self._memory.score[np.ix_(finished, self._candidates)])
        penalty[finished[:, None] == self._candidates] = 0.0
        totals = penalty.sum(axis=1)
        best = int(finished[totals.argmin()])
        others = self._candidates[self._candidates != best]
        margin = max(0.0, float(self.penalty[others].min() - totals.min()))
        given = np.full(self.penalty.size, np.nan)
        given[self._candidates] = self._memory.given[self._candidates, best]
        return Root(best, margin, given, self._n_pairs)


def _penalty(score: F64) -> F64:
    """min(0, C)² of each score."""
    negative = np.minimum(score, 0.0)
    return negative * negative


def most_threatening(threat: F64, count: int) -> Index:
    """(m, count) places of the largest values of each row of (m, k), largest first; all, if k is fewer."""
    if count >= threat.shape[1]:
        return np.argsort(-threat, axis=1, kind="stable")
    if count <= 0:
        return np.empty((len(threat), 0), dtype=np.intp)
    places = np.argpartition(-threat, count - 1, axis=1)[:, :count]
    worst_first = np.argsort(-np.take_along_axis(threat, places, axis=1), axis=1, kind="stable")
    return np.take_along_axis(places, worst_first, axis=1)
