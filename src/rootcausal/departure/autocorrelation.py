"""Rows that follow each other in time tell less than as many that do not."""

from __future__ import annotations

import numpy as np

from ..method.table import F64

# Correlations are added up as long as they are above this, and above what chance does (two standard errors);
# and no further than this share of the rows.
LEAST_CORRELATION = 0.05
FARTHEST = 1.0 / 3.0


def autocorrelation_time(series: F64) -> F64:
    """(m,) how many rows of each column (n, m) tell as much as one: 1 where rows are independent.

    The integrated autocorrelation time 1 + 2 Σ ρ_k, up to the first lag whose correlation may be chance
    (Sokal 1997). NaN are rows of which nothing is known, and count as average ones.
    """
    n = len(series)
    centred = series - np.nanmean(series, axis=0)
    centred = np.where(np.isnan(centred), 0.0, centred)
    variance = (centred * centred).mean(axis=0)
    least = max(LEAST_CORRELATION, 2.0 / np.sqrt(n))
    found, going = np.ones(series.shape[1]), variance > 0.0
    for lag in range(1, int(FARTHEST * n)):
        if not going.any():
            break
        shared = (centred[lag:, going] * centred[:-lag, going]).sum(axis=0) / n / variance[going]
        above = shared > least
        going[going] = above
        found[going] += 2.0 * shared[above]
    return found
