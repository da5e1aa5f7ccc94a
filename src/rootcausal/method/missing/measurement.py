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

# How well the variance of noise is known: standard deviation of its logarithm.
DOUBT = 0.5
# Of what other columns leave of one, drawn noise takes no more.
MOST_OF_OWN = 0.8
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


def drawn_noise(noise: F64, X: F64, rng: np.random.Generator) -> F64:
    """(q,) standard deviations of noise as they may be, where these (q,) were said, of columns X (n, q).

    Said by half too small, as optimists have it, noise is as large as this allows in one of twelve draws.
    """
    noisy = np.flatnonzero(noise)
    variance = noise[noisy] ** 2 * np.exp(DOUBT * rng.standard_normal(noisy.size))
    there = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    sd = np.where(there.std(axis=0) > 0.0, there.std(axis=0), 1.0)
    covariance = np.atleast_2d(np.cov(there / sd, rowvar=False)) + LEAST_LEFT * np.eye(noise.size)
    # All noise together may take no direction away of what others leave of these columns.
    own = np.linalg.inv(np.linalg.inv(covariance)[np.ix_(noisy, noisy)])
    root = np.sqrt(variance) / sd[noisy]
    least = float(np.linalg.eigvalsh(own / np.outer(root, root))[0])
    drawn = np.zeros_like(noise)
    drawn[noisy] = np.sqrt(variance * min(1.0, MOST_OF_OWN * least))
    return drawn


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
