"""Patients in files: a cohort to fit on, and new patients to score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np

from ..errors import InputError, warn
from ..files.arrow import pa, pc
from ..files.cells import (
    Order,
    in_days,
    in_days_of_the_cohort,
    is_unclear,
    refuse_unclear,
    with_decimal_commas,
)
from ..files.header import TableFile
from ..files.tables import column_names, read_columns, stream_columns
from ..method.table import LARGEST, Index
from ..wording import listed, quoted, shown
from .cells import Cells, Found, of_arrow, typed
from .encoding import Encoding, cells_of_levels
from .infer_types import read_cells
from .kinds import Variable
from .knowledge import note_known
from .matrices import first_strange, warn_of_lacking, warn_of_nearest, warn_of_unseen
from .measurement import as_limits
from .outcomes import ChosenOutcome, Mask, OutcomeCells, OutcomeColumns, numbers_in, texts_in
from .patients import Patients, note_usable_readings, readings_of
from .roles import (
    Roles,
    choose_features,
    columns_found,
    columns_named,
    note_of_after,
    require_columns,
)
from .rules import (
    ON_COMMAND_LINE,
    FileWords,
    Findings,
    NotPositive,
    Rows,
    note_empty,
    refuse_missing_in_file,
    refuse_not_positive_patients,
    refuse_text_in_file,
    refuse_too_large_in_file,
)

# On average. Somebody may have that many visits; that everybody has is rare.
MOST_ROWS_A_PATIENT = 50
TO_FIT, TO_SCORE = "leave the column out with --drop COLUMN", "fill in what was measured"
IMPUTE = "impute what is missing with --missing impute (the default), or leave these columns out with --drop"
TOO_FAR = "too large for the model"


def read_labelled_cohort(path: str | PathLike[str], roles: Roles) -> tuple[Patients, ChosenOutcome]:
    """Read a cohort to fit on, and what its outcome turned out to be."""
    path = TableFile.of(path)
    patients, findings, reading, table = _read_cohort(path, roles)
    everyone, chosen = patients, None
    if not patients.row_numbers.size:  # what else is wrong shows only with the rows back
        everyone, _, reading, _ = _read_cohort(path, replace(roles, drop_missing=False), table)
    if reading.outcome.size:
        with findings.noting():
            chosen = roles.outcome.choose(reading.outcome, reading.outcome_rows)
    if findings:
        # The fit would refuse these by itself, but only once all else is mended.
        if chosen is not None:
            with findings.noting():
                chosen.refuse_few(reading.outcome)
        readings = everyone.readings
        assert readings is not None
        note_usable_readings(readings, readings.encoding.matrix(readings.table), findings)
    findings.refuse()
    assert chosen is not None
    return _with_notes(path, patients, roles, chosen), chosen


def read_part_of_a_cohort(path: str | PathLike[str], roles: Roles) -> Patients:
    """Read a cohort that is one of several: what its outcome comes to is for all of them together to say."""
    patients, findings, _, _ = _read_cohort(TableFile.of(path), roles)
    findings.refuse()
    return patients


def _with_notes(path: TableFile, patients: Patients, roles: Roles, chosen: ChosenOutcome) -> Patients:
    """The patients with what reading did to them, in words and for the model to remember."""
    notes, reading = patients.notes, {**patients.reading, **chosen.remembered}
    if patients.groups is not None:
        n_rows, n_patients = len(patients.groups), int(patients.groups.max()) + 1
        drawn = "matched sets, not patients" if chosen.draws_sets else "patients, not rows"
        notes += (f"{n_rows:,} rows of {n_patients:,} patients: the bootstrap resamples {drawn}",)
        if n_rows > MOST_ROWS_A_PATIENT * n_patients:
            warn(
                f"{quoted(roles.id_column)} has only {n_patients:,} different ids in {n_rows:,} rows, which "
                "hardly tells patients apart: is it a group, such as a ward? --id is for patients"
            )
    if roles.after:
        names = column_names(path)
        reading["after"] = columns_named(names, roles.after)
        notes += (note_of_after(names, roles),)
    if roles.na:
        reading["na"] = list(roles.na)
    return replace(patients, notes=notes, reading=reading)


def _read_cohort(path: TableFile, roles: Roles, table: Any = None) -> tuple[Patients, Findings, Reading, Any]:
    """The patients, what is wrong with them, how they were read, and the table they were read from."""
    names = column_names(path)
    features = choose_features(path, names, roles)
    if table is None:
        columns = [*features, *(column for _, column in roles.outcome.named), *_listed(roles.id_column)]
        columns += _listed(roles.weights)
        table = read_columns(path, columns, roles.id_column, roles.na)
    most = 1.0 if roles.max_missing is None else roles.max_missing
    mostly = {name: share for name in features if (share := _share_missing(table[name])) > most}
    chosen = [name for name in features if name not in mostly]
    if not chosen:
        raise InputError(f"--max-missing {most:g} leaves no variable of {shown(path)}.")
    with_levels = {str(name) for name, kind in roles.hints.kinds.items() if kind != "number"}
    whole, unclear = with_decimal_commas(table, {*with_levels, *_listed(roles.id_column)})
    decimal_comma = whole is not table
    whole, dates = in_days_of_the_cohort(whole, chosen, columns_named(chosen, roles.keep), shown(path))
    features = [name for name in chosen if name not in dates.refused]
    wanted = Wanted(
        features=features,
        id_column=roles.id_column,
        drop_missing=roles.drop_missing,
        may_miss=roles.hints.may_miss,
    )
    reading = Reading(path, wanted, roles.outcome, new=False)
    for problem in dates.problems:
        reading.unreadable.note(problem)
    for _, column in roles.outcome.named:
        with reading.unreadable.noting():
            refuse_unclear(column, unclear.get(column), "name another column")
    patients = reading.patients(whole)
    if roles.weights is not None:
        with reading.unreadable.noting():
            refuse_unclear(roles.weights, unclear.get(roles.weights), "name another column")
        with reading.unreadable.noting():
            column = whole[roles.weights]
            weights = numbers_in(column, roles.weights, "--weights", path)[patients.row_numbers - 1]
            if pa.types.is_integer(column.type) and not np.isnan(weights).any():
                weights = weights.astype(np.int64)  # which count rows
            patients = replace(patients, weights=weights)
    findings, cells = reading.findings(), reading.cells
    note_known(names, chosen, roles, findings, [*mostly])
    usable = np.array([name in cells for name in features], dtype=bool)
    values = np.zeros((patients.row_numbers.size, len(features)), order="F")
    found = Found.of({place: cells[name] for place, name in enumerate(features) if name in cells}, values)
    logs = [name for name in columns_named(chosen, roles.log) if name in features]
    hints = replace(roles.hints, logs=logs)
    readings = readings_of(found, features, hints, ON_COMMAND_LINE, findings, usable, decimal_comma)
    if roles.hints.may_miss and len(readings.table):
        note_empty(readings.table, features, findings)
    if mostly:
        left_out = listed([f"{quoted(name, 40)} ({share:.0%})" for name, share in mostly.items()], 20)
        note = f"left out, more than {most:.0%} missing: {left_out}"
        patients = replace(patients, notes=(*patients.notes, note))
    return replace(patients, readings=readings, reading=dates.reading()), findings, reading, table


def _listed(column: str | None) -> list[str]:
    return [] if column is None else [column]


def _share_missing(column: Any) -> float:
    return float(pc.mean(pc.is_null(column, nan_is_null=True)).as_py() or 0.0)


def read_new_patients(path: str | PathLike[str], features: Sequence[str], **asked: Any) -> Patients:
    """Read the columns that a model knows, in its order, the ids, and an ``outcome`` if one is named.

    All other columns stay unread. What is ``asked``, such as the columns that are ``needed``, is named as in
    :class:`Wanted`. Rows without an outcome that was named are left out.
    """
    (patients,) = stream_new_patients(path, features, whole=True, **asked)
    return patients


def stream_new_patients(
    path: str | PathLike[str],
    features: Sequence[str],
    *,
    whole: bool = False,
    outcome: OutcomeColumns | None = None,
    **asked: Any,
) -> Iterator[Patients]:
    """The same in pieces of rows where the file is Parquet, so that it may be larger than memory.

    What is wrong with any row is an error after the last piece: nothing that was made of the pieces may be
    kept then. One piece is the ``whole`` file, if that is asked for.
    """
    path = TableFile.of(path)
    wanted = Wanted(features=features, **asked)
    may_miss = wanted.may_miss and not wanted.drop_missing
    names = column_names(path)
    if outcome is not None:
        require_columns(path, names, dict(outcome.named))
    found = columns_found(path, names, features, wanted.needed, wanted.id_column, may_miss)
    wanted = replace(wanted, features=found)
    reading = Reading(path, wanted, outcome, new=True)
    of_outcome = [] if outcome is None else [column for _, column in outcome.named]
    # Cells of these are looked for among the levels of a model, as they are written.
    texts = [name for name in found if name in wanted.variables and wanted.variables[name].levels]
    columns = [*found, *wanted.ids, *of_outcome]
    asked_of_file = (path, columns, wanted.id_column, wanted.na, texts)
    for table in [read_columns(*asked_of_file)] if whole else stream_columns(*asked_of_file):
        patients = reading.patients(in_days(table, wanted.origins, wanted.date_orders))
        if reading.text or reading.unreadable:
            break  # what no row can mend
        if reading.all_fine:
            yield patients
    reading.findings().refuse()


# --- a file on its way in -----------------------------------------------------------------------------------


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
    variables : of a model, those that are no numbers, on a log scale, or with limits of detection. A level of
        them that the cohort did not have is missing, with a warning.
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
            here = NotPositive.among(np.maximum(cells.numbers, variable.limits.lowest), self._n_rows)
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
            cells = replace(cells, texts=as_limits(cells.texts, variable.limits))
            assert cells.texts is not None
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
