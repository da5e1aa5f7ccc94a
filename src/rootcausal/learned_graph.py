"""The learned graph: direct effects, and those strong enough to draw."""

from __future__ import annotations

import numpy as np

from .core.table import F64

# An edge is drawn when one standard deviation of the cause moves the effect by a tenth of one.
WEAKEST_EDGE = 0.1
EDGES_DRAWN = 80


def direct_effects(unmixing: F64) -> F64:
    """(k, k) in causal order and standard units, ``[i, j]``: each variable regressed on all before it.

    Parameters
    ----------
    unmixing : (k, k), errors = standardized columns @ unmixing.
    """
    edges = -(unmixing / np.diagonal(unmixing)).T
    np.fill_diagonal(edges, 0.0)
    return edges


def strong_edges(edges: F64) -> list[tuple[int, int, float]]:
    """(cause, effect, weight) of the edges strong enough to draw, strongest first."""
    effect, cause = np.nonzero(np.abs(edges) >= WEAKEST_EDGE)
    strength = np.abs(edges[effect, cause])
    strongest = np.argsort(-strength, kind="stable")[:EDGES_DRAWN]
    return [(int(cause[e]), int(effect[e]), float(edges[effect[e], cause[e]])) for e in strongest]
