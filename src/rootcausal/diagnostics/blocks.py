"""Columns a few at a time, on all cores."""

from __future__ import annotations

from collections.abc import Callable

from ..backends.on_demand import in_threads

# Columns are taken together as far as their values stay near the processor.
VALUES_AT_ONCE = 1 << 16


def in_blocks(
    work: Callable[[slice], None], n_columns: int, n_rows: int, values_at_once: int = VALUES_AT_ONCE
) -> None:
    """Call work(columns) for all columns of so many rows: the same blocks whatever the number of threads."""
    step = max(1, values_at_once // max(n_rows, 1))

    def blocks(first: int, last: int) -> None:
        for start in range(first * step, min(last * step, n_columns), step):
            work(slice(start, min(start + step, n_columns)))

    in_threads(blocks, -(-n_columns // step), n_columns * n_rows)
