"""The nonlinear mechanism: a column is what its causes lead to expect, plus their spread times an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import expit

from ..method.linear import LEAST_SCALE, MOST_SCALE, check_moments, check_order
from ..method.model_parts import HETEROSCEDASTIC, LINEAR, NONLINEAR, POST_NONLINEAR, Array, ArrowCurve
from ..method.moments import reach
from ..method.table import F64, Index
from .curves import KNOTS, PIECES, Splines, curve_at, pieces_at
from .fitting import POST_NONLINEAR as ON_ANOTHER_SCALE
from .fitting import Fitted
from .memory_rows import LEAST_LIKELY, expected_level
from .rows import PRODUCT_WITHIN, TERMS_A_CAUSE, Designs, NonlinearRows
from .scales import SCORES, from_scores, to_scores

# A nonlinear mechanism laid out for compiled loops; apart from them, so that naming it needs no compiler.


class CompiledMechanism(NamedTuple):
    """A mechanism and the predictor of an outcome, laid out for loops; k places, a arrows, b products.

    Attributes
    ----------
    knots : (k, knots) of each place, padded with infinity.
    constant : (k, 2) of what is expected, and of the logarithm of the spread.
    error_mean, error_sd : (k,) of errors before they have unit variance.
    limits : (k, 2) of the logarithm of the spread; of a place with levels, of its logit.
    range : (k, 2) of values: the predictor does not change beyond.
    heteroscedastic : (k,) whether the spread differs.
    scaled : (k,) which places add up on another scale.
    marks : (k, scores) values at scores of those.
    into : (k + 1,) arrows into each place are those from into[i] up to into[i + 1].
    cause : (a,) where they come from.
    expected, spread : (a, pieces, 4) their curves.
    expected_is_line, spread_is_line : (a,) which of these are the same line everywhere.
    products_into : (k + 1,) likewise.
    factor, other_factor, expected_product, spread_product : (b,).
    level_starts : (k + 1,) likewise.
    level_values, thresholds : one column after the other.
    acting : (m,) places that act on the outcome directly.
    risk : (k, pieces, 4) by these curves.
    risk_is_line : (k,).
    risk_factor, risk_other_factor, risk_product : (c,) products in the predictor.
    needed : places that reach the outcome, in causal order.
    within : (2, 2) of both factors of a product, beyond which it does not grow.
    risk_limits : (c, 2, 2) the same of products in the predictor, by the ranges of their factors too.
    """

    knots: F64
    constant: F64
    error_mean: F64
    error_sd: F64
    limits: F64
    range: F64
    heteroscedastic: np.ndarray
    scaled: np.ndarray
    marks: F64
    into: Index
    cause: Index
    expected: F64
    spread: F64
    expected_is_line: np.ndarray
    spread_is_line: np.ndarray
    products_into: Index
    factor: Index
    other_factor: Index
    expected_product: F64
    spread_product: F64
    level_starts: Index
    level_values: F64
    thresholds: F64
    acting: Index
    risk: F64
    risk_is_line: np.ndarray
    risk_factor: Index
    risk_other_factor: Index
    risk_product: F64
    needed: Index
    within: F64
    risk_limits: F64


# Numbers of a learned mechanism stay within ± this; those of a file have to.
LARGEST_COEFFICIENT = 1e9
# Errors of unit variance are no smaller part of their column than this.
LEAST_SPREAD = 1e-9
# The step of differences that stand for slopes.
STEP = 1e-4
# By the numbers that files have for them.
FORMS = (LINEAR, NONLINEAR, HETEROSCEDASTIC, POST_NONLINEAR)
# An error that is smaller says nothing of how steep a scale is between it and what is expected.
LEAST_ERROR = 1e-3


@dataclass(frozen=True, eq=False)
class NonlinearMechanism:
    """x = f(causes) + g(causes) · error, column by column, in standard units and causal order.

    f and log g are sums of curves, one a cause, and of products of two causes. Some columns are so on another
    scale, with an even spread: their normal scores are f(causes) + error. A column with levels has a
    cumulative logit of which f is the predictor: what is expected is the mean of its levels, and the spread
    their standard deviation. Beyond the values of the cohort (extrapolation) f goes on as a line, and spreads
    and logits stay within what they were there: so an error grows no faster than the values it comes from.

    Attributes
    ----------
    n_columns : q, columns of the cohort.
    order : (k,) columns in causal order.
    mean, sd : (k,) of these columns.
    knots : (k, KNOTS) between which their curves are cubic, padded with infinity.
    constant : (k, 2) of f and of log g.
    error_mean, error_sd : (k,) of (x - f) / g in the cohort: errors are told in this unit.
    log_spread : (k, 2) lowest and highest log g of the cohort, or of a column with levels its f; no patient
        has another one. Zero where nothing differs.
    form : (k,) 0 where lines were enough, 1 where f is a curve, 2 where g differs between patients too, 3
        where they add up on another scale.
    marks : (s, SCORES) of each of the latter, its values at all scores: the scale is a line between them.
    cause, effect : (a,) places at both ends of the arrows, by effect, then by cause.
    expected : (a, PIECES, 4) the curve that an arrow adds to f.
    spread : (a, PIECES, 4) the curve that it adds to log g.
    strength : (a,) by how many standard deviations the effect varies with this cause, with the sign of the
        line.
    factor, other_factor, product_effect : (b,) places of the causes that are multiplied, and of the effect.
    expected_product, spread_product : (b,) what their product, of values kept within 2.5, adds to f and log
        g.
    n_levels : (k,) how many levels a column has; 0 for a number.
    level_values : (Σ n_levels,) in standard units, one column after the other.
    thresholds : (Σ n_levels,) of the cumulative logits, each followed by infinity.
    """

    kind: ClassVar[str] = "nonlinear"
    ARRAYS: ClassVar[Mapping[str, Array]] = {
        "order": Array(whole=True),
        "mean": Array(),
        "sd": Array(least=LEAST_SCALE, most=MOST_SCALE),
        "knots": Array(row=(KNOTS.size,), least=-LARGEST_COEFFICIENT, rising=True),
        "constant": Array.within(LARGEST_COEFFICIENT, row=(2,)),
        "error_mean": Array.within(LARGEST_COEFFICIENT),
        "error_sd": Array(least=LEAST_SPREAD, most=LARGEST_COEFFICIENT),
        "log_spread": Array.within(100.0, row=(2,), rising=True),
        "form": Array(whole=True, least=0, most=len(FORMS) - 1),
        "marks": Array.within(LARGEST_COEFFICIENT, "scales", (SCORES.size,)),
        "cause": Array.of_places("arrows"),
        "effect": Array.of_places("arrows"),
        "expected": Array.within(LARGEST_COEFFICIENT, "arrows", (PIECES, 4)),
        "spread": Array.within(LARGEST_COEFFICIENT, "arrows", (PIECES, 4)),
        "strength": Array.within(LARGEST_COEFFICIENT, "arrows"),
        "factor": Array.of_places("products"),
        "other_factor": Array.of_places("products"),
        "product_effect": Array.of_places("products"),
        "expected_product": Array.within(LARGEST_COEFFICIENT, "products"),
        "spread_product": Array.within(LARGEST_COEFFICIENT, "products"),
        "n_levels": Array(whole=True, least=0),
        "level_values": Array.within(LARGEST_COEFFICIENT, "levels_in_all"),
        "thresholds": Array("levels_in_all", least=-LARGEST_COEFFICIENT),
    }

    n_columns: int
    order: Index
    mean: F64
    sd: F64
    knots: F64
    constant: F64
    error_mean: F64
    error_sd: F64
    log_spread: F64
    form: Index
    marks: F64
    cause: Index
    effect: Index
    expected: F64
    spread: F64
    strength: F64
    factor: Index
    other_factor: Index
    product_effect: Index
    expected_product: F64
    spread_product: F64
    n_levels: Index
    level_values: F64
    thresholds: F64

    @property
    def scale(self) -> F64:
        return self.sd

    def values_at_average(self) -> F64:
        return self.mean

    @cached_property
    def arrows_into(self) -> tuple[Index, ...]:
        """The arrows into each place."""
        return tuple(np.flatnonzero(self.effect == place) for place in range(self.order.size))

    @cached_property
    def _products_into(self) -> tuple[Index, ...]:
        return tuple(np.flatnonzero(self.product_effect == place) for place in range(self.order.size))

    @cached_property
    def _level_starts(self) -> Index:
        return np.cumsum(self.n_levels) - self.n_levels

    @cached_property
    def scales(self) -> dict[int, F64]:
        """The marks of places that add up on another scale."""
        return dict(
            zip(np.flatnonzero(self.form == FORMS.index(POST_NONLINEAR)).tolist(), self.marks, strict=True)
        )

    @cached_property
    def downstream(self) -> np.ndarray:
        """(k, k), ``[i, j]``: whether what happens at place j reaches place i; it reaches itself."""
        reached = np.eye(self.order.size, dtype=bool)
        for place, arrows in enumerate(self.arrows_into):
            for cause in self.cause[arrows]:
                reached[place] |= reached[cause]
        return reached

    def errors(self, X: F64, places: Index, times: F64 | None = None, out: F64 | None = None) -> F64:
        z = (X[:, self.order] - self.mean) / self.sd
        pieces = self._pieces(z)
        found = np.empty((len(X), len(places))) if out is None else out
        for at, place in enumerate(places):
            found[:, at] = self._error(z, pieces, int(place))
        if times is not None:
            found *= times
        return found

    def conditionals(self, z: F64) -> tuple[F64, F64]:
        """(n, k) each: what is expected of every place, given the values z (n, k) in standard units, and the
        standard deviation of the cohort around it.
        """
        lines = self._lines
        if lines is not None:
            expected = z @ lines.T
            expected += self.constant[:, 0] + self.error_mean
            return expected, np.broadcast_to(self.error_sd, z.shape)
        expected, spread, pieces = np.empty_like(z), np.empty_like(z), self._pieces(z)
        for place in range(self.order.size):
            expected[:, place], spread[:, place] = self._around(z, pieces, place)
        return expected, spread

    def _error(self, z: F64, pieces: Index, place: int) -> F64:
        """The errors of a place that has these values, among others."""
        expected, spread = self._expected(z, pieces, place)
        marks = self.scales.get(place)
        own = z[:, place] if marks is None else to_scores(marks, z[:, place])
        error: F64 = ((own - expected) / spread - self.error_mean[place]) / self.error_sd[place]
        return error

    def _around(self, z: F64, pieces: Index, place: int) -> tuple[F64, F64]:
        """What is expected of a place, and the standard deviation of the cohort around it.

        On another scale that is how far a value lies off for each of its errors, as far as this one does.
        """
        expected, spread = self._expected(z, pieces, place)
        expected, spread = expected + spread * self.error_mean[place], spread * self.error_sd[place]
        marks = self.scales.get(place)
        if marks is None:
            return expected, spread
        error = (to_scores(marks, z[:, place]) - expected) / spread
        error = np.where(np.abs(error) < LEAST_ERROR, LEAST_ERROR, error)
        middle = from_scores(marks, expected)
        return middle, (from_scores(marks, expected + spread * error) - middle) / error

    def middle_probabilities(self, z: F64, place: int) -> F64:
        """(n,) of a place with levels how likely a lower level was, and half of how likely this one was."""
        values, thresholds = self.levels_at(place)
        predictor, _ = self._predictors(z, self._pieces(z), place)
        below = expit(thresholds - np.clip(predictor, *self.log_spread[place])[:, None])
        ends = np.column_stack([np.zeros(len(z)), below, np.ones(len(z))])
        level = np.abs(z[:, place, None] - values).argmin(axis=1)
        rows = np.arange(len(z))
        middle = 0.5 * (ends[rows, level] + ends[rows, level + 1])
        return np.clip(middle, LEAST_LIKELY, 1.0 - LEAST_LIKELY)

    @cached_property
    def _lines(self) -> F64 | None:
        """(k, k), ``[i, j]``: by how much place i grows with j; None where something is not linear."""
        if self.form.any() or self.n_levels.any():
            return None
        lines = np.zeros((self.order.size, self.order.size))
        lines[self.effect, self.cause] = self.expected[:, 0, 1]
        return lines

    def values(self, errors: F64) -> F64:
        return self.standard_values(errors) * self.sd + self.mean

    def standard_values(self, errors: F64) -> F64:
        """(n, k): the same in standard units."""
        z = np.zeros_like(errors)
        pieces = np.zeros(errors.shape, dtype=np.intp)
        for place in range(self.order.size):
            self._propagate(z, pieces, place, errors[:, place])
        return z

    def what_if(self, X: F64, place: int, error: float | F64) -> F64:
        errors = self.errors(X, np.arange(self.order.size))
        errors[:, [place]] = error
        z = (X[:, self.order] - self.mean) / self.sd
        pieces, values = self._pieces(z), X.copy()
        for after in np.flatnonzero(self.downstream[:, place]):
            self._propagate(z, pieces, int(after), errors[:, after])
            values[:, self.order[after]] = z[:, after] * self.sd[after] + self.mean[after]
        return values

    def slopes(self) -> F64:
        k = self.order.size
        moved = self.mean + np.vstack([np.eye(k), -np.eye(k)]) * STEP * self.sd
        X = np.zeros((2 * k, self.n_columns))
        X[:, self.order] = moved
        up, down = np.vsplit(self.errors(X, np.arange(k)), 2)
        return (up - down) / (2.0 * STEP * self.sd[:, None])

    def direct_effects(self) -> F64:
        effects = np.zeros((self.order.size, self.order.size))
        effects[self.effect, self.cause] = self.strength
        return effects

    def total_effects(self) -> F64:
        k = self.order.size
        both = np.vstack([np.zeros((1, k)), np.eye(k)])
        z = self.standard_values(both)
        return (z[1:] - z[0]).T

    def forms(self) -> list[str]:
        return [FORMS[form] for form in self.form]

    def arrow_curve(self, cause: int, effect: int, z: F64) -> ArrowCurve:
        average = np.zeros((z.size, self.order.size))
        average[:, cause] = z
        expected, spread = self._expected(average, self._pieces(average), effect)
        if not self.n_levels[effect]:
            expected, spread = expected + spread * self.error_mean[effect], spread * self.error_sd[effect]
        if effect in self.scales:
            marks = self.scales[effect]
            low, high = (from_scores(marks, expected + side * spread) for side in (-1.0, 1.0))
            expected, spread = from_scores(marks, expected), 0.5 * (high - low)
        return ArrowCurve(expected, spread)

    def reach(self) -> F64:
        return reach(self.mean, self.sd)

    def on_columns(self, columns: Index, n_columns: int) -> NonlinearMechanism:
        return replace(self, order=columns[self.order], n_columns=n_columns)

    def levels_at(self, place: int) -> tuple[F64, F64]:
        """The values of the levels of a place, and the thresholds between them; empty for a number."""
        at = slice(self._level_starts[place], self._level_starts[place] + self.n_levels[place])
        return self.level_values[at], self.thresholds[at][:-1]

    def _pieces(self, z: F64) -> Index:
        found = np.empty(z.shape, dtype=np.intp)
        for place in range(z.shape[1]):
            found[:, place] = pieces_at(self.knots[place], z[:, place])
        return found

    def _expected(self, z: F64, pieces: Index, place: int) -> tuple[F64, F64]:
        """What is expected of a place given the values before it, and the spread around that."""
        f, log_g = self._predictors(z, pieces, place)
        if self.n_levels[place]:
            values, thresholds = self.levels_at(place)
            return expected_level(np.clip(f, *self.log_spread[place]), thresholds, values)
        return f, np.exp(np.clip(log_g, *self.log_spread[place]))

    def _predictors(self, z: F64, pieces: Index, place: int) -> tuple[F64, F64]:
        """What f and log g of a place are given the values before it."""
        f = np.full(len(z), self.constant[place, 0])
        log_g = np.full(len(z), self.constant[place, 1])
        for arrow in self.arrows_into[place]:
            cause = self.cause[arrow]
            f += curve_at(self.expected[arrow], pieces[:, cause], z[:, cause])
            log_g += curve_at(self.spread[arrow], pieces[:, cause], z[:, cause])
        for product in self._products_into[place]:
            factors = z[:, [self.factor[product], self.other_factor[product]]]
            both = np.clip(factors, -PRODUCT_WITHIN, PRODUCT_WITHIN).prod(axis=1)
            f += self.expected_product[product] * both
            log_g += self.spread_product[product] * both
        return f, log_g

    def _propagate(self, z: F64, pieces: Index, place: int, errors: F64) -> None:
        """Work out the values of a place from those before it and its errors."""
        expected, spread = self._expected(z, pieces, place)
        value = expected + spread * (self.error_mean[place] + self.error_sd[place] * errors)
        z[:, place] = from_scores(self.scales[place], value) if place in self.scales else value
        pieces[:, place] = pieces_at(self.knots[place], z[:, place])

    def check(self) -> None:
        check_order(self.order, self.n_columns)
        check_moments(self.mean, self.sd)
        self._check_curves()
        self._check_arrows()
        self._check_levels()

    def _check_curves(self) -> None:
        if ((self.knots > LARGEST_COEFFICIENT) & ~np.isposinf(self.knots)).any():
            raise ValueError("the knots of its curves are out of range")
        # Beyond the last knot, where no patient may have been, curves are lines.
        beyond = np.isposinf(self.knots[self.cause]).sum(axis=1)
        for curves in (self.expected, self.spread):
            last = curves[np.arange(len(curves)), KNOTS.size - beyond]
            if curves[:, 0, 2:].any() or last[:, 2:].any():
                raise ValueError("a curve is no line beyond its knots")
        if len(self.marks) != (self.form == FORMS.index(POST_NONLINEAR)).sum():
            raise ValueError("the scales of its columns do not fit together")
        if not (np.diff(self.marks, axis=1) > 0.0).all() or self.n_levels[list(self.scales)].any():
            raise ValueError("a scale does not rise")
        even = np.asarray(self.form != FORMS.index(HETEROSCEDASTIC))
        limits = self.log_spread[even & (self.n_levels == 0)]
        spreads = (self.constant[even, 1], limits, self.spread[even[self.effect]])
        if any(some.any() for some in (*spreads, self.spread_product[even[self.product_effect]])):
            raise ValueError("a spread differs where it is said to be even")

    def _check_arrows(self) -> None:
        k = self.order.size
        earlier = np.concatenate([self.cause, self.factor, self.other_factor])
        later = np.concatenate([self.effect, self.product_effect, self.product_effect])
        if not (earlier < later).all():
            raise ValueError("an arrow points against the causal order")
        if np.unique(self.effect * k + self.cause).size != self.cause.size:
            raise ValueError("two arrows join the same places")
        joined = set((self.effect * k + self.cause).tolist())
        for factors in (self.factor, self.other_factor):
            if not joined.issuperset((self.product_effect * k + factors).tolist()):
                raise ValueError("a product has a factor that is no cause")

    def _check_levels(self) -> None:
        if not self.n_levels.sum() == self.level_values.size == self.thresholds.size:
            raise ValueError("the numbers of levels do not fit together")
        for place in np.flatnonzero(self.n_levels):
            values, thresholds = self.levels_at(int(place))
            if values.size < 2 or not (np.diff(values) > 0).all() or not (np.diff(thresholds) >= 0).all():
                raise ValueError("the levels of a column are out of order")
            last = self._level_starts[place] + self.n_levels[place] - 1
            if not (np.abs(thresholds) <= LARGEST_COEFFICIENT).all() or self.thresholds[last] != np.inf:
                raise ValueError("the levels of a column are out of range")

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any], n_columns: int) -> NonlinearMechanism:
        return cls(n_columns, **fields)

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be worked out again."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


# From a graph and its fitted columns to a mechanism in causal order.


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns that mechanisms were fitted to.

    Attributes
    ----------
    column : (c,) which columns of the cohort they are.
    mean, sd : (c,) of them.
    splines : of them.
    level_values : of each, in standard units; empty for a number.
    """

    column: Index
    mean: F64
    sd: F64
    splines: Splines
    level_values: tuple[F64, ...]


