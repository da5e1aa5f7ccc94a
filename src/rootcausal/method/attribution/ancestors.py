"""From the direct causes of the outcome D back to all of its ancestors, along sparse regressions."""

from __future__ import annotations

from dataclasses import dataclass

from ..linear import direct_effects, inverse
from ..table import F64
from .susie import Sparsity, fit_effects

EXPECTED_CAUSES_OF_A_COLUMN = 2.0
# Of effects between standardized columns; that of effects on D is the outcome's.
VARIANCE_ON_A_COLUMN = 0.25
# What acts on a column that is less probably an ancestor than this is not asked.
NEGLIGIBLE = 1e-3
# That an arrow is there is said given the order, and that was learned from the same rows: of so many rows,
# every second arrow would point the right way (set on simulated cohorts of 100 to 1,000 patients).
ROWS_OF_DOUBT = 20.0


@dataclass(frozen=True)
class Traced:
    """What lies behind the direct causes of D.

    Attributes
    ----------
    edges : (k, k) expected effects between standardized columns, ``[i, j]`` of j on i.
    probability : (k,) that a column is an ancestor of D.
    settled : whether every regression came to rest.
    """

    edges: F64
    probability: F64
    settled: bool


def causes_of_a_column(k: int) -> Sparsity:
    """What is known of the direct causes of one of k columns before seeing data."""
    return Sparsity(EXPECTED_CAUSES_OF_A_COLUMN, k, VARIANCE_ON_A_COLUMN)


def least_squares(mixing: F64) -> F64:
    """(k, k): each column regressed on all before it."""
    return direct_effects(inverse(mixing))


def trace_back(mixing: F64, n_rows: float, inclusion: F64, n_first: int) -> Traced:
    """Which columns are ancestors of D, given how probably each acts on it directly.

    A column is an ancestor if it is a direct cause of D or of an ancestor. Going through the columns in
    reverse causal order, each one's probability is final before it is passed on to its causes; the first
    ``n_first`` have none. Rows of the graph are independent a posteriori, so the expected total effect is the
    total effect in the expected graph. Columns that are no ancestors keep the effects of least squares.
    """
    k = len(mixing)
    correlation, edges = mixing @ mixing.T, least_squares(mixing)
    not_ancestor = 1.0 - inclusion
    prior, settled = causes_of_a_column(k), True
    trust = n_rows / (n_rows + ROWS_OF_DOUBT)
    for effect in range(k - 1, max(n_first, 1) - 1, -1):
        here = 1.0 - not_ancestor[effect]
        if here < NEGLIGIBLE:
            continue
        # Residual variance as least squares on all earlier columns has it, corrected for their number.
        residual = mixing[effect, effect] ** 2 * n_rows / max(n_rows - effect - 1, 1)
        precision = (n_rows - 1) / min(residual, 1.0)
        curvature = precision * correlation[:effect, :effect]
        causes = fit_effects(curvature, precision * correlation[:effect, effect], prior)
        settled = settled and causes.settled
        edges[effect, :effect] = causes.coef
        not_ancestor[:effect] *= 1.0 - here * trust * causes.clear(curvature, prior)
    return Traced(edges, 1.0 - not_ancestor, settled)
