"""Errors pushed through nonlinear mechanisms to the predictor, many at a time, in compiled loops.

All that is done is done to rows of LANES numbers, by the same instructions whatever they are: patients, or
people whose errors were drawn. So processors do several at once (SIMD), and what comes out for one does not
depend on who is beside them.
"""

from __future__ import annotations

import math

import numpy as np

from ..backends.cpu.compiler import compiled
from ..backends.cpu.power_of_two import LOG2_E, power_of_two
from ..method.table import F64, Index
from .compiled_mechanism import CompiledMechanism
from .coalitions import LANES

# Multiply-adds may be fused; sums stay in order.
FUSED = {"contract", "nsz"}
# Beyond this, powers of two are as good as zero, or infinite.
FARTHEST_POWER = 1000.0


@compiled(nogil=True, fastmath=FUSED)
def add_curve(
    curve: F64, is_line: bool, knots: F64, lowest: float, highest: float, z: F64, out: F64
) -> None:
    """Add to ``out`` the values of a curve at ``z``, which goes no further than its lowest and highest."""
    a0, b0, c0, d0 = curve[0, 0], curve[0, 1], curve[0, 2], curve[0, 3]
    if is_line:
        for lane in range(LANES):
            out[lane] += a0 + b0 * min(max(z[lane], lowest), highest)
        return
    a1, b1, c1, d1 = curve[1, 0], curve[1, 1], curve[1, 2], curve[1, 3]
    a2, b2, c2, d2 = curve[2, 0], curve[2, 1], curve[2, 2], curve[2, 3]
    a3, b3, c3, d3 = curve[3, 0], curve[3, 1], curve[3, 2], curve[3, 3]
    a4, b4, c4, d4 = curve[4, 0], curve[4, 1], curve[4, 2], curve[4, 3]
    a5, b5, c5, d5 = curve[5, 0], curve[5, 1], curve[5, 2], curve[5, 3]
    k0, k1, k2, k3, k4 = knots[0], knots[1], knots[2], knots[3], knots[4]
    for lane in range(LANES):
        v = min(max(z[lane], lowest), highest)
        # Picked piece by piece rather than looked up: that is done to all lanes at once.
        a, b, c, d = a0, b0, c0, d0
        inside = v >= k0
        a = a1 if inside else a
        b = b1 if inside else b
        c = c1 if inside else c
        d = d1 if inside else d
        inside = v >= k1
        a = a2 if inside else a
        b = b2 if inside else b
        c = c2 if inside else c
        d = d2 if inside else d
        inside = v >= k2
        a = a3 if inside else a
        b = b3 if inside else b
        c = c3 if inside else c
        d = d3 if inside else d
        inside = v >= k3
        a = a4 if inside else a
        b = b4 if inside else b
        c = c4 if inside else c
        d = d4 if inside else d
        inside = v >= k4
        a = a5 if inside else a
        b = b5 if inside else b
        c = c5 if inside else c
        d = d5 if inside else d
        out[lane] += ((d * v + c) * v + b) * v + a


@compiled(nogil=True, fastmath=FUSED)
def add_product(weight: float, within: float, z: F64, other: F64, out: F64) -> None:
    """Add to ``out`` what the product of two values does, each kept within a limit."""
    for lane in range(LANES):
        both = min(max(z[lane], -within), within) * min(max(other[lane], -within), within)
        out[lane] += weight * both


@compiled(nogil=True, fastmath=FUSED)
def add_risk_product(machine: CompiledMechanism, product: int, z: F64, other: F64, out: F64) -> None:
    """The same of a product in the predictor, which also knows the ranges of its factors."""
    i, j, within = machine.risk_factor[product], machine.risk_other_factor[product], machine.within
    low_i, high_i = machine.range[i, 0], machine.range[i, 1]
    low_j, high_j = machine.range[j, 0], machine.range[j, 1]
    for lane in range(LANES):
        one = min(max(min(max(z[lane], low_i), high_i), -within), within)
        both = one * min(max(min(max(other[lane], low_j), high_j), -within), within)
        out[lane] += machine.risk_product[product] * both


