"""What a model file remembers of how the model was made, and whether that can be."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..outcomes import OUTCOMES
from ..outcomes.binary import BINARY
from .model_arrays import outcome_told_by
from .written_dates import ORDERS

# What every model says of how it was made, and pages and summaries read.
PROVENANCE = {
    "rootcausal": str,
    "backend": str,
    "parameters": dict,
    "rows": int,
    "columns": int,
    "exhausted": list,
    "adds_nothing": list,
    "separated": bool,
    "pairs_evaluated": int,
}


def checked_provenance(provenance: Any, p: int, attribution: Any) -> dict[str, Any]:
    """The same; ValueError, or what wrong types raise, where it cannot be that of a model of p variables."""
    for name, kind in PROVENANCE.items():
        if type(provenance[name]) is not kind:
            raise ValueError(f"its {name!r} is of another type")
    if provenance["columns"] != p:
        raise ValueError("its numbers of rows, cases and columns do not fit together")
    _check_outcome(provenance, attribution)
    left_out = [*provenance["exhausted"], *provenance["adds_nothing"]]
    if not all(isinstance(name, str) for name in left_out):
        raise ValueError("a name is not a text")
    patients = provenance.get("patients", 1)
    if type(patients) is not int or not 0 < patients <= provenance["rows"]:
        raise ValueError("its number of patients does not fit that of its rows")
    _check_reading(provenance.get("reading", {}))
    return provenance


def _check_outcome(provenance: dict[str, Any], attribution: Any) -> None:
    """What it remembers of its outcome is of the kind of outcome that its attribution is of."""
    outcome = provenance.get("outcome", BINARY.name)
    if outcome != outcome_told_by(attribution):
        raise ValueError("its attribution is not of the outcome that it remembers")
    OUTCOMES[outcome].check_facts(provenance)


def _check_reading(reading: Any) -> None:
    """How new patients are to be read: words for missing, and the days from which dates are counted."""
    if not (isinstance(reading, dict) and isinstance(reading.get("origins", {}), dict)):
        raise ValueError("it does not say how its table was read")
    words, origins = reading.get("na", []), reading.get("origins", {})
    if not (isinstance(words, list) and all(isinstance(word, str) for word in words)):
        raise ValueError("its words for missing are no texts")
    if not all(isinstance(day, str) for pair in origins.items() for day in pair):
        raise ValueError("its first days are no texts")
    np.array(list(origins.values()), dtype="datetime64[D]")
    later = reading.get("after", [])
    if not (isinstance(later, list) and all(isinstance(name, str) for name in later)):
        raise ValueError("its columns measured after the outcome are no texts")
    if not all(isinstance(reading.get(name, ""), str) for name in ("called", "unit")):
        raise ValueError("what it calls its outcome is no text")
    if not isinstance(reading.get("decimal_comma", False), bool):
        raise ValueError("it does not say whether commas are decimal ones")
    orders = reading.get("date_orders", {})
    if not (isinstance(orders, dict) and all(order in ORDERS for order in orders.values())):
        raise ValueError("it does not say how dates are written")
