"""Means over data sets, their standard errors, and which method is best by paired t-tests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from ..method.table import F64
from .paper import SIGNIFICANCE
from .rows import Row


@dataclass(frozen=True)
class Mean:
    """A mean over data sets.

    Attributes
    ----------
    mean, standard_error : NaN where there are too few values.
    count : data sets with a value.
    failed : data sets on which the method ended with an error.
    best : whether no other method is significantly better.
    """

    mean: float
    standard_error: float
    count: int
    failed: int
    best: bool = False

    @property
    def half_width(self) -> float:
        """Of the 95 % interval."""
        return half_width(self.standard_error, self.count)


@dataclass(frozen=True)
class Difference:
    """Of two methods on the same data sets: mean, standard error, and p-value of the paired t-test.

    With fewer than two common data sets there is no test, and the p-value is NaN.
    """

    mean: float
    standard_error: float
    p_value: float


def cell_rows(rows: Iterable[Row], n: int, p: int) -> list[Row]:
    return [row for row in rows if (row.n, row.p) == (n, p)]


def values(rows: Iterable[Row], method: str, metric: str) -> dict[int, float]:
    """Value of each data set, by its number, where the method gave one."""
    return {
        row.number: getattr(row, metric)
        for row in rows
        if row.method == method and getattr(row, metric) is not None
    }


def mean_of(numbers: Sequence[float] | F64) -> tuple[float, float]:
    """Mean and its standard error."""
    if not len(numbers):
        return math.nan, math.nan
    spread = float(np.std(numbers, ddof=1)) if len(numbers) > 1 else math.nan
    return float(np.mean(numbers)), spread / math.sqrt(len(numbers))


def summarise(
    rows: Sequence[Row], methods: Sequence[str], metric: str, *, larger_is_better: bool
) -> dict[str, Mean]:
    """One mean a method over the data sets of one cell; the best ones are marked as the paper marks them."""
    found = {method: values(rows, method, metric) for method in methods}
    means = {method: mean_of(list(found[method].values())) for method in methods}
    ranked = sorted(
        (method for method in methods if found[method]),
        key=lambda method: means[method][0],
        reverse=larger_is_better,
    )
    best = {
        method
        for method in ranked
        if method == ranked[0] or paired(found[ranked[0]], found[method]).p_value >= SIGNIFICANCE
    }
    failed = {
        method: sum(row.method == method and row.error is not None for row in rows) for method in methods
    }
    return {
        method: Mean(*means[method], len(found[method]), failed[method], method in best) for method in methods
    }


def paired(first: Mapping[int, float], second: Mapping[int, float]) -> Difference:
    """First less second, on the data sets that both have."""
    both = sorted(first.keys() & second.keys())
    difference = np.array([first[number] - second[number] for number in both])
    mean, error = mean_of(difference)
    if len(both) < 2:
        return Difference(mean, error, math.nan)
    if not difference.any():
        return Difference(mean, error, 1.0)
    if error == 0.0:
        return Difference(mean, error, 0.0)
    return Difference(mean, error, float(2 * stats.t.sf(abs(mean / error), len(both) - 1)))


def half_width(standard_error: float, count: int) -> float:
    """Of the 95 % interval of a mean over so many data sets, by Student's t."""
    return float(stats.t.ppf(0.975, count - 1)) * standard_error if count > 1 else math.nan


def ratio_of_means(numerator: Mapping[int, float], denominator: Mapping[int, float]) -> tuple[float, float]:
    """Mean over mean on the data sets that both have, with its standard error by the delta method."""
    both = sorted(numerator.keys() & denominator.keys())
    above = np.array([numerator[number] for number in both])
    below = np.array([denominator[number] for number in both])
    if not both:
        return math.nan, math.nan
    ratio = float(above.mean() / below.mean())
    return ratio, mean_of(above - ratio * below)[1] / float(below.mean())
