"""The learned graph among the ancestors of the outcome, and into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from ..explaining.graph import SURE_FROM, Arrow, graph_of
from ..method.arrows import WEAKEST_EDGE
from ..method.model import CausalModel
from ..method.model_parts import LINEAR
from ..method.quantiles import CohortQuantiles
from ..method.table import F64, Index

if TYPE_CHECKING:
    from ..resampling.bootstrap import Bootstrap

VARIABLES_DRAWN = 60
CURVE_POINTS = 25
# Where the model does not know how its cohort is spread, a curve goes this many SDs to either side.
REACH = 2.5


def graph_facts(
    model: CausalModel,
    values: F64,
    resamples: Bootstrap | None,
    names: Sequence[str],
    quantiles: CohortQuantiles | None,
) -> dict[str, Any]:
    """The most important variables in causal order, the arrows among them, and what each shock moves.

    ``total[j][i]``: by how many standard deviations variable i moves when the shock on j grows by one. An
    arrow whose effect is just beyond the last variable leads into the outcome. Where relations are nonlinear,
    arrows have their curves, over what nearly all of the cohort has by its ``quantiles``.
    """
    important = np.argsort(-np.abs(values).mean(axis=0), kind="stable")[:VARIABLES_DRAWN]
    shown = np.sort(important)
    graph = graph_of(model, shown, resamples)
    assert graph.into_outcome is not None
    bends = any(form != LINEAR for form in model.forms()) or not model.attribution.proportional

    def facts(arrow: Arrow) -> dict[str, Any]:
        curve = _curve(model, shown, arrow, quantiles) if bends else None
        return _facts(arrow) | ({} if curve is None else {"curve": curve})

    return {
        "shown": shown.tolist(),
        "edges": [facts(arrow) for arrow in graph.edges],
        "into_outcome": [facts(arrow) for arrow in graph.into_outcome],
        "tiers": [asdict(band) for band in graph.bands],
        "covariates": [names[variable] for variable in graph.covariates],
        "known": graph.known,
        "sure_from": SURE_FROM,
        "total": model.total_effects()[np.ix_(shown, shown)].T.tolist(),
        "weakest": WEAKEST_EDGE,
        "weakest_on_outcome": model.attribution.notable,
        "n_possible": int(shown.size * (shown.size - 1) // 2),
    }


def _curve(
    model: CausalModel, shown: Index, arrow: Arrow, quantiles: CohortQuantiles | None
) -> dict[str, Any] | None:
    """What the cause does to the effect, in standard units: points of a curve, and the spread around it.

    None where one of them has levels without an order.
    """
    cause = int(shown[arrow.cause])
    if np.isnan(model.scale[cause]):
        return None
    low, high = -REACH, REACH
    if quantiles is not None:
        mean, sd = model.location(cause)
        low, high = ((quantiles.values[[1, -2], cause] - mean) / sd).tolist()
    z = np.linspace(low, high, CURVE_POINTS)
    if arrow.effect == shown.size:
        added = model.outcome_curve(cause, z)
        return None if added is None else {"y": _rounded(added), "spread": None, "form": ""}
    effect = int(shown[arrow.effect])
    curve = model.arrow_curve(cause, effect, z)
    if curve is None:
        return None
    return {"y": _rounded(curve.expected), "spread": _rounded(curve.spread), "form": model.forms()[effect]}


def _rounded(values: F64) -> list[float]:
    return np.round(values, 4).tolist()


def _facts(arrow: Arrow) -> dict[str, Any]:
    return {
        "cause": arrow.cause,
        "effect": arrow.effect,
        "weight": arrow.weight,
        "state": arrow.state,
        "said": arrow.said,
    }
