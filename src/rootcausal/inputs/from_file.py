"""Patients in files: a cohort to fit on, and new patients to score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from ..errors import InputError, warn
from ..files.arrow import pc
from ..files.cells import refuse_unclear, with_decimal_commas
from ..files.header import TableFile
from ..files.tables import column_names, read_columns, stream_columns
from ..files.written_dates import in_days, in_days_of_the_cohort
from ..wording import listed, quoted, shown
from .binary import DiagnosisColumn
from .cells import Found
from .knowledge import note_known
from .outcomes import ChosenOutcome
from .patients import Patients, note_usable_readings, settled
from .reading import Reading, Wanted
from .roles import Roles, choose_features, columns_found, columns_named, note_of_after
from .rules import ON_COMMAND_LINE, Findings, note_holes

# On average. Somebody may have that many visits; that everybody has is rare.
MOST_ROWS_A_PATIENT = 50


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
    roles = Roles(DiagnosisColumn(target), id_column, drop, drop_missing, **more)
    patients, findings, *_ = _read_cohort(TableFile.of(path), roles)
    findings.refuse()
    return patients


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


def _with_notes(path: TableFile, patients: Patients, roles: Roles, chosen: ChosenOutcome) -> Patients:
    """The patients with what reading did to them, in words and for the model to remember."""
    notes, reading = patients.notes, {**patients.reading, **chosen.remembered}
    if patients.groups is not None:
        n_rows, n_patients = len(patients.groups), int(patients.groups.max()) + 1
        notes += (f"{n_rows:,} rows of {n_patients:,} patients: the bootstrap resamples patients, not rows",)
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
        table = read_columns(path, columns, roles.id_column, roles.na)
    most = 1.0 if roles.max_missing is None else roles.max_missing
    mostly = {name: share for name in features if (share := _share_missing(table[name])) > most}
    chosen = [name for name in features if name not in mostly]
    if not chosen:
        raise InputError(f"--max-missing {most:g} leaves no variable of {shown(path)}.")
    with_levels = {str(name) for name, kind in roles.wishes.kinds.items() if kind != "number"}
    whole, unclear = with_decimal_commas(table, {*with_levels, *_listed(roles.id_column)})
    decimal_comma = whole is not table
    whole, dates = in_days_of_the_cohort(whole, chosen, columns_named(chosen, roles.keep), shown(path))
    features = [name for name in chosen if name not in dates.refused]
    wanted = Wanted(
        features=features,
        id_column=roles.id_column,
        drop_missing=roles.drop_missing,
        may_miss=roles.wishes.may_miss,
    )
    reading = Reading(path, wanted, roles.outcome, new=False)
    for problem in dates.problems:
        reading.unreadable.note(problem)
    for _, column in roles.outcome.named:
        with reading.unreadable.noting():
            refuse_unclear(column, unclear.get(column), "name another column")
    patients = reading.patients(whole)
    findings, cells = reading.findings(), reading.cells
    note_known(names, chosen, roles, findings, [*mostly])
    usable = np.array([name in cells for name in features], dtype=bool)
    values = np.zeros((patients.row_numbers.size, len(features)), order="F")
    found = Found.of({place: cells[name] for place, name in enumerate(features) if name in cells}, values)
    logs = [name for name in columns_named(chosen, roles.log) if name in features]
    wishes = replace(roles.wishes, logs=logs)
    readings = settled(found, features, wishes, ON_COMMAND_LINE, findings, usable, decimal_comma)
    if roles.wishes.may_miss and len(readings.table):
        note_holes(readings.table, features, findings)
    if mostly:
        left_out = listed([f"{quoted(name, 40)} ({share:.0%})" for name, share in mostly.items()], 20)
        note = f"left out, more than {most:.0%} missing: {left_out}"
        patients = replace(patients, notes=(*patients.notes, note))
    return replace(patients, readings=readings, reading=dates.reading()), findings, reading, table


def _listed(id_column: str | None) -> list[str]:
    return [] if id_column is None else [id_column]


def _share_missing(column: Any) -> float:
    return float(pc.mean(pc.is_null(column, nan_is_null=True)).as_py() or 0.0)


def read_new_patients(path: str | PathLike[str], features: Sequence[str], **asked: Any) -> Patients:
    """Read the columns that a model knows, in its order, and the ids; all other columns stay unread.

    What is ``asked``, such as the columns that are ``needed``, is named as in :class:`.reading.Wanted`.
    """
    (patients,) = stream_new_patients(path, features, whole=True, **asked)
    return patients


def stream_new_patients(
    path: str | PathLike[str], features: Sequence[str], *, whole: bool = False, **asked: Any
) -> Iterator[Patients]:
    """The same in pieces of rows where the file is Parquet, so that it may be larger than memory.

    What is wrong with any row is an error after the last piece: nothing that was made of the pieces may be
    kept then. One piece is the ``whole`` file, if that is asked for.
    """
    path = TableFile.of(path)
    wanted = Wanted(features=features, **asked)
    may_miss = wanted.may_miss and not wanted.drop_missing
    found = columns_found(path, column_names(path), features, wanted.needed, wanted.id_column, may_miss)
    wanted = replace(wanted, features=found)
    reading = Reading(path, wanted, new=True)
    # Cells of these are looked for among the levels of a model, as they are written.
    texts = [name for name in found if name in wanted.variables and wanted.variables[name].levels]
    columns = [*found, *wanted.ids]
    asked_of_file = (path, columns, wanted.id_column, wanted.na, texts)
    for table in [read_columns(*asked_of_file)] if whole else stream_columns(*asked_of_file):
        patients = reading.patients(in_days(table, wanted.origins, wanted.date_orders))
        if reading.text or reading.unreadable:
            break  # what no row can mend
        if reading.all_fine:
            yield patients
    reading.findings().refuse()
