"""Errors pushed through nonlinear mechanisms to the predictor, many at a time, in compiled loops.

All that is done is done to rows of LANES numbers, by the same instructions whatever they are: patients, or
people whose errors were drawn. So processors do several at once (SIMD), and what comes out for one does not
depend on who is beside them.
"""

from __future__ import annotations

import math

import numpy as np

from ..backends.cpu.compiler import LOG2_E, compiled, power_of_two
from ..method.table import F64, Index
from .coalitions import LANES, Room, Rows
from .mechanism import CompiledMechanism
from .scales import SCORES, STEP, STEPS_OF_TAILS

# Multiply-adds may be fused; sums stay in order.
FUSED = {"contract", "nsz"}
# Beyond this, powers of two are as good as zero, or infinite.
FARTHEST_POWER = 1000.0
# Of scores between which scales are lines.
LOWEST_SCORE, SCORES_A_UNIT = float(SCORES[0]), 1.0 / STEP


@compiled(inner=True, nogil=True, fastmath=FUSED)
def add_curves(
    curve: F64, is_line: bool, knots: F64, low: float, high: float, z: F64, first: int, n: int, out: F64
) -> None:
    """Add to the first n rows the values of a curve at rows of ``z``, kept between low and high."""
    a0, b0, c0, d0 = curve[0, 0], curve[0, 1], curve[0, 2], curve[0, 3]
    if is_line:
        for row in range(n):
            for lane in range(LANES):
                out[row, lane] += a0 + b0 * min(max(z[first + row, lane], low), high)
        return
    a1, b1, c1, d1 = curve[1, 0], curve[1, 1], curve[1, 2], curve[1, 3]
    a2, b2, c2, d2 = curve[2, 0], curve[2, 1], curve[2, 2], curve[2, 3]
    a3, b3, c3, d3 = curve[3, 0], curve[3, 1], curve[3, 2], curve[3, 3]
    a4, b4, c4, d4 = curve[4, 0], curve[4, 1], curve[4, 2], curve[4, 3]
    a5, b5, c5, d5 = curve[5, 0], curve[5, 1], curve[5, 2], curve[5, 3]
    k0, k1, k2, k3, k4 = knots[0], knots[1], knots[2], knots[3], knots[4]
    for row in range(n):
        for lane in range(LANES):
            v = min(max(z[first + row, lane], low), high)
            # The piece is picked by comparisons rather than looked up: so for all lanes at once.
            in1, in2, in3, in4, in5 = v >= k0, v >= k1, v >= k2, v >= k3, v >= k4
            a = a5 if in5 else (a4 if in4 else (a3 if in3 else (a2 if in2 else (a1 if in1 else a0))))
            b = b5 if in5 else (b4 if in4 else (b3 if in3 else (b2 if in2 else (b1 if in1 else b0))))
            c = c5 if in5 else (c4 if in4 else (c3 if in3 else (c2 if in2 else (c1 if in1 else c0))))
            d = d5 if in5 else (d4 if in4 else (d3 if in3 else (d2 if in2 else (d1 if in1 else d0))))
            out[row, lane] += ((d * v + c) * v + b) * v + a


@compiled(inner=True, nogil=True, fastmath=FUSED)
def add_products(
    weight: float, limits: F64, z: F64, rows: Index, one: int, other: int, first: Index, n: int, out: F64
) -> None:
    """Add to the first n rows what products of two values do, each kept within limits (2, 2).

    The rows of factors follow ``first`` (2,); ``rows`` say which they are, from ``one`` and ``other`` on.
    """
    low, high, low_other, high_other = limits[0, 0], limits[0, 1], limits[1, 0], limits[1, 1]
    for row in range(n):
        i, j = first[0] + rows[one + row], first[1] + rows[other + row]
        for lane in range(LANES):
            both = min(max(z[i, lane], low), high) * min(max(z[j, lane], low_other), high_other)
            out[row, lane] += weight * both


@compiled(inner=True, nogil=True, fastmath=FUSED)
def spread_of(low: float, high: float, log_g: F64, n: int) -> None:
    """From its logarithm in the first n rows, which stays between low and high, the spread."""
    for row in range(n):
        for lane in range(LANES):
            log_g[row, lane] = power_of_two(LOG2_E * min(max(log_g[row, lane], low), high))


