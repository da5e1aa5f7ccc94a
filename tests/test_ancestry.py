"""Sharp attribution: it finds the few that matter, says how sure it is, and is the same on every table."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from rootcausal import RCI
from rootcausal.data import simulate
from rootcausal.errors import InputError
from rootcausal.method.attribution import direct_causes as acting
from rootcausal.method.attribution.ancestors import FIRST_EFFECTS, Sparsity, fit_effects, trace_back
from rootcausal.method.attribution.direct_causes import ancestors_left_out
from rootcausal.method.attribution.sparse import attribute
from rootcausal.method.attribution.spike_slab import Posterior, Prior, infer
from rootcausal.metrics import rank_biased_overlap, shapley_mse
from rootcausal.outcomes.binary import Binary

PRIOR = Sparsity(expected=3.0, n_columns=40, variance=1.0)


def regression(coef: np.ndarray, n: int, seed: int, correlation: float = 0.0):
    """Curvature and slope of a least squares problem with noise of unit variance."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, coef.size)) + correlation * rng.standard_normal((n, 1))
    y = X @ coef + rng.standard_normal(n)
    return X.T @ X, X.T @ y


def test_one_column_has_the_exact_posterior():
    curvature, slope = np.array([[50.0]]), np.array([12.0])
    prior = Sparsity(expected=0.7, n_columns=1, variance=0.5)
    effects = fit_effects(curvature, slope, prior)
    # One effect on one column: Bayes' theorem by numerical integration.
    grid = np.linspace(-6, 6, 200_001)
    density = np.exp(slope[0] * grid - 0.5 * curvature[0, 0] * grid**2 - 0.5 * grid**2 / 0.5)
    evidence = density.sum() * (grid[1] - grid[0]) / np.sqrt(2 * np.pi * 0.5)
    exists = 1 - np.exp(-0.7)
    expected = exists * evidence / (exists * evidence + 1 - exists)
    assert effects.inclusion[0] == pytest.approx(expected, rel=1e-6)
    assert effects.coef[0] == pytest.approx(expected * (grid * density).sum() / density.sum(), rel=1e-6)


def test_the_right_columns_are_found_among_correlated_ones():
    coef = np.zeros(40)
    coef[[3, 17]] = 0.6, -0.5
    effects = fit_effects(*regression(coef, 400, seed=0, correlation=1.0), PRIOR)
    assert effects.inclusion[[3, 17]].min() > 0.99
    assert np.delete(effects.inclusion, [3, 17]).max() < 0.2
    assert effects.coef == pytest.approx(coef, abs=0.12)


def test_noise_alone_includes_nothing():
    worst = [fit_effects(*regression(np.zeros(40), 300, seed), PRIOR).inclusion.max() for seed in range(20)]
    assert np.median(worst) < 0.3


def test_more_effects_than_it_starts_with_are_all_found():
    coef = np.zeros(40)
    coef[: FIRST_EFFECTS + 6] = 1.0
    effects = fit_effects(*regression(coef, 800, seed=1), PRIOR)
    assert effects.inclusion[: FIRST_EFFECTS + 6].min() > 0.99


def test_default_is_sharper_than_the_paper():
    overlap, mse = np.zeros((2, 8)), np.zeros((2, 8))
    for seed in range(8):
        cohort = simulate(1000, 50, random_state=40_000 + seed)  # priors were chosen on seeds below 1,000
        for place, attribution in enumerate(("paper", "sharp")):
            scores = RCI(attribution=attribution).fit(cohort.X, cohort.y).scores(cohort.X)
            overlap[place, seed] = rank_biased_overlap(cohort.true_shapley, scores)
            mse[place, seed] = shapley_mse(cohort.true_shapley, scores)
    assert overlap[1].mean() > overlap[0].mean() + 0.03
    assert mse[1].mean() < 0.7 * mse[0].mean()


def test_probabilities_tell_ancestors_from_the_rest():
    said: list[float] = []
    seen: list[bool] = []
    for seed in range(6):
        cohort = simulate(1000, 50, random_state=50_000 + seed)
        model = RCI().fit(cohort.X, cohort.y)
        probability = model.ancestor_probability_
        assert probability.shape == (49,)
        assert ((probability >= 0) & (probability <= 1)).all()
        said.extend(probability[model.causal_order_])
        seen.extend((cohort.effects != 0)[model.causal_order_])
    stated, ancestor = np.array(said), np.array(seen)
    assert ancestor[stated > 0.9].mean() > 0.9
    assert ancestor[stated < 0.1].mean() < 0.1


