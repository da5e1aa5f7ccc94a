"""A table made of tables: their sums are added, and that is all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

from rootcausal.method.loops import Loops
from rootcausal.method.table import (
    F64,
    ColumnMoments,
    Index,
    KnownEntropies,
    LevelSums,
    LossSums,
    RawTable,
    Table,
)


class ShardedRaw:
    """Row-wise parts of one cohort."""

    def __init__(self, parts: Sequence[RawTable]) -> None:
        self._parts = list(parts)

    @property
    def backend(self) -> str:
        return self._parts[0].backend

    @property
    def shape(self) -> tuple[int, int]:
        return sum(part.shape[0] for part in self._parts), self._parts[0].shape[1]

    def column_moments(self, shift: F64) -> ColumnMoments:
        return reduce(add, (part.column_moments(shift) for part in self._parts))

    def gram(self, cols: Index, mean: F64, sd: F64) -> F64:
        return _total(part.gram(cols, mean, sd) for part in self._parts)

    def by_class(self) -> tuple[ShardedRaw, ShardedRaw]:
        controls, cases = zip(*(part.by_class() for part in self._parts), strict=True)
        return _of_some_rows(controls), _of_some_rows(cases)

    def standardize(self, cols: Index, mean: F64, sd: F64) -> ShardedTable:
        return ShardedTable([part.standardize(cols, mean, sd) for part in self._parts])


class ShardedTable:
    """Standardized columns, row-wise in parts."""

    def __init__(self, parts: Sequence[Table]) -> None:
        self._parts = list(parts)

    @property
    def shape(self) -> tuple[int, int]:
        return sum(part.shape[0] for part in self._parts), self._parts[0].shape[1]

    @property
    def loops(self) -> Loops:
        return self._parts[0].loops

    def own_search(self) -> None:
        return None

    @property
    def pairs_per_call(self) -> int:
        return max(part.pairs_per_call for part in self._parts)

    def gram(self) -> F64:
        return _total(part.gram() for part in self._parts)

    def column_sums(self) -> F64:
        return _total(part.column_sums() for part in self._parts)

    def with_correlations(self, r: F64) -> ShardedTable:
        return ShardedTable([part.with_correlations(r) for part in self._parts])

    def correlations(self, columns: int | Index) -> F64:
        return self._parts[0].correlations(columns)

    def pair_sums(self, i: Index, j: Index) -> F64:
        return _total(part.pair_sums(i, j) for part in self._parts)

    def leading_pair_sums(self, cols: Index, q: int) -> Any:
        return _total(part.leading_pair_sums(cols, q) for part in self._parts)

    def block_penalties(
        self, sums: Any, own: F64, n_rows: int, known: KnownEntropies | None = None
    ) -> tuple[F64, F64, Any]:
        return self._parts[0].block_penalties(sums, own, n_rows, known)

    def to_host(self, array: Any) -> F64:
        return self._parts[0].to_host(array)

    def regress_out(self, root: int, cols: Index) -> ShardedTable:
        return ShardedTable([part.regress_out(root, cols) for part in self._parts])

    def logit_sums(self, cols: Index, beta: F64) -> LossSums:
        return reduce(add, (part.logit_sums(cols, beta) for part in self._parts))

    def square_sums(self, cols: Index, beta: F64) -> LossSums:
        return reduce(add, (part.square_sums(cols, beta) for part in self._parts))

    def hazard_sums(self, cols: Index, beta: F64) -> LossSums:
        return reduce(add, (part.hazard_sums(cols, beta) for part in self._parts))

    def level_counts(self, cols: Index, edges: F64) -> F64:
        return _total(part.level_counts(cols, edges) for part in self._parts)

    def with_levels(self, cols: Index, edges: F64, thresholds: F64) -> ShardedTable:
        return ShardedTable([part.with_levels(cols, edges, thresholds) for part in self._parts])

    def level_sums(self, discrete: Index, cols: Index) -> LevelSums:
        return _total(part.level_sums(discrete, cols) for part in self._parts)

    def level_pair_sums(self, discrete: Index, cols: Index, intercept: F64, slope: F64) -> F64:
        return _total(part.level_pair_sums(discrete, cols, intercept, slope) for part in self._parts)

    def shift_levels(self, root: int, discrete: Index, intercept: F64, slope: F64) -> ShardedTable:
        return ShardedTable([part.shift_levels(root, discrete, intercept, slope) for part in self._parts])


def _of_some_rows(parts: Sequence[RawTable]) -> ShardedRaw:
    """A part need not have rows of both classes."""
    return ShardedRaw([part for part in parts if part.shape[0]])


def _total(sums: Any) -> Any:
    return reduce(add, sums)
