"""P-values that were the smallest of many."""

from __future__ import annotations

from ..core.table import F64
from ..screening.leakage import corrected as corrected


def smallest_of_many(p_values: F64) -> float:
    """The smallest p-value, corrected for looking at all of them."""
    return corrected(float(p_values.min()), p_values.size) if p_values.size else 1.0
