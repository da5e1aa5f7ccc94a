"""Breiman's local importance, for ICAPrediction: whose votes trees lose when one source is replaced.

The share of trees that lose a patient's vote, for each source.

It is what ``localImp`` of R's randomForest returns; scikit-learn has only the mean over patients.

A replaced source can change a tree's vote only where it makes the patient leave the path: the compiled
loop descends once, and again from where each source strays, instead of once for each source.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..backends.compiled import compiled
from ..core.table import F64, Index
from .forest import F32, I32, LEAF, Forest, Tree, plain_votes

Counts = NDArray[np.int64]


def out_of_bag_importance(forest: Forest, sources: F32, y: Index, seed: int) -> F64:
    """(n, k): over the trees that did not learn from a patient, the mean loss of votes for the true label.

    Each tree permutes each source among its own out-of-bag patients: they stand in a circle in random order,
    and each source is passed on by a random number of places. Patients in all bags get zeros.
    """
    lost = np.zeros(sources.shape, dtype=np.int64)
    trees = np.zeros(len(sources), dtype=np.int64)
    for number, (tree, out_of_bag) in enumerate(zip(forest.trees, forest.out_of_bag, strict=True)):
        if out_of_bag.size < 2:
            continue
        rng = np.random.default_rng((seed, number))
        circle = rng.permutation(out_of_bag)
        steps = rng.integers(1, circle.size, size=(sources.shape[1],))
        add_lost_votes(lost, tree, sources, circle, y, sources, circle, np.arange(circle.size), steps)
        trees[circle] += 1
    return lost / np.maximum(trees, 1)[:, np.newaxis]


def importance_of_newcomers(forest: Forest, sources: F32, cohort: F32, seed: int) -> F64:
    """(m, k): over all trees, the mean loss of votes for the label that the forest predicts.

    Each tree replaces each source by that of one random patient of the cohort, the same for all
    newcomers, so that nobody's importances depend on who else is scored.
    """
    labels = forest.predict(sources)
    lost = np.zeros(sources.shape, dtype=np.int64)
    newcomers, circle = np.arange(len(sources)), np.arange(len(cohort))
    for number, tree in enumerate(forest.trees):
        donors = np.random.default_rng((seed, number)).integers(len(cohort), size=(sources.shape[1],))
        add_lost_votes(
            lost, tree, sources, newcomers, labels, cohort, circle, np.zeros_like(newcomers), donors
        )
    return lost / len(forest.trees)


def add_lost_votes(
    lost: Counts,
    tree: Tree,
    sources: F32,
    rows: Index,
    y: Index,
    pool: F32,
    circle: Index,
    places: Index,
    steps: Index,
) -> None:
    """Add 1 to what a patient lost by a source where replacing it makes the vote wrong, −1 where it mends it.

    Parameters
    ----------
    lost : (n, k), of which some rows change.
    sources, y : (n, k) and (n,); rows : (m,) those to ask.
    pool, circle : others' sources, and which of them stand in a circle in which order.
    places : (m,) of the patients in that circle.
    steps : (k,) how far on in the circle the donor of each source is.
    """
    _add_lost_votes(lost, *tree, sources, rows, y, pool, circle, places, steps)


def plain_lost_votes(tree: Tree, own: F32, others: F32, y: Index) -> Counts:
    """(m, k) the same, where others replace own, one source at a time: the oracle of the compiled loop."""
    right = (plain_votes(tree, own) == y).astype(np.int64)
    lost = np.empty(own.shape, dtype=np.int64)
    for source in range(own.shape[1]):
        replaced = own.copy()
        replaced[:, source] = others[:, source]
        lost[:, source] = right - (plain_votes(tree, replaced) == y)
    return lost


@compiled(nogil=True)
def _add_lost_votes(
    lost: Counts,
    child: I32,
    source_of: I32,
    threshold: F64,
    vote: I32,
    sources: F32,
    rows: Index,
    y: Index,
    pool: F32,
    circle: Index,
    places: Index,
    steps: Index,
) -> None:
    strayed = np.full(sources.shape[1], -1)
    path = np.empty(child.size, dtype=np.int32)
    for number in range(rows.size):
        own = sources[rows[number]]
        node, depth = 0, 0
        while child[node] != LEAF:
            path[depth] = node
            depth += 1
            node = child[node] + (own[source_of[node]] > threshold[node])
        path[depth] = node
        label = y[rows[number]]
        was_right = np.int64(vote[node] == label)
        for at in range(depth):
            node = path[at]
            source = source_of[node]
            if strayed[source] == number:
                continue
            donor = places[number] + steps[source]
            if donor >= circle.size:
                donor -= circle.size
            other = pool[circle[donor], source]
            end = child[node] + (other > threshold[node])
            if end == path[at + 1]:
                continue
            strayed[source] = number
            while child[end] != LEAF:
                used = source_of[end]
                value = other if used == source else own[used]
                end = child[end] + (value > threshold[end])
            lost[rows[number], source] += was_right - np.int64(vote[end] == label)
