"""Logistic lasso paths of a cohort and all its folds at once, for AdaptiveLogistic.

Each fit is a proximal Newton method: the likelihood is replaced by its quadratic expansion, and coordinate
descent solves the weighted lasso that results, on its Gram matrix (as in Friedman, Hastie & Tibshirani 2010;
see :mod:`.newton_direction`). The fits walk down the penalties side by side, so that one matrix product
gives the gradients of all of them, and the predictions for held-out rows come for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..method.table import F64, Index
from .newton_direction import newton_directions

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
