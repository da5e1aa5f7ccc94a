"""A cohort in parts whose rows count differently: by their weights, or since several stand for one patient.

Incomplete patients are several rows that were filled in at random and that together count once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..table import F64, ColumnMoments, Index, RawTable
from ..weighted import ClassWeights, Part, WeighsRows, WeightedTable
from .gaussian import JointGaussian
from .sums import Imputer, IncompleteRaw, JointSums, View


@dataclass(frozen=True)
class RawPart:
    """Some rows, and how many patients one of them stands for; a part may be empty.

    Of each patient it has ``copies`` that were filled in.
    """

    raw: RawTable
    patients: float
    copies: int = 1

    def measured(self, cols: Index) -> np.ndarray | None:
        """(k, n) which values of some columns are no draws, where rows in memory say it."""
        return self.raw.measured(cols) if isinstance(self.raw, Draws) else None


@runtime_checkable
class Draws(Protocol):
    """Rows of which some values were drawn."""

    def measured(self, cols: Index) -> np.ndarray: ...


class PooledRaw:
    """A cohort in parts: patients measured in full, and copies of the others that differ in what was missing.

    Every sum is over patients: n stays n, however many copies there are. Of patients with weights, n is their
    effective sample size.
    """

    def __init__(self, parts: list[RawPart]) -> None:
        # Of parts without rows one is kept only if there is no other: all of them know the columns.
        parts = [inside for part in parts for inside in _flat(part)]
        self._parts = [part for part in parts if part.raw.shape[0]] or parts[:1]

    @property
    def parts(self) -> list[RawPart]:
        """What it is made of, none of which is in parts again."""
        return self._parts

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

    def weighted(self, weights: ClassWeights) -> RawTable | None:
        """Of rows that are all in one place, and count once each, what that place makes of them."""
        only = self._parts[0]
        alone = len(self._parts) == 1 and only.patients == 1.0 and isinstance(only.raw, WeighsRows)
        return only.raw.weighted(weights) if alone and isinstance(only.raw, WeighsRows) else None

    def standardize(self, cols: Index, mean: F64, sd: F64) -> WeightedTable:
        return WeightedTable(
            [
                Part(
                    part.raw.standardize(cols, mean, sd),
                    part.patients,
                    part.patients,
                    part.measured(cols),
                    part.copies,
                )
                for part in self._parts
            ]
        )


class PooledIncomplete:
    """Incomplete rows in parts of equal weight: every sum of the imputation is a weighted one."""

    def __init__(self, parts: Sequence[tuple[IncompleteRaw, float]]) -> None:
        self._parts = tuple(parts)

    @property
    def backend(self) -> str:
        return self._parts[0][0].backend

    @property
    def shape(self) -> tuple[int, int]:
        n = sum(weight * raw.shape[0] for raw, weight in self._parts)
        return round(n), self._parts[0][0].shape[1]

    def incomplete_rows(self) -> int:
        return sum(raw.incomplete_rows() for raw, _ in self._parts)

    def column_moments(self, shift: F64) -> ColumnMoments:
        return _total(weight * raw.column_moments(shift) for raw, weight in self._parts)

    def measured_sums(self, view: View) -> JointSums:
        return _total(weight * raw.measured_sums(view) for raw, weight in self._parts)

    def expected_sums(self, view: View, joint: JointGaussian) -> JointSums:
        return _total(weight * raw.expected_sums(view, joint) for raw, weight in self._parts)

    def filled(self, filling: Imputer) -> tuple[PooledRaw, PooledRaw]:
        both = [(raw.filled(filling), weight) for raw, weight in self._parts]
        complete, copies = (PooledRaw([RawPart(raws[k], weight) for raws, weight in both]) for k in (0, 1))
        return complete, copies


def _flat(part: RawPart) -> Iterator[RawPart]:
    """A part, or what it is made of."""
    if not isinstance(part.raw, PooledRaw):
        yield part
        return
    for inside in part.raw.parts:
        yield replace(inside, patients=part.patients * inside.patients, copies=part.copies * inside.copies)


def _total(sums: Iterable[Any]) -> Any:
    return reduce(lambda one, other: one + other, sums)
