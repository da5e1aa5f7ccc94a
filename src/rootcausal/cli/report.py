"""``rootcausal report``: a page about patients, from a cohort or from a saved model."""

import sys
import warnings
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

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
    say_weights,
    say_what_was_found,
    split_in_halves,
    status_if_slow,
    warn_of_limits,
    words_of_model,
)
from .knowing import KnowledgeOptions
from .models import (
    call_by_dictionary,
    call_variables,
    columns_of,
    known_to,
    labels_of,
    learn,
    load_model,
    outcome_of,
    say_sheet,
)
from .options import (
    Labels,
    ModelOptions,
    OutcomeOptions,
    PageOptions,
    TableOptions,
    check_output,
    model_path,
    of_model,
    page_path,
    roles_of,
    with_options,
)

if TYPE_CHECKING:
    from ..estimators.loading import Fitted
    from ..inputs.outcomes import OutcomeColumns
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
    "strata",
    "exposure",
    "start",
    "time",
    "event",
    "horizon",
    "id_column",
    "drop_missing",
    "na",
    "no_header",
    "sheet",
    "names",
    "sql",
    "redcap",
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
    save_model: Annotated[
        Path | None,
        typer.Option(callback=model_path, metavar="FILE", help="Also write the model that is fitted, .rci."),
    ] = None,
    shown_as: PageOptions,
    out: Annotated[
        Path, typer.Option("--out", "-o", callback=page_path, metavar="FILE", help="Page to write, .html.")
    ] = Path("report.html"),
) -> None:
    """Write a page about each patient: one file that opens in a browser, offline.

    Either say what happened to the patients, with --target or with --time and
    --event, and a model is fitted on the table; or give a model with --model, and
    the page is about new patients. The model brings what it takes to say where
    their values lie in its cohort; where --target, or --time and --event, say what
    happened to them, the page tells how well the model foresaw it.

    rootcausal report cohort.csv --target died --id patient
    rootcausal report c.csv --time futime --event died --horizon 5 --out c.html
    rootcausal report new.csv --model model.rci --id patient --out new.html
    rootcausal report new.csv --model model.rci --target died --out new.html
    rootcausal report cohort.csv --target died --save-model model.rci
    rootcausal report cohort.csv --target died --bootstrap 200
    rootcausal report cohort.csv --target died --redact-ids
    rootcausal report study.csv --target case --prevalence 0.02 --out study.html
    rootcausal report cohort.csv --target died --first age,sex
    """
    if not outcome.given and model_file is None:
        raise typer.BadParameter(
            "give --target, or --time and --event, to fit a model on this table; or --model."
        )
    if how.jobs is not None and how.bootstrap is None:
        raise typer.BadParameter("needs --bootstrap N.", param_hint="--jobs")
    check_output(out, cohort, *([model_file] if model_file else []))
    if save_model is not None:
        if model_file is not None:
            raise typer.BadParameter("is for a model that is fitted here.", param_hint="--save-model")
        check_output(save_model, cohort)
    namings = labels_of(labels)
    file = table.table_at(cohort)
    if model_file is not None:
        _refuse_what_is_for_fitting(ctx)
        model = load_model(model_file, outcome.horizon)
        of_outcome = outcome_of(model, model_file, outcome)
        patients, happened = _read_new(file, model, table, of_outcome)
        if shown_as.leaves_out(patients):
            patients = _some(patients, shown_as.patients)
            happened = known_to(model, patients, of_outcome)
        called = model.provenance_.get("reading", {}).get("called")
        call_variables(model, namings)
    else:
        roles = roles_of(table, outcome, known)
        settings = {**table.settings(), **how.settings(), "backend": how.backend}
        model, patients, chosen = learn(file, roles, known, settings)
        if how.bootstrap is not None:
            model.bootstrap(how.bootstrap, n_jobs=how.jobs, progress=sys.stderr.isatty())
        if how.halves:
            split_in_halves(model)
        say_mechanism(model)
        say_weights(model)
        say_names(model, known.knowledge)
        happened, called = chosen.known(patients.target), chosen.called
        if shown_as.leaves_out(patients):
            # The model keeps what is found in all of its patients, and the page says that too.
            model._diagnose(patients.X, happened, None, patients.weights)
            patients = _some(patients, shown_as.patients)
            happened = chosen.known(patients.target)
        call_by_dictionary(model, table.dictionary())
        call_variables(model, namings, outcome.target, outcome.time, outcome.event, table.id_column)
    if called is not None:
        called = model.provenance_.get("labels", {}).get(called, {}).get("label") or called
    horizon = outcome.horizon if model_file is not None else None
    _write(model, patients, out, happened, called, shown_as.redact_ids, horizon, fitted=model_file is None)
    if save_model is not None:
        model.save(save_model)
        say(f"model written to {shown(save_model)}")
    used = {} if model_file is None else {"model": quoted(model_file.name)}
    say(provenance("report", {**used, **made_with(model)}))


def _some(patients: "Patients", most: int | None) -> "Patients":
    """So many patients, spread evenly over the table."""
    import numpy as np

    assert most is not None
    n_rows = patients.row_numbers.size
    rows = np.linspace(0, n_rows - 1, most).astype(np.intp)
    ids = patients.ids
    note = f"the page shows {plural(most, 'row')} of {n_rows:,}, spread evenly over the table"
    return replace(
        patients,
        X=patients.X.take(rows),
        target=None if patients.target is None else patients.target[rows],
        ids=None if ids is None else [ids[row] for row in rows],
        row_numbers=patients.row_numbers[rows],
        weights=None if patients.weights is None else patients.weights[rows],
        notes=(*patients.notes, note),
    )


def _write(
    model: "Fitted",
    patients: "Patients",
    out: Path,
    happened: Any,
    called: str | None,
    redact_ids: bool,
    horizon: float | None,
    *,
    fitted: bool,
) -> None:
    """Write the page, and say what the checks found."""
    from ..outcomes import OUTCOMES
    from ..report import write_report

    words = words_of_model(model, horizon)
    named = OUTCOMES[words.kind].unit_name(called)
    notes = [removed(patients.n_removed, patients.X.num_rows)] if patients.n_removed else []
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
            notes=[*patients.notes, *notes],
            redact_ids=redact_ids,
            groups=patients.groups,
            horizon=horizon,
            weights=patients.weights,
        )
    for line in words.populations:
        say(line)
    say_what_was_found(diagnosis)
    warn_of_limits(diagnosis, "the page", model if fitted else None)
    of_what = "patient" if patients.groups is None else "row"
    say(f"page about {plural(patients.X.num_rows, of_what)} written to {shown(out)}: open it in a browser")


def _refuse_what_is_for_fitting(ctx: typer.Context) -> None:
    for name in FIT_ONLY:
        source = ctx.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise typer.BadParameter(f"{option} is for fitting; --model brings a model that is fitted.")


def _read_new(
    file: TableFile, model: "Fitted", table: TableOptions, outcome: "OutcomeColumns | None"
) -> "tuple[Patients, Any]":
    """The patients of a table, and what happened to them where that is named."""
    from ..inputs.from_file import read_new_patients

    with status_if_slow(f"reading {quoted(file)}"):
        patients = read_new_patients(
            file,
            outcome=outcome,
            **columns_of(model, table.na),
            id_column=table.id_column,
            drop_missing=table.drop_missing,
        )
    say_sheet(file)
    for note in patients.notes:
        say(note)
    say_removed(patients.n_removed, patients.row_numbers.size)
    return patients, known_to(model, patients, outcome)
