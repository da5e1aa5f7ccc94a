"""Risks of patients of the fit, as they would be told if the model had not seen them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import ok
from page_facts import facts_of
from scipy.special import expit

from rootcausal import RCI, RCIRegressor, RCISurvival, load
from rootcausal.data import load_pbc
from rootcausal.likelihood.recalibration import Calibration

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def many_columns(n: int, seed: int, p: int = 25) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Columns of which few matter, a diagnosis, and the true risk."""
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(n, p)) - 1.0
    risk = expit(X[:, :3] @ [0.8, -0.6, 0.5])
    return (
        pd.DataFrame(X, columns=[f"x{c}" for c in range(p)]),
        (rng.uniform(size=n) < risk).astype(int),
        risk,
    )


def pbc() -> tuple[pd.DataFrame, np.ndarray]:
    cohort = load_pbc()
    return pd.DataFrame(cohort.X, columns=cohort.feature_names), cohort.y


def test_recalibrated_risks_are_nearer_the_truth_than_those_of_a_model_that_has_seen_the_patient() -> None:
    """By maximum likelihood of many columns, which tells risks that are much too extreme."""
    stated, recalibrated, slopes = [], [], []
    for seed in range(5):
        X, y, risk = many_columns(200, seed)
        model = RCI(attribution="paper", alpha=1.0).fit(X, y)
        told = model.explain(X)
        assert told.recalibrated is not None
        stated.append(np.mean((told.predicted - risk) ** 2))
        recalibrated.append(np.mean((told.recalibrated - risk) ** 2))
        slopes.append(model.provenance_["calibration"]["slope"])
        assert abs(told.recalibrated.mean() - y.mean()) < 0.03
    assert np.mean(recalibrated) < 0.7 * np.mean(stated)
    assert 0.2 < np.mean(slopes) < 0.8


def test_what_is_said_of_a_patient_who_was_seen_is_turned_into_what_would_be_of_one_who_was_not() -> None:
    """What a model that has not seen a patient would say is not what the one says that has."""
    of_both, of_unseen = [], []
    for seed in range(3):
        X, y, risk = many_columns(200, seed, p=60)
        model = RCI(attribution="paper", alpha=1.0).fit(X, y)
        told, kept = model.explain(X), Calibration.of_dict(model.provenance_["calibration"])
        assert told.recalibrated is not None
        assert kept is not None
        without = replace(kept, spread=1.0, start=0.0).recalibrated(told.predictor, model._model.attribution)
        of_both.append(np.mean((told.recalibrated - risk) ** 2))
        of_unseen.append(np.mean((without - risk) ** 2))
    assert np.mean(of_both) < 0.98 * np.mean(of_unseen)


def test_of_many_patients_nothing_changes() -> None:
    X, y, _ = many_columns(20_000, 1, p=3)
    told = RCI().fit(X, y).explain(X)
    assert told.recalibrated is not None
    assert np.abs(told.recalibrated - told.predicted).max() < 0.06
    assert np.abs(told.recalibrated - told.predicted).mean() < 0.01


def test_only_patients_of_the_fit_are_recalibrated() -> None:
    X, y = pbc()
    model = RCI().fit(X, y)
    new = X.iloc[:4] * 1.01
    assert model.explain(new).recalibrated is None
    both = model.explain(pd.concat([new, X.iloc[:4]], ignore_index=True)).recalibrated
    assert both is not None
    assert np.isnan(both[:4]).all()
    whole = model.explain(X).recalibrated
    assert whole is not None
    assert np.allclose(both[4:], whole[:4])
    order = np.argsort(model.explain(X).predicted)
    assert (np.diff(whole[order]) >= -1e-12).all()  # who is told a higher risk keeps it


def test_it_travels_with_the_model_and_without_patients(tmp_path: Path) -> None:
    X, y = pbc()
    model = RCI().fit(X, y)
    model.save(tmp_path / "model.rci")
    read = load(tmp_path / "model.rci")
    first, second = model.explain(X).recalibrated, read.explain(X).recalibrated
    assert first is not None
    assert second is not None
    assert np.allclose(first, second)
    assert len(read.provenance_["calibration"]) < 12  # a few numbers, whatever the number of patients
    X.assign(died=y).to_csv(tmp_path / "new.csv", index=False)
    said = ok("explain", str(tmp_path / "model.rci"), str(tmp_path / "new.csv"))
    assert "calibration: of patients whom the model had not seen (5 folds)" in said


def test_times_are_recalibrated_by_any_horizon() -> None:
    cohort = load_pbc(follow_up=True)
    X = pd.DataFrame(cohort.X, columns=cohort.feature_names)
    model = RCISurvival(horizon=5).fit(X, cohort.years, cohort.y)
    told = model.explain(X)
    assert told.recalibrated is not None
    # As many events as there were, each patient followed as long as they were.
    late, early = told.recalibrated, model.explain(X, horizon=2).recalibrated
    assert early is not None
    assert (early < late).all()
    high = told.predicted > 0.9
    assert (late[high] < told.predicted[high]).all()  # these were told too much


def test_a_prevalence_keeps_risks_those_of_the_population() -> None:
    X, y, _ = many_columns(4000, 2, p=4)
    told = RCI(prevalence=0.1).fit(X, y).explain(X)
    assert told.recalibrated is not None
    assert np.abs(told.recalibrated - told.predicted).mean() < 0.02


def test_numbers_and_few_patients_have_none() -> None:
    X, y = pbc()
    rest = X.drop(columns="bili")
    assert RCIRegressor().fit(rest, X["bili"]).explain(rest).recalibrated is None
    assert RCI().fit(X[:30], y[:30]).explain(X[:30]).recalibrated is None


def test_cross_validate_keeps_its_own() -> None:
    X, y = pbc()
    model = RCI().fit(X, y)
    model.cross_validate(folds=10, random_state=3)
    assert model.provenance_["calibration"]["folds"] == 10
    told = model.explain(X).recalibrated
    assert told is not None
    assert model.provenance_["calibration"]["random_state"] == 3


def test_the_page_shows_both(tmp_path: Path) -> None:
    X, y = pbc()
    model = RCI().fit(X, y)
    model.report(X, tmp_path / "page.html", y=y)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'id="block-recalibrated"' in page
    assert "calibration slope" in facts_of(tmp_path / "page.html")["calibration"]
    model.report(X * 1.01, tmp_path / "new.html")
    assert 'id="block-recalibrated"' not in (tmp_path / "new.html").read_text(encoding="utf-8")


def test_a_model_that_learned_nothing_says_so_first(tmp_path: Path) -> None:
    X, y, _ = many_columns(200, 1)
    for outcome, nothing in ((np.random.default_rng(1).permutation(y), True), (y, False)):
        model = RCI(attribution="paper", alpha=1.0).fit(X, outcome)
        model.report(X, tmp_path / "page.html", y=outcome)
        said = facts_of(tmp_path / "page.html")["calibration"]
        assert said.startswith("these risks tell nothing about new patients: ") == nothing, said


@pytest.mark.parametrize("wrong", [{"slope": None}, {"high": -1.0}, {"spread": float("nan")}, {"folds": 2.5}])
def test_what_is_no_calibration_is_refused(wrong: dict[str, object]) -> None:
    X, y = pbc()
    model = RCI().fit(X, y)
    model.explain(X)
    with pytest.raises((ValueError, TypeError)):
        Calibration.of_dict({**model.provenance_["calibration"], **wrong})
