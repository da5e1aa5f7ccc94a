"""Tables of Weka (.arff): names and types above, and below rows with commas between, which become CSV.

Rows that list only what is not zero ({1 5, 3 1}) are refused.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any, BinaryIO

from ..errors import InputError, warn
from ..wording import plural, shown
from .unpacking import opened

ARFF_MISSING = "?"
_ATTRIBUTE = re.compile(r"""@attribute\s+('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^\s{]+)""", re.IGNORECASE)
# A cell in quotes of either kind, or up to the next comma.
_CELL = re.compile(r"""\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|([^,]*))\s*(,|$)""")
_MOST_COLUMNS = 1_000_000
_BUFFER_BYTES = 1 << 20


def is_arff(path: str | PathLike[str]) -> bool:
    """Whether the name says that it is such a file."""
    return os.fspath(path).lower().removesuffix(".gz").endswith(".arff")


def arff_names(path: str | PathLike[str]) -> tuple[str, ...]:
    """The names of the columns."""
    with opened(path) as handle:
        return tuple(_names(path, _lines(handle)))


@contextmanager
def opened_arff(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """The rows as CSV in UTF-8, without a header."""
    with opened(path) as handle:
        lines = _lines(handle, said_of=path)
        width = len(list(_names(path, lines)))
        yield io.BufferedReader(_Stream(_rows(path, lines, width)), _BUFFER_BYTES)


def _lines(handle: BinaryIO, said_of: str | PathLike[str] | None = None) -> Iterator[str]:
    """Lines of text; that some are no UTF-8 is said of a file once."""
    for line in handle:
        try:
            text = line.decode()
        except UnicodeDecodeError:
            text = line.decode("cp1252", errors="replace")
            if said_of is not None:
                said = f"{shown(said_of)} is not UTF-8 text: it was read as Windows-1252"
                warn(said)
                said_of = None
        yield text.strip().removeprefix("\ufeff")


def _names(path: str | PathLike[str], lines: Iterator[str]) -> Iterator[str]:
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


def _rows(path: str | PathLike[str], lines: Iterable[str], width: int) -> Iterator[bytes]:
    for number, line in enumerate(line for line in lines if line and not line.startswith("%")):
        if line.startswith("{"):
            raise InputError(
                f"{shown(path)} lists only what is not zero in its rows: save it with all values (in Weka: "
                "the filter SparseToNonSparse)."
            )
        # Most rows are CSV as they are.
        cells = _cells(line) if "'" in line or '"' in line or "\\" in line else None
        if cells is not None and len(cells) != width:
            raise InputError(
                f"data row {number + 1} of {shown(path)} has {plural(len(cells), 'value')}, and there are "
                f"{plural(width, 'attribute')}: correct the file."
            )
        yield (line + "\n" if cells is None else _as_csv(cells)).encode()


def _cells(line: str) -> list[str]:
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
