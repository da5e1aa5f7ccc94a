"""Models as arrays of a file, named by half: one model, or many of resampled cohorts as a few flat arrays.

Before version 3 arrays were named as if every model were linear; such names are still read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core.halves import Attribution, Mechanism
from ..core.layout import Layout
from ..core.linear import MOST_COLUMNS, LinearMechanism
from ..core.model import CausalModel
from ..nonlinear.attribution import BentAttribution
from ..nonlinear.mechanism import BentMechanism
from ..outcomes import ATTRIBUTIONS
from ..outcomes.binary import LogOddsAttribution

# The kinds of halves that files know, by the names of their headers: a new one is entered here.
MECHANISM_KINDS: dict[str, type[Mechanism]] = {kind.kind: kind for kind in (LinearMechanism, BentMechanism)}
ATTRIBUTION_KINDS: dict[str, type[Attribution]] = {
    **{kind.kind: kind for kind in ATTRIBUTIONS},
    BentAttribution.kind: BentAttribution,
}
MECHANISM, ATTRIBUTION, RESAMPLES = "mechanism_", "attribution_", "bootstrap_"
NAMED_BY_HALF_SINCE = 3
# Each becomes several objects: a file of a few bytes must not become millions of them.
MOST_RESAMPLES = 10_000


def kinds_of(model: CausalModel) -> dict[str, str]:
    """What a header says of the halves."""
    return {"mechanism": model.mechanism.kind, "attribution": model.attribution.kind}


def arrays_of(model: CausalModel) -> dict[str, np.ndarray]:
    """What :func:`model_from` makes the same model of."""
    return _named(MECHANISM, model.mechanism.arrays()) | _named(ATTRIBUTION, model.attribution.arrays())


def model_from(
    header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], layout: Layout | None = None
) -> CausalModel:
    """The model of a file of this header and layout; a ValueError says what does not fit."""
    mechanism, attribution = _halves(header)
    numbers = {name: arrays[MECHANISM + name] for name in mechanism.ARRAYS}
    first = mechanism.from_arrays(numbers, header["n_columns"])
    numbers = {name: arrays[ATTRIBUTION + name] for name in attribution.ARRAYS}
    if layout is not None and layout.n_columns != first.n_columns:
        raise ValueError("its variables and its columns do not fit together")
    model = CausalModel(first, attribution.from_arrays(numbers, first), layout)
    model.check_rules()
    return model


def pack(models: Sequence[CausalModel]) -> dict[str, np.ndarray]:
    """Flat arrays of models of one kind, of which :func:`unpack` makes the same models."""
    mechanism, attribution = type(models[0].mechanism), type(models[0].attribution)
    return {
        **_named(RESAMPLES + MECHANISM, mechanism.pack([one.mechanism for one in models])),
        **_named(RESAMPLES + ATTRIBUTION, attribution.pack([one.attribution for one in models])),
        f"{RESAMPLES}sizes": np.array([one.column_order.size for one in models]),
        f"{RESAMPLES}n_columns": np.array([models[0].n_columns]),
    }


def unpack(
    header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], layout: Layout | None = None
) -> list[CausalModel]:
    """Models from flat arrays, of one layout; a ValueError says what does not fit.

    To the last bit these are the models that were packed if linear algebra has one thread, as it had when
    they were learned.
    """
    mechanism, attribution = _halves(header)
    sizes, n_columns = (arrays[f"{RESAMPLES}{name}"] for name in ("sizes", "n_columns"))
    if any(array.ndim != 1 or array.dtype.kind != "i" for array in (sizes, n_columns)) or n_columns.size != 1:
        raise ValueError("the arrays of the resamples do not fit together")
    if not (1 <= sizes.size <= MOST_RESAMPLES and sizes.min() >= 0 and sizes.max() <= MOST_COLUMNS):
        raise ValueError("the numbers of variables in the resamples are out of range")
    numbers = {name: arrays[RESAMPLES + MECHANISM + name] for name in mechanism.PACKED}
    mechanisms = mechanism.unpack(numbers, sizes, int(n_columns[0]))
    numbers = {name: arrays[RESAMPLES + ATTRIBUTION + name] for name in attribution.PACKED}
    attributions = attribution.unpack(numbers, mechanisms)
    models = [CausalModel(*halves, layout) for halves in zip(mechanisms, attributions, strict=True)]
    for model in models:
        model.check_rules()
    return models


def model_names(version: int) -> set[str]:
    """Names of the arrays of one model in a file of this version."""
    if version < NAMED_BY_HALF_SINCE:
        return set(OLD_NAMES)
    return {
        prefix + name
        for prefix, kinds in ((MECHANISM, MECHANISM_KINDS), (ATTRIBUTION, ATTRIBUTION_KINDS))
        for kind in kinds.values()
        for name in kind.ARRAYS
    }


def packed_names(version: int) -> set[str]:
    """Names of the arrays of many models in a file of this version."""
    either = {f"{RESAMPLES}sizes", f"{RESAMPLES}n_columns"}
    if version < NAMED_BY_HALF_SINCE:
        return either | set(OLD_PACKED_NAMES)
    return either | {
        RESAMPLES + prefix + name
        for prefix, kinds in ((MECHANISM, MECHANISM_KINDS), (ATTRIBUTION, ATTRIBUTION_KINDS))
        for kind in kinds.values()
        for name in kind.PACKED
    }


# What was only ever linear, by the names of before: those of today.
OLD_NAMES = {name: MECHANISM + name for name in LinearMechanism.ARRAYS} | {"coef": f"{ATTRIBUTION}coef"}
OLD_PACKED_NAMES = {
    RESAMPLES + name: RESAMPLES + half + name
    for half, names in ((MECHANISM, LinearMechanism.PACKED), (ATTRIBUTION, LogOddsAttribution.PACKED))
    for name in names
}


def named_by_half(
    header: dict[str, Any], arrays: Mapping[str, np.ndarray]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a file of any version, as if this version had written them."""
    if header["version"] >= NAMED_BY_HALF_SINCE:
        return header, dict(arrays)
    today = OLD_NAMES | OLD_PACKED_NAMES
    renamed = {today.get(name, name): array for name, array in arrays.items()}
    if "intercept" in header:
        renamed[f"{ATTRIBUTION}intercept"] = np.array([float(header["intercept"])])
    return header | {"mechanism": LinearMechanism.kind, "attribution": LogOddsAttribution.kind}, renamed


def outcome_told_by(attribution: Any) -> str | None:
    """The name of the outcome that an attribution of this kind is of; None where the kind is not known."""
    known = attribution in list(ATTRIBUTION_KINDS)
    return ATTRIBUTION_KINDS[attribution].outcome if known else None


def is_seed(value: Any) -> bool:
    """Whether resamples can have been drawn with it."""
    return isinstance(value, int) and value >= 0


def _halves(header: Mapping[str, Any]) -> tuple[type[Mechanism], type[Attribution]]:
    mechanism, attribution = header["mechanism"], header["attribution"]
    if mechanism not in list(MECHANISM_KINDS) or attribution not in list(ATTRIBUTION_KINDS):
        raise ValueError("its mechanism or its attribution is of a kind that is not known here")
    return MECHANISM_KINDS[mechanism], ATTRIBUTION_KINDS[attribution]


def _named(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {prefix + name: array for name, array in arrays.items()}
