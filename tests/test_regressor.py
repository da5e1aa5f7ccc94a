"""RCIRegressor: least squares on the errors, in the unit of the number, and a regressor as scikit-learn's."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from graded_cohorts import labs, number_cohort, pull, structured, survival_cohort
from hypothesis import given, settings
from hypothesis import strategies as st
from intervals_by_hand import assert_intervals_of_resamples
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from rootcausal import RCI, RCIRegressor, RCISurvival
from rootcausal.backends.cpu.rows import NumbaRaw
from rootcausal.backends.reference import ReferenceRaw
from rootcausal.outcomes.continuous import Continuous

every_attribution = pytest.mark.parametrize("attribution", ["sharp", "paper"])


@pytest.fixture(scope="module")
def cohort() -> tuple[pd.DataFrame, np.ndarray]:
    return number_cohort()


@pytest.fixture(scope="module")
def model(cohort: Any) -> RCIRegressor:
    return RCIRegressor().fit(*cohort).bootstrap(8)


# --- least squares ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["numpy", "numba"])
@pytest.mark.parametrize("variant", ["plus", "local_plus"])
def test_coefficients_are_least_squares_on_the_errors(cohort: Any, backend: str, variant: str) -> None:
    X, y = cohort
    model = RCIRegressor(attribution="paper", variant=variant, alpha=0.2, backend=backend).fit(X, y)
    errors, kept = model.transform(X), np.sort(model.causal_order_)
    line = LinearRegression().fit(errors, y)
    assert model.coef_[kept] == pytest.approx(line.coef_, abs=1e-8)
    assert model.intercept_ == pytest.approx(line.intercept_, abs=1e-8)
    assert model.predict(X) == pytest.approx(line.predict(errors), abs=1e-8)
    assert model.score(X, y) == pytest.approx(line.score(errors, y))
    assert model.intercept_ == pytest.approx(y.mean())


def test_with_all_columns_the_prediction_is_that_of_least_squares(cohort: Any) -> None:
    X, y = cohort
    model = RCIRegressor(attribution="paper", variant="plus").fit(X, y)
    assert model.predict(X) == pytest.approx(LinearRegression().fit(X, y).predict(X), abs=1e-8)


def test_sharp_effects_are_near_the_truth() -> None:
    X, y = number_cohort(2000, seed=1)
    model = RCIRegressor().fit(X, y)
    truth = 5.0 * np.sqrt(2.0) * np.array([0.7, 0.4, 1.0, -0.8])
    assert model.coef_ == pytest.approx(truth, abs=0.4)
    assert (model.ancestor_probability_ > 0.9).all()
    new, expected = number_cohort(2000, seed=2)
    assert model.score(new, expected) == pytest.approx(r2_score(expected, 60.0 + 5.0 * pull(new)), abs=0.01)
    assert r2_score(expected, model.predict(new)) == model.score(new, expected)


@pytest.mark.parametrize("raw", [ReferenceRaw, NumbaRaw])
def test_a_parabola_is_known_from_one_point(raw: Any, cohort: Any) -> None:
    X, y = cohort
    outcome, cols = Continuous.of(y), np.arange(4)
    table = raw(X.to_numpy(), outcome.rows(y)).standardize(cols, X.mean().to_numpy(), X.std().to_numpy())
    loss = outcome.loss(table, cols)
    beta = np.random.default_rng(0).standard_normal(5)
    here, there = loss.sums(beta), table.square_sums(cols, beta)
    assert here.loglik == pytest.approx(there.loglik / loss.variance)
    assert here.gradient == pytest.approx(there.gradient / loss.variance)
    assert here.hessian == pytest.approx(there.hessian / loss.variance)
    left = y - LinearRegression().fit(X, y).predict(X)
    assert loss.variance == pytest.approx((left @ left) / (300 - 5) / y.var(ddof=1), rel=0.01)


# --- units ------------------------------------------------------------------------------------------------


@every_attribution
@pytest.mark.parametrize("unit", [1e-3, 1e3, -1.0, 1e80, 1e-80])
def test_the_unit_of_the_number_is_that_of_all_that_is_said(
    cohort: Any, attribution: str, unit: float
) -> None:
    X, y = cohort
    one = RCIRegressor(attribution=attribution).fit(X, y)
    other = RCIRegressor(attribution=attribution).fit(X, unit * y)
    assert other.coef_ == pytest.approx(unit * one.coef_, rel=1e-9)
    assert other.intercept_ == pytest.approx(unit * one.intercept_, rel=1e-12)
    assert other.predict(X) == pytest.approx(unit * one.predict(X), rel=1e-9)
    assert other.explain(X).values == pytest.approx(unit * one.explain(X).values, rel=1e-6)
    assert other._model.attribution.notable == pytest.approx(abs(unit) * one._model.attribution.notable)


@every_attribution
def test_a_number_far_from_zero_keeps_its_digits(cohort: Any, attribution: str) -> None:
    X, y = cohort
    one = RCIRegressor(attribution=attribution).fit(X, y)
    other = RCIRegressor(attribution=attribution).fit(X, y + 1e9)
    assert other.coef_ == pytest.approx(one.coef_, rel=1e-6)
    assert other.predict(X) - 1e9 == pytest.approx(one.predict(X), abs=1e-5)
    assert other.score(X, y + 1e9) == pytest.approx(one.score(X, y), abs=1e-9)
    assert other.causal_order_.tolist() == one.causal_order_.tolist()


@given(st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_base_shocks_and_covariates_make_the_value(seed: int) -> None:
    X, y = number_cohort(100, seed)
    model = RCIRegressor(knowledge={"covariates": ["ldl"]} if seed % 2 else None).fit(X, y)
    new, _ = number_cohort(20, seed + 1)
    explanation = model.explain(new)
    together = explanation.base_value + explanation.values.sum(axis=1) + explanation.covariate_effect
    assert together == pytest.approx(model.predict(new))
    assert explanation.predictor == pytest.approx(explanation.predicted)
    assert explanation.base_value == model.intercept_
    with pytest.raises(AttributeError, match="this outcome has no probability"):
        _ = explanation.probability


def test_without_a_shock_the_value_is_what_the_others_make_it(cohort: Any, model: RCIRegressor) -> None:
    X, _ = cohort
    explanation = model.explain(X)
    answer = explanation.what_if("bmi")
    changed = X.assign(bmi=answer.data[:, 0], crp=answer.data[:, 2])
    assert model.predict(changed) == pytest.approx(model.predict(X) - explanation.values[:, 0])


# --- few patients, and what is told for certain -----------------------------------------------------------


@pytest.mark.parametrize(("n", "p"), [(40, 60), (30, 29), (30, 28)])
def test_as_many_errors_as_patients_prove_nothing(n: int, p: int) -> None:
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.laplace(size=(n, p))).add_prefix("x")
    y = 2.0 * X["x7"].to_numpy() + rng.laplace(size=n)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = RCIRegressor(variant="plus").fit(X, y)
    certain = any("tell every patient's number to the last digit" in str(one.message) for one in heard)
    assert certain == model.provenance_["separated"] == (n - p < 2)
    assert np.abs(model.coef_).argmax() == 7
    assert np.abs(np.delete(model.coef_, 7)).max() < 0.5 * model.coef_[7]
    assert -0.5 < model.score(X, y) <= 1.0


@every_attribution
def test_a_sum_of_columns_is_told_for_certain(attribution: str) -> None:
    X = labs(np.random.default_rng(0), 200)
    total = X.sum(axis=1)
    with pytest.warns(
        UserWarning, match="tell every patient's number to the last digit.*part of the outcome"
    ):
        model = RCIRegressor(attribution=attribution).fit(X, total)
    assert model.provenance_["separated"]
    assert model.score(X, total) > 0.99


@pytest.mark.parametrize("variant", ["local", "local_plus"])
def test_of_few_columns_none_is_dropped(variant: str) -> None:
    rng = np.random.default_rng(7)
    X = labs(rng, 150).assign(site=rng.choice(["north", "south", "far"], 150))
    y = X["crp"] + X["albumin"]  # once these are known, nothing is left to go with
    with pytest.warns(UserWarning, match="to the last digit"):
        one, other = (RCIRegressor(variant=variant, backend=name).fit(X, y) for name in ("numpy", "numba"))
    assert sorted(one.causal_order_) == list(range(5)) and not one.provenance_["adds_nothing"]
    assert one.causal_order_.tolist() == other.causal_order_.tolist()
    assert one.coef_ == pytest.approx(other.coef_, abs=1e-6)


def test_resamples_give_intervals_in_the_unit(cohort: Any, model: RCIRegressor, tmp_path: Path) -> None:
    X, y = cohort
    explanation = model.explain(X)
    assert_intervals_of_resamples(explanation)
    file = tmp_path / "resamples.npz"
    RCIRegressor().fit(X, y).bootstrap(3, resume=file)
    again = RCIRegressor().fit(X, y).bootstrap(8, resume=file)
    for one, other in zip(again.bootstrap_.models, model.bootstrap_.models, strict=True):
        assert np.array_equal(one.attribution.coef, other.attribution.coef)
        assert one.base_value == other.base_value
    with pytest.raises(ValueError, match="of another cohort, other options"):
        RCIRegressor().fit(X, y + 1.0).bootstrap(8, resume=file)


@every_attribution
@pytest.mark.parametrize("holes", [False, True], ids=["whole", "with holes"])
def test_backends_agree_on_columns_of_every_kind(attribution: str, holes: bool) -> None:
    rng = np.random.default_rng(4)
    X = labs(rng, 300).assign(site=rng.choice(["north", "south", "far"], 300))
    X["creatinine"] = np.exp(0.5 * rng.laplace(size=300))
    y = pull(X) + 2.0 * (X["site"] == "far") + np.log(X["creatinine"]) + rng.laplace(size=300)
    if holes:
        X = X.apply(lambda column: column.where(rng.random(300) > 0.1))
    options = {"attribution": attribution, "log": ["creatinine"]}
    one, other = (RCIRegressor(backend=name, **options).fit(X, y) for name in ("numpy", "numba"))
    assert one.causal_order_.tolist() == other.causal_order_.tolist()
    assert one.coef_ == pytest.approx(other.coef_, rel=1e-6, abs=1e-9)
    assert one.predict(X) == pytest.approx(other.predict(X))
    site = one.explain(X).values[:, list(X).index("site")]
    assert site[(X["site"] == "far").to_numpy()].min() > site[(X["site"] == "north").to_numpy()].max()


# --- scikit-learn -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", [RCIRegressor(), RCIRegressor(missing="refuse")], ids=str)
def test_scikit_learn_checks(estimator: RCIRegressor) -> None:
    results = check_estimator(estimator, on_skip=None)
    assert len(results) > 50
    skipped = {result["check_name"] for result in results if result["status"] != "passed"}
    assert skipped <= {"check_array_api_input"}  # needs SCIPY_ARRAY_API in the environment


def test_it_is_a_regressor_and_survival_is_none_of_both() -> None:
    assert is_regressor(RCIRegressor()) and not is_regressor(RCISurvival())
    assert not is_regressor(RCI())


ALL_PARAMETERS: dict[str, Any] = {
    "alpha": 0.5,
    "variant": "plus",
    "attribution": "paper",
    "backend": "numpy",
    "progress": False,
    "kinds": {"bmi": "number"},
    "missing": "refuse",
    "knowledge": {"first": ["bmi"]},
    "confounding": None,
    "log": None,
    "mechanism": "linear",
    "reliability": None,
    "limits": None,
}
EVERY_ESTIMATOR = [
    pytest.param(
        RCIRegressor, {"outcome": "continuous", "dispersion": None}, number_cohort(150), id="RCIRegressor"
    ),
    pytest.param(
        RCISurvival,
        {"positive": 1, "horizon": 0.4, "competing": None, "incidence": False},
        survival_cohort(150),
        id="RCISurvival",
    ),
]
every_estimator = pytest.mark.parametrize(("kind", "more", "data"), EVERY_ESTIMATOR)


@every_estimator
def test_parameters_are_kept_and_cloned(kind: Any, more: dict[str, Any], data: tuple) -> None:
    given_ones = ALL_PARAMETERS | more
    model = kind(**given_ones)
    assert model.get_params() == given_ones
    assert kind().set_params(**given_ones).get_params() == given_ones
    assert clone(model).get_params() == given_ones
    fitted = model.fit(*data)
    assert fitted is model and fitted.get_params() == given_ones
    assert "attribution='paper'" in repr(model)
    with pytest.raises(NotFittedError):
        clone(fitted).predict(data[0])
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        kind().set_params(colour="red")


@every_estimator
def test_fitting_again_gives_the_same_and_changes_nothing(kind: Any, more: dict, data: tuple) -> None:
    before = [part.copy() for part in data]
    model = kind(**more).fit(*data)
    first = model.predict(data[0]), model.coef_, dict(model.provenance_)
    again = model.fit(*data)
    assert np.array_equal(again.predict(data[0]), first[0]) and np.array_equal(again.coef_, first[1])
    assert again.provenance_ == first[2] and again.bootstrap_ is None
    for part, kept in zip(data, before, strict=True):
        assert np.array_equal(part, kept)
    order = np.random.default_rng(0).permutation(len(data[0]))
    shuffled = kind(**more).fit(
        *(part.iloc[order] if hasattr(part, "iloc") else part[order] for part in data)
    )
    assert shuffled.coef_ == pytest.approx(model.coef_, rel=1e-6)


@every_estimator
def test_a_failed_fit_leaves_the_model_of_before(kind: Any, more: dict, data: tuple) -> None:
    model = kind(**more).fit(*data)
    expected = model.predict(data[0])
    with pytest.raises(ValueError, match="has 149"):
        model.fit(data[0], *(part[:-1] for part in data[1:]))
    assert np.array_equal(model.predict(data[0]), expected)


@every_estimator
def test_pickles_travel_without_patients(kind: Any, more: dict, data: tuple) -> None:
    model = kind(**more).fit(*data).bootstrap(2)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(data[0]), model.predict(data[0]))
    assert np.array_equal(copy.explain(data[0]).lower, model.explain(data[0]).lower)
    assert copy._cohort is None
    with pytest.raises(ValueError, match="fit"):
        copy.bootstrap(2)


@every_estimator
def test_it_stands_at_the_end_of_a_pipeline(kind: Any, more: dict, data: tuple) -> None:
    name = kind.__name__.lower()
    line = make_pipeline(FunctionTransformer(lambda X: 2.0 * X), kind(**more))
    rest = {f"{name}__event": data[2]} if len(data) > 2 else {}
    line.fit(data[0], data[1], **rest)
    assert line.predict(data[0]) == pytest.approx(kind(**more).fit(*data).predict(data[0]), abs=1e-6)


def test_cross_validation_and_search_of_a_regressor(cohort: Any) -> None:
    scores = cross_val_score(RCIRegressor(), *cohort, cv=3)
    assert scores.shape == (3,) and (scores > 0.4).all()
    search = GridSearchCV(RCIRegressor(), {"alpha": [0.2, 1.0]}, cv=3).fit(*cohort)
    assert search.best_params_["alpha"] in (0.2, 1.0) and search.best_score_ > 0.4


def test_cross_validation_and_search_with_times_as_scikit_survival_has_them() -> None:
    X, time, event = survival_cohort(200)
    both = structured(time, event)
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(RCISurvival(), X, both, cv=folds)
    assert scores.shape == (3,) and (scores > 0.7).all()
    by_hand = [
        RCISurvival().fit(X.iloc[train], both[train]).score(X.iloc[test], time[test], event[test])
        for train, test in folds.split(X)
    ]
    assert scores == pytest.approx(by_hand)
    grid = {"alpha": [0.05, 1.0], "attribution": ["sharp", "paper"]}
    search = GridSearchCV(RCISurvival(), grid, cv=folds).fit(X, both)
    assert search.best_score_ > 0.7 and search.best_estimator_.horizon_ > 0
