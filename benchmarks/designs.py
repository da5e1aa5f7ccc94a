"""What is gained by fitting a cohort as it was sampled: matched sets, late entry, competing events.

Late entry and competing events are drawn in several strengths; truth of the cumulative incidence are its
Shapley values by all coalitions.

    python benchmarks/designs.py             # the cohorts of all cells
    python benchmarks/designs.py --render    # only rewrite the tables from the rows at hand

Rows are appended as they are made, and a second run goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
import itertools
import math
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import table
from rows_file import read_rows, write_rows

from rootcausal import RCI, RCISurvival, __version__
from rootcausal.data import SimulatedCohort, simulate
from rootcausal.metrics import rank_biased_overlap

FOLDER = Path(__file__).parent.parent / "results" / "designs"
FIRST_SEED, COHORTS = 70_000, 20
P = 10  # vertices, the outcome among them
# Design, what varies in it, and patients.
CELLS = [
    ("matched 1:1", "sets share 1 sd", 400),
    ("matched 1:3", "sets share 1 sd", 800),
    ("matched 1:1", "sets share nothing", 400),
    ("matched 1:3", "sets share nothing", 800),
    ("late entry", "half had it before; by columns", 400),
    ("late entry", "half had it before; by columns; rising", 400),
    ("late entry", "half had it before", 400),
    ("late entry", "a tenth had it before", 400),
    ("entry at an age", "columns move it by 0 years", 600),
    ("entry at an age", "columns move it by 5 years", 600),
    ("entry at an age", "columns move it by 10 years", 600),
    ("entry at an age", "columns move it by 20 years", 600),
    ("competing", "by other columns", 600),
    ("competing", "by nothing", 600),
    ("incidence", "other event by columns, strongly", 600),
    ("incidence", "other event by columns", 600),
    ("incidence", "other event by columns; 1,500 rows", 1500),
    ("incidence", "other event by nothing", 600),
]
HORIZON = 0.5
GOALS = {
    "matched 1:1": 0.03,
    "matched 1:3": 0.03,
    "late entry": 0.03,
    "entry at an age": 0.03,
    "competing": 0.02,
    "incidence": 0.02,
}
# Hazards grow by a tenth a year, as those of death do; half of average patients live to 80.
GROWTH, HALF_LIVE_TO = 0.1, 80.0
AGES, YEARS = (40.0, 75.0), (2.0, 12.0)  # at entry where columns do not move it; of follow-up
PEOPLE = 64  # whose errors stand for those outside a coalition


def drawn(n: int, seed: int) -> SimulatedCohort:
    """The paper's graph and errors; of its outcome only the weights of the parents are used."""
    return simulate(n, P, random_state=seed, outcome="continuous")


def overlaps(truth: np.ndarray, scores: dict[str, np.ndarray]) -> dict[str, object]:
    return {name: rank_biased_overlap(truth, found) for name, found in scores.items()}


def other_weights(rng: np.random.Generator) -> np.ndarray:
    """Weights of something beside the outcome, on two columns in five."""
    return rng.choice([0.0, 0.6, -0.6], size=P - 1, p=[0.6, 0.2, 0.2])


