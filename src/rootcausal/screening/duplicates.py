"""Is a column another one again: a copy, in another unit or order, or cut into levels? One rule for each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..method.table import F64, LARGEST, Index

# Columns this close to |r| = 1 are the same measurement twice.
COPY = 1e-10
# Correlation, also of ranks, from which on that is so up to rounding: of days and months, no less; of two
# measurements, never as much.
ROUNDED = 0.9999
# Of the variance of a column, what two others explain of it where it was computed from them and rounded; and
# where to look closer, and two are as good as the same.
MADE, NEARLY = 0.9995, 0.99
# Of a sum, the largest error relative to its length; and up to so many columns one is looked for.
EXACT, COLUMNS_IN_A_SUM = 1e-8, 60
# Fewer rows are a toy, such as those of scikit-learn's checks, whose y is a column: a fit warns of it.
FEWEST_ROWS = 12
# Of two values only, a column may well say which.
FEWEST_LEVELS = 3
# Fewer rows of a level may agree in another column by chance.
ROWS_A_LEVEL = 5
# Rows by which nearly all columns are told not to be in the order of another, or cut.
FIRST_LOOK, ROWS_TO_ACQUIT = 64, 40


def is_copy(correlation: float) -> bool:
    return 1.0 - abs(correlation) < COPY


def made_of_two(columns: F64) -> list[tuple[int, int, int]]:
    """Triples of columns (n, p), NaN where missing, of which the first is a sum of the two others.

    Up to weights, a constant and rounding; of logarithms it is their product or ratio. Not where two of the
    three are the same anyway. Each column is the first of one triple at the most.
    """
    r = np.nan_to_num(_pairwise_correlations(columns))
    np.fill_diagonal(r, 0.0)
    between = 1.0 - r**2
    found = []
    for j in range(r.shape[1]):
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (r[j][:, None] ** 2 + r[j][None] ** 2 - 2.0 * np.outer(r[j], r[j]) * r) / between
        alike = np.abs(r[j]) > NEARLY
        share[(np.abs(r) > NEARLY) | alike[:, None] | alike[None]] = 0.0
        np.fill_diagonal(share, 0.0)
        share[j] = share[:, j] = 0.0
        a, b = divmod(int(np.argmax(share)), len(share))
        if share[a, b] > NEARLY and _explained(columns[:, [j, a, b]]) > MADE:
            found.append((j, min(a, b), max(a, b)))
    return found


def _pairwise_correlations(columns: F64) -> F64:
    """(p, p), each of the rows that have both, if they are some."""
    there = ~np.isnan(columns)
    filled = np.where(there, columns - np.nanmean(columns, axis=0), 0.0)
    filled /= np.maximum(np.abs(filled).max(axis=0, initial=0.0), np.finfo(float).tiny)
    known = there.astype(np.float64)
    n = np.maximum(known.T @ known, 1.0)
    of_first = filled.T @ known / n
    covariance = filled.T @ filled / n - of_first * of_first.T
    square = (filled**2).T @ known / n - of_first**2
    with np.errstate(divide="ignore", invalid="ignore"):
        r: F64 = covariance / np.sqrt(square * square.T)
    r[n < ROWS_TO_ACQUIT] = 0.0
    return np.clip(np.nan_to_num(r), -1.0, 1.0)


def _explained(columns: F64) -> float:
    """The share of the variance of the first column (n, 3) that the others explain, where all are known."""
    known = columns[~np.isnan(columns).any(axis=1)]
    if len(known) < ROWS_TO_ACQUIT:
        return 0.0
    y, *others = (unit(column) for column in known.T)
    A = np.stack(others, axis=1)
    left = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    return 1.0 - float(left @ left) / max(float(y @ y), np.finfo(float).tiny)


def is_rounded_copy(correlation: float) -> bool:
    return abs(correlation) > ROUNDED


def unit(values: F64, first: bool = False) -> F64:
    """(n,) with mean 0 and length 1, missing ones at the mean or the first value; zeros if it is constant."""
    there = np.abs(values) <= LARGEST
    if not there.any():
        return np.zeros(values.size)
    # Far from zero, a mean is rounded: what is left of the first value varies, or is exactly 0.
    rest = np.where(there, values - values[there.argmax()], 0.0)
    counting = np.ones_like(there) if first else there
    rest = np.where(counting, rest - rest[counting].mean(), 0.0)
    rest = rest / max(float(np.abs(rest).max()), np.finfo(float).tiny)
    length = float(np.sqrt(rest @ rest))
    return rest / length if length else rest


def outcome_again(values: F64, columns: Sequence[F64] | F64, *, linear: bool) -> list[int]:
    """The places of columns (n,), NaN where missing, that hold nothing but the outcome (n,), a number.

    Exact linear images of it are, or, if not ``linear``, all columns in the same order, or the reverse one.
    """
    found = []
    with np.errstate(all="ignore"):  # a table that is refused may hold anything
        for c in _may_be_in_order(values, columns).tolist():
            measured = ~np.isnan(columns[c])
            if measured.sum() < FEWEST_ROWS:
                continue
            a, b = values[measured], columns[c][measured]
            if is_copy(float(unit(a) @ unit(b))) if linear else _are_in_one_order(a, b):
                found.append(c)
    return found


def parts_of_sum(values: F64, columns: F64) -> list[int]:
    """The places of columns (n, q), NaN where missing, of which a number (n,) is the sum, with any weights.

    None where it is no exact one, or rows are too few to tell.
    """
    whole = ~np.isnan(columns).any(axis=1) & ~np.isnan(values)
    n, q = int(whole.sum()), columns.shape[1]
    if not 1 < q <= COLUMNS_IN_A_SUM or n < 2 * q + FEWEST_ROWS or np.abs(columns[whole]).max() > LARGEST:
        return []
    y, X = values[whole] - values[whole].mean(), columns[whole] - columns[whole].mean(axis=0)
    X = X / np.maximum(np.sqrt((X * X).sum(axis=0)), np.finfo(float).tiny)
    weights = np.linalg.lstsq(X, y, rcond=None)[0]
    size = float(np.sqrt(y @ y))
    if float(np.abs(y - X @ weights).max()) > EXACT * size:
        return []
    return np.flatnonzero(np.abs(weights) > EXACT * size).tolist()


def _may_be_in_order(values: F64, columns: Sequence[F64] | F64) -> Index:
    """Columns that never fall, or never rise, with the outcome in a few rows that span its range."""
    if not len(columns):
        return np.empty(0, dtype=np.intp)
    rows = np.argsort(values, kind="stable")
    rows = rows[np.unique(np.linspace(0, rows.size - 1, FIRST_LOOK).astype(np.intp))]
    rows = rows[np.unique(values[rows], return_index=True)[1]]
    steps = np.diff(np.stack([column[rows] for column in columns]), axis=1)
    # What is missing speaks for and against nothing.
    return np.flatnonzero(~(steps < 0.0).any(axis=1) | ~(steps > 0.0).any(axis=1))


def _are_in_one_order(values: F64, column: F64) -> bool:
    if np.array_equal(values, column):
        return True
    levels, place = np.unique(values, return_inverse=True)
    own, own_place = np.unique(column, return_inverse=True)
    if min(levels.size, own.size) < FEWEST_LEVELS:
        return False
    if levels.size == own.size:
        return np.array_equal(place, own_place) or np.array_equal(place, levels.size - 1 - own_place)
    from scipy.stats import spearmanr  # takes a while to load, and is hardly ever asked

    return is_rounded_copy(float(spearmanr(values, column).statistic))


def is_cut(levels: Index, numbers: F64) -> bool:
    """Whether each level (n,), -1 where missing, has a range of the numbers (n,) to itself.

    Not where few rows lie beyond the cut, and not where a level is known and no number.
    """
    there = levels >= 0
    levels, values = levels[there], numbers[there]
    if np.isnan(values).any():
        return False
    different, rows = np.unique(levels, return_counts=True)
    if different.size < 2 or levels.size - rows.max() < ROWS_A_LEVEL:
        return False
    ends = sorted((values[levels == level].min(), values[levels == level].max()) for level in different)
    return all(one[1] < other[0] for one, other in pairwise(ends))


def cut_of(levels: Sequence[Index], numbers: Sequence[F64]) -> list[int | None]:
    """For each column of levels (n,) the place of the first of some numbers (n,) that was cut into them."""
    if not (levels and numbers):
        return [None] * len(levels)
    # A few rows acquit nearly all numbers; of rare levels, some rows of each.
    spread = np.unique(np.linspace(0, levels[0].size - 1, ROWS_TO_ACQUIT).astype(np.intp))
    few = np.stack([number[spread] for number in numbers])
    found = []
    for column in levels:
        if np.unique(column[spread][column[spread] >= 0]).size > 1:
            could = _apart(column[spread], few)
        else:
            rows = [np.flatnonzero(column == level)[:ROWS_A_LEVEL] for level in range(int(column.max()) + 1)]
            some = np.concatenate([np.empty(0, dtype=np.intp), *rows])
            could = _apart(column[some], np.stack([number[some] for number in numbers]))
        found.append(next((place for place in could if is_cut(column, numbers[place])), None))
    return found


def _apart(levels: Index, values: F64) -> list[int]:
    """Which rows of values (m, n) have a range for each level (n,) to itself."""
    order = np.argsort(levels, kind="stable")
    order = order[levels[order] >= 0]
    starts = np.flatnonzero(np.diff(levels[order], prepend=-1))
    if starts.size < 2:
        return []
    low, high = (end.reduceat(values[:, order], starts, axis=1) for end in (np.minimum, np.maximum))
    ranked = np.argsort(low, axis=1)
    low, high = (np.take_along_axis(ends, ranked, axis=1) for ends in (low, high))
    return np.flatnonzero((high[:, :-1] < low[:, 1:]).all(axis=1)).tolist()


def decides(fine: Index, coarse: Index, least: int = ROWS_A_LEVEL) -> bool:
    """Whether each level of one column (n,), none of fewer rows than ``least``, has one level of the other.

    Not where the other is known and the first is missing, -1: it would be lost there.
    """
    both = coarse >= 0
    a, b = fine[both], coarse[both]
    if not both.any() or (a < 0).any():
        return False
    width = int(b.max()) + 1
    counts = np.bincount(a * width + b, minlength=(int(a.max()) + 1) * width).reshape(-1, width)
    counts = counts[counts.any(axis=1)]
    return bool((counts > 0).sum(axis=1).max() == 1 and counts.sum(axis=1).min() >= least)


def renames(a: Index, b: Index) -> bool:
    """Whether levels of two columns (n,) belong together one to one; not where the first is missing."""
    pairs = np.unique(a * (int(b.max()) + 1) + b)
    return bool(a.min() >= 0 and pairs.size == np.unique(a).size == np.unique(b).size)
