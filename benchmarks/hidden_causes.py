"""What does reading dependent variables as one gain where hidden causes are at work, and what does it cost?

    python benchmarks/hidden_causes.py             # 1,300 cohorts: two minutes on one core
    python benchmarks/hidden_causes.py --render    # only rewrite the page from the rows at hand

The test and its level were chosen on seeds below 3,000; these are 40,000 and above.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from clean_cohorts import KINDS
from faulty_cohorts import SCENARIOS, draw
from measure import table
from rows_file import read_rows, write_rows
from scipy.special import expit

from rootcausal import RCI, __version__
from rootcausal.data import simulate
from rootcausal.data.exogenous_errors import FAMILIES, draw_errors
from rootcausal.data.simulate import LARGEST_WEIGHT, SMALLEST_WEIGHT
from rootcausal.method.confounded_sets import Sets, joined, with_sets
from rootcausal.metrics import rank_biased_overlap

N, P = 1000, 20
HIDDEN = (0, 1, 3, 5)
FIRST_SEED = 40_000
# Of the control: other sets of the same sizes, drawn at random for each cohort.
RANDOM_SETS = 20
WITHOUT_HIDDEN = [(kind, "clean") for kind in KINDS] + [("numbers", "quadratic"), ("numbers", "exp")]
FOLDER = Path(__file__).parent.parent / "results" / "hidden-causes"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cohorts", type=int, default=100, help="of each cell")
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--render", action="store_true", help="only render what is there")
    arguments = parser.parse_args()
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    if not arguments.render:
        warnings.simplefilter("ignore", UserWarning)
        seeds = range(FIRST_SEED, FIRST_SEED + arguments.cohorts)
        write_rows(folder / "rows.csv", [with_hidden(h, seed) for h in HIDDEN for seed in seeds], "w")
        flagged = [without_hidden(*cell, seed) for cell in WITHOUT_HIDDEN for seed in seeds]
        write_rows(folder / "without.csv", flagged, "w")
    page = render(read_rows(folder / "rows.csv"), read_rows(folder / "without.csv"))
    (folder / "README.md").write_text(page, encoding="utf-8")


def with_hidden(n_hidden: int, seed: int) -> dict[str, object]:
    """One cohort with hidden causes: which pairs are found, and the overlap of all ways of reading it."""
    X, y, errors, own, effects, pairs = confounded(n_hidden, seed)
    model = RCI(confounding="merge").fit(X, y)
    order, cases = set(model.causal_order_.tolist()), y == 1
    inside = [pair for pair in pairs if set(pair) <= order]
    found = [tuple(map(int, (a[1:], b[1:]))) for a, b in model.provenance_["merged"]["pairs"]]
    scores, truth = model.scores(X)[cases], (errors * effects)[cases]
    truth_of_own = (own * effects)[cases]

    def overlap(sets: Sets, truth: np.ndarray = truth) -> float:
        return float(rank_biased_overlap(listed(truth, sets), listed(scores, sets)))

    at_random = np.random.default_rng([seed, n_hidden])
    others = [random_sets(model.merged_sets_, sorted(order), at_random) for _ in range(RANDOM_SETS)]
    return {
        "hidden": n_hidden,
        "seed": seed,
        "pairs": len(pairs),
        "inside": len(inside),
        "found": len(found),
        "right": sum(set(pair) in map(set, pairs) for pair in found),
        "sets": len(model.merged_sets_),
        "apart": overlap(()),
        "merged": overlap(model.merged_sets_),
        "at_random": float(np.mean([overlap(sets) for sets in others])),
        "all_inside": overlap(joined(inside)),
        "shared_out": float(rank_biased_overlap(truth, shared_out(scores, model.merged_sets_))),
        "apart_own": overlap((), truth_of_own),
        "merged_own": overlap(model.merged_sets_, truth_of_own),
    }


def confounded(n_hidden: int, seed: int) -> tuple[np.ndarray, ...]:
    """A cohort of the paper's generator with hidden causes of pairs, one of which is an ancestor of D.

    Returns X, y, all that enters each variable from outside (its own error and what hidden causes add), the
    own errors alone, their effects on the log-odds, and the pairs.
    """
    drawn = simulate(N, P, random_state=[seed, 0])
    rng = np.random.default_rng([seed, n_hidden, 1])
    ancestors, q = np.flatnonzero(drawn.effects), P - 1
    pairs: list[tuple[int, int]] = []
    while len(pairs) < n_hidden:
        a, b = int(rng.choice(ancestors)), int(rng.integers(q))
        if a != b and {a, b} not in map(set, pairs):
            pairs.append((a, b))
    hidden = draw_errors(N, rng.integers(FAMILIES, size=n_hidden), rng)
    weights = rng.uniform(SMALLEST_WEIGHT, LARGEST_WEIGHT, (n_hidden, 2)) * rng.choice([-1, 1], (n_hidden, 2))
    errors = drawn.errors.copy()
    for pair, weight, cause in zip(pairs, weights, hidden.T, strict=True):
        errors[:, pair] += cause[:, None] * weight
    X = np.linalg.solve(np.eye(q) - drawn.adjacency, errors.T).T
    y = (rng.random(N) < expit(X @ drawn.target_weights)).astype(int)
    return X, y, errors, drawn.errors, drawn.effects, pairs


def listed(values: np.ndarray, sets: Sets) -> np.ndarray:
    """Values (n, p) with each set in place of its members; what is not ranked stays so."""
    members = [member for some in sets for member in some]
    return np.delete(with_sets(values, sets), members, axis=1)


def shared_out(scores: np.ndarray, sets: Sets) -> np.ndarray:
    """The same with each set's value in equal parts on its members, to be judged variable by variable."""
    found = scores.copy()
    for some in map(list, sets):
        found[:, some] = scores[:, some].mean(axis=1, keepdims=True)
    return found


