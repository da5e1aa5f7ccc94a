"""What the checks reckon for many columns at once is what a loop over columns would find."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from rootcausal import RCIRegressor
from rootcausal.backends.cpu.compiler import one_thread
from rootcausal.backends.cpu.concordance import concordances
from rootcausal.data import simulate
from rootcausal.diagnostics.dependence import rank_correlations, rank_scores, ranks_of, share_explained
from rootcausal.diagnostics.regressions import GROUPS_AT_ONCE, PlainLogit, joint_score_tests
from rootcausal.method.layout import NO_LEVELS, Layout
from rootcausal.outcomes.survival import concordance
from rootcausal.screening.auc import aucs

SEEDS = st.integers(0, 10_000)


def columns_with_ties(seed: int, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, m) of which every second column takes few values, and which of them are missing."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, m))
    values[:, ::2] = rng.integers(0, 4, (n, len(range(0, m, 2))))
    return values, rng.random((n, m)) < rng.choice([0.0, 0.3])


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(1, 40))
def test_ranks_are_those_of_what_was_measured(seed, n):
    values, missing = columns_with_ties(seed, n, 4)
    ranks = ranks_of(values.T, ~missing.T)
    for column, there in enumerate(~missing.T):
        own = values[there, column]
        assert ranks[column, there].tolist() == rankdata(own).tolist()
    assert ranks_of(values[:, 0]).tolist() == rankdata(values[:, 0]).tolist()


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_a_column_tells_as_much_alone_as_among_others_and_without_its_holes(seed):
    values, missing = columns_with_ties(seed, 60, 6)
    y = np.random.default_rng(seed).integers(0, 2, 60)
    levels = tuple(np.arange(4.0) if column % 2 == 0 else NO_LEVELS for column in range(6))
    together = aucs(values, missing, y, Layout(np.arange(6), levels))
    for column, there in enumerate(~missing.T):
        layout = Layout(np.array([0]), (levels[column],))
        assert together[column] == aucs(values[there][:, [column]], None, y[there], layout)[0]


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_rank_correlations_are_those_of_a_loop(seed):
    values, missing = columns_with_ties(seed, 50, 3)
    y = np.random.default_rng(seed).integers(0, 9, 50).astype(float)
    found = rank_correlations(values, missing, y)
    for column, there in enumerate(~missing.T):
        one, other = rankdata(values[there, column]), rankdata(y[there])
        assert found[column] == pytest.approx(abs(np.corrcoef(one, other)[0, 1]), abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(SEEDS, st.integers(1, 40))
def test_compiled_pairs_are_those_of_the_plain_concordance(seed, n):
    values, missing = columns_with_ties(seed, n, 3)
    rng = np.random.default_rng(seed)
    time, event = rng.integers(1, 12, n).astype(float), rng.integers(0, 2, n).astype(float)
    found = concordances(np.where(missing, np.nan, values).T, time, event)
    plain = [
        concordance(values[there, column], time[there], event[there])
        for column, there in enumerate(~missing.T)
    ]
    assert np.array_equal(found, plain, equal_nan=True)


def test_rank_scores_are_standardized_cosines():
    values, _ = columns_with_ties(0, 200, 3)
    found = rank_scores(values, 4)
    for column in range(3):
        for a in range(4):
            score = np.cos(np.pi * (a + 1) * (rankdata(values[:, column]) - 0.5) / 200)
            expected = (score - score.mean()) / max(score.std(), 1e-3)
            assert found[column, a] == pytest.approx(expected, abs=1e-10)


def test_score_tests_of_many_groups_are_those_of_each():
    rng = np.random.default_rng(3)
    errors, y = rng.standard_normal((300, 3)), rng.integers(0, 2, 300)
    extra = rng.standard_normal((2 * GROUPS_AT_ONCE + 1, 2, 300))
    extra[0, 0] = errors[:, 1]  # what the model holds is nothing new
    fit = PlainLogit.of(errors, y)
    statistic, freedom = joint_score_tests(fit, extra)
    weight = fit.risk * (1.0 - fit.risk)
    design = np.column_stack([errors, np.ones(300)])
    held = (design * weight[:, None]).T @ design
    for group, (found, free) in enumerate(zip(statistic, freedom, strict=True)):
        new = extra[group] if group else extra[group, 1:]
        cross = (design * weight[:, None]).T @ new.T
        left = (new * weight) @ new.T - cross.T @ np.linalg.solve(held, cross)
        score = new @ (y - fit.risk)
        assert found == pytest.approx(score @ np.linalg.solve(left, score))
        assert free == len(new)


@pytest.mark.parametrize("n_values", [3, 200])
def test_curves_explain_what_least_squares_says(n_values):
    rng = np.random.default_rng(5)
    x = rng.integers(0, n_values, 200) / n_values
    curves = np.stack([x**2, np.maximum(x - 0.3, 0), np.maximum(x - 0.6, 0), x**2])
    error = rng.standard_normal(200) + x
    _, _, left = share_explained(curves, error, 2)
    assert left == pytest.approx(error - curves.T @ np.linalg.lstsq(curves.T, error, rcond=None)[0], abs=1e-9)


def test_findings_do_not_depend_on_the_number_of_threads():
    drawn = simulate(6_000, 21, random_state=0, outcome="continuous")
    model = RCIRegressor().fit(drawn.X, drawn.y)
    on_all = model.diagnose(drawn.X, drawn.y)
    with one_thread():
        assert repr(model.diagnose(drawn.X, drawn.y)) == repr(on_all)
