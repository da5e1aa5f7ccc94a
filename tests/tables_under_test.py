"""Every kind of table, so that one test runs on all of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from sharded import ShardedRaw

from rootcausal.backends.cpu.rows import NumbaRaw
from rootcausal.backends.reference import ReferenceRaw
from rootcausal.method.table import RawTable

MakeTable = Callable[[np.ndarray, np.ndarray | None], RawTable]


def sharded(n_parts: int) -> MakeTable:
    def make(X: np.ndarray, y: np.ndarray | None) -> RawTable:
        edges = np.linspace(0, len(X), n_parts + 1).astype(int)
        parts = [slice(a, b) for a, b in pairwise(edges)]
        return ShardedRaw([NumbaRaw(X[part], None if y is None else y[part]) for part in parts])

    return make


def cupy_table(X: np.ndarray, y: np.ndarray | None) -> RawTable:
    pytest.importorskip("cupy", reason="CuPy is not installed")
    from rootcausal.backends.cuda.rows import CupyRaw

    return CupyRaw(X, y)


TABLES = [
    pytest.param(ReferenceRaw, id="numpy"),
    pytest.param(NumbaRaw, id="numba"),
    pytest.param(sharded(1), id="sharded1"),
    pytest.param(sharded(2), id="sharded2"),
    pytest.param(sharded(7), id="sharded7"),
    pytest.param(cupy_table, id="cupy", marks=pytest.mark.gpu),
]

# Backends that fill in rows in memory.
HOLED = ["numpy", "numba", pytest.param("cupy", marks=pytest.mark.gpu)]
