"""The exogenous errors of the paper's generator, and the people they make (Section 8.1.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, stdtrit

from ..method.table import F64

FAMILIES = 3
# Of Student's t, chi-square and uniform errors.
STANDARD_DEVIATIONS = np.sqrt([5 / 3, 6, 1 / 3])
# Of a population, drawn at once: the first of them also set what is to be so common in it.
ROWS_PER_BLOCK = 100_000


def draw_errors(n_samples: int, family: NDArray[np.int64], rng: np.random.Generator) -> F64:
    """Draw each column from one of the paper's three distributions, all with mean zero."""
    student, chi_square, uniform = (np.flatnonzero(family == kind) for kind in range(FAMILIES))
    errors = np.empty((n_samples, family.size))
    errors[:, student] = rng.standard_t(5, (n_samples, len(student)))
    errors[:, chi_square] = rng.chisquare(3, (n_samples, len(chi_square))) - 3
    errors[:, uniform] = rng.uniform(-1, 1, (n_samples, len(uniform)))
    return errors


def draw_unit_errors(n_samples: int, family: NDArray[np.int64], rng: np.random.Generator) -> F64:
    """The same, with unit variance."""
    return draw_errors(n_samples, family, rng) / STANDARD_DEVIATIONS[family]


def unit_error_quantiles(shares: F64, kind: int) -> F64:
    """Quantiles of one of the three distributions, with mean zero and unit variance."""
    raw = (stdtrit(5, shares), 2 * gammaincinv(1.5, shares) - 3, 2 * shares - 1)[kind]
    quantiles: F64 = raw / STANDARD_DEVIATIONS[kind]
    return quantiles


@dataclass(frozen=True)
class Population:
    """Where the patients come from, as far as the outcome goes: its a ancestors.

    Attributes
    ----------
    family : (a,) which distribution each one's error has.
    effects : (a,) of these errors on the outcome.
    rng : draws the people.
    """

    family: NDArray[np.int64]
    effects: F64
    rng: np.random.Generator

    def draw(self) -> F64:
        """(ROWS_PER_BLOCK, a): errors of the next people."""
        return draw_errors(ROWS_PER_BLOCK, self.family, self.rng)

    def own_errors(self, n: int) -> F64:
        """(n,) of a vertex like any other."""
        return draw_errors(n, self.rng.integers(FAMILIES, size=1), self.rng)[:, 0]
