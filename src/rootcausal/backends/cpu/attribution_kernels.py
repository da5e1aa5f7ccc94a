"""The attribution in compiled loops: logistic loss, spike-and-slab regression, the way back to ancestors."""

from __future__ import annotations

import math

import numpy as np

from ...method.attribution import ancestors as susie
from ...method.attribution import ancestors as tracing
from ...method.attribution import spike_slab
from ...method.attribution.ancestors import SingleEffects, Sparsity, Traced, causes_of_a_column, least_squares
from ...method.attribution.spike_slab import SMALLEST, Posterior, Prior
from ...method.table import F64, Index, LossSums
from .compiler import FASTMATH, compiled

# The logistic log-likelihood of labels, with its derivatives, in one compiled pass over the rows.

# With more columns, a product of matrices is faster.
MOST_COLUMNS_A_LOOP = 40
# Rows whose columns stay in cache, for products of columns and for products of matrices.
ROWS_A_LOOP = 256
ROWS_A_PRODUCT = 1024


def logit_sums(Z: F64, y: np.ndarray, cols: Index, beta: F64) -> LossSums:
    """Of labels y (n,) in the columns Z (m, n) at ``cols`` (k,); the intercept is last in beta."""
    n, k = Z.shape[1], cols.size
    gradient, hessian = np.zeros(k + 1), np.zeros((k + 1, k + 1))
    if k <= MOST_COLUMNS_A_LOOP:
        return LossSums(_loop(Z, y, cols, beta, gradient, hessian), gradient, hessian)
    loglik = 0.0
    weighted = np.empty((k + 1, ROWS_A_PRODUCT))
    for first in range(0, n, ROWS_A_PRODUCT):
        last = min(first + ROWS_A_PRODUCT, n)
        loglik += _rows(Z, y, cols, beta, first, last, gradient, weighted)
        part = weighted[:, : last - first]
        # Of a matrix and itself, BLAS makes only half of the product.
        hessian += part @ part.T
    return LossSums(loglik, gradient, hessian)


@compiled(fastmath=FASTMATH, nogil=True)
def _loop(Z: F64, y: np.ndarray, cols: Index, beta: F64, gradient: F64, hessian: F64) -> float:
    """The log-likelihood of all rows; its derivatives are written to gradient and hessian, zero before."""
    n, k = Z.shape[1], cols.size
    loglik = 0.0
    weighted = np.empty((k + 1, ROWS_A_LOOP))
    for first in range(0, n, ROWS_A_LOOP):
        last = min(first + ROWS_A_LOOP, n)
        loglik += _rows(Z, y, cols, beta, first, last, gradient, weighted)
        for a in range(k + 1):
            for b in range(a + 1):
                hessian[a, b] += _dot(weighted[a, : last - first], weighted[b, : last - first])
    for a in range(k + 1):
        for b in range(a):
            hessian[b, a] = hessian[a, b]
    return loglik


@compiled(fastmath=FASTMATH, nogil=True)
def _rows(
    Z: F64, y: np.ndarray, cols: Index, beta: F64, first: int, last: int, gradient: F64, weighted: F64
) -> float:
    """Log-likelihood of the rows first..last−1; adds to the gradient.

    ``weighted`` (k + 1, m) gets their columns, and ones, times the root of each row's curvature.
    """
    k, size = cols.size, last - first
    predictor, residual, root = np.empty(size), np.empty(size), weighted[k]
    for row in range(size):
        predictor[row] = beta[k]
    for a in range(k):
        z = Z[cols[a], first:last]
        for row in range(size):
            predictor[row] += beta[a] * z[row]
    for row in range(size):
        eta = predictor[row]
        small = math.exp(-abs(eta))
        chance = (1.0 if eta >= 0.0 else small) / (1.0 + small)
        is_case = y[first + row] == 1
        residual[row] = (1.0 if is_case else 0.0) - chance
        # As the plain twin has it: where a risk is certain to the last digit, nothing of it is left.
        root[row] = math.sqrt(chance * (1.0 - chance))
        predictor[row] = min(eta if is_case else -eta, 0.0) - math.log1p(small)
    gradient[k] += _total(residual)
    for a in range(k):
        z = Z[cols[a], first:last]
        gradient[a] += _dot(residual, z)
        for row in range(size):
            weighted[a, row] = root[row] * z[row]
    # Not term by term above: the rounding of many equal terms would pile up.
    return _total(predictor)


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def _dot(a: F64, b: F64) -> float:
    total = 0.0
    for row in range(a.size):
        total += a[row] * b[row]
    return total


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def _total(a: F64) -> float:
    total = 0.0
    for row in range(a.size):
        total += a[row]
    return total


