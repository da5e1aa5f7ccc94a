"""Dates: how people write them, the one grammar of all commands, each with a time of day or without.

31/12/2001, 12-31-01, 31.12.2001; 31-Dec-2001, 31DEC01; December 31, 2001; 2001/12/31, 20011231, the last also
as numbers. Days and months are told apart by the whole column, never guessed; between dots the day comes
first. A year of two digits is one from 1969 to 2030; where it could be another, we ask.

A date by itself says little of a patient and much of a study, so it becomes a variable, as days since the
first of the cohort, only where the user keeps it by name. That first day is its *origin*; the model keeps it
(``provenance_["reading"]["origins"]``), so that new patients are counted from the same day, and whether day
or month comes first (``"date_orders"``), which the dates of one new patient would not tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from ..errors import InputError
from ..wording import listed, quoted
from .arrow import is_numeric, is_text, pa, pc
from .cells import holds_dates

if TYPE_CHECKING:
    from ..method.table import F64

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
