"""One question put to every method: which mechanism was hit in these rows?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np

from ..method.table import F64, Index


@dataclass(frozen=True, eq=False)
class Trial:
    """Rows of a system while nothing was wrong, and units that are to be explained.

    Attributes
    ----------
    columns : (p,) names.
    reference : (n, p) rows while nothing was wrong, in the order of time where they have one.
    rows : (m, p) of what is to be explained.
    unit : (m,) which of u units each row belongs to: rows by themselves, or the rows of an incident.
    answers : (u,) the nodes that are right.
    faults : (u,) what was done to each; the units of a fault stand or fall together.
    nodes : (p,) the node that each column belongs to: itself, or the service that it measures.
    cases : (c, p) rows with faults that may be learned from, and nobody says which; none where there are no
        rows.
    fresh : (f, p) other rows while nothing was wrong, for false alarms; none where there are no rows.
    first : columns that are known to come before all others.
    causes : of each column by the true graph; None where that is not known.
    """

    columns: tuple[str, ...]
    reference: F64
    rows: F64
    unit: Index
    answers: tuple[frozenset[str], ...]
    faults: tuple[str, ...]
    nodes: tuple[str, ...]
    cases: F64
    fresh: F64
    first: tuple[str, ...] = ()
    causes: Mapping[str, tuple[str, ...]] | None = None

    @cached_property
    def mean(self) -> F64:
        """(p,) of the reference."""
        return self.reference.mean(axis=0)

    @cached_property
    def sd(self) -> F64:
        """(p,) of the reference."""
        return self.reference.std(axis=0)

    @property
    def single(self) -> bool:
        """Whether each row is a unit by itself."""
        return len(self.answers) == len(self.rows)

    def labelled(self) -> tuple[F64, Index]:
        """Reference and cases with 0 and 1: which rows have a fault, and not which."""
        y = np.repeat([0, 1], [len(self.reference), len(self.cases)])
        return np.vstack([self.reference, self.cases]), y

    def by_unit(self, scores: F64) -> F64:
        """(u, p): means over the rows of each unit."""
        total = np.zeros((len(self.answers), scores.shape[1]))
        np.add.at(total, self.unit, scores)
        return total / np.bincount(self.unit, minlength=len(self.answers))[:, None]


class Source(Protocol):
    """A system with known answers. To add one, write such a class.

    ``rootcausal benchmark my_module:MySource --data FOLDER`` runs it.

    Attributes
    ----------
    name : what the card calls it, and the folder of its files.
    about : one sentence: what it is, where it is from, under which licence.
    """

    name: ClassVar[str]
    about: ClassVar[str]

    def trials(self, folder: Path, seed: int) -> Iterator[Trial]:
        """The questions, drawn from the files in a folder by a seed."""
        ...


class Method:
    """A way to name root causes. To add one, derive from it; ``--methods my_module:MyMethod`` runs it.

    Attributes
    ----------
    name : what the card calls it.
    told : what it is told besides the reference rows.
    """

    name: ClassVar[str]
    told: ClassVar[str] = "nothing"

    def applies(self, trial: Trial) -> bool:
        """Whether the trial has what the method needs to be told."""
        return True

    def fit(self, trial: Trial) -> None:
        """Learn from the reference rows, and from what it is told."""

    def scores(self, trial: Trial) -> F64:
        """(u, p): for each unit the score of each column, the highest for the root cause."""
        raise NotImplementedError

    def p_values(self, rows: F64) -> F64 | None:
        """(f,) of rows while nothing was wrong, that any variable departs; None where it has none."""
        return None
