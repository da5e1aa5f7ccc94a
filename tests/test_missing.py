"""Missing values when fitting: what is expected, what is drawn, and the sums over what was filled in."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from labelled_rows import learn
from numba import get_num_threads, set_num_threads
from sklearn.base import clone
from tables_under_test import MakeTable

from rootcausal import RCI, RCIRegressor, RCISurvival
from rootcausal.backends import imputation_plain as fill_plain
from rootcausal.backends.choose import choose_table, incomplete_part
from rootcausal.backends.cpu import imputation_kernels as fill_kernels
from rootcausal.backends.cpu.rows import NumbaRaw
from rootcausal.backends.missing_rows import ImputedCopies, MemoryIncomplete
from rootcausal.backends.reference import ReferenceRaw
from rootcausal.data import simulate
from rootcausal.estimators.parameters import chosen_settings
from rootcausal.method.layout import Layout
from rootcausal.method.missing import imputation as imputation_module
from rootcausal.method.missing.completion import to_levels
from rootcausal.method.missing.gaussian import JointGaussian
from rootcausal.method.missing.imputation import (
    LEVEL,
    expectation_maximization,
    impute,
    most_dependent,
    view_of,
)
from rootcausal.method.missing.noise import normals, seed_state
from rootcausal.method.missing.pooled import PooledRaw, RawPart
from rootcausal.method.missing.sums import DRAWS, Imputer, IncompleteRaw, View
from rootcausal.method.moments import Columns, describe_columns, welch_p_values
from rootcausal.method.pipeline import Learned
from rootcausal.method.table import ColumnMoments
from rootcausal.method.weighted import ClassWeights, standardized
from rootcausal.outcomes.binary import Binary
from rootcausal.resampling.bootstrap import bootstrap, resample
from rootcausal.resampling.training_rows import TrainingRows

BACKENDS = ["numpy", "numba"]


def cohort(n: int = 400, p: int = 8, share: float = 0.2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Values of which a share is missing completely at random, and labels."""
    drawn = simulate(n, p, random_state=seed)
    X = drawn.X.copy()
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X, drawn.y.astype(np.intp)


def fitted(
    X: np.ndarray,
    y: np.ndarray,
    backend: str = "numba",
    variant: str = "local_plus",
    prevalence: float | None = None,
    layout: Layout | None = None,
    seed: int = 0,
) -> Learned:
    raw = choose_table(backend, X, y)
    chosen = replace(chosen_settings(variant, 0.2, "sharp", prevalence), imputation_seed=seed)
    return learn(raw, describe_columns(raw, prevalence), chosen, layout=layout)


def holed(
    X: np.ndarray, y: np.ndarray, prevalence: float | None = None
) -> tuple[MemoryIncomplete, Columns, View]:
    raw = incomplete_part("numba", X, y)
    columns = describe_columns(raw, prevalence)
    return raw, columns, view_of(columns, Layout.numbers(X.shape[1]), np.arange(X.shape[1]), Binary.of(y))


def some_gaussian(d: int, seed: int = 0) -> JointGaussian:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, d))
    return JointGaussian(rng.standard_normal(d), A @ A.T / d + 0.3 * np.eye(d))


# --- noise ------------------------------------------------------------------------------------------------


def test_noise_is_standard_normal_and_independent_from_cell_to_cell() -> None:
    rows, columns = np.arange(2000, dtype=np.uint64)[:, None], np.arange(20)
    noise = [normals(seed_state(3), rows, draw, columns) for draw in (0, 1)] + [
        normals(seed_state(4), rows, 0, columns)
    ]
    for one in noise:
        assert scipy.stats.kstest(one.ravel(), "norm").pvalue > 1e-3
        correlation = np.corrcoef(one.T) - np.eye(20)
        assert np.abs(correlation).max() < 0.12
        assert abs(np.corrcoef(one[1:].ravel(), one[:-1].ravel())[0, 1]) < 0.02
    assert np.abs(np.corrcoef([one.ravel() for one in noise]) - np.eye(3)).max() < 0.02


def test_noise_belongs_to_its_cell() -> None:
    keys = np.arange(50, dtype=np.uint64)
    everything = normals(seed_state(7), keys[:, None], 2, np.arange(9))
    one = normals(seed_state(7), keys[[31]], 2, np.array([5]))
    assert one[0] == everything[31, 5]


# --- the compiled loops and their twins -------------------------------------------------------------------


