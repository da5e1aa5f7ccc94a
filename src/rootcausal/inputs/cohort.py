"""A validated cohort, ready to be fitted, wherever its rows are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..core.holes import HoledRaw
from ..core.moments import Columns
from ..core.table import F64, Index, RawTable


class Target(NamedTuple):
    """The diagnosis: its labels, and which one is the disease (None: see :mod:`.target`)."""

    y: Any
    positive: Any


@dataclass(frozen=True)
class Cohort:
    """What a fit asks of its data besides sums.

    Attributes
    ----------
    raw : the rows, with or without holes.
    columns : moments of the columns; all of them vary, and none is a copy of another.
    names : (p,) of the columns, or None where they came without.
    classes : (2,) labels, the disease second; empty for a cohort without labels.
    n_cases : rows with the disease.
    rows : values (n, p) and labels (n,), where they are in this process.
    borrowed : the values may be the user's own array.
    """

    raw: RawTable | HoledRaw
    columns: Columns
    names: tuple[str, ...] | None
    classes: np.ndarray
    n_cases: int
    rows: tuple[F64, Index] | None = None
    borrowed: bool = False

    def named(self, columns: Index) -> list[str]:
        """What to call some columns."""
        return [column_name(self.names, c) for c in columns]


def column_name(names: Any, column: int | np.integer) -> str:
    """The name of a column or, where columns have none, one made of its place."""
    return f"x{column}" if names is None else str(names[column])


def names_of(estimator: Any) -> list[str]:
    """What to call the columns that an estimator was fitted on."""
    names = getattr(estimator, "feature_names_in_", None)
    return [column_name(names, column) for column in range(estimator.n_features_in_)]


def set_names(estimator: Any, columns: list[Any]) -> None:
    """Set n_features_in_ and, where all columns have names, feature_names_in_."""
    estimator.n_features_in_ = len(columns)
    vars(estimator).pop("feature_names_in_", None)
    if all(isinstance(name, str) for name in columns):
        estimator.feature_names_in_ = np.array(columns, dtype=object)
