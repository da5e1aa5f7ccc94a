"""Every search finds the same roots, and the order does not depend on accidents."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait

import numba
import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from labelled_rows import order_columns

from rootcausal.backends.cpu import compiler as threads_module
from rootcausal.backends.cpu.loops import COMPILED
from rootcausal.backends.cpu.rows import NumbaRaw
from rootcausal.backends.reference import ReferenceRaw
from rootcausal.data import simulate
from rootcausal.method.loops import PLAIN, Loops
from rootcausal.method.moments import ClassMoments, describe_columns, welch_p_values
from rootcausal.method.ordering import ordering as ordering_module
from rootcausal.method.ordering.ordering import VARIANTS, Ordering
from rootcausal.method.weighted import ClassWeights

seeds = st.integers(0, 10_000)
shapes = st.tuples(st.sampled_from([40, 150, 700]), st.integers(3, 16))
quick = settings(max_examples=25, deadline=None)


def order(X: np.ndarray, y: np.ndarray, variant: str, alpha: float = 0.2, kind: type = NumbaRaw) -> Ordering:
    raw = kind(X, y)
    return order_columns(raw, describe_columns(raw), VARIANTS[variant], alpha)


@given(shapes, seeds)
@quick
def test_pruned_search_finds_the_roots_of_exhaustive_search(shape: tuple[int, int], seed: int) -> None:
    cohort = simulate(*shape, random_state=seed)
    for pruned, exhaustive in (("plus", "original"), ("local_plus", "local")):
        fast, slow = order(cohort.X, cohort.y, pruned), order(cohort.X, cohort.y, exhaustive)
        np.testing.assert_array_equal(fast.order, slow.order)
        finite = np.isfinite(slow.margins)
        assert (fast.margins[finite] <= slow.margins[finite] + 1e-12).all()
        assert fast.n_pairs <= slow.n_pairs


@given(shapes, seeds)
@quick
def test_both_pruned_searches_find_the_same_roots(shape: tuple[int, int], seed: int) -> None:
    cohort = simulate(*shape, random_state=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordering_module, "PAIRS_NOT_WORTH_COUNTING", 0)
        blocks = order(cohort.X, cohort.y, "plus")
        patch.setattr(ordering_module, "PAIRS_NOT_WORTH_COUNTING", np.inf)
        pairs = order(cohort.X, cohort.y, "plus")
    np.testing.assert_array_equal(blocks.order, pairs.order)


@given(shapes, seeds)
@quick
def test_permuting_columns_permutes_the_order(shape: tuple[int, int], seed: int) -> None:
    cohort = simulate(*shape, random_state=seed)
    before = order(cohort.X, cohort.y, "local_plus")
    assume(before.margins.min(initial=np.inf) > 1e-9)  # summation order may decide a near tie
    permutation = np.random.default_rng(seed).permutation(cohort.X.shape[1])
    after = order(cohort.X[:, permutation], cohort.y, "local_plus")
    np.testing.assert_array_equal(permutation[after.order], before.order)


@given(seeds)
@quick
def test_errors_have_unit_variance_and_no_correlation(seed: int) -> None:
    X = simulate(200, 8, random_state=seed).X
    found = order(X, np.arange(200) % 2, "plus")
    errors = (X[:, found.order] - found.mean) / found.sd @ found.unmixing
    np.testing.assert_allclose(errors.T @ errors / 199, np.eye(7), atol=1e-9)
    np.testing.assert_allclose(errors @ found.mixing.T * found.sd + found.mean, X[:, found.order], atol=1e-9)


def test_errors_in_the_table_are_those_of_the_map() -> None:
    cohort = simulate(300, 8, random_state=1)
    found = order(cohort.X, cohort.y, "plus", kind=ReferenceRaw)
    errors = (cohort.X[:, found.order] - found.mean) / found.sd @ found.unmixing
    np.testing.assert_allclose(found.table._Z[:, found.table_cols], errors, atol=1e-9)


def test_the_number_of_threads_does_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the machine has: the pool is made as large as it takes."""
    cohort = simulate(30_000, 12, random_state=0)
    helpers: set[int] = set()

    def counting_wait(others: list[Future[None]]) -> object:
        helpers.add(len(others))
        return wait(others)

    monkeypatch.setattr(threads_module, "wait", counting_wait)
    found = {}
    for threads in (1, 2, 5):
        pool = ThreadPoolExecutor(threads)
        monkeypatch.setattr(threads_module, "_pool", pool)
        monkeypatch.setattr(numba, "get_num_threads", lambda count=threads: count)
        found[threads] = order(cohort.X, cohort.y, "plus")
        pool.shutdown()
    assert helpers >= {1, 4}  # beside the calling thread
    for threads in (2, 5):
        np.testing.assert_array_equal(found[threads].mixing, found[1].mixing)
        np.testing.assert_array_equal(found[threads].margins, found[1].margins)


