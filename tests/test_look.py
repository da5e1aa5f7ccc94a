"""rootcausal look: each finding fires on its case, and stays silent on a near miss."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from command_line import error, ok, run
from scipy.stats import rankdata

from rootcausal.data import load_pbc, simulate
from rootcausal.name_hints.columns import near, says_end, says_id
from rootcausal.profiling.fit_line import as_line, fit_arguments
from rootcausal.profiling.look import Look, look
from rootcausal.screening.auc import rank_auc

N = 200
RNG = np.random.default_rng(3)
NOISE = RNG.standard_normal((N, 6))
ILL = (RNG.random(N) < 0.35).astype(int)
ILL[:3] = 1
OPTIONS_OF_FIT = {
    "--target",
    "--positive",
    "--negative",
    "--id",
    "--after",
    "--drop",
    "--na",
    "--kind",
    "--covariate",
    "--out",
}


def table(**columns: Any) -> pa.Table:
    """Two clean columns, a target, and those given."""
    return pa.table({"a": NOISE[:, 0], "b": NOISE[:, 1], **columns, "ill": ILL})


def names(seen: Look) -> set[str]:
    return {finding.name for finding in seen.findings}


def found(name: str, target: str | None = "ill", **columns: Any) -> tuple[str, ...] | None:
    """The columns of one finding, or None where it is not there."""
    for finding in look(table(**columns), target).findings:
        if finding.name == name:
            return finding.columns
    return None


def kind(column: Any) -> str:
    return look(pa.table({"column": column})).columns[0].kind


# --- clean tables -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_rows", "n_variables"), [(40, 6), (300, 12), (1000, 30)])
def test_simulated_cohorts_give_no_findings(n_rows: int, n_variables: int) -> None:
    for seed in range(5):
        drawn = simulate(n_samples=n_rows, n_variables=n_variables, random_state=seed)
        columns = dict(zip(drawn.feature_names, drawn.X.T, strict=True))
        # As even as the generator draws them, classes may look chosen; that is asked elsewhere.
        assert names(look(pa.table({**columns, "d": drawn.y}), "d")) <= {"sampling"}


@pytest.mark.parametrize("complete", [True, False])
def test_of_pbc_only_the_ids_are_found(complete: bool) -> None:
    seen = look(load_pbc(complete=complete).to_frame(), "died")
    assert [(one.name, one.columns) for one in seen.findings] == [("id", ("id",))]


def test_columns_that_only_sound_or_look_odd_are_left_alone() -> None:
    columns = {
        "protime": NOISE[:, 2] + 10,
        "smoking_status": np.arange(N) // 2 % 3,
        "uric_acid": np.rint(NOISE[:, 3] * 40 + 300),
        "age_at_diagnosis": np.rint(NOISE[:, 4] * 9 + 60),
        "family_history_of_death": np.arange(N) // 9 % 2,
        "pregnancies": np.arange(N) % 13,
        "siblings": np.minimum(np.arange(N) % 11, 9),
        "gleason": 6 + np.arange(N) // 7 % 4,
        "change": np.arange(N) % 3 - 1,
        "bp": [f"{120 + k % 40}/{70 + k % 20}" for k in range(20)] * 10,
        "pack_years": np.where(np.arange(N) % 3, np.abs(NOISE[:, 5]) * 20 + 1, 0.0),
        "year": np.arange(N) % 12 / 2,
        "cd4": 1990 + np.arange(N) % 17,
        "birth_year": 1930 + np.arange(N) % 40,
        "seen_at_time": np.where(NOISE[:, 5] > 0.3, "08:30", np.where(NOISE[:, 4] > 0, "9:15", "12:05")),
        "Start": np.arange(N) % 19,
        "menostat": np.arange(N) // 3 % 2,
    }
    assert names(look(table(**columns), "ill")) == set()


# --- what a column is -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (NOISE[:, 0], "number"),
        (np.arange(N) % 2, "binary"),
        (np.arange(N) % 2 == 0, "binary"),
        (["m", "f"] * (N // 2), "binary"),
        (np.arange(N) % 4, "ordinal"),
        (["x", "y", "z", "w"] * (N // 4), "nominal"),
        (pa.DictionaryArray.from_arrays([0, 1, 2, 1] * 50, ["low", "mid", "high"], ordered=True), "ordinal"),
        ([f"p{k}" for k in range(N)], "id"),
        (np.arange(N), "id"),
        (np.arange(N) * 7 + 100_000, "id"),
        (np.roll(np.arange(N) * 7, 3), "number"),
        (["2001-02-03"] * N, "date"),
        (["3/2/2001", "4/12/99"] * (N // 2), "date"),
        (["03FEB2001"] * N, "date"),
        (pa.array([0] * N, pa.date32()), "date"),
        ([f"note {k % 150} of many" for k in range(N)], "text"),
        ([f"a long note about patient {k}" for k in range(N)], "text"),
        ([None] * N, "empty"),
        (["", "NA"] * (N // 2), "empty"),
        ([3] * N, "constant"),
        (["yes", None] * (N // 2), "constant"),
        ([[1]] * N, "text"),
    ],
)
def test_kinds(column: Any, expected: str) -> None:
    assert kind(column) == expected


def test_what_is_said_of_a_column() -> None:
    one = look(pa.table({"x": [2.5, None, 7.0, 2.5], "sex": ["m", "f", "f", " f "]}))
    x, sex = one.columns
    assert (x.n_different, x.n_missing, x.share_missing, x.range, x.example) == (
        2,
        1,
        0.25,
        (2.5, 7.0),
        "2.5",
    )
    assert (sex.levels, sex.range, sex.n_different) == ((("f", 3), ("m", 1)), None, 2)


def test_dates_and_empty_columns_are_found() -> None:
    seen = look(table(seen_on=["2001-02-03"] * N, nothing=[None] * N, same=[1] * N), "ill")
    assert {one.name: one.columns for one in seen.findings} == {
        "date": ("seen_on",),
        "empty": ("nothing",),
        "constant": ("same",),
    }


def test_columns_that_are_mostly_missing() -> None:
    holes = np.where(np.arange(N) % 10 < 6, np.nan, NOISE[:, 2])
    assert found("mostly missing", lab=holes) == ("lab",)
    assert found("mostly missing", lab=np.where(np.arange(N) % 10 < 5, np.nan, NOISE[:, 2])) is None
    assert found("nearly empty", lab=np.where(np.arange(N) < N - 3, np.nan, NOISE[:, 2])) == ("lab",)
    stars = ["*" if k < N - 3 else str(k) for k in range(N)]
    assert found("nearly empty", lab=stars) == ("lab",)


def test_infinite_values() -> None:
    values = NOISE[:, 2].copy()
    assert found("too large", lab=values) is None
    values[5] = np.inf
    assert found("too large", lab=values) == ("lab",)


# --- ids and repeated patients ----------------------------------------------------------------------------


def test_the_patients_id_is_told_from_other_ids_and_row_numbers() -> None:
    ids = [f"v{k}" for k in range(N)]
    seen = look(
        table(**{"": np.arange(N), "row": np.arange(1, N + 1), "visit": ids, "PatientID": ids}), "ill"
    )
    arguments = fit_arguments(seen, "t.csv")
    assert arguments is not None
    assert arguments[arguments.index("--id") + 1] == "PatientID"
    dropped = [arguments[k + 1] for k, word in enumerate(arguments) if word == "--drop"]
    assert dropped == ["", "row", "visit"]


def test_repeated_patients_are_counted() -> None:
    seen = look(table(patient=np.arange(N) // 4 * 37), "ill")
    (one,) = [finding for finding in seen.findings if finding.name == "repeated patients"]
    assert "200 rows of 50 patients" in one.sentence
    assert one.options == (("--id", "patient"),)
    assert found("repeated patients", patients_in_ward=np.arange(N) // 4 * 37) is None


def test_the_users_id_is_believed() -> None:
    seen = look(table(code=np.arange(N) // 4, id=np.arange(N)), "ill", "code")
    assert {one.columns for one in seen.findings if one.name == "repeated patients"} == {("code",)}
    assert {one.options for one in seen.findings if "id" in one.columns} == {(("--drop", "id"),)}


def test_repeated_rows() -> None:
    twice = pa.concat_tables([table(), table().slice(0, 3)])
    assert "repeated rows" in names(look(twice, "ill"))
    assert "3 rows are there again" in look(twice, "ill").findings[0].sentence
    # With an exported row number they are still the same; of few coarse columns, some always agree.
    numbered = twice.append_column("row", pa.array(range(N + 3)))
    assert "equal in every column: remove" in look(numbered, "ill").findings[-1].sentence
    # Patients who are numbered may be different ones.
    for name, chosen in (("id", None), ("row", "row")):
        apart = twice.append_column(name, pa.array(range(N + 3)))
        (said,) = [one.sentence for one in look(apart, "ill", chosen).findings if one.name == "repeated rows"]
        assert f"3 rows are there again, equal in every column but '{name}': different patients" in said
    assert found("repeated rows") is None
    assert names(look(pa.table({"age": np.arange(N) % 60, "sex": np.arange(N) % 2, "d": ILL}), "d")) == set()


@pytest.mark.parametrize("name", ["id", "ID", "patient_id", "RANDID", "SubjectId", "mrn", "patient"])
def test_names_of_ids(name: str) -> None:
    assert says_id(name)


@pytest.mark.parametrize("name", ["uric_acid", "lipid", "steroid", "covid", "width", "patients"])
def test_names_that_are_not_of_ids(name: str) -> None:
    assert not says_id(name)


# --- codes ------------------------------------------------------------------------------------------------


AGE = np.rint(NOISE[:, 2] * 12 + 60)


def with_codes(values: np.ndarray, *codes: float, times: int = 4) -> np.ndarray:
    values = values.astype(float).copy()
    for place, code in enumerate(codes):
        values[10 * place : 10 * place + times] = code
    return values


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        (with_codes(AGE, 999), ["999"]),
        (with_codes(AGE, 888, 999), ["888", "999"]),
        (with_codes(AGE, -9), ["-9"]),
        (with_codes(np.arange(N) % 20, -1), ["-1"]),
        (with_codes(np.arange(N) % 3 + 1, 9), ["9"]),
        (with_codes(np.arange(N) % 2, -9), ["-9"]),
        (with_codes(AGE, 999, times=2), []),
        (with_codes(AGE, 99), []),  # somebody may be 99
        (with_codes(NOISE[:, 3] * 400, 999), []),
        (with_codes(np.arange(N) % 3 - 1, -1), []),
        (with_codes(np.arange(N) % 6 + 1, 7), []),
        (with_codes(NOISE[:, 3] * 3, -1), []),
        (np.where(ILL == 1, 999.0, 0.0)[::-1], []),
    ],
)
def test_codes_for_missing(values: np.ndarray, codes: list[str]) -> None:
    seen = look(table(lab=values), "ill")
    said = [one.options[0][1] for one in seen.findings if one.name == "code for missing"]
    assert sorted(said) == sorted(codes)


# Below 100, where all numbers are below 1, is no limit of theirs.
@pytest.mark.parametrize("word", ["?", ".", "unknown", "Not done", "<100", "n.d."])
def test_words_among_numbers(word: str) -> None:
    texts = [word if k in (3, 9) else f"{x:.3f}" for k, x in enumerate(NOISE[:, 2])]
    seen = look(table(lab=texts), "ill")
    (one,) = seen.findings
    assert (one.name, one.columns, one.options) == ("code for missing", ("lab",), (("--na", word),))
    assert "2 cells" in one.sentence
    facts = next(column for column in seen.columns if column.name == "lab")
    assert facts.kind == "number"
    assert facts.range == (round(NOISE[:, 2].min(), 3), round(NOISE[:, 2].max(), 3))


def test_levels_are_no_words_among_numbers() -> None:
    assert found("code for missing", nodes=["0", "1", "2", "3+"] * 50) is None
    assert found("code for missing", ward=["A", "B", "unknown", "C"] * 50) == ("ward",)


def test_a_code_that_another_column_means_is_named_for_its_columns_only() -> None:
    seen = look(table(lab=with_codes(AGE, 999), dose=NOISE[:, 3] * 10 + 999 * (np.arange(N) == 7)), "ill")
    assert [one.options for one in seen.findings if one.name == "code for missing"] == [(("--na", "999"),)]
    dose = np.rint(NOISE[:, 3] * 300 + 1000)
    dose[:2] = 999
    seen = look(table(lab=with_codes(AGE, 999), dose=dose), "ill")
    (one,) = [finding for finding in seen.findings if finding.name == "code for missing"]
    assert one.in_line and one.options == (("--na", "lab=999"),)
    assert "In 'dose' the same may be a value" in one.sentence


def test_zero_in_a_lab_that_is_never_zero() -> None:
    glucose = np.rint(NOISE[:, 2] * 20 + 120)
    zeros = with_codes(glucose, 0, times=6)
    assert found("zero for missing", marker=zeros) == ("marker",)
    (one,) = look(table(marker=zeros, insulin=zeros[::-1]), "ill").findings
    assert one.in_line and one.options == (("--na", "marker=0"), ("--na", "insulin=0"))
    assert found("zero for missing", marker=with_codes(glucose, 0, times=2)) is None
    # Half without: a dose that many do not take; of glucose, that cannot be.
    half = np.where(np.arange(N) % 2, glucose, 0)
    assert found("zero for missing", dose=half) is None
    assert found("zero for missing", Glucose=half) == ("Glucose",)
    assert found("zero for missing", glucose=np.arange(N) % 60) is None


# --- copies -----------------------------------------------------------------------------------------------


def test_copies_in_another_unit_or_coding() -> None:
    sex = np.arange(N) * 7 % 5 // 2 % 2
    columns = {
        "kg": NOISE[:, 2] * 9 + 70,
        "lb": np.round((NOISE[:, 2] * 9 + 70) * 2.2046, 1),
        "sex": np.where(sex, "m", "f"),
        "female": 1 - sex,
        "group": np.arange(N) * 3 % 7 % 3,
        "arm": [("x", "y", "z")[k] for k in np.arange(N) * 3 % 7 % 3],
    }
    assert found("copy", **columns) == ("lb", "female", "arm")
    columns["lb"] = columns["lb"] + 0.4 * NOISE[:, 3]
    columns["female"] = np.r_[sex[:1], 1 - sex[1:]]
    columns["arm"] = ["y", *columns["arm"][1:]]
    assert found("copy", **columns) is None


def test_copies_with_holes_in_other_places_are_no_copies() -> None:
    holes = NOISE[:, 2].copy()
    holes[::9] = np.nan
    assert found("copy", lab=holes, again=holes * 2) == ("again",)
    other = NOISE[:, 2].copy()
    other[::7] = np.nan
    assert found("copy", lab=holes, again=other) is None


def test_copies_in_wide_tables() -> None:
    wide = np.random.default_rng(0).standard_normal((30, 500))
    wide[:, 400] = 3 - 2 * wide[:, 17]
    seen = look(pa.table({f"g{k}": column for k, column in enumerate(wide.T)}))
    assert [(one.name, one.columns) for one in seen.findings] == [("copy", ("g400",))]


# --- what tells the outcome -------------------------------------------------------------------------------


def test_area_under_the_curve_counts_pairs() -> None:
    scores = np.rint(NOISE[:40, 0] * 2)
    ill = ILL[:40]
    cases, controls = scores[ill == 1], scores[ill == 0]
    pairs = [(c > h) + 0.5 * (c == h) for c in cases for h in controls]
    assert rank_auc(rankdata(scores), ill) == pytest.approx(np.mean(pairs), abs=1e-15)


def test_a_column_that_decides_the_outcome() -> None:
    assert found("decides", marker=NOISE[:, 2] + 9 * ILL) == ("marker",)
    assert found("decides", marker=NOISE[:, 2] - 9 * ILL) == ("marker",)
    assert found("decides", marker=NOISE[:, 2] + 1.5 * ILL) is None
    # Of levels with few rows, none says it alone, but all of them do.
    cause = [f"{'ill' if ill else 'well'} {k % 12}" for k, ill in enumerate(ILL)]
    assert found("decides", cause=cause) == ("cause",)
    assert found("decides", cause=[f"level {k % 28}" for k in range(N)]) is None


def test_a_good_measurement_is_the_users_to_decide() -> None:
    for shift, expected in ((1.9, "nearly decides"), (3.3, "decides")):
        marker = np.random.default_rng(0).standard_normal(N) + shift * ILL * np.sqrt(1.6)
        (one,) = look(table(marker=marker), "ill").findings
        assert (one.name, one.options) == (expected, (("--drop", "marker"),))
        assert one.in_line == (expected == "decides")


def test_a_level_in_which_everybody_is_a_case() -> None:
    mi = np.where(ILL == 1, np.arange(N) % 2, 0)
    seen = look(table(mi=mi, kind=np.where(mi == 1, "infarct", np.where(np.arange(N) % 3, "x", "y"))), "ill")
    (one,) = seen.findings
    assert (one.name, one.columns, one.in_line) == ("part of the outcome", ("mi", "kind"), True)
    assert f"'mi' (= 1, {mi.sum()} rows)" in one.sentence and "(= infarct," in one.sentence
    # One control with it, few rows, or many cases: chance, or a strong cause.
    almost = mi.copy()
    almost[np.flatnonzero(ILL == 0)[0]] = 1
    assert found("part of the outcome", mi=almost) is None
    assert found("part of the outcome", mi=mi * (np.cumsum(mi) < 20)) is None
    common = (np.arange(N) % 10 > 0).astype(int)
    rare = pa.table({"a": NOISE[:, 0], "mi": common * (np.arange(N) % 9 == 1), "ill": common})
    assert names(look(rare, "ill")) == set()


def test_few_cases_decide_nothing() -> None:
    few = np.zeros(60, int)
    few[:4] = 1
    assert names(look(pa.table({"x": np.arange(60.0)[::-1] + 0.5, "ill": few}), "ill")) == set()


def test_a_column_whose_absence_tells_the_outcome() -> None:
    seen = look(table(lab=np.where(ILL == 1, np.nan, NOISE[:, 2])), "ill")
    (one,) = seen.findings
    assert one.name == "absence tells" and one.options == (("--drop", "lab"),) and one.in_line
    assert "missing in 100% of cases and 0% of controls" in one.sentence
    only_cases = np.where((ILL == 1) & (np.arange(N) % 3 == 0), NOISE[:, 2], np.nan)
    assert found("absence tells", lab=only_cases) == ("lab",)
    partly = np.where((ILL == 1) & (np.arange(N) % 2 == 0), np.nan, NOISE[:, 2])
    (one,) = look(table(lab=partly), "ill").findings
    assert one.name == "absence tells" and not one.in_line
    assert found("absence tells", lab=np.where(np.arange(N) % 3 == 0, np.nan, NOISE[:, 2])) is None


AFTER = (
    "time days d.time futime follow_up death DiedInHospital status vital_status TIMEDTH survtime censored "
    "ptime rtime pgtime time_in_hospital uncensored_time_treated event.time "
    "recurrence relapse_free event os outcome final_diagnosis timetodeath"
)
NOT_AFTER = (
    "protime prothrombin.time smoking_status marital.status ecog_status bleeding_time survey census "
    "timed_walk age_at_diagnosis days_on_drug prior_relapse family_death_history lifetime diagtime "
    "time_since_diagnosis time_of_day bedtime pttime start stop pstat"
)


@pytest.mark.parametrize("name", AFTER.split())
def test_names_of_what_comes_after(name: str) -> None:
    assert says_end(name)
    assert found("after the outcome", **{name: NOISE[:, 2]}) == (name,)


@pytest.mark.parametrize("name", NOT_AFTER.split())
def test_names_of_what_does_not(name: str) -> None:
    assert not says_end(name)


def test_names_that_are_an_end_beside_others() -> None:
    whole = np.rint(np.abs(NOISE[:, 2:5]) * 99).T
    assert found("after the outcome", start=whole[0], stop=whole[1]) == ("start", "stop")
    assert found("after the outcome", start=whole[0], surgery=whole[1]) is None
    assert found("after the outcome", ptime=whole[0], pstat=np.arange(N) // 2 % 2) == ("ptime", "pstat")
    assert found("after the outcome", pstat=np.arange(N) // 2 % 2) is None


def test_numbers_that_go_with_follow_up() -> None:
    time = np.exp(NOISE[:, 2])
    like = np.where(np.arange(N) % 7, time**2 + 0.1 * NOISE[:, 3] ** 2, np.nan)
    seen = look(table(futime=time, interval=like), "ill")
    (one,) = [finding for finding in seen.findings if finding.name == "goes with follow-up"]
    assert one.columns == ("interval",) and one.in_line and "with 'futime'" in one.sentence
    assert found("goes with follow-up", futime=time, interval=np.log(time) + NOISE[:, 3]) is None
    assert found("goes with follow-up", dose=time, interval=like) is None


@pytest.mark.parametrize("name", ["year", "dxyr", "sample.yr", "YearOfDiagnosis"])
def test_calendar_years_are_the_users_to_decide(name: str) -> None:
    seen = look(table(**{name: 1990 + np.arange(N) % 12}), "ill")
    (one,) = seen.findings
    assert (one.name, one.columns, one.in_line) == ("calendar year", (name,), False)
    assert found("calendar year", **{name: np.arange(N) % 12}) is None


def test_levels_that_are_an_end() -> None:
    assert found("after the outcome", seen_at=["home", "died at home", "ward", "ward"] * 50) == ("seen_at",)
    assert found("after the outcome", seen_at=["home", "icu", "ward", "ward"] * 50) is None


def test_names_like_the_targets() -> None:
    assert (
        near("stroke_30d", "stroke")
        and near("t.tdm", "e.tdm")
        and near("AnyStroke", "stroke")
        and not near("ph", "phd")
    )
    assert not near("blood_pressure", "high_blood") and not near("case_mix", "ill")


def test_kinds_that_names_and_levels_say() -> None:
    assert found("codes", site=np.arange(N) % 5) == ("site",)
    assert found("codes", size=np.arange(N) % 5) is None
    assert found("order", stage=["I", "II", "III", "IV"] * 50) == ("stage",)
    assert found("order", ward=["1", "2", "3", "4a"] * 50) is None


@pytest.mark.parametrize(
    ("levels", "order"),
    [
        (["under $11k", "$25-$50k", ">$50k", "$11-$25k"], "under $11k < $11-$25k < $25-$50k < >$50k"),
        (["60+", "0-19", "20-39", "40-59"], "0-19 < 20-39 < 40-59 < 60+"),
        (["20-50", "<=20", ">50", "unknown"], "<=20 < 20-50 < >50"),
        (["0-19", "10-29", "30-39", "40+"], None),
        (["0-19", "20-39", "n40", "40+"], None),
        (["120-80", "130-90", "110-70", "60+"], None),
    ],
)
def test_ranges_in_order(levels: list[str], order: str | None) -> None:
    said = [one for one in look(table(x=levels * 50), "ill").findings if one.name == "order"]
    assert [one.options for one in said] == ([(("--kind", "x=ordinal"),)] if order else [])
    assert not order or f"({order})" in said[0].sentence


# --- the target -------------------------------------------------------------------------------------------


def target_of(values: Any) -> Any:
    return look(pa.table({"a": NOISE[: len(values), 0], "y": values}), "y").target


@pytest.mark.parametrize(
    ("values", "disease", "healthy", "guessed"),
    [
        ([0, 1] * 20, "1", "0", False),
        ([True, False] * 20, "true", "false", False),
        (["Yes", "no"] * 20, "yes", "no", False),
        ([1, 2] * 20, "2", "1", True),
        (["dead", "alive"] * 20, "dead", "alive", False),
        (["pos", "neg"] * 20, "pos", "neg", False),
        (["Y", "N"] * 20, "y", "n", False),
        (["absent", "present"] * 20, "present", "absent", False),
        (["malignant", "benign"] * 20, "malignant", "benign", False),
        (["M", "B"] * 20, "M", "B", True),
        ([0, 1, 2, 0] * 10, "2", "0", True),
        (["relapse", "censored", "other", "other"] * 10, "relapse", "censored", False),
    ],
)
def test_labels(values: Any, disease: str, healthy: str, guessed: bool) -> None:
    target = target_of(values)
    assert (target.disease, target.healthy, target.guessed) == (disease, healthy, guessed)


@pytest.mark.parametrize("values", [[1] * 40, [None] * 40, [f"t{k}" for k in range(40)]])
def test_targets_that_are_none(values: Any) -> None:
    seen = look(pa.table({"a": NOISE[:40, 0], "y": pa.array(values)}), "y")
    assert seen.target is not None and seen.target.disease is None
    assert "target" in names(seen)
    assert fit_arguments(seen, "t.csv") is None


def test_rows_without_a_label_and_other_labels_are_counted() -> None:
    seen = look(pa.table({"a": NOISE[:40, 0], "y": [0, 1, 2, None] * 10}), "y")
    sentences = " ".join(one.sentence for one in seen.findings)
    assert (
        "'1' (10), '2' (10), do not say which is the disease and which" in sentences
        and "10 rows without a label" in sentences
    )
    line = fit_arguments(seen, "t.csv")
    assert line is not None and line[2:8] == ["--target", "y", "--positive", "LABEL", "--negative", "LABEL"]


@pytest.mark.parametrize("target", ["y", "relapse"])
def test_labels_that_say_it_are_in_the_line(target: str) -> None:
    ill = "died" if target == "y" else "relapse, any"
    seen = look(pa.table({"a": NOISE[:40, 0], target: [ill, "alive", "lost", "lost"] * 10}), target)
    line = fit_arguments(seen, "t.csv")
    assert line is not None and line[4:8] == ["--positive", ill, "--negative", "alive"]
    assert "The 20 rows with other labels" in seen.findings[0].sentence


def test_open_labels_on_the_page(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", pa.table({"a": NOISE[:40, 0], "status": [1, 2, 3, 2] * 10}))
    printed = ok("look", path, "--target", "status")
    assert "is the disease (" not in printed and "put labels in the place of LABEL" in " ".join(
        printed.split()
    )
    assert printed.rstrip().endswith("--positive LABEL --negative LABEL --out model.rci")


def test_even_classes_are_asked_about() -> None:
    assert "sampling" in names(look(pa.table({"a": NOISE[:, 0], "y": np.arange(N) % 2}), "y"))


def test_without_a_target_nothing_is_guessed() -> None:
    seen = look(table(status=np.arange(N) % 3, time=NOISE[:, 2]))
    assert seen.target is None and seen.candidates == ("status", "ill")
    assert "after the outcome" not in names(seen)
    assert fit_arguments(seen, "t.csv") is None


# --- the command ------------------------------------------------------------------------------------------


def write(path: Path, columns: pa.Table) -> Path:
    pq.write_table(columns, path) if path.suffix == ".parquet" else arrow_csv.write_csv(columns, path)
    return path


def test_the_page(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", table(time=NOISE[:, 2], patient=[f"p{k}" for k in range(N)]))
    printed = ok("look", path, "--target", "ill")
    assert f"{N} rows, 5 columns" in printed
    assert "2 things to know" in printed
    assert "--after 'time'" in printed
    *page, line = printed.rstrip().splitlines()
    assert line == f"rootcausal fit {path} --target ill --id patient --after time --out model.rci"
    assert max(len(text) for text in page[1:]) <= 80
    again = ok("look", path).rstrip().splitlines()
    assert again[-1] == f"rootcausal look {path} --target ill"


def test_wide_tables_are_cut_on_screen_and_whole_in_json(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", pa.table({f"g{k}": NOISE[:, k % 6] ** (k + 1) for k in range(90)}))
    assert "and 30 columns more" in ok("look", path)
    assert len(json.loads(ok("look", path, "--json"))["columns"]) == 90


def test_json_has_its_keys_and_nothing_else_is_printed(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", table(time=NOISE[:, 3], lab=with_codes(AGE, 999), stage=[1, 2] * 100))
    result = run("look", path, "--target", "ill", "--json")
    page = json.loads(result.stdout)
    assert result.stderr == ""
    keys = "version file rows rows_asked columns target outcome time strata start candidates pairs"
    keys += " findings suggested fit"
    assert set(page) == set(keys.split())
    keys = "name kind different missing missing_share range levels example"
    assert set(page["columns"][0]) == set(keys.split())
    keys = "name columns sentence options in_fit"
    assert set(page["findings"][0]) == set(keys.split())
    assert page["target"]["labels"] == [
        {"level": "0", "rows": int((ILL == 0).sum())},
        {"level": "1", "rows": int(ILL.sum())},
    ]
    assert page["fit"]["line"] == shlex.join(["rootcausal", *page["fit"]["arguments"]])
    assert "--na" in page["fit"]["arguments"]


def messy_tables() -> dict[str, pa.Table]:
    """Tables whose line needs no option that is not there for numbers without holes."""
    ids = [f"p{k}" for k in range(N)]
    return {
        "an index, an id and a time": table(**{"": np.arange(N), "id": ids, "futime": NOISE[:, 2]}),
        "labels of words": table().set_column(2, "ill", pa.array(np.where(ILL, "Dead", "Survived"))),
        "names to quote": table(**{"it's; $x `y`": ["2001-02-03"] * N, "--out": [1] * N, "a b": NOISE[:, 3]}),
        "copies and notes": table(c=NOISE[:, 0] * 3, note=[f"note {k} here" for k in range(N)], e=[None] * N),
        "decided": table(marker=NOISE[:, 2] + 9 * ILL, lab=[3.5] * N),
    }


@pytest.mark.parametrize("which", messy_tables())
def test_the_line_runs_as_pasted(which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "my 'cohort'.csv", messy_tables()[which])
    line = ok("look", path.name, "--target", "ill").rstrip().splitlines()[-1]
    program, *arguments = shlex.split(line)
    assert program == "rootcausal"
    ok(*arguments)
    assert (tmp_path / "model.rci").exists()


def test_a_file_that_looks_like_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "-t.csv", table())
    line = ok("look", "./-t.csv", "--target", "ill").rstrip().splitlines()[-1]
    ok(*shlex.split(line)[1:])
    assert as_line(fit_arguments(look(table(), "ill"), "-t.csv") or []).startswith("rootcausal fit ./-t.csv ")


def test_the_line_has_no_other_options() -> None:
    columns = {
        "site": np.arange(N) % 5,
        "lab": with_codes(AGE, 999),
        "stage": ["I", "II", "III", "?"] * 50,
        "y": np.where(ILL, 2, np.arange(N) % 2),
    }
    line = fit_arguments(look(table(**columns).drop_columns(["ill"]), "y"), "t.csv")
    assert line is not None
    options = {word for word in line if word.startswith("--")}
    assert options == OPTIONS_OF_FIT - {"--id", "--after", "--drop"}
    assert "site=nominal" in line and "stage=ordinal" not in line[: line.index("--kind")]


def test_fit_and_check_warn_in_few_lines(cohort: Path) -> None:
    drawn = arrow_csv.read_csv(cohort).drop_columns(["patient"])
    noise = np.random.default_rng(0).standard_normal((200, 3))
    for name, column in {"futime": noise[:, 0], "lab": with_codes(noise[:, 1] + 50, 999)}.items():
        drawn = drawn.append_column(name, pa.array(column))
    arrow_csv.write_csv(drawn, cohort)
    for command in (["fit", "--out", cohort.with_name("m.rci")], ["check"], ["check", "--json"]):
        result = run(command[0], cohort, "--target", "d", *command[1:])
        assert result.exit_code == 0, result.output
        warned = [line for line in result.stderr.splitlines() if "'futime'" in line or "'999'" in line]
        assert len(warned) == 2 and all(line.startswith("warning: ") for line in warned)
        assert "rootcausal look says" in result.stderr
    quiet = run("check", cohort, "--target", "d", "--drop", "futime", "--drop", "lab")
    assert "rootcausal look" not in quiet.stderr


def test_fit_does_not_warn_of_what_was_said(cohort: Path) -> None:
    drawn = arrow_csv.read_csv(cohort).drop_columns(["patient"])
    for name, levels in {"tgrade": ["I", "II", "III", "II"], "race": [1, 2, 3, 2, 1]}.items():
        drawn = drawn.append_column(name, pa.array((levels * 50)[:200]))
    arrow_csv.write_csv(drawn, cohort)
    arguments = ["check", cohort, "--target", "d"]
    warned = run(*arguments).stderr
    assert (
        "'tgrade' (I < II < III) has levels that say an order" in warned
        and "'race' holds whole numbers" in warned
    )
    for said in (["race=nominal", "tgrade=ordinal"], ["race=nominal", "tgrade=I<II<III"]):
        result = run(*arguments, "--kind", said[0], "--kind", said[1])
        assert result.exit_code == 0, result.output
        assert "'tgrade'" not in result.stderr and "'race'" not in result.stderr


def test_a_date_that_is_kept_does_not_count_the_rows(cohort: Path) -> None:
    drawn = arrow_csv.read_csv(cohort)
    days = pa.array(range(200), pa.int32()).cast(pa.date32())
    arrow_csv.write_csv(drawn.append_column("seen", days), cohort)
    kept = [name for name in drawn.column_names if name not in ("patient", "d")]
    result = run("check", cohort, "--target", "d", "--keep", ",".join([*kept, "seen"]))
    assert result.exit_code == 0, result.output
    assert "'seen'" not in result.stderr


def test_rows_are_copies_only_if_equal_in_the_whole_file(cohort: Path) -> None:
    drawn = arrow_csv.read_csv(cohort).drop_columns(["patient"])
    twice = pa.concat_tables([drawn, drawn.slice(0, 20)])
    visit = pa.array([f"v{k}" for k in range(220)])
    again = "20 rows are there again"
    arguments = ["check", cohort, "--target", "d"]
    arrow_csv.write_csv(twice, cohort)
    assert again in run(*arguments).stderr
    arrow_csv.write_csv(twice.append_column("visit", visit), cohort)
    for option in ("--id", "--drop"):
        result = run(*arguments, option, "visit")
        assert result.exit_code == 0, result.output
        assert again not in result.stderr and "'visit'" not in result.stderr
    same = pa.array([f"p{k % 200}" for k in range(220)])
    arrow_csv.write_csv(twice.append_column("patient", same), cohort)
    assert again in run(*arguments, "--id", "patient").stderr


def test_rows_of_repeated_patients_are_called_rows(tmp_path: Path) -> None:
    for patient, word in ((np.arange(N) // 4 * 37, "rows"), (np.arange(N) * 37, "patients")):
        path = write(tmp_path / "t.csv", table(patient=patient))
        assert f"of {N} {word}), '0' is not" in " ".join(ok("look", path, "--target", "ill").split())


def test_a_row_that_repeats_the_header(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", table(sex=["m", "f"] * (N // 2)))
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:100], lines[0], *lines[100:]]) + "\n")
    page = json.loads(ok("look", path, "--target", "ill", "--json"))
    assert [one["name"] for one in page["findings"]] == ["repeated header"]
    assert page["findings"][0]["sentence"].startswith("Row 100 repeats the header: remove it")
    assert page["rows"] == N and page["columns"][0]["kind"] == "number"
    assert page["fit"]["arguments"][2:] == ["--target", "ill", "--out", "model.rci"]
    # A row of which one cell happens to be the name is no header.
    path.write_text("\n".join([*lines[:100], '1,2,"sex",1', *lines[100:]]) + "\n")
    page = json.loads(ok("look", path, "--target", "ill", "--json"))
    assert page["rows"] == N + 1 and page["findings"] == []


# --- hostile and small tables -----------------------------------------------------------------------------


def test_hostile_names_and_cells(tmp_path: Path) -> None:
    names_of = ["[red]x[/red]", "\x1b[31mr\ned", "n" * 10_000, "=cmd()", "\u202eabc", "a,b'\"$(x)"]
    cells = ["[bold]", "\x1b]0;title\x07", "z" * 10_000, ":smile:"]
    columns: dict[str, Any] = {name: np.r_[NOISE[:, 2], k] for k, name in enumerate(names_of)}
    columns = {name: column[:N] + 0.1 * k * NOISE[:, k] for k, (name, column) in enumerate(columns.items())}
    columns["\x1b[5mtime"] = [cells[k % 4] for k in range(N)]
    columns["date\x07"] = ["2001-02-03"] * N
    path = write(tmp_path / "t.parquet", table(**columns))
    result = run("look", path, "--target", "ill")
    assert result.exit_code == 0, result.output
    assert not {c for c in result.stdout if not c.isprintable()} - {"\n"}
    assert "[red]x" in result.stdout and "[bold]" in result.stdout
    page = json.loads(ok("look", path, "--target", "ill", "--json"))
    assert {column["name"] for column in page["columns"]} >= set(names_of)
    assert page["fit"]["line"] is None and "date\x07" in page["fit"]["arguments"]
    assert "No line can be printed that every shell reads alike, because of" in " ".join(
        result.stdout.split()
    )


def test_files_without_patients(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("")
    assert "is empty" in error(3, "look", path)
    path.write_text("a,b\n")
    assert "no rows" in error(3, "look", path)
    assert "no such file" in error(3, "look", tmp_path / "other.csv")


def test_a_table_of_one_row(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,ill\n1,x,0\n")
    assert "1 row, 3 columns" in ok("look", path)
    assert "No line to fit" in ok("look", path, "--target", "ill")


def test_wrong_columns_are_named_at_once(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", table())
    message = error(3, "look", path, "--target", "il", "--id", "patient")
    assert "2 things are wrong" in message and "did you mean 'ill'" in message
    assert "both --target and --id" in error(3, "look", path, "--target", "ill", "--id", "ill")


def test_large_tables_are_asked_in_a_sample(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import rootcausal.profiling.look as module

    monkeypatch.setattr(module, "ROWS_ASKED", 60)
    seen = look(table(marker=NOISE[:, 2] + 9 * ILL, again=NOISE[:, 0] * 2), "ill")
    assert seen.n_asked == 60 and names(seen) == {"decides", "copy"}
    path = write(tmp_path / "t.csv", table())
    assert "in 60 rows spread" in " ".join(ok("look", path).split())
