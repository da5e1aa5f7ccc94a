"""A count of events, such as seizures in two weeks: errors add to the log-rate.

Negative binomial: a patient who is expected μ has the variance μ + φ μ². The dispersion φ is learned, and
where it is 0 the counts are Poisson. Patients may have been seen for different times, or be counted in
different amounts: their exposure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from ..method.attribution.regression import WEAK_PENALTY, shrunken
from ..method.linear import NOTABLE_LOG_ODDS
from ..method.model_parts import MODEL, Array, Attribution
from ..method.table import F64, LARGEST_LOG_HAZARD, Index, LossSums, Table
from ..method.weighted import ClassWeights
from .base import (
    MOST_LOG_ODDS,
    Fold,
    Proportional,
    Scored,
    Specification,
    TableLoss,
    is_positive,
    mean_of_folds,
)
from .simulated import Asked, Drawn, Population
from .words import ITS_OWN, Words, ratio_words, times, wrapped

# Events in all; with fewer nothing can be learned of rates.
FEWEST_EVENTS = 2
# Below it, the variance of counts of a few hundred is that of Poisson; above it, nearly all is dispersion.
LEAST_DISPERSION, MOST_DISPERSION = 1e-4, 100.0
# Of the logarithm of the dispersion.
DISPERSION_TOLERANCE = 1e-3
# Beyond it, the next of simulated patients would not be whole numbers any more.
MOST_SIMULATED_LOG_RATE = 30.0
# Of simulated patients: events expected of one whose shocks are all average, and the dispersion.
SIMULATED_RATE, SIMULATED_DISPERSION = 2.0, 0.5


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums over patients, as far as no effects are known.

    Attributes
    ----------
    values, patients : (m,) different counts, ascending, and how many patients have each.
    exposure, squares, product : Σ of the exposure, of its square, and of it times the count.
    """

    values: F64
    patients: F64
    exposure: float
    squares: float
    product: float

    @classmethod
    def of(cls, count: F64, exposure: F64) -> Totals:
        values, patients = np.unique(count, return_counts=True)
        sums = float(exposure.sum()), float(exposure @ exposure), float(exposure @ count)
        return cls(values, patients.astype(np.float64), *sums)

    def __add__(self, other: Totals) -> Totals:
        values, place = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        patients = np.bincount(place, weights=np.concatenate([self.patients, other.patients]))
        return Totals(
            values,
            patients.astype(np.float64),
            self.exposure + other.exposure,
            self.squares + other.squares,
            self.product + other.product,
        )

    @property
    def events(self) -> float:
        return float(self.patients @ self.values)

    @property
    def rate(self) -> float:
        """Events for each unit of exposure."""
        return self.events / self.exposure

    def dispersion(self, fixed: float | None) -> float:
        """By moments: of the variance, what is more than Poisson's."""
        if fixed is not None:
            return fixed
        rate = self.rate
        squares = float(self.patients @ self.values**2) - 2.0 * rate * self.product + rate**2 * self.squares
        return min(max((squares - self.events) / (rate**2 * self.squares), 0.0), MOST_DISPERSION)


@dataclass(frozen=True)
class NullScores:
    """Σ of the null score, before it is standardized, and of its square."""

    total: float
    squares: float

    @classmethod
    def of(cls, totals: Totals, fixed: float | None, count: F64, exposure: F64) -> NullScores:
        score = null_score(count, exposure, totals.rate, totals.dispersion(fixed))
        return cls(float(score.sum()), float(score @ score))

    def __add__(self, other: NullScores) -> NullScores:
        return NullScores(self.total + other.total, self.squares + other.squares)


def null_score(count: F64, exposure: F64, rate: float, dispersion: float) -> F64:
    """(n,) derivatives of the log-likelihood in the predictor, where nothing has an effect."""
    expected = rate * exposure
    found: F64 = (count - expected) / (1.0 + dispersion * expected)
    return found


