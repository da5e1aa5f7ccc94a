"""Do ids that repeat name patients? Not where what no patient changes differs within them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from ..errors import warn
from ..method.table import F64, Index
from ..name_hints.columns import says_site
from ..name_hints.exogenous import says_age, says_unchanging
from ..wording import listed, plural, quoted
from .kinds import Variable

# Of patients whose sex or year of birth was mistyped there are fewer.
SHARE_MISTYPED = 0.1
# Nobody is followed for longer.
LONGEST_YEARS = 30.0


def differing(of_id: Index, columns: Mapping[str, Callable[[], F64 | None]]) -> dict[str, int]:
    """Columns that cannot change in a patient and do so within ids (n,), with the number of those ids.

    Of each column its numbers (n,), NaN where missing; None of one that has none. Not where so few ids are
    concerned that it may be typing errors. Ages alone are no sign: children may be followed for so many
    months.
    """
    order = np.argsort(of_id, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(of_id[order]) != 0])
    n_repeated = int((np.diff(np.r_[starts, of_id.size]) > 1).sum())
    found: dict[str, int] = {}
    for name, numbers in columns.items():
        allowed = 0.0 if says_unchanging(name) else LONGEST_YEARS if says_age(name) else None
        values = None if allowed is None else numbers()
        if values is None:
            continue
        with np.errstate(invalid="ignore"):  # infinite ends
            spans = np.fmax.reduceat(values[order], starts) - np.fmin.reduceat(values[order], starts)
            n_ids = int((spans > allowed).sum())
        if n_ids > max(1.0, SHARE_MISTYPED * n_repeated):
            found[name] = n_ids
    return found if any(map(says_unchanging, found)) else {}


def unique_within(
    of_id: Index, columns: Mapping[str, Callable[[], F64 | None]], sites: Mapping[str, Index]
) -> str | None:
    """The first of the columns of ``sites``, codes (n,), within which each id (n,) can be one patient."""
    for name, codes in sites.items():
        if says_site(name) and not differing(of_id * (int(codes.max(initial=0)) + 2) + codes + 1, columns):
            return name
    return None


def in_words(differ: Mapping[str, int]) -> str:
    """How columns differ within ids, for a sentence that names the ids."""
    shown = listed([f"{quoted(one)} (in {count})" for one, count in differ.items()])
    return f"{shown} {'differs' if len(differ) == 1 else 'differ'} within ids, as in no patient"


def warn_of_no_patients(of_id: Index, table: F64, variables: tuple[Variable, ...]) -> None:
    """Say of ids (n,) that they name no patients, if the variables, a table (n, p), tell it."""
    columns: dict[str, Callable[[], F64 | None]] = {
        variable.name: partial(_column, table, place) for place, variable in enumerate(variables)
    }
    differ = differing(of_id, columns)
    if not differ:
        return
    codes = {
        one.name: np.where(np.isnan(table[:, place]), -1, table[:, place]).astype(np.intp)
        for place, one in enumerate(variables)
        if one.levels and (np.nan_to_num(table[:, place]) >= 0).all()
    }
    site = unique_within(of_id, columns, codes)
    make = f"ids made of it and {quoted(site)} together" if site else "ids of patients"
    rows, ids = plural(of_id.size, "row"), plural(int(of_id.max()) + 1, "id")
    warn(
        f"{rows} of {ids}, but {in_words(differ)}: several patients count as one in the resamples and in "
        f"standard errors. Give {make}"
    )


def _column(table: F64, place: int) -> F64:
    column: F64 = table[:, place]
    return column
