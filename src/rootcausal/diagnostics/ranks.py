"""Ranks of many columns, a few at a time on all cores; correlations of ranks, and smooth curves over them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..backends.cpu.on_demand import in_threads
from ..method.table import F64

# Columns are taken together as far as their values stay near the processor.
VALUES_AT_ONCE = 1 << 16


def in_blocks(
    work: Callable[[slice], None], n_columns: int, n_rows: int, values_at_once: int = VALUES_AT_ONCE
) -> None:
    """Call work(columns) for all columns of so many rows: the same blocks whatever the number of threads."""
    step = max(1, values_at_once // max(n_rows, 1))

    def blocks(first: int, last: int) -> None:
        for start in range(first * step, min(last * step, n_columns), step):
            work(slice(start, min(start + step, n_columns)))

    in_threads(blocks, -(-n_columns // step), n_columns * n_rows)


def ranks_of(values: F64, there: np.ndarray | None = None) -> F64:
    """Ranks from 1 on, of what is the same the mean, of values (n,) or of each row of values (m, n).

    What is not ``there`` (m, n) comes last. In half the time that SciPy takes.
    """
    if there is not None:
        values = np.where(there, values, np.inf)
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    is_new = np.ones(values.shape, dtype=bool)
    np.not_equal(ordered[..., 1:], ordered[..., :-1], out=is_new[..., 1:])
    first, n = np.flatnonzero(is_new), values.shape[-1]
    count = np.diff(np.append(first, values.size))
    ranks = np.empty(values.shape)
    mean = np.repeat(first % n + 0.5 * (count + 1.0), count).reshape(values.shape)
    np.put_along_axis(ranks, order, mean, axis=-1)
    return ranks


def rank_correlations(values: F64, missing: np.ndarray | None, others: F64) -> F64:
    """(m,) size of the correlation of ranks of columns (n, m) with those of others (n,), where measured."""
    n, m = values.shape
    found, alone = np.zeros(m), ranks_of(others)

    def work(some: slice) -> None:
        there = None if missing is None else ~missing[:, some].T
        ranks = ranks_of(values[:, some].T, there)
        beside = alone if there is None else ranks_of(np.broadcast_to(others, ranks.shape), there)
        found[some] = correlations_of(ranks, beside, there)

    in_blocks(work, m, n)
    return found


def correlations_of(values: F64, others: F64, there: np.ndarray | None = None) -> F64:
    """(m,) size of the correlation of values (m, n) with others, (n,) or (m, n), where ``there`` (m, n)."""
    one, other = (_standardized(some, there) for some in (values, np.atleast_2d(others)))
    found = np.abs(np.einsum("mn,mn->m", one, np.broadcast_to(other, one.shape)))
    count = values.shape[1] if there is None else np.maximum(there.sum(axis=1), 1)
    return found / count


def _standardized(values: F64, there: np.ndarray | None) -> F64:
    """The same with mean 0 and variance 1 among what is there, and 0 elsewhere."""
    if there is None:
        count: int | F64 = values.shape[1]
        centred = values - values.mean(axis=1, keepdims=True)
    else:
        count = np.maximum(there.sum(axis=1), 1).astype(np.float64)
        mean = np.where(there, values, 0.0).sum(axis=1) / count
        centred = np.where(there, values - mean[:, None], 0.0)
    sd = np.sqrt(np.einsum("mn,mn->m", centred, centred) / count)
    centred /= np.where(sd > 0, sd, 1.0)[:, None]
    return centred


def rank_scores(values: F64, n_terms: int) -> F64:
    """(k, n_terms, n): √2 cos(π a u) of the ranks u of each column of values (n, k); a = 1 … n_terms.

    They are standardized.
    """
    n, k = values.shape
    scores = np.empty((k, n_terms, n))

    def work(some: slice) -> None:
        for column, of_column in zip(values.T[some], scores[some], strict=True):
            _fill_cosines(ranks_of(column), of_column)

    in_blocks(work, k, n)
    return scores


def _fill_cosines(ranks: F64, scores: F64) -> None:
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
