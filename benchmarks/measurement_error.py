"""What do measurement error, and saying how large it is, do to ranks, intervals and grades?

    python benchmarks/measurement_error.py             # about six minutes on one core
    python benchmarks/measurement_error.py --render    # only rewrite the page from the rows at hand

The cohorts are those of other_worlds.py and, of 1,000 patients, also the paper's. Every column is measured
with Gaussian error. Nothing was tuned.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from measure import table
from other_worlds import draw
from rows_file import read_rows, write_rows

from rootcausal import RCI, __version__
from rootcausal.data import simulate
from rootcausal.metrics import rank_biased_overlap

RELIABILITIES, VARIABLES, RESAMPLES = (1.0, 0.95, 0.9, 0.8, 0.6), 10, 30
# World, patients and cohorts.
CELLS = (("other", 1000, 8), ("other", 5000, 4), ("other", 300, 8), ("paper", 1000, 6))
FIRST_SEED, FIRM = 61_000, 0.98
FOLDER = Path(__file__).parent.parent / "results" / "measurement-error"


def told(world: str, n: int, reliability: float, given: float, seed: int) -> dict[str, object]:
    """One cohort, and what a model says that is told this reliability; 1 is today's."""
    if world == "other":
        cohort = draw(n=n, p=VARIABLES + 1, seed=seed)
    else:
        cohort = simulate(n_samples=n, n_variables=VARIABLES + 1, random_state=seed)
    noise = ((1.0 - reliability) / reliability) ** 0.5 * cohort.X.std(axis=0)
    X = cohort.X + np.random.default_rng([seed, n]).standard_normal(cohort.X.shape) * noise
    said = dict.fromkeys(range(VARIABLES), given)
    model = RCI(positive=1, mechanism="linear", reliability=said).fit(X, cohort.y)
    explained, true = model.bootstrap(RESAMPLES).explain(X), cohort.true_shapley
    cases, acts = cohort.y == 1, np.abs(cohort.effects) > 1e-9
    assert explained.lower is not None and explained.upper is not None and explained.frequency is not None
    held = (explained.lower <= true + 1e-12) & (true <= explained.upper + 1e-12)
    firm = (explained.frequency >= FIRM) & (explained.values >= explained.notable_from)
    return {
        "world": world,
        "n": n,
        "reliability": reliability,
        "given": given,
        "seed": seed,
        "overlap": float(rank_biased_overlap(true[cases], model.scores(X)[cases])),
        "held": float(held[:, acts].mean()),
        "width": float((explained.upper - explained.lower)[:, acts].mean()),
        "firm": int(firm.sum()),
        "right": int((firm & (true > 0.0)).sum()),
    }


def render(rows: list[dict[str, object]]) -> str:
    """The page."""
    lines = []
    for world, n, _ in CELLS:
        for reliability in RELIABILITIES:
            cell = {"world": world, "n": n, "reliability": reliability}
            some = [row for row in rows if all(row[name] == value for name, value in cell.items())]

            if not some:
                continue

            def of(given: float, name: str, some: list[dict[str, object]] = some) -> str:
                values = [float(row[name]) for row in some if row["given"] == given]
                return f"{np.mean(values):.2f}" if values else ""

            def firm(given: float, some: list[dict[str, object]] = some) -> str:
                counts = [(float(row["right"]), float(row["firm"])) for row in some if row["given"] == given]
                right, all_of = np.sum(counts, axis=0) if counts else (0.0, 0.0)
                return f"{right / all_of:.3f}" if all_of else ""

            ways = (1.0, reliability, halfway(reliability))
            figures = [of(given, name) for name in ("overlap", "held") for given in ways]
            shares = [firm(given) for given in ways[:2]]
            lines.append([world, f"{n:,}", f"{reliability:g}", *figures, of(reliability, "width"), *shares])
    head = ["world", "patients", "reliability", "overlap, not said", "said", "half said"]
    head += ["coverage, not said", "said", "half said", "width, said", "firm is right, not said", "said"]
    return f"""# Measurement error, said and not said

`python benchmarks/measurement_error.py` (rootcausal {__version__}). {VARIABLES} variables, each of which is
measured with Gaussian error of this reliability. *Not said*: values are taken for exact, as without
`reliability=`. *Half said*: half of its distance to 1. Coverage: of 95 % intervals ({RESAMPLES} resamples)
of true Shapley values of variables that act on D, all patients. Firm: above zero in 98 % of resamples, and
notable.

{table(head, lines)}
"""


def halfway(reliability: float) -> float:
    """What is said where somebody knows half of it."""
    return round(0.5 * (1.0 + reliability), 6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--render", action="store_true", help="only render what is there")
    arguments = parser.parse_args()
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    if not arguments.render:
        warnings.simplefilter("ignore", UserWarning)
        (folder / "rows.csv").unlink(missing_ok=True)
        for world, n, cohorts in CELLS:
            for reliability in RELIABILITIES:
                ways = dict.fromkeys((1.0, reliability, halfway(reliability)))
                seeds = range(FIRST_SEED, FIRST_SEED + cohorts)
                rows = [told(world, n, reliability, given, seed) for given in ways for seed in seeds]
                write_rows(folder / "rows.csv", rows, "a")
    (folder / "README.md").write_text(render(read_rows(folder / "rows.csv")), encoding="utf-8")


if __name__ == "__main__":
    main()
