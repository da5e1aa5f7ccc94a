"""Times to an event and numbers on a cluster: models and errors are those of memory, however it is cut."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="Dask is not installed")

import dask.dataframe as dd
from graded_tables import graded, with_holes

from rootcausal import InputError, Knowledge, RCIRegressor, RCISurvival
from rootcausal.inputs import survival as survival_inputs
from rootcausal.inputs.continuous import Numbers
from rootcausal.method.model_parts import flattened
from rootcausal.outcomes.continuous import Continuous
from rootcausal.outcomes.follow_up import Clock
from rootcausal.outcomes.survival import Survival

pytestmark = pytest.mark.usefixtures("client_of_threads")

OUTCOMES = ["futime", "died", "egfr"]


@pytest.fixture(scope="module")
def cohort() -> pd.DataFrame:
    X, followed, _ = graded(Survival, 240, 5, 11)
    _, values, _ = graded(Continuous, 240, 5, 11)
    frame = pd.DataFrame(X, columns=[f"x{c}" for c in range(5)])
    return frame.assign(futime=followed[:, 0], died=followed[:, 1].astype(int), egfr=values)


def in_pieces(frame: pd.DataFrame, sizes: list[int]) -> Any:
    edges = np.cumsum([0, *sizes])
    assert edges[-1] == len(frame)
    pieces = [frame.iloc[a:b] for a, b in pairwise(edges)]
    return dd.from_map(lambda piece: piece, pieces, meta=frame.iloc[:0])


def survival_in_memory(frame: pd.DataFrame, **options: Any) -> RCISurvival:
    model = RCISurvival(**options)
    return model.fit(frame.drop(columns=OUTCOMES), frame["futime"], frame["died"])


def number_in_memory(frame: pd.DataFrame, **options: Any) -> RCIRegressor:
    return RCIRegressor(**options).fit(frame.drop(columns=OUTCOMES), frame["egfr"])


def check_same(model: Any, expected: Any, facts: tuple[str, ...]) -> None:
    assert model.causal_order_.tolist() == expected.causal_order_.tolist()
    assert model.causal_order_.size
    scale = max(1.0, float(np.abs(expected.coef_).max()))
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-9 * scale)
    for name, array in flattened([expected._model.attribution], all_of_it=True).items():
        found = flattened([model._model.attribution], all_of_it=True)[name]
        np.testing.assert_allclose(found, array, rtol=1e-9, atol=1e-9)
    assert model.provenance_["backend"] == "dask"
    for fact in facts:
        assert model.provenance_[fact] == pytest.approx(expected.provenance_[fact], rel=1e-12)


def check_survival(model: RCISurvival, expected: RCISurvival) -> None:
    check_same(model, expected, ("rows", "events", "horizon", "longest_follow_up"))
    assert model.classes_.tolist() == expected.classes_.tolist()
    assert model.horizon_ == expected.horizon_


def check_number(model: RCIRegressor, expected: RCIRegressor) -> None:
    check_same(model, expected, ("rows", "mean", "sd"))


@pytest.mark.parametrize("sizes", [[240], [0, 7, 113, 0, 120]], ids=["one", "uneven"])
def test_the_models_are_those_of_memory(cohort: pd.DataFrame, sizes: list[int]) -> None:
    ordered = cohort.sort_values(
        "futime", kind="stable", ignore_index=True
    )  # early times in early partitions
    followed, scored = ordered.drop(columns="egfr"), ordered.drop(columns=["futime", "died"])
    pieces = in_pieces(followed, sizes)
    check_survival(
        RCISurvival(backend="dask", mechanism="linear").fit(pieces, "futime", "died"),
        survival_in_memory(ordered),
    )
    check_number(
        RCIRegressor(backend="dask", mechanism="linear").fit(in_pieces(scored, sizes), "egfr"),
        number_in_memory(ordered),
    )


@pytest.mark.parametrize("options", [{"variant": "plus", "attribution": "paper"}, {"variant": "original"}])
def test_other_variants_and_the_attribution_of_the_paper(
    cohort: pd.DataFrame, options: dict[str, str]
) -> None:
    frame = dd.from_pandas(cohort, 2)
    X = frame.drop(columns=OUTCOMES)
    model = RCISurvival(horizon=20, **options).fit(X, frame["futime"], frame["died"])
    check_survival(model, survival_in_memory(cohort, horizon=20, **options))
    check_number(RCIRegressor(**options).fit(X, frame["egfr"]), number_in_memory(cohort, **options))


def test_parquet_missing_values_levels_and_knowledge(cohort: pd.DataFrame, tmp_path: Path) -> None:
    X = with_holes(cohort.drop(columns=OUTCOMES).to_numpy(), 0)
    arm = np.where(cohort["x1"] > 0.3, "c", np.where(cohort["x1"] > -0.5, "b", "a"))
    holed = pd.DataFrame(X, columns=[f"x{c}" for c in range(5)]).assign(arm=arm).join(cohort[OUTCOMES])
    holed.drop(columns="egfr").to_parquet(tmp_path / "followed.parquet", row_group_size=80)
    holed.drop(columns=["futime", "died"]).to_parquet(tmp_path / "scored.parquet", row_group_size=80)
    known = {"knowledge": Knowledge(first=["x0"]), "kinds": {"arm": "nominal"}, "mechanism": "linear"}
    model = RCISurvival(backend="dask", **known).fit(tmp_path / "followed.parquet", "futime", "died")
    check_survival(model, survival_in_memory(holed, **known))
    number = RCIRegressor(backend="dask", **known).fit(str(tmp_path / "scored.parquet"), "egfr")
    check_number(number, number_in_memory(holed, **known))
    assert model.provenance_["missing"]["rows"] == number.provenance_["missing"]["rows"] > 0


def test_events_may_have_any_labels(cohort: pd.DataFrame) -> None:
    expected = survival_in_memory(cohort)
    yes = cohort["died"] == 1
    for died, positive, classes in (
        (yes, None, [False, True]),
        (np.where(yes, "dead", "alive"), None, ["alive", "dead"]),
        (np.where(yes, 7, np.arange(240) % 30 + 10), 7, ["not 7", 7]),  # more labels than are kept
    ):
        frame = dd.from_pandas(cohort.drop(columns="egfr").assign(died=died), 2)
        model = RCISurvival(positive=positive, competing=[]).fit(frame, "futime", "died")
        np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-9)
        assert model.classes_.tolist() == classes


def test_an_event_by_the_name_of_who_is_well_is_asked_for(cohort: pd.DataFrame) -> None:
    frame = dd.from_pandas(cohort.drop(columns="egfr").rename(columns={"died": "alive"}), 2)
    X = frame.drop(columns=["futime", "alive"])
    for given in ((frame, "futime", "alive"), (X, frame["futime"], frame["alive"])):
        with pytest.raises(InputError, match="holds 0, 1, and by the name 'alive' it may say who is well"):
            RCISurvival().fit(*given)
    assert RCISurvival(positive=0).fit(frame, "futime", "alive").classes_.tolist() == [1, 0]


def test_patients_who_were_followed_for_no_time(cohort: pd.DataFrame) -> None:
    some = cohort.assign(futime=cohort["futime"].mask(cohort.index % 40 == 0, 0.0))
    words = "6 times of follow-up are zero"
    with pytest.warns(UserWarning, match=words):
        expected = survival_in_memory(some)
    with pytest.warns(UserWarning, match=words):
        model = RCISurvival().fit(dd.from_pandas(some.drop(columns="egfr"), 3), "futime", "died")
    check_survival(model, expected)


def test_more_times_than_travel_are_rounded_up(cohort: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """Coefficients hardly change; and they are those of the rounded times, to the last digits."""
    exact = cohort.assign(futime=cohort["futime"] + 0.001 * np.random.default_rng(0).random(240))
    exact.loc[3, "futime"] = 0.0
    frame = dd.from_pandas(exact.drop(columns="egfr"), 3)
    monkeypatch.setattr(survival_inputs, "MOST_TIMES", 50)
    with pytest.warns(UserWarning, match="1 time of follow-up is zero"):
        model = RCISurvival().fit(frame, "futime", "died")
    with pytest.warns(UserWarning, match="1 time of follow-up is zero"):
        expected = survival_in_memory(exact)
    assert model.causal_order_.tolist() == expected.causal_order_.tolist()
    assert 0.0 < np.abs(model.coef_ - expected.coef_).max() < 0.02
    assert model.provenance_["longest_follow_up"] == expected.provenance_["longest_follow_up"]
    assert model.provenance_["events"] == expected.provenance_["events"]


@pytest.mark.filterwarnings("ignore:the outcome depends on no variable:UserWarning")
def test_no_variable_that_matters(cohort: pd.DataFrame) -> None:
    frame = dd.from_pandas(cohort.drop(columns="egfr"), 2)
    model = RCISurvival(alpha=1e-300).fit(frame, "futime", "died")
    expected = survival_in_memory(cohort, alpha=1e-300)
    assert model.causal_order_.size == 0
    np.testing.assert_allclose(model._hazard.cumulative, expected._hazard.cumulative, rtol=1e-9)
    number = RCIRegressor(alpha=1e-300).fit(dd.from_pandas(cohort, 2).drop(columns=OUTCOMES[:2]), "egfr")
    assert number.intercept_ == pytest.approx(cohort["egfr"].mean(), rel=1e-12)


def test_a_thinned_clock_counts_everybody_once() -> None:
    rng = np.random.default_rng(1)
    time, event = rng.exponential(size=1000), rng.integers(0, 2, 1000).astype(float)
    clock = Clock.of(time, event)
    assert clock.thinned(1000) is clock
    few = clock.thinned(20)
    assert few.times.size == 20
    assert few.longest == clock.longest
    np.testing.assert_allclose(few.leaving, 50.0)
    again = Clock.of(few.rounded_up(time), event)
    for name in ("times", "events", "leaving"):
        np.testing.assert_array_equal(getattr(again, name), getattr(few, name))


def test_numbers_far_from_zero_keep_their_spread() -> None:
    rng = np.random.default_rng(2)
    values = 1.7e9 + rng.standard_normal(500)
    parts = [Numbers.of(part, 0) for part in np.split(values, [0, 3, 200])]
    total = parts[0] + parts[1] + parts[2] + parts[3]
    expected = Continuous.of(values)
    assert total.mean == pytest.approx(expected.mean, rel=1e-15)
    assert np.sqrt(total.squares / 499) == pytest.approx(expected.sd, rel=1e-8)


Spoil = Callable[[pd.DataFrame], pd.DataFrame]
BAD: dict[str, tuple[Spoil, dict[str, Any], str]] = {
    "no time": (
        lambda f: f.assign(futime=f["futime"].mask(f.index < 3)),
        {},
        "3 row(s) have no time or event",
    ),
    "no event": (lambda f: f.assign(died=f["died"].mask(f.index == 9)), {}, "1 row(s) have no time or event"),
    "neither": (lambda f: f.assign(died=np.nan, futime=np.nan), {}, "240 row(s) have no time or event"),
    "text": (lambda f: f.assign(futime="long"), {}, "time must be numbers"),
    "infinite": (
        lambda f: f.assign(futime=f["futime"].mask(f.index == 200, np.inf)),
        {},
        "time holds infinite values (inf), or values too large",
    ),
    "all zero": (lambda f: f.assign(futime=0.0), {}, "all times of follow-up are zero"),
    "three labels": (
        lambda f: f.assign(died=f.index % 3),
        {},
        "event holds 0, 1, 2: say which is the event by positive=2; all others count as the end",
    ),
    "no such label": (lambda f: f, {"positive": 5}, "positive=5 is not a label of event, which holds 0, 1"),
    "all censored": (lambda f: f.assign(died=0), {}, "0 events in 240 rows: at least 2 are needed"),
    "too late": (lambda f: f, {"horizon": 1e9}, "horizon=1000000000.0 is beyond the longest follow-up"),
    "much at once": (
        lambda f: f.assign(died=f["died"].mask(f.index < 2), x1=4.0, x2=f["x2"].mask(f.index < 5, np.inf)),
        {},
        "things are wrong",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_follow_up_is_refused_in_the_words_of_memory(cohort: pd.DataFrame, case: str) -> None:
    spoil, options, words = BAD[case]
    bad = spoil(cohort)
    with pytest.raises(InputError) as in_memory:
        survival_in_memory(bad, **options)
    pieces = dd.from_pandas(bad, 3)
    with pytest.raises(InputError) as on_cluster:
        RCISurvival(**options).fit(pieces.drop(columns=OUTCOMES), pieces["futime"], pieces["died"])
    assert words in str(on_cluster.value)
    if case not in ("text", "much at once"):  # one example each may be another, and constants come later
        assert str(on_cluster.value) == str(in_memory.value)


def test_errors_name_the_columns(cohort: pd.DataFrame) -> None:
    negative = cohort.assign(futime=cohort["futime"].mask(cohort.index % 100 == 3, -1.0))
    with pytest.raises(InputError, match=r"3 times of follow-up are negative \(in 'futime'\): a time counts"):
        RCISurvival().fit(dd.from_pandas(negative, 3), "futime", "died")
    lacking = cohort.assign(died=cohort["died"].mask(cohort.index < 4))
    with pytest.raises(InputError, match=r"4 row\(s\) have no 'futime' or 'died' \(NaN\): drop these rows"):
        RCISurvival().fit(dd.from_pandas(lacking, 3), "futime", "died")
    with pytest.raises(InputError, match="'x0' holds 20 different labels or more: it must say of each"):
        RCISurvival().fit(dd.from_pandas(cohort, 3), "futime", "x0")
    with pytest.raises(InputError, match=r"2 row\(s\) have no 'egfr' \(NaN\): drop these rows"):
        gone = cohort["egfr"].mask(cohort.index > 237)
        RCIRegressor().fit(dd.from_pandas(cohort.assign(egfr=gone), 3), "egfr")
    with pytest.warns(UserWarning, match="'died' holds 0 and 1 only, and is taken for a number"):
        RCIRegressor().fit(dd.from_pandas(cohort, 3), "died")


def test_arguments_that_do_not_fit_together(cohort: pd.DataFrame) -> None:
    frame = dd.from_pandas(cohort, 2)
    both = np.array(list(zip(cohort["died"] == 1, cohort["futime"], strict=True)), dtype="?,f8")
    for words, time, event in (
        ("a structured array of times and events is for rows in memory", both, None),
        ("the time of follow-up and the event come together", "futime", None),
        ("requires time to be passed", None, "died"),
        ("there is no column 'days' to be the time", "days", "died"),
        ("there is no column 'dead' to be the event", "futime", "dead"),
        ("with rows on a cluster, time is the name of a column, or a dask Series", cohort["futime"], "died"),
    ):
        with pytest.raises(InputError, match=words):
            RCISurvival(backend="dask", mechanism="linear").fit(frame, time, event)
    with pytest.raises(InputError, match="with rows on a cluster, y is the name of a column"):
        RCIRegressor(backend="dask", mechanism="linear").fit(frame, cohort["egfr"])
    with pytest.raises(InputError, match=r"'futime' \(it is the time\)"):
        RCISurvival(knowledge={"first": ["futime"]}).fit(frame, "futime", "died")


def test_the_outcome_is_no_variable(cohort: pd.DataFrame) -> None:
    frame = dd.from_pandas(cohort, 2)
    for words, fit in (
        ("column 'futime' is the time itself", lambda: RCISurvival().fit(frame, frame["futime"], "died")),
        ("column 'died' is the event itself", lambda: RCISurvival().fit(frame, "futime", frame["died"])),
        ("column 'egfr' is y itself", lambda: RCIRegressor().fit(frame, frame["egfr"])),
    ):
        with pytest.raises(InputError, match=f"{words}: leave it out of X"):
            fit()
    again = cohort.drop(columns=["futime", "died"]).assign(unit=3.0 - 0.01 * cohort["egfr"])
    again.loc[5, "unit"] = np.nan
    with pytest.raises(InputError, match="column 'unit' is the outcome itself: leave it out of X"):
        RCIRegressor().fit(dd.from_pandas(again, 2), "egfr")


def test_resamples_and_checks_need_rows_in_memory(cohort: pd.DataFrame) -> None:
    frame = dd.from_pandas(cohort.drop(columns="egfr"), 2)
    model = RCISurvival(backend="dask", mechanism="linear").fit(frame, "futime", "died")
    with pytest.raises(InputError):
        model.bootstrap(2)
    shapley = model.shapley_values(frame).compute().to_numpy()
    expected = model.shapley_values(cohort.drop(columns=OUTCOMES))
    np.testing.assert_allclose(shapley, expected, atol=1e-12)
