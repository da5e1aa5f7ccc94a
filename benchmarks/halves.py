"""Is half-sample agreement what it says, and how often do two halves of real tables agree?

    python benchmarks/halves.py                # 200 cohorts and six tables: about ten minutes on one core
    python benchmarks/halves.py --render       # only rewrite the page from the rows at hand

The truth is that of halves that are drawn anew from the world of other_worlds.py. Nothing was tuned. Real
tables need statsmodels; Framingham needs its file (--framingham).
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from measure import table
from other_worlds import draw
from real_cohorts import TABLES
from rows_file import read_rows, write_rows

from rootcausal import RCI, __version__
from rootcausal.data import load_framingham

SIZES, COHORTS, VARIABLES, ANEW = (300, 1000), 100, 10, 30
REAL = ("pbc-complete", "randhie", "breast-means", "diabetes", "pima", "fair")
FIRST_SEED, MOST_ROWS = 64_000, 2_000
FOLDER = Path(__file__).parent.parent / "results" / "halves"


def told(n: int, seed: int) -> dict[str, object]:
    """One cohort: agreement of its halves, what the model expects, and what other halves show."""
    world = draw(n=n * (ANEW + 1), p=VARIABLES + 1, seed=seed)
    found = RCI(positive=1, mechanism="linear").fit(world.X[:n], world.y[:n]).split_half(10)
    same = []
    for start in range(n, len(world.y), n):
        parts = [slice(start, start + n // 2), slice(start + n // 2, start + n)]
        values = [
            RCI(positive=1, mechanism="linear")
            .fit(world.X[part], world.y[part])
            .shapley_values(world.X[start : start + n])
            for part in parts
        ]
        same.append(agreement(*values))
    return {
        "table": "simulated",
        "n": n,
        "seed": seed,
        "same": found.same,
        "expected": found.expected_same,
        "truth": float(np.nanmean(same)),
        "low": int(found.low),
    }


def agreement(one: np.ndarray, other: np.ndarray, notable: float = 0.1) -> float:
    """Share of patients with the same strongest root cause, of those of whom either names one."""
    named = [values.max(axis=1) >= notable for values in (one, other)]
    strongest = [
        np.where(name, values.argmax(axis=1), -1) for name, values in zip(named, (one, other), strict=True)
    ]
    either = named[0] | named[1]
    return float((strongest[0] == strongest[1])[either].mean()) if either.any() else float("nan")


def of_table(name: str, X: object, y: np.ndarray) -> dict[str, object]:
    """A real table."""
    found = RCI(positive=1, mechanism="linear").fit(X, y).split_half(10)
    return {
        "table": name,
        "n": len(y),
        "seed": 0,
        "same": found.same,
        "expected": found.expected_same,
        "truth": float("nan"),
        "low": int(found.low),
    }


def render(rows: list[dict[str, object]]) -> str:
    """The page."""
    lines = []
    for n in SIZES:
        some = [row for row in rows if row["table"] == "simulated" and row["n"] == n]
        same, expected, truth, low = (
            np.array([float(row[name]) for row in some]) for name in ("same", "expected", "truth", "low")
        )
        if len(some):
            away = [np.nanmean(np.abs(values - truth)) for values in (same, expected)]
            figures = [np.nanmean(values) for values in (truth, same, expected)]
            lines.append(
                [f"{n:,}", str(len(some)), *(f"{x:.3f}" for x in [*figures, *away]), f"{low.mean():.0%}"]
            )
    head = [
        "patients",
        "cohorts",
        "truth",
        "agreement",
        "expected",
        "agreement, mean error",
        "expected, mean error",
    ]
    head += ["called low"]
    of_real = [
        [
            str(row["table"]),
            f"{int(row['n']):,}",
            f"{row['same']:.2f}",
            f"{row['expected']:.2f}",
            "yes" * int(row["low"]),
        ]
        for row in rows
        if row["table"] != "simulated"
    ]
    return f"""# Do two halves of a cohort say the same?

`python benchmarks/halves.py` (rootcausal {__version__}). Share of patients of whom models of two halves
name the same strongest root cause, of those of whom either names one. *Truth*: of {ANEW} pairs of halves
that are drawn anew from the same world; *agreement*: of halves of the cohort; *expected*: of cohorts drawn
from the fitted model. *Mean error*: of 100 cohorts one by one, against the truth of each, whose own
standard error is about 0.02. Linear mechanisms.

{table(head, lines)}

Real tables, as they come (of more rows than {MOST_ROWS:,}, the first of a random order). *Low*: less than
in nearly all cohorts drawn from the model.

{table(["table", "patients", "agreement", "expected", "low"], of_real)}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--framingham", type=Path, help="the file of the teaching data set")
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--render", action="store_true", help="only render what is there")
    arguments = parser.parse_args()
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    if not arguments.render:
        warnings.simplefilter("ignore")
        (folder / "rows.csv").unlink(missing_ok=True)
        for name in REAL:
            cohort = TABLES[name]()
            rows = np.random.default_rng(0).permutation(len(cohort.y))[:MOST_ROWS]
            write_rows(folder / "rows.csv", [of_table(name, cohort.X.iloc[rows], cohort.y[rows])])
        if arguments.framingham is not None:
            framingham = load_framingham(arguments.framingham)
            write_rows(folder / "rows.csv", [of_table("framingham", framingham.X, framingham.y)])
        for k in range(COHORTS):
            write_rows(folder / "rows.csv", [told(n, FIRST_SEED + k) for n in SIZES])
    (folder / "README.md").write_text(render(read_rows(folder / "rows.csv")), encoding="utf-8")


if __name__ == "__main__":
    main()
