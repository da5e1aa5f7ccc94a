"""Patients on their way to be fitted or scored: columns of a cohort, rows of a file, a cohort as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..files.cells import is_missing
from ..method.layout import Layout
from ..method.missing.sums import IncompleteRaw
from ..method.moments import Columns
from ..method.outcome import Outcome
from ..method.set_effects import SetEffects
from ..method.table import F64, Index, RawTable
from ..method.weighted import RowWeights
from .cells import Found
from .encoding import Encoding
from .from_frame import as_frame, column_names, names_of, of_array, of_frame, set_names, variables
from .infer_types import infer_types, put_on_log_scale
from .kinds import ColumnHints, Said, Variable
from .measurement import limits_by_place, put_limits, read_at_limits
from .rules import (
    IN_PYTHON,
    Advice,
    Findings,
    note_usable_columns,
    refuse_few_rows,
    refuse_no_columns,
    refuse_not_positive,
)


@dataclass(frozen=True)
class Readings:
    """The columns of a cohort, on their way to be fitted.

    Attributes
    ----------
    table : (n, p) numbers, one column for each variable.
    encoding : what they stand for.
    usable : (p,) columns with which nothing was wrong as far as they were read.
    borrowed : the numbers may be the user's own.
    """

    table: F64
    encoding: Encoding
    usable: np.ndarray
    borrowed: bool = False

    @property
    def missing(self) -> Index:
        """(p,) missing values of each variable."""
        return np.isnan(self.table).sum(axis=0)


def readings_for_fit(estimator: Any, X: Any, hints: ColumnHints | None, findings: Findings) -> Readings:
    """The numbers of a cohort and what they stand for; what is wrong is noted.

    Sets n_features_in_ and feature_names_in_ as scikit-learn does. Without ``hints`` all columns must be
    numbers, and whole.
    """
    X = variables(X)
    frame = as_frame(X)
    if frame is None:
        found = of_array(estimator, X, hints is not None, reset=True, min_rows=2)
        strange = np.zeros(found.values.shape[1], dtype=bool)
    else:
        columns = column_names(X)
        refuse_few_rows(len(frame))
        refuse_no_columns(columns)
        set_names(estimator, columns)
        found, strange = of_frame(frame, columns, hints is not None, findings, cohort=True)
    names = names_of(estimator)
    return readings_of(found, names, hints, IN_PYTHON, findings, ~strange)


def readings_of(
    found: Found,
    names: list[str],
    hints: ColumnHints | None,
    advice: Advice,
    findings: Findings,
    usable: np.ndarray,
    decimal_comma: bool = False,
) -> Readings:
    """What the columns of a cohort are; ``usable`` (p,) are those that could be read.

    ``decimal_comma`` says that decimal commas were found by who read them.
    """
    if hints is None:
        encoding = Encoding.numbers(names)
    else:
        limits = limits_by_place(hints.limits, names, findings)
        found = read_at_limits(found, limits)
        kinds = dict[str | int, Said](dict.fromkeys(limits, "number")) | dict(hints.kinds)
        encoding, fine = infer_types(found, names, kinds, advice, findings)
        encoding = put_limits(encoding, limits, findings)
        encoding = put_on_log_scale(encoding, hints.logs, advice, findings)
        encoding = replace(encoding, decimal_comma=encoding.decimal_comma or decimal_comma)
        usable = usable & fine
    table, _ = encoding.table(found)
    counts = np.where(usable, encoding.not_positive(table), 0)
    with findings.noting():
        refuse_not_positive(counts, names, advice)
    usable = usable & (counts == 0)
    return Readings(table, encoding, usable, found.borrowed and table is found.values)


def note_usable_readings(readings: Readings, values: F64, findings: Findings) -> None:
    """Note constants and copies among the columns (n, q) of a cohort that could be read."""
    encoding = readings.encoding
    usable = readings.usable[encoding.layout.variable]
    names = [name for name, fine in zip(encoding.seen_names, usable, strict=True) if fine]
    note_usable_columns(values[:, usable], names, findings, encoding.dummy[usable])


@dataclass(frozen=True, eq=False)
class Patients:
    """The rows of a file.

    Attributes
    ----------
    X : pyarrow.Table
        The variables: numbers as float64, NaN where missing, never infinite; texts as dictionaries.
    target : ndarray of shape (n,) or None
        What happened to the patients: labels as int64, float64, bool or str; numbers; or times and events,
        as fields of these names. None where nothing of it was asked for.
    ids : list of str or None
        The id column as text; None where no id column was asked for.
    row_numbers : ndarray of shape (n,)
        Where each row stands in the file, counted from 1, the header left out.
    n_removed : int
        How many rows were left out because a value was missing.
    readings : Readings or None
        The variables of a cohort as numbers, and what these stand for; None for new patients.
    notes : tuple of str
        Sentences on what else was done when reading.
    reading : dict
        What of the reading the results depend on: ``na``, ``groups``, ``origins``, ``date_orders`` (see
        :mod:`rootcausal.files.cells`); and what tells of them: what the outcome is ``called``, and
        its ``unit``.
    preflight : tuple of str
        Sentences on what to doubt in the columns of a cohort.
    weights : ndarray of shape (n,) or None
        How much each row counts: integers, or float64; None where all count the same.
    """

    X: Any
    target: npt.NDArray[Any] | None
    ids: list[str] | None
    row_numbers: npt.NDArray[np.int64]
    n_removed: int
    readings: Readings | None = None
    notes: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    preflight: tuple[str, ...] = ()
    weights: npt.NDArray[Any] | None = None

    def logged(self) -> list[str] | None:
        """Of a cohort, the parameter ``log`` of the model that is fitted on it."""
        return None if self.readings is None else self.readings.encoding.logged()

    @cached_property
    def groups(self) -> Index | None:
        """(n,): the number of each row's patient; None where no id is there twice."""
        return None if self.ids is None else numbered(self.ids)

    def taken(self, rows: Index) -> Patients:
        """Some rows, each as often as it is named; rows of one patient are those that were."""
        readings = self.readings
        found = replace(
            self,
            X=self.X.take(rows),
            target=None if self.target is None else self.target[rows],
            ids=None if self.ids is None else [self.ids[row] for row in rows],
            row_numbers=self.row_numbers[rows],
            readings=None if readings is None else replace(readings, table=readings.table[rows]),
            weights=None if self.weights is None else self.weights[rows],
        )
        vars(found)["groups"] = None if self.groups is None else self.groups[rows]
        return found


