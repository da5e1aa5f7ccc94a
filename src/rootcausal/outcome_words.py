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

# What a number is called that the user gave no name.
NO_NAME = "the outcome"


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
    is_ratio : whether adding on the scale means multiplying, so that axes show ratios.
    axis : what an axis of the scale is called: ``log-odds``.
    added : the same where it shows what shocks add: ``added log-odds``.
    raises : what a variable is to patients whose shock on it adds, and whose others add less.
    """

    estimator: ClassVar[str]
    happening: ClassVar[str]
    predictions: ClassVar[str]
    kind: ClassVar[str]
    is_chance: ClassVar[bool]
    is_ratio: ClassVar[bool]
    raises: ClassVar[tuple[str, str]]

    @property
    def scale(self) -> str: ...

    @property
    def of_what(self) -> str: ...

    @property
    def prediction(self) -> str: ...

    @property
    def axis(self) -> str: ...

    @property
    def added(self) -> str: ...

    def predicted(self, value: float) -> str:
        """A prediction for the screen: ``31%``, ``62.3 ml/min``."""
        ...

    def reached(self, predictor: float, predicted: float) -> str:
        """Where a patient stands on the axis: ``+1.24``, ``31%``, ``62.3 ml/min``."""
        ...

    def beside(self, value: float) -> str:
        """A Shapley value beside its bar: ``+0.59``, ``×1.80``, ``+4.2``."""
        ...

    def adds(self, value: float) -> str:
        """What a shock of this Shapley value does: ``raises the hazard 1.8-fold``, ``adds 4.2 ml/min``."""
        ...

    def moved_by(self, size: float) -> str:
        """The outcome and a change of it: ``the disease by 0.1 log-odds``."""
        ...


@dataclass(frozen=True)
class YesNoWords:
    """Of a diagnosis."""

    estimator: ClassVar[str] = "RCI"
    happening: ClassVar[str] = "the diagnosis"
    predictions: ClassVar[str] = "risks"
    kind: ClassVar[str] = "yes_no"
    is_chance: ClassVar[bool] = True
    is_ratio: ClassVar[bool] = False
    scale: ClassVar[str] = "log-odds"
    prediction: ClassVar[str] = "risk"
    axis: ClassVar[str] = "log-odds"
    raises: ClassVar[tuple[str, str]] = ("a root cause", "the strongest")
    added: ClassVar[str] = "added log-odds"

    of_what: str

    def predicted(self, value: float) -> str:
        return percent(value)

    def reached(self, predictor: float, predicted: float) -> str:
        return f"{predictor:+.2f}"

    def beside(self, value: float) -> str:
        return f"{value:+.2f}"

    def adds(self, value: float) -> str:
        return f"{'raises' if value >= 0 else 'lowers'} the log-odds by {abs(value):.2f}"

    def moved_by(self, size: float) -> str:
        return f"{self.of_what} by {size:g} log-odds"


@dataclass(frozen=True)
class SurvivalWords:
    """Of the time to an event; risks are told by the ``horizon``, in ``unit``, if that is known."""

    estimator: ClassVar[str] = "RCISurvival"
    happening: ClassVar[str] = "the event"
    predictions: ClassVar[str] = "risks"
    kind: ClassVar[str] = "survival"
    is_chance: ClassVar[bool] = True
    is_ratio: ClassVar[bool] = True
    scale: ClassVar[str] = "log-hazard"
    added: ClassVar[str] = "hazard times"
    raises: ClassVar[tuple[str, str]] = ("a root cause", "the strongest")

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

    @property
    def axis(self) -> str:
        return f"hazard ratio; {self.prediction}"

    def predicted(self, value: float) -> str:
        return percent(value)

    def reached(self, predictor: float, predicted: float) -> str:
        return percent(predicted)

    def beside(self, value: float) -> str:
        return f"×{fold(value)}"

    def adds(self, value: float) -> str:
        size = fold(abs(value))
        if size == "1.00":
            return "hardly changes the hazard"
        return f"{'raises' if value > 0 else 'lowers'} the hazard {size}-fold"

    def moved_by(self, size: float) -> str:
        return f"the hazard of {self.of_what} {fold(size)}-fold"


@dataclass(frozen=True)
class NumberWords:
    """Of a number, in ``unit``, if that is known; ``spread`` is its standard deviation in the cohort."""

    estimator: ClassVar[str] = "RCIRegressor"
    happening: ClassVar[str] = "the outcome"
    predictions: ClassVar[str] = "expected values"
    kind: ClassVar[str] = "number"
    is_chance: ClassVar[bool] = False
    is_ratio: ClassVar[bool] = False
    raises: ClassVar[tuple[str, str]] = ("raises it", "raises it most")

    of_what: str
    spread: float
    unit: str = ""

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

    def predicted(self, value: float) -> str:
        return f"{self._number(value)} {self.unit}".rstrip()

    def reached(self, predictor: float, predicted: float) -> str:
        return self._number(predicted)

    def beside(self, value: float) -> str:
        size = self._number(abs(value))
        return size if float(size.replace(",", "")) == 0.0 else f"{'+' if value >= 0 else '-'}{size}"

    def adds(self, value: float) -> str:
        return f"{'adds' if value >= 0 else 'takes away'} {self.predicted(abs(value))}"

    def moved_by(self, size: float) -> str:
        return f"{self.of_what} by {self.predicted(size)}"

    @property
    def digits(self) -> int:
        """As many as a tenth of a standard deviation of the number needs, and one more."""
        return min(max(0, 1 - math.floor(math.log10(self.spread / 10.0))), 12)

    def _number(self, value: float) -> str:
        return f"{value:,.{self.digits}f}"


def words_of(attribution: Attribution, target: str | None = None, unit: str = "") -> OutcomeWords:
    """The words of a model's outcome.

    Parameters
    ----------
    target : what the user calls the disease, the event or the number.
    unit : of the times, or of the number.
    """
    called, unit = None if target is None else one_line(target), one_line(unit, 30)
    if isinstance(attribution, HazardAttribution):
        return SurvivalWords(called or "the event", attribution.horizon, unit)
    if attribution.outcome == NumberWords.kind:
        return NumberWords(called or NO_NAME, attribution.notable * 10.0, unit)
    return YesNoWords(called or "the disease")


def percent(chance: float, prevalence: float | None = None) -> str:
    """A probability in percent, never certain where rounding would make it so; finer of a rare disease."""
    if chance < 0.01 and prevalence is not None:
        return "under 0.01%" if chance < 1e-4 else f"{100 * chance:.1g}%"
    return "under 1%" if chance < 0.01 else "over 99%" if chance > 0.99 else f"{chance:.0%}"


def fold(log_ratio: float) -> str:
    """Exp of it, with the digits that matter: ``1.84``, ``12``."""
    ratio = math.exp(min(log_ratio, 20.0))
    if ratio < 0.1:
        return f"{ratio:.2g}"
    return f"{ratio:.2f}" if ratio < 10.0 else f"{ratio:,.0f}"
