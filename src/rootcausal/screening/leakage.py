"""Does a column leak the outcome? One table of limits, and one rule for each way to leak.

A column that all by itself nearly decides the outcome is seldom a cause of it: mostly the outcome is defined
by it, it is the outcome in another form, or it was measured after. Look, fit and check render what is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import binom, norm, rankdata

from ..method.table import F64, Index
from .auc import chance_of, rank_auc

Grade = Literal["doubtful", "broken"]
Reason = Literal["auc", "absence", "only cases"]


@dataclass(frozen=True)
class Limit:
    """From which size on, and below which p-value, a column is doubtful or broken; and why there."""

    doubtful: float
    broken: float
    p_doubtful: float
    p_broken: float
    why: str

    def grade(self, size: float, p: float) -> Grade | None:
        """Both must agree: in a large cohort a p-value alone would cry wolf."""
        if size >= self.broken and p < self.p_broken:
            return "broken"
        return "doubtful" if size >= self.doubtful and p < self.p_doubtful else None


# What is asked about only.
NEVER = float("inf")
# One variable's part of the variance of the log-odds, beside a model that knows nearly every diagnosis (AUC).
DOMINATES, MODEL_DECIDES = 0.90, 0.95
# What makes up that part has this AUC alone, if the log-odds are Gaussian in cases and in controls.
DOMINATES_ALONE = round(float(norm.cdf(np.sqrt(DOMINATES) * norm.ppf(MODEL_DECIDES))), 2)
LIMITS = {
    "number": Limit(0.95, 0.99, 0.01, 0.001, "AUC; a good measurement of a disease comes near 0.95"),
    "number, before a fit": Limit(
        DOMINATES_ALONE, 0.99, 0.01, 0.001, "AUC; a model may know nearly every diagnosis by this column"
    ),
    "levels": Limit(0.92, 0.97, 0.01, 0.001, "AUC; two levels of 0.92 have an odds ratio above 100"),
    "name of an end": Limit(0.56, 0.85, 0.001, 1e-6, "AUC; the name speaks against the column already"),
    "absence": Limit(
        0.50, 0.80, 0.001, 1e-6, "difference of the shares of cases and controls without a value"
    ),
    "not known": Limit(0.10, NEVER, 0.01, 0.001, "difference of the shares of cases where it is not known"),
    "late events": Limit(
        0.80, NEVER, 0.01, 0.001, "pairs in which who had the event was followed for longer; seen: up to 0.69"
    ),
    "past": Limit(0.20, NEVER, 1.0, 1.0, "share of patients in whom a time is longer than follow-up"),
    "follow-up": Limit(
        0.95, 0.98, 0.01, 0.001, "rank correlation with the time; the strongest cause has 0.9"
    ),
    "accrued": Limit(0.70, NEVER, 1.0, 1.0, "rank correlation with the length or the cost of a stay"),
    "correlation": Limit(0.98, 0.995, 0.01, 0.001, "with the number; a cause with little beside it has 0.97"),
    "name of an end, correlation": Limit(
        0.20, 0.90, 0.001, 1e-6, "the name speaks against the column already"
    ),
    "absence, pairs": Limit(0.80, 0.95, 0.001, 1e-6, "pairs in which who lacks it has the higher number"),
    "absence, follow-up": Limit(
        0.65, 0.95, 0.001, 1e-6, "pairs in which who lacks it was followed for less; the sicker have 0.6"
    ),
}
# With fewer of a class, the normal approximation of the p-value says nothing.
FEWEST_OF_A_CLASS = 5
# Of a rare disease, a strong cause has all of the few cases among its highest values, too.
FEWEST_TO_CONDEMN = 20
# So far apart, absence is a word where one class always has a value, and a verdict where it never has one.
ONLY_IN_ONE_CLASS = 0.20
# Of a level with fewer rows, all may be cases by chance, or because it is a strong cause.
FEWEST_OF_A_LEVEL, ONLY_CASES, P_OF_A_LEVEL = 20, 0.99, 0.01
# The time to another event is the time of follow-up itself in all who never had that event. Measurements are
# by chance only: in 6 % of rows at most in survival tables of R packages, and no more often than expected.
SHARE_EQUAL, DIFFERENT_EQUAL, TIMES_EXPECTED = 0.05, 10, 5.0
# What is never longer than follow-up begins within it, where chance would have had so many rows longer.
FEWEST_LONGER, MOST_LONGER = 6.0, 0.05
IMMORTAL = "what begins after time 0 is known of those only who were followed until then (immortal time bias)"


@dataclass(frozen=True)
class Leak:
    """One way in which one column leaks the outcome.

    Attributes
    ----------
    column : its place among those that were asked.
    reason : what leaks: its values, that they are absent, or one level.
    size : AUC, difference of shares, or share of cases in the level.
    p : corrected for all columns that were asked.
    grade : "broken" where nothing else explains it.
    level : the place of the level, if it is one.
    """

    column: int
    reason: Reason
    size: float
    p: float
    grade: Grade
    level: int = -1


def corrected(p_value: float, n_tests: int) -> float:
    """A p-value that was the smallest of many tests (Šidák)."""
    return float(-np.expm1(n_tests * np.log1p(-min(p_value, 1.0 - 1e-16))))


def condemned(grade: Grade | None, n_fewest: int) -> Grade | None:
    """The same, where so few have the outcome, or lack it, no worse than doubtful."""
    return "doubtful" if grade == "broken" and n_fewest < FEWEST_TO_CONDEMN else grade


def by_values(found: F64, counts: Index, levels: np.ndarray, *, fitted: bool = True) -> list[Leak]:
    """Columns whose values decide a binary outcome.

    Parameters
    ----------
    found : (p,) the AUC of each column, whichever way round.
    counts : (2, p) controls and cases in whom it was measured.
    levels : (p,) whether it has levels, and is no number.
    fitted : whether a model was fitted, of which it is asked too what makes up nearly all that it knows.
    """
    leaks, of_numbers = [], "number" if fitted else "number, before a fit"
    for column, (auc, has_levels) in enumerate(zip(found.tolist(), levels.tolist(), strict=True)):
        limit = LIMITS["levels" if has_levels else of_numbers]
        n_controls, n_cases = counts[:, column].tolist()
        if auc < limit.doubtful or min(n_cases, n_controls) < FEWEST_OF_A_CLASS:
            continue
        p = corrected(chance_of(auc, n_cases, n_controls), found.size)
        grade = condemned(limit.grade(auc, p), min(n_cases, n_controls))
        if grade is not None:
            leaks.append(Leak(column, "auc", auc, p, grade))
    return leaks


def by_absence(absent: Index, sizes: Index) -> list[Leak]:
    """Columns of which it tells a binary outcome that they are missing, or that they are there.

    Parameters
    ----------
    absent : (2, p) controls and cases without a value.
    sizes : (2,) controls and cases.
    """
    if not sizes.all():
        return []
    shares, of_all = absent / sizes[:, None], absent.sum(axis=0) / sizes.sum()
    apart = np.abs(shares[1] - shares[0])
    error = np.sqrt(np.maximum(of_all * (1.0 - of_all), 1e-12) * (1.0 / sizes).sum())
    p_values = 2.0 * norm.sf(apart / error)
    leaks, limit = [], LIMITS["absence"]
    for column, size in enumerate(apart.tolist()):
        p, grade = corrected(float(p_values[column]), apart.size), None
        if size >= ONLY_IN_ONE_CLASS and shares[:, column].max() == 1.0:
            grade = limit.grade(max(size, limit.broken), p)
        elif size >= ONLY_IN_ONE_CLASS and shares[:, column].min() == 0.0:
            grade = limit.grade(max(size, limit.doubtful), p)
        else:
            grade = limit.grade(size, p)
        if grade is not None:
            leaks.append(Leak(column, "absence", size, p, grade))
    return leaks


def by_absence_of_number(number: F64, missing: np.ndarray, limit: Limit) -> list[Leak]:
    """Columns of which it goes with a number that they are missing.

    Their size is the share of pairs in which who lacks the column has the higher number: below 0.5, who has
    less of it lacks the column.

    Parameters
    ----------
    number : (n,) the outcome, or how long patients were followed.
    missing : (n, p) where each column has no value.
    """
    leaks, ranks = [], rankdata(number)
    for column in range(missing.shape[1]):
        gone = missing[:, column].astype(np.intp)
        n_gone = int(gone.sum())
        if min(n_gone, gone.size - n_gone) < FEWEST_TO_CONDEMN:
            continue
        higher = rank_auc(ranks, gone)
        p = corrected(chance_of(higher, n_gone, gone.size - n_gone), missing.shape[1])
        grade = limit.grade(max(higher, 1.0 - higher), p)
        if grade is not None:
            leaks.append(Leak(column, "absence", higher, p, grade))
    return leaks


def by_unknown(unknown: Sequence[np.ndarray], y: Index) -> list[Leak]:
    """Columns of which it goes with a binary outcome (n,) that some cells (n,) say "not known"."""
    leaks, limit, all_of = [], LIMITS["not known"], float(y.mean())
    for column, here in enumerate(unknown):
        n_here = int(here.sum())
        if min(n_here, y.size - n_here) < FEWEST_OF_A_CLASS:
            continue
        size = abs(float(y[here].mean() - y[~here].mean()))
        error = np.sqrt(all_of * (1.0 - all_of) * (1.0 / n_here + 1.0 / (y.size - n_here)))
        p = corrected(float(2.0 * norm.sf(size / error)), len(unknown))
        grade = limit.grade(size, p)
        if grade is not None:
            leaks.append(Leak(column, "absence", size, p, grade))
    return leaks


def by_levels(counts: Sequence[tuple[Index, Index]], share: float) -> list[Leak]:
    """Levels that next to nobody has without the outcome, the largest of each column.

    Parameters
    ----------
    counts : for each column its rows and its cases by level, (k,) each; (0,) of one without levels.
    share : of all rows, cases.
    """
    n_levels, leaks = sum(rows.size for rows, _ in counts), []
    for column, (rows, cases) in enumerate(counts):
        enough = (rows >= FEWEST_OF_A_LEVEL) & (cases >= ONLY_CASES * rows)
        for level in sorted(np.flatnonzero(enough).tolist(), key=lambda level: -rows[level])[:1]:
            p = corrected(float(binom.sf(cases[level] - 1, rows[level], share)), n_levels)
            if p < P_OF_A_LEVEL:
                size = float(cases[level] / rows[level])
                leaks.append(Leak(column, "only cases", size, p, "doubtful", level))
    return leaks


def deciding_levels(levels: Index, has_it: np.ndarray, either: bool = True) -> dict[int, int]:
    """Levels (n,), and their rows, of which none, or with ``either`` every one, has the outcome (n,).

    That is quasi-complete separation: however few they are, what the level adds has no finite estimate.
    """
    rows, cases = np.bincount(levels), np.bincount(levels, has_it)
    decides = (rows > 0) & ((cases == 0) | (either & (cases == rows)))
    return {level: int(rows[level]) for level in np.flatnonzero(decides).tolist()}


def share_equal(values: np.ndarray, times: np.ndarray) -> float:
    """In which share of rows a column (n,) is exactly the time (n,); 0.0 where that may be chance."""
    both = ~np.isnan(values) & ~np.isnan(times)
    values, times = values[both], times[both]
    equal = values == times
    n_equal = int(equal.sum())
    if np.unique(times[equal]).size < DIFFERENT_EQUAL or n_equal < SHARE_EQUAL * times.size:
        return 0.0
    own, n_own = np.unique(values, return_counts=True)
    theirs, n_theirs = np.unique(times, return_counts=True)
    _, a, b = np.intersect1d(own, theirs, return_indices=True)
    expected = float(n_own[a] @ n_theirs[b]) / times.size
    return n_equal / times.size if n_equal >= TIMES_EXPECTED * expected else 0.0


def begins_within(values: np.ndarray, times: np.ndarray) -> bool:
    """Whether a column (n,) is a time that begins and passes during follow-up (n,), which it never outlasts.

    Compared with how often it would, if it had nothing to do with how long each patient was followed.
    """
    both = ~np.isnan(values) & ~np.isnan(times)
    values, times = values[both], times[both]
    if not values.size:
        return False
    expected = float(np.searchsorted(np.sort(times), values, side="left").mean())
    longer = int((values > times).sum())
    return expected >= FEWEST_LONGER and longer <= MOST_LONGER * expected
