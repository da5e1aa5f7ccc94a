"""Covariates: part of the risk, shown apart, and never root causes."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from case_control import study
from command_line import error, ok
from level_cohort import draw, frame_of, with_holes
from page_facts import facts_of
from scipy.special import expit, logit

from rootcausal import RCI, InputError, Knowledge, plots
from rootcausal.cli.console import words_of_model
from rootcausal.cli.explain import Asked, _Scores
from rootcausal.inputs.patients import Patients
from rootcausal.resampling.intervals import interval, ranks
from rootcausal.wording import together

NUMBERS = Knowledge(covariates=["x1", "x4"])
LEVELS = Knowledge(covariates=["age", "ward"])


def of_numbers(prevalence: float | None = None, **options: Any) -> tuple[RCI, np.ndarray]:
    cohort = study(0, 0.1)
    model = RCI(knowledge=NUMBERS, prevalence=prevalence, backend="numpy", mechanism="linear", **options)
    return model.fit(cohort.X, cohort.y), cohort.X


def of_levels(**options: Any) -> tuple[RCI, pd.DataFrame]:
    X, y = draw()
    frame = frame_of(X)
    return RCI(knowledge=LEVELS, backend="numpy", **options).fit(frame, y), frame


@pytest.fixture(scope="module")
def resampled() -> RCI:
    X, y = draw(200)
    return RCI(knowledge=LEVELS, backend="numpy").fit(frame_of(X), y).bootstrap(5)


def frame(n: int = 30) -> pd.DataFrame:
    return frame_of(draw(200)[0]).head(n)


@pytest.fixture
def saved(resampled: RCI, tmp_path: Path) -> Path:
    resampled.save(tmp_path / "model.rci")
    return tmp_path / "model.rci"


def check_adds_up(model: RCI, patients: Any) -> None:
    """Base value, covariates and shocks make the log-odds; nothing of a covariate is a shock."""
    explanation = model.explain(patients)
    stated = model.decision_function(patients)
    summed = explanation.base_value + explanation.covariate_effect + explanation.values.sum(axis=1)
    np.testing.assert_allclose(summed, stated, rtol=0, atol=1e-10)
    np.testing.assert_allclose(explanation.log_odds, stated, rtol=0, atol=1e-10)
    np.testing.assert_allclose(explanation.probability, model.predict_proba(patients)[:, 1])
    assert np.abs(explanation.covariate_effect).max() > 0.1
    assert not explanation.values[:, model.covariates_].any()
    assert not explanation.errors[:, model.covariates_].any()
    names = [explanation.feature_names[place] for place in model.covariates_]
    assert list(explanation.covariates) == names
    assert not {cause.variable for causes in explanation.root_causes(9) for cause in causes} & set(names)
    assert np.isneginf(model.scores(patients)[:, model.covariates_]).all()


@pytest.mark.parametrize("attribution", ["sharp", "paper"])
def test_numbers_add_up(attribution: str) -> None:
    model, X = of_numbers(attribution=attribution)
    assert model.covariates_.tolist() == [1, 4]
    check_adds_up(model, X)


@pytest.mark.parametrize("attribution", ["sharp", "paper"])
def test_levels_and_holes_add_up(attribution: str) -> None:
    model, whole = of_levels(attribution=attribution)
    check_adds_up(model, whole)
    holed = with_holes(whole, age=[0, 3], ward=[1, 3], bili=[2])
    check_adds_up(model, holed)
    assert model.explain(holed).imputed[[0, 1, 3]][:, model.covariates_].any(axis=1).all()


@pytest.mark.parametrize("attribution", ["sharp", "paper"])
def test_a_population_adds_up(attribution: str) -> None:
    in_population, X = of_numbers(prevalence=0.1, attribution=attribution)
    check_adds_up(in_population, X)


def test_a_fit_with_holes_adds_up() -> None:
    X, y = draw()
    holed = with_holes(frame_of(X), age=list(range(0, 60)), bili=list(range(40, 90)))
    check_adds_up(RCI(knowledge=LEVELS, backend="numpy").fit(holed, y), holed)


def test_a_covariate_moves_the_risk_and_no_shock() -> None:
    """Two patients who differ in a covariate alone, and not in any shock, differ by what covariates add."""
    model, X = of_numbers()
    mechanism = model._model.mechanism
    place = mechanism.order.tolist().index(1)
    moved = mechanism.what_if(X, place, mechanism.errors(X, np.array([place])) + 1.0)
    assert not np.allclose(moved[:, 1], X[:, 1])
    before, after = model.explain(X), model.explain(moved)
    np.testing.assert_allclose(after.values, before.values, atol=1e-8)
    gained = after.covariate_effect - before.covariate_effect
    np.testing.assert_allclose(gained, after.log_odds - before.log_odds, atol=1e-8)
    assert np.ptp(gained) < 1e-8
    assert np.abs(gained).min() > 0.01


def test_the_same_without_covariates() -> None:
    cohort = study(0, 0.1)
    plain = RCI(backend="numpy").fit(cohort.X, cohort.y)
    explanation = plain.explain(cohort.X)
    assert explanation.covariates == ()
    assert plain.covariates_.size == 0
    assert explanation.covariate_interval is None
    assert not explanation.covariate_effect.any()
    assert "covariates" not in explanation.to_frame().columns
    exactly = explanation.base_value + explanation.values.sum(axis=1)
    assert (explanation.log_odds == exactly).all()
    assert (plain.decision_function(cohort.X) == exactly).all()


def test_who_is_scored_needs_covariates() -> None:
    model, whole = of_levels(missing="refuse")
    with pytest.raises(InputError, match="age"):
        model.decision_function(whole.drop(columns="age"))
    kept = [name for name in whole.columns if name not in LEVELS.covariates]
    assert set(model.get_feature_names_out()) <= set(kept)
    assert model.transform(whole).shape[1] == model.causal_order_.size


def test_a_tidy_table_has_no_rows_for_covariates(resampled: RCI) -> None:
    explanation = resampled.explain(frame())
    table = explanation.to_frame()
    assert not set(table["variable"]) & set(LEVELS.covariates)
    assert len(table) == 30 * 4
    together = table.groupby("id", sort=False)["covariates"]
    assert (together.nunique() == 1).all()
    np.testing.assert_array_equal(together.first(), explanation.covariate_effect)
    assert (table.groupby("id")["rank"].apply(sorted).map(tuple) == (1, 2, 3, 4)).all()
    summed = explanation.base_value + together.first() + table.groupby("id", sort=False)["shapley"].sum()
    np.testing.assert_allclose(summed, explanation.log_odds)
    assert (table["rank_stability"] <= table["frequency"]).all()


def test_covariates_rank_after_all_others() -> None:
    values = np.array([[-1.0, 0.0, -2.0], [3.0, 0.0, 1.0]])
    assert ranks(values, np.array([1])).tolist() == [[1, 3, 2], [1, 3, 2]]
    assert ranks(values).tolist() == [[2, 1, 3], [1, 3, 2]]
    assert values[0, 1] == 0.0


def test_resamples_say_how_sure_it_is(resampled: RCI) -> None:
    explanation = resampled.explain(frame())
    assert explanation.covariate_interval is not None
    lower, upper = explanation.covariate_interval
    drawn = np.stack([one.adjustment(explanation._cells.columns) for one in resampled.bootstrap_.models])
    assert ((lower < upper) & (lower >= drawn.min(axis=0) - 1e-9)).all()


@pytest.mark.filterwarnings("ignore:no patient has")
@pytest.mark.parametrize("attribution", ["sharp", "paper"])
def test_what_was_not_measured_leaves_the_doubt_that_drawing_it_shows(attribution: str) -> None:
    """The interval holds what completions, drawn many times, make of the covariates' effect."""
    model, X = of_numbers(attribution=attribution)
    holed = np.repeat(X[:1], 4000, axis=0)
    holed[:, [1, 5]] = np.nan
    explanation = model.explain(holed)
    assert explanation.covariate_interval is not None
    drawn = model._model.adjustment(model._completion.draw(holed, 7))
    lower, upper = explanation.covariate_interval
    half = 1.96 * drawn.std()
    assert half > 0.1
    np.testing.assert_allclose(upper - explanation.covariate_effect, half, rtol=0.05)
    np.testing.assert_allclose(explanation.covariate_effect - lower, half, rtol=0.05)
    assert ((drawn > lower) & (drawn < upper)).mean() == pytest.approx(0.95, abs=0.015)


