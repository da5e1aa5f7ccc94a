"""What names suggest that somebody knows, beside what was given."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..wording import OUTCOME, for_shell, listed, one_line, pasted, quoted
from .exogenous import says_treatment
from .known_order import Given, Tiers, merged, named
from .visits import Reading, Schedule, read

NAMED_AT_MOST = 3
LEFT_OUT_NAMED = 6
# Longer names, or texts, are not written out: nobody could read them, and a file holds them as well.
LONGEST_NAME = 200
LONGEST_TEXT = 20_000
NAMES_SHORTENED = 5
FILE = "known.json"


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
        drawn = [name for name in self.first if says_treatment(name)]
        found = []
        if drawn:
            some = listed([quoted(name) for name in drawn], NAMED_AT_MOST)
            found.append(f"name {some} only if assigned by lot")
        if drawn and all(_fits(name) and ":" not in name for name in drawn[:NAMED_AT_MOST]):
            pairs = pasted(",".join(f"{name}:{OUTCOME}" for name in drawn[:NAMED_AT_MOST]))
            found.append(
                f"by lot, --causes {pairs} keeps the effect from being shrunk as one that may be none"
            )
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


def options(suggestion: Suggestion) -> list[list[str]] | None:
    """Arguments such as ``["--first", "age,sex"]``; None where a name cannot stand in one."""
    fields = suggestion.added
    if not all(map(_fits, _names(fields))):
        return None
    found = [["--first", ",".join(fields["first"])]] if "first" in fields else []
    if "tiers" in fields:
        found.append(["--tiers", " < ".join(map(",".join, fields["tiers"]))])
    return found if sum(len(text) for _, text in found) <= LONGEST_TEXT else None


def as_option(suggestion: Suggestion) -> str:
    """What to add to ``rootcausal fit``, ready to paste into a shell; else what to write into a file."""
    found = options(suggestion)
    if found is not None:
        return " ".join(f"{option} {pasted(text)}" for option, text in found)
    return f"--knowledge {FILE}, a file with {in_file(suggestion)}"


def in_file(suggestion: Suggestion) -> str:
    """The content of a file for ``--knowledge``, with all that was given."""
    if _too_long(suggestion):
        return f"{_shortened(suggestion)} (names shortened here)"
    # The one character of ASCII that JSON leaves as it is, and a terminal does not show.
    return json.dumps(suggestion.knowledge).replace("\x7f", "\\u007f")


def in_python(suggestion: Suggestion) -> str:
    """The parameter of ``RCI`` that says the same."""
    if _too_long(suggestion):
        return f"knowledge=Knowledge(...) with {_shortened(suggestion)} (names shortened here)"
    fields = ", ".join(f"{field}={_literal(value)}" for field, value in suggestion.knowledge.items())
    return f"knowledge=Knowledge({fields})"


def _fits(name: str) -> bool:
    """Whether a name can stand between commas, and between ``<``, in any shell."""
    plain = name == name.strip() and not set(name) & set(',<"') and for_shell(name) is not None
    return bool(name) and plain and len(name) <= LONGEST_NAME


def _too_long(suggestion: Suggestion) -> bool:
    text = json.dumps(suggestion.knowledge)
    return len(text) > LONGEST_TEXT or any(len(name) > LONGEST_NAME for name in _names(suggestion.knowledge))


def _names(value: Any) -> list[str]:
    """All texts in lists of lists."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value
    return [name for one in inner for name in _names(one)]


def _shortened(suggestion: Suggestion) -> str:
    def few(names: Sequence[str]) -> str:
        return listed([one_line(name, 30) for name in names], NAMES_SHORTENED)

    fields = suggestion.added
    said = [f"first: {few(fields['first'])}"] if "first" in fields else []
    if "tiers" in fields:
        said.append(f"tiers: {' < '.join(map(few, fields['tiers']))}")
    return "; ".join(said)


def _literal(value: Any) -> str:
    """As Python reads it back, in characters that a terminal shows and does not obey."""
    if isinstance(value, str):
        return json.dumps(value) if value.isascii() and value.isprintable() else ascii(value)
    return f"[{', '.join(map(_literal, value))}]"
