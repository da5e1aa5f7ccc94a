"""Real cohorts with their times, against the same patients as yes or no: who comes first, cross-validated.

Both models are learned from the same folds and asked for the same thing, the order in which patients of the
fold that was left out have the event (Harrell's concordance). Data come with the package (PBC) and with
lifelines: gbsg2 (breast cancer, recurrence), lung (death), rossi (arrest).

    make bench, then .venv-bench/bin/python benchmarks/outcomes_real.py
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from lifelines import datasets

from rootcausal import RCI, RCISurvival
from rootcausal.data import load_pbc
from rootcausal.outcomes.survival import concordance
from rootcausal.resampling.cross_validation import _folds

FOLDS = 5
SEEDS = 10


def cohorts() -> Iterator[tuple[str, pd.DataFrame, np.ndarray, np.ndarray]]:
    """Name, variables as they come, times and events."""
    pbc = load_pbc(complete=False, follow_up=True)
    yield "pbc", pd.DataFrame(pbc.X, columns=list(pbc.feature_names)), pbc.years, pbc.y
    for name, load, time, event in (
        ("gbsg2", datasets.load_gbsg2, "time", "cens"),
        ("lung", datasets.load_lung, "time", "status"),
        ("rossi", datasets.load_rossi, "week", "arrest"),
    ):
        table = load()
        yield name, table.drop(columns=[time, event]), table[time].to_numpy(float), table[event].to_numpy(int)


def compared(X: pd.DataFrame, time: np.ndarray, event: np.ndarray, seed: int) -> tuple[float, float]:
    """Concordance of the model of times, and of that of yes or no."""
    survival = RCISurvival().fit(X, time, event)
    assert survival._cohort is not None
    member = _folds(survival._cohort, FOLDS, np.random.default_rng(seed))
    found = []
    for fold in range(FOLDS):
        inside, outside = member == fold, member != fold
        of_time = RCISurvival().fit(X[outside], time[outside], event[outside]).predict(X[inside])
        yes_no = RCI(positive=1).fit(X[outside], event[outside]).decision_function(X[inside])
        found.append([concordance(said, time[inside], event[inside]) for said in (of_time, yes_no)])
    first, second = np.mean(found, axis=0)
    return float(first), float(second)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=SEEDS)
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # a fold may lack a level, which both models then leave out
    print("| cohort | patients | events | with times | yes or no | gain (its standard error over cuts) |")
    print("|---|---|---|---|---|---|")
    for name, X, time, event in cohorts():
        both = np.array([compared(X, time, event, seed) for seed in range(args.seeds)])
        gain = both[:, 0] - both[:, 1]
        spread = gain.std(ddof=1) / np.sqrt(len(gain))
        with_times, yes_no = both.mean(axis=0)
        print(
            f"| {name} | {len(X)} | {event.sum()} | {with_times:.3f} | {yes_no:.3f} | "
            f"{gain.mean():+.3f} ({spread:.3f}) |",
            flush=True,
        )


if __name__ == "__main__":
    main()
