"""What becomes of simulated patients: drawn, for all outcomes, from a weighted sum of the outcome's parents.

So what each error adds to that sum is the truth whatever the outcome: log-odds, log-hazard, or the number's
own unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from ..method.table import F64


@dataclass(frozen=True)
class Drawn:
    """What became of n patients; ``time`` and ``event`` (n,) only where there are times."""

    y: NDArray[Any]
    time: F64 | None = None
    event: NDArray[np.bool_] | None = None


class Population(Protocol):
    """Where the patients come from, as far as the outcome goes: its a ancestors.

    Attributes
    ----------
    effects : (a,) of their errors on the outcome.
    rng : draws the people.
    """

    @property
    def effects(self) -> F64: ...

    @property
    def rng(self) -> np.random.Generator: ...

    def draw(self) -> F64:
        """(m, a): errors of the next people, the first of whom also set what is to be so common."""
        ...

    def own_errors(self, n: int) -> F64:
        """(n,) of a vertex like any other."""
        ...


@dataclass(frozen=True)
class Asked:
    """What may be asked of a cohort, besides its outcome; see :func:`rootcausal.data.simulate`."""

    design: str = "cohort"
    prevalence: float | None = None
    events: float | None = None


class Simulator(Protocol):
    """How the outcome comes from the weighted sum of its parents.

    Attributes
    ----------
    name : of the vertex.
    scale : what its true Shapley values add to.
    has_classes : whether a cohort needs rows of both classes.
    rescue : what else may help where it has them not.
    takes : what may be asked of it, of the fields of :class:`Asked`.
    intercept : what is added to that sum.
    """

    name: ClassVar[str]
    scale: ClassVar[str]
    has_classes: ClassVar[bool]
    rescue: ClassVar[str]
    takes: ClassVar[tuple[str, ...]]

    @property
    def intercept(self) -> float: ...

    @classmethod
    def of(cls, population: Population, asked: Asked) -> Simulator: ...

    def draw(self, predictor: F64) -> Drawn:
        """What becomes of patients with these sums (n,)."""
        ...


def shift_for(share: float, chances: Callable[[float], F64], largest: float) -> float:
    """The shift, up or down, at which the mean of these chances is the share."""
    return float(brentq(lambda shift: chances(shift).mean() - share, -largest, largest))
