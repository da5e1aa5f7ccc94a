"""Cosines of ranks: smooth curves over any column, whatever its law."""

from __future__ import annotations

import numpy as np

from ..core.table import F64
from .ranks import Ranked


def rank_scores(values: F64, n_terms: int) -> F64:
    """(k, n_terms, n): √2 cos(π a u) of the ranks u of each column of values (n, k); a = 1 … n_terms.

    They are standardized.
    """
    n, k = values.shape
    scores = np.empty((k, n_terms, n))
    for column, of_column in zip(values.T, scores, strict=True):
        straight = np.cos(np.pi * ((Ranked.of(column[None]).ranks[0] - 0.5) / n))
        # cos (a + 1) x = 2 cos x cos a x − cos (a − 1) x.
        before, here = np.ones(n), straight
        for term in of_column:
            term[:] = here
            before, here = here, 2.0 * straight * here - before
        of_column -= of_column.mean(axis=1, keepdims=True)
        # Ties leave a column of few values without its finer scores.
        sd = np.sqrt(np.einsum("an,an->a", of_column, of_column) / n)
        of_column /= np.maximum(sd, 1e-3)[:, None]
    return scores
