"""Prediction with independent components (Lasko and Mesa 2019), the paper's comparator ICA."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import FastICA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier

from ..data.simulate import RandomState
from ..errors import InputError
from ..method.table import F64, Index
from .base import Comparator

# Breiman's local importance, for ICAPrediction: whose votes trees lose when one source is replaced.
#
# The share of trees that lose a patient's vote, for each source.
#
# It is what ``localImp`` of R's randomForest returns; scikit-learn, whose forest it is asked of, has only
# the mean over patients.

F32 = NDArray[np.float32]


def out_of_bag_importance(forest: RandomForestClassifier, sources: F32, y: Index, seed: int) -> F64:
    """(n, k): over the trees that did not learn from a patient, the mean loss of votes for the true label.

    Each tree permutes each source among its own out-of-bag patients: they stand in a circle in random order,
    and each source is passed on by a random number of places. Patients in all bags get zeros.
    """
    lost = np.zeros(sources.shape, dtype=np.int64)
    trees = np.zeros(len(sources), dtype=np.int64)
    for number, (tree, bag) in enumerate(zip(forest.estimators_, forest.estimators_samples_, strict=True)):
        out_of_bag = np.setdiff1d(np.arange(len(sources)), bag)
        if out_of_bag.size < 2:
            continue
        rng = np.random.default_rng((seed, number))
        circle = rng.permutation(out_of_bag)
        steps = rng.integers(1, circle.size, size=(sources.shape[1],))
        donors = circle[(np.arange(circle.size)[:, None] + steps) % circle.size]
        others = np.take_along_axis(sources, donors, axis=0)
        lost[circle] += lost_votes(tree, sources[circle], others, y[circle])
        trees[circle] += 1
    return lost / np.maximum(trees, 1)[:, np.newaxis]


def importance_of_newcomers(forest: RandomForestClassifier, sources: F32, cohort: F32, seed: int) -> F64:
    """(m, k): over all trees, the mean loss of votes for the label that most trees vote for.

    Each tree replaces each source by that of one random patient of the cohort, the same for all
    newcomers, so that nobody's importances depend on who else is scored.
    """
    for_one = np.sum([votes(tree, sources) for tree in forest.estimators_], axis=0)
    labels = np.asarray(2 * for_one > len(forest.estimators_), dtype=np.intp)
    lost = np.zeros(sources.shape, dtype=np.int64)
    everything = np.arange(sources.shape[1])
    for number, tree in enumerate(forest.estimators_):
        donors = np.random.default_rng((seed, number)).integers(len(cohort), size=(sources.shape[1],))
        others = np.broadcast_to(cohort[donors, everything], sources.shape)
        lost += lost_votes(tree, sources, others, labels)
    return lost / len(forest.estimators_)


def lost_votes(tree: DecisionTreeClassifier, own: F32, others: F32, y: Index) -> Index:
    """(m, k): 1 where another's source makes the vote for a patient wrong, −1 where it mends it."""
    right = (votes(tree, own) == y).astype(np.intp)
    lost = np.zeros(own.shape, dtype=np.intp)
    replaced = own.copy()
    asked = tree.tree_.feature
    for source in np.unique(asked[asked >= 0]):
        replaced[:, source] = others[:, source]
        lost[:, source] = right - (votes(tree, replaced) == y)
        replaced[:, source] = own[:, source]
    return lost


def votes(tree: DecisionTreeClassifier, sources: F32) -> Index:
    """(m,) the label that the tree gives each patient."""
    leaves = tree.tree_.apply(sources)
    found: Index = tree.tree_.value[leaves, 0].argmax(axis=1)
    return found


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
