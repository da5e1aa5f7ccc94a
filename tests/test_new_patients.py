"""Patients who are scored: whose they are, which column is which, and what is unlike the cohort."""

from __future__ import annotations

import base64
import re
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import ok, run
from page_facts import facts_of

from rootcausal import RCI, InputError, RCIRegressor, RCISurvival, UnlikeCohortWarning
from rootcausal.resampling.bootstrap import Bootstrap


@pytest.fixture(scope="module")
def labs() -> pd.DataFrame:
    """Bilirubin, which is skewed, and three labs after it; 200 patients, two visits each."""
    rng = np.random.default_rng(4)
    bili = np.exp(0.3 + rng.normal(size=200))
    albumin = 3.5 - 0.1 * bili + 0.3 * rng.laplace(size=200)
    platelets = 250 + 70 * rng.normal(size=200)
    glucose = 100 + 15 * rng.laplace(size=200)
    return pd.DataFrame({"bili": bili, "albumin": albumin, "platelets": platelets, "glucose": glucose})


@pytest.fixture(scope="module")
def ill(labs: pd.DataFrame) -> np.ndarray:
    rng = np.random.default_rng(5)
    log_odds = 0.9 * np.log(labs["bili"]) - 1.5 * (labs["albumin"] - 3.3) + 0.02 * (labs["glucose"] - 100)
    return (log_odds + rng.logistic(size=len(labs)) > 0.3).astype(int).to_numpy()


@pytest.fixture(scope="module")
def model(labs: pd.DataFrame, ill: np.ndarray) -> RCI:
    return RCI(log=["bili"]).fit(labs, ill)


# --- whose they are ---


def test_ids_in_another_order_than_the_rows_are_refused(model: RCI, labs: pd.DataFrame) -> None:
    some = labs.head(6)
    ids = pd.Series([f"p{k}" for k in range(6)], index=some.index)[::-1]
    for asked in (model.explain, model.diagnose):
        with pytest.raises(InputError, match=r"ids has the index of X in another order: use ids\.loc"):
            asked(some, ids=ids)
    assert model.explain(some, ids=ids.loc[some.index]).ids[0] == "p0"
    assert model.explain(some, ids=ids.to_numpy()).ids[0] == "p5"


def test_a_column_of_ids_can_be_named_by_every_door(labs: pd.DataFrame, ill: np.ndarray) -> None:
    pid = np.repeat([f"p{k}" for k in range(100)], 2)
    table, time = labs.assign(pid=pid), np.arange(1.0, 201.0)
    plain, named = RCI().fit(labs, ill, groups=pid), RCI().fit(table, ill, groups="pid")
    assert list(named.feature_names_in_) == list(labs)
    assert named.provenance_["patients"] == plain.provenance_["patients"] == 100
    assert named.explain(table, ids="pid").ids == tuple(pid)
    assert RCISurvival().fit(table, time, ill, groups="pid").provenance_["patients"] == 100
    assert RCIRegressor().fit(table, labs["bili"] + time, groups="pid").provenance_["patients"] == 100
    with pytest.raises(InputError, match="no column 'who' for groups in the table, which has 'bili'"):
        RCI().fit(table, ill, groups="who")
    with pytest.raises(InputError, match="ids='bili' is one of the model's variables"):
        named.explain(table, ids="bili")


def test_ids_beside_the_columns_of_a_model_without_names(labs: pd.DataFrame, ill: np.ndarray) -> None:
    numbered = labs.set_axis(range(4), axis=1)
    model = RCI().fit(labs.to_numpy(), ill)
    explained = model.explain(numbered.assign(pid=[f"p{k}" for k in range(200)]), ids="pid")
    assert explained.ids[3] == "p3"
    np.testing.assert_array_equal(explained.values, model.explain(labs.to_numpy()).values)


# --- which column is which ---


def test_names_that_the_model_never_saw_are_said(labs: pd.DataFrame, ill: np.ndarray) -> None:
    model = RCI().fit(labs.to_numpy(), ill)
    with pytest.warns(UserWarning, match="X has feature names, but RCI was fitted without feature names"):
        model.predict_proba(labs.rename(columns=str.upper))


