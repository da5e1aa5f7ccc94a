"""One thing to know about a table before it is fitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..wording import plural, quoted

NAMED_AT_MOST = 5


@dataclass(frozen=True)
class Finding:
    """What was found, and what deals with it.

    Attributes
    ----------
    name : of the kind of finding, one word or a few: stable, for programs.
    columns : that it is about.
    sentence : what was found and what to do, for people; names in it are safe on a terminal.
    options : arguments of ``rootcausal fit`` that deal with it, such as ("--drop", "time").
    in_line : whether the line that is proposed has these options; else they are the user's to decide.
    """

    name: str
    columns: tuple[str, ...]
    sentence: str
    options: tuple[tuple[str, ...], ...] = ()
    in_line: bool = False


def dropping(columns: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The options that leave columns out."""
    return tuple(("--drop", column) for column in columns)


def measured_after(columns: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """The options that leave out what was measured after the outcome, and remember why."""
    return tuple(("--after", column) for column in columns)


def columns_in_words(names: Sequence[str], detail: Callable[[str], str] | None = None) -> str:
    """``Column 'a'`` or ``Columns 'a', 'b' and 3 more``; ``detail`` is what to say in brackets of each."""
    shown = [quoted(name) + (f" ({detail(name)})" if detail else "") for name in names[:NAMED_AT_MOST]]
    rest = len(names) - len(shown)
    return (
        ("Column " if len(names) == 1 else "Columns ")
        + ", ".join(shown)
        + (f" and {plural(rest, 'other')}" if rest else "")
    )


def by_number(names: Sequence[str], one: str, many: str) -> str:
    """The word that fits one column, or many."""
    return one if len(names) == 1 else many
