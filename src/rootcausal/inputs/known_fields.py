"""The fields of what is known, as users may write them, and as they are kept: texts in tuples, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from numbers import Integral
from typing import Any

import numpy as np

from ..errors import InputError
from ..files.knowledge_file import FIELDS
from ..wording import one_line, quoted

Names = tuple[str, ...]
Pairs = tuple[tuple[str, str], ...]


def _name(field: str, given: Any) -> str:
    if isinstance(given, str):
        return str(given)
    if isinstance(given, Integral) and not isinstance(given, bool | np.bool_):
        if given < 0:
            raise InputError(f"{field} counts columns from 0, and {int(given)} is below")
        return f"x{int(given)}"
    raise InputError(f"{field} names columns by name or number, not by {_shown(given)}")


def items_of(field: str, given: Any, example: str) -> list[Any]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InputError(f"{field} must be a list, as in {field}={example}, not {_shown(given)}")
    return sorted(given, key=str) if isinstance(given, Set) else list(given)


def names_of(field: str, given: Any, example: str = '["age", "sex"]') -> Names:
    return tuple(dict.fromkeys(_name(field, one) for one in items_of(field, given, example)))


def tiers_of(field: str, given: Any) -> tuple[Names, ...]:
    example = '[["smoking", "bmi"], ["bili"]]'
    tiers = items_of(field, given, example)
    for tier in tiers:
        if isinstance(tier, str | bytes | Mapping) or not isinstance(tier, Iterable):
            raise InputError(
                f"{field} must be a list of lists, as in {field}={example}: {_shown(tier)} is none"
            )
    return tuple(names_of(field, tier, example) for tier in tiers)


def pairs_of(field: str, given: Any) -> Pairs:
    example = '[("smoking", "bili")]'
    pairs = []
    for one in items_of(field, given, example):
        both = _both(one)
        if len(both) != 2:
            raise InputError(
                f"{field} takes pairs of columns, as in {field}={example}: {_shown(one)} is none"
            )
        pairs.append((_name(field, both[0]), _name(field, both[1])))
    return tuple(dict.fromkeys(pairs))


def _both(given: Any) -> Sequence[Any]:
    if isinstance(given, tuple | list):
        return given
    refused = isinstance(given, str | bytes | Mapping | Set) or not isinstance(given, Iterable)
    return () if refused else list(given)


def _shown(given: Any) -> str:
    return quoted(given) if isinstance(given, str) else one_line(repr(given))


#: By field, what makes of a value what is kept; an InputError says which field is wrong.
KEPT_AS: dict[str, Callable[[str, Any], tuple[Any, ...]]] = dict(
    zip(FIELDS, (names_of, tiers_of, pairs_of, pairs_of, names_of), strict=True)
)