def incomplete_rows(n: int = 60, d: int = 9) -> np.ndarray:
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((n, d))
    Z[rng.random((n, d)) < 0.3] = np.nan
    Z[:, -1] = rng.integers(2, size=n)
    Z[0] = 0.5
    Z[1, :-1] = np.nan
    return Z


def test_the_compiled_expectation_equals_its_twin() -> None:
    Z, joint = incomplete_rows(), some_gaussian(9)
    weight = np.random.default_rng(2).random(len(Z)) + 0.5
    found = []
    for twin in (fill_plain, fill_kernels):
        filled, product, unknown = Z.copy(), np.ones((9, 9)), np.ones(9)
        twin.expect_rows(filled, weight, joint, product, unknown)
        found.append((filled, product, unknown))
    for plain, compiled in zip(*found, strict=True):
        np.testing.assert_allclose(plain, compiled, rtol=1e-10, atol=1e-12)
    filled, product, unknown = found[0]
    np.testing.assert_array_equal(filled[~np.isnan(Z)], Z[~np.isnan(Z)])
    np.testing.assert_allclose(np.diagonal(product), unknown)


def test_the_compiled_draws_equal_their_twin() -> None:
    Z, joint = incomplete_rows(), some_gaussian(9)
    keys, ids = np.arange(len(Z), dtype=np.uint64) + 1000, np.array([3, 4, 9, 10, 11, 20, 30, 31])
    outs = [np.empty((len(Z), DRAWS, 8)) for _ in range(2)]
    for twin, out in zip((fill_plain, fill_kernels), outs, strict=True):
        twin.draw_rows(Z, joint, seed_state(5), keys, ids, out)
    np.testing.assert_allclose(outs[0], outs[1], rtol=1e-10, atol=1e-10)
    there = ~np.isnan(Z[:, :8])
    for draw in range(DRAWS):
        np.testing.assert_array_equal(outs[1][:, draw][there], Z[:, :8][there])


def test_draws_have_the_conditional_mean_and_covariance() -> None:
    joint = some_gaussian(5)
    Z = np.tile([np.nan, 0.3, np.nan, -1.0, 0.7], (20_000, 1))
    out = np.empty((len(Z), 1, 4))
    fill_kernels.draw_rows(Z, joint, seed_state(0), np.arange(len(Z), dtype=np.uint64), np.arange(4), out)
    missing, there = np.array([0, 2]), np.array([1, 3, 4])
    S = joint.covariance
    slope = S[np.ix_(missing, there)] @ np.linalg.inv(S[np.ix_(there, there)])
    mean = joint.mean[missing] + slope @ (Z[0, there] - joint.mean[there])
    covariance = S[np.ix_(missing, missing)] - slope @ S[np.ix_(there, missing)]
    drawn = out[:, 0, missing]
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=0.03)
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.03)


# --- expectation-maximization -----------------------------------------------------------------------------


