"""Simulated times to an event, and simulated numbers, follow the model whose truth comes with them."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rootcausal.data import simulate
from rootcausal.errors import InputError

OTHER_OUTCOMES = ("survival", "continuous")


@pytest.mark.parametrize(
    ("seed", "options", "labels", "error", "intercept"),
    [
        (1, {}, "11101011100111010000", 0.9900740146448448, 0.0),
        (41, {}, "00101001111010110001", -0.09514421448465926, 0.0),
        (2, {"prevalence": 0.1}, "00000100000000000010", -1.0315543403837741, -2.27072675067784),
        (
            3,
            {"prevalence": 0.1, "design": "case-control"},
            "01110001100000100011",
            -0.41510989045082636,
            -3.0525061077823916,
        ),
    ],
)
def test_a_diagnosis_is_drawn_as_it_was_before_there_were_other_outcomes(
    seed, options, labels, error, intercept
):
    drawn = simulate(60, 12, random_state=seed, **options)
    assert "".join(map(str, drawn.y[:20])) == labels
    assert drawn.errors[-1, -1] == error
    assert drawn.intercept == pytest.approx(intercept, abs=1e-9)
    assert drawn.time is None and drawn.event is None and drawn.target_name == "D"
    named = simulate(60, 12, random_state=seed, outcome="binary", **options)
    np.testing.assert_array_equal(named.X, drawn.X)
    np.testing.assert_array_equal(named.y, drawn.y)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(OTHER_OUTCOMES), st.integers(20, 60), st.integers(2, 20), st.integers(0, 2**32))
def test_every_cohort_obeys_its_equations_and_is_drawn_again_by_its_seed(outcome, n, n_variables, seed):
    c, again = (simulate(n, n_variables, random_state=seed, outcome=outcome) for _ in range(2))
    np.testing.assert_allclose(c.X, c.errors + c.X @ c.adjacency.T, rtol=1e-9, atol=1e-9)
    total = np.linalg.inv(np.eye(n_variables - 1) - c.adjacency)
    np.testing.assert_allclose(c.effects, c.target_weights @ total, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(c.true_shapley, c.errors * c.effects)
    # Efficiency: what the errors add is all there is.
    np.testing.assert_allclose(c.true_shapley.sum(axis=1), c.X @ c.target_weights, rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(c.X, again.X)
    np.testing.assert_array_equal(c.y, again.y)
    if outcome == "survival":
        np.testing.assert_array_equal(c.time, again.time)
        np.testing.assert_array_equal(c.y, c.event.astype(int))
        assert c.event.dtype == bool and (c.time > 0).all() and np.isfinite(c.time).all()
        assert min(c.event.sum(), (~c.event).sum()) >= 2
    else:
        assert c.time is None and c.event is None and np.unique(c.y).size == n


# --- survival -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("events", [0.05, 0.35, 0.62, 0.95])
def test_the_share_of_events_is_the_one_asked_for(events):
    c = simulate(200_000, 8, random_state=2, outcome="survival", events=events)
    sd = np.sqrt(events * (1 - events) / c.y.size)
    # The longest follow-up itself comes from 100,000 other rows of the same population.
    assert abs(c.event.mean() - events) < 4 * 2 * sd


def test_the_default_share_of_events():
    ours, named = (
        simulate(50, 5, random_state=0, outcome="survival", **asked) for asked in ({}, {"events": 0.62})
    )
    np.testing.assert_array_equal(ours.time, named.time)


def test_hazards_are_those_of_the_truth():
    """Events, less the hazard to which patients were exposed, are a martingale, whatever else is known."""
    c = simulate(200_000, 10, random_state=5, outcome="survival")
    log_hazard = c.true_shapley.sum(axis=1)
    exposed = c.time * np.exp(log_hazard)
    for part in np.array_split(np.argsort(log_hazard), 10):
        assert abs(c.event[part].sum() - exposed[part].sum()) < 4.5 * np.sqrt(exposed[part].sum())
    residual = c.event - exposed
    assert np.all(
        np.abs(residual @ c.errors) < 4.5 * np.sqrt((residual[:, None] ** 2 * c.errors**2).sum(axis=0))
    )
    # The hazard of a patient does not change with time: as many events as it says before any one time.
    for until in np.quantile(c.time, (0.1, 0.5, 0.9)):
        before = np.minimum(c.time, until) * np.exp(log_hazard)
        assert abs((c.event & (c.time <= until)).sum() - before.sum()) < 4.5 * np.sqrt(before.sum())


def test_follow_up_is_uniform_and_independent_of_the_risk():
    c = simulate(200_000, 10, random_state=6, outcome="survival", events=0.35)
    longest = c.time.max() * (1 + 1 / c.time.size)
    # What a uniform end of follow-up makes of the hazard to be lost until a time.
    exposed = -np.log1p(-c.time / longest)
    lost = ~c.event
    assert lost[np.argmax(c.time)]
    for part in np.array_split(np.argsort(c.X @ c.target_weights), 10):
        assert abs(lost[part].sum() - exposed[part].sum()) < 4.5 * np.sqrt(exposed[part].sum())


def test_hazards_beyond_what_a_time_can_be_are_refused():
    with pytest.raises(InputError, match=r"hazards overflow .* lower expected_neighbors"):
        simulate(100, 60, expected_neighbors=40, random_state=0, outcome="survival")


# --- number -------------------------------------------------------------------------------------------------


def test_a_number_is_a_vertex_like_any_other():
    """Its own error has one of the three distributions, and nothing to do with the variables."""
    spreads, explained = [], []
    for seed in range(300):
        c = simulate(1000, 10, random_state=seed, outcome="continuous")
        own = c.y - c.true_shapley.sum(axis=1)
        spreads.append(own.std())
        explained.append(1 - own.var() / c.y.var())
        assert abs(own.mean()) < 4.5 * own.std() / np.sqrt(1000)
        correlation = np.corrcoef(np.column_stack([own, c.errors]), rowvar=False)[0, 1:]
        assert np.abs(correlation).max() < 5 / np.sqrt(1000)
    spreads = np.array(spreads)
    uniform, student, chi_square = spreads < 0.8, (spreads > 0.8) & (spreads < 1.8), spreads > 1.8
    for family, sd in ((uniform, 1 / 3), (student, 5 / 3), (chi_square, 6.0)):
        assert abs(family.mean() - 1 / 3) < 4 * np.sqrt(2 / 9 / 300)
        assert np.median(spreads[family]) == pytest.approx(np.sqrt(sd), rel=0.05)
    assert 0.4 < np.median(explained) < 0.65


# --- arguments ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"outcome": "time"}, "unknown outcome 'time': choose one of binary, survival, continuous"),
        ({"outcome": ["survival"]}, "unknown outcome"),
        ({"events": 0.5}, "events belongs to outcome='survival', not to 'binary'"),
        ({"outcome": "continuous", "events": 0.5}, "not to 'continuous'"),
        ({"outcome": "survival", "events": 0}, "events must be a share between 0 and 1, not 0"),
        ({"outcome": "survival", "events": 1.0}, "events must be a share between 0 and 1"),
        ({"outcome": "survival", "events": float("nan")}, "events must be a share between 0 and 1"),
        ({"outcome": "survival", "events": "half"}, "events must be a share between 0 and 1"),
        ({"outcome": "survival", "prevalence": 0.1}, "prevalence belongs to outcome='binary'"),
        (
            {"outcome": "continuous", "prevalence": 0.1, "design": "case-control"},
            "prevalence belongs to outcome='binary', not to 'continuous'",
        ),
        (
            {"n_samples": 4, "outcome": "survival", "events": 1e-7},
            r"2 rows in each class: .* or choose a share of events nearer to a half",
        ),
    ],
)
def test_outcomes_that_make_no_sense(arguments, message, monkeypatch):
    monkeypatch.setattr(sys.modules[simulate.__module__], "MAX_DRAWS", 20)
    with pytest.raises(InputError, match=message):
        simulate(**{"n_samples": 100, "n_variables": 5, "random_state": 0, **arguments})
