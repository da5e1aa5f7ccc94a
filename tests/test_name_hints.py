"""What names of columns suggest about the causal order: asked where it disagrees, silent elsewhere."""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import ok
from hypothesis import given, settings
from hypothesis import strategies as st
from page_facts import facts_of

from rootcausal import RCI, Knowledge
from rootcausal.errors import InputError
from rootcausal.method.ordering.precedence import Opening
from rootcausal.name_hints.columns import says_first, says_treatment, tokens
from rootcausal.name_hints.order import LONGEST_TEXT, Question, as_option, ask, in_python, options, suggest
from rootcausal.name_hints.visits import in_tiers, schedules

# --- names of what comes before all else ------------------------------------------------------------------


def named(text: str, *more: str) -> list[str]:
    return [*text.split(), *more]


FIRST = named(
    """
    age AGE Age AgeYrs age_at_dx ageAtDiagnosis AGE_1 age65 age.group agecat patient_age anchor_age
    age_in_years maternal_age RIDAGEYR sex SEX SEX_M sex=male sex_at_birth Gender gender_code male
    is_male Female RIAGENDR DOB dob date_of_birth BirthDate birth_year year.of.birth yob born race RACE
    race_white Race/Ethnicity ethnicity ethnic_group hispanic arm ARM arms ARMCD treatment_arm studyArm trt
    TRT01P trtp Treatment treatment_group rx randomized randomised_arm placebo
    """,
    *("Age (years)", "Age, years", "age at enrolment", "Sex assigned at birth", "date of birth"),
)
NOT_FIRST = named(
    """
    stage percentage dosage homage average AVERAGE voltage image message passage agent aged mirage sRAGE
    AGEs bone_age gestational_age age_at_menarche age_at_menopause age_at_death age_gap age_first_birth
    biological_age iAge epigenetic.age sexuality_index sexual_activity sex_hormone_binding_globulin
    n_sex_partners sexton unisex male_partners female_fertility birth_weight birthweight stillbirth
    birth_order race_time race_pace brace trace terrace raceway armspan arm_span arm_circumference
    left_arm upperArm alarm charm harm treatment_duration prior_treatment treated_wounds
    days_on_treatment rx_count rxnorm tx random_glucose randomness x0 x1 arm1 gender_gap_score ménage
    éage Étage lineage_ß
    """,
    *("sexuality index", "percent age adjusted rate", "arms race", "", "_", "1", "  "),
)


@pytest.mark.parametrize("name", FIRST)
def test_names_that_come_first(name: str) -> None:
    assert says_first(name)


@pytest.mark.parametrize("name", NOT_FIRST)
def test_names_that_only_look_so(name: str) -> None:
    assert not says_first(name)


def test_a_treatment_is_told_from_the_rest() -> None:
    assert [name for name in FIRST if says_treatment(name)] == [
        *("arm", "ARM", "arms", "ARMCD", "treatment_arm", "studyArm", "trt", "TRT01P", "trtp"),
        *("Treatment", "treatment_group", "rx", "randomized", "randomised_arm", "placebo"),
    ]


def test_letters_beyond_ascii_belong_to_their_word() -> None:
    assert tokens("Größe_2Age") == ["grxxe", "2", "age"]


# --- names of visits --------------------------------------------------------------------------------------


def visits(names: Sequence[str]) -> dict[str, float]:
    return dict(next(iter(schedules(names)), {}))


@pytest.mark.parametrize(
    "said",
    [
        "a_1,b_1 < a_2,b_2",
        "SYSBP_1,DIABP_1 < SYSBP_2,DIABP_2 < SYSBP_3,DIABP_3,HDLC_3",
        "x.0,y.0 < x.1,y.1",
        "sysbp.v1 < sysbp.v2",
        "v1_hr,v1_bp < v2_hr,v2_bp",
        "hr_visit1 < hr_visit2 < hr_visit_10",
        "hrVisit1 < hrVisit2",
        "visit1_hr < visit2_hr",
        "bp-baseline,smoker_bl < bp-wk4 < bp-wk12 < bp-month6",
        "baseline_bmi < bmi_12mo",
        "crp_d0 < crp_d3 < crp_d7",
        "bdi_t0,bai_t0 < bdi_t1,bai_t1",
        "score_wave1 < score_wave2",
        "HR (V1) < HR (V2)",
        "hr_baseline < hr_follow_up",
        "hr_fu1 < hr_fu2",
        "eGFR year 1 < eGFR year 5",
        "bp_baseline,w0_glu < w4_glu < bp_6m",
    ],
)
def test_visits(said: str) -> None:
    tiers = tuple(tuple(tier.split(",")) for tier in said.split(" < "))
    assert in_tiers(visits([name for tier in tiers for name in tier])) == tiers


