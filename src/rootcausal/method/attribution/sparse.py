"""The default attribution, "sharp": which columns are ancestors of D, and what they add.

The paper regresses D on all errors that pass a liberal t-test, so each effect carries the noise of all paths
that the data cannot rule out. But D is a (logistic) function of its parents only: with log-odds = Σ_j w_j X_j
and X = M E, a shock on i adds δ_i = Σ_j w_j M_ji for each unit (paper, Equation 3). The same holds of a
log-hazard and of an expected value (see :mod:`rootcausal.method.outcome`). So this looks for

1. the direct causes (parents) of D: w, with a prior whose sparsity and size are learned
(:mod:`rootcausal.method.attribution.spike_slab`); 2. the direct causes of each column that matters: sparse
regressions on the columns before it; 3. δ and the probability of being an ancestor, by following the paths
back from D.

Errors are what is left of the columns by the same regressions, so their effects add up to Σ_j w_j X_j to the
last digit: what is believed of the graph moves the shares of the errors, and not the risk. All of this is
arithmetic on the correlations of the columns and on the likelihood's gradient and Hessian, which are sums
over rows.

Covariates are no part of that question: columns are what covariates leave of them, and the covariates stand
beside them in the regression, with no more than a weak penalty.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg import block_diag, solve_triangular

from ..linear import inverse
from ..outcome import Loss
from ..table import F64, Index
from .direct_causes import find_direct_causes
from .regression import WEAK_PENALTY, Coefficients, by_baseline
from .spike_slab import Prior

# Where the data say nothing; from there it is learned.
EXPECTED_CAUSES_OF_D = 3.0
MAX_BASELINES = 100
# Log-odds, or what the outcome has, by which the last step may still move the baseline.
TOLERANCE = 1e-4
# Keeps the direction of a step that has no end.
LONGEST_STEP = 1e6


@dataclass(frozen=True)
class Ancestry:
    """What was found of the ancestors of D.

    Attributes
    ----------
    fitted : coefficients of the errors that the loss is in.
    mixing : (k, k), of the errors of the graph that was found; lower triangular.
    effects : (k,) of these errors.
    probability : (k,) that each one's column causes D; zero for covariates.
    """

    fitted: Coefficients
    mixing: F64
    effects: F64
    probability: F64


def attribute(
    loss: Loss,
    mixing: F64,
    variable: Index,
    prior: Prior,
    effective_rows: float,
    n_covariates: int = 0,
    n_first: int = 0,
    rng: np.random.Generator | None = None,
) -> Ancestry:
    """What each error adds, and how probably its column is an ancestor of D.

    Parameters
    ----------
    loss : in the errors, in causal order.
    mixing : (k, k) of these columns, the Cholesky factor of their correlations (see
        :class:`~rootcausal.method.ordering.ordering.Ordering`).
    variable : (k,) that each column belongs to; those of one lie side by side.
    prior : of the direct effects of these columns, but for those of covariates.
    effective_rows : how many rows of equal weight would give correlations as sure as these.
    n_covariates : how many columns at the start of the order are those of covariates.
    n_first : how many columns after them have no causes among the columns.
    rng : draws effects as they may be, in place of what is expected of them.
    """
    c, n_own = n_covariates, len(mixing) - n_covariates
    own = mixing[c:, c:] / np.linalg.norm(mixing[c:, c:], axis=1, keepdims=True)
    probability, turn, coef, settled = np.zeros(0), np.zeros((0, 0)), np.zeros(0), True
    start = np.append(np.zeros(c), loss.start)
    if n_own:
        causes = find_direct_causes(loss, own, prior, start, c)
        # What covariates took out of the columns leaves fewer rows to tell effects by.
        rows = max(effective_rows - c, 2.0) if c else effective_rows
        traced = loss.loops.trace_back(own, rows, causes.probability, n_first)
        probability, settled = traced.probability, causes.settled and traced.settled
        effects = causes.predicting if rng is None else causes.drawn(rng)
        coef, start = own.T @ effects, causes.fixed
        turn = _from_new_errors(own, traced.edges, variable[c:], n_first)
    elif not c:
        return Ancestry(Coefficients(coef, loss.start), mixing, coef, probability)
    fixed, balanced = refit(loss, coef, start, c)
    fitted = Coefficients(np.append(fixed[:c], coef), fixed[c:], converged=settled and balanced)
    turn = block_diag(np.eye(c), turn)
    found = np.tril(mixing @ turn)
    return Ancestry(fitted, found, turn.T @ fitted.coef, np.append(np.zeros(c), probability))


def _from_new_errors(mixing: F64, edges: F64, variable: Index, n_first: int) -> F64:
    """(k, k): the errors of least squares by those that these edges leave, of unit variance.

    Columns that come first keep the errors that they have. Dummies of one variable are regressed on each
    other by least squares, whatever the edges say: their errors make up one of unit variance only where none
    goes with another.
    """
    left = mixing - edges @ mixing
    left[:n_first] = np.eye(n_first, len(mixing))
    left /= np.linalg.norm(left, axis=1, keepdims=True)
    starts = np.flatnonzero(np.append(True, variable[1:] != variable[:-1]))
    for start, end in pairwise([*starts, variable.size]):
        if end - start > 1:
            inside = left[start:end]
            together = np.linalg.cholesky(inside @ inside.T)
            left[start:end] = solve_triangular(together, inside, lower=True)
    return inverse(left).T


def refit(loss: Loss, coef: F64, fixed: F64, c: int) -> tuple[F64, bool]:
    """Effects of covariates, and a baseline that lets the mean predicted risk be the observed one.

    So the risk is calibrated in the large. ``coef`` are those of the other errors; ``fixed`` is where to
    begin, the c covariates first. The second value is whether that was reached.
    """
    free = np.arange(coef.size + fixed.size)
    free = free[(free < c) | (free >= c + coef.size)]
    if not free.size:
        return fixed, True
    # Where all risks are certain, no curvature is left to divide by.
    penalty = np.where(free < c, WEAK_PENALTY, np.finfo(float).tiny)
    step = np.zeros(free.size)
    for _ in range(MAX_BASELINES):
        sums = loss.sums(np.concatenate((fixed[:c], coef, fixed[c:])))
        if sums.loglik == -np.inf:  # thresholds that do not ascend: the step went too far
            step *= 0.5
            fixed = fixed - step
            continue
        gradient = sums.gradient[free] - penalty * fixed
        information = sums.hessian[np.ix_(free, free)]
        if c:
            step = np.linalg.solve(information + np.diag(penalty), gradient)
        else:
            with np.errstate(over="ignore"):
                step = by_baseline(information + np.diag(penalty), gradient)
        # Beyond one unit of log-odds the curvature of here says nothing any more.
        step = np.minimum(np.maximum(step, -LONGEST_STEP), LONGEST_STEP)
        length = float(np.abs(step).max())
        step /= max(1.0, length)
        fixed = fixed + step
        if length < TOLERANCE:
            return fixed, True
    return fixed, False
