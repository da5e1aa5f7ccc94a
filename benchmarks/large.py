"""Tables at the edge: 20,000 columns, or 750,000 rows × 600 columns, on the CPU.

``python benchmarks/large.py wide`` and ``python benchmarks/large.py tall``: seconds, peak memory, and for the
wide one how many true ancestors survive and the overlap beside that of the t-test.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from measure import best_of, machine

from rootcausal import RCI
from rootcausal.backends.cpu.rows import NumbaRaw
from rootcausal.data import simulate
from rootcausal.method.moments import describe_columns, welch_t
from rootcausal.metrics import rank_biased_overlap


def peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def wide() -> None:
    cohort = simulate(1000, 20_001, random_state=0)
    before = peak_gigabytes()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        seconds, model = best_of(1, lambda: RCI(backend="numba", progress=True).fit(cohort.X, cohort.y))
    ancestors = np.flatnonzero(cohort.effects)
    survivors = np.intersect1d(ancestors, model.causal_order_).size
    t = np.abs(welch_t(describe_columns(NumbaRaw(cohort.X, cohort.y)).moments)[0])
    scores = {"RCI": model.scores(cohort.X), "t-test": np.broadcast_to(t, cohort.X.shape)}
    overlap = {name: rank_biased_overlap(cohort.true_shapley, values) for name, values in scores.items()}
    print(f"20,000 columns × 1,000 rows: fit in {seconds:.1f} s, peak memory {peak_gigabytes():.2f} GiB")
    print(f"(the drawn cohort alone: {before:.2f} GiB); {model.causal_order_.size} roots")
    print(f"true ancestors of D among them: {survivors} of {ancestors.size}")
    print(f"overlap: RCI {overlap['RCI']:.3f}, t-test {overlap['t-test']:.3f}")
    print(f"largest |coefficient| {np.abs(model.coef_).max():.2f}; warnings: {len(said)}")
    for warning in said:
        print(f"  {warning.message}")


def tall() -> None:
    with tempfile.TemporaryDirectory() as folder:
        # Drawn in a process of its own: the generator also holds errors and Shapley values of that size.
        subprocess.run([sys.executable, __file__, "draw", "--folder", folder], check=True)
        X, y = np.load(Path(folder) / "X.npy"), np.load(Path(folder) / "y.npy")
    seconds, model = best_of(1, lambda: RCI(backend="numba", progress=True).fit(X, y))
    print(f"750,000 rows × 600 columns ({X.nbytes / 2**30:.2f} GiB): fit in {seconds:.0f} s, peak memory")
    print(f"{peak_gigabytes():.2f} GiB with the table; {model.causal_order_.size} roots, ", end="")
    print(f"{model.provenance_['pairs_evaluated']:,} pairs")


def draw(folder: Path) -> None:
    cohort = simulate(750_000, 601, random_state=0)
    np.save(folder / "X.npy", cohort.X)
    np.save(folder / "y.npy", cohort.y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", choices=["wide", "tall", "draw"])
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.which == "draw":
        draw(options.folder)
        return
    print(machine())
    (wide if options.which == "wide" else tall)()


if __name__ == "__main__":
    main()
