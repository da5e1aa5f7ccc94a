"""Classes weighted back to the population: what repeating rows would give, on every table and search."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from case_control import study
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from labelled_rows import learn, order_columns
from tables_under_test import TABLES, MakeTable, sharded
from zoo import Animal
from zoo_fits import every_animal, finite

from rootcausal import RCI, InputError
from rootcausal.backends.cpu.loops import COMPILED
from rootcausal.backends.cpu.rows import NumbaRaw, NumbaTable
from rootcausal.backends.reference import ReferenceRaw, entropy_sums
from rootcausal.data import simulate
from rootcausal.estimators.parameters import chosen_settings
from rootcausal.method.attribution.ancestors import Traced
from rootcausal.method.loops import PLAIN, Loops
from rootcausal.method.model_parts import flattened
from rootcausal.method.moments import ClassMoments, describe_columns, welch_p_values
from rootcausal.method.ordering.ordering import VARIANTS, Ordering
from rootcausal.method.ordering.pair_score import entropy, pair_score
from rootcausal.method.pipeline import ATTRIBUTIONS, Learned, Settings
from rootcausal.method.table import F64
from rootcausal.method.weighted import ClassWeights, WeightedTable, standardized
from rootcausal.resampling import bootstrap as learning_module
from rootcausal.resampling import bootstrap as resample_module
from rootcausal.resampling.training_rows import TrainingRows

seeds = st.integers(0, 10_000)
shares = st.sampled_from([0.003, 0.02, 0.1, 0.3, 0.6, 0.9])
quick = settings(max_examples=20, deadline=None)


def order(
    X: np.ndarray,
    y: np.ndarray,
    variant: str,
    prevalence: float | None,
    make: MakeTable = NumbaRaw,
) -> Ordering:
    raw = make(X, y)
    return order_columns(raw, describe_columns(raw, prevalence), VARIANTS[variant], 0.2)


def learned(make: MakeTable, X: np.ndarray, y: np.ndarray, prevalence: float | None) -> Learned:
    raw = make(X, y)
    chosen = Settings(VARIANTS["local_plus"], 0.2, ATTRIBUTIONS["sharp"], prevalence)
    return learn(raw, describe_columns(raw, prevalence), chosen)


def row_weights(y: np.ndarray, prevalence: float) -> np.ndarray:
    share = y.mean()
    return np.where(y == 1, prevalence / share, (1.0 - prevalence) / (1.0 - share))


# --- weights and moments ----------------------------------------------------------------------------------


def test_weights_add_up_to_the_rows_and_the_prevalence() -> None:
    count = np.array([300.0, 100.0])
    weights = ClassWeights.of(0.02, count)
    assert weights.controls * 300 + weights.cases * 100 == pytest.approx(400)
    assert weights.cases * 100 / 400 == pytest.approx(0.02)
    squares = weights.controls**2 * 300 + weights.cases**2 * 100
    assert weights.effective_rows == pytest.approx(400**2 / squares)
    assert weights.log_odds == pytest.approx(np.log(0.02 / 0.98) - np.log(0.25 / 0.75))
    assert not weights.equal
    # As the disease gets rarer, the controls alone are the population.
    assert ClassWeights.of(1e-12, count).effective_rows == pytest.approx(300)


def test_the_sample_is_the_population_without_a_prevalence() -> None:
    for count in (np.array([300.0, 100.0]), np.array([400.0])):
        weights = ClassWeights.of(None, count)
        assert weights.equal and weights.effective_rows == 400 and weights.log_odds == 0.0


@pytest.mark.parametrize("make", TABLES)
def test_columns_are_described_as_in_the_population(make: MakeTable) -> None:
    drawn = study(0, 0.05)
    X = drawn.X * [1, 1e-6, 1e6, 1, 1, 1] + [0, 0, 0, 1e7, 0, 0]
    columns = describe_columns(make(X, drawn.y), 0.05)
    w = row_weights(drawn.y, 0.05)
    mean = np.average(X, axis=0, weights=w)
    sd = np.sqrt(w @ (X - mean) ** 2 / (len(X) - 1))
    np.testing.assert_allclose(columns.mean, mean, rtol=1e-9)
    np.testing.assert_allclose(columns.sd, sd, rtol=1e-9)
    for c in (0, 1):
        z = X[drawn.y == c] - mean
        atol = 1e-9 * np.abs(z).sum(axis=0).max()
        np.testing.assert_allclose(columns.moments.total[c], z.sum(axis=0), rtol=1e-7, atol=atol)
        np.testing.assert_allclose(columns.moments.square[c], (z * z).sum(axis=0), rtol=1e-7)
    # Weights say nothing of how sure the difference between the classes is.
    expected = scipy.stats.ttest_ind(X[drawn.y == 1], X[drawn.y == 0], equal_var=False).pvalue
    np.testing.assert_allclose(welch_p_values(columns.moments), expected, rtol=1e-6)


@pytest.mark.parametrize("loops", [PLAIN, COMPILED], ids=["plain", "compiled"])
def test_class_moments_give_welch_of_the_weighted_residuals(loops: Loops) -> None:
    drawn = study(3, 0.1, p=8)
    y, w = drawn.y, row_weights(drawn.y, 0.1)
    n = len(y)
    columns = describe_columns(ReferenceRaw(drawn.X, y), 0.1)
    Z = (drawn.X - columns.mean) / columns.sd
    case_total, case_gram = w[y == 1] @ Z[y == 1], (Z[y == 1].T * w[y == 1]) @ Z[y == 1]
    count = columns.moments.count
    moments = ClassMoments(count, columns.weights, case_total, case_gram, loops.class_test)
    for root, rest in ((0, [1, 2, 3, 4, 5, 6, 7]), (5, [2, 6, 7]), (7, [2, 6])):
        slope = (Z.T * w) @ Z[:, root] / (w @ Z[:, root] ** 2)
        Z = Z - np.outer(Z[:, root], slope)
        found = moments.p_values(root, slope, np.array(rest), w @ Z[:, rest] ** 2 / (n - 1))
        expected = scipy.stats.ttest_ind(Z[y == 1][:, rest], Z[y == 0][:, rest], equal_var=False).pvalue
        np.testing.assert_allclose(found, expected, rtol=1e-7)


# --- sums -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", TABLES)
def test_sums_are_those_of_weighted_rows(make: MakeTable) -> None:
    drawn = study(1, 0.02)
    y, w = drawn.y, row_weights(drawn.y, 0.02)
    n, p = drawn.X.shape
    raw = make(drawn.X, y)
    columns = describe_columns(raw, 0.02)
    everyone = np.arange(p)
    table = standardized(raw, columns.weights, everyone, columns.mean, columns.sd)
    assert isinstance(table, WeightedTable) and table.shape == (n, p)
    Z = (drawn.X - columns.mean) / columns.sd
    by_class = [(Z[y == c].T * w[y == c]) @ Z[y == c] for c in (0, 1)]
    np.testing.assert_allclose(table.gram(), by_class, atol=1e-9)
    np.testing.assert_allclose(table.column_sums(), weighted_entropy_sums(Z, w), atol=1e-9)
    r = sum(by_class) / (n - 1)
    np.testing.assert_allclose(np.diagonal(r), 1.0)
    table = table.with_correlations(r)
    for root, rest in ((None, everyone), (2, np.delete(everyone, 2))):
        if root is not None:
            table = table.regress_out(root, rest)
            Z = Z.copy()
            Z[:, rest] = (Z[:, rest] - r[root, rest] * Z[:, [root]]) / np.sqrt(1 - r[root, rest] ** 2)
            r = (Z.T * w) @ Z / (n - 1)
        np.testing.assert_allclose(table.correlations(int(rest[0]))[rest], r[rest[0], rest], atol=1e-10)
        i, j = rest[:-1], rest[1:]
        scale = 1 / np.sqrt(1 - r[i, j] ** 2)
        expected = [
            weighted_entropy_sums((Z[:, a] - r[a, b] * Z[:, b]) * scale, w) for a, b in ((i, j), (j, i))
        ]
        np.testing.assert_allclose(table.pair_sums(i, j), np.stack(expected, axis=1), atol=1e-9)
        block = table.to_host(table.leading_pair_sums(rest, 2))
        np.testing.assert_allclose(block[0, :, 0, 1], table.pair_sums(i[:1], j[:1])[0, 0], atol=1e-9)


@pytest.mark.parametrize("make", TABLES)
def test_the_labels_likelihood_is_that_of_the_sample(make: MakeTable) -> None:
    drawn = study(2, 0.02)
    raw = make(drawn.X, drawn.y)
    columns = describe_columns(raw, 0.02)
    args = np.arange(6), columns.mean, columns.sd
    cols, beta = np.array([4, 0]), np.array([0.3, -2.0, 0.1])
    found = standardized(raw, columns.weights, *args).logit_sums(cols, beta)
    expected = ReferenceRaw(drawn.X, drawn.y).standardize(*args).logit_sums(cols, beta)
    assert found.loglik == pytest.approx(expected.loglik, rel=1e-12)
    np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.hessian, expected.hessian, rtol=1e-9, atol=1e-9)


def weighted_entropy_sums(u: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Row by row: (k, 2)."""
    return sum(weight * entropy_sums(row[None]) for row, weight in zip(u, w, strict=True))


