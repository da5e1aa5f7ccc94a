"""What is known before holds in every order that is learned, on every table and in every search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from labelled_rows import order_columns
from tables_under_test import TABLES

from rootcausal.backends.cpu.rows import NumbaRaw
from rootcausal.backends.reference import ReferenceRaw
from rootcausal.method.layout import DUMMY, NO_LEVELS, Layout
from rootcausal.method.moments import describe_columns
from rootcausal.method.ordering import ordering as ordering_module
from rootcausal.method.ordering.ordering import VARIANTS
from rootcausal.method.ordering.pair_score import entropy
from rootcausal.method.ordering.precedence import Opening, Precedence
from rootcausal.method.ordering.search import BlockSearch, PairSearch


def rules(rng: np.random.Generator, p: int) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Stages and pairs that some order of p variables keeps."""
    hidden = rng.permutation(p)
    stage = np.empty(p, dtype=int)
    stage[hidden] = np.sort(rng.integers(0, 5, p))
    pairs = [(int(hidden[i]), int(hidden[j])) for i in range(p) for j in range(i + 1, p)]
    chosen = [pair for pair in pairs if rng.random() < rng.choice([0.0, 0.2, 0.6])]
    return stage, chosen


def cohort(
    rng: np.random.Generator, p: int, n: int = 40
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[np.ndarray]]:
    """Columns (n, q) of p variables, some with levels, labels, whose each column is, and its levels."""
    mixing = np.tril(rng.normal(size=(p, p)), -1) * (rng.random((p, p)) < 0.5) + np.eye(p)
    latent = rng.laplace(size=(n, p)) @ mixing.T
    columns, owner, levels = [], [], []
    for variable, values in enumerate(latent.T):
        kind = rng.choice(["number", "number", "ordinal", "nominal"])
        cut = np.searchsorted(np.quantile(values, [0.3, 0.7]), values).astype(float)
        if kind == "nominal":
            columns += [(cut == 1).astype(float), (cut == 2).astype(float)]
            owner += [variable] * 2
            levels += [DUMMY] * 2
        else:
            columns.append(values if kind == "number" else cut)
            owner.append(variable)
            levels.append(NO_LEVELS if kind == "number" else np.arange(3.0))
    y = (rng.random(n) < 1 / (1 + np.exp(-latent[:, -1]))).astype(int)
    y[:4] = 0, 1, 0, 1
    return np.column_stack(columns), y, np.array(owner), levels


