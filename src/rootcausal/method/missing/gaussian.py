"""What a joint Gaussian expects of values that are missing, given those of the same row that are not.

With the precision Λ = Σ⁻¹, the missing part m of a row given its observed part o has the covariance
C = Λ_mm⁻¹ and the mean μ_m − C Λ_mo (x_o − μ_o): a small system a row, of as many equations as are missing.
Rows that lack equally many values are solved together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import log_ndtr, ndtri_exp

from ..table import F64, Index

# Values beyond a limit of detection: they are known to lie there, and not where (censoring).
#
# Such a cell holds the limit itself. It is taken for missing, with a bound on what it can be: what is
# expected of it, and how it is drawn, are those of a Gaussian cut off at the limit (Tobin 1958). Where a
# row has several such cells, or others that are missing beside one, no formula gives these moments;
# expectation propagation (Minka 2001) does nearly, and Gibbs sampling draws from the very distribution.

# Rounds of expectation propagation, and by how much, in standard deviations, the last one may move a mean.
MOST_ROUNDS = 100
AT_REST = 1e-6
# So much of its way each round goes: all cells of a row move at once, and would overshoot.
STEP = 0.8
# Rounds in which each value is drawn anew given all others; they begin with draws that are nearly right.
SWEEPS = 6
# What the noise knows a later sweep by, beside the numbers of columns.
NEXT_SWEEP = 1 << 40
# Beyond so many standard deviations the variance of a tail is that of an exponential distribution.
FAR = 1e3
LOG_ROOT_TWO_PI = 0.5 * np.log(2.0 * np.pi)


def censored(Z: F64, limits: F64) -> np.ndarray:
    """(n, d): which values are at the limits (2, d) or beyond; none that is missing."""
    lowest, highest = limits
    found: np.ndarray = (lowest >= Z) | (highest <= Z)
    return found


def bounds_of(Z: F64, limits: F64) -> tuple[F64, F64]:
    """(n, d) twice: between which numbers each value can be, if it is censored; else infinite ones."""
    lowest, highest = limits
    return np.where(highest <= Z, highest, -np.inf), np.where(lowest >= Z, lowest, np.inf)


def within_bounds(mean: F64, precision: F64, lowest: F64, highest: F64) -> tuple[F64, F64]:
    """Mean (g, k) and precision (g, k, k) of Gaussians near those that are cut off at these bounds (g, k).

    Of one value they are exact. One of its bounds at least is infinite. Each row comes to rest by itself:
    which others are asked about with it changes nothing.
    """
    bounded = np.isfinite(lowest) | np.isfinite(highest)
    flipped = np.where(np.isfinite(lowest), -1.0, 1.0)  # a lower bound is an upper one, seen in a mirror
    bound = flipped * np.where(np.isfinite(lowest), lowest, highest)
    pull = np.einsum("gab,gb->ga", precision, mean)
    sharper, pulls = np.zeros_like(mean), np.zeros_like(mean)
    diagonal = np.arange(mean.shape[1])
    step = 1.0 if mean.shape[1] == 1 else STEP
    found, total, row = mean.copy(), precision.copy(), np.arange(len(mean))
    for _ in range(MOST_ROUNDS):
        variance = np.linalg.inv(total[row])[:, diagonal, diagonal]
        # Of each value without what its own bound has told so far.
        alone = 1.0 / np.maximum(1.0 / variance - sharper[row], 1e-12)
        at = alone * (found[row] / variance - pulls[row])
        moved, narrowed = _below(flipped[row] * at, alone, np.where(bounded, bound, 0.0)[row])
        told = 1.0 / narrowed - 1.0 / alone
        toward = flipped[row] * moved / narrowed - at / alone
        sharper[row] = np.where(bounded[row], sharper[row] + step * (told - sharper[row]), 0.0)
        pulls[row] = np.where(bounded[row], pulls[row] + step * (toward - pulls[row]), 0.0)
        total[row] = precision[row]
        total[row[:, None], diagonal, diagonal] += sharper[row]
        before = found[row]
        found[row] = np.linalg.solve(total[row], (pull + pulls)[row][:, :, None])[:, :, 0]
        row = row[np.abs(found[row] - before).max(axis=1) >= AT_REST]
        if not row.size or step == 1.0:
            break
    return found, total


def _below(mean: F64, variance: F64, bound: F64) -> tuple[F64, F64]:
    """Mean and variance of Gaussians cut off above a bound."""
    sd = np.sqrt(variance)
    at = (bound - mean) / sd
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = np.exp(-0.5 * at * at - LOG_ROOT_TWO_PI - log_ndtr(at))
        left = 1.0 - ratio * (at + ratio)
    far = at < -FAR
    ratio = np.where(far, -at, ratio)
    left = np.where(far, 1.0 / np.maximum(at * at, 1.0), np.maximum(left, 1.0 / FAR**2))
    return mean - sd * ratio, variance * left


def drawn_within(
    start: F64,
    mean: F64,
    precision: F64,
    bounds: tuple[F64, F64],
    ids: Index,
    noise: Callable[[Index], F64],
) -> F64:
    """(g, k): draws of Gaussians (g, k), (g, k, k) between these bounds (g, k), by Gibbs sampling.

    Parameters
    ----------
    start : (g, k) draws that are nearly such.
    ids : (g, k) what noise knows the values by.
    noise : (g,) standard normal numbers, given what it knows a value by.
    """
    lowest, highest = bounds
    values = np.clip(start, lowest, highest)
    sweeps = 1 if values.shape[1] == 1 else SWEEPS
    for sweep in range(sweeps):
        for place in range(values.shape[1]):
            own = precision[:, place, place]
            pull = np.einsum("gb,gb->g", precision[:, place], values - mean)
            at = values[:, place] - pull / own
            fresh = noise(ids[:, place] + (sweep + 1) * NEXT_SWEEP)
            sd = 1.0 / np.sqrt(own)
            values[:, place] = at + sd * _cut(
                fresh, (lowest[:, place] - at) / sd, (highest[:, place] - at) / sd
            )
    return values


def _cut(fresh: F64, lowest: F64, highest: F64) -> F64:
    """(g,): standard normal numbers as those of a normal distribution between bounds (inverse transform)."""
    below, above = np.isfinite(highest), np.isfinite(lowest)
    found = fresh.copy()
    found[below] = ndtri_exp(log_ndtr(fresh[below]) + log_ndtr(highest[below]))
    found[above] = -ndtri_exp(log_ndtr(-fresh[above]) + log_ndtr(-lowest[above]))
    return np.clip(found, lowest, highest)


# Values of the small systems that are held at once.
VALUES_A_COVARIANCE_BLOCK = 1 << 18


@dataclass(frozen=True, eq=False)
class JointGaussian:
    """Mean (d,) and covariance (d, d), positive definite, of columns near unit variance.

    ``limits`` (2, d) are those of detection, as :class:`rootcausal.method.layout.Layout` has them; None where
    there are none.
    """

    mean: F64
    covariance: F64
    limits: F64 | None = None

    def lacking(self, Z: F64) -> np.ndarray:
        """(n, d): which values of rows are missing (NaN), or known only to lie beyond a limit."""
        return np.isnan(Z) if self.limits is None else np.isnan(Z) | censored(Z, self.limits)

    @cached_property
    def precision(self) -> F64:
        inverse = cho_solve(cho_factor(self.covariance, lower=True), np.eye(self.mean.size))
        return 0.5 * (inverse + inverse.T)


@dataclass(frozen=True, eq=False)
class Gaps:
    """The missing values of g rows that have equally many of them; among them those beyond a limit.

    Attributes
    ----------
    rows : (g,) which rows of Z.
    places : (g, k) which of their columns are missing.
    mean : (g, k) what these are expected to be.
    precision : (g, k, k) inverse of their covariance.
    uncut : mean and precision of the same without limits, and the bounds (g, k) that these set; None where no
        value of these rows lies beyond one.
    """

    rows: Index
    places: Index
    mean: F64
    precision: F64
    uncut: tuple[F64, F64, tuple[F64, F64]] | None = None

    def drawn(self, ids: Index, noise: Callable[[Index], F64]) -> F64:
        """(g, k): at random; ``noise`` gives standard normal numbers for what values are known by, of ``ids``
        (d,) one for each column.
        """
        known_by = ids[self.places]
        values = self.mean + scattered(self.precision, noise(known_by))
        if self.uncut is None:
            return values
        return drawn_within(values, *self.uncut, known_by, lambda some: noise(some[:, None])[:, 0])


def gaps_of(Z: F64, joint: JointGaussian) -> Iterator[Gaps]:
    """What rows Z (n, d) lack, a block of rows with equally many such values at a time."""
    missing = joint.lacking(Z)
    count = missing.sum(axis=1)
    for k in np.unique(count[count > 0]):
        alike = np.flatnonzero(count == k)
        height = max(1, VALUES_A_COVARIANCE_BLOCK // max(int(k) * int(k), Z.shape[1]))
        for start in range(0, alike.size, height):
            rows = alike[start : start + height]
            yield _solved(Z[rows], missing[rows], rows, joint)


def _solved(Z: F64, missing: np.ndarray, rows: Index, joint: JointGaussian) -> Gaps:
    places = np.nonzero(missing)[1].reshape(len(rows), -1)
    deviation = np.where(missing, 0.0, Z - joint.mean)
    pull = np.take_along_axis(deviation @ joint.precision, places, axis=1)
    precision = joint.precision[places[:, :, None], places[:, None, :]]
    shift = np.linalg.solve(precision, pull[:, :, None])[:, :, 0]
    mean = joint.mean[places] - shift
    if joint.limits is None:
        return Gaps(rows, places, mean, precision)
    lowest, highest = (np.take_along_axis(some, places, axis=1) for some in bounds_of(Z, joint.limits))
    cut = np.flatnonzero((np.isfinite(lowest) | np.isfinite(highest)).any(axis=1))
    if not cut.size:
        return Gaps(rows, places, mean, precision)
    near, sharper = mean.copy(), precision.copy()
    near[cut], sharper[cut] = within_bounds(mean[cut], precision[cut], lowest[cut], highest[cut])
    return Gaps(rows, places, near, sharper, (mean, precision, (lowest, highest)))


def scattered(precision: F64, noise: F64) -> F64:
    """(g, k): noise (g, k), of unit variance, with the covariance that these (g, k, k) are the inverse of."""
    root = np.linalg.cholesky(precision)
    spread = np.linalg.solve(np.swapaxes(root, 1, 2), noise[:, :, None])[:, :, 0]
    return np.asarray(spread, dtype=np.float64)
