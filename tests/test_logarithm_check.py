"""The check of logarithms: offered where relations become straighter, never because a column is skewed."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from rootcausal import RCI
from rootcausal.data import load_pbc, simulate
from rootcausal.diagnostics.evidence import Checked, may_be_logged
from rootcausal.diagnostics.logarithms import (
    SMALLEST_RATIO,
    Change,
    Scales,
    check_logarithm,
    gain_of,
    quick_gains,
    screened,
    settings_of,
    what_changes,
)
from rootcausal.method.arrows import arrows_among
from rootcausal.method.layout import Layout
from rootcausal.method.pipeline import Settings

N = 1000
# Columns that are exponential may have a few patients who decide: no matter here.
pytestmark = pytest.mark.filterwarnings("ignore:the errors separate the classes")


def positive(X):
    return X - X.min(axis=0) + 0.05 * X.std(axis=0)


def half_exponential(seed: int, n: int = N, p: int = 10):
    """The paper's generator with every other column put through exp: (X, y, which, X before)."""
    cohort = simulate(n, p, random_state=[seed, 15])
    some = np.arange(0, cohort.X.shape[1], 2)
    X = positive(cohort.X)
    X[:, some] = np.exp(cohort.X[:, some] / cohort.X[:, some].std(axis=0))
    return X, cohort.y, some, cohort.X


def lognormal_errors(seed: int, n: int):
    """Straight lines among columns with errors of skewness 6: all are above zero as they are."""
    cohort, rng = simulate(n, 10, random_state=[seed, 16]), np.random.default_rng([seed, 17])
    q = cohort.X.shape[1]
    X = np.exp(rng.standard_normal((n, q))) / 2.16 @ np.linalg.inv(np.eye(q) - np.abs(cohort.adjacency)).T
    log_odds = X @ np.abs(cohort.target_weights)
    return X, (rng.random(n) < expit(log_odds - log_odds.mean())).astype(int)


def asked(model: RCI, X, y) -> Checked:
    """What the checks of these patients are made from."""
    matrix = model._patients(X, np.arange(model._model.n_variables))
    values, missing = matrix.drawn(model._encoding.layout), matrix.measured
    holes = None if missing is None else np.isnan(missing)
    stated = model._model.predictor(matrix.values)
    return Checked(
        model._model, values, holes, np.asarray(y), stated, model._encoding, None, model.provenance_
    )


def check(X, y, **parameters):
    model = RCI(mechanism="linear", **parameters).fit(X, y)
    return check_logarithm(asked(model, X, y), np.asarray(y))


def matters(X, y, columns) -> bool:
    """Whether, on the scale of the truth, one of these columns is in the model and has an arrow in it."""
    model = RCI(mechanism="linear").fit(X, y)._model
    arrows = arrows_among(model, np.arange(X.shape[1]))
    return bool((arrows | arrows.T)[columns].any())


def offers(seeds) -> tuple[int, int, int]:
    """Cohorts where a logarithm matters, where a right one was offered, and where a wrong one was."""
    could, right, wrong = 0, 0, 0
    for seed in seeds:
        X, y, some, before = half_exponential(seed)
        if matters(before, y, some):
            found = {int(name[1:]) for name in check(X, y).variables}
            could += 1
            right += bool(found & set(some))
            wrong += bool(found - set(some))
    return could, right, wrong


def test_columns_that_are_exponential_are_offered_a_logarithm():
    could, right, wrong = offers(range(20, 30))
    assert could >= 5
    assert right >= could - 1
    assert wrong <= 1


@pytest.mark.slow
def test_nine_of_ten_are_offered():
    could, right, wrong = offers(range(100, 200))
    assert right >= 0.9 * could
    assert wrong <= 0.05 * could


@pytest.mark.parametrize("n", [300, N])
def test_skewness_alone_offers_nothing(n):
    for seed in range(6):
        X, y = lognormal_errors(seed, n)
        assert check(X, y).verdict != "doubtful"
        paper = simulate(n, 10, random_state=[seed, 18])
        assert check(positive(paper.X), paper.y).verdict != "doubtful"


