"""Which label is the disease: the user says it, or the labels do, or a warning names the choice."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from command_line import error, ok

from rootcausal import RCI, InputError, RCISurvival
from rootcausal.comparators import ConditionalOutliers, TTest
from rootcausal.data import simulate

drawn = simulate(150, 5, random_state=2)
X, y = drawn.X, drawn.y
EXPECTED = RCI(alpha=0.5).fit(X, y).coef_

SAID = [
    (0, 1),
    (0.0, 1.0),
    (False, True),
    (-1, 1),
    ("0", "1"),
    ("no", "yes"),
    ("No", " YES"),
    ("control", "case"),
    ("Control", "Case"),
    ("healthy", "sick"),
    ("negative", "positive"),
    ("Survived", "Dead"),
    ("well", "sick"),
    ("no", "positive"),
    ("notckd", "ckd"),
    ("Live birth", "Non-live birth"),
    ("no relapse", "relapse"),
    ("relapse-free", "relapse"),
    ("normal", "hypothyroid"),
    ("survivor", "nonsurvivor"),
    ("0:LIVING", "1:DECEASED"),
]
UNSAID = [
    ("N", "P"),
    ("homeless", "housed"),
    ("Died of Disease", "Died of Other Causes"),
    ("a", "b"),
    (1, 2),
    (1.0, 2.0),
    (3, 7),
    (0, 2),
]


def labelled(healthy: object, disease: object) -> np.ndarray:
    return np.where(y == 1, disease, healthy)


@pytest.mark.parametrize(("healthy", "disease"), SAID)
def test_labels_that_say_it_themselves(healthy: object, disease: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RCI(alpha=0.5).fit(X, labelled(healthy, disease))
        other = TTest().fit(X, labelled(healthy, disease))
    assert model.classes_.tolist() == other.classes_.tolist() == [healthy, disease]
    np.testing.assert_array_equal(model.coef_, EXPECTED)
    assert set(model.predict(X)) == {healthy, disease}


@pytest.mark.parametrize(("first", "second"), UNSAID)
def test_other_labels_get_a_warning_that_names_the_choice(first: object, second: object) -> None:
    labels = labelled(second, first)
    chosen = (
        f"the labels {first!r} and {second!r} do not say which of them is the disease: {second!r} is taken "
        "for it, since it comes second in order; "
    )
    with pytest.warns(UserWarning, match="do not say which") as caught:
        model = RCI(alpha=0.5).fit(X, labels)
    assert [str(warning.message) for warning in caught] == [
        f"{chosen}choose by positive={second!r} or positive={first!r}"
    ]
    assert caught[0].filename == __file__
    assert model.classes_.tolist() == [first, second]
    for method in (TTest(), ConditionalOutliers(random_state=0)):
        with pytest.warns(UserWarning, match="do not say which") as caught:
            method.fit(X, labels)
        assert [str(warning.message) for warning in caught] == [
            f"{chosen}encode y as an array of 0 and 1 to choose"
        ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = RCI(alpha=0.5, positive=first).fit(X, labels)
    np.testing.assert_array_equal(told.coef_, EXPECTED)


@pytest.mark.parametrize(("healthy", "disease"), [*SAID, *UNSAID])
def test_the_command_line_asks_where_python_warns(healthy: object, disease: object, tmp_path: Path) -> None:
    table = tmp_path / "cohort.csv"
    pd.DataFrame(X, columns=list("abcd")).assign(state=labelled(healthy, disease)).to_csv(table, index=False)
    arguments = ("fit", table, "--target", "state", "--out", tmp_path / "m.rci")
    if (healthy, disease) in UNSAID:
        assert "say which one is the disease with --positive LABEL" in error(3, *arguments)
    else:
        ok(*arguments)
        np.testing.assert_allclose(RCI.load(tmp_path / "m.rci").coef_, RCI().fit(X, y).coef_, atol=1e-12)


def test_a_wrong_choice_is_still_an_error() -> None:
    with pytest.raises(InputError, match="positive='ill' is not a label of the target, which has 'case' and"):
        RCI(positive="ill").fit(X, labelled("control", "case"))


# --- the name of y, where it has one ----------------------------------------------------------------------

NAMED: dict[str, Callable[[np.ndarray, str], Any]] = {
    "pandas": lambda labels, name: pd.Series(labels, name=name),
    "polars": lambda labels, name: pl.Series(name, labels),
    "narwhals": lambda labels, name: nw.from_native(pl.Series(name, labels), series_only=True),
}
UNNAMED: dict[str, Callable[[np.ndarray, str], Any]] = {
    "array": lambda labels, name: labels,
    "pyarrow": lambda labels, name: pa.chunked_array([labels]),
    "a number": lambda labels, name: pd.Series(labels, name=0),
    "none": lambda labels, name: pd.Series(labels),
}
OF_THE_WELL = [
    *("survived", "alive", "improved", "cured", "Recovered", "remission", "responder", "response", "cens"),
    *("better", "feels_well", "extubated", "weaned", "discharged_alive", "abstinent", "seizure_free"),
    *("fit_for_duty_d6", "graft_intact", "ambulatory"),
]


def warned_of_name(name: str) -> str:
    return (
        f"the labels 0 and 1 of '{name}', which by its name may say who is well, do not say which of them is "
        "the disease: 1 is taken for it, since it comes second in order; "
    )


@pytest.mark.parametrize("name", OF_THE_WELL)
def test_a_name_that_may_turn_the_answer_round_is_warned_of(name: str, tmp_path: Path) -> None:
    labels = pd.Series(y, name=name)
    with pytest.warns(UserWarning, match="do not say which") as caught:
        model = RCI(alpha=0.5).fit(X, labels)
    said = f"{warned_of_name(name)}choose by positive=1 or positive=0"
    assert [str(warning.message) for warning in caught] == [said] and caught[0].filename == __file__
    assert model.classes_.tolist() == [0, 1] and said in model.provenance_["findings"]["fit"]
    table = tmp_path / "cohort.csv"
    pd.DataFrame(X, columns=list("abcd")).assign(**{name: y}).to_csv(table, index=False)
    asked = error(3, "fit", table, "--target", name, "--out", tmp_path / "m.rci")
    assert "by its name it may say who is well: say which one is the disease" in asked


@pytest.mark.parametrize("kind", NAMED)
def test_a_series_of_any_library_has_a_name(kind: str) -> None:
    with pytest.warns(UserWarning, match="of 'survived', which by its name may say who is well"):
        RCI().fit(X, NAMED[kind](y, "survived"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RCI().fit(X, NAMED[kind](y, "died"))
        told = RCI(alpha=0.5, positive=0).fit(X, NAMED[kind](1 - y, "survived"))
    np.testing.assert_array_equal(told.coef_, EXPECTED)


@pytest.mark.parametrize("kind", UNNAMED)
def test_labels_without_a_name_are_taken_as_they_are(kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RCI().fit(X, UNNAMED[kind](y, "survived"))


@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_a_frame_of_one_column_has_the_name_of_that() -> None:
    for frame in (pd.DataFrame({"survived": y}), pl.DataFrame({"survived": y})):
        with pytest.warns(UserWarning, match="of 'survived', which by its name may say who is well"):
            RCI().fit(X, frame)


def test_comparators_know_the_name_too() -> None:
    with pytest.warns(UserWarning, match="do not say which") as caught:
        TTest().fit(X, pd.Series(y, name="survived"))
    said = f"{warned_of_name('survived')}encode y as an array of 0 and 1 to choose"
    assert [str(warning.message) for warning in caught] == [said]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TTest().fit(X, pd.Series(y, name="survived").to_numpy())


def test_a_label_named_like_its_column_is_the_disease() -> None:
    labels = pd.Series(labelled("housed", "homeless"), name="homeless")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RCI(alpha=0.5).fit(X, labels)
    assert model.classes_.tolist() == ["housed", "homeless"]
    np.testing.assert_array_equal(model.coef_, EXPECTED)


@pytest.mark.parametrize("kind", NAMED)
def test_an_event_by_the_name_of_who_is_well_is_asked_for(kind: str) -> None:
    time = np.random.default_rng(0).exponential(size=len(y))
    with pytest.raises(
        InputError,
        match="event holds 0, 1, and by the name 'alive' it may say who is well: say which is the event by "
        "positive=0 or positive=1",
    ):
        RCISurvival().fit(X, time, NAMED[kind](y, "alive"))
    expected = RCISurvival().fit(X, time, NAMED[kind](1 - y, "died")).coef_
    told = RCISurvival(positive=0).fit(X, time, NAMED[kind](y, "alive"))
    np.testing.assert_array_equal(told.coef_, expected)


def test_the_truth_field_of_a_structured_array_is_the_event_by_any_name() -> None:
    both = np.empty(len(y), dtype=[("cens", "?"), ("time", "f8")])
    both["cens"], both["time"] = y == 1, np.random.default_rng(0).exponential(size=len(y))
    assert RCISurvival().fit(X, both).classes_.tolist() == [False, True]
