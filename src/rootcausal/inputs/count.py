"""A count of events for each patient, and the time or amount that it is of, its exposure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ..errors import InputError
from ..method.table import F64, Index
from ..outcomes.count import FEWEST_EVENTS, Count, NullScores, Totals
from ..wording import amount, one_line, plural, quoted
from .outcomes import (
    Ask,
    ChosenOutcome,
    Column,
    Known,
    KnownThere,
    Labels,
    OutcomeCells,
    OutcomeColumns,
    Target,
    given_by,
    note_missing,
    numbers_in,
    numbers_of,
)
from .rules import NAMED_AT_MOST, Findings, refuse_itself

if TYPE_CHECKING:
    import pandas as pd

# Different counts that travel from a cluster.
MOST_COUNTS = 100_000


@dataclass(frozen=True, eq=False)
class Tally(Target):
    """Counts y (n,), and the exposure of each patient (n,) or None: the same of all.

    ``dispersion`` is the one to take; None learns it.
    """

    ROLES: ClassVar[Mapping[str, str]] = {"y": "the count", "exposure": "the exposure"}
    NO_VARIABLES: ClassVar[frozenset[str]] = frozenset({"y", "exposure"})

    y: Any
    exposure: Any = None
    dispersion: float | None = None

    def given(self) -> dict[str, Any]:
        return {role: what for role, what in super().given().items() if role == "y" or what is not None}

    def known(self, X: Any, n_rows: int, findings: Findings) -> Known:
        counts, no_count = numbers_of(given_by(X, self.y), "y", n_rows)
        note_missing(int(no_count.sum()), n_rows, "y", findings)
        exposure, no_exposure = np.ones(n_rows), np.zeros(n_rows, dtype=bool)
        if self.exposure is not None:
            exposure, no_exposure = numbers_of(given_by(X, self.exposure, "exposure"), "exposure", n_rows)
            note_missing(int(no_exposure.sum()), n_rows, "exposure", findings)
        there = ~(no_count | no_exposure)
        known = np.column_stack([counts, exposure])[there]
        refuse_no_counts(known, "y", "exposure")
        found = Count.of(known, self.dispersion)
        return Known(known, found, np.empty(0), self._facts(found, known[:, 0].mean()))

    def _facts(self, found: Count, mean: float) -> dict[str, Any]:
        return {
            "outcome": found.name,
            "mean": float(mean),
            "dispersion": float(found.dispersion),
            "exposed": self.exposure is not None,
        }

    def refuse_itself(self, known: Known, table: F64, names: Sequence[str]) -> None:
        refuse_itself(known.values[:, 0], table, names, "the count y", linear=True)  # noqa: PD011

    def known_again(self, X: Any, n_rows: int, classes: np.ndarray) -> np.ndarray:
        findings = Findings()
        known = self.known(X, n_rows, findings)
        findings.refuse()
        return known.values  # noqa: PD011

    def known_there(self, columns: Mapping[str, Column], ask: Ask) -> KnownThere:
        """Rate and dispersion follow from sums; a second pass standardizes the null score."""
        y, exposure, findings = columns["y"], columns.get("exposure"), Findings()
        read = CountReading(y, exposure)
        names = [column.name for column in (y, exposure) if column is not None]
        seen: TotalsThere = ask(names, partial(_totals_in, read))
        note_missing(seen.missing, seen.missing + int(seen.totals.patients.sum()), y.called, findings)
        if seen.wrong:
            findings.note(InputError(seen.wrong))
        findings.refuse()
        _refuse_few(seen.totals.events, seen.totals.values, y.called)
        scores: NullScores = ask(names, partial(_scores_in, read, seen.totals, self.dispersion))
        found = Count.by(seen.totals, scores, self.dispersion)
        mean = seen.totals.events / float(seen.totals.patients.sum())
        return KnownThere(CountRows(read, found), found, np.empty(0), self._facts(found, mean))


def refuse_no_counts(known: F64, name: str, exposure: str) -> None:
    """Refuse what cannot be counts, exposures that are none, and too few events."""
    wrong = why_no_counts(known, name, exposure)
    if wrong:
        raise InputError(wrong)
    _refuse_few(float(known[:, 0].sum()), np.unique(known[:, 0]), name)


def why_no_counts(known: F64, name: str, exposure: str) -> str:
    """Why these (n, 2) are no counts with their exposures; empty where they are."""
    count, seen = known.T
    below, broken = np.flatnonzero(count < 0), np.flatnonzero(count != np.floor(count))
    for rows, what in ((below, "below 0"), (broken, "that are no whole numbers")):
        if rows.size:
            return (
                f"{name} holds counts {what}, such as {count[rows[0]]:g}: a count is a whole number "
                "from 0 on; "
                "for any number use the outcome 'continuous'"
            )
    if (seen <= 0).any():
        return (
            f"{exposure} must be above 0, and {plural(int((seen <= 0).sum()), 'row')} have "
            f"{seen[seen <= 0][0]:g}: nothing can happen to who was not seen; leave these rows out"
        )
    return ""


def _refuse_few(events: float, different: F64, name: str) -> None:
    if events < FEWEST_EVENTS or different.size < 2:
        raise InputError(
            f"{name} counts {events:g} events in all, and "
            f"{plural(different.size, 'different count')}: at least "
            f"{FEWEST_EVENTS} events, and counts that differ, are needed to say what moves them"
        )


@dataclass(frozen=True)
class CountReading:
    """How a partition tells counts and exposures."""

    y: Column
    exposure: Column | None

    def __call__(self, partition: pd.DataFrame) -> tuple[F64, int]:
        """(n, 2) of the rows that have both, and how many have not."""
        n = len(partition)
        count, lacking = numbers_of(partition[self.y.name], self.y.called, n)
        seen = np.ones(n)
        if self.exposure is not None:
            seen, none = numbers_of(partition[self.exposure.name], self.exposure.called, n)
            lacking = lacking | none
        return np.column_stack([count, seen])[~lacking], int(lacking.sum())


@dataclass(frozen=True)
class TotalsThere:
    """What some rows tell of their counts, how many have none, and what is wrong with the first such row."""

    totals: Totals
    missing: int
    wrong: str

    def __add__(self, other: TotalsThere) -> TotalsThere:
        totals, wrong = self.totals + other.totals, self.wrong or other.wrong
        if len(totals.patients) > MOST_COUNTS:
            wrong = (
                wrong or f"the target has more than {MOST_COUNTS:,} different counts: take it for a number"
            )
        return TotalsThere(totals, self.missing + other.missing, wrong)


def _totals_in(read: CountReading, partition: pd.DataFrame) -> TotalsThere:
    known, missing = read(partition)
    exposure = "exposure" if read.exposure is None else read.exposure.called
    return TotalsThere(Totals.of(*known.T), missing, why_no_counts(known, read.y.called, exposure))


def _scores_in(
    read: CountReading, totals: Totals, fixed: float | None, partition: pd.DataFrame
) -> NullScores:
    known, _ = read(partition)
    return NullScores.of(totals, fixed, *known.T)


@dataclass(frozen=True)
class CountRows:
    """What tables keep of counts."""

    read: CountReading
    count: Count

    @property
    def columns(self) -> tuple[Hashable, ...]:
        return tuple(column.name for column in (self.read.y, self.read.exposure) if column is not None)

    def rows(self, partition: pd.DataFrame) -> np.ndarray:
        known, _ = self.read(partition)
        return self.count.rows(known)


# --- in files -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CountColumns(OutcomeColumns):
    """A column of counts, one of their exposure, if there is one, and the ``unit`` of that."""

    target: str
    exposure: str | None = None
    unit: str | None = None

    said: ClassVar[Literal["count"]] = "count"

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        of_exposure = () if self.exposure is None else (("--exposure", self.exposure),)
        return (("--target", self.target), *of_exposure)

    @property
    def arguments(self) -> tuple[str | None, ...]:
        return (self.target, None, self.exposure)

    def read(self, table: Any, path: str | PathLike[str]) -> OutcomeCells:
        found = {column: numbers_in(table[column], column, option, path) for option, column in self.named}
        missing = {column: np.isnan(numbers) for column, numbers in found.items()}
        counts = found[self.target]
        both = np.empty(counts.size, dtype=[("target", np.float64), ("exposure", np.float64)])
        both["target"] = counts
        both["exposure"] = 1.0 if self.exposure is None else found[self.exposure]
        return OutcomeCells(both, missing, np.zeros(counts.size, dtype=bool))

    def choose(self, values: Labels, rows: Index) -> ChosenCount:
        findings = Findings()
        with findings.noting():
            _refuse_rows(
                values["target"], values["target"] < 0, f"{quoted(self.target)} (--target)", "below 0", rows
            )
        with findings.noting():
            broken = values["target"] != np.floor(values["target"])
            what = "that are no whole numbers"
            _refuse_rows(values["target"], broken, f"{quoted(self.target)} (--target)", what, rows)
        with findings.noting():
            if self.exposure is not None:
                called = f"{quoted(self.exposure)} (--exposure)"
                _refuse_rows(values["exposure"], values["exposure"] <= 0, called, "not above 0", rows)
        findings.refuse()
        counts = values["target"]
        return ChosenCount(self, (float(counts.min()), float(counts.max())), float(counts.mean()))

    def choose_counted(self, unique: Labels, counts: Index) -> ChosenCount:
        return ChosenCount(self)


def _refuse_rows(values: F64, wrong: np.ndarray, name: str, what: str, rows: Index) -> None:
    found = np.flatnonzero(wrong)
    if found.size:
        cells = [f"{values[k]:g} in row {rows[k]}" for k in found[:NAMED_AT_MOST]]
        more = f" and {plural(found.size - len(cells), 'more row')}" if found.size > len(cells) else ""
        raise InputError(
            f"{name} has values {what}: {', '.join(cells)}{more}. Counts are whole numbers from 0 on, "
            "and what "
            "they are of is above 0: correct these rows, or use --outcome continuous."
        )


@dataclass(frozen=True)
class ChosenCount(ChosenOutcome):
    """Counts, from the least to the largest of these; None where the rows are on a cluster."""

    kind: ClassVar[str] = "count"

    columns: CountColumns
    range: tuple[float, float] | None = None
    mean: float = 0.0

    @property
    def called(self) -> str:
        return self.columns.target

    @property
    def unit(self) -> str | None:
        return self.columns.unit

    @property
    def parameters(self) -> dict[str, Any]:
        return {"outcome": "count"}

    def known(self, values: Any) -> Target:
        return Tally(values["target"], None if self.columns.exposure is None else values["exposure"])

    def arguments(self, values: Any) -> tuple[Any, ...]:
        return (values["target"], None, None if self.columns.exposure is None else values["exposure"])

    def refuse_few(self, values: Labels) -> None:
        _refuse_few(float(values["target"].sum()), np.unique(values["target"]), quoted(self.columns.target))

    def lines(self, n_rows: int, of_what: str = "patients") -> list[str]:
        found = ""
        if self.range is not None:
            low, high = map(amount, self.range)
            found = f": from {low} to {high}, mean {amount(self.mean)}"
        seen = "" if self.columns.exposure is None else f", each of its {one_line(self.columns.exposure)}"
        unit = "" if self.columns.unit is None else f" ({one_line(self.columns.unit, 30)})"
        return [f"count: {one_line(self.columns.target)} of {n_rows} {of_what}{seen}{unit}{found}"]
