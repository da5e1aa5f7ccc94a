"""Models of commands: learned from the cohort that options name, or loaded; and what they ask of a table."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..errors import InputError
from ..files.header import TableFile
from ..files.memory import address_space_left
from ..files.tables import described, refuse_streams, table_format
from ..wording import listed, one_line, printable, quoted, shown
from .console import say, say_cohort, say_kinds, say_known, say_removed, status_if_slow
from .knowing import KnowledgeOptions
from .options import OutcomeOptions

if TYPE_CHECKING:
    from ..estimators.loading import Fitted
    from ..files.redcap import Dictionary
    from ..inputs.kinds import Kind
    from ..inputs.naming import Naming
    from ..inputs.outcomes import ChosenOutcome, OutcomeColumns
    from ..inputs.patients import Patients
    from ..inputs.roles import Roles

# Of addresses, for compiled loops, threads and their buffers, besides the table.
FOR_A_FIT = 1 << 29
DOUBTS_SHOWN = 5
# More rows would not change what is found, and a look must cost little beside a fit. Of wide tables, whose
# columns are no clinical ones, it would cost as much: there it is left to the command.
ROWS_ENOUGH = 5_000
MOST_COLUMNS = 1_000
# The others are refused by the fit, or said by the command itself.
WORTH_A_LINE = (
    "contradiction",
    "id",
    "row number",
    "date",
    "the outcome itself",
    "after the outcome",
    "diagnosis",
    "follow-up",
    "matched sets",
    "named like the target",
    "measured later",
    "before or after",
    "goes with follow-up",
    "goes with the stay",
    "absence goes with",
    "says whether measured",
    "competing event",
    "calendar year",
    "absence tells",
    "part of the outcome",
    "decides",
    "nearly decides",
    "limit",
    "code for missing",
    "zero for missing",
    "not known tells",
    "implausible",
    "names of people",
    "coarser",
    "repeated rows",
    "codes",
    "order",
)


def learn(
    cohort: TableFile,
    roles: "Roles",
    known: KnowledgeOptions,
    settings: dict[str, Any],
    *,
    quiet: bool = False,
) -> "tuple[Fitted, Patients, ChosenOutcome]":
    """Read a cohort with its outcome, say what was read, and fit the estimator of this outcome."""
    roles = known.with_roles(roles, cohort)
    patients, outcome = _read_labelled(cohort, roles, quiet)
    told = {**settings, "knowledge": roles.knowledge, "log": patients.logged()}
    model = estimator_of(outcome, told)
    left = address_space_left()
    if left is not None and left < FOR_A_FIT:
        raise MemoryError  # compilers that run out of it do not always come back
    model.fit(patients, *outcome.arguments(patients.target), weights=patients.weights)
    model._keep(replace(model._found, table=patients.preflight))
    return model, patients, outcome


def estimator_of(outcome: "ChosenOutcome", settings: dict[str, Any]) -> "Fitted":
    """Return the estimator of this outcome, not yet fitted."""
    from ..estimators.loading import ESTIMATORS

    estimator, settings = ESTIMATORS[outcome.kind], {**settings, **outcome.parameters}
    return estimator(**settings, progress=True)


def _read_labelled(cohort: TableFile, roles: "Roles", quiet: bool) -> "tuple[Patients, ChosenOutcome]":
    from ..inputs.from_file import read_labelled_cohort

    with status_if_slow(f"reading {quoted(cohort)}"):
        patients, outcome = read_labelled_cohort(cohort, roles)
    if not quiet:
        n_rows = patients.row_numbers.size
        say_cohort(described(cohort), n_rows, patients.X.num_columns)
        say_removed(patients.n_removed, n_rows)
        for note in patients.notes:
            say(note)
        if patients.readings is not None:
            say_kinds(patients.readings)
        for line in outcome.lines(n_rows, "patients" if patients.groups is None else "rows"):
            say(line)
        if roles.knowledge is not None:
            say_known(roles.knowledge)
    return replace(patients, preflight=_preflight(patients, roles)), outcome


def _preflight(patients: "Patients", roles: "Roles") -> tuple[str, ...]:
    """Print on stderr, and return, what ``rootcausal look`` would doubt in the columns of a fit."""
    import numpy as np
    import pyarrow as pa

    from ..profiling.look import look

    if patients.X.num_columns > MOST_COLUMNS:
        return ()
    named = dict(roles.outcome.named)
    target, time = named.get("--target", named.get("--event")), named.get("--time")
    table = patients.X
    assert patients.target is not None
    for option, column in named.items():
        table = table.append_column(column, pa.array(roles.outcome.values_of(option, patients.target)))
    if patients.ids is not None and roles.id_column is not None:
        table = table.append_column(roles.id_column, pa.array(patients.ids))
    if table.num_rows > ROWS_ENOUGH:
        table = table.take(np.linspace(0, table.num_rows - 1, ROWS_ENOUGH).astype(np.int64))
    said = _said(patients, roles)
    design = named.get("--strata"), named.get("--start")
    seen = look(table, target, roles.id_column, said, time, roles.outcome.said, *design)
    # Rows that differ in a column that was left out are no copies; and of the ids everything was said.
    silent = {"repeated rows"} if roles.drop or roles.after or roles.keep else set()
    if getattr(roles.outcome, "positive", None) is not None:
        silent |= {"contradiction", "competing event"}  # which label it is was said
    if getattr(roles.outcome, "competing", ()):
        silent.add("competing event")
    answered, limited = _answered(patients, roles), set(map(str, roles.hints.limits))
    doubts = [
        one
        for one in seen.findings
        if one.name in WORTH_A_LINE
        and one.name not in silent
        and one.columns != (roles.id_column,)
        and not (one.name == "limit" and limited.issuperset(one.columns))
        and (one.in_line or not one.columns or not answered.issuperset(one.columns))
    ]
    for one in doubts[:DOUBTS_SHOWN]:
        typer.echo(f"warning: {printable(one_line(one.sentence, 400))}", err=True)
    if doubts:
        more = f"{len(doubts) - DOUBTS_SHOWN} more; " if len(doubts) > DOUBTS_SHOWN else ""
        typer.echo(f"warning: {more}rootcausal look says what to do about it, and writes the line", err=True)
    return tuple(one.sentence for one in doubts)


def _said(patients: "Patients", roles: "Roles") -> "dict[str, Kind]":
    """What the user said that columns are; dates that were kept are numbers of days."""
    said: dict[str, Kind] = dict.fromkeys(patients.reading.get("origins", {}), "number")
    for name, kind in roles.hints.kinds.items():
        said[str(name)] = "ordinal" if isinstance(kind, tuple) else kind
    return said


def _answered(patients: "Patients", roles: "Roles") -> set[str]:
    """Columns that the user named as variables, or placed: what was yours to decide of them is decided."""
    known = roles.knowledge
    fields = {} if known is None else known if isinstance(known, dict) else known.to_dict()
    placed = [*(fields.get("tiers") or ()), fields.get("first") or (), fields.get("covariates") or ()]
    causes = [pair[0] for pair in fields.get("causes") or ()]
    described = (roles.hints.kinds, roles.hints.logs, roles.hints.limits, roles.hints.noisy)
    kept = patients.X.column_names if roles.keep else ()
    return {str(name) for some in (*placed, causes, *described, kept) for name in some}


def load_model(path: Path, horizon: float | None = None) -> "Fitted":
    """Load a model that knows the names of its columns and, where one is asked for, a ``horizon``."""
    from ..estimators.loading import load_of_outcome

    refuse_streams(path)
    try:
        model = load_of_outcome(path)
    except OSError as error:
        raise InputError(f"cannot read the model {shown(path)}: {error.strerror or error}.") from None
    if not hasattr(model, "feature_names_in_"):
        raise InputError(
            f"the model {shown(path)} was fitted on columns without names: fit it on a named table."
        )
    if horizon is not None and "horizon" not in model.get_params():
        raise InputError(
            f"--horizon is for the time to an event, and {shown(path)} is a model of another outcome: leave "
            "it out."
        )
    return model


def labels_of(path: Path | None) -> "dict[str, Naming] | None":
    """Read ``--labels`` before any work is done."""
    from ..inputs.naming import read_namings

    return None if path is None else read_namings(path)


def call_by_dictionary(model: "Fitted", known: "Dictionary | None") -> None:
    """Give a model that was just fitted the labels of REDCap."""
    called = {} if known is None else known.labels(model._encoding.names)
    if called:
        model.set_labels(called)


def call_variables(model: "Fitted", namings: "dict[str, Naming] | None", *others_named: str | None) -> None:
    """Give a model the labels of ``--labels``.

    Where it was just fitted, ``others_named`` are the columns that other options name, and labels of yet
    others are said.
    """
    if namings is None:
        return
    model.set_labels(namings)
    others = [name for name in namings if name not in {*model._encoding.names, *others_named}]
    if others and others_named:
        say(f"labels of columns that are no variables of the model: {listed([quoted(n) for n in others])}")


def columns_of(model: "Fitted", na: list[str] | None) -> dict[str, Any]:
    """Return what a model asks of a file: its ``features``, which are ``needed``, and the ``reach`` of each.

    The reach is the largest value that can be scored. ``variables`` are those that are no numbers, or on a
    log scale. Words for missing (``na``) are those of the model's cohort and those given. Dates are counted
    from the ``origins``, and written as ``date_orders`` say; ``decimal_comma`` as the cohort was.
    """
    reading, encoding = model.provenance_.get("reading", {}), model._encoding
    names = [str(name) for name in model.feature_names_in_]
    return {
        "features": names,
        "needed": [names[place] for place in model._needed_variables()],
        "reach": dict(zip(names, encoding.reach(model._model.reach()).tolist(), strict=True)),
        "may_miss": model._completion is not None,
        "variables": {
            one.name: one
            for place, one in enumerate(encoding.variables)
            if one.levels or one.log or place in encoding.limited
        },
        "na": [*reading.get("na", ()), *(na or ())],
        "origins": reading.get("origins", {}),
        "date_orders": reading.get("date_orders", {}),
        "decimal_comma": encoding.decimal_comma,
    }


def outcome_of(model: "Fitted", path: Path, outcome: OutcomeOptions) -> "OutcomeColumns | None":
    """Return where a table of new patients says what happened to them, in the words of the model's cohort."""
    from ..outcomes import OUTCOMES

    if not outcome.given:
        return None
    kind = model._model.attribution.outcome
    if (kind == "survival") != (outcome.target is None):
        needed = "--time and --event" if kind == "survival" else "--target"
        raise InputError(f"the model {shown(path)} is of {OUTCOMES[kind].called}: name {needed}.")
    if kind == "matched" and outcome.strata is None:
        raise InputError(f"the model {shown(path)} is of matched sets: name --strata beside --target.")
    for option in ("target", "strata", "time", "event", "start", "exposure"):
        if getattr(outcome, option) in model.feature_names_in_.tolist():
            named = quoted(getattr(outcome, option))
            raise InputError(f"--{option} {named} is one of the model's variables: name the outcome.")
    groups = model.provenance_.get("reading", {}).get("groups")
    said: dict[str, Any] = {"outcome": kind if kind in ("ordinal", "continuous", "count") else None}
    if groups is not None:
        said |= groups
    return replace(outcome, horizon=None, **said).columns()


def known_to(model: "Fitted", patients: "Patients", columns: "OutcomeColumns | None") -> Any:
    """Return what happened to new patients, as checks and pages take it."""
    if columns is None:
        return None
    assert patients.target is not None
    values = {
        option.removeprefix("--"): columns.values_of(option, patients.target) for option, _ in columns.named
    }
    first, *others = values
    return model._known(values[first], **{name: values[name] for name in others})


def say_sheet(table: TableFile) -> None:
    """Say which sheet of a workbook new patients were read from."""
    if table_format(table) == "excel":
        say(f"patients: {described(table)}")
