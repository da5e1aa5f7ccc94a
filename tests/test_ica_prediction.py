"""Prediction with independent components: cohorts with a known answer, and the compiled loop's oracle."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier

from rootcausal.comparators.forest import (
    Tree,
    grow_forest,
    grow_tree,
    plain_grow_tree,
    plain_votes,
    rank_sources,
    votes,
)
from rootcausal.comparators.ica import ICAPrediction
from rootcausal.comparators.local_importance import add_lost_votes, out_of_bag_importance, plain_lost_votes
from rootcausal.errors import InputError

N = 1500


def skewed(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.exponential(size=shape) - 1.0


def diagnosis_of(log_odds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(len(log_odds)) < expit(log_odds)).astype(int)


def named_first(scores: np.ndarray, column: int) -> float:
    return float((scores.argmax(axis=1) == column).mean())


def test_the_only_source_that_drives_the_diagnosis_ranks_first() -> None:
    rng = np.random.default_rng(1)
    X = skewed(rng, N, 5)
    y = diagnosis_of(6.0 * X[:, 3], rng)
    scores = ICAPrediction(n_trees=60, random_state=0).fit(X, y).scores(X)
    assert named_first(scores, 3) > 0.8
    assert scores.mean(axis=0)[3] > 10 * np.abs(np.delete(scores.mean(axis=0), 3)).max()


@pytest.mark.parametrize(
    ("edges", "cause", "parent"),
    [
        pytest.param([(0, 1), (1, 2)], 0, 2, id="chain"),
        pytest.param([(1, 0), (1, 2)], 1, 2, id="fork"),
        pytest.param([(0, 2), (1, 2)], 2, 2, id="collider"),
    ],
)
def test_the_error_that_drives_the_diagnosis_ranks_first(
    edges: list[tuple[int, int]], cause: int, parent: int
) -> None:
    """D depends on X[parent], most of whose variance is the error of X[cause]."""
    rng = np.random.default_rng(2)
    scale = np.full(3, 0.4)
    scale[cause] = 2.0
    weights = np.zeros((3, 3))
    for tail, head in edges:
        weights[head, tail] = 0.9
    X = skewed(rng, N, 3) * scale @ np.linalg.inv(np.eye(3) - weights).T
    y = diagnosis_of(4.0 * X[:, parent], rng)
    model = ICAPrediction(n_trees=60, random_state=0).fit(X, y)
    assert model.converged_
    assert named_first(model.scores(X), cause) > 0.8


def test_without_signal_importances_are_near_zero() -> None:
    rng = np.random.default_rng(3)
    X, y = skewed(rng, N, 4), rng.integers(2, size=N)
    scores = ICAPrediction(n_trees=60, random_state=0).fit(X, y).scores(X)
    assert np.abs(scores.mean(axis=0)).max() < 0.03


def test_columns_may_come_in_any_order() -> None:
    rng = np.random.default_rng(4)
    X = skewed(rng, N, 4)
    X[:, 1] += 0.8 * X[:, 0]
    y = diagnosis_of(4.0 * X[:, 1], rng)
    order = np.array([2, 1, 3, 0])
    scores = ICAPrediction(n_trees=60, random_state=0).fit(X, y).scores(X)
    moved = ICAPrediction(n_trees=60, random_state=0).fit(X[:, order], y).scores(X[:, order])
    np.testing.assert_allclose(moved.mean(axis=0), scores.mean(axis=0)[order], atol=0.02)
    assert (moved.argmax(axis=1) == np.argsort(order)[scores.argmax(axis=1)]).mean() > 0.8


def sources_and_labels(kind: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    # Values that equal a threshold, or each other, only occur where values repeat.
    X = rng.integers(4, size=(n, 6)) / 2 if kind == "integers" else rng.normal(size=(n, 6))
    X = X.astype(np.float32)
    return X, diagnosis_of(2.0 * X[:, 0] - X[:, 1] * X[:, 2], rng)


def times_drawn(n: int, rng: np.random.Generator) -> np.ndarray:
    return np.bincount(rng.integers(n, size=n), minlength=n)


@pytest.mark.parametrize("candidates", [1, 2, 6])
@pytest.mark.parametrize("n", [2, 60, 64, 500, 4200])  # bitmaps of one word, one block, and two blocks
@pytest.mark.parametrize("kind", ["integers", "reals"])
def test_a_compiled_tree_is_the_plain_one(kind: str, n: int, candidates: int) -> None:
    rng = np.random.default_rng(n)
    X, y = sources_and_labels(kind, n, rng)
    drawn = times_drawn(n, rng)
    fast, plain = (
        grow(rank_sources(X), y, drawn, candidates, np.random.default_rng(1))
        for grow in (grow_tree, plain_grow_tree)
    )
    for ours, oracle in zip(fast, plain, strict=True):
        np.testing.assert_array_equal(ours, oracle)
    np.testing.assert_array_equal(votes(fast, X), plain_votes(fast, X))


def test_a_tree_knows_the_patients_that_it_learned_from() -> None:
    rng = np.random.default_rng(12)
    X, y = sources_and_labels("reals", 300, rng)
    drawn = times_drawn(300, rng)
    tree = grow_tree(rank_sources(X), y, drawn, 2, rng)
    np.testing.assert_array_equal(votes(tree, X)[drawn > 0], y[drawn > 0])
    # Where all sources are candidates, the first split is the one that scikit-learn finds best.
    every = grow_tree(rank_sources(X), y, np.ones(300, dtype=np.intp), 6, rng)
    stump = RandomForestClassifier(1, max_depth=1, bootstrap=False, max_features=None).fit(X, y)
    best = stump.estimators_[0].tree_
    assert (every.source[0], every.threshold[0]) == (best.feature[0], pytest.approx(best.threshold[0]))


def test_a_forest_predicts_as_well_as_scikit_learns() -> None:
    rng = np.random.default_rng(13)
    X, y = sources_and_labels("reals", 2000, rng)
    ours = grow_forest(X[:1000], y[:1000], 100, 0).predict(X[1000:]) == y[1000:]
    theirs = RandomForestClassifier(100, random_state=0).fit(X[:1000], y[:1000]).predict(X[1000:])
    assert ours.mean() == pytest.approx((theirs == y[1000:]).mean(), abs=0.02)


def lost_in_circle(
    tree: Tree, X: np.ndarray, y: np.ndarray, circle: np.ndarray, steps: np.ndarray
) -> np.ndarray:
    """By plain predictions, with sources that are passed on along the circle."""
    others = np.column_stack([np.roll(X[circle, source], -step) for source, step in enumerate(steps)])
    return plain_lost_votes(tree, X[circle], others, y[circle])


@pytest.mark.parametrize("kind", ["integers", "reals"])
def test_the_compiled_loop_counts_as_plain_predictions_do(kind: str) -> None:
    rng = np.random.default_rng(5)
    X, y = sources_and_labels(kind, 400, rng)
    circle, steps = rng.permutation(400)[:250], rng.integers(1, 250, size=6)
    for tree in grow_forest(X[:200], y[:200], 8, 0).trees:
        lost = np.zeros(X.shape, dtype=np.int64)
        add_lost_votes(lost, tree, X, circle, y, X, circle, np.arange(250), steps)
        np.testing.assert_array_equal(lost[circle], lost_in_circle(tree, X, y, circle, steps))
        assert {-1, 0, 1} == set(np.unique(lost))


def test_importances_ask_only_trees_that_did_not_see_the_patient() -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(120, 3)).astype(np.float32)
    y = diagnosis_of(3.0 * X[:, 0], rng)
    forest = grow_forest(X, y, 5, 0)
    lost, trees = np.zeros((120, 3)), np.zeros(120)
    for number, (tree, out) in enumerate(zip(forest.trees, forest.out_of_bag, strict=True)):
        draws = np.random.default_rng((9, number))
        circle, steps = draws.permutation(out), draws.integers(1, out.size, size=3)
        lost[circle] += lost_in_circle(tree, X, y, circle, steps)
        trees[out] += 1
    importance = out_of_bag_importance(forest, X, y, seed=9)
    np.testing.assert_array_equal(importance[trees > 0], lost[trees > 0] / trees[trees > 0, np.newaxis])
    assert (trees == 0).any() and not importance[trees == 0].any()


def test_the_same_seed_gives_the_same_scores() -> None:
    rng = np.random.default_rng(7)
    X = skewed(rng, 300, 5)
    y = diagnosis_of(2.0 * X[:, 0], rng)
    first, again, other = (
        ICAPrediction(n_trees=20, random_state=seed).fit(X, y).scores(X) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_newcomers_are_scored_one_by_one_as_together() -> None:
    rng = np.random.default_rng(8)
    X = skewed(rng, N, 4)
    y = diagnosis_of(6.0 * X[:, 2], rng)
    model = ICAPrediction(n_trees=60, random_state=0).fit(X[50:], y[50:])
    together = model.scores(X[:50])
    assert named_first(together, 2) > 0.8
    np.testing.assert_allclose(np.vstack([model.scores(row[np.newaxis]) for row in X[:50]]), together)


@pytest.mark.parametrize(("n", "p", "sources"), [(60, 80, 59), (60, 60, 59), (60, 59, 59)])
def test_no_more_patients_than_variables(n: int, p: int, sources: int) -> None:
    rng = np.random.default_rng(9)
    X = skewed(rng, n, p)
    y = diagnosis_of(3.0 * X[:, 0], rng)
    scores = ICAPrediction(n_trees=10, random_state=0).fit(X, y).scores(X)
    ranked = np.isfinite(scores)
    assert (ranked.sum(axis=1) == sources).all() and (ranked == ranked[0]).all()
    assert (scores[~ranked] == -np.inf).all()


def test_a_collinear_column_leaves_one_variable_unranked() -> None:
    rng = np.random.default_rng(10)
    X = skewed(rng, 500, 4)
    X[:, 3] = 1e5 + X[:, 0] + X[:, 1]
    y = diagnosis_of(4.0 * X[:, 2], rng)
    model = ICAPrediction(n_trees=30, random_state=0).fit(X, y)
    assert model.unmixing_.shape == (3, 4)
    assert model.scores(X).mean(axis=0).argmax() == 2


def test_gaussian_data_may_not_converge_and_says_so() -> None:
    rng = np.random.default_rng(11)
    X = rng.normal(size=(2000, 12))
    y = diagnosis_of(4.0 * X[:, 0], rng)
    model = ICAPrediction(n_trees=5, random_state=0).fit(X, y)
    assert not model.converged_
    assert np.isfinite(model.scores(X)).all()


def test_a_forest_without_trees_is_refused() -> None:
    with pytest.raises(InputError, match="n_trees is 0"):
        ICAPrediction(n_trees=0).fit(np.eye(6, 3), [0, 1] * 3)
