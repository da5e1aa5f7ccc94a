"""Cases beside the reference group, where a graph is learned: under the right one they depart in few places.

Nobody has to know what happened to them. Where a mechanism is right, most cases still follow it, and the few
that do not depart from it alone; a wrong arrow makes them depart in many places (sparse mechanism shift;
Schölkopf et al. 2021). So each case adds to the description of a column given its causes: the better of two,
that it follows the mechanism, and that it comes from anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from ..method.table import F64, Index
from ..nonlinear.curves import Splines
from ..nonlinear.fitting import Asked, Fitted, Fitter
from ..nonlinear.memory_rows import MemoryRows, spread_of
from ..nonlinear.rows import Designs

# The share of cases that depart from one mechanism, expected beforehand.
DEPARTS = 0.02
# Cases that depart lie within so many standard deviations, at least.
LEAST_REACH = 3.0
# Beyond what the reference group had, a line may go on otherwise: by this share of what it adds there.
EXTRAPOLATION_DOUBT = 0.05
LEAST_LIKELY = 1e-12


@dataclass(frozen=True, eq=False)
class CaseRows:
    """Cases, as mechanisms of the reference group see them.

    Attributes
    ----------
    rows : their standardized values.
    inside : the same, no farther out than the reference group.
    """

    rows: MemoryRows
    inside: MemoryRows

    @classmethod
    def of(
        cls, Z: F64, lowest: F64, highest: F64, splines: Splines, codes: Index, levels: tuple[F64, ...]
    ) -> CaseRows:
        """Of values Z (q, m), and the range (q,) of each column in the reference group."""
        weights = np.ones(Z.shape[1])
        near = np.clip(Z, lowest[:, None], highest[:, None])
        made = [MemoryRows(splines.rows_of(some), some, weights, codes, levels) for some in (Z, near)]
        return cls(*made)

    def of_columns(self, columns: Index) -> CaseRows:
        """The same of some columns."""
        return CaseRows(self.rows.of_columns(columns), self.inside.of_columns(columns))

    def log_likelihood(self, column: int, fitted: Fitted) -> float:
        """Σ log((1 − ε) f + ε q) of the cases: by this mechanism, or from anywhere."""
        designs = Designs.of([column], [fitted.terms])
        terms, near = self.rows.terms(designs, 0), self.inside.terms(designs, 0)
        z = self.rows.effects[column]
        if fitted.thresholds is not None:
            follows, elsewhere = self._levels(column, fitted, near)
        else:
            expected, expected_near = fitted.beta @ terms, fitted.beta @ near
            spread = 1.0 if fitted.gamma is None else spread_of(near, fitted.gamma)
            size = np.hypot(spread * fitted.sd, EXTRAPOLATION_DOUBT * (expected - expected_near))
            error = (z - expected - spread * fitted.mean) / size
            follows = -np.sqrt(2.0) * np.abs(error) - np.log(np.sqrt(2.0) * size)  # Laplace's
            elsewhere = -np.log(2.0 * max(LEAST_REACH, float(np.abs(z).max(initial=0.0))))
        return float(np.logaddexp(np.log1p(-DEPARTS) + follows, np.log(DEPARTS) + elsewhere).sum())

    def _levels(self, column: int, fitted: Fitted, near: F64) -> tuple[F64, float]:
        """Logarithms of how likely each level was, and of any."""
        thresholds = fitted.thresholds
        assert thresholds is not None
        below = expit(np.concatenate([thresholds, [np.inf]])[:, None] - fitted.beta @ near)
        shares = np.diff(below, axis=0, prepend=0.0)
        codes = self.rows.codes[column]
        likely = shares[codes, np.arange(codes.size)]
        return np.log(np.maximum(likely, LEAST_LIKELY)), -np.log(thresholds.size + 1.0)


@dataclass(frozen=True, eq=False)
class CaseFitter(Fitter):
    """Mechanisms of the reference group, and what they cost with the cases beside it.

    Attributes
    ----------
    cases : these.
    """

    cases: CaseRows | None = None

    def fit(self, asked: Sequence[Asked]) -> list[Fitted]:
        """As without cases; what is fitted is the reference group."""
        if self.cases is None:
            return super().fit(asked)
        # What is to be beaten counts cases, too.
        found = super().fit([replace(one, to_beat=np.inf) for one in asked])
        return [
            replace(fitted, cost=fitted.cost - self.cases.log_likelihood(one.effect, fitted))
            for one, fitted in zip(asked, found, strict=True)
        ]

    def _rescaled(
        self,
        some: Sequence[int],
        effects: Sequence[int],
        lines: Sequence[Sequence[tuple[int, int]]],
        whole: Sequence[Sequence[tuple[int, int]]],
        best: list[Fitted],
    ) -> None:
        """Not with cases: how likely these are is told on the column's own scale."""
        if self.cases is None:
            super()._rescaled(some, effects, lines, whole, best)
