"""The checks of times to an event and of numbers: what they name, and that they are silent where all is well.

How often they cry wolf, and see what is wrong, is in ``results/outcome-checks``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from rootcausal import RCIRegressor, RCISurvival

N = 600


def columns(seed: int = 0, n: int = N) -> pd.DataFrame:
    g = np.random.default_rng(seed)
    a, b, c = g.laplace(size=(3, n))
    return pd.DataFrame({"a": a, "b": 0.7 * a + b, "c": c})


def followed(log_hazard: np.ndarray, seed: int = 1, end: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    g = np.random.default_rng(seed)
    event_at = g.exponential(np.exp(-log_hazard))
    last_seen = g.uniform(0, end, log_hazard.size)
    return np.minimum(event_at, last_seen), (event_at <= last_seen).astype(int)


def checks_of_times(X: pd.DataFrame, time: np.ndarray, event: np.ndarray) -> dict:
    model = RCISurvival(mechanism="linear").fit(X, time, event)
    return {check.name: check for check in model.diagnose(X, time, event).checks}


def checks_of_numbers(X: pd.DataFrame, y: np.ndarray) -> dict:
    return {check.name: check for check in RCIRegressor(mechanism="linear").fit(X, y).diagnose(X, y).checks}


def test_nothing_is_broken_where_nothing_is_wrong():
    X = columns()
    found = checks_of_times(X, *followed(0.8 * X["b"].to_numpy() - 0.5 * X["c"].to_numpy()))
    assert {"proportional_hazards", "follow_up", "few_events", "calibrated", "gives_away"} <= set(found)
    assert all(check.verdict in ("fine", "cannot tell") for check in found.values())
    y = 60 + 5 * X["b"].to_numpy() + np.random.default_rng(3).laplace(0, 4, N)
    assert all(check.verdict in ("fine", "cannot tell") for check in checks_of_numbers(X, y).values())


def test_an_effect_that_turns_round_is_not_proportional():
    X, g = columns(), np.random.default_rng(5)
    pull = X["c"].to_numpy()
    early = g.exponential(np.exp(-pull))
    late = 0.7 + g.exponential(np.exp(pull))
    time = np.where(early < 0.7, early, late)
    end = g.uniform(0.2, 6.0, N)
    found = checks_of_times(X, np.minimum(time, end), (time <= end).astype(int))["proportional_hazards"]
    assert found.verdict in ("doubtful", "broken") and "c" in found.variables


def test_of_several_columns_the_effect_is_that_of_the_first():
    X, g = columns(), np.random.default_rng(5)
    pull = (X["c"] + X["a"]).to_numpy()
    early, late = g.exponential(np.exp(-pull)), 0.7 + g.exponential(np.exp(0.2 * pull))
    time = np.where(early < 0.7, early, late)
    end = g.uniform(0.2, 6.0, N)
    found = checks_of_times(X, np.minimum(time, end), (time <= end).astype(int))["proportional_hazards"]
    assert len(found.variables) > 1
    assert f"('{found.variables[0]}' acts more strongly at first)" in found.limit


def test_a_time_to_another_event_gives_the_time_away():
    X = columns()
    time, event = followed(0.8 * X["b"].to_numpy())
    other = np.random.default_rng(9).exponential(2.0, N)
    found = checks_of_times(X.assign(to_other=np.minimum(other, time)), time, event)["gives_away"]
    assert found.verdict in ("doubtful", "broken") and "to_other" in found.variables
    share = f"{(time <= other).mean():.0%}"
    assert f"'to_other' is exactly the time of follow-up in {share} of rows" in found.statement


def test_one_column_was_asked():
    g = np.random.default_rng(7)
    X = pd.DataFrame({"a": g.exponential(size=30)})
    found = checks_of_numbers(X, g.normal(size=30) + X["a"].to_numpy())["straight"]
    assert found.verdict == "cannot tell" and found.limit.endswith("and 1 column was asked.")


def test_patients_who_leave_by_what_is_wrong_with_them():
    X, g = columns(), np.random.default_rng(6)
    event_at = g.exponential(np.exp(-X["c"].to_numpy()))
    left = 1.5 * g.exponential(np.exp(-X["c"].to_numpy()))
    time, event = np.minimum(event_at, left), (event_at <= left).astype(int)
    found = checks_of_times(X, time, event)["follow_up"]
    assert found.verdict in ("doubtful", "broken") and "c" in found.variables


@pytest.mark.filterwarnings("ignore:the errors tell of some patients for certain:UserWarning")
@pytest.mark.filterwarnings("ignore:the attribution did not converge:UserWarning")
@pytest.mark.parametrize("knows", ["time", "event"])
def test_a_column_that_knows_the_follow_up(knows: str):
    X, g = columns(), np.random.default_rng(7)
    time, event = followed(X["b"].to_numpy())
    roughly, mostly = time * np.exp(0.02 * g.normal(size=N)), np.where(g.random(N) < 0.02, 1 - event, event)
    hint = roughly if knows == "time" else mostly
    found = checks_of_times(X.assign(hint=hint), time, event)["gives_away"]
    assert found.verdict in ("doubtful", "broken") and "hint" in found.variables


def test_few_events_say_what_that_does_to_intervals():
    X = columns(n=200)
    time, event = followed(X["b"].to_numpy() - 3.5, end=1.0)
    assert 4 < event.sum() < 25
    found = checks_of_times(X, time, event)["few_events"]
    assert found.verdict in ("doubtful", "cannot tell")
    assert f"{event.sum()} events" in found.statement and "interval" in found.statement


def test_a_number_whose_spread_grows_and_one_that_is_bent():
    X, g = columns(), np.random.default_rng(8)
    expected = X["b"].to_numpy()
    uneven = checks_of_numbers(X, expected + np.exp(0.8 * expected) * g.normal(size=N))
    assert uneven["even_spread"].verdict in ("doubtful", "broken")
    bent = checks_of_numbers(X, expected + X["c"].to_numpy() ** 2 + g.normal(size=N))
    assert bent["straight"].verdict in ("doubtful", "broken") and "c" in bent["straight"].variables


def test_a_number_under_another_name():
    X, g = columns(), np.random.default_rng(9)
    y = 60 + 5 * X["b"].to_numpy() + g.normal(size=N)
    found = checks_of_numbers(X.assign(again=y / 18 + 0.005 * g.normal(size=N)), y)["gives_away"]
    assert found.verdict in ("doubtful", "broken") and "again" in found.variables


def test_without_the_outcome_only_what_needs_none_is_checked():
    X = columns()
    time, event = followed(X["b"].to_numpy())
    diagnosis = RCISurvival(mechanism="linear").fit(X, time, event).diagnose(X)
    assert {check.name for check in diagnosis.checks} <= {"in_range", "as_named"}
    assert "diagnos" not in diagnosis.to_text().replace("diagnose", "")


def test_an_effect_of_a_number_is_named_where_relations_bend() -> None:
    """By two graphs; lines through the shocks of curves named one of the two."""
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        cause = rng.uniform(-2, 2, 500)
        spread = 0.3 + expit(2 * cause)
        other = np.tanh(2 * cause) + spread * rng.laplace(size=500) * 0.5
        y = np.tanh(cause) + 0.5 * rng.laplace(size=500)
        late = np.abs(cause) + spread * rng.standard_t(5, 500) * 0.6 + 0.5 * y
        X = pd.DataFrame({"cause": cause, "other": other, "late": late})
        model = RCIRegressor().fit(X, y)
        assert model.provenance_["mechanism"]["taken"] == "nonlinear"
        (check,) = [check for check in model.diagnose(X, y).checks if check.name == "terminal"]
        assert check.verdict in ("doubtful", "broken") and check.variables == ("late",)
