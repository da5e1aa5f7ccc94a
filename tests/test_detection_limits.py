"""Limits of detection: what lies beyond is censored, drawn within the limit, and shown as it was measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from command_line import error, ok, run
from page_facts import facts_of
from scipy.optimize import minimize
from scipy.stats import norm, truncnorm

from rootcausal import RCI, InputError, RCIRegressor, RCISurvival
from rootcausal.data import simulate
from rootcausal.method.missing.completion import Completion
from rootcausal.method.missing.tails import GRID, ErrorCounts
from rootcausal.profiling.look import look
from rootcausal.screening.resolution import coarse_steps, piles_of

N = 1200
COVARIANCE = np.array([[1.0, 0.6, 0.3], [0.6, 1.5, -0.4], [0.3, -0.4, 2.0]])
MEAN = np.array([0.5, -1.0, 2.0])
INFINITE = np.array([[-np.inf] * 3, [np.inf] * 3])


def cohort(seed: int = 0, n: int = N):
    """a → b → y and c: amounts, a with a lower limit and b with an upper one; and a number y."""
    rng = np.random.default_rng(seed)
    a, e, c = rng.laplace(size=(3, n)) + 8.0
    whole = pd.DataFrame({"a": a, "b": 0.8 * a + e, "c": c}).round(3)
    cut = whole.assign(
        a=whole["a"].clip(lower=whole["a"].quantile(0.25)), b=whole["b"].clip(upper=whole["b"].quantile(0.8))
    )
    limits = {"a": f"<{cut['a'].min()}", "b": [f">{cut['b'].max()}"]}
    return whole, cut, limits, 0.9 * whole["b"].to_numpy() + rng.laplace(size=n)


def completion(limits: np.ndarray) -> Completion:
    return Completion(MEAN, np.arange(3), COVARIANCE, limits=limits)


def conditional(row: np.ndarray, place: int) -> tuple[float, float]:
    """Mean and variance of one value given the two others, by the textbook."""
    others = [one for one in range(3) if one != place]
    gain = COVARIANCE[place, others] @ np.linalg.inv(COVARIANCE[np.ix_(others, others)])
    mean = MEAN[place] + gain @ (row[others] - MEAN[others])
    return mean, COVARIANCE[place, place] - gain @ COVARIANCE[others, place]


@pytest.mark.parametrize(("side", "limit"), [(0, -1.5), (0, -6.0), (1, 0.5), (1, 4.0)])
def test_one_censored_value_is_that_of_a_truncated_normal_distribution(side: int, limit: float):
    limits = INFINITE.copy()
    limits[side, 1] = limit
    row = np.array([1.0, limit, 1.0])
    mean, variance = conditional(row, 1)
    low, high = (-np.inf, limit) if side == 0 else (limit, np.inf)
    law = truncnorm((low - mean) / variance**0.5, (high - mean) / variance**0.5, mean, variance**0.5)
    one = completion(limits)
    effects = np.array([[0.0], [2.0], [0.0]])
    np.testing.assert_allclose(one.fill(row[None])[0], [1.0, law.mean(), 1.0], rtol=1e-6)
    np.testing.assert_allclose(one.spread(row[None], effects), 2.0 * law.std(), rtol=1e-4)
    drawn = one.draw(np.tile(row, (4000, 1)), 1)[:, 1]
    assert low <= drawn.min() and drawn.max() <= high
    quantiles = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(np.quantile(drawn, quantiles), law.ppf(quantiles), atol=0.08 * law.std())


def test_several_censored_and_missing_values_of_a_row_are_those_of_brute_force():
    """Against rejection sampling: 400,000 draws of the Gaussian, of which those within the limits count."""
    limits = INFINITE.copy()
    limits[0, 0], limits[1, 1] = 0.2, -0.5
    row = np.array([0.2, -0.5, np.nan])
    draws = np.random.default_rng(0).multivariate_normal(MEAN, COVARIANCE, 400_000)
    within = draws[(draws[:, 0] <= 0.2) & (draws[:, 1] >= -0.5)]
    one = completion(limits)
    np.testing.assert_allclose(one.fill(row[None])[0], within.mean(axis=0), atol=0.03)
    drawn = one.draw(np.tile(row, (6000, 1)), 3)
    np.testing.assert_allclose(drawn.mean(axis=0), within.mean(axis=0), atol=0.05)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(within.T), atol=0.07)
    assert (drawn[:, 0] <= 0.2).all() and (drawn[:, 1] >= -0.5).all()


def test_a_draw_belongs_to_what_the_row_holds_and_not_to_its_place():
    one = completion(np.array([[0.2, -np.inf, -np.inf], [np.inf] * 3]))
    X = np.random.default_rng(2).multivariate_normal(MEAN, COVARIANCE, 300)
    X[:, 0] = np.maximum(X[:, 0], 0.2)
    order = np.random.default_rng(3).permutation(300)
    np.testing.assert_array_equal(one.draw(X, 7)[order], one.draw(X[order], 7))


def test_mean_and_variance_are_those_of_maximum_likelihood_with_censoring():
    """Of a column that depends on nothing, against the censored (Tobit) likelihood."""
    rng = np.random.default_rng(5)
    X = rng.normal(3.0, 2.0, (N, 2))
    cut = np.column_stack([np.maximum(X[:, 0], 2.0), X[:, 1]])
    model = RCIRegressor(limits={0: "<2"}).fit(cut, X[:, 1] + rng.standard_normal(N))
    below = cut[:, 0] <= 2.0

    def minus_log_likelihood(at):
        mean, sd = at[0], np.exp(at[1])
        return -norm.logpdf(cut[~below, 0], mean, sd).sum() - below.sum() * norm.logcdf(2.0, mean, sd)

    mean, log_sd = minimize(minus_log_likelihood, [3.0, 0.5]).x
    kept = model._completion
    assert kept is not None
    assert kept.mean[0] == pytest.approx(mean, abs=0.03)
    assert kept.covariance[0, 0] ** 0.5 == pytest.approx(np.exp(log_sd), rel=0.03)


def test_cells_that_say_it_numbers_beyond_and_the_limit_itself_are_the_same():
    whole, cut, limits, y = cohort()
    said = cut.astype(object)
    at = cut["a"] == cut["a"].min()
    said.loc[at, "a"] = limits["a"]
    said.loc[cut["b"] == cut["b"].max(), "b"] = limits["b"][0].replace(">", ">= ")
    said.loc[np.flatnonzero(at)[:3], "a"] = "<1.5"
    models = [RCIRegressor(limits=limits).fit(X, y) for X in (cut, whole, said)]
    for other in (models[1], models[2]):
        np.testing.assert_array_equal(models[0].coef_, other.coef_)
    np.testing.assert_array_equal(models[0].shapley_values(said), models[0].shapley_values(whole))
    assert models[2].provenance_["limits"]["a"] == {"said": [limits["a"]], "cells": int(at.sum())}
    assert "missing" not in models[0].provenance_


def test_effects_are_nearer_to_those_of_what_was_not_cut():
    whole, cut, limits, y = cohort()
    uncut, said, numbers = (
        RCIRegressor(limits=one, mechanism="linear").fit(X, y)
        for X, one in ((whole, None), (cut, limits), (cut, None))
    )
    truth = uncut.shapley_values(whole)
    errors = [np.abs(model.shapley_values(cut) - truth).mean() for model in (said, numbers)]
    assert errors[0] < 0.8 * errors[1]


def test_a_law_is_told_by_errors_that_are_lifted_above_the_limit():
    """Of an exponential law of which half is censored, each error at a bound of its own."""
    rng = np.random.default_rng(4)
    errors = (rng.exponential(size=(6000, 1)) - 1.0) * np.array([1.0, -1.0])
    ends = rng.normal(0.0, 0.8, errors.shape)
    side = np.column_stack([-(errors[:, 0] < ends[:, 0]).astype(int), errors[:, 1] > ends[:, 1]]).astype(
        np.int8
    )
    counts = ErrorCounts.of(np.where(side == 0, errors, np.nan), ends, side)
    law, mirrored = np.exp(counts.laws())
    true = np.where(GRID > -1.0, np.exp(-(GRID + 1.0)), 0.0)
    gaussian = norm.pdf(GRID)
    for found in (law, mirrored[::-1]):
        assert np.abs(found - true).sum() < 0.4 * np.abs(gaussian - true).sum()
    doubled = (2.0 * counts).laws()
    np.testing.assert_allclose(np.exp(doubled), np.exp(counts.laws()), atol=0.05)


def test_values_drawn_by_the_mechanism_are_nearer_to_those_that_were_not_seen(monkeypatch):
    rng = np.random.default_rng(8)
    a, e, c = rng.exponential(size=(3, 700))
    whole = pd.DataFrame({"a": a, "b": 0.8 * a + e, "c": c})
    cut = whole.clip(lower=whole.quantile(0.3), axis=1)
    limits = {name: f"<{float(cut[name].min())!r}" for name in cut}
    y = whole["b"].to_numpy() + 0.5 * c + rng.laplace(size=700)
    beyond = (cut == cut.min()).to_numpy()

    def away() -> float:
        model = RCIRegressor(limits=limits, mechanism="linear").fit(cut, y)
        filled = model._completion.fill(cut.to_numpy())
        assert (filled <= cut.to_numpy()).all()
        return np.abs(filled - whole.to_numpy())[beyond].mean()

    by_mechanism = away()
    monkeypatch.setattr("rootcausal.method.pipeline.PASSES", 0)
    assert by_mechanism < 0.75 * away()


@pytest.mark.parametrize("backend", ["numpy", "numba", pytest.param("cupy", marks=pytest.mark.gpu)])
def test_backends_agree_and_without_limits_nothing_changes(backend: str):
    _, cut, limits, y = cohort(n=400)
    reference = RCIRegressor(limits=limits, backend="numpy").fit(cut, y)
    model = RCIRegressor(limits=limits, backend=backend).fit(cut, y)
    np.testing.assert_allclose(model.shapley_values(cut), reference.shapley_values(cut), rtol=1e-9, atol=1e-9)
    plain, empty = (
        RCIRegressor(limits=one, backend=backend, mechanism="linear").fit(cut, y) for one in (None, {})
    )
    np.testing.assert_array_equal(plain.coef_, empty.coef_)


def test_intervals_resamples_folds_and_files_know_of_it(tmp_path: Path):
    _, cut, limits, y = cohort(n=400)
    model = RCIRegressor(limits=limits, log=["a"]).fit(cut, y).bootstrap(5)
    explained = model.explain(cut)
    at = (cut["a"] == cut["a"].min()).to_numpy()
    np.testing.assert_array_equal(explained.imputed[:, 0], at)
    np.testing.assert_array_equal(explained.censored[:, 0], -at.astype(int))
    np.testing.assert_array_equal(explained.censored[:, 1], (cut["b"] == cut["b"].max()).astype(int))
    assert (explained.data[at, 0] < cut["a"].min()).all()
    assert explained.imputation_sd is not None and (explained.imputation_sd[at].max(axis=1) > 0).all()
    frame = explained[[int(np.flatnonzero(at)[0])]].to_frame().set_index("variable")
    assert frame.loc["a", "limit"] == limits["a"] and frame["limit"].isna()["c"]
    assert model.cross_validate(3)["r2"] > 0.3
    model.save(tmp_path / "m.rci")
    loaded = RCIRegressor.load(tmp_path / "m.rci")
    np.testing.assert_array_equal(loaded.shapley_values(cut), model.shapley_values(cut))
    again = loaded.explain(cut)
    np.testing.assert_array_equal(again.lower, explained.lower)
    with pytest.raises(InputError, match="resamples"):
        other = RCIRegressor(limits=limits | {"a": "<7.9"}).fit(cut, y)
        model.bootstrap(3, resume=tmp_path / "kept")
        other.bootstrap(3, resume=tmp_path / "kept")


def test_of_times_and_with_missing_values_and_measurement_error_beside():
    _, cut, limits, y = cohort(n=400)
    holed = cut.copy()
    holed.loc[::7, "c"] = np.nan
    model = RCISurvival(limits=limits).fit(holed, np.exp(-y / 8.0), np.ones(len(y)))
    assert model.coef_[1] > 0.3 and model.provenance_["missing"]["cells"] == {"c": 58}
    noisy = RCIRegressor(limits={"a": limits["a"]}, reliability={"b": 0.9}).fit(cut, y)
    explained = noisy.explain(cut)
    at = cut["a"] == cut["a"].min()
    np.testing.assert_allclose(explained.data[:, 1], cut["b"])  # of what is measured with error, as measured
    assert (explained.data[at, 0] < cut["a"].min()).all()


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"a": "3"}, "the limit of 'a' must be as in '<3'"),
        ({"a": ["<3", "<4"]}, "the limit of 'a'"),
        ({"a": ["<5", ">4"]}, "the limit of 'a'"),
        ({"a": None}, "the limit of 'a'"),
        ({"a": []}, "the limit of 'a'"),
        (["a"], "limits must be a dict"),
        ({"zz": "<3"}, "limits names 'zz'"),
        ({"d": "<1"}, "'d' has levels"),
    ],
)
def test_what_is_no_limit_is_refused(limits, why: str):
    _, cut, _, y = cohort(n=100)
    kinds = {"d": "ordinal"}
    with pytest.raises(InputError, match=why):
        RCIRegressor(limits=limits, kinds=kinds).fit(cut.assign(d=np.arange(100) % 4), y)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"mechanism": "nonlinear"}, "mechanism='nonlinear' takes values for exact"),
        ({"missing": "refuse"}, "leave missing='impute'"),
        ({"reliability": {"a": 0.9}}, "not both"),
    ],
)
def test_what_does_not_go_with_limits_is_refused(options, why: str):
    _, cut, limits, y = cohort(n=100)
    with pytest.raises(InputError, match=why):
        RCIRegressor(limits=limits, **options).fit(cut, y)


def test_auto_takes_straight_lines_and_says_so():
    _, cut, limits, y = cohort(n=200)
    made = RCIRegressor(limits=limits, mechanism="auto").fit(cut, y).provenance_["mechanism"]
    assert made["taken"] == "linear" and "limit of detection" in made["why"]


def test_nothing_below_a_limit_is_too_little_for_a_logarithm(tmp_path: Path):
    _, cut, _, y = cohort(n=300)
    zeros = cut.assign(a=cut["a"].where(cut["a"] > cut["a"].min(), 0.0))
    low = float(cut["a"].min())
    with pytest.raises(InputError, match=r"say below what with limits=\{'a': '<LIMIT'\}"):
        RCIRegressor(log=["a"]).fit(zeros, y)
    model = RCIRegressor(log=["a"], limits={"a": f"<{low}"}).fit(zeros, y)
    same = RCIRegressor(log=["a"], limits={"a": f"<{low}"}).fit(cut, y)
    np.testing.assert_array_equal(model.shapley_values(zeros), same.shapley_values(cut))
    assert (model.explain(zeros).data[:, 0] > 0).all()
    model.save(tmp_path / "m.rci")
    zeros.to_csv(tmp_path / "new.csv", index=False)
    ok("explain", tmp_path / "m.rci", tmp_path / "new.csv", "--out", tmp_path / "scores.csv")
    scores = pd.read_csv(tmp_path / "scores.csv")
    np.testing.assert_allclose(scores["a"], model.shapley_values(zeros)[:, 0], rtol=1e-6, atol=1e-9)


def test_without_limits_a_cell_that_says_one_asks_for_it():
    _, cut, _, y = cohort(n=100)
    with pytest.raises(InputError, match=r"limits=\{'a': '<7'\}"):
        RCIRegressor().fit(cut.astype({"a": object}).assign(a=["<7", *cut["a"][1:]]), y)


# --- the command line, look and the page ----------------------------------------------------------------


def lab_table() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    amount = rng.lognormal(1, 1, 300)
    table = pd.DataFrame(
        {
            "crp": [f"{v:.1f}" if v > 2 else "<2" for v in amount],
            "bnp": np.maximum(rng.normal(60, 20, 300), 45).round(2),
            "age": rng.integers(20, 80, 300),
        }
    )
    table["ill"] = (rng.random(300) < 1 / (1 + np.exp(-(amount - 3) / 2))).astype(int)
    return table


def test_look_asks_and_the_line_that_it_writes_fits(tmp_path: Path):
    table = lab_table()
    table.to_csv(tmp_path / "labs.csv", index=False)
    labs, model, page = tmp_path / "labs.csv", tmp_path / "m.rci", tmp_path / "p.html"
    said = ok("look", labs, "--target", "ill")
    assert "--limit 'crp=<2' --limit 'bnp=<45'" in said.replace("\n", " ")
    limits = ("--limit", "crp=<2", "--limit", "bnp=<45")
    done = run("fit", labs, "--target", "ill", *limits, "--out", model)
    assert done.exit_code == 0
    assert "limits of detection: crp <2 (" in done.stdout and "bnp <45 (" in done.stdout
    assert "could it not be measured" not in done.stderr
    assert "crp (<2)" in ok("explain", model, labs)
    ok("report", labs, "--model", model, "--out", page)
    shown = {one["name"]: one["limits"] for one in facts_of(page)["variables"]}
    assert shown == {"crp": ["<2", "<2"], "bnp": ["<45", "<45"], "age": []}
    assert "--limit 'crp=<2'" in error(3, "fit", labs, "--target", "ill")
    assert "write COLUMN=<LIMIT" in error(2, "fit", labs, "--target", "ill", "--limit", "crp")


def test_look_does_not_ask_of_what_begins_at_none_or_one():
    rng = np.random.default_rng(0)

    table = pa.table(
        {
            "nodes": np.minimum(rng.zipf(2.0, 500), 40).astype(float),
            "dose": np.where(rng.random(500) < 0.4, 0.0, rng.lognormal(size=500)),
            "falls": rng.poisson(3, 500).astype(float),
            "ill": rng.integers(0, 2, 500),
        }
    )
    assert not [one for one in look(table, "ill").findings if one.name == "limit"]


# --- the check --------------------------------------------------------------------------------------------


def resolution_of(X: pd.DataFrame, y: np.ndarray, **options):
    diagnosis = RCI(mechanism="linear", **options).fit(X, y).diagnose(X, y)
    return next(check for check in diagnosis.checks if check.name == "resolution")


def test_the_check_names_the_columns_and_what_to_do():
    drawn = simulate(n_samples=500, n_variables=7, random_state=4)
    X = pd.DataFrame(drawn.X + 10, columns=list("abcdef"))
    assert resolution_of(X, drawn.y).verdict == "fine"
    low, high = X["a"].quantile(0.25), X["b"].quantile(0.75)
    step = 0.5 * X["c"].std()
    cut = X.assign(a=X["a"].clip(lower=low), b=X["b"].clip(upper=high), c=(X["c"] / step).round() * step)
    found = resolution_of(cut, drawn.y)
    assert found.verdict == "doubtful" and set(found.variables) == {"a", "b", "c"}
    assert f"--limit 'a=<{low!r}'".replace("np.float64(", "").replace(")", "") in found.advice
    assert "--reliability 'c=sd" in found.advice
    said = resolution_of(cut[["a", "d", "e"]], drawn.y, limits={"a": f"<{float(low)!r}"})
    assert said.verdict == "fine"
    model = RCI(mechanism="linear").fit(X, drawn.y)
    few = model.diagnose(X.head(40), drawn.y[:40]).checks
    assert next(check for check in few if check.name == "resolution").verdict == "cannot tell"


@pytest.mark.parametrize("seed", range(3))
def test_what_is_rounded_heaped_or_piled_up(seed: int):
    rng = np.random.default_rng(seed)
    normal, amount, n = rng.normal(13.5, 1.5, 500), rng.lognormal(1, 0.7, 500), 500
    assert [(one.below, one.value) for one in piles_of(np.maximum(amount, 1.7))] == [(True, 1.7)]
    assert [one.below for one in piles_of(np.minimum(amount, 4.0))] == [False]
    assert [one.value for one in piles_of(np.where(amount < 1.7, 0.85, amount))] == [0.85]
    rounded = coarse_steps(normal.round())
    assert rounded is not None and rounded.size == 1.0 and not rounded.heaped
    pressure = rng.normal(130, 20, n)
    heaped = coarse_steps(np.where(rng.random(n) < 0.7, (pressure / 10).round() * 10, pressure.round()))
    assert heaped is not None and heaped.size == 10.0 and heaped.heaped


@pytest.mark.parametrize(
    "values",
    [
        lambda rng: rng.normal(size=500),
        lambda rng: rng.lognormal(size=500).round(1),
        lambda rng: rng.poisson(4, 500),
        lambda rng: rng.poisson(12, 500),
        lambda rng: rng.geometric(0.5, 500),
        lambda rng: np.minimum(rng.zipf(2.0, 500), 1000),
        lambda rng: rng.negative_binomial(1, 0.05, 500),
        lambda rng: rng.normal(60, 12, 500).round(),
        lambda rng: np.where(rng.random(500) < 0.5, 0, rng.choice([5, 10, 15, 20, 30, 40], 500)),
        lambda rng: np.where(rng.random(500) < 0.6, 15, rng.integers(3, 15, 500)),
        lambda rng: rng.integers(0, 2, 500),
    ],
)
def test_what_is_whole_counted_or_skewed_is_neither(values):
    for seed in range(5):
        found = np.asarray(values(np.random.default_rng(seed)), dtype=float)
        assert not piles_of(found) and coarse_steps(found) is None
