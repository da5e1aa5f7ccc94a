"""DirectLiNGAM, an estimator of the causal order on its own, and of the weighted graph."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import lars_path_gram
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError, MissingExtraError
from ..inputs.from_frame import names_of
from ..inputs.knowledge import Knowledge
from ..inputs.patients import Cohort
from ..inputs.validate import open_cohort
from ..method.missing.sums import IncompleteRaw
from ..method.ordering.ordering import Ordering, order_columns
from ..method.table import F64
from ..progress.bars import ordering_progress
from .parameters import (
    BackendName,
    VariantName,
    chosen_variant,
)


class DirectLiNGAM(BaseEstimator):
    """Causal order and weighted graph of a linear non-Gaussian acyclic model (Shimizu et al. 2011).

    Parameters
    ----------
    variant : {"plus", "original"}, default "plus"
        Pruned or exhaustive search for each root; both find the same one. The local variants need a
        diagnosis: they belong to :class:`~rootcausal.RCI`.
    prune : bool, default False
        Prune edges by the adaptive lasso (Zou 2006; least squares weights, penalty by BIC). Without it
        every variable has an edge from every earlier one, but for what was given to come first.
    backend : {"auto", "numpy", "numba", "cupy", "dask"}, default "auto"
        Where the sums are computed. A dask dataframe is summed on the cluster it belongs to.
    progress : bool, default False
        Show a progress bar on standard error for fits longer than two seconds.
    knowledge : Knowledge or dict, default None
        What is known of the causal order, as in :class:`~rootcausal.RCI`. Without a disease there is no risk
        to adjust: covariates begin the order, cause each other as little as columns that come first do, and
        have edges to all others.

    Attributes
    ----------
    causal_order_ : (k,) column indices, causes first; shorter than p only where rows run out.
    adjacency_matrix_ : (p, p), ``[i, j]`` is the effect of column j on column i in the units of X.
    margins_ : (k,) by how much each root won; under pruned search a lower bound.
    """

    def __init__(
        self,
        *,
        variant: VariantName = "plus",
        prune: bool = False,
        backend: BackendName = "auto",
        progress: bool = False,
        knowledge: Knowledge | dict[str, Any] | None = None,
    ) -> None:
        self.variant = variant
        self.prune = prune
        self.backend = backend
        self.progress = progress
        self.knowledge = knowledge

    def fit(self, X: Any, y: Any = None) -> DirectLiNGAM:
        """Order the columns of X (dataframe or array, n × p); y is ignored, as scikit-learn expects.

        With ``backend="dask"`` X is a dask dataframe, or the path of Parquet files.
        """
        if chosen_variant(self.variant).local:
            raise InputError(
                f"variant {self.variant!r} needs a diagnosis: use RCI, or choose plus or original"
            )
        with open_cohort(self, X, None, self.backend, knowledge=self.knowledge) as cohort:
            return self._fit(cohort)

    def _fit(self, cohort: Cohort) -> DirectLiNGAM:
        from ..explaining.provenance import warn_exhausted

        raw = cohort.raw
        assert not isinstance(raw, IncompleteRaw), "without a diagnosis, missing values are refused"
        with ordering_progress() if self.progress else nullcontext() as on_round:
            ordering = order_columns(
                raw, cohort.columns, chosen_variant(self.variant), 1.0, on_round, cohort.layout
            )
        warn_exhausted(ordering, cohort)
        self.causal_order_ = ordering.order
        self.margins_ = ordering.margins
        full = ordering.mechanism(raw.shape[1]).direct_effects()
        weights = _pruned_edges(ordering, full, raw.shape[0]) if self.prune else full
        self._standard_edges = weights
        self._precedence = cohort.layout.precedence
        self.adjacency_matrix_ = np.zeros((raw.shape[1], raw.shape[1]))
        units = ordering.sd[:, None] / ordering.sd[None, :]
        self.adjacency_matrix_[np.ix_(ordering.order, ordering.order)] = weights * units
        return self

    def to_networkx(self) -> Any:
        """The graph as a ``networkx.DiGraph``: nodes by name with their ``place`` in the causal order, edges
        from cause to effect with their ``weight`` in the units of X.
        """
        check_is_fitted(self)
        try:
            import networkx
        except ImportError as error:
            raise MissingExtraError(
                "to_networkx needs networkx: pip install 'rootcausal[networkx]'"
            ) from error
        names = names_of(self)
        graph = networkx.DiGraph()
        for place, column in enumerate(self.causal_order_):
            graph.add_node(names[column], place=place)
        for effect, cause in zip(*np.nonzero(self.adjacency_matrix_), strict=True):
            graph.add_edge(names[cause], names[effect], weight=float(self.adjacency_matrix_[effect, cause]))
        return graph


def _pruned_edges(ordering: Ordering, full: F64, n_rows: int) -> F64:
    """Adaptive lasso of each column on those before it; all it needs is their correlations.

    ``full`` (k, k) are the edges by least squares. Columns that come first have no causes but covariates, and
    these have none.
    """
    correlation = ordering.mixing @ ordering.mixing.T
    edges = np.zeros_like(full)
    for effect in range(1, len(full)):
        causes = effect
        if effect < ordering.n_unsearched:
            causes = ordering.n_covariates if effect >= ordering.n_covariates else 0
        if not causes:
            continue
        weight = np.abs(full[effect, :causes])
        gram = correlation[:causes, :causes] * np.outer(weight, weight)
        cross = correlation[:causes, effect] * weight
        _, _, path = lars_path_gram(cross * n_rows, gram * n_rows, n_samples=n_rows, method="lasso")
        unexplained = 1.0 - 2.0 * cross @ path + (path * (gram @ path)).sum(axis=0)
        n_edges = (path != 0).sum(axis=0)
        bic = n_rows * np.log(np.maximum(unexplained, np.finfo(float).eps)) + np.log(n_rows) * n_edges
        edges[effect, :causes] = path[:, bic.argmin()] * weight
    return edges
