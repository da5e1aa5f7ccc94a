"""Permutation sampling through nonlinear mechanisms, patient by patient, in compiled loops."""

from __future__ import annotations

import math

import numpy as np

from ..backends.cpu.compiler import compiled
from ..backends.cpu.power_of_two import LOG2_E, power_of_two
from ..method.table import F64, Index
from .compiled_mechanism import CompiledMechanism

# Multiply-adds may be fused; sums stay in order: loops over one or two arrows are slower as vectors. What is
# inlined has the options of who calls it.
FUSED = {"contract", "nsz"}


@compiled(nogil=True, inline="always")
def propagate(machine: CompiledMechanism, i: int, error: float, z: F64, piece: Index, part: F64) -> float:
    """Value of place i from those before it and its error, its piece, and what it adds to the predictor.

    What is added by ``part`` is more than before comes back.
    """
    f, log_g = machine.constant[i, 0], machine.constant[i, 1]
    heteroscedastic = machine.heteroscedastic[i]
    expected, spread_of = machine.expected, machine.spread
    for arrow in range(machine.into[i], machine.into[i + 1]):
        j = machine.cause[arrow]
        at, v = piece[j], z[j]
        f += (
            (expected[arrow, at, 3] * v + expected[arrow, at, 2]) * v + expected[arrow, at, 1]
        ) * v + expected[arrow, at, 0]
        if heteroscedastic:
            log_g += (
                (spread_of[arrow, at, 3] * v + spread_of[arrow, at, 2]) * v + spread_of[arrow, at, 1]
            ) * v + spread_of[arrow, at, 0]
    within = machine.within
    for product in range(machine.products_into[i], machine.products_into[i + 1]):
        both = min(max(z[machine.factor[product]], -within), within)
        both *= min(max(z[machine.other_factor[product]], -within), within)
        f += machine.expected_product[product] * both
        log_g += machine.spread_product[product] * both
    spread = 1.0
    if machine.level_starts[i + 1] > machine.level_starts[i]:
        f = min(max(f, machine.limits[i, 0]), machine.limits[i, 1])
        mean = square = below = 0.0
        for level in range(machine.level_starts[i], machine.level_starts[i + 1]):
            to_here = 1.0 / (1.0 + math.exp(f - machine.thresholds[level]))
            value = machine.level_values[level]
            mean += value * (to_here - below)
            square += value * value * (to_here - below)
            below = to_here
        f, spread = mean, math.sqrt(max(square - mean * mean, 1e-9))
    elif heteroscedastic:
        log_g = min(max(log_g, machine.limits[i, 0]), machine.limits[i, 1])
        spread = power_of_two(LOG2_E * log_g)
    here = f + spread * (machine.error_mean[i] + machine.error_sd[i] * error)
    at = piece_of(machine, i, here)
    z[i], piece[i] = here, at
    more = 0.0
    if machine.acts[i]:
        # Only here, and in products: effects follow from the value itself, not from the end of its range.
        seen = min(max(here, machine.range[i, 0]), machine.range[i, 1])
        if seen != here:
            at = piece_of(machine, i, seen)
        risk, before = machine.risk, part[i]
        part[i] = ((risk[i, at, 3] * seen + risk[i, at, 2]) * seen + risk[i, at, 1]) * seen + risk[i, at, 0]
        more = part[i] - before
    return more


@compiled(nogil=True, inline="always")
def piece_of(machine: CompiledMechanism, i: int, value: float) -> int:
    """Which piece of the curves of place i this value lies in."""
    at = 0
    for knot in range(machine.knots.shape[1]):
        at += machine.knots[i, knot] <= value
    return at


@compiled(nogil=True, inline="always")
def products_of(machine: CompiledMechanism, z: F64) -> float:
    """What products of variables add to the predictor."""
    total, within = 0.0, machine.within
    for product in range(machine.risk_factor.size):
        both = machine.risk_product[product]
        for i in (machine.risk_factor[product], machine.risk_other_factor[product]):
            seen = min(max(z[i], machine.range[i, 0]), machine.range[i, 1])
            both *= min(max(seen, -within), within)
        total += both
    return total


