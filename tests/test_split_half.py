"""Two halves of a cohort: how often they agree, and how often they would if the model held."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import error, ok
from scipy.special import expit

from rootcausal import RCI, InputError, RCIRegressor, RCISurvival
from rootcausal.resampling.halves import Halves


def cohort(n: int = 400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """a → b → predictor, c apart, and a column with two levels."""
    rng = np.random.default_rng(seed)
    a, e, c = rng.laplace(size=(3, n))
    X = pd.DataFrame({"a": a, "b": 0.7 * a + e, "c": c, "sex": rng.integers(0, 2, n)})
    return X, 1.2 * X["b"].to_numpy() + 0.8 * X["sex"].to_numpy()


def labels(predictor: np.ndarray, seed: int = 1) -> np.ndarray:
    return (np.random.default_rng(seed).random(len(predictor)) < expit(predictor)).astype(int)


def test_halves_of_a_large_cohort_agree_and_should():
    X, predictor = cohort(2000)
    model = RCI().fit(X, labels(predictor))
    found = model.split_half(3)
    assert found.same > 0.9
    assert found.expected_same == pytest.approx(found.same, abs=0.1)
    assert not found.low
    assert 0.0 <= found.overlap <= 1.0
    assert model.split_half(3) == found  # the same seed, the same numbers
    assert model.provenance_["halves"] == found.to_dict()
    assert Halves.of_dict(found.to_dict()) == found


def test_agreement_is_that_of_two_cohorts():
    """Against models of halves that were drawn anew from the world."""
    n, same = 300, list[float]()
    X, predictor = cohort(n * 7, seed=3)
    y = labels(predictor)
    found = RCI().fit(X[:n], y[:n]).split_half(4)
    for start in range(n, n * 7, n):
        parts = [slice(start, start + n // 2), slice(start + n // 2, start + n)]
        e = [RCI().fit(X[part], y[part]).explain(X[start : start + n]) for part in parts]
        strongest = [np.where(one.notable.any(axis=1), one.values.argmax(axis=1), -1) for one in e]
        told = [one.values.max(axis=1) >= one.notable_from for one in e]
        strongest = [np.where(name, one, -1) for name, one in zip(told, strongest, strict=True)]
        either = told[0] | told[1]
        same.append(float((strongest[0] == strongest[1])[either].mean()))
    assert found.same == pytest.approx(np.mean(same), abs=0.12)
    assert found.expected_same == pytest.approx(np.mean(same), abs=0.12)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_other_outcomes_and_holes():
    X, predictor = cohort(250)
    rng = np.random.default_rng(5)
    holes = X.mask(rng.random(X.shape) < 0.1)
    time, end = rng.exponential(np.exp(-predictor)), rng.exponential(3.0, len(X))
    survival = RCISurvival().fit(X, np.minimum(time, end), time <= end).split_half(2)
    number = RCIRegressor().fit(holes, predictor + rng.laplace(size=len(X))).split_half(2)
    for found in (survival, number):
        assert found.expected_same is not None
        assert 0.0 <= found.same <= 1.0
    count = RCIRegressor(outcome="count").fit(X, rng.poisson(np.exp(0.5 * predictor))).split_half(2)
    assert count.expected_same is None
    assert count.why and "simulated" not in str(count)
    patients = np.repeat(np.arange(125), 2)
    several = RCI().fit(X, labels(predictor), groups=patients).split_half(2)
    assert several.expected_same is None
    assert several.same > 0.0


def test_the_check_and_the_page_say_it(tmp_path: Path):
    X, predictor = cohort()
    y = labels(predictor)
    model = RCI().fit(X, y)
    assert "halves" not in {check.name for check in model.diagnose(X, y).checks}
    found = model.split_half(2)
    (check,) = [one for one in model.diagnose(X, y).checks if one.name == "halves"]
    assert check.verdict == ("doubtful" if found.low else "fine")
    assert check.number == found.same
    model.provenance_ = {**model.provenance_, "halves": {**found.to_dict(), "same": 0.1, "low_same": 0.5}}
    (check,) = [one for one in model.diagnose(X, y).checks if one.name == "halves"]
    assert (check.verdict, check.limit[:40]) == ("doubtful", "Two halves of this cohort name the same ")
    model.save(tmp_path / "model.rci")
    assert RCI.load(tmp_path / "model.rci").provenance_["halves"]["same"] == 0.1
    model.report(X[:5], tmp_path / "page.html")
    assert "in 10 of 100 patients" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("changed", [{"same": 7.0}, {"splits": -1}, {"why": 3}, {"more": 1}])
def test_what_a_file_cannot_say_is_refused(changed):
    X, predictor = cohort(100)
    found = RCI().fit(X, labels(predictor)).split_half(1).to_dict()
    with pytest.raises((ValueError, TypeError)):
        Halves.of_dict({**found, **changed})


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_cannot_be_cut_is_refused():
    X, predictor = cohort(100)
    model = RCI().fit(X, labels(predictor))
    for wrong in ({"n": 0}, {"n": 1.5}, {"random_state": -1}):
        with pytest.raises(InputError, match="n must be a whole number"):
            model.split_half(**wrong)
    few = np.zeros(100, dtype=int)
    few[:2] = 1
    with pytest.raises(InputError, match="too few patients with the outcome"):
        RCI().fit(X, few).split_half(3)


def test_the_command_line_asks_for_it(tmp_path: Path):
    X, predictor = cohort(200)
    X.assign(sick=labels(predictor)).to_csv(tmp_path / "cohort.csv", index=False)
    said = ok("check", tmp_path / "cohort.csv", "--target", "sick", "--halves")
    assert "halves" in said
    out = tmp_path / "model.rci"
    ok("fit", tmp_path / "cohort.csv", "--target", "sick", "--halves", "--out", out)
    assert RCI.load(out).provenance_["halves"]["splits"] == 10
    assert "in memory" in error(
        2, "fit", tmp_path / "cohort.csv", "--target", "sick", "--halves", "--backend", "dask", "--out", out
    )
