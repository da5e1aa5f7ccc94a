"""One thread for linear algebra, while anybody asks for it: its sums depend on the number of threads.

The number belongs to the whole process. Blocks that overlap in several threads must therefore not each
put back what they found: the first sets it, and the last to leave restores it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_holders = 0
_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within it, linear algebra stays on one thread, since its sums depend on the number of threads."""
    global _holders, _limit
    with _lock:
        if not _holders:
            _let_any_thread_set()
            _limit = _libraries().limit(limits=1)
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if not _holders:
                _let_any_thread_set()
                _limit.restore_original_limits()
                _let_any_thread_set()


def _let_any_thread_set() -> None:
    """Newer threadpoolctl obeys only the first thread that set a number, for as long as it lives."""
    for library in _libraries().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


@cache
def _libraries() -> ThreadpoolController:
    # Finding them takes longer than a small fit.
    return ThreadpoolController().select(user_api="blas")
