"""Cohorts whose outcome is a number, or the time to an event."""

from __future__ import annotations

import numpy as np

from rootcausal.data import simulate
from rootcausal.method.outcome import Outcome
from rootcausal.outcomes.continuous import Continuous
from rootcausal.outcomes.survival import Survival

# What tells the outcome of the first columns; others only go with them.
EFFECTS = (0.8, -0.6, 0.4)


def graded(kind: type[Outcome], n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray, Outcome]:
    """Columns (n, p), what is known of each patient's outcome, and what that is like."""
    X = simulate(n, p + 1, random_state=seed).X
    rng = np.random.default_rng(seed)
    k = min(p, len(EFFECTS))
    predictor = (X[:, :k] / X[:, :k].std(axis=0)) @ np.array(EFFECTS[:k])
    if kind is Continuous:
        known = 60.0 + 8.0 * predictor + rng.laplace(0.0, 5.0, n)
    else:
        event, lost = rng.exponential(5.0 / np.exp(predictor)), rng.exponential(6.0, n)
        # In whole months, so that many events share a time.
        months = np.ceil(12.0 * np.minimum(event, lost))
        known = np.column_stack([months, event <= lost]).astype(np.float64)
    return X, known, kind.of(known)


GRADED: list[type[Outcome]] = [Survival, Continuous]


def with_holes(X: np.ndarray, seed: int, share: float = 0.08) -> np.ndarray:
    """The same, where some values of all but the first rows are missing."""
    X, rng = X.copy(), np.random.default_rng(seed)
    gone = rng.random(X.shape) < share
    gone[: len(X) // 4] = False
    X[gone] = np.nan
    return X
