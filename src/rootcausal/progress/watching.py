"""Who watches long work from outside is told how far it is."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import TextIO

#: Called with what is done, how many steps of it are, and how many there will be: None where nobody knows.
Watcher = Callable[[str, int, int | None], None]

# Begins a line that is for programs. No text of ours has it: control characters of names are spelled out.
MARK = "\x1e"

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


def watched_by(watcher: Watcher | None) -> None:
    """Let work that follows tell this one."""
    _watcher.set(watcher)


def tell(what: str, done: int = 0, total: int | None = None) -> None:
    """Tell whoever watches, if anybody does."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(what, done, total)


def lines_to(stream: TextIO | None = None) -> Watcher:
    """Return what writes a line of JSON behind a mark, to standard error unless another stream is given."""

    def write(what: str, done: int, total: int | None) -> None:
        line = json.dumps({"what": what, "done": done, "total": total})
        print(f"{MARK}{line}", file=stream or sys.stderr, flush=True)

    return write
