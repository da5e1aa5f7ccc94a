"""The arrows of a learned graph: which effects are strong enough to be one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .model import CausalModel
from .table import Index

# One standard deviation of the cause moves the effect by at least this many standard deviations of its own.
WEAKEST_EDGE = 0.1


def arrows_among(model: CausalModel, variables: Index) -> np.ndarray:
    """(m, m), ``[i, j]``: whether the j-th of these variables has an arrow into the i-th.

    A variable outside the order has none, neither in nor out.
    """
    found = np.zeros((variables.size, variables.size), dtype=bool)
    at, place = _inside(model, variables)
    found[np.ix_(at, at)] = np.abs(model.direct_effects()[np.ix_(place, place)]) >= WEAKEST_EDGE
    return found


def count_arrows(models: Sequence[CausalModel], variables: Index) -> Index:
    """(m, m), ``[i, j]``: in how many models :func:`arrows_among` finds one of the j-th into the i-th."""
    m = variables.size
    slot = np.full(models[0].n_variables, m)  # whoever is not asked for shares one, which is thrown away
    slot[variables] = np.arange(m)
    counts = np.zeros((m + 1, m + 1), dtype=np.intp)
    for model in models:
        at = slot[model.order]
        counts[at[:, None], at] += np.abs(model.direct_effects()) >= WEAKEST_EDGE
    return counts[:m, :m]


def arrows_into_outcome(model: CausalModel, variables: Index) -> np.ndarray:
    """(m,) whether each of these variables has an arrow into the outcome."""
    found = np.zeros(variables.size, dtype=bool)
    at, place = _inside(model, variables)
    found[at] = np.abs(model.effects_on_outcome()[place]) >= model.attribution.notable
    return found


def _inside(model: CausalModel, variables: Index) -> tuple[Index, Index]:
    """Which of these variables are in the order, and at which places of it."""
    places = np.full(model.n_variables, -1)
    places[model.order] = np.arange(model.order.size)
    at = np.flatnonzero(places[variables] >= 0)
    return at, places[variables[at]]
