"""The entropy approximation and the pair score C_ij (paper, Section 5.1; Hyvärinen & Smith 2013).

Both are plain arithmetic on sums over rows, and use nothing but operators, so that they serve arrays
of any library that follows NumPy's interface.
"""

from __future__ import annotations

import math
from typing import Any

K1 = 79.047
K2 = 7.4129
GAMMA = 0.37457
GAUSSIAN = 0.5 * (1.0 + math.log(2.0 * math.pi))


def entropy(log_cosh_sum: Any, gauss_sum: Any, n_rows: int) -> Any:
    """H of unit-variance columns from Σ log cosh z and Σ z·exp(−z²/2)."""
    log_cosh = log_cosh_sum / n_rows - GAMMA
    gauss = gauss_sum / n_rows
    return GAUSSIAN - K1 * log_cosh * log_cosh - K2 * gauss * gauss


def pair_score(h_i: Any, h_j: Any, h_i_given_j: Any, h_j_given_i: Any) -> Any:
    """C_ij: above zero when i looks like a cause of j; C_ji = −C_ij."""
    # Grouped so that swapping i and j flips the sign exactly.
    return (h_j - h_i) + (h_i_given_j - h_j_given_i)
