"""Incomplete patients, each as several rows that were filled in at random and that together count once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..table import F64, ColumnMoments, Index, RawTable
from ..weighted import Part, WeightedTable


@dataclass(frozen=True)
class RawPart:
    """Some rows, and how many patients one of them stands for; a part may be empty."""

    raw: RawTable
    patients: float

    def measured(self, cols: Index) -> np.ndarray | None:
        """(k, n) which values of some columns are no draws, where rows in memory say it."""
        return self.raw.measured(cols) if isinstance(self.raw, Draws) else None


@runtime_checkable
class Draws(Protocol):
    """Rows of which some values were drawn."""

    def measured(self, cols: Index) -> np.ndarray: ...


class PooledRaw:
    """A cohort in parts: patients measured in full, and copies of the others that differ in what was missing.

    Every sum is over patients: n stays n, however many copies there are.
    """

    def __init__(self, parts: list[RawPart]) -> None:
        # Of parts without rows one is kept only if there is no other: all of them know the columns.
        self._parts = [part for part in parts if part.raw.shape[0]] or parts[:1]

    @property
    def backend(self) -> str:
        return self._parts[0].raw.backend

    @property
    def shape(self) -> tuple[int, int]:
        n = sum(part.patients * part.raw.shape[0] for part in self._parts)
        return round(n), self._parts[0].raw.shape[1]

    def column_moments(self, shift: F64) -> ColumnMoments:
        return _total(part.patients * part.raw.column_moments(shift) for part in self._parts)

    def gram(self, cols: Index, mean: F64, sd: F64) -> F64:
        return _total(part.patients * part.raw.gram(cols, mean, sd) for part in self._parts)

    def by_class(self) -> tuple[PooledRaw, PooledRaw]:
        split = [part.raw.by_class() for part in self._parts]
        controls, cases = (
            PooledRaw([replace(part, raw=raws[c]) for part, raws in zip(self._parts, split, strict=True)])
            for c in (0, 1)
        )
        return controls, cases

    def standardize(self, cols: Index, mean: F64, sd: F64) -> WeightedTable:
        return WeightedTable(
            [
                Part(part.raw.standardize(cols, mean, sd), part.patients, part.patients, part.measured(cols))
                for part in self._parts
            ]
        )


def _total(sums: Iterable[Any]) -> Any:
    return reduce(lambda one, other: one + other, sums)
