"""Rows in several places: what is asked of them is asked of each place, and the answers are added.

Rows never come together, but for a sample of a few thousand in which a graph is first looked for. What is no
sum in memory is one here: a quantile is found by counts, the next value of another is the least of the least
ones, and where a patient stands among those who share a value follows from how many do so before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from ..backends.cpu.loops import COMPILED
from ..method.loops import Loops
from ..method.table import F64, Index, LossSums
from .curves import Splines
from .memory_rows import HeldRows, MemoryRows, sampled
from .ranks import quantiles_by_counts
from .rows import Around, Designs, LevelledSums, Told
from .ties import Heaps, Seen

# Designs of one request: so many that the answers of a place, the longest of which are histograms, take 8 MB.
DESIGNS_AT_ONCE = 512

#: Which rows these are among all: the table, and the place in it.
Where = tuple[int, int]


@runtime_checkable
class Scattered(Protocol):
    """A table whose rows are in several places."""

    def made(self, make: Callable[[Any, int], Any]) -> Scattered:
        """The same with what ``make`` makes of the rows of each place, and its number."""
        ...

    def asked(self, ask: Callable[[Any, int], Any]) -> Callable[[], Any]:
        """The sum of what is asked of each place, and its number, once it is there."""
        ...


class Several(dict[Any, Any]):
    """Sums by name: those that both know are added."""

    def __add__(self, other: Several) -> Several:
        both = {name: self[name] + other[name] for name in self.keys() & other.keys()}
        return Several({**self, **other, **both})


@dataclass(frozen=True, eq=False)
class Ends:
    """(..., 2) the least and the greatest of some rows."""

    values: F64

    def __add__(self, other: Ends) -> Ends:
        least = np.minimum(self.values[..., 0], other.values[..., 0])
        return Ends(np.stack([least, np.maximum(self.values[..., 1], other.values[..., 1])], axis=-1))


@dataclass(frozen=True, eq=False)
class Places:
    """All the places of some tables: parts of a cohort whose rows weigh the same."""

    tables: tuple[Scattered, ...]

    def sum(self, ask: Callable[[Any, Where], Any]) -> Any:
        """The sum of what is asked of the rows of each place."""
        started = [table.asked(partial(_at, ask, number)) for number, table in enumerate(self.tables)]
        return reduce(add, [answer() for answer in started])

    def answers(self, method: str, *args: Any) -> Any:
        """The sum of what a method of the rows of each place answers."""
        return self.sum(partial(_answer, method, args))

    def ends(self, method: str, *args: Any) -> F64:
        """The least and greatest of what a method says of the rows of each place."""
        found: Ends = self.sum(partial(_ends, method, args))
        return found.values

    def each(self, make: Callable[[Any, Where], Any]) -> Places:
        """What is made of the rows of each place."""
        tables = [table.made(partial(_at, make, number)) for number, table in enumerate(self.tables)]
        return Places(tuple(tables))

    def quantiles(self, columns: Callable[[Any, Where], Ranked], shares: F64, n: int, weight: float) -> F64:
        """(k, s) of columns that are made of the rows of each place, and forgotten after it."""
        ranked = self.each(columns)
        ends = ranked.ends("extremes")
        return quantiles_by_counts(partial(ranked.answers, "not_above"), ends, shares, n, weight)


def _at(work: Callable[[Any, Where], Any], number: int, rows: Any, place: int) -> Any:
    return work(rows, (number, place))


def _answer(method: str, args: tuple[Any, ...], rows: Any, where: Where) -> Any:
    found = getattr(rows, method)(*args) if args else getattr(rows, method)
    return Several(found) if isinstance(found, dict) else found() if callable(found) else found


def _ends(method: str, args: tuple[Any, ...], rows: Any, where: Where) -> Ends:
    return Ends(getattr(rows, method)(*args))


def _by_place(method: str, args: tuple[Any, ...], rows: Any, where: Where) -> Several:
    return Several({where: _answer(method, args, rows, where)})


@dataclass(frozen=True, eq=False)
class Ranked:
    """Columns (k, n) of the rows of one place, each in ascending order; all rows weigh the same."""

    columns: F64
    weight: float

    @classmethod
    def of(cls, columns: F64, weights: F64) -> Ranked:
        return cls(np.sort(columns, axis=1), float(weights[0]) if weights.size else 0.0)

    @property
    def nbytes(self) -> int:
        return self.columns.nbytes

    def extremes(self) -> F64:
        least = self.columns.min(axis=1, initial=np.inf)
        return np.stack([least, self.columns.max(axis=1, initial=-np.inf)], axis=1)

    def not_above(self, values: F64) -> F64:
        """(k, m): what the rows weigh that are not above these values (k, m)."""
        found = [np.searchsorted(z, some, side="right") for z, some in zip(self.columns, values, strict=True)]
        return self.weight * np.array(found, dtype=np.float64).reshape(values.shape)


def _ranked(rows: HeldRows, where: Where) -> Ranked:
    return Ranked.of(rows.Z, rows.weights)


def _ranked_errors(told: Sequence[Told], rows: MemoryRows, where: Where) -> Ranked:
    errors = np.array(list(rows.plain_errors(told))).reshape(len(told), rows.n_rows)
    return Ranked.of(errors, rows.weights)


@dataclass(frozen=True, eq=False)
class ScatteredPlain:
    """See :class:`.rows.PlainRows`: each place has :class:`.memory_rows.HeldRows`."""

    places: Places
    n_columns: int
    n_rows: int
    weight: float
    patients: int

    @classmethod
    def of(cls, tables: Sequence[Scattered], make: Callable[[Any, Where], Any], n_columns: int) -> Self:
        """Of tables, of whose rows ``make`` makes such as each place has."""
        places = Places(tuple(tables)).each(make)
        n_rows, weight, patients = places.answers("counts").tolist()
        return cls(places, n_columns, round(n_rows), weight, round(patients))

    def gram(self) -> F64:
        found: F64 = self.places.answers("gram")
        return found

    def extremes(self) -> F64:
        return self.places.ends("extremes")

    def quantiles(self, shares: F64) -> F64:
        return self.places.quantiles(_ranked, shares, self.n_rows, self.weight)

    def curve_grams(self, knots: F64, curves: F64) -> F64:
        found: F64 = self.places.answers("curve_grams", knots, curves)
        return found

    def common(self, columns: Sequence[int], room: int) -> dict[int, F64]:
        seen: Mapping[int, Seen] = self.places.answers("seen", columns, room)
        return {column: some.values for column, some in seen.items()}

    def around(self, values: Mapping[int, F64]) -> Mapping[int, Around]:
        found: Mapping[int, Around] = self.places.answers("around", values)
        return found

    def grid_counts(self, grids: Mapping[int, tuple[float, float, int]]) -> Mapping[int, F64]:
        found: Mapping[int, F64] = self.places.answers("grid_counts", grids)
        return found

    def prepared(
        self, splines: Splines, level_values: tuple[F64, ...], heaps: Mapping[int, Heaps]
    ) -> ScatteredRows:
        before: dict[Where, dict[int, Index]] = {}
        if heaps:
            by_place = self.places.sum(partial(_by_place, "counted", (heaps,)))
            total = {column: np.zeros_like(of.count) for column, of in heaps.items()}
            for where in sorted(by_place):
                before[where] = dict(total)
                total = {column: counts + by_place[where][column] for column, counts in total.items()}
        make = partial(_prepared, splines, level_values, heaps, before)
        return ScatteredRows(self.places.each(make), self.n_columns, self.n_rows, self.weight, self.patients)


def _prepared(
    splines: Splines,
    level_values: tuple[F64, ...],
    heaps: Mapping[int, Heaps],
    before: Mapping[Where, dict[int, Index]],
    rows: HeldRows,
    where: Where,
) -> MemoryRows:
    return rows.prepared(splines, level_values, heaps, before.get(where))


@dataclass(frozen=True, eq=False)
class ScatteredRows:
    """See :class:`.rows.NonlinearRows`: each place has :class:`.memory_rows.MemoryRows`."""

    places: Places
    n_columns: int
    n_rows: int
    weight: float
    patients: int
    _kept: dict[int, Told] = field(default_factory=dict)

    def of_columns(self, columns: Index) -> Self:
        """The same of some columns."""
        chosen = self.places.each(partial(_of_columns, columns))
        return replace(self, places=chosen, n_columns=columns.size, _kept={})

    def sample(self, size: int) -> MemoryRows:
        """So many of the rows, the same each time, in this process."""
        by_place = self.places.sum(partial(_by_place, "n_rows", ()))
        rows, start, chosen = sampled(self.n_rows, size), 0, {}
        for where in sorted(by_place):
            n = by_place[where]
            first, last = np.searchsorted(rows, [start, start + n])
            chosen[where] = rows[first:last] - start
            start += n
        found = self.places.sum(partial(_some, chosen))
        some = [found[where] for where in sorted(found)]
        splines, effects, codes = (
            np.concatenate([getattr(one, name) for one in some], axis=1)
            for name in ("splines", "effects", "codes")
        )
        weights = np.concatenate([one.weights for one in some])
        return MemoryRows(splines, effects, weights, codes, some[0].level_values)

    def gram(self) -> F64:
        found: F64 = self.places.answers("gram")
        return found

    def extremes(self) -> F64:
        return self.places.ends("extremes")

    def grams(self, designs: Designs, gamma: F64 | None = None) -> F64:
        found = self._of_designs(len(designs), "grams", lambda some: (designs.take(some), _rows(gamma, some)))
        return np.concatenate(found)

    def spread_sums(self, designs: Designs, beta: F64, gamma: F64) -> F64:
        return np.concatenate(
            self._of_designs(
                len(designs), "spread_sums", lambda some: (designs.take(some), beta[some], gamma[some])
            )
        )

    def histograms(self, designs: Designs, beta: F64, gamma: F64 | None, unit: F64) -> tuple[F64, F64]:
        found = self._of_designs(
            len(designs),
            "joined_histograms",
            lambda some: (designs.take(some), beta[some], _rows(gamma, some), unit[some]),
        )
        joined = np.concatenate(found)
        return joined[:, 3:], joined[:, :3]

    def spread_limits(self, designs: Designs, gamma: F64) -> F64:
        return self.places.ends("spread_limits", designs, gamma)

    def level_sums(self, designs: Designs, beta: F64, thresholds: F64) -> LevelledSums:
        found = self._of_designs(
            len(designs), "level_sums", lambda some: (designs.take(some), beta[some], thresholds[some])
        )
        return LevelledSums(*(np.concatenate(parts) for parts in zip(*map(_values, found), strict=True)))

    def _of_designs(self, m: int, method: str, args: Callable[[Index], tuple[Any, ...]]) -> list[Any]:
        starts = range(0, max(m, 1), DESIGNS_AT_ONCE)
        at_once = [np.arange(start, min(start + DESIGNS_AT_ONCE, m)) for start in starts]
        return [self.places.answers(method, *args(some)) for some in at_once]

    def keep_errors(self, told: Sequence[Told]) -> None:
        self._kept.update({one.effect % self.n_columns: one for one in told})

    def dependence(self, effects: Index) -> F64:
        told = [self._kept[effect] for effect in effects.tolist()]
        mean = self.places.answers("error_totals", told) / self.weight
        found: F64 = self.places.answers("shared_sums", told, mean).dependence(self.weight)
        return found

    def error_quantiles(self, told: Sequence[Told], shares: F64) -> F64:
        return self.places.quantiles(partial(_ranked_errors, told), shares, self.n_rows, self.weight)

    def table(self, terms: Sequence[tuple[int, int]]) -> Any:
        return TermTable(self.places, self.patients, list(terms))


def _rows(values: F64 | None, some: Index) -> F64 | None:
    return None if values is None else values[some]


def _values(sums: LevelledSums) -> tuple[F64, ...]:
    return tuple(vars(sums).values())


def _of_columns(columns: Index, rows: MemoryRows, where: Where) -> MemoryRows:
    return rows.of_columns(columns)


def _some(chosen: Mapping[Where, Index], rows: MemoryRows, where: Where) -> Several:
    return Several({where: rows.some(chosen[where])})


@dataclass(frozen=True, eq=False)
class TermTable:
    """Terms as the columns of a table with the outcomes, of which it can be asked what a loss asks."""

    places: Places
    patients: int
    terms: list[tuple[int, int]]
    loops: Loops = COMPILED

    @property
    def shape(self) -> tuple[int, int]:
        return self.patients, len(self.terms)

    def logit_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._sums("logit_sums", cols, beta)

    def square_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._sums("square_sums", cols, beta)

    def hazard_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._sums("hazard_sums", cols, beta)

    def stage_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._sums("stage_sums", cols, beta)

    def count_sums(self, cols: Index, beta: F64, dispersion: float) -> LossSums:
        return self._sums("count_sums", cols, beta, dispersion)

    def _sums(self, method: str, *args: Any) -> LossSums:
        found: LossSums = self.places.answers("loss_sums", self.terms, method, args)
        return found
