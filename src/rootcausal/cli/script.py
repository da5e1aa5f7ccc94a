"""What options of ``rootcausal report`` do, as a Python script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

from ..errors import InputError
from ..files.header import TableFile
from ..files.tables import column_names, read_columns
from ..wording import one_line, plain, quoted
from .knowing import KnowledgeOptions
from .models import estimator_of
from .options import (
    ModelOptions,
    NamedOutcome,
    OutcomeOptions,
    PageOptions,
    ReadingOptions,
    TableOptions,
    bare,
    roles_of,
)

if TYPE_CHECKING:
    from ..estimators.loading import Fitted
    from ..inputs.outcomes import ChosenOutcome
    from ..inputs.patients import Patients
    from ..inputs.roles import Roles


# Options that a program chooses: checked against those of the commands, and written as people type them.

# What reads another file of the machine is no choice of a page.
NOT_CHOSEN = ("knowledge", "redcap")
OF_LOOK = (ReadingOptions, NamedOutcome)
OF_REPORT = (TableOptions, OutcomeOptions, KnowledgeOptions, ModelOptions, PageOptions)


@dataclass(frozen=True)
class Declared:
    """An option: its field, what it is called if it says yes, and what its values are."""

    field: str
    group: type
    yes: str
    kinds: frozenset[Any]
    parser: Callable[[str], Any] | None

    @property
    def is_flag(self) -> bool:
        return bool in self.kinds

    @property
    def many(self) -> bool:
        return list in self.kinds

    def value(self, text: str) -> Any:
        """What a text stands for."""
        if self.parser is not None:
            return self.parser(text)
        try:
            return int(text) if int in self.kinds else float(text) if float in self.kinds else bare(text)
        except ValueError:
            raise InputError(f"{self.yes} takes a number, not {quoted(text)}.") from None


@cache
def declared(groups: tuple[type, ...]) -> dict[str, Declared]:
    """The options of these groups, by what they are called."""
    found: dict[str, Declared] = {}
    for group in groups:
        hints = get_type_hints(group, include_extras=True)
        for one in fields(group):
            if one.name in NOT_CHOSEN:
                continue
            kind, option = _kind_and_option(hints[one.name])
            said = [str(name) for name in (option.default, *(option.param_decls or ()))]
            names = [name for name in said if name.startswith("--")] or [f"--{one.name.replace('_', '-')}"]
            yes, *no = names[0].split("/")
            found |= dict.fromkeys([yes, *no], Declared(one.name, group, yes, frozenset(kind), option.parser))
    return found


def _kind_and_option(hint: Any) -> tuple[set[Any], Any]:
    """The types of a field, and what Typer is told of it."""
    assert get_origin(hint) is Annotated
    kind, option, *_ = get_args(hint)
    parts = get_args(kind) or (kind,)
    return {get_origin(part) or part for part in parts} | {get_origin(kind) or kind}, option


def arguments_of(choices: Any, groups: tuple[type, ...]) -> list[str]:
    """The choices, pairs of an option and its value (None of one without), as arguments of a command."""
    known, seen, arguments = declared(groups), set[str](), list[str]()
    for option, value in pairs_of(choices):
        one = known.get(option)
        if one is None:
            raise InputError(f"{quoted(option)} is no option that can be chosen here.")
        if (value is None) != one.is_flag:
            raise InputError(f"{option} takes {'no' if one.is_flag else 'a'} value.")
        if one.field in seen and not one.many:
            raise InputError(f"{option} was chosen twice: choose it once.")
        seen.add(one.field)
        arguments += [option] if value is None else [option, value]
    return arguments


def pairs_of(choices: Any) -> list[tuple[str, str | None]]:
    """Choices as they came, checked for what they are made of."""
    if not isinstance(choices, list):
        raise InputError("choices are a list of options with their values.")
    pairs = []
    for one in choices:
        if not (isinstance(one, list) and len(one) == 2 and isinstance(one[0], str)):
            raise InputError("a choice is an option with its value.")
        value = one[1]
        if not (value is None or isinstance(value, str)) or "\x00" in (value or ""):
            raise InputError(f"the value of {quoted(one[0])} must be a text.")
        pairs.append((one[0], value))
    return pairs


def groups_of(choices: Any) -> dict[type, Any]:
    """The groups of options of ``report`` with what was chosen, as Typer would make them of the arguments."""
    known = declared(OF_REPORT)
    values: dict[type, dict[str, Any]] = {group: {} for group in OF_REPORT}
    for option, value in pairs_of(choices):
        one = known[option]
        mine = values[one.group]
        if value is None:
            mine[one.field] = option == one.yes
        elif one.many:
            mine.setdefault(one.field, []).append(value)
        else:
            mine[one.field] = one.value(value)
    return {group: group(**mine) for group, mine in values.items()}


def as_arguments(table: str, choices: Any, command: str, *, more: Sequence[str] = ()) -> list[str]:
    """A whole command; a table whose name begins with a dash is no option."""
    file = f"./{table}" if table.startswith("-") else table
    of_command = OF_LOOK if command == "look" else OF_REPORT
    return [command, file, *arguments_of(choices, of_command), *more]


# What the columns of an outcome are called by fit and report; the target is y.
ARGUMENTS = {
    "--time": "time",
    "--event": "event",
    "--start": "start",
    "--strata": "strata",
    "--exposure": "exposure",
}


def script_of(table: Path, choices: Any) -> str:
    """Return a script that reads the table, fits the same model, and writes the same page.

    Names and labels are data: they are written as Python's own literals, and cannot be code.
    """
    from ..inputs.from_file import read_labelled_cohort

    arguments_of(choices, OF_REPORT)
    groups = groups_of(choices)
    options, outcome, how = groups[TableOptions], groups[OutcomeOptions], groups[ModelOptions]
    known = groups[KnowledgeOptions]
    file = options.table_at(table)
    names = column_names(file)
    roles = known.with_roles(roles_of(options, outcome, known), file)
    patients, chosen = read_labelled_cohort(file, roles)
    settings = {
        **options.settings(),
        **how.settings(),
        "knowledge": roles.knowledge,
        "log": patients.logged(),
    }
    model = estimator_of(chosen, {**settings, "log": patients.logged()})
    name = type(model).__name__
    labels = None
    if chosen.kind in ("binary", "matched"):
        labels = _Labels.of(file, roles, patients, chosen.parameters["positive"])
        model.set_params(positive=labels.positive)
    rows = [*_rows(roles, patients, labels)]
    title = one_line(table.name).replace("\\", "/").replace('"', "'")
    lines = [
        f'"""Root causes of the patients of {title}."""',
        "",
        *_imports(bool(rows), groups[PageOptions].leaves_out(patients)),
        f"from rootcausal import {', '.join(sorted((name, 'read_table')))}",
        "",
        f"table = read_table({', '.join(_reading(table, options))})",
        *rows,
        f"X = {_variables(names, patients)}",
        "",
        f"model = {name}({', '.join(_settings(model))})",
        f"model.fit(X, {', '.join(_given(roles, patients))})",
        *([f"model.bootstrap(n={how.bootstrap})"] if how.bootstrap else []),
        *_page(roles, patients, chosen, groups[PageOptions]),
        "model.save('model.rci')",
    ]
    return "\n".join(lines) + "\n"


def _imports(filters: bool, takes: bool) -> Iterator[str]:
    if takes:
        yield "import numpy as np"
    if filters:
        yield "import pyarrow as pa"
        yield "import pyarrow.compute as pc"
    if takes or filters:
        yield ""


def _reading(table: Path, options: TableOptions) -> Iterator[str]:
    yield repr(table.name)
    if options.na:
        yield f"na={options.na!r}"
    if options.no_header is not None:
        yield f"header={not options.no_header}"
    if options.sheet is not None:
        yield f"sheet={options.sheet!r}"
    if options.names is not None:
        yield f"names={list(options.table_at(table).names or ())!r}"
    if options.sql is not None:
        yield f"sql={options.sql!r}"
    if options.id_column is not None:
        yield f"id_column={options.id_column!r}"


def _rows(roles: Roles, patients: Patients, labels: _Labels | None) -> Iterator[str]:
    """What leaves out the rows that are left out when a file is read."""
    if patients.n_removed or any("without an outcome" in note for note in patients.notes):
        for _, column in roles.outcome.named:
            yield f"table = table.filter(pc.is_valid(table[{column!r}]))  # of these the outcome is known"
    if labels is not None and labels.some_left_out:
        yield f"table = table.filter(pc.is_in(table[{labels.column!r}], pa.array({labels.kept!r})))"


@dataclass(frozen=True)
class _Labels:
    """The labels of a diagnosis as the table has them: those that are kept, and which mean the disease."""

    column: str
    kept: list[Any]
    disease: list[Any]
    some_left_out: bool

    @classmethod
    def of(cls, table: TableFile, roles: Roles, patients: Patients, positive: Any) -> _Labels:
        column = roles.outcome.of_labels
        assert column is not None and patients.target is not None
        cells = read_columns(table, [column], None, roles.na)[column]
        used = cells.take(patients.row_numbers - 1).to_pylist()
        named = "--event" if roles.outcome.named[0][0] == "--time" else "--target"
        told = roles.outcome.values_of(named, patients.target)
        disease = [label for label, one in zip(used, told.tolist(), strict=True) if one == positive]
        kept = list(dict.fromkeys(used))
        all_of_them = {label for label in cells.unique().to_pylist() if label is not None}
        return cls(column, kept, list(dict.fromkeys(disease)), all_of_them != set(kept))

    @property
    def positive(self) -> Any:
        return self.disease[0] if len(self.disease) == 1 else self.disease


def _variables(names: list[str], patients: Patients) -> str:
    """The columns that are variables, said in the shorter way."""
    kept = patients.X.column_names
    dropped = [name for name in names if name not in set(kept)]
    if len(dropped) <= len(kept):
        return f"table.drop_columns({dropped!r})"
    return f"table.select({kept!r})"


def _settings(model: Fitted) -> Iterator[str]:
    """The parameters that are not the default."""
    usual = type(model)().get_params()
    for name, value in model.get_params().items():
        if value != usual[name] and name != "progress":
            if name == "knowledge":
                value = {field: some for field, some in value.items() if some}
            yield f"{name}={plain(value)!r}"


def _given(roles: Roles, patients: Patients) -> Iterator[str]:
    yield from _outcome(roles)
    if patients.groups is not None:
        yield f"groups=table[{roles.id_column!r}]"
    if roles.weights is not None:
        yield f"weights=table[{roles.weights!r}]"


def _outcome(roles: Roles, rows: str = "") -> Iterator[str]:
    for option, column in roles.outcome.named:
        yield f"{ARGUMENTS.get(option, 'y')}=table[{column!r}]{rows}"


def _page(roles: Roles, patients: Patients, chosen: ChosenOutcome, page: PageOptions) -> Iterator[str]:
    """What writes it, of all patients or of some."""
    X, some = "X", ""
    if page.leaves_out(patients):
        weights = [] if roles.weights is None else [f"weights=table[{roles.weights!r}]"]
        yield f"model.diagnose(X, {', '.join([*_outcome(roles), *weights])})"
        yield f"shown = np.linspace(0, len(X) - 1, {page.patients}).astype(int)"
        X, some = "X.take(shown)", ".take(shown)"
    asked = [*_outcome(roles, some)]
    if roles.id_column is not None:
        asked.append(f"ids=table[{roles.id_column!r}]{some}")
    if roles.weights is not None:
        asked.append(f"weights=table[{roles.weights!r}]{some}")
    asked.append(f"target={chosen.called!r}")
    if page.redact_ids:
        asked.append("redact_ids=True")
    if chosen.unit:
        from ..outcomes import OUTCOMES

        named = OUTCOMES[chosen.kind].unit_name(chosen.called)
        if named:
            asked.append(f"units={ {named: chosen.unit}!r}")
    yield f"model.report({X}, 'report.html', {', '.join(asked)})"
