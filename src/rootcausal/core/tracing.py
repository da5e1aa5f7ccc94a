"""From the direct causes of the outcome D back to all of its ancestors, along sparse regressions."""

from __future__ import annotations

from dataclasses import dataclass

from .susie import SingleEffects, Sparsity, fit_effects
from .table import F64

EXPECTED_CAUSES_OF_A_COLUMN = 2.0
# Of effects between standardized columns; that of effects on D is the outcome's.
VARIANCE_ON_A_COLUMN = 0.25
# Paths through a column that is less probably an ancestor than this are not followed.
NEGLIGIBLE = 1e-3


@dataclass(frozen=True)
class Traced:
    """What lies behind the direct causes of D.

    Attributes
    ----------
    total : (k,) expected effect on D of a unit of each standardized column, along all paths.
    probability : (k,) that a column is an ancestor of D.
    settled : whether every regression came to rest.
    """

    total: F64
    probability: F64
    settled: bool


def causes_of_a_column(k: int) -> Sparsity:
    """What is known of the direct causes of one of k columns before seeing data."""
    return Sparsity(EXPECTED_CAUSES_OF_A_COLUMN, k, VARIANCE_ON_A_COLUMN)


def trace_back(mixing: F64, n_rows: float, direct: SingleEffects, n_first: int) -> Traced:
    """Which columns are ancestors of D, given the effects of those that act on it directly.

    A column is an ancestor if it is a direct cause of D or of an ancestor. Going through the columns in
    reverse causal order, each one's probability and effect are final before they are passed on to its causes;
    the first ``n_first`` have none. Rows of the graph are independent a posteriori and a path visits each
    once, so the expected total effect is the total effect in the expected graph.
    """
    k = len(mixing)
    correlation = mixing @ mixing.T
    total, not_ancestor = direct.coef.copy(), 1.0 - direct.inclusion
    prior, settled = causes_of_a_column(k), True
    for effect in range(k - 1, max(n_first, 1) - 1, -1):
        here = 1.0 - not_ancestor[effect]
        if here < NEGLIGIBLE:
            continue
        # Residual variance as least squares on all earlier columns has it, corrected for their number.
        residual = mixing[effect, effect] ** 2 * n_rows / max(n_rows - effect - 1, 1)
        precision = (n_rows - 1) / min(residual, 1.0)
        causes = fit_effects(
            precision * correlation[:effect, :effect], precision * correlation[:effect, effect], prior
        )
        settled = settled and causes.settled
        total[:effect] += total[effect] * causes.coef
        not_ancestor[:effect] *= 1.0 - here * causes.inclusion
    return Traced(total, 1.0 - not_ancestor, settled)
