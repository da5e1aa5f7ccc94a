"""Does the model of a time or a number hang on a single patient?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.table import F64, Index
from ..wording import one_line
from .checked import Checked
from .diagnosis import Check
from .evidence import Evidence
from .patients import (
    BROKEN_CHANGE,
    DIFFERS,
    DOUBTFUL_CHANGE,
    FEWEST_OF_A_CLASS,
    STANDS_APART,
    Decided,
    by_size,
    each_decides,
    on_coefficients,
    what_one_decides,
)
from .plain_fit import PlainFit


@dataclass(frozen=True)
class GoesWith:
    """Of each column, one patient who may decide how it goes with the outcome; all (q,).

    Attributes
    ----------
    row : of this patient.
    apart : how many times as far from the average the patient lies as the next.
    with_all, without : correlation of column and outcome, in standard errors.
    """

    row: Index
    apart: F64
    with_all: F64
    without: F64


def farthest(values: F64, measured: np.ndarray) -> tuple[Index, F64]:
    """(q,) who lies farthest from the average of each column of values (n, q), and how far beyond others."""
    columns = np.arange(values.shape[1])
    count = measured.sum(axis=0)
    mean = np.where(measured, values, 0.0).sum(axis=0) / np.maximum(count, 1)
    row: Index = np.where(measured, np.abs(values - mean), -1.0).argmax(axis=0)
    # About the average of the others: that of all bears the weight of this one.
    others = (mean * count - values[row, columns]) / np.maximum(count - 1, 1)
    rest = np.where(measured, np.abs(values - others), 0.0)
    largest = rest[row, columns]
    rest[row, columns] = 0.0
    return row, largest / np.maximum(rest.max(axis=0), np.finfo(float).tiny)


def goes_with(X: F64, score: F64, measured: np.ndarray) -> list[GoesWith]:
    """How columns (n, q) go with the outcome's score (n,) with and without who lies farthest.

    Once that is who lies farthest in the column, once in the outcome.
    """
    in_column = farthest(X, measured)
    of_score, apart = farthest(score[:, None], np.ones((score.size, 1), dtype=bool))
    in_score = np.repeat(of_score, X.shape[1]), np.repeat(apart, X.shape[1])
    found = []
    for row, far in (in_column, in_score):
        without = measured.copy()
        without[row, np.arange(X.shape[1])] = False
        found.append(GoesWith(row, far, _correlation(X, score, measured), _correlation(X, score, without)))
    return found


def _correlation(X: F64, score: F64, measured: np.ndarray) -> F64:
    """(q,) in standard errors, of what was measured."""
    count = np.maximum(measured.sum(axis=0), 1)
    x = np.where(measured, X, 0.0)
    x = np.where(measured, x - x.sum(axis=0) / count, 0.0)
    s = np.where(measured, score[:, None], 0.0)
    s = np.where(measured, s - s.sum(axis=0) / count, 0.0)
    spread = np.sqrt((x * x).sum(axis=0) * (s * s).sum(axis=0))
    r = (x * s).sum(axis=0) / np.where(spread > 0.0, spread, np.inf)
    return r * np.sqrt(count)


def check_graded_influence(evidence: Evidence, fit: PlainFit, checked: Checked, n_telling: int) -> Check:
    """``n_telling`` are patients who tell something of the outcome: all, or those with the event."""
    words = checked.words
    if fit.separated:
        return each_decides(
            "the shocks tell the outcome without a single exception",
            f"ask whether one of the columns was measured after {words.happening}, or is it.",
        )
    if n_telling < FEWEST_OF_A_CLASS:
        return each_decides(
            f"only {n_telling} patients tell anything of {words.happening}",
            "collect more of them before you read the ranks.",
        )
    scale = f"the {words.scale}" if words.is_chance else words.happening
    hides = f"hides how closely a column goes with {words.happening}"
    # What was drawn at random in the place of a missing value is nobody's, and none of it is looked up.
    moved = np.where(evidence.rest_on_measurements, fit.influence(), 0.0)
    on_effects = on_coefficients(evidence, moved, scale, hides)
    return what_one_decides((_on_columns(evidence, checked), on_effects), checked)


def _on_columns(evidence: Evidence, checked: Checked) -> Decided:
    """How closely a column goes with the outcome, in the model or not: a misprint can hide that."""
    layout = checked.model.layout
    columns = np.arange(checked.X.shape[1]) if layout is None else np.flatnonzero(~layout.discrete)
    cells = np.ix_(evidence.rows, columns)
    measured = np.ones((evidence.n_rows, columns.size), dtype=bool)
    if checked.missing is not None:
        measured = ~checked.missing[cells]
    decided = [
        (float(change), place, one)
        for one in goes_with(checked.X[cells], checked.score[evidence.rows], measured)
        for place, change in enumerate(np.abs(one.without - one.with_all))
        if one.apart[place] >= STANDS_APART
        and max(abs(one.with_all[place]), abs(one.without[place])) >= DIFFERS
        and change >= DOUBTFUL_CHANGE
    ]
    if not decided:
        return Decided("fine", 0.0, (), (), "")
    decided.sort(key=lambda found: -found[0])
    names = [checked.named.column_names[columns[place]] for _, place, _ in decided]
    size, worst, of_worst = decided[0]
    return Decided(
        by_size(size, DOUBTFUL_CHANGE, BROKEN_CHANGE),
        size,
        [int(evidence.rows[one.row[place]]) for _, place, one in decided],
        list(dict.fromkeys(names)),
        f"Without one patient, {one_line(names[0], 40)} goes with {checked.words.happening} by "
        f"{abs(of_worst.without[worst]):.1f} standard errors instead of {abs(of_worst.with_all[worst]):.1f}",
    )
