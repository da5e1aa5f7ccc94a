"""Are effects proportional: hazards over time, and odds over stages; are there enough events?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from ..method.table import F64, Index
from ..outcomes import Words
from ..outcomes.words import fold
from ..wording import plural, quoted
from .diagnosis import NEVER, Check, CheckSpec, Scale, Text
from .evidence import Evidence
from .power import POWER, corrected, smallest_visible
from .regressions import NOTHING_NEW, PlainHazard, PlainLogit

# Do hazards stay proportional, and are there enough events for the variables that were kept?
#
# Rao's score test of an effect that differs between the first and the second half of the events, one
# variable at a time and all others held, in a plain regression of the hazard on the errors. Columns that
# the model left out are asked too: an effect that turns round may add up to none.
#
# Below ten events a variable, hazard ratios come out too far from one, and intervals miss the truth too
# often (Concato, Peduzzi and others 1995).

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

CLOSEST_HAZARDS = (
    "Of {n_columns:# column} none clearly does more, or less, to the hazard in the second half of the "
    "{n_events:,} events (closest: {worst:q}, log-hazard of one standard deviation {early:+.2f} and then "
    "{late:+.2f}; {p:p}; a difference of {smallest:.1g} would be seen)."
)
PROPORTIONAL = CheckSpec(
    "proportional_hazards",
    "Are hazards proportional: does what a shock does to the hazard stay the same over time?",
    "log-hazard by which an effect differs between early and late events",
    {
        "fine": Text(CLOSEST_HAZARDS),
        "cannot tell": Text(
            CLOSEST_HAZARDS,
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


# Are odds proportional: does a shock do the same to the odds of every higher stage?
#
# Two plain logistic regressions on the errors, one of the lowest cut between two stages and one of the
# highest (of those with enough patients on either side), and a test of Wald's of each effect's difference
# between them. The two share patients, so the variance of a difference is that of the sum of what each
# patient moves (influence functions).

# Log-odds by which one standard deviation does more, or less, at the highest cut than at the lowest.
# Patients on either side of a cut, at least.
FEWEST_A_SIDE = 10

CLOSEST_ODDS = (
    "Of {n_columns:# column} none clearly does more, or less, to the odds of {high:q} than to those "
    "of {low:q} or "
    "higher (closest: {worst:q}, log-odds of one standard deviation {at_low:+.2f} and "
    "{at_high:+.2f}; {p:p}; a "
    "difference of {smallest:.1g} would be seen)."
)
SPEC = CheckSpec(
    "proportional_odds",
    "Are odds proportional: does what a shock does to the odds stay the same from stage to stage?",
    "log-odds by which an effect differs between the highest and the lowest cut",
    {
        "fine": Text(CLOSEST_ODDS),
        "cannot tell": Text(
            CLOSEST_ODDS,
            "An effect that differs from stage to stage would not be seen in these patients.",
            "compare the variables that matter between neighbouring stages before you read one "
            "effect for all.",
        ),
        "cannot tell, not asked": Text(
            "Not to be seen: {reason}.",
            "An effect that differs from stage to stage would not be seen.",
            "collect more patients of the rarer stages before you read one effect for all of them.",
        ),
        "doubtful": Text(
            "One standard deviation of {worst:q} adds {at_low:+.2f} to the log-odds of {low:q} or "
            "higher, and "
            "{at_high:+.2f} to those of {high:q} ({p:p} after correction for {n_columns:# column}).",
            "Values of {names:3} are averages over stages: what leads to {low:q} need not lead to {high:q}.",
            "fit a diagnosis of two labels at the cut that you ask about, {low:q} or higher, or "
            "{high:q}, in place "
            "of all stages.",
        ),
        "broken": Text(
            limit="Do not read the values and ranks of {names:3} as one effect for all stages: from {low:q} "
            "to {high:q} it differs."
        ),
    },
    SCALE,
    touches="variables",
)


def cuts_asked(stage: F64) -> tuple[int, int] | None:
    """The lowest and the highest stage of which enough patients are below, and at or above; None "
    "without two.
    """
    cuts = np.unique(stage)[1:].astype(int).tolist()
    sides = [min(int((stage >= cut).sum()), int((stage < cut).sum())) for cut in cuts]
    asked = [cut for cut, side in zip(cuts, sides, strict=True) if side >= FEWEST_A_SIDE]
    return (asked[0], asked[-1]) if len(asked) > 1 else None


def differences(errors: F64, stage: F64, cuts: tuple[int, int]) -> tuple[F64, F64, F64] | None:
    """(k,) each: effects at the lower cut and at the higher, and standard errors of their differences.

    None where a cut is told for certain.
    """
    fits = [PlainLogit.of(errors, (stage >= cut).astype(np.intp)) for cut in cuts]
    if any(fit.separated for fit in fits):
        return None
    low, high = (fit.centred @ fit.covariance * fit.residual[:, None] for fit in fits)
    return fits[0].coef, fits[1].coef, np.sqrt(((high - low) ** 2).sum(axis=0))


def check_proportional_odds(evidence: Evidence, stages: Sequence[str]) -> Check:
    """``stages`` are what they are called, from low to high."""
    stage = evidence.known[:, 0]
    cuts = cuts_asked(stage)
    found = None if cuts is None or not evidence.names else differences(evidence.errors, stage, cuts)
    if cuts is None or found is None:
        reason = f"fewer than two cuts between stages have {FEWEST_A_SIDE} patients on either side"
        if not evidence.names:
            reason = "the model kept no variable"
        elif cuts is not None:
            reason = "the shocks tell for certain who is beyond a cut"
        return SPEC.check("cannot tell", case="not asked", reason=reason)
    low, high, error = found
    n_columns = low.size
    size = np.abs(high - low)
    p_values = [corrected(float(p), n_columns) for p in 2.0 * norm.sf(size / np.maximum(error, 1e-300))]
    smallest = float(np.median(error)) * float(
        norm.isf(SCALE.p_doubtful / (2 * n_columns)) + norm.isf(1.0 - POWER)
    )
    verdicts = [SCALE.judge(p, float(by), smallest) for p, by in zip(p_values, size, strict=True)]
    differing = [k for k in np.argsort(-size).tolist() if verdicts[k] in ("doubtful", "broken")]
    worst = differing[0] if differing else int(np.argmin(p_values))
    return SPEC.check(
        verdicts[worst],
        float(size[worst]),
        p_values[worst],
        names=tuple(dict.fromkeys(evidence.names[k] for k in differing)),
        smallest=smallest,
        n_columns=n_columns,
        worst=evidence.names[worst],
        at_low=low[worst],
        at_high=high[worst],
        low=stages[cuts[0]],
        high=stages[cuts[1]] + ("" if cuts[1] == len(stages) - 1 else " or higher"),
    )
