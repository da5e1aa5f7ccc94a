"""``rootcausal look``: what a table holds, and what to know before it is fitted."""

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ..files.header import TableFile
from ..version import __version__
from ..wording import listed, one_line, plural, quoted, short_names, shown
from .console import print_table, say, status_if_slow
from .options import CohortFile, IdColumn, NamedOutcome, ReadingOptions, with_options

if TYPE_CHECKING:
    from ..profiling.column_types import ColumnFacts
    from ..profiling.findings import Finding
    from ..profiling.look import Look
    from ..profiling.target import TargetFacts

COLUMNS_SHOWN = 60
WIDTH = 80
CANDIDATES_SHOWN = 8
LEVELS_SHOWN = 3
NAME_LETTERS = 21


@with_options
def look(
    *,
    cohort: CohortFile,
    reading: ReadingOptions,
    id_column: IdColumn = None,
    outcome: NamedOutcome,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
) -> None:
    """Look at a table before anything is fitted.

    Says what each column holds, and what looks like an id, a date, a code for
    missing, a copy, or something that is known only after the outcome.
    Ends with the fit line that takes all of it into account, ready to paste.

    rootcausal look cohort.csv
    rootcausal look cohort.csv --target died
    rootcausal look cohort.csv --time futime --event died
    rootcausal look cohort.csv --target died --na 999 --na glucose=0
    rootcausal look cohort.csv --target died --id patient --json
    """
    if outcome.given:
        outcome.refuse_what_does_not_go_together()
    table, id_column = reading.table_at(cohort), reading.ids(id_column)
    seen = _read(table, id_column, outcome, reading.na or ())
    read_so = _how_read(table, reading.na or ())
    if as_json:
        # Escaped, so that a terminal shows hostile names and does not obey them.
        typer.echo(json.dumps(_as_dict(seen, cohort, read_so), indent=1))
    else:
        _print(seen, table, read_so)


def _how_read(table: TableFile, na: Sequence[str]) -> list[str]:
    """Return the options of reading that were given or are needed, for the line that fits."""
    from ..files.tables import has_no_header

    options = [text for word in na for text in ("--na", word)]
    if table.sheet is not None:
        options += ["--sheet", table.sheet]
    if table.names is not None:
        options += ["--names", ",".join(table.names)]
    elif table.header or has_no_header(table):
        options.append("--header" if table.header else "--no-header")
    for option, given in (("--sql", table.sql), ("--redcap", table.redcap)):
        if given is not None:
            options += [option, str(given)]
    return options


def _read(cohort: TableFile, id_column: str | None, outcome: NamedOutcome, na: Sequence[str]) -> "Look":
    from ..files.tables import column_names, read_columns
    from ..inputs.roles import require_columns
    from ..profiling.look import look as look_at

    time = outcome.time
    target = outcome.target if time is None else outcome.event
    names = column_names(cohort)
    asked = {
        "--target" if time is None else "--event": target,
        "--time": time,
        "--start": outcome.start,
        "--strata": outcome.strata,
        "--id": id_column,
    }
    require_columns(cohort, names, {option: name for option, name in asked.items() if name is not None})
    for option, name in asked.items():
        if option != "--id" and name is not None and name == id_column:
            raise InputError(f"{quoted(name)} is both {option} and --id: choose one.")
    with status_if_slow(f"reading {quoted(cohort)}"):
        table = read_columns(cohort, names, id_column, na)
    if not table.num_rows:
        raise InputError(f"{shown(cohort)} has column names but no rows.")
    with status_if_slow(f"looking at {quoted(cohort)}"):
        return look_at(
            table,
            target,
            id_column,
            time=time,
            outcome=outcome.outcome,
            strata=outcome.strata,
            start=outcome.start,
        )


# --- on the terminal --------------------------------------------------------------------------------------


