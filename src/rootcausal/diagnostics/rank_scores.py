"""Cosines of ranks: smooth curves over any column, whatever its law."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from ..core.table import F64


def rank_scores(values: F64, n_terms: int) -> F64:
    """(n, k, n_terms): √2 cos(π a u) of the ranks u of each column, standardized; a = 1 … n_terms."""
    uniform = (rankdata(values, axis=0) - 0.5) / values.shape[0]
    scores = np.cos(np.pi * uniform[:, :, None] * np.arange(1, n_terms + 1))
    scores -= scores.mean(axis=0)
    # Ties leave a column of few values without its finer scores.
    return scores / np.maximum(scores.std(axis=0), 1e-3)
