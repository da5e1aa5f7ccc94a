"""Every table gives the sums of the plain one, whatever the shape."""

from __future__ import annotations

import numpy as np
import pytest
from tables_under_test import TABLES, MakeTable

from rootcausal.backends.reference import ReferenceRaw, entropy_sums
from rootcausal.core.moments import describe_columns, regressed_correlations
from rootcausal.core.table import Table

SHAPES = [(7, 2), (31, 5), (512, 4), (513, 3), (1000, 9), (8193, 6), (20_000, 3)]


def cohort(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n * 1000 + p)
    X = rng.standard_t(3, (n, p)) @ rng.uniform(-1, 1, (p, p)) * 10.0 ** rng.integers(-3, 4, p) + rng.normal(
        0, 100, p
    )
    y = rng.permutation(n) % 2
    return X, y


def standardized(make: MakeTable, X: np.ndarray, y: np.ndarray | None) -> tuple[Table, np.ndarray]:
    raw = make(X, y)
    columns = describe_columns(raw)
    kept = np.arange(X.shape[1])
    table = raw.standardize(kept, columns.mean, columns.sd)
    correlation = np.corrcoef(X, rowvar=False)
    return table.with_correlations(correlation), correlation


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_column_moments_are_those_of_numpy(make: MakeTable, n: int, p: int) -> None:
    X, y = cohort(n, p)
    shift = X.mean(axis=0) * 0.9
    moments = make(X, y).column_moments(shift)
    np.testing.assert_array_equal(moments.count, np.bincount(y))
    for c in (0, 1):
        z = X[y == c] - shift
        np.testing.assert_allclose(moments.total[c], z.sum(axis=0), rtol=1e-9, atol=1e-9 * np.abs(z).sum())
        np.testing.assert_allclose(moments.square[c], (z * z).sum(axis=0), rtol=1e-12)


