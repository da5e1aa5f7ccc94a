"""What the page knows of variables: names, units, digits, and what is expected of a patient's own values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..method.model import CausalModel
from ..method.table import F64
from ..outcomes import Words
from .level_view import level_facts, shown_quantiles
from .outcome_view import effect_ends

if TYPE_CHECKING:
    from ..estimators.base import Estimator
    from ..explaining.explanation import Explanation
    from ..resampling.bootstrap import Bootstrap

# Rows looked at for how many digits were written down, and the most digits of a measurement.
ROWS_FOR_DIGITS = 2000
MOST_DIGITS = 6
# A share of the usual spread that is worth a digit.
SHARE_WORTH_A_DIGIT = 0.1


def variable_facts(
    model: Estimator, explanation: Explanation, units: Mapping[str, str], words: Words
) -> list[dict[str, Any]]:
    """The variables in causal order; one of several columns has no unit to count in.

    ``sd`` is of the logarithm where a variable is on a log scale, and so is ``own``: by how much one standard
    deviation of its own shock moves it. ``digits`` are behind the point: those ``given``, those ``recorded``
    in the table, and those that the ``spread`` of the cohort is worth. ``dropped`` is the share of resamples
    in which it is no cause at all. Of a variable that is ``first`` nothing is expected from others: no
    measurement acts on it, and no covariate was regressed out.
    """
    causal, ancestor = model._model, model.ancestor_probability_
    unit_effects, scale, ends = causal.unit_effects, causal.scale, effect_ends(words, model)
    own, dropped = scale * np.diagonal(causal.total_effects()), dropped_shares(model.bootstrap_, causal)
    spreads = _spreads(model, explanation)
    unmoved = (causal.direct_effects() == 0.0).all(axis=1) & (causal.covariates.size == 0)
    return [
        {
            "name": (variable := explanation.variables[column]).shown,
            "column": variable.name,
            "unit": units.get(variable.name, variable.unit),
            "digits": {
                "given": variable.digits,
                "recorded": _recorded_digits(explanation, int(column)),
                "spread": _digits_worth(spreads[place]),
            },
            "coef": float(unit_effects[place]),
            "coef_interval": None if ends is None else ends[place],
            "sd": _or_none(scale[place]),
            "own": _or_none(own[place]),
            "ancestor": None if ancestor is None else float(ancestor[column]),
            "dropped": None if dropped is None else float(dropped[place]),
            "members": [],
            "first": bool(unmoved[place]),
            **level_facts(explanation, int(column)),
        }
        for place, column in enumerate(causal.order)
    ]


def _or_none(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def dropped_shares(resamples: Bootstrap | None, causal: CausalModel) -> F64 | None:
    """(v,) share of resamples in which a shock on each variable of the order adds nothing, to anybody."""
    if resamples is None:
        return None
    return 1.0 - np.mean([acting(model) for model in resamples.models], axis=0)[causal.order]


def acting(model: CausalModel) -> np.ndarray:
    """(p,) the variables on which a shock adds something, to anybody."""
    acts = np.zeros(model.n_variables, dtype=bool)
    acts[model.order] = model.importance() > 0
    return acts


def expected_values(explanation: Explanation, causal: CausalModel) -> F64 | None:
    """(n, v + s) what is expected of each variable of the order from a patient's others, in its own unit.

    That is its value without its own shock. None where a shock of so many standard deviations moves every
    patient by the same amount: the page then counts it out itself. NaN for variables of several columns,
    and for sets of variables that are read as one.
    """
    if causal.mechanism.kind == "linear":
        return None
    X, cells = explanation._columns, explanation._cells
    expected = np.full((len(X), causal.order.size + len(explanation.sets)), np.nan)
    for place, variable in enumerate(causal.order):
        if np.isfinite(causal.scale[place]):
            column = cells.layout.columns_of(variable)[0] if cells.layout is not None else variable
            values = causal.with_shock(X, int(variable), 0.0)[1][:, column]
            expected[:, place] = cells.in_unit(int(variable), values)
    return expected


def _spreads(model: Estimator, explanation: Explanation) -> F64:
    """(v,) half the stretch that holds the middle two thirds of the cohort: like a standard deviation."""
    if model._quantiles is None:
        data = explanation.data[:, model._model.order]
        low, high = np.nanquantile(data, (0.16, 0.84), axis=0)
    else:
        low, high = shown_quantiles(model._quantiles.values, explanation, model._model)[[16, 84]]
    spread: F64 = (high - low) / 2.0
    return spread


def _digits_worth(spread: float) -> int:
    if not spread > 0 or not math.isfinite(spread):
        return 0
    return min(max(0, math.ceil(-math.log10(spread * SHARE_WORTH_A_DIGIT) - 1e-9)), MOST_DIGITS)


def _recorded_digits(explanation: Explanation, column: int) -> int:
    """How many digits behind the point the measurements of these patients have."""
    values = explanation.data[:ROWS_FOR_DIGITS, column]
    values = values[~explanation.imputed[:ROWS_FOR_DIGITS, column] & np.isfinite(values)]
    for digits in range(MOST_DIGITS):
        if np.allclose(np.round(values, digits), values, rtol=1e-9, atol=1e-9):
            return digits
    return MOST_DIGITS
