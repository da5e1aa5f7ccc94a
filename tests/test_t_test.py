"""The t-test comparator against the authors' values and SciPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_ind

from rootcausal import RCI
from rootcausal.comparators.t_test import TTest
from rootcausal.data import simulate
from rootcausal.metrics import rank_biased_overlap

CASES = sorted((Path(__file__).parent / "data").glob("*.npz"))


def test_the_reference_cases_are_here() -> None:
    assert len(CASES) == 9


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_the_authors_statistic_for_every_patient(path: Path) -> None:
    data = np.load(path)
    model = TTest().fit(data["X"], data["y"])
    scores = model.scores(data["X"])
    np.testing.assert_allclose(scores, np.tile(data["abs_t"], (len(data["X"]), 1)), rtol=1e-9)
    if "rbo_ttest" in data:
        overlap = rank_biased_overlap(data["true_shapley"], scores)
        assert overlap == pytest.approx(float(data["rbo_ttest"]), abs=1e-8)


def test_scipy_agrees_and_new_patients_score_the_same() -> None:
    cohort = simulate(300, 12, random_state=4)
    model = TTest().fit(cohort.X, cohort.y)
    sick = cohort.y == 1
    expected = np.abs(ttest_ind(cohort.X[sick], cohort.X[~sick], equal_var=False).statistic)
    np.testing.assert_allclose(model.statistic_, expected, rtol=1e-9)
    np.testing.assert_array_equal(model.scores(cohort.X[:5] + 1.0), np.tile(model.statistic_, (5, 1)))


def test_a_copy_of_the_diagnosis_comes_first_with_a_finite_score() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(64) % 2
    X = np.column_stack([rng.standard_normal(64) + y, y])
    scores = TTest().fit(X, y).scores(X)
    assert np.isfinite(scores).all()
    assert (scores[:, 1] > scores[:, 0]).all()


def test_a_finding_that_none_of_a_few_cases_has_is_no_sign_of_a_dependence() -> None:
    """Cases that all lack it say nothing of its spread among cases: Welch's test would be certain of it."""
    rng = np.random.default_rng(1)
    y = (np.arange(3000) < 4).astype(int)
    finding = np.where(y == 1, 0.0, rng.random(3000) < 0.03)
    X = np.column_stack([finding, rng.standard_normal(3000) + 3.0 * y])
    pooled = ttest_ind(finding[y == 1], finding[y == 0], equal_var=True)
    assert TTest().fit(X, y).statistic_[0] == pytest.approx(abs(pooled.statistic), rel=1e-9)
    assert pooled.pvalue > 0.5
    assert RCI(alpha=0.2).fit(X, y).causal_order_.tolist() == [1]
