"""ModelSubstitution (the paper's MS): what if controls had the errors of cases, variable by variable."""

from __future__ import annotations

import numpy as np

from ..method.table import F64, Index
from .graph_comparator import GraphComparator


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
    graph_ : :class:`~rootcausal.comparators.disease_graph.DiseaseGraph`
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