def slow_em(Z: np.ndarray, weight: np.ndarray, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Row by row, by regression on what the row has."""
    n, d = Z.shape
    mean, S = np.zeros(d), np.eye(d)
    for _ in range(rounds):
        filled, spread = Z.copy(), np.zeros((d, d))
        for row, w in zip(filled, weight, strict=True):
            m = np.isnan(row)
            slope = S[np.ix_(m, ~m)] @ np.linalg.inv(S[np.ix_(~m, ~m)])
            row[m] = mean[m] + slope @ (row[~m] - mean[~m])
            spread[np.ix_(m, m)] += w * (S[np.ix_(m, m)] - slope @ S[np.ix_(~m, m)])
        mean = weight @ filled / n
        about = filled - mean
        S = ((about.T * weight) @ about + spread + 3.0 * np.eye(d)) / (n + 3.0)
    return mean, S


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("prevalence", [None, 0.05])
def test_em_equals_a_slow_oracle(backend: str, prevalence: float | None) -> None:
    X, y = cohort(150, 6, 0.3)
    raw = incomplete_part(backend, X, y)
    columns = describe_columns(raw, prevalence)
    view = view_of(columns, Layout.numbers(X.shape[1]), np.arange(X.shape[1]), Binary.of(y))
    joint, sums, rounds, converged = expectation_maximization(raw, view, len(X))
    assert converged and rounds > 3
    Z = np.column_stack([(X - columns.mean) / columns.sd, view.outcome_of(y)])
    weights = columns.weights
    mean, S = slow_em(Z, np.where(y == 1, weights.cases, weights.controls), rounds)
    np.testing.assert_allclose(joint.mean, mean, atol=1e-10)
    np.testing.assert_allclose(joint.covariance, S, atol=1e-10)
    assert sums.unknown[-1] == 0.0 and (sums.unknown[:-1] > 0.0).all()


def test_weights_are_what_repeating_rows_would_give() -> None:
    X, y = cohort(200, 5, 0.2)
    X, y = X[:180], np.arange(180) % 2  # 90 controls count three times, 90 cases once
    repeated = np.concatenate([X, X[y == 0], X[y == 0]]), np.concatenate([y, np.zeros(180, dtype=np.intp)])
    alone, columns, view = holed(X, y, 0.25)
    whole, _, _ = holed(*repeated)
    once = replace(view, weights=ClassWeights.of(None, np.array([270.0, 90.0])))
    sums, expected = alone.expected_sums(view, some_gaussian(5)), whole.expected_sums(once, some_gaussian(5))
    for found, wanted in ((sums.product, expected.product), (sums.unknown, expected.unknown)):
        np.testing.assert_allclose(found * 2.0, wanted, rtol=1e-9)
    assert columns.weights.controls == pytest.approx(1.5) and columns.weights.cases == pytest.approx(0.5)


def test_a_limit_that_runs_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = cohort()
    assert fitted(X, y).imputation.converged
    monkeypatch.setattr(imputation_module, "MAX_ROUNDS", 2)
    done = fitted(X, y).imputation
    assert not done.converged and done.rounds == 2


# --- what matters -----------------------------------------------------------------------------------------


def test_columns_are_tested_by_what_was_measured_of_them() -> None:
    X, y = cohort(300, 7, 0.3)
    moments = describe_columns(choose_table("numba", X, y)).moments
    expected = scipy.stats.ttest_ind(X[y == 1], X[y == 0], equal_var=False, nan_policy="omit").pvalue
    np.testing.assert_allclose(welch_p_values(moments), expected, rtol=1e-9)
    np.testing.assert_array_equal(moments.values.sum(axis=0), (~np.isnan(X)).sum(axis=0))


def test_a_column_that_one_class_lacks_cannot_be_tested() -> None:
    X, y = cohort(300, 7, 0.1)
    X[y == 1, 2] = np.nan
    X[np.flatnonzero(y == 1)[0], 2] = 50.0
    raw = choose_table("numba", X, y)
    assert welch_p_values(describe_columns(raw).moments)[2] == 1.0
    learned = fitted(X, y)
    assert 2 not in learned.ordering.order
    assert 0.0 < learned.imputation.unknown[2] <= 1.0
    # Without a screen it takes part.
    assert 2 in fitted(X, y, variant="plus").ordering.order


def with_p_values(p_values: list[float]) -> Columns:
    n = 1000.0
    t = scipy.stats.norm.isf(np.array(p_values) / 2)
    difference = t * np.sqrt(4.0 / n)
    total = np.stack([-difference / 2, difference / 2]) * n / 2
    square = np.full((2, len(p_values)), n / 2) + total**2 / (n / 2)
    moments = ColumnMoments(np.array([n / 2, n / 2]), total, square)
    return Columns(
        np.zeros(len(p_values)), np.ones(len(p_values)), moments, ClassWeights.of(None, moments.count)
    )


def test_dummies_of_one_variable_matter_together() -> None:
    columns = with_p_values([0.9, 0.01, 0.8, 0.3, 0.7])
    layout = Layout(np.array([0, 1, 1, 2, 3]), (np.empty(0),) * 5)
    chosen, level = most_dependent(welch_p_values(columns.moments), layout, LEVEL)
    assert chosen.tolist() == [1, 2, 3] and level == LEVEL
    assert most_dependent(welch_p_values(columns.moments), layout, LEVEL, np.array([4]))[0].tolist() == [
        1,
        2,
        3,
        4,
    ]


def test_of_too_many_columns_the_most_dependent_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imputation_module, "MOST_COLUMNS", 3)
    columns = with_p_values([0.05, 0.001, 0.3, 0.02, 0.15])
    chosen, level = most_dependent(welch_p_values(columns.moments), Layout.numbers(5), LEVEL)
    assert chosen.tolist() == [0, 1, 3] and level == pytest.approx(0.15, rel=0.05)
    always = np.array([2, 4, 0, 3])
    assert most_dependent(welch_p_values(columns.moments), Layout.numbers(5), LEVEL, always)[0].tolist() == [
        0,
        2,
        3,
        4,
    ]


# --- copies and their sums --------------------------------------------------------------------------------


def copies_of(raw: MemoryIncomplete, view: View, layout: Layout | None = None) -> ImputedCopies:
    layout = Layout.numbers(view.cols.size) if layout is None else layout
    filling = Imputer(view, some_gaussian(view.size), 11, view.cols, layout)
    copies = raw.filled(filling)[1]
    assert isinstance(copies, ImputedCopies)
    return copies


def raw_copies(copies: ImputedCopies) -> np.ndarray:
    m = copies.shape[1]
    return copies.standardized(np.arange(m), np.zeros(m), np.ones(m))[0].T


def test_draws_depend_neither_on_backend_nor_on_partition_nor_on_threads() -> None:
    X, y = cohort(3000, 8, 0.2)
    _, _, view = holed(X, y)
    whole = raw_copies(copies_of(incomplete_part("numba", X, y), view))
    threads = get_num_threads()
    try:
        set_num_threads(1)
        np.testing.assert_array_equal(raw_copies(copies_of(incomplete_part("numba", X, y), view)), whole)
    finally:
        set_num_threads(threads)
    np.testing.assert_allclose(raw_copies(copies_of(incomplete_part("numpy", X, y), view)), whole, atol=1e-9)
    parts = [slice(0, 700), slice(700, 701), slice(701, 3000)]
    pieces = [raw_copies(copies_of(incomplete_part("numba", X[s], y[s], s.start), view)) for s in parts]
    np.testing.assert_array_equal(np.concatenate(pieces), whole)


def test_patients_who_are_alike_are_drawn_apart() -> None:
    """And by what they are like: who comes first, and what else there is, changes nothing."""
    X, y = cohort(40, 8, 0.2)
    raw, _, view = holed(X, y)
    repeated = np.concatenate([X, X, X[::-1]]), np.concatenate([y, y, y[::-1]])
    once = raw_copies(copies_of(raw, view)).reshape(-1, DRAWS, view.cols.size)
    thrice = raw_copies(copies_of(incomplete_part("numba", *repeated), view)).reshape(3, *once.shape)
    np.testing.assert_array_equal(thrice[0], once)
    gaps = np.isnan(X[np.isnan(X).any(axis=1)])[:, None]
    for one, two in ((thrice[0], thrice[1]), (thrice[0], thrice[2][::-1]), (thrice[1], thrice[2][::-1])):
        assert ((one != two) == np.broadcast_to(gaps, one.shape)).all()


def levelled(X: np.ndarray) -> np.ndarray:
    """The same in whole numbers: many patients are alike."""
    return np.clip(np.round(X), -1.0, 1.0)


@pytest.mark.parametrize(
    ("estimator", "few"),
    [
        (RCI(mechanism="linear"), False),
        (RCI(backend="numpy", prevalence=0.1), False),
        (RCI(), True),
        (RCI(), False),
        (RCIRegressor(), False),
        (RCISurvival(), True),
    ],
    ids=["linear", "numpy, prevalence", "levels", "auto", "number", "follow-up, levels"],
)
def test_the_order_of_the_patients_changes_nothing(estimator: Any, few: bool) -> None:
    X, y = cohort(150, 5, 0.2)
    if few:
        X = levelled(X)
    known: tuple[np.ndarray, ...] = (y,)
    if not isinstance(estimator, RCI):
        time = np.random.default_rng(3).exponential(size=len(y)) * np.exp(-y)
        known = (time,) if isinstance(estimator, RCIRegressor) else (time, (time < 2.0).astype(int))
    shuffled = np.random.default_rng(4).permutation(len(X))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = clone(estimator).fit(X, *known)
        other = clone(estimator).fit(X[shuffled], *(values[shuffled] for values in known))
    assert one.causal_order_.size > 1
    np.testing.assert_array_equal(one.causal_order_, other.causal_order_)
    np.testing.assert_allclose(other.explain(X).values, one.explain(X).values, atol=1e-10)


def test_what_was_measured_stays_as_it_was() -> None:
    X, y = cohort(300, 8, 0.2)
    raw, _, view = holed(X, y)
    lacking = np.isnan(X).any(axis=1)
    found = raw_copies(copies_of(raw, view)).reshape(-1, DRAWS, X.shape[1])
    there = ~np.isnan(X[lacking])
    for draw in range(DRAWS):
        np.testing.assert_array_equal(found[:, draw][there], X[lacking][there])
    assert (np.ptp(found, axis=1)[~there] > 0.0).all()


def stacked(X: np.ndarray, y: np.ndarray) -> tuple[PooledRaw, np.ndarray, np.ndarray, np.ndarray]:
    """A pooled table, and its rows, labels and weights one after the other."""
    raw, _, view = holed(X, y)
    filling = Imputer(view, some_gaussian(view.size), 11, view.cols, Layout.numbers(view.cols.size))
    complete, copies = raw.filled(filling)
    lacking = np.isnan(X).any(axis=1)
    rows = np.concatenate([X[~lacking], raw_copies(copies)])
    weights = np.concatenate([np.ones((~lacking).sum()), np.full(DRAWS * lacking.sum(), 1.0 / DRAWS)])
    labels = np.concatenate([y[~lacking], np.repeat(y[lacking], DRAWS)])
    return PooledRaw([RawPart(complete, 1.0), RawPart(copies, 1.0 / DRAWS)]), rows, labels, weights


@pytest.mark.parametrize("prevalence", [None, 0.05])
def test_pooled_sums_are_those_of_weighted_rows(prevalence: float | None) -> None:
    X, y = cohort(300, 6, 0.05)
    pooled, rows, labels, w = stacked(X, y)
    n, p = X.shape
    assert pooled.shape == (n, p) and 0 < (w == 1.0).sum() < n
    moments = pooled.column_moments(np.ones(p))
    np.testing.assert_array_equal(moments.count, np.bincount(y))
    for c in (0, 1):
        of_class, weight = rows[labels == c] - 1.0, w[labels == c]
        np.testing.assert_allclose(moments.total[c], weight @ of_class, rtol=1e-9)
        np.testing.assert_allclose(moments.square[c], weight @ of_class**2, rtol=1e-9)
    columns = describe_columns(pooled, prevalence)
    by_class = np.array([columns.weights.controls, columns.weights.cases])[labels] * w
    everyone = np.arange(p)
    Z = (rows - columns.mean) / columns.sd
    np.testing.assert_allclose(by_class @ Z, 0.0, atol=1e-8)
    table = standardized(pooled, columns.weights, everyone, columns.mean, columns.sd)
    assert table.shape == (n, p)
    grams = [(Z[labels == c].T * by_class[labels == c]) @ Z[labels == c] for c in (0, 1)]
    np.testing.assert_allclose(table.gram(), grams, atol=1e-8)
    raw_grams = [(Z[labels == c].T * w[labels == c]) @ Z[labels == c] for c in (0, 1)]
    np.testing.assert_allclose(pooled.gram(everyone, columns.mean, columns.sd), raw_grams, atol=1e-8)
    log_cosh = np.log(np.cosh(Z))
    np.testing.assert_allclose(table.column_sums()[:, 0], by_class @ log_cosh, rtol=1e-8)
    r = sum(grams) / (n - 1)
    table = table.with_correlations(r).regress_out(2, np.delete(everyone, 2))
    residual = (Z - Z[:, [2]] * r[2]) / np.sqrt(np.maximum(1.0 - r[2] ** 2, 1e-10))
    found = table.pair_sums(np.array([1]), np.array([1]))
    assert found[0, 0, 0] == pytest.approx(by_class @ np.log(np.cosh(residual[:, 1])), rel=1e-8)
    # The likelihood of the labels is that of the sample: n patients.
    sums = table.logit_sums(np.array([1, 4]), np.array([0.3, -0.2, 0.1]))
    eta = 0.3 * residual[:, 1] - 0.2 * residual[:, 4] + 0.1
    assert sums.loglik == pytest.approx(-(w @ np.logaddexp(0.0, np.where(labels == 1, -eta, eta))), rel=1e-9)
    assert table.shape == (n, p)


@pytest.mark.parametrize("make", [ReferenceRaw, NumbaRaw])
def test_copies_of_a_patient_count_once(make: MakeTable) -> None:
    drawn = simulate(300, 7, random_state=2)
    X, y = drawn.X, drawn.y.astype(np.intp)
    settings = chosen_settings("local_plus", 0.2, "sharp", None)
    parts = [
        RawPart(make(X[:100], y[:100]), 1.0),
        RawPart(make(np.repeat(X[100:], 5, axis=0), np.repeat(y[100:], 5)), 0.2),
    ]
    pooled, once = PooledRaw(parts), make(X, y)
    found, expected = (learn(raw, describe_columns(raw), settings) for raw in (pooled, once))
    assert found.ordering.order.tolist() == expected.ordering.order.tolist()
    np.testing.assert_allclose(found.ordering.mixing, expected.ordering.mixing, atol=1e-9)
    np.testing.assert_allclose(
        found.model.attribution.unit_effects, expected.model.attribution.unit_effects, atol=1e-6
    )


# --- levels -----------------------------------------------------------------------------------------------


def test_draws_are_brought_to_levels() -> None:
    layout = Layout(
        np.array([0, 1, 2, 2]), (np.empty(0), np.array([1.0, 2.0, 4.0]), *(np.array([0.0, 1.0]),) * 2)
    )
    X = np.array([[0.7, 2.9, 0.2, 0.3], [0.7, 3.1, 0.6, 0.3], [0.7, -9.0, 0.1, 0.7], [0.7, 9.0, 0.4, 0.4]])
    missing = np.ones(X.shape, dtype=bool)
    to_levels(X, missing, layout)
    np.testing.assert_array_equal(X[:, 0], 0.7)
    np.testing.assert_array_equal(X[:, 1], [2.0, 4.0, 1.0, 4.0])
    np.testing.assert_array_equal(X[:, 2:], [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    untouched = np.array([[0.7, 2.9, 0.2, 0.3]])
    to_levels(untouched, np.zeros((1, 4), dtype=bool), layout)
    assert untouched.tolist() == [[0.7, 2.9, 0.2, 0.3]]


def test_a_discrete_column_is_filled_with_its_levels() -> None:
    X, y = cohort(300, 5, 0.0)
    X[:, 1] = np.where(X[:, 1] > 0, 2.0, 1.0)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    raw, _, view = holed(X, y)
    levels = [np.empty(0)] * X.shape[1]
    levels[1] = np.array([1.0, 2.0])
    found = raw_copies(copies_of(raw, view, Layout(np.arange(X.shape[1]), tuple(levels))))
    assert set(np.unique(found[:, 1])) == {1.0, 2.0}


def discrete_cohort() -> tuple[np.ndarray, np.ndarray, Layout]:
    """A number, a binary column, an ordinal one and the two dummies of a nominal one, all with holes."""
    drawn = simulate(500, 6, random_state=6)
    X, y = drawn.X.copy(), drawn.y.astype(np.intp)
    rng = np.random.default_rng(6)
    X[:, 1] = X[:, 1] > 0.0
    X[:, 2] = np.digitize(X[:, 2], [-0.5, 0.5]) + 1.0
    ward = np.digitize(1.5 * y + rng.standard_normal(500), [0.0, 1.0])
    X[:, 3], X[:, 4] = ward == 1, ward == 2
    X[rng.random(X.shape) < 0.1] = np.nan
    X[np.isnan(X[:, 3:]).any(axis=1), 3:] = np.nan
    two = np.array([0.0, 1.0])
    return X, y, Layout(np.array([0, 1, 2, 3, 3]), (np.empty(0), two, np.array([1.0, 2.0, 3.0]), two, two))


@pytest.mark.parametrize("prevalence", [None, 0.1])
@pytest.mark.parametrize("variant", ["local_plus", "plus"])
def test_discrete_columns_with_holes_are_ordered_alike_everywhere(
    variant: str, prevalence: float | None
) -> None:
    X, y, layout = discrete_cohort()
    plain, compiled = (fitted(X, y, backend, variant, prevalence, layout) for backend in BACKENDS)
    assert plain.ordering.order.tolist() == compiled.ordering.order.tolist()
    np.testing.assert_allclose(plain.ordering.mixing, compiled.ordering.mixing, atol=1e-9)
    # Dummies of one variable stay together.
    dummies = np.flatnonzero(compiled.ordering.order >= 3)
    assert np.diff(dummies).tolist() == [1]


def test_level_sums_of_copies_are_those_of_weighted_rows() -> None:
    X, y, layout = discrete_cohort()
    raw, _, view = holed(X, y)
    filling = Imputer(view, some_gaussian(view.size), 11, view.cols, layout)
    parts = [
        RawPart(part, share) for part, share in zip(raw.filled(filling), (1.0, 1.0 / DRAWS), strict=True)
    ]
    everyone, mean, sd = np.arange(5), np.zeros(5), np.ones(5)
    discrete, edges = np.array([1, 2]), np.array([[0.5, np.inf], [1.5, 2.5]])
    thresholds = np.array([[-np.inf, 0.1, np.inf, np.inf], [-np.inf, -0.5, 0.6, np.inf]])
    pooled = PooledRaw(parts).standardize(everyone, mean, sd)
    np.testing.assert_allclose(pooled.level_counts(discrete, edges).sum(axis=1), len(X))
    singly = [
        part.raw.standardize(everyone, mean, sd).with_levels(discrete, edges, thresholds) for part in parts
    ]
    sums = [table.level_sums(discrete, np.array([0, 3])) for table in singly]
    found = pooled.with_levels(discrete, edges, thresholds).level_sums(discrete, np.array([0, 3]))
    for name in ("score", "curvature", "score_with", "curvature_with", "curvature_square"):
        expected = getattr(sums[0], name) + getattr(sums[1], name) / DRAWS
        np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-9, atol=1e-9)


# --- the whole of it --------------------------------------------------------------------------------------


def test_without_holes_nothing_changes() -> None:
    drawn = simulate(200, 6, random_state=0)
    X, y = drawn.X, drawn.y.astype(np.intp)
    assert type(choose_table("numba", X, y)) is NumbaRaw
    assert type(choose_table("numpy", X, y)) is ReferenceRaw
    assert not isinstance(choose_table("numba", X, y), IncompleteRaw)
    assert fitted(X, y).imputation is None
    assert isinstance(choose_table("numba", *cohort()), IncompleteRaw)


@pytest.mark.parametrize("prevalence", [None, 0.1])
@pytest.mark.parametrize("variant", ["local_plus", "plus", "local"])
def test_backends_agree(variant: str, prevalence: float | None) -> None:
    X, y = cohort(250, 6, 0.2, seed=3)
    plain, compiled = (fitted(X, y, backend, variant, prevalence) for backend in BACKENDS)
    assert plain.ordering.order.tolist() == compiled.ordering.order.tolist()
    np.testing.assert_allclose(plain.ordering.mixing, compiled.ordering.mixing, atol=1e-9)
    np.testing.assert_allclose(plain.completion.covariance, compiled.completion.covariance, rtol=1e-8)
    assert plain.imputation.rounds == compiled.imputation.rounds


def test_one_hole_changes_little() -> None:
    drawn = simulate(1000, 8, random_state=1)
    X, y = drawn.X.copy(), drawn.y.astype(np.intp)
    before = fitted(X, y).model
    X[17, 3] = np.nan
    learned = fitted(X, y)
    assert learned.imputation.rows == 1 and learned.imputation.missing.tolist() == [0, 0, 0, 1, 0, 0, 0][:7]
    assert learned.model.order.tolist() == before.order.tolist()
    np.testing.assert_allclose(learned.model.shapley(drawn.X), before.shapley(drawn.X), atol=0.05)


def test_values_missing_at_random_are_made_good() -> None:
    """A chain whose middle is missing for a third: its slopes and the order come back."""
    rng = np.random.default_rng(0)
    n = 4000
    first = rng.exponential(size=n)
    second = first + rng.exponential(size=n)
    third = second + rng.exponential(size=n)
    y = (third + 2.0 * rng.logistic(size=n) > 3.0).astype(np.intp)
    X = np.column_stack([third, first, second])
    whole = fitted(X, y)
    X[rng.random(n) < 0.6 * (first > 1.0), 2] = np.nan
    found = fitted(X, y)
    assert found.ordering.order.tolist() == whole.ordering.order.tolist() == [1, 2, 0]
    np.testing.assert_allclose(found.ordering.mixing, whole.ordering.mixing, atol=0.05)
    np.testing.assert_allclose(found.ordering.mean, whole.ordering.mean, atol=0.08)
    # By the values that are there alone, the mean would be too low.
    assert np.nanmean(X[:, 2]) < whole.completion.mean[2] - 0.2
    np.testing.assert_allclose(found.completion.mean, whole.completion.mean, atol=0.08)


def test_how_far_the_answer_leans_on_what_was_filled_in() -> None:
    rng = np.random.default_rng(1)
    n = 2000
    base = rng.exponential(size=n)
    X = np.column_stack([base, base + 0.1 * rng.standard_normal(n), rng.exponential(size=n)])
    y = (X[:, 1] + X[:, 2] + rng.logistic(size=n) > 2.0).astype(np.intp)
    X[:1000, 1:] = np.nan
    done = fitted(X[rng.permutation(n)], y).imputation
    assert done.missing.tolist() == [0.0, 1000.0, 1000.0] and done.rows == 1000 and done.draws == DRAWS
    # One can be told from another column, and one only guessed.
    assert done.unknown[0] == 0.0
    assert done.unknown[1] < 0.02 and 0.4 < done.unknown[2] < 0.55


def test_seeds_draw_other_values_of_the_same_gaussian() -> None:
    X, y = cohort(seed=5)
    one, same, other = (fitted(X, y, seed=seed) for seed in (1, 1, 2**70 + 2))
    np.testing.assert_array_equal(one.ordering.mixing, same.ordering.mixing)
    assert one.ordering.mixing.tobytes() != other.ordering.mixing.tobytes()
    np.testing.assert_array_equal(one.completion.covariance, other.completion.covariance)


def test_columns_keep_their_place_in_the_whole_table() -> None:
    rng = np.random.default_rng(3)
    n = 800
    X = rng.exponential(size=(n, 30))
    y = (3.0 * X[:, 25] + rng.logistic(size=n) > 3.0).astype(np.intp)
    X[rng.random(X.shape) < 0.1] = np.nan
    learned = fitted(X, y)
    assert learned.completion.columns.size < 30 and learned.completion.mean.size == 30
    assert 25 in learned.ordering.order and learned.model.n_columns == 30
    assert learned.ancestor_probability[25] > 0.99
    assert set(learned.ordering.adds_nothing) <= set(learned.completion.columns)


def test_nothing_that_matters_is_no_error() -> None:
    rng = np.random.default_rng(8)
    y = np.arange(200) % 2
    X = np.tile(rng.exponential(size=(100, 1)), (1, 2)).reshape(200, 1)  # the same in both classes
    X[:2, 0] = np.nan
    learned = fitted(X, y)
    assert learned.ordering.order.size == 0 and learned.completion.columns.size == 0


# --- resamples --------------------------------------------------------------------------------------------


def rows_to_resample(layout: Layout | None = None, share: float = 0.2) -> TrainingRows:
    X, y = cohort(200, 6, share)
    return TrainingRows(X, y, chosen_settings("local_plus", 0.2, "sharp", None), "numba", layout=layout)


def test_each_resample_is_filled_in_anew() -> None:
    rows = rows_to_resample()
    found = bootstrap(rows, 4, random_state=1, n_jobs=1, progress=False, resume=None)
    again = [resample(rows, 1, number, False).model for number in range(4)]
    for one, two in zip(found.models, again, strict=True):
        np.testing.assert_array_equal(one.mechanism.mixing, two.mechanism.mixing)
    assert found.unsettled == 0


def test_a_resample_that_lacks_a_column_altogether() -> None:
    X, y = cohort(120, 5, 0.1)
    X[2:, 3] = np.nan
    rows = TrainingRows(X, y, chosen_settings("plus", 0.2, "sharp", None), "numba")
    sizes = {resample(rows, 0, number, True).model.order.size for number in range(6)}
    assert sizes == {3, 4} or sizes == {3}


def test_fingerprints_know_holes_and_levels() -> None:
    whole, holes = rows_to_resample(share=0.0), rows_to_resample()
    numbers = rows_to_resample(Layout.numbers(5), share=0.0)
    discrete = rows_to_resample(Layout(np.arange(5), (*(np.empty(0),) * 4, np.array([0.0, 1.0]))), share=0.0)
    assert whole.fingerprint(0) == numbers.fingerprint(0)
    assert len({rows.fingerprint(0) for rows in (whole, holes, discrete)}) == 3


def test_a_pooled_table_has_a_name_and_both_classes() -> None:
    X, y = cohort(60, 4, 0.3)
    raw, columns, _ = holed(X, y)
    done = impute(raw, columns, Layout.numbers(X.shape[1]), (np.arange(X.shape[1]), 1.0), 0, Binary.of(y))
    assert done.raw.backend == "numba"
    controls, cases = done.raw.by_class()
    assert controls.shape[0] == (y == 0).sum() and cases.shape[0] == (y == 1).sum()
