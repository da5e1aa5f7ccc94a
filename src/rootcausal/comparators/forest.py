"""Random forests of two classes (Breiman 2001), for ICAPrediction: compiled, and grown until leaves are pure.

Each tree learns from patients drawn with replacement. Each node draws some sources, and splits where the
best of them lowers Gini's impurity most. Values are ranked once; a node marks the ranks of its patients in a
bitmap, and reads them off in order: it needs no sorting of its own, which is what takes the time elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..backends.compiled import compiled
from ..core.table import F64, Index

F32 = NDArray[np.float32]
I32 = NDArray[np.int32]
Bitmap = NDArray[np.uint64]

LEAF = -1
# A node with less than one in so many of the patients is a small one.
FEW = 16
# The highest six bits of a power of two times a de Bruijn sequence are all different: they tell its exponent.
DE_BRUIJN = 0x022FDD63CC95386D
EXPONENT = np.zeros(64, dtype=np.int64)
for _exponent in range(64):
    EXPONENT[(DE_BRUIJN << _exponent) % 2**64 >> 58] = _exponent


class Tree(NamedTuple):
    """Nodes of one tree, the root first.

    Attributes
    ----------
    child : (nodes,) of patients up to the threshold; those above it go to the node after that one. LEAF where
        there are none.
    source, threshold : (nodes,) that a node splits by.
    vote : (nodes,) the label that most of the node's patients have.
    """

    child: I32
    source: I32
    threshold: F64
    vote: I32


class Ranked(NamedTuple):
    """Sources of a cohort.

    Attributes
    ----------
    rank : (n, k) of each patient's value among the different ones, from 0.
    columns : (k, n) the same: large nodes read columns, small ones rows, each as they lie in the cache.
    value : (k, n) of each rank; what follows the last one means nothing.
    """

    rank: I32
    columns: I32
    value: F32


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees, and for each of them the patients that it did not learn from."""

    trees: list[Tree]
    out_of_bag: list[Index]

    def predict(self, sources: F32) -> Index:
        """(m,) the label that most trees vote for."""
        ones = np.zeros(len(sources), dtype=np.intp)
        for tree in self.trees:
            ones += votes(tree, sources)
        return (2 * ones > len(self.trees)).astype(np.intp)


def grow_forest(sources: F32, y: Index, n_trees: int, seed: int) -> Forest:
    """Learn to tell the labels y, 0 and 1, from sources (n, k); a node draws √k of them."""
    n, k = sources.shape
    cohort = rank_sources(sources)
    trees, out_of_bag = [], []
    for number in range(n_trees):
        rng = np.random.default_rng((seed, number))
        drawn = np.bincount(rng.integers(n, size=n), minlength=n)
        trees.append(grow_tree(cohort, y, drawn, max(1, int(np.sqrt(k))), rng))
        out_of_bag.append(np.flatnonzero(drawn == 0))
    return Forest(trees, out_of_bag)


def rank_sources(sources: F32) -> Ranked:
    rank = np.empty(sources.shape, dtype=np.int32)
    value = np.zeros(sources.shape[::-1], dtype=np.float32)
    for source, column in enumerate(sources.T):
        different, rank[:, source] = np.unique(column, return_inverse=True)
        value[source, : different.size] = different
    return Ranked(rank, np.ascontiguousarray(rank.T), value)


def grow_tree(cohort: Ranked, y: Index, drawn: Index, n_candidates: int, rng: np.random.Generator) -> Tree:
    """A tree of patients that were drawn so often each, from so many candidate sources a node."""
    return Tree(*_grow(*cohort, y, drawn, n_candidates, rng))


