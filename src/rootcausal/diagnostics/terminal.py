"""Does a column look like an effect of D rather than a cause? D must have no effects among the columns.

If D shifts a column, its distribution has the same shape in cases and controls, and the log-odds of D are
log f(e − shift) − log f(e): bent, unless the error is Gaussian. If the column is a cause, they are straight.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2, ks_2samp

from ..core.table import F64
from .diagnosis import Check, Scale, Verdict, in_words
from .evidence import Evidence, PlainLogit, joint_score_test
from .rank_scores import corrected, rank_scores, smallest_of_many

SCALE = Scale(0.06, 0.20)
# Scores 2 to 4 bend; the first is straight in the ranks and so levels off in the tails.
BENT = slice(0, 4)
SAME_SHAPE = 0.01


def bend_tests(errors: F64, y: np.ndarray, fit: PlainLogit) -> tuple[F64, F64]:
    """P-values (k,) of straight log-odds in each error, and how much bends add: √(χ² / n), (k,)."""
    scores = rank_scores(errors)
    tests = [joint_score_test(fit, y, scores[:, column, BENT]) for column in range(errors.shape[1])]
    statistic, freedom = np.array(tests, dtype=float).reshape(-1, 2).T
    p_values = np.where(freedom > 0, chi2.sf(statistic, np.maximum(freedom, 1)), 1.0)
    return p_values, np.sqrt(statistic / len(y))


def shape_p_value(error: F64, y: np.ndarray) -> float:
    """P-value of equal shapes in cases and controls, whatever the shift (Kolmogorov and Smirnov)."""
    cases, controls = (error[y == label] - np.median(error[y == label]) for label in (1, 0))
    return float(ks_2samp(cases, controls).pvalue)


def check_terminal(evidence: Evidence, fit: PlainLogit) -> Check:
    p_values, bend = bend_tests(evidence.errors, evidence.y, fit)
    p_value = smallest_of_many(p_values)
    verdicts: list[Verdict] = [
        SCALE.judge(corrected(p, p_values.size), size) for p, size in zip(p_values, bend, strict=True)
    ]
    suspects = [
        place
        for place in np.argsort(-bend)
        if verdicts[place] != "fine" and shape_p_value(evidence.errors[:, place], evidence.y) >= SAME_SHAPE
    ]
    verdict: Verdict = verdicts[suspects[0]] if suspects else "fine"
    size = float(bend.max()) if bend.size else 0.0
    return Check(
        "terminal",
        "Is no column an effect of the diagnosis?",
        verdict,
        size,
        p_value,
        f"The log-odds are straight in every error, or bent otherwise than by a shift (strongest bend "
        f"{size:.2f}, {in_words(p_value)})."
        if verdict == "fine"
        else f"In cases the column looks shifted as a whole rather than selected, as by the diagnosis or its "
        f"treatment (bend {bend[suspects[0]]:.2f}, {in_words(p_value)}).",
        ""
        if verdict == "fine"
        else "ask whether the column was measured after the diagnosis or a treatment; if so, leave it out "
        "and fit again.",
        evidence.named(np.array(suspects)) if suspects else (),
    )
