"""numba's compiler, with a cache between processes where there is a folder for one.

numba's own cache knows a function by its file. What the function reads elsewhere is compiled into it all the
same: constants, and functions of other files. Here these are part of what a cached loop is known by.
"""

from __future__ import annotations

import hashlib
import math
import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.extending import intrinsic


def compiled(inner: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit`` with these options, and with a cache where one can be written.

    In a read-only installation, without a writable cache folder, each process compiles for itself. What is
    ``inner`` is called by compiled loops only: Python would have to unpack its arguments, which is half of
    what there is to compile of many a small loop, and must not call it.
    """

    def compile_later(function: Callable[..., Any]) -> Any:
        later = njit(no_cfunc_wrapper=True, no_cpython_wrapper=inner, **options)(function)
        try:
            cache = _Cache(function)
        except RuntimeError:  # numba's "no locator available"; nothing is compiled before the first call
            return later
        cache.dispatcher = later
        later._cache = cache
        return later

    return compile_later


class _Index(IndexDataCacheFile):
    """What numba has kept of a function; nothing where that names classes which this version lacks."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except (AttributeError, ImportError):
            return {}


class _Cache(FunctionCache):
    """numba's cache of a function, by all that is compiled into it."""

    dispatcher: Any

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _Index(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super().load_overload(sig, target_context)
        if found is None:
            _say_what_takes_long()
        return found

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        # Asked for before a function is first called, when all that it reads is there.
        return *super()._index_key(sig, codegen), _digest(self.dispatcher)


@lru_cache(maxsize=1)
def _say_what_takes_long() -> None:
    """Once, where somebody sits in front: what a first fit waits for."""
    shell = hasattr(sys, "ps1") or "ipykernel" in sys.modules
    if sys.stderr is not None and (shell or sys.stderr.isatty()):
        print(
            "rootcausal: compiling loops for this machine, for some seconds, once",
            file=sys.stderr,
            flush=True,
        )


def _digest(dispatcher: Any) -> str:
    """Of a function, its options, and all constants and functions that it reads, as far as they lead."""
    digest, seen = hashlib.sha256(), set[int]()
    to_read = [dispatcher]
    while to_read:
        value = to_read.pop()
        function = getattr(value, "__wrapped__", value)  # of a compiled function, that which it was
        if isinstance(function, FunctionType):
            if id(function) in seen:
                continue
            seen.add(id(function))
            options = getattr(value, "targetoptions", {})
            said = sorted((name, _told(option)) for name, option in options.items())
            digest.update(f"{function.__qualname__} {said} {_code(function.__code__)}\n".encode())
            for name, read in _read_by(function):
                digest.update(f"{name}: ".encode())
                to_read.append(read)
        else:
            digest.update(f"{_told(value)}\n".encode())
    return digest.hexdigest()


def _read_by(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """What a function reads of its file, and of modules of this package that it names."""
    names = function.__code__.co_names
    for name in names:
        value = function.__globals__.get(name)
        yield name, value
        if isinstance(value, ModuleType) and value.__name__.startswith(__name__.split(".")[0] + "."):
            yield from ((f"{name}.{of}", vars(value)[of]) for of in names if of in vars(value))


def _code(code: CodeType) -> str:
    consts = [_code(const) if isinstance(const, CodeType) else repr(const) for const in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {consts}"


def _told(value: Any) -> str:
    """A constant in words that are the same in every process; of anything else, what kind of thing it is."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tobytes().hex()}"
    if isinstance(value, set | frozenset):
        return f"{sorted(map(_told, value))}"
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | tuple | np.generic):
        return repr(value)
    if isinstance(value, type):
        return f"{value.__qualname__} {getattr(value, '_fields', '')}"
    return type(value).__qualname__


# Powers of two by shifting bits: exponentials that vectorize without a vendor's library.

# 2^f on |f| ≤ 1/2, minimax (mpmath.chebyfit, 9 terms): absolute error below 9e-13.
C0, C1, C2 = 1.0, 0.6931471805459335, 0.2402265069581299
C3, C4, C5 = 0.05550410941205933, 0.009618129159402558, 0.0013333450568000645
C6, C7, C8 = 0.00015403455852453838, 1.5310079402249296e-05, 1.3255224878668817e-06
LOG2_E = math.log2(math.e)
# Adding this to a small integer k leaves k + 1023, the exponent of 2^k, in the lowest bits.
EXPONENT_IN_LOW_BITS = 1.5 * 2.0**52 + 1023.0
SMALLEST_POWER = -1000.0
# Sums may be reordered (that is what vectorizes them) and multiply-adds fused; infinities stay honest.
FASTMATH = {"reassoc", "contract", "nsz"}


@intrinsic
def _round(typing_context: Any, x: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.call(builder.module.declare_intrinsic("llvm.rint", [ir.DoubleType()]), args)

    return types.float64(types.float64), emit


@intrinsic
def _low_bits_as_exponent(typing_context: Any, x: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = builder.bitcast(args[0], ir.IntType(64))
        return builder.bitcast(builder.shl(bits, ir.Constant(ir.IntType(64), 52)), ir.DoubleType())

    return types.float64(types.float64), emit


@njit(inline="always", fastmath=FASTMATH)
def power_of_two(y: float) -> float:
    """2^y for y in [−1000, 0]; terms are paired so that they do not wait for each other."""
    whole = _round(y)
    f = y - whole
    f2 = f * f
    low = (C0 + C1 * f) + (C2 + C3 * f) * f2
    high = (C4 + C5 * f) + (C6 + C7 * f) * f2 + C8 * (f2 * f2)
    return (low + high * (f2 * f2)) * _low_bits_as_exponent(whole + EXPONENT_IN_LOW_BITS)


# Threads around compiled loops that release the GIL: Python's own, as many as numba says.
#
# ``numba.set_num_threads`` and NUMBA_NUM_THREADS say how many. They are few and shared by all callers, so
# nobody waits for one to be free: work that is asked for within such work is done on the spot, and what no
# thread has begun by the time that the caller is done with its own share, the caller does. A caller may
# hold a lock that all of them wait for (``functools.cached_property`` has one, before Python 3.12).

# Below this many residuals a second thread costs more than it saves.
WORTH_A_THREAD = 60_000


def use_threads(count: int) -> None:
    """How many threads the tables called from this thread may use, up to what the process has."""
    numba.set_num_threads(max(1, min(count, numba.config.NUMBA_NUM_THREADS)))


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep the loops on the calling thread."""
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)


_pool: ThreadPoolExecutor | None = None
_here = threading.local()


def _become_a_worker() -> None:
    _here.is_worker = True


def _forget_pool() -> None:
    global _pool
    _pool = None


# A forked child inherits the pool but not its threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)


def in_threads(work: Callable[[int, int], None], n_units: int, n_values: int) -> None:
    """Call work(first, last) over 0..n_units, in as many threads as the amount of values is worth."""
    global _pool
    worth = min(n_units, n_values // WORTH_A_THREAD)
    # Asking numba takes longer than many a small loop.
    threads = min(numba.get_num_threads(), worth) if worth > 1 else 1
    if threads <= 1 or getattr(_here, "is_worker", False):
        work(0, n_units)
        return
    if _pool is None:
        _pool = ThreadPoolExecutor(
            numba.config.NUMBA_NUM_THREADS, thread_name_prefix="rootcausal", initializer=_become_a_worker
        )
    edges = [n_units * t // threads for t in range(threads + 1)]
    others = [_pool.submit(work, edges[t], edges[t + 1]) for t in range(1, threads)]
    work(0, edges[1])
    begun = []
    for t, other in enumerate(others, 1):
        if other.cancel():
            work(edges[t], edges[t + 1])
        else:
            begun.append(other)
    wait(begun)
    for other in begun:
        other.result()
