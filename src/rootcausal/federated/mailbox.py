"""The files by which messages travel: their names in a folder, and reading and writing them whole.

    session                     which session is on; written by the coordinator
    <session>/requests/7.msg    the request with this number, the same for all sites
    <session>/answers/north/7.msg
    <session>/end               how it ended; the sites stop
    model.rci                   the model, for the sites to score their patients with

Whoever only carries files needs this module and none of the method.
"""

from __future__ import annotations

import re
from pathlib import Path

from ..files.writing import atomic_write
from .messages import MOST_BYTES

SESSION = "session"
END = "end"
MODEL = "model.rci"
_SESSION = re.compile(r"[0-9a-f]{32}")


def request_file(folder: Path, session: str, number: int) -> Path:
    """Where a request is, or will be."""
    return folder / session / "requests" / f"{number}.msg"


def answer_file(folder: Path, session: str, site: str, number: int) -> Path:
    """Where a site's answer to it is, or will be."""
    return folder / session / "answers" / site / f"{number}.msg"


def end_file(folder: Path, session: str) -> Path:
    """Where it says how a session ended, once it has."""
    return folder / session / END


def is_session(text: str) -> bool:
    """Whether this is the name of a session, and so of a folder."""
    return _SESSION.fullmatch(text) is not None


def session_in(folder: Path) -> str | None:
    """The session that is on in a folder, or the last one; None where there was none."""
    text = (read(folder / SESSION) or b"").decode("ascii", "replace").strip()
    return text if is_session(text) else None


def read(path: Path) -> bytes | None:
    """The bytes of a file; None where there is none yet, or it is too large to be a message."""
    try:
        return path.read_bytes() if path.stat().st_size <= MOST_BYTES else None
    except OSError:
        return None


def write(path: Path, content: bytes) -> None:
    """Write a file whole, and its folder before it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as out:
        out.write(content)
