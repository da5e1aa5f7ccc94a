"""What the model says about patients: values, tables, root causes, and what if."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
from scipy.special import expit

from .core.attribution import CausalModel
from .core.table import F64
from .errors import InputError, MissingExtraError
from .validation import Matrix


@dataclass(frozen=True)
class RootCause:
    """A variable whose shock raised one patient's risk.

    Attributes
    ----------
    variable : its name.
    shapley : log-odds that the shock adds.
    error : the shock, in standard deviations.
    value : what was measured.
    """

    variable: str
    shapley: float
    error: float
    value: float


@dataclass(frozen=True)
class WhatIf:
    """Patients with one shock set to another value.

    Attributes
    ----------
    log_odds, probability : (n,) of the disease.
    data : (n, p) predicted measurements: the shock also changes what lies downstream.
    """

    log_odds: F64
    probability: F64
    data: F64


@dataclass(frozen=True)
class Explanation:
    """Shapley values of patients, with what is needed to read them.

    Attributes
    ----------
    values : (n, p) log-odds that each shock adds; zero for variables outside the causal order.
    base_value : log-odds of a patient whose shocks are all average. This is not the prevalence.
    errors : (n, p) the shocks, in standard deviations; zero for variables outside the causal order.
    data : (n, p) the measurements.
    feature_names : (p,) names of the variables.
    ids : (n,) names of the patients.
    provenance : how the model was made.
    """

    values: F64
    base_value: float
    errors: F64
    data: F64
    feature_names: tuple[str, ...]
    ids: tuple[Any, ...]
    provenance: dict[str, Any]
    _model: CausalModel = field(repr=False)
    _library: Any = field(repr=False)

    @classmethod
    def of(
        cls,
        model: CausalModel,
        matrix: Matrix,
        names: Sequence[str],
        X: Any,
        ids: Any,
        provenance: dict[str, Any],
    ) -> Explanation:
        return cls(
            values=model.shapley(matrix.values),
            base_value=model.intercept,
            errors=model.errors(matrix.values),
            data=matrix.values,
            feature_names=tuple(names),
            ids=_ids(ids, X, matrix.values.shape[0]),
            provenance=provenance,
            _model=model,
            _library=matrix.library,
        )

    @property
    def log_odds(self) -> F64:
        """(n,): base value plus all that shocks add."""
        return self.base_value + self.values.sum(axis=1)

    @property
    def probability(self) -> F64:
        """(n,): risk of the disease."""
        return expit(self.log_odds)

    def root_causes(self, top: int = 3) -> list[list[RootCause]]:
        """For each patient, up to ``top`` root causes, strongest first (Definition 1).

        Only values above zero count: a shock with a negative value is protective. Patients may have none.
        """
        if top < 1:
            raise InputError(f"top must be at least 1, not {top!r}")
        ranked = np.argsort(-self.values, axis=1, kind="stable")[:, :top]
        return [
            [
                RootCause(
                    self.feature_names[c],
                    float(self.values[row, c]),
                    float(self.errors[row, c]),
                    float(self.data[row, c]),
                )
                for c in ranked[row]
                if self.values[row, c] > 0
            ]
            for row in range(len(ranked))
        ]

    def what_if(self, variable: str | int, error: float = 0.0) -> WhatIf:
        """Set the shock of one variable, by default to none, and predict risk and measurements."""
        column = self._column(variable)
        place = np.flatnonzero(self._model.order == column)
        data = self.data.copy()
        log_odds = self.log_odds
        if place.size:
            model, root = self._model, int(place[0])
            change = error - self.errors[:, column]
            log_odds = log_odds + change * model.coef[root]
            data[:, model.order] += change[:, None] * (model.mixing[:, root] * model.sd)
        return WhatIf(log_odds, expit(log_odds), data)

    def _column(self, variable: str | int) -> int:
        if variable in self.feature_names:
            return self.feature_names.index(str(variable))
        if isinstance(variable, int | np.integer) and 0 <= variable < len(self.feature_names):
            return int(variable)
        raise InputError(
            f"no variable {variable!r}: the model knows {', '.join(map(repr, self.feature_names[:8]))}"
        )

    def to_frame(self) -> Any:
        """Tidy table with one row for each patient and variable.

        Columns: id, variable, value (measured), error (shock in standard deviations), shapley (log-odds),
        rank (1 is the patient's strongest), root_cause (Definition 1). The table is of the library that X
        came in; for arrays it is a pandas DataFrame.
        """
        n, p = self.values.shape
        rank = np.empty((n, p), dtype=np.int64)
        order = np.argsort(-self.values, axis=1, kind="stable")
        np.put_along_axis(rank, order, np.arange(1, p + 1)[None, :], axis=1)
        return _frame(
            {
                "id": np.repeat(np.array(self.ids), p),
                "variable": np.tile(np.array(self.feature_names), n),
                "value": self.data.ravel(),
                "error": self.errors.ravel(),
                "shapley": self.values.ravel(),
                "rank": rank.ravel(),
                "root_cause": (self.values > 0).ravel(),
            },
            self._library,
        )

    def to_shap(self) -> Any:
        """The same as a ``shap.Explanation``, for shap's plots.

        ``data`` are the shocks, since it is their contributions that the values are; ``display_data`` are
        the measurements, ``instance_names`` the ids.
        """
        try:
            import shap
        except ImportError as error:
            raise MissingExtraError("to_shap needs shap: pip install 'rootcausal[shap]'") from error
        return shap.Explanation(
            values=self.values,
            base_values=np.full(len(self.values), self.base_value),
            data=self.errors,
            display_data=self.data,
            feature_names=list(self.feature_names),
            instance_names=[str(name) for name in self.ids],
        )


def _ids(ids: Any, X: Any, n_rows: int) -> tuple[Any, ...]:
    if ids is None:
        return tuple(range(n_rows))
    if isinstance(ids, str):
        try:
            ids = X[ids]
        except (KeyError, TypeError, IndexError) as error:
            raise InputError(f"no id column {ids!r} in the table") from error
    if nw.dependencies.is_into_series(ids):
        ids = nw.from_native(ids, series_only=True).to_list()
    found = tuple(ids)
    if len(found) != n_rows:
        raise InputError(f"{len(found)} ids were given for {n_rows} patients")
    return found


def _frame(columns: dict[str, Any], library: Any) -> Any:
    try:
        return nw.from_dict(columns, backend=library or nw.Implementation.PANDAS).to_native()
    except ImportError as error:
        raise MissingExtraError(
            "tables from arrays are pandas DataFrames, and pandas is not installed: "
            "pip install 'rootcausal[pandas]', or pass a dataframe of another library"
        ) from error