def _print(seen: "Look", path: TableFile, read_so: list[str]) -> None:
    from ..files.tables import described
    from ..profiling.fit_line import as_line, fit_arguments, look_arguments
    from ..profiling.single_columns import COLUMN
    from ..profiling.target import LABEL

    say(f"{described(path)}: {plural(seen.n_rows, 'row')}, {plural(len(seen.columns), 'column')}")
    names = short_names([column.name for column in seen.columns], NAME_LETTERS)
    rows = [_row(name, column) for name, column in zip(names[:COLUMNS_SHOWN], seen.columns, strict=False)]
    print_table(("column", "kind", "different", "missing", "values"), rows, width=WIDTH)
    if len(seen.columns) > COLUMNS_SHOWN:
        say(f"and {plural(len(seen.columns) - COLUMNS_SHOWN, 'column')} more: all are in --json")
    _print_target(seen)
    _ask_how_chosen(seen)
    line = fit_arguments(seen, path, read_so)
    again = look_arguments(seen, path, read_so)
    _print_findings(seen.findings, proposed=line is not None)
    if seen.n_asked < seen.n_rows:
        _paragraph(
            f"Copies, and columns that decide the outcome, were looked for in {seen.n_asked} rows spread "
            "over the table."
        )
    say()
    if line is not None:
        if as_line(line) is not None:
            open_ones = ", and put labels in the place of LABEL" if LABEL in line else ""
            if COLUMN in line:
                open_ones += f", and put a column in the place of {COLUMN}"
            _paragraph(
                f"To fit with all of this taken into account (change what you know better{open_ones}):"
            )
        _print_line(line)
        _print_hint(seen)
    elif again is not None:
        if as_line(again) is not None:
            say("Name the outcome for the rest, and for the line that fits; for example:")
        _print_line(again)
    else:
        say(
            "No line to fit can be proposed: it needs an outcome (two labels, a number, or a time and an "
            "event), and a column to learn from."
        )


def _print_line(arguments: list[str]) -> None:
    """The command to paste or, where shells would read it in different ways, why there is none."""
    from ..profiling.fit_line import as_line, not_for_a_line

    line = as_line(arguments)
    if line is not None:
        say()
        say(line, to_paste=True)
        return
    names = listed([quoted(name, 30) for name in dict.fromkeys(not_for_a_line(arguments))])
    _paragraph(
        f"No line can be printed that every shell reads alike, because of {names}: rename in the file what "
        "has characters that are not printed, or a quote beside an exclamation mark. --json has the "
        "arguments as they are, for programs."
    )


def _print_hint(seen: "Look") -> None:
    """What names suggest about the causal order; it is never in the line, since names are no knowledge."""
    from ..name_hints.order import as_option, suggest
    from ..profiling.look import variables_left

    hint = suggest(variables_left(seen), {})
    if not hint:
        return
    what = []
    if hint.first:
        verb = "comes" if len(hint.first) == 1 else "come"
        what.append(f"{listed([quoted(name, 30) for name in hint.first])} usually {verb} before all else")
    if hint.tiers:
        what.append(f"the names tell {len(hint.tiers)} visits, one after the other")
    say()
    _paragraph("; ".join([*what, *hint.caveats]) + ". If so, add to the line:")
    say()
    say(as_option(hint), to_paste=True)


def _row(name: str, column: "ColumnFacts") -> tuple[str, ...]:
    share = f"{column.share_missing:.0%}"
    missing = f"{column.n_missing} ({'<1%' if share == '0%' else share})" if column.n_missing else "-"
    return name or "(no name)", column.kind, str(column.n_different), missing, _values(column)


def _values(column: "ColumnFacts") -> str:
    """Levels with their counts, or a range, and an example."""
    if column.levels:
        levels = [f"{one_line(level, 10)} ({count})" for level, count in column.levels[:LEVELS_SHOWN]]
        rest = column.n_different - len(levels)
        return ", ".join(levels) + (f" and {rest} more" if rest else "")
    if column.example is None:
        return ""
    if column.range is not None and column.kind == "number":
        low, high, one = (f"{number:.5g}" for number in (*column.range, float(column.example)))
        return f"{low} to {high}, such as {one}"
    return f"such as {one_line(column.example, 16)}"


def _ask_how_chosen(seen: "Look") -> None:
    """Ask what no table shows: whether some were likelier to come into it than others."""
    weighed = any(option == "--weights" for one in seen.findings for option, *_ in one.options)
    if seen.target is not None and seen.strata is None and not weighed:
        _paragraph(
            "Did some patients come into the table more easily, as the severely ill do? Then a column of "
            "weights has to say how many patients each row stands for: --weights COLUMN."
        )


