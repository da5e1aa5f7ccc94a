"""What cells mean: words for missing, numbers with a decimal comma, dates.

Every function takes and returns pyarrow tables or columns, whatever file they came from.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from ..errors import InputError
from ..wording import quoted
from .arrow import is_numeric, is_text, pa, pc

if TYPE_CHECKING:
    from ..method.table import F64

# Words that stand for "no value", in numbers, texts and labels alike: those of pyarrow. Users add their own
# with --na.
_OF_PYARROW = "#N/A #NA -1.#IND -1.#QNAN -NaN -nan 1.#IND 1.#QNAN N/A NA NULL NaN n/a nan null"
WORDS_FOR_MISSING = tuple(sorted(["", "#N/A N/A", *_OF_PYARROW.split()]))
# Words that people write where nothing is known, with "_" for blanks. They are asked about, and count as
# missing only where --na says so.
_IN_DOUBT = """
    * ? ?? . .. -- --- ... unknown unkown unk unkn u/k nk n/k missing n.a. n.k. n.d. not_done not_known
    not_available not_recorded not_applicable not_measured not_tested not_stated not_reported
    not_specified no_data none_recorded undefined undetermined unspecified unrecorded #null! #value! #n/d
    na_na nan_nan none_none <na> nat (null) (missing) (unknown) don't_know dont_know
