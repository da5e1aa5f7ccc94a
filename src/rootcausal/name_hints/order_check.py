"""Does the learned order agree with what the names of the columns suggest?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..wording import plural, quoted
from .exogenous import says_first
from .known_order import Given, merged
from .suggestion import NAMED_AT_MOST, Suggestion, with_tiers
from .visits import Reading, read


@dataclass(frozen=True)
class Misplaced:
    """A column that stands behind what cannot come before it.

    Attributes
    ----------
    column : its name.
    behind : what stands before it, the first few in the learned order.
    n_behind : how many do.
    visit : whether these were measured at a later visit; else nothing measured can cause the column.
    """

    column: str
    behind: tuple[str, ...]
    n_behind: int
    visit: bool

    def in_words(self) -> str:
        """Such as ``'age' after 'bili'``; names in it are safe on a terminal."""
        rest = self.n_behind - len(self.behind)
        behind = ", ".join(map(quoted, self.behind)) + (f" and {rest} more" if rest else "")
        return f"{quoted(self.column)} after {behind}{' (a later visit)' if self.visit else ''}"


@dataclass(frozen=True)
class Question:
    """What names suggest about a learned order.

    Attributes
    ----------
    misplaced : the columns that stand elsewhere, and no rule says so.
    suggestion : what would put them right.
    overruled : whether others stand elsewhere because a rule says so.
    """

    misplaced: tuple[Misplaced, ...]
    suggestion: Suggestion
    overruled: bool = False

    def statement(self) -> str:
        """What was found, in words."""
        if not self.misplaced:
            but = ", but for what was given" if self.overruled else ""
            return f"Going by the names, no column stands after what cannot come before it{but}."
        who = "a column stands" if len(self.misplaced) == 1 else "some columns stand"
        which = "it" if len(self.misplaced) == 1 else "them"
        said = "; ".join(one.in_words() for one in self.misplaced[:NAMED_AT_MOST])
        rest = len(self.misplaced) - NAMED_AT_MOST
        more = f"; and {plural(rest, 'other')}" if rest > 0 else ""
        return f"Going by the names, {who} after what cannot come before {which}: {said}{more}."


def ask(names: Sequence[str], order: Sequence[str], given: Mapping[str, Any] | None) -> Question | None:
    """Compare a learned order with what names suggest; None where they suggest nothing about it.

    What was given settles what it says: a tier before another, a pair, a column that comes first, and a
    column that is put behind others and so does not come first. Everything else is asked about.

    Parameters
    ----------
    names : of all variables.
    order : of those in the learned causal order, without covariates.
    given : what was given, as plain values of the parameter ``knowledge``.
    """
    rules, reading = Given.of(given), read(names)
    first = rules.in_time(reading.first)
    placed = {*first, *rules.placed}
    behind_others = list(_behind_others(order, set(first), placed))
    visits = [_Visits(order, times, placed, rules) for times in reading.schedules]
    if not any(name in placed and says_first(name) for name in order) and not any(map(bool, visits)):
        return None
    misplaced = {one.column: one for one in behind_others}
    for one in sorted((one for some in visits for one in some.misplaced), key=_place_in(order)):
        misplaced.setdefault(one.column, one)
    return Question(
        tuple(misplaced.values()),
        _suggestion(names, order, rules, reading, first, behind_others, visits),
        any(some.overruled for some in visits),
    )


def _suggestion(
    names: Sequence[str],
    order: Sequence[str],
    rules: Given,
    reading: Reading,
    first: Sequence[str],
    behind_others: Sequence[Misplaced],
    visits: Sequence[_Visits],
) -> Suggestion:
    """What would put right what is misplaced, and no more."""
    # Out of a tier that was given only where that is needed: it is where somebody put it.
    move = any(one.column in rules.tier for one in behind_others)
    first = rules.in_time(name for name in first if move or name not in rules.tier)
    wrong = [some for some in visits if some.misplaced]
    for some in wrong:
        tiers = merged(names, rules, first, some.times)
        if tiers is not None:
            rest = [name for one in wrong if one is not some for name in one.concerned]
            return with_tiers(names, rules, reading, tuple(first), tiers, rest)
    by_hand = tuple(dict.fromkeys(name for some in wrong for name in some.concerned))
    # What was left out of the order stands nowhere wrong; beside tiers it would count as of the last one.
    ordered = set(order)
    first = rules.in_time(name for name in first if behind_others and name in ordered)
    tiers = tuple(tuple(name for name in tier if name not in first) for tier in rules.tiers) if move else ()
    return Suggestion(tuple(first), tiers, rules.fields, by_hand=by_hand)


def _place_in(order: Sequence[str]) -> Callable[[Misplaced], int]:
    places = {name: place for place, name in enumerate(order)}
    return lambda one: places[one.column]


def _behind_others(
    order: Sequence[str], first: Collection[str], placed: Collection[str]
) -> Iterator[Misplaced]:
    """Columns that come first by their names, and do not."""
    others: list[str] = []
    for name in order:
        if name in first and others:
            yield Misplaced(name, tuple(others[:NAMED_AT_MOST]), len(others), visit=False)
        if name not in placed:
            others.append(name)


class _Visits:
    """How a learned order agrees with the visits of one way of counting.

    Attributes
    ----------
    times : when columns were measured.
    misplaced : columns that stand behind some of a later visit, and no rule says so.
    agrees : whether some stand behind one of an earlier visit.
    overruled : whether some stand behind one of a later visit because a rule says so.
    """

    def __init__(
        self, order: Sequence[str], times: Mapping[str, float], placed: Collection[str], rules: Given
    ) -> None:
        self.times = times
        self.misplaced: list[Misplaced] = []
        self.agrees = self.overruled = False
        # By visit and given tier: pairs of thousands of columns are too many.
        seen: dict[tuple[float, int | None], list[tuple[int, str]]] = {}
        for place, name in enumerate(order):
            if name not in times or name in placed:
                continue
            time, tier = times[name], rules.tier.get(name)
            later = []
            for (its_time, its_tier), columns in seen.items():
                self.agrees |= its_time < time
                if its_time > time and rules.tiers_say(its_tier, tier):
                    self.overruled = True
                elif its_time > time:
                    later.append(self._unsettled(columns, name, rules))
            n_behind = sum(map(len, later))
            if n_behind:
                few = sorted(one for columns in later for one in columns[:NAMED_AT_MOST])[:NAMED_AT_MOST]
                self.misplaced.append(Misplaced(name, tuple(one for _, one in few), n_behind, visit=True))
            seen.setdefault((time, tier), []).append((place, name))

    def __bool__(self) -> bool:
        """Whether names say anything about the order that no rule says."""
        return self.agrees or bool(self.misplaced)

    @property
    def concerned(self) -> list[str]:
        """The misplaced columns, and what they stand behind."""
        return list(dict.fromkeys(name for one in self.misplaced for name in (one.column, *one.behind)))

    def _unsettled(self, columns: list[tuple[int, str]], name: str, rules: Given) -> list[tuple[int, str]]:
        """Those of some columns that no pair puts before this one."""
        if not rules.has_earlier(name):
            return columns
        left = [one for one in columns if not rules.pairs_say(one[1], name)]
        self.overruled |= len(left) < len(columns)
        return left
