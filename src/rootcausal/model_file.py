"""A fitted model in one file: a zip of plain arrays and one JSON text. Nothing in it can run.

Layout (version 1): ``rootcausal.json`` first, then one ``.npy`` member for each array.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from .atomic_write import atomic_write
from .bootstrap import Bootstrap
from .bootstrap_file import MEMBERS, PREFIX, pack, unpack
from .cohort_quantiles import STEPS, CohortQuantiles
from .core.attribution import CausalModel
from .errors import InputError

if TYPE_CHECKING:
    from .estimator import RCI

FORMAT = "rootcausal model"
FORMAT_VERSION = 1
HEADER = "rootcausal.json"
# Members that a file may lack: those written before they existed, or with the paper's attribution.
QUANTILES = ("value_quantiles", "error_quantiles")
OPTIONAL = ("ancestor_probability", *QUANTILES, *(PREFIX + name for name in MEMBERS))
ARRAYS = ("order", "mean", "sd", "mixing", "unmixing", "coef", "margins")
# Fixed, so that the same model is always the same bytes.
TIMESTAMP = (1980, 1, 1, 0, 0, 0)


def write(path: str | PathLike[str], model: RCI) -> None:
    """Write the model whole or not at all."""
    inner = model._model
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "n_columns": inner.n_columns,
        "intercept": inner.intercept,
        "feature_names": list(model.feature_names_in_) if hasattr(model, "feature_names_in_") else None,
        "classes": [_label(c) for c in model.classes_],
        "provenance": model.provenance_,
    }
    arrays = {name: getattr(inner, name) for name in ARRAYS if name != "margins"} | {
        "margins": model.margins_
    }
    if model._quantiles is not None:
        arrays |= zip(QUANTILES, (model._quantiles.values, model._quantiles.errors), strict=True)
    if model.ancestor_probability_ is not None:
        arrays["ancestor_probability"] = model.ancestor_probability_
    if model.bootstrap_ is not None:
        header["bootstrap"] = {"random_state": model.bootstrap_.random_state}
        arrays |= pack(model.bootstrap_.models)
    with atomic_write(path) as handle, zipfile.ZipFile(handle, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_member(HEADER), json.dumps(header, indent=1))
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(_member(f"{name}.npy"), buffer.getvalue())


def read(path: str | PathLike[str], kind: type[RCI]) -> RCI:
    """Read a model; a file that is damaged, not ours, or from a newer version is an InputError."""
    try:
        with zipfile.ZipFile(path) as archive:
            header = _header(archive, path)
            arrays = {
                name: np.lib.format.read_array(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False)
                for name in (*ARRAYS, *OPTIONAL)
                if name in ARRAYS or f"{name}.npy" in archive.namelist()
            }
            return _restore(kind, header, arrays)
    except FileNotFoundError:
        raise InputError(f"there is no model file {str(path)!r}") from None
    except IsADirectoryError:
        raise InputError(f"{str(path)!r} is a folder, not a model file") from None
    except InputError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        KeyError,
        ValueError,
        TypeError,
        EOFError,
        OSError,
        NotImplementedError,
    ) as error:
        raise InputError(f"{str(path)!r} is not a rootcausal model, or it is damaged ({error})") from error


def _header(archive: zipfile.ZipFile, path: Any) -> dict[str, Any]:
    header = json.loads(archive.read(HEADER))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError("its header is that of another format")
    if header["version"] > FORMAT_VERSION:
        raise InputError(
            f"{str(path)!r} was written by a newer rootcausal "
            f"({header.get('provenance', {}).get('rootcausal', 'unknown')}, file version "
            f"{header['version']}; this one reads up to {FORMAT_VERSION}): upgrade rootcausal"
        )
    return header


def _restore(kind: type[RCI], header: dict[str, Any], arrays: dict[str, np.ndarray]) -> RCI:
    p, k = int(header["n_columns"]), arrays["order"].size
    expected = dict.fromkeys(ARRAYS, (k,)) | {"mixing": (k, k), "unmixing": (k, k)}
    if "ancestor_probability" in arrays:
        expected["ancestor_probability"] = (p,)
    if QUANTILES[0] in arrays:
        expected |= dict.fromkeys(QUANTILES, (STEPS, k))
    for name, shape in expected.items():
        wanted = "i" if name == "order" else "f"
        if arrays[name].shape != shape or arrays[name].dtype.kind != wanted:
            raise ValueError(f"array {name} has the wrong shape or type")
    order = arrays["order"]
    if k and not (order.min() >= 0 and order.max() < p and np.unique(order).size == k):
        raise ValueError("the causal order names columns that do not exist")
    if header["feature_names"] is not None and len(header["feature_names"]) != p:
        raise ValueError("names and columns differ in number")
    model = kind(**header["provenance"]["parameters"])
    model.n_features_in_ = p
    if header["feature_names"] is not None:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    model.classes_ = np.array(header["classes"])
    model.provenance_ = header["provenance"]
    margins, probability = arrays["margins"], arrays.get("ancestor_probability")
    inner = CausalModel(
        n_columns=p,
        intercept=float(header["intercept"]),
        **{name: arrays[name] for name in ARRAYS if name != "margins"},
    )
    model._set_model(inner, margins, probability)
    if QUANTILES[0] in arrays:
        model._quantiles = CohortQuantiles(*(arrays[name] for name in QUANTILES))
    if "bootstrap" in header:
        resamples = unpack(arrays)
        if any(resample.n_columns != p for resample in resamples):
            raise ValueError("the resamples have another number of columns")
        model.bootstrap_ = Bootstrap(tuple(resamples), int(header["bootstrap"]["random_state"]))
    return model


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, TIMESTAMP)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _label(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label
