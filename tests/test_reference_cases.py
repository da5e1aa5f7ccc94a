"""The authors' own implementation: same orders, coefficients, Shapley values and metrics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from labelled_rows import order_columns
from tables_under_test import TABLES, MakeTable

from rootcausal import RCI
from rootcausal.backends.cpu.rows import NumbaRaw
from rootcausal.method.moments import describe_columns, welch_t
from rootcausal.method.ordering.ordering import VARIANTS
from rootcausal.metrics import rank_biased_overlap, shapley_mse
from rootcausal.outcomes.binary import fit_logit

CASES = sorted((Path(__file__).parent / "data").glob("*.npz"))
case = pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)


def test_all_nine_cases_are_here() -> None:
    assert len(CASES) == 9


@case
@pytest.mark.parametrize("make", TABLES)
def test_orders_of_all_variants_and_shapley_values(path: Path, make: MakeTable) -> None:
    data = np.load(path)
    X, y = data["X"], data["y"].astype(int)
    for variant in VARIANTS:
        raw = make(X, y)
        ordering = order_columns(raw, describe_columns(raw), VARIANTS[variant], 0.2)
        np.testing.assert_array_equal(ordering.order, data[f"order_{variant}"], err_msg=variant)
    logit = fit_logit(ordering.table, ordering.table_cols, y.mean())
    np.testing.assert_allclose(logit.coef, data["coef"], atol=1e-6)
    np.testing.assert_allclose(logit.baseline, data["intercept"], atol=1e-6)
    errors = (X[:, ordering.order] - ordering.mean) / ordering.sd @ ordering.unmixing
    shapley = np.zeros_like(X)
    shapley[:, ordering.order] = errors * logit.coef
    np.testing.assert_allclose(shapley, data["shapley"], rtol=0, atol=1e-6)


@case
@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_the_estimator_gives_their_values_and_metrics(path: Path, backend: str) -> None:
    data = np.load(path)
    model = RCI(attribution="paper", backend=backend).fit(data["X"], data["y"])
    np.testing.assert_array_equal(model.causal_order_, data["order_local_plus"])
    np.testing.assert_allclose(model.shapley_values(data["X"]), data["shapley"], rtol=0, atol=1e-6)
    if "true_shapley" in data:
        overlap = rank_biased_overlap(data["true_shapley"], model.scores(data["X"]))
        assert overlap == pytest.approx(float(data["rbo"]), abs=1e-8)
        assert shapley_mse(data["true_shapley"], model.scores(data["X"])) == pytest.approx(
            float(data["mse"]), abs=1e-8
        )


@case
def test_welch_t_of_each_column(path: Path) -> None:
    data = np.load(path)
    columns = describe_columns(NumbaRaw(data["X"], data["y"].astype(int)))
    np.testing.assert_allclose(np.abs(welch_t(columns.moments)[0]), data["abs_t"], rtol=1e-9)
