"""A reference group as a model: several graphs of it, and how far out its own rows score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc, gammaln, ndtri

from ..method.layout import Layout
from ..method.missing.completion import Completion
from ..method.model import row_blocks
from ..method.moments import reach
from ..method.table import F64, LARGEST, Index
from ..nonlinear.mechanism import NonlinearMechanism
from .case_rows import EXTRAPOLATION_DOUBT
from .tails import Tails

# Below this, a probability is no number but its logarithm.
LEAST_PROBABILITY = 1e-280


class Scored(NamedTuple):
    """How far rows depart from each variable's mechanism.

    Attributes
    ----------
    scores : (n, v) sizes of errors, averaged over the graphs, in standard deviations of the reference group;
        negative below what was expected. NaN where nothing was measured, and where a variable is not judged.
    expected : (n, q) what its causes lead to expect of each column, averaged over the graphs.
    """

    scores: F64
    expected: F64


@dataclass(frozen=True, eq=False)
class Reference:
    """What the reference group is like.

    Attributes
    ----------
    mechanisms : of graphs learned from resampled rows; errors have the unit variance of rows that were left
        out of the resample.
    layout : which of v variables each of the q columns belongs to.
    lowest, highest : (q,) the range of each column; beyond it a mechanism is extrapolated.
    tails : of the scores of rows by graphs that they had no part in.
    times : (v,) how many rows tell as much as one of each variable (autocorrelation time).
    n_tests : as many independent variables score as far out, somewhere, as these do in a row.
    """

    mechanisms: tuple[NonlinearMechanism, ...]
    layout: Layout
    lowest: F64
    highest: F64
    tails: Tails
    times: F64
    n_tests: float

    @property
    def order(self) -> Index:
        """(k,) the columns that are in the graphs, ascending."""
        return np.sort(self.mechanisms[0].order)

    @cached_property
    def judged(self) -> np.ndarray:
        """(v,) variables that can be departed from: in the graphs, and no covariates."""
        judged = np.zeros(self.layout.n_variables, dtype=bool)
        judged[self.layout.variable[self.order[~self.layout.covariate[self.order]]]] = True
        return judged

    @property
    def used(self) -> Index:
        """(u,) variables that rows are judged by, covariates among them."""
        return np.unique(self.layout.variable[self.order])

    def reach(self) -> F64:
        """(q,): the largest values of each column, up or down, with which a row can be scored."""
        within = np.full(self.layout.n_columns, LARGEST)
        one = self.mechanisms[0]
        within[one.order] = reach(one.mean, one.sd)
        return within

    def arrows(self) -> F64:
        """(v, v), ``[i, j]``: in which share of the graphs j is a cause of i."""
        found = np.zeros((self.layout.n_variables,) * 2)
        for mechanism in self.mechanisms:
            variable = self.layout.variable[mechanism.order]
            there = np.zeros_like(found)
            there[variable[mechanism.effect], variable[mechanism.cause]] = 1.0
            found += there
        return found / len(self.mechanisms)

    def score(self, X: F64, measured: F64 | None = None, completion: Completion | None = None) -> Scored:
        """Score rows X (n, q), whole, of which only what is no NaN in ``measured`` was seen."""
        n = len(X)
        size, signed = np.zeros((2, n, self.layout.n_variables))
        expected = np.zeros((n, self.layout.n_columns))
        for mechanism in self.mechanisms:
            spread = None
            if measured is not None and completion is not None:
                spread = spread_of_filled(mechanism, measured, completion)
            for rows in row_blocks(X):
                doubt = None if spread is None else spread[rows]
                found, told = self.errors_by(mechanism, X[rows], doubt)
                size[rows] += np.abs(found)
                signed[rows] += found
                expected[rows] += told
        scores = np.where(signed < 0.0, -size, size) / len(self.mechanisms)
        scores[:, ~self.judged] = np.nan
        if measured is not None:
            gone = np.isnan(measured)[:, self.layout.first_columns]
            scores[gone] = np.nan
        return Scored(scores, expected / len(self.mechanisms))

    def errors_by(self, mechanism: NonlinearMechanism, X: F64, filled: F64 | None = None) -> tuple[F64, F64]:
        """Errors (n, v) by one graph, and what it expects of the columns (n, q).

        ``filled`` (n, k) are the standard deviations of errors that filling in leaves. Where a column is
        extrapolated, the doubt about that is part of the error's scale. That of a level is the quantile of a
        Gaussian at its probability. A variable of several columns has the root of the sum of their squared
        errors.
        """
        order = mechanism.order
        z = (X[:, order] - mechanism.mean) / mechanism.sd
        expected, spread = mechanism.conditionals(z)
        near = (np.clip(X[:, order], self.lowest[order], self.highest[order]) - mechanism.mean) / mechanism.sd
        beyond = np.flatnonzero((near != z).any(axis=1))
        if beyond.size:
            inside, spread_inside = mechanism.conditionals(near[beyond])
            spread = spread.copy()
            doubt = EXTRAPOLATION_DOUBT * (expected[beyond] - inside)
            spread[beyond] = np.hypot(np.minimum(spread[beyond], spread_inside), doubt)
        error = (z - expected) / spread
        for place in np.flatnonzero(mechanism.n_levels):
            # In standard deviations of a Gaussian: a level is no less likely than its probability.
            error[:, place] = ndtri(mechanism.middle_probabilities(z, int(place)))
        if filled is not None:
            error /= np.sqrt(1.0 + filled * filled)
        of_columns, told = np.zeros((2, len(X), self.layout.n_columns))
        of_columns[:, order] = error
        told[:, order] = expected * mechanism.sd + mechanism.mean
        if not self.layout.grouped:
            return of_columns, told
        squares = np.zeros((len(X), self.layout.n_variables))
        np.add.at(squares.T, self.layout.variable, (of_columns * of_columns).T)
        found = np.sqrt(squares)
        alone = np.bincount(self.layout.variable) == 1
        found[:, alone] = of_columns[:, self.layout.first_columns[alone]]
        return found, told

    def log_probabilities(self, scores: F64, groups: Sequence[Index] | None = None) -> tuple[F64, np.ndarray]:
        """Logarithms of p-values (g, v), two-sided, of rows or of groups of rows; and which side (g, v).

        Of a group, Fisher's combination of its rows on either side: Σ -log p of g rows is a gamma variable
        of shape g, and of fewer where rows follow each other in time.
        """
        below, above = self.tails.log_probabilities(scores)
        if groups is not None:
            below, above = (
                np.stack([self._combined(side[rows]) for rows in groups]) for side in (below, above)
            )
        return np.minimum(np.log(2.0) + np.minimum(below, above), 0.0), above <= below

    def _combined(self, logs: F64) -> F64:
        """(v,) of rows (g, v), NaN where nothing was measured."""
        seen = ~np.isnan(logs)
        rows = seen.sum(axis=0)
        mean = np.where(rows > 0, np.where(seen, -logs, 0.0).sum(axis=0) / np.maximum(rows, 1), np.nan)
        return log_gamma_tail(np.maximum(rows / self.times, 1.0), mean)

    def corrected(self, logs: F64) -> F64:
        """p-values corrected for all variables of a row: how often any is as far out (Šidák)."""
        return -np.expm1(self.n_tests * np.log1p(-np.minimum(np.exp(logs), 1.0 - 1e-16)))

    def check(self) -> None:
        """Raise ValueError where these cannot be the numbers of a reference group."""
        order = self.mechanisms[0].order
        if any(not np.array_equal(np.sort(one.order), np.sort(order)) for one in self.mechanisms):
            raise ValueError("its graphs are of different columns")
        if not (self.lowest <= self.highest).all() or not (self.times >= 1.0).all():
            raise ValueError("a range or a time of its columns is none")
        if not 1.0 <= self.n_tests <= max(1, self.layout.n_variables):
            raise ValueError("its number of tests is out of range")


def spread_of_filled(mechanism: NonlinearMechanism, measured: F64, completion: Completion) -> F64:
    """(n, k) standard deviations of errors that come of what was filled in."""
    slopes = np.zeros((mechanism.n_columns, mechanism.order.size))
    slopes[mechanism.order] = mechanism.slopes()
    return completion.spread(measured, slopes)


def log_gamma_tail(shape: F64, mean: F64) -> F64:
    """Logarithm of P(G >= shape · mean), G a gamma variable of this shape and unit scale."""
    x = shape * mean
    share = gammaincc(shape, np.where(np.isnan(x), 0.0, x))
    with np.errstate(divide="ignore", invalid="ignore"):
        far = (shape - 1.0) * np.log(x) - x - gammaln(shape) - np.log1p(-(shape - 1.0) / x)
        found = np.where(share > LEAST_PROBABILITY, np.log(share), far)
    return np.where(np.isnan(x), np.nan, found)


def effective_tests(logs: F64) -> float:
    """How many independent tests a row's smallest p-value behaves like, by rows (n, v) of log p-values.

    Such that, of the reference group, a twentieth has a corrected p-value of a twentieth.
    """
    smallest = np.nanmin(logs, axis=1)
    level = np.quantile(smallest, 0.05)
    found = np.log(0.95) / np.log1p(-np.exp(min(level, -1e-9)))
    return float(np.clip(found, 1.0, max(1, logs.shape[1])))
