"""``rootcausal report``: a page about patients, from a cohort or from a saved model."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..wording import plural, quoted, shown
from .console import (
    made_with,
    patient_labels,
    provenance,
    removed,
    say,
    say_names,
    say_removed,
    status_if_slow,
)
from .findings import warn_of_limits
from .knowing import Causes, Covariate, First, KnowledgeFile, Known, NotCauses, Tiers
from .options import (
    After,
    Alpha,
    AttributionName,
    BackendName,
    CohortFile,
    Drop,
    DropMissing,
    IdColumn,
    Jobs,
    Keep,
    Kinds,
    Log,
    Missing,
    MissingWords,
    Negative,
    Positive,
    Prevalence,
    Resamples,
    VariantName,
    check_output,
    chosen_kinds,
    columns_of,
    load_model,
    page_path,
    read_labelled,
    roles_of,
)

if TYPE_CHECKING:
    from ..inputs.patients import Patients
    from ..rci import RCI

FIT_ONLY = (
    "positive",
    "negative",
    "drop",
    "after",
    "kind",
    "log",
    "missing",
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
    "bootstrap",
    "jobs",
)


def report(
    ctx: typer.Context,
    table: CohortFile,
    out: Annotated[Path, typer.Option(callback=page_path, help="Page to write, .html.")],
    target: Annotated[
        str | None, typer.Option(help="Column with the diagnosis: fit a model on this table first.")
    ] = None,
    model_file: Annotated[
        Path | None, typer.Option("--model", help="Use this model, written by rootcausal fit.")
    ] = None,
    id_column: IdColumn = None,
    redact_ids: Annotated[
        bool, typer.Option("--redact-ids", help="Put the numbers 1, 2, 3 and so on in place of the ids.")
    ] = False,
    na: MissingWords = None,
    drop_missing: DropMissing = False,
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
    alpha: Alpha = 0.2,
    variant: VariantName = "local_plus",
    backend: BackendName = "auto",
    attribution: AttributionName = "sharp",
    bootstrap: Resamples = None,
    jobs: Jobs = None,
) -> None:
    """Write a page about each patient: one file that opens in a browser, offline.

    Either give the diagnosis with --target, and a model is fitted on the table;
    or give a model with --model, and the page is about new patients. The model
    brings what it takes to say where their values lie in its cohort.

    rootcausal report cohort.csv --target died --id patient --out report.html
    rootcausal report new.csv --model model.rci --id patient --out new.html
    rootcausal report cohort.csv --target died --bootstrap 200 --out report.html
    rootcausal report cohort.csv --target died --redact-ids --out report.html
    rootcausal report study.csv --target case --prevalence 0.02 --out study.html
    rootcausal report cohort.csv --target died --first age,sex --out report.html
    """
    if (target is None) == (model_file is None):
        raise typer.BadParameter("give either --target, to fit a model on this table, or --model.")
    if jobs is not None and bootstrap is None:
        raise typer.BadParameter("--jobs needs --bootstrap N.", param_hint="--jobs")
    check_output(out, table, *([model_file] if model_file else []))
    if model_file is not None:
        for name in FIT_ONLY:
            source = ctx.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                option = f"--{name.replace('_', '-')}"
                raise typer.BadParameter(f"{option} is for fitting; --model brings a model that is fitted.")
        model = load_model(model_file)
        patients = _read_new(table, model, id_column, na, drop_missing)
    else:
        assert target is not None
        known = Known.of(first, tiers, causes, not_causes, covariate, knowledge)
        kinds = chosen_kinds(kind)
        roles = roles_of(
            target, positive, negative, id_column, drop, keep, na, drop_missing, kinds, log, missing, after
        )
        roles = known.with_roles(roles, table)
        patients, disease = read_labelled(table, roles, prevalence)
        settings = {
            "alpha": alpha,
            "variant": variant,
            "attribution": attribution,
            "backend": backend,
            "positive": disease.label,
            "prevalence": prevalence,
            "kinds": kinds,
            "transform": patients.transforms(),
            "missing": missing,
            "knowledge": roles.knowledge,
        }
        model = _fit(patients, settings, bootstrap, jobs)
        say_names(model, knowledge)
    from ..inputs.outcomes import Diagnosis
    from ..report import write_report

    with status_if_slow(f"writing {quoted(out)}"):
        diagnosis = write_report(
            model,
            patients.X,
            out,
            known=None if patients.target is None else Diagnosis(patients.target, model.positive),
            ids=patient_labels(patients),
            target=target,
            notes=[
                *patients.notes,
                *([removed(patients.n_removed, patients.X.num_rows)] if patients.n_removed else []),
            ],
            redact_ids=redact_ids,
            groups=patients.groups,
        )
    warn_of_limits(diagnosis, "the page")
    of_what = "patient" if patients.groups is None else "row"
    say(f"page about {plural(patients.X.num_rows, of_what)} written to {shown(out)}: open it in a browser")
    used = {} if model_file is None else {"model": quoted(model_file.name)}
    say(provenance("report", {**used, **made_with(model)}))


def _read_new(
    table: Path, model: "RCI", id_column: str | None, na: list[str] | None, drop_missing: bool
) -> "Patients":
    from ..inputs.from_file import read_new_patients

    with status_if_slow(f"reading {quoted(table)}"):
        patients = read_new_patients(
            table, **columns_of(model, na), id_column=id_column, drop_missing=drop_missing
        )
    say_removed(patients.n_removed, patients.row_numbers.size)
    return patients


def _fit(patients: "Patients", settings: dict[str, Any], bootstrap: int | None, jobs: int | None) -> "RCI":
    from ..rci import RCI

    progress = sys.stderr.isatty()
    model = RCI(**settings, progress=progress).fit(patients, patients.target)
    if bootstrap is not None:
        model.bootstrap(bootstrap, n_jobs=jobs, progress=progress)
    return model
