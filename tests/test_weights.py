"""Rows that count differently: whole-number weights equal repeated rows, inclusion weights weight sums."""

from __future__ import annotations

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from command_line import error, ok
from hypothesis import given, settings
from hypothesis import strategies as st
from page_facts import facts_of

from rootcausal import RCI, InputError, RCIRegressor, RCISurvival
from rootcausal.backends.choose import choose_table
from rootcausal.cli.script import script_of
from rootcausal.likelihood.likelihoods import HazardLikelihood, LogitLikelihood, LossLikelihood
from rootcausal.method.layout import Layout
from rootcausal.method.missing.imputation import expectation_maximization, view_of
from rootcausal.method.moments import describe_columns
from rootcausal.method.pipeline import learn
from rootcausal.method.weighted import RowWeights, effective_rows
from rootcausal.outcomes.binary import Binary
from rootcausal.outcomes.count import Count
from rootcausal.outcomes.survival import Survival

N = 160
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
everywhere = pytest.mark.parametrize(
    "backend", ["numpy", "numba", pytest.param("cupy", marks=pytest.mark.gpu)]
)


@cache
def labs() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    a = rng.laplace(size=N)
    b = 0.8 * a + rng.laplace(size=N)
    stage = np.digitize(b + rng.logistic(size=N), [-1.0, 1.0])
    ward = np.array(["x", "y", "z"])[rng.integers(3, size=N)]
    return pd.DataFrame({"a": a, "b": b, "c": rng.gamma(2.0, size=N), "stage": stage, "ward": ward})


@cache
def with_holes() -> pd.DataFrame:
    holes = labs().copy()
    holes.loc[::9, "b"] = np.nan
    holes.loc[::13, "ward"] = None
    return holes


def pull() -> np.ndarray:
    return (labs().b - 0.7 * labs().c + 1.4).to_numpy()


def outcomes() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """By kind: the estimator with its parameters, and the outcome as it takes it after X."""
    rng = np.random.default_rng(4)
    ill = (pull() + rng.logistic(size=N) > 0).astype(int)
    time, event = np.round(rng.exponential(4 * np.exp(-0.6 * pull())) + 0.1, 2), rng.random(N) < 0.7
    stage = np.digitize(pull() + rng.logistic(size=N), [-1.0, 1.0])
    return {
        "diagnosis": (RCI, (ill,)),
        "stages": (lambda **more: RCI(outcome="ordinal", **more), (stage,)),
        "survival": (RCISurvival, (time, event)),
        "number": (RCIRegressor, (pull() + rng.normal(size=N),)),
        "counts": (
            lambda **more: RCIRegressor(outcome="count", **more),
            (rng.poisson(np.exp(0.3 * pull())),),
        ),
    }


KINDS = list(outcomes())


def counts() -> np.ndarray:
    """Whole numbers, some of them 0."""
    return np.random.default_rng(5).integers(0, 4, N)


def repeated(given: Any, times: np.ndarray) -> Any:
    rows = np.repeat(np.arange(N), times)
    return given.iloc[rows].reset_index(drop=True) if isinstance(given, pd.DataFrame) else given[rows]


def both(kind: str, X: pd.DataFrame, times: np.ndarray, **options: Any) -> tuple[Any, Any]:
    """A model of weighted rows, and one of repeated rows."""
    made, outcome = outcomes()[kind]
    weighted = made(**options).fit(X, *outcome, weights=times)
    return weighted, made(**options).fit(repeated(X, times), *(repeated(one, times) for one in outcome))


def said_by(diagnosis: Any) -> dict[str, Any]:
    """All that checks say, but of whose model."""
    return {**diagnosis.to_dict(), "provenance": None}


# --- whole numbers ----------------------------------------------------------------------------------------


