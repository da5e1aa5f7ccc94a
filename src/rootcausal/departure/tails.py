"""How often a score as far out as this one is seen in the reference group: tail probabilities.

Between the smallest and the largest score of the reference group they are its own shares. Beyond, tails are
taken for exponential: its scale is the mean excess over the outer twentieth, drawn toward that of a
Gaussian as far as few independent rows tell it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..method.model_parts import Array
from ..method.table import F64

# Rows that follow each other in time tell less than as many that do not.

# Correlations are added up as long as they are above this, and above what chance does (two standard errors);
# and no further than this share of the rows.
LEAST_CORRELATION = 0.05
FARTHEST = 1.0 / 3.0


def autocorrelation_time(series: F64) -> F64:
    """(m,) how many rows of each column (n, m) tell as much as one: 1 where rows are independent.

    The integrated autocorrelation time 1 + 2 Σ ρ_k, up to the first lag whose correlation may be chance
    (Sokal 1997). NaN are rows of which nothing is known, and count as average ones.
    """
    n = len(series)
    centred = series - np.nanmean(series, axis=0)
    centred = np.where(np.isnan(centred), 0.0, centred)
    variance = (centred * centred).mean(axis=0)
    least = max(LEAST_CORRELATION, 2.0 / np.sqrt(n))
    found, going = np.ones(series.shape[1]), variance > 0.0
    for lag in range(1, int(FARTHEST * n)):
        if not going.any():
            break
        shared = (centred[lag:, going] * centred[:-lag, going]).sum(axis=0) / n / variance[going]
        above = shared > least
        going[going] = above
        found[going] += 2.0 * shared[above]
    return found


# The share of rows on either side that tells the scale of its tail.
OUTER = 0.05
_NEAR_THE_END = OUTER * 0.5 ** (np.arange(1, 17) / 2.0)
#: (LEVELS,) shares of the rows whose quantiles are kept, finer toward the ends.
LEVELS = np.concatenate(
    [[0.0], _NEAR_THE_END[::-1], np.linspace(OUTER, 1.0 - OUTER, 91), 1.0 - _NEAR_THE_END, [1.0]]
)
# The mean excess of a Gaussian over its outer twentieth, in standard deviations; and as many rows beyond
# it as this expectation counts for.
GAUSSIAN_EXCESS = 0.42
PRIOR_ROWS = 10.0
# A scale is no smaller than this part of the scores' size.
LEAST_SCALE = 1e-6


@dataclass(frozen=True, eq=False)
class Tails:
    """The distribution of the scores of v variables in the reference group.

    Attributes
    ----------
    quantiles : (v, LEVELS) of them.
    scale : (v, 2) of the exponential tails below and above.
    """

    kind: ClassVar[str] = "tails"
    ARRAYS: ClassVar[Mapping[str, Array]] = {
        "quantiles": Array.within(1e300, "variables", (LEVELS.size,), rising=True),
        "scale": Array("variables", (2,), least=1e-300, most=1e300),
    }

    quantiles: F64
    scale: F64

    @classmethod
    def of(cls, scores: F64, times: F64) -> Tails:
        """Of scores (n, v), NaN where there is none, and how many rows (v,) tell as much as one."""
        v = scores.shape[1]
        quantiles, scale = np.zeros((v, LEVELS.size)), np.ones((v, 2))
        for column in range(v):
            seen = scores[~np.isnan(scores[:, column]), column]
            if seen.size:
                quantiles[column] = np.quantile(seen, LEVELS, method="inverted_cdf")
                scale[column] = [_scale(side, float(times[column])) for side in (-seen, seen)]
        return cls(quantiles, scale)

    def log_probabilities(self, scores: F64) -> tuple[F64, F64]:
        """Logarithms (n, v) of the shares of the reference group that score no more, and no less."""
        below, above = np.empty_like(scores), np.empty_like(scores)
        for column, (quantiles, scale) in enumerate(zip(self.quantiles, self.scale, strict=True)):
            x = scores[:, column]
            above[:, column] = _log_upper(quantiles, float(scale[1]), x)
            below[:, column] = _log_upper(-quantiles[::-1], float(scale[0]), -x)
        missing = np.isnan(scores)
        below[missing], above[missing] = np.nan, np.nan
        return below, above

    def check(self) -> None:
        """Nothing but what each array shows by itself."""


def _scale(seen: F64, time: float) -> float:
    """The scale of the upper tail of some scores (n,)."""
    start = np.quantile(seen, 1.0 - OUTER, method="inverted_cdf")
    beyond = seen[seen > start] - start
    size = float(np.sqrt(np.mean(seen * seen)))
    rows = beyond.size / time
    told = float(beyond.mean()) if beyond.size else 0.0
    expected = GAUSSIAN_EXCESS * size
    return max((rows * told + PRIOR_ROWS * expected) / (rows + PRIOR_ROWS), LEAST_SCALE * size, 1e-300)


def _log_upper(quantiles: F64, scale: float, x: F64) -> F64:
    """(n,) the logarithm of the share of scores that are at least x (n,)."""
    at = np.searchsorted(quantiles, x, side="left")
    inside = np.clip(at, 1, quantiles.size - 1)
    low, high = quantiles[inside - 1], quantiles[inside]
    # A score that many rows share counts with all of them.
    shared = (high == x) & (quantiles[np.minimum(inside + 1, quantiles.size - 1)] == x)
    room = np.where(shared | (high == low), np.inf, high - low)
    below = LEVELS[inside - 1] + (LEVELS[inside] - LEVELS[inside - 1]) * np.maximum(x - low, 0.0) / room
    share = np.where(at == 0, 1.0, np.where(at == quantiles.size, 0.0, 1.0 - below))
    start = quantiles[np.searchsorted(LEVELS, 1.0 - OUTER - 1e-9)]
    tail = np.log(OUTER) - np.maximum(x - start, 0.0) / scale
    with np.errstate(divide="ignore"):
        return np.where(x > start, np.maximum(np.log(share), tail), np.log(np.maximum(share, OUTER)))
