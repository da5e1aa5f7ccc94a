"""What the names of columns say of their places in the causal order, all together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .before_all import says_first, says_unchanging
from .visits import Schedule, schedules


@dataclass(frozen=True)
class Reading:
    """What the names say.

    Attributes
    ----------
    first : columns that nothing measured can cause. An age of a later visit is none of them: it comes with
        its visit.
    schedules : columns measured at visits, and when: one for each way of counting, the most columns first.
        Those of ``first`` that have a visit are in them too.
    """

    first: tuple[str, ...]
    schedules: tuple[Schedule, ...]


def read(names: Sequence[str]) -> Reading:
    """What these names say of each other."""
    first = [name for name in names if says_first(name)]
    others = set(names).difference(first)
    changing = [name for name in first if not says_unchanging(name)]
    found = schedules([name for name in names if name in others], changing)
    if found:
        # Where there are visits, ages of a number that fits none of them are visits all the same.
        told = set().union(*found)
        found += schedules([name for name in changing if name not in told], visited=True)
    late = set().union(*map(_after_the_earliest, found))
    return Reading(tuple(name for name in first if name not in late), found)


def measured_later(names: Sequence[str], than: str | None = None) -> tuple[str, ...]:
    """Columns of a later visit than that of a column or, of none, than the first visit, by their names."""
    found: set[str] = set()
    for times in read(names).schedules:
        if than is None:
            found |= _after_the_earliest(times)
        elif than in times:
            found |= {name for name, time in times.items() if time > times[than]}
    return tuple(name for name in names if name in found)


def measured_first(names: Sequence[str]) -> set[str]:
    """Columns of the first of several visits, by their names."""
    found = [(set(times), _after_the_earliest(times)) for times in read(names).schedules]
    return set().union(*(all_of - late for all_of, late in found))


def _after_the_earliest(times: Schedule) -> set[str]:
    earliest = min(times.values())
    return {name for name, time in times.items() if time > earliest}
