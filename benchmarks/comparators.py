"""Why some comparators score otherwise than in the paper: each beside a variant that may explain it.

    python benchmarks/comparators.py --jobs 16       # writes results/comparators/README.md

The data sets are the first ones of `rootcausal reproduce`, so that its rows can be compared one by one.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from measure import machine, table
from threadpoolctl import threadpool_limits

from rootcausal.comparators import AdaptiveLogistic, ConditionalOutliers, ICAPrediction, ModelSubstitution
from rootcausal.comparators.disease_graph import DiseaseGraph, learn_disease_graph
from rootcausal.experiments.paper import CELLS, OVERLAP, OVERLAP_METHODS
from rootcausal.experiments.sources import Sample, Synthetic
from rootcausal.experiments.tasks import data_seed
from rootcausal.lingam import DirectLiNGAM
from rootcausal.metrics import rank_biased_overlap

FOLDER = Path(__file__).parent.parent / "results" / "comparators"
TREES = (100, 500)
VARIANTS = {
    "ICA, 100 trees": "ICA",
    "ICA, 500 trees": "ICA",
    "CO": "CO",
    "CO, no pruning": "CO",
    "MS": "MS",
    "MS, recycled": "MS",
    "MS, no pruning, recycled": "MS",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=30, help="data sets a cell")
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--out", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    cells = [(n, p, number) for n, p in CELLS for number in range(arguments.sets)]
    # The long ones first, so that no core waits at the end.
    work = Parallel(n_jobs=arguments.jobs)(delayed(evaluate)(*cell) for cell in reversed(cells))
    rows = sorted(work, key=lambda row: (row["p"], row["n"], row["number"]))
    with (arguments.out / "rows.csv").open("w", newline="", encoding="utf-8") as handle:
        writer = csv.DictWriter(handle, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (arguments.out / "README.md").write_text(render(rows, arguments.sets), encoding="utf-8")


def evaluate(n: int, p: int, number: int) -> dict[str, float]:
    source = Synthetic(n, p)
    seed = data_seed(source, number, 0)
    sample = source.draw(seed)
    overlaps: dict[str, float] = {"n": n, "p": p, "number": number}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # separated classes at n = 100
        for name, scores in variants(sample, int(seed.generate_state(1)[0])).items():
            overlaps[name] = round(rank_biased_overlap(sample.truth, scores()), 6)
    return overlaps


def variants(sample: Sample, seed: int) -> dict[str, Callable[[], np.ndarray]]:
    X, y = sample.X, sample.y
    logistic = AdaptiveLogistic(random_state=seed).fit(X, y)
    Z = (X - logistic.mean_) / logistic.sd_
    pruned = learn_disease_graph(Z, y, seed, logistic)
    full = DiseaseGraph(
        DirectLiNGAM(variant="plus").fit(Z).adjacency_matrix_, logistic.coef_, logistic.intercept_
    )
    scores: dict[str, Callable[[], np.ndarray]] = {
        f"ICA, {trees} trees": lambda trees=trees: (
            ICAPrediction(n_trees=trees, random_state=seed).fit(X, y).scores(X)
        )
        for trees in TREES
    }
    return scores | {
        "CO": lambda: ConditionalOutliers().fit(X, y, graph=pruned).scores(X),
        "CO, no pruning": lambda: ConditionalOutliers().fit(X, y, graph=full).scores(X),
        "MS": lambda: ModelSubstitution().fit(X, y, graph=pruned).scores(X),
        "MS, recycled": lambda: recycled(ModelSubstitution().fit(X, y, graph=pruned).scores(X)),
        "MS, no pruning, recycled": lambda: recycled(ModelSubstitution().fit(X, y, graph=full).scores(X)),
    }


def recycled(scores: np.ndarray) -> np.ndarray:
    """One score a variable, laid end to end down the columns of the matrix of patients, as R does."""
    n, p = scores.shape
    return np.resize(scores[0], n * p).reshape((n, p), order="F")


def render(rows: list[dict[str, float]], sets: int) -> str:
    lines = []
    for n, p in CELLS:
        here = [row for row in rows if (row["n"], row["p"]) == (n, p)]
        published = dict(zip(OVERLAP_METHODS, OVERLAP[n, p], strict=True))
        line = [f"{n:,}", str(p)]
        for name, method in VARIANTS.items():
            values = [row[name] for row in here]
            error = np.std(values, ddof=1) / np.sqrt(len(values))
            line.append(f"{np.mean(values):.3f} ± {error:.3f} ({published[method]:.3f})")
        lines.append(line)
    head = HEAD.format(sets=sets, machine=machine())
    return head + table(["n", "p", *VARIANTS], lines) + "\n"


HEAD = """\
# Comparators that score otherwise than in the paper

Made by `python benchmarks/comparators.py` on {machine}. Rank-biased overlap, mean ± standard error over
the first {sets} data sets of each cell of `rootcausal reproduce`, the paper's mean in brackets; one row a
data set is in `rows.csv`.

- *ICA, 500 trees*: the authors do not name a number; 500 is the default of R's randomForest.
- *CO, no pruning*: the graph keeps all edges that Direct LiNGAM's order allows, so that nearly every variable
  is an ancestor of D.
- *MS, recycled*: the vector of one score a variable laid end to end down the columns of the matrix of
  patients, which is what the authors' code does.

"""


if __name__ == "__main__":
    main()
