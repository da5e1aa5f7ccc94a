"""Logarithms of a column, and back to the unit in which it was measured."""

from __future__ import annotations

import numpy as np

from ..core.table import F64

# A measurement has fewer digits than this, and its logarithm and back keep more: it comes back as it was.
DIGITS = 13
# Beyond, powers of ten that round a number are none of float64.
LARGEST_ROUNDED = 600.0


def logarithms(values: F64) -> F64:
    """The natural logarithms of positive numbers; NaN for all others."""
    return np.log(np.where(values > 0, values, np.nan))


def from_logarithms(logs: F64) -> F64:
    """The numbers of these logarithms, to thirteen digits: 2.5 is 2.5 again, and equal numbers stay equal."""
    with np.errstate(over="ignore"):  # a prediction may be beyond all numbers
        values = np.exp(logs)
    rounded = np.abs(logs) < LARGEST_ROUNDED  # not where there is no number
    digits = DIGITS - 1 - np.floor(logs[rounded] / np.log(10.0))
    # Only powers of ten with a positive exponent are exact.
    up, down = 10.0 ** np.maximum(digits, 0.0), 10.0 ** np.maximum(-digits, 0.0)
    values[rounded] = np.round(values[rounded] * up / down) / up * down
    return values
