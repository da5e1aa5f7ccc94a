"""What cells mean: words for missing, numbers with a decimal comma, dates.

Every function takes and returns pyarrow tables or columns, whatever file they came from.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from ..errors import InputError
from ..wording import listed, quoted
from .arrow import is_numeric, is_text, pa, pc

if TYPE_CHECKING:
    from ..method.table import F64


# Dates: how people write them, the one grammar of all commands, each with a time of day or without.
#
# 31/12/2001, 12-31-01, 31.12.2001; 31-Dec-2001, 31DEC01; December 31, 2001; 2001/12/31, 20011231, the last
# also as numbers. Days and months are told apart by the whole column, never guessed; between dots the day
# comes first. A year of two digits is one from 1969 to 2030; where it could be another, we ask.
#
# A date by itself says little of a patient and much of a study, so it becomes a variable, as days since the
# first of the cohort, only where the user keeps it by name. That first day is its *origin*; the model keeps
# it (``provenance_["reading"]["origins"]``), so that new patients are counted from the same day, and
# whether day or month comes first (``"date_orders"``), which the dates of one new patient would not tell.

Order = Literal["day first", "month first"]
ORDERS: tuple[Order, ...] = get_args(Order)

_TIME = r"(?:[ T](?P<time>\d{1,2}:\d{2}(?::\d{2})?)(?:\.\d+)?Z?)?"
_YEAR = r"(?P<year>\d{4}|\d{2})"
_NUMBERS = re.compile(r"(?P<first>\d{1,2})(?P<mark>[/.-])(?P<second>\d{1,2})(?P=mark)" + _YEAR + _TIME)
_NAMED = re.compile(r"(?P<first>\d{1,2})[ ./-]?(?P<name>[A-Za-z]{3,9})\.?,?[ ./-]?" + _YEAR + _TIME)
_NAME_FIRST = re.compile(
    r"(?P<name>[A-Za-z]{3,9})\.?[ ./-]?(?P<first>\d{1,2})(?:st|nd|rd|th)?(?:, ?|[ ./-])(?P<year>\d{4})"
    + _TIME
)
_YEAR_FIRST = re.compile(
    r"(?P<year>\d{4})(?P<mark>[/.-])(?P<second>\d{1,2})(?P=mark)(?P<first>\d{1,2})" + _TIME
)
_DAY_NUMBER = re.compile(r"(?P<year>(?:19|20)\d\d)(?P<second>0[1-9]|1[0-2])(?P<first>0[1-9]|[12]\d|3[01])")
_FORMS = (_NUMBERS, _NAMED, _NAME_FIRST, _YEAR_FIRST, _DAY_NUMBER)
_FIRST_DAY_NUMBER, _LAST_DAY_NUMBER = 19_000_101, 20_991_231
# Two digits are a year of the last century from here on, as POSIX has it, and of this one up to there. What
# lies between would be a day to come, or one that the last century had.
_LAST_CENTURY_FROM, _THIS_CENTURY_TO = 69, 30
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_LONGEST = 40
_MILLISECONDS_A_DAY = 86_400_000


class _Written(NamedTuple):
    """A date in parts; ``first`` is the day, ``second`` the month, unless it is ``open`` which is which."""

    year: int
    first: int
    second: int
    time: str
    open: bool


def is_written_date(text: str) -> bool:
    """Whether a text is a date."""
    written = _parts(text)
    return written is not None and min(written[1:3]) <= 12 and max(written[1:3]) <= 31


def is_day_number(number: float) -> bool:
    """Whether a number is a day written as 20011231."""
    return _FIRST_DAY_NUMBER <= number <= _LAST_DAY_NUMBER and is_written_date(f"{number:.0f}")


def holds_written_dates(column: Any) -> bool:
    """Whether all cells of a column, texts or numbers, are dates, and at least one is."""
    if is_numeric(column.type):
        return _holds_day_numbers(column)
    if not is_text(column.type):
        return False
    found = False
    for text in _different(column):
        if not is_written_date(text):
            return False
        found = True
    return found


def _holds_day_numbers(column: Any) -> bool:
    ends = pc.min_max(column).as_py()
    if ends["min"] is None or not (is_day_number(ends["min"]) and is_day_number(ends["max"])):
        return False  # which tells of nearly all columns
    different = (number for number in pc.unique(column).to_pylist() if number is not None)
    return all(number % 1 == 0 and is_day_number(number) for number in different)


def order_of(column: Any, name: str) -> Order | None:
    """Whether days or months come first; None where no date leaves it open, InputError where all do."""
    seen: dict[Order, str] = {}
    open_one = None
    for text in _different(column):
        written = _parts(text)
        if written is None or not written.open or written.first == written.second:
            continue
        if max(written.first, written.second) <= 12:
            open_one = text
        else:
            seen["day first" if written.first > 12 else "month first"] = text
    if len(seen) == 2:
        raise InputError(
            f"column {quoted(name)} has the day first in {quoted(seen['day first'])}, but the month in "
            f"{quoted(seen['month first'])}: write all dates as YYYY-MM-DD, or leave the column out."
        )
    if open_one is not None and not seen:
        raise InputError(
            f"column {quoted(name)} has dates such as {quoted(open_one)}, of which none tells the day from "
            "the month: write them as YYYY-MM-DD, or leave the column out."
        )
    return next(iter(seen), None)


def as_dates(column: Any, name: str, order: Order | None) -> Any:
    """The dates of a column; one that the calendar does not have is an InputError."""
    texts = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not is_text(texts.type):
        texts = texts.cast(pa.int64()).cast(pa.string())
    encoded = texts.dictionary_encode()
    days = [_day(text, name, order) for text in encoded.dictionary.to_pylist()]
    return pa.chunked_array([pa.array(days, pa.timestamp("s")).take(encoded.indices)])


def _day(text: str, name: str, order: Order | None) -> datetime:
    written = _parts(text)
    if written is not None:
        day, month = written.first, written.second
        if written.open and order == "month first":
            day, month = month, day
        _refuse_open_century(text, name, written.year)
        hours, minutes, seconds = (*map(int, written.time.split(":")), 0)[:3]
        try:
            return datetime(written.year, month, day, hours, minutes, seconds)
        except ValueError:
            pass
    how = f" with the {order}" if order is not None and (written is None or written.open) else ""
    raise InputError(f"column {quoted(name)} holds {quoted(text)}, which is no date{how}: correct it.")


def _parts(text: str) -> _Written | None:
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    found = next((match for form in _FORMS if (match := form.fullmatch(text)) is not None), None)
    if found is None:
        return None
    parts = found.groupdict()
    open_ = found.re is _NUMBERS and parts["mark"] != "."
    second = parts.get("second") or _month(parts["name"])
    if second is None:
        return None
    year = _whole_year(parts["year"])
    return _Written(year, int(parts["first"]), int(second), parts.get("time") or "0:0", open_)


def _whole_year(text: str) -> int:
    year = int(text)
    return year if len(text) > 2 else year + (1900 if year >= _LAST_CENTURY_FROM else 2000)


def _refuse_open_century(text: str, name: str, year: int) -> None:
    if _THIS_CENTURY_TO < year - 2000 < _LAST_CENTURY_FROM and str(year) not in text:
        raise InputError(
            f"column {quoted(name)} has dates such as {quoted(text)}, of which the century is not plain, "
            f"{year - 100} or {year}: write years with four digits, or leave the column out."
        )


def _month(name: str) -> int | None:
    """The number of a month by its English name, whole or shortened: Dec, Sept, june."""
    folded = name.lower()
    return next((number for number, month in enumerate(_MONTHS, start=1) if month.startswith(folded)), None)


def _different(column: Any) -> Iterator[str]:
    if not is_text(column.type):
        return  # numbers: nothing is open
    # The first cells tell of nearly all columns that they hold no dates.
    first = next((cell for cell in column.slice(0, 100).to_pylist() if cell is not None), None)
    if first is None or _parts(first) is not None:
        yield from (text for text in pc.unique(column).to_pylist() if text is not None)
    else:
        yield first


# --- as variables -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dates:
    """The columns of a cohort that hold dates.

    Attributes
    ----------
    origins : by name, the first day of each that was kept, as 2020-01-31.
    orders : by name, whether day or month comes first, where that is not plain.
    refused : those that nobody kept, and those that cannot be understood.
    problems : what is said of these.
    """

    origins: dict[str, str]
    orders: dict[str, Order]
    refused: Set[str]
    problems: Sequence[InputError]

    def reading(self) -> dict[str, Any]:
        """What the model has to remember of them."""
        kept = {"origins": self.origins, "date_orders": self.orders}
        return {name: what for name, what in kept.items() if what}


def in_days_of_the_cohort(
    table: Any, features: Sequence[str], kept: Sequence[str], file: str
) -> tuple[Any, Dates]:
    """The table with dates that were kept in days since the first, and what became of the dates."""
    origins, orders = dict[str, str](), dict[str, Order]()
    not_kept, unclear = list[str](), dict[str, InputError]()
    for name in features:
        column, written = table[name], holds_written_dates(table[name])
        if not (written or holds_dates(column)):
            continue
        if name not in kept:
            not_kept.append(name)
            continue
        try:
            order = order_of(column, name) if written else None
            dates = as_dates(column, name, order) if written else column
        except InputError as error:
            unclear[name] = error
            continue
        if order is not None:
            orders[name] = order
        origins[name] = _first_day(dates)
        table = _with_days(table, name, dates, origins[name])
    problems = [*unclear.values()]
    if not_kept:
        said = (
            f"{file} has dates in {listed([quoted(name) for name in not_kept])}: leave them out with --drop "
            "COLUMN, or name them among the columns of --keep to count days since the first date."
        )
        problems.insert(0, InputError(said))
    return table, Dates(origins, orders, {*not_kept, *unclear}, problems)


def in_days(table: Any, origins: Mapping[str, str], orders: Mapping[str, Order]) -> Any:
    """The table with dates in days since their origins; numbers stay, as days counted already."""
    for name in [name for name in table.column_names if name in origins]:
        column = table[name]
        if holds_written_dates(column):
            column = as_dates(column, name, orders.get(name) or order_of(column, name))
        if holds_dates(column):
            table = _with_days(table, name, column, origins[name])
    return table


def _with_days(table: Any, name: str, dates: Any, origin: str) -> Any:
    """The table with a column as days from the midnight before `origin`, a time of day as a fraction."""
    import numpy as np

    start = int(np.datetime64(origin, "D").astype(np.int64))
    since_1970: F64 = _milliseconds(dates).cast(pa.float64(), safe=False).to_numpy() / _MILLISECONDS_A_DAY
    return table.set_column(table.column_names.index(name), name, pa.array(since_1970 - start))


def _first_day(dates: Any) -> str:
    """The first of some days, as 2020-01-31; that of a column without any does not matter."""
    import numpy as np

    return str(np.datetime64((pc.min(_milliseconds(dates)).as_py() or 0) // _MILLISECONDS_A_DAY, "D"))


def _milliseconds(dates: Any) -> Any:
    zone = dates.type.tz if pa.types.is_timestamp(dates.type) else None
    return dates.cast(pa.timestamp("ms", zone), safe=False).cast(pa.int64())


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
