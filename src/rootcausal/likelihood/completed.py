"""The rows of a fit, complete: as they are, or imputed at random many times (multiple imputation)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..backends.choose import choose_table, incomplete_part, without_gpu
from ..backends.missing_rows import ImputedCopies
from ..method.layout import Layout
from ..method.missing.imputation import expectation_maximization, imputer, true_values, view_of
from ..method.missing.sums import DRAWS, IncompleteRaw
from ..method.moments import Columns
from ..method.table import F64, Index
from ..resampling.training_rows import TrainingRows

# Each seed gives as many draws as a fit makes: those of one would do for effects, and leave their standard
# errors to chance.
SEEDS = 4


def n_copies(rows: TrainingRows) -> int:
    """How many there are."""
    return 1 if rows.whole else SEEDS * DRAWS


def copies(
    rows: TrainingRows, known: np.ndarray, columns: Columns
) -> Iterator[tuple[F64, np.ndarray, Index]]:
    """Values (n, q), what tables know of the outcome, and the numbers (n,) of the rows in the cohort.

    Missing values are drawn given all other columns of the row, and its outcome: without it effects would be
    diluted (see :mod:`rootcausal.method.missing.imputation`).
    """
    n, q = rows.X.shape
    if rows.whole:
        yield rows.X, known, np.arange(n)
        return
    everything = np.arange(q)
    outcome = rows.outcome_of_all
    layout = (Layout.numbers(q) if rows.layout is None else rows.layout).take(everything)
    view = view_of(columns, layout, everything, outcome)
    raw = incomplete_part("numba" if rows.backend == "cupy" else without_gpu(rows.backend), rows.X, known)
    whole_cohort: IncompleteRaw = raw
    if rows.weights is not None:
        of_parts = choose_table(without_gpu(rows.backend), rows.X, known, rows.inexact, rows.weights)
        assert isinstance(of_parts, IncompleteRaw)
        whole_cohort = of_parts
    measured, *_ = expectation_maximization(whole_cohort, view, whole_cohort.shape[0])
    joint = true_values(measured, view)
    lacking = view.lacking(rows.X).any(axis=1) | (layout.noise is not None)
    whole, incomplete = np.flatnonzero(~lacking), np.flatnonzero(lacking)
    order = np.concatenate([whole, incomplete])
    for seed in range(SEEDS):
        _, drawn = raw.filled(imputer(view, joint, seed, everything, layout))
        assert isinstance(drawn, ImputedCopies)
        values = drawn.standardized(everything, np.zeros(q), np.ones(q))[0].T
        for draw in range(DRAWS):
            yield np.concatenate([rows.X[whole], values[draw::DRAWS]]), known[order], order
