"""Do variables act on each other along straight lines?

Where they do not, the error of the effect is curved over its cause. The cause may even be a column that the
model left out: a parabola need not correlate with anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..wording import plural, quoted
from .curves import Curve
from .dependence import Dependence
from .diagnosis import Check, Scale, Verdict, in_words
from .evidence import Evidence
from .independence import visible
from .log_option import how_to_log

QUESTION = "Do the variables depend on each other along straight lines?"
OF_CURVES = "Do the variables depend on each other along the curves of the model?"
NOTHING = "nothing, but look at scatter plots of the variables that matter."
# Share of what a straight line leaves that a curve explains.
SCALE = Scale(0.08, 0.20, p_doubtful=5e-3, p_broken=1e-6)
# Share that must be visible before silence means anything: a bend also upsets the order, and so hides. With
# 500 patients half of the hard bends are named, with 2,000 nine of ten.
VISIBLE = 0.035


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
        verdict = SCALE.judge(self.curve.p_value, self.curve.share)
        return verdict if self.in_model or verdict != "broken" else "doubtful"


def check_linearity(
    evidence: Evidence, seen: Dependence, logged: Sequence[str], estimator: str, bent: bool = False
) -> Check:
    """``logged`` are columns that are on a log scale already; ``estimator`` is the class that users call.

    With ``bent`` the model has curves of its own: what is asked is whether these are enough.
    """
    question = OF_CURVES if bent else QUESTION
    line, shape = "a straight line", "a curve rather than a line"
    if bent:
        line, shape = "the model", "another curve than that of the model"
    bends = sorted(_bends(evidence, seen), key=lambda bend: (-bend.in_model, -bend.curve.share))
    smallest = visible(seen) ** 2
    if not bends:
        verdict: Verdict = "fine" if smallest <= VISIBLE else "cannot tell"
        statement = f"No variable was seen to follow another along {shape}."
        limit = ""
        if verdict == "cannot tell":
            statement = "Only a strong bend would be seen, and none was."
            may = "bend otherwise than in the model" if bent else "be bent"
            limit = (
                f"Relations may {may}: a bend that explains less than {smallest:.0%} would not be seen in "
                f"{plural(seen.n_rows, seen.row_noun)}."
            )
        return Check(
            "linear",
            question,
            verdict,
            0.0,
            None,
            statement,
            "" if not limit else NOTHING,
            (),
            limit,
            "",
            smallest,
        )
    worst = bends[0]
    curve = worst.curve
    verdict = worst.verdict
    cause, effect = quoted(worst.cause), quoted(worst.effect)
    low, middle, high = curve.shape
    return Check(
        "linear",
        question,
        verdict,
        curve.share,
        curve.p_value,
        f"A curve of {cause} explains {curve.share:.0%} of what {line} leaves of {effect} "
        f"({in_words(curve.p_value)}): against {'what it expects' if bent else 'the line'} {effect} "
        f"lies {_above(low)} where {cause} is in its lowest tenth, {_above(middle)} in its middle and "
        f"{_above(high)} in its highest tenth." + _others(bends[1:]),
        _what_to_do(worst, logged, estimator),
        (worst.cause, worst.effect),
        f"Do not read the shock of {effect} by itself: it holds the bend over {cause}."
        if verdict == "broken"
        else f"The shock of {effect} holds some of the bend over {cause}.",
        "variables",
        smallest,
    )


def _bends(evidence: Evidence, seen: Dependence) -> list[_Bend]:
    names, can = evidence.names, evidence.may_be_logged
    bends = []
    for pair in seen.explained_by("bent"):
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


def _others(bends: list[_Bend]) -> str:
    if not bends:
        return ""
    named = ", ".join(f"{quoted(bend.effect)} over {quoted(bend.cause)}" for bend in bends[:3])
    return f" Also bent: {named}{f' and {len(bends) - 3} more' if len(bends) > 3 else ''}."


def _what_to_do(bend: _Bend, logged: Sequence[str], estimator: str) -> str:
    cause = quoted(bend.cause)
    below, above = bend.curve.slopes
    if below * above <= 0:
        return (
            f"look at the scatter plot; add a column with the distance of {cause} from its normal value "
            "beside it, and fit again."
        )
    # A logarithm stretches what is low: of the cause where it acts most there, of the effect where it
    # races away.
    first = abs(below) > abs(above)
    log, can = (bend.cause, bend.log_of_cause) if first else (bend.effect, bend.log_of_effect)
    trial = f"try {how_to_log([log], logged, estimator)}, or " if can else ""
    return f"look at the scatter plot; {trial}cut {cause} into the ranges between which the slope changes."
