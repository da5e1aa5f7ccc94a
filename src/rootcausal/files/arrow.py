"""pyarrow, loaded by whoever first uses it: help, and what is refused at once, do not wait for it."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

_loaded = cache(import_module)


class _Later:
    """A module that is imported as soon as something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(_loaded(self._name), name)


pa: Any = _Later("pyarrow")
pc: Any = _Later("pyarrow.compute")
pq: Any = _Later("pyarrow.parquet")
arrow_csv: Any = _Later("pyarrow.csv")


def is_text(kind: Any) -> bool:
    """Whether a type of pyarrow is that of texts."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def is_numeric(kind: Any) -> bool:
    """Whether a type of pyarrow is that of numbers, or of nothing at all."""
    types = pa.types
    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind)
