"""How time grows with rows and with columns, and how much memory a tall table takes.

``python benchmarks/growth.py``: exponents of the best of several fits; memory in processes of their own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import warnings

import numpy as np
from measure import best_of, machine, table

from rootcausal import RCI
from rootcausal.data import simulate

ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
COLUMNS = (50, 100, 200, 400, 800)


def fit_seconds(n: int, p: int, runs: int) -> tuple[float, float]:
    """Whole fit of local_plus, and residuals evaluated a second."""
    cohort = simulate(n, p + 1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        seconds, model = best_of(runs, lambda: RCI(backend="numba").fit(cohort.X, cohort.y))
    return seconds, 2 * n * model.provenance_["pairs_evaluated"] / seconds


def exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def peak_beyond_table(n: int, p: int) -> float:
    """Peak memory of a process that draws a table and fits it, less one that only draws, in tables."""
    drawn, fitted = (
        int(
            subprocess.run(
                [sys.executable, __file__, "--peak", str(n), str(p), step], capture_output=True, check=True
            ).stdout
        )
        for step in ("draw", "fit")
    )
    return (fitted - drawn) * 1024 / (8 * n * p)


def print_peak(n: int, p: int, step: str) -> None:
    rng = np.random.default_rng(0)
    X = np.empty((n, p))
    for start in range(0, n, 10_000):  # in strips, so that drawing leaves no higher peak than the table
        X[start : start + 10_000] = rng.standard_t(5, (min(10_000, n - start), p))
    X[:, 1:] += 0.3 * X[:, :-1]
    y = (X[:, 0] + 0.5 * X[:, p // 2] + rng.logistic(size=n) > 0).astype(int)
    small = X[:2000].copy()
    RCI(backend="numba", variant="plus").fit(small, y[:2000])
    if step == "fit":
        RCI(backend="numba", variant="plus").fit(X, y)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peak", nargs=3, metavar=("N", "P", "STEP"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        print_peak(int(options.peak[0]), int(options.peak[1]), options.peak[2])
        return
    print(machine(), "\n", flush=True)
    by_rows = [fit_seconds(n, 50, 5 if n < 300_000 else 3) for n in ROWS]
    rows = [[f"{n:,}", f"{s:.3f}", f"{rate:.2g}"] for n, (s, rate) in zip(ROWS, by_rows, strict=True)]
    print(table(["rows (p = 50)", "seconds", "residuals/s"], rows))
    print(f"exponent in n: {exponent(ROWS, [s for s, _ in by_rows]):.2f}\n", flush=True)
    by_columns = [fit_seconds(5000, p, 3) for p in COLUMNS]
    rows = [[f"{p:,}", f"{s:.3f}", f"{rate:.2g}"] for p, (s, rate) in zip(COLUMNS, by_columns, strict=True)]
    print(table(["columns (n = 5,000)", "seconds", "residuals/s"], rows))
    print(f"exponent in p: {exponent(COLUMNS, [s for s, _ in by_columns]):.2f}\n", flush=True)
    extra = peak_beyond_table(1_000_000, 50)
    print(f"1,000,000 × 50, variant plus: peak memory of the table itself plus {extra:.2f} × the table")


if __name__ == "__main__":
    main()
