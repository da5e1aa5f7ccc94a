"""The causal order with discrete columns: a plain twin, all tables and searches, and what it is good for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from labelled_rows import learn, order_columns
from mixed_tables import Mixed, mixed
from scipy.optimize import minimize
from scipy.special import expit
from tables_under_test import TABLES, MakeTable, sharded

from rootcausal.backends.cpu import compiler as threads_module
from rootcausal.backends.cpu.ordering_kernels import CompiledLevelRows
from rootcausal.backends.cpu.rows import NumbaRaw
from rootcausal.backends.level_rows import LevelRows
from rootcausal.backends.reference import CumulativeLogit, ReferenceRaw, entropy_sums
from rootcausal.data import simulate
from rootcausal.method.layout import NO_LEVELS, Layout
from rootcausal.method.moments import describe_columns
from rootcausal.method.ordering import ordering as ordering_module
from rootcausal.method.ordering import search as search_module
from rootcausal.method.ordering.ordering import VARIANTS, Ordering, passing
from rootcausal.method.ordering.pair_score import (
    WEAK,
    Levels,
    entropy,
    gains,
    newton_step,
    starting_thresholds,
    with_levels,
)
from rootcausal.method.pipeline import ATTRIBUTIONS, Settings
from rootcausal.method.table import LARGEST_PREDICTOR, LevelSums, Table
from rootcausal.method.weighted import ClassWeights, standardized

seeds = st.integers(0, 10_000)
kinds = st.sampled_from(["nb", "nbon", "wnnb", "nbnonbwn", "bbonwbo", "nnnnnb", "wwnn", "bow"])
quick = settings(max_examples=25, deadline=None)
SUMS = ("score", "curvature", "score_with", "curvature_with", "curvature_square")


def order(
    drawn: Mixed,
    variant: str,
    make: MakeTable = NumbaRaw,
    prevalence: float | None = None,
    alpha: float = 0.2,
) -> Ordering:
    raw = make(drawn.X, drawn.y)
    columns = describe_columns(raw, prevalence)
    return order_columns(raw, columns, VARIANTS[variant], alpha, layout=drawn.layout)


def told(make: MakeTable, drawn: Mixed, prevalence: float | None = None) -> Table:
    """The table of all columns, told its levels and correlations."""
    raw = make(drawn.X, drawn.y)
    columns = describe_columns(raw, prevalence)
    everyone = np.arange(drawn.X.shape[1])
    table = standardized(raw, columns.weights, everyone, columns.mean, columns.sd)
    correlation = table.gram().sum(axis=0) / (len(drawn.X) - 1)
    table, _ = with_levels(table, drawn.layout, columns.mean, columns.sd)
    return table.with_correlations(correlation)


def same_sums(found: LevelSums, expected: LevelSums, n: int) -> None:
    for name in SUMS:
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=0, atol=1e-11 * n)


# --- a plain twin -----------------------------------------------------------------------------------------


def loglik(code: np.ndarray, theta: np.ndarray, eta: np.ndarray) -> float:
    """Of a cumulative logit with these inner thresholds."""
    edges = np.concatenate([[-np.inf], theta, [np.inf]])
    return float(np.log(expit(edges[code + 1] - eta) - expit(edges[code] - eta)).sum())


def plainly_ordered(drawn: Mixed) -> tuple[list[int], float]:
    """The order by the formulas, row by row and pair by pair, and the least margin that decided a root."""
    n, q = drawn.X.shape
    Z = (drawn.X - drawn.X.mean(axis=0)) / drawn.X.std(axis=0, ddof=1)
    discrete = [levels.size > 0 for levels in drawn.layout.levels]
    code = {j: np.searchsorted(drawn.layout.levels[j], drawn.X[:, j]) for j in range(q) if discrete[j]}
    theta, eta = {}, {j: np.zeros(n) for j in code}
    for j, c in code.items():
        below = np.array([(c <= level).mean() for level in range(drawn.layout.levels[j].size - 1)])
        with np.errstate(divide="ignore"):
            theta[j] = np.log(below / (1.0 - below))

    def step(j: int, w: np.ndarray) -> tuple[float, float, float]:
        """Intercept, slope and gain of regressing the level of j on w, beside what is known."""
        design = np.column_stack([np.ones(n), w])
        both, at_both = newton(j, eta[j], design)
        alone, at_alone = newton(j, eta[j], design[:, :1])
        gain = (at_both - at_alone) / n
        if gain > WEAK:
            ends = []
            for on, by in ((design, both), (design[:, :1], alone)):
                end = eta[j] + on @ by
                ends.append(loglik(code[j], theta[j], end) + newton(j, end, on)[1])
            gain = (ends[0] - ends[1]) / n
        return float(both[0]), float(both[1]), float(gain)

    def newton(j: int, at: np.ndarray, design: np.ndarray) -> tuple[np.ndarray, float]:
        """The step, and what it gains to second order."""
        edges = np.concatenate([[-np.inf], theta[j], [np.inf]])
        upper, lower = expit(edges[code[j] + 1] - at), expit(edges[code[j]] - at)
        s, v = upper + lower - 1.0, upper * (1.0 - upper) + lower * (1.0 - lower)
        by = np.linalg.solve(design.T @ (v[:, None] * design), design.T @ s)
        return by, 0.5 * float(by @ (design.T @ s))

    def h(u: np.ndarray) -> float:
        return float(entropy(*entropy_sums(u[:, None])[0], n))

    def score(i: int, j: int) -> float:
        if discrete[i] and discrete[j]:
            return 0.0
        if discrete[i]:
            return -score(j, i)
        r = float(Z[:, i] @ Z[:, j]) / (n - 1)
        i_given_j, j_given_i = (
            (a - r * b) / np.sqrt(1 - r * r) for a, b in ((Z[:, i], Z[:, j]), (Z[:, j], Z[:, i]))
        )
        if discrete[j]:
            return h(i_given_j) - h(Z[:, i]) + 0.5 * np.log(1.0 - r * r) + step(j, Z[:, i])[2]
        return h(Z[:, j]) - h(Z[:, i]) + h(i_given_j) - h(j_given_i)

    left, found, least = list(range(q)), [], np.inf
    while left:
        mates = [c for c in left if found and drawn.layout.variable[c] == drawn.layout.variable[found[-1]]]
        root = left[0]
        if mates:
            root = mates[0]
        elif not all(discrete[c] for c in left) and len(left) > 1:
            scores = np.array([[score(i, j) if i != j else 0.0 for j in left] for i in left])
            penalty = (np.minimum(scores, 0.0) ** 2).sum(axis=1)
            least = min(least, float(np.diff(np.sort(penalty)[:2])[0]))
            root = left[int(penalty.argmin())]
        left.remove(root)
        found.append(root)
        for j in left:
            if discrete[j]:
                intercept, slope, _ = step(j, Z[:, root])
                eta[j] = eta[j] + intercept + slope * Z[:, root]
        for j in left:
            r = float(Z[:, root] @ Z[:, j]) / (n - 1)
            Z[:, j] = (Z[:, j] - r * Z[:, root]) / np.sqrt(1 - r * r)
    return found, least


@given(seeds, kinds)
@quick
def test_the_order_is_that_of_the_formulas(seed: int, kinds: str) -> None:
    drawn = mixed(seed, 150, kinds)
    expected, margin = plainly_ordered(drawn)
    assume(margin > 1e-8)
    assert order(drawn, "original", ReferenceRaw).order.tolist() == expected
    assert order(drawn, "plus", NumbaRaw).order.tolist() == expected


def test_derivatives_are_those_of_the_likelihood() -> None:
    rng = np.random.default_rng(0)
    code, eta = rng.integers(0, 4, 50), rng.normal(size=50)
    theta = np.array([-np.inf, -1.0, 0.5, 2.0, np.inf])
    s, v = CumulativeLogit(theta[code + 1], theta[code], eta).derivatives()
    by = 1e-4
    for row in range(50):
        at = [loglik(code[[row]], theta[1:-1], eta[[row]] + shift) for shift in (-by, 0.0, by)]
        assert s[row] == pytest.approx((at[2] - at[0]) / (2 * by), abs=1e-6)
        assert v[row] == pytest.approx(-(at[2] - 2 * at[1] + at[0]) / by**2, abs=1e-5)


@pytest.mark.parametrize("n_levels", [2, 4])
@pytest.mark.parametrize("effect", [0.2, 1.0])
def test_gain_and_step_are_those_of_a_fitted_logit(n_levels: int, effect: float) -> None:
    """A general optimizer of all parameters says the same, of the step where the effect is weak."""
    rng = np.random.default_rng(n_levels)
    n = 4000
    w = rng.exponential(size=n) - 1.0
    latent = effect * w + rng.logistic(size=n)
    code = np.searchsorted(np.quantile(latent, np.arange(1, n_levels) / n_levels), latent)
    layout = Layout(np.arange(2), (np.arange(n_levels, dtype=float), NO_LEVELS))
    table = told(ReferenceRaw, Mixed(np.column_stack([code, w]), np.arange(n) % 2, layout))
    z = (w - w.mean()) / w.std(ddof=1)
    theta = starting_thresholds(np.bincount(code)[None].astype(float))[0, 1:-1]

    def loss(free: np.ndarray) -> float:
        return -loglik(code, theta + free[0], free[1] * z)

    best = minimize(loss, np.zeros(2), method="Nelder-Mead", options={"maxiter": 1000, "xatol": 1e-6})
    exact = (-best.fun - loglik(code, theta, np.zeros(n))) / n
    told_entropy = Levels(layout.discrete, n).entropies(table, np.arange(2))
    assert told_entropy is not None
    gain = -0.5 * np.log(1.0 - table.correlations(0)[1] ** 2) - told_entropy.given[0, 0]
    assert gain == pytest.approx(exact, rel=0.05 if effect < 1.0 else 0.01)
    if effect < 1.0:
        sums = table.level_sums(np.array([0]), np.array([1]))
        intercept, slope = (float(part[0, 0]) for part in newton_step(sums, n))
        np.testing.assert_allclose([intercept, slope], best.x, rtol=0.05, atol=0.01)


# --- tables -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize("n", [60, 513, 9001])
def test_sums_equal_the_reference_from_root_to_root(make: MakeTable, n: int) -> None:
    drawn = mixed(3, n)
    table, plain = told(make, drawn), told(ReferenceRaw, drawn)
    discrete = np.flatnonzero(drawn.layout.discrete)
    rest = np.arange(drawn.X.shape[1])
    rng = np.random.default_rng(n)
    for root in (int(discrete[1]), 0, int(discrete[3])):
        numbers = rest[~np.isin(rest, discrete)]
        for cols in (numbers, rest[::-1].copy(), numbers[:1]):
            same_sums(table.level_sums(discrete, cols), plain.level_sums(discrete, cols), n)
        pairs = (
            np.repeat(discrete, 2),
            np.resize(rest, 2 * discrete.size),
            *rng.normal(size=(2, 2 * discrete.size)),
        )
        found, expected = (one.level_pair_sums(*pairs) for one in (table, plain))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10 * n)
        some = discrete[::-2].copy()
        same_sums(table.level_sums(some, rest), plain.level_sums(some, rest), n)
        np.testing.assert_allclose(
            table.correlations(some)[:, rest], plain.correlations(some)[:, rest], atol=1e-10
        )
        rest, discrete = rest[rest != root], discrete[discrete != root]
        step, slope = rng.normal(size=(2, discrete.size))
        slope[0] = 1e6  # as where a column is separated
        table, plain = (
            one.shift_levels(root, discrete, step, slope).regress_out(root, rest) for one in (table, plain)
        )
    sums = table.level_sums(discrete, rest)
    assert all(np.isfinite(getattr(sums, name)).all() for name in SUMS)
    same_sums(sums, plain.level_sums(discrete, rest), n)


def test_compiled_rows_equal_plain_ones() -> None:
    """The plain ones are what a GPU runs, with its own arrays."""
    drawn = mixed(2, 5000)
    table = told(NumbaRaw, drawn)
    compiled = table._levels
    assert isinstance(compiled, CompiledLevelRows)
    plain = LevelRows(compiled.cols, compiled.thresholds, compiled.codes, compiled.predictor)
    Z, cols, rest = table.columns, compiled.cols, np.arange(drawn.X.shape[1])
    rng = np.random.default_rng(0)
    for _ in range(2):
        same_sums(compiled.sums(np, Z, cols, rest), plain.sums(np, Z, cols, rest), 5000)
        pairs = cols, rest[: cols.size], *rng.normal(size=(2, cols.size))
        found, expected = (one.pair_sums(np, Z, *pairs) for one in (compiled, plain))
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-8)
        cols = cols[:0:-1]  # in another order, and one fewer
        step, slope = rng.normal(size=(2, cols.size))
        compiled, plain = (one.shifted(np, Z[0], cols, step, slope) for one in (compiled, plain))
        np.testing.assert_array_equal(compiled.predictor, plain.predictor)
        assert isinstance(compiled, CompiledLevelRows)
        some = np.array([cols[2], 0, cols[0]])
        assert compiled.take(np, some).cols.tolist() == plain.take(np, some).cols.tolist() == [0, 2]


def test_the_number_of_threads_does_not_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = mixed(7, 30_000)
    table = told(NumbaRaw, drawn)
    cols, rest = np.flatnonzero(drawn.layout.discrete), np.arange(drawn.X.shape[1])
    pairs = cols, rest[: cols.size], np.full(cols.size, 0.1), np.full(cols.size, 0.2)
    found = []
    for threads in (1, 2, 5):
        pool = ThreadPoolExecutor(threads)
        monkeypatch.setattr(threads_module, "_pool", pool)
        monkeypatch.setattr(numba, "get_num_threads", lambda count=threads: count)
        sums = table.level_sums(cols, rest)
        found.append([*(getattr(sums, name) for name in SUMS), table.level_pair_sums(*pairs)])
        pool.shutdown()
    for one in found[1:]:
        for again, expected in zip(one, found[0], strict=True):
            np.testing.assert_array_equal(again, expected)


@pytest.mark.parametrize("make", TABLES)
def test_counts_and_thresholds_are_those_of_the_levels(make: MakeTable) -> None:
    drawn = mixed(5, 400, "nobw")
    raw = make(drawn.X, drawn.y)
    columns = describe_columns(raw)
    cols = np.flatnonzero(drawn.layout.discrete)
    table = raw.standardize(np.arange(drawn.X.shape[1]), columns.mean, columns.sd)
    edges = np.full((cols.size, 3), np.inf)
    for place, c in enumerate(cols):
        levels = drawn.layout.levels[c]
        middle = 0.5 * (levels[1:] + levels[:-1])
        edges[place, : middle.size] = (middle - columns.mean[c]) / columns.sd[c]
    counts = table.level_counts(cols, edges)
    thresholds = starting_thresholds(counts)
    for place, c in enumerate(cols):
        values, expected = np.unique(drawn.X[:, c], return_counts=True)
        assert counts[place, : values.size].tolist() == expected.tolist()
        assert not counts[place, values.size :].any()
        share = np.cumsum(expected)[:-1] / 400
        np.testing.assert_allclose(thresholds[place, 1 : values.size], np.log(share / (1 - share)))
        assert np.isposinf(thresholds[place, values.size :]).all() and np.isneginf(thresholds[place, 0])


def test_levels_that_nobody_has() -> None:
    thresholds = starting_thresholds(np.array([[0.0, 3.0, 0.0, 5.0, 0.0]]))[0]
    expected = [-np.inf, -np.inf, np.log(3 / 5), np.log(3 / 5), np.inf, np.inf]
    np.testing.assert_allclose(thresholds, expected)
    drawn = mixed(1, 200, "nonb")
    wider = list(drawn.layout.levels)
    wider[1] = np.array([-7.0, 1.0, 2.0, 2.5, 3.0, 4.0, 9.0])
    again = Mixed(drawn.X, drawn.y, Layout(drawn.layout.variable, tuple(wider)))
    for make in (ReferenceRaw, NumbaRaw):
        expected, found = (order(one, "plus", make) for one in (drawn, again))
        assert found.order.tolist() == expected.order.tolist()
        np.testing.assert_allclose(found.margins, expected.margins, atol=1e-12)


@given(seeds, st.integers(1, 4), st.integers(1, 4))
@quick
def test_whole_weights_equal_repeated_rows(seed: int, of_controls: int, of_cases: int) -> None:
    drawn = mixed(seed, 120, "nbonw")
    count = np.bincount(drawn.y, minlength=2)
    assume(count.min() > 10)
    repeated = np.repeat(np.arange(120), np.where(drawn.y == 1, of_cases, of_controls))
    weights = ClassWeights.of(of_cases * count[1] / repeated.size, count.astype(float))
    times = repeated.size / 120
    cols = np.arange(drawn.X.shape[1])
    discrete = np.flatnonzero(drawn.layout.discrete)
    mean, sd = drawn.X.mean(axis=0), drawn.X.std(axis=0)
    whole = NumbaRaw(drawn.X[repeated], drawn.y[repeated]).standardize(cols, mean, sd)
    parts = standardized(NumbaRaw(drawn.X, drawn.y), weights, cols, mean, sd)
    whole, parts = (with_levels(table, drawn.layout, mean, sd)[0] for table in (whole, parts))
    for _ in range(2):
        found, expected = (table.level_sums(discrete, cols) for table in (parts, whole))
        same_sums(np.float64(times) * found, expected, repeated.size)
        np.testing.assert_allclose(gains(found, 120), gains(expected, repeated.size), atol=1e-10)
        pairs = discrete, np.zeros_like(discrete), np.full(discrete.size, 0.1), np.full(discrete.size, -0.3)
        found_pairs, expected_pairs = (table.level_pair_sums(*pairs) for table in (parts, whole))
        np.testing.assert_allclose(times * found_pairs, expected_pairs, atol=1e-9 * repeated.size)
        step = newton_step(found, 120)
        whole, parts = (
            table.shift_levels(0, discrete, step[0][:, 0], step[1][:, 0]) for table in (whole, parts)
        )


# --- searches ---------------------------------------------------------------------------------------------


@given(seeds, kinds, st.sampled_from([None, 0.05, 0.4]), st.sampled_from([np.inf, 0]))
@quick
def test_pruned_search_finds_the_roots_of_exhaustive_search(
    seed: int, kinds: str, prevalence: float | None, worth_counting: float
) -> None:
    drawn = mixed(seed, 150, kinds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ordering_module, "PAIRS_NOT_WORTH_COUNTING", worth_counting)
        patch.setattr(search_module, "LEAST_CONTENDERS", 1)
        for pruned, exhaustive in (("plus", "original"), ("local_plus", "local")):
            slow = order(drawn, exhaustive, prevalence=prevalence)
            assume((slow.margins[slow.margins > 0] > 1e-9).all())
            fast = order(drawn, pruned, prevalence=prevalence)
            assert fast.order.tolist() == slow.order.tolist()
            assert fast.n_pairs <= slow.n_pairs
            np.testing.assert_allclose(fast.mixing, slow.mixing, atol=1e-10)


@given(seeds, kinds, st.sampled_from([None, 0.1]))
@quick
def test_tables_agree(seed: int, kinds: str, prevalence: float | None) -> None:
    drawn = mixed(seed, 150, kinds)
    for variant in ("plus", "local"):
        plain, *others = (
            order(drawn, variant, make, prevalence) for make in (ReferenceRaw, NumbaRaw, sharded(4))
        )
        assume((plain.margins[plain.margins > 0] > 1e-9).all())
        for other in others:
            assert other.order.tolist() == plain.order.tolist()
            np.testing.assert_allclose(other.mixing, plain.mixing, atol=1e-9)


@pytest.mark.parametrize("make", TABLES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_table_finds_the_order_of_the_plain_one(make: MakeTable, variant: str) -> None:
    for seed in range(3):
        drawn = mixed(seed, 700)
        for prevalence in (None, 0.1):
            found, plain = (order(drawn, variant, one, prevalence) for one in (make, ReferenceRaw))
            assert found.order.tolist() == plain.order.tolist()
            np.testing.assert_allclose(found.mixing, plain.mixing, atol=1e-9)
            if variant in ("original", "local"):
                np.testing.assert_allclose(found.margins, plain.margins, rtol=1e-6, atol=1e-9)


# --- variables of several columns -------------------------------------------------------------------------


@given(seeds, st.sampled_from(["wnnb", "nwwn", "wnwbnn"]), st.sampled_from(list(VARIANTS)))
@quick
def test_dummies_of_a_variable_follow_each_other(seed: int, kinds: str, variant: str) -> None:
    drawn = mixed(seed, 200, kinds)
    found = order(drawn, variant)
    variable = drawn.layout.variable
    for v in np.unique(variable[found.order]):
        places = np.flatnonzero(variable[found.order] == v)
        own = found.order[places]
        assert np.diff(places).tolist() == [1] * (places.size - 1)
        assert np.isposinf(found.margins[places[1:]]).all()
        assert own[1:].tolist() == sorted(own[1:])
        # All of it or nothing, but for what earlier roots explain.
        missing = np.setdiff1d(drawn.layout.columns_of(v), own)
        assert set(missing) <= set(found.exhausted)


def test_the_test_keeps_all_of_a_variable_or_nothing() -> None:
    variable = np.array([0, 1, 1, 1, 2, 2, 4])
    p_values = np.array([0.19, 0.9, 0.06, 0.5, 0.11, 0.3, 0.2])
    kept = passing(p_values, variable, 0.2)
    assert kept.tolist() == [True, True, True, True, False, False, False]
    alone = passing(p_values, np.arange(7), 0.2)
    np.testing.assert_array_equal(alone, p_values < 0.2)


def test_a_level_of_one_keeps_everything() -> None:
    # Three levels, none with a p-value below a third; a column that nothing is left of; one without a test.
    p_values = np.array([0.4, 0.9, 0.7, 1.0, np.nan])
    assert passing(p_values, np.array([0, 0, 0, 1, 2]), 1.0).all()
    assert not passing(p_values, np.array([0, 0, 0, 1, 2]), 0.999).any()


def test_the_test_of_every_round_is_of_whole_variables() -> None:
    for seed in range(8):
        drawn = mixed(seed, 300, "wnwnn", effect=0.5)
        found = order(drawn, "local_plus", alpha=0.1)
        for left in (found.adds_nothing, np.setdiff1d(np.arange(drawn.X.shape[1]), found.order)):
            for v in np.unique(drawn.layout.variable[left]):
                own = drawn.layout.columns_of(v)
                assert np.isin(own, left).all() or np.isin(own[~np.isin(own, left)], found.order).all()


# --- what it is good for, and what it must not touch -------------------------------------------------------


def pair(seed: int, number_first: bool, n: int = 1000) -> Mixed:
    """A skewed number and a binary or ordinal column, one of which causes the other."""
    rng = np.random.default_rng(seed)
    cuts = [0.0] if seed % 2 else [-1.0, 0.5, 1.5]
    if number_first:
        w = rng.chisquare(3, n) - 3
        level = np.searchsorted(cuts, 0.5 * w + rng.logistic(size=n))
    else:
        level = np.searchsorted(cuts, rng.logistic(size=n))
        w = 1.5 * level + rng.chisquare(3, n) - 3
    levels = np.arange(len(cuts) + 1.0)
    X = np.column_stack([level, w]).astype(float)
    return Mixed(X, np.arange(n) % 2, Layout(np.arange(2), (levels, NO_LEVELS)))


@pytest.mark.parametrize("number_first", [True, False])
def test_a_number_and_a_discrete_column_are_told_apart(number_first: bool) -> None:
    cohorts = [pair(seed, number_first) for seed in range(40)]
    as_numbers = [Mixed(one.X, one.y, Layout.numbers(2)) for one in cohorts]
    right, taken_for_numbers = (
        sum(order(one, "plus").order[0] == int(number_first) for one in several)
        for several in (cohorts, as_numbers)
    )
    assert right >= 38
    if number_first:
        assert taken_for_numbers < 25


def test_known_causes_are_taken_out_of_a_discrete_column() -> None:
    """w causes b and v; b and v are dependent, but not once w is known: then hardly any score is left."""
    rng = np.random.default_rng(0)
    n = 4000
    w = rng.chisquare(3, n) - 3
    b = (rng.random(n) < expit(w)).astype(float)
    v = w + rng.chisquare(3, n) - 3
    drawn = Mixed(
        np.column_stack([b, v, w]),
        np.arange(n) % 2,
        Layout(np.arange(3), (np.array([0.0, 1.0]), NO_LEVELS, NO_LEVELS)),
    )
    table = told(NumbaRaw, drawn)
    before = gains(table.level_sums(np.array([0]), np.array([1])), n)[0, 0]
    intercept, slope = (part[:, 0] for part in newton_step(table.level_sums(np.array([0]), np.array([2])), n))
    table = table.shift_levels(2, np.array([0]), intercept, slope).regress_out(2, np.array([0, 1]))
    after = gains(table.level_sums(np.array([0]), np.array([1])), n)[0, 0]
    assert after < 0.02 * before
    assert order(drawn, "plus").order[0] == 2


@pytest.mark.parametrize("variant", VARIANTS)
def test_numbers_are_ordered_as_ever(variant: str) -> None:
    cohort = simulate(400, 15, random_state=2)
    raw = NumbaRaw(cohort.X, cohort.y)
    for prevalence in (None, 0.1):
        columns = describe_columns(raw, prevalence)
        plain = order_columns(raw, columns, VARIANTS[variant], 0.2)
        found = order_columns(raw, columns, VARIANTS[variant], 0.2, layout=Layout.numbers(14))
        for name in ("order", "mixing", "margins", "exhausted", "adds_nothing", "n_pairs"):
            np.testing.assert_array_equal(getattr(found, name), getattr(plain, name))


def test_without_a_number_the_columns_stay_in_their_order() -> None:
    drawn = mixed(4, 200, "bowb")
    found = order(drawn, "plus")
    assert found.order.tolist() == list(range(6)) and found.n_pairs == 0
    assert found.margins.tolist() == [0.0, 0.0, 0.0, np.inf, np.inf, np.inf]


def test_separated_levels_stay_finite() -> None:
    rng = np.random.default_rng(1)
    w, other = rng.chisquare(3, (2, 300))
    X = np.column_stack([w > 2, np.digitize(w, [1, 2, 4]), w, other + w, rng.random(300) < 0.01]).astype(
        float
    )
    levels = (np.array([0.0, 1.0]), np.arange(4.0), NO_LEVELS, NO_LEVELS, np.array([0.0, 1.0]))
    drawn = Mixed(X, (rng.random(300) < expit(w - 3)).astype(int), Layout(np.arange(5), levels))
    for make in (ReferenceRaw, NumbaRaw):
        table = told(make, drawn)
        for _ in range(30):  # each step drives the predictors further out
            intercept, slope = newton_step(table.level_sums(np.array([0, 1, 4]), np.array([2])), 300)
            assert np.isfinite(intercept).all() and np.isfinite(slope).all()
            table = table.shift_levels(2, np.array([0, 1, 4]), intercept[:, 0], slope[:, 0])
        found = gains(table.level_sums(np.array([0, 1, 4]), np.array([2, 3])), 300)
        assert np.isfinite(found).all() and (found >= 0).all()
    assert LARGEST_PREDICTOR < 30  # where 1 − F is still above rounding
    for variant in VARIANTS:
        slow, fast = (order(drawn, variant, make) for make in (ReferenceRaw, NumbaRaw))
        assert np.isfinite(fast.mixing).all()
        assert fast.order.tolist() == slow.order.tolist()


@pytest.mark.parametrize("prevalence", [None, 0.1])
def test_a_model_is_learned_of_mixed_columns(prevalence: float | None) -> None:
    drawn = mixed(6, 500)
    models = []
    for make in (ReferenceRaw, NumbaRaw, sharded(3)):
        raw = make(drawn.X, drawn.y)
        chosen = Settings(VARIANTS["local_plus"], 0.2, ATTRIBUTIONS["sharp"], prevalence)
        models.append(learn(raw, describe_columns(raw, prevalence), chosen, layout=drawn.layout).model)
    shapley = [model.shapley(drawn.X) for model in models]
    assert np.isfinite(shapley[0]).all() and shapley[0].any()
    for other in shapley[1:]:
        np.testing.assert_allclose(other, shapley[0], atol=1e-7)
