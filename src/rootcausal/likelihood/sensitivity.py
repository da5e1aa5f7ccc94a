"""How strong a hidden common cause of a variable and of the outcome would have to be (sensitivity analysis).

What it would take: the robustness value is the share of what is left of both, the variable and the outcome,
that it would have to explain (Cinelli & Hazlett 2020); the E-value is the risk ratio that it would have to
have with both (VanderWeele & Ding 2017). Both are of what a shock of one standard deviation does by all ways,
without a prior. Whether it is there they cannot tell; beside what little such a cause leaves in the shock
itself (:mod:`.traces`) they tell false causes from true ones better than by chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from ..method.model import CausalModel
from ..method.weighted import rows_that_tell
from .effects import Effects

LEVEL = 0.05
# An odds ratio, or a hazard ratio, is about a risk ratio where so few have the outcome.
RARE = 0.15
# Of causes named in cohorts with one to three hidden causes, the log-odds of being true by the logarithms of
# robustness value, negentropy and 1 + bend, and the least of the first two that counts: a logistic regression
# (of the cohorts of benchmarks/sensitivity.py with seeds from 50,000 on).
TOLD_BY, BASE = (0.92, 1.01, -0.81), 8.16
LEAST_ROBUSTNESS, LEAST_NEGENTROPY = 5e-3, 1e-5
# A risk ratio for a difference of one standard deviation of a number (Chinn 2000; VanderWeele & Ding 2017).
OF_ONE_SD = 0.91


@dataclass(frozen=True)
class Strength:
    """What a hidden common cause of one column and of the outcome would need.

    Attributes
    ----------
    to_zero, to_p : robustness values: the share of what is left of both that it would have to explain for the
        effect to be zero, and for p to be 0.05.
    e_value, e_value_limit : the same as a risk ratio with both, for the effect to be none, and for the 95 %
        interval to hold none.
    like : the column, of those that act on this one, to which such a cause would be nearest in strength; -1
        where none does.
    times : how many times as strong as that column it would have to be, with both.
    true_share : of causes whose shocks are like this one, how many are true where there are hidden causes;
        NaN of levels, and where p is above 0.05.
    """

    to_zero: float
    to_p: float
    e_value: float
    e_value_limit: float
    like: int
    times: float
    true_share: float


#: Of what has no effect without a prior.
NO_STRENGTH = Strength(math.nan, math.nan, math.nan, math.nan, -1, math.inf, math.nan)


def robustness(f: float) -> float:
    """The robustness value of an effect whose partial Cohen's f with the outcome is this."""
    if f <= 0.0:
        return 0.0
    return 0.5 * (math.sqrt(f**4 + 4.0 * f**2) - f**2)


def e_value(log_ratio: float) -> float:
    """The E-value of a risk ratio, given as its logarithm, whichever way it goes."""
    ratio = math.exp(min(abs(log_ratio), 300.0))
    return ratio + math.sqrt(ratio * (ratio - 1.0))


def strengths(effects: Effects, model: CausalModel, made: Mapping[str, Any]) -> dict[int, Strength]:
    """By column, of those with an effect of their own shock; ``made`` is how the model was made."""
    order, covariates = model.column_order.tolist(), set(model.covariates.tolist())
    variable = range(model.n_columns) if model.layout is None else model.layout.variable.tolist()
    freedom = rows_that_tell({**made, "rows": effects.rows}) - model.n_columns - 1.0
    if effects.none or freedom <= 1.0:
        return {}
    with np.errstate(divide="ignore", invalid="ignore"):  # of what other columns explain there is no error
        f = np.abs(effects.total / effects.total_error) / math.sqrt(freedom)
    at_level = float(stdtrit(freedom - 1.0, 1.0 - LEVEL / 2.0)) / math.sqrt(freedom - 1.0)
    moved, found = model.mechanism.total_effects(), dict[int, Strength]()
    for place, column in enumerate(order):
        if variable[column] in covariates or not math.isfinite(f[column]):
            continue
        own = float(f[column])
        like, times = _benchmark(own, f[order[:place]], moved[place, : place + 1])
        effect, reach = float(effects.total[column]), 1.96 * float(effects.total_error[column])
        nearest = max(abs(effect) - reach, 0.0)
        found[column] = Strength(
            robustness(own),
            robustness(own - at_level),
            e_value(_as_risk_ratio(effect, model, made)),
            e_value(_as_risk_ratio(nearest, model, made)),
            order[like] if like >= 0 else -1,
            times,
            math.nan
            if own <= at_level  # as good as nothing is known of it
            else true_share(robustness(own), float(effects.bend[column]), float(effects.negentropy[column])),
        )
    return found


def true_share(to_zero: float, bend: float, negentropy: float) -> float:
    """How many of the causes with these values are true, where hidden causes act as well; NaN if unknown."""
    known = (
        math.log(max(to_zero, LEAST_ROBUSTNESS)),
        math.log(max(negentropy, LEAST_NEGENTROPY)) if negentropy == negentropy else math.nan,
        math.log1p(bend),
    )
    log_odds = BASE + sum(weight * value for weight, value in zip(TOLD_BY, known, strict=True))
    return 1.0 / (1.0 + math.exp(-log_odds))


def _benchmark(f: float, earlier: np.ndarray, moved: np.ndarray) -> tuple[int, float]:
    """Which of the earlier columns such a cause would be nearest to in strength, and how many times it.

    A cause that explains k times as much as a column of both, variable and outcome, of what is left of them,
    takes the effect away where k √(a b / (1 − k b)) = f; a and b are the squares of that column's partial
    Cohen's f with the two.

    Parameters
    ----------
    f : of the column with the outcome.
    earlier : (m,) the same of columns before it.
    moved : (m + 1,) by how much their shocks, and last its own, move the column.
    """
    best, times = -1, math.inf
    for place, with_outcome in enumerate(earlier.tolist()):
        a, b = with_outcome**2, float(moved[place] / moved[-1]) ** 2
        if not (math.isfinite(a) and a * b > 0.0):
            continue
        k = f * (math.sqrt(f**2 * b**2 + 4.0 * a * b) - f * b) / (2.0 * a * b)
        if k < times:
            best, times = place, k
    return best, times


def _as_risk_ratio(effect: float, model: CausalModel, made: Mapping[str, Any]) -> float:
    """The logarithm of about the risk ratio that an effect comes to (VanderWeele 2017)."""
    kind, rows = model.attribution.outcome, made["rows"]
    if kind == "continuous":  # notable is a tenth of a standard deviation
        return OF_ONE_SD * 0.1 * effect / model.attribution.notable
    if kind in ("count", "matched"):  # a rate ratio is one; sets are matched where an outcome is rare
        return effect
    share = made["parameters"].get("prevalence") or made.get("cases", made.get("events", rows)) / rows
    if share <= RARE:
        return effect
    if kind == "survival":
        root = math.exp(0.5 * min(abs(effect), 100.0))
        return math.log(-math.expm1(-math.log(2.0) * root) / -math.expm1(-math.log(2.0) / root))
    return 0.5 * effect
