"""The time to an event, or to the end of follow-up: errors add to the log-hazard.

Columns are screened against martingale residuals. The loss is the Poisson form of proportional hazards on the
intervals of a :class:`~.follow_up.Clock` (piecewise-exponential): a sum over rows, as Cox's partial
likelihood is not, with coefficients that are next to Cox's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..errors import InputError
from ..method.linear import NOTABLE_LOG_ODDS
from ..method.model_parts import MODEL, Array, Attribution
from ..method.table import F64, LARGEST_LOG_HAZARD, Index, LossSums, Table
from ..method.weighted import ClassWeights
from ..wording import one_line, percent
from .base import (
    BRIER,
    MOST_LOG_ODDS,
    Fold,
    Proportional,
    Scored,
    Specification,
    TableLoss,
    is_positive,
    mean_of_folds,
)
from .follow_up import Clock, Spans
from .simulated import Asked, Drawn, Population, shift_for
from .words import ITS_OWN, Words, ratio_words, times, wrapped

# With fewer events nothing can be learned of hazards.
FEWEST_EVENTS = 2
MOST_EDGES = 1000
# By which a log-hazard is known to nine digits.
BISECTIONS = 40
# Patients compared with all others at once.
PAIRS_A_BLOCK = 1 << 22
# Share of simulated patients whose event is seen, unless another is asked for.
EVENTS = 0.62
# Beyond these, plus or minus, the simulated time to an event would leave float64; so would its longest one.
MOST_SIMULATED_HAZARD, MOST_SIMULATED_TIME = 300.0, 350.0


@dataclass(frozen=True, eq=False)
class Survival(Scored):
    """What is known of a patient are the time of follow-up and whether the event ended it, 1 or 0: (n, 2).

    Or, with what else :class:`~.follow_up.Spans` has, (n, 6).

    Attributes
    ----------
    clock : of the cohort.
    horizon : the time by which risks are told.
    """

    name: ClassVar[str] = "survival"
    variance: ClassVar[float] = 1.0  # log-hazards, squared
    certain: ClassVar[str] = (
        "the errors tell of some patients for certain that they have the event before others, or not at all, "
        "so maximum likelihood has no finite answer"
    )

    clock: Clock
    horizon: float

    @property
    def start(self) -> F64:
        return np.log(self.clock.null_hazards)

    @property
    def chosen(self) -> str:
        return f", survival, {self.horizon!r}"

    @classmethod
    def of(cls, known: np.ndarray, horizon: float | None = None) -> Survival:
        """By default the horizon is the median time of the events, rounded."""
        return cls.by(Clock.of_spans(Spans.of(known)), horizon)

    @classmethod
    def by(cls, clock: Clock, horizon: float | None = None) -> Survival:
        """The same where only the clock is at hand."""
        return cls(clock, _rounded(clock) if horizon is None else float(horizon))

    def again(self, known: np.ndarray) -> Survival:
        return Survival.of(known, self.horizon)

    @staticmethod
    def is_enough(known: np.ndarray) -> bool:
        return float(known[:, 1].sum()) >= FEWEST_EVENTS and Clock.of_spans(Spans.of(known)).has_an_order

    @staticmethod
    def lacks(known: np.ndarray) -> str:
        events = int(known[:, 1].sum())
        return (
            f"had fewer than {FEWEST_EVENTS} events, or nobody whom an event came before: the cohort has too "
            f"few events ({events})"
        )

    def rows(self, known: np.ndarray) -> np.ndarray:
        return self.clock.rows_of(Spans.of(known))

    def n_telling(self, n: float) -> float:
        """Those who had the event; the clock may count rows of unequal weight many times."""
        events, counted = float(self.clock.events.sum()), float(self.clock.leaving.sum())
        return events if counted == n else events * n / counted

    def loss(self, table: Table, cols: Index) -> HazardLoss:
        return HazardLoss(table, cols, self.start)

    def attribution(self, effects: F64, baseline: F64, weights: ClassWeights) -> HazardAttribution:
        edges, cumulative = self.clock.baseline(np.exp(np.minimum(baseline, LARGEST_LOG_HAZARD)))
        # A resample may lack whoever was followed until the horizon.
        last = max(self.clock.longest, self.horizon)
        if last > edges[-1]:
            # After the last event nobody had one.
            edges, cumulative = np.append(edges, last), np.append(cumulative, cumulative[-1])
        competing = self.clock.competing_until(edges)
        return HazardAttribution(effects, edges, cumulative, competing, self.horizon)


def _rounded(clock: Clock) -> float:
    """The median time of the events to two digits, or as it is where that is later than anybody's."""
    rounded = float(f"{clock.middle:.2g}")
    return rounded if 0.0 < rounded <= clock.longest else clock.middle


