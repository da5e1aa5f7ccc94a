"""The cells of one column, counted once: every question about the column is answered from these counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..files.cells import WORDS_FOR_MISSING, says_missing
from ..files.tables import as_float64
from ..files.written_dates import is_day_number, is_written_date
from ..inputs.kinds import MOST_LEVELS, MOST_ORDINAL_NUMBERS
from ..method.table import F64, Index

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
