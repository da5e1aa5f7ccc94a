"""A validated cohort, ready to be fitted, wherever its rows are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.holes import IncompleteRaw
from ..core.layout import Layout
from ..core.moments import Columns
from ..core.outcome import Outcome
from ..core.table import F64, Index, RawTable
from ..errors import InputError
from .encoding import Encoding
from .kinds import Variable

# Most of a column that lacks this share of its values would be made up by whatever fills it in.
MOSTLY_MISSING = 0.6


@dataclass(frozen=True)
class Cohort:
    """What a fit asks of its data besides sums.

    Attributes
    ----------
    raw : the rows, with or without holes.
    columns : moments of the q columns; all of them vary, and none is a copy of another.
    encoding : what the columns stand for.
    classes : (2,) labels, the disease or the event second; empty for a cohort without labels.
    outcome : what happened to the patients; None where the method asks for nothing.
    facts : what a model remembers of the outcome, such as how many rows have the disease.
    rows : values (n, q), NaN where missing, and what is known of the outcome (n,) or (n, 2), where they are
        in this process.
    borrowed : the values may be the user's own array.
    groups : (n,) the number of each row's patient, from 0; None where each row is a patient of its own.
    reading : what of a file's reading the results depend on, for the model to remember.
    label_name : what the column of the labels of a diagnosis is called; empty where it has no name.
    """

    raw: RawTable | IncompleteRaw
    columns: Columns
    encoding: Encoding
    classes: np.ndarray
    outcome: Outcome | None
    facts: Mapping[str, Any]
    rows: tuple[F64, np.ndarray] | None = None
    borrowed: bool = False
    groups: Index | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    label_name: str = ""

    @property
    def variables(self) -> tuple[Variable, ...]:
        """(p,) what the columns of the user's table hold."""
        return self.encoding.variables

    @property
    def layout(self) -> Layout:
        """Which variable each column belongs to."""
        return self.encoding.layout

    @property
    def n_cases(self) -> int:
        """Rows with the disease; of a diagnosis only."""
        return int(self.facts["cases"])

    @property
    def missing_by_class(self) -> Index | None:
        """(2, p) missing values of each variable among controls and cases; None where there are none."""
        moments = self.columns.moments
        if moments.measured is None or moments.count.size < 2:
            return None
        first = np.searchsorted(self.layout.variable, np.arange(len(self.variables)))
        return (moments.count[:, None] - moments.measured)[:, first].astype(np.intp)

    def named(self, variables: Index) -> list[str]:
        """What to call some variables."""
        return [self.encoding.names[v] for v in variables]


def column_name(names: Any, column: int | np.integer) -> str:
    """The name of a column or, where columns have none, one made of its place."""
    return f"x{column}" if names is None else str(names[column])


def names_of(estimator: Any) -> list[str]:
    """What to call the columns that an estimator was fitted on."""
    names = getattr(estimator, "feature_names_in_", None)
    return [column_name(names, column) for column in range(estimator.n_features_in_)]


def names_out(estimator: Any, columns: Index, given: Any = None) -> np.ndarray:
    """What to call some columns, as scikit-learn's ``get_feature_names_out`` does; ``given`` names all."""
    names = names_of(estimator)
    if given is not None:
        if hasattr(estimator, "feature_names_in_") and list(given) != names:
            raise InputError("input_features is not equal to feature_names_in_")
        if len(given) != estimator.n_features_in_:
            raise InputError("input_features should have length equal to number of features")
        names = list(given)
    return np.array([names[column] for column in columns], dtype=object)


def set_names(estimator: Any, columns: list[Any]) -> None:
    """Set n_features_in_ and, where all columns have names, feature_names_in_.

    Numbers are no names to scikit-learn; others than 0, 1, 2 are kept, so that no other order goes unnoticed.
    """
    estimator.n_features_in_ = len(columns)
    for name in ("feature_names_in_", "_column_numbers"):
        vars(estimator).pop(name, None)
    if all(isinstance(name, int | np.integer) for name in columns) and columns != list(range(len(columns))):
        estimator._column_numbers = columns
    if all(isinstance(name, str) for name in columns):
        estimator.feature_names_in_ = np.array(columns, dtype=object)
