"""Nonlinear mechanisms of every outcome that is no diagnosis: times, numbers, stages and counts."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import run
from graded_zoo import GRADED_ZOO, GradedAnimal

from rootcausal import RCI, RCIRegressor, RCISurvival, plots
from rootcausal.errors import InputError

NAMES = ["dose", "level", "marker", "noise"]


@dataclass(frozen=True, eq=False)
class Bent:
    """A dose, what it raises until that is saturated, and a marker that acts where it is far from usual."""

    X: pd.DataFrame
    known: tuple[Any, ...]
    truth: np.ndarray
    make: Callable[..., Any]


def bent(outcome: str, n: int = 600, seed: int = 0) -> Bent:
    rng = np.random.default_rng([seed, n])
    dose = rng.standard_normal(n)
    level = np.tanh(1.5 * dose) + 0.4 * rng.standard_t(6, n)
    marker = np.exp(0.3 * level) * rng.standard_normal(n)
    X = pd.DataFrame(np.c_[dose, level, marker, rng.standard_normal(n)], columns=NAMES)
    truth = 0.7 * marker**2 + 0.6 * dose
    if outcome == "survival":
        time, end = rng.exponential(np.exp(-truth)), rng.uniform(0.2, 2.0, n)
        known = np.minimum(time, end), (time <= end).astype(int)
        return Bent(X, known, truth, RCISurvival)
    if outcome == "ordinal":
        stage = np.digitize(truth + rng.logistic(size=n), [0.0, 1.2, 3.0])
        return Bent(X, (stage,), truth, lambda **of: RCI(outcome="ordinal", **of))
    if outcome == "count":
        count = rng.poisson(np.exp(truth - 0.5))
        return Bent(X, (count,), truth, lambda **of: RCIRegressor(outcome="count", **of))
    number = 1e4 + 300.0 * (truth + 0.8 * rng.standard_normal(n))
    return Bent(X, (number,), truth, RCIRegressor)


OUTCOMES = ["survival", "continuous", "ordinal", "count"]


@pytest.fixture(params=OUTCOMES, scope="module")
def case(request: pytest.FixtureRequest) -> Bent:
    return bent(request.param)


@pytest.fixture(scope="module")
def model(case: Bent) -> Any:
    return case.make(mechanism="nonlinear").fit(case.X, *case.known).bootstrap(3)


def test_a_curve_is_found_that_a_line_cannot_see(case: Bent, model: Any) -> None:
    fresh = bent(model._model.attribution.outcome, n=2000, seed=1)
    line = case.make(mechanism="linear").fit(case.X, *case.known)
    told, by_lines = (np.corrcoef(one._predictor(fresh.X), fresh.truth)[0, 1] for one in (model, line))
    assert told > 0.93 and by_lines < 0.65
    order = [NAMES[c] for c in model.causal_order_]
    assert order.index("dose") < order.index("level") < order.index("marker")
    values = dict(zip(NAMES, np.abs(model.shapley_values(fresh.X)).mean(axis=0), strict=True))
    assert values["marker"] > 3.0 * values["noise"]


def test_values_add_up_in_the_outcomes_own_unit(case: Bent, model: Any) -> None:
    told = model.explain(case.X)
    unit = model._model.attribution.notable
    np.testing.assert_allclose(
        told.values.sum(axis=1) + model.intercept_, told.predictor, atol=1e-9 * max(1.0, 1e4 * unit)
    )
    assert told.sampling_sd is not None
    small = told.sampling_sd <= 0.1 * np.maximum(np.abs(told.values), unit)
    assert small.mean() > 0.95
    assert np.abs(told.values.mean(axis=0)).max() < 1.5 * unit  # on average a shock adds nothing


def test_everything_that_a_model_answers(case: Bent, model: Any, tmp_path: Path) -> None:
    told = model.explain(case.X[:60])
    assert np.isfinite(told.lower).any()
    after = told.what_if("dose", 0.0)
    assert np.abs(after.data[:, 1] - told.data[:, 1]).max() > 0.1
    figures = model.cross_validate(folds=2)
    assert all(np.isfinite(value) for value in figures.values())
    diagnosis = model.diagnose(case.X, *case.known)
    linear = next(check for check in diagnosis.checks if check.name == "linear")
    assert "the model's curves" in linear.question and linear.verdict != "broken"
    # A line in each shock is not what this model claims.
    assert not any(check.name == "straight" for check in diagnosis.checks)
    spread = next((check for check in diagnosis.checks if check.name == "even_spread"), None)
    assert spread is None or spread.verdict != "broken"
    model.report(case.X.iloc[:5], tmp_path / "page.html")
    assert "NaN" not in (tmp_path / "page.html").read_text().split("<script", 1)[0]
    assert plots.mechanism(model, "marker") is not None
    assert len(str(model.summary())) > 100
    model.save(tmp_path / "model.rci")
    again = type(model).load(tmp_path / "model.rci")
    for copy in (again, pickle.loads(pickle.dumps(model))):
        other = copy.explain(case.X[:60])
        for table in ("values", "lower", "upper", "predicted", "sampling_sd"):
            np.testing.assert_array_equal(getattr(told, table), getattr(other, table))


def test_risks_by_a_horizon_are_those_that_happen() -> None:
    case, fresh = bent("survival", n=1500), bent("survival", n=4000, seed=2)
    model = RCISurvival(mechanism="nonlinear", horizon=0.5).fit(case.X, *case.known)
    risk = model.predict_risk(fresh.X)
    truth = 1.0 - np.exp(-0.5 * np.exp(fresh.truth))
    assert abs(risk.mean() - truth.mean()) < 0.03
    assert np.abs(risk - truth).mean() < 0.06
    assert model.intercept_ == 0.0
    earlier = model.predict_risk(fresh.X, 0.1)
    np.testing.assert_allclose(earlier[:9], model.explain(fresh.X[:9], horizon=0.1).predicted[:9], rtol=1e-9)
    assert (earlier <= risk).all() and model.horizon_ == 0.5


def test_a_number_in_another_unit_is_the_same_number() -> None:
    case = bent("continuous")
    (number,) = case.known
    one = RCIRegressor(mechanism="nonlinear").fit(case.X, number)
    other = RCIRegressor(mechanism="nonlinear").fit(case.X, (number - 1e4) * 1e-7)
    np.testing.assert_allclose(
        one.shapley_values(case.X) * 1e-7, other.shapley_values(case.X), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("outcome", ["binary", *OUTCOMES])
def test_what_is_known_to_act_on_the_outcome_does(outcome: str) -> None:
    case = bent("continuous" if outcome == "binary" else outcome, n=300)
    known, make, rng = case.known, case.make, np.random.default_rng(0)
    if outcome == "binary":
        known, make = ((case.truth + rng.logistic(size=300) > 0.5).astype(int),), RCI
    said = {"causes": [("noise", "outcome")], "not_causes": [("level", "outcome")]}
    model = make(mechanism="nonlinear", knowledge=said).fit(case.X, *known)
    acts = dict(zip(model.causal_order_.tolist(), model._model.attribution._acts.tolist(), strict=True))
    assert acts[3] and not acts[1]


def straight(outcome: str, curve: float, n: int = 400, seed: int = 5) -> Bent:
    """Relations are lines, and so is what leads to the outcome, but for this much of a curve."""
    rng = np.random.default_rng([seed, n])
    a = rng.laplace(size=n)
    b = 0.7 * a + rng.laplace(size=n)
    X = pd.DataFrame({"a": a, "b": b, "c": rng.laplace(size=n)})
    truth = 0.5 * a + curve * np.abs(b)
    if outcome == "survival":
        time, end = rng.exponential(np.exp(-truth)), rng.uniform(0.2, 2.0, n)
        return Bent(X, (np.minimum(time, end), (time <= end).astype(int)), truth, RCISurvival)
    if outcome == "binary":
        return Bent(X, ((truth + rng.logistic(size=n) > truth.mean()).astype(int),), truth, RCI)
    return Bent(X, (truth + rng.laplace(size=n),), truth, RCIRegressor)


@pytest.mark.parametrize("outcome", ["binary", "survival", "continuous"])
def test_auto_weighs_how_the_outcome_is_told_too(outcome: str) -> None:
    """Where the relations of the variables are lines, their graph alone would say so."""
    case = straight(outcome, curve=1.2)
    model = case.make(mechanism="auto").fit(case.X, *case.known)
    said = model.provenance_["mechanism"]
    assert said["taken"] == "nonlinear" and "tell the outcome" in said["why"]
    assert np.corrcoef(model._predictor(case.X), case.truth)[0, 1] > 0.9
    line = straight(outcome, curve=0.0)
    model = case.make(mechanism="auto").fit(line.X, *line.known)
    assert model.provenance_["mechanism"]["taken"] == "linear"
    np.testing.assert_array_equal(model.coef_, line.make(mechanism="linear").fit(line.X, *line.known).coef_)


def test_where_auto_cannot_choose_it_takes_lines_and_says_why(tmp_path: Path) -> None:
    case = bent("ordinal", n=300)
    y = np.tile([1, 0, 0], 100)
    sets = np.repeat(np.arange(100), 3)
    paper = RCI(mechanism="auto", attribution="paper").fit(case.X, y)
    assert "attribution='paper'" in paper.provenance_["mechanism"]["why"]
    np.testing.assert_array_equal(paper.coef_, RCI(attribution="paper").fit(case.X, y).coef_)
    matched = RCI(mechanism="auto").fit(case.X, y, strata=sets)
    for model, why in ((paper, "regresses on the errors"), (matched, "matched sets")):
        said = model.provenance_["mechanism"]
        assert said["asked"] == "auto" and said["taken"] == "linear" and why in said["why"]
    table = tmp_path / "cohort.csv"
    case.X.assign(ill=y).to_csv(table, index=False)
    asked = ("--target", "ill", "--mechanism", "auto", "--attribution", "paper")
    fit = run("fit", table, *asked, "--out", tmp_path / "m.rci")
    assert "mechanism: linear. attribution='paper' regresses" in fit.output


def test_matched_sets_are_lines() -> None:
    case = bent("ordinal")
    y = np.tile([1, 0, 0], 200)
    sets = np.repeat(np.arange(200), 3)
    with pytest.raises(InputError, match=r"matched sets .* do not go together with mechanism='nonlinear'"):
        RCI(mechanism="nonlinear").fit(case.X, y, strata=sets)


def test_the_command_line(tmp_path: Path) -> None:
    case = bent("survival", n=300)
    table = tmp_path / "times.csv"
    case.X.assign(years=case.known[0], died=case.known[1]).to_csv(table, index=False)
    asked = (table, "--time", "years", "--event", "died", "--mechanism", "nonlinear")
    fit = run("fit", *asked, "--out", tmp_path / "m.rci")
    assert fit.exit_code == 0, fit.output
    assert "mechanism: nonlinear" in fit.output
    explained = run("explain", tmp_path / "m.rci", table, "--out", tmp_path / "e.csv")
    assert explained.exit_code == 0, explained.output
    check = run("check", *asked, "--json")
    assert json.loads(check.output)["provenance"]["mechanism"]["taken"] == "nonlinear"
    page = run("report", *asked, "--out", tmp_path / "page.html")
    assert page.exit_code == 0, page.output


# One of each kind of trouble; the others, which take longer, with the slow tests.
AT_ONCE = ("two_events", "ten_patients", "long_tailed_times", "closed_on_one_day", "rare_findings")


@pytest.mark.parametrize(
    "animal",
    [
        pytest.param(one, id=one.name, marks=() if one.name in AT_ONCE else pytest.mark.slow)
        for one in GRADED_ZOO
    ],
)
def test_the_zoo_of_times_and_numbers(animal: GradedAnimal) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which warnings are due is the linear method's business
        model = animal.estimator(mechanism="nonlinear").fit(animal.X, *animal.outcome)
        told = model.explain(animal.X)
    for table in (told.values, told.errors, told.predictor, told.predicted):
        assert np.isfinite(table).all()
    added = told.values.sum(axis=1) + (told.covariate_effect if told.covariates else 0.0)
    size = max(1.0, float(np.abs(told.predictor).max()))
    np.testing.assert_allclose(model.intercept_ + added, told.predictor, atol=1e-9 * size)
    names = list(animal.X) if isinstance(animal.X, pd.DataFrame) else []
    for some, sign in ((animal.raises, 1.0), (animal.lowers, -1.0)):
        for name in some:
            place = names.index(name)
            assert sign * float(np.cov(told.errors[:, place], told.values[:, place])[0, 1]) > 0, name
