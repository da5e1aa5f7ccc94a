"""Do variables act on each other along straight lines?

Where they do not, the error of the effect is curved over the error of the cause.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from ..core.table import F64, Index
from .diagnosis import Check, Scale, in_words
from .evidence import Evidence
from .rank_scores import rank_scores, score_correlations, smallest_of_many

# Estimated errors are a little dependent of themselves, so p-values have to be small.
SCALE = Scale(0.12, 0.25, p_doubtful=1e-3, p_broken=1e-6)


def curvature_tests(errors: F64) -> tuple[F64, F64, Index]:
    """P-values (m,), |correlation| (m,) of a U of the one error with the other, and ordered pairs (m, 2)."""
    k = errors.shape[1]
    correlations = score_correlations(rank_scores(errors))
    bent, straight = np.nonzero(~np.eye(k, dtype=bool))
    # Score 2 is a U over the ranks, score 1 is nearly a straight line.
    curvature = correlations[bent, straight, 1, 0]
    p_values = chi2.sf(errors.shape[0] * curvature**2, 1)
    return p_values, np.abs(curvature), np.column_stack([bent, straight])


def check_linearity(evidence: Evidence) -> Check:
    p_values, strength, pairs = curvature_tests(evidence.errors)
    p_value = smallest_of_many(p_values)
    worst = int(strength.argmax()) if strength.size else -1
    largest = float(strength[worst]) if strength.size else 0.0
    verdict = SCALE.judge(p_value, largest)
    return Check(
        "linear",
        "Do the variables depend on each other along straight lines?",
        verdict,
        largest,
        p_value,
        f"The strongest bend between two errors is a correlation of {largest:.2f} with a U-shaped curve "
        f"({in_words(p_value)} after correction for {len(pairs)} pairs).",
        ""
        if verdict == "fine"
        else "transform the first of these variables (a logarithm, or its distance from the normal value), "
        "or add the transformed one as a column of its own.",
        evidence.named(pairs[worst]) if verdict != "fine" else (),
    )