@pytest.mark.parametrize(
    "names",
    [
        "IL_1 IL_6",
        "IL_1 IL_2 IL_3",
        "CD_4 CD_8",
        "ca19_9 ca_125",
        "apo_a1 apo_a2 apo_b",
        "vitamin_b_12 vitamin_b_6",
        "vitamin_d2 vitamin_d3",
        "vitamin_b_1 vitamin_b_2",
        "x0 x1 x2",
        "gene_0 gene_1",
        "PC_1 PC_2 PC_3",
        "item_1 item_2",
        "diag_1 diag_2 diag_3",
        "race_1 race_2",
        "stage_1 stage_2",
        "Macrophages.M0 Macrophages.M1 Macrophages.M2",
        "ecg_v1 ecg_v2",
        "signal_t1 signal_t2",
        "T1_map T2_map",
        "m0_mac m1_mac m2_mac",
        "t3_total t4_total",
        "free_t3 free_t4",
        "risk_5yr risk_10yr",
        "hr_2 hr_3",
        "hr_1 hr_3",
        "hr_1 bp_2",
        "income_2010 income_2011",
        "hr_lag_1 hr_lag_2",
        "x_1 x_2",
        "MCP_1 MCP_2",
        "tqwt_energy_dec_1 tqwt_energy_dec_2 tqwt_entropy_dec_1 tqwt_entropy_dec_2",
        "z_1 z_2 z_3 z_4 z_5 z_6 z_7",
        "hr_baseline bp_baseline",
        "_1 _2",
        "1_1 1_2",
    ],
)
def test_numbers_that_are_no_visits(names: str) -> None:
    assert len(in_tiers(visits(names.split()))) < 2


def test_genes_are_no_visits_beside_visits() -> None:
    tiers = in_tiers(visits(["hr_1", "bp_1", "hr_2", "bp_2", "hdl_2", "CD_2", "spo_2", "IL_1", "smoker"]))
    assert tiers == (("hr_1", "bp_1"), ("hr_2", "bp_2", "hdl_2"))


def test_nobody_comes_a_hundred_times() -> None:
    assert schedules([f"{stem}_{number}" for stem in ("hr", "bp") for number in range(1, 25)])
    assert not schedules([f"{stem}_{number}" for stem in ("hr", "bp") for number in range(1, 26)])
    assert schedules([f"{stem}_visit{number}" for stem in ("hr", "bp") for number in range(1, 61)])
    assert not schedules([f"{stem}_visit{number}" for stem in ("hr", "bp") for number in range(1, 62)])


def test_a_number_beyond_the_last_visit_is_none() -> None:
    tiers = in_tiers(visits(["hr_1", "bp_1", "hr_2", "bp_2", "hdl_2", "ldl_3", "fev_250"]))
    assert tiers == (("hr_1", "bp_1"), ("hr_2", "bp_2", "hdl_2"))


def test_two_ways_of_counting_are_told_apart_that_of_most_columns_first() -> None:
    found = schedules(["c_v1", "c_v2", "a_wk1", "a_wk2", "b_wk1", "b_wk2"])
    assert [list(one) for one in found] == [["a_wk1", "a_wk2", "b_wk1", "b_wk2"], ["c_v1", "c_v2"]]


@given(st.lists(st.text(max_size=30), max_size=12))
@settings(max_examples=200, deadline=None)
def test_any_names_are_read(names: list[str]) -> None:
    assert all(set(found) <= set(names) for found in schedules(names[::2], names[1::2]))
    assert all(says_first(name) in (True, False) for name in names)


# --- ages of visits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (
            "SEX AGE_1 AGE_2 AGE_3 SYSBP_1 SYSBP_2 SYSBP_3",
            "--first SEX,AGE_1 --tiers 'SYSBP_1 < AGE_2,SYSBP_2 < AGE_3,SYSBP_3'",
        ),
        ("AGE_3 SBP_1 SBP_2 SBP_3 HR_1 HR_2 HR_3", "--tiers 'SBP_1,HR_1 < SBP_2,HR_2 < AGE_3,SBP_3,HR_3'"),
        ("AGE_3 SBP_1 SBP_2 HR_1 HR_2", "--tiers 'SBP_1,HR_1 < SBP_2,HR_2 < AGE_3'"),
        ("AGE_1 SBP_0 SBP_1 HR_0 HR_1", "--tiers 'SBP_0,HR_0 < AGE_1,SBP_1,HR_1'"),
        ("AGE_3 SBP_1 SBP_2", "--first AGE_3"),
        ("age_visit2 hr_visit2 hr_visit3", "--first age_visit2 --tiers 'hr_visit2 < hr_visit3'"),
        (
            "age_bl age_12mo bmi_bl bmi_12mo bmi_24mo",
            "--first age_bl --tiers 'bmi_bl < age_12mo,bmi_12mo < bmi_24mo'",
        ),
        ("trt_1 trt_2 hr_1 hr_2", "--first trt_1 --tiers 'hr_1 < trt_2,hr_2'"),
        # No visits: a limit, levels, and ages of which nothing says that they are visits.
        ("age_65 hr_v1 hr_v2", "--first age_65 --tiers 'hr_v1 < hr_v2'"),
        ("race_1 race_2 sex_2 hr_v1 hr_v2", "--first race_1,race_2,sex_2 --tiers 'hr_v1 < hr_v2'"),
        ("age_1 age_2 bili", "--first age_1,age_2"),
        # Counted in another way than the rest: only the first of them is surely no effect.
        ("AGE_1 AGE_2 bp_baseline bp_6m", "--first AGE_1 --tiers 'bp_baseline < bp_6m'"),
    ],
)
def test_an_age_with_a_visit_goes_where_the_visit_does(names: str, said: str) -> None:
    assert as_option(suggest(names.split(), {})) == said


