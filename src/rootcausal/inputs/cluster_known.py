"""What outcomes of cohorts on a cluster have in common: columns, labels, and what each partition knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd

from ..backends.dask_frame import OutcomeRows
from ..core.outcome import Outcome
from ..errors import InputError

# The names of this many labels are kept: enough to show a user that a target has too many.
LABELS_AT_MOST = 20

#: ask(columns, look): the sum over the partitions of what ``look`` makes of these columns.
Ask = Callable[[Sequence[Hashable], Callable[[pd.DataFrame], Any]], Any]


@dataclass(frozen=True)
class Column:
    """A column of the frame, what to call it in messages, and how the user titled it, if at all."""

    name: Hashable
    called: str
    title: str


@dataclass(frozen=True, eq=False)
class KnownThere:
    """What is known of the outcome of a cohort whose rows are elsewhere.

    Attributes
    ----------
    rows : what each partition knows.
    outcome, classes, facts, label_name : as in :class:`.outcomes.Known`.
    """

    rows: OutcomeRows
    outcome: Outcome
    classes: np.ndarray
    facts: Mapping[str, Any]
    label_name: str = ""


class OnCluster(Protocol):
    """One kind of outcome.

    Attributes
    ----------
    ROLES : the arguments of fit that give it, and what a column is by each.
    NO_VARIABLES : those of them whose column is refused among the variables.
    """

    ROLES: ClassVar[Mapping[str, str]]
    NO_VARIABLES: ClassVar[frozenset[str]]

    def given(self) -> dict[str, Any]:
        """What the user gave, by role: names of columns, or dask Series."""
        ...

    def known(self, columns: Mapping[str, Column], ask: Ask) -> KnownThere:
        """What is known of it, given the column of each role; or one error that says all that is wrong."""
        ...


@dataclass(frozen=True)
class Labels:
    """How many rows have each label, of :data:`LABELS_AT_MOST` of them, and how many have none.

    The label that the user ``wanted`` is kept in any case.
    """

    counts: dict[Any, int]
    missing: int
    wanted: Any = None

    @classmethod
    def of(cls, series: pd.Series, wanted: Any = None) -> Labels:
        codes, labels = pd.factorize(series)
        counts = np.bincount(codes[codes >= 0], minlength=len(labels)).tolist()
        counted = dict(zip(labels.tolist(), counts, strict=True))
        return cls(_few(counted, wanted), int((codes < 0).sum()), wanted)

    def __add__(self, other: Labels) -> Labels:
        counts = Counter(self.counts) + Counter(other.counts)
        return Labels(_few(counts, self.wanted), self.missing + other.missing, self.wanted)

    def in_order(self, called: str) -> np.ndarray:
        """The labels."""
        try:
            # Labels are hashable, which does not say that they can be compared: the error below does.
            return np.array(sorted(self.counts))
        except TypeError as error:
            raise InputError(f"{called} mixes labels of several kinds: {list(self.counts)!r}") from error


def _few(counts: Mapping[Any, int], wanted: Any) -> dict[Any, int]:
    first = sorted(counts, key=lambda label: (label != wanted, repr(label)))[:LABELS_AT_MOST]
    return {label: counts[label] for label in first}


def is_label(series: pd.Series, label: Any) -> np.ndarray:
    """(n,) which rows have it; none lacks a label."""
    return (series == label).to_numpy(dtype=bool)