def plain_grow_tree(
    cohort: Ranked, y: Index, drawn: Index, n_candidates: int, rng: np.random.Generator
) -> Tree:
    """The same by sorting each node's patients anew: the oracle of the compiled loop."""
    order = np.arange(len(cohort.value))
    nodes: list[tuple[int, int, float, int]] = [(LEAF, 0, 0.0, 0)]
    waiting = [(0, np.flatnonzero(drawn))]
    while waiting:
        node, rows = waiting.pop()
        labels, weight = y[rows], drawn[rows]
        vote = int(2 * weight @ labels > weight.sum())
        best, nodes[node] = 0.0, (LEAF, 0, 0.0, vote)
        for tried in range(len(order)):
            if np.ptp(labels) == 0 or (tried >= n_candidates and best > 0.0):
                break
            other = tried + int(rng.random() * (len(order) - tried))
            order[[tried, other]] = order[[other, tried]]
            source = int(order[tried])
            by_value = np.argsort(cohort.rank[rows, source], kind="stable")
            value = cohort.value[source, cohort.rank[rows, source]][by_value].astype(float)
            left = weight[by_value].cumsum()[:-1].astype(float)
            ones = (weight * labels)[by_value].cumsum()[:-1].astype(float)
            gap = ones * float(weight.sum()) - left * float(weight @ labels)
            gain = np.where(np.diff(value) > 0.0, gap * gap / (left * (weight.sum() - left)), 0.0)
            cut = int(gain.argmax())
            if gain[cut] > best:
                best, threshold = gain[cut], (value[cut] + value[cut + 1]) / 2
                nodes[node] = (len(nodes), source, threshold, vote)
                parts = rows[by_value[: cut + 1]], rows[by_value[cut + 1 :]]
        if best > 0.0:
            waiting += [(len(nodes), parts[0]), (len(nodes) + 1, parts[1])]
            nodes += [(LEAF, 0, 0.0, 0)] * 2
    child, source_of, threshold_of, vote_of = zip(*nodes, strict=True)
    return Tree(
        np.array(child, np.int32),
        np.array(source_of, np.int32),
        np.array(threshold_of),
        np.array(vote_of, np.int32),
    )


def votes(tree: Tree, sources: F32) -> I32:
    """(m,) the label that the tree gives each patient."""
    found: I32 = _votes(*tree, sources)
    return found


def plain_votes(tree: Tree, sources: F32) -> I32:
    """The same, all patients a step at a time: the oracle of the compiled loop."""
    node = np.zeros(len(sources), dtype=np.intp)
    while (inner := np.flatnonzero(tree.child[node] != LEAF)).size:
        at = node[inner]
        node[inner] = tree.child[at] + (sources[inner, tree.source[at]] > tree.threshold[at])
    return tree.vote[node]


@compiled(nogil=True)
def _votes(child: I32, source: I32, threshold: F64, vote: I32, sources: F32) -> I32:
    found = np.empty(len(sources), dtype=np.int32)
    for row in range(len(sources)):
        node = 0
        while child[node] != LEAF:
            node = child[node] + (sources[row, source[node]] > threshold[node])
        found[row] = vote[node]
    return found


