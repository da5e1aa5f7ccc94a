"""Rows that lie in this process: the nonlinear mechanism is learned from these, and from no others yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from ..errors import InputError
from ..method.table import F64, Index, Table
from ..method.weighted import Part, WeightedTable


@runtime_checkable
class HeldTable(Protocol):
    """A table whose columns are at hand as NumPy arrays."""

    @property
    def columns(self) -> F64:
        """(k, n) standardized."""
        ...

    def with_columns(self, Z: F64) -> Table:
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
    def of(cls, table: Table) -> HeldRows:
        """The rows of a table; an InputError where they are elsewhere."""
        parts = [part for part in _flat(Part(table, 1.0, 1.0)) if part.table.shape[0]]
        held = []
        for part in parts:
            if not isinstance(part.table, HeldTable):
                raise InputError(
                    "nonlinear relations are learned from rows in memory, not on a GPU or a cluster: use "
                    "backend='auto', 'numba' or 'numpy', or mechanism='linear'"
                )
            held.append((part.table, part.patients, part.copies))
        return cls(
            np.concatenate([np.asarray(one.columns) for one, *_ in held], axis=1),
            np.concatenate([np.full(part.table.shape[0], part.weight) for part in parts]),
            tuple(held),
            _measured(parts),
        )

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
        parts, start = [], 0
        for one, patients, _ in self._parts:
            n = one.columns.shape[1]
            parts.append(Part(one.with_columns(Z[:, start : start + n]), 1.0, patients))
            start += n
        return parts[0].table if len(parts) == 1 and parts[0].patients == 1.0 else WeightedTable(parts)


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
