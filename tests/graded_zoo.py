"""Small cohorts that look like life, whose outcome is a time to an event or a number.

To add one, write a function that draws it: ``@survival`` or ``@number`` takes what is known of the truth and
which warnings are documented for it, the function takes a seeded generator and returns X and the outcome, and
its name is the name of the animal. Every test of ``test_graded_zoo.py`` then runs over it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from graded_cohorts import times
from zoo import EXHAUSTED, NO_DEPENDENCE, labs, of_all_kinds, standardized

from rootcausal import RCIRegressor, RCISurvival

# How the documented warnings begin.
BEFORE_OTHERS = "the errors tell of some patients for certain that they have the event before others"
LAST_DIGIT = "the errors tell every patient's number to the last digit"
ZERO_TIMES = "2 times of follow-up are zero"
TWO_VALUES = "y holds 0 and 1 only, and is taken for a number"


@dataclass(frozen=True, eq=False)
class GradedAnimal:
    """A cohort and what is known of it.

    Attributes
    ----------
    name : for the names of tests.
    estimator : what fits it.
    X : the columns.
    outcome : time and event, or the number.
    raises, lowers : columns whose shock raises or lowers the hazard, or the number.
    null : columns that have nothing to do with it.
    warns : how the warnings begin that are documented for a cohort like this one.
    refused : what the InputError says that is documented for it; empty for cohorts that can be fitted.
    """

    name: str
    estimator: type[RCISurvival] | type[RCIRegressor]
    X: Any
    outcome: tuple[np.ndarray, ...]
    raises: tuple[str, ...] = ()
    lowers: tuple[str, ...] = ()
    null: tuple[str, ...] = ()
    warns: tuple[str, ...] = ()
    refused: str = ""

    @property
    def names(self) -> list[str]:
        return list(self.X) if isinstance(self.X, pd.DataFrame) else [f"x{c}" for c in range(self.X.shape[1])]

    @property
    def has_missing(self) -> bool:
        return bool(pd.isna(pd.DataFrame(self.X)).to_numpy().any())


GRADED_ZOO: list[GradedAnimal] = []
GRADED_REFUSED: list[GradedAnimal] = []


def graded(estimator: Any, seed: int = 0, **known: Any) -> Callable[[Callable], Any]:
    """Draw a cohort from a generator with this seed, and put it into the zoo."""

    def keep(draw: Callable[[np.random.Generator], Any]) -> Any:
        X, *outcome = draw(np.random.default_rng(seed))
        drawn = GradedAnimal(draw.__name__, estimator, X, tuple(map(np.asarray, outcome)), **known)
        (GRADED_REFUSED if drawn.refused else GRADED_ZOO).append(drawn)
        return draw

    return keep


survival, number = partial(graded, RCISurvival), partial(graded, RCIRegressor)
LABS: dict[str, Any] = {"raises": ("crp",), "lowers": ("albumin",), "null": ("sodium",)}


def pull(X: pd.DataFrame, strength: float = 1.0) -> np.ndarray:
    """What crp and albumin do to the outcome, for standard deviations."""
    return strength * (standardized(X["crp"]) - standardized(X["albumin"]))


def followed(rng: np.random.Generator, n: int = 300, strength: float = 1.0, until: float = 2.0) -> Any:
    """Skewed labs, times and events."""
    X = labs(lambda size: rng.gamma(2, size=size), n)
    return X, *times(rng, pull(X, strength), until)


def severity(rng: np.random.Generator, n: int = 300, strength: float = 1.0) -> Any:
    """Skewed labs, and a number."""
    X = labs(lambda size: rng.gamma(2, size=size), n)
    return X, 50.0 + 10.0 * (pull(X, strength) + rng.laplace(size=n))


# --- times to an event ------------------------------------------------------------------------------------


@survival(**LABS)
def skewed_labs_and_times(rng):
    return followed(rng)


@survival(seed=2, raises=("crp",), lowers=("albumin",))
def few_events(rng):
    return followed(rng, n=500, until=0.03)


@survival(warns=(BEFORE_OTHERS,))
def two_events(rng):
    X, time, event = followed(rng, n=100)
    return X, time, np.where(np.cumsum(event) <= 2, event, 0)


@survival(**LABS)
def without_censoring(rng):
    X, time, event = followed(rng)
    return X, time, np.ones_like(event)


@survival(**LABS)
def times_in_years(rng):
    X, time, event = followed(rng)
    return X, np.ceil(2 * time), event


@survival(**LABS)
def all_times_tied(rng):
    X, time, event = followed(rng)
    return X, np.full(300, 5.0), (time < 0.5) & (event == 1)


@survival(**LABS)
def one_time_of_events_and_later(rng):
    X, time, event = followed(rng)
    soon = (time < 0.4) & (event == 1)
    return X, np.where(soon, 1.0, 1.0 + time), soon


@survival(**LABS)
def closed_on_one_day(rng):
    X, time, event = followed(rng, until=1e9)
    return X, np.minimum(time, 0.7), (time <= 0.7) & (event == 1)


@survival(**LABS)
def long_tailed_times(rng):
    X, time, event = followed(rng)
    return X, time**12, event


@survival(warns=(ZERO_TIMES,), **LABS)
def died_on_the_first_day(rng):
    X, time, event = followed(rng)
    first = np.argsort(time)[:2]
    time[first] = 0.0
    return X, time, event


@survival(seed=1, raises=("crp",), lowers=("albumin",))
def long_tailed_labs(rng):
    X = labs(lambda size: rng.lognormal(sigma=1.2, size=size), 400)
    return X, *times(rng, pull(X))


@survival(raises=("toxin",), warns=(BEFORE_OTHERS,), null=("age",))
def rare_findings(rng):
    n = 500
    X = pd.DataFrame((rng.random((n, 3)) < 0.02).astype(int), columns=["toxin", "variant_a", "variant_b"])
    X["age"] = rng.uniform(30, 80, n)
    return X, *times(rng, 3.0 * X["toxin"].to_numpy(), 1.0)


@survival(raises=("crp",), lowers=("haemoglobin",))
def wards_and_stages(rng):
    X, _ = of_all_kinds(rng, 300)
    return X, *times(
        rng, 0.8 * standardized(X["crp"]) + (X["ward"] == "ICU") - standardized(X["haemoglobin"])
    )


@survival(raises=("crp",), lowers=("haemoglobin",))
def all_kinds_with_holes_and_times(rng):
    X, time, event = wards_and_stages(rng)
    return X.apply(lambda column: column.astype(object).where(rng.random(len(X)) > 0.1)), time, event


@survival()
def ten_patients(rng):
    X = rng.lognormal(size=(10, 3))
    return X, *times(rng, X[:, 0], 5.0)


@survival(raises=("gene_7",), warns=(BEFORE_OTHERS, EXHAUSTED))
def more_genes_than_patients(rng):
    X = pd.DataFrame(rng.laplace(size=(40, 60)), columns=[f"gene_{c}" for c in range(60)])
    return X, *times(rng, 2 * X["gene_7"].to_numpy(), 5.0)


@survival(null=("height",))
def weighed_twice(rng):
    X = pd.DataFrame({"weight": rng.gamma(9, 8, 300), "height": rng.uniform(150, 195, 300)})
    X["weight_at_home"] = X["weight"] + rng.laplace(0, 0.01, 300) * X["weight"].std()
    return X, *times(rng, standardized(X["weight"]))


@survival(**LABS)
def wild_units(rng):
    X, time, event = followed(rng)
    return X * [1e12, 1e-12, 1e-90, 1e-90, 1e80] + [0.0, 1.0, 0.0, 0.0, 0.0], 1e-60 * time, event


@survival(null=("bmi", "ldl", "sodium", "crp", "albumin"))
def nothing_has_an_effect(rng):
    return followed(rng, strength=0.0)


@survival(**LABS)
def very_strong_effects(rng):
    return followed(rng, strength=4.0)


@survival(refused="^1 event in 100 rows: at least 2 are needed")
def one_event(rng):
    X, time, event = followed(rng, n=100)
    return X, time, np.where(np.cumsum(event) <= 1, event, 0)


@survival(refused="(?s)2 things are wrong:.*'months' is the time of follow-up itself.*'bmi' and 'bmi_copy'")
def time_left_in_and_a_copy(rng):
    X, time, event = followed(rng, n=100)
    return X.assign(months=12 * time, bmi_copy=X["bmi"] * 0.45 - 3), time, event


# --- numbers ----------------------------------------------------------------------------------------------


@number(**LABS)
def skewed_labs_and_severity(rng):
    return severity(rng)


@number(**LABS)
def a_number_of_heavy_tails(rng):
    X, y = severity(rng)
    return X, y + 3.0 * rng.standard_t(2, 300)


@number(seed=1, raises=("crp",))
def a_number_that_grows_by_factors(rng):
    X, y = severity(rng)
    return X, np.exp(y / 20)


@number(**LABS)
def five_grades(rng):
    X, y = severity(rng)
    return X, np.digitize(y, np.quantile(y, [0.2, 0.5, 0.7, 0.9]))


@number(raises=("crp",))
def mostly_zero(rng):
    X, y = severity(rng)
    return X, np.maximum(y - 60.0, 0.0)


@number(warns=(TWO_VALUES,), **LABS)
def two_values(rng):
    X, y = severity(rng)
    return X, (y > 50).astype(int)


@number(raises=("crp",), lowers=("haemoglobin",))
def wards_and_severity(rng):
    X, _ = of_all_kinds(rng, 300)
    y = 0.8 * standardized(X["crp"]) + (X["ward"] == "ICU") - standardized(X["haemoglobin"])
    return X, y + rng.laplace(size=300)


@number(raises=("crp",), lowers=("haemoglobin",))
def all_kinds_with_holes_and_severity(rng):
    X, y = wards_and_severity(rng)
    return X.apply(lambda column: column.astype(object).where(rng.random(len(X)) > 0.1)), y


@number()
def eight_values(rng):
    X = rng.lognormal(size=(8, 3))
    return X, X[:, 0] + rng.laplace(size=8)


@number(raises=("gene_7",), warns=(LAST_DIGIT, EXHAUSTED))
def more_genes_than_values(rng):
    X = pd.DataFrame(rng.laplace(size=(40, 60)), columns=[f"gene_{c}" for c in range(60)])
    return X, 2 * X["gene_7"].to_numpy() + rng.laplace(size=40)


@number(raises=("crp", "albumin"), warns=(LAST_DIGIT,))
def a_sum_of_its_columns(rng):
    X = labs(lambda size: rng.gamma(2, size=size), 200)
    return X, X.sum(axis=1)


@number(null=("height",))
def weighed_twice_and_scored(rng):
    X, *_ = weighed_twice(rng)
    return X, standardized(X["weight"]) + rng.laplace(size=300)


@number(**LABS)
def far_and_wild_units(rng):
    X, y = severity(rng)
    return X * [1e12, 1e-12, 1e-90, 1e-90, 1e80], 1e9 + 1e-3 * y


@number(null=("bmi", "ldl", "sodium", "crp", "albumin"), warns=(NO_DEPENDENCE,))
def no_effect_on_severity(rng):
    return severity(rng, strength=0.0)


@number(refused=r"^y is constant \(7\)")
def a_constant(rng):
    X, _ = severity(rng, n=100)
    return X, np.full(100, 7.0)


@number(refused="(?s)2 things are wrong:.*'egfr_2009' is the outcome y itself.*'site' is constant")
def y_under_another_name(rng):
    X, y = severity(rng, n=100)
    return X.assign(egfr_2009=0.9 * y + 3, site=1.0), y