@pytest.mark.parametrize("numbers", [[0, 1, 2, 3], [5, 3, 9, 1]])
def test_columns_numbered_in_another_order_are_refused(
    labs: pd.DataFrame, ill: np.ndarray, numbers: list[int]
) -> None:
    numbered = labs.set_axis(numbers, axis=1)
    model = RCI().fit(numbered, ill)
    model.predict_proba(numbered)
    with pytest.raises(InputError, match=f"the columns of X are numbered {numbers[1]}, {numbers[0]}"):
        model.predict_proba(numbered[[numbers[1], numbers[0], *numbers[2:]]])


@pytest.mark.parametrize("spelt", ["Bili", " bili ", "bilirubin"])
def test_a_column_spelt_otherwise_is_refused(model: RCI, labs: pd.DataFrame, spelt: str) -> None:
    renamed = labs.rename(columns={"bili": spelt})
    for asked in (model.predict_proba, model.explain, model.shapley_values, model.transform):
        with pytest.raises(InputError, match=f"'bili' may be '{spelt}'. Name the columns as in the table"):
            asked(renamed)
    with pytest.warns(UserWarning, match="no patient has 'bili'"):
        model.predict_proba(labs.drop(columns="bili"))


# --- pages ---


def test_a_page_of_nobody_and_of_half_a_follow_up(
    model: RCI, labs: pd.DataFrame, ill: np.ndarray, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="a page is about patients, and the table has no rows"):
        model.report(labs.head(0), tmp_path / "page.html")
    time = np.arange(1.0, 201.0)
    survival = RCISurvival().fit(labs, time, ill)
    with pytest.raises(InputError, match="the time of follow-up and the event come together"):
        survival.report(labs, tmp_path / "page.html", time)
    assert not list(tmp_path.iterdir())


def test_a_page_takes_the_names_of_columns(model: RCI, labs: pd.DataFrame, tmp_path: Path) -> None:
    table = labs.head(4).assign(visit=list("abcd"), pid=["p", "p", "q", "r"])
    model.report(table, tmp_path / "page.html", ids="visit", groups="pid")
    facts = facts_of(tmp_path / "page.html")
    assert (facts["labels"], facts["not_scored"], facts["n_patients"]) == (list("abcd"), [], 3)


# --- what is unlike the cohort ---


def doors(labs: pd.DataFrame, ill: np.ndarray) -> list[tuple[Any, str]]:
    """Models of all three outcomes, and the methods of each that score patients."""
    time = np.arange(1.0, 201.0)
    scores = ("shapley_values", "transform", "explain", "diagnose", "predict")
    return [
        *((RCI().fit(labs, ill), name) for name in (*scores, "predict_proba", "decision_function")),
        *((RCISurvival().fit(labs, time, ill), name) for name in (*scores, "predict_risk")),
        *(
            (RCIRegressor().fit(labs[["bili", "albumin"]], labs["glucose"] + 9 * ill), name)
            for name in scores
        ),
    ]


def test_another_unit_is_noticed_at_every_door(labs: pd.DataFrame, ill: np.ndarray, tmp_path: Path) -> None:
    told = "unlike the cohort, .*'bili' is about 1,000 times that of the cohort .median"
    for model, name in doors(labs, ill):
        with pytest.warns(UnlikeCohortWarning, match=told):
            getattr(model, name)(labs.assign(bili=1000 * labs["bili"]))
    with pytest.warns(UnlikeCohortWarning, match=told):
        model.report(labs.assign(bili=1000 * labs["bili"]), tmp_path / "page.html")


@pytest.mark.parametrize(
    ("column", "times", "plus", "said"),
    [
        (
            "bili",
            17.1,
            0,
            "about 17.1 times that of the cohort .median .*, as between mg/dl and µmol/l of bili",
        ),
        (
            "glucose",
            1 / 18.02,
            0,
            "about 1/18.02 of that of the cohort .*, as between mmol/l and mg/dl of glu",
        ),
        ("albumin", 10, 0, "about 10 times that of the cohort"),
        ("albumin", 1e-3, 0, "about 1/1,000 of that of the cohort"),
    ],
)
def test_the_factor_is_named(
    model: RCI, labs: pd.DataFrame, column: str, times: float, plus: float, said: str
):
    for some in (labs, labs.head(40)):
        with pytest.warns(UnlikeCohortWarning, match=f"'{column}' is {said}") as caught:
            model.predict_proba(some.assign(**{column: times * some[column] + plus}))
        assert caught[0].message.columns == (column,)


