"""A table made of parts whose rows count differently: classes of a population, or copies of one patient.

Rows of one inclusion weight are such a part, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .table import F64, Index, KnownEntropies, LevelSums, LossSums, Table

if TYPE_CHECKING:
    from .loops import Loops


@dataclass(frozen=True)
class Part:
    """Some rows of a table.

    Attributes
    ----------
    table : the rows.
    weight : how much one of them counts where mechanisms are learned.
    patients : how many patients of the sample one of them stands for; so it counts in the likelihood.
    measured : (k, n) which values of the columns of their rows are no draws; None where none are.
    copies : rows in a row that are one patient, filled in so many times.
    """

    table: Table
    weight: float
    patients: float
    measured: np.ndarray | None = None
    copies: int = 1


class WeightedTable:
    """Standardized columns in parts: every sum is the weighted sum of those of the parts."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = tuple(parts)

    @property
    def parts(self) -> tuple[Part, ...]:
        """What it is made of."""
        return self._parts

    @property
    def shape(self) -> tuple[int, int]:
        """Patients and columns."""
        n = sum(part.patients * part.table.shape[0] for part in self._parts)
        return round(n), self._first.shape[1]

    @property
    def loops(self) -> Loops:
        return self._first.loops

    @property
    def pairs_per_call(self) -> int:
        # A call here is one of each part; what all cost, in values, is spread over all rows.
        rows = [part.table.shape[0] for part in self._parts]
        overhead = sum(part.table.pairs_per_call * n for part, n in zip(self._parts, rows, strict=True))
        return max(1, overhead // max(1, sum(rows)))

    def own_search(self) -> None:
        return None  # its rows may be in several places

    def gram(self) -> F64:
        return self._sum(lambda table: table.gram())

    def column_sums(self) -> F64:
        return self._sum(lambda table: table.column_sums())

    def with_correlations(self, r: F64) -> WeightedTable:
        return self._each(lambda table: table.with_correlations(r))

    def correlations(self, columns: int | Index) -> F64:
        return self._first.correlations(columns)

    def pair_sums(self, i: Index, j: Index) -> F64:
        return self._sum(lambda table: table.pair_sums(i, j))

    def leading_pair_sums(self, cols: Index, q: int) -> Any:
        return self._sum(lambda table: table.leading_pair_sums(cols, q))

    def block_penalties(
        self, sums: Any, own: F64, n_rows: int, known: KnownEntropies | None = None
    ) -> tuple[F64, F64, Any]:
        return self._first.block_penalties(sums, own, n_rows, known)

    def to_host(self, array: Any) -> F64:
        return self._first.to_host(array)

    def regress_out(self, root: int, cols: Index) -> WeightedTable:
        return self._each(lambda table: table.regress_out(root, cols))

    def logit_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._of_patients(lambda table: table.logit_sums(cols, beta))

    def square_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._of_patients(lambda table: table.square_sums(cols, beta))

    def hazard_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._of_patients(lambda table: table.hazard_sums(cols, beta))

    def stage_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._of_patients(lambda table: table.stage_sums(cols, beta))

    def count_sums(self, cols: Index, beta: F64, dispersion: float) -> LossSums:
        return self._of_patients(lambda table: table.count_sums(cols, beta, dispersion))

    def set_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._of_patients(lambda table: table.set_sums(cols, beta))

    def _of_patients(self, ask: Callable[[Table], LossSums]) -> LossSums:
        first, *rest = self._parts
        total = first.patients * ask(first.table)
        for part in rest:
            total = total + part.patients * ask(part.table)
        return total

    def level_counts(self, cols: Index, edges: F64) -> F64:
        return self._sum(lambda table: table.level_counts(cols, edges))

    def with_levels(self, cols: Index, edges: F64, thresholds: F64) -> WeightedTable:
        return self._each(lambda table: table.with_levels(cols, edges, thresholds))

    def level_sums(self, discrete: Index, cols: Index) -> LevelSums:
        return self._sum(lambda table: table.level_sums(discrete, cols))

    def level_pair_sums(self, discrete: Index, cols: Index, intercept: F64, slope: F64) -> F64:
        return self._sum(lambda table: table.level_pair_sums(discrete, cols, intercept, slope))

    def shift_levels(self, root: int, discrete: Index, intercept: F64, slope: F64) -> WeightedTable:
        return self._each(lambda table: table.shift_levels(root, discrete, intercept, slope))

    @property
    def _first(self) -> Table:
        return self._parts[0].table

    def _sum(self, ask: Callable[[Table], Any]) -> Any:
        # One part after the other, and wherever the sums are: those of many pairs are large.
        first, *rest = self._parts
        total = first.weight * ask(first.table)
        for part in rest:
            total += part.weight * ask(part.table)
        return total

    def _each(self, apply: Callable[[Table], Table]) -> WeightedTable:
        return WeightedTable([Part(apply(part.table), part.weight, part.patients) for part in self._parts])
