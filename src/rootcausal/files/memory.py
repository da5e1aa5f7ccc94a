"""How much memory is left, and how much a file needs, asked before it is read: too large ones are refused.

Libraries that run out of memory deep inside end the process, or hang; and on a machine that others use they
take what is theirs.
"""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from ..errors import InputError
from ..wording import shown

_GIB = 1 << 30
_CONTAINER = Path("/sys/fs/cgroup")
# Below this, nothing can be done: libraries are still to be loaded, and threads started.
LEAST = 1 << 27


def refuse_too_large(path: str | PathLike[str], needed: int, what: str) -> None:
    """Refuse a file of which reading would take more memory (bytes) than there is."""
    left = memory_left()
    if left is not None and needed + LEAST > left:
        raise InputError(
            f"{shown(path)} is too large for the memory of this machine: {what} needs about "
            f"{_gib(needed)}, and {_gib(left)} are free. Leave out rows or columns, or write it as Parquet "
            "and fit it with --backend dask."
        )


def memory_left() -> int | None:
    """How many bytes this process can still get, by the machine and by its limits; None: nobody knows."""
    found = [left for left in (_of_machine(), address_space_left(), _of_container()) if left is not None]
    return min(found) if found else None


def _of_machine() -> int | None:
    return _line("/proc/meminfo", "MemAvailable:")


def address_space_left() -> int | None:
    """How many bytes of addresses a limit (``ulimit -v``) leaves; None where there is none."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    taken = _line("/proc/self/status", "VmSize:")
    return None if most == resource.RLIM_INFINITY or taken is None else max(most - taken, 0)


def _of_container() -> int | None:
    """What a container or a batch system allows, where the kernel says it."""
    try:
        most, taken = (int((_CONTAINER / name).read_text()) for name in ("memory.max", "memory.current"))
        kinds = [line.split() for line in (_CONTAINER / "memory.stat").read_text().splitlines()]
        # What is only kept of files that were read goes as soon as somebody needs the place.
        taken -= sum(int(size) for kind, size in kinds if kind in ("active_file", "inactive_file"))
        return max(most - taken, 0)
    except (OSError, ValueError):  # no such limit, or "max"
        return None


def _line(path: str, name: str) -> int | None:
    try:
        with open(path) as lines:
            return next((int(line.split()[1]) << 10 for line in lines if line.startswith(name)), None)
    except (OSError, ValueError, IndexError):
        return None


def _gib(n_bytes: int) -> str:
    return f"{n_bytes / _GIB:.1f} GiB" if n_bytes >= _GIB / 10 else f"{n_bytes >> 20} MiB"


# --- compressed files, read as a stream, and refused once they unpack to far more than any table would ------

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
