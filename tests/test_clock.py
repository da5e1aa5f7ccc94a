"""The clock of a cohort: ranks of times as scores, steps and intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from survival_oracle import nelson_aalen

from rootcausal.method.table import EVENT, INTERVAL, PART, SCORE
from rootcausal.outcomes.follow_up import MOST_INTERVALS, Clock

# coxph(Surv(time, event) ~ 1, ties = "efron") of R's survival 3.5-3, residuals(type = "martingale").
TIED = np.array([1, 1, 1, 2, 2, 3, 4, 4, 4, 4, 6, 7.0])
TIED_EVENTS = np.array([1, 1, 0, 1, 0, 0, 1, 1, 1, 0, 1, 0.0])
RESIDUALS_BY_R = [
    0.87121212121212122,
    0.87121212121212122,
    -0.17424242424242425,
    0.71464646464646464,
    -0.28535353535353536,
    -0.28535353535353536,
    0.33131313131313134,
    0.33131313131313134,
    0.33131313131313134,
    -0.90202020202020194,
    -0.40202020202020194,
    -1.40202020202020194,
]


def drawn(n: int, events: float, ties: int | None, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    time = rng.exponential(size=n)
    if ties is not None:
        time = np.ceil(time * ties)
    event = (rng.random(n) < events).astype(float)
    event[:2] = 1.0
    return time, event


FOLLOW_UPS = {
    "no ties": drawn(400, 0.6, None),
    "few intervals": drawn(60, 0.6, None),
    "ties": drawn(400, 0.6, 10),
    "heavy ties": drawn(400, 0.9, 1),
    "all tied": (np.full(50, 3.0), (np.arange(50) < 20).astype(float)),
    "all tied, one left": (np.full(9, 3.0), np.r_[np.ones(8), 0.0]),
    "one event time, and later": (np.r_[np.full(5, 2.0), 1.0, 3.0, 4.0], np.r_[np.ones(5), 0.0, 0.0, 0.0]),
    "the last one has it": (np.arange(1.0, 6.0), np.array([0, 0, 1, 0, 1.0])),
    "two patients": (np.array([1.0, 2.0]), np.array([1.0, 1.0])),
    "few events": drawn(300, 0.0, None),
    "no censoring": (drawn(150, 1, None)[0], np.ones(150)),
}
every_follow_up = pytest.mark.parametrize(("time", "event"), FOLLOW_UPS.values(), ids=FOLLOW_UPS)


def residuals(time: np.ndarray, event: np.ndarray) -> np.ndarray:
    """Scores before they are of unit variance."""
    scores = Clock.of(time, event).rows(time, event)[:, SCORE]
    return scores * by_hand(time, event).std(ddof=1)


def by_hand(time: np.ndarray, event: np.ndarray) -> np.ndarray:
    """Martingale residuals by Efron's rule, one step after the other."""
    left = event.astype(float)
    for at in np.unique(time[event > 0]):
        goes, at_risk = (time == at) & (event > 0), time >= at
        d = goes.sum()
        for gone in range(d):
            share = 1.0 / (at_risk.sum() - gone)
            left -= np.where(goes, share * (1 - gone / d), np.where(at_risk, share, 0.0))
    return left


@every_follow_up
def test_scores_have_mean_zero_and_unit_variance(time: np.ndarray, event: np.ndarray) -> None:
    scores = Clock.of(time, event).rows(time, event)[:, SCORE]
    assert scores.sum() == pytest.approx(0.0, abs=1e-9)
    assert scores.std(ddof=1) == pytest.approx(1.0)


@every_follow_up
def test_scores_are_martingale_residuals(time: np.ndarray, event: np.ndarray) -> None:
    expected = by_hand(time, event)
    scores = Clock.of(time, event).rows(time, event)[:, SCORE]
    assert scores * expected.std(ddof=1) == pytest.approx(expected, abs=1e-12)


def test_residuals_with_ties_are_those_of_r() -> None:
    assert residuals(TIED, TIED_EVENTS) == pytest.approx(RESIDUALS_BY_R, abs=1e-12)


def test_without_ties_the_null_hazard_is_that_of_nelson_and_aalen() -> None:
    time, event = FOLLOW_UPS["no ties"]
    hazard = np.array([nelson_aalen(time, event, at) for at in time])
    assert residuals(time, event) == pytest.approx(event - hazard, abs=1e-12)


