"""Labels that mean the same: several that are the disease, or numbers by a rule such as ``>=1``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InputError
from ..wording import listed, plain, quoted
from .labels import text_of
from .rules import NAMED_AT_MOST

_RULE = re.compile(r"\s*(>=|<=|>|<)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*")
_HOLDS: dict[str, Callable[[Any, float], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_OPPOSITE = {">=": "<", "<": ">=", ">": "<=", "<=": ">"}
OR = " or "


@dataclass(frozen=True)
class Rule:
    """Numbers on one side of a limit, such as ``>=1``."""

    sign: str
    limit: float

    @classmethod
    def of(cls, text: Any) -> Rule | None:
        """None of a text that is none."""
        found = _RULE.fullmatch(text) if isinstance(text, str) else None
        return None if found is None else cls(found[1], float(found[2]))

    @property
    def name(self) -> str:
        return f"{self.sign}{self.limit:g}"

    @property
    def opposite(self) -> str:
        """What the other numbers are called."""
        return f"{_OPPOSITE[self.sign]}{self.limit:g}"

    def holds(self, numbers: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        return np.asarray(_HOLDS[self.sign](numbers.astype(np.float64), self.limit), dtype=bool)


def label_key(text: str) -> str:
    """What labels that mean the same have in common: 2 and 2.0, Yes and yes."""
    folded = text.strip().casefold()
    try:
        return text_of(float(folded))
    except ValueError:
        return folded


def group_name(labels: Iterable[Any]) -> str:
    """What several labels are called together."""
    return OR.join(text_of(label) for label in labels)


def may_be_called(positive: Any, disease: Any) -> bool:
    """Whether the disease of a parameter ``positive`` is called so: a label, several, or a rule."""
    if isinstance(positive, list):
        return bool(disease == (plain(positive[0]) if len(positive) == 1 else group_name(positive)))
    rule = Rule.of(positive)
    return bool(disease == positive or (rule is not None and disease == rule.name))


# --- in files: by their texts -----------------------------------------------------------------------------


def split_labels(texts: Sequence[str], unique: npt.NDArray[Any]) -> list[str]:
    """The single labels of options: commas part labels, but for those within one of the column's own."""
    keys = {label_key(text_of(label)) for label in unique}
    found = dict[str, None]()
    for text in texts:
        whole = label_key(text) in keys or Rule.of(text) is not None
        found |= dict.fromkeys(
            [text.strip()] if whole else [part.strip() for part in text.split(",") if part.strip()]
        )
    return list(found)


def members(
    texts: Sequence[str], unique: npt.NDArray[Any], there: Sequence[str], option: str, column: str
) -> npt.NDArray[np.bool_]:
    """(k,) which of the different labels of a column are of a group; ``there`` are the keys of used ones."""
    keys = [label_key(text_of(label)) for label in unique]
    found = np.zeros(len(unique), dtype=bool)
    for text in texts:
        rule = Rule.of(text)
        if label_key(text) in there:
            found |= np.array([key == label_key(text) for key in keys], dtype=bool)
        elif rule is not None and unique.dtype.kind in "iuf":
            found |= rule.holds(unique)
        else:
            why = "a rule for numbers, and" if rule is not None else "not a label of"
            which = "" if rule is not None else ", which"
            named = listed([quoted(text_of(label), 30) for label in unique], NAMED_AT_MOST)
            raise InputError(f"{option} {quoted(text)} is {why} {quoted(column)}{which} holds {named}.")
    return found


# --- in Python: by themselves -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Grouping:
    """Which labels are the disease, and what they and all others are called.

    Attributes
    ----------
    disease : the labels, or the rule.
    """

    disease: tuple[Any, ...] | Rule

    @classmethod
    def of(cls, positive: Any, labels: npt.NDArray[Any]) -> Grouping | None:
        """Of the parameter, among labels (n,); None where it is one label, or nothing."""
        rule = Rule.of(positive) if labels.dtype.kind in "iuf" else None
        if rule is not None:
            return cls(rule)
        if isinstance(positive, list | tuple | set | frozenset | np.ndarray):
            several = tuple(dict.fromkeys(plain(label) for label in positive))
            if not several:
                raise InputError("positive=[] names no label: which of them are the disease?")
            return cls(several)
        return None

    @property
    def name(self) -> Any:
        """What the disease is called: one label stays what it is."""
        if isinstance(self.disease, Rule):
            return self.disease.name
        return self.disease[0] if len(self.disease) == 1 else group_name(self.disease)

    def holds(self, labels: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """(n,) which labels are the disease."""
        if isinstance(self.disease, Rule):
            return self.disease.holds(labels)
        return np.array([label in self.disease for label in labels.tolist()], dtype=bool)

    def refuse_unknown(self, classes: npt.NDArray[Any]) -> None:
        """Refuse labels that the target (k,) does not have."""
        if isinstance(self.disease, Rule):
            return
        unknown = [label for label in self.disease if label not in classes.tolist()]
        if unknown:
            has = listed([repr(plain(label)) for label in classes], NAMED_AT_MOST)
            raise InputError(
                f"positive={list(self.disease)!r}: {listed([repr(label) for label in unknown])} is not a "
                f"label of the target, which has {has}"
            )

    def classes(self, others: Sequence[Any]) -> np.ndarray:
        """(2,) what the others and the disease are called, given the different labels of the others."""
        if isinstance(self.disease, Rule):
            return np.array([self.disease.opposite, self.name])
        healthy = plain(others[0]) if len(others) == 1 else f"not {self.name}"
        both = np.array([healthy, self.name], dtype=object)
        return np.array(both.tolist()) if type(healthy) is type(self.name) else both
