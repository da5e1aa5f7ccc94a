"""The comparators that start from a causal graph with the diagnosis: CO and MS of the paper."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..estimators.lingam import DirectLiNGAM
from ..method.table import F64, Index
from .adaptive_logistic import AdaptiveLogistic
from .base import Comparator

# The causal graph of a cohort with its diagnosis, which two comparators start from.


@dataclass(frozen=True, eq=False)
class DiseaseGraph:
    """A linear causal model of standardised variables X, and of a diagnosis D that they lead to.

    Attributes
    ----------
    adjacency : (p, p), ``[i, j]`` is the direct effect of variable j on variable i; acyclic.
    target_weights : (p,) direct effects on the log-odds of D; zero for variables that are not its parents.
    intercept : float, log-odds of D where all variables are average.
    """

    adjacency: F64
    target_weights: F64
    intercept: float

    @cached_property
    def ancestors(self) -> NDArray[np.bool_]:
        """(p,) whether a directed path leads from the variable to D."""
        edges = self.adjacency != 0.0
        reached = self.target_weights != 0.0
        while True:
            further = reached | edges[reached].any(axis=0)
            if (further == reached).all():
                return reached
            reached = further

    @cached_property
    def total_effects(self) -> F64:
        """(p,) change in the log-odds of D when the error of a variable rises by one, over all paths."""
        unmixing = np.eye(len(self.adjacency)) - self.adjacency.T
        return np.asarray(np.linalg.solve(unmixing, self.target_weights), dtype=np.float64)

    def errors(self, Z: F64) -> F64:
        """(n, p) what the parents of each variable leave unexplained."""
        return Z - Z @ self.adjacency.T


def learn_disease_graph(
    Z: F64, y: Index, random_state: Any = None, logistic: AdaptiveLogistic | None = None
) -> DiseaseGraph:
    """Learn the graph of X by DirectLiNGAM, and the parents of D, each pruned by the adaptive lasso.

    Parameters
    ----------
    Z : (n, p) standardised columns; y : (n,) labels of 0 and 1.
    random_state : seed of the folds that choose D's parents.
    logistic : fitted to the same cohort, if there is one already; by default it is fitted here.
    """
    if logistic is None:
        logistic = AdaptiveLogistic(random_state=random_state).fit(Z, y)
    with warnings.catch_warnings():
        # With more variables than rows some cannot be ordered: here they just have no edges.
        warnings.filterwarnings("ignore", "nothing is left to explain after", UserWarning)
        lingam = DirectLiNGAM(variant="plus", prune=True).fit(Z)
    return DiseaseGraph(lingam.adjacency_matrix_, logistic.coef_, logistic.intercept_)


# What the comparators that need a causal graph share.


class GraphComparator(Comparator):
    """Ranks the ancestors of the diagnosis in a learned graph; other variables are not ranked (``-inf``).

    Parameters
    ----------
    random_state : int, RandomState or None, default None
        Seed of the folds that choose the parents of the diagnosis.

    Attributes
    ----------
    graph_ : :class:`~rootcausal.comparators.graph_comparators.DiseaseGraph`
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


# ConditionalOutliers (the paper's CO): variables that are far from what their parents predict.


class ConditionalOutliers(GraphComparator):
    """Ranks ancestors of the diagnosis by ``|X - E(X | parents)| / sd(X | parents)`` (Janzing et al. 2019).

    Parameters
    ----------
    random_state : int, RandomState or None, default None
        Seed of the folds that choose the parents of the diagnosis.

    Attributes
    ----------
    graph_ : :class:`~rootcausal.comparators.graph_comparators.DiseaseGraph`
    error_sd_ : (p,) of the errors in the cohort that was fitted.
    """

    def _learn_from_errors(self, errors: F64, y: Index) -> None:
        self.error_sd_ = errors.std(axis=0, ddof=1)

    def _score_errors(self, errors: F64) -> F64:
        return np.abs(errors) / self.error_sd_


# ModelSubstitution (the paper's MS): what if controls had the errors of cases, variable by variable.


class ModelSubstitution(GraphComparator):
    """Ranks ancestors of the diagnosis by their marginal contributions (Budhathoki et al. 2021).

    For one ancestor at a time, the distribution of its error among controls is replaced by the one among
    cases; the score is the change in the controls' mean log-odds. In a linear model this is the difference in
    mean error between cases and controls times the total effect of the error on the log-odds. There is one
    score a variable, the same for every patient.

    Parameters
    ----------
    random_state : int, RandomState or None, default None
        Seed of the folds that choose the parents of the diagnosis.

    Attributes
    ----------
    graph_ : :class:`~rootcausal.comparators.graph_comparators.DiseaseGraph`
    contributions_ : (p,) change in mean log-odds; zero for variables that are no ancestors.

    Notes
    -----
    The paper's column for this method cannot be reproduced from its text: the authors' code lays this vector
    end to end over the matrix of patients and variables, so that patients get the entries of other variables.
    """

    def _learn_from_errors(self, errors: F64, y: Index) -> None:
        shift = errors[y == 1].mean(axis=0) - errors[y == 0].mean(axis=0)
        self.contributions_ = shift * self.graph_.total_effects

    def _score_errors(self, errors: F64) -> F64:
        return np.broadcast_to(self.contributions_, errors.shape)
