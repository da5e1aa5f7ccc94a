"""What nonlinear models believe: are probabilities of being a cause, and 95 % intervals, what they say?

Cohorts of the nonlinear generator, and for probabilities also of the paper's, by ``mechanism="nonlinear"``
beside ``"linear"``; intervals by the default, after a bootstrap. The curves of `nonlinear/ancestors.py` were
set on seeds below 1,000.
"""

from __future__ import annotations

import argparse
import os
import warnings
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from rows_file import read_rows, write_rows

from rootcausal import RCI
from rootcausal.data import simulate, simulate_nonlinear

FOLDER = Path(__file__).parents[1] / "results" / "nonlinear-beliefs"
KINDS = ("even", "uneven", "paper")
CELLS = ((300, 10), (500, 20), (1_000, 10), (1_000, 20), (2_000, 10))
OF_INTERVALS = ((300, 10), (1_000, 10))
PATIENTS, RESAMPLES = 60, 60
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Task(NamedTuple):
    """A cohort, and what is asked of its model."""

    asked: str
    kind: str
    n: int
    p: int
    seed: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=30)
    parser.add_argument("--interval-sets", type=int, default=30)
    parser.add_argument("--first-seed", type=int, default=1_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--render", action="store_true", help="only render what is there")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    if not arguments.render:
        for name in ONE_THREAD:
            os.environ[name] = "1"
        first, paths = arguments.first_seed, {one: arguments.out / f"{one}.csv" for one in ANSWERS}
        tasks = [
            Task("probabilities", kind, n, p, seed)
            for seed in range(first, first + arguments.sets)
            for n, p in CELLS
            for kind in KINDS
        ]
        tasks += [
            Task("intervals", kind, n, p, seed)
            for seed in range(first, first + arguments.interval_sets)
            for n, p in OF_INTERVALS
            for kind in KINDS[:2]
        ]
        done = {
            tuple(row[name] for name in Task._fields) for path in paths.values() for row in read_rows(path)
        }
        with get_context("spawn").Pool(arguments.jobs) as pool:
            for rows in pool.imap_unordered(answered, [task for task in tasks if task not in done]):
                write_rows(paths[str(rows[0]["asked"])], rows)
    (arguments.out / "README.md").write_text(render(arguments.out), encoding="utf-8")


def answered(task: Task) -> list[dict[str, object]]:
    """A row for each variable."""
    warnings.simplefilter("ignore")
    return ANSWERS[task.asked](task)


def probabilities(task: Task) -> list[dict[str, object]]:
    if task.kind == "paper":
        straight = simulate(task.n, task.p, random_state=[task.seed, 77])
        X, y, truth = straight.X, straight.y, straight.effects != 0
    else:
        made = _bent(task, 77, 16)
        X, y, truth = made.X, made.y, _ancestors(made)
    stated = {
        mechanism: RCI(mechanism=mechanism).fit(X, y).ancestor_probability_
        for mechanism in ("nonlinear", "linear")
    }
    return [
        {**task._asdict(), "variable": v, "ancestor": int(truth[v])}
        | {mechanism: float(told[v]) for mechanism, told in stated.items()}
        for v in range(task.p - 1)
    ]


def intervals(task: Task) -> list[dict[str, object]]:
    made = _bent(task, 55, 128)
    model = RCI().fit(made.X, made.y).bootstrap(RESAMPLES)
    rows = np.random.default_rng(task.seed).choice(task.n, PATIENTS, replace=False)
    told, truth = model.explain(made.X[rows]), made.true_shapley[rows]
    inside = (told.lower <= truth) & (truth <= told.upper)
    size, ancestor = np.abs(truth).mean(axis=0), _ancestors(made)
    return [
        {**task._asdict(), "variable": v, "ancestor": int(ancestor[v]), "size": float(size[v])}
        | {"covered": float(inside[:, v].mean())}
        for v in range(task.p - 1)
    ]


ANSWERS = {"probabilities": probabilities, "intervals": intervals}


def _bent(task: Task, stream: int, n_walks: int):
    return simulate_nonlinear(
        task.n,
        task.p,
        n_walks=n_walks,
        heteroscedastic=task.kind == "uneven",
        random_state=[task.seed, stream],
    )


def _ancestors(made) -> np.ndarray:
    found = np.zeros(made.X.shape[1], dtype=bool)
    found[made.mechanism.ancestors()] = True
    return found


def render(folder: Path) -> str:
    """The page."""
    stated, covered = (pd.read_csv(folder / f"{one}.csv") for one in ANSWERS)
    text = [
        "# What nonlinear models believe",
        "",
        f"Made by `benchmarks/nonlinear_beliefs.py` from seed {stated['seed'].min():,} on.",
        "",
        "## Probabilities of being a cause",
        "",
        "Of all variables, by tenths of what is stated: what it is on average, which share are",
        "ancestors, and how many there are.",
        "",
    ]
    for kinds, name in ((KINDS[:2], "the nonlinear generator"), (KINDS[2:], "the paper's generator")):
        some = stated[stated["kind"].isin(kinds)]
        cohorts = len(some.drop_duplicates(["kind", "n", "p", "seed"]))
        text += [f"In {cohorts} cohorts of {name} (300 to 2,000 rows, 10 and 20 variables with D):", ""]
        text += [
            "| equations | Brier | " + " | ".join(f"to {tenth / 10:.1f}" for tenth in range(1, 11)) + " |"
        ]
        text += ["|---|---|" + "---|" * 10]
        for mechanism in ("nonlinear", "linear"):
            p, truth = some[mechanism], some["ancestor"]
            tenth = np.minimum((10 * p).astype(int), 9)
            cells = [
                f"{p[tenth == k].mean():.2f}: {truth[tenth == k].mean():.2f} of {(tenth == k).sum():,}"
                for k in range(10)
            ]
            text.append(f"| {mechanism} | {((p - truth) ** 2).mean():.3f} | " + " | ".join(cells) + " |")
        text.append("")
    causes = covered[covered["ancestor"] == 1]
    text += [
        "## 95 % intervals of Shapley values",
        "",
        f"Of true causes, by the default after {RESAMPLES} resamples, {PATIENTS} patients a cohort: the",
        "share that hold the true value. Weak: below .3 on average over patients.",
        "",
        "| spread | n | cohorts | all | weak | strong |",
        "|---|---|---|---|---|---|",
    ]
    for (kind, n), some in causes.groupby(["kind", "n"]):
        weak = some["size"] < 0.3
        shares = [f"{part['covered'].mean():.3f}" for part in (some, some[weak], some[~weak])]
        text.append(f"| {kind} | {n:,} | {some['seed'].nunique()} | " + " | ".join(shares) + " |")
    return "\n".join([*text, ""])


if __name__ == "__main__":
    main()
