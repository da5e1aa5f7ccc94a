"""A diagnosis, yes or no: log-odds are what errors add to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..core.halves import Attribution
from ..wording import percent, share
from .words import ITS_OWN, Words


@dataclass(frozen=True, kw_only=True)
class BinaryWords(Words):
    """Of a diagnosis; ``prevalence`` is how common it is in the population, if that was said."""

    kind: ClassVar[str] = "yes_no"
    estimator: ClassVar[str] = "RCI"
    happening: ClassVar[str] = "the diagnosis"
    columns: ClassVar[tuple[str, str | None]] = ("risk", "log_odds")
    effect_ends: ClassVar[bool] = False
    scale: ClassVar[str] = "log-odds"
    prediction: ClassVar[str] = "risk"
    axis: ClassVar[str] = "log-odds"
    added: ClassVar[str] = "added log-odds"
    subject: ClassVar[str] = "the disease"
    node: ClassVar[str] = "disease"
    of_order: ClassVar[str] = "the log-odds of disease that a shock of one standard deviation adds"
    of_causes: ClassVar[str] = "root causes, with the log-odds that each adds"
    of_columns: ClassVar[str] = "the log-odds that each variable adds"
    header: ClassVar[tuple[str, ...]] = ("risk", "log-odds")

    prevalence: float | None = None

    @classmethod
    def of(
        cls, attribution: Attribution, called: str | None, unit: str, parameters: Mapping[str, Any]
    ) -> BinaryWords:
        return cls(of_what=called or cls.subject, prevalence=parameters.get("prevalence"))

    def predicted(self, value: float) -> str:
        return percent(value, self.prevalence)

    def cells(self, predicted: float, predictor: float) -> tuple[str, ...]:
        return self.predicted(predicted), self.beside(predictor)

    def reached(self, predictor: float, predicted: float) -> str:
        return self.beside(predictor)

    def beside(self, value: float) -> str:
        return f"{value:+.2f}"

    def per_sd(self, effect: float) -> str:
        return f"{effect:+.3f}"

    def direct(self, effect: float, signless: bool) -> str:
        return f" {abs(effect):.2f} log-odds" if signless else f"{effect:+.2f} log-odds"

    def adds(self, value: float) -> str:
        return f"{'raises' if value >= 0 else 'lowers'} the log-odds by {abs(value):.2f}"

    def moved_by(self, size: float) -> str:
        return f"{self.of_what} by {size:g} log-odds"

    def base(self, value: float, average: str) -> str:
        return (
            f"base value: {value:+.4f}, the log-odds when all {average} are average; it is not the prevalence"
        )

    def meaning(self, base_value: float, covariates: bool) -> str:
        average, parts = "", "what all variables add"
        if covariates:
            average, parts = " and covariates", "what these and all variables add"
        return (
            "What the numbers mean: risk is the probability of disease under the model. A root cause is a\n"
            f"variable whose own shock, {ITS_OWN}, raises this\n"
            "patient's log-odds of disease; the largest comes first. +0.69 doubles the odds, -0.69 halves "
            "them.\n"
            f"The base value, {base_value:+.2f}, is the log-odds of a patient whose shocks{average} are all "
            f"average;\nit is not the prevalence. The base value and {parts} make the patient's log-odds."
        )

    def left_unnamed(self, notable: float) -> str:
        return f"Shocks that change the log-odds by less than {notable:g} are not named."

    def populations(self) -> Sequence[str]:
        if self.prevalence is None:
            return ()
        return (
            f"Risks and base value are those in a population of which {share(self.prevalence)} have the "
            "disease.",
        )