def test_an_age_of_a_later_visit_is_asked_about_as_of_its_visit() -> None:
    question = asked("AGE_3 SYSBP_3 AGE_1 SYSBP_1 AGE_2 SYSBP_2")
    assert [(one.column, one.behind, one.visit) for one in question.misplaced] == [
        ("AGE_1", ("AGE_3", "SYSBP_3"), False),
        ("SYSBP_1", ("AGE_3", "SYSBP_3"), True),
        ("AGE_2", ("AGE_3", "SYSBP_3"), True),
        ("SYSBP_2", ("AGE_3", "SYSBP_3"), True),
    ]
    # Within a visit nothing is suggested, so nothing is asked.
    assert not asked("SYSBP_1 HR_1 SYSBP_2 HR_2 AGE_2").misplaced


def test_other_ways_of_counting_are_judged_by_themselves_and_said_to_be_left_out() -> None:
    question = asked("hr_v2 hr_v1 w0_glu bp_6m w4_glu bp_baseline")
    assert [(one.column, one.behind) for one in question.misplaced] == [
        ("hr_v1", ("hr_v2",)),
        ("w4_glu", ("bp_6m",)),
        ("bp_baseline", ("bp_6m", "w4_glu")),
    ]
    assert as_option(question.suggestion) == "--tiers 'bp_baseline,w0_glu < w4_glu < bp_6m'"
    assert question.suggestion.caveats[0] == (
        "'hr_v1', 'hr_v2' look like visits too, but are counted in another way and left out here"
    )


# --- a learned order --------------------------------------------------------------------------------------


def asked(order: str, given: dict[str, Any] | None = None, also: str = "") -> Question:
    question = ask([*sorted(order.split()), *also.split()], order.split(), given)
    assert question is not None
    return question


def test_columns_behind_what_cannot_come_before_them() -> None:
    question = asked("platelet sex bili chol ast age trig")
    said = [(one.column, one.behind, one.n_behind) for one in question.misplaced]
    assert said == [("sex", ("platelet",), 1), ("age", ("platelet", "bili", "chol"), 4)]
    assert as_option(question.suggestion) == "--first age,sex"
    assert in_python(question.suggestion) == 'knowledge=Knowledge(first=["age", "sex"])'
    assert question.statement() == (
        "Going by the names, some columns stand after what cannot come before them: 'sex' after 'platelet'; "
        "'age' after 'platelet', 'bili', 'chol' and 1 more."
    )


def test_an_order_that_agrees() -> None:
    for order in ("age sex bili", "sex age bili", "age", "hr_v1 hr_v2", "hr_v1 bmi hr_v2"):
        question = asked(order)
        assert not question.misplaced
        assert not question.suggestion


@pytest.mark.parametrize("order", ["", "bili chol", "hr_1 chol", "x0 x1", "gene_1 gene_0"])
def test_names_that_suggest_nothing_about_the_order(order: str) -> None:
    assert ask([*order.split(), "age"], order.split(), None) is None


def test_a_later_visit_before_an_earlier_one_of_any_column() -> None:
    question = asked("hr_3 age bp_1 hr_1 bp_3 bp_2 hr_2", also="sex smoker hdl_3")
    said = [(one.column, one.behind, one.visit) for one in question.misplaced]
    assert said == [
        ("age", ("hr_3",), False),
        ("bp_1", ("hr_3",), True),
        ("hr_1", ("hr_3",), True),
        ("bp_2", ("hr_3", "bp_3"), True),
        ("hr_2", ("hr_3", "bp_3"), True),
    ]
    assert (
        as_option(question.suggestion) == "--first age,sex --tiers 'bp_1,hr_1 < bp_2,hr_2 < bp_3,hr_3,hdl_3'"
    )
    assert question.suggestion.caveats[0].startswith(
        "columns in no tier ('smoker') count as measured at the last visit"
    )
    assert question.statement().endswith("'hr_1' after 'hr_3' (a later visit); and 2 others.")


def test_age_alone_asks_for_no_tiers() -> None:
    question = asked("hr_1 age hr_2", also="sex")
    assert as_option(question.suggestion) == "--first age"


def test_a_treatment_comes_first_only_by_lot() -> None:
    question = asked("bili trt")
    assert question.suggestion.caveats == (
        "name 'trt' only if assigned by lot",
        "by lot, --causes trt:outcome keeps the effect from being shrunk as one that may be none",
    )


def test_an_arm_whose_name_no_option_takes_is_proposed_for_none() -> None:
    question = asked("bili arm:a")
    assert question.suggestion.first == ("arm:a",)
    assert question.suggestion.caveats == ("name 'arm:a' only if assigned by lot",)


