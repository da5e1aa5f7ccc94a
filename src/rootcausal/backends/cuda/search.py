"""FindRoot+ (paper, Algorithm 3) with its accounts on the card: the host sees one answer a round.

A pair costs nanoseconds there, and keeping account of it on the host a hundred times as many. The plain twin,
with the same idea of which pairs to meet, is :class:`rootcausal.method.ordering.search.PairSearch`.
"""

from __future__ import annotations

from typing import Any

import cupy as cp
import numpy as np

from ...method.ordering.pair_score import LevelEntropies
from ...method.ordering.search import BlockSearch, Root
from ...method.table import F64, Index
from .device import busy_warps, kernel, on_card, on_host

# How many partners a candidate meets at most in each call of a round, and how many more than should beat it;
# in the last call it meets all who are left. Calls follow each other without the host.
MOST_AT_ONCE = (16, 16, 64)
SPARE = (1, 2, 4)
# Pairs of one call; what does not fit is left for another one.
CAPACITY = 1 << 22
# Pairs of the first round, of which nothing is known, are summed in squares of at most so many.
PAIRS_A_SQUARE = 1 << 24
# Where all pairs together cost less than this share of a call's overhead, nothing is saved by choosing.
NOT_WORTH_CHOOSING = 0.1
THREADS = 128


class CardSearch:
    """One search over a table of k columns on the card, with what earlier rounds taught."""

    def __init__(self, n_columns: int) -> None:
        k = n_columns
        self._score, self._given = cp.zeros((2, k, k))
        self._seen, self._chosen = (cp.zeros((k, k), dtype=cp.int32) for _ in range(2))
        self._total, self._unmet = cp.empty(k), cp.empty(k, dtype=cp.int32)
        # As the kernels lay it out: a float64, two 64-bit and two 32-bit whole numbers.
        self._standing = cp.zeros(32, dtype=cp.uint8)
        self._capacity = max(1, min(CAPACITY, k * (k - 1) // 2))
        self._pairs = cp.empty((2, self._capacity), dtype=cp.int32)
        self._sums = cp.empty((self._capacity + busy_warps(), 4))
        self._round = 0
        # Entropies of discrete columns come from the host, round by round.
        self._by_blocks = BlockSearch(k)

    def find_root(
        self, table: Any, candidates: Index, entropies: F64, levels: LevelEntropies | None = None
    ) -> Root:
        if levels is not None:
            return self._by_blocks.find_root(table, candidates, entropies, levels)
        self._round += 1
        chosen, own = on_card(candidates.astype(np.int32)), on_card(entropies)
        all_pairs = candidates.size * (candidates.size - 1) // 2
        n_pairs = 0
        if self._round == 1:
            n_pairs = self._meet_all(table, candidates, own)
            self._take_stock(chosen)
        elif all_pairs <= min(self._capacity, NOT_WORTH_CHOOSING * table.pairs_per_call):
            self._open(chosen)
            self._call(table, chosen, own, candidates.size, 0)
        else:
            self._open(chosen)
            for most, spare in zip((*MOST_AT_ONCE, candidates.size), (*SPARE, 0), strict=True):
                self._call(table, chosen, own, most, spare)
        root, margin, met, alive, *given = self._answer(chosen)
        while alive:  # there were more pairs than room for them
            self._call(table, chosen, own, candidates.size, 0)
            root, margin, met, alive, *given = self._answer(chosen)
        entropy_given_root = np.full(entropies.size, np.nan)
        entropy_given_root[candidates] = given
        return Root(int(candidates[int(root)]), float(margin), entropy_given_root, n_pairs + int(met))

    def _meet_all(self, table: Any, candidates: Index, own: Any) -> int:
        """The first round: every pair, so that the next ones know whom to let meet; returns how many."""
        n, k = table.shape
        height = max(1, PAIRS_A_SQUARE // candidates.size)
        for start in range(0, candidates.size, height):
            cols = candidates[start:]
            q, m = min(height, cols.size), cols.size
            sums = table.leading_pair_sums(cols, q)
            arguments = (sums, on_card(cols.astype(np.int32)), np.int32(q), np.int32(m), np.float64(n))
            own_of = (np.int32(k), np.int32(self._round), own, self._score, self._given, self._seen)
            kernel("enter_block")((-(-m // THREADS), q), (THREADS,), (*arguments, *own_of))
        return candidates.size * (candidates.size - 1) // 2

    def _open(self, candidates: Any) -> None:
        """Who leads by what is remembered."""
        self._add_totals(candidates, 0)
        self._take_stock_of(candidates.size, opening=True)

    def _take_stock(self, candidates: Any) -> None:
        """What the pairs met so far come to."""
        self._add_totals(candidates, self._round)
        self._take_stock_of(candidates.size, opening=False)

    def _add_totals(self, candidates: Any, number: int) -> None:
        k, m = len(self._score), candidates.size
        arguments = (self._score, self._seen, np.int32(k), candidates, np.int32(m), np.int32(number))
        kernel("add_totals")((m,), (THREADS,), (*arguments, self._total, self._unmet))

    def _take_stock_of(self, m: int, opening: bool) -> None:
        arguments = (self._total, self._unmet, np.int32(m), np.int32(opening), np.int64(self._capacity))
        kernel("take_stock")((1,), (256,), (*arguments, self._standing))

    def _call(self, table: Any, candidates: Any, own: Any, most: int, spare: int) -> None:
        """Choose pairs, let them meet, and take stock."""
        n, k = table.shape
        m, number, room = np.int32(candidates.size), np.int32(self._round), np.int64(self._capacity)
        race = (self._score, self._seen, self._chosen, np.int32(k), candidates, m, self._total, self._unmet)
        limits = (number, np.int32(most), np.int32(spare), self._pairs, room, self._standing)
        kernel("choose")((candidates.size,), (THREADS,), (*race, *limits))
        warps = busy_warps()
        columns = (table.columns, table.current_correlations, np.int64(n), np.int32(k))
        blocks = warps // (THREADS // 32)
        kernel("meet")((blocks,), (THREADS,), (*columns, self._pairs, room, self._standing, self._sums))
        met = (self._sums, self._pairs, room, np.float64(n), np.int32(k), np.int32(warps), number, own)
        kernel("enter")((blocks,), (THREADS,), (*met, self._score, self._given, self._seen, self._standing))
        self._take_stock(candidates)

    def _answer(self, candidates: Any) -> F64:
        k, m = len(self._score), candidates.size
        out = cp.empty(4 + m)
        arguments = (self._total, self._unmet, self._given, np.int32(k), candidates, np.int32(m))
        kernel("finish")((1,), (256,), (*arguments, self._standing, out))
        return on_host(out)
