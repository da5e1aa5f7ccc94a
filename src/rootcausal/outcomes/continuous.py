"""A number, such as a score of severity: errors add to its expected value, in its own unit.

Columns are screened by their correlation with it. The loss is least squares, of the number as standard
deviations from its mean, so a single look at the rows is enough: the rest is arithmetic on its sums.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..method.loops import Loops
from ..method.model_parts import MODEL, Array, Attribution
from ..method.table import F64, LARGEST, Index, LossSums, Table
from ..method.weighted import ClassWeights
from .base import Fold, Proportional, Scored, Specification, is_positive, mean_square
from .simulated import Asked, Drawn, Population
from .words import ITS_OWN, Words, wrapped

# Of the number's variance; where the errors leave less, they tell it for certain.
LEAST_VARIANCE = 1e-10
# With fewer it may well be a label.
FEWEST_VALUES = 3
# Of the number's standard deviation, from which a change of it is notable (see ``Attribution.notable``).
NOTABLE_SHARE = 0.1
# What a number is called that the user gave no name.
NO_NAME = "the outcome"
# The steps in which the page keeps intervals, of the number's standard deviation.
STEP_OF_SPREAD = 0.001


@dataclass(frozen=True)
class Continuous(Scored):
    """Numbers (n,) of this mean and standard deviation in the cohort."""

    name: ClassVar[str] = "continuous"
    variance: ClassVar[float] = 0.25  # of effects in standard deviations of the number, squared
    certain: ClassVar[str] = (
        "the errors tell every patient's number to the last digit, so nothing is left to tell effects from "
        "chance by"
    )

    mean: float
    sd: float

    @property
    def start(self) -> F64:
        return np.zeros(1)

    @property
    def chosen(self) -> str:
        return ", number"

    @classmethod
    def of(cls, known: np.ndarray) -> Continuous:
        # About a rough mean, so that a number such as 1.7e9 ± 1 keeps its variance.
        rough = float(known[0])
        return cls(rough + float((known - rough).mean()), float((known - rough).std(ddof=1)))

    def again(self, known: np.ndarray) -> Continuous:
        return Continuous.of(known)

    @staticmethod
    def is_enough(known: np.ndarray) -> bool:
        return bool(known.size) and bool(known.min() < known.max())

    @staticmethod
    def lacks(known: np.ndarray) -> str:
        return f"held one number only: the cohort has too few different ones ({np.unique(known).size})"

    def rows(self, known: np.ndarray) -> np.ndarray:
        return ((known - self.mean) / self.sd)[:, None]

    def loss(self, table: Table, cols: Index) -> SquareLoss:
        return SquareLoss.of(table, cols, self.start)

    def attribution(self, effects: F64, baseline: F64, weights: ClassWeights) -> ValueAttribution:
        return ValueAttribution(effects * self.sd, self.mean + float(baseline[0]) * self.sd, self.sd)


@dataclass(frozen=True, eq=False)
class SquareLoss:
    """The normal log-likelihood of a number, standardized, in the errors of some columns.

    Attributes
    ----------
    at_zero : its sums where no error has an effect, and the variance is one.
    variance : what all errors together leave of that of the number, corrected for their number.
    certain : whether they leave nothing of it.
    n_rows : how many rows it sums over.
    loops : those of whoever holds these.
    """

    at_zero: LossSums
    variance: float
    certain: bool
    n_rows: int
    start: F64
    loops: Loops
    collapsible: ClassVar[bool] = True

    @classmethod
    def of(cls, table: Table, cols: Index, start: F64) -> SquareLoss:
        n, k = table.shape[0], cols.size
        at_zero = table.square_sums(cols, np.zeros(k + 1))
        best = np.linalg.lstsq(at_zero.hessian, at_zero.gradient, rcond=None)[0]
        left = -2.0 * at_zero.loglik - float(at_zero.gradient @ best)
        # As if there was one patient more, of whom the errors tell nothing: where these are nearly as many as
        # the patients, they leave next to nothing, and that by chance.
        variance = min((max(left, 0.0) + 1.0) / (max(n - k - 1, 0) + 1.0), 1.0)
        return cls(at_zero, variance, left <= LEAST_VARIANCE * n, n, start, table.loops)

    def again(self, table: Table, cols: Index) -> SquareLoss:
        at_zero = table.square_sums(cols, np.zeros(cols.size + 1))
        return replace(self, at_zero=at_zero)

    def sums(self, beta: F64) -> LossSums:
        # A sum of squares is a parabola: what it is at zero tells what it is everywhere.
        fall = self.at_zero.hessian @ beta
        loglik = self.at_zero.loglik + float(beta @ (self.at_zero.gradient - 0.5 * fall))
        return (1.0 / self.variance) * LossSums(loglik, self.at_zero.gradient - fall, self.at_zero.hessian)

    def is_certain(self, loglik: float) -> bool:
        return self.certain


@dataclass(frozen=True, eq=False)
class ValueAttribution(Proportional):
    """The expected value as a linear function of the errors, in the number's own unit.

    Attributes
    ----------
    coef : (k,) what each unit of error adds, in causal order.
    intercept : what is expected of a patient whose errors are all zero.
    spread : standard deviation of the number in the cohort: by it effects are called large or small.
    """

    kind: ClassVar[str] = "value"
    outcome: ClassVar[str] = "continuous"
    ARRAYS: ClassVar[Mapping[str, Array]] = {
        "coef": Array.within(LARGEST),
        "intercept": Array.within(LARGEST, MODEL),
        "spread": Array(MODEL, least=np.finfo(float).tiny, most=LARGEST),
    }

    coef: F64
    intercept: float
    spread: float

    @property
    def base_value(self) -> float:
        return self.intercept

    def predicted(self, predictor: F64) -> F64:
        """The expected value is its own prediction."""
        return predictor

    @property
    def notable(self) -> float:
        return NOTABLE_SHARE * self.spread


def words_of(attribution: Attribution, called: str | None, unit: str, parameters: Mapping[str, Any]) -> Words:
    """The words of a number, written with the digits that a tenth of its spread needs, and one more."""
    of_what, spread = called or NO_NAME, attribution.notable * 10.0
    digits = min(max(0, 1 - math.floor(math.log10(spread / 10.0))), 12)
    prediction = "expected value" if of_what == NO_NAME else f"expected {of_what}"
    in_unit, in_brackets = (f", in {unit}", f" ({unit})") if unit else ("", "")

    def plain(value: float) -> str:
        return f"{value:,.{digits}f}"

    def predicted(value: float) -> str:
        return f"{plain(value)} {unit}".rstrip()

    def beside(value: float) -> str:
        size = plain(abs(value))
        return size if float(size.replace(",", "")) == 0.0 else f"{'+' if value >= 0 else '-'}{size}"

    def direct(effect: float, signless: bool) -> str:
        size = beside(abs(effect)).replace("+", " ", 1) if signless else beside(effect)
        return f"{size} {unit}".rstrip()

    def meaning(base_value: float, covariates: bool) -> str:
        average, parts = "shocks", "what all variables add"
        if covariates:
            average, parts = "shocks and covariates", "what these and all variables add"
        return wrapped(
            f"What the numbers mean: {prediction} is what the model expects of this patient. A shock is "
            f"{ITS_OWN.replace('its value', 'the value of a variable')}; a plus says how much it adds to "
            f"{of_what}{in_unit}, a minus how much it takes away; the largest, up or down, comes first. "
            f"{predicted(base_value)} is expected of a patient whose {average} are all average; that and "
            f"{parts} make what is expected of this one."
        )

    return Words(
        kind=Continuous.name,
        estimator="RCIRegressor",
        happening=NO_NAME,
        of_what=of_what,
        subject=of_what,
        node=of_what,
        scale=unit or of_what,
        unit=unit,
        prediction=prediction,
        told="expected value",
        predictions="expected values",
        is_chance=False,
        both_ways=True,
        raises=("raises it", "raises it most"),
        axis=f"{prediction}{in_brackets}",
        added=f"added to {of_what}{in_brackets}",
        header=(prediction,),
        columns=("predicted", None),
        of_order=f"what a shock of one standard deviation adds to {of_what}{in_unit}",
        of_causes=f"what moved it most{in_unit}",
        of_columns=f"what each variable adds{in_unit}",
        no_causes="nothing was found that stands out",
        facts={"scale": unit or of_what, "outcome": of_what},
        predicted=predicted,
        cells=lambda value, _: (predicted(value),),
        reached=lambda _, value: plain(value),
        beside=beside,
        end=beside,
        # Nothing has no sign, and stands below the digits of others.
        per_sd=lambda effect: beside(effect) if beside(effect)[0] in "+-" else f" {beside(effect)}",
        direct=direct,
        adds=lambda value: f"{'adds' if value >= 0 else 'takes away'} {predicted(abs(value))}",
        moved_by=lambda size: f"{of_what} by {predicted(size)}",
        base=lambda value, average: (
            f"base value: {predicted(value)}, what is expected when all {average} are average"
        ),
        meaning=meaning,
        left_unnamed=lambda size: (
            f"Shocks that change it by less than {predicted(size)}, a tenth of its standard deviation, are "
            "not named."
        ),
        page=lambda made: {"unit": unit, "digits": digits, "spread": spread, "mean": made["mean"]},
        step=STEP_OF_SPREAD * spread,
    )


class SimulatedNumber:
    """The sum, and an error of its own, like that of any other vertex."""

    name: ClassVar[str] = "severity"
    scale: ClassVar[str] = "in the unit of severity"
    has_classes: ClassVar[bool] = False
    rescue: ClassVar[str] = ""
    takes: ClassVar[tuple[str, ...]] = ()
    intercept = 0.0

    def __init__(self, population: Population) -> None:
        self._population = population

    @classmethod
    def of(cls, population: Population, asked: Asked) -> SimulatedNumber:
        return cls(population)

    def draw(self, predictor: F64) -> Drawn:
        return Drawn(predictor + self._population.own_errors(predictor.size))


def _performance(
    folds: Sequence[Fold], attribution: Attribution, parameters: Mapping[str, Any]
) -> dict[str, float]:
    """R², and root mean squared errors."""
    left = mean_square([fold.predicted - fold.known for fold in folds])
    null = mean_square([fold.null - fold.known for fold in folds])
    return {"r2": 1.0 - left / null, "error": left**0.5, "error_without_variables": null**0.5}


def _check_facts(made: Mapping[str, Any]) -> None:
    if not (type(made["mean"]) in (int, float) and math.isfinite(made["mean"]) and is_positive(made["sd"])):
        raise ValueError("its number does not vary")


CONTINUOUS = Specification(
    outcome=Continuous,
    attribution=ValueAttribution,
    words=words_of,
    simulator=SimulatedNumber,
    estimator="RCIRegressor",
    called="a number",
    labels=0,
    offers=(),
    unit_name=lambda called: called,
    performance=_performance,
    said_of={
        "r2": "it tells {:.0%} of the variance",
        "error": "typical error {:.3g}, without any variable {:.3g}",
    },
    check_facts=_check_facts,
    checks=("gives_away", "terminal", "calibrated", "straight", "even_spread", "influence"),
)
