"""A number for each patient, such as a score of severity."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ..errors import InputError, RootCausalWarning, caller
from ..method.moments import FLAT, SMALLEST
from ..method.table import F64, Index
from ..outcomes.continuous import FEWEST_VALUES, Continuous
from ..wording import amount, listed, one_line, quoted
from .labels import text_of
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
    refuse_missing,
)
from .rules import Findings, refuse_itself

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Amount(Target):
    """A number for each patient, y (n,)."""

    ROLES: ClassVar[Mapping[str, str]] = {"y": "y"}
    NO_VARIABLES: ClassVar[frozenset[str]] = frozenset({"y"})

    y: Any

    def known(self, X: Any, n_rows: int, findings: Findings) -> Known:
        values, missing = numbers_of(given_by(X, self.y), "y", n_rows)
        note_missing(int(missing.sum()), n_rows, "y", findings)
        values = values[~missing]
        different = np.unique(values)
        _refuse_constant(different, "y")
        number = Continuous.of(values)
        _refuse_flat(number, different, "y")
        return Known(values, number, np.empty(0), _facts_of(number))

    def refuse_itself(self, known: Known, table: F64, names: Sequence[str]) -> None:
        refuse_itself(known.values, table, names, "the outcome y", linear=True)

    def known_again(self, X: Any, n_rows: int, classes: np.ndarray) -> np.ndarray:
        values, missing = numbers_of(given_by(X, self.y), "y", n_rows)
        refuse_missing(int(missing.sum()), "y")
        return values

    def known_there(self, columns: Mapping[str, Column], ask: Ask) -> KnownThere:
        """Mean and variance are sums."""
        y, findings = columns["y"], Findings()
        seen: Numbers = ask([y.name], partial(_numbers_in, y))
        note_missing(seen.missing, seen.missing + seen.count, y.called, findings)
        different = np.array(seen.different)
        with findings.noting():
            _refuse_constant(different, y.called)
        findings.refuse()
        number = Continuous(seen.mean, float(np.sqrt(seen.squares / (seen.count - 1))))
        _refuse_flat(number, different, y.called)
        return KnownThere(NumberRows(y, number), number, np.empty(0), _facts_of(number))


def _refuse_constant(different: F64, name: str) -> None:
    """Refuse a number that has one value only, of which there is no standard deviation."""
    if different.size < 2:
        raise InputError(
            f"{name} is constant ({different[0]:g}): nothing can be said of what does not vary between "
            "patients"
        )


def _refuse_flat(number: Continuous, different: F64, name: str) -> None:
    """Refuse a number that varies too little; ``different`` are some of its values, ascending.

    Of one with two values it is said that it may be a diagnosis.
    """
    if not number.sd > max(FLAT * abs(number.mean), SMALLEST):
        raise InputError(
            f"{name} varies too little for 64-bit numbers to hold, around {number.mean!r}: subtract a fixed "
            "number from it, or give it in another unit"
        )
    if different.size < FEWEST_VALUES:
        warnings.warn(
            f"{name} holds {different[0]:g} and {different[1]:g} only, and is taken for a number: for a "
            "diagnosis that is yes or no use RCI",
            RootCausalWarning,
            stacklevel=caller(),
        )


def _facts_of(number: Continuous) -> dict[str, Any]:
    """What a model remembers of it."""
    return {"outcome": number.name, "mean": number.mean, "sd": number.sd}


@dataclass(frozen=True)
class NumberRows:
    """What tables keep of a number."""

    y: Column
    number: Continuous

    @property
    def columns(self) -> tuple[Hashable, ...]:
        return (self.y.name,)

    def rows(self, partition: pd.DataFrame) -> np.ndarray:
        values, _ = numbers_of(partition[self.y.name], self.y.called, len(partition))
        return self.number.rows(values)


@dataclass(frozen=True)
class Numbers:
    """What some rows tell of a number.

    Attributes
    ----------
    count, missing : rows that have one, and that have none.
    mean : of the numbers, 0 where there are none.
    squares : Σ of their squared distances from it.
    different : the smallest different ones, as many as a number needs.
    """

    count: int
    missing: int
    mean: float
    squares: float
    different: tuple[float, ...]

    @classmethod
    def of(cls, values: F64, missing: int) -> Numbers:
        if not values.size:
            return cls(0, missing, 0.0, 0.0, ())
        # About one of them, so that a number such as 1.7e9 ± 1 keeps its variance.
        rough = float(values[0])
        mean = rough + float((values - rough).mean())
        different = tuple(np.unique(values)[:FEWEST_VALUES].tolist())
        return cls(values.size, missing, mean, float(((values - mean) ** 2).sum()), different)

    def __add__(self, other: Numbers) -> Numbers:
        """Means and squares as by Chan, Golub & LeVeque (1983)."""
        count = self.count + other.count
        share, apart = other.count / max(count, 1), other.mean - self.mean
        return Numbers(
            count,
            self.missing + other.missing,
            self.mean + share * apart,
            self.squares + other.squares + apart * apart * share * self.count,
            tuple(sorted({*self.different, *other.different})[:FEWEST_VALUES]),
        )


def _numbers_in(y: Column, partition: pd.DataFrame) -> Numbers:
    values, missing = numbers_of(partition[y.name], y.called, len(partition))
    return Numbers.of(values[~missing], int(missing.sum()))


@dataclass(frozen=True)
class NumberColumn(OutcomeColumns):
    """A column with a number for each patient, in a ``unit``, if that is said."""

    target: str
    unit: str | None = None

    said: ClassVar[Literal["continuous"]] = "continuous"

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        return (("--target", self.target),)

    def read(self, table: Any, path: str | PathLike[str]) -> OutcomeCells:
        numbers = numbers_in(table[self.target], self.target, "--target", path)
        return OutcomeCells(numbers, {self.target: np.isnan(numbers)}, np.zeros(numbers.size, dtype=bool))

    def choose(self, values: Labels, rows: Index) -> ChosenNumber:
        different = np.unique(values)
        if different.size < FEWEST_VALUES:
            found = listed([text_of(value) for value in different])
            raise InputError(
                f"the target {quoted(self.target)} holds {found} and no other number, and --outcome "
                f"continuous needs at least {FEWEST_VALUES} different ones; for yes or no, leave --outcome "
                "continuous out."
            )
        return ChosenNumber(self, (float(different[0]), float(different[-1])), float(values.mean()))

    def choose_counted(self, unique: Labels, counts: Index) -> ChosenNumber:
        return ChosenNumber(self)


@dataclass(frozen=True)
class ChosenNumber(ChosenOutcome):
    """A column of numbers, from the least to the largest of these; None where the rows are on a cluster."""

    kind: ClassVar[str] = "continuous"

    column: NumberColumn
    range: tuple[float, float] | None = None
    mean: float = 0.0

    @property
    def called(self) -> str:
        return self.column.target

    @property
    def unit(self) -> str | None:
        return self.column.unit

    def known(self, values: Any) -> Target:
        return Amount(values)

    def lines(self, n_rows: int, of_what: str = "patients") -> list[str]:
        unit = "" if self.column.unit is None else f" {one_line(self.column.unit, 30)}"
        found = ""
        if self.range is not None:
            low, high = map(amount, self.range)
            found = f": from {low} to {high}{unit}, mean {amount(self.mean)}"
        return [f"number: {one_line(self.column.target)} of {n_rows} {of_what}{found}"]
