"""Cohorts at random, and what must hold of every one; a seed is a cohort, its options, and who comes later.

    python tests/fuzzed_cohorts.py 0 500

tries seeds 0 to 499, prints which show a fault, and ends with status 1 if any does. A cohort may be refused
(InputError); nothing else may be raised, no warning but a UserWarning be heard, and nothing take longer than
``SECONDS``.
"""

from __future__ import annotations

import faulthandler
import re
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from rootcausal import RCI, InputError, RCIRegressor, RCISurvival
from rootcausal.inputs.rules import NAMED_AT_MOST

SECONDS = 60
STAGES = ["none", "mild", "grave", "dire"]
WARDS = ["surgery", "ICU", "medicine", "eye", "01", "2"]
NEVER_SEEN = "Saturn"


@dataclass(eq=False)
class Fuzzed:
    """A cohort and its options.

    Attributes
    ----------
    X : the columns, as a dataframe.
    outcome : what ``fit`` takes beside them.
    kind : the estimator.
    options : its parameters.
    numbers : columns of many different numbers, in whose own unit the model is straight where it is linear.
    few : columns of few whole numbers.
    texts : columns of texts.
    more : what else is asked of the model beside risks.
    rng : for who comes later.
    beside : what ``fit`` takes by name, such as strata or weights.
    """

    X: pd.DataFrame
    outcome: tuple[np.ndarray, ...]
    kind: Any
    options: dict[str, Any]
    numbers: list[str]
    few: list[str]
    texts: list[str]
    more: set[str]
    rng: np.random.Generator = field(repr=False)
    beside: dict[str, np.ndarray] = field(default_factory=dict)

    def fit(self) -> Any:
        return self.kind(**self.options).fit(self.X, *self.outcome, **self.beside)

    @property
    def in_words(self) -> str:
        beside = f", with {', '.join(self.beside)}" if self.beside else ""
        return f"{self.kind.__name__} of {self.X.shape[0]} x {self.X.shape[1]}, {self.options}{beside}"


def fuzzed(seed: int) -> Fuzzed:
    rng = np.random.default_rng([20_261, seed])
    kind = rng.choice([RCI, RCI, RCISurvival, RCIRegressor])
    n = int(rng.choice([rng.integers(4, 13), 20, 60, 150, 250], p=[0.1, 0.15, 0.35, 0.3, 0.1]))
    p = int(rng.integers(1, 8))
    X, numbers, few, texts = _columns(rng, n, p)
    outcome = _outcome(rng, kind, X)
    _make_holes(rng, X)
    options: dict[str, Any] = {
        "alpha": float(rng.choice([0.01, 0.2, 0.5, 1.0])),
        "variant": str(rng.choice(["local_plus", "local_plus", "local", "plus", "original"])),
        "attribution": str(rng.choice(["sharp", "sharp", "paper"])),
        "backend": str(rng.choice(["auto", "numpy"])),
    }
    if kind is RCI:
        options["mechanism"] = str(rng.choice(["linear", "nonlinear", "auto"], p=[0.5, 0.3, 0.2]))
        if options["mechanism"] != "linear" and rng.random() < 0.8:
            options |= {"variant": "local_plus", "attribution": "sharp", "backend": "auto"}
        if rng.random() < 0.2:
            options["prevalence"] = float(rng.choice([0.001, 0.1, 0.6]))
    if rng.random() < 0.4:
        options["knowledge"] = _knowledge(rng, list(X))
    positive = [name for name in numbers if (X[name].dropna() > 0).all()]
    if positive and rng.random() < 0.3:
        options["log"] = [str(rng.choice(positive))]
    if p > 2 and rng.random() < 0.1:
        options["confounding"] = "merge"
    chances = {"bootstrap": 0.4, "file": 0.25, "diagnose": 0.2, "report": 0.1, "cross_validate": 0.2}
    more = {name for name, chance in chances.items() if rng.random() < chance}
    cohort = Fuzzed(X, outcome, kind, options, numbers, few, texts, more, rng)
    _design(np.random.default_rng([20_262, seed]), cohort)
    return cohort