def random_sets(sets: Sets, order: Sequence[int], rng: np.random.Generator) -> Sets:
    """As many sets of the same sizes, of other variables of the causal order."""
    drawn, found = rng.permutation(order).tolist(), []
    for some in sets:
        found.append(tuple(sorted(drawn[: len(some)])))
        drawn = drawn[len(some) :]
    return tuple(sorted(found))


def without_hidden(kind: str, scenario: str, seed: int) -> dict[str, object]:
    """One cohort without a hidden cause: are variables read as one all the same?"""
    cohort = draw(kind, scenario, N, P, seed)
    model = RCI(kinds=cohort.kinds, confounding="merge").fit(cohort.X, cohort.y)
    return {"kind": kind, "scenario": scenario, "seed": seed, "sets": len(model.merged_sets_)}


def render(rows: list[dict[str, object]], without: list[dict[str, object]]) -> str:
    """The page."""

    def cell(h: int, of: Callable[[dict[str, object]], float]) -> np.ndarray:
        return np.array([of(row) for row in rows if row["hidden"] == h], dtype=float)

    def gain(h: int, name: str, over: str = "apart") -> str:
        found = cell(h, lambda row: row[name] - row[over])
        return f"{found.mean():+.3f} ± {found.std(ddof=1) / np.sqrt(found.size):.3f}"

    def share(h: int, part: str, whole: str) -> str:
        of = cell(h, lambda row: row[whole]).sum()
        return f"{cell(h, lambda row: row[part]).sum() / of:.0%} of {of:.0f}" if of else ""

    overlaps = [
        [
            str(h),
            f"{cell(h, lambda row: row['apart']).mean():.3f}",
            *(gain(h, name) for name in ("merged", "at_random", "all_inside", "shared_out")),
            gain(h, "merged_own", "apart_own"),
        ]
        for h in HIDDEN
    ]
    flags = [
        [
            str(h),
            f"{(cell(h, lambda row: row['sets']) > 0).mean():.0%}",
            share(h, "right", "found"),
            share(h, "right", "inside"),
            share(h, "right", "pairs"),
        ]
        for h in HIDDEN
    ]
    clean = []
    for kind, scenario in WITHOUT_HIDDEN:
        of = [row for row in without if (row["kind"], row["scenario"]) == (kind, scenario)]
        meaning = KINDS[kind] if scenario == "clean" else SCENARIOS[scenario].meaning
        clean.append([meaning, f"{np.mean([row['sets'] > 0 for row in of]):.0%}"])
    n = len(cell(HIDDEN[0], lambda row: row["seed"]))
    heads = [
        "hidden causes",
        "apart",
        "merged",
        "at random",
        "all inside",
        "shared out",
        "merged, own",
    ]
    return f"""# What reading dependent variables as one gains, and what it costs

Made by `python benchmarks/hidden_causes.py` with rootcausal {__version__}, {n} cohorts a cell, seeds
{FIRST_SEED} and above; one row a cohort is in `rows.csv` and `without.csv`. The test and its level were
chosen on seeds below 3,000.

Cohorts by the paper's generator (n = {N:,}, p = {P}, D among them), in which so many hidden causes each
move two variables, one of them an ancestor of D; laws and weights of hidden causes are those of the
generator. Overlap (rank-biased) of the cases' ranked root causes with the truth, its mean over cohorts, and
gains over telling all variables apart, cohort by cohort, ± their standard error.

**What counts as true.** A variable's true value is all that enters it from outside, its own error and what
hidden causes add, times its effect on the log-odds; so true values sum to the log-odds. The true value of a
set is the sum of its members', and it is compared with the value of the set, in place of those of the
members.

- *merged*: `RCI(confounding="merge")`.
- *at random*: as many sets of the same sizes, of random variables of the causal order ({RANDOM_SETS} draws
  a cohort). Fewer things to rank are easier to rank: so much of what *merged* gains says nothing.
- *all inside*: an oracle reads every pair with a hidden cause as one whose variables are both in the order.
- *shared out*: judged variable by variable, as without sets, where each member gets an equal part of its
  set's value. So `values` and `scores(X)` of members stay their own: by this metric, a model with sets is
  what it is without them.
- *merged, own*: *merged* where what hidden causes add is no true value of any variable; over *apart*
  judged likewise.

{table(heads, overlaps)}

How often any set was found; how many of the pairs found have a hidden cause in common; how many of the
pairs with a hidden cause were found, of those with both variables in the causal order (others cannot be read
as one), and of all.

{table(["hidden causes", "cohorts with a set", "right", "found, both in the order", "found, of all"], flags)}

Cohorts without any hidden cause, n = {N:,}, p = {P}, of columns of all kinds; of the last two rows, some
relations bend:

{table(["cohorts", "with a set"], clean)}
"""


if __name__ == "__main__":
    main()