def broken(order: list[int], stage: np.ndarray, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pairs (earlier, later) by the rules, and by what follows from them, that stand the wrong way round."""
    p = stage.size
    before = stage[:, None] < stage[None, :]
    for earlier, later in pairs:
        before[earlier, later] = True
    for between in range(p):
        before |= before[:, [between]] & before[[between], :]
    place = {variable: at for at, variable in enumerate(order)}
    return [(a, b) for a in order for b in order if before[a, b] and place[a] > place[b]]


def variables_of(columns: np.ndarray, owner: np.ndarray) -> list[int]:
    return list(dict.fromkeys(owner[columns].tolist()))


def check_rules_hold(make_raw, seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 8))
    X, y, owner, levels = cohort(rng, p)
    stage, pairs = rules(rng, p)
    layout = Layout(owner, tuple(levels), Precedence.of(stage, pairs))
    variant = VARIANTS[str(rng.choice(list(VARIANTS)))]
    raw = make_raw(X, y)
    found = order_columns(raw, describe_columns(raw), variant, 0.2, layout=layout)
    order = variables_of(found.order, owner)
    assert not broken(order, stage, pairs)
    assert layout.precedence.holds(np.array(order, dtype=np.intp))
    kept = set(np.flatnonzero(stage <= 1)) - set(owner[found.exhausted])
    assert kept <= set(order)
    n_covariates = found.n_covariates
    assert (stage[owner[found.order[:n_covariates]]] == 0).all()
    assert (stage[owner[found.order[n_covariates:]]] > 0).all()


@pytest.mark.parametrize("make_raw", TABLES)
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32 - 1))
def test_no_rule_is_broken(make_raw, seed):
    check_rules_hold(make_raw, seed)


@pytest.mark.slow
@pytest.mark.parametrize("make_raw", TABLES)
@settings(max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32 - 1))
def test_no_rule_is_broken_in_ten_thousand_tables(make_raw, seed):
    check_rules_hold(make_raw, seed)


@pytest.mark.parametrize("make_raw", TABLES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32 - 1), local=st.booleans())
def test_pruned_and_exhaustive_searches_find_the_same_order(make_raw, seed, local):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(3, 12))
    X, y, owner, levels = cohort(rng, p, n=60)
    layout = Layout(owner, tuple(levels), Precedence.of(*rules(rng, p)))
    orders = []
    for name in ("local", "local_plus") if local else ("original", "plus"):
        raw = make_raw(X, y)
        orders.append(order_columns(raw, describe_columns(raw), VARIANTS[name], 0.2, layout=layout).order)
    np.testing.assert_array_equal(*orders)


@pytest.mark.parametrize("search", [PairSearch, BlockSearch])
@pytest.mark.parametrize("seed", range(6))
def test_both_pruned_searches_obey_the_tiers_of_a_wide_table(monkeypatch, search, seed):
    """Wide enough that neither meets all pairs in its first call, and tiers open one after the other."""
    rng = np.random.default_rng(seed)
    p = 60
    mixing = np.tril(rng.normal(size=(p, p)), -1) * (rng.random((p, p)) < 0.1) + np.eye(p)
    X = rng.laplace(size=(500, p)) @ mixing.T
    stage = np.sort(rng.integers(2, 5, p))
    layout = Layout.numbers(p).knowing(Precedence.of(stage, [(1, 0), (3, 2)] if stage[3] == 2 else []))
    raw = NumbaRaw(X, None)
    plain = order_columns(raw, describe_columns(raw), VARIANTS["original"], 1.0, layout=layout)
    monkeypatch.setattr(ordering_module, "_choose_search", lambda variant, table: search(p))
    found = order_columns(raw, describe_columns(raw), VARIANTS["plus"], 1.0, layout=layout)
    np.testing.assert_array_equal(found.order, plain.order)
    assert (np.diff(stage[found.order]) >= 0).all()
    assert found.n_pairs < plain.n_pairs


def by_hand(X: np.ndarray, precedence: Precedence) -> list[int]:
    """The same loop on residuals that are regressed anew each round."""

    def h(u: np.ndarray) -> float:
        u = u / u.std(ddof=1)
        return float(entropy(np.log(np.cosh(u)).sum(), (u * np.exp(-u * u / 2)).sum(), u.size))

    def residual(a: np.ndarray, on: np.ndarray) -> np.ndarray:
        return a - on @ np.linalg.lstsq(on, a, rcond=None)[0]

    X = X - X.mean(axis=0)
    order: list[int] = []
    while len(order) < X.shape[1]:
        left = [v for v in range(X.shape[1]) if v not in order]
        here = {v: residual(X[:, v], X[:, order]) if order else X[:, v] for v in left}
        blocked = {b for a, b in zip(precedence.before, precedence.after, strict=True) if a in left}
        lowest = min(precedence.stage[v] for v in left)
        rivals = [v for v in left if precedence.stage[v] == lowest and v not in blocked]

        def penalty(i: int, among: dict[int, np.ndarray] = here, rivals: list[int] = rivals) -> float:
            total = 0.0
            for j in rivals:
                if j != i:
                    i_given_j = residual(among[i], among[j][:, None])
                    j_given_i = residual(among[j], among[i][:, None])
                    score = h(among[j]) + h(i_given_j) - h(among[i]) - h(j_given_i)
                    total += min(0.0, score) ** 2
            return total

        order.append(min(rivals, key=penalty))
    return order


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("make_raw", TABLES)
def test_the_order_is_that_of_the_plain_loop(make_raw, seed):
    rng = np.random.default_rng(seed)
    X = rng.laplace(size=(300, 7)) @ (np.tril(rng.normal(size=(7, 7)), -1) + np.eye(7)).T
    precedence = Precedence.of(np.array([3, 2, 3, 2, 3, 2, 1]), [(0, 2), (5, 1)])
    raw = make_raw(X, None)
    found = order_columns(
        raw, describe_columns(raw), VARIANTS["plus"], 1.0, layout=Layout.numbers(7).knowing(precedence)
    )
    assert found.order.tolist() == by_hand(X, precedence)


def test_covariates_come_as_the_table_has_them_and_no_pair_is_compared():
    rng = np.random.default_rng(0)
    X = rng.laplace(size=(200, 4)) @ (np.tril(rng.normal(size=(4, 4)), -1) + np.eye(4)).T
    layout = Layout.numbers(4).knowing(Precedence.of(np.zeros(4, dtype=int)))
    raw = ReferenceRaw(X, None)
    found = order_columns(raw, describe_columns(raw), VARIANTS["original"], 1.0, layout=layout)
    assert found.order.tolist() == [0, 1, 2, 3]
    assert found.n_pairs == 0
    assert found.n_covariates == 4
    assert np.isinf(found.margins).all()  # nobody was in doubt


def test_only_pairs_of_the_open_tier_are_compared():
    rng = np.random.default_rng(1)
    X = rng.laplace(size=(200, 9))
    raw = ReferenceRaw(X, None)

    def pairs(stage: list[int]) -> int:
        layout = Layout.numbers(9).knowing(Precedence.of(np.array(stage)))
        return order_columns(raw, describe_columns(raw), VARIANTS["original"], 1.0, layout=layout).n_pairs

    # Of m columns, a round compares m (m − 1) / 2 pairs, and the last one none.
    assert pairs([2] * 9) == sum(m * (m - 1) // 2 for m in range(2, 10))
    assert pairs([2] * 3 + [3] * 3 + [4] * 3) == 3 * (3 + 1)


def test_the_test_drops_neither_what_comes_first_nor_covariates():
    rng = np.random.default_rng(2)
    X = rng.laplace(size=(400, 4))
    y = (rng.random(400) < 1 / (1 + np.exp(-2 * X[:, 3]))).astype(int)
    raw = ReferenceRaw(X, y)

    def order(stage: list[int]) -> set[int]:
        layout = Layout.numbers(4).knowing(Precedence.of(np.array(stage)))
        return set(
            order_columns(raw, describe_columns(raw), VARIANTS["local_plus"], 1e-6, layout=layout).order
        )

    assert order([2, 2, 2, 2]) == {3}
    assert order([0, 1, 2, 2]) == {0, 1, 3}


def test_a_dropped_column_opens_what_waits_for_it():
    """Column 0 is dropped at once; what must come after it does not wait for ever."""
    rng = np.random.default_rng(3)
    X = rng.laplace(size=(400, 3))
    y = (rng.random(400) < 1 / (1 + np.exp(-2 * X[:, 1] - 2 * X[:, 2]))).astype(int)
    layout = Layout.numbers(3).knowing(Precedence.of(np.full(3, 2), [(0, 1), (2, 0)]))
    raw = ReferenceRaw(X, y)
    found = order_columns(raw, describe_columns(raw), VARIANTS["local"], 1e-6, layout=layout)
    assert found.order.tolist() == [2, 1]  # and 2 before 1 still holds, though only by way of 0


def test_rules_that_follow_are_kept_when_variables_go():
    known = Precedence.of(np.full(4, 2), [(0, 1), (1, 2), (2, 3)])
    few = known.take(np.array([0, 3]))
    assert not few.holds(np.array([1, 0]))
    assert few.holds(np.array([0, 1]))
    assert Opening(few).among(np.array([0, 1])).tolist() == [True, False]


def test_who_is_alone_in_a_tier_has_no_rival():
    rng = np.random.default_rng(4)
    raw = ReferenceRaw(rng.laplace(size=(200, 3)), None)
    layout = Layout.numbers(3).knowing(Precedence.of(np.array([3, 2, 3])))
    found = order_columns(raw, describe_columns(raw), VARIANTS["plus"], 1.0, layout=layout)
    assert found.order[0] == 1
    assert np.isinf(found.margins).tolist() == [True, False, True]


@pytest.mark.parametrize("pairs", [[(0, 0)], [(0, 1), (1, 0)], [(0, 1), (1, 2), (2, 0)], [(3, 0)]])
def test_contradictions_are_refused(pairs):
    with pytest.raises(ValueError, match=r"circle|stages"):
        Precedence.of(np.array([2, 2, 2, 3]), pairs)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_what_is_open_is_what_nothing_left_must_come_before(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 9))
    stage, pairs = rules(rng, p)
    rule = Precedence.of(stage, pairs)
    before = rule.known(np.arange(p))  # [i, j]: j before i
    opening, left = Opening(rule), np.arange(p)
    while left.size:
        plain = [stage[v] == stage[left].min() and not any(before[v, other] for other in left) for v in left]
        assert opening.among(left).tolist() == plain
        left = left[rng.random(left.size) < 0.7]
