"""Columns that come first do not cause each other, and nothing else changes by that."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from labelled_rows import order_columns
from tables_under_test import TABLES

from rootcausal import RCI, DirectLiNGAM, Knowledge
from rootcausal.method.layout import DUMMY, NO_LEVELS, Layout
from rootcausal.method.moments import describe_columns
from rootcausal.method.ordering.ordering import VARIANTS
from rootcausal.method.ordering.precedence import Precedence, set_apart

NAMES = ["site", "age", "sex", "bili", "noise"]


def cohort(seed: int, n: int = 3000) -> tuple[pd.DataFrame, np.ndarray]:
    """Older men, site among both; all of them, and bili, act on the disease."""
    g = np.random.default_rng(seed)
    site = g.integers(0, 2, n).astype(float)
    age = 60 + 8 * (g.laplace(size=n) + 0.5 * site)
    sex = (g.random(n) < 1 / (1 + np.exp(-(age - 62) / 6))).astype(float)
    bili = 0.05 * age + 0.8 * sex + g.laplace(size=n)
    log_odds = 0.06 * (age - 62) + 0.7 * sex + 0.9 * (bili - bili.mean())
    X = np.column_stack([site, age, sex, bili, g.laplace(size=n)])
    return pd.DataFrame(X, columns=NAMES), (g.random(n) < 1 / (1 + np.exp(-log_odds))).astype(int)


@pytest.mark.parametrize("attribution", ["sharp", "paper"])
@pytest.mark.parametrize("covariates", [[], ["site"]])
def test_no_arrow_and_no_what_if_between_them(attribution, covariates):
    X, y = cohort(0)
    known = Knowledge(covariates=covariates, first=["sex", "age"])
    model = RCI(knowledge=known, attribution=attribution, kinds=dict.fromkeys(NAMES, "number")).fit(X, y)
    order = [NAMES[k] for k in model.causal_order_]
    assert order[:2] == ["age", "sex"]  # as the table has them: no search compares them
    effects = model._model.direct_effects()
    assert not effects[:2, :2].any()
    assert effects[order.index("bili"), :2].all()
    then = model.explain(X).what_if("age", 3.0).data
    np.testing.assert_array_equal(then[:, NAMES.index("sex")], X["sex"])
    assert (then[:, NAMES.index("bili")] != X["bili"]).all()
    if not covariates:  # their shocks are what was measured, in standard deviations
        both = X[["age", "sex"]].to_numpy()
        shocks = model.explain(X).errors[:, [1, 2]]
        np.testing.assert_allclose(shocks, (both - both.mean(axis=0)) / both.std(axis=0, ddof=1), atol=1e-9)


@pytest.mark.parametrize("attribution", ["sharp", "paper"])
def test_effects_are_those_with_the_other_held_fixed(attribution):
    """The whole effect of age is its own and that by way of bili, and none by way of sex."""
    X, y = cohort(1, n=20_000)
    known = Knowledge(first=["age", "sex"])
    model = RCI(knowledge=known, attribution=attribution, kinds=dict.fromkeys(NAMES, "number")).fit(X, y)
    by_unit = model.coef_[[1, 2]] / X[["age", "sex"]].std().to_numpy()
    assert by_unit == pytest.approx([0.06 + 0.9 * 0.05, 0.7 + 0.9 * 0.8], rel=0.12)


def test_log_odds_of_the_papers_attribution_are_those_of_an_order_among_them():
    X, y = cohort(2)
    apart = RCI(knowledge=Knowledge(first=["age", "sex"]), attribution="paper", alpha=1.0)
    chain = RCI(
        knowledge=Knowledge(tiers=[["age"], ["sex"], ["site", "bili", "noise"]]),
        attribution="paper",
        alpha=1.0,
    )
    a, b = (model.fit(X, y) for model in (apart, chain))
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-8)
    rest = [NAMES.index(name) for name in ("site", "bili", "noise")]
    np.testing.assert_allclose(a.coef_[rest], b.coef_[rest], atol=1e-8)


@pytest.mark.parametrize("make_raw", TABLES)
def test_values_come_back_from_errors(make_raw):
    rng = np.random.default_rng(3)
    X = rng.laplace(size=(200, 6)) @ (np.tril(rng.normal(size=(6, 6)), -1) + np.eye(6)).T
    X[:, 1:3] = np.eye(3)[rng.integers(0, 3, 200)][:, 1:]
    layout = Layout(np.array([0, 1, 1, 2, 3, 4]), (NO_LEVELS, DUMMY, DUMMY, *[NO_LEVELS] * 3))
    layout = layout.knowing(Precedence.of(np.array([0, 1, 1, 2, 2])))
    raw = make_raw(X, None)
    found = order_columns(raw, describe_columns(raw), VARIANTS["plus"], 1.0, layout=layout)
    assert found.variable[: found.n_unsearched].tolist() == [0, 1, 1, 2]
    assert found.n_first == 3
    mechanism, plain = found.mechanism(6), found.uncorrelated(6)
    errors = mechanism.errors(X, np.arange(6))
    np.testing.assert_allclose(mechanism.values(errors), X[:, found.order], atol=1e-9)
    np.testing.assert_allclose(errors.std(axis=0, ddof=1), 1.0)
    kept = plain.errors(X, np.arange(6))
    np.testing.assert_allclose(errors[:, [0, 4, 5]], kept[:, [0, 4, 5]], atol=1e-9)
    assert not mechanism.direct_effects()[3, 1:3].any()
    # Within one variable dummies stay as they are to each other, so that their errors do not correlate.
    assert abs(np.corrcoef(errors[:, 1:3].T)[0, 1]) < 1e-9
    coef = rng.normal(size=6)
    np.testing.assert_allclose(errors @ found.effects(coef), kept @ coef, atol=1e-9)


def test_a_single_one_changes_nothing():
    mixing = np.linalg.cholesky(np.corrcoef(np.random.default_rng(0).normal(size=(4, 50))))
    found, turn = set_apart(mixing, 1, np.array([7]))
    np.testing.assert_allclose(found, mixing, atol=1e-12)
    np.testing.assert_allclose(turn, 1.0)


@pytest.mark.parametrize("prune", [False, True])
def test_lingam_has_no_edges_among_them(prune):
    X, _ = cohort(4)
    model = DirectLiNGAM(prune=prune, knowledge=Knowledge(covariates=["site"], first=["age", "sex"])).fit(X)
    effects = model.adjacency_matrix_
    assert effects[1, 2] == effects[2, 1] == 0.0
    assert effects[1, 0] and effects[3, 1] and effects[3, 2]
    two = DirectLiNGAM(prune=prune, knowledge=Knowledge(covariates=["site", "age"])).fit(X)
    assert not two.adjacency_matrix_[:2, :2].any()


def test_first_columns_that_nearly_copy_each_other_are_saved_and_read(tmp_path):
    """Regression coefficients on both are large; a file that holds them is none that was damaged."""
    X, y = cohort(5)
    X["again"] = X["age"] + 1e-2 * np.random.default_rng(0).normal(size=len(X))
    model = RCI(knowledge=Knowledge(first=["age", "again", "sex"])).fit(X, y)
    model.save(tmp_path / "model.rci")
    np.testing.assert_array_equal(
        RCI.load(tmp_path / "model.rci").decision_function(X), model.decision_function(X)
    )
