"""Does the model of a time or a number hang on a single patient?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.table import F64, Index
from ..wording import one_line
from .blocks import in_blocks
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


def farthest(values: F64, measured: np.ndarray | None) -> tuple[Index, F64]:
    """(q,) who lies farthest from the average of each row of values (q, n), and how far beyond others."""
    columns = np.arange(len(values))
    mean, count = _means(values, measured)
    far = np.abs(values - mean[:, None])
    if measured is not None:
        far[~measured] = -1.0
    row: Index = far.argmax(axis=1)
    # About the average of the others: that of all bears the weight of this one.
    others = (mean * count - values[columns, row]) / np.maximum(count - 1, 1)
    rest = np.abs(values - others[:, None])
    if measured is not None:
        rest[~measured] = 0.0
    largest = rest[columns, row]
    rest[columns, row] = 0.0
    with np.errstate(over="ignore"):  # where nobody else differs from the average, this one lies apart
        return row, largest / np.maximum(rest.max(axis=1), np.finfo(float).tiny)


def goes_with(X: F64, score: F64, measured: np.ndarray | None) -> list[GoesWith]:
    """How columns (n, q) go with the outcome's score (n,) with and without who lies farthest.

    Once that is who lies farthest in the column, once in the outcome.
    """
    n, q = X.shape
    row = np.zeros((2, q), dtype=np.intp)
    apart, with_all, without = np.zeros((3, 2, q))
    row[1], apart[1] = farthest(score[None], None)

    def work(some: slice) -> None:
        values = np.ascontiguousarray(X[:, some].T)
        there = None if measured is None else np.ascontiguousarray(measured[:, some].T)
        row[0, some], apart[0, some] = farthest(values, there)
        with_all[:, some] = _correlation(values, score, there)
        for which in (0, 1):
            without[which, some] = _correlation(values, score, there, row[which, some])

    in_blocks(work, q, n)
    return [GoesWith(*of) for of in zip(row, apart, with_all, without, strict=True)]


def _correlation(values: F64, score: F64, measured: np.ndarray | None, but: Index | None = None) -> F64:
    """(q,) in standard errors, of what was measured of values (q, n), ``but`` (q,) for one row of each."""
    if but is not None:
        measured = np.ones(values.shape, dtype=bool) if measured is None else measured.copy()
        measured[np.arange(len(values)), but] = False
    mean, count = _means(values, measured)
    x, s = values - mean[:, None], np.broadcast_to(score - score.mean(), values.shape)
    if measured is not None:
        x[~measured] = 0.0
        s = np.where(measured, s - _means(s, measured)[0][:, None], 0.0)
    spread = np.sqrt(np.einsum("qn,qn->q", x, x) * np.einsum("qn,qn->q", s, s))
    return np.einsum("qn,qn->q", x, s) / np.where(spread > 0.0, spread, np.inf) * np.sqrt(count)


def _means(values: F64, measured: np.ndarray | None) -> tuple[F64, F64]:
    """(q,) of what was measured of values (q, n), and in how many."""
    if measured is None:
        return values.mean(axis=1), np.full(len(values), float(values.shape[1]))
    count = np.maximum(measured.sum(axis=1), 1).astype(np.float64)
    return np.where(measured, values, 0.0).sum(axis=1) / count, count


def check_graded_influence(evidence: Evidence, fit: PlainFit, checked: Checked, n_telling: int) -> Check:
    """``n_telling`` are patients who tell something of the outcome: all, or those with the event."""
    words = checked.words
    if fit.separated:
        return each_decides(
            "the shocks tell for certain who has the event first"
            if words.is_chance
            else "the shocks tell the outcome without a single exception",
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
    measured = None if checked.missing is None else ~checked.missing[cells]
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
