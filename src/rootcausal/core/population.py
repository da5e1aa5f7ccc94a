"""Cases and controls that were sampled apart, weighted back to the population that they come from.

A case-control study has other shares of cases and controls than the population. Given D, the errors of its
causes are dependent; only where the classes come in the population's proportion does this cancel. So the sums
that mechanisms are learned from are taken class by class, and added with two weights (inverse probability
weighting). The likelihood of the labels needs none: under such sampling its coefficients are right as they
are, and only its intercept moves (Prentice & Pyke 1979).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .table import F64, Index, KnownEntropies, LevelSums, LogitSums, RawTable, Table


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


class PopulationTable:
    """Standardized columns, by class: a table whose sums are those of the population.

    The sums of the labels' likelihood are those of the sample.
    """

    def __init__(self, controls: Table, cases: Table, weights: ClassWeights) -> None:
        self._controls = controls
        self._cases = cases
        self._weights = weights

    @property
    def shape(self) -> tuple[int, int]:
        n_controls, k = self._controls.shape
        return n_controls + self._cases.shape[0], k

    @property
    def pairs_per_call(self) -> int:
        # A call here is one of each class; what both cost, in values, is spread over all rows.
        overhead = sum(part.pairs_per_call * part.shape[0] for part in (self._controls, self._cases))
        return max(1, overhead // self.shape[0])

    def gram(self) -> F64:
        return self._sum(lambda part: part.gram())

    def column_sums(self) -> F64:
        return self._sum(lambda part: part.column_sums())

    def with_correlations(self, r: F64) -> PopulationTable:
        return self._each(lambda part: part.with_correlations(r))

    def correlations(self, columns: int | Index) -> F64:
        return self._controls.correlations(columns)

    def pair_sums(self, i: Index, j: Index) -> F64:
        return self._sum(lambda part: part.pair_sums(i, j))

    def leading_pair_sums(self, cols: Index, q: int) -> Any:
        return self._sum(lambda part: part.leading_pair_sums(cols, q))

    def block_penalties(
        self, sums: Any, own: F64, n_rows: int, known: KnownEntropies | None = None
    ) -> tuple[F64, F64, Any]:
        return self._controls.block_penalties(sums, own, n_rows, known)

    def to_host(self, array: Any) -> F64:
        return self._controls.to_host(array)

    def regress_out(self, root: int, cols: Index) -> PopulationTable:
        return self._each(lambda part: part.regress_out(root, cols))

    def logit_sums(self, cols: Index, beta: F64) -> LogitSums:
        return self._controls.logit_sums(cols, beta) + self._cases.logit_sums(cols, beta)

    def level_counts(self, cols: Index, edges: F64) -> F64:
        return self._sum(lambda part: part.level_counts(cols, edges))

    def with_levels(self, cols: Index, edges: F64, thresholds: F64) -> PopulationTable:
        return self._each(lambda part: part.with_levels(cols, edges, thresholds))

    def level_sums(self, discrete: Index, cols: Index) -> LevelSums:
        return self._sum(lambda part: part.level_sums(discrete, cols))

    def level_pair_sums(self, discrete: Index, cols: Index, intercept: F64, slope: F64) -> F64:
        return self._sum(lambda part: part.level_pair_sums(discrete, cols, intercept, slope))

    def shift_levels(self, root: int, discrete: Index, intercept: F64, slope: F64) -> PopulationTable:
        return self._each(lambda part: part.shift_levels(root, discrete, intercept, slope))

    def _sum(self, ask: Callable[[Table], Any]) -> Any:
        # One class after the other, and wherever the sums are: those of many pairs are large.
        total = self._weights.controls * ask(self._controls)
        total += self._weights.cases * ask(self._cases)
        return total

    def _each(self, change: Callable[[Table], Table]) -> PopulationTable:
        return PopulationTable(change(self._controls), change(self._cases), self._weights)


def standardized(raw: RawTable, weights: ClassWeights, cols: Index, mean: F64, sd: F64) -> Table:
    """The chosen columns of the population as ``(x − mean) / sd``, with its mean and standard deviation."""
    if weights.equal:
        return raw.standardize(cols, mean, sd)
    controls, cases = raw.by_class()
    return PopulationTable(controls.standardize(cols, mean, sd), cases.standardize(cols, mean, sd), weights)
