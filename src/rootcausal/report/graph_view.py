"""The learned graph among the ancestors of the disease."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.model import CausalModel
from ..core.table import F64
from ..drawing import WEAKEST_EDGE, strong_edges

VARIABLES_DRAWN = 30


def graph_facts(model: CausalModel, values: F64) -> dict[str, Any]:
    """The most important variables in causal order, the edges among them, and what each shock moves.

    ``total[j][i]``: by how many standard deviations variable i moves when the shock on j grows by one.
    """
    important = np.argsort(-np.abs(values).mean(axis=0), kind="stable")[:VARIABLES_DRAWN]
    shown = np.sort(important)
    among = np.ix_(shown, shown)
    edges = strong_edges(model.direct_effects()[among])
    return {
        "shown": shown.tolist(),
        "edges": [{"cause": cause, "effect": effect, "weight": weight} for cause, effect, weight in edges],
        "total": model.total_effects()[among].T.tolist(),
        "weakest": WEAKEST_EDGE,
        "n_possible": int(shown.size * (shown.size - 1) // 2),
    }
