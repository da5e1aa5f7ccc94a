"""A file on its way in: every column as numbers or texts, and what is wrong with it, said at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.table import F64, LARGEST, Index
from ..errors import InputError
from ..files.cells import is_unclear, refuse_unclear
from ..wording import quoted, shown
from .cells import Cells, Found, of_arrow, typed
from .encoding import Encoding, cells_of_levels
from .guess import ON_COMMAND_LINE, read_cells
from .kinds import Variable
from .log_columns import NotPositive, refuse_not_positive_patients
from .matrices import first_strange, warn_of_lacking, warn_of_nearest, warn_of_unseen
from .outcomes import OutcomeCells, OutcomeColumns, texts_in
from .patients import Patients
from .rules import (
    FileWords,
    Findings,
    Rows,
    refuse_missing_in_file,
    refuse_text_in_file,
    refuse_too_large_in_file,
)

TO_FIT, TO_SCORE = "leave the column out with --drop COLUMN", "fill in what was measured"
IMPUTE = "impute what is missing with --missing impute (the default), or leave these columns out with --drop"
TOO_FAR = "too large for the model"


class Reading:
    """A file on its way in, piece by piece, and what is wrong with it so far.

    Columns that are not `needed` (None: all are) may have missing values, and are left out if they hold text.

    Attributes
    ----------
    outcome : what happened to the patients of the last piece, where that is not missing.
    outcome_rows : where these stand in the file.
    cells : the variables of the last piece.
    unreadable : what is wrong with whole columns.
    text : columns that hold text where a number is expected, each with how many rows come before it.
    may_miss : whether variables may have missing values.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        features: Sequence[str],
        outcome: OutcomeColumns | None,
        id_column: str | None,
        drop_missing: bool,
        needed: Sequence[str] | None = None,
        reach: Mapping[str, float] | None = None,
        variables: Mapping[str, Variable] | None = None,
        decimal_comma: bool = False,
    ) -> None:
        self._path = path
        self._features = features
        self._outcome = outcome
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
        self._decimal_comma = decimal_comma
        self.may_miss = False
        self.cells: dict[str, Cells] = {}
        self.text: dict[str, tuple[Any, int]] = {}
        self._unseen: dict[str, dict[str, None]] = {}
        self._nearest: dict[str, dict[str, str]] = {}
        self._unclear: dict[str, str] = {}
        self._too_large: Counter[str] = Counter()
        self._not_positive: dict[str, NotPositive] = {}
        self._missing: Counter[str] = Counter()
        self._n_rows = 0
        self._n_unknown = 0
        self._n_kept = 0
        self._n_whole = 0
        self.outcome: npt.NDArray[Any] = np.empty(0)
        self.outcome_rows: Index = np.empty(0, dtype=np.intp)

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
        outcome: OutcomeCells | None = None
        # Rows that nothing is learned from, whatever else they hold: of no outcome, or of one not wanted.
        neither = np.zeros(table.num_rows, dtype=bool)
        with self.unreadable.noting():
            if self._outcome is not None:
                outcome = self._outcome.read(table, self._path)
                neither = outcome.left_out | outcome.missing_any
                self._n_unknown += int(outcome.missing_any.sum())
        with self.unreadable.noting():
            if self._id_column is not None:
                ids = texts_in(table[self._id_column], self._id_column, "--id", self._path)
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
        values: npt.NDArray[Any] | None = None
        notes: tuple[str, ...] = ()
        if self._outcome is not None and outcome is not None:
            values, notes = self._outcome.tidied(outcome.values[keep]), outcome.all_notes
            self.outcome, self.outcome_rows = values, row_numbers
        n_removed = keep.size - row_numbers.size - int(neither.sum())
        return Patients(_as_table(self.cells), values, ids, row_numbers, n_removed, notes=notes)

    def findings(self) -> Findings:
        """All that is wrong, once the whole file was read."""
        if self._n_rows == 0:
            raise InputError(f"{shown(self._path)} has column names but no rows.")
        file, findings = self._words, self.unreadable
        for name in [name for name in self._unclear if name in self.text]:
            with findings.noting():
                refuse_unclear(name, self._unclear[name], TO_SCORE)
        with findings.noting():
            refuse_text_in_file(file, {n: one for n, one in self.text.items() if n not in self._unclear})
        with findings.noting():
            refuse_too_large_in_file(file, self._too_large)
        with findings.noting():
            refuse_not_positive_patients(self._not_positive, ON_COMMAND_LINE, file.name)
        if self._n_unknown == self._n_rows and self._outcome is not None:
            named = [f"{quoted(column)} ({option})" for option, column in self._outcome.named]
            raise InputError(
                f"no row of {file.name} has an outcome: {' or '.join(named)} is missing in each."
            )
        counts = self._missing
        if self.may_miss and not self._drop_missing:
            counts = Counter()
        with findings.noting():
            rows = Rows(self._n_rows - self._n_unknown, self._n_kept, self._n_whole)
            refuse_missing_in_file(file, counts, self._drop_missing, rows)
        warn_of_unseen({name: list(levels) for name, levels in self._unseen.items()})
        warn_of_nearest(self._nearest)
        if self._new and self.may_miss and self._n_rows > 1:
            warn_of_lacking([name for name in self._features if self._missing[name] == self._n_rows])
        return findings

    def _read(self, table: Any) -> dict[str, npt.NDArray[np.bool_]]:
        """Read each variable, and return where those that are needed are missing; what is wrong is noted."""
        self.cells, missing = {}, dict[str, npt.NDArray[np.bool_]]()
        names, found = self._features, dict[int, Cells]()
        for needed in (True, False):
            columns = {c: table[name] for c, name in enumerate(names) if (name in self._needed) == needed}
            noted = self.unreadable if needed else Findings()
            read = of_arrow if self._new else (lambda column: typed(of_arrow(column)))
            found |= read_cells(columns, names, read, ON_COMMAND_LINE, noted)
        for place, cells in sorted(found.items()):
            name = names[place]
            if self._new:
                known = self._known(name, cells)
                if known is None:
                    if name in self._needed:
                        self.text.setdefault(name, (table[name], self._n_rows))
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
        variable = self._variables.get(name, Variable(name, "number"))
        if not variable.levels:
            if cells.texts is None:
                return cells
            strange = first_strange(cells.texts, self._decimal_comma)
            if strange is not None:
                if is_unclear(strange):
                    self._unclear[name] = strange
                return None
        found = Found.of({0: cells}, np.empty((len(cells), 1)))
        table, unlike = Encoding((variable,), decimal_comma=self._decimal_comma).table(found)
        if not variable.levels:
            return Cells(table[:, 0])
        if unlike.unseen:
            self._unseen.setdefault(name, {}).update(dict.fromkeys(unlike.unseen[0]))
        if unlike.nearest:
            self._nearest.setdefault(name, {}).update(unlike.nearest[0])
        return cells_of_levels(variable, table[:, 0])


def _as_table(cells: Mapping[str, Cells]) -> Any:
    import pyarrow as pa

    return pa.table({name: one.to_arrow() for name, one in cells.items()})
