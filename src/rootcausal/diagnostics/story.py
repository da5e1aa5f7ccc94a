"""What the patients tell of one column: how much likelier it is that the outcome came first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Told:
    """Which story the patients tell of one column.

    Attributes
    ----------
    place : of the column among the errors.
    log_times : log of how many times likelier an effect of D is than a cause.
    shift : by how many standard deviations the column is shifted in cases, given the columns before it.
    n_rows : in how many patients.
    """

    place: int
    log_times: float
    shift: float
    n_rows: int

    def p_value(self, n_asked: int) -> float:
        return float(min(1.0, n_asked * np.exp(min(0.0, -self.log_times))))

    @property
    def size(self) -> float:
        """Nats a patient."""
        return max(self.log_times, 0.0) / self.n_rows
