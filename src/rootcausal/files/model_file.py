"""A fitted model in one file (see :mod:`rootcausal.files.array_archive`).

Version 2 adds the checksum, and the type of the labels; version 1 is still read.
"""

from __future__ import annotations

import math
import re
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.model import CausalModel
from ..core.model_checks import check_model
from ..core.quantiles import STEPS, CohortQuantiles
from ..core.table import F64
from ..errors import InputError
from ..uncertainty.resample import Bootstrap
from ..uncertainty.resample_file import MEMBERS, PREFIX, is_seed, pack, unpack
from ..wording import plain
from .array_archive import FileKind, read_archive, write_archive

if TYPE_CHECKING:
    from ..estimator import RCI

ARRAYS = ("order", "mean", "sd", "mixing", "unmixing", "coef", "margins")
# Arrays that a file may lack: those written before they existed, or with the paper's attribution.
QUANTILES = ("value_quantiles", "error_quantiles")
PROBABILITY = "ancestor_probability"
RESAMPLED = tuple(PREFIX + name for name in MEMBERS)
MODEL = FileKind(
    format="rootcausal model",
    version=2,
    oldest=1,
    name="model file",
    what="a rootcausal model",
    arrays=(*ARRAYS, PROBABILITY, *QUANTILES, *RESAMPLED),
    compressed=True,
)
# What every model says of how it was made, and pages and summaries read.
PROVENANCE = {
    "rootcausal": str,
    "parameters": dict,
    "rows": int,
    "cases": int,
    "columns": int,
    "exhausted": list,
    "separated": bool,
    "pairs_evaluated": int,
}
LABEL_TYPES = re.compile(r"\|b1|\|[iu]1|<[iu][248]|<f[248]|<U[0-9]{1,4}|\|O")
# By which interpolation may break the order of quantiles, beside the largest of them.
ROUNDING = 1e-9


def write(path: str | PathLike[str], model: RCI) -> None:
    """Write the model whole or not at all."""
    inner = model._model
    header: dict[str, Any] = {
        "n_columns": inner.n_columns,
        "intercept": inner.intercept,
        "feature_names": list(model.feature_names_in_) if hasattr(model, "feature_names_in_") else None,
        "classes": [_label(label) for label in model.classes_],
        "classes_type": model.classes_.dtype.newbyteorder("<").str,
        "provenance": model.provenance_,
    }
    arrays = {name: getattr(inner, name) for name in ARRAYS if name != "margins"}
    arrays["margins"] = model.margins_
    if model._quantiles is not None:
        arrays |= zip(QUANTILES, (model._quantiles.values, model._quantiles.errors), strict=True)
    if model.ancestor_probability_ is not None:
        arrays[PROBABILITY] = model.ancestor_probability_
    resamples = () if model.bootstrap_ is None else model.bootstrap_.models
    if model.bootstrap_ is not None:
        header["bootstrap"] = {
            "random_state": model.bootstrap_.random_state,
            "unsettled": model.bootstrap_.unsettled,
        }
        arrays |= pack(resamples)
    try:
        for one in (inner, *resamples):
            check_model(one)
    except ValueError as error:
        raise InputError(f"this model could not be read back, so it is not saved: {error}") from error
    write_archive(path, MODEL, header, arrays)


def _label(label: Any) -> Any:
    if isinstance(label, np.datetime64 | np.timedelta64) or not _is_label(plain(label)):
        raise InputError(
            f"a model with the label {label!r} cannot be saved: use text, numbers or booleans as labels"
        )
    return plain(label)


def _is_label(label: Any) -> bool:
    return isinstance(label, str | int) or (isinstance(label, float) and math.isfinite(label))


def read(path: str | PathLike[str], kind: type[RCI]) -> RCI:
    """Read a model; a file that is damaged, not ours, or from a newer version is an InputError."""
    return read_archive(path, MODEL, partial(_restore, kind))


def _restore(kind: type[RCI], header: dict[str, Any], arrays: dict[str, np.ndarray]) -> RCI:
    p = header["n_columns"]
    _check_shapes(arrays, p)
    inner = CausalModel(
        n_columns=p,
        intercept=float(header["intercept"]),
        **{name: arrays[name] for name in ARRAYS if name != "margins"},
    )
    check_model(inner)
    _check_numbers(arrays)
    provenance = _provenance(header["provenance"], p)
    classes = _classes(header["classes"], header.get("classes_type"))
    model = kind(**provenance["parameters"])
    try:
        model._check_parameters()
    except InputError as error:
        raise ValueError(str(error)) from None  # an InputError of reading names the file
    if model.positive is not None and model.positive != classes[1]:
        raise ValueError("its second class is not the disease")
    model.n_features_in_ = p
    if header["feature_names"] is not None:
        model.feature_names_in_ = _names(header["feature_names"], p)
    model.classes_ = classes
    model.provenance_ = provenance
    model._set_model(inner, arrays["margins"], arrays.get(PROBABILITY))
    if QUANTILES[0] in arrays:
        model._quantiles = CohortQuantiles(*(arrays[name] for name in QUANTILES))
    model.bootstrap_ = _bootstrap(header.get("bootstrap"), arrays, p)
    return model


