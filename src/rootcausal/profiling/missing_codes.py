"""Codes for missing: 999, -9, 0 in a lab that is never 0, "?", "unknown", "<100"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..files.cells import may_be_a_level, says_missing
from ..inputs.kinds import MOST_LEVELS, MOST_ORDINAL_NUMBERS
from ..name_hints.columns import says_lab, says_year, tokens
from ..wording import plural, quoted
from .column_types import FITTED, Counted, Shape, as_text
from .findings import Finding, about
from .limits import says_limit

# What people write for "missing" where only numbers fit: all nines, eights and sevens, and 97, 98, 997, 998.
HIGH = frozenset(float(f"{head}{digit}") for digit in (7, 8, 9) for head in ("", "9", "99", "999", "9999"))
HIGH |= {float(str(digit) * size) for digit in (7, 8) for size in range(2, 6)}
HIGH |= {9.9, 99.9, 999.9, 9.99, 99.99, 999.99, 9999.99}
LOW = frozenset(-value for value in HIGH) | {-1.0}
# At each end of a column there are no more of them: 777, 888 and 999 at the most, and rounded ones.
CODES_AT_AN_END = 6
# A value that comes once or twice may be an outlier; a code repeats.
LEAST_REPEATS = 3
# How far outside the rest a code lies, in interquartile ranges of the rest: the fence of a boxplot.
FENCE = 1.5
# Of levels such as 1, 2, 3 and 9, how far the code lies from the next level, in steps.
STEPS_AWAY = 4
# Any other value is a code where in so many columns it is rare, and much farther from the rest than that is
# wide.
SHARED_BY, MOST_SHARED, TIMES_AS_FAR = 3, 0.1, 2
# A lab is never near 0 if its least other value is this share of its median, and this many steps, from 0.
SHARE_OF_MEDIAN = 0.2
STEPS_FROM_ZERO = 5
# Where more cells than this are 0, it is an amount that many do not have, such as a dose, unless its name is
# that of something that nobody has none of.
MOST_ZEROS = 0.05
# Of bodies, from those of children on, the heaviest is no more than this many times the median.
MOST_TIMES_THE_MEDIAN = 20


def find_codes(
    columns: Sequence[Counted], kinds: dict[str, Shape], left_out: Iterable[str], outcome: Sequence[str]
) -> list[Finding]:
    """One finding for each code, whatever columns it is in; columns that are left out are not asked.

    Those of the ``outcome`` are not asked either, but what is a value in them is no code everywhere.
    """
    out = set(left_out)
    kept = [cells for cells in columns if cells.name not in out]
    asked = [cells for cells in kept if kinds[cells.name] in FITTED and cells.name not in outcome]
    shared = _shared_codes(asked)
    together = _codes_in_the_same_rows(asked)
    places: dict[str, dict[str, int]] = {}
    doubted: dict[str, dict[str, int]] = {}
    alone: dict[str, str] = {}
    for cells in asked:
        for value, count in number_codes(cells, shared):
            places.setdefault(as_text(value), {})[cells.name] = count
        for text, count in cells.strange:
            if not says_limit(cells, text):
                places.setdefault(text, {})[cells.name] = count
        words = missing_words(cells)
        if cells.n_different - len(words) < 2 and any(not may_be_a_level(text) for text, _ in words):
            alone[cells.name] = words[0][0]
            continue
        for text, count in words:
            one_of = doubted if may_be_a_level(text) else places
            one_of.setdefault(text, {})[cells.name] = count
    return [
        *(one for code, counts in places.items() for one in _finding(code, counts, kept)),
        *(one for code, counts in together for one in _in_the_same_rows(code, counts)),
        *(one for text, counts in doubted.items() for one in _level_or_code(text, counts)),
        *_nothing_else(alone),
    ]


def _finding(code: str, counts: dict[str, int], columns: Sequence[Counted]) -> list[Finding]:
    what = " among numbers or levels: a code for missing?"
    elsewhere = [cells.name for cells in columns if cells.name not in counts and holds_value(cells, code)]
    if elsewhere:
        what += (
            " In {elsewhere} the same may be a value, so it is named for {names:this column|these columns} "
            "only."
        )
    found = _about_codes("code for missing", code, counts, what, True, elsewhere=tuple(elsewhere))
    # "x=1" for all columns would be read as 1 in the column x.
    if not elsewhere and not any(code.startswith(f"{cells.name}=") for cells in columns):
        return [replace(one, options=(("--na", code),)) for one in found]
    return found


def _level_or_code(text: str, counts: dict[str, int]) -> list[Finding]:
    what = ": a level, or not known? It is taken for a level; if nothing is known of these patients, say so."
    return _about_codes("level or missing", text, counts, what, False)


def _about_codes(
    name: str, code: str, counts: dict[str, int], what: str, in_line: bool, **facts: Any
) -> list[Finding]:
    cells = {column: plural(count, "cell") for column, count in counts.items()}
    text, value = "{columns} {names:holds|hold} {code}" + what, f"={code}"
    return about(name, cells, text, "--na", in_line, value, code=quoted(code, 20), **facts)


def _nothing_else(found: dict[str, str]) -> list[Finding]:
    shown = {name: quoted(word, 20) for name, word in found.items()}
    text = "{columns} {names:holds|hold} one level beside a word for missing, and nothing else."
    return about("constant", shown, text)


def holds_value(cells: Counted, code: str) -> bool:
    """Whether a column has a cell that reads as ``code``."""
    if cells.numbers is None:
        return code in cells.different
    try:
        value = float(code)
    except ValueError:
        return any(text == code for text, _ in cells.strange)
    return bool((cells.numbers == value).any())


def number_codes(cells: Counted, shared: Collection[float] = ()) -> list[tuple[float, int]]:
    """Values of a column of numbers that look like codes, and how many cells hold each.

    Those that are ``shared`` with other columns are codes wherever they are far from all else.
    """
    if cells.numbers is None or not cells.different or isinstance(cells.different[0], bool):
        return []
    if says_year(cells.name):
        return []  # 99 is one
    ends = (*cells.different[:CODES_AT_AN_END], *cells.different[-CODES_AT_AN_END:])
    if not any(value in HIGH or value in LOW or value in shared for value in ends):
        return []
    values, counts = np.array(cells.different), cells.counts
    known = np.array([value in HIGH or value in LOW for value in values]) & (counts >= LEAST_REPEATS)
    rest = values[~known]
    if rest.size < 2:
        return []
    found = {value for value in shared if value in (values[0], values[-1]) and _far(value, cells)}
    fits = (
        _beside_levels if cells.n_different <= MOST_ORDINAL_NUMBERS + 2 and cells.whole else _beside_numbers
    )
    # Of 97, 98 and 99, each is a code only if the first is far from the rest: of saturations none is.
    for code in sorted(values[known], key=abs):
        if fits(float(code), cells, rest):
            found.add(float(code))
        else:
            rest = np.sort(np.append(rest, code))
    return [(float(v), int(c)) for v, c in zip(values, counts, strict=True) if float(v) in found]


def _codes_in_the_same_rows(columns: Sequence[Counted]) -> list[tuple[str, dict[str, int]]]:
    """Levels at an end that several columns have in exactly the same rows, and differ elsewhere."""
    rows_of: dict[tuple[float, bytes], list[Counted]] = {}
    for cells in columns:
        if cells.numbers is None or not 2 < cells.n_different <= MOST_ORDINAL_NUMBERS + 2 or not cells.whole:
            continue
        for value in {float(cells.different[0]), float(cells.different[-1])}:
            there = cells.numbers == value
            if int(there.sum()) >= LEAST_REPEATS:
                rows_of.setdefault((value, np.packbits(there).tobytes()), []).append(cells)
    found = []
    for (value, _), some in rows_of.items():
        if len(some) >= SHARED_BY and len({c.numbers.tobytes() for c in some if c.numbers is not None}) > 1:
            rows = int(np.count_nonzero(some[0].numbers == value))
            found.append((as_text(value), {cells.name: rows for cells in some}))
    return found


def _in_the_same_rows(code: str, counts: dict[str, int]) -> list[Finding]:
    what = (
        ", all of them in the same rows: a code for missing, as for a part of a form that nobody filled in?"
    )
    return _about_codes("code for missing", code, counts, what, True)


def _shared_codes(columns: Sequence[Counted]) -> set[float]:
    """Values that lie far from all else, the same in several columns."""
    at: Counter[float] = Counter()
    for cells in columns:
        if (
            cells.numbers is not None
            and len(cells.different) > 2
            and not isinstance(cells.different[0], bool)
        ):
            ends = {float(cells.different[0]), float(cells.different[-1])}
            at.update(value for value in ends if value != 0 and _far(value, cells))
    return {value for value, columns_with in at.items() if columns_with >= SHARED_BY}


def _far(value: float, cells: Counted) -> bool:
    """Whether a value at an end repeats, but not often, and is far from the others."""
    first = value == cells.different[0]
    others = cells.different[1:] if first else cells.different[:-1]
    count = int(cells.counts[0 if first else -1])
    if not LEAST_REPEATS <= count <= MOST_SHARED * cells.n_observed or len(others) < 2:
        return False
    away = min(abs(value - others[0]), abs(value - others[-1]))
    return bool(away > TIMES_AS_FAR * (others[-1] - others[0]))


def _beside_levels(code: float, cells: Counted, rest: np.ndarray) -> bool:
    """1, 2, 3 and 9; 0, 1 and -9. Not -1, 0, 1, which may be less, the same, more."""
    if rest.max() - rest.min() > MOST_ORDINAL_NUMBERS:
        return _beside_numbers(code, cells, rest)
    away = code - rest.max() if code > 0 else rest.min() - code
    return bool(away >= STEPS_AWAY and (code > 0 or rest.min() >= 0))


def _beside_numbers(code: float, cells: Counted, rest: np.ndarray) -> bool:
    assert cells.numbers is not None
    if code < 0:
        # Below zero where nothing else is: no distance is needed, but levels could go to -1.
        return bool(rest.min() >= 0) and cells.n_different > MOST_ORDINAL_NUMBERS
    if code < rest.max():
        return False
    observed = cells.numbers[~np.isnan(cells.numbers) & (cells.numbers <= rest.max())]
    low, high = np.quantile(observed, (0.25, 0.75))
    # Of counts that are mostly 0 the range between the quartiles is none: 9 after 8 is one more.
    return bool(code - rest.max() > max(FENCE * (high - low), np.diff(rest).max(initial=0.0)))


def find_zeros(
    columns: Sequence[Counted], kinds: dict[str, Shape], left_out: Iterable[str], outcome: Sequence[str]
) -> list[Finding]:
    """Columns in which 0 seems to stand for missing: everything else is far from it."""
    out = {*left_out, *outcome}
    counts = {
        cells.name: count
        for cells in columns
        if kinds[cells.name] == "number" and cells.name not in out and (count := zeros(cells))
    }
    return about(
        "zero for missing",
        {name: plural(count, "zero") for name, count in counts.items()},
        "{columns} {names:holds|hold} 0, and nothing else near it: not measured?",
        "--na",
        value="=0",
    )


def zeros(cells: Counted) -> int:
    """How many zeros of a column of numbers look like codes; 0 where they do not."""
    if cells.numbers is None or len(cells.different) <= MOST_LEVELS or cells.different[0] != 0:
        return 0
    count = int(cells.counts[0])
    values = np.array(cells.different[1:])
    positive = cells.numbers[cells.numbers > 0]
    known_lab = says_lab(cells.name) and not weighs_a_survey(cells)
    if count < LEAST_REPEATS or (count > MOST_ZEROS * cells.n_observed and not known_lab):
        return 0
    step = float(np.diff(values).min())
    far = values[0] > STEPS_FROM_ZERO * step
    return count if far and (known_lab or values[0] >= SHARE_OF_MEDIAN * np.median(positive)) else 0


def counts_rows(cells: Counted) -> bool:
    """Whether a column by its name says how many patients each row of a table of counts stands for."""
    named = tokens(cells.name)[-1:] in (["freq"], ["frequency"], ["freqs"])
    return named and cells.whole and bool(cells.different) and cells.different[0] >= 0


def weighs_a_survey(cells: Counted) -> bool:
    """Whether weights spread as no bodies do: how many people each row of a survey stands for."""
    if cells.numbers is None or not {"weight", "weights", "wt", "wgt"} & set(tokens(cells.name)):
        return False
    positive = cells.numbers[cells.numbers > 0]
    return bool(positive.size and positive.max() > MOST_TIMES_THE_MEDIAN * np.median(positive))


def find_survey_weights(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[Finding]:
    """Columns that say how many people a row stands for, and nothing about the patient; one weighs rows."""
    fitted = [cells for cells in columns if kinds[cells.name] in FITTED]
    rows = [cells.name for cells in fitted if counts_rows(cells)]
    names = [cells.name for cells in fitted if weighs_a_survey(cells) and cells.name not in rows]
    text = "{columns}: by its name how many patients each row stands for, as in a table of counts."
    found = about("sampling weight", rows[:1], text, "--weights")
    if found:
        return found
    found = about(
        "sampling weight",
        names,
        "{columns} {names:spreads|spread} as no body weight does: how many people each row of a survey "
        "stands for (sampling weight)? That is no property of a patient: rows count by "
        "{names:it|one of them}.",
    )
    return [
        replace(one, options=(("--weights", names[0]), *(("--drop", other) for other in names[1:])))
        for one in found
    ]


def missing_words(cells: Counted) -> list[tuple[str, int]]:
    """Levels of a column of texts that say that nothing is known."""
    if cells.form != "text":
        return []
    levels = {str(text) for text in cells.different}
    pairs = zip(cells.different, cells.counts, strict=True)
    return [
        (str(text), int(count))
        for text, count in pairs
        if says_missing(str(text)) and not (text == "-" and "+" in levels)
    ]


def not_known(cells: Counted) -> np.ndarray:
    """(n,) rows in which a word or a number stands for "not known"; levels that may be such do not count."""
    if cells.numbers is not None:
        return np.isin(cells.numbers, [value for value, _ in number_codes(cells)])
    if cells.codes is None:
        return np.zeros(cells.n_rows, dtype=bool)
    said = {text for text, _ in missing_words(cells) if not may_be_a_level(text)}
    return np.isin(cells.codes, [place for place, text in enumerate(cells.different) if text in said])


def find_unmeasured(columns: Sequence[Counted], kinds: dict[str, Shape]) -> list[Finding]:
    """Rows in which none of the columns that are fitted has a value, which a fit refuses."""
    asked = [cells for cells in columns if kinds[cells.name] in FITTED]
    if not asked:
        return []
    nothing = np.ones(asked[0].n_rows, dtype=bool)
    for cells in asked:
        gone = cells.missing | not_known(cells)
        if cells.numbers is not None and kinds[cells.name] == "number" and zeros(cells):
            gone |= cells.numbers == 0
        nothing &= gone
    if not nothing.any():
        return []
    count = int(nothing.sum())
    sentence = (
        f"{plural(count, 'row')} {'has' if count == 1 else 'have'} no value in any column that would be "
        "fitted: remove them from the file, since nothing is known of these patients. Until then no fit is "
        "proposed."
    )
    return [Finding("nothing measured", (), sentence)]
