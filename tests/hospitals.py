"""Cohorts in several hospitals: unequal parts of one table, as sites, and the same rows in one place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from rootcausal import RCI, RCIRegressor, RCISurvival
from rootcausal.federated import InProcess, Policy, Site, fit

KEY = bytes(range(32))
NAMES = ("north", "south", "east", "west", "island")
SIZES = (420, 200, 110, 60, 30)


def cohort(n: int = sum(SIZES), seed: int = 0) -> pd.DataFrame:
    """Numbers, texts with and without an order, missing values, and four kinds of outcome."""
    rng = np.random.default_rng(seed)
    age = np.round(rng.normal(60, 12, n))
    crp = np.exp(0.02 * (age - 60) + rng.laplace(size=n))
    creatinine = 0.05 * age + rng.exponential(size=n)
    ward = rng.choice(["surgery", "medicine", "icu"], n, p=[0.45, 0.35, 0.2])
    sofa = 0.7 * np.log(crp) + 1.5 * (ward == "icu") + rng.laplace(size=n)
    stage = np.clip(np.round(2 + 0.5 * sofa + rng.normal(size=n)), 1, 4)
    sex = np.where(rng.random(n) < 0.5, "f", "m")
    risk = 0.8 * sofa + 0.5 * creatinine + 0.4 * (sex == "m") - 2.2
    time = np.ceil(rng.exponential(size=n) * np.exp(-0.5 * risk) * 400)
    seen = np.ceil(rng.uniform(1, 900, n))
    table = pd.DataFrame(
        {
            "age": age,
            "crp": crp,
            "creatinine": creatinine,
            "ward": ward,
            "sofa": sofa,
            "stage": stage,
            "sex": sex,
        }
    )
    table["died"] = np.where(rng.random(n) < 1 / (1 + np.exp(-risk)), "yes", "no")
    table["days"], table["event"] = np.minimum(time, seen), (time <= seen).astype(int)
    table["score"] = risk + rng.normal(size=n)
    table["grade"] = np.clip(np.round(risk + rng.normal(size=n) + 2), 0, 3).astype(int)
    return table


def with_gaps(table: pd.DataFrame, columns: Sequence[str], share: float = 0.12) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    table = table.copy()
    for column in columns:
        table.loc[rng.random(len(table)) < share, column] = np.nan
    return table


OUTCOMES = ["died", "days", "event", "score", "grade"]


def split(table: pd.DataFrame, sizes: Sequence[int] = SIZES, seed: int = 1) -> list[pd.DataFrame]:
    rows = np.random.default_rng(seed).permutation(len(table))
    edges = np.cumsum([0, *sizes])
    return [table.iloc[np.sort(rows[a:b])] for a, b in pairwise(edges)]


def roles_of(outcome: str) -> dict[str, str]:
    return {"time": "days", "event": "event"} if outcome == "survival" else {"target": outcome}


def columns_for(outcome: str) -> list[str]:
    kept = ["days", "event"] if outcome == "survival" else [outcome]
    return [column for column in OUTCOMES if column not in kept]


def sites_of(
    table: pd.DataFrame, outcome: str = "died", sizes: Sequence[int] = SIZES, **options: Any
) -> list[Site]:
    parts = split(table.drop(columns=columns_for(outcome), errors="ignore"), sizes)
    options = {"key": KEY, "policy": Policy(times=0.0), **options}
    return [
        Site(name, part, **roles_of(outcome), **options) for name, part in zip(NAMES, parts, strict=False)
    ]


def answers(sites: Sequence[Site]) -> dict[str, Callable[[bytes], bytes]]:
    return {site.name: site.answer for site in sites}


def joint(estimator: Any, sites: Sequence[Site]) -> Any:
    return fit(estimator, InProcess(answers(sites)), [site.name for site in sites])


def pooled(
    estimator: Any, table: pd.DataFrame, outcome: str = "died", sizes: Sequence[int] = SIZES
) -> tuple[Any, Any]:
    """The same rows in one place, by the mechanisms that sites offer: the estimator, and its variables."""
    rows = pd.concat(split(table.drop(columns=columns_for(outcome), errors="ignore"), sizes))
    given = [rows.pop(column) for column in roles_of(outcome).values()]
    return estimator.set_params(mechanism="linear").fit(rows, *given), rows


ESTIMATORS = {"died": RCI, "survival": RCISurvival, "score": RCIRegressor, "grade": RCI}
