"""Stages in order: numbers, texts that say their order, or texts whose order the user gives."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import narwhals as nw
import numpy as np

from ..errors import InputError
from ..method.table import Index
from ..outcomes.ordinal import MOST_STAGES, Ordinal
from ..wording import listed, one_line, plain, plural, quoted
from .from_frame import own_name
from .kinds import variable_of_counts
from .labels import text_of
from .outcomes import (
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
    labels_in,
    whole_numbers,
)
from .rules import Findings
from .target import label_key, of_one_kind, refuse_unlabelled, row_labels

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Stages(Target):
    """A stage for each patient, y (n,), and the ``levels`` in order, or None where they say it themselves."""

    ROLES: ClassVar[Mapping[str, str]] = {"y": "the stage"}
    NO_VARIABLES: ClassVar[frozenset[str]] = frozenset({"y"})

    y: Any
    levels: Sequence[Any] | None = None

    def known(self, X: Any, n_rows: int, findings: Findings) -> Known:
        y = given_by(X, self.y)
        labels, missing = row_labels(y, n_rows)
        with findings.noting():
            refuse_unlabelled(int(missing.sum()))
        labels = of_one_kind(labels[~missing])
        classes = in_order(_different(labels), self.levels or _own_order(y), "y", "levels=[…]")
        places = places_of(labels, classes)
        stages = Ordinal.of(places)
        return Known(places, stages, classes, facts_of(stages, classes), own_name(y))

    def known_again(self, X: Any, n_rows: int, classes: np.ndarray) -> np.ndarray:
        labels, missing = row_labels(given_by(X, self.y), n_rows)
        refuse_unlabelled(int(missing.sum()))
        labels = of_one_kind(labels)
        known = classes.tolist()
        unknown = [label for label in dict.fromkeys(labels.tolist()) if label not in known]
        if unknown:
            raise InputError(
                f"y holds {listed([repr(label) for label in unknown])}: the model knows the stages "
                f"{listed([repr(label) for label in known])}"
            )
        return places_of(labels, classes)

    def known_there(self, columns: Mapping[str, Column], ask: Ask) -> KnownThere:
        """Rows are counted by stage."""
        name, title, findings = columns["y"].name, columns["y"].title, Findings()
        seen: CountedLabels = ask([name], partial(_labels_in, name))
        with findings.noting():
            refuse_unlabelled(seen.missing)
        findings.refuse()
        classes = in_order(list(seen.counts), self.levels, columns["y"].called, "levels=[…]")
        counts = np.array([seen.counts[label] for label in classes.tolist()], dtype=np.float64)
        stages = Ordinal.of_counts(counts)
        rows = StageRows(name, tuple(classes.tolist()), stages)
        return KnownThere(rows, stages, classes, facts_of(stages, classes), title)


def in_order(different: list[Any], levels: Sequence[Any] | None, name: str, how: str) -> np.ndarray:
    """(C,) the stages that there are, from low to high; an error says ``how`` to tell their order."""
    if not 2 <= len(different) <= MOST_STAGES:
        found = listed([repr(plain(one)) for one in different], 5) if different else "nothing"
        raise InputError(
            f"{name} must hold from 2 to {MOST_STAGES} different stages, and it holds "
            f"{len(different)}: {found}"
        )
    if levels is not None:
        wanted = [plain(level) for level in levels]
        if len(set(wanted)) < len(wanted):
            raise InputError(f"the levels of {name} are given twice: list each once, from low to high")
        unknown = [one for one in different if plain(one) not in wanted]
        if unknown:
            raise InputError(
                f"{name} holds {listed([repr(plain(one)) for one in unknown], 8)}, which the levels that are "
                f"given do not list: {listed([repr(one) for one in wanted], 10)}"
            )
        there = {plain(one): one for one in different}
        return np.array([there[level] for level in wanted if level in there])
    if all(isinstance(plain(one), int | float) for one in different):
        return np.array(sorted(different))
    try:
        return np.array(variable_of_counts(name, dict.fromkeys(map(str, different), 1), "ordinal").levels)
    except InputError:
        raise InputError(
            f"the stages of {name}, {listed([repr(plain(one)) for one in different], 10)}, do not say their "
            f"order: list them from low to high, {how}"
        ) from None


def _different(labels: np.ndarray) -> list[Any]:
    try:
        return list(np.unique(labels).tolist())
    except TypeError as error:
        raise InputError(f"y mixes labels of several kinds: {error}") from error


def _own_order(y: Any) -> list[Any] | None:
    """The categories of a series that has them in order."""
    if not nw.dependencies.is_into_series(y):
        return None
    dtype: Any = nw.from_native(y, series_only=True).dtype
    return list(dtype.categories) if isinstance(dtype, nw.Enum) else None


def places_of(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """(n, 1) the place of each stage among those in order."""
    place = {label: k for k, label in enumerate(classes.tolist())}
    return np.array([place[label] for label in labels.tolist()], dtype=np.float64)[:, None]


def facts_of(stages: Ordinal, classes: np.ndarray) -> dict[str, Any]:
    """What a model remembers of them."""
    return {
        "outcome": stages.name,
        "stages": [text_of(label) for label in classes],
        "counts": [int(count) for count in stages.counts],
        "cut": stages.cut,
    }


@dataclass(frozen=True)
class StageRows:
    """Stages: the place of each among ``classes``."""

    name: Hashable
    classes: tuple[Any, ...]
    stages: Ordinal

    @property
    def columns(self) -> tuple[Hashable, ...]:
        return (self.name,)

    def rows(self, partition: pd.DataFrame) -> np.ndarray:
        labels = np.asarray(partition[self.name].to_numpy())
        return self.stages.rows(places_of(labels, np.array(self.classes, dtype=object)))


def _labels_in(name: Hashable, partition: pd.DataFrame) -> CountedLabels:
    return CountedLabels.of(partition[name])


# --- in files -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StageColumn(OutcomeColumns):
    """A column of stages, and their order, if the user gives it."""

    target: str
    levels: tuple[str, ...] | None = None

    said: ClassVar[Literal["ordinal"]] = "ordinal"

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        return (("--target", self.target),)

    @property
    def of_labels(self) -> str:
        return self.target

    def read(self, table: Any, path: str | PathLike[str]) -> OutcomeCells:
        labels, missing = labels_in(table[self.target], self.target, "--target", path)
        return OutcomeCells(labels, {self.target: missing}, np.zeros(labels.size, dtype=bool))

    def tidied(self, values: Labels) -> Labels:
        return whole_numbers(values)

    def choose(self, values: Labels, rows: Index) -> ChosenStages:
        return self.choose_counted(*np.unique(values, return_counts=True))

    def choose_counted(self, unique: Labels, counts: Index) -> ChosenStages:
        different = unique.tolist()
        levels = None
        if self.levels is not None:
            by_key = {label_key(text_of(label)): label for label in different}
            levels = [by_key.get(label_key(level), level.strip()) for level in self.levels]
        called = f"the target {quoted(self.target)}"
        if len(different) > MOST_STAGES and unique.dtype.kind in "iuf":
            raise InputError(
                f"{called} holds {len(different)} different numbers: for a number as the outcome use "
                "--outcome "
                "continuous, for a count --outcome count."
            )
        classes = in_order(different, levels, called, "--levels 'low<mid<high'")
        number = dict(zip(different, counts.tolist(), strict=True))
        return ChosenStages(self, tuple(classes.tolist()), tuple(number[one] for one in classes.tolist()))


@dataclass(frozen=True)
class ChosenStages(ChosenOutcome):
    """A column of stages, from low to high, and how many rows have each."""

    kind: ClassVar[str] = "ordinal"

    column: StageColumn
    stages: tuple[Any, ...]
    counts: tuple[int, ...]

    @property
    def called(self) -> str:
        cut = Ordinal.of_counts(np.array(self.counts, dtype=np.float64)).cut
        highest = "" if cut == len(self.stages) - 1 else " or higher"
        return f"{self.column.target}: {text_of(self.stages[cut])}{highest}"

    @property
    def parameters(self) -> dict[str, Any]:
        return {"outcome": "ordinal", "levels": [plain(stage) for stage in self.stages]}

    def known(self, values: Any) -> Target:
        return Stages(values, self.stages)

    def lines(self, n_rows: int, of_what: str = "patients") -> list[str]:
        counted = [
            f"{one_line(text_of(stage), 30)} ({plural(count, 'row')})"
            for stage, count in zip(self.stages, self.counts, strict=True)
        ]
        said = f"stages, from low to high: {' < '.join(counted)}"
        return [f"{one_line(self.column.target)} of {n_rows} {of_what}; {said}"]
