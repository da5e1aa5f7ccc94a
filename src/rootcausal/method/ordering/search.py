"""FindRoot, and FindRoot+ by blocks of pairs (paper, Algorithms 2 and 3): which variable is the next root.

It is the one that is most independent of its residuals.

Every pair of candidates adds a penalty min(0, C_ij)² to one of the two (C is a pairwise likelihood ratio),
and the root, exogenous among what is left, is the candidate with the smallest total T. Totals only grow, so a
candidate is out of the race once its running total passes that of a finished one (pruning, as in branch and
bound). All searches return the same root (Proposition 3); they differ in the order of comparisons, which
decides how soon the search ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..table import F64, Index, Table
from .entropy import pair_score
from .levels import LevelEntropies

# Running totals are summed in another order than finished ones: leave room for rounding before calling
# a candidate beaten.
ROUNDING = 1e-9
# A block holds every candidate whose penalty was within this factor of the smallest, and at least so many.
CONTENDER = 2.0
LEAST_CONTENDERS = 16


@dataclass(frozen=True)
class Root:
    """What a search found.

    Attributes
    ----------
    column : the root, a column of the table.
    margin : by how much its penalty undercuts the next one; a lower bound under pruned search.
    entropy_given_root : (k,) entropy of each candidate's residual given the root; NaN for other columns, and
        where nothing was compared.
    n_pairs : pairs evaluated.
    """

    column: int
    margin: float
    entropy_given_root: F64
    n_pairs: int


class Search(Protocol):
    """Finds one root a round."""

    def find_root(
        self, table: Table, candidates: Index, entropies: F64, levels: LevelEntropies | None = None
    ) -> Root:
        """The root among two or more ``candidates``, whose entropies are at their place in (k,).

        ``levels`` has those of discrete candidates given others.
        """
        ...


class ExhaustiveSearch:
    """FindRoot: all pairs, each round anew."""

    def find_root(
        self, table: Table, candidates: Index, entropies: F64, levels: LevelEntropies | None = None
    ) -> Root:
        block = Block.of(table, candidates, candidates.size, entropies, levels)
        best = int(block.penalty.argmin())
        entropy_given_root = np.full(entropies.size, np.nan)
        entropy_given_root[candidates] = table.to_host(block.given[1, best])
        least, next_least = np.partition(block.penalty, 1)[:2]
        margin = float(next_least - least)
        return Root(int(candidates[best]), margin, entropy_given_root, block.n_pairs)


class BlockSearch:
    """FindRoot+ in two blocks of pairs: for tables where a pair costs less than keeping account of it.

    The first block finishes all who came close to winning in earlier rounds, and the second whoever the
    first did not beat. Totals change little from round to round, so the second is small.
    """

    def __init__(self, n_columns: int) -> None:
        # What each column's total was when last finished, less what has left since; at first nothing is
        # known, so everyone is a contender.
        self._expected = np.zeros(n_columns)

    def find_root(
        self, table: Table, candidates: Index, entropies: F64, levels: LevelEntropies | None = None
    ) -> Root:
        cols, q = self._contenders_first(candidates, table.pairs_per_call)
        blocks = [Block.of(table, cols, q, entropies, levels)]
        penalty, finished = np.zeros(entropies.size), np.zeros(entropies.size, dtype=bool)
        penalty[cols] = blocks[0].column_penalty
        penalty[cols[:q]] = blocks[0].penalty
        finished[cols[:q]] = True
        rest = cols[q:]
        beaten = penalty[rest] > blocks[0].penalty.min() * (1.0 + ROUNDING)
        if not beaten.all():
            alive = rest[~beaten]
            cols = np.concatenate([alive, rest[beaten]])
            blocks.append(Block.of(table, cols, alive.size, entropies, levels))
            penalty[alive] += blocks[1].penalty
            finished[alive] = True
        # In the order of columns, so that a tie goes to the first.
        totals = np.where(finished, penalty, np.inf)[candidates]
        root = int(candidates[totals.argmin()])
        margin = max(0.0, float(penalty[candidates[candidates != root]].min() - totals.min()))
        self._expected = np.where(finished, penalty, np.maximum(self._expected, penalty))
        entropy_given_root = np.full(entropies.size, np.nan)
        for others, others_given, root_given in (block.beside(root, table) for block in blocks):
            entropy_given_root[others] = others_given
            score = pair_score(entropies[others], entropies[root], others_given, root_given)
            self._expected[others] -= np.minimum(score, 0.0) ** 2
        return Root(root, margin, entropy_given_root, sum(block.n_pairs for block in blocks))

    def _contenders_first(self, candidates: Index, pairs_per_call: int) -> tuple[Index, int]:
        """Candidates by what they are expected to lose, and how many of them the first block finishes."""
        expected = self._expected[candidates]
        cols = candidates[np.argsort(expected, kind="stable")]
        if candidates.size * candidates.size <= 2 * pairs_per_call:
            return cols, cols.size  # a second call would cost more than all pairs in one
        close = int((expected <= CONTENDER * expected.min()).sum())
        return cols, min(cols.size, max(close, LEAST_CONTENDERS))


@dataclass(frozen=True)
class Block:
    """All pairs of m columns with a member among the first q, its rows.

    Attributes
    ----------
    cols : (m,) columns of the table.
    penalty : (q,) Σ over all columns of what each row is penalized.
    column_penalty : (m,) Σ over the rows of what each column is penalized.
    given : (2, q, m) entropies of the residuals of rows given columns, and of columns given rows.
    """

    cols: Index
    penalty: F64
    column_penalty: F64
    given: Any

    @classmethod
    def of(
        cls, table: Table, cols: Index, q: int, entropies: F64, levels: LevelEntropies | None = None
    ) -> Block:
        known = None if levels is None else levels.within(cols)
        sums = table.leading_pair_sums(cols, q)
        penalty, column_penalty, given = table.block_penalties(sums, entropies[cols], table.shape[0], known)
        return cls(cols, penalty, column_penalty, given)

    def beside(self, column: int, table: Table) -> tuple[Index, F64, F64]:
        """Whom this column met here, the entropies of their residuals given it, and of its given them."""
        found = np.flatnonzero(self.cols == column)
        if not found.size:
            return self.cols[:0], np.empty(0), np.empty(0)
        place, q = int(found[0]), self.penalty.size
        if place < q:
            own, others = table.to_host(self.given[:, place, :])
            return self.cols, others, own
        others, own = table.to_host(self.given[:, :, place])
        return self.cols[:q], others, own

    @property
    def n_pairs(self) -> int:
        q, m = self.penalty.size, self.cols.size
        return q * m - q * (q + 1) // 2
