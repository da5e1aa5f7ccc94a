"""Patients in files: a cohort to fit on, and new patients to score."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from ..errors import InputError
from ..files.cells import refuse_unclear, with_decimal_commas
from ..files.tables import column_names, read_columns, stream_columns
from ..files.written_dates import Order
from ..wording import listed, quoted, shown
from .binary import DiagnosisColumn
from .cells import Found
from .dates import in_days, in_days_of_the_cohort
from .guess import ON_COMMAND_LINE
from .kinds import Variable
from .knowledge import note_known
from .matrices import note_holes, note_usable_readings, settled
from .outcomes import ChosenOutcome
from .patients import Patients
from .reading import Reading
from .roles import Roles, choose_features, columns_found, columns_named, note_of_after
from .rules import Findings

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
    patients, findings, *_ = _read_cohort(path, roles)
    findings.refuse()
    return patients


def read_labelled_cohort(path: str | PathLike[str], roles: Roles) -> tuple[Patients, ChosenOutcome]:
    """Read a cohort to fit on, and what its outcome turned out to be."""
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


def _with_notes(
    path: str | PathLike[str], patients: Patients, roles: Roles, chosen: ChosenOutcome
) -> Patients:
    """The patients with what reading did to them, in words and for the model to remember."""
    notes, reading = patients.notes, {**patients.reading, **chosen.remembered}
    if patients.groups is not None:
        n_rows, n_patients = len(patients.groups), int(patients.groups.max()) + 1
        notes += (f"{n_rows:,} rows of {n_patients:,} patients: the bootstrap resamples patients, not rows",)
        if n_rows > MOST_ROWS_A_PATIENT * n_patients:
            warnings.warn(
                f"{quoted(roles.id_column)} has only {n_patients:,} different ids in {n_rows:,} rows, which "
                "hardly tells patients apart: is it a group, such as a ward? --id is for patients",
                UserWarning,
                stacklevel=3,
            )
    if roles.after:
        names = column_names(path)
        reading["after"] = columns_named(names, roles.after)
        notes += (note_of_after(names, roles),)
    if roles.na:
        reading["na"] = list(roles.na)
    return replace(patients, notes=notes, reading=reading)


def _read_cohort(
    path: str | PathLike[str], roles: Roles, table: Any = None
) -> tuple[Patients, Findings, Reading, Any]:
    """The patients, what is wrong with them, how they were read, and the table they were read from."""
    names = column_names(path)
    features = choose_features(path, names, roles)
    if table is None:
        columns = [*features, *(column for _, column in roles.outcome.named), *_listed(roles.id_column)]
        table = read_columns(path, columns, roles.id_column, roles.na)
    most = 1.0 if roles.max_missing is None else roles.max_missing
    mostly = {name: share for name in features if (share := _share_missing(table[name])) > most}
    features = chosen = [name for name in features if name not in mostly]
    if not features:
        raise InputError(f"--max-missing {most:g} leaves no variable of {shown(path)}.")
    with_levels = {str(name) for name, kind in roles.wishes.kinds.items() if kind != "number"}
    whole, unclear = with_decimal_commas(table, {*with_levels, *_listed(roles.id_column)})
    decimal_comma = whole is not table
    table, dates = in_days_of_the_cohort(whole, features, columns_named(features, roles.keep))
    features = dates.without_refused(features)
    reading = Reading(path, features, roles.outcome, roles.id_column, roles.drop_missing)
    reading.may_miss = roles.wishes.may_miss
    dates.note(shown(path), reading.unreadable)
    for _, column in roles.outcome.named:
        with reading.unreadable.noting():
            refuse_unclear(column, unclear.get(column), "name another column")
    patients = reading.patients(table)
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


def _share_missing(column: Any) -> float:
    import pyarrow.compute as pc

    return float(pc.mean(pc.is_null(column, nan_is_null=True)).as_py() or 0.0)


def read_new_patients(
    path: str | PathLike[str],
    features: Sequence[str],
    *,
    needed: Sequence[str] | None = None,
    reach: Mapping[str, float] | None = None,
    variables: Mapping[str, Variable] | None = None,
    id_column: str | None = None,
    drop_missing: bool = False,
    may_miss: bool = False,
    na: Sequence[str] = (),
    origins: Mapping[str, str] | None = None,
    date_orders: Mapping[str, Order] | None = None,
    decimal_comma: bool = False,
) -> Patients:
    """Read the columns that a model knows, in its order, and the ids; all other columns stay unread.

    The file may lack columns that are not `needed` (None: all are), or values of them; where values of these
    `may_miss`, also columns that are. Values beyond the `reach` of a column are too large for the model.
    `variables` are those that are no numbers, or on a log scale; a level of them that the cohort did not have
    is missing, with a warning. `na` are words for missing; `origins` the days from which the model counts
    dates, and `date_orders` how its cohort wrote them; `decimal_comma` says that it wrote 1,234 for 1.234.
    """
    may_miss = may_miss and not drop_missing
    found = columns_found(path, column_names(path), features, needed, id_column, may_miss)
    reading = Reading(
        path, found, None, id_column, drop_missing, needed, reach or {}, variables, decimal_comma
    )
    reading.may_miss = may_miss
    texts = _with_levels(found, variables)
    table = read_columns(path, [*found, *_listed(id_column)], id_column, na, texts)
    patients = reading.patients(in_days(table, origins or {}, date_orders))
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
    may_miss: bool = False,
    na: Sequence[str] = (),
    origins: Mapping[str, str] | None = None,
    date_orders: Mapping[str, Order] | None = None,
    decimal_comma: bool = False,
) -> Iterator[Patients]:
    """The same in pieces of rows where the file is Parquet, so that it may be larger than memory.

    What is wrong with any row is an error after the last piece: nothing that was made of the pieces may be
    kept then.
    """
    may_miss = may_miss and not drop_missing
    found = columns_found(path, column_names(path), features, needed, id_column, may_miss)
    reading = Reading(
        path, found, None, id_column, drop_missing, needed, reach or {}, variables, decimal_comma
    )
    reading.may_miss = may_miss
    texts = _with_levels(found, variables)
    for table in stream_columns(path, [*found, *_listed(id_column)], id_column, na, texts):
        patients = reading.patients(in_days(table, origins or {}, date_orders))
        if reading.text or reading.unreadable:
            break  # what no row can mend
        if reading.all_fine:
            yield patients
    reading.findings().refuse()


def _with_levels(columns: Sequence[str], variables: Mapping[str, Variable] | None) -> list[str]:
    """The columns whose cells are looked for among the levels of a model, as they are written."""
    return [name for name in columns if variables and name in variables and variables[name].levels]


def _listed(id_column: str | None) -> list[str]:
    return [] if id_column is None else [id_column]