def build(
    columns: Columns, order: Sequence[int], fitted: Sequence[Fitted], rows: NonlinearRows, n_columns: int
) -> NonlinearMechanism:
    """The mechanism of columns in this causal order; ``fitted`` of each, in the order of ``columns``."""
    place = np.empty(len(order), dtype=np.intp)
    place[list(order)] = np.arange(len(order))
    chosen = [fitted[column] for column in order]
    arrows, products = [], []
    for effect, (column, one) in enumerate(zip(order, chosen, strict=True)):
        curves, multiplied = parts_of(one, columns.splines)
        strength = strengths(one, columns.level_values[column])
        arrows += [(effect, int(place[cause]), strength[cause], *both) for cause, both in curves.items()]
        products += [(effect, int(place[a]), int(place[b]), *both) for a, b, *both in multiplied]
    arrows.sort(key=lambda arrow: arrow[:2])
    levels = [columns.level_values[column] for column in order]
    at = np.array(order, dtype=np.intp)
    return NonlinearMechanism(
        n_columns=n_columns,
        order=at,
        mean=columns.mean[at],
        sd=columns.sd[at],
        knots=columns.splines.knots[at],
        constant=np.array(
            [[one.beta[0], 0.0 if one.gamma is None else one.gamma[0]] for one in chosen]
        ).reshape(-1, 2),
        error_mean=np.array([one.mean for one in chosen]),
        error_sd=np.array([one.sd for one in chosen]),
        log_spread=_limits(order, chosen, rows),
        form=np.array([one.form for one in chosen], dtype=np.intp),
        marks=columns.splines.marks[at[[one.form == ON_ANOTHER_SCALE for one in chosen]]],
        cause=np.array([arrow[1] for arrow in arrows], dtype=np.intp),
        effect=np.array([arrow[0] for arrow in arrows], dtype=np.intp),
        expected=np.array([arrow[3] for arrow in arrows]).reshape(-1, PIECES, 4),
        spread=np.array([arrow[4] for arrow in arrows]).reshape(-1, PIECES, 4),
        strength=np.array([arrow[2] for arrow in arrows], dtype=np.float64),
        factor=np.array([product[1] for product in products], dtype=np.intp),
        other_factor=np.array([product[2] for product in products], dtype=np.intp),
        product_effect=np.array([product[0] for product in products], dtype=np.intp),
        expected_product=np.array([product[3] for product in products], dtype=np.float64),
        spread_product=np.array([product[4] for product in products], dtype=np.float64),
        n_levels=np.array([some.size for some in levels], dtype=np.intp),
        level_values=np.concatenate([np.empty(0), *levels]),
        thresholds=np.concatenate(
            [
                np.empty(0),
                *(np.append(one.thresholds, np.inf) for one in chosen if one.thresholds is not None),
            ]
        ),
    )


