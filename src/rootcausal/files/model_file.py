"""A fitted model in one file (see :mod:`rootcausal.files.array_archive`)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal, TypeVar

import numpy as np

from ..errors import InputError
from ..method.confounded_sets import Sets, check_sets
from ..method.layout import Layout
from ..method.missing.completion import Completion
from ..method.model import CausalModel
from ..method.model_parts import taken
from ..method.ordering.precedence import Precedence
from ..method.reference_ranges import STEPS, CohortQuantiles
from ..method.set_effects import SetEffects
from ..method.table import F64
from ..outcomes import OUTCOMES
from ..outcomes.binary import BINARY
from ..wording import plain
from .array_archive import (
    FITTED,
    RESAMPLES,
    FileKind,
    array_names,
    is_seed,
    kinds_of,
    outcome_told_by,
    pack,
    read_archive,
    unpack,
    write_archive,
)
from .cells import ORDERS

# Arrays that a file may lack, as one with the paper's attribution does.
QUANTILES = ("value_quantiles", "error_quantiles")
PROBABILITY = "ancestor_probability"
COMPLETION = ("completion_mean", "completion_columns", "completion_covariance")
NOISE = "completion_noise"
LIMITS = "completion_limits"
TAILS = "completion_tails"
SET_QUANTILES = "set_quantiles"
# Of the columns of covariates that are in the causal order.
ADJUSTED = "covariate_quantiles"
# Of rows of matched sets, by the fields of what they share.
SHARED = {f"shared_{field}": field for field in ("columns", "mean", "within", "between")}
OTHERS = {
    "margins",
    PROBABILITY,
    ADJUSTED,
    SET_QUANTILES,
    *QUANTILES,
    *COMPLETION,
    NOISE,
    LIMITS,
    TAILS,
    *SHARED,
}
# Each becomes an object: a file of a few bytes must not become millions of them.
MOST_VARIABLES = 1_000_000
# Of a variable; more are no levels.
MOST_LEVELS = 1000
Levels = tuple[Literal["number", "binary", "ordinal", "nominal"], tuple[str | float | bool, ...]]
MODEL = FileKind(
    format="rootcausal model",
    version=1,
    name="model file",
    what="a rootcausal model",
    arrays=lambda: array_names(FITTED) | array_names(RESAMPLES) | OTHERS,
    compressed=True,
)
LABEL_TYPES = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<U[0-9]{1,4}|\|O")
# By which interpolation may break the order of quantiles, beside the largest of them.
ROUNDING = 1e-9

Fitted = TypeVar("Fitted")


@dataclass(frozen=True, eq=False)
class SavedResamples:
    """Models of resampled cohorts, the seed, and how many of them did not settle."""

    models: tuple[CausalModel, ...]
    random_state: int
    unsettled: int


@dataclass(frozen=True, eq=False)
class SavedModel:
    """What a model file holds.

    Attributes
    ----------
    model : scores patients; q columns of p variables, k of which are in its causal order.
    margins : (k,) by how much each root won.
    ancestor_probability : (p,), or None with the paper's attribution.
    quantiles : of the cohort, or None where the model did not keep them.
    resamples : None without a bootstrap.
    classes : (2,) labels, the disease or the event second; empty where the outcome has none.
    n_variables : p, columns of the user's table.
    feature_names : (p,), or None where X had none.
    with_levels : kind and levels of the variables that are no numbers, by their places.
    completion : None where the model did not keep it.
    provenance : how the model was made.
    sets : of variables that are read as one.
    set_quantiles : (101, s) of their shocks in the cohort; None where there are no sets.
    shared : what rows of matched sets share; None where nothing is.
    """

    model: CausalModel
    margins: F64
    ancestor_probability: F64 | None
    quantiles: CohortQuantiles | None
    resamples: SavedResamples | None
    classes: np.ndarray
    n_variables: int
    feature_names: np.ndarray | None
    with_levels: Mapping[int, Levels]
    completion: Completion | None
    provenance: dict[str, Any]
    sets: Sets = ()
    set_quantiles: F64 | None = None
    shared: SetEffects | None = None


def write(path: str | PathLike[str], saved: SavedModel) -> None:
    """Write the model whole or not at all."""
    names = saved.feature_names
    header: dict[str, Any] = {
        **kinds_of(saved.model),
        "n_variables": saved.n_variables,
        "with_levels": [[place, kind, list(levels)] for place, (kind, levels) in saved.with_levels.items()],
        "feature_names": None if names is None else list(names),
        "classes": [checked_label(label) for label in saved.classes],
        "classes_type": saved.classes.dtype.newbyteorder("<").str,
        "provenance": saved.provenance,
        "merged_sets": [list(some) for some in saved.sets],
        "bootstrap": None,
    }
    arrays = pack([saved.model], FITTED) | {"margins": saved.margins}
    if saved.quantiles is not None:
        arrays |= zip(QUANTILES, (saved.quantiles.values, saved.quantiles.errors), strict=True)
        if saved.quantiles.adjusted.size:
            arrays[ADJUSTED] = saved.quantiles.adjusted
    if saved.ancestor_probability is not None:
        arrays[PROBABILITY] = saved.ancestor_probability
    if saved.sets and saved.set_quantiles is not None:
        arrays[SET_QUANTILES] = saved.set_quantiles
    if saved.completion is not None:
        kept = saved.completion
        arrays |= zip(COMPLETION, (kept.mean, kept.columns, kept.covariance), strict=True)
        if kept.noise is not None:
            arrays[NOISE] = kept.noise
        if kept.limits is not None:
            arrays[LIMITS] = kept.limits
        if kept.tails is not None:
            arrays[TAILS] = kept.tails
    if saved.shared is not None:
        arrays |= {name: getattr(saved.shared, field) for name, field in SHARED.items()}
    models = [saved.model]
    if saved.resamples is not None:
        header["bootstrap"] = {
            "random_state": saved.resamples.random_state,
            "unsettled": saved.resamples.unsettled,
        }
        arrays |= pack(saved.resamples.models)
        models += saved.resamples.models
    try:
        for model in models:
            model.check()
    except ValueError as error:
        raise InputError(f"this model could not be read back, so it is not saved: {error}") from error
    write_archive(path, MODEL, header, arrays)


def checked_label(label: Any) -> Any:
    if isinstance(label, np.datetime64 | np.timedelta64) or not is_label(plain(label)):
        raise InputError(
            f"a model with the label {label!r} cannot be saved: use text, numbers or booleans as labels"
        )
    return plain(label)


def is_label(label: Any) -> bool:
    return isinstance(label, str | int) or (isinstance(label, float) and math.isfinite(label))


def read(
    path: str | PathLike[str],
    make: Callable[[SavedModel], Fitted],
    known: Callable[[Any, Sequence[str]], Precedence | None],
) -> Fitted:
    """Read a model; a file that is damaged, not ours, or of another version is an InputError.

    ``make`` raises ValueError, or what wrong types raise, where the parameters are none; so does ``known``,
    which takes what was known of the causal order and the names of the variables. For resamples to come back
    to the last bit, linear algebra has to have one thread (see :func:`.array_archive.unpack`).
    """

    def restored(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Fitted:
        return make(_restore(header, arrays, known))

    return read_archive(path, MODEL, restored)


def _restore(
    header: dict[str, Any],
    arrays: dict[str, np.ndarray],
    known: Callable[[Any, Sequence[str]], Precedence | None],
) -> SavedModel:
    q, p = header["n_columns"], header["n_variables"]
    if type(q) is not int or type(p) is not int or not 0 < p <= min(q, MOST_VARIABLES):
        raise ValueError("its number of columns is none")
    with_levels = checked_levels(header["with_levels"], p)
    described = [with_levels.get(place, ("number", ())) for place in range(p)]
    layout = Layout.of_variables([levels for _, levels in described], [k == "nominal" for k, _ in described])
    if layout.n_columns != q:
        raise ValueError("its variables and its columns differ in number")
    provenance = checked_provenance(header["provenance"], p, header["attribution"])
    names = None if header["feature_names"] is None else checked_names(header["feature_names"], p)
    called = [f"x{place}" for place in range(p)] if names is None else names.tolist()
    layout = layout.knowing(known(provenance["parameters"].get("knowledge"), called))
    model, *others = unpack(header, arrays, layout, FITTED)
    if others:
        raise ValueError("it holds several models")
    sets = _sets(header["merged_sets"], model)
    adjusted = 0 if model.layout is None else int(model.layout.covariate[model.column_order].sum())
    _check_shapes(arrays, model.order.size, p, len(sets), adjusted)
    _check_numbers(arrays)
    return SavedModel(
        model=model,
        margins=arrays["margins"],
        ancestor_probability=arrays.get(PROBABILITY),
        quantiles=_quantiles(arrays),
        resamples=_resamples(header, arrays, layout),
        classes=_classes(header["classes"], header["classes_type"], model.attribution.outcome),
        n_variables=p,
        feature_names=names,
        with_levels=with_levels,
        completion=checked_completion(arrays, q),
        provenance=provenance,
        sets=sets,
        set_quantiles=arrays.get(SET_QUANTILES),
        shared=_shared(arrays, q, model.attribution.outcome),
    )


def _sets(described: Any, model: CausalModel) -> Sets:
    """Variables that are read as one; ValueError where these cannot be sets of the model's."""
    if type(described) is not list or not all(type(some) is list for some in described):
        raise ValueError("its sets are none")
    sets = tuple(map(tuple, described))
    check_sets(sets, model.order)
    return sets


