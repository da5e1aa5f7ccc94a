"""Do hazards stay proportional, and are there enough events for the variables that were kept?

Rao's score test of an effect that differs between the first and the second half of the events, one variable
at a time and all others held, in a plain regression of the hazard on the errors. Columns that the model left
out are asked too: an effect that turns round may add up to none.

Below ten events a variable, hazard ratios come out too far from one, and intervals miss the truth too often
(Concato, Peduzzi and others 1995).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from ..method.table import F64, Index
from ..outcomes import Words
from ..outcomes.words import fold
from ..wording import plural, quoted
from .diagnosis import Check
from .evidence import Evidence
from .power import corrected, smallest_visible
from .regressions import NOTHING_NEW, PlainHazard
from .specification import NEVER, CheckSpec, Scale, Text

# Log-hazard by which one standard deviation does more, or less, in the second half of the events.
SCALE = Scale(0.5, 1.0, p_doubtful=0.01, p_broken=1e-4)
# With fewer, either half holds so few that one patient decides.
FEWEST_EVENTS = 20
# Beyond this one of the halves has next to no say, and the number says nothing more.
MOST = 20.0
# Events a variable.
ENOUGH = 10.0
INTERVAL = float(norm.ppf(0.975))
# Why it is not asked of strata.
OF_STRATA = "each stratum has times of its own, whose halves are not the same"
# Beyond this nothing is known of a ratio.
WIDEST = float(np.log(1_000.0))

CLOSEST = (
    "Of {n_columns:# column} none clearly does more, or less, to the hazard in the second half of the "
    "{n_events:,} events (closest: {worst:q}, log-hazard of one standard deviation {early:+.2f} and then "
    "{late:+.2f}; {p:p}; a difference of {smallest:.1g} would be seen)."
)
PROPORTIONAL = CheckSpec(
    "proportional_hazards",
    "Are hazards proportional: does what a shock does to the hazard stay the same over time?",
    "log-hazard by which an effect differs between early and late events",
    {
        "fine": Text(CLOSEST),
        "cannot tell": Text(
            CLOSEST,
            "An effect that fades or turns round with time would not be seen in {n_events:# event}.",
            "plot survival of the lower and the upper half of the variables that matter: curves must not "
            "cross.",
        ),
        "cannot tell, not asked": Text(
            "Not to be seen: {reason}.",
            "An effect that fades or turns round with time would not be seen.",
            "collect more patients with the event before you read effects as the same for all times.",
        ),
        "doubtful": Text(
            "One standard deviation of {worst:q}{left_out:| above what is expected} {does} in the first half "
            "of the events (until time {until}) and {then} after ({p:p} after correction for "
            "{n_columns:# column}): "
            "{its}{left_out:, and the model left it out, since both add up to little|}.",
            "Values of {names:3} are averages over time: {how}.",
            "fit for a shorter time: let follow-up end at time {until} for all (events after it count as "
            "none), and read effects and risks as those of that time; for what comes after, fit again on "
            "patients followed for longer, with time counted from there.",
        ),
        "doubtful, left out": Text(
            limit="{worst:q} may play a part that the model does not have: before time {until} and after it "
            "does something else ({how})."
        ),
        "broken": Text(
            limit="Do not read the values and ranks of {names:3} as one effect for all times: before time "
            "{until} and after it differs ({how})."
        ),
        "broken, left out": Text(
            limit="Do not read that {names:3} {names:plays|play} no part: before time {until} and after it "
            "does something else ({how})."
        ),
    },
    SCALE,
    touches="variables",
)
RATIOS = (
    "{n_events:# event} and {n_kept:# variable} that {n_kept:was|were} kept: {number:.1f} events a variable, "
    "where "
    f"{ENOUGH:.0f} are enough. Hazard ratios of one standard deviation are known to within {{wide}}-fold: a "
    f"95% "
    "interval around 1.5 goes from {low:.2f} to {high:.2f}."
)
EVENTS = CheckSpec(
    "few_events",
    "Are there enough events per variable?",
    "events for each variable",
    {
        "fine": Text(RATIOS),
        "doubtful": Text(
            RATIOS,
            "Hazard ratios may be off by a factor of {wide}, and with so few events a variable the "
            "largest of them come out too large.",
            "keep at most {most:# variable} that you would name beforehand (--keep), or wait for more "
            "events; a smaller alpha keeps fewer.",
        ),
        "cannot tell": Text(
            "No variable was kept: {n_events:# event} did not show one on which the hazard depends.",
            "That no variable matters is not shown by {n_events:# event}.",
            "collect more events, or ask for a larger alpha.",
        ),
    },
    touches="variables",
    doubtful_from=f"fewer than {ENOUGH:g}",
    broken_from=NEVER,
)


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


def check_proportional(evidence: Evidence, fit: PlainHazard, words: Words, by_strata: bool = False) -> Check:
    """``by_strata`` says whether the baseline hazard is that of strata, which have clocks of their own."""
    split = first_half(fit)
    names = (*evidence.names, *evidence.outside_names)
    n_events = int(fit.event.sum())
    if by_strata or fit.separated or not names or n_events < FEWEST_EVENTS or split >= fit.hazard.size:
        reason = OF_STRATA if by_strata else _why_not(fit.separated, names, n_events)
        return PROPORTIONAL.check("cannot tell", case="not asked", reason=reason)
    found = changes(fit, evidence.outside, split)
    p_values = np.array([corrected(p, len(names)) for p in found.p_value.tolist()])
    smallest = smallest_visible(1, 1, len(names), SCALE.p_doubtful) * float(np.median(found.standard_error))
    verdicts = [SCALE.judge(*of) for of in zip(p_values.tolist(), found.size.tolist(), strict=True)]
    changing = [place for place in np.argsort(p_values, kind="stable").tolist() if verdicts[place] != "fine"]
    worst = int(found.p_value.argmin())
    if changing:
        worst = max(changing, key=lambda place: (verdicts[place] == "broken", -p_values[place]))
    changing.sort(key=lambda place: place != worst)
    named = tuple(dict.fromkeys(names[place] for place in changing))
    early, late = float(found.early[worst]), float(found.late[worst])
    left_out = worst >= fit.coef.size
    return PROPORTIONAL.check(
        verdicts[worst] if changing else SCALE.judge(1.0, 0.0, smallest),
        float(found.size[worst]),
        float(p_values[worst]),
        case="left out" if left_out else "",
        names=named,
        smallest=smallest,
        n_columns=len(names),
        n_events=n_events,
        worst=names[worst],
        early=early,
        late=late,
        does=words.adds(early),
        then=words.adds(late),
        until=f"{fit.edges[split]:,.3g}",
        its=_how(early, late),
        how=_how(early, late, named),
        left_out=left_out,
    )


def _how(early: float, late: float, names: Sequence[str] = ()) -> str:
    """What the effect does; of several names that stand before, it is that of the first."""
    name = quoted(names[0], 40) if len(names) > 1 else ""
    if early * late < 0.0 and min(abs(early), abs(late)) > 0.1:
        return f"the effect of {name} turns round" if name else "its effect turns round"
    return f"{name or 'it'} acts more strongly {'at first' if abs(early) > abs(late) else 'later'}"


def _why_not(separated: bool, names: tuple[str, ...], n_events: int) -> str:
    if not names:
        return "there is no column whose effect could change"
    if separated:
        return "the shocks tell for certain who has the event first"
    if n_events < FEWEST_EVENTS:
        return f"there are only {plural(n_events, 'event')}"
    return "all events come at one time"


def check_events(fit: PlainHazard, n_events: int, n_kept: int) -> Check:
    """``fit`` is of the errors that matter most; ``n_kept`` are the variables of the model."""
    if not n_kept:
        return EVENTS.check("cannot tell", n_events=n_events)
    each = n_events / n_kept
    # That of a variable which no other goes with; what others share with it makes it wider.
    alone = INTERVAL / np.sqrt(n_events)
    found = INTERVAL * float(np.median(fit.standard_errors)) if fit.coef.size and not fit.separated else alone
    wide = min(max(found, alone), WIDEST)
    return EVENTS.check(
        "fine" if each >= ENOUGH else "doubtful",
        each,
        n_events=n_events,
        n_kept=n_kept,
        wide=fold(wide),
        low=1.5 / np.exp(wide),
        high=1.5 * np.exp(wide),
        most=max(int(n_events // ENOUGH), 1),
    )
