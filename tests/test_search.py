"""The searches on scripted scores: ties, near ties and scores that change from round to round."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from labelled_rows import order_columns

from rootcausal.backends.cpu.ordering_kernels import ACCOUNTS
from rootcausal.backends.cpu.rows import NumbaRaw
from rootcausal.data import simulate
from rootcausal.method.moments import describe_columns
from rootcausal.method.ordering import ordering as ordering_module
from rootcausal.method.ordering import search as search_module
from rootcausal.method.ordering.ordering import VARIANTS
from rootcausal.method.ordering.pair_score import GAMMA, K2, block_penalties
from rootcausal.method.ordering.search import (
    PLAIN,
    Accounts,
    BlockSearch,
    ExhaustiveSearch,
    PairSearch,
    Search,
)

N_ROWS = 100
COLUMNS = 7
ENTROPIES = np.zeros(COLUMNS)


class Scripted:
    """A table whose pairs have the scores C (k, k) that it is told; all entropies of its columns are zero."""

    def __init__(self, score: np.ndarray, pairs_per_call: int = 1) -> None:
        self.shape = (N_ROWS, len(score))
        self.score = score
        self.pairs_per_call = pairs_per_call

    def pair_sums(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """C_ij = H(i given j) − H(j given i): the one with the smaller entropy gets all of the difference."""
        sums = np.zeros((i.size, 2, 2))
        sums[:, :, 0] = GAMMA * N_ROWS
        for side, score in enumerate((self.score[i, j], self.score[j, i])):
            sums[:, side, 1] = N_ROWS * np.sqrt(np.maximum(-score, 0.0) / K2)
        return sums

    def leading_pair_sums(self, cols: np.ndarray, q: int) -> np.ndarray:
        a, b = np.divmod(np.arange(q * len(cols)), len(cols))
        return np.moveaxis(self.pair_sums(cols[a], cols[b]), 0, -1).reshape(2, 2, q, len(cols))

    def block_penalties(self, sums: np.ndarray, own: np.ndarray, n_rows: int, known: None) -> tuple:
        return block_penalties(sums, own, n_rows, known)

    def to_host(self, array: np.ndarray) -> np.ndarray:
        return array


def skew(upper: Sequence[float] | np.ndarray) -> np.ndarray:
    score = np.zeros((COLUMNS, COLUMNS))
    score[np.triu_indices(COLUMNS, 1)] = upper
    return score - score.T


# Few sizes, so that candidates often tie; and sizes that differ by a little, so that they nearly do.
SIZES = [0.1, 0.2, 0.3, 0.31, 0.32, 0.7]
scores = st.lists(
    st.sampled_from([*SIZES, *(-size for size in SIZES)]),
    min_size=COLUMNS * (COLUMNS - 1) // 2,
    max_size=COLUMNS * (COLUMNS - 1) // 2,
).map(skew)


def penalties(score: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    return (np.minimum(score, 0.0) ** 2)[:, candidates].sum(axis=1)


# Two candidates tie, and the first of them adds up to one bit more in the order in which it meets others.
TIE_WITHIN_ROUNDING = skew(
    np.array([3, 1, -3, -3, 1, -3, -1, 1, -3, -3, 2, -2, 3, -2, -1, -2, -3, 1, 2, 2, -2]) / 10
)


@given(st.lists(scores, min_size=1, max_size=4), st.sampled_from([1, 4, 100]))
@example([TIE_WITHIN_ROUNDING], 1)
@settings(max_examples=100, deadline=None)
def test_pair_search_never_loses_the_root(rounds: list[np.ndarray], pairs_per_call: int) -> None:
    """Neither by the plain accounts nor by the compiled ones, which let the same pairs meet."""
    plain, compiled = PairSearch(COLUMNS), PairSearch(COLUMNS, ACCOUNTS)
    candidates = np.arange(COLUMNS)
    for score in rounds:
        table = Scripted(score, pairs_per_call)
        best = ExhaustiveSearch().find_root(table, candidates, ENTROPIES)
        found, again = (search.find_root(table, candidates, ENTROPIES) for search in (plain, compiled))
        assert found.column == best.column  # also where several tie: the first of them
        assert found.margin <= best.margin + 1e-12
        assert (again.column, again.margin, again.n_pairs) == (found.column, found.margin, found.n_pairs)
        np.testing.assert_array_equal(again.entropy_given_root, found.entropy_given_root)
        candidates = candidates[candidates != best.column]


@pytest.mark.parametrize("accounts", [PLAIN, ACCOUNTS], ids=["plain", "compiled"])
def test_a_clear_race_takes_one_call(accounts: Accounts) -> None:
    """All meet whoever leads, and in the same call those who should beat them."""
    score = skew(np.ones(COLUMNS * (COLUMNS - 1) // 2))  # each column comes before all later ones
    calls: list[int] = []

    class Counting(Scripted):
        def pair_sums(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
            calls.append(i.size)
            return super().pair_sums(i, j)

    search = PairSearch(COLUMNS, accounts)
    for first in range(COLUMNS - 1):
        calls.clear()
        assert search.find_root(Counting(score), np.arange(first, COLUMNS), ENTROPIES).column == first
        assert len(calls) == 1


@given(st.lists(scores, min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_block_search_never_loses_the_root(rounds: list[np.ndarray]) -> None:
    search, candidates = BlockSearch(COLUMNS), np.arange(COLUMNS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "LEAST_CONTENDERS", 1)  # as in a table of many columns
        for score in rounds:
            found = search.find_root(Scripted(score), candidates, ENTROPIES)
            penalty = penalties(score, candidates)
            # Penalties are added in the order of contenders, so that the last bit may decide a tie.
            assert penalty[found.column] <= penalty[candidates].min() * (1 + 1e-12)
            candidates = candidates[candidates != found.column]


@pytest.mark.parametrize("search", [PairSearch(5), BlockSearch(5)], ids=["pairs", "blocks"])
def test_the_favourite_of_the_last_round_may_lose_by_little(
    search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Column 0 came close behind the first root, and column 1 did not; now 1 undercuts 0 by three percent."""
    monkeypatch.setattr(search_module, "LEAST_CONTENDERS", 1)
    before, now = np.zeros((2, 5, 5))
    before[0, 2], before[1, 0], before[2, 1], before[3, 1] = -0.3, -0.9, -1.0, -1.0
    now[0, [2, 3]], now[1, 0], now[[2, 3], 1] = -np.sqrt(0.5), -np.sqrt(0.97), -2.0
    for score, candidates, root in ((before, np.arange(5), 4), (now, np.arange(4), 1)):
        found = search.find_root(Scripted(score - score.T), candidates, np.zeros(5))
        assert found.column == root


@pytest.mark.parametrize("make", [lambda: PairSearch(5), lambda: BlockSearch(5)])
@pytest.mark.parametrize("first", [0, 2])
def test_an_exact_tie_goes_to_the_first_column(make, first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns from ``first`` on are beaten by nobody, and those before it by the last one."""
    monkeypatch.setattr(search_module, "LEAST_CONTENDERS", 1)
    score = np.zeros((5, 5))
    score[:first, 4], score[4, :first] = -0.5, 0.5
    assert make().find_root(Scripted(score), np.arange(5), np.zeros(5)).column == first


@pytest.mark.parametrize(("worth_counting", "share"), [(np.inf, 0.4), (0, 0.9)], ids=["pairs", "blocks"])
def test_pruning_spares_pairs(worth_counting: float, share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering_module, "PAIRS_NOT_WORTH_COUNTING", worth_counting)
    cohort = simulate(700, 41, random_state=0)
    raw = NumbaRaw(cohort.X, cohort.y)
    columns = describe_columns(raw)
    n_pairs = {
        name: order_columns(raw, columns, VARIANTS[name], 1.0).n_pairs for name in ("plus", "original")
    }
    assert n_pairs["plus"] < n_pairs["original"] * share
