"""Small cohorts with a time to an event and with a number, and models of them."""

from functools import cache

import numpy as np
import pandas as pd

from rootcausal import RCIRegressor, RCISurvival

N = 160
UNITS = {"time": "years", "egfr": "ml/min", "crp": "mg/l"}


@cache
def patients() -> tuple[pd.DataFrame, np.ndarray]:
    """Four variables, one of levels, some values missing; and what the outcomes come from."""
    rng = np.random.default_rng(5)
    crp = rng.laplace(size=N)
    stage = (crp + rng.laplace(size=N) > 0).astype(int) + (rng.uniform(size=N) < 0.3)
    weight = 0.6 * crp + rng.laplace(size=N)
    other = rng.laplace(size=N)
    X = pd.DataFrame({"crp": 5 + crp, "stage": stage, "weight": 70 + weight, "other": other})
    added = 0.6 * crp + 0.5 * stage - 0.5 * weight
    X.loc[::40, "crp"] = np.nan
    return X, added - added.mean()


@cache
def follow_up() -> tuple[np.ndarray, np.ndarray]:
    """Times in years, and events."""
    rng = np.random.default_rng(6)
    time = rng.exponential(8 * np.exp(-patients()[1]))
    censored = rng.uniform(2, 14, size=N)
    return np.minimum(time, censored), time <= censored


@cache
def egfr() -> np.ndarray:
    return 60 + 12 * patients()[1] + np.random.default_rng(7).normal(scale=6, size=N)


@cache
def survival_model() -> RCISurvival:
    X, _ = patients()
    return RCISurvival(horizon=5, backend="numpy").fit(X, *follow_up()).bootstrap(12)


@cache
def number_model() -> RCIRegressor:
    X, _ = patients()
    return RCIRegressor(backend="numpy").fit(X, egfr()).bootstrap(12)
