"""What options of ``rootcausal report`` do, as a Python script."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files.tables import column_names
from ..wording import one_line, plain
from .choices import OF_REPORT, arguments_of, groups_of
from .knowing import KnowledgeOptions
from .models import estimator_of
from .options import ModelOptions, OutcomeOptions, TableOptions, roles_of

if TYPE_CHECKING:
    from ..estimators.loading import Fitted
    from ..inputs.outcomes import ChosenOutcome
    from ..inputs.patients import Patients
    from ..inputs.roles import Roles

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
    rows = [*_rows(roles, patients, chosen)]
    title = one_line(table.name).replace("\\", "/").replace('"', "'")
    lines = [
        f'"""Root causes of the patients of {title}."""',
        "",
        *(["import pyarrow as pa", "import pyarrow.compute as pc", ""] if rows else []),
        f"from rootcausal import {', '.join(sorted((name, 'read_table')))}",
        "",
        f"table = read_table({', '.join(_reading(table, options))})",
        *rows,
        f"X = {_variables(names, patients)}",
        "",
        f"model = {name}({', '.join(_settings(model))})",
        f"model.fit(X, {', '.join(_given(roles, patients))})",
        *([f"model.bootstrap(n={how.bootstrap})"] if how.bootstrap else []),
        f"model.report(X, 'report.html', {', '.join(_of_page(roles, patients, chosen))})",
        "model.save('model.rci')",
    ]
    return "\n".join(lines) + "\n"


def _reading(table: Path, options: TableOptions) -> Iterator[str]:
    yield repr(table.name)
    if options.na:
        yield f"na={options.na!r}"
    if options.no_header is not None:
        yield f"header={not options.no_header}"
    if options.sheet is not None:
        yield f"sheet={options.sheet!r}"
    if options.id_column is not None:
        yield f"id_column={options.id_column!r}"


def _rows(roles: "Roles", patients: "Patients", chosen: "ChosenOutcome") -> Iterator[str]:
    """What leaves out the rows that are left out when a file is read."""
    negative = patients.reading.get("negative")
    if patients.n_removed or any("without an outcome" in note for note in patients.notes):
        for _, column in roles.outcome.named:
            yield f"table = table.filter(pc.is_valid(table[{column!r}]))  # of these the outcome is known"
    if negative is not None:
        labels = roles.outcome.of_labels
        both = [plain(label) for label in dict.fromkeys(patients.target.tolist())]  # type: ignore[union-attr]
        yield f"table = table.filter(pc.is_in(table[{labels!r}], pa.array({both!r})))"


def _variables(names: list[str], patients: "Patients") -> str:
    """The columns that are variables, said in the shorter way."""
    kept = patients.X.column_names
    dropped = [name for name in names if name not in set(kept)]
    if len(dropped) <= len(kept):
        return f"table.drop_columns({dropped!r})"
    return f"table.select({kept!r})"


def _settings(model: "Fitted") -> Iterator[str]:
    """The parameters that are not the default."""
    usual = type(model)().get_params()
    for name, value in model.get_params().items():
        if value != usual[name] and name != "progress":
            if name == "knowledge":
                value = {field: some for field, some in value.items() if some}
            yield f"{name}={plain(value)!r}"


def _given(roles: "Roles", patients: "Patients", *, of_page: bool = False) -> Iterator[str]:
    for option, column in roles.outcome.named:
        yield f"{ARGUMENTS.get(option, 'y')}=table[{column!r}]"
    if patients.groups is not None and not of_page:
        yield f"groups=table[{roles.id_column!r}]"


def _of_page(roles: "Roles", patients: "Patients", chosen: "ChosenOutcome") -> Iterator[str]:
    yield from _given(roles, patients, of_page=True)
    if roles.id_column is not None:
        yield f"ids=table[{roles.id_column!r}]"
    yield f"target={chosen.called!r}"
    if chosen.unit:
        from ..outcomes import OUTCOMES

        named = OUTCOMES[chosen.kind].unit_name(chosen.called)
        if named:
            yield f"units={ {named: chosen.unit}!r}"
