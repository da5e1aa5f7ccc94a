"""The losses of graded outcomes, a number or the time to an event, summed over columns Z (k, n).

One text for NumPy and CuPy; the plain twin is in ``reference.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..method.loops import Loops
from ..method.table import (
    EVENT,
    F64,
    FIRST,
    INTERVAL,
    LARGEST_LOG_HAZARD,
    OVER,
    PART,
    SCORE,
    Index,
    LossSums,
)
from .cpu.loops import COMPILED


class LossColumns:
    """For a table of columns ``_Z`` (k, n) with a graded outcome ``_y`` (n, c), where ``_xp`` computes."""

    loops: Loops = COMPILED

    _xp: Any = np
    _Z: Any
    _y: Any

    def _row_strips(self, width: int) -> Iterable[slice]:
        """Rows to work on at once, of so many values each."""
        raise NotImplementedError

    def square_sums(self, cols: Index, beta: F64) -> LossSums:
        xp, k = self._xp, len(cols)
        slope = xp.asarray(beta)
        loglik, gradient, hessian = xp.zeros(()), xp.zeros(k + 1), xp.zeros((k + 1, k + 1))
        for rows in self._row_strips(k + 1):
            design = self._design(cols, rows)
            left = self._y[rows, SCORE] - slope @ design
            loglik -= 0.5 * (left @ left)
            gradient += design @ left
            hessian += design @ design.T
        return LossSums(float(loglik), self._on_host(gradient), self._on_host(hessian))

    def hazard_sums(self, cols: Index, beta: F64) -> LossSums:
        xp, k = self._xp, len(cols)
        n_intervals = beta.size - k
        alpha = xp.asarray(beta[k:])
        hazard = xp.exp(xp.minimum(alpha, LARGEST_LOG_HAZARD))
        # Until the start of each interval.
        before = xp.cumsum(hazard) - hazard
        slope = xp.asarray(np.append(beta[:k], 0.0))
        loglik, gradient, hessian = xp.zeros(()), xp.zeros(k), xp.zeros((k, k))
        # Sums of exp(η) (z, 1) over the rows of each interval: of whole rows, and of the parts that they saw.
        inside = xp.zeros((2, n_intervals, k + 1))
        events = xp.zeros(n_intervals)
        # Besides the errors, a value for each interval, twice (see _add_intervals).
        for rows in self._row_strips(k + 1 + 2 * n_intervals):
            design = self._design(cols, rows)
            event, part = self._y[rows, EVENT], self._y[rows, PART]
            interval = self._y[rows, INTERVAL].astype(xp.intp)
            eta = xp.minimum(slope @ design, LARGEST_LOG_HAZARD)
            ratio = xp.exp(eta)
            met = before[interval] + part * hazard[interval]
            if self._y.shape[1] > FIRST:
                first, over = self._y[rows, FIRST].astype(xp.intp), self._y[rows, OVER]
                # What the hazard was until their start, they did not meet.
                met = xp.maximum(met - before[first] - over * hazard[first], 0.0)
                self._add_intervals(design, -ratio, over, first, inside)
            expected = ratio * met
            loglik += event @ (alpha[interval] + eta) - expected.sum()
            gradient += design[:k] @ (event - expected)
            # Of a matrix and itself, BLAS makes only half of the product.
            weighted = design[:k] * xp.sqrt(expected)
            hessian += weighted @ weighted.T
            events += xp.bincount(interval, weights=event, minlength=n_intervals)
            self._add_intervals(design, ratio, part, interval, inside)
        whole, seen = inside
        # A row saw all of the intervals before its own.
        after = xp.cumsum(whole[::-1], axis=0)[::-1] - whole
        expected_in = hazard[:, None] * (after + seen)
        total = np.zeros((beta.size, beta.size))
        total[:k, :k] = self._on_host(hessian)
        in_interval = self._on_host(expected_in)
        total[k:, :k] = in_interval[:, :k]
        total[:k, k:] = in_interval[:, :k].T
        total[range(k, beta.size), range(k, beta.size)] = in_interval[:, k]
        of_baseline = self._on_host(events) - in_interval[:, k]
        return LossSums(float(loglik), np.append(self._on_host(gradient), of_baseline), total)

    def _add_intervals(self, design: Any, ratio: Any, part: Any, interval: Any, inside: Any) -> None:
        """Add to ``inside`` (2, G, m) the sums over some rows of ratio · design (m, n), and part of it."""
        xp = self._xp
        member = (interval == xp.arange(inside.shape[1])[:, None]) * ratio
        inside[0] += member @ design.T
        inside[1] += (member * part) @ design.T

    def _design(self, cols: Index, rows: slice) -> Any:
        """(k + 1, n): the errors of some rows, and a one for the baseline."""
        xp = self._xp
        errors = self._Z[xp.asarray(cols), rows]
        return xp.concatenate([errors, xp.ones((1, errors.shape[1]))])

    def _on_host(self, array: Any) -> F64:
        return np.asarray(array if self._xp is np else self._xp.asnumpy(array))
