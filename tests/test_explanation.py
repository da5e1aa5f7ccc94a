"""What an explanation says, and that it agrees with itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rootcausal import RCI, InputError, RCIRegressor, RCISurvival
from rootcausal.data import load_pbc


@pytest.fixture(scope="module")
def cohort() -> object:
    return load_pbc()


@pytest.fixture(scope="module")
def frame(cohort):
    return pd.DataFrame(cohort.X, columns=list(cohort.feature_names)).assign(patient=cohort.ids)


@pytest.fixture(scope="module")
def model(cohort, frame):
    return RCI(alpha=0.2, mechanism="linear").fit(frame.drop(columns="patient"), cohort.y)


def test_root_causes_are_the_notable_positive_values_in_order(model, frame) -> None:
    explanation = model.explain(frame, ids="patient")
    assert explanation.ids == tuple(frame["patient"])
    for row, causes in enumerate(explanation.root_causes(top=4)):
        values = [cause.shapley for cause in causes]
        assert values == sorted(values, reverse=True)
        assert all(value >= 0.1 for value in values)
        best = np.sort(explanation.values[row])[::-1]
        np.testing.assert_allclose(values, best[: len(values)])
        assert len(values) == min(4, int((best >= 0.1).sum()))
        for cause in causes:
            assert cause.value == frame.loc[row, cause.variable]
    nobody = explanation.values.max(axis=1) < 0.1
    assert nobody.any() and (explanation.values[nobody].max(axis=1) > 0).any()
    assert [not causes for causes in explanation.root_causes()] == nobody.tolist()


def test_the_rule_of_what_is_notable_follows_the_outcome(cohort) -> None:
    assert RCI().fit(cohort.X, cohort.y).explain(cohort.X).notable_from == 0.1
    timed = load_pbc(follow_up=True)
    hazards = RCISurvival().fit(timed.X, timed.years, timed.y).explain(timed.X)
    assert hazards.notable_from == 0.1
    of_number = RCIRegressor().fit(cohort.X[:, 1:], cohort.X[:, 0]).explain(cohort.X[:, 1:])
    assert of_number.notable_from == pytest.approx(0.1 * cohort.X[:, 0].std(ddof=1))
    causes = of_number.root_causes(top=9, both_ways=True)
    assert [len(of_patient) for of_patient in causes] == of_number.notable.sum(axis=1).tolist()


def test_tidy_frame_has_a_row_for_each_patient_and_variable(model, frame) -> None:
    tidy = model.explain(frame.head(5), ids="patient").to_frame()
    assert isinstance(tidy, pd.DataFrame)
    assert len(tidy) == 50
    columns = ["id", "variable", "value", "level", "imputed", "beyond", "unlike", "error", "shapley"]
    columns += ["rank"]
    assert list(tidy.columns) == [*columns, "root_cause", "notable"]
    assert tidy["level"].isna().all() and not tidy["imputed"].any()
    first = tidy[tidy["id"] == frame["patient"].iloc[0]].sort_values("rank")
    assert first["shapley"].is_monotonic_decreasing
    assert (first["root_cause"] == (first["shapley"] > 0)).all()
    assert (first["notable"] == (first["shapley"].abs() >= 0.1)).all()
    as_polars = model.explain(pl.from_pandas(frame.head(5))).to_frame()
    assert isinstance(as_polars, pl.DataFrame)
    np.testing.assert_array_equal(as_polars["shapley"].to_numpy(), tidy["shapley"].to_numpy())


def test_what_if_removes_a_shock_from_risk_and_from_downstream(model, frame) -> None:
    explanation = model.explain(frame)
    bili = explanation.feature_names.index("bili")
    without = explanation.what_if("bili")
    np.testing.assert_allclose(
        without.log_odds, explanation.log_odds - explanation.values[:, bili], atol=1e-12
    )
    again = model.explain(pd.DataFrame(without.data, columns=list(explanation.feature_names)))
    np.testing.assert_allclose(again.errors[:, bili], 0, atol=1e-9)
    others = np.delete(np.arange(10), bili)
    np.testing.assert_allclose(again.errors[:, others], explanation.errors[:, others], atol=1e-9)
    np.testing.assert_allclose(again.log_odds, without.log_odds, atol=1e-9)
    shocked = pd.DataFrame(explanation.what_if("bili", error=2).data, columns=list(explanation.feature_names))
    np.testing.assert_allclose(model.explain(shocked).errors[:, bili], 2, atol=1e-9)
    unchanged = explanation.what_if("chol")  # not in the causal order: nothing to remove
    np.testing.assert_array_equal(unchanged.log_odds, explanation.log_odds)


def test_bad_questions_get_clear_answers(model, frame) -> None:
    explanation = model.explain(frame)
    with pytest.raises(InputError, match="no variable 'billi'"):
        explanation.what_if("billi")
    with pytest.raises(InputError, match="top must be at least 1"):
        explanation.root_causes(top=0)
    with pytest.raises(InputError, match="no column 'nobody' for ids"):
        model.explain(frame, ids="nobody")
    with pytest.raises(InputError, match="3 ids were given for 258 patients"):
        model.explain(frame, ids=[1, 2, 3])
    for error in (float("nan"), float("inf"), "none"):
        with pytest.raises(InputError, match="error must be a finite number of standard deviations"):
            explanation.what_if("bili", error)


def test_shap_explanation_keeps_the_values(model, frame) -> None:
    explanation = model.explain(frame)
    bridged = explanation.to_shap()
    np.testing.assert_array_equal(bridged.values, explanation.values)
    np.testing.assert_array_equal(bridged.base_values, np.full(258, explanation.base_value))
    assert list(bridged.feature_names) == list(explanation.feature_names)


def shown_cohort() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.gamma(2.0, size=(120, 3)), columns=["<b>bili</b>", "copper", "age"])
    return X, (X["<b>bili</b>"] + rng.logistic(size=120) > 3).to_numpy().astype(int)


def test_an_explanation_shows_itself_in_short() -> None:
    X, y = shown_cohort()
    model = RCI().fit(X, y)
    found = model.explain(X, ids=[f"p{row}<script>" for row in range(120)])
    text, page = repr(found), found._repr_html_()
    assert text.splitlines()[0].startswith("Explanation of 120 patients, 3 variables") and "array" not in text
    assert f"{found.probability[0]:.0%}" in text and "and 115 more patients" in text
    for causes in found.root_causes()[:5]:
        assert all(f"{one.shapley:+.2f}" in text for one in causes)
    assert "<script>" not in page and "<b>bili" not in page and "&lt;b&gt;bili" in page
    assert repr(model.diagnose(X, y)) == model.diagnose(X, y).to_text()
    assert model.diagnose(X, y)._repr_html_().startswith("<pre>overall: ")


def test_an_explanation_is_cut_by_patients_and_variables() -> None:
    X, y = shown_cohort()
    model = RCI().fit(X, y)
    ids = [f"p{row // 2}" for row in range(120)]
    found = model.explain(X, ids=ids)
    assert len(found) == 120
    chosen = {
        "one": (found[-1], [119]),
        "slice": (found[3:6], [3, 4, 5]),
        "places": (found[[7, 2]], [7, 2]),
        "mask": (found[y == 1], np.flatnonzero(y).tolist()),
        "id": (found["p4"], [8, 9]),
        "ids": (found.of_ids(["p9", "p0"]), [18, 19, 0, 1]),
    }
    for some, rows in chosen.values():
        again = model.explain(X.iloc[rows], ids=[ids[row] for row in rows])
        assert some.ids == again.ids
        np.testing.assert_allclose(some.values, again.values, atol=1e-12)
        assert some.root_causes() == again.root_causes()
        pd.testing.assert_frame_equal(some.to_frame(), again.to_frame(), rtol=1e-12)
    np.testing.assert_array_equal(found[:, "copper"], found.values[:, 1])
    np.testing.assert_array_equal(found[[5, 1], 2], found.values[[5, 1], 2])
    assert len(list(found)) == 120
    with pytest.raises(IndexError, match="120"):
        found[120]
    with pytest.raises(InputError, match="no patient has the id 'p99'"):
        found["p99"]
    with pytest.raises(InputError, match="no variable 'iron'"):
        found[:, "iron"]


def test_rooms_are_attributes() -> None:
    import rootcausal

    assert rootcausal.plots.marks and rootcausal.data.simulate and {"plots", "data"} <= {*dir(rootcausal)}
