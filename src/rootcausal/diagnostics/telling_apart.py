"""How well one variable alone tells patients with the outcome from those without."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm, rankdata

from ..core.layout import Layout
from ..core.table import F64, Index
from .visible import POWER

# More rows would not change what tells the classes apart; of a rare outcome no case is passed over.
ROWS_A_CLASS = 2_500
# Of the ranks: enough for a limit, or for two.
BINS = 20


def rows_of_both(y: np.ndarray) -> Index:
    """Rows to look at, spread evenly over each class."""
    some = [np.flatnonzero(y == label) for label in (0, 1)]
    return np.sort(
        np.concatenate(
            [of[np.linspace(0, of.size - 1, min(of.size, ROWS_A_CLASS)).astype(np.intp)] for of in some]
        )
    )


def areas(X: F64, missing: np.ndarray | None, y: np.ndarray, layout: Layout) -> F64:
    """(p,): in what share of pairs of a case and a control each variable alone tells which is which.

    Higher values may mean the one or the other; numbers may also tell by limits (low and high alike), and
    levels by how many of them are ill. The latter two are learned on one half of the patients and tried
    on the other. 0.5 where too few of a class have a value.
    """
    found, with_levels = np.full(layout.n_variables, 0.5), layout.discrete
    for variable in range(layout.n_variables):
        columns = layout.columns_of(variable)
        known = slice(None) if missing is None else np.flatnonzero(~missing[:, columns[0]])
        found[variable] = _area_of(X[known][:, columns], y[known], bool(with_levels[columns[0]]))
    return found


def measured_of_both(missing: np.ndarray | None, y: np.ndarray, layout: Layout) -> Index:
    """(2, p): controls and cases in whom each variable was measured."""
    first = np.array(
        [layout.columns_of(variable)[0] for variable in range(layout.n_variables)], dtype=np.intp
    )
    if missing is None:
        return np.repeat(np.bincount(y, minlength=2)[:, None], first.size, axis=1)
    return np.stack([(~missing[y == label][:, first]).sum(axis=0) for label in (0, 1)])


def _area_of(values: F64, y: np.ndarray, with_levels: bool) -> float:
    if np.bincount(y, minlength=2).min() < 2:
        return 0.5
    if values.shape[1] > 1:  # dummies: which level it is
        return rate_area((values.round() @ np.arange(1.0, values.shape[1] + 1)).astype(np.intp), y)
    ranks = rankdata(values[:, 0])
    straight = rank_area(ranks, y)
    groups = (BINS * (ranks - 0.5) / y.size).astype(np.intp)
    if with_levels:
        _, groups = np.unique(ranks, return_inverse=True)
    return max(straight, 1.0 - straight, rate_area(groups, y))


def rank_area(ranks: F64, y: np.ndarray) -> float:
    """Area under the ROC curve of ranks, ties half."""
    n_cases = int(y.sum())
    return float(ranks[y == 1].sum() - n_cases * (n_cases + 1) / 2) / (n_cases * (y.size - n_cases))


def rate_area(groups: Index, y: np.ndarray) -> float:
    """Area of the share of cases among the rows of the other half in the same group (n,), counted from 0."""
    half = np.empty(y.size, dtype=np.intp)
    for label in (0, 1):
        rows = np.flatnonzero(y == label)
        half[rows] = np.arange(rows.size) % 2
    n_groups = int(groups.max()) + 1
    cells = np.bincount(groups + n_groups * half, minlength=2 * n_groups).reshape(2, n_groups)
    cases = np.bincount(groups + n_groups * half, y, 2 * n_groups).reshape(2, n_groups)
    learned = ((cases + y.mean()) / (cells + 1.0))[::-1].ravel()
    # All rows of a cell have the same score: no need to rank them one by one.
    _, place = np.unique(learned, return_inverse=True)
    n_cases = np.bincount(place, cases.ravel())
    n_controls = np.bincount(place, (cells - cases).ravel())
    below = np.cumsum(n_controls) - 0.5 * n_controls
    return float(n_cases @ below / (n_cases.sum() * n_controls.sum()))


def chance_of(area: float, n_cases: int, n_controls: int) -> float:
    """P-value of an area, either way round, if the variable has nothing to do with the outcome."""
    return float(2.0 * norm.sf(abs(area - 0.5) / _standard_error(n_cases, n_controls)))


def smallest_area(n_cases: int, n_controls: int, n_variables: int, level: float) -> float:
    """The area that is told from chance, among so many variables, in nine of ten cohorts like this one."""
    sure = norm.isf(level / (2.0 * max(n_variables, 1))) + norm.isf(1.0 - POWER)
    return float(0.5 + sure * _standard_error(n_cases, n_controls))


def _standard_error(n_cases: int, n_controls: int) -> float:
    return float(np.sqrt((n_cases + n_controls + 1) / (12.0 * n_cases * n_controls)))
