"""Rows on an NVIDIA GPU: they stay there, and the host sees only sums."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cupy as cp
import numpy as np

from ...errors import InputError
from ...method.ordering.search import Search
from ...method.table import F64, SCORE, ColumnMoments, Index, KnownEntropies, LossSums
from ..cpu.rows import NumbaTable
from ..level_rows import LevelColumns, LevelRows
from ..loss_rows import LossColumns
from .device import busy_warps, kernel, on_card, on_host
from .search import CardSearch

WARPS_A_BLOCK = 4
ROWS_A_SPLIT = 256
# What a call costs besides its residuals, in residuals.
CALL_OVERHEAD = 150_000_000
# Columns of so many rows are sorted one after the other.
ROWS_SORTED_ALONE = 100_000
# Rows worked on at once where a copy of them is needed, in values.
VALUES_A_STRIP = 1 << 25


class CupyRaw:
    """Rows of X (n, p), with their outcome y or None, copied to the current device.

    Of an X that is there already only some, if ``rows`` names them.
    """

    backend = "cupy"

    def __init__(self, X: Any, y: Any, rows: Any = None) -> None:
        """``y`` has the outcome of ``rows``."""
        if rows is None:
            check_memory(X.shape)
        self._X = cp.asarray(X)
        self._y = None if y is None else cp.asarray(y, dtype=cp.float64)
        self._rows = rows

    @property
    def shape(self) -> tuple[int, int]:
        return len(self._X if self._rows is None else self._rows), self._X.shape[1]

    def by_class(self) -> tuple[CupyRaw, CupyRaw]:
        assert self._y is not None and self._rows is None
        controls, cases = (cp.flatnonzero(self._y == label) for label in (0.0, 1.0))
        return CupyRaw(self._X, self._y[controls], controls), CupyRaw(self._X, self._y[cases], cases)

    def _strip(self, rows: slice) -> Any:
        return self._X[rows if self._rows is None else self._rows[rows]]

    def _cells(self, rows: slice, cols: Any) -> Any:
        # Together, so that no column is copied that nobody asked for.
        return self._X[rows][:, cols] if self._rows is None else self._X[self._rows[rows][:, None], cols]

    def ranked(self, cols: Index, mean: F64, slopes: F64 | None, ranks: Index) -> F64:
        """(m, r) values of these ranks, of columns or of their sums: see :mod:`...method.quantiles`."""
        n, chosen, places = self.shape[0], cp.asarray(cols), cp.asarray(ranks)
        width = max(1, VALUES_A_STRIP // n)
        m = len(cols) if slopes is None else slopes.shape[1]
        found = np.empty((m, len(ranks)))
        for start in range(0, m, width):
            some = slice(start, start + width)
            if slopes is None:
                values = self._cells(slice(0, n), chosen[some]).T
            else:
                values = cp.zeros((slopes[:, some].shape[1], n))
                for rows in _strips(n, len(cols)):
                    centred = self._cells(rows, chosen) - cp.asarray(mean)
                    values[:, rows] = (centred @ cp.asarray(slopes[:, some])).T
            # Many together are fewer calls; but then each value carries the number of its column.
            together = [values] if n < ROWS_SORTED_ALONE else values[:, None]
            in_order = [cp.sort(cp.ascontiguousarray(of), axis=1)[:, places] for of in together]
            found[some] = cp.asnumpy(cp.concatenate(in_order))
        return found

    @property
    def labels(self) -> Any:
        """What is known of the outcome of the rows, on the device; or None."""
        return self._y

    def column_moments(self, shift: F64) -> ColumnMoments:
        n, p = self.shape
        classes = _indicators(self._y, n)
        centre = cp.asarray(shift)
        total = cp.zeros((len(classes), p))
        square = cp.zeros((len(classes), p))
        score = self._y[:, SCORE] if self._y is not None and self._y.ndim == 2 else None
        with_score = cp.zeros((3, p))
        for rows in _strips(n, p):
            z = self._strip(rows) - centre
            total += classes[:, rows] @ z
            square += classes[:, rows] @ (z * z)
            if score is not None:
                s = score[rows]
                with_score[0] += s @ z
                with_score[1] += s.sum()
                with_score[2] += s @ s
        count, total, square = (cp.asnumpy(sums) for sums in (classes.sum(axis=1), total, square))
        return ColumnMoments(count, total, square, score=None if score is None else cp.asnumpy(with_score))

    def gram(self, cols: Index, mean: F64, sd: F64) -> F64:
        n = self.shape[0]
        total = np.zeros((1 if _one_class(self._y) else 2, len(cols), len(cols)))
        chosen, centre, unit = cp.asarray(cols), cp.asarray(mean), cp.asarray(sd)
        for rows in _strips(n, len(cols)):
            z = (self._cells(rows, chosen) - centre) / unit
            total += CupyTable(z.T, None if self._y is None else self._y[rows]).gram()
        return total

    def standardize(self, cols: Index, mean: F64, sd: F64) -> CupyTable:
        n = self.shape[0]
        Z = cp.empty((len(cols), n))
        chosen, centre, unit = cp.asarray(cols), cp.asarray(mean), cp.asarray(sd)
        for rows in _strips(n, len(cols)):
            Z[:, rows] = ((self._cells(rows, chosen) - centre) / unit).T
        return CupyTable(Z, self._y)


class CupyTable(LevelColumns, LossColumns):
    """Standardized columns Z (k, n), one row of the array a variable, and their correlations R (k, k)."""

    _xp = array_module = cp

    def __init__(self, Z: Any, y: Any, R: Any = None, levels: LevelRows | None = None) -> None:
        self._Z = Z
        self._y = y
        self._R = R
        self._levels = levels

    @property
    def shape(self) -> tuple[int, int]:
        return self._Z.shape[1], self._Z.shape[0]

    @property
    def columns(self) -> Any:
        """(k, n): the current residuals, one row of the array a column; not a copy."""
        return self._Z

    def with_columns(self, Z: Any) -> CupyTable:
        """Other columns (k, n) of the same rows."""
        return CupyTable(cp.ascontiguousarray(Z), self._y)

    def check_room(self, values: int) -> None:
        """Refuse to work on so many values beside the table, where the card has no room for them."""
        _refuse_without_room(self.shape, 8 * values)

    def in_memory(self) -> NumbaTable:
        """The same columns and outcomes, copied from the card."""
        y = None if self._y is None else cp.asnumpy(self._y)
        return NumbaTable(cp.asnumpy(self._Z), y if y is None or y.ndim == 2 else y.astype(np.intp))

    def copy_of(self, cols: Index) -> CupyTable:
        """A table of its own that has only these columns, and their correlations."""
        chosen = cp.asarray(cols)
        return CupyTable(self._Z[chosen], self._y, self._R[chosen[:, None], chosen], self._levels_of(cols))

    @property
    def pairs_per_call(self) -> int:
        return max(1, CALL_OVERHEAD // (2 * self.shape[0]))

    def gram(self) -> F64:
        n, k = self.shape
        classes = _indicators(self._y, n)
        sums = cp.zeros((len(classes), k, k))
        for rows in _strips(n, k):
            z = self._Z[:, rows]
            for c, members in enumerate(classes):
                sums[c] += (z * members[rows]) @ z.T
        return cp.asnumpy(sums)

    def column_sums(self) -> F64:
        everyone = np.arange(self.shape[1])
        alone = CupyTable(self._Z, None, cp.zeros((0, 0)))
        return alone.pair_sums(everyone, everyone)[:, 0]

    def with_correlations(self, r: F64) -> CupyTable:
        return CupyTable(self._Z, self._y, cp.array(r, order="C"), self._levels)

    @property
    def current_correlations(self) -> Any:
        """(k, k), on the device; not a copy."""
        return self._R

    def own_search(self) -> Search:
        return CardSearch(self.shape[1])

    def correlations(self, columns: int | Index) -> F64:
        if isinstance(columns, np.ndarray):
            return cp.asnumpy(self._R[cp.asarray(columns)])
        return on_host(self._R[columns])

    def pair_sums(self, i: Index, j: Index) -> F64:
        n, k = self.shape
        m = i.size
        splits = _splits(m, n)
        pairs = on_card(np.concatenate([i, j]).astype(np.int32))
        out = cp.empty((splits, m, 4))
        arguments = (self._Z, self._R, np.int64(n), np.int32(k), pairs, np.int32(m), np.int32(splits), out)
        _launch("pair_list", m * splits, arguments)
        return on_host(out).sum(axis=0).reshape(-1, 2, 2)

    def leading_pair_sums(self, cols: Index, q: int) -> Any:
        n, k = self.shape
        m = len(cols)
        side, rows = (m + 1) // 2, (q + 1) // 2
        tiles = rows * side - rows * (rows - 1) // 2
        splits = _splits(tiles, n)
        out = cp.empty((splits, 2, 2, q, m))
        chosen = on_card(cols.astype(np.int32))
        arguments = (self._Z, self._R, np.int64(n), np.int32(k), chosen, np.int32(q), np.int32(m))
        _launch("leading_pairs", tiles * splits, (*arguments, np.int32(splits), out))
        return out.sum(axis=0) if splits > 1 else out[0]

    def block_penalties(
        self, sums: Any, own: F64, n_rows: int, known: KnownEntropies | None = None
    ) -> tuple[F64, F64, Any]:
        q, m = sums.shape[2:]
        penalty = cp.empty(q + m)
        arguments = (sums, on_card(own), np.float64(n_rows), np.int32(q), np.int32(m), penalty)
        if known is None:
            kernel("row_penalties")((q,), (256,), arguments)
        else:
            row_of = np.full(m, -1, dtype=np.int32)
            row_of[known.places] = np.arange(known.places.size, dtype=np.int32)
            # Not through _upload: it keeps page-locked copies, and these may be large.
            entropies = cp.asarray(np.ascontiguousarray(known.given))
            kernel("row_penalties_knowing")((q,), (256,), (*arguments, on_card(row_of), entropies))
        kernel("column_penalties")(
            (-(-m // 32),), (32, 32), (sums[0, 1], np.int32(q), np.int32(m), penalty[q:])
        )
        host = on_host(penalty)
        return host[:q], host[q:], sums[:, 0]

    def to_host(self, array: Any) -> F64:
        return on_host(array)

    def regress_out(self, root: int, cols: Index) -> CupyTable:
        n, k = self.shape
        if cols.size:
            m = cols.size
            chosen = on_card(cols.astype(np.int32))
            blocks = max(1, min(-(-n // 256), 64))  # a part of a cluster may have no row of a class
            kernel("regress_rows")(
                (blocks, m), (256,), (self._Z, self._R, np.int64(n), np.int32(k), np.int32(root), chosen)
            )
            kernel("regress_correlations")(
                (-(-m // 128), m), (128,), (self._R, np.int32(k), np.int32(root), chosen, np.int32(m))
            )
        return self

    def logit_sums(self, cols: Index, beta: F64) -> LossSums:
        n = self.shape[0]
        k = len(cols)
        chosen, slope = cp.asarray(cols), cp.asarray(beta)
        loglik = cp.zeros(())
        gradient = cp.zeros(k + 1)
        hessian = cp.zeros((k + 1, k + 1))
        for rows in _strips(n, k + 1):
            y = self._y[rows]
            design = cp.ones((k + 1, y.size))
            design[:k] = self._Z[chosen, rows]
            eta = slope @ design
            chance = 1.0 / (1.0 + cp.exp(-eta))
            loglik -= cp.logaddexp(0.0, cp.where(y == 1.0, -eta, eta)).sum()
            gradient += design @ (y - chance)
            hessian += (design * (chance * (1.0 - chance))) @ design.T
        return LossSums(float(loglik), cp.asnumpy(gradient), cp.asnumpy(hessian))

    def _row_strips(self, width: int) -> Iterator[slice]:
        return _strips(self.shape[0], width)


def table_of(Z: F64, y: np.ndarray) -> CupyTable:
    """Standardized columns (k, n), made on the host, and the outcome of their rows."""
    check_memory((Z.shape[1], Z.shape[0]))
    return CupyTable(cp.asarray(Z), cp.asarray(y, dtype=cp.float64))


def device_count() -> int:
    """How many GPUs CuPy can use; none is not an error."""
    try:
        return int(cp.cuda.runtime.getDeviceCount())
    except cp.cuda.runtime.CUDARuntimeError:
        return 0


def bytes_needed(shape: tuple[int, int]) -> int:
    """The raw table, its standardized columns, and one strip with its copies, at most."""
    n, p = shape
    return 8 * (2 * n * p + 3 * min(n * p, VALUES_A_STRIP) + 4 * min(p * p, VALUES_A_STRIP))


def fits(shape: tuple[int, int]) -> bool:
    return bytes_needed(shape) <= _free_bytes()


def check_memory(shape: tuple[int, int]) -> None:
    """Refuse a table that the card cannot hold, before anything is copied."""
    _refuse_without_room(shape, bytes_needed(shape))


def _refuse_without_room(shape: tuple[int, int], needed: int) -> None:
    free = _free_bytes()
    if needed > free:
        raise InputError(
            f"a table of {shape[0]:,} rows and {shape[1]:,} columns needs {needed / 2**30:.1f} GiB of GPU "
            f"memory and {free / 2**30:.1f} GiB are free: use backend='numba', or a larger card"
        )


def _free_bytes() -> int:
    # What CuPy keeps for reuse is free to us.
    return int(cp.cuda.runtime.memGetInfo()[0] + cp.get_default_memory_pool().free_bytes())


def _one_class(y: Any) -> bool:
    """Whether rows have no labels: nothing is known of their outcome, or it is graded."""
    return y is None or y.ndim == 2


def _indicators(y: Any, n: int) -> Any:
    """(c, n): ones where a row belongs to the class."""
    return cp.ones((1, n)) if _one_class(y) else cp.stack([1.0 - y, y])


def _strips(n: int, width: int) -> Iterator[slice]:
    height = max(1, VALUES_A_STRIP // max(1, width))
    for start in range(0, n, height):
        yield slice(start, min(start + height, n))


def _splits(units: int, n: int) -> int:
    return max(1, min(-(-busy_warps() // max(1, units)), n // ROWS_A_SPLIT))


def _launch(name: str, warps: int, arguments: tuple[Any, ...]) -> None:
    kernel(name)((-(-warps // WARPS_A_BLOCK),), (32 * WARPS_A_BLOCK,), arguments)