def _quantiles(arrays: dict[str, np.ndarray]) -> CohortQuantiles | None:
    if QUANTILES[0] not in arrays:
        return None
    found = [arrays[name] for name in (*QUANTILES, ADJUSTED) if name in arrays]
    return CohortQuantiles(*found)


def _check_shapes(arrays: dict[str, np.ndarray], k: int, p: int, s: int, a: int) -> None:
    expected: dict[str, tuple[int, ...]] = {"margins": (k,)}
    if PROBABILITY in arrays:
        expected[PROBABILITY] = (p,)
    if any(name in arrays for name in QUANTILES):
        expected |= dict.fromkeys(QUANTILES, (STEPS, k))
    if ADJUSTED in arrays:
        expected[ADJUSTED] = (STEPS, a)
    if s or SET_QUANTILES in arrays:
        expected[SET_QUANTILES] = (STEPS, s)
    for name, shape in expected.items():
        if arrays[name].shape != shape or arrays[name].dtype.kind != "f":
            raise ValueError(f"array {name} has the wrong shape or type")


def _check_numbers(arrays: dict[str, np.ndarray]) -> None:
    """Raise ValueError where numbers beside the model itself are not what they should be."""
    if np.isnan(arrays["margins"]).any():
        raise ValueError("a margin is not a number")
    probability: F64 = arrays.get(PROBABILITY, np.zeros(0))
    if not ((probability >= 0) & (probability <= 1)).all():
        raise ValueError("a probability is not between 0 and 1")
    for name in (*QUANTILES, ADJUSTED, SET_QUANTILES):
        quantiles: F64 = arrays.get(name, np.zeros((STEPS, 0)))
        if not np.isfinite(quantiles).all():
            raise ValueError("a quantile is not a number")
        if not (np.diff(quantiles, axis=0) >= -ROUNDING * np.abs(quantiles).max(axis=0)).all():
            raise ValueError("quantiles are not in order")