@compiled(nogil=True, fastmath=FUSED)
def settle(machine: CompiledMechanism, i: int, f: F64, log_g: F64) -> None:
    """From what arrows and products add up to at place i, what is expected and the spread, in their place."""
    low, high = machine.limits[i, 0], machine.limits[i, 1]
    first, end = machine.level_starts[i], machine.level_starts[i + 1]
    if end > first:
        for lane in range(LANES):
            logit = min(max(f[lane], low), high)
            mean = square = below = 0.0
            for level in range(first, end):
                power = LOG2_E * (logit - machine.thresholds[level])
                to_here = 1.0 / (1.0 + power_of_two(min(max(power, -FARTHEST_POWER), FARTHEST_POWER)))
                value = machine.level_values[level]
                mean += value * (to_here - below)
                square += value * value * (to_here - below)
                below = to_here
            f[lane], log_g[lane] = mean, math.sqrt(max(square - mean * mean, 1e-9))
    elif machine.heteroscedastic[i]:
        for lane in range(LANES):
            log_g[lane] = power_of_two(LOG2_E * min(max(log_g[lane], low), high))
    else:
        log_g[:] = 1.0


@compiled(nogil=True, fastmath=FUSED)
def respond(machine: CompiledMechanism, i: int, expected: F64, spread: F64, error: F64, z: F64) -> None:
    """Values of place i, where so much is expected and these are the errors."""
    mean, sd = machine.error_mean[i], machine.error_sd[i]
    for lane in range(LANES):
        z[lane] = expected[lane] + spread[lane] * (mean + sd * error[lane])


@compiled(nogil=True, fastmath=FUSED)
def propagate(machine: CompiledMechanism, i: int, error: F64, z: F64, f: F64, log_g: F64) -> None:
    """Values z[i] of place i from those before it and its errors; ``f`` and ``log_g`` are written over."""
    f[:], log_g[:] = machine.constant[i, 0], machine.constant[i, 1]
    for arrow in range(machine.into[i], machine.into[i + 1]):
        j = machine.cause[arrow]
        lines = machine.expected_is_line[arrow], machine.spread_is_line[arrow]
        add_curve(machine.expected[arrow], lines[0], machine.knots[j], -math.inf, math.inf, z[j], f)
        if machine.heteroscedastic[i]:
            add_curve(machine.spread[arrow], lines[1], machine.knots[j], -math.inf, math.inf, z[j], log_g)
    for product in range(machine.products_into[i], machine.products_into[i + 1]):
        one, other = z[machine.factor[product]], z[machine.other_factor[product]]
        add_product(machine.expected_product[product], machine.within, one, other, f)
        if machine.heteroscedastic[i]:
            add_product(machine.spread_product[product], machine.within, one, other, log_g)
    settle(machine, i, f, log_g)
    respond(machine, i, f, log_g, error, z[i])


@compiled(nogil=True, fastmath=FUSED)
def predict(
    machine: CompiledMechanism,
    needed: Index,
    acting: Index,
    products: Index,
    errors: F64,
    z: F64,
    f: F64,
    log_g: F64,
    out: F64,
) -> None:
    """Write to ``out`` what these places and products add to the predictor, with these errors (k, LANES).

    ``needed`` are places that reach them. ``z`` (k, LANES), ``f`` and ``log_g`` are written over.
    """
    for i in needed:
        propagate(machine, i, errors[i], z, f, log_g)
    out[:] = 0.0
    for i in acting:
        low, high = machine.range[i, 0], machine.range[i, 1]
        add_curve(machine.risk[i], machine.risk_is_line[i], machine.knots[i], low, high, z[i], out)
    for product in products:
        i, j = machine.risk_factor[product], machine.risk_other_factor[product]
        add_risk_product(machine, product, z[i], z[j], out)


@compiled(nogil=True, fastmath=FUSED)
def predictors(machine: CompiledMechanism, errors: F64, begin: int, end: int, out: F64) -> None:
    """Rows begin..end−1: the predictor of patients with these errors (n, k), less its constant."""
    k = errors.shape[1]
    those, z = np.zeros((k, LANES)), np.zeros((k, LANES))
    f, log_g, told = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    products = np.arange(machine.risk_factor.size)
    for first in range(begin, end, LANES):
        some = min(LANES, end - first)
        for i in machine.needed:
            for lane in range(some):
                those[i, lane] = errors[first + lane, i]
        predict(machine, machine.needed, machine.acting, products, those, z, f, log_g, told)
        out[first : first + some] = told[:some]
