"""How probably each variable is an ancestor of the outcome: by what acts on it, and the arrows behind that.

Each arrow of the graph may be missing, or point the other way; how surely it does neither goes by what the
graph would cost without it, and with it turned round. These nats are too sure of themselves: a search has
chosen the graph, and no family of curves holds the truth. So how often an arrow is there, and points as told,
was measured by its nats in simulated cohorts (of the nonlinear generator and the paper's), and is said by two
curves. Graphs are drawn by it, and a variable's probability is the share in which a path leads from it to the
outcome.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import expit

from ..method.table import F64

# Of an arrow being there, the log-odds: at no nats, and for each unit of log(1 + nats).
THERE_AT_NONE, THERE_BY_NATS = -3.4, 1.68
# Of one that is there pointing the other way: at no nats, and for each unit of their root; and the share of
# those that, turned round, would close a circle.
TURNED_AT_NONE, TURNED_BY_ROOT, TURNED_IN_A_CIRCLE = 0.8, -0.55, 0.02
# Of acting on the outcome directly, the odds, as a part of those that the regression tells.
ODDS_OF_ACTING = 0.5
# Graphs that are drawn.
DRAWN = 1024

#: Of each arrow (effect, cause) what the graph costs more without it, and with it turned round, in nats.
Arrows = Mapping[tuple[int, int], tuple[float, float]]


def ancestors(acting: F64, arrows: Arrows, allowed: np.ndarray) -> F64:
    """(v,) probabilities.

    Parameters
    ----------
    acting : (v,) that each variable acts on the outcome directly, as the regression tells it.
    arrows : of the graph; turned round infinite where it cannot be.
    allowed : (v, v), ``[i, j]``: whether j may be a cause of i, by what is known.
    """
    rng = np.random.default_rng(0)
    odds = ODDS_OF_ACTING * acting
    reaches = rng.random((DRAWN, acting.size)) < odds / np.maximum(1.0 - acting + odds, 1e-300)
    drawn = []
    for (effect, cause), (without, turned) in arrows.items():
        there = float(expit(THERE_AT_NONE + THERE_BY_NATS * np.log1p(max(without, 0.0))))
        other = 0.0
        if allowed[cause, effect]:
            other = TURNED_IN_A_CIRCLE
            if np.isfinite(turned):
                other = float(expit(TURNED_AT_NONE + TURNED_BY_ROOT * np.sqrt(max(turned, 0.0))))
        chance = rng.random(DRAWN)
        drawn.append((effect, cause, chance < there * (1.0 - other)))
        drawn.append((cause, effect, chance > 1.0 - there * other))
    n_before = -1
    while (n := int(reaches.sum())) != n_before:
        n_before = n
        for effect, cause, there_in in drawn:
            reaches[:, cause] |= there_in & reaches[:, effect]
    return np.asarray(reaches.mean(axis=0))
