"""Columns that are the outcome again: the time of follow-up in another unit, or y under another name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import spearmanr

from ..core.table import F64
from ..errors import InputError
from .rules import are, is_copy, it_or_them

# Fewer rows are a toy, such as those of scikit-learn's checks, whose y is a column: a fit warns of it.
FEWEST_ROWS = 12
# Of two times only, a column may well say which.
FEWEST_LEVELS = 3
# Spearman's correlation: days rounded to months have no less, and two measurements never as much.
ROUNDED = 0.9999
# Rows by which nearly all columns are told not to be in the order of the outcome.
FIRST_LOOK = 64


def refuse_itself(values: F64, table: F64, names: Sequence[str], what: str, *, linear: bool) -> None:
    """Refuse columns that hold nothing but the outcome.

    Parameters
    ----------
    values : (n,) numbers that are the outcome.
    table : (n, p) columns, NaN where missing.
    what : what to call the outcome.
    linear : whether only exact linear images are the outcome again; else all columns in the same order, or in
        the reverse one, are.
    """
    if len(table) != values.size:
        return  # some have no outcome, which is refused anyway
    found = [str(names[c]) for c in outcome_again(values, table.T, linear=linear)]
    if found:
        how = "up to a linear map" if linear else "as it is or in another unit"
        raise InputError(f"{are('column', found)} {what} itself, {how}: leave {it_or_them(found)} out")


def outcome_again(values: F64, columns: Sequence[F64] | F64, *, linear: bool) -> list[int]:
    """The places of columns (n,) that hold nothing but the outcome, as :func:`refuse_itself` has it."""
    same = _is_linear_image if linear else _is_in_the_same_order
    found = []
    with np.errstate(all="ignore"):  # a table that is refused may hold anything
        for c in _may_be_in_order(values, columns).tolist():
            measured = ~np.isnan(columns[c])
            if measured.sum() >= FEWEST_ROWS and same(values[measured], columns[c][measured]):
                found.append(c)
    return found


def _may_be_in_order(values: F64, columns: Sequence[F64] | F64) -> np.ndarray:
    """Columns that never fall, or never rise, with the outcome in a few rows that span its range."""
    if not len(columns):
        return np.empty(0, dtype=np.intp)
    rows = np.argsort(values, kind="stable")
    rows = rows[np.unique(np.linspace(0, rows.size - 1, FIRST_LOOK).astype(np.intp))]
    rows = rows[np.unique(values[rows], return_index=True)[1]]
    steps = np.diff(np.stack([column[rows] for column in columns]), axis=1)
    # What is missing speaks for and against nothing.
    return np.flatnonzero(~(steps < 0.0).any(axis=1) | ~(steps > 0.0).any(axis=1))


def _is_in_the_same_order(values: F64, column: F64) -> bool:
    if np.array_equal(values, column):
        return True
    levels, place = np.unique(values, return_inverse=True)
    own, own_place = np.unique(column, return_inverse=True)
    if min(levels.size, own.size) < FEWEST_LEVELS:
        return False
    if levels.size == own.size:
        return np.array_equal(place, own_place) or np.array_equal(place, levels.size - 1 - own_place)
    return abs(spearmanr(values, column).statistic) > ROUNDED


def _is_linear_image(values: F64, column: F64) -> bool:
    a, b = (of - of[0] for of in (values, column))
    a, b = a - a.mean(), b - b.mean()
    a, b = (of / max(np.abs(of).max(), np.finfo(float).tiny) for of in (a, b))
    size = float(np.sqrt((a @ a) * (b @ b)))
    return size > 0.0 and is_copy(float(a @ b) / size)
