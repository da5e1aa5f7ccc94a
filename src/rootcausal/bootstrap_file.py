"""Models of resamples as a few flat arrays: what a file of finished resamples and a model file hold."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from .atomic_write import atomic_write
from .core.attribution import CausalModel
from .core.table import F64
from .errors import InputError

PREFIX = "bootstrap_"
# One after the other: resample by resample, and each mixing matrix as the rows of its lower triangle.
FLAT = ("order", "mean", "sd", "coef", "mixing")
MEMBERS = (*FLAT, "sizes", "intercepts", "n_columns")
FORMAT = "rootcausal resamples 1"


def pack(models: Sequence[CausalModel]) -> dict[str, np.ndarray]:
    """Flat arrays from which :func:`unpack` makes the same models."""
    flat = {name: np.concatenate([getattr(m, name) for m in models]) for name in FLAT[:-1]}
    flat["mixing"] = np.concatenate([m.mixing[np.tril_indices(m.order.size)] for m in models])
    flat["sizes"] = np.array([m.order.size for m in models])
    flat["intercepts"] = np.array([m.intercept for m in models])
    flat["n_columns"] = np.array([models[0].n_columns])
    return {PREFIX + name: array for name, array in flat.items()}


def unpack(arrays: Mapping[str, np.ndarray]) -> list[CausalModel]:
    """Models from flat arrays; a ValueError says what does not fit."""
    flat = {name: np.asarray(arrays[PREFIX + name]) for name in MEMBERS}
    for name, array in flat.items():
        if array.dtype.kind != ("i" if name in ("order", "sizes", "n_columns") else "f"):
            raise ValueError(f"array {PREFIX}{name} has the wrong type")
    sizes, n_columns = flat["sizes"], int(flat["n_columns"].item())
    triangles = sizes * (sizes + 1) // 2
    if (
        sizes.ndim != 1
        or sizes.min(initial=0) < 0
        or flat["intercepts"].shape != sizes.shape
        or flat["mixing"].shape != (triangles.sum(),)
        or any(flat[name].shape != (sizes.sum(),) for name in FLAT[:-1])
    ):
        raise ValueError("the arrays of the resamples do not fit together")
    if flat["order"].size and not (flat["order"].min() >= 0 and flat["order"].max() < n_columns):
        raise ValueError("a resample names columns that do not exist")
    ends, triangle_ends = np.cumsum(sizes), np.cumsum(triangles)
    return [
        _model(
            {name: flat[name][end - k : end] for name in FLAT[:-1]},
            flat["mixing"][triangle_end - triangle : triangle_end],
            float(intercept),
            n_columns,
        )
        for k, end, triangle, triangle_end, intercept in zip(
            sizes, ends, triangles, triangle_ends, flat["intercepts"], strict=True
        )
    ]


def _model(columns: dict[str, np.ndarray], triangle: F64, intercept: float, n_columns: int) -> CausalModel:
    k = columns["order"].size
    mixing = np.zeros((k, k))
    mixing[np.tril_indices(k)] = triangle
    unmixing = solve_triangular(mixing, np.eye(k), lower=True).T if k else np.zeros((0, 0))
    return CausalModel(n_columns=n_columns, mixing=mixing, unmixing=unmixing, intercept=intercept, **columns)


def write_resamples(path: str | PathLike[str], models: Sequence[CausalModel], fingerprint: str) -> None:
    """Write finished resamples whole or not at all."""
    with atomic_write(path) as handle:
        arrays: dict[str, Any] = pack(models)
        np.savez(handle, format=np.array(FORMAT), fingerprint=np.array(fingerprint), **arrays)


def read_resamples(path: str | PathLike[str]) -> tuple[list[CausalModel], str]:
    """Finished resamples, and the fingerprint of what they were made from."""
    try:
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as archive:
            if str(archive["format"]) != FORMAT:
                raise ValueError("its format is another one")
            return unpack(archive), str(archive["fingerprint"])
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(
            f"{str(path)!r} is not a file of finished resamples, or it is damaged ({error})"
        ) from error
