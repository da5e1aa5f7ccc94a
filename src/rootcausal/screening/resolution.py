"""How finely was a column measured? Piles at a limit of detection, coarse rounding, digit preference.

Below what an assay can measure its laboratory writes the limit, and all such patients have the same value.
Values that were rounded, or guessed to the next ten, differ from the true ones by up to half a step: that is
measurement error, and matters where a step is large against the standard deviation. Whole numbers are not
rounded as such: how many children somebody has is known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..method.table import F64, Index

# Share of patients at an end of a column from which on it is a pile; and at least so many.
PILE, FEWEST_AT_AN_END = 0.05, 10
# So many times as many as have any other value: counts may begin with their most common value, of which the
# next has about half.
TIMES_ANY_OTHER = 3.0
# With fewer different values these are grades of a score, which has a true end.
FEWEST_DIFFERENT = 20
# Steps, in standard deviations, that lose what matters: rounding to half a one makes a reliability of .98.
COARSE = 0.4
# With no more, they are levels, whatever they were.
MOST_LEVELS = 7
# So much of the mean the variance of counts has at least: those of independent events have all of it.
VARIANCE_OF_COUNTS = 0.8
# Of so many steps one is preferred, by this share of the patients where chance gives a fifth.
PREFERRED, SHARE_PREFERRED = (5, 10, 20, 50, 100), 0.5
# Differences of values are whole numbers of steps, but for what float64 and printing lose.
ALIKE = 1e-4
# Rows by which nearly all columns without piles or steps are told: 5 % of them would be ten alike.
FIRST_LOOK = 200
# Beyond, a column has no steps.
MOST_STEPS = 10_000


@dataclass(frozen=True)
class Pile:
    """Patients who all have the least value of a column, or the greatest.

    Attributes
    ----------
    value : that they have.
    below : whether it is the least.
    share : of patients with a value.
    """

    value: float
    below: bool
    share: float


@dataclass(frozen=True)
class Steps:
    """Steps in which a column was measured.

    Attributes
    ----------
    size : of a step.
    in_sd : the same in standard deviations of the column.
    share : of patients who are on such a step: all where it was rounded, many where values are heaped.
    """

    size: float
    in_sd: float
    share: float

    @property
    def heaped(self) -> bool:
        return self.share < 1.0

    @property
    def sd_of_error(self) -> float:
        """The standard deviation of an error that is equally likely up to half a step (Sheppard)."""
        return float(self.size / 12.0**0.5)


def piles_of(values: F64) -> list[Pile]:
    """Where values (n,) pile up at an end, NaN where missing; not where counts and amounts begin."""
    different, counts = _counted(values)
    if different.size < FEWEST_DIFFERENT:
        return []
    n = int(counts.sum())
    others = np.sort(counts[1:-1])[-1]
    found = []
    for place, below in ((0, True), (-1, False)):
        count = int(counts[place])
        enough = count >= max(PILE * n, FEWEST_AT_AN_END, TIMES_ANY_OTHER * others)
        if enough and not (below and _begins_a_count(different)):
            found.append(Pile(float(different[place]), below, count / n))
    return found


def coarse_steps(values: F64) -> Steps | None:
    """Steps of values (n,) that are large against their standard deviation; None where there are none."""
    different, counts = _counted(values)
    if different.size <= MOST_LEVELS:
        return None
    n, sd = int(counts.sum()), float(np.nanstd(values))
    step = _step(different)
    if step is None:
        return None
    if step >= COARSE * sd:
        return None if _are_counts(different, counts, step) else Steps(step, step / sd, 1.0)
    for times in reversed(PREFERRED):
        size = times * step
        # What many truly are, or could not be measured beyond, is no preference.
        inner = (different != 0.0) & (counts < max(FEWEST_AT_AN_END, PILE * n) * TIMES_ANY_OTHER)
        of_all = counts[inner].sum()
        on = inner & (np.abs(different / size - np.rint(different / size)) < ALIKE)
        if size >= COARSE * sd and on.sum() > 3 and counts[on].sum() >= SHARE_PREFERRED * of_all:
            return Steps(size, size / sd, float(counts[on].sum() / of_all))
    return None


def written(value: float) -> str:
    """A number as a user writes it, to the last digit: 3, 0.25."""
    short = f"{value:.12g}"
    return short if float(short) == value else repr(value)


def _begins_a_count(different: F64) -> bool:
    """Whether the least is what many truly have: none of an amount, or one of what is counted."""
    return bool(different[0] == 0.0 or (different[0] == 1.0 and (different == np.rint(different)).all()))


def without_ties(values: F64) -> np.ndarray:
    """(q,) of which columns of (n, q) the first rows all differ: these have no piles, and no steps."""
    first = np.sort(values[:FIRST_LOOK], axis=0)
    found: np.ndarray = ~(first[1:] == first[:-1]).any(axis=0)
    return found & (len(first) == FIRST_LOOK)


def _counted(values: F64) -> tuple[F64, Index]:
    """Different values, ascending, and how many rows have each."""
    different, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    return different, counts


def _step(different: F64) -> float | None:
    """The greatest step of which all differences are multiples; None where there is none."""
    apart = np.diff(different)
    step = float(apart.min())
    spread = float(different[-1] - different[0])
    if spread > MOST_STEPS * step:
        return None
    steps = apart / step
    if (np.abs(steps - np.rint(steps)) > ALIKE * np.maximum(steps, 1.0)).any():
        return None
    return step


def _are_counts(different: F64, counts: Index, step: float) -> bool:
    """Whether values may say how often: whole numbers from 0 or 1 on, or as scattered as counts are."""
    if step != 1.0 or different[0] < 0 or (different != np.rint(different)).any():
        return False
    mean = float(np.average(different, weights=counts))
    variance = float(np.average((different - mean) ** 2, weights=counts))
    return bool(different[0] <= 1.0 or variance >= VARIANCE_OF_COUNTS * mean)
