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

from ..table import F64, Index
from .censoring import bounds_of, censored, drawn_within, within_bounds

# Values of the small systems that are held at once.
VALUES_A_BLOCK = 1 << 18


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
        height = max(1, VALUES_A_BLOCK // max(int(k) * int(k), Z.shape[1]))
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
