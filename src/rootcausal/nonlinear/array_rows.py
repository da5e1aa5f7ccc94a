"""Rows on a GPU, whole arrays at a time: the sums of :mod:`.memory_rows` in one text for NumPy and CuPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from ..method.table import F64, Index, Table
from .curves import Splines
from .memory_rows import LEAST_LIKELY, MemoryRows, around, codes_of, sampled
from .ranks import ROUNDING, between, ranks_of
from .rows import (
    LARGEST_LOG_SPREAD,
    LARGEST_RATIO,
    PRODUCT_WITHIN,
    TERMS_A_CAUSE,
    Around,
    Designs,
    LevelledSums,
    SharedSums,
    Told,
)
from .scales import with_scales
from .sum_kernels import BINS, STRETCH
from .ties import Heaps, grid_counts

# Terms of several designs that are there at once: 1 GB.
VALUES_AT_ONCE = 1 << 27
# Values that are kept for each of the table: splines, the column as it is explained, its level; and copies.
COPIES = 12
# So far from its threshold, in logits, a level is certain to the last digit.
FURTHEST = 690.0

#: Columns (k, n), where they are, as a table with the outcomes; and how many patients there are.
MakeTable = Callable[[Any], Table]


@dataclass(frozen=True, eq=False)
class ArrayPlain:
    """See :class:`.rows.PlainRows`.

    Attributes
    ----------
    xp : the module that computes: NumPy, or CuPy.
    Z : (q, n) standardized columns.
    weights : (n,).
    make_table : holds the outcomes.
    """

    xp: Any
    Z: Any
    weights: Any
    make_table: MakeTable

    @property
    def n_rows(self) -> int:
        return int(self.weights.size)

    @property
    def weight(self) -> float:
        return float(self.weights.sum())

    def gram(self) -> F64:
        return self._on_host((self.Z * self.weights) @ self.Z.T)

    def extremes(self) -> F64:
        return self._on_host(self.xp.stack([self.Z.min(axis=1), self.Z.max(axis=1)], axis=1))

    def quantiles(self, shares: F64) -> F64:
        return quantiles_of_rows(self.xp, self.Z, self.weights, shares)

    def curve_grams(self, knots: F64, curves: F64) -> F64:
        found = np.zeros((len(curves), curves.shape[1], curves.shape[1]))
        for column, gram in enumerate(found):
            values = self._curves(column, knots, curves)
            gram[:] = self._on_host((values * self.weights) @ values.T)
        return found

    def common(self, columns: Sequence[int], room: int) -> dict[int, F64]:
        found = {}
        for column in columns:
            values, counts = self.xp.unique(self.Z[column], return_counts=True)
            found[column] = self._on_host(values[counts * room > self.n_rows])
        return found

    def around(self, values: Mapping[int, F64]) -> dict[int, Around]:
        return {column: around(self._on_host(self.Z[column]), some) for column, some in values.items()}

    def grid_counts(self, grids: Mapping[int, tuple[float, float, int]]) -> dict[int, F64]:
        return {column: grid_counts(self._on_host(self.Z[column]), grid) for column, grid in grids.items()}

    def prepared(
        self, splines: Splines, level_values: tuple[F64, ...], heaps: Mapping[int, Heaps]
    ) -> ArrayRows:
        xp, q = self.xp, len(self.Z)
        rows = xp.zeros((q, TERMS_A_CAUSE, self.n_rows))
        effects, codes = self.Z.copy(), xp.zeros((q, self.n_rows), dtype=xp.int32)
        for column, values in enumerate(level_values):
            rows[column] = self._curves(column, splines.knots, splines.curves)
            if values.size or column in heaps:
                z = self._on_host(self.Z[column])
                codes[column] = xp.asarray(codes_of(z, values), dtype=xp.int32)
            if column in heaps:
                of = heaps[column]
                effects[column] = xp.asarray(of.spread(z, np.zeros_like(of.count)))
        flat, effects = rows.reshape(-1, self.n_rows), with_scales(effects, splines.marks, xp)
        return ArrayRows(xp, flat, effects, self.weights, codes, level_values, self.make_table)

    def _curves(self, column: int, knots: F64, curves: F64) -> Any:
        """(c, n) values of curves (q, c, PIECES, 4) of a column."""
        z = self.Z[column]
        piece = self.xp.searchsorted(self.xp.asarray(knots[column]), z, side="right")
        c = self.xp.asarray(curves[column])[:, piece]
        return ((c[:, :, 3] * z + c[:, :, 2]) * z + c[:, :, 1]) * z + c[:, :, 0]

    def _on_host(self, array: Any) -> np.ndarray:
        return on_host(self.xp, array)


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """See :class:`.rows.NonlinearRows`; attributes are those of :class:`.memory_rows.MemoryRows`."""

    xp: Any
    splines: Any
    effects: Any
    weights: Any
    codes: Any
    level_values: tuple[F64, ...]
    make_table: MakeTable
    _kept: dict[int, Told] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        return int(self.weights.size)

    @property
    def weight(self) -> float:
        return float(self.weights.sum())

    @property
    def _lines(self) -> Any:
        return self.splines[::TERMS_A_CAUSE]

    def of_columns(self, columns: Index) -> Self:
        """The same of some columns."""
        at = self.xp.asarray((TERMS_A_CAUSE * columns[:, None] + np.arange(TERMS_A_CAUSE)).ravel())
        some, values = (
            np.append(columns, columns + len(self.codes)),
            tuple(self.level_values[column] for column in columns),
        )
        return replace(
            self,
            splines=self.splines[at],
            effects=self.effects[self.xp.asarray(some)],
            codes=self.codes[self.xp.asarray(columns)],
            level_values=values,
            _kept={},
        )

    def sample(self, size: int) -> MemoryRows:
        """So many of the rows, the same each time, in memory: a card has little to do with few."""
        rows = self.xp.asarray(sampled(self.n_rows, size))
        splines, effects, codes = (
            np.ascontiguousarray(self._on_host(values[:, rows]))
            for values in (self.splines, self.effects, self.codes)
        )
        weights = self._on_host(self.weights[rows])
        return MemoryRows(splines, effects, weights, codes.astype(np.intp), self.level_values)

    def gram(self) -> F64:
        return self._on_host((self._lines * self.weights) @ self._lines.T)

    def extremes(self) -> F64:
        lines = self._lines
        return self._on_host(self.xp.stack([lines.min(axis=1), lines.max(axis=1)], axis=1))

    def grams(self, designs: Designs, gamma: F64 | None = None) -> F64:
        xp, out = self.xp, np.empty((len(designs), designs.width + 1, designs.width + 1))
        for some, terms, x in self._several(designs, beside=2):
            both = xp.concatenate([terms, x[:, None]], axis=1)
            weighted = both * self.weights
            if gamma is not None:
                weighted *= (xp.exp(-2.0 * self._log_spread(gamma[some], terms)))[:, None]
            out[some] = self._on_host(xp.matmul(weighted, both.transpose(0, 2, 1)))
        return out

    def spread_sums(self, designs: Designs, beta: F64, gamma: F64) -> F64:
        xp, out = self.xp, np.empty((len(designs), designs.width))
        for some, terms, x in self._several(designs):
            size = abs(x - self._combined(beta[some], terms)) * xp.exp(-self._log_spread(gamma[some], terms))
            beyond = self.weights * (xp.minimum(size, LARGEST_RATIO) - 1.0)
            out[some] = self._on_host(xp.matmul(terms, beyond[:, :, None])[:, :, 0])
        return out

    def histograms(self, designs: Designs, beta: F64, gamma: F64 | None, unit: F64) -> tuple[F64, F64]:
        xp, m = self.xp, len(designs)
        counts, sums = np.empty((m, BINS)), np.zeros((m, 3))
        for some, terms, x in self._several(designs):
            error = x - self._combined(beta[some], terms)
            if gamma is not None:
                log_spread = self._log_spread(gamma[some], terms)
                error *= xp.exp(-log_spread)
                sums[some, 0] = self._on_host(log_spread @ self.weights)
            sums[some, 1] = self._on_host(error @ self.weights)
            sums[some, 2] = self._on_host((error * error) @ self.weights)
            v = error * xp.asarray(1.0 / unit[some])[:, None]
            place = ((v / (STRETCH + abs(v)) + 1.0) * (0.5 * BINS)).astype(xp.int32)
            place = xp.minimum(place, BINS - 1) + BINS * xp.arange(len(error), dtype=xp.int32)[:, None]
            weights = xp.broadcast_to(self.weights, place.shape).ravel()
            found = xp.bincount(place.ravel(), weights=weights, minlength=BINS * len(error))
            counts[some] = self._on_host(found).reshape(-1, BINS)
        return counts, sums

    def spread_limits(self, designs: Designs, gamma: F64) -> F64:
        out = np.empty((len(designs), 2))
        for some, terms, _ in self._several(designs):
            log_spread = self._log_spread(gamma[some], terms)
            ends = self.xp.stack([log_spread.min(axis=1), log_spread.max(axis=1)], axis=1)
            out[some] = self._on_host(ends)
        return out

    def level_sums(self, designs: Designs, beta: F64, thresholds: F64) -> LevelledSums:
        found = LevelledSums.zero(len(designs), designs.width, thresholds.shape[1])
        for some, terms, _ in self._several(designs, beside=8):
            code = self.codes[self.xp.asarray(designs.effect[some])]
            sums = self._level_sums(terms, code, self._combined(beta[some], terms), thresholds[some])
            for name, values in vars(sums).items():
                getattr(found, name)[some] = values
        return found

    def _level_sums(self, terms: Any, code: Any, eta: Any, thresholds: F64) -> LevelledSums:
        """Of several designs: derivatives as those of :func:`.sum_kernels.level_units`."""
        xp, (d, t), w = self.xp, thresholds.shape, self.weights
        ends = np.concatenate([np.full((d, 1), -np.inf), thresholds, np.full((d, 1), np.inf)], axis=1)
        cuts = xp.asarray(ends)
        upper = _logistic(xp, xp.clip(xp.take_along_axis(cuts, code + 1, axis=1) - eta, -FURTHEST, FURTHEST))
        lower = _logistic(xp, xp.clip(xp.take_along_axis(cuts, code, axis=1) - eta, -FURTHEST, FURTHEST))
        likely = xp.maximum(upper - lower, LEAST_LIKELY)
        slope = w * (upper + lower - 1.0)
        upper, lower = upper * (1.0 - upper), lower * (1.0 - lower)
        curve = w * (upper + lower)
        up, low = w * upper / likely, lower / likely
        sums = LevelledSums.zero(d, terms.shape[1], t)
        sums.loglik[:] = self._on_host(xp.log(likely) @ w)
        sums.gradient[:] = self._on_host(xp.matmul(terms, slope[:, :, None])[:, :, 0])
        sums.hessian[:] = self._on_host(xp.matmul(terms * curve[:, None], terms.transpose(0, 2, 1)))
        for cut in range(t):
            at, above = code == cut, code == cut + 1
            there = xp.isfinite(cuts[:, cut + 1])[:, None]
            gradient = xp.where(at & there, up, 0.0).sum(axis=1) - (w * xp.where(above, low, 0.0)).sum(axis=1)
            sums.threshold_gradient[:, cut] = self._on_host(gradient)
            density = xp.where(at & there, w * upper, 0.0) + xp.where(above, w * lower, 0.0)
            sums.cross[:, :, cut] = -self._on_host(xp.matmul(terms, density[:, :, None])[:, :, 0])
            if cut + 1 < t:
                between_both = above & xp.isfinite(cuts[:, cut + 2])[:, None]
                both = -self._on_host(xp.where(between_both, up * low, 0.0).sum(axis=1))
                sums.threshold_hessian[:, cut, cut + 1] = sums.threshold_hessian[:, cut + 1, cut] = both
        # Where all thresholds move by as much as the predictor does, nothing changes.
        of_others = sums.threshold_hessian.sum(axis=2)
        places = np.arange(t)
        sums.threshold_hessian[:, places, places] = -sums.cross[:, 0] - of_others
        return sums

    def keep_errors(self, told: Sequence[Told]) -> None:
        self._kept.update({one.effect % len(self.level_values): one for one in told})

    def dependence(self, effects: Index) -> F64:
        told = [self._kept[effect] for effect in effects.tolist()]
        if not told:
            return np.zeros((0, 2, len(self.splines)))
        xp, w, total = self.xp, self.weights, self.weight
        error = xp.stack([self._error(one, self.effects) for one in told])
        error -= (error @ w / total)[:, None]
        both = xp.stack([error, abs(error)], axis=1)
        weighted = both * w
        shared = (weighted.reshape(-1, self.n_rows) @ self.splines.T).reshape(len(told), 2, -1)
        sums = (shared, weighted.sum(axis=2), (weighted * both).sum(axis=2))
        return SharedSums(*map(self._on_host, sums)).dependence(total)

    def error_quantiles(self, told: Sequence[Told], shares: F64) -> F64:
        if not told:
            return np.empty((0, shares.size))
        plain, q = self._lines, len(self.level_values)
        errors = self.xp.stack([self._error(one, plain if one.effect < q else self.effects) for one in told])
        return quantiles_of_rows(self.xp, errors, self.weights, shares)

    def _error(self, told: Told, explained: Any) -> Any:
        """(n,) what is told leaves of a column, as it is explained (q, n)."""
        xp = self.xp
        ((_, terms, _),) = self._several(told.designs)
        expected = self._combined(told.beta[None], terms)[0]
        if told.thresholds is None:
            left = explained[told.effect] - expected
            return (
                left if told.gamma is None else left * xp.exp(-self._log_spread(told.gamma[None], terms)[0])
            )
        values = xp.asarray(self.level_values[told.effect])
        below = _logistic(xp, xp.asarray(told.thresholds)[:, None] - expected)
        ends = xp.concatenate([xp.zeros((1, self.n_rows)), below, xp.ones((1, self.n_rows))])
        share = ends[1:] - ends[:-1]
        mean, square = values @ share, (values * values) @ share
        sd = xp.sqrt(xp.maximum(square - mean * mean, LEAST_LIKELY))
        return (values[self.codes[told.effect]] - mean) / sd

    def table(self, terms: Sequence[tuple[int, int]]) -> Table:
        # Without the constant, which terms of a design have before them.
        ((_, found, _),) = self._several(Designs.of([0], [terms]), at_once=1)
        return self.make_table(found[0, 1 : 1 + len(terms)])

    def _several(
        self, designs: Designs, beside: int = 0, at_once: int = 0
    ) -> Iterator[tuple[slice, Any, Any]]:
        """Some of the designs at a time: which, their terms (d, width, n), and their effects (d, n).

        ``beside`` so many values a row of each are worked on besides terms and their copy.
        """
        xp = self.xp
        at_once = at_once or max(1, VALUES_AT_ONCE // (self.n_rows * (2 * designs.width + 4 + beside)))
        for start in range(0, len(designs), at_once):
            some = slice(start, min(start + at_once, len(designs)))
            first, second = designs.first[some], designs.second[some]
            terms = xp.empty((len(first), designs.width, self.n_rows))
            terms[:, 0] = 1.0
            terms[:, 1:] = self.splines[xp.asarray(first)]
            products = np.nonzero(second >= 0)
            if products[0].size:
                one, other = (
                    xp.clip(self.splines[xp.asarray(of[products])], -PRODUCT_WITHIN, PRODUCT_WITHIN)
                    for of in (first, second)
                )
                terms[xp.asarray(products[0]), xp.asarray(products[1] + 1)] = one * other
            beyond = np.nonzero(np.arange(designs.width - 1) >= designs.size[some, None])
            if beyond[0].size:
                terms[xp.asarray(beyond[0]), xp.asarray(beyond[1] + 1)] = 0.0
            yield some, terms, self.effects[xp.asarray(designs.effect[some])]

    def _combined(self, coefficients: F64, terms: Any) -> Any:
        """(d, n): Σ of terms times coefficients (d, width)."""
        given = self.xp.zeros(terms.shape[:2])
        given[:, : coefficients.shape[1]] = self.xp.asarray(coefficients)
        return self.xp.matmul(given[:, None], terms)[:, 0]

    def _log_spread(self, gamma: F64, terms: Any) -> Any:
        return self.xp.clip(self._combined(gamma, terms), -LARGEST_LOG_SPREAD, LARGEST_LOG_SPREAD)

    def _on_host(self, array: Any) -> np.ndarray:
        return on_host(self.xp, array)


def room_for(shape: tuple[int, int]) -> int:
    """How many values a search in a table of this shape keeps, at most."""
    return COPIES * shape[0] * shape[1] + 3 * VALUES_AT_ONCE


def on_host(xp: Any, array: Any) -> np.ndarray:
    """A NumPy array of what may be on a card."""
    return np.asarray(array if xp is np else xp.asnumpy(array))


def _logistic(xp: Any, values: Any) -> Any:
    small = xp.exp(-abs(values))
    return xp.where(values >= 0.0, 1.0, small) / (1.0 + small)


def quantiles_of_rows(xp: Any, columns: Any, weights: Any, shares: F64) -> F64:
    """(k, s) of columns (k, n); see :mod:`.ranks`."""
    n = columns.shape[1]
    low, high, part = ranks_of(shares, n)
    ranks = np.concatenate([low, high])
    if bool((weights == weights[0]).all()):
        at = xp.asarray(ranks.astype(np.intp))
        ranked = xp.sort(columns, axis=1)[:, at]
    else:
        order = xp.argsort(columns, axis=1)
        below = xp.cumsum(weights[order] * (n / weights.sum()), axis=1)
        wanted = xp.asarray(ranks + ROUNDING)
        places = xp.stack([xp.searchsorted(some, wanted, side="right") for some in below])
        at = xp.take_along_axis(order, xp.minimum(places, n - 1), axis=1)
        ranked = xp.take_along_axis(columns, at, axis=1)
    found = on_host(xp, ranked)
    return between(found[:, : low.size], found[:, low.size :], part)
