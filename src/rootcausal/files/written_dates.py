"""Dates as people write them: 31/12/2001, 12-31-2001, 31.12.2001, 31-Dec-2001, 2001/12/31, each with a time
of day or without.

Days and months are told apart by the whole column, never guessed; between dots the day comes first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal, NamedTuple, get_args

from ..errors import InputError
from ..wording import quoted

Order = Literal["day first", "month first"]
ORDERS: tuple[Order, ...] = get_args(Order)

_TIME = r"(?:[ T](?P<time>\d{1,2}:\d{2}(?::\d{2})?)(?:\.\d+)?Z?)?"
_NUMBERS = re.compile(r"(?P<first>\d{1,2})(?P<mark>[/.-])(?P<second>\d{1,2})(?P=mark)(?P<year>\d{4})" + _TIME)
_NAMED = re.compile(r"(?P<first>\d{1,2})[ ./-]?(?P<name>[A-Za-z]{3,9})\.?[ ./-]?(?P<year>\d{4})" + _TIME)
_YEAR_FIRST = re.compile(
    r"(?P<year>\d{4})(?P<mark>[/.-])(?P<second>\d{1,2})(?P=mark)(?P<first>\d{1,2})" + _TIME
)
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_LONGEST = 40


class _Written(NamedTuple):
    """A date in parts; ``first`` is the day, ``second`` the month, unless it is ``open`` which is which."""

    year: int
    first: int
    second: int
    time: str
    open: bool


def holds_written_dates(column: Any) -> bool:
    """Whether all texts of a column, and at least one, are dates."""
    import pyarrow as pa

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return False
    found = False
    for text in _different(column):
        written = _parts(text)
        if written is None or min(written.first, written.second) > 12 or max(written[1:3]) > 31:
            return False
        found = True
    return found


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
    import pyarrow as pa

    texts = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = texts.dictionary_encode()
    days = [_day(text, name, order) for text in encoded.dictionary.to_pylist()]
    return pa.chunked_array([pa.array(days, pa.timestamp("s")).take(encoded.indices)])


def _day(text: str, name: str, order: Order | None) -> datetime:
    written = _parts(text)
    if written is not None:
        day, month = written.first, written.second
        if written.open and order == "month first":
            day, month = month, day
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
    found = _NUMBERS.fullmatch(text) or _NAMED.fullmatch(text) or _YEAR_FIRST.fullmatch(text)
    if found is None:
        return None
    parts = found.groupdict()
    open_ = found.re is _NUMBERS and parts["mark"] != "."
    second = parts.get("second") or _month(parts["name"])
    if second is None:
        return None
    return _Written(int(parts["year"]), int(parts["first"]), int(second), parts["time"] or "0:0", open_)


def _month(name: str) -> int | None:
    """The number of a month by its English name, whole or shortened: Dec, Sept, june."""
    folded = name.lower()
    return next((number for number, month in enumerate(_MONTHS, start=1) if month.startswith(folded)), None)


def _different(column: Any) -> Iterator[str]:
    import pyarrow.compute as pc

    # The first cells tell of nearly all columns that they hold no dates.
    first = next((cell for cell in column.slice(0, 100).to_pylist() if cell is not None), None)
    if first is None or _parts(first) is not None:
        yield from (text for text in pc.unique(column).to_pylist() if text is not None)
    else:
        yield first
