"""The same twice: columns that are copies or recodings of others, and rows that are there again."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..inputs.kinds import MOST_LEVELS
from ..method.table import F64, LARGEST
from ..name_hints.columns import says_id, says_site, says_treatment
from ..screening.duplicates import (
    ROUNDED,
    ROWS_A_LEVEL,
    cut_of,
    decides,
    is_copy,
    is_rounded_copy,
    made_of_two,
    outcome_again,
    renames,
    unit,
)
from ..wording import filled, listed, plural, quoted
from .column_types import FITTED, Counted, Shape, as_text, is_row_number
from .findings import Finding, about

# Columns whose random projections differ by less may be copies, and are compared in full.
PROJECTIONS_DIFFER = 1e-7
# Suspicion needs few rows; those suspected are compared in all.
ROWS_TO_SUSPECT = 2000
# Up to so many columns every pair is compared; more would take a large matrix.
COLUMNS_IN_PAIRS = 400
# And every three of so many.
COLUMNS_IN_TRIPLES = 60
# And fewer rows of a column with holes.
ROWS_TO_RECODE = 20
# Rows that agree by chance: so many at most are expected where copies of rows are worth a word.
EXPECTED_BY_CHANCE = 0.01


def find_copies(columns: Sequence[Counted], kinds: dict[str, Shape], sample: np.ndarray) -> list[Finding]:
    """Columns that say what an earlier one says; numbers are suspected by the rows ``sample``."""
    asked = [cells for cells in columns if kinds[cells.name] in FITTED]
    levels = [cells for cells in asked if kinds[cells.name] != "number"]
    original = {**_on_another_scale(asked), **_same_numbers(asked, sample), **_recoded(levels)}
    rest = [c for c in asked if c.name not in original and kinds[c.name] != "nominal"]
    original |= _same_once_filled(rest)
    found = {cells.name: original[cells.name] for cells in asked if cells.name in original}
    return about(
        "copy",
        [*found],
        "{n:# column} {names:is a copy|are copies} of another, in another unit, scale or coding perhaps: "
        "{shown}. No method can tell their shocks apart.",
        n=len(found),
        shown=listed([f"{quoted(name)} of {quoted(of)}" for name, of in found.items()]),
    )


def find_recorded(columns: Sequence[Counted], kinds: dict[str, Shape], out: Set[str]) -> list[Finding]:
    """Columns of two levels that say whether another was measured; some columns are left ``out`` already."""
    asked = [cells for cells in columns if kinds[cells.name] in FITTED]
    holed: dict[bytes, list[str]] = {}
    for cells in asked:
        if min(cells.n_missing, cells.n_observed) >= ROWS_A_LEVEL:
            holed.setdefault(np.packbits(cells.missing).tobytes(), []).append(cells.name)
    found: dict[bool, dict[str, str]] = {True: {}, False: {}}
    either: list[str] = []
    for cells in asked if holed else ():
        if cells.codes is None or cells.n_different != 2 or cells.n_missing or cells.name in out:
            continue
        for level, value in enumerate(cells.different):
            others = holed.get(np.packbits(cells.codes == level).tobytes(), [])
            if others:
                of = filled("{others:3} {others:is|are} missing", others=tuple(others))
                known = out >= set(others)
                found[known][cells.name] = f"{quoted(as_text(value), 20)} exactly where {of}"
                either += [] if known else [cells.name, *others]
    says = "{columns} {names:says whether that was measured|say whether these were measured}: "
    perhaps = about(
        "says whether measured",
        found[False],
        says
        + "why that was done is no property of a patient. Or does a blank there mean none? Then write none "
        "into the file, as a level. Keep one of both.",
        in_line=False,
    )
    options = tuple(("--drop", name) for name in dict.fromkeys(either))
    sure = says + "what was left out comes back with it. Leave it out as well."
    return [
        *about("says whether measured", found[True], sure),
        *(replace(one, options=options) for one in perhaps),
    ]


def says_missing_of(cells: Counted, other: Counted) -> bool:
    """Whether a column of two levels has one of them exactly where another column has no value."""
    two = cells.codes is not None and cells.n_different == 2 and not cells.n_missing
    return two and any(np.array_equal(cells.codes == level, other.missing) for level in (0, 1))


def find_coarser(columns: Sequence[Counted], kinds: dict[str, Shape], sample: np.ndarray) -> list[Finding]:
    """Columns with levels that a finer one decides, as a class of diagnoses by the diagnosis, a group by age.

    They are suspected by the rows ``sample``.
    """
    asked = [c for c in columns if kinds[c.name] in FITTED and kinds[c.name] != "number"]
    asked = [cells for cells in asked if cells.codes is not None]
    if len(asked) > COLUMNS_IN_PAIRS:
        return []
    sample = sample[:: -(-max(sample.size, 1) // ROWS_TO_SUSPECT)]
    finer: dict[str, str] = {}
    for coarse in asked:
        for fine in asked:
            assert fine.codes is not None and coarse.codes is not None
            suspected = fine.n_different > coarse.n_different
            suspected = suspected and decides(fine.codes[sample], coarse.codes[sample], 1)
            if suspected and decides(fine.codes, coarse.codes):
                finer[coarse.name] = fine.name
                break
    numbers = {c.name: c.numbers for c in columns if kinds[c.name] == "number" and c.numbers is not None}
    # Measured in another unit at another site, a number says where; and patients are numbered by their arm.
    groups = [c for c in asked if not (says_site(c.name) or says_treatment(c.name) or c.name in finer)]
    places = cut_of([c.codes for c in groups if c.codes is not None], [*numbers.values()])
    for cells, place in zip(groups, places, strict=True):
        if place is not None:
            finer[cells.name] = [*numbers][place]
    finer |= _cut_of_few([cells for cells in groups if cells.name not in finer], asked, kinds)
    return about(
        "coarser",
        [*finer],
        "{n:# column} {names:follows|follow} from another: {shown}. Keep the one that you ask about.",
        n=len(finer),
        shown=listed([f"{quoted(name)} from {quoted(fine)}" for name, fine in finer.items()]),
    )


def _cut_of_few(
    groups: Sequence[Counted], asked: Sequence[Counted], kinds: dict[str, Shape]
) -> dict[str, str]:
    """Which groups are cut from few whole numbers, of which some are too rare to decide by themselves."""
    whole = [c for c in asked if kinds[c.name] == "ordinal" and c.numbers is not None]
    found: dict[str, str] = {}
    for cells in groups:
        finer = [c for c in whole if c.n_different > cells.n_different]
        assert cells.codes is not None
        (place,) = cut_of([cells.codes], [c.numbers for c in finer if c.numbers is not None])
        if place is not None:
            found[cells.name] = finer[place].name
    return found


def find_computed(columns: Sequence[Counted], kinds: dict[str, Shape], sample: np.ndarray) -> list[Finding]:
    """Numbers that were computed from two others: a sum, or as a body mass index a product or ratio."""
    some = [
        c
        for c in columns
        if kinds[c.name] == "number" and c.numbers is not None and c.n_different > MOST_LEVELS
    ]
    if not 3 <= len(some) <= COLUMNS_IN_TRIPLES:
        return []
    sample = sample[:: -(-max(sample.size, 1) // ROWS_TO_SUSPECT)]
    values = np.stack([c.numbers[sample] for c in some if c.numbers is not None], axis=1)
    values[np.abs(values) > LARGEST] = np.nan
    found: dict[frozenset[int], int] = {}  # of the same three the first way found
    for table in (values, np.log(np.where(values > 0, values, np.nan))):
        there = np.flatnonzero(np.isfinite(table).sum(axis=0) >= ROWS_TO_RECODE)
        for triple in made_of_two(table[:, there]) if there.size > 2 else ():
            places = there[list(triple)].tolist()
            found.setdefault(frozenset(places), places[0])
    made: dict[str, list[str]] = {}
    for three, of in found.items():
        made.setdefault(some[of].name, [some[place].name for place in sorted(three - {of})])
    return about(
        "computed",
        [*made],
        "{n:# column} {names:was|were} computed from two others, or they from it: {shown}. No method can "
        "tell the shocks of all three apart, and checks would suspect something hidden: leave one out.",
        in_line=False,
        n=len(made),
        shown=listed([f"{quoted(n)} from {quoted(a)} and {quoted(b)}" for n, (a, b) in made.items()]),
    )


def _same_numbers(columns: Sequence[Counted], sample: np.ndarray) -> dict[str, str]:
    """Which columns of numbers are linear images of earlier ones, with the same holes."""
    some = [cells for cells in columns if cells.numbers is not None and cells.n_observed > 2]
    if len(some) < 2:
        return {}
    sample = sample[:: -(-sample.size // ROWS_TO_SUSPECT)]
    z = np.empty((sample.size, len(some)), order="F")
    for place, cells in enumerate(some):
        assert cells.numbers is not None
        z[:, place] = unit(cells.numbers[sample])
    found: dict[str, str] = {}
    for first, second in sorted(_pairs(z)):
        if some[second].name not in found and _alike(some[first], some[second]):
            found[some[second].name] = found.get(some[first].name, some[first].name)
    return found


def _on_another_scale(columns: Sequence[Counted]) -> dict[str, str]:
    """Which columns of numbers are in the order of earlier ones, as a logarithm is."""
    some = [c for c in columns if c.numbers is not None and c.n_different > MOST_LEVELS]
    found: dict[str, str] = {}
    for place, cells in enumerate(some if len(some) <= COLUMNS_IN_PAIRS else ()):
        later = [
            c for c in some[place + 1 :] if c.name not in found and np.array_equal(c.missing, cells.missing)
        ]
        assert cells.numbers is not None
        values = [c.numbers[~c.missing] for c in later if c.numbers is not None]
        again = outcome_again(cells.numbers[~cells.missing], values, linear=False)
        found |= {later[one].name: found.get(cells.name, cells.name) for one in again}
    return found


def _pairs(z: F64) -> list[tuple[int, int]]:
    """Pairs of columns, the earlier first, that may be copies."""
    if z.shape[1] <= COLUMNS_IN_PAIRS:
        alike = np.triu(np.abs(z.T @ z) > ROUNDED, 1)
        return [(int(a), int(b)) for a, b in np.argwhere(alike)]
    weights = np.random.default_rng(0).standard_normal(z.shape[0])
    projection = np.abs(weights @ z)
    ranked = np.argsort(projection, kind="stable")
    near = np.diff(projection[ranked]) <= PROJECTIONS_DIFFER
    pairs = np.sort(np.stack([ranked[:-1][near], ranked[1:][near]], axis=1), axis=1)
    return [(int(a), int(b)) for a, b in pairs]


def _alike(first: Counted, second: Counted) -> bool:
    assert first.numbers is not None and second.numbers is not None
    same = np.array_equal(first.missing, second.missing)
    return same and is_rounded_copy(float(unit(first.numbers) @ unit(second.numbers)))


def _same_once_filled(columns: Sequence[Counted]) -> dict[str, str]:
    """Which columns a fit refuses as copies of others, fuller ones where they differ in that.

    It compares columns with their holes filled by their first values.
    """
    some = [c for c in columns if c.n_different > 1 and (c.numbers is not None or c.n_different == 2)]
    if len(some) < 2:
        return {}
    some = sorted(some, key=lambda cells: cells.n_missing)
    weights = np.random.default_rng(0).standard_normal(some[0].n_rows)
    projection = np.array([abs(float(weights @ _filled(cells))) for cells in some])
    ranked = np.argsort(projection, kind="stable").tolist()
    groups = [ranked[:1]]
    for one, other in pairwise(ranked):
        near = projection[other] - projection[one] <= PROJECTIONS_DIFFER
        if near and is_copy(float(_filled(some[one]) @ _filled(some[other]))):
            groups[-1].append(other)
        else:
            groups.append([other])
    return {
        some[again].name: some[min(group)].name for group in groups for again in group if again != min(group)
    }


def _filled(cells: Counted) -> F64:
    values = cells.numbers
    if values is None:
        assert cells.codes is not None
        values = np.where(cells.codes < 0, np.nan, cells.codes)
    return unit(values, first=True)


def _recoded(columns: Sequence[Counted]) -> dict[str, str]:
    """Which columns with few levels are others with the levels renamed, one to one."""
    first_of: dict[bytes, str] = {}
    found: dict[str, str] = {}
    for cells in columns:
        if cells.codes is None or cells.n_different < 2:
            continue
        levels, first = np.unique(cells.codes, return_index=True)
        levels, first = levels[levels >= 0], first[levels >= 0]
        # Levels are numbered as they first come, and missing (the last place) stays missing.
        number = np.full(int(levels.max()) + 2, -1, dtype=np.int8)
        number[levels[np.argsort(first)]] = np.arange(levels.size)
        key = number[cells.codes].tobytes()
        if key in first_of:
            found[cells.name] = first_of[key]
        else:
            first_of[key] = cells.name
    with_levels = [cells for cells in columns if cells.codes is not None]
    for cells in with_levels if len(with_levels) <= COLUMNS_IN_PAIRS else ():
        fuller = [one for one in with_levels if one.n_missing < cells.n_missing and one.name not in found]
        original = _recoded_with_holes(cells, fuller)
        if original is not None:
            found.setdefault(cells.name, original)
    return found


def _recoded_with_holes(holed: Counted, others: Sequence[Counted]) -> str | None:
    """The first of other columns that this one is, wherever it has a value, with the levels renamed."""
    assert holed.codes is not None
    there = np.flatnonzero(holed.codes >= 0)
    if not others or there.size < ROWS_TO_RECODE or np.unique(holed.codes[there]).size < 2:
        return None
    few = there[:: there.size // ROWS_TO_RECODE]  # nearly all columns differ in these
    for one in others:
        assert one.codes is not None
        if all(renames(one.codes[rows], holed.codes[rows]) for rows in (few, there)):
            return one.name
    return None


def find_repeated_rows(columns: Sequence[Counted], table: object, id_column: str | None) -> list[Finding]:
    """Rows that are there again, cell by cell, where chance would not have it.

    Numbers of rows are not compared, though patients may be numbered so: where the ``id_column`` that the
    user chose, or another that is named as one, is such a number, the rows may be of different patients.
    """
    asked = [c for c in columns if c.form != "other" and c.name.strip() and not is_row_number(c)]
    ids = [c.name for c in columns if is_row_number(c) and (says_id(c.name) or c.name == id_column)]
    numbers = [cells for cells in asked if cells.numbers is not None and cells.codes is None]
    if not numbers or _expected_by_chance(numbers) > EXPECTED_BY_CHANCE:
        return []
    keys = np.zeros(asked[0].n_rows, dtype=np.uint64)
    for cells in asked:
        keys = keys * np.uint64(0x9E3779B97F4A7C15) + keys_of(cells, table)
        keys ^= keys >> np.uint64(29)
    _, counts = np.unique(keys, return_counts=True)
    again = int((counts - 1).sum())
    if not again:
        return []
    sentence = f"{plural(again, 'row')} {'is' if again == 1 else 'are'} there again, equal in every column"
    if ids:
        sentence += (
            f" but {listed([quoted(name) for name in ids])}: different patients who agree, or the same ones "
            "entered twice? Only then remove the copies in the file."
        )
    else:
        sentence += ": remove the copies in the file; evidence counted twice looks surer than it is."
    return [Finding("repeated rows", (), sentence)]


def _expected_by_chance(numbers: Sequence[Counted]) -> float:
    """How many pairs of rows would agree in the numbers, if these were independent."""
    n = numbers[0].n_rows
    expected = n * n / 2.0
    for cells in numbers:
        # Of many different values not all are kept with their counts: then by how many there are.
        agreeing = float((cells.counts * (cells.counts - 1.0)).sum()) / n**2
        expected *= max(agreeing, (cells.n_observed / cells.n_different - 1.0) / n, 1.0 / n**2)
    return expected


def keys_of(cells: Counted, table: Any) -> np.ndarray:
    """(n,) a number for each row that is the same where the cells are."""
    if cells.numbers is not None and not cells.strange:
        values = np.where(np.isnan(cells.numbers), 0.5, cells.numbers) + 0.0
        return values.view(np.uint64) + np.isnan(cells.numbers).astype(np.uint64)
    if cells.codes is not None:
        return (cells.codes + 1).astype(np.uint64)
    column = table[cells.name]
    encoded = column.combine_chunks().dictionary_encode()
    return encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64)
