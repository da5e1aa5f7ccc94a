"""Everything that can be said of a table before it is fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..files.cells import with_decimal_commas
from ..inputs.kinds import Kind
from ..inputs.outcomes import Said
from ..method.table import Index
from ..wording import listed, plural
from .column_types import FITTED, ColumnFacts, Counted, Shape, counted_of, days_since, facts_of, shape_of
from .designs import (
    FOLLOW_UP,
    OF_SETS,
    SetsSeen,
    as_event,
    ends_of_intervals,
    event_codes,
    find_copies_in_sets,
    find_event,
    find_intervals,
    find_lacking,
    find_late_events,
    find_no_start,
    find_pair,
    find_sets,
    in_words,
    pairs_of,
    seen_as_sets,
    sets_among,
    time_beside,
    times_of,
)
from .duplicates import find_coarser, find_computed, find_copies, find_recorded, find_repeated_rows
from .findings import Finding
from .leakage import (
    CASES,
    EVENTS,
    Who,
    find_absence_with,
    find_after,
    find_deciding,
    find_itself,
    find_parts,
    find_telling_absence,
)
from .limits import find_limits
from .missing_codes import find_codes, find_survey_weights, find_unmeasured, find_zeros
from .single_columns import (
    find_dates,
    find_empty,
    find_ids,
    find_implausible,
    find_kinds,
    find_mostly_missing,
    find_people,
    find_sites,
    find_texts,
    find_too_large,
    find_unclear_commas,
)
from .target import (
    MOST_LABELS,
    TargetFacts,
    candidates,
    codes_of,
    find_contradiction,
    find_count,
    find_number,
    find_stages,
    find_target,
    kind_of,
    target_of,
)

# Areas under curves and correlations do not change with more rows than these: those asked are spread evenly.
ROWS_ASKED = 20_000
CELLS_ASKED = 50_000_000
LEAST_ROWS_ASKED = 500
ROWS_NAMED = 5


@dataclass(frozen=True)
class Look:
    """What a table holds.

    Attributes
    ----------
    n_rows : patients.
    columns : one for each column, in the order of the table.
    target : what the target holds, or the event; None where none was named.
    candidates : columns that could be the target, where none was named.
    pairs : (time, event) that could be the outcome, likewise.
    time : the column that says how long patients were followed until the event, or not; None without one.
    followed : how long that was, in words; empty where times count from no start.
    number : whether the target is taken for a number.
    kind : what the target is: the name of an outcome; None where no target was named.
    strata : the column that says which rows are a matched set, or a stratum of times; None without one.
    start : the column that says from when on rows are at risk; None without one.
    findings : what to know before a fit.
    n_asked : in how many rows copies, and columns that decide the outcome, were looked for.
    """

    n_rows: int
    columns: tuple[ColumnFacts, ...]
    target: TargetFacts | None
    candidates: tuple[str, ...]
    findings: tuple[Finding, ...]
    n_asked: int
    pairs: tuple[tuple[str, str], ...] = ()
    time: str | None = None
    followed: str = ""
    number: bool = False
    kind: str | None = None
    strata: str | None = None
    start: str | None = None


def look(
    table: Any,
    target: str | None = None,
    id_column: str | None = None,
    said: Mapping[str, Kind] | None = None,
    time: str | None = None,
    outcome: Said | None = None,
    strata: str | None = None,
    start: str | None = None,
) -> Look:
    """Look at a pyarrow table; ``target``, ``id_column``, ``time``, ``strata``, ``start`` are its columns.

    What the user ``said`` that a column is needs no guess, and no doubt. With a ``time`` of follow-up the
    target is the event; where neither that nor the kind of ``outcome`` is given, both are guessed.
    """
    headers = repeated_headers(table)
    if headers.size:
        table = table.take(np.setdiff1d(np.arange(table.num_rows), headers))
    table, unclear = with_decimal_commas(table, {id_column or "", *(said or {})})
    n_rows, all_columns = table.num_rows, [counted_of(name, table[name]) for name in table.column_names]
    kinds = _kinds(all_columns, said or {}, id_column)
    proposed: list[Finding] = []
    if target is not None and time is None and outcome is None:
        target, time, proposed = _follow_up_found(target, all_columns, kinds)
    by_name = {cells.name: cells for cells in all_columns}
    if target is not None and outcome is None:
        time, start, of_intervals = _intervals_found(by_name[target], time, start, all_columns)
        proposed = [*proposed, *of_intervals]
    no_start = [] if time is None or start else find_no_start(by_name[time], kinds[time] == "date")
    proposed = [*proposed, *no_start]
    for name in (target, time):
        if name is not None and kinds[name] in ("id", "date"):
            kinds[name] = "number" if by_name[name].form == "number" else "text"
    facts = tuple(facts_of(cells, kinds[cells.name]) for cells in all_columns)
    table, columns, kinds = _with_outcome(table, all_columns, kinds, target, time, outcome)
    of_strata = strata if time is not None else None
    told = [name for name in (target, time, start, of_strata) if name is not None]
    variables = [cells for cells in columns if cells.name not in told]
    rows = _rows_asked(table.num_rows, table.num_columns)
    of_commas = find_unclear_commas({one.name: unclear[one.name] for one in variables if one.name in unclear})
    variables = _kept(variables, of_commas)
    followed = next((cells for cells in columns if cells.name == time), None)
    findings = [
        *find_headers(headers),
        *of_commas,
        *find_ids(variables, kinds, id_column, table, start is not None, followed),
        *find_dates(variables, kinds),
        *find_texts(variables, kinds),
        *find_people(variables, kinds),
        *find_empty(variables, kinds),
        *find_too_large(variables, kinds),
        *find_repeated_rows(columns, table, id_column),
    ]
    seen, sets = _Outcome(None, np.full(table.num_rows, -1)), None
    if target is not None:
        seen = _outcome(target, time, outcome, columns, by_name, n_rows - table.num_rows)
        sets, of_sets = _sets(variables, seen, time, strata, table)
        if sets is not None:  # such a study has no prevalence to ask for
            seen = seen._replace(findings=[one for one in seen.findings if one.name != "sampling"])
        findings = [*proposed, *seen.findings, *of_sets, *findings]
        asked = (variables, kinds, target, time, seen, columns, rows, findings)
        findings += _of_outcome(*asked, whole=start is None)
    findings += _of_the_rest(columns, variables, kinds, findings, rows, told, set(said or {}), sets)
    could = () if target is not None else tuple(candidates(columns, kinds))
    pairs = () if target is not None else tuple(pairs_of(columns, kinds))
    how_long = "" if time is None or no_start else in_words(by_name[time])
    n_asked = n_rows if rows.size == table.num_rows else rows.size
    out_of = (n_rows, facts, seen.labels, could, tuple(findings), n_asked)
    kind = None if target is None else "matched" if sets is not None else seen.kind
    name = of_strata if sets is None else sets.name
    found = Look(*out_of, pairs, time, how_long, seen.number, kind, name, start)
    return found if sets is None else _whole_sets(found, sets, variables, seen, sets.name == strata)


class _Outcome(NamedTuple):
    """The labels, (n,) who is ``ill`` by them and what these are called, and what is said of the outcome."""

    labels: TargetFacts | None
    ill: Index
    who: Who = CASES
    number: bool = False
    findings: Sequence[Finding] = ()
    kind: str = "binary"


def _outcome(
    target: str,
    time: str | None,
    outcome: Said | None,
    columns: list[Counted],
    by_name: dict[str, Counted],
    n_gone: int,
) -> _Outcome:
    """What the outcome is in the rows of ``columns``; ``by_name`` has all rows, ``n_gone`` more."""
    labels, _ = target_of(by_name[target])
    used = next(cells for cells in columns if cells.name == target)
    nobody = np.full(used.n_rows, -1)
    cells = by_name[target]
    if time is None:
        kind = outcome or kind_of(cells, labels)
        if kind in ("continuous", "count"):
            said = find_number(cells) if kind == "continuous" else find_count(cells, columns)
            return _Outcome(labels, nobody, number=True, findings=said, kind=kind)
        if kind == "ordinal":
            return _Outcome(labels, nobody, findings=find_stages(cells, labels), kind=kind)
    ill = nobody if labels.disease is None else codes_of(used, labels)
    if time is None:
        labels, contradicted = find_contradiction(labels, ill, columns)
        return _Outcome(labels, ill, findings=[*contradicted, *find_target(labels)])
    ill, labels = event_codes(ill, used), as_event(labels)
    labels, contradicted = find_contradiction(labels, ill, columns)
    labels, late = find_late_events(labels, ill, next(c for c in columns if c.name == time))
    said = [*contradicted, *late, *find_event(labels, by_name[time], n_gone)]
    return _Outcome(labels, ill, EVENTS, findings=said, kind="survival")


def _intervals_found(
    event: Counted, time: str | None, start: str | None, columns: list[Counted]
) -> tuple[str | None, str | None, list[Finding]]:
    """Where rows are intervals of follow-up, of which ``time`` is one end: the end, the start, and a word."""
    ends = ends_of_intervals(columns)
    labels = 2 <= event.n_different <= MOST_LABELS and event.name not in (ends or ())
    if start is not None or ends is None or not labels or time not in (None, *ends):
        return time, start, []
    return ends[1], ends[0], find_intervals(ends)


def _sets(
    variables: list[Counted], seen: _Outcome, time: str | None, strata: str | None, table: Any
) -> tuple[SetsSeen | None, list[Finding]]:
    """The column that says which rows are a matched set, given or found, and what is said of it."""
    if time is not None or seen.kind != "binary":
        return None, []
    found = None if strata is not None else sets_among(variables, seen.ill, table)
    if strata is not None:
        found = seen_as_sets(next(cells for cells in variables if cells.name == strata), table)
    if found is None:
        return None, []
    return found, find_sets(found, variables, strata is not None)


def _whole_sets(look: Look, sets: SetsSeen, variables: list[Counted], seen: _Outcome, said: bool) -> Look:
    """The same, since rows of matched sets have to be whole; without sets where too few would be left."""
    left = set(variables_left(look))
    lacking = [cells for cells in variables if cells.name in left and cells.missing.any()]
    if not lacking:
        return look
    whole = ~np.any([cells.missing for cells in lacking], axis=0)
    if not said and not sets.enough_of(seen.ill, whole):
        findings = [replace(one, in_line=False) if one.name in OF_SETS else one for one in look.findings]
        return replace(look, findings=tuple(findings), kind=seen.kind, strata=None)
    return replace(look, findings=(*look.findings, find_lacking([one.name for one in lacking], whole)))


def _kinds(columns: list[Counted], said: Mapping[str, Kind], id_column: str | None) -> dict[str, Shape]:
    kinds: dict[str, Shape] = {cells.name: shape_of(cells) for cells in columns}
    kinds |= dict.fromkeys(days_since(columns), "date")
    kinds |= {name: kind for name, kind in said.items() if name in kinds}
    if id_column is not None:
        kinds[id_column] = "id"
    return kinds


def _with_outcome(
    table: Any,
    columns: list[Counted],
    kinds: dict[str, Shape],
    target: str | None,
    time: str | None,
    outcome: Said | None,
) -> tuple[Any, list[Counted], dict[str, Shape]]:
    """The same in the rows that a fit would use: what varies elsewhere may be a constant among them."""
    by_name = {cells.name: cells for cells in columns}
    used = np.ones(table.num_rows, dtype=bool)
    for name in (target, time):
        if name is not None and (by_name[name].numbers is not None or by_name[name].codes is not None):
            used &= ~by_name[name].missing
    if target is not None and time is None and outcome in (None, "binary"):
        labels, ill = target_of(by_name[target])
        if labels.disease is not None and not labels.guessed:
            used &= ill >= 0
    if used.all() or not used.any():
        return table, columns, kinds
    table = table.filter(used)
    columns = [counted_of(name, table[name]) for name in table.column_names]
    return (
        table,
        columns,
        kinds | {c.name: shape_of(c) for c in columns if kinds[c.name] in (*FITTED, "text")},
    )


def _follow_up_found(
    target: str, columns: list[Counted], kinds: dict[str, Shape]
) -> tuple[str, str | None, list[Finding]]:
    """The target or the event, the time of follow-up or None, and what to say of them.

    Only one column was named; where names say it, another one belongs to it.
    """
    of_time = next((event for time, event in pairs_of(columns, kinds) if time == target), None)
    if of_time is not None:
        return of_time, target, find_pair(target, of_time, sure=True)
    cells = next(cells for cells in columns if cells.name == target)
    beside = (
        time_beside(target, times_of(columns, kinds), columns)
        if 2 <= cells.n_different <= MOST_LABELS
        else None
    )
    if beside is None:
        return target, None, []
    time, sure = beside
    return target, time if sure else None, find_pair(time, target, sure)


def _of_outcome(
    variables: list[Counted],
    kinds: dict[str, Shape],
    target: str,
    time: str | None,
    seen: _Outcome,
    columns: list[Counted],
    rows: Index,
    said: list[Finding],
    whole: bool,
) -> list[Finding]:
    """What tells the outcome: each column is named for the first reason only.

    Rows are ``whole`` patients, or intervals from a start to a stop.
    """
    more = seen.number or seen.kind == "ordinal"
    amount = next((c for c in columns if c.name == (time or target) and (more or time)), None)
    found = [] if amount is None else find_itself(variables, kinds, amount, linear=seen.number)

    def left() -> list[Counted]:
        return _kept(variables, [*said, *found])

    # What may be the time of follow-up is asked about once, and tells what goes with it all the same.
    follow_up = [one for one in said if one.name == FOLLOW_UP]
    beside = _kept(variables, [one for one in [*said, *found] if one not in follow_up])
    told = {name for one in follow_up for name in one.columns}
    found += find_after(beside, kinds, target, rows, None if time is None else amount, told, whole)
    if amount is not None:
        limit = "absence, pairs" if seen.number else "absence, follow-up"
        found += find_absence_with(left(), kinds, amount, limit)
    found += find_telling_absence(left(), kinds, seen.ill, seen.who)
    found += find_parts(left(), kinds, seen.ill, seen.who)
    found += find_deciding(left(), kinds, seen.ill, _both_classes(seen.ill, rows), seen.who)
    return found


def _of_the_rest(
    columns: list[Counted],
    variables: list[Counted],
    kinds: dict[str, Shape],
    before: list[Finding],
    rows: Index,
    told: list[str],
    said: set[str],
    sets: SetsSeen | None,
) -> list[Finding]:
    """What is found of columns that nothing ``before`` left out: copies, codes, kinds."""
    found: list[Finding] = []

    def left() -> list[Counted]:
        return _kept(variables, [*before, *found])

    found += find_mostly_missing(left(), kinds)
    found += find_survey_weights(left(), kinds)
    found += find_copies(left(), kinds, rows)
    found += [] if sets is None else find_copies_in_sets(sets, left(), kinds)
    found += find_coarser(left(), kinds, rows)
    found += find_computed(left(), kinds, rows)
    found += find_recorded(variables, kinds, _left_out([*before, *found]))
    out = _left_out([*before, *found])
    codes = find_codes(columns, kinds, out, told)
    coded = [name for finding in codes for name in finding.columns]  # a pile at 999 is no limit
    found += find_limits(columns, kinds, [*out, *coded], told, sets is not None)
    found += codes
    found += find_zeros(columns, kinds, out, told)
    found += find_implausible(left())
    found += find_sites([cells for cells in left() if cells.name not in said], kinds)
    found += find_kinds([cells for cells in left() if cells.name not in said], kinds)
    return [*found, *find_unmeasured(left(), kinds)]


def _left_out(findings: list[Finding]) -> set[str]:
    """Columns that the findings so far leave out."""
    return {
        option[1]
        for one in findings
        if one.in_line
        for option in one.options
        if option[0] in ("--drop", "--after", "--id", "--strata", "--weights")
    }


def _kept(columns: list[Counted], findings: list[Finding]) -> list[Counted]:
    out = _left_out(findings)
    return [cells for cells in columns if cells.name not in out]


def _rows_asked(n_rows: int, n_columns: int) -> Index:
    """Rows spread evenly over the table, all of them where they are few."""
    size = min(n_rows, ROWS_ASKED, max(LEAST_ROWS_ASKED, CELLS_ASKED // max(n_columns, 1)))
    return np.linspace(0, n_rows - 1, size).astype(np.intp) if n_rows else np.empty(0, dtype=np.intp)


def _both_classes(ill: Index, rows: Index) -> Index:
    """As many rows, half of each class where there are enough: of a rare disease no case is passed over."""
    if rows.size == ill.size:
        return rows
    chosen = [np.flatnonzero(ill == label) for label in (0, 1)]
    spread = [
        some[np.linspace(0, some.size - 1, min(some.size, rows.size // 2)).astype(np.intp)]
        for some in chosen
        if some.size
    ]
    return np.sort(np.concatenate(spread)) if spread else rows


def variables_left(look: Look) -> list[str]:
    """The columns that the proposed line fits."""
    out = _left_out(list(look.findings))
    told = {look.time, look.strata, look.start, None if look.target is None else look.target.name}
    return [
        column.name
        for column in look.columns
        if column.kind in FITTED and column.name not in out and column.name not in told
    ]


def repeated_headers(table: Any) -> Index:
    """Which rows of a pyarrow table hold the name of its column in every cell."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows: Any = None
    named = [name for name in table.column_names if name.strip()]
    for name in named:
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            return np.empty(0, dtype=np.intp)
        same = pc.equal(pc.utf8_trim_whitespace(column), name.strip()).fill_null(False)
        rows = same if rows is None else pc.and_(rows, same)
        if not pc.any(rows).as_py():
            return np.empty(0, dtype=np.intp)
    # Of a single column the name may be a level.
    if rows is None or len(named) < 2:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(rows.to_numpy()).astype(np.intp)


def find_headers(rows: Index) -> list[Finding]:
    """What to say of rows, counted from 0, that were left out of the look."""
    if not rows.size:
        return []
    shown = listed([str(row + 1) for row in rows.tolist()], ROWS_NAMED)
    many = rows.size > 1
    sentence = (
        f"{'Rows' if many else 'Row'} {shown} {'repeat' if many else 'repeats'} the header: remove "
        f"{'them' if many else 'it'} from the file. What is said here, and the line, is without "
        f"{plural(rows.size, 'row') if many else 'it'}."
    )
    return [Finding("repeated header", (), sentence)]
