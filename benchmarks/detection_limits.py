"""What do limits of detection, and saying them, do to ranks and intervals; and are such columns seen?

    python benchmarks/detection_limits.py             # about ten minutes on one core
    python benchmarks/detection_limits.py --render    # only rewrite the page from the rows at hand

Cohorts of the paper's generator and of other_worlds.py, some columns of which are cut at a quantile, below or
above. Seeds below 71,000 were used to choose things, these are that and above.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from clean_cohorts import KINDS
from faulty_cohorts import draw as draw_kind
from measure import table
from other_worlds import draw
from real_cohorts import TABLES
from rows_file import read_rows, write_rows

from rootcausal import RCI, __version__
from rootcausal.data import SimulatedCohort, load_framingham, simulate
from rootcausal.metrics import rank_biased_overlap
from rootcausal.screening.resolution import MOST_LEVELS, coarse_steps, piles_of

WORLDS, SIZES, CUT, VARIABLES = ("paper", "other"), (500, 1000), (3, 5, 10), 10
SHARE, COHORTS, WITH_INTERVALS, RESAMPLES = 0.25, 20, 5, 30
# Real tables, how often their columns are chosen, and rows of a table at most.
REAL, CHOICES, MOST_ROWS = ("pbc-complete", "breast-means", "diabetes", "pima", "randhie"), 10, 2_000
# Intervals are asked for where so many are cut.
INTERVALS_CUT = 3
SPOILT, CLEAN_VARIABLES = ("clean", "below 25%", "below 10%", "above 25%", "steps"), 11
FIRST_SEED, FEWEST_ROWS = 71_000, 30
WAYS = {
    "uncut": "nothing is cut",
    "limit": "value = limit",
    "half": "value = limit/2",
    "whole rows": "complete cases",
    "said": "`limits=`",
    "floor": "told by the model of all values",
}
OF_REAL = {"another sample": "another sample", "limit": WAYS["limit"], "said": WAYS["said"]}
FOLDER = Path(__file__).parent.parent / "results" / "detection-limits"


def cohort(world: str, n: int, seed: int) -> SimulatedCohort:
    if world == "other":
        return draw(n=n, p=VARIABLES + 1, seed=seed)
    return simulate(n_samples=n, n_variables=VARIABLES + 1, random_state=seed)


def told(world: str, n: int, cut: int, seed: int, way: str, resamples: int) -> dict[str, object]:
    """One cohort, and what a model says to which the limits of some columns are given in one way."""
    drawn = cohort(world, n, seed)
    whole = drawn.X - drawn.X.min(axis=0)  # amounts, of which there can be none: half a limit means something
    X, limits = whole.copy(), {}
    for column in np.random.default_rng([seed, cut]).choice(VARIABLES, cut, replace=False).tolist():
        limits[column] = float(np.quantile(whole[:, column], SHARE))
        X[:, column] = np.maximum(whole[:, column], limits[column])
    below = np.zeros(X.shape, dtype=bool)
    below[:, list(limits)] = X[:, list(limits)] <= np.array(list(limits.values()))
    row = {"world": world, "n": n, "cut": cut, "seed": seed, "way": way, "overlap": "", "held": ""}
    rows, said = np.ones(n, dtype=bool), None
    if way == "uncut":
        X = whole
    elif way == "half":
        X = np.where(below, X / 2.0, X)
    elif way == "whole rows":
        rows = ~below.any(axis=1)
        if min(np.bincount(drawn.y[rows], minlength=2)) < FEWEST_ROWS:
            return row
    elif way in ("said", "floor"):
        said = {column: f"<{limit!r}" for column, limit in limits.items()}
    model = RCI(positive=1, limits=said, mechanism="linear").fit(X[rows], drawn.y[rows])
    if way == "floor":  # what patients lose by their own values, however much was learned
        expected = model._completion.fill(X)
        model, X = RCI(positive=1, mechanism="linear").fit(whole, drawn.y), expected
    cases, acts = drawn.y == 1, np.abs(drawn.effects) > 1e-9
    row["overlap"] = float(rank_biased_overlap(drawn.true_shapley[cases], model.scores(X)[cases]))
    if resamples:
        explained = model.bootstrap(resamples).explain(X)
        assert explained.lower is not None and explained.upper is not None
        true = drawn.true_shapley
        held = (explained.lower <= true + 1e-12) & (true <= explained.upper + 1e-12)
        row["held"] = float(held[:, acts].mean())
    return row


def of_table(name: str, X: pd.DataFrame, y: np.ndarray, seed: int) -> list[dict[str, object]]:
    """A real table, of which half of the columns that are numbers are cut: overlap with the uncut answer."""
    rng = np.random.default_rng(seed)
    whole = X.dropna().to_numpy(dtype=float)
    y = np.asarray(y)[X.notna().all(axis=1).to_numpy()]
    some = rng.permutation(len(y))[:MOST_ROWS]
    whole, y = whole[some], y[some]
    numbers = [c for c in range(whole.shape[1]) if np.unique(whole[:, c]).size > MOST_LEVELS]
    cut, limits = whole.copy(), {}
    for column in rng.choice(numbers, len(numbers) // 2, replace=False).tolist():
        limits[column] = float(np.quantile(whole[:, column], SHARE))
        cut[:, column] = np.maximum(whole[:, column], limits[column])
    said = {column: f"<{limit!r}" if limit >= 0 else f"<-{-limit!r}" for column, limit in limits.items()}
    uncut = RCI(mechanism="linear").fit(whole, y).scores(whole)
    again = rng.integers(len(y), size=len(y))
    asked = {
        "another sample": RCI(mechanism="linear").fit(whole[again], y[again]).scores(whole),
        "limit": RCI(mechanism="linear").fit(cut, y).scores(cut),
        "said": RCI(mechanism="linear", limits=said).fit(cut, y).scores(cut),
    }
    cases = y == 1
    return [
        {"table": name, "n": len(y), "cut": len(limits), "of": whole.shape[1], "seed": seed, "way": way}
        | {"overlap": float(rank_biased_overlap(uncut[cases], found[cases]))}
        for way, found in asked.items()
    ]


def spoilt(how: str, values: np.ndarray) -> np.ndarray:
    """A column as it would be measured."""
    if how == "steps":
        return np.round(values / (0.5 * values.std())) * 0.5 * values.std()
    share, above = float(how.split()[1].rstrip("%")) / 100.0, how.startswith("above")
    limit = np.quantile(values, 1.0 - share if above else share)
    return np.minimum(values, limit) if above else np.maximum(values, limit)


def seen_rows() -> list[dict[str, object]]:
    """How many columns are named, of those that were spoilt and of others."""
    found = []
    for n in SIZES:
        for world in WORLDS:
            drawn = [cohort(world, n, FIRST_SEED + place).X for place in range(COHORTS)]
            columns = [X[:, c] for X in drawn for c in range(VARIABLES)]
            for how in SPOILT:
                changed = columns if how == "clean" else [spoilt(how, values) for values in columns]
                found.append(named(f"{how}, {world}", n, changed))
        for kind in KINDS:
            worlds = [
                draw_kind(kind, "clean", n, CLEAN_VARIABLES + 1, FIRST_SEED + k) for k in range(COHORTS)
            ]
            tables = [np.asarray(one.X, dtype=float) for one in worlds]
            numbers = [
                X[:, c]
                for X, one in zip(tables, worlds, strict=True)
                for c in range(X.shape[1])
                if f"x{c}" not in one.kinds and c not in one.kinds
            ]
            found.append(named(f"clean, {kind}", n, numbers))
    return found


def named(what: str, n: int, columns: list[np.ndarray]) -> dict[str, object]:
    asked = [values for values in columns if np.unique(values[~np.isnan(values)]).size > MOST_LEVELS]
    said = [bool(piles_of(values)) or coarse_steps(values) is not None for values in asked]
    return {"what": what, "n": n, "columns": len(said), "named": int(sum(said))}


def render(
    rows: list[dict[str, object]], of_columns: list[dict[str, object]], of_real: list[dict[str, object]]
) -> str:
    """The page."""
    seen = [
        [
            str(row["what"]),
            f"{row['n']:,.0f}",
            f"{row['columns']:,.0f}",
            f"{row['named'] / row['columns']:.1%}",
        ]
        for row in of_columns
    ]
    lines, costs = [], []
    for world in WORLDS:
        for n in SIZES:
            for cut in CUT:
                here = [row for row in rows if (row["world"], row["n"], row["cut"]) == (world, n, cut)]
                if not here:
                    continue
                of = {way: [row for row in here if row["way"] == way] for way in WAYS}
                overlaps = [mean_of(of[way], "overlap") for way in WAYS]
                cost = np.subtract(
                    *([float(str(row["overlap"])) for row in of[w]] for w in ("uncut", "said"))
                )
                costs.append((cut, cost))
                error = cost.std(ddof=1) / cost.size**0.5
                held = [mean_of(of[way], "held") for way in ("uncut", "limit", "said")]
                shown = [*overlaps, f"{cost.mean():.3f} ± {error:.3f}", *held]
                lines.append([world, f"{n:,}", str(cut), *shown])
    real: list[list[str]] = []
    for name in dict.fromkeys(row["table"] for row in of_real):
        here = [row for row in of_real if row["table"] == name]
        by_way = {
            way: np.array([row["overlap"] for row in here if row["way"] == way], float) for way in OF_REAL
        }
        gain = by_way["said"] - by_way["limit"]
        error = gain.std(ddof=1) / gain.size**0.5
        size = [f"{here[0][of]:,.0f}" for of in ("n", "cut", "of")]
        shown = [f"{values.mean():.3f}" for values in by_way.values()]
        real.append([str(name), *size, *shown, f"{gain.mean():+.3f} ± {error:.3f}"])
    head = ["world", "patients", "columns cut", *WAYS.values(), "cost of the limits once said"]
    head += ["coverage: nothing cut", "value = limit", "`limits=`"]
    by_cut = ", ".join(
        f"{np.mean([c.mean() for k, c in costs if k == cut]):.3f} with {cut} of {VARIABLES} cut"
        for cut in CUT
    )
    return f"""# Limits of detection, said and not said