# Compiled twin of :func:`rootcausal.method.attribution.spike_slab.infer`.
#
# A small cohort asks for a few hundred updates of one coefficient: as calls of NumPy they take tens of
# times as long as their arithmetic. Sums are in the order that is written: these loops store and add up at
# once, which a compiler that may reassociate does otherwise in every process, and the same resample then
# differs in its last digit.

NO_ODDS = -700.0


def infer(
    curvature: F64,
    slope: F64,
    prior: Prior,
    start: Posterior,
    learns: bool = True,
    most: int = spike_slab.MAX_SWEEPS,
) -> Posterior:
    """:func:`rootcausal.method.attribution.spike_slab.infer`."""
    precision, shift = start.precision.copy(), start.shift.copy()
    mean, inclusion, share, scale, spike, at_rest = _sweep(
        curvature,
        slope,
        prior.certain | prior.barred,
        max(prior.n_columns, int((~(prior.certain | prior.barred)).sum())),
        learns,
        precision,
        shift,
        (start.share, start.scale, start.spike),
        (prior.share, prior.scale),
        (spike_slab.COLUMNS_WORTH, spike_slab.EFFECTS_WORTH, spike_slab.NOTHING_WORTH),
        (
            spike_slab.LEAST_SHARE,
            spike_slab.NARROWEST_SPIKE,
            spike_slab.WIDEST_SPIKE,
            spike_slab.LARGEST_SLAB,
        ),
        spike_slab.LEAST_VARIANCE,
        (spike_slab.TOLERANCE * math.sqrt(prior.variance), spike_slab.LEARNED_TOLERANCE),
        (most, spike_slab.SWEEPS_A_STEP, spike_slab.SWEEPS_A_COVARIANCE),
    )
    inclusion[prior.certain], inclusion[prior.barred] = 1.0, 0.0
    return Posterior(mean, inclusion, precision, shift, share, scale, spike, at_rest)


