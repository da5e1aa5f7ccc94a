"""Cross-validated figures: what a model knows of patients whom it has not seen."""

from __future__ import annotations

import re
from contextlib import nullcontext

import numpy as np
import pytest
from command_line import ok
from sklearn.metrics import brier_score_loss, r2_score, roc_auc_score

from rootcausal import RCI, InputError, RCIRegressor, RCISurvival
from rootcausal.data import load_pbc, simulate
from rootcausal.files.writing import write_tables
from rootcausal.outcomes.binary import area
from rootcausal.outcomes.survival import brier, concordance
from rootcausal.resampling.cross_validation import _folds, fold_by_fold


@pytest.fixture(scope="module")
def cohort():
    drawn = simulate(300, 6, random_state=3)
    g = np.random.default_rng(0)
    hazard = np.exp(drawn.X @ drawn.target_weights)
    died, left = g.exponential(1 / hazard), g.exponential(2.0, size=300)
    return drawn, np.minimum(died, left), (died <= left).astype(int)


def by_hand(model, rows, folds=5):
    """Each fold told by an estimator of the same parameters, fitted on all other rows."""
    member = _folds(rows, folds, np.random.default_rng(0))
    for fold in range(folds):
        yield np.flatnonzero(member == fold), np.flatnonzero(member != fold)


def test_figures_of_a_diagnosis_are_those_of_models_that_did_not_see_the_patients(cohort):
    drawn, *_ = cohort
    model = RCI().fit(drawn.X, drawn.y)
    figures = model.cross_validate()
    areas, risk = [], np.empty(300)
    for inside, outside in by_hand(model, model._cohort):
        other = RCI().fit(drawn.X[outside], drawn.y[outside])
        risk[inside] = other.predict_proba(drawn.X[inside])[:, 1]
        areas.append(roc_auc_score(drawn.y[inside], risk[inside]))
    assert figures["auc"] == pytest.approx(np.mean(areas), abs=1e-12)
    assert figures["brier"] == pytest.approx(brier_score_loss(drawn.y, risk), abs=1e-12)
    assert figures["brier"] < figures["brier_without_variables"]
    assert model.provenance_["cross_validation"] == figures
    assert figures == model.cross_validate() != model.cross_validate(random_state=1)


def test_figures_of_follow_up(cohort):
    drawn, time, event = cohort
    model = RCISurvival(horizon=0.5).fit(drawn.X, time, event)
    figures = model.cross_validate(folds=4)
    inside_folds, risk = [], np.empty(300)
    for inside, outside in by_hand(model, model._cohort, 4):
        other = RCISurvival(horizon=0.5).fit(drawn.X[outside], time[outside], event[outside])
        risk[inside] = other.predict_risk(drawn.X[inside])
        inside_folds.append(other.score(drawn.X[inside], time[inside], event[inside]))
    assert figures["concordance"] == pytest.approx(np.mean(inside_folds), abs=1e-12)
    assert figures["brier"] == pytest.approx(brier(risk, time, event, 0.5), abs=1e-12)
    assert figures["brier"] < figures["brier_without_variables"]
    assert figures["horizon"] == 0.5


def test_figures_of_a_number(cohort):
    drawn, *_ = cohort
    y = 40 + 5 * (drawn.X @ drawn.target_weights) + np.random.default_rng(1).normal(size=300)
    model = RCIRegressor().fit(drawn.X, y)
    figures = model.cross_validate()
    told = np.empty(300)
    for inside, outside in by_hand(model, model._cohort):
        told[inside] = RCIRegressor().fit(drawn.X[outside], y[outside]).predict(drawn.X[inside])
    assert figures["r2"] == pytest.approx(r2_score(y, told), abs=0.01)  # of means of folds, and of all
    assert figures["error"] == pytest.approx(np.sqrt(np.mean((y - told) ** 2)), abs=1e-9)
    assert figures["error_without_variables"] == pytest.approx(y.std(), rel=0.02)


def test_a_cohort_of_noise_knows_nothing():
    g = np.random.default_rng(5)
    X, time, event = g.normal(size=(400, 5)), g.exponential(size=400), g.integers(0, 2, 400)
    figures = RCISurvival().fit(X, time, event).cross_validate()
    assert abs(figures["concordance"] - 0.5) < 0.08
    assert figures["brier"] == pytest.approx(figures["brier_without_variables"], abs=0.01)


def test_holes_patients_with_several_rows_and_a_prevalence(cohort):
    drawn, time, event = cohort
    g = np.random.default_rng(2)
    X = np.where(g.random(drawn.X.shape) < 0.1, np.nan, drawn.X)
    groups = np.repeat(np.arange(100), 3)
    model = RCISurvival().fit(X, time, event, groups)
    assert 0.5 < model.cross_validate()["concordance"] < 1
    member = _folds(model._cohort, 5, np.random.default_rng(0))
    assert all(np.unique(member[groups == patient]).size == 1 for patient in range(100))
    assert set(RCI(prevalence=0.1).fit(drawn.X, drawn.y).cross_validate()) == {"auc", "folds", "random_state"}


