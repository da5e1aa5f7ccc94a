"""The search for the direct causes of D: it climbs a bound, comes to rest, and says so where it does not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from zoo import ZOO
from zoo_fits import documented_warnings

from rootcausal import RCI
from rootcausal.backends.cpu.loops import COMPILED
from rootcausal.backends.reference import ReferenceTable
from rootcausal.data import simulate
from rootcausal.method.attribution import ancestors as susie
from rootcausal.method.attribution import direct_causes, regression
from rootcausal.method.attribution import sparse as sharp
from rootcausal.method.attribution.ancestors import Sparsity, fit_effects
from rootcausal.method.attribution.direct_causes import DirectCauses, _Search, find_direct_causes, steepness
from rootcausal.method.attribution.direct_causes import averaged_over_doubt as averaged
from rootcausal.method.attribution.spike_slab import LARGEST_SLAB, Posterior, Prior, infer, matched
from rootcausal.method.loops import PLAIN
from rootcausal.method.model_parts import flattened
from rootcausal.outcomes.binary import Binary, LogitLoss
from rootcausal.outcomes.continuous import Continuous

PRIOR = Prior.nothing_known(8, expected=3.0, n_columns=8, variance=1.0)


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
    assert 0.65 * paper < model.coef_[0] < paper
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
        model = RCI(mechanism="linear").fit(X, y).bootstrap(10)
        assert model.provenance_["converged"]
        assert model.coef_[0] > 0
        for fitted in (model._model, *model.bootstrap_.models):
            assert all(
                np.isfinite(numbers).all()
                for numbers in flattened([fitted.attribution], all_of_it=True).values()
            )


def test_the_answer_does_not_hang_on_the_limit_of_passes(monkeypatch):
    """Without damped passes this cohort sends the search to and fro between two answers for ever.

    Few have any of its findings: what a unit more of one adds depends on what it is thought to add.
    """
    (animal,) = (animal for animal in ZOO if animal.name == "mostly_zeros")
    probabilities = []
    for limit in (30, 31, 100):
        monkeypatch.setattr(direct_causes, "MAX_PASSES", limit)
        with documented_warnings(animal):
            model = RCI().fit(animal.X, animal.y)
        assert model.provenance_["converged"] is True
        probabilities.append(model.ancestor_probability_)
    assert np.array_equal(probabilities[0], probabilities[1])
    assert np.array_equal(probabilities[0], probabilities[2])
    with documented_warnings(animal):
        assert model.bootstrap(20, random_state=0).bootstrap_.unsettled == 0


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_every_pass_climbs(seed):
    """The log-likelihood and the sites of the pass, together."""
    rows = table(seed)
    search = _Search(loss_of(rows), 0, np.eye(8))
    here, effects = search.stand(np.zeros(8), np.array([-2.0])), Posterior.before(PRIOR)
    for _ in range(6):
        quadratic = search.quadratic(here)
        target = quadratic.slope + quadratic.curvature @ here.coef
        effects = PLAIN.infer(quadratic.curvature, target, PRIOR, effects, True)
        there = search.climb(here, quadratic, effects)
        assert there is not None

        def sites(w, effects=effects):
            return effects.shift @ w - 0.5 * effects.precision @ w**2

        assert there.objective + sites(there.coef) > here.objective + sites(here.coef) - 1e-7
        here = there


def search_and_start() -> tuple[_Search, direct_causes._Stand]:
    """A search whose columns are mixed from errors, so that the two are not confused, and where it begins."""
    mixing = np.tril(np.random.default_rng(4).uniform(-0.5, 0.5, (8, 8)), -1) + np.eye(8)
    search = _Search(loss_of(table(3, n=600)), 0, mixing)
    return search, search.stand(np.full(8, 0.2), np.array([-1.5]))


def test_the_intercept_moves_as_newtons_joint_step_has_it():
    search, here = search_and_start()
    quadratic = search.quadratic(here)
    target = quadratic.slope + quadratic.curvature @ here.coef
    effects = PLAIN.infer(quadratic.curvature, target, PRIOR, Posterior.before(PRIOR), True)
    there = search.climb(here, quadratic, effects)
    sums = here.sums
    moved = search.mixing.T @ (there.coef - here.coef)
    assert abs(moved).max() > 0.1
    owed = sums.hessian[-1, :-1] @ moved / sums.hessian[-1, -1]
    assert abs(owed) > 0.01
    by_itself = sums.gradient[-1] / sums.hessian[-1, -1]
    assert there.fixed[0] - here.fixed[0] == pytest.approx(by_itself - owed, rel=1e-9)


def test_a_step_that_leads_down_is_halved(monkeypatch):
    search, here = search_and_start()
    quadratic = search.quadratic(here)
    target = quadratic.slope + quadratic.curvature @ here.coef
    effects = PLAIN.infer(quadratic.curvature, target, PRIOR, Posterior.before(PRIOR), True)
    far = replace(quadratic, shift=quadratic.shift + 40.0)
    there = search.climb(here, far, effects)
    assert there is not None
    whole = effects.coef - here.coef
    share = (there.coef - here.coef) / whole
    assert share == pytest.approx(np.full(8, share[0]))
    assert share[0] < 0.2
    monkeypatch.setattr(direct_causes, "MAX_HALVINGS", 1)
    assert search.climb(here, far, effects) is None


def test_effects_whose_sweeps_still_go_round_are_at_rest_where_late_passes_end_at_the_same(monkeypatch):
    def unsettled(*arguments):
        return replace(infer(*arguments), settled=False)

    monkeypatch.setattr(ReferenceTable, "loops", PLAIN._replace(infer=unsettled))
    late = direct_causes.FIRST_DAMPED_PASS + direct_causes.PASSES_A_STEP
    for limit in (late, late + 2):
        monkeypatch.setattr(direct_causes, "MAX_PASSES", limit)
        assert found_from_minus_one(table(3, n=600)).settled == (limit > late)


def test_few_passes_over_the_rows_are_enough(monkeypatch):
    """Each is a round trip on a cluster."""
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
    sums = averaged(loss_of(rows), np.append(found.effects.coef, found.fixed), found.doubt)
    assert abs(sums.gradient[-1]) < 1e-2  # the intercept is at its best
    cross = sums.hessian[:-1, -1]
    curvature = sums.hessian[:-1, :-1] - np.outer(cross, cross) / sums.hessian[-1, -1]
    again = infer(curvature, sums.gradient[:-1] + curvature @ found.effects.coef, PRIOR, found.effects)
    assert again.coef == pytest.approx(found.effects.coef, abs=1e-3)


@pytest.mark.parametrize("doubt", [0.3, 2.0, 8.0])
def test_log_odds_are_averaged_over_the_doubt_about_them(doubt):
    """Gradients and information of rows whose log-odds are normal around what is expected of them."""
    rows = table(3, n=600)
    beta = np.append(np.linspace(-1.0, 1.0, 8), -1.0)
    found, plain = (averaged(loss_of(rows), beta, here) for here in (doubt, 0.0))
    at, weight = np.polynomial.hermite_e.hermegauss(81)
    design = np.column_stack([rows.columns.T, np.ones(600)])
    risk = expit((design @ beta)[:, None] + np.sqrt(doubt) * at)
    mean, steep = (np.average(one, axis=1, weights=weight) for one in (risk, risk * (1.0 - risk)))
    gradient, hessian = design.T @ (rows._y - mean), (design.T * steep) @ design
    assert abs(found.gradient - gradient).max() < 0.1 * abs(plain.gradient - gradient).max()
    assert abs(found.hessian - hessian).max() < 0.2 * abs(plain.hessian - hessian).max()
    assert steepness(doubt) == pytest.approx(1.0 / np.sqrt(1.0 + np.pi * doubt / 8.0))


@pytest.mark.parametrize("outcome", ["binary", "continuous"])
def test_only_log_odds_hang_on_the_doubt_about_them(outcome):
    """With more causes than 60 patients can tell, log-odds are doubted; a number is what it is."""
    g = np.random.default_rng(5)
    X = g.laplace(size=(60, 10))
    value = X.sum(axis=1) + g.logistic(size=60)
    loss = Binary(0.5).loss(ReferenceTable(X, (value > 0).astype(int)), np.arange(10))
    if outcome == "continuous":
        value = (value - value.mean()) / value.std(ddof=1)
        loss = Continuous.of(value).loss(ReferenceTable(X, value[:, None]), np.arange(10))
    prior = Prior.nothing_known(10, 3.0, 10, 1.0)
    found = find_direct_causes(loss, np.eye(10), prior, loss.start)
    assert (found.doubt > 0.3) == (outcome == "binary")
    size = np.abs(found.predicting).sum() / np.abs(found.effects.coef).sum()
    assert (size < 0.95) == (outcome == "binary")


def by_quadrature(cavity: float, pull: float, share: float, scale: float, spike: float) -> tuple[float, ...]:
    """What :func:`matched` says, from the definition of the prior."""
    w, width = np.linspace(-30.0, 30.0, 600_001, retstep=True)
    factor = np.exp(pull * w - 0.5 * cavity * w**2)
    slab = w**2 / scale * np.exp(-0.5 * w**2 / scale) / np.sqrt(2 * np.pi * scale) * factor * width
    near = np.exp(-0.5 * w**2 / spike) / np.sqrt(2 * np.pi * spike) * factor * width
    prior = share * slab + (1 - share) * near
    mean, square = (w**power @ prior / prior.sum() for power in (1, 2))
    small, second = (w**2 @ part / part.sum() for part in (near, slab))
    return share * slab.sum() / prior.sum(), second, small, mean, square - mean**2


@pytest.mark.parametrize(
    ("cavity", "pull", "share", "scale", "spike"),
    [(20.0, 9.0, 0.1, 0.2, 0.01), (0.5, -0.3, 0.6, 2.0, 0.4), (80.0, 60.0, 0.01, 0.05, 0.0001)],
)
def test_moments_are_those_of_the_prior_and_the_rest(cavity, pull, share, scale, spike):
    expected = by_quadrature(cavity, pull, share, scale, spike)
    assert matched(cavity, pull, share, scale, spike) == pytest.approx(expected, rel=1e-8)


def test_alone_a_column_has_its_exact_posterior():
    prior = Prior.nothing_known(1, 1.0, 1, 1.0)
    found = infer(np.array([[25.0]]), np.array([7.0]), prior, Posterior.before(prior))
    assert found.settled
    inclusion, _, _, mean, _ = by_quadrature(25.0, 7.0, found.share, found.scale, found.spike)
    assert found.inclusion == pytest.approx([inclusion], abs=1e-3)
    assert found.coef == pytest.approx([mean], abs=1e-3)


def test_how_many_act_and_how_strongly_is_learned():
    def learned(coef):
        g = np.random.default_rng(5)
        X = g.standard_normal((2000, 30))
        prior = Prior.nothing_known(30, 3.0, 30, 1.0)
        return infer(X.T @ X, X.T @ (X @ coef + g.standard_normal(2000)), prior, Posterior.before(prior))

    one, all_weak = np.zeros(30), np.full(30, 0.15)
    one[0] = 2.0
    few, many = learned(one), learned(all_weak)
    assert few.share < 0.15 < 0.9 < many.share
    assert many.scale < 0.05 < 0.3 < few.scale
    assert few.inclusion[0] > 0.99 and few.inclusion[1:].max() < 0.2
    assert many.coef == pytest.approx(all_weak, abs=0.08)


def test_what_is_known_to_act_has_no_spike():
    """An effect of one standard error is all but gone for others, and stays whole for a known cause.

    What is known not to act has none, whatever the data say.
    """
    curvature, slope = 100.0 * np.eye(6), np.array([10.0, 10.0, 0.0, 0.0, 0.0, 90.0])
    prior = Prior(3.0, 6, 1.0, np.arange(6) == 0, np.arange(6) == 5)
    found = infer(curvature, slope, prior, Posterior.before(prior))
    assert found.coef[0] == pytest.approx(10.0 / 101.0)
    assert found.coef[1] < 0.03
    assert found.inclusion[0] == 1.0
    assert found.coef[5] == pytest.approx(0.0, abs=1e-12)
    assert found.inclusion[5] == 0.0


def test_two_columns_that_share_an_effect_come_to_rest():
    """Each could carry it, and sites that swing from sweep to sweep would never settle."""
    cohort = simulate(300, 20, random_state=22)
    assert RCI().fit(cohort.X, cohort.y).provenance_["converged"] is True


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
        (direct_causes, "MAX_HALVINGS", 0),
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
        found, balanced = sharp.refit(Binary(0.5).loss(rows, np.arange(1)), np.array([2.0]), start, 0)
        assert balanced
        sums = rows.logit_sums(np.arange(1), np.append(2.0, found))
        assert abs(sums.gradient[-1]) < 1e-3  # expected less observed cases
        start = found + 0.09


def test_the_intercept_is_found_from_where_all_risks_are_certain():
    """There the curvature is zero to the last digit."""
    rows = table(3, n=600)
    for start in (-800.0, 800.0):
        found, balanced = sharp.refit(
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


@pytest.mark.parametrize("loops", [PLAIN, COMPILED], ids=["plain", "compiled"])
def test_columns_that_tell_all_apart_do_not_widen_the_slab_without_end(loops):
    """Each pass then learned a larger one, until coefficients had seventeen digits."""
    prior = Prior.nothing_known(3, 3.0, 3, 1.0)
    found = loops.infer(np.eye(3), np.full(3, 1e3), prior, Posterior.before(prior), True)
    assert found.scale <= LARGEST_SLAB * prior.scale and np.isfinite(found.coef).all()


def test_resamples_draw_what_the_prior_leaves_open():
    """Spread of expectations, V H V, and of what is drawn add up to the posterior's own spread V."""
    found = found_from_minus_one(table(3, n=600))
    rng, precision = np.random.default_rng(0), found.effects.precision
    draws = np.array([found.drawn(rng) for _ in range(20_000)])
    curvature = np.linalg.inv(found.covariance) - np.diag(precision)
    left = found.covariance - found.covariance @ curvature @ found.covariance
    scale = np.sqrt(np.outer(np.diagonal(found.covariance), np.diagonal(found.covariance)))
    assert np.cov(draws.T) / scale == pytest.approx(left / scale, abs=0.03)
    assert draws.mean(axis=0) == pytest.approx(found.effects.coef, abs=0.01)


def test_intervals_carry_what_the_prior_leaves_open(monkeypatch):
    """Causes too weak to be told from none: resamples alone would shrink all of them to next to nothing."""
    rng = np.random.default_rng(1)
    X = rng.laplace(size=(200, 8))
    y = (rng.random(200) < 1.0 / (1.0 + np.exp(-1.5 * X[:, 0] - 0.2 * X[:, 1]))).astype(int)
    model = RCI().fit(X, y)
    drawn = model.bootstrap(60).explain(X)
    monkeypatch.setattr(direct_causes.DirectCauses, "drawn", lambda causes, rng: causes.effects.coef)
    alone = model.bootstrap(60).explain(X)
    wider = (drawn.upper - drawn.lower).mean(axis=0) / (alone.upper - alone.lower).mean(axis=0)
    assert wider[0] < 1.15
    assert wider[1:].mean() > 1.15
