"""HPC in the paper (Section 8): the direct causes and effects of D, and a logistic regression on them.

Semi-interleaved HITON-PC of Aliferis, Statnikov, Tsamardinos, Mani and Koutsoukos, "Local Causal and Markov
Blanket Induction for Causal Discovery and Feature Selection for Classification", JMLR 11 (2010).
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterator
from itertools import chain, combinations, islice

import numpy as np
from scipy.special import stdtrit

from ..backends.choose import choose_table
from ..errors import InputError, SeparationWarning
from ..method.moments import EXHAUSTED
from ..method.table import F64, Index
from ..outcomes.binary import fit_logit
from .base import Comparator

# Conditioning sets that are tried in one go: enough to make NumPy's overhead small, few enough to stop early.
SETS_AT_ONCE = 2048


class HitonPC(Comparator):
    """Rank the parents and children of D by their terms in a logistic regression of D on them.

    Variables outside that set are not ranked: they score ``-inf``, all of them where the set is empty.
    The regression is by maximum likelihood; where the members separate the classes it has no finite answer,
    and the weak prior of :mod:`rootcausal.method.logistic` keeps the coefficients finite, with a warning.

    Parameters
    ----------
    alpha : level of the t-tests of partial correlation; 0.01 in the paper.
    max_conditioning : largest number of members to condition on in one test ("max-k" in the literature). The
        paper names none; 3 is the usual default of implementations of such algorithms.

    Attributes
    ----------
    members_ : (k,) columns of the parents and children of D, ascending.
    coef_ : (p,) log-odds for each standard deviation; zero outside the members.
    intercept_ : log-odds of D at the mean of all members.
    classes_, mean_, sd_ : see :class:`~rootcausal.comparators.base.Comparator`.
    """

    members_: Index
    coef_: F64
    intercept_: float

    def __init__(self, *, alpha: float = 0.01, max_conditioning: int = 3) -> None:
        self.alpha = alpha
        self.max_conditioning = max_conditioning

    def _learn(self, Z: F64, y: Index) -> None:
        if not (isinstance(self.alpha, numbers.Real) and 0.0 < self.alpha < 1.0):
            raise InputError(f"alpha must be between 0 and 1, not {self.alpha!r}")
        if not (isinstance(self.max_conditioning, numbers.Integral) and self.max_conditioning >= 0):
            raise InputError(f"max_conditioning must be a whole number from 0, not {self.max_conditioning!r}")
        n, p = Z.shape
        correlations = np.corrcoef(np.column_stack([Z, y]), rowvar=False)
        critical = _critical_correlations(n, float(self.alpha), int(self.max_conditioning))
        self.members_ = _parents_and_children(correlations, critical)
        k = self.members_.size
        table = choose_table("auto", Z, y).standardize(self.members_, np.zeros(k), np.ones(k))
        logit = fit_logit(table, np.arange(k), float(y.mean()))
        self.coef_ = np.zeros(p)
        self.coef_[self.members_], self.intercept_ = logit.coef, float(logit.baseline[0])
        if logit.separated:
            warnings.warn(
                "the parents and children of the diagnosis separate the classes perfectly, so maximum "
                "likelihood has no finite answer: coefficients come from a weak Gaussian prior. Ranks are "
                "still useful. More rows or a smaller alpha help.",
                SeparationWarning,
                stacklevel=3,
            )

    def _score(self, Z: F64) -> F64:
        scores = np.full(Z.shape, -np.inf)
        scores[:, self.members_] = Z[:, self.members_] * self.coef_[self.members_]
        return scores


def _critical_correlations(n: int, alpha: float, max_conditioning: int) -> F64:
    """(max_conditioning + 1,): |r| above it is significant, by the number of variables conditioned on.

    The test is of t = r sqrt(df / (1 − r²)) with df = n − 2 − that number, solved for r. Without a degree of
    freedom there is no test and nothing can be found independent: the critical value is negative.
    """
    df = n - 2.0 - np.arange(max_conditioning + 1)
    t = stdtrit(np.maximum(df, 1.0), 1.0 - alpha / 2.0)
    return np.where(df >= 1.0, t / np.sqrt(np.maximum(df, 1.0) + t * t), -1.0)


def _parents_and_children(r: F64, critical: F64) -> Index:
    """Members of the set around the last variable of the correlation matrix r (p + 1, p + 1), ascending."""
    strength = np.abs(r[-1, :-1])
    by_strength = np.argsort(-strength, kind="stable")
    members: list[int] = []
    for candidate in by_strength[strength[by_strength] > critical[0]]:
        if not _separable(r, int(candidate), members, critical):
            members.append(int(candidate))
    # An early member has not met the later ones yet.
    for member in tuple(members):
        others = [other for other in members if other != member]
        if _separable(r, member, others, critical):
            members = others
    return np.sort(np.array(members, dtype=np.intp))


def _separable(r: F64, variable: int, others: list[int], critical: F64) -> bool:
    """Whether the variable is independent of the last one given some of the others."""
    for size in range(1, min(len(critical) - 1, len(others)) + 1):
        for given in _subsets(others, size):
            if (_partial_correlations(r, variable, given) <= critical[size]).any():
                return True
    return False


def _subsets(members: list[int], size: int) -> Iterator[Index]:
    """All subsets, (at most SETS_AT_ONCE, size) at a time; those with the first members come first."""
    flat = chain.from_iterable(combinations(members, size))
    while (block := np.fromiter(islice(flat, SETS_AT_ONCE * size), dtype=np.intp)).size:
        yield block.reshape(-1, size)


def _partial_correlations(r: F64, variable: int, given: Index) -> F64:
    """(m,): absolute correlation of the variable and the last one, given each of m sets (m, size)."""
    pair = np.broadcast_to(np.array([variable, len(r) - 1]), (len(given), 2))
    columns = np.hstack([given, pair])
    covariance = r[columns[:, :, None], columns[:, None, :]]
    for _ in range(given.shape[1]):
        # Regress the first variable of the set out of all that follow.
        slope = covariance[:, 1:, 0] * _inverse(covariance[:, 0, 0])[:, None]
        covariance = covariance[:, 1:, 1:] - slope[:, :, None] * covariance[:, :1, 1:]
    return np.abs(covariance[:, 0, 1]) * np.sqrt(
        _inverse(covariance[:, 0, 0]) * _inverse(covariance[:, 1, 1])
    )


def _inverse(variance: F64) -> F64:
    """1 / variance, and 0 for what is only rounding: a combination of others has nothing of its own left."""
    exhausted = variance < EXHAUSTED
    return np.where(exhausted, 0.0, 1.0 / np.where(exhausted, 1.0, variance))
