"""Cases and controls that were sampled apart, weighted back to the population that they come from.

A case-control study has other shares of cases and controls than the population. Given D, the errors of its
causes are dependent; only where the classes come in the population's proportion does this cancel. So the sums
that mechanisms are learned from are taken class by class, and added with two weights (inverse probability
weighting). The likelihood of the labels needs none: under such sampling its coefficients are right as they
are, and only its intercept moves (Prentice & Pyke 1979).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from .table import F64, Index, RawTable, Table
from .weighted import Part, WeightedTable


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
