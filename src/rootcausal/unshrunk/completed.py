"""The rows of a fit without holes: as they are, or filled in at random many times (multiple imputation)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..backends.choose import holed_rows, without_gpu
from ..backends.holed import Copies
from ..core.holes import DRAWS, Filling, View
from ..core.imputation import expectation_maximization
from ..core.layout import Layout
from ..core.moments import Columns
from ..core.table import F64, Index
from ..uncertainty.training_rows import TrainingRows

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
    diluted (see :mod:`..core.imputation`).
    """
    n, q = rows.X.shape
    if rows.whole:
        yield rows.X, known, np.arange(n)
        return
    everything = np.arange(q)
    outcome = rows.outcome_of_all
    layout = (Layout.numbers(q) if rows.layout is None else rows.layout).take(everything)
    view = View(everything, columns.mean, columns.sd, outcome.scores(columns), columns.weights)
    raw = holed_rows("numba" if rows.backend == "cupy" else without_gpu(rows.backend), rows.X, known)
    joint, *_ = expectation_maximization(raw, view, n)
    lacking = np.isnan(rows.X).any(axis=1)
    whole, holed = np.flatnonzero(~lacking), np.flatnonzero(lacking)
    order = np.concatenate([whole, holed])
    for seed in range(SEEDS):
        _, drawn = raw.filled(Filling(view, joint, seed, everything, layout))
        assert isinstance(drawn, Copies)
        values = drawn.standardized(everything, np.zeros(q), np.ones(q))[0].T
        for draw in range(DRAWS):
            yield np.concatenate([rows.X[whole], values[draw::DRAWS]]), known[order], order
