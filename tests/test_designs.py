"""The designs that cohorts come in: unshrunk effects are those of R, and what each design promises holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from page_facts import facts_of

from rootcausal import RCI, InputError, RCIRegressor, RCISurvival

DATA = Path(__file__).parent / "data"
#: How they were made is in data/designs.R.
OF_R: dict[str, dict[str, float]] = json.loads((DATA / "designs.json").read_text())


def table(name: str, **kwargs: Any) -> pd.DataFrame:
    return pd.read_csv(DATA / f"{name}.csv", **kwargs)


def assert_same(model: Any, reference: str, more_errors: float = 1.0, rel: float = 1e-6) -> None:
    """Effects, and their standard errors where R's are kept, in the order of the columns."""
    frame = model.summary(penalized=False).frame
    named = {name: value for name, value in OF_R[reference].items() if "|" not in name and name[0] != "("}
    named.pop("theta", None)
    assert frame.effect.to_list() == pytest.approx(list(named.values()), rel=rel, abs=1e-6)
    if f"{reference}, errors" in OF_R:
        kept = [OF_R[f"{reference}, errors"][name] * more_errors for name in named]
        assert frame.std_err.to_list() == pytest.approx(kept, rel=1e-5)


# --- the numbers of R -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sets", "reference"),
    [
        ("stratum", "infert one case a set"),
        ("pooled.stratum", "infert several cases a set"),
        ("education", "infert large sets, Efron"),
    ],
)
def test_effects_within_matched_sets_are_those_of_clogit(sets: str, reference: str) -> None:
    infert = table("infert")
    if sets == "education":  # that of few rows would be told exactly
        infert = infert[infert.education != "0-5yrs"].reset_index(drop=True)
    X = infert[["spontaneous", "induced"]]
    kinds = dict.fromkeys(X, "number")
    model = RCI(kinds=kinds).fit(X, infert.case, strata=infert[sets])
    assert_same(model, reference)


def test_proportional_odds_are_those_of_polr() -> None:
    housing = table("housing")
    housing = housing.loc[housing.index.repeat(housing.Freq)].reset_index(drop=True)
    housing["Infl"] = housing.Infl.map({"Low": 1, "Medium": 2, "High": 3})
    housing["Cont"] = housing.Cont.map({"Low": 1, "High": 2})
    # The commonest level of a nominal variable is its reference here, and R's the first.
    for level in ("Apartment", "Atrium", "Terrace"):
        housing[f"Type{level}"] = (housing.Type == level).astype(int)
    columns = ["Infl", "TypeApartment", "TypeAtrium", "TypeTerrace", "Cont"]
    model = RCI(outcome="ordinal", levels=["Low", "Medium", "High"], kinds=dict.fromkeys(columns, "number"))
    model.fit(housing[columns], housing.Sat)
    frame = model.summary(penalized=False).frame
    reference = OF_R["housing proportional odds"]
    kept = [reference[name] for name in reference if "|" not in name]
    # polr stops where its search does: its digits end at about the sixth.
    assert frame.effect.to_list() == pytest.approx(kept, abs=2e-6)
    errors = [OF_R["housing proportional odds, errors"][name] for name in reference if "|" not in name]
    assert frame.std_err.to_list() == pytest.approx(errors, rel=1e-3)


@pytest.mark.parametrize(
    ("dispersion", "reference"),
    [
        (0.0, "quine Poisson"),
        (0.5, "quine negative binomial, dispersion 0.5"),
        (None, "quine negative binomial"),
    ],
)
def test_rates_are_those_of_glm(dispersion: float | None, reference: str) -> None:
    quine = table("quine")
    X = pd.DataFrame(
        {
            "EthN": quine.Eth == "N",
            "SexM": quine.Sex == "M",
            **{level: quine.Age == level for level in ("F1", "F2", "F3")},
            "LrnSL": quine.Lrn == "SL",
        }
    )
    model = RCIRegressor(outcome="count", dispersion=dispersion).fit(X, quine.Days, exposure=quine.Weeks)
    # R's dispersion is that of maximum likelihood, which the adjusted profile likelihood corrects.
    assert_same(model, reference, rel=1e-6 if dispersion is not None else 0.01)


CGD = ["treat", "sex", "age", "inherit", "steroids"]


