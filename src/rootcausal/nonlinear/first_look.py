"""Whether anything bends: what lines leave of each column and of the outcome, before curves are searched.

In causal order, a column's errors are what all columns before it leave of it along lines. Where relations are
linear they have nothing in common with curves of these, nor have their sizes: score tests say so without a
single curve being fitted. Where the order is wrong because something bends, that shows in the same way.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from ..backends.blas import one_blas_thread
from ..method.layout import Layout
from ..method.moments import Columns
from ..method.outcome import Outcome
from ..method.population import standardized
from ..method.table import F64, Index, RawTable
from .curves import Splines
from .places import rows_of
from .risk import RiskSearch
from .rows import TERMS_A_CAUSE, Designs, NonlinearRows, Told

# Added to the variance of each column: what others explain but for less has no errors to look at.
LEAST_OWN = 1e-6
# Of what a curve costs (BIC), so much has to be seen: a fit finds more where errors are not Gaussian.
SEEN = 0.75


@one_blas_thread()
def nats_in_sight(
    raw: RawTable, columns: Columns, layout: Layout, outcome: Outcome, order: Index
) -> tuple[float, float]:
    """By how many nats, about, curves may describe columns better than lines, and tell the outcome.

    The first is of the best curve of each column, next to nothing where none is worth its price;
    ``order`` are columns in causal order, by lines.
    """
    every = np.arange(layout.n_columns)
    plain = rows_of(standardized(raw, columns.weights, every, columns.mean, columns.sd))
    splines = Splines.of(plain, layout.binary)
    rows = plain.prepared(splines, (np.empty(0),) * every.size, {})
    price = 0.5 * SEEN * float(np.log(columns.weights.effective_rows))
    told = _told(rows, splines, order, layout.discrete[order], price)
    of_columns = float(np.where(_may_act(layout, order), told, 0.0).max(axis=1, initial=0.0).sum())
    return of_columns, _of_outcome(rows, splines, layout, outcome, float(columns.moments.count.sum()))


def _told(rows: NonlinearRows, splines: Splines, order: Index, levels: np.ndarray, price: float) -> F64:
    """(k, k), ``[i, j]``: nats that a curve of j tells of the error of i, and of its size, beyond its price.

    Of an effect with ``levels`` the size says nothing: how far a level is from its mean differs by itself.
    """
    rows.keep_errors(_along_lines(rows.gram() / rows.weight, order))
    shared = rows.dependence(order).reshape(order.size, 2, splines.width.size, TERMS_A_CAUSE)[:, :, order]
    width = splines.width[order]
    curve = 0.5 * shared[:, 0, :, 1:].sum(axis=2) - price * (width - 1)
    spread = 0.5 * shared[:, 1].sum(axis=2) - price * width
    spread[levels] = 0.0
    told: F64 = np.maximum(curve, 0.0) + np.maximum(spread, 0.0)
    return told


def _along_lines(gram: F64, order: Index) -> list[Told]:
    """What columns in causal order tell of each one after them, along lines."""
    k = order.size
    root = np.linalg.cholesky(gram[np.ix_(order, order)] + LEAST_OWN * np.eye(k))
    inverse = solve_triangular(root, np.eye(k), lower=True) if k else root
    lines = [(TERMS_A_CAUSE * int(column), -1) for column in order]
    return [
        Told(
            Designs.of([int(column)], [lines[:place]]),
            np.append(0.0, -inverse[place, :place] / inverse[place, place]),
        )
        for place, column in enumerate(order)
    ]


def _may_act(layout: Layout, order: Index) -> np.ndarray:
    """(k, k), ``[i, j]``: whether column j of the order comes before i, and what it does to it is learned."""
    variable = layout.variable[order]
    may = np.tri(order.size, k=-1, dtype=bool) & (variable[:, None] != variable)
    first = layout.kept[order]
    may &= ~(first[:, None] & first)
    return may


def _of_outcome(
    rows: NonlinearRows, splines: Splines, layout: Layout, outcome: Outcome, n_rows: float
) -> float:
    known, v = layout.precedence, layout.n_variables
    unknown = np.zeros(v, dtype=bool)
    covariates, acts, does_not = (
        [unknown] * 3 if known is None else [known.covariate, known.acts, known.does_not]
    )
    variables = [layout.columns_of(variable).tolist() for variable in range(v)]
    telling = outcome.n_telling(n_rows)
    search = RiskSearch(splines.width, variables, rows.table, outcome, acts, does_not, telling)
    return search.saved(np.flatnonzero(covariates).tolist())
