"""What somebody said of the causal order: it settles what it says, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any

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
