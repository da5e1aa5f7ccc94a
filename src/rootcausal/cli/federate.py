"""``rootcausal federate``: one model of several hospitals, whose rows stay where they are."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..wording import listed, plural, quoted, shown
from .console import (
    kinds_lines,
    made_with,
    provenance,
    say,
    say_filled_in,
    say_known,
    say_mechanism,
    say_order,
    words_of_model,
)
from .knowing import KnowledgeOptions
from .options import (
    AttributionName,
    Horizon,
    HowMissing,
    Kinds,
    Level,
    Logs,
    Prevalence,
    RootCertificates,
    VariantName,
    check_output,
    chosen_kinds,
    model_path,
    of_flower,
    of_outcome,
    with_options,
)

if TYPE_CHECKING:
    from ..estimators.base import Estimator

of_sites = partial(typer.Option, rich_help_panel="The sites")


@dataclass(frozen=True)
class SitesOptions:
    """Which sites take part, and how messages get to them."""

    folder: Annotated[Path, of_sites(metavar="DIR", help="Folder that coordinator and sites read and write.")]
    sites: Annotated[
        list[str],
        of_sites(metavar="NAME", help="Name of a site; many times, or with commas between."),
    ]
    superlink: Annotated[
        str | None,
        of_flower(
            metavar="HOST:PORT",
            help="Let Flower carry what is in the folder, by this SuperLink, which runs here.",
        ),
    ] = None
    root_certificates: RootCertificates = None
    wait: Annotated[float, of_sites(min=0.0, metavar="SECONDS", help="How long to wait for each answer.")] = (
        3600.0
    )
    without_late: Annotated[
        bool,
        of_sites("--without-late", help="Fit again without a site that does not answer in time, and say so."),
    ] = False
    resamples: Annotated[
        int,
        of_sites(
            min=0, metavar="N", help="Learn from so many resamples too, for intervals; of a diagnosis only."
        ),
    ] = 0

    def carried(self) -> AbstractContextManager[None]:
        """While this lasts, messages are carried."""
        from ..federated.flower import carried, refuse_missing

        if self.superlink is None:
            return nullcontext()
        refuse_missing(self.root_certificates)
        return carried(self.folder, self.superlink, self.root_certificates)

    @property
    def names(self) -> list[str]:
        """Of the sites, each once."""
        return [name.strip() for text in self.sites for name in text.split(",")]


@dataclass(frozen=True)
class JointOutcome:
    """What happened to the patients, as the sites have it in columns of theirs."""

    outcome: Annotated[
        Literal["binary", "ordinal", "continuous", "survival"],
        of_outcome(
            metavar="binary|ordinal|continuous|survival",
            help="A diagnosis, stages in order, a number, or the time to an event.",
        ),
    ] = "binary"
    positive: Annotated[
        str | None,
        of_outcome(
            metavar="LABEL",
            help="Label that means disease, or the event, where labels do not say it themselves; one label.",
        ),
    ] = None
    prevalence: Prevalence = None
    horizon: Horizon = None


@dataclass(frozen=True)
class JointModel:
    """How the model is learned; relations are linear."""

    kind: Kinds = None
    log: Logs = None
    missing: HowMissing = "impute"
    alpha: Level = None
    variant: VariantName = "local_plus"
    attribution: AttributionName = "sharp"

    def settings(self) -> dict[str, Any]:
        """What an estimator is told."""
        chosen = {
            "kinds": chosen_kinds(self.kind),
            "log": [name.strip() for text in self.log or () for name in text.split(",")] or None,
            "missing": self.missing,
            "variant": self.variant,
            "attribution": self.attribution,
        }
        return chosen if self.alpha is None else {**chosen, "alpha": self.alpha}


@with_options
def federate(
    *,
    sites: SitesOptions,
    outcome: JointOutcome,
    known: KnowledgeOptions,
    how: JointModel,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", callback=model_path, metavar="FILE", help="Model file to write, .rci."),
    ] = Path("model.rci"),
) -> None:
    """Learn one model from several hospitals, whose rows stay where they are.

    Each site runs rootcausal site serve on its own table, and answers requests
    for sums that this command puts into the folder. What comes out is the model
    that one place with all rows would have learned. It is written to --out, and
    into the folder, so that sites can score their own patients.

    A fit that was stopped goes on where it was, by the same command.

    rootcausal federate --folder share --sites north,south,east --out model.rci
    rootcausal federate --folder joint --sites a,b,c --superlink localhost:8000
    rootcausal federate --folder share --sites a,b,c --outcome survival -o m.rci
    rootcausal federate --folder share --sites a,b,c --first age,sex --log crp
    """
    from ..federated import FolderTransport, fit
    from ..federated.folder import MODEL

    check_output(out)
    known.refuse_what_does_not_go_together()
    estimator = _estimator(outcome, how, known)
    transport = FolderTransport(sites.folder, sites.wait)
    say(f"asks {plural(len(sites.names), 'site')} through {shown(sites.folder)}")
    with sites.carried():
        without, again = sites.without_late, sites.resamples
        model = fit(estimator, transport, sites.names, go_on_without=without, resamples=again)
        model.save(out)
    _say(model)
    say(f"model written to {shown(out)}, and for the sites to {shown(sites.folder / MODEL)}")
    say(provenance("federate", made_with(model)))


def _estimator(outcome: JointOutcome, how: JointModel, known: KnowledgeOptions) -> "Estimator":
    """The estimator of this outcome; options that do not go together are wrong usage."""
    from ..estimators.classifier import RCI
    from ..estimators.regressor import RCIRegressor
    from ..estimators.survival import RCISurvival

    settings = {**how.settings(), "knowledge": known.among([]) if known else None}
    allowed = {"binary": ("positive", "prevalence"), "survival": ("positive", "horizon")}
    for name in ("positive", "prevalence", "horizon"):
        if getattr(outcome, name) is not None and name not in allowed.get(outcome.outcome, ()):
            raise typer.BadParameter(f"is not for --outcome {outcome.outcome}.", param_hint=f"--{name}")
    if outcome.outcome == "survival":
        label = as_label(outcome.positive)
        return RCISurvival(positive=label, horizon=outcome.horizon, **settings)
    if outcome.outcome == "continuous":
        return RCIRegressor(**settings)
    if outcome.outcome == "ordinal":
        return RCI(outcome="ordinal", **settings)
    label = as_label(outcome.positive)
    return RCI(positive=label, prevalence=outcome.prevalence, **settings)


def as_label(text: str | None) -> Any:
    """A label as files hold it: a number where it is one, a truth value, or a text."""
    if text is None:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.strip().casefold(), text.strip())


def _say(model: "Estimator") -> None:
    """Print what was learned, and from whom."""
    made = model.provenance_["sites"]
    words = words_of_model(model)
    named = listed([quoted(name) for name in made["names"]], 8)
    say(f"{plural(len(made['names']), 'site')}: {named}; {model.provenance_['rows']} rows together")
    if made["without"]:
        say(f"without {listed([quoted(name) for name in made['without']], 8)}, which did not answer in time")
    read = "only their totals were read" if made["masked"] else "they were read site by site"
    say(f"{made['rounds']} rounds, {made['bytes'] / 1000:.0f} kB a site of sums; {read}")
    differ = made.get("differences", {})
    if differ.get("sites", 0) > 1 and not (differ["effects_differ"] or differ["relations_differ"]):
        say(
            f"effects and relations differ between sites no more than by chance (Cochran's Q, "
            f"{differ['sites']} sites with enough rows)"
        )
    for line in kinds_lines(model._encoding.variables):
        say(line)
    knowledge = model.provenance_["parameters"].get("knowledge")
    if knowledge:
        say_known(knowledge)
    say_mechanism(model)
    say_order(model, words)
    say_filled_in(model)