def test_degrees(labs: pd.DataFrame, ill: np.ndarray) -> None:
    temperature = 37 + 0.05 * (labs["glucose"] - 100)
    model = RCI().fit(labs.assign(temp=temperature).drop(columns="glucose"), ill)
    for some in (labs, labs.head(1)):
        with pytest.warns(UnlikeCohortWarning, match="'temp' .*on another scale .*as between °C and °F"):
            model.predict_proba(some.assign(temp=32 + 1.8 * temperature))


def test_one_patient_in_another_unit_is_noticed(model: RCI, labs: pd.DataFrame, tmp_path: Path) -> None:
    model.save(tmp_path / "model.rci")
    one = labs.head(1).assign(albumin=34.0)
    for same in (model, RCI.load(tmp_path / "model.rci")):
        with pytest.warns(
            UnlikeCohortWarning, match="'albumin' is 34, far beyond the cohort .*about 10 times"
        ):
            same.decision_function(one)
    # Of rows on a cluster no quantiles are kept.
    same._keep_quantiles(None)
    with pytest.warns(UnlikeCohortWarning, match="'albumin' is 34, far beyond the cohort"):
        same.decision_function(one)


def test_covariates_are_looked_at_too(labs: pd.DataFrame, ill: np.ndarray, tmp_path: Path) -> None:
    model = RCI(knowledge={"covariates": ["glucose"]}).fit(labs, ill)
    model.save(tmp_path / "model.rci")
    for same in (model, RCI.load(tmp_path / "model.rci")):
        with pytest.warns(UnlikeCohortWarning, match="'glucose' is about 1/18.02 of"):
            same.predict_proba(labs.assign(glucose=labs["glucose"] / 18.02))


