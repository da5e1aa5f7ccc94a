"""A table made of parts whose rows count differently: classes of a population, or copies of one patient.

Rows of one inclusion weight are such a part, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from .table import F64, Index, KnownEntropies, LevelSums, LossSums, RawTable, Table

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


# Cases and controls that were sampled apart, weighted back to the population that they come from.
#
# A case-control study has other shares of cases and controls than the population. Given D, the errors of
# its causes are dependent; only where the classes come in the population's proportion does this cancel. So
# the sums that mechanisms are learned from are taken class by class, and added with two weights (inverse
# probability weighting). The likelihood of the labels needs none: under such sampling its coefficients are
# right as they are, and only its intercept moves (Prentice & Pyke 1979).


@dataclass(frozen=True)
class ClassWeights:
    """How much a row of each class counts; the weights of all rows add up to their number.

    Attributes
    ----------
    controls, cases : the weight of one row; both are 1 where the sample is the population.
    effective_rows : how many rows of equal weight would tell as much, (Σ w)² / Σ w² (Kish).
    """

    controls: float
    cases: float
    effective_rows: float

    @classmethod
    def of(cls, prevalence: float | None, count: F64) -> ClassWeights:
        """The weights of ``count`` (c,) rows a class; None takes the sample for the population."""
        n = float(count.sum())
        if prevalence is None:
            return cls(1.0, 1.0, n)
        n_controls, n_cases = count.tolist()
        controls, cases = (1.0 - prevalence) * n / n_controls, prevalence * n / n_cases
        return cls(controls, cases, n * n / (controls * controls * n_controls + cases * cases * n_cases))

    @property
    def equal(self) -> bool:
        return self.controls == 1.0 and self.cases == 1.0

    @property
    def log_odds(self) -> float:
        """What the log-odds of the disease are higher by in the population than in the sample."""
        return math.log(self.cases / self.controls)

    def total(self, sums: Any) -> Any:
        """The population's sum of sums by class (c, ...), wherever these are; c is 1 only without labels."""
        return sums.sum(axis=0) if self.equal else self.controls * sums[0] + self.cases * sums[1]


@runtime_checkable
class WeighsRows(Protocol):
    """A cohort whose classes are weighted where its rows are, so that one sum comes of both."""

    def weighted(self, weights: ClassWeights) -> RawTable | None:
        """The same rows, which count so from the standardized table on; None where they cannot."""
        ...


def standardized(raw: RawTable, weights: ClassWeights, cols: Index, mean: F64, sd: F64) -> Table:
    """The chosen columns of the population as ``(x − mean) / sd``, with its mean and standard deviation."""
    there = raw.weighted(weights) if isinstance(raw, WeighsRows) else None
    if there is not None:
        return there.standardize(cols, mean, sd)
    if weights.equal:
        return raw.standardize(cols, mean, sd)
    controls, cases = raw.by_class()
    # The likelihood of the labels is that of the sample: there every patient counts once.
    return WeightedTable(
        [
            Part(controls.standardize(cols, mean, sd), weights.controls, 1.0),
            Part(cases.standardize(cols, mean, sd), weights.cases, 1.0),
        ]
    )


# Rows that count differently, by inclusion weights: how much they tell, and rows that stand for them.
#
# A patient who was likely to be chosen for a study stands for few others, one who was not for many (inverse
# probability weighting). Sums over rows become weighted sums: rows of one weight are a part of the table,
# and what is asked of it is added up over the parts. More than :data:`MOST_WEIGHTS` different weights are
# rounded.

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
