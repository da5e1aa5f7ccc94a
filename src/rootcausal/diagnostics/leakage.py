"""Does a column leak the outcome? What a person would see in the table, without any model.

A column that all by itself nearly decides the outcome is seldom a cause of it: mostly the outcome is defined
by it, it is the outcome in another form, or it was measured after. Limits are those of
:mod:`..screening.leakage`; here is what they are asked of: cases and controls, times, and a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

from ..asking.ends import ends_beside, says_end
from ..backends.on_demand import concordances
from ..core.layout import Layout
from ..core.moments import ROWS_PER_CLASS
from ..core.table import F64, Index
from ..scoring import concordance
from ..screening.auc import aucs, chance_of, measured_of_both, rank_auc, rows_of_both, smallest_auc
from ..screening.leakage import (
    FEWEST_TO_CONDEMN,
    LIMITS,
    Leak,
    by_absence,
    by_levels,
    by_values,
    condemned,
    corrected,
    share_equal,
)
from ..wording import pasted, plural, quoted
from .checked import Checked
from .diagnosis import VERDICTS, Check, Verdict
from .power import POWER
from .ranks import correlations_of, rank_correlations, ranks_of
from .specification import CheckSpec, Text, from_size

HAPPENING = "the diagnosis"
# Of a column with levels the direction cannot be told; from this area on that is worth a word.
CLOSE_LEVELS = 0.75
# One variable's part of the variance of the log-odds, beside a model that knows nearly every diagnosis.
DOMINATES, MODEL_DECIDES = 0.90, 0.95
REASONS_SAID = 3
# With fewer values, a correlation says nothing.
FEWEST = 20
# More rows would not change what goes with what; of times, all pairs of so many are looked at.
ROWS_AT_MOST, TIMES_AT_MOST = 5_000, 1_000


def _spec(number: str, fine: str, few: Text, *limits: tuple[str, str]) -> CheckSpec:
    """What is asked of one outcome; ``limits`` are what the table says of whom, and the name of a limit."""
    said = [
        [what + from_size(size, p) for what, size, p in rows]
        for rows in (
            [(what, LIMITS[name].doubtful, LIMITS[name].p_doubtful) for what, name in limits],
            [(what, LIMITS[name].broken, LIMITS[name].p_broken) for what, name in limits],
        )
    ]
    return CheckSpec(
        "gives_away",
        "Does any column leak the outcome?",
        number,
        {
            "fine": Text(fine),
            "cannot tell": few,
            "cannot tell, levels": Text(
                "{names} {names:goes|go} closely with the diagnosis (in {pairs} at best). Of a column with "
                "levels nothing in the table shows whether it comes before the diagnosis or after.",
                "{names} may come after the diagnosis: only who knows when {names:it was|they were} measured "
                "can tell.",
                "ask when {names:it was|they were} measured; what came after the diagnosis is left out with "
                "--after COLUMN.",
            ),
            "doubtful": Text(
                "{reasons}.",
                "{names} may give {happening} away rather than cause it, and of the other variables only "
                "what is left beside is seen.",
                "{leave_out}",
            ),
            "broken": Text(
                limit="Do not read {names} as {names:a root cause|root causes}: {names:it gives|they give} "
                "{happening} away, and of the other variables only what is left beside is seen."
            ),
        },
        touches="variables",
        doubtful_from="; ".join(said[0]),
        broken_from="; ".join(said[1]),
    )


OF_DIAGNOSES = _spec(
    "share of pairs that one column tells apart (absence: difference of shares)",
    "The column that alone tells patients with and without the diagnosis apart best does so in {pairs}.",
    Text(
        "With {n_cases:# patient} with the diagnosis and {n_controls} without, a column may tell them apart "
        "by chance alone.",
        "Any column may be one that was measured after the diagnosis, or is part of its definition.",
        "ask of each column when it was measured; leave out what is known only after the diagnosis with "
        "--after (in Python: leave the column out of X).",
    ),
    ("", "number"),
    ("levels ", "levels"),
    ("names of an end ", "name of an end"),
    ("absence ", "absence"),
)
OF_TIMES = _spec(
    "share of pairs that one column ranks as the times do",
    "The column that alone ranks best who has {happening} first does so in {ranked}, and the one that tells "
    "best who has it at all in {told}.",
    Text(
        "With {n_events:# event} a column may rank them by chance alone.",
        "Any column may be one that was measured after the event, or tells how long patients were followed.",
        "ask of each column when it was measured; leave out what is known only after the event with --after "
        "(in Python: leave the column out of X).",
    ),
    ("", "number"),
    ("correlation with the time of follow-up ", "follow-up"),
    ("names of an end ", "name of an end"),
)
OF_NUMBERS = _spec(
    "correlation of one column with the number (absence: share of pairs)",
    "The column that alone goes with {happening} most closely does so with a correlation of {number:.2f}.",
    Text(
        "In {n:# patient} a column may go with {happening} by chance alone.",
        "Any column may be one that was measured after the outcome, or is part of it.",
        "ask of each column when it was measured, and whether the outcome is reckoned from it.",
    ),
    ("", "correlation"),
    ("names of an end ", "name of an end, correlation"),
    ("absence ", "absence, pairs"),
)


@dataclass(frozen=True)
class Reason:
    """Why a variable gives the outcome away, as one sentence with its figure."""

    variable: int
    verdict: Verdict
    area: float
    p_value: float
    sentence: str

    @property
    def rank(self) -> tuple[int, float]:
        """The worst first."""
        return -VERDICTS.index(self.verdict), -self.area


def check_leakage(checked: Checked, y: np.ndarray) -> Check:
    """Of a diagnosis, for all columns of the cohort, also those that the model left out."""
    layout, names = _layout(checked), [str(name) for name in checked.named.names]
    found = areas_of(checked, y, layout)
    n_cases, largest = int(y.sum()), float(found.max(initial=0.5))
    n_controls = y.size - n_cases
    smallest = smallest_auc(n_cases, n_controls, len(names), LIMITS["number"].p_doubtful, POWER)
    reasons = [*by_labels(checked, y, layout, found), *_of_model(checked, y, names)]
    if reasons:
        return given_away(OF_DIAGNOSES, reasons, names, smallest, HAPPENING)
    if smallest > LIMITS["number"].broken:
        return OF_DIAGNOSES.check("cannot tell", smallest=smallest, n_cases=n_cases, n_controls=n_controls)
    close = [
        names[variable]
        for variable in np.flatnonzero(found >= CLOSE_LEVELS).tolist()
        if layout.discrete[layout.columns_of(variable)[0]]
    ]
    return OF_DIAGNOSES.check(
        "cannot tell" if close else "fine",
        largest,
        case="levels",
        names=close,
        smallest=smallest,
        pairs=pairs(largest),
    )


def _layout(checked: Checked) -> Layout:
    return checked.model.layout or Layout.numbers(checked.X.shape[1])


def areas_of(checked: Checked, y: np.ndarray, layout: Layout) -> F64:
    """(p,) how well each variable alone tells the labels y (n,) apart."""
    rows = rows_of_both(y)
    return aucs(checked.X[rows], None if checked.missing is None else checked.missing[rows], y[rows], layout)


def by_labels(
    checked: Checked, y: np.ndarray, layout: Layout, found: F64, happening: str = HAPPENING
) -> list[Reason]:
    """What gives labels y (n,) away, a diagnosis or an event, as it is ``happening``.

    ``found`` (p,) are the areas of :func:`areas_of`.
    """
    rows = rows_of_both(y)
    values = checked.X if rows.size == y.size else checked.X[rows]
    missing = None if checked.missing is None else checked.missing[rows]
    names = [str(name) for name in checked.named.names]
    counts = measured_of_both(missing, y[rows], layout)
    return [
        *_deciding(
            names, by_values(found, counts, layout.discrete[layout.first_columns]), layout, values, happening
        ),
        *_ends(names, found, layout, counts, happening),
        *_absent(names, checked.missing, y, layout, happening),
        *_only_cases(names, layout, values, missing, y[rows], happening),
    ]


def _deciding(
    names: Sequence[str], leaks: Sequence[Leak], layout: Layout, values: F64, happening: str
) -> list[Reason]:
    reasons = []
    for leak in leaks:
        column, name = layout.columns_of(leak.column)[0], quoted(names[leak.column], 40)
        sentence = f"{name} alone tells patients with and without {happening} apart in {pairs(leak.size)}"
        if leak.size == 1.0:
            two = layout.columns_of(leak.column).size == 1 and np.unique(values[:, column]).size == 2
            sentence += f": it is {happening} itself, in other words" if two else ": a limit of it decides"
        reasons.append(Reason(leak.column, leak.grade, leak.size, leak.p, sentence))
    return reasons


def _only_cases(
    names: Sequence[str],
    layout: Layout,
    values: F64,
    missing: np.ndarray | None,
    y: np.ndarray,
    happening: str,
) -> list[Reason]:
    """Levels that next to nobody has without the diagnosis, as of what is done only after it."""
    counts = []
    for variable, column in enumerate(layout.first_columns.tolist()):
        if not layout.discrete[column]:
            counts.append((np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)))
            continue
        known = slice(None) if missing is None else ~missing[:, column]
        own = values[known][:, layout.columns_of(variable)].round()
        _, level = np.unique(own, axis=0, return_inverse=True)
        rows = np.bincount(level.ravel())
        counts.append((rows, np.bincount(level.ravel()[y[known] == 1], minlength=rows.size)))
    reasons = []
    for leak in by_levels(counts, float(y.mean())):
        rows, cases = (of[leak.level] for of in counts[leak.column])
        sentence = (
            f"{cases:,} of {rows:,} patients with one and the same level of {quoted(names[leak.column], 40)} "
            f"have {happening}"
        )
        reasons.append(Reason(leak.column, leak.grade, leak.size, leak.p, sentence))
    return reasons


def named_like_an_end(names: Sequence[str], layout: Layout) -> list[int]:
    """Variables whose names speak of the end, unless the user said that they come first."""
    beside, first = ends_beside(names), layout.kept & ~layout.covariate
    return [
        variable
        for variable, name in enumerate(names)
        if (name in beside or says_end(name)) and not first[layout.first_columns[variable]]
    ]


def _ends(names: Sequence[str], found: F64, layout: Layout, counts: Index, happening: str) -> list[Reason]:
    reasons = []
    for variable in named_like_an_end(names, layout):
        area = float(found[variable])
        n_controls, n_cases = counts[:, variable].tolist()
        p_value = corrected(chance_of(area, n_cases, n_controls), len(names))
        verdict = LIMITS["name of an end"].grade(area, p_value)
        if verdict is None:
            continue
        sentence = (
            f"{quoted(names[variable], 40)} is named like something that is known only in the end, and tells "
            f"patients with and without {happening} apart in {pairs(area)}"
        )
        reasons.append(Reason(variable, verdict, area, p_value, sentence))
    return reasons


def _absent(
    names: Sequence[str], missing: np.ndarray | None, y: np.ndarray, layout: Layout, happening: str
) -> list[Reason]:
    """Columns of which it tells the diagnosis that they are missing, or that they are there."""
    if missing is None:
        return []
    first = layout.first_columns
    absent = np.stack([missing[y == label][:, first].sum(axis=0) for label in (0, 1)])
    sizes = np.bincount(y, minlength=2)
    reasons = []
    for leak in by_absence(absent, sizes):
        of_controls, of_cases = (absent[:, leak.column] / sizes).tolist()
        sentence = (
            f"{quoted(names[leak.column], 40)} is missing in {of_cases:.0%} of the patients with {happening} "
            f"and in {of_controls:.0%} of those without: whether it was measured tells {happening}"
        )
        reasons.append(Reason(leak.column, leak.grade, 0.5 + leak.size / 2.0, leak.p, sentence))
    return reasons


def _of_model(checked: Checked, y: np.ndarray, names: Sequence[str]) -> list[Reason]:
    area = rank_auc(ranks_of(checked.stated), y)
    n_cases = int(y.sum())
    p_value = corrected(chance_of(area, n_cases, y.size - n_cases), len(names))
    telling = f"the model tells patients with and without the diagnosis apart in {pairs(area)}"
    return dominating(checked, names, area, p_value, telling) if area >= MODEL_DECIDES else []


def dominating(
    checked: Checked, names: Sequence[str], knows: float, p_value: float, telling: str
) -> list[Reason]:
    """One variable that makes up nearly all of a model that knows nearly every outcome.

    ``knows`` is how well the model tells it, ``p_value`` whether by chance, and ``telling`` that in words.
    """
    spread = checked.model.importance() ** 2
    if not spread.sum() or p_value >= LIMITS["number"].p_doubtful:
        return []
    largest = int(spread.argmax())
    variable, part = int(checked.model.order[largest]), float(spread[largest] / spread.sum())
    if part < DOMINATES:
        return []
    sentence = f"{quoted(names[variable], 40)} makes up {part:.0%} of what the model knows, and {telling}"
    return [Reason(variable, "doubtful", knows, p_value, sentence)]


def given_away(
    spec: CheckSpec, all_reasons: Sequence[Reason], names: Sequence[str], smallest: float, happening: str
) -> Check:
    """The check where at least one variable leaks the outcome, each for the worst of its reasons."""
    of_each: dict[int, Reason] = {}
    for reason in sorted(all_reasons, key=lambda reason: reason.rank):
        of_each.setdefault(reason.variable, reason)
    reasons = [*of_each.values()]
    found = [names[reason.variable] for reason in reasons]
    more = len(reasons) - REASONS_SAID
    said = "; ".join(reason.sentence for reason in reasons[:REASONS_SAID])
    return spec.check(
        reasons[0].verdict,
        reasons[0].area,
        reasons[0].p_value,
        names=found,
        smallest=smallest,
        reasons=said + (f"; and so on for {plural(more, 'column')} more" if more > 0 else ""),
        happening=happening,
        leave_out=advice_to_leave_out(found, happening),
    )


def option_for(option: str, names: Sequence[str]) -> str:
    """``--after time --after 'day of death'``, to be pasted into a shell."""
    said = [
        # A name that begins with a dash would be read as another option.
        pasted(f"{option}={name}") if name.startswith("-") else f"{option} {pasted(name)}"
        for name in names
    ]
    return " ".join(said)


def advice_to_leave_out(names: Sequence[str], happening: str = "the diagnosis") -> str:
    """What to do about columns that may come after what is ``happening``, or be it."""
    it, was, are = ("it", "it was", "it is") if len(names) == 1 else ("them", "they were", "they are")
    return (
        f"ask when {was} measured. If after {happening}, fit again with {option_for('--after', names)}; if "
        f"{are} {happening} in another form, with {option_for('--drop', names)} (in Python: leave {it} "
        "out of X). Then check again: other findings may go with it."
    )


def pairs(area: float) -> str:
    """Such as "97 of 100 pairs"; nothing is rounded up to all of them."""
    if area == 1.0:
        return "all pairs"
    if area >= 0.99:
        return f"{int(1000 * area)} of 1,000 pairs"
    return f"{int(100 * area + 1e-9)} of 100 pairs"


def check_leakage_of_times(checked: Checked) -> Check:
    """For all columns of the cohort, also those that the model left out."""
    assert checked.known is not None
    layout, happening = _layout(checked), checked.words.happening
    names = [str(name) for name in checked.named.names]
    event = checked.known[:, 1].astype(np.intp)
    found = np.full(len(names), 0.5)
    reasons: list[Reason] = []
    if np.bincount(event, minlength=2).min() >= ROWS_PER_CLASS:
        found = areas_of(checked, event, layout)
        reasons += by_labels(checked, event, layout, found, happening)
    rows = _some(event)
    ranked = ranking(checked, layout, rows)
    reasons += _ranking(names, ranked, layout, int(event[rows].sum()))
    reasons += _following(names, checked, layout, rows)
    reasons += _of_model_of_times(names, checked, rows)
    smallest = smallest_concordance(int(event[rows].sum()), len(names), LIMITS["number"].p_doubtful)
    if reasons:
        return given_away(OF_TIMES, reasons, names, smallest, happening)
    if smallest > LIMITS["number"].broken:
        return OF_TIMES.check("cannot tell", smallest=smallest, n_events=int(event.sum()))
    best, told = float(ranked.max(initial=0.5)), float(found.max(initial=0.5))
    return OF_TIMES.check(
        "fine",
        max(told, best),
        smallest=smallest,
        happening=happening,
        ranked=pairs(best),
        told=pairs(told),
    )


def _some(event: np.ndarray) -> Index:
    """Rows spread evenly over patients with the event and without."""
    kinds = [np.flatnonzero(event == label) for label in (0, 1)]
    half = TIMES_AT_MOST // 2
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


def _chance_of_ranking(share: float, n_events: int, n_variables: int) -> float:
    return corrected(float(2.0 * ndtr(-abs(share - 0.5) / concordance_error(n_events))), n_variables)


def _ranking(names: Sequence[str], ranked: F64, layout: Layout, n_events: int) -> list[Reason]:
    """Variables that alone rank nearly all patients, and those named like an end that rank many."""
    reasons = []
    ends = set(named_like_an_end(names, layout))
    for variable, share in enumerate(ranked.tolist()):
        p_value = _chance_of_ranking(share, n_events, len(names))
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


def _of_model_of_times(names: Sequence[str], checked: Checked, rows: Index) -> list[Reason]:
    assert checked.known is not None
    known = checked.known[rows]
    share = concordance(checked.stated[rows], *known.T)
    if not share >= MODEL_DECIDES:  # NaN where no two can be compared
        return []
    p_value = _chance_of_ranking(share, int(known[:, 1].sum()), len(names))
    telling = f"the model ranks who has the event first in {pairs(share)}"
    return dominating(checked, names, share, p_value, telling)


def check_leakage_of_numbers(checked: Checked) -> Check:
    """For all columns of the cohort, also those that the model left out."""
    assert checked.known is not None
    layout, happening = _layout(checked), checked.words.happening
    names = [str(name) for name in checked.named.names]
    n = checked.known.size
    rows = np.linspace(0, n - 1, min(n, ROWS_AT_MOST)).astype(np.intp)
    y, X = checked.known[rows], checked.X[rows]
    missing = None if checked.missing is None else checked.missing[rows]
    found = correlations(X, missing, y, layout)
    reasons = [
        *_copies(names, found, missing, layout, n),
        *_ends_of_numbers(names, found, layout, n),
        *_absent_of_numbers(names, missing, y, layout),
        *_of_model_of_numbers(names, checked),
    ]
    sure = norm.isf(LIMITS["correlation"].p_doubtful / (2.0 * max(len(names), 1))) + norm.isf(1.0 - POWER)
    smallest = float(min(sure / np.sqrt(max(n - 2, 1)), 1.0))
    if reasons:
        return given_away(OF_NUMBERS, reasons, names, smallest, happening)
    if n < FEWEST:
        return OF_NUMBERS.check("cannot tell", smallest=smallest, n=n, happening=happening)
    return OF_NUMBERS.check("fine", float(found.max(initial=0.0)), smallest=smallest, happening=happening)


def correlations(X: F64, missing: np.ndarray | None, y: F64, layout: Layout) -> F64:
    """(p,) size of the correlation of each variable alone with y: of values, or of ranks if that is larger.

    Of levels without an order, that of their means. Zero where too few have a value.
    """
    first = layout.first_columns
    values, absent = X[:, first], None if missing is None else missing[:, first]
    for variable in np.flatnonzero(np.bincount(layout.variable) > 1).tolist():
        there = slice(None) if absent is None else ~absent[:, variable]
        dummies, of_y = X[there][:, layout.columns_of(variable)], y[there]
        levels, of_level = np.unique(dummies.round(), axis=0, return_inverse=True)
        of_level = of_level.ravel()
        mean = np.bincount(of_level, of_y, len(levels)) / np.bincount(of_level, minlength=len(levels))
        values[there, variable] = mean[of_level]
    of_values = correlations_of(values.T, y, None if absent is None else ~absent.T)
    count = len(y) if absent is None else (~absent).sum(axis=0)
    return np.where(count >= FEWEST, np.maximum(of_values, rank_correlations(values, absent, y)), 0.0)


def _chance_of_correlation(correlation: float, n: int, n_variables: int) -> float:
    return corrected(float(2.0 * ndtr(-correlation * np.sqrt(max(n - 2, 1)))), n_variables)


def _copies(
    names: Sequence[str], found: F64, missing: np.ndarray | None, layout: Layout, n: int
) -> list[Reason]:
    reasons = []
    for variable, size in enumerate(found.tolist()):
        column = layout.first_columns[variable]
        share = 1.0 if missing is None else float((~missing[:, column]).mean())
        p_value = _chance_of_correlation(size, int(n * share), len(names))
        verdict = LIMITS["correlation"].grade(size, p_value)
        if verdict is not None:
            sentence = (
                f"{quoted(names[variable], 40)} alone correlates with the outcome by "
                f"{np.floor(1000.0 * size) / 1000.0:.3g}, as a copy of it does, another unit of it, or what "
                "it is reckoned from"
            )
            reasons.append(Reason(variable, verdict, size, p_value, sentence))
    return reasons


def _ends_of_numbers(names: Sequence[str], found: F64, layout: Layout, n: int) -> list[Reason]:
    reasons = []
    for variable in named_like_an_end(names, layout):
        size = float(found[variable])
        p_value = _chance_of_correlation(size, n, len(names))
        sentence = (
            f"{quoted(names[variable], 40)} is named like something that is known only in the end, and "
            f"correlates with the outcome by {size:.2f}"
        )
        verdict = LIMITS["name of an end, correlation"].grade(size, p_value)
        if verdict is not None:
            reasons.append(Reason(variable, verdict, size, p_value, sentence))
    return reasons


def _absent_of_numbers(
    names: Sequence[str], missing: np.ndarray | None, y: F64, layout: Layout
) -> list[Reason]:
    """Columns of which it tells the number that they are missing, or that they are there."""
    if missing is None:
        return []
    reasons, ranks = [], ranks_of(y)
    for variable in range(len(names)):
        gone = missing[:, layout.first_columns[variable]].astype(np.intp)
        n_gone, n_there = int(gone.sum()), int(gone.size - gone.sum())
        if min(n_gone, n_there) < FEWEST:
            continue
        area = rank_auc(ranks, gone)
        error = np.sqrt((gone.size + 1) / (12.0 * n_gone * n_there))
        p_value = corrected(float(2.0 * ndtr(-abs(area - 0.5) / error)), len(names))
        size = max(area, 1.0 - area)
        sentence = (
            f"{quoted(names[variable], 40)} is missing where the outcome is "
            f"{'high' if area > 0.5 else 'low'} (in {size:.0%} of pairs): whether it was measured tells the "
            "outcome"
        )
        verdict = LIMITS["absence, pairs"].grade(size, p_value)
        if verdict is not None:
            reasons.append(Reason(variable, verdict, size, p_value, sentence))
    return reasons


def _of_model_of_numbers(names: Sequence[str], checked: Checked) -> list[Reason]:
    assert checked.known is not None
    size = float(correlations_of(checked.stated[None], checked.known)[0])
    p_value = _chance_of_correlation(size, checked.known.size, len(names))
    telling = f"what the model expects correlates with the outcome by {size:.2f}"
    return (
        dominating(checked, names, size, p_value, telling) if size >= LIMITS["correlation"].doubtful else []
    )
