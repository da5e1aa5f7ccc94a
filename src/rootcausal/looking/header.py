"""Rows that repeat the names of the columns, as files have that were joined end to end."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.table import Index
from ..wording import listed, plural
from .findings import Finding

ROWS_NAMED = 5


def repeated_headers(table: Any) -> Index:
    """Which rows of a pyarrow table hold the name of its column in every cell."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows: Any = None
    named = [name for name in table.column_names if name.strip()]
    for name in named:
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            return np.empty(0, dtype=np.intp)
        same = pc.equal(pc.utf8_trim_whitespace(column), name.strip()).fill_null(False)
        rows = same if rows is None else pc.and_(rows, same)
        if not pc.any(rows).as_py():
            return np.empty(0, dtype=np.intp)
    # Of a single column the name may be a level.
    if rows is None or len(named) < 2:
        return np.empty(0, dtype=np.intp)
    return np.flatnonzero(rows.to_numpy()).astype(np.intp)


def find_headers(rows: Index) -> list[Finding]:
    """What to say of rows, counted from 0, that were left out of the look."""
    if not rows.size:
        return []
    shown = listed([str(row + 1) for row in rows.tolist()], ROWS_NAMED)
    many = rows.size > 1
    sentence = (
        f"{'Rows' if many else 'Row'} {shown} {'repeat' if many else 'repeats'} the header: remove "
        f"{'them' if many else 'it'} from the file. What is said here, and the line, is without "
        f"{plural(rows.size, 'row') if many else 'it'}."
    )
    return [Finding("repeated header", (), sentence)]
