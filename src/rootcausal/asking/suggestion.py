"""What names suggest that somebody knows, beside what was given."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..wording import listed, quoted
from .before_all import says_first, says_treatment
from .visits import in_tiers, visits

NAMED_AT_MOST = 3


@dataclass(frozen=True)
class Suggestion:
    """Columns that come before all others, and visits one after the other, by their names.

    Attributes
    ----------
    first : names that were not given.
    tiers : names of each visit; empty where there are not several, or tiers were given.
    given : what was given, as plain values of the parameter ``knowledge``: lists by field.
    others : whether there are columns in none of these, which then belong to the last tier.
    """

    first: tuple[str, ...]
    tiers: tuple[tuple[str, ...], ...]
    given: Mapping[str, Any]
    others: bool

    def __bool__(self) -> bool:
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
    def caveats(self) -> tuple[str, ...]:
        """What to know before doing as the names suggest."""
        drawn = [quoted(name) for name in self.first if says_treatment(name)]
        found = []
        if drawn:
            found.append(f"name {listed(drawn, NAMED_AT_MOST)} only if assigned by lot")
        if self.tiers and self.others:
            found.append("columns in no tier count as measured at the last visit: put them where they belong")
        if any(self.given.values()):
            found.append("a file of --knowledge takes the same as a field of it")
        return tuple(found)


def suggest(names: Sequence[str], given: Mapping[str, Any]) -> Suggestion:
    """What the names of variables suggest, without what was given and what would contradict it."""
    placed = {*named(given, "first"), *named(given, "covariates")}
    in_tier = {name for tier in given.get("tiers") or () for name in tier}
    pairs = _pairs(given)
    free = [name for name in names if name not in placed and name not in in_tier]
    first = _not_behind_others([name for name in free if says_first(name)], placed, pairs)
    tiers: tuple[tuple[str, ...], ...] = ()
    if not in_tier:
        tiers = in_tiers(visits(name for name in free if not says_first(name)))
    if len(tiers) < 2 or _contradicts(tiers, {*first, *placed}, pairs):
        tiers = ()
    told = {*placed, *first}.union(*tiers)
    return Suggestion(tuple(first), tiers, given, others=any(name not in told for name in names))


def named(given: Mapping[str, Any], field: str) -> list[str]:
    """The names in a field of ``knowledge``."""
    return list(given.get(field) or ())


def _pairs(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Pairs (earlier, later) that were given."""
    return [
        *((cause, effect) for cause, effect in given.get("causes") or ()),
        *((other, one) for one, other in given.get("not_causes") or ()),
    ]


def _not_behind_others(
    first: list[str], placed: Collection[str], pairs: Sequence[tuple[str, str]]
) -> list[str]:
    """Those that no pair puts behind a column that does not come first itself."""
    while True:
        late = {after for before, after in pairs if before not in placed and before not in first}
        if not late.intersection(first):
            return first
        first = [name for name in first if name not in late]


def _contradicts(
    tiers: Sequence[Sequence[str]], first: Collection[str], pairs: Sequence[tuple[str, str]]
) -> bool:
    """Whether a pair puts a column of a later tier (the last, where it has none) before another."""
    place = {name: number for number, tier in enumerate(tiers) for name in tier} | dict.fromkeys(first, -1)
    last = len(tiers) - 1
    return any(place.get(before, last) > place.get(after, last) for before, after in pairs)
