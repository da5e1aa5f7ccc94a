"""Compiled loops of the attribution do what their plain twins do, to the rounding of a sum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import solve_triangular
from tables_under_test import TABLES, MakeTable

from rootcausal.backends.cpu import attribution_kernels as effect_kernels
from rootcausal.backends.cpu.attribution_kernels import MOST_COLUMNS_A_LOOP, ROWS_A_LOOP, ROWS_A_PRODUCT
from rootcausal.backends.cpu.loops import COMPILED
from rootcausal.backends.cpu.rows import NumbaTable
from rootcausal.backends.reference import ReferenceTable
from rootcausal.method.attribution import ancestors as susie
from rootcausal.method.attribution import spike_slab
from rootcausal.method.attribution.ancestors import SingleEffects, Sparsity, fit_effects
from rootcausal.method.attribution.spike_slab import Posterior, Prior
from rootcausal.method.linear import inverse
from rootcausal.method.loops import PLAIN

seeds = st.integers(0, 10_000)
quick = settings(max_examples=25, deadline=None)


def question(seed: int, k: int, n_causes: int = 3, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Curvature and slope of least squares on correlated columns, of which some have strong effects."""
    g = np.random.default_rng(seed)
    X = g.standard_normal((n, k)) + g.uniform(0, 1.5) * g.standard_normal((n, 1))
    y = X[:, :n_causes] @ g.choice([-1.0, 0.7, 2.0], size=min(n_causes, k)) + g.standard_normal(n)
    return X.T @ X, X.T @ y


def assert_equal_effects(found: SingleEffects, expected: SingleEffects) -> None:
    assert found.settled is expected.settled
    for name in ("weight", "size"):
        mine, theirs = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11, err_msg=name)


def assert_equal_posteriors(found: Posterior, expected: Posterior) -> None:
    assert found.settled is expected.settled
    for name in ("coef", "inclusion", "precision", "shift", "share", "scale", "spike"):
        mine, theirs = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(mine, theirs, rtol=1e-7, atol=1e-9, err_msg=name)


@quick
@given(seed=seeds, k=st.integers(1, 30), learns=st.booleans(), n_certain=st.integers(0, 2))
def test_posteriors_are_those_of_the_plain_loop(seed: int, k: int, learns: bool, n_certain: int) -> None:
    prior = Prior(3.0, k + seed % 5, 1.0, np.arange(k) < n_certain, np.arange(k) == 3)
    first = [
        loops.infer(*question(seed, k), prior, Posterior.before(prior), True) for loops in (COMPILED, PLAIN)
    ]
    assert_equal_posteriors(*first)
    then = [loops.infer(*question(seed + 1, k), prior, first[1], learns) for loops in (COMPILED, PLAIN)]
    assert_equal_posteriors(*then)
    assert learns or then[0].scale == first[1].scale


@pytest.mark.parametrize("n_sweeps", [1, 9, 25])
def test_sweeps_end_where_the_plain_ones_do(monkeypatch: pytest.MonkeyPatch, n_sweeps: int) -> None:
    """Also where steps are shorter, and after the covariance was made anew."""
    monkeypatch.setattr(spike_slab, "MAX_SWEEPS", n_sweeps)
    monkeypatch.setattr(spike_slab, "TOLERANCE", 0.0)
    prior = Prior.nothing_known(40, 3.0, 40, 1.0)
    found, expected = (
        loops.infer(*question(1, 40, n_causes=14, n=900), prior, Posterior.before(prior), True)
        for loops in (COMPILED, PLAIN)
    )
    assert not expected.settled
    assert_equal_posteriors(found, expected)


@quick
@given(seed=seeds, k=st.integers(1, 30))
def test_effects_on_a_column_are_those_of_the_plain_loop(seed: int, k: int) -> None:
    prior = Sparsity(expected=3.0, n_columns=k + seed % 5, variance=1.0)
    assert_equal_effects(
        *(fit(*question(seed, k), prior) for fit in (effect_kernels.fit_effects, fit_effects))
    )


def test_effects_are_doubled_as_in_the_plain_loop() -> None:
    prior = Sparsity(expected=3.0, n_columns=40, variance=1.0)
    asked = question(1, 40, n_causes=14, n=900)
    found, expected = (fit(*asked, prior) for fit in (effect_kernels.fit_effects, fit_effects))
    assert len(expected.weight) > susie.FIRST_EFFECTS
    assert_equal_effects(found, expected)


