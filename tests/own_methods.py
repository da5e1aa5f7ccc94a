"""Methods as a researcher would bring them, some of them broken."""

from __future__ import annotations

import numpy as np


class ByMean:
    """Ranks variables by the difference of their means."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> ByMean:
        self.difference = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
        return self

    def scores(self, X: np.ndarray) -> np.ndarray:
        return X * self.difference


class ByChance:
    """Ranks variables by draws from its own seed."""

    def __init__(self, random_state: int) -> None:
        self.rng = np.random.default_rng(random_state)

    def fit(self, X: np.ndarray, y: np.ndarray) -> ByChance:
        return self

    def scores(self, X: np.ndarray) -> np.ndarray:
        return self.rng.random(X.shape)


class FailsOnWide(ByMean):
    """Fails where there are many columns."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> ByMean:
        if X.shape[1] > 9:
            raise ValueError("too\nwide | <b>for</b> me")
        return super().fit(X, y)


class Interrupted(ByMean):
    """The user presses Ctrl-C while it works on many columns."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> ByMean:
        if X.shape[1] > 9:
            raise KeyboardInterrupt
        return super().fit(X, y)


class WithoutScores:
    """Cannot rank."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> WithoutScores:
        return self