def cgd_model(**kwargs: Any) -> tuple[pd.DataFrame, RCISurvival]:
    cgd = table("cgd")
    kinds = {"treat": ["placebo", "rIFN-g"], "sex": ["male", "female"], "inherit": ["X-linked", "autosomal"]}
    model = RCISurvival(kinds=kinds, **kwargs)
    return cgd, model.fit(cgd[CGD], cgd.tstop, cgd.status, start=cgd.tstart, groups=cgd.id)


def test_rows_from_start_to_stop_are_those_of_coxph() -> None:
    cgd, model = cgd_model()
    assert_same(model, "cgd start and stop")
    frame = model.summary(penalized=False).frame
    n = cgd.id.nunique()
    robust = list(OF_R["cgd start and stop, robust errors"].values())
    # R leaves out the correction for the number of patients.
    assert (frame.std_err * np.sqrt((n - 1) / n)).to_list() == pytest.approx(robust, rel=1e-4)


def test_values_that_change_with_time_are_those_of_the_row() -> None:
    heart = table("heart")
    X = heart[["age", "year", "surgery", "transplant"]]
    model = RCISurvival().fit(X, heart.stop, heart.event, start=heart.start, groups=heart.id)
    assert_same(model, "heart start and stop")


def test_strata_have_baselines_of_their_own() -> None:
    eyes = table("retinopathy")
    X = eyes[["age", "trt", "risk", "type"]].astype({"risk": float})
    model = RCISurvival(kinds={"risk": "number"}).fit(X, eyes.futime, eyes.status, strata="type")
    assert list(model.feature_names_in_) == ["age", "trt", "risk"]
    assert_same(model, "retinopathy strata")


def test_many_ties_are_efrons() -> None:
    tumour = table("nwtco")
    X = tumour[["histol", "stage", "age"]]
    model = RCISurvival(kinds=dict.fromkeys(X, "number")).fit(X, tumour.edrel, tumour.rel)
    assert_same(model, "nwtco ties")


# --- competing events -------------------------------------------------------------------------------------

MGUS = ["age", "sex", "hgb", "creat", "mspike"]


@pytest.fixture(scope="module")
def mgus() -> pd.DataFrame:
    return table("mgus2")


@pytest.fixture(scope="module")
def myeloma(mgus: pd.DataFrame) -> RCISurvival:
    model = RCISurvival(positive="myeloma", competing="death", horizon=120, kinds={"sex": ["F", "M"]})
    return model.fit(mgus[MGUS], mgus.months, mgus.end)


def test_hazards_of_the_event_are_those_of_coxph_with_deaths_censored(myeloma: RCISurvival) -> None:
    assert_same(myeloma, "mgus2 cause-specific")


def test_the_risk_of_the_average_is_near_aalen_and_johansens(myeloma: RCISurvival, mgus: Any) -> None:
    for time, reached in OF_R["mgus2 Aalen-Johansen"].items():
        told = myeloma.predict_risk(mgus[MGUS], horizon=float(time)).mean()
        assert told == pytest.approx(reached, abs=2.0 * OF_R["mgus2 Aalen-Johansen, errors"][time])


def test_incidence_is_aalen_and_johansens(mgus: pd.DataFrame) -> None:
    from rootcausal.outcomes.follow_up import Spans
    from rootcausal.outcomes.survival import incidence

    event, death = ((mgus.end == end).to_numpy(dtype=float) for end in ("myeloma", "death"))
    known = Spans(mgus.months.to_numpy(dtype=float), event, competing=death).known
    for time, reached in OF_R["mgus2 Aalen-Johansen"].items():
        found, variance, _ = incidence(known, float(time))
        assert found == pytest.approx(reached, rel=1e-9)
        assert np.sqrt(variance) == pytest.approx(OF_R["mgus2 Aalen-Johansen, errors"][time], rel=0.01)


def test_risks_are_below_those_where_nobody_dies(myeloma: RCISurvival, mgus: pd.DataFrame) -> None:
    silent = RCISurvival(positive="myeloma", competing=[], horizon=120, kinds={"sex": ["F", "M"]})
    silent.fit(mgus[MGUS], mgus.months, mgus.end)
    assert silent.coef_ == pytest.approx(myeloma.coef_)  # cause-specific hazards are the same
    told, wrong = (model.predict_risk(mgus[MGUS]) for model in (myeloma, silent))
    assert (told < wrong).all() and wrong.mean() > 1.4 * told.mean()