def _limits(order: Sequence[int], fitted: Sequence[Fitted], rows: NonlinearRows) -> F64:
    """(k, 2) lowest and highest logarithm of each spread in the cohort; of levels, their logit."""
    limits = np.zeros((len(order), 2))
    for place, (column, one) in enumerate(zip(order, fitted, strict=True)):
        told = one.gamma if one.thresholds is None else one.beta
        if told is not None:
            limits[place] = rows.spread_limits(Designs.of([column], [one.terms]), told[None])[0]
    return limits


def parts_of(
    fitted: Fitted, splines: Splines
) -> tuple[dict[int, tuple[F64, F64]], list[tuple[int, int, float, float]]]:
    """Curves (expected, spread) by the column of the cause, and products (a, b, expected, spread)."""
    gamma = np.zeros_like(fitted.beta) if fitted.gamma is None else fitted.gamma
    curves: dict[int, tuple[F64, F64]] = {}
    products = []
    for (first, second), b, g in zip(fitted.terms, fitted.beta[1:], gamma[1:], strict=True):
        cause, term = divmod(first, TERMS_A_CAUSE)
        if second >= 0:
            products.append((cause, second // TERMS_A_CAUSE, float(b), float(g)))
            continue
        expected, spread = curves.setdefault(cause, (np.zeros((PIECES, 4)), np.zeros((PIECES, 4))))
        expected += b * splines.curves[cause, term]
        spread += g * splines.curves[cause, term]
    return curves, products


def strengths(fitted: Fitted, level_values: F64) -> dict[int, float]:
    """By the column of each cause: how many standard deviations the effect varies by with it.

    Splines of a column are uncorrelated and of unit variance, so that squares of coefficients add up. What
    differs with a cause is what is expected, and the spread around it; the sign is that of the line.
    A product counts for half with either cause.
    """
    gamma = np.zeros_like(fitted.beta) if fitted.gamma is None else fitted.gamma
    size = np.exp(gamma[0]) * fitted.sd
    # What a unit of the predictor does to a level that is expected.
    per_unit = 1.0
    if fitted.thresholds is not None:
        mean, _ = expected_level(np.array([-0.5, 0.5]), fitted.thresholds, level_values)
        per_unit = float(mean[1] - mean[0])
    squares: dict[int, float] = {}
    signs: dict[int, float] = {}
    for (first, second), b, g in zip(fitted.terms, fitted.beta[1:], gamma[1:], strict=True):
        square = (per_unit * b) ** 2 + (size * g) ** 2
        cause, term = divmod(first, TERMS_A_CAUSE)
        if second < 0 and term == 0:
            signs[cause] = -1.0 if b < 0 else 1.0
        share = 1.0 if second < 0 else 0.5
        for one in (cause,) if second < 0 else (cause, second // TERMS_A_CAUSE):
            squares[one] = squares.get(one, 0.0) + share * square
    return {cause: signs.get(cause, 1.0) * float(np.sqrt(square)) for cause, square in squares.items()}
