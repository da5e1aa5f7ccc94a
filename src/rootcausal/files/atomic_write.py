"""Files that are written whole or not at all.

Writing goes through a temporary file in the same folder, so that a full disk or Ctrl-C leaves the folder as
it was.
"""

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from ..wording import shown


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
