"""Entropy of a column by distances between ranked values (m-spacings; Vasicek 1976), from a histogram.

The bins are narrow beside those distances, so that a histogram tells what a sort would; and histograms of
parts of the rows can be added. Where Hyvärinen's approximation of the linear method sees two moments, this
sees the whole distribution: by it nonlinear relations show their direction.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..backends.cpu.threads import in_threads
from ..method.table import F64

BINS = 2048
# Values v are counted by v / (STRETCH + |v|), between -1 and 1: fine near the middle, and no tail is cut off.
STRETCH = 3.0
# Ranks to either side, as a share of the root of the number of rows.
SPACING = 1.0 / 1.5


def bin_edges() -> F64:
    """(BINS + 1,) values between the bins; the outermost two stand for half a bin of what lies beyond."""
    share = np.linspace(-1.0, 1.0, BINS + 1)
    share[0], share[-1] = -1.0 + 0.5 / BINS, 1.0 - 0.5 / BINS
    return STRETCH * share / (1.0 - np.abs(share))


def entropies(counts: F64, n_rows: float) -> F64:
    """(m,) of histograms (m, BINS), whose rows weigh ``n_rows``."""
    from .sum_kernels import entropy_units

    out = np.empty(len(counts))
    work = partial(entropy_units, counts, bin_edges(), SPACING, n_rows)
    in_threads(lambda begin, end: work(begin, end, out), len(counts), counts.size)
    return out