def _print_target(seen: "Look") -> None:
    target = seen.target
    if target is None:
        if seen.pairs:
            both = [f"{quoted(time, 30)} with {quoted(event, 30)}" for time, event in seen.pairs]
            _paragraph(f"Could be follow-up (--time with --event): {listed(both, CANDIDATES_SHOWN)}.")
        if seen.candidates:
            names = [quoted(name, 30) for name in seen.candidates]
            _paragraph(f"Could be the target (--target): {listed(names, CANDIDATES_SHOWN)}.")
        return
    if seen.number or seen.kind == "ordinal":
        return
    repeated = any(finding.name == "repeated patients" for finding in seen.findings)
    of_what = "rows" if repeated else "patients"
    if seen.time is not None:
        if seen.followed:
            _paragraph(f"Time {quoted(seen.time)}: follow-up of {seen.followed}.")
        if target.disease is not None and not target.guessed:
            _paragraph(
                f"Event {quoted(target.name)}: {quoted(target.disease, 30)} is the event "
                f"({target.n_cases} of {target.n_cases + target.n_controls} {of_what})."
            )
    elif target.disease is not None and not target.guessed:
        _paragraph(
            f"Target {quoted(target.name)}: {quoted(target.disease, 30)} is the disease "
            f"({target.n_cases} of {target.n_cases + target.n_controls} {of_what}), "
            f"{quoted(target.healthy, 30)} is not."
        )


def _print_findings(findings: "tuple[Finding, ...]", proposed: bool) -> None:
    say()
    if not findings:
        say("Nothing looks odd.")
        return
    say(f"{plural(len(findings), 'thing')} to know before a fit:")
    for number, finding in enumerate(findings, start=1):
        _paragraph(f"{number}. {finding.sentence}", indent="   ")
        options = [" ".join([name, *(quoted(of, 30) for of in value)]) for name, *value in finding.options]
        if options:
            said = "" if finding.in_line else " (yours to decide)"
            said = " (in the line below)" if finding.in_line and proposed else said
            _paragraph(f"   -> {listed(options)}{said}", indent="      ")


def _paragraph(text: str, indent: str = "") -> None:
    # Long names are safe already: they were cut where they were quoted.
    for line in textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False):
        say(line)


# --- for programs -----------------------------------------------------------------------------------------


def _as_dict(seen: "Look", path: Path, read_so: list[str]) -> dict[str, Any]:
    """What ``--json`` prints; the keys are documented in docs/preparing-a-cohort.md."""
    from ..name_hints.order import options, suggest
    from ..profiling.fit_line import as_line, fit_arguments
    from ..profiling.look import variables_left

    arguments = fit_arguments(seen, path, read_so)
    hint = suggest(variables_left(seen), {})
    target = seen.target
    return {
        "version": __version__,
        "file": str(path),
        "rows": seen.n_rows,
        "rows_asked": seen.n_asked,
        "columns": [_column_as_dict(column) for column in seen.columns],
        "target": None if target is None else _target_as_dict(target, _kind(seen)),
        "outcome": None if target is None else _kind(seen),
        "time": seen.time,
        "strata": seen.strata,
        "start": seen.start,
        "candidates": list(seen.candidates),
        "pairs": [{"time": time, "event": event} for time, event in seen.pairs],
        "findings": [
            {
                "name": finding.name,
                "columns": list(finding.columns),
                "sentence": finding.sentence,
                "options": [list(option) for option in finding.options],
                "in_fit": finding.in_line,
            }
            for finding in seen.findings
        ],
        "suggested": {"knowledge": hint.knowledge, "options": options(hint), "caveats": list(hint.caveats)}
        if hint
        else None,
        "fit": None if arguments is None else {"arguments": arguments, "line": as_line(arguments)},
    }


def _target_as_dict(target: "TargetFacts", kind: str) -> dict[str, Any]:
    labels = {"name": target.name, "labels": _pairs(target.labels), "missing": target.n_missing}
    if kind in ("continuous", "count", "ordinal"):
        return labels
    if kind == "survival":
        ends = {"event": target.disease, "guessed": target.guessed}
        return {**labels, **ends, "events": target.n_cases, "others": target.n_controls}
    return {
        **labels,
        "disease": target.disease,
        "healthy": target.healthy,
        "guessed": target.guessed,
        "cases": target.n_cases,
        "controls": target.n_controls,
    }


def _kind(seen: "Look") -> str:
    return str(seen.kind)


def _column_as_dict(column: "ColumnFacts") -> dict[str, Any]:
    return {
        "name": column.name,
        "kind": column.kind,
        "different": column.n_different,
        "missing": column.n_missing,
        "missing_share": column.share_missing,
        # Infinite ends are no JSON.
        "range": None
        if column.range is None
        else [x if abs(x) < float("inf") else None for x in column.range],
        "levels": _pairs(column.levels),
        "example": column.example,
    }


def _pairs(levels: tuple[tuple[str, int], ...]) -> list[dict[str, Any]]:
    return [{"level": level, "rows": count} for level, count in levels]