@everywhere
@pytest.mark.parametrize("X", [labs, with_holes], ids=["whole", "holes"])
@pytest.mark.parametrize("kind", KINDS)
def test_whole_numbers_equal_repeated_rows(kind: str, X: Any, backend: str) -> None:
    weighted, plain = both(kind, X(), counts(), backend=backend, mechanism="linear")
    assert weighted.causal_order_.tolist() == plain.causal_order_.tolist()
    assert np.array_equal(weighted.explain(X()).values, plain.explain(X()).values)
    assert np.array_equal(weighted.explain(X()).predictor, plain.explain(X()).predictor)
    pd.testing.assert_frame_equal(weighted.summary().frame, plain.summary().frame)
    assert weighted.provenance_["rows"] == plain.provenance_["rows"] == counts().sum()


@pytest.mark.parametrize("kind", KINDS)
def test_of_curves_too(kind: str) -> None:
    weighted, plain = both(kind, with_holes(), counts(), mechanism="nonlinear")
    assert np.array_equal(weighted.shapley_values(with_holes()), plain.shapley_values(with_holes()))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=N, max_size=N), st.integers(0, 99))
def test_any_whole_numbers_do(times: list[int], seed: int) -> None:
    rng, some = np.random.default_rng(seed), np.array(times)
    X = pd.DataFrame(rng.laplace(size=(N, 3)), columns=list("abc"))
    y = np.arange(N) % 2
    some[:8] = 1  # four of each kind
    weighted, plain = RCI().fit(X, y, weights=some), RCI().fit(repeated(X, some), repeated(y, some))
    assert np.array_equal(weighted.shapley_values(X), plain.shapley_values(X))


@pytest.mark.parametrize("kind", ["diagnosis", "survival", "number"])
def test_resamples_folds_and_halves_are_those_of_repeated_rows(kind: str) -> None:
    weighted, plain = both(kind, with_holes(), counts(), mechanism="linear")
    told = [model.bootstrap(3).explain(with_holes()) for model in (weighted, plain)]
    assert np.array_equal(told[0].lower, told[1].lower) and np.array_equal(told[0].upper, told[1].upper)
    assert weighted.cross_validate(3) == plain.cross_validate(3)
    assert weighted.split_half(1) == plain.split_half(1)


@pytest.mark.parametrize("kind", KINDS)
def test_checks_and_page_are_those_of_repeated_rows(kind: str, tmp_path: Path) -> None:
    weighted, plain = both(kind, with_holes(), counts(), mechanism="linear")
    X, outcome, times = with_holes(), outcomes()[kind][1], counts()
    again = repeated(X, times), *(repeated(one, times) for one in outcome)
    assert said_by(weighted.diagnose(X, *outcome, weights=times)) == said_by(plain.diagnose(*again))
    assert weighted._found.checks and weighted._found.checks == plain._found.checks
    weighted.report(X, tmp_path / "p.html", *outcome, weights=times)
    facts = facts_of(tmp_path / "p.html")
    assert len(facts["labels"]) == N  # a patient has one place on the page, however much they count
    kept = f"{N} rows as {times.sum()}"
    assert any(kept in note for note in facts["made"]["notes"])


def test_a_column_of_the_table_says_it_and_is_no_variable() -> None:
    X, (y,) = labs(), outcomes()["diagnosis"][1]
    named = RCI().fit(X.assign(w=counts()), y, weights="w")
    assert list(named.feature_names_in_) == list(X)
    assert np.array_equal(named.shapley_values(X), both("diagnosis", X, counts())[1].shapley_values(X))
    checked = named.diagnose(X.assign(w=counts()), y, weights="w")
    assert said_by(checked) == said_by(named.diagnose(X, y, weights=counts()))


def test_rows_of_one_patient_stay_together() -> None:
    X, (y,) = labs(), outcomes()["diagnosis"][1]
    patients = np.arange(N) // 2
    weighted = RCI().fit(X, y, groups=patients, weights=counts()).bootstrap(3)
    plain = RCI().fit(repeated(X, counts()), repeated(y, counts()), groups=repeated(patients, counts()))
    assert np.array_equal(weighted.explain(X).lower, plain.bootstrap(3).explain(X).lower)
    fractions = RCI().fit(X, y, groups=patients, weights=counts() / 3.0).bootstrap(3)
    assert np.isfinite(fractions.explain(X).lower).all()


