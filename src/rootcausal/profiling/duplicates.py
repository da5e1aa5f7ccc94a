"""The same twice: columns that are copies or recodings of others, and rows that are there again."""

from __future__ import annotations

from collections.abc import Sequence, Set
from itertools import pairwise
from typing import Any

import numpy as np

from ..core.table import F64, LARGEST
from ..inputs.kinds import MOST_LEVELS
from ..inputs.rules import is_copy
from ..name_hints.columns import says_id, says_site
from ..name_hints.exogenous import says_treatment
from ..wording import listed, plural, quoted
from .column_types import FITTED, Shape, is_row_number
from .counts import Counted, as_text
from .findings import Finding, by_number, columns_in_words, dropping

# Columns whose random projections differ by less may be copies, and are compared in full.
PROJECTIONS_DIFFER = 1e-7
# Suspicion needs few rows; those suspected are compared in all.
ROWS_TO_SUSPECT = 2000
# Up to so many columns every pair is compared; more would take a large matrix.
COLUMNS_IN_PAIRS = 400
# The same in another unit, rounded: two measurements never agree as well as this.
ROUNDED_COPY = 0.9999
# Fewer rows of a level may agree in another column by chance.
ROWS_A_LEVEL = 5
# And fewer rows of a column with holes.
ROWS_TO_RECODE = 20
# Rows that agree by chance: so many at most are expected where copies of rows are worth a word.
EXPECTED_BY_CHANCE = 0.01


