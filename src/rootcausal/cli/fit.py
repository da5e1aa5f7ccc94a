"""``rootcausal fit``: a cohort in, a model file out."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..files.table_file import TableFile
from ..wording import shown
from .arrow_lines import say_arrows
from .cluster_fit import fit_on_cluster
from .console import made_with, provenance, say, say_filled_in, say_mechanism, say_names, say_order, say_sets
from .findings import warn_of_limits
from .knowing import Causes, Covariate, First, KnowledgeFile, Known, NotCauses, Tiers
from .options import (
    MODEL,
    After,
    Alpha,
    AttributionName,
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
    fitted,
    labels_of,
    read_labelled,
    roles_of,
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
    from ..diagnostics import Diagnosis
    from ..inputs.roles import Roles
    from ..loading import Fitted


def _model_path(path: Path) -> Path:
    # The ending keeps a slip of the hand from replacing a table by a model.
    if path.suffix.lower() != ".rci":
        raise typer.BadParameter("the name of a model file ends in .rci, for example model.rci.")
    return path


def fit(
    cohort: Annotated[
        list[Path],
        typer.Argument(
            help="Table with one row per patient: text, Parquet, Excel, Stata or SAS; on Dask, Parquet files."
        ),
    ],
    out: Annotated[
        Path, typer.Option(callback=_model_path, metavar="FILE", help="Model file to write, .rci.")
    ],
    target: TargetColumn = None,
    outcome: OutcomeKind = None,
    time: TimeColumn = None,
    event: EventColumn = None,
    positive: Positive = None,
    negative: Negative = None,
    horizon: Horizon = None,
    time_unit: TimeUnit = None,
    unit: Unit = None,
    id_column: IdColumn = None,
    drop: Drop = None,
    after: After = None,
    keep: Keep = None,
    na: MissingWords = None,
    drop_missing: DropMissing = False,
    max_missing: MaxMissing = None,
    no_header: Header = None,
    sheet: Sheet = None,
    kind: Kinds = None,
    log: Log = None,
    missing: Missing = "impute",
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
    backend: Annotated[
        Literal["auto", "numpy", "numba", "cupy", "dask"],
        typer.Option(metavar="auto|numpy|numba|cupy|dask", rich_help_panel=MODEL, help="What does the sums."),
    ] = "auto",
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            rich_help_panel=MODEL,
            help="Fit on the Dask cluster of this scheduler, tcp://host:port.",
        ),
    ] = None,
    attribution: AttributionName = "sharp",
    mechanism: MechanismName = "linear",
    confounding: Confounding = None,
    bootstrap: Resamples = None,
    jobs: Jobs = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=MODEL,
            help="Keep finished resamples in this .npz file, and go on from it.",
        ),
    ] = None,
) -> None:
    """Learn from a cohort which variables' shocks lead to the outcome, and write a model.

    The outcome is a diagnosis (--target), the time to an event (--time and
    --event), or a number (--target with --outcome number). Every other column
    is a variable, except the ids, and what --drop and --after leave out. A
    patient may have several rows, which --id tells; the bootstrap then
    resamples patients. What is known of the causal order (--first, --tiers,
    --causes, --not-causes, --covariate) is kept to.

    rootcausal fit cohort.csv --target died --out model.rci
    rootcausal fit cohort.csv --target died --id patient --out model.rci
    rootcausal fit cohort.csv --time futime --event died --out model.rci
    rootcausal fit pbc.csv --time time --event status --positive 2 --out m.rci
    rootcausal fit c.csv --time years --event died --horizon 5 --out m.rci
    rootcausal fit labs.csv --target egfr --outcome number --out model.rci
    rootcausal fit labs.parquet --target state --positive ill --out m.rci
    rootcausal fit labs.csv --target ill --drop ward --drop-missing --out m.rci
    rootcausal fit labs.csv --target died --after futime,relapse --out m.rci
    rootcausal fit labs.csv --target ill --kind stage=ordinal --out m.rci
    rootcausal fit labs.csv --target ill --log bili,copper --out m.rci
    rootcausal fit lab.xlsx --target stage --positive 3 --negative 0 --out m.rci
    rootcausal fit lab.csv --target ill --keep age,bili --na "<100" --out m.rci
    rootcausal fit cohort.csv --target died --bootstrap 200 --out model.rci
    rootcausal fit study.csv --target case --prevalence 0.02 --out model.rci
    rootcausal fit labs.csv --target ill --mechanism auto --out model.rci
    rootcausal fit labs.csv --target ill --first age,sex --out m.rci
    rootcausal fit labs.csv --target ill --tiers 'bmi < bili,alb' --out m.rci
    rootcausal fit labs.csv --target ill --knowledge known.json --out m.rci
    rootcausal fit labs.csv --target ill --confounding merge --out m.rci
    rootcausal fit *.parquet --target ill --scheduler tcp://host:8786 --out m.rci
    """
    from .outcome_lines import lines_of

    on_cluster = scheduler is not None or backend == "dask"
    _check_bootstrap(bootstrap, jobs, resume, [*cohort, out], on_cluster)
    check_output(out, *cohort)
    columns = outcome_of(
        target, outcome, time, event, positive, negative, prevalence, horizon, time_unit, unit
    )
    known, namings = Known.of(first, tiers, causes, not_causes, covariate, knowledge), labels_of(labels)
    kinds = chosen_kinds(kind)
    roles = roles_of(
        columns, id_column, drop, keep, na, drop_missing, kinds, log, missing, after, max_missing
    )
    settings = {
        "alpha": alpha,
        "variant": variant,
        "attribution": attribution,
        "kinds": kinds,
        "missing": missing,
        "confounding": confounding,
    }
    if on_cluster:
        if mechanism != "linear":
            raise typer.BadParameter("bent lines need the rows in memory.", param_hint="--mechanism")
        if confounding is not None:
            raise typer.BadParameter("--confounding needs the table in memory, not on a cluster.")
        if backend not in ("auto", "dask"):
            raise typer.BadParameter(f"a cluster does not sum by --backend {backend}.")
        if na or negative is not None or max_missing is not None:
            raise typer.BadParameter(
                "--na, --negative and --max-missing need the table in memory, not on a cluster."
            )
        if no_header is not None or sheet is not None:
            raise typer.BadParameter(
                "Parquet files have names, and no sheets: leave --sheet and the like out."
            )
        model, checked = fit_on_cluster(cohort, roles, scheduler, settings, known), None
    elif len(cohort) > 1:
        raise typer.BadParameter("many files make one table only with --backend dask or --scheduler.")
    else:
        table = table_at(cohort[0], no_header, sheet)
        model, checked = _fit_in_memory(
            table, roles, {**settings, "backend": backend, "mechanism": mechanism}, known
        )
    if bootstrap is not None:
        model.bootstrap(bootstrap, n_jobs=jobs, progress=sys.stderr.isatty(), resume=resume)
    call_variables(model, namings, target, time, event, id_column)
    diagnosis = None if checked is None else checked()  # the model keeps what it says
    model.save(out)
    lines = lines_of(model)
    say_mechanism(model)
    say_order(model, lines)
    say_names(model, knowledge)
    say_arrows(model, lines)
    say_filled_in(model)
    say_sets(model)
    for line in lines.populations():
        say(line)
    say(f"model written to {shown(out)}")
    if diagnosis is not None:
        warn_of_limits(diagnosis, "rootcausal check", model)
    say(provenance("fit", made_with(model)))


def _fit_in_memory(
    cohort: TableFile, roles: "Roles", settings: dict[str, Any], known: Known
) -> "tuple[Fitted, Callable[[], Diagnosis]]":
    """Return the model, and what checks it on the rows of the fit."""
    roles = known.with_roles(roles, cohort)
    patients, outcome = read_labelled(cohort, roles)
    model = fitted(patients, outcome, {**settings, "knowledge": roles.knowledge})
    return model, lambda: model._diagnose(patients.X, outcome.known(patients.target), None)


def _check_bootstrap(
    bootstrap: int | None, jobs: int | None, resume: Path | None, others: list[Path], on_cluster: bool
) -> None:
    for option, value in (("--jobs", jobs), ("--resume", resume)):
        if bootstrap is None and value is not None:
            raise typer.BadParameter(f"{option} needs --bootstrap N.", param_hint=option)
    if bootstrap is not None and on_cluster:
        raise typer.BadParameter(
            "resamples need the rows in memory, not on a cluster.", param_hint="--bootstrap"
        )
    if jobs == 0:
        raise typer.BadParameter("must be at least 1, or -1 for one a core.", param_hint="--jobs")
    if resume is not None:
        if resume.suffix.lower() != ".npz":
            raise typer.BadParameter("the name of this file ends in .npz.", param_hint="--resume")
        check_output(resume, *others)
