"""FindRoot+ in the paper's own order of comparisons (Algorithm 3), to count what it would evaluate."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from rootcausal.method.ordering import ordering
from rootcausal.method.ordering.pair_score import entropy, pair_score
from rootcausal.method.ordering.search import Root
from rootcausal.method.table import F64, Index, Table


class PaperSearch:
    """Candidates with the smallest total go on, each with its next partner by column index."""

    def find_root(self, table: Table, candidates: Index, entropies: F64) -> Root:
        m = candidates.size
        sums = table.leading_pair_sums(candidates, m)
        given = entropy(sums[0, 0], sums[0, 1], table.shape[0])
        own = entropies[candidates]
        penalty = np.minimum(pair_score(own[:, None], own[None, :], given, given.T), 0.0) ** 2
        total, following, unmet = np.zeros(m), np.zeros(m, dtype=int), ~np.eye(m, dtype=bool)
        n_pairs = 0
        while True:
            smallest = np.flatnonzero(total == total.min())
            if (following[smallest] >= m).any():
                break
            for i in smallest:
                j = following[i]
                if unmet[i, j]:
                    total[i] += penalty[i, j]
                    total[j] += penalty[j, i]
                    unmet[i, j] = unmet[j, i] = False
                    n_pairs += 1
                following[i] += 1
        best = int(total.argmin())
        entropy_given_root = np.full(entropies.size, np.nan)
        entropy_given_root[candidates] = given[:, best]
        return Root(int(candidates[best]), 0.0, entropy_given_root, n_pairs)


@contextmanager
def as_the_paper_orders() -> Iterator[None]:
    """Within, pruned variants compare in the paper's order."""
    ours = ordering._choose_search
    ordering._choose_search = lambda variant, table: PaperSearch()
    try:
        yield
    finally:
        ordering._choose_search = ours
