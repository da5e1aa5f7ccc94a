"""Bad times, events and numbers: one clear error that says what to do, or the right answer."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from graded_cohorts import number_cohort, structured, survival_cohort

from rootcausal import InputError, RCIRegressor, RCISurvival

X, TIME, EVENT = survival_cohort(120)
LABS, SCORE = number_cohort(120)
N = 120


def changed(values: np.ndarray, rows: Any, value: Any) -> np.ndarray:
    values = np.asarray(values, dtype=float).copy()
    values[rows] = value
    return values


def coef(time: Any = TIME, event: Any = EVENT, **options: Any) -> np.ndarray:
    return RCISurvival(**options).fit(X, time, event).coef_


PLAIN = coef()


# --- times ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("time", "said"),
    [
        (
            changed(TIME, 3, -1.0),
            r"^1 time of follow-up is negative \(row 4\): .* correct or drop these rows$",
        ),
        (changed(TIME, [3, 7], -1.0), r"^2 times of follow-up are negative \(rows 4, 8\)"),
        (np.zeros(N), "all times of follow-up are zero: time must say how long each patient was followed"),
        (changed(TIME, [3, 4], np.nan), r"^2 row\(s\) have no time or event \(NaN\): drop these rows$"),
        (changed(TIME, 3, np.inf), r"time holds infinite values \(inf\), or values too large"),
        (changed(TIME, 3, 1e200), r"time holds infinite values \(inf\), or values too large"),
        (["long"] * N, "time must be numbers, not <U4"),
        (np.array(["3 years"] * N, dtype=object), "time must be numbers: could not convert .*'3 years'"),
        (np.array(["2020-01-01"] * N, dtype="datetime64[D]"), "time must be numbers, not datetime64"),
        (TIME.astype(complex), "^time holds complex numbers"),
        (TIME > 1, "time must be numbers, not bool"),
        (TIME[:-1], "X has 120 rows but time has 119"),
        (np.column_stack([TIME, TIME]), "time holds the events too, in a field or column of its own"),
        (None, "requires time to be passed"),
        (np.full(N, 2.0), None),
        (np.ceil(3 * TIME), None),
        (pd.Series(np.ceil(99 * TIME), dtype="Int64"), None),
        (TIME.tolist(), None),
    ],
)
def test_times(time: Any, said: str | None) -> None:
    if said is None:
        assert np.isfinite(coef(time)).all()
        return
    with pytest.raises(InputError, match=said):
        coef(time)


def test_a_time_of_zero_is_less_than_any_other() -> None:
    with pytest.warns(
        UserWarning, match="1 time of follow-up is zero: such a patient counts as the first"
    ) as said:
        model = RCISurvival().fit(X, changed(TIME, 3, 0.0), EVENT)
    assert said[0].filename == __file__
    assert np.array_equal(model.coef_, coef(changed(TIME, 3, 0.5 * TIME.min())))
    with pytest.warns(UserWarning, match="2 times of follow-up are zero"):
        coef(changed(TIME, [3, 4], 0.0))


def test_all_that_is_wrong_is_said_at_once() -> None:
    bad = X.assign(site=1.0, futime=TIME)
    with pytest.raises(
        InputError, match=r"(?s)3 things are wrong:.*time or event.*negative.*'site' is constant"
    ):
        RCISurvival().fit(bad, changed(changed(TIME, 3, -1.0), 5, np.nan), EVENT)
    with pytest.raises(
        InputError, match=r"(?s)2 things are wrong:.*'futime' is the time.*'site' is constant"
    ):
        RCISurvival().fit(bad, TIME, EVENT)


# --- events -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "positive", "classes"),
    [
        (EVENT, None, [0, 1]),
        (EVENT.astype(bool), None, [False, True]),
        (EVENT.astype(float), None, [0.0, 1.0]),
        (pd.Series(EVENT).astype("boolean"), None, [False, True]),
        (np.where(EVENT, "dead", "alive"), None, ["alive", "dead"]),
        (np.where(EVENT, "yes", "no"), None, ["no", "yes"]),
        (EVENT + 1, 2, [1, 2]),
        (1 - EVENT, 0, [1, 0]),
        (np.where(EVENT, "relapse", "last seen"), "relapse", ["last seen", "relapse"]),
        (np.where(EVENT == 1, 2, np.arange(N) % 2), 2, ["not 2", 2]),
        (np.where(EVENT == 1, "died", np.where(TIME > 1, "alive", "lost")), "died", ["not died", "died"]),
    ],
)
def test_events_in_any_spelling(event: Any, positive: Any, classes: list) -> None:
    model = RCISurvival(positive=positive, competing=[]).fit(X, TIME, event)
    assert np.array_equal(model.coef_, PLAIN)
    assert model.classes_.tolist() == classes
    assert [type(label) for label in model.classes_.tolist()] == [type(label) for label in classes]
    assert model.score(X, TIME, event) > 0.7
    assert model.provenance_["events"] == EVENT.sum()


@pytest.mark.parametrize(
    ("event", "positive", "said"),
    [
        (
            EVENT + 1,
            None,
            "event holds 1, 2: say which is the event by positive=2; all others count as the end",
        ),
        (EVENT + (TIME > 1), None, "event holds 0, 1, 2: say which is the event by positive=2"),
        (EVENT + 1, 3, "positive=3 is not a label of event, which holds 1, 2"),
        (np.where(EVENT, "a", "b"), None, "event holds 'a', 'b': say which is the event by positive='b'"),
        (
            np.zeros(N, int),
            None,
            "^0 events in 120 rows: at least 2 are needed .* is another label the event?",
        ),
        (np.zeros(N, bool), None, "^0 events in 120 rows"),
        (["alive"] * N, "dead", "positive='dead' is not a label of event, which holds 'alive'"),
        ((np.arange(N) == 5).astype(int), None, "^1 event in 120 rows: at least 2 are needed"),
        (np.full(N, 2), None, "event holds 2: say which is the event by positive=2"),
        (
            TIME,
            None,
            r"event holds 120 different numbers, from .* if these are times, call fit\(X, time, event\)",
        ),
        (np.array([1, "no"] * 60, dtype=object), None, r"event holds labels of different types \(int, str\)"),
        (np.where(np.arange(N) == 3, np.nan, EVENT), None, r"1 row\(s\) have no time or event"),
        (EVENT[:-1], None, "X has 120 rows but event has 119"),
        (None, None, "both in one structured array as scikit-survival has it"),
    ],
)
def test_bad_events(event: Any, positive: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        RCISurvival(positive=positive).fit(X, TIME, event)


@pytest.mark.parametrize("label", [1, True, 1.0, "dead", 2, 0], ids=repr)
def test_without_censoring(label: Any) -> None:
    events = np.array([label] * N)
    positive = None if label == 1 else label
    model = RCISurvival(positive=positive).fit(X, TIME, events)
    assert model.classes_[0] != model.classes_[1] == label
    assert model.provenance_["events"] == N
    assert model.score(X, TIME, events) > 0.7


def test_ties_everywhere_are_learned_from_and_one_last_time_is_not() -> None:
    tied = np.full(N, 2.0)
    # Whoever has the event within the one time that there is: as good as yes or no.
    assert np.corrcoef(coef(tied), PLAIN)[0, 1] > 0.9
    with pytest.raises(
        InputError, match="all events are at the same time, 2, and nobody was followed as long"
    ):
        coef(tied, np.ones(N, int))
    with pytest.raises(
        InputError, match="all events are at the same time, 7, and nobody was followed as long"
    ):
        coef(np.where(EVENT == 1, 7.0, 3.0))


def test_new_patients_need_not_have_had_the_event() -> None:
    model = RCISurvival(positive="died").fit(X, TIME, np.where(EVENT, "died", "alive"))
    assert np.isnan(model.score(X.head(5), TIME[:5], ["alive"] * 5))
    with pytest.raises(
        InputError, match="event holds 'lost': the model knows 'alive' and 'died', which is the"
    ):
        model.score(X, TIME, np.where(EVENT, "died", "lost"))
    with pytest.raises(InputError, match="event holds 0, 1: the model knows 'alive' and 'died'"):
        model.score(X, TIME, EVENT)
    several = RCISurvival(positive=2, competing=[]).fit(X, TIME, np.where(EVENT == 1, 2, np.arange(N) % 2))
    assert several.score(X, TIME, 2 * EVENT) == model.score(X, TIME, np.where(EVENT, "died", "alive"))
    with pytest.raises(InputError, match="negative"):
        model.score(X, -TIME, np.where(EVENT, "died", "alive"))


# --- both in one ------------------------------------------------------------------------------------------


def test_a_structured_array_holds_both() -> None:
    both = structured(TIME, EVENT)
    assert np.array_equal(RCISurvival().fit(X, both).coef_, PLAIN)
    other_names = both.astype([("status", bool), ("days", float)])[["days", "status"]]
    assert np.array_equal(RCISurvival().fit(X, other_names).coef_, PLAIN)
    whole_days = np.array(list(zip(EVENT, np.ceil(99 * TIME), strict=True)), dtype=[("e", bool), ("t", int)])
    assert np.array_equal(RCISurvival().fit(X, whole_days).coef_, coef(np.ceil(99 * TIME)))


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ([("event", int), ("time", float)], r"event \(int64\), time \(float64\)"),
        ([("time", float)], r"time \(float64\)"),
        ([("event", bool), ("dead", bool)], r"event \(bool\), dead \(bool\)"),
        ([("event", bool), ("time", float), ("site", float)], "site"),
        ([("event", bool), ("time", "U9")], "<U9"),
    ],
    ids=str,
)
def test_structured_arrays_of_something_else(fields: list, found: str) -> None:
    with pytest.raises(
        InputError, match=f"needs two fields, a truth value .the event. and a number.*{found}"
    ):
        RCISurvival().fit(X, np.zeros(N, dtype=fields))


def test_a_structured_array_leaves_no_room_for_events() -> None:
    with pytest.raises(InputError, match="time holds the events too, in a field or column of its own"):
        RCISurvival().fit(X, structured(TIME, EVENT), EVENT)
    with pytest.raises(InputError, match="X has 120 rows but time has 119"):
        RCISurvival().fit(X, structured(TIME, EVENT)[:-1])


def test_an_index_in_another_order_is_refused_by_name() -> None:
    time, event, number = pd.Series(TIME), pd.Series(EVENT), pd.Series(SCORE)
    with pytest.raises(
        InputError, match=r"^time has the index of X in another order: use time.loc\[X.index\]"
    ):
        RCISurvival().fit(X, time.iloc[::-1], event)
    with pytest.raises(InputError, match=r"^event has the index of X in another order"):
        RCISurvival().fit(X, time, event.iloc[::-1])
    with pytest.raises(InputError, match=r"^y has the index of X in another order"):
        RCIRegressor().fit(LABS, number.iloc[::-1])
    assert np.array_equal(RCISurvival().fit(X, time, event).coef_, PLAIN)
    other = RCISurvival().fit(X, time.set_axis(range(N, 2 * N)), event.to_numpy())  # matched by place
    assert np.array_equal(other.coef_, PLAIN)


# --- the outcome among the columns ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "copy",
    [
        lambda time: time,
        lambda time: time * 365.25,
        np.log,
        lambda time: -time,
        lambda time: np.where(np.arange(N) % 9 == 0, np.nan, time),
    ],
    ids=["the same", "days", "logarithm", "reversed", "with holes"],
)
def test_the_time_of_follow_up_is_no_variable(copy: Any) -> None:
    with pytest.raises(InputError, match=r"^column 'futime' is the time of follow-up itself, as it is or in"):
        RCISurvival().fit(X.assign(futime=copy(TIME)), TIME, EVENT)
    years = np.ceil(TIME)
    with pytest.raises(InputError, match="columns 'years', 'again' are the time of follow-up itself"):
        RCISurvival().fit(X.assign(years=copy(years), again=2 * years), years, EVENT)
    array = np.column_stack([X.to_numpy(), copy(TIME)])
    with pytest.raises(InputError, match=r"^column 'x4' is the time of follow-up itself"):
        RCISurvival().fit(array, TIME, EVENT)


def test_what_only_goes_with_the_time_is_a_variable() -> None:
    rng = np.random.default_rng(0)
    near = np.log(TIME) + 0.05 * rng.laplace(size=N)
    rounded = np.ceil(3 * TIME)  # never falls, and is not the time
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that such a column tells too much
        for column in (near, rounded, TIME + EVENT):
            model = RCISurvival(attribution="paper").fit(X.assign(column=column), TIME, EVENT)
            assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("copy", [lambda y: y, lambda y: 3 * y - 2, lambda y: -y, lambda y: y / 1e9 + 7])
def test_y_is_no_variable(copy: Any) -> None:
    with pytest.raises(
        InputError, match=r"^column 'egfr' is the outcome y itself, up to a linear map: leave it out$"
    ):
        RCIRegressor().fit(LABS.assign(egfr=copy(SCORE)), SCORE)
    RCIRegressor().fit(LABS.assign(egfr=np.exp(SCORE / 20)), SCORE)


def test_a_column_that_is_y_where_it_was_measured_is_y() -> None:
    holed = np.where(np.arange(N) % 5 == 0, np.nan, SCORE)
    with pytest.raises(InputError, match="column 'egfr' is the outcome y itself"):
        RCIRegressor().fit(LABS.assign(egfr=holed), SCORE)


# --- the horizon ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("horizon", [0, -1, "5", np.nan, np.inf, True, [1.0]], ids=repr)
def test_a_horizon_is_a_time_above_zero(horizon: Any) -> None:
    model = RCISurvival().fit(X, TIME, EVENT)
    for ask in (
        lambda: coef(horizon=horizon),
        lambda: model.predict_risk(X, horizon),
        lambda: model.explain(X, horizon=horizon),
    ):
        with pytest.raises(InputError, match="horizon must be a time above 0, in the unit of the times, not"):
            ask()


def test_a_horizon_is_within_follow_up() -> None:
    late = 2 * TIME.max()
    model = RCISurvival().fit(X, TIME, EVENT)
    for ask in (
        lambda: coef(horizon=late),
        lambda: model.predict_risk(X, late),
        lambda: model.explain(X, horizon=late),
        lambda: model.predict_survival(X, [1.0, late]),
    ):
        with pytest.raises(InputError, match=r"beyond the longest follow-up.*nobody is known that long"):
            ask()
    assert np.array_equal(coef(horizon=TIME.max()), PLAIN)
    for times in ("x", [-1.0, 1.0], [np.nan], [[1.0, 2.0]], None):
        with pytest.raises(InputError, match="times must be numbers of at least 0"):
            model.predict_survival(X, times)


# --- numbers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (np.full(N, 3.0), r"^y is constant \(3\): nothing can be said of what does not vary"),
        ([3.0, *[np.nan] * (N - 1)], r"(?s)row\(s\) have no y \(NaN\).*y is constant \(3\)"),
        (
            1e9 + 1e-8 * SCORE,
            "y varies too little for 64-bit numbers to hold, around .*: subtract a fixed number",
        ),
        (SCORE * 1e-200, "y varies too little for 64-bit numbers to hold"),
        (SCORE * 1e150, r"y holds infinite values \(inf\), or values too large"),
        (changed(SCORE, 3, np.inf), r"y holds infinite values \(inf\)"),
        (changed(SCORE, 3, np.nan), r"^1 row\(s\) have no y \(NaN\): drop these rows$"),
        (["much"] * N, "y must be numbers, not <U4"),
        (SCORE > 60, "y must be numbers, not bool"),
        (None, "requires y to be passed, but the target y is None"),
        (SCORE[:-1], "X has 120 rows but y has 119"),
        (np.column_stack([SCORE, SCORE]), "1d array"),
    ],
)
def test_bad_numbers(y: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        RCIRegressor().fit(LABS, y)


def test_two_values_are_a_number_and_probably_a_label() -> None:
    with pytest.warns(
        UserWarning, match="y holds 0 and 1 only, and is taken for a number: for a diagnosis"
    ) as said:
        model = RCIRegressor().fit(LABS, (SCORE > 60).astype(int))
    assert said[0].filename == __file__
    assert 0.2 < model.intercept_ < 0.8
    RCIRegressor().fit(LABS, np.digitize(SCORE, [50, 60]))  # three are a score


@pytest.mark.parametrize("size", [1e100, 1e139])
def test_huge_numbers_are_numbers(size: float) -> None:
    model = RCIRegressor().fit(LABS, size * (SCORE / np.abs(SCORE).max()))
    assert np.isfinite(model.predict(LABS)).all()
    assert model.score(LABS, size * (SCORE / np.abs(SCORE).max())) > 0.4
