"""Cases and controls sampled apart: what users say of the population, and what they are told of it."""

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from command_line import error, ok, run
from page_facts import facts_of
from scipy.special import expit, logit
from sklearn.base import clone
from tampering import with_header

from rootcausal import RCI, InputError
from rootcausal.data import SimulatedCohort, simulate
from rootcausal.diagnostics.calibration import check_calibration
from rootcausal.diagnostics.evidence import population_sample
from rootcausal.inputs.binary import chosen_ratio, doubt_of_prevalence
from rootcausal.metrics import rank_biased_overlap

PREVALENCE = 0.02


@pytest.fixture(scope="module")
def study() -> SimulatedCohort:
    return simulate(2000, 20, random_state=14, design="case-control", prevalence=PREVALENCE)


@pytest.fixture(scope="module")
def fitted(study: SimulatedCohort) -> RCI:
    return RCI(prevalence=PREVALENCE).fit(study.X, study.y)


@pytest.fixture
def study_file(tmp_path: Path) -> Path:
    """A small study: study.csv with x0 to x4 and d, half of them cases."""
    path = tmp_path / "study.csv"
    options = ["--rows", 200, "--variables", 6, "--seed", 1]
    ok("simulate", *options, "--design", "case-control", "--prevalence", PREVALENCE, "--out", path)
    return path


# --- the estimator ----------------------------------------------------------------------------------


def test_the_answer_is_nearer_to_the_truth(study: SimulatedCohort, fitted: RCI) -> None:
    cases = study.y == 1
    default, weighted = (
        rank_biased_overlap(study.true_shapley[cases], model.scores(study.X[cases]))
        for model in (RCI(mechanism="linear").fit(study.X, study.y), fitted)
    )
    assert weighted > default + 0.1
    assert weighted > 0.95


def test_risks_are_those_of_the_population() -> None:
    people = simulate(120_000, 20, random_state=3, prevalence=PREVALENCE)
    studied, fresh = np.arange(90_000), np.arange(90_000, 120_000)
    rows = np.concatenate([studied[people.y[studied] == label][:1000] for label in (0, 1)])
    X, y = people.X[rows], people.y[rows]
    for attribution in ("sharp", "paper"):
        model = RCI(prevalence=PREVALENCE, attribution=attribution).fit(X, y)
        assert model.predict_proba(people.X[fresh])[:, 1].mean() == pytest.approx(PREVALENCE, rel=0.1)
        assert np.array_equal(model.explain(X[:5]).probability, model.predict_proba(X[:5])[:, 1])
    assert RCI().fit(X, y).predict_proba(people.X[fresh])[:, 1].mean() > 5 * PREVALENCE


def test_the_parameter_is_remembered(fitted: RCI, study: SimulatedCohort, tmp_path: Path) -> None:
    assert fitted.provenance_["parameters"]["prevalence"] == PREVALENCE
    assert clone(fitted).prevalence == PREVALENCE
    assert "prevalence=0.02" in repr(fitted)
    assert "prevalence" not in repr(RCI())
    fitted.save(tmp_path / "m.rci")
    loaded = RCI.load(tmp_path / "m.rci")
    assert loaded.prevalence == PREVALENCE
    assert np.array_equal(loaded.predict_proba(study.X), fitted.predict_proba(study.X))


def test_a_file_with_a_prevalence_that_is_none_is_refused(fitted: RCI, tmp_path: Path) -> None:
    fitted.save(tmp_path / "m.rci")
    for wrong in (2, "rare", [0.1], True):

        def change(header: dict[str, Any], wrong: Any = wrong) -> None:
            header["provenance"]["parameters"]["prevalence"] = wrong

        copy = with_header(Path(shutil.copy(tmp_path / "m.rci", tmp_path / "copy.rci")), change)
        with pytest.raises(InputError, match="prevalence"):
            RCI.load(copy)


@pytest.mark.parametrize("wrong", [0, 1, 2, -0.1, float("nan"), "0.02", True])
def test_what_is_no_share_is_refused(wrong: Any, study: SimulatedCohort) -> None:
    with pytest.raises(InputError, match="prevalence must be"):
        RCI(prevalence=wrong).fit(study.X, study.y)