@dataclass(frozen=True, eq=False)
class Count(Scored):
    """Known of a patient are the count and the exposure: (n, 2).

    Attributes
    ----------
    rate : events for each unit of exposure.
    values, patients : (m,) different counts, and how many patients have each.
    dispersion : where nothing has an effect; by it the null score is weighted.
    score_mean, score_sd : of the null score, before it is standardized.
    fixed : the dispersion to take in place of the learned one; None where it is learned.
    """

    name: ClassVar[str] = "count"
    variance: ClassVar[float] = 1.0  # log-rates, squared
    certain: ClassVar[str] = (
        "the errors tell some patients' counts for certain, or who has none, so maximum likelihood has no "
        "finite answer"
    )

    rate: float
    values: F64
    patients: F64
    dispersion: float
    score_mean: float
    score_sd: float
    fixed: float | None = None

    @property
    def start(self) -> F64:
        return np.array([math.log(self.rate)])

    @property
    def chosen(self) -> str:
        return f", count, {self.fixed!r}"

    @classmethod
    def of(cls, known: np.ndarray, fixed: float | None = None) -> Count:
        totals = Totals.of(*known.T)
        return cls.by(totals, NullScores.of(totals, fixed, *known.T), fixed)

    @classmethod
    def by(cls, totals: Totals, scores: NullScores, fixed: float | None) -> Count:
        """The same where only sums are at hand."""
        n = float(totals.patients.sum())
        mean = scores.total / n
        variance = max(scores.squares - n * mean * mean, 0.0) / max(n - 1.0, 1.0)
        sd = max(variance**0.5, np.finfo(float).tiny)
        return cls(totals.rate, totals.values, totals.patients, totals.dispersion(fixed), mean, sd, fixed)

    def again(self, known: np.ndarray) -> Count:
        return Count.of(known, self.fixed)

    @staticmethod
    def is_enough(known: np.ndarray) -> bool:
        return (
            bool(len(known)) and bool(known[:, 0].sum() >= FEWEST_EVENTS) and np.unique(known[:, 0]).size > 1
        )

    @staticmethod
    def lacks(known: np.ndarray) -> str:
        return (
            f"had fewer than {FEWEST_EVENTS} events, or the same count in all: the cohort has too few events "
            f"({known[:, 0].sum():.0f})"
        )

    def rows(self, known: np.ndarray) -> np.ndarray:
        count, exposure = known.T
        score = null_score(count, exposure, self.rate, self.dispersion)
        return np.column_stack([(score - self.score_mean) / self.score_sd, count, exposure])

    def loss(self, table: Table, cols: Index) -> CountLoss:
        if self.fixed is not None:
            return CountLoss(table, cols, self.start, self.fixed)
        return CountLoss(table, cols, self.start, self._dispersion_given(table, cols))

    def attribution(self, effects: F64, baseline: F64, weights: ClassWeights) -> RateAttribution:
        return RateAttribution(effects, float(baseline[0]))

    def _dispersion_given(self, table: Table, cols: Index) -> float:
        """The dispersion that the errors leave, by the adjusted profile likelihood (Cox & Reid 1987).

        The adjustment is for how many errors there are; without it many would leave too little.
        """

        def lost(dispersion: float) -> float:
            loss = CountLoss(table, cols, self.start, dispersion)
            fitted = shrunken(loss, cols.size)
            at = loss.sums(np.append(fitted.coef, fitted.baseline))
            penalty = WEAK_PENALTY * float(fitted.coef @ fitted.coef)
            information = at.hessian + np.diag(np.append(np.full(cols.size, WEAK_PENALTY), 0.0))
            log_det = float(np.linalg.slogdet(information)[1])
            return 0.5 * (log_det + penalty) - at.loglik - self._of_counts(dispersion)

        found = minimize_scalar(
            lambda logarithm: lost(math.exp(logarithm)),
            bounds=(math.log(LEAST_DISPERSION), math.log(MOST_DISPERSION)),
            method="bounded",
            options={"xatol": DISPERSION_TOLERANCE},
        )
        return 0.0 if lost(0.0) <= found.fun else math.exp(found.x)

    def _of_counts(self, dispersion: float) -> float:
        """What of the log-likelihood no rate changes, less Σ log y!."""
        if not dispersion:
            return 0.0
        size = 1.0 / dispersion
        terms = gammaln(self.values + size) - gammaln(size) + self.values * math.log(dispersion)
        return float(self.patients @ terms)


@dataclass(frozen=True, eq=False)
class CountLoss(TableLoss):
    """The negative binomial log-likelihood of counts; its baseline is the log-rate."""

    dispersion: float = 0.0

    def sums(self, beta: F64) -> LossSums:
        return self.table.count_sums(self.cols, beta, self.dispersion)

    def is_certain(self, loglik: float) -> bool:
        """Counts vary, whatever is expected of them."""
        return False


@dataclass(frozen=True, eq=False)
class RateAttribution(Proportional):
    """The log-rate as a linear function of the errors.

    Attributes
    ----------
    coef : (k,) log-rate for each unit of error, in causal order.
    intercept : log-rate of a patient whose errors are all zero.
    """

    kind: ClassVar[str] = "rate"
    outcome: ClassVar[str] = "count"
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
        """The expected count for one unit of exposure."""
        return np.exp(np.minimum(predictor, LARGEST_LOG_HAZARD))

    @property
    def notable(self) -> float:
        return NOTABLE_LOG_ODDS


