"""Halves of a model that are not linear: small ones, to see that nothing but the core would know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rootcausal.method.linear import LinearMechanism
from rootcausal.method.model_parts import Array, Sampled


@dataclass(frozen=True, eq=False)
class SinhMechanism:
    """Values are the sinh of what a linear mechanism makes of the errors."""

    kind: ClassVar[str] = "sinh"
    ARRAYS: ClassVar[Mapping[str, Array]] = LinearMechanism.ARRAYS

    straight: LinearMechanism

    @property
    def n_columns(self) -> int:
        return self.straight.n_columns

    @property
    def order(self) -> np.ndarray:
        return self.straight.order

    @property
    def scale(self) -> np.ndarray:
        return np.cosh(self.straight.mean) * self.straight.sd

    def values_at_average(self):
        return np.sinh(self.straight.mean)

    def errors(self, X, places, times=None, out=None):
        return self.straight.errors(np.arcsinh(X), places, times, out)

    def values(self, errors):
        return np.sinh(self.straight.values(errors))

    def slopes(self):
        return self.straight.slopes() / np.cosh(self.straight.mean)[:, None]

    def what_if(self, X, place, error):
        bent = np.sinh(self.straight.what_if(np.arcsinh(X), place, error))
        values = X.copy()
        downstream = self.order[self.straight.mixing[:, place] != 0]
        values[:, downstream] = bent[:, downstream]
        return values

    def direct_effects(self):
        return self.straight.direct_effects()

    def total_effects(self):
        return self.straight.total_effects()

    def forms(self):
        return self.straight.forms()

    def arrow_curve(self, cause, effect, z):
        return self.straight.arrow_curve(cause, effect, z)

    def reach(self):
        return np.full(self.order.size, 1e30)

    def on_columns(self, columns, n_columns):
        return SinhMechanism(self.straight.on_columns(columns, n_columns))

    def check(self) -> None:
        self.straight.check()

    def __getattr__(self, name: str):
        if name in self.ARRAYS:
            return getattr(self.straight, name)
        raise AttributeError(name)

    @classmethod
    def of_fields(cls, fields: Mapping[str, np.ndarray], n_columns: int) -> SinhMechanism:
        return cls(LinearMechanism.of_fields(fields, n_columns))


@dataclass(frozen=True, eq=False)
class SquareAttribution:
    """Every error adds its square times a weight, so that what it adds is not proportional to it."""

    kind: ClassVar[str] = "square"
    outcome: ClassVar[str] = "binary"
    notable: ClassVar[float] = 0.1
    ARRAYS: ClassVar[Mapping[str, Array]] = {"weight": Array()}

    weight: np.ndarray
    base_value: float = -0.5
    proportional: ClassVar[bool] = False

    @property
    def of_outcome(self):
        return self

    @property
    def unit_effects(self) -> np.ndarray:
        return self.weight

    @property
    def average_effects(self) -> np.ndarray:
        return np.zeros_like(self.weight)  # of a square, whose slopes are as often up as down

    def average_direct_effects(self, mechanism) -> np.ndarray:
        return self.average_effects

    def importance(self) -> np.ndarray:
        return np.abs(self.weight)

    def shapley(self, errors):
        return errors**2 * self.weight

    def sampled(self, errors):
        return Sampled(self.shapley(errors), np.zeros_like(errors))

    def predictor(self, errors):
        return self.base_value + self.shapley(errors).sum(axis=1)

    def outcome_curve(self, mechanism, place, z):
        return self.weight[place] * z**2

    def effects_on_outcome(self, mechanism):
        return (mechanism.slopes() @ self.weight) * mechanism.scale

    def predicted(self, predictor):
        return 1.0 / (1.0 + np.exp(-predictor))

    def check(self) -> None:
        pass

    @classmethod
    def of_fields(cls, fields, mechanism):
        return cls(**fields)
