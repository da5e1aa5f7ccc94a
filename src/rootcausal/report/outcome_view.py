"""What the page knows of the outcome: how finely its scale is kept, and what happened to patients.

Its words are those of ``templates/outcomes.js``, which :meth:`Words.page` fills in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..explaining.graph import effect_intervals
from ..method.table import F64
from ..outcomes import OUTCOMES, Words
from ..outcomes.follow_up import Spans

if TYPE_CHECKING:
    from ..estimators.base import Estimator
    from ..explaining.explanation import Explanation

BARS = 20


def page_words(explanation: Explanation, units: Mapping[str, str], target: str | None) -> Words:
    """The words of the outcome of these patients; ``units`` may hold that of it, by name."""
    attribution = explanation._model.attribution.of_outcome
    outcome = OUTCOMES[attribution.outcome]
    return outcome.words(attribution, None, units.get(outcome.unit_name(target) or "", ""), {})


def outcome_facts(words: Words, explanation: Explanation) -> dict[str, Any]:
    """What the words on the page are made of, and from where predictors are counted, in which steps."""
    return {
        "kind": words.kind,
        "step": words.step,
        "origin": origin_of(words, explanation),
        **words.page(explanation.provenance),
    }


def origin_of(words: Words, explanation: Explanation) -> float:
    """From where the page counts predictors by level."""
    return 0.0 if words.is_chance else explanation.base_value


def outcome_blocks(explanation: Explanation, known: np.ndarray | None) -> dict[str, F64]:
    """Of every patient (n, m): intervals of predictions over resamples, and what happened, where known."""
    blocks = {}
    if explanation.predicted_interval is not None:
        blocks["predicted-interval"] = explanation.predicted_interval.T
    if known is not None and explanation._model.attribution.outcome == "survival":
        spans = Spans.of(known)
        others = 0.0 if spans.competing is None else 2.0 * spans.competing
        blocks["known"] = np.column_stack([spans.time, spans.event + others])
    elif known is not None:
        blocks["known"] = known.reshape(len(known), -1)
    return blocks


def effect_ends(words: Words, model: Estimator) -> list[list[float]] | None:
    """The ends of what a shock of one standard deviation adds, by the variables of the order."""
    if model.bootstrap_ is None or not words.effect_ends:
        return None
    ends = effect_intervals(model.bootstrap_, model.n_features_in_)
    return ends[:, model.causal_order_].T.tolist()


def predictions(words: Words, predicted: F64) -> dict[str, Any]:
    """How many patients (n,) have which prediction."""
    counts, edges = np.histogram(predicted, BARS, (0.0, 1.0) if words.is_chance else None)
    return {"counts": counts.tolist(), "edges": edges.tolist()}
