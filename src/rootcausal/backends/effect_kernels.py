"""Compiled twins of the loops of the sharp attribution (:mod:`rootcausal.core.loops`).

A small cohort asks for a few hundred sweeps over effects and columns, ten of each: as calls of NumPy they
take tens of times as long as their arithmetic.
"""

from __future__ import annotations

import math

import numpy as np

from ..core import susie, tracing
from ..core.susie import SMALLEST, SingleEffects, Sparsity, prior_effects
from ..core.table import F64
from ..core.tracing import Traced, causes_of_a_column
from .compiled import compiled
from .power_of_two import FASTMATH


def fit_effects(
    curvature: F64, slope: F64, prior: Sparsity, start: SingleEffects | None = None, damping: float = 0.0
) -> SingleEffects:
    """:func:`rootcausal.core.susie.fit_effects`."""
    start = prior_effects(len(slope), prior) if start is None else start
    existence, tolerance = _limits(prior, len(start.weight))
    return SingleEffects(
        *_fit(
            curvature,
            slope,
            existence,
            prior.n_columns,
            prior.variance,
            start.weight,
            start.size,
            start.precision,
            damping,
            tolerance,
            susie.MAX_CYCLES,
            susie.MAX_DOUBLINGS,
        )
    )


def spared(before: SingleEffects, after: SingleEffects, curvature: F64, prior: Sparsity) -> float:
    """:func:`rootcausal.core.susie.spared`."""
    return _spared(
        curvature,
        prior.existence(len(after.weight)),
        prior.n_columns,
        prior.variance,
        before.weight,
        before.size,
        before.precision,
        after.weight,
        after.size,
        after.precision,
    )


def trace_back(mixing: F64, n_rows: float, direct: SingleEffects, n_first: int) -> Traced:
    """:func:`rootcausal.core.tracing.trace_back`."""
    prior = causes_of_a_column(len(mixing))
    existence, tolerance = _limits(prior, susie.FIRST_EFFECTS)
    total, not_ancestor = direct.coef.copy(), 1.0 - direct.inclusion
    settled = _trace(
        mixing @ mixing.T,
        mixing,
        float(n_rows),
        max(n_first, 1),
        tracing.NEGLIGIBLE,
        susie.FIRST_EFFECTS,
        existence,
        prior.variance,
        tolerance,
        susie.MAX_CYCLES,
        susie.MAX_DOUBLINGS,
        total,
        not_ancestor,
    )
    return Traced(total, 1.0 - not_ancestor, settled)


def _limits(prior: Sparsity, n_effects: int) -> tuple[F64, float]:
    """Chances of all effects that doubling may lead to, and by how much a last cycle may move one."""
    existence = prior.existence(n_effects << susie.MAX_DOUBLINGS)
    return existence, susie.TOLERANCE * math.sqrt(prior.variance)


@compiled(fastmath=FASTMATH, nogil=True)
def _fit(
    curvature: F64,
    slope: F64,
    existence: F64,
    n_columns: int,
    variance: float,
    weight: F64,
    size: F64,
    precision: F64,
    damping: float,
    tolerance: float,
    max_cycles: int,
    max_doublings: int,
) -> tuple[F64, F64, F64, bool]:
    """Weight, size and precision of the effects, and whether they settled; from where to begin."""
    anchor_weight, anchor_size, anchor_precision = weight, size, precision
    weight, size = _with_room(weight, len(weight), 0.0), _with_room(size, len(size), 0.0)
    for _ in range(max_doublings):
        precision, settled = _cycle(
            curvature,
            slope,
            existence,
            n_columns,
            variance,
            weight,
            size,
            anchor_weight,
            anchor_size,
            anchor_precision,
            damping,
            tolerance,
            max_cycles,
        )
        if _is_enough(weight):
            return weight, size, precision, settled
        n_effects = 2 * len(weight)
        weight, size = _with_room(weight, n_effects, 0.0), _with_room(size, n_effects, 0.0)
        precision = _with_room(precision, n_effects, 1.0)
        anchor_weight = _with_room(anchor_weight, n_effects, 0.0)
        anchor_size = _with_room(anchor_size, n_effects, 0.0)
        anchor_precision = _with_room(anchor_precision, n_effects, 1.0)
    return weight, size, precision, False


@compiled(nogil=True)
def _with_room(values: F64, n_effects: int, added: float) -> F64:
    """A copy, with so many rows."""
    roomy = np.empty((n_effects, values.shape[1]))
    for e in range(n_effects):
        for column in range(values.shape[1]):
            roomy[e, column] = values[e, column] if e < len(values) else added
    return roomy


@compiled(nogil=True)
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


@compiled(nogil=True)
def _placed(weight: F64) -> float:
    total = 0.0
    for column in range(weight.size):
        total += weight[column]
    return total