def matched(controls: int, shared: float, n: int, seed: int) -> dict[str, object]:
    """One case a set, drawn by its odds among its set; rows of a set have the same shift of each error."""
    cohort, rng = drawn(n, seed), np.random.default_rng(seed)
    sets = np.repeat(np.arange(n // (controls + 1)), controls + 1)
    shift = rng.normal(size=(sets.max() + 1, P - 1)) * shared * cohort.errors.std(axis=0)
    E = cohort.errors[: sets.size]
    X = np.linalg.solve(np.eye(P - 1) - cohort.adjacency, (E + shift[sets]).T).T
    chance = X @ cohort.target_weights + rng.gumbel(size=sets.size)
    y = np.zeros(sets.size, dtype=int)
    np.put(y, [np.flatnonzero(sets == one)[chance[sets == one].argmax()] for one in range(sets.max() + 1)], 1)
    design = RCI().fit(X, y, strata=sets)
    return overlaps(
        E * cohort.effects,
        {"as_sampled": design.scores(X, strata=sets), "ignored": RCI().fit(X, y).scores(X)},
    )


def late_entry(gone: float, by_columns: bool, shape: float, n: int, seed: int) -> dict[str, object]:
    """Followed from a uniform entry, which columns may hasten; whom the event came to before is not seen."""
    cohort, rng = drawn(20 * n, seed), np.random.default_rng(seed)
    hazard = np.exp(cohort.X @ cohort.target_weights)
    time = rng.exponential(1.0 / hazard) ** (1.0 / shape)
    entry = rng.random(time.size) * np.exp(np.clip(cohort.X @ other_weights(rng) * by_columns, -8, 8))
    entry *= np.quantile(time / entry, gone)
    seen = np.flatnonzero(time > entry)[:n]
    left = entry + rng.exponential(2.0 * np.median(time[seen]), time.size)
    event, end = (time <= left)[seen].astype(int), np.minimum(time, left)[seen]
    return of_late_entry(cohort, seen, entry[seen], end, event)


def entry_at_an_age(years: float, n: int, seed: int) -> dict[str, object]:
    """Age is the time; columns move the age at entry by so many years a standard deviation."""
    cohort, rng = drawn(20 * n, seed), np.random.default_rng(seed)
    hazard = np.exp(np.clip(cohort.X @ cohort.target_weights, -8, 8))
    hazard *= np.log(2.0) / np.expm1(GROWTH * HALF_LIVE_TO)
    time = np.log1p(rng.exponential(1.0 / hazard)) / GROWTH
    pull = cohort.X @ other_weights(rng)
    pull = np.clip(pull / (pull.std() or 1.0), -2.5, 2.5)
    entry = np.maximum(rng.uniform(*AGES, time.size) + years * pull, 1.0)
    seen = np.flatnonzero(time > entry)[:n]
    left = entry + rng.uniform(*YEARS, time.size)
    event, end = (time <= left)[seen].astype(int), np.minimum(time, left)[seen]
    return of_late_entry(cohort, seen, entry[seen], end, event)


def of_late_entry(
    cohort: SimulatedCohort, seen: np.ndarray, start: np.ndarray, end: np.ndarray, event: np.ndarray
) -> dict[str, object]:
    """What each reading of a cohort finds of which patients came late."""
    X = cohort.X[seen]
    fits = {
        "as_sampled": RCISurvival().fit(X, end, event, start=start),
        "ignored": RCISurvival().fit(X, end, event),
        "since_entry": RCISurvival().fit(X, end - start, event),
        "yes_no": RCI().fit(X, event),
    }
    scores = {name: model.scores(X) for name, model in fits.items()}
    return overlaps(cohort.true_shapley[seen], scores | {"cox": by_cox(fits["as_sampled"], X)})


def by_cox(model: RCISurvival, X: np.ndarray) -> np.ndarray:
    """(n, p) by plain Cox regression: coefficients times columns, less their means."""
    return (X - X.mean(axis=0)) * model.summary(penalized=False).frame.effect.to_numpy(dtype=float)


def two_hazards(
    weights: np.ndarray, cohort: SimulatedCohort, rng: np.random.Generator
) -> tuple[np.ndarray, ...]:
    """Two constant hazards of a cohort, times, and what came first."""
    own = np.exp(np.clip(cohort.X @ cohort.target_weights, -8, 8))
    other = np.exp(np.clip(cohort.X @ weights, -8, 8)) * 1.5
    first, second = rng.exponential(1.0 / own), rng.exponential(1.0 / other)
    left = rng.exponential(1.0, own.size)
    end = np.minimum(np.minimum(first, second), left)
    return own, other, end, np.where(end == first, "event", np.where(end == second, "other", "censored"))


def of_incidence(own: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The log of the cumulative hazard that a cumulative incidence by the horizon is like (cloglog)."""
    reached = own / (own + other) * -np.expm1(-(own + other) * HORIZON)
    return np.log(-np.log1p(-np.clip(reached, 1e-12, 1.0 - 1e-12)))


def shapley_of_incidence(
    cohort: SimulatedCohort, weights: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """(n, p) Shapley values of errors, all coalitions, those outside as other patients have them."""
    E, paths = cohort.errors, np.linalg.inv(np.eye(P - 1) - cohort.adjacency)
    first, second = paths.T @ cohort.target_weights, paths.T @ weights
    acting = np.flatnonzero((first != 0.0) | (second != 0.0)).tolist()
    others = E[rng.choice(len(E), PEOPLE, replace=False)]
    worth = {}
    for size in range(len(acting) + 1):
        for inside in itertools.combinations(acting, size):
            outside = [i for i in acting if i not in inside]
            own, other = (
                np.add.outer(E[:, inside] @ of[list(inside)], others[:, outside] @ of[outside])
                for of in (first, second)
            )
            hazards = np.exp(np.clip(own, -8, 8)), np.exp(np.clip(other, -8, 8)) * 1.5
            worth[frozenset(inside)] = of_incidence(*hazards).mean(axis=1)
    values, k = np.zeros(E.shape), len(acting)
    for inside, reached in worth.items():
        for i in inside:
            share = math.factorial(len(inside) - 1) * math.factorial(k - len(inside)) / math.factorial(k)
            values[:, i] += share * (reached - worth[inside - {i}])
    return values


def incidence(strength: float, n: int, seed: int) -> dict[str, object]:
    """Why the event happened by the horizon: truth is of the cumulative incidence, given the errors."""
    cohort, rng = drawn(n, seed), np.random.default_rng(seed)
    weights = other_weights(rng) * strength
    own, other, end, label = two_hazards(weights, cohort, rng)
    asked, X = {"positive": "event", "competing": "other"}, cohort.X
    fits = {which: RCISurvival(**asked, incidence=which).fit(X, end, label) for which in (True, False)}
    scores = {
        "as_sampled": fits[True].scores(X),
        "ignored": fits[False].scores(X),
        "yes_no": RCI().fit(X, (label == "event").astype(int)).scores(X),
        "cox": by_cox(fits[False], X),
    }
    truth = 1.0 - np.exp(-np.exp(of_incidence(own, other)))
    risks = {
        name: round(float(np.abs(fits[which].predict_risk(X, HORIZON) - truth).mean()), 6)
        for name, which in (("risk_error", True), ("risk_error_ignored", False))
    }
    return overlaps(shapley_of_incidence(cohort, weights, rng), scores) | risks


def competing(by_columns: bool, n: int, seed: int) -> dict[str, object]:
    """Two constant hazards; that of the other event has parents of its own, or none."""
    cohort, rng = drawn(n, seed), np.random.default_rng(seed)
    X = cohort.X
    own, other, end, label = two_hazards(other_weights(rng) * by_columns, cohort, rng)
    told = RCISurvival(positive="event", competing="other").fit(X, end, label)
    censored = RCISurvival(positive="event", competing=[]).fit(X, end, label)
    scores = {
        "as_sampled": told.scores(X),
        "ignored": censored.scores(X),
        "yes_no": RCI().fit(X, (label == "event").astype(int)).scores(X),
    }
    # The cumulative incidence of constant hazards.
    truth = own / (own + other) * -np.expm1(-(own + other) * HORIZON)
    risks = {
        "risk_error": np.abs(told.predict_risk(X, HORIZON) - truth).mean(),
        "risk_error_ignored": np.abs(censored.predict_risk(X, HORIZON) - truth).mean(),
    }
    return overlaps(cohort.true_shapley, scores) | {name: round(float(of), 6) for name, of in risks.items()}


def evaluate(design: str, world: str, n: int, seed: int) -> dict[str, object]:
    draw: dict[str, Callable[[], dict[str, object]]] = {
        "matched 1:1": lambda: matched(1, float("1 sd" in world), n, seed),
        "matched 1:3": lambda: matched(3, float("1 sd" in world), n, seed),
        "late entry": lambda: late_entry(
            0.5 if "half" in world else 0.1, "columns" in world, 1.0 + 2.0 * ("rising" in world), n, seed
        ),
        "entry at an age": lambda: entry_at_an_age(float(world.split()[-2]), n, seed),
        "competing": lambda: competing("columns" in world, n, seed),
        "incidence": lambda: incidence((0.5 + 0.5 * ("strongly" in world)) * ("columns" in world), n, seed),
    }
    empty = {"since_entry": "", "cox": "", "risk_error": "", "risk_error_ignored": ""}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = draw[design]()
    if design.startswith("matched"):
        found["yes_no"] = found["ignored"]  # what ignores the sets is yes or no
    return {"design": design, "world": world, "n": n, "seed": seed} | empty | found


def place(row: dict[str, object]) -> tuple[object, ...]:
    return tuple(row[name] for name in ("design", "world", "n", "seed"))


def run() -> None:
    rows_file = FOLDER / "rows.csv"
    done = set(map(place, read_rows(rows_file)))
    for cell in CELLS:
        for seed in range(FIRST_SEED, FIRST_SEED + COHORTS):
            if (*cell, seed) not in done:
                write_rows(rows_file, [evaluate(*cell, seed)])
        print(*cell, "done", flush=True)


def render(rows: list[dict[str, object]]) -> str:
    lines = [
        "# Designs of cohorts, and what ignoring them costs",
        "",
        f"Made by `python benchmarks/designs.py` with rootcausal {__version__}, seeds {FIRST_SEED} and "
        f"above, {COHORTS} cohorts a cell; one row a cohort is in `rows.csv`.",
        "",
        f"Worlds: the paper's graphs and errors ({P - 1} columns). *Matched*: one row of a set is the case, "
        "by its odds among them; each error of a set is shifted for all its rows by a normal number of one "
        "standard deviation, as a shared family or neighbourhood does, or by nothing. *Late entry*: times "
        "from a common origin, hazards constant or rising (Weibull, shape 3); patients enter at a uniform "
        "time, which other columns may hasten or put off, and half, or a tenth, had the event before and are "
        "never seen. *Entry at an age*: the time is the age, hazards grow by a tenth a year, patients "
        "enter between 40 and 75 years, sooner or later by columns (so many years a standard deviation), and "
        "are followed for 2 to 12 years. *Competing*: a second constant hazard, which depends on other "
        "columns or on none; truth are effects on the hazard. *Incidence*: the same cohorts, asked by "
        f"`incidence=True`; truth are Shapley values, by all coalitions, of the cumulative incidence by "
        f"{HORIZON:g} (complementary log-log), with other patients' errors outside a coalition.",
        "",
        "Overlap of the ranked root causes of all patients with the truth (rank-biased overlap), its mean. "
        "*Ignored*: the same default without the sets, without the start, with the other event as censoring, "
        "without `incidence`. "
        "*Since entry*: times counted from the entry on. *Yes or no*: `RCI()` on whether the event was seen. "
        "*Cox*: its coefficients times the columns, as sampled, the other event as censoring. "
        "Gains are over *ignored*, and over *yes or no*, cohort by cohort, ± their standard error.",
        "",
        *section(rows),
        "",
        "Effects on the hazard of an event (cause-specific) are the same whether competing events are named "
        "or count as censoring, so their overlap is the same by construction. What naming them changes are "
        "risks; what `incidence=True` changes is the question, to which columns of the other hazard belong. "
        "The mean absolute difference of the risk by the horizon to the true cumulative incidence is",
        "",
        *risks(rows),
    ]
    return "\n".join(lines) + "\n"


def of(rows: list[dict[str, object]], name: str) -> np.ndarray:
    return np.array([row[name] for row in rows if row[name] != ""], dtype=float)


def mean(rows: list[dict[str, object]], name: str) -> str:
    found = of(rows, name)
    return f"{found.mean():.3f}" if found.size else ""


def section(rows: list[dict[str, object]]) -> list[str]:
    body = []
    for cell in CELLS:
        here = [row for row in rows if place(row)[:-1] == cell]
        gain, over_yes_no = (of(here, "as_sampled") - of(here, name) for name in ("ignored", "yes_no"))
        wanted = GOALS[cell[0]]
        body.append(
            [cell[0], cell[1], f"{cell[2]:,}", f"{len(here)}"]
            + [mean(here, name) for name in ("as_sampled", "ignored", "since_entry", "cox", "yes_no")]
            + [with_error(over_yes_no), with_error(gain), f"{wanted:+.2f}"]
            + ["met" if gain.mean() >= wanted else "missed"]
        )
    names = ["design", "world", "n", "cohorts", "as sampled", "ignored", "since entry", "Cox", "yes or no"]
    return table([*names, "over yes or no", "gain", "goal", ""], body).splitlines()


def with_error(gain: np.ndarray) -> str:
    return f"{gain.mean():+.3f} ± {gain.std(ddof=1) / np.sqrt(gain.size):.3f}"


def risks(rows: list[dict[str, object]]) -> list[str]:
    body = []
    for cell in CELLS:
        here = [row for row in rows if place(row)[:-1] == cell and cell[0] in ("competing", "incidence")]
        if here:
            body.append([*cell[:2], mean(here, "risk_error"), mean(here, "risk_error_ignored")])
    return table(["design", "other event", "as sampled", "ignored"], body).splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--render", action="store_true", help="only render what is there")
    arguments = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not arguments.render:
        run()
    page = render(read_rows(FOLDER / "rows.csv"))
    (FOLDER / "README.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
