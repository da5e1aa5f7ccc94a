"""The mechanism of one effect given its causes: a line, a curve, or a curve with heteroscedastic errors.

The smallest description length (BIC) decides, in nats: what the errors cost, their entropy and the
logarithm of their spread, and half the logarithm of the rows for each coefficient. Lines and curves are
also tried on another scale of the effect; errors cost as much more or less there as the effect itself does,
of which nothing is told. Effects with levels have a cumulative logit, and cost its log-likelihood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..method.table import F64, Index
from .curves import Splines
from .rows import RIDGE, TERMS_A_CAUSE, Designs, LevelledSums, NonlinearRows, Told

# Cumulative logits of many effects with levels at once: Newton's method, for coefficients and thresholds.

# Added for each threshold, so little that only the matrix of a step feels it.
STEADY = 1e-3
# Steps, and what a last one may still promise, in nats: what it promises is counted.
MOST_STEPS = 100
PROMISES = 0.02
# No fit rises by more than so many times what its next step promises: one that is not worth having even then
# is left where it is.
MOST_OF_PROMISE = 3.0
# Coefficients of standardized terms stay within ± this: levels may be told apart for certain.
MOST_LOGIT = 8.0
# Thresholds move at most so far in one step, and two never come closer than this share of their distance.
FARTHEST = 2.0
CLOSER = 0.9


@dataclass(frozen=True, eq=False)
class CumulativeLogits:
    """What was fitted to m designs.

    Attributes
    ----------
    beta : (m, width); that of the constant is zero, which the thresholds tell.
    thresholds : (m, t), +∞ beyond the levels of an effect.
    loglik : (m,).
    converged : (m,) whether it came to rest before its limit.
    """

    beta: F64
    thresholds: F64
    loglik: F64
    converged: np.ndarray


def fit_logits(
    rows: NonlinearRows, designs: Designs, beta: F64, thresholds: F64, least: F64
) -> CumulativeLogits:
    """Maximum likelihood, but for the ridge, from these coefficients (m, width) and thresholds (m, t) on.

    What will not come near a log-likelihood of ``least`` (m,) is not followed to its end.
    """
    m = len(designs)
    beta, thresholds = beta.copy(), thresholds.copy()
    accepted = (beta.copy(), thresholds.copy())
    loglik, before = np.empty(m), np.full(m, -np.inf)
    moving, converged = np.arange(m), np.zeros(m, dtype=bool)
    for _ in range(MOST_STEPS):
        sums = rows.level_sums(designs.take(moving), beta[moving], thresholds[moving])
        reached = sums.loglik - 0.5 * RIDGE * (beta[moving] ** 2).sum(axis=1)
        too_far = reached < before[moving] - PROMISES
        back, ahead = moving[too_far], moving[~too_far]
        for now, then in zip((beta, thresholds), accepted, strict=True):
            now[back] = _halfway(now[back], then[back])
            then[ahead] = now[ahead]
        before[ahead] = reached[~too_far]
        step, promised = _steps(designs.size[moving], sums, beta[moving], thresholds[moving])
        step, promised = step[~too_far], promised[~too_far]
        width = beta.shape[1]
        beta[ahead] += step[:, :width]
        thresholds[ahead] += step[:, width:]
        loglik[ahead] = sums.loglik[~too_far] + promised
        hopeless = sums.loglik[~too_far] + MOST_OF_PROMISE * promised < least[ahead]
        converged[ahead] = (promised < PROMISES) | hopeless
        moving = moving[~converged[moving]]
        if not moving.size:
            break
    return CumulativeLogits(beta, thresholds, loglik, converged)


def _halfway(now: F64, then: F64) -> F64:
    """Between both; infinite thresholds stay where they are."""
    return np.where(np.isfinite(now), 0.5 * (now + np.where(np.isfinite(then), then, 0.0)), now)


def _steps(size: Index, sums: LevelledSums, beta: F64, thresholds: F64) -> tuple[F64, F64]:
    """(m, width + t) of coefficients and thresholds, and what (m,) they promise, in nats."""
    width = beta.shape[1]
    gradient = np.concatenate([sums.gradient - RIDGE * beta, sums.threshold_gradient], axis=1)
    top = np.concatenate([sums.hessian, sums.cross], axis=2)
    low = np.concatenate([sums.cross.transpose(0, 2, 1), sums.threshold_hessian], axis=2)
    hessian = np.concatenate([top, low], axis=1)
    places = np.arange(hessian.shape[1])
    hessian[:, places, places] += np.where(places < width, RIDGE, STEADY)
    # What is not there stays, as does a coefficient at its limit that would go beyond.
    stays = np.concatenate([places[:width] > size[:, None], ~np.isfinite(thresholds)], axis=1)
    stays[:, 0] = True
    stays[:, :width] |= (np.abs(beta) >= MOST_LOGIT) & (gradient[:, :width] * beta > 0.0)
    hessian *= ~(stays[:, :, None] | stays[:, None, :])
    hessian[:, places, places] += stays
    gradient = np.where(stays, 0.0, gradient)
    step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
    share = _share(thresholds, step[:, width:])
    step *= share[:, None]
    step[:, :width] = np.clip(beta + step[:, :width], -MOST_LOGIT, MOST_LOGIT) - beta
    curved = np.einsum("mi,mij,mj->m", step, hessian, step)
    promised = (gradient * step).sum(axis=1) - 0.5 * curved
    return step, promised


def _share(thresholds: F64, step: F64) -> F64:
    """(m,) how much of a step thresholds can take without coming too close, or going too far.

    A level that few have lies between two that nearly meet; where they do, no next step could be told.
    """
    share = np.minimum(1.0, FARTHEST / np.maximum(np.abs(step).max(axis=1), FARTHEST))
    with np.errstate(invalid="ignore"):  # beyond the levels of an effect, infinity less infinity
        apart = np.nan_to_num(np.diff(thresholds, axis=1), nan=np.inf, posinf=np.inf)
    closer = np.maximum(-np.diff(step, axis=1), 0.0)
    there = np.isfinite(apart) & (closer > 0.0)
    room = np.where(there, CLOSER * np.where(there, apart, 1.0) / np.where(there, closer, 1.0), 1.0)
    return np.minimum(share, room.min(axis=1, initial=1.0))


LINEAR, NONLINEAR, HETEROSCEDASTIC, POST_NONLINEAR = range(4)
# Another scale costs as much as so many coefficients. Effects have one and causes none: where it is cheap,
# columns that are merely skewed become effects of others, as bilirubin does in PBC at a price of eight.
PRICE_OF_SCALE = 12.0
# Steps toward the spread: before and after what is expected is fitted again by it. Then there are more as
# long as a step changes a coefficient of its logarithm by more than this, as in heavy tails.
SPREAD_STEPS = 5
MOST_SPREAD_STEPS = 100
# After so many steps, which lead to and fro, each goes half of the way.
WHOLE_STEPS = 25
SPREAD_SETTLED = 0.02
# Of errors over their mean absolute size, about: entropies are told in this unit.
UNIT_OF_SPREAD = 1.25
# What is left of an effect is at least this part of its squares; less is rounding.
LEAST_LEFT = 1e-12

#: (m, BINS) histograms and the number of rows -> (m,) entropies.
Entropies = Callable[[F64, float], F64]


@dataclass(frozen=True, eq=False)
class Fitted:
    """How one column comes from others.

    Attributes
    ----------
    cost : description length, in nats.
    form : LINEAR, NONLINEAR, HETEROSCEDASTIC or, where the rest is told on the column's other scale,
        POST_NONLINEAR; of levels one of the first two.
    terms : (first, second) of each term, as :class:`.rows.Designs` has them.
    beta : (1 + t,) of what is expected, or of the logit.
    gamma : (1 + t,) of the logarithm of the spread; None where it is even.
    thresholds : of a column with levels; None for a number.
    mean, sd : of the errors (x - expected) / spread; of levels 0 and 1.
    converged : whether every iteration came to rest before its limit.
    """

    cost: float
    form: int
    terms: tuple[tuple[int, int], ...]
    beta: F64
    gamma: F64 | None = None
    thresholds: F64 | None = None
    mean: float = 0.0
    sd: float = 1.0
    converged: bool = True

    @property
    def n_coefficients(self) -> int:
        """How many a description length pays for."""
        return len(self.terms) * (1 if self.gamma is None else 2)

    def told_of(self, effect: int, n_columns: int) -> Told:
        """What it tells of this column, one of so many."""
        on_scale = n_columns if self.form == POST_NONLINEAR else 0
        return Told(Designs.of([effect + on_scale], [self.terms]), self.beta, self.gamma, self.thresholds)


@dataclass(frozen=True, eq=False)
class Asked:
    """A mechanism to be fitted.

    Attributes
    ----------
    effect : the column.
    causes : each of one column or several.
    near : one of the same column, to start from; None where none is known.
    to_beat : a cost; what costs more need not be told to the last digit.
    """

    effect: int
    causes: Sequence[Sequence[int]]
    near: Fitted | None = None
    to_beat: float = np.inf


@dataclass(frozen=True, eq=False)
class Fitter:
    """Fits many columns at once.

    Attributes
    ----------
    rows : the cohort.
    splines : of its columns.
    levels : (q,) how many levels each column has; 0 for a number.
    n_rows : as many patients of equal weight as these tell as much.
    entropies : of histograms.
    nonlinear : whether curves are tried, heteroscedastic errors, and other scales.
    """

    rows: NonlinearRows
    splines: Splines
    levels: Index
    n_rows: float
    entropies: Entropies
    nonlinear: bool = True
    _beside: dict[int, float] = field(init=False, default_factory=dict)

    def sample(self, size: int) -> Fitter:
        """The same of so many rows."""
        some = self.rows.sample(size)
        return replace(self, rows=some, n_rows=self.n_rows * some.weight / self.rows.weight)

    def fit(self, asked: Sequence[Asked]) -> list[Fitted]:
        """The best mechanism of each."""
        found: list[Fitted | None] = [None] * len(asked)
        for with_levels, fit in ((False, self._fit_numbers), (True, self._fit_levels)):
            some = [k for k, one in enumerate(asked) if (self.levels[one.effect] > 0) == with_levels]
            if some:
                for k, fitted in zip(some, fit([asked[k] for k in some]), strict=True):
                    found[k] = fitted
        return [one for one in found if one is not None]

    def lines_of(self, causes: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
        """The terms of lines."""
        return [(TERMS_A_CAUSE * column, -1) for cause in causes for column in cause]

    def bends_of(self, causes: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
        """The terms beyond lines: those of curves, and products of two causes of one column each."""
        curved = [
            (TERMS_A_CAUSE * column + place, -1)
            for cause in causes
            for column in cause
            for place in range(1, int(self.splines.width[column]))
        ]
        single = [cause[0] for cause in causes if len(cause) == 1]
        products = [(TERMS_A_CAUSE * a, TERMS_A_CAUSE * b) for k, a in enumerate(single) for b in single[:k]]
        return curved + products

    def _fit_numbers(self, asked: Sequence[Asked]) -> list[Fitted]:
        effects = [one.effect for one in asked]
        lines = [self.lines_of(one.causes) for one in asked]
        if not self.nonlinear:
            designs = Designs.of(effects, lines)
            return self._linear(designs, self.rows.grams(designs), lines, LINEAR)
        whole = [line + self.bends_of(one.causes) for line, one in zip(lines, asked, strict=True)]
        designs = Designs.of(effects, whole)
        grams = self.rows.grams(designs)
        best = self._linear(designs, grams, lines, LINEAR)
        # Without causes there is nothing to curve.
        some = [k for k, terms in enumerate(whole) if terms]
        if not some:
            return best
        at = np.array(some)
        designs = Designs.of([effects[k] for k in some], [whole[k] for k in some])
        inside = np.append(np.arange(designs.width), grams.shape[1] - 1)
        grams = grams[np.ix_(at, inside, inside)]
        nonlinear = self._nonlinear(designs, grams, [whole[k] for k in some], [lines[k] for k in some])
        for k, others in zip(some, nonlinear, strict=True):
            for other in others:
                if other.cost < best[k].cost:
                    best[k] = other
        self._rescaled(some, effects, lines, whole, best)
        return best

    def _rescaled(
        self,
        some: Sequence[int],
        effects: Sequence[int],
        lines: Sequence[Sequence[tuple[int, int]]],
        whole: Sequence[Sequence[tuple[int, int]]],
        best: list[Fitted],
    ) -> None:
        """Put lines and curves on another scale of the effect where these are the best."""
        some = [k for k in some if not np.isnan(self.splines.marks[effects[k], 0])]
        if not some:
            return
        self._tell_scales([effects[k] for k in some])
        on_scale = [effects[k] + self.levels.size for k in some]
        designs = Designs.of(on_scale, [whole[k] for k in some])
        grams = self.rows.grams(designs)
        for terms in (lines, whole):
            fitted = self._linear(designs, grams, [terms[k] for k in some], POST_NONLINEAR)
            for k, one in zip(some, fitted, strict=True):
                cost = one.cost + self._beside[effects[k]]
                if cost < best[k].cost:
                    best[k] = replace(one, cost=cost)

    def _tell_scales(self, effects: Sequence[int]) -> None:
        """What errors of effects cost beside those on their other scales, and these scales."""
        new = [effect for effect in dict.fromkeys(effects) if effect not in self._beside]
        if new:
            q, none = self.levels.size, [()] * (2 * len(new))
            designs = Designs.of([*new, *(effect + q for effect in new)], none)
            alone = self._linear(designs, self.rows.grams(designs), none, LINEAR)
            price = 0.5 * PRICE_OF_SCALE * np.log(self.n_rows)
            for effect, own, other in zip(new, alone, alone[len(new) :], strict=False):
                self._beside[effect] = own.cost - other.cost + price

    def _linear(
        self, designs: Designs, grams: F64, terms: Sequence[Sequence[tuple[int, int]]], form: int
    ) -> list[Fitted]:
        """Of each design the first terms only, as many as are given, by least squares."""
        n_terms = np.array([len(some) for some in terms], dtype=np.intp)
        beta, unit = least_squares(grams, n_terms + 1)
        counts, sums = self.rows.histograms(designs, beta, None, unit)
        cost = self._cost(counts, np.zeros(len(designs)), unit, n_terms)
        mean, sd = self._moments(sums)
        return [
            Fitted(cost[k], form, tuple(some), beta[k, : len(some) + 1], None, None, mean[k], sd[k])
            for k, some in enumerate(terms)
        ]

    def _nonlinear(
        self,
        designs: Designs,
        grams: F64,
        whole: Sequence[Sequence[tuple[int, int]]],
        lines: Sequence[Sequence[tuple[int, int]]],
    ) -> list[list[Fitted]]:
        m, width = len(designs), designs.width
        n_terms = np.array([len(some) for some in whole], dtype=np.intp)
        beta, unit = least_squares(grams, n_terms + 1)
        inverse = np.zeros((m, width, width))
        for size, alike in _by_size(n_terms + 1):
            inverse[alike, :size, :size] = np.linalg.inv(_with_ridge(grams[alike, :size, :size]))
        counts, sums = self.rows.histograms(designs, beta, None, unit)
        cost = self._cost(counts, np.zeros(m), unit, n_terms)
        mean, sd = self._moments(sums)
        even = [
            Fitted(
                cost[k], NONLINEAR, tuple(some), beta[k, : len(some) + 1].copy(), None, None, mean[k], sd[k]
            )
            for k, some in enumerate(whole)
        ]
        gamma = np.zeros((m, width))
        gamma[:, 0] = np.log(unit / UNIT_OF_SPREAD)
        gamma, _ = self._toward_spread(designs, beta, gamma, inverse, SPREAD_STEPS)
        weighted = self.rows.grams(designs, gamma)
        # Weights that add up to those of all rows, so that the ridge keeps its size.
        weighted *= (self.rows.weight / weighted[:, 0, 0])[:, None, None]
        beta, _ = least_squares(weighted, n_terms + 1)
        gamma, converged = self._toward_spread(designs, beta, gamma, inverse, MOST_SPREAD_STEPS)
        counts, sums = self.rows.histograms(designs, beta, gamma, np.full(m, UNIT_OF_SPREAD))
        logs = sums[:, 0] / self.rows.weight
        cost = self._cost(counts, logs, np.full(m, UNIT_OF_SPREAD), 2 * n_terms)
        mean, sd = self._moments(sums)
        heteroscedastic = [
            Fitted(
                cost[k],
                HETEROSCEDASTIC,
                tuple(some),
                beta[k, : len(some) + 1],
                gamma[k, : len(some) + 1],
                None,
                mean[k],
                sd[k],
                bool(converged[k]),
            )
            for k, some in enumerate(whole)
        ]
        # What no spline and no product curves is a line: that was fitted before.
        return [
            [two] if len(some) == len(line) else [one, two]
            for one, two, some, line in zip(even, heteroscedastic, whole, lines, strict=True)
        ]

    def _toward_spread(
        self, designs: Designs, beta: F64, gamma: F64, inverse: F64, most: int
    ) -> tuple[F64, np.ndarray]:
        """A gamma regression of |r|, by steps with the same matrix each time; and which (m,) converged."""
        gamma, moving = gamma.copy(), np.arange(len(designs))
        for done in range(1, most + 1):
            sums = self.rows.spread_sums(designs.take(moving), beta[moving], gamma[moving])
            step = (inverse[moving] @ sums[:, :, None])[:, :, 0]
            gamma[moving] += step if done <= WHOLE_STEPS else 0.5 * step
            if done >= SPREAD_STEPS:
                moving = moving[np.abs(step).max(axis=1) > SPREAD_SETTLED]
                if not moving.size:
                    break
        return gamma, ~np.isin(np.arange(len(designs)), moving)

    def _cost(self, counts: F64, logs: F64, unit: F64, n_coefficients: Index) -> F64:
        entropy = self.entropies(counts, self.n_rows) + np.log(unit) + logs
        return self.n_rows * entropy + 0.5 * n_coefficients * np.log(self.n_rows)

    def _moments(self, sums: F64) -> tuple[F64, F64]:
        mean = sums[:, 1] / self.rows.weight
        return mean, np.sqrt(np.maximum(sums[:, 2] / self.rows.weight - mean * mean, 1e-300))

    def _fit_levels(self, asked: Sequence[Asked]) -> list[Fitted]:
        effects = [one.effect for one in asked]
        lines = [self.lines_of(one.causes) for one in asked]
        near, to_beat = [one.near for one in asked], [one.to_beat for one in asked]
        best = self._cumulative(effects, lines, LINEAR, near, to_beat)
        if not self.nonlinear:
            return best
        whole = [line + self.bends_of(one.causes) for line, one in zip(lines, asked, strict=True)]
        some = [k for k in range(len(asked)) if len(whole[k]) > len(lines[k])]
        if some:
            bent = [near[k] if (of := near[k]) is not None and of.form != LINEAR else best[k] for k in some]
            costs = [min(best[k].cost, to_beat[k]) for k in some]
            terms = [whole[k] for k in some]
            found = self._cumulative([effects[k] for k in some], terms, NONLINEAR, bent, costs)
            for k, nonlinear in zip(some, found, strict=True):
                if nonlinear.cost < best[k].cost:
                    best[k] = nonlinear
        return best

    def _cumulative(
        self,
        effects: Sequence[int],
        terms: Sequence[Sequence[tuple[int, int]]],
        form: int,
        near: Sequence[Fitted | None],
        to_beat: Sequence[float],
    ) -> list[Fitted]:
        """Cumulative logits, starting from those with some of the terms, where any are near."""
        designs = Designs.of(effects, terms)
        m, t = len(designs), int(self.levels[designs.effect].max()) - 1
        beta, thresholds = np.zeros((m, designs.width)), np.full((m, t), np.inf)
        for k, (effect, known) in enumerate(zip(effects, near, strict=True)):
            cut = np.arange(1, self.levels[effect]) / self.levels[effect]
            thresholds[k, : cut.size] = np.log(cut / (1.0 - cut))
            if known is not None and known.thresholds is not None:
                at = {term: place for place, term in enumerate(terms[k], 1)}
                for term, value in zip(known.terms, known.beta[1:], strict=True):
                    if term in at:
                        beta[k, at[term]] = value
                thresholds[k, : cut.size] = known.thresholds
        share, price = self.n_rows / self.rows.weight, 0.5 * designs.size * np.log(self.n_rows)
        least = (price - np.array(to_beat)) / share
        logits = fit_logits(self.rows, designs, beta, thresholds, least)
        cost = price - logits.loglik * share
        return [
            Fitted(
                float(cost[k]),
                form,
                tuple(some),
                logits.beta[k, : len(some) + 1],
                None,
                logits.thresholds[k, : self.levels[effects[k]] - 1],
                converged=bool(logits.converged[k]),
            )
            for k, some in enumerate(terms)
        ]


def _by_size(sizes: Index) -> Iterator[tuple[int, Index]]:
    """Each size, and the places of those that have it: these are worked out together."""
    for size in np.unique(sizes).tolist():
        yield size, np.flatnonzero(sizes == size)


def _with_ridge(grams: F64) -> F64:
    part = grams.copy()
    inside = np.arange(1, part.shape[-1])
    part[:, inside, inside] += RIDGE
    return part


def least_squares(grams: F64, sizes: Index) -> tuple[F64, F64]:
    """Coefficients (m, width) of the first terms of designs, and the root mean squares (m,) of what is left.

    ``grams`` are sums of squares of the terms, the constant first, and of the effect, last; ``sizes`` how
    many terms count of each.
    """
    beta, left = np.zeros((len(grams), grams.shape[1] - 1)), grams[:, -1, -1].copy()
    for size, alike in _by_size(sizes):
        among, with_effect = grams[alike, :size, :size], grams[alike, :size, -1]
        found = np.linalg.solve(_with_ridge(among), with_effect[:, :, None])[:, :, 0]
        beta[alike, :size] = found
        left[alike] += np.einsum("mi,mij,mj->m", found, among, found) - 2.0 * (found * with_effect).sum(
            axis=1
        )
    return beta, np.sqrt(np.maximum(left, LEAST_LEFT * grams[:, -1, -1]) / grams[:, 0, 0])
