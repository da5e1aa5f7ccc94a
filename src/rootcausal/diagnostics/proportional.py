"""Do hazards stay proportional: does what a shock adds stay the same from the first event to the last?

Rao's score test of an effect that differs between the first and the second half of the events, one variable
at a time and all others held, in a plain regression of the hazard on the errors. Columns that the model left
out are asked too: an effect that turns round may add up to none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from ..core.table import F64, Index
from ..outcomes import Words
from ..wording import listed, plural, quoted
from .diagnosis import Check, Scale, Verdict, in_words
from .evidence import Evidence
from .many_tests import corrected
from .plain_fit import PlainHazard
from .score_tests import NOTHING_NEW
from .visible import smallest_visible

QUESTION = "Does what a shock does to the hazard stay the same over time?"
# Log-hazard by which one standard deviation does more, or less, in the second half of the events.
SCALE = Scale(0.5, 1.0, p_doubtful=0.01, p_broken=1e-4)
# With fewer, either half holds so few that one patient decides.
FEWEST_EVENTS = 20
# Beyond this one of the halves has next to no say, and the number says nothing more.
MOST = 20.0
VARIABLES_NAMED = 3


@dataclass(frozen=True)
class Change:
    """By how much effects differ between the halves of the events; all (m,).

    Attributes
    ----------
    p_value : of no difference.
    early, late : log-hazard that one standard deviation adds in either half, after one Newton step.
    standard_error : of their difference.
    """

    p_value: F64
    early: F64
    late: F64
    standard_error: F64

    @property
    def size(self) -> F64:
        return np.minimum(np.abs(self.late - self.early), MOST)


def first_half(fit: PlainHazard) -> int:
    """How many intervals hold the first half of the events."""
    events = np.cumsum(np.bincount(fit.interval, fit.event, fit.hazard.size))
    return int(np.searchsorted(events, 0.5 * events[-1])) + 1


def changes(fit: PlainHazard, outside: F64, split: int) -> Change:
    """Of the k errors of the fit, then of columns (n, m) outside, all of unit variance."""
    k = fit.coef.size
    columns = np.column_stack([fit.errors, outside])
    whole, early = fit.information(columns, columns), fit.information_until(split, columns, columns)
    # A regressor is half a column in the second half of the events, and minus that in the first.
    turned = 0.5 * (whole - 2.0 * early)
    score = columns.T @ fit.residual
    is_late = fit.interval >= split
    late_score = columns.T @ (fit.event * is_late - (fit.expected - fit.expected_until(split)))
    found = [
        _change(place, np.union1d(np.arange(k), place), whole, turned, score, late_score - 0.5 * score)
        for place in range(columns.shape[1])
    ]
    difference, information, shift = np.array(found).reshape(-1, 3).T
    coef = np.append(fit.coef, np.zeros(outside.shape[1])) + shift
    error = 1.0 / np.sqrt(np.maximum(information, 1e-300))
    return Change(
        np.where(information > 0.0, 2.0 * norm.sf(np.abs(difference) / error), 1.0),
        coef - 0.5 * difference,
        coef + 0.5 * difference,
        error,
    )


def _change(
    place: int, held: Index, whole: F64, turned: F64, score: F64, turned_score: F64
) -> tuple[float, float, float]:
    """Difference of the effect at a place, its information, and by how much the mean effect moves.

    The effects of the columns ``held``, that at the place among them, are estimated beside it.
    """
    inverse = np.linalg.pinv(whole[np.ix_(held, held)], hermitian=True)
    cross = turned[held, place]
    # Squares of plus and minus a half are a quarter.
    information = 0.25 * whole[place, place] - cross @ inverse @ cross
    if information <= NOTHING_NEW * whole[place, place]:
        return 0.0, 0.0, 0.0
    difference = (turned_score[place] - cross @ inverse @ score[held]) / information
    moved = inverse @ (score[held] - cross * difference)
    return float(difference), float(information), float(moved[np.flatnonzero(held == place)[0]])


def check_proportional(evidence: Evidence, fit: PlainHazard, words: Words) -> Check:
    split = first_half(fit)
    names = (*evidence.names, *evidence.outside_names)
    n_events = int(fit.event.sum())
    if fit.separated or not names or n_events < FEWEST_EVENTS or split >= fit.hazard.size:
        return _cannot_be_seen(fit.separated, names, n_events)
    found = changes(fit, evidence.outside, split)
    p_values = np.array([corrected(p, len(names)) for p in found.p_value.tolist()])
    smallest = smallest_visible(1, 1, len(names), SCALE.p_doubtful) * float(np.median(found.standard_error))
    verdicts = [SCALE.judge(*of) for of in zip(p_values.tolist(), found.size.tolist(), strict=True)]
    changing = [place for place in np.argsort(p_values, kind="stable").tolist() if verdicts[place] != "fine"]
    until = f"{fit.edges[split]:,.3g}"
    if not changing:
        return _silent(found, names, smallest, n_events)
    worst = max(changing, key=lambda place: (verdicts[place] == "broken", -p_values[place]))
    changing.sort(key=lambda place: place != worst)
    named = tuple(dict.fromkeys(names[place] for place in changing))
    early, late = float(found.early[worst]), float(found.late[worst])
    left_out = worst >= fit.coef.size
    return Check(
        "proportional_hazards",
        QUESTION,
        verdicts[worst],
        float(found.size[worst]),
        float(p_values[worst]),
        "One standard deviation of "
        f"{quoted(names[worst], 40)}{'' if left_out else ' above what is expected'} {words.adds(early)} in "
        f"the first half of the events (until time {until}) and {words.adds(late)} after "
        f"({in_words(float(p_values[worst]))} after correction for {plural(len(names), 'column')}): "
        f"{_how(early, late)}"
        + (", and the model left it out, since both add up to little." if left_out else "."),
        f"fit for a shorter time: let follow-up end at time {until} for all (events after it count as none), "
        "and read effects and risks as those of that time; for what comes after, fit again on patients "
        "followed for longer, with time counted from there.",
        named,
        _limit(verdicts[worst], named, _how(early, late, named), until, left_out),
        "variables",
        smallest,
    )


def _how(early: float, late: float, names: Sequence[str] = ()) -> str:
    """What the effect does; of several names that stand before, it is that of the first."""
    name = quoted(names[0], 40) if len(names) > 1 else ""
    if early * late < 0.0 and min(abs(early), abs(late)) > 0.1:
        return f"the effect of {name} turns round" if name else "its effect turns round"
    return f"{name or 'it'} acts more strongly {'at first' if abs(early) > abs(late) else 'later'}"


def _limit(verdict: Verdict, names: tuple[str, ...], how: str, until: str, left_out: bool) -> str:
    named = listed([quoted(name, 40) for name in names], VARIABLES_NAMED)
    if left_out:
        why = f"before time {until} and after it does something else ({how})"
        if verdict == "broken":
            return f"Do not read that {named} {'plays' if len(names) == 1 else 'play'} no part: {why}."
        return f"{quoted(names[0], 40)} may play a part that the model does not have: {why}."
    if verdict == "broken":
        return (
            f"Do not read the values and ranks of {named} as one effect for all times: before time {until} "
            f"and after it differs ({how})."
        )
    return f"Values of {named} are averages over time: {how}."


def _silent(found: Change, names: tuple[str, ...], smallest: float, n_events: int) -> Check:
    verdict = SCALE.judge(1.0, 0.0, smallest)
    largest = int(found.p_value.argmin())
    p_value = corrected(float(found.p_value[largest]), len(names))
    unseen = verdict == "cannot tell"
    return Check(
        "proportional_hazards",
        QUESTION,
        verdict,
        float(found.size[largest]),
        p_value,
        f"Of {plural(len(names), 'column')} none clearly does more, or less, to the hazard in the second "
        f"half of the {n_events:,} events (closest: {quoted(names[largest], 40)}, log-hazard of one standard "
        f"deviation {found.early[largest]:+.2f} and then {found.late[largest]:+.2f}; {in_words(p_value)}; a "
        f"difference of {smallest:.1g} would be seen).",
        "plot survival of the lower and the upper half of the variables that matter: curves must not cross."
        if unseen
        else "",
        (),
        f"An effect that fades or turns round with time would not be seen in {plural(n_events, 'event')}."
        if unseen
        else "",
        "variables" if unseen else "",
        smallest,
    )


def _cannot_be_seen(separated: bool, names: tuple[str, ...], n_events: int) -> Check:
    if not names:
        reason = "there is no column whose effect could change"
    elif separated:
        reason = "the shocks tell for certain who has the event first"
    elif n_events < FEWEST_EVENTS:
        reason = f"there are only {plural(n_events, 'event')}"
    else:
        reason = "all events come at one time"
    return Check(
        "proportional_hazards",
        QUESTION,
        "cannot tell",
        float("nan"),
        None,
        f"Not to be seen: {reason}.",
        "collect more patients with the event before you read effects as the same for all times.",
        limit="An effect that fades or turns round with time would not be seen.",
        touches="variables",
    )
