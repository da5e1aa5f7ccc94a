"""What the comparators that need a causal graph share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from ..errors import InputError
from ..method.table import F64, Index
from .base import Comparator
from .disease_graph import DiseaseGraph, learn_disease_graph


class GraphComparator(Comparator):
    """Ranks the ancestors of the diagnosis in a learned graph; other variables are not ranked (``-inf``).

    Parameters
    ----------
    random_state : int, RandomState or None, default None
        Seed of the folds that choose the parents of the diagnosis.

    Attributes
    ----------
    graph_ : :class:`~rootcausal.comparators.disease_graph.DiseaseGraph`
    """

    def __init__(self, *, random_state: Any = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any, graph: DiseaseGraph | None = None) -> Self:
        """Learn from a cohort X (dataframe or array, n × p) and its two-valued diagnosis y (n,).

        A graph that was already learned from the same cohort is used as it is.
        """
        self._given_graph = graph
        try:
            return super().fit(X, y)
        finally:
            del self._given_graph

    def _learn(self, Z: F64, y: Index) -> None:
        given = self._given_graph
        if given is not None and len(given.adjacency) != Z.shape[1]:
            raise InputError(
                f"the graph has {len(given.adjacency)} variables and the cohort {Z.shape[1]}: "
                "give the graph of the same cohort, or none"
            )
        self.graph_ = given or learn_disease_graph(Z, y, self.random_state)
        self._learn_from_errors(self.graph_.errors(Z), y)

    def _score(self, Z: F64) -> F64:
        return np.where(self.graph_.ancestors, self._score_errors(self.graph_.errors(Z)), -np.inf)

    @abstractmethod
    def _learn_from_errors(self, errors: F64, y: Index) -> None:
        """Learn from errors (n, p) under the graph, and labels (n,) of 0 and 1."""

    @abstractmethod
    def _score_errors(self, errors: F64) -> F64:
        """Score patients by their errors (n, p); scores of variables that are no ancestors are ignored."""
