r"""What a worker holds of a table: a run of grains, whose sums are added along one tree.

Floating-point sums depend on the order of addition. So a table is cut into grains by its numbers of rows
and columns alone, whoever reads them and in whatever partitions; and grains are added two by two, then the
sums of these two by two, up to the top (pairwise summation):

    grains      0   1   2   3   4           parts are runs of grains: one of 0 1 2 here, one of 3 4
                 \_/     \_/    |
    branches     0·1     2·3    4           2 and 3 meet when the sums of both parts are there
                   \_____/      |
                    0···3       4
                        \______/
                          whole

A part adds what it has both sides of, and so does who gathers parts. How many parts there are changes who
adds, and never what is added to what: the last digits are the same on any cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from ...method.table import F64, Index, LevelSums, LossSums
from ..blas import one_blas_thread
from ..cpu.compiler import use_threads
from ..cpu.rows import NumbaTable

# Of a grain: enough rows that calling it costs little beside its sums, and few enough that a small table has
# some for every worker.
MOST_ROWS_A_GRAIN = 65_536
LEAST_ROWS_A_GRAIN = 2_048
VALUES_A_GRAIN = 1 << 23
# The correlations of its k columns, which each grain keeps, are no more than a quarter of its values.
ROWS_A_COLUMN = 4
# Of a table that is not large; by then they keep every worker busy.
GRAINS = 64
ROWS_A_STEP = 65_536


def grain_edges(n_rows: int, n_columns: int) -> Index:
    """(g + 1,) first rows of the grains of a table, and its number of rows; its shape alone decides."""
    rows = min(
        MOST_ROWS_A_GRAIN, VALUES_A_GRAIN // max(1, n_columns), max(LEAST_ROWS_A_GRAIN, n_rows // GRAINS)
    )
    count = max(1, round(n_rows / max(rows, ROWS_A_COLUMN * n_columns, 1)))
    return np.arange(count + 1) * n_rows // count


@dataclass(frozen=True)
class Grain:
    """Some neighbouring rows, standardized. Never changed: Dask may compute it twice, or keep the one before.

    Attributes
    ----------
    table : NumbaTable or, on a worker with a GPU, CupyTable, of the columns that may still become roots.
    ids : (m,) which columns these are; the last root is still among them.
    labels : what is known of the outcome of the rows, where the table is; or None.
    errors : the columns that became roots, (n,) each; their arrays are shared with the grain before.
    """

    table: Any
    ids: Index
    labels: Any
    errors: dict[int, Any] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        errors = sum(error.nbytes for error in self.errors.values())
        labels = 0 if self.labels is None else self.labels.nbytes
        return int(self.table.columns.nbytes + self.table.level_bytes + labels + errors)

    def gram(self) -> F64:
        return self.table.gram()

    def column_sums(self) -> F64:
        return self.table.column_sums()

    def with_correlations(self, r: F64) -> Grain:
        return replace(self, table=self.table.with_correlations(r))

    def pair_sums(self, i: Index, j: Index) -> F64:
        return self.table.pair_sums(self._place(i), self._place(j))

    def leading_pair_sums(self, cols: Index, q: int) -> F64:
        return self.table.to_host(self.table.leading_pair_sums(self._place(cols), q))

    def regress_out(self, root: int, cols: Index) -> Grain:
        """A new grain; columns that are neither in ``cols`` nor roots are let go."""
        ids = np.append(cols, root)
        # A table regresses out in place, so it is copied first.
        table = self.table.copy_of(self._place(ids)).regress_out(cols.size, np.arange(cols.size))
        return Grain(table, ids, self.labels, {**self.errors, root: table.columns[-1].copy()})

    def logit_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._loss_sums("logit_sums", cols, beta)

    def square_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._loss_sums("square_sums", cols, beta)

    def hazard_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._loss_sums("hazard_sums", cols, beta)

    def stage_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._loss_sums("stage_sums", cols, beta)

    def count_sums(self, cols: Index, beta: F64, dispersion: float) -> LossSums:
        return self._loss_sums("count_sums", cols, beta, dispersion)

    def _loss_sums(self, method: str, cols: Index, beta: F64, *more: float) -> LossSums:
        total = LossSums(0.0, np.zeros(beta.size), np.zeros((beta.size, beta.size)))
        for start in range(0, len(self.labels), ROWS_A_STEP):
            rows = slice(start, start + ROWS_A_STEP)
            errors = self.table.columns[:0, rows]
            if cols.size:
                errors = np.stack([self.errors[int(column)][rows] for column in cols])
            table = type(self.table)(errors, self.labels[rows])
            total = total + getattr(table, method)(np.arange(cols.size), beta, *more)
        return total

    def level_counts(self, cols: Index, edges: F64) -> F64:
        return self.table.level_counts(self._place(cols), edges)

    def with_levels(self, cols: Index, edges: F64, thresholds: F64) -> Grain:
        return replace(self, table=self.table.with_levels(self._place(cols), edges, thresholds))

    def level_sums(self, discrete: Index, cols: Index) -> LevelSums:
        return self.table.level_sums(self._place(discrete), self._place(cols))

    def level_pair_sums(self, discrete: Index, cols: Index, intercept: F64, slope: F64) -> F64:
        return self.table.level_pair_sums(self._place(discrete), self._place(cols), intercept, slope)

    def shift_levels(self, root: int, discrete: Index, intercept: F64, slope: F64) -> Grain:
        place = int(self._place(np.array([root]))[0])
        table = self.table.shift_levels(place, self._place(discrete), intercept, slope)
        return replace(self, table=table)

    def _place(self, cols: Index) -> Index:
        ranked = np.argsort(self.ids)
        return ranked[np.searchsorted(self.ids, cols, sorter=ranked)]


@dataclass(frozen=True)
class Branches:
    """Sums of some grains, added up as far as the tree goes without the others.

    Attributes
    ----------
    leaves : number of grains of the whole table.
    sums : by level, where grains are at level 0, and place in it.
    """

    leaves: int
    sums: Mapping[tuple[int, int], Any]

    @classmethod
    def of(cls, leaves: int, sums: Mapping[int, Any]) -> Branches:
        return cls(leaves, _grown({(0, grain): value for grain, value in sums.items()}, leaves))

    def __add__(self, other: Branches) -> Branches:
        return Branches(self.leaves, _grown({**self.sums, **other.sums}, self.leaves))

    @property
    def whole(self) -> Any:
        """The sum over all grains, once none is missing."""
        (total,) = self.sums.values()
        return total


def _grown(sums: dict[tuple[int, int], Any], leaves: int) -> dict[tuple[int, int], Any]:
    level, width = 0, leaves
    while width > 1:
        for _, left in sorted(key for key in sums if key[0] == level and key[1] % 2 == 0):
            right = (level, left + 1)
            if left + 1 == width:
                sums[level + 1, left // 2] = sums.pop((level, left))
            elif right in sums:
                sums[level + 1, left // 2] = sums.pop((level, left)) + sums.pop(right)
        level, width = level + 1, -(-width // 2)
    return sums


@dataclass(frozen=True)
class Part:
    """A run of grains, by their places among the ``leaves`` of the whole table."""

    leaves: int
    grains: Mapping[int, Any]  # a Grain, or what was made of one

    def __sizeof__(self) -> int:
        """What Dask counts when it decides whether to spill."""
        return sum(grain.nbytes for grain in self.grains.values())


def call(part: Part, method: str, threads: int, *args: Any) -> Part | Branches:
    """On a worker: what a method makes of each grain, as the next part or as sums."""
    use_threads(threads)
    with one_blas_thread():
        made = {place: getattr(grain, method)(*args) for place, grain in part.grains.items()}
    if isinstance(next(iter(made.values())), Grain):
        return Part(part.leaves, made)
    return Branches.of(part.leaves, made)


def made(part: Part, make: Callable[[Any, int], Any], threads: int) -> Part:
    """On a worker: what is made of each grain, and its place, as the next part."""
    return Part(part.leaves, _of_each(part, make, threads))


def summed(part: Part, ask: Callable[[Any, int], Any], threads: int) -> Branches:
    """On a worker: the sums of what is asked of each grain, and its place."""
    return Branches.of(part.leaves, _of_each(part, ask, threads))


def _of_each(part: Part, work: Callable[[Any, int], Any], threads: int) -> dict[int, Any]:
    use_threads(threads)
    with one_blas_thread():
        return {place: work(grain, place) for place, grain in part.grains.items()}


def grain_of(pieces: list[tuple[F64, np.ndarray | None]]) -> Grain:
    """Of standardized columns of neighbouring rows, and their outcome; on the GPU where there is one."""
    columns, labels = pieces[0]
    if len(pieces) > 1:
        columns = np.concatenate([z for z, _ in pieces], axis=1)
        labels = None if labels is None else np.concatenate([y for _, y in pieces])
    ids = np.arange(len(columns))
    if not columns.shape[1] or not _gpu_is_here():
        return Grain(NumbaTable(columns, labels), ids, labels)
    from ..cuda.rows import CupyRaw

    raw = CupyRaw(columns.T, labels)
    return Grain(raw.standardize(ids, np.zeros(ids.size), np.ones(ids.size)), ids, raw.labels)


@cache
def _gpu_is_here() -> bool:
    """Asked on a worker, of itself."""
    if find_spec("cupy") is None:
        return False
    from ..cuda.rows import device_count

    return device_count() > 0
