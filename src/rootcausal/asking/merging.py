"""Tiers that say what names tell of visits, beside the tiers that were given."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from .given import Given

Tiers = tuple[tuple[str, ...], ...]


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
