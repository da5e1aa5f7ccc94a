"""Breiman's local importance, for ICAPrediction: whose votes trees lose when one source is replaced.

The share of trees that lose a patient's vote, for each source.

It is what ``localImp`` of R's randomForest returns; scikit-learn has only the mean over patients.

A replaced source can change a tree's vote only where it makes the patient leave the path: the compiled
loop descends once, and again from where each source strays, instead of once for each source.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.compiled import compiled
from ..core.table import F64, Index

# scikit-learn's trees round their input to this type before they compare it with a threshold.
F32 = NDArray[np.float32]
Votes = NDArray[np.int8]
LEAF = -1


def out_of_bag_importance(forest: Any, sources: F32, y: Index, seed: int) -> F64:
    """(n, k): over the trees that did not learn from a patient, the mean loss of votes for the true label.

    Each tree permutes each source among its own out-of-bag patients. Patients in all bags get zeros.
    """
    lost = np.zeros(sources.shape, dtype=np.int64)
    trees = np.zeros(len(sources), dtype=np.int64)
    for number, (tree, in_bag) in enumerate(zip(forest.estimators_, forest.estimators_samples_, strict=True)):
        rows = np.flatnonzero(np.bincount(in_bag, minlength=len(sources)) == 0)
        own = sources[rows]
        others = np.random.default_rng((seed, number)).permuted(own, axis=0)
        lost[rows] += lost_votes(tree, own, others, y[rows])
        trees[rows] += 1
    return lost / np.maximum(trees, 1)[:, np.newaxis]


def importance_of_newcomers(forest: Any, sources: F32, cohort: F32, seed: int) -> F64:
    """(m, k): over all trees, the mean loss of votes for the label that the forest predicts.

    Each tree replaces each source by that of one random patient of the cohort, the same for all
    newcomers, so that nobody's importances depend on who else is scored.
    """
    labels = forest.predict(sources)
    lost = np.zeros(sources.shape, dtype=np.int64)
    every_source = np.arange(sources.shape[1])
    for number, tree in enumerate(forest.estimators_):
        donors = np.random.default_rng((seed, number)).integers(len(cohort), size=every_source.size)
        others = np.tile(cohort[donors, every_source], (len(sources), 1))
        lost += lost_votes(tree, sources, others, labels)
    return lost / len(forest.estimators_)


def lost_votes(tree: Any, own: F32, others: F32, y: Index) -> Votes:
    """(m, k): 1 where the vote is right, but wrong once the source is another's; −1 where it is mended."""
    nodes = tree.tree_
    return _lost_votes(
        np.ascontiguousarray(nodes.children_left),
        np.ascontiguousarray(nodes.children_right),
        np.ascontiguousarray(nodes.feature),
        np.ascontiguousarray(nodes.threshold),
        nodes.value[:, 0, :].argmax(axis=1),
        own,
        others,
        y,
    )


def plain_lost_votes(tree: Any, own: F32, others: F32, y: Index) -> Votes:
    """The same by scikit-learn's own predictions, one source at a time: the oracle of the compiled loop."""
    right = (tree.predict(own) == y).astype(np.int8)
    lost = np.empty(own.shape, dtype=np.int8)
    for source in range(own.shape[1]):
        replaced = own.copy()
        replaced[:, source] = others[:, source]
        lost[:, source] = right - (tree.predict(replaced) == y)
    return lost


@compiled(nogil=True)
def _lost_votes(
    left: Index, right: Index, feature: Index, threshold: F64, vote: Index, own: F32, others: F32, y: Index
) -> Votes:
    rows, sources = own.shape
    lost = np.zeros((rows, sources), dtype=np.int8)
    strayed = np.full(sources, -1)
    for row in range(rows):
        node = 0
        while left[node] != LEAF:
            node = left[node] if own[row, feature[node]] <= threshold[node] else right[node]
        was_right = vote[node] == y[row]
        node = 0
        while left[node] != LEAF:
            source = feature[node]
            goes_left = own[row, source] <= threshold[node]
            other = others[row, source]
            if (other <= threshold[node]) != goes_left and strayed[source] != row:
                strayed[source] = row
                end = right[node] if goes_left else left[node]
                while left[end] != LEAF:
                    used = feature[end]
                    value = other if used == source else own[row, used]
                    end = left[end] if value <= threshold[end] else right[end]
                lost[row, source] = np.int8(was_right) - np.int8(vote[end] == y[row])
            node = left[node] if goes_left else right[node]
    return lost
