"""What survival is held against is itself held against another program, lifelines 0.30.3, on real tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from survival_oracle import (
    REAL_SETS,
    breslow,
    cox_coefficients,
    harrell,
    kaplan_meier,
    nelson_aalen,
    standardized,
)


@dataclass(frozen=True)
class Known:
    """Numbers of lifelines, of times in whole units.

    ``CoxPHFitter().fit(table, "time", "event", fit_options={"precision": 1e-10})``: its coefficients, and the
    last of ``baseline_cumulative_hazard_``. ``KaplanMeierFitter`` and ``NelsonAalenFitter`` (not smoothed) at
    the median time. ``concordance_index`` of the linear predictor, rounded to one digit so that it has ties.
    """

    unit: float
    coefficients: tuple[float, ...]
    baseline: float
    alive: float
    hazard: float
    concordance: float


BY_LIFELINES = {
    "pbc": Known(
        1,
        (
            0.32250913,
            0.44348193,
            0.054775281,
            -0.46169863,
            0.33439766,
            -0.025259616,
            0.16237046,
            -0.03388668,
            -0.050138246,
            0.29405531,
        ),
        1.42401003,
        0.7126249626835119,
        0.3379274427221504,
        0.832439189541122,
    ),
    "gbsg2": Known(
        365.25,
        (-0.099548698, 0.10078343, 0.25646945, -0.43784616, 0.031499755, -0.14692633, 0.13510094, 0.15172916),
        0.78263335,
        0.6552005894263871,
        0.3915167366835025,
        0.6942182190820344,
    ),
    "rossi": Known(
        1,
        (-0.18971108, -0.35073181, 0.10298283, -0.074122481, -0.14228762, -0.041235721, 0.26467487),
        0.27437284,
        0.7361111111111108,
        0.3051275337204023,
        0.6436992156310178,
    ),
}


@pytest.mark.parametrize("name", BY_LIFELINES)
def test_definitions_give_the_numbers_of_lifelines(name: str) -> None:
    known, table = BY_LIFELINES[name], REAL_SETS[name]()
    X, time, event = standardized(table.X), np.ceil(table.time / known.unit), table.event
    assert cox_coefficients(X, time, event) == pytest.approx(known.coefficients, abs=1e-6)
    assert breslow(X, time, event)[-1] == pytest.approx(known.baseline, abs=1e-6)
    middle = float(np.median(time))
    assert kaplan_meier(time, event, middle) == pytest.approx(known.alive, abs=1e-12)
    assert nelson_aalen(time, event, middle) == pytest.approx(known.hazard, abs=1e-12)
    predictor = np.round(X @ np.array(known.coefficients), 1)
    assert harrell(predictor, time, event) == pytest.approx(known.concordance, abs=1e-12)
