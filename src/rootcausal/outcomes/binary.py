"""A diagnosis, yes or no: Welch's t-test screens, and log-odds are what errors add to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..core.halves import Attribution
from ..core.linear import NOTABLE_LOG_ODDS
from ..core.loops import Loops
from ..core.moments import ROWS_PER_CLASS, ClassMoments, Columns, welch_p_values
from ..core.population import ClassWeights
from ..core.regression import Coefficients, regress
from ..core.schema import MODEL, Array
from ..core.table import F64, ColumnMoments, Index, LossSums, Table
from ..wording import percent, share
from .attribution import MOST_LOG_ODDS, Proportional
from .base import TableLoss
from .simulated import Asked, Drawn, Population, shift_for
from .words import ITS_OWN, Words

# Between minus this and this the intercept of a simulated prevalence is looked for.
LARGEST_INTERCEPT = 1e3
# Mean log-likelihood this close to zero: every patient is predicted with certainty.
PERFECT = 1e-6


@dataclass(frozen=True)
class Binary:
    """Labels 0 and 1, of which the share ``case_rate``, strictly between 0 and 1, is 1."""

    name: ClassVar[str] = "binary"
    variance: ClassVar[float] = 1.0  # log-odds, squared
    certain: ClassVar[str] = (
        "the errors separate the classes perfectly, or decide for some patients, so maximum likelihood has "
        "no finite answer"
    )

    case_rate: float

    @property
    def start(self) -> F64:
        return np.array([np.log(self.case_rate / (1.0 - self.case_rate))])

    @property
    def chosen(self) -> str:
        return ""

    @classmethod
    def of(cls, known: np.ndarray) -> Binary:
        return cls(float(known.mean()))

    @classmethod
    def of_moments(cls, moments: ColumnMoments) -> Binary:
        """The same where only sums are at hand."""
        return cls(float(moments.count[1] / moments.count.sum()))

    def again(self, known: np.ndarray) -> Binary:
        return Binary.of(known)

    @staticmethod
    def is_enough(known: np.ndarray) -> bool:
        return int(np.bincount(known, minlength=2).min()) >= ROWS_PER_CLASS

    @staticmethod
    def lacks(known: np.ndarray) -> str:
        return (
            f"had fewer than {ROWS_PER_CLASS} rows of a class: the cohort has too few patients of one kind "
            f"({int(np.bincount(known, minlength=2).min())})"
        )

    def rows(self, known: np.ndarray) -> np.ndarray:
        return known

    def p_values(self, moments: ColumnMoments) -> F64:
        return welch_p_values(moments)

    def screen(self, columns: Columns, kept: Index, gram: F64, loops: Loops) -> ClassMoments:
        case_total = columns.weights.cases * columns.moments.total[1, kept] / columns.sd[kept]
        return ClassMoments(columns.moments.count, columns.weights, case_total, gram[1], loops.class_test)

    def scores(self, columns: Columns) -> F64:
        """D with mean zero and unit variance in the population."""
        n = float(columns.moments.count.sum())
        share = columns.weights.cases * float(columns.moments.count[1]) / n
        return (np.array([0.0, 1.0]) - share) / np.sqrt(share * (1.0 - share))

    def loss(self, table: Table, cols: Index) -> LogitLoss:
        return LogitLoss(table, cols, self.start)

    def attribution(self, effects: F64, baseline: F64, weights: ClassWeights) -> LogOddsAttribution:
        """With the intercept of the population (Prentice & Pyke 1979)."""
        return LogOddsAttribution(effects, float(baseline[0]) + weights.log_odds)


class LogitLoss(TableLoss):
    """The logistic log-likelihood of the labels of a table."""

    def sums(self, beta: F64) -> LossSums:
        return self.table.logit_sums(self.cols, beta)

    def is_certain(self, loglik: float) -> bool:
        return loglik > -PERFECT * self.n_rows


def fit_logit(table: Table, cols: Index, case_rate: float) -> Coefficients:
    """Logistic regression of the labels on some columns of a table."""
    return regress(Binary(case_rate).loss(table, cols), len(cols))


@dataclass(frozen=True, eq=False)
class LogOddsAttribution(Proportional):
    """Log-odds as a linear function of the errors.

    Attributes
    ----------
    coef : (k,) log-odds for each unit of error, in causal order.
    intercept : log-odds of a patient whose errors are all zero.
    """

    kind: ClassVar[str] = "linear"
    outcome: ClassVar[str] = "binary"
    ARRAYS: ClassVar[Mapping[str, Array]] = {
        "coef": Array.within(MOST_LOG_ODDS),
        "intercept": Array.within(MOST_LOG_ODDS, MODEL),
    }

    coef: F64
    intercept: float

    @property
    def base_value(self) -> float:
        return self.intercept

    def predicted(self, predictor: F64) -> F64:
        """The risk of the disease."""
        risk: F64 = expit(predictor)
        return risk

    @property
    def notable(self) -> float:
        return NOTABLE_LOG_ODDS


@dataclass(frozen=True, kw_only=True)
class BinaryWords(Words):
    """Of a diagnosis; ``prevalence`` is how common it is in the population, if that was said."""

    kind: ClassVar[str] = "binary"
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


class SimulatedDiagnosis:
    """The paper's diagnosis: a Bernoulli variable, whose log-odds are the sum.

    With a prevalence, an intercept makes that share of the population ill.
    """

    name: ClassVar[str] = "D"
    scale: ClassVar[str] = "log-odds"
    has_classes: ClassVar[bool] = True
    rescue: ClassVar[str] = ""

    def __init__(self, population: Population, prevalence: float | None) -> None:
        self._population, self.intercept = population, 0.0
        if prevalence is not None:
            log_odds = population.draw() @ population.effects
            self.intercept = shift_for(prevalence, lambda shift: expit(log_odds + shift), LARGEST_INTERCEPT)

    @classmethod
    def of(cls, population: Population, asked: Asked) -> SimulatedDiagnosis:
        kind = CaseControl if asked.design == "case-control" else SimulatedDiagnosis
        return kind(population, asked.prevalence)

    def draw(self, predictor: F64) -> Drawn:
        return Drawn(self._labels(predictor))

    def _labels(self, log_odds: F64) -> NDArray[np.int64]:
        chance = expit(log_odds + self.intercept)
        return (self._population.rng.random(log_odds.size) < chance).astype(np.int64)


class CaseControl(SimulatedDiagnosis):
    """The same, where as many cases as controls are sought out in the population."""

    def choose(self, n_samples: int) -> tuple[F64, Drawn]:
        """Errors (n_samples, a) and D of the first so many, half of them of each kind, in random order."""
        n_each = n_samples // 2
        found: tuple[list[F64], list[F64]] = ([], [])
        wanted = [n_each, n_each]
        while any(wanted):
            errors = self._population.draw()
            y = self._labels(errors @ self._population.effects)
            for label in (0, 1):
                rows = np.flatnonzero(y == label)[: wanted[label]]
                found[label].append(errors[rows])
                wanted[label] -= rows.size
        shuffled = self._population.rng.permutation(2 * n_each)
        y = np.repeat([0, 1], n_each)[shuffled]
        return np.concatenate([*found[0], *found[1]])[shuffled], Drawn(y)
