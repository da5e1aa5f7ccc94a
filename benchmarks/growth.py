"""How time grows with rows and with columns, and how much memory a tall table takes.

``python benchmarks/growth.py``: exponents of the best of several fits; memory in processes of their own.
``python benchmarks/growth.py --parts``: the same of each part of a fit, in processor seconds.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np
from measure import best_of, machine, table

from rootcausal import RCI, DirectLiNGAM
from rootcausal.data import simulate
from rootcausal.estimators import base, mechanism_choice
from rootcausal.explaining import provenance
from rootcausal.inputs import validate
from rootcausal.method import pipeline
from rootcausal.resampling import training_rows

ROWS = (10_000, 30_000, 100_000, 300_000, 1_000_000)
COLUMNS = (50, 100, 200, 400, 800)
PART_ROWS, PART_COLUMNS = (25_000, 50_000, 100_000), (75, 150, 300)
# Each part of a fit, by the function that does it; reading is opened and checked, levels among it.
PARTS = {
    "reading": (validate, "_in_memory"),
    "learning": (mechanism_choice, "_learned"),
    "completion": (pipeline, "completion_of"),
    "quantiles": (base.CohortQuantiles, "of"),
    "unusual values": (base, "usual_of"),
    "seal": (training_rows, "checksum"),
    "provenance": (provenance, "how_it_was_made"),
}


def fit_seconds(X: np.ndarray, y: np.ndarray, variant: str, runs: int) -> tuple[float, float]:
    """Whole fit, and residuals evaluated a second."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        seconds, model = best_of(runs, lambda: RCI(backend="numba", variant=variant).fit(X, y))
    return seconds, 2 * len(X) * model.provenance_["pairs_evaluated"] / seconds


def part_seconds(n: int, p: int, runs: int) -> dict[str, float]:
    """Processor seconds of each part of a whole fit: the least of several."""
    X, y = chain(n, p)
    least: dict[str, float] = {}
    for _ in range(runs):
        spent = dict.fromkeys(PARTS, 0.0)
        with ExitStack() as stack:
            for part, (owner, name) in PARTS.items():
                stack.enter_context(patch.object(owner, name, timed(getattr(owner, name), spent, part)))
            began = process_time()
            RCI(backend="numba", mechanism="linear").fit(X, y)
            spent["whole fit"] = process_time() - began
        least = {part: min(seconds, least.get(part, seconds)) for part, seconds in spent.items()}
    return least


def timed(work: Callable[..., Any], spent: dict[str, float], part: str) -> Callable[..., Any]:
    def wrapped(*given: Any, **named: Any) -> Any:
        began = process_time()
        try:
            return work(*given, **named)
        finally:
            spent[part] += process_time() - began

    return wrapped


def print_parts(runs: int) -> None:
    """A row a part: its seconds at the largest size, and exponents in rows and in columns."""
    by_rows = [part_seconds(n, PART_COLUMNS[1], runs) for n in PART_ROWS]
    by_columns = [part_seconds(PART_ROWS[1], p, runs) for p in PART_COLUMNS]
    rows = []
    for part in by_rows[0]:
        seconds = [[max(one[part], 1e-6) for one in some] for some in (by_rows, by_columns)]
        powers = [
            exponent(sizes, some) for sizes, some in zip((PART_ROWS, PART_COLUMNS), seconds, strict=True)
        ]
        share = seconds[0][-1] / max(by_rows[-1]["learning"], 1e-6)
        last = [f"{some[-1]:.4f}" for some in seconds]
        rows.append([part, last[0], f"{powers[0]:.2f}", f"{share:.1%}", last[1], f"{powers[1]:.2f}"])
    n, p = PART_ROWS, PART_COLUMNS
    header = ["part", f"{n[-1]:,} × {p[1]}, s", "power of n", "of learning"]
    print(table([*header, f"{n[1]:,} × {p[-1]}, s", "power of p"], rows))


def exponent(sizes: tuple[int, ...], seconds: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def peak_in_tables(n: int, p: int) -> float:
    """Peak memory of a process that holds a table and fits it, all included, in sizes of the table."""
    command = [sys.executable, __file__, "--peak", str(n), str(p)]
    kilobytes = int(subprocess.run(command, capture_output=True, check=True).stdout)
    return kilobytes * 1024 / (8 * n * p)


def chain(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns that each follow the one before, two of which act on the outcome."""
    rng = np.random.default_rng(0)
    X = np.empty((n, p))
    for start in range(0, n, 10_000):  # in strips, so that drawing leaves no higher peak than the table
        strip = rng.standard_t(5, (min(10_000, n - start), p))
        strip[:, 1:] += 0.3 * strip[:, :-1]
        X[start : start + 10_000] = strip
    y = (X[:, 0] + 0.5 * X[:, p // 2] + rng.logistic(size=n) > 0).astype(int)
    return X, y


def print_peak(n: int, p: int) -> None:
    X, y = chain(n, p)
    RCI(backend="numba", variant="plus").fit(X, y)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peak", nargs=2, metavar=("N", "P"), help=argparse.SUPPRESS)
    parser.add_argument("--parts", action="store_true", help="what surrounds learning, part by part")
    options = parser.parse_args()
    if options.parts:
        print(machine(), "\n", flush=True)
        print_parts(2)
        return
    if options.peak:
        print_peak(int(options.peak[0]), int(options.peak[1]))
        return
    print(machine(), "\n", flush=True)
    # First: a process that is started later inherits the peak of this one.
    peak = peak_in_tables(1_000_000, 50)
    print(
        f"1,000,000 × 50, variant plus: peak memory {peak:.2f} × the table, which it includes\n", flush=True
    )
    tall = simulate(ROWS[-1], 51, random_state=0)
    rows, seconds = [], []
    for n in ROWS:
        X, y, runs = tall.X[:n], tall.y[:n], 5 if n < 300_000 else 2
        order, _ = best_of(runs, lambda X=X: DirectLiNGAM(backend="numba").fit(X))
        whole, rate = fit_seconds(X, y, "plus", runs)
        seconds.append((order, whole))
        rows.append([f"{n:,}", f"{order:.3f}", f"{whole:.3f}", f"{rate:.2g}"])
    print(table(["rows (p = 50)", "DirectLiNGAM, s", "RCI, variant plus, s", "residuals/s"], rows))
    by_order, by_fit = (exponent(ROWS, list(column)) for column in zip(*seconds, strict=True))
    print(f"exponent in n: {by_order:.2f} and {by_fit:.2f}\n", flush=True)
    del tall
    cohorts = [simulate(5000, p + 1, random_state=0) for p in COLUMNS]
    by_columns = [fit_seconds(cohort.X, cohort.y, "local_plus", 3) for cohort in cohorts]
    rows = [[f"{p:,}", f"{s:.3f}", f"{rate:.2g}"] for p, (s, rate) in zip(COLUMNS, by_columns, strict=True)]
    print(table(["columns (n = 5,000, local_plus)", "seconds", "residuals/s"], rows))
    print(f"exponent in p: {exponent(COLUMNS, [s for s, _ in by_columns]):.2f}\n", flush=True)


if __name__ == "__main__":
    main()
