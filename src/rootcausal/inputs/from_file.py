"""Patients in files: which column is what, and every value a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.table import LARGEST
from ..errors import InputError
from ..files.tables import as_float64, column_names, read_columns, stream_columns
from ..wording import quoted, shown
from .cells import Cells, Found, of_arrow
from .encoding import Encoding
from .from_frame import COMPLETE_TO_BE_SCORED
from .guess import ON_COMMAND_LINE, read_cells
from .kinds import Variable
from .matrices import Readings, note_holes, settled, warn_of_unseen
from .roles import Roles, choose_features, columns_found
from .rules import (
    FileWords,
    Findings,
    note_usable_columns,
    refuse_missing_in_file,
    refuse_text_in_file,
    refuse_too_large_in_file,
)
from .target import Disease, choose_disease, one_spelling, refuse_few_of_a_class

TO_FIT, TO_SCORE = "leave the column out with --drop COLUMN", "fill in what was measured"
TOO_FAR = "too large for the model"


@dataclass(frozen=True, eq=False)
class Patients:
    """The rows of a file.

    Attributes
    ----------
    X : pyarrow.Table
        The variables: numbers as float64, NaN where missing, never infinite; texts as dictionaries.
    target : ndarray of shape (n,) or None
        The diagnosis labels as int64, float64, bool or str; None where no target was asked for.
    ids : list of str or None
        The id column as text; None where no id column was asked for.
    row_numbers : ndarray of shape (n,)
        Where each row stands in the file, counted from 1, the header left out.
    n_removed : int
        How many rows were left out because a value was missing.
    readings : Readings or None
        The variables of a cohort as numbers, and what these stand for; None for new patients.
    """

    X: Any
    target: npt.NDArray[Any] | None
    ids: list[str] | None
    row_numbers: npt.NDArray[np.int64]
    n_removed: int
    readings: Readings | None = None


def read_cohort(
    path: str | PathLike[str],
    target: str,
    *,
    id_column: str | None = None,
    drop: Sequence[str] = (),
    drop_missing: bool = False,
) -> Patients:
    """Read a cohort: every column is a variable but the target, the ids and the dropped ones."""
    roles = Roles(target, None, id_column, drop, drop_missing)
    patients, findings, *_ = _read_cohort(path, roles)
    findings.refuse()
    return patients


def read_labelled_cohort(path: str | PathLike[str], roles: Roles) -> tuple[Patients, Disease]:
    """Read a cohort to fit on, and which of its labels is the disease."""
    patients, findings, labels, table = _read_cohort(path, roles)
    everyone, disease = patients, None
    if not patients.row_numbers.size:  # what else is wrong shows only with the rows back
        everyone, _, labels, _ = _read_cohort(path, replace(roles, drop_missing=False), table)
    if labels.size:
        with findings.noting():
            disease = choose_disease(labels, roles.target, roles.positive)
    if findings:
        # The fit would refuse these by itself, but only once all else is mended.
        if disease is not None:
            with findings.noting():
                refuse_few_of_a_class(*np.unique(labels, return_counts=True))
        readings = everyone.readings
        assert readings is not None
        encoding, usable = readings.encoding, readings.usable[readings.encoding.layout.variable]
        names = [name for name, fine in zip(encoding.column_names, usable, strict=True) if fine]
        note_usable_columns(encoding.matrix(readings.table)[:, usable], names, findings)
    findings.refuse()
    assert disease is not None
    return patients, disease


def _read_cohort(
    path: str | PathLike[str], roles: Roles, table: Any = None
) -> tuple[Patients, Findings, npt.NDArray[Any], Any]:
    """The patients, what is wrong with them, the labels that there are, and the table they were read from."""
    features = choose_features(path, column_names(path), roles)
    if table is None:
        table = read_columns(path, [*features, roles.target, *_listed(roles.id_column)], roles.id_column)
    reading = _Reading(path, features, roles.target, roles.id_column, roles.drop_missing)
    reading.may_miss = roles.wishes.may_miss
    patients = reading.patients(table)
    findings, cells = reading.findings(), reading.cells
    usable = np.array([name in cells for name in features], dtype=bool)
    values = np.zeros((patients.row_numbers.size, len(features)), order="F")
    found = Found.of({place: cells[name] for place, name in enumerate(features) if name in cells}, values)
    readings = settled(found, features, roles.wishes, ON_COMMAND_LINE, findings, usable)
    if roles.wishes.may_miss:
        note_holes(readings.table, features, findings)
    return replace(patients, readings=readings), findings, reading.labels, table


def read_new_patients(
    path: str | PathLike[str],
    features: Sequence[str],
    *,
    needed: Sequence[str] | None = None,
    reach: Mapping[str, float] | None = None,
    variables: Mapping[str, Variable] | None = None,
    id_column: str | None = None,
    drop_missing: bool = False,
) -> Patients:
    """Read the columns that a model knows, in its order, and the ids; all other columns stay unread.

    The file may lack columns that are not `needed` (None: all are), or values of them. Values beyond the
    `reach` of a column are too large for the model. `variables` are those that are no numbers; a level of
    them that the cohort did not have is missing, with a warning.
    """
    found = columns_found(path, column_names(path), features, needed, id_column)
    reading = _Reading(path, found, None, id_column, drop_missing, needed, reach or {}, variables)
    patients = reading.patients(read_columns(path, [*found, *_listed(id_column)], id_column))
    reading.findings().refuse()
    return patients


def stream_new_patients(
    path: str | PathLike[str],
    features: Sequence[str],
    *,
    needed: Sequence[str] | None = None,
    reach: Mapping[str, float] | None = None,
    variables: Mapping[str, Variable] | None = None,
    id_column: str | None = None,
    drop_missing: bool = False,
) -> Iterator[Patients]:
    """The same in pieces of rows where the file is Parquet, so that it may be larger than memory.

    What is wrong with any row is an error after the last piece: nothing that was made of the pieces may be
    kept then.
    """
    found = columns_found(path, column_names(path), features, needed, id_column)
    reading = _Reading(path, found, None, id_column, drop_missing, needed, reach or {}, variables)
    for table in stream_columns(path, [*found, *_listed(id_column)], id_column):
        patients = reading.patients(table)
        if reading.text or reading.unreadable:
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
    cells : the variables of the last piece.
    unreadable : what is wrong with whole columns.
    text : columns that hold text where a number is expected.
    may_miss : whether variables may have missing values.
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
        variables: Mapping[str, Variable] | None = None,
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
        self.unreadable = Findings()
        self._reach = {} if reach is None else reach
        self._new = reach is not None
        self._variables = variables or {}
        self.may_miss = self._new and not COMPLETE_TO_BE_SCORED
        self.cells: dict[str, Cells] = {}
        self.text: dict[str, Any] = {}
        self._unseen: dict[str, dict[str, None]] = {}
        self._too_large: Counter[str] = Counter()
        self._missing: Counter[str] = Counter()
        self._n_rows = 0
        self._n_kept = 0
        self.labels: npt.NDArray[Any] = np.empty(0)

    @property
    def all_fine(self) -> bool:
        """Whether nothing so far keeps the rows from being used."""
        missing = self._missing.total() and not (self._drop_missing or self.may_miss)
        return not (self.unreadable or self.text or self._too_large.total() or missing)

    def patients(self, table: Any) -> Patients:
        """The rows of a piece, without those that miss a value where these are to be left out."""
        missing = self._read(table)
        ids: list[str] | None = None
        labels = no_label = None
        with self.unreadable.noting():
            if self._target is not None:
                labels, no_label = self._labels(table[self._target])
                missing[self._target] = no_label
        with self.unreadable.noting():
            if self._id_column is not None:
                ids = self._texts(table[self._id_column], self._id_column, "--id")
        keep = np.ones(table.num_rows, dtype=bool)
        for name, where in missing.items():
            self._missing[name] += int(where.sum())
            if self._drop_missing:
                keep &= ~where
        row_numbers = np.flatnonzero(keep) + self._n_rows + 1
        self._n_rows += keep.size
        self._n_kept += row_numbers.size
        if row_numbers.size < keep.size:  # free of copies in the usual case, where no row is left out
            self.cells = {name: cells.take(keep) for name, cells in self.cells.items()}
            ids = None if ids is None else [text for text, kept in zip(ids, keep, strict=True) if kept]
        if labels is not None and no_label is not None:
            self.labels = _whole_numbers(labels[keep & ~no_label])
            labels = _whole_numbers(labels[keep])
        return Patients(_as_table(self.cells), labels, ids, row_numbers, keep.size - row_numbers.size)

    def findings(self) -> Findings:
        """All that is wrong, once the whole file was read."""
        if self._n_rows == 0:
            raise InputError(f"{shown(self._path)} has column names but no rows.")
        file, findings = self._words, self.unreadable
        with findings.noting():
            refuse_text_in_file(file, self.text)
        with findings.noting():
            refuse_too_large_in_file(file, self._too_large)
        counts = self._missing
        if self.may_miss and not self._drop_missing:
            counts = Counter({name: n for name, n in counts.items() if name == self._target})
        with findings.noting():
            refuse_missing_in_file(file, counts, self._target, self._drop_missing, self._n_rows, self._n_kept)
        warn_of_unseen({name: list(levels) for name, levels in self._unseen.items()})
        return findings

    def _read(self, table: Any) -> dict[str, npt.NDArray[np.bool_]]:
        """Read each variable, and return where those that are needed are missing; what is wrong is noted."""
        self.cells, missing = {}, dict[str, npt.NDArray[np.bool_]]()
        names, found = self._features, dict[int, Cells]()
        for needed in (True, False):
            columns = {c: table[name] for c, name in enumerate(names) if (name in self._needed) == needed}
            noted = self.unreadable if needed else Findings()
            found |= read_cells(columns, names, of_arrow, ON_COMMAND_LINE, noted)
        for place, cells in sorted(found.items()):
            name = names[place]
            if self._new:
                known = self._known(name, cells)
                if known is None:
                    if name in self._needed:
                        self.text.setdefault(name, table[name])
                        missing[name] = cells.missing
                    continue
                cells = known
            if name in self._needed:
                missing[name] = cells.missing
                if cells.numbers is not None:
                    largest = self._reach.get(name, LARGEST)
                    self._too_large[name] += int((np.abs(cells.numbers) > largest).sum())
            elif cells.numbers is not None:
                cells = replace(cells, numbers=np.where(np.isinf(cells.numbers), np.nan, cells.numbers))
            self.cells[name] = cells
        return missing

    def _known(self, name: str, cells: Cells) -> Cells | None:
        """The cells of new patients as the model knows them; None for texts where it expects numbers."""
        variable = self._variables.get(name)
        if variable is None:
            return None if cells.numbers is None else cells
        table, unseen = Encoding((variable,)).table(Found.of({0: cells}, np.empty((len(cells), 1))))
        if unseen:
            self._unseen.setdefault(name, {}).update(dict.fromkeys(unseen[0]))
        return cells.without(np.isnan(table[:, 0]))

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


def _as_table(cells: Mapping[str, Cells]) -> Any:
    import pyarrow as pa

    return pa.table({name: one.to_arrow() for name, one in cells.items()})


def _whole_numbers(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Turn float labels into integers where nothing is lost, so that 1.0 reads as 1."""
    if labels.dtype.kind == "f" and np.isfinite(labels).all() and (labels == np.floor(labels)).all():
        return labels.astype(np.int64)
    return labels
