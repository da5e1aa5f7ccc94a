"""Rows in memory, summed by compiled loops, several designs at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..backends.bent_kernels import (
    entropy_units,
    gram_units,
    histogram_units,
    level_units,
    spread_units,
)
from ..backends.threads import in_threads
from ..core.table import F64
from .plain_rows import LEAST_LIKELY, PlainRows
from .rows import LARGEST_LOG_SPREAD, LARGEST_RATIO, PRODUCT_WITHIN, Designs, LevelledSums
from .spacing import BINS, SPACING, STRETCH, bin_edges

NOTHING = np.zeros((1, 1))


class CompiledRows(PlainRows):
    """The same sums as its plain twin, whatever the number of threads."""

    def grams(self, designs: Designs, gamma: F64 | None = None) -> F64:
        out = np.zeros((len(designs), designs.width + 1, designs.width + 1))
        asked = (*self._asked(designs), NOTHING if gamma is None else gamma, gamma is not None)
        work = partial(gram_units, *asked, PRODUCT_WITHIN, LARGEST_LOG_SPREAD)
        self._in_threads(designs, lambda begin, end: work(begin, end, out), designs.width)
        return out

    def spread_sums(self, designs: Designs, beta: F64, gamma: F64) -> F64:
        out = np.zeros((len(designs), designs.width))
        limits = (PRODUCT_WITHIN, LARGEST_LOG_SPREAD, LARGEST_RATIO)
        work = partial(spread_units, *self._asked(designs), beta, gamma, *limits)
        self._in_threads(designs, lambda begin, end: work(begin, end, out))
        return out

    def histograms(self, designs: Designs, beta: F64, gamma: F64 | None, unit: F64) -> tuple[F64, F64]:
        counts, sums = np.zeros((len(designs), BINS)), np.zeros((len(designs), 3))
        asked = (*self._asked(designs), beta, NOTHING if gamma is None else gamma, gamma is not None, unit)
        work = partial(histogram_units, *asked, PRODUCT_WITHIN, LARGEST_LOG_SPREAD, STRETCH)
        self._in_threads(designs, lambda begin, end: work(begin, end, counts, sums))
        return counts, sums

    def level_sums(self, designs: Designs, beta: F64, thresholds: F64) -> LevelledSums:
        m, t, width = len(designs), thresholds.shape[1], designs.width
        found = LevelledSums.zero(m, width, t)
        asked = (self.splines, self.codes, self.weights, designs.effect, designs.first, designs.second)
        work = partial(level_units, *asked, designs.size, beta, thresholds, PRODUCT_WITHIN, LEAST_LIKELY)
        self._in_threads(designs, lambda begin, end: work(begin, end, *vars(found).values()), designs.width)
        return found

    @staticmethod
    def entropies(counts: F64, n_rows: float) -> F64:
        out = np.empty(len(counts))
        work = partial(entropy_units, counts, bin_edges(), SPACING, n_rows)
        in_threads(lambda begin, end: work(begin, end, out), len(counts), counts.size)
        return out

    def _asked(self, designs: Designs) -> tuple[np.ndarray, ...]:
        held = (self.splines, self.effects, self.weights)
        return (*held, designs.effect, designs.first, designs.second, designs.size)

    def _in_threads(self, designs: Designs, work: Callable[[int, int], None], times: int = 4) -> None:
        in_threads(work, len(designs), len(designs) * self.weights.size * times)
