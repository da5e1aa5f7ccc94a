"""From a fitted cohort to any patient: errors, Shapley values and what if, variable by variable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .grouping import Grouping
from .layout import Layout
from .model_parts import ArrowCurve, Attribution, Mechanism, Sampled, check_part
from .table import F64, LARGEST, Index

# Rows scored at once: their errors stay in cache between the steps.
ROWS_PER_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class CausalModel:
    """Everything needed to score a patient.

    Both parts know columns. What is asked of the model is answered by variable: one of several columns has
    one error and one Shapley value. Covariates are in both parts, and have neither: what they add to the
    predictor is told of all together.

    Attributes
    ----------
    mechanism, attribution : the two parts, of q columns.
    layout : which of p variables each column belongs to, and which are covariates; None where each column is
        a variable and a number.
    """

    mechanism: Mechanism
    attribution: Attribution
    layout: Layout | None = None

    @property
    def n_columns(self) -> int:
        """q, columns of the table."""
        return self.mechanism.n_columns

    @property
    def n_variables(self) -> int:
        """p, variables of the cohort."""
        return self.n_columns if self.layout is None else self.layout.n_variables

    @cached_property
    def _groups(self) -> Grouping | None:
        """None where each column is a variable, and no covariate."""
        if self.layout is None or not (self.layout.grouped or self._adjusted.any()):
            return None
        return Grouping.of(self.layout, self.column_order, self.attribution.unit_effects)

    @cached_property
    def _adjusted(self) -> np.ndarray:
        """(k,) which places of the causal order are columns of covariates."""
        if self.layout is None:
            return np.zeros(self.column_order.size, dtype=bool)
        return self.layout.covariate[self.column_order]

    @property
    def column_order(self) -> Index:
        """(k,) columns in causal order, those of covariates first."""
        return self.mechanism.order

    @property
    def order(self) -> Index:
        """(v,) variables in causal order, each at the place of its first column; without covariates."""
        return self.column_order if self._groups is None else self._groups.variables

    @property
    def covariates(self) -> Index:
        """(c,) variables that are adjusted for, ascending; also one that others explain wholly."""
        if self.layout is None or self.layout.precedence is None:
            return np.empty(0, dtype=np.intp)
        return np.flatnonzero(self.layout.precedence.covariate)

    @property
    def used(self) -> Index:
        """(u,) variables that a patient is scored by: covariates in the order, and the order itself."""
        if self.layout is None:
            return self.order
        adjusted = np.unique(self.layout.variable[self.column_order[self._adjusted]])
        return np.concatenate([adjusted, self.order])

    @property
    def base_value(self) -> float:
        """The predictor of a patient whose errors are all zero."""
        return self.attribution.base_value

    @property
    def unit_effects(self) -> F64:
        """(v,) what an error of one on each variable of the order adds to the predictor."""
        effects = self.attribution.unit_effects
        return effects if self._groups is None else self._groups.norms(effects)

    @property
    def average_effects(self) -> F64:
        """(v,) what a unit more of each variable's error adds, on average over people."""
        effects = self.attribution.average_effects
        return effects if self._groups is None else self._groups.norms(effects)

    def importance(self) -> F64:
        """(v,) the size of what an error of one adds."""
        size = self.attribution.importance()
        return size if self._groups is None else self._groups.norms(size)

    @property
    def scale(self) -> F64:
        """(v,) what one standard unit of each variable is in its own; NaN where it has several columns."""
        scale = self.mechanism.scale
        if self._groups is None:
            return scale
        return np.where(self._groups.alone, scale[self._groups.first], np.nan)

    def at_first_column(self, of_columns: F64) -> F64:
        """(v,): of what is known of each column of the order (k,), that of each variable's first."""
        if self._groups is None:
            return of_columns
        return of_columns[self._groups.first]

    def outside(self, columns: Index) -> Index:
        """The variables of some columns that the order left out, where it holds no other column of theirs."""
        if self.layout is None or self._groups is None:
            return columns
        ordered = set(self.used.tolist())
        variables = dict.fromkeys(self.layout.variable[columns].tolist())
        return np.array([variable for variable in variables if variable not in ordered], dtype=np.intp)

    def errors(self, X: F64) -> F64:
        """(n, p): unit-variance errors of patients X (n, q); zero for covariates and outside the order."""
        if self._groups is None:
            return self._scaled_errors(X, None)
        return self._by_variable(X, self._groups.errors)

    def errors_of(self, X: F64, place: int) -> F64:
        """(n,): the errors of one variable, the one at this place of the order."""
        places = np.array([place]) if self._groups is None else self._groups.places[place]
        weights = np.ones(1) if self._groups is None else self._groups.weights[place]
        found = [self.mechanism.errors(X[rows], places) @ weights for rows in row_blocks(X)]
        return np.concatenate([np.empty(0), *found])

    def column_errors(self, X: F64) -> F64:
        """(n, q): unit-variance errors of the columns; zero outside the order."""
        return self._scaled_errors(X, None)

    def shapley(self, X: F64) -> F64:
        """(n, p): what each patient's shock on each variable adds to the predictor; zero for covariates."""
        groups = self._groups
        if groups is not None:
            return self._by_variable(X, lambda errors: groups.sums(self.attribution.shapley(errors)))
        if self.attribution.proportional:
            return self._scaled_errors(X, self.attribution.unit_effects)
        return self._by_variable(X, self.attribution.shapley)

    def sampled_shapley(self, X: F64) -> Sampled:
        """:meth:`shapley`, and the standard errors (n, p) of sampling; None where values are exact."""
        if self.attribution.proportional:
            return Sampled(self.shapley(X), None)
        values, noise = np.zeros((2, X.shape[0], self.n_variables))
        for rows in row_blocks(X):
            found, doubt = self.attribution.sampled(self._errors_in_order(X[rows]))
            doubt = np.zeros_like(found) if doubt is None else doubt
            if self._groups is not None:
                found, doubt = self._groups.sums(found), np.sqrt(self._groups.sums(doubt * doubt))
            values[rows, self.order], noise[rows, self.order] = found, doubt
        return Sampled(values, noise)

    def shapley_slopes(self) -> F64:
        """(q, p): by how much each variable's Shapley value grows for each unit of each column.

        So the spread of what a patient's columns might have been becomes that of the values. Exact where both
        parts are linear, and asked of no others.
        """
        slopes = np.zeros((self.n_columns, self.n_variables))
        of_columns = self.mechanism.slopes() * self.attribution.unit_effects
        by_variable = of_columns if self._groups is None else self._groups.sums(of_columns)
        slopes[np.ix_(self.column_order, self.order)] = by_variable
        return slopes

    def adjustment(self, X: F64) -> F64:
        """(n,): what the covariates of each patient add to the predictor, all together."""
        added = np.zeros(X.shape[0])
        if self._adjusted.any():
            for rows in row_blocks(X):
                values = self.attribution.shapley(self._errors_in_order(X[rows]))
                added[rows] = values[:, self._adjusted].sum(axis=1)
        return added

    def adjustment_slopes(self) -> F64:
        """(q,): by how much what the covariates add together grows for each unit of each column.

        As right as :meth:`shapley_slopes`.
        """
        slopes, adjusted = np.zeros(self.n_columns), self._adjusted
        of_columns = self.mechanism.slopes()[:, adjusted] @ self.attribution.unit_effects[adjusted]
        slopes[self.column_order] = of_columns
        return slopes

    def predictor(self, X: F64) -> F64:
        """(n,): log-odds of the disease, log-hazard of the event, or the expected value."""
        if self.attribution.proportional:  # to the last bit what Shapley values add up to
            return self.base_value + self.shapley(X).sum(axis=1) + self.adjustment(X)
        told = [self.attribution.predictor(self._errors_in_order(X[rows])) for rows in row_blocks(X)]
        return np.concatenate([np.empty(0), *told])

    def predicted(self, X: F64) -> F64:
        """(n,): risk of the disease, risk of the event by the horizon, or the expected value."""
        return self.attribution.predicted(self.predictor(X))

    def with_shock(self, X: F64, variable: int, error: float) -> tuple[F64, F64]:
        """Predictor (n,) and values (n, q) of patients whose shock on one variable is set to ``error``.

        A shock also changes what lies downstream. Variables outside the order carry none. A variable of
        several columns is set by :meth:`with_level`.
        """
        column = self._columns_of(variable)
        assert column.size == 1, "a variable of several columns has no single shock to set"
        place = np.flatnonzero(self.column_order == column[0])
        if not place.size:
            return self.predictor(X), X.copy()
        errors = self._errors_in_order(X)
        errors[:, place] = error
        return self.attribution.predictor(errors), self.mechanism.what_if(X, int(place[0]), error)

    def with_level(self, X: F64, variable: int, level: F64) -> tuple[F64, F64]:
        """Predictor (n,) and values (n, q) of patients whose columns of one variable are set to ``level``.

        Parameters
        ----------
        level : as many values as the variable has columns.

        Every other shock stays as it is, and what lies downstream follows. Who has this level already stays
        exactly as they are.
        """
        values, errors = X.copy(), self._errors_in_order(X)
        columns = self._columns_of(variable)
        wanted = dict(zip(columns.tolist(), level, strict=True))
        inside = np.flatnonzero(np.isin(self.column_order, columns))
        for place in inside:
            column = int(self.column_order[place])
            # The error at a place comes from its column and those before it, and these are known.
            moved = values.copy()
            moved[:, column] = wanted[column]
            error = self.mechanism.errors(moved, np.array([place]))
            errors[:, [place]] = error
            values = self.mechanism.what_if(values, int(place), error)
        values[:, columns] = level
        if not inside.size:
            return self.predictor(X), values
        return self.attribution.predictor(errors), values

    def direct_effects(self) -> F64:
        """(v, v) in standard units, ``[i, j]``: what variable j of the order does to i, others held fixed.

        Where one of them has several columns this is a size without a sign (see
        :mod:`rootcausal.method.grouping`).
        """
        effects = self.mechanism.direct_effects()
        return effects if self._groups is None else self._groups.direct_effects(effects)

    def effects_on_outcome(self) -> F64:
        """(v,) what one standard unit of each variable of the order adds to the predictor, others held fixed.

        Of a variable of several columns this is a size without a sign. Where relations are nonlinear, it is
        by how much the predictor varies with the variable.
        """
        effects = self.attribution.effects_on_outcome(self.mechanism)
        return effects if self._groups is None else self._groups.norms(effects)

    def location(self, place: int) -> tuple[float, float]:
        """Mean and standard deviation of a variable's only column, by its place in the order."""
        at = self._single(place)
        assert at is not None, "a variable of several columns has no single mean"
        average = self.mechanism.values_at_average()
        return float(average[at]), float(self.mechanism.scale[at])

    def arrow_curve(self, cause: int, effect: int, z: F64) -> ArrowCurve | None:
        """What a variable does to another, by their places in the order, where it has these values z (m,).

        In standard units, other causes being average; None where one of them has several columns.
        """
        one, other = self._single(cause), self._single(effect)
        return None if one is None or other is None else self.mechanism.arrow_curve(one, other, z)

    def outcome_curve(self, cause: int, z: F64) -> F64 | None:
        """(m,) what a variable adds to the predictor directly, likewise."""
        place = self._single(cause)
        return None if place is None else self.attribution.outcome_curve(self.mechanism, place, z)

    def forms(self) -> list[str]:
        """(v,) whether lines were enough for each variable of the order (see
        :class:`rootcausal.method.model_parts.Mechanism`).
        """
        of_columns = self.mechanism.forms()
        places = range(len(of_columns)) if self._groups is None else self._groups.first
        return [of_columns[place] for place in places]

    def _single(self, place: int) -> int | None:
        """The place of a variable's only column in the order of columns; None where it has several."""
        if self._groups is None:
            return place
        return int(self._groups.first[place]) if self._groups.alone[place] else None

    def total_effects(self) -> F64:
        """(v, v), ``[i, j]``: by how many standard units variable i moves for a unit of the error of j."""
        effects = self.mechanism.total_effects()
        return effects if self._groups is None else self._groups.total_effects(effects)

    def reach(self) -> F64:
        """(q,): the largest values of each column, up or down, with which a patient can be scored."""
        within = np.full(self.n_columns, LARGEST)
        within[self.column_order] = self.mechanism.reach()
        return within

    def on_columns(self, columns: Index, n_columns: int, layout: Layout | None = None) -> CausalModel:
        """The same model in a table of ``n_columns``, where its column c is ``columns[c]``.

        ``layout`` is that of the new table.
        """
        return CausalModel(self.mechanism.on_columns(columns, n_columns), self.attribution, layout)

    def check(self) -> None:
        """Raise ValueError where these cannot be the numbers of a learned model."""
        for part in (self.mechanism, self.attribution):
            check_part(part, self.column_order.size)
        if self.layout is None:
            return
        if self.layout.n_columns != self.n_columns:
            raise ValueError("its variables and its columns do not fit together")
        if self.layout.precedence is None:
            return
        owner = self.layout.variable[self.column_order]
        _, first = np.unique(owner, return_index=True)
        if not self.layout.precedence.holds(owner[np.sort(first)]):
            raise ValueError("its causal order breaks what it says was known before")

    def _columns_of(self, variable: int) -> Index:
        return np.array([variable]) if self.layout is None else self.layout.columns_of(variable)

    def _by_variable(self, X: F64, from_errors: Callable[[F64], F64]) -> F64:
        """(n, p): what is made of the errors (n, k), for the variables of the order; zero elsewhere."""
        out = np.zeros((X.shape[0], self.n_variables))
        for rows in row_blocks(X):
            out[rows, self.order] = from_errors(self._errors_in_order(X[rows]))
        return out

    def _scaled_errors(self, X: F64, times: F64 | None) -> F64:
        """(n, q): errors times ``times`` (k,), asked for in the order of the table: no column moves."""
        out = np.zeros((X.shape[0], self.n_columns))
        places = np.argsort(self.column_order)
        times = None if times is None else times[places]
        everything = places.size == self.n_columns
        for rows in row_blocks(X):
            if everything:
                self.mechanism.errors(X[rows], places, times, out[rows])
            elif places.size:
                out[rows, self.column_order[places]] = self.mechanism.errors(X[rows], places, times)
        return out

    def _errors_in_order(self, X: F64) -> F64:
        return self.mechanism.errors(X, np.arange(self.column_order.size))


def row_blocks(X: F64) -> list[slice]:
    """Blocks of rows that stay in cache."""
    return [slice(start, start + ROWS_PER_BLOCK) for start in range(0, X.shape[0], ROWS_PER_BLOCK)]
