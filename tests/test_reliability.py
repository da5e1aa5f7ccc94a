"""Columns measured with error: what is learned is of true values, and doubts are in the intervals."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import error, ok
from zoo import ZOO

from rootcausal import RCI, InputError, RCIRegressor, RCISurvival
from rootcausal.method.missing.completion import Completion
from rootcausal.method.missing.gaussian import JointGaussian
from rootcausal.method.missing.measurement import DOUBT, drawn_noise, less_noise, with_measurements

N = 1500


def cohort(seed: int = 0, n: int = N, reliability: float = 0.7):
    """a → b → y: true values, what was measured of a and b, and a number y."""
    rng = np.random.default_rng(seed)
    a, e, c = rng.laplace(size=(3, n))
    true = pd.DataFrame({"a": a, "b": 0.8 * a + e, "c": c})
    share = (1.0 - reliability) / reliability
    seen = true.copy()
    for name in ("a", "b"):
        seen[name] += rng.standard_normal(n) * (share * true[name].var()) ** 0.5
    return true, seen, 0.9 * true["b"].to_numpy() + rng.laplace(size=n)


def some_completion(seed: int = 0) -> tuple[Completion, np.ndarray]:
    """Of four columns out of five, of which two are measured with error."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((4, 4))
    columns, mean = np.array([0, 1, 3, 4]), rng.standard_normal(5)
    noise = np.array([0.5, 0.0, 2.0, 0.0])
    completion = Completion(mean, columns, root @ root.T, noise)
    values = rng.multivariate_normal(mean[columns], root @ root.T, 200)
    X = rng.standard_normal((200, 5))
    X[:, columns] = values + rng.standard_normal(values.shape) * noise**0.5
    return completion, X


def test_what_is_expected_of_true_values_is_the_best_linear_prediction():
    """Against the textbook formula, row by row, also where measurements are missing."""
    completion, X = some_completion()
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    effects = np.zeros((5, 1))
    effects[completion.columns, 0] = [1.0, -2.0, 0.5, 1.0]
    filled, spread = completion.fill(X), completion.spread(X, effects)
    cols, S = completion.columns, completion.covariance
    for row in range(len(X)):
        there = np.flatnonzero(~np.isnan(X[row, cols]))
        seen = S[np.ix_(there, there)] + np.diag(completion.noise[there])
        gain = S[:, there] @ np.linalg.inv(seen)
        expected = completion.mean[cols] + gain @ (X[row, cols[there]] - completion.mean[cols[there]])
        left = S - gain @ S[there]
        np.testing.assert_allclose(filled[row, cols], expected, rtol=1e-7, atol=1e-9)
        # Noise may be larger than was said to be.
        unsure = effects[cols, 0] * np.where(completion.noise > 0.0, np.exp(0.5 * DOUBT), 1.0)
        variance = unsure @ left @ unsure
        assert spread[row, 0] == pytest.approx(max(variance, 0.0) ** 0.5, rel=1e-6, abs=1e-6)
    exact = ~np.isnan(X[:, 1])
    np.testing.assert_allclose(filled[exact, 1], X[exact, 1], rtol=1e-12)


def test_values_that_are_drawn_vary_as_true_ones_do():
    completion, _ = some_completion()
    rng = np.random.default_rng(2)
    n, cols = 40_000, completion.columns
    X = np.zeros((n, 5))
    X[:, cols] = rng.multivariate_normal(completion.mean[cols], completion.covariance, n)
    X[:, cols] += rng.standard_normal((n, 4)) * completion.noise**0.5
    drawn = completion.draw(X, seed=3)[:, cols]
    np.testing.assert_allclose(np.cov(drawn.T), completion.covariance, atol=0.15)
    assert np.array_equal(drawn, completion.draw(X, seed=3)[:, cols])


def test_noise_leaves_a_covariance_of_true_values():
    covariance = np.array([[1.0, 0.9], [0.9, 1.0]])
    true = less_noise(JointGaussian(np.zeros(2), covariance), np.array([0.05, 0.0]))
    np.testing.assert_allclose(true.covariance, [[0.95, 0.9], [0.9, 1.0]])
    by_chance = less_noise(JointGaussian(np.zeros(2), covariance), np.array([0.5, 0.0]))
    assert np.linalg.eigvalsh(by_chance.covariance)[0] > 0.0
    both = with_measurements(true, np.array([0.05, 0.0]))
    np.testing.assert_allclose(both.covariance[2, 2], 1.0)


