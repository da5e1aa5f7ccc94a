"""Which errors depend on each other, and what would explain it.

The errors of a right model are independent. Where two are not, four things may be behind it: the order of the
two is wrong, a column that moves both was measured but left out of the model, the one bends with the other,
or something moves both that was not measured. The first three can be tried: if the errors are independent
once it is allowed for, that explains it. What nothing explains points to a hidden cause.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.stats import chi2
from scipy.stats import f as f_distribution

from ..core.table import F64, Index
from .evidence import Evidence
from .many_tests import corrected, smallest_of_many
from .moments import MOMENTS, functions_of, moments_of

# Pairs for which explanations are tried, the least probable first.
EXPLAINED_AT_MOST = 8
# Corrected p-value below which a column that was left out is asked for a bend: those are many, and others
# that were left out tie them to those of the model.
OUTSIDE_LEVEL = 1e-3
# Patients in whom a pair must have been measured to be asked about.
FEWEST_MEASURED = 50
# P-value from which on two errors pass for independent once something is allowed for.
EXPLAINED = 0.01
# P-value below which a curve is there at all.
BENT = 1e-4
# Left-out columns that are tried: those that go with both errors, by more than so many standard errors.
GOES_WITH = 3.0
LEFT_OUT_AT_MOST = 5
# Share of an error's variance from which on a curve is more than a hidden cause would draw.
MUCH = 0.08
# Part of what is wrong between two columns that a curve may leave, and still explain it.
MOST_LEFT = 0.4
# In a large cohort no curve fits wholly; one that leaves so little does.
LITTLE_LEFT = 0.02

#: Where the cause is low, in the middle, and high.
Heights = tuple[float, float, float]
Explanation = Literal["order", "left out", "bent", "nothing"]


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
        return self.p_value < BENT and self.share >= MUCH and explains

    def turned(self) -> Curve:
        """The same between columns in the other order."""
        return replace(self, backwards=not self.backwards)


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
    curve : the stronger of the bends between them.
    """

    earlier: int
    later: int
    p_value: float
    strength: float
    correlation: F64
    explanation: Explanation
    curve: Curve