class HazardLoss(TableLoss):
    """The log-likelihood of follow-up; its baseline are intervals' log-hazards."""

    def sums(self, beta: F64) -> LossSums:
        return self.table.hazard_sums(self.cols, beta)

    def is_certain(self, loglik: float) -> bool:
        """A time has a density, which no prediction exhausts."""
        return False


@dataclass(frozen=True, eq=False)
class HazardAttribution(Proportional):
    """The log-hazard as a linear function of the errors, relative to a patient whose errors are all zero.

    Attributes
    ----------
    coef : (k,) log-hazard for each unit of error, in causal order.
    edges : (m,) times, ascending from zero to the longest follow-up.
    cumulative : (m,) hazard until then of a patient whose errors are all zero; between edges it runs evenly.
    competing : (m,) the same of competing events, of anybody; zero where there are none.
    horizon : the time by which risks are told.
    """

    kind: ClassVar[str] = "hazard"
    outcome: ClassVar[str] = "survival"
    ARRAYS: ClassVar[Mapping[str, Array]] = {
        "coef": Array.within(MOST_LOG_ODDS),
        "edges": Array("edges", least=0.0, most=np.finfo(float).max, rising=True),
        "cumulative": Array("edges", least=0.0, most=np.finfo(float).max, rising=True),
        "competing": Array("edges", least=0.0, most=np.finfo(float).max, rising=True),
        "horizon": Array(MODEL, least=np.finfo(float).tiny),
    }

    coef: F64
    edges: F64
    cumulative: F64
    competing: F64
    horizon: float

    @property
    def base_value(self) -> float:
        return 0.0

    def predicted(self, predictor: F64) -> F64:
        """The risk of an event by the horizon."""
        return 1.0 - self.survival(predictor, np.array([self.horizon]))[:, 0]

    def survival(self, predictor: F64, times: F64) -> F64:
        """(n, m): probability of no event until each of some times (m,).

        Where competing events come first, one minus the cumulative incidence.
        """
        ratio = np.exp(np.minimum(predictor, LARGEST_LOG_HAZARD))
        if not self.competes:
            return np.exp(-np.outer(ratio, np.interp(times, self.edges, self.cumulative)))
        grid = np.union1d(self.edges, times)
        until = np.outer(ratio, np.interp(grid, self.edges, self.cumulative))
        others = np.interp(grid, self.edges, self.competing)
        neither = np.exp(-until - others)
        own = np.diff(until, axis=1)
        share = own / np.maximum(own + np.diff(others), np.finfo(float).tiny)
        incidence = np.minimum(np.cumsum((neither[:, :-1] - neither[:, 1:]) * share, axis=1), 1.0)
        reached = np.concatenate([np.zeros((ratio.size, 1)), incidence], axis=1)
        return 1.0 - reached[:, np.searchsorted(grid, times)]

    @property
    def competes(self) -> bool:
        """Whether other events keep the event from coming."""
        return bool(self.competing[-1] > 0.0)

    def predictor_at(self, risk: F64) -> F64:
        """(n,) the log-hazards with which risks (n,) by the horizon go."""
        until = np.log(max(float(np.interp(self.horizon, self.edges, self.cumulative)), 1e-300))
        if not self.competes:
            return np.log(-np.log1p(-risk)) - until
        low, high = (np.full(risk.size, side * 2.0 * LARGEST_LOG_HAZARD - until) for side in (-1.0, 1.0))
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            below = self.predicted(middle) < risk
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return 0.5 * (low + high)

    @property
    def notable(self) -> float:
        return NOTABLE_LOG_ODDS

    def centred(self, average: float) -> tuple[HazardAttribution, float]:
        """The hazard is that of a patient with the average log-hazard, which is then zero."""
        ratio = np.exp(np.clip(average, -LARGEST_LOG_HAZARD, LARGEST_LOG_HAZARD))
        return replace(self, cumulative=self.cumulative * ratio), average

    def with_horizon(self, horizon: float) -> HazardAttribution:
        return replace(self, horizon=horizon)

    def check(self) -> None:
        if not 2 <= self.edges.size == self.cumulative.size == self.competing.size <= MOST_EDGES:
            raise ValueError("the times of its baseline hazard are too few or too many")
        if (
            self.edges[0] != 0.0
            or self.cumulative[0] != 0.0
            or self.competing[0] != 0.0
            or not (np.diff(self.edges) > 0.0).all()
        ):
            raise ValueError("its baseline hazard is not one")
        if self.horizon > self.edges[-1]:
            raise ValueError("its horizon is later than any time of its baseline hazard")


