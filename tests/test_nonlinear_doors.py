"""RCI(mechanism=): bent mechanisms through every door, and over the zoo of life-like cohorts."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import run
from intervals_by_hand import assert_intervals_of_resamples
from zoo import ZOO, Animal
from zoo_fits import documented_warnings, fitted

from rootcausal import RCI, InputError, Knowledge, RCIRegressor, RCISurvival, plots
from rootcausal.data import load_pbc, simulate
from rootcausal.estimators import mechanism_choice
from rootcausal.nonlinear import learning


def bent_cohort(n: int = 800, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """A dose that saturates, a marker whose spread grows with it, sex, stage and ward; and an outcome."""
    rng = np.random.default_rng(seed)
    dose = rng.exponential(size=n)
    sex = rng.integers(2, size=n)
    level = 3 * np.tanh(1.5 * dose) + 0.5 * sex + 0.3 * rng.standard_t(5, n)
    marker = level + (0.2 + 0.4 * level.clip(0)) * rng.uniform(-1, 1, n)
    stage = np.searchsorted([0.5, 2.0, 3.5], marker + rng.logistic(scale=0.5, size=n))
    ward = np.where(rng.random(n) < 0.3, "a", np.where(level + rng.normal(size=n) > 2, "b", "c"))
    log_odds = 0.9 * (marker - marker.mean()) + 0.4 * (stage - stage.mean())
    y = (rng.random(n) < 1 / (1 + np.exp(-log_odds))).astype(int)
    X = pd.DataFrame(
        {"marker": marker, "dose": dose, "level": level, "sex": sex, "stage": stage, "ward": ward}
    )
    return X, y


KINDS = {"stage": "ordinal", "ward": "nominal"}


@pytest.fixture(scope="module")
def cohort() -> tuple[pd.DataFrame, np.ndarray]:
    return bent_cohort()


@pytest.fixture(scope="module")
def model(cohort: tuple[pd.DataFrame, np.ndarray]) -> RCI:
    X, y = cohort
    return RCI(mechanism="nonlinear", kinds=KINDS).fit(X, y).bootstrap(6)


def holds_together(model: RCI, X: object) -> None:
    """What is said of patients is finite, and adds up to what is predicted."""
    told = model.explain(X)
    for table in (told.values, told.errors, told.predictor, told.sampling_sd):
        assert table is not None and np.isfinite(table).all()
    size = max(1.0, np.abs(told.predictor).max())
    np.testing.assert_allclose(told.predictor, model.decision_function(X), atol=1e-9 * size)


def test_the_relations_are_found(cohort: tuple[pd.DataFrame, np.ndarray], model: RCI) -> None:
    X, _ = cohort
    names = list(X)
    mechanism = model._model.mechanism
    assert mechanism.kind == "nonlinear"
    order = [names[c] for c in model.causal_order_]
    assert order.index("dose") < order.index("level") < order.index("marker") < order.index("stage")
    forms = dict(
        zip([model._encoding.column_names[c] for c in mechanism.order], mechanism.forms(), strict=True)
    )
    assert (
        forms["level"] in ("nonlinear", "heteroscedastic")
        and forms["marker"] == "heteroscedastic"
        and forms["dose"] == "linear"
    )
    holds_together(model, X)
    # Each of them is an ancestor, by way of the marker and the stage; the ward is none.
    assert (model.ancestor_probability_[:-1] > 0.9).all() and model.ancestor_probability_[-1] < 0.2
    # A shock adds nothing on average, whatever the others.
    values = model.shapley_values(X)
    assert np.abs(values.mean(axis=0)).max() < 0.06 and values.std(axis=0).max() > 0.5


def test_everything_that_a_model_answers(
    cohort: tuple[pd.DataFrame, np.ndarray], model: RCI, tmp_path: Path
) -> None:
    X, y = cohort
    errors = model.transform(X)
    assert errors.shape == (len(X), model.causal_order_.size)
    np.testing.assert_allclose(errors.std(axis=0), 1.0, atol=0.35)
    assert model.predict_proba(X).shape == (len(X), 2)
    assert model.cross_validate()["auc"] > 0.6
    told = model.explain(X)
    assert_intervals_of_resamples(told)
    frame = told.to_frame()
    assert set(frame["variable"]) == set(X)
    after = told.what_if("dose", 0.0)
    place = list(X).index("level")
    assert np.abs(after.data[:, place] - told.data[:, place]).max() > 0.1  # what lies downstream follows
    sex = list(X).index("sex")
    np.testing.assert_array_equal(after.data[:, sex], told.data[:, sex])
    diagnosis = model.diagnose(X, y)
    assert {check.name for check in diagnosis.checks} >= {"linear", "independent", "calibrated"}
    model.report(X, tmp_path / "page.html", y)
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_what_a_unit_more_of_a_shock_adds_on_average(
    cohort: tuple[pd.DataFrame, np.ndarray], model: RCI
) -> None:
    """By the patients themselves, shock by shock; the average over people is that of independent shocks."""
    X, _ = cohort
    told = model.explain(X)
    for name in ("dose", "level", "marker"):
        shocks = told.errors[:, list(X).index(name)]
        ends = np.clip(np.stack([shocks + 0.5, shocks - 0.5]), shocks.min(), shocks.max())
        added = [
            np.diff([told[row : row + 1].what_if(name, end).predictor[0] for end in ends[::-1, row]])[0]
            for row in range(0, len(X), 10)
        ]
        by_hand = np.mean(added) / (ends[0] - ends[1])[::10].mean()
        assert model.coef_[list(X).index(name)] == pytest.approx(by_hand, rel=0.15, abs=0.03), name


def test_a_file_keeps_it_to_the_last_bit(
    cohort: tuple[pd.DataFrame, np.ndarray], model: RCI, tmp_path: Path
) -> None:
    X, _ = cohort
    model.save(tmp_path / "model.rci")
    again = RCI.load(tmp_path / "model.rci")
    assert again.get_params()["mechanism"] == "nonlinear"
    assert again.provenance_ == model.provenance_
    np.testing.assert_array_equal(again.ancestor_probability_, model.ancestor_probability_)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    one, other = model.explain(X), again.explain(X)
    for table in ("values", "errors", "lower", "upper", "frequency", "sampling_sd"):
        np.testing.assert_array_equal(getattr(one, table), getattr(other, table))


def test_resamples_are_the_same_for_any_number_of_jobs(tmp_path: Path) -> None:
    X, y = bent_cohort(250)
    X = X[["dose", "level", "marker"]]
    one = RCI(mechanism="nonlinear").fit(X, y).bootstrap(6)
    other = RCI(mechanism="nonlinear").fit(X, y).bootstrap(3, resume=tmp_path / "r.npz")
    other.bootstrap(6, n_jobs=2, resume=tmp_path / "r.npz")
    np.testing.assert_array_equal(one.explain(X).lower, other.explain(X).lower)
    with pytest.raises(InputError, match="other options"):
        RCI(mechanism="linear").fit(X, y).bootstrap(6, resume=tmp_path / "r.npz")


def test_auto_takes_what_the_data_call_for() -> None:
    X, y = bent_cohort()
    bent = RCI().fit(X[["dose", "level", "marker"]], y)
    said = bent.provenance_["mechanism"]
    assert said["asked"] == "auto" and said["taken"] == "nonlinear" and said["why"]
    lines = simulate(1000, 8, random_state=3)
    straight, plain = (RCI(mechanism=name).fit(lines.X, lines.y) for name in ("auto", "linear"))
    assert straight.provenance_["mechanism"]["taken"] == "linear"
    np.testing.assert_array_equal(straight.coef_, plain.coef_)
    assert "mechanism" not in plain.provenance_
    again = bent.fit(lines.X, lines.y)  # an estimator that was bent before has coefficients again
    assert again.coef_.shape == (7,)


def test_auto_sees_a_slight_bend() -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        dose, other = rng.laplace(size=(2, 300))
        level = 0.4 * (dose**2 - 1.0) + rng.laplace(size=300)
        ill = other + dose + 2.0 * rng.logistic(size=300) > 0
        made = RCI().fit(np.column_stack([dose, level, other]), ill).provenance_["mechanism"]
        assert made["taken"] == "nonlinear"


def test_auto_does_not_take_long_tails_for_curves() -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.standard_t(3, size=(150, 6))
        X = X @ np.linalg.inv(np.eye(6) - 0.6 * np.tril(rng.normal(size=(6, 6)), -1)).T
        ill = X[:, -1] - X[:, 1] + 2.0 * rng.logistic(size=150) > 0
        assert RCI().fit(X, ill).provenance_["mechanism"]["taken"] == "linear"


def test_auto_keeps_to_lines_where_curves_decide_the_outcome() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.laplace(size=(300, 2))])
    made = RCI().fit(X, np.abs(X[:, 0]) > 1.0).provenance_["mechanism"]
    assert made["taken"] == "linear" and "for certain" in made["why"]


def test_it_is_the_default() -> None:
    assert {make().mechanism for make in (RCI, RCISurvival, RCIRegressor)} == {"auto"}


def test_where_nothing_bends_no_curve_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("a search of curves")

    monkeypatch.setattr(learning.GraphSearch, "run", never)
    lines = simulate(1000, 8, random_state=3)
    holed = np.where(np.random.default_rng(0).random(lines.X.shape) < 0.02, np.nan, lines.X)
    for X in (lines.X, holed):
        said = RCI().fit(X, lines.y).provenance_["mechanism"]
        assert said["taken"] == "linear" and "No curve and no product" in said["why"]


@pytest.mark.parametrize(("rows", "columns"), [(410, 201), (700, 3)])
def test_of_large_tables_curves_are_searched_when_asked_for(
    rows: int, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nobody is warned that some columns were not looked at."""
    monkeypatch.setattr(mechanism_choice, "SEARCHED_UNASKED", 410 * 201)
    rng = np.random.default_rng(0)
    X = rng.laplace(size=(rows, columns))
    y = (2.0 * X[:, 0] ** 2 + X[:, 1] + rng.logistic(size=rows) > 2.0).astype(int)
    taken = RCI().fit(X, y).provenance_["mechanism"]
    assert taken["taken"] == ("linear" if columns == 201 else "nonlinear")
    monkeypatch.setattr(mechanism_choice, "SEARCHED_UNASKED", 2000)
    taken = RCI().fit(X, y).provenance_["mechanism"]
    assert taken["taken"] == "linear" and "mechanism='nonlinear'" in taken["why"]


