"""What each column is: a kind that can be fitted, or an id, a date, free text, or nothing at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..files.cells import WORDS_FOR_MISSING, is_day_number, is_written_date, says_missing
from ..files.tables import as_float64
from ..inputs.infer_types import of_texts
from ..inputs.kinds import MOST_LEVELS, MOST_ORDINAL_NUMBERS, ColumnError, variable_of_numbers
from ..method.table import F64, Index
from ..name_hints.columns import says_date, says_id, says_rank, says_row_number, says_site, tokens, words

# The cells of one column, counted once: every question about the column is answered from these counts.

# A column in which at least half of the cells are numbers was meant to be one.
SHARE_OF_NUMBERS = 0.5
# And few different texts among them are codes; with more, nobody could list them as codes for missing.
MOST_STRANGE = 20
# Of many different values, so many are kept: of texts the most common, of numbers those at each end. That is
# enough to show them, to tell ids from sentences, and for codes, which lie at the ends.
VALUES_KEPT = 1000
# Nearly all texts of a column of dates are dates; a stray "unknown" does not change what it is.
SHARE_OF_DATES = 0.95

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
Form = Literal["number", "text", "date", "other"]


@dataclass(frozen=True, eq=False)
class Counted:
    """One column of a table.

    Attributes
    ----------
    name : of the column.
    form : what the cells are written as; "other" is what no table of patients holds, such as lists.
    numbers : (n,) of a column of numbers, NaN where missing or no number; None for others.
    different : its values, each once: numbers ascending, texts the most common first; of many, VALUES_KEPT.
    counts : (of different) how many rows hold each.
    whole : all are whole numbers.
    n_different : how many different values there are.
    n_rows : how many cells.
    n_missing : how many of them are empty, or hold one of the words for that.
    strange : texts in a column of numbers, and how many cells hold each.
    order : the levels of an ordered categorical column, in their order; else None.
    codes : (n,) the place in ``different`` of each row, -1 where missing; None where there are many values.
    """

    name: str
    form: Form
    numbers: F64 | None
    different: tuple[Any, ...]
    counts: Index
    n_different: int
    n_rows: int
    n_missing: int
    whole: bool = False
    strange: tuple[tuple[str, int], ...] = ()
    order: tuple[str, ...] | None = None
    codes: Index | None = None

    @property
    def n_observed(self) -> int:
        return self.n_rows - self.n_missing

    @property
    def all_distinct(self) -> bool:
        return self.n_different == self.n_observed and not self.strange

    @property
    def missing(self) -> np.ndarray:
        """(n,) rows without a value; only of columns of numbers or with few values."""
        if self.numbers is not None:
            return np.isnan(self.numbers)
        return np.zeros(self.n_rows, bool) if self.codes is None else self.codes < 0


def counted_of(name: str, column: Any) -> Counted:
    """Count the cells of a pyarrow column."""
    import pyarrow as pa

    kind, order = column.type, None
    if pa.types.is_dictionary(kind):
        if kind.ordered and column.num_chunks:
            order = tuple(str(level) for level in column.chunk(0).dictionary.to_pylist())
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_temporal(kind):
        return _uncounted(name, "date", column)
    if pa.types.is_null(kind):
        column = column.cast(pa.float64())
    numbers = as_float64(column)
    if numbers is not None:
        return _of_numbers(name, numbers, truth=pa.types.is_boolean(kind))
    try:
        texts = column.cast(pa.string())
    except (pa.ArrowException, UnicodeDecodeError):
        return _uncounted(name, "other", column)
    return _of_texts(name, texts, order)


def _uncounted(name: str, form: Form, column: Any) -> Counted:
    """A column that nobody fits: one value is enough to show."""
    import pyarrow as pa

    observed = column.drop_null()
    try:
        first = tuple(str(value) for value in observed.slice(0, 1).to_pylist())
        n_different = len(observed.unique())
    except (pa.ArrowException, UnicodeDecodeError, ValueError):
        first, n_different = ("(not text)",), len(observed)
    counts = np.ones(len(first), dtype=np.intp)
    return Counted(name, form, None, first, counts, n_different, len(column), column.null_count)


def _of_numbers(
    name: str,
    numbers: F64,
    n_missing: int | None = None,
    strange: tuple[tuple[str, int], ...] = (),
    truth: bool = False,
) -> Counted:
    missing = np.isnan(numbers)
    different, counts = np.unique(numbers[~missing] if missing.any() else numbers, return_counts=True)
    codes = None
    if different.size <= MOST_LEVELS:
        codes = np.where(missing, -1, np.searchsorted(different, numbers))
    n_different = different.size
    whole = n_different > 0 and not strange and bool((different == np.rint(different)).all())
    if n_different > 2 * VALUES_KEPT:
        ends = np.r_[:VALUES_KEPT, n_different - VALUES_KEPT : n_different]
        different, counts = different[ends], counts[ends]
    return Counted(
        name=name,
        form="number",
        numbers=numbers,
        different=tuple(bool(v) for v in different) if truth else tuple(different.tolist()),
        counts=counts,
        n_different=n_different,
        n_rows=numbers.size,
        n_missing=int(missing.sum()) if n_missing is None else n_missing,
        whole=whole,
        strange=strange,
        codes=codes,
    )


def _of_texts(name: str, texts: Any, order: tuple[str, ...] | None) -> Counted:
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.utf8_trim(texts, " \t").combine_chunks()
    words = pa.array(WORDS_FOR_MISSING, texts.type)
    texts = pc.if_else(pc.is_in(texts, words), None, texts)
    counted = pc.value_counts(texts.drop_null())
    values, counts = counted.field("values"), counted.field("counts").to_numpy()
    is_number = pc.match_substring_regex(values, NUMBER).to_numpy(zero_copy_only=False)
    if order is None and _are_numbers(values, counts, is_number):
        strange = zip(values.filter(pa.array(~is_number)).to_pylist(), counts[~is_number], strict=True)
        found = tuple((text, int(count)) for text, count in strange)
        fits = pc.match_substring_regex(texts, NUMBER)
        numbers = pc.if_else(fits, texts, None).cast(pa.float64()).to_numpy(zero_copy_only=False)
        return _of_numbers(name, numbers, texts.null_count, found)
    is_date = _are_dates(values.to_pylist())
    form: Form = "date" if counts[is_date].sum() >= SHARE_OF_DATES * max(counts.sum(), 1) else "text"
    # The most common first; of equally common ones, the first in the file.
    ranked = np.argsort(-counts, kind="stable")[:VALUES_KEPT]
    codes = None
    if form == "text" and len(values) <= MOST_LEVELS:
        place = np.empty(len(values) + 1, dtype=np.intp)
        place[ranked], place[-1] = np.arange(ranked.size), -1
        found_at = pc.fill_null(pc.index_in(texts, values), -1).to_numpy(zero_copy_only=False)
        codes = place[found_at]
    return Counted(
        name=name,
        form=form,
        numbers=None,
        different=tuple(values.take(pa.array(ranked)).to_pylist()),
        counts=counts[ranked].astype(np.intp),
        n_different=len(values),
        n_rows=len(texts),
        n_missing=texts.null_count,
        order=order,
        codes=codes,
    )


def _are_dates(values: list[str]) -> np.ndarray:
    """(of values) which are dates; the first ones tell of nearly all columns that none is."""
    if not any(map(is_written_date, values[:100])):
        return np.zeros(len(values), dtype=bool)
    return np.array([is_written_date(value) for value in values], dtype=bool)


def _are_numbers(values: Any, counts: Index, is_number: np.ndarray) -> bool:
    """Whether texts were meant to be numbers, a few codes among them."""
    n_strange = int((~is_number).sum())
    if n_strange == 0:
        return bool(is_number.size)
    if n_strange > MOST_STRANGE or counts[is_number].sum() < SHARE_OF_NUMBERS * counts.sum():
        return False
    # "0", "1", "2", "3+" are levels; "0", "1", "2", "?" are numbers with a hole.
    many = int(is_number.sum()) > MOST_ORDINAL_NUMBERS
    strange = [text for text, fits in zip(values.to_pylist(), is_number, strict=True) if not fits]
    return many or all(map(says_missing, strange))


def as_text(value: Any) -> str:
    """A value as it is written in a file: true, 1, 0.5, yes."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def is_whole_date(cells: Counted) -> bool:
    """Whether whole numbers are days written as 20011231."""
    if not cells.whole or cells.n_different < 2:
        return False
    return all(is_day_number(float(value)) for value in cells.different)


