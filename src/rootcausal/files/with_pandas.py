"""Tables of Excel, Stata and SAS, which pandas reads; a library that is not installed is named."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from ..errors import InputError, MissingExtraError, ReadingWarning, warn
from ..wording import listed, quoted, shown
from .arrow import pa
from .cells import as_typed, is_missing, with_missing
from .header import TableFile, begins_with_names, names_without_header, no_header_seen
from .memory import refuse_too_large, unpacked_zip_size

Format = Literal["excel", "stata", "sas"]
_EXTRA = {"excel": "excel", "stata": "pandas", "sas": "pandas"}
_HEAD_ROWS = 51
# Cells are objects of Python before they are numbers.
_MEMORY_A_BYTE, _MEMORY_A_CELL = 8, 64
_CALLED = {"excel": "Excel", "stata": "Stata", "sas": "SAS"}


def names_with_pandas(path: str | PathLike[str], kind: Format) -> list[str]:
    """The column names of such a file."""
    with _reading(path, kind) as pd:
        if kind == "excel":
            return _sheet(pd, path, n_rows=_HEAD_ROWS)[0]
        if kind == "stata":
            with pd.read_stata(path, iterator=True) as reader:
                return list(reader.variable_labels())
        with _sas(pd, path, iterator=True) as reader:
            return [str(name) for name in reader.read(1).columns]


def sheet_read(path: str | PathLike[str]) -> str:
    """The name of the sheet of a workbook that is read."""
    with _reading(path, "excel") as pd, _book(pd, path) as book:
        return _sheet_of(path, book.sheet_names)


def excel_has_header(path: str | PathLike[str]) -> bool:
    """Whether the first row of a sheet holds the names of the columns."""
    with _reading(path, "excel") as pd:
        return _sheet(pd, path, n_rows=_HEAD_ROWS)[2]


def read_with_pandas(
    path: str | PathLike[str],
    kind: Format,
    columns: Sequence[str],
    text_column: str | None,
    na: Sequence[str],
    texts: Collection[str] = (),
) -> Any:
    """Some columns of such a file as a pyarrow.Table; `text_column`, and in sheets also `texts`, as text."""
    said: list[str] = []
    with _reading(path, kind) as pd:
        if kind == "excel":
            names, rows, _ = _sheet(pd, path, say=said.append)
            found = {name.strip(): rows[place] for place, name in enumerate(names)}
        else:
            refuse_too_large(path, _MEMORY_A_BYTE * _size(pd, path, kind), "its table")
            frame = _stata(pd, path, columns, said.append) if kind == "stata" else _sas(pd, path)
            found = {str(name).strip(): frame[name] for name in frame.columns}
        as_text = {text_column, *(texts if kind == "excel" else ())}
        typed = [name for name in columns if kind != "excel" and not _mixed_levels(found[name])]
        table = pa.table({name: _column(found[name], name in as_text, name in typed) for name in columns})
    for text in said:
        warn(ReadingWarning(text))
    return with_missing(table, na, text_column, untyped=set(columns).difference(typed, texts))


@contextmanager
def _reading(path: str | PathLike[str], kind: Format) -> Iterator[Any]:
    """Yield pandas; a library that is missing and a damaged file become errors in our words."""
    try:
        import pandas as pd

        # What these libraries warn of, such as drop-down lists that they do not keep, is no matter here.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield pd
    except ImportError as error:
        raise MissingExtraError(
            f"reading {_CALLED[kind]} files needs a library that is not installed: "
            f"pip install 'rootcausal[{_EXTRA[kind]}]'"
        ) from error
    except (InputError, MemoryError, FileNotFoundError):
        raise
    except Exception as error:
        # pandas and its engines raise whatever a damaged file led them to: KeyError, struct.error and more.
        if isinstance(error, OSError) and error.strerror:
            raise
        raise InputError(
            f"{shown(path)} is not a readable {_CALLED[kind]} file; it may be damaged, or be something else "
            "by another name: export it again."
        ) from error


def _book(pd: Any, path: str | PathLike[str]) -> Any:
    size = unpacked_zip_size(path)
    refuse_too_large(path, _MEMORY_A_BYTE * size, "its workbook")
    engine = "xlrd" if Path(path).suffix.lower() == ".xls" else "openpyxl"
    return pd.ExcelFile(path, engine=engine)


def _sheet_of(path: str | PathLike[str], sheets: Sequence[str]) -> str:
    """The sheet that was asked for, or the first."""
    asked = TableFile.of(path).sheet
    if asked is None:
        return sheets[0]
    if asked not in sheets:
        raise InputError(
            f"{shown(path)} has no sheet {quoted(asked)} (--sheet); it has "
            f"{listed([quoted(name) for name in sheets], 10)}."
        )
    return asked


def _sheet(
    pd: Any, path: str | PathLike[str], n_rows: int | None = None, say: Callable[[str], None] | None = None
) -> tuple[list[str], Any, bool]:
    """Names and rows of a sheet of a workbook, and whether its first row holds the names."""
    with _book(pd, path) as book:
        sheet, n_sheets = _sheet_of(path, book.sheet_names), len(book.sheet_names)
        _refuse_wide(path, book, sheet)
        cells = book.parse(sheet, header=None, dtype=object, keep_default_na=False, nrows=n_rows)
    if n_sheets > 1 and TableFile.of(path).sheet is None and say is not None:
        say(
            f"{shown(path)} has {n_sheets} sheets: the first, {quoted(sheet)}, was read; to read another, "
            "name it with --sheet"
        )
    if not len(cells):
        raise InputError(
            f"the sheet {quoted(sheet)} of {shown(path)} is empty: it needs a header line and one line per "
            "patient."
        )
    file, first = TableFile.of(path), cells[:_HEAD_ROWS].to_numpy()
    head = [["" if _is_missing(cell) else _text(cell) for cell in row] for row in first]
    if "header" not in file.seen:
        file.seen["header"] = begins_with_names(file, head)
    if file.seen["header"]:
        return head[0], cells.iloc[1:], True
    if file.header is None and file.names is None and say is not None:
        say(no_header_seen(path, cells.shape[1]))
    return list(names_without_header(path, cells.shape[1])), cells, False


def _refuse_wide(path: str | PathLike[str], book: Any, sheet: str) -> None:
    """Refuse a sheet in which one cell far out makes a table of billions that are empty."""
    inside = book.book[sheet] if book.engine == "openpyxl" else None
    rows, columns = (getattr(inside, name, None) or 0 for name in ("max_row", "max_column"))
    what = f"a sheet of {rows:,} rows and {columns:,} columns"
    refuse_too_large(path, _MEMORY_A_CELL * rows * columns, what)


def _size(pd: Any, path: str | PathLike[str], kind: Format) -> int:
    """How many bytes a file of Stata or SAS comes to; one that SAS compressed is larger than it looks."""
    if kind == "stata" or Path(path).suffix.lower() == ".xpt":
        return os.path.getsize(path)
    with _sas(pd, path, iterator=True) as reader:
        return max(os.path.getsize(path), int(reader.row_count) * int(reader.row_length))


def _stata(pd: Any, path: str | PathLike[str], columns: Sequence[str], say: Callable[[str], None]) -> Any:
    # pandas calls all labelled values ordered; the file does not, and of wards and countries it is not true.
    options = {"columns": list(dict.fromkeys(columns)), "order_categoricals": False}
    try:
        return pd.read_stata(path, **options)
    except ValueError as error:
        if "not unique" not in str(error):
            raise
        say(f"{shown(path)} gives two values the same label: its labels are left out, and its codes read")
        return pd.read_stata(path, **options, convert_categoricals=False)


def _sas(pd: Any, path: str | PathLike[str], **options: Any) -> Any:
    xport = Path(path).suffix.lower() == ".xpt"
    kind, encoding = ("xport", "cp1252") if xport else ("sas7bdat", "infer")
    return pd.read_sas(path, format=kind, encoding=encoding, **options)


def _column(series: Any, as_text: bool, typed: bool) -> Any:
    """A pandas column as a pyarrow one; where cells are of several kinds, as text if not all are numbers."""
    if as_text or (typed and series.dtype == object):
        return _texts(series)
    if typed:
        return pa.chunked_array([pa.array(series, from_pandas=True)])
    kinds = {type(cell) for cell in series if not _is_missing(cell)}
    if kinds <= {int, float} or (len(kinds) == 1 and str not in kinds):
        cells = [None if _is_missing(cell) else cell for cell in series]
        return pa.chunked_array([pa.array(cells, from_pandas=True)])
    return as_typed(_texts(series))


def _mixed_levels(series: Any) -> bool:
    """Whether a categorical has labels for some of its numbers only."""
    levels = getattr(series.dtype, "categories", None)
    return levels is not None and len({type(level) is str for level in levels}) > 1


def _texts(series: Any) -> Any:
    texts = [None if _is_missing(cell) else _text(cell) for cell in series]
    return pa.chunked_array([pa.array(texts, pa.string())])


def _text(cell: Any) -> str:
    """A cell as a person would write it: 7 for 7.0, 2020-01-31 for a day without a time."""
    import datetime

    if isinstance(cell, float) and cell.is_integer():
        return f"{cell:.0f}"
    if isinstance(cell, datetime.datetime):
        return str(cell).removesuffix(" 00:00:00")
    return str(cell)


def _is_missing(cell: Any) -> bool:
    return is_missing(cell) or cell == ""