def checked_levels(described: Any, p: int) -> dict[int, Levels]:
    """Kind and levels by variable; ValueError where they cannot be those of a cohort."""
    found: dict[int, Levels] = {}
    last = -1
    for place, kind, levels in described:
        if type(place) is not int or not last < place < p:
            raise ValueError("its variables with levels are not in order")
        if kind not in ("binary", "ordinal", "nominal") or type(levels) is not list:
            raise ValueError("a variable is of a kind that is not known here")
        if not 2 <= len(levels) <= MOST_LEVELS or (kind == "binary" and len(levels) != 2):
            raise ValueError("a variable has too few or too many levels")
        types = {type(level) for level in levels}
        if len(types) > 1 or types - {str, float, bool} or len(set(levels)) < len(levels):
            raise ValueError("the levels of a variable are no texts, numbers or truth values that differ")
        if types == {float} and not all(map(math.isfinite, levels)):
            raise ValueError("a level is not a number")
        if types != {str} and kind != "nominal" and sorted(levels) != levels:
            raise ValueError("levels are not in order")
        found[place], last = (kind, tuple(levels)), place
    return found


def checked_completion(arrays: dict[str, np.ndarray], q: int) -> Completion | None:
    if not any(name in arrays for name in (*COMPLETION, NOISE, LIMITS, TAILS)):
        return None
    m = arrays[COMPLETION[1]].size
    columns = taken(arrays, COMPLETION[1], m, whole=True)
    mean, covariance = taken(arrays, COMPLETION[0], q), taken(arrays, COMPLETION[2], m, m)
    if m and not (columns[0] >= 0 and columns[-1] < q and (np.diff(columns) > 0).all()):
        raise ValueError("the columns of its completion are out of range")
    if not (np.isfinite(mean).all() and np.isfinite(covariance).all()):
        raise ValueError("a number of its completion is none")
    sd = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    if not (np.diagonal(covariance) > 0).all() or (covariance != covariance.T).any():
        raise ValueError("the covariance of its completion is none")
    if (np.abs(covariance) > (1 + ROUNDING) * np.outer(sd, sd)).any():
        raise ValueError("the covariance of its completion is none")
    np.linalg.cholesky(covariance / np.outer(sd, sd))  # a ValueError where it has no inverse
    noise = taken(arrays, NOISE, m) if NOISE in arrays else None
    if noise is not None and not (np.isfinite(noise).all() and (noise >= 0).all() and noise.any()):
        raise ValueError("the noise of its completion is none")
    limits = taken(arrays, LIMITS, 2, m) if LIMITS in arrays else None
    if limits is not None and not ((limits[0] < limits[1]).all() and np.isfinite(limits).any()):
        raise ValueError("the limits of its completion are none")
    tails = taken(arrays, TAILS, 2, 2, m) if TAILS in arrays else None
    if tails is not None and not (
        limits is not None and np.isfinite(tails).all() and (tails[:, 1] >= 0).all()
    ):
        raise ValueError("the tails of its completion are none")
    return Completion(mean, columns, covariance, noise, limits, tails)


