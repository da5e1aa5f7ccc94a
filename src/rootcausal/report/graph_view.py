"""The learned graph among the ancestors of the disease."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.attribution import CausalModel
from ..core.table import F64

# An edge is drawn when one standard deviation of the cause moves the effect by a tenth of one.
WEAKEST_EDGE = 0.1
EDGES_DRAWN = 80
VARIABLES_DRAWN = 30


def direct_effects(model: CausalModel) -> F64:
    """(k, k) in causal order and standard units, ``[i, j]``: each variable regressed on all before it."""
    edges = -(model.unmixing / np.diagonal(model.unmixing)).T
    np.fill_diagonal(edges, 0.0)
    return edges


def drawn_edges(edges: F64) -> list[tuple[int, int, float]]:
    """(cause, effect, weight) of the edges strong enough to draw, strongest first."""
    effect, cause = np.nonzero(np.abs(edges) >= WEAKEST_EDGE)
    strength = np.abs(edges[effect, cause])
    strongest = np.argsort(-strength, kind="stable")[:EDGES_DRAWN]
    return [(int(cause[e]), int(effect[e]), float(edges[effect[e], cause[e]])) for e in strongest]


def graph_facts(model: CausalModel, values: F64) -> dict[str, Any]:
    """The most important variables in causal order, the edges among them, and what each shock moves.

    ``total[j][i]``: by how many standard deviations variable i moves when the shock on j grows by one.
    """
    important = np.argsort(-np.abs(values).mean(axis=0), kind="stable")[:VARIABLES_DRAWN]
    shown = np.sort(important)
    among = np.ix_(shown, shown)
    edges = drawn_edges(direct_effects(model)[among])
    return {
        "shown": shown.tolist(),
        "edges": [{"cause": cause, "effect": effect, "weight": weight} for cause, effect, weight in edges],
        "total": model.mixing[among].T.tolist(),
        "weakest": WEAKEST_EDGE,
        "n_possible": int(shown.size * (shown.size - 1) // 2),
    }
