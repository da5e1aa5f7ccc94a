"""Rows in memory, summed by compiled loops, several designs at once, whatever the number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, Self, cast, runtime_checkable

import numpy as np
from scipy.special import expit

from ..backends.cpu.compiler import in_threads
from ..method.table import F64, Index, LossSums, Table
from ..method.weighted import Part, WeightedTable
from .curves import Splines
from .ranks import quantiles_of
from .rows import (
    LARGEST_LOG_SPREAD,
    LARGEST_RATIO,
    PRODUCT_WITHIN,
    TERMS_A_CAUSE,
    Around,
    Designs,
    LevelledSums,
    SharedSums,
    Told,
)
from .scales import with_scales
from .sum_kernels import BINS, STRETCH, fill_curves, gram_units, histogram_units, level_units, spread_units
from .ties import Heaps, Seen, grid_counts

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


# Rows that lie in this process, or in one of a cluster, before their splines are known.


@runtime_checkable
class HeldTable(Protocol):
    """A table whose columns are at hand, as NumPy arrays or on a GPU."""

    @property
    def columns(self) -> Any:
        """(k, n) standardized."""
        ...

    def with_columns(self, Z: Any) -> Table:
        """Other columns (k, n) of the same rows, with their outcomes."""
        ...


@dataclass(frozen=True, eq=False)
class HeldRows:
    """All rows of a table, one part after the other.

    Attributes
    ----------
    Z : (k, n) standardized columns.
    weights : (n,) what a row counts where mechanisms are learned.
    measured : (k, n) which values are no draws; None where none are.
    """

    Z: F64
    weights: F64
    _parts: tuple[tuple[HeldTable, float, int], ...]
    measured: np.ndarray | None = None

    @classmethod
    def of(cls, parts: Sequence[Part]) -> HeldRows:
        """The rows of tables in memory."""
        tables = [cast(HeldTable, part.table) for part in parts]
        held = tuple((table, part.patients, part.copies) for table, part in zip(tables, parts, strict=True))
        columns = [np.asarray(table.columns) for table in tables]
        return cls(
            columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1),
            np.concatenate([np.full(part.table.shape[0], part.weight) for part in parts]),
            held,
            _measured(parts),
        )

    @property
    def n_rows(self) -> int:
        return self.weights.size

    @property
    def weight(self) -> float:
        return float(self.weights.sum())

    @property
    def nbytes(self) -> int:
        return self.Z.nbytes + self.weights.nbytes

    @property
    def counts(self) -> F64:
        """(3,) rows, what they weigh, and how many patients there are for the outcome."""
        patients = sum(patients * one.columns.shape[1] for one, patients, _ in self._parts)
        return np.array([self.n_rows, self.weight, patients])

    def gram(self) -> F64:
        return (self.Z * self.weights) @ self.Z.T

    def extremes(self) -> F64:
        least, most = self.Z.min(axis=1, initial=np.inf), self.Z.max(axis=1, initial=-np.inf)
        return np.stack([least, most], axis=1)

    def quantiles(self, shares: F64) -> F64:
        found = [quantiles_of(z, self.weights, shares) for z in self.Z]
        return np.array(found).reshape(len(self.Z), shares.size)  # of no columns too

    def curve_grams(self, knots: F64, curves: F64) -> F64:
        found = np.zeros((len(curves), curves.shape[1], curves.shape[1]))
        values = np.empty((curves.shape[1], self.n_rows))
        for column, z in enumerate(self.Z):
            fill_curves(z, knots[column], curves[column], values)
            found[column] = (values * self.weights) @ values.T
        return found

    def common(self, columns: Sequence[int], room: int) -> dict[int, F64]:
        return {column: seen.values for column, seen in self.seen(columns, room).items()}

    def seen(self, columns: Sequence[int], room: int) -> dict[int, Seen]:
        """What of :meth:`common` can be added to that of other rows."""
        return {column: Seen.of(self.Z[column], room) for column in columns}

    def around(self, values: Mapping[int, F64]) -> dict[int, Around]:
        return {column: around(self.Z[column], some) for column, some in values.items()}

    def counted(self, heaps: Mapping[int, Heaps]) -> dict[int, Index]:
        """How many rows share each common value of some columns."""
        return {column: of.counted(self.Z[column]) for column, of in heaps.items()}

    def grid_counts(self, grids: Mapping[int, tuple[float, float, int]]) -> dict[int, F64]:
        return {column: grid_counts(self.Z[column], grid) for column, grid in grids.items()}

    def prepared(
        self,
        splines: Splines,
        level_values: tuple[F64, ...],
        heaps: Mapping[int, Heaps],
        before: Mapping[int, Index] | None = None,
    ) -> MemoryRows:
        """See :class:`.rows.PlainRows`; ``before`` these rows others may have had of common values."""
        rows = np.empty((len(self.Z), TERMS_A_CAUSE, self.n_rows))
        effects, codes = self.Z.copy(), np.empty(self.Z.shape, dtype=np.intp)
        for column, (z, values) in enumerate(zip(self.Z, level_values, strict=True)):
            fill_curves(z, splines.knots[column], splines.curves[column], rows[column])
            codes[column] = codes_of(z, values)
            if column in heaps:
                of_heaps = heaps[column]
                seen = np.zeros_like(of_heaps.count) if before is None else before[column]
                effects[column] = of_heaps.spread(z, seen)
        flat = rows.reshape(TERMS_A_CAUSE * len(self.Z), self.n_rows)
        effects = with_scales(effects, splines.marks)
        return MemoryRows(flat, effects, self.weights, codes, level_values, self)

    def of_columns(self, columns: Index) -> HeldRows:
        """The same of some columns."""
        measured = None if self.measured is None else self.measured[columns]
        return replace(self, Z=self.Z[columns], measured=measured)

    @property
    def one_a_patient(self) -> tuple[Index, F64]:
        """The first copy of each patient, and their weights (m,)."""
        first, weights, start = [], [], 0
        for one, _, copies in self._parts:
            n = one.columns.shape[1]
            rows = np.arange(start, start + n, copies)
            first.append(rows)
            weights.append(self.weights[rows] * copies)
            start += n
        return np.concatenate(first), np.concatenate(weights)

    def table(self, Z: F64) -> Table:
        """Other columns (k, n) of these rows, with their outcomes, each patient counting once."""
        return with_outcomes(self._parts, Z)


def with_outcomes(held: Sequence[tuple[HeldTable, float, int]], Z: Any) -> Table:
    """Columns (k, n) of the rows of some tables with their outcomes, each patient counting once."""
    parts, start = [], 0
    for one, patients, _ in held:
        n = one.columns.shape[1]
        parts.append(Part(one.with_columns(Z[:, start : start + n]), 1.0, patients))
        start += n
    return parts[0].table if len(parts) == 1 and parts[0].patients == 1.0 else WeightedTable(parts)


def parts_of(table: Table) -> list[Part]:
    """What a table is made of, as far as it has rows."""
    return [part for part in _flat(Part(table, 1.0, 1.0)) if part.table.shape[0]]


def _flat(part: Part) -> Iterator[Part]:
    """A part, or what it is made of."""
    if not isinstance(part.table, WeightedTable):
        yield part
        return
    for inside in part.table.parts:
        scaled = replace(
            inside,
            weight=part.weight * inside.weight,
            patients=part.patients * inside.patients,
            copies=part.copies * inside.copies,
        )
        yield from _flat(scaled)


def _measured(parts: Sequence[Part]) -> np.ndarray | None:
    """(k, n) which values of parts are no draws; None where none are."""
    if all(part.measured is None for part in parts):
        return None
    found = [
        np.ones(part.table.shape[::-1], dtype=bool) if part.measured is None else part.measured
        for part in parts
    ]
    return np.concatenate(found, axis=1)


def around(z: F64, values: F64) -> Around:
    """What lies around ascending values in a column."""
    ranked = np.concatenate([[-np.inf], np.sort(z), [np.inf]])
    first, last = np.searchsorted(ranked, values), np.searchsorted(ranked, values, side="right")
    return Around(last - first, ranked[first - 1], ranked[last])
