"""Which table serves a backend's name. Asking for one that is not there is an error; nothing falls back."""

from __future__ import annotations

import importlib.util
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from ..core.table import F64, RawTable
from ..errors import InputError, MissingExtraError

BACKENDS = ("auto", "numpy", "numba", "cupy", "dask")
# Rows × columns² above which a fit takes about a second on a few cores.
WORTH_A_GPU = 1e9


def check_backend(backend: str) -> None:
    if backend not in BACKENDS:
        raise InputError(f"unknown backend {backend!r}: choose one of {', '.join(BACKENDS)}")


def choose_table(backend: str, X: F64, y: np.ndarray | None) -> RawTable:
    """Wrap the rows in the table that the backend names.

    Each library is imported here and in its own module only, when it is asked for.
    """
    check_backend(backend)
    if backend == "numpy":
        from .reference import ReferenceRaw

        return ReferenceRaw(X, y)
    if backend == "cupy" or (backend == "auto" and _gpu_is_worth_it(X.shape)):
        return _gpu_table(X, y)
    from .numba_cpu import NumbaRaw

    return NumbaRaw(X, y)


def one_thread(backend: str) -> AbstractContextManager[None]:
    """Within it, compiled loops stay on the calling thread; sums do not depend on the number of threads."""
    if backend not in ("auto", "numba"):
        return nullcontext()
    from .numba_cpu import one_thread

    return one_thread()


def _gpu_table(X: F64, y: np.ndarray | None) -> RawTable:
    try:
        from .cupy_gpu import CupyRaw, device_count
    except ImportError as error:
        raise MissingExtraError(
            "backend='cupy' needs CuPy: pip install 'rootcausal[cuda13]' (or 'rootcausal[cuda12]', to match "
            "the NVIDIA driver)"
        ) from error
    if not device_count():
        raise InputError("backend='cupy' finds no NVIDIA GPU here: use backend='auto' or 'numba'")
    return CupyRaw(X, y)


def _gpu_is_worth_it(shape: tuple[int, int]) -> bool:
    """A GPU is there, the table fits on it, and the fit is long enough to pay for waking it up."""
    n, p = shape
    if n * p * p < WORTH_A_GPU or importlib.util.find_spec("cupy") is None:
        return False
    from .cupy_gpu import device_count, fits

    return device_count() > 0 and fits(shape)
