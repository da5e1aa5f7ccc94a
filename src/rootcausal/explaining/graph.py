"""The graph that figures, page and command line show: what of it was given, what learned, and how surely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..method.arrows import WEAKEST_EDGE
from ..method.model import CausalModel
from ..method.ordering.precedence import COVARIATE, FIRST, Precedence
from ..method.table import F64, Index
from ..resampling.bootstrap import Bootstrap
from ..resampling.intervals import interval

EDGES_DRAWN = 80
# A learned arrow is unsure where fewer of the resamples have it pointing this way. A convention, not a test.
SURE_FROM = 0.8
GIVEN, LEARNED, UNSURE = "given", "learned", "unsure"
NONE_STRONG = (
    "no direct effect is strong enough to show: one standard deviation (SD) of a cause, all else held fixed, "
    f"moves no variable by {WEAKEST_EDGE:g} SD"
)
ABSENT_MEANS = f"weaker than {WEAKEST_EDGE:g}, or one of the two was dropped"


@dataclass(frozen=True)
class Arrow:
    """A direct effect that is strong enough to show.

    Attributes
    ----------
    cause, effect : places among the variables shown; an effect just beyond the last is the outcome.
    weight : for one standard deviation of the cause, all else held fixed: standard deviations of the effect,
        or what it adds to the outcome (log-odds, log-hazard, or units of a number).
    given : whether rules decided which of the two comes first.
    times, turned : in how many of so many ``resamples`` it points this way, and the other way.
    resamples : None where there was no bootstrap.
    weakest : the smallest weight that is shown.
    """

    cause: int
    effect: int
    weight: float
    given: bool = False
    times: int = 0
    turned: int = 0
    resamples: int | None = None
    weakest: float = WEAKEST_EDGE

    @property
    def strength(self) -> float:
        """How strong it is, whatever its scale: 0.1 for the weakest that are shown, as among variables."""
        return abs(self.weight) * (WEAKEST_EDGE / self.weakest)

    @property
    def state(self) -> str:
        """Given, learned, or learned and unsure."""
        if self.given:
            return GIVEN
        unsure = self.resamples is not None and self.times < SURE_FROM * self.resamples
        return UNSURE if unsure else LEARNED

    @property
    def absent(self) -> int:
        """In how many resamples it is too weak, or one of the two variables was dropped."""
        return 0 if self.resamples is None else self.resamples - self.times - self.turned

    @property
    def said(self) -> str:
        """Such as "in 143 of 200 resamples, turned round in 30, absent in 27: unsure"."""
        if self.resamples is None:
            return self.state
        # What was given holds in every resample: they differ only in whether there is an effect at all.
        said = f"{GIVEN}; there in" if self.given else "in"
        said += f" {self.times} of {self.resamples} resamples"
        said += f", turned round in {self.turned}" if self.turned else ""
        said += f", absent in {self.absent}" if self.absent else ""
        return f"{said}: {UNSURE}" if self.state == UNSURE else said


@dataclass(frozen=True)
class Band:
    """Variables shown side by side that belong to one tier: the first and the last place, and its name."""

    name: str
    first: int
    last: int


@dataclass(frozen=True)
class Graph:
    """Some variables in causal order, and the arrows among them.

    Attributes
    ----------
    variables : (m,) variables shown, in causal order.
    edges : arrows among them, strongest first, and not more than fit into a picture.
    into_outcome : arrows into the outcome, strongest first; None where there is no outcome.
    bands : the tiers, from first to last; none where there is at most one.
    covariates : variables that were adjusted for: no causes here.
    known : whether anything was known of the order before.
    resamples : how many there were; None without a bootstrap.
    """

    variables: Index
    edges: list[Arrow]
    into_outcome: list[Arrow] | None
    bands: list[Band]
    covariates: list[int]
    known: bool
    resamples: int | None

    @property
    def arrows(self) -> list[Arrow]:
        """All of them."""
        return self.edges + (self.into_outcome or [])


def graph_of(model: CausalModel, shown: Index, resamples: Bootstrap | None = None) -> Graph:
    """The graph of the variables at some places of the causal order, ascending, and of the outcome."""
    known = None if model.layout is None else model.layout.precedence
    variables, edges = model.order[shown], model.direct_effects()[np.ix_(shown, shown)]
    arrows = edges_among(variables, strong_edges(edges), known, resamples)
    effects, weakest = model.effects_on_outcome()[shown], model.attribution.notable
    into_outcome = arrows_to_outcome(variables, effects, resamples, weakest)
    return _graph(variables, arrows, into_outcome, known, resamples)


def graph_without_outcome(variables: Index, edges: F64, known: Precedence | None) -> Graph:
    """The graph of variables (m,) in causal order with these direct effects (m, m) in standard units.

    Covariates are among them: there is no risk to adjust.
    """
    found = _graph(variables, edges_among(variables, strong_edges(edges), known, None), None, known, None)
    return replace(found, covariates=[])


def strong_edges(edges: F64, at_most: int = EDGES_DRAWN) -> list[tuple[int, int, float]]:
    """(cause, effect, weight) of the edges strong enough to show, strongest first."""
    effect, cause = np.nonzero(np.abs(edges) >= WEAKEST_EDGE)
    strength = np.abs(edges[effect, cause])
    strongest = np.argsort(-strength, kind="stable")[:at_most]
    return [(int(cause[e]), int(effect[e]), float(edges[effect[e], cause[e]])) for e in strongest]


def n_strong_edges(edges: F64) -> int:
    """How many edges are strong enough to show."""
    return int(np.count_nonzero(np.abs(edges) >= WEAKEST_EDGE))


def edges_among(
    variables: Index,
    edges: Sequence[tuple[int, int, float]],
    known: Precedence | None,
    resamples: Bootstrap | None,
) -> list[Arrow]:
    """Arrows of edges between places of ``variables``, with what was known and what resamples say."""
    ends = np.unique([place for cause, effect, _ in edges for place in (cause, effect)]).astype(np.intp)
    at = {int(place): number for number, place in enumerate(ends)}
    some = variables[ends]
    given = np.zeros((some.size, some.size), dtype=bool) if known is None else known.known(some)
    counts = None if resamples is None else resamples.edge_counts(some)
    found = []
    for cause, effect, weight in edges:
        j, i = at[cause], at[effect]
        times, turned = (0, 0) if counts is None else (int(counts[i, j]), int(counts[j, i]))
        n = None if resamples is None else len(resamples)
        found.append(Arrow(cause, effect, weight, bool(given[i, j]), times, turned, n))
    return found


def arrows_to_outcome(
    variables: Index, effects: F64, resamples: Bootstrap | None, weakest: float
) -> list[Arrow]:
    """Arrows of variables (m,) into the outcome, strongest first; it comes last, so none can turn round.

    ``weakest`` is the smallest effect that is one.
    """
    strongest = np.argsort(-np.abs(effects), kind="stable")
    strong = strongest[np.abs(effects[strongest]) >= weakest]
    counts = np.zeros(strong.size) if resamples is None else resamples.outcome_counts(variables[strong])
    n = None if resamples is None else len(resamples)
    return [
        Arrow(int(place), variables.size, float(effects[place]), False, int(times), 0, n, weakest)
        for place, times in zip(strong, counts, strict=True)
    ]


def effect_intervals(resamples: Bootstrap, n_variables: int) -> F64:
    """(2, p): ends of 95 % intervals of what a shock of one standard deviation does, of so many variables.

    A resample that left a variable out says that it does nothing.
    """
    draws = np.zeros((len(resamples), n_variables))
    for draw, model in zip(draws, resamples.models, strict=True):
        draw[model.order] = model.unit_effects
    return interval(draws)


def covariates_of(known: Precedence | None) -> list[int]:
    """The variables that were adjusted for."""
    return [] if known is None else np.flatnonzero(known.covariate).tolist()


def _graph(
    variables: Index,
    edges: list[Arrow],
    into_outcome: list[Arrow] | None,
    known: Precedence | None,
    resamples: Bootstrap | None,
) -> Graph:
    return Graph(
        variables,
        edges,
        into_outcome,
        _bands(variables, known),
        covariates_of(known),
        known is not None,
        None if resamples is None else len(resamples),
    )


def _bands(variables: Index, known: Precedence | None) -> list[Band]:
    if known is None or not variables.size or np.unique(known.stage[~known.covariate]).size < 2:
        return []
    stage, last = known.stage[variables], int(known.stage.max())
    starts = np.flatnonzero(np.diff(stage, prepend=COVARIATE - 1))
    ends = np.append(starts[1:], stage.size)
    return [
        Band(_tier(int(stage[start]), last), int(start), int(end) - 1)
        for start, end in zip(starts, ends, strict=True)
    ]


def _tier(stage: int, last: int) -> str:
    if stage <= FIRST:
        return "first" if stage == FIRST else "covariates"
    # Where no tiers were named, what is not first makes up the only one.
    return "all others" if last == FIRST + 1 else f"tier {stage - FIRST}"
