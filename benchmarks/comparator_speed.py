"""How long do LR and ICA take, before and after a change, and do they still rank alike?

    python benchmarks/comparator_speed.py --before ../before/src --sets 10

Both checkouts fit and score the first data sets of `rootcausal reproduce`, in turn in one process on one
thread; seconds are means of processor time over data sets, which other work on the machine changes least.
"""

from __future__ import annotations

import argparse
import time
import warnings
from types import ModuleType
from typing import Any

import numpy as np
from measure import machine, table
from older import module_of, older
from threadpoolctl import threadpool_limits

import rootcausal
from rootcausal.experiments.runner import data_seed
from rootcausal.experiments.sources import CohortSource, Resampled, Synthetic
from rootcausal.metrics import rank_biased_overlap

METHODS = {
    "LR": ("AdaptiveLogistic", {}),
    "ICA, 100 trees": ("ICAPrediction", {"n_trees": 100}),
    "ICA, 500 trees": ("ICAPrediction", {"n_trees": 500}),
}
SMALL = (Synthetic(100, 10), Synthetic(100, 50), Synthetic(100, 100), Synthetic(1_000, 10))
SOURCES: tuple[CohortSource, ...] = (*SMALL, Synthetic(1_000, 100), Resampled("pbc"))
LARGE: tuple[CohortSource, ...] = (Synthetic(10_000, 10), Synthetic(10_000, 100))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--before", required=True, help="folder src of the other checkout")
    parser.add_argument("--sets", type=int, default=10, help="data sets a cell")
    parser.add_argument(
        "--methods", default=",".join(METHODS), help="names with commas between, ICA's in full"
    )
    parser.add_argument("--large", action="store_true", help="n = 10,000 too, for which ICA takes minutes")
    arguments = parser.parse_args()
    packages = [older(arguments.before), rootcausal]
    chosen = [name for name in METHODS if name in arguments.methods]
    lines = [
        line(name, source, arguments.sets, packages)
        for name in chosen
        for source in (*SOURCES, *(LARGE if arguments.large else ()))
    ]
    print(f"{machine()}; {arguments.sets} data sets a cell\n")
    print(
        table(
            ["method", "data", "before, s", "after, s", "ratio", "overlap, before", "after", "difference"],
            lines,
        )
    )


def line(name: str, source: CohortSource, sets: int, packages: list[ModuleType]) -> list[str]:
    seconds, overlaps = np.empty((sets, 2)), np.empty((sets, 2))
    for number in range(sets):
        for place, package in enumerate(packages):
            if number == 0:
                run(package, name, source, number)  # compiles
            seconds[number, place], overlaps[number, place] = run(package, name, source, number)
    before, after = seconds.mean(axis=0)
    difference = overlaps[:, 1] - overlaps[:, 0]
    error = difference.std(ddof=1) / np.sqrt(sets) if sets > 1 else np.nan
    means = [f"{mean:.4f}" for mean in overlaps.mean(axis=0)]
    beside = f"{difference.mean():+.4f} ± {error:.4f}"
    return [name, source.name, f"{before:.3f}", f"{after:.3f}", f"{before / after:.1f} ×", *means, beside]


def run(package: ModuleType, name: str, source: CohortSource, number: int) -> tuple[float, float]:
    class_name, options = METHODS[name]
    made_by: Any = getattr(module_of(package, "comparators"), class_name)
    seed = data_seed(source, number, 0)
    sample = source.draw(seed)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        began = time.process_time()
        model = made_by(**options, random_state=int(seed.generate_state(1)[0])).fit(sample.X, sample.y)
        scores = model.scores(sample.X)
        seconds = time.process_time() - began
    return seconds, rank_biased_overlap(sample.truth, scores, weighted=sample.weighted)


if __name__ == "__main__":
    main()
