"""Nonlinear whole fits in memory, on a GPU and on a cluster: seconds, ratios, and how far answers differ.

``python benchmarks/nonlinear_places.py [--cluster]``: the best of two runs each, in one process. A GPU is
asked where there is CuPy; with ``--cluster`` a Dask cluster of two local workers too.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from measure import best_of, machine, table

from rootcausal import RCI

SIZES = ((20_000, 20), (100_000, 20), (100_000, 100))
ON_CLUSTER = ((20_000, 20), (100_000, 20))
HEAD = ["rows × columns", "where", "seconds", "of memory", "answers"]


def bent(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Fours of columns: a cause, its bent effect of uneven spread, one with a product, and a line."""
    rng = np.random.default_rng(0)
    X = np.empty((n, p))
    for column in range(p):
        own = rng.standard_t(5, n)
        before, one = X[:, column - 1], X[:, column - 2]
        if column % 4 == 0:
            X[:, column] = rng.uniform(-1.7, 1.7, n)
        elif column % 4 == 1:
            X[:, column] = np.tanh(2 * before) + (0.3 + 0.3 * (before > 0)) * own
        elif column % 4 == 2:
            X[:, column] = 0.5 * before + 0.5 * one * before + 0.7 * own
        else:
            X[:, column] = 0.6 * before + 0.7 * rng.exponential(size=n)
    y = (X[:, 2] ** 2 + X[:, -1] + rng.logistic(size=n) > 1).astype(int)
    return X, y


def same(model: RCI, expected: RCI) -> str:
    """How far apart two answers are: whether arrows are the same, and by how much costs differ."""
    one, other = model._model.mechanism, expected._model.mechanism
    arrows = [set(zip(some.cause.tolist(), some.effect.tolist(), strict=True)) for some in (one, other)]
    if arrows[0] != arrows[1]:
        return f"{len(arrows[0] ^ arrows[1])} of {len(arrows[1])} arrows differ"
    finite = np.isfinite(expected.margins_)
    apart = np.abs(model.margins_ - expected.margins_)[finite] / np.abs(expected.margins_)[finite]
    return f"{len(arrows[1])} arrows, costs to {apart.max(initial=0.0):.0e}"


def fits(n: int, p: int, cluster: bool) -> Iterator[list[str]]:
    X, y = bent(n, p)

    def in_memory() -> RCI:
        return RCI(mechanism="nonlinear", backend="numba").fit(X, y)

    in_memory()  # compiles, as the first fit of each does
    least, expected = best_of(2, in_memory)
    yield [f"{n:,} × {p}", "memory", f"{least:.2f}", "1.0", ""]
    others: dict[str, Callable[[], RCI]] = {}
    if find_spec("cupy") is not None:
        others["GPU"] = lambda: RCI(mechanism="nonlinear", backend="cupy").fit(X, y)
    if cluster and (n, p) in ON_CLUSTER:
        import dask.dataframe as dd

        columns = [f"x{column}" for column in range(p)]
        there = dd.from_pandas(pd.DataFrame(X, columns=columns).assign(d=y), npartitions=4).persist()
        others["cluster"] = lambda: RCI(mechanism="nonlinear", backend="dask").fit(there, "d")
    for where, fit in others.items():
        fit()
        seconds, model = best_of(2, fit)
        yield [f"{n:,} × {p}", where, f"{seconds:.2f}", f"{seconds / least:.2f}", same(model, expected)]


@contextmanager
def two_workers(wanted: bool) -> Iterator[Any]:
    if not wanted:
        yield None
        return
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1) as cluster, Client(cluster) as client:
        yield client


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cluster", action="store_true", help="also a Dask cluster of two local workers")
    cluster = parser.parse_args().cluster
    print(machine(), "\n", flush=True)
    rows = []
    with warnings.catch_warnings(), two_workers(cluster):
        warnings.simplefilter("ignore", UserWarning)
        for n, p in SIZES:
            rows += fits(n, p, cluster)
            print(
                table(["rows × columns", "where", "seconds", "of memory", "answers"], rows), "\n", flush=True
            )


if __name__ == "__main__":
    main()
