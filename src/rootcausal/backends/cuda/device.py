"""The card and its kernels: what is compiled for it, and how small arrays get there and back."""

from __future__ import annotations

from collections import deque
from functools import cache
from importlib.resources import files
from typing import Any

import cupy as cp
import cupyx
import numpy as np

# Warps that keep every multiprocessor busy; with fewer tiles than this, rows are split between warps.
WARPS_A_MULTIPROCESSOR = 32


@cache
def busy_warps() -> int:
    """So many keep every multiprocessor busy."""
    return WARPS_A_MULTIPROCESSOR * int(cp.cuda.Device().attributes["MultiProcessorCount"])


@cache
def kernel(name: str) -> Any:
    """One of the kernels of ``pair_sums.cu`` and ``race.cu``."""
    return _module().get_function(name)


@cache
def _module() -> Any:
    here = files("rootcausal.backends.cuda")
    code = "\n".join(here.joinpath(part).read_text(encoding="utf-8") for part in ("pair_sums.cu", "race.cu"))
    return cp.RawModule(code=code, options=("--std=c++17",))


# Page-locked copies of what was sent last. A copy to the device may still read them after on_card returns;
# every root ends in a download, which waits for all that was sent before, long before this many are sent.
_in_flight: deque[np.ndarray] = deque(maxlen=64)


def on_card(array: np.ndarray) -> Any:
    """A small array on the device, through page-locked memory: that is several times faster."""
    staging = cupyx.empty_pinned(array.shape, array.dtype)
    staging[...] = array
    _in_flight.append(staging)
    there = cp.empty(array.shape, array.dtype)
    there.set(staging)
    return there


def on_host(array: Any) -> np.ndarray:
    """A small array from the device, likewise."""
    here = cupyx.empty_pinned(array.shape, array.dtype)
    cp.ascontiguousarray(array).get(out=here)
    return here
