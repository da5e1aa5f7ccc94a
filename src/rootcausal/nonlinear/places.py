"""Where rows lie that nonlinear mechanisms are learned from: in memory, on a GPU or on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..errors import InputError
from ..method.table import Table
from ..method.weighted import Part
from .array_rows import ArrayPlain, room_for
from .memory_rows import HeldRows, parts_of, with_outcomes
from .rows import PlainRows
from .scattered import Scattered, ScatteredPlain, Where


def rows_of(table: Table) -> PlainRows:
    """The rows of a table, where they are."""
    parts = parts_of(table)
    copied = any(part.copies > 1 for part in parts)
    scattered = [part.table for part in parts if isinstance(part.table, Scattered)]
    if not scattered:
        # What was filled in for missing values was made in memory.
        if copied or not _is_on_card(parts[0]):
            return HeldRows.of(_in_memory(parts))
        on_one: Any = parts[0].table
        on_one.check_room(room_for(table.shape))
        return on_card(parts, on_one.array_module)
    if copied:
        raise InputError(
            "nonlinear relations of rows on a cluster are learned where no value is missing: fill in what is "
            "missing, or use mechanism='linear'"
        )
    counted = [(part.weight, part.patients) for part in parts]
    return ScatteredPlain.of(scattered, partial(_held, counted), table.shape[1])


def on_card(parts: Sequence[Part], xp: Any) -> ArrayPlain:
    """The rows of tables on a GPU, where ``xp`` computes."""
    held: list[tuple[Any, float, int]] = [(part.table, part.patients, part.copies) for part in parts]
    columns = [table.columns for table, *_ in held]
    weights = [xp.full(part.table.shape[0], part.weight) for part in parts]
    Z = columns[0] if len(columns) == 1 else xp.concatenate(columns, axis=1)
    return ArrayPlain(xp, Z, xp.concatenate(weights), partial(with_outcomes, held))


def _held(counted: list[tuple[float, float]], grain: Any, where: Where) -> HeldRows:
    """The rows of one place, as those of their table count."""
    return HeldRows.of(_in_memory([Part(grain.table, *counted[where[0]])]))


def _is_on_card(part: Part) -> bool:
    table: Any = part.table
    return not isinstance(table.columns, np.ndarray)


def _in_memory(parts: Sequence[Part]) -> list[Part]:
    tables: list[Any] = [part.table for part in parts]
    return [
        replace(part, table=table.in_memory()) if _is_on_card(part) else part
        for part, table in zip(parts, tables, strict=True)
    ]
