"""What do inclusion weights give back, where patients were chosen by diagnosis and severity?

    python benchmarks/selection.py             # 30 studies a cell
    python benchmarks/selection.py --render    # only rewrite the page from the rows at hand

Rows are appended as they are made, and a second run goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from rows_file import read_rows, write_rows
from sklearn.linear_model import LogisticRegression

from rootcausal import RCI, __version__
from rootcausal.data import simulate
from rootcausal.method.weighted import effective_rows
from rootcausal.metrics import rank_biased_overlap

P = 20  # variables, D among them
POPULATION = 60_000
# The chance to be in the study, in words and by (healthy, ill) x (mild, severe).
DESIGNS = {
    "severe cases": ((0.1, 0.1), (0.1, 0.9)),
    "severe cases, healthy controls": ((0.9, 0.1), (0.1, 0.9)),
}
PATIENTS = (300, 1000, 4000)
FIRST_SEED = 41_000
ASKED = ("all", "chosen", "weighted", "half", "logistic", "weighted_logistic")
PAGE = """# Patients chosen by diagnosis and severity: with and without inclusion weights

Made by `python benchmarks/selection.py` with rootcausal {version}, seeds {seed} and above; one row a study is
in `rows.csv`.

Populations of {people:,} by the paper's generator (p = {p}, D among them). Severity is the log-odds of each
patient and as much noise; severe is who is above its median. Studies of n patients take each with a chance
that diagnosis and severity make, of which the weights are the inverse:

{designs}

Overlap with the true root causes (rank-biased overlap) of up to 2,000 cases of the population who are not in
the study, its mean over studies; *n eff* is the effective sample size of the weights.

- *unselected*: n patients of the population at random, what a study could give at best.
- *chosen*: `RCI(mechanism="linear")`, which takes the study for the population.
- *weighted*: with `weights=` 1 / chance; ± is the standard error of its gain over *chosen*, study by study.
- *too weak*: with the root of these weights.
- *logistic*, *its weighted*: the plain baseline, values times the coefficients of a logistic regression
  (L2, C = 1) on all columns, without and with the weights.

| design | n | n eff | studies | unselected | chosen | weighted | gain | too weak | logistic | its weighted |
|---|---|---|---|---|---|---|---|---|---|---|"""
FOLDER = Path(__file__).parent.parent / "results" / "selection"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=30, help="studies a cell")
    parser.add_argument("--render", action="store_true", help="only render what is there")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    rows_file = FOLDER / "rows.csv"
    if not arguments.render:
        warnings.simplefilter("ignore", UserWarning)  # separated classes count like any other study
        done = {(row["design"], row["n"], row["seed"]) for row in read_rows(rows_file)}
        for design in DESIGNS:
            for n in PATIENTS:
                for seed in range(FIRST_SEED, FIRST_SEED + arguments.sets):
                    if (design, n, seed) not in done:
                        write_rows(rows_file, [evaluate(design, n, seed)])
                print(f"{design}, {n}: done", flush=True)
    (FOLDER / "README.md").write_text(render(read_rows(rows_file)), encoding="utf-8")


def evaluate(design: str, n: int, seed: int) -> dict[str, object]:
    """Overlap with the true root causes, of cases of the population who are in no study."""
    people = simulate(POPULATION, P, random_state=seed)
    X, y, rng = np.asarray(people.X), np.asarray(people.y), np.random.default_rng(seed)
    # Severity is what a clinician would see: the patient's log-odds, and as much noise.
    log_odds = X @ people.target_weights
    severity = log_odds + log_odds.std() * rng.standard_normal(y.size)
    severe = severity > np.median(severity)
    chance = np.array(DESIGNS[design])[y, severe.astype(int)]
    order = rng.permutation(y.size)
    taken = order[rng.random(y.size)[order] < chance[order]][:n]
    asked = np.setdiff1d(np.flatnonzero(y == 1), taken)[:2000]
    truth, of_asked = people.true_shapley[asked], X[asked]
    weights = 1.0 / chance[taken]
    found = {
        "all": RCI(mechanism="linear").fit(X[order[:n]], y[order[:n]]).scores(of_asked),
        "chosen": RCI(mechanism="linear").fit(X[taken], y[taken]).scores(of_asked),
        "weighted": RCI(mechanism="linear").fit(X[taken], y[taken], weights=weights).scores(of_asked),
        # The true ratios, of which only the root is said.
        "half": RCI(mechanism="linear").fit(X[taken], y[taken], weights=weights**0.5).scores(of_asked),
        "logistic": logistic(X[taken], y[taken], None, of_asked),
        "weighted_logistic": logistic(X[taken], y[taken], weights, of_asked),
    }
    overlap = {name: rank_biased_overlap(truth, found[name]) for name in ASKED}
    effective = effective_rows(weights)
    return {"design": design, "n": n, "seed": seed, "effective": effective, **overlap}


def logistic(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None, asked: np.ndarray) -> np.ndarray:
    """The plain baseline: what each value adds to the log-odds of a logistic regression on all columns."""
    mean, sd = np.average(X, axis=0, weights=weights), X.std(axis=0)
    model = LogisticRegression(C=1.0, max_iter=1000)
    model.fit((X - mean) / sd, y, sample_weight=weights)
    return np.asarray((asked - mean) / sd * model.coef_[0])


def render(rows: list[dict[str, object]]) -> str:
    taken = [
        f"- *{name}*: cases {ill[1]} where severe and {ill[0]} where mild, controls {well[1]} and {well[0]}."
        for name, (well, ill) in DESIGNS.items()
    ]
    of_designs = "\n".join(taken)
    lines = [PAGE.format(version=__version__, seed=FIRST_SEED, people=POPULATION, p=P, designs=of_designs)]
    for design in DESIGNS:
        for n in PATIENTS:
            cell = [row for row in rows if row["design"] == design and row["n"] == n]
            if cell:
                lines.append(f"| {design} | {n:,} | {_cells(cell)} |")
    return "\n".join(lines) + "\n"


def _cells(cell: list[dict[str, object]]) -> str:
    of = {name: np.array([float(str(row[name])) for row in cell]) for name in ("effective", *ASKED)}
    gain = of["weighted"] - of["chosen"]
    error = gain.std(ddof=1) / len(cell) ** 0.5 if len(cell) > 1 else float("nan")
    return " | ".join(
        [
            f"{of['effective'].mean():,.0f}",
            f"{len(cell)}",
            *(f"{of[name].mean():.3f}" for name in ("all", "chosen", "weighted")),
            f"{gain.mean():+.3f} ± {error:.3f}",
            *(f"{of[name].mean():.3f}" for name in ("half", "logistic", "weighted_logistic")),
        ]
    )


if __name__ == "__main__":
    main()
