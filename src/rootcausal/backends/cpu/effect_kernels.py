"""Compiled twin of :func:`rootcausal.method.attribution.ancestors.trace_back`, and of the regressions that it
asks for.

A small cohort asks for a few hundred sweeps over effects and columns, ten of each: as calls of NumPy they
take tens of times as long as their arithmetic.
"""

from __future__ import annotations

import math

import numpy as np

from ...method.attribution import ancestors as tracing
from ...method.attribution import susie
from ...method.attribution.ancestors import Traced, causes_of_a_column, least_squares
from ...method.attribution.susie import SingleEffects, Sparsity
from ...method.table import F64
from .compiler import compiled
from .power_of_two import FASTMATH


def fit_effects(curvature: F64, slope: F64, prior: Sparsity) -> SingleEffects:
    """:func:`rootcausal.method.attribution.susie.fit_effects`."""
    existence, tolerance = _limits(prior)
    return SingleEffects(
        *_fit(
            curvature,
            slope,
            existence,
            susie.FIRST_EFFECTS,
            prior.n_columns,
            prior.variance,
            tolerance,
            susie.MAX_CYCLES,
            susie.MAX_DOUBLINGS,
        )
    )


def trace_back(mixing: F64, n_rows: float, inclusion: F64, n_first: int) -> Traced:
    """:func:`rootcausal.method.attribution.ancestors.trace_back`."""
    prior = causes_of_a_column(len(mixing))
    existence, tolerance = _limits(prior)
    edges, not_ancestor = least_squares(mixing), 1.0 - inclusion
    settled = _trace(
        mixing @ mixing.T,
        mixing,
        float(n_rows),
        max(n_first, 1),
        tracing.NEGLIGIBLE,
        tracing.ROWS_OF_DOUBT,
        susie.FIRST_EFFECTS,
        existence,
        prior.variance,
        tolerance,
        susie.MAX_CYCLES,
        susie.MAX_DOUBLINGS,
        edges,
        not_ancestor,
    )
    return Traced(edges, 1.0 - not_ancestor, settled)


def _limits(prior: Sparsity) -> tuple[F64, float]:
    """Chances of all effects that doubling may lead to, and by how much a last cycle may move one."""
    existence = prior.existence(susie.FIRST_EFFECTS << susie.MAX_DOUBLINGS)
    return existence, susie.TOLERANCE * math.sqrt(prior.variance)


@compiled(fastmath=FASTMATH, nogil=True)
def _fit(
    curvature: F64,
    slope: F64,
    existence: F64,
    first_effects: int,
    n_columns: int,
    variance: float,
    tolerance: float,
    max_cycles: int,
    max_doublings: int,
) -> tuple[F64, F64, bool]:
    """Weight and size of the effects, and whether they settled."""
    k = slope.size
    n_effects = min(first_effects, k)
    weight, size = np.empty((n_effects, k)), np.zeros((n_effects, k))
    for e in range(n_effects):
        for column in range(k):
            weight[e, column] = existence[e] / n_columns
    for _ in range(max_doublings):
        settled = _cycle(
            curvature, slope, existence, n_columns, variance, weight, size, tolerance, max_cycles
        )
        if _is_enough(weight):
            return weight, size, settled
        weight, size = _with_room(weight, 2 * len(weight)), _with_room(size, 2 * len(size))
    return weight, size, False


@compiled(inner=True, nogil=True)
def _with_room(values: F64, n_effects: int) -> F64:
    """A copy, with so many rows."""
    roomy = np.zeros((n_effects, values.shape[1]))
    for e in range(len(values)):
        for column in range(values.shape[1]):
            roomy[e, column] = values[e, column]
    return roomy


@compiled(inner=True, nogil=True)
def _is_enough(weight: F64) -> bool:
    """Whether an effect is left over, or no column could want another."""
    n_effects, k = weight.shape
    for e in range(n_effects):
        if _placed(weight[e]) < 0.5:
            return True
    for column in range(k):
        without = 1.0
        for e in range(n_effects):
            without *= 1.0 - weight[e, column]
        if 1.0 - without < 0.5:
            return False
    return True


