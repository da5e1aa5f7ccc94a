"""Are odds proportional: does a shock do the same to the odds of every higher stage?

Two plain logistic regressions on the errors, one of the lowest cut between two stages and one of the highest
(of those with enough patients on either side), and a test of Wald's of each effect's difference between them.
The two share patients, so the variance of a difference is that of the sum of what each patient moves
(influence functions).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import norm

from ..method.table import F64
from .diagnosis import Check
from .evidence import Evidence
from .power import POWER, corrected
from .regressions import PlainLogit
from .specification import CheckSpec, Scale, Text

# Log-odds by which one standard deviation does more, or less, at the highest cut than at the lowest.
SCALE = Scale(0.5, 1.0, p_doubtful=0.01, p_broken=1e-4)
# Patients on either side of a cut, at least.
FEWEST_A_SIDE = 10

CLOSEST = (
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
        "fine": Text(CLOSEST),
        "cannot tell": Text(
            CLOSEST,
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
