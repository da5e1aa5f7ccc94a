"""Files that say what is known of the causal order: our own JSON, and Tetrad's knowledge files.

What they say is handed on as it stands: :class:`rootcausal.Knowledge` checks it. A wrong file may hold
patients, so a message quotes nothing of it but what is clearly meant as a rule or its key.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..wording import listed, quoted, shown
from .contradictions import without_circles

FIELDS = ("first", "tiers", "causes", "not_causes", "covariates")
KNOWLEDGE, SECTIONS = "/knowledge", ("addtemporal", "forbiddirect", "requiredirect")
MOST_DIGITS = 9
LINES_NAMED = 3
_LINE = re.compile(r"\r\n|\r|\n")
# A name in quotes, a comment up to the end of the line, or a word. A sign that a word begins with is part of
# a name such as #rbc, unless the line begins with it.
_TOKEN = re.compile(r'"([^"]*)"|((?://|#(?=\s|$)|^\s*#).*)|(\S+)')
_GROUP = re.compile(r"(forbid|requir)\w*group\w*")
_WORDS = {dict: "an object", str: "a text", bool: "true or false", type(None): "null"}


def text_of_known(path: str | PathLike[str]) -> str:
    """The text of a file that says something."""
    from ..files.tables import text_of_file

    text = text_of_file(path)
    if not text.strip():
        raise InputError(f"{shown(path)} holds nothing.")
    return text


def is_json(text: str) -> bool:
    """Whether a text is meant as JSON, and no path or Tetrad's knowledge."""
    return text.lstrip("\ufeff \t\r\n").startswith(("{", "["))


def is_tetrad(text: str) -> bool:
    """Whether the first line of a text, but for comments, is a keyword of Tetrad."""
    first = next((words for _, words in _lines(text)), [""])
    return len(first) == 1 and _is_keyword(first[0].lower())


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
    strange = [key for key in found if key not in FIELDS]
    keys = f"the keys are {', '.join(FIELDS)}"
    if strange and len(strange) == len(found) and not any(map(_is_slip, strange)):
        raise InputError(f"this JSON is about something else: {keys}")
    if strange:
        raise InputError(f"unknown key {listed([quoted(key) for key in strange])}: {keys}")
    for key, value in found.items():
        if not isinstance(value, list):
            raise InputError(f"{key} must be a list, not {_WORDS.get(type(value), 'a number')}")
    return found


def _is_slip(key: str) -> bool:
    """Whether one of our keys was meant."""
    return bool(difflib.get_close_matches(key[:20].lower(), FIELDS, n=1, cutoff=0.75))


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
    if twice:
        ours = [f"the key {quoted(key)}" for key in twice if key in FIELDS]
        raise InputError(f"{listed(ours or ['a key'])} is there more than once: join what it holds")
    return dict(pairs)


@dataclass
class TetradKnowledge:
    """What a knowledge file of Tetrad says.

    Attributes
    ----------
    tiers : columns of each tier, by its number.
    forbidden, required : pairs (cause, effect) of columns, each with its line.
    wrong : what is wrong, with the numbers of its lines.
    """

    tiers: dict[int, list[str]] = field(default_factory=dict)
    forbidden: dict[tuple[str, str], int] = field(default_factory=dict)
    required: dict[tuple[str, str], int] = field(default_factory=dict)
    wrong: dict[str, list[int]] = field(default_factory=dict)

    def note(self, sentence: str, number: int) -> None:
        """Keep what is wrong with a line; the sentence quotes nothing of it."""
        self.wrong.setdefault(sentence, []).append(number)

    def refuse(self) -> None:
        """Raise one InputError with all that was noted, if anything was."""
        if self.wrong:
            raise InputError(*(f"{_numbers(lines)}: {sentence}" for sentence, lines in self.wrong.items()))


