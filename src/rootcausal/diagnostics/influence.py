"""Influence: does the model hang on a single patient?

Once by how much leaving one patient out moves a coefficient, and once by what the patient who lies farthest
from the average does to how a column goes with the outcome: a misprint can hide that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..core.moments import welch_t
from ..core.table import F64, ColumnMoments, Index
from ..wording import listed, one_line
from .checked import Checked
from .diagnosis import VERDICTS, Check, Verdict
from .evidence import Evidence
from .ranks import in_blocks
from .regressions import PlainFit, PlainLogit
from .specification import CheckSpec, Scale, Text

# Standard errors by which leaving one patient out moves a coefficient. In clean cohorts of 200 patients with
# skewed columns one in a hundred moves it by more than one.
COEFFICIENT = Scale(1.5, 3.0)
# Standard errors by which a column goes with the outcome more, or less, without one patient...
CHANGE = Scale(1.0, 2.0)
# ...who lies so many times as far from the average as the next: lognormal columns have no such patient.
STANDS_APART = 6.0
# The difference is one from so many standard errors on.
DIFFERS = 2.0
# With fewer in a class, each of them is a large part of all that is known of it.
FEWEST_OF_A_CLASS = 10
COLUMNS_NAMED = 3

SPEC = CheckSpec(
    "influence",
    "Does no single patient have undue influence on the result?",
    "standard errors by which one patient moves a coefficient (how a column goes with the outcome)",
    {
        "fine": Text("{statement}"),
        "cannot tell": Text(
            "Not to be seen: {reason}, so that each of a few patients decides.",
            "Values and ranks may rest on one or two patients.",
            "{advice}",
        ),
        "doubtful": Text(
            "{statement}; {called}.",
            "Values and ranks of {names:3} rest in part on one patient.",
            "look up {columns} of these patients for a wrong unit or a misprint; correct it, and fit again.",
        ),
        "broken": Text(
            limit="Do not read the values and ranks of {names:3}, nor that it has none, before the patient "
            "is looked up."
        ),
    },
    touches="variables",
    doubtful_from=f"{COEFFICIENT.doubtful:g} ({CHANGE.doubtful:g})",
    broken_from=f"{COEFFICIENT.broken:g} ({CHANGE.broken:g})",
)


@dataclass(frozen=True)
class Decided:
    """What single patients decide: how much (in standard errors), who they are, and of which columns."""

    verdict: Verdict
    size: float
    rows: Sequence[int]
    columns: Sequence[str]
    statement: str


def check_influence(evidence: Evidence, fit: PlainLogit, checked: Checked) -> Check:
    """Of a diagnosis."""
    n_rarer = int(min(evidence.known.sum(), evidence.known.size - evidence.known.sum()))
    if fit.separated:
        return SPEC.check(
            "cannot tell",
            reason="the shocks tell cases and controls apart without a single exception",
            advice="ask whether one of the columns was measured after the diagnosis, or defines it.",
        )
    if n_rarer < FEWEST_OF_A_CLASS:
        return SPEC.check(
            "cannot tell",
            reason=f"there are only {n_rarer} patients of the rarer kind, cases or controls",
            advice="collect more patients of the rarer kind before you read the ranks.",
        )
    moved = influence(fit, evidence.known)
    hides = "hides how far cases and controls differ in a column"
    of_effects = _on_coefficients(evidence, moved, checked.moved, hides)
    return _check(_on_differences(evidence, checked), of_effects, checked)


def check_graded_influence(evidence: Evidence, fit: PlainFit, checked: Checked, n_telling: int) -> Check:
    """Of times and numbers; ``n_telling`` patients tell something of these: all, or those with the event."""
    words = checked.words
    if fit.separated:
        return SPEC.check(
            "cannot tell",
            reason="the shocks tell for certain who has the event first"
            if words.is_chance
            else "the shocks tell the outcome without a single exception",
            advice=f"ask whether one of the columns was measured after {words.happening}, or is it.",
        )
    if n_telling < FEWEST_OF_A_CLASS:
        return SPEC.check(
            "cannot tell",
            reason=f"only {n_telling} patients tell anything of {words.happening}",
            advice="collect more of them before you read the ranks.",
        )
    hides = f"hides how closely a column goes with {words.happening}"
    # What was drawn at random in the place of a missing value is nobody's, and none of it is looked up.
    moved = np.where(evidence.rest_on_measurements, fit.influence(), 0.0)
    of_effects = _on_coefficients(evidence, moved, checked.moved, hides)
    return _check(_on_columns(evidence, checked), of_effects, checked)


def _check(of_columns: Decided, of_effects: Decided, checked: Checked) -> Check:
    """What single patients decide of the columns, and of the coefficients."""
    both = of_columns, of_effects
    worst = max(both, key=lambda one: VERDICTS.index(one.verdict))
    columns = tuple(dict.fromkeys(column for one in both for column in one.columns))
    rows = np.array(list(dict.fromkeys(row for one in both for row in one.rows)), dtype=np.intp)
    return SPEC.check(
        worst.verdict,
        max(one.size for one in both),
        names=columns,
        unnamed=f"{worst.statement}." if rows.size else "",
        statement=worst.statement if rows.size else f"{of_effects.statement}.",
        called=checked.called(rows),
        columns=listed([one_line(name, 40) for name in columns], COLUMNS_NAMED),
    )


def _on_coefficients(evidence: Evidence, moved: F64, scale: str, hides: str) -> Decided:
    """By how much coefficients are ``moved`` (n, k) without each patient, in their standard errors.

    ``scale`` is what shocks add to, and ``hides`` what else no single patient does, in words.
    """
    moved = np.abs(moved)
    by_column = moved.max(axis=0, initial=0.0)
    largest = float(by_column.max(initial=0.0))
    heavy = np.flatnonzero(by_column >= COEFFICIENT.doubtful)
    names = evidence.named(heavy[np.argsort(-by_column[heavy], kind="stable")])
    return Decided(
        COEFFICIENT.by_size(largest),
        largest,
        evidence.rows[moved.max(axis=1, initial=0.0) >= COEFFICIENT.doubtful].tolist(),
        names,
        f"Without one patient, what {one_line(names[0], 40)} adds to {scale} changes by {largest:.1f} "
        "of its standard errors"
        if names
        else f"No single one of {len(moved)} patients changes what a column adds to {scale} by more than "
        f"{largest:.1f} of its standard errors, or {hides}",
    )


def influence(fit: PlainLogit, y: np.ndarray) -> F64:
    """(n, k): standard errors by which each coefficient would move without each patient (one Newton step)."""
    pull = fit.design @ fit.covariance
    leverage = (pull * fit.design).sum(axis=1) * fit.risk * (1.0 - fit.risk)
    moved = pull * ((y - fit.risk) / np.maximum(1.0 - leverage, 1e-6))[:, None]
    return (moved / np.sqrt(np.diagonal(fit.covariance)))[:, :-1]


def _on_differences(evidence: Evidence, checked: Checked) -> Decided:
    """How far cases and controls differ in a column, in the model or not: a misprint can hide that."""
    layout = checked.model.layout
    columns = np.arange(checked.X.shape[1]) if layout is None else np.flatnonzero(~layout.discrete)
    cells = np.ix_(evidence.rows, columns)
    missing = None if checked.missing is None else checked.missing[cells]
    far = farthest_patients(checked.X[cells], evidence.known, missing)
    before, after = np.abs(far.with_all), np.abs(far.without)
    change = np.abs(far.without - far.with_all)
    decides = (far.apart >= STANDS_APART) & (np.maximum(before, after) >= DIFFERS) & np.isfinite(change)
    found = np.flatnonzero(decides & (change >= CHANGE.doubtful))
    found = found[np.argsort(-change[found], kind="stable")]
    if not found.size:
        return Decided("fine", 0.0, (), (), "")
    names = [checked.named.column_names[columns[place]] for place in found]
    worst = found[0]
    return Decided(
        CHANGE.by_size(float(change[worst])),
        float(change[worst]),
        evidence.rows[far.row[found]].tolist(),
        names,
        f"Without one patient, cases and controls differ in {one_line(names[0], 40)} by {after[worst]:.1f} "
        f"standard errors instead of {before[worst]:.1f}",
    )


@dataclass(frozen=True)
class Farthest:
    """Of each column, the patient farthest from its average; all (q,).

    Attributes
    ----------
    row : of this patient.
    apart : how many times as far the patient lies as the next.
    with_all, without : difference between cases and controls, in standard errors (Welch).
    """

    row: Index
    apart: F64
    with_all: F64
    without: F64


def farthest_patients(X: F64, y: np.ndarray, missing: np.ndarray | None = None) -> Farthest:
    """What the farthest patient of each column of X (n, q) does to how far cases and controls differ.

    ``missing`` (n, q) are values that were drawn, which count for nothing here.
    """
    n, q = X.shape
    row = np.zeros(q, dtype=np.intp)
    apart, with_all, without = np.zeros((3, q))

    def work(some: slice) -> None:
        measured = None if missing is None else ~missing[:, some].T
        found = _farthest(np.ascontiguousarray(X[:, some].T), y, measured)
        row[some], apart[some], with_all[some], without[some] = found

    in_blocks(work, q, n)
    return Farthest(row, apart, with_all, without)


def _farthest(values: F64, y: np.ndarray, measured: np.ndarray | None) -> tuple[Index, F64, F64, F64]:
    """What :class:`Farthest` holds, of values (q, n), a row for each column."""
    columns = np.arange(len(values))
    of_label = np.stack([y == label for label in (0, 1)]).astype(np.float64)
    rows_of = of_label.sum(axis=1)
    if measured is None:
        of_class = np.repeat(rows_of[:, None], columns.size, axis=1)
        mean = values.mean(axis=1)
        far = np.abs(values - mean[:, None])
    else:
        of_class = of_label @ measured.T
        mean = np.where(measured, values, 0.0).sum(axis=1) / np.maximum(of_class.sum(axis=0), 1.0)
        far = np.where(measured, np.abs(values - mean[:, None]), -1.0)
    count = of_class.sum(axis=0)
    row: Index = far.argmax(axis=1)
    # About the average of the others: that of all bears the weight of this one.
    others_mean = (mean * count - values[columns, row]) / np.maximum(count - 1.0, 1.0)
    rest = values - others_mean[:, None]
    if measured is not None:
        rest[~measured] = 0.0
    largest = rest[columns, row]
    rest[columns, row] = 0.0
    with np.errstate(over="ignore"):  # where nobody else differs from the average, this one lies apart
        apart = np.abs(largest) / np.maximum(np.abs(rest).max(axis=1), np.finfo(float).tiny)
    own = np.stack([y[row] == label for label in (0, 1)]).astype(np.float64)
    total = of_label @ rest.T
    rest *= rest
    others = ColumnMoments(rows_of, total, of_label @ rest.T, measured=of_class - own)
    this_one = ColumnMoments(rows_of, own * largest, own * largest**2, measured=own)
    return row, apart, welch_t(others + this_one)[0], welch_t(others)[0]


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
        and change >= CHANGE.doubtful
    ]
    if not decided:
        return Decided("fine", 0.0, (), (), "")
    decided.sort(key=lambda found: -found[0])
    names = [checked.named.column_names[columns[place]] for _, place, _ in decided]
    size, worst, of_worst = decided[0]
    return Decided(
        CHANGE.by_size(size),
        size,
        [int(evidence.rows[one.row[place]]) for _, place, one in decided],
        list(dict.fromkeys(names)),
        f"Without one patient, {one_line(names[0], 40)} goes with {checked.words.happening} by "
        f"{abs(of_worst.without[worst]):.1f} standard errors instead of {abs(of_worst.with_all[worst]):.1f}",
    )


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
