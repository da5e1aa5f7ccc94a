"""Direct LiNGAM in its four variants (paper, Algorithms 1 and 4): one loop over any table.

| variant    | search     | before each search                                  |
|------------|------------|-----------------------------------------------------|
| original   | exhaustive | nothing                                             |
| plus       | pruned     | nothing                                             |
| local      | exhaustive | drop variables whose residual is independent of D   |
| local_plus | pruned     | drop variables whose residual is independent of D   |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from .entropy import entropy
from .moments import EXHAUSTED, Columns, ResidualMoments, welch_p_values
from .search import ExhaustiveSearch, PrunedSearch, Root, Search
from .table import F64, ColumnMoments, Index, RawTable, Table

VARIANTS = ("original", "plus", "local", "local_plus")

#: Told after each round: roots found, candidates left.
OnRound = Callable[[int, int], None]


@dataclass(frozen=True)
class Ordering:
    """The causal order, and the map from a patient's values to the errors.

    Attributes
    ----------
    order : (k,) columns in the order in which they became roots (K in the paper).
    mean, sd : (k,) of these columns.
    mixing : (k, k) lower triangular; standardized columns are ``errors @ mixing.T``, errors of unit variance.
    margins : (k,) by how much each root won its search; lower bounds under pruned search, infinite for
        a root without a rival.
    exhausted : columns that were left out because earlier roots explain all their variance.
    n_pairs : pairs evaluated.
    table : the rows, with each ordered column replaced by its error.
    table_cols : (k,) where ``table`` keeps the columns of ``order``.
    """

    order: Index
    mean: F64
    sd: F64
    mixing: F64
    margins: F64
    exhausted: Index
    n_pairs: int
    table: Table
    table_cols: Index

    @property
    def unmixing(self) -> F64:
        """(k, k) with errors = ((x − mean) / sd) @ unmixing."""
        k = self.order.size
        return solve_triangular(self.mixing, np.eye(k), lower=True).T if k else np.zeros((0, 0))


def order_columns(
    raw: RawTable, columns: Columns, variant: str, alpha: float, on_round: OnRound | None = None
) -> Ordering:
    """Find the causal order of a cohort's columns.

    Parameters
    ----------
    raw : the rows.
    columns : their moments; no column may be constant.
    variant : one of VARIANTS.
    alpha : level of the t-test of the local variants.
    """
    local = variant.startswith("local")
    kept = np.arange(raw.shape[1])
    if local:
        # The first test needs no more than column moments, so no p × p matrix is ever formed.
        kept = kept[welch_p_values(columns.moments) < alpha]
    rounds = _Rounds(raw, columns, kept, local, alpha)
    search: Search = PrunedSearch(rounds.moments) if variant.endswith("plus") else ExhaustiveSearch()
    while rounds.candidates().size:
        rounds.advance(search)
        if on_round is not None:
            on_round(len(rounds.roots), rounds.candidates().size)
    return rounds.result()


class _Rounds:
    """The state of the loop: each :meth:`advance` finds one root and takes it out of the rest."""

    def __init__(self, raw: RawTable, columns: Columns, kept: Index, local: bool, alpha: float) -> None:
        mean, sd = columns.mean[kept], columns.sd[kept]
        self._kept, self._mean, self._sd = kept, mean, sd
        self._alpha = alpha if local else None
        self._table = raw.standardize(kept, mean, sd)
        case_moments = None
        if local:
            raw_moments = columns.moments
            case_moments = ColumnMoments(
                raw_moments.count, raw_moments.total[:, kept] / sd, raw_moments.square[:, kept] / sd**2
            )
        self.moments = ResidualMoments(self._table.gram(), raw.shape[0], case_moments)
        sums = self._table.column_sums()
        self._entropies = entropy(sums[:, 0], sums[:, 1], raw.shape[0])
        self.roots: list[int] = []  # columns of the table
        self._loadings: list[F64] = []  # (k0,) covariance of every table column with each root's error
        self._margins: list[float] = []
        self._exhausted: list[int] = []
        self._n_pairs = 0

    def candidates(self) -> Index:
        return np.flatnonzero(self.moments.in_play)

    def advance(self, search: Search) -> None:
        moments = self.moments
        root = self._find_root(search)
        column = int(moments.ids[root.slot])
        self.roots.append(column)
        self._margins.append(root.margin)
        self._n_pairs += root.n_pairs
        everyone = np.arange(moments.ids.size)
        correlation = moments.correlation(everyone, np.full(everyone.size, root.slot))
        loading = np.zeros(self._kept.size)
        loading[moments.ids] = moments.regress_out(root.slot)
        self._loadings.append(loading)
        search.forget(np.concatenate([[root.slot], self._drop()]))
        rest = self.candidates()
        self._table = self._table.regress_out(column, moments.ids[rest], correlation[rest])
        self._entropies = root.entropy_given_root
        if (keep := moments.compact()) is not None:
            search.compact(keep)
            self._entropies = self._entropies[keep]

    def _find_root(self, search: Search) -> Root:
        candidates = self.candidates()
        if candidates.size == 1:
            # Without a rival there is nothing to compare, and no next round that would need entropies.
            return Root(int(candidates[0]), np.inf, np.full(self.moments.ids.size, np.nan), 0)
        return search.find_root(self._table, self.moments, self._entropies)

    def _drop(self) -> Index:
        """Leave out what earlier roots explain entirely and, in local variants, what D does not depend on."""
        moments = self.moments
        slots = self.candidates()
        exhausted = slots[moments.variance[slots] < EXHAUSTED]
        moments.drop(exhausted)
        self._exhausted.extend(moments.ids[exhausted])
        if self._alpha is None:
            return exhausted
        slots = self.candidates()
        independent = slots[~(moments.p_values(slots) < self._alpha)]
        moments.drop(independent)
        return np.concatenate([exhausted, independent])

    def result(self) -> Ordering:
        cols = np.array(self.roots, dtype=np.intp)
        mixing = np.zeros((cols.size, cols.size))
        for place, loading in enumerate(self._loadings):
            mixing[place:, place] = loading[cols[place:]]
        return Ordering(
            order=self._kept[cols],
            mean=self._mean[cols],
            sd=self._sd[cols],
            mixing=mixing,
            margins=np.array(self._margins),
            exhausted=self._kept[np.array(self._exhausted, dtype=np.intp)],
            n_pairs=self._n_pairs,
            table=self._table,
            table_cols=cols,
        )