def test_every_table_gives_the_same_attribution():
    cohort = simulate(700, 20, random_state=3)
    plain, fast = (RCI(backend=backend).fit(cohort.X, cohort.y) for backend in ("numpy", "numba"))
    assert plain.coef_ == pytest.approx(fast.coef_, abs=1e-8)
    assert plain.ancestor_probability_ == pytest.approx(fast.ancestor_probability_, abs=1e-8)
    assert plain.intercept_ == pytest.approx(fast.intercept_, abs=1e-8)


def test_mean_risk_is_the_share_of_cases():
    cohort = simulate(800, 15, random_state=4)
    risk = RCI().fit(cohort.X, cohort.y).predict_proba(cohort.X)[:, 1]
    assert risk.mean() == pytest.approx(cohort.y.mean(), abs=1e-6)


def test_separated_classes_stay_finite():
    x = np.arange(40.0)
    X = np.column_stack([x, np.random.default_rng(0).uniform(size=40)])
    with pytest.warns(
        UserWarning, match=r"separate the classes perfectly.*the prior of the default attribution"
    ):
        model = RCI().fit(X, (x >= 20).astype(int))
    assert 0 < model.coef_[0] < 10
    assert model.ancestor_probability_[0] > 0.99


def test_no_survivor_leaves_the_prevalence():
    X = np.tile([[0.0], [1.0], [2.0]], (20, 1))
    y = np.repeat([0, 1], 30)
    with pytest.warns(UserWarning, match="the outcome depends on no variable"):
        model = RCI(alpha=0.2).fit(X, y)
    assert model.intercept_ == 0.0
    assert model.ancestor_probability_.tolist() == [0.0]


def test_nothing_to_attribute():
    # Without errors to attribute to, the table is never asked, so None stands for it.
    prior, loss = Prior.nothing_known(0, 3.0, 5, 1.0), Binary(0.25).loss(None, np.zeros(0, dtype=int))
    ancestry = attribute(loss, np.zeros((0, 0)), np.zeros(0, dtype=int), prior, 40.0)
    assert ancestry.fitted.baseline == pytest.approx(np.log(1 / 3))


def test_attribution_is_checked_and_kept(tmp_path):
    cohort = simulate(200, 6, random_state=0)
    with pytest.raises(InputError, match="unknown attribution 'blunt': choose one of sharp, paper"):
        RCI(attribution="blunt").fit(cohort.X, cohort.y)
    for attribution in ("sharp", "paper"):
        model = RCI(attribution=attribution).fit(cohort.X, cohort.y)
        model.save(tmp_path / "model.rci")
        again = RCI.load(tmp_path / "model.rci")
        assert again.attribution == attribution
        if attribution == "paper":
            assert model.ancestor_probability_ is None
            assert again.ancestor_probability_ is None
        else:
            assert np.array_equal(again.ancestor_probability_, model.ancestor_probability_)


def test_what_a_test_dropped_is_worth_something():
    """Of variables that the t-test drops some are ancestors: about as many as is said of them."""
    said, seen = [], []
    for seed in range(25):
        cohort = simulate(1000, 20, random_state=60_000 + seed)
        model = RCI(alpha=0.2).fit(cohort.X, cohort.y)
        dropped = np.setdiff1d(np.arange(19), model.causal_order_)
        said.extend(model.ancestor_probability_[dropped])
        seen.extend(cohort.effects[dropped] != 0)
    assert 0 < np.mean(seen) < 0.2
    assert np.mean(said) == pytest.approx(np.mean(seen), abs=0.05)


def test_the_clearer_a_test_dropped_it_the_less_it_is_worth():
    p_in, probability = np.array([1e-9, 1e-5, 0.1]), np.array([1.0, 1.0, 0.1])
    found = ancestors_left_out(np.array([0.21, 0.6, 1.0, np.nan]), p_in, probability)
    assert found[0] > found[1] > found[2] == found[3] > 0
    assert not ancestors_left_out(np.array([0.3]), p_in, np.zeros(3)).any()
    assert ancestors_left_out(np.zeros(0), p_in, probability).size == 0