"""
WORDS_IN_DOUBT = frozenset(_IN_DOUBT.split())
# These may as well be levels: no complication, not detected, non-responder.
WORDS_OR_LEVELS = frozenset(("none", "nd", "nr", "ns", "-"))

_FOLDED = frozenset(word.casefold() for word in WORDS_FOR_MISSING)
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)", re.ASCII | re.IGNORECASE)
_COMMA_NUMBER = re.compile(r"[+-]?(\d+,?\d*|,\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?", re.ASCII)
# 1,234 may be 1.234 or 1234; 0,123 and 1,5 can only be the one.
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
_TRUTH_OR_CODE = re.compile(r"true|false|0|1", re.IGNORECASE)
_TIME_OF_DAY = re.compile(r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?", re.ASCII)
# So many texts are turned into numbers at once; fewer one by one, which is quicker.
_TEXTS_AT_ONCE = 100


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


def is_missing(cell: Any) -> bool:
    """Whether an object stands for no value: None, NaN, NaT or NA."""
    try:
        return cell is None or bool(cell != cell)
    except (TypeError, ValueError):
        # pandas.NA cannot tell whether it is equal to itself; an array has many answers.
        return type(cell).__name__ == "NAType"


def says_missing(text: str) -> bool:
    """Whether a text, in letters of any size, is one that people write where nothing is known."""
    folded = "_".join(text.casefold().split())
    return folded in WORDS_IN_DOUBT | WORDS_OR_LEVELS | _FOLDED


def may_be_a_level(text: str) -> bool:
    """Whether such a text may as well be a level: none, n.d. for not detected."""
    return text.strip().casefold() in WORDS_OR_LEVELS


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
    words = own_words(na, table.column_names)
    columns = [
        column if name == untouched else _with_nulls(column, words.of(name), name not in untyped)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    # At once: one by one would take seconds where columns are many.
    return pa.table(columns, names=table.column_names)


def _with_nulls(column: Any, own: list[str], typed: bool) -> Any:
    words, numbers = [*WORDS_FOR_MISSING, *own], _numbers_among(own)
    if is_text(column.type):
        column = _texts_with_nulls(column, words, numbers, typed)
    in_levels = pa.types.is_dictionary(column.type)
    values = column.cast(column.type.value_type) if in_levels else column
    if in_levels and is_text(values.type):
        found = pc.is_in(pc.utf8_trim(values, " \t"), pa.array(words, values.type))
    elif numbers and is_numeric(values.type):
        found = pc.is_in(values.cast(pa.float64(), safe=False), pa.array(numbers, pa.float64()))
    elif own and (pa.types.is_boolean(values.type) or holds_dates(values)):
        # True, or 1900-01-01.
        some = own if holds_dates(values) else [word.lower() for word in own]
        days = pc.replace_substring_regex(values.cast(pa.string()), r" 00:00:00(\.0*)?Z?$", "")
        found = pc.is_in(days, pa.array(some, pa.string()))
    else:
        return column
    if not pc.any(found).as_py():
        return column
    if not in_levels:
        return pc.if_else(found, None, column)
    # The levels stay, the cells go.
    whole = column.unify_dictionaries().combine_chunks()
    kept, ordered = pc.if_else(found.combine_chunks(), None, whole.indices), column.type.ordered
    return pa.chunked_array([pa.DictionaryArray.from_arrays(kept, whole.dictionary, ordered=ordered)])


def _texts_with_nulls(texts: Any, words: list[str], numbers: list[float], typed: bool) -> Any:
    trimmed = pc.utf8_trim(texts, " \t")
    if numbers:  # 999.0 is 999, as it is where all cells are numbers
        there = [text for text in pc.unique(trimmed).to_pylist() if text and _NUMBER.fullmatch(text)]
        words = [*words, *(text for text in there if float(text) in numbers)]
    found = pc.is_in(trimmed, pa.array(words, trimmed.type))
    texts = texts if typed else trimmed
    if not pc.any(found).as_py():
        return texts
    texts = pc.if_else(found, None, texts)
    # One cell such as "." made a text of what is a column of numbers without it.
    return texts if typed else as_typed(texts)


def with_types(table: Any, untouched: Collection[str | None]) -> Any:
    """The table with texts as numbers or dates where all cells of a column are such, but for some columns."""
    columns = [
        as_typed(pc.utf8_trim(column, " \t"))
        if name not in untouched and pa.types.is_string(column.type)
        else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.table(columns, names=table.column_names)


def as_typed(texts: Any) -> Any:
    """Texts as numbers or dates where all of them are such; else as they are."""
    if texts.null_count == len(texts):
        return pa.chunked_array([pa.nulls(len(texts))])
    for kind in (pa.float64(), pa.date32(), pa.timestamp("s")):
        try:
            return texts.cast(kind)
        except pa.ArrowInvalid:
            continue
    return texts


def _numbers_among(words: Sequence[str]) -> list[float]:
    numbers = []
    for word in words:
        try:
            numbers.append(float(word))
        except ValueError:
            continue
    return numbers


# --- what texts are ---------------------------------------------------------------------------------------

Form = Literal["empty", "number", "truth", "time", "decimal comma", "unclear", "text"]


@dataclass(frozen=True)
class Written:
    """How the texts of a column are written, as far as they were seen; those of other rows may be added.

    Attributes
    ----------
    some : whether there is any text.
    numbers, truths, times, decimals : whether all are numbers as pyarrow reads them, truth values (true,
        false, 0, 1), times of day, whole numbers or such with a decimal comma.
    figures : whether all are numbers written in one way or another, such as 1,234.5 and 1.234.
    truth : whether a word for a truth value is among them.
    sure : whether a comma is among them that can only be a decimal one.
    comma : a text with a comma.
    """

    some: bool = False
    numbers: bool = True
    truths: bool = True
    times: bool = True
    decimals: bool = True
    figures: bool = True
    truth: bool = False
    sure: bool = False
    comma: str | None = None

    @classmethod
    def of(cls, texts: Sequence[str]) -> Written:
        """Of texts, none of them missing."""
        if not texts:
            return cls()
        numbers = bool(_NUMBER.fullmatch(texts[0])) and as_floats(texts) is not None
        truths = all(map(_TRUTH_OR_CODE.fullmatch, texts))
        decimals = all(map(_COMMA_NUMBER.fullmatch, texts))
        commas = [text for text in texts if "," in text]
        return cls(
            some=True,
            numbers=numbers,
            truths=truths,
            times=all(map(_TIME_OF_DAY.fullmatch, texts)),
            decimals=decimals,
            figures=numbers or all(map(_is_figure, texts)),
            truth=truths and any(text not in ("0", "1") for text in texts),
            sure=decimals and any(not _GROUPED.fullmatch(text) for text in commas),
            comma=commas[0] if commas else None,
        )

    def __add__(self, other: Written) -> Written:
        one, two = vars(self), vars(other)
        of_any = ("some", "truth", "sure", "comma")
        both = {name: one[name] or two[name] if name in of_any else one[name] and two[name] for name in one}
        return Written(**both)

    @property
    def form(self) -> Form:
        """What the texts of a whole column are.

        Unclear are numbers with commas of which it is not plain what they separate.
        """
        if not self.some:
            return "empty"
        if self.truths and self.truth:
            return "truth"
        if self.numbers:
            return "number"
        if self.times:
            return "time"
        if not self.figures:
            return "text"
        return "decimal comma" if self.decimals and self.sure else "unclear"


def with_decimal_commas(table: Any, untouched: Collection[str]) -> tuple[Any, dict[str, str]]:
    """The table with columns of texts such as "3,4" as numbers, and the unclear ones, each with an example.

    Columns that are `untouched` stay as they are.
    """
    written: dict[str, Written] = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name not in untouched and is_text(column.type):
            first: list[str] = column.slice(0, _TEXTS_AT_ONCE).drop_null().to_pylist()
            if all(map(_is_figure, first)):
                written[name] = Written.of(pc.unique(column).drop_null().to_pylist())
    commas, unclear = decimal_commas(written)
    for name in commas:
        place = table.column_names.index(name)
        numbers = pc.replace_substring(table.column(place), ",", ".").cast(pa.float64())
        table = table.set_column(place, name, numbers)
    return table, unclear


def decimal_commas(written: Mapping[str, Written]) -> tuple[list[str], dict[str, str]]:
    """Which columns hold numbers with decimal commas, and which unclear ones, each with an example.

    One column in which a comma can only be a decimal one tells of all others.
    """
    sure = any(one.form == "decimal comma" for one in written.values())
    commas = [
        name
        for name, one in written.items()
        if one.form == "decimal comma" or (sure and one.form == "unclear" and one.decimals)
    ]
    unclear = {
        name: one.comma or "" for name, one in written.items() if one.form == "unclear" and name not in commas
    }
    return commas, unclear


def is_unclear(text: str | None) -> bool:
    """Whether a text is a number with a comma that may mean two things."""
    return text is not None and Written.of([text]).form == "unclear"


def refuse_unclear(name: str, example: str | None, remedy: str) -> None:
    """Refuse a column if there is an example of a number with a comma that may mean two things."""
    if example is not None:
        raise InputError(
            f"column {quoted(name)} holds {quoted(example)}, which may be a decimal comma or a comma between "
            f"thousands: write it without commas, or {remedy}"
        )


def as_floats(texts: Sequence[str]) -> F64 | None:
    """(k,) texts as numbers, by pyarrow's rules for CSV files; None where one of them is none."""
    import numpy as np

    if len(texts) < _TEXTS_AT_ONCE:
        are_numbers = all(map(_NUMBER.fullmatch, texts))
        return np.array(list(map(float, texts)), dtype=np.float64) if are_numbers else None
    try:
        numbers: F64 = pa.array(texts, pa.string()).cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid:
        return None
    return numbers


