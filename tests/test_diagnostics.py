"""The checks: quiet where all is well, and each loud where its own assumption fails."""

import json
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import ttest_ind

from rootcausal import RCI, UnlikeCohortWarning
from rootcausal.data import simulate
from rootcausal.diagnostics.calibration import Groups, check_calibration
from rootcausal.diagnostics.diagnosis import Scale
from rootcausal.diagnostics.gaussianity import gaussian_p_values
from rootcausal.diagnostics.influence import farthest_patients
from rootcausal.diagnostics.interaction import product_tests
from rootcausal.diagnostics.power import corrected, smallest_of_many
from rootcausal.diagnostics.regressions import PlainLogit
from rootcausal.diagnostics.reverse_causation import bend_tests, log_density

N = 2000
NAMES = [
    "gives_away",
    "terminal",
    "calibrated",
    "same_mechanism",
    "influence",
    "non_gaussian",
    "independent",
    "linear",
    "unconfounded",
    "unmeasured",
    "logarithm",
    "resolution",
    "in_range",
]


def chain(seed: int, break_it: str = ""):
    """a → b → D, with c apart, as a frame and labels; one assumption may be broken."""
    rng = np.random.default_rng(seed)
    skewed = (rng.chisquare(3, (N, 3)) - 3) / np.sqrt(6)
    a, e_b, c = (rng.standard_normal((N, 3)) if break_it == "non_gaussian" else skewed).T
    if break_it == "unconfounded":
        hidden = (rng.chisquare(3, N) - 3) / np.sqrt(6)
        a, e_b = a + hidden, e_b + hidden
    edge = (a**2 - 1) / np.std(a**2) if break_it == "linear" else a
    b = edge + e_b
    y = (rng.random(N) < expit(0.8 * b + 0.5 * a)).astype(int)
    if break_it == "same_mechanism":
        b = np.where(y == 1, -edge, edge) + e_b
    if break_it == "terminal":
        c = c + y
    return pd.DataFrame({"a": a, "b": b, "c": c}), y


def verdicts(X, y):
    """Of lines: where a relation is not one, nonlinear equations would be taken, and leave less to find."""
    return {check.name: check for check in RCI(mechanism="linear").fit(X, y).diagnose(X, y).checks}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_clean_data_break_nothing(seed):
    checks = verdicts(*chain(seed))
    assert list(checks) == NAMES
    assert not [name for name, check in checks.items() if check.verdict == "broken"]
    assert sum(check.verdict == "doubtful" for check in checks.values()) <= 1
    assert all(not check.advice for check in checks.values() if check.verdict == "fine")


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("broken", "concerned"),
    [
        ("non_gaussian", {"a", "b"}),
        ("unconfounded", {"a", "b"}),
        ("linear", {"a", "b"}),
        ("same_mechanism", {"a", "b"}),
        ("terminal", {"c"}),
    ],
)
def test_what_is_broken_is_named(seed, broken, concerned):
    check = verdicts(*chain(seed, broken))[broken]
    assert check.verdict in ("doubtful", "broken")
    assert set(check.variables) == concerned
    assert check.advice


def test_a_wrong_unit_is_seen_in_new_patients_and_in_the_cohort():
    X, y = chain(3)
    model = RCI().fit(X, y)
    strange = X.head(50).copy()
    strange.loc[:, "b"] *= 1000
    with pytest.warns(UnlikeCohortWarning, match="'b' is about .* in 49 of 50 rows, far beyond the cohort"):
        diagnosis = model.diagnose(strange)
    assert [check.name for check in diagnosis.checks] == ["in_range"]
    assert diagnosis.verdict == "broken"
    assert diagnosis.checks[0].variables[0] == "b"
    assert "; rows 1, 2, 3, 4, 5 and 44 more of the table." in diagnosis.checks[0].statement
    assert "49 patients" in diagnosis.checks[0].limit
    with pytest.warns(UnlikeCohortWarning):
        named = model.diagnose(strange, ids=[f"p{k}\n" for k in range(50)])
    assert r"patients: p0\n, p1\n, p2\n, p3\n, p4\n and 44 more." in named.checks[0].statement
    assert [check.verdict for check in model.diagnose(X).checks] == ["fine"]


