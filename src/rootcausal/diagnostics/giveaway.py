"""Does one column give the outcome away? What a person would see in the table, without any model.

A variable that all by itself nearly decides the outcome is seldom a cause of it: mostly the outcome is
defined by it, it is the outcome in another form, or it was measured after.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..asking.ends import ends_beside, says_end
from ..core.layout import Layout
from ..core.table import F64, Index
from ..screening.auc import aucs, chance_of, measured_of_both, rank_auc, rows_of_both, smallest_auc
from ..screening.leakage import LIMITS, Leak, by_absence, by_levels, by_values
from ..wording import listed, plural, quoted
from .checked import Checked
from .diagnosis import VERDICTS, Check, Verdict
from .leaving_out import advice_to_leave_out
from .many_tests import corrected
from .ranks import ranks_of
from .visible import POWER

HAPPENING = "the diagnosis"
# Of a column with levels the direction cannot be told; from this area on that is worth a word.
CLOSE_LEVELS = 0.75
# One variable's part of the variance of the log-odds, beside a model that knows nearly every diagnosis.
DOMINATES, MODEL_DECIDES = 0.90, 0.95
REASONS_SAID = 3


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


def question(happening: str) -> str:
    return f"Does no column give {happening} away?"


def check_giveaway(checked: Checked, y: np.ndarray) -> Check:
    """For all columns of the cohort, also those that the model left out."""
    model = checked.model
    layout = Layout.numbers(checked.X.shape[1]) if model.layout is None else model.layout
    names = [str(name) for name in checked.named.names]
    found = areas_of(checked, y, layout)
    n_cases = int(y.sum())
    smallest = smallest_auc(n_cases, y.size - n_cases, len(names), LIMITS["number"].p_doubtful, POWER)
    reasons = [*by_labels(checked, y, layout, found), *_of_model(checked, y, names)]
    largest = float(found.max(initial=0.5))
    if reasons:
        return given_away(reasons, names, smallest, HAPPENING)
    if smallest > LIMITS["number"].broken:
        return _too_few(y, smallest)
    close = [
        variable
        for variable in np.flatnonzero(found >= CLOSE_LEVELS).tolist()
        if layout.discrete[layout.columns_of(variable)[0]]
    ]
    if close:
        return _of_levels([names[variable] for variable in close], largest, smallest)
    return Check(
        "gives_away",
        question(HAPPENING),
        "fine",
        largest,
        None,
        "The column that alone tells patients with and without the diagnosis apart best does so in "
        f"{pairs(largest)}.",
        "",
        smallest=smallest,
    )


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
            f"{cases:,} of {rows:,} patients with one and the same level of "
            f"{quoted(names[leak.column], 40)} have {happening}"
        )
        reasons.append(Reason(leak.column, leak.grade, leak.size, leak.p, sentence))
    return reasons


def _of_levels(found: Sequence[str], largest: float, smallest: float) -> Check:
    named, one = listed([quoted(name, 40) for name in found]), len(found) == 1
    return Check(
        "gives_away",
        question(HAPPENING),
        "cannot tell",
        largest,
        None,
        f"{named} {'goes' if one else 'go'} closely with the diagnosis (in {pairs(largest)} at best). Of a "
        "column with levels nothing in the table shows whether it comes before the diagnosis or after.",
        f"ask when {'it was' if one else 'they were'} measured; what came after the diagnosis is left out "
        "with --after COLUMN.",
        tuple(found),
        f"{named} may come after the diagnosis: only who knows when {'it was' if one else 'they were'} "
        "measured can tell.",
        "variables",
        smallest,
    )


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


def given_away(all_reasons: Sequence[Reason], names: Sequence[str], smallest: float, happening: str) -> Check:
    """The check where at least one variable gives the outcome away, each for the worst of its reasons."""
    of_each: dict[int, Reason] = {}
    for reason in sorted(all_reasons, key=lambda reason: reason.rank):
        of_each.setdefault(reason.variable, reason)
    reasons = [*of_each.values()]
    found = [names[reason.variable] for reason in reasons]
    worst = reasons[0]
    more = len(reasons) - REASONS_SAID
    said = [reason.sentence for reason in reasons[:REASONS_SAID]]
    return Check(
        "gives_away",
        question(happening),
        worst.verdict,
        worst.area,
        worst.p_value,
        "; ".join(said) + (f"; and so on for {plural(more, 'column')} more" if more > 0 else "") + ".",
        advice_to_leave_out(found, happening),
        tuple(found),
        _limit(worst.verdict, found, happening),
        "variables",
        smallest,
    )


def _limit(verdict: Verdict, found: Sequence[str], happening: str) -> str:
    named, one = listed([quoted(name, 40) for name in found]), len(found) == 1
    beside = "and of the other variables only what is left beside is seen"
    if verdict == "broken":
        it = f"it gives {happening} away" if one else f"they give {happening} away"
        return f"Do not read {named} as {'a root cause' if one else 'root causes'}: {it}, {beside}."
    return f"{named} may give {happening} away rather than cause it, {beside}."


def _too_few(y: np.ndarray, smallest: float) -> Check:
    n_cases = int(y.sum())
    return Check(
        "gives_away",
        question(HAPPENING),
        "cannot tell",
        float("nan"),
        None,
        f"With {plural(n_cases, 'patient')} with the diagnosis and {y.size - n_cases} without, a column may "
        "tell them apart by chance alone.",
        "ask of each column when it was measured; leave out what is known only after the diagnosis with "
        "--after (in Python: leave the column out of X).",
        (),
        "Any column may be one that was measured after the diagnosis, or is part of its definition.",
        "variables",
        smallest,
    )


def pairs(area: float) -> str:
    """Such as "97 of 100 pairs"; nothing is rounded up to all of them."""
    if area == 1.0:
        return "all pairs"
    if area >= 0.99:
        return f"{int(1000 * area)} of 1,000 pairs"
    return f"{int(100 * area + 1e-9)} of 100 pairs"
