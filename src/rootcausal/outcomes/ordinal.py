"""Stages in order, such as none, mild and severe: errors add to the log-odds of a higher one.

Proportional odds (McCullagh 1980): the log-odds of a stage at or above each of the cuts between two have one
predictor in common, and a threshold for each cut. What is told of patients is the chance of a stage at or
above one cut, the one that parts the cohort most evenly; chances of all stages follow from the thresholds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from ..method.linear import NOTABLE_LOG_ODDS
from ..method.model_parts import MODEL, Array, Attribution
from ..method.table import F64, Index, LossSums, Table
from ..method.weighted import ClassWeights
from ..wording import one_line, percent
from .base import (
    BRIER,
    MOST_LOG_ODDS,
    Fold,
    Proportional,
    Scored,
    Specification,
    TableLoss,
    mean_of_folds,
    mean_square,
)
from .simulated import Asked, Drawn, Population
from .words import ITS_OWN, Words, log_odds_words, wrapped

# More are no stages but a number.
MOST_STAGES = 20
# Mean log-likelihood this close to zero: every patient's stage is predicted with certainty.
PERFECT = 1e-6
# Of simulated patients, all with as many.
SIMULATED_STAGES = 4


@dataclass(frozen=True, eq=False)
class Ordinal(Scored):
    """Known of a patient is the place of their stage, from 0: (n, 1).

    Attributes
    ----------
    counts : (C,) patients at each stage; the first and the last have some.
    cut : the stage at or above which a patient is told the chance to be.
    """

    name: ClassVar[str] = "ordinal"
    variance: ClassVar[float] = 1.0  # log-odds, squared
    certain: ClassVar[str] = (
        "the errors tell some patients' stages for certain, so maximum likelihood has no finite answer"
    )

    counts: F64
    cut: int

    @property
    def there(self) -> Index:
        """Which stages there are: a resample may lack some."""
        return np.flatnonzero(self.counts)

    @property
    def start(self) -> F64:
        below = np.cumsum(self.counts[self.there])[:-1] / self.counts.sum()
        return np.log(below / (1.0 - below))

    @property
    def chosen(self) -> str:
        return f", ordinal, {self.counts.size!r}, {self.cut!r}"

    @classmethod
    def of(cls, known: np.ndarray) -> Ordinal:
        return cls.of_counts(np.bincount(known[:, 0].astype(np.intp)).astype(np.float64))

    @classmethod
    def of_counts(cls, counts: F64) -> Ordinal:
        """The same where only (C,) patients at each stage are at hand."""
        return cls(counts, even_cut(counts))

    def again(self, known: np.ndarray) -> Ordinal:
        places = known[:, 0].astype(np.intp)
        return Ordinal(np.bincount(places, minlength=self.counts.size).astype(np.float64), self.cut)

    @staticmethod
    def is_enough(known: np.ndarray) -> bool:
        return np.unique(known[:, 0]).size >= 2

    @staticmethod
    def lacks(known: np.ndarray) -> str:
        return f"held one stage only: the cohort has too few others ({np.unique(known[:, 0]).size})"

    def rows(self, known: np.ndarray) -> np.ndarray:
        """The null score is how many patients are below one, less how many are above, standardized."""
        stage = known[:, 0].astype(np.intp)
        up_to = np.cumsum(self.counts)
        rank = (2.0 * up_to - self.counts) / up_to[-1] - 1.0
        sd = np.sqrt(self.counts @ rank**2 / max(up_to[-1] - 1.0, 1.0))
        place = np.searchsorted(self.there, stage)
        return np.column_stack([rank[stage] / sd, place])

    def n_telling(self, n: float) -> float:
        """Of two stages that are as common; a proportional-odds model's information is 1 - Σ shares³."""
        shares = self.counts / self.counts.sum()
        return float(4.0 / 3.0 * (1.0 - (shares**3).sum()) * n)

    def loss(self, table: Table, cols: Index) -> StageLoss:
        return StageLoss(table, cols, self.start)

    def attribution(self, effects: F64, baseline: F64, weights: ClassWeights) -> StageAttribution:
        # Between two stages that are there nobody is: the thresholds around a stage that is not are the same.
        place = np.searchsorted(self.there, np.arange(1, self.counts.size)) - 1
        ends = np.concatenate([[-FAR], baseline, [FAR]])
        thresholds = ends[np.clip(place + 1, 0, ends.size - 1)]
        return StageAttribution(effects, -float(thresholds[self.cut - 1]), thresholds, self.cut)


