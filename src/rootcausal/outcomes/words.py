"""How an outcome is spoken of: on the terminal, in figures and on the page, by one object for each kind.

It is made of the model's own attribution. Whoever writes for people asks it, so that nothing says log-odds
where there are none. What most kinds say is here; the module of a kind says what it says otherwise.
"""

from __future__ import annotations

import math
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from ..core.halves import Attribution
from ..wording import percent

WIDTH = 100
ITS_OWN = "the part of its value that its causes do not explain"
# The steps in which the page keeps intervals of log-odds and log-hazards.
STEP = 0.01


@dataclass(frozen=True, kw_only=True)
class Words(ABC):
    """What is said of one outcome.

    Attributes
    ----------
    kind : the name of the outcome.
    estimator : the class that users call: ``RCI``.
    happening : what is known of a patient once it is: ``the diagnosis``.
    told, predictions : what the model states of a patient, and of patients: ``risk``, ``risks``.
    is_chance : whether that is a probability.
    is_ratio : whether adding on the scale means multiplying, so that axes show ratios.
    both_ways : whether shocks that lower it count as much as those that raise it.
    raises : what a variable is to patients whose shock on it adds, and whose others add less.
    no_causes : what is said of a patient who has no root causes.
    columns : names of what is predicted, and of what shocks add to, in a table of scores; the second is None
        where both are the same.
    effect_ends : whether the page says the interval of what a shock of one standard deviation does.
    scale : what shocks add to, and values are in: ``log-odds``.
    prediction : what patients are told: ``risk by 5 years``.
    axis, added : what an axis of the scale is called, and one of what shocks add.
    subject, node : what the outcome is in a sentence, and at the end of an arrow: ``the disease``.
    of_order, of_causes, of_columns : what the numbers of a causal order are, those of a patient's root
        causes, and those of the columns of variables in a table of scores.
    header : of a table of patients, what is predicted and what shocks add to.
    of_what : what it is the scale of: ``the disease``, or what the user calls it.
    unit : of the times, or of the number; empty where that is not known.
    """

    kind: ClassVar[str]
    estimator: ClassVar[str]
    happening: ClassVar[str]
    told: ClassVar[str] = "risk"
    predictions: ClassVar[str] = "risks"
    is_chance: ClassVar[bool] = True
    is_ratio: ClassVar[bool] = False
    both_ways: ClassVar[bool] = False
    raises: ClassVar[tuple[str, str]] = ("a root cause", "the strongest")
    no_causes: ClassVar[str] = "none: no single shock stands out"
    columns: ClassVar[tuple[str, str | None]]
    effect_ends: ClassVar[bool] = True

    of_what: str
    unit: str = ""

    @classmethod
    @abstractmethod
    def of(
        cls, attribution: Attribution, called: str | None, unit: str, parameters: Mapping[str, Any]
    ) -> Self:
        """Of a model's outcome, which the user calls so, if anything; ``parameters`` are the model's."""

    # What is a plain text in one kind is made of a name or a horizon in another.
    @property
    @abstractmethod
    def scale(self) -> str: ...

    @property
    @abstractmethod
    def prediction(self) -> str: ...

    @property
    @abstractmethod
    def axis(self) -> str: ...

    @property
    @abstractmethod
    def added(self) -> str: ...

    @property
    @abstractmethod
    def subject(self) -> str: ...

    @property
    @abstractmethod
    def node(self) -> str: ...

    @property
    @abstractmethod
    def of_order(self) -> str: ...

    @property
    @abstractmethod
    def of_causes(self) -> str: ...

    @property
    @abstractmethod
    def of_columns(self) -> str: ...

    @property
    @abstractmethod
    def header(self) -> tuple[str, ...]: ...

    def predicted(self, value: float) -> str:
        """A prediction for the screen: ``31%``, ``62.3 ml/min``."""
        return percent(value)

    @abstractmethod
    def cells(self, predicted: float, predictor: float) -> tuple[str, ...]:
        """Those of one patient, below the header."""

    @abstractmethod
    def reached(self, predictor: float, predicted: float) -> str:
        """Where a patient stands on the axis: ``+1.24``, ``31%``, ``62.3 ml/min``."""

    @abstractmethod
    def beside(self, value: float) -> str:
        """A Shapley value in brief, as beside its bar: ``+0.59``, ``×1.80``, ``+4.2``."""

    def end(self, value: float) -> str:
        """The same as an end of an interval."""
        return self.beside(value)

    def per_sd(self, effect: float) -> str:
        """What a shock of one standard deviation does."""
        return self.end(effect)

    @abstractmethod
    def direct(self, effect: float, signless: bool) -> str:
        """What a standard deviation of a cause does, all else held fixed; of some the sign means nothing."""

    @abstractmethod
    def adds(self, value: float) -> str:
        """What a shock of this Shapley value does: ``raises the hazard 1.8-fold``, ``adds 4.2 ml/min``."""

    @abstractmethod
    def moved_by(self, size: float) -> str:
        """The outcome and a change of it: ``the disease by 0.1 log-odds``."""

    @abstractmethod
    def base(self, value: float, average: str) -> str:
        """What is said of the base value beside a table; ``average`` ends in "shocks"."""

    @abstractmethod
    def meaning(self, base_value: float, covariates: bool) -> str:
        """What the printed numbers mean."""

    @abstractmethod
    def left_unnamed(self, notable: float) -> str:
        """The rule by which weak shocks are not named, ``notable`` being the size from which they are."""

    def populations(self) -> Sequence[str]:
        """Whom risks are about, or by when they are told."""
        return ()

    def facts(self) -> dict[str, str | float]:
        """What a table of scores says of its numbers."""
        return {"scale": self.scale}

    @classmethod
    def unit_name(cls, called: str | None) -> str | None:
        """By which name the outcome's unit stands among those of the variables, if it has one."""
        return None

    def units(self, called: str | None) -> dict[str, str]:
        """Its unit as reports take it, beside those of variables; the page calls the outcome so."""
        name = self.unit_name(called)
        return {name: self.unit} if name and self.unit else {}

    @property
    def step(self) -> float:
        """The steps in which the page keeps intervals, and predictors by level."""
        return STEP

    def page(self, attribution: Attribution, made: Mapping[str, Any]) -> dict[str, Any]:
        """What the page fills into its own words; ``made`` says how the model was made."""
        return {}


def fold(log_ratio: float) -> str:
    """Exp of it, with the digits that matter: ``1.84``, ``12``."""
    ratio = math.exp(min(log_ratio, 20.0))
    if ratio < 0.1:
        return f"{ratio:.2g}"
    return f"{ratio:.2f}" if ratio < 10.0 else f"{ratio:,.0f}"


def wrapped(text: str) -> str:
    """A paragraph in lines of about the width of a page."""
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)