def test_only_covariates_leave_doubt_about_covariates(resampled: RCI) -> None:
    model, whole = of_levels()
    assert model.explain(whole).covariate_interval is None
    explanation = model.explain(with_holes(whole.head(6), age=[0, 3], ward=[1, 3], bili=[2, 3]))
    assert explanation.covariate_interval is not None
    lower, upper = explanation.covariate_interval
    assert (upper > lower).tolist() == [True, True, False, True, False, False]
    assert (lower == explanation.covariate_effect)[[2, 4, 5]].all()
    # With resamples, doubts of the two origins add by their squares.
    holed = with_holes(frame(6), age=[0, 3], bili=[2])
    both = resampled.explain(holed)
    alone = interval(np.stack([one.adjustment(both._cells.columns) for one in resampled.bootstrap_.models]))
    assert both.covariate_interval is not None
    np.testing.assert_array_equal(both.covariate_interval[:, [1, 2, 4, 5]], alone[:, [1, 2, 4, 5]])
    assert (both.covariate_interval[0, [0, 3]] < alone[0, [0, 3]]).all()
    assert (both.covariate_interval[1, [0, 3]] > alone[1, [0, 3]]).all()
    middle = np.clip(both.covariate_effect[0], *alone[:, 0])
    filled = np.sqrt((both.covariate_interval[1, 0] - middle) ** 2 - (alone[1, 0] - middle) ** 2)
    once = copy(resampled)
    once.bootstrap_ = None
    without = once.explain(holed).covariate_interval
    assert without is not None
    assert without[1, 0] - both.covariate_effect[0] == pytest.approx(filled)