def test_what_look_proposes_of_an_arm_can_be_fitted(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    arm = rng.permutation(np.arange(N) % 2)
    ill = (rng.random(N) < 0.3 + 0.2 * arm).astype(int)
    table = pd.DataFrame({"bili": rng.normal(size=N), "arm": arm, "ill": ill})
    table.to_csv(tmp_path / "trial.csv", index=False)
    hint = ok("look", tmp_path / "trial.csv", "--target", "ill").partition("--out model.rci\n")[2]
    proposed = re.search(r"--causes \S+", " ".join(hint.split()))
    assert proposed is not None
    options = [*proposed.group().split(), *hint.splitlines()[-1].split()]
    out = tmp_path / "model.rci"
    ok("fit", tmp_path / "trial.csv", "--target", "ill", *options, "--out", out)
    model = RCI.load(out)
    assert model.ancestor_probability_[list(model.feature_names_in_).index("arm")] == 1.0


# --- what was given ---------------------------------------------------------------------------------------


def test_what_was_given_is_kept_and_not_asked_again() -> None:
    question = asked(
        "sex bili age", {"first": ["sex"], "covariates": ["site"], "tiers": [], "causes": []}, "site"
    )
    assert [one.column for one in question.misplaced] == ["age"]
    assert as_option(question.suggestion) == "--first sex,age"
    assert in_python(question.suggestion) == 'knowledge=Knowledge(first=["sex", "age"], covariates=["site"])'
    assert not asked("age bili", {"first": ["age"]}).misplaced
    assert not asked("bmi age bili", {"first": ["bmi", "age"]}).misplaced


def test_columns_in_tiers_are_where_somebody_put_them() -> None:
    assert ask(["age", "bili"], ["bili", "age"], {"tiers": [["bili"], ["age"]]}) is None
    assert ask(["hr_1", "hr_2"], ["hr_2", "hr_1"], {"tiers": [["hr_2"], ["hr_1"]]}) is None


def test_a_column_that_no_tier_names_is_asked_about() -> None:
    question = asked("hr_1 hr_2 age", {"tiers": [["hr_1"], ["hr_2"]]})
    assert as_option(question.suggestion) == "--first age"
    assert question.suggestion.knowledge == {"first": ["age"], "tiers": [["hr_1"], ["hr_2"]]}


def test_pairs_that_say_otherwise_are_believed() -> None:
    assert ask(["age", "bili"], ["bili", "age"], {"causes": [["bili", "age"]]}) is None
    assert ask(["age", "bili"], ["bili", "age"], {"not_causes": [["age", "bili"]]}) is None
    # What comes behind a column that was said to come late cannot come first either.
    pairs = {"causes": [["bili", "age"], ["age", "sex"]]}
    assert ask(["age", "sex", "bili"], ["bili", "age", "sex"], pairs) is None
    assert ask(["hr_1", "hr_2"], ["hr_2", "hr_1"], {"causes": [["hr_2", "hr_1"]]}) is None
    assert asked("bili age", {"causes": [["age", "bili"]]}).misplaced


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"tiers": [["educ"], []]}, "educ < bp_1,hr_1 < bp_2,hr_2 < bp_3,hr_3"),
        (
            {"tiers": [["educ"], ["bp_2", "bp_1", "bp_3", "hr_1", "hr_2", "hr_3"]]},
            "educ < bp_1,hr_1 < bp_2,hr_2 < bp_3,hr_3",
        ),
        ({"causes": [["educ", "bp_2"]]}, "bp_1,hr_1 < bp_2,hr_2,educ < bp_3,hr_3"),
        ({"not_causes": [["bp_1", "educ"]]}, "bp_1,hr_1,educ < bp_2,hr_2 < bp_3,hr_3"),
        ({"tiers": [["hr_1"], []]}, "hr_1,bp_1 < bp_2,hr_2 < bp_3,hr_3"),
        ({"tiers": [["educ"], ["hr_2"], []]}, "educ < bp_1,hr_1 < hr_2,bp_2 < bp_3,hr_3"),
    ],
)
def test_rules_settle_what_they_say_and_nothing_else(known: dict[str, Any], said: str) -> None:
    question = asked("educ hr_3 hr_2 hr_1 bp_3 bp_1 bp_2", known)
    assert {"hr_2", "hr_1", "bp_1", "bp_2"} >= {one.column for one in question.misplaced} >= {"bp_1", "bp_2"}
    assert as_option(question.suggestion) == f"--tiers '{said}'"
    assert question.suggestion.by_hand == ()
    Knowledge(**question.suggestion.knowledge)


@pytest.mark.parametrize(
    "known",
    [
        # Whether income was measured before the visits, nobody said.
        {"tiers": [["educ"], ["income"]]},
        {"tiers": [["hr_1", "hr_2", "income"], []]},
        {"tiers": [["hr_3"], ["hr_1"], []]},
        {"causes": [["hr_3", "hr_1"]]},
    ],
)
def test_where_names_do_not_tell_enough_it_is_said_in_words(known: dict[str, Any]) -> None:
    question = asked("educ income hr_3 bp_3 hr_2 bp_2 hr_1 bp_1", known)
    assert {"hr_2", "bp_2", "bp_1"} <= {one.column for one in question.misplaced}
    assert not question.suggestion
    assert {"hr_2", "hr_3", "bp_2", "bp_3", "bp_1"} <= set(question.suggestion.by_hand)
    assert question.suggestion.work.startswith("put 'hr_2', 'hr_3', 'bp_3', 'bp_2'")
    assert question.suggestion.work.endswith("into tiers in the order of their visits")


