"""Are relations linear: of the variables with each other, and of the outcome with each shock?

Where a variable does not act along a straight line, the error of its effect is curved over it. It may even be
a column that the model left out: a parabola need not correlate with anything. For the outcome, curves of the
ranks of one column at a time are tried beside all errors, in a plain regression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from ..method.table import F64
from ..wording import pasted, plural, quoted
from .confounding import visible
from .dependence import Curve, Dependence, rank_scores
from .diagnosis import Check, CheckSpec, Scale, Text, Verdict
from .evidence import Checked, Evidence
from .power import corrected, smallest_visible
from .regressions import PlainFit, in_groups, joint_tests

# Share of what a straight line leaves that a curve explains.
CURVED = Scale(0.08, 0.20, p_doubtful=5e-3, p_broken=1e-6)
# Share that must be visible before silence means anything: a bend also upsets the order, and so hides. With
# 500 patients half of the hard bends are named, with 2,000 nine of ten.
VISIBLE = 0.035
OTHERS_NAMED = 3
# √(χ² / n) of curves, n being the patients who tell something of the outcome.
OUTCOME_CURVED = Scale(0.2, 0.5, p_doubtful=1e-3, p_broken=1e-9)
# Scores of ranks that are tried: 2 to 4 bend, and the first, straight in the ranks, levels off in the tails.
BENDING = 4
# That must be visible before silence means anything.
HARD = 0.4
# Where a column is low, in its middle, and high: in which parts of the patients, and in words.
PLACES = (
    (0.0, 0.1, "in the lowest tenth"),
    (0.4, 0.6, "in the middle"),
    (0.9, 1.0, "in the highest tenth"),
)

LINEAR = CheckSpec(
    "linear",
    "Are relations {nonlinear:those of the model's curves|linear}?",
    "share of what a line leaves that a curve explains",
    {
        "fine": Text(
            "No variable was seen to follow another along "
            "{nonlinear:another curve than that of the model|a curve rather than a line}."
        ),
        "cannot tell": Text(
            "Only a strongly nonlinear relation would be seen, and none was.",
            "Relations may be {nonlinear:other curves than in the model|nonlinear}: a curve that explains "
            "less than {smallest:.0%} would not be seen in {rows}.",
            "nothing, but look at scatter plots of the variables that matter.",
        ),
        "doubtful": Text(
            "A curve of {cause:q} explains {number:.0%} of what {nonlinear:the model|a line} leaves "
            "of {effect:q} ({p:p}): against {nonlinear:what it expects|the line} {effect:q} lies {low} where "
            "{cause:q} is in its lowest tenth, {middle} in its middle and {high} in its highest "
            "tenth.{others}",
            "The shock of {effect:q} holds some of its nonlinear relation to {cause:q}.",
            "look at the scatter plot; {log}cut {cause:q} into the ranges between which the slope changes.",
        ),
        "doubtful, turns": Text(
            advice="look at the scatter plot; add a column with the distance of {cause:q} from its normal "
            "value beside it, and fit again.",
        ),
        "broken": Text(
            limit="Do not read the shock of {effect:q} by itself: it holds a nonlinear relation to {cause:q}."
        ),
    },
    CURVED,
    touches="variables",
    touches_unseen="",
    percent=True,
)
OUTCOME_LINEAR = CheckSpec(
    "straight",
    "Is {followed} linear in each shock?",
    "what curves add, √(χ² / {telling})",
    {
        "fine": Text(
            "Of {n_columns:# column} none was seen to act along a curve rather than a line (closest: "
            "{closest:q}; {p:p})."
        ),
        "fine, nothing": Text("Nothing to see: there is no column that is a number."),
        "cannot tell": Text(
            "Of {n_columns:# column} none was seen to act along a curve rather than a line (closest: "
            "{closest:q}; {p:p}).",
            "A shock that acts nonlinearly would not be seen: {n_telling:# patient} {n_telling:tells|tell} "
            "anything of the outcome, and {n_columns:# column} {n_columns:was|were} asked.",
            "look at the outcome over the variables that matter.",
        ),
        "cannot tell, nothing": Text(
            "Nothing to see: the shocks tell the outcome for certain.",
            "Whether shocks act linearly cannot be told.",
            "ask whether one of the columns was measured after the outcome, or is it.",
        ),
        "doubtful": Text(
            "{Followed} follows {worst:q} in a curve: against a line it lies {heights} ({p:p} after "
            "correction for "
            "{n_columns:# column}).{left_out: The model left it out, since along a line it adds little.|}",
            "Values of {names:3} are read off a line, and the relation is nonlinear.",
            "look at the outcome over {worst:q}; {log}add a column with its distance from the normal value, "
            "or cut it into the ranges between which the slope changes, and fit again.",
        ),
        "doubtful, left out": Text(
            limit="{names:3} may play a part that the model does not have: the relation is nonlinear."
        ),
        "broken": Text(
            limit="Do not read the values of {names:3}: the relation is nonlinear, and they are read off a "
            "line."
        ),
        "broken, left out": Text(
            limit="Do not read that {names:3} {names:plays|play} no part: the relation is nonlinear."
        ),
    },
    OUTCOME_CURVED,
    touches="variables",
)


def how_to_log(names: Sequence[str], known: Sequence[str], estimator: str) -> str:
    """The option that does it, with those that are logarithms already; ``estimator`` is the class."""
    wanted = list(dict.fromkeys([*known, *names]))
    in_python = f"{estimator}(log=[{', '.join(ascii(name) for name in wanted)}])"
    if any(name != name.strip() or "," in name or '"' in name for name in wanted):
        return f"{in_python} in Python"
    return f"--log {pasted(','.join(wanted))} (in Python {in_python})"


@dataclass(frozen=True)
class _Bend:
    """One column that bends over another: their names, the curve, and of which a logarithm can be taken.

    Of a cause that the model left out, nothing more than a doubt is said: other columns that were left out
    may stand between the two.
    """

    cause: str
    effect: str
    curve: Curve
    log_of_cause: bool
    log_of_effect: bool
    in_model: bool = True

    @property
    def verdict(self) -> Verdict:
        verdict = CURVED.judge(self.curve.p_value, self.curve.share)
        return verdict if self.in_model or verdict != "broken" else "doubtful"

    @property
    def log_of(self) -> str | None:
        """A logarithm stretches what is low: of the cause where it acts most there, else of the effect."""
        below, above = self.curve.slopes
        first = abs(below) > abs(above)
        can = self.log_of_cause if first else self.log_of_effect
        return (self.cause if first else self.effect) if can else None


def check_linearity(
    evidence: Evidence, seen: Dependence, logged: Sequence[str], estimator: str, nonlinear: bool = False
) -> Check:
    """``logged`` are columns that are on a log scale already; ``estimator`` is the class that users call.

    What is asked of a ``nonlinear`` model is whether its curves are enough.
    """
    bends = sorted(_bends(evidence, seen), key=lambda bend: (-bend.in_model, -bend.curve.share))
    smallest = visible(seen) ** 2
    if not bends:
        return LINEAR.check(
            "fine" if smallest <= VISIBLE else "cannot tell",
            0.0,
            smallest=smallest,
            nonlinear=nonlinear,
            rows=plural(seen.n_rows, seen.row_noun),
        )
    worst = bends[0]
    below, above = worst.curve.slopes
    others = ", ".join(f"{quoted(one.effect, 40)} over {quoted(one.cause, 40)}" for one in bends[1:4])
    more = f" and {len(bends) - 1 - OTHERS_NAMED} more" if len(bends) > 1 + OTHERS_NAMED else ""
    low, middle, high = map(_above, worst.curve.shape)
    return LINEAR.check(
        worst.verdict,
        worst.curve.share,
        worst.curve.p_value,
        case="turns" if below * above <= 0 else "",
        names=(worst.cause, worst.effect),
        smallest=smallest,
        nonlinear=nonlinear,
        cause=worst.cause,
        effect=worst.effect,
        low=low,
        middle=middle,
        high=high,
        others=f" Also nonlinear: {others}{more}." if others else "",
        log=f"try {how_to_log([worst.log_of], logged, estimator)}, or " if worst.log_of else "",
    )


def _bends(evidence: Evidence, seen: Dependence) -> list[_Bend]:
    names, can = evidence.names, evidence.may_be_logged
    bends = []
    for pair in seen.explained_by("curve"):
        assert pair.curve is not None
        cause, effect = pair.earlier, pair.later
        if pair.curve.backwards:
            cause, effect = effect, cause
        logs = bool(can[cause]), bool(can[effect])
        bends.append(_Bend(names[cause], names[effect], pair.curve, *logs))
    for outside, place, curve in seen.from_outside:
        logs = bool(evidence.outside_may_be_logged[outside]), bool(can[place])
        bends.append(_Bend(evidence.outside_names[outside], names[place], curve, *logs, in_model=False))
    return bends


def _above(height: float) -> str:
    if abs(height) < 0.05:
        return "on it"
    return f"{abs(height):.1f} SD {'above' if height > 0 else 'below'} it"


@dataclass(frozen=True)
class Bends:
    """How much curves of each column add to the outcome; all (m,).

    Attributes
    ----------
    p_value : of a straight line.
    size : √(χ² / n).
    freedom : curves that could be told from a line.
    """

    p_value: F64
    size: F64
    freedom: F64


def bends_of_outcome(fit: PlainFit, columns: F64, measured: np.ndarray, n_telling: int) -> Bends:
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


def check_outcome_linearity(
    evidence: Evidence, fit: PlainFit, checked: Checked, n_telling: int
) -> tuple[Check, ...]:
    """``n_telling`` are patients who tell something of the outcome: all, or those with the event.

    Nothing of a model with curves, which does not claim it.
    """
    return () if checked.nonlinear else (_outcome_linearity(evidence, fit, checked, n_telling),)


def _outcome_linearity(evidence: Evidence, fit: PlainFit, checked: Checked, n_telling: int) -> Check:
    inside = np.flatnonzero(~evidence.with_levels)
    columns = np.vstack([evidence.errors.T[inside], evidence.outside.T]).T
    names = [*(evidence.names[place] for place in inside), *evidence.outside_names]
    followed = checked.moved
    if fit.separated or not names:
        verdict: Verdict = "cannot tell" if fit.separated else "fine"
        return OUTCOME_LINEAR.check(verdict, case="nothing", followed=followed)
    there = np.ones(evidence.outside.shape, dtype=bool)
    if evidence.outside_measured is not None:
        there = evidence.outside_measured
    measured = np.column_stack([evidence.rest_on_measurements[:, inside], there])
    found = bends_of_outcome(fit, columns, measured, n_telling)
    p_values = [corrected(p, len(names)) for p in found.p_value.tolist()]
    verdicts = [OUTCOME_CURVED.judge(*of) for of in zip(p_values, found.size.tolist(), strict=True)]
    bent = [place for place in np.argsort(-found.size).tolist() if verdicts[place] != "fine"]
    freedom = int(max(found.freedom.max(), 1))
    smallest = smallest_visible(n_telling, freedom, len(names), OUTCOME_CURVED.p_doubtful)
    worst = bent[0] if bent else int(np.argmin(p_values))
    may_log = [*evidence.may_be_logged[inside], *evidence.outside_may_be_logged][worst]
    left_out = worst >= inside.size
    how = how_to_log([names[worst]], checked.logged, checked.words.estimator)
    return OUTCOME_LINEAR.check(
        verdicts[worst] if bent else "cannot tell" if smallest > HARD else "fine",
        float(found.size[worst]),
        p_values[worst],
        case="left out" if left_out else "",
        names=tuple(dict.fromkeys(names[place] for place in bent)),
        smallest=smallest,
        followed=followed,
        Followed=f"{followed[0].upper()}{followed[1:]}",
        n_columns=len(names),
        n_telling=n_telling,
        closest=names[worst],
        worst=names[worst],
        heights=_heights(columns[:, worst], fit.residual),
        left_out=left_out,
        log=f"try {how}, or " if may_log else "",
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
