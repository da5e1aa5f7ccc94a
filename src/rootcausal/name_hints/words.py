"""The words of a column's name."""

from __future__ import annotations

import re


def words(text: str) -> frozenset[str]:
    """The words of a text: a set that reads as one."""
    return frozenset(text.split())


def tokens(name: str) -> list[str]:
    """The words of a name, in lower case: ``vitalStatus_2`` is vital, status, 2.

    No word that is looked for has letters beyond a to z, but such letters belong to the word they stand in.
    """
    plain = name if name.isascii() else "".join(map(_ascii, name))
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", plain)]


def _ascii(character: str) -> str:
    if character.isascii() or not character.isalpha():
        return character
    return "X" if character.isupper() else "x"
