"""Entropy of a column by distances between ranked values (m-spacings; Vasicek 1976), from a histogram.

The bins are narrow beside those distances, so that a histogram tells what a sort would; and histograms of
parts of the rows can be added. Where Hyvärinen's approximation of the linear method sees two moments, this
sees the whole distribution: by it bent relations show their direction.
"""

from __future__ import annotations

import numpy as np

from ..core.table import F64, Index

BINS = 2048
# Values v are counted by v / (STRETCH + |v|), between -1 and 1: fine near the middle, and no tail is cut off.
STRETCH = 3.0
# Ranks to either side, as a share of the root of the number of rows.
SPACING = 1.0 / 1.5


def bin_of(v: F64) -> Index:
    """(n,) the bin of each value, of about unit variance."""
    place = (v / (STRETCH + np.abs(v)) + 1.0) * (0.5 * BINS)
    return np.minimum(place.astype(np.intp), BINS - 1)


def bin_edges() -> F64:
    """(BINS + 1,) values between the bins; the outermost two stand for half a bin of what lies beyond."""
    share = np.linspace(-1.0, 1.0, BINS + 1)
    share[0], share[-1] = -1.0 + 0.5 / BINS, 1.0 - 0.5 / BINS
    return STRETCH * share / (1.0 - np.abs(share))


def spacing_entropy(histogram: F64, n_rows: float) -> float:
    """Differential entropy (nats) of what a histogram (BINS,) counts, which weighs as much as ``n_rows``.

    The density at a value is the share of rows within m ranks of it, over the distance between the first and
    the last of them, m being about the root of the rows; near the ends of the column fewer ranks are there.
    """
    filled = np.flatnonzero(histogram > 0)
    count = histogram[filled]
    below = np.cumsum(count)
    total, reach = below[-1], SPACING * np.sqrt(n_rows) * below[-1] / n_rows
    middle = below - 0.5 * count
    low, high = np.maximum(middle - reach, 0.0), np.minimum(middle + reach, total)
    width = _values_at(high, filled, count, below) - _values_at(low, filled, count, below)
    return float((count * np.log(width * total / (high - low))).sum() / total)


def _values_at(ranks: F64, filled: Index, count: F64, below: F64) -> F64:
    """Values at these ranks, between the edges of the first filled bin that reaches so far."""
    edges = bin_edges()
    at = np.minimum(np.searchsorted(below, ranks), filled.size - 1)
    inside = np.clip((ranks - (below[at] - count[at])) / count[at], 0.0, 1.0)
    left = edges[filled[at]]
    return left + (edges[filled[at] + 1] - left) * inside
