"""Does the default attribution settle, with finite numbers and right signs, on cohorts that look like life?

    python benchmarks/settling.py            # about 2,000 fits; writes results/settling/README.md

A sign is wrong where the paper's coefficient (maximum likelihood on the same errors) is more than three
standard errors from zero and the default's is more than 0.01 log-odds on the other side of zero: of many
nulls some are beyond three standard errors, and the default shrinks these to next to nothing. Cohorts whose
classes are separated have no standard errors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from rootcausal import RCI, __version__
from rootcausal.data import load_pbc, simulate

FOLDER = Path(__file__).parent.parent / "results" / "settling"
FIRST_SEED = 70_000
Rows = tuple[np.ndarray, np.ndarray]


@dataclass
class Tally:
    fits: int = 0
    crashed: int = 0
    not_finite: int = 0
    off_balance: int = 0
    wrong_sign: int = 0
    unsettled: int = 0


def main() -> None:
    tallies: dict[str, Tally] = {}
    for world, draw in cohorts():
        tally = tallies.setdefault(world, Tally())
        tally.fits += 1
        try:
            examine(*draw(), tally)
        except Exception as error:
            tally.crashed += 1
            print(f"{world}: {error!r}", flush=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    text = render(tallies)
    (FOLDER / "README.md").write_text(text, encoding="utf-8")
    print(text)


def cohorts() -> Iterator[tuple[str, Callable[[], Rows]]]:
    for n, p in product((100, 1000, 10_000), (10, 50, 100)):
        for seed in range(FIRST_SEED, FIRST_SEED + (50 if n == 10_000 else 100)):
            yield f"paper's, n = {n:,}", lambda n=n, p=p, seed=seed: paper(n, p, seed)
    for seed in range(300):
        yield "resamples of PBC", lambda seed=seed: pbc_resample(seed)
    for cases, n, shape, p in product(
        (0.003, 0.01, 0.03, 0.05), (300, 1000, 10_000), ("normal", "lognormal", "heavy"), (1, 5, 20)
    ):
        if cases * n >= 3:
            for seed in range(8):
                yield (
                    f"{cases:.1%} cases, {shape}",
                    lambda n=n, p=p, cases=cases, shape=shape, seed=seed: rare(n, p, cases, shape, seed),
                )
    for name, draw in STRESS.items():
        for seed in range(20):
            yield name, lambda draw=draw, seed=seed: draw(np.random.default_rng([FIRST_SEED, seed]))


def examine(X: np.ndarray, y: np.ndarray, tally: Tally) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = RCI().fit(X, y)
        paper_model = RCI(attribution="paper").fit(X, y)
    risk = model.predict_proba(X)[:, 1]
    tally.not_finite += not (np.isfinite(model.coef_).all() and np.isfinite(risk).all())
    tally.off_balance += abs(risk.mean() - y.mean()) > 1e-4
    tally.unsettled += not model.provenance_["converged"]
    if not paper_model.provenance_["separated"]:
        clear = np.abs(paper_model.coef_) > 3.0 * standard_errors(paper_model, X)
        tally.wrong_sign += bool((clear & (model.coef_ * np.sign(paper_model.coef_) < -0.01)).any())


def standard_errors(model: RCI, X: np.ndarray) -> np.ndarray:
    design = np.column_stack([model.transform(X), np.ones(len(X))])
    risk = model.predict_proba(X)[:, 1]
    information = (design * (risk * (1.0 - risk))[:, None]).T @ design
    errors = np.full(X.shape[1], np.inf)
    errors[np.sort(model.causal_order_)] = np.sqrt(np.diagonal(np.linalg.pinv(information)))[:-1]
    return errors


def paper(n: int, p: int, seed: int) -> Rows:
    cohort = simulate(n, p, random_state=seed)
    return cohort.X, cohort.y


def pbc_resample(seed: int) -> Rows:
    cohort = load_pbc()
    rows = np.random.default_rng([FIRST_SEED, seed]).integers(len(cohort.y), size=len(cohort.y))
    return np.asarray(cohort.X, dtype=float)[rows], np.asarray(cohort.y)[rows]


def rare(n: int, p: int, cases: float, shape: str, seed: int) -> Rows:
    g = np.random.default_rng([FIRST_SEED, seed, n, p, round(1e4 * cases)])
    errors = {
        "normal": lambda: g.standard_normal((n, p)),
        "lognormal": lambda: g.lognormal(size=(n, p)),
        "heavy": lambda: g.standard_t(2, (n, p)),
    }[shape]()
    for column in range(1, p):
        errors[:, column] += 0.5 * g.integers(2) * errors[:, column - 1]
    return errors, labels(errors[:, :3] @ np.array([1.0, -0.7, 0.5])[:p], cases, g)


def labels(log_odds: np.ndarray, cases: float, g: np.random.Generator) -> np.ndarray:
    """At least three of each class."""
    intercept = brentq(lambda shift: expit(log_odds + shift).mean() - cases, -1e5, 1e5)
    while True:
        y = (g.random(log_odds.size) < expit(log_odds + intercept)).astype(int)
        if 3 <= y.sum() <= y.size - 3:
            return y


def wide(g: np.random.Generator) -> Rows:
    X = g.laplace(size=(40, 200))
    return X, labels(X[:, 0] - X[:, 1], 0.4, g)


def near_copies(g: np.random.Generator) -> Rows:
    X = g.laplace(size=(400, 6))
    X[:, 1] = X[:, 0] + 0.01 * X[:, 1]
    return X, labels(X[:, 0] + X[:, 2], 0.3, g)


def binary(g: np.random.Generator) -> Rows:
    X = (g.random((600, 8)) < g.uniform(0.05, 0.6, 8)).astype(float)
    return X, labels(2.0 * X[:, 0] - X[:, 1], 0.1, g)


def counts(g: np.random.Generator) -> Rows:
    X = g.poisson(g.uniform(0.1, 4.0, 8), (600, 8)).astype(float)
    return X, labels(X[:, 0] - 0.5 * X[:, 1], 0.1, g)


def mostly_zero(g: np.random.Generator) -> Rows:
    X = np.where(g.random((2000, 5)) < 0.01, g.lognormal(size=(2000, 5)), 0.0)
    return X, labels(2.0 * X[:, 0], 0.03, g)


def strong(g: np.random.Generator) -> Rows:
    X = g.laplace(size=(800, 6))
    return X, labels(6.0 * X[:, 0], 0.05, g)


def separated(g: np.random.Generator) -> Rows:
    X = g.laplace(size=(200, 5))
    return X, (X[:, 0] > 1.0).astype(int)


def mostly_ill(g: np.random.Generator) -> Rows:
    X = g.lognormal(size=(600, 5))
    return X, labels(-X[:, 0], 0.97, g)


STRESS = {
    "200 columns of 40 rows": wide,
    "near copies": near_copies,
    "0/1 columns": binary,
    "counts": counts,
    "99 % zeros": mostly_zero,
    "strong effect": strong,
    "separated classes": separated,
    "97 % cases": mostly_ill,
}


def render(tallies: dict[str, Tally]) -> str:
    total = Tally(*(sum(getattr(one, name) for one in tallies.values()) for name in vars(Tally())))
    lines = [
        "# Does the default attribution settle?",
        "",
        f"Made by `python benchmarks/settling.py` with rootcausal {__version__} (seeds from {FIRST_SEED:,})",
        "",
        "*Off balance*: the mean risk is not the share of cases. *Wrong sign*: the paper's coefficient is "
        "more than three standard errors from zero, and the default's more than 0.01 log-odds on the other "
        "side. *Unsettled*: a limit ran out, which the fit says.",
        "",
        "| cohorts | fits | crashed | not finite | off balance | wrong sign | unsettled |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, one in (*tallies.items(), ("**all**", total)):
        lines.append(f"| {name} | " + " | ".join(f"{count:,}" for count in vars(one).values()) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
