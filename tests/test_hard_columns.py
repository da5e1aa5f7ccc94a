"""Columns that are hard to learn from: rare levels, curves and a missing cell, nearly equal values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from rootcausal import RCI, RCIRegressor, RCISurvival, load
from rootcausal.backends import choose
from rootcausal.backends.cpu.rows import NumbaRaw
from rootcausal.diagnostics.reverse_causation import log_density
from rootcausal.estimators import mechanism_choice

MECHANISMS = ["linear", "nonlinear", "auto"]
OUTCOMES = [*MECHANISMS, "survival", "number"]


def learned(outcome: str, X: pd.DataFrame, risk: np.ndarray, **options: Any) -> tuple[Any, tuple[Any, ...]]:
    """A model, and what it was told: a diagnosis, a time or a number that rises with this risk."""
    rng = np.random.default_rng(7)
    liability = risk + rng.logistic(size=len(risk))
    model: Any = RCI(mechanism=outcome, **options) if outcome in MECHANISMS else None
    known: tuple[Any, ...] = ((liability > np.median(liability)).astype(int),)
    if outcome == "number":
        model, known = RCIRegressor(**options), (liability,)
    elif outcome == "survival":
        model, known = RCISurvival(**options), (np.exp(-liability / 3), rng.random(len(risk)) < 0.7)
    return model.fit(X, *known), known


def answers_at_every_door(model: Any, X: pd.DataFrame, known: tuple[Any, ...], path: Path) -> None:
    """Nothing crashes, and all that is said of patients is finite and adds up."""
    for resampled in (False, True):
        if resampled:
            model.bootstrap(2)
        told = model.explain(X)
        assert np.isfinite(told.to_frame().select_dtypes("number").fillna(0.0)).all(axis=None)
        assert np.isfinite(model.transform(X)).all()
        np.testing.assert_allclose(
            told.base_value + told.values.sum(axis=1), told.predictor, atol=1e-8, rtol=1e-8
        )
    model.diagnose(X, *known)
    assert np.isfinite(list(model.cross_validate(2).values())).all()
    model.save(path)
    np.testing.assert_array_equal(load(path).shapley_values(X), model.shapley_values(X))


# --- levels that few have -----------------------------------------------------------------------------------


def with_few(rng: np.random.Generator, n: int, common: list[int], rare: list[int]) -> np.ndarray:
    stage = rng.choice(common, n)
    stage[rng.permutation(n)[: len(rare)]] = rare
    return stage


LEVELS: dict[str, Callable[[np.random.Generator, int, np.ndarray], np.ndarray]] = {
    "rare inner": lambda rng, n, x: with_few(rng, n, [0, 4], [1, 2, 2, 3]),
    "rare inner that x tells": lambda rng, n, x: np.searchsorted(
        [-0.3, -0.29, 0.29, 0.3], x + 0.5 * rng.logistic(size=n)
    ),
    "rare outer": lambda rng, n, x: with_few(rng, n, [1, 2, 3], [0, 5]),
    "single patients": lambda rng, n, x: with_few(rng, n, [0, 3, 6], [1, 2, 4, 5, 7, 8]),
    "told for certain": lambda rng, n, x: np.searchsorted([-1.0, 0.0, 0.01, 2.0], x),
    "the same in those below the median": lambda rng, n, x: np.where(x > 0, rng.integers(0, 4, n), 2),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("outcome", ["linear", "nonlinear", "survival", "number"])
def test_levels_that_few_have(outcome: str, levels: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=80)
    stage, ward = (LEVELS[levels](rng, 80, x) for _ in range(2))
    X = pd.DataFrame({"x": x, "stage": stage, "ward": ward, "z": x + rng.normal(size=80)})
    model, known = learned(outcome, X, x, kinds={"stage": "ordinal", "ward": "nominal"}, alpha=1.0)
    answers_at_every_door(model, X, known, tmp_path / "model.rci")


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_four_of_300_patients_between_two_stages(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=300)
    stage = LEVELS["rare inner that x tells"](rng, 300, x)
    X = pd.DataFrame({"x": x, "stage": stage})
    model, _ = learned("nonlinear", X, x, kinds={"stage": "ordinal"}, alpha=1.0)
    assert model.provenance_["converged"]
    # As often as they were: mechanisms of levels keep their shares.
    errors = pd.DataFrame(model.transform(X), columns=model.get_feature_names_out())["stage"]
    assert abs(errors.mean()) < 0.05 and 0.8 < errors.std() < 1.2


# --- curves, and where nothing passes -----------------------------------------------------------------------


def u_shaped(seed: int, n: int = 500, p: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, (rng.random(n) < 1 / (1 + np.exp(-2 * (X[:, 0] ** 2 - 1)))).astype(int)


def test_one_missing_cell_does_not_lose_a_u_shaped_cause() -> None:
    """A t-test cannot see it, and nothing is filled in by one."""
    for seed in range(5):
        X, y = u_shaped(seed)
        whole = RCI(mechanism="nonlinear").fit(X, y)
        X[0, -1] = np.nan
        model = RCI(mechanism="nonlinear").fit(X, y)
        assert 0 in model.causal_order_ and model.provenance_["missing"]["rows"] == 1
        told = [np.abs(one.shapley_values(X[1:])[:, 0]).mean() for one in (model, whole)]
        assert told[0] == pytest.approx(told[1], rel=0.05) and told[0] > 0.5


@pytest.mark.filterwarnings("ignore:the outcome depends on no variable")
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_where_nothing_passes_every_door_answers(outcome: str, holes: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(np.tile(rng.exponential(size=(40, 2)), (2, 1)), columns=["left", "right"])
    if holes:
        X.loc[[0, 40, 41], "right"] = np.nan
    model, known = learned(outcome, X, np.zeros(80), alpha=1e-9)
    answers_at_every_door(model, X, known, tmp_path / "model.rci")


# --- nearly equal values ------------------------------------------------------------------------------------


def at_the_ceiling(jitter: float, n: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Half of the patients are at the limit of an assay, told apart by next to nothing."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random(n) < 0.5, 2.5 + jitter * rng.normal(size=n), rng.normal(size=n))
    w = np.tanh(2 * x) + 0.5 * rng.standard_t(5, size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(-1.5 * np.tanh(2 * x) + 0.5))).astype(int)
    return np.column_stack([x, w]), y


def test_values_that_are_nearly_equal_do_not_bend_curves(tmp_path: Path) -> None:
    told = []
    for jitter in (1e-5, 1e-8, 1e-12):
        X, y = at_the_ceiling(jitter)
        model = RCI(mechanism="nonlinear", alpha=1.0).fit(X, y)
        model.save(tmp_path / "model.rci")
        np.testing.assert_array_equal(
            load(tmp_path / "model.rci").decision_function(X), model.decision_function(X)
        )
        grid = np.column_stack([np.linspace(-2, 3, 11), np.zeros(11)])
        told.append(model.decision_function(grid))
    np.testing.assert_allclose(told[1:], told[:-1], atol=1e-2)


@pytest.mark.filterwarnings("ignore:unlike the cohort")
def test_a_value_ten_million_standard_deviations_away(tmp_path: Path) -> None:
    X, y = u_shaped(0, 300, 3)
    X[:, 1] += 2 * np.tanh(2 * X[:, 0])
    X[0, 0] = 1e7
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RCI(mechanism="nonlinear", alpha=1.0).fit(X, y)
    answers_at_every_door(model, pd.DataFrame(X), (y,), tmp_path / "model.rci")
    X, y = u_shaped(0, 300, 3)
    model = RCI(mechanism="nonlinear").fit(X, y)
    far = X[:3].copy()
    far[np.arange(3), np.arange(3)] = [1e7, -1e7, 1e9]
    told = model.explain(far)
    assert np.isfinite(told.values).all()
    np.testing.assert_allclose(told.base_value + told.values.sum(axis=1), told.predictor, atol=1e-9)


# --- where a GPU is -----------------------------------------------------------------------------------------


class CardRaw(NumbaRaw):
    backend = "cupy"  # type: ignore[assignment]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for a machine with a GPU that every fit is worth."""
    monkeypatch.setattr(choose, "_gpu_is_worth_it", lambda shape: True)
    monkeypatch.setattr(mechanism_choice, "worth_a_gpu", lambda shape: True)
    monkeypatch.setattr(choose, "_gpu_table", lambda X, y: CardRaw(X, y))


@pytest.mark.usefixtures("gpu")
def test_auto_takes_a_backend_that_offers_the_sums_of_the_mechanism() -> None:
    X, y = at_the_ceiling(0.1)
    assert RCI(mechanism="linear").fit(X, y).provenance_["backend"] == "cupy"
    for backend in ("auto", "cupy"):
        model = RCI(mechanism="nonlinear", backend=backend).fit(X, y).bootstrap(2)
        assert model.provenance_["backend"] == "cupy"
    model = RCI().fit(X, y).bootstrap(2)
    assert model.provenance_["backend"] == "cupy" and model.provenance_["mechanism"]["taken"] == "linear"


@pytest.mark.parametrize("width", [0.5, 40.0, 1e12])
def test_a_density_however_wide_takes_no_more_than_its_grid(width: float) -> None:
    """Without a bound the kernel of a column that others all but settle took 24 GB; SciPy's is the oracle."""
    values = np.random.default_rng(0).laplace(size=200)
    apart = scipy.stats.norm(scale=width).pdf(values[:, None] - values)
    np.fill_diagonal(apart, 0.0)
    assert np.allclose(log_density(values, width), np.log(apart.sum(axis=1) / 199), atol=0.01)
