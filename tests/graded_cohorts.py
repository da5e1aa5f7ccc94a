"""Cohorts whose outcome is a time to an event, or a number, with effects that are known."""

from __future__ import annotations

import numpy as np
import pandas as pd

# Of crp and of albumin, on the log-hazard or in standard deviations of noise.
EFFECTS = (1.0, -0.8)


def labs(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Four labs: bmi drives crp, ldl drives albumin down."""
    bmi, ldl, crp, albumin = rng.laplace(size=(4, n))
    return pd.DataFrame({"bmi": bmi, "ldl": ldl, "crp": crp + 0.7 * bmi, "albumin": albumin - 0.5 * ldl})


def pull(X: pd.DataFrame) -> np.ndarray:
    """What crp and albumin add to the outcome."""
    return EFFECTS[0] * X["crp"].to_numpy() + EFFECTS[1] * X["albumin"].to_numpy()


def times(
    rng: np.random.Generator, log_hazard: np.ndarray, followed: float = 2.0
) -> tuple[np.ndarray, np.ndarray]:
    """Exponential times to an event, and whether it came before the end of follow-up."""
    event_at, end = rng.exponential(np.exp(-log_hazard)), rng.exponential(followed, log_hazard.size)
    return np.minimum(event_at, end), (event_at <= end).astype(int)


def survival_cohort(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Labs, time and event; about two thirds have it."""
    rng = np.random.default_rng(seed)
    X = labs(rng, n)
    return X, *times(rng, pull(X))


def number_cohort(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Labs and a number around 60, of which a unit of what pulls is 5."""
    rng = np.random.default_rng(seed)
    X = labs(rng, n)
    return X, 60.0 + 5.0 * (pull(X) + rng.laplace(size=n))


def structured(time: np.ndarray, event: np.ndarray) -> np.ndarray:
    """As scikit-survival has it."""
    both = np.empty(time.size, dtype=[("event", bool), ("time", float)])
    both["event"], both["time"] = event, time
    return both
