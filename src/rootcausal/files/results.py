"""Result tables in CSV and Parquet files: exact numbers, and no cell that a spreadsheet would run."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal

from ..errors import InputError
from ..wording import shown
from .arrow import arrow_csv, pa, pq
from .atomic_write import atomic_write

# A spreadsheet runs a cell that starts with one of these. The full-width forms count in some locales.
_FORMULA_STARTS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
_PLAIN_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")

_ROWS_PER_WRITE = 1 << 16


def result_format(path: Path) -> Literal["csv", "parquet"]:
    """Return the format that the extension of `path` stands for."""
    extension = path.suffix.lower()
    if extension == ".csv":
        return "csv"
    if extension == ".parquet":
        return "parquet"
    raise InputError(f"{shown(path)} is neither .csv nor .parquet: give the file one of these two endings.")


def write_tables(tables: Mapping[Path, Any], made_by: Mapping[str, Any]) -> None:
    """Write pyarrow tables, each to its path and in the format of its extension: all of them or none.

    Parquet files carry `made_by` as JSON under the schema metadata key ``rootcausal``. CSV files stay plain;
    in them, a header or text cell that a spreadsheet would run as a formula gets a leading apostrophe.
    """
    formats = {path: result_format(path) for path in tables}
    with ExitStack() as files:
        for path, table in tables.items():
            handle = files.enter_context(atomic_write(path))
            with _writer(handle, formats[path], table, made_by) as write:
                write(table)


def write_pieces(path: Path, pieces: Iterable[Any], made_by: Mapping[str, Any]) -> None:
    """Write one table that comes in pieces; nothing is written if an error ends the pieces."""
    with atomic_write(path) as handle:
        coming = iter(pieces)
        first = next(coming)
        with _writer(handle, result_format(path), first, made_by) as write:
            write(first)
            for piece in coming:
                write(piece)


@contextmanager
def _writer(
    handle: BinaryIO, file_format: str, example: Any, made_by: Mapping[str, Any]
) -> Iterator[Callable[[Any], None]]:
    """Yield what writes a table with the columns of `example`."""
    if file_format == "csv":
        # pyarrow writes the shortest decimal that reads back as the same float64.
        opened, prepared = arrow_csv.CSVWriter, _for_spreadsheets
    else:
        opened, prepared = pq.ParquetWriter, partial(_described, made_by=made_by)
    with opened(handle, prepared(example).schema) as writer:

        def write(table: Any) -> None:
            # In pieces, because Ctrl-C is only heard between two calls.
            for batch in prepared(table).to_batches(max_chunksize=_ROWS_PER_WRITE):
                writer.write_batch(batch)

        yield write


def _for_spreadsheets(table: Any) -> Any:
    names = [_without_formula(name) for name in table.column_names]
    columns = [
        pa.array([_without_formula(text) for text in column.to_pylist()], pa.string())
        if pa.types.is_string(column.type)
        else column
        for column in table.columns
    ]
    return pa.Table.from_arrays(columns, names=names)


def _described(table: Any, made_by: Mapping[str, Any]) -> Any:
    return table.replace_schema_metadata({b"rootcausal": json.dumps(made_by, default=str).encode()})


def _without_formula(text: str | None) -> str | None:
    if text is not None and text.startswith(_FORMULA_STARTS) and not _PLAIN_NUMBER.fullmatch(text):
        return "'" + text
    return text