def test_gaussian_columns_and_holes_offer_nothing():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((N, 4)) @ np.triu(np.ones((4, 4))) + 20.0
        y = (rng.random(N) < expit(X[:, 3] - 20.0)).astype(int)
        X -= X.min(axis=0) - 0.1
        X[rng.random(X.shape) < 0.1] = np.nan
        assert check(X, y).verdict == "fine"


def chain(seed: int = 0, n: int = 600):
    """a → log b → D with c apart and a 0/1 column beside them."""
    rng = np.random.default_rng(seed)
    a = rng.uniform(-2, 2, n)
    log_b = a + rng.laplace(size=n) * 0.5
    X = pd.DataFrame({"a": a, "b": np.exp(log_b), "c": rng.chisquare(3, n) + 0.1})
    X["sex"] = (rng.random(n) < expit(a)).astype(int)
    return X, (rng.random(n) < expit(1.5 * log_b)).astype(int)


def test_the_offer_says_what_would_change_and_how_to_do_it():
    found = check(*chain())
    assert found.verdict == "doubtful"
    assert found.variables == ("b",)
    assert found.touches == "order"
    assert found.number > 0.05
    assert "strongest root cause would be another one in" in found.statement
    assert "--log b (in Python RCI(log=['b']))" in found.advice
    json.dumps(found.to_dict(), allow_nan=False)


def test_holes_do_not_hide_it():
    X, y = chain()
    X = X.mask(np.random.default_rng(1).random(X.shape) < 0.1)
    assert check(X, y).variables == ("b",)


def test_only_positive_numbers_that_vary_by_a_factor_are_candidates():
    X, _ = chain()
    X["far"] = X["c"] + 1000.0
    layout = Layout(np.arange(5), (*[np.empty(0)] * 3, np.array([0.0, 1.0]), np.empty(0)))
    values = X.to_numpy(dtype=float)
    assert may_be_logged(values, None, layout, SMALLEST_RATIO).tolist() == [False, True, True, False, False]
    values[0, 2] = -1.0
    assert not may_be_logged(values, None, layout, SMALLEST_RATIO)[2]
    missing = np.zeros(values.shape, dtype=bool)
    missing[0, 2] = True
    assert may_be_logged(values, missing, layout, SMALLEST_RATIO)[2]


def test_binary_columns_and_tiny_tables():
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 2, (300, 3))
    found = check(levels, levels[:, 0] ^ (rng.random(300) < 0.3))
    assert found.verdict == "fine"
    assert "nothing to take a logarithm of" in found.statement
    X, y = chain(n=60)
    assert check(X, y).verdict in ("cannot tell", "doubtful")
    X["c"] = 1.0 + np.arange(60)
    few = asked(RCI(mechanism="linear").fit(X, y), X[:13], y[:13])
    found = check_logarithm(few, y[:13])
    assert found.verdict == "cannot tell"
    assert found.limit


def test_a_logarithm_that_was_taken_is_not_offered_again():
    X, y = chain()
    model = RCI(mechanism="linear").fit(X, y)
    given = asked(model, X, y)
    parameters = {**model.provenance_["parameters"], "log": ["b"]}
    assert check_logarithm(replace(given, provenance={"parameters": parameters}), y).variables == ()
    parameters["log"] = ["c"]
    again = check_logarithm(replace(given, provenance={"parameters": parameters}), y)
    assert "--log c,b (in Python RCI(log=['c', 'b']))" in again.advice


def test_a_model_that_does_not_say_how_it_was_fitted_gets_no_fit_of_its_own():
    X, y = chain()
    given = replace(asked(RCI(mechanism="linear").fit(X, y), X, y), provenance={"parameters": {"alpha": 0.2}})
    found = check_logarithm(given, y)
    assert found.variables == ("b",)
    assert "Fitted" not in found.statement


def test_a_name_that_no_option_can_hold_is_said_in_python():
    X, y = chain()
    found = check(X.rename(columns={"b": "b,\x1b[31m"}), y)
    assert "--log" not in found.advice
    assert r"RCI(log=['b,\x1b[31m']) in Python" in found.advice
    assert "\x1b" not in found.statement + found.limit + found.advice


