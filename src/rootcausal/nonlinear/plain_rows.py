"""Rows in memory, summed by NumPy, design by design: the oracle of the compiled sums."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from scipy.special import expit

from ..core.table import F64, Index
from .rows import (
    LARGEST_LOG_SPREAD,
    LARGEST_RATIO,
    PRODUCT_WITHIN,
    TERMS_A_CAUSE,
    Designs,
    LevelledSums,
)
from .spacing import BINS, bin_of, spacing_entropy

# A level is never less likely than this, nor more certain than its complement.
LEAST_LIKELY = 1e-9


@dataclass(eq=False)
class PlainRows:
    """See :class:`.rows.BentRows`.

    Attributes
    ----------
    splines : (q · TERMS_A_CAUSE, n) rows of the splines; zero where a column has fewer.
    effects : (q, n) the columns as they are explained: standardized, and ties spread out.
    weights : (n,).
    codes : (q, n) places of the levels of columns that have any.
    level_values : the levels of each column, standardized; empty for numbers.
    """

    splines: F64
    effects: F64
    weights: F64
    codes: Index
    level_values: tuple[F64, ...]
    _errors: F64 = field(init=False)

    def __post_init__(self) -> None:
        self._errors = np.zeros_like(self.effects)

    @staticmethod
    def entropies(counts: F64, n_rows: float) -> F64:
        """(m,) of histograms (m, BINS)."""
        return np.array([spacing_entropy(one, n_rows) for one in counts])

    def of_columns(self, columns: Index) -> Self:
        """The same of some columns."""
        at = (TERMS_A_CAUSE * columns[:, None] + np.arange(TERMS_A_CAUSE)).ravel()
        values = tuple(self.level_values[column] for column in columns)
        return type(self)(self.splines[at], self.effects[columns], self.weights, self.codes[columns], values)

    @property
    def weight(self) -> float:
        return float(self.weights.sum())

    def terms(self, designs: Designs, number: int) -> F64:
        """(1 + size, n): the constant, and the terms of one design."""
        size = designs.size[number]
        found = np.ones((size + 1, self.weights.size))
        for place in range(size):
            first, second = designs.first[number, place], designs.second[number, place]
            term = self.splines[first]
            if second >= 0:
                others = np.clip(self.splines[second], -PRODUCT_WITHIN, PRODUCT_WITHIN)
                term = np.clip(term, -PRODUCT_WITHIN, PRODUCT_WITHIN) * others
            found[place + 1] = term
        return found

    def grams(self, designs: Designs, gamma: F64 | None = None) -> F64:
        out = np.zeros((len(designs), designs.width + 1, designs.width + 1))
        for number, effect in enumerate(designs.effect):
            z = self.terms(designs, number)
            weights = self.weights
            if gamma is not None:
                weights = weights / _spread(z, gamma[number]) ** 2
            both = np.vstack([z, self.effects[effect]])
            at = np.append(np.arange(len(z)), designs.width)
            out[number][np.ix_(at, at)] = (both * weights) @ both.T
        return out

    def spread_sums(self, designs: Designs, beta: F64, gamma: F64) -> F64:
        out = np.zeros((len(designs), designs.width))
        for number in range(len(designs)):
            z = self.terms(designs, number)
            ratio = np.abs(self._left(designs, number, z, beta)) / _spread(z, gamma[number])
            out[number, : len(z)] = z @ (self.weights * (np.minimum(ratio, LARGEST_RATIO) - 1.0))
        return out

    def histograms(self, designs: Designs, beta: F64, gamma: F64 | None, unit: F64) -> tuple[F64, F64]:
        counts, sums = np.zeros((len(designs), BINS)), np.zeros((len(designs), 3))
        for number in range(len(designs)):
            z = self.terms(designs, number)
            spread = np.ones(self.weights.size) if gamma is None else _spread(z, gamma[number])
            error = self._left(designs, number, z, beta) / spread
            counts[number] = np.bincount(bin_of(error / unit[number]), self.weights, BINS)
            sums[number] = [self.weights @ part for part in (np.log(spread), error, error * error)]
        return counts, sums

    def spread_limits(self, designs: Designs, gamma: F64) -> F64:
        found = np.empty((len(designs), 2))
        for number in range(len(designs)):
            spread = np.log(_spread(self.terms(designs, number), gamma[number]))
            found[number] = spread.min(), spread.max()
        return found

    def level_sums(self, designs: Designs, beta: F64, thresholds: F64) -> LevelledSums:
        m, t, width = len(designs), thresholds.shape[1], designs.width
        found = LevelledSums.zero(m, width, t)
        for number, effect in enumerate(designs.effect):
            z = self.terms(designs, number)
            eta, code = beta[number, : len(z)] @ z, self.codes[effect]
            edges = np.concatenate([[-np.inf], thresholds[number], [np.inf]])
            upper, lower = expit(edges[code + 1] - eta), expit(edges[code] - eta)
            likely = np.maximum(upper - lower, LEAST_LIKELY)
            of_upper, of_lower = upper * (1.0 - upper), lower * (1.0 - lower)
            w = self.weights
            found.loglik[number] = w @ np.log(likely)
            found.gradient[number, : len(z)] = z @ (w * (upper + lower - 1.0))
            found.hessian[number, : len(z), : len(z)] = (z * (w * (of_upper + of_lower))) @ z.T
            up, low = of_upper / likely, of_lower / likely
            curve_up = up * up - of_upper * (1.0 - 2.0 * upper) / likely
            curve_low = low * low + of_lower * (1.0 - 2.0 * lower) / likely
            for level in range(t):
                at, above = code == level, code == level + 1
                found.threshold_gradient[number, level] = w[at] @ up[at] - w[above] @ low[above]
                found.threshold_hessian[number, level, level] = (
                    w[at] @ curve_up[at] + w[above] @ curve_low[above]
                )
                if level + 1 < t:
                    between = -(w[above] @ (up[above] * low[above]))
                    found.threshold_hessian[number, level, level + 1] = between
                    found.threshold_hessian[number, level + 1, level] = between
        return found

    def keep_errors(self, designs: Designs, beta: F64, gamma: F64 | None, thresholds: F64 | None) -> None:
        for number, effect in enumerate(designs.effect):
            z = self.terms(designs, number)
            if thresholds is None:
                spread = 1.0 if gamma is None else _spread(z, gamma[number])
                error = self._left(designs, number, z, beta) / spread
            else:
                values = self.level_values[effect]
                eta = beta[number, : len(z)] @ z
                mean, sd = expected_level(eta, thresholds[number, : values.size - 1], values)
                error = (values[self.codes[effect]] - mean) / sd
            self._errors[effect] = standardized(error, self.weights)

    def dependence(self, effects: Index) -> F64:
        error = self._errors[effects]
        size = np.stack([standardized(one, self.weights) for one in np.abs(error)]) if len(error) else error
        n = self.weights.sum()
        both = np.stack([error, size], axis=1) * self.weights
        return (both @ self.splines.T) ** 2 / n

    def _left(self, designs: Designs, number: int, z: F64, beta: F64) -> F64:
        return self.effects[designs.effect[number]] - beta[number, : len(z)] @ z


def _spread(z: F64, gamma: F64) -> F64:
    return np.exp(np.clip(gamma[: len(z)] @ z, -LARGEST_LOG_SPREAD, LARGEST_LOG_SPREAD))


def standardized(values: F64, weights: F64) -> F64:
    """With weighted mean zero and unit variance; zero where they do not vary."""
    total = weights.sum()
    centred = values - weights @ values / total
    sd = np.sqrt(weights @ (centred * centred) / total)
    return centred / sd if sd > 0 else centred


def expected_level(eta: F64, thresholds: F64, values: F64) -> tuple[F64, F64]:
    """Mean and standard deviation (n,) of a level with these ``values``, by a cumulative logit at ``eta``."""
    below = expit(np.concatenate([thresholds, [np.inf]])[:, None] - eta)
    share = np.diff(below, axis=0, prepend=0.0)
    mean = values @ share
    square = (values * values) @ share
    return mean, np.sqrt(np.maximum(square - mean * mean, LEAST_LIKELY))
