"""Shapley values through nonlinear mechanisms: by all coalitions in NumPy, whoever else is explained.

The oracle knows a model by its arrays: values by the mechanism's own NumPy, the predictor by its curves.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import factorial

import numba
import numpy as np
import pandas as pd
import pytest

from rootcausal import RCI
from rootcausal.nonlinear import coalitions, shapley
from rootcausal.nonlinear.curves import curve_at, pieces_at
from rootcausal.nonlinear.shapley import people

N_PATIENTS = 12


def cohort(n: int = 1500) -> tuple[pd.DataFrame, np.ndarray]:
    """a and b bend c, which bends d and moves a stage; the outcome depends on these, b times d, and e."""
    rng = np.random.default_rng(3)
    a, b, e = rng.exponential(size=n) - 1.0, rng.laplace(size=n), rng.normal(size=n)
    c = 1.5 * np.tanh(a) + 0.5 * np.minimum(b**2, 2) + np.exp(0.3 * np.clip(a, -2, 2)) * rng.laplace(size=n)
    d = np.abs(c - 0.5) + 0.5 * c + 0.7 * rng.laplace(size=n)
    stage = np.searchsorted([-0.5, 1.5], 1.2 * c + rng.logistic(size=n))
    told = 0.7 * d - 0.5 * stage + 0.8 * np.clip(b, -2, 2) * np.clip(d, -2, 2) + 0.8 * e
    y = (rng.random(n) < 1 / (1 + np.exp(-(told - np.median(told))))).astype(int)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "stage": stage, "e": e}), y


@pytest.fixture(scope="module")
def patients() -> pd.DataFrame:
    X, _ = cohort()
    return X[:300]


@pytest.fixture(scope="module")
def model() -> RCI:
    X, y = cohort()
    known = {"tiers": [["a", "b", "e"], ["c"], ["d", "stage"]]}
    return RCI(mechanism="nonlinear", kinds={"stage": "ordinal"}, alpha=1.0, knowledge=known).fit(X, y)


def log_odds(model: RCI, errors: np.ndarray) -> np.ndarray:
    """By NumPy alone."""
    mechanism, risk = model._model.mechanism, model._model.attribution
    z = mechanism.standard_values(errors)
    seen = np.clip(z, *risk.range.T)
    told = np.full(len(z), risk.intercept)
    for place, curve in enumerate(risk.curves):
        told += curve_at(curve, pieces_at(mechanism.knots[place], seen[:, place]), seen[:, place])
    kept = np.clip(seen, -2.5, 2.5)
    return np.asarray(told + (kept[:, risk.factor] * kept[:, risk.other_factor]) @ risk.product)


def by_all_coalitions(model: RCI, errors: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """(n, k): against each of the people drawn (m, k), and averaged over them."""
    k = errors.shape[1]
    values = np.zeros_like(errors)
    for row, mine in enumerate(errors):
        worth = {}
        for size in range(k + 1):
            for inside in combinations(range(k), size):
                current = drawn.copy()
                current[:, inside] = mine[list(inside)]
                worth[inside] = log_odds(model, current).mean()
        for inside, told in worth.items():
            for player in set(range(k)) - set(inside):
                share = factorial(len(inside)) * factorial(k - len(inside) - 1) / factorial(k)
                values[row, player] += share * (worth[tuple(sorted((*inside, player)))] - told)
    return values


def errors_of(model: RCI, X: pd.DataFrame) -> np.ndarray:
    return np.asarray(model._model._errors_in_order(X.to_numpy(float)))


def test_the_cohort_asks_for_all_that_there_is(model: RCI) -> None:
    attribution, mechanism = model._model.attribution, model._model.mechanism
    assert (mechanism.form == 2).any() and mechanism.n_levels.any()
    assert attribution.factor.size  # a product in the predictor
    assert attribution._sampled_places.size == 5 and attribution._linear.size == 1


@pytest.mark.parametrize("most_players", [coalitions.MOST_PLAYERS, 3, 0])
def test_values_are_those_of_all_coalitions(
    model: RCI, patients: pd.DataFrame, most_players: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gone through, some left to permutations, and all of them."""
    monkeypatch.setattr(coalitions, "MOST_PLAYERS", most_players)
    attribution = model._model.attribution
    attribution.__dict__.pop("_of_sampled", None)
    told = model.explain(patients[:N_PATIENTS])
    attribution.__dict__.pop("_of_sampled", None)
    drawn = people(attribution.quantiles, attribution._drawn, 2**11, (11,))
    exact = by_all_coalitions(model, errors_of(model, patients[:N_PATIENTS]), drawn)
    order = model._model.mechanism.order
    away = np.abs(told.values[:, order] - exact)
    # Four of the stated standard errors, and what the oracle's own people leave.
    assert (away <= 4.0 * told.sampling_sd[:, order] + 0.005).all()
    near = told.sampling_sd <= 0.1 * np.maximum(np.abs(told.values), attribution.notable)
    assert near.mean() > 0.85