@pytest.mark.parametrize(("limit", "value"), [("MAX_CYCLES", 2), ("MAX_DOUBLINGS", 1)])
def test_limits_are_those_of_the_plain_loop(monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    monkeypatch.setattr(susie, limit, value)
    prior = Sparsity(expected=3.0, n_columns=40, variance=1.0)
    asked = question(1, 40, n_causes=14, n=900)
    found, expected = (fit(*asked, prior) for fit in (effect_kernels.fit_effects, fit_effects))
    assert not expected.settled
    assert_equal_effects(found, expected)


@quick
@given(seed=seeds, k=st.integers(1, 20), n_first=st.integers(0, 3))
def test_tracing_back_leads_to_the_same_ancestors(seed: int, k: int, n_first: int) -> None:
    g = np.random.default_rng(seed)
    mixing = np.tril(g.uniform(-0.8, 0.8, (k, k)) * (g.random((k, k)) < 0.4), -1) + np.eye(k)
    mixing /= np.linalg.norm(mixing, axis=1, keepdims=True)
    n_rows = float(g.choice([20.0, 55.5, 1000.0]))
    inclusion = g.random(k) * (g.random(k) < 0.5)
    found, expected = (loops.trace_back(mixing, n_rows, inclusion, n_first) for loops in (COMPILED, PLAIN))
    assert found.settled is expected.settled
    np.testing.assert_allclose(found.edges, expected.edges, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found.probability, expected.probability, rtol=1e-9, atol=1e-11)


@quick
@given(
    seed=seeds,
    n=st.sampled_from([1, 30, ROWS_A_LOOP, 3 * ROWS_A_LOOP - 1, ROWS_A_PRODUCT + 1]),
    k=st.sampled_from([0, 1, 7, MOST_COLUMNS_A_LOOP, MOST_COLUMNS_A_LOOP + 1]),
    strength=st.sampled_from([0.0, 0.3, 3.0, 300.0]),
)
def test_logit_sums_are_those_of_the_plain_table(seed: int, n: int, k: int, strength: float) -> None:
    g = np.random.default_rng(seed)
    Z, y = g.standard_normal((n, k + 2)), g.integers(0, 2, n)
    cols, beta = g.permutation(k + 2)[:k], strength * g.standard_normal(k + 1)
    expected = ReferenceTable(Z, y).logit_sums(cols, beta)
    sums = NumbaTable(np.ascontiguousarray(Z.T), y).logit_sums(cols, beta)
    scale = 1e-13 * n
    assert sums.loglik == pytest.approx(expected.loglik, rel=1e-12, abs=1e-300)
    np.testing.assert_allclose(sums.gradient, expected.gradient, rtol=1e-12, atol=scale)
    np.testing.assert_allclose(sums.hessian, expected.hessian, rtol=1e-12, atol=scale)


@pytest.mark.parametrize("make", TABLES)
def test_every_table_offers_loops(make: MakeTable) -> None:
    g = np.random.default_rng(0)
    table = make(g.standard_normal((40, 3)), np.arange(40) % 2).standardize(
        np.arange(3), np.zeros(3), np.ones(3)
    )
    assert table.loops in (PLAIN, COMPILED)


@pytest.mark.parametrize("k", [1, 2, 9, 60])
def test_the_inverse_of_a_triangle_is_its_solution(k: int) -> None:
    mixing = np.tril(np.random.default_rng(k).uniform(-0.4, 0.4, (k, k)), -1) + 0.7 * np.eye(k)
    expected = solve_triangular(mixing, np.eye(k), lower=True).T
    np.testing.assert_allclose(inverse(mixing), expected, rtol=1e-12, atol=1e-14)
    assert not np.tril(inverse(mixing), -1).any()
    assert inverse(mixing).flags.c_contiguous


@given(seeds, st.sampled_from([1, 2, 40]))
@settings(max_examples=60, deadline=None)
def test_the_test_between_rounds_is_that_of_plain_numpy(seed: int, cases: int) -> None:
    """Also of columns that do not vary within a class, or of very different sizes."""
    rng = np.random.default_rng(seed)
    n, k = 60, 7
    y = np.arange(n) < cases
    Z = rng.normal(size=(n, k)) * rng.choice([0.0, 1e-60, 1.0, 1e60], k) + np.outer(
        y, rng.choice([0.0, 3.0], k)
    )
    Z -= Z.mean(axis=0)
    weight, count = np.array([1.3, 0.4]), np.array([n - cases, cases], dtype=float)
    root, cols, slope = 2, np.array([0, 3, 4, 6]), rng.normal(size=k)
    answers = []
    for loops in (COMPILED, PLAIN):
        gram, total = weight[1] * (Z[y].T @ Z[y]), weight[1] * Z[y].sum(axis=0)
        variance = Z[:, cols].var(axis=0, ddof=1)
        t, df = loops.class_test(gram, total, weight, count, root, slope, cols, variance)
        answers.append((t, df, gram, total))
    for found, plain in zip(*answers, strict=True):
        np.testing.assert_allclose(
            found, plain, rtol=1e-9, atol=1e-9 * np.abs(plain[np.isfinite(plain)]).max()
        )


@given(seeds)
@quick
def test_roots_are_taken_out_of_the_variances_as_by_plain_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    correlation = rng.choice([0.0, 0.3, -0.999, 1.0, 1.0 - 1e-13, -1.0 - 1e-16], 9)
    cols = np.flatnonzero(rng.random(9) < 0.8)
    answers = []
    for loops in (COMPILED, PLAIN):
        variance = np.linspace(1e-9, 1.0, 9)
        answers.append((*loops.take_out(correlation, variance, 4, cols), variance))
    for found, plain in zip(*answers, strict=True):
        np.testing.assert_array_equal(found, plain)
