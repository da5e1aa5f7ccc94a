"""What compiled loops of nonlinear mechanisms are tested against: the same sums by NumPy, one by one."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from rootcausal.method.table import F64, Index
from rootcausal.nonlinear.memory_rows import LEAST_LIKELY, MemoryRows, spread_of
from rootcausal.nonlinear.rows import LARGEST_RATIO, Designs, LevelledSums
from rootcausal.nonlinear.sum_kernels import BINS, SPACING, STRETCH, bin_edges


class PlainRows(MemoryRows):
    """Rows in memory, summed design by design."""

    def grams(self, designs: Designs, gamma: F64 | None = None) -> F64:
        out = np.zeros((len(designs), designs.width + 1, designs.width + 1))
        for number, effect in enumerate(designs.effect):
            z = self.terms(designs, number)
            weights = self.weights
            if gamma is not None:
                weights = weights / spread_of(z, gamma[number]) ** 2
            both = np.vstack([z, self.effects[effect]])
            at = np.append(np.arange(len(z)), designs.width)
            out[number][np.ix_(at, at)] = (both * weights) @ both.T
        return out

    def spread_sums(self, designs: Designs, beta: F64, gamma: F64) -> F64:
        out = np.zeros((len(designs), designs.width))
        for number in range(len(designs)):
            z = self.terms(designs, number)
            left = self.effects[designs.effect[number]] - beta[number, : len(z)] @ z
            ratio = np.abs(left) / spread_of(z, gamma[number])
            out[number, : len(z)] = z @ (self.weights * (np.minimum(ratio, LARGEST_RATIO) - 1.0))
        return out

    def histograms(self, designs: Designs, beta: F64, gamma: F64 | None, unit: F64) -> tuple[F64, F64]:
        counts, sums = np.zeros((len(designs), BINS)), np.zeros((len(designs), 3))
        for number in range(len(designs)):
            z = self.terms(designs, number)
            spread = np.ones(self.weights.size) if gamma is None else spread_of(z, gamma[number])
            error = (self.effects[designs.effect[number]] - beta[number, : len(z)] @ z) / spread
            counts[number] = np.bincount(bin_of(error / unit[number]), self.weights, BINS)
            sums[number] = [self.weights @ part for part in (np.log(spread), error, error * error)]
        return counts, sums

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
                found.cross[number, : len(z), level] = -(
                    z[:, at] @ (w * of_upper)[at] + z[:, above] @ (w * of_lower)[above]
                )
                if level + 1 < t:
                    between = -(w[above] @ (up[above] * low[above]))
                    found.threshold_hessian[number, level, level + 1] = between
                    found.threshold_hessian[number, level + 1, level] = between
        return found


def bin_of(v: F64) -> Index:
    """(n,) the bin of each value, of about unit variance."""
    place = (v / (STRETCH + np.abs(v)) + 1.0) * (0.5 * BINS)
    return np.minimum(place.astype(np.intp), BINS - 1)


def spacing_entropy(histogram: F64, n_rows: float) -> float:
    """Differential entropy (nats) of what a histogram (BINS,) counts, which weighs as much as ``n_rows``.

    The density at a value is the share of rows within m ranks of it, over the distance between the first and
    the last of them, m being about the root of the rows; near the ends of the column fewer ranks are there.
    """
    filled = np.flatnonzero(histogram > 0)
    count = histogram[filled]
    below = np.cumsum(count)
    total, reach = below[-1], SPACING * np.sqrt(n_rows) * below[-1] / n_rows
    middle = below - 0.5 * count
    low, high = np.maximum(middle - reach, 0.0), np.minimum(middle + reach, total)
    width = _values_at(high, filled, count, below) - _values_at(low, filled, count, below)
    return float((count * np.log(width * total / (high - low))).sum() / total)


def _values_at(ranks: F64, filled: Index, count: F64, below: F64) -> F64:
    """Values at these ranks, between the edges of the first filled bin that reaches so far."""
    edges = bin_edges()
    at = np.minimum(np.searchsorted(below, ranks), filled.size - 1)
    inside = np.clip((ranks - (below[at] - count[at])) / count[at], 0.0, 1.0)
    left = edges[filled[at]]
    return left + (edges[filled[at] + 1] - left) * inside
