"""A file on its way in: every column as numbers or texts, and what is wrong with it, said at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.table import F64, LARGEST
from ..errors import InputError
from ..files.tables import as_float64
from ..wording import listed, one_line, plain, quoted, shown
from .cells import Cells, Found, of_arrow
from .encoding import Encoding
from .guess import ON_COMMAND_LINE, read_cells
from .kinds import Variable
from .log_columns import NotPositive, refuse_not_positive_patients
from .matrices import warn_of_unseen
from .patients import Patients
from .rules import (
    FileWords,
    Findings,
    Rows,
    refuse_missing_in_file,
    refuse_text_in_file,
    refuse_too_large_in_file,
)
from .target import one_spelling, two_labels

TO_FIT, TO_SCORE = "leave the column out with --drop COLUMN", "fill in what was measured"
IMPUTE = "impute what is missing with --missing impute (the default), or leave these columns out with --drop"
TOO_FAR = "too large for the model"


class Reading:
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
            FileWords(shown(path), TO_FIT, IMPUTE)
            if reach is None
            else FileWords(shown(path), TO_SCORE, TO_SCORE, TOO_FAR)
        )
        self._needed = set(features if needed is None else needed)
        self.unreadable = Findings()
        self._reach = {} if reach is None else reach
        self._new = reach is not None
        self._variables = variables or {}
        self.may_miss = False
        self.cells: dict[str, Cells] = {}
        self.text: dict[str, Any] = {}
        self._unseen: dict[str, dict[str, None]] = {}
        self._too_large: Counter[str] = Counter()
        self._not_positive: dict[str, NotPositive] = {}
        self._missing: Counter[str] = Counter()
        self._n_rows = 0
        self._n_kept = 0
        self._n_whole = 0
        self.labels: npt.NDArray[Any] = np.empty(0)
        self._two_labels: tuple[str, str] | None = None

    def choose_labels(self, positive: str | None, negative: str | None) -> None:
        """Leave out rows with other labels than these two, where both are given."""
        if positive is not None and negative is not None:
            self._two_labels = (positive, negative)

    @property
    def all_fine(self) -> bool:
        """Whether nothing so far keeps the rows from being used."""
        missing = self._missing.total() and not (self._drop_missing or self.may_miss)
        wrong = self.unreadable or self.text or self._too_large.total() or self._not_positive
        return not (wrong or missing)

    def patients(self, table: Any) -> Patients:
        """The rows of a piece, without those that miss a value where these are to be left out."""
        missing = self._read(table)
        ids: list[str] | None = None
        labels = no_label = None
        others = neither = np.zeros(table.num_rows, dtype=bool)
        with self.unreadable.noting():
            if self._target is not None:
                labels, no_label = self._labels(table[self._target])
                missing[self._target] = no_label
                if self._two_labels is not None:
                    labels, others = two_labels(labels, no_label, self._target, *self._two_labels)
                    neither = others | no_label
        with self.unreadable.noting():
            if self._id_column is not None:
                ids = self._texts(table[self._id_column], self._id_column, "--id")
        whole = ~neither
        for name, where in missing.items():
            self._missing[name] += int((where & ~neither).sum())
            whole &= ~where
        keep = whole if self._drop_missing else ~neither
        self._n_whole += int(whole.sum())
        row_numbers = np.flatnonzero(keep) + self._n_rows + 1
        self._n_rows += keep.size
        self._n_kept += row_numbers.size
        if row_numbers.size < keep.size:  # free of copies in the usual case, where no row is left out
            self.cells = {name: cells.take(keep) for name, cells in self.cells.items()}
            ids = None if ids is None else [text for text, kept in zip(ids, keep, strict=True) if kept]
        notes: tuple[str, ...] = ()
        if labels is not None and no_label is not None:
            if others.any():
                notes = (_others_left_out(labels[others]),)
            unlabelled = int((neither & no_label).sum())
            if unlabelled:
                notes += (
                    f"{_rows(unlabelled)} without a label {'is' if unlabelled == 1 else 'are'} left out",
                )
            self.labels = _whole_numbers(labels[keep & ~no_label])
            labels = _whole_numbers(labels[keep])
        n_removed = keep.size - row_numbers.size - int(neither.sum())
        return Patients(_as_table(self.cells), labels, ids, row_numbers, n_removed, notes=notes)

    def findings(self) -> Findings:
        """All that is wrong, once the whole file was read."""
        if self._n_rows == 0:
            raise InputError(f"{shown(self._path)} has column names but no rows.")
        file, findings = self._words, self.unreadable
        with findings.noting():
            refuse_text_in_file(file, self.text)
        with findings.noting():
            refuse_too_large_in_file(file, self._too_large)
        with findings.noting():
            refuse_not_positive_patients(self._not_positive, ON_COMMAND_LINE, file.name)
        counts = self._missing
        if self.may_miss and not self._drop_missing:
            counts = Counter({name: n for name, n in counts.items() if name == self._target})
        with findings.noting():
            rows = Rows(self._n_rows, self._n_kept, self._n_whole)
            refuse_missing_in_file(file, counts, self._target, self._drop_missing, rows)
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
                    self._note_not_positive(name, cells.numbers)
            elif cells.numbers is not None:
                cells = replace(cells, numbers=np.where(np.isinf(cells.numbers), np.nan, cells.numbers))
            self.cells[name] = cells
        if self.may_miss and self._new:
            nobody = Cells(np.full(table.num_rows, np.nan))
            self.cells |= {name: nobody for name in self._needed if name not in self._features}
        return missing

    def _note_not_positive(self, name: str, numbers: F64) -> None:
        """Note what has no logarithm, of new patients and of variables on a log scale."""
        if name in self._variables and self._variables[name].log:
            here = NotPositive.among(numbers, self._n_rows)
            if here is not None:
                before = self._not_positive.get(name)
                self._not_positive[name] = here if before is None else before + here

    def _known(self, name: str, cells: Cells) -> Cells | None:
        """The cells of new patients as the model knows them; None for texts where it expects numbers."""
        variable = self._variables.get(name)
        if variable is None or not variable.levels:
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


def _others_left_out(labels: npt.NDArray[Any]) -> str:
    named = [one_line(plain(label), 30) for label in np.unique(_whole_numbers(labels))]
    are = "is" if labels.size == 1 else "are"
    return f"{_rows(labels.size)} with other labels ({listed(named)}) {are} left out"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _whole_numbers(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Turn float labels into integers where nothing is lost, so that 1.0 reads as 1."""
    if labels.dtype.kind == "f" and np.isfinite(labels).all() and (labels == np.floor(labels)).all():
        return labels.astype(np.int64)
    return labels
