"""The test between two rounds of a search, compiled; its plain twin is in :mod:`rootcausal.core.moments`."""

from __future__ import annotations

import math

import numpy as np

from ..core.moments import ONE_VALUE, ROWS_PER_CLASS
from ..core.table import F64
from .compiled import compiled


@compiled(nogil=True)
def welch_test(values: F64, total: F64, square: F64) -> tuple[F64, F64]:
    p = total.shape[1]
    t, df = np.empty(p), np.empty(p)
    for column in range(p):
        place = column if values.shape[1] > 1 else 0
        n_0, n_1 = max(values[0, place], ROWS_PER_CLASS), max(values[1, place], ROWS_PER_CLASS)
        mean_0, mean_1 = total[0, column] / n_0, total[1, column] / n_1
        squares_0 = max(square[0, column] - n_0 * mean_0 * mean_0, 0.0)
        squares_1 = max(square[1, column] - n_1 * mean_1 * mean_1, 0.0)
        error_0, error_1 = squares_0 / (n_0 - 1.0) / n_0, squares_1 / (n_1 - 1.0) / n_1
        spread, difference = error_0 + error_1, mean_1 - mean_0
        if spread == 0.0:
            # No variance within the classes: they are told apart either perfectly or not at all.
            t[column], df[column] = (0.0 if difference == 0.0 else math.copysign(np.inf, difference)), 1.0
        elif squares_0 <= ONE_VALUE * square[0, column] or squares_1 <= ONE_VALUE * square[1, column]:
            pooled = (squares_0 + squares_1) / max(n_0 + n_1 - 2.0, 1.0) * (1.0 / n_0 + 1.0 / n_1)
            t[column], df[column] = difference / math.sqrt(pooled), n_0 + n_1 - 2.0
        else:
            share_0, share_1 = error_0 / spread, error_1 / spread
            t[column] = difference / math.sqrt(spread)
            df[column] = 1.0 / (share_0 * share_0 / (n_0 - 1.0) + share_1 * share_1 / (n_1 - 1.0))
    return t, df
