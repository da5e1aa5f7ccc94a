"""Do sensitivity values tell causes that are named falsely, because of a hidden cause, from true ones?

    python benchmarks/sensitivity.py               # 1,260 cohorts: about ten minutes on one core
    python benchmarks/sensitivity.py --render      # only rewrite the page from the rows at hand

The cohorts are those of other_worlds.py, with hidden causes beside: each acts on the error of one variable
and on D, as strongly as measured causes do, or half as strongly, on both; or errors are of the paper's laws.
"True of 100" was learned from cohorts with seeds from 50,000 on, of 1,000 patients and the eight laws.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from measure import table
from other_worlds import BASE, DIRECT, EXPLAINED, LAWS, NEIGHBOURS, PARENTS_OF_D
from rows_file import read_rows, write_rows
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from rootcausal import RCI, __version__
from rootcausal.data.simulate import draw_graph

HIDDEN = (1, 2, 3)
# Laws of errors, patients, variables with D, and the strength of hidden causes.
CELLS = (
    ("eight", 1000, 11, 1.0),
    ("eight", 1000, 11, 0.5),
    ("eight", 1000, 21, 1.0),
    ("eight", 1000, 21, 0.5),
    ("eight", 300, 11, 1.0),
    ("eight", 3000, 11, 1.0),
    ("paper", 1000, 11, 1.0),
)
PAPER = {
    "t5": LAWS["t5"],
    "uniform": LAWS["uniform"],
    "chi": lambda rng, n: (rng.chisquare(3, n) - 3) / 6**0.5,
}
FIRST_SEED, RESAMPLES, FIRM = 62_000, 40, 0.98
COHORTS, FAR = 60, 1e6
HEAD = ["firm causes", "true", "RV if true", "RV if false"]
HEAD += ["AUC: RV", "E-value", "as strong as", "effect's size", "true of 100"]
MEASURES = ("robustness", "e_value", "times_as_strong", "size", "true_share")
FOLDER = Path(__file__).parent.parent / "results" / "sensitivity"


def confounded(
    n: int, p: int, hidden: int, strength: float, seed: int, laws: str = "eight"
) -> tuple[np.ndarray, ...]:
    """X, y, what own errors of unit variance do to D by all ways, and which variables are confounded."""
    rng = np.random.default_rng([seed, n, p, hidden])
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
    of = LAWS if laws == "eight" else PAPER
    unit = np.column_stack([of[law](rng, n) for law in rng.choice(list(of), k + hidden)])
    unit, causes = unit[:, :k], unit[:, k:]
    concerned, log_odds = rng.choice(k, hidden, replace=False), rng.uniform(*BASE)
    for column, cause in zip(concerned, causes.T, strict=True):
        share = rng.uniform(*EXPLAINED) * strength**2
        unit[:, column] = (1.0 - share) ** 0.5 * unit[:, column] + share**0.5 * cause
        log_odds = log_odds + strength * rng.uniform(*DIRECT) * rng.choice([-1, 1]) * cause
    X = unit @ mixing.T
    y = (rng.random(n) < expit(X @ weights + log_odds)).astype(int)
    return X, y, weights @ mixing, concerned


def causes_of(laws: str, n: int, p: int, strength: float, hidden: int, seed: int) -> list[dict[str, object]]:
    """The firm causes of one cohort: those of one sign in nearly all resamples."""
    X, y, truth, concerned = confounded(n, p, hidden, strength, seed, laws)
    model = RCI(positive=1, mechanism="linear").fit(X, y).bootstrap(RESAMPLES)
    assert model.bootstrap_ is not None
    draws = np.zeros((RESAMPLES, p - 1))
    for row, one in zip(draws, model.bootstrap_.models, strict=True):
        row[one.order] = one.unit_effects
    same = (np.sign(draws) == np.sign(model.coef_)).mean(axis=0)
    frame = model.summary().frame.reset_index()
    firm = (same >= FIRM) & (np.abs(model.coef_) >= 0.1) & frame["robustness"].notna().to_numpy()
    cell = {"laws": laws, "n": n, "p": p, "hidden": hidden, "strength": strength, "seed": seed}
    return [
        {
            **cell,
            "true": int(truth[c] * model.coef_[c] > 0.0),
            "concerned": int(c in concerned),
            "robustness": frame.loc[c, "robustness"],
            "e_value": frame.loc[c, "e_value"],
            "times_as_strong": min(frame["times_as_strong"].fillna(FAR)[c], FAR),
            "size": abs(float(model.coef_[c])),
            "true_share": np.nan_to_num(frame["true_share"][c]),
        }
        for c in np.flatnonzero(firm).tolist()
    ]


def render(rows: list[dict[str, object]]) -> str:
    """The page."""
    lines = []
    for (laws, n, p, strength), hidden in product(CELLS, HIDDEN):
        cell = {"laws": laws, "n": n, "p": p, "hidden": hidden, "strength": strength}
        some = [row for row in rows if all(row[name] == value for name, value in cell.items())]
        lines.append([laws, f"{n:,}", str(p - 1), f"{strength:g}", str(hidden), *figures(some)])
    strong = [row for row in rows if row["strength"] == 1.0 and row["n"] == 1000]
    worlds = {
        "hidden causes as strong as measured ones, 1,000 patients": strong,
        "all of these cohorts": rows,
    }
    pooled = [[name, *figures(some)] for name, some in worlds.items()]
    return f"""# Do sensitivity values tell false causes from true ones?

