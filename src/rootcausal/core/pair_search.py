"""FindRoot+ (paper, Algorithm 3), pair by pair: where a pair costs more than keeping account of it."""

from __future__ import annotations

import numpy as np

from .entropy import entropy, pair_score
from .search import ROUNDING, Root
from .table import F64, Index, Table

# How many of the partners that penalized a candidate most are remembered.
RIVALS = 4
# Before two candidates have met, r² is all there is to rank them by: this times r² stands in for a
# score, too small to outweigh any that was seen.
UNSEEN = 1e-6
NOBODY: Index = np.empty(0, dtype=np.intp)


class PairSearch:
    """FindRoot+, with what earlier rounds taught.

    Scores change little from one round to the next. So the candidate with the smallest remembered
    penalty is finished first, and every other candidate first meets the rivals that penalized it most.
    The order of comparisons decides only how soon the search ends, never what it finds.
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
        everyone = np.arange(len(squared))
        self._find_rivals(everyone, everyone)

    def find_root(self, table: Table, candidates: Index, entropies: F64) -> Root:
        self.round += 1
        race = _Race(self, table, candidates, entropies)
        if self.round == 1:
            # Nothing is known yet: let everyone meet its most correlated partner.
            race.compare(candidates, self._rivals[candidates, 0])
            race.finish(int(candidates[race.penalty[candidates].argmin()]))
            alive = race.alive()
        else:
            alive = self._meet_rivals(race, candidates, table.pairs_per_call)
        searched = alive
        at_once = 1
        while alive.size:
            race.compare(*race.next_partners(alive, max(at_once, table.pairs_per_call // alive.size)))
            at_once *= 2
            alive = race.alive()
        self._find_rivals(searched, candidates)
        return race.result()

    def _meet_rivals(self, race: _Race, candidates: Index, pairs_per_call: int) -> Index:
        """Finish the likeliest root and let others meet their rivals; returns who is still in the race."""
        leader = int(candidates[self._remembered[candidates].argmin()])
        # Where a call is dear, the first one also holds what the next ones would ask.
        met = min(RIVALS, pairs_per_call // candidates.size)
        race.finish(leader, *_pairs(candidates, self._rivals[candidates, :met]))
        alive = race.alive()
        while alive.size and met < RIVALS:
            upto = min(RIVALS, met + max(1, pairs_per_call // alive.size))
            race.compare(*_pairs(alive, self._rivals[alive, met:upto]))
            met = upto
            alive = race.alive()
        return alive

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
            before = np.minimum(self.score[i, j], 0.0)
            self._remembered -= np.bincount(i, before * before, size)
        self._remembered += np.bincount(np.where(score < 0, a, b), score * score, size)
        self.score[a, b], self.score[b, a] = score, -score
        self.given[a, b], self.given[b, a] = given[:, 0], given[:, 1]
        self.seen[a, b] = self.seen[b, a] = self.round

    def forget(self, candidates: Index, gone: Index) -> None:
        """Take columns that left the race out of what the remaining candidates remember."""
        before = np.minimum(self.score[np.ix_(candidates, gone)], 0.0)
        self._remembered[candidates] -= (before * before).sum(axis=1)
        present = np.zeros(len(self._rivals) + 1, dtype=bool)  # the last place stands for −1
        present[candidates] = True
        self._rivals[~present[self._rivals]] = -1


class _Race:
    """One round of a pruned search: running totals, and who has met whom."""

    def __init__(self, memory: PairSearch, table: Table, candidates: Index, entropies: F64) -> None:
        self._memory = memory
        self._table = table
        self._candidates = candidates
        self._entropies = entropies
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

    def finish(self, column: int, i: Index = NOBODY, j: Index = NOBODY) -> None:
        """Let one candidate meet all others, and the pairs i, j meet in the same call."""
        others = self._candidates[self._candidates != column]
        self.compare(np.concatenate([np.full(others.size, column), i]), np.concatenate([others, j]))

    def _finished(self) -> Index:
        return self._candidates[self._unmet[self._candidates] == 0]

    def alive(self) -> Index:
        """Unfinished candidates that may still undercut the best finished one."""
        bound = self.penalty[self._finished()].min() * (1.0 + ROUNDING)
        may_win = (self._unmet > 0) & (self.penalty <= bound)
        return self._candidates[may_win[self._candidates]]

    def next_partners(self, alive: Index, per_candidate: int) -> tuple[Index, Index]:
        """For each candidate, the unmet partners most likely to beat it, judged by their last meeting."""
        pairs = np.ix_(alive, self._candidates)
        threat = -self._memory.score[pairs]
        threat[self._memory.seen[pairs] == self._memory.round] = -np.inf
        threat[alive[:, None] == self._candidates] = -np.inf
        chosen = most_threatening(threat, per_candidate)
        unmet = np.take_along_axis(threat, chosen, axis=1) > -np.inf
        i = np.broadcast_to(alive[:, None], chosen.shape)[unmet]
        return i, self._candidates[chosen[unmet]]

    def result(self) -> Root:
        """The best finished candidate, by totals summed in the order of columns; ties go to the first."""
        finished = self._finished()
        negative = np.minimum(self._memory.score[np.ix_(finished, self._candidates)], 0.0)
        negative[finished[:, None] == self._candidates] = 0.0
        totals = (negative * negative).sum(axis=1)
        best = int(finished[totals.argmin()])
        others = self._candidates[self._candidates != best]
        margin = max(0.0, float(self.penalty[others].min() - totals.min()))
        return Root(best, margin, self._memory.given[:, best].copy(), self._n_pairs)


def _pairs(columns: Index, rivals: Index) -> tuple[Index, Index]:
    """Each of (m,) columns beside its (m, q) rivals, those that are there."""
    present = rivals >= 0
    return np.broadcast_to(columns[:, None], rivals.shape)[present], rivals[present]


def most_threatening(threat: F64, count: int) -> Index:
    """(m, count) places of the largest values of each row of (m, k), largest first; all, if k is fewer."""
    if count >= threat.shape[1]:
        return np.argsort(-threat, axis=1, kind="stable")
    if count <= 0:
        return np.empty((len(threat), 0), dtype=np.intp)
    places = np.argpartition(-threat, count - 1, axis=1)[:, :count]
    worst_first = np.argsort(-np.take_along_axis(threat, places, axis=1), axis=1, kind="stable")
    return np.take_along_axis(places, worst_first, axis=1)