def test_what_was_left_unseen_is_said(monkeypatch):
    X, y = chain()
    monkeypatch.setattr("rootcausal.diagnostics.logarithms.COLUMNS_AT_MOST", 3)
    monkeypatch.setattr("rootcausal.diagnostics.logarithms.FEWEST_ROWS", 500)
    monkeypatch.setattr("rootcausal.diagnostics.logarithms.CELLS_AT_MOST", 1500)
    said = check(X, y).statement
    assert "Only the 3 columns that matter most" in said
    assert "on 500 of the patients" in said


def test_a_limit_that_was_reached_is_said(monkeypatch):
    X, y, _, _ = half_exponential(0)
    scales = scales_of(X, y)
    gains, complete = screened(scales)
    assert complete
    assert len(gains) > 1
    monkeypatch.setattr("rootcausal.diagnostics.logarithms.OFFERED_AT_MOST", 1)
    gains, complete = screened(scales)
    assert not complete
    assert len(gains) == 1


def scales_of(X, y, missing=None) -> Scales:
    layout = Layout.numbers(X.shape[1])
    return Scales.of(X, missing, y, layout, may_be_logged(X, missing, layout, SMALLEST_RATIO))


@pytest.mark.parametrize("chosen", [(), (0, 4)])
def test_gains_from_products_are_those_of_regressions(chosen):
    X, y, _, _ = half_exponential(3, n=200)
    scales = scales_of(X, y)
    quick = quick_gains(scales, chosen)
    for column in range(X.shape[1]):
        if column in chosen:
            assert quick[column] == -np.inf
            continue
        others = [np.log(X[:, c]) if c in chosen else X[:, c] for c in range(X.shape[1]) if c != column]
        design = np.column_stack([*others, y, np.ones(len(y))])
        left = []
        for target in (X[:, column], np.log(X[:, column])):
            residual = target - design @ np.linalg.lstsq(design, target, rcond=None)[0]
            left.append(residual.var() / target.var())
        expected = 0.5 * np.log(left[0] / left[1])
        assert quick[column] == pytest.approx(expected, abs=1e-4)
        assert gain_of(scales, column, chosen).nats == pytest.approx(expected, abs=1e-4)


def test_the_standard_error_is_what_cohorts_scatter_by():
    gains = []
    for seed in range(60):
        X, y = chain(seed, n=400)
        gains.append(gain_of(scales_of(X[["a", "b"]].to_numpy(), y), 1))
    scatter = np.std([gain.nats for gain in gains])
    assert 0.6 < np.median([gain.error for gain in gains]) / scatter < 1.6


def test_the_same_scale_changes_nothing_and_a_turned_arrow_is_named():
    X, y = chain()
    values, layout = X[["a", "b", "c"]].to_numpy(), Layout.numbers(3)
    settings = settings_of({"variant": "local_plus", "attribution": "sharp", "alpha": 0.2})
    assert isinstance(settings, Settings)
    same = what_changes(values, values, y, layout, settings)
    assert (same.turned, same.new_top, same.most_often, same.entered, same.left) == ((), 0.0, None, (), ())
    turned = Change(3, ((0, 1), (1, 2)), 0.25, (0, -1, 0.125), (2,), ()).in_words(["a", "b", "c"])
    assert "2 of 3 arrows would turn round (a → b, b → c)" in turned
    assert "25% of the patients (most often none instead of a: 12%) and c would enter the model" in turned


def test_bilirubin_is_named_in_pbc():
    pbc = load_pbc()
    X = pd.DataFrame(pbc.X, columns=list(pbc.feature_names))
    found = RCI(mechanism="linear", knowledge=pbc.knowledge).fit(X, pbc.y).diagnose(X, pbc.y)
    said = next(one for one in found.checks if one.name == "logarithm")
    assert said.verdict == "doubtful"
    assert said.variables[0] == "bili"
    assert "sex" not in said.variables
