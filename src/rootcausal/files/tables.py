"""Tables in CSV and Parquet files: their format, column names and columns, whatever the columns mean.

A file that cannot be read is one :class:`~rootcausal.errors.InputError` that says what to do.
"""

from __future__ import annotations

import csv
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from mmap import ACCESS_READ, mmap
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import InputError
from ..wording import listed, plural, printable, quoted, shown

if TYPE_CHECKING:
    from ..core.table import F64

# Rows wider than a block cannot be read, and a block holds few rows of a table with 20,000 columns.
_CSV_BLOCK_BYTES = 1 << 25
# Smaller files are read without threads: a process that ends while pyarrow still starts them is aborted.
_BYTES_WORTH_THREADS = 1 << 22
_PARQUET_BUFFER_BYTES = 1 << 16
_ROWS_PER_PIECE = 1 << 16


def table_format(path: str | PathLike[str]) -> Literal["csv", "parquet"]:
    """Return the format that the extension of `path` stands for."""
    extension = Path(path).suffix.lower()
    if extension == ".csv":
        return "csv"
    if extension == ".parquet":
        return "parquet"
    raise InputError(f"{shown(path)} is neither .csv nor .parquet: give the file one of these two endings.")


def column_names(path: str | PathLike[str]) -> list[str]:
    """Return the column names of a CSV or Parquet file; a name that occurs twice is an error."""
    if os.path.isdir(path):
        raise InputError(f"cannot read {shown(path)}: it is a folder.")
    refuse_streams(path)
    with _reading(path):
        names = _csv_header(path) if table_format(path) == "csv" else _open_parquet(path).schema_arrow.names
    repeated = [quoted(name) for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(
            f"{shown(path)} has more than one column named {listed(repeated)}: rename or remove the copies."
        )
    return list(names)


def refuse_streams(path: str | PathLike[str]) -> None:
    """Refuse a pipe, a socket or a device: a table is read more than once, and a pipe only gives once."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return  # whoever opens it says why it cannot
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InputError(
            f"cannot read {shown(path)}: it is a pipe or a device; write its content to a file first."
        )


def read_columns(path: str | PathLike[str], columns: list[str], text_column: str | None) -> Any:
    """Read some columns as a pyarrow.Table; `text_column` keeps the text of a CSV as it is ("007")."""
    with _reading(path):
        if table_format(path) == "parquet":
            # A name such as "a" also selects "a.b" inside a Parquet file, hence the second selection.
            table = _open_parquet(path).read(columns=columns, use_threads=_is_worth_threads(path))
            return table.select(columns)
        return _read_csv(path, columns, text_column)


def stream_columns(path: str | PathLike[str], columns: list[str], text_column: str | None) -> Iterator[Any]:
    """The same in pieces of rows; a CSV file is one piece."""
    if table_format(path) == "csv":
        yield read_columns(path, columns, text_column)
        return
    import pyarrow as pa

    with _reading(path):
        batches = _open_parquet(path).iter_batches(_ROWS_PER_PIECE, columns=columns)
        for batch in batches:
            yield pa.Table.from_batches([batch]).select(columns)


def as_float64(column: Any) -> F64 | None:
    """Return a pyarrow column as float64 with NaN for missing, or None where it does not hold numbers."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_null(kind)
    ):
        return None
    values: F64 = column.cast(pa.float64(), safe=False).to_numpy()
    return values


