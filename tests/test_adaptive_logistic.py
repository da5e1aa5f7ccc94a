"""The adaptive logistic lasso: against plain solvers, and on data whose answer is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression, enet_path

from rootcausal.comparators.adaptive_logistic import (
    AdaptiveLogistic,
    largest_penalty,
    logistic_paths,
    newton_directions,
)
from rootcausal.errors import InputError


def cohort(n: int, coef: list[float], seed: int, intercept: float = -0.5) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns and labels that follow a logistic model."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, len(coef))) + 0.7 * rng.standard_normal((n, 1))
    y = (rng.random(n) < expit(X @ np.array(coef) + intercept)).astype(int)
    return X, y


def slow_lasso(Z: np.ndarray, y: np.ndarray, penalty: float) -> tuple[np.ndarray, float]:
    """Positive and negative parts as bounded variables of a general-purpose optimiser."""
    p = Z.shape[1]

    def objective(parts: np.ndarray) -> tuple[float, np.ndarray]:
        log_odds = Z @ (parts[:p] - parts[p : 2 * p]) + parts[-1]
        residual = expit(log_odds) - y
        slope = residual @ Z / len(y)
        value = np.mean(np.logaddexp(0.0, log_odds) - y * log_odds) + penalty * parts[:-1].sum()
        return value, np.r_[slope + penalty, penalty - slope, residual.mean()]

    bounds = [(0.0, None)] * (2 * p) + [(None, None)]
    found = minimize(
        objective,
        np.zeros(2 * p + 1),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"ftol": 1e-16, "gtol": 1e-10, "maxiter": 10_000, "maxfun": 20_000},
    )
    return found.x[:p] - found.x[p : 2 * p], found.x[-1]


@pytest.mark.parametrize(("n", "p"), [(300, 6), (40, 60)])
def test_each_fit_of_a_path_is_the_lasso_of_its_rows(n: int, p: int) -> None:
    X, y = cohort(n, [1.0, -1.0, 0.5] + [0.0] * (p - 3), seed=1)
    seen = np.ones((3, n), dtype=bool)
    seen[1, ::5] = seen[2, 1::5] = False
    penalties = largest_penalty(X, y) * np.geomspace(1.0, 0.05, 12)
    paths = logistic_paths(X, y, seen, penalties)
    assert len(paths.penalties) == 12
    for k in (3, 7, 11):
        for fit, accuracy in ((0, 1e-4), (1, 2e-2), (2, 2e-2)):
            coef, intercept = slow_lasso(X[seen[fit]], y[seen[fit]], penalties[k])
            np.testing.assert_allclose(paths.coef[k, fit], coef, atol=accuracy)
            assert paths.intercept[k, fit] == pytest.approx(intercept, abs=accuracy)
            log_odds = X[~seen[fit]] @ paths.coef[k, fit] + paths.intercept[k, fit]
            assert paths.held_out_errors[k, fit] == ((log_odds > 0) != y[~seen[fit]]).sum()


def plain_newton_directions(
    columns: np.ndarray,
    residual: np.ndarray,
    weight: np.ndarray,
    coef: np.ndarray,
    working: np.ndarray,
    penalty: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """By scikit-learn's coordinate descent."""
    change, shift = np.zeros(coef.shape), np.empty(len(coef))
    for fit, (moving, root) in enumerate(zip(working, np.sqrt(weight), strict=True)):
        scaled = columns[moving] * root
        centre = scaled @ root / (root @ root)
        scaled -= centre[:, None] * root
        start = coef[fit, moving]
        pearson = np.divide(residual[fit], root, out=np.zeros_like(root), where=root > 0.0)
        if moving.any():
            options: dict[str, Any] = {"l1_ratio": 1.0, "tol": 1e-14, "max_iter": 1_000_000}
            alphas = [penalty[fit] / len(root)]
            _, path, _ = enet_path(scaled.T, pearson + start @ scaled, alphas=alphas, **options)
            change[fit, moving] = path[:, 0] - start
        shift[fit] = residual[fit].sum() / (root @ root) - centre @ change[fit, moving]
    return change, shift


@pytest.mark.parametrize("strength", [0.3, 0.03, 0.003])
@pytest.mark.parametrize(("n", "p"), [(200, 5), (60, 40), (30, 50)])
def test_compiled_newton_directions_are_the_plain_ones(n: int, p: int, strength: float) -> None:
    rng = np.random.default_rng(p)
    columns = rng.standard_normal((p, n)) + rng.standard_normal(n)
    seen = rng.random((3, n)) < 0.9
    probability = expit(rng.standard_normal((3, n)))
    residual = seen * ((rng.random((3, n)) < probability) - probability)
    weight = seen * probability * (1.0 - probability)
    working = rng.random((3, p)) < 0.8
    working[2] = False  # only the intercept moves
    coef = np.where(working & (rng.random((3, p)) < 0.2), rng.standard_normal((3, p)), 0.0)
    penalty = strength * np.abs(residual @ columns.T).max(axis=1)
    given = columns, residual, weight, coef, working, penalty
    for ours, oracle in zip(newton_directions(*given), plain_newton_directions(*given), strict=True):
        np.testing.assert_allclose(ours, oracle, atol=1e-6)


