"""Do the checks find as much of the default model as of straight lines, and cry wolf no more often?

Each cohort is fitted twice, by the default and by ``mechanism="linear"``, and both models are diagnosed.
Worlds are those of `benchmarks/diagnostics.py` and the nonlinear generator. Choose thresholds on seeds
below 1,000.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections import defaultdict
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from faulty_cohorts import MISPRINT, SCENARIOS, Cohort, _follow_up, draw, names_it
from rows_file import read_rows, write_rows
from scipy.special import expit

from rootcausal import RCI
from rootcausal.data import simulate_nonlinear

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
FOLDER = Path(__file__).parents[1] / "results" / "checks-by-mechanism"
FIRST_SEED = 50_000
STRAIGHT = ("numbers", "skewed", "nominal", "missing")
BENT = ("nonlinear, even", "nonlinear, uneven")
ASKED = ("clean", "effect_of_d", "time_to_event", "defines", "confounder", "flipped", "gaussian", "misprint")
NOT_OF_BENT = ("flipped", "gaussian")
SIZES = ((500, 10), (2_000, 10))
MECHANISMS = ("auto", "linear")
CHECKS = ("terminal", "gives_away", "unconfounded", "same_mechanism", "non_gaussian", "influence", "linear")


class Task(NamedTuple):
    """A cohort, and how it is fitted."""

    world: str
    scenario: str
    n: int
    p: int
    seed: int
    mechanism: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=20, help="of each fault; twice as many clean ones")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--scenarios", nargs="+", choices=ASKED, default=list(ASKED))
    parser.add_argument("--worlds", nargs="+", choices=STRAIGHT + BENT, default=list(STRAIGHT + BENT))
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
            Task(world, scenario, n, p, arguments.first_seed + place, mechanism)
            for place in range(2 * arguments.draws)
            for world in arguments.worlds
            for scenario in arguments.scenarios
            if scenario == "clean" or place < arguments.draws
            if not (world in BENT and scenario in NOT_OF_BENT) and world not in SCENARIOS[scenario].not_of
            for n, p in SIZES
            for mechanism in MECHANISMS
        ]
        with get_context("spawn").Pool(arguments.jobs) as pool:
            for row in pool.imap_unordered(diagnosed, [task for task in tasks if task not in done]):
                write_rows(path, [row])
    rows = read_rows(path)
    (arguments.out / "README.md").write_text(render(rows), encoding="utf-8")
    failed = [row for row in rows if row["failed"]]
    if failed:
        sys.exit(f"{len(failed)} of {len(rows)} cohorts could not be diagnosed: see `failed` in rows.csv")


def diagnosed(task: Task) -> dict[str, object]:
    """One row: whether the right check named the right columns, and what else was named by which check."""
    warnings.simplefilter("ignore")
    row: dict[str, object] = {**task._asdict(), "taken": "", "named": 0, "terminal_named": 0}
    row |= {f"{check}_false": 0 for check in CHECKS} | {"failed": ""}
    try:
        cohort = drawn(task)
        model = RCI(mechanism=task.mechanism, kinds=cohort.kinds).fit(cohort.X, cohort.y)
        checks = {check.name: check for check in model.diagnose(cohort.X, cohort.y).checks}
    except Exception as error:  # one cohort that fails is a finding, and no reason to lose the others
        return {**row, "failed": f"{type(error).__name__}: {error}".replace("\n", " ")[:200]}
    row["taken"] = model.provenance_.get("mechanism", {}).get("taken", task.mechanism)
    loud = {
        name: set(checks[name].variables)
        for name in CHECKS
        if name in checks and checks[name].verdict in ("doubtful", "broken")
    }
    row["named"] = int(names_it(cohort, checks))
    row["terminal_named"] = int(bool(set(cohort.columns) & loud.get("terminal", set())))
    for name, variables in loud.items():
        row[f"{name}_false"] = int(bool(variables - set(cohort.columns)))
    return row


def drawn(task: Task) -> Cohort:
    if task.world in BENT:
        return draw_bent(task.scenario, task.n, task.p, task.seed, task.world == BENT[1])
    return draw(task.world, task.scenario, task.n, task.p, task.seed)


def draw_bent(scenario: str, n: int, p: int, seed: int, uneven: bool) -> Cohort:
    """A cohort of the nonlinear generator with a fault; leaks are a column of their own, the last."""
    rng = np.random.default_rng([seed, n, p, list(SCENARIOS).index(scenario)])
    for attempt in range(1000):
        made = simulate_nonlinear(n, p, heteroscedastic=uneven, n_walks=16, random_state=[seed, attempt])
        ancestors = made.mechanism.ancestors()
        if ancestors.size >= 2:
            break
    mechanism, X, y, places = made.mechanism, made.X, made.y, ()
    late = p - 1
    if scenario == "confounder":
        places = rng.choice(ancestors, 2, replace=False)
        errors = made.errors.copy()
        errors[:, places] += rng.laplace(0, np.sqrt(0.5), n)[:, None]
        X = mechanism.values(errors)
        y = (rng.random(n) < expit(mechanism.log_odds(X))).astype(int)
    latent = mechanism.log_odds(X) + rng.logistic(size=n)
    if scenario == "effect_of_d":
        X, places = np.column_stack([X, _effect(X, y, uneven, rng)]), (late,)
    if scenario == "time_to_event":
        time, y = _follow_up(latent, rng)
        X, places = np.column_stack([X, time]), (late,)
    if scenario == "defines":
        y = (latent > 0).astype(int)
        X = np.column_stack([X, latent + 0.05 * latent.std() * rng.standard_normal(n)])
        places = (late,)
    if scenario == "misprint":
        places = rng.choice(ancestors, 1)
        X = X.copy()
        column = X[:, places[0]]
        column[rng.choice(np.flatnonzero(np.abs(column) >= np.median(np.abs(column))))] *= MISPRINT
    return Cohort(X, y, {}, scenario, tuple(f"x{place}" for place in places))


def _effect(X: np.ndarray, y: np.ndarray, uneven: bool, rng: np.random.Generator) -> np.ndarray:
    """An error plus D times one sd of it; in two of three, what a column does to it by a bend is added."""
    n, cause = len(X), X[:, rng.integers(X.shape[1])]
    laws = (
        rng.standard_t(5, n) * np.sqrt(0.6),
        (rng.chisquare(3, n) - 3) / np.sqrt(6),
        rng.uniform(-1.73, 1.73, n),
    )
    spread = (0.5 + expit(2 * cause)) if uneven else 1.0
    centre = np.tanh(1.5 * cause) if rng.random() < 2 / 3 else 0.0
    return np.asarray(centre + 0.8 * spread * (laws[rng.integers(3)] + y))


def render(rows: Sequence[dict[str, object]]) -> str:
    """The page."""
    frame = pd.DataFrame([row for row in rows if not row["failed"]])
    text = [
        "# What the checks find of the default model, and of lines",
        "",
        f"Made by `benchmarks/checks_by_mechanism.py`: {len(frame):,} models of cohorts from seed "
        f"{int(frame['seed'].min()):,} on, {int(frame['p'].max())} variables with the diagnosis; the rows "
        'are in `rows.csv`. *default* is `RCI()`, *lines* `RCI(mechanism="linear")`. Numbers are shares '
        "of cohorts; those whose model lacks the column count as missed.",
        "",
        "## Broken hard: the right check names the right columns",
        "",
        "For leaks that is `gives_away` or `terminal`; `terminal` alone stands behind it.",
        "",
        "| scenario | world | n | cohorts | default | lines | nonlinear taken |",
        "|---|---|---|---|---|---|---|",
    ]
    text += _table(frame[frame["scenario"] != "clean"], _named)
    text += [
        "",
        "## Clean: a check speaks",
        "",
        "Of each check: by the default / by lines. In nonlinear worlds `linear` is right to speak of lines.",
        "",
        "| world | n | cohorts | " + " | ".join(CHECKS) + " |",
        "|---|---|---|" + "---|" * len(CHECKS),
    ]
    clean = frame[frame["scenario"] == "clean"]
    for (world, n), some in clean.groupby(["world", "n"], sort=False):
        by = {mechanism: some[some["mechanism"] == mechanism] for mechanism in MECHANISMS}
        told = [
            " / ".join(
                f"{by[mechanism][f'{check}_false'].astype(int).mean():.0%}" for mechanism in MECHANISMS
            )
            for check in CHECKS
        ]
        text.append(f"| {world} | {n:,.0f} | {len(by['auto'])} | " + " | ".join(told) + " |")
    leaks = frame[frame["scenario"].isin(["effect_of_d", "time_to_event"])]
    text += [
        "",
        "## Beside a leak: `terminal` names another column, too",
        "",
        "| scenario | world | n | cohorts | default | lines | nonlinear taken |",
        "|---|---|---|---|---|---|---|",
        *_table(leaks, lambda some: f"{some['terminal_false'].astype(int).mean():.0%}"),
        "",
        "## What is broken",
        "",
        *(f"- *{name}*: {SCENARIOS[name].meaning}." for name in ASKED),
        "",
    ]
    return "\n".join(text)


def _named(some: pd.DataFrame) -> str:
    said = f"{some['named'].astype(int).mean():.0%}"
    if some["scenario"].iloc[0] in ("effect_of_d", "time_to_event", "defines"):
        said += f" ({some['terminal_named'].astype(int).mean():.0%})"
    return said


def _table(frame: pd.DataFrame, told) -> list[str]:
    lines = []
    by_cell: dict[tuple, dict[str, pd.DataFrame]] = defaultdict(dict)
    for (scenario, world, n, mechanism), some in frame.groupby(
        ["scenario", "world", "n", "mechanism"], sort=False
    ):
        by_cell[scenario, world, n][mechanism] = some
    for (scenario, world, n), by in sorted(by_cell.items(), key=lambda cell: ASKED.index(cell[0][0])):
        taken = (by["auto"]["taken"] == "nonlinear").mean()
        both = " | ".join(told(by[mechanism]) for mechanism in MECHANISMS)
        lines.append(f"| {scenario} | {world} | {n:,.0f} | {len(by['auto'])} | {both} | {taken:.0%} |")
    return lines


if __name__ == "__main__":
    main()
