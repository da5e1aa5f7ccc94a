"""From a fitted cohort to any patient: errors and Shapley values (paper, Equation 3: S_i = E_i δ_i)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .table import F64, Index

# Rows scored at once: their errors stay in cache between the steps.
ROWS_A_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class CausalModel:
    """Everything needed to score a patient.

    Attributes
    ----------
    n_columns : p, columns of the cohort.
    order : (k,) columns in causal order.
    mean, sd : (k,) of these columns.
    mixing, unmixing : (k, k) between standardized columns and unit-variance errors, in causal order.
    coef : (k,) log-odds for each unit of error, in causal order.
    intercept : log-odds of a patient whose errors are all zero.
    """

    n_columns: int
    order: Index
    mean: F64
    sd: F64
    mixing: F64
    unmixing: F64
    coef: F64
    intercept: float

    def errors(self, X: F64) -> F64:
        """(n, p): unit-variance errors; zero for columns outside the order."""
        return self._map(X, self.unmixing / self.sd[:, None])

    def shapley(self, X: F64) -> F64:
        """(n, p): what each patient's shock on each variable adds to the log-odds."""
        return self._map(X, self.unmixing / self.sd[:, None] * self.coef)

    def _map(self, X: F64, matrix: F64) -> F64:
        out = np.zeros((X.shape[0], self.n_columns))
        if self.order.size:
            everything = np.array_equal(np.sort(self.order), np.arange(self.n_columns))
            place = np.argsort(self.order)
            cols, centre, matrix = self.order[place], self.mean[place], matrix[np.ix_(place, place)]
            for start in range(0, X.shape[0], ROWS_A_BLOCK):
                rows = slice(start, start + ROWS_A_BLOCK)
                if everything:
                    np.matmul(X[rows] - centre, matrix, out=out[rows])
                else:
                    out[rows, cols] = (X[rows, cols] - centre) @ matrix
        return out

    def with_shock(self, X: F64, column: int, error: float) -> tuple[F64, F64]:
        """Log-odds (n,) and values (n, p) of patients whose shock on one column is set to ``error``.

        A shock also changes what lies downstream. Columns outside the order carry none.
        """
        log_odds = self.intercept + self.shapley(X).sum(axis=1)
        values = X.copy()
        place = np.flatnonzero(self.order == column)
        if place.size:
            root = int(place[0])
            change = error - self.errors(X)[:, column]
            log_odds += change * self.coef[root]
            values[:, self.order] += change[:, None] * (self.mixing[:, root] * self.sd)
        return log_odds, values


def direct_effects(unmixing: F64) -> F64:
    """(k, k) in causal order and standard units, ``[i, j]``: each variable regressed on all before it.

    Parameters
    ----------
    unmixing : (k, k), errors = standardized columns @ unmixing.
    """
    edges = -(unmixing / np.diagonal(unmixing)).T
    np.fill_diagonal(edges, 0.0)
    return edges
