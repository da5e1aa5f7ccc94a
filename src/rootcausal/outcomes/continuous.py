"""A number, such as a score of severity: errors add to its expected value, in its own unit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..core.halves import Attribution
from .words import ITS_OWN, Words, wrapped

# What a number is called that the user gave no name.
NO_NAME = "the outcome"
# The steps in which the page keeps intervals, of the number's standard deviation.
STEP_OF_SPREAD = 0.001


@dataclass(frozen=True, kw_only=True)
class ContinuousWords(Words):
    """Of a number; ``spread`` is its standard deviation in the cohort."""

    kind: ClassVar[str] = "number"
    estimator: ClassVar[str] = "RCIRegressor"
    happening: ClassVar[str] = NO_NAME
    told: ClassVar[str] = "expected value"
    predictions: ClassVar[str] = "expected values"
    is_chance: ClassVar[bool] = False
    both_ways: ClassVar[bool] = True
    raises: ClassVar[tuple[str, str]] = ("raises it", "raises it most")
    no_causes: ClassVar[str] = "nothing: no single shock stands out"
    columns: ClassVar[tuple[str, str | None]] = ("predicted", None)

    spread: float

    @classmethod
    def of(
        cls, attribution: Attribution, called: str | None, unit: str, parameters: Mapping[str, Any]
    ) -> ContinuousWords:
        return cls(of_what=called or NO_NAME, unit=unit, spread=attribution.notable * 10.0)

    @property
    def scale(self) -> str:
        return self.unit or self.of_what

    @property
    def prediction(self) -> str:
        return "expected value" if self.of_what == NO_NAME else f"expected {self.of_what}"

    @property
    def axis(self) -> str:
        return f"{self.prediction} ({self.unit})" if self.unit else self.prediction

    @property
    def added(self) -> str:
        return f"added to {self.of_what}" + (f" ({self.unit})" if self.unit else "")

    @property
    def subject(self) -> str:
        return self.of_what

    @property
    def node(self) -> str:
        return self.of_what

    @property
    def _in_unit(self) -> str:
        return f", in {self.unit}" if self.unit else ""

    @property
    def of_order(self) -> str:
        return f"what a shock of one standard deviation adds to {self.of_what}{self._in_unit}"

    @property
    def of_causes(self) -> str:
        return f"what moved it most{self._in_unit}"

    @property
    def of_columns(self) -> str:
        return f"what each variable adds{self._in_unit}"

    @property
    def header(self) -> tuple[str, ...]:
        return (self.prediction,)

    @property
    def digits(self) -> int:
        """As many as a tenth of a standard deviation of the number needs, and one more."""
        return min(max(0, 1 - math.floor(math.log10(self.spread / 10.0))), 12)

    def _number(self, value: float) -> str:
        return f"{value:,.{self.digits}f}"

    def predicted(self, value: float) -> str:
        return f"{self._number(value)} {self.unit}".rstrip()

    def cells(self, predicted: float, predictor: float) -> tuple[str, ...]:
        return (self.predicted(predicted),)

    def reached(self, predictor: float, predicted: float) -> str:
        return self._number(predicted)

    def beside(self, value: float) -> str:
        size = self._number(abs(value))
        return size if float(size.replace(",", "")) == 0.0 else f"{'+' if value >= 0 else '-'}{size}"

    def per_sd(self, effect: float) -> str:
        # Nothing has no sign, and stands below the digits of others.
        return self.beside(effect) if self.beside(effect)[0] in "+-" else f" {self.beside(effect)}"

    def direct(self, effect: float, signless: bool) -> str:
        size = self.beside(abs(effect)).replace("+", " ", 1) if signless else self.beside(effect)
        return f"{size} {self.unit}".rstrip()

    def adds(self, value: float) -> str:
        return f"{'adds' if value >= 0 else 'takes away'} {self.predicted(abs(value))}"

    def moved_by(self, size: float) -> str:
        return f"{self.of_what} by {self.predicted(size)}"

    def base(self, value: float, average: str) -> str:
        return f"base value: {self.predicted(value)}, what is expected when all {average} are average"

    def meaning(self, base_value: float, covariates: bool) -> str:
        average, parts = "shocks", "what all variables add"
        if covariates:
            average, parts = "shocks and covariates", "what these and all variables add"
        of_what, unit = self.of_what, self._in_unit
        return wrapped(
            f"What the numbers mean: {self.prediction} is what the model expects of this patient. A "
            f"shock is {ITS_OWN.replace('its value', 'the value of a variable')}; a plus says how much it "
            f"adds to {of_what}{unit}, a minus how much it takes away; the largest, up or down, comes "
            f"first. {self.predicted(base_value)} is expected of a patient whose {average} are all average; "
            f"that and {parts} make what is expected of this one."
        )

    def left_unnamed(self, notable: float) -> str:
        size = self.predicted(notable)
        return f"Shocks that change it by less than {size}, a tenth of its standard deviation, are not named."

    def facts(self) -> dict[str, str | float]:
        return {"scale": self.scale, "outcome": self.of_what}

    @classmethod
    def unit_name(cls, called: str | None) -> str | None:
        return called

    @property
    def step(self) -> float:
        return STEP_OF_SPREAD * self.spread

    def page(self, attribution: Attribution, made: Mapping[str, Any]) -> dict[str, Any]:
        """How much it varies, and its unit."""
        return {"unit": self.unit, "digits": self.digits, "spread": self.spread, "mean": made["mean"]}
