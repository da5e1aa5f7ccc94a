"""Values that are measured with error: the true ones are missing in every row, and stand behind measurements.

A measurement is the true value plus noise that depends on nothing, of a known variance (classical measurement
error). So the covariance of true values is that of measurements less the noise, and a true value is a missing
one of which the row holds, beside its other columns, a measurement. What is expected of it is regression
calibration (Carroll et al. 2006), and drawing it at random is multiple imputation for measurement error
(Cole, Chu & Greenland 2006): both are done as for values that were never measured.
"""

from __future__ import annotations

import numpy as np

from ..table import F64
from .gaussian import JointGaussian

# Of standardized columns, the least variance in any direction that noise may leave: chance can take more.
LEAST_LEFT = 1e-3


def less_noise(joint: JointGaussian, noise: F64) -> JointGaussian:
    """The Gaussian of true values, given that of measurements and the variances (d,) of their noise."""
    covariance = joint.covariance - np.diag(noise)
    scale = np.sqrt(np.maximum(np.diagonal(covariance), LEAST_LEFT))
    sizes, directions = np.linalg.eigh(covariance / np.outer(scale, scale))
    if sizes[0] < LEAST_LEFT:
        left = (directions * np.maximum(sizes, LEAST_LEFT)) @ directions.T
        covariance = left * np.outer(scale, scale)
    return JointGaussian(joint.mean, 0.5 * (covariance + covariance.T), joint.limits)


def with_measurements(true: JointGaussian, noise: F64) -> JointGaussian:
    """Of true values (d,) and, after them, of the measurements of those that have noise (d,)."""
    noisy = np.flatnonzero(noise)
    beside = true.covariance[:, noisy]
    measured = true.covariance[np.ix_(noisy, noisy)] + np.diag(noise[noisy])
    covariance = np.block([[true.covariance, beside], [beside.T, measured]])
    limits = true.limits
    if limits is not None:  # no column has both: measurements have none
        limits = np.column_stack([limits, np.tile([[-np.inf], [np.inf]], noisy.size)])
    return JointGaussian(np.append(true.mean, true.mean[noisy]), covariance, limits)


def behind_measurements(Z: F64, noise: F64) -> F64:
    """Rows (n, d) as that Gaussian has them: true values are missing, and their measurements stand last."""
    noisy = np.flatnonzero(noise)
    rows = np.concatenate([Z, Z[:, noisy]], axis=1)
    rows[:, noisy] = np.nan
    return rows