def test_cases_rarer_than_in_the_population_get_a_word(study: SimulatedCohort) -> None:
    """No error: a study that took few of many cases is legal."""
    rows = np.concatenate([np.flatnonzero(study.y == 1)[:100], np.flatnonzero(study.y == 0)[:400]])
    X, y = study.X[rows], study.y[rows]
    message = r"prevalence=0.3 is above the share of cases among these patients, 0.2 \(100 of 500\)"
    with pytest.warns(UserWarning, match=message) as caught:
        RCI(prevalence=0.3).fit(X, y)
    assert "the wrong way round" in str(caught[0].message)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RCI(prevalence=0.2).fit(X, y)
        RCI(prevalence=0.1).fit(X, y)


# --- the checks -------------------------------------------------------------------------------------


def test_the_checks_look_at_the_population(study: SimulatedCohort, fitted: RCI) -> None:
    """Sampling by D makes errors dependent, which is no sign of a hidden cause."""

    def verdicts(model: RCI) -> dict[str, str]:
        return {check.name: check.verdict for check in model.diagnose(study.X, study.y).checks}

    without = verdicts(RCI(mechanism="linear").fit(study.X, study.y))
    found = {name for name, verdict in without.items() if verdict in ("doubtful", "broken")}
    assert found == {"independent", "unconfounded"}
    assert not {"doubtful", "broken"} & set(verdicts(fitted).values())


def test_a_sample_of_the_population_has_its_shares() -> None:
    y = np.repeat([1, 0, 1], [300, 700, 100])
    rare = population_sample(y, 0.125)
    assert (y[rare].sum(), rare.size) == (100, 800)
    common = population_sample(y, 0.8)
    assert (y[common].sum(), common.size) == (400, 500)
    for rows in (rare, common):
        assert np.unique(rows).size == rows.size
    for all_of_them in (None, 400 / 1100):
        assert np.array_equal(population_sample(y, all_of_them), np.arange(1100))


def test_risks_of_the_population_are_compared_with_its_shares() -> None:
    rng = np.random.default_rng(0)
    log_odds = rng.normal(-4.5, 1.5, 400_000)
    people = rng.random(log_odds.size) < expit(log_odds)
    prevalence = float(people.mean())
    rows = np.concatenate([np.flatnonzero(people)[:3000], np.flatnonzero(~people)[:3000]])
    log_odds, y = log_odds[rows], people[rows].astype(int)
    right = check_calibration(log_odds, y, prevalence)
    assert right.verdict == "fine"
    said = f"{100 * prevalence:.3g}%"
    assert f"allowing for how they were sampled (50% ill here, {said} in the population)" in right.statement
    # A wrong level moves no patient past another: it cannot be told, and that is said.
    assert check_calibration(log_odds + 2.0, y, float(expit(logit(prevalence) + 2.0))).verdict == "fine"
    assert f"Whether {said} is right cannot be seen from them." in right.statement
    # Too steep by half: in the population of a rare disease a small number, and yet not passed over.
    steep = 1.5 * log_odds + 2.0
    assert check_calibration(steep, y, prevalence).verdict == "doubtful"
    # What a model without the prevalence states is not for the population.
    assert check_calibration(log_odds, y, None).verdict == "broken"


def test_a_prevalence_that_is_the_share_changes_no_check() -> None:
    rng = np.random.default_rng(1)
    log_odds = rng.normal(size=500)
    y = (rng.random(500) < expit(log_odds)).astype(int)
    plain, same = check_calibration(log_odds, y, None), check_calibration(log_odds, y, float(y.mean()))
    assert same.number == pytest.approx(plain.number, rel=1e-12)
    assert same.p_value == pytest.approx(plain.p_value, rel=1e-9)


