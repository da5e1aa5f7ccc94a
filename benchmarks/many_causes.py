"""Does the default hold where the disease has many direct causes, and what do its probabilities mean there?

    python benchmarks/many_causes.py                                        # all cells, 30 cohorts each
    python benchmarks/many_causes.py --causes 2 16 --rows 300 --variables 20 --sets 5 --out /tmp/causes
    python benchmarks/many_causes.py --render                               # only the page, from rows at hand

Rows are appended as they are made, and a second run goes on where the first one stopped. Tuning may use seeds
below 60,000; these are that and above.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from causes_found import Cell, Kept, add_options, run, run_intervals, tables
from scipy.sparse import eye_array
from scipy.sparse.linalg import spsolve_triangular
from scipy.special import expit

from rootcausal import __version__
from rootcausal.data import SimulatedCohort
from rootcausal.data.exogenous_errors import FAMILIES, draw_errors
from rootcausal.data.simulate import LARGEST_WEIGHT, SMALLEST_WEIGHT, draw_graph

ROWS = (100, 300, 1000, 10_000)
VARIABLES = (10, 20, 50)
CAUSES = (1, 2, 5, 10, 16, 30)
NEIGHBOURS = 2.0
# Bootstraps take long: fewer cells and cohorts.
INTERVALS: list[Cell] = [{"n": n, "p": 20, "causes": k} for n in (300, 1000) for k in (2, 5, 10)]
SETS, INTERVAL_SETS = 30, 20
FIRST_SEED = 60_000
FOLDER = Path(__file__).parent.parent / "results" / "many-causes"


def draw(*, n: int, p: int, causes: int, seed: int) -> SimulatedCohort:
    """The paper's generator, p vertices with D, where D has so many parents."""
    rng = np.random.default_rng([seed, n, p, causes])
    graph = draw_graph(p - 1, NEIGHBOURS / (p - 1), rng)
    weights = np.zeros(p - 1)
    parents = rng.choice(p - 1, causes, replace=False)
    weights[parents] = rng.uniform(SMALLEST_WEIGHT, LARGEST_WEIGHT, causes) * rng.choice([-1, 1], causes)
    system = eye_array(p - 1, format="csr") - graph
    effects = spsolve_triangular(system.T.tocsr(), weights, lower=False, unit_diagonal=True)
    family = rng.integers(FAMILIES, size=p - 1)
    y = np.zeros(n, dtype=np.int64)
    while min(y.sum(), n - y.sum()) < 2:
        errors = draw_errors(n, family, rng)
        X = spsolve_triangular(system, errors.T, lower=True, unit_diagonal=True).T
        y = (rng.random(n) < expit(X @ weights)).astype(np.int64)
    order = rng.permutation(p - 1)
    return SimulatedCohort(
        X=X.take(order, axis=1),
        y=y,
        errors=errors.take(order, axis=1),
        true_shapley=(errors * effects).take(order, axis=1),
        effects=effects[order],
        target_weights=weights[order],
        adjacency_sparse=graph[order][:, order],
        feature_names=tuple(f"x{column}" for column in range(p - 1)),
        target_name="D",
    )


def cells(rows: Sequence[int], variables: Sequence[int], causes: Sequence[int]) -> list[Cell]:
    """Those in which D has no more parents than there are columns."""
    return [{"n": n, "p": p, "causes": k} for p in variables for k in causes if k < p for n in rows]


def render(kept: Kept) -> str:
    lines = [
        "# One direct cause to thirty",
        "",
        f"Made by `python benchmarks/many_causes.py` with rootcausal {__version__}, seeds {FIRST_SEED} and "
        "above. Cohorts by the paper's generator, p vertices with D among them, but D's number of parents "
        f"(*causes*) is set; their weights are the paper's, {SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g} either "
        "way, so log-odds grow with their number.",
        "",
        *tables(kept, cells(ROWS, VARIABLES, CAUSES), INTERVALS),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, values in (("--rows", ROWS), ("--variables", VARIABLES), ("--causes", CAUSES)):
        parser.add_argument(name, type=int, nargs="+", choices=values, default=values, metavar="N")
    add_options(parser, FOLDER, SETS, INTERVAL_SETS)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    kept = Kept(arguments.out)
    if not arguments.render:
        wanted = cells(arguments.rows, arguments.variables, arguments.causes)
        run(kept, draw, wanted, range(FIRST_SEED, FIRST_SEED + arguments.sets), arguments.jobs)
        seeds = range(FIRST_SEED, FIRST_SEED + arguments.interval_sets)
        run_intervals(kept, draw, [cell for cell in wanted if cell in INTERVALS], seeds, arguments.jobs)
    page = render(kept)
    (arguments.out / "README.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
