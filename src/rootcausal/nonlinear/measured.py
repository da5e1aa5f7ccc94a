"""Mechanisms of incomplete rows, each from the rows in which all of its columns were measured.

What is imputed is drawn from a Gaussian, which knows of no curve: a search that took it for measured would
turn curves round. So a column given its causes is fitted to the rows that have all of these (available
cases).
Different causes are then known of different rows, whose descriptions could not be compared. What is compared
is by how much the causes shorten the description of their own rows, as if all rows had them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..method.table import F64, Index
from .curves import Splines
from .fitting import Asked, Entropies, Fitted, Fitter
from .memory_rows import MemoryRows, standardized
from .rows import TERMS_A_CAUSE, NonlinearRows, Told

# With fewer rows that have all of its columns nothing is told of a mechanism.
FEWEST_ROWS = 30


@dataclass(eq=False)
class MeasuredRows:
    """Rows of which some values are missing, for what a search asks beside fits.

    Attributes
    ----------
    rows : with anything in place of what is missing.
    measured : (q, n) which values are not.
    """

    rows: MemoryRows
    measured: np.ndarray

    @classmethod
    def of(cls, rows: NonlinearRows) -> MeasuredRows | None:
        """One copy of each patient; None where nothing is missing."""
        if not isinstance(rows, MemoryRows) or rows.held is None or rows.held.measured is None:
            return None
        some, weights = rows.held.one_a_patient
        return cls(replace(rows.some(some), weights=weights), rows.held.measured[:, some])

    def __post_init__(self) -> None:
        self._errors, self._sizes, self._known = np.zeros((3, *self.measured.shape))

    @property
    def weight(self) -> float:
        return self.rows.weight

    def of_columns(self, columns: Index) -> MeasuredRows:
        """The same of some columns."""
        return MeasuredRows(self.rows.of_columns(columns), self.measured[columns])

    def sample(self, size: int) -> MeasuredRows:
        """So many of the rows, the same each time."""
        some = self.rows.sampled(size)
        return MeasuredRows(self.rows.some(some), self.measured[:, some])

    def whole(self, columns: Sequence[int]) -> Index:
        """The rows that have all of some columns."""
        return np.flatnonzero(self.measured[list(columns)].all(axis=0))

    def keep_errors(self, told: Sequence[Told]) -> None:
        """See :class:`.rows.NonlinearRows`; the errors of rows that lack something say nothing."""
        self.rows.keep_errors(told)
        for one in told:
            effect, designs = one.effect % len(self.measured), one.designs
            others = np.append(designs.first[0, : designs.size[0]], designs.second[designs.second >= 0])
            there = self.whole([effect, *np.unique(others // TERMS_A_CAUSE).tolist()])
            weights = self.rows.weights[there]
            self._errors[effect] = self._sizes[effect] = self._known[effect] = 0.0
            self._known[effect, there] = weights
            error = standardized(self.rows.error_of(effect)[there], weights)
            self._errors[effect, there] = error
            self._sizes[effect, there] = standardized(np.abs(error), weights)

    def dependence(self, effects: Index) -> F64:
        """See :class:`.rows.NonlinearRows`: n are the rows of which both are known."""
        both = np.stack([self._errors[effects], self._sizes[effects]], axis=1) * self.rows.weights
        splines = self.rows.splines * np.repeat(self.measured, TERMS_A_CAUSE, axis=0)
        n = np.repeat(self._known[effects] @ self.measured.T, TERMS_A_CAUSE, axis=1)
        found: F64 = (both @ splines.T) ** 2 / np.maximum(n, 1.0)[:, None, :]
        return found


@dataclass(frozen=True, eq=False)
class MeasuredFitter:
    """Fits each mechanism to the rows that have all of its columns; see :class:`.fitting.Fitter`."""

    rows: MeasuredRows
    splines: Splines
    levels: Index
    n_rows: float
    entropies: Entropies
    nonlinear: bool = True

    def sample(self, size: int) -> MeasuredFitter:
        """The same of so many rows."""
        some = self.rows.sample(size)
        return replace(self, rows=some, n_rows=self.n_rows * some.weight / self.rows.weight)

    def fit(self, asked: Sequence[Asked]) -> list[Fitted]:
        """The best mechanism of each."""
        holes = np.flatnonzero(~self.rows.measured.all(axis=1))
        alike: dict[tuple[int, ...], list[int]] = {}
        for number, one in enumerate(asked):
            needed = {one.effect, *(column for cause in one.causes for column in cause)}
            alike.setdefault(tuple(sorted(needed.intersection(holes.tolist()))), []).append(number)
        found: dict[int, Fitted] = {}
        for lacking, numbers in alike.items():
            found |= zip(numbers, self._of_alike([asked[k] for k in numbers], lacking), strict=True)
        return [found[number] for number in range(len(asked))]

    def _of_alike(self, asked: Sequence[Asked], lacking: Sequence[int]) -> list[Fitted]:
        """Mechanisms of the rows that have these columns, which have holes; their costs are of all rows."""
        if not lacking:
            return self._of_whole(asked, [])[0]
        effects = list(dict.fromkeys(one.effect for one in asked))
        by_itself = {effect: self._by_itself(effect, effect in lacking) for effect in effects}
        if not self._enough(lacking):
            return [
                replace(by_itself[one.effect], cost=np.inf) if one.causes else by_itself[one.effect]
                for one in asked
            ]
        fitted, share = self._of_whole([*asked, *(Asked(effect, []) for effect in effects)], lacking)
        without = dict(zip(effects, fitted[len(asked) :], strict=True))
        return [
            replace(
                mine,
                cost=by_itself[one.effect].cost + (mine.cost - without[one.effect].cost) / share,
            )
            if one.causes
            else by_itself[one.effect]
            for one, mine in zip(asked, fitted, strict=False)
        ]

    def _by_itself(self, effect: int, lacking: bool) -> Fitted:
        """An effect without causes: of it all is told that was measured, as if all rows had it."""
        some = [effect] if lacking and self._enough([effect]) else []
        (told,), share = self._of_whole([Asked(effect, [])], some)
        return replace(told, cost=told.cost / share)

    def _enough(self, lacking: Sequence[int]) -> bool:
        return self.rows.whole(lacking).size >= FEWEST_ROWS

    def _of_whole(self, asked: Sequence[Asked], lacking: Sequence[int]) -> tuple[list[Fitted], float]:
        """Mechanisms of the rows that have some columns, and what share of all rows these are."""
        used = sorted(
            {one.effect for one in asked} | {c for one in asked for cause in one.causes for c in cause}
        )
        at, place = np.array(used, dtype=np.intp), {column: k for k, column in enumerate(used)}
        of_columns = self.rows.rows.of_columns(at)
        rows = of_columns.some(self.rows.whole(lacking)) if lacking else of_columns
        share = rows.weight / self.rows.weight
        splines = self.splines.of_columns(at)
        fitter = Fitter(rows, splines, self.levels[at], self.n_rows * share, self.entropies, self.nonlinear)
        local = [
            Asked(place[one.effect], [[place[column] for column in cause] for cause in one.causes])
            for one in asked
        ]
        return [replace(one, terms=_moved(one.terms, at)) for one in fitter.fit(local)], share


def _moved(terms: Sequence[tuple[int, int]], columns: Index) -> tuple[tuple[int, int], ...]:
    """Terms of some columns as those of all."""

    def moved(row: int) -> int:
        column, place = divmod(row, TERMS_A_CAUSE)
        return row if row < 0 else int(columns[column]) * TERMS_A_CAUSE + place

    return tuple((moved(first), moved(second)) for first, second in terms)
