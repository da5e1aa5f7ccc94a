"""Prediction with independent components: cohorts with a known answer, and the compiled loop's oracle."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from rootcausal.comparators.ica import ICAPrediction, lost_votes, out_of_bag_importance
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


def forest_of(X: np.ndarray, y: np.ndarray, n_trees: int) -> RandomForestClassifier:
    return RandomForestClassifier(n_trees, random_state=0).fit(X, y)


def lost_by(tree: DecisionTreeClassifier, X: np.ndarray, others: np.ndarray, y: np.ndarray) -> np.ndarray:
    """By what the tree predicts of tables in which one column is another's."""
    lost = np.empty(X.shape, dtype=int)
    for source in range(X.shape[1]):
        replaced = X.copy()
        replaced[:, source] = others[:, source]
        lost[:, source] = (tree.predict(X) == y).astype(int) - (tree.predict(replaced) == y)
    return lost


@pytest.mark.parametrize("kind", ["integers", "reals"])
def test_votes_are_lost_where_predictions_change(kind: str) -> None:
    rng = np.random.default_rng(5)
    X, y = sources_and_labels(kind, 400, rng)
    others = X[rng.permutation(400)]
    for tree in forest_of(X[:200], y[:200], 8).estimators_:
        lost = lost_votes(tree, X, others, y)
        np.testing.assert_array_equal(lost, lost_by(tree, X, others, y))
        assert {-1, 0, 1} == set(np.unique(lost))


def test_importances_ask_only_trees_that_did_not_see_the_patient() -> None:
    rng = np.random.default_rng(6)
    X = rng.normal(size=(120, 3)).astype(np.float32)
    y = diagnosis_of(3.0 * X[:, 0], rng)
    forest = forest_of(X, y, 5)
    lost, trees = np.zeros((120, 3)), np.zeros(120)
    for number, (tree, bag) in enumerate(zip(forest.estimators_, forest.estimators_samples_, strict=True)):
        out = np.setdiff1d(np.arange(120), bag)
        draws = np.random.default_rng((9, number))
        circle, steps = draws.permutation(out), draws.integers(1, out.size, size=3)
        others = np.column_stack([np.roll(X[circle, source], -step) for source, step in enumerate(steps)])
        lost[circle] += lost_by(tree, X[circle], others, y[circle])
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
