"""The accounts of a race (see :mod:`rootcausal.method.ordering.pair_search`), compiled."""

from __future__ import annotations

import numpy as np

from ...method.ordering.pair_search import MOST_AT_ONCE, Accounts, Race
from ...method.ordering.search import ROUNDING
from ...method.table import F64, Index
from .compiler import compiled

FIRST = MOST_AT_ONCE[0]


@compiled(inner=True, nogil=True)
def _penalty(score: float) -> float:
    negative = min(score, 0.0)
    return negative * negative


@compiled(nogil=True)
def _promise(race: Race, a: int, b: int, number: int, expected: F64) -> None:
    race.seen[a, b] = race.seen[b, a] = number
    expected[a] += _penalty(race.score[a, b])
    expected[b] += _penalty(race.score[b, a])


@compiled(inner=True, nogil=True)
def _remembered(race: Race, column: int, candidates: Index) -> float:
    total = 0.0
    for other in candidates:
        total += _penalty(race.score[column, other])
    return total


@compiled(inner=True, nogil=True)
def _add_partners(
    race: Race,
    column: int,
    candidates: Index,
    number: int,
    expected: F64,
    bound: float,
    most: int,
    spare: int,
    pairs: Index,
    count: int,
) -> int:
    """Write the next partners of one column behind the ``count`` pairs so far; returns how many there are."""
    score, seen = race.score[column], race.seen[column]
    last = count + most
    while count < last:
        if expected[column] > bound:
            if not spare:
                break
            spare -= 1
        worst, least = -1, np.inf
        for other in candidates:
            if score[other] < least and seen[other] < number:
                worst, least = other, score[other]
        if worst < 0:
            break
        pairs[0, count], pairs[1, count] = column, worst
        _promise(race, column, worst, number, expected)
        count += 1
    return count


@compiled(inner=True, nogil=True)
def _add_all(
    race: Race, column: int, candidates: Index, number: int, expected: F64, pairs: Index, count: int
) -> int:
    for other in candidates:
        if race.seen[column, other] < number:
            pairs[0, count], pairs[1, count] = column, other
            _promise(race, column, other, number, expected)
            count += 1
    return count


@compiled(nogil=True)
def begin(race: Race, candidates: Index, number: int) -> tuple[Index, Index]:
    m = candidates.size
    leader, least, new = -1, np.inf, 0
    for column in candidates:
        race.total[column] = 0.0
        race.unmet[column] = m - 1
        if not race.known[column]:
            new += 1
            continue
        remembered = _remembered(race, column, candidates)
        if remembered < least:
            leader, least = column, remembered
    expected = np.zeros(race.total.size)
    pairs = np.empty((2, min((new + 1) * m + FIRST * (m - new), m * (m - 1) // 2)), dtype=np.intp)
    count = 0
    if leader >= 0:
        count = _add_all(race, leader, candidates, number, expected, pairs, count)
    for column in candidates:
        if not race.known[column]:
            count = _add_all(race, column, candidates, number, expected, pairs, count)
        elif column != leader:
            count = _add_partners(race, column, candidates, number, expected, least, FIRST, 0, pairs, count)
    for column in candidates:
        race.known[column] = True
    return pairs[0, :count], pairs[1, :count]


@compiled(nogil=True)
def enter(race: Race, i: Index, j: Index, own: F64, given: F64) -> None:
    for pair in range(i.size):
        a, b = i[pair], j[pair]
        score = (own[b] - own[a]) + (given[pair, 0] - given[pair, 1])
        race.score[a, b], race.score[b, a] = score, -score
        race.given[a, b], race.given[b, a] = given[pair, 0], given[pair, 1]
        race.total[a if score < 0 else b] += score * score
        race.unmet[a] -= 1
        race.unmet[b] -= 1


@compiled(nogil=True)
def choose(race: Race, candidates: Index, number: int, call: int, per_call: int) -> tuple[Index, Index]:
    bound = np.inf
    for column in candidates:
        if race.unmet[column] == 0:
            bound = min(bound, race.total[column])
    bound *= 1.0 + ROUNDING
    alive = 0
    for column in candidates:
        if race.unmet[column] > 0 and race.total[column] <= bound:
            alive += 1
    if not alive:
        return candidates[:0], candidates[:0]
    m = candidates.size
    all_left = call >= len(MOST_AT_ONCE)
    most = m if all_left else min(m, MOST_AT_ONCE[call])
    spare = 1 + per_call // alive
    expected = race.total.copy()
    pairs = np.empty((2, min(alive * most, m * (m - 1) // 2)), dtype=np.intp)
    count = 0
    for column in candidates:
        if race.unmet[column] == 0 or race.total[column] > bound:
            continue
        if all_left:
            count = _add_all(race, column, candidates, number, expected, pairs, count)
        else:
            count = _add_partners(
                race, column, candidates, number, expected, bound, most, spare, pairs, count
            )
    return pairs[0, :count], pairs[1, :count]


@compiled(nogil=True)
def finish(race: Race, candidates: Index) -> tuple[int, float]:
    best, least = -1, np.inf
    for column in candidates:
        if race.unmet[column] == 0:
            total = _remembered(race, column, candidates)
            if total < least:
                best, least = column, total
    next_best = np.inf
    for column in candidates:
        if column != best:
            next_best = min(next_best, race.total[column])
    return best, max(0.0, next_best - least)


ACCOUNTS = Accounts(begin, enter, choose, finish)
