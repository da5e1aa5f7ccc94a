"""Whether rows with one id can be of one patient."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..asking.before_all import says_age, says_unchanging
from ..core.table import F64, Index
from .counted import Counted
from .names import says_site

# Of patients whose sex or year of birth was mistyped there are fewer.
SHARE_MISTYPED = 0.1
# Nobody is followed for longer.
LONGEST_YEARS = 30.0


def differing(of_id: Index, columns: Sequence[Counted]) -> dict[str, int]:
    """Columns that cannot change in a patient and do so within ids (n,), with the number of those ids.

    Not where so few ids are concerned that it may be typing errors. Ages alone are no sign: children may be
    followed for so many months.
    """
    order = np.argsort(of_id, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(of_id[order]) != 0])
    n_repeated = int((np.diff(np.r_[starts, of_id.size]) > 1).sum())
    found: dict[str, int] = {}
    for cells in columns:
        allowed = 0.0 if says_unchanging(cells.name) else LONGEST_YEARS if says_age(cells.name) else None
        values = _values(cells)
        if allowed is None or values is None:
            continue
        with np.errstate(invalid="ignore"):  # infinite ends
            spans = np.fmax.reduceat(values[order], starts) - np.fmin.reduceat(values[order], starts)
            n_ids = int((spans > allowed).sum())
        if n_ids > max(1.0, SHARE_MISTYPED * n_repeated):
            found[cells.name] = n_ids
    return found if any(map(says_unchanging, found)) else {}


def unique_within(of_id: Index, columns: Sequence[Counted]) -> str | None:
    """The site within which each id (n,) can be one patient, if there is one."""
    for site in columns:
        if site.codes is not None and says_site(site.name):
            both = of_id * (len(site.different) + 1) + site.codes + 1
            if not differing(both, columns):
                return site.name
    return None


def _values(cells: Counted) -> F64 | None:
    """(n,) numbers that differ where the cells do, NaN where missing; None of texts with many values."""
    if cells.numbers is not None or cells.codes is None:
        return cells.numbers
    return np.where(cells.codes < 0, np.nan, cells.codes.astype(np.float64))
