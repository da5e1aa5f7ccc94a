"""What the page knows of variables that are read as one: each set is one more entry after the variables.

Members stay entries, since the graph is about them; what they add is the set's, so that no list has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..method.confounded_sets import Merged
from ..method.model import CausalModel
from ..method.quantiles import quantiles_of
from ..method.table import F64, Index
from ..resampling.intervals import interval
from .variable_view import acting

if TYPE_CHECKING:
    from ..estimators.base import Estimator
    from ..explaining.explanation import Explanation


def places_shown(explanation: Explanation, causal: CausalModel) -> Index:
    """(k + s,) places in what an explanation lists: variables in causal order, then sets."""
    p = len(explanation.variables)
    return np.concatenate([causal.order, p + np.arange(len(explanation.sets), dtype=np.intp)])


def set_facts(model: Estimator, explanation: Explanation) -> list[dict[str, Any]]:
    """Of each set what is told of variables; ``members`` are its places among these.

    High and low have no meaning for it, as for a variable whose levels have no order.
    """
    places = {int(variable): place for place, variable in enumerate(model.causal_order_)}
    ancestor = model.ancestor_probability_
    dropped = _dropped_shares(model)
    effects, ends = Merged(model._model, model.merged_sets_).unit_effects(), _effect_intervals(model)
    return [
        {
            "name": one.shown,
            "column": one.name,
            "unit": "",
            "digits": {"given": None, "recorded": 0, "spread": 0},
            "coef": float(effects[s]),
            "coef_interval": None if ends is None else ends[:, s].tolist(),
            "sd": None,
            "own": None,
            "ancestor": None if ancestor is None else float(1.0 - np.prod(1.0 - ancestor[list(one.places)])),
            "dropped": None if dropped is None else float(dropped[s]),
            "members": [places[member] for member in one.places],
            "first": False,
            "kind": "nominal",
            "levels": [],
            "codes": [],
            "log": False,
            "limits": [],
        }
        for s, one in enumerate(explanation.sets)
    ]


def _effect_intervals(model: Estimator) -> F64 | None:
    if model.bootstrap_ is None or not model.merged_sets_:
        return None
    sets = model.merged_sets_
    draws = np.stack([Merged(one, sets).unit_effects() for one in model.bootstrap_.models])
    return interval(draws)


def _dropped_shares(model: Estimator) -> F64 | None:
    """(s,) share of resamples in which no member of each set adds anything, to anybody."""
    if model.bootstrap_ is None:
        return None
    acts = [acting(one) for one in model.bootstrap_.models]
    return 1.0 - np.array([np.mean([one[list(some)].any() for one in acts]) for some in model.merged_sets_])


def set_quantiles(model: Estimator, explanation: Explanation) -> F64:
    """(101, s) of the sets' shocks: in the cohort of the fit or, without that, among these patients."""
    if model._set_quantiles is not None:
        return model._set_quantiles
    return quantiles_of(explanation.listed.errors[:, len(explanation.variables) :])


def set_notes(model: Estimator) -> list[str]:
    """What was looked for, and what is read as one."""
    merged = model.provenance_.get("merged")
    if merged is None:
        return []
    if not merged["sets"]:
        return ["No variables are read as one: no errors of variables that an arrow joins stayed dependent."]
    called = model._encoding.shown_names
    return [
        f"Read as one: {' + '.join(called[member] for member in some)}. Their errors depend on each other, "
        "and neither a bend nor a column that was measured explains it: something unmeasured may move them, "
        "or their order is not sure."
        for some in model.merged_sets_
    ]
