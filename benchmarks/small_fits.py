"""How long does the fit of a small cohort take, and is any variant slower than the one it improves on?

python benchmarks/small_fits.py [--before SRC] [--runs 30]

SRC is the folder ``src`` of another checkout, timed in the same process. The nine cells are the paper's.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial
from types import ModuleType

import numpy as np
from measure import best_of, machine, table
from older import module_of, older

import rootcausal
from rootcausal.data import load_pbc, simulate
from rootcausal.experiments.paper import CELLS

VARIANTS = ("original", "plus", "local", "local_plus")
# Milliseconds of a fit of PBC.
GOALS = {"sharp": 3.0, "paper": 1.5}
# What a variant may take of the time of the one it improves on.
MOST = {("plus", "original"): 1.1, ("local_plus", "local"): 1.0, ("local_plus", "original"): 1.0}


def fit_times(package: ModuleType | None, runs: int) -> dict[str, float]:
    """Milliseconds of a fit of PBC, by attribution."""
    if package is None:
        return {}
    cohort = load_pbc()
    times = {}
    for attribution in GOALS:
        package.RCI(attribution=attribution).fit(cohort.X, cohort.y)
        seconds, _ = best_of(runs, lambda a=attribution: package.RCI(attribution=a).fit(cohort.X, cohort.y))
        times[attribution] = 1e3 * seconds
    return times


def order_times(package: ModuleType, X: np.ndarray, y: np.ndarray, runs: int) -> dict[str, float]:
    """Milliseconds of an ordering, by variant; taking turns, so that a disturbance meets all of them."""
    ordering, moments = module_of(package, "core.ordering"), module_of(package, "core.moments")
    raw = module_of(package, "backends.numba_cpu").NumbaRaw(X, y)
    columns = moments.describe_columns(raw)
    try:
        outcome = module_of(package, "outcomes.binary").Binary.of_moments(columns.moments)
    except ImportError:  # older packages take labels for granted
        outcome = None
    order = partial(ordering.order_columns, raw, columns, alpha=0.2, outcome=outcome)
    best = dict.fromkeys(VARIANTS, float("inf"))
    for _ in range(runs + 1):
        for name in VARIANTS:
            variant = ordering.VARIANTS[name]
            seconds, _ = best_of(1, lambda v=variant: order(v))
            best[name] = min(best[name], 1e3 * seconds)
    return best


def cell_row(package: ModuleType, n: int, p: int, runs: int) -> list[str]:
    """The mean over five cohorts of each variant's time, and what is slower than it should be."""
    cohorts = [simulate(n, p, random_state=seed) for seed in range(5)]
    times = [order_times(package, cohort.X, cohort.y, runs) for cohort in cohorts]
    mean = {name: float(np.mean([one[name] for one in times])) for name in VARIANTS}
    slow = [
        f"{fast} / {slow}: {mean[fast] / mean[slow]:.2f}"
        for (fast, slow), most in MOST.items()
        if mean[fast] > most * mean[slow]
    ]
    return [f"{n:,}", str(p), *(f"{mean[name]:.2f}" for name in VARIANTS), ", ".join(slow) or "none"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--before", help="the folder src of another checkout")
    parser.add_argument("--runs", type=int, default=30)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    print(f"{machine()}; least of {arguments.runs}\n")
    packages = {"now": rootcausal} | ({"before": older(arguments.before)} if arguments.before else {})
    times = {name: fit_times(package, arguments.runs) for name, package in packages.items()}
    rows = []
    for attribution, goal in GOALS.items():
        now = times["now"][attribution]
        met = f"≤ {goal:g} ms: {'met' if now <= goal else 'missed'}"
        then = times["before"][attribution] if "before" in times else float("nan")
        rows.append([attribution, f"{then:.2f}", f"{now:.2f}", f"{then / now:.1f} ×", met])
    print(table(["fit of PBC, attribution", "before, ms", "now, ms", "faster", "goal"], rows), flush=True)
    for name, package in packages.items():
        print(f"\nOrdering, ms, {name}:", flush=True)
        cells = [cell_row(package, n, p, max(3, arguments.runs // 10)) for n, p in CELLS]
        print(table(["n", "p", *VARIANTS, "slower than it should be"], cells), flush=True)


if __name__ == "__main__":
    main()
