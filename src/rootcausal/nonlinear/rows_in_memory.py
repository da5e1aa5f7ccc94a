"""Rows that lie in this process, or in one of a cluster, before their splines are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from ..method.table import F64, Index, Table
from ..method.weighted import Part, WeightedTable
from .curves import Splines
from .memory_rows import MemoryRows, codes_of
from .ranks import quantiles_of
from .rows import TERMS_A_CAUSE, Around
from .scales import with_scales
from .sum_kernels import fill_curves
from .ties import Heaps, Seen, grid_counts


@runtime_checkable
class HeldTable(Protocol):
    """A table whose columns are at hand, as NumPy arrays or on a GPU."""

    @property
    def columns(self) -> Any:
        """(k, n) standardized."""
        ...

    def with_columns(self, Z: Any) -> Table:
        """Other columns (k, n) of the same rows, with their outcomes."""
        ...


@dataclass(frozen=True, eq=False)
class HeldRows:
    """All rows of a table, one part after the other.

    Attributes
    ----------
    Z : (k, n) standardized columns.
    weights : (n,) what a row counts where mechanisms are learned.
    measured : (k, n) which values are no draws; None where none are.
    """

    Z: F64
    weights: F64
    _parts: tuple[tuple[HeldTable, float, int], ...]
    measured: np.ndarray | None = None

    @classmethod
    def of(cls, parts: Sequence[Part]) -> HeldRows:
        """The rows of tables in memory."""
        tables = [cast(HeldTable, part.table) for part in parts]
        held = tuple((table, part.patients, part.copies) for table, part in zip(tables, parts, strict=True))
        columns = [np.asarray(table.columns) for table in tables]
        return cls(
            columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1),
            np.concatenate([np.full(part.table.shape[0], part.weight) for part in parts]),
            held,
            _measured(parts),
        )

    @property
    def n_rows(self) -> int:
        return self.weights.size

    @property
    def weight(self) -> float:
        return float(self.weights.sum())

    @property
    def nbytes(self) -> int:
        return self.Z.nbytes + self.weights.nbytes

    @property
    def counts(self) -> F64:
        """(3,) rows, what they weigh, and how many patients there are for the outcome."""
        patients = sum(patients * one.columns.shape[1] for one, patients, _ in self._parts)
        return np.array([self.n_rows, self.weight, patients])

    def gram(self) -> F64:
        return (self.Z * self.weights) @ self.Z.T

    def extremes(self) -> F64:
        least, most = self.Z.min(axis=1, initial=np.inf), self.Z.max(axis=1, initial=-np.inf)
        return np.stack([least, most], axis=1)

    def quantiles(self, shares: F64) -> F64:
        return np.stack([quantiles_of(z, self.weights, shares) for z in self.Z])

    def curve_grams(self, knots: F64, curves: F64) -> F64:
        found = np.zeros((len(curves), curves.shape[1], curves.shape[1]))
        values = np.empty((curves.shape[1], self.n_rows))
        for column, z in enumerate(self.Z):
            fill_curves(z, knots[column], curves[column], values)
            found[column] = (values * self.weights) @ values.T
        return found

    def common(self, columns: Sequence[int], room: int) -> dict[int, F64]:
        return {column: seen.values for column, seen in self.seen(columns, room).items()}

    def seen(self, columns: Sequence[int], room: int) -> dict[int, Seen]:
        """What of :meth:`common` can be added to that of other rows."""
        return {column: Seen.of(self.Z[column], room) for column in columns}

    def around(self, values: Mapping[int, F64]) -> dict[int, Around]:
        return {column: around(self.Z[column], some) for column, some in values.items()}

    def counted(self, heaps: Mapping[int, Heaps]) -> dict[int, Index]:
        """How many rows share each common value of some columns."""
        return {column: of.counted(self.Z[column]) for column, of in heaps.items()}

    def grid_counts(self, grids: Mapping[int, tuple[float, float, int]]) -> dict[int, F64]:
        return {column: grid_counts(self.Z[column], grid) for column, grid in grids.items()}

    def prepared(
        self,
        splines: Splines,
        level_values: tuple[F64, ...],
        heaps: Mapping[int, Heaps],
        before: Mapping[int, Index] | None = None,
    ) -> MemoryRows:
        """See :class:`.rows.PlainRows`; ``before`` these rows others may have had of common values."""
        rows = np.empty((len(self.Z), TERMS_A_CAUSE, self.n_rows))
        effects, codes = self.Z.copy(), np.empty(self.Z.shape, dtype=np.intp)
        for column, (z, values) in enumerate(zip(self.Z, level_values, strict=True)):
            fill_curves(z, splines.knots[column], splines.curves[column], rows[column])
            codes[column] = codes_of(z, values)
            if column in heaps:
                of_heaps = heaps[column]
                seen = np.zeros_like(of_heaps.count) if before is None else before[column]
                effects[column] = of_heaps.spread(z, seen)
        flat = rows.reshape(TERMS_A_CAUSE * len(self.Z), self.n_rows)
        effects = with_scales(effects, splines.marks)
        return MemoryRows(flat, effects, self.weights, codes, level_values, self)

    def of_columns(self, columns: Index) -> HeldRows:
        """The same of some columns."""
        measured = None if self.measured is None else self.measured[columns]
        return replace(self, Z=self.Z[columns], measured=measured)

    @property
    def one_a_patient(self) -> tuple[Index, F64]:
        """The first copy of each patient, and their weights (m,)."""
        first, weights, start = [], [], 0
        for one, _, copies in self._parts:
            n = one.columns.shape[1]
            rows = np.arange(start, start + n, copies)
            first.append(rows)
            weights.append(self.weights[rows] * copies)
            start += n
        return np.concatenate(first), np.concatenate(weights)

    def table(self, Z: F64) -> Table:
        """Other columns (k, n) of these rows, with their outcomes, each patient counting once."""
        return with_outcomes(self._parts, Z)


def with_outcomes(held: Sequence[tuple[HeldTable, float, int]], Z: Any) -> Table:
    """Columns (k, n) of the rows of some tables with their outcomes, each patient counting once."""
    parts, start = [], 0
    for one, patients, _ in held:
        n = one.columns.shape[1]
        parts.append(Part(one.with_columns(Z[:, start : start + n]), 1.0, patients))
        start += n
    return parts[0].table if len(parts) == 1 and parts[0].patients == 1.0 else WeightedTable(parts)


def parts_of(table: Table) -> list[Part]:
    """What a table is made of, as far as it has rows."""
    return [part for part in _flat(Part(table, 1.0, 1.0)) if part.table.shape[0]]


def _flat(part: Part) -> Iterator[Part]:
    """A part, or what it is made of."""
    if not isinstance(part.table, WeightedTable):
        yield part
        return
    for inside in part.table.parts:
        scaled = replace(
            inside,
            weight=part.weight * inside.weight,
            patients=part.patients * inside.patients,
            copies=part.copies * inside.copies,
        )
        yield from _flat(scaled)


def _measured(parts: Sequence[Part]) -> np.ndarray | None:
    """(k, n) which values of parts are no draws; None where none are."""
    if all(part.measured is None for part in parts):
        return None
    found = [
        np.ones(part.table.shape[::-1], dtype=bool) if part.measured is None else part.measured
        for part in parts
    ]
    return np.concatenate(found, axis=1)


def around(z: F64, values: F64) -> Around:
    """What lies around ascending values in a column."""
    ranked = np.concatenate([[-np.inf], np.sort(z), [np.inf]])
    first, last = np.searchsorted(ranked, values), np.searchsorted(ranked, values, side="right")
    return Around(last - first, ranked[first - 1], ranked[last])