@compiled(inner=True, nogil=True, fastmath=FUSED)
def expect_levels(
    low: float, high: float, values: F64, thresholds: F64, logit: F64, spread: F64, n: int
) -> None:
    """From cumulative logits in the first n rows, what level is expected and its standard deviation."""
    for row in range(n):
        for lane in range(LANES):
            f = min(max(logit[row, lane], low), high)
            mean = square = below = 0.0
            for level in range(values.size):
                power = min(max(LOG2_E * (f - thresholds[level]), -FARTHEST_POWER), FARTHEST_POWER)
                to_here = 1.0 / (1.0 + power_of_two(power))
                mean += values[level] * (to_here - below)
                square += values[level] * values[level] * (to_here - below)
                below = to_here
            logit[row, lane], spread[row, lane] = mean, math.sqrt(max(square - mean * mean, 1e-9))


@compiled(inner=True, nogil=True, fastmath=FUSED)
def respond(
    mean: float, sd: float, expected: F64, spread: F64, n: int, error: F64, i: int, z: F64, first: int
) -> None:
    """Values in n rows from ``first`` on: what is expected, and spread times the errors of place i."""
    for row in range(n):
        for lane in range(LANES):
            own = mean + sd * error[i, lane]
            z[first + row, lane] = expected[row, lane] + spread[row, lane] * own


@compiled(inner=True, nogil=True, fastmath=FUSED)
def from_scale(marks: F64, z: F64, first: int, n: int) -> None:
    """In n rows from ``first`` on, from scores to the values that lie there on another scale."""
    last = marks.size - 1
    low = (marks[STEPS_OF_TAILS] - marks[0]) / STEPS_OF_TAILS
    high = (marks[last] - marks[last - STEPS_OF_TAILS]) / STEPS_OF_TAILS
    for row in range(n):
        for lane in range(LANES):
            at = (z[first + row, lane] - LOWEST_SCORE) * SCORES_A_UNIT
            if at < 0.0:
                z[first + row, lane] = marks[0] + at * low
            elif at >= last:
                z[first + row, lane] = marks[last] + (at - last) * high
            else:
                below = int(at)
                z[first + row, lane] = marks[below] + (at - below) * (marks[below + 1] - marks[below])


@compiled(inner=True, nogil=True, fastmath=FUSED)
def settle(machine: CompiledMechanism, i: int, f: F64, log_g: F64, n: int) -> None:
    """From what arrows and products add up to at place i, what is expected and the spread, in their place."""
    low, high = machine.limits[i, 0], machine.limits[i, 1]
    first, end = machine.level_starts[i], machine.level_starts[i + 1]
    if end > first:
        values, thresholds = machine.level_values[first:end], machine.thresholds[first:end]
        expect_levels(low, high, values, thresholds, f, log_g, n)
    elif machine.heteroscedastic[i]:
        spread_of(low, high, log_g, n)
    else:
        fill(1.0, n, log_g)


@compiled(inner=True, nogil=True, fastmath=FUSED)
def fill(value: float, n: int, out: F64) -> None:
    """Set the first n rows to a value."""
    for row in range(n):
        for lane in range(LANES):
            out[row, lane] = value


@compiled(inner=True, nogil=True, fastmath=FUSED)
def copy(those: F64, n: int, out: F64) -> None:
    """Copy the first n rows."""
    for row in range(n):
        for lane in range(LANES):
            out[row, lane] = those[row, lane]


@compiled(inner=True, nogil=True, fastmath=FUSED)
def add_arrow(
    curve: F64,
    is_line: bool,
    knots: F64,
    z: F64,
    first: int,
    n_rows: int,
    number: Index,
    begin: int,
    n: int,
    room: F64,
    out: F64,
) -> None:
    """Add to the first n rows what an arrow does, worked out once for each of the rows of its cause."""
    if n_rows == n:  # then each goes to its own
        add_curves(curve, is_line, knots, -math.inf, math.inf, z, first, n, out)
        return
    fill(0.0, n_rows, room)
    add_curves(curve, is_line, knots, -math.inf, math.inf, z, first, n_rows, room)
    for row in range(n):
        of = number[begin + row]
        for lane in range(LANES):
            out[row, lane] += room[of, lane]


