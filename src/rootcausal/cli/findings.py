"""What the checks of a model found: in full, or in one line where something is not to be read."""

import re
import sys
import textwrap
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import typer

from ..wording import one_line
from .console import say

if TYPE_CHECKING:
    from ..diagnostics import Diagnosis

# Where the text of a line starts: behind the verdict or the space below it, or behind the mark of a list.
BEFORE_TEXT = re.compile(r"[A-Z ]{13}| *(?:- )?")
NARROWEST = 40
LIMIT_LETTERS = 240


def say_findings(diagnosis: "Diagnosis") -> None:
    """Print every check; on a terminal long lines are broken below their start, in files they stay whole."""
    for line in diagnosis.to_text().splitlines():
        say(broken_up(line, get_terminal_size().columns) if sys.stdout.isatty() else line)


def broken_up(line: str, width: int) -> str:
    """Return a line in pieces of this width; those that follow start below the text of the first."""
    start = BEFORE_TEXT.match(line)
    indent = " " * (start.end() if start else 0)
    pieces = textwrap.wrap(
        line,
        max(width, NARROWEST),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(pieces)


def warn_of_limits(diagnosis: "Diagnosis", who: str) -> None:
    """Print a line on stderr where the checks say that something is not to be read.

    ``who`` says the rest, such as "the page".
    """
    broken = [check for check in diagnosis.limits if check.reading == "do not read"]
    if broken:
        limit = one_line(broken[0].limit, LIMIT_LETTERS)
        more = f"{len(broken) - 1} more like this; " if len(broken) > 1 else ""
        typer.echo(f"warning: the checks say: {limit} ({more}{who} says why, and what to do)", err=True)