@dataclass(frozen=True)
class Dependence:
    """All pairs that were looked at.

    Attributes
    ----------
    n_pairs : how many.
    n_rows : patients.
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
    trial = _Trial(evidence)
    from_outside = tuple(trial.bends_from_outside(OUTSIDE_LEVEL))
    if not pairs.size:
        return Dependence(0, n, 1.0, 0.0, (), from_outside)
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
        if (pair := _explained(evidence, trial, pairs[m], len(pairs), level)) is not None
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
    )


def _rows_behind(evidence: Evidence) -> int:
    """Patients on whom a pair rests, where many lack one of the two: the median over columns, squared."""
    n = evidence.n_rows
    if evidence.measured is None:
        return n
    return max(1, round(n * float(np.median(evidence.measured.mean(axis=0))) ** 2))


def _explained(
    evidence: Evidence, trial: _Trial, pair: Index, n_pairs: int, level: float
) -> Dependent | None:
    """What is behind a pair, or None where measurements alone do not show it, or nothing was assumed."""
    i, j = int(pair[0]), int(pair[1])
    rows = evidence.measured_for((i, j))
    if rows is not None:
        if rows.size < FEWEST_MEASURED:
            return None
        evidence = evidence.of_patients(rows)
        trial = _Trial(evidence)
    moments = moments_of(evidence.errors[:, [i, j]], np.array([[0, 1]]))
    p_value = corrected(float(moments.p_values[0]), n_pairs)
    if p_value >= level:
        return None
    explanation, curve = trial.explain(i, j)
    if explanation != "bent" and (evidence.with_levels[i] or not evidence.searched[i]):
        # Of columns that are given, nothing but straight lines is assumed; and whether one with levels
        # comes before a number cannot be tried by straight lines.
        return None
    return Dependent(i, j, p_value, float(moments.strength[0]), moments.correlation[0], explanation, curve)


class _Trial:
    """Regressions of columns on each other, from one Gram matrix."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._values = evidence.values
        n, k = self._values.shape
        # Columns that hardly differ from a sum of others must not divide by zero.
        self._gram = self._values.T @ self._values / n + 1e-9 * np.eye(k)

    def explain(self, i: int, j: int) -> tuple[Explanation, Curve]:
        """What makes the errors at places i < j independent, and the stronger of the curves between them."""
        before, between = np.arange(i), np.arange(i + 1, j)
        a, b = self._values[:, i], self._values[:, j]
        curve = max(
            self._curve(a, b, np.append(before, between)),
            self._curve(b, a, before).turned(),
            key=lambda one: one.share,
        )
        if curve.there:
            return "bent", curve
        if any(self._reversed(a, b, given) for given in (before, np.append(before, between))):
            return "order", curve
        if self._left_out(i, j):
            return "left out", curve
        return "nothing", curve

    def _curve(self, cause: F64, effect: F64, given: Index) -> Curve:
        """How much of an effect a curve of its cause explains, beyond straight lines on it and ``given``."""
        first, second = self._residual(cause, given), self._residual(effect, given)
        curves = [_less(self._residual(one, given), first) for one in curves_of(cause).T]
        error = _less(second, first)
        share, p_value, straight = share_explained(np.column_stack(curves), error, given.size + 2)
        # A cause bends over its own effect, too: a line in either direction must fail.
        by_a_line = min(_chi_square(first, error), _chi_square(second, _less(first, second)))
        p_line = float(chi2.sf(by_a_line, len(MOMENTS)))
        left = _chi_square(first, straight)
        at, height = np.array(_heights(cause, cause)), np.array(_heights(cause, second))
        below, above = np.diff(height) / np.maximum(np.diff(at), 1e-12)
        slopes = (float(below), float(above))
        return Curve(
            share,
            max(p_value, p_line),
            left / max(by_a_line, 1e-12),
            float(chi2.sf(left, len(MOMENTS))),
            _heights(cause, error),
            slopes,
        )

    def bends_from_outside(self, level: float) -> Iterator[tuple[int, int, Curve]]:
        """Left-out columns that act on one of the model's by a curve: places of both, and the curve.

        Such a cause may not correlate with anything, and so be left out.
        """
        outside, errors = self._evidence.outside, self._evidence.errors
        asked = np.flatnonzero(~self._evidence.with_levels & self._evidence.searched)
        if not (outside.shape[1] and asked.size):
            return
        functions, _ = functions_of(outside)
        n, m, _ = functions.shape
        bent = functions[:, :, 1:].reshape(n, -1)
        z = bent.T @ errors[:, asked] / np.sqrt((bent**2).T @ errors[:, asked] ** 2 + 1e-12)
        p_values = chi2.sf((z.reshape(m, 2, -1) ** 2).sum(axis=1), 2)
        for flat in np.argsort(p_values, axis=None, kind="stable")[:EXPLAINED_AT_MOST]:
            column, place = np.unravel_index(flat, p_values.shape)
            if corrected(float(p_values[column, place]), p_values.size) >= level:
                return
            j = int(asked[place])
            rows = self._evidence.measured_for((j,), int(column))
            if rows is not None and rows.size < FEWEST_MEASURED:
                continue
            trial = self if rows is None else _Trial(self._evidence.of_patients(rows))
            curve = trial.curve_from_outside(int(column), j)
            if curve.there:
                yield int(column), j, curve

    def curve_from_outside(self, column: int, j: int) -> Curve:
        """The bend of the model's column at place j over one that was left out."""
        return self._curve(self._evidence.outside[:, column], self._values[:, j], np.arange(j))

    def _reversed(self, a: F64, b: F64, given: Index) -> bool:
        """Whether the errors are independent if b comes first."""
        left_b = self._residual(b, given)
        return _p_value(left_b, _less(self._residual(a, given), left_b)) > EXPLAINED

    def _left_out(self, i: int, j: int) -> bool:
        """Whether a column outside the model comes before both, and makes them independent."""
        a, b = self._evidence.errors[:, i], self._evidence.errors[:, j]
        before, before_later = np.arange(i), np.arange(j)
        for column in self._outside(a, b):
            c = self._residual(column, before)
            first = self._residual(self._values[:, i], before)
            second = self._residual(self._values[:, j], before)
            if _comes_first(c, first) and _comes_first(c, second):
                left_a = _less(first, c)
                c_later = self._residual(column, before_later)
                left_b = _less(self._residual(self._values[:, j], before_later), c_later)
                if _p_value(left_a, left_b) > EXPLAINED:
                    return True
        return False

    def _outside(self, a: F64, b: F64) -> Iterator[F64]:
        """Columns that the model left out and that go with both errors, the closest first."""
        outside = self._evidence.outside
        if not outside.shape[1]:
            return
        n = a.size
        with_both = np.minimum(np.abs(outside.T @ a), np.abs(outside.T @ b)) / np.sqrt(n)
        for column in np.argsort(-with_both, kind="stable")[:LEFT_OUT_AT_MOST]:
            if with_both[column] > GOES_WITH:
                yield outside[:, column]

    def _residual(self, values: F64, given: Index) -> F64:
        """What columns at places ``given`` leave of values (n,)."""
        if not given.size:
            return values
        columns = self._values[:, given]
        factor = cho_factor(self._gram[np.ix_(given, given)])
        return values - columns @ cho_solve(factor, columns.T @ values / values.size)


