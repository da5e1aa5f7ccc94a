"""Quantiles of measurements and shocks in the cohort, kept with the model: where a new patient lies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from .layout import Layout, shares_of_levels
from .linear import LinearMechanism
from .model import CausalModel, row_blocks
from .table import F64, Index

# Percent steps of the quantiles.
STEPS = 101
# Values sorted at once: whole columns, as many as these make up, or as this part of a larger table.
VALUES_A_BLOCK = 32_000_000
PART_OF_TABLE = 8
# Shocks that the cohort never had: this share of patients like it is said to have one, going by its tails
# beyond the outer twentieth on either side; and they lie beyond its extremes by this part of the span.
UNLIKE, OUTER, NEAR = 0.02, 0.05, 0.02


#: (m, r) values of these ranks, of columns or, given slopes (k, m), of their sums less the mean (k,) of each.
Ranked = Callable[[Index, F64, F64 | None, Index], F64]


@dataclass(frozen=True, eq=False)
class CohortQuantiles:
    """Quantiles from the least to the greatest, in steps of one percent.

    Attributes
    ----------
    values : (101, v) of the measurements, variables in causal order; of a variable of several dummies, of the
        numbers of its levels, 0 being the one without a dummy.
    errors : (101, v) of the shocks, in standard deviations.
    adjusted : (101, a) of the measurements of the columns of covariates that are in the order, which come
        first in it; files of older models have none.
    """

    values: F64
    errors: F64
    adjusted: F64 = field(default_factory=lambda: np.empty((STEPS, 0)))

    @classmethod
    def of(cls, X: F64, model: CausalModel, ranked: Ranked | None = None) -> CohortQuantiles:
        """Quantiles of all rows of X: a sample of them could miss what comes in turns, or the extremes.

        Shocks on few columns cost nearly as much as those on many, since each needs the columns of all its
        causes: so as many columns are sorted at once as memory allows. ``ranked`` sorts where the rows are,
        if that is not here; shocks that are no sums of columns it is not asked for.
        """
        n, order = len(X), model.column_order
        k = order.size
        found = cls(np.empty((STEPS, k)), np.empty((STEPS, k)))
        if ranked is not None and isinstance(model.mechanism, LinearMechanism):
            low, high, share = _steps(n)
            for to, slopes in ((found.values, None), (found.errors, model.mechanism.slopes())):
                both = ranked(order, model.mechanism.mean, slopes, np.concatenate([low, high]))
                to[:] = _between(both[:, :STEPS], both[:, STEPS:], share)
            return found._by_variables(X, model)
        width = max(1, max(VALUES_A_BLOCK, X.size // PART_OF_TABLE) // (2 * n))
        for start in range(0, k, width):
            some = np.arange(start, min(start + width, k))
            both = np.empty((2, some.size, n))
            for rows in row_blocks(X):
                both[0, :, rows] = X[rows, order[some]].T
                both[1, :, rows] = model.mechanism.errors(X[rows], some).T
            found.values[:, some], found.errors[:, some] = map(_quantiles_of_rows, both)
        return found._by_variables(X, model)

    def _by_variables(self, X: F64, model: CausalModel) -> CohortQuantiles:
        """Those of columns as those of variables."""
        if model.layout is None or not (model.layout.grouped or model.covariates.size):
            return self
        adjusted = self.values[:, model.layout.covariate[model.column_order]]
        values, errors = (
            _by_variable(X, model, model.layout, what, getattr(self, what)) for what in ("values", "errors")
        )
        return CohortQuantiles(values, errors, adjusted)

    def beyond(self, errors: F64, n_rows: int) -> F64:
        """(n, v): by how much shocks (n, v) lie beyond all ``n_rows`` of the cohort's own, in parts of their
        span; zero for shocks that the cohort may have had.

        Of patients like these the share :data:`UNLIKE` is beyond somewhere, if tails are exponential from the
        outer twentieth on; and nobody is who is nearer to the extremes than :data:`NEAR` of the span.
        """
        low, high = self.errors[0], self.errors[-1]
        span = np.maximum(high - low, 1e-300)
        outer = round(OUTER * (STEPS - 1))
        wanted = np.log(OUTER * 2.0 * max(1, errors.shape[1]) / UNLIKE)
        steps = max(1.0, wanted / np.log(max(OUTER * n_rows, 2.0)))
        found = np.zeros_like(errors)
        for sign, end, inner in ((1.0, high, self.errors[-1 - outer]), (-1.0, -low, -self.errors[outer])):
            limit = np.maximum(end + NEAR * span, inner + steps * (end - inner))
            found = np.maximum(found, (sign * errors - limit) / span)
        return found

    def are_of(self, X: F64, model: CausalModel) -> bool:
        """Whether X can be the rows that these were taken from: all quantiles are the same."""
        others = CohortQuantiles.of(X, model)
        return others.values.shape == self.values.shape and bool(
            np.allclose(others.values, self.values, rtol=1e-9, atol=0.0, equal_nan=True)
        )


def _by_variable(X: F64, model: CausalModel, layout: Layout, what: str, of_columns: F64) -> F64:
    """(101, v): quantiles of columns (101, k) as they are, and those of variables of several columns anew.

    Covariates are left out, as they are from the order.
    """
    found = model.at_first_column(of_columns.T).T.copy()
    for place, variable in enumerate(model.order):
        columns = layout.columns_of(variable)
        if columns.size > 1 and what == "values":
            levels = shares_of_levels(X[:, columns]).argmax(axis=1)
            found[:, [place]] = quantiles_of(levels[:, None].astype(np.float64))
        elif columns.size > 1:
            found[:, [place]] = quantiles_of(model.errors_of(X, place)[:, None])
    return found


def quantiles_of(columns: F64) -> F64:
    """(101, m): quantiles of columns (n, m)."""
    return _quantiles_of_rows(np.array(columns.T, order="C"))


def _quantiles_of_rows(values: F64) -> F64:
    """(101, m): quantiles of m variables, which are sorted in place (m, n)."""
    # A sort and a look-up: many times faster than np.quantile, which selects for each quantile.
    values.sort(axis=1)
    low, high, share = _steps(values.shape[1])
    return _between(values.take(low, axis=1), values.take(high, axis=1), share)


def _between(below: F64, above: F64, share: F64) -> F64:
    """(101, m): values (m, 101) so far from those below to those above."""
    # Between two equal values lies that value, to the last bit: patients are compared with it.
    return np.where(below == above, below, below * (1.0 - share) + above * share).T


@lru_cache(maxsize=16)
def _steps(n_rows: int) -> tuple[Index, Index, F64]:
    """(101,) each: ranks below and above each quantile, and how far it lies between them."""
    place = np.linspace(0, n_rows - 1, STEPS)
    low = np.floor(place).astype(np.intp)
    return low, np.minimum(low + 1, n_rows - 1), place - low