@pytest.mark.parametrize("backend", ["numpy", "numba", pytest.param("cupy", marks=pytest.mark.gpu)])
def test_effects_are_those_of_true_values(backend):
    true, seen, y = cohort()
    shares = {"a": 0.7, "b": 0.7}
    exact = RCIRegressor(backend=backend).fit(true, y)
    plain, right = (
        RCIRegressor(backend=backend).fit(seen, y),
        RCIRegressor(backend=backend, reliability=shares).fit(seen, y),
    )
    names = list(true)
    order = [names[c] for c in right.causal_order_]
    assert order.index("a") < order.index("b")
    b = names.index("b")
    assert plain.coef_[b] / exact.coef_[b] < 0.9
    assert right.coef_[b] == pytest.approx(exact.coef_[b], rel=0.1)
    unshrunk = right.summary().frame.loc["b"]
    assert unshrunk["lower"] < 0.9 < unshrunk["upper"]
    assert plain.summary().frame.loc["b", "upper"] < 0.9


def test_backends_agree():
    _, seen, y = cohort(n=300)
    models = [
        RCIRegressor(backend=backend, reliability={"a": 0.7, "b": 0.8}).fit(seen, y)
        for backend in ("numpy", "numba")
    ]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, atol=1e-8)
    np.testing.assert_allclose(models[0].shapley_values(seen), models[1].shapley_values(seen), atol=1e-8)


def test_a_reliability_of_one_changes_nothing():
    _, seen, y = cohort(n=300)
    label = (y > np.median(y)).astype(int)
    plain, one = RCI().fit(seen, label), RCI(reliability={"a": 1.0, "b": 1, "c": "sd 0"}).fit(seen, label)
    assert np.array_equal(plain.shapley_values(seen), one.shapley_values(seen))
    plain.bootstrap(5)
    one.bootstrap(5)
    for name in ("values", "lower", "upper", "data"):
        assert np.array_equal(getattr(plain.explain(seen), name), getattr(one.explain(seen), name))
    assert "reliability" not in one.provenance_


def test_intervals_and_grades_hold_the_doubt():
    true, seen, y = cohort(n=800)
    label = (y > np.median(y)).astype(int)
    model = RCI(reliability={"a": 0.7, "b": 0.7}).fit(seen, label).bootstrap(40)
    plain = RCI().fit(seen, label).bootstrap(40)
    e, before = model.explain(seen), plain.explain(seen)
    b = list(seen).index("b")
    shock = true["b"] - 0.8 * true["a"]
    # By the truth of the world: the effect of a shock on b is that of the label on true values.
    of_true = RCI().fit(true, label)
    values = of_true.coef_[b] * shock / shock.std()

    def held(one):
        return np.mean((one.lower[:, b] <= values) & (values <= one.upper[:, b]))

    assert held(e) > 0.8
    assert held(before) < held(e) - 0.2
    assert (e.frequency[:, b] >= 0.98).mean() < (before.frequency[:, b] >= 0.98).mean()
    assert e.imputation_sd is not None
    assert not e.imputed.any()
    np.testing.assert_array_equal(e.data, seen.to_numpy())  # people read what was measured
    there, then = e.what_if("a"), e[:5].what_if("a")
    np.testing.assert_array_equal(there.predicted_interval[:, :5], then.predicted_interval)
    wider = np.ptp(there.predictor_interval, axis=0) > np.ptp(before.what_if("a").predictor_interval, axis=0)
    assert wider.mean() > 0.8
    assert ((there.predicted_interval >= 0.0) & (there.predicted_interval <= 1.0)).all()
    np.testing.assert_allclose(e.base_value + e.values.sum(axis=1), model.decision_function(seen))


