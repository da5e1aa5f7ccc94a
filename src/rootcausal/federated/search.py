"""FindRoot+ (paper, Algorithm 3) where a round costs most, then each number, and arithmetic here nothing.

All that a search asks of rows are two sums for the residual of one column given a set of others. The
coordinator keeps those that it has, by the set, whatever order the set came about in. A round asks for what
should decide the root that is searched for, and those that should come after it, by scores that were seen
before: whoever should win meets all, and others those who should beat them. What was foreseen wrongly costs a
round, and never the answer: a root is one that met all, and that nobody else can beat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..method.moments import regressed_correlations
from ..method.ordering.pair_score import GAMMA, K1, K2, LevelEntropies, entropy, pair_score
from ..method.ordering.search import ROUNDING, Root, penalties
from ..method.table import F64, Index

# A round looks ahead to so many roots, as long as it asks for no more sums than these: a round is worth about
# so many, and what is asked ahead is often asked in vain.
DEPTH = 8
SUMS_A_ROUND = 300
# Scores change from root to root: partners are asked for until the penalties foreseen are so many times what
# they have to be.
SAFE = 1.1
# Correlations of columns that are not compared at first.
NEGLIGIBLE = 0.1
# In standard deviations: by so many a sum of rounded numbers is never wrong.
CERTAIN = 6.0
# Of an ahead table: columns that a root explains up to this share of their variance.
EXPLAINED = 1.0 - 1e-6


class Wanted(NamedTuple):
    """What to ask for: (m,) each. Of column i given j, and the first ``place`` of the ``roots`` (r,)."""

    roots: Index
    place: Index
    i: Index
    j: Index


#: ask(wanted, fine): (m, 3) sums, to few digits or to nearly all, and the standard deviation of rounding, a
#: row.
Ask = Callable[[Wanted, bool], F64]


@dataclass(frozen=True, eq=False)
class Standing:
    """How the candidates (m,) of one set of roots stand.

    Attributes
    ----------
    score : (m, m) C_ij as far as it is known; NaN elsewhere, and of each with itself.
    foreseen : (m, m) the same, where it is not known as it was seen last.
    given : (m, m) entropies of i given j.
    variance : (m, m) of the errors of these entropies, whose sums were rounded.
    """

    score: F64
    foreseen: F64
    given: F64
    variance: F64

    @cached_property
    def met(self) -> np.ndarray:
        """(m, m) which pairs are known, and each with itself."""
        known: np.ndarray = ~np.isnan(self.score)
        np.fill_diagonal(known, True)
        return known

    @property
    def total(self) -> F64:
        """(m,) penalties that are known."""
        total: F64 = np.nansum(penalties(self.score), axis=1)
        return total

    def best(self) -> int | None:
        """The place of the root, once nobody who has not met all can beat it."""
        total, all_met = self.total, self.met.all(axis=1)
        if not all_met.any():
            return None
        best = int(np.where(all_met, total, np.inf).argmin())
        return None if (~all_met & self._may_beat(best)).any() else best

    def as_good(self, best: int) -> np.ndarray:
        """(m,) who may be as good as the best, and it, for all that rounded sums say; nobody: it is sure."""
        rivals = self._may_beat(best) & bool(self.doubt[best] > 0.0)
        rivals[best] = rivals.any()
        return rivals

    def _may_beat(self, best: int) -> np.ndarray:
        """(m,) others whose totals may be no larger, with room for adding them up in another order."""
        may: np.ndarray = self.least <= self.most[best] * (1.0 + ROUNDING)
        may[best] = False
        return may

    @cached_property
    def least(self) -> F64:
        """(m,) what the known penalties come to at least."""
        return self.total - self.doubt

    @cached_property
    def most(self) -> F64:
        """(m,) and at most."""
        return self.total + self.doubt

    @cached_property
    def doubt(self) -> F64:
        """(m,) by how much these may be wrong, at :data:`CERTAIN` standard deviations.

        The error of a column's own entropy is in all of its scores, those of others are their own.
        """
        cost = -2.0 * np.minimum(np.nan_to_num(self.score), 0.0)
        own = self.variance.diagonal()
        others = np.where(np.isnan(self.score), 0.0, self.variance + self.variance.T + own)
        spread = np.sqrt((cost**2 * others).sum(axis=1) + cost.sum(axis=1) ** 2 * own)
        doubt: F64 = CERTAIN * (spread + others.sum(axis=1))
        return doubt

    def leader(self) -> int:
        """Who should win."""
        return int(np.nansum(penalties(self.foreseen), axis=1).argmin())

    def pairs(self, leader: int) -> np.ndarray:
        """(m, m) symmetric: which of the pairs that are not known should decide it."""
        met, expected = self.met, self.least.copy()
        expected[leader] = self.most[leader]
        wanted = np.zeros_like(met)
        penalty = penalties(np.nan_to_num(self.foreseen))

        def take(one: int, others: Index) -> None:
            wanted[one, others] = wanted[others, one] = True
            expected[one] += penalty[one, others].sum()
            expected[others] += penalty[others, one]

        take(leader, np.flatnonzero(~met[leader]))
        bound = expected[leader] * SAFE
        for one in np.argsort(-expected, kind="stable").tolist():
            left = np.flatnonzero(~(met | wanted)[one])
            if one == leader or expected[one] > bound or not left.size:
                continue
            worst = left[np.argsort(-penalty[one, left], kind="stable")]
            reached = expected[one] + np.cumsum(penalty[one, worst])
            take(one, worst[: int((reached <= bound).sum()) + 1])
        return wanted


class SitesSearch:
    """The searches of one table, from root to root."""

    def __init__(self, n_columns: int, n_rows: int, column_sums: F64, ask: Ask) -> None:
        """``column_sums`` (k, 2) of the columns before any root is taken out."""
        self._n_rows, self._ask = n_rows, ask
        self._taken: frozenset[int] = frozenset()
        # By the set that was regressed out, (k, k, 3): of i given j besides, on the diagonal of i as it is,
        # the two sums, and the standard deviation of rounding, a row.
        self._sums: dict[frozenset[int], F64] = {self._taken: np.full((n_columns, n_columns, 3), np.nan)}
        own = np.column_stack([column_sums, np.zeros(n_columns)])
        self._sums[self._taken][np.arange(n_columns), np.arange(n_columns)] = own
        # Scores when they were last seen, NaN before; and the correlations that the two had then.
        self._score = np.full((n_columns, n_columns), np.nan)
        np.fill_diagonal(self._score, 0.0)
        self._then = np.ones((n_columns, n_columns))
        self._of_levels = np.zeros((n_columns, n_columns))
        self._correlation = np.eye(n_columns)

    def known(self, i: Index, j: Index) -> F64:
        """(m, 2) sums of i given j now; NaN where nobody asked for them yet."""
        return self._here(self._taken)[i, j, :2]

    def told(self, correlation: F64) -> None:
        """The (k, k) correlations of what is left of the columns."""
        self._correlation = correlation

    def take_out(self, root: int) -> None:
        """The root was regressed out."""
        here = self._here(self._taken | {root})
        self._taken |= {root}
        n_taken = len(self._taken)
        self._sums = {taken: sums for taken, sums in self._sums.items() if len(taken) >= n_taken}
        self._sums[self._taken] = here

    def find_root(
        self, table: object, candidates: Index, entropies: F64, levels: LevelEntropies | None = None
    ) -> Root:
        """As :meth:`rootcausal.method.ordering.search.Search.find_root`; entropies are at hand here."""
        discrete = np.zeros(candidates.size, dtype=bool)
        if levels is not None:
            known = levels.within(candidates)
            discrete[known.places] = True
            self._of_levels[np.ix_(candidates[known.places], candidates)] = known.given
        while True:
            standing = self._standing(self._taken, candidates, discrete, self._correlation)
            best = standing.best()
            if best is None:
                wanted = self.wanted(candidates, discrete)
                self.take_in(wanted, self._ask(wanted, False))
                continue
            rivals = standing.as_good(best)
            if not rivals.any():
                break
            again = self._again(candidates, rivals, discrete)
            self.take_in(again, self._ask(again, True))
        self._remember(standing, candidates)
        given = np.full(entropies.size, np.nan)
        given[candidates] = standing.given[:, best]
        margin = max(0.0, float(np.delete(standing.total, best).min() - standing.total[best]))
        return Root(int(candidates[best]), margin, given, int(np.triu(standing.met, 1).sum()))

    def _again(self, candidates: Index, rivals: np.ndarray, discrete: np.ndarray) -> Wanted:
        """All that rivals are compared by, to nearly all digits."""
        which = (rivals[:, None] | rivals | np.eye(rivals.size, dtype=bool)) & ~discrete[:, None]
        i, j = (candidates[some] for some in np.nonzero(which))
        return Wanted(np.empty(0, dtype=np.intp), np.zeros(i.size, dtype=np.intp), i, j)

    def wanted(self, candidates: Index, discrete: np.ndarray) -> Wanted:
        """What should decide among the candidates, of whom some are discrete, and among who is left then."""
        taken, correlation = self._taken, self._correlation.copy()
        roots: list[int] = []
        asked: list[tuple[Index, Index, Index]] = []
        n_asked = 0
        for place in range(DEPTH):
            standing = self._standing(taken, candidates, discrete, correlation)
            leader = standing.leader()
            pairs = standing.pairs(leader)
            if np.isnan(standing.foreseen[~np.eye(candidates.size, dtype=bool)]).all():
                # Whoever goes with others decides; who wins among the rest is asked for then.
                together = np.abs(correlation[np.ix_(candidates, candidates)]) > NEGLIGIBLE
                pairs = pairs & together if (pairs & together).any() else pairs
            # Of a discrete column the sums of levels tell; of others, their own once, and given each partner.
            which = pairs & ~discrete[:, None]
            which |= np.diag(pairs.any(axis=1) & ~discrete & (place == 0))
            i, j = np.nonzero(which)
            i, j = candidates[i], candidates[j]
            new = np.isnan(self._here(taken)[i, j, 0])
            n_asked += int(new.sum())
            if place and n_asked > SUMS_A_ROUND:
                break
            asked.append((np.full(int(new.sum()), place), i[new], j[new]))
            root = int(candidates[leader])
            left = candidates[candidates != root]
            with_root = correlation[root, left]
            unseen = np.isnan(standing.foreseen).any()
            if unseen or left.size < 2 or discrete[leader] or (with_root**2 > EXPLAINED).any():
                break
            roots.append(root)
            taken, candidates, discrete = taken | {root}, left, np.delete(discrete, leader)
            regressed_correlations(correlation, root, left)
        place_of, i, j = (np.concatenate(parts) for parts in zip(*asked, strict=True))
        return Wanted(np.array(roots[: int(place_of.max(initial=0))], dtype=np.intp), place_of, i, j)

    def take_in(self, wanted: Wanted, sums: F64) -> None:
        """Keep what came of it."""
        for place in range(wanted.roots.size + 1):
            here = wanted.place == place
            known = self._here(self._taken | set(wanted.roots[:place].tolist()))
            known[wanted.i[here], wanted.j[here]] = sums[here]

    def _here(self, taken: frozenset[int]) -> F64:
        """(k, k, 3) sums with these roots taken out, also as other sets tell of the same residuals."""
        k = len(self._score)
        here = self._sums.setdefault(taken, np.full((k, k, 3), np.nan))
        own = np.arange(k)
        for other, sums in self._sums.items():
            more, less = sorted(other - taken), sorted(taken - other)
            if not more and len(less) == 1:
                self._fill(here, (own, own), sums[:, less[0]])
            elif len(more) == 1 and not less:
                self._fill(here, (own, more[0]), sums[own, own])
            elif len(more) == 1 and len(less) == 1:
                self._fill(here, (own, more[0]), sums[:, less[0]])
        return here

    @staticmethod
    def _fill(here: F64, where: tuple[Index, Index | int], sums: F64) -> None:
        here[where] = np.where(np.isnan(here[where]), sums, here[where])

    def _standing(
        self, taken: frozenset[int], candidates: Index, discrete: np.ndarray, correlation: F64
    ) -> Standing:
        square = np.ix_(candidates, candidates)
        sums = self._here(taken)[square]
        given = entropy(sums[..., 0], sums[..., 1], self._n_rows)
        log_cosh, gauss = sums[..., 0] / self._n_rows - GAMMA, sums[..., 1] / self._n_rows
        variance = (
            4.0 * sums[..., 2] ** 2 * ((K1 * log_cosh) ** 2 + (K2 * gauss) ** 2 + sums[..., 2] ** 2 * K1**2)
        )
        variance[np.isnan(variance) | discrete[:, None]] = 0.0
        given[discrete] = self._of_levels[square][discrete]
        own = np.where(discrete, 0.0, given.diagonal())
        score = pair_score(own[:, None], own[None, :], given, given.T)
        np.fill_diagonal(score, np.nan)
        # Between columns that go together less than they did, there is less to see.
        less = np.minimum((correlation[square] / self._then[square]) ** 2, 1.0)
        foreseen = np.where(np.isnan(score), self._score[square] * less, score)
        foreseen[np.diag_indices_from(foreseen)] = 0.0
        return Standing(score, foreseen, given, variance)

    def _remember(self, standing: Standing, candidates: Index) -> None:
        a, b = np.nonzero(standing.met)
        where = candidates[a], candidates[b]
        self._score[where] = standing.foreseen[a, b]
        square = np.ix_(candidates, candidates)
        self._score[square] = np.nan_to_num(self._score[square])
        self._then[where] = np.where(self._correlation[where] == 0.0, 1.0, self._correlation[where])
