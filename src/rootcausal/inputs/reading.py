"""A file on its way in: every column as numbers or texts, and what is wrong with it, said at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np

from ..core.table import LARGEST, Index
from ..errors import InputError
from ..files.arrow import pa
from ..files.cells import is_unclear, refuse_unclear
from ..files.written_dates import Order
from ..wording import quoted, shown
from .cells import Cells, Found, of_arrow, typed
from .encoding import Encoding, cells_of_levels
from .guess import read_cells
from .kinds import Variable
from .matrices import first_strange, warn_of_lacking, warn_of_nearest, warn_of_unseen
from .outcomes import Mask, OutcomeCells, OutcomeColumns, texts_in
from .patients import Patients
from .rules import (
    ON_COMMAND_LINE,
    FileWords,
    Findings,
    NotPositive,
    Rows,
    refuse_missing_in_file,
    refuse_not_positive_patients,
    refuse_text_in_file,
    refuse_too_large_in_file,
)

TO_FIT, TO_SCORE = "leave the column out with --drop COLUMN", "fill in what was measured"
IMPUTE = "impute what is missing with --missing impute (the default), or leave these columns out with --drop"
TOO_FAR = "too large for the model"


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What is asked of a file besides an outcome.

    Attributes
    ----------
    features : the variables, in the order in which they are wanted.
    needed : those that must be there, with all values (None: all). Others may have missing values, and are
        left out if they hold text. Where values of these ``may_miss``, columns of new patients may lack, too.
    id_column, drop_missing, na : as in :class:`.roles.Roles`.
    reach : the largest values that a model can score.
    variables : of a model, those that are no numbers, or on a log scale. A level of them that the cohort did
        not have is missing, with a warning.
    origins, date_orders : the days from which a model counts dates, and how its cohort wrote them.
    decimal_comma : the cohort of a model wrote 1,234 for 1.234.
    """

    features: Sequence[str]
    needed: Sequence[str] | None = None
    id_column: str | None = None
    drop_missing: bool = False
    may_miss: bool = False
    na: Sequence[str] = ()
    reach: Mapping[str, float] = field(default_factory=dict)
    variables: Mapping[str, Variable] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    date_orders: Mapping[str, Order] = field(default_factory=dict)
    decimal_comma: bool = False

    @property
    def ids(self) -> list[str]:
        """The column of ids, if there is one."""
        return [] if self.id_column is None else [self.id_column]