def test_tidy_tables_have_their_interval(resampled: RCI) -> None:
    explanation = resampled.explain(with_holes(frame(), age=[1]))
    by_patient = explanation.to_frame().groupby("id", sort=False)
    assert explanation.covariate_interval is not None
    for name, ends in zip(
        ("covariates_lower", "covariates_upper"), explanation.covariate_interval, strict=True
    ):
        np.testing.assert_array_equal(by_patient[name].first(), ends)
    model, whole = of_levels()
    assert "covariates_lower" not in model.explain(whole).to_frame().columns


def test_shap_starts_from_what_covariates_add(resampled: RCI) -> None:
    pytest.importorskip("shap")
    explanation = resampled.explain(frame())
    bridge = explanation.to_shap()
    np.testing.assert_allclose(bridge.base_values + bridge.values.sum(axis=1), explanation.log_odds)


def test_what_if_keeps_covariates_and_refuses_to_set_them(resampled: RCI) -> None:
    explanation = resampled.explain(frame())
    then = explanation.what_if("bili", 0.0)
    bili = explanation.feature_names.index("bili")
    np.testing.assert_allclose(then.log_odds, explanation.log_odds - explanation.values[:, bili], atol=1e-9)
    assert (then.data[:, resampled.covariates_] == explanation.data[:, resampled.covariates_]).all()
    assert then.log_odds_interval is not None
    assert (then.log_odds_interval[0] <= then.log_odds).all()
    for ask in ({"error": 0.0}, {}):
        with pytest.raises(InputError, match="'age' is adjusted for, and no variable of the causal order"):
            explanation.what_if("age", **ask)
    with pytest.raises(InputError, match="'ward' is adjusted for"):
        explanation.what_if(2, level="ICU")


def test_saved_and_loaded(saved: Path, resampled: RCI) -> None:
    loaded = RCI.load(saved)
    patients = frame()
    assert loaded.covariates_.tolist() == resampled.covariates_.tolist()
    one, other = loaded.explain(patients), resampled.explain(patients)
    np.testing.assert_array_equal(one.covariate_effect, other.covariate_effect)
    np.testing.assert_array_equal(one.log_odds, other.log_odds)
    assert one.covariates == other.covariates == ("age", "ward")
    np.testing.assert_array_equal(one.covariate_interval, other.covariate_interval)


