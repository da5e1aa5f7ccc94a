"""RCISurvival: the hazard is Cox's, the baseline is that of the cohort, and everything adds up."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from graded_cohorts import labs, pull, structured, survival_cohort, times
from intervals_by_hand import assert_intervals_of_resamples
from survival_oracle import REAL_SETS, breslow, cox_coefficients, harrell, kaplan_meier, standardized

from rootcausal import RCI, RCISurvival
from rootcausal.backends.cpu.rows import NumbaRaw
from rootcausal.backends.reference import ReferenceRaw
from rootcausal.method.attribution.regression import Coefficients, regress
from rootcausal.method.model_parts import flattened
from rootcausal.method.table import LossSums
from rootcausal.outcomes.survival import HazardAttribution, HazardLoss, Survival, brier, concordance

TABLES = [ReferenceRaw, NumbaRaw]
every_table = pytest.mark.parametrize("raw", TABLES, ids=["numpy", "numba"])
NEAR_COX = 0.02


def hazard_loss(X: np.ndarray, time: np.ndarray, event: np.ndarray, raw: Any = NumbaRaw) -> HazardLoss:
    """Of standardized columns, as the attribution of the paper has it of errors."""
    known, cols = np.column_stack([time, event]), np.arange(X.shape[1])
    outcome = Survival.of(known)
    table = raw(np.ascontiguousarray(standardized(X)), outcome.rows(known))
    return outcome.loss(table.standardize(cols, np.zeros(cols.size), np.ones(cols.size)), cols)


def fitted_hazard(X: np.ndarray, time: np.ndarray, event: np.ndarray, raw: Any = NumbaRaw) -> Coefficients:
    return regress(hazard_loss(X, time, event, raw), X.shape[1])


@pytest.fixture(scope="module")
def cohort() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    return survival_cohort()


@pytest.fixture(scope="module")
def model(cohort: Any) -> RCISurvival:
    return RCISurvival().fit(*cohort).bootstrap(8)


# --- the loss ---------------------------------------------------------------------------------------------


@every_table
@pytest.mark.parametrize("ties", [None, 3.0], ids=["no ties", "ties"])
def test_derivatives_are_those_of_the_log_likelihood(raw: Any, ties: float | None) -> None:
    X, time, event = survival_cohort(120)
    time = time if ties is None else np.ceil(ties * time)
    loss = hazard_loss(X.to_numpy(), time, event, raw)
    rng = np.random.default_rng(0)
    beta = np.append(np.zeros(4), loss.start) + 0.1 * rng.standard_normal(4 + loss.start.size)
    here, step = loss.sums(beta), 1e-5
    for place in (0, 3, 4, 5, beta.size - 1):
        move = np.zeros(beta.size)
        move[place] = step
        up, down = loss.sums(beta + move), loss.sums(beta - move)
        assert (up.loglik - down.loglik) / (2 * step) == pytest.approx(here.gradient[place], abs=1e-5)
        slope = (down.gradient - up.gradient) / (2 * step)
        assert slope == pytest.approx(here.hessian[place], abs=1e-5)


def same_sums(a: LossSums, b: LossSums) -> None:
    assert a.loglik == pytest.approx(b.loglik, rel=1e-12)
    assert a.gradient == pytest.approx(b.gradient, rel=1e-9, abs=1e-9)
    assert a.hessian == pytest.approx(b.hessian, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("size", [0.1, 3.0, 200.0], ids=["near", "far", "beyond what counts"])
def test_tables_agree_wherever_a_step_leads(size: float) -> None:
    X, time, event = survival_cohort(150)
    one, other = (hazard_loss(X.to_numpy(), time, event, raw) for raw in TABLES)
    rng = np.random.default_rng(1)
    beta = np.append(np.zeros(4), one.start) + size * rng.standard_normal(4 + one.start.size)
    same_sums(one.sums(beta), other.sums(beta))
    assert np.isfinite(one.sums(beta).loglik)


def test_with_an_interval_for_each_event_it_is_cox_regression() -> None:
    X, time, event = survival_cohort(120)
    assert np.unique(time[event > 0]).size <= 100
    fitted = fitted_hazard(X.to_numpy(), time, event)
    assert fitted.coef == pytest.approx(cox_coefficients(standardized(X.to_numpy()), time, event), abs=1e-6)


def test_errors_of_a_model_have_the_coefficients_of_cox() -> None:
    X, time, event = survival_cohort(120)
    model = RCISurvival(attribution="paper", variant="plus").fit(X, time, event)
    errors = model.transform(X)
    assert model.coef_ == pytest.approx(cox_coefficients(errors, time, event), abs=1e-6)
    # The baseline is then Breslow's, of a patient whose errors are all average.
    hazard = model._model.attribution
    assert isinstance(hazard, HazardAttribution)
    reached = np.interp(np.unique(time[event > 0]), hazard.edges, hazard.cumulative)
    assert reached == pytest.approx(breslow(errors, time, event), rel=1e-4)


@pytest.mark.parametrize("unit", ["as they are", "years"])
@pytest.mark.parametrize("name", REAL_SETS)
def test_real_sets_have_the_coefficients_of_cox(name: str, unit: str) -> None:
    table = REAL_SETS[name]()
    # Rossi's weeks by quarters, since all of it is one year.
    time = table.time if unit == "as they are" else np.ceil(table.time / (13 if name == "rossi" else 365.25))
    expected = cox_coefficients(standardized(table.X), time, table.event)
    fitted = fitted_hazard(table.X, time, table.event)
    assert fitted.converged and not fitted.separated
    assert fitted.coef == pytest.approx(expected, abs=NEAR_COX if unit == "years" else 0.001)


@pytest.mark.parametrize(
    ("column", "n"), [("lognormal", 600), ("heavy tails", 600), ("skewed", 600), ("lognormal", 2000)]
)
def test_long_tails_do_not_hold_the_hazard_back(column: str, n: int) -> None:
    rng = np.random.default_rng(3)
    draw = {
        "lognormal": lambda size: rng.lognormal(size=size),
        "heavy tails": lambda size: rng.standard_t(2, size),
        "skewed": lambda size: rng.exponential(size=size) ** 2,
    }[column]
    X = draw((n, 3))
    time, event = times(rng, standardized(X) @ [1.0, -1.0, 0.5])
    assert fitted_hazard(X, time, event).coef == pytest.approx(
        cox_coefficients(standardized(X), time, event), abs=NEAR_COX
    )


def test_strong_effects_are_hardly_shrunk() -> None:
    X, time, event = survival_cohort(1000)
    sharp, paper = (
        RCISurvival(attribution=attribution, variant="plus").fit(X, time, event)
        for attribution in ("sharp", "paper")
    )
    assert sharp.coef_ == pytest.approx(paper.coef_, abs=0.1)
    errors = paper.transform(X)
    assert paper.coef_ == pytest.approx(cox_coefficients(standardized(errors), time, event), abs=NEAR_COX)
    # crp and albumin act themselves, bmi through crp and ldl against albumin.
    truth = {"bmi": 0.7, "ldl": 0.4, "crp": 1.0, "albumin": -0.8}
    expected = [truth[name] * np.sqrt(2.0) for name in X]
    assert sharp.coef_ == pytest.approx(expected, abs=0.15)


@pytest.mark.parametrize("attribution", ["sharp", "paper"])
def test_only_ranks_of_times_count(cohort: Any, attribution: str) -> None:
    X, time, event = cohort
    one = RCISurvival(attribution=attribution).fit(X, time, event)
    other = RCISurvival(attribution=attribution).fit(X, np.sqrt(time) * 1e6, event)
    assert np.array_equal(one.coef_, other.coef_)
    assert np.array_equal(one.predict(X), other.predict(X))
    longest = time[event > 0].max()
    at_ends = one.predict_survival(X, [longest]), other.predict_survival(X, [np.sqrt(longest) * 1e6])
    assert at_ends[0] == pytest.approx(at_ends[1])


@pytest.mark.parametrize("attribution", ["sharp", "paper"])
@pytest.mark.parametrize("never", [True, False], ids=["never", "first"])
def test_a_likelihood_without_a_maximum_is_said(attribution: str, never: bool) -> None:
    X, time, event = survival_cohort()
    carries = np.arange(300) % 40 == 0
    event = np.where(carries, 0 if never else 1, event)
    if not never:
        time = np.where(carries, time.min() * np.linspace(0.1, 0.9, 300), time)
    said = "none of the 8 patients with 'variant' = 'true' has the event"
    said = said if never else "for certain that they have the event before others, or not at all"
    model = RCISurvival(attribution=attribution, mechanism="linear")
    with pytest.warns(UserWarning, match=said):
        model.fit(X.assign(variant=carries), time, event)
    assert model.provenance_["separated"]
    assert np.isfinite(model.coef_).all() and abs(model.coef_[4]) < 5
    assert (model.coef_[4] < 0) == never


# --- the baseline -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("attribution", ["sharp", "paper"])
@pytest.mark.parametrize("ties", [None, 2.0], ids=["no ties", "ties"])
def test_mean_risk_is_that_of_kaplan_and_meier(cohort: Any, attribution: str, ties: float | None) -> None:
    X, time, event = cohort
    time = time if ties is None else np.ceil(ties * time)
    model = RCISurvival(attribution=attribution).fit(X, time, event)
    for horizon in np.quantile(time[event > 0], [0.1, 0.5, 0.9]):
        expected = 1.0 - kaplan_meier(time, event, horizon)
        assert model.predict_risk(X, horizon).mean() == pytest.approx(expected, abs=0.04)
    if ties is None:
        # Of each patient the events that were expected; of all of them, those that happened.
        hazard = model._model.attribution
        reached = np.exp(model.predict(X)) * np.interp(time, hazard.edges, hazard.cumulative)
        assert reached.sum() == pytest.approx(event.sum(), rel=0.03)


def test_survival_falls_from_one_and_risk_is_the_rest(cohort: Any, model: RCISurvival) -> None:
    X, time, _ = cohort
    asked = np.linspace(0.0, time.max(), 7)
    alive = model.predict_survival(X, asked)
    assert alive.shape == (len(X), 7)
    assert (alive[:, 0] == 1.0).all() and (alive >= 0.0).all() and (np.diff(alive, axis=1) <= 0.0).all()
    for place in range(1, 7):
        assert model.predict_risk(X, asked[place]) == pytest.approx(1.0 - alive[:, place])
    assert model.predict_survival(X, 1.0).shape == (len(X), 1)
    assert model.predict_survival(X, []).shape == (len(X), 0)
    # Whoever has the higher hazard has the higher risk, by whatever time.
    ranked = np.argsort(model.predict(X))
    assert (np.diff(model.predict_risk(X, 0.3)[ranked]) >= 0).all()


def test_the_horizon_is_the_median_time_of_events_in_two_digits(cohort: Any) -> None:
    X, time, event = cohort
    model = RCISurvival().fit(X, time, event)
    middle = np.sort(time[event > 0])[(int(event.sum()) - 1) // 2]
    assert model.horizon_ == float(f"{middle:.2g}") == model.provenance_["horizon"]
    named = RCISurvival(horizon=np.float32(0.5)).fit(X, time, event)
    assert named.horizon_ == 0.5
    assert np.array_equal(named.predict_risk(X), model.predict_risk(X, 0.5))
    assert np.array_equal(named.explain(X).probability, model.explain(X, horizon=0.5).probability)


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_the_unit_of_the_times_does_not_matter(cohort: Any, model: RCISurvival, unit: float) -> None:
    X, time, event = cohort
    other = RCISurvival().fit(X, time * unit, event)
    assert other.horizon_ == pytest.approx(model.horizon_ * unit)
    assert other.predict_risk(X) == pytest.approx(model.predict_risk(X))


# --- what is said of patients -----------------------------------------------------------------------------


def test_base_shocks_and_covariates_make_the_log_hazard(cohort: Any) -> None:
    X, time, event = cohort
    model = RCISurvival(knowledge={"covariates": ["bmi"]}).fit(X, time, event).bootstrap(3)
    explanation = model.explain(X)
    together = explanation.base_value + explanation.values.sum(axis=1) + explanation.covariate_effect
    assert explanation.base_value == model.intercept_ == 0.0
    assert together == pytest.approx(model.predict(X))
    assert explanation.predictor == pytest.approx(model.predict(X))
    assert explanation.probability == pytest.approx(model.predict_risk(X))
    assert not explanation.values[:, 0].any() and explanation.covariate_effect.any()
    assert explanation.covariate_interval is not None
    assert explanation.values[:, 1:] == pytest.approx(explanation.errors[:, 1:] * model.coef_[1:])
    with pytest.raises(AttributeError, match="this outcome has no log_odds: use predictor"):
        _ = explanation.log_odds


def test_without_a_shock_the_hazard_is_what_the_others_make_it(cohort: Any, model: RCISurvival) -> None:
    X = cohort[0]
    explanation = model.explain(X)
    answer = explanation.what_if("crp")
    changed = X.assign(crp=answer.data[:, 2], bmi=answer.data[:, 0], albumin=answer.data[:, 3])
    expected = model.predict(X) - explanation.values[:, 2]
    assert model.predict(changed) == pytest.approx(expected)


def test_concordance_is_that_of_harrell(cohort: Any, model: RCISurvival) -> None:
    X, time, event = cohort
    rng = np.random.default_rng(0)
    for when in (time, np.ceil(2 * time)):
        for hazard in (model.predict(X), np.round(model.predict(X)), rng.random(300), np.zeros(300)):
            assert concordance(hazard, when, event) == pytest.approx(harrell(hazard, when, event))
    assert model.score(X, time, event) == concordance(model.predict(X), time, event) > 0.75
    assert model.score(X, structured(time, event)) == model.score(X, time, event)
    assert np.isnan(concordance(np.zeros(3), np.ones(3), np.zeros(3)))
    assert concordance(time, time, np.ones(300)) == 0.0 and concordance(-time, time, np.ones(300)) == 1.0


def still_followed(time: np.ndarray, event: np.ndarray, before: float) -> float:
    """Kaplan-Meier of the end of follow-up, whose risk set leaves out who had the event at the same time."""
    kept = 1.0
    for at in np.unique(time[event == 0]):
        if at < before:
            at_risk = (time > at).sum() + ((time == at) & (event == 0)).sum()
            kept *= 1.0 - ((time == at) & (event == 0)).sum() / at_risk
    return kept


@pytest.mark.parametrize("ties", [None, 3.0], ids=["no ties", "ties"])
def test_the_brier_score_is_weighted_for_who_was_lost(ties: float | None) -> None:
    _, time, event = survival_cohort(80)
    time = time if ties is None else np.ceil(ties * time)
    risk, horizon = np.random.default_rng(0).random(80), float(np.median(time))
    expected = 0.0
    for own_risk, own_time, own_event in zip(risk, time, event, strict=True):
        if own_time <= horizon and own_event:
            expected += (1.0 - own_risk) ** 2 / still_followed(time, event, own_time)
        elif own_time >= horizon:  # followed until the horizon, without an event
            expected += own_risk**2 / still_followed(time, event, horizon)
    assert brier(risk, time, event, horizon) == pytest.approx(expected / 80)
    nobody_lost = np.ones(80)
    happened = (time <= horizon).astype(float)
    assert brier(risk, time, nobody_lost, horizon) == pytest.approx(np.mean((happened - risk) ** 2))


def test_the_brier_score_is_that_of_whole_follow_up_but_for_chance() -> None:
    rng = np.random.default_rng(0)
    log_hazard = rng.normal(size=20_000)
    at, end = rng.exponential(np.exp(-log_hazard)), rng.exponential(1.5, 20_000)
    risk = 1.0 - np.exp(-0.8 * np.exp(log_hazard))
    whole = np.mean(((at <= 0.8) - risk) ** 2)
    assert brier(risk, np.minimum(at, end), (at <= end).astype(float), 0.8) == pytest.approx(whole, rel=0.02)


# --- resamples, and columns of every kind -----------------------------------------------------------------


def resampled_coef(model: RCISurvival) -> np.ndarray:
    """(b, p) by variable, whatever the order of the resample."""
    return np.array([one.unit_effects[np.argsort(one.order)] for one in model.bootstrap_.models])


def test_resamples_give_intervals_around_the_truth(cohort: Any, model: RCISurvival) -> None:
    X = cohort[0]
    explanation = model.explain(X)
    assert_intervals_of_resamples(explanation)
    coef = resampled_coef(model)
    assert coef.shape == (8, 4) and (coef.std(axis=0) > 0.02).all() and (coef.std(axis=0) < 0.5).all()
    assert all(one.attribution.horizon == model.horizon_ for one in model.bootstrap_.models)
    later = model.explain(X, horizon=2.0)
    assert np.array_equal(later.values, explanation.values)
    assert (later.probability > explanation.probability).all()


def test_an_interrupted_run_goes_on(cohort: Any, model: RCISurvival, tmp_path: Path) -> None:
    X, time, event = cohort
    file = tmp_path / "resamples.npz"
    RCISurvival().fit(X, time, event).bootstrap(3, resume=file)
    again = RCISurvival().fit(X, time, event).bootstrap(8, resume=file)
    for one, other in zip(again.bootstrap_.models, model.bootstrap_.models, strict=True):
        for name, numbers in flattened([one.attribution], all_of_it=True).items():
            assert np.array_equal(numbers, flattened([other.attribution], all_of_it=True)[name])
    for other in (
        RCISurvival(horizon=0.5).fit(X, time, event),
        RCISurvival().fit(X, time, 1 - event),
        RCISurvival().fit(X, time * 2, event),
        RCI().fit(X, event),
    ):
        with pytest.raises(ValueError, match="of another cohort, other options"):
            other.bootstrap(8, resume=file)


def test_patients_are_drawn_with_all_of_their_rows(cohort: Any) -> None:
    X, time, event = (pd.concat([part] * 2) if isinstance(part, pd.DataFrame) else part for part in cohort)
    time, event = np.tile(time, 2) + np.repeat([0.0, 1e-6], 300), np.tile(event, 2)
    X = X.reset_index(drop=True)
    twice = RCISurvival().fit(X, time, event, groups=np.tile(np.arange(300), 2)).bootstrap(8)
    rows = RCISurvival().fit(X, time, event).bootstrap(8)
    spread = [resampled_coef(fit).std(axis=0) for fit in (twice, rows)]
    assert spread[0].mean() > 1.2 * spread[1].mean()
    assert twice.provenance_["patients"] == 300


def test_a_resample_without_the_longest_follow_up_knows_the_horizon(tmp_path: Path) -> None:
    X, time, event = survival_cohort(60)
    model = RCISurvival(horizon=float(time.max())).fit(X, time, event).bootstrap(6)
    assert all(one.attribution.edges[-1] == time.max() for one in model.bootstrap_.models)
    model.save(tmp_path / "model.rci")
    loaded = RCISurvival.load(tmp_path / "model.rci")
    assert np.array_equal(loaded.explain(X).lower, model.explain(X).lower)


def test_two_events_in_a_resample_are_asked_for() -> None:
    X, time, _ = survival_cohort(12)
    event = np.zeros(12, dtype=int)
    event[np.argsort(time)[:3]] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RCISurvival().fit(X, time, event).bootstrap(10)
    assert len(model.bootstrap_) == 10


def many_kinds(n: int = 300) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Labs with sites and a stage; the far site raises the hazard."""
    rng = np.random.default_rng(4)
    X = labs(rng, n)
    X["site"] = rng.choice(["north", "south", "far"], n)
    X["stage"] = pd.Categorical(rng.choice(["I", "II", "III"], n), ["I", "II", "III"], ordered=True)
    X["creatinine"] = np.exp(0.5 * rng.laplace(size=n))
    return X, *times(rng, pull(X) + 1.5 * (X["site"] == "far") + np.log(X["creatinine"]).to_numpy())


