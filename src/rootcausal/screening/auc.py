"""AUC: how well one column alone tells patients with the outcome from those without."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm, rankdata

from ..backends.cpu.on_demand import in_threads
from ..method.layout import Layout
from ..method.table import F64, Index

# More rows would not change what tells the classes apart; of a rare outcome no case is passed over.
ROWS_A_CLASS = 2_500
# Of the ranks: enough for a limit, or for two.
BINS = 20
# With fewer, nothing is learned from a half.
FEWEST_TO_RANK = 2
# Columns are taken together as far as their values stay near the processor.
VALUES_AT_ONCE = 1 << 16


def rows_of_both(y: np.ndarray) -> Index:
    """Rows to look at, spread evenly over each class."""
    some = [np.flatnonzero(y == label) for label in (0, 1)]
    return np.sort(
        np.concatenate(
            [of[np.linspace(0, of.size - 1, min(of.size, ROWS_A_CLASS)).astype(np.intp)] for of in some]
        )
    )


def aucs(X: F64, missing: np.ndarray | None, y: np.ndarray, layout: Layout) -> F64:
    """(p,): in what share of pairs of a case and a control each variable alone tells which is which.

    Higher values may mean the one or the other; numbers may also tell by limits (low and high alike), and
    levels by how many of them are ill. The latter two are learned on one half of the patients and tried
    on the other. 0.5 where too few of a class have a value.
    """
    found, variables = np.full(layout.n_variables, 0.5), np.arange(layout.n_variables)
    first, n_columns = layout.first_columns, np.bincount(layout.variable)
    with_levels = layout.discrete[first]
    for has in (False, True):
        alike = variables[(n_columns == 1) & (with_levels == has)]
        found[alike] = _in_blocks(X, missing, y, first[alike], has)
    for variable in variables[n_columns > 1].tolist():  # dummies: which level it is
        columns = layout.columns_of(variable)
        known = slice(None) if missing is None else np.flatnonzero(~missing[:, columns[0]])
        if np.bincount(y[known], minlength=2).min() >= FEWEST_TO_RANK:
            level = X[known][:, columns].round() @ np.arange(1.0, columns.size + 1)
            found[variable] = rate_auc(level.astype(np.intp), y[known])
    return found


def auc_of(values: F64, y: np.ndarray, kind: str) -> float:
    """The same of one column (n,) without missing values, of a number or of levels."""
    if np.bincount(y, minlength=2).min() < FEWEST_TO_RANK:
        return 0.5
    if kind == "nominal":
        return rate_auc(values.astype(np.intp), y)
    return float(_aucs_of(values[None], None, y, kind != "number")[0])


def measured_of_both(missing: np.ndarray | None, y: np.ndarray, layout: Layout) -> Index:
    """(2, p): controls and cases in whom each variable was measured."""
    first = layout.first_columns
    if missing is None:
        return np.repeat(np.bincount(y, minlength=2)[:, None], first.size, axis=1)
    return np.stack([(~missing[y == label][:, first]).sum(axis=0) for label in (0, 1)])


def _in_blocks(X: F64, missing: np.ndarray | None, y: np.ndarray, columns: Index, with_levels: bool) -> F64:
    """(m,): of some columns of X (n, q), a few at a time."""
    found = np.zeros(columns.size)

    step = max(1, VALUES_AT_ONCE // max(y.size, 1))

    def work(first: int, last: int) -> None:
        for start in range(first * step, min(last * step, columns.size), step):
            some = slice(start, min(start + step, columns.size))
            values = np.ascontiguousarray(X[:, columns[some]].T)
            there = None if missing is None else np.ascontiguousarray(~missing[:, columns[some]].T)
            found[some] = _aucs_of(values, there, y, with_levels)

    in_threads(work, -(-columns.size // step), columns.size * y.size)
    return found


def _aucs_of(values: F64, there: np.ndarray | None, y: np.ndarray, with_levels: bool) -> F64:
    """(m,): of values (m, n), a row for each variable, where they are ``there`` (m, n)."""
    cases = (y == 1) if there is None else there & (y == 1)
    n_there = np.full(len(values), y.size) if there is None else there.sum(axis=1)
    n_cases = np.broadcast_to(cases.sum(axis=-1), n_there.shape)
    enough = np.minimum(n_cases, n_there - n_cases) >= FEWEST_TO_RANK
    if not enough.all():
        found = np.full(len(values), 0.5)
        if enough.any():
            known = None if there is None else there[enough]
            found[enough] = _aucs_of(values[enough], known, y, with_levels)
        return found
    ordered = values if there is None else np.where(there, values, np.inf)  # what is not there comes last
    ranks = rankdata(ordered, axis=1)
    sums = np.where(cases, ranks, 0.0).sum(axis=1)
    straight = (sums - n_cases * (n_cases + 1) / 2) / (n_cases * (n_there - n_cases))
    binned = BINS * (ranks - 0.5) / n_there[:, None]
    groups = _places(ordered) if with_levels else binned.astype(np.intp)
    return np.maximum(np.maximum(straight, 1.0 - straight), rate_aucs(groups, there, y))


def _places(values: F64) -> Index:
    """(m, n) from 0 on, of each value among the different ones of its row."""
    return rankdata(values, method="dense", axis=1).astype(np.intp) - 1


def rank_auc(ranks: F64, y: np.ndarray) -> float:
    """Area under the ROC curve of ranks, ties half."""
    n_cases = int(y.sum())
    return float(ranks[y == 1].sum() - n_cases * (n_cases + 1) / 2) / (n_cases * (y.size - n_cases))


def rate_auc(groups: Index, y: np.ndarray) -> float:
    """AUC of the share of cases among the rows of the other half in the same group (n,), counted from 0."""
    return float(rate_aucs(groups[None], None, y)[0])


def rate_aucs(groups: Index, there: np.ndarray | None, y: np.ndarray) -> F64:
    """The same of groups (m, n), for each of which the rows count that are ``there`` (m, n)."""
    everybody = np.ones(groups.shape, dtype=bool) if there is None else there
    is_case = np.broadcast_to(y == 1, groups.shape)
    half = np.zeros((1, y.size) if there is None else groups.shape, dtype=np.intp)
    for label in (y == 0, y == 1):
        of_label = label[None] if there is None else there & label
        half += of_label * ((np.cumsum(of_label, axis=1) - 1) % 2)
    n_groups = int(groups.max(where=everybody, initial=0)) + 1
    cell = (2 * np.arange(len(groups))[:, None] + half) * n_groups + groups
    shape = (len(groups), 2, n_groups)
    size, cases = (
        np.bincount(cell[of], minlength=shape[0] * 2 * n_groups).reshape(shape)
        for of in (everybody, everybody & is_case)
    )
    share = (cases.sum(axis=(1, 2)) / size.sum(axis=(1, 2)))[:, None, None]
    learned = ((cases + share) / (size + 1.0))[:, ::-1].reshape(len(groups), -1)
    # All rows of a cell have the same score: no need to rank them one by one.
    places = _places(learned) + 2 * n_groups * np.arange(len(groups))[:, None]
    n_cases, n_controls = (
        np.bincount(places.ravel(), of.ravel(), 2 * n_groups * len(groups)).reshape(len(groups), -1)
        for of in (cases, size - cases)
    )
    below = np.cumsum(n_controls, axis=1) - 0.5 * n_controls
    found: F64 = (n_cases * below).sum(axis=1) / (n_cases.sum(axis=1) * n_controls.sum(axis=1))
    return found


def chance_of(auc: float, n_cases: int, n_controls: int) -> float:
    """P-value of an AUC, either way round, if the variable has nothing to do with the outcome."""
    return float(2.0 * norm.sf(abs(auc - 0.5) / _standard_error(n_cases, n_controls)))


def smallest_auc(n_cases: int, n_controls: int, n_variables: int, level: float, power: float) -> float:
    """The AUC that is told from chance, among so many variables, in this share of cohorts like this one."""
    sure = norm.isf(level / (2.0 * max(n_variables, 1))) + norm.isf(1.0 - power)
    return float(0.5 + sure * _standard_error(n_cases, n_controls))


def _standard_error(n_cases: int, n_controls: int) -> float:
    return float(np.sqrt((n_cases + n_controls + 1) / (12.0 * n_cases * n_controls)))
