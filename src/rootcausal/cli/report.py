"""``rootcausal report``: a page about patients, from a cohort or from a saved model."""

import sys
import warnings
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..files.header import TableFile
from ..wording import plural, quoted, shown
from .console import (
    made_with,
    patient_labels,
    provenance,
    removed,
    say,
    say_mechanism,
    say_names,
    say_removed,
    say_what_was_found,
    status_if_slow,
    warn_of_limits,
    words_of_model,
)
from .knowing import KnowledgeOptions
from .models import call_variables, columns_of, labels_of, learn, load_model, say_sheet
from .options import (
    Labels,
    ModelOptions,
    OutcomeOptions,
    TableOptions,
    check_output,
    of_model,
    page_path,
    roles_of,
    with_options,
)

if TYPE_CHECKING:
    from ..estimators.loading import Fitted
    from ..inputs.patients import Patients


@dataclass(frozen=True)
class ReportOptions(ModelOptions):
    """How a model is learned, and where."""

    backend: Annotated[
        Literal["auto", "numpy", "numba", "cupy"],
        of_model(metavar="auto|numpy|numba|cupy", help="Compute backend."),
    ] = "auto"


# What also a model that is fitted leaves open.
OF_NEW_PATIENTS = (
    "target",
    "time",
    "event",
    "horizon",
    "id_column",
    "drop_missing",
    "na",
    "no_header",
    "sheet",
)
FIT_ONLY = [
    one.name
    for group in (TableOptions, OutcomeOptions, KnowledgeOptions, ReportOptions)
    for one in fields(group)
    if one.name not in OF_NEW_PATIENTS
]


@with_options
def report(
    *,
    ctx: typer.Context,
    cohort: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE", help="Table with one row per patient: text, Parquet, Excel, Stata or SAS."
        ),
    ],
    table: TableOptions,
    labels: Labels = None,
    outcome: OutcomeOptions,
    known: KnowledgeOptions,
    how: ReportOptions,
    model_file: Annotated[
        Path | None,
        typer.Option("--model", metavar="FILE", help="Use this model, written by rootcausal fit."),
    ] = None,
    redact_ids: Annotated[
        bool, typer.Option("--redact-ids", help="Put the numbers 1, 2, 3 and so on in place of the ids.")
    ] = False,
    out: Annotated[Path, typer.Option(callback=page_path, metavar="FILE", help="Page to write, .html.")],
) -> None:
    """Write a page about each patient: one file that opens in a browser, offline.

    Either say what happened to the patients, with --target or with --time and
    --event, and a model is fitted on the table; or give a model with --model, and
    the page is about new patients. The model brings what it takes to say where
    their values lie in its cohort.

    rootcausal report cohort.csv --target died --id patient --out report.html
    rootcausal report c.csv --time futime --event died --horizon 5 --out c.html
    rootcausal report new.csv --model model.rci --id patient --out new.html
    rootcausal report cohort.csv --target died --bootstrap 200 --out report.html
    rootcausal report cohort.csv --target died --redact-ids --out report.html
    rootcausal report study.csv --target case --prevalence 0.02 --out study.html
    rootcausal report cohort.csv --target died --first age,sex --out report.html
    """
    if outcome.given == (model_file is not None):
        raise typer.BadParameter(
            "give either --target, or --time and --event, to fit a model on this table, or --model."
        )
    if how.jobs is not None and how.bootstrap is None:
        raise typer.BadParameter("--jobs needs --bootstrap N.", param_hint="--jobs")
    check_output(out, cohort, *([model_file] if model_file else []))
    namings, happened = labels_of(labels), None
    file = table.table_at(cohort)
    if model_file is not None:
        _refuse_what_is_for_fitting(ctx)
        model = load_model(model_file, outcome.horizon)
        patients = _read_new(file, model, table)
        called = model.provenance_.get("reading", {}).get("called")
        call_variables(model, namings)
    else:
        roles = roles_of(table, outcome, known)
        settings = {**table.settings(), **how.settings(), "backend": how.backend}
        model, patients, chosen = learn(file, roles, known, settings)
        if how.bootstrap is not None:
            model.bootstrap(how.bootstrap, n_jobs=how.jobs, progress=sys.stderr.isatty())
        say_mechanism(model)
        say_names(model, known.knowledge)
        happened, called = chosen.known(patients.target), chosen.called
        call_variables(model, namings, outcome.target, outcome.time, outcome.event, table.id_column)
    if called is not None:
        called = model.provenance_.get("labels", {}).get(called, {}).get("label") or called
    from ..outcomes import OUTCOMES
    from ..report import write_report

    words = words_of_model(model, outcome.horizon)
    named = OUTCOMES[words.kind].unit_name(called)
    with status_if_slow(f"writing {quoted(out)}"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no patient has", UserWarning)  # said when the file was read
        diagnosis = write_report(
            model,
            patients.X,
            out,
            known=happened,
            ids=patient_labels(patients),
            units={named: words.unit} if named and words.unit else {},
            target=called,
            notes=[
                *patients.notes,
                *([removed(patients.n_removed, patients.X.num_rows)] if patients.n_removed else []),
            ],
            redact_ids=redact_ids,
            groups=patients.groups,
            horizon=outcome.horizon if model_file is not None else None,
        )
    for line in words.populations:
        say(line)
    say_what_was_found(diagnosis)
    warn_of_limits(diagnosis, "the page", model if model_file is None else None)
    of_what = "patient" if patients.groups is None else "row"
    say(f"page about {plural(patients.X.num_rows, of_what)} written to {shown(out)}: open it in a browser")
    used = {} if model_file is None else {"model": quoted(model_file.name)}
    say(provenance("report", {**used, **made_with(model)}))


def _refuse_what_is_for_fitting(ctx: typer.Context) -> None:
    for name in FIT_ONLY:
        source = ctx.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise typer.BadParameter(f"{option} is for fitting; --model brings a model that is fitted.")


def _read_new(file: TableFile, model: "Fitted", table: TableOptions) -> "Patients":
    from ..inputs.from_file import read_new_patients

    with status_if_slow(f"reading {quoted(file)}"):
        patients = read_new_patients(
            file, **columns_of(model, table.na), id_column=table.id_column, drop_missing=table.drop_missing
        )
    say_sheet(file)
    say_removed(patients.n_removed, patients.row_numbers.size)
    return patients
