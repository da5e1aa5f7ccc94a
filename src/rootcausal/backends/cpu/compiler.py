"""numba's compiler, with a cache between processes where there is a folder for one.

numba's own cache knows a function by its file. What the function reads elsewhere is compiled into it all the
same: constants, and functions of other files. Here these are part of what a cached loop is known by.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile


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
