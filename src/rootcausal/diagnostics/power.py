"""Power and multiplicity: how large a violation must be to be seen, and the smallest of many p-values."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri, chndtr

from ..method.table import F64
from ..screening.leakage import corrected as corrected

#: The share of cohorts in which it is to be seen.
POWER = 0.9


@cache
def smallest_visible(n_rows: int, freedom: int, n_tests: int, level: float) -> float:
    """The effect √(χ² / n) that a test sees in nine of ten cohorts.

    Parameters
    ----------
    n_rows : patients.
    freedom : degrees of freedom of the chi-square statistic.
    n_tests : of how many tests this is one; p-values are corrected for them.
    level : below which corrected p-value a finding counts.
    """
    if n_rows < 1 or n_tests < 1:
        return float("inf")
    critical = float(chdtri(freedom, -np.expm1(np.log1p(-level) / n_tests)))

    def missed(noncentrality: float) -> float:
        return float(chndtr(critical, freedom, noncentrality)) - (1.0 - POWER)

    return float(np.sqrt(brentq(missed, 0.0, 10.0 * critical + 100.0) / n_rows))


def smallest_of_many(p_values: F64) -> float:
    """The smallest p-value, corrected for looking at all of them."""
    return corrected(float(p_values.min()), p_values.size) if p_values.size else 1.0
