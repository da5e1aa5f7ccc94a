"""Names, paths and counts in messages: safe to show on a terminal, short, and grammatical."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import count, zip_longest
from os import PathLike
from string import Formatter
from typing import Any

# What is read of a name, however long it is.
LONGEST = 1000
# What rules may call the outcome, whatever its own name is.
OUTCOME = "outcome"


def printable(text: str) -> str:
    """Return `text` with control and direction characters spelled out: a terminal must not obey them."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def one_line(name: object, limit: int = 60) -> str:
    """Return a column name or cell for the screen: printable, on one line, not too long."""
    text = printable(str(name)).replace("\n", "\\n")
    return text if len(text) <= limit else f"{text[:limit]}..."


def shortened(names: Sequence[str], limit: int) -> list[str]:
    """Return names of at most so many letters, shortened in the middle; different ones stay different."""
    wanted = dict[str, list[str]]()
    for name in dict.fromkeys(names):
        wanted.setdefault(_without_middle(name, limit, limit // 2), []).append(name)
    found = {alike[0]: text for text, alike in wanted.items() if len(alike) == 1}
    taken = set(found.values())
    for alike in wanted.values():
        if len(alike) > 1:
            tries = _told_apart(alike, limit)
            texts = next(one for one in tries if len({*one}) == len(one) and taken.isdisjoint(one))
            taken.update(texts)
            found.update(zip(alike, texts, strict=True))
    return [found[name] for name in names]


def short_names(names: Iterable[object], limit: int = 40) -> list[str]:
    """Return names of columns for the screen: printable, on one line, not too long, and no two alike."""
    return shortened([one_line(name, LONGEST) for name in names], limit)


def _told_apart(alike: Sequence[str], limit: int) -> Iterator[list[str]]:
    """Ways to shorten names that begin and end alike, the best first: where they differ; numbered last."""
    head = limit // 3
    shared = next(place for place, letters in enumerate(zip_longest(*alike)) if len(set(letters)) > 1)
    start, room = max(shared - limit // 4, head), limit - head - 2
    yield [f"{name[:head].rstrip()}…{name[start : start + room].strip()}…" for name in alike]
    for tail in (*range(limit // 2, limit - 1), *range(limit // 2)):
        yield [_without_middle(name, limit, tail) for name in alike]
    for first in count(1):
        marks = [f" ({number})" for number in range(first, first + len(alike))]
        yield [
            _without_middle(name, limit - len(mark), limit // 2 - len(mark)) + mark
            for name, mark in zip(alike, marks, strict=True)
        ]


def _without_middle(name: str, limit: int, tail: int) -> str:
    if len(name) <= limit:
        return name
    return f"{name[: limit - 1 - tail].rstrip()}…{name[len(name) - tail :].lstrip()}"


def quoted(name: object, limit: int = 60) -> str:
    """Return a column name or cell for a message, in quotes."""
    return f"'{one_line(name, limit)}'"


def shown(path: str | PathLike[str]) -> str:
    """Return a path for a message."""
    return quoted(path, limit=200)


def listed(items: Sequence[str], limit: int = 5) -> str:
    """Join the first items with commas and say how many are left out."""
    rest = len(items) - limit
    return ", ".join(items[:limit]) + (f" and {rest} more" if rest > 0 else "")


def together(names: Sequence[str], limit: int = 60) -> str:
    """Return what to call covariates together: ``age, sex and site``, or how many where that is too long."""
    *first, last = (one_line(name, 40) for name in names)
    text = f"{', '.join(first)} and {last}" if first else last
    return text if len(text) <= limit or not first else plural(len(names), "covariate")


def plural(count: int, noun: str) -> str:
    """Return the count with its noun: ``1 row``, ``2 rows``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def share(part: float) -> str:
    """Return a share that the user gave, in percent with the digits given."""
    return f"{100 * part:.10g}%"


def percent(risk: float, prevalence: float | None = None) -> str:
    """Return a risk without calling it certain where rounding would; finer where the disease is rare."""
    if risk < 0.01:
        return "under 1%" if prevalence is None else "under 0.01%" if risk < 0.0001 else f"{100 * risk:.1g}%"
    return "over 99%" if risk > 0.99 else f"{risk:.0%}"


def amount(value: float) -> str:
    """Return a number for the screen, with four digits or all of those before the point: ``4,795``."""
    if not math.isfinite(value) or (value and not 1e-4 <= abs(value) < 1e12):
        return f"{value:.4g}"
    digits = 0 if not value else max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def plain(value: Any) -> Any:
    """Return a NumPy scalar as Python's own number, truth value or text; anything else as it is."""
    import numpy as np

    return value.item() if isinstance(value, np.generic) else value


def for_shell(argument: str) -> str | None:
    """Return an argument as sh, dash, bash, zsh and fish all read it; None where no text is read alike.

    That is so of what a terminal would obey, and of "!" beside a quote: an interactive shell may look into
    its history for it.
    """
    if not argument.isprintable() or ("!" in argument and "'" in argument):
        return None
    if _PLAIN.fullmatch(argument):
        return argument
    # In single quotes, fish takes a backslash for the beginning of an escape, and others do not.
    return "".join(_in_quotes(part) for part in re.split(r"(\\+|'+)", argument) if part) or "''"


def pasted(argument: str) -> str:
    """Return an argument in a message: as shells read it or, where they cannot, spelled out and harmless."""
    return for_shell(argument) or for_shell(one_line(argument, LONGEST).replace("!", "?")) or "''"


# Of what other shells leave alone, zsh expands a leading "=", and some a leading "~" or "%".
_PLAIN = re.compile(r"[A-Za-z0-9_@+:,./-][A-Za-z0-9_@%+=:,./-]*")


def _in_quotes(part: str) -> str:
    if part[0] == "'":
        return f'"{part}"'
    if part[0] == "\\":
        return '"' + part.replace("\\", "\\\\") + '"'
    return f"'{part}'"


def p_in_words(p_value: float) -> str:
    """A p-value."""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"


def filled(text: str, **facts: Any) -> str:
    """A text with its facts, for which there are some formats beside Python's own.

    ``{n:# event}`` is the count with its noun; ``{names:it is|they are}`` the first where it is one, or true;
    ``{p:p}`` the p-value in words; ``{names}`` columns in quotes, five at most, and ``{names:3}`` three;
    ``{name:q}`` one in quotes, and ``{name:name}`` without.
    """
    return _FILLED.vformat(text, (), facts)


class _Filled(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if "|" in format_spec:
            one, other = format_spec.split("|")
            return one if (len(value) if isinstance(value, tuple) else value) == 1 else other
        if format_spec.startswith("# "):
            return plural(int(value), format_spec[2:])
        if format_spec == "p":
            return p_in_words(value)
        if format_spec == "q":
            return quoted(value, 40)
        if format_spec == "name":
            return one_line(value, 40)
        if isinstance(value, tuple):
            return listed([quoted(name, 40) for name in value], int(format_spec or 5))
        return str(format(value, format_spec))


_FILLED = _Filled()
