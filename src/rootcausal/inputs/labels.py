"""Words in cells that everybody reads alike: yes and no."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..files.cells import may_be_a_level, says_missing
from ..name_hints.columns import tokens, words

# Shorter words in the name of a column are no topic that a label could repeat.
LETTERS_OF_A_TOPIC = 4
# Pairs of labels, (no, yes), that everybody reads alike: what they answer is in the name of their column.
ANSWERS = (("0", "1"), ("-1", "1"), ("false", "true"), ("no", "yes"), ("n", "y"))
_ANSWERS = frozenset(text for pair in ANSWERS for text in pair)
# Words that say themselves that somebody is ill, or is not; a label may have others beside them.
_ILL = words(
    "yes case cases dead died death deceased positive pos malignant cancer ill sick diseased event relapse "
    "relapsed recurrence recurred present true affected abnormal"
)
_WELL = words(
    "no none control controls healthy normal negative neg alive live living lived survived survivor "
    "survivors survival censored censor benign absent false unaffected"
)
# An end that is hoped for may be the event, or what the healthy have; and who is lost is neither.
_EITHER = words(
    "remission remitted recovered recovery cured cure improved improvement healed healing resolved "
    "resolution discharged discharge responder responders response respond responded success successful "
    "better extubated extubation weaned abstinent abstinence lost withdrawn"
)
# Words that answer what the name of their column asks, and say nothing else.
_ANSWER_ONLY = words("yes no y n none true false present absent positive negative pos neg")
# Before a word, or glued to it, these turn it round: no relapse, not dead, notckd; so does "free" behind it.
_NOT = ("not", "non", "no", "without", "never")
# Under these names 0 and 1 are two groups, and may be either way round: volunteers may be group 1.
_GROUPS = words("group groups grp cohort arm sex gender")
# By such a name, or one of survival and censoring, 1 may stand for those who are well.
_ASKS_WHO_IS_WELL = words(
    "alive living healthy health well normal control controls benign independent independence suppressed "
    "suppression cleared clearance fit intact ambulatory immune"
)


def place_of_disease(labels: Iterable[Any], name: str = "") -> int | None:
    """Which label says itself that it is the disease, or the event: its place; None where none or two do.

    Labels that only answer what the ``name`` of their column asks, such as 0 and 1, say nothing where that
    may be who is well, or no more than that there are groups. The one label that is named like its column is
    the disease, and so is what another negates, as in ckd and notckd, and the other of two where one says
    that somebody is well.
    """
    texts = [text_of(label).strip().casefold() for label in labels]
    for no, yes in ANSWERS:
        if sorted(texts) == sorted((no, yes)):
            numbered = no == "0" and bool(_GROUPS & {*tokens(name)})
            return None if asks_who_is_well(name) or numbered else texts.index(yes)
    said = _meanings(texts, name)
    if said.count("ill") == 1:
        return said.index("ill")
    return 1 - said.index("well") if sorted(said) == ["", "well"] else None


def place_of_health(labels: Iterable[Any], name: str = "") -> int | None:
    """Which label says itself that somebody is well; None where none or two do."""
    said = _meanings([text_of(label).strip().casefold() for label in labels], name)
    return said.index("well") if said.count("well") == 1 else None


def says_ill(label: str) -> bool | None:
    """Whether a label by itself says that somebody is ill or dead, or is not; None where it says neither."""
    return {"ill": True, "well": False}.get(_meaning(tokens(label), frozenset(), frozenset()))


def is_known(label: str) -> bool:
    """Whether all words of a label, in small letters, mean the same to everybody."""
    found = {word for word in tokens(label) if not word.isdigit()}
    return label in _ANSWERS or (bool(found) and found <= _ILL | _WELL)


def asks_who_is_well(name: str) -> bool:
    """Whether a column by its name may say who is well, alive or censored, so that 1 is not the disease."""
    parts = tokens(name)
    if (_ASKS_WHO_IS_WELL | _EITHER) & {*parts} or _meaning(parts, frozenset(), frozenset()) == "well":
        return True
    # Success or failure: intubation_S_F.
    if "sf" in parts[1:] or ("s", "f") in pairwise(parts):
        return True
    return any(
        (part.startswith(("cens", "surviv")) and not part.startswith("census")) or part.endswith("free")
        for part in parts
    )


def _meanings(texts: Sequence[str], name: str) -> list[str]:
    """Of each label "ill", "well", "either" where it may be the one or the other, or nothing."""
    split = [tokens(text) for text in texts]
    asked = frozenset(word for word in tokens(name) if len(word) >= LETTERS_OF_A_TOPIC)
    of_the_well, found = asks_who_is_well(name), []
    for text, parts in zip(texts, split, strict=True):
        others = frozenset(word for other in split if other is not parts for word in other)
        nobody_knows = says_missing(text) and not may_be_a_level(text)
        answers = of_the_well and bool(parts) and _ANSWER_ONLY.issuperset(parts)
        found.append("either" if nobody_knows or answers else _meaning(parts, others, asked))
    return found


def _meaning(found: Sequence[str], others: frozenset[str], asked: frozenset[str]) -> str:
    """What the words of a label say, beside those of the other labels and those of the column's name."""
    known = {word for word in found if not word.isdigit()}
    bare, turned = known - {*_NOT, "free"}, False
    for word in known:
        glued = next((word.removeprefix(one) for one in _NOT if word.startswith(one)), word)
        if glued != word and glued in (others | _ILL | _WELL):
            bare, turned = (bare - {word}) | {glued}, True
    turned |= bool(bare) and bool(known & {*_NOT, "free"})
    ill, well = bool(bare & (_ILL | asked - _WELL - _EITHER)), bool(bare & _WELL)
    if bare & _EITHER and not (ill or well):
        return "either"
    # What is negated without being known is a disease where another label is the same without the "not".
    if turned and not (ill or well):
        return "well" if bare & others else "either"
    if not turned and not (ill or well) and any(one + word in others for one in _NOT for word in bare):
        return "ill"
    if ill == well:
        return "well" if known & {"no"} and not bare else ""
    return "ill" if ill != turned else "well"


def text_of(label: Any) -> str:
    """A label or level as it is written in a file: true, 1, yes."""
    if isinstance(label, bool | np.bool_):
        return str(label).lower()
    return (
        f"{label:.0f}" if isinstance(label, float | np.floating) and float(label).is_integer() else str(label)
    )
