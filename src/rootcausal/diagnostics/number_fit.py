"""Is the expected value of a number the observed one, and is the spread about it the same for all?"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from ..core.table import F64
from ..outcomes import Words
from ..wording import plural, quoted
from .checked import Checked
from .diagnosis import Check, Scale, Verdict, in_words
from .evidence import Evidence
from .link import Groups, parts_of
from .many_tests import corrected
from .ranks import rank_correlations
from .visible import smallest_visible

QUESTION = "Is the expected value the observed one?"
SPREAD_QUESTION = "Do values lie about the expected ones as closely in all patients?"
# Standard deviations of the number by which observed and expected values differ, on average over groups.
SCALE = Scale(0.10, 0.20, p_doubtful=0.002, p_broken=0.0002)
# How many times as wide the spread is in the upper third as in the lower one. Effects are right on average
# whatever the spread is: it is a doubt at most.
UNEVEN = Scale(1.5, np.inf, p_doubtful=1e-3)
# That must be visible before silence means anything.
HARD_RATIO = 2.0


def check_expected(checked: Checked) -> Check:
    """Means of groups of patients by what the model expects of them."""
    y = checked.known
    assert y is not None
    expected, allowing = checked.stated, ""
    if checked.of_fit:
        expected, allowing = spread_out(expected, y), ", with the shrinkage of the fit undone"
    group, size = parts_of(expected, y.size)
    left = y - expected
    mean_stated, mean_observed = (np.bincount(group, of) / size for of in (expected, y))
    within = left - (np.bincount(group, left) / size)[group]
    error = np.sqrt(max(float(within @ within), 1e-300) / max(y.size - size.size, 1) / size)
    groups = Groups(size, mean_stated, mean_observed, error)
    sd = max(float(y.std()), 1e-300)
    difference, smallest = groups.difference / sd, groups.smallest / sd
    verdict = SCALE.judge(groups.p_value, difference, smallest)
    if verdict == "fine" and groups.p_value < SCALE.p_doubtful and groups.largest / sd >= SCALE.broken:
        verdict = "doubtful"  # right on average, and wrong in a group of patients
    words, worst = checked.words, groups.worst
    return Check(
        "calibrated",
        QUESTION,
        verdict,
        difference,
        groups.p_value,
        f"In {plural(size.size, 'group')} of patients by expected value{allowing}, expected and observed "
        f"values differ by {words.predicted(groups.difference)} on average, {difference:.2f} standard "
        f"deviations ({in_words(groups.p_value)}; it counts from {SCALE.doubtful:g} on, or {SCALE.broken:g} "
        f"in a group, with p < {SCALE.p_doubtful:g}); of {size[worst]:.0f} patients of whom "
        f"{words.predicted(float(mean_stated[worst]))} is expected on average, the mean is "
        f"{words.predicted(float(mean_observed[worst]))}.",
        _advice(verdict),
        limit=_limit(verdict, groups, words, smallest * sd),
        touches="" if verdict == "fine" else "risk",
        smallest=smallest,
    )


def spread_out(expected: F64, y: F64) -> F64:
    """The same values, spread as far as these patients would have it (see :func:`.link.spread_out`)."""
    centred = expected - expected.mean()
    spread = float(centred @ centred)
    slope = float(centred @ y) / spread if spread > 0.0 else 1.0
    return expected if slope <= 1.0 else expected.mean() + slope * centred


def _advice(verdict: Verdict) -> str:
    if verdict == "fine":
        return ""
    if verdict == "cannot tell":
        return "compare expected with observed values in more patients before anybody is told one."
    return (
        "if these are other patients than those of the fit, fit the model again on patients like them. If "
        "they are the same, a logarithm or a root of the outcome, made in the file as a column of its own, "
        "may make relations straight (--log is for variables); see also the check of straight lines."
    )


def _limit(verdict: Verdict, groups: Groups, words: Words, smallest: float) -> str:
    if verdict == "fine":
        return ""
    if verdict == "cannot tell":
        up_to = words.predicted(smallest)
        return f"Expected values may be wrong by up to {up_to}, and these patients would not show it."
    off, most = words.predicted(groups.difference), words.predicted(groups.largest)
    if verdict == "broken":
        more = "and only say who has more than whom"
        return f"Do not read expected values as such; they are wrong by {off} on average, {more}."
    return f"Expected values are wrong by {off} on average, and by {most} in a group of patients."


def check_spread(evidence: Evidence, stated: F64, left: F64) -> Check:
    """Whether the spread goes with what is expected (n,), or with an error.

    ``left`` (n,) is what a plain line leaves of the number.
    """
    names = ("the expected value", *(quoted(name, 40) for name in evidence.names))
    columns = np.vstack([stated, evidence.errors.T]).T
    size = np.abs(left - np.median(left))
    z = rank_correlations(columns, None, size) * np.sqrt(size.size)
    p_values = np.array([corrected(p, len(names)) for p in (2.0 * ndtr(-z)).tolist()])
    ratios = np.array([_ratio(column, left) for column in columns.T])
    widest = np.where(p_values < UNEVEN.p_doubtful, np.maximum(ratios, 1.0 / ratios), 0.0)
    worst = int(widest.argmax()) if widest.any() else int(p_values.argmin())
    ratio = float(ratios[worst])
    verdict = UNEVEN.judge(float(p_values[worst]), max(ratio, 1.0 / ratio))
    # The ratio of two estimates, of a third each, whose logarithms have a variance of 1 / (2 n / 3) or more.
    smallest = float(np.exp(smallest_visible(1, 1, len(names), UNEVEN.p_doubtful) * np.sqrt(3.0 / size.size)))
    unseen = verdict == "fine" and smallest > HARD_RATIO
    seen = verdict == "doubtful"
    where = "high" if ratio >= 1.0 else "low"
    return Check(
        "even_spread",
        SPREAD_QUESTION,
        "cannot tell" if unseen else verdict,
        max(ratio, 1.0 / ratio),
        float(p_values[worst]),
        f"Where {names[worst]} is {where}, in a third of the patients, values lie "
        f"{max(ratio, 1.0 / ratio):.2f} times as far from what is expected as in the third where it is "
        f"{'low' if ratio >= 1.0 else 'high'} ({in_words(float(p_values[worst]))} after correction for "
        f"{plural(len(names), 'column')}; it counts from {UNEVEN.doubtful:g} on).",
        _even_out(unseen, seen),
        (evidence.names[worst - 1],) if seen and worst else (),
        "How far a value may lie from what is expected is not the same for all patients: it is "
        f"{max(ratio, 1.0 / ratio):.1f} times as much where {names[worst]} is {where}."
        if seen
        else "Whether values lie as closely about the expected ones in all patients cannot be told: only "
        f"{smallest:.1f} times as far would be seen in {plural(size.size, evidence.row_noun)}."
        if unseen
        else "",
        "risk" if seen or unseen else "",
        smallest,
    )


def _even_out(unseen: bool, seen: bool) -> str:
    if seen:
        return (
            "if the outcome grows by factors rather than by amounts, make a column of its logarithm in the "
            "file, and fit that (--log is for variables); effects themselves are right on average, and "
            "--bootstrap tells how sure they are."
        )
    return "look at what is left of the outcome over the expected values." if unseen else ""


def _ratio(column: F64, left: F64) -> float:
    """Of the mean size of what is left, in the upper third of a column and in the lower one."""
    order = np.argsort(column, kind="stable")
    third = max(order.size // 3, 1)
    size = np.abs(left - left.mean())
    low, high = float(size[order[:third]].mean()), float(size[order[-third:]].mean())
    return max(high, 1e-12) / max(low, 1e-12)
