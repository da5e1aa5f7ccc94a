"""Threads around compiled loops that release the GIL: Python's own, as many as numba says.

``numba.set_num_threads`` and NUMBA_NUM_THREADS say how many. They are few and shared by all callers, so
nobody waits for one to be free: work that is asked for within such work is done on the spot, and what no
thread has begun by the time that the caller is done with its own share, the caller does. A caller may hold a
lock that all of them wait for (``functools.cached_property`` has one, before Python 3.12).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

import numba

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
