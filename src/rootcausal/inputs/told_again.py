"""Variables that tell a time, or a number, again: the outcome itself, in another unit perhaps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from ..core.table import F64, Index
from ..errors import InputError
from ..wording import listed, quoted
from .guess import Advice
from .rules import NAMED_AT_MOST

# Spearman's correlation: two measurements never agree as well as this, and rounding takes away less.
THE_SAME = 0.9999
# Beyond so many rows the answer is the same, and so few already tell what is worth a second look.
ROWS_COMPARED = 20_000
ROWS_TO_SUSPECT = 100
SUSPECT = 0.9
FEWEST_ROWS = 5


def refuse_told_again(what: str, told: F64, table: F64, names: Sequence[str], advice: Advice) -> None:
    """Refuse variables (n, p) that say what is ``told`` (n,) of the outcome, ``what`` being its name."""
    found = [quoted(names[c]) for c in told_again(told, table)]
    if found:
        raise InputError(
            f"{what} is given as a variable too, in another unit perhaps: {listed(found, NAMED_AT_MOST)}. "
            f"What tells the outcome is no cause of it: {advice.other}"
        )


def told_again(told: F64, table: F64) -> list[int]:
    """Which columns of the table (n, p) have the ranks of ``told`` (n,), up or down; NaN is missing."""
    few = _spread(len(told), ROWS_TO_SUSPECT)
    holed = np.isnan(told[few]).any() | np.isnan(table[few]).any(axis=0)
    suspects = np.flatnonzero(holed | (_correlations(told[few], table[few]) > SUSPECT))
    some = _spread(len(told), ROWS_COMPARED)
    return [int(c) for c in suspects if _are_the_same(told[some], table[some, c])]


def _spread(n: int, at_most: int) -> Index:
    return np.arange(n) if n <= at_most else np.linspace(0, n - 1, at_most).astype(np.intp)


def _are_the_same(told: F64, column: F64) -> bool:
    both = ~np.isnan(told) & ~np.isnan(column)
    if int(both.sum()) < FEWEST_ROWS:
        return False
    return bool(_correlations(told[both], column[both, None])[0] >= THE_SAME)


def _correlations(told: F64, table: F64) -> F64:
    """(p,) sizes of the rank correlations; 0 where one of both is the same in all rows."""
    a, b = rankdata(told), rankdata(table, axis=0)
    a, b = a - a.mean(), b - b.mean(axis=0)
    lengths = np.sqrt((a @ a) * (b * b).sum(axis=0))
    return np.abs(a @ b) / np.where(lengths > 0.0, lengths, np.inf)