def words_of(attribution: Attribution, called: str | None, unit: str, parameters: Mapping[str, Any]) -> Words:
    """The words of the time to an event; parameters may say by which time risks are told."""
    assert isinstance(attribution, HazardAttribution)
    asked, of_what = parameters.get("horizon"), called or "the event"
    horizon = attribution.horizon if asked is None else float(asked)
    incidence = bool(parameters.get("incidence"))
    when = f"{horizon:,g} {unit}" if unit else f"time {horizon:,g}"
    prediction, why = f"risk by {when}", "" if asked is not None else ", the median time of the events"

    return Words(
        **ratio_words(of_what, "hazard", unit),
        kind=Survival.name,
        estimator="RCISurvival",
        happening="the event",
        of_what=of_what,
        subject="the event",
        node="event",
        prediction=prediction,
        axis=f"hazard ratio; {prediction}",
        header=(prediction, "hazard"),
        columns=("risk", "log_hazard"),
        populations=(
            f"Risks are told by {when}{why}; --horizon chooses another time."
            + (
                " They are cumulative incidences: competing events come first."
                if attribution.competes or incidence
                else ""
            ),
        ),
        facts={"scale": "log-hazard", "horizon": horizon, **({"time_unit": unit} if unit else {})},
        cells=lambda risk, predictor: (percent(risk), times(predictor)),
        reached=lambda _, risk: percent(risk),
        base=lambda _, average: (
            f"log-hazards are relative to a patient whose {average} are all average, who has 0"
        ),
        meaning=lambda _, covariates: _meaning(prediction, covariates, attribution.competes, incidence),
        page=lambda made: {
            "horizon": horizon,
            "unit": unit,
            "when": when,
            "times": attribution.edges.tolist(),
            "hazards": attribution.cumulative.tolist(),
            "events": made["events"],
            **_of_design(attribution, made),
        },
    )


def _of_design(attribution: HazardAttribution, made: Mapping[str, Any]) -> dict[str, Any]:
    """What the page is told of competing events, of rows that came late, and of strata, if there are such."""
    found = {name: made[name] for name in ("late", "strata") if name in made}
    of_cohort = attribution.competing.tolist() if attribution.competes else None
    if of_cohort is None and not made["parameters"].get("incidence"):
        return found
    labels = made["parameters"].get("competing")
    several = labels if isinstance(labels, list) else [labels]
    return {
        **found,
        **({} if of_cohort is None else {"competing": of_cohort}),
        "competing_events": made.get("competing", 0),
        "competing_labels": [one_line(str(label), 40) for label in several],
    }


def _meaning(prediction: str, covariates: bool, competes: bool, incidence: bool) -> str:
    average, parts = "shocks", "all variables"
    other = competes or incidence
    which = ", where competing events may come before (cumulative incidence)" if other else ""
    stay = ", counting those as waiting whom another event came to (Fine & Gray)" if incidence else ""
    if covariates:
        average, parts = "shocks and covariates", "these and all variables"
    return wrapped(
        f"What the numbers mean: {prediction} is the probability of the event until then{which}, by the "
        f"model. The hazard is how fast the event comes{stay}, relative to a patient whose "
        f"{average} are all average (×1.00). A root cause is a variable whose own shock, {ITS_OWN}, raises "
        f"this patient's hazard; the largest comes first. ×2 doubles the hazard, ×0.50 halves it; what "
        f"{parts} do, multiplied, makes the patient's hazard."
    )


