"""Tables as text: what separates the cells, how the letters are encoded, and where the names are.

All of this is found from the header and the first lines; who knows better says so (:class:`.TableFile`).
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from mmap import ACCESS_READ, mmap
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import InputError, ReadingWarning, warn
from ..wording import plural, quoted, shown
from .arrow import arrow_csv, pa, pc
from .cells import WORDS_FOR_MISSING, own_words, with_missing, with_types
from .header import TableFile, begins_with_names, names_without_header, no_header_seen
from .memory import is_packed, opened, refuse_too_large, unpacked_size

SEPARATORS = (",", ";", "\t", "|")
WINDOWS = "cp1252"
# Windows-1252 leaves five bytes without a letter; Latin-1, none.
_WHERE_NOT_UTF8 = (WINDOWS, "latin-1")
_WITH_MARK = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_NO_TEXT = {
    b"PK\x03\x04": "an Excel workbook or another zip archive: is its ending to be .xlsx?",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook: is its ending to be .xls?",
    b"PAR1": "a Parquet file: give it the ending .parquet.",
    b"\x1f\x8b": "compressed: give it the ending .gz, as in cohort.csv.gz.",
}
# Of the first lines. More are read only where a line is longer.
_HEAD_BYTES = 1 << 18
_HEAD_ROWS = 50
# Rows wider than a block cannot be read, and a block holds few rows of a table with 20,000 columns.
_BLOCK_BYTES = 1 << 25
# Smaller files are read without threads: a process that ends while pyarrow still starts them is aborted.
_BYTES_WORTH_THREADS = 1 << 22
_BYTES_A_LOOK = 1 << 20
# Longer texts are read in pieces, of so many bytes each, where they need not be in memory as a whole.
_LONG_TEXT_BYTES, _PIECE_BYTES = 1 << 26, 1 << 24
# What a table takes in memory for each byte of text: once as columns of pyarrow, twice as numbers.
_MEMORY_A_BYTE = 3
# How many blocks pyarrow may hold besides: out of memory there, it ends the process.
_BLOCKS_AT_ONCE = 8
_CALLED = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a '|'"}
ARFF_MISSING = "?"
_ATTRIBUTE = re.compile(r"""@attribute\s+('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^\s{]+)""", re.IGNORECASE)
# A cell in quotes of either kind, or up to the next comma.
_CELL = re.compile(r"""\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|([^,]*))\s*(,|$)""")
_MOST_COLUMNS = 1_000_000


@dataclass(frozen=True)
class Dialect:
    """How a text file writes its table.

    Attributes
    ----------
    separator : what stands between cells.
    encoding : as Python names it; "utf-8" as long as nothing speaks against it.
    written : the names of the columns as they stand in the file; V1, V2 and so on where it has none.
    row_names : the header lacks the name of the first column, as R writes row names; it is called "".
    n_blank : empty lines before the header.
    header : whether the first row holds the names.
    seen : that it does not was seen by itself, and nobody said so.
    """

    separator: str
    encoding: str
    written: tuple[str, ...]
    row_names: bool = False
    n_blank: int = 0
    header: bool = True
    seen: bool = False

    @property
    def names(self) -> list[str]:
        """Of the columns, without blanks around them."""
        return [name.strip() for name in self.written]


def dialect_of(path: str | PathLike[str]) -> Dialect:
    """How a text file writes its table; one that can be read in two ways is an error."""
    file = TableFile.of(path)
    if "dialect" not in file.seen:
        file.seen["dialect"] = _dialect_of(file)
    found: Dialect = file.seen["dialect"]
    return found


def _dialect_of(path: TableFile) -> Dialect:
    if is_arff(path):
        return Dialect(",", "utf-8", arff_names(path), header=False)
    size = _HEAD_BYTES
    while True:
        with opened(path) as handle:
            head = handle.read(size + 1)
        cut = len(head) > size
        encoding = _encoding(path, head)
        text = codecs.getincrementaldecoder(encoding)().decode(head, final=not cut)
        found = {separator: _rows(text, separator, cut) for separator in SEPARATORS}
        readable = {separator: rows for separator, rows in found.items() if rows is not None}
        if not readable:
            raise csv.Error("a cell of the header is too long")
        if not cut or max(map(len, readable.values())) > 1:
            break
        if size >= _BLOCK_BYTES:
            raise InputError(f"the first lines of {shown(path)} are too long: is it a table?")
        size *= 8
    if not any(readable.values()):
        raise InputError(f"{shown(path)} is empty: it needs a header line and one line per patient.")
    separator = _separator(path, readable)
    header, *rows = readable[separator]
    if len(header) == 1:
        _refuse_blanks_between(path, header[0], [row[0] for row in rows if len(row) == 1])
    if _has_row_names(header, rows):
        return Dialect(separator, encoding, ("", *header), True, _blank_lines(text))
    said = begins_with_names(path, [header, *rows])
    written = tuple(header) if said else names_without_header(path, len(header))
    seen = not said and path.header is None and path.names is None
    return Dialect(separator, encoding, written, False, _blank_lines(text), said, seen)


def _encoding(path: str | PathLike[str], head: bytes) -> str:
    marked = next((encoding for mark, encoding in _WITH_MARK.items() if head.startswith(mark)), None)
    if marked is not None:
        return marked
    other = next((what for start, what in _NO_TEXT.items() if head.startswith(start)), None)
    if other is not None:
        raise InputError(f"{shown(path)} is no text: it is {other}")
    if b"\0" in head:
        raise InputError(
            f"{shown(path)} is no text, or text in UTF-16 without its mark: save it as CSV in UTF-8."
        )
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return _not_utf8(head)
    return "utf-8"


def _not_utf8(content: bytes) -> str:
    try:
        content.decode(WINDOWS)
    except UnicodeDecodeError:
        return "latin-1"
    return WINDOWS


def _rows(text: str, separator: str, cut: bool) -> list[list[str]] | None:
    """The first rows that are not blank and whole; None where a cell is too long for this separator."""
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        rows = list(islice((row for row in lines if row), _HEAD_ROWS + 1))
    except csv.Error:
        return None
    return rows[:-1] if cut else rows


def _blank_lines(text: str) -> int:
    return next((place for place, line in enumerate(text.splitlines()) if line), 0)


def _separator(path: str | PathLike[str], found: dict[str, list[list[str]]]) -> str:
    wide = {separator: rows for separator, rows in found.items() if rows and len(rows[0]) > 1}
    fitting = [
        separator
        for separator, (header, *rows) in wide.items()
        if all(len(row) == len(header) for row in rows) or _has_row_names(header, rows)
    ]
    if len(fitting) > 1:
        ending = Path(path).name.lower().removesuffix(".gz")
        if ending.endswith(".tsv") and "\t" in fitting:
            return "\t"
        # A separator inside quotes is none.
        unbroken = [separator for separator in fitting if not any('"' in name for name in wide[separator][0])]
        fitting = unbroken if len(unbroken) == 1 else fitting
    if len(fitting) > 1:
        either = " or by ".join(quoted(separator) for separator in fitting)
        raise InputError(
            f"{shown(path)} can be read as separated by {either}: put quotes around names and texts that "
            "hold one of these, or save the table as Parquet."
        )
    if fitting:
        return fitting[0]
    # No row fits its header: the rows that do not are named later, by this reading.
    return max(wide, key=lambda separator: len(wide[separator][0]), default=",")


def _has_row_names(header: list[str], rows: list[list[str]]) -> bool:
    """Whether each row has one cell more than the header, the first of which may be its name.

    A last cell that is always empty is no cell: such rows end with a separator too many.
    """
    return (
        len(header) > 1
        and bool(rows)
        and all(len(row) == len(header) + 1 for row in rows)
        and len({row[0] for row in rows}) == len(rows)
        and any(row[-1] for row in rows)
    )


def _refuse_blanks_between(path: str | PathLike[str], header: str, rows: list[str]) -> None:
    width = len(header.split())
    if width > 1 and rows and all(len(row.split()) in (width, width + 1) for row in rows):
        raise InputError(
            f"{shown(path)} has blanks between its columns: save it separated by commas, semicolons or tabs "
            "(in R: write.csv(x, file, row.names = FALSE))."
        )


def read_text(
    path: str | PathLike[str],
    columns: Sequence[str],
    text_column: str | None,
    na: Sequence[str],
    texts: Collection[str] = (),
) -> Any:
    """Some columns as a pyarrow.Table, in the file's own encoding; anything but UTF-8 is said.

    Cells of the columns `texts` stay as they are written.
    """
    size = unpacked_size(path)
    blocks = _BLOCKS_AT_ONCE * min(size, _BLOCK_BYTES)
    refuse_too_large(path, _MEMORY_A_BYTE * size + blocks, "its table")
    if is_arff(path):
        na = [*na, ARFF_MISSING]
    file = _TextFile(path, dialect_of(path), own_words(na, columns).everywhere)
    table = file.columns(columns, [*texts, *([] if text_column is None else [text_column])])
    table = with_missing(table, na, text_column, untyped=set(columns).difference(texts))
    _say_how(path, file.dialect)
    return table


def is_long_text(path: str | PathLike[str]) -> bool:
    """Whether a text is worth reading in pieces."""
    return unpacked_size(path) > _LONG_TEXT_BYTES


def stream_text(
    path: str | PathLike[str],
    columns: Sequence[str],
    text_column: str | None,
    na: Sequence[str],
    texts: Collection[str] = (),
) -> Iterator[Any]:
    """The same in pieces of rows, of which no more than a few are in memory at once."""
    if is_arff(path):
        na = [*na, ARFF_MISSING]
    file = _TextFile(path, dialect_of(path), [])
    as_written = {text_column, *texts}
    for piece in file.pieces(columns):
        yield with_types(with_missing(piece, na, text_column), as_written)
    _say_how(path, file.dialect)


def _say_how(path: str | PathLike[str], dialect: Dialect) -> None:
    """Say what was found of the file that may not be as its owner thinks."""
    if dialect.encoding in _WHERE_NOT_UTF8:
        warn(ReadingWarning(f"{shown(path)} is not UTF-8 text: it was read as Windows-1252"))
    if dialect.row_names:
        shorter = f"the header of {shown(path)} is one name shorter than its rows: the first column is taken "
        warn(ReadingWarning(f"{shorter}for row names, as R writes them, and is called ''"))
    if dialect.seen:
        warn(ReadingWarning(no_header_seen(path, len(dialect.written))))


class _TextFile:
    """A text file whose columns are asked for.

    Attributes
    ----------
    dialect : of which the encoding may turn out to be another one far down the file.
    """

    def __init__(self, path: str | PathLike[str], dialect: Dialect, na: Sequence[str]) -> None:
        self.path = path
        self.dialect = dialect
        self._words = [*WORDS_FOR_MISSING, *na]
        self._ragged: list[Any] = []
        # An error in the middle of what is made here must not meet threads that wait for more.
        self._threads = is_worth_threads(path) and not is_arff(path)

    def columns(self, columns: Sequence[str], texts: list[str]) -> Any:
        """The columns, those of `texts` as they stand in the file; ragged rows are an error."""
        table = self._decoded(columns, texts)
        if self._ragged:
            # Only a reader with a single thread knows the number of a row.
            self._ragged.clear()
            self._threads = False
            self._parse(columns, texts)
            raise self._of_ragged(self._ragged)
        return self._with_hexadecimals_as_text(table)

    def pieces(self, columns: Sequence[str]) -> Iterator[Any]:
        """The columns as they stand in the file, piece by piece."""
        self._use(self._encoding_of_all())
        self._threads = False  # only so the number of a row is known, and few pieces are in memory
        options = self._options(columns, columns, _PIECE_BYTES)
        with self._opened() as handle, arrow_csv.open_csv(handle, *options) as reader:
            for batch in reader:
                if self._ragged:
                    break
                yield pa.Table.from_batches([batch])
        if self._ragged:
            raise self._of_ragged(self._ragged[:1])

    def _note_ragged(self, row: Any) -> str:
        self._ragged.append(row)
        return "skip"

    def _encoding_of_all(self) -> str:
        """The first encoding that can be, of those that the whole file can be read in."""
        for encoding in self._encodings():
            decode = codecs.getincrementaldecoder(encoding)().decode
            try:
                with self._opened() as handle:
                    while piece := handle.read(_BYTES_A_LOOK):
                        decode(piece)
                    decode(b"", final=True)
            except UnicodeDecodeError:
                continue
            return encoding
        raise self._damaged()

    def _encodings(self) -> list[str]:
        """What the file may be written in, the likeliest first."""
        encodings = [self.dialect.encoding]
        if self.dialect.encoding in ("utf-8", WINDOWS):
            encodings += [other for other in _WHERE_NOT_UTF8 if other not in encodings]
        return encodings

    def _damaged(self) -> InputError:
        return InputError(f"{shown(self.path)} is damaged text: save it as CSV in UTF-8.")

    def _of_ragged(self, ragged: list[Any]) -> InputError:
        first, header = ragged[0], self.dialect.header
        such_rows = f" ({len(ragged)} rows do not fit)" if len(ragged) > 1 else ""
        return InputError(
            f"data row {first.number - header} of {shown(self.path)} has "
            f"{plural(first.actual_columns, 'value')}, but the {'header names' if header else 'first has'} "
            f"{plural(first.expected_columns, 'column')}{such_rows}: correct the file; "
            f"{_CALLED[self.dialect.separator]} inside a text needs quotes around it."
        )

    def _decoded(self, columns: Sequence[str], texts: list[str]) -> Any:
        """What is read as UTF-8 where that works: a good file is read once, and nothing is re-encoded."""
        for encoding in self._encodings():
            self._use(encoding)
            try:
                table = self._parse(columns, texts)
            except UnicodeDecodeError:
                continue
            except pa.ArrowInvalid as error:
                if "UTF8" not in str(error):
                    raise
                continue
            if not any(pa.types.is_binary(kind) for kind in table.schema.types):
                return table
        raise self._damaged()

    def _use(self, encoding: str) -> None:
        if encoding == self.dialect.encoding:
            return
        if self.dialect.encoding == "utf-8" and not all(name.isascii() for name in self.dialect.written):
            raise InputError(
                f"{shown(self.path)} has a header in UTF-8 and cells in another encoding: save it as CSV in "
                "UTF-8."
            )
        self.dialect = replace(self.dialect, encoding=encoding)

    def _parse(self, columns: Sequence[str], texts: list[str]) -> Any:
        options = self._options(columns, texts)
        if not is_packed(self.path) and not is_arff(self.path):
            return arrow_csv.read_csv(Path(self.path), *options)
        with self._opened() as handle:
            return arrow_csv.read_csv(handle, *options)

    def _options(
        self, columns: Sequence[str], texts: Collection[str], block_bytes: int = _BLOCK_BYTES
    ) -> tuple[Any, Any, Any]:
        """How pyarrow is to read, parse and convert."""
        dialect = self.dialect
        named: dict[str, Any] = {}
        if dialect.names != list(dialect.written) or dialect.row_names or not dialect.header:
            named = {"column_names": dialect.names, "skip_rows": dialect.n_blank}
            named["skip_rows_after_names"] = int(dialect.header)
        return (
            arrow_csv.ReadOptions(
                block_size=block_bytes,
                use_threads=self._threads,
                encoding="utf8" if dialect.encoding in ("utf-8", "utf-8-sig") else dialect.encoding,
                **named,
            ),
            arrow_csv.ParseOptions(
                delimiter=dialect.separator, newlines_in_values=True, invalid_row_handler=self._note_ragged
            ),
            arrow_csv.ConvertOptions(
                include_columns=list(columns),
                column_types=dict.fromkeys(texts, pa.string()),
                null_values=self._words,
            ),
        )

    def _opened(self) -> AbstractContextManager[BinaryIO]:
        return opened_arff(self.path) if is_arff(self.path) else opened(self.path)

    def _with_hexadecimals_as_text(self, table: Any) -> Any:
        """Put back the text of columns such as ``0x1F``, which pyarrow takes for whole numbers."""
        whole = [field.name for field in table.schema if pa.types.is_integer(field.type)]
        if not whole or not self._holds("0x", "0X"):
            return table
        texts = self._parse(whole, whole)
        for name in whole:
            if pc.any(pc.match_substring_regex(texts[name], r"^[ \t]*0[xX]")).as_py():
                table = table.set_column(table.column_names.index(name), name, texts[name])
        return table

    def _holds(self, *words: str) -> bool:
        # Of UTF-16 the mark says which of two bytes comes first: both are looked for.
        kinds = ("utf-16-le", "utf-16-be") if self.dialect.encoding == "utf-16" else ("ascii",)
        marks = [word.encode(kind) for word in words for kind in kinds]
        if not is_packed(self.path):
            with open(self.path, "rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                return any(content.find(mark) >= 0 for mark in marks)
        with opened(self.path) as handle:
            last = b""
            while piece := handle.read(_BYTES_A_LOOK):
                if any(mark in last + piece for mark in marks):
                    return True
                last = piece[-4:]
        return False


def is_worth_threads(path: str | PathLike[str]) -> bool:
    """Whether a file is large enough for pyarrow to start threads."""
    return os.path.getsize(path) >= _BYTES_WORTH_THREADS


# --- tables of Weka (.arff): names and types above, and rows below with commas between, which become CSV ----


def is_arff(path: str | PathLike[str]) -> bool:
    """Whether the name says that it is such a file."""
    return os.fspath(path).lower().removesuffix(".gz").endswith(".arff")


def arff_names(path: str | PathLike[str]) -> tuple[str, ...]:
    """The names of the columns."""
    with opened(path) as handle:
        return tuple(_arff_names(path, _arff_lines(handle)))


@contextmanager
def opened_arff(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """The rows as CSV in UTF-8, without a header; rows that list only what is not zero are refused."""
    with opened(path) as handle:
        lines = _arff_lines(handle, said_of=path)
        width = len(list(_arff_names(path, lines)))
        yield io.BufferedReader(_Stream(_arff_rows(path, lines, width)), _BYTES_A_LOOK)


def _arff_lines(handle: BinaryIO, said_of: str | PathLike[str] | None = None) -> Iterator[str]:
    """Lines of text; that some are no UTF-8 is said of a file once."""
    for line in handle:
        try:
            text = line.decode()
        except UnicodeDecodeError:
            text = line.decode("cp1252", errors="replace")
            if said_of is not None:
                said = f"{shown(said_of)} is not UTF-8 text: it was read as Windows-1252"
                warn(ReadingWarning(said))
                said_of = None
        yield text.strip().removeprefix("\ufeff")


def _arff_names(path: str | PathLike[str], lines: Iterator[str]) -> Iterator[str]:
    count = 0
    for line in lines:
        if line.lower().startswith("@data"):
            return
        if not line.lower().startswith("@attribute"):
            continue
        found = _ATTRIBUTE.match(line)
        count += 1
        if found is None or count > _MOST_COLUMNS:
            break
        name = found[1]
        yield _unescaped(name[1:-1]) if name[0] in "'\"" else name
    raise InputError(
        f"{shown(path)} is no table of Weka: it needs @attribute lines, and @data above its rows."
    )


def _arff_rows(path: str | PathLike[str], lines: Iterable[str], width: int) -> Iterator[bytes]:
    for number, line in enumerate(line for line in lines if line and not line.startswith("%")):
        if line.startswith("{"):
            raise InputError(
                f"{shown(path)} lists only what is not zero in its rows: save it with all values (in Weka: "
                "the filter SparseToNonSparse)."
            )
        # Most rows are CSV as they are.
        cells = _arff_cells(line) if "'" in line or '"' in line or "\\" in line else None
        if cells is not None and len(cells) != width:
            raise InputError(
                f"data row {number + 1} of {shown(path)} has {plural(len(cells), 'value')}, and there are "
                f"{plural(width, 'attribute')}: correct the file."
            )
        yield (line + "\n" if cells is None else _as_csv(cells)).encode()


def _arff_cells(line: str) -> list[str]:
    cells, place = list[str](), 0
    while True:
        found = _CELL.match(line, place)
        if found is None:
            return []
        quoted = found[1] if found[1] is not None else found[2]
        cells.append(found[3].rstrip() if quoted is None else _unescaped(quoted))
        place = found.end()
        if not found[4]:
            return cells


def _as_csv(cells: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


class _Stream(io.RawIOBase):
    """Pieces of bytes as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        pieces, length = [self._left], len(self._left)
        while length < len(buffer):
            piece = next(self._pieces, None)
            if piece is None:
                break
            pieces.append(piece)
            length += len(piece)
        whole = b"".join(pieces)
        count = min(len(buffer), length)
        buffer[:count], self._left = whole[:count], whole[count:]
        return count