@every_follow_up
def test_intervals_hold_all_that_happened(time: np.ndarray, event: np.ndarray) -> None:
    clock = Clock.of(time, event)
    rows = clock.rows(time, event)
    n_steps, n_intervals = np.unique(time[event > 0]).size, clock.null_hazards.size
    assert n_intervals == n_steps if n_steps <= MOST_INTERVALS else n_intervals <= MOST_INTERVALS
    assert (clock.null_hazards > 0).all()
    assert clock.edges.size == n_intervals + 1 and clock.edges[0] == 0.0
    assert (np.diff(clock.edges) > 0).all() and clock.edges[-1] == time[event > 0].max()
    interval, part = rows[:, INTERVAL].astype(int), rows[:, PART]
    assert ((interval >= 0) & (interval < n_intervals) & (part >= 0) & (part <= 1)).all()
    assert np.array_equal(rows[:, EVENT], event)
    # An event lies in the interval of its time; who left before the first one saw nothing of it.
    happened = event > 0
    assert (clock.edges[interval[happened]] < time[happened]).all()
    assert (time[happened] <= clock.edges[interval[happened] + 1]).all()
    early = time < time[happened].min()
    assert (interval[early] == 0).all() and (part[early] == 0).all()
    # What everybody saw of the null hazard adds up to the events.
    before = np.append(0.0, np.cumsum(clock.null_hazards))[interval]
    seen = before + part * clock.null_hazards[interval]
    assert seen.sum() == pytest.approx(event.sum())
    assert (event - seen) == pytest.approx(by_hand(time, event), abs=1e-12)


def test_the_first_and_the_last_intervals_are_short() -> None:
    time, event = drawn(5000, 0.8, None)
    clock = Clock.of(time, event)
    of_interval = np.bincount(clock.rows(time, event)[:, INTERVAL].astype(int), weights=event)
    assert of_interval.sum() == event.sum() and of_interval.size <= MOST_INTERVALS
    assert of_interval[:3].tolist() == [1, 1, 1]
    assert of_interval[-1] < 5 < of_interval.max() < 0.05 * event.sum()


@every_follow_up
def test_clocks_add_up(time: np.ndarray, event: np.ndarray) -> None:
    whole, half = Clock.of(time, event), np.arange(time.size) % 2 == 0
    added = Clock.of(time[half], event[half]) + Clock.of(time[~half], event[~half])
    for name in ("times", "events", "leaving", "edges", "null_hazards", "longest", "middle"):
        assert np.array_equal(getattr(added, name), getattr(whole, name))
    assert np.array_equal(added.rows(time, event), whole.rows(time, event))


@given(st.integers(0, 1000), st.sampled_from([np.sqrt, np.exp, lambda time: 365.25 * time]))
@settings(max_examples=20, deadline=None)
def test_only_ranks_of_times_count(seed: int, on_other_scale) -> None:
    time, event = drawn(150, 0.5, (None, 4)[seed % 2], seed)
    clock, other = Clock.of(time, event), Clock.of(on_other_scale(time), event)
    assert np.array_equal(clock.rows(time, event), other.rows(on_other_scale(time), event))
    assert np.array_equal(clock.null_hazards, other.null_hazards)
    assert other.edges[1:] == pytest.approx(on_other_scale(clock.edges[1:]))


def test_somebody_has_to_be_followed_beyond_an_event() -> None:
    assert all(Clock.of(time, event).has_an_order for time, event in FOLLOW_UPS.values())
    assert not Clock.of(np.full(9, 3.0), np.ones(9)).has_an_order
    assert not Clock.of(np.array([1.0, 2.0, 3.0, 3.0]), np.array([0.0, 0.0, 1.0, 1.0])).has_an_order


def test_the_middle_is_the_median_time_of_the_events() -> None:
    time, event = np.arange(1.0, 10.0), np.array([0, 1, 0, 1, 1, 0, 0, 0, 1.0])
    assert Clock.of(time, event).middle == 4.0
    assert Clock.of(time, np.ones(9)).middle == 5.0
    assert Clock.of(time, event).longest == 9.0
