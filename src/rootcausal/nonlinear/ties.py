"""Values that many patients share, spread out: a rounded column has no density, and no entropy.

Readings are rounded, and some numbers are read more often than others (heaping): 70, 75 and 80 beats a
minute, and hardly ever 77. No cause explains that, and what is left of such a column once its causes are
known has no heaps: it would seem to be more surprising than the column itself.

What has to be known of the rows are counts, which add up: of values that may be common, and on a grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..method.table import F64, Index
from .rows import Around, PlainRows

# Values that so many patients share are spread: this times the root of their number, at least MOST_BY_CHANCE.
SHARED = 1.0 / 3.0
MOST_BY_CHANCE = 8
# Standard deviations over which it is looked how common values are around a common one, and points in each.
SMOOTH_OVER = 0.2
POINTS_A_STEP = 8
MOST_POINTS = 1 << 16
# Odd numbers by which the bits of a rank are mixed.
MIXED_BY = (0x9E3779B1, 0x85EBCA6B)


@dataclass(frozen=True, eq=False)
class Heaps:
    """The common values of one column, ascending, and where their patients are put.

    Attributes
    ----------
    values : (m,).
    count : (m,) patients who share each.
    left, room : (m,) they are placed evenly in ``room``, from ``left`` on.
    """

    values: F64
    count: Index
    left: F64
    room: F64

    def places(self, z: F64) -> Index:
        """(n,) which of the values each of z is; -1 where it is none."""
        at = np.minimum(np.searchsorted(self.values, z), self.values.size - 1)
        return np.where(self.values[at] == z, at, -1)

    def counted(self, z: F64) -> Index:
        """(m,) how often each of the values is among z."""
        places = self.places(z)
        return np.bincount(places[places >= 0], minlength=self.values.size)

    def spread(self, z: F64, before: Index) -> F64:
        """Common values spread out; ``before`` (m,) of each were among the rows before these.

        Patients are placed in an order that has nothing to do with the other columns, and is the same each
        time.
        """
        place = self.places(z)
        common = np.flatnonzero(place >= 0)
        place = place[common]
        by_value = np.argsort(place, kind="stable")
        counts = np.bincount(place, minlength=self.values.size)
        rank = np.empty(place.size, dtype=np.intp)
        rank[by_value] = np.arange(place.size) - np.repeat(np.cumsum(counts) - counts, counts)
        rank = _shuffled(rank + before[place], self.count[place])
        found = z.copy()
        found[common] = self.left[place] + self.room[place] * (rank + 0.5) / self.count[place]
        return found


@dataclass(frozen=True, eq=False)
class Seen:
    """Values of a column that may be common; what more than one in ``room`` rows share is among them.

    Where there are more values, the counts of all are less by that of the first that there is no room for
    (Misra & Gries 1982): so those of parts of the rows can be added, and never take more room.
    """

    values: F64
    counts: Index
    room: int

    @classmethod
    def of(cls, z: F64, room: int) -> Seen:
        return cls(*np.unique(z, return_counts=True), room)._within()

    def __add__(self, other: Seen) -> Seen:
        values, place = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        counts = np.zeros(values.size, dtype=np.intp)
        np.add.at(counts, place, np.concatenate([self.counts, other.counts]))
        return Seen(values, counts, self.room)._within()

    def _within(self) -> Seen:
        if self.counts.size <= self.room:
            return self
        less = np.partition(self.counts, -self.room - 1)[-self.room - 1]
        kept = self.counts > less
        return Seen(self.values[kept], self.counts[kept] - less, self.room)


def heaps_of(rows: PlainRows, which: Sequence[int]) -> dict[int, Heaps]:
    """The common values of some of the columns; columns that have none are left out."""
    least = max(MOST_BY_CHANCE, SHARED * np.sqrt(rows.n_rows))
    seen = rows.common(which, int(rows.n_rows / least) + 1)
    candidates = {c: seen[c] for c in which if seen[c].size}
    around = rows.around(candidates)
    chosen: dict[int, tuple[F64, Around]] = {}
    for column, values in candidates.items():
        found = around[column]
        common = found.count > least
        # Where it is the only value there is nothing between.
        if common.any() and (np.isfinite(found.below) | np.isfinite(found.above)).all():
            chosen[column] = values[common], found.take(np.flatnonzero(common))
    ends = rows.extremes()
    grids = {column: _grid(*ends[column]) for column in chosen}
    counts = rows.grid_counts(grids)
    found_heaps = {}
    for column, (values, near) in chosen.items():
        below, above = 0.5 * (values - near.below), 0.5 * (near.above - values)
        # The outermost reach as far out as in.
        below, above = np.where(np.isfinite(below), below, above), np.where(np.isfinite(above), above, below)
        common_there = near.count / rows.n_rows / _density(values, grids[column], counts[column])
        room = np.maximum(below + above, common_there)
        found_heaps[column] = Heaps(values, near.count, values - room * below / (below + above), room)
    return found_heaps


def _shuffled(rank: Index, count: Index) -> Index:
    """(n,) ranks below ``count`` in another order, each once: bits are mixed until a rank is below it."""
    bits = np.maximum(np.ceil(np.log2(np.maximum(count, 2))), 1).astype(np.uint64)
    mask = (np.uint64(1) << bits) - np.uint64(1)
    found, outside = rank.astype(np.uint64), np.arange(rank.size)
    while outside.size:
        mixed, limit, width = found[outside], mask[outside], bits[outside]
        for factor in MIXED_BY:
            mixed = (mixed * np.uint64(factor) + np.uint64(factor >> 7)) & limit
            mixed ^= mixed >> (width + np.uint64(1)) // np.uint64(2)
        found[outside] = mixed
        outside = outside[mixed >= count[outside].astype(np.uint64)]
    return found.astype(np.intp)


def _grid(least: float, largest: float) -> tuple[float, float, int]:
    """Where a column is counted: the first point, the last, and how many there are."""
    low, high = least - 4.0 * SMOOTH_OVER, largest + 4.0 * SMOOTH_OVER
    # A column with one wild value has fewer points to the step.
    return low, high, int(min(MOST_POINTS, max(64.0, POINTS_A_STEP * (high - low) / SMOOTH_OVER)))


def grid_counts(z: F64, grid: tuple[float, float, int]) -> F64:
    """How many values are near each point of a grid; those between two are shared out between them.

    So nothing jumps where values lie on a point but for rounding.
    """
    low, high, points = grid
    place = (z - low) * ((points - 1) / (high - low))
    before = np.clip(place.astype(np.intp), 0, points - 2)
    inside = place - before
    found = np.bincount(before, 1.0 - inside, points) + np.bincount(before + 1, inside, points)
    return np.asarray(found, dtype=np.float64)


def _density(values: F64, grid: tuple[float, float, int], counts: F64) -> F64:
    """(m,) how common values are around each of these, by a bell-shaped window."""
    points = np.linspace(*grid)
    step = points[1] - points[0]
    reach = max(1, round(4.0 * SMOOTH_OVER / step))
    window = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / SMOOTH_OVER) ** 2)
    smooth = np.convolve(counts, window / window.sum(), mode="same") / (counts.sum() * step)
    return np.maximum(np.interp(values, points, smooth), 1e-12)
