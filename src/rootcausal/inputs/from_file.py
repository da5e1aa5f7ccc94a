"""Patients in files: which column is what, and every value a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.table import F64, LARGEST, Index
from ..errors import InputError
from ..files.tables import as_float64, as_matrix, column_names, read_columns, stream_columns
from ..wording import listed, one_line, plain, quoted, shown
from .dates import in_days, in_days_of_the_cohort
from .groups import numbered
from .roles import Roles, choose_features, columns_found, columns_named
from .rules import (
    FileWords,
    Findings,
    missing_cells,
    note_usable_columns,
    refuse_missing_in_file,
    refuse_text_in_file,
    refuse_too_large_in_file,
)
from .target import Disease, choose_disease, one_spelling, refuse_few_of_a_class, two_labels

TO_FIT, TO_SCORE = "leave the column out with --drop COLUMN", "fill in what was measured"
TOO_FAR = "too large for the model"


@dataclass(frozen=True, eq=False)
class Patients:
    """The rows of a file.

    Attributes
    ----------
    X : pyarrow.Table
        The variables, float64, neither missing nor infinite.
    target : ndarray of shape (n,) or None
        The diagnosis labels as int64, float64, bool or str; None where no target was asked for.
    ids : list of str or None
        The id column as text; None where no id column was asked for.
    row_numbers : ndarray of shape (n,)
        Where each row stands in the file, counted from 1, the header left out.
    n_removed : int
        How many rows were left out because a value was missing.
    notes : tuple of str
        Sentences on what else was done when reading.
    reading : dict
        What of the reading the results depend on: ``na``, ``negative``, ``origins`` (see
        :mod:`rootcausal.inputs.dates`).
    """

    X: Any
    target: npt.NDArray[Any] | None
    ids: list[str] | None
    row_numbers: npt.NDArray[np.int64]
    n_removed: int
    notes: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def groups(self) -> Index | None:
        """(n,): the number of each row's patient; None where no id is there twice."""
        return None if self.ids is None else numbered(self.ids)


def read_cohort(
    path: str | PathLike[str],
    target: str,
    *,
    id_column: str | None = None,
    drop: Sequence[str] = (),
    drop_missing: bool = False,
    **more: Any,
) -> Patients:
    """Read a cohort: every column is a variable but the target, the ids and the dropped ones.

    What is ``more``, such as ``keep``, is named as in :class:`Roles`.
    """
    roles = Roles(target, id_column=id_column, drop=drop, drop_missing=drop_missing, **more)
    patients, reading, _ = _read_cohort(path, roles)
    reading.findings().refuse()
    return patients


def read_labelled_cohort(path: str | PathLike[str], roles: Roles) -> tuple[Patients, Disease]:
    """Read a cohort to fit on, and which of its labels is the disease."""
    patients, reading, table = _read_cohort(path, roles)
    findings, disease = reading.findings(), None
    everyone = patients
    if not patients.X.num_rows:  # what else is wrong shows only with the rows back
        everyone, reading, _ = _read_cohort(path, replace(roles, drop_missing=False), table)
    labels = reading.labels
    if labels.size:
        with findings.noting():
            disease = choose_disease(labels, roles.target, roles.positive)
    if findings:
        # The fit would refuse these by itself, but only once all else is mended.
        if disease is not None:
            with findings.noting():
                refuse_few_of_a_class(*np.unique(labels, return_counts=True))
        note_usable_columns(as_matrix(everyone.X), everyone.X.column_names, findings)
    findings.refuse()
    assert disease is not None
    return _with_notes(patients, roles), disease


def _with_notes(patients: Patients, roles: Roles) -> Patients:
    """The patients with what reading did to them, in words and for the model to remember."""
    notes, reading = patients.notes, dict(patients.reading)
    if patients.groups is not None:
        n_rows, n_patients = len(patients.groups), int(patients.groups.max()) + 1
        notes += (f"{n_rows:,} rows of {n_patients:,} patients: the bootstrap resamples patients, not rows",)
    if roles.na:
        reading["na"] = list(roles.na)
    if roles.negative is not None:
        reading["negative"] = roles.negative
    return replace(patients, notes=notes, reading=reading)


