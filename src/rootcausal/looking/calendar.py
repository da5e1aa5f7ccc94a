"""Columns of the calendar: months and days of the week, and days counted from some day long ago."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..asking.words import tokens, words
from ..inputs.kinds import MOST_LEVELS
from .counted import Counted

_MONTHS = words(
    "january february march april may june july august september october november december jan feb mar apr "
    "jun jul aug sep sept oct nov dec"
)
_DAYS = words(
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun"
)
# Whole numbers under these names, within these, are months and days of the week.
_NUMBERED = {"month": (1, 12), "mon": (1, 12), "weekday": (0, 7), "dow": (0, 7), "dayofweek": (0, 7)}
# What may stand beside them: when it was.
_WHEN = words(
    "of the week admission admitted diagnosis diag dx birth visit study entry enrollment calendar death "
    "died discharge onset start stop end last contact seen exit relapse surgery operation transplant "
    "randomization randomisation followup event julian date"
)
# Days since a day long ago: the first of them is later than this, and all are within a lifetime.
_FIRST_DAY, _LIFETIME = 1000, 100 * 366
# One of two such columns hardly ever comes before the other.
_IN_ORDER = 0.98


def is_calendar(cells: Counted) -> bool:
    """Whether a column says a month or a day of the week, by words or by numbers under such a name."""
    if not cells.different:
        return False
    if cells.form == "text":
        levels = {str(level).strip().rstrip(".").casefold() for level in cells.different}
        return len(levels) > 2 and (levels <= _MONTHS or levels <= _DAYS)
    parts = tokens(cells.name)
    if "".join(parts) == "dayofweek":
        parts = ["dayofweek"]
    named = [part for part in parts if part in _NUMBERED]
    if len(named) != 1 or not cells.whole or not {*parts} - {named[0]} <= _WHEN:
        return False
    low, high = _NUMBERED[named[0]]
    return bool(low <= cells.different[0] and cells.different[-1] <= high) and cells.n_different > 2


def days_since(columns: Sequence[Counted]) -> set[str]:
    """Columns of whole numbers that count days from some day long ago: diag and death, Julian days."""
    could = [cells for cells in columns if _could_be_days(cells)]
    found = {cells.name for cells in could if "julian" in tokens(cells.name)}
    for first in could:
        for second in could:
            assert first.numbers is not None and second.numbers is not None
            both = ~np.isnan(first.numbers) & ~np.isnan(second.numbers)
            if first is second or not both.any():
                continue
            after = second.numbers[both] - first.numbers[both]
            overlap = min(first.different[-1], second.different[-1]) > max(
                first.different[0], second.different[0]
            )
            if overlap and float((after >= 0).mean()) >= _IN_ORDER and bool((after > 0).any()):
                found |= {first.name, second.name}
    return found


def _could_be_days(cells: Counted) -> bool:
    if cells.numbers is None or not cells.whole or cells.n_different <= MOST_LEVELS:
        return False
    first, last = float(cells.different[0]), float(cells.different[-1])
    # Numbers that begin near 0 are a time since something of the patient's own.
    return (
        bool(_WHEN & {*tokens(cells.name)})
        and first > max(_FIRST_DAY, last - first)
        and last - first < _LIFETIME
    )
