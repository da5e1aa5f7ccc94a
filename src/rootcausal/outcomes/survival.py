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

from ..core.halves import Attribution
from ..core.linear import NOTABLE_LOG_ODDS
from ..core.loops import Loops
from ..core.moments import Columns, ScoreMoments, correlation_p_values
from ..core.population import ClassWeights
from ..core.schema import MODEL, Array
from ..core.table import F64, LARGEST_LOG_HAZARD, ColumnMoments, Index, LossSums, Table
from ..errors import InputError
from .attribution import MOST_LOG_ODDS, Proportional
from .base import TableLoss
from .follow_up import Clock
from .simulated import Asked, Drawn, Population, shift_for
from .words import ITS_OWN, Words, fold, wrapped

# With fewer events nothing can be learned of hazards.
FEWEST_EVENTS = 2
MOST_EDGES = 1000
# Share of simulated patients whose event is seen, unless another is asked for.
EVENTS = 0.62
# Beyond these, plus or minus, the simulated time to an event would leave float64; so would its longest one.
MOST_SIMULATED_HAZARD, MOST_SIMULATED_TIME = 300.0, 350.0


@dataclass(frozen=True, eq=False)
class Survival:
    """What is known of a patient are the time of follow-up and whether the event ended it, 1 or 0: (n, 2).

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
        return cls.by(Clock.of(known[:, 0], known[:, 1]), horizon)

    @classmethod
    def by(cls, clock: Clock, horizon: float | None = None) -> Survival:
        """The same where only the clock is at hand."""
        return cls(clock, _rounded(clock) if horizon is None else float(horizon))

    def again(self, known: np.ndarray) -> Survival:
        return Survival.of(known, self.horizon)

    @staticmethod
    def is_enough(known: np.ndarray) -> bool:
        return float(known[:, 1].sum()) >= FEWEST_EVENTS and Clock.of(known[:, 0], known[:, 1]).has_an_order

    @staticmethod
    def lacks(known: np.ndarray) -> str:
        events = int(known[:, 1].sum())
        return (
            f"had fewer than {FEWEST_EVENTS} events, or nobody whom an event came before: the cohort has too "
            f"few events ({events})"
        )

    def rows(self, known: np.ndarray) -> np.ndarray:
        return self.clock.rows(known[:, 0], known[:, 1])

    def p_values(self, moments: ColumnMoments) -> F64:
        return correlation_p_values(moments)

    def screen(self, columns: Columns, kept: Index, gram: F64, loops: Loops) -> ScoreMoments:
        return ScoreMoments.of(columns, kept)

    def scores(self, columns: Columns) -> None:
        return None

    def loss(self, table: Table, cols: Index) -> HazardLoss:
        return HazardLoss(table, cols, self.start)

    def attribution(self, effects: F64, baseline: F64, weights: ClassWeights) -> HazardAttribution:
        cumulative = np.append(0.0, np.cumsum(np.exp(np.minimum(baseline, LARGEST_LOG_HAZARD))))
        edges = self.clock.edges
        # A resample may lack whoever was followed until the horizon.
        last = max(self.clock.longest, self.horizon)
        if last > edges[-1]:
            # After the last event nobody had one.
            edges, cumulative = np.append(edges, last), np.append(cumulative, cumulative[-1])
        return HazardAttribution(effects, edges, cumulative, self.horizon)


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
    horizon : the time by which risks are told.
    """

    kind: ClassVar[str] = "hazard"
    outcome: ClassVar[str] = "survival"
    ARRAYS: ClassVar[Mapping[str, Array]] = {
        "coef": Array.within(MOST_LOG_ODDS),
        "edges": Array("edges", least=0.0, most=np.finfo(float).max, rising=True),
        "cumulative": Array("edges", least=0.0, most=np.finfo(float).max, rising=True),
        "horizon": Array(MODEL, least=np.finfo(float).tiny),
    }

    coef: F64
    edges: F64
    cumulative: F64
    horizon: float

    @property
    def base_value(self) -> float:
        return 0.0

    def predicted(self, predictor: F64) -> F64:
        """The risk of an event by the horizon."""
        return 1.0 - self.survival(predictor, np.array([self.horizon]))[:, 0]

    def survival(self, predictor: F64, times: F64) -> F64:
        """(n, m): probability of no event until each of some times (m,)."""
        ratio = np.exp(np.minimum(predictor, LARGEST_LOG_HAZARD))
        return np.exp(-np.outer(ratio, np.interp(times, self.edges, self.cumulative)))

    @property
    def notable(self) -> float:
        return NOTABLE_LOG_ODDS

    def with_horizon(self, horizon: float) -> HazardAttribution:
        return replace(self, horizon=horizon)

    def check(self) -> None:
        if not 2 <= self.edges.size == self.cumulative.size <= MOST_EDGES:
            raise ValueError("the times of its baseline hazard are too few or too many")
        if self.edges[0] != 0.0 or self.cumulative[0] != 0.0 or not (np.diff(self.edges) > 0.0).all():
            raise ValueError("its baseline hazard is not one")
        if self.horizon > self.edges[-1]:
            raise ValueError("its horizon is later than any time of its baseline hazard")


