"""What names suggest that somebody knows, beside what was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..wording import listed, quoted
from .before_all import says_treatment
from .given import Given, named
from .merging import Tiers, merged
from .reading import Reading, read
from .visits import Schedule

NAMED_AT_MOST = 3
LEFT_OUT_NAMED = 6


@dataclass(frozen=True)
class Suggestion:
    """Columns that come before all others, and visits one after the other, by their names.

    Attributes
    ----------
    first : names that were not given there.
    tiers : names of each visit, with the tiers that were given; empty where these need not change.
    given : what was given, as plain values of the parameter ``knowledge``: lists by field.
    others : columns in none of these, which then belong to the last tier.
    left_out : those of them that are of visits too, counted in another way.
    by_hand : columns of visits to be put into tiers by somebody who knows more than names tell.
    """

    first: tuple[str, ...]
    tiers: Tiers
    given: Mapping[str, Any]
    others: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    by_hand: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether an option says it, or a part of it."""
        return bool(self.first or self.tiers)

    @property
    def added(self) -> dict[str, Any]:
        """The fields of ``knowledge`` that change, with what was given in them."""
        fields: dict[str, Any] = {}
        if self.first:
            fields["first"] = [*named(self.given, "first"), *self.first]
        if self.tiers:
            fields["tiers"] = [list(tier) for tier in self.tiers]
        return fields

    @property
    def knowledge(self) -> dict[str, Any]:
        """All of ``knowledge``, with what was given."""
        return {field: value for field, value in {**self.given, **self.added}.items() if value}

    @property
    def work(self) -> str:
        """What no option says; empty where there is nothing."""
        if not self.by_hand:
            return ""
        some = listed([quoted(name) for name in self.by_hand], LEFT_OUT_NAMED)
        return f"put {some} into tiers in the order of their visits"

    @property
    def caveats(self) -> tuple[str, ...]:
        """What to know before doing as the names suggest."""
        drawn = [quoted(name) for name in self.first if says_treatment(name)]
        found = []
        if drawn:
            found.append(f"name {listed(drawn, NAMED_AT_MOST)} only if assigned by lot")
        if self.tiers and self.given.get("tiers"):
            found.append("these tiers take the place of those given")
        if self.left_out:
            some = listed([quoted(name) for name in self.left_out], LEFT_OUT_NAMED)
            found.append(f"{some} look like visits too, but are counted in another way and left out here")
        if self.tiers and self.others:
            some = listed([quoted(name) for name in self.others], LEFT_OUT_NAMED)
            found.append(
                f"columns in no tier ({some}) count as measured at the last visit: put them where they belong"
            )
        return tuple(found)


def suggest(names: Sequence[str], given: Mapping[str, Any]) -> Suggestion:
    """All that the names of variables suggest, without what was given and what would contradict it."""
    rules, reading = Given.of(given), read(names)
    first = rules.in_time(name for name in rules.in_time(reading.first) if name not in rules.tier)
    for times in reading.schedules:
        tiers = merged(names, rules, first, times)
        if tiers is not None:
            return with_tiers(names, rules, reading, first, tiers)
    return Suggestion(first, (), given)


def with_tiers(
    names: Sequence[str],
    given: Given,
    reading: Reading,
    first: tuple[str, ...],
    tiers: Tiers,
    by_hand: Sequence[str] = (),
) -> Suggestion:
    """A suggestion with such tiers, and what they leave out."""
    told = {*given.placed, *first}.union(*tiers)
    visits: Schedule = {name: time for times in reading.schedules for name, time in times.items()}
    return Suggestion(
        first,
        tiers,
        given.fields,
        others=tuple(name for name in names if name not in told),
        left_out=tuple(name for name in names if name in visits and name not in told),
        by_hand=tuple(name for name in by_hand if name in told),
    )
