"""A diagnosis, yes or no: Welch's t-test screens, and log-odds are what errors add to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from ..method.attribution.regression import Coefficients, regress
from ..method.linear import NOTABLE_LOG_ODDS
from ..method.loops import Loops
from ..method.model_parts import MODEL, Array, Attribution
from ..method.moments import ROWS_PER_CLASS, ClassMoments, Columns, welch_p_values
from ..method.table import F64, ColumnMoments, Index, LossSums, Table
from ..method.weighted import ClassWeights
from ..wording import percent, share
from .base import (
    BRIER,
    MOST_LOG_ODDS,
    Fold,
    Proportional,
    Specification,
    TableLoss,
    mean_of_folds,
    mean_square,
)
from .simulated import Asked, Drawn, Population, shift_for
from .words import ITS_OWN, Words, log_odds_words

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

    def n_telling(self, n: float) -> float:
        """Of as many cases as controls."""
        return 4.0 * self.case_rate * (1.0 - self.case_rate) * n

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

    collapsible: ClassVar[bool] = False

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


def words_of(attribution: Attribution, called: str | None, unit: str, parameters: Mapping[str, Any]) -> Words:
    """The words of a diagnosis; parameters may say how common it is in the population."""
    prevalence, of_what = parameters.get("prevalence"), called or "the disease"

    def predicted(value: float) -> str:
        return percent(value, prevalence)

    populations: tuple[str, ...] = ()
    if prevalence is not None:
        of_which = f"of which {share(prevalence)} have the disease"
        populations = (f"Risks and base value are those in a population {of_which}.",)
    return Words(
        **log_odds_words(of_what),
        kind=Binary.name,
        estimator="RCI",
        happening="the diagnosis",
        of_what=of_what,
        subject="the disease",
        node="disease",
        prediction="risk",
        axis="log-odds",
        header=("risk", "log-odds"),
        columns=("risk", "log_odds"),
        of_order="the log-odds of disease that a shock of one standard deviation adds",
        populations=populations,
        facts={"scale": "log-odds"},
        predicted=predicted,
        cells=lambda risk, predictor: (predicted(risk), f"{predictor:+.2f}"),
        base=lambda value, average: (
            f"base value: {value:+.4f}, the log-odds when all {average} are average; it is not the prevalence"
        ),
        meaning=_meaning,
        page=lambda made: {},
    )


def _meaning(base_value: float, covariates: bool) -> str:
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


class SimulatedDiagnosis:
    """The paper's diagnosis: a Bernoulli variable, whose log-odds are the sum.

    With a prevalence, an intercept makes that share of the population ill.
    """

    name: ClassVar[str] = "D"
    scale: ClassVar[str] = "log-odds"
    has_classes: ClassVar[bool] = True
    rescue: ClassVar[str] = ""
    takes: ClassVar[tuple[str, ...]] = ("prevalence", "design")

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


def area(predictor: F64, ill: np.ndarray) -> float:
    """Area under the curve: how often, of two, the patient with the disease has the higher risk."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(ill, predictor)) if 0 < ill.sum() < ill.size else float("nan")


def _performance(
    folds: Sequence[Fold], attribution: Attribution, parameters: Mapping[str, Any]
) -> dict[str, float]:
    """Areas are the mean of those within folds. Who were sampled apart are no population to have risks."""
    auc = mean_of_folds([area(fold.predictor, fold.known) for fold in folds])
    if parameters.get("prevalence") is not None:
        return {"auc": auc}
    return {
        "auc": auc,
        "brier": mean_square([fold.predicted - fold.known for fold in folds]),
        "brier_without_variables": mean_square([fold.null - fold.known for fold in folds]),
    }


def _check_facts(made: Mapping[str, Any]) -> None:
    if type(made["cases"]) is not int or not 0 < made["cases"] < made["rows"]:
        raise ValueError("its numbers of rows, cases and columns do not fit together")


BINARY = Specification(
    outcome=Binary,
    attribution=LogOddsAttribution,
    words=words_of,
    simulator=SimulatedDiagnosis,
    estimator="RCI",
    called="a diagnosis",
    labels=2,
    offers=("log_odds", "probability"),
    unit_name=lambda called: None,
    performance=_performance,
    said_of={
        "auc": "of two patients it gives the one with the disease the higher risk in {:.0%} of pairs",
        "brier": BRIER,
    },
    check_facts=_check_facts,
    checks=("gives_away", "terminal", "calibrated", "same_mechanism", "influence"),
)
