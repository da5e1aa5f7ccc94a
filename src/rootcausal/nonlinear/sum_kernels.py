"""Sums of the nonlinear mechanism over rows, in compiled loops, and entropies of their histograms.

Each design is summed by one thread, in blocks of rows that stay in cache with all its terms, so that no digit
depends on the number of threads. Nor on where arrays lie in memory: the compiler takes a loop that adds up
while it stores in another order where it cannot rule out that two arrays overlap, and it cannot where an
index might count from the end. So blocks are cut out before they are looped over, and no loop does both.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ..backends.cpu.compiler import FASTMATH, LOG2_E, compiled, in_threads, power_of_two
from ..method.table import F64, Index

ROWS_PER_BLOCK = 512
# So far from its threshold, in logits, a level is certain to the last digit.
FURTHEST = 690.0
# Products of probabilities stay above the smallest number: one more is at least LEAST_LIKELY.
LEAST_PRODUCT = 1e-250


@compiled(nogil=True)
def fill_curves(z: F64, knots: F64, curves: F64, out: F64) -> None:
    """Values (c, n) of curves (c, PIECES, 4) of one column, with these knots, padded with infinity."""
    for row in range(z.size):
        v, piece = z[row], 0
        while piece < knots.size and knots[piece] <= v:
            piece += 1
        for curve in range(out.shape[0]):
            a, b = curves[curve, piece, 0], curves[curve, piece, 1]
            c, d = curves[curve, piece, 2], curves[curve, piece, 3]
            out[curve, row] = ((d * v + c) * v + b) * v + a


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def fill_terms(
    splines: F64, first: Index, second: Index, size: int, within: float, start: int, stop: int, terms: F64
) -> None:
    """Terms (1 + size, rows) of one design for a block of rows; the constant comes first."""
    m = stop - start
    for row in range(m):
        terms[0, row] = 1.0
    for place in range(size):
        one, to = splines[first[place], start:stop], terms[place + 1]
        if second[place] < 0:
            for row in range(m):
                to[row] = one[row]
        else:
            other = splines[second[place], start:stop]
            for row in range(m):
                a = min(max(one[row], -within), within)
                to[row] = a * min(max(other[row], -within), within)


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def combine(terms: F64, size: int, coefficients: F64, m: int, out: F64) -> None:
    """Σ of terms times coefficients, for m rows."""
    for row in range(m):
        out[row] = coefficients[0]
    for place in range(1, size + 1):
        weight, term = coefficients[place], terms[place]
        for row in range(m):
            out[row] += weight * term[row]


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def inverse_spread(log_spread: F64, m: int, largest: float, out: F64) -> None:
    """1 / exp(log_spread), kept within limits; log_spread is kept within them too."""
    for row in range(m):
        kept = min(max(log_spread[row], -largest), largest)
        log_spread[row] = kept
        out[row] = power_of_two(-LOG2_E * kept)


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def add_projections(terms: F64, size: int, values: F64, m: int, out: F64) -> None:
    for place in range(size + 1):
        term, total = terms[place], 0.0
        for row in range(m):
            total += term[row] * values[row]
        out[place] += total


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def add_products(terms: F64, size: int, weights: F64, m: int, scaled: F64, out: F64) -> None:
    """Lower triangle of Σ w z zᵀ over a block; ``scaled`` is room for two terms.

    Two terms by two at a time: each is read half as often.
    """
    for a in range(0, size + 1, 2):
        one, other = terms[a], terms[min(a + 1, size)]
        scaled_one, scaled_other = scaled[0], scaled[1]
        for row in range(m):
            scaled_one[row] = one[row] * weights[row]
            scaled_other[row] = other[row] * weights[row]
        for b in range(0, a + 1, 2):
            left, right = terms[b], terms[min(b + 1, size)]
            one_left = one_right = other_left = other_right = 0.0
            for row in range(m):
                one_left += scaled_one[row] * left[row]
                one_right += scaled_one[row] * right[row]
                other_left += scaled_other[row] * left[row]
                other_right += scaled_other[row] * right[row]
            out[a, b] += one_left
            if b < a:
                out[a, b + 1] += one_right
            if a < size:
                out[a + 1, b] += other_left
                out[a + 1, b + 1] += other_right


@compiled(fastmath=FASTMATH, nogil=True)
def gram_units(
    splines: F64,
    effects: F64,
    weights: F64,
    effect: Index,
    first: Index,
    second: Index,
    size: Index,
    gamma: F64,
    with_gamma: bool,
    within: float,
    largest: float,
    begin: int,
    end: int,
    out: F64,
) -> None:
    """Designs begin..end−1 of NonlinearRows.grams."""
    n, last = weights.size, out.shape[1] - 1
    terms = np.empty((first.shape[1] + 2, ROWS_PER_BLOCK))
    w, eta, room = np.empty(ROWS_PER_BLOCK), np.empty(ROWS_PER_BLOCK), np.empty((2, ROWS_PER_BLOCK))
    for design in range(begin, end):
        k, x = size[design], effects[effect[design]]
        found = np.zeros((k + 2, k + 2))
        for start in range(0, n, ROWS_PER_BLOCK):
            stop = min(start + ROWS_PER_BLOCK, n)
            m = stop - start
            fill_terms(splines, first[design], second[design], k, within, start, stop, terms)
            here, weight = x[start:stop], weights[start:stop]
            for row in range(m):
                terms[k + 1, row] = here[row]
                w[row] = weight[row]
            if with_gamma:
                combine(terms, k, gamma[design], m, eta)
                inverse_spread(eta, m, largest, eta)
                for row in range(m):
                    w[row] *= eta[row] * eta[row]
            add_products(terms, k + 1, w, m, room, found)
        for a in range(k + 2):
            to_a = last if a == k + 1 else a
            for b in range(a + 1):
                out[design, to_a, b] = found[a, b] if a <= k or b <= k else 0.0
                out[design, b, to_a] = out[design, to_a, b]
        out[design, last, last] = found[k + 1, k + 1]


@compiled(fastmath=FASTMATH, nogil=True)
def spread_units(
    splines: F64,
    effects: F64,
    weights: F64,
    effect: Index,
    first: Index,
    second: Index,
    size: Index,
    beta: F64,
    gamma: F64,
    within: float,
    largest: float,
    ratio: float,
    begin: int,
    end: int,
    out: F64,
) -> None:
    """Designs begin..end−1 of NonlinearRows.spread_sums."""
    n = weights.size
    terms = np.empty((first.shape[1] + 1, ROWS_PER_BLOCK))
    expected, inverse = np.empty(ROWS_PER_BLOCK), np.empty(ROWS_PER_BLOCK)
    for design in range(begin, end):
        k, x = size[design], effects[effect[design]]
        for start in range(0, n, ROWS_PER_BLOCK):
            stop = min(start + ROWS_PER_BLOCK, n)
            m = stop - start
            fill_terms(splines, first[design], second[design], k, within, start, stop, terms)
            combine(terms, k, beta[design], m, expected)
            combine(terms, k, gamma[design], m, inverse)
            inverse_spread(inverse, m, largest, inverse)
            here, weight = x[start:stop], weights[start:stop]
            for row in range(m):
                size_of = abs(here[row] - expected[row]) * inverse[row]
                expected[row] = weight[row] * (min(size_of, ratio) - 1.0)
            add_projections(terms, k, expected, m, out[design])


@compiled(fastmath=FASTMATH, nogil=True)
def histogram_units(
    splines: F64,
    effects: F64,
    weights: F64,
    effect: Index,
    first: Index,
    second: Index,
    size: Index,
    beta: F64,
    gamma: F64,
    with_gamma: bool,
    unit: F64,
    within: float,
    largest: float,
    stretch: float,
    begin: int,
    end: int,
    counts: F64,
    sums: F64,
) -> None:
    """Designs begin..end−1 of NonlinearRows.histograms."""
    n, bins = weights.size, counts.shape[1]
    terms = np.empty((first.shape[1] + 1, ROWS_PER_BLOCK))
    error, log_spread = np.empty(ROWS_PER_BLOCK), np.empty(ROWS_PER_BLOCK)
    inverse, place = np.empty(ROWS_PER_BLOCK), np.empty(ROWS_PER_BLOCK, dtype=np.intp)
    for design in range(begin, end):
        k, x, into = size[design], effects[effect[design]], counts[design]
        per_unit, half = 1.0 / unit[design], 0.5 * bins
        logs = total = square = 0.0
        for start in range(0, n, ROWS_PER_BLOCK):
            stop = min(start + ROWS_PER_BLOCK, n)
            m = stop - start
            fill_terms(splines, first[design], second[design], k, within, start, stop, terms)
            combine(terms, k, beta[design], m, error)
            here, weight = x[start:stop], weights[start:stop]
            for row in range(m):
                error[row] = here[row] - error[row]
            if with_gamma:
                combine(terms, k, gamma[design], m, log_spread)
                inverse_spread(log_spread, m, largest, inverse)
                for row in range(m):
                    error[row] *= inverse[row]
                for row in range(m):
                    logs += weight[row] * log_spread[row]
            for row in range(m):
                total += weight[row] * error[row]
                square += weight[row] * error[row] * error[row]
            for row in range(m):
                v = error[row] * per_unit
                place[row] = int((v / (stretch + abs(v)) + 1.0) * half)
            for row in range(m):
                into[min(place[row], bins - 1)] += weight[row]
        sums[design, 0], sums[design, 1], sums[design, 2] = logs, total, square


@compiled(nogil=True)
def entropy_units(
    counts: F64, edges: F64, spacing: float, n_rows: float, begin: int, end: int, out: F64
) -> None:
    """Differential entropies (nats) of what histograms begin..end−1 count, which weigh ``n_rows`` each.

    The density at a value is the share of rows within m ranks of it, over the distance between the first and
    the last of them, m being about the root of the rows; near the ends of the column fewer ranks are there.
    """
    bins = counts.shape[1]
    for number in range(begin, end):
        count = counts[number]
        total = 0.0
        for b in range(bins):
            total += count[b]
        reach = spacing * math.sqrt(n_rows) * total / n_rows
        entropy = below = 0.0
        # Filled bins that reach the lower and the upper rank; what lies below each of them.
        low, under_low = 0, 0.0
        high, under_high = 0, 0.0
        last = bins - 1
        while last > 0 and count[last] <= 0.0:
            last -= 1
        for b in range(last + 1):
            here = count[b]
            if here <= 0.0:
                continue
            middle = below + here - 0.5 * here
            lower, upper = max(middle - reach, 0.0), min(middle + reach, total)
            while low < last and (count[low] <= 0.0 or under_low + count[low] < lower):
                under_low += count[low]
                low += 1
            while high < last and (count[high] <= 0.0 or under_high + count[high] < upper):
                under_high += count[high]
                high += 1
            inside = min(max((lower - under_low) / count[low], 0.0), 1.0)
            left = edges[low] + (edges[low + 1] - edges[low]) * inside
            inside = min(max((upper - under_high) / count[high], 0.0), 1.0)
            right = edges[high] + (edges[high + 1] - edges[high]) * inside
            entropy += here * math.log((right - left) * total / (upper - lower))
            below += here
        out[number] = entropy / total


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def logistic(values: F64, m: int) -> None:
    """In place, 1 / (1 + exp(-value)) of m rows."""
    for row in range(m):
        small = power_of_two(-LOG2_E * min(abs(values[row]), FURTHEST))
        values[row] = (1.0 if values[row] >= 0.0 else small) / (1.0 + small)


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def sum_of_logs(likely: F64, weight: F64, m: int) -> float:
    """Σ weight · log(likely) of m rows: one logarithm for rows in turn that weigh the same."""
    total, product = 0.0, 1.0
    for row in range(m):
        product *= likely[row]
        if row + 1 == m or weight[row + 1] != weight[row] or product < LEAST_PRODUCT:
            total += weight[row] * math.log(product)
            product = 1.0
    return total


@compiled(fastmath=FASTMATH, nogil=True)
def level_units(
    splines: F64,
    codes: Index,
    weights: F64,
    effect: Index,
    first: Index,
    second: Index,
    size: Index,
    beta: F64,
    thresholds: F64,
    within: float,
    least: float,
    begin: int,
    end: int,
    loglik: F64,
    gradient: F64,
    hessian: F64,
    threshold_gradient: F64,
    threshold_hessian: F64,
    cross: F64,
) -> None:
    """Designs begin..end−1 of NonlinearRows.level_sums."""
    n, t = weights.size, thresholds.shape[1]
    terms = np.empty((first.shape[1] + 1, ROWS_PER_BLOCK))
    eta, upper, lower, likely, slope, curve = np.empty((6, ROWS_PER_BLOCK))
    room, near = np.empty((2, ROWS_PER_BLOCK)), np.empty((t, ROWS_PER_BLOCK))
    for design in range(begin, end):
        k, code = size[design], codes[effect[design]]
        found, cuts = np.zeros((k + 1, k + 1)), t
        while thresholds[design, cuts - 1] == np.inf:
            cuts -= 1
        for start in range(0, n, ROWS_PER_BLOCK):
            stop = min(start + ROWS_PER_BLOCK, n)
            m = stop - start
            fill_terms(splines, first[design], second[design], k, within, start, stop, terms)
            combine(terms, k, beta[design], m, eta)
            levels, weight = code[start:stop], weights[start:stop]
            for row in range(m):
                c = levels[row]
                upper[row] = thresholds[design, c] - eta[row] if c < cuts else FURTHEST
                lower[row] = thresholds[design, c - 1] - eta[row] if c > 0 else -FURTHEST
            logistic(upper, m)
            logistic(lower, m)
            for row in range(m):
                likely[row] = max(upper[row] - lower[row], least)
                slope[row] = weight[row] * (upper[row] + lower[row] - 1.0)
                upper[row], lower[row] = upper[row] * (1.0 - upper[row]), lower[row] * (1.0 - lower[row])
                curve[row] = weight[row] * (upper[row] + lower[row])
            loglik[design] += sum_of_logs(likely, weight, m)
            for row in range(m):
                c, w = levels[row], weight[row]
                up, low = upper[row] / likely[row], lower[row] / likely[row]
                if c < cuts:
                    threshold_gradient[design, c] += w * up
                if c > 0:
                    threshold_gradient[design, c - 1] -= w * low
                    if c < cuts:
                        threshold_hessian[design, c - 1, c] -= w * up * low
            add_projections(terms, k, slope, m, gradient[design])
            add_products(terms, k, curve, m, room, found)
            if cuts > 1:
                add_cross(terms, k, levels, weight, upper, lower, m, cuts, near, cross[design])
        for a in range(k + 1):
            for b in range(a + 1):
                hessian[design, a, b] = found[a, b]
                hessian[design, b, a] = found[a, b]
        if cuts == 1:
            for a in range(k + 1):
                cross[design, a, 0] = -hessian[design, a, 0]
        fill_diagonal(cross[design, 0], threshold_hessian[design])


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def add_cross(
    terms: F64,
    size: int,
    levels: Index,
    weight: F64,
    upper: F64,
    lower: F64,
    m: int,
    cuts: int,
    near: F64,
    out: F64,
) -> None:
    """−Σ of terms over the rows on either side of each threshold, times the density there."""
    for cut in range(cuts):
        to = near[cut]
        for row in range(m):
            to[row] = 0.0
    for row in range(m):
        c = levels[row]
        if c < cuts:
            near[c, row] = weight[row] * upper[row]
        if c > 0:
            near[c - 1, row] = weight[row] * lower[row]
    for cut in range(cuts):
        density = near[cut]
        for place in range(size + 1):
            term, total = terms[place], 0.0
            for row in range(m):
                total += density[row] * term[row]
            out[place, cut] -= total


@compiled(inner=True, nogil=True)
def fill_diagonal(of_all: F64, hessian: F64) -> None:
    """The whole matrix of thresholds, from what lies above its diagonal.

    Where all thresholds move by as much as the predictor does, nothing changes: rows add up to what they have
    in common with the constant.
    """
    t = of_all.size
    for one in range(t):
        hessian[one, one] = -of_all[one]
        if one + 1 < t:
            hessian[one + 1, one] = hessian[one, one + 1]
            hessian[one, one] -= hessian[one, one + 1]
        if one > 0:
            hessian[one, one] -= hessian[one - 1, one]


# Entropy of a column by distances between ranked values (m-spacings; Vasicek 1976), from a histogram.
#
# The bins are narrow beside those distances, so that a histogram tells what a sort would; and histograms of
# parts of the rows can be added. Where Hyvärinen's approximation of the linear method sees two moments,
# this sees the whole distribution: by it nonlinear relations show their direction.

BINS = 2048
# Values v are counted by v / (STRETCH + |v|), between -1 and 1: fine near the middle, and no tail is cut off.
STRETCH = 3.0
# Ranks to either side, as a share of the root of the number of rows.
SPACING = 1.0 / 1.5


def bin_edges() -> F64:
    """(BINS + 1,) values between the bins; the outermost two stand for half a bin of what lies beyond."""
    share = np.linspace(-1.0, 1.0, BINS + 1)
    share[0], share[-1] = -1.0 + 0.5 / BINS, 1.0 - 0.5 / BINS
    return STRETCH * share / (1.0 - np.abs(share))


def entropies(counts: F64, n_rows: float) -> F64:
    """(m,) of histograms (m, BINS), whose rows weigh ``n_rows``."""
    out = np.empty(len(counts))
    work = partial(entropy_units, counts, bin_edges(), SPACING, n_rows)
    in_threads(lambda begin, end: work(begin, end, out), len(counts), counts.size)
    return out
