"""Simulated cohorts with bent relations: the equations hold, and the truth is as sure as it says."""

from __future__ import annotations

import itertools
from math import factorial

import numpy as np
import pytest
from scipy import stats

from rootcausal.data import NonlinearCohort, simulate_nonlinear
from rootcausal.data.exogenous_errors import draw_unit_errors, unit_error_quantiles
from rootcausal.data.nonlinear_truth import centre_of, spread_of, walked_shapley
from rootcausal.errors import InputError


def cohorts(n: int = 300, p: int = 8, count: int = 6, **options: object) -> list[NonlinearCohort]:
    return [simulate_nonlinear(n, p, random_state=7_000 + seed, **options) for seed in range(count)]


@pytest.mark.parametrize("heteroscedastic", [True, False])
def test_errors_make_the_variables_through_the_equations(heteroscedastic: bool) -> None:
    for c in cohorts(heteroscedastic=heteroscedastic):
        truth = c.mechanism
        assert sorted(truth.causal_order) == list(range(7))
        known: set[int] = set()
        for i in truth.causal_order:
            parents = np.flatnonzero(c.adjacency[i])
            assert known.issuperset(parents)
            known.add(i)
            if not parents.size:
                np.testing.assert_array_equal(c.X[:, i], c.errors[:, i])
                assert (c.centre[i], c.spread[i]) == ("none", "even")
                continue
            s = (c.X @ c.adjacency[i] - truth.index_mean[i]) / truth.index_sd[i]
            assert heteroscedastic or c.spread[i] == "even"
            raw = centre_of(c.centre[i], s) + spread_of(c.spread[i], s) * c.errors[:, i]
            np.testing.assert_allclose(c.X[:, i], (raw - truth.mean[i]) / truth.sd[i], atol=1e-12)
        np.testing.assert_array_equal(truth.values(c.errors), c.X)


def test_the_shapes_are_what_their_names_say() -> None:
    s = np.linspace(-3, 3, 61)
    for name in ("saturating", "softplus", "gated"):
        f = centre_of(name, s)
        from_line = f - np.polyval(np.polyfit(s, f, 1), s)
        assert np.ptp(from_line) > 0.3, name
    assert np.abs(centre_of("saturating", np.array([-9.0, 9.0]))).max() < 1.31
    assert np.abs(centre_of("gated", np.array([-5.0]))).max() < 1e-6
    assert (np.diff(spread_of("growing", s)) > 0).all()
    assert np.argmax(spread_of("peaked", s)) == np.argmin(spread_of("wide at both ends", s)) == 30
    assert (spread_of("even", s) == 1).all()


def test_all_shapes_and_families_come() -> None:
    drawn = cohorts(n=20, p=20, count=4, n_walks=16)
    assert {name for c in drawn for name in c.centre} == {"saturating", "softplus", "gated", "none"}
    spreads = {name for c in drawn for name in c.spread}
    assert spreads == {"growing", "peaked", "wide at both ends", "even"}


def test_everything_is_standardized_in_the_population() -> None:
    c = simulate_nonlinear(100_000, 8, random_state=7_100, n_walks=16)
    for table in (c.errors, c.X):
        np.testing.assert_allclose(table.mean(axis=0), 0, atol=0.02)
        np.testing.assert_allclose(table.std(axis=0), 1, atol=0.05)
    log_odds = c.mechanism.log_odds(c.X)
    assert log_odds.mean() == pytest.approx(c.base_value, abs=0.02)
    assert log_odds.std() == pytest.approx(1, abs=0.03)
    assert c.y.mean() == pytest.approx(np.mean(1 / (1 + np.exp(-log_odds))), abs=0.01)
    correlation = np.corrcoef(c.errors.T) - np.eye(7)
    assert np.abs(correlation).max() < 0.02


@pytest.mark.parametrize(
    ("kind", "law"),
    [(0, stats.t(5)), (1, stats.chi2(3)), (2, stats.uniform(-1, 2))],
    ids=["t", "chi2", "uniform"],
)
def test_quantiles_are_those_of_the_errors(kind: int, law: object) -> None:
    shares = np.array([0.001, 0.2, 0.5, 0.9, 0.999])
    expected = (law.ppf(shares) - law.mean()) / law.std()
    np.testing.assert_allclose(unit_error_quantiles(shares, kind), expected, rtol=1e-9, atol=1e-12)
    drawn = draw_unit_errors(20_000, np.array([kind]), np.random.default_rng(0)).ravel()
    assert stats.kstest(drawn * law.std() + law.mean(), law.cdf).pvalue > 0.001


def test_values_add_up_to_the_log_odds_and_those_of_others_are_zero() -> None:
    strangers = 0
    for c in cohorts():
        added = c.base_value + c.true_shapley.sum(axis=1)
        np.testing.assert_allclose(added, c.mechanism.log_odds(c.X), atol=1e-9)
        # What reaches D, by powers of the graph.
        p = len(c.adjacency)
        reach = np.linalg.matrix_power(np.eye(p) + (c.adjacency != 0), p)
        ancestor = ((c.target_weights != 0) @ reach) > 0
        assert set(c.mechanism.ancestors()) == set(np.flatnonzero(ancestor))
        assert not c.true_shapley[:, ~ancestor].any() and not c.shapley_noise[:, ~ancestor].any()
        assert c.true_shapley[:, ancestor].any(axis=0).all()
        strangers += (~ancestor).sum()
    assert strangers > 5


