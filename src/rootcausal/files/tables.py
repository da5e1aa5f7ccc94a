"""Tables in files: their format, column names and columns, whatever the columns mean.

A file that cannot be read is one :class:`~rootcausal.errors.InputError` that says what to do.
"""

from __future__ import annotations

import csv
import errno
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
from .arrow import is_numeric, pa, pq
from .cells import with_missing, with_types
from .delimited import dialect_of, is_arff, is_long_text, is_worth_threads, read_text, stream_text
from .header import TableFile, without_blanks
from .memory import refuse_too_large
from .redcap import Dictionary, records_of
from .sql import first_table, query_of, quoted_name
from .with_pandas import excel_has_header, names_with_pandas, read_with_pandas, sheet_read

if TYPE_CHECKING:
    from ..method.table import F64

# A million rules of a causal order; Python needs several times as much for what is in them.
MOST_BYTES = 64 << 20
_PARQUET_BUFFER_BYTES = 1 << 16
_ROWS_PER_PIECE = 1 << 16
# As a column of pyarrow, and as a number that is fitted; texts take more, and tables of them are small.
_MEMORY_A_CELL = 24

Format = Literal["text", "parquet", "excel", "stata", "sas", "duckdb"]
FORMATS: dict[str, Format] = {
    ".csv": "text",
    ".tsv": "text",
    ".txt": "text",
    ".data": "text",
    ".arff": "text",
    ".parquet": "parquet",
    ".xlsx": "excel",
    ".xls": "excel",
    ".dta": "stata",
    ".sas7bdat": "sas",
    ".xpt": "sas",
    ".duckdb": "duckdb",
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
    ".sqlite": "a database of SQLite: copy its tables to a .duckdb file, or write them as CSV.",
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
        f"{shown(path)} does not end like a table that can be read: .csv, .tsv, .txt, .data or .arff, each "
        "also with .gz, .parquet, .xlsx, .xls, .dta, .sas7bdat, .xpt or .duckdb."
    )


def column_names(path: str | PathLike[str]) -> list[str]:
    """Return the column names of a file; a name that occurs twice is an error."""
    file = TableFile.of(path)
    if "names" not in file.seen:
        file.seen["names"] = _column_names(file)
    return list(file.seen["names"])


