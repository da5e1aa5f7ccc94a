"""Where a measurement and a shock lie in the cohort: kept with the model, so that a page about one new
patient can say it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .core.attribution import CausalModel
from .core.table import F64

# Percent steps of the quantiles, and the rows they are taken from: enough for a percentile on a page
# (standard error 1 %), and next to nothing beside the ordering itself.
STEPS = 101
ROWS_AT_MOST = 2048


@dataclass(frozen=True)
class CohortQuantiles:
    """Quantiles from the least to the greatest, in steps of one percent.

    Attributes
    ----------
    values : (101, k) of the measurements, columns in causal order.
    errors : (101, k) of the shocks, in standard deviations.
    """

    values: F64
    errors: F64

    @classmethod
    def of(cls, X: F64, model: CausalModel) -> CohortQuantiles:
        """Quantiles of the rows of X; of evenly spaced ones where there are very many."""
        rows = np.unique(np.linspace(0, len(X) - 1, min(len(X), ROWS_AT_MOST)).astype(np.intp))
        sample = X[rows]
        return cls(_quantiles(sample[:, model.order]), _quantiles(model.errors(sample)[:, model.order]))


def _quantiles(columns: F64) -> F64:
    # A sort and a look-up: many times faster than np.quantile, which selects for each quantile.
    ranked = np.sort(columns, axis=0)
    place = np.linspace(0, len(columns) - 1, STEPS)
    low = np.floor(place).astype(np.intp)
    high = np.minimum(low + 1, len(columns) - 1)
    share = (place - low)[:, None]
    return ranked[low] * (1.0 - share) + ranked[high] * share
