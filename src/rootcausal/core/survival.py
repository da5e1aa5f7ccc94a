"""The time to an event, or to the end of follow-up: errors add to the log-hazard.

Columns are screened against martingale residuals. The loss is the Poisson form of proportional hazards on the
intervals of a :class:`~.clock.Clock` (piecewise-exponential): a sum over rows, as Cox's partial likelihood is
not, with coefficients that are next to Cox's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from .clock import Clock
from .linear import MOST_LOG_ODDS, NOTABLE_LOG_ODDS
from .loops import Loops
from .moments import Columns, ScoreMoments, correlation_p_values
from .population import ClassWeights
from .proportional import Proportional
from .schema import MODEL, Array
from .table import F64, LARGEST_LOG_HAZARD, ColumnMoments, Index, LossSums, Table

# With fewer events nothing can be learned of hazards.
FEWEST_EVENTS = 2
MOST_EDGES = 1000


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


@dataclass(frozen=True, eq=False)
class HazardLoss:
    """The log-likelihood of follow-up in the errors at ``cols``; its baseline are intervals' log-hazards."""

    table: Table
    cols: Index
    start: F64

    @property
    def n_rows(self) -> int:
        return self.table.shape[0]

    @property
    def loops(self) -> Loops:
        return self.table.loops

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
