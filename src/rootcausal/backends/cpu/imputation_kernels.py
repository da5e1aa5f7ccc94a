"""Compiled loops that impute row by row: what is expected, its covariance, and draws with keyed noise.

The plain twins are in :mod:`rootcausal.backends.imputation_plain`. Each row is a Cholesky decomposition of as
many equations as it has holes.
"""

from __future__ import annotations

import math

import numpy as np

from ...method.missing.gaussian import JointGaussian
from ...method.missing.noise import FIRST, GOLDEN, HALF, SECOND, U64
from ...method.table import F64, Index
from .. import imputation_plain
from .compiler import compiled

# Sums may be reordered, which vectorizes them.
FASTMATH = {"reassoc", "contract", "nsz"}
STEP, MULTIPLY_1, MULTIPLY_2 = np.uint64(GOLDEN), np.uint64(FIRST), np.uint64(SECOND)
BITS_30, BITS_27, BITS_31, BITS_32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)
LOW_BITS = np.uint64(0xFFFFFFFF)


@compiled(nogil=True, inline="always")
def _scrambled(state: np.uint64) -> np.uint64:
    z = state + STEP
    z = (z ^ (z >> BITS_30)) * MULTIPLY_1
    z = (z ^ (z >> BITS_27)) * MULTIPLY_2
    return z ^ (z >> BITS_31)


@compiled(inner=True, nogil=True)
def _normal(bits: np.uint64) -> float:
    radius = (np.float64(bits >> BITS_32) + 0.5) * HALF
    angle = np.float64(bits & LOW_BITS) * HALF
    return math.sqrt(-2.0 * math.log(radius)) * math.cos(2.0 * math.pi * angle)


@compiled(inner=True, nogil=True, fastmath=FASTMATH)
def _solve_row(z: F64, mean: F64, precision: F64, places: Index, away: F64, L: F64, x: F64) -> int:
    """How many values the row z (d,) lacks: their places, the factor L of Λ_mm = L Lᵀ, and what is expected.

    The last of these is in x; ``away`` (d,) is room for deviations.
    """
    d = z.size
    k = 0
    for j in range(d):
        if math.isnan(z[j]):
            places[k] = j
            k += 1
            away[j] = 0.0
        else:
            away[j] = z[j] - mean[j]
    for a in range(k):
        row = precision[places[a]]
        pull = 0.0
        for j in range(d):
            pull += row[j] * away[j]
        x[a] = -pull
        for b in range(a + 1):
            total = row[places[b]]
            for c in range(b):
                total -= L[a, c] * L[b, c]
            if a == b:
                L[a, a] = math.sqrt(total)
            else:
                L[a, b] = total / L[b, b]
        total = x[a]
        for c in range(a):
            total -= L[a, c] * x[c]
        x[a] = total / L[a, a]
    _solve_upper(L, x, k)
    for a in range(k):
        x[a] += mean[places[a]]
    return k


@compiled(inner=True, nogil=True)
def _solve_upper(L: F64, x: F64, k: int) -> None:
    """Lᵀ x = x, in place."""
    for a in range(k - 1, -1, -1):
        x[a] /= L[a, a]
        for b in range(a):
            x[b] -= L[a, b] * x[a]


@compiled(nogil=True, fastmath=FASTMATH)
def _expect_rows(Z: F64, weight: F64, mean: F64, precision: F64, product: F64, unknown: F64) -> None:
    n, d = Z.shape
    places = np.empty(d, dtype=np.intp)
    away = np.empty(d)
    x = np.empty(d)
    L = np.empty((d, d))
    inverse = np.empty((d, d))
    for r in range(n):
        k = _solve_row(Z[r], mean, precision, places, away, L, x)
        for a in range(k):
            Z[r, places[a]] = x[a]
        # Rows of ``inverse`` are the columns of L⁻¹, so that the products below run along memory.
        for a in range(k):
            inverse[a, a] = 1.0 / L[a, a]
            for b in range(a + 1, k):
                total = 0.0
                for c in range(a, b):
                    total += L[b, c] * inverse[a, c]
                inverse[a, b] = -total / L[b, b]
        for a in range(k):
            for b in range(a + 1):
                total = 0.0
                for c in range(a, k):
                    total += inverse[a, c] * inverse[b, c]
                total *= weight[r]
                product[places[a], places[b]] += total
                if a == b:
                    unknown[places[a]] += total
                else:
                    product[places[b], places[a]] += total


@compiled(nogil=True)
def _draw_rows(Z: F64, mean: F64, precision: F64, state: np.uint64, keys: U64, ids: Index, out: F64) -> None:
    n, d = Z.shape
    draws, m = out.shape[1], out.shape[2]
    places = np.empty(d, dtype=np.intp)
    away = np.empty(d)
    x = np.empty(d)
    noise = np.empty(d)
    L = np.empty((d, d))
    for r in range(n):
        k = _solve_row(Z[r], mean, precision, places, away, L, x)
        of_row = _scrambled(state + keys[r])
        for draw in range(draws):
            of_draw = _scrambled(of_row + np.uint64(draw))
            for a in range(k):
                noise[a] = _normal(_scrambled(of_draw + np.uint64(ids[places[a]])))
            _solve_upper(L, noise, k)
            for j in range(m):
                out[r, draw, j] = Z[r, j]
            for a in range(k):
                out[r, draw, places[a]] = x[a] + noise[a]


def expect_rows(Z: F64, weight: F64, joint: JointGaussian, product: F64, unknown: F64) -> None:
    """:func:`rootcausal.backends.imputation_plain.expect_rows`, compiled; but for limits."""
    if joint.limits is not None:
        imputation_plain.expect_rows(Z, weight, joint, product, unknown)
        return
    _expect_rows(Z, weight, joint.mean, joint.precision, product, unknown)


def draw_rows(Z: F64, joint: JointGaussian, state: np.uint64, keys: U64, ids: Index, out: F64) -> None:
    """:func:`rootcausal.backends.imputation_plain.draw_rows`, compiled; but for limits."""
    if joint.limits is not None:
        imputation_plain.draw_rows(Z, joint, state, keys, ids, out)
        return
    _draw_rows(Z, joint.mean, joint.precision, state, keys, ids, out)
