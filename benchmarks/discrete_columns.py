"""Does the causal order gain by knowing that columns are discrete?

    python benchmarks/discrete_columns.py             # 30 cohorts a cell
    python benchmarks/discrete_columns.py --render    # only rewrite the table from the rows at hand

Rows are appended as they are made, and a second run goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from unittest.mock import patch

import numpy as np
from rows_file import read_rows, write_rows
from scipy.special import expit

from rootcausal import __version__
from rootcausal.backends.cpu.rows import NumbaRaw
from rootcausal.data import simulate
from rootcausal.method.layout import NO_LEVELS, Layout
from rootcausal.method.model import CausalModel
from rootcausal.method.moments import describe_columns
from rootcausal.method.ordering import ordering
from rootcausal.method.ordering.search import Root
from rootcausal.method.pipeline import ATTRIBUTIONS, Settings, learn
from rootcausal.metrics import rank_biased_overlap
from rootcausal.outcomes.binary import Binary

# Share of the columns that are discrete, variables (D among them), and rows.
CELLS = [(share, p, n) for share in (0.2, 0.5, 0.0) for p in (10, 50) for n in (300, 1000, 3000)]
FIRST_SEED = 30_000
# Of a world, drawn besides the cohort: they set the cuts between levels and the truth.
WORLD_ROWS = 50_000
# No level is rarer.
RAREST = 0.08
METHODS = ("numbers", "levels", "known")
GOAL = 0.6
FOLDER = Path(__file__).parent.parent / "results" / "discrete-columns"


@dataclass(frozen=True)
class World:
    """A cohort with discrete columns, and the truth behind it.

    Attributes
    ----------
    X, y : the rows.
    layout : what the columns are.
    rank : (p,) the place of each column in a causal order.
    true_shapley : (n, p) of the linear errors.
    """

    X: np.ndarray
    y: np.ndarray
    layout: Layout
    rank: np.ndarray
    true_shapley: np.ndarray


def draw(share: float, p: int, n: int, seed: int) -> World:
    """A cohort of the paper's generator, some of whose columns are levels from the start.

    Graph, weights and the errors of numbers are the generator's. A discrete column follows a cumulative
    logit: the sum of its weighted parents and logistic noise, cut into two levels or, every second time,
    three to five. For its children and for D it counts by its level, at mean zero and unit variance.
    """
    drawn = simulate(WORLD_ROWS + n, p, random_state=seed)
    rng = np.random.default_rng([seed, round(100 * share)])
    graph = drawn.adjacency
    order = list(TopologicalSorter({c: np.flatnonzero(graph[c]) for c in range(p - 1)}).static_order())
    discrete = rng.permutation(p - 1) < round(share * (p - 1))
    X, errors = np.zeros_like(drawn.errors), drawn.errors.copy()
    levels = [NO_LEVELS] * (p - 1)
    for c in order:
        parents = np.flatnonzero(graph[c])
        X[:, c] = X[:, parents] @ graph[c, parents]
        if discrete[c]:
            code = cut(X[:, c] + rng.logistic(size=len(X)), rng)
            values = (np.arange(code.max() + 1.0) - code.mean()) / code.std()
            X[:, c], levels[c] = values[code], values
            design = np.column_stack([X[:, parents], np.ones(len(X))])
            slopes = np.linalg.lstsq(design, X[:, c], rcond=None)[0]
            errors[:, c] = X[:, c] - design @ slopes
            graph[c, parents] = slopes[:-1]
        else:
            X[:, c] += errors[:, c]
    y = (rng.random(len(X)) < expit(X @ drawn.target_weights)).astype(np.int64)
    effects = np.linalg.solve((np.eye(p - 1) - graph).T, drawn.target_weights)
    rank = np.empty(p - 1, dtype=np.intp)
    rank[order] = np.arange(p - 1)
    rows = slice(WORLD_ROWS, None)
    layout = Layout(np.arange(p - 1), tuple(levels))
    return World(X[rows], y[rows], layout, rank, (errors * effects)[rows])


def cut(latent: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The level of each row, of two or of three to five, none of them rare."""
    n_levels = 2 if rng.random() < 0.5 else int(rng.integers(3, 6))
    shares = RAREST + (1.0 - n_levels * RAREST) * rng.dirichlet(np.full(n_levels, 2.0))
    return np.searchsorted(np.quantile(latent, np.cumsum(shares)[:-1]), latent)


class KnownOrder:
    """A search that is told the causal order."""

    def __init__(self, rank: np.ndarray) -> None:
        self._rank = rank

    def find_root(self, table: object, candidates: np.ndarray, entropies: np.ndarray) -> Root:
        return Root(int(candidates[self._rank[candidates].argmin()]), np.inf, entropies, 0)


