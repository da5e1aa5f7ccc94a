"""Rows in memory, summed by compiled loops on all cores.

The kernel spends its time in two exponentials a residual. Both are a polynomial in the fraction and a
power of two made by shifting bits, which vectorizes without a vendor's library; and since log cosh u =
|u| − log 2 + log(1 + t) with t = exp(−2|u|), the logarithms of a block of rows are one logarithm of a
product, which cannot overflow while the block has fewer than 1,024 factors of at most two.

Work is cut into units of one pair and one chunk of rows, always the same ones, and their sums are added
in one order: the answer does not depend on the number of threads. Threads are Python's own, around
loops that release the GIL; ``numba.set_num_threads`` and NUMBA_NUM_THREADS say how many.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from ..core.entropy import block_penalties
from ..core.moments import EXHAUSTED
from ..core.table import F64, SCORE, ColumnMoments, Index, KnownEntropies, LossSums
from .compiled import compiled
from .level_kernels import CompiledLevelRows
from .level_rows import LevelColumns, LevelRows
from .loss_rows import LossColumns
from .power_of_two import FASTMATH, LOG2_E, SMALLEST_POWER, power_of_two
from .raw_kernels import add_moments, standardize_strip
from .threads import in_threads

LOG_2 = math.log(2.0)
ROWS_A_PRODUCT = 512
MOST_ROWS_A_CHUNK = 8192
ROWS_A_MATRIX_PRODUCT = 4096
VALUES_A_STRIP = 32_768
# Where so many times the columns asked for are all that there are, whole rows are read.
WHOLE_ROWS = 8
# Standardized for a matrix product and forgotten after it.
VALUES_A_GRAM = 1 << 18
# Raw rows are summed in at most this many spans, whatever the number of threads.
SPANS = 64
# What a call costs besides its residuals, in residuals.
CALL_OVERHEAD = 50_000


@compiled(fastmath=FASTMATH, nogil=True)
def _pair_rows(z_i: F64, z_j: F64, r: float, scale: float, out: F64) -> None:
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


@compiled(nogil=True)
def _pair_units(Z: F64, R: F64, i: Index, j: Index, first: int, last: int, out: F64) -> None:
    """Units first..last−1 of pair_sums; unit = chunk · pairs + pair, so columns stay in cache."""
    for unit in range(first, last):
        chunk, pair = divmod(unit, i.size)
        n, n_chunks = Z.shape[1], len(out)
        rows = slice(n * chunk // n_chunks, n * (chunk + 1) // n_chunks)
        # A column beside itself is taken as it is.
        r = 0.0 if i[pair] == j[pair] else R[i[pair], j[pair]]
        scale = 1.0 / math.sqrt(max(1.0 - r * r, EXHAUSTED))
        _pair_rows(Z[i[pair], rows], Z[j[pair], rows], r, scale, out[chunk, pair])


@compiled(fastmath=FASTMATH, nogil=True)
def _column_rows(z: F64, out: F64) -> None:
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
def _column_units(Z: F64, first: int, last: int, out: F64) -> None:
    for column in range(first, last):
        _column_rows(Z[column], out[column])


@compiled(nogil=True)
def _residual_units(Z: F64, R: F64, root: int, cols: Index, first: int, last: int) -> None:
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


@compiled(nogil=True)
def _add_intervals(design: F64, ratio: F64, part: F64, interval: Index, inside: F64) -> None:
    for column in range(design.shape[0]):
        values = design[column]
        for row in range(ratio.size):
            value = ratio[row] * values[row]
            inside[0, interval[row], column] += value
            inside[1, interval[row], column] += part[row] * value


class NumbaRaw:
    """Rows of X (n, p), with their outcome y or None; only those that ``rows`` names, if it is given.

    They are read in strips that fit the cache (blocking), whatever the layout of X.
    """

    backend = "numba"

    def __init__(self, X: F64, y: np.ndarray | None, rows: Index | None = None) -> None:
        """``y`` has the outcome of ``rows``."""
        self._X = X
        self._y = y
        self._labels = None if y is None or y.ndim == 2 else y
        self._rows = rows

    @property
    def shape(self) -> tuple[int, int]:
        return len(self._X if self._rows is None else self._rows), self._X.shape[1]

    def by_class(self) -> tuple[NumbaRaw, NumbaRaw]:
        assert self._labels is not None
        labels, rows = self._labels, self._rows
        members = [np.flatnonzero(labels == c) for c in (0, 1)]
        controls, cases = (NumbaRaw(self._X, labels[m], m if rows is None else rows[m]) for m in members)
        return controls, cases

    def _strip(self, rows: slice) -> F64:
        return np.ascontiguousarray(self._X[rows if self._rows is None else self._rows[rows]])

    def _cells(self, rows: slice, cols: Index) -> F64:
        return self._X[rows if self._rows is None else self._rows[rows, None], cols]

    def _standardize(self, rows: slice, cols: Index, mean: F64, sd: F64, out: F64) -> None:
        as_they_lie = self._rows is None
        if as_they_lie and self._X.flags.f_contiguous:
            out[:] = ((self._cells(rows, cols) - mean) / sd).T
        # Whole rows are read several times as fast as cell by cell, and need no copy where they lie at hand.
        elif as_they_lie or cols.size * WHOLE_ROWS >= self._X.shape[1]:
            standardize_strip(self._strip(rows), cols, mean, sd, out)
        else:
            cells = np.ascontiguousarray(self._cells(rows, cols))
            standardize_strip(cells, np.arange(cols.size), mean, sd, out)

    def column_moments(self, shift: F64) -> ColumnMoments:
        n, p = self.shape
        classes = 1 if self._labels is None else 2
        labels, score = np.empty(0, dtype=np.intp), np.empty(0)
        if self._labels is not None:
            labels = self._labels.astype(np.intp, copy=False)
        elif self._y is not None:
            score = np.ascontiguousarray(self._y[:, SCORE])
        spans = _spans(n, p)
        sums = np.zeros((spans, 2, classes, p))
        products = np.zeros((spans, p))

        def work(first: int, last: int) -> None:
            for span in range(first, last):
                for rows in _strips(n * span // spans, n * (span + 1) // spans, p):
                    add_moments(
                        self._strip(rows), shift, labels[rows], score[rows], sums[span], products[span]
                    )

        in_threads(work, spans, n * p)
        total, square = sums.sum(axis=0)
        count = np.bincount(labels, minlength=2) if labels.size else np.array([n])
        with_score = None
        if score.size:
            alone = (np.full(p, score.sum()), np.full(p, score @ score))
            with_score = np.stack([products.sum(axis=0), *alone])
        return ColumnMoments(count.astype(np.float64), total, square, score=with_score)

    def gram(self, cols: Index, mean: F64, sd: F64) -> F64:
        n, k = self.shape[0], len(cols)
        total, cases = np.zeros((2, k, k))
        height = max(1, VALUES_A_GRAM // max(1, k))
        for start in range(0, n, height):
            rows = slice(start, min(start + height, n))
            whole = cols.size * WHOLE_ROWS >= self._X.shape[1]
            z = self._strip(rows).take(cols, axis=1) if whole else self._cells(rows, cols)
            z -= mean
            z /= sd
            total += z.T @ z
            if self._labels is not None:
                # Row by row, since picking cases out of each column takes longer than their product.
                case = z[self._labels[rows] == 1]
                cases += case.T @ case
        return total[None] if self._labels is None else np.stack([total - cases, cases])

    def standardize(self, cols: Index, mean: F64, sd: F64) -> NumbaTable:
        n = self.shape[0]
        Z = np.empty((len(cols), n))
        spans = _spans(n, len(cols))

        def work(first: int, last: int) -> None:
            for rows in _strips(n * first // spans, n * last // spans, len(cols)):
                self._standardize(rows, cols, mean, sd, Z[:, rows])

        in_threads(work, spans, Z.size)
        return NumbaTable(Z, self._y)


def _spans(n: int, width: int) -> int:
    """In how many spans to work: as many as there are strips, up to SPANS; a small table is one."""
    return max(1, min(SPANS, n * width // VALUES_A_STRIP))


def _strips(first: int, last: int, width: int) -> Iterator[slice]:
    """Cut rows into strips of about VALUES_A_STRIP values."""
    height = max(1, VALUES_A_STRIP // max(1, width))
    for start in range(first, last, height):
        yield slice(start, min(start + height, last))


class NumbaTable(LevelColumns, LossColumns):
    """Standardized columns Z (k, n): one row of the array a variable, so that its values are contiguous."""

    _level_rows = CompiledLevelRows

    def __init__(
        self, Z: F64, y: np.ndarray | None, R: F64 | None = None, levels: LevelRows | None = None
    ) -> None:
        self._Z = Z
        self._y = y
        self._R = np.empty((0, 0)) if R is None else R
        self._levels = levels

    @property
    def shape(self) -> tuple[int, int]:
        return self._Z.shape[1], self._Z.shape[0]

    @property
    def columns(self) -> F64:
        """(k, n): the current residuals, one row of the array a column; not a copy."""
        return self._Z

    @property
    def labels(self) -> np.ndarray | None:
        """What is known of the outcome of the rows; or None."""
        return self._y

    def copy_of(self, cols: Index) -> NumbaTable:
        """A table of its own that has only these columns, and their correlations."""
        return NumbaTable(self._Z[cols], self._y, self._R[np.ix_(cols, cols)], self._levels_of(cols))

    @property
    def pairs_per_call(self) -> int:
        return max(1, CALL_OVERHEAD // self.shape[0])

    def gram(self) -> F64:
        n, k = self.shape
        labels = None if self._y is None or self._y.ndim == 2 else self._y
        total = np.zeros((k, k))
        cases = np.zeros((k, k))
        for start in range(0, n, ROWS_A_MATRIX_PRODUCT):
            rows = slice(start, start + ROWS_A_MATRIX_PRODUCT)
            z = self._Z[:, rows]
            total += z @ z.T
            if labels is not None:
                case = z[:, labels[rows] == 1]
                cases += case @ case.T
        return total[None] if labels is None else np.stack([total - cases, cases])

    def column_sums(self) -> F64:
        out = np.empty((self.shape[1], 2))
        in_threads(lambda first, last: _column_units(self._Z, first, last, out), len(out), self._Z.size)
        return out

    def with_correlations(self, r: F64) -> NumbaTable:
        return NumbaTable(self._Z, self._y, np.array(r, order="C"), self._levels)

    def correlations(self, columns: int | Index) -> F64:
        return self._R[columns].copy()

    def pair_sums(self, i: Index, j: Index) -> F64:
        n = self.shape[0]
        n_chunks = -(-n // MOST_ROWS_A_CHUNK)
        out = np.empty((n_chunks, i.size, 4))

        def work(first: int, last: int) -> None:
            _pair_units(self._Z, self._R, i, j, first, last, out)

        in_threads(work, n_chunks * i.size, 2 * i.size * n)
        return out.sum(axis=0).reshape(-1, 2, 2)

    def leading_pair_sums(self, cols: Index, q: int) -> F64:
        m = len(cols)
        a, b = np.triu_indices(q, m=m)
        sums = np.moveaxis(self.pair_sums(cols[a], cols[b]), 0, -1)
        out = np.empty((2, 2, q, m))
        out[:, :, a, b] = sums
        within = b < q
        out[:, :, b[within], a[within]] = sums[::-1, :, within]
        return out

    def block_penalties(
        self, sums: F64, own: F64, n_rows: int, known: KnownEntropies | None = None
    ) -> tuple[F64, F64, F64]:
        return block_penalties(sums, own, n_rows, known)

    def to_host(self, array: Any) -> F64:
        return np.asarray(array)

    def regress_out(self, root: int, cols: Index) -> NumbaTable:
        def work(first: int, last: int) -> None:
            _residual_units(self._Z, self._R, root, cols, first, last)

        in_threads(work, cols.size, cols.size * (self.shape[0] + cols.size))
        return self

    def logit_sums(self, cols: Index, beta: F64) -> LossSums:
        assert self._y is not None
        k = len(cols)
        loglik = 0.0
        gradient = np.zeros(k + 1)
        hessian = np.zeros((k + 1, k + 1))
        for start in range(0, self.shape[0], ROWS_A_MATRIX_PRODUCT):
            rows = slice(start, start + ROWS_A_MATRIX_PRODUCT)
            y = self._y[rows]
            design = np.vstack([self._Z[cols, rows], np.ones(y.size)])
            eta = beta @ design
            chance = expit(eta)
            loglik += float(log_expit(np.where(y == 1, eta, -eta)).sum())
            gradient += design @ (y - chance)
            hessian += (design * (chance * (1.0 - chance))) @ design.T
        return LossSums(loglik, gradient, hessian)

    def _row_strips(self, width: int) -> Iterator[slice]:
        for start in range(0, self.shape[0], ROWS_A_MATRIX_PRODUCT):
            yield slice(start, start + ROWS_A_MATRIX_PRODUCT)

    def _add_intervals(self, design: F64, ratio: F64, part: F64, interval: Index, inside: F64) -> None:
        _add_intervals(design, ratio, part, interval, inside)