def test_what_competes_is_never_censored_in_silence(mgus: pd.DataFrame) -> None:
    with pytest.warns(UserWarning, match=r"'death' \(.* rows\) of event counts .* competing=\[...\]"):
        RCISurvival(positive="myeloma").fit(mgus[MGUS], mgus.months, mgus.end)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"competing": "stroke"}, "'stroke' is not a label of event"),
        ({"competing": ["myeloma"]}, "'myeloma' is the event by positive, and a competing one"),
    ],
)
def test_labels_that_cannot_compete_are_refused(mgus: pd.DataFrame, asked: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        RCISurvival(positive="myeloma", **asked).fit(mgus[MGUS], mgus.months, mgus.end)


# --- effects on the cumulative incidence ------------------------------------------------------------------


def fine_gray(X: Any, time: Any, event: Any, other: Any) -> Any:
    """Fine and Gray's coefficients, with their weights, Efron's ties and Newton's steps."""
    X, ended = X - X.mean(axis=0), event | other
    times, followed = np.unique(time), [1.0]
    for one in times:
        ends = ((time == one) & ~ended).sum()
        followed.append(followed[-1] * (1.0 - ends / max((time > one).sum() + ends, 1)))

    def before(when: Any) -> Any:
        return np.array(followed)[np.searchsorted(times, when)]

    coef = np.zeros(X.shape[1])
    for _ in range(10):
        ratio, gradient, information = np.exp(X @ coef), 0.0, 0.0
        for one in np.unique(time[event]):
            own = event & (time == one)
            stays = np.where(other & (time < one), before(one) / before(np.minimum(time, one)), 0.0)
            for gone in range(own.sum()):
                at_risk = ratio * (np.where(time >= one, 1.0, stays) - own * gone / own.sum())
                mean = at_risk @ X / at_risk.sum()
                gradient += X[own].mean(axis=0) - mean
                information += (X.T * at_risk) @ X / at_risk.sum() - np.outer(mean, mean)
        coef += np.linalg.solve(information, gradient)
    return coef


@pytest.mark.parametrize("all_followed", [True, False])
def test_effects_on_incidence_are_fine_and_grays(mgus: pd.DataFrame, all_followed: bool) -> None:
    """To the digit where all have either event; else near, since ends of follow-up stand for weights."""
    rows = mgus[mgus[["age", "hgb", "creat"]].notna().all(axis=1)]
    X, end = rows[["age", "hgb", "creat"]].astype(float), rows.end.to_numpy(dtype=object)
    if all_followed:
        end = np.where(end == "myeloma", end, "death")
    model = RCISurvival(positive="myeloma", competing="death", incidence=True, mechanism="linear")
    model.fit(X, rows.months, end)
    told = model.summary(penalized=False).frame
    by_weights = fine_gray(X.to_numpy(), rows.months.to_numpy(), end == "myeloma", end == "death")
    off = np.abs(told.effect.to_numpy() - by_weights)
    assert (off < (1e-6 if all_followed else 0.3 * told.std_err.to_numpy())).all()


def test_what_brings_the_other_event_is_told_of_the_incidence(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    X = rng.laplace(size=(600, 3))
    relapse, death = rng.exponential(np.exp(-X[:, 0])), rng.exponential(np.exp(-X[:, 1]))
    left = rng.uniform(0.5, 3.0, size=600)
    time = np.minimum(np.minimum(relapse, death), left)
    label = np.where(time == relapse, "relapse", np.where(time == death, "death", "lost"))
    asked = {"positive": "relapse", "competing": "death", "horizon": 1.0, "mechanism": "linear"}
    hazard, incidence = (RCISurvival(**asked, incidence=which).fit(X, time, label) for which in (False, True))
    assert np.abs(hazard.coef_[1:]).max() < 0.1
    assert incidence.coef_[0] > 0.3 and incidence.coef_[1] < -0.2 and abs(incidence.coef_[2]) < 0.1
    truth = incidence_of_constant(np.exp(X[:, 0]), np.exp(X[:, 1]), 1.0)
    off, before = (np.abs(model.predict_risk(X) - truth).mean() for model in (incidence, hazard))
    assert off < 0.6 * before
    incidence.report(X, tmp_path / "page.html", time, label)
    facts = facts_of(tmp_path / "page.html")["outcome"]
    assert facts["competing_labels"] == ["death"] and "competing" not in facts
    incidence.save(tmp_path / "model.rci")
    again = RCISurvival.load(tmp_path / "model.rci")
    assert again.incidence and np.array_equal(again.predict_risk(X), incidence.predict_risk(X))


def incidence_of_constant(own: Any, other: Any, until: float) -> Any:
    return own / (own + other) * -np.expm1(-(own + other) * until)


def test_incidence_needs_competing_events_and_no_start(mgus: pd.DataFrame) -> None:
    X, of = mgus[["age"]], (mgus.months, mgus.end)
    with pytest.raises(InputError, match=r"incidence=True .* name these by competing=\[...\]"):
        RCISurvival(positive="myeloma", competing=[], incidence=True).fit(X, *of)
    with pytest.raises(InputError, match="incidence=True is for rows at risk from the beginning"):
        asked = RCISurvival(positive="myeloma", competing="death", incidence=True)
        asked.fit(X, *of, start=np.zeros(len(X)))


# --- labels that mean the same ----------------------------------------------------------------------------


def graded(n: int = 240) -> tuple[pd.DataFrame, np.ndarray]:
    """Two numbers, and 0 to 4 as heart disease is graded."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.laplace(size=(n, 2)), columns=["a", "b"])
    return X, np.digitize(X.a + 0.5 * rng.laplace(size=n), [0.0, 0.8, 1.6, 2.4])


@pytest.mark.parametrize("positive", [[1, 2, 3, 4], ">=1", "> 0", (4, 3, 2, 1)])
def test_several_labels_are_the_disease(positive: Any) -> None:
    X, stage = graded()
    plain = RCI().fit(X, (stage >= 1).astype(int))
    model = RCI(positive=positive).fit(X, stage)
    assert model.coef_.tolist() == plain.coef_.tolist()
    assert str(model.classes_[1]) in ("1 or 2 or 3 or 4", ">=1", ">0", "4 or 3 or 2 or 1")
    again = np.where(model.predict(X) == model.classes_[1], 1, 0)
    assert again.tolist() == plain.predict(X).tolist()
    found, expected = model.diagnose(X, stage), plain.diagnose(X, (stage >= 1).astype(int))
    assert [one.number for one in found.checks] == [one.number for one in expected.checks]


def test_one_other_label_stays_itself_and_several_are_the_rest() -> None:
    X, stage = graded()
    text = np.array(["donor", "hepatitis", "fibrosis", "cirrhosis", "cirrhosis"])[stage]
    ill = ["hepatitis", "fibrosis", "cirrhosis"]
    model = RCI(positive=ill).fit(X, text)
    assert model.classes_.tolist() == ["donor", "hepatitis or fibrosis or cirrhosis"]
    with pytest.raises(InputError, match="y holds 'suspect': the model knows"):
        model.diagnose(X, np.where(text == "donor", "suspect", text))
    some = RCI(positive=ill[1:]).fit(X, text)
    assert some.classes_.tolist() == ["not fibrosis or cirrhosis", "fibrosis or cirrhosis"]


@pytest.mark.parametrize(
    ("positive", "said"),
    [
        (["a"], r"positive=\['a'\]: 'a' is not a label of the target, which has 0, 1, 2, 3, 4"),
        ([], "names no label"),
        (">=0", "takes all labels of the target"),
        ("<0", "takes no label of the target"),
    ],
)
def test_labels_that_are_no_group_are_refused(positive: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        RCI(positive=positive).fit(*graded())


def test_grouped_models_come_back(tmp_path: Path) -> None:
    X, stage = graded()
    model = RCI(positive=[1, 2, 3, 4]).fit(X, stage)
    model.save(tmp_path / "m.rci")
    again = RCI.load(tmp_path / "m.rci")
    assert again.positive == [1, 2, 3, 4] and again.classes_.tolist() == model.classes_.tolist()
    assert again.diagnose(X, stage).verdict == model.diagnose(X, stage).verdict


# --- every door of a design -------------------------------------------------------------------------------


def test_designs_of_follow_up_come_back_from_a_file(tmp_path: Path, mgus: Any, myeloma: Any) -> None:
    myeloma.save(tmp_path / "m.rci")
    again = RCISurvival.load(tmp_path / "m.rci")
    assert again.competing == "death"
    assert again.predict_risk(mgus[MGUS]).tolist() == myeloma.predict_risk(mgus[MGUS]).tolist()
    assert again.score(mgus[MGUS], mgus.months, mgus.end) > 0.6
    cgd, late = cgd_model()
    late.save(tmp_path / "late.rci")
    told = RCISurvival.load(tmp_path / "late.rci").predict_risk(cgd[CGD])
    assert told.tolist() == late.predict_risk(cgd[CGD]).tolist()
    assert late.provenance_["late"] == 75


def test_late_rows_are_resampled_and_folded_by_patient() -> None:
    cgd, model = cgd_model(backend="numpy")
    model.bootstrap(4)
    assert model.provenance_["patients"] == cgd.id.nunique()
    explained = model.explain(cgd[CGD])
    assert (explained.lower <= explained.upper).all() and np.ptp(explained.upper - explained.lower) > 0
    assert model.cross_validate(3)["concordance"] > 0.5
    other = RCISurvival(kinds=model.kinds, backend="numba").fit(
        cgd[CGD], cgd.tstop, cgd.status, start=cgd.tstart, groups=cgd.id
    )
    assert other.coef_ == pytest.approx(model.coef_, rel=1e-9)


def test_values_may_be_missing_in_every_design_of_follow_up(mgus: pd.DataFrame) -> None:
    some = mgus.iloc[:400].reset_index(drop=True)
    some.loc[::9, "hgb"] = np.nan
    start = np.where(np.arange(400) % 4 == 0, 0.5 * some.months, 0.0)
    X = some[["age", "hgb", "creat", "mspike"]]
    happened = (some.months, some.end)
    design = {"start": start, "strata": some.sex}
    model = RCISurvival(positive="myeloma", competing=["death"]).fit(X, *happened, **design)
    assert model.explain(X).imputed.any()
    diagnosis = model.diagnose(X, *happened, **design)
    assert {one.name: one.verdict for one in diagnosis.checks}["few_events"] != "not checked"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"start": [5.0, 0.0, 9.0, 1.0]}, "start is not before the time in rows 1, 3, never at risk"),
        ({"start": [-1.0, 0.0, 0.0, 0.0]}, "start is below 0 in row 1"),
        ({"start": [0.0, np.nan, 0.0, 0.0]}, "1 row.s. have no start"),
        ({"start": [0.0]}, "X has 4 rows but start has 1"),
        ({"strata": ["a", None, "b", "b"]}, "strata has no stratum for 1 row .2."),
    ],
)
def test_starts_and_strata_that_cannot_be_are_refused(asked: Any, said: str) -> None:
    X = pd.DataFrame({"a": [1.0, 2.0, 0.5, 3.0]})
    with pytest.raises(InputError, match=said):
        RCISurvival().fit(X, [2.0, 3.0, 4.0, 5.0], [1, 0, 1, 1], **asked)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("competing",), -1),
        (("late",), 10_000_000),
        (("strata",), 2.5),
        (("reading", "groups"), {"positive": ["A"], "negative": [3]}),
        (("reading", "groups"), ["A"]),
        (("parameters", "positive"), ["A", "B"]),
    ],
)
def test_a_file_whose_design_cannot_be_is_refused(
    tmp_path: Path, myeloma: Any, where: Any, value: Any
) -> None:
    from rootcausal.files.array_archive import read_archive, write_archive
    from rootcausal.files.model_file import MODEL

    myeloma.save(tmp_path / "m.rci")
    header, arrays = read_archive(tmp_path / "m.rci", MODEL, lambda header, arrays: (header, arrays))
    *rooms, last = where
    place = header["provenance"]
    for room in rooms:
        place = place.setdefault(room, {})
    place[last] = value
    write_archive(tmp_path / "bad.rci", MODEL, header, arrays)
    with pytest.raises(InputError, match="is not a rootcausal model, or it is damaged"):
        RCISurvival.load(tmp_path / "bad.rci")


def test_each_stratum_has_a_follow_up_of_its_own() -> None:
    rng = np.random.default_rng(5)
    X, stratum = rng.exponential(size=(300, 2)), np.repeat([0, 1], 150)
    until = rng.exponential(np.exp([0.0, 0.5, 0.5]), (300, 3)) / np.column_stack([X, np.ones(300)])
    time, label = until.min(axis=1), until.argmin(axis=1)
    asked = {"positive": 0, "competing": 1, "incidence": True, "mechanism": "linear"}
    one, other = (
        RCISurvival(**asked).fit(X, of, label, strata=stratum).coef_
        for of in (time, np.where(stratum == 1, 10.0, 1.0) * time)
    )
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)
