"""The losses of graded outcomes, such as a number or the time to an event, summed over columns Z (k, n).

One text for NumPy and CuPy; the plain twin is in ``reference.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..method.loops import Loops
from ..method.table import (
    CASE,
    COUNT,
    EVENT,
    EXPOSURE,
    F64,
    FIRST,
    INTERVAL,
    LARGEST_LOG_HAZARD,
    OVER,
    PART,
    SCORE,
    STAGE,
    Index,
    LossSums,
)
from .cpu.loops import COMPILED
from .set_rows import Sets, sets_of

# Beyond it, exp is out of reach.
FAR_APART = 700.0


class LossColumns:
    """For a table of columns ``_Z`` (k, n) with a graded outcome ``_y`` (n, c), where ``_xp`` computes."""

    loops: Loops = COMPILED

    _xp: Any = np
    _Z: Any
    _y: Any
    _sets: Sets | None = None

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

    def stage_sums(self, cols: Index, beta: F64) -> LossSums:
        xp, k = self._xp, len(cols)
        thresholds = beta[k:]
        b = thresholds.size
        loglik, gradient, hessian = xp.zeros(()), xp.zeros(k), xp.zeros((k, k))
        if not (np.diff(thresholds) > 0.0).all():
            return LossSums(-np.inf, np.zeros(beta.size), np.zeros((beta.size, beta.size)))
        ends = xp.asarray(np.concatenate([[-np.inf], thresholds, [np.inf]]))
        slope, stages = xp.asarray(np.append(beta[:k], 0.0)), xp.arange(b + 1)[:, None]
        # By stage, Σ of what the threshold above it, and that below it, have of each row.
        first, second = xp.zeros((2, b + 1)), xp.zeros((2, b + 1))
        between, cross = xp.zeros(b + 1), xp.zeros((2, b + 1, k + 1))
        for rows in self._row_strips(3 * (k + 1) + 3 * (b + 1)):
            design = self._design(cols, rows)
            stage = self._y[rows, STAGE].astype(xp.intp)
            eta = slope @ design
            above, below = ends[stage + 1] - eta, ends[stage] - eta
            # F(above) − F(below) = F(above) F(−below) (1 − exp(below − above))
            apart = xp.minimum(above - below, FAR_APART)
            loglik -= (xp.logaddexp(0.0, -above) + xp.logaddexp(0.0, below)).sum()
            loglik += xp.log(-xp.expm1(-apart)).sum()
            at_above, at_below = 0.5 + 0.5 * xp.tanh(0.5 * above), 0.5 + 0.5 * xp.tanh(0.5 * below)
            dense = xp.stack([at_above * (1.0 - at_above), at_below * (1.0 - at_below)])
            gap = 1.0 / xp.expm1(apart)
            gradient += design[:k] @ (at_above + at_below - 1.0)
            weighted = design[:k] * xp.sqrt(dense.sum(axis=0))
            hessian += weighted @ weighted.T
            member = (stage == stages).astype(xp.float64)
            first += xp.stack([1.0 - at_above + gap, -at_below - gap]) @ member.T
            second += (dense + gap * (1.0 + gap)) @ member.T
            between += member @ (gap * (1.0 + gap))
            for end in (0, 1):
                cross[end] += (member * dense[end]) @ design.T
        # A threshold is above one stage, and below the next.
        of_first, of_second, of_cross = (
            self._on_host(some[0][:-1] + some[1][1:]) for some in (first, second, cross)
        )
        total = np.zeros((beta.size, beta.size))
        total[:k, :k] = self._on_host(hessian)
        total[k:, :k] = -of_cross[:, :k]
        total[:k, k:] = total[k:, :k].T
        total[range(k, k + b), range(k, k + b)] = of_second
        neighbours = self._on_host(between)[1:-1]
        total[range(k, k + b - 1), range(k + 1, k + b)] = -neighbours
        total[range(k + 1, k + b), range(k, k + b - 1)] = -neighbours
        return LossSums(float(loglik), np.append(self._on_host(gradient), of_first), total)

    def count_sums(self, cols: Index, beta: F64, dispersion: float) -> LossSums:
        xp, k = self._xp, len(cols)
        slope = xp.asarray(beta)
        loglik, gradient, hessian = xp.zeros(()), xp.zeros(k + 1), xp.zeros((k + 1, k + 1))
        for rows in self._row_strips(2 * (k + 1)):
            design = self._design(cols, rows)
            count = self._y[rows, COUNT]
            eta = xp.minimum(slope @ design, LARGEST_LOG_HAZARD)
            expected = self._y[rows, EXPOSURE] * xp.exp(eta)
            wider = 1.0 + dispersion * expected
            loss = (1.0 / dispersion + count) * xp.log(wider) if dispersion else expected
            loglik += (count * eta - loss).sum()
            gradient += design @ ((count - expected) / wider)
            weighted = design * xp.sqrt(expected * (1.0 + dispersion * count)) / wider
            hessian += weighted @ weighted.T
        return LossSums(float(loglik), self._on_host(gradient), self._on_host(hessian))

    def set_sums(self, cols: Index, beta: F64) -> LossSums:
        # Sets differ in size, which suits no device: what is known of them, and their errors, come here.
        if self._sets is None:
            self._sets = sets_of(self._on_host(self._y))
        errors = self._on_host(self._Z[self._xp.asarray(cols)])
        return self._sets.sums(errors, self._on_host(self._y[:, CASE]), beta)

    def _design(self, cols: Index, rows: slice) -> Any:
        """(k + 1, n): the errors of some rows, and a one for the baseline."""
        xp = self._xp
        errors = self._Z[xp.asarray(cols), rows]
        return xp.concatenate([errors, xp.ones((1, errors.shape[1]))])

    def _on_host(self, array: Any) -> F64:
        return np.asarray(array if self._xp is np else self._xp.asnumpy(array))
