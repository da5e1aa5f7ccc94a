"""Compiled twin of :func:`rootcausal.method.attribution.spike_slab.infer`.

A small cohort asks for a few hundred updates of one coefficient: as calls of NumPy they take tens of times as
long as their arithmetic.
Sums are in the order that is written: these loops store and add up at once, which a compiler that may
reassociate does otherwise in every process, and the same resample then differs in its last digit.
"""

from __future__ import annotations

import math

import numpy as np

from ...method.attribution import spike_slab
from ...method.attribution.spike_slab import SMALLEST, Posterior, Prior
from ...method.table import F64
from .compiler import compiled

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
