"""Columns far from unit scale are fitted as well as any other, or refused by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from labelled_rows import order_columns
from tables_under_test import TABLES, MakeTable

from rootcausal import RCI, DirectLiNGAM, InputError
from rootcausal.comparators import AdaptiveLogistic, TTest
from rootcausal.data import simulate
from rootcausal.method.moments import describe_columns, welch_p_values
from rootcausal.method.ordering.ordering import VARIANTS

POWERS = np.array([0, -266, 266, -440, 440, 3])  # of two: about 1e-80, 1e80, 1e-132, 1e132


@pytest.fixture(scope="module")
def cohort() -> tuple[np.ndarray, np.ndarray]:
    drawn = simulate(400, 7, random_state=9)
    return drawn.X, drawn.y


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize("variant", ["plus", "local", "local_plus"])
def test_a_power_of_two_changes_no_digit(
    make: MakeTable, variant: str, cohort: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = cohort
    plain, scaled = make(X, y), make(np.ldexp(X, POWERS), y)
    columns, far = describe_columns(plain), describe_columns(scaled)
    np.testing.assert_array_equal(far.sd, np.ldexp(columns.sd, POWERS))
    np.testing.assert_array_equal(welch_p_values(far.moments), welch_p_values(columns.moments))
    expected, found = (
        order_columns(t, c, VARIANTS[variant], 0.3) for t, c in ((plain, columns), (scaled, far))
    )
    np.testing.assert_array_equal(found.order, expected.order)
    np.testing.assert_array_equal(found.margins, expected.margins)
    np.testing.assert_array_equal(found.mixing, expected.mixing)


@pytest.mark.parametrize("scale", [1e-130, 1e-80, 1e80, 1e130])
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_very_small_and_very_large_columns_are_fitted_alike(
    scale: float, backend: str, cohort: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = cohort
    expected = RCI(backend=backend).fit(X, y)
    assert expected.causal_order_.size > 2
    model = RCI(backend=backend).fit(X * scale, y)
    np.testing.assert_array_equal(model.causal_order_, expected.causal_order_)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-9)
    np.testing.assert_allclose(model.shapley_values(X * scale), expected.shapley_values(X), atol=1e-8)
    lingam, plain = (DirectLiNGAM(backend=backend).fit(table) for table in (X * scale, X))
    np.testing.assert_allclose(lingam.adjacency_matrix_, plain.adjacency_matrix_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(TTest().fit(X * scale, y).statistic_, TTest().fit(X, y).statistic_, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-130, 1e130])
def test_models_of_any_scale_are_saved_and_read_back(
    scale: float, cohort: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    X, y = cohort
    model = RCI().fit(X * scale, y).bootstrap(2)
    model.save(tmp_path / "model.rci")
    np.testing.assert_array_equal(RCI.load(tmp_path / "model.rci").scores(X * scale), model.scores(X * scale))


@pytest.mark.parametrize("make", TABLES)
def test_a_column_that_varies_around_a_huge_mean_is_not_constant(
    make: MakeTable, cohort: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = cohort
    X = X / X.std(axis=0)
    for mean in (1e12, 1e15, -1e15):
        far = X + mean
        near = far - mean  # exact: what rounding left of the variation
        columns, expected = describe_columns(make(far, y)), describe_columns(make(near, y))
        assert not columns.flat.size
        np.testing.assert_allclose(columns.sd, expected.sd, rtol=1e-9)
        np.testing.assert_allclose(
            welch_p_values(columns.moments), welch_p_values(expected.moments), rtol=1e-6
        )


def test_a_huge_mean_leaves_the_answer_alone(cohort: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = cohort
    X = X / X.std(axis=0)
    far = X.copy()
    far[:, 2] += 1e15
    near = far.copy()
    near[:, 2] -= 1e15
    expected, model = RCI().fit(near, y), RCI().fit(far, y)
    np.testing.assert_array_equal(model.causal_order_, expected.causal_order_)
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=0.02)


BAD_COLUMNS = {
    "one misprint": (lambda x: np.where(np.arange(x.size) == 6, 1.7e308, x), "1.7e+308 in 'chol', row 7; c"),
    "too large": (lambda x: x * 1e300, "e+300 in 'chol', row 1; correct them, or give"),
    "too small": (lambda x: np.arange(x.size) % 2 * 1e-200, "to hold in 'chol' (from 0.0 to 1e-200)"),
    "squares too small": (lambda x: np.arange(x.size) % 2 * 1e-150, "to hold in 'chol' (from 0.0 to 1e-150)"),
    "subnormal": (lambda x: np.arange(x.size) % 3 * 5e-324, "to hold in 'chol' (from 0.0 to 1e-323)"),
    "rounding": (lambda x: 1.0 + np.arange(x.size) % 2 * 2**-52, "'chol' (from 1.0 to 1.0000000000000002)"),
    "tiny constant": (lambda x: np.full(x.size, 1e-200), "column 'chol' is constant"),
}


@pytest.mark.parametrize("case", BAD_COLUMNS)
@pytest.mark.parametrize("method", [RCI(), RCI(backend="numpy"), DirectLiNGAM(), AdaptiveLogistic()])
def test_columns_out_of_reach_are_refused_by_name(case: str, method: object) -> None:
    spoil, words = BAD_COLUMNS[case]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_t(4, (60, 3)) + 3, columns=["age", "bili", "chol"])
    with pytest.raises(InputError) as caught:
        method.fit(frame.assign(chol=spoil(frame["chol"].to_numpy())), np.arange(60) % 2)
    assert words in str(caught.value)


@pytest.mark.parametrize("value", [1e308, -1e200, 1e60, 1e35])
def test_a_patient_out_of_reach_is_named_at_every_door(
    value: float, cohort: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    X, y = cohort
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model, other = RCI(variant="plus").fit(frame, y), TTest().fit(frame, y)
    model.bootstrap(2)
    new = frame.head(9).copy()
    new.loc[4, "c"] = value
    page = tmp_path / "page.html"
    words = f"too large to compute with: {value:g} in 'c', row 5; correct".replace("+", r"\+")
    for door in (
        model.predict,
        model.predict_proba,
        model.decision_function,
        model.transform,
        model.shapley_values,
        model.scores,
        model.explain,
        model.diagnose,
        lambda patients: model.report(patients, page),
        other.scores,
    ):
        with pytest.raises(InputError, match=words):
            door(new)
    assert not page.exists()


def test_a_patient_far_away_but_within_reach_has_a_page(
    cohort: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    X, y = cohort
    model = RCI(variant="plus").fit(X * 1e-80, y)
    new = X[:9] * 1e-80
    new[3, 2] = 1e-55
    assert np.isfinite(model.explain(new).values).all()
    model.report(new, tmp_path / "page.html")
