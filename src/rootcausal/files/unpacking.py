"""Compressed files, read as a stream, and refused once they unpack to far more than any table would."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import BinaryIO

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
    """The bytes of a file, unpacked where its name ends in .gz; how many come was checked before."""
    if not is_packed(path):
        with open(path, "rb") as handle:
            yield handle
        return
    with gzip.open(path, "rb") as packed:
        yield io.BufferedReader(packed, _BUFFER_BYTES)


def unpacked_size(path: str | PathLike[str]) -> int:
    """How many bytes a file holds, unpacked where its name ends in .gz; one that is absurdly long is refused.

    It is unpacked for this, and nothing kept: an error in the middle of a table would come while threads of a
    library wait for more.
    """
    if not is_packed(path):
        return os.path.getsize(path)
    size, most = 0, _most_bytes(path)
    with gzip.open(path, "rb") as packed:
        while piece := packed.read(_BUFFER_BYTES):
            size += len(piece)
            if size > most:
                _refuse_bomb(path)
    return size


def unpacked_zip_size(path: str | PathLike[str]) -> int:
    """How many bytes a workbook, which is a zip archive, holds; one that is absurdly long is refused."""
    if not zipfile.is_zipfile(path):
        return os.path.getsize(path)  # whoever reads it says what it is not
    with zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > _most_bytes(path):
        _refuse_bomb(path)
    return size


def _most_bytes(path: str | PathLike[str]) -> int:
    return max(_ALWAYS_FINE_BYTES, _MOST_TIMES * os.path.getsize(path))


def _refuse_bomb(path: str | PathLike[str]) -> None:
    raise InputError(
        f"{shown(path)} unpacks to more than {_MOST_TIMES} times its size, as no table does: if it is one, "
        "unpack it first."
    )
