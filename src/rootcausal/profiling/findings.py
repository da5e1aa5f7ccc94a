"""One thing to know about a table before it is fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..wording import filled, plural, quoted

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


def about(
    name: str,
    found: Sequence[str] | Mapping[str, str],
    text: str,
    option: str = "--drop",
    in_line: bool = True,
    value: str = "",
    **facts: Any,
) -> list[Finding]:
    """One finding of some columns, and what is said of each in brackets; none where there are none.

    Parameters
    ----------
    name : of the kind of finding.
    found : the columns, or what to say of each.
    text : for :func:`~..wording.filled`, with its own ``facts``, ``{columns}`` and, to choose words by their
        number, ``{names}``.
    option : that deals with each of them, if there is one; ``value`` stands behind the column's name.
    """
    names = tuple(found)
    if not names:
        return []
    detail = found.__getitem__ if isinstance(found, Mapping) else None
    sentence = filled(text, columns=columns_in_words(names, detail), names=names, **facts)
    options = tuple((option, f"{one}{value}") for one in names) if option else ()
    return [Finding(name, names, sentence, options, in_line)]


def columns_in_words(names: Sequence[str], detail: Callable[[str], str] | None = None) -> str:
    """``Column 'a'`` or ``Columns 'a', 'b' and 3 more``; ``detail`` is what to say in brackets of each."""
    details = [detail(name) if detail else "" for name in names[:NAMED_AT_MOST]]
    shown = [quoted(name) + (f" ({one})" if one else "") for name, one in zip(names, details, strict=False)]
    rest = len(names) - len(shown)
    return (
        ("Column " if len(names) == 1 else "Columns ")
        + ", ".join(shown)
        + (f" and {plural(rest, 'other')}" if rest else "")
    )
