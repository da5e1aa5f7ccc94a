"""Prediction with independent components (Lasko and Mesa 2019), the paper's comparator ICA."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import FastICA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning

from ..data.simulate import RandomState
from ..errors import InputError
from ..method.table import F64, Index
from .base import Comparator
from .local_importance import F32, importance_of_newcomers, out_of_bag_importance

MOST_ITERATIONS = 200
# Directions with less variance than this share of the largest are rounding errors of collinear columns.
LEAST_VARIANCE = 1e-10
# An entry of the unmixing matrix counts as at least this share of the largest: 1/0 cannot be assigned.
LEAST_ENTRY = 1e-9


class ICAPrediction(Comparator):
    """Unmixes the cohort into independent sources, and ranks them by a forest's local importance.

    FastICA finds as many sources as the columns have dimensions. Each is assigned to a variable as in
    Step 2 of ICA-LiNGAM (Shimizu et al. 2006, Algorithm A): the assignment that minimises the sum of
    1/abs(W) over the assigned entries of the unmixing matrix W. A random forest predicts the diagnosis
    from the sources, and a variable's score is its source's local importance in that patient: the share
    of trees that lose the vote for the patient's label when the source is another patient's
    (Section 8 of the paper; Lasko and Mesa 2019; Breiman 2001).

    For the cohort that was fitted, as a whole, only out-of-bag trees are asked, each source is permuted
    among a tree's out-of-bag patients, and the label is the true one. All other patients are out of bag
    in every tree, their sources are replaced by those of random patients of the cohort, and the label is
    the forest's own vote.

    Parameters
    ----------
    n_trees : int, default 500
        The default of R's randomForest; the paper names no number.
    random_state : seed of the unmixing's start, the forest and the permutations.

    Attributes
    ----------
    unmixing_ : (k, p) ``sources = standardised columns @ unmixing_.T``. There are k < p sources where
        columns are collinear or patients no more than variables.
    variable_of_source_ : (k,) column to which each source is assigned; unassigned columns score ``-inf``.
    converged_ : whether FastICA converged in 200 iterations. It need not: near-Gaussian or few data have
        no stable sources.
    forest_ : :class:`~sklearn.ensemble.RandomForestClassifier` of the sources.
    """

    unmixing_: F64
    variable_of_source_: Index
    converged_: bool
    forest_: RandomForestClassifier

    def __init__(self, *, n_trees: int = 500, random_state: RandomState = None) -> None:
        self.n_trees = n_trees
        self.random_state = random_state

    def _learn(self, Z: F64, y: Index) -> None:
        if self.n_trees < 1:
            raise InputError(f"n_trees is {self.n_trees}: a forest needs at least one tree")
        seeds = np.random.default_rng(self.random_state).integers(2**31, size=3)
        ica_seed, forest_seed, self._permutation_seed = (int(seed) for seed in seeds)
        self.unmixing_, self.converged_ = _unmix(Z, ica_seed)
        self.variable_of_source_ = _assign(self.unmixing_)
        self._cohort, self._labels, self._cohort_sources = Z, y, self._sources(Z)
        self.forest_ = RandomForestClassifier(self.n_trees, random_state=forest_seed)
        self.forest_.fit(self._cohort_sources, y)

    def _score(self, Z: F64) -> F64:
        if np.array_equal(Z, self._cohort):
            importance = out_of_bag_importance(
                self.forest_, self._cohort_sources, self._labels, self._permutation_seed
            )
        else:
            importance = importance_of_newcomers(
                self.forest_, self._sources(Z), self._cohort_sources, self._permutation_seed
            )
        scores = np.full(Z.shape, -np.inf)
        scores[:, self.variable_of_source_] = importance
        return scores

    def _sources(self, Z: F64) -> F32:
        return np.ascontiguousarray(Z @ self.unmixing_.T, dtype=np.float32)


def _unmix(Z: F64, seed: int) -> tuple[F64, bool]:
    """(k, p) unmixing matrix, k the rank of Z, and whether the search for it converged."""
    rank = int(np.linalg.matrix_rank(Z.T @ Z, rtol=LEAST_VARIANCE, hermitian=True))
    ica = FastICA(rank, whiten="unit-variance", max_iter=MOST_ITERATIONS, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ica.fit(Z)
    return ica.components_, ica.n_iter_ < MOST_ITERATIONS


def _assign(unmixing: F64) -> Index:
    """(k,) the variable of each source."""
    size = np.abs(unmixing)
    _, variables = linear_sum_assignment(1.0 / np.maximum(size, LEAST_ENTRY * size.max()))
    return variables
