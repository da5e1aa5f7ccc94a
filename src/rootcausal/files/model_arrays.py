"""Models of one kind as flat arrays of a file, named by the part of the model that they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..method.layout import Layout
from ..method.linear import MOST_COLUMNS, LinearMechanism
from ..method.model import CausalModel
from ..method.model_parts import Attribution, Mechanism
from ..method.schema import Part, flattened, names_of, taken, unflattened
from ..nonlinear.attribution import nonlinear_kind
from ..nonlinear.mechanism import NonlinearMechanism
from ..outcomes import OUTCOMES

# The kinds of parts that files know, by the names of their headers: a new one is entered here.
MECHANISM_KINDS: dict[str, type[Mechanism]] = {
    kind.kind: kind for kind in (LinearMechanism, NonlinearMechanism)
}
ATTRIBUTION_KINDS: dict[str, type[Attribution]] = {
    **{one.attribution.kind: one.attribution for one in OUTCOMES.values()},
    **{(kind := nonlinear_kind(one.attribution)).kind: kind for one in OUTCOMES.values()},
}
# Arrays of the model itself, which are whole, and those of resamples.
FITTED, RESAMPLES = "", "bootstrap_"
MECHANISM, ATTRIBUTION, SIZES = "mechanism_", "attribution_", "sizes"
# Each becomes several objects: a file of a few bytes must not become millions of them.
MOST_RESAMPLES = 10_000


def kinds_of(model: CausalModel) -> dict[str, Any]:
    """What a header says of the parts."""
    return {
        "n_columns": model.n_columns,
        "mechanism": model.mechanism.kind,
        "attribution": model.attribution.kind,
    }


def pack(models: Sequence[CausalModel], prefix: str = RESAMPLES) -> dict[str, np.ndarray]:
    """Flat arrays of models of one kind, of which :func:`unpack` makes the same models."""
    parts = {
        MECHANISM: flattened([one.mechanism for one in models], all_of_it=prefix == FITTED),
        ATTRIBUTION: flattened([one.attribution for one in models], all_of_it=prefix == FITTED),
    }
    packed = {prefix + part + name: array for part, some in parts.items() for name, array in some.items()}
    return packed | {prefix + SIZES: np.array([one.column_order.size for one in models])}


def unpack(
    header: Mapping[str, Any],
    arrays: Mapping[str, np.ndarray],
    layout: Layout | None = None,
    prefix: str = RESAMPLES,
) -> list[CausalModel]:
    """Models from flat arrays, of one layout; a ValueError says what does not fit.

    To the last bit resamples are the models that were packed if linear algebra has one thread, as it had when
    they were learned.
    """
    mechanism, attribution = _kinds(header)
    sizes = taken(arrays, prefix + SIZES, arrays[prefix + SIZES].size, whole=True)
    if not (1 <= sizes.size <= MOST_RESAMPLES and sizes.min() >= 0 and sizes.max() <= MOST_COLUMNS):
        raise ValueError("the numbers of variables in its models are out of range")

    def fields_of(part: str, kind: type[Mechanism] | type[Attribution]) -> list[dict[str, Any]]:
        named = {name: arrays[prefix + part + name] for name in names_of(kind, all_of_it=prefix == FITTED)}
        return unflattened(kind, named, sizes, all_of_it=prefix == FITTED)

    models = []
    for one, other in zip(fields_of(MECHANISM, mechanism), fields_of(ATTRIBUTION, attribution), strict=True):
        first = mechanism.of_fields(one, header["n_columns"])
        model = CausalModel(first, attribution.of_fields(other, first), layout)
        model.check()
        models.append(model)
    return models


def array_names(prefix: str) -> set[str]:
    """Of all arrays that models of any kind can have."""
    known: list[tuple[str, type[Part]]] = [(MECHANISM, kind) for kind in MECHANISM_KINDS.values()]
    known += [(ATTRIBUTION, kind) for kind in ATTRIBUTION_KINDS.values()]
    return {prefix + SIZES} | {
        prefix + part + name for part, kind in known for name in names_of(kind, all_of_it=prefix == FITTED)
    }


def outcome_told_by(attribution: Any) -> str | None:
    """The name of the outcome that an attribution of this kind is of; None where the kind is not known."""
    known = attribution in list(ATTRIBUTION_KINDS)
    return ATTRIBUTION_KINDS[attribution].outcome if known else None


def is_seed(value: Any) -> bool:
    """Whether resamples can have been drawn with it."""
    return isinstance(value, int) and value >= 0


def _kinds(header: Mapping[str, Any]) -> tuple[type[Mechanism], type[Attribution]]:
    mechanism, attribution = header["mechanism"], header["attribution"]
    if mechanism not in list(MECHANISM_KINDS) or attribution not in list(ATTRIBUTION_KINDS):
        raise ValueError("its mechanism or its attribution is of a kind that is not known here")
    return MECHANISM_KINDS[mechanism], ATTRIBUTION_KINDS[attribution]
