"""What the page knows of each kind of outcome: how finely its scale is kept, and what happened to patients.

Its words are those of ``templates/outcomes.js``, which these facts fill in. One class for each kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from ..arrows import effect_intervals
from ..core.survival import HazardAttribution
from ..core.table import F64
from ..outcome_words import NumberWords, OutcomeWords, SurvivalWords, words_of

if TYPE_CHECKING:
    from ..estimator import Estimator
    from ..explanation import Explanation

BARS = 20
# The steps in which the page keeps intervals: of log-odds and log-hazards, and of a number's spread.
STEP, STEP_OF_SPREAD = 0.01, 0.001


class OutcomeView(Protocol):
    """What the page is told of one outcome.

    Attributes
    ----------
    step : the steps in which it keeps intervals, and predictors by level.
    origin : from where it counts these predictors.
    """

    @property
    def step(self) -> float: ...

    @property
    def origin(self) -> float: ...

    def facts(self) -> dict[str, Any]:
        """What the words on the page are made of."""
        ...

    def blocks(self, explanation: Explanation, known: np.ndarray | None) -> dict[str, F64]:
        """Of every patient (n, m): what is not in the blocks of all outcomes."""
        ...

    def effect_intervals(self, model: Estimator) -> list[list[float]] | None:
        """The ends of what a shock of one standard deviation adds, by the variables of the order."""
        ...

    def predictions(self, predicted: F64) -> dict[str, Any] | None:
        """How many patients (n,) have which prediction."""
        ...


@dataclass(frozen=True)
class YesNoView:
    """Of a diagnosis."""

    step: ClassVar[float] = STEP
    origin: ClassVar[float] = 0.0

    def facts(self) -> dict[str, Any]:
        return {}

    def blocks(self, explanation: Explanation, known: np.ndarray | None) -> dict[str, F64]:
        return _blocks(explanation, known)

    def effect_intervals(self, model: Estimator) -> None:
        return None

    def predictions(self, predicted: F64) -> dict[str, Any]:
        return _counted(predicted, (0.0, 1.0))


class _Measured:
    """What times and numbers have in common."""

    def blocks(self, explanation: Explanation, known: np.ndarray | None) -> dict[str, F64]:
        return _blocks(explanation, known)

    def effect_intervals(self, model: Estimator) -> list[list[float]] | None:
        if model.bootstrap_ is None:
            return None
        ends = effect_intervals(model.bootstrap_, model.n_features_in_)
        return ends[:, model.causal_order_].T.tolist()


@dataclass(frozen=True)
class SurvivalView(_Measured):
    """Of the time to an event: the hazard of a patient whose shocks are all average, and the horizon."""

    step: ClassVar[float] = STEP
    origin: ClassVar[float] = 0.0

    hazard: HazardAttribution
    words: SurvivalWords
    events: int

    def facts(self) -> dict[str, Any]:
        return {
            "horizon": self.hazard.horizon,
            "unit": self.words.unit,
            "when": self.words.when,
            "times": self.hazard.edges.tolist(),
            "hazards": self.hazard.cumulative.tolist(),
            "events": self.events,
        }

    def predictions(self, predicted: F64) -> dict[str, Any]:
        return _counted(predicted, (0.0, 1.0))


@dataclass(frozen=True)
class NumberView(_Measured):
    """Of a number: how much it varies, and its unit."""

    words: NumberWords
    base_value: float
    mean: float

    @property
    def step(self) -> float:
        return STEP_OF_SPREAD * self.words.spread

    @property
    def origin(self) -> float:
        return self.base_value

    def facts(self) -> dict[str, Any]:
        return {
            "unit": self.words.unit,
            "digits": self.words.digits,
            "spread": self.words.spread,
            "mean": self.mean,
        }

    def predictions(self, predicted: F64) -> dict[str, Any]:
        return _counted(predicted, None)


def view_of(explanation: Explanation, units: Mapping[str, str], target: str | None) -> OutcomeView:
    """What the page is told of the outcome of these patients; ``units`` may hold that of it, by name."""
    attribution, made = explanation._model.attribution, explanation.provenance
    words: OutcomeWords = words_of(attribution)
    if isinstance(attribution, HazardAttribution):
        timed = SurvivalWords(words.of_what, attribution.horizon, units.get("time", ""))
        return SurvivalView(attribution, timed, made["events"])
    if isinstance(words, NumberWords):
        named = NumberWords(words.of_what, words.spread, "" if target is None else units.get(target, ""))
        return NumberView(named, attribution.base_value, made["mean"])
    return YesNoView()


def _blocks(explanation: Explanation, known: np.ndarray | None) -> dict[str, F64]:
    """Intervals of predictions over resamples, and what happened, where it is known."""
    blocks = {}
    if explanation.predicted_interval is not None:
        blocks["predicted-interval"] = explanation.predicted_interval.T
    if known is not None:
        blocks["known"] = known.reshape(len(known), -1)
    return blocks


def _counted(predicted: F64, between: tuple[float, float] | None) -> dict[str, Any]:
    counts, edges = np.histogram(predicted, BARS, between)
    return {"counts": counts.tolist(), "edges": edges.tolist()}
