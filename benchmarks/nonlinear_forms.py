"""Root causes where all relations have one form: how near the default comes, and what a known order adds.

    python benchmarks/nonlinear_forms.py                      # 40 cohorts a form, n = 1,000, p = 10
    python benchmarks/nonlinear_forms.py --forms periodic threshold --sets 5 --out /tmp/forms
    python benchmarks/nonlinear_forms.py --choose --out /tmp/choose    # the seeds that constants are set by
    python benchmarks/nonlinear_forms.py --render             # only the page, from the rows at hand

Rows are appended as they are made, and a second run goes on where the first one stopped.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from causes_found import Cell, figure_of, of_cell, still_missing, with_error
from joblib import Parallel, delayed
from measure import table
from other_worlds import LAWS
from rows_file import read_rows, write_rows
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from rootcausal import RCI, Knowledge, __version__
from rootcausal.data.simulate import draw_graph
from rootcausal.metrics import rank_biased_overlap

N, P, SETS = 1000, 10, 40
# Constants are chosen by the first seeds and judged by the second.
CHOOSING, JUDGING = 1_000, 80_000
NEIGHBOURS = 2.0
# Share of a variable's variance that is its parents', where their effect is added to the error.
EXPLAINED = (0.2, 0.7)
PARENTS_OF_D = (2, 4)
# Log-odds for one standard deviation of a parent of D, and of D where all are average.
DIRECT, BASE = (0.4, 1.2), (-1.5, 0.0)
# People who set means and standard deviations, pairs of walks behind each true value, cases who are scored.
PEOPLE, WALKS, SCORED = 20_000, 64, 300
FOLDER = Path(__file__).parent.parent / "results" / "nonlinear-forms"

F64 = np.ndarray
#: What a variable is by the index of its parents and its error, both of unit variance.
Equation = Callable[[F64, F64], F64]


def added(centre: Callable[[F64], F64], rng: np.random.Generator) -> Equation:
    """A centre of unit variance beside the error."""
    share = rng.uniform(*EXPLAINED)
    normal = np.random.default_rng(0).standard_normal(PEOPLE)
    mean, sd = centre(normal).mean(), centre(normal).std()
    return lambda s, e: share**0.5 * (centre(s) - mean) / sd + (1.0 - share) ** 0.5 * e


def linear(rng: np.random.Generator) -> Equation:
    return added(lambda s: s, rng)


def threshold(rng: np.random.Generator) -> Equation:
    at = rng.uniform(-0.5, 0.5)
    return added(lambda s: (s > at).astype(float), rng)


def saturation(rng: np.random.Generator) -> Equation:
    steep, at = rng.uniform(1.5, 3.0), rng.uniform(-0.7, 0.7)
    return added(lambda s: np.tanh(steep * (s - at)), rng)


def hinge(rng: np.random.Generator) -> Equation:
    at = rng.uniform(-0.5, 0.5)
    return added(lambda s: np.maximum(s - at, 0.0), rng)


def periodic(rng: np.random.Generator) -> Equation:
    often, at = rng.uniform(3.0, 5.0), rng.uniform(0.0, 2.0 * np.pi)
    return added(lambda s: np.sin(often * s + at), rng)


def heteroscedastic(rng: np.random.Generator) -> Equation:
    slope, growth = rng.choice([-1, 1]) * rng.uniform(0.3, 0.8), rng.choice([-1, 1]) * rng.uniform(0.4, 0.8)
    return lambda s, e: slope * s + np.exp(growth * np.clip(s, -3.0, 3.0)) * e


def multiplicative(rng: np.random.Generator) -> Equation:
    """The parents times an error around one, or an error times a spread that they set."""
    share, base = rng.uniform(0.4, 1.0), rng.uniform(0.0, 1.5)
    if rng.random() < 0.5:
        return lambda s, e: (base + s) * (1.0 + share * e)
    return lambda s, e: (0.3 + np.abs(s + base)) * e


def post_nonlinear(rng: np.random.Generator) -> Equation:
    """A line and an error, seen through a monotone function of their sum."""
    inside = linear(rng)
    seen = (
        lambda u: np.sign(u) * np.abs(u) ** 3,
        np.exp,
        lambda u: np.sinh(1.5 * u),
        lambda u: np.tanh(1.2 * u),
        lambda u: np.sign(u) * np.abs(u) ** 0.5,
        lambda u: np.logaddexp(0.0, 3.0 * u),
    )[rng.integers(6)]
    return lambda s, e: seen(np.clip(inside(s, e), -6.0, 6.0))


FORMS: dict[str, Callable[[np.random.Generator], Equation]] = {
    "linear": linear,
    "threshold": threshold,
    "saturation": saturation,
    "multiplicative noise": multiplicative,
    "post-nonlinear": post_nonlinear,
    "periodic": periodic,
    "heteroscedastic": heteroscedastic,
    "hinge": hinge,
}


@dataclass(frozen=True)
class World:
    """Structural equations: columns in causal order, each a function of an index of those before it."""

    weights: F64
    equations: list[Equation]
    laws: list[Callable[[np.random.Generator, int], F64]]
    of_outcome: F64
    base: float
    index: F64
    scale: F64

    @classmethod
    def draw(cls, form: str, p: int, rng: np.random.Generator) -> World:
        k = p - 1
        weights = draw_graph(k, NEIGHBOURS / k, rng).toarray()
        equations = [FORMS[form](rng) for _ in range(k)]
        laws = [LAWS[name] for name in rng.choice(list(LAWS), k)]
        of_outcome = np.zeros(k)
        acting = rng.choice(k, rng.integers(PARENTS_OF_D[0], PARENTS_OF_D[1] + 1), replace=False)
        of_outcome[acting] = rng.uniform(*DIRECT, acting.size) * rng.choice([-1, 1], acting.size)
        index, scale = np.zeros((k, 2)), np.tile([0.0, 1.0], (k, 1))
        world = cls(weights, equations, laws, of_outcome, rng.uniform(*BASE), index, scale)
        world._standardize(world.errors(PEOPLE, rng))
        return world

    def errors(self, n: int, rng: np.random.Generator) -> F64:
        """(k, n)."""
        return np.stack([law(rng, n) for law in self.laws])

    def value(self, c: int, columns: F64, error: F64) -> F64:
        """Of one column, given those before it."""
        if not self.weights[c].any():
            return error
        s = (self.weights[c] @ columns - self.index[c, 0]) / self.index[c, 1]
        return (self.equations[c](s, error) - self.scale[c, 0]) / self.scale[c, 1]

    def values(self, errors: F64) -> F64:
        columns = np.zeros_like(errors)
        for c, error in enumerate(errors):
            columns[c] = self.value(c, columns, error)
        return columns

    def shapley(self, errors: F64, rng: np.random.Generator) -> F64:
        """(k, m) of the log-odds, for people with these errors, by walks from others drawn at random."""
        k, m = errors.shape
        found, start = np.zeros((k, m)), self.errors(PEOPLE, rng)
        reaches = self.of_outcome != 0.0
        for c in range(k)[::-1]:
            if reaches[c]:
                reaches |= self.weights[c] != 0.0
        for _ in range(WALKS):
            order, others = rng.permutation(np.flatnonzero(reaches)), start[:, rng.integers(PEOPLE, size=m)]
            for way in (order, order[::-1]):
                mixed = others.copy()
                columns = self.values(mixed)
                before = self.of_outcome @ columns
                for c in way:
                    mixed[c] = errors[c]
                    for after in range(c, k):
                        columns[after] = self.value(after, columns, mixed[after])
                    now = self.of_outcome @ columns
                    found[c] += now - before
                    before = now
        return found / (2.0 * WALKS)

    def _standardize(self, errors: F64) -> None:
        columns = np.zeros_like(errors)
        for c, error in enumerate(errors):
            if self.weights[c].any():
                index = self.weights[c] @ columns
                self.index[c] = index.mean(), index.std()
                value = self.value(c, columns, error)
                self.scale[c] = value.mean(), value.std()
            columns[c] = self.value(c, columns, error)


@dataclass(frozen=True)
class Drawn:
    """A cohort: columns (n, k) in random order, some cases with their true values, and the true order."""

    X: F64
    y: F64
    cases: F64
    truth: F64
    order: F64
    parents: F64

    @classmethod
    def of(cls, form: str, n: int, p: int, seed: int) -> Drawn:
        rng = np.random.default_rng([seed, n, p, list(FORMS).index(form)])
        world, y = World.draw(form, p, rng), np.zeros(n)
        while min(y.sum(), n - y.sum()) < 10:
            errors = world.errors(n, rng)
            columns = world.values(errors)
            y = (rng.random(n) < expit(world.of_outcome @ columns + world.base)).astype(float)
        cases = np.flatnonzero(y)[:SCORED]
        truth = world.shapley(errors[:, cases], rng)
        place = rng.permutation(p - 1)
        parents = world.weights[np.ix_(place, place)] != 0.0
        return cls(columns[place].T.copy(), y, cases, truth[place].T, np.argsort(place), parents)


def told(cohort: Drawn) -> dict[str, tuple[F64, str]]:
    """Scores of the cases by each method, and the mechanism that was taken."""
    order = Knowledge(tiers=[[int(c)] for c in cohort.order])
    models = {
        "linear": RCI(mechanism="linear"),
        "auto": RCI(),
        "true order, nonlinear": RCI(mechanism="nonlinear", knowledge=order),
    }
    found = {}
    for name, model in models.items():
        model.fit(cohort.X, cohort.y)
        found[name] = model.scores(cohort.X[cohort.cases]), taken(model)
    Z = (cohort.X - cohort.X.mean(axis=0)) / cohort.X.std(axis=0)
    coefficients = LogisticRegression(max_iter=10_000).fit(Z, cohort.y).coef_[0]
    found["logistic"] = Z[cohort.cases] * coefficients, ""
    found["z"] = np.abs(Z[cohort.cases]), ""
    return found


def taken(model: RCI) -> str:
    return model.provenance_.get("mechanism", {}).get("taken", "linear")


def evaluate(form: str, n: int, p: int, seed: int) -> list[Cell]:
    cohort = Drawn.of(form, n, p, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = told(cohort)
    return [
        {"form": form, "n": n, "p": p, "seed": seed, "method": method, "taken": mechanism}
        | {"overlap": rank_biased_overlap(cohort.truth, scores)}
        for method, (scores, mechanism) in found.items()
    ]


METHODS = ("linear", "auto", "true order, nonlinear", "logistic", "z")


def render(rows: list[Cell], first_seed: int) -> str:
    """A line a form."""
    rows_shown = []
    for form in FORMS:
        here = of_cell(rows, {"form": form})
        if not here:
            continue
        overlap = {method: figure_of(here, method, "overlap") for method in METHODS}
        bent = [row["taken"] == "nonlinear" for row in here if row["method"] == "auto"]
        gained = with_error(overlap["auto"] - overlap["linear"])
        left = with_error(overlap["true order, nonlinear"] - overlap["auto"])
        means = [f"{overlap[method].mean():.3f}" for method in METHODS]
        rows_shown.append([form, str(len(bent)), *means, gained, left, f"{sum(bent)} of {len(bent)}"])
    heads = ["auto − linear", "true order − auto", "auto took nonlinear"]
    lines = [
        "# Relations of one form",
        "",
        f"Made by `python benchmarks/nonlinear_forms.py` with rootcausal {__version__}, seeds "
        f"{first_seed:,} and above. Constants of the method were set by others, from {CHOOSING:,} on. "
        f"{N:,} patients, {P} variables with the diagnosis; errors follow one of eight laws "
        f"({', '.join(LAWS)}). A variable is a function of an index of its parents and its error; all "
        "functions of a cohort have one form. The log-odds of D are linear in 2 to 4 variables.",
        "",
        "- Rank-biased overlap of cases with their true Shapley values, means over cohorts; ± is the "
        "standard error of a mean difference, cohort by cohort.",
        "- *linear*: `RCI(mechanism='linear')`; *auto*: `RCI()`; *true order*: "
        "`mechanism='nonlinear'` where the causal order is given. *logistic*: coefficient × value of "
        "plain logistic regression; *z*: how far a value is from the mean.",
        "- *threshold*: a step; *saturation*: tanh; *multiplicative noise*: parents times an error "
        "around one, or an error times what parents say; *post-nonlinear*: a cube, exponential, sinh, "
        "tanh, root or softplus of a line and an error; *periodic*: a sine of two to three turns over "
        "four standard deviations; *heteroscedastic*: a line and an exponential spread; *hinge*: "
        "nothing, then a line.",
        "",
        table(["form", "cohorts", *METHODS, *heads], rows_shown),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--forms", nargs="+", default=list(FORMS), choices=list(FORMS), metavar="FORM")
    parser.add_argument("--sets", type=int, default=SETS, help="cohorts a form")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--choose", action="store_true", help="by the seeds that constants are set by")
    parser.add_argument("--render", action="store_true", help="only render what is there")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    kept, first = asked.out / "rows.csv", CHOOSING if asked.choose else JUDGING
    if not asked.render:
        cells = [{"form": form, "n": N, "p": P} for form in asked.forms]
        for cell, missing in still_missing(kept, cells, range(first, first + asked.sets)):
            found = Parallel(n_jobs=asked.jobs)(delayed(evaluate)(**cell, seed=seed) for seed in missing)
            write_rows(kept, [row for rows in found for row in rows])
            print(*cell.values(), "done", flush=True)
    page = render(read_rows(kept), first)
    (asked.out / "README.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
