"""Real survival tables, and Cox's regression of them by lifelines: what a hazard learned here must equal.

All of it is read from installed packages, so that no test needs a network.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
import pandas as pd
from lifelines import CoxPHFitter
from lifelines.datasets import load_gbsg2, load_rossi

from rootcausal.data.cohorts import PBC_DIED, PBC_UNITS


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
    table = load_gbsg2()
    grade = table["tgrade"].map({"I": 1, "II": 2, "III": 3})
    columns = table[["age", "tsize", "pnodes", "progrec", "estrec"]].assign(
        hormones=table["horTh"] == "yes", postmenopausal=table["menostat"] == "Post", grade=grade
    )
    return _survival_set(columns, table["time"], table["cens"])


def rossi() -> SurvivalSet:
    """Weeks to arrest: 432 released men, 114 arrests in 49 weeks; the others are censored in week 52."""
    table = load_rossi()
    return _survival_set(table.drop(columns=["week", "arrest"]), table["week"], table["arrest"])


REAL_SETS: dict[str, Callable[[], SurvivalSet]] = {"pbc": pbc, "gbsg2": gbsg2, "rossi": rossi}


def standardized(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0)


def cox_coefficients(X: np.ndarray, time: np.ndarray, event: np.ndarray) -> np.ndarray:
    """Log hazard ratios (p,) for one standard deviation of each column, ties by Efron, without a penalty."""
    table = pd.DataFrame(standardized(X)).add_prefix("x").assign(time=time, event=event)
    fitted = CoxPHFitter().fit(table, "time", "event", fit_options={"precision": 1e-10})
    return fitted.params_.to_numpy()


def _survival_set(columns: pd.DataFrame, time: pd.Series, event: pd.Series) -> SurvivalSet:
    return SurvivalSet(
        X=columns.to_numpy(np.float64),
        names=tuple(columns),
        time=time.to_numpy(np.float64),
        event=event.to_numpy(np.int64),
    )