def test_a_reliability_is_an_estimate_and_intervals_hold_that():
    """Said by half too little noise, or by half of it too much."""
    rng = np.random.default_rng(3)
    X = rng.multivariate_normal(np.zeros(2), [[1.0, 0.6], [0.6, 1.0]], 2000)
    X[::7, 0] = np.nan
    noise = np.array([0.4, 0.0])
    drawn = np.array([drawn_noise(noise, X, np.random.default_rng(seed)) for seed in range(400)])
    assert (drawn[:, 1] == 0.0).all()
    ratio = np.log(drawn[:, 0] / 0.4) * 2.0
    assert np.std(ratio) == pytest.approx(DOUBT, rel=0.1)
    assert np.median(ratio) == pytest.approx(0.0, abs=0.1)
    # What the other column explains can be no noise: 36 % here.
    most = [drawn_noise(np.array([0.79, 0.0]), X, np.random.default_rng(seed))[0] for seed in range(100)]
    assert max(most) ** 2 < 0.64 * np.nanvar(X[:, 0])


def test_resamples_draw_it_anew(monkeypatch: pytest.MonkeyPatch):
    _, seen, y = cohort(n=400)
    model = RCIRegressor(reliability={"a": 0.8, "b": 0.8}).fit(seen, y)
    b = list(seen).index("b")

    def spread() -> float:
        models = model.bootstrap(40).bootstrap_.models
        return np.std([one.shapley_slopes()[b, b] for one in models])

    unsure = spread()
    monkeypatch.setattr("rootcausal.resampling.bootstrap.drawn_noise", lambda noise, X, rng: noise)
    assert unsure > 1.5 * spread()


def test_a_saved_model_knows_what_is_measured_with_error(tmp_path: Path):
    _, seen, y = cohort(n=300)
    label = (y > np.median(y)).astype(int)
    model = RCI(reliability={"a": 0.7, "b": "sd 0.4"}).fit(seen, label).bootstrap(3)
    model.save(tmp_path / "model.rci")
    loaded = RCI.load(tmp_path / "model.rci")
    for name in ("values", "lower", "upper", "data", "imputation_sd"):
        np.testing.assert_array_equal(getattr(model.explain(seen), name), getattr(loaded.explain(seen), name))
    assert loaded.get_params()["reliability"] == {"a": 0.7, "b": "sd 0.4"}
    assert loaded.provenance_["reliability"] == model.provenance_["reliability"]
    assert loaded.provenance_["reliability"]["a"] == pytest.approx(0.7)


def test_repeats_tell_how_reliable_a_column_is():
    rng = np.random.default_rng(4)
    patients = np.repeat(np.arange(400), 2)
    true, _, y = cohort(n=400)
    rows = true.loc[patients].reset_index(drop=True)
    rows["a"] += rng.standard_normal(len(rows)) * 0.7
    share = true["a"].var() / (true["a"].var() + 0.49)
    model = RCIRegressor(reliability={"a": "repeats"}).fit(rows, y[patients], groups=patients)
    assert model.provenance_["reliability"]["a"] == pytest.approx(share, abs=0.04)
    with pytest.raises(InputError, match="patients have several measurements"):
        RCIRegressor(reliability={"a": "repeats"}).fit(rows, y[patients])


def test_other_outcomes_missing_values_and_resamples_take_it(tmp_path: Path):
    _, seen, y = cohort(n=250)
    rng = np.random.default_rng(5)
    seen = seen.mask(rng.random(seen.shape) < 0.1)
    time, end = rng.exponential(np.exp(-0.5 * y)), rng.exponential(2.0, len(y))
    survival = RCISurvival(reliability={"a": 0.8}).fit(seen, np.minimum(time, end), time <= end)
    assert np.isfinite(survival.shapley_values(seen)).all()
    file = tmp_path / "resamples.rci"
    model = RCI(reliability={"b": 0.8}).fit(seen, (y > 0).astype(int)).bootstrap(4, resume=file)
    assert np.isfinite(model.explain(seen).lower).all()
    assert model.explain(seen).imputed.any()
    other = RCI(reliability={"b": 0.7}).fit(seen, (y > 0).astype(int))
    with pytest.raises(InputError, match="other options"):
        other.bootstrap(4, resume=file)
    model.cross_validate(3)
    diagnosis = model.diagnose(seen, (y > 0).astype(int))
    assert diagnosis.checks
    page = tmp_path / "page.html"
    model.report(seen, page)
    assert "b 0.80" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ({"a": 0.0}, "above 0 and at most 1"),
        ({"a": 1.2}, "above 0 and at most 1"),
        ({"a": "very"}, "above 0 and at most 1"),
        ({"a": "sd -1"}, "above 0 and at most 1"),
        ({"a": True}, "above 0 and at most 1"),
        ({"a": "sd 99"}, "nothing of it would be true"),
        ({"z": 0.9}, "no such column"),
        ({"sex": 0.9}, "has levels"),
        ({"twin": 0.6}, "cannot be as low as"),
        ([("a", 0.9)], "must be a dict"),
    ],
)
def test_what_cannot_be_is_refused(said, match):
    _, seen, y = cohort(n=300)
    rng = np.random.default_rng(6)
    seen = seen.assign(sex=rng.integers(0, 2, 300), twin=seen["a"] + 0.1 * rng.standard_normal(300))
    with pytest.raises(InputError, match=match):
        RCIRegressor(reliability=said).fit(seen, y)


