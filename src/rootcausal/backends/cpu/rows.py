"""Rows in memory, summed by compiled loops on all cores.

Work is cut into units of one pair and one chunk of rows, always the same ones, and their sums are added
in one order: the answer does not depend on the number of threads. Threads are Python's own, around
loops that release the GIL; ``numba.set_num_threads`` and NUMBA_NUM_THREADS say how many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from ...method.table import F64, SCORE, ColumnMoments, Index, KnownEntropies, LossSums
from ..blas import one_blas_thread
from ..level_rows import LevelColumns, LevelRows
from ..loss_rows import LossColumns
from .attribution_kernels import logit_sums
from .compiler import compiled, in_threads
from .ordering_kernels import (
    CompiledLevelRows,
    add_moments,
    block_entropies,
    column_units,
    pair_units,
    residual_units,
    square_units,
    standardize_strip,
)

MOST_ROWS_A_CHUNK = 8192
ROWS_A_MATRIX_PRODUCT = 4096
VALUES_A_STRIP = 32_768
# Where so many times the columns asked for are all that there are, whole rows are read.
WHOLE_ROWS = 8
# Standardized for a matrix product and forgotten after it.
VALUES_A_GRAM = 1 << 18
# A Gram matrix of more values is summed in so many spans of rows, which threads share.
VALUES_WORTH_SPANS = 1 << 19
SPANS_A_GRAM = 8
# Raw rows are summed in at most this many spans, whatever the number of threads.
SPANS = 64
# What a call costs besides its residuals, in residuals.
CALL_OVERHEAD = 25_000


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
        # A part of a cluster may have no rows at all.
        count = np.array([n]) if self._labels is None else np.bincount(labels, minlength=2)
        with_score = None
        if self._y is not None and self._labels is None:
            alone = (np.full(p, score.sum()), np.full(p, score @ score))
            with_score = np.stack([products.sum(axis=0), *alone])
        return ColumnMoments(count.astype(np.float64), total, square, score=with_score)

    def gram(self, cols: Index, mean: F64, sd: F64) -> F64:
        n, k = self.shape[0], len(cols)
        total, cases = _in_spans(
            n, k, lambda first, last, to: self._add_gram(first, last, cols, mean, sd, to)
        )
        return total[None] if self._labels is None else np.stack([total - cases, cases])

    def _add_gram(self, first: int, last: int, cols: Index, mean: F64, sd: F64, to: F64) -> None:
        """Sums of squares (2, k, k) of rows first..last−1: of all, and of cases."""
        height = max(1, VALUES_A_GRAM // max(1, len(cols)))
        for start in range(first, last, height):
            rows = slice(start, min(start + height, last))
            whole = cols.size * WHOLE_ROWS >= self._X.shape[1]
            z = self._strip(rows).take(cols, axis=1) if whole else self._cells(rows, cols)
            z -= mean
            z /= sd
            to[0] += z.T @ z
            if self._labels is not None:
                # Row by row, since picking cases out of each column takes longer than their product.
                case = z[self._labels[rows] == 1]
                to[1] += case.T @ case

    def standardize(self, cols: Index, mean: F64, sd: F64) -> NumbaTable:
        n = self.shape[0]
        Z = np.empty((len(cols), n))
        spans = _spans(n, len(cols))

        def work(first: int, last: int) -> None:
            for rows in _strips(n * first // spans, n * last // spans, len(cols)):
                self._standardize(rows, cols, mean, sd, Z[:, rows])

        in_threads(work, spans, Z.size)
        return NumbaTable(Z, self._y)


def _in_spans(n: int, k: int, add: Callable[[int, int, F64], None]) -> F64:
    """(2, k, k): what ``add`` adds for spans of n rows, which threads share."""
    # As many spans for any number of threads, so that no digit depends on it.
    spans = max(1, min(SPANS_A_GRAM, n // max(1, k))) if n * k >= VALUES_WORTH_SPANS else 1
    sums = np.zeros((spans, 2, k, k))

    def work(first: int, last: int) -> None:
        for span in range(first, last):
            add(n * span // spans, n * (span + 1) // spans, sums[span])

    # Blocks are small: threads of BLAS would wait for each other for longer than they compute.
    with one_blas_thread() if spans > 1 else nullcontext():
        in_threads(work, spans, n * k)
    return sums.sum(axis=0)


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

    def with_columns(self, Z: F64) -> NumbaTable:
        """Other columns (k, n) of the same rows."""
        return NumbaTable(np.ascontiguousarray(Z), self._y)

    def copy_of(self, cols: Index) -> NumbaTable:
        """A table of its own that has only these columns, and their correlations."""
        return NumbaTable(self._Z[cols], self._y, self._R[np.ix_(cols, cols)], self._levels_of(cols))

    @property
    def pairs_per_call(self) -> int:
        return max(1, CALL_OVERHEAD // (2 * self.shape[0]))

    def own_search(self) -> None:
        return None

    def gram(self) -> F64:
        n, k = self.shape
        labels = None if self._y is None or self._y.ndim == 2 else self._y

        def add(first: int, last: int, to: F64) -> None:
            for start in range(first, last, ROWS_A_MATRIX_PRODUCT):
                rows = slice(start, min(start + ROWS_A_MATRIX_PRODUCT, last))
                z = self._Z[:, rows]
                to[0] += z @ z.T
                if labels is not None:
                    case = z[:, labels[rows] == 1]
                    to[1] += case @ case.T

        total, cases = _in_spans(n, k, add)
        return total[None] if labels is None else np.stack([total - cases, cases])

    def column_sums(self) -> F64:
        out = np.empty((self.shape[1], 2))
        in_threads(lambda first, last: column_units(self._Z, first, last, out), len(out), self._Z.size)
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
            pair_units(self._Z, self._R, i, j, first, last, out)

        in_threads(work, n_chunks * i.size, 2 * i.size * n)
        return (out[0] if n_chunks == 1 else out.sum(axis=0)).reshape(-1, 2, 2)

    def leading_pair_sums(self, cols: Index, q: int) -> F64:
        n, m = self.shape[0], len(cols)
        n_chunks = -(-n // MOST_ROWS_A_CHUNK)
        out = np.empty((n_chunks, 2, 2, q, m))
        n_pairs = q * m - q * (q - 1) // 2

        def work(first: int, last: int) -> None:
            square_units(self._Z, self._R, cols, first, last, out)

        in_threads(work, n_chunks * n_pairs, 2 * n_pairs * n)
        return out[0] if n_chunks == 1 else out.sum(axis=0)

    def block_penalties(
        self, sums: F64, own: F64, n_rows: int, known: KnownEntropies | None = None
    ) -> tuple[F64, F64, F64]:
        places = np.empty(0, dtype=np.intp) if known is None else known.places
        entropies = np.empty((0, len(own))) if known is None else known.given
        return block_entropies(sums, own, n_rows, places, entropies)

    def to_host(self, array: Any) -> F64:
        return np.asarray(array)

    def regress_out(self, root: int, cols: Index) -> NumbaTable:
        def work(first: int, last: int) -> None:
            residual_units(self._Z, self._R, root, cols, first, last)

        in_threads(work, cols.size, cols.size * (self.shape[0] + cols.size))
        return self

    def logit_sums(self, cols: Index, beta: F64) -> LossSums:
        assert self._y is not None
        return logit_sums(self._Z, self._y, cols, beta)

    def _row_strips(self, width: int) -> Iterator[slice]:
        for start in range(0, self.shape[0], ROWS_A_MATRIX_PRODUCT):
            yield slice(start, start + ROWS_A_MATRIX_PRODUCT)

    def _add_intervals(self, design: F64, ratio: F64, part: F64, interval: Index, inside: F64) -> None:
        _add_intervals(design, ratio, part, interval, inside)
