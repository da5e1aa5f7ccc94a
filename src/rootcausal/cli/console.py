"""What commands print: safe lines on the terminal, warnings as single lines, a status for slow work."""

import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

from ..wording import printable

SECONDS_BEFORE_STATUS = 2.0


def say(text: str = "") -> None:
    """Print a line whose control characters cannot act on the terminal."""
    typer.echo(printable(text))


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print each UserWarning as one line on stderr, and no place in the code."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        typer.echo(f"warning: {printable(' '.join(str(message).split()))}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; its cells are data, in which nothing may act as markup or turn into an emoji."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*header, box=box.SIMPLE)
    for row in rows:
        table.add_row(*row)
    width = None if sys.stdout.isatty() else 110
    Console(markup=False, emoji=False, highlight=False, width=width).print(table)


@contextmanager
def status_if_slow(text: str) -> Iterator[None]:
    """Show what is being done once it has taken two seconds."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.text import Text

    status = Console(stderr=True).status(Text(text))
    timer = threading.Timer(SECONDS_BEFORE_STATUS, status.start)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()
