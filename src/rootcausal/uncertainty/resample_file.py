"""Models of resamples as a few flat arrays: what a file of finished resamples and a model file hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from ..backends.blas import one_blas_thread
from ..core.model import CausalModel
from ..core.model_checks import check_mixing, check_numbers, check_order, check_unmixing
from ..core.table import F64
from ..files.array_archive import FileKind, read_archive, write_archive
from ..version import __version__

PREFIX = "bootstrap_"
# One after the other: resample by resample, and each mixing matrix as the rows of its lower triangle.
FLAT = ("order", "mean", "sd", "coef", "mixing")
WHOLE_NUMBERS = ("order", "sizes", "n_columns")
MEMBERS = (*FLAT, "sizes", "intercepts", "n_columns")
# Each becomes several objects: a file of a few bytes must not become millions of them.
MOST_RESAMPLES = 10_000
RESAMPLES = FileKind(
    format="rootcausal resamples",
    version=2,
    oldest=2,
    name="file of finished resamples",
    what="a file of finished resamples",
    arrays=tuple(PREFIX + name for name in MEMBERS),
    compressed=False,
    headerless="format.npy",
)


@dataclass(frozen=True)
class Resamples:
    """Finished resamples: their models, and what they were made from.

    Attributes
    ----------
    models : one for each resample.
    unsettled : the places of those in which a limit of the attribution ran out.
    fingerprint : hash of the cohort, the settings and the seed.
    random_state : the seed.
    made_by : version of rootcausal that made them.
    """

    models: list[CausalModel]
    unsettled: list[int]
    fingerprint: str
    random_state: int
    made_by: str = __version__


def pack(models: Sequence[CausalModel]) -> dict[str, np.ndarray]:
    """Flat arrays from which :func:`unpack` makes the same models."""
    flat = {name: np.concatenate([getattr(m, name) for m in models]) for name in FLAT[:-1]}
    flat["mixing"] = np.concatenate([m.mixing[_triangle(m.order.size)] for m in models])
    flat["sizes"] = np.array([m.order.size for m in models])
    flat["intercepts"] = np.array([m.intercept for m in models])
    flat["n_columns"] = np.array([models[0].n_columns])
    return {PREFIX + name: array for name, array in flat.items()}


def unpack(arrays: Mapping[str, np.ndarray]) -> list[CausalModel]:
    """Models from flat arrays; a ValueError says what does not fit."""
    flat = {name: arrays[PREFIX + name] for name in MEMBERS}
    for name, array in flat.items():
        if array.ndim != 1 or array.dtype.kind != ("i" if name in WHOLE_NUMBERS else "f"):
            raise ValueError(f"array {PREFIX}{name} has the wrong shape or type")
    sizes, total = flat["sizes"], flat["order"].size
    if not (1 <= sizes.size <= MOST_RESAMPLES and sizes.min() >= 0 and sizes.max() <= total):
        raise ValueError("the numbers of variables in the resamples are out of range")
    triangles = sizes * (sizes + 1) // 2
    lengths = dict.fromkeys(FLAT, sizes.sum()) | {"mixing": triangles.sum()}
    lengths |= {"intercepts": sizes.size, "n_columns": 1}
    if any(flat[name].size != length for name, length in lengths.items()):
        raise ValueError("the arrays of the resamples do not fit together")
    n_columns = int(flat["n_columns"][0])
    check_order(flat["order"], n_columns, np.repeat(np.arange(sizes.size), sizes))
    check_numbers(flat["mean"], flat["sd"], flat["coef"], flat["intercepts"])
    ends, triangle_ends = np.cumsum(sizes), np.cumsum(triangles)
    # On one thread, as the resamples were learned: else unmixing may differ in its last bit.
    with one_blas_thread():
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
    mixing[_triangle(k)] = triangle
    check_mixing(mixing)
    unmixing = np.zeros((0, 0))
    if k:
        unmixing = solve_triangular(mixing, np.eye(k, order="F"), lower=True, overwrite_b=True).T
    check_unmixing(unmixing)
    return CausalModel(n_columns=n_columns, mixing=mixing, unmixing=unmixing, intercept=intercept, **columns)


def is_seed(value: Any) -> bool:
    return isinstance(value, int) and value >= 0


def _triangle(k: int) -> np.ndarray:
    return np.tri(k, dtype=bool)


def write_resamples(path: str | PathLike[str], resamples: Resamples) -> None:
    """Write finished resamples whole or not at all."""
    header = {name: getattr(resamples, name) for name in ("fingerprint", "random_state", "unsettled")}
    write_archive(path, RESAMPLES, header, pack(resamples.models))


def read_resamples(path: str | PathLike[str]) -> Resamples:
    """Finished resamples; a file that holds something else is an InputError."""
    return read_archive(path, RESAMPLES, _restore)


def _restore(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Resamples:
    fingerprint, random_state, made_by = (
        header[name] for name in ("fingerprint", "random_state", "rootcausal")
    )
    if not (isinstance(fingerprint, str) and isinstance(made_by, str) and is_seed(random_state)):
        raise ValueError("its header does not say what the resamples were made from")
    models, unsettled = unpack(arrays), header["unsettled"]
    if not (isinstance(unsettled, list) and all(number in range(len(models)) for number in unsettled)):
        raise ValueError("its header names resamples that it does not hold")
    return Resamples(models, unsettled, fingerprint, random_state, made_by)
