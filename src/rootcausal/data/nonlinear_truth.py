"""Structural equations that are nonlinear: a single index of the parents, a centre and a spread over it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from ..method.table import F64, Index
from .exogenous_errors import unit_error_quantiles

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


# True Shapley values where relations are nonlinear: averages over walks from drawn people to a patient.

# Independent answers, whose scatter is the noise.
REPLICATES = 8
# Two strata at least in each replicate.
FEWEST_WALKS = 2 * REPLICATES
# Patients that walk together: what they hold stays in a processor's cache.
PATIENTS_A_BLOCK = 2048


def walked_shapley(
    mechanism: NonlinearTruth,
    errors: F64,
    base_value: float,
    n_walks: int,
    rng: np.random.Generator,
) -> tuple[F64, F64]:
    """Shapley values of the log-odds and their standard errors, both (n, p); zero for non-ancestors of D.

    With the base value, rows sum to the log-odds: what sampling left over is shared out in each replicate,
    most to the errors whose values scatter most.
    """
    ancestors = mechanism.ancestors()
    values, noise = np.zeros_like(errors), np.zeros_like(errors)
    log_odds = mechanism.log_odds(mechanism.values(errors))
    strata = -(-n_walks // REPLICATES)
    walks = [_draw_walks(strata, ancestors, mechanism.family, rng) for _ in range(REPLICATES)]
    found = np.empty((REPLICATES, ancestors.size, len(errors)))
    for begin in range(0, len(errors), PATIENTS_A_BLOCK):
        some = slice(begin, begin + PATIENTS_A_BLOCK)
        for replicate, (starts, orders) in enumerate(walks):
            found[replicate, :, some] = _walk(mechanism, ancestors, errors[some], starts, orders)
    scatter = found.var(axis=0, ddof=1).mean(axis=1)
    total = scatter.sum()
    share = scatter / total if total > 0 else np.full(ancestors.size, 1 / ancestors.size)
    found += share[:, None] * (log_odds - base_value - found.sum(axis=1))[:, None, :]
    values[:, ancestors] = found.mean(axis=0).T
    noise[:, ancestors] = found.std(axis=0, ddof=1).T / np.sqrt(REPLICATES)
    return values, noise


def _draw_walks(
    strata: int, ancestors: Index, family: NDArray[np.int64], rng: np.random.Generator
) -> tuple[F64, Index]:
    """Where walks start, (strata, p) stratified errors (Latin hypercube), and in which orders they go."""
    starts = np.zeros((strata, family.size))
    for i in ancestors:
        shares = (rng.permutation(strata) + rng.random(strata)) / strata
        starts[:, i] = unit_error_quantiles(shares, int(family[i]))
    orders = np.array([rng.permutation(ancestors) for _ in range(strata)])
    return starts, orders


def _walk(mechanism: NonlinearTruth, ancestors: Index, errors: F64, starts: F64, orders: Index) -> F64:
    """(a, n): what the log-odds gain, on average over walks, when an ancestor's error is set."""
    place = {int(i): at for at, i in enumerate(ancestors)}
    downstream = _downstream(mechanism, ancestors)
    of_patient = np.ascontiguousarray(errors.T)
    gains = np.zeros((ancestors.size, len(errors)))
    for start, order in zip(starts, orders, strict=True):
        for way in (order, order[::-1]):
            own = np.repeat(start[:, None], len(errors), axis=1)
            columns = own.copy()
            shift, scale = np.zeros_like(columns), np.ones_like(columns)
            _settle(mechanism, ancestors, own, columns, shift, scale)
            before = mechanism.target_weights @ columns
            for i in way:
                own[i] = of_patient[i]
                columns[i] = shift[i] + scale[i] * own[i]
                _settle(mechanism, downstream[int(i)], own, columns, shift, scale)
                now = mechanism.target_weights @ columns
                gains[place[int(i)]] += now - before
                before = now
    return gains / (2 * len(starts))


def _settle(mechanism: NonlinearTruth, which: Index, own: F64, columns: F64, shift: F64, scale: F64) -> None:
    """Work out these variables anew, causes first, all arrays (p, n)."""
    for i in which:
        if mechanism.adjacency[i].any():
            shift[i], scale[i] = mechanism.shift_and_scale(i, columns)
            columns[i] = shift[i] + scale[i] * own[i]


def _downstream(mechanism: NonlinearTruth, ancestors: Index) -> dict[int, Index]:
    """Of each ancestor of D: the other ancestors that it acts on, directly or not, causes first."""
    reached: dict[int, Index] = {}
    for cause in ancestors:
        acts = np.zeros(len(mechanism.adjacency), dtype=bool)
        acts[cause] = True
        for i in ancestors:
            acts[i] |= (mechanism.adjacency[i] != 0) @ acts
        reached[int(cause)] = np.array([i for i in ancestors if acts[i] and i != cause], dtype=np.intp)
    return reached
