"""The search for the direct causes of D: it climbs a bound, comes to rest, and says so where it does not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rootcausal import RCI
from rootcausal.backends.reference import ReferenceTable
from rootcausal.core import direct_causes, regression, sharp, susie
from rootcausal.core.direct_causes import DirectCauses, _Search, find_direct_causes
from rootcausal.core.loops import PLAIN
from rootcausal.core.schema import flattened
from rootcausal.core.susie import SingleEffects, Sparsity, fit_effects, prior_effects
from rootcausal.data import simulate
from rootcausal.outcomes.binary import Binary, LogitLoss

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


def loss_of(rows: ReferenceTable) -> LogitLoss:
    return Binary(0.5).loss(rows, np.arange(8))


def found_from_minus_one(rows: ReferenceTable) -> DirectCauses:
    return find_direct_causes(loss_of(rows), np.eye(8), PRIOR, np.array([-1.0]))


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
            assert all(
                np.isfinite(numbers).all()
                for numbers in flattened([fitted.attribution], all_of_it=True).values()
            )


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
    search = _Search(loss_of(rows), 0, np.eye(8), PRIOR)
    here = search.stand(prior_effects(8, PRIOR), np.array([-2.0]))
    damping = 0.0
    for _ in range(6):
        quadratic = search.quadratic(here)
        there, damping = search.climb(here, quadratic, quadratic.curvature, damping)
        assert there is not None
        assert search.gain(here, there, quadratic.curvature) > -1e-7
        here = there


def search_and_start() -> tuple[_Search, direct_causes._Stand]:
    """A search whose columns are mixed from errors, so that the two are not confused, and where it begins."""
    mixing = np.tril(np.random.default_rng(4).uniform(-0.5, 0.5, (8, 8)), -1) + np.eye(8)
    search = _Search(loss_of(table(3, n=600)), 0, mixing, PRIOR)
    return search, search.stand(prior_effects(8, PRIOR), np.array([-1.0]))


@pytest.mark.parametrize("damping", [0.0, 3.0])
def test_the_intercept_moves_as_newtons_joint_step_has_it(damping):
    """What it moves by itself is damped; what it owes to the coefficients goes with them."""
    search, start = search_and_start()
    here = search.stand(replace(start.effects, size=start.effects.size + 0.7), np.array([-1.5]))
    quadratic = search.quadratic(here)
    there, took = search.climb(here, quadratic, quadratic.curvature, damping)
    assert there is not None and took == damping
    sums = here.sums
    moved = search.mixing.T @ (there.effects.coef - here.effects.coef)
    assert abs(moved).max() > 0.1
    owed = sums.hessian[-1, :-1] @ moved / sums.hessian[-1, -1]
    assert abs(owed) > 0.01
    by_itself = sums.gradient[-1] / sums.hessian[-1, -1]
    assert there.fixed[0] - here.fixed[0] == pytest.approx(by_itself / (1 + damping) - owed, rel=1e-9)


def test_the_bound_pays_for_spread():
    """With the same expected coefficients, whoever is less sure of them stands lower."""
    search, here = search_and_start()
    curvature = search.quadratic(here).curvature
    wider = replace(here.effects, precision=here.effects.precision / 4)
    spread, divergence = (
        ask(wider) - ask(here.effects)
        for ask in (lambda e: e.spread(curvature), lambda e: e.divergence(PRIOR))
    )
    assert spread > 1.0
    gain = search.gain(here, replace(here, effects=wider), curvature)
    assert gain == pytest.approx(-0.5 * spread - divergence, rel=1e-9)


def test_a_bound_may_fall_by_no_more_than_rounding(monkeypatch):
    search, here = search_and_start()
    quadratic = search.quadratic(here)
    for fall, goes_on in ((1e-13, True), (1e-6, False)):
        monkeypatch.setattr(_Search, "gain", lambda *_, fall=fall: -fall * abs(here.sums.loglik))
        there, _ = search.climb(here, quadratic, quadratic.curvature, 0.0)
        assert (there is not None) is goes_on


def test_a_short_step_that_was_damped_is_no_rest(monkeypatch):
    def crawl(self, here, quadratic, curvature, damping):
        return replace(here, effects=replace(here.effects, size=here.effects.size + 1e-5)), 1e6

    monkeypatch.setattr(_Search, "climb", crawl)
    monkeypatch.setattr(direct_causes, "MAX_PASSES", 10)
    assert not found_from_minus_one(table(3)).settled


def test_effects_that_did_not_settle_are_no_rest(monkeypatch):
    def unsettled(*arguments):
        return replace(fit_effects(*arguments), settled=False)

    monkeypatch.setattr(ReferenceTable, "loops", PLAIN._replace(fit_effects=unsettled))
    assert not found_from_minus_one(table(3, n=600)).settled


def test_damping_is_kept_as_long_as_it_is_needed_and_no_longer(monkeypatch):
    """Few passes over the rows, also where steps have to be damped: each is a round trip on a cluster."""
    stands = []
    stand = _Search.stand
    monkeypatch.setattr(_Search, "stand", lambda *arguments: stands.append(1) or stand(*arguments))
    for seed in (7, 34):
        stands.clear()
        RCI().fit(*rare_lognormal(seed))
        assert len(stands) <= 13


def test_cycling_goes_on_until_coefficients_are_right(monkeypatch):
    curvature = 200 * (0.1 * np.eye(12) + 0.9)
    slope = curvature @ np.array([0, 0.8, 0, 0, 0, -0.7, 0, 0.4, 0, 0, 0, 0])
    prior = Sparsity(expected=3.0, n_columns=12, variance=1.0)
    found = fit_effects(curvature, slope, prior)
    monkeypatch.setattr(susie, "TOLERANCE", 1e-9)
    assert found.coef == pytest.approx(fit_effects(curvature, slope, prior).coef, abs=2e-4)


def test_where_it_settles_nothing_pulls_any_more():
    rows = table(3, n=600)
    found = found_from_minus_one(rows)
    assert found.settled
    sums = rows.logit_sums(np.arange(8), np.append(found.effects.coef, found.fixed))
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
        (susie, "MAX_CYCLES", 1),
        (sharp, "MAX_BASELINES", 0),
    ],
)
def test_a_limit_that_runs_out_is_said(monkeypatch, tmp_path, room, limit, value):
    monkeypatch.setattr(room, limit, value)
    cohort = simulate(300, 10, random_state=2)
    with pytest.warns(UserWarning, match="did not converge within its limit of passes"):
        model = RCI().fit(cohort.X, cohort.y)
    assert model.provenance_["converged"] is False
    assert np.isfinite(model.coef_).all()
    model.save(tmp_path / "model.rci")
    assert RCI.load(tmp_path / "model.rci").provenance_["converged"] is False


def test_the_intercept_is_found_from_far_and_near():
    """From far away Newton's own step is a million log-odds long; from nearby one step is not enough."""
    rows, start = table(3, n=600), np.array([-15.0])
    for _ in range(2):
        found, balanced = sharp._refit(Binary(0.5).loss(rows, np.arange(1)), np.array([2.0]), start, 0)
        assert balanced
        sums = rows.logit_sums(np.arange(1), np.append(2.0, found))
        assert abs(sums.gradient[-1]) < 1e-3  # expected less observed cases
        start = found + 0.09


