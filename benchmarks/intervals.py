"""Do 95 % bootstrap intervals hold the true Shapley values of true ancestors in 95 % of cases?

    python benchmarks/intervals.py               # 200 data sets a cell, 100 resamples each; about an hour
    python benchmarks/intervals.py --sets 30     # fewer of them
    python benchmarks/intervals.py --render      # only rewrite the table from the rows at hand

Rows are appended as they are made, and a second run goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np

from rootcausal import RCI, __version__
from rootcausal.data import simulate

CELLS = [(1000, 10, "paper"), (1000, 10, "sharp"), (1000, 50, "paper"), (1000, 50, "sharp")]
FIRST_SEED = 20_000
N_SETS = 200
RESAMPLES = 100
# Log-odds for one standard deviation of an ancestor's error, below which it counts as weak.
WEAK = 0.3
FOLDER = Path(__file__).parent.parent / "results" / "intervals"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=N_SETS, help="data sets a cell")
    parser.add_argument("--render", action="store_true", help="only render what is there")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    rows_file = FOLDER / "rows.csv"
    if not arguments.render:
        run(rows_file, arguments.sets)
    (FOLDER / "README.md").write_text(render(read(rows_file)), encoding="utf-8")


def run(rows_file: Path, n_sets: int) -> None:
    done = {tuple(row[:4]) for row in read(rows_file)} if rows_file.exists() else set()
    # Seed by seed, so that all cells have the same data sets whenever it is stopped.
    for seed in range(FIRST_SEED, FIRST_SEED + n_sets):
        for n, p, attribution in CELLS:
            if (str(n), str(p), attribution, str(seed)) in done:
                continue
            rows = evaluate(n, p, attribution, seed)
            with rows_file.open("a", newline="", encoding="utf-8") as handle:
                csv.writer(handle).writerows(rows)


def evaluate(n: int, p: int, attribution: str, seed: int) -> list[list[object]]:
    """One row an ancestor: n, p, attribution, seed, its effect, share of patients covered, mean width."""
    cohort = simulate(n, p, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = RCI(attribution=attribution).fit(cohort.X, cohort.y).bootstrap(RESAMPLES)
    explanation = model.explain(cohort.X)
    covered = (explanation.lower <= cohort.true_shapley) & (cohort.true_shapley <= explanation.upper)
    width = explanation.upper - explanation.lower
    effect = cohort.effects * cohort.errors.std(axis=0)
    return [
        [
            n,
            p,
            attribution,
            seed,
            f"{effect[c]:.4g}",
            f"{covered[:, c].mean():.4g}",
            f"{width[:, c].mean():.4g}",
        ]
        for c in np.flatnonzero(cohort.effects)
    ]


def read(rows_file: Path) -> list[list[str]]:
    with rows_file.open(newline="", encoding="utf-8") as handle:
        return list(csv.reader(handle))


def render(rows: list[list[str]]) -> str:
    lines = [
        "# Coverage of the bootstrap intervals",
        "",
        f"Made by `python benchmarks/intervals.py` with rootcausal {__version__}: seeds {FIRST_SEED} and "
        f"above, {RESAMPLES} resamples. Share of true Shapley values of true ancestors, over patients, in "
        "their 95 % percentile interval; its standard error is over data sets. Ancestors that the t-test "
        f"dropped count too. Weak: less than {WEAK} log-odds for one standard deviation of the error. "
        "`rows.csv` has one line an ancestor: n, p, attribution, seed, effect, share covered, mean width.",
        "",
        "| n | p | attribution | data sets | ancestors | covered | weak ones | strong ones | width |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for n, p, attribution in CELLS:
        cell = [row for row in rows if row[:3] == [str(n), str(p), attribution]]
        seeds = np.array([int(row[3]) for row in cell])
        effect, covered, width = np.array([[float(value) for value in row[4:]] for row in cell]).T
        weak = np.abs(effect) < WEAK
        lines.append(
            f"| {n:,} | {p} | {attribution} | {np.unique(seeds).size} | {len(cell)} "
            f"| {covered.mean():.1%} ± {standard_error(seeds, covered):.1%} | {covered[weak].mean():.1%} "
            f"| {covered[~weak].mean():.1%} | {width.mean():.2f} |"
        )
    return "\n".join(lines) + "\n"


def standard_error(seeds: np.ndarray, covered: np.ndarray) -> float:
    """Of a mean over ancestors, which are alike within a data set."""
    left = covered - covered.mean()
    sums = np.array([left[seeds == seed].sum() for seed in np.unique(seeds)])
    return float(np.sqrt((sums**2).sum()) / covered.size)


if __name__ == "__main__":
    main()
