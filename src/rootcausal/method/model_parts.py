"""The two parts of a model: a mechanism gives errors, an attribution gives Shapley values.

A mechanism says how values come from errors, in causal order; an attribution says what errors add to the
outcome: to log-odds, a log-hazard, a value. Each part keeps its numbers to itself, so that neither the other
part nor whoever asks a model knows whether it is linear (see :mod:`rootcausal.method.linear`) or not. So that
files can hold a new kind of part, it is entered in :mod:`rootcausal.files.array_archive`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from .table import F64, Index

# What files hold of the parts of a model: a schema of each, one way to write many, and one checker.
#
# A part says in ``ARRAYS`` what its fields look like as arrays. Those of many models lie one after the
# other in flat arrays, with a count of rows for each model wherever the causal order does not tell it.

# What an array has a row for: each place of the causal order, the model, or each entry of a lower triangle of
# a matrix of places (of one that is upper triangular: of its transpose). Else, what the part counts itself.
PLACE, MODEL, LOWER, UPPER = "place", "model", "lower", "upper"
# A file of a few bytes must not say that it holds more.
MOST_ROWS = 10_000_000


@dataclass(frozen=True)
class Array:
    """A field of a part as an array of a file.

    Attributes
    ----------
    per : what it has a row for.
    row : the shape of a row.
    whole : whether it holds whole numbers.
    least, most : which numbers it may hold; never NaN.
    rising : whether numbers along its last axis do not fall.
    places : whether it holds places of the causal order.
    follows : whether it can be worked out from the others, so that resamples do without.
    """

    per: str = PLACE
    row: tuple[int, ...] = ()
    whole: bool = False
    least: float = -math.inf
    most: float = math.inf
    rising: bool = False
    places: bool = False
    follows: bool = False

    @classmethod
    def within(cls, most: float, per: str = PLACE, row: tuple[int, ...] = (), rising: bool = False) -> Array:
        """Of numbers that are no larger, up or down."""
        return cls(per, row, least=-most, most=most, rising=rising)

    @classmethod
    def of_places(cls, per: str) -> Array:
        return cls(per, whole=True, places=True)


class Part(Protocol):
    """What both parts of a model can do with files.

    Attributes
    ----------
    kind : what the header of a file calls it.
    ARRAYS : its fields, as arrays.
    """

    kind: ClassVar[str]
    ARRAYS: ClassVar[Mapping[str, Array]]

    def check(self) -> None:
        """Raise ValueError where fields contradict each other, which each by itself does not show."""
        ...


def check_part(part: Part, n_places: int) -> None:
    """Raise ValueError where a part holds what none that was learned does."""
    for name, array in part.ARRAYS.items():
        held = np.asarray(getattr(part, name))
        if not ((held >= array.least) & (held <= array.most)).all():
            raise ValueError(f"array {name} holds what is not a number, or out of range")
        if array.rising and not (held[..., 1:] >= held[..., :-1]).all():
            raise ValueError(f"array {name} is out of order")
        if array.places and not ((held >= 0) & (held < n_places)).all():
            raise ValueError(f"array {name} names what is not in the causal order")
    part.check()


def flattened(parts: Sequence[Part], *, all_of_it: bool) -> dict[str, np.ndarray]:
    """The arrays of parts of one kind, one after the other; without what follows unless ``all_of_it``."""
    arrays: dict[str, np.ndarray] = {}
    for name, array in _written(type(parts[0]), all_of_it).items():
        held = [np.asarray(getattr(part, name)) for part in parts]
        if array.per in (LOWER, UPPER):
            held = [(one if array.per == LOWER else one.T)[_triangle(len(one))] for one in held]
        elif array.per not in (PLACE, MODEL):
            arrays[_count(array.per)] = np.array([len(one) for one in held])
        arrays[name] = np.stack(held) if array.per == MODEL else np.concatenate(held)
    return arrays


def unflattened(
    kind: type[Part], arrays: Mapping[str, np.ndarray], sizes: Index, *, all_of_it: bool
) -> list[dict[str, Any]]:
    """The fields of parts of one kind, of so many places each; ValueError where arrays have other shapes."""
    written = _written(kind, all_of_it)
    triangles = sizes * (sizes + 1) // 2
    rows = {PLACE: sizes, MODEL: np.ones_like(sizes), LOWER: triangles, UPPER: triangles}
    for per in {array.per for array in written.values()} - set(rows):
        rows[per] = taken(arrays, _count(per), sizes.size, whole=True)
        if not ((rows[per] >= 0) & (rows[per] <= MOST_ROWS)).all():
            raise ValueError("its arrays do not fit together")
    found: list[dict[str, Any]] = [{} for _ in sizes]
    for name, array in written.items():
        flat = taken(arrays, name, int(rows[array.per].sum()), *array.row, whole=array.whole)
        for fields, held, k in zip(found, _split(flat, rows[array.per]), sizes, strict=True):
            fields[name] = held.item() if array.per == MODEL else held
            if array.per in (LOWER, UPPER):
                matrix = np.zeros((k, k))
                matrix[_triangle(k)] = held
                fields[name] = matrix if array.per == LOWER else np.ascontiguousarray(matrix.T)
    return found


def names_of(kind: type[Part], *, all_of_it: bool) -> set[str]:
    """Of the arrays that :func:`flattened` gives."""
    written = _written(kind, all_of_it)
    counted = {array.per for array in written.values()} - {PLACE, MODEL, LOWER, UPPER}
    return {*written, *map(_count, counted)}


def taken(arrays: Mapping[str, np.ndarray], name: str, *shape: int, whole: bool = False) -> Any:
    """An array of a file, after a look at its shape, and at its type: floats or whole numbers."""
    array = arrays[name]
    if array.shape != shape or array.dtype.kind != ("i" if whole else "f"):
        raise ValueError(f"array {name} has the wrong shape or type")
    return array


def _written(kind: type[Part], all_of_it: bool) -> dict[str, Array]:
    return {name: array for name, array in kind.ARRAYS.items() if all_of_it or not array.follows}


def _count(per: str) -> str:
    return f"n_{per}"


def _split(flat: np.ndarray, sizes: Index) -> list[np.ndarray]:
    """Parts of these sizes, one after the other; looking at ``flat``, not copying it."""
    return [flat[end - size : end] for size, end in zip(sizes, np.cumsum(sizes), strict=True)]


def _triangle(k: int) -> np.ndarray:
    return np.tri(k, dtype=bool)


#: Lines describe how a place depends on its causes; curves do; and its spread depends on them too.
LINEAR, NONLINEAR, HETEROSCEDASTIC = "linear", "nonlinear", "heteroscedastic"
POST_NONLINEAR = "post-nonlinear"


class ArrowCurve(NamedTuple):
    """What a cause at some values (m,) does to an effect, in standard units; other causes are average.

    Attributes
    ----------
    expected : (m,) of the effect; of one with levels, the mean of what stands for these.
    spread : (m,) standard deviation around it.
    """

    expected: F64
    spread: F64


class Mechanism(Part, Protocol):
    """How the values of n patients on q columns come from their errors, in causal order.

    A place is a position in the causal order of k columns; columns outside it have no error.
    """

    @property
    def n_columns(self) -> int:
        """q, columns of the cohort."""
        ...

    @property
    def order(self) -> Index:
        """(k,) columns in causal order."""
        ...

    @property
    def scale(self) -> F64:
        """(k,) what one standard unit of each column of the order is in the column's own unit."""
        ...

    def values_at_average(self) -> F64:
        """(k,) the values that standard units are counted from: the means of the columns of the order."""
        ...

    def errors(self, X: F64, places: Index, times: F64 | None = None, out: F64 | None = None) -> F64:
        """(n, m): unit-variance errors of patients X (n, q), on the columns at these places.

        Parameters
        ----------
        places : (m,) which errors, in this order.
        times : (m,) what to multiply them by; by default 1.
        out : (n, m) where to write them.
        """
        ...

    def values(self, errors: F64) -> F64:
        """(n, k): values of the columns in causal order that come from errors (n, k)."""
        ...

    def slopes(self) -> F64:
        """(k, k), ``[i, j]``: by how much the error at place j grows for each unit of the column at place i.

        Where that differs between patients, of those whose columns are average.
        """
        ...

    def what_if(self, X: F64, place: int, error: float | F64) -> F64:
        """(n, q): what the values of patients X (n, q) become when the error at one place is set to this.

        The error is one for all, or (n, 1) one for each. What lies downstream follows; everything else stays
        exactly as it is.
        """
        ...

    def direct_effects(self) -> F64:
        """(k, k) in standard units, ``[i, j]``: what place j does to place i, those between held fixed."""
        ...

    def total_effects(self) -> F64:
        """(k, k), ``[i, j]``: by how many standard units place i moves for a unit of the error at j."""
        ...

    def forms(self) -> list[str]:
        """(k,) the form of each place: :data:`LINEAR`, :data:`NONLINEAR` or one of the others."""
        ...

    def arrow_curve(self, cause: int, effect: int, z: F64) -> ArrowCurve:
        """What a place does to another, those between held fixed, where it has these values z (m,)."""
        ...

    def reach(self) -> F64:
        """(k,): the largest values of each column, up or down, with which a patient can be scored."""
        ...

    def on_columns(self, columns: Index, n_columns: int) -> Self:
        """The same mechanism in a table of ``n_columns``, where its column c is ``columns[c]``."""
        ...

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any], n_columns: int) -> Self:
        """The mechanism of these fields, which may lack what follows from others."""
        ...


