"""What files say of the causal order, as the fields of :class:`rootcausal.Knowledge`."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..files.knowledge_file import (
    fields_of_json,
    is_json,
    is_tetrad,
    naming,
    tetrad_of_text,
    text_of_file,
)
from ..wording import quoted, shown
from .contradictions import without_circles


def fields_of_file(path: str | PathLike[str]) -> dict[str, Any]:
    """The fields that a file of either kind gives; contradictions among them are not looked for."""
    text = text_of_file(path)
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
    return _fields_of_tetrad(path, text_of_file(path))


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
