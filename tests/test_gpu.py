"""The GPU gives the causal orders of the CPU; run with ``make test-gpu`` where there is one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from design_doors import designs, table
from graded_tables import graded, with_holes
from labelled_rows import order_columns
from mixed_tables import mixed

from rootcausal import RCI, DirectLiNGAM, InputError, RCIRegressor, RCISurvival
from rootcausal.backends.cpu.rows import NumbaRaw
from rootcausal.backends.reference import ReferenceRaw
from rootcausal.data import simulate
from rootcausal.method.layout import Layout
from rootcausal.method.moments import describe_columns
from rootcausal.method.ordering import ordering as ordering_module
from rootcausal.method.ordering.ordering import VARIANTS
from rootcausal.method.ordering.precedence import Precedence
from rootcausal.outcomes.continuous import Continuous
from rootcausal.outcomes.survival import Survival

pytestmark = pytest.mark.gpu

# Rows and columns (with D) of all kinds: odd, even, fewer rows than columns, one row past a block.
SHAPES = [(50, 3), (100, 10), (101, 25), (257, 40), (300, 61), (1000, 10), (1001, 50), (2049, 33), (5000, 15)]
SHAPES += [(20_000, 8), (120, 100)]
CASES = [(n, p, seed) for n, p in SHAPES for seed in (0, 1, 2)]


@pytest.mark.parametrize(("n", "p", "seed"), CASES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_same_order_and_values_as_the_cpu(n: int, p: int, seed: int) -> None:
    cohort = simulate(n, p, random_state=seed)
    for variant in ("original", "plus", "local", "local_plus"):
        gpu = RCI(variant=variant, backend="cupy").fit(cohort.X, cohort.y)
        cpu = RCI(variant=variant, backend="numba").fit(cohort.X, cohort.y)
        np.testing.assert_array_equal(gpu.causal_order_, cpu.causal_order_)
        np.testing.assert_allclose(gpu.coef_, cpu.coef_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("n", "p", "seed"), CASES)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_same_order_and_values_as_the_cpu_with_a_prevalence(n: int, p: int, seed: int) -> None:
    cohort = simulate(n, p, random_state=seed)
    for variant in ("original", "plus", "local", "local_plus"):
        gpu = RCI(variant=variant, backend="cupy", prevalence=0.05).fit(cohort.X, cohort.y)
        cpu = RCI(variant=variant, backend="numba", prevalence=0.05).fit(cohort.X, cohort.y)
        np.testing.assert_array_equal(gpu.causal_order_, cpu.causal_order_)
        np.testing.assert_allclose(gpu.coef_, cpu.coef_, rtol=1e-6, atol=1e-8)
        assert gpu.intercept_ == pytest.approx(cpu.intercept_, rel=1e-6)


def test_the_share_of_the_sample_changes_nothing_on_the_gpu() -> None:
    cohort = simulate(1001, 30, random_state=4)
    share = float(cohort.y.mean()) * (1 + 1e-14)  # a hair beside it, so that rows are taken by class
    for variant in ("plus", "local_plus"):
        sample, population = (
            RCI(variant=variant, backend="cupy", prevalence=prevalence).fit(cohort.X, cohort.y)
            for prevalence in (None, share)
        )
        np.testing.assert_array_equal(population.causal_order_, sample.causal_order_)
        np.testing.assert_allclose(population.coef_, sample.coef_, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("n", [257, 1001, 20_000])
@pytest.mark.parametrize("pairs_worth_counting", [1000, np.inf])
def test_same_order_as_the_cpu_with_discrete_columns(
    n: int, pairs_worth_counting: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rootcausal.backends.cuda.rows import CupyRaw

    monkeypatch.setattr(ordering_module, "PAIRS_NOT_WORTH_COUNTING", pairs_worth_counting)
    for seed in range(3):
        drawn = mixed(seed, n, "nbnonbwnnobwnnbnonwb")
        for variant in VARIANTS.values():
            for prevalence in (None, 0.05):
                gpu, cpu = (
                    order_columns(raw, describe_columns(raw, prevalence), variant, 0.2, layout=drawn.layout)
                    for raw in (CupyRaw(drawn.X, drawn.y), NumbaRaw(drawn.X, drawn.y))
                )
                np.testing.assert_array_equal(gpu.order, cpu.order)
                np.testing.assert_allclose(gpu.mixing, cpu.mixing, atol=1e-9)


@pytest.mark.parametrize("n", [7, 257, 20_000])
@pytest.mark.parametrize("values_a_strip", [1 << 10, 1 << 25])
def test_the_sums_of_every_loss_are_those_of_plain_numpy(
    n: int, values_a_strip: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rootcausal.backends.cuda import rows as cupy_gpu

    monkeypatch.setattr(cupy_gpu, "VALUES_A_STRIP", values_a_strip)
    X, followed, survival = graded(Survival, n, 5, 0)
    _, values, number = graded(Continuous, n, 5, 0)
    assert isinstance(survival, Survival)
    hazards = np.log(survival.clock.null_hazards)
    outcomes = {
        "logit_sums": (np.arange(n) % 2, np.array([0.1])),
        "square_sums": (number.rows(values), np.array([0.1])),
        "hazard_sums": (survival.rows(followed), hazards + 0.2 * np.cos(np.arange(hazards.size))),
    }
    mean, sd = X.mean(axis=0), X.std(axis=0)
    for method, (y, baseline) in outcomes.items():
        raws = cupy_gpu.CupyRaw(X, y), ReferenceRaw(X, y)
        gpu, cpu = (raw.standardize(np.arange(5), mean, sd) for raw in raws)
        for cols in (np.array([3, 0, 4]), np.empty(0, dtype=np.intp)):
            beta = np.append([0.4, -0.7, 0.2][: cols.size], baseline)
            found, expected = (getattr(table, method)(cols, beta) for table in (gpu, cpu))
            np.testing.assert_allclose(found.loglik, expected.loglik, rtol=1e-11)
            np.testing.assert_allclose(found.gradient, expected.gradient, rtol=1e-9, atol=1e-10 * n)
            np.testing.assert_allclose(found.hessian, expected.hessian, rtol=1e-9, atol=1e-10 * n)
        shift = 0.9 * mean
        moments, plain = (raw.column_moments(shift) for raw in raws)
        assert (moments.score is None) == (plain.score is None)
        if moments.score is not None:
            size = float(np.abs(X - shift).sum())
            np.testing.assert_allclose(moments.score, plain.score, rtol=1e-9, atol=1e-11 * size)
        np.testing.assert_allclose(gpu.gram(), cpu.gram(), atol=1e-11 * n)
        np.testing.assert_allclose(
            raws[0].gram(np.arange(5), mean, sd), raws[1].gram(np.arange(5), mean, sd), atol=1e-11 * n
        )


def check_graded_fits(fit: Any, variants: tuple[str, ...]) -> None:
    """``fit(variant, attribution, backend)`` gives the same on the GPU as by compiled loops."""
    for variant in variants:
        for attribution in ("sharp", "paper"):
            gpu, cpu = (fit(variant, attribution, backend) for backend in ("cupy", "numba"))
            assert gpu.provenance_["backend"] == "cupy"
            np.testing.assert_array_equal(gpu.causal_order_, cpu.causal_order_)
            # Where passes end at their limit, which both say, the last one depends on the last digits.
            assert gpu.provenance_["converged"] == cpu.provenance_["converged"]
            if not cpu.provenance_["converged"]:
                continue
            np.testing.assert_allclose(gpu.coef_, cpu.coef_, rtol=1e-6, atol=1e-8)
            assert gpu.intercept_ == pytest.approx(cpu.intercept_, rel=1e-6, abs=1e-9)
            if gpu.ancestor_probability_ is not None:
                np.testing.assert_allclose(
                    gpu.ancestor_probability_, cpu.ancestor_probability_, rtol=1e-6, atol=1e-8
                )


@pytest.mark.parametrize(("n", "p"), [(101, 9), (300, 30), (1001, 12), (20_000, 7)])
@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holed"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_same_survival_as_the_cpu(n: int, p: int, holes: bool) -> None:
    X, known, _ = graded(Survival, n, p, 1)
    X = with_holes(X, 1) if holes else X

    def fit(variant: str, attribution: str, backend: str) -> RCISurvival:
        model = RCISurvival(variant=variant, attribution=attribution, backend=backend)
        return model.fit(X, known[:, 0], known[:, 1])

    check_graded_fits(fit, ("local_plus",) if holes else ("original", "plus", "local", "local_plus"))
    gpu, cpu = (fit("local_plus", "sharp", backend) for backend in ("cupy", "numba"))
    settled = cpu.provenance_["converged"]
    np.testing.assert_allclose(gpu._hazard.cumulative, cpu._hazard.cumulative, rtol=1e-6 if settled else 0.1)


@pytest.mark.parametrize(("n", "p"), [(101, 9), (300, 30), (1001, 12), (20_000, 7)])
@pytest.mark.parametrize("holes", [False, True], ids=["complete", "holed"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_same_number_as_the_cpu(n: int, p: int, holes: bool) -> None:
    X, values, _ = graded(Continuous, n, p, 2)
    X = with_holes(X, 2) if holes else X

    def fit(variant: str, attribution: str, backend: str) -> RCIRegressor:
        return RCIRegressor(variant=variant, attribution=attribution, backend=backend).fit(X, values)

    check_graded_fits(fit, ("local_plus",) if holes else ("original", "plus", "local", "local_plus"))


@pytest.mark.parametrize(("n", "p"), [(120, 60), (300, 150), (1001, 90), (20_000, 40)])
@pytest.mark.parametrize("capacity", [70, 1 << 22], ids=["no room", "room"])
@pytest.mark.parametrize("tiers", [False, True], ids=["nothing known", "tiers"])
def test_accounts_on_the_card_lose_no_root(
    n: int, p: int, capacity: int, tiers: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where pairs are chosen in every round, some do not fit into a call, and columns join later."""
    from rootcausal.backends.cuda import search as card_search
    from rootcausal.backends.cuda.rows import CupyRaw

    monkeypatch.setattr(card_search, "NOT_WORTH_CHOOSING", 0.0)
    monkeypatch.setattr(card_search, "CAPACITY", capacity)
    monkeypatch.setattr(card_search, "PAIRS_A_SQUARE", 7 * p)
    X = simulate(n, p + 1, random_state=p).X
    layout = Layout.numbers(p)
    if tiers:
        layout = layout.knowing(Precedence.of(2 + np.arange(p) % 3, []))
    found = []
    for kind, variant in ((CupyRaw, "plus"), (CupyRaw, "plus"), (NumbaRaw, "original")):
        raw = kind(X, None)
        found.append(order_columns(raw, describe_columns(raw), VARIANTS[variant], 1.0, layout=layout))
    card, again, exhaustive = found
    np.testing.assert_array_equal(card.order, exhaustive.order)
    np.testing.assert_array_equal(again.order, card.order)
    assert (card.margins <= exhaustive.margins * (1 + 1e-6) + 1e-9).all()
    assert card.n_pairs < exhaustive.n_pairs or tiers
    if capacity > p * p:
        np.testing.assert_array_equal(again.margins, card.margins)
        assert again.n_pairs == card.n_pairs


