"""The CPU table: the kernel, the peer (lingam) on the same data in one process, and the paper's sizes.

``make bench`` runs it. Times are the best of several runs; the peer's, which takes minutes, of one.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numba
import numpy as np
from measure import best_of, machine, table
from paper_search import as_the_paper_orders

from rootcausal import RCI, DirectLiNGAM
from rootcausal.backends.cpu import rows as numba_cpu
from rootcausal.backends.cpu.rows import NumbaRaw, NumbaTable
from rootcausal.data import load_pbc, simulate
from rootcausal.method.moments import describe_columns
from rootcausal.method.ordering.ordering import VARIANTS, Ordering, order_columns
from rootcausal.method.table import F64, Index
from rootcausal.outcomes.binary import Binary


def standardized(X: np.ndarray) -> NumbaTable:
    raw = NumbaRaw(X, None)
    columns = describe_columns(raw)
    z = raw.standardize(np.arange(X.shape[1]), columns.mean, columns.sd)
    return z.with_correlations(z.gram().sum(axis=0) / (X.shape[0] - 1))


def kernel_rate(n: int, threads: int) -> float:
    """Residuals a second over all pairs of 60 columns."""
    z = standardized(np.random.default_rng(0).standard_t(5, (n, 60)))
    i, j = np.triu_indices(60, 1)
    numba.set_num_threads(threads)
    seconds, _ = best_of(100 if n <= 10_000 else 15, lambda: z.pair_sums(i, j))
    numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    return 2 * n * i.size / seconds


def order(X: np.ndarray, y: np.ndarray, variant: str) -> Ordering:
    raw = NumbaRaw(X, y)
    columns = describe_columns(raw)
    outcome = Binary.of_moments(columns.moments)
    return order_columns(raw, columns, VARIANTS[variant], 0.2, outcome=outcome)


def kernels() -> tuple[str, float]:
    rows = []
    threads = numba.config.NUMBA_NUM_THREADS
    for n in (1000, 10_000, 100_000):
        one, all_ = kernel_rate(n, 1), kernel_rate(n, threads)
        rows.append([f"{n:,}", f"{one / 1e9:.3f}", f"{all_ / 1e9:.3f}", f"{all_ / one:.2f}"])
    head = ["rows", "10⁹ residuals/s, one thread", f"{threads} threads", "ratio"]
    return table(head, rows), float(rows[0][2]) * 1e9


class PeerScaleRaw(NumbaRaw):
    """Columns standardized as lingam does, with ddof = 0: entropies, and so near ties, depend on it."""

    def standardize(self, cols: Index, mean: F64, sd: F64) -> PeerScaleTable:
        n = self.shape[0]
        return PeerScaleTable(super().standardize(cols, mean, sd * np.sqrt((n - 1) / n))._Z, self._y)


class PeerScaleTable(NumbaTable):
    def gram(self) -> F64:
        n = self.shape[0]
        return super().gram() * ((n - 1) / n)


def against_lingam(peak: float) -> str:
    import lingam

    X = simulate(1000, 100, random_state=0).X
    began = time.perf_counter()
    peer = lingam.DirectLiNGAM()
    peer.fit(X)
    theirs = time.perf_counter() - began
    rows = [[f"lingam {lingam.__version__}", f"{theirs:.1f}", "1", ""]]
    for variant in ("original", "plus"):
        DirectLiNGAM(variant=variant).fit(X)
        ours, model = best_of(7, lambda variant=variant: DirectLiNGAM(variant=variant).fit(X))
        pairs = order(X, np.arange(1000) % 2, variant).n_pairs
        share = f"{2 * pairs * 1000 / ours / peak:.0%}"
        rows.append([f"rootcausal {variant}", f"{ours:.3f}", f"{theirs / ours:,.0f}", share])
    head = ["DirectLiNGAM, p = 99, n = 1,000", "seconds", "times faster", "kernel peak"]
    return table(head, rows) + "\n\n" + same_order(X, peer.causal_order_, model)


def same_order(X: np.ndarray, theirs: list[int], model: DirectLiNGAM) -> str:
    raw = PeerScaleRaw(X, None)
    with_their_scale = order_columns(raw, describe_columns(raw), VARIANTS["plus"], 1.0).order
    differ = np.flatnonzero(model.causal_order_ != theirs)
    same = with_their_scale.tolist() == theirs
    words = f"same order as lingam's when standardized with ddof = 0 as it does: {same}"
    if differ.size:
        margin = model.margins_[differ[0]]
        words += f"; with ddof = 1 {differ.size} places differ, the first in a near tie (margin {margin:.1g})"
    return words


class KernelClock:
    """Time spent inside pair_sums, the call of the compiled loop and nothing around it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._in_threads = numba_cpu.in_threads

    def __enter__(self) -> KernelClock:
        def timed(work: object, n_units: int, n_values: int) -> None:
            began = time.perf_counter()
            self._in_threads(work, n_units, n_values)
            if "pair_sums" in work.__qualname__:
                self.seconds += time.perf_counter() - began

        numba_cpu.in_threads = timed
        return self

    def __exit__(self, *_: object) -> None:
        numba_cpu.in_threads = self._in_threads