def test_sampled_on_and_on_they_are_these_values(
    model: RCI, patients: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So near that no other value of a game, such as Banzhaf's, would do."""
    for name, value in {"SAMPLED_TO": 1e-9, "WORTH_IT": 0.0}.items():
        monkeypatch.setattr(shapley, name, value)
    attribution = model._model.attribution
    attribution.__dict__.pop("_of_sampled", None)
    told = model.explain(patients[:N_PATIENTS])
    attribution.__dict__.pop("_of_sampled", None)
    drawn = people(attribution.quantiles, attribution._drawn, 2**12, (11,))
    exact = by_all_coalitions(model, errors_of(model, patients[:N_PATIENTS]), drawn)
    away = np.abs(told.values[:, model._model.mechanism.order] - exact)
    assert away.max() < 0.02 and away.mean() < 0.005


def test_values_add_up_and_lines_are_exact(model: RCI, patients: pd.DataFrame) -> None:
    told = model.explain(patients)
    left = told.base_value + told.values.sum(axis=1) - model.decision_function(patients)
    np.testing.assert_allclose(left, 0.0, atol=1e-10)
    place = list(patients).index("e")
    assert not told.sampling_sd[:, place].any()
    np.testing.assert_allclose(
        model.decision_function(patients), log_odds(model, errors_of(model, patients)), atol=1e-9
    )


@pytest.fixture
def threads() -> Iterator[None]:
    before = numba.get_num_threads()
    yield
    numba.set_num_threads(before)


def test_a_patient_is_told_the_same_whoever_else_is_there(
    model: RCI, patients: pd.DataFrame, threads: None
) -> None:
    """To the last digit: in another order, alone, among few, by one thread."""
    told = model.shapley_values(patients)
    numba.set_num_threads(1)
    np.testing.assert_array_equal(model.shapley_values(patients[::-1])[::-1], told)
    for row in (0, 17, 299):
        np.testing.assert_array_equal(model.shapley_values(patients[row : row + 1]), told[row : row + 1])
    np.testing.assert_array_equal(model.shapley_values(patients[40:75]), told[40:75])
    twice = pd.concat([patients] * 2)
    np.testing.assert_array_equal(model.shapley_values(twice), np.vstack([told, told]))


def test_standard_errors_are_as_large_as_errors_are(
    model: RCI, patients: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against values that were sampled until nothing was left, with a seed of their own."""
    told = model.explain(patients)
    attribution = model._model.attribution
    for name, value in {"SEED": 7, "SAMPLED_TO": 1e-9, "WORTH_IT": 0.0}.items():
        monkeypatch.setattr(shapley, name, value)
    attribution.__dict__.pop("_of_sampled", None)
    settled = model.explain(patients)
    attribution.__dict__.pop("_of_sampled", None)
    sampled = told.sampling_sd > 0
    sd = np.hypot(told.sampling_sd, settled.sampling_sd)[sampled]
    away = np.abs(told.values - settled.values)[sampled] / sd
    # Of Student's t with seven degrees of freedom 65 % are within one, and 98 % within three.
    assert (away < 1.0).mean() > 0.4 and (away < 3.0).mean() > 0.8
    near = np.abs(told.values - settled.values) < 0.3 * np.maximum(np.abs(told.values), 0.1)
    assert near.mean() > 0.98
