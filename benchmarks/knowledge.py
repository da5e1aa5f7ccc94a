"""What does it gain to know tiers before, and what does it cost to be wrong about some columns?

    python benchmarks/knowledge.py             # 60 cohorts a cell, all cores
    python benchmarks/knowledge.py --render    # only rewrite the table from the rows at hand

Rows are appended as they are made, and a second run goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
import warnings
from graphlib import TopologicalSorter
from pathlib import Path

import numpy as np
from discrete_columns import World
from discrete_columns import draw as draw_discrete
from joblib import Parallel, delayed
from rows_file import read_rows, write_rows
from scipy.special import expit

from rootcausal import __version__
from rootcausal.backends.cpu.rows import NumbaRaw
from rootcausal.data import simulate
from rootcausal.method.layout import Layout
from rootcausal.method.model import CausalModel
from rootcausal.method.moments import describe_columns
from rootcausal.method.ordering.ordering import VARIANTS
from rootcausal.method.ordering.precedence import FIRST, Precedence
from rootcausal.method.pipeline import ATTRIBUTIONS, Settings, learn
from rootcausal.metrics import rank_biased_overlap
from rootcausal.outcomes.binary import Binary

# Share of each error's variance that is Gaussian; the paper's errors are not at all.
GAUSSIAN_SHARE = {"paper": 0.0, "weak": 0.6, "Gaussian": 1.0}
DISCRETE_SHARE = 0.3
WORDS = {
    "paper": "paper's",
    "weak": "weakly non-Gaussian",
    "Gaussian": "Gaussian",
    "discrete": "30% discrete",
}
# World, variables (D among them), and rows.
CELLS = [
    ("paper", 10, 300),
    ("paper", 10, 1000),
    ("paper", 50, 1000),
    ("weak", 10, 300),
    ("weak", 50, 1000),
    ("Gaussian", 50, 1000),
    ("discrete", 10, 1000),
    ("discrete", 50, 1000),
]
GOALS = {"paper": -0.005, "weak": 0.04, "discrete": 0.05}
FIRST_SEED = 40_000
TIERS = 3
MISPLACED = 0.1
FOLDER = Path(__file__).parent.parent / "results" / "knowledge"


def draw(world: str, p: int, n: int, seed: int) -> World:
    """A cohort of the paper's generator; errors more or less Gaussian, or some of the columns discrete."""
    if world == "discrete":
        return draw_discrete(DISCRETE_SHARE, p, n, seed)
    drawn = simulate(n, p, random_state=seed)
    graph = drawn.adjacency
    order = list(TopologicalSorter({c: np.flatnonzero(graph[c]) for c in range(p - 1)}).static_order())
    rank = np.empty(p - 1, dtype=np.intp)
    rank[order] = np.arange(p - 1)
    share = GAUSSIAN_SHARE[world]
    rng = np.random.default_rng([seed, round(100 * share)])
    errors, X, y = drawn.errors, drawn.X, drawn.y
    if share:
        noise = rng.standard_normal(errors.shape) * errors.std(axis=0)
        errors = np.sqrt(1.0 - share) * errors + np.sqrt(share) * noise
        X = np.linalg.solve(np.eye(p - 1) - graph, errors.T).T
        y = (rng.random(n) < expit(X @ drawn.target_weights)).astype(np.int64)
    return World(X, y, Layout.numbers(p - 1), rank, errors * drawn.effects)


def tiers(rank: np.ndarray) -> np.ndarray:
    """(p,) the tier of each column, above FIRST: a causal order cut into equal parts."""
    return FIRST + 1 + rank * TIERS // rank.size


def misplaced(tier: np.ndarray, seed: int) -> np.ndarray:
    """The same with a tenth of the columns, at least one, in another tier."""
    rng = np.random.default_rng([seed, 1])
    wrong = rng.choice(tier.size, max(1, round(MISPLACED * tier.size)), replace=False)
    moved = tier.copy()
    moved[wrong] = FIRST + 1 + (tier[wrong] - FIRST - 1 + rng.integers(1, TIERS, wrong.size)) % TIERS
    return moved


def overlap(world: World, layout: Layout) -> float:
    """Of each case's ranked root causes with the true ones."""
    raw = NumbaRaw(world.X, world.y)
    settings = Settings(VARIANTS["local_plus"], 0.2, ATTRIBUTIONS["sharp"])
    columns = describe_columns(raw)
    outcome = Binary.of_moments(columns.moments)
    model: CausalModel = learn(raw, columns, settings, layout=layout, outcome=outcome).model
    cases = world.y == 1
    scores = np.full(world.X.shape, -np.inf)
    scores[:, model.order] = model.shapley(world.X)[:, model.order]
    return float(rank_biased_overlap(world.true_shapley[cases], scores[cases]))