def timed_order(X: np.ndarray, y: np.ndarray) -> tuple[float, float, int]:
    """Seconds, the share of them inside the kernel, and pairs."""
    with KernelClock() as clock:
        began = time.perf_counter()
        found = order(X, y, "local_plus")
        seconds = time.perf_counter() - began
    return seconds, clock.seconds / seconds, found.n_pairs


def paper_sizes() -> str:
    rows = []
    for n, runs in ((1000, 7), (10_000, 5)):
        cohort = simulate(n, 1000, random_state=0)
        seconds, share, n_pairs = min(timed_order(cohort.X, cohort.y) for _ in range(runs))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            whole, _ = best_of(3, lambda cohort=cohort: RCI().fit(cohort.X, cohort.y))
        paper = {1000: 94.586, 10_000: 1522.391}[n]
        rows.append(
            [
                f"{n:,}",
                f"{seconds:.2f}",
                f"{whole:.2f}",
                f"{share:.0%}",
                f"{n_pairs:,}",
                f"{paper / seconds:,.0f}",
            ]
        )
    head = [
        "local_plus, p = 999; n",
        "order, s",
        "whole fit, s",
        "in kernel",
        "pairs",
        "times the paper's speed",
    ]
    return table(head, rows)


def pairs_beside_the_paper(n_seeds: int) -> str:
    ratios = []
    for seed in range(n_seeds):
        cohort = simulate(1000, 1000, random_state=seed)
        ours = order(cohort.X, cohort.y, "local_plus")
        with as_the_paper_orders():
            theirs = order(cohort.X, cohort.y, "local_plus")
        assert np.array_equal(ours.order, theirs.order), seed
        ratios.append(ours.n_pairs / theirs.n_pairs)
    spread = np.std(ratios, ddof=1)
    return (
        f"pairs evaluated beside FindRoot+ in the paper's order, p = 999, n = 1,000, {n_seeds} seeds: "
        f"{np.mean(ratios):.3f} ± {spread:.3f}, same order in each"
    )


def small() -> str:
    pbc = load_pbc()
    RCI().fit(pbc.X, pbc.y)
    seconds, _ = best_of(50, lambda: RCI().fit(pbc.X, pbc.y))
    return f"PBC, 258 × 10, whole fit after the first: {seconds * 1e3:.1f} ms"


def scoring() -> str:
    """A million patients beside the plain matrix product that they need."""
    rng = np.random.default_rng(0)
    train = simulate(2000, 101, random_state=0)
    model = RCI(variant="plus").fit(train.X, train.y)
    X = rng.standard_normal((1_000_000, 100))
    square = rng.standard_normal((100, 100))
    product, _ = best_of(5, lambda: X @ square)
    ours, _ = best_of(5, lambda: model.shapley_values(X))
    ratio = f"{ours / product:.1f} × the matrix product ({product:.2f} s)"
    return f"shapley_values, 1,000,000 × 100: {ours:.2f} s, {ratio}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-peer", action="store_true", help="leave lingam out: it takes minutes")
    parser.add_argument("--seeds", type=int, default=10, help="data sets for the count of pairs")
    options = parser.parse_args()
    print(machine(), "\n", flush=True)
    kernel_table, peak = kernels()
    print(kernel_table, "\n", flush=True)
    print(small(), "\n", flush=True)
    print(scoring(), "\n", flush=True)
    print(paper_sizes(), "\n", flush=True)
    print(pairs_beside_the_paper(options.seeds), "\n", flush=True)
    if not options.no_peer:
        print(against_lingam(peak), flush=True)


if __name__ == "__main__":
    main()