@compiled(nogil=True)
def by_itself(points: F64, heights: F64, error: float) -> float:
    """What an error does whatever the others, by a table; beyond its ends it stays the same."""
    last = points.size - 1
    if error <= points[0]:
        return heights[0]
    if error >= points[last]:
        return heights[last]
    low, high = 0, last
    while high - low > 1:
        middle = (low + high) // 2
        if points[middle] <= error:
            low = middle
        else:
            high = middle
    share = (error - points[low]) / (points[high] - points[low])
    return heights[low] * (1.0 - share) + heights[high] * share


@compiled(nogil=True, fastmath=FUSED)
def predictors(machine: CompiledMechanism, errors: F64, begin: int, end: int, out: F64) -> None:
    """Rows begin..end−1: the predictor of patients with these errors (n, k), less its constant."""
    k = errors.shape[1]
    z, piece, part = np.zeros(k), np.zeros(k, dtype=np.intp), np.zeros(k)
    for row in range(begin, end):
        for i in range(k):
            propagate(machine, i, errors[row, i], z, piece, part)
        out[row] = part.sum() + products_of(machine, z)


@compiled(nogil=True, fastmath=FUSED)
def walk_patients(
    machine: CompiledMechanism,
    errors: F64,
    told: F64,
    places: Index,
    start: F64,
    order: Index,
    points: F64,
    heights: F64,
    replicates: int,
    fewest: int,
    enough: float,
    part_of: float,
    begin: int,
    end: int,
    values: F64,
    noise: F64,
) -> None:
    """Patients begin..end−1: Shapley values (n, k) at ``places``, and their standard errors.

    ``told`` (n,) are their predictors, less the constant, where every permutation ends. After ``fewest``
    permutations of each replicate, and whenever these have doubled, a patient is done whose standard errors
    are all at most ``part_of`` times their values, or ``enough``; or when there are no more permutations.
    """
    k, n_turns, last = errors.shape[1], len(start), places.size - 1
    z0, piece0 = np.zeros((n_turns, k)), np.zeros((n_turns, k), dtype=np.intp)
    part0, total0, alone0 = np.zeros((n_turns, k)), np.empty(n_turns), np.zeros((n_turns, k))
    for turn in range(n_turns):
        for i in range(k):
            propagate(machine, i, start[turn, i], z0[turn], piece0[turn], part0[turn])
        total0[turn] = part0[turn].sum()
        for i in places:
            alone0[turn, i] = by_itself(points[i], heights[i], start[turn, i])
    z, piece, part = np.zeros(k), np.zeros(k, dtype=np.intp), np.zeros(k)
    current, alone, gained = np.zeros(k), np.zeros(k), np.zeros(k)
    totals = np.zeros((replicates, k))
    for row in range(begin, end):
        for i in places:
            alone[i] = by_itself(points[i], heights[i], errors[row, i])
            totals[:, i] = 0.0
        done, until = 0, fewest * replicates
        while done < n_turns:
            for turn in range(done, until):
                for i in places:
                    gained[i] = 0.0
                for direction in range(2):
                    for i in range(k):
                        z[i], piece[i], part[i] = z0[turn, i], piece0[turn, i], part0[turn, i]
                        current[i] = start[turn, i]
                    total = total0[turn]
                    before = total + products_of(machine, z)
                    for step in range(last):
                        i = order[turn, step if direction == 0 else last - step]
                        current[i] = errors[row, i]
                        for at in range(machine.after[i], machine.after[i + 1]):
                            j = machine.reached[at]
                            total += propagate(machine, j, current[j], z, piece, part)
                        now = total + products_of(machine, z)
                        gained[i] += now - before
                        before = now
                    gained[order[turn, last if direction == 0 else 0]] += told[row] - before
                for i in places:
                    totals[turn % replicates, i] += 0.5 * gained[i] - (alone[i] - alone0[turn, i])
            done = until
            until = min(2 * until, n_turns)
            converged = True
            for i in places:
                mean = totals[:, i].sum() / done
                square = 0.0
                for replicate in range(replicates):
                    away = totals[replicate, i] * replicates / done - mean
                    square += away * away
                values[row, i] = alone[i] + mean
                noise[row, i] = math.sqrt(square / (replicates * (replicates - 1)))
                converged &= noise[row, i] <= max(part_of * abs(values[row, i]), enough)
            if converged:
                break
