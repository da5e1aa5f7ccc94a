"""Quantiles of rows that may weigh differently, by counts: those of parts of a cohort can be found together.

At the share s, of n rows, lies the value of rank s (n - 1), the least value having rank 0, and between two
ranks a part of the way from one value to the other. A row of k times the mean weight has k ranks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..method.table import F64

# Weights that are added in another order differ by less than this.
ROUNDING = 1e-9
# Between how many values it is looked, each time, where a rank lies among the rows of several places.
VALUES_A_LOOK = 64
SIGN = np.uint64(1 << 63)


def ranks_of(shares: F64, n: int) -> tuple[F64, F64, F64]:
    """Ranks below and above each quantile (s,), and which part of the way it lies from one to the other."""
    place = shares * (n - 1.0)
    low = np.floor(place + ROUNDING)
    return low, np.minimum(low + 1.0, n - 1.0), np.maximum(place - low, 0.0)


def between(low: F64, high: F64, part: F64) -> F64:
    """Between two equal values lies that value, to the last bit."""
    return np.where(low == high, low, low * (1.0 - part) + high * part)


def quantiles_of(z: F64, weights: F64, shares: F64) -> F64:
    """(s,) of one column."""
    low, high, part = ranks_of(shares, z.size)
    if (weights == weights[0]).all():
        at = np.concatenate([low, high]).astype(np.intp)
        ranked = np.partition(z, np.unique(at))[at]
    else:
        order = np.argsort(z, kind="stable")
        below = np.cumsum(weights[order] * (z.size / weights.sum()))
        # The first whose rows end after the rank.
        at = np.searchsorted(below, np.concatenate([low, high]) + ROUNDING, side="right")
        ranked = z[order][np.minimum(at, z.size - 1)]
    return between(ranked[: low.size], ranked[low.size :], part)


def quantiles_by_counts(counts: Callable[[F64], F64], ends: F64, shares: F64, n: int, weight: float) -> F64:
    """(k, s) quantiles of k columns of n rows, from what is at or below some values.

    ``counts`` takes values (k, m), and gives the weight (k, m) of the rows that are not above them; all weigh
    ``weight``. ``ends`` (k, 2) are the least and the greatest value of each column.
    """
    low, high, part = ranks_of(shares, n)
    ranks = np.concatenate([low, high])
    unique, place = np.unique(ranks, return_inverse=True)
    # The value lies after ``first`` and not after ``last``, as whole numbers in the order of floats.
    first = np.repeat(_keys(ends[:, 0])[:, None], unique.size, axis=1) - np.uint64(1)
    last = np.repeat(_keys(ends[:, 1])[:, None], unique.size, axis=1)
    per_row = n / weight
    steps = np.arange(1, VALUES_A_LOOK, dtype=np.uint64)
    while (last - first > np.uint64(1)).any():
        apart = (last - first) // np.uint64(VALUES_A_LOOK)
        edges = first[:, :, None] + np.maximum(apart, np.uint64(1))[:, :, None] * steps
        edges = np.minimum(edges, last[:, :, None])
        found = counts(_values(edges).reshape(len(ends), -1)).reshape(edges.shape) * per_row
        reached = found > unique[:, None] + ROUNDING
        # The first edge that reaches the rank; the last one, if none does.
        at = np.where(reached.any(axis=2), reached.argmax(axis=2), steps.size)
        ends_of = np.concatenate([first[:, :, None], edges, last[:, :, None]], axis=2)
        first = np.take_along_axis(ends_of, at[:, :, None], axis=2)[:, :, 0]
        last = np.take_along_axis(ends_of, at[:, :, None] + 1, axis=2)[:, :, 0]
    values = _values(last)[:, place]
    return between(values[:, : low.size], values[:, low.size :], part)


def _keys(values: F64) -> np.ndarray:
    """Whole numbers in the same order as floats; both zeros are one."""
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)
    return np.where(bits & SIGN, ~bits, bits | SIGN)


def _values(keys: np.ndarray) -> F64:
    bits = np.where(keys & SIGN, keys & ~SIGN, ~keys)
    return np.ascontiguousarray(bits).view(np.float64)
