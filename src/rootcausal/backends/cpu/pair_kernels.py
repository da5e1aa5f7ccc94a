"""Entropy sums of columns, and of the residuals of pairs, in compiled loops.

They spend their time in two exponentials a residual. Both are a polynomial in the fraction and a
power of two made by shifting bits, which vectorizes without a vendor's library; and since log cosh u =
|u| − log 2 + log(1 + t) with t = exp(−2|u|), the logarithms of a block of rows are one logarithm of a
product, which cannot overflow while the block has fewer than 1,024 factors of at most two.
"""

from __future__ import annotations

import math

import numpy as np

from ...method.moments import EXHAUSTED
from ...method.ordering.entropy import GAMMA, GAUSSIAN, K1, K2
from ...method.table import F64, Index
from .compiler import compiled
from .power_of_two import FASTMATH, LOG2_E, SMALLEST_POWER, power_of_two

LOG_2 = math.log(2.0)
ROWS_A_PRODUCT = 512


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def pair_rows(z_i: F64, z_j: F64, r: float, scale: float, out: F64) -> None:
    """out[0:2]: the two sums of the residuals of i given j; out[2:4]: of j given i."""
    slope = r * scale
    n = z_i.size
    magnitude_i = magnitude_j = gauss_i = gauss_j = logs_i = logs_j = 0.0
    for start in range(0, n, ROWS_A_PRODUCT):
        product_i = product_j = 1.0
        for row in range(start, min(start + ROWS_A_PRODUCT, n)):
            u = scale * z_i[row] - slope * z_j[row]
            v = scale * z_j[row] - slope * z_i[row]
            magnitude_i += abs(u)
            magnitude_j += abs(v)
            product_i *= 1.0 + power_of_two(max(-2.0 * LOG2_E * abs(u), SMALLEST_POWER))
            product_j *= 1.0 + power_of_two(max(-2.0 * LOG2_E * abs(v), SMALLEST_POWER))
            gauss_i += u * power_of_two(max(-0.5 * LOG2_E * (u * u), SMALLEST_POWER))
            gauss_j += v * power_of_two(max(-0.5 * LOG2_E * (v * v), SMALLEST_POWER))
        logs_i += math.log(product_i)
        logs_j += math.log(product_j)
    out[0] = magnitude_i + logs_i - n * LOG_2
    out[1] = gauss_i
    out[2] = magnitude_j + logs_j - n * LOG_2
    out[3] = gauss_j


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def column_rows(z: F64, out: F64) -> None:
    magnitude = gauss = logs = 0.0
    for start in range(0, z.size, ROWS_A_PRODUCT):
        product = 1.0
        for row in range(start, min(start + ROWS_A_PRODUCT, z.size)):
            u = z[row]
            magnitude += abs(u)
            product *= 1.0 + power_of_two(max(-2.0 * LOG2_E * abs(u), SMALLEST_POWER))
            gauss += u * power_of_two(max(-0.5 * LOG2_E * (u * u), SMALLEST_POWER))
        logs += math.log(product)
    out[0] = magnitude + logs - z.size * LOG_2
    out[1] = gauss


