"""What survival must equal: Cox's regression, Kaplan-Meier, Nelson-Aalen, Harrell's concordance, as defined.

They are loops over events, and slow; ``test_survival_oracle.py`` holds them against numbers of lifelines
0.30.3, which itself cannot be installed beside the newest pandas. The tables
``gbsg2.csv`` and ``rossi.csv`` are from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd

from rootcausal.data.cohorts import PBC_DIED, PBC_UNITS

DATA = Path(__file__).parent / "data"
NEWTON_STEPS = 30


@dataclass(frozen=True, eq=False)
class SurvivalSet:
    """Complete columns ``X`` (n, p), the time (n,) of the event or of the last visit, and 1 for an event."""

    X: np.ndarray
    names: tuple[str, ...]
    time: np.ndarray
    event: np.ndarray


def pbc() -> SurvivalSet:
    """Days to death: 276 patients, 111 deaths, few ties. A transplant ends follow-up alive."""
    with files("rootcausal.data").joinpath("pbc.csv").open("rb") as source:
        table = pd.read_csv(source)
    complete = table.dropna(subset=list(PBC_UNITS))
    return _survival_set(complete[list(PBC_UNITS)], complete["time"], complete["status"] == PBC_DIED)


def gbsg2() -> SurvivalSet:
    """Days to recurrence of breast cancer or death: 686 patients, 299 events (cens is 1 for an event)."""
    table = pd.read_csv(DATA / "gbsg2.csv")
    grade = table["tgrade"].map({"I": 1, "II": 2, "III": 3})
    columns = table[["age", "tsize", "pnodes", "progrec", "estrec"]].assign(
        hormones=table["horTh"] == "yes", postmenopausal=table["menostat"] == "Post", grade=grade
    )
    return _survival_set(columns, table["time"], table["cens"])


def rossi() -> SurvivalSet:
    """Weeks to arrest: 432 released men, 114 arrests in 49 weeks; the others are censored in week 52."""
    table = pd.read_csv(DATA / "rossi.csv")
    return _survival_set(table.drop(columns=["week", "arrest"]), table["week"], table["arrest"])


REAL_SETS: dict[str, Callable[[], SurvivalSet]] = {"pbc": pbc, "gbsg2": gbsg2, "rossi": rossi}


def standardized(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0)


def cox_coefficients(X: np.ndarray, time: np.ndarray, event: np.ndarray) -> np.ndarray:
    """Log hazard ratios (p,) for one unit of each column, ties by Efron, without a penalty."""
    X, beta = X - X.mean(axis=0), np.zeros(X.shape[1])
    for _ in range(NEWTON_STEPS):
        hazard, gradient, hessian = np.exp(X @ beta), np.zeros(beta.size), np.zeros((beta.size, beta.size))
        for at in np.unique(time[event > 0]):
            goes, at_risk = (time == at) & (event > 0), time >= at
            gradient += X[goes].sum(axis=0)
            for gone in np.arange(goes.sum()) / goes.sum():
                share = hazard * (at_risk - gone * goes)
                share /= share.sum()
                mean = share @ X
                gradient -= mean
                hessian += X.T @ (share[:, None] * X) - np.outer(mean, mean)
        step = np.linalg.solve(hessian, gradient)
        beta += step / max(1.0, 4 * np.abs(step).max())  # far steps of skewed columns overshoot
        if np.abs(step).max() < 1e-10:
            return beta
    raise AssertionError(f"Cox's regression did not settle in {NEWTON_STEPS} steps")


def breslow(X: np.ndarray, time: np.ndarray, event: np.ndarray) -> np.ndarray:
    """Cumulative hazard at each time of an event, of somebody whose columns are all average."""
    hazard = np.exp((X - X.mean(axis=0)) @ cox_coefficients(X, time, event))
    steps = np.unique(time[event > 0])
    return np.cumsum([((time == at) & (event > 0)).sum() / hazard[time >= at].sum() for at in steps])


def kaplan_meier(time: np.ndarray, event: np.ndarray, by: float) -> float:
    """The share of people without the event by a time."""
    steps = np.unique(time[(event > 0) & (time <= by)])
    return float(np.prod([1.0 - event[time == at].sum() / (time >= at).sum() for at in steps]))


def nelson_aalen(time: np.ndarray, event: np.ndarray, by: float) -> float:
    """The cumulative hazard by a time."""
    steps = np.unique(time[(event > 0) & (time <= by)])
    return float(sum(event[time == at].sum() / (time >= at).sum() for at in steps))


def harrell(hazard: np.ndarray, time: np.ndarray, event: np.ndarray) -> float:
    """Of pairs of whom one had the event first: the share where this one has the higher hazard."""
    first = (event > 0)[:, None] & ((time[:, None] < time) | ((time[:, None] == time) & (event == 0)))
    higher, equal = hazard[:, None] > hazard, hazard[:, None] == hazard
    return float((first & higher).sum() + 0.5 * (first & equal).sum()) / float(first.sum())


def _survival_set(columns: pd.DataFrame, time: pd.Series, event: pd.Series) -> SurvivalSet:
    return SurvivalSet(
        X=columns.to_numpy(np.float64),
        names=tuple(columns),
        time=time.to_numpy(np.float64),
        event=event.to_numpy(np.int64),
    )
