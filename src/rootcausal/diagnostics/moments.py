"""Dependence of many pairs of errors at once, by five moments that regression leaves as they are.

Regression makes errors uncorrelated whatever is wrong. But a hidden cause, a bend or a wrong direction leaves
its mark elsewhere: one error is large, or high, where the other is. Three functions of each error e stand for
that: e itself, its size log cosh e, and tanh e, which tells a long tail from a broad middle; each made
orthogonal to those before it. For an earlier error a and a later one b the moments are those of

    a with the size of b,   the size of a with b,   both sizes,   a with tanh b,   tanh a with b.

Each is divided by its own standard error, E[a² b²] rather than E[a²] E[b²], so that a few patients in long
tails cannot speak for all: the level holds for lognormal errors and for Student's t with two degrees of
freedom. All pairs come out of a few products of matrices, in time linear in rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from ..method.table import F64, Index
from .evidence import standardized
from .ranks import in_blocks

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
        return chdtrc(len(MOMENTS), (self.z**2).sum(axis=1))

    @property
    def strength(self) -> F64:
        """(m,) √(χ² / n)."""
        return np.sqrt((self.z**2).sum(axis=1) / self.n_rows)


def moments_of(errors: F64, pairs: Index) -> Moments:
    """Moments of pairs (m, 2) of errors (n, k), the earlier one of each first."""
    n = errors.shape[0]
    functions, slope = functions_of(errors)
    rows = functions.transpose(2, 1, 0)  # as they lie in memory
    product = _products(rows)
    np.multiply(rows, rows, out=rows)
    spread = _products(rows) | {(0, 0): rows[0] @ rows[0].T / n}
    one, other = pairs.T
    correlation, z = np.zeros((2, len(pairs), len(MOMENTS)))
    for place, (earlier, later) in enumerate(MOMENTS):
        found, variance = (_between(some, earlier, later)[one, other] for some in (product, spread))
        if earlier == 0:
            # The later error is what an estimated slope left, and its functions move with that slope.
            variance = variance + slope[other, later] ** 2 * spread[0, 0][one, other]
        correlation[:, place] = found
        z[:, place] = found * np.sqrt(n / np.maximum(variance, NOTHING_NEW))
    return Moments(correlation, z, n)


def _products(rows: F64) -> dict[tuple[int, int], F64]:
    """Mean products (k, k) of the functions (3, k, n) that moments are made of, each pair of them once."""
    n = rows.shape[2]
    return {(a, b): rows[a] @ rows[b].T / n for a, b in MOMENTS if a <= b}


def _between(products: dict[tuple[int, int], F64], earlier: int, later: int) -> F64:
    """(k, k) of one function of each error with another of each."""
    return products[earlier, later] if earlier <= later else products[later, earlier].T


def functions_of(errors: F64) -> tuple[F64, F64]:
    """(n, k, 3) orthonormal functions of each error, and (k, 3) their mean slopes.

    In memory the values of one function of one error lie side by side.
    """
    n, k = errors.shape
    functions, slope = np.zeros((FUNCTIONS, k, n)), np.zeros((k, FUNCTIONS))

    def work(some: slice) -> None:
        _fill(errors[:, some].T, functions[:, some], slope[some])

    in_blocks(work, k, n)
    return functions.transpose(2, 1, 0), slope


def _fill(errors: F64, functions: F64, slope: F64) -> None:
    """The functions (3, k, n) of errors (k, n), and slopes (k, 3)."""
    k, n = errors.shape
    e = standardized(np.ascontiguousarray(errors).T).T
    # log cosh e and tanh e are made of |e| and exp −2|e|.
    size = np.abs(e)
    small = np.exp(-2.0 * size)
    tanh = np.copysign((1.0 - small) / (1.0 + small), e)
    size += np.log(1.0 + small)
    raw = ((e, np.ones(k)), (size, tanh.mean(axis=1)), (tanh, 1.0 - np.einsum("kn,kn->k", tanh, tanh) / n))
    for place, (values, rises) in enumerate(raw):
        values -= values.mean(axis=1, keepdims=True)
        for lower in range(place):
            shared = np.einsum("kn,kn->k", values, functions[lower]) / n
            values -= shared[:, None] * functions[lower]
            rises = rises - shared * slope[:, lower]
        sd = values.std(axis=1)
        new = sd > NOTHING_NEW
        per_sd = np.where(new, 1.0 / np.where(new, sd, 1.0), 0.0)
        np.multiply(values, per_sd[:, None], out=functions[place])
        slope[:, place] = rises * per_sd
