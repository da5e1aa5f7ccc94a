"""Structural equations that are nonlinear: a single index of the parents, a centre and a spread over it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from ..method.table import F64, Index

# What a variable is expected to be, and how its own error spreads, over the index of its parents.
CENTRES = ("saturating", "softplus", "gated")
SPREADS = ("growing", "peaked", "wide at both ends")
EVEN = "even"


@dataclass(frozen=True, slots=True, eq=False)
class NonlinearTruth:
    """The structural equations of a cohort: ``X_i = (f_i(s) + g_i(s) * error_i - mean_i) / sd_i``.

    Here ``s = (X @ adjacency[i] - index_mean[i]) / index_sd[i]`` is a single index of the parents. A variable
    without parents is its error.

    Attributes
    ----------
    adjacency : ndarray of shape (p, p)
        Weights of the index: ``[i, j]`` is that of j in the index of i.
    causal_order : ndarray of shape (p,), int
        Columns, causes first.
    centre, spread : tuple of str
        Names of the shapes f and g of each variable; "none" and "even" without parents.
    family : ndarray of shape (p,), int
        Which distribution each error has: 0 for Student's t, 1 for chi-square, 2 for uniform.
    index_mean, index_sd, mean, sd : ndarray of shape (p,)
        What standardizes the index and the variable.
    target_weights : ndarray of shape (p,)
        Direct effects on the log-odds of D.
    intercept : float
        Log-odds of D where all variables are zero.
    """

    adjacency: F64
    causal_order: Index
    centre: tuple[str, ...]
    spread: tuple[str, ...]
    family: NDArray[np.int64]
    index_mean: F64
    index_sd: F64
    mean: F64
    sd: F64
    target_weights: F64
    intercept: float

    def values(self, errors: F64) -> F64:
        """(n, p) variables of people with these errors (n, p)."""
        columns = np.array(errors, dtype=np.float64).T.copy()
        for i in self.causal_order:
            if self.adjacency[i].any():
                shift, scale = self.shift_and_scale(i, columns)
                columns[i] = shift + scale * columns[i]
        return np.ascontiguousarray(columns.T)

    def log_odds(self, X: F64) -> F64:
        """(n,) log-odds of D of people with these variables (n, p)."""
        return X @ self.target_weights + self.intercept

    def shift_and_scale(self, i: int, columns: F64) -> tuple[F64, F64]:
        """Of all columns (p, n): what a variable is where its error is zero, and what a unit of that adds."""
        parents = np.flatnonzero(self.adjacency[i])
        index = self.adjacency[i, parents] @ columns[parents]
        s = (index - self.index_mean[i]) / self.index_sd[i]
        shift, scale = centre_of(self.centre[i], s), spread_of(self.spread[i], s)
        return (shift - self.mean[i]) / self.sd[i], scale / self.sd[i]

    def ancestors(self) -> Index:
        """Columns whose errors reach D, causes first."""
        reaches = self.target_weights != 0
        for i in self.causal_order[::-1]:
            if reaches[i]:
                reaches |= self.adjacency[i] != 0
        return np.array([i for i in self.causal_order if reaches[i]], dtype=np.intp)


def centre_of(shape: str, s: F64) -> F64:
    """The f of that name."""
    if shape == "saturating":
        return 1.3 * np.tanh(1.5 * s)
    if shape == "softplus":
        return np.logaddexp(0.0, 2.0 * s)
    gated: F64 = 1.3 * s * ndtr(1.5 * s)
    return gated


def spread_of(shape: str, s: F64) -> F64:
    """The g of that name."""
    if shape == EVEN:
        return np.ones_like(s)
    if shape == "growing":
        growing: F64 = 0.4 + 1.2 * expit(2.0 * s)
        return growing
    if shape == "peaked":
        return 0.5 + 0.8 * np.exp(-0.5 * s * s)
    return np.sqrt(0.3 + 0.5 * s * s)
