"""Rows that count differently, by inclusion weights: how much they tell, and rows that stand for them.

A patient who was likely to be chosen for a study stands for few others, one who was not for many (inverse
probability weighting). Sums over rows become weighted sums: rows of one weight are a part of the table, and
what is asked of it is added up over the parts. More than :data:`MOST_WEIGHTS` different weights are rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .table import F64, Index

# Each is a part of the table with a call of its own for every sum.
MOST_WEIGHTS = 50
# Rows that tell what an outcome is like: so many a patient, or in all.
FINEST, FINEST_ROWS = 32, 4_000_000


@dataclass(frozen=True, eq=False)
class RowWeights:
    """What n rows count.

    Attributes
    ----------
    weights : (n,) above zero; they add up to how many rows of equal weight would tell as much.
    """

    weights: F64

    @classmethod
    def of(cls, weights: F64) -> RowWeights:
        """Of weights (n,) above zero, whatever they add up to."""
        return cls(weights * (max(round(effective_rows(weights)), 1) / weights.sum()))

    @property
    def rows(self) -> int:
        """The effective sample size, rounded."""
        return round(float(self.weights.sum()))

    def taken(self, rows: Index) -> RowWeights:
        """Those of some rows, each as often as it is named."""
        return RowWeights.of(self.weights[rows])

    @cached_property
    def alike(self) -> list[tuple[Index, float]]:
        """The parts of rows of equal weight, and what a row of each counts.

        Beyond :data:`MOST_WEIGHTS` different ones, those that are within the same few per cent are one, and
        count as they do on average.
        """
        different = np.unique(self.weights)
        edges = edges_between(different, (float(different[0]), float(different[-1])))
        place = np.searchsorted(edges, self.weights, side="right")
        return [
            (rows, float(self.weights[rows].mean()))
            for rows in (np.flatnonzero(place == one) for one in np.unique(place))
        ]

    @cached_property
    def sample(self) -> Index:
        """Rows that stand for all, the same each time, each as often as it counts (systematic sampling).

        As many as the effective sample size, for what is asked of patients who count the same.
        """
        reached = np.floor(np.cumsum(self.weights) + 0.5).astype(np.intp)
        reached[-1] = self.rows
        return np.repeat(np.arange(self.weights.size), np.diff(np.append(0, reached)))

    @property
    def fine(self) -> Index:
        """Rows, each at least once and many times as often as it counts: shares among them are weighted."""
        n = self.weights.size
        times = fine_times(n) / self.weights.mean()
        return np.repeat(np.arange(n), np.maximum(np.rint(self.weights * times), 1.0).astype(np.intp))


def edges_between(different: F64, extremes: tuple[float, float]) -> F64:
    """(m,) weights from each of which on a part begins, besides the first part.

    Every one of the ``different`` weights, ascending, has its own, if they are not too many.
    """
    if different.size <= MOST_WEIGHTS:
        return different[1:]
    found: F64 = np.geomspace(*extremes, MOST_WEIGHTS + 1)[1:-1]
    return found


def fine_times(n: int) -> int:
    """How often a row of average weight is there among those that tell what an outcome is like."""
    return max(min(FINEST, FINEST_ROWS // n), 1)


def rows_that_tell(made: Mapping[str, Any]) -> int:
    """How many rows of equal weight those of a fit tell as much as, by what a model remembers of it."""
    found: int = made.get("weights", {}).get("effective", made["rows"])
    return found


def effective_rows(weights: F64) -> float:
    """How many rows of equal weight would tell as much, (Σ w)² / Σ w² (Kish 1965)."""
    return float(weights.sum() ** 2 / (weights @ weights))
