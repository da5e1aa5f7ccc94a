"""What do missing values cost, when a cohort is fitted and when a patient is scored?

    python benchmarks/missing_values.py             # 30 cohorts a cell
    python benchmarks/missing_values.py --render    # only rewrite the table from the rows at hand

Rows are appended as they are made, and a second run goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from rows_file import read_rows, write_rows
from scipy.optimize import brentq
from scipy.special import expit

from rootcausal import __version__
from rootcausal.backends.choose import choose_table
from rootcausal.data import simulate
from rootcausal.estimators.parameters import chosen_settings
from rootcausal.method.model import CausalModel
from rootcausal.method.moments import describe_columns
from rootcausal.method.pipeline import Learned, learn
from rootcausal.metrics import rank_biased_overlap
from rootcausal.outcomes.binary import Binary

FIRST_SEED = 30_000
FRESH_ROWS = 400
# How values go missing, the share of them, and the largest loss that is allowed at p = 10 and at p = 50.
FITTING = [
    ("MCAR", 0.2, {10: 0.025, 50: 0.03}),
    ("MCAR", 0.4, {10: 0.03, 50: 0.065}),
    ("MAR", 0.2, {10: 0.035, 50: 0.03}),
    ("MAR", 0.4, {10: 0.09, 50: 0.115}),
    ("MNAR", 0.2, {10: 0.09, 50: 0.09}),
]
FITTED = [(10, 1000), (50, 1000)]
# Overlap that a prototype had with 5, 20 and 40 % missing, by columns and rows.
SCORED = {
    (10, 1000): (0.931, 0.911, 0.850, 0.765),
    (50, 1000): (0.921, 0.899, 0.835, 0.744),
    (50, 3000): (0.976, 0.950, 0.879, 0.786),
}
SHARES = (0.05, 0.2, 0.4)
# Log-odds of being missing for a standard deviation of what decides it; share of columns never missing (MAR).
SLOPE = 1.5
ALWAYS_MEASURED = 0.25
# Standard deviations on either side that hold 90 % of a Gaussian.
NINETY = 1.6448536269514722
Work = Callable[[int, int, int], list[dict[str, object]]]
FOLDER = Path(__file__).parent.parent / "results" / "missing-values"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=30, help="cohorts a cell")
    parser.add_argument("--render", action="store_true", help="only render what is there")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not arguments.render:
        seeds = range(FIRST_SEED, FIRST_SEED + arguments.sets)
        for p, n in FITTED:
            run(FOLDER / "fitting.csv", p, n, seeds, fitting)
        for p, n in SCORED:
            run(FOLDER / "scoring.csv", p, n, seeds, scoring)
    page = render(read_rows(FOLDER / "fitting.csv"), read_rows(FOLDER / "scoring.csv"))
    (FOLDER / "README.md").write_text(page, encoding="utf-8")


def run(path: Path, p: int, n: int, seeds: Iterable[int], work: Work) -> None:
    done = {(row["p"], row["n"], row["seed"]) for row in read_rows(path)}
    for seed in seeds:
        if (p, n, seed) not in done:
            write_rows(path, work(p, n, seed))
    print(f"{path.stem}, p = {p}, n = {n}: done", flush=True)


def fitting(p: int, n: int, seed: int) -> list[dict[str, object]]:
    """Overlap on new and complete patients, of models of one cohort with and without holes."""
    drawn = simulate(n + FRESH_ROWS, p, random_state=seed)
    X, y = drawn.X[:n], drawn.y[:n].astype(np.intp)
    fresh, truth = drawn.X[n:], drawn.true_shapley[n:]
    rows: list[dict[str, object]] = []
    for place, (kind, share, _) in enumerate([("complete", 0.0, {}), *FITTING]):
        rng = np.random.default_rng([seed, place])
        found = fit(X if kind == "complete" else with_holes(X, kind, share, rng), y)
        overlap = rank_biased_overlap(truth, scores(found.model, fresh))
        rounds = 0 if found.imputation is None else found.imputation.rounds
        rows.append(
            {"p": p, "n": n, "seed": seed, "kind": kind, "share": share, "overlap": overlap, "rounds": rounds}
        )
    return rows


def scoring(p: int, n: int, seed: int) -> list[dict[str, object]]:
    """Overlap of new patients with holes, filled in two ways, by a model of complete data."""
    drawn = simulate(n + FRESH_ROWS, p, random_state=seed)
    found = fit(drawn.X[:n], drawn.y[:n].astype(np.intp))
    model, completion = found.model, found.completion
    fresh, truth = drawn.X[n:], drawn.true_shapley[n:]
    stated = model.shapley(fresh)
    effects = model.shapley(np.eye(p_of(fresh))) - model.shapley(np.zeros((1, p_of(fresh))))
    rows: list[dict[str, object]] = []
    for place, share in enumerate((0.0, *SHARES)):
        rng = np.random.default_rng([seed, 100 + place])
        holed = with_holes(fresh, "MCAR", share, rng)
        filled = completion.fill(holed)
        spread = completion.spread(holed, effects)
        doubtful = spread > 0.0
        covered = np.abs(model.shapley(filled) - stated)[doubtful] <= NINETY * spread[doubtful]
        by_mean = np.where(np.isnan(holed), completion.mean, holed)
        rows.append(
            {
                "p": p,
                "n": n,
                "seed": seed,
                "share": share,
                "expected": rank_biased_overlap(truth, scores(model, filled)),
                "mean": rank_biased_overlap(truth, scores(model, by_mean)),
                "covered": float(covered.mean()) if doubtful.any() else float("nan"),
            }
        )
    return rows


def fit(X: np.ndarray, y: np.ndarray) -> Learned:
    raw = choose_table("numba", X, y)
    columns, settings = describe_columns(raw), chosen_settings("local_plus", 0.2, "sharp", None)
    return learn(raw, columns, settings, outcome=Binary.of_moments(columns.moments))


def scores(model: CausalModel, X: np.ndarray) -> np.ndarray:
    """Shapley values, and −∞ for columns that are not ranked."""
    values = np.full(X.shape, -np.inf)
    values[:, model.order] = model.shapley(X)[:, model.order]
    return values


def p_of(X: np.ndarray) -> int:
    return X.shape[1]


def with_holes(X: np.ndarray, kind: str, share: float, rng: np.random.Generator) -> np.ndarray:
    """X with this share of all cells missing: completely at random (MCAR); more often where another column,
    itself never missing, is high (MAR); more often where the value itself is high (MNAR).
    """
    n, p = X.shape
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    chance = np.full((n, p), share)
    if kind == "MAR":
        always = rng.permutation(p)[: max(1, round(ALWAYS_MEASURED * p))]
        chance[:, always] = 0.0
        others = np.setdiff1d(np.arange(p), always)
        for column in others:
            chance[:, column] = rising(Z[:, rng.choice(always)], share * p / others.size)
    elif kind == "MNAR":
        for column in range(p):
            chance[:, column] = rising(Z[:, column], share)
    holed = X.copy()
    holed[rng.random((n, p)) < chance] = np.nan
    # A patient of whom nothing is known would be refused.
    empty = np.flatnonzero(np.isnan(holed).all(axis=1))
    keep = rng.integers(p, size=empty.size)
    holed[empty, keep] = X[empty, keep]
    return holed


def rising(z: np.ndarray, share: float) -> np.ndarray:
    """Chances that rise with z and are ``share`` in the mean."""
    shift = brentq(lambda at: expit(SLOPE * z + at).mean() - share, -50.0, 50.0)
    return expit(SLOPE * z + shift)


def render(fitted: list[dict[str, object]], scored: list[dict[str, object]]) -> str:
    lines = [
        "# Missing values: what they cost",
        "",
        f"Made by `python benchmarks/missing_values.py` with rootcausal {__version__}, seeds {FIRST_SEED} "
        "and above; one row a cohort and kind is in `fitting.csv` and `scoring.csv`. Cohorts by the paper's "
        "generator (p variables, D among them). Overlap of the ranked root causes with the truth "
        f"(rank-biased overlap), its mean over cohorts, on {FRESH_ROWS} new patients.",
        "",
        "Values go missing in three ways, always the stated share of all cells:",
        "",
        "- *MCAR* (completely at random): each with the same chance.",
        f"- *MAR* (at random): {ALWAYS_MEASURED:.0%} of the columns are always measured; every other one is "
        f"missing more often the higher one of these is (log-odds {SLOPE:g} a standard deviation).",
        "- *MNAR* (not at random): each more often the higher it is itself, as steeply. Nobody can know this "
        "from the data.",
        "",
        "## Holes in the cohort that is fitted",
        "",
        "New patients are complete. Loss is against the same cohort without holes, ± its standard error; the "
        "goal is the most that was allowed for.",
        "",
        "| p | rows | missing | cohorts | complete | with holes | loss | goal | EM rounds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for p, n in FITTED:
        whole = by_seed(fitted, p, n, "complete", 0.0, "overlap")
        for kind, share, goal in FITTING:
            here = by_seed(fitted, p, n, kind, share, "overlap")
            seeds = sorted(here)
            if not seeds:
                continue
            loss = np.array([whole[seed] - here[seed] for seed in seeds])
            rounds = list(by_seed(fitted, p, n, kind, share, "rounds").values())
            complete, holed = (np.mean([overlap[seed] for seed in seeds]) for overlap in (whole, here))
            lines.append(
                f"| {p} | {n:,} | {kind} {share:.0%} | {len(seeds)} | {complete:.3f} | {holed:.3f} "
                f"| {loss.mean():.3f} ± {loss.std(ddof=1) / len(seeds) ** 0.5:.3f} | {goal[p]:g} "
                f"| {min(rounds):.0f} to {max(rounds):.0f} |"
            )
    lines += [
        "",
        "## Holes in the patients that are scored",
        "",
        "The cohort is complete; cells of new patients are missing completely at random. *mean*: filled with "
        "the cohort's mean. *expected*: with the conditional expectation given all that the patient has, as "
        "the package does. *prototype*: what the same way had before it was built, on other cohorts. "
        "*covered*: share of 90 % intervals that hold the value of the complete patient, over all values "
        "that a hole makes uncertain; with one hole, the error is that of one column, whose distribution "
        "here is a uniform, a chi-squared or a t, and of these more than 90 % lie within 1.64 standard "
        "deviations.",
        "",
        "| p | rows | missing | cohorts | mean | expected | prototype | covered |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (p, n), prototype in SCORED.items():
        for share, before in zip((0.0, *SHARES), prototype, strict=True):
            here = [row for row in scored if (row["p"], row["n"], row["share"]) == (p, n, share)]
            if not here:
                continue
            mean, expected, covered = (
                float(np.mean([row[name] for row in here])) for name in ("mean", "expected", "covered")
            )
            lines.append(
                f"| {p} | {n:,} | {share:.0%} | {len(here)} | {mean:.3f} | {expected:.3f} | {before:.3f} "
                f"| {'' if np.isnan(covered) else f'{covered:.1%}'} |"
            )
    return "\n".join(lines) + "\n"


def by_seed(
    rows: list[dict[str, object]], p: int, n: int, kind: str, share: float, name: str
) -> dict[float, float]:
    chosen = [row for row in rows if (row["p"], row["n"], row["kind"], row["share"]) == (p, n, kind, share)]
    return {row["seed"]: row[name] for row in chosen}


if __name__ == "__main__":
    main()