@compiled(nogil=True)
def _grow(
    rank: I32,
    columns: I32,
    value: F32,
    y: Index,
    drawn: Index,
    n_candidates: int,
    rng: np.random.Generator,
) -> tuple[I32, I32, F64, I32]:
    n, n_sources = rank.shape
    # Rows of a node lie next to each other.
    rows = np.flatnonzero(drawn).astype(np.int32)
    moved = np.empty_like(rows)
    counts = np.empty((n, 2), dtype=np.float32)
    counts[:, 0], counts[:, 1] = drawn, drawn * y
    order = np.arange(n_sources)
    most = 2 * rows.size - 1
    child = np.full(most, LEAF, dtype=np.int32)
    source, threshold = np.zeros(most, dtype=np.int32), np.zeros(most)
    vote = np.zeros(most, dtype=np.int32)
    begin, end = np.zeros(most, dtype=np.int32), np.zeros(most, dtype=np.int32)
    end[0] = rows.size
    waiting = np.zeros(rows.size + 1, dtype=np.int32)
    n_waiting, n_nodes = 1, 1
    at_rank = np.zeros((n, 2), dtype=np.float32)
    marked = np.zeros((n >> 6) + 1, dtype=np.uint64)
    # A second bitmap says which words of the first are in use.
    used = np.zeros((marked.size >> 6) + 1, dtype=np.uint64)
    while n_waiting:
        n_waiting -= 1
        node = waiting[n_waiting]
        here = rows[begin[node] : end[node]]
        total, ones = 0.0, 0.0
        for row in here:
            total += counts[row, 0]
            ones += counts[row, 1]
        vote[node] = 2 * ones > total
        if ones == 0.0 or ones == total:
            continue
        best, last, following = 0.0, 0, 0
        for tried in range(n_sources):
            if tried >= n_candidates and best > 0.0:
                break
            other = tried + int(rng.random() * (n_sources - tried))
            order[tried], order[other] = order[other], order[tried]
            one = order[tried]
            if FEW * here.size < n:
                gain, before, after = _best_split(
                    rank[:, one], here, counts, total, ones, at_rank, marked, used
                )
            else:
                gain, before, after = _best_split(
                    columns[one], here, counts, total, ones, at_rank, marked, used
                )
            if gain > best:
                best, last, following = gain, before, after
                source[node] = one
        if best > 0.0:
            by = source[node]
            threshold[node] = (np.float64(value[by, last]) + np.float64(value[by, following])) / 2
            n_left, n_right = 0, 0
            for row in here:
                if rank[row, by] <= last:
                    here[n_left] = row
                    n_left += 1
                else:
                    moved[n_right] = row
                    n_right += 1
            here[n_left:] = moved[:n_right]
            child[node] = n_nodes
            begin[n_nodes], end[n_nodes] = begin[node], begin[node] + n_left
            begin[n_nodes + 1], end[n_nodes + 1] = begin[node] + n_left, end[node]
            waiting[n_waiting], waiting[n_waiting + 1] = n_nodes, n_nodes + 1
            n_waiting += 2
            n_nodes += 2
    return child[:n_nodes].copy(), source[:n_nodes].copy(), threshold[:n_nodes].copy(), vote[:n_nodes].copy()


@compiled(nogil=True, error_model="numpy")
def _best_split(
    rank: I32, here: I32, counts: F32, total: float, ones: float, at_rank: F32, marked: Bitmap, used: Bitmap
) -> tuple[float, int, int]:
    """The largest gain by one source, and the ranks on either side; what is only lent is left empty.

    Parameters
    ----------
    rank : (n,); here : rows of the node, whose patients are so many in total, so many of them ones.
    counts : (n, 2) how often a row was drawn, and the same where it is a one.
    at_rank : (n, 2) lent, the sum of counts over rows of each rank.
    marked, used : lent, the bitmap of the ranks, and that of its words.
    """
    bit = np.uint64(1)
    for row in here:
        at = rank[row]
        at_rank[at, 0] += counts[row, 0]
        at_rank[at, 1] += counts[row, 1]
        marked[at >> 6] |= bit << np.uint64(at & 63)
        used[at >> 12] |= bit << np.uint64((at >> 6) & 63)
    best, last, following = 0.0, 0, 0
    left, left_ones, before = 0.0, 0.0, 0
    for block in range(used.size):
        words = used[block]
        used[block] = 0
        while words:
            word = (block << 6) + _lowest(words)
            words &= words - bit
            bits = marked[word]
            marked[word] = 0
            while bits:
                at = (word << 6) + _lowest(bits)
                bits &= bits - bit
                # Gini's impurity falls by this, but for a factor that all splits of the node share. With
                # nothing on the left it is 0/0, never better. No branch: no processor would foresee it.
                gap = left_ones * total - left * ones
                gain = gap * gap / (left * (total - left))
                better = gain > best
                best = gain if better else best
                last = before if better else last
                following = at if better else following
                left += at_rank[at, 0]
                left_ones += at_rank[at, 1]
                at_rank[at, 0] = 0.0
                at_rank[at, 1] = 0.0
                before = at
    return best, last, following


@compiled(nogil=True)
def _lowest(bits: int) -> int:
    """Place of the lowest bit that is set."""
    only = bits & (~bits + np.uint64(1))
    return EXPONENT[(only * np.uint64(DE_BRUIJN)) >> np.uint64(58)]
