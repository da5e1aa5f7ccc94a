"""Values that many patients share, spread out: a rounded column has no density, and no entropy.

Readings are rounded, and some numbers are read more often than others (heaping): 70, 75 and 80 beats a
minute, and hardly ever 77. No cause explains that, and what is left of such a column once its causes are
known has no heaps: it would seem to be more surprising than the column itself.
"""

from __future__ import annotations

import numpy as np

from ..method.table import F64, Index

# Values that so many patients share are spread: this times the root of their number, at least MOST_BY_CHANCE.
SHARED = 1.0 / 3.0
MOST_BY_CHANCE = 8
# Standard deviations over which it is looked how common values are around a common one, and points in each.
SMOOTH_OVER = 0.2
POINTS_A_STEP = 8
MOST_POINTS = 1 << 16


def spread_out(z: F64) -> F64:
    """A standardized column whose common values are spread until they are no more common than those around.

    They fill at least the room between their neighbours. The patients of a value are placed evenly in it, in
    an order that has nothing to do with the other columns, and is the same each time.
    """
    values, place, count = np.unique(z, return_inverse=True, return_counts=True)
    common = count > max(MOST_BY_CHANCE, SHARED * np.sqrt(z.size))
    if not common.any() or values.size < 2:
        return z
    between = 0.5 * np.diff(values)
    below, above = np.append(between[0], between), np.append(between, between[-1])
    room = np.maximum(below + above, count / z.size / _density(values, count))
    left = values - room * below / (below + above)
    shuffled = np.random.default_rng(0).permutation(z.size)
    ranked = shuffled[np.argsort(place[shuffled], kind="stable")]
    starts = np.cumsum(count) - count
    rank = np.empty(z.size)
    rank[ranked] = np.arange(z.size) - starts[place[ranked]]
    inside = left[place] + room[place] * (rank + 0.5) / count[place]
    return np.where(common[place], inside, z)


def _density(values: F64, count: Index) -> F64:
    """(u,) how common values are around each of these, by a bell-shaped window."""
    low, high = values[0] - 4.0 * SMOOTH_OVER, values[-1] + 4.0 * SMOOTH_OVER
    # A column with one wild value has fewer points to the step.
    points = int(min(MOST_POINTS, max(64.0, POINTS_A_STEP * (high - low) / SMOOTH_OVER)))
    counts, edges = np.histogram(values, points, (low, high), weights=count.astype(np.float64))
    step = edges[1] - edges[0]
    reach = max(1, round(4.0 * SMOOTH_OVER / step))
    window = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / SMOOTH_OVER) ** 2)
    smooth = np.convolve(counts, window / window.sum(), mode="same") / (count.sum() * step)
    middle = 0.5 * (edges[1:] + edges[:-1])
    return np.maximum(np.interp(values, middle, smooth), 1e-12)