def _read_cohort(
    path: str | PathLike[str], roles: Roles, table: Any = None
) -> tuple[Patients, _Reading, Any]:
    """The patients, what there is to say of them, and the table that they were read from, if not given."""
    features = choose_features(path, column_names(path), roles)
    if table is None:
        columns = [*features, roles.target, *_listed(roles.id_column)]
        table = read_columns(path, columns, roles.id_column, roles.na)
    table, dates = in_days_of_the_cohort(table, features, columns_named(features, roles.keep))
    reading = _Reading(
        path, dates.without_refused(features), roles.target, roles.id_column, roles.drop_missing
    )
    reading.choose_labels(roles.positive, roles.negative)
    with reading.noting():
        dates.refuse(shown(path))
    patients = reading.patients(table)
    if dates.origins:
        patients = replace(patients, reading={"origins": dates.origins})
    return patients, reading, table


def read_new_patients(
    path: str | PathLike[str],
    features: Sequence[str],
    *,
    needed: Sequence[str] | None = None,
    reach: Mapping[str, float] | None = None,
    id_column: str | None = None,
    drop_missing: bool = False,
    na: Sequence[str] = (),
    origins: Mapping[str, str] | None = None,
) -> Patients:
    """Read the columns that a model knows, in its order, and the ids; all other columns stay unread.

    The file may lack columns that are not `needed` (None: all are), or values of them. Values beyond the
    `reach` of a column are too large for the model. `na` are words for missing; `origins` the days from
    which the model counts dates.
    """
    found = columns_found(path, column_names(path), features, needed, id_column)
    reading = _Reading(path, found, None, id_column, drop_missing, needed, reach or {})
    table = read_columns(path, [*found, *_listed(id_column)], id_column, na)
    patients = reading.patients(in_days(table, origins or {}))
    reading.findings().refuse()
    return patients


def stream_new_patients(
    path: str | PathLike[str],
    features: Sequence[str],
    *,
    needed: Sequence[str] | None = None,
    reach: Mapping[str, float] | None = None,
    id_column: str | None = None,
    drop_missing: bool = False,
    na: Sequence[str] = (),
    origins: Mapping[str, str] | None = None,
) -> Iterator[Patients]:
    """The same in pieces of rows where the file is Parquet, so that it may be larger than memory.

    What is wrong with any row is an error after the last piece: nothing that was made of the pieces may be
    kept then.
    """
    found = columns_found(path, column_names(path), features, needed, id_column)
    reading = _Reading(path, found, None, id_column, drop_missing, needed, reach or {})
    for table in stream_columns(path, [*found, *_listed(id_column)], id_column, na):
        patients = reading.patients(in_days(table, origins or {}))
        if reading.text:
            break  # what no row can mend
        if reading.all_fine:
            yield patients
    reading.findings().refuse()


def _listed(id_column: str | None) -> list[str]:
    return [] if id_column is None else [id_column]


