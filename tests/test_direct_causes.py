"""The search for the direct causes of D: it climbs a bound, comes to rest, and says so where it does not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rootcausal import RCI
from rootcausal.core import ancestry, direct_causes, logistic, single_effects
from rootcausal.core.direct_causes import _Search, find_direct_causes
from rootcausal.core.single_effects import SingleEffects, Sparsity, fit_effects, prior_effects
from rootcausal.data import simulate
from rootcausal.tables.reference import ReferenceTable

PRIOR = Sparsity(expected=3.0, n_columns=8, variance=1.0)


def rare_lognormal(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Fewer than ten cases in 300, and one column that raises the risk."""
    g = np.random.default_rng(seed)
    X = g.lognormal(size=(300, 1))
    return X, (g.random(300) < 1 / (1 + np.exp(6 - X[:, 0]))).astype(int)


def table(seed: int, n: int = 120, k: int = 8) -> ReferenceTable:
    g = np.random.default_rng(seed)
    errors = g.standard_t(3, size=(n, k))
    errors = (errors - errors.mean(axis=0)) / errors.std(axis=0, ddof=1)
    y = (g.random(n) < 1 / (1 + np.exp(3 - 2 * errors[:, 0]))).astype(int)
    y[:2] = 0, 1
    return ReferenceTable(errors, y)


@pytest.mark.parametrize(("seed", "paper"), [(34, 1.379), (7, 1.906)])
def test_few_cases_and_a_heavy_tail_keep_sign_and_size(seed, paper):
    X, y = rare_lognormal(seed)
    model = RCI().fit(X, y)
    assert RCI(attribution="paper").fit(X, y).coef_[0] == pytest.approx(paper, abs=1e-3)
    assert 0.7 * paper < model.coef_[0] < paper
    assert model.ancestor_probability_[0] > 0.99
    assert model.provenance_["converged"] is True


@pytest.mark.parametrize("shape", ["normal", "lognormal", "heavy"])
def test_rare_diseases_are_fitted_and_resampled(shape):
    for seed in range(8):
        g = np.random.default_rng(seed)
        X = {"normal": lambda x: x, "lognormal": np.exp, "heavy": lambda x: x * np.abs(x)}[shape](
            g.standard_normal((1000, 4))
        )
        score = np.clip(1.5 * (X[:, 0] - np.median(X[:, 0])), -6, 6)
        risk = 1 / (1 + np.exp(5 - score))
        y = (g.random(1000) < risk).astype(int)
        model = RCI().fit(X, y).bootstrap(10)
        assert model.provenance_["converged"]
        assert model.coef_[0] > 0
        for fitted in (model._model, *model.bootstrap_.models):
            assert np.isfinite(fitted.coef).all() and np.isfinite(fitted.intercept)


def test_the_answer_does_not_hang_on_the_limit_of_passes(monkeypatch):
    """Without a mean curvature this cohort sends the search to and fro between two answers for ever."""
    cohort = simulate(100, 100, random_state=5014)
    probabilities = []
    for limit in (30, 31, 100):
        monkeypatch.setattr(direct_causes, "MAX_PASSES", limit)
        model = RCI().fit(cohort.X, cohort.y)
        assert model.provenance_["converged"] is True
        probabilities.append(model.ancestor_probability_)
    assert np.array_equal(probabilities[0], probabilities[1])
    assert np.array_equal(probabilities[0], probabilities[2])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_every_pass_raises_the_bound(seed):
    rows = table(seed)
    search = _Search(rows, np.arange(8), np.eye(8), PRIOR)
    here = search.stand(prior_effects(8, PRIOR), -2.0)
    damping = 0.0
    for _ in range(6):
        quadratic = search.quadratic(here)
        there, damping = search.climb(here, quadratic, quadratic.curvature, damping)
        assert there is not None
        assert search.gain(here, there, quadratic.curvature) > -1e-7
        here = there


def test_where_it_settles_nothing_pulls_any_more():
    rows = table(3, n=600)
    found = find_direct_causes(rows, np.arange(8), np.eye(8), PRIOR, -1.0)
    assert found.settled
    sums = rows.logit_sums(np.arange(8), np.append(found.effects.coef, found.intercept))
    assert abs(sums.gradient[-1]) < 1e-2  # the intercept is at its best
    cross = sums.hessian[:-1, -1]
    curvature = sums.hessian[:-1, :-1] - np.outer(cross, cross) / sums.hessian[-1, -1]
    again = fit_effects(curvature, sums.gradient[:-1] + curvature @ found.effects.coef, PRIOR, found.effects)
    assert again.coef == pytest.approx(found.effects.coef, abs=1e-3)