def test_one_ancestor_has_all_of_it_without_noise() -> None:
    alone = [c for c in cohorts(n=50, p=6, count=20) if c.mechanism.ancestors().size == 1]
    assert alone
    for c in alone:
        assert c.shapley_noise.max() < 1e-12
        np.testing.assert_allclose(c.true_shapley.sum(axis=1), c.mechanism.log_odds(c.X), atol=1e-12)


def test_two_independent_truths_differ_as_the_noise_says() -> None:
    ratios = []
    for c in cohorts(n=40, count=40, n_walks=16):
        (first, of_first), (second, of_second) = (
            walked_shapley(c.mechanism, c.errors, c.base_value, 32, np.random.default_rng(seed))
            for seed in (1, 2)
        )
        noise = np.hypot(of_first, of_second)
        sampled = noise > 1e-9
        if sampled.any():
            ratios.append(((first - second)[sampled] ** 2).sum() / (noise[sampled] ** 2).sum())
    # Of the same size on average; patients of one cohort share their walks, so single cohorts scatter.
    assert len(ratios) > 20
    assert 0.7 < np.mean(ratios) < 1.4


def test_the_truth_is_that_of_all_coalitions() -> None:
    """Shapley's own formula, each coalition's value an average over many people."""
    c = next(c for c in cohorts(n=4, p=5, count=10, n_walks=1_024) if c.mechanism.ancestors().size == 4)
    truth = c.mechanism
    people = draw_unit_errors(40_000, truth.family, np.random.default_rng(0))
    p = c.errors.shape[1]
    worth: dict[frozenset[int], np.ndarray] = {}
    for size in range(p + 1):
        for some in itertools.combinations(range(p), size):
            told = []
            for patient in c.errors:
                mixed = people.copy()
                mixed[:, some] = patient[list(some)]
                told.append(truth.log_odds(truth.values(mixed)).mean())
            worth[frozenset(some)] = np.array(told)
    for i in range(p):
        value = np.zeros(len(c.errors))
        for some, told in worth.items():
            if i not in some:
                weight = factorial(len(some)) * factorial(p - len(some) - 1) / factorial(p)
                value += weight * (worth[some | {i}] - told)
        np.testing.assert_allclose(c.true_shapley[:, i], value, atol=0.03)


def test_noise_is_a_small_part_of_the_values_and_falls_with_more_walks() -> None:
    def part(c: NonlinearCohort) -> float:
        return float(np.sqrt((c.shapley_noise**2).mean() / (c.true_shapley**2).mean()))

    usual, few = ([part(c) for c in cohorts(n_walks=walks)] for walks in (128, 16))
    assert max(usual) < 0.05
    assert np.mean(usual) < 0.5 * np.mean(few)


def test_a_patient_in_a_later_block_walks_the_same_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = simulate_nonlinear(50, 6, random_state=7_300, n_walks=16)
    monkeypatch.setattr("rootcausal.data.nonlinear_truth.PATIENTS_A_BLOCK", 7)
    in_blocks = simulate_nonlinear(50, 6, random_state=7_300, n_walks=16)
    np.testing.assert_allclose(whole.true_shapley, in_blocks.true_shapley, atol=1e-12)
    np.testing.assert_allclose(whole.shapley_noise, in_blocks.shapley_noise, atol=1e-12)


def test_the_same_seed_gives_the_same_cohort_and_another_gives_another() -> None:
    first, same, other = (simulate_nonlinear(50, 10, random_state=seed, n_walks=16) for seed in (1, 1, 2))
    for name in ("X", "y", "errors", "true_shapley", "shapley_noise", "adjacency", "target_weights"):
        np.testing.assert_array_equal(getattr(first, name), getattr(same, name))
    assert (first.centre, first.spread, first.feature_names) == (same.centre, same.spread, same.feature_names)
    assert not np.array_equal(first.X, other.X)
    more = simulate_nonlinear(50, 10, random_state=1, n_walks=32)
    np.testing.assert_array_equal(first.X, more.X)
    np.testing.assert_array_equal(first.y, more.y)


def test_the_smallest_cohort_and_what_it_holds() -> None:
    c = simulate_nonlinear(4, 2, random_state=0, n_walks=16)
    assert c.X.shape == (4, 1) and c.y.sum() == 2
    np.testing.assert_array_equal(c.X, c.errors)
    assert (c.feature_names, c.target_name) == (("x0",), "D")
    with pytest.raises(AttributeError):
        c.y = None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 3}, "n_samples must be at least 4, not 3"),
        ({"n_samples": 10.5}, "n_samples must be an integer, not 10.5"),
        ({"n_variables": 1}, "n_variables must be at least 2, not 1"),
        ({"n_walks": 8}, "n_walks must be at least 16, not 8"),
        ({"heteroscedastic": "yes"}, "heteroscedastic must be True or False, not 'yes'"),
        ({"expected_neighbors": 0}, "expected_neighbors must be a positive number, not 0"),
        ({"expected_neighbors": "2"}, "expected_neighbors must be a positive number, not '2'"),
        ({"expected_neighbors": np.inf}, "expected_neighbors must be a positive number, not inf"),
        ({"expected_neighbors": 1e-12}, "1000 draws gave no graph with an edge .* raise expected_neighbors"),
    ],
)
def test_the_bad_argument_is_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        simulate_nonlinear(**arguments)
