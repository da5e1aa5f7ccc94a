"""Does a column look like an effect of D rather than a cause? D must have no effects among the columns.

Two sources: which of two stories makes the patients more likely (:mod:`.which_first`), and whether the
log-odds of D are straight in the column's error, as they are for a cause. A time to the outcome that
censoring cut short bends them, though not as a shift by D does; and so does a cause that acts in a bent way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import chdtrc
from scipy.stats import norm

from ..core.table import F64
from ..wording import listed, plural, quoted
from .diagnosis import Check, Scale, Verdict
from .evidence import Evidence, PlainLogit, fit_plain, joint_score_tests
from .leaving_out import advice_to_leave_out
from .many_tests import corrected
from .rank_scores import rank_scores
from .visible import POWER
from .which_first import ASKED_AT_MOST, CLEARLY, Told, stories

# More rows would not change which story is the likelier, and cost time.
ROWS_AT_MOST, ROWS_OF_A_CLASS = 5_000, 500
QUESTION = "Is no column an effect of the diagnosis?"
# Sizes are nats a patient; an error of Student's t5, shifted by its standard deviation, comes to 0.016.
EFFECT = Scale(0.002, 0.01, p_doubtful=0.02, p_broken=1e-5)
# Sizes are √(χ² / n). A bend alone is no proof.
BENT = Scale(0.2, np.inf, p_doubtful=1e-3)
# Scores of ranks that are tried: 2 to 4 bend, and the first, straight in the ranks, levels off in the tails.
BENDING = 4
# Standard deviations of a shift by D: from the first on it is named, from the second on its direction has
# to be told, and the third must be seen.
WORTH_A_WORD, HARD_SHIFT, MUST_SEE = 0.4, 0.5, 1.0
# So many times likelier must a cause be for the question to be settled.
SETTLED = 50.0
MOST_TIMES = 10_000


def bend_tests(errors: F64, y: np.ndarray, fit: PlainLogit) -> tuple[F64, F64]:
    """P-values (k,) of straight log-odds in each error, and how much bends add: √(χ² / n), (k,)."""
    statistic, freedom = joint_score_tests(fit, y, rank_scores(errors, BENDING))
    p_values = np.where(freedom > 0, chdtrc(np.maximum(freedom, 1), statistic), 1.0)
    return p_values, np.sqrt(statistic / len(y))


def check_terminal(
    evidence: Evidence, fit: PlainLogit, values: F64, measured: np.ndarray, bends_itself: bool = False
) -> Check:
    """Whether a column is shifted by D.

    ``values`` (n, k) are those of the columns of ``evidence``; ``measured`` (n, k) says which errors are made
    of measurements alone: what was drawn knows D. Of a model that ``bends_itself`` no bend is a finding.
    """
    if _separates(fit, evidence.known):
        return _cannot_tell(
            (),
            "The columns together tell every diagnosis apart, and then nothing shows which comes first.",
            _smallest_shift(evidence.known),
        )
    n_rows = int(max(ROWS_AT_MOST, ROWS_OF_A_CLASS / min(evidence.known.mean(), 1.0 - evidence.known.mean())))
    if evidence.known.size > n_rows:
        few = np.sort(np.random.default_rng(0).choice(evidence.known.size, n_rows, replace=False))
        varies = np.ptp(values[few], axis=0) > 0  # a rare level may be gone
        evidence = evidence.of_patients(few).of_columns(varies)
        fit, values = fit_plain(evidence.errors, evidence.known), values[few][:, varies]
        measured = measured[few][:, varies]
    told = stories(evidence, values, measured, fit)
    judged = [
        (EFFECT.judge(one.p_value(len(told)), one.size), one)
        for one in told
        if abs(one.shift) >= WORTH_A_WORD
    ]
    effects = sorted((pair for pair in judged if pair[0] != "fine"), key=lambda pair: -pair[1].log_times)
    if effects:
        worst: Verdict = "broken" if any(verdict == "broken" for verdict, _ in effects) else "doubtful"
        return _effect(worst, evidence, [one for _, one in effects], len(told))
    numbers = np.flatnonzero(evidence.searched & ~evidence.with_levels)
    p_values, bend = bend_tests(evidence.errors[:, numbers], evidence.known, fit)
    bent = [
        place
        for place in np.argsort(-bend)
        if not bends_itself and BENT.judge(corrected(p_values[place], numbers.size), bend[place]) != "fine"
    ]
    if bent:
        return _bent(
            evidence.named(numbers[bent]), float(bend[bent[0]]), corrected(p_values[bent[0]], numbers.size)
        )
    smallest = _smallest_shift(evidence.known)
    open_ones = [one for one in told if abs(one.shift) >= HARD_SHIFT and one.log_times > -np.log(SETTLED)]
    if open_ones or smallest > MUST_SEE:
        names = evidence.named(np.array([one.place for one in open_ones], dtype=np.intp))
        return _cannot_tell(names, _not_seen(names, evidence.known.size, smallest), smallest)
    number = max((one.size for one in told), default=0.0)
    p_value = min((one.p_value(len(told)) for one in told), default=1.0)
    asked, most = plural(len(told), "column"), "most " if len(told) == ASKED_AT_MOST else ""
    statement = (
        f"Of {asked} that {'goes' if len(told) == 1 else 'go'} {most}clearly with the diagnosis none looks "
        "like an effect of it."
        if told
        else "Beside the other columns, no number whose place was learned goes clearly with the diagnosis."
    )
    return Check("terminal", QUESTION, "fine", number, p_value, statement, "", smallest=smallest)


def _smallest_shift(y: np.ndarray) -> float:
    """Standard deviations of a shift by D after which D goes clearly with a column, in 9 of 10 cohorts."""
    share = float(y.mean())
    return float((CLEARLY + norm.isf(1.0 - POWER)) / np.sqrt(y.size * share * (1.0 - share)))


def _effect(verdict: Verdict, evidence: Evidence, found: Sequence[Told], n_asked: int) -> Check:
    names, worst = evidence.named(np.array([one.place for one in found])), found[0]
    times = np.exp(min(worst.log_times, 700.0))
    times_said = f"more than {MOST_TIMES:,}" if times > MOST_TIMES else f"{times:,.0f}"
    one = len(names) == 1
    return Check(
        "terminal",
        QUESTION,
        verdict,
        worst.size,
        worst.p_value(n_asked),
        f"In patients with the diagnosis {quoted(names[0], 40)} is shifted as a whole, by "
        f"{abs(worst.shift):.1f} of its standard deviations, as by the diagnosis, its treatment or how long "
        f"patients were followed: that is {times_said} times as likely, in these patients, as that it comes "
        "before the diagnosis.",
        advice_to_leave_out(names),
        names,
        f"Do not read {all_of(names)} as {'a root cause' if one else 'root causes'}: "
        f"{'it looks like an effect' if one else 'they look like effects'} of the diagnosis, and "
        f"{'takes' if one else 'take'} the place of root causes."
        if verdict == "broken"
        else f"{all_of(names)} may be {'an effect' if one else 'effects'} of the diagnosis, and then "
        f"{'takes' if one else 'take'} the place of root causes.",
        "variables",
        _smallest_shift(evidence.known),
    )


def _bent(names: tuple[str, ...], size: float, p_value: float) -> Check:
    return Check(
        "terminal",
        QUESTION,
        "doubtful",
        size,
        p_value,
        f"The risk neither rises nor falls evenly with {quoted(names[0], 40)}, as it would with a cause that "
        "acts along a straight line: it was measured after the outcome (a time to it, for instance), or acts "
        "in a bent way.",
        advice_to_leave_out(names)
        + " If it was measured before, it may be that only high, or only low values matter: add a column "
        "that says so.",
        names,
        f"What {all_of(names)} {'adds' if len(names) == 1 else 'add'} to a patient's risk is read off a "
        "straight line, and the relation is bent.",
        "variables",
    )


def _separates(fit: PlainLogit, y: np.ndarray) -> bool:
    return bool(fit.risk[y == 1].min() > fit.risk[y == 0].max())


def _not_seen(names: tuple[str, ...], n_rows: int, smallest: float) -> str:
    if names:
        return (
            f"{all_of(names)} {'goes' if len(names) == 1 else 'go'} with the diagnosis, and {n_rows:,} "
            "patients do not show which comes first."
        )
    return (
        f"Among {n_rows:,} patients even an effect of the diagnosis that shifts a column by "
        f"{MUST_SEE:g} standard deviation would be missed; seen in nine of ten cohorts like this one "
        f"would be {smallest:.1f} standard deviations."
    )


def _cannot_tell(names: tuple[str, ...], statement: str, smallest: float) -> Check:
    named = all_of(names) if names else "Any column"
    return Check(
        "terminal",
        QUESTION,
        "cannot tell",
        float(len(names)) if names else float("nan"),
        None,
        statement,
        "ask when "
        + ("it was" if len(names) == 1 else "they were" if names else "each column was")
        + " measured; what was measured after the diagnosis is left out with --after COLUMN (in Python: "
        "leave it out of X).",
        names,
        f"{named} may be {'effects' if len(names) > 1 else 'an effect'} of the diagnosis rather than "
        f"{'causes' if len(names) > 1 else 'a cause'}.",
        "variables",
        smallest,
    )


def all_of(names: Sequence[str]) -> str:
    return listed([quoted(name, 40) for name in names])
