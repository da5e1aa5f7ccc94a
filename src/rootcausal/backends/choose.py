"""Which table serves a backend's name. Asking for one that is not there is an error; nothing falls back."""

from __future__ import annotations

import importlib.util
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import overload

import numpy as np

from ..errors import InputError, MissingExtraError
from ..method.missing.pooled import PooledIncomplete, PooledRaw, RawPart
from ..method.missing.sums import DRAWS, IncompleteRaw
from ..method.table import F64, Index, RawTable
from ..method.weighted import RowWeights
from .missing_rows import Machinery, MemoryIncomplete, one_after_the_other

BACKENDS = ("auto", "numpy", "numba", "cupy", "dask")
# Rows × columns² above which a fit takes about a second on a few cores.
WORTH_A_GPU = 1e9


def check_backend(backend: str) -> None:
    if backend not in BACKENDS:
        raise InputError(f"unknown backend {backend!r}: choose one of {', '.join(BACKENDS)}")


def worth_a_gpu(shape: tuple[int, int]) -> bool:
    """Whether a fit of so many rows and columns is long enough to pay for waking up a GPU."""
    n, p = shape
    return n * p * p >= WORTH_A_GPU


def without_gpu(backend: str) -> str:
    """The backend that is meant where a GPU does not offer the sums that are needed."""
    return "numba" if backend == "auto" else backend


@overload
def choose_table(
    backend: str, X: F64, y: np.ndarray, inexact: bool = False, weights: RowWeights | None = None
) -> RawTable | IncompleteRaw: ...
@overload
def choose_table(backend: str, X: F64, y: None, inexact: bool = False) -> RawTable: ...
def choose_table(
    backend: str, X: F64, y: np.ndarray | None, inexact: bool = False, weights: RowWeights | None = None
) -> RawTable | IncompleteRaw:
    """Wrap the rows in the table that the backend names.

    Labelled rows may have missing values (NaN), or be ``inexact``, measured with error or beyond a limit of
    detection: then it is a table with holes. Rows of unequal ``weights`` are in parts. Each library is
    imported here and in its own module only, when it is asked for.
    """
    check_backend(backend)
    if y is not None and (inexact or has_missing(X)):
        if weights is None:
            return incomplete_part(backend, X, y)
        where = _one_place(backend, (DRAWS * X.shape[0], X.shape[1]))
        parts = [(incomplete_part(where, X[some], y[some]), weight) for some, weight in weights.alike]
        return PooledIncomplete(parts)
    return whole_rows(backend, X, y, weights=weights)


def whole_rows(
    backend: str,
    X: F64,
    y: np.ndarray | None,
    rows: Index | None = None,
    weights: RowWeights | None = None,
) -> RawTable:
    """The same for rows that lack nothing: all of X, or those that ``rows`` names, whose outcome y is."""
    shape = (len(X) if rows is None else rows.size, X.shape[1])
    if weights is not None and y is not None:
        where, parts = _one_place(backend, shape), []
        for some, weight in weights.alike:
            named = some if rows is None else rows[some]
            parts.append(RawPart(whole_rows(where, X, y[some], named), weight))
        return PooledRaw(parts)
    on_gpu = backend == "cupy" or (backend == "auto" and _gpu_is_worth_it(shape))
    if on_gpu or backend == "numpy":
        X = X if rows is None else X[rows]
    if on_gpu:
        return _gpu_table(X, y)
    if backend == "numpy":
        from .reference import ReferenceRaw

        return ReferenceRaw(X, y)
    from .cpu.rows import NumbaRaw

    return NumbaRaw(X, y, rows)


def _one_place(backend: str, shape: tuple[int, int]) -> str:
    """The backend of all parts of a table: on a GPU all of them are, or none is."""
    if backend != "auto":
        return backend
    return "cupy" if _gpu_is_worth_it(shape) else "numba"


def has_missing(X: F64) -> bool:
    """Whether a value is missing, at the price of reading them once."""
    # The smallest value is NaN where one is, and no array of answers has to be kept.
    return bool(X.size) and bool(np.isnan(X.min()))


def incomplete_part(backend: str, X: F64, y: np.ndarray, first_row: int = 0) -> MemoryIncomplete:
    """Rows with missing values, in memory; the first is row ``first_row`` of the cohort.

    With a GPU, missing values are filled in here, and what comes of it is copied there.
    """
    if backend == "numpy":
        from .imputation_plain import draw_rows, expect_rows
        from .reference import ReferenceRaw, table_of

        machinery = Machinery("numpy", expect_rows, draw_rows, one_after_the_other, ReferenceRaw, table_of)
    elif backend == "cupy" or (backend == "auto" and _gpu_is_worth_it((DRAWS * X.shape[0], X.shape[1]))):
        machinery = _gpu_machinery()
    else:
        machinery = _compiled_machinery()
    return MemoryIncomplete(X, y, machinery, first_row)


def _compiled_machinery() -> Machinery:
    from .cpu.compiler import in_threads
    from .cpu.imputation_kernels import draw_rows, expect_rows
    from .cpu.rows import NumbaRaw, NumbaTable

    return Machinery("numba", expect_rows, draw_rows, in_threads, NumbaRaw, NumbaTable)


def _gpu_machinery() -> Machinery:
    _gpu_table(np.empty((0, 1)), None)  # says so if there is none
    from .cuda.rows import CupyRaw, table_of

    return replace(_compiled_machinery(), backend="cupy", raw=CupyRaw, table=table_of)


def one_thread(backend: str) -> AbstractContextManager[None]:
    """Within it, compiled loops stay on the calling thread; sums do not depend on the number of threads."""
    if backend not in ("auto", "numba"):
        return nullcontext()
    from .cpu.compiler import one_thread

    return one_thread()


def _gpu_table(X: F64, y: np.ndarray | None) -> RawTable:
    try:
        from .cuda.rows import CupyRaw, device_count
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
    if not worth_a_gpu(shape) or importlib.util.find_spec("cupy") is None:
        return False
    from .cuda.rows import device_count, fits

    return device_count() > 0 and fits(shape)
