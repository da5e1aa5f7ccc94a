"""Every table gives the sums of the plain one, whatever the shape."""

from __future__ import annotations

import numpy as np
import pytest
from graded_tables import GRADED, graded, with_holes
from labelled_rows import learn
from tables_under_test import HOLED, TABLES, MakeTable

from rootcausal.backends.choose import incomplete_part
from rootcausal.backends.reference import ReferenceRaw, entropy_sums
from rootcausal.estimators.parameters import chosen_settings
from rootcausal.method.model_parts import flattened
from rootcausal.method.moments import describe_columns, regressed_correlations
from rootcausal.method.outcome import Outcome
from rootcausal.method.pipeline import Learned
from rootcausal.method.table import SCORE, LossSums, Table
from rootcausal.outcomes.continuous import Continuous
from rootcausal.outcomes.survival import Survival

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


def check_loss(table: Table, plain: Table, method: str, cols: np.ndarray, beta: np.ndarray) -> None:
    """The sums are those of the plain table, and the derivatives of its log-likelihood."""

    def sums_of(one: Table, at: np.ndarray) -> LossSums:
        return getattr(one, method)(cols, at)

    sums, expected = sums_of(table, beta), sums_of(plain, beta)
    np.testing.assert_allclose(sums.loglik, expected.loglik, rtol=1e-12)
    np.testing.assert_allclose(sums.gradient, expected.gradient, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sums.hessian, expected.hessian, rtol=1e-9, atol=1e-9)
    up, down = ([sums_of(plain, beta + sign * step) for step in 1e-5 * np.eye(beta.size)] for sign in (1, -1))
    slope = np.array([(a.loglik - b.loglik) / 2e-5 for a, b in zip(up, down, strict=True)])
    bend = np.array([(b.gradient - a.gradient) / 2e-5 for a, b in zip(up, down, strict=True)])
    np.testing.assert_allclose(sums.gradient, slope, rtol=1e-5, atol=1e-5 * len(slope))
    np.testing.assert_allclose(sums.hessian, bend, rtol=1e-5, atol=1e-5 * len(slope))


@pytest.mark.parametrize("make", TABLES)
def test_logit_sums_equal_the_reference_and_its_derivatives(make: MakeTable) -> None:
    X, y = cohort(1000, 9)
    table, plain = (standardized(one, X, y)[0] for one in (make, ReferenceRaw))
    check_loss(table, plain, "logit_sums", np.array([4, 0, 7]), np.array([0.3, -2.0, 0.5, 0.1]))


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize("cols", [[4, 0, 7], []], ids=["some", "none"])
def test_square_sums_equal_the_reference_and_its_derivatives(make: MakeTable, cols: list[int]) -> None:
    X, known, number = graded(Continuous, 1000, 9, 0)
    table, plain = (standardized(one, X, number.rows(known))[0] for one in (make, ReferenceRaw))
    beta = np.array([0.3, -2.0, 0.5])[: len(cols)]
    check_loss(table, plain, "square_sums", np.array(cols, dtype=np.intp), np.append(beta, 0.1))


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize("cols", [[4, 0, 7], []], ids=["some", "none"])
def test_hazard_sums_equal_the_reference_and_its_derivatives(make: MakeTable, cols: list[int]) -> None:
    X, known, survival = graded(Survival, 1000, 9, 0)
    table, plain = (standardized(one, X, survival.rows(known))[0] for one in (make, ReferenceRaw))
    assert isinstance(survival, Survival)
    hazards = np.log(survival.clock.null_hazards)
    assert hazards.size > 30
    beta = np.append([0.3, -0.8, 0.5][: len(cols)], hazards + 0.3 * np.sin(np.arange(hazards.size)))
    check_loss(table, plain, "hazard_sums", np.array(cols, dtype=np.intp), beta)