# --- asking for it ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_cases", "n_rows", "expected"),
    [
        (500, 1000, "1:1"),
        (496, 1000, "1:1"),
        (504, 1000, "1:1"),
        (490, 1000, None),
        (100, 300, "1:2"),
        (200, 300, None),
        (100, 500, "1:4"),
        (400, 500, None),
        (100, 400, "1:3"),
        (100, 386, None),
        (100, 410, None),
        (100, 450, None),
        (111, 258, None),
        (24, 48, None),
        (25, 50, "1:1"),
        (0, 100, None),
        (100, 100, None),
    ],
)
def test_ratios_that_designs_choose(n_cases: int, n_rows: int, expected: str | None) -> None:
    assert chosen_ratio(n_cases, n_rows) == expected


ASKS = "cases and controls are 1:1: if they were sampled apart (a case-control study), say with --prevalence"


@pytest.mark.parametrize("command", ["fit", "check", "report"])
def test_even_classes_are_asked_about(study_file: Path, command: str) -> None:
    ending = {"fit": "rci", "report": "html"}.get(command)
    out = ["--out", study_file.with_suffix(f".{ending}")] if ending else []
    arguments = [command, study_file, "--target", "d", *out]
    assert ASKS in ok(*arguments)
    told = ok(*arguments, "--prevalence", "0.02")
    assert "disease: d = 1 (100 of 200 patients); 2% in the population\n" in told
    assert ASKS not in told
    assert "prevalence=0.02" in told


def test_uneven_classes_are_not(cohort: Path, study_file: Path) -> None:
    table = arrow_csv.read_csv(study_file)
    arrow_csv.write_csv(table.filter(pa.array(np.arange(200) % 7 != 0)), study_file)
    printed = ok("fit", study_file, "--target", "d", "--out", study_file.with_suffix(".rci"))
    assert "sampled apart" not in printed


def test_json_stays_json(study_file: Path) -> None:
    arguments = ["check", study_file, "--target", "d", "--json"]
    json.loads(ok(*arguments))
    found = json.loads(ok(*arguments, "--prevalence", "0.02"))
    assert found["provenance"]["parameters"]["prevalence"] == 0.02


# --- the command line -------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["fit", "check", "report", "simulate"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2", "must be a share between 0 and 1; 2% is 0.02."),
        ("1", "1% is 0.01"),
        ("0.5%", "0.5% is 0.005"),
        ("rare", "must be a share between 0 and 1."),
        ("0", "must be a share between 0 and 1."),
        ("-0.1", "must be a share between 0 and 1."),
        ("nan", "must be a share between 0 and 1."),
    ],
)
def test_wrong_usage(study_file: Path, command: str, value: str, expected: str) -> None:
    ending = {"fit": "rci", "report": "html", "simulate": "csv"}.get(command)
    out = ["--out", study_file.with_name(f"out.{ending}")] if ending else []
    table = [] if command == "simulate" else [study_file, "--target", "d"]
    assert expected in error(2, command, *table, *out, "--prevalence", value)
    assert [path.name for path in study_file.parent.iterdir()] == ["study.csv"]


def test_a_model_brings_its_own(study_file: Path) -> None:
    model = study_file.with_suffix(".rci")
    ok("fit", study_file, "--target", "d", "--prevalence", "0.02", "--out", model)
    out = study_file.with_suffix(".html")
    arguments = ["report", study_file, "--model", model, "--out", out]
    assert "--prevalence is for fitting" in error(2, *arguments, "--prevalence", "0.1")
    ok(*arguments)
    assert facts_of(out)["prevalence"] == 0.02
    explained = ok("explain", model, study_file)
    population = "Risks and base value are those in a population of which 2% have the disease.\n"
    assert population in explained
    assert "under 1%" not in explained  # where 2 % have it, that says nothing
    scores = study_file.with_name("scores.csv")
    assert population in ok("explain", model, study_file, "--out", scores)
    loaded = RCI.load(model)
    X = arrow_csv.read_csv(study_file).drop_columns(["d"])
    assert np.allclose(arrow_csv.read_csv(scores)["risk"], loaded.predict_proba(X)[:, 1])