@compiled(fastmath=FASTMATH, nogil=True)
def _cycle(
    curvature: F64,
    slope: F64,
    existence: F64,
    n_columns: int,
    variance: float,
    weight: F64,
    size: F64,
    anchor_weight: F64,
    anchor_size: F64,
    anchor_precision: F64,
    damping: float,
    tolerance: float,
    max_cycles: int,
) -> tuple[F64, bool]:
    """Cycle in place; the precision of the effects, and whether they settled."""
    n_effects, k = weight.shape
    free = 1.0 / (1.0 + damping)
    held = 1.0 - free
    place, precision, pull = np.empty((n_effects, k)), np.empty((n_effects, k)), np.zeros((n_effects, k))
    nowhere = np.empty(n_effects)
    for e in range(n_effects):
        here = math.log(existence[e] / n_columns) - 0.5 * math.log(variance)
        nowhere[e] = math.log1p(-existence[e] * k / n_columns)
        for column in range(k):
            precision[e, column] = curvature[column, column] + 1.0 / variance
            place[e, column] = here
        if damping > 0.0:
            nowhere[e] = free * nowhere[e] + held * math.log(max(1.0 - _placed(anchor_weight[e]), SMALLEST))
            for column in range(k):
                before, middle = anchor_precision[e, column], anchor_size[e, column]
                likely = math.log(max(anchor_weight[e, column], SMALLEST) * math.sqrt(before))
                pull[e, column] = held * before * middle
                place[e, column] = free * here + held * (likely - 0.5 * before * middle * middle)
                precision[e, column] = free * precision[e, column] + held * before
        for column in range(k):
            place[e, column] -= 0.5 * math.log(precision[e, column])
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
                left = free * (left_over[column] + own[e, column]) + pull[e, column]
                mean[column] = left / precision[e, column]
                # Undamped: the logarithm of prior probability times Bayes factor.
                odds[column] = place[e, column] + 0.5 * mean[column] * left
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
            return precision, True
    return precision, False


@compiled(fastmath=FASTMATH, nogil=True)
def _add_row(to: F64, times: float, row: F64) -> None:
    if times != 0.0:
        for column in range(row.size):
            to[column] += times * row[column]


@compiled(nogil=True)
def _spared(
    curvature: F64,
    existence: F64,
    n_columns: int,
    variance: float,
    weight_before: F64,
    size_before: F64,
    precision_before: F64,
    weight: F64,
    size: F64,
    precision: F64,
) -> float:
    before = _cost(curvature, existence, n_columns, variance, weight_before, size_before, precision_before)
    return before - _cost(curvature, existence, n_columns, variance, weight, size, precision)


@compiled(fastmath=FASTMATH, nogil=True)
def _cost(
    curvature: F64,
    existence: F64,
    n_columns: int,
    variance: float,
    weight: F64,
    size: F64,
    precision: F64,
) -> float:
    n_effects, k = weight.shape
    spread = divergence = 0.0
    along = np.empty(k)
    for e in range(n_effects):
        place = math.log(existence[e] / n_columns)
        for column in range(k):
            along[column] = 0.0
        placed = 0.0
        for column in range(k):
            here, middle, sure = weight[e, column], size[e, column], precision[e, column]
            placed += here
            if here == 0.0:
                continue
            second = 1.0 / sure + middle * middle
            spread += here * second * curvature[column, column]
            of_size = 0.5 * (math.log(sure * variance) + second / variance - 1.0)
            divergence += here * (math.log(max(here, SMALLEST)) - place + of_size)
            _add_row(along, here * middle, curvature[column])
        for column in range(k):
            spread -= along[column] * weight[e, column] * size[e, column]
        nowhere = max(1.0 - placed, SMALLEST)
        divergence += nowhere * (math.log(nowhere) - math.log1p(-existence[e] * k / n_columns))
    return 0.5 * spread + divergence


@compiled(nogil=True)
def _trace(
    correlation: F64,
    mixing: F64,
    n_rows: float,
    first: int,
    negligible: float,
    first_effects: int,
    existence: F64,
    variance: float,
    tolerance: float,
    max_cycles: int,
    max_doublings: int,
    total: F64,
    not_ancestor: F64,
) -> bool:
    """Pass effects and probabilities on in place; whether every regression settled."""
    k = total.size
    all_settled = True
    for effect in range(k - 1, first - 1, -1):
        here = 1.0 - not_ancestor[effect]
        if here < negligible:
            continue
        residual = mixing[effect, effect] ** 2 * n_rows / max(n_rows - effect - 1, 1.0)
        sure = (n_rows - 1.0) / min(residual, 1.0)
        n_effects = min(first_effects, effect)
        curvature, slope = np.empty((effect, effect)), np.empty(effect)
        for cause in range(effect):
            slope[cause] = sure * correlation[effect, cause]
            for other in range(effect):
                curvature[cause, other] = sure * correlation[cause, other]
        weight, size = np.empty((n_effects, effect)), np.zeros((n_effects, effect))
        precision = np.empty((n_effects, effect))
        for e in range(n_effects):
            for cause in range(effect):
                weight[e, cause], precision[e, cause] = existence[e] / k, 1.0 / variance
        weight, size, _, settled = _fit(
            curvature,
            slope,
            existence,
            k,
            variance,
            weight,
            size,
            precision,
            0.0,
            tolerance,
            max_cycles,
            max_doublings,
        )
        all_settled = all_settled and settled
        for cause in range(effect):
            coef, without = 0.0, 1.0
            for e in range(len(weight)):
                coef += weight[e, cause] * size[e, cause]
                without *= 1.0 - weight[e, cause]
            total[cause] += total[effect] * coef
            not_ancestor[cause] *= 1.0 - here * (1.0 - without)
    return all_settled