@pytest.mark.filterwarnings("error")
def test_patients_like_the_cohort_are_not_doubted(labs: pd.DataFrame, ill: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    model = RCI().fit(labs.iloc[::2], ill[::2])  # bilirubin as it is, with its long tail
    for size in (1, 1, 1, 5, 5, 20, 50, 200) * 5:
        model.predict_proba(labs.iloc[rng.integers(0, 200, size)])
    sickest = labs.nlargest(20, "bili")
    model.predict_proba(sickest)
    model.predict_proba(sickest.nsmallest(20, "albumin"))


def test_an_extreme_patient_is_marked_and_no_warning(model: RCI, labs: pd.DataFrame) -> None:
    some = labs.head(5).copy()
    some.loc[2, "bili"] = 1.3 * labs["bili"].max()
    some.loc[3, "albumin"] = np.nan
    explained = model.explain(some)
    assert explained.beyond.sum() == 1 and explained.beyond[2, 0]
    frame = explained.to_frame()
    assert frame[frame["beyond"]][["id", "variable"]].to_numpy().tolist() == [[2, "bili"]]
    assert not model.explain(labs).beyond.any()


def test_the_command_line_says_it_once(labs: pd.DataFrame, ill: np.ndarray, tmp_path: Path) -> None:
    labs.assign(d=ill).to_csv(tmp_path / "cohort.csv", index=False)
    ok("fit", tmp_path / "cohort.csv", "--target", "d", "--out", tmp_path / "m.rci")
    labs.assign(bili=1000 * labs["bili"]).to_csv(tmp_path / "new.csv", index=False)
    for more in ((), ("--out", tmp_path / "scores.csv")):
        said = run("explain", tmp_path / "m.rci", tmp_path / "new.csv", *more)
        assert said.stderr.count("warning: unlike the cohort") == 1
        assert "'bili' is about 1,000 times that of the cohort" in " ".join(said.stderr.split())
    some = labs.head(3).assign(bili=[1.0, 1.3 * labs["bili"].max(), 2.0], albumin=[3.4, 3.3, 3.2])
    some.to_csv(tmp_path / "new.csv", index=False)
    said = run("explain", tmp_path / "m.rci", tmp_path / "new.csv")
    assert "warning" not in said.stderr
    assert "extrapolation, beyond the range of the cohort: bili of row 2" in " ".join(said.stdout.split())


def test_units_are_told_of_rows_that_are_not_shown(model: RCI, labs: pd.DataFrame, tmp_path: Path) -> None:
    new = labs.head(40).copy()
    new.loc[10:19, "glucose"] = 9999.0
    new.to_csv(tmp_path / "new.csv", index=False)
    model.save(tmp_path / "m.rci")
    said = run("explain", tmp_path / "m.rci", tmp_path / "new.csv").stderr
    assert "'glucose' is about 9999 in 10 of 40 rows, far beyond the cohort" in said
    new.loc[0:9, "glucose"] = 9999.0
    new.to_csv(tmp_path / "new.csv", index=False)
    said = run("explain", tmp_path / "m.rci", tmp_path / "new.csv").stderr
    assert said.count("unlike the cohort") == 1 and "in 20 of 40 rows" in said


# --- what was not measured, and what no resample says ---


def test_what_was_not_measured_is_no_root_cause_by_itself(model: RCI, labs: pd.DataFrame) -> None:
    some = labs.head(60).copy()
    some.loc[::2, "albumin"] = np.nan
    some.loc[::3, "bili"] = np.nan
    explained = model.explain(some)
    assert ((explained.values >= 0.1) & explained.imputed & (explained.lower <= 0)).any()  # the case in point
    for of_patient in explained.root_causes(top=9, both_ways=True):
        assert all(not cause.imputed or cause.lower > 0 or cause.upper < 0 for cause in of_patient)
    tidy = explained.to_frame()
    doubted = tidy["imputed"] & (tidy["lower"] <= 0) & (tidy["upper"] >= 0)
    assert not tidy[doubted]["root_cause"].any() and not tidy[doubted]["notable"].any()
    assert not (explained.notable & explained.imputed & (explained.lower <= 0) & (explained.upper >= 0)).any()


@pytest.fixture(scope="module")
def contradicted(labs: pd.DataFrame, ill: np.ndarray) -> RCI:
    """A model whose resamples, of another disease, say that albumin does nothing."""
    rng = np.random.default_rng(0)
    other = labs["glucose"] + 8 * rng.standard_normal(200) > 100
    model = RCI().fit(labs, ill)
    model.bootstrap_ = RCI(alpha=1e-6).fit(labs, other).bootstrap(20).bootstrap_
    return model


def test_an_interval_is_that_of_the_resamples(contradicted: RCI, labs: pd.DataFrame, tmp_path: Path) -> None:
    explained = contradicted.explain(labs)
    strongest = explained.values[:, 1].argmax()
    cause = next(c for c in explained.root_causes(top=9)[strongest] if c.variable == "albumin")
    assert cause.frequency == 0 and (cause.lower, cause.upper) == (0, 0) and cause.shapley > 0.5
    draws = [one.predicted(labs.to_numpy()) for one in contradicted.bootstrap_.models]
    ends = np.quantile(draws, (0.025, 0.975), axis=0)
    np.testing.assert_allclose(explained.predicted_interval, ends, atol=1e-12)
    contradicted.save(tmp_path / "m.rci")
    labs.iloc[[strongest]].to_csv(tmp_path / "new.csv", index=False)
    said = " ".join(ok("explain", tmp_path / "m.rci", tmp_path / "new.csv").split())
    assert f"albumin {cause.shapley:+.2f} (+0.00 to +0.00, no resample agrees)" in said
    assert OUTSIDE in said
    asked = ok("explain", tmp_path / "m.rci", tmp_path / "new.csv", "--what-if", "bili=0")
    assert OUTSIDE in " ".join(asked.split()).partition("what if the shock on bili")[2]


OUTSIDE = "an interval is that of the resamples: where it does not hold the value, they seldom found it"


def test_nothing_is_said_of_values_inside_their_intervals(
    labs: pd.DataFrame, ill: np.ndarray, tmp_path: Path
) -> None:
    model = RCI().fit(labs, ill)
    # The model itself among its resamples, at either end and in the middle.
    model.bootstrap_ = Bootstrap((model._model,) * 3, 0)
    model.save(tmp_path / "m.rci")
    labs.head(8).to_csv(tmp_path / "new.csv", index=False)
    said = ok("explain", tmp_path / "m.rci", tmp_path / "new.csv", "--what-if", "albumin=0")
    assert "to " in said and "an interval is that of the resamples" not in said


def test_an_interval_on_the_other_side_of_zero_supports_nothing(labs: pd.DataFrame, ill: np.ndarray) -> None:
    model = RCI().fit(labs, ill)
    # Resamples that say, beyond all doubt, that what raises the risk lowers it.
    contrary = replace(
        model._model, attribution=replace(model._model.attribution, coef=-50 * model._model.attribution.coef)
    )
    model.bootstrap_ = Bootstrap((contrary,) * 5, 0)
    explained = model.explain(labs.assign(bili=labs["bili"].where(np.arange(200) % 2 == 0)))
    column = 0
    against = explained.imputed[:, column] & (np.abs(explained.values[:, column]) >= explained.notable_from)
    against &= np.where(
        explained.values[:, column] > 0, explained.upper[:, column] < 0, explained.lower[:, column] > 0
    )
    assert against.any()
    assert not explained.notable[against, column].any()
    causes = explained.root_causes(top=9, both_ways=True)
    assert not {c.variable for row in np.flatnonzero(against) for c in causes[row]} & {"bili"}
    tidy = explained.to_frame()
    of_bili = tidy[tidy["variable"] == "bili"]
    assert not of_bili[["root_cause", "notable"]].to_numpy()[against].any()


@pytest.mark.parametrize("agreeing", [1, 249])
def test_a_few_resamples_are_not_none_on_a_page(
    contradicted: RCI, labs: pd.DataFrame, tmp_path: Path, agreeing: int
) -> None:
    other = contradicted.bootstrap_.models[0]
    model = copy(contradicted)
    model.bootstrap_ = Bootstrap((*[other] * (250 - agreeing), *[model._model] * agreeing), 0)
    model.report(labs, tmp_path / "page.html")
    listed = model.explain(labs).listed
    strongest = np.argsort(-np.abs(listed.values[:, model.causal_order_]), axis=1, kind="stable")
    share = np.take_along_axis(listed.frequency[:, model.causal_order_], strongest, axis=1)
    assert np.isclose(share, agreeing / 250).any() and (share == 0).any() and (share == 1).any()
    page = (tmp_path / "page.html").read_text()
    packed = re.search(r'id="block-frequency">([^<]*)<', page).group(1)
    percents = np.frombuffer(base64.b64decode(packed), dtype="<u1").reshape(share.shape)
    np.testing.assert_array_equal(percents == 0, share == 0)
    np.testing.assert_array_equal(percents == 100, share == 1)
    assert np.abs(percents - 100 * share).max() < 1


def test_covariates_show_what_resamples_say_of_them(
    labs: pd.DataFrame, ill: np.ndarray, tmp_path: Path
) -> None:
    model = RCI(knowledge={"covariates": ["bili"]}).fit(labs, ill)
    model.bootstrap_ = Bootstrap((model.bootstrap(2).bootstrap_.models[0],) * 2, 0)
    model.save(tmp_path / "m.rci")
    labs.head(3).to_csv(tmp_path / "new.csv", index=False)
    explained = model.explain(labs.head(3))
    lower, upper = explained.covariate_interval
    assert (lower == upper).all() and (lower != explained.covariate_effect).all()
    said = " ".join(ok("explain", tmp_path / "m.rci", tmp_path / "new.csv").split())
    assert f"{explained.covariate_effect[0]:+.2f} ({lower[0]:+.2f} to {upper[0]:+.2f})" in said


@pytest.fixture
def unmeasured(labs: pd.DataFrame) -> pd.DataFrame:
    """Five patients; of the second nothing was measured, of the fourth only albumin."""
    some = labs.head(5).copy()
    some.iloc[1] = np.nan
    some.loc[3, ["bili", "platelets", "glucose"]] = np.nan
    return some


NOTHING = pytest.mark.filterwarnings("ignore:nothing that the model goes by was measured")


def test_nobody_is_scored_of_whom_nothing_was_measured(
    labs: pd.DataFrame, ill: np.ndarray, unmeasured: Any
) -> None:
    others = [0, 2, 3, 4]
    said = "nothing that the model goes by was measured in row 2"
    for model, name in doors(labs, ill):
        if name in ("diagnose", "explain") or (name, type(model)) == ("predict", RCI):
            continue
        with pytest.warns(UserWarning, match=f"{said}: not scored .NaN."):
            found = np.asarray(getattr(model, name)(unmeasured))
        assert np.isnan(found[1]).all() and np.isfinite(found[others]).all()
    model = RCI().fit(labs, ill)
    with pytest.warns(UserWarning, match=said), pytest.raises(InputError, match=f"{said}: leave out"):
        model.predict(unmeasured)
    number = labs["glucose"] + 9 * ill
    asked: list[tuple[Any, tuple[Any, ...]]] = [
        (RCI().fit(labs, ill), (ill[:5],)),
        (RCISurvival().fit(labs, np.arange(1.0, 201.0), ill), (np.arange(1.0, 6.0), ill[:5])),
        (RCIRegressor().fit(labs[["bili", "albumin"]], number), (number.head(5),)),
    ]
    for model, known in asked:
        with pytest.warns(UserWarning, match=said), pytest.raises(InputError, match=f"{said}: leave out"):
            model.score(unmeasured, *known)


@NOTHING
def test_explanations_say_who_is_not_scored(labs: pd.DataFrame, ill: np.ndarray, unmeasured: Any) -> None:
    model = RCI(knowledge={"covariates": ["platelets"]}).fit(labs, ill).bootstrap(5)
    explained = model.explain(unmeasured)
    assert explained.scored.tolist() == [True, False, True, True, True]
    assert np.isnan(explained.values[1]).all() and np.isnan(explained.predicted[1])
    assert np.isnan(explained.predicted_interval[:, 1]).all() and np.isnan(
        explained.what_if("bili").predicted[1]
    )
    assert explained.root_causes(top=9, both_ways=True)[1] == []
    tidy = explained.to_frame()
    assert tidy[tidy["id"] == 1][["shapley", "lower", "covariates"]].isna().all(axis=None)
    assert not tidy[tidy["id"] == 1][["root_cause", "notable"]].any(axis=None)
    others = model.explain(unmeasured.drop(index=1))
    np.testing.assert_array_equal(explained.of_scored().values, others.values)
    np.testing.assert_array_equal(explained.of_scored().predicted_interval, others.predicted_interval)


@NOTHING
@pytest.mark.filterwarnings("ignore:no patient has")
def test_all_doors_agree_about_who_is_not_scored(
    labs: pd.DataFrame, ill: np.ndarray, unmeasured: pd.DataFrame, tmp_path: Path
) -> None:
    dask = pytest.importorskip("dask.dataframe")
    rng = np.random.default_rng(0)
    cohort = labs.assign(**{name: rng.laplace(size=200) for name in ("x", "y", "z")})
    cohort.loc[::7, "bili"] = np.nan
    model = RCI(alpha=0.1).fit(cohort, ill).bootstrap(8, random_state=0)
    # A resample goes by x, the model by bilirubin, albumin and glucose, of which platelets tell.
    assert set(model._needed_variables()) == {0, 1, 2, 3, 4} and set(model.causal_order_) == {0, 1, 3}
    some = cohort.iloc[1:6].copy()
    some.iloc[0] = np.nan
    some.iloc[1, :4] = np.nan
    some.iloc[2, [0, 1, 3, 4, 5, 6]] = np.nan
    nobody = np.array([True, True, False, False, False])
    explained = model.explain(some)
    answers = [model.predict_proba(some), model.decision_function(some), model.transform(some)]
    answers += [model.shapley_values(some), np.nan_to_num(model.scores(some), nan=np.nan, neginf=0)]
    answers += [explained.values, explained.predicted_interval.T, explained.frequency]
    answers += [explained.what_if("bili").predicted, explained.what_if("bili").predicted_interval.T]
    answers += [explained.to_frame()["shapley"].to_numpy().reshape(5, -1)]
    lazy = model.shapley_values(dask.from_pandas(some, npartitions=2))
    answers += [lazy.compute(scheduler="synchronous").to_numpy()]
    some.to_csv(tmp_path / "new.csv", index=False)
    model.save(tmp_path / "m.rci")
    ok("explain", tmp_path / "m.rci", tmp_path / "new.csv", "--out", tmp_path / "scores.csv")
    answers += [pd.read_csv(tmp_path / "scores.csv")[["risk", "bili", "x", "bili_lower"]].to_numpy()]
    for answer in answers:
        gone = np.isnan(np.reshape(answer, (5, -1)))
        assert (gone == nobody[:, None]).all()
    assert explained.scored.tolist() == (~nobody).tolist()
    model.report(some, tmp_path / "page.html", ids=list("abcde"))
    assert '"labels":["c","d","e"],"not_scored":["a","b"]' in (tmp_path / "page.html").read_text()


@pytest.mark.filterwarnings("ignore:no patient has", "ignore:the outcome depends on no variable")
def test_a_model_that_goes_by_nothing_scores_everybody(
    labs: pd.DataFrame, ill: np.ndarray, tmp_path: Path
) -> None:
    model = RCI(alpha=0.2).fit(labs[["platelets"]], ill).bootstrap(8, random_state=0)
    assert not model.causal_order_.size and model._needed_variables().size  # a resample goes by it
    some = labs[["platelets"]].head(3).assign(platelets=[np.nan, np.nan, 200.0])
    explained = model.explain(some)
    assert explained.scored.all() and not explained.values.any()
    for answer in (model.predict_proba(some)[:, 1], explained.predicted, explained.predicted_interval[1]):
        assert np.isfinite(answer).all()
    assert np.ptp(model.predict_proba(some)[:, 1]) == 0
    model.report(some, tmp_path / "page.html", ids=list("abc"))
    assert '"labels":["a","b","c"],"not_scored":[]' in (tmp_path / "page.html").read_text()


@NOTHING
def test_the_page_and_figures_leave_them_out(model: RCI, unmeasured: pd.DataFrame, tmp_path: Path) -> None:
    model.report(unmeasured, tmp_path / "page.html", [0, 0, 1, 1, 1], ids=list("abcde"))
    assert '"labels":["a","c","d","e"],"not_scored":["b"]' in (tmp_path / "page.html").read_text()
    with pytest.raises(InputError, match="was measured of any patient: there is nothing to show"):
        model.report(unmeasured.iloc[[1]], tmp_path / "none.html")
    plots = pytest.importorskip("rootcausal.plots")
    with pytest.raises(InputError, match="nothing that the model goes by was measured of patient 1"):
        plots.waterfall(model.explain(unmeasured), 1)
    plots.beeswarm(model.explain(unmeasured)).figure.clear()


def test_a_column_without_values_is_said_like_one_that_is_absent(model: RCI, labs: pd.DataFrame) -> None:
    for some in (labs.assign(bili=np.nan), labs.drop(columns="bili")):
        with pytest.warns(UserWarning, match="no patient has 'bili', which is needed: what is expected"):
            model.predict_proba(some)
    model.predict_proba(labs.head(1).assign(bili=np.nan))  # one patient was not measured


def test_the_command_line_says_who_is_not_scored(
    labs: pd.DataFrame, ill: np.ndarray, unmeasured: pd.DataFrame, tmp_path: Path
) -> None:
    model = RCI(log=["bili"], alpha=0.2).fit(labs, ill)  # which leaves platelets out
    model.save(tmp_path / "m.rci")
    for suffix in ("csv", "parquet"):
        file = tmp_path / f"new.{suffix}"
        if suffix == "csv":
            unmeasured.assign(pid=list("abcde")).to_csv(file, index=False)
        else:
            unmeasured.assign(pid=list("abcde")).to_parquet(file)
        said = run("explain", tmp_path / "m.rci", file, "--id", "pid")
        assert said.stderr == ""
        assert re.search(r"\n +b +not scored +nothing that the model goes by was measured", said.stdout)
        assert re.search(r"\n +d +\d+%.*\n? +.*not measured: glucose, bili", said.stdout)
        out = tmp_path / "scores.csv"
        said = run("explain", tmp_path / "m.rci", file, "--id", "pid", "--out", out)
        assert "1 patient is not scored, and without values: nothing that the model goes by" in said.stdout
        said = run("explain", tmp_path / "m.rci", file, "--id", "pid", "--what-if", "platelets=0")
        assert re.search(r"\n +b +not scored +not scored +nothing that the model", said.stdout)
        assert "platelets' is not among the causes that the model found: nothing changes" in said.stdout
        scores = pd.read_csv(out)
        assert scores["risk"].isna().tolist() == [False, True, False, False, False]
        assert out.read_text().splitlines()[2].startswith('"b",,,')
    unmeasured.assign(bili=np.nan).to_csv(tmp_path / "new.csv", index=False)
    for command in (
        ["explain", tmp_path / "m.rci", tmp_path / "new.csv"],
        ["report", tmp_path / "new.csv", "--model", tmp_path / "m.rci", "--out", tmp_path / "p.html"],
    ):
        said = run(*command)
        assert said.exit_code == 0 and said.stderr.count("no patient has 'bili'") == 1


def test_numbers_over_hundreds_of_powers_of_ten_have_no_far_end() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": 10.0 ** rng.permutation(np.linspace(-120, 120, 20)), "b": rng.normal(size=20)})
    y = (np.log10(X["a"]) + 40 * rng.logistic(size=20) > 0).astype(int)
    model = RCI(log=["a"], alpha=1.0).fit(X, y)
    assert np.isfinite(model.predict_proba(X.assign(a=1e125))).all()
