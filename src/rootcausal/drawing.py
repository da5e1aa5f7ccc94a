"""What figures and the page draw alike: the edges strong enough to see, and like patients side by side."""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from .core.table import F64, Index

# An edge is drawn when one standard deviation of the cause moves the effect by a tenth of one.
WEAKEST_EDGE = 0.1
EDGES_DRAWN = 80


def strong_edges(edges: F64) -> list[tuple[int, int, float]]:
    """(cause, effect, weight) of the edges strong enough to draw, strongest first."""
    effect, cause = np.nonzero(np.abs(edges) >= WEAKEST_EDGE)
    strength = np.abs(edges[effect, cause])
    strongest = np.argsort(-strength, kind="stable")[:EDGES_DRAWN]
    return [(int(cause[e]), int(effect[e]), float(edges[effect[e], cause[e]])) for e in strongest]


def similarity_order(values: F64) -> Index:
    """Rows ordered so that neighbours are alike: the leaves of a Ward tree, turned to fit best."""
    if len(values) < 3:
        return np.argsort(-values.sum(axis=1), kind="stable")
    return leaves_list(linkage(values, "ward", optimal_ordering=True)).astype(np.intp)
