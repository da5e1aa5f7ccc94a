"""What tests of the guide and the demonstration ask again and again of one cohort: worked out once.

A resample is decided by the cohort, the settings and its number, which is what files of resamples go by too;
values by the model and the errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rootcausal.nonlinear.attribution import NonlinearAttribution
from rootcausal.resampling import bootstrap as bootstrap_module

learn, sampled = bootstrap_module.resample, NonlinearAttribution.sampled
resamples: dict[tuple[str, str, int], Any] = {}
# By whose values, which is kept so that no other takes its place.
values: dict[tuple[int, bytes], tuple[Any, Any]] = {}


@pytest.fixture
def learned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def resample(cohort: Any, random_state: int, number: int, alone: bool) -> Any:
        key = cohort.fingerprint(random_state), cohort.backend, number
        if key not in resamples:
            resamples[key] = learn(cohort, random_state, number, alone)
        return resamples[key]

    def shapley(attribution: Any, errors: np.ndarray) -> Any:
        key = id(attribution), errors.tobytes()
        if key not in values:
            values[key] = attribution, sampled(attribution, errors)
        found = values[key][1]
        return found._replace(values=found.values.copy())

    monkeypatch.setattr(bootstrap_module, "resample", resample)
    # Workers in processes of their own would keep nothing.
    monkeypatch.setattr(bootstrap_module, "TRIED_HERE", 1_000_000)
    monkeypatch.setattr(NonlinearAttribution, "sampled", shapley)
