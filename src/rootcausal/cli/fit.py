"""``rootcausal fit``: a cohort in, a model file out."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import MissingExtraError
from ..files.tables import refuse_streams
from ..wording import listed, plural, short_names, shown
from .console import (
    kinds_lines,
    made_with,
    names_with_levels,
    provenance,
    say,
    say_cohort,
    say_filled_in,
    say_known,
    say_limits,
    say_mechanism,
    say_names,
    say_order,
    say_reliability,
    say_sets,
    say_weights,
    split_in_halves,
    status_if_slow,
    warn_of_limits,
    words_of_model,
)
from .knowing import KnowledgeOptions
from .models import call_by_dictionary, call_variables, estimator_of, labels_of, learn
from .options import (
    Labels,
    ModelOptions,
    OutcomeOptions,
    TableOptions,
    check_output,
    model_path,
    of_model,
    roles_of,
    with_options,
)

if TYPE_CHECKING:
    from ..diagnostics import Diagnosis
    from ..estimators.base import Estimator
    from ..estimators.loading import Fitted
    from ..explaining.graph import Arrow
    from ..inputs.roles import Roles
    from ..outcomes import Words

# Of each kind: into the outcome, and among the variables.
ARROWS_SHOWN = 6
EFFECTS_SHOWN = 6


@dataclass(frozen=True)
class FitOptions(ModelOptions):
    """How a model is learned, where, and which file keeps what is finished."""

    backend: Annotated[
        Literal["auto", "numpy", "numba", "cupy", "dask"],
        of_model(metavar="auto|numpy|numba|cupy|dask", help="Compute backend."),
    ] = "auto"
    scheduler: Annotated[
        str | None,
        of_model(metavar="ADDRESS", help="Fit on the Dask cluster of this scheduler, tcp://host:port."),
    ] = None
    resume: Annotated[
        Path | None,
        of_model(metavar="FILE", help="Keep finished resamples in this .npz file, and go on from it."),
    ] = None

    @property
    def on_cluster(self) -> bool:
        return self.scheduler is not None or self.backend == "dask"

    def check_bootstrap(self, others: list[Path]) -> None:
        """Refuse, before any work, what resamples cannot do, or a file for them that is one of the others."""
        for option, value in (("--jobs", self.jobs), ("--resume", self.resume)):
            if self.bootstrap is None and value is not None:
                raise typer.BadParameter(f"{option} needs --bootstrap N.", param_hint=option)
        if self.bootstrap is not None and self.on_cluster:
            raise typer.BadParameter(
                "resamples need the rows in memory, not on a cluster.", param_hint="--bootstrap"
            )
        if self.jobs == 0:
            raise typer.BadParameter("must be at least 1, or -1 for one a core.", param_hint="--jobs")
        if self.resume is not None:
            if self.resume.suffix.lower() != ".npz":
                raise typer.BadParameter("the name of this file ends in .npz.", param_hint="--resume")
            check_output(self.resume, *others)


@with_options
def fit(
    *,
    cohort: Annotated[
        list[Path],
        typer.Argument(
            help="Table with one row per patient: text, Parquet, Excel, Stata or SAS; on Dask, Parquet files."
        ),
    ],
    table: TableOptions,
    labels: Labels = None,
    outcome: OutcomeOptions,
    known: KnowledgeOptions,
    how: FitOptions,
    out: Annotated[
        Path, typer.Option("--out", "-o", callback=model_path, metavar="FILE", help="Model to write, .rci.")
    ] = Path("model.rci"),
) -> None:
    """Learn from a cohort which variables' shocks lead to the outcome, and write a model.

    The outcome is a diagnosis (--target), also of cases and controls in matched
    sets (--strata), the time to an event (--time and --event), or with --outcome
    stages in order, a number, or a count of events. Every other column is a
    variable, except the ids, and what --drop and --after leave out. A
    patient may have several rows, which --id tells; the bootstrap then
    resamples patients. What is known of the causal order (--first, --tiers,
    --causes, --not-causes, --covariate) is kept to.

    rootcausal fit cohort.csv --target died
    rootcausal fit cohort.csv --target died --id patient --out model.rci
    rootcausal fit cohort.csv --time futime --event died
    rootcausal fit pbc.csv --time time --event status --positive 2 --out m.rci
    rootcausal fit c.csv --time years --event died --horizon 5 --out m.rci
    rootcausal fit labs.csv --target egfr --outcome continuous --out model.rci
    rootcausal fit study.csv --target case --strata set --out model.rci
    rootcausal fit labs.csv --target stage --outcome ordinal --out model.rci
    rootcausal fit c.csv --target n --outcome count --exposure weeks --out m.rci
    rootcausal fit labs.parquet --target state --positive ill --out m.rci
    rootcausal fit labs.csv --target ill --drop ward --drop-missing --out m.rci
    rootcausal fit labs.csv --target died --after futime,relapse --out m.rci
    rootcausal fit labs.csv --target ill --kind stage=ordinal --out m.rci
    rootcausal fit labs.csv --target ill --log bili,copper --out m.rci
    rootcausal fit lab.xlsx --target stage --positive 3 --negative 0 --out m.rci
    rootcausal fit lab.csv --target ill --keep age,bili --na "<100" --out m.rci
    rootcausal fit cohort.csv --target died --bootstrap 200 --out model.rci
    rootcausal fit study.csv --target case --prevalence 0.02 --out model.rci
    rootcausal fit labs.csv --target ill --mechanism linear --out model.rci
    rootcausal fit labs.csv --target ill --first age,sex --out m.rci
    rootcausal fit labs.csv --target ill --tiers 'bmi < bili,alb' --out m.rci
    rootcausal fit labs.csv --target ill --knowledge known.json --out m.rci
    rootcausal fit labs.csv --target ill --confounding merge --out m.rci
    rootcausal fit *.parquet --target ill --scheduler tcp://host:8786 --out m.rci
    """
    how.check_bootstrap([*cohort, out])
    check_output(out, *cohort)
    roles = roles_of(table, outcome, known)
    namings = labels_of(labels)
    settings = {**table.settings(), **how.settings()}
    diagnosis: Diagnosis | None = None
    if how.on_cluster:
        _refuse_what_needs_memory(table, outcome, how)
        model = _fit_on_cluster(cohort, roles, how.scheduler, settings, known)
    elif len(cohort) > 1:
        raise typer.BadParameter("many files make one table only with --backend dask or --scheduler.")
    else:
        settings["backend"] = how.backend
        model, patients, chosen = learn(table.table_at(cohort[0]), roles, known, settings)
    if how.bootstrap is not None:
        model.bootstrap(how.bootstrap, n_jobs=how.jobs, progress=sys.stderr.isatty(), resume=how.resume)
    if how.halves:
        split_in_halves(model)
    call_by_dictionary(model, table.dictionary())
    call_variables(model, namings, outcome.target, outcome.time, outcome.event, table.id_column)
    if not how.on_cluster:  # the model keeps what it says
        happened = chosen.known(patients.target)
        diagnosis = model._diagnose(patients.X, happened, None, patients.weights)
    model.save(out)
    _say_model(model, known)
    say(f"model written to {shown(out)}")
    if diagnosis is not None:
        warn_of_limits(diagnosis, "rootcausal check", model)
    say(provenance("fit", made_with(model)))


def _refuse_what_needs_memory(table: TableOptions, outcome: OutcomeOptions, how: FitOptions) -> None:
    """Refuse what a cluster does not do."""
    if how.mechanism == "nonlinear":
        raise typer.BadParameter("nonlinear equations need the rows in memory.", param_hint="--mechanism")
    if how.halves:
        raise typer.BadParameter("halves need the rows in memory, not on a cluster.", param_hint="--halves")
    if how.confounding is not None:
        raise typer.BadParameter("--confounding needs the table in memory, not on a cluster.")
    if how.backend not in ("auto", "dask"):
        raise typer.BadParameter(f"a cluster does not sum by --backend {how.backend}.")
    if outcome.strata is not None:
        raise typer.BadParameter(
            "sets and strata may span parts of a cluster: fit a sample of whole ones in memory.",
            param_hint="--strata",
        )
    if outcome.start is not None or outcome.competing:
        raise typer.BadParameter("--start and --competing need the table in memory, not on a cluster.")
    several = len(outcome.positive or ()) > 1 or any("," in one for one in outcome.positive or ())
    if several and outcome.target is not None:
        raise typer.BadParameter("several labels need the table in memory.", param_hint="--positive")
    if table.na or outcome.negative or table.max_missing is not None:
        raise typer.BadParameter(
            "--na, --negative and --max-missing need the table in memory, not on a cluster."
        )
    if table.no_header is not None or table.sheet is not None:
        raise typer.BadParameter("Parquet files have names, and no sheets: leave --sheet and the like out.")
    if table.names or table.sql is not None or table.redcap is not None:
        raise typer.BadParameter("--names, --sql and --redcap need the table in memory, not on a cluster.")


def _fit_on_cluster(
    files: Sequence[Path],
    roles: "Roles",
    scheduler: str | None,
    settings: dict[str, Any],
    known: KnowledgeOptions,
) -> "Fitted":
    """Fit on a running cluster or, without an address, on all cores of this machine."""
    try:
        from ..inputs.from_cluster import connect, local_cluster, parquet_cohort, parquet_names, with_outcome
    except ImportError as error:
        raise MissingExtraError("a cluster needs Dask: pip install 'rootcausal[dask]'") from error
    from ..inputs.roles import columns_named, note_of_after

    for file in files:
        refuse_streams(file)
    where = shown(files[0]) + (f" and {len(files) - 1} more files" if len(files) > 1 else "")
    if known:
        roles = replace(roles, knowledge=known.among(parquet_names(files)))
        settings = {**settings, "knowledge": roles.knowledge}
    frame = parquet_cohort(files, roles)
    logs = columns_named(list(frame.columns), roles.log)
    settings = {**settings, "log": list(logs) or None}
    with local_cluster() if scheduler is None else connect(scheduler):
        with status_if_slow(f"reading the outcome from {where}"):
            frame, outcome = with_outcome(frame, roles)
        model = estimator_of(outcome, {**settings, "backend": "dask"})
        model.fit(frame, *roles.outcome.arguments, weights=roles.weights)
    if outcome.remembered:
        reading = {**model.provenance_.get("reading", {}), **outcome.remembered}
        model.provenance_ = {**model.provenance_, "reading": reading}
    n_rows: Any = model.provenance_["rows"]
    say_cohort(where, n_rows, model.n_features_in_)
    for line in kinds_lines(model._encoding.variables):
        say(line)
    for line in outcome.counted(model.provenance_).lines(n_rows):
        say(line)
    if roles.after:
        say(note_of_after(parquet_names(files), roles))
    if roles.knowledge is not None:
        say_known(roles.knowledge)
    return model


def _say_model(model: "Fitted", known: KnowledgeOptions) -> None:
    """Print what was learned."""
    words = words_of_model(model)
    say_mechanism(model)
    say_order(model, words)
    say_names(model, known.knowledge)
    say_effects(model, words)
    say_arrows(model, words)
    say_filled_in(model)
    say_reliability(model)
    say_weights(model)
    say_limits(model)
    say_sets(model)
    for line in words.populations:
        say(line)


def say_effects(model: "Estimator", words: "Words") -> None:
    """Print the surest effects without a prior, beside those of the model."""
    found = model.summary()
    if found.none:
        say(f"no effects without a prior: {found.none}")
        return
    shown = [term for term in found.strongest() if term.estimable][:EFFECTS_SHOWN]
    say(f"direct effects of one SD without a prior ({found.method}), the surest first:")
    names = short_names([term.label for term in shown])
    width = max(map(len, names), default=0)
    for name, term in zip(names, shown, strict=True):
        low, high = words.per_sd(term.lower_per_sd), words.per_sd(term.upper_per_sd)
        by_model = f"; by the model {words.per_sd(term.shrunk_per_sd)}"
        p = f"p {found.p_text(term)}".replace("p <", "p < ")
        say(
            f"  {name:<{width}}  {words.per_sd(term.effect_per_sd)} ({low.strip()} to {high.strip()}), {p}"
            f"{by_model}"
        )
    lost = [term.label for term in found.terms if term.note]
    if lost:
        say(f"  not estimable: {listed(short_names(lost), EFFECTS_SHOWN)}")
    rest = len(found.terms) - len(shown) - len(lost)
    if rest:
        say(f"  and {plural(rest, 'less sure one')}: the page of rootcausal report shows all")


def say_arrows(model: "Estimator", words: "Words") -> None:
    """Print the strongest arrows, where anything is known of their direction or of how sure they are."""
    from ..explaining.graph import (
        ABSENT_MEANS,
        NONE_STRONG,
        SURE_FROM,
        UNSURE,
        arrows_to_outcome,
        edges_among,
        n_strong_edges,
        strong_edges,
    )

    causal, resamples = model._model, model.bootstrap_
    known = None if causal.layout is None else causal.layout.precedence
    order = causal.order
    if not order.size or (known is None and resamples is None):
        return
    called = names_with_levels(model)
    names = [called[variable] for variable in order]
    effects = causal.direct_effects()
    among = edges_among(order, strong_edges(effects, ARROWS_SHOWN), known, resamples)
    weakest = causal.attribution.notable
    into_outcome = arrows_to_outcome(order, causal.effects_on_outcome(), resamples, weakest)
    nominal = {place for place, k in enumerate(order) if model._encoding.variables[k].kind == "nominal"}
    if not (among or into_outcome):
        say(f"{NONE_STRONG}, nor {words.moved_by(weakest)}")
        return
    say("direct effects of one standard deviation (SD) of the cause, all else held fixed, strongest first:")
    _say_some(into_outcome, len(into_outcome), [*names, words.node], nominal, words.direct)
    _say_some(among, n_strong_edges(effects), names, nominal, _in_sd)
    shown = [*into_outcome[:ARROWS_SHOWN], *among]
    if any(arrow.state == UNSURE for arrow in shown):
        say(f"unsure: learned, and fewer than {SURE_FROM:.0%} of the resamples have it, pointing this way")
    if any(arrow.absent for arrow in shown):
        say(f"absent: {ABSENT_MEANS}")
    if into_outcome:
        say("the order's numbers are total effects, of a shock by all ways: even their sign may differ")


def _in_sd(weight: float, signless: bool) -> str:
    return f" {abs(weight):.2f} SD" if signless else f"{weight:+.2f} SD"


def _say_some(
    arrows: "list[Arrow]",
    n: int,
    names: list[str],
    nominal: set[int],
    in_words: Callable[[float, bool], str],
) -> None:
    some = [(arrow, f"{names[arrow.cause]} -> {names[arrow.effect]}") for arrow in arrows[:ARROWS_SHOWN]]
    width = max((len(called) for _, called in some), default=0)
    for arrow, called in some:
        # Levels without an order have no more and no less.
        signless = bool({arrow.cause, arrow.effect} & nominal)
        say(f"  {called:<{width}}  {in_words(arrow.weight, signless)}  {arrow.said}")
    if n > len(some):
        say(f"  and {plural(n - len(some), 'weaker one')}")
