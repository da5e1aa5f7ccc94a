"""How each kind of outcome is spoken of: what shocks add to, and what is predicted, in a clinician's words.

One object for each kind, made of the model's own attribution. Whoever writes for people asks it, so that
nothing says log-odds where there are none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

from .core.halves import Attribution
from .core.survival import HazardAttribution
from .wording import one_line


class OutcomeWords(Protocol):
    """What is said of one outcome.

    Attributes
    ----------
    estimator : the class that users call: ``RCI``.
    happening : what is known of a patient once it is: ``the diagnosis``.
    predictions : what the model states of patients: ``risks``.
    kind : the name of the outcome.
    scale : what shocks add to, and values are in: ``log-odds``.
    of_what : what it is the scale of: ``the disease``.
    prediction : what patients are told: ``risk``.
    is_chance : whether that is a probability.
    """

    estimator: ClassVar[str]
    happening: ClassVar[str]
    predictions: ClassVar[str]
    kind: ClassVar[str]
    is_chance: ClassVar[bool]

    @property
    def scale(self) -> str: ...

    @property
    def of_what(self) -> str: ...

    @property
    def prediction(self) -> str: ...

    def predicted(self, value: float) -> str:
        """A prediction for the screen: ``31%``, ``62.3 ml/min``."""
        ...

    def adds(self, value: float) -> str:
        """What a shock of this Shapley value does: ``raises the hazard 1.8-fold``, ``adds 4.2 ml/min``."""
        ...


@dataclass(frozen=True)
class YesNoWords:
    """Of a diagnosis."""

    estimator: ClassVar[str] = "RCI"
    happening: ClassVar[str] = "the diagnosis"
    predictions: ClassVar[str] = "risks"
    kind: ClassVar[str] = "yes_no"
    is_chance: ClassVar[bool] = True
    scale: ClassVar[str] = "log-odds"
    prediction: ClassVar[str] = "risk"

    of_what: str

    def predicted(self, value: float) -> str:
        return percent(value)

    def adds(self, value: float) -> str:
        return f"{'raises' if value >= 0 else 'lowers'} the log-odds by {abs(value):.2f}"


@dataclass(frozen=True)
class SurvivalWords:
    """Of the time to an event; risks are told by the ``horizon``, in ``unit``, if that is known."""

    estimator: ClassVar[str] = "RCISurvival"
    happening: ClassVar[str] = "the event"
    predictions: ClassVar[str] = "risks"
    kind: ClassVar[str] = "survival"
    is_chance: ClassVar[bool] = True
    scale: ClassVar[str] = "log-hazard"

    of_what: str
    horizon: float
    unit: str = ""

    @property
    def prediction(self) -> str:
        return f"risk by {self.when}"

    @property
    def when(self) -> str:
        """The horizon in words: ``5 years``, ``time 5``."""
        return f"{self.horizon:,g} {self.unit}" if self.unit else f"time {self.horizon:,g}"

    def predicted(self, value: float) -> str:
        return percent(value)

    def adds(self, value: float) -> str:
        if value >= 0:
            return f"raises the hazard {fold(value)}-fold"
        return f"lowers the hazard {fold(-value)}-fold"


@dataclass(frozen=True)
class NumberWords:
    """Of a number, in ``unit``, if that is known; ``spread`` is its standard deviation in the cohort."""

    estimator: ClassVar[str] = "RCIRegressor"
    happening: ClassVar[str] = "the outcome"
    predictions: ClassVar[str] = "expected values"
    kind: ClassVar[str] = "number"
    is_chance: ClassVar[bool] = False

    of_what: str
    spread: float
    unit: str = ""

    @property
    def scale(self) -> str:
        return self.unit or self.of_what

    @property
    def prediction(self) -> str:
        return f"expected {self.of_what}"

    def predicted(self, value: float) -> str:
        return f"{self._number(value)} {self.unit}".rstrip()

    def adds(self, value: float) -> str:
        return f"{'adds' if value >= 0 else 'takes away'} {self.predicted(abs(value))}"

    def _number(self, value: float) -> str:
        """With as many digits as a tenth of a standard deviation of the number needs, and one more."""
        digits = max(0, 1 - math.floor(math.log10(self.spread / 10.0)))
        return f"{value:,.{min(digits, 12)}f}"


def words_of(attribution: Attribution, target: str | None = None, unit: str = "") -> OutcomeWords:
    """The words of a model's outcome.

    Parameters
    ----------
    target : what the user calls the disease, the event or the number.
    unit : of the times, or of the number.
    """
    called = None if target is None else one_line(target)
    if isinstance(attribution, HazardAttribution):
        return SurvivalWords(called or "the event", attribution.horizon, unit)
    if attribution.outcome == NumberWords.kind:
        return NumberWords(called or "the outcome", attribution.notable * 10.0, unit)
    return YesNoWords(called or "the disease")


def percent(chance: float) -> str:
    """A probability in percent; next to none and next to certain are said so."""
    if chance < 0.01:
        return "under 1%"
    return "over 99%" if chance > 0.99 else f"{chance:.0%}"


def fold(log_ratio: float) -> str:
    """Exp of it, with the digits that matter: ``1.84``, ``12``."""
    ratio = math.exp(min(log_ratio, 20.0))
    return f"{ratio:.2f}" if ratio < 10.0 else f"{ratio:,.0f}"
