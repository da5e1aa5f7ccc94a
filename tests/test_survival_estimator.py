"""RCISurvival among estimators of scikit-learn's style, and beside scikit-survival's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from graded_cohorts import structured, survival_cohort
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from rootcausal import InputError, RCISurvival


class OfAnyNumbers(RCISurvival):
    """Takes the numbers that scikit-learn's checks give for times, by their ranks, which all end with it."""

    def fit(self, X: Any, y: Any = None) -> Any:
        return super().fit(X, *_as_times(y))

    def score(self, X: Any, y: Any = None) -> Any:
        return super().score(X, *_as_times(y))


def _as_times(y: Any) -> tuple[Any, ...]:
    if y is None:
        return (None,)
    values = np.asarray(y).reshape(-1)
    if values.dtype.kind not in "iuf" or not np.isfinite(values).all():
        return values, np.ones(values.size, dtype=bool)
    return values.argsort(kind="stable").argsort(kind="stable") + 1.0, np.ones(values.size, dtype=bool)


def failed(estimator: Any) -> dict[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(estimator, on_fail=None)
    return {one["check_name"]: str(one["exception"]) for one in found if one["status"] == "failed"}


def test_what_scikit_learn_asks_of_estimators_holds_of_times() -> None:
    # Of events that are no labels it asks for the word "Unknown label type", which is that of classifiers.
    assert set(failed(OfAnyNumbers())) <= {"check_dtype_object"}


def test_numbers_alone_are_no_follow_up() -> None:
    said = failed(RCISurvival())
    # The sentence is the cause of this one.
    assert said.pop("check_positive_only_tag_during_fit").startswith(
        "Estimator 'RCISurvival' raised InputError"
    )
    assert all("the time of follow-up and the event come together" in one for one in said.values()), said


@pytest.fixture(scope="module")
def cohort() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    return survival_cohort(120)


def test_both_in_one_are_the_same_in_every_form(cohort: Any) -> None:
    X, time, event = cohort
    expected = RCISurvival().fit(X, time, event)
    frame = pd.DataFrame({"years": time, "died": event})
    swapped = pd.DataFrame({"died": event.astype(bool), "years": time})
    forms = (structured(time, event), frame, swapped, np.column_stack([time, event]))
    for y in forms:
        model = RCISurvival().fit(X, y)
        assert model.coef_.tolist() == expected.coef_.tolist()
        assert model.score(X, y) == expected.score(X, time, event)
        assert model.diagnose(X, y).verdict == expected.diagnose(X, time, event).verdict
    by_name = RCISurvival().fit(X, time=time, event=event)
    assert by_name.coef_.tolist() == expected.coef_.tolist()
    with pytest.raises(InputError, match="time is another name of y"):
        RCISurvival().fit(X, time, event, time=time)


def test_searches_and_pipelines_take_it(cohort: Any) -> None:
    X, time, event = cohort
    y = structured(time, event)
    scores = cross_val_score(RCISurvival(), X, y, cv=3)
    assert scores.shape == (3,) and scores.mean() > 0.6
    assert cross_val_score(RCISurvival(), X, np.column_stack([time, event]), cv=3).tolist() == scores.tolist()
    search = GridSearchCV(RCISurvival(), {"variant": ["plus", "local_plus"]}, cv=2).fit(X, y)
    assert search.best_estimator_.score(X, y) > 0.6
    pipeline = make_pipeline(StandardScaler(), RCISurvival()).fit(X, y)
    assert pipeline.score(X, y) > 0.6
    assert clone(RCISurvival(competing=["died"], horizon=3)).get_params()["competing"] == ["died"]


def test_scikit_survival_takes_it(cohort: Any) -> None:
    metrics = pytest.importorskip("sksurv.metrics", reason="scikit-survival is not installed")
    util = pytest.importorskip("sksurv.util")
    X, time, event = cohort
    y = util.Surv.from_arrays(event.astype(bool), time)
    model = RCISurvival().fit(X, y)
    theirs = metrics.concordance_index_censored(y["event"], y["time"], model.predict(X))[0]
    assert model.score(X, y) == pytest.approx(theirs)
    scorer = metrics.as_concordance_index_ipcw_scorer(RCISurvival()).fit(X, y)
    assert scorer.score(X, y) > 0.6