# --- weights in the ratio of whole numbers are repeated rows ----------------------------------------------


@given(seeds, st.integers(1, 4), st.integers(1, 4), st.integers(3, 7))
@quick
def test_whole_weights_equal_repeated_rows(seed: int, of_controls: int, of_cases: int, p: int) -> None:
    """But for n − 1: repeated rows are more rows, so their standard deviation divides by more.

    All else is equal, so the twin below takes the standard deviation of the study and plain means of the
    repeated rows.
    """
    drawn = study(seed, 0.1, n_cases=60, n_controls=90, p=p)
    times = np.where(drawn.y == 1, of_cases, of_controls)
    repeated = np.repeat(drawn.X, times, axis=0)
    found = order(drawn.X, drawn.y, "plus", 60 * of_cases / len(repeated))
    expected_order, margin = plainly_ordered(repeated, n=len(drawn.X))
    assume(margin > 1e-9)  # summation order may decide a near tie
    assert found.order.tolist() == expected_order
    inside = repeated[:, found.order]
    np.testing.assert_allclose(found.mean, inside.mean(axis=0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.sd, inside.std(axis=0) * np.sqrt(150 / 149), rtol=1e-9)
    correlation = np.corrcoef(inside, rowvar=False)
    np.testing.assert_allclose(found.mixing, np.linalg.cholesky(correlation), atol=1e-9)


def plainly_ordered(X: np.ndarray, n: int) -> tuple[list[int], float]:
    """Direct LiNGAM as the paper has it, by means over rows; the order, and the least margin of a root."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    left, found, least = list(range(X.shape[1])), [], np.inf
    while len(left) > 1:
        scores = np.array([[plain_score(Z[:, a], Z[:, b], n) if a != b else 0.0 for b in left] for a in left])
        penalty = (np.minimum(scores, 0.0) ** 2).sum(axis=1)
        least = min(least, float(np.diff(np.sort(penalty)[:2])[0]))
        root = left.pop(int(penalty.argmin()))
        found.append(root)
        for other in left:
            Z[:, other] = plain_residual(Z[:, other], Z[:, root])
    return found + left, least


def plain_residual(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    residual = a - (a @ b / (b @ b)) * b
    return residual / residual.std()


def plain_score(a: np.ndarray, b: np.ndarray, n: int) -> float:
    shrink = np.sqrt((n - 1) / n)  # from a variance of one with ddof = 0 to one with ddof = 1
    u = shrink * np.column_stack([a, b, plain_residual(a, b), plain_residual(b, a)])
    return float(pair_score(*entropy(*entropy_sums(u).T, len(u))))


# --- the order --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [ReferenceRaw, NumbaRaw, sharded(3)], ids=["numpy", "numba", "sharded"])
@pytest.mark.parametrize("attribution", ["sharp", "paper"])
def test_the_share_of_the_sample_changes_nothing(make: MakeTable, attribution: str) -> None:
    for seed in range(3):
        drawn = study(seed, 0.05, n_cases=157, n_controls=251, p=9)
        chosen = Settings(VARIANTS["local_plus"], 0.2, ATTRIBUTIONS[attribution])
        raw = make(drawn.X, drawn.y)
        expected = learn(raw, describe_columns(raw), chosen)
        # A hair beside it, so that rows are in fact taken by class.
        share = float(drawn.y.mean()) * (1 + 1e-14)
        columns = describe_columns(raw, share)
        assert not columns.weights.equal
        found = learn(raw, columns, replace(chosen, prevalence=share))
        assert found.ordering.order.tolist() == expected.ordering.order.tolist()
        np.testing.assert_allclose(found.ordering.mixing, expected.ordering.mixing, atol=1e-12)
        for name, numbers in flattened([expected.model.attribution], all_of_it=True).items():
            again = flattened([found.model.attribution], all_of_it=True)[name]
            np.testing.assert_allclose(again, numbers, rtol=1e-12, atol=1e-12)
        if attribution == "sharp":
            np.testing.assert_allclose(found.ancestor_probability, expected.ancestor_probability, atol=1e-12)


@given(seeds, shares, st.integers(3, 12))
@quick
def test_pruned_search_finds_the_roots_of_exhaustive_search(seed: int, share: float, p: int) -> None:
    cohort = simulate(150, p, random_state=seed)
    for pruned, exhaustive in (("plus", "original"), ("local_plus", "local")):
        fast, slow = (order(cohort.X, cohort.y, variant, share) for variant in (pruned, exhaustive))
        np.testing.assert_array_equal(fast.order, slow.order)
        assert fast.n_pairs <= slow.n_pairs


@given(seeds, shares)
@quick
def test_tables_agree(seed: int, share: float) -> None:
    drawn = study(seed, 0.1, p=8)
    models = [learned(make, drawn.X, drawn.y, share) for make in (ReferenceRaw, NumbaRaw, sharded(4))]
    assume(models[0].ordering.margins.min(initial=np.inf) > 1e-9)  # summation may decide a near tie
    for model in models[1:]:
        assert model.ordering.order.tolist() == models[0].ordering.order.tolist()
        np.testing.assert_allclose(model.ordering.mixing, models[0].ordering.mixing, atol=1e-9)
        for name, numbers in flattened([models[0].model.attribution], all_of_it=True).items():
            again = flattened([model.model.attribution], all_of_it=True)[name]
            np.testing.assert_allclose(again, numbers, rtol=1e-9, atol=1e-9)


@given(seeds, shares)
@quick
def test_every_screen_is_welch_of_what_the_roots_leave(seed: int, share: float) -> None:
    cohort = simulate(200, 12, random_state=seed)
    X, y, w = cohort.X, cohort.y, row_weights(cohort.y, share)
    found = order(X, y, "local", share)
    Z = X - np.average(X, axis=0, weights=w)
    left = np.arange(X.shape[1])
    for roots in range(found.order.size + 1):
        known = Z[:, found.order[:roots]]
        slopes = np.linalg.lstsq(known * np.sqrt(w)[:, None], Z * np.sqrt(w)[:, None], rcond=None)[0]
        rest = Z - known @ slopes
        left = np.setdiff1d(left, found.order[:roots])
        p_values = scipy.stats.ttest_ind(rest[y == 1], rest[y == 0], equal_var=False).pvalue[left]
        assume((np.abs(p_values - 0.2) > 1e-9).all())
        left = left[p_values < 0.2]
        assert set(found.order[roots : roots + 1]) <= set(left)
    assert not left.size


def test_errors_have_unit_variance_and_no_correlation_in_the_population() -> None:
    drawn = study(4, 0.02)
    found = order(drawn.X, drawn.y, "plus", 0.02)
    errors = (drawn.X[:, found.order] - found.mean) / found.sd @ found.unmixing
    w = row_weights(drawn.y, 0.02)
    np.testing.assert_allclose((errors.T * w) @ errors / (len(w) - 1), np.eye(6), atol=1e-9)


def test_selection_by_the_disease_does_not_pass_for_a_mechanism() -> None:
    """Two independent causes of a rare disease go together among cases and controls taken half and half."""
    drawn = study(2, 0.01, n_cases=1500, n_controls=1500)
    truth = np.corrcoef(drawn.population, rowvar=False)
    off = {}
    for prevalence in (None, 0.01):
        found = order(drawn.X, drawn.y, "plus", prevalence)
        off[prevalence] = np.abs(
            found.mixing @ found.mixing.T - truth[np.ix_(found.order, found.order)]
        ).max()
    assert off[0.01] < 0.25 * off[None]


# --- risks ------------------------------------------------------------------------------------------------


def test_the_likelihood_of_all_columns_moves_by_the_intercept_alone() -> None:
    drawn = study(6, 0.02, effect=0.5)
    sample, population = (
        RCI(variant="plus", attribution="paper", prevalence=prevalence).fit(drawn.X, drawn.y)
        for prevalence in (None, 0.02)
    )
    share = drawn.y.mean()
    shift = np.log(0.02 / 0.98) - np.log(share / (1 - share))
    moved = population.decision_function(drawn.X) - sample.decision_function(drawn.X)
    np.testing.assert_allclose(moved, shift, atol=1e-6)


@pytest.mark.parametrize("attribution", ["sharp", "paper"])
@pytest.mark.parametrize("prevalence", [0.02, 0.1, 0.25])
def test_mean_risk_is_the_prevalence(prevalence: float, attribution: str) -> None:
    drawn = study(7, prevalence, n_cases=1000, n_controls=1000)
    model = RCI(prevalence=prevalence, attribution=attribution, mechanism="linear").fit(drawn.X, drawn.y)
    rows = np.average(model.predict_proba(drawn.X)[:, 1], weights=row_weights(drawn.y, prevalence))
    assert rows == pytest.approx(prevalence, rel=0.1)
    assert model.predict_proba(drawn.population)[:, 1].mean() == pytest.approx(prevalence, rel=0.1)
    assert model.intercept_ == model.explain(drawn.X[:3]).base_value


def test_where_nobody_matters_the_risk_is_the_prevalence() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(400, 3)), np.arange(400) % 2
    for attribution in ("sharp", "paper"):
        with pytest.warns(UserWarning, match="the outcome depends on no variable"):
            model = RCI(alpha=1e-6, attribution=attribution, prevalence=0.03).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], 0.03, rtol=1e-9)


def test_paths_are_as_sure_as_the_effective_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    told = []

    def trace_back(mixing: F64, n_rows: float, inclusion: F64, n_first: int) -> Traced:
        told.append(n_rows)
        return COMPILED.trace_back(mixing, n_rows, inclusion, n_first)

    monkeypatch.setattr(NumbaTable, "loops", COMPILED._replace(trace_back=trace_back))
    drawn = study(8, 0.02)
    for prevalence in (None, 0.02):
        RCI(prevalence=prevalence, mechanism="linear").fit(drawn.X, drawn.y)
    w = row_weights(drawn.y, 0.02)
    assert told[0] == 400
    assert told[1] == pytest.approx(w.sum() ** 2 / (w @ w))
    assert told[1] < 300


# --- resamples --------------------------------------------------------------------------------------------


def test_resamples_have_the_cases_and_controls_of_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = study(9, 0.02, n_cases=40, n_controls=110)
    counts: dict[float | None, list[list[int]]] = {None: [], 0.02: []}
    choose = learning_module.whole_rows
    for prevalence, seen in counts.items():

        def counting(*asked: Any, seen: list[list[int]] = seen) -> object:
            seen.append(np.bincount(asked[2]).tolist())
            return choose(*asked)

        model = RCI(prevalence=prevalence, mechanism="linear").fit(drawn.X, drawn.y)
        with monkeypatch.context() as patch:
            patch.setattr(learning_module, "whole_rows", counting)
            model.bootstrap(6)
    assert counts[0.02] == [[110, 40]] * 6
    assert len({tuple(count) for count in counts[None]}) > 1


def test_resamples_by_class_are_drawn_with_replacement_and_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    y = np.array([0, 1, 0, 0, 1, 1, 0, 0] * 20)
    drawn = [resample_module._draw_by_class(y, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])
    assert np.bincount(y[drawn[0]]).tolist() == np.bincount(y).tolist()
    assert 80 < np.unique(drawn[0]).size < 125
    study_ = study(10, 0.05, n_cases=40, n_controls=60)
    model = RCI(prevalence=0.05, mechanism="linear").fit(study_.X, study_.y).bootstrap(4)
    monkeypatch.setattr(resample_module, "TRIED_HERE", 0)  # both in workers
    fewer = RCI(prevalence=0.05, mechanism="linear").fit(study_.X, study_.y).bootstrap(2, n_jobs=2)
    for one, again in zip(fewer.bootstrap_.models, model.bootstrap_.models, strict=False):
        np.testing.assert_array_equal(one.attribution.coef, again.attribution.coef)
        assert one.base_value == again.base_value


def test_resamples_of_another_prevalence_do_not_belong() -> None:
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1] * 3, dtype=np.int64)
    found = {
        TrainingRows(X, y, chosen_settings("local_plus", 0.2, "sharp", share), "auto").fingerprint(7)
        for share in (None, 0.02, 0.03)
    }
    assert len(found) == 3
    # The one without is that of resamples of before.
    assert "2af6a00bce5dbcd2b14473a3b658487ddea004a4968d3e4f89de9c29a18bf675" in found


# --- what users give --------------------------------------------------------------------------------------


@pytest.mark.parametrize("prevalence", [0, 1, 0.0, 1.0, -0.1, 2, np.nan, np.inf, True, "0.1", [0.1]])
def test_a_prevalence_is_a_share(prevalence: object) -> None:
    cohort = simulate(50, 4, random_state=0)
    with pytest.raises(InputError, match="prevalence must be between 0 and 1, the share of the population"):
        RCI(prevalence=prevalence).fit(cohort.X, cohort.y)


def test_columns_and_settings_are_of_one_prevalence() -> None:
    cohort = simulate(50, 4, random_state=0)
    raw = NumbaRaw(cohort.X, cohort.y)
    chosen = Settings(VARIANTS["plus"], 0.2, ATTRIBUTIONS["paper"], 0.1)
    with pytest.raises(AssertionError, match="another prevalence"):
        learn(raw, describe_columns(raw), chosen)


def test_copies_are_found_whatever_the_classes_weigh() -> None:
    drawn = study(11, 0.01)
    X = np.column_stack([drawn.X, 3.0 - 2.0 * drawn.X[:, 1]])
    with pytest.raises(InputError, match="'x1' and 'x6' are copies"):
        RCI(prevalence=0.01).fit(X, drawn.y)


@every_animal
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_zoo_with_a_prevalence(animal: Animal) -> None:
    plain, fast = (
        RCI(prevalence=0.1, backend=name, mechanism="linear").fit(animal.X, animal.y)
        for name in ("numpy", "numba")
    )
    assert finite(
        plain.coef_, plain.intercept_, plain.shapley_values(animal.X), plain._model.mechanism.mixing
    )
    assert fast.causal_order_.tolist() == plain.causal_order_.tolist()
    assert fast.coef_ == pytest.approx(plain.coef_, rel=1e-6, abs=1e-9)
    assert fast.intercept_ == pytest.approx(plain.intercept_, rel=1e-6, abs=1e-9)