`python benchmarks/detection_limits.py` (rootcausal {__version__}). {VARIABLES} variables, some of which
cannot be measured below the limit that {SHARE:.0%} of patients lie below; {COHORTS} cohorts a cell, linear
mechanisms.
Rank-biased overlap with the truth, of all cases, also of those with values below a limit. *complete cases*:
learned from rows without such values (empty: in some cohort fewer than {FEWEST_ROWS} cases or controls are
left), and then told as *value = limit*. *coverage*: of 95 % intervals ({RESAMPLES} resamples,
{WITH_INTERVALS} cohorts) of true Shapley values of variables that act on D, all patients. *cost*: how much
lower the overlap is than where nothing is cut, ± its standard error. *told by the model of all values*:
the model of the cohort of which nothing is cut is asked about patients whose values below a limit are
replaced by what is expected of them. What that costs is not for learning to mend.

On average the cost is {by_cut}.

{table(head, lines)}

## Real tables

Half of the columns that are numbers, drawn {CHOICES} times, cut so. Nobody knows the truth: overlap is that
of the cases with what the model of the uncut table says of them. *another sample*: the uncut table, learned
again from as many of its rows drawn with replacement, which is what chance does. Saying limits does not bring
answers nearer here: values below them are first drawn from a Gaussian, which some of these columns are far
from, and where columns are nearly the same that can turn the order. Which answer is nearer to the truth, no
table says.

