"""Cosines of ranks: smooth curves over any column, whatever its law."""

from __future__ import annotations

import numpy as np

from ..core.table import F64
from .blocks import in_blocks
from .ranks import ranks_of


def rank_scores(values: F64, n_terms: int) -> F64:
    """(k, n_terms, n): √2 cos(π a u) of the ranks u of each column of values (n, k); a = 1 … n_terms.

    They are standardized.
    """
    n, k = values.shape
    scores = np.empty((k, n_terms, n))

    def work(some: slice) -> None:
        for column, of_column in zip(values.T[some], scores[some], strict=True):
            _fill(ranks_of(column), of_column)

    in_blocks(work, k, n)
    return scores


def _fill(ranks: F64, scores: F64) -> None:
    """The scores (n_terms, n) of one column with these ranks."""
    straight = np.cos(np.pi * ((ranks - 0.5) / ranks.size))
    # cos (a + 1) x = 2 cos x cos a x − cos (a − 1) x.
    before, here = np.ones(ranks.size), straight
    for term in scores:
        term[:] = here
        before, here = here, 2.0 * straight * here - before
    scores -= scores.mean(axis=1, keepdims=True)
    sd = np.sqrt(np.einsum("an,an->a", scores, scores) / ranks.size)
    # Ties leave a column of few values without its finer scores.
    scores /= np.maximum(sd, 1e-3)[:, None]