def test_what_a_rule_puts_so_is_not_asked_about_and_not_called_agreement() -> None:
    tiers = {"tiers": [["hr_2"], ["hr_1"], ["bp_1"], ["bp_2"]]}
    question = asked("hr_2 hr_1 bp_1 bp_2", tiers)
    assert not question.misplaced
    assert question.statement().endswith("before it, but for what was given.")
    chain = {"causes": [["hr_2", "bmi"], ["bmi", "hr_1"]]}
    assert ask(["hr_1", "hr_2", "bmi"], ["hr_2", "bmi", "hr_1"], chain) is None


def test_what_a_column_in_a_tier_has_to_come_before_is_not_first() -> None:
    given = {"tiers": [["age", "site"], []], "not_causes": [["sex", "age"]]}
    question = asked("age site sex", given)
    assert "first" not in question.suggestion.knowledge
    Knowledge(**suggest(["age", "site", "sex"], given).knowledge)


def test_an_age_in_the_first_tier_beside_others_is_asked_about() -> None:
    question = asked(
        "smoking age bili", {"tiers": [["age", "smoking"], ["bili"]], "causes": [["age", "bili"]]}
    )
    assert as_option(question.suggestion) == "--first age --tiers 'smoking < bili'"
    assert question.suggestion.caveats == ("these tiers take the place of those given",)
    Knowledge(**question.suggestion.knowledge)


NAMES = ("age", "age_2", "sex", "a_1", "a_2", "b_1", "b_2", "b_3", "c", "d", "site")


def an_order(known: Knowledge, wish: Sequence[str]) -> list[str]:
    """An order that keeps to what is known, and else comes near to a wish."""
    opening, left = Opening(known.precedence(NAMES)), list(wish)
    found = []
    while left:
        variables = np.sort([NAMES.index(name) for name in left])
        may = {NAMES[variable] for variable in variables[opening.among(variables)]}
        found.append(next(name for name in left if name in may))
        left.remove(found[-1])
    return [name for name in found if name not in known.covariates]


@given(
    st.permutations(NAMES),
    st.permutations(NAMES),
    st.lists(st.integers(0, len(NAMES)), min_size=2, max_size=4),
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=3),
    st.sampled_from(["", "last is empty", "no tiers"]),
)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_what_is_suggested_puts_it_right_and_contradicts_nothing(
    wish: list[str], shuffled: list[str], cuts: list[int], pairs: list[tuple[str, str]], last: str
) -> None:
    first, *ends = sorted(cuts)
    parts = zip([first, *ends], ends, strict=False)
    tiers = [tier for start, end in parts if (tier := shuffled[start:end])] + [[]] * (last == "last is empty")
    known = {"first": shuffled[:first][:2], "tiers": [] if last == "no tiers" else tiers, "causes": pairs}
    try:
        told = Knowledge(**known)
    except InputError:
        return
    order = an_order(told, wish)
    question = ask(NAMES, order, told.to_dict())
    if question is None or not question.misplaced:
        return
    assert question.suggestion or question.suggestion.by_hand
    together = Knowledge(**question.suggestion.knowledge)
    # All that was said still holds.
    before = told.precedence(NAMES).known(np.arange(len(NAMES)))
    after = together.precedence(NAMES).known(np.arange(len(NAMES)))
    named_in = {name for tier in told.tiers for name in tier} | set(told.first)
    for effect, cause in zip(*np.nonzero(before), strict=True):
        if {NAMES[effect], NAMES[cause]} <= named_in and NAMES[effect] not in together.first:
            assert not after[cause, effect]
    # An order that keeps to it is not asked about again, but for what was left to somebody; and where visits
    # stood right, so that nothing was suggested for them, the new order may put them wrong.
    again = ask(NAMES, an_order(together, wish), together.to_dict())
    left = () if again is None else again.misplaced
    assert all(one.visit for one in left)
    assert question.suggestion.by_hand or not question.suggestion.tiers or not left


# --- ready to paste ---------------------------------------------------------------------------------------


def suggestion_for(*names: str) -> Any:
    question = ask([*names, "bili"], ["bili", *names], None)
    assert question is not None
    return question.suggestion


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("name", ["age", "age 1", "age'", "age*", "age\\1", "age&1", "#age", "~age", "=age"])
def test_a_shell_reads_the_name_as_it_is(name: str) -> None:
    line = as_option(suggestion_for(name, "sex"))
    assert line.isprintable()
    command = ["bash", "-c", f"printf '%s\\0' {line}"]
    read = subprocess.run(command, capture_output=True, env={"LC_ALL": "C.UTF-8"}, check=True).stdout
    assert read.decode().split("\0")[:-1] == ["--first", f"{name},sex"]


@pytest.mark.parametrize(
    "name", ["Age, years", 'age "years"', "age < 65", " age", "age\n", "age\x1b[31m", "age\n1", "age\x7f"]
)
def test_names_that_no_option_holds_go_into_a_file(name: str) -> None:
    suggestion = suggestion_for(name)
    assert options(suggestion) is None
    before, _, content = as_option(suggestion).partition(", a file with ")
    assert before == "--knowledge known.json"
    assert json.loads(content) == {"first": [name]}
    assert as_option(suggestion).isprintable()


