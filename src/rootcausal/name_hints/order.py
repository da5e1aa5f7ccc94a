"""The causal order that names suggest: what was given, what they add, what speaks against the learned one."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any

from ..wording import OUTCOME, for_shell, listed, one_line, pasted, plural, quoted
from .columns import says_first, says_treatment
from .visits import Reading, Schedule, read

# What somebody said of the causal order: it settles what it says, and nothing else.

Tiers = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Given:
    """What was given, free of contradictions.

    Attributes
    ----------
    fields : plain values of the parameter ``knowledge``, lists by field.
    placed : columns of ``first`` and ``covariates``.
    tiers : columns of each tier, the last of which may be empty.
    tier : the tier of each column that is named in one. Others belong to the last by default; that they do is
        an omission, not a rule.
    pairs : (earlier, later), but those of columns that all have a place: of these none causes another anyway.
    """

    fields: Mapping[str, Any]
    placed: frozenset[str]
    tiers: tuple[tuple[str, ...], ...]
    tier: Mapping[str, int]
    pairs: tuple[tuple[str, str], ...]
    _number: Mapping[str, int]
    _earlier: Mapping[str, int]

    @classmethod
    def of(cls, fields: Mapping[str, Any] | None) -> Given:
        fields = fields or {}
        tiers = tuple(tuple(tier) for tier in fields.get("tiers") or ())
        placed = frozenset((*named(fields, "first"), *named(fields, "covariates")))
        said = (
            *((cause, effect) for cause, effect in fields.get("causes") or ()),
            *((other, one) for one, other in fields.get("not_causes") or ()),
        )
        pairs = tuple(pair for pair in said if not placed.issuperset(pair))
        number = {name: at for at, name in enumerate(dict.fromkeys(one for pair in pairs for one in pair))}
        return cls(
            fields,
            placed,
            tiers,
            {name: place for place, tier in enumerate(tiers) for name in tier},
            pairs,
            number,
            _all_earlier(pairs, number),
        )

    def has_earlier(self, name: str) -> bool:
        """Whether pairs put any column before this one."""
        return bool(self._earlier.get(name))

    def pairs_say(self, earlier: str, later: str) -> bool:
        """Whether pairs, one after the other, put one column before another."""
        place = self._number.get(earlier)
        return place is not None and bool(self._earlier.get(later, 0) >> place & 1)

    def tiers_say(self, earlier: int | None, later: int | None) -> bool:
        """Whether somebody put columns of one tier before those of another; None is a column in no tier."""
        return earlier is not None and later is not None and earlier < later

    def in_time(self, first: Iterable[str]) -> tuple[str, ...]:
        """Those of some columns that can come before all others: nobody said that they do not.

        One that is in a tier behind others is where somebody put it; so is one that a pair puts behind a
        column that does not come first itself.
        """
        earliest = min(self.tier.values(), default=0)
        found = [
            name for name in first if name not in self.placed and self.tier.get(name, earliest) == earliest
        ]
        while True:
            kept = {*self.placed, *found}
            late = {after for before, after in self.pairs if before not in kept}
            if not late.intersection(found):
                return tuple(found)
            found = [name for name in found if name not in late]

    def fits(self, stage: dict[str, int], last: int, free: Collection[str]) -> bool:
        """Whether the pairs agree with a stage for each column, and ``last`` for all others.

        Columns that are ``free`` to have a stage get that of what they have to come before.
        """
        earlier = _direct(self.pairs)
        for after in reversed(_in_order(self.pairs)):
            for before in earlier.get(after, ()):
                latest = stage.get(after, last)
                if stage.get(before, last) > latest:
                    if before not in free:
                        return False
                    stage[before] = latest
        return True


def named(fields: Mapping[str, Any], field: str) -> list[str]:
    """The names in a field of ``knowledge``."""
    return list(fields.get(field) or ())


def _direct(pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """What pairs put right before each column."""
    earlier: dict[str, list[str]] = {}
    for before, after in pairs:
        earlier.setdefault(after, []).append(before)
    return earlier


def _in_order(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """All columns of pairs, each after those that come before it."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for before, after in pairs:
        sorter.add(after, before)
    return list(sorter.static_order())


def _all_earlier(pairs: Sequence[tuple[str, str]], number: Mapping[str, int]) -> dict[str, int]:
    """For each column of pairs all that they put before it, as the bits of a number."""
    earlier = _direct(pairs)
    found: dict[str, int] = {}
    for after in _in_order(pairs):
        bits = 0
        for before in earlier.get(after, ()):
            bits |= found[before] | 1 << number[before]
        found[after] = bits
    return found


@dataclass
class _Block:
    """Columns of a tier, and the visit that they are of; None where they tell none."""

    columns: list[str]
    time: float | None


def merged(
    names: Sequence[str], given: Given, first: Collection[str], times: Mapping[str, float]
) -> Tiers | None:
    """The tiers given, with the visits among them; None where somebody has to say more than names do.

    Parameters
    ----------
    names : of all variables.
    first : columns that come before all tiers, beside those that were given.
    times : when columns were measured, as far as their names tell.
    """
    placed = {*first, *given.placed}
    times = {name: time for name, time in times.items() if name not in placed}
    blocks: list[_Block] = []
    for tier in given.tiers:
        parts = _by_visit([name for name in tier if name not in placed], times)
        if parts is None:
            return None
        blocks += parts
    told = [block.time for block in blocks if block.time is not None]
    if told != sorted(told):
        return None
    free = {name: time for name, time in times.items() if name not in given.tier}
    for time in sorted(set(free.values())):
        if not _put(blocks, [name for name in names if free.get(name) == time], time):
            return None
    stage = {name: place for place, block in enumerate(blocks) for name in block.columns}
    stage |= dict.fromkeys(placed, -1)
    before = set(stage)
    if len(blocks) < 2 or not given.fits(stage, len(blocks) - 1, set(names).difference(stage)):
        return None
    for name in names:
        if name in stage and name not in before:
            blocks[stage[name]].columns.append(name)
    return tuple(tuple(block.columns) for block in blocks)


def _by_visit(columns: list[str], times: Mapping[str, float]) -> list[_Block] | None:
    """The columns of a tier, one visit after the other; None where one of them may be of any."""
    visits = sorted({times[name] for name in columns if name in times})
    if len(visits) < 2:
        return [_Block(columns, visits[0] if visits else None)]
    if any(name not in times for name in columns):
        return None
    return [_Block([name for name in columns if times[name] == visit], visit) for visit in visits]


def _put(blocks: list[_Block], columns: list[str], time: float) -> bool:
    """Put the columns of a visit where they belong; False where that is not clear."""
    same = [block for block in blocks if block.time == time]
    if same:
        same[-1].columns += columns
        return True
    later = [place for place, block in enumerate(blocks) if block.time is not None and block.time > time]
    if later:
        blocks.insert(later[0], _Block(columns, time))
        return True
    # The last tier is for all others: beside columns whose time is not told, nobody knows where in it.
    if blocks and not blocks[-1].columns:
        blocks.pop()
    elif blocks and blocks[-1].time is None:
        return False
    blocks.append(_Block(columns, time))
    return True


# What names suggest that somebody knows, beside what was given.

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


# Does the learned order agree with what the names of the columns suggest?


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
