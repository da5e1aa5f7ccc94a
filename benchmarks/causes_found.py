"""How well root causes are found in simulated cohorts: what `many_causes.py` and `other_worlds.py` share."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from intervals import WEAK, standard_error
from joblib import Parallel, delayed
from measure import table
from rows_file import read_rows, write_rows
from sklearn.linear_model import LogisticRegression

from rootcausal import RCI
from rootcausal.comparators import TTest
from rootcausal.data import SimulatedCohort
from rootcausal.metrics import rank_biased_overlap, shapley_mse

RCIS: dict[str, Callable[[], RCI]] = {
    "default": RCI,
    "paper": lambda: RCI(alpha=0.2, attribution="paper"),
    "paper_all": lambda: RCI(alpha=1.0, attribution="paper"),
}
# Scores without an order of causes; none of them is in log-odds of errors, so they have an overlap alone.
PREDICTORS = ("logistic", "t_test", "z")
METHODS = (*RCIS, *PREDICTORS)
RESAMPLES = 100
TENTHS = 10
CALIBRATED_WITHIN = 0.05
COVERED, WEAK_COVERED = 0.93, 0.90

Cell = dict[str, object]


class Draw(Protocol):
    """Draws the cohort of a cell by a seed."""

    def __call__(self, *, seed: int, **cell: object) -> SimulatedCohort: ...


@dataclass(frozen=True)
class Kept:
    """The files of a benchmark: one row a cohort and method, a tenth of probabilities, an ancestor."""

    folder: Path

    @property
    def overlaps(self) -> Path:
        return self.folder / "rows.csv"

    @property
    def probabilities(self) -> Path:
        return self.folder / "probabilities.csv"

    @property
    def intervals(self) -> Path:
        return self.folder / "intervals.csv"


def run(kept: Kept, draw: Draw, cells: Iterable[Cell], seeds: range, jobs: int) -> None:
    """Overlaps, errors and stated probabilities of the cohorts that the files do not have yet."""
    for cell, missing in still_missing(kept.overlaps, cells, seeds):
        found = Parallel(n_jobs=jobs)(delayed(evaluate)(draw, cell, seed) for seed in missing)
        if any(rows for _, rows in found):
            write_rows(kept.probabilities, [row for _, rows in found for row in rows])
        write_rows(kept.overlaps, [row for rows, _ in found for row in rows])
        print(*cell.values(), "done", flush=True)


def run_intervals(kept: Kept, draw: Draw, cells: Iterable[Cell], seeds: range, jobs: int) -> None:
    for cell, missing in still_missing(kept.intervals, cells, seeds):
        found = Parallel(n_jobs=jobs)(delayed(covered)(draw, cell, seed) for seed in missing)
        write_rows(kept.intervals, [row for rows in found for row in rows])
        print(*cell.values(), "intervals done", flush=True)


def still_missing(path: Path, cells: Iterable[Cell], seeds: range) -> Iterable[tuple[Cell, list[int]]]:
    rows = read_rows(path)
    for cell in cells:
        done = {row["seed"] for row in of_cell(rows, cell)}
        missing = [seed for seed in seeds if seed not in done]
        if missing:
            yield cell, missing


def of_cell(rows: list[Cell], cell: Cell) -> list[Cell]:
    return [row for row in rows if all(row[name] == value for name, value in cell.items())]


def evaluate(draw: Draw, cell: Cell, seed: int) -> tuple[list[Cell], list[Cell]]:
    """One row a method; one row a tenth of the probabilities that the default states."""
    cohort, rows = draw(seed=seed, **cell), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # no survivor, or separated classes: they count too
        for method, make in RCIS.items():
            model = make().fit(cohort.X, cohort.y)
            scores = model.scores(cohort.X)
            if method == "default":
                stated = model.ancestor_probability_
            overlap = rank_biased_overlap(cohort.true_shapley, scores)
            mse = shapley_mse(cohort.true_shapley, scores)
            rows.append(cell | {"seed": seed, "method": method, "overlap": overlap, "mse": mse})
    for method, scores in predictors(cohort).items():
        overlap = rank_biased_overlap(cohort.true_shapley, scores)
        rows.append(cell | {"seed": seed, "method": method, "overlap": overlap, "mse": ""})
    # Where curves are taken by default, there are none.
    told = [] if stated is None else tenths(stated, cohort.effects != 0.0)
    return rows, [cell | {"seed": seed} | tenth for tenth in told]


def predictors(cohort: SimulatedCohort) -> dict[str, np.ndarray]:
    """What is done without causes: coefficient × value, a t-test for all alike, distance from the mean."""
    Z = (cohort.X - cohort.X.mean(axis=0)) / cohort.X.std(axis=0, ddof=1)
    coefficients = LogisticRegression(max_iter=10_000).fit(Z, cohort.y).coef_[0]
    t_test = TTest().fit(cohort.X, cohort.y).scores(cohort.X)
    return {"logistic": Z * coefficients, "t_test": t_test, "z": np.abs(Z)}


def tenths(stated: np.ndarray, ancestor: np.ndarray) -> list[Cell]:
    """Variables whose stated probability is in a tenth: how many, its sum, and how many are ancestors."""
    tenth = np.minimum((stated * TENTHS).astype(int), TENTHS - 1)
    return [
        {
            "tenth": int(one),
            "variables": int((tenth == one).sum()),
            "stated": float(stated[tenth == one].sum()),
            "ancestors": int(ancestor[tenth == one].sum()),
        }
        for one in np.unique(tenth)
    ]


def covered(draw: Draw, cell: Cell, seed: int) -> list[Cell]:
    """One row a true ancestor: its effect, the share of intervals that hold the truth, their mean width."""
    cohort = draw(seed=seed, **cell)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = RCI().fit(cohort.X, cohort.y).bootstrap(RESAMPLES)
    told = model.explain(cohort.X)
    held = (told.lower <= cohort.true_shapley) & (cohort.true_shapley <= told.upper)
    effect = cohort.effects * cohort.errors.std(axis=0)
    return [
        cell
        | {"seed": seed, "effect": float(effect[c]), "covered": float(held[:, c].mean())}
        | {"width": float((told.upper - told.lower)[:, c].mean())}
        for c in np.flatnonzero(cohort.effects)
    ]


def overlap_table(rows: list[Cell], cells: list[Cell]) -> str:
    """A line a cell: overlaps of all methods, and the default's gain over each of the paper's."""
    lines, heads = [], ["gain over paper", "over paper_all", "MSE default", "MSE paper", "MSE paper_all"]
    for cell in cells:
        here = of_cell(rows, cell)
        if not here:
            continue
        overlap, mse = ({m: figure_of(here, m, name) for m in METHODS} for name in ("overlap", "mse"))
        lines.append(
            [f"{value:,g}" if isinstance(value, int | float) else str(value) for value in cell.values()]
            + [str(overlap["default"].size)]
            + [f"{overlap[method].mean():.3f}" for method in METHODS]
            + [with_error(overlap["default"] - overlap[paper]) for paper in ("paper", "paper_all")]
            + [f"{mse[method].mean():.3f}" for method in RCIS]
        )
    return table([*cells[0], "cohorts", *METHODS, *heads], lines)


def figure_of(rows: list[Cell], method: str, name: str) -> np.ndarray:
    """(cohorts,) by seed, so that differences are paired."""
    of_method = sorted((row["seed"], row[name]) for row in rows if row["method"] == method)
    return np.array([value if value != "" else np.nan for _, value in of_method])


def with_error(differences: np.ndarray) -> str:
    error = differences.std(ddof=1) / differences.size**0.5 if differences.size > 1 else float("nan")
    return f"{differences.mean():+.3f} ± {error:.3f}"


def probability_table(rows: list[Cell]) -> str:
    """A line a tenth, over all cells."""
    lines = []
    for tenth in range(TENTHS):
        here = [row for row in rows if row["tenth"] == tenth]
        if not here:
            continue
        variables, stated, ancestors = (
            sum(row[name] for row in here) for name in ("variables", "stated", "ancestors")
        )
        off = (ancestors - stated) / variables
        verdict = "yes" if abs(off) <= CALIBRATED_WITHIN else "no"
        shown = [f"{stated / variables:.3f}", f"{ancestors / variables:.3f}", f"{off:+.3f}", verdict]
        lines.append([f"{tenth / TENTHS:g} to {(tenth + 1) / TENTHS:g}", f"{variables:,.0f}", *shown])
    return table(["stated", "variables", "mean stated", "ancestors", "off", f"≤ {CALIBRATED_WITHIN}"], lines)


def interval_table(rows: list[Cell], cells: list[Cell]) -> str:
    lines: list[list[str]] = []
    for cell in cells:
        here = of_cell(rows, cell)
        if not here:
            continue
        seeds, effect, share, width = (
            np.array([row[name] for row in here]) for name in ("seed", "effect", "covered", "width")
        )
        weak = np.abs(effect) < WEAK
        of_weak = f"{share[weak].mean():.1%}" if weak.any() else ""
        of_strong = f"{share[~weak].mean():.1%}" if not weak.all() else ""
        lines.append(
            [f"{value:,g}" if isinstance(value, int | float) else str(value) for value in cell.values()]
            + [str(np.unique(seeds).size), str(len(here))]
            + [f"{share.mean():.1%} ± {standard_error(seeds, share):.1%}", of_weak, of_strong]
            + [f"{width.mean():.2f}"]
        )
    heads = ["cohorts", "ancestors", "covered", f"weak (< {WEAK})", "others", "width"]
    return table([*cells[0], *heads], lines)


WHAT_IS_SHOWN = [
    '- *default*: `RCI()`. *paper*: `attribution="paper"` with the paper\'s `alpha=0.2`; *paper_all*: with '
    "`alpha=1`, without a screen.",
    "- *logistic*: coefficient × value, standardised; *t_test*: all patients get the same order; *z*: how "
    "far each value is from the mean, in standard deviations. None of these is meant to tell root causes.",
    "- Overlap of ranked root causes with the truth (rank-biased overlap) and squared error of Shapley "
    "values (MSE), means over cohorts; ± is the standard error of the mean gain, cohort by cohort.",
]


def tables(kept: Kept, cells: list[Cell], with_intervals: list[Cell]) -> list[str]:
    """The tables of a page and what they show."""
    lines = [
        *WHAT_IS_SHOWN,
        "",
        overlap_table(read_rows(kept.overlaps), cells),
        "",
        "## What stated probabilities mean",
        "",
        "All variables of all cohorts, those that a screen dropped among them, by `ancestor_probability_` of "
        f"the default. The goal is within {CALIBRATED_WITHIN} in each tenth.",
        "",
        probability_table(read_rows(kept.probabilities)),
    ]
    if kept.intervals.exists():
        lines += [
            "",
            "## Coverage of 95 % intervals",
            "",
            f"Of true Shapley values of true ancestors, over patients, {RESAMPLES} resamples of the default; "
            f"± is the standard error over cohorts. Weak: less than {WEAK} log-odds for one standard "
            f"deviation of the error. Goals: {COVERED:.0%} of all, {WEAK_COVERED:.0%} of weak ones.",
            "",
            interval_table(read_rows(kept.intervals), with_intervals),
        ]
    return lines


def add_options(parser: argparse.ArgumentParser, folder: Path, sets: int, interval_sets: int) -> None:
    parser.add_argument("--sets", type=int, default=sets, help="cohorts a cell")
    parser.add_argument("--interval-sets", type=int, default=interval_sets, help="of these, with resamples")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, default=folder)
    parser.add_argument("--render", action="store_true", help="only render what is there")
