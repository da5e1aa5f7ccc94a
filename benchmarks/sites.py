"""Several hospitals: is the answer that of one place, what does it cost, and what do sums give away?

    python benchmarks/sites.py             # minutes; writes results/sites/README.md

Attacks read what the coordinator reads: without a key the ledger of one site, with a key the totals of all.

Resamples, whose draws the coordinator does not know, tell by the spread of their sums: that of products of
columns is their fourth moments. The attacker is given these besides, as well as so many resamples show them.

Reconstruction. Every sum of a fit is known by its request: of products, of two functions of a linear
combination of columns, of the logistic likelihood at given coefficients. The attacker, who is also given the
labels, looks for rows that lead to these sums (L-BFGS from two draws of the Gaussian with the same means and
products), takes the best, and is told which of its rows to compare with which patient (the best assignment).
Beside it stands the same attack on the sums of an unrelated cohort of the same world and size, which tells of
no patient: what is guessed by knowing how such patients are.

Membership. The attacker has a patient's row and asks whether it is among those that were summed (Homer et al.
2008; by all sums at once, whitened by a reference cohort of 20,000 others): the AUC over members and others.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment, minimize

from rootcausal import RCI, RCISurvival, __version__
from rootcausal.data import load_pbc, simulate
from rootcausal.federated import InProcess, Policy, Site, fit
from rootcausal.federated.messages import decoded
from rootcausal.federated.requests import COARSE, FINE, symmetric
from rootcausal.method.moments import regressed_correlations

FOLDER = Path(__file__).parent.parent / "results" / "sites"
KEY = bytes(range(32))
STARTS = 2
RESAMPLES = 200
SEEDS = range(900, 903)
OF_REFERENCE = 20_000
Table = pd.DataFrame


class Recorded(InProcess):
    """Requests, and the plain sums that one site answered."""

    def __init__(self, sites: Sequence[Site]) -> None:
        super().__init__({site.name: site.answer for site in sites})
        self.requests: list[bytes] = []

    def ask(self, number: int, request: bytes, names: Sequence[str], accept: Any) -> dict[str, bytes]:
        self.requests.append(request)
        return super().ask(number, request, names, accept)


# --- the same answer ----------------------------------------------------------------------------------------


def split(table: Table, sizes: Sequence[int], seed: int) -> list[Table]:
    rows = np.random.default_rng(seed).permutation(len(table))[: sum(sizes)]
    return [table.iloc[np.sort(part)] for part in np.split(rows, np.cumsum(sizes)[:-1])]


def worlds() -> Iterator[tuple[str, Table, dict[str, str], Sequence[int], Any]]:
    """A name, the table, the columns of its outcome, the sites, and how to make an estimator."""
    for p, least in ((10, 30), (25, 40), (50, 70)):
        sizes = (2000, 800, 300, 100, least)
        drawn = simulate(n_samples=sum(sizes), n_variables=p + 1, random_state=p)
        table = pd.DataFrame(drawn.X, columns=drawn.feature_names).assign(d=drawn.y)
        yield f"paper's, {p} columns", table, {"target": "d"}, sizes, lambda: RCI(mechanism="linear")
    yield from wide()
    pbc = load_pbc()
    yield (
        "PBC, died",
        pbc.to_frame().to_pandas(),
        {"target": pbc.target_name},
        (90, 60, 50, 40, 36),
        pbc_model,
    )
    life = lifelike(2660)
    sizes = (2000, 400, 150, 80, 30)
    numbers = life.drop(columns=["days", "event"])
    gaps = with_gaps(numbers)
    known = {"first": ["sex"], "tiers": [["age"], ["sofa"]], "covariates": ["ward"]}
    died = {"target": "died"}
    yield "life-like, levels", numbers, died, sizes, lambda: RCI(mechanism="linear")
    yield "and missing values", gaps, died, sizes, lambda: RCI(mechanism="linear")
    yield "and knowledge", gaps, died, sizes, lambda: RCI(mechanism="linear", knowledge=known)
    yield "and a prevalence", gaps, died, sizes, lambda: RCI(mechanism="linear", prevalence=0.02)
    follow = {"time": "days", "event": "event"}
    yield "survival, levels", life.drop(columns="died"), follow, sizes, survival_model
    yield "and missing values", with_gaps(life.drop(columns="died")), follow, sizes, survival_model


def wide() -> Iterator[tuple[str, Table, dict[str, str], Sequence[int], Any]]:
    """Fifty columns with whatever makes a fit ask more."""
    p, sizes = 50, (2000, 800, 300, 100, 70)
    drawn, rng = simulate(n_samples=sum(sizes), n_variables=p + 1, random_state=p), np.random.default_rng(0)
    table = pd.DataFrame(drawn.X, columns=drawn.feature_names)
    gaps, levels = table.copy(), table.copy()
    for name in gaps:
        gaps.loc[rng.random(len(table)) < 0.1, name] = np.nan
    for place, name in enumerate(table.columns[::5]):
        cut = [0, 0.5, 0.8, 1] if place % 2 else [0, 0.5, 1]
        levels[name] = pd.qcut(table[name], cut, labels=["a", "b", "c"][: len(cut) - 1]).astype(str)
    time = np.ceil(rng.exponential(size=len(table)) * np.exp(-1.5 * (drawn.y - 0.5)) * 400)
    seen = np.ceil(rng.uniform(1, 900, len(table)))
    ill, days = {"target": "d"}, {"time": "days", "event": "event"}
    follow = table.assign(days=np.minimum(time, seen), event=(time <= seen).astype(int))
    yield "50, a prevalence", table.assign(d=drawn.y), ill, sizes, rare_model
    yield "50, missing values in all", gaps.assign(d=drawn.y), ill, sizes, pbc_model
    yield "50, ten with levels", levels.assign(d=drawn.y), ill, sizes, pbc_model
    yield "50, survival", follow, days, sizes, survival_model


def rare_model() -> RCI:
    return RCI(mechanism="linear", prevalence=0.05)


def pbc_model() -> RCI:
    return RCI(mechanism="linear")


def survival_model() -> RCISurvival:
    return RCISurvival(mechanism="linear")


def lifelike(n: int, seed: int = 4) -> Table:
    """Labs with long tails, wards, a stage and sex; who dies, and when."""
    rng = np.random.default_rng(seed)
    age = np.round(rng.normal(62, 15, n))
    ward = rng.choice(["surgery", "medicine", "icu"], n, p=[0.45, 0.35, 0.2])
    sex = np.where(rng.random(n) < 0.5, "f", "m")
    sofa = 0.02 * (age - 62) + 1.5 * (ward == "icu") + rng.laplace(size=n)
    creatinine = np.exp(0.2 * sofa + 0.4 * rng.normal(size=n))
    bilirubin = np.exp(0.3 * sofa + 0.6 * rng.laplace(size=n))
    albumin = 3.5 - 0.1 * bilirubin + 0.4 * rng.normal(size=n)
    stage = np.clip(np.round(2 + 0.4 * sofa + rng.normal(size=n)), 1, 4)
    risk = 0.7 * sofa + 0.5 * np.log(bilirubin) - 0.6 * (albumin - 3.5) + 0.3 * (sex == "m") - 0.8
    time = np.ceil(rng.exponential(size=n) * np.exp(-0.6 * risk) * 400)
    seen = np.ceil(rng.uniform(1, 900, n))
    table = Table(
        {
            "age": age,
            "ward": ward,
            "sex": sex,
            "sofa": sofa,
            "creatinine": creatinine,
            "bilirubin": bilirubin,
            "albumin": albumin,
            "stage": stage,
        }
    )
    table["died"] = np.where(rng.random(n) < 1 / (1 + np.exp(-risk)), "yes", "no")
    table["days"], table["event"] = np.minimum(time, seen), (time <= seen).astype(int)
    return table


def with_gaps(table: Table) -> Table:
    rng, table = np.random.default_rng(5), table.copy()
    for column in ("age", "ward", "albumin", "stage", "bilirubin"):
        table.loc[rng.random(len(table)) < 0.12, column] = np.nan
    return table


def equality() -> list[str]:
    lines = [
        "| cohort | rows of the sites | order | arrows | Shapley values, apart | rounds | kB a site |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, table, roles, sizes, made in worlds():
        parts = split(table, sizes, 0)
        names = [f"site{i}" for i in range(len(parts))]
        policy = Policy(times=0.0)
        sites = [Site(n, part, key=KEY, policy=policy, **roles) for n, part in zip(names, parts, strict=True)]
        model = fit(made(), InProcess({site.name: site.answer for site in sites}), names)
        whole = pd.concat(parts)
        X, outcome = whole.drop(columns=list(roles.values())), [whole[column] for column in roles.values()]
        pooled = made().fit(X, *outcome)
        apart = np.abs(model.shapley_values(X) - pooled.shapley_values(X)).max()
        effects = [one._model.direct_effects() for one in (model, pooled)]
        order = list(model.causal_order_) == list(pooled.causal_order_)
        arrows = bool(((effects[0] != 0) == (effects[1] != 0)).all())
        cost = model.provenance_["sites"]
        lines.append(
            f"| {name} | {', '.join(map(str, sizes))} | {'same' if order else 'OTHER'} | "
            f"{'same' if arrows else 'OTHER'} | {apart:.0e} | {cost['rounds']} | {cost['bytes'] / 1000:.0f} |"
        )
        print(lines[-1], flush=True)
    return lines


# --- what sums give away ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sums:
    """What a fit asks of standardized rows z (n, p), as functions of a row.

    Attributes
    ----------
    mean, sd : by which the rows were standardized.
    directions : (K, p) whose two entropy statistics were asked for.
    coefficients : (B, p + 1) at which the likelihood was, intercept last.
    numbers : how many numbers were sent.
    """

    mean: np.ndarray
    sd: np.ndarray
    directions: np.ndarray
    coefficients: np.ndarray
    numbers: int

    def of(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(n, m) of each row what it adds to each sum."""
        u = z @ self.directions.T
        eta = z @ self.coefficients[:, :-1].T + self.coefficients[:, -1]
        upper = np.triu_indices(z.shape[1])
        residual = y[:, None] - 1 / (1 + np.exp(-eta))
        products = z[:, upper[0]] * z[:, upper[1]]
        entropies = [np.logaddexp(u, -u), u * np.exp(-0.5 * u * u)]
        return np.hstack(
            [z, z * y[:, None], products, *entropies, *(residual * column[:, None] for column in z.T)]
        )

    def gap(
        self, flat: np.ndarray, y: np.ndarray, wanted: np.ndarray, scale: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """How far the sums of rows are from those that are wanted, and the gradient."""
        z = flat.reshape(y.size, -1)
        w = 2.0 * (self.of(z, y).sum(axis=0) - wanted) / scale**2
        p, k, b = z.shape[1], len(self.directions), len(self.coefficients)
        parts = np.split(w, np.cumsum([p, p, p * (p + 1) // 2, k, k]))
        u = z @ self.directions.T
        eta = z @ self.coefficients[:, :-1].T + self.coefficients[:, -1]
        risk = 1 / (1 + np.exp(-eta))
        gradient = parts[0] + y[:, None] * parts[1]
        across = symmetric(parts[2], p)
        gradient = gradient + z @ (across + np.diag(np.diagonal(across)))
        gradient += (np.tanh(u) * parts[3] + (1 - u * u) * np.exp(-0.5 * u * u) * parts[4]) @ self.directions
        of_losses = parts[5].reshape(p, b)
        residual = y[:, None] - risk
        gradient += residual @ of_losses.T
        gradient -= (risk * (1 - risk) * (z @ of_losses)) @ self.coefficients[:, :-1]
        return float((w * w * scale**2).sum() / 4.0), gradient.ravel()


def sums_of(requests: Sequence[bytes], numbers: int) -> Sums:
    """What was asked, read off the requests of a fit of numbers alone."""
    table, r, mean, sd = np.empty(0), np.empty(0), np.empty(0), np.empty(0)
    directions, coefficients = [], []
    for step in (step for request in requests for step in decoded(request).steps):
        arrays = step.arrays
        if step.do == "standardize":
            mean, sd, table = arrays["mean"], arrays["sd"], np.eye(arrays["cols"].size)
            directions += list(table)
        elif step.do == "with correlations":
            r = symmetric(arrays["r"], len(table))
        elif step.do in (COARSE, FINE):
            ahead, r_ahead = table.copy(), r.copy()
            for place in range(arrays["roots"].size + 1):
                here = arrays["place"] == place
                for a, b in zip(arrays["i"][here], arrays["j"][here], strict=True):
                    with_b = r_ahead[a, b] if a != b else 0.0
                    directions.append((ahead[a] - with_b * ahead[b]) / np.sqrt(1 - with_b**2))
                if place < arrays["roots"].size:
                    regress_out(ahead, r_ahead, arrays["roots"][place], left_after(arrays, place, len(table)))
        elif step.do == "regress out":
            regress_out(table, r, step.fields["root"], arrays["cols"])
        elif step.do == "logit sums":
            beta = arrays["beta"]
            coefficients.append(np.append(beta[:-1] @ table[arrays["cols"]], beta[-1]))
    return Sums(mean, sd, np.array(directions), np.array(coefficients), numbers)


def left_after(arrays: Any, place: int, k: int) -> np.ndarray:
    return np.setdiff1d(np.arange(k), arrays["roots"][: place + 1])


def regress_out(table: np.ndarray, r: np.ndarray, root: int, cols: np.ndarray) -> None:
    with_root = r[cols, root][:, None]
    scale = np.sqrt(np.maximum(1 - with_root**2, 1e-10))
    table[cols] = (table[cols] - with_root * table[root]) / scale
    regressed_correlations(r, root, cols)


@dataclass(frozen=True, eq=False)
class Spread:
    """What the spread of sums over resamples tells, whose draws are not known: fourth moments, nearly.

    Attributes
    ----------
    products : (m, m) Σ of products of the products of each two columns, as resamples show it.
    resamples : how many there were; estimates are off by a share of about sqrt(2 / resamples).
    """

    products: np.ndarray
    resamples: int

    @classmethod
    def of(cls, z: np.ndarray, resamples: int, seed: int) -> Spread:
        rng, rows = np.random.default_rng(seed), len(z)
        upper = np.triu_indices(z.shape[1])
        products = z[:, upper[0]] * z[:, upper[1]]
        counts = rng.multinomial(rows, np.full(rows, 1.0 / rows), resamples)
        told = counts @ products
        mean = products.mean(axis=0)
        return cls(np.cov(told, rowvar=False) + rows * np.outer(mean, mean), resamples)

    def gap(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """How far those of rows are from these, and the gradient in them."""
        a, b = np.triu_indices(z.shape[1])
        products = z[:, a] * z[:, b]
        diagonal = np.sqrt(np.diagonal(self.products))
        weight = self.resamples / (2.0 * np.outer(diagonal, diagonal) ** 2)
        off = products.T @ products - self.products
        by_product = 4.0 * products @ (weight * off)
        gradient = np.zeros_like(z)
        for place, (i, j) in enumerate(zip(a, b, strict=True)):
            gradient[:, i] += by_product[:, place] * z[:, j]
            gradient[:, j] += by_product[:, place] * z[:, i]
        return float((weight * off * off).sum()), gradient


def rebuilt(
    sums: Sums,
    wanted: np.ndarray,
    like: np.ndarray,
    y: np.ndarray,
    seed: int,
    spread: Spread | None = None,
) -> np.ndarray:
    """(n, p) rows that lead to the sums, from the best of a few starts; ``like`` is what rows look like."""
    rng, p = np.random.default_rng(seed), sums.directions.shape[1]
    scale = np.sqrt(y.size) * sums.of(like, rng.integers(0, 2, len(like))).std(axis=0)
    covariance = np.cov(like, rowvar=False)
    best: Any = None
    for _ in range(STARTS):
        start = rng.multivariate_normal(np.zeros(p), covariance, y.size).ravel()
        options = {"maxiter": 1500, "maxfun": 2000}

        def gap(flat: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = sums.gap(flat, y, wanted, scale)
            if spread is None:
                return value, gradient
            more, further = spread.gap(flat.reshape(y.size, -1))
            return value + more, gradient + further.ravel()

        found = minimize(gap, start, jac=True, method="L-BFGS-B", options=options)
        best = found if best is None or found.fun < best.fun else best
    return best.x.reshape(y.size, p)


def distance(one: np.ndarray, other: np.ndarray, y: np.ndarray) -> float:
    """Root mean square over cells, in standard deviations, rows assigned to each other as well as can be."""
    apart = ((one[:, None] - other[None]) ** 2).mean(axis=2) + 1e6 * (y[:, None] != y[None])
    rows, cols = linear_sum_assignment(apart)
    return float(np.sqrt(apart[rows, cols].mean()))


def auc(members: np.ndarray, others: np.ndarray) -> float:
    return float((members[:, None] > others[None]).mean() + 0.5 * (members[:, None] == others[None]).mean())


def attacked(rows: int, p: int, seed: int) -> dict[str, float]:
    """Both attacks on the sums over so many rows, beside those over an unrelated cohort."""
    drawn = simulate(n_samples=3 * rows + OF_REFERENCE, n_variables=p + 1, random_state=seed)
    X, y = drawn.X, drawn.y.astype(np.intp)
    cut = [slice(0, rows), slice(rows, 2 * rows), slice(2 * rows, 3 * rows), slice(3 * rows, None)]
    table = Table(X, columns=drawn.feature_names).assign(d=y)[cut[0]]
    site = Site("a", table, target="d", key=KEY, rehearsal=True)
    transport = Recorded([site])
    fit(RCI(mechanism="linear"), transport, ["a"])
    sums = sums_of(transport.requests, sum(entry.count for entry in site.ledger.entries[2:]))
    Z = (X - sums.mean) / sums.sd
    told = [sums.of(Z[some], y[some]) for some in cut]
    here, unrelated, others, reference = told
    members_y = y[cut[0]]
    guess = rebuilt(sums, here.sum(axis=0), Z[cut[3]], members_y, seed)
    spread = Spread.of(Z[cut[0]], RESAMPLES, seed)
    better = rebuilt(sums, here.sum(axis=0), Z[cut[3]], members_y, seed, spread)
    # The labels of the unrelated cohort are its own, the patients to find those of the site.
    beside = rebuilt(sums, unrelated.sum(axis=0) * 1.0, Z[cut[3]], y[cut[1]], seed)
    matched = np.concatenate([beside[y[cut[1]] == label] for label in (0, 1)])
    wanted = np.concatenate([np.flatnonzero(members_y == label) for label in (0, 1)])
    low, high = np.linalg.eigh(np.cov(reference, rowvar=False))
    kept = low > 1e-8 * low.max()
    white = high[:, kept] / np.sqrt(low[kept])
    center = reference.mean(axis=0)

    def score(whose: np.ndarray, among: np.ndarray) -> np.ndarray:
        return ((whose - center) @ white) @ ((among.mean(axis=0) - center) @ white)

    n = min(len(matched), wanted.size)
    nothing = np.zeros(n, dtype=np.intp)
    return {
        "numbers": sums.numbers,
        "cells": rows * p,
        "rebuilt": distance(guess, Z[cut[0]], members_y),
        "resampled": distance(better, Z[cut[0]], members_y),
        "unrelated": distance(matched[:n], Z[cut[0]][wanted][:n], nothing),
        "members": auc(score(here, here), score(others, here)),
        "chance": auc(score(here, unrelated), score(others, unrelated)),
    }


def attacks() -> list[str]:
    lines = [
        f"| columns | rows summed | numbers for each value | rebuilt rows, SD | {RESAMPLES} resamples, SD "
        "| by an unrelated cohort, SD | membership, AUC | by an unrelated cohort, AUC |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for p, sizes in ((4, (30, 60, 120, 240, 480)), (8, (30, 120, 480))):
        for rows in sizes:
            found = [attacked(rows, p, seed) for seed in SEEDS]
            mean = {name: np.mean([one[name] for one in found]) for name in found[0]}
            lines.append(
                f"| {p} | {rows} | {mean['numbers'] / mean['cells']:.2f} | {mean['rebuilt']:.2f} | "
                f"{mean['resampled']:.2f} | {mean['unrelated']:.2f} | {mean['members']:.2f} | "
                f"{mean['chance']:.2f} |"
            )
            print(lines[-1], flush=True)
    return lines


ABOUT = """# Several hospitals: figures

Made by `python benchmarks/sites.py`, which says how. Five sites that mask their sums with a key, beside the
same rows in one place (`mechanism="linear"`); kB are of messages in both directions:

{same}

The goal was 60 rounds and 200 kB. The paper's cohorts have numbers alone, all of which the default keeps: a
round foresees the next roots, and asks for the pairs that should decide them. Of the 235 kB of 50 columns,
90 are pairs, in four bytes a number (the fewest that would do, if all scores were known beforehand, are 50),
90 are second derivatives at ten coefficients, which cannot be foreseen, 20 are correlations, to the sites
and from them, and 9 tell whether sites differ. Four kinds of 50 columns miss the goal by more: where all
lack values, the 1,326 expected products of each pass go back and forth; with levels, likelihoods of each
discrete column with each number are asked for root by root, since one moves by what the one before told; and
of times to an event, each answer has a number for each column and interval of time.

What the sums that a coordinator reads give away, on the paper's cohorts ({seeds} seeds a line). Without a key
that is one site, with a key the total over all sites:

{given_away}

Rebuilt rows are compared with the rows that were summed, in standard deviations: smaller is worse for the
patients. Rows can be looked for in sums as soon as these are about as many as the values that they are of;
with at most half a number for each value they tell no more of a patient than the sums of an unrelated cohort
of the same size do. That is the limit that a site keeps to without a key, and that the coordinator warns of
with one. Resamples add what their spread tells: fourth moments of the columns, to about a tenth. Membership
is another matter: who already has a patient's whole row can tell, better than by chance, whether it is in the
sums, the better the fewer rows they are of; only more rows, or a key, help.
"""


def main() -> None:
    warnings.simplefilter("ignore")
    same, given_away = equality(), attacks()
    FOLDER.mkdir(parents=True, exist_ok=True)
    text = ABOUT.format(same="\n".join(same), given_away="\n".join(given_away), seeds=len(SEEDS))
    (FOLDER / "README.md").write_text(f"{text}\nrootcausal {__version__}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