def test_whole_numbers_are_told_from_sampling_weights() -> None:
    X, (y,) = labs(), outcomes()["diagnosis"][1]
    with pytest.warns(UserWarning, match="if they are sampling weights; these rows then tell as much as"):
        RCI().fit(X, y, weights=counts())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RCI(positive=1).fit(X, y, weights=np.ones(N, dtype=int))
    rare = RCI().fit(X, y, weights=np.where(y == 1, 1.0, 4.0))  # chances of 1 and 0.25, by accident whole
    assert rare.provenance_["weights"]["whole"] is False
    many = RCI().fit(X, y, weights=1000 * (1 + counts()))
    assert many.provenance_["weights"]["whole"] is False
    assert many.provenance_["weights"]["effective"] == round(effective_rows(1.0 + counts()))


# --- inclusion weights ------------------------------------------------------------------------------------


def test_how_large_they_are_makes_no_difference() -> None:
    X, (y,) = with_holes(), outcomes()["diagnosis"][1]
    weights = np.random.default_rng(6).lognormal(size=N)
    one, other = (RCI().fit(X, y, weights=w).shapley_values(X) for w in (weights, 1e6 * weights))
    assert other == pytest.approx(one, abs=1e-9)
    same, none = RCI().fit(X, y, weights=np.full(N, 0.3)), RCI().fit(X, y)
    assert np.array_equal(same.shapley_values(X), none.shapley_values(X))


def test_the_sample_size_is_the_effective_one() -> None:
    X, (y,) = labs(), outcomes()["diagnosis"][1]
    weights = np.random.default_rng(7).lognormal(size=N)
    weights[:10] = 0.0
    model = RCI().fit(X, y, weights=weights)
    made = model.provenance_["weights"]
    kish = weights.sum() ** 2 / (weights**2).sum()
    assert made == {"rows": N, "left_out": 10, "whole": False, "effective": round(kish)}
    assert model.provenance_["rows"] == N - 10
    left = RCI().fit(X[10:], y[10:], weights=weights[10:])
    assert np.array_equal(left.shapley_values(X), model.shapley_values(X))


@everywhere
@pytest.mark.parametrize("kind", ["diagnosis", "survival"])
def test_sums_are_weighted_sums(kind: str, backend: str) -> None:
    """Parts that count 1, 2 and 3 add up to what repeated rows do, wherever and of whatever they are."""
    made, outcome = outcomes()[kind]
    model = made(mechanism="linear").fit(labs(), *outcome)
    rows, times = model._cohort, counts()
    there = np.flatnonzero(times)
    again = np.repeat(np.arange(N), times)
    told = rows.outcome_of_all.again(rows.y[again])
    weights = RowWeights(times[there].astype(float))
    asked = rows.settings, None, rows.layout, told
    found = []
    for some, counting in ((there, weights), (again, None)):
        raw = choose_table(backend, rows.X[some], told.rows(rows.y[some]), weights=counting)
        assert raw.shape[0] == times.sum()
        found.append(learn(raw, describe_columns(raw), *asked).model)
    assert found[0].order.tolist() == found[1].order.tolist()
    assert found[0].shapley(rows.X) == pytest.approx(found[1].shapley(rows.X), abs=1e-8)


