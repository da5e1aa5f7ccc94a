"""The checks: quiet where all is well, and each loud where its own assumption fails."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from rootcausal import RCI
from rootcausal.data import simulate
from rootcausal.diagnostics.confounding import cross_moment_tests, polynomials
from rootcausal.diagnostics.diagnosis import Scale
from rootcausal.diagnostics.equal_responses import product_tests
from rootcausal.diagnostics.evidence import fit_plain, score_tests
from rootcausal.diagnostics.independence import pairwise_tests
from rootcausal.diagnostics.linearity import curvature_tests
from rootcausal.diagnostics.link import calibration
from rootcausal.diagnostics.patients import influence
from rootcausal.diagnostics.rank_scores import (
    corrected,
    distance_correlation,
    rank_scores,
    score_correlations,
    smallest_of_many,
)
from rootcausal.diagnostics.terminal import bend_tests

N = 2000
NAMES = [
    "non_gaussian",
    "independent",
    "linear",
    "unconfounded",
    "same_mechanism",
    "terminal",
    "gives_away",
    "calibrated",
    "influence",
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
    return {check.name: check for check in RCI().fit(X, y).diagnose(X, y).checks}


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
    diagnosis = model.diagnose(strange)
    assert [check.name for check in diagnosis.checks] == ["in_range"]
    assert diagnosis.verdict == "broken"
    assert diagnosis.checks[0].variables[0] == "b"
    assert "patients: row 1, row 2, row 3, row 4, row 5 and 44 more." in diagnosis.checks[0].statement
    named = model.diagnose(strange, ids=[f"p{k}\n" for k in range(50)])
    assert r"patients: p0\n, p1\n, p2\n, p3\n, p4\n and 44 more." in named.checks[0].statement
    assert model.diagnose(X).verdict == "fine"


def test_one_patient_that_decides_is_named(monkeypatch):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-1, 1, (120, 2)), columns=["a", "b"])
    y = (rng.random(120) < expit(2 * X["a"])).to_numpy().astype(int)
    X["b"] += 0.5 * y
    X.loc[17, "b"] = 60.0
    y[17] = 0
    check = verdicts(X, y)["influence"]
    assert check.verdict in ("doubtful", "broken")
    assert "patients: row 18." in check.statement
    # The same patient, by the number in the cohort, where only some of the rows are looked at.
    monkeypatch.setattr("rootcausal.diagnostics.evidence.ROWS_AT_MOST", 100)
    assert "patients: row 18." in verdicts(X, y)["influence"].statement


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
    diagnosis = RCI().fit(X, y).diagnose(X, y)
    text = diagnosis.to_text()
    assert "what to do: transform the first of these variables" in text
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
    with pytest.warns(UserWarning, match="no variable depends"):
        model = RCI(alpha=1e-12).fit(x, rng.integers(0, 2, 100))
    diagnosis = model.diagnose(x, rng.integers(0, 2, 100))
    assert [check.name for check in diagnosis.checks] == NAMES
    json.dumps(diagnosis.to_dict(), allow_nan=False)


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


def test_rank_scores_make_up_the_distance_correlation():
    rng = np.random.default_rng(2)
    x = rng.standard_normal(400)
    pair = np.column_stack([x, x**2 + rng.standard_normal(400)])

    def centred(v: np.ndarray) -> np.ndarray:
        u = (np.argsort(np.argsort(v)) + 0.5) / v.size
        d = np.abs(u[:, None] - u)
        return d - d.mean(axis=0) - d.mean(axis=1)[:, None] + d.mean()

    a, b = centred(pair[:, 0]), centred(pair[:, 1])
    expected = np.sqrt((a * b).mean() / np.sqrt((a * a).mean() * (b * b).mean()))
    got = distance_correlation(score_correlations(rank_scores(pair))[0, 1])
    assert got == pytest.approx(expected, rel=0.01)


def test_polynomials_are_orthonormal():
    values = np.random.default_rng(3).standard_t(5, (500, 2))
    for column in range(2):
        basis = polynomials(values)[:, column]
        assert basis.T @ basis / 500 == pytest.approx(np.eye(3), abs=1e-9)


def test_score_test_agrees_with_a_refit():
    rng = np.random.default_rng(4)
    errors = rng.standard_normal((4000, 3))
    y = (rng.random(4000) < expit(errors[:, 0] + 0.1 * errors[:, 2])).astype(int)
    z, effect = score_tests(fit_plain(errors[:, :2], y), y, errors[:, [2]])
    full = fit_plain(errors, y)
    assert z[0] == pytest.approx(full.coef[2] / np.sqrt(full.covariance[2, 2]), rel=0.02)
    assert effect[0] == pytest.approx(full.coef[2] * errors[:, 2].std(), rel=0.05)


def test_influence_agrees_with_leaving_out():
    rng = np.random.default_rng(5)
    errors = rng.standard_normal((200, 2))
    y = (rng.random(200) < expit(errors[:, 0])).astype(int)
    fit = fit_plain(errors, y)
    moved = influence(fit, y)
    row = int(np.abs(moved[:, 0]).argmax())
    rest = np.arange(200) != row
    exact = (fit.coef - fit_plain(errors[rest], y[rest]).coef)[:2] / np.sqrt(np.diagonal(fit.covariance))[:2]
    assert moved[row] == pytest.approx(exact, rel=0.15, abs=0.02)


def test_correction_for_many_tests():
    assert corrected(0.01, 1) == pytest.approx(0.01)
    assert corrected(0.01, 20) == pytest.approx(1 - 0.99**20)
    assert smallest_of_many(np.zeros(0)) == 1.0
    assert corrected(1.0, 5) == pytest.approx(1.0)


@pytest.mark.slow
def test_tests_keep_their_level_on_true_errors():
    rejected = dict.fromkeys(("independent", "unconfounded", "linear", "same", "terminal", "link"), 0)
    draws = 400
    for seed in range(draws):
        cohort = simulate(N, 10, random_state=[seed, 9])
        errors = (cohort.errors - cohort.errors.mean(axis=0)) / cohort.errors.std(axis=0)
        fit = fit_plain(errors, cohort.y)
        p_values = {
            "independent": pairwise_tests(errors).p_value,
            "unconfounded": cross_moment_tests(errors).p_value,
            "linear": smallest_of_many(curvature_tests(errors)[0]),
            "same": smallest_of_many(product_tests(errors, cohort.y, fit)[0]),
            "terminal": smallest_of_many(bend_tests(errors, cohort.y, fit)[0]),
            "link": calibration(fit.risk, cohort.y)[0],
        }
        for name, p_value in p_values.items():
            rejected[name] += p_value < 0.05
    # Three standard errors around 5 %.
    assert all(0.017 < count / draws < 0.083 for count in rejected.values()), rejected


def test_levels_that_are_independent_are_no_alarm() -> None:
    verdicts = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.integers(0, 2, (1000, 2)), rng.laplace(size=(1000, 2))]).astype(float)
        y = (X @ [1, 0, 1, 0] + rng.logistic(size=1000) > 0.5).astype(int)
        diagnosis = RCI().fit(X, y).diagnose(X, y)
        verdicts.append(diagnosis.verdict)
        assert {"independent", "linear", "unconfounded"} <= {check.name for check in diagnosis.checks}
        assert "Not checked of columns with levels" in diagnosis.not_made
    assert verdicts.count("fine") >= 4


def test_without_two_numbers_there_are_no_pairs_to_check() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (1000, 3))
    y = X[:, 0] ^ (rng.random(1000) < 0.3)
    diagnosis = RCI().fit(X, y).diagnose(X, y)
    assert diagnosis.verdict == "fine"
    assert not {"independent", "linear", "unconfounded"} & {check.name for check in diagnosis.checks}
