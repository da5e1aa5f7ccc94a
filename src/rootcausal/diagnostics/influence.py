"""Influence: does the model hang on a single patient?

Once by how much leaving one patient out moves a coefficient, and once by what the patient who lies farthest
from the average does to how a column goes with the outcome: a misprint can hide that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..method.moments import welch_t
from ..method.table import F64, ColumnMoments, Index
from ..wording import listed, one_line
from .dependence import in_blocks
from .diagnosis import VERDICTS, Check, CheckSpec, Scale, Text, Verdict
from .evidence import Checked, Evidence
from .regressions import PlainFit, PlainLogit

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

FEW, EACH = "Not to be seen: ", ", so that each of a few patients decides."
SPEC = CheckSpec(
    "influence",
    "Does no single patient have undue influence on the result?",
    "standard errors by which one patient moves a coefficient (how a column goes with the outcome)",
    {
        "fine": Text("{statement}"),
        "cannot tell": Text(
            f"{FEW}only {{n}} patients tell anything of {{happening}}{EACH}",
            "Values and ranks may rest on one or two patients.",
            "collect more of them before you read the ranks.",
        ),
        "cannot tell, binary has few": Text(
            f"{FEW}there are only {{n}} patients of the rarer kind, cases or controls{EACH}",
            advice="collect more patients of the rarer kind before you read the ranks.",
        ),
        "cannot tell, binary is certain": Text(
            f"{FEW}the shocks tell cases and controls apart without a single exception{EACH}",
            advice="ask whether one of the columns was measured after the diagnosis, or defines it.",
        ),
        "cannot tell, survival is certain": Text(
            f"{FEW}the shocks tell for certain who has the event first{EACH}",
            advice="ask whether one of the columns was measured after the event, or is it.",
        ),
        "cannot tell, ordinal is certain": Text(
            f"{FEW}the shocks tell some patients' stages for certain{EACH}",
            advice="ask whether one of the columns was measured after the stage, or defines it.",
        ),
        "cannot tell, count is certain": Text(
            f"{FEW}the shocks tell some patients' counts for certain{EACH}",
            advice="ask whether one of the columns was measured after the count, or is it.",
        ),
        "cannot tell, continuous is certain": Text(
            f"{FEW}the shocks tell the outcome without a single exception{EACH}",
            advice="ask whether one of the columns was measured after the outcome, or is it.",
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


def check_influence(evidence: Evidence, fit: PlainFit, checked: Checked, n_telling: int) -> Check:
    """``n_telling`` are patients who tell something of the outcome: of the rarer kind, or with the event."""
    kind, happening = checked.words.kind, checked.words.happening
    if fit.separated or n_telling < FEWEST_OF_A_CLASS:
        case = f"{kind} {'is certain' if fit.separated else 'has few'}"
        return SPEC.check("cannot tell", case=case, n=n_telling, happening=happening)
    of_labels, moved = isinstance(fit, PlainLogit), fit.influence()
    said, hides = f"{{}} goes with {happening}", f"how closely a column goes with {happening}"
    if of_labels:
        said, hides = "cases and controls differ in {}", "how far cases and controls differ in a column"
    else:  # what was drawn in the place of a missing value is nobody's, and none of it is looked up
        moved = np.where(evidence.rest_on_measurements, moved, 0.0)
    of_effects = _on_coefficients(evidence, moved, checked.moved, f"hides {hides}")
    return _check(_on_columns(evidence, checked, of_labels, said), of_effects, checked)


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


@dataclass(frozen=True)
class Farthest:
    """Of each column, one patient who may decide how it goes with the outcome; all (q,).

    Attributes
    ----------
    row : of this patient.
    apart : how many times as far from the average the patient lies as the next.
    with_all, without : difference between cases and controls (Welch), or correlation, in standard errors.
    """

    row: Index
    apart: F64
    with_all: F64
    without: F64

    @property
    def change(self) -> F64:
        """(q,) of who decides; 0 of others."""
        change = np.abs(self.without - self.with_all)
        goes = np.maximum(np.abs(self.with_all), np.abs(self.without)) >= DIFFERS
        decides = (self.apart >= STANDS_APART) & goes & np.isfinite(change) & (change >= CHANGE.doubtful)
        return np.where(decides, change, 0.0)


def _on_columns(evidence: Evidence, checked: Checked, of_labels: bool, said: str) -> Decided:
    """How a column goes with the outcome, in the model or not: a misprint can hide that."""
    layout = checked.model.layout
    columns = np.arange(checked.X.shape[1]) if layout is None else np.flatnonzero(~layout.discrete)
    cells = np.ix_(evidence.rows, columns)
    X, measured = checked.X[cells], None if checked.missing is None else ~checked.missing[cells]
    score = checked.score[evidence.rows]
    both = [farthest_patients(X, evidence.known, measured)] if of_labels else goes_with(X, score, measured)
    decided = [
        (float(change), place, one)
        for one in both
        for place, change in enumerate(one.change.tolist())
        if change
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
        f"Without one patient, {said.format(one_line(names[0], 40))} by {abs(of_worst.without[worst]):.1f} "
        f"standard errors instead of {abs(of_worst.with_all[worst]):.1f}",
    )


def farthest(values: F64, measured: np.ndarray | None) -> tuple[Index, F64, F64, F64]:
    """Who lies farthest from the average of each row of values (q, n), and how far beyond others, (q,).

    Then how far from the average of the others: these (q, n), 0 for who lies farthest, and that one (q,).
    """
    columns = np.arange(len(values))
    mean, count = _means(values, measured)
    far = np.abs(values - mean[:, None])
    if measured is not None:
        far[~measured] = -1.0
    row: Index = far.argmax(axis=1)
    # About the average of the others: that of all bears the weight of this one.
    others = (mean * count - values[columns, row]) / np.maximum(count - 1.0, 1.0)
    rest = values - others[:, None]
    if measured is not None:
        rest[~measured] = 0.0
    largest = rest[columns, row]
    rest[columns, row] = 0.0
    with np.errstate(over="ignore"):  # where nobody else differs from the average, this one lies apart
        apart = np.abs(largest) / np.maximum(np.abs(rest).max(axis=1), np.finfo(float).tiny)
    return row, apart, rest, largest


def farthest_patients(X: F64, y: np.ndarray, measured: np.ndarray | None = None) -> Farthest:
    """What the farthest patient of each column of X (n, q) does to how far cases and controls differ.

    Values that were not ``measured`` (n, q) count for nothing here.
    """
    n, q = X.shape
    row = np.zeros(q, dtype=np.intp)
    apart, with_all, without = np.zeros((3, q))
    of_label = np.stack([y == label for label in (0, 1)]).astype(np.float64)
    sizes = of_label.sum(axis=1)

    def work(some: slice) -> None:
        there = None if measured is None else measured[:, some].T
        row[some], apart[some], rest, largest = farthest(np.ascontiguousarray(X[:, some].T), there)
        of_class = np.repeat(sizes[:, None], len(rest), axis=1) if there is None else of_label @ there.T
        own = np.stack([y[row[some]] == label for label in (0, 1)]).astype(np.float64)
        total, squares = of_label @ rest.T, of_label @ np.square(rest).T
        others = ColumnMoments(sizes, total, squares, measured=of_class - own)
        this_one = ColumnMoments(sizes, own * largest, own * largest**2, measured=own)
        with_all[some], without[some] = welch_t(others + this_one)[0], welch_t(others)[0]

    in_blocks(work, q, n)
    return Farthest(row, apart, with_all, without)


def goes_with(X: F64, score: F64, measured: np.ndarray | None) -> list[Farthest]:
    """How columns (n, q) go with the outcome's score (n,) with and without who lies farthest.

    Once that is who lies farthest in the column, once in the outcome.
    """
    n, q = X.shape
    row = np.zeros((2, q), dtype=np.intp)
    apart, with_all, without = np.zeros((3, 2, q))
    row[1], apart[1], *_ = farthest(score[None], None)

    def work(some: slice) -> None:
        values = np.ascontiguousarray(X[:, some].T)
        there = None if measured is None else np.ascontiguousarray(measured[:, some].T)
        row[0, some], apart[0, some], *_ = farthest(values, there)
        with_all[:, some] = _correlation(values, score, there)
        for which in (0, 1):
            without[which, some] = _correlation(values, score, there, row[which, some])

    in_blocks(work, q, n)
    return [Farthest(*of) for of in zip(row, apart, with_all, without, strict=True)]


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