# The threshold beyond which there is nobody.
FAR = 1e3


def even_cut(counts: F64) -> int:
    """The stage at or above which most nearly half of the patients are."""
    above = np.cumsum(counts[::-1])[::-1][1:] / counts.sum()
    return int(np.abs(above - 0.5).argmin()) + 1


class StageLoss(TableLoss):
    """The log-likelihood of the stages of a table; its baseline are the thresholds between them."""

    collapsible: ClassVar[bool] = False

    def sums(self, beta: F64) -> LossSums:
        return self.table.stage_sums(self.cols, beta)

    def is_certain(self, loglik: float) -> bool:
        return loglik > -PERFECT * self.n_rows


@dataclass(frozen=True, eq=False)
class StageAttribution(Proportional):
    """Log-odds of a stage at or above a cut as a linear function of the errors.

    Attributes
    ----------
    coef : (k,) log-odds of a higher stage for each unit of error, in causal order.
    intercept : log-odds of a stage at or above the cut where all errors are zero.
    thresholds : (C − 1,) of the cuts: log-odds of a stage below each where all errors are zero.
    cut : the stage at or above which a patient is told the chance to be.
    """

    kind: ClassVar[str] = "stages"
    outcome: ClassVar[str] = "ordinal"
    ARRAYS: ClassVar[Mapping[str, Array]] = {
        "coef": Array.within(MOST_LOG_ODDS),
        "intercept": Array.within(MOST_LOG_ODDS, MODEL),
        "thresholds": Array.within(MOST_LOG_ODDS, "cuts", rising=True),
        "cut": Array(MODEL, whole=True, least=1, most=MOST_STAGES),
    }

    coef: F64
    intercept: float
    thresholds: F64
    cut: int

    @property
    def base_value(self) -> float:
        return self.intercept

    def predicted(self, predictor: F64) -> F64:
        """The chance of a stage at or above the cut."""
        risk: F64 = expit(predictor)
        return risk

    def of_stages(self, predictor: F64) -> F64:
        """(n, C) the chance of each stage."""
        own = self.thresholds + self.intercept  # of the predictor, which is about the cut
        below = expit(own - predictor[:, None])
        ends = np.ones((predictor.size, 1))
        return np.diff(np.hstack([0.0 * ends, below, ends]), axis=1)

    @property
    def notable(self) -> float:
        return NOTABLE_LOG_ODDS

    def check(self) -> None:
        if not 1 <= self.thresholds.size < MOST_STAGES or not 1 <= int(self.cut) <= self.thresholds.size:
            raise ValueError("its stages are too few or too many, or its cut is none of them")
        if abs(self.intercept + self.thresholds[int(self.cut) - 1]) > 1e-9 * max(1.0, abs(self.intercept)):
            raise ValueError("its base value is not that of its cut")


def words_of(attribution: Attribution, called: str | None, unit: str, parameters: Mapping[str, Any]) -> Words:
    """The words of stages; ``called`` names the cut, as in ``Sat: medium or higher``."""
    of_what = called or "a higher stage"

    return Words(
        **log_odds_words(of_what, " of a higher stage"),
        kind=Ordinal.name,
        estimator="RCI",
        happening="the stage",
        of_what=of_what,
        subject="a higher stage",
        node="stage",
        prediction="risk",
        axis="log-odds of a higher stage",
        header=("risk", "log-odds"),
        columns=("risk", "log_odds"),
        of_order="the log-odds of a higher stage that a shock of one standard deviation adds",
        populations=(_of_cut(attribution, called),),
        facts={"scale": "log-odds of a higher stage"},
        predicted=percent,
        cells=lambda risk, predictor: (percent(risk), f"{predictor:+.2f}"),
        base=lambda value, average: (
            f"base value: {value:+.4f}, the log-odds of {of_what} when all {average} are average"
        ),
        meaning=lambda _, covariates: _meaning(of_what, covariates),
        page=lambda made: {"stages": made["stages"], "counts": made["counts"], "cut": made["cut"]},
    )


