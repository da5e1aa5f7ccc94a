"""Where rows lie that nonlinear mechanisms are learned from."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..errors import InputError
from ..method.table import Table
from ..method.weighted import Part
from .rows import PlainRows
from .rows_in_memory import HeldRows, HeldTable, parts_of
from .scattered import Scattered, ScatteredPlain, Where


def rows_of(table: Table) -> PlainRows:
    """The rows of a table, where they are."""
    parts = parts_of(table)
    tables = [part.table for part in parts if isinstance(part.table, Scattered)]
    if not all(isinstance(one, Scattered | HeldTable) for one in (part.table for part in parts)):
        raise InputError(
            "nonlinear relations are learned from rows in memory or on a cluster, not on a GPU: use "
            "backend='auto', 'numba' or 'numpy', or mechanism='linear'"
        )
    if not tables:
        return HeldRows.of(parts)
    if any(part.copies > 1 for part in parts):
        raise InputError(
            "nonlinear relations of rows on a cluster are learned where no value is missing: fill in what is "
            "missing, or use mechanism='linear'"
        )
    counted = [(part.weight, part.patients) for part in parts]
    return ScatteredPlain.of(tables, partial(_held, counted), table.shape[1])


def _held(counted: list[tuple[float, float]], grain: Any, where: Where) -> HeldRows:
    """The rows of one place, as those of their table count."""
    return HeldRows.of([Part(grain.table, *counted[where[0]])])
