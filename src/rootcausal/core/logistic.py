"""The paper's attribution: logistic regression of D on the errors, by Newton's method on sums over rows.

Maximum likelihood, as in the paper (Algorithm 1, line 2), whenever it exists. Where the errors separate
the classes (complete or quasi-complete separation) it does not: then a weak Gaussian prior on the
coefficients (a ridge penalty), of standard deviation ``1 / sqrt(WEAK_PENALTY)`` for errors of unit variance
and none on the intercept, keeps them finite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .table import F64, Index, LogitSums, Table

WEAK_PENALTY = 1.0
MAX_ITERATIONS = 50
# Squared Newton decrement, twice the expected gain of a step in log-likelihood, per row, at which to stop.
TOLERANCE = 1e-16
# Log-odds beyond this for a shock of one standard deviation mean that the likelihood has no maximum.
DIVERGED = 30.0
# At a maximum a last step is shorter than this.
LEVEL = 1e-3
# Mean log-likelihood this close to zero: every patient is predicted with certainty.
PERFECT = 1e-6


@dataclass(frozen=True)
class Logit:
    """Log-odds as a linear function of unit-variance errors.

    Attributes
    ----------
    coef : (k,).
    intercept : log-odds where all errors are zero.
    separated : whether the likelihood has no maximum, so that only a prior keeps the coefficients finite.
    converged : whether the iterations came to rest before their limit.
    """

    coef: F64
    intercept: float
    separated: bool = False
    converged: bool = True


def fit_logit(table: Table, cols: Index, case_rate: float) -> Logit:
    """Regress the labels on the given columns of the table.

    Parameters
    ----------
    table, cols : where the errors are.
    case_rate : share of cases, strictly between 0 and 1; the starting point.
    """
    start = np.append(np.zeros(len(cols)), np.log(case_rate / (1.0 - case_rate)))
    best = _maximize(table, cols, start, penalty=0.0)
    separated = best is None
    if best is None:
        best = _maximize(table, cols, start, penalty=WEAK_PENALTY)
        assert best is not None, "a penalized likelihood always has a maximum"
    beta, converged = best
    return Logit(beta[:-1], float(beta[-1]), separated, converged)


def separates(table: Table, cols: Index, start: Logit) -> bool:
    """Whether these columns tell the classes apart perfectly, so that the likelihood has no maximum.

    ``start`` is where to begin to look for one.
    """
    return _maximize(table, cols, np.append(start.coef, start.intercept), penalty=0.0) is None


def _maximize(table: Table, cols: Index, beta: F64, penalty: float) -> tuple[F64, bool] | None:
    """Newton's method with step halving: the maximum, and whether it was reached.

    None when the unpenalized likelihood has no maximum, or none within the limit of iterations.
    """
    n = table.shape[0]
    ridge = np.full(beta.size, penalty)
    ridge[-1] = 0.0
    here = _objective(table, cols, beta, ridge)
    for _ in range(MAX_ITERATIONS):
        step = _newton_step(here)
        if step is None:
            return None if not penalty else (beta, True)
        gain = float(step @ here.gradient)
        if gain <= TOLERANCE * n:
            # A long step that gains nothing: some columns tell a few patients apart for certain.
            return None if not penalty and np.abs(step).max() > LEVEL else (beta, True)
        size = 1.0
        there = _objective(table, cols, beta + step, ridge)
        while there.loglik < here.loglik and size > 1e-6:
            size *= 0.5
            there = _objective(table, cols, beta + size * step, ridge)
        if size <= 1e-6:
            return beta, True  # rounding is all that is left to gain
        beta, here = beta + size * step, there
        if not penalty and (here.loglik > -PERFECT * n or np.abs(beta).max() > DIVERGED):
            return None
    return (beta, False) if penalty else None


def _objective(table: Table, cols: Index, beta: F64, ridge: F64) -> LogitSums:
    sums = table.logit_sums(cols, beta)
    return sums + LogitSums(-0.5 * float(ridge @ beta**2), -ridge * beta, np.diag(ridge))


def _newton_step(at: LogitSums) -> F64 | None:
    """By Cholesky; None when the Hessian is singular: some direction changes no prediction any more."""
    try:
        return cho_solve(cho_factor(at.hessian), at.gradient)
    except np.linalg.LinAlgError:
        return None
