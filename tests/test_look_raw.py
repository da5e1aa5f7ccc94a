"""rootcausal look on raw tables: codes for missing, ids that repeat, days, names, sites, wild values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
from command_line import ok

from rootcausal.profiling.findings import Finding
from rootcausal.profiling.fit_line import fit_arguments
from rootcausal.profiling.look import Look, look

N = 200
RNG = np.random.default_rng(5)
NOISE = RNG.standard_normal((N, 6))
ILL = (RNG.random(N) < 0.35).astype(int)


def table(**columns: Any) -> pa.Table:
    return pa.table({"a": NOISE[:, 0], "b": NOISE[:, 1], **columns, "ill": ILL})


def named(seen: Look, name: str) -> Finding | None:
    return next((one for one in seen.findings if one.name == name), None)


def options(seen: Look, option: str) -> list[str]:
    """What the line says after an option."""
    line = fit_arguments(seen, "t.csv")
    assert line is not None
    return [line[place + 1] for place, word in enumerate(line) if word == option]


def sometimes(code: Any, values: Any, every: int = 20, start: int = 0) -> np.ndarray:
    found = np.array(values, dtype=object)
    found[start::every] = code
    return found


# --- codes for missing ------------------------------------------------------------------------------------


def test_codes_beside_two_levels() -> None:
    yes_no = np.arange(N) // 3 % 2 + 1
    columns = {f"c{k}": pa.array(sometimes(98, yes_no, 20, k).tolist()) for k in range(3)}
    seen = look(table(**columns, d=pa.array(sometimes(97, sometimes(99, yes_no, 30, 1), 30).tolist())), "ill")
    assert sorted(options(seen, "--na")) == ["97", "98", "99"]


@pytest.mark.parametrize("word", ["nk", "unknown", "not known", "Not Known", "NA_NA", "?", ".", "Missing"])
def test_levels_that_mean_not_known(word: str) -> None:
    seen = look(table(smoker=sometimes(word, np.where(NOISE[:, 2] > 0, "yes", "no")).tolist()), "ill")
    assert options(seen, "--na") == [word]


def test_codes_that_are_values_elsewhere_are_named_for_their_columns(tmp_path: Path) -> None:
    time = np.rint(RNG.exponential(900, N) + 1)
    time[:3] = 999
    age = pa.array(sometimes(999, np.rint(NOISE[:, 2] * 9 + 60)).tolist())
    columns = table(age=age, futime=time)
    assert options(look(columns, "ill", time="futime"), "--na") == ["age=999"]
    arrow_csv.write_csv(columns, tmp_path / "t.csv")
    line = fit_arguments(look(columns, "ill", time="futime"), tmp_path / "t.csv")
    assert line is not None and "events in 200 patients" in ok(*line[:-1], tmp_path / "m.rci")


def test_values_far_outside_that_columns_share() -> None:
    labs = {f"lab{k}": pa.array(sometimes(555, np.round(NOISE[:, k] * 5 + 40)).tolist()) for k in (2, 3, 4)}
    assert options(look(table(**labs), "ill"), "--na") == ["555"]
    del labs["lab4"]
    assert options(look(table(**labs), "ill"), "--na") == []


@pytest.mark.parametrize(
    "values",
    [
        np.clip(np.rint(96 + NOISE[:, 2] * 1.4), 90, 99),  # saturations
        np.minimum(np.abs(np.rint(NOISE[:, 2] * 3)), 9),
        np.where(np.arange(N) % 2, "+", "-"),
        np.array([0, 1, 4])[np.arange(N) * 7 % 11 % 3],
    ],
)
def test_values_that_look_like_codes(values: Any) -> None:
    seen = look(table(x=values), "ill")
    assert named(seen, "code for missing") is None and named(seen, "level or missing") is None


def test_none_may_be_a_level() -> None:
    seen = look(table(therapy=np.where(NOISE[:, 2] > 0, "None", np.where(NOISE[:, 3] > 0, "x", "y"))), "ill")
    one = named(seen, "level or missing")
    assert one is not None and one.options == (("--na", "therapy=None"),) and options(seen, "--na") == []
    numbers = [f"{x:.2f}" for x in NOISE[:, 2]]
    assert options(look(table(lab=sometimes("None", numbers).tolist()), "ill"), "--na") == ["None"]


def test_none_beside_a_single_level_is_asked_about_and_stays() -> None:
    """Without a seat belt, 8.9 % died; with one, 2.7 %: it was left out as if nothing were known."""
    seen = look(table(seatbelt=np.where(NOISE[:, 2] > 0, "belted", "none")), "ill")
    found = named(seen, "level or missing")
    assert found is not None and found.columns == ("seatbelt",)
    assert options(seen, "--drop") == []


@pytest.mark.parametrize("name", ["rownames", "row", "V1", "number"])
def test_row_numbers_of_rows_that_were_sorted_since(name: str) -> None:
    """They were the strongest root cause of a third of the patients of a real table."""
    rng = np.random.default_rng(0)
    assert options(look(table(**{name: rng.permutation(N) + 1}), "ill"), "--drop") == [name]


def test_row_numbers_with_gaps_are_known_by_their_name_and_ranks_are_kept() -> None:
    rng = np.random.default_rng(0)
    columns = {"rownames": rng.choice(900, N, replace=False), "rank": rng.permutation(N) + 1}
    assert options(look(table(**columns), "ill"), "--drop") == ["rownames"]


def test_a_column_with_one_level_beside_not_known_is_left_out() -> None:
    seen = look(table(flag=np.where(NOISE[:, 2] > 0, "yes", "unknown")), "ill")
    assert options(seen, "--na") == [] and options(seen, "--drop") == ["flag"]


def test_not_known_that_goes_with_the_outcome_is_a_finding() -> None:
    asked = np.where(ILL == 1, NOISE[:, 2] > 0.3, NOISE[:, 2] > 1.3)
    smoker = np.where(asked, "nk", np.where(NOISE[:, 3] > 0, "yes", "no"))
    one = named(look(table(smoker=smoker), "ill"), "not known tells")
    assert one is not None and one.columns == ("smoker",) and not one.in_line
    assert f"not known in {asked.sum()} rows" in one.sentence
    by_chance = np.where(NOISE[:, 2] > 0.8, "nk", np.where(NOISE[:, 3] > 0, "yes", "no"))
    assert named(look(table(smoker=by_chance), "ill"), "not known tells") is None
    only = np.where(ILL == 1, "nk", np.where(NOISE[:, 3] > 0, "yes", "no"))
    one = named(look(table(smoker=only), "ill"), "absence tells")
    assert one is not None and one.columns == ("smoker",)


def test_more_than_a_number_is_no_limit_of_detection() -> None:
    weeks = [str(w) if w < 38 else "38+" for w in np.clip(np.rint(NOISE[:, 2] * 4 + 33), 20, 40).astype(int)]
    one = named(look(table(gestation=weeks), "ill"), "limit")
    assert one is not None and "limit of detection" not in one.sentence
    assert (
        "'38+' in " in one.sentence
        and "less, or more, than could be measured, or was written" in one.sentence
    )
    assert one.options == (("--limit", "gestation=>38"),)


# --- ids, dates, names, sites -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["patient_nbr", "patnr", "PatientNumber", "case_no", "subject", "id"])
def test_ids_that_repeat(name: str) -> None:
    patients = np.random.default_rng(0).permutation(np.arange(N) // 5 * 7919 + 100_003)
    seen = look(table(**{name: patients}), "ill")
    assert options(seen, "--id") == [name] and named(seen, "repeated patients") is not None
    few = np.array([f"p{k}" for k in range(18)])[np.arange(N) % 18]
    assert options(look(table(**{name: few}), "ill"), "--id") == [name]
    lettered = sometimes("207a", [str(number) for number in patients])
    seen = look(table(**{name: lettered.tolist()}), "ill")
    assert (options(seen, "--id"), options(seen, "--na")) == ([name], [])


def test_rows_that_are_several_events_of_one_patient_are_said() -> None:
    """As in the trial of colon cancer: one row for the relapse of each patient, and one for the death."""
    patient = np.arange(N) // 2
    events = {
        "id": patient + 1,
        "etype": np.arange(N) % 2 + 1,
        "lab": np.random.default_rng(2).normal(size=N),
    }
    one = named(look(table(**events), "ill"), "repeated patients")
    assert one is not None and one.columns == ("id", "etype")
    assert "one row for each level of 'etype', as of several events or visits" in one.sentence
    twice = np.where(np.arange(N) < 20, 1, events["etype"])
    one = named(look(table(**events | {"etype": twice}), "ill"), "repeated patients")
    assert one is not None and one.columns == ("id",) and "each level" not in one.sentence


def test_the_number_of_a_visit_is_not_asked_about_twice() -> None:
    """As in the trial of arthritis: three visits of each patient, at 1, 3 and 5 months."""
    visits = {"id": np.arange(N) // 4 + 1, "time": np.arange(N) % 4 * 2 + 1}
    seen = look(table(**visits, lab=np.random.default_rng(2).normal(size=N)), "ill")
    assert [one.name for one in seen.findings if "time" in one.columns] == ["repeated patients"]
    assert options(seen, "--drop") == ["time"] and options(seen, "--after") == []


@pytest.mark.parametrize("arm", ["trt", "treatment", "arm", "rx"])
def test_both_arms_of_a_patient_are_kept(arm: str) -> None:
    """As in the trial of retinopathy: of each patient one eye was treated, and the other was not."""
    eyes = {"id": np.arange(N) // 2 + 1, arm: np.arange(N) % 2, "side": np.arange(N) // 2 % 2}
    one = named(look(table(**eyes), "ill"), "repeated patients")
    assert one is not None and one.columns == ("id", arm) and one.options == (("--id", "id"),)
    assert "keep them all" in one.sentence and "one level" not in one.sentence
    assert "keeping one row" not in one.sentence


def test_ids_that_are_unique_within_a_site_only_are_asked_about(tmp_path: Path) -> None:
    patient = np.arange(N) // 4
    sex = np.random.default_rng(1).integers(0, 2, N)[patient]
    age = np.where(patient < 25, 30, 64) + np.arange(N) % 4
    columns = {"id": patient % 25 + 1, "center": patient // 25, "sex": sex, "age": age}
    seen = look(table(**columns), "ill")
    one = named(seen, "repeated patients")
    assert one is not None and one.columns == ("id", "sex", "age")
    assert "200 rows of 25 ids" in one.sentence and "unique only within 'center'?" in one.sentence
    assert (options(seen, "--id"), options(seen, "--drop")) == (["COLUMN"], ["id"])
    assert options(look(table(**columns), "ill", "id"), "--id") == ["id"]
    arrow_csv.write_csv(table(**columns), tmp_path / "t.csv")
    printed = " ".join(ok("look", tmp_path / "t.csv", "--target", "ill").split())
    assert "put a column in the place of COLUMN" in printed
    # Patients of their own grow older, and the sex of a few is mistyped.
    sex[::90] = 1 - sex[::90]
    seen = look(table(**columns | {"id": patient + 1, "sex": sex}), "ill")
    assert options(seen, "--id") == ["id"]
    months = np.arange(N) % 4 * 20
    assert options(look(table(id=patient * 7, age=months), "ill"), "--id") == ["id"]


def test_sites_are_covariates_and_no_ids(tmp_path: Path) -> None:
    for name in ("site", "center", "hospital_id", "Study Centre", "clinic"):
        columns = table(**{name: np.arange(N) * 7 % 11 + 1})
        seen = look(columns, "ill")
        assert options(seen, "--covariate") == [name] and options(seen, "--id") == []
        arrow_csv.write_csv(columns, tmp_path / "t.csv")
        line = fit_arguments(seen, tmp_path / "t.csv")
        assert line is not None and f"covariates {name}" in ok(*line[:-1], tmp_path / "m.rci")
    assert options(look(table(tumor_site=np.arange(N) % 4), "ill"), "--covariate") == []
    many = look(table(hospital_id=np.arange(N) * 7 % 61), "ill")
    assert options(many, "--covariate") == [] and options(many, "--drop") == ["hospital_id"]


def test_a_number_of_stays_is_no_hospital() -> None:
    stays = np.minimum(np.random.default_rng(0).geometric(0.6, N) - 1, 5)
    seen = look(table(hospital=stays), "ill")
    assert options(seen, "--kind") == [] and options(seen, "--covariate") == []
    assert options(look(table(hospital=np.arange(N) % 6), "ill"), "--kind") == ["hospital=nominal"]


def test_days_since_a_day_long_ago_are_dates() -> None:
    diag = np.rint(9000 + np.abs(NOISE[:, 2]) * 800)
    seen = look(table(diag=diag, death=diag + np.rint(np.abs(NOISE[:, 3]) * 500)), "ill")
    assert sorted(options(seen, "--drop")) == ["death", "diag"] and named(seen, "date") is not None
    assert options(look(table(julian_day=diag), "ill"), "--drop") == ["julian_day"]
    counts = look(table(platelets=diag, wbc=diag + np.rint(np.abs(NOISE[:, 3]) * 500)), "ill")
    assert options(counts, "--drop") == []


def test_months_and_weekdays_are_of_the_calendar() -> None:
    for name, values in {
        "month": np.arange(N) * 5 % 12 + 1,
        "admission_month": np.arange(N) * 5 % 12 + 1,
        "day of week": np.arange(N) * 3 % 7,
        "seen": np.array(["Mon", "Tue", "Wed", "Thu", "Fri"])[np.arange(N) * 3 % 5],
    }.items():
        seen = look(table(**{name: values}), "ill")
        assert (options(seen, "--drop"), options(seen, "--after")) == ([name], []), name


def test_names_of_people_are_left_out() -> None:
    houses = np.array(["stark", "tully", "frey", "tyrell"])[np.arange(N) * 7 % 11 % 4]
    for name in ("fake_last_name", "surname", "FirstName", "name"):
        assert options(look(table(**{name: houses}), "ill"), "--drop") == [name]
    assert options(look(table(drug_name=houses), "ill"), "--drop") == []


def test_a_diagnosis_is_asked_about() -> None:
    seen = look(table(diagnosis=np.where(NOISE[:, 2] > 0, "copd", "asthma")), "ill")
    one = named(seen, "diagnosis")
    assert one is not None and not one.in_line and one.options == (("--after", "diagnosis"),)
    assert options(seen, "--after") == []


# --- values that nobody can have --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "wild"),
    [
        ("ap_hi", np.rint(NOISE[:, 2] * 15 + 125), 16020),
        ("systolic_bp", np.rint(NOISE[:, 2] * 15 + 125), -150),
        ("age", np.rint(NOISE[:, 2] * 9 + 55), 455),
        ("BMI", NOISE[:, 2] * 3 + 26, 900),
    ],
)
def test_values_that_no_patient_can_have(name: str, values: np.ndarray, wild: float) -> None:
    assert named(look(table(**{name: values}), "ill"), "implausible") is None
    values = values.copy()
    values[7] = wild
    one = named(look(table(**{name: values}), "ill"), "implausible")
    assert one is not None and one.columns == (name,) and f"1 cell such as {wild:,}" in one.sentence
    # An age in days is another unit, and nothing is known of other names.
    assert named(look(table(**{name: values * 365}), "ill"), "implausible") is None
    assert named(look(table(**{f"{name}_score": values}), "ill"), "implausible") is None


# --- lines that a fit would refuse ------------------------------------------------------------------------


def test_columns_are_judged_in_the_rows_that_a_fit_uses(tmp_path: Path) -> None:
    ill = [None if k % 4 == 0 else int(ILL[k]) for k in range(N)]
    columns = table(flag=(np.arange(N) % 4 == 0).astype(int)).set_column(3, "ill", pa.array(ill))
    seen = look(columns, "ill")
    assert options(seen, "--drop") == ["flag"] and seen.n_rows == N
    arrow_csv.write_csv(columns, tmp_path / "t.csv")
    line = fit_arguments(seen, tmp_path / "t.csv")
    assert line is not None
    ok(*line[:-1], tmp_path / "m.rci")


def test_rows_in_which_nothing_was_measured() -> None:
    holes = np.arange(N) < 2
    columns = {name: np.where(holes, np.nan, NOISE[:, k]) for k, name in enumerate("ab")}
    seen = look(pa.table({**columns, "ill": ILL}), "ill")
    one = named(seen, "nothing measured")
    assert one is not None and "2 rows have no value" in one.sentence
    assert fit_arguments(seen, "t.csv") is None


def test_a_copy_with_holes_of_a_column_with_levels() -> None:
    arm = np.arange(N) * 7 % 11 % 3
    card = [["ad", "joke", None][k] for k in arm]
    assert options(look(table(ad=(arm == 0).astype(int), card=card), "ill"), "--drop") == ["card"]


def test_what_becomes_a_copy_once_holes_are_filled_is_left_out(tmp_path: Path) -> None:
    rare = (np.arange(N) == 21).astype(int)
    seldom = np.where(np.arange(N) % 14 == 7, rare, np.nan)
    yes = np.where(np.isnan(seldom), None, np.where(seldom == 1, "yes", "no"))
    path = tmp_path / "t.csv"
    columns = {"seldom": pa.array(seldom, from_pandas=True), "rare": rare, "yes": yes[::-1].tolist()}
    columns["late"] = np.where(np.arange(N) == N - 22, 3.0, 2.0)
    arrow_csv.write_csv(table(**columns), path)
    said = json.loads(ok("look", path, "--target", "ill", "--json"))
    assert [one["columns"] for one in said["findings"] if one["name"] == "copy"] == [["seldom", "yes"]]
    ok(*said["fit"]["arguments"][:-1], tmp_path / "model.rci")


def test_texts_with_as_many_levels_as_half_of_the_rows() -> None:
    teams = {"team": [f"t{k % 12}" for k in range(20)], "a": NOISE[:20, 0], "ill": [0, 1] * 10}
    assert options(look(pa.table(teams), "ill"), "--drop") == ["team"]
    more = {"team": [*teams["team"], *["unknown"] * 20], "a": NOISE[:40, 0], "ill": [0, 1] * 20}
    assert options(look(pa.table(more), "ill"), "--drop") == ["team"]


def test_what_is_missing_in_one_arm_does_not_tell_the_arm() -> None:
    arm = np.where(np.arange(N) % 5 < 2, "treated", "control")
    done = np.where(arm == "treated", np.array(["yes", "no", "partly"])[np.arange(N) // 5 % 3], None)
    seen = look(table(arm=arm, done=done.tolist()), "ill")
    assert named(seen, "coarser") is None and "arm" not in options(seen, "--drop")
    # One that is known wherever the other is says all that it says.
    arm, done = arm.astype(object), np.where(arm == "treated", done, "none")
    arm[::9] = None
    seen = look(table(arm=arm.tolist(), done=done.tolist()), "ill")
    assert options(seen, "--drop") == ["arm"]


# --- what a new user stumbled on ----------------------------------------------------------------------------


def test_a_code_that_columns_have_in_the_same_rows() -> None:
    """Of five questions that 40 patients were not asked, 2 beside 0 and 1 is no more of it."""
    asked = {f"q{k}": np.where(np.arange(N) % 5 == 0, 2, NOISE[:, k] > 0.4).astype(int) for k in range(4)}
    seen = look(table(**asked, stage=np.arange(N) % 3), "ill")
    assert options(seen, "--na") == ["q0=2", "q1=2", "q2=2", "q3=2"]
    twins = {f"t{k}": np.where(NOISE[:, 0] > 1, 2, NOISE[:, 0] > 0.4).astype(int) for k in range(3)}
    assert options(look(table(**twins), "ill"), "--na") == []  # copies, not codes


def test_a_logarithm_is_a_copy_on_another_scale() -> None:
    count = RNG.integers(1, 90, N)
    seen = look(table(count=count, log_count=np.log(count / 4).round(4)), "ill")
    assert options(seen, "--drop") == ["log_count"]


def test_what_was_computed_from_two_others() -> None:
    weight, height = np.exp(4.3 + 0.2 * NOISE[:, 2]).round(1), (170 + 9 * NOISE[:, 3]).round()
    seen = look(table(weight=weight, height=height, bmi=(weight / (height / 100) ** 2).round(1)), "ill")
    (found,) = [one for one in seen.findings if one.name == "computed"]
    assert "'weight' from 'height' and 'bmi'" in found.sentence and not found.in_line
    total = look(
        table(part=NOISE[:, 2], other=NOISE[:, 3], total=(NOISE[:, 2] + NOISE[:, 3]).round(3)), "ill"
    )
    assert named(total, "computed") is not None
    noisy = look(table(part=NOISE[:, 2], other=NOISE[:, 3], total=NOISE[:, 2:5].sum(axis=1)), "ill")
    assert named(noisy, "computed") is None


def test_a_sampling_weight_is_no_body_weight() -> None:
    survey = np.where(np.arange(N) % 25 == 0, 0, np.exp(5 + 2 * NOISE[:, 2])).round(1)
    seen = look(table(weight=survey), "ill")
    assert options(seen, "--weights") == ["weight"] and options(seen, "--drop") == options(seen, "--na") == []
    body = np.where(np.arange(N) % 25 == 0, 0, 70 + 12 * NOISE[:, 2]).round(1)
    seen = look(table(weight=body), "ill")
    assert options(seen, "--drop") == [] and options(seen, "--na") == ["weight=0"]


@pytest.mark.parametrize("name", ["Group", "arm", "sex", "health", "good_health", "viral_suppression"])
def test_groups_and_who_is_well_are_asked_about(name: str) -> None:
    seen = look(pa.table({"a": NOISE[:, 0], "b": NOISE[:, 1], name: ILL}), name)
    assert options(seen, "--positive") == ["LABEL"]


def test_what_goes_with_what_comes_after_goes_too() -> None:
    """The states beside times that often are those of follow-up, and what is known where such a time is."""
    time = RNG.exponential(900, N).round()
    relapse = np.where(NOISE[:, 2] > 0, time, (time * 0.4).round())
    known = NOISE[:, 3] > 0.5
    later = {"rel": relapse, "rel.s": (NOISE[:, 2] <= 0).astype(int)}
    late = pa.array(np.where(known, RNG.exponential(300, N), np.nan).round(), from_pandas=True)
    kind = pa.array(np.where(known, (NOISE[:, 4] > 0) + 1.0, np.nan), from_pandas=True)
    seen = look(table(time=time, ptime=late, kind=kind, **later), "ill", time="time")
    assert sorted(options(seen, "--after")) == ["kind", "ptime", "rel", "rel.s"]


def test_a_class_of_what_comes_after_goes_too() -> None:
    weeks = (39 + 2 * NOISE[:, 2]).round()
    seen = look(table(weeks=weeks, premature=(weeks < 37).astype(int)), "ill")
    assert sorted(options(seen, "--after")) == ["premature", "weeks"]


def test_below_the_limit_belongs_to_the_number_that_was_measured() -> None:
    seen = look(table(RNA=np.exp(NOISE[:, 2]), RNAcens=(NOISE[:, 2] < -1).astype(int)), "RNA")
    assert options(seen, "--after") == ["RNAcens"]


def test_calendar_years_of_two_digits() -> None:
    seen = look(table(yronset=85 + np.arange(N) % 9, age_yr=50 + np.arange(N) * 7 % 30), "ill")
    (found,) = [one for one in seen.findings if one.name == "calendar year"]
    assert found.columns == ("yronset",)


def test_small_sites_stay_out() -> None:
    seen = look(table(inst=np.arange(N) * 7 % 19 + 1), "ill")
    assert options(seen, "--drop") == ["inst"] and options(seen, "--covariate") == []
    assert options(seen, "--kind") == []
