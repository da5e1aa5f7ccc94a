"""FindRoot, and FindRoot+ by blocks of pairs (paper, Algorithms 2 and 3): which variable is the next root.

It is the one that is most independent of its residuals.

Every pair of candidates adds a penalty min(0, C_ij)² to one of the two (C is a pairwise likelihood ratio),
and the root, exogenous among what is left, is the candidate with the smallest total T. Totals only grow, so a
candidate is out of the race once its running total passes that of a finished one (pruning, as in branch and
bound). All searches return the same root (Proposition 3); they differ in the order of comparisons, which
decides how soon the search ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..table import F64, Index, Table
from .pair_score import LevelEntropies, entropy, pair_score

# Running totals are summed in another order than finished ones: leave room for rounding before calling
# a candidate beaten.
ROUNDING = 1e-9
# A block holds every candidate whose penalty was within this factor of the smallest, and at least so many.
CONTENDER = 2.0
LEAST_CONTENDERS = 16


@dataclass(frozen=True)
class Root:
    """What a search found.

    Attributes
    ----------
    column : the root, a column of the table.
    margin : by how much its penalty undercuts the next one; a lower bound under pruned search.
    entropy_given_root : (k,) entropy of each candidate's residual given the root; NaN for other columns, and
        where nothing was compared.
    n_pairs : pairs evaluated.
    """

    column: int
    margin: float
    entropy_given_root: F64
    n_pairs: int


class Search(Protocol):
    """Finds one root a round."""

    def find_root(
        self, table: Table, candidates: Index, entropies: F64, levels: LevelEntropies | None = None
    ) -> Root:
        """The root among two or more ``candidates``, whose entropies are at their place in (k,).

        ``levels`` has those of discrete candidates given others.
        """
        ...


class ExhaustiveSearch:
    """FindRoot: all pairs, each round anew."""

    def find_root(
        self, table: Table, candidates: Index, entropies: F64, levels: LevelEntropies | None = None
    ) -> Root:
        block = Block.of(table, candidates, candidates.size, entropies, levels)
        best = int(block.penalty.argmin())
        entropy_given_root = np.full(entropies.size, np.nan)
        entropy_given_root[candidates] = table.to_host(block.given[1, best])
        least, next_least = np.partition(block.penalty, 1)[:2]
        margin = float(next_least - least)
        return Root(int(candidates[best]), margin, entropy_given_root, block.n_pairs)


class BlockSearch:
    """FindRoot+ in two blocks of pairs: for tables where a pair costs less than keeping account of it.

    The first block finishes all who came close to winning in earlier rounds, and the second whoever the
    first did not beat. Totals change little from round to round, so the second is small.
    """

    def __init__(self, n_columns: int) -> None:
        # What each column's total was when last finished, less what has left since; at first nothing is
        # known, so everyone is a contender.
        self._expected = np.zeros(n_columns)

    def find_root(
        self, table: Table, candidates: Index, entropies: F64, levels: LevelEntropies | None = None
    ) -> Root:
        cols, q = self._contenders_first(candidates, table.pairs_per_call)
        blocks = [Block.of(table, cols, q, entropies, levels)]
        penalty, finished = np.zeros(entropies.size), np.zeros(entropies.size, dtype=bool)
        penalty[cols] = blocks[0].column_penalty
        penalty[cols[:q]] = blocks[0].penalty
        finished[cols[:q]] = True
        rest = cols[q:]
        beaten = penalty[rest] > blocks[0].penalty.min() * (1.0 + ROUNDING)
        if not beaten.all():
            alive = rest[~beaten]
            cols = np.concatenate([alive, rest[beaten]])
            blocks.append(Block.of(table, cols, alive.size, entropies, levels))
            penalty[alive] += blocks[1].penalty
            finished[alive] = True
        # In the order of columns, so that a tie goes to the first.
        totals = np.where(finished, penalty, np.inf)[candidates]
        root = int(candidates[totals.argmin()])
        margin = max(0.0, float(penalty[candidates[candidates != root]].min() - totals.min()))
        self._expected = np.where(finished, penalty, np.maximum(self._expected, penalty))
        entropy_given_root = np.full(entropies.size, np.nan)
        for others, others_given, root_given in (block.beside(root, table) for block in blocks):
            entropy_given_root[others] = others_given
            score = pair_score(entropies[others], entropies[root], others_given, root_given)
            self._expected[others] -= np.minimum(score, 0.0) ** 2
        return Root(root, margin, entropy_given_root, sum(block.n_pairs for block in blocks))

    def _contenders_first(self, candidates: Index, pairs_per_call: int) -> tuple[Index, int]:
        """Candidates by what they are expected to lose, and how many of them the first block finishes."""
        expected = self._expected[candidates]
        cols = candidates[np.argsort(expected, kind="stable")]
        if candidates.size * candidates.size <= 2 * pairs_per_call:
            return cols, cols.size  # a second call would cost more than all pairs in one
        close = int((expected <= CONTENDER * expected.min()).sum())
        return cols, min(cols.size, max(close, LEAST_CONTENDERS))


@dataclass(frozen=True)
class Block:
    """All pairs of m columns with a member among the first q, its rows.

    Attributes
    ----------
    cols : (m,) columns of the table.
    penalty : (q,) Σ over all columns of what each row is penalized.
    column_penalty : (m,) Σ over the rows of what each column is penalized.
    given : (2, q, m) entropies of the residuals of rows given columns, and of columns given rows.
    """

    cols: Index
    penalty: F64
    column_penalty: F64
    given: Any

    @classmethod
    def of(
        cls, table: Table, cols: Index, q: int, entropies: F64, levels: LevelEntropies | None = None
    ) -> Block:
        known = None if levels is None else levels.within(cols)
        sums = table.leading_pair_sums(cols, q)
        penalty, column_penalty, given = table.block_penalties(sums, entropies[cols], table.shape[0], known)
        return cls(cols, penalty, column_penalty, given)

    def beside(self, column: int, table: Table) -> tuple[Index, F64, F64]:
        """Whom this column met here, the entropies of their residuals given it, and of its given them."""
        found = np.flatnonzero(self.cols == column)
        if not found.size:
            return self.cols[:0], np.empty(0), np.empty(0)
        place, q = int(found[0]), self.penalty.size
        if place < q:
            own, others = table.to_host(self.given[:, place, :])
            return self.cols, others, own
        others, own = table.to_host(self.given[:, :, place])
        return self.cols[:q], others, own

    @property
    def n_pairs(self) -> int:
        q, m = self.penalty.size, self.cols.size
        return q * m - q * (q + 1) // 2


# FindRoot+ (paper, Algorithm 3), pair by pair: where a pair costs more than keeping account of it.

# How many partners a candidate meets at most in the first calls of a round; if it is still in the race after
# these, it meets all who are left.
MOST_AT_ONCE = (4, 16, 64)
# A round that chooses takes about so many calls: all pairs in one are cheaper where they cost less.
NOT_WORTH_CHOOSING = 3


class Race(NamedTuple):
    """What is known of k columns, from round to round, and how a round stands; written to as it goes.

    Attributes
    ----------
    score : (k, k) C_ij when last seen.
    given : (k, k) entropy of i's residual given j when last seen.
    seen : (k, k) round in which a pair was last seen, or chosen to be; no column ever meets itself.
    total : (k,) running totals of this round's penalties.
    unmet : (k,) how many partners of this round are still to be met.
    known : (k,) who was in a race before.
    """

    score: F64
    given: F64
    seen: np.ndarray
    total: F64
    unmet: Index
    known: np.ndarray


@dataclass(frozen=True)
class Accounts:
    """The arithmetic of a race; compiled twins of these functions are in the backends.

    Attributes
    ----------
    begin : as :func:`begin`.
    enter : as :func:`enter`.
    choose : as :func:`choose`.
    finish : as :func:`finish`.
    """

    begin: Callable[..., tuple[Index, Index]]
    enter: Callable[..., None]
    choose: Callable[..., tuple[Index, Index]]
    finish: Callable[..., tuple[int, float]]


def begin(race: Race, candidates: Index, number: int) -> tuple[Index, Index]:
    """The first pairs (i, j) of a round: whoever should win meets all, and others those who should beat them.

    Scores change little from one round to the next. So the candidate with the smallest remembered total is
    finished first, and every other one meets, in the same call, as many of its worst rivals as should do.
    Who is new meets all, so that later rounds know.
    """
    race.total[candidates] = 0.0
    race.unmet[candidates] = candidates.size - 1
    known = candidates[race.known[candidates]]
    remembered = np.array([penalties(race.score[i, candidates]).cumsum()[-1] for i in known])
    leader, bound = (int(known[remembered.argmin()]), remembered.min()) if known.size else (-1, 0.0)
    expected = np.zeros(race.total.size)
    i, j = [candidates[:0]], [candidates[:0]]
    for column in sorted(candidates.tolist(), key=lambda column: column != leader):
        if column == leader or not race.known[column]:
            met = _all_left(race, column, candidates, number, expected)
        else:
            met = _next_partners(race, column, candidates, number, expected, bound, MOST_AT_ONCE[0], 0)
        i.append(np.full(met.size, column))
        j.append(met)
    race.known[candidates] = True
    return np.concatenate(i), np.concatenate(j)


def enter(race: Race, i: Index, j: Index, own: F64, given: F64) -> None:
    """Enter the pairs that were met: entropies ``own`` (k,), and ``given`` (m, 2), of i given j and of j."""
    score = pair_score(own[i], own[j], given[:, 0], given[:, 1])
    race.score[i, j], race.score[j, i] = score, -score
    race.given[i, j], race.given[j, i] = given[:, 0], given[:, 1]
    np.add.at(race.total, np.where(score < 0, i, j), score * score)
    np.subtract.at(race.unmet, i, 1)
    np.subtract.at(race.unmet, j, 1)


def choose(race: Race, candidates: Index, number: int, call: int, per_call: int) -> tuple[Index, Index]:
    """The pairs of the next call: whoever may still win meets those who should beat it; none: it is over.

    ``call`` counts the calls of this round so far, from 1. ``per_call`` is how many pairs cost as much as
    another call: so many more are met than should be enough.
    """
    totals = race.total[candidates]
    bound = float(totals[race.unmet[candidates] == 0].min()) * (1.0 + ROUNDING)
    alive = candidates[(race.unmet[candidates] > 0) & (totals <= bound)]
    expected = race.total.copy()
    i, j = [candidates[:0]], [candidates[:0]]
    for column in alive.tolist():
        if call < len(MOST_AT_ONCE):
            most, spare = MOST_AT_ONCE[call], 1 + per_call // alive.size
            met = _next_partners(race, column, candidates, number, expected, bound, most, spare)
        else:
            met = _all_left(race, column, candidates, number, expected)
        i.append(np.full(met.size, column))
        j.append(met)
    return np.concatenate(i), np.concatenate(j)


def _all_left(race: Race, column: int, candidates: Index, number: int, expected: F64) -> Index:
    """All partners not met in this round."""
    met = candidates[race.seen[column, candidates] < number]
    _promise(race, column, met, number, expected)
    return met


def _next_partners(
    race: Race,
    column: int,
    candidates: Index,
    number: int,
    expected: F64,
    bound: float,
    most: int,
    spare: int,
) -> Index:
    """Partners not met in this round, worst first, until what is expected of them passes the bound.

    ``expected`` (k,) is what each column's total should come to with all pairs chosen so far.
    """
    unmet = candidates[race.seen[column, candidates] < number]
    worst = unmet[np.argsort(race.score[column, unmet], kind="stable")]
    reached = np.append(expected[column], penalties(race.score[column, worst])).cumsum()[:-1]
    met = worst[: min(int((reached <= bound).sum()) + spare, most)]
    _promise(race, column, met, number, expected)
    return met


def _promise(race: Race, column: int, partners: Index, number: int, expected: F64) -> None:
    race.seen[column, partners] = race.seen[partners, column] = number
    for partner in partners:
        expected[column] += penalties(race.score[column, partner])
        expected[partner] += penalties(race.score[partner, column])


def finish(race: Race, candidates: Index) -> tuple[int, float]:
    """The best candidate that met all, and by how much less its total is than any other's.

    Totals of who met all are summed in the order of columns, and ties go to the first.
    """
    met_all = candidates[race.unmet[candidates] == 0]
    totals = np.array([penalties(race.score[i, candidates]).cumsum()[-1] for i in met_all])
    best = int(met_all[totals.argmin()])
    others = candidates[candidates != best]
    return best, max(0.0, float(race.total[others].min() - totals.min()))


PLAIN = Accounts(begin, enter, choose, finish)


class PairSearch:
    """FindRoot+, with what earlier rounds taught.

    The choice of comparisons decides only how soon the search ends, never what it finds. At least one call a
    root is needed: the root's pairs with all other candidates have to be seen.
    """

    def __init__(self, n_columns: int, accounts: Accounts = PLAIN) -> None:
        score, given = np.zeros((2, n_columns, n_columns))
        seen = np.zeros((n_columns, n_columns), dtype=np.int32)
        np.fill_diagonal(seen, np.iinfo(seen.dtype).max)
        unmet, known = np.zeros(n_columns, dtype=np.intp), np.zeros(n_columns, dtype=bool)
        self._race = Race(score, given, seen, np.zeros(n_columns), unmet, known)
        self._round = 0
        self._accounts = accounts

    def find_root(
        self, table: Table, candidates: Index, entropies: F64, levels: LevelEntropies | None = None
    ) -> Root:
        m = candidates.size
        if m * (m - 1) // 2 <= NOT_WORTH_CHOOSING * table.pairs_per_call:
            return ExhaustiveSearch().find_root(table, candidates, entropies, levels)
        self._round += 1
        race, accounts, n_pairs, calls = self._race, self._accounts, 0, 0
        i, j = accounts.begin(race, candidates, self._round)
        while i.size:
            # The same pair is always the same way round, so that its sums are the same to the last digit.
            i, j = np.minimum(i, j), np.maximum(i, j)
            sums = table.pair_sums(i, j)
            given = entropy(sums[:, :, 0], sums[:, :, 1], table.shape[0])
            if levels is not None:
                levels.correct(i, j, given)
            accounts.enter(race, i, j, entropies, given)
            n_pairs, calls = n_pairs + i.size, calls + 1
            i, j = accounts.choose(race, candidates, self._round, calls, table.pairs_per_call)
        root, margin = accounts.finish(race, candidates)
        entropy_given_root = np.full(entropies.size, np.nan)
        entropy_given_root[candidates] = race.given[candidates, root]
        return Root(root, margin, entropy_given_root, n_pairs)


def penalties(score: F64) -> F64:
    """min(0, C)² of each score."""
    negative = np.minimum(score, 0.0)
    return negative * negative