@pytest.mark.parametrize(
    ("names", "limit", "said"),
    [
        (["site"], 24, "site"),
        (["age", "sex"], 24, "age and sex"),
        (["age", "sex", "site"], 24, "age, sex and site"),
        ([f"x{k}" for k in range(7)], 24, "7 covariates"),
        (["<b>\n\x1b[31m"], 24, "<b>\\n\\x1b[31m"),
        (["n" * 10_000], 24, "n" * 40 + "..."),
        (["n" * 10_000, "site"], 60, "n" * 40 + "... and site"),
    ],
)
def test_names_together(names: list[str], limit: int, said: str) -> None:
    assert together(names, limit) == said


def test_the_waterfall_has_one_bar_for_them(resampled: RCI) -> None:
    patients = with_holes(frame(), age=[1])
    explanation = resampled.explain(patients)
    for row, hatch in ((0, None), (1, "///")):
        ax = plots.waterfall(explanation, row)
        labels = [label.get_text() for label in ax.get_yticklabels()]
        assert labels[0] == "age and ward"
        assert not any(label.startswith(("age =", "ward =")) for label in labels)
        bars = [bar for bar in ax.patches if bar.get_width() or bar.get_x()]
        assert bars[0].get_width() == pytest.approx(explanation.covariate_effect[row])
        assert bars[0].get_x() == pytest.approx(explanation.base_value)
        assert (bars[0].get_hatch() is None) == (hatch is None)
        ends = bars[-1].get_x() + bars[-1].get_width()
        assert ends == pytest.approx(explanation.log_odds[row])
        assert bars[0].get_facecolor() not in {bar.get_facecolor() for bar in bars[1:]}
    for draw_together in (plots.beeswarm, plots.prevalence, plots.heatmap):
        named = {label.get_text() for label in draw_together(explanation).get_yticklabels()}
        assert not named & set(LEVELS.covariates)


def test_explain_prints_them_apart(saved: Path, tmp_path: Path) -> None:
    with_holes(frame(5), age=[2]).to_csv(tmp_path / "new.csv", index=False)
    said = ok("explain", saved, tmp_path / "new.csv")
    assert "age and ward" in said.split("row 1")[0]
    explanation = RCI.load(saved).explain(with_holes(frame(5), age=[2]))
    assert explanation.covariate_interval is not None
    for row in range(5):
        lower, upper = explanation.covariate_interval[:, row]
        assert f" {explanation.covariate_effect[row]:+.2f} ({lower:+.2f} to {upper:+.2f}) " in said
    assert said.count("age not measured") == 1
    assert said.index("row 3") < said.index("age not measured") < said.index("row 4")
    assert "whose shocks and covariates are all average" in said
    assert "Covariates (age, ward) are adjusted for" in said
    refused = error(3, "explain", saved, tmp_path / "new.csv", "--what-if", "ward=ICU")
    assert "'ward' is adjusted for, and no variable of the causal order" in refused


def test_explain_writes_them_apart(saved: Path, tmp_path: Path) -> None:
    frame(5).to_csv(tmp_path / "new.csv", index=False)
    said = ok("explain", saved, tmp_path / "new.csv", "--out", tmp_path / "scores.csv")
    scores = pd.read_csv(tmp_path / "scores.csv")
    assert list(scores.columns[:4]) == ["row", "risk", "log_odds", "covariates"]
    assert not {"age", "ward", "age_lower", "ward_frequency"} & set(scores.columns)
    assert (scores["covariates_lower"] <= scores["covariates"]).all()
    assert (scores["covariates"] <= scores["covariates_upper"]).all()
    shocks = scores[["sex", "stage", "bili", "noise"]].sum(axis=1)
    base = RCI.load(saved).intercept_
    np.testing.assert_allclose(base + scores["covariates"] + shocks, scores["log_odds"])
    np.testing.assert_allclose(logit(scores["risk"]), scores["log_odds"])
    assert "'covariates', then the log-odds that each variable adds" in said