def test_a_copy_of_a_column_does_not_stop_the_descent() -> None:
    X, y = cohort(100, [1.0, -1.0, 0.0], seed=10)
    twice = np.column_stack([X, X[:, 0]])
    seen = np.ones((1, 100), dtype=bool)
    penalties = largest_penalty(X, y) * np.geomspace(1.0, 0.01, 8)
    once, both = (logistic_paths(Z, y, seen, penalties) for Z in (X, twice))
    np.testing.assert_allclose(both.coef[..., 0] + both.coef[..., 3], once.coef[..., 0], atol=1e-5)


def test_the_largest_penalty_is_where_the_first_column_enters() -> None:
    X, y = cohort(200, [1.0, 0.0, -0.5], seed=2)
    top = largest_penalty(X, y)
    paths = logistic_paths(X, y, np.ones((1, 200), dtype=bool), np.array([1.001, 1.0, 0.98]) * top)
    assert ((paths.coef != 0).sum(axis=2).ravel() == [0, 0, 1]).all()


def test_the_path_ends_where_separated_classes_are_explained() -> None:
    X = np.random.default_rng(3).standard_normal((80, 4))
    y = (X[:, 0] > 0).astype(int)
    penalties = largest_penalty(X, y) * np.geomspace(1.0, 1e-4, 50)
    paths = logistic_paths(X, y, np.ones((1, 80), dtype=bool), penalties)
    assert 1 < len(paths.penalties) < 50
    assert np.isfinite(paths.coef).all()


def test_optimality_of_the_chosen_fit() -> None:
    X, y = cohort(1000, [1.0, -0.7, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0], seed=6)
    model = AdaptiveLogistic(random_state=0).fit(X, y)
    Z = (X - model.mean_) / model.sd_
    residual = y - expit(Z @ model.coef_ + model.intercept_)
    assert residual.mean() == pytest.approx(0.0, abs=1e-7)  # the intercept is free
    # Zou's weights are 1 / |first step|: a slope may reach penalty · weight, and does where a column is kept.
    first_step = LogisticRegression(C=1.0, tol=1e-8, max_iter=1000).fit(Z, y).coef_[0]
    share = residual @ Z / len(y) * np.abs(first_step) / model.penalty_
    kept = model.coef_ != 0
    assert 3 <= kept.sum() < 8
    np.testing.assert_allclose(share[kept], np.sign(model.coef_[kept]), atol=1e-4)
    assert (np.abs(share[~kept]) < 1.0).all()


def test_finds_the_parents_and_their_weights() -> None:
    X, y = cohort(4000, [1.0, -0.8, 0.0, 0.0, 0.0], seed=5)
    model = AdaptiveLogistic(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_[:2] / model.sd_[:2], [1.0, -0.8], atol=0.15)
    np.testing.assert_allclose(model.coef_[2:], 0.0, atol=0.08)
    Z = (X - model.mean_) / model.sd_
    np.testing.assert_array_equal(model.scores(X), Z * model.coef_)


def test_no_signal_scores_next_to_nothing() -> None:
    X, y = cohort(1000, [0.0] * 6, seed=6, intercept=-1.5)
    scores = AdaptiveLogistic(random_state=0).fit(X, y).scores(X)
    assert (scores == 0).all()


def test_the_seed_decides() -> None:
    X, y = cohort(150, [0.5, -0.4, 0.3, 0.2, 0.1, 0.0], seed=7)
    models = [AdaptiveLogistic(random_state=seed).fit(X, y) for seed in (1, 1, 2, 3, 4, 5)]
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)
    assert len({model.penalty_ for model in models}) > 1


def test_two_cases_and_more_columns_than_rows() -> None:
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((30, 50)), np.r_[1, 1, np.zeros(28, dtype=int)]
    model = AdaptiveLogistic(random_state=0).fit(X, y)
    assert np.isfinite(model.scores(X)).all()


def test_a_column_that_is_balanced_exactly() -> None:
    X, y = np.tile([[-1.0], [1.0]], (20, 1)), np.repeat([0, 1], 20)
    assert AdaptiveLogistic(random_state=0).fit(X, y).coef_ == 0


@pytest.mark.parametrize("n_folds", [1, 2.5, "ten"])
def test_folds_must_be_a_number_of_at_least_two(n_folds: object) -> None:
    X, y = cohort(50, [1.0], seed=9)
    with pytest.raises(InputError, match="n_folds"):
        AdaptiveLogistic(n_folds=n_folds).fit(X, y)
