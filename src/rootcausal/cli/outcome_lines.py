"""What commands say of an outcome, on a terminal and in the names of columns; one class for each kind."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from ..outcome_words import NumberWords, OutcomeWords, SurvivalWords, fold, percent, words_of
from ..survival import RCISurvival
from ..wording import share

if TYPE_CHECKING:
    from ..estimator import Estimator

WIDTH = 100
ITS_OWN = "the part of its value that its causes do not explain"


class OutcomeLines(Protocol):
    """What is said of one outcome.

    Attributes
    ----------
    words : those that pages use, too.
    subject : what it is in a sentence: ``the disease``.
    node : what it is at the end of an arrow: ``disease``.
    told : what patients are told, in a sentence: ``risk``.
    of_order : what the numbers of a causal order are.
    of_causes : what those of a patient's root causes are.
    no_causes : what is said of a patient who has none.
    of_columns : what the columns of variables hold in a table of scores.
    both_ways : whether a shock counts that lowers it.
    header : of a table of patients, what is predicted and what shocks add to.
    columns : names of the same in a table of scores; the last is None where both are the same.
    """

    both_ways: ClassVar[bool]
    columns: ClassVar[tuple[str, str | None]]

    @property
    def words(self) -> OutcomeWords: ...

    @property
    def subject(self) -> str: ...

    @property
    def node(self) -> str: ...

    @property
    def told(self) -> str: ...

    @property
    def of_order(self) -> str: ...

    @property
    def of_causes(self) -> str: ...

    @property
    def no_causes(self) -> str: ...

    @property
    def of_columns(self) -> str: ...

    @property
    def header(self) -> tuple[str, ...]: ...

    def cells(self, predicted: float, predictor: float) -> tuple[str, ...]:
        """Those of one patient, below the header."""
        ...

    def predicted(self, value: float) -> str:
        """What a patient is told."""
        ...

    def per_sd(self, effect: float) -> str:
        """What a shock of one standard deviation does."""
        ...

    def size(self, value: float) -> str:
        """What one patient's shock does, in brief."""
        ...

    def end(self, value: float) -> str:
        """The same as an end of an interval."""
        ...

    def direct(self, effect: float, signless: bool) -> str:
        """What a standard deviation of a cause does, all else held fixed; of some the sign means nothing."""
        ...

    def base(self, value: float, average: str) -> str:
        """What is said of the base value beside a table; ``average`` ends in "shocks"."""
        ...

    def meaning(self, base_value: float, covariates: bool) -> str:
        """What the printed numbers mean."""
        ...

    def left_unnamed(self, notable: float) -> str:
        """The rule by which weak shocks are not named, ``notable`` being the size from which they are."""
        ...

    def facts(self) -> dict[str, str | float]:
        """What a table of scores says of its numbers."""
        ...

    def units(self, called: str | None) -> dict[str, str]:
        """Units for a page, as reports take them; the page calls the outcome so."""
        ...

    def populations(self) -> Sequence[str]:
        """Whom risks are about, or by when they are told."""
        ...


@dataclass(frozen=True)
class YesNoLines:
    """Of a diagnosis; ``prevalence`` is how common it is in the population, if that was said."""

    both_ways: ClassVar[bool] = False
    columns: ClassVar[tuple[str, str | None]] = ("risk", "log_odds")
    subject: ClassVar[str] = "the disease"
    node: ClassVar[str] = "disease"
    told: ClassVar[str] = "risk"
    of_order: ClassVar[str] = "the log-odds of disease that a shock of one standard deviation adds"
    of_causes: ClassVar[str] = "root causes, with the log-odds that each adds"
    no_causes: ClassVar[str] = "none: no single shock stands out"
    of_columns: ClassVar[str] = "the log-odds that each variable adds"
    header: ClassVar[tuple[str, ...]] = ("risk", "log-odds")

    words: OutcomeWords
    prevalence: float | None = None

    def cells(self, predicted: float, predictor: float) -> tuple[str, ...]:
        return self.predicted(predicted), f"{predictor:+.2f}"

    def predicted(self, value: float) -> str:
        return percent(value, self.prevalence)

    def per_sd(self, effect: float) -> str:
        return f"{effect:+.3f}"

    def size(self, value: float) -> str:
        return self.words.beside(value)

    def end(self, value: float) -> str:
        return self.size(value)

    def direct(self, effect: float, signless: bool) -> str:
        return f" {abs(effect):.2f} log-odds" if signless else f"{effect:+.2f} log-odds"

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

    def facts(self) -> dict[str, str | float]:
        return {"scale": self.words.scale}

    def units(self, called: str | None) -> dict[str, str]:
        return {}

    def populations(self) -> Sequence[str]:
        if self.prevalence is None:
            return ()
        return (
            f"Risks and base value are those in a population of which {share(self.prevalence)} have the "
            "disease.",
        )


