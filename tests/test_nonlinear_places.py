"""Nonlinear equations are the same wherever rows lie: in memory, on a GPU and on a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from rootcausal import RCI, RCIRegressor, RCISurvival
from rootcausal.nonlinear import learning, places

KINDS = {"level": "ordinal"}
ESTIMATORS: dict[str, Any] = {"binary": RCI, "survival": RCISurvival, "continuous": RCIRegressor}


def cohort(n: int, seed: int = 0) -> pd.DataFrame:
    """A rounded cause, its bent effect of uneven spread, a level of that, heaps of zeros, and outcomes."""
    rng = np.random.default_rng(seed)
    dose = np.round(rng.uniform(-1.7, 1.7, n), 1)
    effect = np.tanh(2 * dose) + (0.3 + 0.3 * (dose > 0)) * rng.standard_t(5, n)
    level = np.searchsorted([-1.0, 0.5], effect + rng.logistic(size=n))
    zeros = np.where(rng.random(n) < 0.3, 0.0, rng.exponential(size=n))
    sex = np.where(rng.random(n) < 0.5, "f", "m")
    risk = effect**2 + zeros + 0.5 * (sex == "f")
    ill = (risk + rng.logistic(size=n) > 1.5).astype(int)
    time = np.ceil(100 * rng.exponential(size=n) * np.exp(-0.5 * risk))
    seen = {"dose": dose, "effect": effect, "level": level, "zeros": zeros, "sex": sex}
    return pd.DataFrame(seen | {"ill": ill, "time": time, "value": risk + rng.normal(size=n)})


def outcome_of(kind: str, frame: pd.DataFrame) -> tuple[pd.DataFrame, tuple[Any, ...]]:
    """Variables, and what the fit is told of the outcome."""
    told = {"binary": ("ill",), "survival": ("time", "ill"), "continuous": ("value",)}[kind]
    return frame.drop(columns=["ill", "time", "value"]), tuple(frame[name] for name in told)


def are_the_same(model: Any, expected: Any) -> None:
    one, other = model._model.mechanism, expected._model.mechanism
    np.testing.assert_array_equal(one.order, other.order)
    for name in ("cause", "effect", "form", "factor", "product_effect", "n_levels"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in ("knots", "constant", "expected", "spread", "log_spread", "error_sd", "thresholds"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=1e-8, atol=1e-8, err_msg=name
        )
    for name in ("curves", "quantiles", "range", "intercept", "average"):
        found, wanted = (getattr(each._model.attribution, name) for each in (model, expected))
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8, err_msg=name)
    # By how many nats graphs differ.
    np.testing.assert_allclose(model.margins_, expected.margins_, rtol=1e-8)
    assert model.provenance_["pairs_evaluated"] == expected.provenance_["pairs_evaluated"]


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("prevalence", [None, 0.1])
def test_whole_arrays_say_what_compiled_loops_say(
    kind: str, prevalence: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs on a GPU, with NumPy in place of CuPy."""
    if prevalence is not None and kind != "binary":
        pytest.skip("only cases and controls are sampled apart")
    X, told = outcome_of(kind, cohort(600))
    how = {} if prevalence is None else {"prevalence": prevalence}
    expected = ESTIMATORS[kind](mechanism="nonlinear", kinds=KINDS, **how).fit(X, *told)
    monkeypatch.setattr(learning, "rows_of", lambda table: places.on_card(places.parts_of(table), np))
    monkeypatch.setattr(learning, "SEARCHED_ROWS", 250)
    monkeypatch.setattr("rootcausal.nonlinear.array_rows.VALUES_AT_ONCE", 50_000)
    model = ESTIMATORS[kind](mechanism="nonlinear", kinds=KINDS, **how).fit(X, *told)
    monkeypatch.undo()
    monkeypatch.setattr(learning, "SEARCHED_ROWS", 250)
    are_the_same(model, ESTIMATORS[kind](mechanism="nonlinear", kinds=KINDS, **how).fit(X, *told))
    assert expected._model.mechanism.cause.size


@pytest.mark.gpu
@pytest.mark.parametrize("n", [600, 25_000])
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_gpu_says_what_memory_says(kind: str, n: int) -> None:
    X, told = outcome_of(kind, cohort(n))
    expected = ESTIMATORS[kind](mechanism="nonlinear", kinds=KINDS, backend="numba").fit(X, *told)
    model = ESTIMATORS[kind](mechanism="nonlinear", kinds=KINDS, backend="cupy").fit(X, *told)
    assert model.provenance_["backend"] == "cupy"
    are_the_same(model, expected)


@pytest.mark.gpu
def test_a_gpu_and_classes_that_were_sampled_apart_or_lack_values() -> None:
    X, told = outcome_of("binary", cohort(900))
    holed = X.assign(effect=X["effect"].where(np.random.default_rng(1).random(len(X)) > 0.1))
    for variables, how in ((X, {"prevalence": 0.1}), (holed, {})):
        expected, model = (
            RCI(mechanism="nonlinear", kinds=KINDS, backend=backend, **how).fit(variables, *told)
            for backend in ("numba", "cupy")
        )
        are_the_same(model, expected)
