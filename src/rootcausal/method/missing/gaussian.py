"""What a joint Gaussian expects of values that are missing, given those of the same row that are not.

With the precision Λ = Σ⁻¹, the missing part m of a row given its observed part o has the covariance
C = Λ_mm⁻¹ and the mean μ_m − C Λ_mo (x_o − μ_o): a small system a row, of as many equations as are missing.
Rows that lack equally many values are solved together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..table import F64, Index

# Values of the small systems that are held at once.
VALUES_A_BLOCK = 1 << 18


@dataclass(frozen=True, eq=False)
class JointGaussian:
    """Mean (d,) and covariance (d, d), positive definite, of columns near unit variance."""

    mean: F64
    covariance: F64

    @cached_property
    def precision(self) -> F64:
        inverse = cho_solve(cho_factor(self.covariance, lower=True), np.eye(self.mean.size))
        return 0.5 * (inverse + inverse.T)


@dataclass(frozen=True, eq=False)
class Gaps:
    """The missing values of g rows that have equally many of them.

    Attributes
    ----------
    rows : (g,) which rows of Z.
    places : (g, k) which of their columns are missing.
    mean : (g, k) what these are expected to be.
    precision : (g, k, k) inverse of their covariance.
    """

    rows: Index
    places: Index
    mean: F64
    precision: F64


def gaps_of(Z: F64, joint: JointGaussian) -> Iterator[Gaps]:
    """The missing values (NaN) of rows Z (n, d), a block of rows with equally many at a time."""
    missing = np.isnan(Z)
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
    return Gaps(rows, places, joint.mean[places] - shift, precision)


def scattered(precision: F64, noise: F64) -> F64:
    """(g, k): noise (g, k), of unit variance, with the covariance that these (g, k, k) are the inverse of."""
    root = np.linalg.cholesky(precision)
    spread = np.linalg.solve(np.swapaxes(root, 1, 2), noise[:, :, None])[:, :, 0]
    return np.asarray(spread, dtype=np.float64)