def _check_shapes(arrays: dict[str, np.ndarray], p: Any) -> None:
    if type(p) is not int:
        raise ValueError("its number of columns is none")
    k = arrays["order"].size
    expected: dict[str, tuple[int, ...]] = dict.fromkeys(ARRAYS, (k,))
    expected |= {"mixing": (k, k), "unmixing": (k, k)}
    if PROBABILITY in arrays:
        expected[PROBABILITY] = (p,)
    if any(name in arrays for name in QUANTILES):
        expected |= dict.fromkeys(QUANTILES, (STEPS, k))
    for name, shape in expected.items():
        if arrays[name].shape != shape or arrays[name].dtype.kind != ("i" if name == "order" else "f"):
            raise ValueError(f"array {name} has the wrong shape or type")


def _check_numbers(arrays: dict[str, np.ndarray]) -> None:
    """Raise ValueError where numbers beside the model itself are not what they should be."""
    if np.isnan(arrays["margins"]).any():
        raise ValueError("a margin is not a number")
    probability: F64 = arrays.get(PROBABILITY, np.zeros(0))
    if not ((probability >= 0) & (probability <= 1)).all():
        raise ValueError("a probability is not between 0 and 1")
    for name in QUANTILES:
        quantiles: F64 = arrays.get(name, np.zeros((STEPS, 0)))
        if not np.isfinite(quantiles).all():
            raise ValueError("a quantile is not a number")
        if not (np.diff(quantiles, axis=0) >= -ROUNDING * np.abs(quantiles).max(axis=0)).all():
            raise ValueError("quantiles are not in order")


def _provenance(provenance: Any, p: int) -> dict[str, Any]:
    for name, kind in PROVENANCE.items():
        if type(provenance[name]) is not kind:
            raise ValueError(f"its {name!r} is of another type")
    if type(provenance["backend"] if "backend" in provenance else provenance["table"]) is not str:
        raise ValueError("its backend is no text")  # files of version 1 call it table
    if provenance["columns"] != p or not 0 < provenance["cases"] < provenance["rows"]:
        raise ValueError("its numbers of rows, cases and columns do not fit together")
    left_out = [*provenance["exhausted"], *provenance.get("adds_nothing", ())]
    if not all(isinstance(name, str) for name in left_out):
        raise ValueError("a name is not a text")
    return provenance


def _names(names: Any, p: int) -> np.ndarray:
    if type(names) is not list or not all(isinstance(name, str) for name in names):
        raise ValueError("names of columns are no texts")
    if len(names) != p or len(set(names)) != p:
        raise ValueError("names and columns differ in number")
    return np.array(names, dtype=object)


def _classes(labels: Any, kind: Any) -> np.ndarray:
    if type(labels) is not list or len(labels) != 2 or not all(map(_is_label, labels)):
        raise ValueError("its classes are no pair of labels")
    # Other types, which only texts can have, and files of version 1: whatever type the labels call for.
    known = isinstance(kind, str) and LABEL_TYPES.fullmatch(kind)
    classes = np.array(labels, dtype=kind if known else None)
    if classes.tolist() != labels or labels[0] == labels[1]:
        raise ValueError("its classes are no pair of labels")
    return classes


def _bootstrap(about: Any, arrays: dict[str, np.ndarray], p: int) -> Bootstrap | None:
    if about is None:
        if any(name in arrays for name in RESAMPLED):
            raise ValueError("it does not say where its resamples come from")
        return None
    models = unpack(arrays)
    if any(model.n_columns != p for model in models):
        raise ValueError("the resamples have another number of columns")
    if not is_seed(about["random_state"]):
        raise ValueError("the seed of its resamples is none")
    unsettled = about.get("unsettled", 0)  # files of before do not say
    if unsettled not in range(len(models) + 1):
        raise ValueError("the number of its resamples that did not settle is out of range")
    return Bootstrap(tuple(models), about["random_state"], int(unsettled))