def test_curves_that_leave_a_column_out_are_not_taken_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The product of two columns has a shock by lines; nobody who did not ask is warned."""
    monkeypatch.setattr(learning, "LEAST_OWN", 0.02)  # what a ridge leaves of it in so few rows
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-1.0, 1.0, (2, 500))
    X = np.column_stack([a, b, a * b])
    y = (3.0 * (a + b) + 5.0 * a * b + rng.logistic(size=500) > 0.0).astype(int)
    model = RCI().fit(X, y)
    said = model.provenance_["mechanism"]
    assert said["taken"] == "linear" and "make some columns of others" in said["why"]
    assert model.causal_order_.size == 3


def test_what_is_known_of_the_order_holds(cohort: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, y = cohort
    known = Knowledge(first=["sex"], tiers=[["stage", "ward"], ["dose", "level", "marker"]])
    model = RCI(mechanism="nonlinear", kinds=KINDS, knowledge=known).fit(X, y)
    order = [list(X)[c] for c in model.causal_order_]
    assert order[0] == "sex" and set(order[1:3]) == {"stage", "ward"}
    effects = model._model.direct_effects()
    assert not effects[0].any()  # nothing acts on what comes first
    assert not np.triu(effects).any()
    holds_together(model, X)


def test_no_path_leads_against_what_is_known() -> None:
    """b acts on c and c on a, and somebody says that a comes before b."""
    rng = np.random.default_rng(0)
    b = rng.exponential(size=600)
    c = 2 * np.tanh(b) + 0.3 * rng.standard_t(5, 600)
    a = c**2 + 0.5 * rng.exponential(size=600)
    y = (rng.random(600) < 1 / (1 + np.exp(-(a - a.mean())))).astype(int)
    X = pd.DataFrame({"a": a, "b": b, "c": c})
    model = RCI(mechanism="nonlinear", variant="plus", knowledge=Knowledge(causes=[("a", "b")])).fit(X, y)
    order = model.causal_order_.tolist()
    assert order.index(0) < order.index(1)
    holds_together(model, X)


def test_some_of_many_rows_lead_to_the_same_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """As do all of them, and what is fitted in the end is of all."""
    X, y = bent_cohort(6000, seed=2)
    whole = RCI(mechanism="nonlinear", kinds=KINDS).fit(X, y)
    monkeypatch.setattr(learning, "SEARCHED_ROWS", 1500)
    some = RCI(mechanism="nonlinear", kinds=KINDS).fit(X, y)
    assert np.array_equal(some.causal_order_, whole.causal_order_)
    assert some.provenance_["pairs_evaluated"] < whole.provenance_["pairs_evaluated"]
    expected = whole._model.direct_effects()
    np.testing.assert_allclose(some._model.direct_effects(), expected, atol=1e-3)
    assert np.array_equal(some._model.direct_effects() != 0, expected != 0)


def test_many_causes_are_found() -> None:
    rng = np.random.default_rng(0)
    causes = rng.exponential(size=(2000, 7))
    effect = causes.sum(axis=1) + rng.normal(size=2000)
    y = (rng.random(2000) < 1 / (1 + np.exp(-(effect - effect.mean())))).astype(int)
    model = RCI(mechanism="nonlinear", variant="plus").fit(np.column_stack([causes, effect]), y)
    assert model.causal_order_[-1] == 7
    assert (np.abs(model._model.direct_effects()[-1]) > 0.1).sum() == 7


def test_covariates_are_adjusted_for(cohort: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, y = cohort
    known = Knowledge(covariates=["sex", "dose"])
    model = RCI(mechanism="nonlinear", kinds=KINDS, knowledge=known).fit(X, y)
    told = model.explain(X)
    assert told.covariates == ("dose", "sex")
    assert not told.values[:, [1, 3]].any() and told.covariate_effect.any()
    holds_together(model, X)


def test_missing_values_are_filled_in(cohort: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, y = cohort
    holed = X.mask(np.random.default_rng(1).random(X.shape) < 0.05)
    model = RCI(mechanism="nonlinear", kinds=KINDS).fit(holed, y)
    missing = model.provenance_["missing"]
    assert missing["draws"] > 1 and missing["rows"] == holed.isna().any(axis=1).sum()
    assert missing["cells"] == holed.isna().sum().to_dict()
    holds_together(model, holed)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.25])
def test_imputed_cells_turn_nothing_round(share: float) -> None:
    """What is drawn is Gaussian, and knows of no curve: mechanisms are those of what was measured."""
    X, y = bent_cohort()
    chain = X[["dose", "level", "marker"]]
    holed = chain.mask(np.random.default_rng(1).random(chain.shape) < share)
    some = holed.notna().any(axis=1)
    model = RCI(mechanism="nonlinear").fit(holed[some], y[some])
    assert list(model.causal_order_) == [0, 1, 2]
    whole = RCI(mechanism="nonlinear").fit(chain, y)
    told = model.explain(chain).values, whole.explain(chain).values
    assert np.corrcoef(told[0].ravel(), told[1].ravel())[0, 1] > 0.95


@pytest.mark.filterwarnings("ignore:mostly imputed")
def test_a_column_that_few_have_is_no_cause_and_no_effect() -> None:
    X, y = bent_cohort()
    rare = X[["dose", "level", "marker"]].copy()
    rare.loc[25:, "marker"] = np.nan
    model = RCI(mechanism="nonlinear").fit(rare, y)
    place = list(model.causal_order_).index(2)
    effects = model._model.direct_effects()
    assert not effects[place].any() and not effects[:, place].any()
    assert np.isfinite(effects).all()
    holds_together(model, rare)


def test_a_column_that_nobody_has_beside_another_is_no_cause_of_it() -> None:
    X, y = bent_cohort()
    halves = X[["dose", "level", "marker"]].copy()
    halves.loc[:399, "dose"] = np.nan
    halves.loc[400:, "marker"] = np.nan
    model = RCI(mechanism="nonlinear").fit(halves, y)
    effects = model._model.direct_effects()
    order = list(model.causal_order_)
    assert effects[order.index(2), order.index(0)] == effects[order.index(0), order.index(2)] == 0.0
    assert order.index(0) < order.index(1) < order.index(2)
    holds_together(model, halves)


def test_one_imputed_cell_turns_nothing_round(cohort: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, y = cohort
    holed = X[["dose", "level", "marker"]].copy()
    holed.iloc[0, 0] = np.nan
    assert list(RCI(mechanism="nonlinear").fit(holed, y).causal_order_) == [0, 1, 2]  # and no warning


def test_draws_go_by_what_rows_hold(cohort: tuple[pd.DataFrame, np.ndarray]) -> None:
    # Not by the order of the rows. Which causal order draws give is not promised: they are Gaussian, and of
    # relations that bend they may turn it round.
    X, y = cohort
    holed = X[["dose", "level", "marker"]].mask(np.random.default_rng(1).random((len(X), 3)) < 0.05)
    shuffled = np.random.default_rng(2).permutation(len(X))
    model = RCI(mechanism="nonlinear").fit(holed, y)
    other = RCI(mechanism="nonlinear").fit(holed.iloc[shuffled].reset_index(drop=True), y[shuffled])
    np.testing.assert_array_equal(model.causal_order_, other.causal_order_)
    np.testing.assert_allclose(
        model.shapley_values(X[holed.columns]), other.shapley_values(X[holed.columns]), atol=1e-6
    )


def test_complete_rows_give_the_order_back(cohort: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, y = cohort
    numbers = X[["dose", "level", "marker"]]
    for seed in range(3):
        whole = (np.random.default_rng(seed).random(numbers.shape) >= 0.05).all(axis=1)
        assert list(RCI(mechanism="nonlinear").fit(numbers[whole], y[whole]).causal_order_) == [0, 1, 2]


def test_cases_and_controls_are_weighted_to_the_population() -> None:
    X, y = bent_cohort(3000, seed=5)
    X = X[["dose", "level", "marker"]]
    cases, controls = np.flatnonzero(y == 1), np.flatnonzero(y == 0)[:300]
    rows = np.concatenate([cases, controls])
    model = RCI(mechanism="nonlinear", prevalence=0.3).fit(X.iloc[rows], y[rows])
    plain = RCI(mechanism="nonlinear").fit(X.iloc[rows], y[rows])
    assert model.predict_proba(X)[:, 1].mean() < plain.predict_proba(X)[:, 1].mean() - 0.1
    holds_together(model, X)


@pytest.mark.parametrize("backend", ["numpy", "numba"])
def test_both_backends_say_the_same(backend: str) -> None:
    X, y = bent_cohort(300)
    X = X[["dose", "level", "marker", "stage"]]
    one = RCI(mechanism="nonlinear", backend=backend).fit(X, y)
    other = RCI(mechanism="nonlinear").fit(X, y)
    np.testing.assert_array_equal(one.causal_order_, other.causal_order_)
    np.testing.assert_allclose(one.shapley_values(X), other.shapley_values(X), atol=1e-6)


@pytest.mark.parametrize("animal", ZOO, ids=lambda animal: animal.name)
def test_the_zoo(animal: Animal) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which warnings are due is the linear method's business
        if animal.refused:
            with pytest.raises(InputError, match=animal.refused):
                RCI(mechanism="nonlinear").fit(animal.X, animal.y)
            return
        model = RCI(mechanism="nonlinear").fit(animal.X, animal.y)
        holds_together(model, animal.X)
    told = model.explain(animal.X)
    for names, sign in ((animal.raises, 1.0), (animal.lowers, -1.0)):
        for name in names:
            place = animal.names.index(name)
            assert sign * float(np.cov(told.errors[:, place], told.values[:, place])[0, 1]) > 0, name
    spread = dict(zip(animal.names, told.values.std(axis=0), strict=True))
    weakest = min((spread[name] for name in animal.raises + animal.lowers), default=0.5)
    assert [name for name in animal.null if spread[name] >= 0.5 * weakest] == []


@pytest.mark.parametrize("animal", [one for one in ZOO if not one.refused], ids=lambda animal: animal.name)
def test_the_zoo_by_default(animal: Animal) -> None:
    """What is heard is what is documented, whichever mechanism is taken; where lines are, it is their fit."""
    with documented_warnings(animal):
        model = RCI().fit(animal.X, animal.y)
    told = model.explain(animal.X)
    assert np.isfinite(told.values).all()
    adds_up = told.base_value + told.values.sum(axis=1)
    np.testing.assert_allclose(adds_up, told.predictor, atol=1e-9 * max(1.0, np.abs(told.predictor).max()))
    said = model.provenance_["mechanism"]
    assert said["asked"] == "auto" and said["why"].endswith(".")
    if said["taken"] == "linear":
        np.testing.assert_array_equal(model.shapley_values(animal.X), fitted(animal).shapley_values(animal.X))


@pytest.mark.parametrize(
    ("case", "X", "y"),
    [
        ("four rows", [[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 3.0]], [0, 1, 0, 1]),
        ("three values", np.random.default_rng(0).integers(3, size=(200, 2)), np.arange(200) % 2),
        ("heavy tails", np.random.default_rng(1).standard_cauchy((300, 3)), np.arange(300) % 2),
        ("a sum of others", None, None),
        ("a square of another", None, None),
        ("separated", np.linspace(-1, 1, 200)[:, None] ** np.arange(1, 3), np.arange(200) >= 100),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_odd_cohorts_get_an_answer(case: str, X: object, y: object) -> None:
    if X is None:
        base = np.random.default_rng(2).exponential(size=(300, 2))
        last = base.sum(axis=1) if "sum" in case else base[:, 0] ** 2
        X, y = np.column_stack([base, last]), base[:, 0] > np.random.default_rng(3).exponential(size=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RCI(mechanism="nonlinear", variant="plus").fit(
            np.asarray(X, dtype=float), np.asarray(y).astype(int)
        )
        holds_together(model, np.asarray(X, dtype=float))


def test_two_rows_and_constants_are_refused() -> None:
    with pytest.raises(InputError):
        RCI(mechanism="nonlinear").fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(InputError, match="constant"):
        RCI(mechanism="nonlinear").fit(np.ones((20, 2)), np.arange(20) % 2)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mechanism": "bent"}, "unknown mechanism 'bent': choose one of linear, nonlinear, auto"),
        ({"mechanism": "nonlinear", "attribution": "paper"}, "attribution='paper'.*mechanism='linear'"),
        ({"mechanism": ["auto"]}, "unknown mechanism"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], said: str) -> None:
    X, y = bent_cohort(100)
    with pytest.raises(InputError, match=said):
        RCI(**options).fit(X[["dose"]], y)


@pytest.mark.filterwarnings("ignore:unlike the cohort")
def test_new_patients_far_from_the_cohort_get_finite_answers(cohort: tuple[pd.DataFrame, np.ndarray]) -> None:
    X, y = cohort
    model = RCI(mechanism="nonlinear").fit(X[["dose", "level", "marker"]], y)
    far = pd.DataFrame({"dose": [1e6, -1e6, 0.0], "level": [0.0, 1e9, -50.0], "marker": [1e3, 0.0, -1e12]})
    holds_together(model, far)


def test_few_patients_do_not_make_risks_run_away() -> None:
    """Columns that together nearly tell the outcome of 60 patients, some with long tails."""
    rng = np.random.default_rng(3)
    X = np.exp(rng.normal(size=(60, 6)))
    y = (X[:, 0] + 0.3 * X[:, 1] > np.median(X[:, 0] + 0.3 * X[:, 1])).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RCI(mechanism="nonlinear").fit(X, y)
    assert np.abs(model.decision_function(X)).max() < 15
    assert np.abs(model.shapley_values(X).mean(axis=0)).max() < 0.5


def test_the_command_line(tmp_path: Path) -> None:
    X, y = bent_cohort(300)
    table = tmp_path / "cohort.csv"
    X[["dose", "level", "marker"]].assign(ill=y).to_csv(table, index=False)
    fit = run("fit", table, "--target", "ill", "--mechanism", "auto", "--out", tmp_path / "m.rci")
    assert "mechanism: nonlinear. Nonlinear equations describe these patients in" in fit.output
    assert re.search(r"the spread differs by patient\): .*marker", fit.output)
    explained = run("explain", tmp_path / "m.rci", table, "--out", tmp_path / "e.csv")
    assert explained.exit_code == 0, explained.output
    check = run("check", table, "--target", "ill", "--mechanism", "nonlinear", "--json")
    assert json.loads(check.output)["provenance"]["mechanism"]["taken"] == "nonlinear"
    page = run(
        "report", table, "--target", "ill", "--mechanism", "nonlinear", "--out", tmp_path / "page.html"
    )
    assert page.exit_code == 0 and (tmp_path / "page.html").exists(), page.output


def test_pbc_is_told_apart_as_well_as_by_straight_lines() -> None:
    pbc = load_pbc()
    X = pd.DataFrame(pbc.X, columns=list(pbc.feature_names))
    bent = RCI(mechanism="auto", knowledge=pbc.knowledge).fit(X, pbc.y)
    assert bent.provenance_["mechanism"]["taken"] == "nonlinear"
    straight = RCI(knowledge=pbc.knowledge).fit(X, pbc.y)
    assert bent.cross_validate()["auc"] == pytest.approx(straight.cross_validate()["auc"], abs=0.01)
    order = [X.columns[c] for c in bent.causal_order_]
    assert order.index("bili") < min(order.index(name) for name in ("chol", "copper", "ast"))


@pytest.mark.parametrize("of", ["nonlinear", "linear"])
def test_mechanisms_are_drawn(cohort: tuple[pd.DataFrame, np.ndarray], of: str) -> None:
    X, y = cohort
    known = {"first": ["dose", "sex"]}
    model = RCI(mechanism=of, kinds=KINDS, variant="plus", knowledge=known).fit(X, y)
    ax = plots.mechanism(model, "dose", "level", units={"dose": "mg"}, labels={"level": "blood level"})
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("dose mg", "blood level")
    (line,) = ax.get_lines()
    x, height = line.get_data()
    bend = np.abs(np.diff(height, 2)).max()
    assert (bend > 1e-3) == (of == "nonlinear")
    assert X["dose"].min() <= x[0] < x[-1] <= X["dose"].max()
    assert plots.mechanism(model, "sex", "level").get_lines()[0].get_xdata().size == 2  # levels are points
    assert "log-odds" in plots.mechanism(model, "marker").get_ylabel()
    with pytest.raises(InputError, match="no curve"):
        plots.mechanism(model, "ward", "level")
    with pytest.raises(InputError, match="no arrow from 'level' to 'dose'"):
        plots.mechanism(model, "level", "dose")
    with pytest.raises(InputError, match="'nobody' is not in the causal order"):
        plots.mechanism(model, "nobody")


def test_checks_speak_of_curves_where_the_model_has_them() -> None:
    X, y = bent_cohort(400)
    X = X[["dose", "level", "marker"]]
    diagnosis = RCI(mechanism="nonlinear").fit(X, y).diagnose(X, y)
    linear = next(check for check in diagnosis.checks if check.name == "linear")
    assert "the model's curves" in linear.question and linear.verdict != "broken"
    assert not any(check.name == "logarithm" for check in diagnosis.checks)
    assert "logarithms" in diagnosis.not_made
    straight = RCI(mechanism="linear").fit(X, y).diagnose(X, y)
    assert next(check for check in straight.checks if check.name == "linear").verdict in (
        "doubtful",
        "broken",
    )


@pytest.mark.filterwarnings("ignore:no patient has")
def test_what_was_not_measured_leaves_a_doubt_that_follows_the_curves() -> None:
    """Of patients whose dose is hidden, the interval holds what they are told with it."""
    X, y = bent_cohort(600)
    X = X[["dose", "level", "marker"]]
    adjusting = RCI(mechanism="nonlinear", knowledge=Knowledge(covariates=["dose"])).fit(X, y)
    whole, holed = (adjusting.explain(table) for table in (X, X.assign(dose=np.nan)))
    lower, upper = holed.covariate_interval
    inside = (lower <= whole.covariate_effect) & (whole.covariate_effect <= upper)
    assert 0.88 < inside.mean() < 0.99
    model = RCI(mechanism="nonlinear").fit(X, y)
    whole, holed = (model.explain(table) for table in (X, X.assign(dose=np.nan)))
    inside = (holed.lower <= whole.values) & (whole.values <= holed.upper)
    assert (inside.mean(axis=0) > 0.88).all()