class Sampled(NamedTuple):
    """Shapley values (n, k), and the standard errors (n, k) of sampling them; None where they are exact."""

    values: F64
    noise: F64 | None


class Attribution(Part, Protocol):
    """What unit-variance errors add to the outcome's linear predictor; all in causal order.

    That is the log-odds of the disease, the log-hazard of an event, or the expected value of a number.

    Attributes
    ----------
    outcome : the name of the outcome (see :mod:`rootcausal.method.outcome`).
    """

    outcome: ClassVar[str]

    @property
    def of_outcome(self) -> Attribution:
        """The linear attribution of this outcome, which knows what a predictor means for patients.

        That is itself or, where paths are not linear, one in which nothing has an effect.
        """
        ...

    def with_outcome(self, of_outcome: Attribution) -> Attribution:
        """The same with another one of these, such as one that tells risks by another time."""
        ...

    def centred(self, average: float) -> tuple[Self, float]:
        """The same for predictors that are less by what comes second, given their ``average``.

        That is zero where a predictor tells something by itself, and the average where it is relative to
        that of nobody in particular.
        """
        ...

    @property
    def base_value(self) -> float:
        """The predictor of a patient whose errors are all zero."""
        ...

    @property
    def notable(self) -> float:
        """By how much something has to change the predictor, up or down, to be called a cause.

        The one rule of what is notable: a patient's shock below it is named nowhere as a root cause or as
        protective (it still counts in sums and tables), and a standard deviation of a cause below it is no
        arrow. 0.1 of log-odds and log-hazards, a tenth of its standard deviation of a number.
        """
        ...

    @property
    def proportional(self) -> bool:
        """Whether every Shapley value is the error times the unit effect."""
        ...

    @property
    def unit_effects(self) -> F64:
        """(k,) what an error of one adds where all others are zero."""
        ...

    @property
    def average_effects(self) -> F64:
        """(k,) what a unit more of each error adds, on average over people."""
        ...

    def average_direct_effects(self, mechanism: Mechanism) -> F64:
        """(k,) what a standard unit more of each column adds, others held fixed, on average over people."""
        ...

    def importance(self) -> F64:
        """(k,) the size of what an error of one adds."""
        ...

    def shapley(self, errors: F64) -> F64:
        """(n, k): what each of the errors (n, k) adds; with the base value, rows sum to the predictor."""
        ...

    def sampled(self, errors: F64) -> Sampled:
        """The same, and how sure it is where it was sampled."""
        ...

    def predictor(self, errors: F64) -> F64:
        """(n,): what errors (n, k) lead to: the base value, and all that they add."""
        ...

    def effects_on_outcome(self, mechanism: Mechanism) -> F64:
        """(k,) what one standard unit of each column adds to the predictor, others held fixed."""
        ...

    def outcome_curve(self, mechanism: Mechanism, place: int, z: F64) -> F64:
        """(m,) what a column adds to the predictor where it has these values z (m,) in standard units."""
        ...

    def predicted(self, predictor: F64) -> F64:
        """(n,): what that means for patients: their risk, their risk by a horizon, or their value."""
        ...

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any], mechanism: Mechanism) -> Self:
        """The attribution of these fields, to the errors that ``mechanism`` tells."""
        ...
