"""A file of finished resamples, so that interrupted work goes on."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from ..backends.blas import one_blas_thread
from ..files.array_archive import FileKind, read_archive, write_archive
from ..files.model_arrays import RESAMPLES, array_names, is_seed, kinds_of, pack, unpack
from ..method.model import CausalModel
from ..version import __version__

FILE = FileKind(
    format="rootcausal resamples",
    version=1,
    name="file of finished resamples",
    what="a file of finished resamples",
    arrays=lambda: array_names(RESAMPLES),
    compressed=False,
)


@dataclass(frozen=True)
class Resamples:
    """Finished resamples: their models, and what they were made from.

    Attributes
    ----------
    models : one for each resample.
    unsettled : the places of those in which a limit of the attribution, or of the imputation, ran out.
    fingerprint : hash of the cohort, the settings and the seed.
    random_state : the seed.
    made_by : version of rootcausal that made them.
    """

    models: list[CausalModel]
    unsettled: list[int]
    fingerprint: str
    random_state: int
    made_by: str = __version__


def write_resamples(path: str | PathLike[str], resamples: Resamples) -> None:
    """Write finished resamples whole or not at all."""
    header = {name: getattr(resamples, name) for name in ("fingerprint", "random_state", "unsettled")}
    header |= kinds_of(resamples.models[0])
    write_archive(path, FILE, header, pack(resamples.models))


def read_resamples(path: str | PathLike[str]) -> Resamples:
    """Finished resamples; a file that holds something else is an InputError."""
    return read_archive(path, FILE, _restore)


def _restore(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Resamples:
    fingerprint, random_state, made_by = (
        header[name] for name in ("fingerprint", "random_state", "rootcausal")
    )
    if not (isinstance(fingerprint, str) and isinstance(made_by, str) and is_seed(random_state)):
        raise ValueError("its header does not say what the resamples were made from")
    # On one thread, as the resamples were learned: else the last bit may differ.
    with one_blas_thread():
        models = unpack(header, arrays)
    unsettled = header["unsettled"]
    if not (isinstance(unsettled, list) and all(number in range(len(models)) for number in unsettled)):
        raise ValueError("its header names resamples that it does not hold")
    return Resamples(models, unsettled, fingerprint, random_state, made_by)