@given(st.text(st.characters(exclude_characters="abcdefghijklmnopqrstuvwxyz0123456789"), max_size=8))
@settings(max_examples=200, deadline=None)
def test_python_reads_the_name_as_it_is(around: str) -> None:
    name = f"{around} age {around}"
    if not says_first(name):
        return
    text = in_python(suggestion_for(name))
    assert text.isprintable()
    call = ast.parse(text.removeprefix("knowledge="), mode="eval").body
    assert isinstance(call, ast.Call)
    assert ast.literal_eval(call.keywords[0].value) == [name]


def test_long_names_and_many_columns_are_shortened() -> None:
    name = "age_" * 2_500
    assert len(as_option(suggestion_for(name))) < 200
    assert len(in_python(suggestion_for(name))) < 200
    many = [f"lab{stem}_{visit}" for visit in (1, 2) for stem in range(5_000)]
    wide = suggest(many, {})
    assert "names shortened here" in as_option(wide)
    assert len(as_option(wide)) < 1_000 < LONGEST_TEXT
    question = ask(many, many[::-1], None)
    assert question is not None
    assert len(question.misplaced) == 5_000
    assert question.misplaced[0].n_behind == 5_000
    assert len(question.statement()) < 1_000


# --- where it is said -------------------------------------------------------------------------------------

N = 400


def cohort() -> pd.DataFrame:
    """A cause, and columns that follow from it under names that say they cannot."""
    rng = np.random.default_rng(0)
    bili = rng.gamma(1.0, 1.0, N)
    age = bili + 0.5 * rng.gamma(1.0, 1.0, N)
    sex = age + 0.5 * rng.gamma(1.0, 1.0, N)
    ill = (rng.random(N) < 1 / (1 + np.exp(-(bili + age + sex - 4)))).astype(int)
    return pd.DataFrame({"age": age, "sex": sex, "bili": bili, "ill": ill})


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("asking") / "cohort.csv"
    cohort().to_csv(path, index=False)
    return path


SAID = "stand after what cannot come before them: 'age' after 'bili'; 'sex' after 'bili'."


def test_fit_says_it_after_the_order(file: Path) -> None:
    lines = ok("fit", file, "--target", "ill", "--out", file.with_suffix(".rci")).splitlines()
    at = next(place for place, line in enumerate(lines) if SAID in line)
    assert lines[at + 2] == "  --first age,sex"
    assert at > next(place for place, line in enumerate(lines) if "sex " in line and "3." in line)
    renamed = file.with_name("renamed.csv")
    cohort().rename(columns={"age": "alb", "sex": "ast"}).to_csv(renamed, index=False)
    printed = ok("fit", renamed, "--target", "ill", "--out", file.with_suffix(".rci"))
    assert "names" not in printed


def test_check_and_diagnose_say_it(file: Path) -> None:
    printed = ok("check", file, "--target", "ill")
    assert "DOUBTFUL     Does the learned order agree with what the names suggest?" in printed
    assert SAID in printed
    assert "fit again with --first age,sex; in Python knowledge=Knowledge(first=" in printed
    X = cohort()
    y = X.pop("ill")
    model = RCI().fit(X, y)
    (check,) = [one for one in model.diagnose(X).checks if one.name == "as_named"]
    assert (check.verdict, check.number, check.p_value) == ("doubtful", 2.0, None)
    assert check.variables == ("age", "sex")
    assert check in model.diagnose(X, y).checks
    read = json.loads(ok("check", file, "--target", "ill", "--json"))
    assert read["checks"][-1]["statement"] == check.statement


def test_names_that_agree_are_fine_and_others_are_not_checked() -> None:
    X = cohort()
    y = X.pop("ill")
    agreeing = X.rename(columns={"bili": "age", "age": "bili", "sex": "alb"})
    check = RCI().fit(agreeing, y).diagnose(agreeing).checks[-1]
    assert (check.name, check.verdict, check.number, check.advice) == ("as_named", "fine", 0.0, "")
    silent = X.rename(columns={"age": "alb", "sex": "ast"})
    assert [one.name for one in RCI().fit(silent, y).diagnose(silent).checks] == ["in_range"]
    unnamed = RCI().fit(X.to_numpy(), y)
    assert [one.name for one in unnamed.diagnose(X.to_numpy()).checks] == ["in_range"]


def test_report_prints_what_fit_prints(file: Path) -> None:
    said = ok("fit", file, "--target", "ill", "--out", file.with_suffix(".rci")).splitlines()
    at = next(place for place, line in enumerate(said) if SAID in line)
    page = ("report", file, "--target", "ill", "--out", file.with_suffix(".html"))
    assert "\n".join(said[at : at + 3]) in ok(*page)
    assert "Going by the names" not in ok(*page, "--first", "age,sex")


