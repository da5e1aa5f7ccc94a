"""Dependence of many pairs of errors at once, by five moments that regression leaves as they are.

Regression makes errors uncorrelated whatever is wrong. But a hidden cause, a bend or a wrong direction leaves
its mark elsewhere: one error is large, or high, where the other is. Three functions of each error e stand for
that: e itself, its size log cosh e, and tanh e, which tells a long tail from a broad middle; each made
orthogonal to those before it. For an earlier error a and a later one b the moments are those of

    a with the size of b,   the size of a with b,   both sizes,   a with tanh b,   tanh a with b.

Each is divided by its own standard error, E[a² b²] rather than E[a²] E[b²], so that a few patients in long
tails cannot speak for all: the level holds for lognormal errors and for Student's t with two degrees of
freedom. All pairs come out of two Gram matrices, in time linear in rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from ..core.table import F64, Index
from .evidence import standardized

# Functions of the earlier and of the later error: 0 the error itself, 1 its size, 2 its tanh.
MOMENTS = ((0, 1), (1, 0), (1, 1), (0, 2), (2, 0))
FUNCTIONS = 3
# A column of two values has no size of its own.
NOTHING_NEW = 1e-6


@dataclass(frozen=True)
class Moments:
    """Moments of pairs of errors.

    Attributes
    ----------
    correlation : (m, 5) of the two functions of each of MOMENTS.
    z : (m, 5) the same in standard errors.
    n_rows : patients.
    """

    correlation: F64
    z: F64
    n_rows: int

    @property
    def p_values(self) -> F64:
        """(m,) of independence."""
        return chi2.sf((self.z**2).sum(axis=1), len(MOMENTS))

    @property
    def strength(self) -> F64:
        """(m,) √(χ² / n)."""
        return np.sqrt((self.z**2).sum(axis=1) / self.n_rows)


def moments_of(errors: F64, pairs: Index) -> Moments:
    """Moments of pairs (m, 2) of errors (n, k), the earlier one of each first."""
    n, k = errors.shape
    functions, slope = functions_of(errors)
    flat = functions.reshape(n, k * FUNCTIONS)
    squares = flat * flat
    product, spread = flat.T @ flat / n, squares.T @ squares / n
    correlation, z = np.zeros((2, len(pairs), len(MOMENTS)))
    for place, (earlier, later) in enumerate(MOMENTS):
        i, j = pairs[:, 0] * FUNCTIONS + earlier, pairs[:, 1] * FUNCTIONS + later
        variance = spread[i, j]
        if earlier == 0:
            # The later error is what an estimated slope left, and its functions move with that slope.
            variance = variance + slope[pairs[:, 1], later] ** 2 * spread[i, pairs[:, 1] * FUNCTIONS]
        correlation[:, place] = product[i, j]
        z[:, place] = product[i, j] * np.sqrt(n / np.maximum(variance, NOTHING_NEW))
    return Moments(correlation, z, n)


def functions_of(errors: F64) -> tuple[F64, F64]:
    """(n, k, 3) orthonormal functions of each error, and (k, 3) their mean slopes."""
    n, k = errors.shape
    e = standardized(errors)
    size, tanh = np.abs(e) + np.log1p(np.exp(-2.0 * np.abs(e))), np.tanh(e)
    raw = ((e, np.ones(k)), (size, tanh.mean(axis=0)), (tanh, 1.0 - (tanh * tanh).mean(axis=0)))
    functions, slope = np.zeros((n, k, FUNCTIONS)), np.zeros((k, FUNCTIONS))
    for place, (values, rises) in enumerate(raw):
        values = values - values.mean(axis=0)
        for lower in range(place):
            shared = (values * functions[:, :, lower]).mean(axis=0)
            values, rises = values - shared * functions[:, :, lower], rises - shared * slope[:, lower]
        sd = values.std(axis=0)
        new = sd > NOTHING_NEW
        functions[:, :, place] = np.where(new, values / np.where(new, sd, 1.0), 0.0)
        slope[:, place] = np.where(new, rises / np.where(new, sd, 1.0), 0.0)
    return functions, slope
