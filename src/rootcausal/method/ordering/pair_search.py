"""FindRoot+ (paper, Algorithm 3), pair by pair: where a pair costs more than keeping account of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..table import F64, Index, Table
from .entropy import entropy, pair_score
from .levels import LevelEntropies
from .search import ROUNDING, ExhaustiveSearch, Root

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
