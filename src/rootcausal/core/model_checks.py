"""What holds of every model that was learned, and is asked of every model that a file brings."""

from __future__ import annotations

import math

import numpy as np

from .model import CausalModel
from .moments import EXHAUSTED
from .table import F64, Index

MOST_COLUMNS = 10_000_000
# Beyond these, the scores of a patient would not be finite numbers.
MOST_LOG_ODDS = 1e9
LEAST_SCALE, MOST_SCALE = 1e-290, 1e290
MOST_MEAN_IN_SD = 1e20
# Entries of the mixing matrix are correlations times standard deviations of at most one.
MOST_MIXING = 1.0 + 1e-6
LEAST_DIAGONAL = 0.5 * math.sqrt(EXHAUSTED)
MOST_UNMIXING = 1e30
# How often the rounding error of one product may be exceeded.
ROUNDING_MARGIN = 64


def check_model(model: CausalModel) -> None:
    """Raise ValueError where the arrays cannot be those of a learned model."""
    check_order(model.order, model.n_columns)
    check_numbers(model.mean, model.sd, model.coef, np.array([model.intercept]))
    check_mixing(model.mixing)
    check_unmixing(model.unmixing)
    _check_inverse(model.mixing, model.unmixing)


def check_order(order: Index, n_columns: int, owner: Index | int = 0) -> None:
    """Raise ValueError where columns do not exist, or are twice in the order of one owner."""
    if not 1 <= n_columns <= MOST_COLUMNS:
        raise ValueError("its number of columns is out of range")
    if not ((order >= 0) & (order < n_columns)).all():
        raise ValueError("the causal order names columns that do not exist")
    if np.unique(order + n_columns * owner).size != order.size:
        raise ValueError("the causal order names a column twice")


def check_numbers(mean: F64, sd: F64, coef: F64, intercept: F64) -> None:
    """Raise ValueError where a patient would not get finite scores."""
    if not ((sd >= LEAST_SCALE) & (sd <= MOST_SCALE)).all():
        raise ValueError("a standard deviation is not a positive number, or out of range")
    if not (np.abs(mean) <= MOST_MEAN_IN_SD * sd).all():
        raise ValueError("a mean is not a number, or far larger than its standard deviation allows")
    if not all((np.abs(effect) <= MOST_LOG_ODDS).all() for effect in (coef, intercept)):
        raise ValueError("a coefficient or an intercept is not a number, or out of range")


def check_mixing(mixing: F64) -> None:
    """Raise ValueError where a (k, k) matrix is not lower triangular, with a positive diagonal."""
    if not (np.abs(mixing) <= MOST_MIXING).all() or not (np.diagonal(mixing) >= LEAST_DIAGONAL).all():
        raise ValueError("the mixing matrix has entries out of range")
    if np.triu(mixing, 1).any():
        raise ValueError("the mixing matrix is not triangular")


def check_unmixing(unmixing: F64) -> None:
    """Raise ValueError where a matrix holds what no inverse of a mixing matrix does."""
    if not (np.abs(unmixing) <= MOST_UNMIXING).all():
        raise ValueError("the unmixing matrix has entries out of range")


def _check_inverse(mixing: F64, unmixing: F64) -> None:
    """Raise ValueError where ``unmixing.T`` is not the inverse of ``mixing``, up to the rounding of a solve.

    Such a solve leaves a residual that is small entry by entry beside |mixing| |inverse|, however badly
    conditioned it is. A few random vectors see in k² steps what a product of the matrices would in k³.
    """
    if np.tril(unmixing, -1).any():
        raise ValueError("the unmixing matrix is not triangular")
    k = len(mixing)
    probe = np.random.default_rng(0).standard_normal((k, 3))
    residual = np.abs(mixing @ (unmixing.T @ probe) - probe)
    size = np.abs(mixing) @ (np.abs(unmixing.T) @ np.abs(probe))
    if not (residual <= ROUNDING_MARGIN * k * np.finfo(float).eps * size).all():
        raise ValueError("the unmixing matrix is not the inverse of the mixing matrix")