def is_number(text: str) -> bool:
    """Whether a text is one, by pyarrow's rules for CSV files."""
    return _NUMBER.fullmatch(text) is not None


def one_by_one(texts: Sequence[str], decimal_comma: bool) -> F64:
    """(k,) of each text by itself the number that it is, NaN where it is none.

    True is 1 and false is 0; a comma is a decimal one where it can be no other, or where ``decimal_comma``
    says so.
    """
    import numpy as np

    numbers = as_floats(texts)
    if numbers is not None:
        return numbers
    return np.array([_number(text, decimal_comma) for text in texts], dtype=np.float64)


def _number(text: str, decimal_comma: bool) -> float:
    if _COMMA_NUMBER.fullmatch(text) and (decimal_comma or not _GROUPED.fullmatch(text)):
        text = text.replace(",", ".")
    if _NUMBER.fullmatch(text):
        return float(text)
    return {"true": 1.0, "false": 0.0}.get(text.lower(), float("nan"))


def _is_figure(text: str) -> bool:
    return any(pattern.fullmatch(text) for pattern in (_NUMBER, _COMMA_NUMBER, _THOUSANDS))


# --- dates ------------------------------------------------------------------------------------------------


def holds_dates(column: Any) -> bool:
    """Whether a column holds days, or days with a time."""
    return pa.types.is_date(column.type) or pa.types.is_timestamp(column.type)
