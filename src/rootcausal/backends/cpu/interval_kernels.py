"""Compiled loops over what resamples say of patients: percentile intervals, frequencies and ranks.

An interval needs a few of the smallest and largest draws, in order, and a rank the number of values that come
before: nothing is sorted. Each patient is settled alone, so the number of threads changes no digit.
"""

from __future__ import annotations

import math

import numpy as np

from ...method.table import F64, Index
from .compiler import compiled

# Cells whose smallest and largest draws stay in cache together.
CELLS_A_TILE = 128
ROOT_HALF = math.sqrt(0.5)


def edges_of(draws: F64, shares: tuple[float, float], out: F64, first: int, last: int) -> None:
    """Quantiles at two ``shares`` over the first axis of draws (b, cells), of the cells first to last.

    They go to ``out`` (2, cells).
    """
    _edges_of(draws, *_cut(shares[0], len(draws)), *_cut(shares[1], len(draws)), out, first, last)


def settle_patients(
    draws: F64,
    rank: Index,
    doubt: F64 | None,
    shares: tuple[float, float],
    ends: F64,
    counted: F64,
    first: int,
    last: int,
) -> None:
    """What draws (b, n, m) say of the patients first to last, whose values have a stated ``rank`` (n, m).

    Parameters
    ----------
    doubt : (n, m) standard deviation of each value; where there is one, a draw counts for the chance that its
        value is above zero.
    ends : (2, n, m) gets the ends of intervals, as :func:`edges_of`.
    counted : (2, n, m) gets the share of draws above zero, and of those among them that rank as stated or
        higher.
    """
    b, n, m = draws.shape
    cuts = (*_cut(shares[0], b), *_cut(shares[1], b))
    doubt = np.empty((0, m)) if doubt is None else doubt
    _edges_of(draws.reshape(b, n * m), *cuts, ends.reshape(2, n * m), first * m, last * m)
    _count(draws, rank, doubt, counted, first, last)


def _cut(share: float, b: int) -> tuple[int, float]:
    """The draw, of b in order, just below a quantile, and which part of the way to the next one it lies."""
    exact = share * (b - 1)
    place = min(int(exact), max(b - 2, 0))
    return place, exact - place


@compiled(nogil=True)
def _between(below: float, above: float, part: float) -> float:
    # From the nearer one, as NumPy does: the last digit is the same.
    if part >= 0.5:
        return above - (above - below) * (1.0 - part)
    return below + (above - below) * part


@compiled(nogil=True)
def _edges_of(
    draws: F64,
    low: int,
    low_part: float,
    high: int,
    high_part: float,
    out: F64,
    first: int,
    last: int,
) -> None:
    b = draws.shape[0]
    n_small, n_large = min(low + 2, b), b - high
    # By size from the first row on; those that the next draw has to beat are side by side in the last.
    small, large = np.empty((n_small, CELLS_A_TILE)), np.empty((n_large, CELLS_A_TILE))
    for start in range(first, last, CELLS_A_TILE):
        size = min(CELLS_A_TILE, last - start)
        small[:] = np.inf
        large[:] = -np.inf
        for j in range(b):
            for c in range(size):
                value = draws[j, start + c]
                if value < small[n_small - 1, c]:
                    at = n_small - 1
                    while at > 0 and small[at - 1, c] > value:
                        small[at, c] = small[at - 1, c]
                        at -= 1
                    small[at, c] = value
                if value > large[n_large - 1, c]:
                    at = n_large - 1
                    while at > 0 and large[at - 1, c] < value:
                        large[at, c] = large[at - 1, c]
                        at -= 1
                    large[at, c] = value
        for c in range(size):
            out[0, start + c] = _between(small[low, c], small[min(low + 1, b - 1), c], low_part)
            out[1, start + c] = _between(large[n_large - 1, c], large[max(n_large - 2, 0), c], high_part)


@compiled(inner=True, nogil=True)
def _ranks_as_high(values: F64, place: int, size: int, rank: int) -> bool:
    """Whether the one at ``place`` is among the first ``rank`` of so many values; ties go to the first."""
    value, larger, no_less = values[place], 0, 0
    for other in range(size):
        larger += 1 if values[other] > value else 0
        no_less += 1 if values[other] >= value else 0
    if no_less <= rank or larger >= rank:
        return no_less <= rank
    for other in range(place):
        larger += 1 if values[other] == value else 0
    return larger < rank


@compiled(inner=True, nogil=True)
def _chance_above_zero(value: float, doubt: float) -> float:
    if doubt > 0.0:
        return 0.5 * math.erfc(-value / doubt * ROOT_HALF)
    return 1.0 if value > 0.0 else 0.0


@compiled(nogil=True)
def _count(draws: F64, rank: Index, doubt: F64, counted: F64, first: int, last: int) -> None:
    b, _, m = draws.shape
    positive, owner = np.empty(m + 1), np.empty(m + 1, dtype=np.intp)
    unsure = doubt.shape[0] > 0
    for i in range(first, last):
        above, as_high = counted[0, i], counted[1, i]
        above[:] = 0.0
        as_high[:] = 0.0
        for j in range(b):
            values = draws[j, i]
            # What ranks before a value above zero is above zero too.
            found = 0
            for c in range(m):
                positive[found] = values[c]
                owner[found] = c
                found += values[c] > 0.0
            for place in range(found):
                c = owner[place]
                chance = _chance_above_zero(positive[place], doubt[i, c]) if unsure else 1.0
                above[c] += chance
                if found <= rank[i, c] or _ranks_as_high(positive, place, found, rank[i, c]):
                    as_high[c] += chance
            if unsure:
                for c in range(m):
                    if values[c] <= 0.0 and doubt[i, c] > 0.0:
                        chance = _chance_above_zero(values[c], doubt[i, c])
                        above[c] += chance
                        if _ranks_as_high(values, c, m, rank[i, c]):
                            as_high[c] += chance
        for c in range(m):
            above[c] /= b
            as_high[c] /= b