@dataclass(frozen=True, kw_only=True)
class SurvivalWords(Words):
    """Of the time to an event; risks are told by the ``horizon``, which somebody may have ``chosen``."""

    kind: ClassVar[str] = "survival"
    estimator: ClassVar[str] = "RCISurvival"
    happening: ClassVar[str] = "the event"
    is_ratio: ClassVar[bool] = True
    columns: ClassVar[tuple[str, str | None]] = ("risk", "log_hazard")
    scale: ClassVar[str] = "log-hazard"
    added: ClassVar[str] = "hazard times"
    subject: ClassVar[str] = "the event"
    node: ClassVar[str] = "event"
    of_order: ClassVar[str] = "the hazard ratio of a shock of one standard deviation"
    of_causes: ClassVar[str] = "root causes, and by how much each multiplies the hazard"
    of_columns: ClassVar[str] = "the log-hazard that each variable adds"

    horizon: float
    chosen: bool = False

    @classmethod
    def of(
        cls, attribution: Attribution, called: str | None, unit: str, parameters: Mapping[str, Any]
    ) -> SurvivalWords:
        assert isinstance(attribution, HazardAttribution)
        chosen = parameters.get("horizon")
        horizon = attribution.horizon if chosen is None else float(chosen)
        return cls(of_what=called or cls.subject, unit=unit, horizon=horizon, chosen=chosen is not None)

    @property
    def prediction(self) -> str:
        return f"risk by {self.when}"

    @property
    def when(self) -> str:
        """The horizon in words: ``5 years``, ``time 5``."""
        return f"{self.horizon:,g} {self.unit}" if self.unit else f"time {self.horizon:,g}"

    @property
    def axis(self) -> str:
        return f"hazard ratio; {self.prediction}"

    @property
    def header(self) -> tuple[str, ...]:
        return (self.prediction, "hazard")

    def cells(self, predicted: float, predictor: float) -> tuple[str, ...]:
        return self.predicted(predicted), self.beside(predictor)

    def reached(self, predictor: float, predicted: float) -> str:
        return self.predicted(predicted)

    def beside(self, value: float) -> str:
        return f"×{fold(value)}"

    def end(self, value: float) -> str:
        return fold(value)

    def direct(self, effect: float, signless: bool) -> str:
        return self.beside(abs(effect) if signless else effect)

    def adds(self, value: float) -> str:
        size = fold(abs(value))
        if size == "1.00":
            return "hardly changes the hazard"
        return f"{'raises' if value > 0 else 'lowers'} the hazard {size}-fold"

    def moved_by(self, size: float) -> str:
        return f"the hazard of {self.of_what} {fold(size)}-fold"

    def base(self, value: float, average: str) -> str:
        return f"log-hazards are relative to a patient whose {average} are all average, who has 0"

    def meaning(self, base_value: float, covariates: bool) -> str:
        average, parts = "shocks", "all variables"
        if covariates:
            average, parts = "shocks and covariates", "these and all variables"
        return wrapped(
            f"What the numbers mean: {self.prediction} is the probability of the event until then, by "
            "the model. The hazard is how fast the event comes, relative to a patient whose "
            f"{average} are all average (×1.00). A root cause is a variable whose own shock, {ITS_OWN}, "
            "raises this patient's hazard; the largest comes first. ×2 doubles the hazard, ×0.50 "
            f"halves it; what {parts} do, multiplied, makes the patient's hazard."
        )

    def left_unnamed(self, notable: float) -> str:
        return f"Shocks that change the hazard less than {fold(notable)}-fold are not named."

    def populations(self) -> Sequence[str]:
        why = "" if self.chosen else ", the median time of the events"
        return (f"Risks are told by {self.when}{why}; --horizon chooses another time.",)

    def facts(self) -> dict[str, str | float]:
        facts: dict[str, str | float] = {"scale": self.scale, "horizon": self.horizon}
        return {**facts, "time_unit": self.unit} if self.unit else facts

    @classmethod
    def unit_name(cls, called: str | None) -> str:
        return "time"

    def page(self, attribution: Attribution, made: Mapping[str, Any]) -> dict[str, Any]:
        """The hazard of a patient whose shocks are all average, and the horizon."""
        assert isinstance(attribution, HazardAttribution)
        return {
            "horizon": self.horizon,
            "unit": self.unit,
            "when": self.when,
            "times": attribution.edges.tolist(),
            "hazards": attribution.cumulative.tolist(),
            "events": made["events"],
        }


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
