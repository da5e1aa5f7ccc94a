"""rootcausal look on tables with follow-up, or with a number as the target: what it takes for what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
from command_line import error, ok, run

from rootcausal import RCISurvival
from rootcausal.errors import RootCausalWarning
from rootcausal.inputs.labels import asks_who_is_well
from rootcausal.name_hints.columns import belong_together, says_end, time_of
from rootcausal.profiling.findings import Finding
from rootcausal.profiling.fit_line import fit_arguments, look_arguments
from rootcausal.profiling.look import Look, look

N = 200
RNG = np.random.default_rng(3)
NOISE = RNG.standard_normal((N, 4))
TIME = np.rint(RNG.exponential(900, N) + 1)
OTHER = np.rint(RNG.exponential(700, N) + 1)
EVENT = (RNG.random(N) < 0.5).astype(int)


def table(**columns: Any) -> pa.Table:
    return pa.table({"age": NOISE[:, 0] * 9 + 60, "bili": NOISE[:, 1], **columns})


def named(seen: Look, name: str) -> Finding | None:
    return next((one for one in seen.findings if one.name == name), None)


def line(seen: Look) -> str:
    arguments = fit_arguments(seen, "t.csv")
    assert arguments is not None
    return " ".join(arguments)


def write(folder: Path, columns: pa.Table) -> Path:
    arrow_csv.write_csv(columns, folder / "t.csv")
    return folder / "t.csv"


# --- names ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "ends_in"),
    [
        *[
            (name, "")
            for name in [
                "time",
                "futime",
                "week",
                "days",
                "follow_up_time",
                "survtime",
                "survival_days",
                "lenfol",
            ]
        ],
        ("ptime", "p"),
        ("d.time", "d"),
        ("OS_MONTHS", "os"),
        ("OS.time", "os"),
        ("days_to_death", "death"),
        ("rfstime", "rfs"),
        *[
            (name, None)
            for name in [
                "protime",
                "diagtime",
                "age_years",
                "walk_time",
                "time_since_diagnosis",
                "bmi",
                "times",
            ]
        ],
    ],
)
def test_times_by_name(name: str, ends_in: str | None) -> None:
    assert time_of(name) == ends_in


@pytest.mark.parametrize(
    ("time", "event", "together"),
    [
        ("ptime", "pstat", True),
        ("d.time", "death", True),
        ("rtime", "recur", True),
        ("OS_MONTHS", "OS_STATUS", True),
        ("PFI.time", "PFI", True),
        ("ptime", "death", False),
        ("rtime", "race", False),
        ("dtime", "diabetes", False),
        ("futime", "death", False),
    ],
)
def test_a_time_and_its_event(time: str, event: str, together: bool) -> None:
    assert belong_together(time, event) is together


def test_names_of_those_who_are_well() -> None:
    for name in ("cens", "is_censored", "Survived", "overall_survival", "alive", "relapse_free"):
        assert asks_who_is_well(name), name
    for name in ("census_tract", "uncensored", "died", "event", "survey"):
        assert not asks_who_is_well(name), name


# --- which columns are the outcome ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "pairs"),
    [
        ({"futime": TIME, "died": EVENT}, [("futime", "died")]),
        ({"time": TIME, "status": EVENT + 1}, [("time", "status")]),
        ({"rtime": OTHER, "recur": EVENT, "dtime": TIME, "death": EVENT[::-1]}, "dtime death rtime recur"),
        ({"ptime": OTHER, "pstat": EVENT, "futime": TIME, "death": EVENT[::-1]}, "futime death ptime pstat"),
        (
            {"OS_MONTHS": TIME / 30, "OS_STATUS": np.where(EVENT, "1:DECEASED", "0:LIVING")},
            "OS_MONTHS OS_STATUS",
        ),
        ({"rfstime": TIME, "status": EVENT}, "rfstime status"),
        ({"week": TIME, "smoker": EVENT}, []),  # nothing says that smoking ends it
        ({"futime": NOISE[:, 2], "died": EVENT}, []),  # times are not negative
        ({"time": EVENT[::-1] + 1, "died": EVENT}, []),
        ({"days_to_death": np.where(EVENT, TIME, np.nan), "death": EVENT}, []),  # of the dead only
        ({"protime": TIME, "died": EVENT}, []),
    ],
)
def test_pairs(columns: dict[str, Any], pairs: Any) -> None:
    if isinstance(pairs, str):
        words = pairs.split()
        pairs = list(zip(words[::2], words[1::2], strict=True))
    seen = look(table(**columns))
    assert list(seen.pairs) == pairs
    again = look_arguments(seen, "t.csv")
    if pairs:
        assert again == ["look", "t.csv", "--time", pairs[0][0], "--event", pairs[0][1]]
    else:
        assert again is None or "--time" not in again


@pytest.mark.parametrize("target", ["died", "futime"])
def test_one_of_both_is_enough(target: str) -> None:
    seen = look(table(futime=TIME, died=EVENT), target)
    assert (seen.time, seen.target is not None and seen.target.name) == ("futime", "died")
    one = named(seen, "follow-up")
    assert one is not None and one.in_line and one.options == (("--time", "futime"), ("--event", "died"))
    assert line(seen) == "fit t.csv --time futime --event died --out model.rci"
    assert named(seen, "after the outcome") is None


def test_what_is_no_outcome_still_comes_after_it() -> None:
    columns = table(ptime=OTHER, pstat=EVENT, futime=TIME, death=EVENT[::-1], months=np.round(TIME / 30.4, 1))
    seen = look(columns, "death")
    end = "--after months --after ptime --after pstat"
    assert line(seen) == f"fit t.csv --time futime --event death {end} --out model.rci"
    seen = look(columns, "pstat", time="ptime")
    end = "--after futime --after death --after months"
    assert line(seen) == f"fit t.csv --time ptime --event pstat {end} --out model.rci"
    assert named(seen, "follow-up") is None  # it was said


def test_a_copy_under_another_name_goes_with_it() -> None:
    seen = look(table(futime=TIME, died=EVENT, span=TIME * 24 + 3), "died", time="futime")
    one = named(seen, "the outcome itself")
    assert one is not None and one.columns == ("span",) and "is 'futime' itself" in one.sentence


def test_times_to_other_events_go_with_follow_up_and_so_do_these(tmp_path: Path) -> None:
    other = np.random.default_rng(8).permutation(TIME) + 0.5
    came = (other < TIME) & (np.arange(N) % 2 == 0)
    columns = table(span=TIME, died=EVENT, ta=np.where(came, other, TIME), da=came.astype(int), tb=other)
    seen = look(columns, "died", time="span")
    one = named(seen, "goes with follow-up")
    assert one is not None and one.columns == ("ta", "da") and one.in_line
    assert f"'ta' (exactly 'span' in {1 - came.mean():.0%} of rows)" in one.sentence
    assert "--after ta --after da" in line(seen)
    arguments = ["--time", "span", "--event", "died", "--out", tmp_path / "m.rci"]
    said = run("fit", write(tmp_path, columns), *arguments)
    assert "warning: Columns 'ta' (exactly 'span'" in said.stderr
    # Small whole numbers are equal by chance.
    days, visits = np.arange(N) % 40, np.arange(N) * 7 % 40
    assert named(look(table(span=days + 1, died=EVENT, n=visits), "died", time="span"), one.name) is None
    columns = table(**{"time.to.x": TIME, "x": EVENT, "time.to.y": other, "y": came.astype(int)})
    one = named(look(columns, "x", time="time.to.x"), "goes with follow-up")
    assert one is not None and one.columns == ("y",)


def test_yes_or_no_can_be_said() -> None:
    seen = look(table(futime=TIME, died=EVENT), "died", outcome="binary")
    assert seen.time is None and named(seen, "follow-up") is None
    assert line(seen) == "fit t.csv --target died --after futime --out model.rci"


def test_a_target_that_does_not_say_that_it_ends_anything_is_asked_about() -> None:
    seen = look(table(week=TIME, arrest=EVENT), "arrest")
    one = named(seen, "follow-up")
    assert one is not None and "'week' may be how long" in one.sentence
    assert "--time 'week' --event 'arrest'" in one.sentence and one.options == (("--after", "week"),)
    assert [found.name for found in seen.findings if "week" in found.columns] == ["follow-up"]
    assert line(seen) == "fit t.csv --target arrest --after week --out model.rci"
    assert line(look(table(week=TIME, arrest=EVENT), "arrest", time="week")).startswith(
        "fit t.csv --time week --event arrest"
    )


# --- labels and times -------------------------------------------------------------------------------------


def test_labels_of_events() -> None:
    assert "--positive LABEL" in line(look(table(time=TIME, status=EVENT + 1), "status"))
    three = np.where(EVENT, 2, np.arange(N) % 2)
    seen = look(table(time=TIME, status=three), "status")
    assert "--positive LABEL" in line(seen) and "--negative" not in line(seen)
    words = np.where(EVENT, "dead", np.where(np.arange(N) % 2, "transplant", "alive"))
    assert "--positive dead" in line(look(table(time=TIME, status=words), "status"))
    assert "--positive" not in line(look(table(time=TIME, status=EVENT), "status"))


def test_a_name_that_says_censoring_is_doubted() -> None:
    one = named(look(table(time=TIME, cens=EVENT), "cens"), "target")
    assert one is not None and one.in_line and one.options == (("--positive", "LABEL"),)
    assert f"'0' ({(EVENT == 0).sum()}), '1' ({EVENT.sum()})" in one.sentence
    assert "by its name the column may say who is well" in one.sentence


@pytest.mark.parametrize("target", ["status", "tstart"])
def test_rows_that_are_intervals_are_fitted_from_start_to_stop(target: str) -> None:
    start = np.where(np.arange(N) % 2, OTHER, 0)
    columns = table(id=np.arange(N) // 2, tstart=start, tstop=start + TIME, status=EVENT)
    seen = look(columns, target)
    one = named(seen, "intervals")
    assert one is not None and one.columns == ("tstart", "tstop")
    assert (seen.time, seen.start) == ("tstop", "tstart")
    assert line(seen).startswith("fit t.csv --time tstop --event status --start tstart --id id")
    assert named(look(columns.drop_columns(["tstart"]), "status"), "intervals") is None
    plain = table(id=np.arange(N) // 2, start=start, stop=start + TIME, event=EVENT)
    assert (look(plain, "event").time, look(plain, "event").start) == ("stop", "start")


def test_what_may_compete_is_named() -> None:
    words = np.where(EVENT, "dead", np.where(np.arange(N) % 9, "alive", "graft"))
    one = named(look(table(time=TIME, death=words), "death", time="time"), "competing event")
    assert one is not None and one.options == (("--competing", "graft"),) and not one.in_line


def test_an_end_that_is_not_known_is_none() -> None:
    words = np.where(EVENT, "dead", np.where(np.arange(N) % 9, "alive", "unknown"))
    seen = look(table(time=TIME, status=words), "status")
    assert "--positive dead --na status=unknown" in line(seen)


def test_times_that_need_a_word() -> None:
    zero = np.where(np.arange(N) < 3, 0, TIME)
    one = named(look(table(futime=zero, died=EVENT), "died"), "time")
    assert one is not None and "3 times of 0" in one.sentence
    one = named(look(table(futime=zero - 1, died=EVENT), "died", time="futime"), "time")
    assert one is not None and "3 times in 'futime' below 0" in one.sentence
    holed = np.where(np.arange(N) < 3, np.nan, TIME)
    one = named(look(table(futime=holed, died=EVENT), "died"), "target missing")
    assert one is not None and "3 rows have no time or no event" in one.sentence


def test_what_is_there_for_the_dead_only_tells_the_outcome() -> None:
    cause = np.where(EVENT, np.where(NOISE[:, 2] > 0, "heart", "cancer"), None)
    one = named(look(table(futime=TIME, died=EVENT, chapter=cause), "died"), "absence tells")
    assert one is not None and one.columns == ("chapter",)
    assert "missing in 0% of patients with the event and 100% of others" in one.sentence


def test_calendar_years_are_covariates_with_a_time(tmp_path: Path) -> None:
    columns = table(futime=TIME, died=EVENT, year=1980 + np.arange(N) % 15)
    one = named(look(columns, "died"), "calendar year")
    assert one is not None and one.options == (("--covariate", "year"),)
    assert named(look(columns, "died", outcome="binary"), "calendar year") is not None
    arguments = ["fit", write(tmp_path, columns), "--time", "futime", "--event", "died"]
    arguments += ["--out", tmp_path / "m.rci"]
    assert "warning: Column 'year' is a calendar year" in run(*arguments).stderr
    assert "calendar" not in run(*arguments, "--covariate", "year").stderr


# --- numbers ----------------------------------------------------------------------------------------------


def test_a_number_is_proposed_as_one() -> None:
    seen = look(table(egfr=np.rint(NOISE[:, 2] * 20 + 70)), "egfr")
    one = named(seen, "target")
    assert seen.number and one is not None and one.options == (("--outcome", "continuous"),)
    assert line(seen) == "fit t.csv --target egfr --outcome continuous --out model.rci"
    seen = look(table(score=np.arange(N) % 5), "score", outcome="continuous")
    assert line(seen) == "fit t.csv --target score --outcome continuous --out model.rci"
    assert not look(table(score=np.arange(N) % 5), "score").number


# --- the command ------------------------------------------------------------------------------------------


def test_the_line_runs(tmp_path: Path) -> None:
    path = write(tmp_path, table(futime=TIME, died=np.where(EVENT, "dead", "alive"), months=TIME / 30.4))
    page = json.loads(ok("look", path, "--target", "died", "--json"))
    assert (page["outcome"], page["time"], page["target"]["event"]) == ("survival", "futime", "dead")
    assert page["target"]["events"] + page["target"]["others"] == N and "disease" not in page["target"]
    assert "event: died = dead" in ok(*page["fit"]["arguments"][:-1], tmp_path / "m.rci")
    printed = ok("look", path)
    assert "Could be follow-up (--time with --event): 'futime' with 'died'." in printed
    assert f"rootcausal look {path} --time futime --event died" in printed
    printed = ok("look", path, "--time", "futime", "--event", "died")
    assert "Time 'futime': follow-up of up to" in printed and "Event 'died': 'dead' is the event" in printed
    assert "disease" not in printed and "control" not in printed


def test_a_number_on_the_command_line(tmp_path: Path) -> None:
    path = write(tmp_path, table(egfr=NOISE[:, 2] * 20 + 70))
    page = json.loads(ok("look", path, "--target", "egfr", "--json"))
    assert page["outcome"] == "continuous" and set(page["target"]) == {"name", "labels", "missing"}
    assert "number: egfr" in ok(*page["fit"]["arguments"][:-1], tmp_path / "m.rci")


def test_wrong_usage(tmp_path: Path) -> None:
    path = write(tmp_path, table(futime=TIME, died=EVENT))
    assert "needs --event COLUMN" in error(2, "look", path, "--time", "futime")
    assert "give one or the other" in error(2, "look", path, "--time", "futime", "--target", "died")
    assert "no column 'fu' (--time)" in error(3, "look", path, "--time", "fu", "--event", "died")
    said = error(3, "look", path, "--time", "futime", "--event", "died", "--id", "futime")
    assert "'futime' is both --time and --id: choose one." in said


def test_a_fit_by_yes_or_no_is_told_of_the_time(tmp_path: Path) -> None:
    path = write(tmp_path, table(futime=TIME, died=EVENT))
    warned = run("fit", path, "--target", "died", "--out", tmp_path / "m.rci").stderr
    assert "warning: Column 'futime' says how long patients were followed" in warned
    fitted = run("fit", path, "--time", "futime", "--event", "died", "--out", tmp_path / "m.rci")
    assert fitted.exit_code == 0 and "warning: Column" not in fitted.stderr


# --- the outcome again ------------------------------------------------------------------------------------


def test_the_number_itself_is_left_out_of_the_line(tmp_path: Path) -> None:
    weight = np.rint(NOISE[:, 2] * 400 + 3300)
    tiny = np.where(np.arange(N) % 60 == 7, None, np.where(weight < 2900, "yes", "no"))
    columns = {
        "weight": weight,
        "oz": weight / 28.35 + 2,
        "logged": np.log(weight),
        "small": (weight < 2900).astype(int),
        "tiny": tiny.tolist(),
        "thirds": np.digitize(weight, [3000, 3500]),
        "near": weight + 100 * NOISE[:, 3],
        "rough": (weight + 30 * NOISE[:, 3] < 2900).astype(int),
    }
    path = write(tmp_path, table(**columns))
    said = json.loads(ok("look", path, "--target", "weight", "--json"))
    itself = [one for one in said["findings"] if one["name"] == "the outcome itself"]
    assert [one["columns"] for one in itself] == [["oz", "logged"], ["small", "tiny", "thirds"]]
    assert all(one["in_fit"] for one in itself)
    arguments = said["fit"]["arguments"]
    assert "near" not in arguments and "rough" not in arguments
    ok(*arguments[:-1], tmp_path / "model.rci")
    kept = ["--keep", "age,bili,small", "--out", tmp_path / "model.rci"]
    assert "'small' is 'weight' itself, cut into levels" in run("fit", *arguments[1:6], *kept).stderr


def test_few_levels_of_the_time_itself_are_left_out_of_the_line() -> None:
    years = np.arange(N) % 4 + 1
    seen = look(table(time=years, months=years * 12, dead=EVENT), "dead", time="time")
    assert named(seen, "the outcome itself").columns == ("months",)  # type: ignore[union-attr]
    assert "--after months" in line(seen)


# --- times that count from no start -----------------------------------------------------------------------


def test_dates_are_no_times_of_follow_up(tmp_path: Path) -> None:
    """As in Aids2 of MASS: days of diagnosis and of death, counted from one day long ago."""
    diag = np.rint(9000 + np.abs(NOISE[:, 2]) * 800)
    columns = table(diag=diag, death=diag + TIME, status=EVENT)
    seen = look(columns, "status", time="death")
    one = named(seen, "no start")
    assert one is not None and "'death'" in one.sentence and "--start" in one.sentence and not seen.followed
    path = write(tmp_path, columns)
    assert "follow-up of up to" not in ok("look", path, "--time", "death", "--event", "status")
    given = ["fit", path, "--time", "death", "--event", "status", "--keep", "age", "--keep", "bili"]
    said = run(*given, "--out", tmp_path / "m.rci")
    assert said.exit_code == 0 and "subtract the start, or name it" in " ".join(said.stderr.split())
    said = run(*given, "--start", "diag", "--out", tmp_path / "m.rci")
    assert said.exit_code == 0 and "subtract the start" not in " ".join(said.stderr.split())
    assert named(look(columns, "status", time="death", start="diag"), "no start") is None
    later = table(diag=diag, futime=TIME, status=EVENT)
    assert named(look(later, "status", time="futime"), "no start") is None


def test_a_fit_warns_of_times_that_count_from_no_start() -> None:
    age = 50.0 + np.minimum(TIME / 100.0, 30.0)
    with pytest.warns(RootCausalWarning, match="subtract the start, or name it by start="):
        RCISurvival().fit(NOISE, age, EVENT)
    RCISurvival().fit(NOISE, age, EVENT, start=np.full(N, 45.0))
    RCISurvival().fit(NOISE, age - 49.0, EVENT)


@pytest.mark.parametrize(
    ("name", "an_end"),
    [("state", False), ("state2", False), ("vital_state", True), ("final.state", True), ("status", True)],
)
def test_where_people_live_is_no_end(name: str, an_end: bool) -> None:
    assert says_end(name) == an_end
    where = np.array(["NSW", "VIC", "QLD"])[np.arange(N) % 3]
    assert (f"--after {name}" in line(look(table(**{name: where}, died=EVENT), "died"))) == an_end


@pytest.mark.parametrize("numbers", [True, False])
def test_stages_under_other_names_are_left_out_of_the_line(numbers: bool) -> None:
    rng = np.random.default_rng(0)
    stage = rng.integers(0, 4, 200)
    texts = np.array(["1_None", "2_Mild", "3_Severe", "4_Worst"])[stage]
    table = pa.table(
        {
            "a": rng.normal(size=200) + stage,
            "near": np.where(rng.random(200) < 0.1, 0, stage),
            "again": stage + 1 if numbers else np.array(list("wxyz"))[stage],
            "stage": texts,
        }
    )
    one = named(look(table, "stage", outcome="ordinal"), "the outcome itself")
    assert one is not None and one.columns == ("again",) and one.in_line