class SimulatedEvent:
    """The time to an event whose hazard is constant, and whose log-hazard is the sum.

    Patients enter evenly over the years of a study and are followed to its end, so follow-up is uniform
    between zero and the longest one, and independent of everything else. The longest one is such that this
    share of the population has its event before its follow-up ends.
    """

    name: ClassVar[str] = "event"
    scale: ClassVar[str] = "log-hazard"
    has_classes: ClassVar[bool] = True
    rescue: ClassVar[str] = ", or choose a share of events nearer to a half"
    takes: ClassVar[tuple[str, ...]] = ("events",)
    intercept = 0.0

    def __init__(self, population: Population, events: float) -> None:
        self._rng = population.rng
        hazard = _hazard(population.draw() @ population.effects)
        log_longest = shift_for(
            events, lambda shift: _chance_within(hazard * np.exp(shift)), MOST_SIMULATED_TIME
        )
        self._longest = np.exp(log_longest)

    @classmethod
    def of(cls, population: Population, asked: Asked) -> SimulatedEvent:
        return cls(population, EVENTS if asked.events is None else asked.events)

    def draw(self, predictor: F64) -> Drawn:
        time = self._rng.standard_exponential(predictor.size) / _hazard(predictor)
        follow_up = (1.0 - self._rng.random(predictor.size)) * self._longest
        event = time <= follow_up
        return Drawn(event.astype(np.int64), np.minimum(time, follow_up), event)


def _hazard(log_hazard: F64) -> F64:
    if np.abs(log_hazard).max() > MOST_SIMULATED_HAZARD:
        raise InputError("the hazards overflow along the paths of so dense a graph: lower expected_neighbors")
    return np.exp(log_hazard)


def _chance_within(exposure: F64) -> F64:
    """Chance of an event before a uniform end of follow-up, given hazard × the longest follow-up."""
    return 1.0 + np.expm1(-exposure) / exposure