Shape = Literal["number", "binary", "ordinal", "nominal", "id", "date", "text", "empty", "constant"]
FITTED = ("number", "binary", "ordinal", "nominal")

# In fewer rows, numbers rise from row to row by chance.
ROWS_TO_RISE = 20
# So many groups at least, and so many a row, are numbered as the rows come: families, say.
GROUPS_TO_RISE, GROUPS_A_ROW = 100, 0.2
# And a column of texts, each once, is one of ids from so few rows on: it cannot tell anything else.
ROWS_OF_TEXTS = 3
# An id is a word; what is longer, or has several words, is a note or a person's name.
LONGEST_ID = 40
LEVELS_SHOWN = 10
_MONTHS = words(
    "january february march april may june july august september october november december jan feb mar apr "
    "jun jul aug sep sept oct nov dec"
)
_DAYS = words(
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun"
)
# Whole numbers under these names, within these, are months and days of the week.
_NUMBERED = {"month": (1, 12), "mon": (1, 12), "weekday": (0, 7), "dow": (0, 7), "dayofweek": (0, 7)}
# What may stand beside them: when it was.
_WHEN = words(
    "of the week admission admitted diagnosis diag dx birth visit study entry enrollment calendar death "
    "died discharge onset start stop end last contact seen exit relapse surgery operation transplant "
    "randomization randomisation followup event julian date"
)
# Days since a day long ago: the first of them is later than this, and all are within a lifetime.
_FIRST_DAY, _LIFETIME = 1000, 100 * 366
# One of two such columns hardly ever comes before the other.
_IN_ORDER = 0.98


