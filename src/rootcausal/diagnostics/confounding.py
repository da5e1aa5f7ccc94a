"""Is there a sign of a hidden common cause?

Regression makes errors uncorrelated whatever is hidden. But a hidden variable that moves two columns leaves
its mark in their higher moments: both are extreme, or skewed, together. Five cross-moments of clipped errors,
E[a² b], E[a b²], E[a² b²], E[a³ b] and E[a b³], made of orthogonal polynomials, show it with far more power
than an omnibus test of independence, whose largest part, the correlation, regression has removed.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from ..core.table import F64
from .diagnosis import Check, Scale, in_words
from .evidence import Evidence
from .independence import Pairs
from .rank_scores import score_correlations

SCALE = Scale(0.115, 0.25, p_doubtful=1e-3, p_broken=1e-6)
# Heavy tails would otherwise let a few patients speak for all.
CLIP = 3.0
# Degrees of the two polynomials, less one.
MOMENTS = ((0, 1), (1, 0), (1, 1), (0, 2), (2, 0))


def cross_moment_tests(errors: F64) -> Pairs:
    """P-values and √(sum of squared cross-moments) of every pair of errors (n, k)."""
    correlations = score_correlations(polynomials(errors))
    i, j = np.triu_indices(errors.shape[1], 1)
    squares = sum(correlations[i, j, a, b] ** 2 for a, b in MOMENTS)
    p_values = chi2.sf(errors.shape[0] * squares, len(MOMENTS))
    return Pairs(np.column_stack([i, j]), p_values, np.sqrt(squares))


def polynomials(errors: F64) -> F64:
    """(n, k, 3): orthonormal polynomials of first to third degree of each clipped error."""
    clipped = np.clip(errors, -CLIP, CLIP)
    basis: list[F64] = []
    for degree in (1, 2, 3):
        term = clipped**degree
        term = term - term.mean(axis=0)
        for lower in basis:
            term = term - lower * (term * lower).mean(axis=0)
        # A column of two values has no square of its own.
        basis.append(term / np.maximum(term.std(axis=0), 1e-6))
    return np.stack(basis, axis=2)


def check_confounding(evidence: Evidence) -> Check:
    found = cross_moment_tests(evidence.errors)
    order = found.strongest()
    strength = float(found.strength[order[0]]) if order.size else 0.0
    verdict = SCALE.judge(found.p_value, strength)
    return Check(
        "unconfounded",
        "Is there no sign of a hidden common cause?",
        verdict,
        strength,
        found.p_value,
        f"The errors that are most often extreme together share cross-moments of {strength:.2f} "
        f"({in_words(found.p_value)} after correction for {order.size} pairs; they count from "
        f"{SCALE.doubtful:g} on, with p < {SCALE.p_doubtful:g}).",
        ""
        if verdict == "fine"
        else "look for something unmeasured that moves both (a batch, a centre, a treatment, age) and add it "
        "as a column; a bent relation or a wrong direction between them does the same. Until then read the "
        "two variables as one.",
        evidence.named(found.pairs[order[0]]) if verdict != "fine" else (),
    )
