"""ConditionalOutliers (the paper's CO): variables that are far from what their parents predict."""

from __future__ import annotations

import numpy as np

from ..method.table import F64, Index
from .graph_comparator import GraphComparator


class ConditionalOutliers(GraphComparator):
    """Ranks ancestors of the diagnosis by ``|X - E(X | parents)| / sd(X | parents)`` (Janzing et al. 2019).

    Parameters
    ----------
    random_state : int, RandomState or None, default None
        Seed of the folds that choose the parents of the diagnosis.

    Attributes
    ----------
    graph_ : :class:`~rootcausal.comparators.disease_graph.DiseaseGraph`
    error_sd_ : (p,) of the errors in the cohort that was fitted.
    """

    def _learn_from_errors(self, errors: F64, y: Index) -> None:
        self.error_sd_ = errors.std(axis=0, ddof=1)

    def _score_errors(self, errors: F64) -> F64:
        return np.abs(errors) / self.error_sd_
