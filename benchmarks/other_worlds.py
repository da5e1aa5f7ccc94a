"""Does the default hold in worlds that are not the paper's, and does a randomised drug keep its effect?

    python benchmarks/other_worlds.py              # 30 cohorts a cell, 200 trials
    python benchmarks/other_worlds.py --sets 5 --trials 20 --out /tmp/worlds
    python benchmarks/other_worlds.py --known      # also trials where the arm is given as a known cause
    python benchmarks/other_worlds.py --render     # only the page, from the rows at hand

Rows are appended as they are made, and a second run goes on where the first one stopped. Tuning may use seeds
below 60,000; these are that and above.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from causes_found import Cell, Kept, add_options, of_cell, run, run_intervals, tables
from joblib import Parallel, delayed
from measure import table
from plain_logistic import plain_logistic
from rows_file import read_rows, write_rows
from scipy.optimize import brentq
from scipy.sparse import csr_array
from scipy.special import expit
from scipy.stats import gamma, lognorm, skewnorm, t, weibull_min

from rootcausal import RCI, Knowledge, __version__
from rootcausal.data import SimulatedCohort
from rootcausal.data.simulate import draw_graph

CELLS: list[Cell] = [{"n": n, "p": p} for p in (10, 20, 50) for n in (100, 300, 1000)]
INTERVALS: list[Cell] = [{"n": n, "p": p} for p in (10, 20) for n in (300, 1000)]
SETS, INTERVAL_SETS, TRIALS = 30, 20, 200
FIRST_SEED = 60_000
NEIGHBOURS = 2.0
# Share of a variable's variance that is its parents'.
EXPLAINED = (0.2, 0.7)
PARENTS_OF_D = (2, 4)
# Log-odds for one standard deviation of a parent of D, and of D where all are average.
DIRECT, BASE = (0.4, 1.2), (-1.5, 0.0)
# Those of the trial: patients, columns beside the arm, its log-odds ratio, share with the outcome.
PATIENTS, OTHERS, LOG_ODDS_RATIO, SICK = 600, 30, -0.75, 0.13
ARM, OUTCOME = "arm", "pancreatitis"
NINETY_FIVE = 1.96
KEPT_SHARE, COVERED_BETWEEN = 0.8, (0.93, 0.97)
FOLDER = Path(__file__).parent.parent / "results" / "other-worlds"


def bimodal(rng: np.random.Generator, n: int) -> np.ndarray:
    """Two equal hills, two and a half of their standard deviations apart."""
    return rng.standard_normal(n) + 2.5 * rng.integers(0, 2, n)


LAWS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "Laplace": lambda rng, n: rng.laplace(size=n) / 2**0.5,
    "gamma": lambda rng, n: of_unit(gamma(2.0), rng, n),
    "bimodal": lambda rng, n: (bimodal(rng, n) - 1.25) / (1.0 + 1.25**2) ** 0.5,
    "lognormal": lambda rng, n: of_unit(lognorm(0.6), rng, n),
    "skew normal": lambda rng, n: of_unit(skewnorm(5.0), rng, n),
    "Weibull": lambda rng, n: of_unit(weibull_min(1.5), rng, n),
    "uniform": lambda rng, n: rng.uniform(-(3**0.5), 3**0.5, n),
    "t5": lambda rng, n: of_unit(t(5), rng, n),
}


def of_unit(law: object, rng: np.random.Generator, n: int) -> np.ndarray:
    """With mean zero and unit variance."""
    return (law.rvs(n, random_state=rng) - law.mean()) / law.std()


def draw(*, n: int, p: int, seed: int) -> SimulatedCohort:
    """p vertices with D; every column has unit variance, each error one of eight laws."""
    rng = np.random.default_rng([seed, n, p])
    k = p - 1
    graph = draw_graph(k, NEIGHBOURS / k, rng).toarray()
    mixing, spread = np.eye(k), np.ones(k)
    for c in range(k):
        if graph[c].any():
            explained = rng.uniform(*EXPLAINED)
            graph[c] *= (explained / (graph[c] @ mixing @ mixing.T @ graph[c])) ** 0.5
            spread[c] = (1.0 - explained) ** 0.5
        mixing[c] = graph[c] @ mixing
        mixing[c, c] = spread[c]
    weights = np.zeros(k)
    parents = rng.choice(k, rng.integers(PARENTS_OF_D[0], PARENTS_OF_D[1] + 1), replace=False)
    weights[parents] = rng.uniform(*DIRECT, parents.size) * rng.choice([-1, 1], parents.size)
    base, laws = rng.uniform(*BASE), rng.choice(list(LAWS), k)
    unit = np.column_stack([LAWS[law](rng, n) for law in laws])
    X = unit @ mixing.T
    y = np.zeros(n, dtype=np.int64)
    while min(y.sum(), n - y.sum()) < 2:
        y = (rng.random(n) < expit(X @ weights + base)).astype(np.int64)
    effects = weights @ mixing / spread
    order = rng.permutation(k)
    errors = unit * spread
    return SimulatedCohort(
        X=X.take(order, axis=1),
        y=y,
        errors=errors.take(order, axis=1),
        true_shapley=(errors * effects).take(order, axis=1),
        effects=effects[order],
        target_weights=weights[order],
        adjacency_sparse=csr_array(graph[order][:, order]),
        feature_names=tuple(f"x{column}" for column in range(k)),
        target_name="D",
        intercept=float(base),
    )


def trial(seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """Patients at random on a drug or not, and what became of them.

    A third of the other columns is cut in two, as most columns of trials are; their effects are half of
    those of the other cohorts.
    """
    world = draw(n=PATIENTS, p=OTHERS + 1, seed=seed)
    rng = np.random.default_rng([seed, PATIENTS])
    X = world.X.copy()
    for c in rng.choice(OTHERS, OTHERS // 3, replace=False):
        X[:, c] = X[:, c] > np.quantile(X[:, c], rng.uniform(0.5, 0.8))
    arm = rng.permutation(np.arange(PATIENTS) % 2).astype(float)
    log_odds = LOG_ODDS_RATIO * arm + (X / X.std(axis=0)) @ world.target_weights / 2.0
    base = brentq(lambda at: expit(log_odds + at).mean() - SICK, -50.0, 50.0)
    table = pd.DataFrame(X, columns=list(world.feature_names)).assign(**{ARM: arm})
    return table, pd.Series((rng.random(PATIENTS) < expit(log_odds + base)).astype(int), name=OUTCOME)


def tried(seed: int, known: bool) -> Cell:
    """The drug's log-odds ratio as the default tells it, and as plain logistic regression does."""
    X, y = trial(seed)
    knowledge = Knowledge(causes=[(ARM, OUTCOME)]) if known else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = RCI(positive=1, knowledge=knowledge).fit(X, y)
    on, off = (model.shapley_values(X.assign(**{ARM: arm}))[:, X.columns.get_loc(ARM)] for arm in (1.0, 0.0))
    Z = (X - X.mean()) / X.std()
    design = np.column_stack([X[ARM], Z.drop(columns=ARM), np.ones(len(X))])
    coefficients, covariance = plain_logistic(design, y.to_numpy())
    return {
        "known": int(known),
        "seed": seed,
        "told": float((on - off).mean()),
        "plain": float(coefficients[0]),
        "plain_se": float(covariance[0, 0] ** 0.5),
    }


