"""What becomes of simulated patients: a diagnosis, an event after some time, or a number.

All three are drawn from the same weighted sum of the outcome's parents, so what each error adds to that sum
is the truth whatever the outcome: log-odds, log-hazard, or the number's own unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from ..core.table import F64
from ..errors import InputError
from .exogenous_errors import FAMILIES, Population, draw_errors

# Share of patients whose event is seen, unless another is asked for.
EVENTS = 0.62
# Between minus this and this the intercept of a prevalence is looked for.
LARGEST_INTERCEPT = 1e3
# Beyond these, plus or minus, the time to an event would leave float64; so would the longest follow-up.
LARGEST_LOG_HAZARD, LARGEST_LOG_TIME = 300.0, 350.0


@dataclass(frozen=True)
class Drawn:
    """What became of n patients; ``time`` and ``event`` (n,) only where there are times."""

    y: NDArray[Any]
    time: F64 | None = None
    event: NDArray[np.bool_] | None = None


class Outcome(Protocol):
    """How the outcome comes from the weighted sum of its parents.

    Attributes
    ----------
    name : of the vertex.
    intercept : what is added to that sum.
    """

    name: str
    intercept: float

    def draw(self, predictor: F64) -> Drawn:
        """What becomes of patients with these sums (n,)."""
        ...


class YesNo:
    """The paper's diagnosis: a Bernoulli variable, whose log-odds are the sum.

    With a prevalence, an intercept makes that share of the population ill.
    """

    name = "D"

    def __init__(self, population: Population, prevalence: float | None) -> None:
        self._population, self.intercept = population, 0.0
        if prevalence is not None:
            log_odds = population.draw() @ population.effects
            self.intercept = _shift_for(prevalence, lambda shift: expit(log_odds + shift), LARGEST_INTERCEPT)

    def draw(self, predictor: F64) -> Drawn:
        return Drawn(self._labels(predictor))

    def _labels(self, log_odds: F64) -> NDArray[np.int64]:
        chance = expit(log_odds + self.intercept)
        return (self._population.rng.random(log_odds.size) < chance).astype(np.int64)


class CaseControl(YesNo):
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


class Survival:
    """The time to an event whose hazard is constant, and whose log-hazard is the sum.

    Patients enter evenly over the years of a study and are followed to its end, so follow-up is uniform
    between zero and the longest one, and independent of everything else. The longest one is such that this
    share of the population has its event before its follow-up ends.
    """

    name = "event"
    intercept = 0.0

    def __init__(self, population: Population, events: float) -> None:
        self._rng = population.rng
        hazard = _hazard(population.draw() @ population.effects)
        log_longest = _shift_for(
            events, lambda shift: _chance_within(hazard * np.exp(shift)), LARGEST_LOG_TIME
        )
        self._longest = np.exp(log_longest)

    def draw(self, predictor: F64) -> Drawn:
        time = self._rng.standard_exponential(predictor.size) / _hazard(predictor)
        follow_up = (1.0 - self._rng.random(predictor.size)) * self._longest
        event = time <= follow_up
        return Drawn(event.astype(np.int64), np.minimum(time, follow_up), event)


class Number:
    """A number: the sum, and an error of its own, like that of any other vertex."""

    name = "severity"
    intercept = 0.0

    def __init__(self, population: Population) -> None:
        self._rng = population.rng

    def draw(self, predictor: F64) -> Drawn:
        family = self._rng.integers(FAMILIES, size=1)
        return Drawn(predictor + draw_errors(predictor.size, family, self._rng)[:, 0])


def _hazard(log_hazard: F64) -> F64:
    if np.abs(log_hazard).max() > LARGEST_LOG_HAZARD:
        raise InputError("the hazards overflow along the paths of so dense a graph: lower expected_neighbors")
    return np.exp(log_hazard)


def _chance_within(exposure: F64) -> F64:
    """Chance of an event before a uniform end of follow-up, given hazard × the longest follow-up."""
    return 1.0 + np.expm1(-exposure) / exposure


def _shift_for(share: float, chances: Callable[[float], F64], largest: float) -> float:
    """The shift, up or down, at which the mean of these chances is the share."""
    return float(brentq(lambda shift: chances(shift).mean() - share, -largest, largest))
