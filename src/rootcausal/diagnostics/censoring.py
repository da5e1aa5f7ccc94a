"""Does the end of follow-up depend on the patients' columns?

Hazards are right as long as who leaves, among those who are alike in the model's columns, is not worse off
than who stays. That itself nobody can see. But if patients leave sooner, or later, by something that also
moves the hazard of the event, then why they leave has to do with it, and so may what was not measured. A
column that the event does not depend on can do no harm; nor can the day of entry, where all are followed
until one date, as long as it is among the columns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import norm

from ..asking.words import tokens, words
from ..core.table import F64
from ..outcomes.words import fold
from ..wording import listed, plural, quoted
from .diagnosis import Check, Scale, in_words
from .evidence import Evidence
from .many_tests import corrected
from .plain_fit import PlainHazard
from .visible import smallest_visible

QUESTION = "Does the end of follow-up have nothing to do with the patients' columns?"
# Log-hazard of leaving for one standard deviation. What is behind it, no table shows: it is a doubt at most.
SCALE = Scale(0.3, np.inf, p_doubtful=0.01)
# That must be visible before silence means anything.
HARD = 0.7
# Where fewer leave before the event, why they leave cannot matter much.
FEW_LEAVE = 0.1
COLUMNS_NAMED = 3
# Of entry into a study: who came late is followed for a shorter time, whatever becomes of them.
_ENTRY = words(
    "year yr date calendar era period wave entry entered enrolment enrollment enrolled accrual inclusion "
    "included recruitment recruited randomised randomized registration"
)
_BIRTH = words("birth born dob age")
FIRST_YEAR, LAST_YEAR = 1900.0, 2100.0


def check_follow_up(evidence: Evidence, in_model: np.ndarray, raw: F64) -> Check:
    """Of all columns, one at a time.

    Parameters
    ----------
    evidence : with times and events.
    in_model : (k,) which columns of the order add something to the hazard.
    raw : (n, k + m) the columns, then those outside the model, as they were measured.
    """
    time, event = evidence.known.T
    n_left, n = int((event == 0).sum()), event.size
    n_early = int(((event == 0) & (time < time.max())).sum())
    if n_early < FEW_LEAVE * n:
        return _hardly_anybody_left(n_early, n)
    columns = np.column_stack([evidence.values, evidence.outside])
    names = (*evidence.names, *evidence.outside_names)
    # Events come before ends of follow-up at the same time.
    fit = PlainHazard.of(columns[:, :0], np.where(event > 0, np.nextafter(time, 0.0), time), 1.0 - event)
    effect, error = _effects(fit, columns)
    p_values = np.array([corrected(p, len(names)) for p in (2.0 * norm.sf(np.abs(effect) / error)).tolist()])
    counts = np.array(
        [
            SCALE.judge(p, size) != "fine"
            for p, size in zip(p_values.tolist(), np.abs(effect).tolist(), strict=True)
        ],
        dtype=bool,
    )
    entry = np.array([says_entry(name, values) for name, values in zip(names, raw.T, strict=True)], bool)
    acts = np.append(in_model, np.zeros(evidence.outside.shape[1], dtype=bool))
    strongest = np.argsort(-np.abs(effect), kind="stable")
    doubtful = [place for place in strongest.tolist() if (counts & acts & ~entry)[place]]
    harmless = [place for place in strongest.tolist() if counts[place] and place not in doubtful]
    needed = smallest_visible(1, 1, len(names), SCALE.p_doubtful)
    smallest = needed * float(np.median(error)) if len(names) else 0.0
    beside = _harmless([names[place] for place in harmless])
    if doubtful:
        return _depends(doubtful, names, effect, p_values, n_left, n, beside, smallest)
    unseen = smallest > HARD
    largest = int(p_values.argmin()) if len(names) else None
    return Check(
        "follow_up",
        QUESTION,
        "cannot tell" if unseen else "fine",
        float(np.abs(effect).max(initial=0.0)),
        None if largest is None else float(p_values[largest]),
        f"Follow-up of {n_left:,} of {n:,} patients ended without the event, and by no column that the "
        f"hazard depends on clearly sooner or later{beside}."
        + (f" Seen would be a hazard of leaving that is {fold(smallest)}-fold." if unseen else ""),
        "ask why patients left; compare who left early with who stayed." if unseen else "",
        (),
        f"Whether sicker patients left sooner cannot be told: of {plural(n_left, 'patient')} who left, only "
        f"a hazard that is {fold(smallest)}-fold for a standard deviation would be seen."
        if unseen
        else "",
        "risk" if unseen else "",
        smallest,
    )


def _effects(fit: PlainHazard, columns: F64) -> tuple[F64, F64]:
    """Log-hazard that a standard deviation of each column adds by itself (one Newton step), and its error."""
    score = columns.T @ fit.residual
    information = np.array(
        [fit.information(columns[:, [c]], columns[:, [c]])[0, 0] for c in range(columns.shape[1])]
    )
    information = np.maximum(information, 1e-12)
    return score / information, 1.0 / np.sqrt(information)


def says_entry(name: str, values: F64) -> bool:
    """Whether a column is, by its name or as a calendar year, when a patient came in."""
    parts = set(tokens(name))
    if parts & _BIRTH:
        return False
    years = values.size > 0 and values.min() >= FIRST_YEAR and values.max() <= LAST_YEAR
    return bool(parts & _ENTRY) or bool(years)


def _depends(
    found: Sequence[int],
    names: Sequence[str],
    effect: F64,
    p_values: F64,
    n_left: int,
    n: int,
    beside: str,
    smallest: float,
) -> Check:
    worst = found[0]
    size = float(effect[worst])
    named = tuple(dict.fromkeys(names[place] for place in found))
    shown = listed([quoted(name, 40) for name in named], COLUMNS_NAMED)
    return Check(
        "follow_up",
        QUESTION,
        "doubtful",
        abs(size),
        float(p_values[worst]),
        f"Follow-up of {n_left:,} of {n:,} patients ended without the event, and with one standard deviation "
        f"more of {quoted(names[worst], 40)} they left {fold(abs(size))} times as "
        f"{'soon' if size > 0 else 'late'} ({in_words(float(p_values[worst]))} after correction for "
        f"{plural(len(names), 'column')}); the hazard of the event depends on it, too{beside}.",
        "ask why they left. If all were followed until one date, take the day or year of entry in as a "
        "column. If patients left because they did badly or well (a transplant, another treatment), count "
        "that as an event too, or read hazards as those of patients to whom it does not happen.",
        named,
        f"Hazards and risks are right only if patients who left were no worse off than others like them; how "
        f"long they were followed depends on {shown}.",
        "risk",
        smallest,
    )


def _harmless(names: Sequence[str]) -> str:
    if not names:
        return ""
    shown = listed([quoted(name, 40) for name in dict.fromkeys(names)], COLUMNS_NAMED)
    return (
        f". It also goes with {shown}, which does no harm: the hazard does not depend on it, or it says when "
        "patients came in, and is a column"
    )


def _hardly_anybody_left(n_early: int, n: int) -> Check:
    """Who was followed for as long as anybody did not leave: the study ended."""
    return Check(
        "follow_up",
        QUESTION,
        "fine",
        0.0,
        None,
        f"{n_early:,} of {n:,} patients left without the event before the end of all follow-up: too few to "
        "matter.",
        "",
    )