@compiled(inner=True, nogil=True)
def _placed(weight: F64) -> float:
    total = 0.0
    for column in range(weight.size):
        total += weight[column]
    return total


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def _cycle(
    curvature: F64,
    slope: F64,
    existence: F64,
    n_columns: int,
    variance: float,
    weight: F64,
    size: F64,
    tolerance: float,
    max_cycles: int,
) -> bool:
    """Cycle in place; whether the effects settled."""
    n_effects, k = weight.shape
    here, precision = np.empty(k), np.empty(k)
    for column in range(k):
        precision[column] = curvature[column, column] + 1.0 / variance
        here[column] = -0.5 * (math.log(variance) + math.log(precision[column]))
    place, nowhere = np.empty(n_effects), np.empty(n_effects)
    for e in range(n_effects):
        place[e] = math.log(existence[e] / n_columns)
        nowhere[e] = math.log1p(-existence[e] * k / n_columns)
    own, coef, left_over = np.zeros((n_effects, k)), np.zeros(k), np.empty(k)
    for column in range(k):
        left_over[column] = slope[column]
    for e in range(n_effects):
        for column in range(k):
            expected = weight[e, column] * size[e, column]
            coef[column] += expected
            _add_row(own[e], expected, curvature[column])
        for column in range(k):
            left_over[column] -= own[e, column]
    mine, mean, odds = np.empty(k), np.empty(k), np.empty(k)
    for _ in range(max_cycles):
        for e in range(n_effects):
            top = nowhere[e]
            for column in range(k):
                left = left_over[column] + own[e, column]
                mean[column] = left / precision[column]
                # The logarithm of prior probability times Bayes factor.
                odds[column] = place[e] + here[column] + 0.5 * mean[column] * left
                top = max(top, odds[column])
            total = math.exp(nowhere[e] - top)
            for column in range(k):
                odds[column] = math.exp(odds[column] - top)
                total += odds[column]
            for column in range(k):
                mine[column] = 0.0
            for column in range(k):
                weight[e, column] = odds[column] / total
                size[e, column] = mean[column]
                _add_row(mine, weight[e, column] * mean[column], curvature[column])
            for column in range(k):
                left_over[column] += own[e, column] - mine[column]
                own[e, column] = mine[column]
        largest = 0.0
        for column in range(k):
            now = 0.0
            for e in range(n_effects):
                now += weight[e, column] * size[e, column]
            largest = max(largest, abs(now - coef[column]))
            coef[column] = now
        if largest <= tolerance:
            return True
    return False


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def _add_row(to: F64, times: float, row: F64) -> None:
    if times != 0.0:
        for column in range(row.size):
            to[column] += times * row[column]


@compiled(nogil=True)
def _trace(
    correlation: F64,
    mixing: F64,
    n_rows: float,
    first: int,
    negligible: float,
    rows_of_doubt: float,
    first_effects: int,
    existence: F64,
    variance: float,
    tolerance: float,
    max_cycles: int,
    max_doublings: int,
    edges: F64,
    not_ancestor: F64,
) -> bool:
    """Overwrite edges, and pass probabilities on, in place; whether every regression settled."""
    k = not_ancestor.size
    all_settled, trust = True, n_rows / (n_rows + rows_of_doubt)
    for effect in range(k - 1, first - 1, -1):
        here = 1.0 - not_ancestor[effect]
        if here < negligible:
            continue
        residual = mixing[effect, effect] ** 2 * n_rows / max(n_rows - effect - 1, 1.0)
        sure = (n_rows - 1.0) / min(residual, 1.0)
        curvature, slope = np.empty((effect, effect)), np.empty(effect)
        for cause in range(effect):
            slope[cause] = sure * correlation[effect, cause]
            for other in range(effect):
                curvature[cause, other] = sure * correlation[cause, other]
        weight, size, settled = _fit(
            curvature, slope, existence, first_effects, k, variance, tolerance, max_cycles, max_doublings
        )
        all_settled = all_settled and settled
        for cause in range(effect):
            coef = 0.0
            for e in range(len(weight)):
                coef += weight[e, cause] * size[e, cause]
            edges[effect, cause] = coef
        _make_clear(curvature, existence, k, variance, weight, size)
        for cause in range(effect):
            without = 1.0
            for e in range(len(weight)):
                without *= 1.0 - weight[e, cause]
            not_ancestor[cause] *= 1.0 - here * trust * (1.0 - without)
    return all_settled


@compiled(inner=True, nogil=True)
def _make_clear(
    curvature: F64, existence: F64, n_columns: int, variance: float, weight: F64, size: F64
) -> None:
    """Weights become those of :meth:`rootcausal.method.attribution.susie.SingleEffects.clear`."""
    n_effects, k = weight.shape
    scale = variance / 3.0
    for e in range(n_effects):
        place, nowhere = math.log(existence[e] / n_columns), math.log1p(-existence[e] * k / n_columns)
        top = nowhere
        for column in range(k):
            own = curvature[column, column]
            spread, left = 1.0 / (own + 1.0 / scale), size[e, column] * (own + 1.0 / variance)
            weight[e, column] = place + 0.5 * (math.log(spread / scale) + spread * left * left)
            top = max(top, weight[e, column])
        total = math.exp(nowhere - top)
        for column in range(k):
            own = curvature[column, column]
            spread, left = 1.0 / (own + 1.0 / scale), size[e, column] * (own + 1.0 / variance)
            at = spread * left
            weight[e, column] = math.exp(weight[e, column] - top) * (at * at + spread) / scale
            total += weight[e, column]
        for column in range(k):
            weight[e, column] /= total