def test_direct_lingam_on_the_gpu() -> None:
    X = simulate(2000, 20, random_state=3).X
    gpu, cpu = (DirectLiNGAM(backend=backend).fit(X) for backend in ("cupy", "numba"))
    np.testing.assert_array_equal(gpu.causal_order_, cpu.causal_order_)
    np.testing.assert_allclose(gpu.adjacency_matrix_, cpu.adjacency_matrix_, atol=1e-9)


def test_quantiles_on_the_card_are_those_in_memory() -> None:
    cohort = simulate(1001, 30, random_state=2)
    X = np.round(cohort.X, 1)
    gpu, cpu = (RCI(mechanism="linear", backend=backend).fit(X, cohort.y) for backend in ("cupy", "numba"))
    assert gpu._quantiles is not None and cpu._quantiles is not None
    np.testing.assert_array_equal(gpu._quantiles.values, cpu._quantiles.values)
    np.testing.assert_allclose(gpu._quantiles.errors, cpu._quantiles.errors, rtol=1e-8, atol=1e-10)


def test_a_table_larger_than_the_card_is_refused_with_its_size() -> None:
    from rootcausal.backends.cuda.rows import CupyRaw

    # A view of one row: as large as the card believes, without the memory.
    X = np.broadcast_to(np.zeros((1, 1000)), (100_000_000, 1000))
    with pytest.raises(
        InputError, match=r"100,000,000 rows and 1,000 columns needs 14\d\d\.\d GiB of GPU memory"
    ):
        CupyRaw(X, None)


def test_auto_takes_the_gpu_for_large_work_only() -> None:
    small, large = simulate(200, 10, random_state=0), simulate(2000, 800, random_state=0)
    assert RCI().fit(small.X, small.y).provenance_["backend"] == "numba"
    assert RCI().fit(large.X, large.y).provenance_["backend"] == "cupy"


@pytest.mark.parametrize("name", sorted(designs()))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_design_is_learned_as_on_the_cpu(name: str) -> None:
    design = designs()[name]
    gpu, cpu = (
        design.made(backend=backend).fit(table(), *design.outcome, **design.beside)
        for backend in ("cupy", "numba")
    )
    np.testing.assert_array_equal(gpu.causal_order_, cpu.causal_order_)
    np.testing.assert_allclose(gpu.coef_, cpu.coef_, rtol=1e-6, atol=1e-8)
