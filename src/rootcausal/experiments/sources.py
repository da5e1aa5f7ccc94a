"""Where data sets come from: the paper's generator, and resamples of its two cohorts, with their truth."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np

from ..data import RealCohort, load_framingham, load_pbc, simulate, simulate_nonlinear
from ..method.moments import ROWS_PER_CLASS
from ..method.table import F64, Index

# Child and Turcotte's cut-off, in mg/dL: from here on bilirubin is the stronger cause of death.
HIGH_BILIRUBIN = 2.0


@dataclass(frozen=True, eq=False)
class Sample:
    """A data set and its truth.

    Attributes
    ----------
    X : (n, p) variables.
    y : (n,) diagnosis, 0 or 1.
    truth : (n, p) whose positive entries, largest first, are each patient's root causes.
    weighted : whether the truth is known in log-odds, or only as a ranking.
    cases_only : whether only patients with the diagnosis are scored.
    """

    X: F64
    y: Index
    truth: F64
    weighted: bool
    cases_only: bool = False

    @property
    def scored(self) -> Index:
        """Rows that are scored."""
        return np.flatnonzero(self.y == 1) if self.cases_only else np.arange(len(self.y))


class CohortSource(Protocol):
    """Numbered data sets of one kind; the same seed gives the same one."""

    @property
    def name(self) -> str:
        """Short and safe as the name of a file."""
        ...

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and variables with the diagnosis among them."""
        ...

    def draw(self, seed: np.random.SeedSequence) -> Sample: ...


@dataclass(frozen=True)
class Synthetic:
    """Cohorts of the paper's generator (Section 8.1.1)."""

    n: int
    p: int

    @property
    def name(self) -> str:
        return f"synthetic-n{self.n}-p{self.p}"

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.p

    def draw(self, seed: np.random.SeedSequence) -> Sample:
        cohort = simulate(self.n, self.p, random_state=seed)
        return Sample(cohort.X, cohort.y, cohort.true_shapley, weighted=True)


@dataclass(frozen=True)
class Bent:
    """Cohorts with nonlinear relations, errors heteroscedastic or not; cases are scored."""

    n: int
    p: int
    heteroscedastic: bool

    @property
    def name(self) -> str:
        return f"{'bent' if self.heteroscedastic else 'bent-even'}-n{self.n}-p{self.p}"

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.p

    def draw(self, seed: np.random.SeedSequence) -> Sample:
        cohort = simulate_nonlinear(self.n, self.p, heteroscedastic=self.heteroscedastic, random_state=seed)
        return Sample(cohort.X, cohort.y, cohort.true_shapley, weighted=True, cases_only=True)


@dataclass(frozen=True)
class Resampled:
    """Bootstrap samples of a real cohort (Section 8.2), their columns in random order.

    Ties, and variables that a method leaves unranked, come in column order: shuffled, they favour nobody.

    Attributes
    ----------
    cohort : "pbc" or "fhs".
    path : the Framingham table, where it is not the cached one.
    """

    cohort: str
    path: str | None = None

    @property
    def name(self) -> str:
        if self.path is None:
            return self.cohort
        # Rows of another table must not pass for those of the usual one.
        return f"{self.cohort}-{hashlib.sha256(Path(self.path).read_bytes()).hexdigest()[:8]}"

    @property
    def shape(self) -> tuple[int, int]:
        n, p = _whole(self.cohort, self.path)[0].X.shape
        return n, p + 1

    def draw(self, seed: np.random.SeedSequence) -> Sample:
        rng = np.random.default_rng(seed)
        cohort, rank = _whole(self.cohort, self.path)
        n, p = cohort.X.shape
        rows = rng.integers(n, size=n)
        while np.bincount(cohort.y[rows], minlength=2).min() < ROWS_PER_CLASS:
            rows = rng.integers(n, size=n)
        columns = rng.permutation(p)
        X = cohort.X[np.ix_(rows, columns)]
        return Sample(X, cohort.y[rows], rank(X, [cohort.feature_names[c] for c in columns]), weighted=False)


@lru_cache
def _whole(cohort: str, path: str | None) -> tuple[RealCohort, Callable[[F64, list[str]], F64]]:
    if cohort == "pbc":
        return load_pbc(), pbc_truth
    return (load_framingham(path) if path else load_framingham(download=True)), framingham_truth


def pbc_truth(X: F64, names: list[str]) -> F64:
    """Age, then bilirubin, where bilirubin is low; bilirubin, then age, otherwise (Section 8.2.1)."""
    age, bilirubin = names.index("age"), names.index("bili")
    high = X[:, bilirubin] >= HIGH_BILIRUBIN
    truth = np.zeros_like(X)
    truth[:, bilirubin] = np.where(high, 2.0, 1.0)
    truth[:, age] = np.where(high, 1.0, 2.0)
    return truth


def framingham_truth(X: F64, names: list[str]) -> F64:
    """The variables of the first examination, the one with the highest z-score first (Section 8.2.2)."""
    first = [column for column, name in enumerate(names) if name.endswith("_1")]
    z = (X[:, first] - X[:, first].mean(axis=0)) / X[:, first].std(axis=0, ddof=1)
    truth = np.zeros_like(X)
    truth[:, first] = z.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable") + 1.0
    return truth
