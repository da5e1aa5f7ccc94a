"""Log-likelihoods of an outcome in all columns of a table, with Firth's penalty, by rows in memory.

Firth's penalty (Firth 1993; Heinze & Schemper 2002) is half the logarithm of the determinant of the
information, Jeffreys' prior. It takes the first order of the bias away that maximum likelihood has where
columns are many for the events, and fades as patients become many.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import expit

from ..method.table import EVENT, F64, INTERVAL, LARGEST_LOG_HAZARD, PART, Index

# Values that are worked on at once.
VALUES_A_BLOCK = 1 << 21


@dataclass(frozen=True, eq=False)
class Local:
    """A log-likelihood at some coefficients (m,).

    Attributes
    ----------
    loglik : with the penalty, if there is one.
    score : (m,) its first derivatives.
    covariance : (m, m) inverse of the information, which has no penalty.
    """

    loglik: float
    score: F64
    covariance: F64


class Likelihood(ABC):
    """Of n patients in their columns Z (n, k), standardized.

    Attributes
    ----------
    Z : (n, k).
    start : (m,) coefficients where no column has an effect; those of the columns are the last k.
    """

    Z: F64

    @property
    @abstractmethod
    def start(self) -> F64: ...

    @abstractmethod
    def at(self, beta: F64, penalized: bool) -> Local:
        """:class:`numpy.linalg.LinAlgError` where the information is singular."""

    @abstractmethod
    def scores(self, beta: F64) -> F64:
        """(n, m) what each patient adds to the derivatives, without a penalty."""


@dataclass(frozen=True, eq=False)
class LogitLikelihood(Likelihood):
    """Of labels ``y`` (n,), 0 or 1; the first coefficient is the intercept."""

    Z: F64
    y: F64

    @property
    def start(self) -> F64:
        share = float(self.y.mean())
        return np.append(np.log(share / (1.0 - share)), np.zeros(self.Z.shape[1]))

    def _blocks(self) -> list[slice]:
        n, k = self.Z.shape
        height = max(1, VALUES_A_BLOCK // (k + 1))
        return [slice(start, start + height) for start in range(0, n, height)]

    def _design(self, rows: slice) -> F64:
        some = self.Z[rows]
        return np.concatenate([np.ones((len(some), 1)), some], axis=1)

    def at(self, beta: F64, penalized: bool) -> Local:
        information, score, loglik = np.zeros((beta.size, beta.size)), np.zeros(beta.size), 0.0
        for rows in self._blocks():
            A, y = self._design(rows), self.y[rows]
            eta = A @ beta
            risk = expit(eta)
            information += (A * (risk * (1.0 - risk))[:, None]).T @ A
            score += A.T @ (y - risk)
            loglik -= float(np.logaddexp(0.0, np.where(y > 0, -eta, eta)).sum())
        root = cholesky(information, lower=True)
        inverse = solve_triangular(root, np.eye(beta.size), lower=True)
        if penalized:
            loglik += float(np.log(np.diagonal(root)).sum())
            for rows in self._blocks():
                A = self._design(rows)
                risk = expit(A @ beta)
                leverage = risk * (1.0 - risk) * ((A @ inverse.T) ** 2).sum(axis=1)
                score += A.T @ (leverage * (0.5 - risk))
        return Local(loglik, score, inverse.T @ inverse)

    def scores(self, beta: F64) -> F64:
        A = self._design(slice(None))
        return A * (self.y - expit(A @ beta))[:, None]


@dataclass(frozen=True, eq=False)
class HazardLikelihood(Likelihood):
    """Of the time to an event: proportional hazards on the intervals of a clock, its baseline profiled out.

    So what is left is Cox's partial likelihood, read by intervals (see :mod:`rootcausal.outcomes.follow_up`):
    a patient with an event in one is drawn from those at risk in it, each as often as the part of it that
    they saw.

    Attributes
    ----------
    event, part : (n,) whether the event came, and how much of the last interval each patient saw.
    interval : (n,) the last interval of each patient, ascending.
    """

    Z: F64
    event: F64
    interval: Index
    part: F64

    @classmethod
    def of(cls, Z: F64, known: F64) -> HazardLikelihood:
        """``known`` (n, 4) is what tables keep of follow-up; the patients come in any order."""
        order = np.argsort(known[:, INTERVAL], kind="stable")
        sorted_ = known[order]
        return cls(
            Z[order], sorted_[:, EVENT], sorted_[:, INTERVAL].astype(np.intp), np.array(sorted_[:, PART])
        )

    @property
    def start(self) -> F64:
        return np.zeros(self.Z.shape[1])

    @cached_property
    def _ends(self) -> Index:
        """(G + 1,) rows at which each interval begins, and the last one ends."""
        return np.searchsorted(self.interval, np.arange(int(self.interval[-1]) + 2))

    @cached_property
    def _events(self) -> F64:
        """(G,) in each interval."""
        found: F64 = np.bincount(self.interval, weights=self.event).astype(np.float64)
        return found

    def _ratio(self, beta: F64) -> F64:
        eta = np.minimum(self.Z @ beta, LARGEST_LOG_HAZARD)
        ratio: F64 = np.exp(eta)
        return ratio

    def _at_risk(self, values: F64) -> F64:
        """(G, m): sums of values (n, m) over those at risk in each interval, for the part that they saw."""
        first = self._ends[:-1]
        seen, whole = values * self.part[:, None], values
        # Of no rows, reduceat would give those of the next interval: so it is told where there are any.
        there = np.flatnonzero(np.diff(self._ends))
        of_interval, left = np.zeros((2, first.size, values.shape[1]))
        of_interval[there] = np.add.reduceat(seen, first[there], axis=0)
        left[there] = np.add.reduceat(whole, first[there], axis=0)
        after: F64 = np.cumsum(left[::-1], axis=0)[::-1] - left
        return after + of_interval

    def _squares(self, ratio: F64) -> F64:
        """(G, k, k): the same of z zᵀ, times the hazard ratios (n,)."""
        k = self.Z.shape[1]
        found, after = np.empty((self._ends.size - 1, k, k)), np.zeros((k, k))
        for g in range(len(found) - 1, -1, -1):
            rows = slice(self._ends[g], self._ends[g + 1])
            Z, weight = self.Z[rows], ratio[rows]
            found[g] = after + (Z * (weight * self.part[rows])[:, None]).T @ Z
            after += (Z * weight[:, None]).T @ Z
        return found

    def at(self, beta: F64, penalized: bool) -> Local:
        ratio, k = self._ratio(beta), beta.size
        sums = self._at_risk(np.concatenate([ratio[:, None], ratio[:, None] * self.Z], axis=1))
        total, mean = sums[:, 0], sums[:, 1:] / sums[:, :1]
        d = self._events
        spread = self._squares(ratio) / total[:, None, None] - mean[:, :, None] * mean[:, None, :]
        root = cholesky(np.tensordot(d, spread, axes=1), lower=True)
        inverse = solve_triangular(root, np.eye(k), lower=True)
        covariance = inverse.T @ inverse
        loglik = float(self.event @ np.minimum(self.Z @ beta, LARGEST_LOG_HAZARD) - d @ np.log(total))
        score = self.event @ self.Z - d @ mean
        if penalized:
            loglik += float(np.log(np.diagonal(root)).sum())
            # Half the third cumulants of those at risk, twice contracted with the covariance.
            size = ((self.Z @ inverse.T) ** 2).sum(axis=1) * ratio
            third = self._at_risk(np.concatenate([size[:, None], size[:, None] * self.Z], axis=1))
            third /= total[:, None]
            pulled = np.einsum("gij,gj->gi", spread, mean @ covariance)
            score += 0.5 * (d @ (third[:, 1:] - third[:, :1] * mean - 2.0 * pulled))
        return Local(loglik, score, covariance)

    def scores(self, beta: F64) -> F64:
        """(n, k), in the order of this object's rows."""
        ratio = self._ratio(beta)
        sums = self._at_risk(np.concatenate([ratio[:, None], ratio[:, None] * self.Z], axis=1))
        mean, hazard = sums[:, 1:] / sums[:, :1], self._events / sums[:, 0]
        g = self.interval
        before = np.cumsum(hazard) - hazard
        drawn = hazard[:, None] * mean
        drawn_before = np.cumsum(drawn, axis=0) - drawn
        met = before[g] + self.part * hazard[g]
        pulled = drawn_before[g] + self.part[:, None] * drawn[g]
        own: F64 = self.event[:, None] * (self.Z - mean[g])
        return own - ratio[:, None] * (self.Z * met[:, None] - pulled)