@dataclass(frozen=True)
class Cohort:
    """What a fit asks of its data besides sums.

    Attributes
    ----------
    raw : the rows, with or without missing values.
    columns : moments of the q columns; all of them vary, and none is a copy of another.
    encoding : what the columns stand for.
    classes : (2,) labels, the disease or the event second; empty for a cohort without labels.
    outcome : what happened to the patients; None where the method asks for nothing.
    facts : what a model remembers of the outcome, such as how many rows have the disease.
    rows : values (n, q), NaN where missing, and what is known of the outcome (n,) or (n, c), where they are
        in this process.
    borrowed : the values may be the user's own array.
    sets : (n,) the matched set of each row; None where there are none.
    shared : what the rows of a set share; the values are without it.
    measured : (n, q) the values with it; None where nothing is shared.
    groups : (n,) the number of each row's patient, from 0; None where each row is a patient of its own.
    reading : what of a file's reading the results depend on, for the model to remember.
    label_name : what the column of the labels of a diagnosis is called; empty where it has no name.
    weights : what each row counts; None where all count the same, or rows are on a cluster.
    weighed : what a model remembers of weights, where there were any.
    """

    raw: RawTable | IncompleteRaw
    columns: Columns
    encoding: Encoding
    classes: np.ndarray
    outcome: Outcome | None
    facts: Mapping[str, Any]
    rows: tuple[F64, np.ndarray] | None = None
    borrowed: bool = False
    sets: Index | None = None
    shared: SetEffects | None = None
    measured: F64 | None = None
    groups: Index | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    label_name: str = ""
    weights: RowWeights | None = None
    weighed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """(p,) what the columns of the user's table hold."""
        return self.encoding.variables

    @property
    def layout(self) -> Layout:
        """Which variable each column belongs to."""
        return self.encoding.layout

    @property
    def counted(self) -> Index:
        """Rows that stand for all, each as often as it counts."""
        assert self.rows is not None
        return np.arange(len(self.rows[0])) if self.weights is None else self.weights.sample

    @property
    def n_cases(self) -> int:
        """Rows with the disease; of a diagnosis only."""
        return int(self.facts["cases"])

    @property
    def missing_by_class(self) -> Index | None:
        """(2, p) missing values of each variable among controls and cases; None where there are none."""
        moments = self.columns.moments
        if moments.measured is None or moments.count.size < 2:
            return None
        first = np.searchsorted(self.layout.variable, np.arange(len(self.variables)))
        return (moments.count[:, None] - moments.measured)[:, first].astype(np.intp)

    def named(self, variables: Index) -> list[str]:
        """What to call some variables."""
        return [self.encoding.names[v] for v in variables]


# --- repeated patients ------------------------------------------------------------------------------------
#
# Rows of one patient are alike, and counting them as different people would make everything look surer than
# it is. The fit itself takes each row as it comes; the bootstrap draws patients, with all of their rows.


def patients_of(groups: Any, n_rows: int) -> Index | None:
    """(n,): the number of each row's patient, given one id a row; None where nobody is there twice.

    Rows without an id are patients of their own.
    """
    if groups is None:
        return None
    if nw.dependencies.is_into_series(groups):
        groups = nw.from_native(groups, series_only=True).to_list()
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise InputError(f"groups must hold one patient id a row, not {groups!r}")
    ids = list(groups.tolist() if isinstance(groups, np.ndarray) else groups)
    if len(ids) != n_rows:
        raise InputError(f"X has {n_rows} rows but groups has {len(ids)}: give one patient id a row")
    return numbered(ids)


def numbered(ids: list[Any]) -> Index | None:
    """(n,): patients by number, in the order in which they first come; None where nobody is there twice."""
    numbers: dict[Any, int] = {}
    found = np.empty(len(ids), dtype=np.intp)
    try:
        for row, name in enumerate(ids):
            found[row] = numbers.setdefault(_Nobody() if _is_missing(name) else name, len(numbers))
    except TypeError:
        raise InputError("groups must hold one patient id a row: numbers or texts") from None
    return None if len(numbers) == len(ids) else found


class _Nobody:
    """An id that is missing, and equal to no other."""


def _is_missing(name: Any) -> bool:
    return is_missing(name) or (isinstance(name, str) and not name.strip())
