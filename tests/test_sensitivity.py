"""How strong a hidden common cause would have to be: against published numbers, and one that is made."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from rootcausal import RCI, RCIRegressor, RCISurvival
from rootcausal.likelihood.sensitivity import e_value, robustness
from rootcausal.likelihood.traces import bends, traces


def test_robustness_values_are_those_of_cinelli_and_hazlett():
    """Their example (2020), Darfur: estimate 0.097, standard error 0.023, 783 degrees of freedom."""
    f = 0.097316 / 0.023257 / math.sqrt(783)
    assert robustness(f) == pytest.approx(0.1388, abs=5e-5)
    assert robustness(f - 1.963 / math.sqrt(782)) == pytest.approx(0.0763, abs=1e-4)
    assert robustness(0.0) == robustness(-0.1) == 0.0


def test_e_values_are_those_of_vanderweele_and_ding():
    """Their example (2017): a risk ratio of 3.9 (95 % interval 1.8 to 8.7)."""
    assert e_value(math.log(3.9)) == pytest.approx(7.26, abs=0.005)
    assert e_value(math.log(1.8)) == pytest.approx(3.0, abs=0.005)
    assert e_value(math.log(1 / 3.9)) == e_value(math.log(3.9))
    assert e_value(0.0) == 1.0


def chain(n: int = 800, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """a → b → what follows, with c apart."""
    rng = np.random.default_rng(seed)
    a, e, c = rng.laplace(size=(3, n))
    b = 0.7 * a + e
    return pd.DataFrame({"a": a, "b": b, "c": c}), 0.3 * b + 0.3 * a + 0.02 * c


def test_a_hidden_cause_of_that_strength_brings_the_effect_to_zero():
    """A column is made that explains so much of what is left of both; beside it the effect is gone."""
    X, predictor = chain()
    rng = np.random.default_rng(1)
    y = np.asarray(predictor) + rng.laplace(size=len(X))
    found = RCIRegressor(knowledge={"causes": [("a", "b")]}).fit(X, y).summary().frame.loc["b"]
    beside = np.column_stack([np.ones(len(X)), X[["a", "c"]]])

    def left(values, given):
        return values - given @ np.linalg.lstsq(given, values, rcond=None)[0]

    b, of_y = left(X["b"].to_numpy(), beside), left(y, beside)
    slope = (b @ of_y) / (b @ b)
    e = of_y - slope * b
    share = found["robustness"]
    # Of unit length: the direction of b, that of what b leaves of y, and one more.
    b_unit, e_unit = b / np.linalg.norm(b), e / np.linalg.norm(e)
    third = left(rng.standard_normal(len(X)), np.column_stack([beside, b, of_y]))
    third /= np.linalg.norm(third)
    with_b, with_y = math.sqrt(share), math.sqrt(share)
    hidden = with_b * b_unit + math.sqrt(1.0 - with_b**2) * (
        with_y * e_unit + math.sqrt(1 - with_y**2) * third
    )
    both = np.column_stack([beside, hidden, b])
    assert np.linalg.lstsq(both, y, rcond=None)[0][-1] == pytest.approx(0.0, abs=1e-3 * abs(slope))
    # The shares of it that it explains are those: of b, and of what b leaves of y.
    assert (hidden @ b_unit) ** 2 / (hidden @ hidden) == pytest.approx(share)


def test_what_acts_on_a_variable_is_the_benchmark_for_it():
    X, predictor = chain()
    y = (np.random.default_rng(1).random(len(X)) < expit(predictor)).astype(int)
    model = RCI(knowledge={"causes": [("a", "b")]}).fit(X, y)
    found = model.summary()
    frame = found.frame
    assert frame.loc["b", "strong_as"] == "a"
    assert frame.loc["b", "times_as_strong"] > 0.0
    assert frame.loc["a", "strong_as"] is None or frame.loc["a", "times_as_strong"] > 10.0
    assert 0.0 < frame.loc["b", "robustness_p"] < frame.loc["b", "robustness"] < 1.0
    assert frame.loc["b", "e_value"] > frame.loc["b", "e_value_limit"] >= 1.0
    assert [term.term for term in found.causes][-1] in ("a", "b")
    # Of what is not significant nothing is believed to begin with.
    assert frame.loc["c", "robustness_p"] == 0.0 and math.isnan(frame.loc["c", "true_share"])
    assert frame.loc["b", "true_share"] > 0.5
    printed = str(found)
    assert "to zero" in printed
    assert f"{frame.loc['b', 'robustness']:.0%}" in printed


def test_stronger_evidence_takes_a_stronger_hidden_cause():
    values = []
    for n in (300, 3000):
        X, predictor = chain(n)
        y = (np.random.default_rng(1).random(n) < expit(predictor)).astype(int)
        values.append(RCI().fit(X, y).summary().frame.loc["a", "robustness_p"])
    assert values[1] > values[0]


@pytest.mark.parametrize("estimator", [RCISurvival, RCIRegressor])
def test_other_outcomes_have_them_too(estimator):
    X, predictor = chain()
    rng = np.random.default_rng(1)
    if estimator is RCISurvival:
        time, at = rng.exponential(np.exp(-predictor)), rng.exponential(2.0, len(X))
        model = estimator().fit(X, np.minimum(time, at), time <= at)
    else:
        model = estimator().fit(X, predictor + rng.laplace(size=len(X)))
    frame = model.summary().frame
    assert frame.loc["a", "robustness"] > 0.1
    assert frame.loc["a", "e_value"] > 1.2


def half_hidden(outcome: str = "diagnosis") -> RCI | RCISurvival | RCIRegressor:
    """A true cause, one that only shares a hidden cause with the outcome, and one of two levels."""
    rng = np.random.default_rng(3)
    true, other, hidden = (
        rng.laplace(size=2500),
        rng.uniform(-1.7, 1.7, 2500),
        rng.gamma(1.0, size=2500) - 1.0,
    )
    sex = rng.integers(0, 2, 2500)
    X = pd.DataFrame({"true": true, "false": other + hidden, "sex": sex})
    predictor = 0.6 * true + 1.2 * hidden + 0.7 * sex
    if outcome == "survival":
        time, end = rng.exponential(np.exp(-predictor)), rng.exponential(2.0, 2500)
        return RCISurvival(mechanism="linear").fit(X, np.minimum(time, end), time <= end)
    if outcome == "number":
        return RCIRegressor(mechanism="linear").fit(X, predictor + rng.laplace(size=2500))
    return RCI(mechanism="linear").fit(X, (rng.random(2500) < expit(predictor)).astype(int))


@pytest.mark.parametrize("outcome", ["diagnosis", "survival", "number"])
def test_what_a_hidden_cause_leaves_in_a_shock_tells_false_from_true(outcome):
    frame = half_hidden(outcome).summary().frame
    assert frame.loc["false", "robustness"] > 0.1
    assert frame.loc["false", "true_share"] < 0.5 < 0.8 < frame.loc["true", "true_share"]
    assert math.isnan(frame.loc["sex", "true_share"])


def test_the_least_believed_is_named_first():
    found = half_hidden().summary()
    assert [term.term for term in found.causes] == ["false", "true", "sex"]
    table = found.hidden_lines(found.causes)
    assert "true of 100" in table[0]
    assert f"{100 * found.frame.loc['false', 'true_share']:.0f}" in table[1]


def test_a_bend_is_a_score_test():
    """Against the likelihood ratio of the same curves, and no bend where there is none."""
    rng = np.random.default_rng(2)
    shocks = rng.laplace(size=(4000, 2)) / 2**0.5
    y = 0.5 * shocks[:, 0] + 0.04 * bends(shocks[:, 0])[:, 0] + 0.3 * shocks[:, 1] + rng.standard_normal(4000)
    plain = np.column_stack([np.ones(4000), shocks])

    def left(given):
        return y - given @ np.linalg.lstsq(given, y, rcond=None)[0]

    found = traces(shocks, shocks, left(plain), None)[0]
    for place, bend in enumerate(found):
        more = left(np.column_stack([plain, bends(shocks[:, place])]))
        ratio = 4000 * math.log((left(plain) @ left(plain)) / (more @ more))
        assert bend == pytest.approx(ratio, rel=0.3, abs=2.0)
    assert found[0] > 15.0 > 12.0 > found[1]
    patients = np.repeat(np.arange(4000), 2)
    twice = traces(*(np.repeat(one, 2, axis=0) for one in (shocks, shocks, left(plain))), patients)
    np.testing.assert_allclose(twice[0], found, rtol=1e-6)


def test_they_travel_with_the_model(tmp_path):
    X, predictor = chain()
    y = (np.random.default_rng(1).random(len(X)) < expit(predictor)).astype(int)
    model = RCI().fit(X, y)
    model.save(tmp_path / "model.rci")
    loaded = RCI.load(tmp_path / "model.rci")
    assert str(loaded.summary()) == str(model.summary())
    assert loaded.summary().frame.equals(model.summary().frame)


def test_nothing_is_fine_about_what_no_data_show():
    X, predictor = chain()
    y = (np.random.default_rng(1).random(len(X)) < expit(predictor)).astype(int)
    model = RCI().fit(X, y)
    check = next(one for one in model.diagnose(X, y).checks if one.name == "unmeasured")
    assert check.verdict == "cannot tell"
    assert check.number == min(term.robustness_p for term in model.summary().causes if term.robustness_p > 0)
    assert "cannot be ruled out" in check.limit
    # Nobody asks it of patients whose outcomes are not known, nor of a model without causes.
    assert "unmeasured" not in {one.name for one in model.diagnose(X).checks}
    noise = np.random.default_rng(3).permutation(y)
    none = RCI().fit(X, noise)
    assert not none.summary().causes
    assert "unmeasured" not in {one.name for one in none.diagnose(X, noise).checks}
