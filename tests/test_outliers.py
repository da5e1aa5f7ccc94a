"""RootCauseOutliers: which mechanism a row departs from, by what it is asked in public."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from tampering import with_array
from zoo_fits import UNSCREENED

import rootcausal
from rootcausal import RCI, InputError, RootCauseOutliers

NAMES = ["a", "b", "c", "d", "e"]


def world(rng: np.random.Generator, n: int, moved: int | None = None, by: float = 8.0) -> np.ndarray:
    """a and e by themselves; a makes b, b makes c, and b and e make d. One error may be moved."""
    errors = rng.laplace(size=(n, 5))
    if moved is not None:
        errors[:, moved] += by
    a, b, c, d, e = errors.T
    b = b + 1.5 * a
    return np.column_stack([a, b, c + 1.2 * b, d + 0.9 * b - 1.1 * e, e])


def frame(values: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(values, columns=NAMES)


@pytest.fixture(scope="module")
def model() -> RootCauseOutliers:
    return RootCauseOutliers().fit(frame(world(np.random.default_rng(0), 800)))


def first(found: Any) -> list[str]:
    return [some[0] for some in found.ranking()]


def test_the_mechanism_that_was_hit_is_named_and_not_what_follows_from_it(model: RootCauseOutliers) -> None:
    rng = np.random.default_rng(1)
    right = by_z = 0
    reference = world(np.random.default_rng(0), 800)
    for place, name in enumerate(NAMES):
        rows = world(rng, 100, place)
        right += sum(one == name for one in first(model.explain(frame(rows))))
        z = np.abs(rows - reference.mean(axis=0)) / reference.std(axis=0)
        by_z += int((z.argmax(axis=1) == place).sum())
    assert right / 500 >= 0.95
    assert by_z / 500 <= 0.85


@pytest.mark.parametrize("alpha", [0.01, 0.05])
def test_false_alarms_come_at_the_stated_rate(model: RootCauseOutliers, alpha: float) -> None:
    fresh = frame(world(np.random.default_rng(2), 20_000))
    alarms = (~model.explain(fresh, alpha=alpha).nothing_departs).mean()
    assert 0.5 * alpha <= alarms <= 1.5 * alpha


def test_p_values_of_a_variable_are_uniform(model: RootCauseOutliers) -> None:
    p = model.explain(frame(world(np.random.default_rng(3), 10_000))).p_values
    for share in (0.01, 0.1, 0.5, 0.9):
        assert (p <= share).mean(axis=0) == pytest.approx(share, abs=0.02 + 0.05 * share)


def test_a_surprise_is_the_logarithm_of_its_p_value_and_root_causes_depart(model: RootCauseOutliers) -> None:
    found = model.explain(frame(world(np.random.default_rng(4), 50, 2)), ids=[f"r{k}" for k in range(50)])
    np.testing.assert_allclose(np.exp(-found.surprise), found.p_values)
    assert (found.adjusted >= found.p_values * (1 - 1e-12)).all()
    for row, causes in enumerate(found.root_causes(top=5)):
        named = [one.variable for one in causes]
        assert sorted(named) == sorted(np.array(NAMES)[found.departs[row]])
        assert [one.surprise for one in causes] == sorted((one.surprise for one in causes), reverse=True)
    table = found.to_frame()
    assert len(table) == 250
    best = table[(table["id"] == "r7") & (table["rank"] == 1)]
    assert best["variable"].item() == found["r7"].ranking()[0][0]
    # What its causes explain stands beside what was measured.
    c = table[table["variable"] == "c"]
    assert (c["value"] - c["expected"]).mean() == pytest.approx(8.0, rel=0.25)


def test_a_row_by_itself_and_among_others_is_told_the_same(model: RootCauseOutliers) -> None:
    rows = frame(world(np.random.default_rng(5), 5000, 1))
    together = model.explain(rows).surprise
    np.testing.assert_allclose(model.explain(rows[4321:4322]).surprise, together[4321:4322], rtol=1e-12)
    again = RootCauseOutliers().fit(frame(world(np.random.default_rng(0), 800)))
    assert np.array_equal(again.explain(rows).surprise, together)


def test_cases_show_a_direction_that_the_reference_group_does_not() -> None:
    """Gaussian a and b look alike both ways; of the cases, those whose a moved took b along."""
    rng = np.random.default_rng(6)

    def pair(n: int, a: float = 0.0, b: float = 0.0) -> np.ndarray:
        first = rng.normal(size=n) + a
        return np.column_stack([first, first + 0.5 * rng.normal(size=n) + b])

    for turned in (False, True):
        columns = ["b", "a"] if turned else ["a", "b"]
        reference, of_a, of_b = (
            pd.DataFrame(part[:, [1, 0]] if turned else part, columns=["a", "b"])
            for part in (pair(500), pair(40, a=3.0), pair(40, b=3.0))
        )
        y = np.repeat(["control", "case"], [500, 80])
        model = RootCauseOutliers().fit(pd.concat([reference, of_a, of_b]), y)
        assert model.classes_.tolist() == ["control", "case"]
        assert first(model.explain(of_a)).count(columns[0]) >= 36
        assert first(model.explain(of_b)).count(columns[1]) >= 36


def test_what_is_known_of_the_order_decides() -> None:
    rng = np.random.default_rng(7)
    a = rng.normal(size=600)
    X = pd.DataFrame({"a": a, "b": a + 0.4 * rng.normal(size=600)})
    both = pd.DataFrame({"a": [6.0], "b": [6.0]})
    for cause in "ab":
        found = RootCauseOutliers(knowledge={"first": [cause]}).fit(X)
        assert first(found.explain(both)) == [cause]
    adjusted = RootCauseOutliers(knowledge={"covariates": ["a"]}).fit(X).explain(both)
    assert np.isnan(adjusted.surprise[0, 0])
    assert adjusted.nothing_departs.all()


def test_beyond_the_reference_group_a_line_is_not_taken_for_certain() -> None:
    """Somebody far out whose effect is a few percent off its line departs in the cause alone."""
    rng = np.random.default_rng(8)
    cause = rng.uniform(-1, 1, size=1000)
    X = np.column_stack([cause, 2.0 * cause + 0.02 * rng.laplace(size=1000)])
    found = RootCauseOutliers().fit(X).explain([[30.0, 61.5]])
    assert first(found) == ["x0"]
    assert found.surprise[0, 1] < found.surprise[0, 0] / 3


def test_groups_show_what_single_rows_do_not(model: RootCauseOutliers) -> None:
    rng = np.random.default_rng(9)
    rows = np.vstack([world(rng, 60), world(rng, 60, 1, by=1.0), world(rng, 60, 3, by=-1.0)])
    labels = np.repeat(["none", "up", "down"], 60)
    found = model.explain(frame(rows), groups=labels)
    assert found.ids == ("none", "up", "down")
    assert found.sizes.tolist() == [60, 60, 60]
    assert [[one.variable for one in some] for some in found.root_causes(top=1)] == [[], ["b"], ["d"]]
    assert found.errors[1, 1] > 0 > found.errors[2, 3]
    assert model.explain(frame(rows)).departs[60:].mean() < 0.05
    by_column = model.explain(frame(rows).assign(part=labels), groups="part")
    assert np.array_equal(by_column.surprise, found.surprise)
    assert (found.to_frame()["rows"] == 60).all()


def test_false_alarms_of_groups_hold_also_where_rows_follow_each_other() -> None:
    rng = np.random.default_rng(10)

    def series(n: int) -> np.ndarray:
        found = np.zeros((n, 3))
        for row in range(1, n):
            found[row] = 0.8 * found[row - 1] + rng.normal(size=3)
        return found + np.array([0, 1, 0]) * found[:, :1]

    with pytest.warns(UserWarning, match="rows follow each other in time"):
        model = RootCauseOutliers().fit(series(1500))
    assert model.provenance_["autocorrelation_time"] > 4.0
    found = model.explain(series(9000), groups=np.arange(9000) // 60)
    assert (~found.nothing_departs).mean() < 0.15
    moved = series(120) + np.array([0.0, 0.0, 3.0])
    assert first(model.explain(moved, groups=np.zeros(120))) == ["x2"]


def test_what_was_not_measured_is_not_judged_and_leaves_doubt(model: RootCauseOutliers) -> None:
    rows = frame(world(np.random.default_rng(11), 200, 2))
    whole = model.explain(rows)
    with pytest.warns(UserWarning, match="no patient has 'c'"):
        without_c = model.explain(rows.assign(c=np.nan))
    assert np.isnan(without_c.surprise[:, 2]).all()
    assert without_c.nothing_departs.mean() > 0.8
    with pytest.warns(UserWarning, match="no patient has 'b'"):
        without_b = model.explain(rows.assign(b=np.nan))
    # c still departs, and less surely: what b was is unsure.
    assert first(without_b).count("c") >= 150
    assert without_b.surprise[:, 2].mean() < whole.surprise[:, 2].mean()


def test_holes_in_the_reference_group_do_not_raise_alarms() -> None:
    rng = np.random.default_rng(12)
    values = world(rng, 800)
    values[rng.random(values.shape) < 0.15] = np.nan
    model = RootCauseOutliers().fit(frame(values))
    fresh = world(rng, 5000)
    assert (~model.explain(frame(fresh)).nothing_departs).mean() < 0.09
    fresh[rng.random(fresh.shape) < 0.15] = np.nan
    assert (~model.explain(frame(fresh)).nothing_departs).mean() < 0.09
    assert first(model.explain(frame(world(rng, 100, 1)))).count("b") >= 90


def test_levels_are_as_surprising_as_they_are_rare() -> None:
    rng = np.random.default_rng(13)
    dose = rng.normal(size=1500)
    ward = rng.choice(["icu", "north", "south"], size=1500, p=[0.01, 0.5, 0.49])
    X = pd.DataFrame(
        {"dose": dose, "nausea": np.where(dose + rng.normal(size=1500) > 0, "yes", "no"), "ward": ward}
    )
    found = (
        RootCauseOutliers()
        .fit(X)
        .explain(
            pd.DataFrame(
                {"dose": [2.5, 0.0, 0.0], "nausea": ["no", "yes", "yes"], "ward": ["north", "icu", "south"]}
            )
        )
    )
    assert first(found)[:2] == ["nausea", "ward"]
    assert 3.0 < found.surprise[0, 1] < 20.0
    assert 2.5 < found.surprise[1, 2] < 8.0
    assert found.surprise[2].max() < 2.0
    assert found.to_frame()["level"].tolist()[:3] == [None, "no", "north"]


def test_a_number_that_nobody_had_departs_however_few_there_were() -> None:
    rng = np.random.default_rng(17)
    cause = rng.normal(size=400)
    for few in (rng.integers(0, 2, 400), rng.choice([0.3, 0.7], 400), rng.integers(0, 6, 400)):
        X = np.column_stack([cause, few, cause + rng.normal(size=400)])
        model = RootCauseOutliers(n_graphs=5).fit(X)
        found = model.explain([[0.0, 50.0, 0.0], [0.0, few[0], 0.0]])
        assert first(found)[0] == "x1"
        assert found.departs[0, 1]
        assert not found.departs[1].any()
    rare = np.column_stack([cause, np.isin(np.arange(400), [30, 170, 333])])
    found = RootCauseOutliers(n_graphs=5).fit(rare).explain([[0.0, 1.0]])
    assert 2.0 < found.surprise[0, 1] < 8.0
    asked = RootCauseOutliers(n_graphs=5, kinds={"x1": "binary"}).fit(rare)
    assert asked.provenance_["kinds"]["x1"]["kind"] == "binary"


def test_a_model_is_saved_without_rows_and_comes_back(model: RootCauseOutliers, tmp_path: Path) -> None:
    rows = frame(world(np.random.default_rng(14), 100, 0))
    model.save(tmp_path / "m.rci")
    again = rootcausal.load(tmp_path / "m.rci")
    assert isinstance(again, RootCauseOutliers)
    assert np.array_equal(again.explain(rows).surprise, model.explain(rows).surprise)
    assert np.array_equal(again.arrow_probability_, model.arrow_probability_)
    assert again.provenance_ == model.provenance_
    again.save(tmp_path / "again.rci")
    assert (tmp_path / "m.rci").read_bytes() == (tmp_path / "again.rci").read_bytes()
    with pytest.raises(InputError, match="is not a rootcausal model"):
        RCI.load(tmp_path / "m.rci")


def test_levels_labels_and_knowledge_come_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(15)
    X = pd.DataFrame(
        {
            "age": rng.uniform(20, 80, 300),
            "ward": rng.choice(["a", "b", "c"], 300),
            "crp": rng.lognormal(size=300),
        }
    )
    model = RootCauseOutliers(knowledge={"first": ["age"]}, log=["crp"], n_graphs=5).fit(X)
    model.save(tmp_path / "m.rci")
    again = RootCauseOutliers.load(tmp_path / "m.rci")
    assert np.array_equal(again.explain(X).surprise, model.explain(X).surprise)
    assert again.knowledge == rootcausal.Knowledge(first=["age"])
    assert again.log == ["crp"]


@pytest.mark.parametrize(
    ("array", "value"),
    [
        ("tails_quantiles", np.nan),
        ("tails_scale", 0.0),
        ("times", 0.0),
        ("lowest", np.inf),
        ("mechanism_error_sd", -1.0),
        ("mechanism_cause", 99),
        ("sizes", -1),
    ],
)
def test_a_file_whose_numbers_cannot_be_is_refused(
    model: RootCauseOutliers, tmp_path: Path, array: str, value: float
) -> None:
    path = tmp_path / "m.rci"
    model.save(path)

    def changed(numbers: np.ndarray) -> np.ndarray:
        numbers.flat[0] = value
        return numbers

    with_array(path, array, changed)
    with pytest.raises(InputError, match=r"m\.rci"):
        RootCauseOutliers.load(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"alpha": 0.0}, "alpha must be between 0 and 1"),
        ({"alpha": "x"}, "alpha must be between 0 and 1"),
        ({"mechanism": "auto"}, "unknown mechanism 'auto'"),
        ({"n_graphs": 0}, "n_graphs must be a whole number"),
        ({"random_state": -1}, "random_state must be"),
        ({"missing": "drop"}, "missing must be"),
        ({"knowledge": {"first": ["zz"]}}, "zz"),
    ],
)
def test_parameters_that_cannot_be_are_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        RootCauseOutliers(**change).fit(frame(world(np.random.default_rng(0), 50)))


def test_tables_that_cannot_be_are_refused(model: RootCauseOutliers) -> None:
    few = frame(world(np.random.default_rng(0), 10))
    with pytest.raises(InputError, match="the reference group has 10 rows"):
        RootCauseOutliers().fit(few)
    X = frame(world(np.random.default_rng(0), 60))
    X["still"] = np.r_[np.zeros(50), np.ones(10)]
    with pytest.raises(InputError, match="'still' is constant"):
        RootCauseOutliers().fit(X, np.r_[np.zeros(50), np.ones(10)])
    with pytest.raises(InputError, match="y holds only one label"):
        RootCauseOutliers().fit(few, np.zeros(10))
    with pytest.raises(InputError, match="a group is called by its own name"):
        model.explain(few, ids=range(10), groups=range(10))
    strict = RootCauseOutliers(missing="refuse", n_graphs=2).fit(frame(world(np.random.default_rng(0), 100)))
    with pytest.raises(InputError, match="missing from the new data"):
        strict.explain(few.drop(columns="e"))


def test_it_is_an_estimator_of_scikit_learn(model: RootCauseOutliers) -> None:
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert not hasattr(again, "provenance_")
    assert model.n_features_in_ == 5
    assert list(model.feature_names_in_) == NAMES


def test_it_shows_itself_in_short(model: RootCauseOutliers) -> None:
    rows = frame(world(np.random.default_rng(16), 9, 1))
    shown = repr(model.explain(rows, ids=["<b>x</b>", *range(8)]))
    assert shown.startswith("Departures of 9 rows from a reference group of 800 rows")
    assert "b " in shown
    assert "4 more rows" in shown
    html = model.explain(rows, ids=["<b>x</b>", *range(8)])._repr_html_()
    assert "<b>x</b>" not in html


@pytest.mark.parametrize(
    "animal", [one for one in UNSCREENED if one.X.shape[1] <= 25], ids=lambda animal: animal.name
)
def test_cohorts_that_look_like_life_are_reference_groups(animal: Any, tmp_path: Path) -> None:
    """They can be fitted and saved, numbers are numbers, and most rows are like the others."""
    X = animal.X
    if len(X) < 20:
        with pytest.raises(InputError, match="rows, and a departure from so few is no news"):
            RootCauseOutliers().fit(X)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RootCauseOutliers(n_graphs=4).fit(X)
        found = model.explain(X)
        model.save(tmp_path / "m.rci")
        again = RootCauseOutliers.load(tmp_path / "m.rci").explain(X)
    assert np.array_equal(found.surprise, again.surprise, equal_nan=True)
    judged = ~np.isnan(found.surprise)
    assert np.isfinite(found.surprise[judged]).all()
    assert (found.surprise[judged] >= 0).all()
    assert (~found.nothing_departs).mean() < 0.15
