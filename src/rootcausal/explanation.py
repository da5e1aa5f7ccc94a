"""What the model says about patients: values, tables, root causes, and what if."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from scipy.special import expit

from .core.model import CausalModel
from .core.table import F64
from .errors import InputError, MissingExtraError
from .inputs.from_frame import patient_ids
from .inputs.kinds import Variable
from .inputs.levels import TableInWords, columns_of_level, level_texts, levels_listed, place_of
from .inputs.matrices import Matrix
from .uncertainty.spread import ranks, spread_of_values, spread_of_what_if, with_doubt
from .wording import quoted

# What a model answers about patients (n, q): log-odds (n,), and values (n, q).
Ask = Callable[[CausalModel, F64], tuple[F64, F64]]


@dataclass(frozen=True)
class RootCause:
    """A variable whose shock raised one patient's risk.

    Attributes
    ----------
    variable : its name.
    shapley : log-odds that the shock adds.
    error : the shock, in standard deviations.
    value : what was measured or, where nothing was, is expected; of a level the number that stands for it.
    lower, upper : 95 % interval of ``shapley``; None where nothing was resampled or filled in.
    frequency : share of resamples in which it is a root cause; None without a bootstrap.
    level : the level in words; None for a number.
    imputed : whether the value was not measured.
    """

    variable: str
    shapley: float
    error: float
    value: float
    lower: float | None = None
    upper: float | None = None
    frequency: float | None = None
    level: str | None = None
    imputed: bool = False


@dataclass(frozen=True, eq=False)
class WhatIf:
    """Patients with one shock, or one level, set to another.

    Attributes
    ----------
    log_odds, probability : (n,) of the disease.
    data : (n, p) predicted measurements: what lies downstream follows. Of a binary or ordinal variable
        downstream this is an expectation, between its levels; of a nominal one the number that stands for the
        likeliest level.
    log_odds_interval, probability_interval : (2, n) ends of 95 % intervals; None without a bootstrap. They do
        not hold the doubt about values that were not measured.
    data_interval : (2, n, p) likewise; NaN for nominal variables, whose levels have no order.
    """

    log_odds: F64
    probability: F64
    data: F64
    _cells: TableInWords = field(repr=False)
    log_odds_interval: F64 | None = None
    probability_interval: F64 | None = None
    data_interval: F64 | None = None

    def levels(self) -> np.ndarray:
        """(n, p): the predicted levels in words, the nearest or likeliest ones; None for numbers."""
        return self._cells.levels()

    def text(self, row: int, c: int) -> str:
        """The prediction for one patient and variable for the screen: ``3.4``, ``male (51%)``."""
        return self._cells.text(row, c)


@dataclass(frozen=True, eq=False)
class Explanation:
    """Shapley values of patients, with what is needed to read them.

    Attributes
    ----------
    values : (n, p) log-odds that each shock adds; zero for variables outside the causal order.
    base_value : log-odds of a patient whose shocks are all average. This is not the prevalence.
    errors : (n, p) the shocks, in standard deviations; zero for variables outside the causal order.
    data : (n, p) the measurements, and where there is none what is expected given all others; of a variable
        with levels the numbers that stand for them: its own, or places in ``levels`` of the variable where
        these are texts. NaN for variables that the model left out and X lacks.
    feature_names : (p,) names of the variables.
    variables : (p,) the same with their kinds and levels.
    ids : (n,) names of the patients.
    provenance : how the model was made.
    imputed : (n, p) where a value was not measured.
    imputation_sd : (n, p) standard deviation that values not measured add to ``values``; None where all were.
    lower, upper : (n, p) ends of the 95 % interval of ``values``: over resamples, and over what was not
        measured. None where there is neither; without resamples they leave out the doubt about the model.
    frequency : (n, p) share of resamples in which the variable is a root cause of this patient.
    rank_stability : (n, p) share of resamples in which the variable is a root cause of this patient and ranks
        as high as here, or higher; never above ``frequency``.
        These two are None unless the model has a bootstrap.
    """

    values: F64
    base_value: float
    errors: F64
    data: F64
    feature_names: tuple[str, ...]
    variables: tuple[Variable, ...]
    ids: tuple[Any, ...]
    provenance: dict[str, Any]
    imputed: np.ndarray
    _cells: TableInWords = field(repr=False)
    _model: CausalModel = field(repr=False)
    _library: Any = field(repr=False)
    lower: F64 | None = None
    upper: F64 | None = None
    frequency: F64 | None = None
    rank_stability: F64 | None = None
    imputation_sd: F64 | None = None
    _resamples: tuple[CausalModel, ...] = field(default=(), repr=False)

    @classmethod
    def of(
        cls,
        model: CausalModel,
        resamples: tuple[CausalModel, ...],
        matrix: Matrix,
        variables: Sequence[Variable],
        X: Any,
        ids: Any,
        provenance: dict[str, Any],
        imputation_sd: F64 | None = None,
    ) -> Explanation:
        """What a model says of patients, ``matrix`` (n, q) being their columns without holes.

        Parameters
        ----------
        variables : (p,) what the columns stand for.
        imputation_sd : (n, p) standard deviation that values which were filled in add to the Shapley values;
            None where none was.
        """
        values = model.shapley(matrix.values)
        spread: dict[str, F64] = {}
        if resamples:
            spread = vars(spread_of_values(resamples, matrix.values, values, imputation_sd))
        elif imputation_sd is not None:
            spread["lower"], spread["upper"] = with_doubt(values, None, imputation_sd)
        cells = TableInWords(
            tuple(variables), model.layout, matrix.values.copy() if matrix.borrowed else matrix.values
        )
        return cls(
            values=values,
            base_value=model.base_value,
            errors=model.errors(matrix.values),
            data=cells.numbers(),
            feature_names=tuple(variable.name for variable in variables),
            variables=cells.variables,
            ids=patient_ids(ids, X, matrix.values.shape[0]),
            provenance=provenance,
            imputed=_filled_in(matrix, model),
            imputation_sd=imputation_sd,
            _cells=cells,
            _model=model,
            _library=matrix.library,
            _resamples=resamples,
            **spread,
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
            self._level(row, c),
            bool(self.imputed[row, c]),
        )

    def _level(self, row: int, c: int) -> str | None:
        if not self.variables[c].levels:
            return None
        place = int(self._cells.said(c, row).places[0])
        return level_texts(self.variables[c])[place] if place >= 0 else None

    def levels(self) -> np.ndarray:
        """(n, p): the levels in words, None for numbers; where nothing was measured, the likeliest level."""
        return self._cells.levels()

    def text(self, row: int, c: int) -> str:
        """The value of one patient on one variable for the screen: ``3.4``, ``male``, ``male (51%)``."""
        return self._cells.text(row, c)

    def what_if(self, variable: str | int, error: float | None = None, *, level: Any = None) -> WhatIf:
        """Predict risk and measurements with one shock, or one level, set.

        Parameters
        ----------
        variable : its name, or its place.
        error : for a number, what its shock is set to, in standard deviations; by default 0, none.
        level : for a variable with levels, the level that it is set to. All other shocks stay as they are,
            and what lies downstream follows.
        """
        place = self._place(variable)
        ask = self._shock_set(place, error) if level is None else self._level_set(place, error, level)
        columns = self._cells.columns
        log_odds, then = ask(self._model, columns)
        cells = TableInWords(self.variables, self._model.layout, then)
        if not self._resamples:
            return WhatIf(log_odds, expit(log_odds), cells.numbers(), cells)
        log_odds_ends, ends = spread_of_what_if(self._resamples, columns, ask, log_odds, then)
        return WhatIf(
            log_odds,
            expit(log_odds),
            cells.numbers(),
            cells,
            log_odds_ends,
            expit(log_odds_ends),
            self._ends_by_variable(ends),
        )

    def _shock_set(self, place: int, error: float | None) -> Ask:
        variable = self.variables[place]
        if variable.levels:
            raise InputError(
                f"{quoted(variable.name)} has levels, and no shock to set: ask with level=, one of "
                f"{levels_listed(variable)}"
            )
        error = 0.0 if error is None else error
        if not (isinstance(error, Real) and np.isfinite(error)):
            raise InputError(f"error must be a finite number of standard deviations, not {error!r}")
        return lambda model, X: model.with_shock(X, place, error)

    def _level_set(self, place: int, error: float | None, level: Any) -> Ask:
        variable = self.variables[place]
        if not variable.levels:
            raise InputError(
                f"{quoted(variable.name)} is a number and has no levels: ask with error=, in standard "
                "deviations"
            )
        if error is not None:
            raise InputError(f"set either the shock or the level of {quoted(variable.name)}, not both")
        wanted = columns_of_level(variable, place_of(variable, level))
        return lambda model, X: model.with_level(X, place, wanted)

    def _ends_by_variable(self, ends: F64) -> F64:
        """(2, n, p) of (2, n, q); NaN for variables of several columns."""
        layout = self._model.layout
        if layout is None or not layout.grouped:
            return ends
        columns = [layout.columns_of(v) for v in range(layout.n_variables)]
        nothing = np.full(ends.shape[:2], np.nan)
        return np.stack([ends[:, :, c[0]] if c.size == 1 else nothing for c in columns], axis=2)

    def _place(self, variable: str | int) -> int:
        if variable in self.feature_names:
            return self.feature_names.index(str(variable))
        if isinstance(variable, int | np.integer) and 0 <= variable < len(self.feature_names):
            return int(variable)
        raise InputError(
            f"no variable {variable!r}: the model knows {', '.join(map(repr, self.feature_names[:8]))}"
        )

    def to_frame(self) -> Any:
        """Tidy table with one row for each patient and variable.

        Columns: id, variable, value (measured, or expected), level (in words; null for numbers), imputed (the
        value was not measured), error (shock in standard deviations), shapley (log-odds), rank (1 is the
        patient's strongest), root_cause (Definition 1); with a bootstrap also lower, upper, frequency and
        rank_stability, and lower and upper where values were not measured. The table is of the library that X
        came in; for arrays it is a pandas DataFrame.
        """
        n, p = self.values.shape
        uncertain = [
            name
            for name in ("lower", "upper", "frequency", "rank_stability")
            if getattr(self, name) is not None
        ]
        return _frame(
            {
                "id": np.repeat(np.array(self.ids), p),
                "variable": np.tile(np.array(self.feature_names), n),
                "value": self.data.ravel(),
                "level": self.levels().ravel(),
                "imputed": self.imputed.ravel(),
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
        the measurements, levels in words, and ``instance_names`` the ids.
        """
        try:
            import shap
        except ImportError as error:
            raise MissingExtraError("to_shap needs shap: pip install 'rootcausal[shap]'") from error
        return shap.Explanation(
            values=self.values,
            base_values=np.full(len(self.values), self.base_value),
            data=self.errors,
            display_data=self._display(),
            feature_names=list(self.feature_names),
            instance_names=[str(name) for name in self.ids],
            lower_bounds=self.lower,
            upper_bounds=self.upper,
        )

    def _display(self) -> np.ndarray:
        if not any(variable.levels for variable in self.variables):
            return self.data
        levels = self.levels()
        return np.where(levels == None, self.data.astype(object), levels)  # noqa: E711 (element by element)


def _filled_in(matrix: Matrix, model: CausalModel) -> np.ndarray:
    """(n, p): where a value was not measured, and an expected one stands in."""
    if matrix.measured is None:
        return np.zeros((len(matrix.values), model.n_variables), dtype=bool)
    filled = np.isnan(matrix.measured) & ~np.isnan(matrix.values)
    if model.layout is None:
        return filled
    # The dummies of a variable have the same holes.
    return filled[:, np.searchsorted(model.layout.variable, np.arange(model.n_variables))]


def _frame(columns: dict[str, Any], library: Any) -> Any:
    library = library or nw.Implementation.PANDAS
    try:
        # Of nothing but missing texts, no library would make texts by itself.
        levels = nw.new_series("level", columns["level"].tolist(), nw.String, backend=library)
        return nw.from_dict(columns | {"level": levels}, backend=library).to_native()
    except ImportError as error:
        raise MissingExtraError(
            "tables from arrays are pandas DataFrames, and pandas is not installed: "
            "pip install 'rootcausal[pandas]', or pass a dataframe of another library"
        ) from error
