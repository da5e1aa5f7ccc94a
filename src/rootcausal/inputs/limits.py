"""Limits of detection: what lies at or beyond them is known to lie there, and not where (censoring).

Below the limit of an assay its laboratory writes "<3", which is 3 or less; above it ">100". Such cells are
read as the limit, by which they are known again, and drawn beyond it as missing values are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import InputError
from ..wording import quoted
from .cells import Found, Texts, beside_sign, limit_in
from .encoding import Encoding
from .infer_types import by_place
from .kinds import NO_LIMITS, Limits
from .rules import Findings


def limits_of(column: Any, said: Any) -> Limits:
    """What a user says of a column, one limit or both; an InputError where it can be none."""
    pieces = said if isinstance(said, list | tuple) else [said]
    ones = [limit_in(piece) if isinstance(piece, str) else NO_LIMITS for piece in pieces]
    lower, upper = [one for one in ones if one.below], [one for one in ones if one.above]
    lowest, highest = (lower or [NO_LIMITS])[0].lowest, (upper or [NO_LIMITS])[0].highest
    fit = len(lower) <= 1 >= len(upper) and 0 < len(ones) == len(lower + upper)
    if not fit or lowest >= highest:
        raise InputError(
            f"the limit of {quoted(column)} must be as in '<3', below which nothing is measured, or '>100', "
            "above which nothing is; both of them in a list, the lower one first"
        )
    return Limits(lowest, highest)


def as_limits(texts: Texts, limits: Limits) -> Texts:
    """The same cells, those that say that a value lies beyond one of the limits as numbers: "<3" as "3".

    What they hold is brought to the limit with all other numbers (:meth:`.encoding.Encoding.table`).
    """
    places: dict[str, int] = {}
    new = [places.setdefault(_read(text, limits), len(places)) for text in texts.levels]
    if list(places) == list(texts.levels):
        return texts
    codes = texts.codes.copy()
    there = codes >= 0
    codes[there] = [new[code] for code in codes[there]]
    return replace(texts, codes=codes, levels=tuple(places))


def _read(text: str, limits: Limits) -> str:
    said = limit_in(text)
    if said == NO_LIMITS or not (said.lowest <= limits.lowest and said.highest >= limits.highest):
        return text  # "<5" where the limit is 3 says less than is asked
    return beside_sign(text)


def read_at_limits(found: Found, limits: Mapping[int, Limits]) -> Found:
    """The same columns, with such cells of those that have limits, by their places, as numbers."""
    some = {
        place: as_limits(found.texts[place], one) for place, one in limits.items() if place in found.texts
    }
    return replace(found, texts={**found.texts, **some}) if some else found


def put_limits(encoding: Encoding, limits: Mapping[int, Limits], findings: Findings) -> Encoding:
    """The same variables, some with limits, by their places; one that has levels is noted."""
    variables = list(encoding.variables)
    for place, one in limits.items():
        if variables[place].levels:
            with findings.noting():
                raise InputError(
                    f"{quoted(variables[place].name)} has levels ({variables[place].kind}), and only numbers "
                    "have a limit of detection: leave its limit out, or leave its kind to be guessed"
                )
        else:
            variables[place] = replace(variables[place], limits=one)
    return replace(encoding, variables=tuple(variables))


def limits_by_place(
    said: Mapping[str | int, Limits], names: Sequence[str], findings: Findings
) -> dict[int, Limits]:
    """What the user says of limits, by the places of columns."""
    return by_place(said, names, findings, "limits") if said else {}
