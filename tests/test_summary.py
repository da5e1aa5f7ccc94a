"""Effects without a prior beside the model's: against regressions written out here, by another way."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import ok
from page_facts import facts_of
from scipy import optimize, stats
from scipy.special import expit
from survival_oracle import gbsg2

from rootcausal import RCI, InputError, RCIRegressor, RCISurvival, load, plots
from rootcausal.backends.blas import one_blas_thread
from rootcausal.data import load_pbc
from rootcausal.likelihood.likelihoods import HazardLikelihood, LogitLikelihood, maximum
from rootcausal.outcomes.follow_up import Spans

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def trial(seed: int, n: int = 600, effect: float = -0.75) -> tuple[pd.DataFrame, np.ndarray]:
    """A randomised arm beside 30 columns, of which ten matter, as in the trial of indomethacin."""
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((n, 30)) @ (np.tril(rng.uniform(-0.3, 0.3, (30, 30)), -1) + np.eye(30)).T
    columns /= columns.std(axis=0)
    columns[:, :15] = columns[:, :15] > 0.8
    weights = np.zeros(30)
    weights[rng.choice(30, 10, replace=False)] = rng.normal(0.0, 0.4, 10)
    arm = rng.permutation(np.repeat([0.0, 1.0], n // 2))
    added = columns @ weights
    y = rng.uniform(size=n) < expit(-1.75 + added - added.mean() + effect * arm)
    names = [f"x{place}" for place in range(30)]
    return pd.DataFrame(columns, columns=names).assign(arm=arm), y.astype(int)


def pbc() -> tuple[pd.DataFrame, np.ndarray]:
    cohort = load_pbc()
    return pd.DataFrame(cohort.X, columns=cohort.feature_names), cohort.y


def firth_by_optimizer(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and standard errors of logistic regression with Jeffreys' prior."""
    A = np.column_stack([np.ones(len(y)), X])

    def information(beta: np.ndarray) -> np.ndarray:
        risk = expit(A @ beta)
        return np.asarray(A.T @ np.diag(risk * (1 - risk)) @ A)

    def cost(beta: np.ndarray) -> float:
        eta = A @ beta
        likelihood = float((y * eta - np.logaddexp(0, eta)).sum())
        return -likelihood - 0.5 * float(np.linalg.slogdet(information(beta))[1])

    found = optimize.minimize(cost, np.zeros(A.shape[1]), method="BFGS", options={"gtol": 1e-7})
    return found.x[1:], np.sqrt(np.diagonal(np.linalg.inv(information(found.x))))[1:]


def test_log_odds_are_those_of_firths_logistic_regression() -> None:
    X, y = pbc()
    found = RCI().fit(X, y).summary().frame
    Z = (X - X.mean()) / X.std()
    effect, error = firth_by_optimizer(Z.to_numpy(), y)
    assert np.allclose(found["effect_per_sd"], effect, atol=1e-5)
    assert np.allclose(found["std_err_per_sd"], error, atol=1e-5)
    assert np.allclose(found["effect"] * X.std(), found["effect_per_sd"])
    assert np.allclose(found["lower"], found["effect"] - stats.norm.ppf(0.975) * found["std_err"])
    assert np.allclose(found["p"], 2 * stats.norm.sf(np.abs(found["effect"] / found["std_err"])))


def test_the_penalty_fades_as_patients_become_many() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 3))
    y = (rng.uniform(size=len(X)) < expit(X @ [1.0, -0.5, 0.0])).astype(int)
    found = RCI().fit(pd.DataFrame(X, columns=list("abc")), y).summary().frame
    beta = np.zeros(4)
    A = np.column_stack([np.ones(len(X)), X])
    for _ in range(20):
        risk = expit(A @ beta)
        beta += np.linalg.solve((A * (risk * (1 - risk))[:, None]).T @ A, A.T @ (y - risk))
    assert np.allclose(found["effect"], beta[1:], atol=1e-3)


def test_log_hazards_are_next_to_coxs() -> None:
    cohort = gbsg2()
    found = RCISurvival().fit(pd.DataFrame(cohort.X), cohort.time, cohort.event).summary().frame
    Z = (cohort.X - cohort.X.mean(axis=0)) / cohort.X.std(axis=0, ddof=1)
    effect, error = cox(Z, cohort.time, cohort.event)
    assert np.allclose(found["effect_per_sd"], effect, atol=0.01)  # the penalty moves them by less than this
    assert np.allclose(found["std_err_per_sd"], error, rtol=0.02)


