"""The logistic log-likelihood of labels, with its derivatives, in one compiled pass over the rows."""

from __future__ import annotations

import math

import numpy as np

from ..core.table import F64, Index
from .compiled import compiled
from .power_of_two import FASTMATH

# With more columns, products of matrices are faster.
MOST_COLUMNS_A_LOOP = 40
# Rows whose columns stay in cache for all products of two of them.
ROWS_A_BLOCK = 256


@compiled(fastmath=FASTMATH, nogil=True)
def logit_rows(Z: F64, y: np.ndarray, cols: Index, beta: F64, gradient: F64, hessian: F64) -> float:
    """Add to gradient (k + 1,) and hessian (k + 1, k + 1); the log-likelihood. The intercept is last."""
    n, k = Z.shape[1], cols.size
    loglik = 0.0
    scratch = np.empty((3, ROWS_A_BLOCK))
    for first in range(0, n, ROWS_A_BLOCK):
        size = min(ROWS_A_BLOCK, n - first)
        residual, weight, product = scratch[0, :size], scratch[1, :size], scratch[2, :size]
        residual[:] = beta[k]
        for a in range(k):
            z = Z[cols[a], first : first + size]
            for row in range(size):
                residual[row] += beta[a] * z[row]
        for row in range(size):
            predictor = residual[row]
            small = math.exp(-abs(predictor))
            chance = (1.0 if predictor >= 0.0 else small) / (1.0 + small)
            is_case = y[first + row] == 1
            agrees = predictor if is_case else -predictor
            product[row] = min(agrees, 0.0) - math.log1p(small)
            residual[row] = (1.0 if is_case else 0.0) - chance
            # As the plain twin has it: where a risk is certain to the last digit, nothing of it is left.
            weight[row] = chance * (1.0 - chance)
        # Not term by term: the rounding of many equal terms would pile up.
        loglik += _total(product)
        gradient[k] += _total(residual)
        hessian[k, k] += _total(weight)
        for a in range(k):
            z = Z[cols[a], first : first + size]
            for row in range(size):
                product[row] = weight[row] * z[row]
            gradient[a] += _dot(residual, z)
            hessian[k, a] += _total(product)
            for b in range(a + 1):
                hessian[a, b] += _dot(product, Z[cols[b], first : first + size])
    for a in range(k + 1):
        for b in range(a):
            hessian[b, a] = hessian[a, b]
    return loglik


@compiled(fastmath=FASTMATH, nogil=True)
def _dot(a: F64, b: F64) -> float:
    total = 0.0
    for row in range(a.size):
        total += a[row] * b[row]
    return total


@compiled(fastmath=FASTMATH, nogil=True)
def _total(a: F64) -> float:
    total = 0.0
    for row in range(a.size):
        total += a[row]
    return total