class _Reading:
    """A file on its way in, piece by piece, and what is wrong with it so far.

    Columns that are not `needed` (None: all are) may have missing values, and are left out if they hold text.

    Attributes
    ----------
    labels : those of the last piece that are not missing.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        features: Sequence[str],
        target: str | None,
        id_column: str | None,
        drop_missing: bool,
        needed: Sequence[str] | None = None,
        reach: Mapping[str, float] | None = None,
    ) -> None:
        self._path = path
        self._features = features
        self._target = target
        self._id_column = id_column
        self._drop_missing = drop_missing
        self._words = (
            FileWords(shown(path), TO_FIT) if reach is None else FileWords(shown(path), TO_SCORE, TOO_FAR)
        )
        self._needed = set(features if needed is None else needed)
        self._unreadable = Findings()
        self._reach = {} if reach is None else reach
        self.text: dict[str, Any] = {}
        self._too_large: Counter[str] = Counter()
        self._missing: Counter[str] = Counter()
        self._n_rows = 0
        self._n_kept = 0
        self.labels: npt.NDArray[Any] = np.empty(0)
        self._two_labels: tuple[str, str] | None = None

    def choose_labels(self, positive: str | None, negative: str | None) -> None:
        """Leave out rows with other labels than these two, where both are given."""
        if positive is not None and negative is not None:
            self._two_labels = (positive, negative)

    def noting(self) -> AbstractContextManager[None]:
        """Keep what a rule refuses for :meth:`findings`."""
        return self._unreadable.noting()

    @property
    def all_fine(self) -> bool:
        """Whether nothing so far keeps the rows from being used."""
        missing = self._missing.total() and not self._drop_missing
        return not (self._unreadable or self.text or self._too_large.total() or missing)

    def patients(self, table: Any) -> Patients:
        """The rows of a piece, without those that miss a value where these are to be left out."""
        columns, missing = self._numbers(table)
        ids: list[str] | None = None
        labels = no_label = None
        others = np.zeros(table.num_rows, dtype=bool)
        with self._unreadable.noting():
            if self._target is not None:
                labels, no_label = self._labels(table[self._target])
                missing[self._target] = no_label
                if self._two_labels is not None:
                    labels, others = two_labels(labels, no_label, self._target, *self._two_labels)
        with self._unreadable.noting():
            if self._id_column is not None:
                ids = self._texts(table[self._id_column], self._id_column, "--id")
        keep = ~others
        for name, where in missing.items():
            self._missing[name] += int((where & ~others).sum())
            if self._drop_missing:
                keep &= ~where
        row_numbers = np.flatnonzero(keep) + self._n_rows + 1
        self._n_rows += keep.size
        self._n_kept += row_numbers.size
        if row_numbers.size < keep.size:  # free of copies in the usual case, where no row is left out
            columns = {name: values[keep] for name, values in columns.items()}
            ids = None if ids is None else [text for text, kept in zip(ids, keep, strict=True) if kept]
        notes: tuple[str, ...] = ()
        if labels is not None and no_label is not None:
            if others.any():
                notes = (_others_left_out(labels[others]),)
            self.labels = _whole_numbers(labels[keep & ~no_label])
            labels = _whole_numbers(labels[keep])
        n_removed = keep.size - row_numbers.size - int(others.sum())
        return Patients(_as_table(columns), labels, ids, row_numbers, n_removed, notes)

    def findings(self) -> Findings:
        """All that is wrong, once the whole file was read."""
        if self._n_rows == 0:
            raise InputError(f"{shown(self._path)} has column names but no rows.")
        file, findings = self._words, self._unreadable
        with findings.noting():
            refuse_text_in_file(file, self.text)
        with findings.noting():
            refuse_too_large_in_file(file, self._too_large)
        with findings.noting():
            refuse_missing_in_file(
                file, self._missing, self._target, self._drop_missing, self._n_rows, self._n_kept
            )
        return findings

    def _numbers(self, table: Any) -> tuple[dict[str, F64], dict[str, npt.NDArray[np.bool_]]]:
        """Each variable as float64, and where those that are needed are missing; text is noted."""
        columns: dict[str, F64] = {}
        missing: dict[str, npt.NDArray[np.bool_]] = {}
        for name in self._features:
            values = as_float64(table[name])
            if name not in self._needed:
                if values is not None:
                    columns[name] = np.where(np.isinf(values), np.nan, values)
            elif values is None:
                self.text.setdefault(name, table[name])
                missing[name] = missing_cells(table[name])
            else:
                columns[name], missing[name] = values, np.isnan(values)
                self._too_large[name] += int((np.abs(values) > self._reach.get(name, LARGEST)).sum())
        return columns, missing

    def _labels(self, column: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """Return the target's labels and where they are missing."""
        import pyarrow as pa

        if pa.types.is_boolean(column.type):
            return column.fill_null(False).to_numpy(), column.is_null().to_numpy()
        numbers = as_float64(column)
        if numbers is not None:
            return numbers, np.isnan(numbers)
        assert self._target is not None
        texts = self._texts(column, self._target, "--target")
        spelling = one_spelling(texts)
        labels = [spelling[text] for text in texts]
        return (
            np.array([label or "" for label in labels], dtype=np.str_),
            np.array([label is None for label in labels], dtype=bool),
        )

    def _texts(self, column: Any, name: str, option: str) -> list[str]:
        import pyarrow as pa

        try:
            return ["" if text is None else text for text in column.cast(pa.string()).to_pylist()]
        except (pa.ArrowException, UnicodeDecodeError):
            raise InputError(
                f"column {quoted(name)} ({option}) of {shown(self._path)} is not text: correct it or choose "
                "another."
            ) from None


def _as_table(columns: dict[str, F64]) -> Any:
    import pyarrow as pa

    return pa.table(columns)


def _others_left_out(labels: npt.NDArray[Any]) -> str:
    named = [one_line(plain(label), 30) for label in np.unique(_whole_numbers(labels))]
    rows = "1 row" if labels.size == 1 else f"{labels.size:,} rows"
    return f"{rows} with other labels ({listed(named)}) {'is' if labels.size == 1 else 'are'} left out"


def _whole_numbers(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Turn float labels into integers where nothing is lost, so that 1.0 reads as 1."""
    if labels.dtype.kind == "f" and np.isfinite(labels).all() and (labels == np.floor(labels)).all():
        return labels.astype(np.int64)
    return labels
