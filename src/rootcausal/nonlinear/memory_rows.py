"""Rows in memory, summed by compiled loops, several designs at once, whatever the number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import expit

from ..backends.cpu.threads import in_threads
from ..method.table import F64, Index, LossSums, Table
from .ranks import quantiles_of
from .rows import (
    LARGEST_LOG_SPREAD,
    LARGEST_RATIO,
    PRODUCT_WITHIN,
    TERMS_A_CAUSE,
    Designs,
    LevelledSums,
    SharedSums,
    Told,
)
from .spacing import BINS, STRETCH
from .sum_kernels import gram_units, histogram_units, level_units, spread_units

if TYPE_CHECKING:
    from .rows_in_memory import HeldRows

# A level is never less likely than this, nor more certain than its complement.
LEAST_LIKELY = 1e-9
NOTHING = np.zeros((1, 1))


@dataclass(eq=False)
class MemoryRows:
    """See :class:`.rows.NonlinearRows`.

    Attributes
    ----------
    splines : (q · TERMS_A_CAUSE, n) rows of the splines; zero where a column has fewer.
    effects : (2 q, n) the columns as they are explained: standardized, and ties spread out; then the same on
        their other scales.
    weights : (n,).
    codes : (q, n) places of the levels of columns that have any.
    level_values : the levels of each column, standardized; empty for numbers.
    held : the same rows, with their outcomes; None of some of the rows.
    """

    splines: F64
    effects: F64
    weights: F64
    codes: Index
    level_values: tuple[F64, ...]
    held: HeldRows | None = None
    _errors: dict[int, F64] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        return self.weights.size

    @property
    def nbytes(self) -> int:
        held = 0 if self.held is None else self.held.nbytes
        return held + self.splines.nbytes + self.effects.nbytes + self.codes.nbytes

    def of_columns(self, columns: Index) -> Self:
        """The same of some columns."""
        at = (TERMS_A_CAUSE * columns[:, None] + np.arange(TERMS_A_CAUSE)).ravel()
        values = tuple(self.level_values[column] for column in columns)
        held = None if self.held is None else self.held.of_columns(columns)
        effects = self.effects[np.append(columns, columns + len(self.codes))]
        return type(self)(self.splines[at], effects, self.weights, self.codes[columns], values, held)

    @property
    def _lines(self) -> F64:
        """(q, n) the columns as they are."""
        return self.splines[::TERMS_A_CAUSE]

    def gram(self) -> F64:
        return (self._lines * self.weights) @ self._lines.T

    def extremes(self) -> F64:
        least, most = self._lines.min(axis=1, initial=np.inf), self._lines.max(axis=1, initial=-np.inf)
        return np.stack([least, most], axis=1)

    def table(self, terms: Sequence[tuple[int, int]]) -> Table:
        assert self.held is not None, "the outcomes of some of the rows are not known"
        return self.held.table(self.values_of(terms))

    def loss_sums(self, terms: Sequence[tuple[int, int]], method: str, args: tuple[Any, ...]) -> LossSums:
        """What a loss asks of :meth:`table`."""
        found: LossSums = getattr(self.table(terms), method)(*args)
        return found

    def values_of(self, terms: Sequence[tuple[int, int]]) -> F64:
        """(t, n) values of terms."""
        rows = np.empty((len(terms), self.weights.size))
        for row, (first, second) in zip(rows, terms, strict=True):
            row[:] = self.splines[first]
            if second >= 0:
                np.clip(row, -PRODUCT_WITHIN, PRODUCT_WITHIN, out=row)
                row *= np.clip(self.splines[second], -PRODUCT_WITHIN, PRODUCT_WITHIN)
        return rows

    def sample(self, size: int) -> Self:
        """So many of the rows, the same each time."""
        return self.some(self.sampled(size))

    def sampled(self, size: int) -> Index:
        """Which they are."""
        return sampled(self.weights.size, size)

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
        of_design = np.stack([designs.first[number, :size], designs.second[number, :size]], axis=1)
        return np.concatenate([np.ones((1, self.weights.size)), self.values_of(of_design.tolist())])

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

    def joined_histograms(self, designs: Designs, beta: F64, gamma: F64 | None, unit: F64) -> F64:
        """(m, 3 + BINS): the sums of :meth:`histograms`, and then these."""
        counts, sums = self.histograms(designs, beta, gamma, unit)
        return np.concatenate([sums, counts], axis=1)

    def spread_limits(self, designs: Designs, gamma: F64) -> F64:
        found = np.empty((len(designs), 2))
        for number in range(len(designs)):
            spread = np.log(spread_of(self.terms(designs, number), gamma[number]))
            found[number] = spread.min(initial=np.inf), spread.max(initial=-np.inf)
        return found

    def level_sums(self, designs: Designs, beta: F64, thresholds: F64) -> LevelledSums:
        m, t, width = len(designs), thresholds.shape[1], designs.width
        found = LevelledSums.zero(m, width, t)
        asked = (self.splines, self.codes, self.weights, designs.effect, designs.first, designs.second)
        work = partial(level_units, *asked, designs.size, beta, thresholds, PRODUCT_WITHIN, LEAST_LIKELY)
        self._in_threads(designs, lambda begin, end: work(begin, end, *vars(found).values()), designs.width)
        return found

    def keep_errors(self, told: Sequence[Told]) -> None:
        for one in told:
            error = self._error(one, self.effects)
            self._errors[one.effect % len(self.codes)] = standardized(error, self.weights)

    def error_totals(self, told: Sequence[Told]) -> F64:
        """(m,) Σ of errors."""
        return np.array([self.weights @ self._error(one, self.effects) for one in told])

    def shared_sums(self, told: Sequence[Told], mean: F64) -> SharedSums:
        """What errors less their ``mean`` (m,) in all rows have in common with the splines."""
        errors = np.empty((len(told), 2, self.weights.size))
        for both, one, centre in zip(errors, told, mean.tolist(), strict=True):
            both[0] = self._error(one, self.effects) - centre
            both[1] = np.abs(both[0])
        weighted = errors * self.weights
        square = np.einsum("msn,msn->ms", weighted, errors)
        return SharedSums(weighted @ self.splines.T, weighted.sum(axis=2), square)

    def error_quantiles(self, told: Sequence[Told], shares: F64) -> F64:
        found = [quantiles_of(error, self.weights, shares) for error in self.plain_errors(told)]
        return np.array(found).reshape(-1, shares.size)

    def plain_errors(self, told: Sequence[Told]) -> Iterator[F64]:
        """Errors (n,) of columns as they are, one after the other."""
        q = len(self.codes)
        return (self._error(one, self._lines if one.effect < q else self.effects) for one in told)

    def _error(self, told: Told, explained: F64) -> F64:
        """(n,) what is told leaves of a column, as it is explained (q, n)."""
        z = self.terms(told.designs, 0)
        expected = told.beta @ z
        if told.thresholds is None:
            spread = 1.0 if told.gamma is None else spread_of(z, told.gamma)
            return (explained[told.effect] - expected) / spread
        values = self.level_values[told.effect]
        mean, sd = expected_level(expected, told.thresholds, values)
        return (values[self.codes[told.effect]] - mean) / sd

    def error_of(self, effect: int) -> F64:
        """(n,) the errors of an effect that were kept."""
        return self._errors[effect]

    def dependence(self, effects: Index) -> F64:
        error = np.array([self._errors[effect] for effect in effects.tolist()])
        error = error.reshape(-1, self.weights.size)
        size = np.stack([standardized(one, self.weights) for one in np.abs(error)]) if len(error) else error
        n = self.weights.sum()
        both = np.stack([error, size], axis=1) * self.weights
        return (both @ self.splines.T) ** 2 / n

    def _asked(self, designs: Designs) -> tuple[np.ndarray, ...]:
        held = (self.splines, self.effects, self.weights)
        return (*held, designs.effect, designs.first, designs.second, designs.size)

    def _in_threads(self, designs: Designs, work: Callable[[int, int], None], times: int = 4) -> None:
        in_threads(work, len(designs), len(designs) * self.weights.size * times)


def sampled(n: int, size: int) -> Index:
    """So many of n rows, the same each time."""
    return np.sort(np.random.default_rng(0).choice(n, size, replace=False))


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


def codes_of(z: F64, values: F64) -> Index:
    """(n,) the level of each value; zero where there are none."""
    if not values.size:
        return np.zeros(z.size, dtype=np.intp)
    return np.searchsorted(0.5 * (values[1:] + values[:-1]), z)