def test_a_chain_is_ordered_from_cause_to_effect() -> None:
    rng = np.random.default_rng(0)
    errors = rng.uniform(-1, 1, (5000, 3))
    a = errors[:, 0]
    b = 0.8 * a + errors[:, 1]
    c = 0.8 * b + errors[:, 2]
    assert order(np.column_stack([c, a, b]), np.arange(5000) % 2, "plus").order.tolist() == [1, 2, 0]


def test_local_variants_drop_what_the_t_test_drops() -> None:
    rng = np.random.default_rng(1)
    y = np.arange(2000) % 2
    X = rng.uniform(-1, 1, (2000, 5))
    X[:, 2] += 0.5 * y
    found = order(X, y, "local_plus", alpha=1e-6)
    assert found.order.tolist() == [2]
    assert np.isinf(found.margins).all()
    assert order(X[:, :2], y, "local_plus", alpha=1e-6).order.size == 0


def test_p_values_are_those_of_welch() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_t(3, (50, 6)) * [1, 10, 1e-3, 1, 1, 1] + [0, 1e6, 0, 0, 0, 0]
    y = (np.arange(50) < 18).astype(int)
    expected = scipy.stats.ttest_ind(X[y == 1], X[y == 0], equal_var=False).pvalue
    for kind in (ReferenceRaw, NumbaRaw):
        np.testing.assert_allclose(welch_p_values(describe_columns(kind(X, y)).moments), expected, rtol=1e-7)


@pytest.mark.parametrize("loops", [PLAIN, COMPILED], ids=["plain", "compiled"])
def test_class_moments_follow_the_residuals(loops: Loops) -> None:
    random = np.random.default_rng(3)
    y = (np.arange(200) < 70).astype(int)
    Z = random.laplace(size=(200, 8)) @ random.normal(size=(8, 8)) + 0.3 * y[:, None]
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0, ddof=1)
    count = np.bincount(y).astype(float)
    equal = ClassWeights.of(None, count)
    moments = ClassMoments(count, equal, Z[y == 1].sum(axis=0), Z[y == 1].T @ Z[y == 1], loops.class_test)
    for root, rest in ((0, [1, 2, 3, 4, 5, 6, 7]), (5, [2, 6, 7]), (7, [2, 6])):
        slope = Z.T @ Z[:, root] / (Z[:, root] @ Z[:, root])
        Z = Z - np.outer(Z[:, root], slope)
        found = moments.p_values(root, slope, np.array(rest), Z[:, rest].var(axis=0, ddof=1))
        expected = scipy.stats.ttest_ind(Z[y == 1][:, rest], Z[y == 0][:, rest], equal_var=False).pvalue
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_column_far_from_zero_keeps_its_variance() -> None:
    cohort = simulate(1000, 6, random_state=3)
    far = cohort.X / cohort.X.std(axis=0) + 1.7e9
    columns = describe_columns(NumbaRaw(far, cohort.y))
    np.testing.assert_allclose(columns.sd, np.std(far - 1.7e9, axis=0, ddof=1), rtol=1e-6)
    assert not columns.flat.size
    near = cohort.X / cohort.X.std(axis=0)
    np.testing.assert_array_equal(order(far, cohort.y, "plus").order, order(near, cohort.y, "plus").order)


def test_more_columns_than_rows_stop_where_variance_is_exhausted() -> None:
    cohort = simulate(30, 60, random_state=0)
    found = order(cohort.X, cohort.y, "plus")
    assert found.order.size == 29
    assert sorted([*found.order, *found.exhausted]) == list(range(59))
    assert np.isfinite(found.mixing).all()


def test_rounds_are_reported() -> None:
    cohort = simulate(100, 6, random_state=0)
    told: list[tuple[int, int]] = []
    raw = NumbaRaw(cohort.X, cohort.y)
    order_columns(
        raw, describe_columns(raw), VARIANTS["plus"], 1.0, lambda found, left: told.append((found, left))
    )
    assert told == [(1, 4), (2, 3), (3, 2), (4, 1), (5, 0)]
