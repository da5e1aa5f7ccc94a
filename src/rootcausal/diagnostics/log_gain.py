"""Which columns are straighter on a log scale.

Skewness says nothing here: it is what tells causes from effects. A column is offered a logarithm only where
both of these hold.

- The other columns and D explain more of its logarithm than of itself:
  ½ [log(1 − R²) − log(1 − R²_log)] is above 0.05 nats a row, and beyond chance.
- Once causal order and errors are learned from the columns as they are, its error depends on other errors;
  learned on a log scale, by less than half as much. Long tails alone make the first one true in a fifth of
  clean cohorts, and then the errors are independent as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.stats import chi2, rankdata

from ..backends.choose import choose_table
from ..method.layout import Layout
from ..method.moments import describe_columns
from ..method.ordering.ordering import VARIANTS, order_columns
from ..method.table import F64, Index
from .evidence import standardized, ties_restored

# Rows and columns that are enough to see it, and still take a fraction of a second.
ROWS_AT_MOST = 4_000
COLUMNS_AT_MOST = 100
COLUMNS_IN_ORDER = 20
# A regression wants so many patients a column.
ROWS_A_COLUMN = 5
# Columns that are offered at once.
OFFERED_AT_MOST = 12
# Nats a row, and standard errors, from which on relations are straighter.
STRAIGHTER = 0.05
STANDARD_ERRORS = 2.0
# A logarithm of values that lie closer together is nearly a straight line.
SMALLEST_RATIO = 3.0
# Errors depend on each other below this p-value.
DEPENDENT = 1e-4
# And what is beyond chance of that must fall to this part.
LEFT = 0.4
# Keeps the equations of columns that are copies of each other solvable.
RIDGE = 1e-8


@dataclass(frozen=True)
class Scales:
    """Columns as they are, and their logarithms.

    Attributes
    ----------
    values : (n, q) as they are.
    logs : (n, q) logarithms; of columns that are no candidates, the values.
    measured : (n, q), or None where all are.
    score : (n,) of the outcome: labels, martingale residuals or numbers.
    candidates : (q,) which columns could have a logarithm.
    layout : what the columns stand for.
    """

    values: F64
    logs: F64
    measured: np.ndarray | None
    score: np.ndarray
    candidates: np.ndarray
    layout: Layout

    @classmethod
    def of(
        cls, X: F64, missing: np.ndarray | None, score: np.ndarray, layout: Layout, candidates: np.ndarray
    ) -> Scales:
        """``candidates`` (q,) are positive wherever they were measured."""
        measured = None if missing is None or not missing.any() else ~missing
        logs = X.copy()
        for column in np.flatnonzero(candidates):
            rows = slice(None) if measured is None else measured[:, column]
            known = X[rows, column]
            log = np.log(known)
            # What was drawn in the place of a missing value need not be positive: it is as many standard
            # deviations from the mean on both scales.
            logs[:, column] = log.mean() + (X[:, column] - known.mean()) * (log.std() / known.std())
            logs[rows, column] = log
        return cls(X, logs, measured, score, candidates, layout)

    @cached_property
    def standard(self) -> F64:
        """(n, 2q + 1) of mean zero and variance one: values, logarithms and the outcome."""
        return standardized(np.column_stack([self.values, self.logs, self.score]))

    @cached_property
    def products(self) -> F64:
        """(2q + 1, 2q + 1) correlations of these."""
        found: F64 = self.standard.T @ self.standard / len(self.score)
        return found

    def state(self, logged: Sequence[int]) -> Index:
        """(q + 1,) which of these they are with some columns on a log scale, the outcome last."""
        q = self.layout.n_columns
        places = np.arange(q + 1)
        places[np.array(logged, dtype=np.intp)] += q
        places[-1] = 2 * q
        return places

    def on(self, logged: Index) -> F64:
        """(n, q): these columns on a log scale, the others as they are."""
        values = self.values.copy()
        values[:, logged] = self.logs[:, logged]
        return values

    def of_rows(self, rows: Index) -> Scales:
        """The same of some patients."""
        measured = None if self.measured is None else self.measured[rows]
        return replace(
            self, values=self.values[rows], logs=self.logs[rows], measured=measured, score=self.score[rows]
        )

    def rows_of(self, column: int) -> np.ndarray:
        """(n,) where it was measured."""
        return np.ones(len(self.score), dtype=bool) if self.measured is None else self.measured[:, column]


@dataclass(frozen=True)
class Gain:
    """What a logarithm of one column does.

    Attributes
    ----------
    column : which.
    nats : ½ [log(1 − R²) − log(1 − R²_log)].
    error : its standard error.
    explained, explained_log : R² of the column and of its logarithm.
    """

    column: int
    nats: float
    error: float
    explained: float
    explained_log: float

    @property
    def clear(self) -> bool:
        return self.nats > max(STRAIGHTER, STANDARD_ERRORS * self.error)


def screened(scales: Scales) -> tuple[list[Gain], bool]:
    """Columns of whose logarithm the others explain clearly more, the best first; and whether that is all.

    One is taken at a time, since a column beside one that wants a logarithm seems to want one itself.
    """
    chosen: list[int] = []
    best = _next(scales, chosen)
    while best is not None and len(chosen) < OFFERED_AT_MOST:
        chosen.append(best)
        best = _next(scales, chosen)
    gains = [gain_of(scales, column, [c for c in chosen if c != column]) for column in chosen]
    clear = sorted((gain for gain in gains if gain.clear), key=lambda gain: -gain.nats)
    return clear, best is None


def _next(scales: Scales, chosen: list[int]) -> int | None:
    """The column that gains most beside those chosen; by all rows at once, then by those measured."""
    quick = quick_gains(scales, chosen)
    for column in np.argsort(-quick, kind="stable"):
        if quick[column] <= STRAIGHTER:
            return None
        if gain_of(scales, int(column), chosen).clear:
            return int(column)
    return None


def quick_gains(scales: Scales, chosen: Sequence[int] = ()) -> F64:
    """(q,) nats of each candidate, from one matrix of products; −inf for other columns and those chosen."""
    q = scales.layout.n_columns
    state, each = scales.state(chosen), np.arange(q)
    inverse = np.linalg.inv(scales.products[np.ix_(state, state)] + RIDGE * np.eye(q + 1))
    cross = scales.products[np.ix_(state, q + each)].copy()
    cross[each, each] = 0.0
    own = np.diagonal(inverse)[:q]
    # The inverse without one row and column follows from the whole.
    projected = inverse @ cross
    explained = (cross * projected).sum(axis=0) - projected[each, each] ** 2 / own
    left, left_log = 1.0 / own, np.maximum(1.0 - explained, RIDGE)
    gains = 0.5 * (np.log(np.maximum(left, RIDGE)) - np.log(left_log))
    open_ones = scales.candidates.copy()
    open_ones[np.array(chosen, dtype=np.intp)] = False
    found: F64 = np.where(open_ones, gains, -np.inf)
    return found


def gain_of(scales: Scales, column: int, chosen: Sequence[int] = ()) -> Gain:
    """By least squares on the patients in whom the column was measured, with a standard error."""
    others = np.delete(scales.state(chosen), column)
    both = np.array([column, column + scales.layout.n_columns])
    values = scales.standard[:, np.concatenate([both, others])]
    if scales.measured is None:
        products = scales.products[np.ix_(others, others)], scales.products[np.ix_(others, both)]
    else:
        values = standardized(values[scales.measured[:, column]])
        products = (
            values[:, 2:].T @ values[:, 2:] / len(values),
            values[:, 2:].T @ values[:, :2] / len(values),
        )
    n, k = len(values), others.size
    residuals = values[:, :2] - values[:, 2:] @ np.linalg.solve(products[0] + RIDGE * np.eye(k), products[1])
    left = np.maximum((residuals**2).mean(axis=0), RIDGE)
    # By how much each patient moves the logarithms (the delta method).
    pull = 0.5 * (residuals**2 / left - values[:, :2] ** 2)
    freedom = max(n - k - 1, 1)
    error = float((pull[:, 0] - pull[:, 1]).std() / np.sqrt(freedom))
    nats = 0.5 * float(np.log(left[0]) - np.log(left[1]))
    # Adjusted for how many columns explain: the same factor on both scales, so that nats have none.
    explained = np.clip(1.0 - left * (n - 1) / freedom, 0.0, 1.0)
    return Gain(column, nats, error, float(explained[0]), float(explained[1]))


def straightened(scales: Scales, gains: list[Gain]) -> list[Gain]:
    """Those whose errors depend on others as they are, and by less than half of that on a log scale."""
    chosen = np.array([gain.column for gain in gains], dtype=np.intp)
    some = _with_partners(scales, chosen)
    layout = scales.layout.take(some)
    before = _scores(_errors(scales.values[:, some], layout))
    after = _scores(_errors(scales.on(chosen)[:, some], layout))
    confirmed = []
    for gain in gains:
        place = int(np.flatnonzero(some == gain.column)[0])
        rows = scales.rows_of(gain.column)
        as_is, freedom = _dependence(before[:, rows], place, layout)
        logged, _ = _dependence(after[:, rows], place, layout)
        if chi2.sf(as_is, max(freedom, 1)) < DEPENDENT and logged - freedom < LEFT * (as_is - freedom):
            confirmed.append(gain)
    return confirmed


def _with_partners(scales: Scales, chosen: Index) -> Index:
    """These columns, and those that go with them most when all others are held fixed; ascending."""
    state = scales.state(chosen.tolist())[:-1]
    inverse = np.linalg.inv(scales.products[np.ix_(state, state)] + RIDGE * np.eye(state.size))
    partial = np.abs(inverse) / np.sqrt(np.outer(np.diagonal(inverse), np.diagonal(inverse)))
    strength = partial[chosen].max(axis=0)
    strength[chosen] = np.inf
    return np.sort(np.argsort(-strength, kind="stable")[:COLUMNS_IN_ORDER])


def _errors(values: F64, layout: Layout) -> F64:
    """(n, q): errors of all columns, in an order learned from these rows; zero where one has none."""
    raw = choose_table("auto", values, None)
    ordering = order_columns(raw, describe_columns(raw), VARIANTS["plus"], 1.0, None, layout)
    found = np.zeros(values.shape)
    places = np.arange(ordering.order.size)
    found[:, ordering.order] = ordering.uncorrelated(values.shape[1]).errors(values, places)
    return found


def _scores(errors: F64) -> F64:
    """(2, n, q): of each error a straight and a U-shaped function of its rank."""
    ranks = (rankdata(ties_restored(standardized(errors)), axis=0) - 0.5) / len(errors)
    return np.stack([np.cos(np.pi * ranks), np.cos(2.0 * np.pi * ranks)])


def _dependence(scores: F64, place: int, layout: Layout) -> tuple[float, int]:
    """χ² of the scores (2, n, q) of one error with those of the others, and its degrees of freedom.

    Errors of columns with levels still show which level it was, and columns that come first may depend on
    each other as they like: neither is looked at.
    """
    others = ~layout.discrete & ~(layout.kept & layout.kept[place])
    others[place] = False
    n = scores.shape[1]
    straight, bent = (standardized(one) for one in scores)
    found = [own[:, place] @ other[:, others] / n for own in (straight, bent) for other in (straight, bent)]
    return n * float((np.array(found) ** 2).sum()), 4 * int(others.sum())
