"""Limits of detection: cells such as "<3" among numbers, and patients who all have the least value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..inputs.cells import limit_in
from ..inputs.kinds import NO_LIMITS, Limits
from ..screening.resolution import piles_of, written
from ..wording import listed, plural, quoted
from .column_types import Counted, Shape
from .findings import Finding, columns_in_words

NAME = "limit"
DRAWN = "values there are then drawn from what is expected within it, given all else of the patient"
# So many values a limit leaves at least; else it is none of these numbers.
LEAST_WITHIN = 0.2


def find_limits(
    columns: Sequence[Counted],
    kinds: dict[str, Shape],
    left_out: Iterable[str],
    outcome: Sequence[str],
    matched: bool,
) -> list[Finding]:
    """Columns of numbers with limits, but for those that are left out, and those of the ``outcome``.

    Rows of ``matched`` sets are told by differences, which have no limits: cells such as "<3" are missing.
    """
    out = {*left_out, *outcome}
    asked = [cells for cells in columns if cells.numbers is not None and cells.name not in out]
    asked = [cells for cells in asked if kinds[cells.name] == "number"]
    return _missing_cells(asked) if matched else [*_of_cells(asked), *_of_piles(asked)]


def says_limit(cells: Counted, text: str) -> bool:
    """Whether a text among the numbers of a column says that the value is less, or more."""
    limits = limit_in(text)
    if cells.numbers is None or limits == NO_LIMITS:
        return False
    known = cells.numbers[~np.isnan(cells.numbers)]
    within = (known > limits.lowest) & (known < limits.highest)
    return bool(within.sum() >= LEAST_WITHIN * known.size)


def _missing_cells(columns: Sequence[Counted]) -> list[Finding]:
    texts = {c.name: [text for text, _ in c.strange if says_limit(c, text)] for c in columns}
    found = {name: listed([quoted(text, 20) for text in some]) for name, some in texts.items() if some}
    if not found:
        return []
    sentence = (
        f"{columns_in_words(tuple(found), found.__getitem__)}: less, or more, than could be measured, which "
        "matched sets, told by differences, cannot take: --na takes it for missing."
    )
    options = tuple(
        ("--na", text) for text in dict.fromkeys(text for some in texts.values() for text in some)
    )
    return [Finding(NAME, tuple(found), sentence, options, True)]


def _of_cells(columns: Sequence[Counted]) -> list[Finding]:
    found: dict[str, tuple[Limits, int, str]] = {}
    for cells in columns:
        said = {text: (limit_in(text), count) for text, count in cells.strange if says_limit(cells, text)}
        if said:
            # Of several assays the least exact one holds for all.
            limits = Limits(
                max(one.lowest for one, _ in said.values()), min(one.highest for one, _ in said.values())
            )
            shown = listed([quoted(text, 20) for text in said])
            found[cells.name] = (limits, sum(count for _, count in said.values()), shown)
    if not found:
        return []
    described = {name: f"{shown} in {plural(n, 'cell')}" for name, (_, n, shown) in found.items()}
    sentence = (
        f"{columns_in_words(tuple(found), described.__getitem__)}: less, or more, than could be measured, or "
        f"was written down. --limit says so: {DRAWN}."
    )
    options = {name: limits for name, (limits, _, _) in found.items()}
    return [Finding(NAME, tuple(found), sentence, _options(options), True)]


def _of_piles(columns: Sequence[Counted]) -> list[Finding]:
    found: dict[str, Limits] = {}
    described: dict[str, str] = {}
    for cells in columns:
        if cells.strange or cells.numbers is None:
            continue
        said = []
        for pile in piles_of(cells.numbers):
            of_this = Limits(lowest=pile.value) if pile.below else Limits(highest=pile.value)
            before = found.get(cells.name, NO_LIMITS)
            found[cells.name] = Limits(
                max(before.lowest, of_this.lowest), min(before.highest, of_this.highest)
            )
            end = "least" if pile.below else "greatest"
            said.append(f"{written(pile.value)}, the {end}, in {pile.share:.0%} of patients")
        if said:
            described[cells.name] = " and ".join(said)
    if not found:
        return []
    it = "it" if len(found) == 1 else "they"
    sentence = (
        f"{columns_in_words(tuple(found), described.__getitem__)}: could {it} not be measured beyond? "
        f"--limit says so: {DRAWN}. If that is the true value of these patients, leave it out."
    )
    return [Finding(NAME, tuple(found), sentence, _options(found), True)]


def _options(found: dict[str, Limits]) -> tuple[tuple[str, ...], ...]:
    said = [(name, one) for name, limits in found.items() for one in limits.said]
    return tuple(("--limit", f"{name}={one}") for name, one in said)
