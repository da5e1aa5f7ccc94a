"""What a column holds: a number, two levels, levels in order, or levels without one.

A kind is inferred from the values, always said, and set by the user where that is wrong.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import Literal

import numpy as np

from ..errors import InputError
from ..method.layout import values_of
from ..method.table import F64, Index
from ..name_hints.columns import says_codes
from ..wording import listed, quoted
from .labels import place_of_disease, text_of

# Levels that are ranges of numbers, such as <20, 20-50 and >50: their order.

_NUMBER = r"(\d+(?:\.\d+)?)"
_RANGE_BELOW = re.compile(rf"(?:<=?|≤|under|below|less than|up to|at most) ?{_NUMBER}")
_RANGE_ABOVE = re.compile(rf"(?:>=?|≥|over|above|more than|at least) ?{_NUMBER}")
_AND_MORE = re.compile(rf"{_NUMBER} ?(?:\+|plus|(?:and|or) (?:more|over|above|older))")
_BETWEEN = re.compile(rf"{_NUMBER} ?(?:-|–|to) ?{_NUMBER}")
# What may stand at a number, as in $25k, and does not change the order where all levels have it.
_AT_NUMBERS = re.compile(r"(?<=\d),(?=\d{3})|(?<=\d)k\b|[$€£%]")


def order_of_ranges(levels: Sequence[str]) -> list[str] | None:
    """The levels from low to high; None where they are no ranges, or these overlap."""
    ranges = {level: _range_of(level) for level in levels}
    if len(levels) < 3 or None in ranges.values():
        return None
    found = sorted((ends, level) for level, ends in ranges.items() if ends is not None)
    apart = all(first[1] <= second[0] for (first, _), (second, _) in pairwise(found))
    inner = any(-inf < low < high < inf for (low, high), _ in found)
    return [level for _, level in found] if apart and inner else None


def _range_of(level: str) -> tuple[float, float] | None:
    text = _AT_NUMBERS.sub("", level.strip().casefold())
    if below := _RANGE_BELOW.fullmatch(text):
        return -inf, float(below[1])
    if above := _RANGE_ABOVE.fullmatch(text) or _AND_MORE.fullmatch(text):
        return float(above[1]), inf
    if between := _BETWEEN.fullmatch(text):
        low, high = float(between[1]), float(between[2])
        return (low, high) if low < high else None
    return None


Kind = Literal["number", "binary", "ordinal", "nominal"]
KINDS: tuple[Kind, ...] = ("number", "binary", "ordinal", "nominal")
Level = str | float | bool
# What is said of a column, by its user or its type: its kind, or its levels in order.
Said = Kind | tuple[Level, ...]

# Numbers with no more different values than this are levels in order, if each comes often enough.
MOST_ORDINAL_NUMBERS = 7
ROWS_A_LEVEL = 5
# A nominal column with more levels says little that a cohort could learn: an id, free text, or many sites.
MOST_LEVELS = 30
TOO_MANY_LEVELS = (
    f"too many different values to be levels (at most {MOST_LEVELS}, of two rows or more on average)"
)
# Nearly every column of numbers shows more values than levels have within so many rows.
ROWS_TO_SEE = 64
# Values looked at in one go, once a column has shown few different ones.
VALUES_A_BLOCK = 1 << 16

# A level that begins with its number: 1_Good, 3) poor. What stands behind others, as in "1 - yes", is a code.
_NUMBERED = re.compile(r"\s*(\d{1,2})\s*[_)]\s*(?![\d.]+\s*$)\S")
_ROMAN = {"0": 0, "i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8, "ix": 9, "x": 10}
# Degrees that everybody puts in the same order.
_OF_WORDS = {
    **dict.fromkeys(("none", "no", "absent", "never"), 0.0),
    **dict.fromkeys(("minimal", "very low", "trace"), 1.0),
    **dict.fromkeys(("mild", "low", "slight", "small"), 2.0),
    **dict.fromkeys(("moderate", "medium", "intermediate", "mid", "some"), 3.0),
    **dict.fromkeys(("severe", "high", "large", "marked"), 4.0),
    **dict.fromkeys(("very severe", "very high", "critical"), 5.0),
}


@dataclass(frozen=True)
class Limits:
    """The limits of detection of a column of numbers: a value at one of them lies there or beyond."""

    lowest: float = -math.inf
    highest: float = math.inf

    @property
    def below(self) -> bool:
        return self.lowest > -math.inf

    @property
    def above(self) -> bool:
        return self.highest < math.inf

    @property
    def said(self) -> list[str]:
        """As users say them: "<3", ">100"."""
        found = [f"<{text_of(self.lowest)}"] if self.below else []
        return [*found, f">{text_of(self.highest)}"] if self.above else found

    def sign(self, value: float) -> str:
        """What stands before a value where it is shown: "<" of one at or below the lower limit."""
        return "<" if value <= self.lowest else ">" if value >= self.highest else ""


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Variable:
    """One column of a user's table.

    Attributes
    ----------
    name : of the column.
    kind : what it holds.
    levels : what a column that is no number may hold, all numbers, all texts or false and true: of an ordinal
        one in their order, of a binary one what is low and what is high, of a nominal one the most common
        first. Empty for a number.
    log : whether the method sees the logarithm of a number; what is shown of it is in its own unit.
    label, unit, digits : what it is called where people read of it, the unit of its values, and with how many
        digits behind the point they are shown; empty, or None, where nobody said (see :mod:`.naming`).
    limits : of detection, of a number, in its own unit.
    """

    name: str
    kind: Kind
    levels: tuple[Level, ...] = ()
    log: bool = False
    label: str = ""
    unit: str = ""
    digits: int | None = None
    limits: Limits = NO_LIMITS

    @property
    def shown(self) -> str:
        """What it is called where people read of it: its label, or the name of its column."""
        return self.label or self.name

    @property
    def values(self) -> F64:
        """(levels,) the number that stands for each level: a number for itself, a text for its place."""
        return values_of(self.levels, self.kind == "nominal")


@dataclass(frozen=True)
class Reliability:
    """What is said of one column: its share, or the standard deviation of its error; neither of repeats."""

    share: float | None = None
    sd: float | None = None

    @property
    def exact(self) -> bool:
        return self.share == 1.0 or self.sd == 0.0


@dataclass(frozen=True)
class ColumnHints:
    """What the user says of kinds, by name or place of a column, and whether values may be missing.

    ``logs`` names the columns of which the logarithm is taken, ``noisy`` says how reliable others are, and
    ``limits`` where they could not be measured.
    """

    kinds: Mapping[str | int, Said]
    may_miss: bool
    logs: Sequence[str | int] = ()
    noisy: Mapping[str | int, Reliability] = field(default_factory=dict)
    limits: Mapping[str | int, Limits] = field(default_factory=dict)


NO_HINTS = ColumnHints({}, may_miss=False)


class ColumnError(InputError):
    """A column cannot be a variable; the message is a cell that shows why, if one does."""


class DatesError(ColumnError):
    """It holds dates or times."""


class StrangeCellError(ColumnError):
    """It holds neither numbers nor texts."""


class MixedError(ColumnError):
    """It holds numbers, but for some cells."""


class TooManyLevelsError(ColumnError):
    """It has more different values than levels can be."""


def variable_of_numbers(name: str, values: F64, said: Said | None = None) -> Variable:
    """What a column of numbers (n,) is, NaN where missing; ``said`` is what the user or its type says."""
    few = few_values(values, MOST_ORDINAL_NUMBERS if said is None else MOST_LEVELS)
    return variable_of_few(name, few, said)


def variable_of_few(name: str, few: tuple[F64, Index] | None, said: Said | None = None) -> Variable:
    """The same of its different values, (k,) ascending with how many rows have each; None where too many."""
    if few is None and said not in (None, "number"):
        raise TooManyLevelsError
    if few is None or few[0].size < 2 or said == "number":
        return Variable(name, "number")  # without levels; a constant is for the rules about columns to refuse
    different, counts = few
    if isinstance(said, tuple):
        return _of_listed_numbers(name, different, said)
    kind = said if said is not None else _guess_of_numbers(different.size, int(counts.sum()))
    if kind == "number":
        return Variable(name, "number")
    if kind == "nominal" and different.size > 2:
        different = different[np.argsort(-counts, kind="stable")]
    return _checked(name, kind, tuple(map(float, different)))


def few_values(values: F64, most: int) -> tuple[F64, Index] | None:
    """The different finite numbers among (n,), with their counts; None where they are more than ``most``."""
    counted: Counter[float] = Counter()
    start, size = 0, 16 * ROWS_TO_SEE
    while start < values.size:
        block = values[start : start + size]
        different, counts = np.unique(block[np.isfinite(block)], return_counts=True)
        if different.size > most:
            return None
        counted.update(dict(zip(different.tolist(), counts.tolist(), strict=True)))
        if len(counted) > most:
            return None
        start, size = start + size, VALUES_A_BLOCK
    found = np.array(sorted(counted))
    return found, np.array([counted[value] for value in found.tolist()], dtype=np.intp)


def columns_with_few_values(values: F64) -> list[int]:
    """Columns of (n, p) that may have levels: their first rows hold few different numbers."""
    # Down the columns, however many there are: a loop over them takes longer than all other validation.
    first = np.sort(values[:ROWS_TO_SEE], axis=0)
    different = 1 + (first[1:] > first[:-1]).sum(axis=0)
    return np.flatnonzero(different <= MOST_ORDINAL_NUMBERS).tolist()


def _guess_of_numbers(n_different: int, n_observed: int) -> Kind:
    if n_different == 2:
        return "binary"
    few = 2 < n_different <= MOST_ORDINAL_NUMBERS and n_observed >= ROWS_A_LEVEL * n_different
    return "ordinal" if few else "number"


def _of_listed_numbers(name: str, different: F64, listed_levels: tuple[Level, ...]) -> Variable:
    try:
        numbers = [float(level) for level in listed_levels]
    except ValueError:
        raise InputError(
            f"column {quoted(name)} holds numbers, and its levels are given as "
            f"{_in_words(listed_levels)}: give numbers"
        ) from None
    if not all(low < high for low, high in pairwise(numbers)):
        raise InputError(f"the levels of column {quoted(name)} are numbers: give them from low to high")
    _refuse_strange(name, [level for level in different.tolist() if level not in numbers], listed_levels)
    truth = all(isinstance(level, bool) for level in listed_levels)
    seen: tuple[Level, ...] = tuple(number for number in numbers if number in different)
    if truth:
        seen = tuple(bool(level) for level in seen)
    return _checked(name, "binary" if len(seen) == 2 else "ordinal", seen)


def variable_of_counts(
    name: str,
    counts: Mapping[str, int],
    kind: Kind | None = None,
    order: Sequence[str] | None = None,
) -> Variable:
    """What a column of texts is, given each once with how many rows have it; ``order`` of an ordered one."""
    if order is not None:
        _refuse_strange(name, [level for level in counts if level not in set(order)], order)
        seen = tuple(level for level in order if level in counts)
        if kind is None:
            kind = "binary" if len(seen) == 2 else "ordinal"
        if kind in ("binary", "ordinal"):
            return _checked(name, kind, seen)
    levels = sorted(counts)
    if kind is None:
        kind = "ordinal" if are_numbered(name, levels) else "nominal"
    if kind == "number":
        example = "" if not levels else f": it holds {quoted(levels[0])}"
        raise InputError(f"column {quoted(name)} is no number{example}")
    if kind == "binary" or (kind == "nominal" and len(levels) == 2):
        if len(levels) == 2 and place_of_disease(levels) == 0:
            levels.reverse()
    elif kind == "ordinal":
        levels = _in_order(name, levels)
    else:
        levels.sort(key=lambda level: -counts[level])
    return _checked(name, kind, tuple(levels))


def levels_in_order(levels: Sequence[str]) -> list[str] | None:
    """Levels such as I, II, III, grade 1, low, medium, high or <20, 20-50, >50 in the order that they say.

    None where they say none.
    """
    ranges = order_of_ranges(list(levels))
    if ranges is not None:
        return ranges
    for place_of in (_number_before, _place, lambda level: _OF_WORDS.get(level.strip().casefold())):
        places = {level: place_of(level) for level in levels}
        if None not in places.values() and len(set(places.values())) == len(levels):
            return sorted(levels, key=lambda level: places[level] or 0.0)
    return None


def are_numbered(name: str, levels: Sequence[str]) -> bool:
    """Whether levels such as 1_Good, 2_Fair, 3_Poor are numbered in their order, one after the other.

    Of what by its name has no order, as race and site, the numbers are codes.
    """
    numbers = sorted(number for level in levels if (number := _number_before(level)) is not None)
    run = len(numbers) == len(levels) > 2 and numbers[0] < 3
    return run and numbers == [numbers[0] + step for step in range(len(numbers))] and not says_codes(name)


def _number_before(level: str) -> float | None:
    found = _NUMBERED.match(level)
    return None if found is None else float(found[1])


def _in_order(name: str, levels: list[str]) -> list[str]:
    ordered = levels_in_order(levels)
    if ordered is None:
        raise InputError(
            f"the levels of column {quoted(name)} do not say their order: list them from low to high, as in "
            f"{listed([quoted(level) for level in levels], 10)}"
        )
    return ordered


def _place(level: str) -> float | None:
    folded = level.strip().casefold()
    if folded in _ROMAN:
        return _ROMAN[folded]
    words = folded.split()
    if len(words) > 1 and words[-1] in _ROMAN:
        return _ROMAN[words[-1]]
    numbers = re.findall(r"\d+(?:\.\d+)?", folded)
    return float(numbers[0]) if len(numbers) == 1 else None


def _refuse_strange(name: str, strange: Sequence[Level], levels: Sequence[Level]) -> None:
    if strange:
        raise InputError(
            f"column {quoted(name)} holds {_in_words(strange, 5)}, not among its levels {_in_words(levels)}"
        )


def _in_words(levels: Sequence[Level], most: int = 10) -> str:
    return listed([quoted(text_of(level)) for level in levels], most)


def _checked(name: str, kind: Kind, levels: tuple[Level, ...]) -> Variable:
    """The variable; a nominal one with two levels is binary, whatever it is called."""
    size = len(levels)
    if kind == "binary" and size != 2:
        raise InputError(f"column {quoted(name)} cannot be binary: it has {size} different values, not two")
    if size < 2:
        raise InputError(
            f"column {quoted(name)} has one value only" if size else f"column {quoted(name)} has no value"
        )
    if size > MOST_LEVELS:
        raise TooManyLevelsError(f"column {quoted(name)} has {size} different values, too many for levels")
    return Variable(name, "binary" if size == 2 and kind == "nominal" else kind, levels)
