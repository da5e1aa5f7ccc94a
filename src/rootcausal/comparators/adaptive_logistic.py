"""AdaptiveLogistic (the paper's LR): logistic regression with the adaptive lasso."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_random_state

from ..errors import InputError
from ..method.table import F64, Index
from .base import Comparator
from .logistic_lasso import largest_penalty, logistic_paths

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
