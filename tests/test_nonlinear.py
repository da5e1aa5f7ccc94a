"""Bent mechanisms: compiled sums are the plain ones, curves bend, graphs and Shapley values are right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from itertools import permutations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_sums import PlainRows, bin_of, spacing_entropy
from scipy.optimize import minimize

from rootcausal.backends.blas import one_blas_thread
from rootcausal.data import simulate_nonlinear
from rootcausal.files.array_archive import pack, unpack
from rootcausal.method.model import CausalModel
from rootcausal.method.model_parts import (
    HETEROSCEDASTIC,
    LINEAR,
    NONLINEAR,
    check_part,
    flattened,
    unflattened,
)
from rootcausal.nonlinear.ancestors import ancestors
from rootcausal.nonlinear.attribution import NonlinearAttribution, nonlinear_kind
from rootcausal.nonlinear.curves import KNOTS, PIECES, Splines, curve_at, pieces_at
from rootcausal.nonlinear.fitting import POST_NONLINEAR, Asked, Fitter, fit_logits
from rootcausal.nonlinear.mechanism import NonlinearMechanism
from rootcausal.nonlinear.memory_rows import HeldRows, MemoryRows
from rootcausal.nonlinear.rows import Designs
from rootcausal.nonlinear.scales import SCORES, SHARES, from_scores, marks_of, to_scores
from rootcausal.nonlinear.search import GraphSearch
from rootcausal.nonlinear.sum_kernels import BINS, entropies
from rootcausal.nonlinear.ties import heaps_of
from rootcausal.outcomes.binary import LogOddsAttribution

NO_LEVELS = np.empty(0)
KIND = nonlinear_kind(LogOddsAttribution)
OF_OUTCOME = LogOddsAttribution(np.zeros(3), 0.3)
# No value of any patient lies beyond.
WIDE = np.tile([-50.0, 50.0], (3, 1))


def columns(n: int, seed: int = 0) -> np.ndarray:
    """(4, n): a cause; a bent effect of uneven spread; a product of both; and a level of the cause."""
    rng = np.random.default_rng(seed)
    cause = rng.uniform(-1, 1, n) * 3**0.5
    effect = np.tanh(2 * cause) + (0.3 + 0.3 * (cause > 0)) * rng.standard_t(5, n)
    both = 0.5 * cause * effect + rng.exponential(size=n)
    level = np.searchsorted([-0.5, 0.8], cause + rng.logistic(size=n)).astype(float)
    Z = np.stack([cause, effect, both, level])
    return (Z - Z.mean(axis=1, keepdims=True)) / Z.std(axis=1, keepdims=True)


def held(kind: type[PlainRows], Z: np.ndarray, weights: np.ndarray) -> tuple[PlainRows, Splines]:
    plain = HeldRows(Z, weights, ())
    splines = Splines.of(plain, np.zeros(len(Z), dtype=bool))
    values = [np.unique(z) if np.unique(z).size < 5 else NO_LEVELS for z in Z]
    numbers = [column for column, some in enumerate(values) if not some.size]
    rows = plain.prepared(splines, tuple(values), heaps_of(plain, numbers))
    return kind(**{f.name: getattr(rows, f.name) for f in fields(MemoryRows) if f.init}), splines


def spread_out(z: np.ndarray) -> np.ndarray:
    heaps = heaps_of(HeldRows(z[None], np.ones(z.size), ()), [0])
    return heaps[0].spread(z, np.zeros_like(heaps[0].count)) if heaps else z


@pytest.fixture(params=["even", "weighted"])
def twins(request: pytest.FixtureRequest) -> tuple[PlainRows, MemoryRows, Splines]:
    Z = columns(700)
    weights = np.ones(700) if request.param == "even" else np.random.default_rng(1).uniform(0.1, 2.0, 700)
    plain, splines = held(PlainRows, Z, weights)
    return plain, held(MemoryRows, Z, weights)[0], splines


DESIGNS = Designs.of([1, 2, 1], [[(0, -1), (1, -1), (2, -1)], [(0, -1), (4, -1), (4, 0)], []])


def coefficients(seed: int) -> np.ndarray:
    """Of the terms that the designs have; zero beyond them."""
    drawn = np.random.default_rng(seed).normal(0, 0.3, (len(DESIGNS), DESIGNS.width))
    return drawn * (np.arange(DESIGNS.width) <= DESIGNS.size[:, None])


@pytest.mark.parametrize("with_gamma", [False, True])
def test_compiled_sums_are_the_plain_ones(
    twins: tuple[PlainRows, MemoryRows, Splines], with_gamma: bool
) -> None:
    plain, compiled, _ = twins
    beta, gamma = coefficients(0), coefficients(1)
    given_gamma = gamma if with_gamma else None
    np.testing.assert_allclose(
        compiled.grams(DESIGNS, given_gamma), plain.grams(DESIGNS, given_gamma), atol=1e-8
    )
    np.testing.assert_allclose(
        compiled.spread_sums(DESIGNS, beta, gamma), plain.spread_sums(DESIGNS, beta, gamma), atol=1e-8
    )
    unit = np.array([1.0, 0.7, 1.3])
    for one, other in zip(
        compiled.histograms(DESIGNS, beta, given_gamma, unit),
        plain.histograms(DESIGNS, beta, given_gamma, unit),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-8)


def test_sums_do_not_depend_on_where_arrays_lie(twins: tuple[PlainRows, MemoryRows, Splines]) -> None:
    """The room that a loop is given lies right behind the weights, or elsewhere."""
    _, compiled, _ = twins
    beta, gamma, unit = coefficients(0), coefficients(1), np.array([1.0, 0.7, 1.3])
    held_back = [np.empty(size) for size in (540, 1000, 2000, 4000, 8000) for _ in range(300)]
    seen = set()
    for _ in range(100):
        held_back += [np.empty(540) for _ in range(20)]
        compiled.weights = compiled.weights.copy()
        held_back.append(compiled.weights)
        seen.add(b"".join(sums.tobytes() for sums in compiled.histograms(DESIGNS, beta, gamma, unit)))
    assert len(seen) == 1


def test_compiled_level_sums_are_the_plain_ones(twins: tuple[PlainRows, MemoryRows, Splines]) -> None:
    plain, compiled, _ = twins
    designs = Designs.of([3, 3], [[(0, -1), (1, -1)], [(4, -1), (4, 0)]])
    beta = np.random.default_rng(2).normal(0, 0.4, (2, designs.width))
    thresholds = np.array([[-0.5, 0.9], [-0.2, 0.4]])
    for one, other in zip(
        vars(compiled.level_sums(designs, beta, thresholds)).values(),
        vars(plain.level_sums(designs, beta, thresholds)).values(),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-8)


def test_level_sums_are_derivatives_of_their_likelihood(
    twins: tuple[PlainRows, MemoryRows, Splines],
) -> None:
    plain, _, _ = twins
    designs = Designs.of([3], [[(0, -1), (1, -1)]])
    beta, thresholds, step = np.array([[0.0, 0.4, -0.3]]), np.array([[-0.5, 0.9]]), 1e-5

    def loglik(b: np.ndarray, t: np.ndarray) -> float:
        return float(plain.level_sums(designs, b, t).loglik[0])

    sums = plain.level_sums(designs, beta, thresholds)
    for place in (1, 2):
        moved = np.eye(3)[[place]] * step
        rise = loglik(beta + moved, thresholds) - loglik(beta - moved, thresholds)
        assert sums.gradient[0, place] == pytest.approx(rise / (2 * step), rel=1e-5, abs=1e-4)
    for place in (0, 1):
        moved = np.eye(2)[[place]] * step
        up, down = (plain.level_sums(designs, beta, thresholds + sign * moved) for sign in (1, -1))
        assert sums.threshold_gradient[0, place] == pytest.approx(
            (up.loglik - down.loglik)[0] / (2 * step), rel=1e-5
        )
        curve = -(up.threshold_gradient - down.threshold_gradient)[0] / (2 * step)
        np.testing.assert_allclose(sums.threshold_hessian[0, place], curve, rtol=1e-4, atol=1e-3)


def test_logits_are_the_most_likely_ones(twins: tuple[PlainRows, MemoryRows, Splines]) -> None:
    """By a general optimizer, of a design with a rare inner level and of one that hardly tells anything."""
    _, compiled, _ = twins
    rng = np.random.default_rng(0)
    compiled.codes[3][rng.choice(700, 300, replace=False)] = 2
    compiled.codes[3][np.flatnonzero(compiled.codes[3] == 1)[4:]] = 0
    designs = Designs.of([3, 3], [[(0, -1), (1, -1), (4, 0)], [(4, -1)]])
    start = np.tile([-0.7, 0.7], (2, 1))
    logits = fit_logits(compiled, designs, np.zeros((2, designs.width)), start, np.full(2, -np.inf))
    assert logits.converged.all()
    for k, size in enumerate(designs.size):

        def left(params: np.ndarray, k: int = k, size: int = size) -> float:
            beta, thresholds = np.zeros((2, designs.width)), start.copy()
            beta[k, 1 : size + 1] = params[:size]
            thresholds[k] = params[size], params[size] + np.exp(params[size + 1])
            loglik = compiled.level_sums(designs, beta, thresholds).loglik[k]
            return 0.5 * params[:size] @ params[:size] - loglik

        best = minimize(left, np.zeros(size + 2), method="BFGS")
        found = logits.loglik[k] - 0.5 * logits.beta[k] @ logits.beta[k]
        assert found == pytest.approx(-best.fun, abs=5e-3)
        np.testing.assert_allclose(logits.beta[k, 1 : size + 1], best.x[:size], atol=5e-3)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(20, 400), weighted=st.booleans())
def test_entropies_of_histograms_are_the_plain_ones(seed: int, n: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    values = rng.standard_t(2, n) if seed % 2 else np.round(rng.normal(size=n), 1)
    weights = rng.uniform(0.2, 3.0, n) if weighted else np.ones(n)
    counts = np.bincount(bin_of(values), weights, BINS)
    assert entropies(counts[None], n)[0] == pytest.approx(spacing_entropy(counts, n), abs=1e-10)


@pytest.mark.parametrize(
    ("draw", "entropy"),
    [
        (lambda rng, n: rng.standard_normal(n), 0.5 * np.log(2 * np.pi * np.e)),
        (lambda rng, n: rng.uniform(-1, 1, n), np.log(2)),
        (lambda rng, n: rng.exponential(size=n) - 1, 1.0),
        (lambda rng, n: rng.standard_t(3, n), 1.7735),
    ],
    ids=["normal", "uniform", "exponential", "heavy tails"],
)
def test_entropies_are_those_of_known_distributions(draw, entropy: float) -> None:
    values = draw(np.random.default_rng(0), 20_000)
    assert spacing_entropy(np.bincount(bin_of(values), minlength=BINS), 20_000) == pytest.approx(
        entropy, abs=0.03
    )


def test_splines_are_lines_beyond_their_knots_and_uncorrelated() -> None:
    Z = columns(500)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 500)
    splines = Splines.of(HeldRows(Z, weights, ()), np.array([False, False, False, True]))
    rows = splines.rows_of(Z)
    assert splines.width.tolist() == [4, 4, 4, 1]
    of_first = rows[:4]
    covariance = (of_first * weights) @ of_first.T / weights.sum()
    # The line itself is standardized by others.
    np.testing.assert_allclose(covariance[1:, 1:], np.eye(3), atol=1e-9)
    np.testing.assert_allclose(covariance[0, 1:], 0.0, atol=1e-9)
    far = np.array([5.0, 6.0, 7.0, -5.0, -6.0, -7.0])
    for bend in range(4):
        up = curve_at(splines.curves[0, bend], pieces_at(splines.knots[0], far), far)
        assert up[0] - 2 * up[1] + up[2] == pytest.approx(0.0, abs=1e-9)
        assert up[3] - 2 * up[4] + up[5] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("distinct", [2, 3, 4])
def test_a_cause_with_few_values_has_no_more_splines_than_those_allow(distinct: int) -> None:
    z = np.random.default_rng(0).integers(distinct, size=300).astype(float)
    splines = Splines.of(HeldRows(z[None], np.ones(300), ()), np.zeros(1, dtype=bool))
    rows = splines.rows_of(z[None])
    assert 1 <= splines.width[0] < distinct
    assert np.isfinite(rows).all()


def test_common_values_are_spread_and_others_stay() -> None:
    rng = np.random.default_rng(0)
    rounded = np.round(rng.normal(size=600), 0)
    spread = spread_out(rounded)
    assert np.unique(spread).size > 500
    assert np.abs(spread - rounded).max() <= 0.75
    assert (spread_out(rounded) == spread).all()
    continuous = rng.normal(size=600)
    assert spread_out(continuous) is continuous
    zeros = np.where(rng.random(600) < 0.4, 0.0, rng.exponential(size=600))
    assert (spread_out(zeros)[zeros > 0] == zeros[zeros > 0]).all()


def test_heaps_do_not_hide_that_a_column_depends_on_another() -> None:
    """Pulses are read as multiples of five, now and then of two, whatever their cause."""
    rng = np.random.default_rng(1)
    cause = rng.exponential(size=2000)
    pulse = 75 + 6 * cause + 9 * rng.standard_t(6, 2000)
    pulse = np.where(rng.random(2000) < 0.7, 5 * np.round(pulse / 5), 2 * np.round(pulse / 2))
    Z = np.stack([cause, pulse])
    Z = (Z - Z.mean(axis=1, keepdims=True)) / Z.std(axis=1, keepdims=True)
    found = GraphSearch(fitter(Z), [[0], [1]], ~np.eye(2, dtype=bool)).run()
    assert found.causes == (frozenset(), {0})


def fitter(Z: np.ndarray, bent: bool = True) -> Fitter:
    rows, splines = held(MemoryRows, Z, np.ones(Z.shape[1]))
    levels = np.array([values.size for values in rows.level_values])
    return Fitter(rows, splines, levels, float(Z.shape[1]), entropies, bent)


def test_forms_are_chosen_by_what_the_data_show() -> None:
    rng = np.random.default_rng(4)
    cause = rng.uniform(-1.7, 1.7, 2000)
    error = rng.exponential(size=2000) - 1
    forms = {
        LINEAR: cause + error,
        NONLINEAR: 2 * np.tanh(2 * cause) + error,
        HETEROSCEDASTIC: cause + np.exp(0.6 * cause) * error,
    }
    for number, effect in enumerate(forms.values()):
        Z = np.stack([cause, effect])
        Z = (Z - Z.mean(axis=1, keepdims=True)) / Z.std(axis=1, keepdims=True)
        assert fitter(Z).fit([Asked(1, [[0]])])[0].form == number


def test_another_scale_is_found_where_causes_and_error_add_up_on_it() -> None:
    rng = np.random.default_rng(6)
    cause, other = rng.laplace(size=(2, 1000))
    Z = np.stack([cause, np.exp(0.8 * cause - 0.5 * other + rng.uniform(-1, 1, 1000)), other])
    Z = (Z - Z.mean(axis=1, keepdims=True)) / Z.std(axis=1, keepdims=True)
    found = GraphSearch(fitter(Z), [[0], [1], [2]], ~np.eye(3, dtype=bool)).run()
    assert found.causes == (frozenset(), {0, 2}, frozenset())
    assert found.fitted[1].form == POST_NONLINEAR


@settings(deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0, 1, 2]))
def test_scales_lead_there_and_back(seed: int, digits: int) -> None:
    rng = np.random.default_rng(seed)
    z = np.round(rng.exponential(size=300) ** rng.uniform(0.3, 3.0), digits + 1)
    marks = marks_of(np.quantile(z, SHARES))
    if np.isfinite(marks).all():
        assert (np.diff(marks) > 0.0).all()
        beyond = np.append(z, [marks[0] - 1.0, marks[-1] + 5.0])
        np.testing.assert_allclose(from_scores(marks, to_scores(marks, beyond)), beyond, rtol=1e-9, atol=1e-9)


def test_the_search_finds_direction_and_bend() -> None:
    Z = columns(1500)[:3]
    found = GraphSearch(fitter(Z), [[0], [1], [2]], ~np.eye(3, dtype=bool)).run()
    assert found.ended and found.converged
    assert found.causes == (frozenset(), {0}, {0, 1})
    assert (found.margins > 0).all()


@pytest.mark.parametrize("seed", [0, 5])
def test_variables_change_places_where_no_single_arrow_would_turn(seed: int) -> None:
    cohort = simulate_nonlinear(400, 7, heteroscedastic=False, n_walks=16, random_state=seed)
    Z = ((cohort.X - cohort.X.mean(axis=0)) / cohort.X.std(axis=0)).T
    alone = [[column] for column in range(6)]
    found = GraphSearch(fitter(Z), alone, ~np.eye(6, dtype=bool)).run()
    learned = np.array([[cause in some for cause in range(6)] for some in found.causes])
    assert not (learned & (cohort.adjacency.T != 0)).any()
    assert (learned & (cohort.adjacency != 0)).sum() >= 6


def test_what_is_not_allowed_is_not_found() -> None:
    Z = columns(800)[:3]
    allowed = np.triu(np.ones((3, 3), dtype=bool), 1)  # only what is against the truth
    found = GraphSearch(fitter(Z), [[0], [1], [2]], allowed).run()
    assert all(cause > effect for effect, causes in enumerate(found.causes) for cause in causes)


def three(spread: bool = True, risk_bends: bool = True, scaled: bool = False) -> NonlinearAttribution:
    """0 → 1 → 2 → outcome and 0 → 2: bent, with uneven spread, and a product in the risk.

    Where ``scaled``, what leads to 2 adds up on another scale.
    """
    knots = np.tile([-1.0, -0.5, 0.0, 0.5, 1.0], (3, 1))
    line, bend = np.zeros((PIECES, 4)), np.zeros((PIECES, 4))
    line[:, 1] = 0.8
    bend[:, 1] = 0.5
    bend[1:-1, 2] = 0.3  # jumps at the knots do no harm here
    none = np.zeros((PIECES, 4))
    uneven = 0.25 * line if spread else none
    mechanism = NonlinearMechanism(
        n_columns=3,
        order=np.array([2, 0, 1]),
        mean=np.array([1.0, -2.0, 0.5]),
        sd=np.array([2.0, 0.5, 1.0]),
        knots=knots,
        constant=np.zeros((3, 2)),
        error_mean=np.zeros(3),
        error_sd=np.array([1.0, 0.6, 0.5]),
        log_spread=np.array([[0.0, 0.0], [-2.0, 2.0] if spread else [0.0, 0.0], [0.0, 0.0]]),
        form=np.array([0, 2 if spread else 1, 3 if scaled else 1]),
        marks=0.4 * np.sinh(SCORES)[None][: int(scaled)],
        cause=np.array([0, 0, 1]),
        effect=np.array([1, 2, 2]),
        expected=np.stack([bend, line, line]),
        spread=np.stack([uneven, none, none]),
        strength=np.array([0.5, 0.8, 0.8]),
        factor=np.array([0]),
        other_factor=np.array([1]),
        product_effect=np.array([2]),
        expected_product=np.array([0.2]),
        spread_product=np.array([0.0]),
        n_levels=np.zeros(3, dtype=np.intp),
        level_values=np.empty(0),
        thresholds=np.empty(0),
    )
    mechanism.check()
    curves = np.stack([none, none, bend if risk_bends else line])
    quantiles = np.sort(np.random.default_rng(5).standard_normal((3, 129)), axis=1)
    return KIND.of(mechanism, OF_OUTCOME, curves, np.array([0.0, 0.0, 0.7]), [(1, 2, 0.15)], quantiles, WIDE)


def exact_shapley(attribution: NonlinearAttribution, errors: np.ndarray, people: np.ndarray) -> np.ndarray:
    """By all orders and by very many starts."""
    values = np.zeros_like(errors)
    orders = list(permutations(range(errors.shape[1])))
    for row, mine in enumerate(errors):
        for order in orders:
            current = people.copy()
            before = attribution.predictor(current).mean()
            for place in order:
                current[:, place] = mine[place]
                now = attribution.predictor(current).mean()
                values[row, place] += (now - before) / len(orders)
                before = now
    return values


@pytest.mark.parametrize("scaled", [False, True])
def test_shapley_values_are_right_and_add_up(scaled: bool) -> None:
    attribution = three(scaled=scaled)
    errors = np.random.default_rng(0).normal(size=(6, 3))
    found = attribution.sampled(errors)
    share = np.random.default_rng(1).random((20_000, 3))
    steps = np.linspace(0, 1, 129)
    people = np.stack([np.interp(share[:, k], steps, attribution.quantiles[k]) for k in range(3)], axis=1)
    truth = exact_shapley(attribution, errors, people)
    np.testing.assert_allclose(found.values, truth, atol=0.04)
    told = attribution.base_value + found.values.sum(axis=1)
    np.testing.assert_allclose(told, attribution.predictor(errors), atol=1e-12)
    assert found.noise is not None
    assert (found.noise <= np.maximum(0.1 * np.abs(found.values), 0.01)).all()


@pytest.mark.parametrize("scaled", [False, True])
def test_the_predictor_is_that_of_the_values_through_the_mechanism(scaled: bool) -> None:
    attribution = three(scaled=scaled)
    errors = np.random.default_rng(3).normal(size=(40, 3))
    z = attribution.mechanism.standard_values(errors)
    told = np.full(40, attribution.intercept)
    for place in range(3):
        piece = pieces_at(attribution.mechanism.knots[place], z[:, place])
        told += curve_at(attribution.curves[place], piece, z[:, place])
    told += 0.15 * np.clip(z[:, 1], -2.5, 2.5) * np.clip(z[:, 2], -2.5, 2.5)
    np.testing.assert_allclose(attribution.predictor(errors), told, atol=1e-9)


def test_where_paths_are_lines_values_are_exact() -> None:
    straight = three(spread=False, risk_bends=False)
    lines = KIND.of(
        straight.mechanism, OF_OUTCOME, straight.curves, straight.strength, [], straight.quantiles, WIDE
    )
    # What reaches the outcome through the product, or a bent arrow, is sampled; the rest is not.
    assert lines._linear.tolist() == [2]
    assert not three(spread=False, risk_bends=False, scaled=True)._linear.size
    errors = np.random.default_rng(3).normal(size=(5, 3))
    found = lines.sampled(errors)
    assert found.noise is not None and not found.noise[:, 2].any()
    np.testing.assert_allclose(found.values[:, 2], errors[:, 2] * lines.unit_effects[2], rtol=1e-12)


@pytest.mark.parametrize("scaled", [False, True])
def test_values_and_errors_lead_to_each_other(scaled: bool) -> None:
    mechanism = three(scaled=scaled).mechanism
    errors = 2.0 * np.random.default_rng(0).normal(size=(50, 3))
    X = np.empty((50, 3))
    X[:, mechanism.order] = mechanism.values(errors)
    np.testing.assert_allclose(mechanism.errors(X, np.arange(3)), errors, atol=1e-9)
    set_to = mechanism.what_if(X, 1, 0.0)
    changed = errors.copy()
    changed[:, 1] = 0.0
    np.testing.assert_allclose(set_to[:, mechanism.order], mechanism.values(changed), atol=1e-9)
    np.testing.assert_array_equal(set_to[:, 2], X[:, 2])  # what lies upstream stays to the last bit
    z = mechanism.standard_values(errors)
    expected, spread = mechanism.conditionals(z)
    np.testing.assert_allclose((z - expected) / spread, errors, atol=1e-9)


def test_slopes_are_those_of_the_average_patient() -> None:
    mechanism = three().mechanism
    X = np.zeros((2, 3))
    X[:, mechanism.order] = mechanism.mean
    X[1, mechanism.order[0]] += 1e-5
    low, high = mechanism.errors(X, np.arange(3))
    np.testing.assert_allclose(mechanism.slopes()[0], (high - low) / 1e-5, atol=1e-3)
    assert np.triu(mechanism.slopes()).any() and not np.tril(mechanism.slopes(), -1).any()


@pytest.fixture
def many_threads() -> Iterator[None]:
    before = numba.get_num_threads()
    yield
    numba.set_num_threads(before)


def test_no_digit_depends_on_the_number_of_threads(many_threads: None) -> None:
    Z = columns(3000)[:3]
    answers = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(threads)
        with one_blas_thread():  # as whoever learns has it
            found = GraphSearch(fitter(Z), [[0], [1], [2]], ~np.eye(3, dtype=bool)).run()
        attribution = three()
        sampled = attribution.sampled(np.random.default_rng(0).normal(size=(300, 3)))
        answers.append((found.cost, *(one.beta for one in found.fitted), sampled.values))
    for one, other in zip(*answers, strict=True):
        np.testing.assert_array_equal(one, other)


def read_back(kind, arrays, given):
    """A part of three places, as a file would give it."""
    (fields,) = unflattened(kind, arrays, np.array([3]), all_of_it=True)
    part = kind.of_fields(fields, given)
    check_part(part, 3)
    return part


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("cause", lambda a: np.array([2, 0, 1])),
        ("cause", lambda a: np.array([0, 0, 7])),
        ("effect", lambda a: np.array([1, 1, 2])),
        ("expected", lambda a: np.where(np.arange(4) == 3, 1.0, a)),
        ("expected", lambda a: a * np.nan),
        ("knots", lambda a: -a),
        ("knots", lambda a: a * np.nan),
        ("error_sd", lambda a: a * 0.0),
        ("log_spread", lambda a: -a),
        ("log_spread", lambda a: a * 1e3),
        ("form", lambda a: a + 5),
        ("form", lambda a: a * 0),
        ("marks", lambda a: a * 0),
        ("marks", lambda a: a * np.nan),
        ("n_levels", lambda a: a - 1),
        ("sd", lambda a: -a),
        ("order", lambda a: np.array([0, 0, 1])),
        ("factor", lambda a: np.array([2])),
    ],
)
def test_numbers_of_no_mechanism_are_refused(name: str, change) -> None:
    mechanism = three(scaled=True).mechanism
    again = read_back(NonlinearMechanism, flattened([mechanism], all_of_it=True), 3)
    assert again.order.tolist() == mechanism.order.tolist()
    arrays = flattened([mechanism], all_of_it=True)
    arrays[name] = change(arrays[name])
    with pytest.raises(ValueError):
        read_back(NonlinearMechanism, arrays, 3)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("curves", lambda a: a * np.nan),
        ("curves", lambda a: a + 1.0),
        ("quantiles", lambda a: -a),
        ("quantiles", lambda a: a[:, :-1]),
        ("factor", lambda a: a + 9),
        ("intercept", lambda a: a * np.inf),
        ("average", lambda a: np.array([1e300])),
    ],
)
def test_numbers_of_no_attribution_are_refused(name: str, change) -> None:
    attribution = three()
    arrays = flattened([attribution], all_of_it=True)
    again = read_back(KIND, arrays, attribution.mechanism)
    assert again.base_value == attribution.base_value
    arrays[name] = change(arrays[name])
    with pytest.raises(ValueError):
        read_back(KIND, arrays, attribution.mechanism)


def test_halves_of_many_models_are_packed_and_unpacked() -> None:
    some = [three(), three(spread=False), three(risk_bends=False, scaled=True)]
    header = {"n_columns": 3, "mechanism": "nonlinear", "attribution": "nonlinear"}
    models = unpack(header, pack([CausalModel(one.mechanism, one) for one in some]))
    again = [model.attribution for model in models]
    errors = np.random.default_rng(0).normal(size=(4, 3))
    for one, other in zip(some, again, strict=True):
        np.testing.assert_array_equal(one.shapley(errors), other.shapley(errors))
        assert other.mechanism.forms() == one.mechanism.forms()


def test_arrow_curves_show_what_was_learned() -> None:
    mechanism = three().mechanism
    z = np.linspace(-2, 2, 9)
    curve = mechanism.arrow_curve(0, 1, z)
    np.testing.assert_allclose(
        curve.expected, curve_at(mechanism.expected[0], pieces_at(mechanism.knots[0], z), z)
    )
    assert (np.diff(curve.spread) > 0).all()
    assert KNOTS.size == PIECES - 1


def test_of_acting_directly_half_the_odds_of_the_regression_are_believed() -> None:
    told = ancestors(np.repeat([0.5, 1.0], 100), {}, np.zeros((200, 200), dtype=bool))
    assert told[:100].mean() == pytest.approx(1 / 3, abs=0.01)
    assert (told[100:] == 1.0).all()
