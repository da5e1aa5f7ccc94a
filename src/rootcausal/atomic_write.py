"""Files that are written whole or not at all.

Writing goes through a temporary file in the same folder, so that a full disk or Ctrl-C leaves the folder as
it was.
"""

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from .wording import shown


def check_can_write(path: str | PathLike[str]) -> None:
    """Raise OSError, before any long work, where :func:`atomic_write` could not write `path`."""
    final = _destination(path)
    probe = final.with_name(f".rootcausal-{secrets.token_hex(8)}.tmp")
    try:
        with open(probe, "xb"):
            pass
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        probe.unlink(missing_ok=True)


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
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _cannot_write(path, error) from error
        raise


def _destination(path: str | PathLike[str]) -> Path:
    """Follow links to the file that will be replaced, and refuse what must not be replaced."""
    final = Path(os.path.realpath(path))
    reason = None
    if not final.parent.is_dir():
        reason = f"the folder {shown(final.parent)} does not exist"
    elif final.is_dir():
        reason = "it is a folder"
    elif final.exists() and not final.is_file():
        reason = "it is not a regular file"
    elif final.exists() and not os.access(final, os.W_OK):
        reason = "the file is write-protected"
    if reason:
        raise OSError(errno.EACCES, f"cannot write {shown(path)}: {reason}.")
    return final


def _cannot_write(path: str | PathLike[str], error: OSError) -> OSError:
    if error.strerror and error.strerror.startswith("cannot write "):
        return error
    return OSError(error.errno or errno.EIO, f"cannot write {shown(path)}: {error.strerror or error}.")
