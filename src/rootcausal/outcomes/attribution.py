"""What attributions have in common to whose predictor every error adds in proportion, and how files hold it.

A Shapley value is its error times a coefficient (paper, Equation 3: S_i = E_i δ_i).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from ..core.halves import Mechanism, Sampled, sizes_of, taken
from ..core.linear import split
from ..core.table import F64

# Beyond these, the scores of a patient would not be finite numbers.
MOST_LOG_ODDS = 1e9


class Proportional:
    """An :class:`~.halves.Attribution` that follows from coefficients and a base value.

    What derives from it is a dataclass of these arrays and numbers, in this order.

    Attributes
    ----------
    coef : (k,) what each unit of error adds, in causal order.
    CURVES : names of further arrays, all of one length.
    CURVE_SIZES : from which to which length they are.
    NUMBERS : names of single numbers.
    """

    CURVES: ClassVar[tuple[str, ...]] = ()
    CURVE_SIZES: ClassVar[tuple[int, int]] = (0, 0)
    NUMBERS: ClassVar[tuple[str, ...]]
    ARRAYS: ClassVar[tuple[str, ...]]
    PACKED: ClassVar[tuple[str, ...]]

    coef: F64

    def __init_subclass__(cls) -> None:
        cls.ARRAYS = ("coef", *cls.CURVES, *cls.NUMBERS)
        cls.PACKED = ("coef", *cls.CURVES, *_of_many(cls.NUMBERS), *([cls._sizes()] if cls.CURVES else []))

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

    def check(self) -> None:
        raise NotImplementedError

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.atleast_1d(getattr(self, name)) for name in self.ARRAYS}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray], mechanism: Mechanism) -> Self:
        curves = [taken(arrays, name, arrays[cls.CURVES[0]].size) for name in cls.CURVES]
        numbers = [float(taken(arrays, name, 1)[0]) for name in cls.NUMBERS]
        return cls._checked(taken(arrays, "coef", mechanism.order.size), *curves, *numbers)

    @classmethod
    def pack(cls, halves: Sequence[Self]) -> dict[str, np.ndarray]:
        packed = {name: np.concatenate([getattr(one, name) for one in halves]) for name in cls._flat()}
        for name, of_many in zip(cls.NUMBERS, _of_many(cls.NUMBERS), strict=True):
            packed[of_many] = np.array([getattr(one, name) for one in halves])
        if cls.CURVES:
            packed[cls._sizes()] = np.array([getattr(one, cls.CURVES[0]).size for one in halves])
        return packed

    @classmethod
    def unpack(cls, arrays: Mapping[str, np.ndarray], mechanisms: Sequence[Mechanism]) -> list[Self]:
        sizes = sizes_of(mechanisms)
        parts: list[Sequence[object]] = [split(taken(arrays, "coef", int(sizes.sum())), sizes)]
        if cls.CURVES:
            (least, most), lengths = cls.CURVE_SIZES, taken(arrays, cls._sizes(), sizes.size, whole=True)
            if not ((lengths >= least) & (lengths <= most)).all():
                raise ValueError(f"the {cls.CURVES[0]} of an attribution are too few or too many")
            parts += [split(taken(arrays, name, int(lengths.sum())), lengths) for name in cls.CURVES]
        parts += [taken(arrays, name, sizes.size).tolist() for name in _of_many(cls.NUMBERS)]
        return [cls._checked(*one) for one in zip(*parts, strict=True)]

    @classmethod
    def _checked(cls, *parts: object) -> Self:
        make: Any = cls  # its fields are those of what derives from it
        one: Self = make(*parts)
        one.check()
        return one

    @classmethod
    def _flat(cls) -> tuple[str, ...]:
        """Names of what has a length of its own."""
        return ("coef", *cls.CURVES)

    @classmethod
    def _sizes(cls) -> str:
        """What the lengths of many curves are called."""
        return f"n_{cls.CURVES[0]}"


def _of_many(numbers: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{name}s" for name in numbers)
