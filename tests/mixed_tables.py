"""Cohorts of numbers, binary, ordinal and nominal columns that cause each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from rootcausal.method.layout import NO_LEVELS, Layout


@dataclass(frozen=True, eq=False)
class Mixed:
    """X (n, q) and y (n,), and what the columns stand for."""

    X: np.ndarray
    y: np.ndarray
    layout: Layout


def mixed(seed: int, n: int = 300, kinds: str = "nbnonbwn", effect: float = 1.0) -> Mixed:
    """One variable for each letter: number, binary (1 or 2), ordinal (1 to 4), ward (nominal, four of them).

    Every second pair of variables is joined, and two of them cause D.
    """
    rng = np.random.default_rng(seed)
    p = len(kinds)
    graph = np.tril(rng.uniform(-1, 1, (p, p)) * (rng.random((p, p)) < 0.5), -1)
    place = rng.permutation(p)  # the columns of a table are in no causal order
    value = np.zeros((n, p))  # of each variable in the equations of others
    columns: list[list[np.ndarray]] = [[] for _ in range(p)]
    for v in range(p):
        kind, mean = kinds[place[v]], value @ graph[v]
        if kind == "n":
            value[:, v] = mean + rng.chisquare(3, n) - 3
            columns[place[v]] = [10.0 + 3.0 * value[:, v]]
        else:
            cuts = {"b": [0.3], "o": [-1.0, 0.0, 1.5], "w": [-1.0, 0.0, 1.0]}[kind]
            level = np.searchsorted(cuts, mean + rng.logistic(size=n))
            value[:, v] = level - level.mean()
            dummies = [(level == one).astype(float) for one in (1, 2, 3)]
            columns[place[v]] = dummies if kind == "w" else [1.0 + level]
    y = (rng.random(n) < expit(effect * (value[:, 0] + value[:, -1]))).astype(int)
    values = {
        "n": NO_LEVELS,
        "b": np.array([1.0, 2.0]),
        "o": np.array([1.0, 2.0, 3.0, 4.0]),
        "w": np.array([0.0, 1.0]),
    }
    variable = np.repeat(np.arange(p), [len(own) for own in columns])
    X = np.column_stack([column for own in columns for column in own])
    return Mixed(X, y, Layout(variable, tuple(values[kinds[v]] for v in variable)))