def test_the_command_line_fits_what_python_fits(study_file: Path) -> None:
    out = study_file.with_suffix(".rci")
    ok("fit", study_file, "--target", "d", "--prevalence", "0.02", "--out", out)
    table = arrow_csv.read_csv(study_file)
    X, y = table.drop_columns(["d"]), table["d"].to_numpy()
    model = RCI(prevalence=0.02).fit(X, y)
    assert np.array_equal(RCI.load(out).shapley_values(X), model.shapley_values(X))
    assert RCI.load(out).intercept_ == model.intercept_
    assert not np.array_equal(model.shapley_values(X), RCI().fit(X, y).shapley_values(X))


def test_a_wrong_way_round_is_one_line(study_file: Path) -> None:
    out = study_file.with_suffix(".rci")
    result = run("fit", study_file, "--target", "d", "--prevalence", "0.98", "--out", out)
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: prevalence=0.98 is above the share of cases")
    assert result.stderr.count("\n") == 1


def test_on_a_cluster_too(study_file: Path, client_of_threads: Any) -> None:
    table = study_file.with_suffix(".parquet")
    pq.write_table(arrow_csv.read_csv(study_file), table)
    out = study_file.with_suffix(".rci")
    options = ["--target", "d", "--prevalence", "0.02", "--scheduler", client_of_threads.scheduler.address]
    printed = ok("fit", table, *options, "--out", out)
    assert "disease: d = 1 (100 of 200 patients); 2% in the population" in printed
    assert RCI.load(out).prevalence == 0.02


def test_simulated_studies(tmp_path: Path) -> None:
    out, truth = tmp_path / "study.parquet", tmp_path / "truth.parquet"
    arguments = ["simulate", "--seed", 5, "--out", out, "--design", "case-control"]
    assert "needs --prevalence" in error(2, *arguments, "--rows", 300)
    assert "even number" in error(2, *arguments, "--rows", 301, "--prevalence", 0.1)
    printed = ok(*arguments, "--rows", 300, "--prevalence", 0.1, "--truth", truth)
    assert "disease: d = 1 (150 of 300 patients); 10% in the population" in printed
    assert "design=case-control, prevalence=0.1" in printed
    drawn = simulate(300, 10, random_state=5, design="case-control", prevalence=0.1)
    assert np.array_equal(pq.read_table(out)["d"], drawn.y)
    assert np.array_equal(pq.read_table(truth)["x0"], drawn.true_shapley[:, 0])


# --- the page ---------------------------------------------------------------------------------------


def test_the_page_knows_its_population(study_file: Path) -> None:
    out = study_file.with_suffix(".html")
    ok("report", study_file, "--target", "d", "--out", out)
    assert facts_of(out)["prevalence"] is None
    ok("report", study_file, "--target", "d", "--prevalence", "0.02", "--out", out)
    facts = facts_of(out)
    assert facts["prevalence"] == facts["made"]["parameters"]["prevalence"] == 0.02
    statement = next(c["statement"] for c in facts["made"]["checks"] if "observed" in c["question"])
    assert "50% ill here, 2% in the population" in statement


# --- few rows that count ----------------------------------------------------------------------------


def test_few_controls_that_stand_for_many_are_named() -> None:
    study = simulate(400, 6, design="case-control", prevalence=0.02, random_state=0)
    few = np.concatenate([np.flatnonzero(study.y == 1), np.flatnonzero(study.y == 0)[:20]])
    with pytest.warns(UserWarning, match="count for no more than 2[01] of equal weight"):
        RCI(prevalence=0.02).fit(study.X[few], study.y[few])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RCI(prevalence=0.02).fit(study.X, study.y)


@pytest.mark.parametrize("times", [1.0, 1.0 + 1e-15, 1.2])
def test_a_prevalence_at_the_share_of_cases_is_no_doubt(times: float) -> None:
    assert doubt_of_prevalence(0.1 * times, 10, 100) is None
    assert doubt_of_prevalence(0.13, 10, 100) is not None


def test_copies_are_found_in_memory_whatever_the_classes_weigh() -> None:
    study = simulate(400, 6, design="case-control", prevalence=0.02, random_state=0)
    with pytest.raises(InputError, match="'x0' and 'x5' are copies"):
        RCI(prevalence=0.01).fit(np.column_stack([study.X, 3.0 - study.X[:, 0]]), study.y)
