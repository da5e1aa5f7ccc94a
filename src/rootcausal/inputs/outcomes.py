"""What happened to the patients, as users give it: what all kinds of outcome have in common.

A kind has a module of its own (:mod:`.binary`, :mod:`.survival`, :mod:`.continuous`), with what is given in
Python, in memory and on a cluster (a :class:`Target`), and the columns of a file that say it (an
:class:`OutcomeColumns`, which with their cells becomes a :class:`ChosenOutcome`). What is refused of a
file is said in the words of the command line. Labels, times and numbers are matched to the rows of X by their
place; on a cluster columns are looked at first, and only sums come back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..method.outcome import Outcome
from ..method.table import F64, LARGEST, Index
from ..wording import listed, quoted, shown
from .from_frame import own_name
from .patients import Patients
from .rules import Findings, with_example
from .target import labels_of, one_spelling, row_labels

if TYPE_CHECKING:
    import pandas as pd

    from ..backends.cluster.frame import OutcomeRows

Labels = npt.NDArray[Any]
#: What users may say that a column is which tells the outcome.
Said = Literal["binary", "continuous", "ordinal", "count"]
Mask = npt.NDArray[np.bool_]

# The names of this many labels are kept: enough to show a user that a target has too many.
LABELS_AT_MOST = 20

#: ask(columns, look): the sum over the partitions of what ``look`` makes of these columns.
Ask = Callable[[Sequence[Hashable], "Callable[[pd.DataFrame], Any]"], Any]


# --- in Python --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of the outcome of a cohort.

    Attributes
    ----------
    values : (n,) labels or numbers, or (n, c) such as times and events, as ``outcome`` takes them.
    outcome : what they are like; None where labels only say who belongs together.
    classes : (2,) labels, the disease or the event second; empty for numbers.
    facts : what a model remembers of it.
    label_name : what the column of the labels of a diagnosis is called; empty where it has no name.
    sets : (n,) the matched set of each row; None where there are none.
    """

    values: np.ndarray
    outcome: Outcome | None
    classes: np.ndarray
    facts: Mapping[str, Any]
    label_name: str = ""
    sets: Index | None = None

    @property
    def rows(self) -> np.ndarray:
        """What tables keep of it."""
        return self.values if self.outcome is None else self.outcome.rows(self.values)


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
    outcome, classes, facts, label_name : as in :class:`Known`.
    """

    rows: OutcomeRows
    outcome: Outcome
    classes: np.ndarray
    facts: Mapping[str, Any]
    label_name: str = ""


class Target(ABC):
    """What users give.

    Attributes
    ----------
    ROLES : the arguments of fit that give it, and what a column is by each.
    NO_VARIABLES : those of them whose column is refused among the variables of a cluster.
    strata : (n,) the matched set of each row; None where there are none.
    """

    ROLES: ClassVar[Mapping[str, str]]
    NO_VARIABLES: ClassVar[frozenset[str]] = frozenset()

    strata: Any = None

    @abstractmethod
    def known(self, X: Any, n_rows: int, findings: Findings) -> Known:
        """What is known of the rows of X."""

    def refuse_itself(self, known: Known, table: F64, names: Sequence[str]) -> None:  # noqa: B027
        """Refuse columns that are the outcome again."""

    @abstractmethod
    def known_again(self, X: Any, n_rows: int, classes: np.ndarray) -> np.ndarray:
        """What is known of new patients, by the classes of the model."""

    def given(self) -> dict[str, Any]:
        """What the user gave, by role: names of columns, or dask Series."""
        return {role: getattr(self, role) for role in self.ROLES}

    def names(self) -> list[str]:
        """What the columns of the outcome are called, as far as they have names."""
        given = (getattr(self, role) for role in self.ROLES)
        named = [one if isinstance(one, str) else own_name(one) for one in given]
        return [name for name in named if name]

    @abstractmethod
    def known_there(self, columns: Mapping[str, Column], ask: Ask) -> KnownThere:
        """What is known on a cluster, given the column of each role; or one error with all that is wrong."""


def given_by(X: Any, y: Any, name: str = "y") -> Any:
    """What y gives or, for AnnData, names; what was read from a file is as it should be."""
    return y if isinstance(X, Patients) else labels_of(X, y, name)


def numbers_of(values: Any, name: str, n_rows: int) -> tuple[F64, np.ndarray]:
    """(n,) each: one number a row, and where there is none."""
    values, missing = row_labels(values, n_rows, name)
    if values.dtype.kind not in "iufO":
        raise InputError(f"{name} must be numbers, not {values.dtype}")
    try:
        numbers = np.where(missing, np.nan, values).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be numbers: {error}") from error
    if np.isinf(numbers).any() or (np.abs(numbers[~missing]) > LARGEST).any():
        raise InputError(f"{name} holds infinite values (inf), or values too large: correct these rows")
    return numbers, missing


def note_missing(gone: int, n_rows: int, name: str, findings: Findings) -> None:
    """Note the rows without an outcome; where all are, nothing else can be said of it."""
    if gone == n_rows:
        refuse_missing(gone, name)
    with findings.noting():
        refuse_missing(gone, name)


def refuse_missing(gone: int, name: str) -> None:
    if gone:
        raise InputError(f"{gone} row(s) have no {name} (NaN): drop these rows")


# --- on a cluster -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CountedLabels:
    """How many rows have each label, of :data:`LABELS_AT_MOST` of them, and how many have none.

    The label that the user ``wanted`` is kept in any case.
    """

    counts: dict[Any, int]
    missing: int
    wanted: Any = None

    @classmethod
    def of(cls, series: pd.Series, wanted: Any = None) -> CountedLabels:
        import pandas as pd

        codes, labels = pd.factorize(series)
        counts = np.bincount(codes[codes >= 0], minlength=len(labels)).tolist()
        counted = dict(zip(labels.tolist(), counts, strict=True))
        return cls(_few(counted, wanted), int((codes < 0).sum()), wanted)

    def __add__(self, other: CountedLabels) -> CountedLabels:
        counts = Counter(self.counts) + Counter(other.counts)
        return CountedLabels(_few(counts, self.wanted), self.missing + other.missing, self.wanted)

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


# --- in files -----------------------------------------------------------------------------------------------


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
        return (*self.notes, f"{rows(gone)} without an outcome ({where} missing) {are} left out")


class ChosenOutcome(ABC):
    """What the cells of a cohort turned out to hold.

    Attributes
    ----------
    kind : the name of the outcome, as estimators have it.
    called : what a page calls it.
    unit : of the times, or of the number.
    parameters : of the estimator, besides those that all have.
    draws_sets : whether resamples draw matched sets.
    """

    kind: ClassVar[str]
    draws_sets: ClassVar[bool] = False

    @property
    @abstractmethod
    def called(self) -> str: ...

    @property
    def unit(self) -> str | None:
        return None

    @property
    def parameters(self) -> dict[str, Any]:
        return {}

    @property
    def remembered(self) -> dict[str, Any]:
        """What a model remembers of the columns, for pages and tables to come."""
        return {"called": self.called} if self.unit is None else {"called": self.called, "unit": self.unit}

    @abstractmethod
    def known(self, values: Any) -> Target:
        """What happened to these patients, as the estimator takes it."""

    def arguments(self, values: Any) -> tuple[Any, ...]:
        """The same as ``fit`` and ``diagnose`` take it, after X."""
        return (values,)

    def refuse_few(self, values: Labels) -> None:  # noqa: B027
        """Refuse what is too little to learn from, in a table that is refused anyway."""

    def counted(self, made: Mapping[str, Any]) -> ChosenOutcome:
        """The same with what a fit on a cluster learned of it."""
        return self

    @abstractmethod
    def lines(self, n_rows: int, of_what: str = "patients") -> list[str]:
        """What is said of it before a fit."""


class OutcomeColumns(ABC):
    """What the user says of the columns that tell the outcome.

    Attributes
    ----------
    named : (option, column) of each.
    of_labels : the one with labels, or None.
    said : what kind the user said that it is, such as ``binary`` or ``continuous``; None where nothing was
        said.
    """

    @property
    @abstractmethod
    def named(self) -> tuple[tuple[str, str], ...]: ...

    @property
    def of_labels(self) -> str | None:
        return None

    @property
    def said(self) -> Said | None:
        return None

    @property
    def arguments(self) -> tuple[str | None, ...]:
        """The names of the columns as ``fit`` takes them, after X."""
        return tuple(column for _, column in self.named)

    @abstractmethod
    def read(self, table: Any, path: str | PathLike[str]) -> OutcomeCells:
        """The cells of a piece of the file; what cannot be read is refused."""

    def values_of(self, option: str, values: Labels) -> Labels:
        """(n,) of the column of an option; several are fields, called like their options."""
        return values if values.dtype.names is None else values[option.removeprefix("--")]

    def tidied(self, values: Labels) -> Labels:
        """The same as people write it: 1.0 becomes 1."""
        return values

    @abstractmethod
    def choose(self, values: Labels, rows: Index) -> ChosenOutcome:
        """What they come to, without missing ones; ``rows`` (n,) is where each stands in the file."""

    @abstractmethod
    def choose_counted(self, unique: Labels, counts: Index) -> ChosenOutcome:
        """The same for rows on a cluster, given each label once, with its rows counted."""


def labels_in(column: Any, name: str, option: str, path: str | PathLike[str]) -> tuple[Labels, Mask]:
    """(n,) each: the labels of a pyarrow column in one spelling, and where they are missing."""
    import pyarrow as pa

    from ..files.tables import as_float64

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

    from ..files.tables import as_float64

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


def rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"