def posterior(seed: int) -> SingleEffects:
    g = np.random.default_rng(seed)
    return SingleEffects(
        g.dirichlet(np.ones(4), size=2)[:, :3], g.normal(size=(2, 3)), g.uniform(1, 9, size=(2, 3))
    )


def test_spread_is_that_of_draws():
    effects = posterior(0)
    curvature = np.array([[4.0, 1.0, -0.5], [1.0, 3.0, 0.7], [-0.5, 0.7, 2.0]])
    g = np.random.default_rng(1)
    draws = np.zeros((400_000, 3))
    for weight, size, precision in zip(effects.weight, effects.size, effects.precision, strict=True):
        place = g.choice(4, size=len(draws), p=np.append(weight, 1 - weight.sum()))
        for column in range(3):
            here = place == column
            draws[here, column] += g.normal(size[column], precision[column] ** -0.5, here.sum())
    off = draws - effects.coef
    assert effects.spread(curvature) == pytest.approx((off @ curvature * off).sum(axis=1).mean(), rel=0.01)


def test_divergence_is_that_of_draws():
    effects, prior = posterior(2), Sparsity(expected=2.0, n_columns=5, variance=0.6)
    place, nowhere = prior.log_chances(2, 3)
    g = np.random.default_rng(3)
    total = 0.0
    for e in range(2):
        chances = np.append(effects.weight[e], 1 - effects.weight[e].sum())
        for column, chance in enumerate(chances):
            if column == 3:
                total += chance * (np.log(chance) - nowhere[e])
                continue
            mean, sd = effects.size[e, column], effects.precision[e, column] ** -0.5
            w = g.normal(mean, sd, 400_000)
            said = np.log(chance) - np.log(sd) - 0.5 * ((w - mean) / sd) ** 2
            before = place[e] - 0.5 * np.log(prior.variance) - 0.5 * w**2 / prior.variance
            total += chance * (said - before).mean()
    assert effects.divergence(prior) == pytest.approx(total, rel=0.01)
    assert prior_effects(3, prior).divergence(prior) == pytest.approx(0.0, abs=1e-12)


def test_damping_goes_part_of_the_way():
    curvature, slope = 30.0 * np.eye(4), np.array([25.0, 0.0, 0.0, -12.0])
    prior = Sparsity(expected=2.0, n_columns=4, variance=1.0)
    start = prior_effects(4, prior)
    lengths = [
        float(np.linalg.norm(fit_effects(curvature, slope, prior, start, damping).coef))
        for damping in (0.0, 1.0, 10.0, 1e6)
    ]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > 0.8
    assert lengths[-1] < 1e-4


def test_a_column_is_not_forgotten_because_others_take_several_effects():
    """Two strong columns use up three effects; the third column's are ten standard errors from zero."""
    curvature = np.array([[541.8, 252.2, -227.5], [252.2, 362.7, -103.1], [-227.5, -103.1, 749.1]])
    slope = np.array([453.1, 73.8, 435.5])
    effects = fit_effects(curvature, slope, Sparsity(expected=3.0, n_columns=5, variance=1.0))
    assert effects.inclusion.min() > 0.99
    assert effects.coef == pytest.approx(np.linalg.solve(curvature, slope), abs=0.03)


@pytest.mark.parametrize(
    ("room", "limit", "value"),
    [
        (direct_causes, "MAX_PASSES", 2),
        (direct_causes, "MAX_DAMPINGS", 0),
        (single_effects, "MAX_CYCLES", 1),
        (ancestry, "MAX_INTERCEPTS", 0),
    ],
)
def test_a_limit_that_runs_out_is_said(monkeypatch, tmp_path, room, limit, value):
    monkeypatch.setattr(room, limit, value)
    cohort = simulate(300, 10, random_state=2)
    with pytest.warns(UserWarning, match="did not settle within its limit of passes"):
        model = RCI().fit(cohort.X, cohort.y)
    assert model.provenance_["converged"] is False
    assert np.isfinite(model.coef_).all()
    model.save(tmp_path / "model.rci")
    assert RCI.load(tmp_path / "model.rci").provenance_["converged"] is False


def test_the_papers_regression_says_so_too(monkeypatch):
    x = np.arange(40.0)
    monkeypatch.setattr(logistic, "MAX_ITERATIONS", 1)
    with (
        pytest.warns(UserWarning, match="did not settle"),
        pytest.warns(UserWarning, match="separate the classes"),
    ):
        model = RCI(attribution="paper").fit(x[:, None], (x >= 20).astype(int))
    assert model.provenance_["converged"] is False
