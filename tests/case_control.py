"""Case-control studies of a known population: cases and controls drawn apart, the disease rarer than that."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit


@dataclass(frozen=True, eq=False)
class Study:
    """``X`` (n, p) and ``y`` of a study, and the rows (m, p) of the population it was drawn from."""

    X: np.ndarray
    y: np.ndarray
    population: np.ndarray


def study(
    seed: int, prevalence: float, n_cases: int = 150, n_controls: int = 250, p: int = 6, effect: float = 1.5
) -> Study:
    """Skewed errors, a random lower triangular graph, and the first two and the last column cause D."""
    rng = np.random.default_rng(seed)
    n_population = int(1.5 * max(n_cases / prevalence, n_controls / (1.0 - prevalence))) + 100
    errors = rng.exponential(size=(n_population, p)) - 1.0
    graph = np.tril(rng.uniform(-0.8, 0.8, (p, p)) * (rng.random((p, p)) < 0.5), -1)
    X = errors @ np.linalg.inv(np.eye(p) - graph).T
    score = effect * (X[:, [0, 1, -1]] / X[:, [0, 1, -1]].std(axis=0)).sum(axis=1)
    intercept = brentq(lambda a: expit(a + score).mean() - prevalence, -200.0, 200.0)
    y = (rng.random(n_population) < expit(intercept + score)).astype(int)
    controls, cases = (np.flatnonzero(y == c) for c in (0, 1))
    rows = rng.permutation(np.concatenate([controls[:n_controls], cases[:n_cases]]))
    assert np.bincount(y[rows]).tolist() == [n_controls, n_cases]
    return Study(X[rows], y[rows], X)