def test_methods_that_take_values_for_exact_refuse_it():
    _, seen, y = cohort(n=300)
    label = (y > 0).astype(int)
    for asked in ({"attribution": "paper"}, {"mechanism": "nonlinear"}):
        with pytest.raises(InputError, match="takes values for exact"):
            RCI(reliability={"a": 0.9}, **asked).fit(seen, label)
    with pytest.raises(InputError, match="matched sets"):
        RCI(reliability={"a": 0.9}).fit(seen, np.arange(300) % 2, strata=np.arange(300) // 2)
    with pytest.raises(InputError, match="missing='impute'"):
        RCI(reliability={"a": 0.9}, missing="refuse").fit(seen, label)
    with pytest.raises(InputError, match="log scale"):
        RCI(reliability={"a": "sd 0.1"}, log=["a"]).fit(seen.abs() + 1.0, label)
    auto = RCI(reliability={"a": 0.9}, mechanism="auto").fit(seen, label)
    assert auto.provenance_["mechanism"]["taken"] == "linear"


def test_the_command_line_takes_it(tmp_path: Path):
    _, seen, y = cohort(n=250)
    seen.assign(sick=(y > 0).astype(int)).to_csv(tmp_path / "cohort.csv", index=False)
    out = tmp_path / "model.rci"
    said = ok(
        "fit", tmp_path / "cohort.csv", "--target", "sick", "--reliability", "a=0.8,b=sd 0.5", "--out", out
    )
    assert "measured with error (reliability): a 0.80, b " in said
    told = ok("explain", out, tmp_path / "cohort.csv")
    assert "measured" in told or "in brackets" in told
    for wrong in ("a", "a=", "=0.8", "a=0.8,a=0.9"):
        error(2, "fit", tmp_path / "cohort.csv", "--target", "sick", "--reliability", wrong)


SEVERAL = (
    "all_kinds_with_holes",
    "counts",
    "eight_patients",
    "far_from_zero",
    "one_column",
    "separated",
    "tiny_and_huge_units",
    "visits",
    "wards",
)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("animal", [one for one in ZOO if one.name in SEVERAL], ids=lambda one: one.name)
def test_lifelike_cohorts_take_it(animal):
    numbers = [one.name for one in RCI().fit(animal.X, animal.y)._encoding.variables if one.kind == "number"]
    model = RCI(reliability=dict.fromkeys(numbers, 0.9)).fit(animal.X, animal.y).bootstrap(2)
    e = model.explain(animal.X)
    assert all(np.isfinite(some[e.scored]).all() for some in (e.values, e.lower, e.upper))
    together = e.base_value + e.values.sum(axis=1) + e.covariate_effect
    np.testing.assert_allclose(together[e.scored], model.decision_function(animal.X)[e.scored], atol=1e-6)
    assert model.diagnose(animal.X, animal.y).checks
    assert str(model.summary())


def test_a_column_that_is_constant_in_whole_rows_is_no_trouble() -> None:
    """What was measured of it differs only where another value is missing."""
    rng = np.random.default_rng(0)
    seen = pd.DataFrame(
        {"a": rng.laplace(size=120), "b": rng.laplace(size=120), "c": np.repeat([0.0, 1.0], 60)}
    )
    seen.loc[60:, "b"] = np.nan
    y = (seen.a + rng.logistic(size=120) > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)
        model = RCI(mechanism="linear", reliability={"a": 0.8}).fit(seen, y)
    assert model.provenance_["reliability"]
