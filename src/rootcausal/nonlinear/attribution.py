"""What errors add to the outcome through nonlinear mechanisms: its predictor, and Shapley values.

There is one kind for each outcome (:func:`nonlinear_kind`), made of that outcome's linear attribution: what a
predictor means, it asks of that one, and in files it has that one's arrays beside its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property, partial
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np

from ..backends.cpu.on_demand import in_threads
from ..method.linear import NOTABLE_LOG_ODDS
from ..method.model_parts import LINEAR, MODEL, NONLINEAR, Array, Attribution, Mechanism, Sampled
from ..method.table import F64, LARGEST, Index
from .coalitions import Coalitions, Room, Rows
from .curves import KNOTS, PIECES, curve_at, pieces_at
from .fitting import HETEROSCEDASTIC, POST_NONLINEAR
from .mechanism import LARGEST_COEFFICIENT, CompiledMechanism, NonlinearMechanism
from .rows import PRODUCT_WITHIN
from .scales import SCORES
from .shapley import AVERAGED_OVER, SEED, Match, people

# Quantiles that are kept of each error: average people are drawn by them.
STEPS = 129
# People over whom effects are averaged.
EFFECTS_OVER = 1024
# What hardly varies has no effect to be told by a unit.
LEAST_WIDTH = 1e-9
# Predictors differ by less than this from rounding alone.
ROUNDING = 1e-12
# Effects that add up do so to this part of their size.
ADDS_UP = 1e-9
# Numbers that are kept at a time while patients are explained: 8 MB.
VALUES_AT_ONCE = 2**20
# What linear attributions call what a unit of each error adds.
EFFECTS = "coef"


@dataclass(frozen=True, eq=False)
class NonlinearAttribution:
    """The predictor as curves of the variables and products of two, pushed through their mechanisms.

    Attributes
    ----------
    mechanism : the other half, which it needs to know what an error does.
    of_outcome : the linear attribution of the outcome, in which nothing has an effect.
    intercept : of the predictor.
    curves : (k, PIECES, 4) what each variable adds directly, in standard units of it.
    strength : (k,) by how much that varies, with the sign of the line.
    factor, other_factor : (b,) places of variables that are multiplied, kept within 2.5.
    product : (b,) what their product adds.
    quantiles : (k, STEPS) of the errors in the cohort, with mean zero.
    range : (k, 2) lowest and highest value of each variable in the cohort, in standard units: what a variable
        adds beyond them is what it adds at them (flat extrapolation). Draws of errors that no patient has
        together would else decide the average. What it does to other variables goes on as a line.
    average : mean predictor over errors so distributed: what Shapley values add up from.
    """

    kind: ClassVar[str]
    outcome: ClassVar[str]
    LINEAR: ClassVar[type[Attribution]]
    ARRAYS: ClassVar[Mapping[str, Array]] = {
        "intercept": Array.within(LARGEST, MODEL),
        "curves": Array.within(LARGEST, row=(PIECES, 4)),
        "strength": Array.within(LARGEST),
        "factor": Array.of_places("products"),
        "other_factor": Array.of_places("products"),
        "product": Array.within(LARGEST, "products"),
        "quantiles": Array.within(LARGEST, row=(STEPS,), rising=True),
        "range": Array.within(LARGEST_COEFFICIENT, row=(2,), rising=True),
        "average": Array.within(LARGEST, MODEL),
    }

    mechanism: NonlinearMechanism
    of_outcome: Attribution
    intercept: float
    curves: F64
    strength: F64
    factor: Index
    other_factor: Index
    product: F64
    quantiles: F64
    range: F64
    average: float

    @classmethod
    def of(
        cls,
        mechanism: NonlinearMechanism,
        of_outcome: Attribution,
        curves: F64,
        strength: F64,
        products: Sequence[tuple[int, int, float]],
        quantiles: F64,
        within: F64,
    ) -> Self:
        """With the average of the predictor worked out."""
        middle = 0.5 * (quantiles[:, 1:] + quantiles[:, :-1])
        unfinished = cls(
            mechanism,
            of_outcome,
            of_outcome.base_value,
            curves,
            strength,
            np.array([a for a, _, _ in products], dtype=np.intp),
            np.array([b for _, b, _ in products], dtype=np.intp),
            np.array([weight for _, _, weight in products], dtype=np.float64),
            quantiles - middle.mean(axis=1, keepdims=True),
            within,
            0.0,
        )
        many = people(unfinished.quantiles, unfinished._drawn, AVERAGED_OVER, (SEED,))
        average = float(unfinished.predictor(many).mean())
        of_outcome, less = of_outcome.centred(average)
        intercept = unfinished.intercept - less
        return replace(unfinished, of_outcome=of_outcome, intercept=intercept, average=average - less)

    def with_outcome(self, of_outcome: Attribution) -> Self:
        return replace(self, of_outcome=of_outcome)

    def centred(self, average: float) -> tuple[Self, float]:
        of_outcome, less = self.of_outcome.centred(average)
        return replace(self, of_outcome=of_outcome, intercept=self.intercept - less), less

    @property
    def base_value(self) -> float:
        return self.average

    @property
    def notable(self) -> float:
        return self.of_outcome.notable

    @property
    def proportional(self) -> bool:
        return False

    @property
    def _unit(self) -> float:
        """Of the predictor: one log-odds, or what is as much of a number."""
        return self.notable / NOTABLE_LOG_ODDS

    @cached_property
    def unit_effects(self) -> F64:
        k = self.mechanism.order.size
        # As curves have it: the range of a column may end before its first standard deviation.
        unlimited = np.tile([-np.inf, np.inf], (k, 1))
        of_products = self._limits_of_products(unlimited)
        unbounded = self._compiled._replace(range=unlimited, risk_limits=of_products)
        told = _predictors(unbounded, np.vstack([np.zeros((1, k)), np.eye(k)]))
        return told[1:] - told[0]

    @cached_property
    def average_effects(self) -> F64:
        found, many = np.zeros(self.mechanism.order.size), self._many
        for place in np.flatnonzero(self.matters):
            up, down = many.copy(), many.copy()
            ends = self.quantiles[place, [0, -1]]
            up[:, place], down[:, place] = _half_a_unit_to_either_side(many[:, place], ends)
            width = float((up - down)[:, place].mean())
            found[place] = (self.predictor(up) - self.predictor(down)).mean() / max(width, LEAST_WIDTH)
        return found

    def average_direct_effects(self, mechanism: Mechanism) -> F64:
        z = self.mechanism.standard_values(self._many)
        found, widths = np.zeros((2, self.mechanism.order.size))
        sides = [_half_a_unit_to_either_side(own, ends) for own, ends in zip(z.T, self.range, strict=True)]
        for place, (up, down) in enumerate(sides):
            curve = partial(self.outcome_curve, mechanism, place)
            found[place], widths[place] = (curve(up) - curve(down)).mean(), (up - down).mean()
        limited = partial(np.clip, a_min=-PRODUCT_WITHIN, a_max=PRODUCT_WITHIN)
        for a, b, weight in zip(self.factor, self.other_factor, self.product, strict=True):
            for own, other in ((a, b), (b, a)):
                up, down = map(limited, sides[own])
                found[own] += weight * float(((up - down) * limited(z[:, other])).mean())
        return np.asarray(found / np.maximum(widths, LEAST_WIDTH))

    @cached_property
    def _many(self) -> F64:
        """(n, k) errors of people over whom effects are averaged."""
        return people(self.quantiles, np.flatnonzero(self.matters), EFFECTS_OVER, (SEED,))

    def importance(self) -> F64:
        k = self.mechanism.order.size
        told = self.predictor(np.vstack([np.zeros((1, k)), np.eye(k), -np.eye(k)]))
        return np.abs(told[1:] - told[0]).reshape(2, k).max(axis=0)

    def effects_on_outcome(self, mechanism: Mechanism) -> F64:
        return self.strength

    def outcome_curve(self, mechanism: Mechanism, place: int, z: F64) -> F64:
        seen = np.clip(z, *self.range[place])
        return curve_at(self.curves[place], pieces_at(self.mechanism.knots[place], seen), seen)

    def predictor(self, errors: F64) -> F64:
        return self.intercept + _predictors(self._compiled, errors)

    def predicted(self, predictor: F64) -> F64:
        return self.of_outcome.predicted(predictor)

    def shapley(self, errors: F64) -> F64:
        return self.sampled(errors).values

    def sampled(self, errors: F64) -> Sampled:
        """Shapley values of errors (n, k), and their standard errors.

        With the base value, rows sum to the predictor: what sampling left over is shared out among the values
        that were sampled, most to those that are least sure.
        """
        errors = np.ascontiguousarray(errors, dtype=np.float64)
        values, noise = np.zeros_like(errors), np.zeros_like(errors)
        values[:, self._linear] = errors[:, self._linear] * self.unit_effects[self._linear]
        told = self.predictor(errors)
        adds_up = self._adds_up_in(errors, values, told)
        for some, places in ((adds_up, self._sampled_places), (~adds_up, np.flatnonzero(self.matters))):
            if not some.any():
                continue
            if places.size > 1:
                found = self._played(errors[some], places)
                values[np.ix_(some, places)], noise[np.ix_(some, places)] = found
            # What is left is noise or, of the only one that is sampled, all that it adds.
            shared = np.ix_(some, places if places.size else self._linear)
            rest = told[some] - self.base_value - values[some].sum(axis=1)
            share = (noise if places.size else values)[shared] ** 2 + (ROUNDING * self._unit) * self._unit
            values[shared] += rest[:, None] * share / share.sum(axis=1, keepdims=True)
        return Sampled(values, noise)

    def _adds_up_in(self, errors: F64, values: F64, told: F64) -> np.ndarray:
        """(n,) for which patients errors that should add up in proportion do.

        They do not where the range of a variable ends between these errors and the others: then all errors
        have to be walked through.
        """
        linear = np.zeros_like(errors)
        linear[:, self._linear] = errors[:, self._linear]
        added, size = values.sum(axis=1), self._unit + np.abs(told) + np.abs(values).sum(axis=1)
        to_others = told - self.predictor(errors - linear)
        to_none = self.predictor(linear) - self.predictor(np.zeros((1, errors.shape[1])))
        away = np.maximum(np.abs(to_others - added), np.abs(to_none - added))
        return np.asarray(away <= ADDS_UP * size)

    def _played(self, errors: F64, places: Index) -> tuple[F64, F64]:
        """Values and standard errors (n, a) of errors at some places, by coalitions and permutations."""
        # What adds up by itself takes no part.
        playing = np.zeros_like(errors)
        playing[:, places] = errors[:, places]
        match = self._of_sampled if places.size == self._sampled_places.size else self._of_all
        values, noise = np.zeros_like(errors), np.zeros_like(errors)
        at_once = max(VALUES_AT_ONCE // match.values_a_patient, 1)
        for first in range(0, len(errors), at_once):
            some = slice(first, first + at_once)
            values[some], noise[some] = match.explained(playing[some], self.notable)
        return values[:, places], noise[:, places]

    @cached_property
    def _acts(self) -> np.ndarray:
        """(k,) which places act on the outcome directly."""
        acts = np.abs(self.curves).max(axis=(1, 2), initial=0.0) > 0.0
        acts[self.factor] = acts[self.other_factor] = True
        return acts

    @cached_property
    def matters(self) -> np.ndarray:
        """(k,) which errors reach the outcome."""
        return np.logical_or.reduce(self.mechanism.downstream[self._acts], axis=0)

    @cached_property
    def _risk_is_line(self) -> np.ndarray:
        return _are_lines(self.curves, self.mechanism.knots)

    @cached_property
    def _goes_on_linearly(self) -> np.ndarray:
        """(k,) from which places all paths to the outcome are lines: in that error the predictor is one."""
        mechanism = self.mechanism
        nonlinear = np.zeros(mechanism.order.size, dtype=bool)  # a place that a curve leads away from
        curved = ~_are_lines(mechanism.expected, mechanism.knots[mechanism.cause])
        curved |= mechanism.form[mechanism.effect] == HETEROSCEDASTIC
        nonlinear[mechanism.cause[curved & self.matters[mechanism.effect]]] = True
        nonlinear[
            mechanism.cause[(mechanism.n_levels[mechanism.effect] > 0) & self.matters[mechanism.effect]]
        ] = True
        nonlinear[
            np.concatenate([mechanism.factor, mechanism.other_factor, self.factor, self.other_factor])
        ] = True
        nonlinear |= ~self._risk_is_line | (mechanism.form == POST_NONLINEAR)
        # Of what a place reaches only that counts which leads to the outcome.
        return ~np.logical_or.reduce(mechanism.downstream & (self.matters & nonlinear)[:, None], axis=0)

    @cached_property
    def _adds_up(self) -> np.ndarray:
        """(k,) which errors add to the predictor in proportion, whatever the others."""
        mechanism = self.mechanism
        caused = np.array([arrows.size > 0 for arrows in mechanism.arrows_into], dtype=bool)
        heteroscedastic = (mechanism.form == HETEROSCEDASTIC) | (mechanism.n_levels > 0)
        return self._goes_on_linearly & ~(heteroscedastic & caused)

    @cached_property
    def _linear(self) -> Index:
        """Places whose values are exact: error times effect."""
        return np.flatnonzero(self._adds_up & self.matters)

    @cached_property
    def _sampled_places(self) -> Index:
        """Places whose values are sampled."""
        return np.flatnonzero(~self._adds_up & self.matters)

    @cached_property
    def _drawn(self) -> Index:
        """Places whose errors have to be drawn: a line is its own average at an error of zero."""
        return np.flatnonzero(~self._goes_on_linearly & self.matters)

    @cached_property
    def _compiled(self) -> CompiledMechanism:
        mechanism, k = self.mechanism, self.mechanism.order.size
        at = np.argsort(mechanism.product_effect, kind="stable")
        scaled, marks = mechanism.form == POST_NONLINEAR, np.zeros((k, SCORES.size))
        marks[scaled] = mechanism.marks
        return CompiledMechanism(
            knots=mechanism.knots,
            constant=mechanism.constant,
            error_mean=mechanism.error_mean,
            error_sd=mechanism.error_sd,
            limits=mechanism.log_spread,
            range=self.range,
            heteroscedastic=mechanism.form == HETEROSCEDASTIC,
            scaled=scaled,
            marks=marks,
            into=np.searchsorted(mechanism.effect, np.arange(k + 1)),
            cause=mechanism.cause,
            expected=mechanism.expected,
            spread=mechanism.spread,
            expected_is_line=_are_lines(mechanism.expected, mechanism.knots[mechanism.cause]),
            spread_is_line=_are_lines(mechanism.spread, mechanism.knots[mechanism.cause]),
            products_into=np.searchsorted(mechanism.product_effect[at], np.arange(k + 1)),
            factor=mechanism.factor[at],
            other_factor=mechanism.other_factor[at],
            expected_product=mechanism.expected_product[at],
            spread_product=mechanism.spread_product[at],
            level_starts=np.append(0, np.cumsum(mechanism.n_levels)),
            level_values=mechanism.level_values,
            thresholds=mechanism.thresholds,
            acting=np.flatnonzero(np.abs(self.curves).max(axis=(1, 2), initial=0.0) > 0.0),
            risk=self.curves,
            risk_is_line=self._risk_is_line,
            risk_factor=self.factor,
            risk_other_factor=self.other_factor,
            risk_product=self.product,
            needed=np.flatnonzero(self.matters),
            within=np.tile([-PRODUCT_WITHIN, PRODUCT_WITHIN], (2, 1)),
            risk_limits=self._limits_of_products(self.range),
        )

    def _limits_of_products(self, of_values: F64) -> F64:
        """(c, 2, 2) between which factors of products in the predictor stay, as far as values (k, 2) go."""
        both = np.stack([self.factor, self.other_factor], axis=1)
        return np.clip(of_values, -PRODUCT_WITHIN, PRODUCT_WITHIN)[both]

    @cached_property
    def _of_sampled(self) -> Match:
        return self._match_of(self._sampled_places)

    @cached_property
    def _of_all(self) -> Match:
        return self._match_of(np.flatnonzero(self.matters))

    def _match_of(self, places: Index) -> Match:
        plays = np.zeros(self.mechanism.order.size, dtype=bool)
        plays[places] = True
        coalitions = Coalitions.of(self._compiled, self.mechanism.downstream, plays)
        return Match(self._compiled, coalitions, self.quantiles, self._drawn)

    def check(self) -> None:
        last = KNOTS.size - np.isposinf(self.mechanism.knots).sum(axis=1)
        if self.curves[:, 0, 2:].any() or self.curves[np.arange(last.size), last, 2:].any():
            raise ValueError("a curve is no line beyond its knots")
        self.of_outcome.check()
        if self.intercept != self.of_outcome.base_value and "intercept" in self.LINEAR.ARRAYS:
            raise ValueError("its base value is not that of its outcome")

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any], mechanism: Mechanism) -> Self:
        if not isinstance(mechanism, NonlinearMechanism):
            raise ValueError("a nonlinear attribution needs a nonlinear mechanism")
        told = {name: fields[name] for name in cls.LINEAR.ARRAYS if name != EFFECTS}
        none = {EFFECTS: np.zeros(mechanism.order.size)}
        own = {name: value for name, value in fields.items() if name in NonlinearAttribution.ARRAYS}
        return cls(mechanism, cls.LINEAR.of_fields(told | none, mechanism), **own)

    def __reduce__(self) -> Any:
        """Without what can be worked out again; the class itself has no place where it could be found."""
        return _again, (self.LINEAR, {one.name: getattr(self, one.name) for one in fields(self)})


@cache
def nonlinear_kind(linear: type[Attribution]) -> type[NonlinearAttribution]:
    """The nonlinear attribution of the outcome that this linear one is of."""
    told = {name: array for name, array in linear.ARRAYS.items() if name != EFFECTS}
    own: dict[str, Any] = {
        name: property(attrgetter(f"of_outcome.{name}"))
        for name in told
        if name not in NonlinearAttribution.ARRAYS
    }
    own |= {
        "kind": NONLINEAR if linear.kind == LINEAR else f"{NONLINEAR} {linear.kind}",
        "outcome": linear.outcome,
        "LINEAR": linear,
        "ARRAYS": {**told, **NonlinearAttribution.ARRAYS},
    }
    return type(f"Nonlinear{linear.__name__}", (NonlinearAttribution,), own)


def _again(linear: type[Attribution], of: dict[str, Any]) -> NonlinearAttribution:
    return nonlinear_kind(linear)(**of)


def _half_a_unit_to_either_side(values: F64, ends: F64) -> tuple[F64, F64]:
    """(n,) each: half a unit above values (n,) and below them, within the cohort's lowest and highest."""
    return np.clip(values + 0.5, *ends), np.clip(values - 0.5, *ends)


def _predictors(machine: CompiledMechanism, errors: F64) -> F64:
    """(n,) what errors (n, k) add up to, less the intercept."""
    from .propagation_kernels import predictors

    out, rows = np.empty(len(errors)), Rows.of_one_each(machine)
    errors = np.ascontiguousarray(errors, dtype=np.float64)

    def work(begin: int, end: int) -> None:
        predictors(machine, rows, Room.of(rows), errors, begin, end, out)

    in_threads(work, len(errors), 16 * errors.size)
    return out


def _are_lines(curves: F64, knots: F64) -> np.ndarray:
    """(m,) which curves (m, PIECES, 4) are the same line on each piece that their knots leave room for."""
    used = np.arange(PIECES) <= np.isfinite(knots).sum(axis=1)[:, None]
    same = ~curves[:, :, 2:].any(axis=2) & (curves[:, :, :2] == curves[:, :1, :2]).all(axis=2)
    return np.asarray((same | ~used).all(axis=1))
