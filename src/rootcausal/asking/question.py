"""Does the learned order agree with what the names of the columns suggest?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..wording import plural, quoted
from .before_all import says_first
from .suggestion import NAMED_AT_MOST, Suggestion, named, suggest


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
    """What names suggest about a learned order: the columns ``misplaced``, and what would put them right."""

    misplaced: tuple[Misplaced, ...]
    suggestion: Suggestion

    def statement(self) -> str:
        """What was found, in words."""
        if not self.misplaced:
            return "Going by the names, no column stands after what cannot come before it."
        who = "a column stands" if len(self.misplaced) == 1 else "some columns stand"
        which = "it" if len(self.misplaced) == 1 else "them"
        said = "; ".join(one.in_words() for one in self.misplaced[:NAMED_AT_MOST])
        rest = len(self.misplaced) - NAMED_AT_MOST
        more = f"; and {plural(rest, 'other')}" if rest > 0 else ""
        return f"Going by the names, {who} after what cannot come before {which}: {said}{more}."


def ask(names: Sequence[str], order: Sequence[str], given: Mapping[str, Any] | None) -> Question | None:
    """Compare a learned order with what names suggest; None where they suggest nothing about it.

    Parameters
    ----------
    names : of all variables.
    order : of those in the learned causal order, without covariates.
    given : what was given, as plain values of the parameter ``knowledge``. Columns in its tiers are not asked
        about, nor visits where it has tiers, nor what its pairs say otherwise.
    """
    given = given or {}
    suggested = suggest(names, given)
    placed = {*suggested.first, *named(given, "first"), *named(given, "covariates")}
    visit = {name: number for number, tier in enumerate(suggested.tiers) for name in tier}
    behind_others = list(_behind_others(order, set(suggested.first), placed))
    behind_later = list(_behind_later(order, visit))
    told = any(name in placed and says_first(name) for name in order)
    if not told and len({visit[name] for name in order if name in visit}) < 2:
        return None
    tiers = suggested.tiers if behind_later else ()
    # What was left out of the order stands nowhere wrong, but beside tiers it would count as of the last one.
    ordered = set(order)
    first = tuple(name for name in suggested.first if tiers or (behind_others and name in ordered))
    return Question((*behind_others, *behind_later), Suggestion(first, tiers, given, suggested.others))


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


def _behind_later(order: Sequence[str], visit: Mapping[str, int]) -> Iterator[Misplaced]:
    """Columns that stand behind some of a later visit."""
    # Of each visit the first few with their places, and how many: pairs of thousands of columns are too many.
    seen: dict[int, list[tuple[int, str]]] = {}
    count: dict[int, int] = {}
    for place, name in enumerate(order):
        if name not in visit:
            continue
        later = sorted(one for number in seen if number > visit[name] for one in seen[number])
        if later:
            n_behind = sum(count[number] for number in seen if number > visit[name])
            yield Misplaced(name, tuple(one for _, one in later[:NAMED_AT_MOST]), n_behind, visit=True)
        some = seen.setdefault(visit[name], [])
        count[visit[name]] = count.get(visit[name], 0) + 1
        if len(some) < NAMED_AT_MOST:
            some.append((place, name))