@pytest.mark.parametrize("outcome", ["diagnosis", "diagnosis, bent", "number", "follow-up"])
def test_a_resample_or_fold_in_which_no_variable_varies(outcome):
    """Two patients have the one finding that there is; without them everybody is expected to do alike."""
    rng, n = np.random.default_rng(0), 40
    X, number, had = np.zeros((n, 1)), rng.exponential(size=n), (rng.random(n) < 0.7).astype(int)
    X[:2] = 1.0
    model, known = {
        "diagnosis": (RCI(alpha=0.2), (had,)),
        "diagnosis, bent": (RCI(alpha=0.2, mechanism="nonlinear"), (had,)),
        "number": (RCIRegressor(), (number,)),
        "follow-up": (RCISurvival(), (number, had)),
    }[outcome]
    said = (
        pytest.warns(UserWarning, match="depends on no variable") if "diagnosis" in outcome else nullcontext()
    )
    with said:
        model.fit(X, *known)
    model.bootstrap(20)
    assert len(model.bootstrap_) == 20
    assert all(np.isfinite(figure) for figure in model.cross_validate().values())


@pytest.mark.parametrize("folds", [1, 0, 2.5, "5", 301])
def test_folds_that_cannot_be_cut(cohort, folds):
    drawn, *_ = cohort
    with pytest.raises(InputError, match="folds must be a whole number from 2"):
        RCI().fit(drawn.X, drawn.y).cross_validate(folds)


def test_too_few_cases_for_the_folds():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.zeros(40, dtype=int)
    y[:2] = 1
    model = RCI(variant="plus").fit(X, y)
    with pytest.raises(InputError, match="folds are too many for this cohort"):
        list(fold_by_fold(model._cohort, 5, 0))


def test_figures_that_cannot_be_told_are_nan():
    assert np.isnan(area(np.arange(3.0), np.zeros(3, dtype=int)))
    assert np.isnan(concordance(np.arange(3.0), np.arange(3.0), np.zeros(3)))


def test_follow_up_of_pbc_keeps_the_transplanted_until_their_transplant():
    yes_no, followed = load_pbc(), load_pbc(follow_up=True)
    assert (len(yes_no.y), len(followed.y), followed.y.sum()) == (258, 276, 111)
    assert len(load_pbc(complete=False, follow_up=True).y) == 418
    assert yes_no.years is None and followed.years.max() == pytest.approx(4556 / 365.25)
    assert followed.to_frame().column_names[-2:] == ["years", "died"]
    figures = RCISurvival(horizon=5).fit(followed.X, followed.years, followed.y).cross_validate()
    assert figures["concordance"] > 0.77 and figures["brier"] < 0.14


def test_the_command_line_says_what_the_model_knows(tmp_path):
    table = load_pbc(follow_up=True).to_frame()
    write_tables({tmp_path / "pbc.csv": table}, {})
    times = ok("check", tmp_path / "pbc.csv", "--time", "years", "--event", "died", "--id", "id")
    assert re.search(
        r"not seen \(5 folds\): it tells which of two patients has the event first in 8\d%", times
    )
    assert "mean squared error of its risks (Brier score) 0.09" in " ".join(times.split())
    number = ok(
        "check", tmp_path / "pbc.csv", "--target", "bili", "--outcome", "continuous", "--drop", "id,years"
    )
    assert re.search(r"it tells \d+% of the variance; typical error", " ".join(number.split()))
    yes_no = ok("check", tmp_path / "pbc.csv", "--target", "died", "--drop", "id,years")
    assert "it gives the one with the disease the higher risk in 8" in " ".join(yes_no.split())


def test_follow_up_that_ends_at_the_horizon_counts_as_without_the_event():
    g = np.random.default_rng(4)
    time = np.minimum(g.exponential(4.0, 300), 5.0)
    event, risk = (time < 5.0).astype(float), g.random(300)
    assert brier(risk, time, event, 5.0) == pytest.approx(brier(risk, time, event, 5.0 - 1e-9), abs=1e-12)
    assert brier(risk, time, event, 5.0) == pytest.approx(np.mean((event - risk) ** 2), abs=1e-12)


def test_figures_are_those_that_a_file_can_hold(tmp_path):
    X, g = np.arange(10.0).reshape(5, 2) ** 1.5, np.random.default_rng(0)
    with pytest.warns(UserWarning, match="for certain"):
        model = RCISurvival().fit(X + g.normal(size=X.shape), np.arange(1.0, 6.0), [1, 1, 0, 1, 0])
    figures = model.cross_validate(np.int64(5), random_state=np.int64(0))
    assert "concordance" not in figures and type(figures["folds"]) is int
    model.save(tmp_path / "model.rci")
    for seed in (-1, "a", None, 1.5):
        with pytest.raises(InputError, match="random_state must be a whole number"):
            model.cross_validate(random_state=seed)


def test_new_patients_may_have_no_time(cohort, tmp_path):
    drawn, time, event = cohort
    model = RCISurvival().fit(drawn.X, time, event)
    model.report(drawn.X[:1], tmp_path / "page.html", [0.0], [1])
    with pytest.raises(InputError, match="requires time to be passed"):
        model.diagnose(drawn.X, event=event)