@compiled(nogil=True)
def pair_units(Z: F64, R: F64, i: Index, j: Index, first: int, last: int, out: F64) -> None:
    """Units first..last−1 of pair_sums; unit = chunk · pairs + pair, so columns stay in cache."""
    for unit in range(first, last):
        chunk, pair = divmod(unit, i.size)
        n, n_chunks = Z.shape[1], len(out)
        rows = slice(n * chunk // n_chunks, n * (chunk + 1) // n_chunks)
        # A column beside itself is taken as it is.
        r = 0.0 if i[pair] == j[pair] else R[i[pair], j[pair]]
        scale = 1.0 / math.sqrt(max(1.0 - r * r, EXHAUSTED))
        pair_rows(Z[i[pair], rows], Z[j[pair], rows], r, scale, out[chunk, pair])


@compiled(inner=True, nogil=True)
def entropy_of(log_cosh_sum: float, gauss_sum: float, n_rows: int) -> float:
    """:func:`rootcausal.method.ordering.entropy.entropy` of one column."""
    log_cosh = log_cosh_sum / n_rows - GAMMA
    gauss = gauss_sum / n_rows
    return GAUSSIAN - K1 * log_cosh * log_cosh - K2 * gauss * gauss


@compiled(nogil=True)
def square_units(Z: F64, R: F64, cols: Index, first: int, last: int, out: F64) -> None:
    """Units first..last−1 of leading_pair_sums; unit = chunk · pairs + pair, along the upper triangle."""
    n, (n_chunks, _, _, q, m) = Z.shape[1], out.shape
    n_pairs = q * m - q * (q - 1) // 2
    sums = np.empty(4)
    chunk, pair = divmod(first, n_pairs)
    a = 0
    while pair >= m - a:
        pair -= m - a
        a += 1
    b = a + pair
    for _ in range(first, last):
        rows = slice(n * chunk // n_chunks, n * (chunk + 1) // n_chunks)
        i, j = cols[a], cols[b]
        if i == j:
            column_rows(Z[i, rows], sums)
            sums[2], sums[3] = sums[0], sums[1]
        else:
            r = R[i, j]
            scale = 1.0 / math.sqrt(max(1.0 - r * r, EXHAUSTED))
            pair_rows(Z[i, rows], Z[j, rows], r, scale, sums)
        to = out[chunk]
        for s in range(2):
            to[0, s, a, b], to[1, s, a, b] = sums[s], sums[2 + s]
            if b < q:
                to[1, s, b, a], to[0, s, b, a] = sums[s], sums[2 + s]
        b += 1
        if b == m:
            a += 1
            b = a
        if a == q:
            chunk, a, b = chunk + 1, 0, 0


@compiled(nogil=True)
def block_entropies(sums: F64, own: F64, n_rows: int, places: Index, known: F64) -> tuple[F64, F64, F64]:
    """:func:`rootcausal.method.ordering.entropy.block_penalties`; ``known`` (d, m) are the entropies at
    ``places``.
    """
    _, _, q, m = sums.shape
    row_of = np.full(m, -1)
    for row, place in enumerate(places):
        row_of[place] = row
    row_penalty, column_penalty = np.zeros(q), np.zeros(m)
    given = np.empty((2, q, m))
    for a in range(q):
        for b in range(m):
            of_row = entropy_of(sums[0, 0, a, b], sums[0, 1, a, b], n_rows)
            of_column = entropy_of(sums[1, 0, a, b], sums[1, 1, a, b], n_rows)
            if row_of[a] >= 0:
                of_row = known[row_of[a], b]
            if row_of[b] >= 0:
                of_column = known[row_of[b], a]
            given[0, a, b], given[1, a, b] = of_row, of_column
            score = (own[b] - own[a]) + (of_row - of_column)
            if score < 0.0:
                row_penalty[a] += score * score
            else:
                column_penalty[b] += score * score
    return row_penalty, column_penalty, given


@compiled(nogil=True)
def column_units(Z: F64, first: int, last: int, out: F64) -> None:
    for column in range(first, last):
        column_rows(Z[column], out[column])


@compiled(nogil=True)
def residual_units(Z: F64, R: F64, root: int, cols: Index, first: int, last: int) -> None:
    """Replace columns first..last−1 of ``cols``, and their rows of R, by those of the residuals."""
    error = Z[root]
    with_root = R[root]
    for a in cols[first:last]:
        z = Z[a]
        slope = with_root[a]
        unit = 1.0 / math.sqrt(max(1.0 - slope * slope, EXHAUSTED))
        for row in range(z.size):
            z[row] = (z[row] - slope * error[row]) * unit
        for b in cols:
            other = with_root[b]
            scale = unit / math.sqrt(max(1.0 - other * other, EXHAUSTED))
            R[a, b] = max(-1.0, min(1.0, (R[a, b] - slope * other) * scale))