@everywhere
def test_sums_of_the_imputation_are_weighted_sums(backend: str) -> None:
    X = with_holes()[["a", "b", "c"]].to_numpy()
    (y,), times = outcomes()["diagnosis"][1], counts()
    there, again = np.flatnonzero(times), np.repeat(np.arange(N), times)
    found = []
    for some, counting in ((there, RowWeights(times[there].astype(float))), (again, None)):
        raw = choose_table(backend, X[some], y[some], weights=counting)
        columns = describe_columns(raw)
        view = view_of(columns, Layout.numbers(3), np.arange(3), Binary(0.5))
        found.append(expectation_maximization(raw, view, raw.shape[0])[0])
    assert found[0].mean == pytest.approx(found[1].mean, abs=1e-10)
    assert found[0].covariance == pytest.approx(found[1].covariance, abs=1e-10)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        *((kind, {"mechanism": "linear"}) for kind in KINDS),
        ("diagnosis", {"mechanism": "nonlinear"}),
        ("survival", {"mechanism": "nonlinear"}),
        ("diagnosis", {"mechanism": "linear", "reliability": {"a": 0.9}}),
    ],
)
def test_every_outcome_takes_them(kind: str, options: dict[str, Any], tmp_path: Path) -> None:
    made, outcome = outcomes()[kind]
    X, weights = with_holes(), np.random.default_rng(8).choice([0.4, 1.0, 2.5], N)
    model = made(**options).fit(X, *outcome, weights=weights).bootstrap(2)
    explained = model.explain(X)
    assert np.isfinite(explained.values).all() and np.isfinite(explained.lower).all()
    assert model.diagnose(X, *outcome, weights=weights).checks and model._found.checks
    assert np.isfinite(list(model.cross_validate(3).values())).all()
    model.report(X, tmp_path / "p.html", *outcome, weights=weights)
    effective = model.provenance_["weights"]["effective"]
    notes = facts_of(tmp_path / "p.html")["made"]["notes"]
    assert any(f"{N} rows tell as much as {effective} of equal weight" in note for note in notes)
    model.save(tmp_path / "m.rci")
    again = type(model).load(tmp_path / "m.rci")
    assert again.provenance_["weights"] == model.provenance_["weights"]
    assert "weighted, standard errors robust" in again.summary().method or again.summary().none
    assert np.array_equal(again.explain(X).lower, explained.lower)
    again.diagnose(X, *outcome, weights=weights)
    assert again._found.checks == model._found.checks


def test_an_order_that_selection_hid_comes_back() -> None:
    """Patients chosen by what two causes do together: among them the two depend on each other."""
    rng = np.random.default_rng(9)
    x, z = rng.laplace(size=(2, 40_000))
    chance = np.where(x + z > 1.0, 0.9, 0.1)
    taken = rng.random(x.size) < chance
    X = pd.DataFrame({"x": x, "z": z})[taken].reset_index(drop=True)
    y = (X.x - X.z + rng.logistic(size=len(X)) > 0).astype(int).to_numpy()
    chosen, weighted = RCI(), RCI()
    chosen.fit(X, y)
    weighted.fit(X, y, weights=1.0 / chance[taken])
    slopes = [np.abs(m._model.mechanism.total_effects() - np.eye(2)).max() for m in (chosen, weighted)]
    assert slopes[0] > 0.15 and slopes[1] < 0.05


def test_effects_are_those_of_weighted_least_squares() -> None:
    X, (y,) = labs()[["a", "b", "c"]], outcomes()["number"][1]
    weights = np.random.default_rng(10).lognormal(size=N)
    term = RCIRegressor(mechanism="linear").fit(X, y, weights=weights).summary().frame
    A = np.column_stack([np.ones(N), X])
    bread = np.linalg.inv(A.T @ (weights[:, None] * A))
    beta = bread @ A.T @ (weights * y)
    scores = A * (weights * (y - A @ beta))[:, None]
    robust = np.sqrt(np.diagonal(bread @ scores.T @ scores @ bread) * N / (N - 1))
    assert term["effect"].to_numpy() == pytest.approx(beta[1:], rel=1e-8)
    assert term["std_err"].to_numpy() == pytest.approx(robust[1:], rel=1e-8)


@pytest.mark.parametrize("penalized", [False, True])
def test_likelihoods_count_rows_by_their_weights(penalized: bool) -> None:
    rng, times = np.random.default_rng(11), counts()[:60] + 1
    Z, beta = rng.normal(size=(60, 3)), rng.normal(size=4)
    y = (rng.random(60) < 0.5).astype(float)
    again = np.repeat(np.arange(60), times)
    one = LogitLikelihood(Z, y, times.astype(float)).at(beta, penalized)
    other = LogitLikelihood(Z[again], y[again]).at(beta, penalized)
    assert one.loglik == pytest.approx(other.loglik) and one.score == pytest.approx(other.score)
    assert one.covariance == pytest.approx(other.covariance)

    known = np.column_stack([np.round(rng.exponential(size=60), 1) + 0.1, y])
    cox = HazardLikelihood.of(Z, known, rng.lognormal(size=60))
    at, step = beta[:3], 1e-5
    slopes = [
        (cox.at(at + step * side, penalized).loglik - cox.at(at - step * side, penalized).loglik) / (2 * step)
        for side in np.eye(3)
    ]
    assert cox.at(at, penalized).score == pytest.approx(np.array(slopes), abs=1e-6)
    assert cox.scores(at).sum(axis=0) == pytest.approx(cox.at(at, False).score)


