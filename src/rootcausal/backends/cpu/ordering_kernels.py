"""The causal order in compiled loops: raw rows, the screen, sums of pairs and of levels, a race."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...method.moments import EXHAUSTED, ONE_VALUE, ROWS_PER_CLASS
from ...method.ordering.pair_score import GAMMA, GAUSSIAN, K1, K2
from ...method.ordering.search import MOST_AT_ONCE, ROUNDING, Accounts, Race
from ...method.table import F64, LARGEST_PREDICTOR, Index, LevelSums
from ..blas import one_blas_thread
from ..level_rows import LevelRows
from .compiler import FASTMATH, LOG2_E, SMALLEST_POWER, compiled, in_threads, power_of_two

# Compiled passes over raw rows, a strip of them at a time (rows of the array, contiguous).
#
# The plain twin of both is :class:`rootcausal.backends.reference.ReferenceRaw`.


@compiled(nogil=True)
def add_moments(strip: F64, shift: F64, labels: Index, score: F64, sums: F64, product: F64) -> None:
    """Add Σ z and Σ z² of z = x − shift, by class, to sums (2, c, p), and Σ s z to product (p,).

    ``labels`` is empty where there is one class, and ``score`` where rows have none.
    """
    for row in range(strip.shape[0]):
        x = strip[row]
        c = labels[row] if labels.size else 0
        total, square = sums[0, c], sums[1, c]
        for column in range(x.size):
            z = x[column] - shift[column]
            total[column] += z
            square[column] += z * z
        if score.size:
            s = score[row]
            for column in range(x.size):
                product[column] += s * (x[column] - shift[column])


@compiled(nogil=True)
def standardize_strip(strip: F64, cols: Index, mean: F64, sd: F64, out: F64) -> None:
    """Write columns ``cols`` of the strip to out (k, rows), less their mean and divided by their sd."""
    for place in range(cols.size):
        z = out[place]
        column, centre, unit = cols[place], mean[place], sd[place]
        for row in range(strip.shape[0]):
            z[row] = (strip[row, column] - centre) / unit


# Moments between two rounds of a search, compiled; plain twins are in :mod:`rootcausal.method.moments`.


@compiled(nogil=True)
def take_out(correlation: F64, variance: F64, root: int, cols: Index) -> tuple[F64, Index, Index]:
    loading = np.zeros(variance.size)
    loading[root] = math.sqrt(variance[root])
    rest, exhausted = np.empty(cols.size, dtype=cols.dtype), np.empty(cols.size, dtype=cols.dtype)
    n_rest = n_exhausted = 0
    for column in cols:
        if column == root:
            continue
        r = correlation[column]
        loading[column] = r * math.sqrt(variance[column])
        variance[column] *= max(1.0 - r * r, 0.0)
        if variance[column] >= EXHAUSTED:
            rest[n_rest] = column
            n_rest += 1
        else:
            exhausted[n_exhausted] = column
            n_exhausted += 1
    return loading, rest[:n_rest], exhausted[:n_exhausted]


@compiled(nogil=True)
def class_test(
    gram: F64, total: F64, weight: F64, count: F64, root: int, slope: F64, cols: Index, variance: F64
) -> tuple[F64, F64]:
    m = cols.size
    half = np.empty(m)
    for a in range(m):
        half[a] = gram[cols[a], root] - slope[cols[a]] * (0.5 * gram[root, root])
    t, df = np.empty(m), np.empty(m)
    free = count[0] + count[1] - 1.0
    for a in range(m):
        column = cols[a]
        for b in range(m):
            gram[column, cols[b]] -= half[a] * slope[cols[b]] + half[b] * slope[column]
        total[column] -= slope[column] * total[root]
        own = gram[column, column]
        t[a], df[a] = _welch(
            max(count[0], ROWS_PER_CLASS),
            max(count[1], ROWS_PER_CLASS),
            -total[column] / weight[0],
            total[column] / weight[1],
            (free * variance[a] - own) / weight[0],
            own / weight[1],
        )
    return t, df


@compiled(inner=True, nogil=True)
def _welch(
    n_0: float, n_1: float, total_0: float, total_1: float, square_0: float, square_1: float
) -> tuple[float, float]:
    mean_0, mean_1 = total_0 / n_0, total_1 / n_1
    squares_0, squares_1 = (
        max(square_0 - n_0 * mean_0 * mean_0, 0.0),
        max(square_1 - n_1 * mean_1 * mean_1, 0.0),
    )
    error_0, error_1 = squares_0 / (n_0 - 1.0) / n_0, squares_1 / (n_1 - 1.0) / n_1
    spread, difference = error_0 + error_1, mean_1 - mean_0
    if spread == 0.0:
        # No variance within the classes: they are told apart either perfectly or not at all.
        return (0.0 if difference == 0.0 else math.copysign(np.inf, difference)), 1.0
    if squares_0 <= ONE_VALUE * square_0 or squares_1 <= ONE_VALUE * square_1:
        pooled = (squares_0 + squares_1) / max(n_0 + n_1 - 2.0, 1.0) * (1.0 / n_0 + 1.0 / n_1)
        return difference / math.sqrt(pooled), n_0 + n_1 - 2.0
    share_0, share_1 = error_0 / spread, error_1 / spread
    return difference / math.sqrt(spread), 1.0 / (
        share_0 * share_0 / (n_0 - 1.0) + share_1 * share_1 / (n_1 - 1.0)
    )


# Entropy sums of columns, and of the residuals of pairs, in compiled loops.
#
# They spend their time in two exponentials a residual. Both are a polynomial in the fraction and a
# power of two made by shifting bits, which vectorizes without a vendor's library; and since log cosh u =
# |u| − log 2 + log(1 + t) with t = exp(−2|u|), the logarithms of a block of rows are one logarithm of a
# product, which cannot overflow while the block has fewer than 1,024 factors of at most two.

LOG_2 = math.log(2.0)
ROWS_A_PRODUCT = 512


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def pair_rows(z_i: F64, z_j: F64, r: float, scale: float, out: F64) -> None:
    """out[0:2]: the two sums of the residuals of i given j; out[2:4]: of j given i."""
    slope = r * scale
    n = z_i.size
    magnitude_i = magnitude_j = gauss_i = gauss_j = logs_i = logs_j = 0.0
    for start in range(0, n, ROWS_A_PRODUCT):
        product_i = product_j = 1.0
        for row in range(start, min(start + ROWS_A_PRODUCT, n)):
            u = scale * z_i[row] - slope * z_j[row]
            v = scale * z_j[row] - slope * z_i[row]
            magnitude_i += abs(u)
            magnitude_j += abs(v)
            product_i *= 1.0 + power_of_two(max(-2.0 * LOG2_E * abs(u), SMALLEST_POWER))
            product_j *= 1.0 + power_of_two(max(-2.0 * LOG2_E * abs(v), SMALLEST_POWER))
            gauss_i += u * power_of_two(max(-0.5 * LOG2_E * (u * u), SMALLEST_POWER))
            gauss_j += v * power_of_two(max(-0.5 * LOG2_E * (v * v), SMALLEST_POWER))
        logs_i += math.log(product_i)
        logs_j += math.log(product_j)
    out[0] = magnitude_i + logs_i - n * LOG_2
    out[1] = gauss_i
    out[2] = magnitude_j + logs_j - n * LOG_2
    out[3] = gauss_j


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def column_rows(z: F64, out: F64) -> None:
    magnitude = gauss = logs = 0.0
    for start in range(0, z.size, ROWS_A_PRODUCT):
        product = 1.0
        for row in range(start, min(start + ROWS_A_PRODUCT, z.size)):
            u = z[row]
            magnitude += abs(u)
            product *= 1.0 + power_of_two(max(-2.0 * LOG2_E * abs(u), SMALLEST_POWER))
            gauss += u * power_of_two(max(-0.5 * LOG2_E * (u * u), SMALLEST_POWER))
        logs += math.log(product)
    out[0] = magnitude + logs - z.size * LOG_2
    out[1] = gauss


@compiled(nogil=True)
def pair_units(Z: F64, R: F64, i: Index, j: Index, first: int, last: int, out: F64) -> None:
    """Units first..last−1 of pair_sums; unit = chunk · pairs + pair, so columns stay in cache."""
    for unit in range(first, last):
        chunk, pair = divmod(unit, i.size)
        n, n_chunks = Z.shape[1], len(out)
        rows = slice(n * chunk // n_chunks, n * (chunk + 1) // n_chunks)
        # A column beside itself is taken as it is.
        r = 0.0 if i[pair] == j[pair] else R[i[pair], j[pair]]
        scale = 1.0 / math.sqrt(max(1.0 - r * r, EXHAUSTED))
        pair_rows(Z[i[pair], rows], Z[j[pair], rows], r, scale, out[chunk, pair])


@compiled(inner=True, nogil=True)
def entropy_of(log_cosh_sum: float, gauss_sum: float, n_rows: int) -> float:
    """:func:`rootcausal.method.ordering.pair_score.entropy` of one column."""
    log_cosh = log_cosh_sum / n_rows - GAMMA
    gauss = gauss_sum / n_rows
    return GAUSSIAN - K1 * log_cosh * log_cosh - K2 * gauss * gauss


@compiled(nogil=True)
def square_units(Z: F64, R: F64, cols: Index, first: int, last: int, out: F64) -> None:
    """Units first..last−1 of leading_pair_sums; unit = chunk · pairs + pair, along the upper triangle."""
    n, (n_chunks, _, _, q, m) = Z.shape[1], out.shape
    n_pairs = q * m - q * (q - 1) // 2
    sums = np.empty(4)
    chunk, pair = divmod(first, n_pairs)
    a = 0
    while pair >= m - a:
        pair -= m - a
        a += 1
    b = a + pair
    for _ in range(first, last):
        rows = slice(n * chunk // n_chunks, n * (chunk + 1) // n_chunks)
        i, j = cols[a], cols[b]
        if i == j:
            column_rows(Z[i, rows], sums)
            sums[2], sums[3] = sums[0], sums[1]
        else:
            r = R[i, j]
            scale = 1.0 / math.sqrt(max(1.0 - r * r, EXHAUSTED))
            pair_rows(Z[i, rows], Z[j, rows], r, scale, sums)
        to = out[chunk]
        for s in range(2):
            to[0, s, a, b], to[1, s, a, b] = sums[s], sums[2 + s]
            if b < q:
                to[1, s, b, a], to[0, s, b, a] = sums[s], sums[2 + s]
        b += 1
        if b == m:
            a += 1
            b = a
        if a == q:
            chunk, a, b = chunk + 1, 0, 0


@compiled(nogil=True)
def block_entropies(sums: F64, own: F64, n_rows: int, places: Index, known: F64) -> tuple[F64, F64, F64]:
    """:func:`rootcausal.method.ordering.pair_score.block_penalties`; ``known`` (d, m) are the entropies at
    ``places``.
    """
    _, _, q, m = sums.shape
    row_of = np.full(m, -1)
    for row, place in enumerate(places):
        row_of[place] = row
    row_penalty, column_penalty = np.zeros(q), np.zeros(m)
    given = np.empty((2, q, m))
    for a in range(q):
        for b in range(m):
            of_row = entropy_of(sums[0, 0, a, b], sums[0, 1, a, b], n_rows)
            of_column = entropy_of(sums[1, 0, a, b], sums[1, 1, a, b], n_rows)
            if row_of[a] >= 0:
                of_row = known[row_of[a], b]
            if row_of[b] >= 0:
                of_column = known[row_of[b], a]
            given[0, a, b], given[1, a, b] = of_row, of_column
            score = (own[b] - own[a]) + (of_row - of_column)
            if score < 0.0:
                row_penalty[a] += score * score
            else:
                column_penalty[b] += score * score
    return row_penalty, column_penalty, given


@compiled(nogil=True)
def column_units(Z: F64, first: int, last: int, out: F64) -> None:
    for column in range(first, last):
        column_rows(Z[column], out[column])


@compiled(nogil=True)
def residual_units(Z: F64, R: F64, root: int, cols: Index, first: int, last: int) -> None:
    """Replace columns first..last−1 of ``cols``, and their rows of R, by those of the residuals."""
    error = Z[root]
    with_root = R[root]
    for a in cols[first:last]:
        z = Z[a]
        slope = with_root[a]
        unit = 1.0 / math.sqrt(max(1.0 - slope * slope, EXHAUSTED))
        for row in range(z.size):
            z[row] = (z[row] - slope * error[row]) * unit
        for b in cols:
            other = with_root[b]
            scale = unit / math.sqrt(max(1.0 - other * other, EXHAUSTED))
            R[a, b] = max(-1.0, min(1.0, (R[a, b] - slope * other) * scale))


# The sums of discrete columns in compiled loops; plain twins are in ``reference.py`` and ``level_rows.py``.
#
# With t = exp(−|u|), the logistic function is F(u) = 1 / (1 + t) above zero and t / (1 + t) below, its
# derivative t / (1 + t)², and log F(u) = min(u, 0) − log(1 + t): a block of rows takes one logarithm, of a
# product.

# Two factors a row, of at most two each.
LEVEL_ROWS_A_PRODUCT = 256
MOST_ROWS_A_CHUNK = 8192
ROWS_A_MATRIX_PRODUCT = 1024
# Rows are summed in at most so many spans, whose sums have at most so many values.
SPANS = 16
VALUES_OF_SUMS = 1 << 22
# What else a processor does in the time of a residual, in multiplications of a matrix product.
FLOPS_A_RESIDUAL = 8


@dataclass(frozen=True)
class CompiledLevelRows(LevelRows):
    """The same state; a unit of work is one span of rows, or one pair and one chunk of rows."""

    def sums(self, xp: Any, Z: F64, discrete: Index, cols: Index) -> LevelSums:
        n, d, m = Z.shape[1], discrete.size, cols.size
        places = self._places(discrete)
        # Always the same spans of rows, added in one order: no sum depends on the number of threads.
        spans = max(1, min(SPANS, n // ROWS_A_MATRIX_PRODUCT, VALUES_OF_SUMS // max(1, 3 * d * m)))
        alone, beside = np.zeros((spans, 2, d)), np.zeros((spans, 3, d, m))

        def work(first: int, last: int) -> None:
            for span in range(first, last):
                for rows in _strips(n * span // spans, n * (span + 1) // spans):
                    s, v = np.empty((2, d, rows.stop - rows.start))
                    _derivatives(self.thresholds, self.codes[:, rows], self.predictor[:, rows], places, s, v)
                    w = Z[cols, rows]
                    alone[span] += s.sum(axis=1), v.sum(axis=1)
                    beside[span, 0] += s @ w.T
                    beside[span, 1] += v @ w.T
                    beside[span, 2] += v @ (w * w).T

        with one_blas_thread():
            in_threads(work, spans, n * d * (2 + m // FLOPS_A_RESIDUAL))
        return LevelSums(*alone.sum(axis=0), *beside.sum(axis=0))

    def pair_sums(self, xp: Any, Z: F64, discrete: Index, cols: Index, intercept: F64, slope: F64) -> F64:
        n, m = Z.shape[1], discrete.size
        out = np.empty((max(1, -(-n // MOST_ROWS_A_CHUNK)), m, 6))
        state = self.thresholds, self.codes, self.predictor, Z
        pairs = self._places(discrete), cols, intercept, slope

        def work(first: int, last: int) -> None:
            _pair_units(*state, *pairs, first, last, out)

        in_threads(work, len(out) * m, 2 * m * n)
        total: F64 = out.sum(axis=0)
        return total


def _strips(first: int, last: int) -> Iterator[slice]:
    for start in range(first, last, ROWS_A_MATRIX_PRODUCT):
        yield slice(start, min(start + ROWS_A_MATRIX_PRODUCT, last))


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def _derivative_rows(theta: F64, codes: Index, predictor: F64, s: F64, v: F64) -> None:
    for row in range(predictor.size):
        a = theta[codes[row] + 1] - predictor[row]
        b = predictor[row] - theta[codes[row]]
        t_a = power_of_two(max(-LOG2_E * abs(a), SMALLEST_POWER))
        t_b = power_of_two(max(-LOG2_E * abs(b), SMALLEST_POWER))
        u_a, u_b = 1.0 / (1.0 + t_a), 1.0 / (1.0 + t_b)
        s[row] = (u_a if a >= 0.0 else t_a * u_a) - (u_b if b >= 0.0 else t_b * u_b)
        v[row] = t_a * u_a * u_a + t_b * u_b * u_b


@compiled(nogil=True)
def _derivatives(thresholds: F64, codes: Index, predictor: F64, places: Index, s: F64, v: F64) -> None:
    for at, place in enumerate(places):
        _derivative_rows(thresholds[place], codes[place], predictor[place], s[at], v[at])


@compiled(inner=True, fastmath=FASTMATH, nogil=True)
def _pair_rows(
    theta: F64, codes: Index, predictor: F64, w: F64, intercept: float, slope: float, out: F64
) -> None:
    """The sums of :meth:`Table.level_pair_sums` for one pair, in out (6,)."""
    least = logs = s_sum = v_sum = s_w = v_w = v_w2 = 0.0
    for start in range(0, w.size, LEVEL_ROWS_A_PRODUCT):
        product = 1.0
        for row in range(start, min(start + LEVEL_ROWS_A_PRODUCT, w.size)):
            x = w[row]
            eta = predictor[row] + intercept + slope * x
            eta = max(-LARGEST_PREDICTOR, min(LARGEST_PREDICTOR, eta))
            a = theta[codes[row] + 1] - eta
            b = eta - theta[codes[row]]
            t_a = power_of_two(max(-LOG2_E * abs(a), SMALLEST_POWER))
            t_b = power_of_two(max(-LOG2_E * abs(b), SMALLEST_POWER))
            u_a, u_b = 1.0 / (1.0 + t_a), 1.0 / (1.0 + t_b)
            s = (u_a if a >= 0.0 else t_a * u_a) - (u_b if b >= 0.0 else t_b * u_b)
            v = t_a * u_a * u_a + t_b * u_b * u_b
            least += min(a, 0.0) + min(b, 0.0)
            product *= (1.0 + t_a) * (1.0 + t_b)
            s_sum += s
            v_sum += v
            s_w += s * x
            v_w += v * x
            v_w2 += v * x * x
        logs += math.log(product)
    out[0], out[1], out[2], out[3], out[4], out[5] = least - logs, s_sum, v_sum, s_w, v_w, v_w2


@compiled(nogil=True)
def _pair_units(
    thresholds: F64,
    codes: Index,
    predictor: F64,
    Z: F64,
    places: Index,
    cols: Index,
    intercept: F64,
    slope: F64,
    first: int,
    last: int,
    out: F64,
) -> None:
    """Units first..last−1; unit = chunk · pairs + pair, so columns stay in cache."""
    n, n_chunks = Z.shape[1], len(out)
    for unit in range(first, last):
        chunk, pair = divmod(unit, places.size)
        rows = slice(n * chunk // n_chunks, n * (chunk + 1) // n_chunks)
        _pair_rows(
            thresholds[places[pair]],
            codes[places[pair], rows],
            predictor[places[pair], rows],
            Z[cols[pair], rows],
            intercept[pair],
            slope[pair],
            out[chunk, pair],
        )


# The accounts of a race (see :mod:`rootcausal.method.ordering.search`), compiled.

FIRST = MOST_AT_ONCE[0]


@compiled(inner=True, nogil=True)
def _penalty(score: float) -> float:
    negative = min(score, 0.0)
    return negative * negative


@compiled(nogil=True)
def _promise(race: Race, a: int, b: int, number: int, expected: F64) -> None:
    race.seen[a, b] = race.seen[b, a] = number
    expected[a] += _penalty(race.score[a, b])
    expected[b] += _penalty(race.score[b, a])


@compiled(inner=True, nogil=True)
def _remembered(race: Race, column: int, candidates: Index) -> float:
    total = 0.0
    for other in candidates:
        total += _penalty(race.score[column, other])
    return total


@compiled(inner=True, nogil=True)
def _add_partners(
    race: Race,
    column: int,
    candidates: Index,
    number: int,
    expected: F64,
    bound: float,
    most: int,
    spare: int,
    pairs: Index,
    count: int,
) -> int:
    """Write the next partners of one column behind the ``count`` pairs so far; returns how many there are."""
    score, seen = race.score[column], race.seen[column]
    last = count + most
    while count < last:
        if expected[column] > bound:
            if not spare:
                break
            spare -= 1
        worst, least = -1, np.inf
        for other in candidates:
            if score[other] < least and seen[other] < number:
                worst, least = other, score[other]
        if worst < 0:
            break
        pairs[0, count], pairs[1, count] = column, worst
        _promise(race, column, worst, number, expected)
        count += 1
    return count


@compiled(inner=True, nogil=True)
def _add_all(
    race: Race, column: int, candidates: Index, number: int, expected: F64, pairs: Index, count: int
) -> int:
    for other in candidates:
        if race.seen[column, other] < number:
            pairs[0, count], pairs[1, count] = column, other
            _promise(race, column, other, number, expected)
            count += 1
    return count


@compiled(nogil=True)
def begin(race: Race, candidates: Index, number: int) -> tuple[Index, Index]:
    m = candidates.size
    leader, least, new = -1, np.inf, 0
    for column in candidates:
        race.total[column] = 0.0
        race.unmet[column] = m - 1
        if not race.known[column]:
            new += 1
            continue
        remembered = _remembered(race, column, candidates)
        if remembered < least:
            leader, least = column, remembered
    expected = np.zeros(race.total.size)
    pairs = np.empty((2, min((new + 1) * m + FIRST * (m - new), m * (m - 1) // 2)), dtype=np.intp)
    count = 0
    if leader >= 0:
        count = _add_all(race, leader, candidates, number, expected, pairs, count)
    for column in candidates:
        if not race.known[column]:
            count = _add_all(race, column, candidates, number, expected, pairs, count)
        elif column != leader:
            count = _add_partners(race, column, candidates, number, expected, least, FIRST, 0, pairs, count)
    for column in candidates:
        race.known[column] = True
    return pairs[0, :count], pairs[1, :count]


@compiled(nogil=True)
def enter(race: Race, i: Index, j: Index, own: F64, given: F64) -> None:
    for pair in range(i.size):
        a, b = i[pair], j[pair]
        score = (own[b] - own[a]) + (given[pair, 0] - given[pair, 1])
        race.score[a, b], race.score[b, a] = score, -score
        race.given[a, b], race.given[b, a] = given[pair, 0], given[pair, 1]
        race.total[a if score < 0 else b] += score * score
        race.unmet[a] -= 1
        race.unmet[b] -= 1


@compiled(nogil=True)
def choose(race: Race, candidates: Index, number: int, call: int, per_call: int) -> tuple[Index, Index]:
    bound = np.inf
    for column in candidates:
        if race.unmet[column] == 0:
            bound = min(bound, race.total[column])
    bound *= 1.0 + ROUNDING
    alive = 0
    for column in candidates:
        if race.unmet[column] > 0 and race.total[column] <= bound:
            alive += 1
    if not alive:
        return candidates[:0], candidates[:0]
    m = candidates.size
    all_left = call >= len(MOST_AT_ONCE)
    most = m if all_left else min(m, MOST_AT_ONCE[call])
    spare = 1 + per_call // alive
    expected = race.total.copy()
    pairs = np.empty((2, min(alive * most, m * (m - 1) // 2)), dtype=np.intp)
    count = 0
    for column in candidates:
        if race.unmet[column] == 0 or race.total[column] > bound:
            continue
        if all_left:
            count = _add_all(race, column, candidates, number, expected, pairs, count)
        else:
            count = _add_partners(
                race, column, candidates, number, expected, bound, most, spare, pairs, count
            )
    return pairs[0, :count], pairs[1, :count]


@compiled(nogil=True)
def finish(race: Race, candidates: Index) -> tuple[int, float]:
    best, least = -1, np.inf
    for column in candidates:
        if race.unmet[column] == 0:
            total = _remembered(race, column, candidates)
            if total < least:
                best, least = column, total
    next_best = np.inf
    for column in candidates:
        if column != best:
            next_best = min(next_best, race.total[column])
    return best, max(0.0, next_best - least)


ACCOUNTS = Accounts(begin, enter, choose, finish)