@compiled(nogil=True)
def _sweep(
    curvature: F64,
    slope: F64,
    settled: np.ndarray,
    n_columns: int,
    learns: bool,
    precision: F64,
    shift: F64,
    start: tuple[float, float, float],
    before: tuple[float, float],
    worth: tuple[float, float, float],
    limits: tuple[float, float, float, float],
    least: float,
    tolerance: tuple[float, float],
    sweeps: tuple[int, int, int],
) -> tuple[F64, F64, float, float, float, bool]:
    """Mean, inclusion, share, scale, spike, and whether it settled; the sites in place."""
    k = slope.size
    mean, inclusion, covariance = np.zeros(k), np.ones(k), np.empty((k, k))
    share, scale, spike = start
    for sweep in range(sweeps[0]):
        if sweep % sweeps[2] == 0:
            _invert(curvature, precision, covariance)
            for j in range(k):
                mean[j] = 0.0
                for i in range(k):
                    mean[j] += covariance[j, i] * (slope[i] + shift[i])
        step = 1.0 / (1 + sweep // sweeps[1])
        moved = acting = square = left = sure = free = 0.0
        for j in range(k):
            if settled[j]:
                continue
            own, middle = covariance[j, j], mean[j]
            cavity, pull = 1.0 / own - precision[j], middle / own - shift[j]
            inclusion[j], second, small, mean_j, variance_j = _matched(
                cavity, pull, share, scale, spike, least
            )
            moved = max(moved, abs(mean_j - middle))
            acting, square, free = acting + inclusion[j], square + inclusion[j] * second, free + 1.0
            left, sure = left + (1.0 - inclusion[j]) * small, sure + cavity
            new = max(1.0 / variance_j - cavity, 1.0 / scale)
            add = step * (new - precision[j])
            push = step * (mean_j * (new + cavity) - pull - shift[j])
            precision[j] += add
            shift[j] += push
            _update(covariance, mean, j, add, push - add * middle)
        share_before, scale_before = share, scale
        if learns:
            share = (acting + worth[0] * before[0]) / (n_columns + worth[0])
            share = min(max(share, limits[0]), 1.0 - limits[0])
            scale = (square + worth[1] * 3.0 * before[1]) / (3.0 * (acting + worth[1]))
            scale = min(scale, limits[3] * before[1])
            spike = left / (n_columns - acting + worth[2])
            spike = max(min(spike, limits[2] * scale, free / max(sure, SMALLEST)), limits[1] * scale)
        if (
            moved <= tolerance[0]
            and abs(share - share_before) <= tolerance[1]
            and abs(scale - scale_before) <= tolerance[1] * scale
        ):
            return mean, inclusion, share, scale, spike, True
    return mean, inclusion, share, scale, spike, False


@compiled(inner=True, nogil=True)
def _matched(
    cavity: float, pull: float, share: float, scale: float, spike: float, least: float
) -> tuple[float, float, float, float, float]:
    cavity = max(cavity, 0.0)
    near, narrow = pull / (cavity + 1.0 / spike), 1.0 / (cavity + 1.0 / spike)
    at, spread = pull / (cavity + 1.0 / scale), 1.0 / (cavity + 1.0 / scale)
    square = at * at + spread
    log_odds = math.log(share / (1.0 - share)) + math.log(square / scale)
    log_odds += 0.5 * (math.log(spread / scale) - math.log(narrow / spike) + (at - near) * pull)
    inclusion = 1.0 / (1.0 + math.exp(-log_odds)) if log_odds > NO_ODDS else 0.0
    first = at * (at * at + 3.0 * spread) / square
    second = (at**4 + 6.0 * at * at * spread + 3.0 * spread * spread) / square
    small = near * near + narrow
    mean = inclusion * first + (1.0 - inclusion) * near
    variance = inclusion * second + (1.0 - inclusion) * small - mean * mean
    return inclusion, second, small, mean, max(variance, least * spread)


@compiled(inner=True, nogil=True)
def _update(covariance: F64, mean: F64, j: int, add: float, push: float) -> None:
    """What a change of one site does to all coefficients: a rank-one update."""
    k = mean.size
    column, inside = covariance[j].copy(), 1.0 + add * covariance[j, j]
    for i in range(k):
        mean[i] += push / inside * column[i]
        times = add / inside * column[i]
        for other in range(k):
            covariance[i, other] -= times * column[other]


@compiled(inner=True, nogil=True)
def _invert(curvature: F64, precision: F64, out: F64) -> None:
    """The inverse of the curvature with these precisions on its diagonal, by Gauss and Jordan."""
    k = precision.size
    for i in range(k):
        for j in range(k):
            out[i, j] = curvature[i, j]
        out[i, i] += precision[i]
    for p in range(k):
        pivot = 1.0 / out[p, p]
        out[p, p] = 1.0
        for j in range(k):
            out[p, j] *= pivot
        for i in range(k):
            if i != p:
                times = out[i, p]
                out[i, p] = 0.0
                for j in range(k):
                    out[i, j] -= times * out[p, j]


# Compiled twin of :func:`rootcausal.method.attribution.ancestors.trace_back`, and of the regressions that
# it asks for.
#
# A small cohort asks for a few hundred sweeps over effects and columns, ten of each: as calls of NumPy they
# take tens of times as long as their arithmetic.


def fit_effects(curvature: F64, slope: F64, prior: Sparsity) -> SingleEffects:
    """:func:`rootcausal.method.attribution.ancestors.fit_effects`."""
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
    """Weights become those of :meth:`rootcausal.method.attribution.ancestors.SingleEffects.clear`."""
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
