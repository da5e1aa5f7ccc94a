"""Newton directions of logistic lassos, for AdaptiveLogistic: many weighted lassos in one compiled call.

Each lasso is solved on its Gram matrix by coordinate descent. Where a sweep leaves all signs as they were,
the minimum among coefficients of these signs is a linear system: the descent steps to it, or as far as the
first coefficient that becomes zero on the way. Nearly collinear columns, for which plain descent takes
thousands of sweeps, so take a few.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..backends.cpu.compiler import compiled
from ..method.table import F64

Bools = NDArray[np.bool_]

# A solve may stop short where columns are collinear: the next Newton step takes it further.
MOST_SWEEPS = 1000
# Largest violation of the optimality conditions that ends a solve, relative to the penalty.
TOLERANCE = 1e-9
# A column of which others explain all but this share of the variance has no coefficient of its own.
COLLINEAR = 1e-13


@compiled(nogil=True)
def newton_directions(
    columns: F64, residual: F64, weight: F64, coef: F64, working: Bools, penalty: F64
) -> tuple[F64, F64]:
    """Changes (F, p) of coefficients and (F,) of intercepts to the minima of F quadratic expansions.

    Parameters
    ----------
    columns : (p, n); residual, weight : (F, n), zero for rows outside a fit.
    coef : (F, p) where the fits stand; working : (F, p) the columns that may move.
    penalty : (F,) of the sum of absolute coefficients, for losses that are sums over rows.
    """
    fits, n = residual.shape
    change = np.zeros(coef.shape)
    shift = np.empty(fits)
    scaled_columns = np.empty(columns.shape)
    pearson = np.empty(n)
    for fit in range(fits):
        root = np.sqrt(weight[fit])
        total = weight[fit].sum()
        for row in range(n):
            pearson[row] = residual[fit, row] / root[row] if root[row] > 0.0 else 0.0
        shift[fit] = residual[fit].sum() / total
        moving = np.flatnonzero(working[fit])
        scaled = scaled_columns[: moving.size]
        # The intercept is free: what the columns and it have in common is projected out.
        centre = np.empty(moving.size)
        for k in range(moving.size):
            column = columns[moving[k]]
            centre[k] = np.dot(column, weight[fit]) / total
            for row in range(n):
                scaled[k, row] = (column[row] - centre[k]) * root[row]
        gram = np.dot(scaled, scaled.T)
        start = coef[fit][moving]
        found = _lasso(gram, np.dot(scaled, pearson) + np.dot(gram, start), penalty[fit], start)
        for k in range(moving.size):
            change[fit, moving[k]] = found[k] - start[k]
            shift[fit] -= centre[k] * change[fit, moving[k]]
    return change, shift


@compiled(inner=True, nogil=True)
def _lasso(gram: F64, slope: F64, penalty: float, start: F64) -> F64:
    """(k,) minimising wᵀ gram w / 2 − slopeᵀ w + penalty · Σ|w|."""
    size = slope.size
    w = start.copy()
    gradient = slope - np.dot(gram, w)
    for _ in range(MOST_SWEEPS):
        settled = True
        for j in range(size):
            if gram[j, j] <= 0.0:
                continue
            free = gradient[j] + gram[j, j] * w[j]
            value = math.copysign(max(abs(free) - penalty, 0.0), free) / gram[j, j]
            if value != w[j]:
                settled &= (value > 0.0) == (w[j] > 0.0) and (value < 0.0) == (w[j] < 0.0)
                moved = value - w[j]
                w[j] = value
                for i in range(size):
                    gradient[i] -= moved * gram[j, i]
        if settled:
            _step_within_signs(gram, slope, penalty, w)
            gradient = slope - np.dot(gram, w)
        worst = 0.0
        for j in range(size):
            if w[j] == 0.0:
                worst = max(worst, abs(gradient[j]) - penalty)
            else:
                worst = max(worst, abs(gradient[j] - math.copysign(penalty, w[j])))
        if worst <= TOLERANCE * penalty:
            break
    return w


@compiled(inner=True, nogil=True)
def _step_within_signs(gram: F64, slope: F64, penalty: float, w: F64) -> None:
    """Move the nonzero entries of w to their minimum, or until the first of them is zero.

    Where columns are collinear, only their coefficients move, to a smaller sum of the same predictions.
    """
    held = np.flatnonzero(w)
    root = np.zeros((held.size, held.size))  # Cholesky's
    way = np.zeros(held.size)
    rank = 0
    while rank < held.size:
        own = gram[held[rank], held[rank]]
        left = own
        for b in range(rank):
            value = gram[held[rank], held[b]]
            for c in range(b):
                value -= root[rank, c] * root[b, c]
            root[rank, b] = value / root[b, b]
            left -= root[rank, b] ** 2
        if left <= COLLINEAR * own:
            break
        root[rank, rank] = math.sqrt(left)
        rank += 1
    furthest = 1.0
    if rank == held.size:
        for a in range(rank):
            way[a] = slope[held[a]] - math.copysign(penalty, w[held[a]])
            for c in range(rank):
                way[a] -= gram[held[a], held[c]] * w[held[c]]
            for c in range(a):
                way[a] -= root[a, c] * way[c]
            way[a] /= root[a, a]
    else:
        furthest = np.inf
        way[:rank] = root[rank, :rank]
    for a in range(rank - 1, -1, -1):
        for c in range(a + 1, rank):
            way[a] -= root[c, a] * way[c]
        way[a] /= root[a, a]
    if rank < held.size:
        way[rank] = -1.0
        growth = 0.0
        for a in range(rank + 1):
            growth += math.copysign(way[a], way[a] * w[held[a]])
        if growth > 0.0:
            way = -way
    first = -1
    for a in range(held.size):
        if way[a] * w[held[a]] < 0.0 and -w[held[a]] / way[a] < furthest:
            furthest, first = -w[held[a]] / way[a], a
    if math.isinf(furthest):
        return
    for a in range(held.size):
        w[held[a]] += furthest * way[a]
    if first >= 0:
        w[held[first]] = 0.0
