"""Direct LiNGAM in its four variants (paper, Algorithms 1 and 4): one loop over any table.

| variant    | search     | before each search                                  |
|------------|------------|-----------------------------------------------------|
| original   | exhaustive | nothing                                             |
| plus       | pruned     | nothing                                             |
| local      | exhaustive | drop variables whose residual is independent of D   |
| local_plus | pruned     | drop variables whose residual is independent of D   |

Discrete columns take part by the likelihood ratio of :mod:`rootcausal.method.ordering.pair_score`. The
dummies of one variable stay together: once one of them is a root, the others follow, and the test keeps or
drops them all.

What is known before (:mod:`rootcausal.method.ordering.precedence`) holds in every round: only those columns
are compared, and may become the root, that nothing is left to come before. Covariates, and columns that come
first, are no question of order: they are taken out as the table has them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..layout import Layout
from ..linear import LinearMechanism, inverse
from ..moments import Columns
from ..outcome import Outcome, Screen
from ..table import F64, Index, RawTable, Table
from ..weighted import ClassWeights, standardized
from .pair_score import entropy, with_levels
from .precedence import Opening, set_apart
from .search import BlockSearch, ExhaustiveSearch, PairSearch, Root, Search

PAIRS_NOT_WORTH_COUNTING = 1000


@dataclass(frozen=True)
class Variant:
    """One of the four.

    Attributes
    ----------
    name : what users call it.
    pruned : whether the search leaves out pairs that cannot decide it, and finds the same root.
    local : whether variables whose residual is independent of D are dropped before each search.
    """

    name: str
    pruned: bool
    local: bool


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("original", pruned=False, local=False),
        Variant("plus", pruned=True, local=False),
        Variant("local", pruned=False, local=True),
        Variant("local_plus", pruned=True, local=True),
    )
}


class OnRound(Protocol):
    """Told after each round of ``what``: of the ordering, roots found and candidates left.

    Of nonlinear relations, mechanisms fitted and None; of imputation, rounds, and how many more there may be.
    """

    def __call__(self, done: int, left: int | None, what: str = "ordering") -> None: ...


@dataclass(frozen=True)
class Ordering:
    """The causal order, and the map from a patient's values to the errors.

    Attributes
    ----------
    order : (k,) columns in the order in which they became roots (K in the paper).
    mean, sd : (k,) of these columns, in the population.
    mixing : (k, k) lower triangular; standardized columns are ``errors @ mixing.T``, errors of unit variance
        in the population, and uncorrelated.
    margins : (k,) by how much each root won its search; lower bounds under pruned search, infinite for
        a root without a rival, and zero where the scores of discrete columns alone decide nothing.
    acts, does_not_act : (k,) which columns are known to act on the outcome directly, and known not to.
    n_covariates : how many columns at the start of the order are those of covariates.
    variable : (k,) that each of these columns belongs to.
    n_unsearched : how many columns at the start the search did not place: covariates, and those that come
        first.
    exhausted : columns that were left out because earlier roots explain all their variance.
    adds_nothing : columns that a local variant left out although D depends on them: once earlier roots are
        regressed out, it no longer does.
    p_added : (a,) p-value at which each of these was left out.
    n_pairs : pairs evaluated.
    weights : what a row of each class counts for in the population.
    table : the rows, with each ordered column replaced by its error.
    table_cols : (k,) where ``table`` keeps the columns of ``order``.
    """

    order: Index
    mean: F64
    sd: F64
    mixing: F64
    margins: F64
    acts: np.ndarray
    does_not_act: np.ndarray
    n_covariates: int
    variable: Index
    n_unsearched: int
    exhausted: Index
    adds_nothing: Index
    p_added: F64
    n_pairs: int
    weights: ClassWeights
    table: Table
    table_cols: Index

    @property
    def n_first(self) -> int:
        """How many columns after those of the covariates come first."""
        return self.n_unsearched - self.n_covariates

    @property
    def unmixing(self) -> F64:
        """(k, k) with errors = ((x − mean) / sd) @ unmixing."""
        return inverse(self.mixing)

    def mechanism(self, n_columns: int) -> LinearMechanism:
        """What a model of a cohort of ``n_columns`` keeps of this: columns that come first are set apart."""
        mixing = self.mixing
        for start, variable in self._apart:
            mixing, _ = set_apart(mixing, start, variable)
        return self._mechanism(n_columns, mixing)

    def uncorrelated(self, n_columns: int) -> LinearMechanism:
        """The same with the errors that were found, of which none goes with another."""
        return self._mechanism(n_columns, self.mixing)

    def _mechanism(self, n_columns: int, mixing: F64) -> LinearMechanism:
        return LinearMechanism(n_columns, self.order, self.mean, self.sd, mixing, inverse(mixing))

    def effects(self, coef: F64) -> F64:
        """(k,) of the errors of :meth:`mechanism`, from those of the errors that were found (k,)."""
        for start, variable in self._apart:
            _, turn = set_apart(self.mixing, start, variable)
            inside = slice(start, start + variable.size)
            coef = np.concatenate([coef[:start], turn.T @ coef[inside], coef[inside.stop :]])
        return coef

    @property
    def _apart(self) -> list[tuple[int, Index]]:
        """Places and variables of columns that do not act on each other, where these are several."""
        if self.n_unsearched < 2:
            return []
        c = self.n_covariates
        blocks = [(0, self.variable[:c]), (c, self.variable[c : self.n_unsearched])]
        return [(start, variable) for start, variable in blocks if np.unique(variable).size > 1]

    def on_columns(self, columns: Index) -> Ordering:
        """The same in a larger table, where column c is ``columns[c]``."""
        return replace(
            self,
            order=columns[self.order],
            exhausted=columns[self.exhausted],
            adds_nothing=columns[self.adds_nothing],
        )


def order_columns(
    raw: RawTable,
    columns: Columns,
    variant: Variant,
    alpha: float,
    on_round: OnRound | None = None,
    layout: Layout | None = None,
    outcome: Outcome | None = None,
) -> Ordering:
    """Find the causal order of a cohort's columns.

    Parameters
    ----------
    raw : the rows.
    columns : their moments, and what each class weighs; no column may be constant.
    variant : one of VARIANTS.
    alpha : level of the test of the local variants.
    layout : what the columns stand for, and what is known of their order; by default all are numbers.
    outcome : what the rows have; only local variants ask for it.
    """
    kept = np.arange(raw.shape[1])
    layout = Layout.numbers(kept.size) if layout is None else layout
    tested = None
    if variant.local:
        assert outcome is not None, "local variants ask what the outcome is"
        tested = outcome
        # The first test needs no more than column moments, so no p × p matrix is ever formed.
        kept = kept[
            passing(tested.p_values(columns.moments), layout.variable, alpha) | layout.kept | layout.acts
        ]
    rounds = _Rounds(raw, columns, kept, variant, alpha, layout.take(kept), tested)
    while rounds.candidates.size:
        rounds.advance()
        if on_round is not None:
            on_round(len(rounds.roots), rounds.candidates.size)
    return rounds.result()


def passing(p_values: F64, variable: Index, alpha: float) -> np.ndarray:
    """(m,) which columns the test keeps: those of one ``variable`` (m,) all together, or none of them.

    The smallest of their p-values counts, times their number (Bonferroni's correction). A level of one keeps
    every column, also one of which no test can be made.
    """
    if (variable[1:] > variable[:-1]).all():  # each has one column
        return (p_values < alpha) | (alpha >= 1.0)
    _, group, count = np.unique(variable, return_inverse=True, return_counts=True)
    least = np.full(count.size, np.inf)
    np.fmin.at(least, group, p_values)
    kept: np.ndarray = ((least * count < alpha) | (alpha >= 1.0))[group]
    return kept


def _choose_search(variant: Variant, table: Table) -> Search:
    if not variant.pruned:
        return ExhaustiveSearch()
    own: Search | None = table.own_search()
    if own is not None:
        return own
    # Where a call is worth that many pairs, keeping account of each would cost more than evaluating it.
    if table.pairs_per_call >= PAIRS_NOT_WORTH_COUNTING:
        return BlockSearch(table.shape[1])
    return PairSearch(table.shape[1], table.loops.accounts)


class _Rounds:
    """The state of the loop: each :meth:`advance` finds one root and takes it out of the rest."""

    def __init__(
        self,
        raw: RawTable,
        columns: Columns,
        kept: Index,
        variant: Variant,
        alpha: float,
        layout: Layout,
        tested: Outcome | None,
    ) -> None:
        """``layout`` of the columns that were kept; they are ``tested`` for whether an outcome depends on
        them, if it is not None.
        """
        n = raw.shape[0]
        self._kept, self._mean, self._sd = kept, columns.mean[kept], columns.sd[kept]
        self._alpha, self._weights = alpha, columns.weights
        table = standardized(raw, columns.weights, kept, self._mean, self._sd)
        gram = table.gram()
        correlation = gram.sum(axis=0) / (n - 1)
        sums = table.column_sums()
        # NaN once a root was taken out of a column that was not compared with it.
        self._entropies = entropy(sums[:, 0], sums[:, 1], n)
        self._search = _choose_search(variant, table)
        table, self._levels = with_levels(table, layout, self._mean, self._sd)
        self._table = table.with_correlations(correlation)
        self._discrete, self._variable = layout.discrete, layout.variable
        self._opening = None if layout.precedence is None else Opening(layout.precedence)
        self._covariate, self._kept_by_rule = layout.covariate, layout.kept
        self._acts, self._does_not_act = layout.acts, layout.does_not_act
        self._entropies[self._discrete] = 0.0
        # Whether every root is found by comparing all candidates, so that their entropies are always known.
        self._all_compared = self._opening is None and not (self._discrete | self._kept_by_rule).any()
        self._loops = table.loops
        self._screen: Screen | None = None
        if tested is not None and alpha < 1.0:  # else it would keep all, and need sums by class for it
            self._screen = tested.screen(columns, kept, gram, self._loops)
        self.candidates = np.arange(kept.size)  # columns of the table, as are roots
        self.roots: list[int] = []
        self._next: Index = np.empty(0, dtype=np.intp)  # dummies of the last root's variable
        self._variance = np.ones(kept.size)  # what the roots so far leave of each column's
        self._loadings: list[F64] = []  # (k,) covariance of every column with each root's error
        self._margins: list[float] = []
        self._exhausted: list[int] = []
        self._p_values = np.full(kept.size, np.nan)  # of the last test of each column
        self._n_pairs = 0

    def advance(self) -> None:
        found = self._next_dummy() if self._next.size else self._find_root()
        root = found.column
        self.roots.append(root)
        self._margins.append(found.margin)
        self._n_pairs += found.n_pairs
        self._entropies = found.entropy_given_root
        if self._levels is not None:
            self._entropies[self._discrete] = 0.0
        self._take_out(root)
        if self._levels is not None:
            self._table = self._levels.take_in(self._table, root, self.candidates)
        self._table = self._table.regress_out(root, self.candidates)

    def _find_root(self) -> Root:
        rivals = self._open()
        if self._kept_by_rule[rivals[0]] or rivals.size == 1:
            # There is nothing to compare, and no rival is left whose entropy would be needed.
            return Root(int(rivals[0]), np.inf, self._unknown(), 0)
        if self._levels is not None and self._discrete[rivals].all():
            # All scores are zero, and no number is among them whose entropy would be needed.
            return Root(int(rivals[0]), 0.0, self._unknown(), 0)
        if not self._all_compared:
            self._make_current(rivals)
        if self._levels is None:
            return self._search.find_root(self._table, rivals, self._entropies)
        levels = self._levels.entropies(self._table, rivals)
        return self._search.find_root(self._table, rivals, self._entropies, levels)

    def _open(self) -> Index:
        """Candidates before which nothing is left that must come first."""
        if self._opening is None:
            return self.candidates
        return self.candidates[self._opening.among(self._variable[self.candidates])]

    def _unknown(self) -> F64:
        return np.full(self._entropies.size, np.nan)

    def _make_current(self, rivals: Index) -> None:
        """Entropies of those that have not been compared since the last root was taken out."""
        new = rivals[np.isnan(self._entropies[rivals])]
        if new.size:
            sums = self._table.pair_sums(new, new)[:, 0]
            self._entropies[new] = entropy(sums[:, 0], sums[:, 1], self._table.shape[0])

    def _next_dummy(self) -> Root:
        """The next root where a variable is already chosen; numbers need their entropies given it."""
        root = int(self._next[0])
        numbers = self.candidates[~self._discrete[self.candidates]]
        numbers = numbers[~np.isnan(self._entropies[numbers])]
        entropies = self._unknown()
        if numbers.size:
            sums = self._table.pair_sums(numbers, np.full(numbers.size, root))
            entropies[numbers] = entropy(sums[:, 0, 0], sums[:, 0, 1], self._table.shape[0])
        return Root(root, np.inf, entropies, numbers.size)

    def _take_out(self, root: int) -> None:
        """Update the moments in closed form, and who is still a candidate."""
        correlation = self._table.correlations(root)
        loading, rest, exhausted = self._loops.take_out(correlation, self._variance, root, self.candidates)
        self._loadings.append(loading)
        self._exhausted.extend(exhausted)
        together = self._variable[rest] == self._variable[root]
        self._next = rest[together]
        if self._screen is not None:
            p_values = self._screen.p_values(root, loading / loading[root], rest, self._variance[rest])
            self._p_values[rest] = p_values
            passes = passing(p_values, self._variable[rest], self._alpha)
            rest = rest[together | passes | self._kept_by_rule[rest] | self._acts[rest]]
        self.candidates = rest

    def result(self) -> Ordering:
        cols = np.array(self.roots, dtype=np.intp)
        mixing = np.zeros((cols.size, cols.size))
        for place, loading in enumerate(self._loadings):
            mixing[place:, place] = loading[cols[place:]]
        exhausted = np.array(self._exhausted, dtype=np.intp)
        gone = np.concatenate([cols, exhausted])
        return Ordering(
            order=self._kept[cols],
            mean=self._mean[cols],
            sd=self._sd[cols],
            mixing=mixing,
            margins=np.array(self._margins),
            acts=self._acts[cols],
            does_not_act=self._does_not_act[cols],
            n_covariates=int(self._covariate[cols].sum()),
            variable=self._variable[cols],
            n_unsearched=int(self._kept_by_rule[cols].sum()),
            exhausted=self._kept[exhausted],
            adds_nothing=np.delete(self._kept, gone),
            p_added=np.delete(self._p_values, gone),
            n_pairs=self._n_pairs,
            weights=self._weights,
            table=self._table,
            table_cols=cols,
        )