def words_of(attribution: Attribution, called: str | None, unit: str, parameters: Mapping[str, Any]) -> Words:
    """The words of a count; its ``unit`` is that of the exposure."""
    of_what = called or "the count"
    each = f" per {unit.removesuffix('s')}" if unit else ""

    return Words(
        **ratio_words(of_what, "rate", unit),
        kind=Count.name,
        estimator="RCIRegressor",
        happening="the count",
        of_what=of_what,
        subject=of_what,
        node=of_what,
        prediction=f"expected {of_what}{each}" if called else f"expected count{each}",
        told="expected count",
        predictions="expected counts",
        is_chance=False,
        axis="rate ratio",
        header=("expected", "rate"),
        columns=("expected", "log_rate"),
        facts={"scale": "log-rate", **({"exposure_unit": unit} if unit else {})},
        predicted=amount_of,
        cells=lambda expected, predictor: (amount_of(expected), times(predictor - attribution.base_value)),
        reached=lambda _, expected: amount_of(expected),
        base=lambda value, average: (
            f"base value: {value:+.4f}, the log-rate when all {average} are average: "
            f"{amount_of(math.exp(min(value, LARGEST_LOG_HAZARD)))} expected{each}"
        ),
        meaning=lambda value, covariates: _meaning(of_what, each, value, covariates),
        page=lambda made: {
            "unit": unit,
            "mean": made["mean"],
            "dispersion": made["dispersion"],
            "exposed": made["exposed"],
        },
    )


def amount_of(expected: float) -> str:
    """An expected count, with the digits that matter: ``0.031``, ``1.84``, ``12.3``, ``1,204``."""
    if expected < 0.1:
        return f"{expected:.2g}"
    return (
        f"{expected:.2f}"
        if expected < 10.0
        else f"{expected:,.1f}"
        if expected < 100.0
        else f"{expected:,.0f}"
    )


def _meaning(of_what: str, each: str, base_value: float, covariates: bool) -> str:
    average, parts = "shocks", "all variables"
    if covariates:
        average, parts = "shocks and covariates", "these and all variables"
    return wrapped(
        f"What the numbers mean: expected is how high the model expects {of_what} to be{each}. The "
        "rate is that, "
        f"relative to a patient whose {average} are all average (×1.00), of whom "
        f"{amount_of(math.exp(min(base_value, LARGEST_LOG_HAZARD)))} is expected. A root cause is a variable "
        f"whose own shock, {ITS_OWN}, raises this patient's rate; the largest comes first. ×2 doubles "
        "the rate, "
        f"×0.50 halves it; what {parts} do, multiplied, makes the patient's rate."
    )


class SimulatedCount:
    """Counts whose log-rate is the sum, with a dispersion."""

    name: ClassVar[str] = "events"
    scale: ClassVar[str] = "log-rate"
    has_classes: ClassVar[bool] = False
    rescue: ClassVar[str] = ""
    takes: ClassVar[tuple[str, ...]] = ()
    intercept = math.log(SIMULATED_RATE)

    def __init__(self, population: Population) -> None:
        self._rng = population.rng

    @classmethod
    def of(cls, population: Population, asked: Asked) -> SimulatedCount:
        return cls(population)

    def draw(self, predictor: F64) -> Drawn:
        rate = np.exp(np.minimum(predictor + self.intercept, MOST_SIMULATED_LOG_RATE))
        size = 1.0 / SIMULATED_DISPERSION
        own = self._rng.gamma(size, 1.0 / size, predictor.size)
        return Drawn(self._rng.poisson(rate * own))


def _performance(
    folds: Sequence[Fold], attribution: Attribution, parameters: Mapping[str, Any]
) -> dict[str, float]:
    """The share of the Poisson deviance that is explained, and how counts and expected ones go together."""
    left = sum(_deviance(fold.known, fold.predicted) for fold in folds)
    null = sum(_deviance(fold.known, np.full(len(fold.known), fold.null)) for fold in folds)
    return {
        "deviance_explained": 1.0 - left / null if null > 0.0 else float("nan"),
        "rank_correlation": mean_of_folds([_rank_correlation(fold) for fold in folds]),
    }


def _deviance(known: np.ndarray, rate: F64) -> float:
    count, expected = known[:, 0], np.maximum(known[:, 1] * rate, 1e-300)
    ratio = np.where(count > 0, count / expected, 1.0)
    return float(2.0 * (count * np.log(ratio) - count + expected).sum())


def _rank_correlation(fold: Fold) -> float:
    from scipy.stats import rankdata

    told, seen = (rankdata(some) for some in (fold.predictor, fold.known[:, 0] / fold.known[:, 1]))
    if told.std() == 0.0 or seen.std() == 0.0:
        return float("nan")
    return float(np.corrcoef(told, seen)[0, 1])


def _check_facts(made: Mapping[str, Any]) -> None:
    dispersion = made["dispersion"]
    if not is_positive(made["mean"]) or not (dispersion == 0 or is_positive(dispersion)):
        raise ValueError("its counts have no rate, or no dispersion")
    if type(made["exposed"]) is not bool:
        raise ValueError("it does not say whether patients have an exposure")


COUNT = Specification(
    outcome=Count,
    attribution=RateAttribution,
    words=words_of,
    simulator=SimulatedCount,
    estimator="RCIRegressor",
    called="a count",
    labels=0,
    offers=(),
    unit_name=lambda called: "exposure",
    performance=_performance,
    said_of={
        "deviance_explained": "it explains {:.0%} of the deviance of the counts",
        "rank_correlation": "its ranks go with those of the counts with a correlation of {:.2f}",
    },
    check_facts=_check_facts,
    checks=("gives_away", "straight", "influence"),
)