def evaluate(world: str, p: int, n: int, seed: int) -> dict[str, object]:
    warnings.simplefilter("ignore", UserWarning)  # separated classes count like any other cohort
    drawn = draw(world, p, n, seed)
    right = tiers(drawn.rank)

    def knowing(layout: Layout, stage: np.ndarray) -> float:
        return overlap(drawn, layout.knowing(Precedence.of(stage)))

    numbers = Layout.numbers(p - 1)
    return {
        "world": world,
        "p": p,
        "n": n,
        "seed": seed,
        "none": overlap(drawn, drawn.layout),
        "tiers": knowing(drawn.layout, right),
        "first": knowing(drawn.layout, np.where(right == FIRST + 1, FIRST, right)),
        "misplaced": knowing(drawn.layout, misplaced(right, seed)),
        "numbers_none": overlap(drawn, numbers),
        "numbers_tiers": knowing(numbers, right),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=60, help="cohorts a cell")
    parser.add_argument("--render", action="store_true", help="only render what is there")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not arguments.render:
        run(arguments.sets)
    (FOLDER / "README.md").write_text(render(read_rows(FOLDER / "rows.csv")), encoding="utf-8")


def run(n_sets: int) -> None:
    rows_file = FOLDER / "rows.csv"
    done = {(row["world"], row["p"], row["n"], row["seed"]) for row in read_rows(rows_file)}
    with Parallel(n_jobs=-1) as workers:
        for cell in CELLS:
            seeds = [seed for seed in range(FIRST_SEED, FIRST_SEED + n_sets) if (*cell, seed) not in done]
            if seeds:
                write_rows(rows_file, workers(delayed(evaluate)(*cell, seed) for seed in seeds))
            print(f"{WORDS[cell[0]]}, p = {cell[1]}, n = {cell[2]}: done", flush=True)


def render(rows: list[dict[str, object]]) -> str:
    lines = [
        "# What tiers gain, and what wrong ones cost",
        "",
        f"Made by `python benchmarks/knowledge.py` with rootcausal {__version__}, seeds {FIRST_SEED} and "
        "above; one row a cohort is in `rows.csv`.",
        "",
        "Cohorts by the paper's generator; a causal order of the true graph is cut into three tiers of equal "
        "size. Overlap of each case's ranked root causes with the truth (rank-biased overlap), its mean over "
        "cohorts, and gains over *none*, cohort by cohort, ± their standard error:",
        "",
        "- *none*: nothing is said.",
        "- *three tiers*: `tiers=[…, …, …]`, all correct.",
        "- *as first*: the same, with the whole first tier given as `first`. Its columns are then taken not "
        "to cause each other, which is not so here, and no test drops them.",
        "- *misplaced*: three tiers, with a tenth of the columns in a wrong one.",
        "",
        "Worlds: the *paper's*; *weakly non-Gaussian*, where "
        f"{GAUSSIAN_SHARE['weak']:.0%} of each error's variance is Gaussian; *Gaussian*, where the order "
        "cannot be learned at all; and *30% discrete*, in which that share of the columns has levels "
        "(cumulative logits, as in `results/discrete-columns`), for columns taken as levels and as numbers.",
        "",
        "| world | p | n | cohorts | none | three tiers | as first | misplaced | goal |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in CELLS:
        here = [row for row in rows if (row["world"], row["p"], row["n"]) == cell]
        if here:
            lines.append(cell_line(*cell, here, "none", ("tiers", "first", "misplaced")))
            if cell[0] == "discrete":
                lines.append(cell_line(*cell, here, "numbers_none", ("numbers_tiers",)))
    return "\n".join(lines) + "\n"


def cell_line(
    world: str, p: int, n: int, rows: list[dict[str, object]], base: str, methods: tuple[str, ...]
) -> str:
    def values(method: str) -> np.ndarray:
        return np.array([float(str(row[method])) for row in rows])

    none = values(base)
    gains = []
    for method in methods:
        gain = values(method) - none
        gains.append(f"{gain.mean():+.3f} ± {gain.std(ddof=1) / len(rows) ** 0.5:.3f}")
    gains += [""] * (3 - len(gains))
    words = WORDS[world] + (", as numbers" if base.startswith("numbers") else "")
    goal = f"{GOALS[world]:+.3f}" if world in GOALS else ""
    return f"| {words} | {p} | {n:,} | {len(rows)} | {none.mean():.3f} | {' | '.join(gains)} | {goal} |"


if __name__ == "__main__":
    main()
