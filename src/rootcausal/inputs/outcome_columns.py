"""Which columns of a file say what happened to the patients, and how they are read: one class for each kind.

What the user says of the columns is a :class:`OutcomeColumns`; with their cells it becomes a
:class:`ChosenOutcome`, which knows the estimator's parameters and what :mod:`.outcomes` takes. What is
refused is said in the words of the command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt

from ..core.table import F64, LARGEST, Index
from ..errors import InputError
from ..files.tables import as_float64
from ..outcomes.continuous import FEWEST_VALUES
from ..wording import amount, listed, one_line, plain, quoted, share, shown
from .labels import text_of
from .outcomes import Amount, Diagnosis, Target
from .rules import with_example
from .sampling import chosen_ratio
from .target import Disease, choose_counted, choose_disease, one_spelling, refuse_few_of_a_class, two_labels

Labels = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class OutcomeCells:
    """The cells of some rows.

    Attributes
    ----------
    values : (n,) labels, numbers, or times and events as fields.
    missing : by column, (n,) where it has no value.
    left_out : (n,) rows that the user does not want, for their labels.
    notes : what is said of these.
    """

    values: Labels
    missing: Mapping[str, Mask]
    left_out: Mask
    notes: tuple[str, ...] = ()

    @property
    def missing_any(self) -> Mask:
        """(n,) rows without an outcome, which are left out too."""
        return np.any([*self.missing.values()], axis=0)

    @property
    def all_notes(self) -> tuple[str, ...]:
        """What is said of all rows that are left out."""
        gone = int(self.missing_any.sum())
        if not gone:
            return self.notes
        where = listed([quoted(name, 40) for name, mask in self.missing.items() if mask.any()])
        are = "is" if gone == 1 else "are"
        return (*self.notes, f"{_rows(gone)} without an outcome ({where} missing) {are} left out")


class ChosenOutcome(Protocol):
    """What the cells of a cohort turned out to hold.

    Attributes
    ----------
    kind : the name of the outcome, as estimators have it.
    called : what a page calls it.
    parameters : of the estimator, besides those that all have.
    remembered : what a model remembers of the columns, for pages and tables to come.
    """

    kind: ClassVar[str]

    @property
    def called(self) -> str: ...

    @property
    def parameters(self) -> dict[str, Any]: ...

    @property
    def remembered(self) -> dict[str, Any]: ...

    def known(self, values: Any) -> Target:
        """What happened to these patients, as the estimator takes it."""
        ...

    def arguments(self, values: Any) -> tuple[Any, ...]:
        """The same as ``fit`` and ``diagnose`` take it, after X."""
        ...

    def refuse_few(self, values: Labels) -> None:
        """Refuse what is too little to learn from, in a table that is refused anyway."""
        ...

    def lines(self, n_rows: int, of_what: str = "patients") -> list[str]:
        """What is said of it before a fit."""
        ...


class OutcomeColumns(Protocol):
    """What the user says of the columns that tell the outcome.

    Attributes
    ----------
    named : (option, column) of each.
    of_labels : the one with labels, or None.
    said : what kind the user said that it is: ``yes-no`` or ``number``; None where that was left to be seen.
    """

    @property
    def named(self) -> tuple[tuple[str, str], ...]: ...

    @property
    def of_labels(self) -> str | None: ...

    @property
    def said(self) -> Literal["yes-no", "number"] | None: ...

    def read(self, table: Any, path: str | PathLike[str]) -> OutcomeCells:
        """The cells of a piece of the file; what cannot be read is refused."""
        ...

    def tidied(self, values: Labels) -> Labels:
        """The same as people write it: 1.0 becomes 1."""
        ...

    def choose(self, values: Labels, rows: Index) -> ChosenOutcome:
        """What they come to, without missing ones; ``rows`` (n,) is where each stands in the file."""
        ...

    def choose_counted(self, unique: Labels, counts: Index) -> ChosenOutcome:
        """The same for rows on a cluster, given each label once, with its rows counted."""
        ...


@dataclass(frozen=True)
class DiagnosisColumn:
    """A column with two labels.

    Attributes
    ----------
    target : its name.
    positive : the label that means disease; None where the labels say it.
    negative : the label of the controls; rows whose label is neither this nor `positive` are left out.
    prevalence : share of the population with the disease, where cases and controls were sampled apart.
    said : ``yes-no`` where the user said so, rather than left it to be seen.
    """

    target: str
    positive: str | None = None
    negative: str | None = None
    prevalence: float | None = None
    said: Literal["yes-no"] | None = None

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        return (("--target", self.target),)

    @property
    def of_labels(self) -> str:
        return self.target

    def read(self, table: Any, path: str | PathLike[str]) -> OutcomeCells:
        labels, missing = labels_in(table[self.target], self.target, "--target", path)
        if self.positive is None or self.negative is None:
            return OutcomeCells(labels, {self.target: missing}, np.zeros(labels.size, dtype=bool))
        labels, others = two_labels(labels, missing, self.target, self.positive, self.negative)
        notes: tuple[str, ...] = (_others_left_out(labels[others]),) if others.any() else ()
        return OutcomeCells(labels, {self.target: missing}, others, notes)

    def tidied(self, values: Labels) -> Labels:
        return whole_numbers(values)

    def choose(self, values: Labels, rows: Index) -> ChosenDiagnosis:
        return ChosenDiagnosis(self, choose_disease(values, self.target, self.positive))

    def choose_counted(self, unique: Labels, counts: Index) -> ChosenDiagnosis:
        return ChosenDiagnosis(self, choose_counted(unique, counts, self.target, self.positive))


@dataclass(frozen=True)
class ChosenDiagnosis:
    """A column of two labels, and which of them is the disease."""

    kind: ClassVar[str] = "binary"

    column: DiagnosisColumn
    disease: Disease

    @property
    def called(self) -> str:
        return self.column.target

    @property
    def parameters(self) -> dict[str, Any]:
        return {"positive": self.disease.label, "prevalence": self.column.prevalence}

    @property
    def remembered(self) -> dict[str, Any]:
        negative = self.column.negative
        return remembered(self.called, None) | ({} if negative is None else {"negative": negative})

    def known(self, values: Any) -> Target:
        return Diagnosis(values, self.disease.label)

    def arguments(self, values: Any) -> tuple[Any, ...]:
        return (values,)

    def refuse_few(self, values: Labels) -> None:
        refuse_few_of_a_class(*np.unique(values, return_counts=True))

    def lines(self, n_rows: int, of_what: str = "patients") -> list[str]:
        """Which label is the disease, and what to ask where the number of cases looks chosen."""
        disease, prevalence = self.disease, self.column.prevalence
        lines = [disease_line(self.column.target, disease.text, disease.n_cases, n_rows, prevalence, of_what)]
        ratio = chosen_ratio(disease.n_cases, n_rows)
        if ratio is not None and prevalence is None:
            lines.append(
                f"cases and controls are {ratio}: if they were sampled apart (a case-control study), say "
                "with --prevalence how common the disease is in the population (0.02 for 2%), or the answer "
                "is biased; patients who came as they came need nothing"
            )
        return lines


def disease_line(
    target: str, label: str, n_cases: int, n_rows: int, prevalence: float | None, of_what: str = "patients"
) -> str:
    """How common the disease is in the table and, where that is known, in the population."""
    line = f"disease: {one_line(target)} = {one_line(label)} ({n_cases} of {n_rows} {of_what})"
    return line if prevalence is None else f"{line}; {share(prevalence)} in the population"


@dataclass(frozen=True)
class NumberColumn:
    """A column with a number for each patient, in a ``unit``, if that is said."""

    target: str
    unit: str | None = None

    of_labels: ClassVar[None] = None
    said: ClassVar[Literal["number"]] = "number"

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        return (("--target", self.target),)

    def read(self, table: Any, path: str | PathLike[str]) -> OutcomeCells:
        numbers = numbers_in(table[self.target], self.target, "--target", path)
        return OutcomeCells(numbers, {self.target: np.isnan(numbers)}, np.zeros(numbers.size, dtype=bool))

    def tidied(self, values: Labels) -> Labels:
        return values

    def choose(self, values: Labels, rows: Index) -> ChosenNumber:
        different = np.unique(values)
        if different.size < FEWEST_VALUES:
            found = listed([text_of(value) for value in different])
            raise InputError(
                f"the target {quoted(self.target)} holds {found} and no other number, and --outcome number "
                f"needs at least {FEWEST_VALUES} different ones; for yes or no, leave --outcome number out."
            )
        return ChosenNumber(self, (float(different[0]), float(different[-1])), float(values.mean()))

    def choose_counted(self, unique: Labels, counts: Index) -> ChosenNumber:
        return ChosenNumber(self)


@dataclass(frozen=True)
class ChosenNumber:
    """A column of numbers, from the least to the largest of these; None where the rows are on a cluster."""

    kind: ClassVar[str] = "continuous"

    column: NumberColumn
    range: tuple[float, float] | None = None
    mean: float = 0.0
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def called(self) -> str:
        return self.column.target

    @property
    def remembered(self) -> dict[str, Any]:
        return remembered(self.called, self.column.unit)

    def known(self, values: Any) -> Target:
        return Amount(values)

    def arguments(self, values: Any) -> tuple[Any, ...]:
        return (values,)

    def refuse_few(self, values: Labels) -> None:
        """Nothing: so few values were refused when it was chosen."""

    def lines(self, n_rows: int, of_what: str = "patients") -> list[str]:
        unit = "" if self.column.unit is None else f" {one_line(self.column.unit, 30)}"
        found = ""
        if self.range is not None:
            low, high = map(amount, self.range)
            found = f": from {low} to {high}{unit}, mean {amount(self.mean)}"
        return [f"number: {one_line(self.column.target)} of {n_rows} {of_what}{found}"]


def remembered(called: str, unit: str | None) -> dict[str, Any]:
    """What a model keeps to speak of its outcome by."""
    return {"called": called} if unit is None else {"called": called, "unit": unit}


# --- cells ------------------------------------------------------------------------------------------------


def labels_in(column: Any, name: str, option: str, path: str | PathLike[str]) -> tuple[Labels, Mask]:
    """(n,) each: the labels of a pyarrow column in one spelling, and where they are missing."""
    import pyarrow as pa

    if pa.types.is_boolean(column.type):
        return column.fill_null(False).to_numpy(), column.is_null().to_numpy()
    numbers = as_float64(column)
    if numbers is not None:
        return numbers, np.isnan(numbers)
    texts = texts_in(column, name, option, path)
    spelling = one_spelling(texts)
    labels = [spelling[text] for text in texts]
    return (
        np.array([label or "" for label in labels], dtype=np.str_),
        np.array([label is None for label in labels], dtype=bool),
    )


def texts_in(column: Any, name: str, option: str, path: str | PathLike[str]) -> list[str]:
    """The texts of a pyarrow column, empty where there is none."""
    import pyarrow as pa

    try:
        return ["" if text is None else text for text in column.cast(pa.string()).to_pylist()]
    except (pa.ArrowException, UnicodeDecodeError):
        raise InputError(
            f"column {quoted(name)} ({option}) of {shown(path)} is not text: correct it or choose another."
        ) from None


def numbers_in(column: Any, name: str, option: str, path: str | PathLike[str]) -> F64:
    """(n,) the numbers of a pyarrow column, NaN where there is none; anything else is refused."""
    import pyarrow as pa

    numbers = None if pa.types.is_boolean(column.type) else as_float64(column)
    if numbers is None:
        raise InputError(
            f"{option} {with_example(column, name)} of {shown(path)} does not hold numbers: correct these "
            "cells, say with --na which words mean missing, or choose another column."
        )
    too_large = np.flatnonzero(np.abs(numbers) > LARGEST)
    if too_large.size:
        raise InputError(
            f"{option} {quoted(name)} of {shown(path)} has values that are infinite or above {LARGEST:g} "
            f"(data row {too_large[0] + 1}): correct them."
        )
    return numbers


def whole_numbers(labels: Labels) -> Labels:
    """Turn float labels into integers where nothing is lost, so that 1.0 reads as 1."""
    if labels.dtype.kind == "f" and np.isfinite(labels).all() and (labels == np.floor(labels)).all():
        return labels.astype(np.int64)
    return labels


def _others_left_out(labels: Labels) -> str:
    named = [one_line(plain(label), 30) for label in np.unique(whole_numbers(labels))]
    are = "is" if labels.size == 1 else "are"
    return f"{_rows(labels.size)} with other labels ({listed(named)}) {are} left out"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
