"""True Shapley values where relations are nonlinear: averages over walks from drawn people to a patient."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..method.table import F64, Index
from .exogenous_errors import unit_error_quantiles
from .nonlinear_truth import NonlinearTruth

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
