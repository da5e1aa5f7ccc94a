"""Which label rootcausal look takes for the disease or the event: it is right, or it is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
from command_line import error, ok, run

from rootcausal.profiling.fit_line import fit_arguments
from rootcausal.profiling.look import Look, look

# What the packages of R say in their documentation: the table, its outcome, the time of follow-up beside it,
# the labels with their rows, and which of them is the event.
DOCUMENTED: list[tuple[str, str, str | None, dict[Any, int], str]] = [
    ("datasets::infert", "case", None, {0: 165, 1: 83}, "1"),
    ("survival::pbc", "status", "time", {0: 232, 1: 25, 2: 161}, "2"),
    ("survival::cancer (lung)", "status", "time", {1: 63, 2: 165}, "2"),
    ("survival::veteran", "status", "time", {0: 9, 1: 128}, "1"),
    ("survival::colon", "status", "time", {0: 938, 1: 920}, "1"),
    ("survival::heart", "event", None, {0: 97, 1: 75}, "1"),
    ("survival::jasa", "fustat", "futime", {0: 28, 1: 75}, "1"),
    ("survival::ovarian", "fustat", "futime", {0: 14, 1: 12}, "1"),
    ("survival::bladder", "event", None, {0: 228, 1: 112}, "1"),
    ("survival::bladder1", "status", None, {0: 76, 1: 189, 2: 2, 3: 27}, "1"),
    ("survival::cgd", "status", None, {0: 127, 1: 76}, "1"),
    ("survival::kidney", "status", "time", {0: 18, 1: 58}, "1"),
    ("survival::retinopathy", "status", "futime", {0: 239, 1: 155}, "1"),
    ("survival::rotterdam", "death", "dtime", {0: 1710, 1: 1272}, "1"),
    ("survival::gbsg", "status", "rfstime", {0: 387, 1: 299}, "1"),
    ("survival::nwtco", "rel", None, {0: 3457, 1: 571}, "1"),
    ("survival::leukemia", "status", "time", {0: 5, 1: 18}, "1"),
    ("survival::mgus", "death", "futime", {0: 16, 1: 225}, "1"),
    ("survival::flchain", "death", "futime", {0: 5705, 1: 2169}, "1"),
    ("survival::nafld1", "status", "futime", {0: 16185, 1: 1364}, "1"),
    ("survival::diabetic", "status", "time", {0: 239, 1: 155}, "1"),
    ("survival::myeloma", "death", None, {0: 1113, 1: 2769}, "1"),
    ("rpart::stagec", "pgstat", "pgtime", {0: 92, 1: 54}, "1"),
    ("rpart::kyphosis", "Kyphosis", None, {"absent": 64, "present": 17}, "present"),
    ("MASS::Aids2", "status", None, {"A": 1082, "D": 1761}, "D"),
    ("MASS::Melanoma", "status", "time", {1: 57, 2: 134, 3: 14}, "1"),
    ("MASS::birthwt", "low", None, {0: 130, 1: 59}, "1"),
    ("MASS::Pima.te", "type", None, {"No": 223, "Yes": 109}, "yes"),
    ("MASS::biopsy", "class", None, {"benign": 458, "malignant": 241}, "malignant"),
    ("MASS::bacteria", "y", None, {"n": 43, "y": 177}, "y"),
    ("MASS::gehan", "cens", "time", {0: 12, 1: 30}, "1"),
    ("boot::channing", "cens", "time", {0: 286, 1: 176}, "1"),
    ("boot::nodal", "r", None, {0: 33, 1: 20}, "1"),
    ("KMsurv::larynx", "delta", "time", {0: 40, 1: 50}, "1"),
    ("KMsurv::bmt", "d1", None, {0: 56, 1: 81}, "1"),
    ("HSAUR::mastectomy", "event", "time", {False: 18, True: 26}, "true"),
    ("asaur::prostateSurvival", "status", None, {0: 10255, 1: 799, 2: 3240}, "1"),
    ("asaur::pharmacoSmoking", "relapse", None, {0: 36, 1: 89}, "1"),
    ("mosaicData::HELPrct", "homeless", None, {"homeless": 209, "housed": 244}, "homeless"),
    ("medicaldata::indo_rct", "outcome", None, {"0_no": 523, "1_yes": 79}, "1_yes"),
    ("ISLR::Default", "default", None, {"No": 9667, "Yes": 333}, "yes"),
    ("carData::TitanicSurvival", "survived", None, {"no": 809, "yes": 500}, "yes"),
]
# In these no word says it, and it is asked for.
ASKED = {
    *("survival::pbc", "survival::cancer (lung)", "survival::bladder1", "MASS::Aids2", "MASS::Melanoma"),
    *("MASS::gehan", "boot::channing", "asaur::prostateSurvival", "carData::TitanicSurvival"),
}


def line_of(seen: Look) -> list[str]:
    arguments = fit_arguments(seen, "t.csv")
    assert arguments is not None
    return arguments


@pytest.mark.parametrize(("where", "column", "time", "labels", "event"), DOCUMENTED, ids=lambda one: str(one))
def test_documented_events(
    where: str, column: str, time: str | None, labels: dict[Any, int], event: str
) -> None:
    share = max(1, sum(labels.values()) // 400)
    values = [label for label, rows in labels.items() for _ in range(max(2, rows // share))]
    rng = np.random.default_rng(0)
    columns = {"a": rng.standard_normal(len(values)), column: values}
    if time is not None:
        columns[time] = np.rint(rng.exponential(900, len(values)) + 1)
    seen = look(pa.table(columns), column, time=time)
    assert seen.target is not None
    line = line_of(seen)
    if where in ASKED:
        assert line[line.index("--positive") + 1] == "LABEL" and seen.target.guessed
        (one,) = [one for one in seen.findings if one.name == "target"]
        assert all(f"'{label}' ({values.count(label)})" in one.sentence for label in labels)
    else:
        assert "LABEL" not in line and (seen.target.disease, seen.target.guessed) == (event, False)


# --- other columns, and names -----------------------------------------------------------------------------


def cancers(n: int = 60) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    living = rng.random(n) < 0.4
    cause = np.where(rng.random(n) < 0.5, "Died of Disease", "Died of Other Causes")
    return {
        "a": rng.standard_normal(n),
        "b": rng.standard_normal(n),
        "os": living.astype(int),
        "months": np.round(rng.exponential(90, n), 1),
        "vital": np.where(living, "Living", cause),
    }


@pytest.mark.parametrize("time", [None, "months"])
def test_an_event_that_another_column_contradicts_is_asked_about(time: str | None) -> None:
    seen = look(pa.table(cancers()), "os", time=time, outcome="binary" if time is None else None)
    (one,) = [one for one in seen.findings if one.name == "contradiction"]
    assert one.columns == ("os", "vital") and "where that is '1', it mostly says 'Living'" in one.sentence
    assert "LABEL" in line_of(seen)
    agreeing = cancers() | {"os": 1 - cancers()["os"]}
    seen = look(pa.table(agreeing), "os", time=time, outcome="binary" if time is None else None)
    assert "LABEL" not in line_of(seen) and all(one.name != "contradiction" for one in seen.findings)


def test_a_fit_is_told_of_the_contradiction_unless_the_label_was_said(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    arrow_csv.write_csv(pa.table(cancers()), path)
    arguments = ["fit", path, "--time", "months", "--event", "os", "--out", tmp_path / "m.rci"]
    assert "warning: Column 'vital' contradicts 'os'" in run(*arguments).stderr
    assert "contradicts" not in run(*arguments, "--positive", "0").stderr


def test_an_event_that_comes_later_than_the_end_of_follow_up_is_asked_about(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    alive = np.arange(60) % 6 == 0
    times = np.round(np.where(alive, rng.uniform(20, 45, 60), rng.exponential(7, 60)), 1)
    columns = {"a": rng.standard_normal(60), "time": times, "status": alive.astype(int)}
    seen = look(pa.table(columns), "status", time="time")
    (one,) = [one for one in seen.findings if one.name == "contradiction"]
    medians = [f"{np.median(times[rows]):g}"[:3] for rows in (alive, ~alive)]
    assert f"'1', patients were followed for a median of {medians[0]}" in one.sentence
    assert f"and else for {medians[1]}" in one.sentence and "LABEL" in line_of(seen)
    path = tmp_path / "t.csv"
    arrow_csv.write_csv(pa.table(columns), path)
    arguments = ["fit", path, "--time", "time", "--event", "status", "--out", tmp_path / "m.rci"]
    assert "warning: The times in 'time' contradict 'status'" in run(*arguments).stderr
    assert "contradict" not in run(*arguments, "--positive", "0").stderr
    seen = look(pa.table(columns | {"status": 1 - columns["status"]}), "status", time="time")
    assert "LABEL" not in line_of(seen)


def test_fit_asks_too_where_a_name_may_turn_the_answer_round(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    columns = cancers()
    columns["survived"] = columns.pop("os")
    del columns["vital"]
    arrow_csv.write_csv(pa.table(columns), path)
    arguments = ["fit", path, "--drop", "months", "--out", tmp_path / "m.rci", "--target", "survived"]
    assert "by its name it may say who is well: say which one is the disease" in error(3, *arguments)
    ok(*arguments, "--positive", "0")
    arguments = ["fit", path, "--out", tmp_path / "m.rci", "--time", "months", "--event", "survived"]
    assert "do not say which label is the event" in error(3, *arguments)


def test_three_labels_of_which_words_settle_two() -> None:
    columns = {"a": np.random.default_rng(0).standard_normal(40)}
    seen = look(pa.table({**columns, "state": ["dead", "alive", "lost", "alive"] * 10}), "state")
    assert line_of(seen)[4:8] == ["--positive", "dead", "--negative", "alive"]
    seen = look(pa.table({**columns, "state": ["died of x", "alive", "died of y", "alive"] * 10}), "state")
    assert line_of(seen)[4:8] == ["--positive", "LABEL", "--negative", "LABEL"]


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ([1] + [0] * 39, "at least two rows of each label"),
        ([1.5, 2.5] * 20, "no yes/no answer"),
    ],
)
def test_labels_that_no_fit_takes_get_no_line(labels: list[float], why: str) -> None:
    columns = {"a": np.random.default_rng(0).standard_normal(40), "ill": labels}
    seen = look(pa.table(columns), "ill")
    assert fit_arguments(seen, "t.csv") is None and any(why in one.sentence for one in seen.findings)


@pytest.mark.parametrize(
    ("name", "labels", "said"),
    [
        ("outcome", ("no survival", "survival"), "no survival"),
        ("outcome", ("no death", "survival"), None),
        ("outcome", ("not recovered", "recovered"), None),
        ("outcome", ("non-responder", "responder"), None),
        ("outcome", ("none", "improved"), None),
        ("outcome", ("alive", "lost to follow-up"), None),
        ("outcome", ("alive", "unknown"), None),
        ("outcome", ("no", "no answer"), None),
        ("outcome", ("discharged", "died"), "died"),
        ("remission", ("0", "1"), None),
        ("recovered", ("no", "yes"), None),
        ("not_dead", ("0", "1"), None),
        ("no_event", ("0", "1"), None),
        ("negative", ("0", "1"), None),
        ("outcome", ("healed", "not healed"), None),
        ("outcome", ("no response", "response"), None),
        ("healed", ("0", "1"), None),
        ("resolved", ("no", "yes"), None),
        ("respond", ("0", "1"), None),
        ("cured", ("no", "yes", "lost"), None),
        ("improved", ("none", "some"), None),
        ("seizurefree", ("0", "1"), None),
        ("intubation_overall_S_F", ("0", "1"), None),
    ],
)
def test_an_end_that_is_hoped_for_is_asked_about(
    name: str, labels: tuple[str, ...], said: str | None, tmp_path: Path
) -> None:
    columns = {"a": np.random.default_rng(0).standard_normal(20 * len(labels)), name: labels * 20}
    seen = look(pa.table(columns), name)
    assert seen.target is not None and ("LABEL" in line_of(seen)) == (said is None)
    assert said is None or (seen.target.disease, seen.target.guessed) == (said, False)
    arrow_csv.write_csv(pa.table(columns), tmp_path / "t.csv")
    arguments = ("fit", tmp_path / "t.csv", "--target", name, "--out", tmp_path / "m.rci")
    if said is None:
        assert "--positive LABEL" in error(3, *arguments)
    else:
        ok(*arguments)
