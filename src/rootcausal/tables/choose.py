"""Which table serves a backend's name. Asking for one that is not there is an error; nothing falls back."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import numpy as np

from ..core.table import F64, RawTable
from ..errors import InputError

BACKENDS = ("auto", "numpy", "numba", "cupy")


def choose_table(backend: str, X: F64, y: np.ndarray | None, variant: str) -> RawTable:
    """Wrap the rows in the table that the backend names.

    Each library is imported here and in its own module only, when it is asked for.
    """
    if backend not in BACKENDS:
        raise InputError(f"unknown backend {backend!r}: choose one of {', '.join(BACKENDS)}")
    if backend == "numpy":
        from .reference import ReferenceRaw

        return ReferenceRaw(X, y)
    from .numba_cpu import NumbaRaw

    return NumbaRaw(X, y)


def one_thread(backend: str) -> AbstractContextManager[None]:
    """Within it, compiled loops stay on the calling thread; sums do not depend on the number of threads."""
    if backend not in ("auto", "numba"):
        return nullcontext()
    from .numba_cpu import one_thread

    return one_thread()