def run_trials(path: Path, known: bool, seeds: range, jobs: int) -> None:
    done = {row["seed"] for row in of_cell(read_rows(path), {"known": int(known)})}
    missing = [seed for seed in seeds if seed not in done]
    if missing:
        write_rows(path, Parallel(n_jobs=jobs)(delayed(tried)(seed, known) for seed in missing))


def trial_table(rows: list[Cell]) -> str:
    lines = []
    for known, words in ((0, "no"), (1, "yes")):
        here = of_cell(rows, {"known": known})
        if not here:
            continue
        told, plain, error = (np.array([row[name] for row in here]) for name in ("told", "plain", "plain_se"))
        held = (np.abs(plain - LOG_ODDS_RATIO) <= NINETY_FIVE * error).mean()
        ratios = [told.mean() / plain.mean(), told.mean() / LOG_ODDS_RATIO]
        shown = [*(f"{one.mean():+.3f}" for one in (told, plain)), *(f"{ratio:.2f}" for ratio in ratios)]
        lines.append([words, str(len(here)), *shown, f"{held:.1%}"])
    heads = ["given as a known cause", "trials", "default", "plain", "default / plain", "default / truth"]
    return table([*heads, "plain covers the truth"], lines)


def render(kept: Kept) -> str:
    lines = [
        "# Worlds that are not the paper's",
        "",
        f"Made by `python benchmarks/other_worlds.py` with rootcausal {__version__}, seeds {FIRST_SEED} and "
        f"above. Errors follow one of eight laws, drawn for each column ({', '.join(LAWS)}); parents explain "
        f"{EXPLAINED[0]:.0%} to {EXPLAINED[1]:.0%} of a variable that has any; D has {PARENTS_OF_D[0]} to "
        f"{PARENTS_OF_D[1]} parents, {DIRECT[0]} to {DIRECT[1]} log-odds a standard deviation either way, "
        f"and log-odds of {BASE[0]:g} to {BASE[1]:g} where all are average.",
        "",
        *tables(kept, CELLS, INTERVALS),
    ]
    rows = read_rows(trials_of(kept))
    if rows:
        lines += [
            "",
            "## A randomised drug",
            "",
            f"Trials of {PATIENTS} patients, half of them on a drug whose log-odds ratio is "
            f"{LOG_ODDS_RATIO:g}; {OTHERS} other columns of such a world, a third of them cut in two; "
            f"{SICK:.0%} with the outcome. *default*: by how much a patient's Shapley value of the arm "
            "changes with the arm; *plain*: logistic regression on all columns without a penalty. Means "
            "over trials. The goals: an unshrunk effect whose 95 % interval covers the truth in "
            f"{COVERED_BETWEEN[0]:.0%} to {COVERED_BETWEEN[1]:.0%}, and a default of at least "
            f"{KEPT_SHARE:g} of it where the arm is given.",
            "",
            trial_table(rows),
        ]
    return "\n".join(lines) + "\n"


def trials_of(kept: Kept) -> Path:
    return kept.folder / "trials.csv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, FOLDER, SETS, INTERVAL_SETS)
    parser.add_argument("--trials", type=int, default=TRIALS, help="randomised trials")
    parser.add_argument("--known", action="store_true", help="trials with the arm given as a known cause too")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    kept = Kept(arguments.out)
    if not arguments.render:
        run(kept, draw, CELLS, range(FIRST_SEED, FIRST_SEED + arguments.sets), arguments.jobs)
        seeds = range(FIRST_SEED, FIRST_SEED + arguments.interval_sets)
        run_intervals(kept, draw, INTERVALS, seeds, arguments.jobs)
        for known in (False, True)[: 1 + arguments.known]:
            trials = range(FIRST_SEED, FIRST_SEED + arguments.trials)
            run_trials(trials_of(kept), known, trials, arguments.jobs)
    page = render(kept)
    (arguments.out / "README.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