def test_the_intercept_is_found_from_where_all_risks_are_certain():
    """There the curvature is zero to the last digit."""
    rows = table(3, n=600)
    for start in (-800.0, 800.0):
        found, balanced = sharp._refit(
            Binary(0.5).loss(rows, np.arange(1)), np.array([0.0]), np.array([start]), 0
        )
        assert not balanced  # 100 steps of one log-odds do not lead that far
        assert abs(found[0]) == pytest.approx(700.0)


@pytest.mark.parametrize("seed", [7, 34])
def test_mean_risk_of_a_rare_disease_is_the_share_of_cases(seed):
    X, y = rare_lognormal(seed)
    assert RCI().fit(X, y).predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), rel=1e-5)


def test_the_papers_regression_says_so_too(monkeypatch):
    x = np.arange(40.0)
    monkeypatch.setattr(regression, "MAX_ITERATIONS", 1)
    with (
        pytest.warns(UserWarning, match="did not converge"),
        pytest.warns(UserWarning, match="separate the classes"),
    ):
        model = RCI(attribution="paper").fit(x[:, None], (x >= 20).astype(int))
    assert model.provenance_["converged"] is False


def test_no_end_of_effects_is_said(monkeypatch):
    monkeypatch.setattr(susie, "MAX_DOUBLINGS", 1)
    coef = np.zeros(40)
    coef[:12] = 3.0
    effects = fit_effects(
        400.0 * np.eye(40), 400.0 * coef, Sparsity(expected=3.0, n_columns=40, variance=1.0)
    )
    assert not effects.settled
