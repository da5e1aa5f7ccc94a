"""The Dask backend, rows on the workers of a cluster: each sum is one round trip, and only sums travel.

A part is a future, a run of neighbouring rows (see :mod:`rootcausal.backends.cluster.parts`). It is made from
its source by a chain of tasks without side effects (read and standardize, regress out, regress out, ...), and
Dask keeps that chain for as long as the part is in use: what a lost worker held is computed again from the
source, by the workers that are left or that join.
Nothing here retries or schedules, and no task names a worker.

    source ── standardize ── regress_out ── regress_out      one chain a part; only its end is in memory
                  │               │              │
               gram, ...      pair_sums     loss sums        sums, added up on this side

``regress_out`` is not waited for, so it costs no round trip of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any, Protocol
from uuid import uuid4

import numpy as np
from distributed import Client, Future, wait

from ...method.moments import regressed_correlations
from ...method.ordering.pair_score import block_penalties
from ...method.table import F64, ColumnMoments, Index, KnownEntropies, LevelSums, LossSums
from ..cpu.loops import COMPILED
from .parts import call, made, summed

# What two cores sum during one round trip of about 10 ms (see benchmarks/dask_rows.py). The same on any
# cluster: a search that asked for the number of cores would compare other pairs on another one.
RESIDUALS_A_ROUND_TRIP = 8e6
# Correlations up to this many bytes, all parts together, are sent with each task: a task that needs another
# future besides its part may be started where that one is, and the part would have to move.
SENT_WITH_EACH = 1 << 26
# Regressing out a root holds one part twice; so a part is at most this share of its worker's memory.
PARTS_A_WORKER = 16
# Sums gathered directly; above this many, workers add them up among themselves first.
GATHERED_AT_ONCE = 64
# How long a fit waits for sums before it looks whether the cluster still has workers, and how long for one.
SECONDS_A_LOOK = 10
SECONDS_WITHOUT_WORKERS = 300


class RowSource(Protocol):
    """Where the rows come from; read anew for each pass, so that no raw row has to stay in memory."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def column_moments(self, shift: F64) -> ColumnMoments: ...

    def gram(self, cols: Index, mean: F64, sd: F64) -> F64: ...

    def parts(
        self, n_parts: int, threads: int, cols: Index, mean: F64, sd: F64, only: int | None
    ) -> list[Future]:
        """At most so many standardized parts, for all ``threads`` of the cluster.

        They have the rows of class ``only``, 0 or 1, or with None all rows.
        """
        ...


class DaskRaw:
    """A cohort on a cluster, as it came; or of it class ``only``, 0 or 1."""

    backend = "dask"

    def __init__(self, client: Client, source: RowSource, only: int | None = None) -> None:
        self._client = client
        self._source = source
        self._only = only

    @property
    def shape(self) -> tuple[int, int]:
        n, p = self._source.shape
        # A source knows its moments about zero without reading.
        return n if self._only is None else int(self.column_moments(np.zeros(p)).count.sum()), p

    def column_moments(self, shift: F64) -> ColumnMoments:
        sums = self._source.column_moments(shift)
        if self._only is None:
            return sums
        member = np.arange(2) == self._only
        return ColumnMoments(sums.count * member, *(s * member[:, None] for s in (sums.total, sums.square)))

    def by_class(self) -> tuple[DaskRaw, DaskRaw]:
        assert self._only is None
        return DaskRaw(self._client, self._source, 0), DaskRaw(self._client, self._source, 1)

    def gram(self, cols: Index, mean: F64, sd: F64) -> F64:
        sums = self._source.gram(cols, mean, sd)
        return sums if self._only is None else sums * (np.arange(2) == self._only)[:, None, None]

    def standardize(self, cols: Index, mean: F64, sd: F64) -> DaskTable:
        def parts(n_parts: int, threads: int) -> list[Future]:
            return self._source.parts(n_parts, threads, cols, mean, sd, self._only)

        return table_on_cluster(self._client, (self.shape[0], cols.size), parts)


