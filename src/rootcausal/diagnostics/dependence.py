"""Which errors depend on each other, and what would explain it.

The errors of a right model are independent. Where two are not, four things may be behind it: the order of the
two is wrong, a column that moves both was measured but left out of the model, the one bends with the other,
or something moves both that was not measured. The first three can be tried: if the errors are independent
once it is allowed for, that explains it. What nothing explains points to a hidden cause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import chdtrc, fdtrc

from ..backends.cpu.on_demand import in_threads
from ..method.table import F64, Index
from .evidence import Evidence, columns_of, rows_of, standardized
from .power import corrected, smallest_of_many

# Dependence of many pairs of errors at once, by five moments that regression leaves as they are.
#
# Regression makes errors uncorrelated whatever is wrong. But a hidden cause, a bend or a wrong direction
# leaves its mark elsewhere: one error is large, or high, where the other is. Three functions of each error
# e stand for that: e itself, its size log cosh e, and tanh e, which tells a long tail from a broad middle;
# each made orthogonal to those before it. For an earlier error a and a later one b the moments are those of
#
#     a with the size of b,   the size of a with b,   both sizes,   a with tanh b,   tanh a with b.
#
# Each is divided by its own standard error, E[a² b²] rather than E[a²] E[b²], so that a few patients in
# long tails cannot speak for all: the level holds for lognormal errors and for Student's t with two degrees
# of freedom. All pairs come out of a few products of matrices, in time linear in rows.

# Functions of the earlier and of the later error: 0 the error itself, 1 its size, 2 its tanh.
MOMENTS = ((0, 1), (1, 0), (1, 1), (0, 2), (2, 0))
FUNCTIONS = 3
# A column of two values has no size of its own.
NOTHING_NEW = 1e-6


@dataclass(frozen=True)
class Moments:
    """Moments of pairs of errors.

    Attributes
    ----------
    correlation : (m, 5) of the two functions of each of MOMENTS.
    z : (m, 5) the same in standard errors.
    n_rows : patients.
    """

    correlation: F64
    z: F64
    n_rows: int

    @property
    def p_values(self) -> F64:
        """(m,) of independence."""
        return chdtrc(len(MOMENTS), (self.z**2).sum(axis=1))

    @property
    def strength(self) -> F64:
        """(m,) √(χ² / n)."""
        return np.sqrt((self.z**2).sum(axis=1) / self.n_rows)


def moments_of(errors: F64, pairs: Index) -> Moments:
    """Moments of pairs (m, 2) of errors (n, k), the earlier one of each first."""
    n = errors.shape[0]
    functions, slope = functions_of(errors)
    rows = functions.transpose(2, 1, 0)  # as they lie in memory
    product = _products(rows)
    np.multiply(rows, rows, out=rows)
    spread = _products(rows) | {(0, 0): rows[0] @ rows[0].T / n}
    one, other = pairs.T
    correlation, z = np.zeros((2, len(pairs), len(MOMENTS)))
    for place, (earlier, later) in enumerate(MOMENTS):
        found, variance = (_between(some, earlier, later)[one, other] for some in (product, spread))
        if earlier == 0:
            # The later error is what an estimated slope left, and its functions move with that slope.
            variance = variance + slope[other, later] ** 2 * spread[0, 0][one, other]
        correlation[:, place] = found
        z[:, place] = found * np.sqrt(n / np.maximum(variance, NOTHING_NEW))
    return Moments(correlation, z, n)


def _products(rows: F64) -> dict[tuple[int, int], F64]:
    """Mean products (k, k) of the functions (3, k, n) that moments are made of, each pair of them once."""
    n = rows.shape[2]
    return {(a, b): rows[a] @ rows[b].T / n for a, b in MOMENTS if a <= b}


def _between(products: dict[tuple[int, int], F64], earlier: int, later: int) -> F64:
    """(k, k) of one function of each error with another of each."""
    return products[earlier, later] if earlier <= later else products[later, earlier].T


def functions_of(errors: F64) -> tuple[F64, F64]:
    """(n, k, 3) orthonormal functions of each error, and (k, 3) their mean slopes.

    In memory the values of one function of one error lie side by side.
    """
    n, k = errors.shape
    functions, slope = np.zeros((FUNCTIONS, k, n)), np.zeros((k, FUNCTIONS))

    def work(some: slice) -> None:
        _fill(errors[:, some].T, functions[:, some], slope[some])

    in_blocks(work, k, n)
    return functions.transpose(2, 1, 0), slope


def _fill(errors: F64, functions: F64, slope: F64) -> None:
    """The functions (3, k, n) of errors (k, n), and slopes (k, 3)."""
    k, n = errors.shape
    e = standardized(np.ascontiguousarray(errors).T).T
    # log cosh e and tanh e are made of |e| and exp −2|e|.
    size = np.abs(e)
    small = np.exp(-2.0 * size)
    tanh = np.copysign((1.0 - small) / (1.0 + small), e)
    size += np.log(1.0 + small)
    raw = ((e, np.ones(k)), (size, tanh.mean(axis=1)), (tanh, 1.0 - np.einsum("kn,kn->k", tanh, tanh) / n))
    for place, (values, rises) in enumerate(raw):
        values -= values.mean(axis=1, keepdims=True)
        for lower in range(place):
            shared = np.einsum("kn,kn->k", values, functions[lower]) / n
            values -= shared[:, None] * functions[lower]
            rises = rises - shared * slope[:, lower]
        sd = values.std(axis=1)
        new = sd > NOTHING_NEW
        per_sd = np.where(new, 1.0 / np.where(new, sd, 1.0), 0.0)
        np.multiply(values, per_sd[:, None], out=functions[place])
        slope[:, place] = rises * per_sd


# Ranks of many columns, a few at a time on all cores; correlations of ranks, and smooth curves over them.

# Columns are taken together as far as their values stay near the processor.
VALUES_AT_ONCE = 1 << 16


def in_blocks(
    work: Callable[[slice], None], n_columns: int, n_rows: int, values_at_once: int = VALUES_AT_ONCE
) -> None:
    """Call work(columns) for all columns of so many rows: the same blocks whatever the number of threads."""
    step = max(1, values_at_once // max(n_rows, 1))

    def blocks(first: int, last: int) -> None:
        for start in range(first * step, min(last * step, n_columns), step):
            work(slice(start, min(start + step, n_columns)))

    in_threads(blocks, -(-n_columns // step), n_columns * n_rows)


def ranks_of(values: F64, there: np.ndarray | None = None) -> F64:
    """Ranks from 1 on, of what is the same the mean, of values (n,) or of each row of values (m, n).

    What is not ``there`` (m, n) comes last. In half the time that SciPy takes.
    """
    if there is not None:
        values = np.where(there, values, np.inf)
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    is_new = np.ones(values.shape, dtype=bool)
    np.not_equal(ordered[..., 1:], ordered[..., :-1], out=is_new[..., 1:])
    first, n = np.flatnonzero(is_new), values.shape[-1]
    count = np.diff(np.append(first, values.size))
    ranks = np.empty(values.shape)
    mean = np.repeat(first % n + 0.5 * (count + 1.0), count).reshape(values.shape)
    np.put_along_axis(ranks, order, mean, axis=-1)
    return ranks


def rank_correlations(values: F64, missing: np.ndarray | None, others: F64) -> F64:
    """(m,) size of the correlation of ranks of columns (n, m) with those of others (n,), where measured."""
    n, m = values.shape
    found, alone = np.zeros(m), ranks_of(others)

    def work(some: slice) -> None:
        there = None if missing is None else ~missing[:, some].T
        ranks = ranks_of(values[:, some].T, there)
        beside = alone if there is None else ranks_of(np.broadcast_to(others, ranks.shape), there)
        found[some] = correlations_of(ranks, beside, there)

    in_blocks(work, m, n)
    return found


def correlations_of(values: F64, others: F64, there: np.ndarray | None = None) -> F64:
    """(m,) size of the correlation of values (m, n) with others, (n,) or (m, n), where ``there`` (m, n)."""
    one, other = (_standardized(some, there) for some in (values, np.atleast_2d(others)))
    found = np.abs(np.einsum("mn,mn->m", one, np.broadcast_to(other, one.shape)))
    count = values.shape[1] if there is None else np.maximum(there.sum(axis=1), 1)
    return found / count


def _standardized(values: F64, there: np.ndarray | None) -> F64:
    """The same with mean 0 and variance 1 among what is there, and 0 elsewhere."""
    if there is None:
        count: int | F64 = values.shape[1]
        centred = values - values.mean(axis=1, keepdims=True)
    else:
        count = np.maximum(there.sum(axis=1), 1).astype(np.float64)
        mean = np.where(there, values, 0.0).sum(axis=1) / count
        centred = np.where(there, values - mean[:, None], 0.0)
    sd = np.sqrt(np.einsum("mn,mn->m", centred, centred) / count)
    centred /= np.where(sd > 0, sd, 1.0)[:, None]
    return centred


def rank_scores(values: F64, n_terms: int) -> F64:
    """(k, n_terms, n): √2 cos(π a u) of the ranks u of each column of values (n, k); a = 1 … n_terms.

    They are standardized.
    """
    n, k = values.shape
    scores = np.empty((k, n_terms, n))

    def work(some: slice) -> None:
        for column, of_column in zip(values.T[some], scores[some], strict=True):
            _fill_cosines(ranks_of(column), of_column)

    in_blocks(work, k, n)
    return scores


def _fill_cosines(ranks: F64, scores: F64) -> None:
    """The scores (n_terms, n) of one column with these ranks."""
    straight = np.cos(np.pi * ((ranks - 0.5) / ranks.size))
    # cos (a + 1) x = 2 cos x cos a x − cos (a − 1) x.
    before, here = np.ones(ranks.size), straight
    for term in scores:
        term[:] = here
        before, here = here, 2.0 * straight * here - before
    scores -= scores.mean(axis=1, keepdims=True)
    sd = np.sqrt(np.einsum("an,an->a", scores, scores) / ranks.size)
    # Ties leave a column of few values without its finer scores.
    scores /= np.maximum(sd, 1e-3)[:, None]


# P-value from which on two errors pass for independent once something is allowed for.
EXPLAINED = 0.01
# P-value below which a curve is there at all.
CURVED = 1e-4
# Share of an error's variance from which on a curve is more than a hidden cause would draw.
MUCH = 0.08
# Part of what is wrong between two columns that a curve may leave, and still explain it.
MOST_LEFT = 0.4
# In a large cohort no curve fits wholly; one that leaves so little does.
LITTLE_LEFT = 0.02
# Pairs for which explanations are tried, the least probable first.
EXPLAINED_AT_MOST = 8
# Corrected p-value below which a column that was left out is asked for a bend: those are many, and others
# that were left out tie them to those of the model.
OUTSIDE_LEVEL = 1e-3
# Patients in whom a pair must have been measured to be asked about.
FEWEST_MEASURED = 50
# Left-out columns that are tried: those that go with both errors, by more than so many standard errors.
GOES_WITH = 3.0
LEFT_OUT_AT_MOST = 5
Explanation = Literal["order", "left out", "curve", "nothing"]


#: Where the cause is low, in the middle, and high.
Heights = tuple[float, float, float]


@dataclass(frozen=True)
class Curve:
    """A bend of one column over another.

    Attributes
    ----------
    share : of the error's variance that a curve explains and a straight line does not.
    p_value : of there being none: that a straight line, in either direction, would do.
    left : chi-square statistic of dependence that the curve leaves, as a part of what the better of two
        straight lines leaves.
    p_left : p-value of independence once the curve is allowed for.
    shape : mean of the effect against the line, in its standard deviations, where the cause is in its lowest
        tenth, in its middle fifth and in its highest tenth.
    slopes : of the effect itself, line and bend together, below and above the middle of the cause.
    backwards : whether it is the earlier column that bends over the later one.
    """

    share: float
    p_value: float
    left: float
    p_left: float
    shape: Heights
    slopes: tuple[float, float]
    backwards: bool = False

    @property
    def there(self) -> bool:
        """Whether it is more than a hidden cause would draw, and most of what is wrong between the two."""
        explains = self.left < LITTLE_LEFT or (self.left < MOST_LEFT and self.p_left > 0.1 * EXPLAINED)
        return self.p_value < CURVED and self.share >= MUCH and explains

    def turned(self) -> Curve:
        """The same between columns in the other order."""
        return replace(self, backwards=not self.backwards)


@dataclass(frozen=True)
class Drawn:
    """A curve and a line drawn through an effect over its cause; all but two numbers are (n,).

    Attributes
    ----------
    cause : as it is.
    first, second : what others leave of the cause and of the effect.
    error, left : what a line over the cause leaves of the effect, and what the curve leaves.
    share, p_value : of the error that the curve explains, and of there being none.
    """

    cause: F64
    first: F64
    second: F64
    error: F64
    left: F64
    share: float
    p_value: float

    def curve(self) -> Curve | None:
        """None where it is not there."""
        if self.share < MUCH or self.p_value >= CURVED:
            return None
        # A cause bends over its own effect, too: a line in either direction must fail.
        by_a_line = min(chi_square(self.first, self.error), self.turned_round())
        left = chi_square(self.first, self.left)
        parts = _low_middle_high(self.cause)
        at, height = (np.array(_heights(of, parts)) for of in (self.cause, self.second))
        below, above = np.diff(height) / np.maximum(np.diff(at), 1e-12)
        found = Curve(
            self.share,
            max(self.p_value, float(chdtrc(len(MOMENTS), by_a_line))),
            left / max(by_a_line, 1e-12),
            float(chdtrc(len(MOMENTS), left)),
            _heights(self.error, parts),
            (float(below), float(above)),
        )
        return found if found.there else None

    def turned_round(self) -> float:
        """Chi-square statistic of independent errors if the effect comes first."""
        return chi_square(self.second, less(self.first, self.second))


def curves_of(x: F64) -> F64:
    """(6, n) functions of standardized values (n,): a parabola and bends at quantiles."""
    knots = np.quantile(x, (0.1, 0.3, 0.5, 0.7, 0.9))
    curves = np.vstack([x * x, np.maximum(x - knots[:, None], 0.0)])
    curves -= curves.mean(axis=1, keepdims=True)
    return curves


def share_explained(curves: F64, error: F64, n_others: int) -> tuple[float, float, F64]:
    """Share of the error's variance that curves (m, n) explain, its p-value, and what they leave (n,).

    ``n_others`` : degrees of freedom that are gone already.
    """
    m, n = curves.shape
    # Least squares by a triangle that stands for all rows: curves of a few values may be sums of others.
    triangle = np.asarray(np.linalg.qr(np.vstack([curves, error]).T, mode="r"))
    unseen = np.finfo(float).eps * max(n, m)
    fitted = np.linalg.lstsq(triangle[:, :m], triangle[:, m], rcond=unseen)[0] @ curves
    share = float((fitted @ fitted) / (error @ error))
    freedom = max(n - n_others - m, 1)
    p_value = float(fdtrc(m, freedom, share / max(1.0 - share, 1e-12) * freedom / m))
    return max(0.0, 1.0 - (1.0 - share) * (n - n_others) / freedom), p_value, error - fitted


def _low_middle_high(cause: F64) -> tuple[Index, Index, Index]:
    """Rows in the lowest tenth of the cause, in its middle fifth and in its highest tenth."""
    order = np.argsort(cause, kind="stable")
    rank = np.arange(cause.size) / max(cause.size - 1, 1)
    return order[rank <= 0.1], order[(rank >= 0.4) & (rank <= 0.6)], order[rank >= 0.9]


def _heights(effect: F64, parts: tuple[Index, Index, Index]) -> Heights:
    sd = max(float(effect.std()), 1e-300)
    low, middle, high = (float(effect[part].mean()) / sd if part.size else 0.0 for part in parts)
    return low, middle, high


def less(values: F64, cause: F64) -> F64:
    """What a straight line on the cause leaves of values."""
    return values - cause * ((values @ cause) / max(float(cause @ cause), 1e-300))


def chi_square(earlier: F64, later: F64) -> float:
    """Of independence, with five degrees of freedom; infinite where one of the two is the same in all."""
    pair = np.stack([earlier, later]).T
    if not (np.ptp(pair, axis=0) > 0).all():
        return np.inf
    return float((moments_of(pair, np.array([[0, 1]])).z ** 2).sum())


def p_value_of(earlier: F64, later: F64) -> float:
    return float(chdtrc(len(MOMENTS), chi_square(earlier, later)))


@dataclass(frozen=True)
class Dependent:
    """Two errors that depend on each other.

    Attributes
    ----------
    earlier, later : their places.
    p_value : of independence, corrected for all pairs.
    strength : √(χ² / n).
    correlation : (5,) of the functions in MOMENTS.
    explanation : what would make them independent.
    curve : the bend between them, where that explains it.
    """

    earlier: int
    later: int
    p_value: float
    strength: float
    correlation: F64
    explanation: Explanation
    curve: Curve | None


@dataclass(frozen=True)
class Dependence:
    """All pairs that were looked at.

    Attributes
    ----------
    n_pairs : how many.
    n_rows, row_noun : patients, or rows of them.
    p_value : of the errors being independent whose order was learned.
    strength : √(χ² / n) of the pair of these that looks most dependent.
    found : the pairs that are dependent below ``level``, the surest first; at most EXPLAINED_AT_MOST.
    from_outside : left-out columns (their places outside) that act on places of the model by a curve.
    n_untried : dependent pairs for which there was no time to ask why.
    """

    n_pairs: int
    n_rows: int
    p_value: float
    strength: float
    found: tuple[Dependent, ...]
    from_outside: tuple[tuple[int, int, Curve], ...] = ()
    n_untried: int = 0
    row_noun: str = "patient"

    def explained_by(self, *explanations: Explanation) -> tuple[Dependent, ...]:
        """Those with one of these explanations."""
        return tuple(pair for pair in self.found if pair.explanation in explanations)


def dependent_pairs(evidence: Evidence, level: float) -> Dependence:
    """Test every pair whose later column is a number: what a few levels leave depends on their causes.

    ``level`` is the corrected p-value below which a pair is looked at more closely.
    """
    earlier, later = np.triu_indices(evidence.columns.size, 1)
    asked = ~evidence.with_levels[later] & evidence.searched[later]
    pairs = np.column_stack([earlier[asked], later[asked]])
    n = evidence.errors.shape[0]
    trial = Trial(evidence)
    from_outside = tuple(trial.bends_from_outside(OUTSIDE_LEVEL))
    if not pairs.size:
        return Dependence(0, n, 1.0, 0.0, (), from_outside, row_noun=evidence.row_noun)
    moments = moments_of(evidence.errors, pairs)
    p_values = moments.p_values
    # What is given, or has levels, is asked for bends alone, and must not crowd the others out.
    bends_alone = evidence.with_levels[pairs[:, 0]] | ~evidence.searched[pairs[:, 0]]
    counted = np.array([corrected(float(p), len(pairs)) < level for p in p_values], dtype=bool)
    surest = np.argsort(p_values, kind="stable")
    tried = [
        m
        for some in (~bends_alone, bends_alone)
        for m in surest[(counted & some)[surest]][:EXPLAINED_AT_MOST].tolist()
    ]
    found = [
        pair
        for m in sorted(tried, key=lambda m: float(p_values[m]))
        if (pair := explained(evidence, trial, pairs[m], len(pairs), level)) is not None
    ]
    of_others = np.flatnonzero(~bends_alone)
    strongest = float(moments.strength[of_others[p_values[of_others].argmin()]]) if of_others.size else 0.0
    return Dependence(
        len(pairs),
        _rows_behind(evidence),
        smallest_of_many(p_values[of_others]),
        strongest,
        tuple(found),
        from_outside,
        n_untried=int(counted.sum()) - len(tried),
        row_noun=evidence.row_noun,
    )


def _rows_behind(evidence: Evidence) -> int:
    """Patients on whom a pair rests, where many lack one of the two: the median over columns, squared."""
    n = evidence.n_rows
    if evidence.measured is None:
        return n
    return max(1, round(n * float(np.median(evidence.measured.mean(axis=0))) ** 2))


def explained(
    evidence: Evidence, trial: Trial | None, pair: Index, n_pairs: int, level: float
) -> Dependent | None:
    """What is behind a pair, or None where measurements alone do not show it, or nothing was assumed.

    Without a ``trial`` nothing is behind it.
    """
    i, j = int(pair[0]), int(pair[1])
    rows = evidence.measured_for((i, j))
    errors = columns_of(evidence.errors, pair)
    if rows is not None:
        if rows.size < FEWEST_MEASURED:
            return None
        errors = standardized(rows_of(errors, rows))
    moments = moments_of(errors, np.array([[0, 1]]))
    p_value = corrected(float(moments.p_values[0]), n_pairs)
    if p_value >= level:
        return None
    explanation: Explanation = "nothing"
    curve = None
    if trial is not None:
        trial = trial if rows is None else Trial(evidence.of_patients(rows))
        explanation, curve = trial.explain(i, j)
    if explanation != "curve" and (evidence.with_levels[i] or not evidence.searched[i]):
        # Of columns that are given, nothing but straight lines is assumed; and whether one with levels
        # comes before a number cannot be tried by straight lines.
        return None
    return Dependent(i, j, p_value, float(moments.strength[0]), moments.correlation[0], explanation, curve)


class Trial:
    """Regressions of columns on each other, from one Gram matrix."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._values = evidence.values.T

    @cached_property
    def _gram(self) -> F64:
        k, n = self._values.shape
        # Columns that hardly differ from a sum of others must not divide by zero.
        return self._values @ self._values.T / n + 1e-9 * np.eye(k)

    def explain(self, i: int, j: int) -> tuple[Explanation, Curve | None]:
        """What makes the errors at places i < j independent, and the bend between them if it is that."""
        before, between = np.arange(i), np.arange(i + 1, j)
        a, b = self._values[i], self._values[j]
        forwards, backwards = self._draw(a, b, np.append(before, between)), self._draw(b, a, before)
        curve = max(forwards, backwards, key=lambda one: one.share).curve()
        if curve is not None:
            return "curve", curve if forwards.share >= backwards.share else curve.turned()
        # The later of the two comes first: given what is before both, or what is between them as well.
        if p_value_of(backwards.first, less(backwards.second, backwards.first)) > EXPLAINED:
            return "order", None
        if chdtrc(len(MOMENTS), forwards.turned_round()) > EXPLAINED:
            return "order", None
        return "left out" if self._left_out(i, j) else "nothing", None

    def _draw(self, cause: F64, effect: F64, given: Index) -> Drawn:
        """How much of an effect a curve of its cause explains, beyond straight lines on it and ``given``."""
        first, second, *curves = self._residuals(np.vstack([cause, effect, curves_of(cause)]), given)
        error = less(second, first)
        share, p_value, left = share_explained(
            np.stack([less(one, first) for one in curves]), error, given.size + 2
        )
        return Drawn(cause, first, second, error, left, share, p_value)

    def bends_from_outside(self, level: float) -> Iterator[tuple[int, int, Curve]]:
        """Left-out columns that act on one of the model's by a curve: places of both, and the curve.

        Such a cause may not correlate with anything, and so be left out.
        """
        outside = self._evidence.outside
        asked = np.flatnonzero(~self._evidence.with_levels & self._evidence.searched)
        if not (outside.shape[1] and asked.size):
            return
        functions, _ = functions_of(outside)
        n, m, _ = functions.shape
        bent = functions.transpose(2, 1, 0)[1:].reshape(-1, n)
        errors = columns_of(self._evidence.errors, asked)
        z = bent @ errors / np.sqrt(np.square(bent, out=bent) @ errors**2 + 1e-12)
        p_values = chdtrc(2, (z.reshape(2, m, -1) ** 2).sum(axis=0))
        for flat in np.argsort(p_values, axis=None, kind="stable")[:EXPLAINED_AT_MOST]:
            column, place = np.unravel_index(flat, p_values.shape)
            if corrected(float(p_values[column, place]), p_values.size) >= level:
                return
            j = int(asked[place])
            rows = self._evidence.measured_for((j,), int(column))
            if rows is not None and rows.size < FEWEST_MEASURED:
                continue
            trial = self if rows is None else Trial(self._evidence.of_patients(rows))
            curve = trial.curve_from_outside(int(column), j)
            if curve is not None:
                yield int(column), j, curve

    def curve_from_outside(self, column: int, j: int) -> Curve | None:
        """The bend of the model's column at place j over one that was left out."""
        return self._draw(self._evidence.outside[:, column], self._values[j], np.arange(j)).curve()

    def _left_out(self, i: int, j: int) -> bool:
        """Whether a column outside the model comes before both, and makes them independent."""
        outside = self._outside(self._evidence.errors[:, i], self._evidence.errors[:, j])
        if not len(outside):
            return False
        first, second, *others = self._residuals(
            np.vstack([self._values[i], self._values[j], outside]), np.arange(i)
        )
        last, *others_later = self._residuals(np.vstack([self._values[j], outside]), np.arange(j))
        return any(
            _comes_first(one, first)
            and _comes_first(one, second)
            and p_value_of(less(first, one), less(last, later)) > EXPLAINED
            for one, later in zip(others, others_later, strict=True)
        )

    def _outside(self, a: F64, b: F64) -> F64:
        """(m, n): columns that the model left out and that go with both errors, the closest first."""
        outside = self._evidence.outside.T
        with_both = np.minimum(np.abs(outside @ a), np.abs(outside @ b)) / np.sqrt(a.size)
        closest = np.argsort(-with_both, kind="stable")[:LEFT_OUT_AT_MOST]
        found: F64 = outside[closest[with_both[closest] > GOES_WITH]]
        return found

    def _residuals(self, values: F64, given: Index) -> F64:
        """What columns at places ``given`` leave of values (m, n)."""
        if not given.size:
            return values
        n = values.shape[1]
        columns = self._values[: given[-1] + 1]
        weights = np.zeros((len(values), len(columns)))
        factor = cho_factor(self._gram[np.ix_(given, given)])
        weights[:, given] = cho_solve(factor, (columns @ values.T / n)[given]).T
        return values - weights @ columns


def _comes_first(cause: F64, effect: F64) -> bool:
    """Whether two columns are closer to independent errors in this order than in the other."""
    return p_value_of(cause, less(effect, cause)) >= p_value_of(effect, less(cause, effect))
