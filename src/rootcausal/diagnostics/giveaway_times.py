"""Does one column give the time of the event away, or that it came?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

from ..backends.on_demand import concordances
from ..core.layout import Layout
from ..core.moments import ROWS_PER_CLASS
from ..core.table import F64, Index
from ..scoring import concordance
from ..screening.leakage import FEWEST_TO_CONDEMN, LIMITS, condemned, share_equal
from ..wording import plural, quoted
from .checked import Checked
from .diagnosis import Check
from .giveaway import (
    MODEL_DECIDES,
    Reason,
    areas_of,
    by_labels,
    dominating,
    given_away,
    named_like_an_end,
    pairs,
    question,
)
from .giveaway_numbers import absent
from .many_tests import corrected
from .ranks import rank_correlations
from .visible import POWER

# All pairs of these: more would not change what ranks them.
ROWS_AT_MOST = 1_000


def check_giveaway_of_times(checked: Checked) -> Check:
    """For all columns of the cohort, also those that the model left out."""
    assert checked.known is not None
    layout = checked.model.layout or Layout.numbers(checked.X.shape[1])
    happening = checked.words.happening
    names = [str(name) for name in checked.named.names]
    event = checked.known[:, 1].astype(np.intp)
    found = np.full(len(names), 0.5)
    reasons: list[Reason] = []
    if np.bincount(event, minlength=2).min() >= ROWS_PER_CLASS:
        found = areas_of(checked, event, layout)
        reasons += by_labels(checked, event, layout, found, happening)
    rows = _some(event)
    ranked = ranking(checked, layout, rows)
    n_events = int(event.sum())
    reasons += _ranking(names, ranked, layout, int(event[rows].sum()))
    reasons += _following(names, checked, layout, rows)
    missing = None if checked.missing is None else checked.missing[rows]
    reasons += absent(
        names, missing, checked.known[rows, 0], layout, "absence, follow-up", "the time of follow-up"
    )
    reasons += _of_model(names, checked, rows)
    smallest = smallest_concordance(int(event[rows].sum()), len(names), LIMITS["number"].p_doubtful)
    if reasons:
        return given_away(reasons, names, smallest, happening)
    if smallest > LIMITS["number"].broken:
        return _too_few(n_events, smallest, happening)
    return Check(
        "gives_away",
        question(happening),
        "fine",
        float(max(found.max(initial=0.5), ranked.max(initial=0.5))),
        None,
        f"The column that alone ranks best who has {happening} first does so in "
        f"{pairs(float(ranked.max(initial=0.5)))}, and the one that tells best who has it at all in "
        f"{pairs(float(found.max(initial=0.5)))}.",
        "",
        smallest=smallest,
    )


def _some(event: np.ndarray) -> Index:
    """Rows spread evenly over patients with the event and without."""
    kinds = [np.flatnonzero(event == label) for label in (0, 1)]
    half = ROWS_AT_MOST // 2
    return np.sort(
        np.concatenate([of[np.linspace(0, of.size - 1, min(of.size, half)).astype(np.intp)] for of in kinds])
    )


def ranking(checked: Checked, layout: Layout, rows: Index) -> F64:
    """(p,): concordance of each variable alone with the times of some rows, whichever way round.

    Of levels without an order, by how many events were expected of who has each. 0.5 where none is measured.
    """
    assert checked.known is not None
    known, score = checked.known[rows], checked.score[rows]
    first = layout.first_columns
    values = checked.X[np.ix_(rows, first)].T
    for variable in np.flatnonzero(np.bincount(layout.variable) > 1).tolist():
        dummies = checked.X[np.ix_(rows, layout.columns_of(variable))]
        levels, of_level = np.unique(dummies.round(), axis=0, return_inverse=True)
        of_level = of_level.ravel()
        mean = np.bincount(of_level, score, len(levels)) / np.bincount(of_level, minlength=len(levels))
        values[variable] = mean[of_level]
    if checked.missing is not None:
        values = np.where(checked.missing[np.ix_(rows, first)].T, np.nan, values)
    shares = concordances(values, *known.T)
    return np.where(np.isnan(shares), 0.5, np.maximum(shares, 1.0 - shares))


def concordance_error(n_events: int) -> float:
    """Standard error of a concordance that is chance alone, at most: that of Kendall's correlation."""
    d = max(n_events, 2)
    return float(np.sqrt((2.0 * d + 5.0) / (18.0 * d * (d - 1.0))))


