"""Levels that are ranges of numbers, such as <20, 20-50 and >50: their order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from math import inf

_NUMBER = r"(\d+(?:\.\d+)?)"
_BELOW = re.compile(rf"(?:<=?|≤|under|below|less than|up to|at most) ?{_NUMBER}")
_ABOVE = re.compile(rf"(?:>=?|≥|over|above|more than|at least) ?{_NUMBER}")
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
    if below := _BELOW.fullmatch(text):
        return -inf, float(below[1])
    if above := _ABOVE.fullmatch(text) or _AND_MORE.fullmatch(text):
        return float(above[1]), inf
    if between := _BETWEEN.fullmatch(text):
        low, high = float(between[1]), float(between[2])
        return (low, high) if low < high else None
    return None