def test_what_weighted_rows_add_to_the_slopes_of_counts_adds_up() -> None:
    rng = np.random.default_rng(13)
    Z, known = rng.normal(size=(60, 3)), np.column_stack([rng.poisson(2.0, size=60), np.ones(60)])
    outcome = Count.of(known)
    poisson = LossLikelihood.of(Z, outcome.rows(known), outcome, rng.integers(1, 9, size=60) / 4.0)
    at = poisson.start + 0.1
    assert poisson.scores(at).sum(axis=0) == pytest.approx(poisson.at(at, False).score)


def test_a_hazard_of_weighted_rows_is_that_of_repeated_ones() -> None:
    """By Breslow's sums, without ties: a copy would tie with itself, so one row alone has the event."""
    rng, times = np.random.default_rng(12), counts()[:40] + 1
    time, Z = rng.permutation(40) + 1.0, rng.normal(size=(40, 2))
    event = (time == 3.0).astype(float)
    times[event > 0] = 1
    again = np.repeat(np.arange(40), times)
    known = np.column_stack([time, event])
    one = HazardLikelihood.of(Z, known, times.astype(float)).at(np.array([0.3, -0.2]), False)
    other = HazardLikelihood.of(Z[again], known[again]).at(np.array([0.3, -0.2]), False)
    assert one.score == pytest.approx(other.score) and one.covariance == pytest.approx(other.covariance)


@given(st.lists(st.floats(0.01, 100.0), min_size=2, max_size=200))
def test_rows_that_stand_for_all_are_there_as_often_as_they_count(given_weights: list[float]) -> None:
    weights = RowWeights.of(np.array(given_weights))
    often = np.bincount(weights.sample, minlength=len(given_weights))
    assert often.sum() == weights.rows
    assert (np.abs(often - weights.weights) < 1.0 + 1e-9).all()
    parts = weights.alike
    assert sorted(np.concatenate([rows for rows, _ in parts])) == list(range(len(given_weights)))
    total = sum(rows.size * weight for rows, weight in parts)
    assert total == pytest.approx(weights.weights.sum())


def test_many_different_weights_are_rounded_by_little() -> None:
    weights = RowWeights.of(np.random.default_rng(13).lognormal(size=5000))
    assert len(weights.alike) <= 50
    off = [np.abs(weights.weights[rows] / weight - 1.0).max() for rows, weight in weights.alike]
    assert max(off) < 0.2
    few = RowWeights.of(np.repeat([0.5, 1.0, 4.0], 20))
    assert sorted(rows.size for rows, _ in few.alike) == [20, 20, 20]


def test_an_outcome_is_what_it_is_among_those_who_are_stood_for() -> None:
    time = np.arange(1.0, 61.0)
    known = np.column_stack([time, time % 2])
    weights = RowWeights.of(np.where(time > 30.0, 2.5, 0.5))
    rows = Survival.of(known).again(known[weights.fine]).rows(known)
    assert np.average(rows[:, 0], weights=weights.weights) == pytest.approx(0.0, abs=0.01)


