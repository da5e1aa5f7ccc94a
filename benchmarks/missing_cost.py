"""How much longer does a fit take with missing values, and how much memory?

    python benchmarks/missing_cost.py

Fits with and without holes take turns in one process, and the best of each counts. Memory is the most that a
process of its own held during one fit, less what it held before, over the size of the table.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
from functools import partial
from pathlib import Path

import numpy as np
from measure import best_of, machine, table
from missing_values import fit, with_holes

from rootcausal.data import simulate

# Rows, columns, share of cells missing, and runs.
CELLS = [
    (10_000, 50, 0.05, 15),
    (10_000, 50, 0.2, 15),
    (10_000, 50, 0.4, 15),
    (20_000, 1000, 0.05, 1),
]
FOLDER = Path(__file__).parent.parent / "results" / "missing-values"


def main() -> None:
    argparse.ArgumentParser(description=__doc__.split("\n")[0]).parse_args()
    lines = []
    for n, p, share, runs in CELLS:
        whole, y = cohort(n, p, 0.0)
        holed, _ = cohort(n, p, share)
        fit(whole[:200, :5], y[:200])  # compiles
        fit(holed[:200, :5], y[:200])
        seconds = {"complete": float("inf"), "holed": float("inf")}
        for _ in range(runs):
            for name, X in (("complete", whole), ("holed", holed)):
                seconds[name] = min(seconds[name], best_of(1, partial(fit, X, y))[0])
        context = multiprocessing.get_context("spawn")
        with context.Pool(1) as pool:
            memory = pool.apply(peak, (n, p, share))
        with context.Pool(1) as pool:
            before = pool.apply(peak, (n, p, 0.0))
        ratio = seconds["holed"] / seconds["complete"]
        numbers = [f"{seconds['complete']:.3f}", f"{seconds['holed']:.3f}", f"{ratio:.1f}"]
        lines.append([f"{n:,}", str(p), f"{share:.0%}", *numbers, f"{before:.1f}", f"{memory:.1f}"])
        print(lines[-1], flush=True)
    header = ["rows", "columns", "missing", "complete, s", "with holes, s", "ratio"]
    header += ["memory: complete", "with holes"]
    page = (
        f"# What missing values cost\n\nMade by `python benchmarks/missing_cost.py`; {machine()}. Fits take "
        "turns in one process, and the best of each counts. *memory*: the most that a process of its own "
        "held more during the fit than before it, over the size of the table (not counted itself).\n\n"
        f"{table(header, lines)}\n"
    )
    (FOLDER / "cost.md").write_text(page, encoding="utf-8")


def cohort(n: int, p: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    drawn = simulate(n, p + 1, random_state=40_000)
    X = with_holes(drawn.X, "MCAR", share, np.random.default_rng(0)) if share else drawn.X
    return X, drawn.y.astype(np.intp)


def peak(n: int, p: int, share: float) -> float:
    """What a fit holds at most beside the rows, over their size; asked of a fresh process."""
    X, y = cohort(n, p, share)
    small, _ = cohort(200, 5, 0.2)
    fit(small, y[:200])
    reset = Path("/proc/self/clear_refs")
    if reset.exists():
        reset.write_text("5")  # the most is counted from here on
    before = held("VmRSS")
    fit(X, y)
    return (held("VmHWM") - before) / X.nbytes


def held(name: str) -> float:
    """Bytes of this process, as Linux counts them."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
    line = next(line for line in status.read_text().splitlines() if line.startswith(name))
    return float(line.split()[1]) * 1024.0


if __name__ == "__main__":
    main()