def test_what_a_file_said_is_said_in_a_file(file: Path) -> None:
    known = file.with_name("what is known.json")
    Knowledge(causes=[("bili", "sex")]).to_json(known)
    fit = ("fit", file, "--target", "ill", "--out", file.with_suffix(".rci"), "--knowledge", known)
    lines = ok(*fit).splitlines()
    at = next(place for place, line in enumerate(lines) if "mean what they say" in line)
    assert lines[at].endswith("fit again with a file of this in place of '" + str(known) + "':")
    known.write_text(lines[at + 1], encoding="utf-8")
    assert json.loads(lines[at + 1]) == {"first": ["age"], "causes": [["bili", "sex"]]}
    assert "Going by the names" not in ok(*fit)
    by_option = ok(*fit[:-2], "--causes", "bili:sex")
    assert "  --first age\n" in by_option
    assert "file of" not in by_option


def test_the_page_says_it(tmp_path: Path) -> None:
    X = cohort()
    y = X.pop("ill")
    hostile = X.rename(columns={"age": "age </script><b>"})
    RCI().fit(hostile, y).report(hostile, tmp_path / "page.html")
    (check,) = [
        one
        for one in facts_of(tmp_path / "page.html")["made"]["checks"]
        if "names suggest" in one["question"]
    ]
    assert check["variables"] == ["sex"]
    assert "--first sex" in check["advice"]
    assert "</script><b>" not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_what_was_given_is_read_from_the_model() -> None:
    """As the parameter of a model that was told so: what comes first is not asked about."""
    X = cohort()
    y = X.pop("ill")
    model = RCI().fit(X, y)
    model.provenance_["parameters"]["knowledge"] = {"covariates": ["site"], "causes": [["bili", "age"]]}
    (check,) = [one for one in model.diagnose(X).checks if one.name == "as_named"]
    assert check.variables == ("sex",)


def test_look_hints_beside_the_line(file: Path) -> None:
    printed = ok("look", file, "--target", "ill")
    line, _, hint = printed.partition("--out model.rci\n")
    assert "--first" not in line
    assert " ".join(hint.split()) == (
        "'age', 'sex' usually come before all else. If so, add to the line: --first age,sex"
    )
    page = json.loads(ok("look", file, "--target", "ill", "--json"))
    assert page["suggested"] == {
        "knowledge": {"first": ["age", "sex"]},
        "options": [["--first", "age,sex"]],
        "caveats": [],
    }
    assert "--first" not in page["fit"]["arguments"]
    assert page["findings"] == []


