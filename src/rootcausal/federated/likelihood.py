"""The likelihood of the outcome over sites: no point is asked about twice, and of long steps only how far.

Derivatives are most of what a fit sends. So they are asked for where the method stands, and not where it
only looks: once a step turns out to be too long, sites are asked for the log-likelihood at half of it, a
quarter and so on, in one round, and for derivatives at the one that is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from ..method.table import F64, LossSums

# Points that are no further apart tell the same, to second order, to the last digit.
SAME = 1e-8
# What falls by this share of itself has clearly fallen.
CLEAR = 0.01
# Of a step that was too long.
PARTS: F64 = np.ldexp(1.0, -np.arange(1, 9))
# Of the same point, added up in another order.
ROUNDING = 1e-12

#: told(beta): the sums there.
Told = Callable[[F64], LossSums]
#: logliks(start, end, parts): (m,) at these parts of the way.
LogLiks = Callable[[F64, F64, F64], F64]


class Likelihood:
    """What is known of one likelihood, in the same errors."""

    def __init__(self, told: Told, logliks: LogLiks) -> None:
        self._told, self._logliks = told, logliks
        self._known: list[tuple[F64, LossSums]] = []
        self._along: list[tuple[F64, float]] = []

    @property
    def best(self) -> tuple[F64, LossSums]:
        """Where it was highest so far."""
        return max(self._known, key=lambda one: one[1].loglik)

    def at(self, beta: F64) -> LossSums:
        """The sums at some coefficients and a baseline."""
        for there, sums in self._known:
            if np.abs(beta - there).max(initial=0.0) <= SAME:
                return _moved(sums, beta - there)
        for there, loglik in self._along:
            if np.abs(beta - there).max(initial=0.0) <= ROUNDING * np.abs(beta).max(initial=1.0):
                return Looked(loglik, lambda: self._ask(beta))
        sums = self._ask(beta)
        start, best = self.best
        if best.loglik - sums.loglik > CLEAR * abs(best.loglik):
            parts = start + PARTS[:, None] * (beta - start)
            self._along = list(zip(parts, self._logliks(start, beta, PARTS).tolist(), strict=True))
        return sums

    def _ask(self, beta: F64) -> LossSums:
        sums = self._told(beta)
        self._known.append((beta.copy(), sums))
        return sums


class Looked(LossSums):
    """Sums of which the derivatives are asked for once somebody needs them."""

    _ask: Callable[[], LossSums]

    def __init__(self, loglik: float, ask: Callable[[], LossSums]) -> None:
        object.__setattr__(self, "loglik", loglik)
        object.__setattr__(self, "_ask", ask)

    @cached_property
    def _whole(self) -> LossSums:
        return self._ask()

    @property
    def gradient(self) -> F64:
        return self._whole.gradient

    @property
    def hessian(self) -> F64:
        return self._whole.hessian


def _moved(sums: LossSums, step: F64) -> LossSums:
    if not step.any():
        return sums
    change = sums.hessian @ step
    loglik = sums.loglik + float(step @ (sums.gradient - 0.5 * change))
    return LossSums(loglik, sums.gradient - change, sums.hessian)
