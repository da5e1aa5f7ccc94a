"""What is gained by learning from times and numbers, rather than from what yes or no leaves of them?

    python benchmarks/outcomes.py             # the cohorts of all cells, then the times of fits
    python benchmarks/outcomes.py --render    # only rewrite the tables from the rows at hand

Rows are appended as they are made, and a second run goes on where the first one stopped. Tuning used seeds
below 1,000.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from measure import best_of, machine, table
from rows_file import read_rows, write_rows

from rootcausal import RCI, RCIRegressor, RCISurvival, __version__
from rootcausal.data import SimulatedCohort, simulate
from rootcausal.estimators.base import Estimator
from rootcausal.metrics import rank_biased_overlap

SIZES = [(n, p) for n in (300, 1000, 3000) for p in (10, 30, 50)]
# Outcome, share of events, rows, and variables (the outcome among them).
CELLS = [("survival", events, n, p) for events in (0.62, 0.35) for n, p in SIZES] + [
    ("number", "", n, p) for n, p in SIZES
]
COHORTS = 30  # a cell
FIRST_SEED = 50_000
NEVER_WORSE_BY = 0.005
GOAL_OF_NUMBERS = 0.03
MOST_TIMES_AS_LONG = 3.0
TIMED = [(300, 10), (300, 30), (1000, 10), (1000, 50), (3000, 50), (10_000, 100), (2000, 400)]
TIMED_SEEDS = range(FIRST_SEED, FIRST_SEED + 5)
RUNS = 5
FOLDER = Path(__file__).parent.parent / "results" / "outcomes"


def goal(outcome: str, n: int, p: int) -> float:
    """The gain over the default on yes or no that was set as a goal before anything was measured."""
    if outcome == "number":
        return GOAL_OF_NUMBERS
    if n == 300 and p in (10, 30):
        return {10: 0.04, 30: 0.02}[p]
    return 0.01 if n == 1000 else -NEVER_WORSE_BY


def drawn(outcome: str, events: float | str, n: int, p: int, seed: int) -> SimulatedCohort:
    named = "continuous" if outcome == "number" else outcome
    return simulate(n, p, random_state=seed, outcome=named, events=events or None)


def yes_or_no(cohort: SimulatedCohort) -> np.ndarray:
    """Whether the event was seen; of a number, whether it is above the median."""
    return cohort.y if cohort.time is not None else (cohort.y > np.median(cohort.y)).astype(np.int64)


def by_horizon(cohort: SimulatedCohort) -> tuple[np.ndarray, np.ndarray]:
    """Event before the median follow-up or not, and of whom that is known."""
    horizon = np.median(cohort.time)
    return (cohort.event & (cohort.time <= horizon)).astype(np.int64), cohort.event | (cohort.time >= horizon)


def fitted(cohort: SimulatedCohort, **options: str) -> Estimator:
    """The estimator of this outcome, by default as it comes."""
    if cohort.time is not None:
        return RCISurvival(**options).fit(cohort.X, cohort.time, cohort.event)
    return RCIRegressor(**options).fit(cohort.X, cohort.y)


def oracle_scores(cohort: SimulatedCohort) -> np.ndarray:
    """Knows the ancestors of the outcome: orders them alone, and regresses the outcome on their errors."""
    ancestors = np.flatnonzero(cohort.effects)
    known = replace(cohort, X=cohort.X[:, ancestors])
    scores = np.full(cohort.X.shape, -np.inf)
    scores[:, ancestors] = fitted(known, variant="plus", attribution="paper").scores(known.X)
    return scores


def evaluate(outcome: str, events: float | str, n: int, p: int, seed: int) -> dict[str, object]:
    cohort = drawn(outcome, events, n, p, seed)
    y = yes_or_no(cohort)
    models: dict[str, Estimator] = {
        "outcome": fitted(cohort),
        "yes_no": RCI().fit(cohort.X, y),
        "yes_no_paper": RCI(attribution="paper").fit(cohort.X, y),
    }
    if outcome == "survival":
        early, known = by_horizon(cohort)
        models["horizon"] = RCI().fit(cohort.X[known], early[known])
    scores = {name: model.scores(cohort.X) for name, model in models.items()}
    scores["oracle"] = oracle_scores(cohort)
    overlaps = {
        f"{name}_overlap": rank_biased_overlap(cohort.true_shapley, found) for name, found in scores.items()
    }
    # All rows of the file have the same columns.
    empty: dict[str, object] = {"horizon_overlap": ""}
    return {"outcome": outcome, "events": events, "n": n, "p": p, "seed": seed} | empty | overlaps


def place(row: dict[str, object]) -> tuple[object, ...]:
    """Its cell and its seed."""
    return tuple(row[name] for name in ("outcome", "events", "n", "p", "seed"))


def run() -> None:
    rows_file = FOLDER / "rows.csv"
    done = set(map(place, read_rows(rows_file)))
    for cell in CELLS:
        for seed in range(FIRST_SEED, FIRST_SEED + COHORTS):
            if (*cell, seed) not in done:
                write_rows(rows_file, [evaluate(*cell, seed)])
        print(*cell, "done", flush=True)


def times() -> list[dict[str, object]]:
    """Seconds of a fit of each outcome, and of one on its yes or no; the two take turns."""
    rows = []
    for outcome, events in (("survival", 0.62), ("survival", 0.35), ("number", "")):
        for n, p in TIMED:
            for seed in TIMED_SEEDS:
                cohort = drawn(outcome, events, n, p, seed)
                y = yes_or_no(cohort)
                seconds, models = in_turns(
                    lambda cohort=cohort: fitted(cohort), lambda cohort=cohort, y=y: RCI().fit(cohort.X, y)
                )
                row = {"outcome": outcome, "events": events, "n": n, "p": p, "seed": seed}
                row |= {"outcome_seconds": seconds[0], "yes_no_seconds": seconds[1]}
                kept = [model.causal_order_.size for model in models]
                rows.append(row | {"outcome_kept": kept[0], "yes_no_kept": kept[1]})
            print(f"timed: {outcome} {events}, n = {n}, p = {p}", flush=True)
    return rows


def in_turns(*fits: Callable[[], Estimator]) -> tuple[list[float], list[Estimator]]:
    """The best of several times of each, and what each one gives."""
    models = [fit() for fit in fits]  # compiles
    best = [math.inf] * len(fits)
    for _ in range(RUNS):
        best = [min(before, best_of(1, fit)[0]) for before, fit in zip(best, fits, strict=True)]
    return best, models


def render(rows: list[dict[str, object]], timed: list[dict[str, object]], version: str = __version__) -> str:
    lines = [
        "# Times and numbers against yes or no",
        "",
        f"Made by `python benchmarks/outcomes.py` with rootcausal {version}, seeds {FIRST_SEED} and "
        "above; one row a cohort is in `rows.csv`, the times of fits are in `times.csv`.",
        "",
        "Cohorts of the paper's graph and errors, with another outcome (`simulate(outcome=...)`). Overlap of "
        "the ranked root causes of all patients with the truth (rank-biased overlap), its mean over cohorts. "
        "Every method has the same cohorts; *gain* is that over *default*, cohort by cohort, ± its standard "
        "error.",
        "",
        '- *paper*, *default*: `RCI(attribution="paper")` and `RCI()` on yes or no.',
        "- All of them but *paper* have the same level of the screen by default, so what is gained over "
        "*default* comes of knowing more than yes or no.",
        "- *oracle*: is told the causes of the outcome, orders them alone, and regresses times or numbers "
        "on their errors.",
        "",
        "## Time to an event",
        "",
        "*Default* and its like are told who had the event. *Horizon*: `RCI()` is told who had the event by "
        "the median follow-up; patients who were lost before it are left out. *Times*: `RCISurvival()`.",
        "",
        *section(rows, "survival", ["paper", "default", "horizon", "times", "oracle"]),
        "",
        "## A number",
        "",
        "*Default* and its like are told who is above the median. *Number*: `RCIRegressor()`.",
        "",
        *section(rows, "number", ["paper", "default", "number", "oracle"]),
        "",
        "## Goals",
        "",
        *verdicts(rows, timed),
        "",
        "## Time of a fit",
        "",
        f"{timed[0]['machine']}; {RUNS} fits each, in turns in one process; the shortest counts. Means over "
        f"{len(TIMED_SEEDS)} cohorts; *kept* are variables in the causal order.",
        "",
        *speed_lines(timed),
    ]
    return "\n".join(lines) + "\n"


METHODS = {
    "paper": "yes_no_paper",
    "default": "yes_no",
    "horizon": "horizon",
    "times": "outcome",
    "number": "outcome",
    "oracle": "oracle",
}


def overlaps(rows: list[dict[str, object]], cell: tuple[object, ...], method: str) -> np.ndarray:
    return np.array([row[f"{METHODS[method]}_overlap"] for row in rows if place(row)[:-1] == cell])


def gain_of(rows: list[dict[str, object]], cell: tuple[object, ...]) -> tuple[float, float]:
    """Mean and standard error of the paired gain over the default on yes or no."""
    gain = overlaps(rows, cell, "times") - overlaps(rows, cell, "default")
    return float(gain.mean()), float(gain.std(ddof=1) / math.sqrt(gain.size))


def headroom(rows: list[dict[str, object]], cell: tuple[object, ...]) -> float:
    """What the oracle gains over the default on yes or no."""
    return float((overlaps(rows, cell, "oracle") - overlaps(rows, cell, "default")).mean())


def section(rows: list[dict[str, object]], outcome: str, methods: list[str]) -> list[str]:
    header = ["events", "n", "p", "cohorts", *methods, "gain", "goal", ""]
    body = []
    for cell in CELLS:
        if cell[0] != outcome or not overlaps(rows, cell, "default").size:
            continue
        _, events, n, p = cell
        gain, error = gain_of(rows, cell)
        wanted = goal(outcome, n, p)
        found = [overlaps(rows, cell, method) for method in methods]
        body.append(
            [f"{events:.0%}" if events else "", f"{n:,}", f"{p}", f"{found[0].size}"]
            + [f"{overlap.mean():.3f}" for overlap in found]
            + [f"{gain:+.3f} ± {error:.3f}", f"{wanted:+.3f}", "met" if gain >= wanted else "missed"]
        )
    if outcome == "number":
        header, body = header[1:], [line[1:] for line in body]
    return table(header, body).splitlines()


def verdicts(rows: list[dict[str, object]], timed: list[dict[str, object]]) -> list[str]:
    """Which goals were met, counted."""
    lines = []
    for outcome, what in (("survival", "Times against yes or no"), ("number", "Numbers against the median")):
        cells = [cell for cell in CELLS if cell[0] == outcome and overlaps(rows, cell, "default").size]
        missed = [cell for cell in cells if gain_of(rows, cell)[0] < goal(outcome, *cell[2:])]
        lines.append(f"- {what}: {len(cells) - len(missed)} of {len(cells)} cells met{in_words(missed)}.")
        unsure = [cell for cell in cells if is_near(goal(outcome, *cell[2:]), *gain_of(rows, cell))]
        lines.append(f"- Nearer to the goal than two standard errors: {len(unsure)}{in_words(unsure, '')}.")
        out_of_reach = [cell for cell in missed if headroom(rows, cell) < goal(outcome, *cell[2:])]
        lines.append(
            f"- Missed, where the oracle gains less than the goal too: {len(out_of_reach)} of {len(missed)}"
            f"{in_words(out_of_reach, '')}."
        )
        worse = [cell for cell in cells if gain_of(rows, cell)[0] < -NEVER_WORSE_BY]
        lines.append(
            f"- Worse by more than {NEVER_WORSE_BY}: {len(worse)} of {len(cells)}{in_words(worse, '')}."
        )
    slowest = max(ratios(timed).items(), key=lambda item: item[1])
    met = "met" if slowest[1] <= MOST_TIMES_AS_LONG else "missed"
    lines.append(
        f"- A fit takes at most {MOST_TIMES_AS_LONG:g} times as long as that of yes or no: {met}; the most "
        f"are {slowest[1]:.2f} times ({cell_in_words(slowest[0])})."
    )
    return lines


def is_near(wanted: float, gain: float, error: float) -> bool:
    return abs(gain - wanted) < 2.0 * error


def in_words(cells: list[tuple[object, ...]], before: str = "not ") -> str:
    return f" ({before}{'; '.join(map(cell_in_words, cells))})" if cells else ""


def cell_in_words(cell: tuple[object, ...]) -> str:
    outcome, events, n, p = cell
    share = f", {events:.0%} events" if events else ""
    return f"{outcome}{share}, n = {n:,.0f}, p = {p:.0f}"


def ratios(timed: list[dict[str, object]]) -> dict[tuple[object, ...], float]:
    """By cell: seconds of the fits of all cohorts, over those of yes or no."""
    sums: dict[tuple[object, ...], np.ndarray] = {}
    for row in timed:
        cell = place(row)[:-1]
        seconds = np.array([row["outcome_seconds"], row["yes_no_seconds"]])
        sums[cell] = sums.get(cell, 0.0) + seconds
    return {cell: float(ours / theirs) for cell, (ours, theirs) in sums.items()}


def speed_lines(timed: list[dict[str, object]]) -> list[str]:
    body = []
    for cell, ratio in ratios(timed).items():
        outcome, events, n, p = cell
        here = [row for row in timed if place(row)[:-1] == cell]
        names = ("yes_no_seconds", "outcome_seconds", "yes_no_kept", "outcome_kept")
        theirs, ours, kept, ours_kept = (np.mean([row[name] for row in here]) for name in names)
        size = [outcome, f"{events:.0%}" if events else "", f"{n:,.0f}", f"{p:.0f}"]
        milliseconds = [f"{1e3 * seconds:.1f}" for seconds in (theirs, ours)]
        body.append([*size, *milliseconds, f"{ratio:.2f}", f"{kept:.0f}, {ours_kept:.0f}"])
    header = ["outcome", "events", "n", "p", "yes or no, ms", "outcome, ms", "ratio", "kept"]
    return table(header, body).splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--render", action="store_true", help="only render what is there")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    times_file = FOLDER / "times.csv"
    if not arguments.render:
        warnings.simplefilter("ignore", UserWarning)  # separated classes count like any other cohort
        run()
        write_rows(times_file, [row | {"machine": machine()} for row in times()], "w")
    page = render(read_rows(FOLDER / "rows.csv"), read_rows(times_file))
    (FOLDER / "README.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
