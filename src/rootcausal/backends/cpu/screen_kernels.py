"""Moments between two rounds of a search, compiled; plain twins are in :mod:`rootcausal.method.moments`."""

from __future__ import annotations

import math

import numpy as np

from ...method.moments import EXHAUSTED, ONE_VALUE, ROWS_PER_CLASS
from ...method.table import F64, Index
from .compiler import compiled


@compiled(nogil=True)
def take_out(correlation: F64, variance: F64, root: int, cols: Index) -> tuple[F64, Index, Index]:
    loading = np.zeros(variance.size)
    loading[root] = math.sqrt(variance[root])
    rest, exhausted = np.empty(cols.size, dtype=cols.dtype), np.empty(cols.size, dtype=cols.dtype)
    n_rest = n_exhausted = 0
    for column in cols:
        if column == root:
            continue
        r = correlation[column]
        loading[column] = r * math.sqrt(variance[column])
        variance[column] *= max(1.0 - r * r, 0.0)
        if variance[column] >= EXHAUSTED:
            rest[n_rest] = column
            n_rest += 1
        else:
            exhausted[n_exhausted] = column
            n_exhausted += 1
    return loading, rest[:n_rest], exhausted[:n_exhausted]


@compiled(nogil=True)
def class_test(
    gram: F64, total: F64, weight: F64, count: F64, root: int, slope: F64, cols: Index, variance: F64
) -> tuple[F64, F64]:
    m = cols.size
    half = np.empty(m)
    for a in range(m):
        half[a] = gram[cols[a], root] - slope[cols[a]] * (0.5 * gram[root, root])
    t, df = np.empty(m), np.empty(m)
    free = count[0] + count[1] - 1.0
    for a in range(m):
        column = cols[a]
        for b in range(m):
            gram[column, cols[b]] -= half[a] * slope[cols[b]] + half[b] * slope[column]
        total[column] -= slope[column] * total[root]
        own = gram[column, column]
        t[a], df[a] = _welch(
            max(count[0], ROWS_PER_CLASS),
            max(count[1], ROWS_PER_CLASS),
            -total[column] / weight[0],
            total[column] / weight[1],
            (free * variance[a] - own) / weight[0],
            own / weight[1],
        )
    return t, df


@compiled(inner=True, nogil=True)
def _welch(
    n_0: float, n_1: float, total_0: float, total_1: float, square_0: float, square_1: float
) -> tuple[float, float]:
    mean_0, mean_1 = total_0 / n_0, total_1 / n_1
    squares_0, squares_1 = (
        max(square_0 - n_0 * mean_0 * mean_0, 0.0),
        max(square_1 - n_1 * mean_1 * mean_1, 0.0),
    )
    error_0, error_1 = squares_0 / (n_0 - 1.0) / n_0, squares_1 / (n_1 - 1.0) / n_1
    spread, difference = error_0 + error_1, mean_1 - mean_0
    if spread == 0.0:
        # No variance within the classes: they are told apart either perfectly or not at all.
        return (0.0 if difference == 0.0 else math.copysign(np.inf, difference)), 1.0
    if squares_0 <= ONE_VALUE * square_0 or squares_1 <= ONE_VALUE * square_1:
        pooled = (squares_0 + squares_1) / max(n_0 + n_1 - 2.0, 1.0) * (1.0 / n_0 + 1.0 / n_1)
        return difference / math.sqrt(pooled), n_0 + n_1 - 2.0
    share_0, share_1 = error_0 / spread, error_1 / spread
    return difference / math.sqrt(spread), 1.0 / (
        share_0 * share_0 / (n_0 - 1.0) + share_1 * share_1 / (n_1 - 1.0)
    )
