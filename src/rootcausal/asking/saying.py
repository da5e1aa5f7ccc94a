"""How to say what names suggest: as options of ``rootcausal fit``, as a file, and in Python."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..wording import for_shell, listed, one_line, pasted
from .suggestion import Suggestion

# Longer names, or texts, are not written out: nobody could read them, and a file holds them as well.
LONGEST_NAME = 200
LONGEST_TEXT = 20_000
NAMES_SHORTENED = 5
FILE = "known.json"


def options(suggestion: Suggestion) -> list[list[str]] | None:
    """Arguments such as ``["--first", "age,sex"]``; None where a name cannot stand in one."""
    fields = suggestion.added
    if not all(map(_fits, _names(fields))):
        return None
    found = [["--first", ",".join(fields["first"])]] if "first" in fields else []
    if "tiers" in fields:
        found.append(["--tiers", " < ".join(map(",".join, fields["tiers"]))])
    return found if sum(len(text) for _, text in found) <= LONGEST_TEXT else None


def as_option(suggestion: Suggestion) -> str:
    """What to add to ``rootcausal fit``, ready to paste into a shell; else what to write into a file."""
    found = options(suggestion)
    if found is not None:
        return " ".join(f"{option} {pasted(text)}" for option, text in found)
    return f"--knowledge {FILE}, a file with {in_file(suggestion)}"


def in_file(suggestion: Suggestion) -> str:
    """The content of a file for ``--knowledge``, with all that was given."""
    if _too_long(suggestion):
        return f"{_shortened(suggestion)} (names shortened here)"
    # The one character of ASCII that JSON leaves as it is, and a terminal does not show.
    return json.dumps(suggestion.knowledge).replace("\x7f", "\\u007f")


def in_python(suggestion: Suggestion) -> str:
    """The parameter of ``RCI`` that says the same."""
    if _too_long(suggestion):
        return f"knowledge=Knowledge(...) with {_shortened(suggestion)} (names shortened here)"
    fields = ", ".join(f"{field}={_literal(value)}" for field, value in suggestion.knowledge.items())
    return f"knowledge=Knowledge({fields})"


def _fits(name: str) -> bool:
    """Whether a name can stand between commas, and between ``<``, in any shell."""
    plain = name == name.strip() and not set(name) & set(',<"') and for_shell(name) is not None
    return bool(name) and plain and len(name) <= LONGEST_NAME


def _too_long(suggestion: Suggestion) -> bool:
    text = json.dumps(suggestion.knowledge)
    return len(text) > LONGEST_TEXT or any(len(name) > LONGEST_NAME for name in _names(suggestion.knowledge))


def _names(value: Any) -> list[str]:
    """All texts in lists of lists."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value
    return [name for one in inner for name in _names(one)]


def _shortened(suggestion: Suggestion) -> str:
    def few(names: Sequence[str]) -> str:
        return listed([one_line(name, 30) for name in names], NAMES_SHORTENED)

    fields = suggestion.added
    said = [f"first: {few(fields['first'])}"] if "first" in fields else []
    if "tiers" in fields:
        said.append(f"tiers: {' < '.join(map(few, fields['tiers']))}")
    return "; ".join(said)


def _literal(value: Any) -> str:
    """As Python reads it back, in characters that a terminal shows and does not obey."""
    if isinstance(value, str):
        return json.dumps(value) if value.isascii() and value.isprintable() else ascii(value)
    return f"[{', '.join(map(_literal, value))}]"