def _column_names(path: TableFile) -> list[str]:
    if os.path.isdir(path):
        raise InputError(f"cannot read {shown(path)}: it is a folder.")
    refuse_streams(path)
    kind = table_format(path)
    _refuse_other_options(path, kind)
    derived = _derived(path, kind)
    with _reading(path):
        names = _names(path, kind) if derived is None else derived.column_names
    repeated = [quoted(name) for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(
            f"{shown(path)} has more than one column named {listed(repeated)}: rename or remove the copies."
        )
    return without_blanks(path, names)


def _names(path: str | PathLike[str], kind: Format) -> Sequence[str]:
    """The names as they stand in the file."""
    if kind == "text":
        return dialect_of(path).written
    if kind == "parquet":
        return list(_open_parquet(path).schema_arrow.names)
    assert kind != "duckdb"  # whose tables only a query names
    return names_with_pandas(path, kind)


def _derived(file: TableFile, kind: Format, text_column: str | None = None) -> Any:
    """The table that a query or a data dictionary makes of a file, once; None where neither is given.

    A query finds ``text_column`` as it is written: of ids that it read as numbers no zero would come back.
    """
    if kind == "duckdb" and file.sql is None:
        raise InputError(
            f"{shown(file)} is a database: say which rows with --sql, as in --sql 'SELECT * FROM "
            f"{quoted_name(first_table(file))}'."
        )
    if file.sql is None and file.redcap is None:
        return None
    own = TableFile(file.path, file.header, file.sheet, file.names)
    names = [] if kind == "duckdb" else column_names(own)
    written = text_column if file.sql is not None and text_column in names else None
    key = "derived" if written is None else f"derived with {written}"
    if key not in file.seen:
        if file.sql is not None:
            whole = None if kind == "duckdb" else read_columns(own, names, written)
            file.seen[key] = query_of(file, file.sql, whole)
        elif file.redcap is not None:
            cells = read_columns(own, names, None, texts=names)
            file.seen[key] = records_of(file, cells, dictionary_of(file.redcap))
    return file.seen[key]


def dictionary_of(path: str | PathLike[str]) -> Dictionary:
    """The data dictionary of a project of REDCap, read from the CSV file that it writes."""
    return Dictionary.of(path, text_of_file(path, "the data dictionary "))


def _refuse_other_options(file: TableFile, kind: Format) -> None:
    """Refuse what is said of a header or a sheet where files of this kind have none to choose."""
    if file.sql is not None and file.redcap is not None:
        raise InputError("--redcap and --sql are given both: write the rows of the query to a file first.")
    if file.sheet is not None and kind != "excel":
        raise InputError(f"{shown(file)} is no workbook and has no sheets: leave --sheet out.")
    if file.header is not None and (kind not in ("text", "excel") or is_arff(file)):
        option = "--header" if file.header else "--no-header"
        raise InputError(f"the columns of {shown(file)} have names in any case: leave {option} out.")
    if file.names is not None:
        if file.header:
            raise InputError("--names is for a table without a header: leave it out, or --header.")
        if kind not in ("text", "excel") or is_arff(file):
            raise InputError(f"the columns of {shown(file)} have names in any case: leave --names out.")


def described(path: str | PathLike[str]) -> str:
    """A file in words: its path and, of a workbook, the sheet that is read."""
    if table_format(path) != "excel":
        return shown(path)
    with _reading(path):
        return f"{shown(path)}, sheet {quoted(sheet_read(path))}"


def has_no_header(path: str | PathLike[str]) -> bool:
    """Whether the first row of a file is a patient, said or seen."""
    kind = table_format(path)
    if _derived(TableFile.of(path), kind) is not None:
        return False
    with _reading(path):
        if kind == "text":
            return not (dialect_of(path).header or is_arff(path))
        return kind == "excel" and not excel_has_header(path)


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


def text_of_file(path: str | PathLike[str], what: str = "") -> str:
    """The text of a small file in UTF-8; ``what`` it is to hold, such as "the labels "."""
    if not isinstance(path, str | PathLike):
        raise InputError(f"it is read from the path of a file, not from {type(path).__name__}")
    if os.path.isdir(path):
        raise InputError(f"cannot read {what}{shown(path)}: it is a folder.")
    refuse_streams(path)
    try:
        with open(path, "rb") as handle:
            content = handle.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"cannot read {what}{shown(path)}: there is no such file.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"cannot read {what}{shown(path)}: {reason or error}.") from None
    if len(content) > MOST_BYTES:
        raise InputError(f"{shown(path)} is larger than {MOST_BYTES >> 20} MiB, as no such file is.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{shown(path)} is no text in UTF-8: save it as such.") from None


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
    file = TableFile.of(path)
    derived = _derived(file, kind, text_column)
    if derived is not None:
        table = with_missing(derived.select(columns), na, text_column)
        return table if file.redcap is None else with_types(table, {text_column, *texts})
    with _reading(path):
        if kind == "text":
            return read_text(path, columns, text_column, na, texts)
        if kind == "parquet":
            parquet = _open_parquet(path)
            written = _written(parquet, columns)
            n_rows = parquet.metadata.num_rows
            refuse_too_large(path, _MEMORY_A_CELL * n_rows * len(columns), f"a table of {n_rows:,} rows")
            # A name such as "a" also selects "a.b" inside a Parquet file, hence the second selection.
            table = parquet.read(columns=written, use_threads=is_worth_threads(path)).select(written)
            return with_missing(table.rename_columns(columns), na, text_column)
        assert kind != "duckdb"
        return read_with_pandas(path, kind, columns, text_column, na, texts)


def read_table(
    path: str | PathLike[str],
    *,
    na: Sequence[str] = (),
    header: bool | None = None,
    sheet: str | None = None,
    id_column: str | None = None,
    names: Sequence[str] | None = None,
    sql: str | None = None,
    redcap: str | PathLike[str] | None = None,
) -> Any:
    """Read a table as the command line does: text, Parquet, Excel, Stata, SAS or DuckDB.

    Parameters
    ----------
    path : of the file; text may have any usual separator and encoding, and be compressed (.gz).
    na : words that mean missing beside NA and the like, in all columns or in one: ``["999", "glucose=0"]``.
    header : whether the first row holds names of columns; by default that is seen.
    sheet : of a workbook; by default the first.
    id_column : the column of patient ids, whose text stays as it is written ("007").
    names : of the columns of a table without a header.
    sql : a query whose rows are the table: of a .duckdb file, or of ``cohort``, as the table of any other
        file is called in it. It reads this file and nothing else, and changes nothing.
    redcap : the data dictionary of a project of REDCap that exported the file.

    Returns
    -------
    A ``pyarrow.Table``, which estimators take as it is.
    """
    file = TableFile(path, header, sheet, None if names is None else tuple(names), sql, redcap)
    return read_columns(file, column_names(file), id_column, na)


def comes_in_pieces(path: str | PathLike[str]) -> bool:
    """Whether :func:`stream_columns` reads a file in more than one piece."""
    kind = table_format(path)
    if _derived(TableFile.of(path), kind) is not None:
        return False
    with _reading(path):
        return kind == "parquet" or (kind == "text" and is_long_text(path))


def stream_columns(
    path: str | PathLike[str],
    columns: list[str],
    text_column: str | None,
    na: Sequence[str] = (),
    texts: Collection[str] = (),
) -> Iterator[Any]:
    """The same in pieces of rows where the file is Parquet or a long text; any other is one piece.

    Of a long text, what a column holds is told piece by piece: whoever reads it goes by single cells.
    """
    if not comes_in_pieces(path):
        yield read_columns(path, columns, text_column, na, texts)
        return
    if table_format(path) == "text":
        with _reading(path):
            yield from stream_text(path, columns, text_column, na, texts)
        return
    with _reading(path):
        file = _open_parquet(path)
        written = _written(file, columns)
        for batch in file.iter_batches(_ROWS_PER_PIECE, columns=written):
            piece = pa.Table.from_batches([batch]).select(written).rename_columns(columns)
            yield with_missing(piece, na, text_column)


def _written(file: Any, columns: Sequence[str]) -> list[str]:
    """The columns by the names that a Parquet file has for them, with blanks around."""
    names = {name.strip(): name for name in file.schema_arrow.names}
    return [names[column] for column in columns]


def as_float64(column: Any) -> F64 | None:
    """Return a pyarrow column as float64 with NaN for missing, or None where it does not hold numbers."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not is_numeric(kind):
        return None
    values: F64 = column.cast(pa.float64(), safe=False).to_numpy()
    return values


@contextmanager
def _reading(path: str | PathLike[str]) -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into one InputError."""
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
        if getattr(error, "errno", None) == errno.ENOMEM or "worker thread" in str(error):
            raise MemoryError from None
        if isinstance(error, OSError) and error.strerror:
            raise InputError(f"cannot read {name}: {error.strerror}.") from None
        reason = next(iter(str(error).splitlines()), type(error).__name__)[:200]
        raise InputError(
            f"{name} is not a readable {Path(path).suffix[1:].lower()} file; it may be damaged or cut short "
            f"({printable(reason)}): export it again."
        ) from None


def _open_parquet(path: str | PathLike[str]) -> Any:
    # Opened here, because pyarrow would take a path such as "s3://..." for an address on the network.
    source = pa.OSFile(os.fspath(path))
    if source.size() == 0:
        raise InputError(f"{shown(path)} is empty.")
    # By default whole row groups are read ahead, so that small pieces would still hold the whole file.
    return pq.ParquetFile(source, pre_buffer=False, buffer_size=_PARQUET_BUFFER_BYTES)
