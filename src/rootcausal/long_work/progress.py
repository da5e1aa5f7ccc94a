"""Progress bars on standard error for long work; nothing is drawn for fits and resamples of two seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..core.ordering import OnRound

PATIENCE_SECONDS = 2.0


@contextmanager
def ordering_progress() -> Iterator[OnRound]:
    """Yield what the ordering loop calls after each root; nothing is drawn for short fits."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("ordering"),
        BarColumn(),
        TextColumn("{task.completed} roots, {task.fields[left]} candidates left"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("ordering", total=None, left=0)
    began = time.monotonic()

    def on_round(found: int, left: int) -> None:
        if not bar.live.is_started and time.monotonic() - began > PATIENCE_SECONDS:
            bar.start()
        # Candidates also leave by the t-test, so the total is an upper bound that comes down.
        bar.update(task, completed=found, total=found + left, left=left)

    try:
        yield on_round
    finally:
        bar.stop()


@contextmanager
def counting_progress(enabled: bool, what: str, total: int, done: int) -> Iterator[Callable[[], None]]:
    """Yield what to call after each of ``total`` steps; nothing is drawn for short work."""
    if not enabled:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn(what),
        BarColumn(),
        TextColumn("{task.completed} of {task.total}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(what, total=total, completed=done)
    began = time.monotonic()

    def advance() -> None:
        if not bar.live.is_started and time.monotonic() - began > PATIENCE_SECONDS:
            bar.start()
        bar.advance(task)

    try:
        yield advance
    finally:
        bar.stop()


@contextmanager
def share_progress(enabled: bool, what: str, total: float) -> Iterator[Callable[[float], None]]:
    """Yield what to call with the size of each finished piece of ``total``: the bar shows the time left."""
    if not enabled:
        yield lambda size: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = TextColumn(what), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    # Pieces of many sizes: only a long window gives a steady estimate.
    with Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=600) as bar:
        task = bar.add_task(what, total=total)
        yield lambda size: bar.advance(task, size)
