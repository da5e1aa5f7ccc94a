"""Is the risk by the horizon that the model states the one that is observed, allowing for who left before?"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from ..core.table import F64, LARGEST_LOG_HAZARD
from ..outcomes.survival import HazardAttribution
from ..wording import percent
from .checked import Checked
from .diagnosis import Check
from .link import Groups, calibration, parts_of
from .plain_fit import PlainHazard

# Standard errors to either side of a 95% interval.
INTERVAL = 1.96


def check_risk_by_horizon(checked: Checked) -> Check:
    """Risks in groups of patients against Kaplan and Meier's."""
    hazard, known = checked.model.attribution, checked.known
    assert isinstance(hazard, HazardAttribution) and known is not None
    time, event = known.T
    if time.max() < hazard.horizon:  # of patients who are known for less long than those of the fit
        hazard = hazard.with_horizon(float(time.max()))
    predictor, allowing = checked.stated, f" of the event until time {hazard.horizon:,g}"
    if checked.of_fit:
        predictor = spread_out(predictor, hazard, time, event)
        allowing += ", with the shrinkage of the fit undone"
    groups = groups_of(predictor, hazard, time, event)
    worst = groups.worst
    reach = INTERVAL * float(groups.error[worst])
    low, high = (float(np.clip(groups.observed[worst] + side * reach, 0.0, 1.0)) for side in (-1.0, 1.0))
    happened = (
        f"{groups.observed[worst]:.0%} had the event (Kaplan-Meier; 95% interval {percent(low)} to "
        f"{percent(high)})"
    )
    return calibration(groups, time.size, allowing, happened)


def groups_of(predictor: F64, hazard: HazardAttribution, time: F64, event: F64) -> Groups:
    """Of patients who were followed until some time, with or without the event."""
    risk = hazard.predicted(predictor)
    by_horizon = event * (time <= hazard.horizon)
    # A patient without the event by then tells as much, if followed until then.
    n_telling = int((by_horizon + (time > hazard.horizon)).sum())
    group, size = parts_of(risk, n_telling)
    stated = np.bincount(group, risk) / size
    expected = np.bincount(group, expected_events(predictor, hazard, time))
    found = [kaplan_meier(time[group == g], event[group == g], hazard.horizon) for g in range(size.size)]
    alive, variance = np.array(found).reshape(-1, 2).T
    # Where few had the event by chance, their own spread says too little: at least that of those expected.
    cumulative = -np.log(np.maximum(1.0 - stated, 1e-12))
    least = ((1.0 - stated) * cumulative) ** 2 / np.maximum(expected, 1e-12)
    return Groups(size, stated, 1.0 - alive, np.sqrt(np.maximum(np.maximum(variance, least), 1e-12 / size)))


def expected_events(predictor: F64, hazard: HazardAttribution, time: F64) -> F64:
    """(n,) that the model expects of each patient while followed, until the horizon."""
    until = np.interp(np.minimum(time, hazard.horizon), hazard.edges, hazard.cumulative)
    return np.exp(np.minimum(predictor, LARGEST_LOG_HAZARD)) * until


def kaplan_meier(time: F64, event: F64, at: float) -> tuple[float, float]:
    """Share without the event until then, and its variance (Greenwood)."""
    times, place = np.unique(time, return_inverse=True)
    events = np.bincount(place, event, times.size)
    at_risk = time.size - np.cumsum(np.bincount(place, minlength=times.size)) + np.bincount(place)
    seen = (times <= at) & (events > 0)
    d, n = events[seen], at_risk[seen]
    alive = float(np.prod(1.0 - d / n))
    left = n > d
    return alive, alive**2 * float((d[left] / (n[left] * (n[left] - d[left]))).sum())


def spread_out(predictor: F64, hazard: HazardAttribution, time: F64, event: F64) -> F64:
    """The same log-hazards, spread as far as these times would have it (see :func:`.link.spread_out`)."""
    spread = float(predictor.std())
    if spread == 0.0:
        return predictor
    fit = PlainHazard.of((predictor / spread)[:, None], time, event)
    slope = float(fit.coef[0]) / spread
    if fit.separated or slope <= 1.0:
        return predictor
    wider, mean = slope * (predictor - predictor.mean()), float(hazard.predicted(predictor).mean())
    return wider + brentq(lambda shift: float(hazard.predicted(wider + shift).mean()) - mean, -1e3, 1e3)
