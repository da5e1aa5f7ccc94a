"""The paper's attribution: the outcome regressed on the errors, by Newton's method on sums over rows.

Maximum likelihood, as in the paper (Algorithm 1, line 2), whenever it exists. Where the errors separate
the classes (complete or quasi-complete separation), or tell for certain who has the event first, it does not:
then a weak Gaussian prior on the coefficients (a ridge penalty), of standard deviation
``1 / sqrt(WEAK_PENALTY)`` for errors of unit variance and none on the baseline, keeps them finite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dposv

from ..outcome import Loss
from ..table import F64, LossSums

WEAK_PENALTY = 1.0
MAX_ITERATIONS = 50
# Squared Newton decrement, twice the expected gain of a step in log-likelihood, per row, at which to stop.
TOLERANCE = 1e-16
# Effects beyond this for a shock of one standard deviation mean that the likelihood has no maximum.
DIVERGED = 30.0
# At a maximum a last step is shorter than this.
LEVEL = 1e-3


@dataclass(frozen=True)
class Coefficients:
    """The outcome's linear predictor, such as log-odds, as a function of unit-variance errors.

    Attributes
    ----------
    coef : (k,).
    baseline : (b,) where all errors are zero: an intercept, the log-hazards of intervals of time, or the
        thresholds between stages.
    separated : whether the likelihood has no maximum, so that only a prior keeps the coefficients finite.
    converged : whether the iterations came to rest before their limit.
    """

    coef: F64
    baseline: F64
    separated: bool = False
    converged: bool = True


def regress(loss: Loss, k: int) -> Coefficients:
    """Regress the outcome on the k errors of this loss."""
    start = np.append(np.zeros(k), loss.start)
    best = _maximize(loss, start, k, penalty=0.0)
    separated = best is None
    if best is None:
        best = _maximize(loss, start, k, penalty=WEAK_PENALTY)
        assert best is not None, "a penalized likelihood always has a maximum"
    beta, converged = best
    return Coefficients(beta[:k], beta[k:], separated, converged)


def shrunken(loss: Loss, k: int, start: F64 | None = None) -> Coefficients:
    """The same with the weak prior in any case: few rows then do not make effects run away.

    ``start`` (k + b,) are coefficients and a baseline to begin with.
    """
    start = np.append(np.zeros(k), loss.start) if start is None else start
    best = _maximize(loss, start, k, penalty=WEAK_PENALTY)
    assert best is not None, "a penalized likelihood always has a maximum"
    beta, converged = best
    return Coefficients(beta[:k], beta[k:], False, converged)


def separates(loss: Loss, start: Coefficients) -> bool:
    """Whether the errors decide for all patients, or for some, so that the likelihood has no maximum.

    ``start`` is where to begin to look for one.
    """
    # That there is one is certain as soon as a step is short, unless nothing is left to gain; where it is
    # does not matter.
    beta = np.append(start.coef, start.baseline)
    return _maximize(loss, beta, start.coef.size, penalty=0.0, enough=LEVEL) is None


def _maximize(loss: Loss, beta: F64, k: int, penalty: float, enough: float = 0.0) -> tuple[F64, bool] | None:
    """Newton's method with step halving: the maximum, and whether it was reached.

    A step no longer than ``enough`` is not taken any more. None when the unpenalized likelihood has no
    maximum, or none within the limit of iterations.
    """
    here = _objective(loss, beta, k, penalty)
    for _ in range(MAX_ITERATIONS):
        step = _newton_step(here)
        if step is None:
            return None if not penalty else (beta, True)
        if np.abs(step).max(initial=0.0) <= enough:
            return None if not penalty and loss.is_certain(here.loglik) else (beta, True)
        gain = float(step @ here.gradient)
        if gain <= TOLERANCE * loss.n_rows:
            # A long step that gains nothing: some columns tell a few patients apart for certain.
            return None if not penalty and np.abs(step).max(initial=0.0) > LEVEL else (beta, True)
        size = 1.0
        there = _objective(loss, beta + step, k, penalty)
        while there.loglik < here.loglik and size > 1e-6:
            size *= 0.5
            there = _objective(loss, beta + size * step, k, penalty)
        if size <= 1e-6:
            return beta, True  # rounding is all that is left to gain
        beta, here = beta + size * step, there
        if not penalty and (loss.is_certain(here.loglik) or np.abs(beta[:k]).max(initial=0.0) > DIVERGED):
            return None
    return (beta, False) if penalty else None


def _objective(loss: Loss, beta: F64, k: int, penalty: float) -> LossSums:
    sums = loss.sums(beta)
    if not penalty:
        return sums
    ridge = np.zeros(beta.size)
    ridge[:k] = penalty
    return sums + LossSums(-0.5 * float(ridge @ beta**2), -ridge * beta, np.diag(ridge))


def by_baseline(information: F64, values: F64) -> F64:
    """Values (..., b) times the inverse of the information (b, b) on the parameters of a baseline."""
    if len(information) > 1 and information[0, 1]:
        return np.asarray(np.linalg.solve(information, values.T).T, dtype=np.float64)
    return values / information.diagonal()  # no two of them have a curvature together


def _newton_step(at: LossSums) -> F64 | None:
    """By Cholesky; None when the Hessian is singular: some direction changes no prediction any more."""
    if not at.gradient.size:
        return at.gradient  # of matched sets in which no column plays a part: they have no baseline either
    # SciPy's functions for it check their arguments for longer than a small system takes to solve.
    _, step, singular = dposv(at.hessian, at.gradient)
    return None if singular else step
