"""Benchmarks of real tables, many causes and other worlds: small runs, and the arithmetic behind them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.special import expit
from sklearn import metrics

ROOT = Path(__file__).parent.parent


@pytest.fixture(params=["real_tables", "many_causes", "other_worlds"])
def benchmark(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return loaded(request.param, monkeypatch)


def loaded(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module(name)


SMALL = {
    "real_tables": ["--tables", "pbc-complete", "--repeats", "1"],
    "many_causes": ["--rows", "100", "--variables", "10", "--causes", "1", "--sets", "2"],
    "other_worlds": ["--sets", "0", "--interval-sets", "0", "--trials", "1"],
}


def test_a_small_run_writes_its_page_and_goes_on_where_it_stopped(
    benchmark: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run() -> dict[str, str]:
        monkeypatch.setattr(sys, "argv", ["it", *SMALL[benchmark.__name__], "--out", str(tmp_path)])
        benchmark.main()
        return {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}

    first = run()
    assert first["README.md"] in capsys.readouterr().out
    assert "nan" not in first["README.md"]
    assert run() == first
    if benchmark.__name__ == "real_tables":
        assert "| pbc-complete | 258 | 10 " in first["README.md"]
        assert first["rows.csv"].count("\n") == 1 + len(benchmark.METHODS)


def test_figures_of_new_patients_are_those_of_their_names(monkeypatch: pytest.MonkeyPatch) -> None:
    real = loaded("real_tables", monkeypatch)
    rng = np.random.default_rng(0)
    log_odds = rng.standard_normal(200_000)
    y = (rng.random(log_odds.size) < expit(0.5 + 2.0 * log_odds)).astype(int)
    assert real.log_loss(log_odds, y) == pytest.approx(metrics.log_loss(y, expit(log_odds)))
    found = real.calibration(log_odds, y)
    assert found["slope"] == pytest.approx(2.0, abs=4 * found["slope_se"])
    # At slope 1 the mean risk is that of those who fell ill.
    assert expit(log_odds + found["intercept"]).mean() == pytest.approx(y.mean())


def test_tables_that_miss_what_is_asked_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = loaded("real_tables", monkeypatch)

    def told(default: float, slope: float) -> dict[str, dict[str, float]]:
        others = {name: {"log_loss": 0.5, "slope": 1.0} for name in real.METHODS}
        return others | {"default": {"log_loss": default, "slope": slope}}

    found = {"fine": told(0.49, 1.0), "worse": told(0.504, 1.0), "much worse": told(0.506, 1.2)}
    logistic, linear, paper, better, _, slope = real.summary(found)
    assert linear.endswith("1 of 3; not worse, much worse")
    assert logistic.endswith("2 of 3; not much worse")
    assert paper.endswith("1 of 3; not worse, much worse")
    assert better.endswith("1 of 3; not worse, much worse")
    assert slope.endswith("2 of 3; not much worse")


@pytest.mark.parametrize("causes", [1, 16, 30])
def test_d_has_as_many_parents_as_asked(monkeypatch: pytest.MonkeyPatch, causes: int) -> None:
    cohort = loaded("many_causes", monkeypatch).draw(n=100, p=50, causes=causes, seed=1)
    assert np.count_nonzero(cohort.target_weights) == causes
    holds_together(cohort)


def test_other_worlds_have_unit_variances_and_a_part_of_them_explained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cohort = loaded("other_worlds", monkeypatch).draw(n=20_000, p=20, seed=1)
    holds_together(cohort)
    assert cohort.X.var(axis=0) == pytest.approx(np.ones(19), abs=0.1)
    has_parents = cohort.adjacency.any(axis=1)
    own = cohort.errors.var(axis=0)
    assert ((own[has_parents] > 0.27) & (own[has_parents] < 0.83)).all()
    assert 2 <= np.count_nonzero(cohort.target_weights) <= 4


def holds_together(cohort: object) -> None:
    assert pytest.approx(cohort.errors + cohort.X @ cohort.adjacency.T) == cohort.X
    log_odds = cohort.X @ cohort.target_weights
    assert cohort.true_shapley.sum(axis=1) == pytest.approx(log_odds)


def test_a_drug_of_a_trial_is_randomised_and_has_its_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    worlds = loaded("other_worlds", monkeypatch)
    rows = [worlds.tried(seed, known=False) for seed in range(8)]
    plain, error = (np.array([row[name] for row in rows]) for name in ("plain", "plain_se"))
    assert abs(plain.mean() - worlds.LOG_ODDS_RATIO) < 4 * error.mean() / len(rows) ** 0.5
    X, y = worlds.trial(0)
    assert X.shape == (600, 31) and X["arm"].mean() == 0.5 and 0.08 < y.mean() < 0.18


def test_probabilities_are_counted_by_tenth(monkeypatch: pytest.MonkeyPatch) -> None:
    causes_found = loaded("causes_found", monkeypatch)
    counted = causes_found.tenths(np.array([0.0, 0.04, 0.96, 1.0]), np.array([False, True, True, True]))
    assert [tuple(row.values()) for row in counted] == [(0, 2, 0.04, 1), (9, 2, 1.96, 2)]
    page = causes_found.probability_table(counted)
    assert "+0.480 | no" in page and "+0.020 | yes" in page
