"""A model of some of the rows of a fit: what resamples and cross-validation have in common."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..backends.choose import choose_table, whole_rows
from ..method.missing.sums import IncompleteRaw
from ..method.moments import Columns, columns_about, describe_columns
from ..method.outcome import Outcome
from ..method.pipeline import Learned, Settings
from ..method.population import ClassWeights
from ..method.table import F64, Index, RawTable
from ..nonlinear.learners import learn_mechanism
from .training_rows import TrainingRows


class LearnedFrom(NamedTuple):
    """What was learned, from which columns of the table, and what the outcome of these rows is like."""

    learned: Learned
    columns: Index
    outcome: Outcome


def learn_from(cohort: TrainingRows, rows: Index, settings: Settings) -> LearnedFrom:
    """Learn from some rows, each as often as it is named, what a fit would have learned from them."""
    y = cohort.y[rows]
    outcome, weights = cohort.outcome_of(rows)
    varies = cohort.varying(rows)
    all_vary = varies.size == cohort.X.shape[1]
    layout = cohort.layout
    if layout is not None and not all_vary:
        layout = layout.take(varies)
    raw: RawTable | IncompleteRaw
    if cohort.whole:
        # An index will do for a copy of the rows, unless a column has to go as well.
        X, some = (cohort.X, rows) if all_vary else (cohort.X[rows[:, None], varies], None)
        raw = whole_rows(cohort.backend, X, outcome.rows(y), some, weights)
        columns = _described(raw, settings.prevalence, cohort.near[varies])
    else:
        inexact = layout is not None and not layout.exact
        raw = choose_table(cohort.backend, cohort.X[rows[:, None], varies], outcome.rows(y), inexact, weights)
        columns = describe_columns(raw, settings.prevalence)
    return LearnedFrom(learn_mechanism(raw, columns, settings, None, layout, outcome), varies, outcome)


def _described(raw: RawTable | IncompleteRaw, prevalence: float | None, near: F64) -> Columns:
    """What the columns are like, by one pass over the rows where ``near`` (q,) is near their means."""
    about = raw.column_moments(near)
    columns = columns_about(near, about, ClassWeights.of(prevalence, about.count), raw.shape[0])
    # One value that is far from all others may have taken the mean of the cohort with it.
    if (np.abs(columns.mean - near) <= columns.sd).all():
        return columns
    return describe_columns(raw, prevalence)