def cox(Z: np.ndarray, time: np.ndarray, event: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cox's regression with Breslow's ties, by Newton's method."""
    beta = np.zeros(Z.shape[1])
    for _ in range(20):
        score, information = np.zeros(beta.size), np.zeros((beta.size, beta.size))
        for row in np.flatnonzero(event):
            at_risk = Z[time >= time[row]]
            weight = np.exp(at_risk @ beta)
            mean = weight @ at_risk / weight.sum()
            score += Z[row] - mean
            information += (at_risk * weight[:, None]).T @ at_risk / weight.sum() - np.outer(mean, mean)
        beta = beta + np.linalg.solve(information, score)
    return beta, np.sqrt(np.diagonal(np.linalg.inv(information)))


def slopes(cost: Any, beta: np.ndarray) -> np.ndarray:
    """Central differences."""
    steps = 1e-5 * np.eye(beta.size)
    return np.array([(cost(beta + step) - cost(beta - step)) / 2e-5 for step in steps])


@pytest.mark.parametrize("kind", ["logit", "hazard", "spans in strata"])
@pytest.mark.parametrize("penalized", [True, False])
def test_scores_are_the_slopes_of_their_likelihood(kind: str, penalized: bool) -> None:
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((80, 4))
    if kind == "logit":
        likelihood: Any = LogitLikelihood(Z, (rng.uniform(size=80) < 0.4).astype(float))
    else:
        time, event = rng.exponential(size=80).round(1) + 0.1, (rng.uniform(size=80) < 0.6).astype(float)
        spans = Spans(time, event)
        if kind == "spans in strata":
            start = np.floor(10 * time * rng.uniform(-0.5, 0.9, size=80)).clip(0) / 10
            spans = Spans(time, event, start, rng.integers(3, size=80).astype(float))
        likelihood = HazardLikelihood.of(Z, spans.known)
    beta = rng.standard_normal(likelihood.start.size) * 0.3
    here = likelihood.at(beta, penalized)
    assert np.allclose(slopes(lambda b: likelihood.at(b, penalized).loglik, beta), here.score, atol=1e-6)
    plain = likelihood.at(beta, False)
    curved = np.array(
        [slopes(lambda b, i=i: likelihood.at(b, False).score[i], beta) for i in range(beta.size)]
    )
    assert np.allclose(-curved, np.linalg.inv(plain.covariance), atol=1e-5)
    assert np.allclose(likelihood.scores(beta).sum(axis=0), plain.score)


def test_a_number_has_the_effects_of_least_squares() -> None:
    X, _ = pbc()
    y = X.pop("bili").to_numpy()
    found = RCIRegressor().fit(X, y).summary().frame
    A = np.column_stack([np.ones(len(X)), X])
    coef, rest, *_ = np.linalg.lstsq(A, y, rcond=None)
    freedom = len(y) - A.shape[1]
    error = np.sqrt(np.diagonal(np.linalg.inv(A.T @ A)) * rest[0] / freedom)
    assert np.allclose(found["effect"], coef[1:], rtol=1e-6)
    assert np.allclose(found["std_err"], error[1:], rtol=1e-6)
    assert np.allclose(found["p"], 2 * stats.t.sf(np.abs(coef / error)[1:], freedom), atol=1e-9)
    assert np.allclose(found["upper"] - found["effect"], stats.t.ppf(0.975, freedom) * error[1:], rtol=1e-6)


def test_intervals_cover_the_effect_of_a_randomised_arm() -> None:
    """Of 200 trials of 600 patients with 85 events and 31 columns: docs name the figure of 1,000 others."""
    inside = []
    for seed in range(200):
        X, y = trial(seed)
        Z = (X - X.mean()) / X.std()
        with one_blas_thread():
            found = maximum(LogitLikelihood(Z.to_numpy(), y.astype(float)))
        effect, error = found.beta[-1], np.sqrt(found.covariance[-1, -1])
        inside.append(abs(effect + 0.75 * X["arm"].std()) < 1.96 * error)
    assert 0.93 <= np.mean(inside) <= 0.97


def test_levels_are_told_by_their_own_unit() -> None:
    X, y = pbc()
    rng = np.random.default_rng(0)
    X = X[["bili", "age"]].assign(
        sex=rng.choice(["female", "male"], len(X)),
        ward=rng.choice(["A", "B", "C"], len(X), p=[0.5, 0.3, 0.2]),
    )
    model = RCI(log=["bili"]).fit(X, y)
    found = model.summary().frame
    dummies = [X["sex"] == "male", X["ward"] == "B", X["ward"] == "C"]
    columns = np.column_stack([np.log(X["bili"]) / np.log(2), X["age"], *dummies]).astype(float)
    effect, error = firth_by_optimizer(columns, y)
    assert list(found.index) == ["bili", "age", "sex", "ward = B", "ward = C"]
    assert list(found["per"]) == ["doubling", "1", "male, not female", "B, not A", "C, not A"]
    assert np.allclose(found["effect"], effect, atol=1e-4)
    assert np.allclose(found["std_err"], error, atol=1e-4)
    moved = X.assign(ward="C"), X.assign(ward="A")
    told = [model.decision_function(some) for some in moved]
    assert np.allclose(found.loc["ward = C", "shrunk"], told[0] - told[1])  # the model's is what its risks do


def test_covariates_are_adjusted_for_and_a_prevalence_changes_nothing() -> None:
    X, y = pbc()
    plain = RCI().fit(X, y).summary().frame
    adjusted = RCI(knowledge={"covariates": ["age"]}).fit(X, y).summary()
    assert np.allclose(adjusted.frame["effect"], plain["effect"])
    assert list(adjusted.frame.index[adjusted.frame["covariate"]]) == ["age"]
    assert "1 covariate among them" in adjusted.adjusted
    weighted = RCI(prevalence=0.02).fit(X, y).summary().frame
    assert np.allclose(weighted["effect"], plain["effect"])
    assert np.allclose(weighted["std_err"], plain["std_err"])
    assert not np.allclose(weighted["sd"], plain["sd"])  # that of the population


def test_imputed_values_widen_intervals_and_do_not_dilute_effects() -> None:
    X, y = trial(1, n=4000)
    X = X[["x20", "x21", "x22", "arm"]]
    true = RCI().fit(X, y).summary().frame
    holed = X.copy()
    holed.loc[np.random.default_rng(0).uniform(size=len(X)) < 0.4, "x20"] = np.nan
    found = RCI().fit(holed, y).summary()
    assert "20 imputations" in found.method
    wider = found.frame["std_err"] / true["std_err"]
    assert 1.1 < wider["x20"] < 1.6
    assert (wider[["x21", "x22", "arm"]] < 1.1).all()
    assert (np.abs(found.frame["effect"] - true["effect"]) < 2 * true["std_err"]).all()


def years_with_their_changes() -> tuple[pd.DataFrame, np.ndarray]:
    """Last year's value and the change since: explained wholly, but for the first row, which has neither."""
    rng = np.random.default_rng(46)
    series = pd.DataFrame(rng.normal(size=(3, 56)).cumsum(axis=1).T, columns=["rate", "prices", "deficit"])
    before, changes = series[["rate", "prices"]].shift(), series.diff()
    X = series.join(before, rsuffix="_before").join(changes, rsuffix="_change")
    return X, (np.arange(56) + rng.normal(size=56) * 6 > 28).astype(int)


def test_a_copy_that_others_do_not_start_well_has_effects_too() -> None:
    """Where one imputed copy is separated, another's information is singular at what was found there."""
    found = RCI().fit(*years_with_their_changes()).summary()
    assert "20 imputations" in found.method
    assert found.frame["note"].str.startswith("not estimable").any()


def test_rows_of_one_patient_count_once() -> None:
    X, y = pbc()
    alone = RCI().fit(X, y).summary().frame
    twice = pd.concat([X, X], ignore_index=True)
    model = RCI().fit(twice, np.append(y, y), groups=np.tile(np.arange(len(X)), 2))
    found = model.summary()
    assert "by patient" in found.method
    ratio = found.frame["std_err"] / alone["std_err"]
    assert ((ratio > 0.75) & (ratio < 1.6)).all()  # of rows that count twice: 0.71


def test_what_cannot_be_told_is_not_estimable() -> None:
    X, y = pbc()
    ill = np.flatnonzero(y)[:12]
    level = np.zeros(len(X))
    level[ill] = 1.0
    X = X.assign(only_cases=level, copy_of_sum=X["age"] + 2 * X["bili"])
    found = RCI().fit(X, y).summary()
    assert set(found.frame.index[found.frame["effect"].isna()]) == {
        "only_cases",
        "age",
        "bili",
        "copy_of_sum",
    }
    assert "for certain" in found.frame.loc["only_cases", "note"]
    assert "explain" in found.frame.loc["age", "note"]
    others = RCI().fit(X.drop(columns=["copy_of_sum"]), y).summary().frame
    assert np.allclose(found.frame.loc["protime", "effect"], others.loc["protime", "effect"])
    assert str(found).count("not estimable") >= 4
    apart = X[["age", "bili"]].assign(told=y + 0.1 * np.random.default_rng(0).uniform(size=len(y)))
    assert RCI().fit(apart, y).summary().frame["effect"].isna().all()


def test_columns_that_explain_each_other_where_rows_are_compared_are_not_estimable() -> None:
    """Within strata, within matched sets and among those at risk: overall these columns differ."""
    rng = np.random.default_rng(0)
    n = 120
    stratum, early = np.repeat(np.arange(24), 5), np.arange(n) < 20
    time = np.where(early, rng.random(n), 1 + rng.exponential(size=n))
    event = (~early & (rng.random(n) < 0.6)).astype(int)
    a, b, moved = rng.standard_normal((3, n))
    X = pd.DataFrame({"a": a, "of_strata": a + rng.standard_normal(24)[stratum], "b": b})
    found = RCISurvival().fit(X, time, event, strata=stratum).summary().frame
    assert found["effect"].isna().tolist() == [True, True, False]
    assert found["note"].str.contains("explain it wholly").tolist() == [True, True, False]
    # Before the first event these alone leave, and nobody is compared with them.
    left = X[["a", "b"]].assign(left=np.where(early, moved, 0.0))
    found = RCISurvival().fit(left, time, event).summary().frame
    plain = RCISurvival().fit(X[["a", "b"]], time, event).summary().frame
    assert np.allclose(found.loc[["a", "b"], "effect"], plain["effect"])
    assert np.isnan(found.loc["left", "effect"])
    # Two treatments in turn, to all patients: what changes from the one period to the other sums to zero.
    patient, period = np.repeat(np.arange(40), 2), np.tile([0, 1], 40)
    drug = (period + patient) % 2
    dose, level = rng.standard_normal(80), np.repeat(rng.standard_normal(40), 2)
    crossed = pd.DataFrame({"drug": drug, "dose": dose, "sum": dose + 2 * drug + level, "b": b[:80]})
    found = RCI().fit(crossed, period, strata=patient).summary().frame
    assert found["effect"].isna().tolist() == [True, True, True, False]


def test_too_few_patients_are_said() -> None:
    X, y = pbc()
    few = RCI().fit(X[:30], y[:30]).summary()
    assert "too few" in few.none
    assert "too few" in str(few)
    assert few.frame["effect"].isna().all()
    assert few.frame["shrunk"].notna().all()
    number = RCIRegressor().fit(X[:15].drop(columns="bili"), X["bili"][:15]).summary()
    assert "15 patients are too few" in number.none


def test_what_a_fit_found_travels_with_its_model(tmp_path: Path) -> None:
    X, y = pbc()
    model = RCI().fit(X, y)
    model.save(tmp_path / "model.rci")
    said = str(model.summary())
    assert str(load(tmp_path / "model.rci").summary()) == said
    assert str(pickle.loads(pickle.dumps(RCI().fit(X, y))).summary()) == said
    with warnings.catch_warnings(action="error"):
        assert "bili" in said


def test_rows_that_were_changed_are_not_looked_at() -> None:
    X, y = pbc()
    values = X.to_numpy(copy=True)
    model = RCI().fit(values, y)
    values[0, 0] += 1.0
    assert "not at hand" in model.summary().none


def test_the_papers_attribution_has_no_probabilities() -> None:
    X, y = pbc()
    found = RCI(attribution="paper", alpha=1.0).fit(X, y).summary()
    assert found.frame["probability"].isna().all()
    # Without a screen or a prior, its risks are those of logistic regression: what differs is the penalty.
    assert (np.abs(found.frame["effect_per_sd"] - found.frame["shrunk_per_sd"]) < 0.15).all()


def test_the_page_and_the_figure_show_the_same(tmp_path: Path) -> None:
    X, y = pbc()
    X = X.assign(ward=np.where(np.arange(len(X)) % 3, "<b>A", "B"))
    model = RCI().fit(X, y).set_labels({"bili": "Bilirubin"})
    model.report(X, tmp_path / "page.html", y=y, target="died", units={"bili": "mg/dl"})
    effects = facts_of(tmp_path / "page.html")["effects"]
    assert effects["heading"].startswith("Effects on log-odds of died, of 258 rows")
    (row,) = [row for row in effects["rows"] if row[0] == "Bilirubin"]
    found = model.summary().frame.loc["bili"]
    assert row[1] == f"{found['effect_per_sd']:+.2f}"
    assert row[6] == "1 mg/dl"
    ax = plots.forest(model)
    squares = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "s"]
    assert np.allclose(squares, model.summary().frame["effect_per_sd"])
    assert [tick.get_text() for tick in ax.get_yticklabels()][1] == "Bilirubin"
    with pytest.raises(InputError, match="too few"):
        plots.forest(RCI().fit(X[:30], y[:30]))


def test_fit_prints_the_surest(tmp_path: Path) -> None:
    X, y = pbc()
    X.assign(died=y).to_csv(tmp_path / "cohort.csv", index=False)
    said = ok(
        "fit",
        str(tmp_path / "cohort.csv"),
        "--target",
        "died",
        "--mechanism",
        "linear",
        "--out",
        str(tmp_path / "m.rci"),
    )
    model = load(tmp_path / "m.rci")
    term = model.summary().strongest()[0]
    (line,) = [line for line in said.splitlines() if line.startswith(f"  {term.label} ") and ", p " in line]
    assert f"{term.effect_per_sd:+.3f}" in line
    assert f"by the model {term.shrunk_per_sd:+.3f}" in line