{table(["table", "rows", "columns cut", "of", *OF_REAL.values(), "gain by saying"], real)}

## Are they seen?

The rule that `look`, `fit` and the check `resolution` share, asked of {COHORTS} such cohorts and, for false
alarms, of {COHORTS} cohorts of each kind of clean_cohorts.py ({CLEAN_VARIABLES} variables).
Columns with up to {MOST_LEVELS} different values are levels, and not asked. *steps*: of half a standard
deviation.

{table(["columns", "patients", "columns asked", "named"], seen)}
"""


def overlaps_of(rows: list[dict[str, object]], way: str) -> np.ndarray:
    return np.array([float(str(row["overlap"])) for row in rows if row["way"] == way])


def mean_of(rows: list[dict[str, object]], name: str) -> str:
    values = [float(str(row[name])) for row in rows if row[name] != ""]
    full = len(values) == len(rows) or (name == "held" and values)
    return f"{np.mean(values):.3f}" if full else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--framingham", type=Path, help="the file of the teaching data set")
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--render", action="store_true", help="only render what is there")
    arguments = parser.parse_args()
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    if not arguments.render:
        warnings.simplefilter("ignore", UserWarning)
        (folder / "rows.csv").unlink(missing_ok=True)
        for world in WORLDS:
            for n in SIZES:
                for cut in CUT:
                    for place in range(COHORTS):
                        asks = place < WITH_INTERVALS and cut == INTERVALS_CUT
                        resamples = RESAMPLES if asks else 0
                        asked = (world, n, cut, FIRST_SEED + place)
                        kept = ("uncut", "limit", "said")
                        rows = [told(*asked, way, resamples if way in kept else 0) for way in WAYS]
                        write_rows(folder / "rows.csv", rows, "a")
        write_rows(folder / "seen.csv", seen_rows(), "w")
        tables = {name: TABLES[name]() for name in REAL}
        if arguments.framingham is not None:
            tables["framingham"] = load_framingham(arguments.framingham)
        real = [
            row
            for name, one in tables.items()
            for seed in range(CHOICES)
            for row in of_table(name, pd.DataFrame(one.X), one.y, seed)
        ]
        write_rows(folder / "real.csv", real, "w")
    page = render(*(read_rows(folder / name) for name in ("rows.csv", "seen.csv", "real.csv")))
    (folder / "README.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