def concordance(
    hazard: F64, time: F64, event: F64, start: F64 | None = None, stratum: F64 | None = None
) -> float:
    """Harrell's C (1982): of pairs where it is known who had the event first, the share ranked so.

    Ties of the prediction count half. NaN where no pair can be compared; those compared are at risk when
    either has the event, and of one stratum.
    """
    had = np.flatnonzero(event > 0)
    right, known = 0.0, 0
    height = max(1, PAIRS_A_BLOCK // max(1, time.size))
    for first in range(0, had.size, height):
        some = had[first : first + height, None]
        # Who was followed for longer, or as long without an event, had it later.
        later = (time > time[some]) | ((time == time[some]) & (event == 0))
        if start is not None:
            later &= start < time[some]
        if stratum is not None:
            later &= stratum == stratum[some]
        known += int(later.sum())
        right += float((later & (hazard[some] > hazard)).sum())
        right += 0.5 * float((later & (hazard[some] == hazard)).sum())
    return right / known if known else float("nan")


def concordance_of(hazard: F64, known: np.ndarray) -> float:
    """The same of what outcomes know."""
    spans = Spans.of(known)
    return concordance(hazard, spans.until, spans.event, spans.start, spans.stratum)


def brier(risk: F64, time: F64, event: F64, horizon: float, competing: F64 | None = None) -> float:
    """Mean squared error of risks by the horizon, patients weighted for those whose follow-up ended before.

    Weights are the inverse probability of having been followed until then (Graf et al. 1999). Whom a
    competing event came to is known not to have the event.
    """
    from scipy.stats import CensoredData, ecdf

    ended = (event > 0) | (False if competing is None else competing > 0)
    # Events come before ends of follow-up at the same time.
    ends = CensoredData(uncensored=time[~ended], right=np.nextafter(time[ended], -np.inf))
    followed = ecdf(ends).sf
    known = (time <= horizon) & ended
    # Whose follow-up ended at the horizon had no event until then.
    until = (time > horizon) | ((time == horizon) & ~ended)
    weight = np.zeros(time.size)
    # Before an event counts who is followed just before it, so that its own time does not.
    weight[known] = 1.0 / np.maximum(followed.evaluate(np.nextafter(time[known], -np.inf)), 1e-12)
    weight[until] = 1.0 / np.maximum(followed.evaluate(np.nextafter(horizon, -np.inf)), 1e-12)
    return float(weight @ ((known & (event > 0)) - risk) ** 2 / time.size)


def incidence(known: np.ndarray, at: float) -> tuple[float, float, float]:
    """Cumulative incidence of the event until then (Aalen & Johansen), its variance, and that of others.

    Without competing events, one minus Kaplan and Meier's estimate, and Greenwood's variance.
    """
    spans = Spans.of(known)
    times, place = np.unique(spans.time, return_inverse=True)
    start = np.zeros(spans.time.size, dtype=np.intp)
    if spans.start is not None:
        start = np.searchsorted(times, spans.start, side="right")
    others = np.zeros(spans.time.size) if spans.competing is None else spans.competing
    own, other = (np.bincount(place, of, times.size) for of in (spans.event, others))
    left, came = np.bincount(place, minlength=times.size), np.bincount(start, minlength=times.size + 1)
    at_risk = np.cumsum(came)[:-1] - (np.cumsum(left) - left)
    seen = (times <= at) & (own + other > 0)
    d, both, n = own[seen], (own + other)[seen], at_risk[seen].astype(np.float64)
    alive = np.append(1.0, np.cumprod(1.0 - both / n))
    reached = np.append(0.0, np.cumsum(alive[:-1] * d / n))
    of_others = float((alive[:-1] * (both - d) / n).sum())
    # As Marubini & Valsecchi (1995) have it.
    still, more = reached[-1] - reached[1:], n > both
    before, fewer = alive[:-1], np.where(more, n - both, 1.0)
    variance = np.where(more, still**2 * both / (n * fewer), 0.0)
    variance += before**2 * (n - d) * d / n**3 - 2.0 * still * before * d / n**2
    return float(reached[-1]), max(float(variance.sum()), 0.0), of_others


def _performance(
    folds: Sequence[Fold], attribution: Attribution, parameters: Mapping[str, Any]
) -> dict[str, float]:
    """Concordances are the mean of those within folds."""
    assert isinstance(attribution, HazardAttribution)
    horizon = attribution.horizon
    spans = Spans.of(np.concatenate([fold.known for fold in folds]))
    null = np.concatenate([np.full(len(fold.known), fold.null) for fold in folds])
    told = np.concatenate([fold.predicted for fold in folds])
    found = {
        "concordance": mean_of_folds([concordance_of(fold.predictor, fold.known) for fold in folds]),
        "horizon": horizon,
    }
    if spans.start is not None:
        return found  # weights for who is not followed any more do not tell of who was not yet
    of = (spans.time, spans.event, horizon, spans.competing)
    return {**found, "brier": brier(told, *of), "brier_without_variables": brier(null, *of)}


def _check_facts(made: Mapping[str, Any]) -> None:
    if type(made["events"]) is not int or not 0 < made["events"] <= made["rows"]:
        raise ValueError("its numbers of rows and events do not fit together")
    if not (is_positive(made["horizon"]) and is_positive(made["longest_follow_up"])):
        raise ValueError("a time that it remembers is none")
    for name in ("competing", "late", "strata"):
        if type(made.get(name, 0)) is not int or not 0 <= made.get(name, 0) <= made["rows"]:
            raise ValueError(f"its number of {name!r} does not fit that of its rows")


SURVIVAL = Specification(
    outcome=Survival,
    attribution=HazardAttribution,
    words=words_of,
    simulator=SimulatedEvent,
    estimator="RCISurvival",
    called="the time to an event",
    labels=2,
    offers=("probability",),
    unit_name=lambda called: "time",
    performance=_performance,
    said_of={
        "concordance": "it tells which of two patients has the event first in {:.0%} of pairs",
        "brier": BRIER,
    },
    check_facts=_check_facts,
    checks=(
        "gives_away",
        "calibrated",
        "proportional_hazards",
        "straight",
        "follow_up",
        "few_events",
        "influence",
    ),
)
