"""Worlds of seven kinds of columns in which all of the method's assumptions hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from graphlib import TopologicalSorter

import numpy as np

from rootcausal.data import SimulatedCohort

KINDS = {
    "numbers": "the paper's generator: errors of Student's t, chi-square or uniform",
    "binary": "a third of the columns has two levels, by a logit of its parents",
    "ordinal": "a third of the columns has five levels, by a cumulative logit of its parents",
    "counts": "whole numbers: Poisson where a column has no causes, rounded where it has",
    "nominal": "one or two columns without causes have three or four levels, each with an effect of its own "
    "on every child and on D",
    "skewed": "all errors lognormal, all relations straight",
    "missing": "numbers, a tenth of whose values is missing completely at random",
}
DISCRETE_SHARE = 0.35
RAREST_LEVEL = 0.08
HOLES = 0.1
# Rarer counts take so few values that they may be read as levels.
LARGE_COUNT = 4.0


@dataclass(frozen=True)
class Edge:
    """A relation that is no straight line: what the values (n,) of the cause add to the effect."""

    effect: int
    cause: int
    adds: Callable[[np.ndarray], np.ndarray]


class World:
    """Graph, weights and errors of the paper's generator, with columns of one kind.

    Attributes
    ----------
    kind : one of KINDS.
    weights : (p, p − 1) ``[i, j]`` is the direct effect of column j on column i; the last row is D.
    errors : (n, p − 1) of columns with levels the noise behind them, of nominal ones the level itself.
    ancestor : (p − 1,) whether a column is an ancestor of D.
    numbers : (p − 1,) whether a column is sure to be read as a number.
    nominal : columns whose levels have no order.
    """

    def __init__(self, kind: str, drawn: SimulatedCohort, rng: np.random.Generator) -> None:
        self.kind = kind
        self.weights = np.vstack([drawn.adjacency, drawn.target_weights])
        self.errors = drawn.errors.copy()
        self.ancestor = drawn.effects != 0
        n, k = self.errors.shape
        self.numbers = np.ones(k, dtype=bool)
        self.nominal: list[int] = []
        self._order = list(
            TopologicalSorter({c: np.flatnonzero(self.weights[c]) for c in range(k)}).static_order()
        )
        self._level_shares: dict[int, np.ndarray] = {}
        self._level_effects: dict[tuple[int, int], np.ndarray] = {}
        self._units = np.zeros(k)  # whole numbers a unit of what acts; none for what is not counted
        self._offsets = np.zeros(k)
        if kind in ("binary", "ordinal"):
            self._give_levels(2 if kind == "binary" else 5, rng)
        if kind == "nominal":
            self._give_nominal(rng)
        if kind == "counts":
            self._count(rng)
        if kind == "skewed":
            lognormal = rng.lognormal(0.0, rng.uniform(0.4, 1.0, k), (n, k))
            self.errors = drawn.errors.std(axis=0) * unit(lognormal)

    def _give_levels(self, n_levels: int, rng: np.random.Generator) -> None:
        n, k = self.errors.shape
        for column in rng.choice(k, max(1, round(DISCRETE_SHARE * k)), replace=False):
            shares = RAREST_LEVEL + (1.0 - n_levels * RAREST_LEVEL) * rng.dirichlet(np.full(n_levels, 2.0))
            self._level_shares[int(column)] = np.cumsum(shares)[:-1]
            self.errors[:, column] = rng.logistic(size=n)
            self.numbers[column] = False

    def _give_nominal(self, rng: np.random.Generator) -> None:
        n, k = self.errors.shape
        roots = np.flatnonzero(~self.weights[:k].any(axis=1))
        for column in map(int, rng.permutation(roots)[: 1 if k < 8 else 2]):
            n_levels = int(rng.integers(3, 5))
            codes = rng.choice(n_levels, n, p=0.1 + (1.0 - 0.1 * n_levels) * rng.dirichlet([2.0] * n_levels))
            self.errors[:, column] = codes
            for effect in np.flatnonzero(self.weights[:, column]):
                acts = unit(rng.standard_normal(n_levels)[codes])
                by_level = np.array([acts[codes == level][0] for level in range(n_levels)])
                self._level_effects[int(effect), column] = self.weights[effect, column] * by_level
            self.numbers[column] = False
            self.nominal.append(column)

    def _count(self, rng: np.random.Generator) -> None:
        n, k = self.errors.shape
        sd = self.errors.std(axis=0)
        self._units = rng.uniform(3.0, 10.0, k) / sd
        for column in np.flatnonzero(~self.weights[:k].any(axis=1)):
            mean = rng.uniform(1.0, 8.0)
            self._units[column], self._offsets[column] = np.sqrt(mean) / sd[column], mean
            self.errors[:, column] = (rng.poisson(mean, n) - mean) / self._units[column]
            self.numbers[column] = mean >= LARGE_COUNT

    def solve(self, errors: np.ndarray, edge: Edge | None = None) -> tuple[np.ndarray, np.ndarray]:
        """What acts of each column (n, p − 1), and the log-odds of D; the edge replaces a straight line."""
        n, k = errors.shape
        X = np.zeros((n, k))
        for column in self._order:
            total = errors[:, column] + self._pull(column, X, edge)
            if column in self._level_shares:
                cuts = np.quantile(total, self._level_shares[column])
                total = unit(np.searchsorted(cuts, total).astype(float))
            elif self._units[column]:
                scale, offset = self._units[column], self._offsets[column]
                total = (np.round(scale * total + offset) - offset) / scale
            X[:, column] = total
        return X, self._pull(k, X, edge)

    def _pull(self, effect: int, X: np.ndarray, edge: Edge | None) -> np.ndarray:
        """What its causes add to a column, or to the log-odds of D."""
        total = np.zeros(len(X))
        for cause in map(int, np.flatnonzero(self.weights[effect])):
            if edge is not None and (effect, cause) == (edge.effect, edge.cause):
                total += edge.adds(X[:, cause])
            elif cause in self.nominal:
                total += self._level_effects[effect, cause][X[:, cause].astype(int)]
            else:
                total += self.weights[effect, cause] * X[:, cause]
        return total

    def table(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """What a user sees of it: levels, counts from zero on, and numbers half of which are above zero."""
        table = X.copy()
        for column in range(X.shape[1]):
            if column in self._level_shares:
                table[:, column] = np.unique(X[:, column], return_inverse=True)[1]
            elif self._units[column]:
                counted = np.round(self._units[column] * X[:, column] + self._offsets[column])
                table[:, column] = counted - min(counted.min(), 0.0)
            elif column not in self.nominal and rng.random() < 0.5:
                table[:, column] += rng.uniform(0.05, 1.0) * X[:, column].std() - X[:, column].min()
        return table


def with_holes(table: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same with a tenth of the values missing, but for one value of each patient."""
    missing = rng.random(table.shape) < HOLES
    missing[missing.all(axis=1), 0] = False
    return np.where(missing, np.nan, table)


def unit(x: np.ndarray) -> np.ndarray:
    """(n,) or the columns of (n, k), at mean zero and unit variance."""
    spread = x.std(axis=0)
    return (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
