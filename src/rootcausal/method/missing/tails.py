"""Values beyond a limit of detection, drawn anew by a mechanism (Monte Carlo EM; Wei & Tanner 1990).

A Gaussian cut off at the limit is a first guess: it makes errors more Gaussian than they are, and these are
what the causal order is told by. Once there is a mechanism, a value is as likely as the errors that it, and
what depends on it, would need. The law of an error has a tail also where its variable was measured, since
high causes lift it above the limit. It is smooth: its log-density maximizes the likelihood, censored errors
counted as such, less a penalty on the third derivative (Silverman 1982), so that where nothing is known it
goes on as a Gaussian that fits what is near.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self, runtime_checkable

import numpy as np
from scipy.linalg import solveh_banded
from scipy.special import log_ndtr

from ..linear import LinearMechanism
from ..table import F64, Index, RawTable
from .gaussian import JointGaussian
from .sums import View

# How often values are drawn anew and all is learned again from them.
PASSES = 2
# Unit-variance errors are counted in bins of this width, from the first place on.
WIDTH, FIRST, BINS = 0.05, -6.0, 241
GRID = FIRST + WIDTH * np.arange(BINS)
# Of the penalty; found on cohorts of seeds that no results rest on.
SMOOTHNESS = 1e-5
THIRD = np.diff(np.eye(BINS), 3, axis=0) / WIDTH**3
PENALTY = SMOOTHNESS * WIDTH * THIRD.T @ THIRD
BANDED = np.stack([np.pad(np.diagonal(PENALTY, off), (off, 0)) for off in (3, 2, 1, 0)])
# Rounds of EM for one law, Newton steps in each, the longest of them, and what a bin has at least.
ROUNDS, UNCUT, STEPS, LONGEST, LEAST = 25, 4, 3, 2.0, 1e-9
# How often each value is moved, in steps of so many standard deviations of its error.
SWEEPS, REACHES = 6, (0.4, 1.2)


@dataclass(frozen=True, eq=False)
class Structure:
    """What tells how likely values are: a mechanism, and a line by which the outcome depends on them.

    Attributes
    ----------
    order : (k,) columns of the table in causal order.
    mean : (k,) of these.
    slopes : (k, k) errors of unit variance are (columns - mean) @ slopes.
    outcome : (m,) by how much the outcome's score moves with one unit of each column of the table.
    base, spread : the score where all columns are zero, and the variance of what the columns leave of it.
    """

    order: Index
    mean: F64
    slopes: F64
    outcome: F64
    base: float
    spread: float

    @classmethod
    def of(cls, mechanism: LinearMechanism, joint: JointGaussian, view: View) -> Self:
        """Of columns of a view, by their joint Gaussian with the outcome, which is the last of it."""
        m = view.cols.size
        among, beside = joint.covariance[:m, :m], joint.covariance[:m, m]
        line = np.linalg.solve(among, beside)
        spread = float(joint.covariance[m, m] - beside @ line)
        outcome = line / view.sd
        base = float(joint.mean[m] - line @ joint.mean[:m] - outcome @ view.mean)
        return cls(mechanism.order, mechanism.mean, mechanism.slopes(), outcome, base, max(spread, LEAST))

    def errors(self, values: F64) -> F64:
        """(..., k) of values (..., m)."""
        found: F64 = (values[..., self.order] - self.mean) @ self.slopes
        return found


@dataclass(frozen=True, eq=False)
class ErrorCounts:
    """Errors (k,) in bins.

    Attributes
    ----------
    known : (k, b) of values that were measured, or are missing.
    below, above : (k, b) bins of what errors are at most, or at least, where values lie beyond a limit.
    """

    known: F64
    below: F64
    above: F64

    def __add__(self, other: ErrorCounts) -> ErrorCounts:
        return ErrorCounts(self.known + other.known, self.below + other.below, self.above + other.above)

    def __rmul__(self, weight: float) -> ErrorCounts:
        return ErrorCounts(weight * self.known, weight * self.below, weight * self.above)

    @classmethod
    def of(cls, errors: F64, ends: F64, side: np.ndarray) -> ErrorCounts:
        """Of errors (n, k): ``ends`` (n, k) are those at the limits, ``side`` (n, k) is -1 below, 1 above."""
        found = np.zeros((3, errors.shape[1], BINS))
        for place in range(errors.shape[1]):
            for kind, (at, of) in enumerate(((errors, 0), (ends, -1), (ends, 1))):
                bins = _bin(at[side[:, place] == of, place])
                found[kind, place] = np.bincount(bins, minlength=BINS)
        return cls(*found)

    def laws(self) -> F64:
        """(k, b): the logarithm of the density of each error."""
        return np.stack([_law(*counts) for counts in zip(self.known, self.below, self.above, strict=True)])


@runtime_checkable
class Redrawn(RawTable, Protocol):
    """Incomplete rows, filled in, whose values beyond a limit can be drawn anew."""

    def error_counts(self, structure: Structure) -> ErrorCounts:
        """Of all rows, also of those that lack nothing, each as often as an incomplete one is filled in."""
        ...

    def redrawn(self, structure: Structure, laws: F64, turn: int) -> Self:
        """The same with values beyond limits drawn anew; ``turn`` is how often that was done."""
        ...

    def tail_sums(self, fill: Callable[[F64], F64]) -> F64:
        """(2, 5, m): of values below limits, and above: how many there are, the sums of what a Gaussian
        expects of them and of its squares, and of the drawn values, also times what was expected.
        """
        ...


def drawn_by_laws(
    values: F64,
    score: F64,
    censored: np.ndarray,
    limits: F64,
    structure: Structure,
    laws: F64,
    noise: Callable[[int, int], F64],
) -> None:
    """Draw values (g, d, m) anew where they are beyond a limit, in place (Metropolis within Gibbs).

    Parameters
    ----------
    score : (g,) of the outcome.
    censored : (g, m) which values are beyond the ``limits`` (2, m).
    noise : (g, d) standard normal numbers, by the number of the step and the column.
    """
    errors = structure.errors(values)
    left = score[:, None] - values @ structure.outcome - structure.base
    step = 0
    for _ in range(SWEEPS):
        for place, column in enumerate(structure.order.tolist()):
            rows = np.flatnonzero(censored[:, column])
            if not rows.size:
                continue
            moves, sd = structure.slopes[place], 1.0 / structure.slopes[place, place]
            reached = np.flatnonzero(moves)
            low, high = np.where(values[rows, 0, column] <= limits[0, column], 0, 1), limits[:, column]
            for reach in REACHES:
                now, of_rows = values[rows, :, column], errors[rows[:, None], :, reached].swapaxes(1, 2)
                proposed = now + reach * sd * noise(step, column)[rows]
                bound = high[low][:, None]  # a proposal beyond it is seen in a mirror
                beyond = np.where(low[:, None] == 0, proposed > bound, proposed < bound)
                proposed = np.where(beyond, 2.0 * bound - proposed, proposed)
                moved = proposed - now
                there = of_rows + moves[reached] * moved[:, :, None]
                gain = sum(
                    at_density(laws, one, there[:, :, at]) - at_density(laws, one, of_rows[:, :, at])
                    for at, one in enumerate(reached.tolist())
                )
                rest = left[rows] - structure.outcome[column] * moved
                gain += (left[rows] ** 2 - rest**2) / (2.0 * structure.spread)
                taken = log_ndtr(noise(step + 1, column)[rows]) < gain
                values[rows, :, column] = np.where(taken, proposed, now)
                left[rows] = np.where(taken, rest, left[rows])
                errors[rows[:, None], :, reached] = np.where(taken[:, :, None], there, of_rows).swapaxes(1, 2)
                step += 2


def at_density(laws: F64, place: int, errors: F64) -> F64:
    """The logarithm of the density of some errors of one column, between bins by a line."""
    where = np.clip((errors - FIRST) / WIDTH, 0.0, BINS - 1.001)
    below = where.astype(np.intp)
    law, share = laws[place], where - below
    found: F64 = law[below] + share * (law[below + 1] - law[below])
    return found


def _bin(errors: F64) -> Index:
    return np.clip(np.rint((errors - FIRST) / WIDTH), 0, BINS - 1).astype(np.intp)


def _law(known: F64, below: F64, above: F64) -> F64:
    """(b,) log-density by penalized likelihood; each round shares out what is censored by the last one."""
    n = known.sum() + below.sum() + above.sum()
    law: F64 = np.square(GRID) * -0.5
    density = _normalized(law)
    for _ in range(ROUNDS if below.any() or above.any() else UNCUT):
        within = np.cumsum((below / np.maximum(np.cumsum(density), LEAST))[::-1])[::-1]
        within += np.cumsum(above / np.maximum(np.cumsum(density[::-1])[::-1], LEAST))
        counts = (known + density * within) / n
        for _ in range(STEPS):
            banded = BANDED.copy()
            banded[-1] += density + LEAST
            step = solveh_banded(banded, counts - density - PENALTY @ law)
            law = law + step * min(1.0, LONGEST / max(float(np.abs(step).max()), LEAST))
            density = _normalized(law)
    found: F64 = np.log(np.maximum(density, np.finfo(float).tiny) / WIDTH)
    return found


def _normalized(law: F64) -> F64:
    density: F64 = np.exp(law - law.max())
    return density / density.sum()