def smallest_concordance(n_events: int, n_variables: int, level: float) -> float:
    """That is told from chance, among so many variables, in nine of ten cohorts like this one."""
    sure = norm.isf(level / (2.0 * max(n_variables, 1))) + norm.isf(1.0 - POWER)
    return float(0.5 + sure * concordance_error(n_events))


def _chance(share: float, n_events: int, n_variables: int) -> float:
    return corrected(float(2.0 * ndtr(-abs(share - 0.5) / concordance_error(n_events))), n_variables)


def _ranking(names: Sequence[str], ranked: F64, layout: Layout, n_events: int) -> list[Reason]:
    """Variables that alone rank nearly all patients, and those named like an end that rank many."""
    reasons = []
    ends = set(named_like_an_end(names, layout))
    for variable, share in enumerate(ranked.tolist()):
        p_value = _chance(share, n_events, len(names))
        verdict = LIMITS["number"].grade(share, p_value)
        name = quoted(names[variable], 40)
        sentence = f"{name} alone ranks who has the event first in {pairs(share)}"
        if verdict is None and variable in ends:
            verdict = LIMITS["name of an end"].grade(share, p_value)
            sentence = (
                f"{name} is named like something that is known only in the end, and ranks who has the event "
                f"first in {pairs(share)}"
            )
        verdict = condemned(verdict, n_events)
        if verdict is not None:
            reasons.append(Reason(variable, verdict, share, p_value, sentence))
    return reasons


def _following(names: Sequence[str], checked: Checked, layout: Layout, rows: Index) -> list[Reason]:
    """Numbers that are the time of follow-up in another unit, or nearly, or are it in many rows."""
    assert checked.known is not None
    first = layout.first_columns
    missing = None if checked.missing is None else checked.missing[np.ix_(rows, first)]
    found = rank_correlations(checked.X[np.ix_(rows, first)], missing, checked.known[rows, 0])
    there = np.full(first.size, rows.size) if missing is None else (~missing).sum(axis=0)
    numbers = ~layout.discrete[first] & (there >= FEWEST_TO_CONDEMN)
    asked = numbers & (found >= LIMITS["follow-up"].doubtful)
    reasons = []
    for variable in np.flatnonzero(numbers & ~asked).tolist():
        values = checked.X[rows, first[variable]]
        known = slice(None) if missing is None else ~missing[:, variable]
        share = share_equal(values[known], checked.known[rows, 0][known])
        if share:
            sentence = (
                f"{quoted(names[variable], 40)} is exactly the time of follow-up in {share:.0%} of rows"
            )
            reasons.append(Reason(variable, "doubtful", float(found[variable]), 0.0, sentence))
    for variable in np.flatnonzero(asked).tolist():
        correlation = float(found[variable])
        p_value = corrected(float(2.0 * norm.sf(correlation * np.sqrt(there[variable]))), len(names))
        verdict = LIMITS["follow-up"].grade(correlation, p_value)
        if verdict is not None:
            sentence = (
                f"{quoted(names[variable], 40)} is the time of follow-up in other words: their ranks "
                f"correlate by {np.floor(1000.0 * correlation) / 1000.0:.3g}"
            )
            reasons.append(Reason(variable, verdict, correlation, p_value, sentence))
    return reasons


def _of_model(names: Sequence[str], checked: Checked, rows: Index) -> list[Reason]:
    assert checked.known is not None
    known = checked.known[rows]
    share = concordance(checked.stated[rows], *known.T)
    if not share >= MODEL_DECIDES:  # NaN where no two can be compared
        return []
    p_value = _chance(share, int(known[:, 1].sum()), len(names))
    telling = f"the model ranks who has the event first in {pairs(share)}"
    return dominating(checked, names, share, p_value, telling)


def _too_few(n_events: int, smallest: float, happening: str) -> Check:
    return Check(
        "gives_away",
        question(happening),
        "cannot tell",
        float("nan"),
        None,
        f"With {plural(n_events, 'event')} a column may rank them by chance alone.",
        "ask of each column when it was measured; leave out what is known only after the event with --after "
        "(in Python: leave the column out of X).",
        (),
        "Any column may be one that was measured after the event, or tells how long patients were followed.",
        "variables",
        smallest,
    )
