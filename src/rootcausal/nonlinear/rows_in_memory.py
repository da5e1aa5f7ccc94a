"""Rows that lie in this process: the nonlinear mechanism is learned from these, and from no others yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ..errors import InputError
from ..method.table import F64, Table
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
    """

    Z: F64
    weights: F64
    _parts: tuple[tuple[HeldTable, float], ...]

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
            held.append((part.table, part.patients))
        return cls(
            np.concatenate([np.asarray(one.columns) for one, _ in held], axis=1),
            np.concatenate([np.full(part.table.shape[0], part.weight) for part in parts]),
            tuple(held),
        )

    def table(self, Z: F64) -> Table:
        """Other columns (k, n) of these rows, with their outcomes, each patient counting once."""
        parts, start = [], 0
        for one, patients in self._parts:
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
        yield from _flat(Part(inside.table, part.weight * inside.weight, part.patients * inside.patients))