def _design(rng: np.random.Generator, cohort: Fuzzed) -> None:
    """Another design for two of five cohorts; limits of detection, reliabilities, weights for some."""
    n, kind, options = len(cohort.X), cohort.kind, cohort.options
    design = str(rng.choice(["as it is", "another"], p=[0.6, 0.4]))
    if design == "another" and kind is RCISurvival:
        _late_or_competing(rng, cohort)
    elif design == "another" and kind is RCIRegressor:
        (y,) = cohort.outcome
        rate = np.exp(np.clip((y - y.mean()) / (y.std() or 1.0), -4, 4))
        options["outcome"], cohort.outcome = "count", (rng.poisson(rate),)
        if rng.random() < 0.5:
            cohort.beside["exposure"] = rng.uniform(0.5, 2, n)
    elif design == "another" and rng.random() < 0.5:
        ill = np.isin(cohort.outcome[0], (1, "yes"))
        options["outcome"], cohort.outcome = "ordinal", (ill + rng.integers(0, 3, n),)
        options.pop("prevalence", None)
    elif design == "another":
        ill = np.isin(cohort.outcome[0], (1, "yes"))
        cohort.beside["strata"] = np.argsort(np.argsort(~ill, kind="stable"), kind="stable") % max(
            1, int(ill.sum())
        )
        cohort.X.dropna(axis="columns", inplace=True)
        for names in (cohort.numbers, cohort.few, cohort.texts):
            names[:] = [name for name in names if name in cohort.X]
        for name in ("prevalence", "knowledge", "log"):
            options.pop(name, None)
    free = [name for name in cohort.numbers if name not in options.get("log", [])]
    if free and rng.random() < 0.15:
        name = str(rng.choice(free))
        lowest = float(cohort.X[name].quantile(0.3))
        cohort.X[name] = cohort.X[name].astype(float).clip(lower=lowest)
        options["limits"] = {name: f"<{lowest!r}"}
    elif free and rng.random() < 0.15:
        options["reliability"] = {str(rng.choice(free)): float(rng.choice([0.5, 0.9]))}
    if "strata" not in cohort.beside and "prevalence" not in options and rng.random() < 0.15:
        whole = rng.random() < 0.5
        cohort.beside["weights"] = rng.integers(0, 4, n) if whole else rng.lognormal(0, 0.7, n)


def _late_or_competing(rng: np.random.Generator, cohort: Fuzzed) -> None:
    when, event = cohort.outcome
    how = str(rng.choice(["late", "strata", "competing"]))
    if how == "late":
        cohort.beside["start"] = when * rng.choice([0.0, 0.5], len(when))
    elif how == "strata":
        cohort.beside["strata"] = rng.integers(0, 2, len(when))
    else:
        first = np.where(rng.random(len(when)) < 0.5, "died", "last seen")
        cohort.outcome = when, np.where(event == 1, "relapse", first)
        of_which = bool(len(when) % 2)  # drawn with the rows
        cohort.options |= {"positive": "relapse", "competing": "died", "incidence": of_which}


