"""Rows in memory, summed by compiled loops on all cores.

Work is cut into units of one pair and one chunk of rows, always the same ones, and their sums are added
in one order: the answer does not depend on the number of threads. Threads are Python's own, around
loops that release the GIL; ``numba.set_num_threads`` and NUMBA_NUM_THREADS say how many.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core.table import F64, SCORE, ColumnMoments, Index, KnownEntropies, LossSums
from .compiled import compiled
from .level_kernels import CompiledLevelRows
from .level_rows import LevelColumns, LevelRows
from .logit_kernels import logit_sums
from .loss_rows import LossColumns
from .pair_kernels import block_entropies, column_units, pair_units, residual_units, square_units
from .threads import in_threads

MOST_ROWS_A_CHUNK = 8192
ROWS_A_MATRIX_PRODUCT = 4096
VALUES_A_STRIP = 32_768
# Standardized for a matrix product and forgotten after it.
VALUES_A_GRAM = 1 << 18
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

    Reading raw rows is bound by memory, so plain NumPy on strips that fit the cache (blocking) is as fast as
    a compiled loop, whatever the layout of X.
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
        assert self._labels is not None and self._rows is None
        controls, cases = (np.flatnonzero(self._labels == c) for c in (0, 1))
        return NumbaRaw(self._X, self._labels[controls], controls), NumbaRaw(
            self._X, self._labels[cases], cases
        )

    def _strip(self, rows: slice) -> F64:
        return self._X[rows if self._rows is None else self._rows[rows]]

    def _cells(self, rows: slice, cols: Index) -> F64:
        return self._X[rows if self._rows is None else self._rows[rows, None], cols]

    def column_moments(self, shift: F64) -> ColumnMoments:
        n, p = self.shape
        labels, classes = self._labels, 1 if self._labels is None else 2
        score = None if self._y is None or labels is not None else self._y[:, SCORE]
        spans = _spans(n, p)
        sums = np.zeros((spans, 2, classes, p))
        counts = np.zeros((spans, classes))
        products = np.zeros((spans, p))

        def work(first: int, last: int) -> None:
            for span in range(first, last):
                for rows in _strips(n * span // spans, n * (span + 1) // spans, p):
                    z = self._strip(rows) - shift
                    for c in range(classes):
                        z_c = z if labels is None else z[labels[rows] == c]
                        counts[span, c] += len(z_c)
                        sums[span, 0, c] += z_c.sum(axis=0)
                        sums[span, 1, c] += np.einsum("ij,ij->j", z_c, z_c)
                    if score is not None:
                        products[span] += score[rows] @ z

        in_threads(work, spans, n * p)
        total = sums.sum(axis=0)
        with_score = None
        if score is not None:
            alone = (np.full(p, score.sum()), np.full(p, score @ score))
            with_score = np.stack([products.sum(axis=0), *alone])
        return ColumnMoments(counts.sum(axis=0), total[0], total[1], score=with_score)

    def gram(self, cols: Index, mean: F64, sd: F64) -> F64:
        n, k = self.shape[0], len(cols)
        total = np.zeros((1 if self._labels is None else 2, k, k))
        height = max(1, VALUES_A_GRAM // max(1, k))
        for start in range(0, n, height):
            rows = slice(start, min(start + height, n))
            z = (self._cells(rows, cols) - mean) / sd
            total += NumbaTable(z.T, None if self._labels is None else self._labels[rows]).gram()
        return total

    def standardize(self, cols: Index, mean: F64, sd: F64) -> NumbaTable:
        n = self.shape[0]
        Z = np.empty((len(cols), n))
        spans = _spans(n, len(cols))

        def work(first: int, last: int) -> None:
            for rows in _strips(n * first // spans, n * last // spans, len(cols)):
                Z[:, rows] = ((self._cells(rows, cols) - mean) / sd).T

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
        return max(1, CALL_OVERHEAD // (2 * self.shape[0]))

    def own_search(self) -> None:
        return None

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
        return out.sum(axis=0).reshape(-1, 2, 2)

    def leading_pair_sums(self, cols: Index, q: int) -> F64:
        n, m = self.shape[0], len(cols)
        n_chunks = -(-n // MOST_ROWS_A_CHUNK)
        out = np.empty((n_chunks, 2, 2, q, m))
        n_pairs = q * m - q * (q - 1) // 2

        def work(first: int, last: int) -> None:
            square_units(self._Z, self._R, cols, first, last, out)

        in_threads(work, n_chunks * n_pairs, 2 * n_pairs * n)
        return out.sum(axis=0) if n_chunks > 1 else out[0]

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
