"""numba's compiler, with a cache between processes where there is a folder for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit`` with these options, and with numba's cache where one can be written.

    In a read-only installation, without a writable cache folder, each process compiles for itself.
    """

    def compile_later(function: Callable[..., Any]) -> Any:
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:  # numba's "no locator available"; nothing is compiled before the first call
            return njit(**options)(function)

    return compile_later