def _shared(arrays: dict[str, np.ndarray], q: int, outcome: str) -> SetEffects | None:
    if not any(name in arrays for name in SHARED):
        return None
    d = arrays["shared_columns"].size
    columns, mean = taken(arrays, "shared_columns", d, whole=True), taken(arrays, "shared_mean", d)
    within, between = (taken(arrays, name, d, d) for name in ("shared_within", "shared_between"))
    if outcome != "matched" or (
        d and not (columns[0] >= 0 and columns[-1] < q and (np.diff(columns) > 0).all())
    ):
        raise ValueError("what its sets share is out of range")
    for covariance in (within, between):
        if not (
            np.isfinite(mean).all() and np.isfinite(covariance).all() and (np.diagonal(covariance) > 0).all()
        ):
            raise ValueError("a number of what its sets share is none")
    return SetEffects(columns.astype(np.intp), mean, within, between)


def checked_names(names: Any, p: int) -> np.ndarray:
    if type(names) is not list or not all(isinstance(name, str) for name in names):
        raise ValueError("names of columns are no texts")
    if len(names) != p or len(set(names)) != p:
        raise ValueError("names and columns differ in number")
    return np.array(names, dtype=object)


def _classes(labels: Any, kind: Any, outcome: str) -> np.ndarray:
    expected = OUTCOMES[outcome].labels
    if expected == 0:
        if labels != []:
            raise ValueError("its number has classes")
        return np.empty(0)
    if type(labels) is not list or not all(map(is_label, labels)):
        raise ValueError("its classes are no labels")
    if len(labels) != expected if expected is not None else not 2 <= len(labels) <= MOST_LEVELS:
        raise ValueError("its classes are too few or too many")
    # Other types, which only texts can have: whatever type the labels call for.
    known = isinstance(kind, str) and LABEL_TYPES.fullmatch(kind)
    classes = np.array(labels, dtype=kind if known else None)
    if classes.tolist() != labels or len(set(labels)) < len(labels):
        raise ValueError("its classes are no labels that differ")
    return classes


def _resamples(
    header: dict[str, Any], arrays: dict[str, np.ndarray], layout: Layout
) -> SavedResamples | None:
    about = header["bootstrap"]
    if about is None:
        if any(name in arrays for name in array_names(RESAMPLES)):
            raise ValueError("it does not say where its resamples come from")
        return None
    models = unpack(header, arrays, layout)
    if not is_seed(about["random_state"]):
        raise ValueError("the seed of its resamples is none")
    unsettled = about["unsettled"]
    if unsettled not in range(len(models) + 1):
        raise ValueError("the number of its resamples that did not converge is out of range")
    return SavedResamples(tuple(models), about["random_state"], int(unsettled))


# --- how the model was made, and whether that can be --------------------------------------------------------

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
    checked_reading(provenance.get("reading", {}))
    reliability = provenance.get("reliability", {})
    if type(reliability) is not dict or not all(
        type(share) is float and 0.0 < share < 1.0 for share in reliability.values()
    ):
        raise ValueError("its reliabilities are none")
    for one in provenance.get("limits", {}).values():
        if not all(isinstance(text, str) for text in one["said"]) or type(one["cells"]) is not int:
            raise ValueError("its limits of detection are none")
    return provenance


def _check_outcome(provenance: dict[str, Any], attribution: Any) -> None:
    """What it remembers of its outcome is of the kind of outcome that its attribution is of."""
    outcome = provenance.get("outcome", BINARY.name)
    if outcome != outcome_told_by(attribution):
        raise ValueError("its attribution is not of the outcome that it remembers")
    OUTCOMES[outcome].check_facts(provenance)


def checked_reading(reading: Any) -> None:
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
    groups = reading.get("groups", {"positive": [], "negative": []})
    some = [groups["positive"], groups["negative"]]
    if not all(isinstance(texts, list) and all(isinstance(text, str) for text in texts) for texts in some):
        raise ValueError("the labels of its groups are no texts")
    if not isinstance(reading.get("decimal_comma", False), bool):
        raise ValueError("it does not say whether commas are decimal ones")
    orders = reading.get("date_orders", {})
    if not (isinstance(orders, dict) and all(order in ORDERS for order in orders.values())):
        raise ValueError("it does not say how dates are written")
