"""What the page knows of levels and of values that were not measured."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..method.model import CausalModel
from ..method.table import F64, Index

if TYPE_CHECKING:
    from ..explaining.explanation import Explanation


def level_facts(explanation: Explanation, variable: int) -> dict[str, Any]:
    """What kind of variable this is, its levels in words and as numbers, and whether it is on a log scale."""
    said = explanation.variables[variable]
    levels = explanation._cells.level_texts(variable)
    codes = said.values.tolist() if said.kind in ("binary", "ordinal") else []
    limits = [said.limits.said[0], said.limits.said[-1]] if said.limits.said else []
    return {"kind": said.kind, "levels": levels, "codes": codes, "log": said.log, "limits": limits}


def shown_data(explanation: Explanation, order: Index) -> F64:
    """(n, k) what was measured of the variables in causal order; of levels, their places among the levels."""
    data = explanation.listed.data[:, order]
    for place, variable in _with_levels(explanation, order):
        data[:, place] = explanation._cells.said(variable).places
    return data


def shown_quantiles(quantiles: F64, explanation: Explanation, causal: CausalModel) -> F64:
    """(101, k) quantiles of what :func:`shown_data` shows."""
    found = quantiles.copy()
    for place, variable in enumerate(causal.order):
        if explanation.variables[int(variable)].log:
            found[:, place] = explanation._cells.in_unit(int(variable), quantiles[:, place])
    for place, variable in _with_levels(explanation, causal.order):
        if np.isfinite(causal.scale[place]):  # those of several columns are places already
            found[:, place] = explanation._cells.places(variable, quantiles[:, place])
    return found


def not_measured(explanation: Explanation, order: Index) -> np.ndarray:
    """(n, k) 0 where a value was measured; else 1, plus the percent by which its level is the likeliest, or 1
    where a number lies below a limit of detection, and 2 where it lies above one.

    And 128 more where what it adds may be nothing.
    """
    marks = explanation.listed.imputed[:, order].astype(np.uint8)
    for place, variable in _with_levels(explanation, order):
        percent = np.nan_to_num(np.round(100 * explanation._cells.said(variable).shares))
        marks[:, place] *= (1 + percent).astype(np.uint8)
    of_variables = np.flatnonzero(order < len(explanation.variables))  # after them come sets
    sides = explanation.censored[:, order[of_variables]]
    marks[:, of_variables] += np.where(sides < 0, 1, 2 * sides).astype(np.uint8)
    marks[explanation.listed.open[:, order]] += 128
    return marks


def predictors_by_level(explanation: Explanation, causal: CausalModel, room: int) -> F64 | None:
    """(n, m) predictor with each level set: of all levels of the first variable that has any, then of the
    next. None where no variable has levels, or the page has no room for so many bytes.
    """
    having = [variable for _, variable in _with_levels(explanation, causal.order)]
    n_levels = sum(len(explanation.variables[variable].levels) for variable in having)
    if not having or len(explanation.values) * n_levels * 2 * 4 / 3 > room:
        return None
    cells = replace(explanation._cells, columns=explanation._columns)
    return np.concatenate([cells.with_each_level(causal, variable) for variable in having], axis=1)


def _with_levels(explanation: Explanation, order: Index) -> list[tuple[int, int]]:
    """Place in the causal order and number of each variable with levels."""
    variables = explanation.variables  # after them come sets, which have no levels
    return [(at, int(v)) for at, v in enumerate(order) if v < len(variables) and variables[int(v)].levels]