def test_without_resamples_only_what_was_not_measured_leaves_an_interval(tmp_path: Path) -> None:
    model, whole = of_levels()
    model.save(tmp_path / "model.rci")
    holed = with_holes(whole.head(5), age=[2])
    holed.to_csv(tmp_path / "new.csv", index=False)
    explanation = model.explain(holed)
    assert explanation.covariate_interval is not None
    lower, upper = explanation.covariate_interval
    said = ok("explain", tmp_path / "model.rci", tmp_path / "new.csv")
    assert f" {explanation.covariate_effect[2]:+.2f} ({lower[2]:+.2f} to {upper[2]:+.2f}) " in said
    assert "age not measured" in said
    assert f" {explanation.covariate_effect[1]:+.2f} (" not in said
    ok("explain", tmp_path / "model.rci", tmp_path / "new.csv", "--out", tmp_path / "scores.csv")
    scores = pd.read_csv(tmp_path / "scores.csv")
    np.testing.assert_allclose(scores["covariates_lower"], lower, atol=1e-9)
    np.testing.assert_allclose(scores["covariates_upper"], upper, atol=1e-9)


def test_pieces_of_a_table_have_the_same_columns_whatever_was_measured() -> None:
    model, whole = of_levels()
    scores = _Scores(Asked(model, None, words_of_model(model)), None, None)
    holed = scores(Patients(with_holes(whole.head(4), age=[2]), None, None, np.arange(1, 5), 0))
    later = scores(Patients(whole.tail(4), None, None, np.arange(5, 9), 0))
    assert holed.schema == later.schema
    assert later["covariates_lower"] == later["covariates"] == later["covariates_upper"]


def test_a_variable_that_is_called_covariates_keeps_its_name(tmp_path: Path) -> None:
    X, y = draw(200)
    named = frame_of(X).rename(columns={"bili": "covariates"})
    model = RCI(knowledge=LEVELS, backend="numpy").fit(named, y)
    model.save(tmp_path / "model.rci")
    named.head(5).to_csv(tmp_path / "new.csv", index=False)
    ok("explain", tmp_path / "model.rci", tmp_path / "new.csv", "--out", tmp_path / "scores.csv")
    scores = pd.read_csv(tmp_path / "scores.csv")
    explanation = model.explain(named.head(5))
    bili = explanation.feature_names.index("covariates")
    np.testing.assert_allclose(scores["covariates"], explanation.values[:, bili], atol=1e-9)
    np.testing.assert_allclose(scores["covariates_"], explanation.covariate_effect, atol=1e-9)


def test_the_page_knows_what_they_add(resampled: RCI, tmp_path: Path) -> None:
    patients = with_holes(frame(), age=[1])
    resampled.report(patients, tmp_path / "page.html")
    facts = facts_of(tmp_path / "page.html")
    assert facts["covariates"] == ["age", "ward"]
    assert not {one["name"] for one in facts["variables"]} & {"age", "ward"}
    left_out = {name for names in facts["made"]["left_out"].values() for name in names or ()}
    assert not left_out & {"age", "ward"}
    for kind in ("values", "errors"):
        assert len(facts["quantiles"][kind]) == len(facts["variables"])
    assert len(resampled.margins_) == len(facts["variables"])
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(f'id="block-covariates{kind}"' in text for kind in ("", "-interval", "-expected"))


def test_quantiles_are_those_of_the_order() -> None:
    """Those of a variable of the order, whatever covariates come before it."""
    model, X = of_numbers()
    assert model._quantiles is not None
    for place, variable in enumerate(model.causal_order_):
        ends = model._quantiles.values[[0, -1], place]
        assert ends.tolist() == [X[:, variable].min(), X[:, variable].max()]


