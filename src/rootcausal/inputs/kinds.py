"""What a column holds: a number, two levels, levels in order, or levels without one.

A kind is guessed from the values, always said, and set by the user where the guess is wrong.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..core.table import F64
from ..errors import InputError
from ..wording import listed, quoted
from .target import place_of_disease

Kind = Literal["number", "binary", "ordinal", "nominal"]
KINDS: tuple[Kind, ...] = ("number", "binary", "ordinal", "nominal")
Level = str | float | bool

# Numbers with no more different values than this are levels in order, if each comes often enough.
MOST_ORDINAL_NUMBERS = 7
ROWS_A_LEVEL = 5
# A nominal column with more levels says nothing that a cohort could learn: an id, or free text.
MOST_LEVELS = 30

_ROMAN = {"0": 0, "i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8, "ix": 9, "x": 10}


@dataclass(frozen=True)
class Variable:
    """One column of a user's table.

    Attributes
    ----------
    name : of the column.
    kind : what it holds.
    levels : what a column that is no number may hold, numbers or texts: of an ordinal one in their order, of
        a binary one what is low and what is high, of a nominal one the most common first. Empty for a number.
    """

    name: str
    kind: Kind
    levels: tuple[Level, ...] = ()


def variable_of_numbers(name: str, values: F64, kind: Kind | None = None) -> Variable:
    """What a column of numbers (n,) is, NaN where missing; ``kind`` is what the user says."""
    observed = values[~np.isnan(values)]
    different, counts = np.unique(observed, return_counts=True)
    if kind is None:
        kind = _guess_of_numbers(different.size, observed.size)
    if kind == "number":
        return Variable(name, "number")
    levels = tuple(map(float, different))
    if kind == "nominal":
        levels = tuple(map(float, different[np.argsort(-counts, kind="stable")]))
    return _checked(Variable(name, kind, levels))


def _guess_of_numbers(n_different: int, n_observed: int) -> Kind:
    if n_different == 2:
        return "binary"
    few = 2 < n_different <= MOST_ORDINAL_NUMBERS and n_observed >= ROWS_A_LEVEL * n_different
    return "ordinal" if few else "number"


def variable_of_texts(
    name: str,
    texts: Iterable[str | None],
    kind: Kind | None = None,
    order: Sequence[str] | None = None,
) -> Variable:
    """What a column of texts is, None where missing; ``order`` are the levels of an ordered one."""
    counts = Counter(text for text in texts if text is not None)
    if order is not None:
        strange = [level for level in counts if level not in set(order)]
        if strange:
            raise InputError(
                f"column {quoted(name)} holds {listed([quoted(level) for level in strange])}, which is not "
                f"among its levels {listed([quoted(level) for level in order], 10)}"
            )
        seen = tuple(level for level in order if level in counts)
        if kind is None:
            kind = "binary" if len(seen) == 2 else "ordinal"
        if kind in ("binary", "ordinal"):
            return _checked(Variable(name, kind, seen))
    levels = sorted(counts)
    if kind is None:
        kind = "binary" if len(levels) == 2 else "nominal"
    if kind == "number":
        raise InputError(
            f"column {quoted(name)} is no number: it holds {quoted(levels[0])}" if levels else ""
        )
    if kind == "binary":
        if len(levels) == 2 and place_of_disease(levels) == 0:
            levels.reverse()
    elif kind == "ordinal":
        levels = _in_order(name, levels)
    else:
        levels.sort(key=lambda level: -counts[level])
    return _checked(Variable(name, kind, tuple(levels)))


def _in_order(name: str, levels: list[str]) -> list[str]:
    """Levels such as I, II, III or grade 1, grade 2 in the order that they say themselves."""
    places = {level: _place(level) for level in levels}
    if None in places.values() or len(set(places.values())) < len(levels):
        raise InputError(
            f"the levels of column {quoted(name)} do not say their order: give it, as in "
            f"{listed([quoted(level) for level in levels], 10)}"
        )
    return sorted(levels, key=lambda level: places[level] or 0.0)


def _place(level: str) -> float | None:
    folded = level.strip().casefold()
    if folded in _ROMAN:
        return _ROMAN[folded]
    words = folded.split()
    if len(words) > 1 and words[-1] in _ROMAN:
        return _ROMAN[words[-1]]
    numbers = re.findall(r"\d+(?:\.\d+)?", folded)
    return float(numbers[0]) if len(numbers) == 1 else None


def _checked(variable: Variable) -> Variable:
    size = len(variable.levels)
    if variable.kind == "binary" and size != 2:
        raise InputError(
            f"column {quoted(variable.name)} cannot be binary: it has {size} different values, not two"
        )
    if size < 2:
        raise InputError(
            f"column {quoted(variable.name)} has one value only"
            if size
            else f"column {quoted(variable.name)} has no value"
        )
    if size > MOST_LEVELS:
        raise InputError(
            f"column {quoted(variable.name)} has {size} different values, too many for levels: an id or free "
            "text? Name it as the id, or leave it out"
        )
    return variable
