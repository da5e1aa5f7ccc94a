"""What look, and the warnings of a fit, ask about columns that raw clinical tables have beside the causes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from command_line import ok, run
from zoo import ZOO

from rootcausal import RCIRegressor, RCISurvival
from rootcausal.profiling.findings import Finding
from rootcausal.profiling.fit_line import fit_arguments, look_arguments
from rootcausal.profiling.look import Look, look

N = 300
RNG = np.random.default_rng(11)
NOISE = RNG.standard_normal((N, 6))
ILL = (NOISE[:, 0] + RNG.logistic(size=N) > 0.5).astype(int)
TIME = np.rint(RNG.exponential(900, N) + 20)
EVENT = (RNG.random(N) < 0.5).astype(int)


def seen_by(columns: Any, **outcome: Any) -> Look:
    frame = pd.DataFrame(columns)
    return look(pa.Table.from_pandas(frame, preserve_index=False), **outcome)


def named(seen: Look, name: str) -> Finding | None:
    return next((one for one in seen.findings if one.name == name), None)


def options(seen: Look, option: str) -> list[str]:
    line = fit_arguments(seen, "t.csv")
    assert line is not None
    return [line[place + 1] for place, word in enumerate(line) if word == option]


def trial() -> pd.DataFrame:
    """Counts of cells at entry, after 20 and after 96 weeks, the last of who was still there."""
    (animal,) = (one for one in ZOO if one.name == "a_trial_with_later_visits")
    X = animal.X
    followed = np.where(X["cd496"].isna(), TIME / 2, TIME) + 1
    return X.assign(days=np.rint(followed), died=EVENT)


# --- what came later --------------------------------------------------------------------------------------


def test_later_visits_come_after_the_start_of_follow_up() -> None:
    seen = seen_by(trial(), target="died", time="days")
    one = named(seen, "measured later")
    assert one is not None and one.columns == ("cd420", "cd820", "cd496") and one.in_line
    assert options(seen, "--after") == ["cd420", "cd820", "cd496"]
    # In a cohort that is not followed, the names tell visits, and nothing is left out.
    yes_no = seen_by(trial().drop(columns="days"), target="died", outcome="binary")
    assert named(yes_no, "measured later") is None


def test_numbers_that_count_columns_are_no_visits() -> None:
    for names in (["x10", "x15", "x20", "x25"], [f"x{k}" for k in range(30)], ["cd40", "cd420", "cd8"]):
        columns = {name: NOISE[:, k % 6] + k * NOISE[:, (k + 1) % 6] for k, name in enumerate(names)}
        seen = seen_by({**columns, "days": TIME, "died": EVENT}, target="died", time="days")
        assert named(seen, "measured later") is None, names


def test_phases_of_an_operation_are_in_order() -> None:
    names = ["preOp_pain", "preOp_age", "intraOp_size", "pacu30min_cough", "pacu90min_cough", "pod1am_cough"]
    columns = {name: RNG.integers(0, 3, N) for name in names}
    seen = seen_by(columns, target="pacu30min_cough")
    one = named(seen, "measured later")
    assert one is not None and one.columns == ("pacu90min_cough", "pod1am_cough") and one.in_line
    last = seen_by(columns, target="pod1am_cough")
    assert named(last, "measured later") is None


def test_sex_treatment_and_what_was_measured_first_are_no_outcomes() -> None:
    columns = {"preOp_gender": ILL, "preOp_pain": EVENT, "treat": 1 - ILL, "pacu30min_cough": NOISE[:, 1]}
    assert seen_by({**columns, "pod1am_cough": NOISE[:, 2]}).candidates == ()
    assert seen_by({"sex": ILL, "complication": EVENT, "a": NOISE[:, 0]}).candidates == ("complication",)


@pytest.mark.parametrize("name", ["offtrt", "OffTreatment", "off_study", "discontinued", "dropout"])
def test_leaving_the_study_comes_after(name: str) -> None:
    one = named(seen_by({"a": NOISE[:, 0], name: EVENT, "ill": ILL}, target="ill"), "after the outcome")
    if name == "OffTreatment":
        assert one is None or one.columns == (name,)
    elif name != "off_study":
        assert one is not None and one.columns == (name,)


def test_twins_of_what_comes_after() -> None:
    names = ["surv2m", "surv6m", "prg2m", "prg6m", "age2", "bmi6"]
    columns = {name: NOISE[:, k] for k, name in enumerate(names)}
    one = named(seen_by({**columns, "ill": ILL}, target="ill"), "after the outcome")
    assert one is not None and one.columns == ("surv2m", "surv6m", "prg2m", "prg6m")


def test_whether_something_was_done_goes_with_when() -> None:
    stay = np.rint(RNG.exponential(9, N) + 3)
    done = np.where(EVENT, "dnr after entry", "no dnr")
    done[::9] = "dnr before entry"
    columns = {"slos": stay, "dnrday": np.where(EVENT, stay - 1.5, stay), "dnr": done, "ill": ILL}
    seen = seen_by({"a": NOISE[:, 0], **columns}, target="ill")
    assert options(seen, "--after") == ["slos", "dnrday", "dnr"]


def test_what_goes_with_the_cost_of_a_stay_is_asked_about() -> None:
    cost = np.exp(NOISE[:, 1])
    score = NOISE[:, 1] + 0.7 * NOISE[:, 2]
    seen = seen_by({"a": NOISE[:, 0], "charges": cost, "avtisst": score, "ill": ILL}, target="ill")
    one = named(seen, "goes with the stay")
    assert one is not None and one.columns == ("avtisst",) and not one.in_line and "'charges'" in one.sentence
    assert options(seen, "--after") == ["charges"]
    loose = NOISE[:, 1] + 2 * NOISE[:, 2]
    seen = seen_by({"a": NOISE[:, 0], "charges": cost, "avtisst": loose, "ill": ILL}, target="ill")
    assert named(seen, "goes with the stay") is None


def transplanted() -> dict[str, Any]:
    """Months from the diagnosis to the transplant that all of them had, and what happened to them then."""
    past, other = RNG.exponential(3 * TIME) + 5, RNG.exponential(TIME) + 0.5
    return {
        "time.to.transplant": past,
        "diagnosis": RNG.integers(0, 3, N),
        "time.to.cmv": TIME,
        "cmv": EVENT,
        "time.to.gvhd": np.minimum(other, TIME),
        "gvhd": (other < TIME).astype(int),
        "donor.cmv": ILL,
    }


def test_a_time_to_what_was_before_is_asked_about() -> None:
    seen = seen_by(transplanted(), target="cmv", time="time.to.cmv")
    one = named(seen, "before or after")
    assert one is not None and one.columns == ("time.to.transplant",) and not one.in_line
    assert options(seen, "--after") == ["time.to.gvhd", "gvhd"]
    within = {**transplanted(), "time.to.transplant": TIME * RNG.random(N)}
    seen = seen_by(within, target="cmv", time="time.to.cmv")
    assert "time.to.transplant" in options(seen, "--after")


def test_rows_without_an_outcome_are_left_out_of_times_too() -> None:
    columns = {name: np.array(values, dtype=object) for name, values in transplanted().items()}
    columns["cmv"][::7] = None
    columns["time.to.cmv"] = np.where(np.arange(N) % 11, TIME, np.nan)
    seen = seen_by(columns, target="cmv", time="time.to.cmv")
    one = named(seen, "before or after")
    assert one is not None and one.columns == ("time.to.transplant",)
    assert {"time.to.gvhd", "gvhd"} <= set(options(seen, "--after"))


def test_a_question_that_was_answered_is_not_asked_again(tmp_path: Path) -> None:
    pd.DataFrame(transplanted()).to_csv(tmp_path / "t.csv", index=False)
    arguments = ["fit", tmp_path / "t.csv", "--time", "time.to.cmv", "--event", "cmv"]
    arguments += ["--after", "time.to.gvhd,gvhd", "--out", tmp_path / "m.rci"]
    asked = run(*arguments).stderr
    assert "'donor.cmv' is named like the target" in asked and "'time.to.transplant' (longer" in asked
    first = run(*arguments, "--first", "donor.cmv,time.to.transplant,diagnosis").stderr
    kept = run(*arguments[:6], *arguments[8:], "--keep", "donor.cmv,time.to.transplant,diagnosis").stderr
    for said in (first, kept):
        assert "named like the target" not in said and "(longer" not in said and "as a diagnosis" not in said
    # An end by name is no question that is answered by keeping the column.
    both = run(*arguments[:6], *arguments[8:], "--keep", "donor.cmv,gvhd,time.to.gvhd").stderr
    assert "'time.to.gvhd' by name or levels" in both


# --- follow-up --------------------------------------------------------------------------------------------


def test_times_and_censoring_belong_together_by_stem() -> None:
    columns = {"rectime": TIME / 2, "censrec": EVENT, "survtime": TIME, "censdead": ILL, "age": NOISE[:, 0]}
    seen = seen_by(columns)
    assert seen.pairs == (("survtime", "censdead"), ("rectime", "censrec"))
    again = look_arguments(seen, "t.csv")
    assert again == ["look", "t.csv", "--time", "survtime", "--event", "censdead"]


def test_competing_events_are_said() -> None:
    ends = np.array(["censored", "death", "ltx", "withdraw"])[RNG.choice(4, N, p=[0.3, 0.2, 0.4, 0.1])]
    seen = seen_by({"age": NOISE[:, 0], "futime": TIME, "event": ends}, target="event", time="futime")
    one = named(seen, "competing event")
    assert one is not None and "'ltx'" in one.sentence and "'withdraw'" in one.sentence
    assert "'censored' (" not in one.sentence and "competing event" in one.sentence
    two = np.where(ends == "death", "death", "censored")
    seen = seen_by({"age": NOISE[:, 0], "futime": TIME, "event": two}, target="event", time="futime")
    assert named(seen, "competing event") is None


# --- whether a value is there -----------------------------------------------------------------------------


def test_what_says_whether_another_column_was_measured() -> None:
    lab = np.where(ILL, np.nan, NOISE[:, 1])
    lab[::5] = NOISE[::5, 1]
    columns = {"a": NOISE[:, 0], "lab": lab, "r": np.isnan(lab).astype(int), "ill": EVENT}
    one = named(seen_by(columns, target="ill"), "says whether measured")
    assert one is not None and one.columns == ("r",) and not one.in_line
    assert one.options == (("--drop", "r"), ("--drop", "lab")) and "missing" in one.sentence
    columns["r"][:2] = 1 - columns["r"][:2]
    assert named(seen_by(columns, target="ill"), "says whether measured") is None
    seen = seen_by(trial(), target="died", time="days")  # what was left out comes back with it
    assert options(seen, "--drop") == ["age_group", "r"]


def test_measured_in_those_who_were_followed_for_longer() -> None:
    there = (np.median(TIME) < TIME) | (RNG.random(N) < 0.3)
    columns = {"a": NOISE[:, 0], "lab": np.where(there, NOISE[:, 1], np.nan), "days": TIME, "died": EVENT}
    seen = seen_by(columns, target="died", time="days")
    one = named(seen, "absence goes with")
    assert one is not None and one.columns == ("lab",) and not one.in_line and "'days'" in one.sentence
    columns["lab"] = np.where(RNG.random(N) < 0.6, NOISE[:, 1], np.nan)
    assert named(seen_by(columns, target="died", time="days"), "absence goes with") is None


# --- the same again ---------------------------------------------------------------------------------------


def test_a_number_cut_into_groups() -> None:
    age = np.rint(60 + 15 * NOISE[:, 1])
    columns = {"Age": age, "AgeGroup": 1 + (age > 50) + (age > 65), "over": np.where(age > 70, "y", "n")}
    seen = seen_by({"a": NOISE[:, 0], **columns, "ill": ILL}, target="ill")
    one = named(seen, "coarser")
    assert one is not None and one.columns == ("AgeGroup", "over") and one.in_line
    assert "'AgeGroup' from 'Age'" in one.sentence
    columns["over"][:3] = columns["over"][:3][::-1]
    columns["over"][np.argmax(age)] = "n"
    one = named(seen_by({"a": NOISE[:, 0], **columns, "ill": ILL}, target="ill"), "coarser")
    assert one is not None and one.columns == ("AgeGroup",)
    numbered = {"b": NOISE[:, 2], "bed": np.sort(NOISE[:, 3]), "treatment": np.arange(N) // 150, "ill": ILL}
    assert named(seen_by(numbered, target="ill"), "coarser") is None  # by whose number the arm was dealt
    # Where the number is missing and the group is known, the group would be lost.
    columns["Age"] = np.where(np.arange(N) % 10, age, np.nan)
    assert named(seen_by({"a": NOISE[:, 0], **columns, "ill": ILL}, target="ill"), "coarser") is None


def test_few_whole_numbers_cut_into_groups() -> None:
    """Positive nodes, 0 to 6, and whether they are four or more: each number above three is rare."""
    nodes = np.random.default_rng(3).permutation(np.repeat(np.arange(7), [110, 90, 60, 30, 4, 3, 3]))
    seen = seen_by({"a": NOISE[:, 0], "nodes": nodes, "node4": (nodes > 3) * 1, "ill": ILL}, target="ill")
    one = named(seen, "coarser")
    assert one is not None and one.columns == ("node4",) and one.in_line
    assert "'node4' from 'nodes'" in one.sentence
    flipped = np.where(np.arange(N) == int(np.argmax(nodes)), 0, nodes > 3)
    seen = seen_by({"a": NOISE[:, 0], "nodes": nodes, "many": flipped, "ill": ILL}, target="ill")
    assert named(seen, "coarser") is None


@pytest.mark.parametrize("name", ["sno", "S.No", "serial_no", "Sl No"])
def test_serial_numbers_of_a_filtered_and_shuffled_table(name: str) -> None:
    numbers = RNG.permutation(np.arange(1, 4 * N))[:N]
    one = named(seen_by({"a": NOISE[:, 0], name: numbers, "ill": ILL}, target="ill"), "row number")
    assert one is not None and one.columns == (name,) and one.in_line


# --- levels -----------------------------------------------------------------------------------------------


def test_ranges_with_signs_are_asked_in_their_order_and_fitted_so(tmp_path: Path) -> None:
    size = np.array(["<=20", "20-50", ">50"])[np.searchsorted([-0.5, 0.8], NOISE[:, 0])]
    frame = pd.DataFrame({"size": size, "b": NOISE[:, 1], "ill": ILL})
    seen = seen_by(frame, target="ill")
    assert options(seen, "--kind") == ["size=ordinal"]
    frame.to_csv(tmp_path / "t.csv", index=False)
    arguments = ["--target", "ill", "--kind", "size=ordinal", "--out", tmp_path / "m.rci"]
    assert "1 ordinal (size: <=20 < 20-50 < >50)" in ok("fit", tmp_path / "t.csv", *arguments)


def test_effects_of_two_levels_say_which_is_up(tmp_path: Path) -> None:
    service = np.where(NOISE[:, 0] > 0, "Surgical", "Medical")
    frame = pd.DataFrame({"service": service, "smoker": np.where(NOISE[:, 1] > 0, "yes", "no"), "c": ILL})
    ill = (NOISE[:, 0] + NOISE[:, 1] + RNG.logistic(size=N) > 0).astype(int)
    frame.assign(ill=ill).drop(columns="c").to_csv(tmp_path / "t.csv", index=False)
    said = ok("fit", tmp_path / "t.csv", "--target", "ill", "--out", tmp_path / "m.rci")
    assert "service = Surgical  +" in said and "smoker  " in said and "smoker =" not in said


def test_a_doubt_about_the_strongest_is_said_by_the_fit(tmp_path: Path) -> None:
    noise = np.random.default_rng(2).laplace(size=(600, 5))
    frame = pd.DataFrame(noise[:, :4], columns=["a", "b", "c", "age"])
    frame["age"] += 1.5 * frame["a"]  # a number at birth, perhaps, that the name of an age speaks against
    ill = frame["age"] + 0.2 * frame["b"] + noise[:, 4] > 0.4
    table = frame.assign(ill=ill.astype(int))
    for name, doubted in (("age", True), ("dose", False)):
        table.rename(columns={"age": name}).to_csv(tmp_path / "t.csv", index=False)
        said = run("fit", tmp_path / "t.csv", "--target", "ill", "--out", tmp_path / "m.rci").stderr
        assert ("warning: the checks doubt: Read nothing as a cause of 'age'" in said) is doubted


def test_the_check_sees_who_was_measured_too() -> None:
    there = (np.median(TIME) < TIME) | (np.random.default_rng(0).random(N) < 0.3)
    X = pd.DataFrame({"a": NOISE[:, 0], "lab": np.where(there, NOISE[:, 1], np.nan), "c": NOISE[:, 2]})
    diagnosis = RCISurvival().fit(X, TIME, EVENT).diagnose(X, TIME, EVENT)
    (check,) = (one for one in diagnosis.checks if one.name == "gives_away")
    assert check.verdict == "doubtful" and check.variables == ("lab",)
    assert "'lab' is missing where the time of follow-up is low" in check.statement


# --- what begins after time 0 -----------------------------------------------------------------------------


def waiting_list() -> dict[str, Any]:
    """A transplant came to those who lived until one was there, after days of "wait"."""
    rng = np.random.default_rng(5)
    wait = np.rint(rng.exponential(400, N))
    came = wait < TIME
    return {
        "age": NOISE[:, 1] * 9 + 50,
        "wait": np.where(came, wait, np.nan),
        "given": np.where(came, "yes", "no"),
        "mismatch": np.where(came & (np.arange(N) % 7 > 0), NOISE[:, 2], np.nan),
        "lab": np.where(np.arange(N) % 3, NOISE[:, 3], np.nan),
        "nodes": np.rint(rng.exponential(700, N)),  # longer than follow-up as often as chance has it
        "days": TIME,
        "died": EVENT,
    }


def test_what_begins_after_time_0_is_immortal_time(tmp_path: Path) -> None:
    seen = seen_by(waiting_list(), target="died", time="days")
    one = named(seen, "goes with follow-up")
    assert one is not None and one.columns == ("wait", "given", "mismatch") and one.in_line
    assert "'wait' (never longer than 'days'), 'given' (says whether 'wait' is known)" in one.sentence
    assert "(immortal time bias)" in one.sentence and "--start" in one.sentence
    pd.DataFrame(waiting_list()).to_csv(tmp_path / "t.csv", index=False)
    told = ["--time", "days", "--event", "died"]
    assert "(immortal time bias)" in run("fit", tmp_path / "t.csv", *told, "--out", tmp_path / "m.rci").stderr
    columns = pd.DataFrame(waiting_list())
    model = RCISurvival(mechanism="linear").fit(columns[["age", "wait"]], TIME, EVENT)
    checks = model.diagnose(columns[["age", "wait"]], TIME, EVENT).checks
    (leak,) = [one for one in checks if one.name == "gives_away"]
    assert leak.verdict == "doubtful" and leak.variables == ("wait",) and "immortal time" in leak.statement


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        *[(name, True) for name in ("transplant", "n_visits", "AdjRadTherapy", "complications", "Responder")],
        *[(name, False) for name in ("visit", "prior_transplant", "PreopTherapy", "nodes", "therapy")],
    ],
)
def test_what_comes_in_the_course_of_a_disease_is_asked_about(name: str, asked: bool) -> None:
    course = np.arange(N) * 7 % 40
    seen = seen_by({"a": NOISE[:, 0], name: course, "ill": ILL}, target="ill")
    timed = seen_by({"a": NOISE[:, 0], name: course, "ill": EVENT, "days": TIME}, target="ill", time="days")
    for look_of, words in ((seen, "before 'ill' was?"), (timed, "(immortal time bias)")):
        one = named(look_of, "before or after")
        assert (one is not None) == asked
        assert one is None or (one.columns == (name,) and words in one.sentence and not one.in_line)


def test_levels_that_are_numbered_are_in_that_order(tmp_path: Path) -> None:
    grades, wards = np.array(["2_Fair", "1_Good", "3_Poor"]), np.array(["1 - eye", "2 - ear", "3 - skin"])
    sites = np.array(["1_north", "2_east", "3_west"])
    rows = np.arange(N)
    levels = {"state": grades[rows % 3], "ward": wards[rows // 7 % 3], "site": sites[rows // 30 % 3]}
    table = {"a": NOISE[:, 0], **levels}
    seen = seen_by({**table, "ill": ILL}, target="ill")
    assert {one.name: one.kind for one in seen.columns}["state"] == "ordinal"
    one = named(seen, "order")
    assert one is not None and one.columns == ("state",) and not one.in_line
    pd.DataFrame({**table, "ill": ILL}).to_csv(tmp_path / "t.csv", index=False)
    said = ok("fit", tmp_path / "t.csv", "--target", "ill", "--out", tmp_path / "m.rci")
    assert "1 ordinal (state: 1_Good < 2_Fair < 3_Poor)" in said and "2 nominal (ward" in said


def test_what_was_said_of_a_column_is_not_asked_again(tmp_path: Path) -> None:
    visits = np.where(np.arange(N) % 2, 3 + np.arange(N) % 5, 2)
    pd.DataFrame({"a": NOISE[:, 0], "visits": visits, "ill": ILL}).to_csv(tmp_path / "t.csv", index=False)
    arguments = ["fit", tmp_path / "t.csv", "--target", "ill", "--out", tmp_path / "m.rci"]
    assert "warning: Column 'visits'" in run(*arguments).stderr
    assert "warning: Column 'visits'" not in run(*arguments, "--kind", "visits=number").stderr


def test_a_series_known_while_follow_up_lasts_comes_after_its_start() -> None:
    """Employed in week 1, 2, ...: of who left in week 5 nothing is known from then on."""
    rng, week = np.random.default_rng(3), np.minimum(np.arange(N) % 60 + 1, 52)
    work = {f"emp{k}": np.where(week > k, rng.integers(0, 2, N), np.nan) for k in range(1, 31)}
    columns = {"a": NOISE[:, 0], **work, "week": week, "arrest": (week < 52).astype(int)}
    seen = seen_by(columns, target="arrest", time="week")
    found = [one for one in seen.findings if one.name == "absence goes with"]
    assert len(found) == 1 and found[0].in_line
    assert sorted(options(seen, "--after")) == sorted(work)
    assert named(seen, "absence tells") is None


def test_a_status_glued_to_the_name_of_its_time_goes_with_it() -> None:
    other = np.where(np.arange(N) % 3 == 0, TIME, TIME * RNG.random(N))
    came = (other < TIME).astype(int)
    year = np.where(came == 1, 1990 + np.arange(N) % 9, np.nan)
    columns = {"a": NOISE[:, 0], "rel": other, "relstat": came, "yrel": year, "srv": TIME, "srvstat": EVENT}
    seen = seen_by({**columns, "menostat": np.arange(N) % 2}, target="srvstat", time="srv")
    assert options(seen, "--after") == ["rel", "relstat", "yrel"]


def test_work_over_time_is_no_end() -> None:
    overtime = np.where(NOISE[:, 2] > 0, "Yes", "No")
    assert (
        named(
            seen_by({"a": NOISE[:, 0], "OverTime": overtime, "ill": ILL}, target="ill"), "after the outcome"
        )
        is None
    )


def test_that_all_of_an_arm_had_the_event_is_no_part_of_the_outcome() -> None:
    arm = (np.arange(N) % 2 == 0).astype(int)
    had = np.where(arm == 1, 1, EVENT)
    seen = seen_by({"a": NOISE[:, 0], "Rx": arm, "died": had, "days": TIME}, target="died", time="days")
    one = named(seen, "part of the outcome")
    assert one is not None and one.columns == ("Rx",) and not one.in_line
    yes_no = named(seen_by({"a": NOISE[:, 0], "Rx": arm, "died": had}, target="died"), "part of the outcome")
    assert yes_no is not None and yes_no.in_line


def test_what_was_measured_with_the_target_is_asked_about_and_what_was_before_is_not() -> None:
    noise = {name: NOISE[:, k] for k, name in enumerate(("ALT.B", "AST.B", "ALT.M", "AST.M", "age"))}
    one = named(seen_by(noise, target="ALT.M", outcome="continuous"), "before or after")
    assert one is not None and one.columns == ("AST.M",) and not one.in_line
    visits = {name: NOISE[:, k] for k, name in enumerate(("bdi.pre", "bdi.2m", "bdi.4m", "bdi.8m", "age"))}
    seen = seen_by(visits, target="bdi.4m", outcome="continuous")
    assert options(seen, "--after") == ["bdi.8m"] and named(seen, "named like the target") is None


def test_a_count_out_of_so_many_has_an_exposure() -> None:
    rng = np.random.default_rng(2)
    cases = rng.poisson(rng.exponential(30, N)) + 1
    died = rng.binomial(cases, 0.2)
    columns = {"a": NOISE[:, 0], "cases": cases, "beds": rng.permutation(cases), "died": died}
    seen = seen_by(columns, target="died", outcome="count")
    said = [one for one in seen.findings if one.options == (("--exposure", "cases"),)]
    assert len(said) == 1 and "never more than 'cases'" in said[0].sentence


def test_parts_of_a_sum_are_no_causes_of_it() -> None:
    rng = np.random.default_rng(4)
    items = {f"Y{k}": rng.integers(0, 9, N) for k in (1, 2, 3)}
    columns = {"a": NOISE[:, 0], "b": NOISE[:, 1], **items, "total": sum(items.values())}
    seen = seen_by(columns, target="total", outcome="continuous")
    one = named(seen, "the outcome itself")
    assert one is not None and one.columns == (*items,) and one.in_line and "as a sum" in one.sentence
    table = pd.DataFrame(columns).drop(columns="total")
    with pytest.warns(UserWarning, match="to the last digit"):
        model = RCIRegressor(mechanism="linear").fit(table, columns["total"])
    checks = model.diagnose(table, columns["total"])
    (leak,) = [one for one in checks.checks if one.name == "gives_away"]
    assert leak.verdict == "broken" and set(leak.variables) == {*items}
    nearly = {**columns, "total": columns["total"] + (np.arange(N) % 2)}
    assert named(seen_by(nearly, target="total", outcome="continuous"), "the outcome itself") is None


def test_the_same_asked_again_is_named_like_the_target() -> None:
    rng = np.random.default_rng(6)
    for target, others, apart in (("y1", ("y2", "y3"), "x2"), ("visits", ("novisits", "ovisits"), "school")):
        columns = {name: rng.poisson(2, N) for name in (target, *others, apart)}
        one = named(seen_by(columns, target=target, outcome="count"), "named like the target")
        assert one is not None and one.columns == others


def test_pairs_of_times_and_events_that_are_numbered() -> None:
    rng = np.random.default_rng(7)
    second = {
        "time2": np.rint(rng.exponential(500, N)),
        "infect2": EVENT,
        "age2": np.rint(NOISE[:, 1] * 9 + 50),
    }
    columns = {"a": NOISE[:, 0], "time1": TIME, "infect1": ILL, **second}
    seen = seen_by(columns, target="infect1", time="time1")
    assert options(seen, "--after") == ["time2", "infect2"]


def test_rows_of_later_visits_know_what_came_after_time_0() -> None:
    patient = np.repeat(np.arange(N // 3), 3)
    columns = {"id": patient, "bili": NOISE[:, 0], "days": TIME[patient], "died": EVENT[patient]}
    one = named(seen_by(columns, target="died", time="days"), "repeated patients")
    assert one is not None and "immortal time bias" in one.sentence and "the same 'days'" in one.sentence
    own = named(seen_by({**columns, "days": TIME}, target="died", time="days"), "repeated patients")
    assert own is not None and "immortal" not in own.sentence


def test_families_that_are_numbered_as_the_rows_come_are_ids() -> None:
    rng = np.random.default_rng(9)
    mother = np.sort(rng.integers(0, 150, N))
    columns = {
        "a": NOISE[:, 0],
        "mom": mother + 12,
        "village": mother // 4,
        "days": np.sort(rng.integers(0, 4000, N)),
    }
    seen = seen_by({**columns, "ill": ILL}, target="ill")
    kinds = {one.name: one.kind for one in seen.columns}
    assert kinds["mom"] == "id" and kinds["village"] == "id" and kinds["days"] == "number"


def test_a_table_of_counts_is_weighted_by_them() -> None:
    counts = np.arange(24) % 5
    columns = {
        "dose": np.arange(24) % 3,
        "sex": np.arange(24) // 3 % 2,
        "Freq": counts,
        "ill": np.arange(24) // 12,
    }
    assert options(seen_by(columns, target="ill"), "--weights") == ["Freq"]


def test_a_page_that_a_few_lost_is_no_follow_up() -> None:
    lost = np.arange(N) < 6
    columns = {
        "a": NOISE[:, 0],
        "time": np.where(lost, np.nan, TIME),
        "smoke": np.where(lost, np.nan, NOISE[:, 1]),
    }
    seen = seen_by({**columns, "ill": ILL}, target="ill", outcome="binary")
    assert options(seen, "--after") == ["time"]
