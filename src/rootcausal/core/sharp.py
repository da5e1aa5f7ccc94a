"""The default attribution, "sharp": which survivors of the screen are ancestors of D, and what they add.

The paper regresses D on all errors that pass a liberal t-test, so its ranks carry every null that
slipped through. But D is a (logistic) function of its parents only, and parents are few: with
log-odds = Σ_j w_j X_j and X = M E, a shock on i adds δ_i = Σ_j w_j M_ji for each unit (paper, Equation 3).
The same holds of a log-hazard and of an expected value (see :mod:`.outcome`). So this looks for

1. the direct causes (parents) of D: a sparse w, by a sum of single effects in the likelihood of D;
2. the direct causes of each column that matters: sparse regressions on the columns before it;
3. δ and the probability of being an ancestor, by following the paths back from D.

A null error now has to be a direct cause of D, or of one of its ancestors, before it adds anything. All
of this is arithmetic on the correlations of the columns and on the likelihood's gradient and Hessian, which
are sums over rows.

Covariates are no part of that question: columns are what covariates leave of them, and the covariates stand
beside them in the regression, with no more than a weak penalty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .direct_causes import find_direct_causes
from .outcome import Loss
from .regression import WEAK_PENALTY, Coefficients
from .susie import Sparsity
from .table import F64

# Tuned on simulated cohorts (seeds below 1,000): the results hardly move with any of them.
EXPECTED_CAUSES_OF_D = 3.0
MAX_BASELINES = 100
# Log-odds, or what the outcome has, by which the last step may still move the baseline.
TOLERANCE = 1e-4
# Keeps the direction of a step that has no end.
LONGEST_STEP = 1e6


@dataclass(frozen=True)
class Ancestry:
    """Coefficients of the errors, and the probability (k,) that each one's column causes D."""

    fitted: Coefficients
    probability: F64


def attribute(
    loss: Loss,
    mixing: F64,
    n_columns: int,
    variance: float,
    effective_rows: float,
    n_covariates: int = 0,
    n_first: int = 0,
) -> Ancestry:
    """Shrink the effect of each error by how probably its column is an ancestor of D.

    Parameters
    ----------
    loss : in the errors, in causal order.
    mixing : (k, k) of these columns, the Cholesky factor of their correlations (see
        :class:`~rootcausal.core.ordering.Ordering`).
    n_columns : all columns of the cohort, also those that the screen dropped.
    variance : expected of the effect of one standard deviation of a direct cause of D.
    effective_rows : how many rows of equal weight would give correlations as sure as these.
    n_covariates : how many columns at the start of the order are those of covariates.
    n_first : how many columns after them have no causes among the columns.
    """
    n_own = len(mixing) - n_covariates
    if n_covariates:
        mixing = mixing[n_covariates:, n_covariates:]
        mixing = mixing / np.linalg.norm(mixing, axis=1, keepdims=True)
    probability, coef, settled = np.zeros(0), np.zeros(0), True
    start = np.append(np.zeros(n_covariates), loss.start)
    if n_own:
        prior = Sparsity(EXPECTED_CAUSES_OF_D, n_columns - n_covariates, variance)
        causes = find_direct_causes(loss, mixing, prior, start, n_covariates)
        # What covariates took out of the columns leaves fewer rows to tell effects by.
        rows = max(effective_rows - n_covariates, 2.0) if n_covariates else effective_rows
        traced = loss.loops.trace_back(mixing, rows, causes.effects, n_first)
        probability, settled = traced.probability, causes.settled and traced.settled
        coef, start = traced.total * np.diagonal(mixing), causes.fixed
        if n_first > 1:
            # They were taken out of each other, and act as they were measured.
            coef[:n_first] = mixing[:n_first, :n_first].T @ traced.total[:n_first]
    elif not n_covariates:
        return Ancestry(Coefficients(coef, loss.start), probability)
    fixed, balanced = _refit(loss, coef, start, n_covariates)
    beside, baseline = fixed[:n_covariates], fixed[n_covariates:]
    fitted = Coefficients(np.append(beside, coef), baseline, converged=settled and balanced)
    return Ancestry(fitted, np.append(np.zeros(n_covariates), probability))


def _refit(loss: Loss, coef: F64, fixed: F64, c: int) -> tuple[F64, bool]:
    """Effects of covariates, and a baseline that lets the mean predicted risk be the observed one.

    So the risk is calibrated in the large. ``coef`` are those of the other errors; ``fixed`` is where to
    begin, the c covariates first. The second value is whether that was reached.
    """
    free = np.arange(coef.size + fixed.size)
    free = free[(free < c) | (free >= c + coef.size)]
    # Where all risks are certain, no curvature is left to divide by.
    penalty = np.where(free < c, WEAK_PENALTY, np.finfo(float).tiny)
    for _ in range(MAX_BASELINES):
        sums = loss.sums(np.concatenate((fixed[:c], coef, fixed[c:])))
        gradient = sums.gradient[free] - penalty * fixed
        if c:
            step = np.linalg.solve(sums.hessian[np.ix_(free, free)] + np.diag(penalty), gradient)
        else:
            # No two parameters of the baseline have a curvature together.
            with np.errstate(over="ignore"):
                step = gradient / (sums.hessian.diagonal()[free] + penalty)
        # Beyond one unit of log-odds the curvature of here says nothing any more.
        step = np.minimum(np.maximum(step, -LONGEST_STEP), LONGEST_STEP)
        length = float(np.abs(step).max())
        fixed = fixed + step / max(1.0, length)
        if length < TOLERANCE:
            return fixed, True
    return fixed, False
