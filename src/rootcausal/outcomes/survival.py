"""The time to an event, or to the end of follow-up: log-hazards are what errors add to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..core.halves import Attribution
from ..core.survival import HazardAttribution
from .words import ITS_OWN, Words, fold, wrapped


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
