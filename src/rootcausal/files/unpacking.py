"""Compressed files, read as a stream, and refused once they unpack to far more than any table would."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any, BinaryIO

from ..errors import InputError
from ..wording import shown

# Tables unpack to 3 to 50 times their size; a file of nothing but zeros, to 1,000 times.
_MOST_TIMES = 200
_ALWAYS_FINE_BYTES = 1 << 28
_BUFFER_BYTES = 1 << 20


def is_packed(path: str | PathLike[str]) -> bool:
    """Whether the name says that the file is compressed."""
    return os.fspath(path).lower().endswith(".gz")


@contextmanager
def opened(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked where its name ends in .gz."""
    if not is_packed(path):
        with open(path, "rb") as handle:
            yield handle
        return
    with gzip.open(path, "rb") as packed:
        yield io.BufferedReader(_Limited(packed, path), _BUFFER_BYTES)


class _Limited(io.RawIOBase):
    """An unpacked stream that ends in an error once it gets absurdly long."""

    def __init__(self, source: gzip.GzipFile, path: str | PathLike[str]) -> None:
        self._source = source
        self._path = path
        self._left = _most_bytes(path)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._source.readinto(buffer)
        self._left -= count
        if self._left < 0:
            _refuse_bomb(self._path)
        return count


def refuse_zip_bombs(path: str | PathLike[str]) -> None:
    """Refuse a workbook, which is a zip archive, that unpacks to far more than any table would."""
    if not zipfile.is_zipfile(path):
        return  # whoever reads it says what it is not
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > _most_bytes(path):
            _refuse_bomb(path)


def _most_bytes(path: str | PathLike[str]) -> int:
    return max(_ALWAYS_FINE_BYTES, _MOST_TIMES * os.path.getsize(path))


def _refuse_bomb(path: str | PathLike[str]) -> None:
    raise InputError(
        f"{shown(path)} unpacks to more than {_MOST_TIMES} times its size, as no table does: if it is one, "
        "unpack it first."
    )
