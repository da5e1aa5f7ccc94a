"""The sums of discrete columns in compiled loops; plain twins are in ``reference.py`` and ``level_rows.py``.

With t = exp(−|u|), the logistic function is F(u) = 1 / (1 + t) above zero and t / (1 + t) below, its
derivative t / (1 + t)², and log F(u) = min(u, 0) − log(1 + t): a block of rows takes one logarithm, of a
product.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...method.table import F64, LARGEST_PREDICTOR, Index, LevelSums
from ..blas import one_blas_thread
from ..level_rows import LevelRows
from .compiler import compiled
from .power_of_two import FASTMATH, LOG2_E, SMALLEST_POWER, power_of_two
from .threads import in_threads

# Two factors a row, of at most two each.
ROWS_A_PRODUCT = 256
MOST_ROWS_A_CHUNK = 8192
ROWS_A_MATRIX_PRODUCT = 1024
# Rows are summed in at most so many spans, whose sums have at most so many values.
SPANS = 16
VALUES_OF_SUMS = 1 << 22
# What else a processor does in the time of a residual, in multiplications of a matrix product.
FLOPS_A_RESIDUAL = 8


@dataclass(frozen=True)
class CompiledLevelRows(LevelRows):
    """The same state; a unit of work is one span of rows, or one pair and one chunk of rows."""

    def sums(self, xp: Any, Z: F64, discrete: Index, cols: Index) -> LevelSums:
        n, d, m = Z.shape[1], discrete.size, cols.size
        places = self._places(discrete)
        # Always the same spans of rows, added in one order: no sum depends on the number of threads.
        spans = max(1, min(SPANS, n // ROWS_A_MATRIX_PRODUCT, VALUES_OF_SUMS // max(1, 3 * d * m)))
        alone, beside = np.zeros((spans, 2, d)), np.zeros((spans, 3, d, m))

        def work(first: int, last: int) -> None:
            for span in range(first, last):
                for rows in _strips(n * span // spans, n * (span + 1) // spans):
                    s, v = np.empty((2, d, rows.stop - rows.start))
                    _derivatives(self.thresholds, self.codes[:, rows], self.predictor[:, rows], places, s, v)
                    w = Z[cols, rows]
                    alone[span] += s.sum(axis=1), v.sum(axis=1)
                    beside[span, 0] += s @ w.T
                    beside[span, 1] += v @ w.T
                    beside[span, 2] += v @ (w * w).T

        with one_blas_thread():
            in_threads(work, spans, n * d * (2 + m // FLOPS_A_RESIDUAL))
        return LevelSums(*alone.sum(axis=0), *beside.sum(axis=0))

    def pair_sums(self, xp: Any, Z: F64, discrete: Index, cols: Index, intercept: F64, slope: F64) -> F64:
        n, m = Z.shape[1], discrete.size
        out = np.empty((max(1, -(-n // MOST_ROWS_A_CHUNK)), m, 6))
        state = self.thresholds, self.codes, self.predictor, Z
        pairs = self._places(discrete), cols, intercept, slope

        def work(first: int, last: int) -> None:
            _pair_units(*state, *pairs, first, last, out)

        in_threads(work, len(out) * m, 2 * m * n)
        total: F64 = out.sum(axis=0)
        return total


def _strips(first: int, last: int) -> Iterator[slice]:
    for start in range(first, last, ROWS_A_MATRIX_PRODUCT):
        yield slice(start, min(start + ROWS_A_MATRIX_PRODUCT, last))


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def _derivative_rows(theta: F64, codes: Index, predictor: F64, s: F64, v: F64) -> None:
    for row in range(predictor.size):
        a = theta[codes[row] + 1] - predictor[row]
        b = predictor[row] - theta[codes[row]]
        t_a = power_of_two(max(-LOG2_E * abs(a), SMALLEST_POWER))
        t_b = power_of_two(max(-LOG2_E * abs(b), SMALLEST_POWER))
        u_a, u_b = 1.0 / (1.0 + t_a), 1.0 / (1.0 + t_b)
        s[row] = (u_a if a >= 0.0 else t_a * u_a) - (u_b if b >= 0.0 else t_b * u_b)
        v[row] = t_a * u_a * u_a + t_b * u_b * u_b


@compiled(nogil=True)
def _derivatives(thresholds: F64, codes: Index, predictor: F64, places: Index, s: F64, v: F64) -> None:
    for at, place in enumerate(places):
        _derivative_rows(thresholds[place], codes[place], predictor[place], s[at], v[at])


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def _pair_rows(
    theta: F64, codes: Index, predictor: F64, w: F64, intercept: float, slope: float, out: F64
) -> None:
    """The sums of :meth:`Table.level_pair_sums` for one pair, in out (6,)."""
    least = logs = s_sum = v_sum = s_w = v_w = v_w2 = 0.0
    for start in range(0, w.size, ROWS_A_PRODUCT):
        product = 1.0
        for row in range(start, min(start + ROWS_A_PRODUCT, w.size)):
            x = w[row]
            eta = predictor[row] + intercept + slope * x
            eta = max(-LARGEST_PREDICTOR, min(LARGEST_PREDICTOR, eta))
            a = theta[codes[row] + 1] - eta
            b = eta - theta[codes[row]]
            t_a = power_of_two(max(-LOG2_E * abs(a), SMALLEST_POWER))
            t_b = power_of_two(max(-LOG2_E * abs(b), SMALLEST_POWER))
            u_a, u_b = 1.0 / (1.0 + t_a), 1.0 / (1.0 + t_b)
            s = (u_a if a >= 0.0 else t_a * u_a) - (u_b if b >= 0.0 else t_b * u_b)
            v = t_a * u_a * u_a + t_b * u_b * u_b
            least += min(a, 0.0) + min(b, 0.0)
            product *= (1.0 + t_a) * (1.0 + t_b)
            s_sum += s
            v_sum += v
            s_w += s * x
            v_w += v * x
            v_w2 += v * x * x
        logs += math.log(product)
    out[0], out[1], out[2], out[3], out[4], out[5] = least - logs, s_sum, v_sum, s_w, v_w, v_w2


@compiled(nogil=True)
def _pair_units(
    thresholds: F64,
    codes: Index,
    predictor: F64,
    Z: F64,
    places: Index,
    cols: Index,
    intercept: F64,
    slope: F64,
    first: int,
    last: int,
    out: F64,
) -> None:
    """Units first..last−1; unit = chunk · pairs + pair, so columns stay in cache."""
    n, n_chunks = Z.shape[1], len(out)
    for unit in range(first, last):
        chunk, pair = divmod(unit, places.size)
        rows = slice(n * chunk // n_chunks, n * (chunk + 1) // n_chunks)
        _pair_rows(
            thresholds[places[pair]],
            codes[places[pair], rows],
            predictor[places[pair], rows],
            Z[cols[pair], rows],
            intercept[pair],
            slope[pair],
            out[chunk, pair],
        )