class Reading:
    """A file on its way in, piece by piece, and what is wrong with it so far.

    Attributes
    ----------
    outcome : what happened to the patients of the last piece, where that is not missing.
    outcome_rows : where these stand in the file.
    cells : the variables of the last piece.
    unreadable : what is wrong with whole columns.
    text : columns that hold text where a number is expected, each with how many rows come before it.
    """

    def __init__(
        self, path: str | PathLike[str], wanted: Wanted, outcome: OutcomeColumns | None = None, *, new: bool
    ) -> None:
        self._path, self._wanted, self._outcome, self._new = path, wanted, outcome, new
        self._needed = set(wanted.features if wanted.needed is None else wanted.needed)
        self._may_miss = wanted.may_miss and not wanted.drop_missing
        self.unreadable = Findings()
        self.cells: dict[str, Cells] = {}
        self.text: dict[str, tuple[Any, int]] = {}
        self._unseen: dict[str, dict[str, None]] = {}
        self._nearest: dict[str, dict[str, str]] = {}
        self._unclear: dict[str, str] = {}
        self._too_large: Counter[str] = Counter()
        self._not_positive: dict[str, NotPositive] = {}
        self._missing: Counter[str] = Counter()
        self._n_rows = self._n_unknown = self._n_kept = self._n_whole = 0
        self.outcome: np.ndarray = np.empty(0)
        self.outcome_rows: Index = np.empty(0, dtype=np.intp)

    @property
    def all_fine(self) -> bool:
        """Whether nothing so far keeps the rows from being used."""
        missing = self._missing.total() and not (self._wanted.drop_missing or self._may_miss)
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
            for name in self._wanted.ids:
                ids = texts_in(table[name], name, "--id", self._path)
        whole = ~neither
        for name, where in missing.items():
            self._missing[name] += int((where & ~neither).sum())
            whole &= ~where
        keep = whole if self._wanted.drop_missing else ~neither
        row_numbers = np.flatnonzero(keep) + self._n_rows + 1
        self._n_whole += int(whole.sum())
        self._n_rows += keep.size
        self._n_kept += row_numbers.size
        if row_numbers.size < keep.size:  # free of copies in the usual case, where no row is left out
            self.cells = {name: cells.take(keep) for name, cells in self.cells.items()}
            ids = None if ids is None else [text for text, kept in zip(ids, keep, strict=True) if kept]
        values: np.ndarray | None = None
        if self._outcome is not None and outcome is not None:
            values = self._outcome.tidied(outcome.values[keep])
            self.outcome, self.outcome_rows = values, row_numbers
        n_removed = keep.size - row_numbers.size - int(neither.sum())
        X = pa.table({name: cells.to_arrow() for name, cells in self.cells.items()})
        notes = () if outcome is None else outcome.all_notes
        return Patients(X, values, ids, row_numbers, n_removed, notes=notes)

    def findings(self) -> Findings:
        """All that is wrong, once the whole file was read."""
        name, findings = shown(self._path), self.unreadable
        if self._n_rows == 0:
            raise InputError(f"{name} has column names but no rows.")
        file = FileWords(name, TO_SCORE, TO_SCORE, TOO_FAR) if self._new else FileWords(name, TO_FIT, IMPUTE)
        for column in [column for column in self._unclear if column in self.text]:
            with findings.noting():
                refuse_unclear(column, self._unclear[column], TO_SCORE)
        with findings.noting():
            refuse_text_in_file(file, {n: one for n, one in self.text.items() if n not in self._unclear})
        with findings.noting():
            refuse_too_large_in_file(file, self._too_large)
        with findings.noting():
            refuse_not_positive_patients(self._not_positive, ON_COMMAND_LINE, name)
        if self._n_unknown == self._n_rows and self._outcome is not None:
            named = [f"{quoted(column)} ({option})" for option, column in self._outcome.named]
            raise InputError(f"no row of {name} has an outcome: {' or '.join(named)} is missing in each.")
        with findings.noting():
            rows = Rows(self._n_rows - self._n_unknown, self._n_kept, self._n_whole)
            counts = Counter[str]() if self._may_miss else self._missing
            refuse_missing_in_file(file, counts, self._wanted.drop_missing, rows)
        warn_of_unseen({column: list(levels) for column, levels in self._unseen.items()})
        warn_of_nearest(self._nearest)
        if self._new and self._may_miss and self._n_rows > 1:
            warn_of_lacking([one for one in self._wanted.features if self._missing[one] == self._n_rows])
        return findings

    def _read(self, table: Any) -> dict[str, Mask]:
        """Read each variable, and return where those that are needed are missing; what is wrong is noted."""
        self.cells, missing = {}, dict[str, Mask]()
        names, found = self._wanted.features, dict[int, Cells]()
        for needed in (True, False):
            columns = {c: table[name] for c, name in enumerate(names) if (name in self._needed) == needed}
            noted = self.unreadable if needed else Findings()
            read = of_arrow if self._new else (lambda column: typed(of_arrow(column)))
            found |= read_cells(columns, names, read, ON_COMMAND_LINE, noted)
        for place, cells in sorted(found.items()):
            name = names[place]
            known = self._known(name, cells) if self._new else cells
            if name in self._needed:
                missing[name] = (known or cells).missing
                if known is None:
                    self.text.setdefault(name, (table[name], self._n_rows))
                elif known.numbers is not None:
                    largest = self._wanted.reach.get(name, LARGEST)
                    self._too_large[name] += int((np.abs(known.numbers) > largest).sum())
                    self._note_not_positive(name, known)
            elif known is not None and known.numbers is not None:
                known = replace(known, numbers=np.where(np.isinf(known.numbers), np.nan, known.numbers))
            if known is not None:
                self.cells[name] = known
        if self._may_miss and self._new:
            nobody = Cells(np.full(table.num_rows, np.nan))
            self.cells |= {name: nobody for name in self._needed if name not in names}
        return missing

    def _note_not_positive(self, name: str, cells: Cells) -> None:
        """Note what has no logarithm, of new patients and of variables on a log scale."""
        variable = self._wanted.variables.get(name)
        if variable is not None and variable.log and cells.numbers is not None:
            here = NotPositive.among(cells.numbers, self._n_rows)
            if here is not None:
                before = self._not_positive.get(name)
                self._not_positive[name] = here if before is None else before + here

    def _known(self, name: str, cells: Cells) -> Cells | None:
        """The cells of new patients as the model knows them; None for texts where it expects numbers."""
        variable = self._wanted.variables.get(name, Variable(name, "number"))
        comma = self._wanted.decimal_comma
        if not variable.levels:
            if cells.texts is None:
                return cells
            strange = first_strange(cells.texts, comma)
            if strange is not None:
                if is_unclear(strange):
                    self._unclear[name] = strange
                return None
        found = Found.of({0: cells}, np.empty((len(cells), 1)))
        table, unlike = Encoding((variable,), decimal_comma=comma).table(found)
        if not variable.levels:
            return Cells(table[:, 0])
        if unlike.unseen:
            self._unseen.setdefault(name, {}).update(dict.fromkeys(unlike.unseen[0]))
        if unlike.nearest:
            self._nearest.setdefault(name, {}).update(unlike.nearest[0])
        return cells_of_levels(variable, table[:, 0])