def _of_cut(attribution: Attribution, called: str | None) -> str:
    assert isinstance(attribution, StageAttribution)
    n = attribution.thresholds.size + 1
    which = f"stage {int(attribution.cut) + 1} of {n} or higher" if called is None else called
    return f"Risks are those of {which}; a shock moves the odds of every higher stage alike."


def _meaning(of_what: str, covariates: bool) -> str:
    average, parts = "shocks", "what all variables add"
    if covariates:
        average, parts = "shocks and covariates", "what these and all variables add"
    return wrapped(
        f"What the numbers mean: risk is the probability of {one_line(of_what, 60)} under the model. A root "
        f"cause is a variable whose own shock, {ITS_OWN}, raises the odds of a higher stage, whichever stage "
        f"that is (proportional odds); the largest comes first. +0.69 doubles the odds, -0.69 halves them; "
        f"the base value, when all {average} are average, and {parts} make the log-odds."
    )


class SimulatedStages:
    """Stages by proportional odds, each of them as common as the others in the population."""

    name: ClassVar[str] = "stage"
    scale: ClassVar[str] = "log-odds of a higher stage"
    has_classes: ClassVar[bool] = False
    rescue: ClassVar[str] = ""
    takes: ClassVar[tuple[str, ...]] = ()
    intercept = 0.0

    def __init__(self, population: Population) -> None:
        self._rng = population.rng
        latent = population.draw() @ population.effects
        latent = latent + self._rng.logistic(size=latent.size)
        self._edges = np.quantile(latent, np.arange(1, SIMULATED_STAGES) / SIMULATED_STAGES)

    @classmethod
    def of(cls, population: Population, asked: Asked) -> SimulatedStages:
        return cls(population)

    def draw(self, predictor: F64) -> Drawn:
        latent = predictor + self._rng.logistic(size=predictor.size)
        return Drawn(np.searchsorted(self._edges, latent))


def _performance(
    folds: Sequence[Fold], attribution: Attribution, parameters: Mapping[str, Any]
) -> dict[str, float]:
    """Concordance over pairs of patients at different stages, and the Brier score of the cut."""
    assert isinstance(attribution, StageAttribution)
    happened = [(fold.known[:, 0] >= attribution.cut).astype(np.float64) for fold in folds]
    return {
        "concordance": mean_of_folds([_concordance(fold.predictor, fold.known[:, 0]) for fold in folds]),
        "brier": mean_square([fold.predicted - had for fold, had in zip(folds, happened, strict=True)]),
        "brier_without_variables": mean_square(
            [fold.null - had for fold, had in zip(folds, happened, strict=True)]
        ),
    }


def _concordance(predictor: F64, stage: F64) -> float:
    """Of pairs at different stages, in how many the higher one is ranked higher; ties count half."""
    right = pairs = 0.0
    for one in np.unique(stage)[1:]:
        here, below = predictor[stage == one], np.sort(predictor[stage < one])
        right += 0.5 * float(
            (np.searchsorted(below, here, "left") + np.searchsorted(below, here, "right")).sum()
        )
        pairs += here.size * below.size
    return right / pairs if pairs else float("nan")


def _check_facts(made: Mapping[str, Any]) -> None:
    stages, counts = made["stages"], made["counts"]
    if not (type(stages) is list and all(type(stage) is str for stage in stages)):
        raise ValueError("its stages are no texts")
    if not (type(counts) is list and all(type(count) is int and count >= 0 for count in counts)):
        raise ValueError("its numbers of patients are none")
    if not (2 <= len(stages) == len(counts) <= MOST_STAGES and sum(counts) == made["rows"]):
        raise ValueError("its stages and its numbers of patients do not fit together")
    if type(made["cut"]) is not int or not 1 <= made["cut"] < len(stages):
        raise ValueError("its cut is none of its stages")


ORDINAL = Specification(
    outcome=Ordinal,
    attribution=StageAttribution,
    words=words_of,
    simulator=SimulatedStages,
    estimator="RCI",
    called="stages in order",
    labels=None,
    offers=("log_odds", "probability"),
    unit_name=lambda called: None,
    performance=_performance,
    said_of={
        "concordance": "it tells which of two patients is at the higher stage in {:.0%} of pairs",
        "brier": BRIER,
    },
    check_facts=_check_facts,
    checks=("gives_away", "proportional_odds", "straight", "influence"),
)
