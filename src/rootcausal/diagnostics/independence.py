"""Are the errors independent of each other?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.table import F64, Index
from .diagnosis import Check, Scale, in_words
from .evidence import Evidence
from .rank_scores import (
    distance_correlation,
    independence_p_values,
    rank_scores,
    score_correlations,
    smallest_of_many,
)

# Estimated errors are a little dependent of themselves, so p-values have to be small.
SCALE = Scale(0.10, 0.20, p_doubtful=1e-3, p_broken=1e-6)


@dataclass(frozen=True)
class Pairs:
    """Pairwise dependence: pairs (m, 2), their p-values (m,) and rank distance correlations (m,)."""

    pairs: Index
    p_values: F64
    strength: F64

    @property
    def p_value(self) -> float:
        """Of all errors being independent."""
        return smallest_of_many(self.p_values)

    def strongest(self) -> Index:
        """Pairs in decreasing order of strength."""
        return np.argsort(-self.strength, kind="stable")


def pairwise_tests(errors: F64) -> Pairs:
    """Distance covariance of ranks for every pair."""
    correlations = score_correlations(rank_scores(errors))
    i, j = np.triu_indices(errors.shape[1], 1)
    of_pairs = correlations[i, j]
    return Pairs(
        np.column_stack([i, j]),
        independence_p_values(of_pairs, errors.shape[0]),
        distance_correlation(of_pairs),
    )


def check_independence(evidence: Evidence, found: Pairs) -> Check:
    order = found.strongest()
    strength = float(found.strength[order[0]]) if order.size else 0.0
    verdict = SCALE.judge(found.p_value, strength)
    return Check(
        "independent",
        "Are the errors independent of each other, as in a linear model without hidden causes?",
        verdict,
        strength,
        found.p_value,
        f"The most dependent pair of errors has a distance correlation of {strength:.2f} "
        f"({in_words(found.p_value)} after correction for {order.size} pairs; it counts from "
        f"{SCALE.doubtful:g} on, with p < {SCALE.p_doubtful:g}).",
        ""
        if verdict == "fine"
        else "see which of the other checks fails with it (linear, unconfounded, terminal); Shapley values "
        "of the pair share what cannot be told apart.",
        evidence.named(found.pairs[order[0]]) if verdict != "fine" else (),
    )