def _columns(
    rng: np.random.Generator, n: int, p: int
) -> tuple[pd.DataFrame, list[str], list[str], list[str]]:
    """Columns of all kinds, each of which may come from the ones before it."""
    columns: dict[str, Any] = {}
    numbers, few, texts = list[str](), list[str](), list[str]()
    hidden = np.empty((n, p))
    for place in range(p):
        draw = rng.choice(["normal", "lognormal", "t", "uniform", "exponential"])
        error = {
            "normal": rng.standard_normal,
            "lognormal": lambda size: rng.lognormal(0, 1, size),
            "t": lambda size: rng.standard_t(2.5, size),
            "uniform": lambda size: rng.uniform(-2, 2, size),
            "exponential": lambda size: rng.exponential(1, size),
        }[draw](n)
        for cause in range(place):
            if rng.random() < 0.4:
                given = hidden[:, cause]
                bend = rng.choice(["straight", "straight", "square", "step"])
                error = error + rng.normal() * (
                    given if bend == "straight" else given**2 / 3 if bend == "square" else np.tanh(3 * given)
                )
        spread = error.std()
        hidden[:, place] = value = (error - error.mean()) / (spread if spread > 0 else 1.0)
        name = f"v{place}"
        kinds = ["number", "number", "number", "positive", "rounded", "zeros", "copy", "far", "tiny"]
        kinds += ["truth", "count", "grade", "ward", "sex", "stage", "rare", "text of numbers", "flag"]
        kinds += ["rare grade", "nearly tied", "one far out", "one that differs"]
        kind = rng.choice(kinds)
        if kind == "copy" and not numbers:
            kind = "number"
        said: Any
        if kind in ("truth", "flag"):
            said = value > np.quantile(value, rng.choice([0.5, 0.9]))
            said = said if kind == "truth" else said.astype(float)
        elif kind == "count":
            said = np.clip(np.floor(np.exp(0.5 + 0.5 * value)), 0, 9).astype(int)
            few.append(name)
        elif kind == "grade":
            said = np.digitize(value, [-1.0, 0.0, 1.0]) + 1
            few.append(name)
        elif kind == "rare grade":  # of five grades, an inner one is next to never given
            said = np.select([value < -0.8, value < 0.0, value < 0.8], [1, 2, 4], 5)
            said[rng.integers(n, size=2)] = 3
            few.append(name)
        elif kind in ("ward", "sex", "rare"):
            n_levels = 2 if kind == "sex" else int(rng.integers(3, 7))
            cuts = np.quantile(value, np.linspace(0, 1, n_levels + 1)[1:-1])
            said = np.array(WARDS, dtype=object)[np.digitize(value, cuts)]
            if kind == "rare":
                said[rng.integers(n, size=max(1, n // 50))] = "ventilated"
            texts.append(name)
        elif kind == "stage":
            codes = np.digitize(value, [-0.5, 0.5, 1.5])
            said = pd.Categorical.from_codes(codes, STAGES, ordered=True)
        elif kind == "text of numbers":
            said = np.array([f"{cell:.3f}" for cell in value], dtype=object)
        else:
            said = {
                "number": lambda v: v * rng.choice([1.0, 37.0]) + rng.choice([0.0, 120.0]),
                "positive": lambda v: np.exp(v),
                "rounded": lambda v: np.round(v * 5),
                "zeros": lambda v: np.where(v < 0.5, 0.0, v),
                "copy": lambda v: np.asarray(columns[numbers[-1]]) + 1e-3 * v,
                "nearly tied": lambda v: np.round(v, 1) + 1e-9 * rng.random(n),
                "one far out": lambda v: np.where(np.arange(n) == n // 2, 1e4, v),
                "one that differs": lambda v: np.where(np.arange(n) == n // 2, 1.0, 0.0),
                "far": lambda v: 1e7 + v,
                "tiny": lambda v: 1e-9 * v,
            }[kind](value)
            numbers.append(name)
        columns[name] = said
    return pd.DataFrame(columns), numbers, few, texts


def _make_holes(rng: np.random.Generator, X: pd.DataFrame) -> None:
    """Missing values: in no column, here and there, in one column only, or where another one is high."""
    how = rng.choice(["nowhere", "nowhere", "one cell", "anywhere", "one column", "not by chance"])
    share = rng.choice([0.02, 0.2, 0.5])
    for place, name in enumerate(X):
        if X[name].dtype == bool and how != "nowhere":
            X[name] = X[name].astype(object)
        elif X[name].dtype.kind in "iu" and how != "nowhere":
            X[name] = X[name].astype(float)
        gone = np.zeros(len(X), dtype=bool)
        if how == "one cell":
            gone[0] = place == 0
        elif how == "anywhere" or (how == "one column" and place == 0):
            gone = rng.random(len(X)) < share
        elif how == "not by chance" and rng.random() < 0.5:
            gone = rng.random(len(X)) < share * 2 * (np.arange(len(X)) % 2)
        if place:  # who has nothing else keeps this
            gone &= ~X.iloc[:, :place].isna().all(axis=1).to_numpy()
        elif len(X.columns) == 1:
            gone[:] = False
        if gone.any():
            X.loc[gone, name] = None if X[name].dtype == object else np.nan


def _outcome(rng: np.random.Generator, kind: Any, X: pd.DataFrame) -> tuple[np.ndarray, ...]:
    codes = X.apply(
        lambda column: pd.factorize(column, sort=True)[0] if column.dtype.kind not in "f" else column
    )
    scaled = (codes - codes.mean()) / codes.std().replace(0, 1)
    weights = (
        rng.normal(size=X.shape[1])
        * (rng.random(X.shape[1]) < 0.5)
        * rng.choice([0.0, 1.0, 4.0], p=[0.2, 0.6, 0.2])
    )
    score = scaled.to_numpy(float) @ weights + (
        0.7 * scaled.iloc[:, 0].to_numpy(float) ** 2 if rng.random() < 0.2 else 0
    )
    noisy = score + rng.logistic(size=len(X))
    if kind is RCIRegressor:
        return (np.round(noisy) if rng.random() < 0.2 else noisy * rng.choice([1.0, 1e4]),)
    share = rng.choice([0.05, 0.2, 0.5, 0.9])
    if kind is RCI:
        ill = noisy > np.quantile(noisy, 1 - share)
        return (ill.astype(int) if rng.random() < 0.5 else np.where(ill, "yes", "no"),)
    happens, leaves = rng.exponential(np.exp(-np.clip(score, -8, 8))), rng.exponential(1 / share, len(X))
    when = np.minimum(happens, leaves)
    when = np.ceil(when * 5) if rng.random() < 0.3 else when + 1e-9
    return when, (happens <= leaves).astype(int)


def _knowledge(rng: np.random.Generator, names: list[str]) -> dict[str, Any]:
    how = str(rng.choice(["first", "tiers", "covariates", "causes", "not_causes"]))
    some = [name for name in names if rng.random() < 0.4]
    if how == "tiers":
        return {"tiers": [some, []]}
    if how in ("first", "covariates"):
        return {how: some}
    pairs = [(names[a], names[b]) for a in range(len(names)) for b in range(a) if rng.random() < 0.3]
    return {how: pairs if rng.random() < 0.5 else [(b, a) for a, b in pairs]}


class FaultError(AssertionError):
    """Something that must hold does not."""


def must(holds: Any, what: str) -> None:
    if not holds:
        raise FaultError(what)


@contextmanager
def heard() -> Iterator[list[str]]:
    """What is said in warnings; one that is no UserWarning is raised."""
    said = list[str]()
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("error")
        warnings.simplefilter("always", UserWarning)
        yield said
        said.extend(str(one.message) for one in record)


def predictor(model: Any, X: pd.DataFrame) -> np.ndarray:
    if isinstance(model, RCIRegressor) and model.outcome == "count":
        return model._predictor(X)  # predictions are rates
    return model.decision_function(X) if isinstance(model, RCI) else model.predict(X)


def risks(model: Any, X: pd.DataFrame) -> np.ndarray:
    """Of stages the chance of the last one; of matched sets, which tell no risks, odds as a risk."""
    if isinstance(model, RCI) and model._model.attribution.outcome == "matched":
        return expit(model.decision_function(X))
    if isinstance(model, RCI):
        return model.predict_proba(X)[:, -1]
    return model.predict_risk(X) if isinstance(model, RCISurvival) else model.predict(X)


def untold(model: Any, X: pd.DataFrame) -> np.ndarray:
    """(n,) patients of whom nothing was measured that the model goes by, or that tells of what it goes by."""
    used = model._model.used
    if not used.size:  # the same is said of everybody
        return np.zeros(len(X), dtype=bool)
    telling = np.union1d(used, model._encoding.layout.variable[model._completion.columns])
    known = X.mask(X == NEVER_SEEN)[model.feature_names_in_[telling]]
    return known.isna().all(axis=1).to_numpy()


def adds_up(model: Any, X: pd.DataFrame, where: str) -> None:
    """Values and predictions agree; NaN for who has nothing, and who that is is said, and for nobody else."""
    nothing = untold(model, X)
    with heard() as said_of:
        said = predictor(model, X)
    for one in said_of:
        warnings.warn(one, stacklevel=2)  # for who asked
    named = [one for one in said_of if one.startswith("nothing that the model goes by was measured in row")]
    must(len(named) == nothing.any(), f"{where}: {len(named)} times told who has nothing measured")
    rows = (np.flatnonzero(nothing) + 1).tolist()
    numbers = list(map(int, re.findall(r"\d+", "".join(named))))
    left = len(rows) - NAMED_AT_MOST
    must(numbers == ([*rows[:NAMED_AT_MOST], left] if left > 0 else rows), f"{where}: other rows are named")
    explanation = model.explain(X)
    must(np.array_equal(explanation.scored, ~nothing), f"{where}: others are not scored")
    answers = {
        "prediction": said,
        "risk": risks(model, X),
        "value": explanation.values,
        "error": explanation.errors,
        "Shapley value": model.shapley_values(X),
        "score": np.nan_to_num(model.scores(X), nan=np.nan, neginf=0.0),
        "risk explained": explanation.predicted,
        "risk if": explanation.what_if(model.causal_order_[0]).predicted
        if model.causal_order_.size and not explanation.variables[model.causal_order_[0]].levels
        else said,
        "lower end": explanation.lower,
        "frequency": explanation.frequency,
        "end of the risk": explanation.predicted_interval,
        "value in a table": explanation.to_frame()["shapley"].to_numpy().reshape(len(X), -1),
    }
    for what, numbers_of in answers.items():
        if numbers_of is None:
            continue
        numbers_of = numbers_of.T if what == "end of the risk" else numbers_of
        gone = ~np.isfinite(numbers_of.reshape(len(X), -1))
        must(gone[nothing].all(), f"{where}: a {what} of whom nothing was measured")
        must(not gone[~nothing].any(), f"{where}: a {what} is not finite")
    scored = ~nothing
    values = explanation.values[scored]
    together = explanation.base_value + values.sum(axis=1) + explanation.covariate_effect[scored]
    near = 1e-7 * (1.0 + np.abs(values).sum(axis=1) + abs(explanation.base_value))
    must(
        (np.abs(together - said[scored]) < near).all(), f"{where}: base and values do not make the prediction"
    )
    must((np.abs(explanation.predictor - said)[scored] < near).all(), f"{where}: explain and predict differ")
    risk = answers["risk"][scored]
    if not isinstance(model, RCIRegressor):
        must(((risk >= 0) & (risk <= 1)).all(), f"{where}: a risk outside of 0 to 1")


def same_numbers(some: np.ndarray, others: np.ndarray) -> bool:
    return np.array_equal(some, others, equal_nan=True)


def try_seed(seed: int) -> str:
    """Raise FaultError, or whatever else is raised; return what became of the cohort."""
    cohort = fuzzed(seed)
    X = cohort.X
    with heard():
        try:
            model = cohort.fit()
        except InputError as refused:
            return "refused: " + re.sub(r"[\d., ]+(and \d+ more )?", " ", " ".join(str(refused).split()))[:60]
        adds_up(model, X, "cohort")
        again = cohort.fit()
        same = same_numbers(again.explain(X).values, model.explain(X).values)
        must(same and same_numbers(risks(again, X), risks(model, X)), "two fits differ")
        _more(cohort, model)
    _later(cohort, model)
    return "fitted"


def _more(cohort: Fuzzed, model: Any) -> None:
    X = cohort.X
    if "bootstrap" in cohort.more:
        model.bootstrap(3)
        adds_up(model, X, "after the bootstrap")
    with tempfile.TemporaryDirectory() as folder:
        if "file" in cohort.more:
            model.save(Path(folder) / "model.rci")
            loaded = type(model).load(Path(folder) / "model.rci")
            must(same_numbers(risks(loaded, X), risks(model, X)), "a model from its file gives other risks")
        if "report" in cohort.more:
            model.report(X.iloc[:5], Path(folder) / "page.html")
    if "diagnose" in cohort.more:
        model.diagnose(X, *cohort.outcome, **cohort.beside)
    if "cross_validate" in cohort.more:
        with suppress(InputError):  # a fold may lack what the cohort has
            model.cross_validate()


def _later(cohort: Fuzzed, model: Any) -> None:
    """Patients who come later: alone, in other columns, and unlike all that were seen."""
    X, rng = cohort.X, cohort.rng
    with heard():
        all_at_once = risks(model, X)
        some = rng.choice(len(X), size=min(4, len(X)), replace=False)
        alone = np.concatenate([risks(model, X.iloc[[row]]) for row in some])
    close = np.allclose(alone, all_at_once[some], rtol=1e-9, atol=1e-12, equal_nan=True)
    must(close, "a risk depends on which rows come along")
    with heard():
        turned = risks(model, X[list(X)[::-1]])
    must(same_numbers(turned, all_at_once), "a risk depends on the order of columns")
    name, renamed = str(rng.choice(list(X))), all_at_once
    with heard() as said:
        try:
            renamed = risks(model, X.rename(columns={name: name.upper()}))
        except InputError as refused:
            said.append(str(refused))
    silent = not any(name in one or name.upper() in one for one in said)
    must(not silent or same_numbers(renamed, all_at_once), f"{name} is renamed, and nothing is said")
    for name in cohort.texts:
        strange = X.iloc[:3].copy()
        strange[name] = NEVER_SEEN
        with heard() as said:
            try:
                adds_up(model, strange, f"an unseen level of {name}")
            except InputError as refused:
                said.append(str(refused))
        must(any(name in one for one in said), f"an unseen level of {name}, nothing is said")
    for name in cohort.numbers + cohort.few:
        _beyond(cohort, model, name)
    nobody = pd.DataFrame(None, index=[0, 1], columns=list(X), dtype=object)
    with heard():
        adds_up(model, nobody, "nothing measured")


def _beyond(cohort: Fuzzed, model: Any, name: str) -> None:
    """A number outside of what was seen, ever farther: the prediction goes on the same way, or it is said."""
    X, log = cohort.X, name in cohort.options.get("log", [])
    seen = X[name].dropna().astype(float)
    if seen.nunique() < 2:
        return
    low, high = float(seen.min()), float(seen.max())
    whole = name in cohort.few
    step = 1.0 if whole else high - low
    points = high * (high / low) ** np.arange(4.0) if log else high + step * np.arange(4.0)
    whole_row = X.dropna()
    if whole_row.empty:
        return
    row = whole_row.iloc[[0]]
    far = pd.concat([row] * len(points), ignore_index=True).astype({name: float})
    far[name] = points
    with heard() as said:
        try:
            adds_up(model, far, f"{name} beyond what was seen")
            path = predictor(model, far)
        except InputError as refused:
            said.append(str(refused))
            path = np.zeros(len(points))
    steps = np.diff(path)
    scale = 1e-6 * (1 + np.abs(path).max())
    monotone = (steps > -scale).all() or (steps < scale).all()
    named = any(name in one for one in said)
    must(monotone or named, f"{name} beyond what was seen: {np.round(path, 3)}, and nothing is said")
    linear = model.provenance_["parameters"].get("mechanism", "linear") == "linear"
    # What is expected beyond a limit of detection is no straight line of what else is known.
    if linear and not whole and not named and not cohort.options.get("limits"):
        straight = np.allclose(steps, steps[0], rtol=1e-4, atol=10 * scale)
        must(straight, f"{name} beyond what was seen: {np.round(path, 3)} is no straight line")


class Alarm:
    """Raises FaultError in whatever takes longer than ``seconds``, where the system has alarms."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        if hasattr(signal, "SIGALRM"):
            self.before = signal.signal(signal.SIGALRM, self._ring)
            signal.alarm(self.seconds)

    def __exit__(self, *_: Any) -> None:
        if hasattr(signal, "SIGALRM"):
            signal.alarm(0)
            signal.signal(signal.SIGALRM, self.before)

    def _ring(self, *_: Any) -> None:
        raise FaultError(f"not done in {self.seconds} seconds")


def faults(seeds: range, tell: Any = None) -> tuple[dict[int, str], Counter[str]]:
    """What is wrong, by seed, and how many cohorts were fitted, or refused and why."""
    found, became = dict[int, str](), Counter[str]()
    for seed in seeds:
        if tell is not None:  # what no alarm interrupts ends the process, with the place that hangs
            faulthandler.dump_traceback_later(2 * SECONDS, exit=True)
        began = time.monotonic()
        try:
            with Alarm(SECONDS):
                became[try_seed(seed)] += 1
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = "" if isinstance(error, FaultError) else f" ({Path(place.filename).name}:{place.lineno})"
            found[seed] = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}{where}"
            if tell is not None:
                tell(f"seed {seed}: {found[seed]}\n    {fuzzed(seed).in_words}")
        if tell is not None and time.monotonic() - began > SECONDS / 4:
            tell(f"seed {seed}: took {time.monotonic() - began:.0f} s")
    faulthandler.cancel_dump_traceback_later()
    return found, became


def main() -> None:
    first, last = map(int, sys.argv[1:3])
    began = time.monotonic()
    found, became = faults(range(first, last), lambda text: print(text, flush=True))
    for what, count in became.most_common():
        print(f"{count:6d} {what}")
    print(f"{len(found)} of {last - first} cohorts show a fault, in {time.monotonic() - began:.0f} s")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
