"""How long do resamples take, and a small fit around what it learns? Before and after, in one process.

python benchmarks/resamples.py [--before SRC] [--repeats 3]

SRC is the folder ``src`` of another checkout. Without it the times are those of this one alone.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from measure import best_of, machine, table
from older import NAME, module_of

import rootcausal
from rootcausal.data import load_pbc, simulate

# Seconds for so many resamples of a cohort on all cores.
GOALS = {("PBC", 200): 0.7, ("PBC", 1000): 3.0, ("2,031 x 18", 200): 2.0}
# Milliseconds of a fit besides learning.
AROUND = {"array": 0.5, "pandas": 1.0}
FITS = 200


def before(source: str, folder: str) -> ModuleType:
    """The package of another checkout, by a link of another name: so worker processes find it too."""
    (Path(folder) / NAME).symlink_to(Path(source).resolve() / "rootcausal")
    sys.path.insert(0, folder)
    return importlib.import_module(NAME)


def cohorts() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """PBC, and a made-up one of the size of the Framingham teaching data (one of 19 is the diagnosis)."""
    pbc, drawn = load_pbc(), simulate(2031, 19, random_state=0)
    return {"PBC": (pbc.X, pbc.y), "2,031 x 18": (drawn.X, drawn.y)}


def around(package: ModuleType, X: Any, y: np.ndarray) -> float:
    """Seconds of a fit that are not spent in learn(), the least of many."""
    module = module_of(package, "estimator")
    learn, inside = module.learn, 0.0

    def timed(*arguments: Any) -> Any:
        nonlocal inside
        began = time.perf_counter()
        learned = learn(*arguments)
        inside = time.perf_counter() - began
        return learned

    module.learn = timed
    try:
        rest = []
        for _ in range(FITS):
            began = time.perf_counter()
            package.RCI().fit(X, y)
            rest.append(time.perf_counter() - began - inside)
    finally:
        module.learn = learn
    return min(rest)


def resampled(package: ModuleType, X: np.ndarray, y: np.ndarray, n: int, jobs: int) -> Callable[[], Any]:
    model = package.RCI().fit(X, y)
    return lambda: model.bootstrap(n, n_jobs=jobs)


def compared(seconds: list[float], unit: float, goal: float | None) -> list[str]:
    """Times in a unit, the first over the last, and whether the last meets the goal."""
    shown = [f"{one * unit:.2f}" for one in seconds]
    met = "" if goal is None else f"{goal:g}: {'met' if seconds[-1] * unit <= goal else 'missed'}"
    return [*shown, f"{seconds[0] / seconds[-1]:.1f} x", met]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", metavar="SRC", help="the folder src of another checkout")
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        packages = [before(chosen.before, folder)] if chosen.before else []
        measure([*packages, rootcausal], chosen.repeats)


def measure(packages: list[ModuleType], repeats: int) -> None:
    sides = ["before", "after"] if len(packages) > 1 else ["now"]
    print(f"{machine()}; load average before {os.getloadavg()[0]:.1f}")
    rows = []
    for (cohort, n), goal in GOALS.items():
        X, y = cohorts()[cohort]
        for jobs in (1, -1):
            # Starting worker processes is part of what a user waits for, the first time; then they are there.
            times = [best_of(repeats, resampled(one, X, y, n, jobs))[0] for one in packages]
            rows.append([cohort, f"{n:,}", str(jobs), *compared(times, 1.0, goal if jobs == -1 else None)])
            print(f"{n:,} resamples of {cohort}, n_jobs={jobs}: {', '.join(rows[-1][3:])}", flush=True)
    print("\n" + table(["cohort", "resamples", "n_jobs", *sides, "ratio", "goal, s"], rows))
    X, y = cohorts()["PBC"]
    tables = {"array": X, "pandas": pd.DataFrame(X, columns=[f"x{place}" for place in range(X.shape[1])])}
    rest = [
        [name, *compared([around(one, values, y) for one in packages], 1000.0, AROUND[name])]
        for name, values in tables.items()
    ]
    print("\nA fit of PBC besides learn(), ms:\n" + table(["X", *sides, "ratio", "goal"], rest))


if __name__ == "__main__":
    main()
