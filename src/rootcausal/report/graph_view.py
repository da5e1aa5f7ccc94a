"""The learned graph among the ancestors of the outcome, and into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrows import SURE_FROM, Arrow, graph_of
from ..core.arrows import WEAKEST_EDGE
from ..core.model import CausalModel
from ..core.table import F64

if TYPE_CHECKING:
    from ..uncertainty.resample import Bootstrap

VARIABLES_DRAWN = 60


def graph_facts(
    model: CausalModel, values: F64, resamples: Bootstrap | None, names: Sequence[str]
) -> dict[str, Any]:
    """The most important variables in causal order, the arrows among them, and what each shock moves.

    ``total[j][i]``: by how many standard deviations variable i moves when the shock on j grows by one. An
    arrow whose effect is just beyond the last variable leads into the outcome.
    """
    important = np.argsort(-np.abs(values).mean(axis=0), kind="stable")[:VARIABLES_DRAWN]
    shown = np.sort(important)
    graph = graph_of(model, shown, resamples)
    assert graph.into_outcome is not None
    return {
        "shown": shown.tolist(),
        "edges": [_facts(arrow) for arrow in graph.edges],
        "into_outcome": [_facts(arrow) for arrow in graph.into_outcome],
        "tiers": [asdict(band) for band in graph.bands],
        "covariates": [names[variable] for variable in graph.covariates],
        "known": graph.known,
        "sure_from": SURE_FROM,
        "total": model.total_effects()[np.ix_(shown, shown)].T.tolist(),
        "weakest": WEAKEST_EDGE,
        "weakest_on_outcome": model.attribution.notable,
        "n_possible": int(shown.size * (shown.size - 1) // 2),
    }


def _facts(arrow: Arrow) -> dict[str, Any]:
    return {
        "cause": arrow.cause,
        "effect": arrow.effect,
        "weight": arrow.weight,
        "state": arrow.state,
        "said": arrow.said,
    }