@pytest.mark.parametrize("make", TABLES)
def test_a_table_without_labels_has_one_class(make: MakeTable) -> None:
    X, _ = cohort(50, 3)
    raw = make(X, None)
    assert raw.column_moments(np.zeros(3)).count.tolist() == [50]
    table, _ = standardized(make, X, None)
    assert table.gram().shape == (1, 3, 3)


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_the_rows_of_each_class_are_a_table_of_their_own(make: MakeTable, n: int, p: int) -> None:
    X, _ = cohort(n, p)
    y = (np.arange(n) % 3 == 1).astype(int)
    cols, mean, sd = np.arange(p)[::-1][: p - 1].copy(), X.mean(axis=0), X.std(axis=0)
    for c, raw in enumerate(make(X, y).by_class()):
        mine, own = X[y == c], y[y == c]
        assert raw.shape == mine.shape
        moments, expected = (one.column_moments(mean) for one in (raw, ReferenceRaw(mine, own)))
        np.testing.assert_array_equal(moments.count, expected.count)
        np.testing.assert_allclose(moments.total, expected.total, rtol=1e-9, atol=1e-9 * n * sd.max())
        np.testing.assert_allclose(moments.square, expected.square, rtol=1e-12)
        table = raw.standardize(cols, mean[cols], sd[cols])
        plain = ReferenceRaw(mine, own).standardize(cols, mean[cols], sd[cols])
        assert table.shape == plain.shape
        np.testing.assert_allclose(table.gram(), plain.gram(), atol=1e-11 * n)
        np.testing.assert_allclose(table.column_sums(), plain.column_sums(), atol=1e-11 * n)
        beta = np.append(np.linspace(-1, 1, p - 1), 0.5)
        sums, expected_sums = (one.logit_sums(np.arange(p - 1), beta) for one in (table, plain))
        np.testing.assert_allclose(sums.loglik, expected_sums.loglik, rtol=1e-12)
        np.testing.assert_allclose(sums.gradient, expected_sums.gradient, atol=1e-9 * n)


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_sums_equal_the_reference(make: MakeTable, n: int, p: int) -> None:
    X, y = cohort(n, p)
    table, _ = standardized(make, X, y)
    plain, _ = standardized(ReferenceRaw, X, y)
    assert table.shape == (n, p)
    np.testing.assert_allclose(table.gram(), plain.gram(), atol=1e-11 * n)
    np.testing.assert_allclose(table.column_sums(), plain.column_sums(), atol=1e-11 * n)
    i, j = (index.ravel() for index in np.meshgrid(np.arange(p), np.arange(p), indexing="ij"))
    i, j = i[i != j], j[i != j]
    np.testing.assert_allclose(table.pair_sums(i, j), plain.pair_sums(i, j), rtol=0, atol=1e-11 * n)
    cols = np.arange(p)[::-1].copy()
    for q in {1, (p + 1) // 2, p}:
        block = table.to_host(table.leading_pair_sums(cols, q))
        np.testing.assert_allclose(block, plain.leading_pair_sums(cols, q), rtol=0, atol=1e-11 * n)


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize(("n", "p"), [(31, 5), (1000, 9), (8193, 6)])
def test_regressing_out_a_root_updates_rows_and_correlations(make: MakeTable, n: int, p: int) -> None:
    X, y = cohort(n, p)
    table, correlation = standardized(make, X, y)
    plain, _ = standardized(ReferenceRaw, X, y)
    rest = np.array([c for c in range(p) if c != 1])
    table, plain = table.regress_out(1, rest), plain.regress_out(1, rest)
    np.testing.assert_allclose(table.column_sums(), plain.column_sums(), atol=1e-11 * n)
    np.testing.assert_allclose(table.gram(), plain.gram(), atol=1e-10 * n)
    regressed_correlations(correlation, 1, rest)
    measured = plain.gram().sum(axis=0) / (n - 1)
    np.testing.assert_allclose(table.correlations(int(rest[0]))[rest], measured[rest[0], rest], atol=1e-10)
    np.testing.assert_allclose(correlation[np.ix_(rest, rest)], measured[np.ix_(rest, rest)], atol=1e-10)


@pytest.mark.parametrize("make", TABLES)
def test_logit_sums_equal_the_reference_and_its_derivatives(make: MakeTable) -> None:
    X, y = cohort(1000, 9)
    table, _ = standardized(make, X, y)
    plain, _ = standardized(ReferenceRaw, X, y)
    cols, beta = np.array([4, 0, 7]), np.array([0.3, -2.0, 0.5, 0.1])
    sums, expected = table.logit_sums(cols, beta), plain.logit_sums(cols, beta)
    np.testing.assert_allclose(sums.loglik, expected.loglik, rtol=1e-12)
    np.testing.assert_allclose(sums.gradient, expected.gradient, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sums.hessian, expected.hessian, rtol=1e-9, atol=1e-9)
    step = 1e-5 * np.eye(4)
    up = np.array([plain.logit_sums(cols, beta + s).loglik for s in step])
    down = np.array([plain.logit_sums(cols, beta - s).loglik for s in step])
    np.testing.assert_allclose(sums.gradient, (up - down) / 2e-5, rtol=1e-5)


@pytest.mark.parametrize("make", TABLES)
def test_extreme_residuals_stay_finite_and_exact(make: MakeTable) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 2)) * 1e-6
    X[0, 0], X[1, 1] = 1e3, -1e3  # after standardizing, one row at about 70 sd and the rest at zero
    table, _ = standardized(make, X, None)
    plain, _ = standardized(ReferenceRaw, X, None)
    sums = table.pair_sums(np.array([0]), np.array([1]))
    assert np.isfinite(sums).all()
    np.testing.assert_allclose(sums, plain.pair_sums(np.array([0]), np.array([1])), atol=1e-8)


def test_entropy_sums_of_the_reference_are_the_formulas() -> None:
    u = np.array([[0.0], [1.0], [-2.0]])
    expected = np.log(np.cosh(u)).sum(), (u * np.exp(-(u**2) / 2)).sum()
    np.testing.assert_allclose(entropy_sums(u)[0], expected, rtol=1e-14)
