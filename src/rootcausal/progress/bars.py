"""Progress of long work on standard error; nothing is drawn for fits and resamples of two seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..method.missing.imputation import IMPUTING
from ..method.ordering.ordering import OnRound
from .watching import tell

PATIENCE_SECONDS = 2.0
SECONDS_BEFORE_A_LINE = 15.0


@contextmanager
def ordering_progress() -> Iterator[OnRound]:
    """Yield what the ordering loop calls after each root; nothing is drawn for short fits.

    Where standard error is no terminal, lines say how far a long one is, ever more seldom.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[told]}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    )
    task = bar.add_task("ordering", total=None, told="")
    began, next_line = time.monotonic(), SECONDS_BEFORE_A_LINE

    def on_round(done: int, left: int | None, what: str = "ordering") -> None:
        nonlocal next_line
        elapsed = time.monotonic() - began
        if left is None:
            what, (total, told, line) = "nonlinear relations", _relations(done)
        elif what == IMPUTING:
            total, told, line = _imputing(done, left)
        else:
            total, told, line = _ordering(elapsed, done, left)
        tell(what, done, total)
        if console.is_terminal:
            if not bar.live.is_started and elapsed > PATIENCE_SECONDS:
                bar.start()
            bar.update(task, description=what, completed=done, total=total, told=told)
        elif left != 0 and elapsed > next_line:
            next_line = 2.0 * elapsed
            print(f"{what}: {line.format(after=_in_words(elapsed))}", file=sys.stderr, flush=True)

    try:
        yield on_round
    finally:
        if bar.live.is_started:
            bar.stop()


def _ordering(elapsed: float, found: int, left: int) -> tuple[int | None, str, str]:
    """How much there is to do, and how far it is: for a bar, and for a line now and then."""
    wait = f", at most about {_in_words(_most_seconds_left(elapsed, found, left))} more" if left else ""
    line = f"{found} of at most {found + left} columns have their place after {{after}}{wait}"
    # Candidates also leave by the t-test, so the total is an upper bound that comes down.
    return found + left, f"{found} roots, {left} candidates left{wait}", line


def _imputing(done: int, left: int) -> tuple[int | None, str, str]:
    """The same of the rounds of expectation-maximization, which may end before their limit."""
    told = f"round {done} of at most {done + left}"
    return done + left, told, f"{told} after {{after}}"


def _relations(fitted: int) -> tuple[int | None, str, str]:
    """The same of nonlinear relations, of which nobody knows how many have to be fitted."""
    told = f"{fitted:,} sets of causes fitted"
    return None, told, f"{told} after {{after}}"


def _most_seconds_left(elapsed: float, found: int, left: int) -> float:
    """A round compares at most every candidate with every other: what is left goes with the cube of these."""
    return elapsed * left**3 / max(1.0, (found + left) ** 3 - left**3)


def _in_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


@contextmanager
def counting_progress(enabled: bool, what: str, total: int, done: int) -> Iterator[Callable[[], None]]:
    """Yield what to call after each of ``total`` steps; nothing is drawn for short work."""
    steps = done

    def told() -> None:
        nonlocal steps
        steps += 1
        tell(what, steps, total)

    tell(what, done, total)
    if not enabled:
        yield told
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
        told()
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