@dataclass(frozen=True)
class ColumnFacts:
    """What is said of one column.

    Attributes
    ----------
    name : of the column.
    kind : one that can be fitted, or why it cannot.
    n_different : different values, without the missing ones.
    n_missing : cells without a value.
    share_missing : of all rows.
    range : least and largest of a column of numbers; else None.
    levels : (text, rows) of a column with few values, at most LEVELS_SHOWN of them; else empty.
    example : the first of its most common texts, or a number; None for an empty column.
    """

    name: str
    kind: Shape
    n_different: int
    n_missing: int
    share_missing: float
    range: tuple[float, float] | None
    levels: tuple[tuple[str, int], ...]
    example: str | None


def shape_of(cells: Counted) -> Shape:
    """What a column is, by its cells and its name."""
    if not cells.n_observed:
        return "empty"
    if cells.form == "date" or is_whole_date(cells) or is_calendar(cells):
        return "date"
    if cells.form == "other":
        return "text"
    if cells.n_different == 1 and not cells.strange:
        return "constant"
    if _is_id(cells):
        return "id"
    if says_date(cells.name) and (cells.form == "text" or cells.n_different > MOST_LEVELS):
        return "date"
    return _guess(cells)


def is_row_number(cells: Counted) -> bool:
    """Whether a column counts the rows, from 0 or from 1, also where these were sorted or drawn since."""
    numbers = cells.numbers
    if numbers is None or cells.n_missing or not cells.whole or not cells.all_distinct:
        return False
    if says_row_number(cells.name) and cells.n_rows >= ROWS_TO_RISE:
        return True
    if cells.n_rows < ROWS_TO_RISE and not says_row_number(cells.name):
        return False
    ordered = numbers if says_rank(cells.name) else np.sort(numbers)
    return ordered[0] in (0.0, 1.0) and bool((np.diff(ordered) == 1.0).all())


def _is_id(cells: Counted) -> bool:
    if not cells.name.strip():
        return True  # an exported index; a column without a name can be no variable
    if cells.form == "number":
        if not cells.whole:
            return bool(cells.strange) and _are_named_ids(cells)  # 207a among numbers
        if is_row_number(cells) or _rises(cells):
            return True
        return _are_named_ids(cells) or (says_site(cells.name) and cells.n_different > MOST_LEVELS)
    if _are_named_ids(cells):
        return True
    return cells.all_distinct and cells.n_rows >= ROWS_OF_TEXTS and _are_words(cells)


def _are_named_ids(cells: Counted) -> bool:
    """Whether the name says ids, and they are more than levels are; of sites, more than levels can be."""
    least = MOST_LEVELS if says_site(cells.name) else MOST_ORDINAL_NUMBERS
    return says_id(cells.name) and (cells.n_different > least or cells.all_distinct)


def _rises(cells: Counted) -> bool:
    numbers = cells.numbers
    assert numbers is not None
    enough = cells.n_rows >= ROWS_TO_RISE and not cells.n_missing
    if not enough or (numbers[1:] < numbers[:-1]).any():
        return False
    # Sorted by the families, or places, that rows belong to, each numbered one more than the one before.
    steps = np.diff(np.unique(numbers))
    many = steps.size >= max(GROUPS_TO_RISE, GROUPS_A_ROW * cells.n_rows)
    return cells.all_distinct or (many and float(np.median(steps)) == 1.0)


