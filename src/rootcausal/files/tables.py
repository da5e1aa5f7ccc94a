"""Tables in files: their format, column names and columns, whatever the columns mean.

A file that cannot be read is one :class:`~rootcausal.errors.InputError` that says what to do.
"""

from __future__ import annotations

import csv
import os
import stat
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import InputError
from ..wording import listed, printable, quoted, shown
from .cells import with_missing
from .delimited import dialect_of, is_worth_threads, read_text
from .with_pandas import names_with_pandas, read_with_pandas

if TYPE_CHECKING:
    from ..core.table import F64

_PARQUET_BUFFER_BYTES = 1 << 16
_ROWS_PER_PIECE = 1 << 16

Format = Literal["text", "parquet", "excel", "stata", "sas"]
FORMATS: dict[str, Format] = {
    ".csv": "text",
    ".tsv": "text",
    ".txt": "text",
    ".parquet": "parquet",
    ".xlsx": "excel",
    ".xls": "excel",
    ".dta": "stata",
    ".sas7bdat": "sas",
    ".xpt": "sas",
}
_OF_R = "a file that only R reads: write it with write.csv(x, 'cohort.csv', row.names = FALSE)."
_PICKLE = "a pickle, which can run programs when it is opened: write it with to_parquet or to_csv."
_SPSS = "a file of SPSS: save it as CSV or as a Stata file (.dta) there."
_NOT_READ = {
    ".rds": _OF_R,
    ".rdata": _OF_R,
    ".rda": _OF_R,
    ".pkl": _PICKLE,
    ".pickle": _PICKLE,
    ".sav": _SPSS,
    ".zsav": _SPSS,
    ".por": _SPSS,
    ".zip": "an archive: unpack it first, or use .gz.",
}


def table_format(path: str | PathLike[str]) -> Format:
    """Return the format that the extension of `path` stands for."""
    name = Path(path).name.lower()
    extension = Path(name.removesuffix(".gz")).suffix
    found = FORMATS.get(extension)
    if found is not None and (found == "text" or not name.endswith(".gz")):
        return found
    if extension in _NOT_READ:
        raise InputError(f"{shown(path)} is {_NOT_READ[extension]}")
    raise InputError(
        f"{shown(path)} does not end like a table that can be read: .csv, .tsv or .txt, each also with .gz, "
        ".parquet, .xlsx, .xls, .dta, .sas7bdat or .xpt."
    )


def column_names(path: str | PathLike[str]) -> list[str]:
    """Return the column names of a file; a name that occurs twice is an error."""
    if os.path.isdir(path):
        raise InputError(f"cannot read {shown(path)}: it is a folder.")
    refuse_streams(path)
    with _reading(path):
        names = _names(path, table_format(path))
    repeated = [quoted(name) for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(
            f"{shown(path)} has more than one column named {listed(repeated)}: rename or remove the copies."
        )
    return list(names)


def _names(path: str | PathLike[str], kind: Format) -> Sequence[str]:
    if kind == "text":
        return dialect_of(path).names
    if kind == "parquet":
        return list(_open_parquet(path).schema_arrow.names)
    return names_with_pandas(path, kind)


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


def read_columns(
    path: str | PathLike[str],
    columns: list[str],
    text_column: str | None,
    na: Sequence[str] = (),
    texts: Collection[str] = (),
) -> Any:
    """Read some columns as a pyarrow.Table: numbers, truth values, dates, texts, and null where missing.

    Parameters
    ----------
    text_column : keeps its text as it is ("007", "NA"): the ids.
    na : words for missing beside :data:`~rootcausal.files.cells.WORDS_FOR_MISSING`: "999", or in one column
        only, "glucose=0".
    texts : columns whose cells stay as they are written where the file does not say what they are, whatever
        all of them look like ("01", "true"); only words for missing go.
    """
    kind = table_format(path)
    with _reading(path):
        if kind == "text":
            return read_text(path, columns, text_column, na, texts)
        if kind == "parquet":
            # A name such as "a" also selects "a.b" inside a Parquet file, hence the second selection.
            table = _open_parquet(path).read(columns=columns, use_threads=is_worth_threads(path))
            return with_missing(table.select(columns), na, text_column)
        return read_with_pandas(path, kind, columns, text_column, na, texts)


def stream_columns(
    path: str | PathLike[str],
    columns: list[str],
    text_column: str | None,
    na: Sequence[str] = (),
    texts: Collection[str] = (),
) -> Iterator[Any]:
    """The same in pieces of rows where the file is Parquet; any other is one piece."""
    if table_format(path) != "parquet":
        yield read_columns(path, columns, text_column, na, texts)
        return
    import pyarrow as pa

    with _reading(path):
        batches = _open_parquet(path).iter_batches(_ROWS_PER_PIECE, columns=columns)
        for batch in batches:
            piece = pa.Table.from_batches([batch]).select(columns)
            yield with_missing(piece, na, text_column)


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
        raise InputError(f"{name} is damaged text: save it as CSV in UTF-8, or as Parquet.") from None
    except (pa.ArrowException, OSError, EOFError, zlib.error, KeyError, csv.Error) as error:
        if isinstance(error, OSError) and error.strerror:
            raise InputError(f"cannot read {name}: {error.strerror}.") from None
        reason = next(iter(str(error).splitlines()), type(error).__name__)[:200]
        raise InputError(
            f"{name} is not a readable {Path(path).suffix[1:].lower()} file; it may be damaged or cut short "
            f"({printable(reason)}): export it again."
        ) from None


def _open_parquet(path: str | PathLike[str]) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Opened here, because pyarrow would take a path such as "s3://..." for an address on the network.
    source = pa.OSFile(os.fspath(path))
    if source.size() == 0:
        raise InputError(f"{shown(path)} is empty.")
    # By default whole row groups are read ahead, so that small pieces would still hold the whole file.
    return pq.ParquetFile(source, pre_buffer=False, buffer_size=_PARQUET_BUFFER_BYTES)
