"""Which cell is to blame where a column does not hold numbers."""

from collections.abc import Sequence
from typing import Any

from ..wording import quoted

BOOLEANS = ("true", "True", "TRUE", "false", "False", "FALSE")


def text_example(column: Any, name: str) -> str:
    """Describe a column that is not numeric by its first value that is not a number."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        if pa.types.is_binary(column.type):
            column = column.cast(pa.string())
        found = first_strange(column)
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return f"{quoted(name)} (not UTF-8 text)"
    if found is None:
        return quoted(name)
    place, value = found
    return f"{quoted(name)} (for example {quoted(value, 30)} in data row {place + 1})"


def first_strange(column: Any) -> tuple[int, Any] | None:
    """Return the place and value of the first cell that is no number; of numbers as text, the first one."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv as arrow_csv

    place = None
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        # As in a CSV file, where pyarrow trims numbers and reads these texts as missing.
        column = _without(pc.utf8_trim(column, " \t"), arrow_csv.ConvertOptions().null_values)
        # A column of booleans would do, so they are to blame only where there is nothing else.
        place = _first_that_is_no_number(_without(column, BOOLEANS))
        if place is None:
            place = _first_that_is_no_number(column)
    if place is None:
        place = pc.index(column.is_valid(), True).as_py()
    return None if place < 0 else (place, column[place].as_py())


def _without(texts: Any, some: Sequence[str]) -> Any:
    """The texts, with null for those among `some`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.is_in(texts, pa.array(some, texts.type)), None, texts)


def _first_that_is_no_number(texts: Any) -> int | None:
    """Find the first text that pyarrow does not take for a number, by halves: it does not say which one."""
    import pyarrow as pa

    def are_numbers(some: Any) -> bool:
        try:
            some.cast(pa.float64())
        except pa.ArrowInvalid:
            return False
        return True

    if are_numbers(texts):
        return None
    first, n_left = 0, len(texts)
    while n_left > 1:
        half = n_left // 2
        if are_numbers(texts.slice(first, half)):
            first, n_left = first + half, n_left - half
        else:
            n_left = half
    return first
