"""What risks are worth of patients whom a model has not seen, and what follows for those whom it has.

A model knows the outcomes of the patients of its fit, so what it says of them is no forecast. Each fold of
them is told by a model of all others; what happened to those who were told so much is what a patient of the
fit should have been told. It is kept as a curve of a few numbers, and holds no patient.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from ..errors import InputError
from ..method.model_parts import Attribution
from ..method.table import F64
from ..method.weighted import ClassWeights
from ..outcomes.follow_up import Spans
from ..outcomes.survival import HazardAttribution
from ..resampling.cross_validation import Fold, fold_by_fold
from ..resampling.training_rows import TrainingRows
from ..wording import listed, percent
from .likelihoods import HazardLikelihood, Likelihood, LogitLikelihood, maximum

FOLDS, SEED = 5, 0
# With fewer patients of a kind, or events, there is no curve to see.
FEWEST = 20
# Rows × columns² up to which the folds are told without being asked for, of straight lines and of others.
CHEAP, CHEAP_BENT = 1e8, 1e6
# Risks of which it is said how many have the outcome, and standard errors to either side of a 95 % interval.
RISKS_TOLD = (0.05, 0.25, 0.5, 0.75, 0.95)
NORMAL = 1.96
# The standard deviation that is expected of the bend, and when to stop looking for it.
BEND = 0.5
STEPS, SHORTEST_STEP = 50, 1e-8
# On the scale of the predictor: beyond, risks are 0 or 1.
FARTHEST = 30.0


@dataclass(frozen=True)
class Calibration:
    """How the risks of unseen patients go with what happened to them (beta calibration; Kull et al. 2017).

    On the scale ζ of log-odds, or of the logarithm of the cumulative hazard until the horizon, a patient with
    the risk r is told ``intercept + low · log r + high · (ζ − log r)``: ``low`` is its slope where risks are
    low, and ``high`` where they are high. Where both are 1 and the intercept is 0, nothing changes.

    Attributes
    ----------
    folds, random_state : how the patients of the fit were cut.
    slope, slope_error : of the straight line of calibration, and its standard error; 1 is right, and less
        means that risks are too extreme.
    intercept, low, high : of the curve.
    start, spread : what a model that has not seen a patient is expected to say, in the place of one that has:
        ``start + spread · ζ``.
    origin : where the scale begins, on that of the model's predictor.
    """

    folds: int
    random_state: int
    slope: float
    slope_error: float
    intercept: float
    low: float
    high: float
    start: float
    spread: float
    origin: float

    def recalibrated(self, predictor: F64, attribution: Attribution) -> F64:
        """(n,) risks of patients of the fit, of whom the model says so much."""
        return attribution.predicted(self._moved(predictor, attribution, self.start, self.spread))

    def expected(self, risk: float, attribution: Attribution) -> float:
        """How many of the unseen patients who are told this risk are to be expected to have the outcome."""
        chance = min(max(risk, 1e-9), 1.0 - 1e-9)
        scale = math.log(chance / (1.0 - chance))
        if isinstance(attribution, HazardAttribution):
            scale = float(attribution.predictor_at(np.array([chance]))[0]) + _log_until(attribution)
        moved = self._moved(np.array([scale + self._shift(attribution)]), attribution, 0.0, 1.0)
        return float(attribution.predicted(moved)[0])

    def _shift(self, attribution: Attribution) -> float:
        """What the predictor is higher by than the scale on which risks by the horizon are told."""
        return -_log_until(attribution) if isinstance(attribution, HazardAttribution) else 0.0

    def _moved(self, predictor: F64, attribution: Attribution, start: float, spread: float) -> F64:
        scale = start + spread * (predictor - self.origin)
        low, high = _features(scale, isinstance(attribution, HazardAttribution))
        found: F64 = self.intercept + self.low * low + self.high * high + self.origin
        return found

    def to_dict(self) -> dict[str, float]:
        """As a model file remembers it."""
        return asdict(self)

    @classmethod
    def of_dict(cls, found: Mapping[str, Any]) -> Self | None:
        """The same; None of nothing, ValueError where it cannot be one."""
        if found == {}:
            return None
        one = cls(**found)
        whole = type(one.folds) is int and type(one.random_state) is int
        if not whole or not all(type(value) in (int, float) for value in found.values()):
            raise ValueError("its calibration is none")
        if not all(map(math.isfinite, found.values())) or min(one.low, one.high, one.spread) < 0.0:
            raise ValueError("a number of its calibration is out of range")
        return one


def _features(scale: F64, survives: bool) -> tuple[F64, F64]:
    """(n,) log r, and what the scale has beyond it: where risks are low the first moves, else the second."""
    scale = np.clip(scale, -FARTHEST, FARTHEST)
    if survives:
        log_risk = np.log(-np.expm1(-np.exp(np.minimum(scale, math.log(FARTHEST)))))
    else:
        log_risk = -np.logaddexp(0.0, -scale)
    return log_risk, scale - log_risk


def _log_until(hazard: HazardAttribution) -> float:
    """Log of the cumulative hazard until the horizon of a patient whose shocks are all average."""
    until = float(np.interp(hazard.horizon, hazard.edges, hazard.cumulative))
    return math.log(max(until, 1e-300))


def in_words(one: Calibration, attribution: Attribution) -> str:
    """What the risks of unseen patients are worth, in a sentence or two; first of all, if that is nothing."""
    reach = NORMAL * one.slope_error
    told = [percent(risk) for risk in RISKS_TOLD]
    happened = [percent(one.expected(risk, attribution)) for risk in RISKS_TOLD]
    nothing = "these risks tell nothing about new patients: " if one.slope <= reach else ""
    return (
        f"{nothing}of patients whom the model had not seen ({one.folds} folds), the calibration slope is "
        f"{one.slope:.2f} ({one.slope - reach:.2f} to {one.slope + reach:.2f}; 1 is right, less is too "
        f"extreme); where it says {listed(told)}, about {listed(happened)} are to be expected"
    )


def worth_asking(rows: TrainingRows) -> bool:
    """Whether the folds of a cohort are told in little time."""
    n, q = rows.X.shape
    most = CHEAP if rows.settings.mechanism == "linear" else CHEAP_BENT
    return n * q * q <= most and enough(rows)


def enough(rows: TrainingRows) -> bool:
    """Whether the outcome is a risk, and enough patients have it, and have it not."""
    name = rows.outcome_of_all.name
    if name not in ("binary", "survival"):
        return False
    happened = rows.y if name == "binary" else rows.y[:, 1]
    fewest = happened.sum() if name == "survival" else min(happened.sum(), happened.size - happened.sum())
    return bool(fewest >= FEWEST)


def told_in_folds(rows: TrainingRows) -> list[Fold]:
    """What models of the others say of each fold; nothing where the cohort cannot be cut so."""
    try:
        return list(fold_by_fold(rows, FOLDS, SEED))
    except InputError:
        return []


def calibration_of(
    rows: TrainingRows, folds: Sequence[Fold], random_state: int, stated: F64, attribution: Attribution
) -> Calibration | None:
    """The calibration of the patients of a fit, of whom its model says ``stated`` (n,), as its predictor.

    None where nothing can be told, as where all risks are the same.
    """
    if not folds or not enough(rows):
        return None
    of_rows = np.concatenate([fold.rows for fold in folds])
    survives = isinstance(attribution, HazardAttribution)
    if isinstance(attribution, HazardAttribution):
        risk = np.clip(np.concatenate([fold.predicted for fold in folds]), 1e-12, 1.0 - 1e-12)
        origin = -_log_until(attribution)
        unseen = attribution.predictor_at(risk) - origin
    else:
        count = np.bincount(rows.y, minlength=2).astype(np.float64)
        origin = ClassWeights.of(rows.settings.prevalence, count).log_odds
        unseen = np.concatenate([fold.predictor for fold in folds]) - origin
    unseen, seen, y = np.clip(unseen, -FARTHEST, FARTHEST), (stated - origin)[of_rows], rows.y[of_rows]
    if unseen.std() < 1e-9 or seen.std() < 1e-9:
        return None
    spread = max(float(np.cov(seen, unseen)[0, 1] / seen.var(ddof=1)), 0.0)
    low, high = _features(unseen, survives)
    line = maximum(_likelihood(unseen[:, None], y, survives))
    bent = _likelihood(np.stack([unseen, 0.5 * (high - low)], axis=1), y, survives)
    bend = _bent_slopes(bent, float(line.beta[-1]))
    # No risk is told to be lower for having been higher.
    slopes = np.maximum([bend[0] - 0.5 * bend[1], bend[0] + 0.5 * bend[1]], 0.0)
    added = slopes[0] * low + slopes[1] * high
    return Calibration(
        folds=len(folds),
        random_state=random_state,
        slope=float(line.beta[-1]),
        slope_error=float(np.sqrt(line.covariance[-1, -1])),
        intercept=_level(added, y, attribution),
        low=float(slopes[0]),
        high=float(slopes[1]),
        start=float(unseen.mean() - spread * seen.mean()),
        spread=spread,
        origin=origin,
    )


def _likelihood(columns: F64, y: np.ndarray, survives: bool) -> Likelihood:
    """Of the outcome in some columns."""
    if survives:
        return HazardLikelihood.of(columns, y)
    return LogitLikelihood(columns, y.astype(np.float64))


def _bent_slopes(likelihood: Likelihood, straight: float) -> F64:
    """(2,) the slope, and by how much it is steeper where risks are high: few patients bend it little."""
    prior = np.zeros(likelihood.start.size)
    prior[-1] = BEND**-2.0
    beta = likelihood.start
    beta[-2] = straight
    for _ in range(STEPS):
        try:
            here = likelihood.at(beta, False)
        except np.linalg.LinAlgError:  # where all risks are low, or all are high, no bend can be seen
            break
        information = np.linalg.inv(here.covariance) + np.diag(prior)
        step = np.linalg.solve(information, here.score - prior * beta)
        beta = beta + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < SHORTEST_STEP:
            return beta[-2:]
    return np.array([straight, 0.0])


def _level(added: F64, y: np.ndarray, attribution: Attribution) -> float:
    """The intercept by which as many are expected to have the outcome as had it."""
    if isinstance(attribution, HazardAttribution):
        spans = Spans.of(y)
        until, before = (
            np.interp(time, attribution.edges, attribution.cumulative)
            for time in (spans.until, spans.from_start)
        )
        met = (until - before) * np.exp(np.minimum(added - _log_until(attribution), FARTHEST))
        return float(np.log(spans.event.sum() / met.sum()))
    low, high = -2 * FARTHEST - float(np.abs(added).max()), 2 * FARTHEST + float(np.abs(added).max())
    for _ in range(100):
        middle = 0.5 * (low + high)
        expected = float((1.0 / (1.0 + np.exp(-np.clip(added + middle, -700, 700)))).sum())
        low, high = (middle, high) if expected < float(y.sum()) else (low, middle)
    return 0.5 * (low + high)
