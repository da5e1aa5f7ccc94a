"""How much memory is left, asked before a table is read: one that does not fit is refused in a sentence.

Libraries that run out of memory deep inside end the process, or hang; and on a machine that others use they
take what is theirs.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

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
