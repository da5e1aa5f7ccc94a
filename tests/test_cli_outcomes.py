"""The command line on times to an event and on numbers: what it takes, says, writes and refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from command_line import error, ok, run
from page_facts import facts_of

import rootcausal
from rootcausal import RCI, RCIRegressor, RCISurvival

N = 150
RNG = np.random.default_rng(5)
SHOCKS = RNG.exponential(size=(N, 3))
HAZARD = 0.8 * SHOCKS[:, 0] - 0.5 * SHOCKS[:, 1]
WAIT = RNG.exponential(np.exp(-HAZARD)) * 1000 + 1
LOST = RNG.exponential(3000, N) + 1
EGFR = 60 - 9 * SHOCKS[:, 0] + 4 * SHOCKS[:, 1] + RNG.standard_normal(N)
TIMES = ["--time", "futime", "--event", "died"]
NUMBER = ["--target", "egfr", "--outcome", "continuous"]
# What nobody is to read where there is neither a diagnosis nor log-odds.
FOREIGN = re.compile(r"log-odds|disease|diagnos|\bcases?\b|\bcontrols?\b", re.IGNORECASE)


def cohort(**columns: Any) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "patient": [f"p{k}" for k in range(N)],
            "crea": SHOCKS[:, 0],
            "age": 0.5 * SHOCKS[:, 0] + SHOCKS[:, 1],
            "bmi": SHOCKS[:, 2],
            "futime": np.round(np.minimum(WAIT, LOST)),
            "died": (WAIT <= LOST).astype(int),
        }
    )
    return table.assign(**columns)


def graded(**columns: Any) -> pd.DataFrame:
    return cohort(**{"egfr": EGFR, **columns}).drop(columns=["futime", "died"])


def written(folder: Path, table: pd.DataFrame) -> Path:
    table.to_csv(folder / "c.csv", index=False)
    return folder / "c.csv"


def fit(folder: Path, table: pd.DataFrame, *options: object) -> str:
    return ok("fit", written(folder, table), *options, "--id", "patient", "--out", folder / "m.rci")


def refused(folder: Path, table: pd.DataFrame, *options: object) -> str:
    """What the one error says; doubts come before it."""
    result = run("fit", written(folder, table), *options, "--id", "patient", "--out", folder / "m.rci")
    assert result.exit_code == 3, result.output
    assert not (folder / "m.rci").exists()
    (said,) = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
    return said


# --- from a file to the page ------------------------------------------------------------------------------


def test_follow_up_from_a_file_to_the_page(tmp_path: Path) -> None:
    said = fit(tmp_path, cohort(), *TIMES, "--time-unit", "days", "--bootstrap", "5")
    events = int(cohort()["died"].sum())
    assert f"event: died = 1 ({events} events in 150 patients)" in said
    assert re.search(r"time: futime; patients were followed for up to [\d,]+ days, median [\d,.]+ days", said)
    assert "and the hazard ratio of a shock of one standard deviation; in brackets: 95% interval" in said
    model = RCISurvival.load(tmp_path / "m.rci")
    crea = np.exp(model.coef_[0])
    assert re.search(rf"1?\d\. crea +{crea:.2f} \(\d\.\d\d to \d\.\d\d\)", said)
    assert re.search(r"crea -> event +×\d\.\d\d", said)
    assert f"Risks are told by {model.horizon_:,g} days, the median time of the events; --horizon" in said
    table = tmp_path / "c.csv"
    shown = ok("explain", tmp_path / "m.rci", table, "--id", "patient")
    assert f"risk by {model.horizon_:,g} days" in " ".join(shown.split())
    assert re.search(r"p\d +\d+% .*×\d.*crea ×\d\.\d\d \(\d\.\d\d to \d\.\d\d, (over )?\d+%\)", shown)
    later = ok("explain", tmp_path / "m.rci", table, "--id", "patient", "--horizon", "2000")
    assert "risk by 2,000 days" in " ".join(later.split())
    assert "Risks are told by 2,000 days; --horizon chooses another time." in later
    page = ok("report", table, "--model", tmp_path / "m.rci", "--id", "patient", "--out", tmp_path / "p.html")
    assert "page about 150 patients" in page
    assert "days" in (tmp_path / "p.html").read_text(encoding="utf-8")
    whole = ok("report", table, *TIMES, "--horizon", "1500", "--id", "patient", "--out", tmp_path / "q.html")
    assert "Risks are told by time 1,500; --horizon chooses another time." in whole
    checked = ok("check", table, *TIMES, "--id", "patient")
    assert "event: died = 1" in checked
    for text in (said, shown, later, page, whole):
        assert not FOREIGN.search(text)


def test_a_number_from_a_file_to_the_page(tmp_path: Path) -> None:
    said = fit(tmp_path, graded(), *NUMBER, "--unit", "ml/min", "--first", "age")
    assert re.search(r"number: egfr of 150 patients: from [\d.-]+ to [\d.]+ ml/min, mean \d+", said)
    assert "what a shock of one standard deviation adds to egfr, in ml/min:" in said
    assert re.search(r"\d\. crea +-\d+\.\d", said)
    assert re.search(r"crea -> egfr +-\d+\.\d+ ml/min", said)
    assert "Risks" not in said
    table = tmp_path / "c.csv"
    shown = ok("explain", tmp_path / "m.rci", table, "--id", "patient")
    assert "expected egfr" in shown and "what moved it most, in ml/min" in shown
    assert re.search(r"p\d +\d+\.\d+ ml/min +crea [+-]\d+\.\d", shown)
    # Down counts as well as up: a low value may be what brings a patient here.
    assert re.search(r"crea -\d+\.\d", shown) and re.search(r"crea \+\d+\.\d", shown)
    model = RCIRegressor.load(tmp_path / "m.rci")
    average = f"{model.intercept_:.2f} ml/min is expected of a patient whose shocks are all average"
    assert average in " ".join(shown.split())
    page = ok("report", table, "--model", tmp_path / "m.rci", "--id", "patient", "--out", tmp_path / "p.html")
    assert "page about 150 patients" in page
    assert "ml/min" in (tmp_path / "p.html").read_text(encoding="utf-8")
    checked = ok("check", table, *NUMBER, "--id", "patient")
    assert "number: egfr of 150 patients" in checked
    for text in (said, shown, page):
        assert not FOREIGN.search(text)


def test_the_model_is_that_of_python(tmp_path: Path) -> None:
    fit(tmp_path, cohort(), *TIMES, "--horizon", "900")
    X = cohort()[["crea", "age", "bmi"]]
    mine = RCISurvival(horizon=900).fit(X, cohort()["futime"], cohort()["died"])
    loaded = rootcausal.load(tmp_path / "m.rci")
    assert isinstance(loaded, RCISurvival) and loaded.get_params()["horizon"] == 900
    assert np.array_equal(loaded.shapley_values(X), mine.shapley_values(X))
    assert np.array_equal(loaded.predict_risk(X), mine.predict_risk(X))
    assert loaded.classes_.tolist() == [0, 1]
    table = graded()
    fit(tmp_path, table, *NUMBER)
    X = table[["crea", "age", "bmi"]]
    loaded = rootcausal.load(tmp_path / "m.rci")
    assert isinstance(loaded, RCIRegressor)
    assert np.array_equal(loaded.predict(X), RCIRegressor().fit(X, table["egfr"]).predict(X))


def test_load_knows_a_diagnosis_too(tmp_path: Path) -> None:
    X = cohort()[["crea", "age", "bmi"]]
    RCI().fit(X, cohort()["died"]).save(tmp_path / "m.rci")
    assert isinstance(rootcausal.load(tmp_path / "m.rci"), RCI)


def test_units_and_names_are_remembered(tmp_path: Path) -> None:
    fit(tmp_path, cohort(died=cohort()["died"] + 1), *TIMES, "--positive", "2", "--time-unit", "days")
    reading = rootcausal.load(tmp_path / "m.rci").provenance_["reading"]
    assert reading == {"called": "died = 2", "unit": "days"}
    fit(tmp_path, cohort(), *TIMES)
    assert rootcausal.load(tmp_path / "m.rci").provenance_["reading"] == {"called": "died"}


# --- tables of scores -------------------------------------------------------------------------------------


def test_scores_of_follow_up_say_their_scale(tmp_path: Path) -> None:
    fit(tmp_path, cohort(), *TIMES, "--time-unit", "days")
    model, out = rootcausal.load(tmp_path / "m.rci"), tmp_path / "s.parquet"
    arguments = ["explain", tmp_path / "m.rci", tmp_path / "c.csv", "--id", "patient"]
    said = ok(*arguments, "--horizon", "2000", "--what-if", "crea=0", "--out", out)
    assert "columns: 'patient', 'risk', 'log_hazard', then the log-hazard that each variable adds" in said
    assert "log-hazards are relative to a patient whose shocks are all average, who has 0" in said
    assert not FOREIGN.search(said)
    scores = pq.read_table(out)
    X = cohort()[["crea", "age", "bmi"]]
    explanation = model.explain(X, horizon=2000)
    assert scores["risk"].to_numpy() == pytest.approx(explanation.predicted)
    assert scores["log_hazard"].to_numpy() == pytest.approx(explanation.predictor)
    assert scores["crea"].to_numpy() == pytest.approx(explanation.values[:, 0])
    assert scores["what_if_risk"].to_numpy() == pytest.approx(explanation.what_if("crea").predicted)
    made = json.loads(scores.schema.metadata[b"rootcausal"])
    assert (made["scale"], made["horizon"], made["time_unit"]) == ("log-hazard", 2000.0, "days")


def test_scores_of_a_number_say_their_unit(tmp_path: Path) -> None:
    fit(tmp_path, graded(), *NUMBER, "--unit", "ml/min")
    arguments = ["explain", tmp_path / "m.rci", tmp_path / "c.csv", "--what-if", "crea=0", "--out"]
    said = ok(*arguments, tmp_path / "s.csv")
    assert "columns: 'row', 'predicted', then what each variable adds, in ml/min" in said
    assert "ml/min, what is expected when all shocks are average" in said and not FOREIGN.search(said)
    scores = arrow_csv.read_csv(tmp_path / "s.csv")
    assert scores.column_names[:5] == ["row", "predicted", "crea", "age", "bmi"]
    assert "what_if_predicted" in scores.column_names and "what_if_risk" not in scores.column_names
    ok(*arguments, tmp_path / "s.parquet")
    made = json.loads(pq.read_table(tmp_path / "s.parquet").schema.metadata[b"rootcausal"])
    assert (made["scale"], made["outcome"]) == ("ml/min", "egfr")


def test_scores_of_a_diagnosis_stay_as_they_were(tmp_path: Path) -> None:
    fit(tmp_path, cohort(), "--target", "died", "--after", "futime")
    arguments = ["explain", tmp_path / "m.rci", tmp_path / "c.csv", "--out", tmp_path / "s.parquet"]
    assert "'risk', 'log_odds', then the log-odds that each variable adds" in ok(*arguments)
    made = json.loads(pq.read_table(tmp_path / "s.parquet").schema.metadata[b"rootcausal"])
    assert made["scale"] == "log-odds"


@pytest.mark.parametrize("options", [TIMES, NUMBER])
def test_what_if(tmp_path: Path, options: list[str]) -> None:
    table = cohort() if options is TIMES else graded()
    fit(tmp_path, table, *options, "--bootstrap", "4")
    said = ok("explain", tmp_path / "m.rci", tmp_path / "c.csv", "--what-if", "crea=0")
    header = "risk by time" if options is TIMES else "expected egfr"
    told = "risk then" if options is TIMES else "expected value then"
    assert header in " ".join(said.split()) and told in " ".join(said.split())
    assert "in brackets: 95% intervals from the bootstrap" in said and not FOREIGN.search(said)


@pytest.mark.parametrize("options", [TIMES, NUMBER])
def test_covariates(tmp_path: Path, options: list[str]) -> None:
    table = cohort() if options is TIMES else graded()
    said = fit(tmp_path, table, *options, "--covariate", "age")
    assert f"adjusted for, in the {'risk' if options is TIMES else 'expected value'} and no root" in said
    shown = ok("explain", tmp_path / "m.rci", tmp_path / "c.csv", "--id", "patient")
    average = "relative to a patient whose shocks and covariates are" if options is TIMES else "shocks and"
    assert average in " ".join(shown.split()) and "Covariates (age) are adjusted for" in shown
    assert not FOREIGN.search(said + shown)


def test_json_of_the_checks(tmp_path: Path) -> None:
    page = json.loads(ok("check", written(tmp_path, cohort()), *TIMES, "--id", "patient", "--json"))
    assert page["checks"]


# --- labels of the event ----------------------------------------------------------------------------------

DEAD = cohort()["died"] == 1


@pytest.mark.parametrize(
    ("labels", "options", "said"),
    [
        (DEAD, [], "died = true"),
        (np.where(DEAD, "Dead ", "alive"), [], "died = dead"),
        (np.where(DEAD, "died", "censored"), [], "died = died"),
        (np.where(DEAD, "1:DECEASED", "0:LIVING"), [], "died = 1:deceased"),
        (np.where(DEAD, 1.0, 0.0), [], "died = 1"),
        (np.where(DEAD, 2, 1), ["--positive", "2"], "died = 2"),
        (np.where(DEAD, 2, 1), ["--positive", "2.0"], "died = 2"),
        (np.where(DEAD, 0, 1), ["--positive", "0"], "died = 0"),
        (np.where(DEAD, "gone", "here"), ["--positive", "Gone"], "died = gone"),
    ],
)
def test_labels_of_the_event(tmp_path: Path, labels: Any, options: list[str], said: str) -> None:
    printed = fit(tmp_path, cohort(died=labels), *TIMES, *options)
    assert f"event: {said} ({int(DEAD.sum())} events in 150 patients)\n" in printed
    X = cohort()[["crea", "age", "bmi"]]
    mine = RCISurvival().fit(X, cohort()["futime"], DEAD)
    assert np.array_equal(rootcausal.load(tmp_path / "m.rci").shapley_values(X), mine.shapley_values(X))


def test_other_labels_end_the_follow_up(tmp_path: Path) -> None:
    status = np.where(DEAD, 2, np.arange(N) % 2)
    said = fit(tmp_path, cohort(died=status), *TIMES, "--positive", "2")
    counts = [int((status == label).sum()) for label in (0, 1)]
    others = f"'0' ({counts[0]} rows), '1' ({counts[1]} rows)"
    assert f"all other labels end the follow-up without it: {others}" in said
    asked = refused_again(tmp_path, cohort(died=status))
    assert f"holds {others}, '2' ({int(DEAD.sum())} rows), which do not say which label is the event" in asked
    assert "add --positive 2 if '2' is it; all others count as the end of follow-up." in asked


def refused_again(folder: Path, table: pd.DataFrame, *options: object) -> str:
    (folder / "m.rci").unlink()
    return refused(folder, table, *TIMES, *options)


@pytest.mark.parametrize(
    ("labels", "options", "said"),
    [
        (
            DEAD + 1,
            [],
            "'2' ({dead} rows), which do not say which label is the event: add --positive 2 if '2'",
        ),
        (np.where(DEAD, "x", "y"), [], "which do not say which label is the event: add --positive LABEL"),
        (
            ["dead"] * N,
            [],
            "which does not say which label is the event: add --positive dead if 'dead' is it",
        ),
        (
            np.where(DEAD, 1, 0),
            ["--positive", "7"],
            "--positive '7' is not a label of 'died', which holds '0'",
        ),
        (np.zeros(N, int), [], "nobody had the event: the event column 'died' holds '0' (150 rows) and noth"),
        (np.zeros(N, bool), [], "nobody had the event: the event column 'died' holds 'false' (150 rows)"),
        ((np.arange(N) == 3).astype(int), [], "1 event in 150 rows: at least 2 are needed"),
        (np.arange(N), [], "holds 150 different numbers, from 0 to 149, and it has to say whether the event"),
        (
            [None] * 150,
            [],
            "has an outcome: 'futime' (--time) or 'died' (--event) is missing in each.",
        ),
    ],
)
def test_events_that_are_none(tmp_path: Path, labels: Any, options: list[str], said: str) -> None:
    assert said.format(dead=int(DEAD.sum())) in refused(tmp_path, cohort(died=labels), *TIMES, *options)


def test_no_censoring_is_the_right_answer(tmp_path: Path) -> None:
    said = fit(tmp_path, cohort(died=1), *TIMES)
    assert "(150 events in 150 patients); nobody's follow-up ended without it" in said
    X = cohort()[["crea", "age", "bmi"]]
    mine = RCISurvival().fit(X, cohort()["futime"], np.ones(N))
    assert np.array_equal(rootcausal.load(tmp_path / "m.rci").predict(X), mine.predict(X))


# --- times ------------------------------------------------------------------------------------------------

SOME = np.arange(N) % 60 == 5


def times(values: Any, where: np.ndarray = SOME) -> pd.DataFrame:
    return cohort(futime=cohort()["futime"].astype(object).where(~where, values))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (times(-3), "'futime' (--time) has times below 0: -3 in row 6, -3 in row 66, -3 in row 126. A time"),
        (times("12 months"), "--time 'futime' (for example '12 months' in data row 6) of '{file}' does not"),
        (cohort(futime=DEAD), "--time 'futime' (for example 'True' in data row 1) of '{file}' does not hold"),
        (
            times(np.inf),
            "--time 'futime' of '{file}' has values that are infinite or above 1e+140 (data row 6",
        ),
        (cohort(futime=pd.date_range("2001-01-01", periods=N)), "holds dates, such as '2001-01-01', and a"),
        (
            cohort(futime=pd.date_range("2001-01-01", periods=N).strftime("%d/%m/%Y")),
            "holds dates, such as '01/01/2001', and a time of follow-up is a number: make a column of",
        ),
        (cohort(futime=0), "all times of follow-up are zero"),
        (cohort(futime=None), "has an outcome: 'futime' (--time) or 'died' (--event) is missing in each"),
        (cohort(months=cohort()["futime"] / 30.4), "column 'months' is the time of follow-up itself"),
        (cohort(m=(cohort()["futime"] / 30.4).round(1)), "column 'm' is the time of follow-up itself"),
        (cohort(left=9999 - cohort()["futime"]), "column 'left' is the time of follow-up itself"),
    ],
)
def test_times_that_are_none(tmp_path: Path, table: pd.DataFrame, said: str) -> None:
    assert said.format(file=tmp_path / "c.csv") in refused(tmp_path, table, *TIMES)


def test_rows_are_those_of_the_file(tmp_path: Path) -> None:
    """Also where rows before them are left out."""
    table = times(-3)
    table["crea"] = table["crea"].where(np.arange(N) > 2)
    assert "-3 in row 6, -3 in row 66" in refused(tmp_path, table, *TIMES, "--drop-missing")


def test_zero_is_said_and_taken(tmp_path: Path) -> None:
    path = written(tmp_path, times(0))
    result = run("fit", path, *TIMES, "--id", "patient", "--out", tmp_path / "m.rci")
    assert result.exit_code == 0
    assert [line for line in result.stderr.splitlines() if "3 times of follow-up are zero" in line] == [
        "warning: 3 times of follow-up are zero: such a patient counts as the first to leave follow-up"
    ]


def test_rows_without_follow_up_are_dropped(tmp_path: Path) -> None:
    table = times(None)
    table["died"] = table["died"].astype(object).where(np.arange(N) != 9)
    said = fit(tmp_path, table, *TIMES)
    assert "4 rows without an outcome ('futime', 'died' missing) are left out" in said
    assert "in 146 patients" in said


@pytest.mark.parametrize("values", [np.full(N, 5), np.where(np.arange(N) % 2, 5, 2)])
def test_ties_everywhere(tmp_path: Path, values: np.ndarray) -> None:
    fit(tmp_path, cohort(futime=values), *TIMES)
    X = cohort()[["crea", "age", "bmi"]]
    mine = RCISurvival().fit(X, values, cohort()["died"])
    model = rootcausal.load(tmp_path / "m.rci")
    assert np.array_equal(model.predict_risk(X), mine.predict_risk(X))
    assert np.isfinite(model.predict_risk(X)).all()


# --- options that do not go together ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "say what happened to the patients: --target COLUMN, a diagnosis or a number; or --time COLUMN"),
        (["--time", "futime"], "--time: needs --event COLUMN beside it"),
        (["--event", "died"], "--event: needs --time COLUMN beside it"),
        (["--time", "futime", "--event", "futime"], "--event: is the same column as --time"),
        ([*TIMES, "--target", "died"], "give one or the other"),
        (["--time", "futime", "--target", "died"], "give one or the other"),
        ([*TIMES, "--negative", "0"], "--negative: is for --target"),
        ([*TIMES, "--prevalence", "0.1"], "--prevalence: is for --target"),
        ([*TIMES, "--outcome", "continuous"], "--outcome: is for --target"),
        ([*TIMES, "--unit", "days"], "--unit: is for --target"),
        ([*TIMES, "--horizon", "0"], "must be a time above 0"),
        ([*TIMES, "--horizon", "nan"], "must be a time above 0"),
        (["--target", "died", "--horizon", "5"], "--horizon: is for --time and --event"),
        (["--target", "died", "--time-unit", "days"], "--time-unit: is for --time and --event"),
        (["--target", "died", "--unit", "mg"], "--unit: is for --outcome continuous"),
        (["--target", "crea", "--outcome", "continuous", "--positive", "1"], "--positive: is for labels"),
        (
            ["--target", "crea", "--outcome", "continuous", "--prevalence", ".1"],
            "--prevalence: is for labels",
        ),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, options: list[str], said: str) -> None:
    path = written(tmp_path, cohort())
    for command in (["fit", path, "--out", tmp_path / "m.rci"], ["check", path]):
        # A terminal is 80 letters wide, and breaks lines anywhere.
        assert "".join(said.split()) in "".join(error(2, *command, *options).split())


@pytest.mark.parametrize("option", ["--keep", "--log", "--drop", "--after", "--id"])
@pytest.mark.parametrize(("column", "role"), [("futime", "--time"), ("died", "--event")])
def test_the_outcome_is_nothing_else(tmp_path: Path, option: str, column: str, role: str) -> None:
    path = written(tmp_path, cohort())
    said = error(3, "fit", path, *TIMES, option, column, "--out", tmp_path / "m.rci")
    assert f"'{column}' is both {role} and {option}: choose one." in said


def test_the_outcome_has_no_place_in_the_order(tmp_path: Path) -> None:
    path = written(tmp_path, cohort())
    said = error(3, "fit", path, *TIMES, "--first", "futime", "--out", tmp_path / "m.rci")
    assert "'futime' (it is the --time column)" in said


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    path = written(tmp_path, cohort())
    said = error(3, "fit", path, "--time", "futim", "--event", "die", "--out", tmp_path / "m.rci")
    assert "no column 'futim' (--time); did you mean 'futime'?" in said
    assert "no column 'die' (--event); did you mean 'died'?" in said


def test_horizons_that_are_none(tmp_path: Path) -> None:
    said = refused(tmp_path, cohort(), *TIMES, "--horizon", "1e9", "--time-unit", "days")
    assert "--horizon 1e+09 is beyond the longest follow-up, " in said and " days: nobody is known" in said
    fit(tmp_path, cohort(), *TIMES)
    arguments = ["explain", tmp_path / "m.rci", tmp_path / "c.csv", "--horizon"]
    assert "1e+09 is beyond the longest follow-up of the cohort" in error(3, *arguments, "1e9")
    fit(tmp_path, graded(), *NUMBER)
    assert "--horizon is for the time to an event, and " in error(3, *arguments, "9")
    page = ["report", tmp_path / "c.csv", "--model", tmp_path / "m.rci", "--out", tmp_path / "p.html"]
    assert "is a model of another outcome: leave it out." in error(3, *page, "--horizon", "9")
    assert "--unit is for fitting" in error(2, *page, "--unit", "mg")


def test_a_page_needs_an_outcome_or_a_model(tmp_path: Path) -> None:
    arguments = ["report", written(tmp_path, cohort()), "--out", tmp_path / "p.html"]
    assert "give --target, or --time and --event" in error(2, *arguments)


@pytest.mark.parametrize("options", [TIMES, NUMBER], ids=["times", "number"])
def test_what_happened_to_new_patients_is_said_as_of_the_cohort(tmp_path: Path, options: list[str]) -> None:
    table = cohort() if options is TIMES else graded()
    fit(tmp_path, table, *options)
    page = ["report", tmp_path / "c.csv", "--model", tmp_path / "m.rci", "--out", tmp_path / "p.html"]
    named = [option for option in options if option not in ("--outcome", "continuous")]
    ok(*page, "--id", "patient", *named)
    known = facts_of(tmp_path / "p.html")
    ok("report", tmp_path / "c.csv", "--id", "patient", *options, "--out", tmp_path / "q.html")
    assert known["made"] == facts_of(tmp_path / "q.html")["made"]
    other = ["--target", named[-1]] if options is TIMES else ["--time", "a", "--event", "b"]
    assert "name --" in error(3, *page, *other)


# --- numbers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["high", *SHOCKS[1:, 0]], "--target 'egfr' (for example 'high' in data row 1) of '{file}' does not"),
        (
            [0, 1] * 75,
            "the target 'egfr' holds 0, 1 and no other number, and --outcome continuous needs at least 3",
        ),
        ([4.5] * N, "the target 'egfr' holds 4.5 and no other number"),
        ([None] * N, "has an outcome: 'egfr' (--target) is missing in each."),
        ([np.inf, *SHOCKS[1:, 0]], "--target 'egfr' of '{file}' has values that are infinite"),
        (2 * SHOCKS[:, 2] + 7, "column 'bmi' is the outcome y itself"),
    ],
)
def test_numbers_that_are_none(tmp_path: Path, values: Any, said: str) -> None:
    table = graded().assign(egfr=values)
    assert said.format(file=tmp_path / "c.csv") in refused(tmp_path, table, *NUMBER)


def test_a_target_with_many_numbers_asks_for_the_option(tmp_path: Path) -> None:
    said = refused(tmp_path, graded(), "--target", "egfr")
    assert "holds 150 different numbers" in said
    assert "if the number itself is the outcome, add --outcome continuous." in said
    said = refused(tmp_path, graded(egfr=np.arange(N) % 5), "--target", "egfr")
    assert (
        "choose two with --positive LABEL --negative LABEL or, if the number itself is the outcome, " in said
    )
    assert fit(tmp_path, graded(egfr=np.arange(N) % 5), *NUMBER)


def test_yes_or_no_can_be_said(tmp_path: Path) -> None:
    arguments = ["fit", written(tmp_path, cohort()), "--target", "died", "--out", tmp_path / "m.rci"]
    arguments += ["--id", "patient"]
    assert "says how long patients were followed" in run(*arguments).stderr
    said = run(*arguments, "--outcome", "binary")
    assert said.exit_code == 0 and "says how long" not in said.stderr
    assert "'futime' by name or levels may come after the outcome" in said.stderr


# --- hostile names ----------------------------------------------------------------------------------------

EVIL = '=cmd|"/c calc"!A1 \x1b[31m<script>alert(1)</script>\u202e,\r\n'


@pytest.mark.parametrize("kind", ["survival", "number"])
def test_hostile_names_stay_harmless(tmp_path: Path, kind: str) -> None:
    time, event, number = f"t{EVIL}", f"e{EVIL}", f"n{EVIL}"
    if kind == "survival":
        labels = np.where(DEAD, f"dead{EVIL}", "alive")
        table = cohort(died=labels).rename(columns={"futime": time, "died": event, "crea": EVIL})
        options = ["--time", time, "--event", event, "--positive", f"dead{EVIL}", "--time-unit", EVIL]
    else:
        table = graded().rename(columns={"egfr": number, "crea": EVIL})
        options = ["--target", number, "--outcome", "continuous", "--unit", EVIL]
    path = tmp_path / "c.parquet"
    table.to_parquet(path)
    said = ok("fit", path, *options, "--id", "patient", "--bootstrap", "3", "--out", tmp_path / "m.rci")
    said += ok("explain", tmp_path / "m.rci", path, "--id", "patient")
    said += ok("explain", tmp_path / "m.rci", path, "--id", "patient", "--out", tmp_path / "s.csv")
    said += ok("report", path, "--model", tmp_path / "m.rci", "--out", tmp_path / "p.html")
    said += ok("report", path, *options, "--id", "patient", "--out", tmp_path / "q.html")
    said += ok("look", path, *options[: 4 if kind == "survival" else 2])
    assert "\x1b" not in said and "\u202e" not in said and "\r" not in said
    for page in ("p.html", "q.html"):
        assert "<script>alert(1)" not in (tmp_path / page).read_text(encoding="utf-8")
    assert "\n=cmd" not in (tmp_path / "s.csv").read_text(encoding="utf-8")


def test_a_model_file_with_words_that_are_none_is_refused(tmp_path: Path) -> None:
    fit(tmp_path, cohort(), *TIMES)
    model = rootcausal.load(tmp_path / "m.rci")
    for name in ("called", "unit"):
        model.provenance_ = {**model.provenance_, "reading": {name: 5}}
        model.save(tmp_path / "x.rci")
        with pytest.raises(rootcausal.InputError, match="what it calls its outcome is no text"):
            rootcausal.load(tmp_path / "x.rci")


# --- on a cluster -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [[*TIMES, "--positive", "dead", "--time-unit", "days"], NUMBER])
def test_on_a_cluster(tmp_path: Path, client_of_threads: Any, options: list[str]) -> None:
    table = cohort(died=np.where(DEAD, "dead ", "seen")) if options is not NUMBER else graded()
    table = table.drop(columns="patient")
    table.to_parquet(tmp_path / "c.parquet")
    files = [tmp_path / "1.parquet", tmp_path / "2.parquet"]
    for file, part in zip(files, (table[:70], table[70:]), strict=True):
        part.to_parquet(file)
    ok("fit", tmp_path / "c.parquet", *options, "--out", tmp_path / "m.rci")
    there = ["--scheduler", client_of_threads.scheduler.address, "--out", tmp_path / "d.rci"]
    said = ok("fit", *files, *options, *there)
    mine, theirs = (rootcausal.load(tmp_path / name) for name in ("m.rci", "d.rci"))
    assert theirs.coef_ == pytest.approx(mine.coef_, abs=1e-9)
    assert theirs.provenance_["reading"] == mine.provenance_["reading"]
    assert not FOREIGN.search(said)
    assert ("time: futime; patients were followed for up to " in said) == (options is not NUMBER)
    shown = ok("explain", tmp_path / "d.rci", tmp_path / "c.parquet")
    assert (" days" if options is not NUMBER else "expected egfr") in shown


def test_a_study_that_ends_for_all_is_no_reason_to_leave(tmp_path: Path) -> None:
    ended = cohort()["futime"].clip(upper=600)
    table = cohort(futime=ended, died=(DEAD & (ended < 600)).astype(int))
    table = table[(table["died"] == 1) | (table["futime"] == 600)]
    result = run("check", written(tmp_path, table), *TIMES, "--id", "patient", "--json")
    assert result.exit_code == 0 and result.stderr == ""
    (one,) = [check for check in json.loads(result.stdout)["checks"] if check["name"] == "follow_up"]
    assert one["verdict"] == "fine" and "0 of " in one["statement"]
