"""Departure from a reference group: the numbers, by oracles from outside."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import gamma, norm

from rootcausal.departure.reference import effective_tests, log_gamma_tail
from rootcausal.departure.tails import LEVELS, Tails, autocorrelation_time


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_the_autocorrelation_time_is_that_of_an_autoregression(memory: float) -> None:
    """Of AR(1) it is (1 + φ) / (1 - φ)."""
    rng = np.random.default_rng(0)
    series = np.zeros((20_000, 3))
    for row in range(1, len(series)):
        series[row] = memory * series[row - 1] + rng.normal(size=3)
    assert autocorrelation_time(series) == pytest.approx((1 + memory) / (1 - memory), rel=0.15)


def test_a_constant_column_has_no_memory_and_holes_count_as_average() -> None:
    series = np.column_stack([np.full(100, 3.0), np.r_[np.nan, np.random.default_rng(0).normal(size=99)]])
    assert autocorrelation_time(series).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("shape", [1.0, 3.7, 50.0, 300.0])
def test_the_tail_of_a_gamma_variable_is_that_of_scipy(shape: float) -> None:
    means = np.array([0.1, 0.9, 1.0, 1.5, 3.0, 8.0, 40.0])
    found = log_gamma_tail(np.full(means.size, shape), means)
    expected = gamma.logsf(shape * means, shape)
    near = np.isfinite(expected) & (expected > -600.0)
    assert near.sum() >= 4
    np.testing.assert_allclose(found[near], expected[near], rtol=1e-6, atol=1e-12)
    assert np.isfinite(found).all()
    assert (np.diff(found) < 0.0).all()


def test_far_out_the_tail_goes_on_where_floating_point_ends() -> None:
    """There log P ~ (a - 1) log x - x - log Γ(a), with a relative error of a² / x²."""
    shape, means = np.full(3, 20.0), np.array([30.0, 34.0, 40.0])  # x = 600, 680, 800
    expected = gamma.logsf(600.0, 20.0)
    assert log_gamma_tail(shape, means)[0] == pytest.approx(expected, rel=1e-4)
    assert (np.diff(log_gamma_tail(shape, means)) < -70.0).all()


def test_probabilities_within_the_reference_group_are_its_shares() -> None:
    scores = np.random.default_rng(0).gumbel(size=(4000, 1))
    tails = Tails.of(scores, np.ones(1))
    asked = np.quantile(scores, [0.02, 0.2, 0.5, 0.8, 0.98])[:, None]
    below, above = tails.log_probabilities(asked)
    by_counting = np.array([(scores >= one).mean() for one in asked[:, 0]])
    np.testing.assert_allclose(np.exp(above[:, 0]), by_counting, rtol=0.2, atol=0.004)
    np.testing.assert_allclose(np.exp(below[:, 0]), 1.0 - by_counting, rtol=0.2, atol=0.004)


def test_tails_of_an_exponential_go_on_as_one() -> None:
    scores = np.random.default_rng(1).exponential(size=(5000, 1))
    _, above = Tails.of(scores, np.ones(1)).log_probabilities(np.array([[12.0], [20.0]]))
    assert above[:, 0] == pytest.approx([-12.0, -20.0], rel=0.25)


def test_few_independent_rows_tell_little_of_a_tail() -> None:
    """Of a series that hardly moves the tail is that of a Gaussian, about."""
    scores = np.clip(np.random.default_rng(2).normal(size=(300, 1)), -2.0, 2.0)
    far = np.array([[6.0]])
    sure, unsure = (Tails.of(scores, np.array([time])).log_probabilities(far)[1] for time in (1.0, 100.0))
    assert sure[0, 0] < unsure[0, 0] < -5.0
    assert unsure[0, 0] > norm.logsf(6.0)


def test_a_level_that_many_share_counts_with_all_of_them() -> None:
    scores = np.r_[np.zeros(980), np.full(20, 7.0)][:, None]
    below, above = Tails.of(scores, np.ones(1)).log_probabilities(np.array([[0.0], [7.0]]))
    assert np.exp(above[:, 0]) == pytest.approx([1.0, 0.02], abs=0.01)
    assert np.exp(above[1, 0]) >= 0.02
    assert np.exp(below[0, 0]) >= 0.98


def test_levels_rise_from_nothing_to_everything() -> None:
    assert (np.diff(LEVELS) > 0).all()
    assert LEVELS[[0, -1]].tolist() == [0.0, 1.0]


def test_independent_columns_are_as_many_tests_and_copies_are_one() -> None:
    p = np.random.default_rng(3).uniform(size=(20_000, 8))
    assert effective_tests(np.log(p)) == pytest.approx(8.0, rel=0.1)
    assert effective_tests(np.log(p[:, [0] * 8])) == pytest.approx(1.0, rel=0.1)
