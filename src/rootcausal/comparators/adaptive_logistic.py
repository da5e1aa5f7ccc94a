"""AdaptiveLogistic (the paper's LR): logistic regression with the adaptive lasso."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_random_state

from ..backends.cpu.compiler import compiled
from ..errors import InputError
from ..method.table import F64, Index
from .base import Comparator

# Newton directions of logistic lassos, for AdaptiveLogistic: many weighted lassos in one compiled call.
#
# Each lasso is solved on its Gram matrix by coordinate descent. Where a sweep leaves all signs as they
# were, the minimum among coefficients of these signs is a linear system: the descent steps to it, or as far
# as the first coefficient that becomes zero on the way. Nearly collinear columns, for which plain descent
# takes thousands of sweeps, so take a few.

Bools = NDArray[np.bool_]

# A solve may stop short where columns are collinear: the next Newton step takes it further.
MOST_SWEEPS = 1000
# Largest violation of the optimality conditions that ends a solve, relative to the penalty.
NEWTON_TOLERANCE = 1e-9
# A column of which others explain all but this share of the variance has no coefficient of its own.
COLLINEAR = 1e-13


@compiled(nogil=True)
def newton_directions(
    columns: F64, residual: F64, weight: F64, coef: F64, working: Bools, penalty: F64
) -> tuple[F64, F64]:
    """Changes (F, p) of coefficients and (F,) of intercepts to the minima of F quadratic expansions.

    Parameters
    ----------
    columns : (p, n); residual, weight : (F, n), zero for rows outside a fit.
    coef : (F, p) where the fits stand; working : (F, p) the columns that may move.
    penalty : (F,) of the sum of absolute coefficients, for losses that are sums over rows.
    """
    fits, n = residual.shape
    change = np.zeros(coef.shape)
    shift = np.empty(fits)
    scaled_columns = np.empty(columns.shape)
    pearson = np.empty(n)
    for fit in range(fits):
        root = np.sqrt(weight[fit])
        total = weight[fit].sum()
        for row in range(n):
            pearson[row] = residual[fit, row] / root[row] if root[row] > 0.0 else 0.0
        shift[fit] = residual[fit].sum() / total
        moving = np.flatnonzero(working[fit])
        scaled = scaled_columns[: moving.size]
        # The intercept is free: what the columns and it have in common is projected out.
        centre = np.empty(moving.size)
        for k in range(moving.size):
            column = columns[moving[k]]
            centre[k] = np.dot(column, weight[fit]) / total
            for row in range(n):
                scaled[k, row] = (column[row] - centre[k]) * root[row]
        gram = np.dot(scaled, scaled.T)
        start = coef[fit][moving]
        found = _lasso(gram, np.dot(scaled, pearson) + np.dot(gram, start), penalty[fit], start)
        for k in range(moving.size):
            change[fit, moving[k]] = found[k] - start[k]
            shift[fit] -= centre[k] * change[fit, moving[k]]
    return change, shift


@compiled(inner=True, nogil=True)
def _lasso(gram: F64, slope: F64, penalty: float, start: F64) -> F64:
    """(k,) minimising wᵀ gram w / 2 − slopeᵀ w + penalty · Σ|w|."""
    size = slope.size
    w = start.copy()
    gradient = slope - np.dot(gram, w)
    for _ in range(MOST_SWEEPS):
        settled = True
        for j in range(size):
            if gram[j, j] <= 0.0:
                continue
            free = gradient[j] + gram[j, j] * w[j]
            value = math.copysign(max(abs(free) - penalty, 0.0), free) / gram[j, j]
            if value != w[j]:
                settled &= (value > 0.0) == (w[j] > 0.0) and (value < 0.0) == (w[j] < 0.0)
                moved = value - w[j]
                w[j] = value
                for i in range(size):
                    gradient[i] -= moved * gram[j, i]
        if settled:
            _step_within_signs(gram, slope, penalty, w)
            gradient = slope - np.dot(gram, w)
        worst = 0.0
        for j in range(size):
            if w[j] == 0.0:
                worst = max(worst, abs(gradient[j]) - penalty)
            else:
                worst = max(worst, abs(gradient[j] - math.copysign(penalty, w[j])))
        if worst <= NEWTON_TOLERANCE * penalty:
            break
    return w


@compiled(inner=True, nogil=True)
def _step_within_signs(gram: F64, slope: F64, penalty: float, w: F64) -> None:
    """Move the nonzero entries of w to their minimum, or until the first of them is zero.

    Where columns are collinear, only their coefficients move, to a smaller sum of the same predictions.
    """
    held = np.flatnonzero(w)
    root = np.zeros((held.size, held.size))  # Cholesky's
    way = np.zeros(held.size)
    rank = 0
    while rank < held.size:
        own = gram[held[rank], held[rank]]
        left = own
        for b in range(rank):
            value = gram[held[rank], held[b]]
            for c in range(b):
                value -= root[rank, c] * root[b, c]
            root[rank, b] = value / root[b, b]
            left -= root[rank, b] ** 2
        if left <= COLLINEAR * own:
            break
        root[rank, rank] = math.sqrt(left)
        rank += 1
    furthest = 1.0
    if rank == held.size:
        for a in range(rank):
            way[a] = slope[held[a]] - math.copysign(penalty, w[held[a]])
            for c in range(rank):
                way[a] -= gram[held[a], held[c]] * w[held[c]]
            for c in range(a):
                way[a] -= root[a, c] * way[c]
            way[a] /= root[a, a]
    else:
        furthest = np.inf
        way[:rank] = root[rank, :rank]
    for a in range(rank - 1, -1, -1):
        for c in range(a + 1, rank):
            way[a] -= root[c, a] * way[c]
        way[a] /= root[a, a]
    if rank < held.size:
        way[rank] = -1.0
        growth = 0.0
        for a in range(rank + 1):
            growth += math.copysign(way[a], way[a] * w[held[a]])
        if growth > 0.0:
            way = -way
    first = -1
    for a in range(held.size):
        if way[a] * w[held[a]] < 0.0 and -w[held[a]] / way[a] < furthest:
            furthest, first = -w[held[a]] / way[a], a
    if math.isinf(furthest):
        return
    for a in range(held.size):
        w[held[a]] += furthest * way[a]
    if first >= 0:
        w[held[first]] = 0.0


# Logistic lasso paths of a cohort and all its folds at once, for AdaptiveLogistic.
#
# Each fit is a proximal Newton method: the likelihood is replaced by its quadratic expansion, and
# coordinate descent solves the weighted lasso that results, on its Gram matrix (as in Friedman, Hastie &
# Tibshirani 2010). The fits walk down the penalties side by side, so that one
# matrix product gives the gradients of all of them, and the predictions for held-out rows come for nothing.

# Largest violation of the optimality conditions that ends a fit, relative to the penalty: of the first fit,
# whose coefficients are wanted, and of the others, of which only the sides of held-out rows are.
TOLERANCE = 1e-6
FOLD_TOLERANCE = 1e-3
MAX_NEWTON_STEPS = 50
# The path ends where the first fit explains this share of the deviance: beyond, coefficients only run away.
SATURATED = 0.99


@dataclass(frozen=True)
class LogisticPaths:
    """Paths of F fits over K penalties; K is smaller than asked for where the first fit was saturated.

    Attributes
    ----------
    penalties : (K,) largest first.
    coef, intercept : (K, F, p) and (K, F).
    held_out_errors : (K, F) rows outside a fit that it gives the wrong label.
    """

    penalties: F64
    coef: F64
    intercept: F64
    held_out_errors: Index


def largest_penalty(Z: F64, y: Index) -> float:
    """The smallest penalty at which all coefficients are zero."""
    return float(np.abs((y - y.mean()) @ Z).max() / len(y))


def logistic_paths(Z: F64, y: Index, seen: NDArray[np.bool_], penalties: F64) -> LogisticPaths:
    """Minimise mean logistic loss + penalty · Σ|coef| for each penalty, the intercept being free.

    Parameters
    ----------
    Z : (n, p), y : (n,) of 0 and 1.
    seen : (F, n), which rows belong to each fit; each needs rows of both classes.
    penalties : largest first.
    """
    fits = _Fits(Z, y, seen)
    null_loss = fits.loss[0]
    coefs, intercepts, errors = [], [], []
    for previous, penalty in zip(np.r_[penalties[0], penalties], penalties, strict=False):
        fits.solve(penalty, previous)
        coefs.append(fits.coef.copy())
        intercepts.append(fits.intercept.copy())
        errors.append(fits.held_out_errors())
        if fits.loss[0] < (1.0 - SATURATED) * null_loss:
            break
    return LogisticPaths(penalties[: len(coefs)], np.array(coefs), np.array(intercepts), np.array(errors))


class _Fits:
    """Where F fits stand.

    Attributes
    ----------
    coef, intercept : (F, p) and (F,).
    log_odds : (F, n) of all rows.
    loss : (F,) mean over the rows of a fit.
    residual, weight : (F, n), label less probability and its variance; zero outside a fit.
    """

    def __init__(self, Z: F64, y: Index, seen: NDArray[np.bool_]) -> None:
        self.Z = Z
        self.columns = np.ascontiguousarray(Z.T)
        self.sign = np.where(y == 1, 1.0, -1.0)
        self.seen = seen.astype(float)
        self.n_seen = self.seen.sum(axis=1)
        rate = self.seen @ y / self.n_seen
        self.coef = np.zeros((len(seen), Z.shape[1]))
        self.intercept = np.log(rate / (1.0 - rate))
        self.log_odds = np.repeat(self.intercept[:, None], len(y), axis=1)
        self.loss, self.residual, self.weight = self._likelihood(np.arange(len(seen)), self.log_odds)

    def held_out_errors(self) -> Index:
        return ((self.sign * self.log_odds <= 0.0) & (self.seen == 0.0)).sum(axis=1)

    def solve(self, penalty: float, previous: float) -> None:
        """Move all fits from their solutions at the previous penalty to those at this one."""
        pending = np.arange(len(self.coef))
        tolerance = np.where(pending == 0, TOLERANCE, FOLD_TOLERANCE)
        for _ in range(MAX_NEWTON_STEPS):
            gradient = self.residual[pending] @ self.Z / self.n_seen[pending, None]
            unsolved = self._violation(pending, gradient, penalty) > tolerance[pending] * penalty
            if not unsolved.any():
                return
            pending, gradient = pending[unsolved], gradient[unsolved]
            # The strong rule (Tibshirani et al. 2012): other columns will hardly enter, and violators do.
            working = (self.coef[pending] != 0.0) | (np.abs(gradient) > 2.0 * penalty - previous)
            self._newton_step(pending, working, penalty)

    def _violation(self, fits: Index, gradient: F64, penalty: float) -> F64:
        """(F,) how far each fit is from the optimality conditions of the lasso."""
        coef = self.coef[fits]
        of_zeros = np.abs(gradient) - penalty
        of_others = np.abs(gradient - penalty * np.sign(coef))
        of_intercept = np.abs(self.residual[fits].sum(axis=1)) / self.n_seen[fits]
        return np.maximum(np.where(coef == 0.0, of_zeros, of_others).max(axis=1), of_intercept)

    def _newton_step(self, fits: Index, working: NDArray[np.bool_], penalty: float) -> None:
        """One step of these fits, halved until it does not raise the penalised loss."""
        change, shift = newton_directions(
            self.columns,
            self.residual[fits],
            self.weight[fits],
            self.coef[fits],
            working,
            penalty * self.n_seen[fits],
        )
        move = change @ self.columns + shift[:, None]
        before = self.loss[fits] + penalty * np.abs(self.coef[fits]).sum(axis=1)
        size = np.ones(len(fits))
        while True:
            coef = self.coef[fits] + size[:, None] * change
            log_odds = self.log_odds[fits] + size[:, None] * move
            loss, residual, weight = self._likelihood(fits, log_odds)
            worse = loss + penalty * np.abs(coef).sum(axis=1) > before * (1.0 + 1e-12)
            if not (worse & (size > 1e-6)).any():
                break
            size[worse] *= 0.5
        self.coef[fits], self.log_odds[fits], self.loss[fits] = coef, log_odds, loss
        self.intercept[fits] += size * shift
        self.residual[fits], self.weight[fits] = residual, weight

    def _likelihood(self, fits: Index, log_odds: F64) -> tuple[F64, F64, F64]:
        """Losses (F,), residuals and weights (F, n) of these fits at the given log-odds."""
        odds_against = np.exp(np.minimum(-self.sign * log_odds, 500.0))
        probability = 1.0 / (1.0 + odds_against)
        loss = np.einsum("fn,fn->f", self.seen[fits], np.log(1.0 + odds_against)) / self.n_seen[fits]
        missed = self.seen[fits] * (1.0 - probability)
        return loss, self.sign * missed, missed * probability


N_PENALTIES = 50


class AdaptiveLogistic(Comparator):
    """Logistic regression of the diagnosis with an adaptive L1 penalty (Zou 2006); scores are X β.

    A ridge regression comes first; each coefficient is then penalised in inverse proportion to its size
    there. The penalty is the one with the fewest errors in cross-validation, among equals the largest.

    Parameters
    ----------
    n_folds : int, default 10
        Folds of the cross-validation; fewer where a class has fewer members.
    random_state : int, RandomState or None, default None
        Seed of the folds.

    Attributes
    ----------
    coef_ : (p,) log-odds for one standard deviation; zero for variables that were dropped.
    intercept_ : float, log-odds of a patient whose values are all average.
    penalty_ : float, the penalty chosen.
    """

    def __init__(self, *, n_folds: int = 10, random_state: Any = None) -> None:
        self.n_folds = n_folds
        self.random_state = random_state

    def _learn(self, Z: F64, y: Index) -> None:
        if not (isinstance(self.n_folds, int | np.integer) and self.n_folds >= 2):
            raise InputError(f"n_folds must be a whole number of at least 2, not {self.n_folds!r}")
        # Penalising columns in the measure of their weights is penalising rescaled columns alike. The ridge
        # leaves the intercept free; its prior sd of 1 fades as rows come in.
        ridge = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-6).fit(Z, y)
        size = np.abs(ridge.coef_[0])
        rescaled = Z * size
        top = max(largest_penalty(rescaled, y), np.finfo(float).tiny)
        lowest = 1e-4 if len(Z) > Z.shape[1] else 1e-3
        seen = np.vstack([np.ones((1, len(y)), dtype=bool), self._folds(y)])
        paths = logistic_paths(rescaled, y, seen, top * np.geomspace(1.0, lowest, N_PENALTIES))
        chosen = int(paths.held_out_errors.sum(axis=1).argmin())
        self.penalty_ = float(paths.penalties[chosen])
        self.coef_ = paths.coef[chosen, 0] * size
        self.intercept_ = float(paths.intercept[chosen, 0])

    def _folds(self, y: Index) -> np.ndarray:
        """(folds, n), which rows each fold learns from."""
        n_folds = min(self.n_folds, np.bincount(y).min())
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=check_random_state(self.random_state))
        seen = np.ones((n_folds, len(y)), dtype=bool)
        for fold, (_, held_out) in enumerate(folds.split(y[:, None], y)):
            seen[fold, held_out] = False
        return seen

    def _score(self, Z: F64) -> F64:
        return Z * self.coef_
