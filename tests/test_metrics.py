"""The paper's criteria against the authors' numbers, a plain twin, and their edge rules."""

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rootcausal.errors import InputError
from rootcausal.metrics import rank_biased_overlap, shapley_mse

CASES = sorted(Path(__file__).with_name("data").glob("n*_p*.npz"))
INF = np.inf


def plain_overlap(truth, scores, weighted):
    """The paper's formula, one patient, one depth and one set at a time."""
    total = 0.0
    for true_row, score_row in zip(truth, scores, strict=True):
        columns = range(len(true_row))
        true_ranking = [c for c in sorted(columns, key=lambda c: (-true_row[c], c)) if true_row[c] > 0]
        ranking = sorted(columns, key=lambda c: (-score_row[c], c))
        q = len(true_ranking)
        if q == 0:
            total += 1
        for i in range(1, q + 1):
            share = true_row[true_ranking[i - 1]] / sum(true_row[true_ranking]) if weighted else 1 / q
            total += share * len(set(ranking[:i]) & set(true_ranking[:i])) / i
    return total / len(truth)


@st.composite
def truth_and_scores(draw):
    shape = draw(hnp.array_shapes(min_dims=2, max_dims=2, max_side=6))
    # Few distinct values, so that ties and rows without a root cause are common.
    values = st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0, 3.0])
    truth = draw(hnp.arrays(np.float64, shape, elements=values))
    scores = draw(hnp.arrays(np.float64, shape, elements=values | st.just(-INF)))
    return truth, scores


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_agrees_with_the_authors_implementation(path):
    case = np.load(path)
    truth, shapley, ranked = case["true_shapley"], case["shapley"], case["order_local_plus"]
    scores = np.full_like(shapley, -INF)
    scores[:, ranked] = shapley[:, ranked]
    t_test = np.broadcast_to(case["abs_t"], truth.shape)
    assert rank_biased_overlap(truth, scores) == pytest.approx(float(case["rbo"]), abs=1e-8)
    assert rank_biased_overlap(truth, t_test) == pytest.approx(float(case["rbo_ttest"]), abs=1e-8)
    assert shapley_mse(truth, shapley) == pytest.approx(float(case["mse"]), abs=1e-8)
    assert shapley_mse(truth, scores) == pytest.approx(float(case["mse"]), abs=1e-8)


def test_the_reference_cases_are_there():
    assert len(CASES) == 8


@given(truth_and_scores(), st.booleans())
def test_overlap_equals_its_plain_twin(arrays, weighted):
    truth, scores = arrays
    overlap = rank_biased_overlap(truth, scores, weighted=weighted)
    assert overlap == pytest.approx(plain_overlap(truth, scores, weighted), abs=1e-12)
    assert 0 <= overlap <= 1 + 1e-12


@given(truth_and_scores(), st.booleans())
def test_the_true_ranking_scores_one_at_any_scale(arrays, weighted):
    truth, _ = arrays
    assert rank_biased_overlap(truth, 3 * truth - 7, weighted=weighted) == pytest.approx(1)
    assert rank_biased_overlap(truth * 5e307, truth, weighted=weighted) == pytest.approx(1)


def test_depths_are_weighted_as_the_paper_says():
    # Truth ranks 0, 1; the estimate ranks 1, 0: no overlap at depth 1, full overlap at depth 2.
    truth, scores = [[3.0, 1.0, -2.0]], [[1.0, 2.0, 0.0]]
    assert rank_biased_overlap(truth, scores) == pytest.approx(1 / 4)
    assert rank_biased_overlap(truth, scores, weighted=False) == pytest.approx(1 / 2)


def test_a_ranking_is_a_matrix_with_ordered_positive_entries():
    ranking = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0]])
    scores = np.array([[9.0, 8.0, 1.0], [9.0, 8.0, 1.0]])
    assert rank_biased_overlap(ranking, scores, weighted=False) == pytest.approx((1 + 1 / 2) / 2)


def test_unranked_variables_come_last_in_column_order():
    truth = [[0.0, 1.0, 0.0, 0.5]]
    assert rank_biased_overlap(truth, [[-INF, -INF, -INF, -9.0]]) == pytest.approx(
        rank_biased_overlap(truth, [[3.0, 2.0, 1.0, 4.0]])
    )


def test_a_patient_without_a_root_cause_scores_one():
    assert rank_biased_overlap([[-1.0, 0.0]], [[5.0, 2.0]]) == 1
    assert rank_biased_overlap([[-1.0, 0.0], [1.0, 0.0]], [[0.0, 2.0], [0.0, 2.0]]) == pytest.approx(1 / 2)


def test_unranked_counts_as_zero_in_the_squared_error():
    assert shapley_mse([[2.0, 1.0]], [[-INF, 4.0]]) == pytest.approx((4 + 9) / 2)


@pytest.mark.parametrize("metric", [rank_biased_overlap, shapley_mse])
@pytest.mark.parametrize(
    ("truth", "scores", "message"),
    [
        (
            [[1.0, 2.0]],
            [[1.0, np.nan]],
            r"scores holds 1 NaN or \+inf value\(s\), the first at row 0, column 1",
        ),
        ([[1.0, 2.0]], [[INF, 1.0]], r"scores holds 1 NaN or \+inf value"),
        ([[1.0, -INF]], [[1.0, 2.0]], "true_shapley holds 1 NaN or infinite value"),
        ([[np.nan, np.nan]], [[1.0, 2.0]], "true_shapley holds 2 NaN or infinite value"),
        ([[1.0, 2.0]], [[1.0]], r"true_shapley has shape \(1, 2\) but scores has shape \(1, 1\)"),
        ([1.0, 2.0], [[1.0, 2.0]], r"true_shapley must be a matrix .* has 1 dimension"),
        ([[1.0, 2.0]], [1.0, 2.0], r"scores must be a matrix .* has 1 dimension"),
        (np.ones((0, 3)), np.ones((0, 3)), r"true_shapley is empty: its shape is \(0, 3\)"),
        ([["a"]], [[1.0]], "true_shapley must hold numbers"),
    ],
)
def test_bad_input_is_named(metric, truth, scores, message):
    with pytest.raises(InputError, match=message):
        metric(truth, scores)


def test_ten_thousand_patients_take_well_under_a_second():
    rng = np.random.default_rng(0)
    truth, scores = rng.normal(size=(2, 10_000, 100))
    start = time.process_time()
    rank_biased_overlap(truth, scores)
    assert time.process_time() - start < 1
