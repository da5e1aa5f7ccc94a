"""Does the outcome follow each shock along a straight line?

Curves of the ranks of one column at a time are tried beside all errors, in a plain regression of the outcome.
Columns that the model left out are asked too: a parabola need not go with the outcome along any line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from ..core.table import F64
from ..wording import listed, plural, quoted
from .checked import Checked
from .diagnosis import Check, Scale, Verdict, in_words
from .evidence import Evidence
from .log_option import how_to_log
from .many_tests import corrected
from .plain_fit import PlainFit
from .rank_scores import rank_scores
from .score_tests import in_groups, joint_tests
from .visible import smallest_visible

# √(χ² / n) of curves, n being the patients who tell something of the outcome.
SCALE = Scale(0.2, 0.5, p_doubtful=1e-3, p_broken=1e-9)
# Scores of ranks that are tried: 2 to 4 bend, and the first, straight in the ranks, levels off in the tails.
BENDING = 4
# That must be visible before silence means anything.
HARD = 0.4
COLUMNS_NAMED = 3
# Where a column is low, in its middle, and high: in which parts of the patients, and in words.
PLACES = (
    (0.0, 0.1, "in the lowest tenth"),
    (0.4, 0.6, "in the middle"),
    (0.9, 1.0, "in the highest tenth"),
)


@dataclass(frozen=True)
class Bends:
    """How much curves of each column add; all (m,).

    Attributes
    ----------
    p_value : of a straight line.
    size : √(χ² / n).
    freedom : curves that could be told from a line.
    """

    p_value: F64
    size: F64
    freedom: F64


def bends(fit: PlainFit, columns: F64, measured: np.ndarray, n_telling: int) -> Bends:
    """Of columns (n, m), the errors of the fit or others beside them, where they were ``measured`` (n, m).

    What was drawn at random knows the outcome, as the draw has it and not as life has it.
    """
    m = columns.shape[1]
    statistic, freedom = np.zeros(m), np.zeros(m)
    scores = rank_scores(columns, BENDING)

    def work(some: slice) -> None:
        extra = np.concatenate([columns.T[some, None], scores[some]], axis=1)
        extra *= measured.T[some, None]
        tested = fit.beside(extra)
        alone, of_line = joint_tests(*(of[:, :1] if of.ndim == 2 else of[:, :1, :1] for of in tested))
        curved, of_both = joint_tests(*tested)
        statistic[some], freedom[some] = np.maximum(curved - alone, 0.0), of_both - of_line

    in_groups(work, m, len(columns))
    p_value = np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), statistic), 1.0)
    return Bends(p_value, np.sqrt(statistic / max(n_telling, 1)), freedom)


def asking(followed: str) -> str:
    """The question, of what is to follow shocks: ``the log-hazard``."""
    return f"Does {followed} follow each shock along a straight line?"


def check_straight(evidence: Evidence, fit: PlainFit, checked: Checked, n_telling: int) -> Check:
    """``n_telling`` are patients who tell something of the outcome: all, or those with the event."""
    followed = f"the {checked.words.scale}" if checked.words.is_chance else checked.words.happening
    question = asking(followed)
    inside = np.flatnonzero(~evidence.with_levels)
    columns = np.vstack([evidence.errors.T[inside], evidence.outside.T]).T
    names = [*(evidence.names[place] for place in inside), *evidence.outside_names]
    if fit.separated or not names:
        return _nothing_to_see(question, fit.separated)
    there = np.ones(evidence.outside.shape, dtype=bool)
    if evidence.outside_measured is not None:
        there = evidence.outside_measured
    measured = np.column_stack([evidence.rest_on_measurements[:, inside], there])
    found = bends(fit, columns, measured, n_telling)
    p_values = [corrected(p, len(names)) for p in found.p_value.tolist()]
    verdicts = [SCALE.judge(p, size) for p, size in zip(p_values, found.size.tolist(), strict=True)]
    bent = [place for place in np.argsort(-found.size).tolist() if verdicts[place] != "fine"]
    freedom = int(max(found.freedom.max(), 1))
    smallest = smallest_visible(n_telling, freedom, len(names), SCALE.p_doubtful)
    if not bent:
        return _silent(question, names, found, p_values, smallest, n_telling)
    worst = bent[0]
    named = tuple(dict.fromkeys(names[place] for place in bent))
    heights = _heights(columns[:, worst], fit.residual)
    may_log = [*evidence.may_be_logged[inside], *evidence.outside_may_be_logged][worst]
    left_out = worst >= inside.size
    return Check(
        "straight",
        question,
        verdicts[worst],
        float(found.size[worst]),
        p_values[worst],
        f"{followed[0].upper()}{followed[1:]} follows {quoted(names[worst], 40)} in a curve: against a "
        f"straight line it lies {heights} ({in_words(p_values[worst])} after correction for "
        f"{plural(len(names), 'column')})."
        + (" The model left it out, since along a line it adds little." if left_out else ""),
        _what_to_do(names[worst], bool(may_log), checked),
        named,
        _limit(verdicts[worst], named, left_out),
        "variables",
        smallest,
    )


def _heights(values: F64, residual: F64) -> str:
    """Where the outcome lies above and below the line."""
    order = np.argsort(values, kind="stable")
    said = []
    for start, end, where in PLACES:
        first = int(start * order.size)
        rows = order[first : max(int(end * order.size), first + 1)]
        said.append(f"{'above' if residual[rows].mean() > 0 else 'below'} {where}")
    return f"{said[0]}, {said[1]} and {said[2]} of the patients"


def _what_to_do(name: str, may_log: bool, checked: Checked) -> str:
    shown = quoted(name, 40)
    trial = ""
    if may_log:
        trial = f"try {how_to_log([name], checked.logged, checked.words.estimator)}, or "
    return (
        f"look at the outcome over {shown}; {trial}add a column with its distance from the normal value, or "
        "cut it into the ranges between which the slope changes, and fit again."
    )


def _limit(verdict: Verdict, names: Sequence[str], left_out: bool) -> str:
    named = listed([quoted(name, 40) for name in names], COLUMNS_NAMED)
    if left_out and verdict == "broken":
        play = "plays" if len(names) == 1 else "play"
        return f"Do not read that {named} {play} no part: the relation is bent."
    if left_out:
        return f"{named} may play a part that the model does not have: the relation is bent."
    if verdict == "broken":
        return (
            f"Do not read the values of {named}: the relation is bent, and they are read off a straight line."
        )
    return f"Values of {named} are read off a straight line, and the relation is bent."


def _silent(
    question: str,
    names: Sequence[str],
    found: Bends,
    p_values: Sequence[float],
    smallest: float,
    n_telling: int,
) -> Check:
    unseen = smallest > HARD
    closest = int(np.argmin(p_values))
    return Check(
        "straight",
        question,
        "cannot tell" if unseen else "fine",
        float(found.size[closest]),
        p_values[closest],
        f"Of {plural(len(names), 'column')} none was seen to act along a curve rather than a line (closest: "
        f"{quoted(names[closest], 40)}; {in_words(p_values[closest])}).",
        "look at the outcome over the variables that matter." if unseen else "",
        (),
        f"A shock that acts in a bent way would not be seen: {plural(n_telling, 'patient')} "
        f"{'tells' if n_telling == 1 else 'tell'} anything of the outcome, and "
        f"{plural(len(names), 'column')} {'was' if len(names) == 1 else 'were'} asked."
        if unseen
        else "",
        "variables" if unseen else "",
        smallest,
    )


def _nothing_to_see(question: str, separated: bool) -> Check:
    reason = "the shocks tell the outcome for certain" if separated else "there is no column that is a number"
    return Check(
        "straight",
        question,
        "cannot tell" if separated else "fine",
        float("nan"),
        None,
        f"Nothing to see: {reason}.",
        "ask whether one of the columns was measured after the outcome, or is it." if separated else "",
        limit="Whether shocks act along straight lines cannot be told." if separated else "",
        touches="variables" if separated else "",
    )