class DaskTable:
    """Standardized columns, row-wise in parts that live on the workers."""

    loops = COMPILED

    def __init__(
        self,
        client: Client,
        parts: Sequence[Future],
        shape: tuple[int, int],
        threads: int,
        correlation: F64 | None = None,
    ) -> None:
        """``threads`` of the whole cluster; ``correlation`` (k, k) as the parts have it."""
        self.shape = shape
        self._client = client
        self._parts = list(parts)
        self._threads = threads
        self._correlation = np.empty((0, 0)) if correlation is None else correlation

    def own_search(self) -> None:
        return None

    @property
    def pairs_per_call(self) -> int:
        return max(1, int(RESIDUALS_A_ROUND_TRIP / (2 * self.shape[0])))

    def gram(self) -> F64:
        return self._sum("gram")

    def column_sums(self) -> F64:
        return self._sum("column_sums")

    def with_correlations(self, r: F64) -> DaskTable:
        given = r if r.nbytes * len(self._parts) <= SENT_WITH_EACH else self._shared(r)
        return self._next(self._each("with_correlations", given), r.copy())

    def correlations(self, columns: int | Index) -> F64:
        return self._correlation[columns].copy()

    def pair_sums(self, i: Index, j: Index) -> F64:
        return self._sum("pair_sums", i, j)

    def leading_pair_sums(self, cols: Index, q: int) -> F64:
        return self._sum("leading_pair_sums", cols, q)

    def block_penalties(
        self, sums: F64, own: F64, n_rows: int, known: KnownEntropies | None = None
    ) -> tuple[F64, F64, F64]:
        return block_penalties(sums, own, n_rows, known)

    def to_host(self, array: Any) -> F64:
        return np.asarray(array)

    def regress_out(self, root: int, cols: Index) -> DaskTable:
        regressed_correlations(self._correlation, root, cols)
        return self._next(self._each("regress_out", root, cols), self._correlation)

    def logit_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._sum("logit_sums", cols, beta)

    def square_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._sum("square_sums", cols, beta)

    def hazard_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._sum("hazard_sums", cols, beta)

    def stage_sums(self, cols: Index, beta: F64) -> LossSums:
        return self._sum("stage_sums", cols, beta)

    def count_sums(self, cols: Index, beta: F64, dispersion: float) -> LossSums:
        return self._sum("count_sums", cols, beta, dispersion)

    def set_sums(self, cols: Index, beta: F64) -> LossSums:
        raise NotImplementedError("a matched set may span parts of a cluster, which its door refuses")

    def level_counts(self, cols: Index, edges: F64) -> F64:
        return self._sum("level_counts", cols, edges)

    def with_levels(self, cols: Index, edges: F64, thresholds: F64) -> DaskTable:
        return self._next(self._each("with_levels", cols, edges, thresholds), self._correlation)

    def level_sums(self, discrete: Index, cols: Index) -> LevelSums:
        return self._sum("level_sums", discrete, cols)

    def level_pair_sums(self, discrete: Index, cols: Index, intercept: F64, slope: F64) -> F64:
        return self._sum("level_pair_sums", discrete, cols, intercept, slope)

    def shift_levels(self, root: int, discrete: Index, intercept: F64, slope: F64) -> DaskTable:
        return self._next(self._each("shift_levels", root, discrete, intercept, slope), self._correlation)

    def made(self, make: Callable[[Any, int], Any]) -> DaskTable:
        """The same rows as ``make`` makes them of each grain, and its place; no table any more."""
        return self._next(self._mapped(made, make), self._correlation)

    def asked(self, ask: Callable[[Any, int], Any]) -> Callable[[], Any]:
        """The sum of what is asked of each grain, and its place: it is worked out from here on."""
        sums = self._mapped(summed, ask)
        return lambda: add_up(self._client, sums).whole

    def _mapped(self, how: Callable[..., Any], work: Callable[[Any, int], Any]) -> list[Future]:
        n = len(self._parts)
        threads = self._threads // n
        keys = [f"{how.__name__}-{uuid4().hex}" for _ in self._parts]
        return self._client.map(how, self._parts, [work] * n, [threads] * n, key=keys)

    def _next(self, parts: list[Future], correlation: F64) -> DaskTable:
        return DaskTable(self._client, parts, self.shape, self._threads, correlation)

    def _each(self, method: str, *args: Any) -> list[Future]:
        """Start one task a part, where the part is."""
        # A worker runs as many tasks as it has threads; only where parts are fewer does a task use more.
        threads = self._threads // len(self._parts)
        # One message for all tasks: sent one by one, they take half as long again.
        same = [[value] * len(self._parts) for value in (method, threads, *args)]
        keys = [f"{method}-{uuid4().hex}" for _ in self._parts]
        return self._client.map(call, self._parts, *same, key=keys)

    def _sum(self, method: str, *args: Any) -> Any:
        return add_up(self._client, self._each(method, *args)).whole

    def _shared(self, array: F64) -> Future:
        """An array that every part needs: sent once, as a task, so that it too can be computed again."""
        return self._client.submit(np.array, array, key=f"shared-{uuid4().hex}")


def table_on_cluster(
    client: Client, shape: tuple[int, int], parts: Callable[[int, int], list[Future]]
) -> DaskTable:
    """A table of this shape, made of as many ``parts`` as suit the cluster and its threads."""
    wait_for_a_worker(client)
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    threads = max(1, sum(worker["nthreads"] for worker in workers))
    # A worker may be lost just after it was waited for: what is asked of the cluster waits for the next one.
    memory = sum(worker["memory_limit"] or np.inf for worker in workers) or np.inf
    table_bytes = 8.0 * shape[0] * shape[1]
    n_workers = max(1, len(workers))
    n_parts = max(n_workers, int(np.ceil(PARTS_A_WORKER * n_workers * table_bytes / memory)))
    if n_parts > n_workers:
        n_parts += -n_parts % threads  # so that no thread is left without a part
    return DaskTable(client, parts(n_parts, threads), shape, threads)


def add_up(client: Client, sums: Sequence[Future]) -> Any:
    """Gather and add in the order of the parts, so that the answer does not depend on who was first."""
    sums = list(sums)
    while len(sums) > GATHERED_AT_ONCE:
        groups = [sums[start : start + GATHERED_AT_ONCE] for start in range(0, len(sums), GATHERED_AT_ONCE)]
        sums = [client.submit(_total, group, key=f"total-{uuid4().hex}") for group in groups]
    wait_for(client, sums)
    return _total(client.gather(sums))


def wait_for(client: Client, futures: Sequence[Future]) -> None:
    """Until all are done. Lost workers may be replaced meanwhile; that none comes is an error.

    Raises
    ------
    WorkerStartTimeoutError : the cluster was without workers for SECONDS_WITHOUT_WORKERS.
    """
    while True:
        try:
            wait(futures, timeout=SECONDS_A_LOOK)
            return
        except TimeoutError:
            wait_for_a_worker(client)


def wait_for_a_worker(client: Client) -> None:
    client.wait_for_workers(1, timeout=SECONDS_WITHOUT_WORKERS)


def _total(sums: Sequence[Any]) -> Any:
    return reduce(add, sums)