@contextmanager
def _reading(path: str | PathLike[str]) -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into one InputError."""
    import pyarrow as pa

    name = shown(path)
    try:
        yield
    except (InputError, MemoryError):
        raise
    except FileNotFoundError:
        raise InputError(f"cannot read {name}: there is no such file.") from None
    except UnicodeDecodeError:
        raise InputError(f"{name} is not UTF-8 text: save it as CSV in UTF-8, or as Parquet.") from None
    except (pa.ArrowException, OSError, KeyError, csv.Error) as error:
        if isinstance(error, OSError) and error.strerror:
            raise InputError(f"cannot read {name}: {error.strerror}.") from None
        if "UTF8" in str(error):
            raise InputError(f"{name} is not UTF-8 text: save it as CSV in UTF-8, or as Parquet.") from None
        reason = str(error).splitlines()[0][:200]
        raise InputError(
            f"{name} is not a readable {table_format(path)} file; it may be damaged or cut short "
            f"({printable(reason)}): export it again."
        ) from None


def _csv_header(path: str | PathLike[str]) -> list[str]:
    with open(path, encoding="utf-8-sig", newline="") as lines:
        names = next((row for row in csv.reader(lines) if row), None)
    if names is None:
        raise InputError(f"{shown(path)} is empty: it needs a header line and one line per patient.")
    if len(names) == 1 and (separator := next((c for c in ";\t|" if c in names[0]), None)):
        raise InputError(f"{shown(path)} is separated by {quoted(separator)}: save it separated by commas.")
    return names


def _open_parquet(path: str | PathLike[str]) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Opened here, because pyarrow would take a path such as "s3://..." for an address on the network.
    source = pa.OSFile(os.fspath(path))
    if source.size() == 0:
        raise InputError(f"{shown(path)} is empty.")
    # By default whole row groups are read ahead, so that small pieces would still hold the whole file.
    return pq.ParquetFile(source, pre_buffer=False, buffer_size=_PARQUET_BUFFER_BYTES)


def _read_csv(path: str | PathLike[str], columns: list[str], text_column: str | None) -> Any:
    ragged: list[Any] = []

    def note(row: Any) -> str:
        ragged.append(row)
        return "skip"

    texts = [] if text_column is None else [text_column]
    table = _parse_csv(path, columns, texts, note, _is_worth_threads(path))
    if ragged:
        # Only a reader with a single thread knows the number of a row.
        ragged.clear()
        _parse_csv(path, columns, texts, note, use_threads=False)
        first = ragged[0]
        such_rows = f" ({len(ragged)} rows do not fit)" if len(ragged) > 1 else ""
        raise InputError(
            f"data row {first.number - 1} of {shown(path)} has {plural(first.actual_columns, 'value')}, "
            f"but the header names {plural(first.expected_columns, 'column')}{such_rows}: correct the file; "
            "a comma inside a text needs quotes around it."
        )
    return _with_hexadecimals_as_text(path, table)


def _parse_csv(
    path: str | PathLike[str],
    columns: list[str],
    texts: list[str],
    on_ragged_row: Callable[[Any], str] | None,
    use_threads: bool,
) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    return arrow_csv.read_csv(
        path,
        arrow_csv.ReadOptions(block_size=_CSV_BLOCK_BYTES, use_threads=use_threads),
        arrow_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=on_ragged_row),
        arrow_csv.ConvertOptions(include_columns=columns, column_types=dict.fromkeys(texts, pa.string())),
    )


def _is_worth_threads(path: str | PathLike[str]) -> bool:
    return os.path.getsize(path) >= _BYTES_WORTH_THREADS


def _with_hexadecimals_as_text(path: str | PathLike[str], table: Any) -> Any:
    """Put back the text of columns such as ``0x1F``, which pyarrow takes for whole numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    if not whole or not _holds(path, b"0x", b"0X"):
        return table
    texts = _parse_csv(path, whole, whole, None, _is_worth_threads(path))
    for name in whole:
        if pc.any(pc.match_substring_regex(texts[name], r"^[ \t]*0[xX]")).as_py():
            table = table.set_column(table.column_names.index(name), name, texts[name])
    return table


def _holds(path: str | PathLike[str], *marks: bytes) -> bool:
    with open(path, "rb") as handle, mmap(handle.fileno(), 0, access=ACCESS_READ) as content:
        return any(content.find(mark) >= 0 for mark in marks)
