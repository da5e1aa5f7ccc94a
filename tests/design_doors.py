"""A small cohort of every design, and what can be asked of each: the table of docs/designs.md."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rootcausal import RCI, RCIRegressor, RCISurvival

N = 90
UNMEASURED, A_LEVEL, KNOWN = "missing values", "columns with levels", "knowledge, covariates"


@dataclass(frozen=True, eq=False)
class Design:
    """An estimator, the outcome as it takes it after X, and what ``fit`` and others take beside."""

    estimator: Any
    options: dict[str, Any]
    outcome: tuple[Any, ...]
    beside: dict[str, Any] = field(default_factory=dict)
    of_patients: dict[str, Any] = field(default_factory=dict)

    def made(self, **more: Any) -> Any:
        return self.estimator(**{"backend": "numpy", **self.options, **more})

    def fitted(self, X: Any, also: dict[str, Any] | None = None, **more: Any) -> Any:
        if X is table() and not also and not more:  # asked of it by many
            return _as_it_is(self)
        return self.made(**more).fit(X, *self.outcome, **self.beside, **(also or {}))


@cache
def table() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    a = rng.laplace(size=N)
    return pd.DataFrame({"a": a, "b": 0.7 * a + rng.laplace(size=N), "c": rng.laplace(size=N)})


@cache
def _as_it_is(design: Design) -> Any:
    return design.made().fit(table(), *design.outcome, **design.beside)


@cache
def designs() -> dict[str, Design]:
    """By the heads of the columns of the table."""
    rng, X = np.random.default_rng(9), table()
    pull = (X.a - 0.6 * X.c).to_numpy()
    time = np.round(rng.exponential(5 * np.exp(-0.7 * pull)) + 0.1, 3)
    event = (rng.random(N) < 0.7).astype(int)
    late = np.where(np.arange(N) % 3 == 0, 0.5 * time, 0.0)
    sets = np.arange(N) // 3
    case = np.zeros(N, dtype=int)
    score = pull + rng.gumbel(size=N)
    case[[np.flatnonzero(sets == one)[score[sets == one].argmax()] for one in range(N // 3)]] = 1
    grade = np.digitize(pull + rng.logistic(size=N), [-1.0, 0.5, 2.0])
    end = np.where(event == 1, "relapse", np.where(np.arange(N) % 2, "died", "last seen"))
    return {
        "matched sets": Design(RCI, {}, (case,), {"strata": sets}, {"strata": sets}),
        "labels grouped": Design(RCI, {"positive": [2, 3]}, (grade,)),
        "stages": Design(RCI, {"outcome": "ordinal"}, (grade,)),
        "counts": Design(
            RCIRegressor,
            {"outcome": "count"},
            (rng.poisson(np.exp(0.5 + 0.4 * pull)),),
            {"exposure": rng.uniform(1, 2, N)},
        ),
        "start and stop": Design(RCISurvival, {}, (time, event), {"start": late}),
        "strata of times": Design(RCISurvival, {}, (time, event), {"strata": np.arange(N) % 2}),
        "competing events": Design(RCISurvival, {"positive": "relapse", "competing": "died"}, (time, end)),
        "their incidence": Design(
            RCISurvival, {"positive": "relapse", "competing": "died", "incidence": True}, (time, end)
        ),
    }


def _with_holes(X: pd.DataFrame) -> pd.DataFrame:
    holes = X.copy()
    holes.loc[::7, "b"] = np.nan
    return holes


def _with_levels(X: pd.DataFrame) -> pd.DataFrame:
    return X.assign(
        sex=np.where(np.arange(N) % 2, "m", "f"), ward=np.array(["x", "y", "z"])[np.arange(N) // 4 % 3]
    )


def _saved(design: Design, X: Any) -> None:
    model = design.fitted(X)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m.rci")
        again = design.estimator.load(Path(folder) / "m.rci")
    assert np.array_equal(again.explain(X).values, model.explain(X).values)


def _page(design: Design, X: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        design.fitted(X).report(X, Path(folder) / "p.html", *design.outcome, **design.beside)


def _what_if(design: Design, X: Any) -> None:
    explained = design.fitted(X).explain(X, **design.of_patients)
    assert np.isfinite(explained.what_if("a", error=0.0).predictor).all()


def _on_cluster(design: Design, X: pd.DataFrame) -> None:
    import dask.dataframe as dd

    frame, outcome = X.copy(), []
    for place, values in enumerate(design.outcome):
        frame[f"_{place}"] = values
        outcome.append(f"_{place}")
    beside = {}
    for name, values in design.beside.items():
        frame[name] = values
        beside[name] = name
    cluster = dd.from_pandas(frame, npartitions=2)
    design.made(backend="dask").fit(cluster, *outcome, **beside)


#: By the heads of the rows of the table: what is done with a design and its table.
ASKED: dict[str, Callable[[Design, Any], Any]] = {
    "fit, explain": lambda design, X: design.fitted(X).explain(X, **design.of_patients).values,
    "what_if": _what_if,
    "diagnose, check": lambda design, X: design.fitted(X).diagnose(X, *design.outcome, **design.beside),
    "report": _page,
    "summary": lambda design, X: design.fitted(X).summary().frame,
    "bootstrap": lambda design, X: design.fitted(X).bootstrap(2).explain(X, **design.of_patients).lower,
    "cross_validate": lambda design, X: design.fitted(X).cross_validate(3),
    "save, load": _saved,
    UNMEASURED: lambda design, X: design.fitted(_with_holes(X)).explain(_with_holes(X)),
    A_LEVEL: lambda design, X: design.fitted(_with_levels(X)),
    KNOWN: lambda design, X: design.fitted(X, knowledge={"first": ["a"], "covariates": ["c"]}),
    "log": lambda design, X: design.fitted(np.exp(X), log=["a"]),
    "patients with several rows": lambda design, X: design.fitted(X, {"groups": np.arange(N) // 2}),
    "weights": lambda design, X: design.fitted(X, {"weights": 0.5 + np.arange(N) % 3}).explain(X),
    "prevalence": lambda design, X: design.fitted(X, prevalence=0.02),
    'attribution="paper"': lambda design, X: design.fitted(X, attribution="paper"),
    'mechanism="nonlinear"': lambda design, X: design.fitted(X, mechanism="nonlinear").explain(X),
    'confounding="merge"': lambda design, X: design.fitted(X, confounding="merge"),
    'backend="dask"': _on_cluster,
}
