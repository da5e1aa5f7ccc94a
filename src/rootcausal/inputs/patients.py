"""The rows of a file, on their way to be fitted or scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.table import Index
from .groups import numbered
from .matrices import Readings


@dataclass(frozen=True, eq=False)
class Patients:
    """The rows of a file.

    Attributes
    ----------
    X : pyarrow.Table
        The variables: numbers as float64, NaN where missing, never infinite; texts as dictionaries.
    target : ndarray of shape (n,) or None
        What happened to the patients: labels as int64, float64, bool or str; numbers; or times and events,
        as fields of these names. None where nothing of it was asked for.
    ids : list of str or None
        The id column as text; None where no id column was asked for.
    row_numbers : ndarray of shape (n,)
        Where each row stands in the file, counted from 1, the header left out.
    n_removed : int
        How many rows were left out because a value was missing.
    readings : Readings or None
        The variables of a cohort as numbers, and what these stand for; None for new patients.
    notes : tuple of str
        Sentences on what else was done when reading.
    reading : dict
        What of the reading the results depend on: ``na``, ``negative``, ``origins``,
        ``date_orders`` (see :mod:`rootcausal.inputs.dates`); and what tells of them: what the outcome is
        ``called``, and its ``unit``.
    doubts : tuple of str
        Sentences on what to doubt in the columns of a cohort.
    """

    X: Any
    target: npt.NDArray[Any] | None
    ids: list[str] | None
    row_numbers: npt.NDArray[np.int64]
    n_removed: int
    readings: Readings | None = None
    notes: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()

    def logged(self) -> list[str] | None:
        """Of a cohort, the parameter ``log`` of the model that is fitted on it."""
        return None if self.readings is None else self.readings.encoding.logged()

    @cached_property
    def groups(self) -> Index | None:
        """(n,): the number of each row's patient; None where no id is there twice."""
        return None if self.ids is None else numbered(self.ids)