@pytest.mark.parametrize("make", TABLES)
def test_hazards_that_overflow_are_bounded_everywhere(make: MakeTable) -> None:
    X, known, survival = graded(Survival, 200, 4, 1)
    table, plain = (standardized(one, X, survival.rows(known))[0] for one in (make, ReferenceRaw))
    assert isinstance(survival, Survival)
    beta = np.append([400.0, -400.0], np.full(survival.clock.null_hazards.size, 60.0))
    sums, expected = (one.hazard_sums(np.array([0, 2]), beta) for one in (table, plain))
    for name in ("loglik", "gradient", "hessian"):
        assert np.isfinite(getattr(sums, name)).all()
        np.testing.assert_allclose(getattr(sums, name), getattr(expected, name), rtol=1e-9)


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize("kind", GRADED)
@pytest.mark.parametrize(("n", "p"), SHAPES)
def test_a_graded_outcome_has_one_class_and_its_score(
    make: MakeTable, kind: type[Outcome], n: int, p: int
) -> None:
    X, known, outcome = graded(kind, n, p, 3)
    rows, shift = outcome.rows(known), X.mean(axis=0) * 0.9
    raw = make(X, rows)
    moments, z, s = raw.column_moments(shift), X - shift, rows[:, SCORE]
    assert moments.count.tolist() == [n]
    size = np.abs(z).sum()
    np.testing.assert_allclose(moments.total[0], z.sum(axis=0), rtol=1e-9, atol=1e-9 * size)
    np.testing.assert_allclose(moments.square[0], (z * z).sum(axis=0), rtol=1e-12)
    assert moments.score is not None
    np.testing.assert_allclose(moments.score[0], s @ z, rtol=1e-9, atol=1e-12 * size)
    np.testing.assert_allclose(moments.score[1], np.full(p, s.sum()), atol=1e-11 * n)
    np.testing.assert_allclose(moments.score[2], np.full(p, s @ s), rtol=1e-12)
    mean, sd = X.mean(axis=0), X.std(axis=0)
    expected = ReferenceRaw(X, rows).gram(np.arange(p), mean, sd)
    assert expected.shape == (1, p, p)
    np.testing.assert_allclose(raw.gram(np.arange(p), mean, sd), expected, atol=1e-11 * n)
    np.testing.assert_allclose(raw.standardize(np.arange(p), mean, sd).gram(), expected, atol=1e-11 * n)


@pytest.mark.parametrize("backend", HOLED)
@pytest.mark.parametrize("kind", GRADED)
def test_the_score_of_columns_with_holes_is_that_of_what_was_measured(
    backend: str, kind: type[Outcome]
) -> None:
    X, known, outcome = graded(kind, 500, 6, 4)
    X, rows = with_holes(X, 4), outcome.rows(known)
    shift = np.nanmean(X, axis=0) * 0.9
    moments = incomplete_part(backend, X, rows).column_moments(shift)
    assert moments.score is not None and moments.measured is not None
    for column, x in enumerate(X.T):
        there = ~np.isnan(x)
        z, s = x[there] - shift[column], rows[there, SCORE]
        assert moments.measured[0, column] == there.sum()
        np.testing.assert_allclose(moments.score[:, column], [s @ z, s.sum(), s @ s], atol=1e-9)


def fitted(raw: object, outcome: Outcome, variant: str, attribution: str) -> Learned:
    settings = chosen_settings(variant, 0.2, attribution)
    return learn(raw, describe_columns(raw), settings, outcome=outcome)


def check_same(found: Learned, expected: Learned, backend: str) -> None:
    """Order equal, effects and errors those of plain NumPy to 1e-9; a GPU adds in any order."""
    tolerance = 1e-6 if backend == "cupy" else 1e-9
    assert found.ordering.order.tolist() == expected.ordering.order.tolist()
    assert expected.ordering.order.size
    np.testing.assert_allclose(found.ordering.mixing, expected.ordering.mixing, atol=tolerance)
    for name, array in flattened([expected.model.attribution], all_of_it=True).items():
        scale = max(1.0, float(np.abs(array).max()))
        np.testing.assert_allclose(
            flattened([found.model.attribution], all_of_it=True)[name], array, atol=tolerance * scale
        )


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize("kind", GRADED)
@pytest.mark.parametrize(
    ("variant", "attribution"), [("local_plus", "sharp"), ("plus", "paper"), ("original", "sharp")]
)
def test_fits_of_graded_outcomes_are_those_of_plain_numpy(
    make: MakeTable, kind: type[Outcome], variant: str, attribution: str
) -> None:
    X, known, outcome = graded(kind, 400, 7, 5)
    rows = outcome.rows(known)
    raw = make(X, rows)
    found, expected = (fitted(one, outcome, variant, attribution) for one in (raw, ReferenceRaw(X, rows)))
    check_same(found, expected, raw.backend)


@pytest.mark.parametrize("backend", HOLED)
@pytest.mark.parametrize("kind", GRADED)
def test_fits_of_graded_outcomes_with_holes_are_those_of_plain_numpy(
    backend: str, kind: type[Outcome]
) -> None:
    X, known, outcome = graded(kind, 300, 6, 6)
    X, rows = with_holes(X, 6), outcome.rows(known)
    found, expected = (
        fitted(incomplete_part(one, X, rows), outcome, "local_plus", "sharp") for one in (backend, "numpy")
    )
    check_same(found, expected, backend)


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