# --- on a cluster -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "X"), [("diagnosis", with_holes), ("number", labs)])
def test_a_cluster_learns_what_memory_learns(client_of_threads: object, kind: str, X: Any) -> None:
    dd = pytest.importorskip("dask.dataframe")
    (made, (y,)), columns = outcomes()[kind], ["a", "b", "c", "stage"]
    whole, fractions = counts(), counts() / 2.0
    frame = dd.from_pandas(X()[columns].assign(y=y, whole=whole, fractions=fractions), npartitions=3)
    for name, given_weights in (("whole", whole), ("fractions", fractions)):
        there = made(backend="dask").fit(frame[[*columns, "y", name]], "y", weights=name)
        here = made(backend="numba", mechanism="linear").fit(X()[columns], y, weights=given_weights)
        assert there.shapley_values(X()[columns]) == pytest.approx(
            here.shapley_values(X()[columns]), abs=1e-9
        )
        for key in ("weights", "rows"):
            assert there.provenance_[key] == here.provenance_[key]
    whole[3] = -2
    wrong = dd.from_pandas(X()[columns].assign(y=y, w=whole), npartitions=2)
    with pytest.raises(InputError, match="row 3 has -2"):
        made(backend="dask").fit(wrong[[*columns, "y"]], "y", weights=wrong.w)


# --- what cannot be ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (-1.0, "row 3 has -1"),
        (np.nan, "row 3 has none"),
        (np.inf, "row 3 has inf"),
    ],
)
def test_what_is_no_weight_is_named_with_its_row(value: float, said: str) -> None:
    X, (y,) = labs(), outcomes()["diagnosis"][1]
    weights = np.ones(N)
    weights[2] = value
    with pytest.raises(InputError, match=said):
        RCI().fit(X, y, weights=weights)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (np.ones(3), "give one weight a row"),
        (np.zeros(N), "0 in all rows"),
        (["heavy"] * N, "one number a row"),
        ("w", "no column 'w' for weights"),
    ],
)
def test_other_weights_that_cannot_be(weights: Any, said: str) -> None:
    X, (y,) = labs(), outcomes()["diagnosis"][1]
    with pytest.raises(InputError, match=said):
        RCI().fit(X, y, weights=weights)