def find_copies(columns: Sequence[Counted], kinds: dict[str, Shape], sample: np.ndarray) -> list[Finding]:
    """Columns that say what an earlier one says; numbers are suspected by the rows ``sample``."""
    asked = [cells for cells in columns if kinds[cells.name] in FITTED]
    levels = [cells for cells in asked if kinds[cells.name] != "number"]
    original = {**_same_numbers(asked, sample), **_recoded(levels)}
    rest = [c for c in asked if c.name not in original and kinds[c.name] != "nominal"]
    original |= _same_once_filled(rest)
    if not original:
        return []
    names = tuple(cells.name for cells in asked if cells.name in original)
    shown = ", ".join(f"{quoted(name)} of {quoted(original[name])}" for name in names[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return [
        Finding(
            "copy",
            names,
            f"{plural(len(names), 'column')} {'is a copy' if len(names) == 1 else 'are copies'} of another, "
            f"in another unit or coding perhaps: {shown}{more}. No method can tell their shocks apart.",
            dropping(names),
            True,
        )
    ]


def find_recorded(columns: Sequence[Counted], kinds: dict[str, Shape], out: Set[str]) -> list[Finding]:
    """Columns of two levels that say whether another was measured; some columns are left ``out`` already."""
    asked = [cells for cells in columns if kinds[cells.name] in FITTED]
    holed: dict[bytes, list[str]] = {}
    for cells in asked:
        if min(cells.n_missing, cells.n_observed) >= ROWS_A_LEVEL:
            holed.setdefault(np.packbits(cells.missing).tobytes(), []).append(cells.name)
    found: dict[bool, dict[str, str]] = {True: {}, False: {}}
    beside: dict[str, list[str]] = {}
    for cells in asked if holed else ():
        if cells.codes is None or cells.n_different != 2 or cells.n_missing or cells.name in out:
            continue
        for level, value in enumerate(cells.different):
            others = holed.get(np.packbits(cells.codes == level).tobytes(), [])
            if others:
                named = listed([quoted(name) for name in others], 3)
                verb = by_number(others, "is", "are")
                said = f"{quoted(as_text(value), 20)} exactly where {named} {verb} missing"
                found[out >= set(others)][cells.name] = said
                beside[cells.name] = others
    return [one for sure, some in found.items() for one in _recorded(some, beside, sure)]


def _recorded(found: dict[str, str], beside: dict[str, list[str]], sure: bool) -> list[Finding]:
    if not found:
        return []
    names = tuple(found)
    says = by_number(names, "says whether that was measured", "say whether these were measured")
    sentence = f"{columns_in_words(names, found.__getitem__)} {says}: "
    if sure:
        sentence += "what was left out comes back with it. Leave it out as well."
        return [Finding("says whether measured", names, sentence, dropping(names), True)]
    sentence += (
        "why that was done is no property of a patient. Or does a blank there mean none? Then write none "
        "into the file, as a level. Keep one of both."
    )
    either = tuple(dict.fromkeys(name for one in names for name in (one, *beside[one])))
    return [Finding("says whether measured", names, sentence, dropping(either))]


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
            suspected = fine.n_different > coarse.n_different and _decides(fine, coarse, sample, 1)
            if suspected and _decides(fine, coarse, slice(None), ROWS_A_LEVEL):
                finer[coarse.name] = fine.name
                break
    numbers = [c for c in columns if kinds[c.name] == "number" and c.numbers is not None]
    # Measured in another unit at another site, a number says where; and patients are numbered by their arm.
    groups = [c for c in asked if not (says_site(c.name) or says_treatment(c.name) or c.name in finer)]
    finer |= {cells.name: of for cells in groups if (of := _cut_of(cells, numbers))}
    if not finer:
        return []
    names = tuple(finer)
    shown = ", ".join(f"{quoted(name)} from {quoted(fine)}" for name, fine in list(finer.items())[:5])
    sentence = (
        f"{plural(len(names), 'column')} {by_number(names, 'follows', 'follow')} from another: {shown}. "
        "Keep the one that you ask about."
    )
    return [Finding("coarser", names, sentence, dropping(names), True)]


def _cut_of(levels: Counted, numbers: Sequence[Counted]) -> str | None:
    """The first column of numbers that was cut into these levels: their ranges do not overlap."""
    if levels.codes is None or not numbers:
        return None
    # A few rows of each level acquit nearly all numbers.
    rows = [np.flatnonzero(levels.codes == level)[:ROWS_A_LEVEL] for level in range(len(levels.different))]
    some = np.concatenate(rows)
    values = np.stack([cells.numbers[some] for cells in numbers if cells.numbers is not None])
    starts = np.cumsum([0, *(of.size for of in rows[:-1])])
    low, high = (end.reduceat(values, starts, axis=1) for end in (np.minimum, np.maximum))
    order = np.argsort(low, axis=1)
    low, high = (np.take_along_axis(ends, order, axis=1) for ends in (low, high))
    for place in np.flatnonzero((high[:, :-1] < low[:, 1:]).all(axis=1)).tolist():
        whole = numbers[place].numbers
        if whole is not None and is_cut(levels.codes, whole):
            return numbers[place].name
    return None


def is_cut(codes: np.ndarray, numbers: np.ndarray) -> bool:
    """Whether each level of codes (n,), -1 where missing, has a range of the numbers (n,) to itself.

    Not where few rows lie beyond the cut, and not where a level is known and no number.
    """
    there = codes >= 0
    codes, values = codes[there], numbers[there]
    if np.isnan(values).any():
        return False
    levels, rows = np.unique(codes, return_counts=True)
    if levels.size < 2 or codes.size - rows.max() < ROWS_A_LEVEL:
        return False
    ends = sorted((values[codes == level].min(), values[codes == level].max()) for level in levels)
    return all(one[1] < other[0] for one, other in pairwise(ends))


def _decides(fine: Counted, coarse: Counted, rows: slice | np.ndarray, least: int) -> bool:
    """Whether each level of one column, none of fewer rows than ``least``, has one level of the other.

    Not where the other is known and the first is missing: it would be lost there.
    """
    assert fine.codes is not None and coarse.codes is not None
    a, b = fine.codes[rows], coarse.codes[rows]
    both = b >= 0
    if not both.any() or (a[both] < 0).any():
        return False
    width = int(b.max()) + 1
    counts = np.bincount(a[both] * width + b[both], minlength=(int(a.max()) + 1) * width).reshape(-1, width)
    counts = counts[counts.any(axis=1)]
    return bool((counts > 0).sum(axis=1).max() == 1 and counts.sum(axis=1).min() >= least)


def _same_numbers(columns: Sequence[Counted], sample: np.ndarray) -> dict[str, str]:
    """Which columns of numbers are linear images of earlier ones, with the same holes."""
    some = [cells for cells in columns if cells.numbers is not None and cells.n_observed > 2]
    if len(some) < 2:
        return {}
    sample = sample[:: -(-sample.size // ROWS_TO_SUSPECT)]
    z = np.empty((sample.size, len(some)), order="F")
    for place, cells in enumerate(some):
        z[:, place] = _standardized(cells, sample)
    found: dict[str, str] = {}
    for first, second in sorted(_pairs(z)):
        if some[second].name not in found and _alike(some[first], some[second]):
            found[some[second].name] = found.get(some[first].name, some[first].name)
    return found


def _standardized(cells: Counted, rows: slice | np.ndarray) -> F64:
    """(rows,) with mean 0 and length 1, holes at the mean; zeros where it does not vary."""
    assert cells.numbers is not None
    values = cells.numbers[rows]
    there = np.isfinite(values)
    if there.all():
        values = values - values.mean()
    elif there.any():
        values = np.where(there, values - values[there].mean(), 0.0)
    else:
        return np.zeros(values.size)
    length = float(np.sqrt(values @ values))
    return values / length if 0 < length < np.inf else np.zeros(values.size)


def _pairs(z: F64) -> list[tuple[int, int]]:
    """Pairs of columns, the earlier first, that may be copies."""
    if z.shape[1] <= COLUMNS_IN_PAIRS:
        alike = np.triu(np.abs(z.T @ z) > ROUNDED_COPY, 1)
        return [(int(a), int(b)) for a, b in np.argwhere(alike)]
    weights = np.random.default_rng(0).standard_normal(z.shape[0])
    projection = np.abs(weights @ z)
    ranked = np.argsort(projection, kind="stable")
    near = np.diff(projection[ranked]) <= PROJECTIONS_DIFFER
    pairs = np.sort(np.stack([ranked[:-1][near], ranked[1:][near]], axis=1), axis=1)
    return [(int(a), int(b)) for a, b in pairs]


def _alike(first: Counted, second: Counted) -> bool:
    if not np.array_equal(first.missing, second.missing):
        return False
    everyone = slice(None)
    r = abs(float(_standardized(first, everyone) @ _standardized(second, everyone)))
    return r > ROUNDED_COPY


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
    """(n,) with mean 0 and length 1, holes at the first value; zeros where it does not vary."""
    values = cells.numbers
    if values is None:
        assert cells.codes is not None
        values = np.where(cells.codes < 0, np.nan, cells.codes)
    there = np.abs(values) <= LARGEST
    values = np.where(there, values, values[there.argmax()]) if there.any() else np.zeros(values.size)
    values = values - values.mean()
    length = float(np.sqrt(values @ values))
    return values / length if 0 < length < np.inf else np.zeros(values.size)


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
    return next(
        (one.name for one in others if _renames(one, holed, few) and _renames(one, holed, there)), None
    )


def _renames(one: Counted, other: Counted, rows: np.ndarray) -> bool:
    """Whether levels of two columns belong together one to one in some rows, in which both have values."""
    assert one.codes is not None and other.codes is not None
    a, b = one.codes[rows], other.codes[rows]
    pairs = np.unique(a * (MOST_LEVELS + 1) + b)
    return bool(a.min() >= 0 and pairs.size == np.unique(a).size == np.unique(b).size)


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
