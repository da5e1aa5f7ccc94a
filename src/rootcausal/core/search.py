"""FindRoot and FindRoot+ (paper, Algorithms 2 and 3): which variable is most independent of its residuals.

Every pair of candidates adds a penalty min(0, C_ij)² to one of the two, and the root is the candidate
with the smallest total T. Totals only grow, so a candidate is out of the race once its running total
passes that of a finished one. All searches return the same root (Proposition 3); they differ in the
order of comparisons, which decides how soon the search ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from .entropy import entropy, pair_score
from .table import F64, Index, Table

# Running totals are summed in another order than finished ones: leave room for rounding before calling
# a candidate beaten.
ROUNDING = 1e-9
# A block holds every candidate whose penalty was within this factor of the smallest, and at least so many.
CONTENDER = 3.0
LEAST_CONTENDERS = 16


@dataclass(frozen=True)
class Root:
    """What a search found.

    Attributes
    ----------
    column : the root, a column of the table.
    margin : by how much its penalty undercuts the next one; a lower bound under pruned search.
    entropy_given_root : (k,) entropy of each candidate's residual given the root.
    n_pairs : pairs evaluated.
    """

    column: int
    margin: float
    entropy_given_root: F64
    n_pairs: int


class Search(Protocol):
    """Finds one root a round."""

    def find_root(self, table: Table, candidates: Index, entropies: F64) -> Root:
        """The root among two or more ``candidates``, whose entropies are at their place in (k,)."""
        ...

    def forget(self, candidates: Index, gone: Index) -> None:
        """Told after each round who is left and who left."""
        ...


class ExhaustiveSearch:
    """FindRoot: all pairs, each round anew."""

    def find_root(self, table: Table, candidates: Index, entropies: F64) -> Root:
        block = Block.of(table, candidates, candidates.size, entropies)
        best = int(block.penalty.argmin())
        entropy_given_root = np.full(entropies.size, np.nan)
        entropy_given_root[candidates] = table.to_host(block.column_given_row[best])
        margin = float(np.delete(block.penalty, best).min() - block.penalty[best])
        return Root(int(candidates[best]), margin, entropy_given_root, block.n_pairs)

    def forget(self, candidates: Index, gone: Index) -> None:
        """Nothing is remembered from round to round."""


class BlockSearch:
    """FindRoot+ in two blocks of pairs: for tables where a pair costs less than keeping account of it.

    The first block finishes all who came close to winning in earlier rounds, and the second whoever the
    first did not beat. Totals change little from round to round, so the second is small.
    """

    def __init__(self, n_columns: int) -> None:
        # What each column's total was when last finished, less what has left since; at first nothing is
        # known, so everyone is a contender.
        self._expected = np.zeros(n_columns)

    def find_root(self, table: Table, candidates: Index, entropies: F64) -> Root:
        expected = self._expected[candidates]
        close = int((expected <= CONTENDER * expected.min()).sum())
        q = min(candidates.size, max(close, LEAST_CONTENDERS))
        cols = candidates[np.argsort(expected, kind="stable")]
        first = Block.of(table, cols, q, entropies)
        penalty = np.zeros(entropies.size)
        penalty[cols] = first.column_penalty
        penalty[cols[:q]] = first.penalty
        finished = np.zeros(entropies.size, dtype=bool)
        finished[cols[:q]] = True
        blocks = [first]
        beaten = penalty[cols] > first.penalty.min() * (1.0 + ROUNDING)
        rest = cols[q:]
        if not beaten[q:].all():
            alive = rest[~beaten[q:]]
            second = Block.of(table, np.concatenate([alive, rest[beaten[q:]]]), alive.size, entropies)
            penalty[alive] += second.penalty
            finished[alive] = True
            blocks.append(second)
        contenders = candidates[finished[candidates]]
        root = int(contenders[penalty[contenders].argmin()])
        others = candidates[candidates != root]
        margin = max(0.0, float(penalty[others].min() - penalty[root]))
        given_root, root_given = _beside(root, blocks, table, entropies.size)
        self._expected = np.where(finished, penalty, np.maximum(self._expected, penalty))
        lost = pair_score(entropies[others], entropies[root], given_root[others], root_given[others]).clip(
            None, 0.0
        )
        self._expected[others] -= lost * lost
        return Root(root, margin, given_root, sum(block.n_pairs for block in blocks))

    def forget(self, candidates: Index, gone: Index) -> None:
        """What the root had added was taken out when it was found; others who leave add little."""


@dataclass(frozen=True)
class Block:
    """All pairs of m columns with a member among the first q, its rows; native arrays stay on the device.

    Attributes
    ----------
    cols : (m,) columns of the table.
    penalty : (q,) Σ over all columns of what each row is penalized.
    column_penalty : (m,) Σ over the rows of what each column is penalized.
    row_given_column, column_given_row : (q, m) native, entropies of the residuals.
    """

    cols: Index
    penalty: F64
    column_penalty: F64
    row_given_column: Any
    column_given_row: Any

    @classmethod
    def of(cls, table: Table, cols: Index, q: int, entropies: F64) -> Block:
        sums = table.leading_pair_sums(cols, q)
        given = entropy(sums[:, 0], sums[:, 1], table.shape[0])
        own = table.to_native(entropies[cols])
        score = pair_score(own[:q, None], own[None, :], given[0], given[1])
        lost, won = score.clip(None, 0.0), score.clip(0.0, None)
        return cls(
            cols,
            table.to_host((lost * lost).sum(axis=1)),
            table.to_host((won * won).sum(axis=0)),
            given[0],
            given[1],
        )

    @property
    def n_pairs(self) -> int:
        q, m = self.penalty.size, self.cols.size
        return q * m - q * (q + 1) // 2


def _beside(root: int, blocks: list[Block], table: Table, size: int) -> tuple[F64, F64]:
    """(size,) entropies of every column's residual given the root, and of the root's given every column."""
    given_root, root_given = np.full(size, np.nan), np.full(size, np.nan)
    for block in blocks:
        place = int(np.flatnonzero(block.cols == root)[0]) if root in block.cols else -1
        q = block.penalty.size
        if 0 <= place < q:
            given_root[block.cols] = table.to_host(block.column_given_row[place])
            root_given[block.cols] = table.to_host(block.row_given_column[place])
        elif place >= q:
            given_root[block.cols[:q]] = table.to_host(block.row_given_column[:, place])
            root_given[block.cols[:q]] = table.to_host(block.column_given_row[:, place])
    return given_root, root_given
