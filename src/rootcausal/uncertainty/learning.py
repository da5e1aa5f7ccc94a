"""A model of some of the rows of a fit: what resamples and cross-validation have in common."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..backends.choose import choose_table
from ..core.moments import describe_columns
from ..core.outcome import Outcome
from ..core.pipeline import Learned, Settings, learn
from ..core.table import Index
from ..core.yes_no import YesNo
from .training_rows import TrainingRows


class LearnedFrom(NamedTuple):
    """What was learned, from which columns of the table, and what the outcome of these rows is like."""

    learned: Learned
    columns: Index
    outcome: Outcome


def outcome_of(cohort: TrainingRows) -> Outcome:
    """That of the whole cohort."""
    return YesNo.of(cohort.y) if cohort.outcome is None else cohort.outcome


def learn_from(cohort: TrainingRows, rows: Index, settings: Settings) -> LearnedFrom:
    """Learn from some rows, each as often as it is named, what a fit would have learned from them."""
    X, y = cohort.X[rows], cohort.y[rows]
    outcome = outcome_of(cohort).again(y)
    # A rare finding may be missing from these rows altogether; fmin and fmax pass over missing values.
    varies = np.flatnonzero(np.fmin.reduce(X) < np.fmax.reduce(X))
    raw = choose_table(cohort.backend, X[:, varies], outcome.rows(y))
    layout = None if cohort.layout is None else cohort.layout.take(varies)
    learned = learn(raw, describe_columns(raw, settings.prevalence), settings, None, layout, outcome)
    return LearnedFrom(learned, varies, outcome)
