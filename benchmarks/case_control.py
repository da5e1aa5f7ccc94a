"""What does it take to read a case-control study as one of the population it comes from?

    python benchmarks/case_control.py             # 30 studies a cell, then the times
    python benchmarks/case_control.py --render    # only rewrite the table from the rows at hand

Rows are appended as they are made, and a second run goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
import warnings
from bisect import bisect_left
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from measure import best_of, machine
from rows_file import read_rows, write_rows
from scipy.optimize import brentq
from scipy.special import expit

from rootcausal import RCI, __version__
from rootcausal.data import simulate
from rootcausal.metrics import rank_biased_overlap

P = 20  # variables, D among them
# What the generator's effects are multiplied by, the prevalence, and how many cases and as many controls.
CELLS = [
    (effects, prevalence, m)
    for effects in (1.5, 1.0)
    for prevalence in (0.02, 0.1, 0.25)
    for m in (250, 1000, 4000)
]
FIRST_SEED = 20_000
FRESH_ROWS = 20_000
# What is said of the prevalence, as a multiple of the truth; None says nothing.
SAID = {"default": None, "given": 1.0, "half": 0.5, "double": 2.0}
# Rows, variables and variants of the timed fits.
TIMED = [
    (2000, 20, "local_plus"),
    (2000, 20, "plus"),
    (10_000, 100, "local_plus"),
    (10_000, 100, "plus"),
    (4000, 400, "local_plus"),
]
# How a variable on which controls were matched to cases is handled.
HANDLED = {"kept": {}, "kept, plus": {"variant": "plus"}, "left out": {}}
FOLDER = Path(__file__).parent.parent / "results" / "case-control"


@dataclass(frozen=True)
class Study:
    """Cases and controls of a population, the truth behind them, and others of the same population.

    ``matched`` is a cause of the disease that has no cause of its own, as age and sex have none; controls may
    have been matched on it.
    """

    X: np.ndarray
    y: np.ndarray
    true_shapley: np.ndarray
    fresh: np.ndarray
    matched: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=30, help="studies a cell")
    parser.add_argument("--render", action="store_true", help="only render what is there")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not arguments.render:
        warnings.simplefilter("ignore", UserWarning)  # separated classes count like any other study
        run(arguments.sets)
        write_rows(FOLDER / "matched.csv", matching(arguments.sets), "w")
        write_rows(FOLDER / "times.csv", times(), "w")
    page = render(*(read_rows(FOLDER / f"{name}.csv") for name in ("rows", "matched", "times")))
    (FOLDER / "README.md").write_text(page, encoding="utf-8")


def run(n_sets: int) -> None:
    rows_file = FOLDER / "rows.csv"
    rows = read_rows(rows_file)
    done = {(row["effects"], row["prevalence"], row["m"], row["seed"]) for row in rows}
    for cell in CELLS:
        for seed in range(FIRST_SEED, FIRST_SEED + n_sets):
            if (*cell, seed) not in done:
                write_rows(rows_file, [evaluate(*cell, seed)])
        print(f"effects x {cell[0]}, prevalence {cell[1]}, m = {cell[2]}: done", flush=True)


def evaluate(effects: float, prevalence: float, m: int, seed: int) -> dict[str, float]:
    study = draw(effects, prevalence, m, seed)
    cases = study.y == 1
    row: dict[str, float] = {"effects": effects, "prevalence": prevalence, "m": m, "seed": seed}
    for name, times_truth in SAID.items():
        said = None if times_truth is None else times_truth * prevalence
        model = RCI(prevalence=said).fit(study.X, study.y)
        row[f"{name}_overlap"] = rank_biased_overlap(study.true_shapley[cases], model.scores(study.X[cases]))
        row[f"{name}_risk"] = float(model.predict_proba(study.fresh)[:, 1].mean())
    return row


def matching(n_sets: int) -> list[dict[str, object]]:
    """Overlap on the variables that were not matched, in studies with and without matching."""
    rows = []
    for seed in range(FIRST_SEED, FIRST_SEED + n_sets):
        for match in (False, True):
            study = draw(1.5, 0.02, 1000, seed, match)
            cases = study.y == 1
            others = np.delete(np.arange(study.X.shape[1]), study.matched)
            if not study.true_shapley[:, others].any():
                continue  # it is the only cause
            for how, options in HANDLED.items():
                columns = others if how == "left out" else np.arange(study.X.shape[1])
                model = RCI(prevalence=0.02, **options).fit(study.X[:, columns], study.y)
                scores = np.full(study.X.shape, -np.inf)
                scores[:, columns] = model.scores(study.X[:, columns])
                overlap = rank_biased_overlap(
                    study.true_shapley[np.ix_(cases, others)], scores[np.ix_(cases, others)]
                )
                rows.append({"seed": seed, "matched": int(match), "handled": how, "overlap": overlap})
    return rows


def draw(effects: float, prevalence: float, m: int, seed: int, match: bool = False) -> Study:
    """Cases and controls out of a population that is large enough for them and for a fresh sample."""
    n_each = m / min(prevalence, 1.0 - prevalence)
    rows = FRESH_ROWS + round(n_each + 6.0 * n_each**0.5 / prevalence**0.5)
    people = simulate(rows, P, random_state=seed)
    log_odds = effects * (people.X @ people.target_weights)
    intercept = brentq(lambda shift: expit(log_odds + shift).mean() - prevalence, -100.0, 100.0)
    rng = np.random.default_rng([seed, round(1000 * prevalence), m])
    y = (rng.random(rows) < expit(log_odds + intercept)).astype(np.int64)
    y[:FRESH_ROWS] = -1  # of whom only the risk is asked
    controls, cases = (np.flatnonzero(y == label) for label in (0, 1))
    first = (people.effects != 0) & (np.diff(people.adjacency_sparse.indptr) == 0)
    children = np.diff(people.adjacency_sparse.tocsc().indptr)
    matched = int(np.where(first, children, -1).argmax())
    if match:
        controls = controls[nearest(people.X[cases[:m], matched], people.X[controls, matched])]
    chosen = np.concatenate([controls[:m], cases[:m]])
    assert chosen.size == 2 * m, "the population is too small"
    return Study(
        people.X[chosen], y[chosen], effects * people.true_shapley[chosen], people.X[:FRESH_ROWS], matched
    )


def nearest(wanted: np.ndarray, values: np.ndarray) -> list[int]:
    """For each wanted value in turn, which of the values left is nearest to it."""
    places = np.argsort(values, kind="stable").tolist()
    left, chosen = np.sort(values).tolist(), []
    for value in wanted:
        at = bisect_left(left, value)
        if at == len(left) or (at > 0 and value - left[at - 1] < left[at] - value):
            at -= 1
        left.pop(at)
        chosen.append(places.pop(at))
    return chosen


def times() -> list[dict[str, object]]:
    """Seconds of a fit without and with a prevalence; the two take turns, and the best of each counts."""
    rows = []
    for n, p, variant in TIMED:
        study = simulate(n, p, random_state=FIRST_SEED, design="case-control", prevalence=0.1)
        models = {"without": RCI(variant=variant), "with": RCI(variant=variant, prevalence=0.1)}
        seconds = dict.fromkeys(models, float("inf"))
        for _ in range(40 if n * p < 10**5 else 10):
            for name, model in models.items():
                fit = partial(model.fit, study.X, study.y)
                seconds[name] = min(seconds[name], best_of(1, fit)[0])
        kept = {f"{name}_kept": model.causal_order_.size for name, model in models.items()}
        rows.append({"n": n, "p": p, "variant": variant, **seconds, **kept, "machine": machine()})
        print(rows[-1], flush=True)
    return rows


def render(
    rows: list[dict[str, object]], matched: list[dict[str, object]], timed: list[dict[str, object]]
) -> str:
    lines = [
        "# Case-control studies: with and without the prevalence",
        "",
        f"Made by `python benchmarks/case_control.py` with rootcausal {__version__}, seeds {FIRST_SEED} and "
        "above; one row a study is in `rows.csv`, the times are in `times.csv`.",
        "",
        f"Populations by the paper's generator (p = {P}, D among them; its effects, or 1.5 times these), "
        "with an intercept that makes the disease as common as the prevalence says; m cases and m "
        "controls drawn from each. Overlap of each case's ranked root causes with the truth "
        "(rank-biased overlap), its mean over studies:",
        "",
        "- *default*: `RCI()`, which takes the study for the population.",
        "- *given*: `RCI(prevalence=...)` with the true prevalence; ± is the standard error of its gain over "
        "the default, study by study.",
        "- *half*, *double*: the prevalence said is wrong by a factor of two. "
        "At 25 % the double is the share of cases in the study, so that nothing is weighted.",
        f"- *risk*: mean risk that the model predicts for {FRESH_ROWS:,} other people of the population, "
        "over the prevalence; 1 is right. ± is its standard deviation from study to study.",
        "",
        "| effects | prevalence | m | studies | default | given | gain | half | double "
        "| risk: default | given |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in CELLS:
        here = [row for row in rows if (row["effects"], row["prevalence"], row["m"]) == cell]
        if here:
            lines.append(cell_line(*cell, here))
    lines += [
        "",
        "## Matched controls",
        "",
        f"Prevalence 2 %, m = 1,000, effects × 1.5, the prevalence given; the {len(matched) // 6} studies in "
        "which the disease has more than one cause. A cause that itself has none among the variables, as age "
        "and sex have none, is the one matched on: each case gets the control nearest to it. Overlap on the "
        "other variables (`matched.csv`):",
        "",
        "| that variable is | not matched | matched |",
        "|---|---|---|",
    ]
    names = {"kept": "kept", "kept, plus": 'kept, `variant="plus"`', "left out": "left out of the table"}
    lines += [
        f"| {names[how]} | {mean_overlap(matched, 0, how):.3f} | {mean_overlap(matched, 1, how):.3f} |"
        for how in HANDLED
    ]
    lines += [
        "",
        "## Time of a fit",
        "",
        f"{timed[0]['machine']}; the best of ten or more, taking turns. *kept*: variables in the causal "
        "order, without and with; where these differ, so does the work.",
        "",
        "| rows | variables | variant | without, s | with, s | ratio | kept |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row['n']:,.0f} | {row['p']:.0f} | {row['variant']} | {row['without']:.4f} | {row['with']:.4f} "
        f"| {row['with'] / row['without']:.2f} | {row['without_kept']:.0f}, {row['with_kept']:.0f} |"
        for row in timed
    ]
    return "\n".join(lines) + "\n"


def mean_overlap(rows: list[dict[str, object]], matched: int, handled: str) -> float:
    here = [row["overlap"] for row in rows if (row["matched"], row["handled"]) == (matched, handled)]
    return float(np.mean(here))


def cell_line(effects: float, prevalence: float, m: int, rows: list[dict[str, object]]) -> str:
    def column(name: str) -> np.ndarray:
        return np.array([row[name] for row in rows], dtype=float)

    overlap = {name: column(f"{name}_overlap") for name in SAID}
    gain = overlap["given"] - overlap["default"]
    risk = column("given_risk") / prevalence
    return (
        f"| × {effects:g} | {prevalence:.0%} | {m:,} | {len(rows)} | {overlap['default'].mean():.3f} "
        f"| {overlap['given'].mean():.3f} | {gain.mean():+.3f} ± {gain.std(ddof=1) / len(rows) ** 0.5:.3f} "
        f"| {overlap['half'].mean():.3f} | {overlap['double'].mean():.3f} "
        f"| {column('default_risk').mean() / prevalence:.2f} | {risk.mean():.3f} ± {risk.std(ddof=1):.3f} |"
    )


if __name__ == "__main__":
    main()