def test_fits_say_what_is_adjusted_for(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from rootcausal.cli.console import say_order

    model = RCI.load(saved)
    say_order(model, words_of_model(model))
    said = capsys.readouterr().out
    assert "adjusted for, in the risk and no root causes: age, ward" in said
    left_out = [line.partition(": ")[2].split(", ") for line in said.splitlines() if "left out" in line]
    assert not {name for names in left_out for name in names} & {"age", "ward"}


def test_the_demo_describes_them_after_the_base_value(
    resampled: RCI, capsys: pytest.CaptureFixture[str]
) -> None:
    from rootcausal.cli.demo import _describe_patient

    explanation = resampled.explain(frame())
    _describe_patient("Patient", explanation, 0, dict.fromkeys(explanation.feature_names, ""))
    lines = [line.split("  ")[1] for line in capsys.readouterr().out.splitlines()[2:]]
    assert [line.strip() for line in lines[:2]] == ["base value", "age and ward"]


def test_risk_of_everybody_is_the_share_of_cases() -> None:
    """With the paper's attribution, maximum likelihood: the risks, covariates and all, sum to the cases."""
    model, whole = of_levels(attribution="paper")
    _, y = draw()
    assert expit(model.decision_function(whole)).sum() == pytest.approx(y.sum(), rel=1e-6)


def test_the_interval_of_covariates_is_that_of_the_resamples(resampled: RCI) -> None:
    explanation = resampled.explain(frame())
    draws = np.stack([model.adjustment(explanation._cells.columns) for model in resampled.bootstrap_.models])
    lower, upper = np.quantile(draws, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(explanation.covariate_interval, [lower, upper])
    assert (upper > lower).all()


def test_checks_ask_nothing_of_what_has_no_learned_place():
    """Covariates may be Gaussian, bent and dependent: no order among them is claimed."""
    g = np.random.default_rng(0)
    a = g.normal(size=1500)
    b = 0.6 * a + g.normal(size=1500)
    site = a**2 + 0.1 * g.normal(size=1500)
    cause = 0.5 * a + g.laplace(size=1500)
    effect = 0.5 * cause + g.laplace(size=1500)
    X = pd.DataFrame({"a": a, "b": b, "site": site, "cause": cause, "effect": effect})
    y = (g.random(1500) < 1 / (1 + np.exp(-effect - b - a - site))).astype(int)
    known = {"covariates": ["a", "b"], "first": ["site"]}
    verdicts = {
        check.name: check
        for check in RCI(knowledge=known, mechanism="linear").fit(X, y).diagnose(X, y).checks
    }
    alone = {check.name: check for check in RCI(mechanism="linear").fit(X, y).diagnose(X, y).checks}
    for name in ("non_gaussian", "independent", "linear"):
        assert verdicts[name].verdict in ("fine", "cannot tell"), name
    assert {alone[name].verdict for name in ("independent", "linear")} <= {"doubtful", "broken"}
    assert "None of 1 arrow" in verdicts["non_gaussian"].statement


@pytest.mark.parametrize("searched", [0, 1])
def test_checks_where_hardly_anything_was_searched(searched):
    g = np.random.default_rng(1)
    X = pd.DataFrame(g.laplace(size=(300, 3)), columns=["a", "b", "c"])
    y = (g.random(300) < 1 / (1 + np.exp(-X["c"]))).astype(int)
    known = {"covariates": ["a"], "first": ["b", "c"][: 2 - searched]}
    verdict = RCI(knowledge=known).fit(X, y).diagnose(X, y).verdict
    assert verdict != "broken"


def test_a_variable_called_covariates_keeps_its_columns(tmp_path: Path) -> None:
    X = frame(200).rename(columns={"bili": "covariates"})
    y = (np.arange(200) % 3 == 0).astype(int)
    X["covariates"] += y
    X.assign(ill=y).to_csv(tmp_path / "c.csv", index=False)
    model, scores = tmp_path / "m.rci", tmp_path / "s.csv"
    ok("fit", tmp_path / "c.csv", "--target", "ill", "--covariate", "age", "--bootstrap", 3, "--out", model)
    X.head(5).to_csv(tmp_path / "new.csv", index=False)
    ok("explain", model, tmp_path / "new.csv", "--out", scores)
    found, explanation = pd.read_csv(scores), RCI.load(model).explain(X.head(5))
    place = explanation.feature_names.index("covariates")
    np.testing.assert_allclose(found["covariates"], explanation.values[:, place], atol=1e-6)
    np.testing.assert_allclose(found["covariates_lower"], explanation.lower[:, place], atol=1e-6)
    np.testing.assert_allclose(found["covariates_"], explanation.covariate_effect, atol=1e-6)
    np.testing.assert_allclose(found["covariates__lower"], explanation.covariate_interval[0], atol=1e-6)