@dataclass(frozen=True)
class SurvivalLines:
    """Of the time to an event; ``chosen`` is whether somebody chose the horizon."""

    both_ways: ClassVar[bool] = False
    columns: ClassVar[tuple[str, str | None]] = ("risk", "log_hazard")
    subject: ClassVar[str] = "the event"
    node: ClassVar[str] = "event"
    told: ClassVar[str] = "risk"
    of_order: ClassVar[str] = "the hazard ratio of a shock of one standard deviation"
    of_causes: ClassVar[str] = "root causes, and by how much each multiplies the hazard"
    no_causes: ClassVar[str] = "none: no single shock stands out"
    of_columns: ClassVar[str] = "the log-hazard that each variable adds"

    words: SurvivalWords
    chosen: bool

    @property
    def header(self) -> tuple[str, ...]:
        return (self.words.prediction, "hazard")

    def cells(self, predicted: float, predictor: float) -> tuple[str, ...]:
        return self.predicted(predicted), self.size(predictor)

    def predicted(self, value: float) -> str:
        return self.words.predicted(value)

    def per_sd(self, effect: float) -> str:
        return fold(effect)

    def size(self, value: float) -> str:
        return self.words.beside(value)

    def end(self, value: float) -> str:
        return fold(value)

    def direct(self, effect: float, signless: bool) -> str:
        return self.size(abs(effect) if signless else effect)

    def base(self, value: float, average: str) -> str:
        return f"log-hazards are relative to a patient whose {average} are all average, who has 0"

    def meaning(self, base_value: float, covariates: bool) -> str:
        average, parts = "shocks", "all variables"
        if covariates:
            average, parts = "shocks and covariates", "these and all variables"
        return wrapped(
            f"What the numbers mean: {self.words.prediction} is the probability of the event until then, by "
            "the model. The hazard is how fast the event comes, relative to a patient whose "
            f"{average} are all average (×1.00). A root cause is a variable whose own shock, {ITS_OWN}, "
            "raises this patient's hazard; the largest comes first. ×2 doubles the hazard, ×0.50 "
            f"halves it; what {parts} do, multiplied, makes the patient's hazard."
        )

    def left_unnamed(self, notable: float) -> str:
        return f"Shocks that change the hazard less than {fold(notable)}-fold are not named."

    def facts(self) -> dict[str, str | float]:
        facts: dict[str, str | float] = {"scale": self.words.scale, "horizon": self.words.horizon}
        return {**facts, "time_unit": self.words.unit} if self.words.unit else facts

    def units(self, called: str | None) -> dict[str, str]:
        return {"time": self.words.unit} if self.words.unit else {}

    def populations(self) -> Sequence[str]:
        why = "" if self.chosen else ", the median time of the events"
        return (f"Risks are told by {self.words.when}{why}; --horizon chooses another time.",)


@dataclass(frozen=True)
class NumberLines:
    """Of a number."""

    both_ways: ClassVar[bool] = True
    columns: ClassVar[tuple[str, str | None]] = ("predicted", None)
    told: ClassVar[str] = "expected value"
    no_causes: ClassVar[str] = "nothing: no single shock stands out"

    words: NumberWords

    @property
    def subject(self) -> str:
        return self.words.of_what

    @property
    def node(self) -> str:
        return self.words.of_what

    @property
    def of_order(self) -> str:
        return f"what a shock of one standard deviation adds to {self.words.of_what}{self._in_unit}"

    @property
    def of_causes(self) -> str:
        return f"what moved it most{self._in_unit}"

    @property
    def of_columns(self) -> str:
        return f"what each variable adds{self._in_unit}"

    @property
    def _in_unit(self) -> str:
        return f", in {self.words.unit}" if self.words.unit else ""

    @property
    def header(self) -> tuple[str, ...]:
        return (self.words.prediction,)

    def cells(self, predicted: float, predictor: float) -> tuple[str, ...]:
        return (self.predicted(predicted),)

    def predicted(self, value: float) -> str:
        return self.words.predicted(value)

    def per_sd(self, effect: float) -> str:
        # Nothing has no sign, and stands below the digits of others.
        return self.size(effect) if self.size(effect)[0] in "+-" else f" {self.size(effect)}"

    def size(self, value: float) -> str:
        return self.words.beside(value)

    def end(self, value: float) -> str:
        return self.size(value)

    def direct(self, effect: float, signless: bool) -> str:
        size = self.size(abs(effect)).replace("+", " ", 1) if signless else self.size(effect)
        return f"{size} {self.words.unit}".rstrip()

    def base(self, value: float, average: str) -> str:
        return f"base value: {self.predicted(value)}, what is expected when all {average} are average"

    def meaning(self, base_value: float, covariates: bool) -> str:
        average, parts = "shocks", "what all variables add"
        if covariates:
            average, parts = "shocks and covariates", "what these and all variables add"
        of_what, unit = self.words.of_what, self._in_unit
        return wrapped(
            f"What the numbers mean: {self.words.prediction} is what the model expects of this patient. A "
            f"shock is {ITS_OWN.replace('its value', 'the value of a variable')}; a plus says how much it "
            f"adds to {of_what}{unit}, a minus how much it takes away; the largest, up or down, comes "
            f"first. {self.predicted(base_value)} is expected of a patient whose {average} are all average; "
            f"that and {parts} make what is expected of this one."
        )

    def left_unnamed(self, notable: float) -> str:
        size = self.words.predicted(notable)
        return f"Shocks that change it by less than {size}, a tenth of its standard deviation, are not named."

    def facts(self) -> dict[str, str | float]:
        return {"scale": self.words.scale, "outcome": self.words.of_what}

    def units(self, called: str | None) -> dict[str, str]:
        return {} if called is None or not self.words.unit else {called: self.words.unit}

    def populations(self) -> Sequence[str]:
        return ()


def wrapped(text: str) -> str:
    """Return a paragraph in lines of about the width of a page."""
    return textwrap.fill(text, WIDTH, break_on_hyphens=False)


def lines_of(model: "Estimator", horizon: float | None = None) -> OutcomeLines:
    """What to say of the outcome of a fitted model, risks being told by the ``horizon`` if one is given."""
    reading, parameters = model.provenance_.get("reading", {}), model.provenance_["parameters"]
    attribution = model._by(horizon) if isinstance(model, RCISurvival) else model._model.attribution
    words = words_of(attribution, reading.get("called"), reading.get("unit", ""))
    if isinstance(words, SurvivalWords):
        return SurvivalLines(words, horizon is not None or parameters.get("horizon") is not None)
    if isinstance(words, NumberWords):
        return NumberLines(words)
    return YesNoLines(words, parameters.get("prevalence"))
