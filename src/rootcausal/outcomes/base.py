"""What losses of all outcomes have in common that sum over the rows of a table."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.loops import Loops
from ..core.table import F64, Index, Table


@dataclass(frozen=True, eq=False)
class TableLoss:
    """A log-likelihood in the errors that a table has at ``cols``, from the baseline at its ``start``."""

    table: Table
    cols: Index
    start: F64

    @property
    def n_rows(self) -> int:
        return self.table.shape[0]

    @property
    def loops(self) -> Loops:
        return self.table.loops
