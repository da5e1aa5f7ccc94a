"""Which comes first, a column or the number? As between two columns: by the order that fits better.

Cause: the column comes out of those before it, and the number out of all errors. Effect: the number comes out
of the other errors, and moves the column. What is left of each story is looked at by its densities, as in
:mod:`.which_first`, and so are the arrows that it needs. Two Gaussians tell nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import norm

from ..core.table import F64
from ..wording import plural, quoted
from .diagnosis import Check, Scale, Verdict
from .evidence import Evidence, standardized
from .leaving_out import advice_to_leave_out
from .plain_fit import PlainLine
from .terminal import MOST_TIMES, ROWS_AT_MOST, SETTLED, all_of
from .visible import POWER
from .which_first import ASKED_AT_MOST, CLEARLY, Told, arrows_spared, kernel_width, log_density

QUESTION = "Is no column an effect of the outcome?"
# Sizes are nats a patient. Densities are estimated, and of Gaussians, whose direction nobody can tell, one in
# fifty cohorts of 200 makes one story a thousand times likelier by chance.
EFFECT = Scale(0.002, 0.01, p_doubtful=1e-3, p_broken=1e-6)
# Standard deviations by which the number moves a column for one of its own: from the first on it is named,
# from the second on its direction has to be told, and the third must be seen.
WORTH_A_WORD, HARD_SHIFT, MUST_SEE = 0.2, 0.25, 0.5
# With fewer in whom a column was measured, nothing is told.
FEWEST_MEASURED = 50


def check_number_terminal(evidence: Evidence, values: F64, is_bent: bool) -> Check:
    """Whether the number moves a column.

    ``values`` (n, k) are those of the columns of ``evidence``, what was drawn among them. ``is_bent`` says
    that relations to the number are bent, or its spread uneven: then a cause may look like an effect.
    """
    if evidence.n_rows > ROWS_AT_MOST:
        few = np.sort(np.random.default_rng(0).choice(evidence.n_rows, ROWS_AT_MOST, replace=False))
        varies = np.ptp(values[few], axis=0) > 0  # a rare level may be gone
        evidence, values = evidence.of_patients(few).of_columns(varies), values[few][:, varies]
    fit = PlainLine.of(evidence.errors, evidence.known)
    smallest = float((CLEARLY + norm.isf(1.0 - POWER)) / np.sqrt(evidence.n_rows))
    if fit.separated:
        return _cannot_tell((), "The columns together tell the outcome for certain.", smallest)
    told = stories(evidence, values, fit)
    judged = [
        (EFFECT.judge(one.p_value(len(told)), one.size), one)
        for one in told
        if abs(one.shift) >= WORTH_A_WORD
    ]
    effects = sorted((pair for pair in judged if pair[0] != "fine"), key=lambda pair: -pair[1].log_times)
    if effects:
        condemned = not is_bent and any(verdict == "broken" for verdict, _ in effects)
        worst: Verdict = "broken" if condemned else "doubtful"
        return _effect(worst, evidence, [one for _, one in effects], len(told), smallest, is_bent)
    open_ones = [one for one in told if abs(one.shift) >= HARD_SHIFT and one.log_times > -np.log(SETTLED)]
    if open_ones or smallest > MUST_SEE:
        names = evidence.named(np.array([one.place for one in open_ones], dtype=np.intp))
        return _cannot_tell(names, _not_seen(names, evidence.n_rows, smallest), smallest)
    asked = plural(len(told), "column")
    return Check(
        "terminal",
        QUESTION,
        "fine",
        max((one.size for one in told), default=0.0),
        min((one.p_value(len(told)) for one in told), default=1.0),
        f"Of {asked} that {'goes' if len(told) == 1 else 'go'} clearly with the outcome none looks like an "
        "effect of it."
        if told
        else "Beside the other columns, no number whose place was learned goes clearly with the outcome.",
        "",
        smallest=smallest,
    )


def stories(evidence: Evidence, values: F64, fit: PlainLine) -> list[Told]:
    """Of the numbers that the outcome clearly depends on and whose place was learned, the strongest first."""
    z = np.abs(fit.coef) / np.maximum(fit.standard_errors, 1e-300)
    measured = evidence.rest_on_measurements
    asked = np.flatnonzero(
        evidence.searched & ~evidence.with_levels & (z >= CLEARLY) & (measured.sum(axis=0) >= FEWEST_MEASURED)
    )
    asked = asked[np.argsort(-z[asked], kind="stable")][:ASKED_AT_MOST]
    y = standardized(evidence.known)
    columns = standardized(values)
    spared = arrows_spared(columns, y) if asked.size else np.zeros(0)
    told = []
    for place in asked.tolist():
        rows = np.flatnonzero(measured[:, place])  # what was drawn knows the outcome
        nats, shift = _story(place, evidence.errors[rows], y[rows])
        if nats + spared[place] > 0.0:  # a wrong order may look like it: both must say so
            last = np.append(np.delete(np.arange(columns.shape[1]), place), place)
            nats = min(nats, _story(last.size - 1, columns[np.ix_(rows, last)], y[rows])[0])
        told.append(Told(place, nats + float(spared[place]), shift, rows.size))
    return told


def _story(place: int, errors: F64, y: F64) -> tuple[float, float]:
    """How much likelier an effect is, in nats without arrows, and by how much y moves the error there."""
    basis, _ = np.linalg.qr(np.column_stack([np.ones(y.size), errors[:, :place]]))
    error, moving = (some - basis @ (basis.T @ some) for some in (errors[:, place], y))
    slope = float(error @ moving) / max(float(moving @ moving), 1e-12)
    unmoved = error - slope * moving
    as_effect = _gain(unmoved, error)
    of_all, of_others = (PlainLine.of(some, y).left for some in (errors, np.delete(errors, place, axis=1)))
    return as_effect - _gain(of_all, of_others), slope * float(moving.std()) / max(
        float(unmoved.std()), 1e-12
    )


def _gain(narrow: F64, wide: F64) -> float:
    """Nats by which what is left is likelier than before something was regressed out of it."""
    width = kernel_width(narrow)
    return float((log_density(narrow, width) - log_density(wide, width)).sum())


def _effect(
    verdict: Verdict,
    evidence: Evidence,
    found: Sequence[Told],
    n_asked: int,
    smallest: float,
    is_bent: bool,
) -> Check:
    names, worst = evidence.named(np.array([one.place for one in found], dtype=np.intp)), found[0]
    times = np.exp(min(worst.log_times, 700.0))
    times_said = f"more than {MOST_TIMES:,}" if times > MOST_TIMES else f"{times:,.0f}"
    one = len(names) == 1
    effects = "an effect" if one else "effects"
    return Check(
        "terminal",
        QUESTION,
        verdict,
        worst.size,
        worst.p_value(n_asked),
        f"That the outcome moves {quoted(names[0], 40)}, by {abs(worst.shift):.1f} standard deviations for "
        f"one of its own, is {times_said} times as likely, in these patients, as that it comes before the "
        "outcome."
        + (" A bend or an uneven spread, which others see, can look like this." if is_bent else ""),
        advice_to_leave_out(names, "the outcome"),
        names,
        f"Do not read {all_of(names)} as {'a root cause' if one else 'root causes'}: "
        f"{'it looks' if one else 'they look'} like {effects} of the outcome, and "
        f"{'takes' if one else 'take'} the place of root causes."
        if verdict == "broken"
        else f"{all_of(names)} may be {effects} of the outcome, and then {'takes' if one else 'take'} the "
        "place of root causes.",
        "variables",
        smallest,
    )


def _not_seen(names: tuple[str, ...], n_rows: int, smallest: float) -> str:
    if names:
        return (
            f"{all_of(names)} {'goes' if len(names) == 1 else 'go'} with the outcome, and {n_rows:,} "
            "patients do not show which comes first."
        )
    return (
        f"Among {n_rows:,} patients even an effect of the outcome that it moves by {MUST_SEE:g} standard "
        f"deviations would be missed; seen in nine of ten cohorts like this one would be {smallest:.1f}."
    )


def _cannot_tell(names: tuple[str, ...], statement: str, smallest: float) -> Check:
    effect, cause = ("effects", "causes") if len(names) > 1 else ("an effect", "a cause")
    was = "it was" if len(names) == 1 else "they were" if names else "each column was"
    return Check(
        "terminal",
        QUESTION,
        "cannot tell",
        float(len(names)) if names else float("nan"),
        None,
        statement,
        f"ask when {was} measured; what was measured after the outcome is left out with --after COLUMN (in "
        "Python: leave it out of X).",
        names,
        f"{all_of(names) if names else 'Any column'} may be {effect} of the outcome rather than {cause}.",
        "variables",
        smallest,
    )
