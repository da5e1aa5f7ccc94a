"""Single patients: does the model hang on one of them, and are any unlike the cohort it learned from?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.moments import welch_t
from ..core.table import F64, ColumnMoments, Index
from ..wording import listed, one_line, plural, quoted
from .blocks import in_blocks
from .checked import Checked
from .diagnosis import VERDICTS, Check, Verdict
from .evidence import Evidence, PlainLogit

# Standard errors by which leaving one patient out moves a coefficient. In clean cohorts of 200 patients with
# skewed columns one in a hundred moves it by more than one.
DOUBTFUL_INFLUENCE, BROKEN_INFLUENCE = 1.5, 3.0
# Standard errors by which the difference between cases and controls grows or shrinks without one patient...
DOUBTFUL_CHANGE, BROKEN_CHANGE = 1.0, 2.0
# ...who lies so many times as far from the average as the next: lognormal columns have no such patient.
STANDS_APART = 6.0
# The difference is one from so many standard errors on.
DIFFERS = 2.0
# With fewer in a class, each of them is a large part of all that is known of it.
FEWEST_OF_A_CLASS = 10
# Standard deviations of a shock beyond which there was next to nobody to learn from: by Chebyshev's
# inequality no more than 1 in 64 of the patients of the fit, whatever their law.
FAR = 8.0
DOUBTFUL_SHARE, BROKEN_SHARE = 0.02, 0.05

COLUMNS_NAMED = 3
INFLUENCE_QUESTION = "Does no single patient decide the result?"
RANGE_QUESTION = "Are the patients' shocks within what the model has seen?"


def influence(fit: PlainLogit, y: np.ndarray) -> F64:
    """(n, k): standard errors by which each coefficient would move without each patient (one Newton step)."""
    pull = fit.design @ fit.covariance
    leverage = (pull * fit.design).sum(axis=1) * fit.risk * (1.0 - fit.risk)
    moved = pull * ((y - fit.risk) / np.maximum(1.0 - leverage, 1e-6))[:, None]
    return (moved / np.sqrt(np.diagonal(fit.covariance)))[:, :-1]


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


def check_influence(evidence: Evidence, fit: PlainLogit, checked: Checked) -> Check:
    n_rarer = int(min(evidence.known.sum(), evidence.known.size - evidence.known.sum()))
    if fit.separated or n_rarer < FEWEST_OF_A_CLASS:
        return _nobody_can_be_told(fit.separated, n_rarer)
    moved = influence(fit, evidence.known)
    hides = "hides how far cases and controls differ in a column"
    return what_one_decides(
        (_on_differences(evidence, checked), on_coefficients(evidence, moved, "the log-odds", hides)), checked
    )


def what_one_decides(both: tuple[Decided, Decided], checked: Checked) -> Check:
    """The check of what single patients decide: of the columns, and of the coefficients."""
    worst = max(both, key=lambda one: VERDICTS.index(one.verdict))
    columns = tuple(dict.fromkeys(column for one in both for column in one.columns))
    rows = np.array(list(dict.fromkeys(row for one in both for row in one.rows)), dtype=np.intp)
    return Check(
        "influence",
        INFLUENCE_QUESTION,
        worst.verdict,
        max(one.size for one in both),
        None,
        f"{worst.statement}; {checked.called(rows)}." if rows.size else f"{both[1].statement}.",
        _look_up(columns) if rows.size else "",
        columns,
        limit=_rests_on_one(worst.verdict, columns),
        touches="variables" if rows.size else "",
        unnamed=f"{worst.statement}." if rows.size else "",
    )


@dataclass(frozen=True)
class Decided:
    """What single patients decide: how much (in standard errors), who they are, and of which columns."""

    verdict: Verdict
    size: float
    rows: Sequence[int]
    columns: Sequence[str]
    statement: str


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
    found = np.flatnonzero(decides & (change >= DOUBTFUL_CHANGE))
    found = found[np.argsort(-change[found], kind="stable")]
    if not found.size:
        return Decided("fine", 0.0, (), (), "")
    names = [checked.named.column_names[columns[place]] for place in found]
    worst = found[0]
    return Decided(
        by_size(float(change[worst]), DOUBTFUL_CHANGE, BROKEN_CHANGE),
        float(change[worst]),
        evidence.rows[far.row[found]].tolist(),
        names,
        f"Without one patient, cases and controls differ in {one_line(names[0], 40)} by {after[worst]:.1f} "
        f"standard errors instead of {before[worst]:.1f}",
    )


def on_coefficients(evidence: Evidence, moved: F64, scale: str, hides: str) -> Decided:
    """By how much coefficients are ``moved`` (n, k) without each patient, in their standard errors.

    ``scale`` is what shocks add to, and ``hides`` what else no single patient does, in words.
    """
    moved = np.abs(moved)
    by_column = moved.max(axis=0, initial=0.0)
    largest = float(by_column.max(initial=0.0))
    heavy = np.flatnonzero(by_column >= DOUBTFUL_INFLUENCE)
    names = evidence.named(heavy[np.argsort(-by_column[heavy], kind="stable")])
    return Decided(
        by_size(largest, DOUBTFUL_INFLUENCE, BROKEN_INFLUENCE),
        largest,
        evidence.rows[moved.max(axis=1, initial=0.0) >= DOUBTFUL_INFLUENCE].tolist(),
        names,
        f"Without one patient, what {one_line(names[0], 40)} adds to {scale} changes by {largest:.1f} "
        "of its standard errors"
        if names
        else f"No single one of {len(moved)} patients changes what a column adds to {scale} by more than "
        f"{largest:.1f} of its standard errors, or {hides}",
    )


def _nobody_can_be_told(separated: bool, n_rarer: int) -> Check:
    if separated:
        return each_decides(
            "the shocks tell cases and controls apart without a single exception",
            "ask whether one of the columns was measured after the diagnosis, or defines it.",
        )
    return each_decides(
        f"there are only {n_rarer} patients of the rarer kind, cases or controls",
        "collect more patients of the rarer kind before you read the ranks.",
    )


def each_decides(reason: str, advice: str) -> Check:
    """The check where too few patients tell anything."""
    return Check(
        "influence",
        INFLUENCE_QUESTION,
        "cannot tell",
        float("nan"),
        None,
        f"Not to be seen: {reason}, so that each of a few patients decides.",
        advice,
        limit="Values and ranks may rest on one or two patients.",
        touches="variables",
    )


def _rests_on_one(verdict: Verdict, columns: Sequence[str]) -> str:
    named = listed([quoted(name, 40) for name in dict.fromkeys(columns)], COLUMNS_NAMED)
    if verdict == "broken":
        unless = "nor that it has none, before the patient is looked up"
        return f"Do not read the values and ranks of {named}, {unless}."
    return f"Values and ranks of {named} rest in part on one patient." if verdict == "doubtful" else ""


def _look_up(columns: Sequence[str]) -> str:
    named = listed([one_line(name, 40) for name in dict.fromkeys(columns)], COLUMNS_NAMED)
    return f"look up {named} of these patients for a wrong unit or a misprint; correct it, and fit again."


def check_range(errors: F64, names: Sequence[str], called: Callable[[Index], str], predictions: str) -> Check:
    """For any patients, by the errors (n, k) that the model gives them; ``called`` says what to call rows.

    Judged by the worst column: many columns with long tails have many patients with one large shock.
    """
    if not len(errors):
        return Check(
            "in_range",
            RANGE_QUESTION,
            "not checked",
            float("nan"),
            None,
            "There is no patient to look at.",
            "give at least one patient.",
            limit="Nobody's shocks were looked at.",
        )
    far = np.abs(errors) > FAR
    patients = np.flatnonzero(far.any(axis=1))
    by_column = far.sum(axis=0) / max(len(far), 1)
    share = float(by_column.max(initial=0.0))
    verdict = by_size(share, DOUBTFUL_SHARE, BROKEN_SHARE)
    columns = tuple(names[c] for c in np.argsort(-by_column, kind="stable")[: int((by_column > 0).sum())])
    few = listed([one_line(name, 40) for name in columns], COLUMNS_NAMED)
    counted = (
        f"{patients.size} of {plural(len(far), 'patient')} {'has' if patients.size == 1 else 'have'} a shock "
        f"of more than {FAR:g} standard deviations"
    )
    return Check(
        "in_range",
        RANGE_QUESTION,
        verdict,
        share,
        None,
        counted
        + (f"; {called(patients)}. Look at them before you read their results." if patients.size else "."),
        ""
        if verdict == "fine"
        else f"check the units of {few}; if they are right, fit the model on a cohort like these patients.",
        columns if verdict != "fine" else (),
        limit=""
        if verdict == "fine"
        else f"{'Do not read' if verdict == 'broken' else 'Take with care'} the {predictions} and values of "
        f"the {plural(patients.size, 'patient')} with such shocks: next to nobody like them was learned from."
        "",
        touches="" if verdict == "fine" else "risk",
        unnamed=f"{counted}." if patients.size else "",
    )


def by_size(size: float, doubtful: float, broken: float) -> Verdict:
    return "broken" if size >= broken else "doubtful" if size >= doubtful else "fine"