def curves_of(x: F64) -> F64:
    """(n, 6) functions of standardized values (n,): a parabola and bends at quantiles."""
    knots = np.quantile(x, (0.1, 0.3, 0.5, 0.7, 0.9))
    bends = [np.maximum(x - knot, 0.0) for knot in knots]
    curves = np.column_stack([x * x, *bends])
    return curves - curves.mean(axis=0)


def share_explained(curves: F64, error: F64, n_others: int) -> tuple[float, float, F64]:
    """Share of the error's variance that curves (n, m) explain, its p-value, and what they leave (n,).

    ``n_others`` : degrees of freedom that are gone already.
    """
    n, m = curves.shape
    fitted = curves @ np.linalg.lstsq(curves, error, rcond=None)[0]
    share = float((fitted @ fitted) / (error @ error))
    freedom = max(n - n_others - m, 1)
    p_value = float(f_distribution.sf(share / max(1.0 - share, 1e-12) * freedom / m, m, freedom))
    return max(0.0, 1.0 - (1.0 - share) * (n - n_others) / freedom), p_value, error - fitted


def _heights(cause: F64, effect: F64) -> Heights:
    rank = np.argsort(np.argsort(cause, kind="stable"), kind="stable") / max(cause.size - 1, 1)
    parts = (rank <= 0.1, (rank >= 0.4) & (rank <= 0.6), rank >= 0.9)
    sd = max(float(effect.std()), 1e-300)
    low, middle, high = (float(effect[part].mean()) / sd if part.any() else 0.0 for part in parts)
    return low, middle, high


def _less(values: F64, cause: F64) -> F64:
    """What a straight line on the cause leaves of values."""
    return values - cause * ((values @ cause) / max(float(cause @ cause), 1e-300))


def _chi_square(earlier: F64, later: F64) -> float:
    """Of independence, with five degrees of freedom; infinite where one of the two is the same in all."""
    pair = np.column_stack([earlier, later])
    if not (pair.std(axis=0) > 0).all():
        return np.inf
    return float((moments_of(pair, np.array([[0, 1]])).z ** 2).sum())


def _p_value(earlier: F64, later: F64) -> float:
    return float(chi2.sf(_chi_square(earlier, later), len(MOMENTS)))


def _comes_first(cause: F64, effect: F64) -> bool:
    """Whether two columns are closer to independent errors in this order than in the other."""
    return _p_value(cause, _less(effect, cause)) >= _p_value(effect, _less(cause, effect))
