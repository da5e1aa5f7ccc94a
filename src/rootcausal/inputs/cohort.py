"""A validated cohort, ready to be fitted, wherever its rows are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core.moments import Columns
from ..core.table import F64, Index, RawTable


class Target(NamedTuple):
    """The diagnosis: its labels, and which one is the disease (None: see target_labels)."""

    y: Any
    positive: Any


@dataclass(frozen=True)
class Cohort:
    """What a fit asks of its data besides sums.

    Attributes
    ----------
    raw : the rows.
    label : name of a column, by its place.
    check_columns : refuses constant columns and copies, given the moments of all columns.
    classes : (2,) labels, the disease second; empty for a cohort without labels.
    n_cases : rows with the disease.
    rows : values (n, p) and labels (n,), where they are in this process.
    borrowed : the values may be the user's own array.
    """

    raw: RawTable
    label: Callable[[int], str]
    check_columns: Callable[[Columns], None]
    classes: np.ndarray
    n_cases: int
    rows: tuple[F64, Index] | None = None
    borrowed: bool = False
