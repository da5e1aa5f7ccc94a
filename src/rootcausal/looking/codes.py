"""Codes for missing: 999, -9, 0 in a lab that is never 0, "?", "unknown", "<100"."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..inputs.kinds import MOST_LEVELS, MOST_ORDINAL_NUMBERS
from ..wording import listed, plural, quoted
from .counted import Counted, as_text
from .findings import Finding, by_number, columns_in_words
from .names import says_lab, says_missing
from .shape import FITTED, Shape

# What people write for "missing" where only numbers fit: all nines, eights and sevens.
HIGH = frozenset(
    value for digit in (7, 8, 9) for size in range(1, 6) for value in (float(str(digit) * size),)
) | {9.9, 99.9, 999.9, 9.99, 99.99, 999.99, 9999.99}
LOW = frozenset(-value for value in HIGH) | {-1.0}
# At each end of a column there are no more of them: 777, 888 and 999 at the most, and rounded ones.
CODES_AT_AN_END = 6
# A value that comes once or twice may be an outlier; a code repeats.
LEAST_REPEATS = 3
# How far outside the rest a code lies, in interquartile ranges of the rest: the fence of a boxplot.
FENCE = 1.5
# Of levels such as 1, 2, 3 and 9, how far the code lies from the next level, in steps.
STEPS_AWAY = 4
# A lab is never near 0 if its least other value is this share of its median, and this many steps, from 0.
SHARE_OF_MEDIAN = 0.2
STEPS_FROM_ZERO = 5
# Where more cells than this are 0, it is an amount that many do not have, such as a dose, unless its name is
# that of something that nobody has none of.
MOST_ZEROS = 0.05


def find_codes(
    columns: Sequence[Counted], kinds: dict[str, Shape], left_out: Iterable[str], target: str | None
) -> list[Finding]:
    """One finding for each code, whatever columns it is in; columns that are left out are not asked."""
    out = set(left_out)
    asked = [c for c in columns if kinds[c.name] in FITTED and c.name not in out and c.name != target]
    places: dict[str, dict[str, int]] = {}
    for cells in asked:
        for value, count in number_codes(cells):
            places.setdefault(as_text(value), {})[cells.name] = count
        for text, count in (*cells.strange, *_missing_words(cells)):
            places.setdefault(text, {})[cells.name] = count
    others = [*asked, *(c for c in columns if c.name == target)]
    return [_finding(code, counts, others) for code, counts in places.items()]


def _finding(code: str, counts: dict[str, int], columns: Sequence[Counted]) -> Finding:
    names = tuple(counts)
    where = columns_in_words(names, lambda name: plural(counts[name], "cell"))
    holds = "holds" if len(names) == 1 else "hold"
    censored = code[0] in "<>≤≥" or code.endswith("+")
    what = (
        f"{where} {holds} {quoted(code, 20)}, beyond what could be measured. --na takes it for missing; a "
        "number in its place, such as half the limit, would keep more."
        if censored
        else f"{where} {holds} {quoted(code, 20)} among numbers or levels: a code for missing?"
    )
    elsewhere = [cells.name for cells in columns if cells.name not in counts and holds_value(cells, code)]
    if not elsewhere:
        return Finding("code for missing", names, what, (("--na", code),), True)
    what += (
        f" In {listed([quoted(name) for name in elsewhere])} the same may be a value, so it is named for "
        f"{by_number(names, 'this column', 'these columns')} only."
    )
    return Finding("code for missing", names, what, missing_in(names, code), True)


def missing_in(names: Sequence[str], code: str) -> tuple[tuple[str, ...], ...]:
    """The options that take a code for missing in these columns only."""
    return tuple(("--na", f"{name}={code}") for name in names)


def holds_value(cells: Counted, code: str) -> bool:
    """Whether a column has a cell that reads as ``code``."""
    if cells.numbers is None:
        return code in cells.different
    try:
        value = float(code)
    except ValueError:
        return any(text == code for text, _ in cells.strange)
    return bool((cells.numbers == value).any())


def number_codes(cells: Counted) -> list[tuple[float, int]]:
    """Values of a column of numbers that look like codes, and how many cells hold each."""
    if cells.numbers is None or not cells.different or isinstance(cells.different[0], bool):
        return []
    ends = (*cells.different[:CODES_AT_AN_END], *cells.different[-CODES_AT_AN_END:])
    if not any(value in HIGH or value in LOW for value in ends):
        return []
    values, counts = np.array(cells.different), cells.counts
    known = np.array([value in HIGH or value in LOW for value in values]) & (counts >= LEAST_REPEATS)
    if not known.any():
        return []
    rest = values[~known]
    if rest.size < 2:
        return []
    fits = (
        _beside_levels if cells.n_different <= MOST_ORDINAL_NUMBERS + 2 and cells.whole else _beside_numbers
    )
    codes = {float(value) for value in values[known] if fits(float(value), cells, rest)}
    return [(float(v), int(c)) for v, c in zip(values, counts, strict=True) if float(v) in codes]


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
    return bool(code - rest.max() > FENCE * max(high - low, 0.0))


def find_zeros(
    columns: Sequence[Counted], kinds: dict[str, Shape], left_out: Iterable[str], target: str | None
) -> list[Finding]:
    """Columns in which 0 seems to stand for missing: everything else is far from it."""
    out = {*left_out, target}
    counts = {
        cells.name: count
        for cells in columns
        if kinds[cells.name] == "number" and cells.name not in out and (count := zeros(cells))
    }
    if not counts:
        return []
    names = tuple(counts)
    return [
        Finding(
            "zero for missing",
            names,
            f"{columns_in_words(names, lambda name: plural(counts[name], 'zero'))} "
            f"{by_number(names, 'holds', 'hold')} 0, and nothing else near it: not measured?",
            missing_in(names, "0"),
            True,
        )
    ]


def zeros(cells: Counted) -> int:
    """How many zeros of a column of numbers look like codes; 0 where they do not."""
    if cells.numbers is None or len(cells.different) <= MOST_LEVELS or cells.different[0] != 0:
        return 0
    count = int(cells.counts[0])
    values = np.array(cells.different[1:])
    known_lab = says_lab(cells.name)
    if count < LEAST_REPEATS or (count > MOST_ZEROS * cells.n_observed and not known_lab):
        return 0
    step = float(np.diff(values).min())
    positive = cells.numbers[cells.numbers > 0]
    far = values[0] > STEPS_FROM_ZERO * step
    return count if far and (known_lab or values[0] >= SHARE_OF_MEDIAN * np.median(positive)) else 0


def _missing_words(cells: Counted) -> list[tuple[str, int]]:
    """Levels of a column of texts that say that nothing is known."""
    if cells.form != "text":
        return []
    pairs = zip(cells.different, cells.counts, strict=True)
    return [(str(text), int(count)) for text, count in pairs if says_missing(str(text))]