def fitted(world: World, method: str) -> CausalModel:
    raw = NumbaRaw(world.X, world.y)
    columns = describe_columns(raw)
    outcome = Binary.of_moments(columns.moments)
    settings = Settings(ordering.VARIANTS["local_plus"], 0.2, ATTRIBUTIONS["sharp"])
    if method != "known":
        layout = world.layout if method == "levels" else None
        return learn(raw, columns, settings, layout=layout, outcome=outcome).model
    tested = ordering.welch_p_values(columns.moments) < settings.alpha
    search = KnownOrder(world.rank[tested])
    with patch.object(ordering, "_choose_search", lambda *_: search):
        return learn(raw, columns, settings, outcome=outcome).model


def evaluate(share: float, p: int, n: int, seed: int) -> dict[str, float]:
    world = draw(share, p, n, seed)
    row: dict[str, float] = {"share": share, "p": p, "n": n, "seed": seed}
    cases = world.y == 1
    for method in METHODS:
        model = fitted(world, method)
        scores = np.full(world.X.shape, -np.inf)
        scores[:, model.order] = model.shapley(world.X)[:, model.order]
        row[method] = rank_biased_overlap(world.true_shapley[cases], scores[cases])
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=30, help="cohorts a cell")
    parser.add_argument("--render", action="store_true", help="only render what is there")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not arguments.render:
        warnings.simplefilter("ignore", UserWarning)  # separated classes count like any other cohort
        run(arguments.sets)
    (FOLDER / "README.md").write_text(render(read_rows(FOLDER / "rows.csv")), encoding="utf-8")


def run(n_sets: int) -> None:
    rows_file = FOLDER / "rows.csv"
    rows = read_rows(rows_file)
    done = {(row["share"], row["p"], row["n"], row["seed"]) for row in rows}
    for cell in CELLS:
        for seed in range(FIRST_SEED, FIRST_SEED + n_sets):
            if (*cell, seed) not in done:
                write_rows(rows_file, [evaluate(*cell, seed)])
        print(f"{cell[0]:.0%} discrete, p = {cell[1]}, n = {cell[2]}: done", flush=True)


def render(rows: list[dict[str, float]]) -> str:
    lines = [
        "# Discrete columns in the causal order",
        "",
        f"Made by `python benchmarks/discrete_columns.py` with rootcausal {__version__}, seeds {FIRST_SEED} "
        "and above; one row a cohort is in `rows.csv`.",
        "",
        "Cohorts by the paper's generator, in which a share of the columns is discrete from the start: a "
        "cumulative logit of the column's parents, with two levels or three to five. Such a world has no "
        "linear errors of its own; the truth is that of its best linear description: each discrete column "
        f"less its regression on its parents, by {WORLD_ROWS:,} other rows of the same world and these. Then "
        "the log-odds are a sum of errors again, each with its Shapley value, and who knows the order comes "
        "as close to them as the rows allow. Overlap of each case's ranked root causes with the truth "
        "(rank-biased overlap), its mean over cohorts:",
        "",
        "- *as numbers*: no column is said to be discrete.",
        "- *levels*: the likelihood ratio of `method/ordering/pair_score.py`; ± is the standard error of its "
        "gain over *as numbers*, cohort by cohort.",
        "- *order known*: the search is told a causal order of the graph; all else is as above.",
        "- *closed*: the gain of *levels*, as a share of that of *order known*; the goal is "
        f"{GOAL:.0%} from 1,000 rows on.",
        "",
        "| discrete | p | n | cohorts | as numbers | levels | gain | order known | closed |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in CELLS:
        here = [row for row in rows if (row["share"], row["p"], row["n"]) == cell]
        if here:
            lines.append(cell_line(*cell, here))
    return "\n".join(lines) + "\n"


def cell_line(share: float, p: int, n: int, rows: list[dict[str, float]]) -> str:
    numbers, levels, known = (np.array([row[method] for row in rows]) for method in METHODS)
    gain, gap = levels - numbers, (known - numbers).mean()
    error = gain.std(ddof=1) / len(rows) ** 0.5
    closed = f"{gain.mean() / gap:.0%}" if share else ""
    return (
        f"| {share:.0%} | {p} | {n:,} | {len(rows)} | {numbers.mean():.3f} | {levels.mean():.3f} "
        f"| {gain.mean():+.3f} ± {error:.3f} | {known.mean():.3f} | {closed} |"
    )


if __name__ == "__main__":
    main()