@pytest.mark.parametrize("rows", [0, 1, 50])
def test_nothing_checked_is_not_fine(rows):
    X, y = chain(3)
    model = RCI().fit(X, y)
    of_some = model.diagnose(X.head(rows))
    assert of_some.verdict == "not checked"
    assert of_some.to_text().startswith("overall: not checked, ")
    assert of_some.to_dict()["verdict"] == "not checked"
    assert model.diagnose(X.head(rows), y[:rows]).verdict == ("cannot tell" if rows == 50 else "not checked")
    assert {check.verdict for check in of_some.checks} == {"fine" if rows else "not checked"}


def rare_level():
    """Six patients with a level of their own, none of whom is ill; otherwise nothing is wrong."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.laplace(size=(400, 3)), columns=["a", "b", "c"])
    X["stage"] = rng.choice(["I", "II", "III"], 400)
    y = (X["a"] + (X["stage"] == "II") + 1.5 * rng.logistic(size=400) > 0).to_numpy().astype(int)
    rare = np.arange(400) % 70 == 5
    X.loc[rare, "stage"], y[rare] = "IV", 0
    return X, y


def test_a_level_that_decides_for_its_patients_is_said_of_that_level_alone():
    X, y = rare_level()
    with pytest.warns(UserWarning, match="none of the 6 patients with 'stage' = 'IV' has") as said:
        model = RCI(alpha=1.0).fit(X, y)
    assert len(said) == 1 and "perfectly" not in str(said[0].message)
    checks = {check.name: check for check in model.diagnose(X, y).checks}
    assert not [one for one in checks.values() if "without a single exception" in one.statement]
    assert checks["influence"].verdict == "fine"
    for name in ("influence", "same_mechanism"):
        assert "'stage = IV'" in checks[name].statement and np.isfinite(checks[name].number)
    # Beside it, what is wrong is still seen.
    X.loc[int(np.flatnonzero(y == 0)[3]), "a"] = 90.0
    with pytest.warns(UserWarning, match="'stage' = 'IV'"):
        found = RCI(alpha=1.0).fit(X, y).diagnose(X, y)
    assert {check.name: check.verdict for check in found.checks}["influence"] == "broken"


def test_where_nothing_was_learned_a_check_says_so():
    rng = np.random.default_rng(0)
    X, y = rng.laplace(size=(70, 2000)), rng.random(70) < 0.34
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of separation, which is not asked here
        model = RCI().fit(X, y)
    assert np.ptp(model.predict_proba(X)[:, 1]) < 0.1
    for diagnosis in (model.diagnose(X, y), model.diagnose(X[:3])):
        (check,) = (check for check in diagnosis.checks if check.name == "learned")
        assert check.verdict == diagnosis.verdict == "broken"
        assert "Nothing was learned" in check.statement and check.limit.startswith("Do not read")
    assert "learned" not in verdicts(*chain(0))


def test_a_hidden_cause_is_not_ruled_out_where_nothing_would_show_it():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"a": rng.laplace(size=N)})
    y = (X["a"] + rng.logistic(size=N) > 0).to_numpy().astype(int)
    check = verdicts(X, y)["unconfounded"]
    assert check.verdict == "cannot tell" and "no two numbers" in check.limit
    assert "cannot be checked" in verdicts(*chain(0))["unconfounded"].statement
    assert "(confounding) leaves no trace in any table" in RCI().fit(X, y).diagnose(X, y).to_text()


def test_one_patient_that_decides_is_named(monkeypatch):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1, 1, (120, 2)), columns=["a", "b"])
    y = (rng.random(120) < expit(2 * X["a"])).to_numpy().astype(int)
    X["b"] += 0.5 * y
    X.loc[17, "b"] = 60.0
    y[17] = 0
    check = verdicts(X, y)["influence"]
    assert check.verdict in ("doubtful", "broken")
    assert "; row 18 of the table." in check.statement
    assert check.variables == ("b",)
    assert check.touches == "variables"
    # The same patient, by the number in the cohort, where only some of the rows are looked at.
    monkeypatch.setattr("rootcausal.diagnostics.evidence.ROWS_AT_MOST", 100)
    assert "; row 18 of the table." in verdicts(X, y)["influence"].statement


def test_another_cohort_shows_miscalibrated_risks():
    X, y = chain(4)
    model = RCI().fit(X, y)
    rare = np.flatnonzero((y == 0) | (np.arange(N) % 20 == 0))
    checks = {check.name: check for check in model.diagnose(X.iloc[rare], y[rare]).checks}
    assert checks["calibrated"].verdict == "broken"
    assert verdicts(X, y)["calibrated"].verdict == "fine"


def test_findings_as_text_and_json():
    X, y = chain(0, "linear")
    X = X.rename(columns={"a": "<b>a\x1b[31m"})
    diagnosis = RCI(mechanism="linear").fit(X, y).diagnose(X, y)
    text = diagnosis.to_text()
    assert "add a column with the distance" in text
    assert "\x1b" not in text
    read = json.loads(json.dumps(diagnosis.to_dict()))
    assert read["verdict"] == "broken"
    assert [check["name"] for check in read["checks"]] == NAMES
    assert set(read["checks"][0]) == {
        "name",
        "question",
        "verdict",
        "number",
        "p_value",
        "statement",
        "advice",
        "variables",
        "limit",
        "touches",
        "smallest",
        "reading",
    }


def test_one_column_and_no_survivor():
    rng = np.random.default_rng(1)
    x = rng.uniform(size=(100, 1))
    with pytest.warns(UserWarning, match="the outcome depends on no variable"):
        model = RCI(alpha=1e-12).fit(x, rng.integers(0, 2, 100))
    diagnosis = model.diagnose(x, rng.integers(0, 2, 100))
    assert [check.name for check in diagnosis.checks] == [
        *NAMES[:-4],
        "logarithm",
        "resolution",
        "learned",
        "in_range",
    ]
    json.dumps(diagnosis.to_dict(), allow_nan=False)


def test_errors_that_are_all_the_same_have_no_shape():
    errors = np.random.default_rng(0).laplace(size=(40, 3))
    errors[:, 1] = 0.1
    errors[:, 2] = 0.1 + 1e-17 * errors[:, 2]
    assert gaussian_p_values(errors).tolist() == [gaussian_p_values(errors[:, :1])[0], 1.0, 1.0]
    assert gaussian_p_values(errors[:19]).tolist() == [1.0, 1.0, 1.0]


def test_two_valued_columns_are_no_trouble():
    X, y = chain(5)
    X["sex"] = np.arange(N) % 2
    X["ward"] = (np.arange(N) // 2) % 2
    for check in verdicts(X, y).values():
        assert np.isfinite(check.number)


def test_both_effect_and_p_value_must_speak():
    scale = Scale(0.1, 0.3)
    assert scale.judge(1e-9, 0.05) == "fine"
    assert scale.judge(0.2, 0.9) == "fine"
    assert scale.judge(0.01, 0.9) == "doubtful"
    assert scale.judge(1e-9, 0.2) == "doubtful"
    assert scale.judge(1e-9, 0.3) == "broken"


def test_influence_agrees_with_leaving_out():
    rng = np.random.default_rng(5)
    errors = rng.standard_normal((200, 2))
    y = (rng.random(200) < expit(errors[:, 0])).astype(int)
    fit = PlainLogit.of(errors, y)
    moved = fit.influence()
    row = int(np.abs(moved[:, 0]).argmax())
    rest = np.arange(200) != row
    exact = (fit.coef - PlainLogit.of(errors[rest], y[rest]).coef) / fit.standard_errors
    assert moved[row] == pytest.approx(exact, rel=0.15, abs=0.02)


def test_correction_for_many_tests():
    assert corrected(0.01, 1) == pytest.approx(0.01)
    assert corrected(0.01, 20) == pytest.approx(1 - 0.99**20)
    assert smallest_of_many(np.zeros(0)) == 1.0
    assert corrected(1.0, 5) == pytest.approx(1.0)


@pytest.mark.slow
def test_tests_keep_their_level_on_true_errors():
    rejected = dict.fromkeys(("same", "terminal", "link"), 0)
    draws = 400
    for seed in range(draws):
        cohort = simulate(N, 10, random_state=[seed, 9])
        errors = (cohort.errors - cohort.errors.mean(axis=0)) / cohort.errors.std(axis=0)
        fit = PlainLogit.of(errors, cohort.y)
        p_values = {
            "same": smallest_of_many(product_tests(errors, cohort.y, fit)[0]),
            "terminal": smallest_of_many(bend_tests(errors, cohort.y, fit)[0]),
            "link": Groups.of(fit.risk, cohort.y).p_value,
        }
        for name, p_value in p_values.items():
            rejected[name] += p_value < 0.05
    # The check of risks allows for patients who were not fitted, and so rejects less where they were.
    assert rejected.pop("link") / draws < 0.083
    # Three standard errors around 5 %.
    assert all(0.017 < count / draws < 0.083 for count in rejected.values()), rejected


def two_binary(rng: np.random.Generator) -> np.ndarray:
    return np.column_stack([rng.integers(0, 2, (1000, 2)), rng.laplace(size=(1000, 2))]).astype(float)


def five_levels(rng: np.random.Generator) -> np.ndarray:
    return np.column_stack([rng.integers(0, 5, 2000), rng.laplace(size=(2000, 3))]).astype(float)


@pytest.mark.parametrize("draw", [two_binary, five_levels])
def test_levels_that_are_independent_are_no_alarm(draw) -> None:
    seen = Counter[str]()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = draw(rng)
        y = (X @ [1, 0, 1, 0] + rng.logistic(size=len(X)) > X[:, 0].mean()).astype(int)
        diagnosis = RCI().fit(X, y).diagnose(X, y)
        seen[diagnosis.verdict] += 1
        assert "Not checked of columns with levels" in diagnosis.not_made
    assert not seen["broken"]
    assert seen["doubtful"] <= 1


def test_without_two_numbers_there_are_no_pairs_to_check() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (1000, 3))
    y = X[:, 0] ^ (rng.random(1000) < 0.3)
    diagnosis = RCI().fit(X, y).diagnose(X, y)
    assert {check.name for check in diagnosis.limits} == {"unmeasured"}
    assert not {"independent", "linear", "unconfounded"} & {check.name for check in diagnosis.checks}


def gaussian_pair(seed: int, n: int = 1000, gaussian: bool = True):
    """a → b → D: which of the two comes first shows in their shapes alone, or not at all."""
    rng = np.random.default_rng(seed)
    a, e = rng.standard_normal((2, n)) if gaussian else rng.laplace(size=(2, n))
    X = pd.DataFrame({"a": a, "b": 0.7 * a + e})
    return X, (rng.random(n) < expit(X["a"] + X["b"])).to_numpy().astype(int)


def test_a_direction_that_was_given_is_not_doubted():
    X, y = gaussian_pair(0)
    learned = verdicts(X, y)["non_gaussian"]
    assert learned.verdict == "broken"
    assert set(learned.variables) == {"a", "b"}
    assert learned.touches == "order"
    assert "a" in learned.limit
    assert "b" in learned.limit
    for known in ({"tiers": [["a"], ["b"]]}, {"causes": [("a", "b")]}):
        model = RCI(knowledge=known).fit(X, y)
        check = next(check for check in model.diagnose(X, y).checks if check.name == "non_gaussian")
        assert (check.verdict, check.variables, check.limit) == ("fine", (), "")


def test_one_end_that_is_not_gaussian_gives_the_direction_away():
    X, y = gaussian_pair(1, gaussian=False)
    assert verdicts(X, y)["non_gaussian"].verdict == "fine"
    X["b"] = 0.7 * X["a"] + np.random.default_rng(5).standard_normal(len(X))
    y = (np.random.default_rng(6).random(len(X)) < expit(X["a"] + X["b"])).to_numpy().astype(int)
    assert verdicts(X, y)["non_gaussian"].verdict == "fine"


@pytest.mark.parametrize("n", [15, 60, 200])
def test_few_patients_cannot_show_that_errors_are_gaussian(n):
    found = [verdicts(*gaussian_pair(seed, n))["non_gaussian"] for seed in range(5)]
    assert not {"doubtful", "broken"} & {check.verdict for check in found}
    assert sum(check.verdict == "cannot tell" for check in found) >= 4


def test_thirteen_patients_show_nothing():
    rng = np.random.default_rng(3)
    needs_numbers = {"non_gaussian", "same_mechanism", "calibrated", "influence"}
    y = np.array([1] * 3 + [0] * 10)
    for _ in range(5):
        X = rng.exponential(size=(13, 4)) + 2.0 * y[:, None] * rng.integers(0, 2, 4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what fit says of so few is not asked here
            found = {name: check for name, check in verdicts(X, y).items() if name in needs_numbers}
        assert {check.verdict for check in found.values()} == {"cannot tell"}
        assert all(check.limit and check.advice and check.touches for check in found.values())


def test_classes_that_are_told_apart_give_no_absurd_numbers():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.laplace(size=(300, 3)), columns=["a", "b", "c"])
    y = (X["a"] + X["b"] > 0).to_numpy().astype(int)
    with pytest.warns(UserWarning, match="separate the classes"):
        diagnosis = RCI().fit(X, y).diagnose(X, y)
    checks = {check.name: check for check in diagnosis.checks}
    for name in ("same_mechanism", "influence"):
        assert checks[name].verdict == "cannot tell"
        assert "without a single exception" in checks[name].statement
        assert not checks[name].number > 0
    json.dumps(diagnosis.to_dict(), allow_nan=False)


def test_a_product_without_information_of_its_own_is_not_judged():
    rng = np.random.default_rng(1)
    sex = rng.integers(0, 2, 500).astype(float)
    errors = np.column_stack([sex, sex * rng.laplace(size=500), rng.laplace(size=500)])
    errors = (errors - errors.mean(axis=0)) / errors.std(axis=0)
    y = rng.integers(0, 2, 500)
    assert [0, 2] in product_tests(errors, y, PlainLogit.of(errors, y)).pairs.tolist()
    once_more = np.column_stack([errors[:, 2], errors[:, 0], np.clip(errors[:, 2], -3, 3) * errors[:, 0]])
    assert [0, 1] not in product_tests(once_more, y, PlainLogit.of(once_more, y)).pairs.tolist()
    rare = (np.arange(500) < 3).astype(int)
    assert not product_tests(errors, rare, PlainLogit.of(errors[:, :0], rare)).pairs.size
    same = product_tests(errors, y, PlainLogit.of(errors, y), owner=np.array([4, 4, 5])).pairs.tolist()
    assert [0, 1] not in same


def test_the_difference_of_an_effect_is_that_of_the_mechanism():
    """The effect of a is 1 + 0.5 b: at b = 1 it is larger by one than at b = −1."""
    rng = np.random.default_rng(2)
    a, b = rng.uniform(-np.sqrt(3), np.sqrt(3), (2, 20_000))
    errors = np.column_stack([a, b])
    y = (rng.random(20_000) < expit(0.3 * a + 0.2 * b + 0.25 * a * b)).astype(int)
    found = product_tests(errors, y, PlainLogit.of(errors, y))
    assert found.difference[0] == pytest.approx(0.5, abs=3 * found.standard_error[0])


def test_a_misprint_is_named_also_where_it_hides_the_column():
    named = 0
    for seed in range(10):
        X, y = chain(seed)
        X, y = X.head(400) + 10.0, y[:400]
        X.loc[7, "b"] *= 100
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the misprint alone may decide for this patient
            check = verdicts(X, y)["influence"]
        named += "row 8 of the table" in check.statement and check.variables[0] == "b"
    assert named >= 9


def test_long_tails_of_the_cohort_are_no_alarm():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.standard_t(2, (200, 3)), rng.lognormal(size=(200, 3))])
        y = (rng.random(200) < expit(X @ [0.5, 0.5, 0, 0.5, 0, 0] - 0.8)).astype(int)
        assert [check.verdict for check in RCI().fit(X, y).diagnose(X).checks] == ["fine"]


def test_farthest_patients_agree_with_leaving_them_out():
    rng = np.random.default_rng(7)
    X, y = rng.lognormal(size=(60, 3)), rng.integers(0, 2, 60)
    X[11, 1] = 1e9
    far = farthest_patients(X, y)
    for column in range(3):
        row = int(np.abs(X[:, column] - X[:, column].mean()).argmax())
        kept = np.arange(60) != row
        x, d = X[:, column], y == 1
        assert far.row[column] == row
        assert far.with_all[column] == pytest.approx(ttest_ind(x[d], x[~d], equal_var=False)[0])
        without = ttest_ind(x[d & kept], x[~d & kept], equal_var=False)[0]
        assert far.without[column] == pytest.approx(without, rel=1e-5)
    assert far.row[1] == 11
    assert far.apart[1] > 1e6


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_the_rows_does_not_matter_to_calibration(seed):
    rng = np.random.default_rng(seed)
    risk, y = rng.choice([0.2, 0.5, 0.7], 300), rng.integers(0, 2, 300)
    by_class = np.argsort(y, kind="stable")
    sorted_rows, as_they_are = Groups.of(risk[by_class], y[by_class]), Groups.of(risk, y)
    assert sorted_rows.p_value == pytest.approx(as_they_are.p_value)
    assert sorted_rows.difference == pytest.approx(as_they_are.difference)


def test_risks_that_are_wrong_are_no_probabilities():
    rng = np.random.default_rng(0)
    log_odds = rng.normal(size=1000)
    y = (rng.random(1000) < expit(log_odds - 1.5)).astype(int)
    wrong = check_calibration(log_odds, y, None)
    assert (wrong.verdict, wrong.touches) == ("broken", "risk")
    assert wrong.limit.startswith("Do not read the risks as probabilities")
    right = check_calibration(log_odds - 1.5, y, None)
    assert (right.verdict, right.limit, right.touches) == ("fine", "", "")
    # A fit draws risks towards the average: its own patients look too different, others are not.
    drawn_in = 0.4 * (log_odds - 1.5) - 0.9
    assert check_calibration(drawn_in, y, None).verdict != "fine"
    assert check_calibration(drawn_in, y, None, of_fit=True).verdict == "fine"
    assert check_calibration(3.0 * (log_odds - 1.5), y, None, of_fit=True).verdict == "broken"
    assert check_calibration(log_odds, y, None, of_fit=True).verdict == "broken"
    few = check_calibration(log_odds[:60] - 1.5, y[:60], None)
    assert few.verdict == "cannot tell"
    assert few.smallest > 0.1


def test_a_group_with_wrong_risks_is_not_averaged_away():
    rng = np.random.default_rng(0)
    risk = np.repeat(np.linspace(0.05, 0.95, 10), 400)
    true = np.where(np.isclose(risk, 0.45), 0.60, risk)
    y = (rng.random(risk.size) < true).astype(int)
    check = check_calibration(np.log(risk / (1 - risk)), y, None, False)
    assert check.number < 0.05 and check.verdict == "doubtful" and check.touches == "risk"
    fair = (rng.random(risk.size) < risk).astype(int)
    assert check_calibration(np.log(risk / (1 - risk)), fair, None, False).verdict == "fine"


def test_other_patients_are_not_those_of_the_fit():
    X, y = chain(11)
    model = RCI().fit(X, y)

    def said_of(patients, labels):
        checks = model.diagnose(patients, labels).checks
        return next(check for check in checks if check.name == "calibrated").statement

    assert "shrinkage of the fit undone" in said_of(X, y)
    assert "shrinkage" in said_of(X[::-1], y[::-1])  # in whatever order
    assert "shrinkage" not in said_of(X * 1.5, y)


@pytest.mark.filterwarnings("ignore:mostly imputed")
def test_json_holds_no_infinity():
    X, y = chain(12)
    X.loc[X.index % 7 != 0, "a"] = np.nan
    X.loc[X.index % 7 != 1, "b"] = np.nan
    diagnosis = RCI(variant="plus").fit(X, y).diagnose(X, y)
    json.dumps(diagnosis.to_dict(), allow_nan=False)


def test_a_density_of_one_value_is_a_number() -> None:
    # Of those in whom a column was measured, another one may be the same in all.
    assert np.isfinite(log_density(np.full(30, 2.5), 1e-12)).all()
