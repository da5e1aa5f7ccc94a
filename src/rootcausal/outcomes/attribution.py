"""What attributions have in common to whose predictor every error adds in proportion.

A Shapley value is its error times a coefficient (paper, Equation 3: S_i = E_i δ_i).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from ..core.halves import Mechanism, Sampled
from ..core.table import F64

# Beyond these, the scores of a patient would not be finite numbers.
MOST_LOG_ODDS = 1e9


class Proportional:
    """The part of an :class:`.halves.Attribution` that follows from coefficients and a base value.

    Attributes
    ----------
    coef : (k,) what each unit of error adds, in causal order.
    """

    coef: F64

    @property
    def base_value(self) -> float:
        raise NotImplementedError

    @property
    def proportional(self) -> bool:
        return True

    @property
    def unit_effects(self) -> F64:
        return self.coef

    def importance(self) -> F64:
        return np.abs(self.coef)

    def shapley(self, errors: F64) -> F64:
        return errors * self.coef

    def sampled(self, errors: F64) -> Sampled:
        return Sampled(self.shapley(errors), None)

    def predictor(self, errors: F64) -> F64:
        told: F64 = self.base_value + self.shapley(errors).sum(axis=1)
        return told

    def effects_on_outcome(self, mechanism: Mechanism) -> F64:
        return (mechanism.slopes() @ self.coef) * mechanism.scale

    def outcome_curve(self, mechanism: Mechanism, place: int, z: F64) -> F64:
        return self.effects_on_outcome(mechanism)[place] * z

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any], mechanism: Mechanism) -> Self:
        return cls(**fields)

    def check(self) -> None:
        """Nothing beyond its schema."""