def evidence_by_quadrature(own: float, left: float, law: Callable[[np.ndarray], np.ndarray]) -> float:
    """How much better than zero an effect of this law fits the factor exp(left w − own w² / 2)."""
    w, width = np.linspace(-12.0, 12.0, 400_001, retstep=True)
    return float((law(w) * np.exp(left * w - 0.5 * own * w**2)).sum() * width)


def moment_law(scale: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda w: w**2 / scale * normal_law(scale)(w)


def normal_law(variance: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda w: np.exp(-0.5 * w**2 / variance) / np.sqrt(2 * np.pi * variance)


@pytest.mark.parametrize("left", [0.0, 12.0, -30.0])
def test_a_clear_cause_has_an_effect_of_a_size(left):
    """One column: Bayes' theorem by numerical integration, with the prior that is zero at zero."""
    prior = Sparsity(expected=0.7, n_columns=1, variance=0.5)
    curvature = np.array([[50.0]])
    effects = fit_effects(curvature, np.array([left]), prior)
    evidence, exists = evidence_by_quadrature(50.0, left, moment_law(0.5 / 3.0)), 1 - np.exp(-0.7)
    expected = exists * evidence / (exists * evidence + 1 - exists)
    assert effects.clear(curvature, prior)[0] == pytest.approx(expected, rel=1e-6)
    assert (effects.clear(curvature, prior)[0] < effects.inclusion[0]) == (left == 0.0 or left == 12.0)


def test_probabilities_are_averaged_over_shares_and_laws():
    """Columns that do not overlap: all sets of causes, shares and laws are gone through one by one."""
    own, left, scale = np.array([40.0, 90.0, 20.0]), np.array([11.0, 3.0, -16.0]), 0.2
    laws = moment_law(scale), normal_law(3.0 * scale)
    prior = Prior.nothing_known(3, 1.0, 5, 1.0)
    found = replace(Posterior.before(prior), scale=scale)
    total, with_each = 0.0, np.zeros(3)
    for share in acting.SHARES:
        before = share**acting.SEEN_ACTING * (1.0 - share) ** (acting.SEEN_IDLE + 2.0)
        for law, weight in zip(laws, (1.0 - share, share), strict=True):
            factors = [evidence_by_quadrature(*asked, law) for asked in zip(own, left, strict=True)]
            for causes in itertools.product((False, True), repeat=3):
                here = before * weight
                for acts, factor in zip(causes, factors, strict=True):
                    here *= share * factor if acts else 1.0 - share
                total += here
                with_each += here * np.array(causes)
    assert acting.acting(np.diag(1 / (own + found.precision)), left, found, prior) == pytest.approx(
        with_each / total, rel=1e-6
    )


def acts(curvature: np.ndarray, slope: np.ndarray, prior: Prior) -> np.ndarray:
    found = infer(curvature, slope, prior, Posterior.before(prior))
    return acting.acting(np.linalg.inv(curvature + np.diag(found.precision)), slope, found, prior)


def test_what_is_known_to_act_needs_no_evidence():
    prior = Prior(3.0, 4, 1.0, np.arange(4) == 0, np.arange(4) == 1)
    probability = acts(60.0 * np.eye(4), np.array([0.0, 90.0, 90.0, 0.0]), prior)
    assert probability[:2].tolist() == [1.0, 0.0]
    assert probability[2] > 0.99 and probability[3] < 0.3


def test_where_most_columns_act_weak_ones_are_taken_for_causes_sooner():
    """What is within a wide spike is in the risk; whether it acts is asked apart."""
    asked = 200.0 * np.eye(30), 200.0 * np.where(np.arange(30) == 29, 0.17, 0.0)
    strong = 200.0 * np.where(np.arange(30) < 24, np.linspace(0.2, 1.2, 30), 0.0)
    prior = Prior.nothing_known(30, 3.0, 30, 1.0)
    alone, among = (acts(asked[0], slope, prior)[29] for slope in (asked[1], asked[1] + strong))
    assert alone < 0.5 < among


def test_an_ancestor_by_paths_is_no_surer_than_so_few_rows_can_point_an_arrow():
    """Two columns in a row, and the second is known to act: what 100 rows say of the first is less sure."""
    mixing = np.array([[1.0, 0.0], [0.8, 0.6]])
    told = {n: trace_back(mixing, float(n), np.array([0.0, 1.0]), 0).probability for n in (100, 10_000)}
    assert told[100].tolist() == pytest.approx([100 / 120, 1.0], abs=1e-6)
    assert told[10_000][0] > 0.99
