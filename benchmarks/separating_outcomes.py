"""Is it right to take curves although the outcome separates, where columns call for them clearly?

`mechanism="auto"` takes lines where curves decide some patients' outcome for certain and lines do not,
unless curves describe the columns in ten times as many nats less as they have to (`CLEARLY`). That exception
was set after looking at the light tunnel. Here it is asked of simulated cohorts whose outcome separates, in
worlds of curves and of lines: which of the two names the true root causes, and which is taken, with the
exception and without it?
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
from rows_file import read_rows, write_rows
from scipy.special import expit

from rootcausal import RCI
from rootcausal.data import simulate, simulate_nonlinear
from rootcausal.estimators import mechanism_choice
from rootcausal.metrics import rank_biased_overlap

FOLDER = Path(__file__).parents[1] / "results" / "separating-outcomes"
FIRST_SEED = 80_000
WORLDS = {
    "lines": "the paper's generator",
    "lines, gamma": "straight relations, gamma errors, three columns behind each other and three beside",
    "curves, even": "the nonlinear generator without heteroscedasticity",
    "curves, uneven": "the nonlinear generator",
    "parabolas": "as *lines, gamma*, but parabolas and sines in place of lines",
}
# What log-odds are multiplied by: 1 is as the generators have it, 30 as good as a threshold.
STEEPNESS = (1.0, 10.0, 30.0)
SIZES = (300, 1_000, 3_000)
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Task(NamedTuple):
    """A cohort."""

    world: str
    steepness: float
    n: int
    seed: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=30)
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--render", action="store_true", help="only render what is there")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "rows.csv"
    if not arguments.render:
        for name in ONE_THREAD:
            os.environ[name] = "1"
        done = {tuple(row[name] for name in Task._fields) for row in read_rows(path)}
        tasks = [
            Task(world, steepness, n, arguments.first_seed + place)
            for place in range(arguments.sets)
            for world in WORLDS
            for steepness in STEEPNESS
            for n in SIZES
        ]
        with get_context("spawn").Pool(arguments.jobs) as pool:
            for row in pool.imap_unordered(asked, [task for task in tasks if task not in done]):
                write_rows(path, [row])
    (arguments.out / "README.md").write_text(render(read_rows(path)), encoding="utf-8")


def asked(task: Task) -> dict[str, object]:
    """One row: what is taken with the exception and without it, and the overlap that both mechanisms have."""
    warnings.simplefilter("ignore")
    X, y, truth = drawn(task)
    models = {mechanism: RCI(mechanism=mechanism).fit(X, y) for mechanism in ("auto", "linear", "nonlinear")}
    with patch.object(mechanism_choice, "CLEARLY", np.inf):
        without = RCI().fit(X, y)
    ill = y == 1
    row: dict[str, object] = {
        **task._asdict(),
        "separated": int(models["nonlinear"].provenance_["separated"]),
    }
    row["taken"] = models["auto"].provenance_["mechanism"]["taken"]
    row["taken_without"] = without.provenance_["mechanism"]["taken"]
    for name, model in models.items():
        row[name] = rank_biased_overlap(truth[ill], model.scores(X)[ill])
    return row


def drawn(task: Task) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns, the outcome, and true Shapley values, up to the steepness, of a cohort."""
    rng = np.random.default_rng([task.seed, 1])
    if task.world == "lines":
        made = simulate(task.n, 10, random_state=[task.seed, 2])
        return made.X, _outcome(made.X @ made.target_weights, task, rng), made.true_shapley
    if task.world.startswith("curves"):
        bent = simulate_nonlinear(
            task.n, 10, heteroscedastic=task.world.endswith("uneven"), random_state=[task.seed, 3]
        )
        return bent.X, _outcome(bent.mechanism.log_odds(bent.X), task, rng), bent.true_shapley
    return _chain(task, rng)


def _outcome(log_odds: np.ndarray, task: Task, rng: np.random.Generator) -> np.ndarray:
    about = log_odds - np.median(log_odds)
    return (rng.random(task.n) < expit(task.steepness * about)).astype(int)


def _chain(task: Task, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three columns one behind the other, the last of which acts on D, and three that do not matter.

    What an error adds is averaged over orders of the three and over other people's errors.
    """
    bends = (lambda x: x, lambda x: x) if "lines" in task.world else (lambda x: 0.6 * x * x, np.sin)
    weights = rng.uniform(0.8, 1.6, 2)

    def values(errors: np.ndarray) -> np.ndarray:
        first = errors[:, 0]
        second = weights[0] * bends[0](first) + errors[:, 1]
        third = weights[1] * bends[1](1.5 * second) + errors[:, 2]
        return np.column_stack([first, second, third])

    def errors(n: int) -> np.ndarray:
        return (rng.gamma(2.0, size=(n, 6)) - 2.0) / np.sqrt(2.0)

    own, others = errors(task.n), errors(400)
    chain = values(own)
    truth = np.zeros((task.n, 6))
    for _ in range(60):
        order, mixed = rng.permutation(3), others[rng.integers(0, 400, task.n), :3].copy()
        before = values(mixed)[:, 2]
        for place in order:
            mixed[:, place] = own[:, place]
            after = values(mixed)[:, 2]
            truth[:, place] += (after - before) / 60
            before = after
    shuffled = rng.permutation(6)
    X = np.column_stack([chain, own[:, 3:]])
    return X[:, shuffled], _outcome(1.5 * chain[:, 2], task, rng), truth[:, shuffled]


def render(rows: Sequence[dict[str, object]]) -> str:
    """The page."""
    frame = pd.DataFrame(rows)
    text = [
        "# Curves where the outcome separates",
        "",
        "Made by `benchmarks/separating_outcomes.py`: " + f"{len(frame):,} cohorts from seed "
        f"{int(frame['seed'].min()):,} on.",
        *str(__doc__).split("\n\n")[1].splitlines(),
        "",
        "Overlap (rank-biased, of cases, with the true Shapley values) of lines and of curves; how often",
        "curves tell some outcomes for certain; how often the default takes curves, and would without it.",
        "",
        "| world | steepness | n | cohorts | overlap of lines | of curves | of the default | curves separate "
        "| curves taken | without the exception |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (world, steepness, n), some in frame.groupby(["world", "steepness", "n"]):
        taken, without = ((some[one] == "nonlinear").mean() for one in ("taken", "taken_without"))
        best = " | ".join(f"{some[one].mean():.3f}" for one in ("linear", "nonlinear", "auto"))
        text.append(
            f"| {world} | {steepness:.0f} | {n:,.0f} | {len(some)} | {best} "
            f"| {some['separated'].mean():.0%} | {taken:.0%} | {without:.0%} |"
        )
    by = frame[(frame["taken"] == "nonlinear") & (frame["taken_without"] != "nonlinear")]
    text += ["", "Where the exception decided:", "", "| world | cohorts | overlap of lines | of curves |"]
    text += ["|---|---|---|---|"]
    for world, some in by.groupby("world"):
        text.append(
            f"| {world} | {len(some)} | {some['linear'].mean():.3f} | {some['nonlinear'].mean():.3f} |"
        )
    text += ["", "Worlds:", "", *(f"- *{name}*: {meaning}." for name, meaning in WORLDS.items()), ""]
    return "\n".join(text)


if __name__ == "__main__":
    main()
