"""How well many columns rank who had the event first: pairs counted by compiled loops.

The plain twin is ``outcomes.survival.concordance``, a column at a time.
"""

from __future__ import annotations

import numpy as np

from ...method.table import F64, Index
from .compiler import compiled, in_threads


def concordances(
    hazards: F64, time: F64, event: F64, start: F64 | None = None, stratum: F64 | None = None
) -> F64:
    """(m,): Harrell's C of each row of hazards (m, n), which are NaN where nothing was measured.

    NaN where no pair can be compared. Of rows that start later, or of strata, fewer can.
    """
    # The last first, and of those at one time who had no event: all before a patient had it later.
    order = np.lexsort((event > 0, -time))
    time, event = time[order], event[order]
    first_of_time = np.searchsorted(-time, -time)
    without = np.append(0, np.cumsum(event <= 0))
    # Whoever has the event comes after all who have none at that time.
    places = np.arange(time.size)
    n_later = first_of_time + without[places] - without[first_of_time]
    had = np.flatnonzero(event > 0)
    counts = np.zeros((len(hazards), 2))
    ordered = np.ascontiguousarray(hazards[:, order])
    starts, strata = (np.zeros(time.size) if of is None else of[order] for of in (start, stratum))

    def work(first: int, last: int) -> None:
        if start is None and stratum is None:
            _count_pairs(ordered, had, n_later, first, last, counts)
        else:
            _count_pairs_at_risk(ordered, had, n_later, time, starts, strata, first, last, counts)

    in_threads(work, len(hazards), len(hazards) * had.size * time.size // 2)
    right, known = counts.T
    found: F64 = np.where(known > 0, right / np.maximum(known, 1.0), np.nan)
    return found


@compiled(nogil=True)
def _count_pairs(hazards: F64, had: Index, n_later: Index, first: int, last: int, out: F64) -> None:
    """Of columns first to last: pairs ranked rightly, ties half, and pairs that can be compared."""
    for column in range(first, last):
        h = hazards[column]
        right, known = 0, 0
        for i in had:
            own = h[i]
            if np.isnan(own):
                continue
            lower, same, there = 0, 0, 0
            for j in range(n_later[i]):
                lower += h[j] < own
                same += h[j] == own
                there += h[j] == h[j]
            right += 2 * lower + same
            known += there
        out[column, 0] = 0.5 * right
        out[column, 1] = known


@compiled(nogil=True)
def _count_pairs_at_risk(
    hazards: F64,
    had: Index,
    n_later: Index,
    time: F64,
    start: F64,
    stratum: F64,
    first: int,
    last: int,
    out: F64,
) -> None:
    """The same of pairs that are both at risk when the event comes, and of one stratum."""
    for column in range(first, last):
        h = hazards[column]
        right, known = 0, 0
        for i in had:
            own = h[i]
            if np.isnan(own):
                continue
            for j in range(n_later[i]):
                if start[j] < time[i] and stratum[j] == stratum[i] and h[j] == h[j]:
                    right += 2 * (h[j] < own) + (h[j] == own)
                    known += 1
        out[column, 0] = 0.5 * right
        out[column, 1] = known