`python benchmarks/sensitivity.py` (rootcausal {__version__}). {COHORTS} cohorts a row, of the world of
`benchmarks/other_worlds.py`, errors of its eight laws or the paper's three. Each hidden cause acts on the
error of one variable, and on D, as strongly as measured causes do (strength 1: 20 to 70 % of the error's
variance, log-odds of 0.4 to 1.2), or half as strongly on both. Linear mechanisms. *Firm*: of one sign in 98 %
of {RESAMPLES} resamples. *True*: the variable's own error moves D in that direction. RV: the robustness
value, medians. AUC: how well a value tells true from false, 0.5 being chance: robustness value, E-value,
benchmark, the plain size of the effect, and *true of 100*, which beside the robustness value asks how far
the shock is from a Gaussian and whether the outcome bends in it.

{table(["cohorts", *HEAD], pooled)}

{table(["laws", "patients", "variables", "strength", "hidden causes", *HEAD], lines)}

## Is "true of 100" so?

Of all firm causes of these cohorts, by what was said of them. How often causes are false depends on how many
hidden causes there are: here one to three, where two to four variables act on D.

{table(["true of 100, said", "firm causes", "said, on average", "true"], calibrated(strong))}

Where hidden causes are weak, more is true than is said. Robustness values say what it would take; that, and
the size of the effect, tell weak hidden causes, and nearly nothing where these are as strong as measured
ones.
What a hidden cause leaves in the shock itself tells those, too, as long as errors are not Gaussian.
"""


def figures(some: list[dict[str, object]]) -> list[str]:
    """What the page says of the firm causes of some cohorts."""
    true = np.array([row["true"] for row in some], dtype=bool)
    values = np.array([row["robustness"] for row in some], dtype=float)
    areas = [f"{roc_auc_score(true, [float(row[name]) for row in some]):.2f}" for name in MEASURES]
    middle = [f"{np.median(values[of]):.0%}" for of in (true, ~true)]
    return [f"{true.size:,}", f"{true.mean():.2f}", *middle, *areas]


def calibrated(some: list[dict[str, object]]) -> list[list[str]]:
    """How many are true of those of whom about as much was said."""
    said, true = (np.array([float(row[name]) for row in some]) for name in ("true_share", "true"))
    lines = []
    for low, high in pairwise((0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 1.0)):
        of = (said >= low) & (said < high)
        shares = [f"{values[of].mean():.2f}" for values in (said, true)]
        lines.append([f"{100 * low:.0f} to {100 * high:.0f}", str(of.sum()), *shares])
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cohorts", type=int, default=COHORTS, help="of each cell")
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--render", action="store_true", help="only render what is there")
    arguments = parser.parse_args()
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    if not arguments.render:
        warnings.simplefilter("ignore", UserWarning)
        seeds = range(FIRST_SEED, FIRST_SEED + arguments.cohorts)
        cells = product(CELLS, HIDDEN, seeds)
        rows = [row for cell, hidden, seed in cells for row in causes_of(*cell, hidden, seed)]
        write_rows(folder / "rows.csv", rows, "w")
    (folder / "README.md").write_text(render(read_rows(folder / "rows.csv")), encoding="utf-8")


if __name__ == "__main__":
    main()
