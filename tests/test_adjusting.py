"""Covariates in the core: regressed out first, part of the risk, and no variable of the causal order."""

from __future__ import annotations

import numpy as np
import pytest
from labelled_rows import learn
from tables_under_test import TABLES

from rootcausal.backends.choose import choose_table
from rootcausal.backends.cpu.rows import NumbaRaw
from rootcausal.backends.reference import ReferenceRaw, ReferenceTable
from rootcausal.method.attribution import sparse as sharp
from rootcausal.method.attribution.direct_causes import _Search, find_direct_causes
from rootcausal.method.attribution.regression import WEAK_PENALTY
from rootcausal.method.layout import DUMMY, NO_LEVELS, Layout
from rootcausal.method.moments import describe_columns
from rootcausal.method.ordering.ordering import VARIANTS
from rootcausal.method.ordering.precedence import Precedence
from rootcausal.method.pipeline import ATTRIBUTIONS, Learned, Settings
from rootcausal.outcomes.binary import Binary

SITE, AGE, CAUSE, EFFECT, NOISE = range(5)
STAGE = np.array([0, 0, 2, 2, 2])


def cohort(seed: int, n: int = 2000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Site and age act on a cause, its effect and the disease; and the true log-odds of the shocks alone."""
    g = np.random.default_rng(seed)
    site, age = (g.random(n) < 0.4).astype(float), g.laplace(size=n)
    shock = g.laplace(size=n)
    cause = 1.5 * site + 0.8 * age + shock
    effect = 0.7 * cause + g.laplace(size=n)
    X = np.column_stack([site, age, cause, effect, g.laplace(size=n)])
    log_odds = -1.0 + 1.2 * site - 0.8 * age + 1.5 * shock
    return X, (g.random(n) < 1 / (1 + np.exp(-log_odds))).astype(int), shock


def learned(make_raw, X, y, layout: Layout, attribution: str = "sharp", **more) -> Learned:
    raw = make_raw(X, y)
    settings = Settings(VARIANTS["local_plus"], 0.2, ATTRIBUTIONS[attribution], **more)
    columns = describe_columns(raw, settings.prevalence)
    return learn(raw, columns, settings, None, layout)


def adjusting(X: np.ndarray) -> Layout:
    return Layout.numbers(X.shape[1]).knowing(Precedence.of(STAGE))


@pytest.mark.parametrize("attribution", ["sharp", "paper"])
@pytest.mark.parametrize("make_raw", TABLES)
def test_what_covariates_add_is_told_apart(make_raw, attribution):
    X, y, shock = cohort(0)
    model = learned(make_raw, X, y, adjusting(X), attribution).model
    assert set(model.covariates) == {SITE, AGE}
    assert model.order[0] == CAUSE
    assert not set(model.order) & {SITE, AGE}
    assert set(model.used) == {SITE, AGE, *model.order}
    values, added = model.shapley(X), model.adjustment(X)
    assert not values[:, [SITE, AGE]].any()
    assert not model.errors(X)[:, [SITE, AGE]].any()
    np.testing.assert_allclose(model.base_value + values.sum(axis=1) + added, model.predictor(X), atol=1e-12)
    # The cause's own shock is what is left when both were taken out; their effect is the total one.
    assert np.corrcoef(values[:, CAUSE], shock)[0, 1] > 0.99
    truth = 1.2 * X[:, SITE] - 0.8 * X[:, AGE]
    assert np.corrcoef(added, truth)[0, 1] > 0.98
    assert np.polyfit(truth, added, 1)[0] == pytest.approx(1.0, abs=0.15)


def test_a_weak_covariate_stays_in_the_risk():
    """The sparse prior would shrink it to nothing; an adjustment that was asked for is made."""
    X, y, _ = cohort(1, n=1500)
    g = np.random.default_rng(5)
    X[:, AGE] = g.laplace(size=1500)  # no cause of anything
    found = learned(NumbaRaw, X, y, adjusting(X))
    place = found.ordering.order.tolist().index(AGE)
    chance = 1 / (1 + np.exp(-found.model.predictor(X)))
    error = found.model.column_errors(X)[:, AGE]
    effect = found.model.attribution.unit_effects[place]
    assert effect != 0.0
    # At its best: observed and expected sums of the covariate agree, but for the weak penalty.
    assert error @ (y - chance) == pytest.approx(WEAK_PENALTY * effect, abs=1e-2)
    assert found.ancestor_probability[[SITE, AGE]].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("attribution", ["sharp", "paper"])
def test_nothing_but_covariates(attribution):
    X, y, _ = cohort(2, n=600)
    layout = Layout.numbers(2).knowing(Precedence.of(np.array([0, 0])))
    found = learned(NumbaRaw, X[:, :2], y, layout, attribution)
    assert not found.model.order.size
    assert found.converged
    risk = 1 / (1 + np.exp(-found.model.predictor(X[:, :2])))
    assert risk.mean() == pytest.approx(y.mean(), abs=1e-3)
    assert risk[X[:, SITE] == 1].mean() > risk[X[:, SITE] == 0].mean() + 0.1


def test_a_covariate_that_decides_keeps_a_finite_effect():
    X, y, _ = cohort(3, n=400)
    X[:, SITE] = y
    found = learned(NumbaRaw, X, y, adjusting(X))
    assert np.isfinite(found.model.predictor(X)).all()
    assert np.abs(found.model.adjustment(X)).max() < 20


def test_nominal_covariates_and_prevalence():
    X, y, _ = cohort(4)
    g = np.random.default_rng(0)
    ward = g.integers(0, 3, len(X))
    X = np.column_stack([ward == 1, ward == 2, X[:, 1:]]).astype(float)
    owner = np.array([0, 0, 1, 2, 3, 4])
    layout = Layout(owner, (DUMMY, DUMMY, *[NO_LEVELS] * 4)).knowing(Precedence.of(STAGE))
    found = learned(NumbaRaw, X, y, layout, prevalence=0.1)
    assert found.model.covariates.tolist() == [0, 1]
    assert found.ordering.n_covariates == 3
    assert found.model.order[0] == CAUSE
    np.testing.assert_allclose(
        found.model.base_value + found.model.shapley(X).sum(axis=1) + found.model.adjustment(X),
        found.model.predictor(X),
    )


def test_covariates_with_holes_are_filled_in_and_never_screened():
    X, y, _ = cohort(9)
    g = np.random.default_rng(0)
    X[:, AGE] = g.laplace(size=len(X))  # independent of all, which the screen before imputation would drop
    whole = X.copy()
    X[g.random(X.shape) < 0.1] = np.nan
    found = learned(lambda values, labels: choose_table("numba", values, labels), X, y, adjusting(X))
    assert found.imputation is not None
    assert set(found.model.covariates) == {SITE, AGE}
    complete = learned(NumbaRaw, whole, y, adjusting(X)).model
    agreement = np.corrcoef(found.model.adjustment(whole), complete.adjustment(whole))
    assert agreement[0, 1] > 0.98


def test_what_if_keeps_what_covariates_add():
    X, y, _ = cohort(6)
    model = learned(NumbaRaw, X, y, adjusting(X)).model
    log_odds, then = model.with_shock(X, CAUSE, 0.0)
    np.testing.assert_allclose(log_odds, model.predictor(X) - model.shapley(X)[:, CAUSE], atol=1e-12)
    np.testing.assert_array_equal(then[:, [SITE, AGE]], X[:, [SITE, AGE]])


def test_profiled_out_is_what_the_whole_system_says():
    """One pass with covariates: slope, curvature and moves from the Newton system of all coefficients."""
    X, y, _ = cohort(7, n=300)
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    mixing = np.linalg.cholesky(np.corrcoef(Z[:, 2:].T))
    table = ReferenceTable(Z, y)
    search = _Search(Binary(0.5).loss(table, np.array([0, 1, 2, 3, 4])), 2, mixing)
    here = search.stand(np.full(3, 0.4), np.array([0.3, -0.2, -1.0]))
    quadratic = search.quadratic(here)
    to_errors = np.zeros((6, 6))
    to_errors[:2, :2], to_errors[2:5, 2:5], to_errors[5, 5] = np.eye(2), mixing.T, 1.0
    fixed, own = np.array([0, 1, 5]), np.array([2, 3, 4])
    penalty = np.diag([WEAK_PENALTY, WEAK_PENALTY, 0.0])
    H = to_errors.T @ here.sums.hessian @ to_errors
    gradient = to_errors.T @ here.sums.gradient
    F = H[np.ix_(fixed, fixed)] + penalty
    g = gradient[fixed] - penalty @ here.fixed
    across = H[np.ix_(own, fixed)]
    np.testing.assert_allclose(quadratic.shift, np.linalg.solve(F, g), rtol=1e-9)
    np.testing.assert_allclose(quadratic.tilt, -np.linalg.solve(F, across.T), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(quadratic.slope, gradient[own] - across @ np.linalg.solve(F, g), rtol=1e-9)
    np.testing.assert_allclose(
        quadratic.curvature, H[np.ix_(own, own)] - across @ np.linalg.solve(F, across.T), rtol=1e-9
    )


def test_adjusting_is_fitting_what_covariates_leave():
    """Order and errors are those of the columns regressed on the covariates beforehand."""
    X, y, _ = cohort(8)
    C = np.column_stack([np.ones(len(X)), X[:, :2]])
    left = X[:, 2:] - C @ np.linalg.lstsq(C, X[:, 2:], rcond=None)[0]
    alone = learned(ReferenceRaw, left, y, Layout.numbers(3)).model
    model = learned(ReferenceRaw, X, y, adjusting(X)).model
    assert (model.order - 2).tolist() == alone.order.tolist()
    np.testing.assert_allclose(model.errors(X)[:, 2:], alone.errors(left), atol=1e-6)


def test_effects_are_shrunk_by_what_covariates_leave_and_not_by_what_they_explain():
    """The prior is that of columns of unit variance, and of as many as can be causes."""
    g = np.random.default_rng(10)
    C, left = g.laplace(size=(1000, 3)), g.laplace(size=(1000, 2))
    y = (g.random(1000) < 1 / (1 + np.exp(-left[:, 0]))).astype(int)
    C = C - left @ np.linalg.lstsq(left, C, rcond=None)[0]
    X = np.column_stack([C, left + 30.0 * C[:, :2]])  # almost all of the columns is due to the covariates
    layout = Layout.numbers(5).knowing(Precedence.of(np.array([0, 0, 0, 2, 2])))
    model = learned(ReferenceRaw, X, y, layout).model
    alone = learned(ReferenceRaw, left, y, Layout.numbers(2)).model
    assert model.order.tolist() == (alone.order + 3).tolist()
    np.testing.assert_allclose(model.unit_effects, alone.unit_effects, atol=0.05)


def test_covariates_do_not_count_among_those_that_could_be_causes(monkeypatch):
    X, y, _ = cohort(11, n=300)
    priors = []

    def noted(loss, mixing, prior, *more):
        priors.append(prior)
        return find_direct_causes(loss, mixing, prior, *more)

    monkeypatch.setattr(sharp, "find_direct_causes", noted)
    learned(ReferenceRaw, X, y, adjusting(X))
    assert [prior.n_columns for prior in priors] == [3]


def test_covariates_and_intercept_are_found_from_far_away():
    """Out there the curvature is next to nothing, and a whole Newton step would go further still."""
    X, y, _ = cohort(12, n=300)
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    table, cols = ReferenceTable(Z, y), np.arange(3)
    near, settled = sharp.refit(Binary(0.5).loss(table, cols), np.array([0.5]), np.zeros(3), 2)
    far, settled_too = sharp.refit(
        Binary(0.5).loss(table, cols), np.array([0.5]), np.array([3.0, -3.0, 12.0]), 2
    )
    assert settled
    assert settled_too
    np.testing.assert_allclose(far, near, atol=1e-3)
    chance = 1 / (1 + np.exp(-(Z[:, :3] @ [*near[:2], 0.5] + near[2])))
    assert chance.mean() == pytest.approx(y.mean(), abs=1e-4)
    np.testing.assert_allclose(Z[:, :2].T @ (y - chance), WEAK_PENALTY * near[:2], atol=1e-2)


def test_what_a_step_gains_has_the_penalty_of_the_covariates_in_it():
    X, y, _ = cohort(13, n=300)
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    search = _Search(Binary(0.5).loss(ReferenceTable(Z, y), np.arange(5)), 2, np.eye(3))
    here, there = (
        search.stand(np.zeros(3), np.array(fixed)) for fixed in ([0.0, 0.0, -1.0], [3.0, -4.0, -1.0])
    )
    gain = there.objective - here.objective
    assert gain == pytest.approx(there.sums.loglik - here.sums.loglik - 0.5 * WEAK_PENALTY * 25.0)