def test_what_weighs_rows_itself_is_refused() -> None:
    X, (y,) = labs(), outcomes()["diagnosis"][1]
    with pytest.raises(InputError, match="prevalence, which weights cases and controls itself"):
        RCI(prevalence=0.1).fit(X, y, weights=counts())
    with pytest.raises(InputError, match="weights do not go together with matched sets"):
        RCI().fit(X, y, strata=np.arange(N) // 4, weights=counts())


def test_an_array_in_other_containers_will_do() -> None:
    X, (y,) = labs(), outcomes()["diagnosis"][1]
    expected = RCI().fit(X, y, weights=counts() / 2.0).shapley_values(X)
    half = counts() / 2.0
    for given_weights in (half.tolist(), pd.Series(half), pa.chunked_array([half[:9], half[9:]])):
        assert np.array_equal(RCI().fit(X, y, weights=given_weights).shapley_values(X), expected)
    polars = pytest.importorskip("polars")
    frame = polars.from_pandas(X)
    assert np.array_equal(RCI().fit(frame, list(y), weights=counts() / 2.0).shapley_values(X), expected)


# --- at the command line ----------------------------------------------------------------------------------


def written(folder: Path, X: pd.DataFrame, name: str) -> Path:
    X.to_csv(folder / name, index=False)
    return folder / name


def test_files_say_the_weights_in_a_column(tmp_path: Path) -> None:
    X, (y,) = with_holes(), outcomes()["diagnosis"][1]
    weighted = written(tmp_path, X.assign(ill=y, w=counts()), "w.csv")
    plain = written(tmp_path, repeated(X.assign(ill=y), counts()), "p.csv")
    said = ok("fit", weighted, "--target", "ill", "--weights", "w", "--out", tmp_path / "w.rci")
    assert f"Rows were counted by their weights: {N} rows as {counts().sum()}" in said
    ok("fit", plain, "--target", "ill", "--out", tmp_path / "p.rci")
    one, other = (RCI.load(tmp_path / name) for name in ("w.rci", "p.rci"))
    assert np.array_equal(one.shapley_values(X), other.shapley_values(X))
    assert one.provenance_["findings"]["checks"] == other.provenance_["findings"]["checks"]
    asked = ((weighted, ("--weights", "w")), (plain, ()))
    found, expected = (
        json.loads(ok("check", table, "--target", "ill", "--json", *more)) for table, more in asked
    )
    assert {**found, "provenance": None} == {**expected, "provenance": None}
    told = ok("report", weighted, "--target", "ill", "--weights", "w", "--out", tmp_path / "w.html")
    assert "Rows were counted by their weights" in told
    assert len(facts_of(tmp_path / "w.html")["labels"]) == N


def test_a_file_names_the_row_without_a_weight(tmp_path: Path) -> None:
    X, (y,) = labs(), outcomes()["diagnosis"][1]
    weights = (counts() + 0.5).astype(object)
    weights[4] = None
    table = written(tmp_path, X.assign(ill=y, w=weights), "t.csv")
    asked = "fit", table, "--target", "ill", "--out", tmp_path / "m.rci"
    assert "row 5 has none" in error(3, *asked, "--weights", "w")
    assert "'w' is both --weights and --keep" in error(3, *asked, "--weights", "w", "--keep", "a,w")
    assert "no column 'v' (--weights)" in error(3, *asked, "--weights", "v")


def test_a_script_does_what_the_command_line_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, (y,) = labs(), outcomes()["diagnosis"][1]
    table = written(tmp_path, X.assign(ill=y, w=counts() / 2.0), "t.csv")
    asked = [["--target", "ill"], ["--weights", "w"]]
    monkeypatch.chdir(tmp_path)
    exec(compile(script_of(table, asked), "script", "exec"), {})
    expected = RCI().fit(X, y, weights=counts() / 2.0)
    assert np.array_equal(RCI.load("model.rci").shapley_values(X), expected.shapley_values(X))


def test_look_asks_how_patients_were_chosen_and_proposes_sampling_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, (y,) = labs(), outcomes()["diagnosis"][1]
    weights = np.random.default_rng(14).lognormal(3.0, 1.5, N)
    table = written(tmp_path, X.assign(ill=y, wt=weights), "t.csv")
    said = ok("look", table, "--target", "ill")
    assert "--weights wt" in said and "Did some patients come into the table more easily" not in said
    line = json.loads(ok("look", table, "--target", "ill", "--json"))["fit"]["arguments"]
    monkeypatch.chdir(tmp_path)
    assert "inclusion weights" in ok(*line)
    table = written(tmp_path, X.assign(ill=y), "u.csv")
    assert (
        ok("look", table, "--target", "ill").count("Did some patients come into the table more easily") == 1
    )


# --- what only rows of little weight have ------------------------------------------------------------------


def nearly_none(*rows: int) -> np.ndarray:
    weights = np.random.default_rng(0).uniform(1.0, 5.0, size=N)
    weights[list(rows)] = 0.01
    return weights


@pytest.mark.parametrize("table", [labs, with_holes])
def test_a_finding_of_rows_of_little_weight_is_one_of_the_columns(table: Any) -> None:
    model, (ill,) = outcomes()["diagnosis"]
    X = table().assign(rare=0)
    X.loc[[3, 50], "rare"] = 1
    X.loc[[3, 50], "ward"] = "q"
    fitted = model().fit(X, ill, weights=nearly_none(3, 50))
    assert fitted.provenance_["mechanism"]["asked"] == "auto"
    assert np.isfinite(fitted.shapley_values(X)).all()
    assert fitted.diagnose(X, ill, weights=nearly_none(3, 50)).checks
    assert fitted.diagnose(X.drop([3, 50]), np.delete(ill, [3, 50])).checks


def test_events_of_rows_of_little_weight_are_told_by_lines() -> None:
    model, (time, _) = outcomes()["survival"]
    event = np.arange(N) < 15
    fitted = model().fit(labs(), time, event, weights=nearly_none(*range(15)))
    assert "too alike in the outcome" in fitted.provenance_["mechanism"]["why"]


def test_weights_by_which_one_row_counts_are_refused() -> None:
    model, (ill,) = outcomes()["diagnosis"]
    weights = np.full(N, 0.01)
    weights[3] = 1_000.0
    with pytest.raises(InputError, match=r"160 rows tell as much as one.*the largest, 1000, is right"):
        model().fit(labs(), ill, weights=weights)
