"""TT in the paper (Section 8): how far cases and controls differ in each variable."""

from __future__ import annotations

import numpy as np

from ..backends.choose import choose_table
from ..method.moments import welch_t
from ..method.table import F64, Index
from .base import Comparator


class TTest(Comparator):
    """Rank variables by their absolute Welch t between cases and controls, the same for every patient.

    Attributes
    ----------
    statistic_ : (p,) absolute t statistic of each variable.
    classes_, mean_, sd_ : see :class:`~rootcausal.comparators.base.Comparator`.
    """

    statistic_: F64

    def _learn(self, Z: F64, y: Index) -> None:
        moments = choose_table("auto", Z, y).column_moments(np.zeros(Z.shape[1]))
        # A variable without variance within the classes has an infinite statistic: first, but a number.
        self.statistic_ = np.minimum(np.abs(welch_t(moments)[0]), np.finfo(float).max)

    def _score(self, Z: F64) -> F64:
        return np.tile(self.statistic_, (len(Z), 1))
