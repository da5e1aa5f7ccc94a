"""Files that say what is known of the causal order: our own JSON, and Tetrad's knowledge files.

What they say is handed on as it stands: :class:`rootcausal.Knowledge` checks it.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from ..errors import InputError
from ..wording import listed, quoted, shown
from .tables import refuse_streams

# A million rules; Python needs several times as much for what is in them.
MOST_BYTES = 64 << 20

FIELDS = ("first", "tiers", "causes", "not_causes", "covariates")
SECTIONS = ("addtemporal", "forbiddirect", "requiredirect")
GROUPS = {"forbiddengroup": "forbiddirect", "requiredgroup": "requiredirect"}
MOST_DIGITS = 9
_LINE = re.compile(r"\r\n|\r|\n")
_TOKEN = re.compile(r'"([^"]*)"|(\S+)')


def text_of_file(path: str | PathLike[str]) -> str:
    """The text of a small file in UTF-8."""
    if os.path.isdir(path):
        raise InputError(f"cannot read {shown(path)}: it is a folder.")
    refuse_streams(path)
    try:
        with open(path, "rb") as handle:
            content = handle.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"cannot read {shown(path)}: there is no such file.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot read {shown(path)}: {reason or error}.") from None
    if len(content) > MOST_BYTES:
        raise InputError(f"{shown(path)} is larger than {MOST_BYTES >> 20} MiB, as no such file is.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{shown(path)} is no text in UTF-8: save it as such.") from None


def is_json(text: str) -> bool:
    """Whether a text holds a JSON object, and no path or Tetrad's knowledge."""
    return text.lstrip("\ufeff \t\r\n").startswith("{")


@contextmanager
def naming(path: str | PathLike[str]) -> Iterator[None]:
    """Say in which file it is that something is wrong."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{shown(path)}: {error}") from None


def fields_of_json(text: str) -> dict[str, list[Any]]:
    """The fields of a JSON object, whose keys are checked."""
    try:
        found = json.loads(text.lstrip("\ufeff"), object_pairs_hook=_without_repeats)
    except InputError:
        raise
    except json.JSONDecodeError as error:
        raise InputError(f"this is no JSON: {error.msg} in line {error.lineno}") from None
    except (RecursionError, ValueError):  # nested too deeply, or a number of thousands of digits
        raise InputError("this JSON is none that says what is known") from None
    if not isinstance(found, dict):
        raise InputError('this JSON is no object, as in {"first": ["age", "sex"]}')
    strange = [quoted(key) for key in found if key not in FIELDS]
    if strange:
        raise InputError(f"unknown key {listed(strange)}: the keys are {', '.join(FIELDS)}")
    for key, value in found.items():
        if not isinstance(value, list):
            raise InputError(f"{key} must be a list, not {quoted(json.dumps(value))}")
    return found


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    twice = [quoted(key) for key, count in Counter(key for key, _ in pairs).items() if count > 1]
    if twice:
        raise InputError(f"the key {listed(twice)} is there more than once: join what it holds")
    return dict(pairs)


@dataclass
class TetradKnowledge:
    """What a knowledge file of Tetrad says.

    Attributes
    ----------
    tiers : columns of each tier, by its number.
    forbidden, required : pairs (cause, effect) of columns, each with its line.
    """

    tiers: dict[int, list[str]] = field(default_factory=dict)
    forbidden: dict[tuple[str, str], int] = field(default_factory=dict)
    required: dict[tuple[str, str], int] = field(default_factory=dict)


def tetrad_of_text(text: str, note: Callable[[], AbstractContextManager[None]]) -> TetradKnowledge:
    """What a file of Tetrad says; ``note`` is a context in which a line may be refused."""
    found, section = TetradKnowledge(), ""
    for number, line in enumerate(_LINE.split(text), start=1):
        tokens = [quote or word for quote, word in _TOKEN.findall(line)]
        if not tokens or tokens[0].startswith("//") or tokens == ["/knowledge"]:
            continue
        if len(tokens) == 1 and tokens[0].lower() in (*SECTIONS, *GROUPS):
            section = tokens[0].lower()
            with note():
                if section in GROUPS:
                    raise InputError(
                        f"line {number}: {section} is not read here: write its pairs under {GROUPS[section]}"
                    )
        elif section not in GROUPS:
            with note():
                _take(found, section, tokens, number)
    return found


def _take(found: TetradKnowledge, section: str, tokens: list[str], number: int) -> None:
    if not section:
        raise InputError(
            f"line {number}: {quoted(tokens[0])} where one of {', '.join(SECTIONS)} should stand: "
            "is this a knowledge file of Tetrad?"
        )
    if section == "addtemporal":
        tier, *columns = tokens
        if tier.endswith("*"):
            raise InputError(
                f"line {number}: tier {quoted(tier)} forbids arrows within it, which no causal order can: "
                "remove the star, or take its columns for covariates, which are not searched"
            )
        if not (tier.isascii() and tier.isdigit() and len(tier) <= MOST_DIGITS):
            raise InputError(f"line {number}: {quoted(tier)} is no number of a tier, as in: 1 age sex")
        found.tiers.setdefault(int(tier), []).extend(columns)
        return
    if len(tokens) != 2:
        raise InputError(f"line {number}: {section} takes two columns a line, and here are {len(tokens)}")
    pairs = found.forbidden if section == "forbiddirect" else found.required
    pairs.setdefault((tokens[0], tokens[1]), number)
