"""What a model remembers of how it was made, as people are told it. Older model files remember less."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Older files name the class that summed over the rows instead of the backend.
BACKEND_OF_CLASS = {"ReferenceRaw": "numpy", "NumbaRaw": "numba", "CupyRaw": "cupy", "DaskRaw": "dask"}


@dataclass(frozen=True)
class LeftOut:
    """Names of the variables outside the causal order, by reason.

    Attributes
    ----------
    independent : no sign that the disease depends on them.
    adds_nothing : associated with it, but not once earlier variables are known; None where an older file does
        not tell these two apart, and ``independent`` holds both.
    exhausted : wholly explained by earlier variables.
    """

    independent: list[str]
    adds_nothing: list[str] | None
    exhausted: list[str]


def left_out(names: Sequence[str], order: Collection[int], provenance: Mapping[str, Any]) -> LeftOut:
    """Sort the variables that are not in the causal order by why they are not."""
    exhausted, adds_nothing = set(provenance["exhausted"]), set(provenance.get("adds_nothing", ()))
    known, ordered = exhausted | adds_nothing, set(order)
    rest = [name for column, name in enumerate(names) if column not in ordered]
    return LeftOut(
        [name for name in rest if name not in known],
        [name for name in rest if name in adds_nothing] if "adds_nothing" in provenance else None,
        [name for name in rest if name in exhausted],
    )


def backend_used(provenance: Mapping[str, Any]) -> str:
    """Which backend summed over the rows."""
    if "backend" in provenance:
        return str(provenance["backend"])
    return BACKEND_OF_CLASS.get(provenance["table"], "unknown")
