"""HITON-PC on graphs with a known answer, and against a plain twin that tests one subset at a time."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import t as student
from sklearn.linear_model import LogisticRegression

from rootcausal.comparators.hiton_pc import HitonPC
from rootcausal.data import simulate
from rootcausal.errors import InputError
from rootcausal.metrics import rank_biased_overlap, shapley_mse


def plain_members(X: np.ndarray, y: np.ndarray, alpha: float, max_conditioning: int) -> list[int]:
    """The algorithm as it is told, by least squares on the rows and one p-value at a time."""
    n, p = X.shape

    def p_value(column: int, given: tuple[int, ...]) -> float:
        df = n - 2 - len(given)
        if df < 1:
            return 0.0
        design = np.column_stack([np.ones(n), X[:, list(given)]])
        pair = np.column_stack([X[:, column], y]).astype(float)
        left = pair - design @ np.linalg.lstsq(design, pair, rcond=None)[0]
        r = left[:, 0] @ left[:, 1] / np.sqrt((left[:, 0] @ left[:, 0]) * (left[:, 1] @ left[:, 1]))
        return 2 * student.sf(abs(r) * np.sqrt(df / (1 - r * r)), df)

    def separable(column: int, others: list[int]) -> bool:
        sizes = range(1, max_conditioning + 1)
        return any(p_value(column, given) >= alpha for size in sizes for given in combinations(others, size))

    alone = {column: p_value(column, ()) for column in range(p)}
    tentative: list[int] = []
    for column in sorted(alone, key=lambda column: alone[column]):
        if alone[column] < alpha and not separable(column, tentative):
            tentative.append(column)
    for column in list(tentative):
        if separable(column, [other for other in tentative if other != column]):
            tentative.remove(column)
    return sorted(tentative)


def errors(n: int, p: int, seed: int) -> np.ndarray:
    """Skewed shocks of unit variance."""
    return np.random.default_rng(seed).chisquare(3, (n, p)) / np.sqrt(6) - 3 / np.sqrt(6)


def diagnosis(log_odds: np.ndarray, seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).random(log_odds.size) < expit(log_odds)).astype(int)


@pytest.mark.parametrize("seed", range(3))
def test_chain_keeps_the_parent_only(seed: int) -> None:
    X = errors(2000, 2, seed)
    X[:, 1] += 0.8 * X[:, 0]
    model = HitonPC().fit(X, diagnosis(X[:, 1], 10 + seed))
    assert model.members_.tolist() == [1]


@pytest.mark.parametrize("seed", range(3))
def test_fork_drops_the_other_branch(seed: int) -> None:
    X = errors(2000, 2, seed)
    X[:, 1] += 0.8 * X[:, 0]
    model = HitonPC().fit(X, diagnosis(X[:, 0], 10 + seed))
    assert model.members_.tolist() == [0]


@pytest.mark.parametrize("seed", range(3))
def test_a_collider_weaker_than_its_parents_is_not_admitted(seed: int) -> None:
    X = errors(2000, 3, seed)
    X[:, 2] += 0.5 * X[:, 0] + 0.5 * X[:, 1]
    y = diagnosis(X[:, 0] + X[:, 1], 10 + seed)
    assert HitonPC().fit(X, y).members_.tolist() == [0, 1]
    # Neither parent alone separates it from D.
    assert HitonPC(max_conditioning=1).fit(X, y).members_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", range(3))
def test_a_collider_stronger_than_its_parents_is_eliminated_at_the_end(seed: int) -> None:
    X = errors(2000, 3, seed)
    X[:, 2] = 0.8 * X[:, 0] + 0.8 * X[:, 1] + 0.6 * X[:, 2]
    y = diagnosis(X[:, 0] + X[:, 1], 10 + seed)
    model = HitonPC().fit(X, y)
    strength = np.abs(np.corrcoef(np.column_stack([X, y]), rowvar=False)[-1, :3])
    assert strength.argmax() == 2
    assert model.members_.tolist() == [0, 1]


def test_without_signal_hardly_anything_is_a_member_and_nothing_is_ranked() -> None:
    empty = []
    for seed in range(20):
        X = errors(300, 9, seed)
        model = HitonPC().fit(X, diagnosis(np.zeros(300), 100 + seed))
        empty.append(model.members_.size == 0)
        if empty[-1]:
            assert np.isneginf(model.scores(X)).all()
            np.testing.assert_array_equal(model.coef_, 0.0)
    # Each of the 9 variables passes its first test by chance in 1 cohort of 100: 0.91 of cohorts are empty.
    assert np.mean(empty) >= 0.8


@pytest.mark.parametrize("max_conditioning", [0, 1, 2, 3, 5])
def test_the_plain_twin_finds_the_same_members(max_conditioning: int) -> None:
    sizes = []
    for seed in range(8):
        n, p = [(60, 8), (200, 15), (800, 10), (3000, 20)][seed % 4]
        # Dense graphs and a lax level, so that sets grow large and much is eliminated.
        cohort = simulate(n, p, expected_neighbors=5, random_state=seed)
        model = HitonPC(alpha=0.1, max_conditioning=max_conditioning).fit(cohort.X, cohort.y)
        assert model.members_.tolist() == plain_members(cohort.X, cohort.y, 0.1, max_conditioning)
        sizes.append(model.members_.size)
    assert max(sizes) >= 4


def test_blocks_of_subsets_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cohort = simulate(3000, 20, expected_neighbors=5, random_state=3)
    whole = HitonPC(alpha=0.1).fit(cohort.X, cohort.y).members_
    monkeypatch.setattr("rootcausal.comparators.hiton_pc.SETS_AT_ONCE", 3)
    np.testing.assert_array_equal(HitonPC(alpha=0.1).fit(cohort.X, cohort.y).members_, whole)


def test_scores_are_terms_of_an_unpenalised_logistic_regression() -> None:
    cohort = simulate(1000, 10, random_state=1)
    model = HitonPC().fit(cohort.X, cohort.y)
    members, others = model.members_, np.setdiff1d(np.arange(9), model.members_)
    assert members.size >= 2
    Z = (cohort.X - cohort.X.mean(axis=0)) / cohort.X.std(axis=0, ddof=1)
    regression = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(Z[:, members], cohort.y)
    np.testing.assert_allclose(model.coef_[members], regression.coef_[0], atol=1e-5)
    assert model.intercept_ == pytest.approx(regression.intercept_[0], abs=1e-5)
    new = model.scores(cohort.X[:7])
    np.testing.assert_allclose(new[:, members], Z[:7, members] * model.coef_[members])
    assert np.isneginf(new[:, others]).all()
    np.testing.assert_array_equal(model.coef_[others], 0.0)


def test_separated_classes_get_finite_coefficients_and_a_warning() -> None:
    X = errors(100, 5, 0)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    with pytest.warns(UserWarning, match="separate the classes"):
        model = HitonPC().fit(X, y)
    assert {0, 1} <= set(model.members_.tolist())
    assert np.isfinite(model.coef_).all() and (model.coef_[:2] > 0.5).all()
    scores = model.scores(X)
    assert 0.0 <= rank_biased_overlap(X, scores) <= 1.0
    assert np.isfinite(shapley_mse(X, scores))


def test_a_sum_of_two_others_is_no_third_member() -> None:
    X = errors(500, 3, 5)
    X[:, 2] = X[:, 0] + X[:, 1]
    model = HitonPC().fit(X, diagnosis(2 * X[:, 0] + X[:, 1], 6))
    assert model.members_.size == 2
    assert np.isfinite(model.coef_).all()


def test_without_degrees_of_freedom_nothing_is_found_independent() -> None:
    # Of four rows, three members leave no residual at all; that says nothing about independence.
    X, y = errors(4, 4, 1), np.array([0, 0, 1, 1])
    with pytest.warns(UserWarning, match="separate the classes"):
        model = HitonPC(alpha=0.99).fit(X, y)
    assert model.members_.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("alpha", [0.0, 1.0, "0.01", None])
def test_a_level_outside_0_to_1_is_refused(alpha: object) -> None:
    with pytest.raises(InputError, match="alpha must be"):
        HitonPC(alpha=alpha).fit(errors(20, 2, 0), np.arange(20) % 2)


@pytest.mark.parametrize("size", [-1, 2.5, None])
def test_a_conditioning_size_that_is_no_count_is_refused(size: object) -> None:
    with pytest.raises(InputError, match="max_conditioning must be"):
        HitonPC(max_conditioning=size).fit(errors(20, 2, 0), np.arange(20) % 2)
