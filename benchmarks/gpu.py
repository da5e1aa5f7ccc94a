"""The GPU table: orders equal to the CPU's, seconds, residuals a second and the share of the card's peak.

Run on a machine with an NVIDIA GPU and CuPy: ``python benchmarks/gpu.py [--large]``.
Times are of the whole ordering, copying the table to the card included; the best of several runs.
"""

from __future__ import annotations

import argparse
import warnings

import cupy as cp
import numpy as np
from measure import best_of, machine, table

from rootcausal import RCI
from rootcausal.backends.cpu.rows import NumbaRaw
from rootcausal.backends.cuda.rows import CupyRaw
from rootcausal.data import simulate
from rootcausal.method.moments import describe_columns
from rootcausal.method.ordering.ordering import VARIANTS, Ordering, order_columns
from rootcausal.outcomes.binary import Binary

# Operations on the float64 pipe for each residual (backends/pair_sums.cu).
OPERATIONS_A_RESIDUAL = 27


def order_on(kind: type, X: np.ndarray, y: np.ndarray, variant: str) -> Ordering:
    raw = kind(X, y)
    columns = describe_columns(raw)
    outcome = Binary.of_moments(columns.moments)
    found = order_columns(raw, columns, VARIANTS[variant], 0.2, outcome=outcome)
    cp.cuda.Device().synchronize()
    return found


def float64_peak() -> float:
    """Fused multiply-adds a second: 64 a clock and multiprocessor on this generation's data-centre cards."""
    device = cp.cuda.Device()
    return 64 * device.attributes["MultiProcessorCount"] * device.attributes["ClockRate"] * 1e3


def kernel_row(n: int, p: int) -> list[str]:
    X = np.random.default_rng(0).standard_t(5, (n, p))
    raw = CupyRaw(X, None)
    columns = describe_columns(raw)
    kept = np.arange(p)
    z = raw.standardize(kept, columns.mean, columns.sd)
    z = z.with_correlations(z.gram().sum(axis=0) / (n - 1))

    def work() -> None:
        z.leading_pair_sums(kept, p)
        cp.cuda.Device().synchronize()

    work()
    seconds, _ = best_of(7, work)
    rate = n * p * (p - 1) / seconds
    share = rate * OPERATIONS_A_RESIDUAL / float64_peak()
    return [f"kernel, {n:,} × {p:,}, all pairs", f"{seconds:.4f}", f"{rate:.3g}", f"{share:.0%}", ""]


def order_row(n: int, variables: int, variant: str, check: bool, runs: int) -> list[str]:
    cohort = simulate(n, variables, random_state=0)
    found = order_on(CupyRaw, cohort.X, cohort.y, variant)
    seconds, found = best_of(runs, lambda: order_on(CupyRaw, cohort.X, cohort.y, variant))
    same = ""
    if check:
        same = str(np.array_equal(found.order, order_on(NumbaRaw, cohort.X, cohort.y, variant).order))
    name = f"{variant}, p = {variables - 1:,}, n = {n:,}"
    return [
        name,
        f"{seconds:.3f}",
        f"{2 * found.n_pairs * n / seconds:.3g}",
        f"{found.n_pairs:,} pairs",
        same,
    ]


def fit_row(n: int, variables: int) -> list[str]:
    cohort = simulate(n, variables, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        RCI(backend="cupy").fit(cohort.X, cohort.y)
        seconds, model = best_of(3, lambda: RCI(backend="cupy").fit(cohort.X, cohort.y))
    name = f"whole fit, local_plus, p = {variables - 1:,}, n = {n:,}"
    return [name, f"{seconds:.3f}", "", f"{model.provenance_['pairs_evaluated']:,} pairs", ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="also 20,000 columns and 750,000 rows")
    large = parser.parse_args().large
    name = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"{name}, CuPy {cp.__version__}; host: {machine()}\n", flush=True)
    head = ["work", "seconds", "residuals/s", "share of float64 peak, or pairs", "order equals CPU's"]
    rows = [kernel_row(1024, 999), kernel_row(8192, 999), kernel_row(10_000, 200)]
    rows.append(order_row(10_000, 1000, "local_plus", check=True, runs=7))
    rows.append(fit_row(10_000, 1000))
    for variant in ("plus", "original"):
        rows.append(order_row(1024, 1000, variant, check=variant == "plus", runs=3))
        print(table(head, rows), flush=True)
    for variant in ("plus", "original"):
        rows.append(order_row(8192, 1000, variant, check=False, runs=1))
    if large:
        for n, variables in ((750_000, 601), (1000, 20_001)):
            print(table(head, rows), flush=True)
            rows.append(order_row(n, variables, "local_plus", check=n == 1000, runs=2))
            rows.append(fit_row(n, variables))
    print(table(head, rows))


if __name__ == "__main__":
    main()
