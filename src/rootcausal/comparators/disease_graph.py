"""The causal graph of a cohort with its diagnosis, which two comparators start from."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators.lingam import DirectLiNGAM
from ..method.table import F64, Index
from .adaptive_logistic import AdaptiveLogistic


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
