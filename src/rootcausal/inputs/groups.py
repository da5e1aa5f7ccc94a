"""Repeated patients: which rows are of the same one.

Rows of one patient are alike, and counting them as different people would make everything look surer than it
is. The fit itself takes each row as it comes; the bootstrap draws patients, with all of their rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np

from ..core.table import Index
from ..errors import InputError
from ..files.cells import is_missing


def patients_of(groups: Any, n_rows: int) -> Index | None:
    """(n,): the number of each row's patient, given one id a row; None where nobody is there twice.

    Rows without an id are patients of their own.
    """
    if groups is None:
        return None
    if nw.dependencies.is_into_series(groups):
        groups = nw.from_native(groups, series_only=True).to_list()
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise InputError(f"groups must hold one patient id a row, not {groups!r}")
    ids = list(groups.tolist() if isinstance(groups, np.ndarray) else groups)
    if len(ids) != n_rows:
        raise InputError(f"X has {n_rows} rows but groups has {len(ids)}: give one patient id a row")
    return numbered(ids)


def numbered(ids: list[Any]) -> Index | None:
    """(n,): patients by number, in the order in which they first come; None where nobody is there twice."""
    numbers: dict[Any, int] = {}
    found = np.empty(len(ids), dtype=np.intp)
    try:
        for row, name in enumerate(ids):
            found[row] = numbers.setdefault(_Nobody() if _is_missing(name) else name, len(numbers))
    except TypeError:
        raise InputError("groups must hold one patient id a row: numbers or texts") from None
    return None if len(numbers) == len(ids) else found


class _Nobody:
    """An id that is missing, and equal to no other."""


def _is_missing(name: Any) -> bool:
    return is_missing(name) or (isinstance(name, str) and not name.strip())