@compiled(inner=True, nogil=True, fastmath=FUSED)
def propagate(machine: CompiledMechanism, rows: Rows, i: int, mine: F64, drawn: F64, room: Room) -> None:
    """The values of place i for all coalitions upstream of it, from those of its causes.

    The errors (k, LANES) of those in a coalition are ``mine``, and those of the others ``drawn``.
    """
    plays, uneven = rows.plays[i], machine.heteroscedastic[i]
    z, f, log_g, number, first = room.z, room.f, room.log_g, rows.number, room.first
    n, here = 1 << (rows.players[i] - plays), rows.first[i]
    fill(machine.constant[i, 0], n, f)
    fill(machine.constant[i, 1], n, log_g)
    for arrow in range(machine.into[i], machine.into[i + 1]):
        j, begin = machine.cause[arrow], rows.of_arrow[arrow]
        n_rows, of, knots = 1 << rows.players[j], rows.first[j], machine.knots[j]
        curve, is_line = machine.expected[arrow], machine.expected_is_line[arrow]
        add_arrow(curve, is_line, knots, z, of, n_rows, number, begin, n, room.at_cause, f)
        if uneven:
            curve, is_line = machine.spread[arrow], machine.spread_is_line[arrow]
            add_arrow(curve, is_line, knots, z, of, n_rows, number, begin, n, room.at_cause, log_g)
    for product in range(machine.products_into[i], machine.products_into[i + 1]):
        first[0], first[1] = rows.first[machine.factor[product]], rows.first[machine.other_factor[product]]
        one, other = rows.of_factor[product], rows.of_other_factor[product]
        weight = machine.expected_product[product]
        add_products(weight, machine.within, z, number, one, other, first, n, f)
        if uneven:
            weight = machine.spread_product[product]
            add_products(weight, machine.within, z, number, one, other, first, n, log_g)
    settle(machine, i, f, log_g, n)
    mean, sd = machine.error_mean[i], machine.error_sd[i]
    respond(mean, sd, f, log_g, n, drawn, i, z, here)
    if plays:
        respond(mean, sd, f, log_g, n, mine, i, z, here + n)
    if machine.scaled[i]:
        from_scale(machine.marks[i], z, here, 2 * n if plays else n)


@compiled(inner=True, nogil=True, fastmath=FUSED)
def predict(
    machine: CompiledMechanism,
    rows: Rows,
    needed: Index,
    acting: Index,
    products: Index,
    errors: F64,
    room: Room,
    out: F64,
) -> None:
    """Write to ``out`` (1, LANES) what these places and products add to the predictor, with these errors.

    ``needed`` are places that reach them, of which there is one row each.
    """
    for i in needed:
        propagate(machine, rows, i, errors, errors, room)
    # Numbers as they stand in the text would be compiled into copies of these loops.
    row, none = np.intp(1), np.intp(0)
    fill(0.0, row, out)
    for i in acting:
        low, high = machine.range[i, 0], machine.range[i, 1]
        add_curves(machine.risk[i], machine.risk_is_line[i], machine.knots[i], low, high, room.z, i, row, out)
    for product in products:
        room.first[0], room.first[1] = machine.risk_factor[product], machine.risk_other_factor[product]
        weight, limits = machine.risk_product[product], machine.risk_limits[product]
        add_products(weight, limits, room.z, rows.number, none, none, room.first, row, out)


@compiled(nogil=True, fastmath=FUSED)
def predictors(
    machine: CompiledMechanism, rows: Rows, room: Room, errors: F64, begin: int, end: int, out: F64
) -> None:
    """Rows begin..end−1: the predictor of patients with these errors (n, k), less its constant."""
    those, told = np.zeros((errors.shape[1], LANES)), np.empty((1, LANES))
    products = np.arange(machine.risk_factor.size)
    for first in range(begin, end, LANES):
        some = min(LANES, end - first)
        for i in machine.needed:
            for lane in range(some):
                those[i, lane] = errors[first + lane, i]
        predict(machine, rows, machine.needed, machine.acting, products, those, room, told)
        for lane in range(some):
            out[first + lane] = told[0, lane]
