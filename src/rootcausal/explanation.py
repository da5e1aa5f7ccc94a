"""What the model says about patients: values, tables, root causes, and what if."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from scipy.special import expit

from .core.model import CausalModel
from .core.table import F64
from .errors import InputError, MissingExtraError
from .inputs.from_frame import column_names
from .inputs.matrices import Matrix
from .uncertainty.spread import ranks, spread_of_values, spread_of_what_if
from .wording import listed


@dataclass(frozen=True)
class RootCause:
    """A variable whose shock raised one patient's risk.

    Attributes
    ----------
    variable : its name.
    shapley : log-odds that the shock adds.
    error : the shock, in standard deviations.
    value : what was measured.
    lower, upper : 95 % interval of ``shapley``; None without a bootstrap.
    frequency : share of resamples in which it is a root cause; None without a bootstrap.
    """

    variable: str
    shapley: float
    error: float
    value: float
    lower: float | None = None
    upper: float | None = None
    frequency: float | None = None


@dataclass(frozen=True, eq=False)
class WhatIf:
    """Patients with one shock set to another value.

    Attributes
    ----------
    log_odds, probability : (n,) of the disease.
    data : (n, p) predicted measurements: the shock also changes what lies downstream.
    log_odds_interval, probability_interval : (2, n) ends of 95 % intervals; None without a bootstrap.
    data_interval : (2, n, p) likewise.
    """

    log_odds: F64
    probability: F64
    data: F64
    log_odds_interval: F64 | None = None
    probability_interval: F64 | None = None
    data_interval: F64 | None = None


@dataclass(frozen=True, eq=False)
class Explanation:
    """Shapley values of patients, with what is needed to read them.

    Attributes
    ----------
    values : (n, p) log-odds that each shock adds; zero for variables outside the causal order.
    base_value : log-odds of a patient whose shocks are all average. This is not the prevalence.
    errors : (n, p) the shocks, in standard deviations; zero for variables outside the causal order.
    data : (n, p) the measurements; NaN for variables that the model left out and X lacks.
    feature_names : (p,) names of the variables.
    ids : (n,) names of the patients.
    provenance : how the model was made.
    lower, upper : (n, p) ends of the 95 % interval of ``values``.
    frequency : (n, p) share of resamples in which the variable is a root cause of this patient.
    rank_stability : (n, p) share of resamples in which the variable is a root cause of this patient and ranks
        as high as here, or higher; never above ``frequency``.
        These four are None unless the model has a bootstrap.
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
    lower: F64 | None = None
    upper: F64 | None = None
    frequency: F64 | None = None
    rank_stability: F64 | None = None
    _resamples: tuple[CausalModel, ...] = field(default=(), repr=False)

    @classmethod
    def of(
        cls,
        model: CausalModel,
        resamples: tuple[CausalModel, ...],
        matrix: Matrix,
        names: Sequence[str],
        X: Any,
        ids: Any,
        provenance: dict[str, Any],
    ) -> Explanation:
        values = model.shapley(matrix.values)
        spread = spread_of_values(resamples, matrix.values, values) if resamples else None
        return cls(
            values=values,
            base_value=model.base_value,
            errors=model.errors(matrix.values),
            data=matrix.values.copy() if matrix.borrowed else matrix.values,
            feature_names=tuple(names),
            ids=patient_ids(ids, X, matrix.values.shape[0]),
            provenance=provenance,
            _model=model,
            _library=matrix.library,
            _resamples=resamples,
            **(vars(spread) if spread else {}),
        )

    @property
    def log_odds(self) -> F64:
        """(n,): base value plus all that shocks add."""
        return self.base_value + self.values.sum(axis=1)

    @property
    def probability(self) -> F64:
        """(n,): risk of the disease; with a ``prevalence``, in that population."""
        return expit(self.log_odds)

    def root_causes(self, top: int = 3) -> list[list[RootCause]]:
        """For each patient, up to ``top`` root causes, strongest first (Definition 1).

        Only values above zero count: a shock with a negative value is protective. Patients may have none.
        """
        if top < 1:
            raise InputError(f"top must be at least 1, not {top!r}")
        ranked = np.argsort(-self.values, axis=1, kind="stable")[:, :top]
        return [
            [self._root_cause(row, c) for c in ranked[row] if self.values[row, c] > 0]
            for row in range(len(ranked))
        ]

    def _root_cause(self, row: int, c: int) -> RootCause:
        def here(values: F64 | None) -> float | None:
            return None if values is None else float(values[row, c])

        return RootCause(
            self.feature_names[c],
            float(self.values[row, c]),
            float(self.errors[row, c]),
            float(self.data[row, c]),
            here(self.lower),
            here(self.upper),
            here(self.frequency),
        )

    def what_if(self, variable: str | int, error: float = 0.0) -> WhatIf:
        """Set the shock of one variable, by default to none, and predict risk and measurements."""
        column = self._column(variable)
        if not (isinstance(error, Real) and np.isfinite(error)):
            raise InputError(f"error must be a finite number of standard deviations, not {error!r}")
        log_odds, data = self._model.with_shock(self.data, column, error)
        if not self._resamples:
            return WhatIf(log_odds, expit(log_odds), data)
        log_odds_ends, data_ends = spread_of_what_if(
            self._resamples, self.data, column, error, log_odds, data
        )
        return WhatIf(log_odds, expit(log_odds), data, log_odds_ends, expit(log_odds_ends), data_ends)

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
        rank (1 is the patient's strongest), root_cause (Definition 1); with a bootstrap also lower, upper,
        frequency and rank_stability. The table is of the library that X came in; for arrays it is a pandas
        DataFrame.
        """
        n, p = self.values.shape
        uncertain = ("lower", "upper", "frequency", "rank_stability") if self._resamples else ()
        return _frame(
            {
                "id": np.repeat(np.array(self.ids), p),
                "variable": np.tile(np.array(self.feature_names), n),
                "value": self.data.ravel(),
                "error": self.errors.ravel(),
                "shapley": self.values.ravel(),
                "rank": ranks(self.values).ravel(),
                "root_cause": (self.values > 0).ravel(),
                **{name: getattr(self, name).ravel() for name in uncertain},
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
            lower_bounds=self.lower,
            upper_bounds=self.upper,
        )


def patient_ids(ids: Any, X: Any, n_rows: int) -> tuple[Any, ...]:
    """What to call the patients of X: as given, as in a column, or by their numbers."""
    if ids is None:
        return tuple(range(n_rows))
    if isinstance(ids, str):
        names = column_names(X) if nw.dependencies.is_into_dataframe(X) else []
        if ids not in names:
            known = f", which has {listed(list(map(repr, names)), 8)}" if names else ": X has no column names"
            raise InputError(f"no id column {ids!r} in the table{known}")
        ids = nw.from_native(X, eager_only=True).get_column(ids).to_native()
    if nw.dependencies.is_into_series(ids):
        ids = nw.from_native(ids, series_only=True).to_list()
    if not isinstance(ids, Iterable):
        raise InputError(f"ids must be the name of a column or one id a patient, not {ids!r}")
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
