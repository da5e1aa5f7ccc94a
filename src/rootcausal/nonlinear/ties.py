"""Values that many patients share, spread out: a rounded column has no density, and no entropy."""

from __future__ import annotations

import numpy as np

from ..core.table import F64

# Values that so many patients share are spread: this times the root of their number, and at least
# MOST_BY_CHANCE.
SHARED = 1.0 / 3.0
MOST_BY_CHANCE = 8


def spread_out(z: F64) -> F64:
    """A standardized column whose common values are spread over the room between their neighbours.

    The patients of a value are placed evenly in that room, in an order that has nothing to do with the other
    columns, and is the same each time. Where a common value has close neighbours, as zero has among small
    amounts, the room is as many standard deviations wide as the value is common.
    """
    values, place, count = np.unique(z, return_inverse=True, return_counts=True)
    common = count > max(MOST_BY_CHANCE, SHARED * np.sqrt(z.size))
    if not common.any() or values.size < 2:
        return z
    between = 0.5 * np.diff(values)
    below, above = np.append(between[0], between), np.append(between, between[-1])
    room = np.maximum(below + above, count / z.size)
    left = values - room * below / (below + above)
    shuffled = np.random.default_rng(0).permutation(z.size)
    ranked = shuffled[np.argsort(place[shuffled], kind="stable")]
    starts = np.cumsum(count) - count
    rank = np.empty(z.size)
    rank[ranked] = np.arange(z.size) - starts[place[ranked]]
    inside = left[place] + room[place] * (rank + 0.5) / count[place]
    return np.where(common[place], inside, z)
