"""Result tables in CSV and Parquet files: exact numbers, and no cell that a spreadsheet would run."""

import json
import re
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

from .atomic_write import atomic_write
from .table_files import table_format

# A spreadsheet runs a cell that starts with one of these. The full-width forms count in some locales.
_FORMULA_STARTS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
_PLAIN_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")

_ROWS_PER_WRITE = 1 << 16


def write_tables(tables: Mapping[Path, Any], made_by: Mapping[str, Any]) -> None:
    """Write pyarrow tables, each to its path and in the format of its extension: all of them or none.

    Parquet files carry `made_by` as JSON under the schema metadata key ``rootcausal``. CSV files stay plain;
    in them, a header or text cell that a spreadsheet would run as a formula gets a leading apostrophe.
    """
    formats = {path: table_format(path) for path in tables}
    with ExitStack() as files:
        for path, table in tables.items():
            handle = files.enter_context(atomic_write(path))
            if formats[path] == "csv":
                _write_csv(table, handle)
            else:
                _write_parquet(table, handle, made_by)


def _write_csv(table: Any, handle: BinaryIO) -> None:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    names = [_without_formula(name) for name in table.column_names]
    columns = [
        pa.array([_without_formula(text) for text in column.to_pylist()], pa.string())
        if pa.types.is_string(column.type)
        else column
        for column in table.columns
    ]
    safe = pa.Table.from_arrays(columns, names=names)
    # pyarrow writes the shortest decimal that reads back as the same float64.
    with arrow_csv.CSVWriter(handle, safe.schema) as writer:
        # In pieces, because Ctrl-C is only heard between two calls.
        for batch in safe.to_batches(max_chunksize=_ROWS_PER_WRITE):
            writer.write_batch(batch)


def _write_parquet(table: Any, handle: BinaryIO, made_by: Mapping[str, Any]) -> None:
    import pyarrow.parquet as pq

    described = table.replace_schema_metadata({b"rootcausal": json.dumps(made_by, default=str).encode()})
    with pq.ParquetWriter(handle, described.schema) as writer:
        for batch in described.to_batches(max_chunksize=_ROWS_PER_WRITE):
            writer.write_batch(batch)


def _without_formula(text: str) -> str:
    if text.startswith(_FORMULA_STARTS) and not _PLAIN_NUMBER.fullmatch(text):
        return "'" + text
    return text
