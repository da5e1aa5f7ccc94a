"""What RCI(mechanism="nonlinear") costs on one thread: fits, scores, and growth with rows.

    python benchmarks/nonlinear_speed.py
    python benchmarks/nonlinear_speed.py --sets 3 --most-rows 100000

Cohorts are those of ``simulate_nonlinear`` (bent) and of ``simulate`` (straight). The figure is the processor
time of the best of several runs, since other work on a machine lengthens the time on the wall; that stands
beside it. *Kept* are the variables that stayed dependent on the diagnosis (median): only they are searched.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import Any

import numpy as np
from measure import machine, table

from rootcausal import RCI
from rootcausal.backends.blas import one_blas_thread
from rootcausal.backends.choose import one_thread
from rootcausal.data import simulate, simulate_nonlinear
from rootcausal.data.nonlinear_truth import FEWEST_WALKS

FIRST_SEED = 610_000
# Variables, rows, and what was aimed at, in seconds.
FITS = ((20, 1_000, 0.5), (50, 10_000, 8.0))
SCORED_VARIABLES, SCORED_PATIENTS, SCORING_GOAL = 20, 10_000, 1.0
FITTED_BEFORE_SCORING = 2_000
GROWTH_VARIABLES, GROWTH = 10, (10_000, 100_000, 1_000_000)


@dataclass(frozen=True)
class Spent:
    """Shortest processor and wall time of several runs, in seconds, and what the last one returned."""

    processor: float
    wall: float
    result: Any


def spent(runs: int, work: Callable[[], Any]) -> Spent:
    processor = wall = math.inf
    result = None
    for _ in range(runs):
        began_wall, began = time.perf_counter(), time.process_time()
        result = work()
        processor = min(processor, time.process_time() - began)
        wall = min(wall, time.perf_counter() - began_wall)
    return Spent(processor, wall, result)


def cohort(p: int, n: int, number: int, relations: str = "bent") -> tuple[np.ndarray, np.ndarray]:
    seed = FIRST_SEED + number
    if relations == "straight":
        straight = simulate(n, p, random_state=seed)
        return straight.X, straight.y
    bent = simulate_nonlinear(n, p, random_state=seed, n_walks=FEWEST_WALKS)
    return bent.X, bent.y


def fitted(X: np.ndarray, y: np.ndarray) -> RCI:
    return RCI(mechanism="nonlinear").fit(X, y)


def verdict(seconds: float, goal: float) -> str:
    return "met" if seconds <= goal else "missed"


def fits(sets: int, runs: int) -> list[list[str]]:
    lines = []
    for (p, n, goal), relations in product(FITS, ("bent", "straight")):
        found = []
        for number in range(sets):
            X, y = cohort(p, n, number, relations)
            found.append(spent(runs, lambda X=X, y=y: fitted(X, y)))
        seconds = [one.processor for one in found]
        lines.append(
            [
                relations,
                str(p),
                f"{n:,}",
                str(sets),
                f"{median(one.result.causal_order_.size for one in found):.0f}",
                f"{median(seconds):.2f}",
                f"{max(seconds):.2f}",
                f"{median(one.wall for one in found):.2f}",
                f"≤ {goal:g}: median {verdict(median(seconds), goal)}, worst {verdict(max(seconds), goal)}",
            ]
        )
    return lines


def scores(sets: int, runs: int) -> list[list[str]]:
    """One line a data set, those with most places to sample last."""
    found = []
    for number in range(sets):
        X, y = cohort(SCORED_VARIABLES, SCORED_PATIENTS, 1_000 + number)
        model = fitted(X[:FITTED_BEFORE_SCORING], y[:FITTED_BEFORE_SCORING])
        attribution = model._model.attribution
        reaches = int(attribution.matters.sum())
        one = spent(runs, lambda model=model, X=X: model.shapley_values(X))
        found.append((attribution._sampled_places.size, reaches, one.processor, one.wall))
    return [
        [str(sampled), str(reaches), f"{processor:.2f}", f"{wall:.2f}", verdict(processor, SCORING_GOAL)]
        for sampled, reaches, processor, wall in sorted(found)
    ]


def growth(runs: int, most_rows: int) -> tuple[list[list[str]], float]:
    """Fits of one cohort and of its first rows, and the power of n that their time grows with."""
    sizes = [n for n in GROWTH if n <= most_rows]
    X, y = cohort(GROWTH_VARIABLES, max(sizes), 2_000)
    lines, seconds = [], []
    for n in sizes:
        one = spent(runs, lambda n=n: fitted(X[:n], y[:n]))
        seconds.append(one.processor)
        lines.append([f"{n:,}", f"{one.processor:.2f}", f"{one.wall:.2f}", f"{1e6 * one.processor / n:.2f}"])
    power = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0]) if len(sizes) > 1 else math.nan
    return lines, power


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=int, default=10, help="data sets of each kind")
    parser.add_argument("--runs", type=int, default=3, help="the best of so many counts")
    parser.add_argument("--most-rows", type=int, default=GROWTH[-1])
    options = parser.parse_args()
    with one_blas_thread(), one_thread("auto"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fitted(*cohort(6, 300, 3_000)).shapley_values(cohort(6, 300, 3_000)[0])  # compiles
        print(f"{machine()}; one thread; processor seconds, best of {options.runs} runs\n")
        header = ["relations", "p", "n", "sets", "kept", "fit, median", "worst", "wall, median", "goal"]
        print(table(header, fits(options.sets, options.runs)), "\n", flush=True)
        print(
            f"Shapley values of {SCORED_PATIENTS:,} patients, p = {SCORED_VARIABLES}; ≤ {SCORING_GOAL:g} s:\n"
        )
        lines = scores(options.sets, options.runs)
        print(table(["places sampled", "that reach D", "seconds", "wall", "goal"], lines))
        told = [float(line[2]) for line in lines]
        print(f"\nmedian {median(told):.2f} s, worst {max(told):.2f} s\n", flush=True)
        lines, power = growth(options.runs, options.most_rows)
        print(table([f"n (p = {GROWTH_VARIABLES})", "fit", "wall", "µs a row"], lines))
        print(f"\ntime grows as n to the power {power:.2f}; at most linear: {verdict(round(power, 2), 1.0)}")


if __name__ == "__main__":
    main()
