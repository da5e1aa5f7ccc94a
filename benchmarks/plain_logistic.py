"""Logistic regression without a penalty, with its covariance: what benchmarks compare with."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

STEPS = 100
SETTLED = 1e-10


def log_loss(log_odds: np.ndarray, y: np.ndarray) -> float:
    """Of log-odds and not of probabilities, so that nothing has to be cut off at 0 and 1."""
    return float((np.logaddexp(0.0, log_odds) - y * log_odds).mean())


def plain_logistic(
    design: np.ndarray, y: np.ndarray, offset: np.ndarray | float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (k,) and their covariance, by Newton's steps, halved where they overshoot."""
    at = np.zeros(design.shape[1])
    loss = log_loss(offset + design @ at, y)
    for _ in range(STEPS):
        risk = expit(offset + design @ at)
        information = (design.T * (risk * (1.0 - risk))) @ design
        step = np.linalg.solve(information, design.T @ (y - risk))
        while (reached := log_loss(offset + design @ (at + step), y)) > loss + 1e-14:
            step /= 2.0
        at, loss = at + step, reached
        if np.abs(step).max() < SETTLED:
            break
    return at, np.linalg.inv(information)
