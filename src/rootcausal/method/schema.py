"""What files hold of the parts of a model: a schema of each, one way to write many, and one checker.

A part says in ``ARRAYS`` what its fields look like as arrays. Those of many models lie one after the other in
flat arrays, with a count of rows for each model wherever the causal order does not tell it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from .table import Index

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
