"""Small cohorts that look like life, of the designs that are more than a diagnosis, a time or a number.

To add one, write a function that draws it: ``@design`` takes the estimator and its parameters, what is known
of the truth and which warnings are documented for it; the function takes a seeded generator and returns X,
the outcome as ``fit`` takes it after X, and what it takes beside. Every test of ``test_design_zoo.py`` then
runs over it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from graded_cohorts import times
from graded_zoo import BEFORE_OTHERS, pull
from zoo import labs

from rootcausal import RCI, RCIRegressor, RCISurvival


@dataclass(frozen=True, eq=False)
class Designed:
    """A cohort and what is known of it; see :class:`graded_zoo.GradedAnimal`."""

    name: str
    estimator: Any
    options: dict[str, Any]
    X: pd.DataFrame
    outcome: tuple[Any, ...]
    beside: dict[str, Any] = field(default_factory=dict)
    raises: tuple[str, ...] = ()
    lowers: tuple[str, ...] = ()
    warns: tuple[str, ...] = ()
    refused: str = ""

    @property
    def of_patients(self) -> dict[str, Any]:
        """What explanations take: matched sets."""
        strata = self.estimator is RCI and "strata" in self.beside
        return {"strata": self.beside["strata"]} if strata else {}

    @property
    def known(self) -> dict[str, Any]:
        """What diagnoses and pages take beside the outcome."""
        return {name: value for name, value in self.beside.items() if name != "groups"}


DESIGN_ZOO: list[Designed] = []
DESIGN_REFUSED: list[Designed] = []
LABS: dict[str, Any] = {"raises": ("crp",), "lowers": ("albumin",)}


def design(
    estimator: Any, options: dict[str, Any] | None = None, seed: int = 0, **known: Any
) -> Callable[[Callable[[np.random.Generator], Any]], Any]:
    """Draw a cohort from a generator with this seed, and put it into the zoo."""

    def keep(draw: Callable[[np.random.Generator], Any]) -> Any:
        X, outcome, beside = draw(np.random.default_rng(seed))
        drawn = Designed(draw.__name__, estimator, options or {}, X, outcome, beside, **known)
        (DESIGN_REFUSED if drawn.refused else DESIGN_ZOO).append(drawn)
        return draw

    return keep


def skewed(rng: np.random.Generator, n: int = 240) -> pd.DataFrame:
    return labs(lambda size: rng.gamma(2, size=size), n)


def cases_among(rng: np.random.Generator, sets: np.ndarray, log_odds: np.ndarray) -> np.ndarray:
    """One case of each set, by the odds of its rows."""
    score = pd.Series(log_odds + rng.gumbel(size=sets.size))
    return (score == score.groupby(sets).transform("max")).to_numpy().astype(int)


# --- matched sets -----------------------------------------------------------------------------------------


@design(RCI, **LABS)
def pairs_of_one_family(rng):
    sets = np.repeat(np.arange(120), 2)
    X = skewed(rng) + rng.normal(size=(120, 5))[sets]
    return X, (cases_among(rng, sets, pull(X)),), {"strata": sets}


@design(RCI, **LABS)
def four_controls_each_with_names(rng):
    sets = np.repeat([f"set {k}" for k in range(48)], 5)
    X = skewed(rng)
    mixed = rng.permutation(240)
    y = cases_among(rng, sets, pull(X))
    return X.iloc[mixed].reset_index(drop=True), (y[mixed],), {"strata": sets[mixed]}


@design(RCI, **LABS)
def few_large_sets_of_many_cases(rng):
    X = skewed(rng)
    y = (pull(X) + rng.logistic(size=240) > 0).astype(int)
    return X, (y,), {"strata": np.arange(240) // 60}


@design(RCI, warns=("40 matched sets without a case",), **LABS)
def sets_that_tell_nothing(rng):
    sets = np.repeat(np.arange(120), 2)
    X = skewed(rng)
    y = cases_among(rng, sets, pull(X))
    y[sets < 40] = 0
    return X, (y,), {"strata": sets}


@design(RCI, warns=("nothing is left to explain after",), **LABS)
def a_sum_within_sets_only(rng):
    """Overall no column is made of the others; within sets ``total`` is, but for what the set shares."""
    sets = np.repeat(np.arange(120), 2)
    X = skewed(rng)
    total = X["sodium"] + X["bmi"] + rng.normal(0, 3, 120)[sets]
    return X.assign(total=total), (cases_among(rng, sets, pull(X)),), {"strata": sets}


@design(RCI, refused="columns 'born' and 'age' are copies or exact linear images of each other")
def prizes_of_a_year(rng):
    sets = np.repeat(np.arange(120), 2)
    X = skewed(rng)
    age = rng.uniform(30, 80, 240)
    X = X.assign(born=1900.0 + sets - age, age=age)
    return X, (cases_among(rng, sets, pull(X)),), {"strata": sets}


@design(RCI, refused="'age' is the same within every matched set: rows were matched on it")
def matched_on_a_column(rng):
    sets = np.repeat(np.arange(120), 2)
    X = skewed(rng).assign(age=rng.uniform(30, 80, 120)[sets])
    return X, (cases_among(rng, sets, pull(X)),), {"strata": sets}


# --- labels, stages, counts -------------------------------------------------------------------------------


@design(RCI, {"positive": ["mild", "severe"]}, **LABS)
def grades_of_which_two_are_ill(rng):
    X = skewed(rng)
    grade = np.digitize(pull(X) + rng.logistic(size=240), [0.0, 1.5])
    return X, (np.array(["none", "mild", "severe"])[grade],), {}


@design(RCI, {"positive": ">=1"}, **LABS)
def heart_disease_from_0_to_4(rng):
    X = skewed(rng)
    return X, (np.digitize(pull(X) + rng.logistic(size=240), [0.0, 1.0, 2.0, 3.0]),), {}


@design(RCI, {"outcome": "ordinal"}, **LABS)
def stages_of_a_tumour(rng):
    X = skewed(rng)
    stage = np.digitize(pull(X) + rng.logistic(size=240), [-1.0, 0.5, 2.0])
    return X, (np.array(["I", "II", "III", "IV"])[stage],), {}


@design(RCI, {"outcome": "ordinal"}, seed=1, **LABS)
def a_stage_that_three_have(rng):
    X = skewed(rng)
    stage = np.digitize(pull(X) + rng.logistic(size=240), [0.0, 1.0])
    stage[np.argsort(-pull(X))[:3]] = 3
    return X, (stage,), {}


@design(RCIRegressor, {"outcome": "count"}, **LABS)
def seizures_over_weeks_that_differ(rng):
    X, weeks = skewed(rng), rng.uniform(0.5, 40, 240)
    rate = weeks * np.exp(-2.0 + 0.7 * pull(X)) * rng.gamma(2.0, 0.5, 240)
    return X, (rng.poisson(np.minimum(rate, 1e6)),), {"exposure": weeks}


@design(RCIRegressor, {"outcome": "count"}, raises=("crp",))
def mostly_none(rng):
    X = skewed(rng, 400)
    return X, (rng.poisson(np.exp(-2.5 + 0.5 * pull(X))),), {}


@design(RCIRegressor, {"outcome": "count", "dispersion": 0.0}, **LABS)
def poisson_counts_of_thousands(rng):
    X = skewed(rng)
    return X, (rng.poisson(np.exp(7.0 + 0.2 * pull(X))),), {}


@design(RCIRegressor, {"outcome": "count"}, refused="counts are whole numbers|count")
def a_count_of_parts(rng):
    X = skewed(rng)
    return X, (rng.random(240),), {}


# --- times ------------------------------------------------------------------------------------------------


def followed(rng: np.random.Generator, n: int = 240) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    X = skewed(rng, n)
    time, event = times(rng, pull(X), 2.0)
    return X, time, event


@design(RCISurvival, **LABS)
def who_came_late(rng):
    X, time, event = followed(rng, 400)
    start = rng.uniform(0.0, 0.6, 400)
    came = time > start
    return X[came].reset_index(drop=True), (time[came], event[came]), {"start": start[came]}


@design(RCISurvival, raises=("crp",))
def visits_whose_values_change(rng):
    """Three rows of each patient, from visit to visit; the event may come again."""
    patients = np.repeat(np.arange(100), 3)
    X = skewed(rng, 300) + rng.normal(size=(100, 5))[patients]
    start = np.tile([0.0, 1.0, 2.0], 100)
    gone = rng.exponential(1.5 * np.exp(-0.6 * pull(X)))
    event = (gone < 1.0).astype(int)
    stop = start + np.clip(gone, 0.001, 1.0)
    return X, (stop, event), {"start": start, "groups": patients}


@design(RCISurvival, **LABS)
def sites_and_one_without_events(rng):
    X, time, event = followed(rng)
    site = np.arange(240) % 6
    return X, (time * (1.0 + site), np.where(site == 0, 0, event)), {"strata": site}


@design(RCISurvival, {"positive": "relapse", "competing": ["death", "transplant"]}, **LABS)
def death_and_transplant_before_relapse(rng):
    X, time, event = followed(rng)
    other = rng.exponential(2.0, 240)
    label = np.where(event == 1, "relapse", "last seen")
    label = np.where(other < time, np.where(rng.random(240) < 0.5, "death", "transplant"), label)
    return X, (np.minimum(time, other), label), {}


@design(RCISurvival, {"positive": 1, "competing": 2}, raises=("crp",), warns=(BEFORE_OTHERS,))
def nearly_all_have_the_other_event(rng):
    X, time, event = followed(rng, 400)
    other = rng.exponential(0.15, 400)
    code = np.where(other < time, 2, event)
    return X, (np.minimum(time, other), code), {}


@design(RCISurvival, {"positive": 1}, warns=("the event is 1, and 2",), **LABS)
def a_third_code_that_nobody_named(rng):
    X, time, event = followed(rng)
    return X, (time, np.where((event == 0) & (rng.random(240) < 0.5), 2, event)), {}


@design(RCISurvival, {"positive": "relapse", "competing": "death"}, raises=("crp",))
def late_competing_strata_with_holes(rng):
    X, time, event = followed(rng, 400)
    start = rng.uniform(0.0, 0.4, 400)
    other = start + rng.exponential(2.0, 400)
    came = np.minimum(time, other) > start
    label = np.where(other < time, "death", np.where(event == 1, "relapse", "alive"))
    X = X.where(rng.random(X.shape) > 0.1)
    beside = {"start": start[came], "strata": np.arange(400)[came] % 3}
    return X[came].reset_index(drop=True), (np.minimum(time, other)[came], label[came]), beside


@design(RCISurvival, refused="start is not before the time in rows 1, 2")
def intervals_that_end_before_they_start(rng):
    X, time, event = followed(rng)
    return X, (time, event), {"start": np.where(np.arange(240) < 2, time, 0.0)}


# --- inclusion weights ------------------------------------------------------------------------------------


@design(RCI, **LABS)
def severe_cases_taken_more_often(rng):
    X = skewed(rng, 600)
    y = (pull(X) + rng.logistic(size=600) > 0).astype(int)
    chance = np.where((y == 1) & (pull(X) > 0.5), 0.9, 0.3)
    taken = rng.random(600) < chance
    X = X[taken].reset_index(drop=True)
    X.loc[::11, "sodium"] = np.nan
    return X, (y[taken],), {"weights": 1.0 / chance[taken]}


@design(RCISurvival, **LABS)
def a_survey_with_a_weight_for_each(rng):
    X, time, event = followed(rng, 300)
    weights = rng.lognormal(7.0, 0.6, 300)
    weights[:5] = 0.0
    return X, (time, event), {"weights": weights}


@design(RCI, warns=("weights are integers",), **LABS)
def rows_counted_by_whole_numbers(rng):
    X = skewed(rng)
    y = (pull(X) + rng.logistic(size=240) > 0).astype(int)
    return X, (y,), {"weights": rng.integers(0, 4, 240)}