def tetrad_of_text(text: str) -> TetradKnowledge:
    """What a file of Tetrad says, and what is wrong with its lines."""
    if not is_tetrad(text):
        raise InputError(f"this is no knowledge file of Tetrad, which begins with {KNOWLEDGE}")
    found, section = TetradKnowledge(), ""
    for number, words in _lines(text):
        keyword = words[0].lower() if len(words) == 1 else ""
        if keyword == KNOWLEDGE:
            continue
        if _GROUP.fullmatch(keyword):
            section = "group"
            found.note(
                "groups are not supported: write their pairs under forbiddirect or requiredirect", number
            )
        elif keyword in SECTIONS:
            section = keyword
        elif keyword.startswith("/"):
            found.note(f"another part than {KNOWLEDGE} begins here: leave it out", number)
            break
        elif section == "addtemporal":
            _take_tier(found, words, number)
        elif section != "group":
            _take_pair(found, section, words, number)
    return found


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """The number and the words of each line that has any, without comments."""
    for number, line in enumerate(_LINE.split(text.lstrip("\ufeff")), start=1):
        words = [quote or word for quote, comment, word in _TOKEN.findall(line) if not comment]
        if words:
            yield number, words


def _is_keyword(word: str) -> bool:
    return word == KNOWLEDGE or word in SECTIONS or _GROUP.fullmatch(word) is not None


def _take_tier(found: TetradKnowledge, words: list[str], number: int) -> None:
    tier, *columns = words
    digits = tier.rstrip("*-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS):
        found.note("a tier begins with its number, as in: 1 age sex", number)
    elif "*" in tier:
        found.note(
            "a star forbids arrows within the tier, which no causal order can: remove the star, or take its "
            "columns for covariates, which are not searched",
            number,
        )
    elif "-" in tier:
        found.note(
            "a minus lets a tier cause the next one only, which no causal order can say: remove it", number
        )
    else:
        found.tiers.setdefault(int(digits), []).extend(columns)


def _take_pair(found: TetradKnowledge, section: str, words: list[str], number: int) -> None:
    if not section:
        found.note(f"one of {', '.join(SECTIONS)} has to come before it", number)
    elif len(words) != 2:
        found.note(f"{section} takes two columns a line; names with blanks need quotes", number)
    else:
        pairs = found.forbidden if section == "forbiddirect" else found.required
        pairs.setdefault((words[0], words[1]), number)


def _numbers(lines: list[int]) -> str:
    """``line 3``, or ``lines 3, 5, 7 and 12 more``."""
    return f"line{'s' if len(lines) > 1 else ''} {listed([str(number) for number in lines], LINES_NAMED)}"


def fields_of_file(path: str | PathLike[str]) -> dict[str, Any]:
    """The fields that a file of either kind gives; contradictions among them are not looked for."""
    text = text_of_known(path)
    if is_json(text) or Path(path).suffix.lower() == ".json":
        with naming(path):
            return fields_of_json(text)
    if not is_tetrad(text):
        raise InputError(
            f"{shown(path)} is neither JSON as Knowledge.to_json writes it, nor a knowledge file of Tetrad."
        )
    return _fields_of_tetrad(path, text)


def fields_of_tetrad(path: str | PathLike[str]) -> dict[str, Any]:
    """The same of Tetrad's knowledge; a warning says which arrows are forbidden in a circle, and not used."""
    return _fields_of_tetrad(path, text_of_known(path))


def _fields_of_tetrad(path: str | PathLike[str], text: str) -> dict[str, Any]:
    with naming(path):
        found = tetrad_of_text(text)
        tier_of = {name: tier for tier, names in found.tiers.items() for name in names}
        against = [
            (pair, number)
            for pair, number in found.forbidden.items()
            if tier_of.get(pair[0], np.inf) < tier_of.get(pair[1], -np.inf)
        ]
        if against:
            (cause, effect), _ = against[0]
            sentence = (
                f"a column of an earlier tier is forbidden to cause one of a later tier, such as "
                f"{quoted(cause)} to cause {quoted(effect)}, and no causal order can say so: remove that"
            )
            for _, number in against:
                found.note(sentence, number)
        found.refuse()
    return {
        "tiers": [found.tiers[number] for number in sorted(found.tiers) if found.tiers[number]],
        "causes": list(found.required),
        "not_causes": without_circles(list(found.forbidden)),
    }
