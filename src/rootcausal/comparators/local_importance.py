"""Breiman's local importance, for ICAPrediction: whose votes trees lose when one source is replaced.

The share of trees that lose a patient's vote, for each source.

It is what ``localImp`` of R's randomForest returns; scikit-learn, whose forest it is asked of, has only the
mean over patients.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from ..method.table import F64, Index

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
