"""What cells mean: words for missing, numbers with a decimal comma, dates.

Every function takes and returns pyarrow tables or columns, whatever file they came from.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..wording import quoted

if TYPE_CHECKING:
    from ..core.table import F64

# The one list of words that stand for "no value", in numbers, texts and labels alike: that of pyarrow. Users
# add their own with --na.
WORDS_FOR_MISSING = (
    "",
    "#N/A",
    "#N/A N/A",
    "#NA",
    "-1.#IND",
    "-1.#QNAN",
    "-NaN",
    "-nan",
    "1.#IND",
    "1.#QNAN",
    "N/A",
    "NA",
    "NULL",
    "NaN",
    "n/a",
    "nan",
    "null",
)

_COMMA_NUMBER = r"^[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?$"
# 1,234 may be 1.234 or 1234; 0,123 and 1,5 can only be the one.
_GROUPED = r"^[+-]?[1-9]\d{0,2},\d{3}$"
_MILLISECONDS_A_DAY = 86_400_000


@dataclass(frozen=True)
class OwnWords:
    """Words for missing that a user added.

    Attributes
    ----------
    everywhere : in all columns.
    of_column : in one column only, by its name.
    """

    everywhere: list[str] = field(default_factory=list)
    of_column: dict[str, list[str]] = field(default_factory=dict)

    def of(self, column: str) -> list[str]:
        return [*self.everywhere, *self.of_column.get(column, ())]


def own_words(na: Sequence[str], columns: Collection[str]) -> OwnWords:
    """What texts such as "999" and "glucose=0" mean: what stands before the last "=" that leaves the name of
    a column is that column; without one, the whole text is a word.
    """
    known = set(columns)
    found = OwnWords()
    for text in na:
        ends = [place for place, letter in enumerate(text) if letter == "=" and text[:place] in known]
        if ends:
            found.of_column.setdefault(text[: ends[-1]], []).append(text[ends[-1] + 1 :].strip())
        else:
            found.everywhere.append(text.strip())
    return found


def with_missing(table: Any, na: Sequence[str], untouched: str | None, untyped: Collection[str] = ()) -> Any:
    """The table with nulls where a word for missing stands; the column `untouched` (the ids) stays as it is.

    Parameters
    ----------
    na : words of the user beside :data:`WORDS_FOR_MISSING`, as :func:`own_words` reads them; those that are
        numbers count in numbers, too.
    untyped : columns of which the file does not say whether they are texts: blanks around texts go, and
        where all that is not missing is a number, or a date, so is the column.
    """
    import pyarrow as pa

    words = own_words(na, table.column_names)
    columns = [
        column if name == untouched else _settled(column, words.of(name), name not in untyped)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    # At once: one by one would take seconds where columns are many.
    return pa.table(columns, names=table.column_names)


def _settled(column: Any, own: list[str], typed: bool) -> Any:
    import pyarrow as pa

    words, numbers = [*WORDS_FOR_MISSING, *own], _numbers_among(own)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = _settled_texts(column, words, typed)
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _settled_levels(column, words, numbers)
    if numbers and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return _without_numbers(column, numbers)
    if own and (pa.types.is_boolean(kind) or holds_dates(column)):
        return _without_words(column, own)
    return column


def _settled_texts(texts: Any, words: list[str], typed: bool) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim(texts, " \t")
    found = pc.is_in(trimmed, pa.array(words, trimmed.type))
    texts = texts if typed else trimmed
    if not pc.any(found).as_py():
        return texts
    texts = pc.if_else(found, None, texts)
    # One cell such as "." made a text of what is a column of numbers without it.
    return texts if typed else as_typed(texts)


def as_typed(texts: Any) -> Any:
    """Texts as numbers or dates where all of them are such; else as they are."""
    import pyarrow as pa

    if texts.null_count == len(texts):
        return pa.chunked_array([pa.nulls(len(texts))])
    for kind in (pa.float64(), pa.date32(), pa.timestamp("s")):
        try:
            return texts.cast(kind)
        except pa.ArrowInvalid:
            continue
    return texts


def _settled_levels(column: Any, words: list[str], numbers: list[float]) -> Any:
    """A categorical: the levels stay, the cells that hold a word for missing go."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = column.cast(column.type.value_type)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        found = pc.is_in(pc.utf8_trim(values, " \t"), pa.array(words, values.type))
    elif numbers and (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        found = pc.is_in(values.cast(pa.float64(), safe=False), pa.array(numbers, pa.float64()))
    else:
        return column
    if not pc.any(found).as_py():
        return column
    whole = column.unify_dictionaries().combine_chunks()
    mask = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    kept = pc.if_else(mask, None, whole.indices)
    return pa.chunked_array(
        [pa.DictionaryArray.from_arrays(kept, whole.dictionary, ordered=column.type.ordered)]
    )


def _without_numbers(column: Any, numbers: list[float]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.is_in(column.cast(pa.float64(), safe=False), pa.array(numbers, pa.float64()))
    return pc.if_else(found, None, column) if pc.any(found).as_py() else column


def _without_words(column: Any, words: list[str]) -> Any:
    """Truth values and dates without those that are written like this: true, 1900-01-01."""
    import pyarrow as pa
    import pyarrow.compute as pc

    some = words if holds_dates(column) else [word.lower() for word in words]
    days = pc.replace_substring_regex(column.cast(pa.string()), r" 00:00:00(\.0*)?Z?$", "")
    found = pc.is_in(days, pa.array(some, pa.string()))
    return pc.if_else(found, None, column) if pc.any(found).as_py() else column


def _numbers_among(words: Sequence[str]) -> list[float]:
    numbers = []
    for word in words:
        try:
            numbers.append(float(word))
        except ValueError:
            continue
    return numbers


# --- decimal commas ---------------------------------------------------------------------------------------


def with_decimal_commas(table: Any, untouched: str | None) -> Any:
    """The table with columns of texts such as "3,4" as numbers; the column `untouched` stays as it is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    unclear: list[tuple[int, str]] = []
    sure = False
    for place, name in enumerate(table.column_names):
        texts = table.column(place)
        if name == untouched or not pa.types.is_string(texts.type):
            continue
        there = texts.drop_null()
        with_comma = there.filter(pc.match_substring(there, ","))
        if not len(with_comma) or not _all_match(there, _COMMA_NUMBER):
            continue
        if _all_match(with_comma, _GROUPED):
            unclear.append((place, with_comma[0].as_py()))
            continue
        sure = True
        table = table.set_column(place, name, _from_commas(texts))
    for place, example in unclear:
        name = table.column_names[place]
        if not sure:
            raise InputError(
                f"column {quoted(name)} holds {quoted(example)}, which may be a decimal comma or a comma "
                "between thousands: write it without commas, or leave the column out with --drop COLUMN."
            )
        table = table.set_column(place, name, _from_commas(table.column(place)))
    return table


def _all_match(texts: Any, pattern: str) -> bool:
    import pyarrow.compute as pc

    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def _from_commas(texts: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.replace_substring(texts, ",", ".").cast(pa.float64())


# --- dates ------------------------------------------------------------------------------------------------


def holds_dates(column: Any) -> bool:
    """Whether a column holds days, or days with a time."""
    import pyarrow as pa

    return pa.types.is_date(column.type) or pa.types.is_timestamp(column.type)


def first_day(column: Any) -> str:
    """The first of the days in a column, as 2020-01-31; that of a column without any does not matter."""
    import numpy as np
    import pyarrow.compute as pc

    first = pc.min(_milliseconds(column)).as_py() or 0
    return str(np.datetime64(first // _MILLISECONDS_A_DAY, "D"))


def days_since(origin: str, column: Any) -> F64:
    """(n,): days, with a time of day as a fraction, from the midnight before `origin`; NaN where missing."""
    import numpy as np
    import pyarrow as pa

    start = int(np.datetime64(origin, "D").astype(np.int64))
    since_1970: F64 = _milliseconds(column).cast(pa.float64(), safe=False).to_numpy() / _MILLISECONDS_A_DAY
    return since_1970 - start


def _milliseconds(column: Any) -> Any:
    import pyarrow as pa

    zone = column.type.tz if pa.types.is_timestamp(column.type) else None
    return column.cast(pa.timestamp("ms", zone), safe=False).cast(pa.int64())
