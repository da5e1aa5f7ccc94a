"""P-values that were the smallest of many."""

from __future__ import annotations

import numpy as np

from ..core.table import F64


def corrected(p_value: float, n_tests: int) -> float:
    """A p-value that was the smallest of many tests (Šidák)."""
    return float(-np.expm1(n_tests * np.log1p(-min(p_value, 1.0 - 1e-16))))


def smallest_of_many(p_values: F64) -> float:
    """The smallest p-value, corrected for looking at all of them."""
    return corrected(float(p_values.min()), p_values.size) if p_values.size else 1.0
