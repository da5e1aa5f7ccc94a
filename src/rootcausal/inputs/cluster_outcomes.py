"""Outcomes of cohorts on a cluster: their columns are looked at first, and only sums come back.

Checks and words are those of :mod:`.outcomes`; here one class for each kind says which columns it needs, what
to sum of them, and how each partition then makes of them what tables keep.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ..core.table import F64
from ..outcomes.binary import Binary
from ..outcomes.continuous import FEWEST_VALUES, Continuous
from .cluster_follow_up import FollowUpOnCluster
from .cluster_known import Ask, Column, KnownThere, Labels, OnCluster, is_label
from .outcomes import (
    Amount,
    Diagnosis,
    FollowUp,
    Target,
    facts_of_number,
    note_missing,
    numbers_of,
    refuse_constant,
    refuse_flat,
)
from .rules import Findings
from .target import choose_classes, refuse_unlabelled


def on_cluster(target: Target) -> OnCluster:
    """How an outcome is told by columns on a cluster."""
    kinds: dict[type, Callable[[Any], OnCluster]] = {
        Diagnosis: DiagnosisOnCluster,
        FollowUp: FollowUpOnCluster,
        Amount: AmountOnCluster,
    }
    return kinds[type(target)](target)


@dataclass(frozen=True, eq=False)
class DiagnosisOnCluster:
    """Rows are counted by label."""

    ROLES: ClassVar[Mapping[str, str]] = {"y": "the target"}
    NO_VARIABLES: ClassVar[frozenset[str]] = frozenset()  # a column that tells it is for the checks to judge

    target: Diagnosis

    def given(self) -> dict[str, Any]:
        return {"y": self.target.y}

    def known(self, columns: Mapping[str, Column], ask: Ask) -> KnownThere:
        name, title, findings = columns["y"].name, columns["y"].title, Findings()
        seen: Labels = ask([name], partial(_labels_in, name))
        with findings.noting():
            refuse_unlabelled(seen.missing)
        with findings.noting():
            labels = seen.in_order("the target")
            counts = np.array([seen.counts[label] for label in labels.tolist()])
            classes = choose_classes(labels, counts, title, self.target.positive)
        findings.refuse()
        disease = classes.tolist()[1]
        n_cases = seen.counts[disease]
        outcome = Binary(n_cases / sum(seen.counts.values()))
        return KnownThere(LabelRows(name, disease), outcome, classes, {"cases": n_cases}, title)


@dataclass(frozen=True)
class LabelRows:
    """Labels: 1 where the column holds ``disease``, and else 0."""

    name: Hashable
    disease: Any

    @property
    def columns(self) -> tuple[Hashable, ...]:
        return (self.name,)

    def rows(self, partition: pd.DataFrame) -> np.ndarray:
        return is_label(partition[self.name], self.disease).astype(np.intp)


def _labels_in(name: Hashable, partition: pd.DataFrame) -> Labels:
    return Labels.of(partition[name])


@dataclass(frozen=True, eq=False)
class AmountOnCluster:
    """Mean and variance are sums."""

    ROLES: ClassVar[Mapping[str, str]] = {"y": "y"}
    NO_VARIABLES: ClassVar[frozenset[str]] = frozenset({"y"})

    target: Amount

    def given(self) -> dict[str, Any]:
        return {"y": self.target.y}

    def known(self, columns: Mapping[str, Column], ask: Ask) -> KnownThere:
        y, findings = columns["y"], Findings()
        seen: Numbers = ask([y.name], partial(_numbers_in, y))
        note_missing(seen.missing, seen.missing + seen.count, y.called, findings)
        different = np.array(seen.different)
        with findings.noting():
            refuse_constant(different, y.called)
        findings.refuse()
        number = Continuous(seen.mean, float(np.sqrt(seen.squares / (seen.count - 1))))
        refuse_flat(number, different, y.called)
        return KnownThere(NumberRows(y, number), number, np.empty(0), facts_of_number(number))


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
