"""What new patients lack: expected values, the spread that they leave, and random completions."""

from __future__ import annotations

import numpy as np
import pytest
from labelled_rows import learn

from rootcausal.backends.choose import choose_table
from rootcausal.data import simulate
from rootcausal.estimators.parameters import chosen_settings
from rootcausal.method.layout import Layout
from rootcausal.method.missing import completion as completion_module
from rootcausal.method.missing import gaussian
from rootcausal.method.missing.completion import Completion
from rootcausal.method.moments import describe_columns
from rootcausal.method.pipeline import Learned


def known(q: int = 7, columns: tuple[int, ...] = (0, 2, 3, 5, 6)) -> Completion:
    rng = np.random.default_rng(0)
    m = len(columns)
    A = rng.standard_normal((m, m)) * np.array([1.0, 100.0, 0.01, 1.0, 5.0])[:m, None]
    return Completion(rng.standard_normal(q) * 10.0, np.array(columns), A @ A.T)


def patients(completion: Completion, n: int = 200, share: float = 0.4) -> np.ndarray:
    rng = np.random.default_rng(1)
    X = np.tile(completion.mean, (n, 1)) + rng.standard_normal((n, completion.mean.size))
    X[:, completion.columns] = rng.multivariate_normal(
        completion.mean[completion.columns], completion.covariance, size=n
    )
    X[rng.random(X.shape) < share] = np.nan
    return X


def slow_fill(completion: Completion, X: np.ndarray, effects: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    filled, spread = X.copy(), np.zeros((len(X), effects.shape[1]))
    mean, S = completion.mean[completion.columns], completion.covariance
    for row, out in zip(filled, spread, strict=True):
        inside = row[completion.columns]
        m = np.isnan(inside)
        slope = S[np.ix_(m, ~m)] @ np.linalg.inv(S[np.ix_(~m, ~m)])
        inside[m] = mean[m] + slope @ (inside[~m] - mean[~m])
        row[completion.columns] = inside
        C = S[np.ix_(m, m)] - slope @ S[np.ix_(~m, m)]
        A = effects[completion.columns[m]]
        out[:] = np.sqrt(np.maximum(np.einsum("iv,ij,jv->v", A, C, A), 0.0))
        gone = np.isnan(row)
        row[gone] = completion.mean[gone]
    return filled, spread


@pytest.mark.parametrize("few", [False, True], ids=["whole", "in small blocks"])
def test_filling_and_spread_equal_a_slow_oracle(few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if few:
        monkeypatch.setattr(completion_module, "ROWS_PER_BLOCK", 7)
        monkeypatch.setattr(completion_module, "VALUES_A_BLOCK", 10)
        monkeypatch.setattr(gaussian, "VALUES_A_COVARIANCE_BLOCK", 20)
    completion = known()
    X = patients(completion)
    X[0], X[1] = np.nan, completion.mean
    effects = np.random.default_rng(2).standard_normal((7, 4))
    effects[[1, 4]] = 0.0
    filled, spread = slow_fill(completion, X, effects)
    np.testing.assert_allclose(completion.fill(X), filled, rtol=1e-8)
    np.testing.assert_allclose(completion.spread(X, effects), spread, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(completion.fill(X)[0], completion.mean)
    assert not completion.spread(X, effects)[1].any()


def test_complete_patients_stay_as_they_are() -> None:
    completion = known()
    X = patients(completion, share=0.0)
    assert completion.fill(X) is X and completion.draw(X, 0) is X
    X[3, 2] = np.nan
    before = X.copy()
    filled = completion.fill(X)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])


def test_draws_scatter_around_what_is_expected_as_the_spread_says() -> None:
    completion = known()
    X = np.tile(patients(completion, 1, 0.0), (20_000, 1))
    X[:, [2, 5, 1]] = np.nan
    drawn = completion.draw(X, 4)
    np.testing.assert_array_equal(drawn, completion.draw(X, 4))
    assert not np.array_equal(drawn, completion.draw(X, 5))
    spread = completion.spread(X[:1], np.eye(7))[0]
    for column in (2, 5):
        assert drawn[:, column].mean() == pytest.approx(
            completion.fill(X[:1])[0, column], abs=0.04 * spread[column]
        )
        assert drawn[:, column].std() == pytest.approx(spread[column], rel=0.03)
    np.testing.assert_array_equal(drawn[:, 1], completion.mean[1])


def test_draws_of_discrete_columns_are_levels() -> None:
    completion = known()
    X = patients(completion)
    levels = [np.empty(0)] * 7
    levels[2] = np.array([0.0, 50.0, 100.0])
    drawn = completion.draw(X, 0, Layout(np.arange(7), tuple(levels)))
    missing = np.isnan(X[:, 2])
    assert set(drawn[missing, 2]) <= {0.0, 50.0, 100.0}
    np.testing.assert_array_equal(drawn[~missing, 2], X[~missing, 2])


def learned(variant: str, prevalence: float | None = None) -> tuple[Learned, np.ndarray, np.ndarray]:
    drawn = simulate(500, 10, random_state=2)
    y = drawn.y.astype(np.intp)
    raw = choose_table("numba", drawn.X, y)
    chosen = chosen_settings(variant, 0.2, "sharp", prevalence)
    return learn(raw, describe_columns(raw, prevalence), chosen), drawn.X, y


@pytest.mark.parametrize("variant", ["local_plus", "plus"])
@pytest.mark.parametrize("prevalence", [None, 0.05])
def test_a_model_of_complete_data_knows_the_population(variant: str, prevalence: float | None) -> None:
    found, X, y = learned(variant, prevalence)
    assert found.imputation is None
    completion = found.completion
    assert set(found.ordering.order) <= set(completion.columns)
    w = np.ones(len(y))
    if prevalence is not None:
        w = np.where(y == 1, prevalence / y.mean(), (1.0 - prevalence) / (1.0 - y.mean()))
    mean = w @ X / len(X)
    about = (X - mean)[:, completion.columns]
    np.testing.assert_allclose(completion.mean, mean, atol=1e-10)
    np.testing.assert_allclose(completion.covariance, (about.T * w) @ about / len(X), rtol=0.02, atol=0.02)


def test_columns_that_the_screen_dropped_tell_of_others() -> None:
    found, X, _ = learned("local_plus")
    assert found.completion.columns.size == X.shape[1] > found.ordering.order.size


def test_at_most_so_many_columns_beside_the_order(monkeypatch: pytest.MonkeyPatch) -> None:
    from rootcausal.method import pipeline
    from rootcausal.method.missing import imputation

    for module in (imputation, pipeline):
        monkeypatch.setattr(module, "MOST_COLUMNS", 1)
    found, _, _ = learned("local_plus")
    assert found.completion.columns.tolist() == sorted(found.ordering.order)