def test_look_hints_at_visits_and_not_at_what_the_line_leaves_out(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    names = ["bp_2", "bp_1", "hr_1", "hr_2", "arm"]
    table = pd.DataFrame(rng.normal(size=(N, len(names))), columns=names).assign(
        dob=["2001-02-03", "1990-05-06"] * (N // 2), ill=rng.integers(0, 2, N)
    )
    table.to_csv(tmp_path / "visits.csv", index=False)
    hint = ok("look", tmp_path / "visits.csv", "--target", "ill").partition("--out model.rci\n")[2]
    assert hint.splitlines()[-1] == "--first arm --tiers 'bp_1,hr_1 < bp_2,hr_2'"
    assert shlex.split(hint.splitlines()[-1])[-1] == "bp_1,hr_1 < bp_2,hr_2"
    assert "only if assigned by lot" in hint
    assert "dob" not in hint
    table = table.drop(columns=names).assign(bili=rng.normal(size=N))
    table.to_csv(tmp_path / "plain.csv", index=False)
    assert ok("look", tmp_path / "plain.csv", "--target", "ill").endswith("--out model.rci\n")


# --- and then it is so ------------------------------------------------------------------------------------


def test_the_option_as_printed_puts_it_right(file: Path) -> None:
    model = file.with_suffix(".rci")
    lines = ok("fit", file, "--target", "ill", "--out", model).splitlines()
    (option,) = [line for line in lines if line.startswith("  --first")]
    printed = ok("fit", file, "--target", "ill", *shlex.split(option), "--out", model)
    assert "Going by the names" not in printed
    X = cohort().drop(columns="ill")
    check = RCI.load(model).diagnose(X).checks[-1]
    assert (check.name, check.verdict) == ("as_named", "fine")


def visits_turned_round() -> pd.DataFrame:
    """Visits of which each column follows from one of the next visit, ages too."""
    rng = np.random.default_rng(2)
    values = {"SEX": rng.gamma(1.0, 1.0, N)}
    before = values["SEX"]
    for name in (
        "AGE_3",
        "SYSBP_3",
        "BMI_3",
        "AGE_2",
        "BMI_2",
        "SYSBP_2",
        "SYSBP_1",
        "AGE_1",
        "educ",
        "BMI_1",
    ):
        before = values[name] = 0.9 * before + 0.5 * rng.gamma(1.0, 1.0, N)
    ill = rng.random(N) < 1 / (1 + np.exp(-(sum(values.values()) - 20) / 2))
    return pd.DataFrame(values)[sorted(values)].assign(ill=ill.astype(int))


@pytest.mark.parametrize("options_given", [[], ["--tiers", "educ <"], ["--causes", "educ:BMI_1"]])
def test_visits_as_printed_come_in_their_order(options_given: list[str], tmp_path: Path) -> None:
    table, model = tmp_path / "wide.csv", tmp_path / "model.rci"
    visits_turned_round().to_csv(table, index=False)
    fit = ("fit", table, "--target", "ill", "--variant", "plus", "--out", model)
    lines = ok(*fit, *options_given).splitlines()
    (option,) = [line for line in lines if line.startswith(("  --first", "  --tiers"))]
    again = [*shlex.split(option), *(options_given if "--causes" in options_given else [])]
    assert "Going by the names" not in ok(*fit, *again)
    made = RCI.load(model)
    order = [str(made.feature_names_in_[k]) for k in made.causal_order_]
    assert set(order[:2]) == {"AGE_1", "SEX"}
    numbers = [name[-1] for name in order[2:] if name[-1].isdigit()]
    assert numbers == sorted(numbers) == [*"11222333"]
    check = made.diagnose(visits_turned_round().drop(columns="ill")).checks[-1]
    assert (check.name, check.verdict) == ("as_named", "fine")


def test_check_is_not_content_with_other_rules(tmp_path: Path) -> None:
    table = tmp_path / "wide.csv"
    visits_turned_round().to_csv(table, index=False)
    for given_rules in (("--tiers", "educ <"), ("--causes", "educ:BMI_1")):
        printed = ok("check", table, "--target", "ill", "--first", "SEX,AGE_1", *given_rules)
        assert "DOUBTFUL     Does the learned order agree" in printed
    # Whether educ comes before the visits, nobody said.
    printed = ok("check", table, "--target", "ill", "--first", "SEX,AGE_1", "--tiers", "BMI_1 < educ")
    advice = next(line for line in printed.splitlines() if "mean what they say" in line)
    assert "mean what they say, put '" in advice
    assert advice.endswith(" into tiers in the order of their visits, and fit again.")


@pytest.mark.parametrize("name", ["age", "Age, years", "age\x1b[31m", "age\n1"])
def test_names_of_any_kind_put_it_right_in_python_and_by_a_file(name: str, tmp_path: Path) -> None:
    X = cohort().rename(columns={"age": name})
    y = X.pop("ill")
    (check,) = [one for one in RCI().fit(X, y).diagnose(X).checks if one.name == "as_named"]
    known = check.advice.partition("in Python knowledge=")[2].rstrip(".")
    told = RCI(knowledge=eval(known, {"Knowledge": Knowledge})).fit(X, y)
    assert told.diagnose(X).checks[-1].verdict == "fine"
    Knowledge(first=[name, "sex"]).to_json(tmp_path / "known.json")
    X.assign(ill=y).to_csv(tmp_path / "cohort.csv", index=False)
    made = ok(
        *("fit", tmp_path / "cohort.csv", "--target", "ill", "--knowledge", tmp_path / "known.json"),
        *("--out", tmp_path / "model.rci"),
    )
    assert "Going by the names" not in made


def test_a_covariate_comes_before_age_and_is_not_asked_about() -> None:
    X = cohort()
    y = X.pop("ill")
    model = RCI(knowledge={"covariates": ["bili"]}).fit(X, y)
    (check,) = [one for one in model.diagnose(X).checks if one.name == "as_named"]
    assert check.verdict == "fine"


def test_the_last_tier_is_spoken_of_only_where_columns_are_left_to_it():
    visits = ["hr_1", "bp_1", "hr_2", "bp_2"]
    assert not suggest(visits, {}).caveats
    assert "columns in no tier" in suggest([*visits, "bili"], {}).caveats[0]
    assert not suggest([*visits, "age"], {}).caveats
    turned = ["hr_2", "hr_1", "bp_1", "bp_2"]
    assert not ask(visits, turned, None).suggestion.caveats
    assert ask([*visits, "bili"], turned, None).suggestion.caveats


def test_columns_that_come_first_may_be_said_not_to_cause_each_other():
    """That goes round in a circle, contradicts nothing, and is nothing to ask about."""
    known = Knowledge(first=["age", "sex"], not_causes=[("age", "sex"), ("sex", "age")])
    question = ask(["age", "sex", "bili"], ["age", "sex", "bili"], known.to_dict())
    assert question is not None and not question.misplaced
    late = ask(["age", "sex", "bili", "race"], ["age", "sex", "bili", "race"], known.to_dict())
    assert late is not None and [one.column for one in late.misplaced] == ["race"]


@given(
    st.lists(st.sampled_from(["covariates", "first", "0", "1", "2", ""]), min_size=11, max_size=11),
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=5),
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=5),
    st.permutations(NAMES),
)
@settings(max_examples=200, deadline=None)
def test_whatever_was_given_can_be_asked_about(
    places: list[str], causes: list[tuple[str, str]], not_causes: list[tuple[str, str]], order: list[str]
) -> None:
    def there(place: str) -> list[str]:
        return [name for name, one in zip(NAMES, places, strict=True) if one == place]

    try:
        known = Knowledge(
            covariates=there("covariates"),
            first=there("first"),
            tiers=[there("0"), there("1"), there("2")],
            causes=causes,
            not_causes=not_causes,
        )
        an_order(known, order)
    except InputError:
        return
    question = ask(NAMES, an_order(known, order), known.to_dict())
    if question is not None and question.suggestion:
        Knowledge(**question.suggestion.knowledge)
        as_option(question.suggestion)
