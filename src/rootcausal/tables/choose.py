"""Which table serves a backend's name. Asking for one that is not there is an error; nothing falls back."""

from __future__ import annotations

import numpy as np

from ..core.table import F64, RawTable
from ..errors import InputError

BACKENDS = ("auto", "numpy", "numba", "cupy", "dask")


def check_backend(backend: str) -> None:
    if backend not in BACKENDS:
        raise InputError(f"unknown backend {backend!r}: choose one of {', '.join(BACKENDS)}")


def choose_table(backend: str, X: F64, y: np.ndarray | None, variant: str) -> RawTable:
    """Wrap the rows in the table that the backend names.

    Each library is imported here and in its own module only, when it is asked for.
    """
    check_backend(backend)
    if backend == "numpy":
        from .reference import ReferenceRaw

        return ReferenceRaw(X, y)
    from .numba_cpu import NumbaRaw

    return NumbaRaw(X, y)
