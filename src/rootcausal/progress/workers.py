"""Worker processes that leave Ctrl-C to the process that started them, and end when it has ended."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from multiprocessing import resource_tracker
from typing import Any

from joblib import Parallel, effective_n_jobs

SECONDS_BETWEEN_LOOKS = 1.0


def in_workers(
    tasks: Iterable[Any], n_jobs: int | None, return_as: str = "generator", **options: Any
) -> Generator[Any, None, None]:
    """Yield the results of joblib's delayed calls; ``options`` are those of joblib.Parallel."""
    parallel = Parallel(n_jobs=n_jobs, return_as=return_as, initializer=end_with_parent, **options)
    with parallel, ExitStack() as stack:
        with nullcontext() if effective_n_jobs(n_jobs) == 1 else _interrupts_held_back():
            results = parallel(tasks)  # starts the workers
        stack.callback(_give_up, results)
        for result in results:  # noqa: UP028 ("yield from" would close the results itself)
            yield result


def _give_up(results: Any) -> None:
    with warnings.catch_warnings():
        # That some tasks were done in vain is no news to whoever stopped the work.
        warnings.simplefilter("ignore", UserWarning)
        results.close()


def end_with_parent() -> None:
    """Let this process end soon after its parent, which a SIGKILL keeps from ending it."""
    threading.Thread(target=_wait_for_end_of, args=(os.getppid(),), daemon=True).start()


def _wait_for_end_of(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os._exit(1)


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Processes that are started meanwhile never hear Ctrl-C, of which each would print a traceback."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    # Whatever starts this one lets interrupts through afterwards, so not while they are held back.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