def _are_words(cells: Counted) -> bool:
    texts = [str(text) for text in cells.different]
    return max(map(len, texts)) <= LONGEST_ID and sum(" " in text for text in texts) < len(texts) / 2


def _guess(cells: Counted) -> Shape:
    """The kind that a fit would take a column for."""
    if cells.form == "number":
        if cells.n_different > MOST_LEVELS:
            return "number"
        assert cells.numbers is not None
        return variable_of_numbers(cells.name, cells.numbers).kind
    all_distinct = cells.all_distinct and cells.n_rows >= ROWS_OF_TEXTS
    if cells.n_different > MOST_LEVELS or all_distinct:
        return "text"
    counts = {str(text): int(count) for text, count in zip(cells.different, cells.counts, strict=True)}
    known = {text: count for text, count in counts.items() if not says_missing(text)}
    try:
        of_texts(cells.name, known, None, cells.order)  # as it is once words for missing are gone
        return of_texts(cells.name, counts, None, cells.order).kind
    except ColumnError:
        return "text"


def facts_of(cells: Counted, kind: Shape) -> ColumnFacts:
    """What is shown of a column."""
    numeric = cells.form == "number" and len(cells.different) > 0
    few = kind in ("binary", "ordinal", "nominal", "constant")
    example = as_text(cells.different[0]) if cells.different else None
    if numeric:
        assert cells.numbers is not None
        example = as_text(float(cells.numbers[np.flatnonzero(~np.isnan(cells.numbers))[0]]))
        if isinstance(cells.different[0], bool):
            example = "true" if example == "1" else "false"
    elif cells.strange:
        example = cells.strange[0][0]
    return ColumnFacts(
        name=cells.name,
        kind=kind,
        n_different=cells.n_different + len(cells.strange),
        n_missing=cells.n_missing,
        share_missing=cells.n_missing / cells.n_rows if cells.n_rows else 0.0,
        range=(float(cells.different[0]), float(cells.different[-1])) if numeric else None,
        levels=tuple(
            (as_text(value), int(count))
            for value, count in zip(cells.different[:LEVELS_SHOWN], cells.counts, strict=False)
        )
        if few
        else (),
        example=example,
    )


def is_calendar(cells: Counted) -> bool:
    """Whether a column says a month or a day of the week, by words or by numbers under such a name."""
    if not cells.different:
        return False
    if cells.form == "text":
        levels = {str(level).strip().rstrip(".").casefold() for level in cells.different}
        return len(levels) > 2 and (levels <= _MONTHS or levels <= _DAYS)
    parts = tokens(cells.name)
    if "".join(parts) == "dayofweek":
        parts = ["dayofweek"]
    named = [part for part in parts if part in _NUMBERED]
    if len(named) != 1 or not cells.whole or not {*parts} - {named[0]} <= _WHEN:
        return False
    low, high = _NUMBERED[named[0]]
    return bool(low <= cells.different[0] and cells.different[-1] <= high) and cells.n_different > 2


def days_since(columns: Sequence[Counted]) -> set[str]:
    """Columns of whole numbers that count days from some day long ago: diag and death, Julian days."""
    could = [cells for cells in columns if _could_be_days(cells)]
    found = {cells.name for cells in could if "julian" in tokens(cells.name)}
    for first in could:
        for second in could:
            assert first.numbers is not None and second.numbers is not None
            both = ~np.isnan(first.numbers) & ~np.isnan(second.numbers)
            if first is second or not both.any():
                continue
            after = second.numbers[both] - first.numbers[both]
            overlap = min(first.different[-1], second.different[-1]) > max(
                first.different[0], second.different[0]
            )
            if overlap and float((after >= 0).mean()) >= _IN_ORDER and bool((after > 0).any()):
                found |= {first.name, second.name}
    return found


def _could_be_days(cells: Counted) -> bool:
    if cells.numbers is None or not cells.whole or cells.n_different <= MOST_LEVELS:
        return False
    first, last = float(cells.different[0]), float(cells.different[-1])
    # Numbers that begin near 0 are a time since something of the patient's own.
    return (
        bool(_WHEN & {*tokens(cells.name)})
        and first > max(_FIRST_DAY, last - first)
        and last - first < _LIFETIME
    )