@pytest.mark.parametrize("attribution", ["sharp", "paper"])
@pytest.mark.parametrize("holes", [False, True], ids=["whole", "with holes"])
def test_backends_agree_on_columns_of_every_kind(attribution: str, holes: bool) -> None:
    X, time, event = many_kinds()
    if holes:
        rng = np.random.default_rng(5)
        X = X.apply(lambda column: column.where(rng.random(len(X)) > 0.1))
        X["stage"] = pd.Categorical(X["stage"], ["I", "II", "III"], ordered=True)
    options = {"attribution": attribution, "log": ["creatinine"]}
    one, other = (RCISurvival(backend=name, **options).fit(X, time, event) for name in ("numpy", "numba"))
    assert one.causal_order_.tolist() == other.causal_order_.tolist()
    assert one.coef_ == pytest.approx(other.coef_, rel=1e-6, abs=1e-9)
    assert one.predict_risk(X) == pytest.approx(other.predict_risk(X), abs=1e-9)
    explanation = one.explain(X)
    assert explanation.base_value + explanation.values.sum(axis=1) == pytest.approx(one.predict(X))
    site = explanation.values[:, list(X).index("site")]
    assert site[(X["site"] == "far").to_numpy()].min() > site[(X["site"] == "north").to_numpy()].max()
    assert one.coef_[list(X).index("creatinine")] > 0.3
    if holes:
        assert explanation.imputed.mean() == pytest.approx(0.1, abs=0.02)
        assert explanation.imputation_sd.max() > 0.05


@pytest.mark.parametrize("attribution", ["sharp", "paper"])
def test_covariates_take_the_hazard_that_is_theirs(cohort: Any, attribution: str) -> None:
    X, time, event = cohort
    options = {"attribution": attribution, "variant": "plus", "knowledge": {"covariates": ["bmi", "ldl"]}}
    model = RCISurvival(**options).fit(X, time, event)
    assert model.covariates_.tolist() == [0, 1] and sorted(model.causal_order_) == [2, 3]
    if attribution == "paper":
        cox = cox_coefficients(X.to_numpy(), time, event)
        # crp given its causes acts as Cox says that crp does, all others held fixed.
        spread = (
            model.explain(X).errors[:, 2].std()
            / (X["crp"] - X["bmi"] * np.polyfit(X["bmi"], X["crp"], 1)[0]).std()
        )
        assert model.coef_[2] * spread == pytest.approx(cox[list(X).index("crp")], rel=0.05)
    effect = model.explain(X).covariate_effect
    assert np.corrcoef(effect, 0.7 * X["bmi"] + 0.4 * X["ldl"])[0, 1] > 0.97
