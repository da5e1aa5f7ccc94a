"""The logistic log-likelihood of labels, with its derivatives, in one compiled pass over the rows."""

from __future__ import annotations

import math

import numpy as np

from ...method.table import F64, Index, LossSums
from .compiler import compiled
from .power_of_two import FASTMATH

# With more columns, a product of matrices is faster.
MOST_COLUMNS_A_LOOP = 40
# Rows whose columns stay in cache, for products of columns and for products of matrices.
ROWS_A_LOOP = 256
ROWS_A_PRODUCT = 1024


def logit_sums(Z: F64, y: np.ndarray, cols: Index, beta: F64) -> LossSums:
    """Of labels y (n,) in the columns Z (m, n) at ``cols`` (k,); the intercept is last in beta."""
    n, k = Z.shape[1], cols.size
    gradient, hessian = np.zeros(k + 1), np.zeros((k + 1, k + 1))
    if k <= MOST_COLUMNS_A_LOOP:
        return LossSums(_loop(Z, y, cols, beta, gradient, hessian), gradient, hessian)
    loglik = 0.0
    weighted = np.empty((k + 1, ROWS_A_PRODUCT))
    for first in range(0, n, ROWS_A_PRODUCT):
        last = min(first + ROWS_A_PRODUCT, n)
        loglik += _rows(Z, y, cols, beta, first, last, gradient, weighted)
        part = weighted[:, : last - first]
        # Of a matrix and itself, BLAS makes only half of the product.
        hessian += part @ part.T
    return LossSums(loglik, gradient, hessian)


@compiled(fastmath=FASTMATH, nogil=True)
def _loop(Z: F64, y: np.ndarray, cols: Index, beta: F64, gradient: F64, hessian: F64) -> float:
    """The log-likelihood of all rows; its derivatives are written to gradient and hessian, zero before."""
    n, k = Z.shape[1], cols.size
    loglik = 0.0
    weighted = np.empty((k + 1, ROWS_A_LOOP))
    for first in range(0, n, ROWS_A_LOOP):
        last = min(first + ROWS_A_LOOP, n)
        loglik += _rows(Z, y, cols, beta, first, last, gradient, weighted)
        for a in range(k + 1):
            for b in range(a + 1):
                hessian[a, b] += _dot(weighted[a, : last - first], weighted[b, : last - first])
    for a in range(k + 1):
        for b in range(a):
            hessian[b, a] = hessian[a, b]
    return loglik


@compiled(fastmath=FASTMATH, nogil=True)
def _rows(
    Z: F64, y: np.ndarray, cols: Index, beta: F64, first: int, last: int, gradient: F64, weighted: F64
) -> float:
    """Log-likelihood of the rows first..last−1; adds to the gradient.

    ``weighted`` (k + 1, m) gets their columns, and ones, times the root of each row's curvature.
    """
    k, size = cols.size, last - first
    predictor, residual, root = np.empty(size), np.empty(size), weighted[k]
    for row in range(size):
        predictor[row] = beta[k]
    for a in range(k):
        z = Z[cols[a], first:last]
        for row in range(size):
            predictor[row] += beta[a] * z[row]
    for row in range(size):
        eta = predictor[row]
        small = math.exp(-abs(eta))
        chance = (1.0 if eta >= 0.0 else small) / (1.0 + small)
        is_case = y[first + row] == 1
        residual[row] = (1.0 if is_case else 0.0) - chance
        # As the plain twin has it: where a risk is certain to the last digit, nothing of it is left.
        root[row] = math.sqrt(chance * (1.0 - chance))
        predictor[row] = min(eta if is_case else -eta, 0.0) - math.log1p(small)
    gradient[k] += _total(residual)
    for a in range(k):
        z = Z[cols[a], first:last]
        gradient[a] += _dot(residual, z)
        for row in range(size):
            weighted[a, row] = root[row] * z[row]
    # Not term by term above: the rounding of many equal terms would pile up.
    return _total(predictor)


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def _dot(a: F64, b: F64) -> float:
    total = 0.0
    for row in range(a.size):
        total += a[row] * b[row]
    return total


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def _total(a: F64) -> float:
    total = 0.0
    for row in range(a.size):
        total += a[row]
    return total
