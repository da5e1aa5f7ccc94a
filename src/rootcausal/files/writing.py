"""Files that are written whole or not at all, tables of results among them.

Writing goes through a temporary file in the same folder, so that a full disk or Ctrl-C leaves the folder as
it was.
"""

import errno
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Literal

from ..errors import InputError
from ..wording import shown
from .arrow import arrow_csv, pa, pq


def check_can_write(path: str | PathLike[str]) -> None:
    """Raise OSError, before any long work, where :func:`atomic_write` could not write `path`."""
    final = _destination(path)
    probe = final.with_name(f".rootcausal-{secrets.token_hex(8)}.tmp")
    try:
        with open(probe, "xb"):
            pass
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        _remove(probe)


@contextmanager
def atomic_write(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open `path` for binary writing so that it is replaced whole at the end, or left as it was.

    The bytes go to a temporary file in the same folder. Any exception, Ctrl-C included, removes that file.

    Raises
    ------
    OSError
        Where the file cannot be written; `strerror` is a sentence for the user.
    """
    final = _destination(path)
    temporary = final.with_name(f".rootcausal-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as handle:
            if final.exists():
                # Before the first byte: a private file must not become readable while it is rewritten.
                shutil.copymode(final, temporary)
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, final)
    except BaseException as error:
        _remove(temporary)
        if isinstance(error, OSError):
            raise cannot_write(path, error) from error
        raise


def _destination(path: str | PathLike[str]) -> Path:
    """Follow links to the file that will be replaced, and refuse what must not be replaced."""
    try:
        final = Path(os.path.realpath(path))
        reason = _reason_against(final)
    except OSError as error:
        raise cannot_write(path, error) from error
    if reason:
        raise OSError(errno.EACCES, f"cannot write {shown(path)}: {reason}.")
    return final


def _reason_against(final: Path) -> str | None:
    """Say why this path must not be replaced, if it must not."""
    if not final.parent.is_dir():
        return f"the folder {shown(final.parent)} does not exist"
    if final.is_dir():
        return "it is a folder"
    if final.exists() and not final.is_file():
        return "it is not a regular file"
    if final.exists() and not os.access(final, os.W_OK):
        return "the file is write-protected"
    return None


def _remove(temporary: Path) -> None:
    # A system that refuses the file, as a read-only one does, may refuse this too: the first error counts.
    with suppress(OSError):
        temporary.unlink()


def cannot_write(path: str | PathLike[str], error: OSError) -> OSError:
    """Return the error with a sentence for the user, in which the path is named."""
    if error.strerror and error.strerror.startswith("cannot write "):
        return error
    return OSError(error.errno or errno.EIO, f"cannot write {shown(path)}: {error.strerror or error}.")


# --- result tables in CSV and Parquet files: exact numbers, and no cell that a spreadsheet would run --------

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
