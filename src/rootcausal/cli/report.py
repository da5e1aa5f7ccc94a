"""``rootcausal report``: a page about patients, from a cohort or from a saved model."""

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..files.table_file import TableFile
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
    status_if_slow,
)
from .findings import say_what_was_found, warn_of_limits
from .knowing import Causes, Covariate, First, KnowledgeFile, Known, NotCauses, Tiers
from .options import (
    After,
    Alpha,
    AttributionName,
    BackendName,
    CohortFile,
    Confounding,
    Drop,
    DropMissing,
    Header,
    IdColumn,
    Jobs,
    Keep,
    Kinds,
    Labels,
    Log,
    MaxMissing,
    MechanismName,
    Missing,
    MissingWords,
    Resamples,
    Sheet,
    VariantName,
    call_variables,
    check_output,
    chosen_kinds,
    columns_of,
    fitted,
    labels_of,
    load_model,
    page_path,
    read_labelled,
    roles_of,
    say_sheet,
    table_at,
)
from .outcome_options import (
    EventColumn,
    Horizon,
    Negative,
    OutcomeKind,
    Positive,
    Prevalence,
    TargetColumn,
    TimeColumn,
    TimeUnit,
    Unit,
    outcome_of,
)

if TYPE_CHECKING:
    from ..inputs.patients import Patients
    from ..loading import Fitted

FIT_ONLY = (
    "outcome",
    "time_unit",
    "unit",
    "positive",
    "negative",
    "drop",
    "after",
    "kind",
    "log",
    "missing",
    "max_missing",
    "keep",
    "first",
    "tiers",
    "causes",
    "not_causes",
    "covariate",
    "knowledge",
    "prevalence",
    "alpha",
    "variant",
    "backend",
    "attribution",
    "mechanism",
    "confounding",
    "bootstrap",
    "jobs",
)


def report(
    ctx: typer.Context,
    table: CohortFile,
    out: Annotated[Path, typer.Option(callback=page_path, metavar="FILE", help="Page to write, .html.")],
    target: TargetColumn = None,
    outcome: OutcomeKind = None,
    time: TimeColumn = None,
    event: EventColumn = None,
    model_file: Annotated[
        Path | None,
        typer.Option("--model", metavar="FILE", help="Use this model, written by rootcausal fit."),
    ] = None,
    horizon: Horizon = None,
    time_unit: TimeUnit = None,
    unit: Unit = None,
    id_column: IdColumn = None,
    redact_ids: Annotated[
        bool, typer.Option("--redact-ids", help="Put the numbers 1, 2, 3 and so on in place of the ids.")
    ] = False,
    na: MissingWords = None,
    drop_missing: DropMissing = False,
    max_missing: MaxMissing = None,
    no_header: Header = None,
    sheet: Sheet = None,
    kind: Kinds = None,
    log: Log = None,
    missing: Missing = "impute",
    positive: Positive = None,
    negative: Negative = None,
    drop: Drop = None,
    after: After = None,
    keep: Keep = None,
    first: First = None,
    tiers: Tiers = None,
    causes: Causes = None,
    not_causes: NotCauses = None,
    covariate: Covariate = None,
    knowledge: KnowledgeFile = None,
    prevalence: Prevalence = None,
    labels: Labels = None,
    alpha: Alpha = None,
    variant: VariantName = "local_plus",
    backend: BackendName = "auto",
    attribution: AttributionName = "sharp",
    mechanism: MechanismName = "linear",
    confounding: Confounding = None,
    bootstrap: Resamples = None,
    jobs: Jobs = None,
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
    given = target is not None or time is not None or event is not None
    if given == (model_file is not None):
        raise typer.BadParameter(
            "give either --target, or --time and --event, to fit a model on this table, or --model."
        )
    if jobs is not None and bootstrap is None:
        raise typer.BadParameter("--jobs needs --bootstrap N.", param_hint="--jobs")
    check_output(out, table, *([model_file] if model_file else []))
    namings, known = labels_of(labels), None
    file = table_at(table, no_header, sheet)
    if model_file is not None:
        for name in FIT_ONLY:
            source = ctx.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                option = f"--{name.replace('_', '-')}"
                raise typer.BadParameter(f"{option} is for fitting; --model brings a model that is fitted.")
        model = load_model(model_file, horizon)
        patients = _read_new(file, model, id_column, na, drop_missing)
        called = model.provenance_.get("reading", {}).get("called")
    else:
        columns = outcome_of(
            target, outcome, time, event, positive, negative, prevalence, horizon, time_unit, unit
        )
        given_order = Known.of(first, tiers, causes, not_causes, covariate, knowledge)
        kinds = chosen_kinds(kind)
        roles = roles_of(
            columns, id_column, drop, keep, na, drop_missing, kinds, log, missing, after, max_missing
        )
        roles = given_order.with_roles(roles, file)
        patients, chosen = read_labelled(file, roles)
        settings = {
            "alpha": alpha,
            "variant": variant,
            "attribution": attribution,
            "mechanism": mechanism,
            "backend": backend,
            "kinds": kinds,
            "missing": missing,
            "confounding": confounding,
            "knowledge": roles.knowledge,
        }
        model = fitted(patients, chosen, settings)
        if bootstrap is not None:
            model.bootstrap(bootstrap, n_jobs=jobs, progress=sys.stderr.isatty())
        say_mechanism(model)
        say_names(model, knowledge)
        known, called = chosen.known(patients.target), chosen.called
    call_variables(model, namings, *((target, time, event, id_column) if model_file is None else ()))
    if called is not None:
        called = model.provenance_.get("labels", {}).get(called, {}).get("label") or called
    from ..report import write_report
    from .outcome_lines import lines_of

    lines = lines_of(model, horizon)
    with status_if_slow(f"writing {quoted(out)}"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no patient has", UserWarning)  # said when the file was read
        diagnosis = write_report(
            model,
            patients.X,
            out,
            known=known,
            ids=patient_labels(patients),
            units=lines.units(called),
            target=called,
            notes=[
                *patients.notes,
                *([removed(patients.n_removed, patients.X.num_rows)] if patients.n_removed else []),
            ],
            redact_ids=redact_ids,
            groups=patients.groups,
            horizon=horizon if model_file is not None else None,
        )
    for line in lines.populations():
        say(line)
    say_what_was_found(diagnosis)
    warn_of_limits(diagnosis, "the page", model if model_file is None else None)
    of_what = "patient" if patients.groups is None else "row"
    say(f"page about {plural(patients.X.num_rows, of_what)} written to {shown(out)}: open it in a browser")
    used = {} if model_file is None else {"model": quoted(model_file.name)}
    say(provenance("report", {**used, **made_with(model)}))


def _read_new(
    table: TableFile, model: "Fitted", id_column: str | None, na: list[str] | None, drop_missing: bool
) -> "Patients":
    from ..inputs.from_file import read_new_patients

    with status_if_slow(f"reading {quoted(table)}"):
        patients = read_new_patients(
            table, **columns_of(model, na), id_column=id_column, drop_missing=drop_missing
        )
    say_sheet(table)
    say_removed(patients.n_removed, patients.row_numbers.size)
    return patients
