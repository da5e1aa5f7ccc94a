"""Threads and compiled loops for those who have no table; the compiler is loaded when it is first needed."""

from __future__ import annotations

from collections.abc import Callable

from ...method.table import F64


def in_threads(work: Callable[[int, int], None], n_units: int, n_values: int) -> None:
    """Call work(first, last) over 0..n_units, in as many threads as the amount of values is worth."""
    from .compiler import in_threads

    in_threads(work, n_units, n_values)


def concordances(
    hazards: F64, time: F64, event: F64, start: F64 | None = None, stratum: F64 | None = None
) -> F64:
    """(m,): Harrell's C of each row of hazards (m, n), which are NaN where nothing was measured.

    NaN where no pair can be compared. Of rows that start later, or of strata, fewer can.
    """
    from .concordance import concordances

    return concordances(hazards, time, event, start, stratum)
