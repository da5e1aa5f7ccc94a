"""DirectLiNGAM: the causal order on its own, and the weighted graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import lars_path_gram

from .core.moments import describe_columns
from .core.ordering import Ordering, order_columns
from .core.table import F64
from .errors import InputError
from .estimator import check_variant, warn_exhausted
from .progress import ordering_progress
from .tables.choose import choose_table
from .validation import check_columns, matrix_for_fit


class DirectLiNGAM(BaseEstimator):
    """Causal order and weighted graph of a linear non-Gaussian acyclic model (Shimizu et al. 2011).

    Parameters
    ----------
    variant : {"plus", "original"}, default "plus"
        Pruned or exhaustive search for each root; both find the same one. The local variants need a
        diagnosis: they belong to :class:`~rootcausal.RCI`.
    prune : bool, default False
        Prune edges by the adaptive lasso (Zou 2006; least squares weights, penalty by BIC). Without it
        every variable has an edge from every earlier one.
    backend : {"auto", "numpy", "numba", "cupy"}, default "auto"
        Where the sums are computed.
    progress : bool, default False
        Show a progress bar on standard error for fits longer than two seconds.

    Attributes
    ----------
    causal_order_ : (k,) column indices, causes first; shorter than p only where rows run out.
    adjacency_matrix_ : (p, p), ``[i, j]`` is the effect of column j on column i in the units of X.
    margins_ : (k,) by how much each root won; under pruned search a lower bound.
    """

    def __init__(
        self, *, variant: str = "plus", prune: bool = False, backend: str = "auto", progress: bool = False
    ) -> None:
        self.variant = variant
        self.prune = prune
        self.backend = backend
        self.progress = progress

    def fit(self, X: Any, y: Any = None) -> DirectLiNGAM:
        """Order the columns of X (dataframe or array, n × p); y is ignored, as scikit-learn expects."""
        check_variant(self.variant)
        if self.variant.startswith("local"):
            raise InputError(
                f"variant {self.variant!r} needs a diagnosis: use RCI, or choose plus or original"
            )
        matrix = matrix_for_fit(self, X)
        raw = choose_table(self.backend, matrix.values, None)
        columns = describe_columns(raw)
        check_columns(matrix, columns)
        with ordering_progress(self.progress) as on_round:
            ordering = order_columns(raw, columns, self.variant, 1.0, on_round)
        warn_exhausted(ordering, matrix)
        self.causal_order_ = ordering.order
        self.margins_ = ordering.margins
        weights = _pruned_edges(ordering, raw.shape[0]) if self.prune else _least_squares_edges(ordering)
        self.adjacency_matrix_ = np.zeros((raw.shape[1], raw.shape[1]))
        units = ordering.sd[:, None] / ordering.sd[None, :]
        self.adjacency_matrix_[np.ix_(ordering.order, ordering.order)] = weights * units
        return self


def _least_squares_edges(ordering: Ordering) -> F64:
    """(k, k) in causal order and standard units: each column regressed on all before it."""
    unmixing = ordering.unmixing
    edges = -(unmixing / np.diagonal(unmixing)).T
    np.fill_diagonal(edges, 0.0)
    return edges


def _pruned_edges(ordering: Ordering, n_rows: int) -> F64:
    """Adaptive lasso of each column on those before it; all it needs is their correlations."""
    correlation = ordering.mixing @ ordering.mixing.T
    full = _least_squares_edges(ordering)
    edges = np.zeros_like(full)
    for effect in range(1, len(full)):
        weight = np.abs(full[effect, :effect])
        gram = correlation[:effect, :effect] * np.outer(weight, weight)
        cross = correlation[:effect, effect] * weight
        _, _, path = lars_path_gram(cross * n_rows, gram * n_rows, n_samples=n_rows, method="lasso")
        unexplained = 1.0 - 2.0 * cross @ path + np.einsum("ip,ij,jp->p", path, gram, path)
        n_edges = (path != 0).sum(axis=0)
        bic = n_rows * np.log(np.maximum(unexplained, np.finfo(float).eps)) + np.log(n_rows) * n_edges
        edges[effect, :effect] = path[:, bic.argmin()] * weight
    return edges
