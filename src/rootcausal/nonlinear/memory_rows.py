"""Rows in memory, summed by compiled loops, several designs at once, whatever the number of threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Self

import numpy as np
from scipy.special import expit

from ..backends.cpu.threads import in_threads
from ..method.table import F64, Index
from .rows import LARGEST_LOG_SPREAD, LARGEST_RATIO, PRODUCT_WITHIN, TERMS_A_CAUSE, Designs, LevelledSums
from .spacing import BINS, SPACING, STRETCH, bin_edges
from .sum_kernels import entropy_units, gram_units, histogram_units, level_units, spread_units

# A level is never less likely than this, nor more certain than its complement.
LEAST_LIKELY = 1e-9
NOTHING = np.zeros((1, 1))


@dataclass(eq=False)
class MemoryRows:
    """See :class:`.rows.NonlinearRows`.

    Attributes
    ----------
    splines : (q · TERMS_A_CAUSE, n) rows of the splines; zero where a column has fewer.
    effects : (q, n) the columns as they are explained: standardized, and ties spread out.
    weights : (n,).
    codes : (q, n) places of the levels of columns that have any.
    level_values : the levels of each column, standardized; empty for numbers.
    """

    splines: F64
    effects: F64
    weights: F64
    codes: Index
    level_values: tuple[F64, ...]
    _errors: F64 = field(init=False)

    def __post_init__(self) -> None:
        self._errors = np.zeros_like(self.effects)

    @staticmethod
    def entropies(counts: F64, n_rows: float) -> F64:
        out = np.empty(len(counts))
        work = partial(entropy_units, counts, bin_edges(), SPACING, n_rows)
        in_threads(lambda begin, end: work(begin, end, out), len(counts), counts.size)
        return out

    def of_columns(self, columns: Index) -> Self:
        """The same of some columns."""
        at = (TERMS_A_CAUSE * columns[:, None] + np.arange(TERMS_A_CAUSE)).ravel()
        values = tuple(self.level_values[column] for column in columns)
        return type(self)(self.splines[at], self.effects[columns], self.weights, self.codes[columns], values)

    def sample(self, size: int) -> Self:
        """So many of the rows, the same each time."""
        return self.some(self.sampled(size))

    def sampled(self, size: int) -> Index:
        """Which they are."""
        return np.sort(np.random.default_rng(0).choice(self.weights.size, size, replace=False))

    def some(self, some: Index) -> Self:
        """Some of the rows."""
        return type(self)(
            np.ascontiguousarray(self.splines[:, some]),
            np.ascontiguousarray(self.effects[:, some]),
            self.weights[some],
            np.ascontiguousarray(self.codes[:, some]),
            self.level_values,
        )

    @property
    def weight(self) -> float:
        return float(self.weights.sum())

    def terms(self, designs: Designs, number: int) -> F64:
        """(1 + size, n): the constant, and the terms of one design."""
        size = designs.size[number]
        found = np.ones((size + 1, self.weights.size))
        for place in range(size):
            first, second = designs.first[number, place], designs.second[number, place]
            term = self.splines[first]
            if second >= 0:
                others = np.clip(self.splines[second], -PRODUCT_WITHIN, PRODUCT_WITHIN)
                term = np.clip(term, -PRODUCT_WITHIN, PRODUCT_WITHIN) * others
            found[place + 1] = term
        return found

    def grams(self, designs: Designs, gamma: F64 | None = None) -> F64:
        out = np.zeros((len(designs), designs.width + 1, designs.width + 1))
        asked = (*self._asked(designs), NOTHING if gamma is None else gamma, gamma is not None)
        work = partial(gram_units, *asked, PRODUCT_WITHIN, LARGEST_LOG_SPREAD)
        self._in_threads(designs, lambda begin, end: work(begin, end, out), designs.width)
        return out

    def spread_sums(self, designs: Designs, beta: F64, gamma: F64) -> F64:
        out = np.zeros((len(designs), designs.width))
        limits = (PRODUCT_WITHIN, LARGEST_LOG_SPREAD, LARGEST_RATIO)
        work = partial(spread_units, *self._asked(designs), beta, gamma, *limits)
        self._in_threads(designs, lambda begin, end: work(begin, end, out))
        return out

    def histograms(self, designs: Designs, beta: F64, gamma: F64 | None, unit: F64) -> tuple[F64, F64]:
        counts, sums = np.zeros((len(designs), BINS)), np.zeros((len(designs), 3))
        asked = (*self._asked(designs), beta, NOTHING if gamma is None else gamma, gamma is not None, unit)
        work = partial(histogram_units, *asked, PRODUCT_WITHIN, LARGEST_LOG_SPREAD, STRETCH)
        self._in_threads(designs, lambda begin, end: work(begin, end, counts, sums))
        return counts, sums

    def spread_limits(self, designs: Designs, gamma: F64) -> F64:
        found = np.empty((len(designs), 2))
        for number in range(len(designs)):
            spread = np.log(spread_of(self.terms(designs, number), gamma[number]))
            found[number] = spread.min(), spread.max()
        return found

    def level_sums(self, designs: Designs, beta: F64, thresholds: F64) -> LevelledSums:
        m, t, width = len(designs), thresholds.shape[1], designs.width
        found = LevelledSums.zero(m, width, t)
        asked = (self.splines, self.codes, self.weights, designs.effect, designs.first, designs.second)
        work = partial(level_units, *asked, designs.size, beta, thresholds, PRODUCT_WITHIN, LEAST_LIKELY)
        self._in_threads(designs, lambda begin, end: work(begin, end, *vars(found).values()), designs.width)
        return found

    def keep_errors(self, designs: Designs, beta: F64, gamma: F64 | None, thresholds: F64 | None) -> None:
        for number, effect in enumerate(designs.effect):
            z = self.terms(designs, number)
            if thresholds is None:
                spread = 1.0 if gamma is None else spread_of(z, gamma[number])
                error = self._left(designs, number, z, beta) / spread
            else:
                values = self.level_values[effect]
                eta = beta[number, : len(z)] @ z
                mean, sd = expected_level(eta, thresholds[number, : values.size - 1], values)
                error = (values[self.codes[effect]] - mean) / sd
            self._errors[effect] = standardized(error, self.weights)

    def error_of(self, effect: int) -> F64:
        """(n,) the errors of an effect that were kept."""
        return self._errors[effect]

    def dependence(self, effects: Index) -> F64:
        error = self._errors[effects]
        size = np.stack([standardized(one, self.weights) for one in np.abs(error)]) if len(error) else error
        n = self.weights.sum()
        both = np.stack([error, size], axis=1) * self.weights
        return (both @ self.splines.T) ** 2 / n

    def _asked(self, designs: Designs) -> tuple[np.ndarray, ...]:
        held = (self.splines, self.effects, self.weights)
        return (*held, designs.effect, designs.first, designs.second, designs.size)

    def _in_threads(self, designs: Designs, work: Callable[[int, int], None], times: int = 4) -> None:
        in_threads(work, len(designs), len(designs) * self.weights.size * times)

    def _left(self, designs: Designs, number: int, z: F64, beta: F64) -> F64:
        return self.effects[designs.effect[number]] - beta[number, : len(z)] @ z


def spread_of(z: F64, gamma: F64) -> F64:
    """(n,) the spread of rows by terms z (1 + t, n) and coefficients of its logarithm."""
    return np.exp(np.clip(gamma[: len(z)] @ z, -LARGEST_LOG_SPREAD, LARGEST_LOG_SPREAD))


def standardized(values: F64, weights: F64) -> F64:
    """With weighted mean zero and unit variance; zero where they do not vary."""
    total = weights.sum()
    centred = values - weights @ values / total
    sd = np.sqrt(weights @ (centred * centred) / total)
    return centred / sd if sd > 0 else centred


def expected_level(eta: F64, thresholds: F64, values: F64) -> tuple[F64, F64]:
    """Mean and standard deviation (n,) of a level with these ``values``, by a cumulative logit at ``eta``."""
    below = expit(np.concatenate([thresholds, [np.inf]])[:, None] - eta)
    share = np.diff(below, axis=0, prepend=0.0)
    mean = values @ share
    square = (values * values) @ share
    return mean, np.sqrt(np.maximum(square - mean * mean, LEAST_LIKELY))
