"""A diagnosis, yes or no: two labels, and which of them is the disease."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ..errors import InputError
from ..method.table import Index
from ..outcomes.binary import Binary
from ..wording import listed, one_line, plain, share
from .from_frame import own_name
from .labels import text_of
from .outcomes import (
    LABELS_AT_MOST,
    Ask,
    ChosenOutcome,
    Column,
    CountedLabels,
    Known,
    KnownThere,
    Labels,
    OutcomeCells,
    OutcomeColumns,
    Target,
    given_by,
    is_label,
    labels_in,
    rows,
    whole_numbers,
)
from .rules import Findings
from .target import (
    Disease,
    Grouping,
    Rule,
    called,
    choose_classes,
    choose_counted,
    choose_groups,
    encode_known,
    encode_target,
    label_key,
    refuse_few_of_a_class,
    refuse_unlabelled,
    split_labels,
    two_groups,
)

if TYPE_CHECKING:
    import pandas as pd


# How the patients came into the table: as they came, or cases and controls sampled apart.

# Controls for each case that designs choose and life seldom gives; nobody chooses fewer controls than cases.
CHOSEN = (1, 2, 3, 4)
WITHIN = 0.02
ROWS_TO_SEE_IT = 50
# Shares of cases vary by chance, and prevalences are rounded.
CLEARLY_ABOVE = 1.25


def chosen_ratio(n_cases: int, n_rows: int) -> str | None:
    """The ratio of cases to controls, "1:2", if it looks chosen by a case-control design; else None."""
    n_controls = n_rows - n_cases
    if n_rows < ROWS_TO_SEE_IT or not n_cases or not n_controls:
        return None
    for times in CHOSEN:
        if abs(n_controls / n_cases / times - 1.0) <= WITHIN:
            return f"1:{times}"
    return None


def doubt_of_prevalence(prevalence: float, n_cases: int, n_rows: int) -> str | None:
    """What to say where cases are rarer among these patients than in the population; else None.

    A word and no error: a study that takes few of many cases is rare, but its numbers are right.
    """
    if prevalence <= CLEARLY_ABOVE * n_cases / n_rows:
        return None
    return (
        f"prevalence={prevalence:g} is above the share of cases among these patients, {n_cases / n_rows:.3g} "
        f"({n_cases} of {n_rows}): either cases were sampled more sparsely than controls, which is rare, or "
        "something is the wrong way round. Check which label means disease, and that the prevalence is a "
        "share, 0.02 for 2 %"
    )


@dataclass(frozen=True, eq=False)
class Diagnosis(Target):
    """Two labels, y (n,), and which one is the disease (None: see :mod:`.target`).

    A column that tells the diagnosis is for the checks to judge.
    """

    ROLES: ClassVar[Mapping[str, str]] = {"y": "the target"}

    y: Any
    positive: Any

    def known(self, X: Any, n_rows: int, findings: Findings) -> Known:
        y = given_by(X, self.y)
        labels, classes = encode_target(y, self.positive, n_rows, findings)
        return Known(labels, Binary.of(labels), classes, {"cases": int(labels.sum())}, own_name(y))

    def known_again(self, X: Any, n_rows: int, classes: np.ndarray) -> np.ndarray:
        return encode_known(given_by(X, self.y), classes, n_rows, self.positive)

    def known_there(self, columns: Mapping[str, Column], ask: Ask) -> KnownThere:
        """Rows are counted by label."""
        name, title, findings = columns["y"].name, columns["y"].title, Findings()
        seen: CountedLabels = ask([name], partial(_labels_in, name))
        with findings.noting():
            refuse_unlabelled(seen.missing)
        with findings.noting():
            labels = seen.in_order("the target")
            counts = np.array([seen.counts[label] for label in labels.tolist()])
            grouping = Grouping.of(self.positive, labels)
            if grouping is None:
                classes = choose_classes(labels, counts, title, self.positive)
                ill = labels == classes[1]
            else:
                ill, classes = choose_groups(labels, counts, grouping)
            if grouping is not None and len(seen.counts) == LABELS_AT_MOST:
                raise InputError(f"{columns['y'].called} holds {LABELS_AT_MOST} different labels or more")
        findings.refuse()
        diseases, n_cases = tuple(labels[ill].tolist()), int(counts[ill].sum())
        outcome = Binary(n_cases / sum(seen.counts.values()))
        return KnownThere(LabelRows(name, diseases), outcome, classes, {"cases": n_cases}, title)


@dataclass(frozen=True)
class LabelRows:
    """Labels: 1 where the column holds one of the ``diseases``, and else 0."""

    name: Hashable
    diseases: tuple[Any, ...]

    @property
    def columns(self) -> tuple[Hashable, ...]:
        return (self.name,)

    def rows(self, partition: pd.DataFrame) -> np.ndarray:
        held = [is_label(partition[self.name], disease) for disease in self.diseases]
        return np.any(held, axis=0).astype(np.intp)


def _labels_in(name: Hashable, partition: pd.DataFrame) -> CountedLabels:
    return CountedLabels.of(partition[name])


@dataclass(frozen=True)
class DiagnosisColumn(OutcomeColumns):
    """A column with two labels.

    Attributes
    ----------
    target : its name.
    positive : the labels that mean disease, or a rule such as ``>=1``; none where the labels say it.
    negative : the labels of the controls; rows with a label of neither are left out.
    prevalence : share of the population with the disease, where cases and controls were sampled apart.
    said : ``binary`` where the user said so, rather than left it to be seen.
    """

    target: str
    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    prevalence: float | None = None
    said: Literal["binary"] | None = None

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        return (("--target", self.target),)

    @property
    def of_labels(self) -> str:
        return self.target

    def read(self, table: Any, path: str | PathLike[str]) -> OutcomeCells:
        labels, missing = labels_in(table[self.target], self.target, "--target", path)
        grouped = len(self.positive) > 1 or (self.positive and _may_be_several(self.positive[0]))
        if not self.positive or not (self.negative or grouped):
            return OutcomeCells(labels, {self.target: missing}, np.zeros(labels.size, dtype=bool))
        labels, others = two_groups(labels, missing, self.target, self.positive, self.negative)
        notes: tuple[str, ...] = (_others_left_out(labels[others]),) if others.any() else ()
        return OutcomeCells(labels, {self.target: missing}, others, notes)

    def tidied(self, values: Labels) -> Labels:
        return whole_numbers(values)

    def choose(self, values: Labels, rows: Index) -> ChosenDiagnosis:
        return self._chosen(*np.unique(values, return_counts=True))

    def choose_counted(self, unique: Labels, counts: Index) -> ChosenDiagnosis:
        return self._chosen(unique, counts)

    def _chosen(self, unique: Labels, counts: Index) -> ChosenDiagnosis:
        positive = None
        if self.positive:
            keys = {label_key(text_of(label)) for label in unique}
            names = called(self.positive), called(split_labels(self.positive, unique))
            positive = next((name for name in names if label_key(name) in keys), names[0])
            if len(unique) > 2:
                positive = self.positive[0]
        return ChosenDiagnosis(self, choose_counted(unique, counts, self.target, positive))


@dataclass(frozen=True)
class ChosenDiagnosis(ChosenOutcome):
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
        """With the labels of each group, where the user named them."""
        chosen = self.column
        if not chosen.negative and not (chosen.positive and chosen.positive != (self.disease.text,)):
            return super().remembered
        groups = {"positive": list(chosen.positive), "negative": list(chosen.negative)}
        return super().remembered | {"groups": groups}

    def known(self, values: Any) -> Target:
        return Diagnosis(values, self.disease.label)

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


def _may_be_several(text: str) -> bool:
    return "," in text or Rule.of(text) is not None


def _others_left_out(labels: Labels) -> str:
    named = [one_line(plain(label), 30) for label in np.unique(whole_numbers(labels))]
    are = "is" if labels.size == 1 else "are"
    return f"{rows(labels.size)} with other labels ({listed(named)}) {are} left out"
