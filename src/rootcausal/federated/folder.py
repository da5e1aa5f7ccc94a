"""A folder as the way between coordinator and sites: a share, or what SFTP and mail bring; no port is opened.

Files are written whole, under another name first, and never changed. What is half there,
changed, or under another name than its own is not taken until it is whole. All of a session stays in the
folder: whoever is stopped, coordinator or site, reads what was said and goes on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from uuid import uuid4

from ..errors import InputError
from ..files.writing import atomic_write
from ..wording import one_line, quoted, shown
from .asking import Accept, Save
from .messages import MOST_BYTES, MessageError, decoded, digest_of
from .site import Site

# The files by which messages travel: their names in a folder, and reading and writing them whole.
#
#     session                     which session is on; written by the coordinator
#     <session>/requests/7.msg    the request with this number, the same for all sites
#     <session>/answers/north/7.msg
#     <session>/end               how it ended; the sites stop
#     model.rci                   the model, for the sites to score their patients with
#
# Whoever only carries files needs this module and none of the method.

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


SECONDS_A_LOOK = 0.05
SECONDS_TO_WAIT = 3600.0


class FolderTransport:
    """Messages as files in a folder that coordinator and sites can read and write.

    Parameters
    ----------
    folder : the folder.
    wait : seconds to wait for each answer; then the site is late.
    """

    def __init__(self, folder: Path | str, wait: float = SECONDS_TO_WAIT) -> None:
        self._folder, self._wait = Path(folder), wait
        self._session = ""

    def begin(self, names: Sequence[str], anew: bool) -> str:
        if not self._folder.is_dir():
            raise InputError(f"there is no folder {shown(self._folder)}: make one that all sites reach")
        found = session_in(self._folder)
        # Sites go over to a new session by themselves; one that is over told them so.
        if found is None or anew or end_file(self._folder, found).exists():
            found = uuid4().hex
        self._session = found
        request_file(self._folder, found, 1).parent.mkdir(parents=True, exist_ok=True)
        for name in names:
            answer_file(self._folder, found, name, 1).parent.mkdir(parents=True, exist_ok=True)
        write(self._folder / SESSION, found.encode())
        return found

    def ask(self, number: int, request: bytes, names: Sequence[str], accept: Accept) -> dict[str, bytes]:
        path = request_file(self._folder, self._session, number)
        before = read(path)
        if before not in (None, request) and _is_the_request(before, self._session, number):
            raise InputError(
                f"the folder {shown(self._folder)} holds another fit that is not over, with other settings "
                f"or another version: give the same settings, or delete {shown(self._folder / SESSION)}"
            )
        if before != request:
            write(path, request)
        answers: dict[str, bytes] = {}
        until = time.monotonic() + self._wait
        while True:
            for name in names:
                found = read(answer_file(self._folder, self._session, name, number))
                if name not in answers and found is not None and not accept(name, found):
                    answers[name] = found
            if len(answers) == len(names) or time.monotonic() > until:
                return answers
            time.sleep(SECONDS_A_LOOK)

    def finish(self, sentence: str, save: Save | None = None) -> None:
        if save is not None:
            save(self._folder / MODEL)
        write(end_file(self._folder, self._session), one_line(sentence, 2_000).encode())


def serve_folder(
    site: Site,
    folder: Path | str,
    wait: float | None = None,
    on_answer: Callable[[int], None] | None = None,
    on_look: Callable[[], None] | None = None,
) -> str:
    """Answer the requests of one session in a folder, until it is over; how it ended.

    Parameters
    ----------
    site : with the rows.
    folder : that of the coordinator's :class:`FolderTransport`.
    wait : seconds after which a site gives up waiting for a request; None waits for ever.
    on_answer : told the number of each request that was answered.
    on_look : called whenever nothing had come; what it raises ends the waiting.
    """
    folder, session, number = Path(folder), "", 1
    since = time.monotonic()
    ended = {one.parent.name for one in folder.glob(f"*/{END}")}
    while True:
        found = session_in(folder)
        if found is not None and found != session and found not in ended:
            session, number = found, 1
        if session and (end := read(end_file(folder, session))) is not None and found == session:
            return end.decode("utf-8", "replace")
        request = read(request_file(folder, session, number)) if session else None
        if request is not None and _is_the_request(request, session, number):
            path = answer_file(folder, session, site.name, number)
            if _answered_before(path, request):
                site.catch_up(request)
            else:
                write(path, site.answer(request))
                if on_answer is not None:
                    on_answer(number)
            number, since = number + 1, time.monotonic()
            continue
        if wait is not None and time.monotonic() - since > wait:
            raise InputError(
                f"no request {number} came to {shown(folder)} for {wait:g} seconds: see that the coordinator "
                f"runs, and that it names this site, {quoted(site.name)}"
            )
        if on_look is not None:
            on_look()
        time.sleep(SECONDS_A_LOOK)


def _is_the_request(encoded: bytes | None, session: str, number: int) -> bool:
    """Whether a file is whole, and what its name says."""
    try:
        message = decoded(encoded or b"")
    except MessageError:
        return False
    return message.kind == "request" and message.session == session and message.number == number


def _answered_before(path: Path, request: bytes) -> bool:
    found = read(path)
    try:
        return found is not None and decoded(found).of == digest_of(request)
    except MessageError:
        return False


# Sites in this process: for tests, for a dry run, and to see what a fit would ask.

#: What answers a request: :meth:`.site.Site.answer`.
Answer = Callable[[bytes], bytes]


class InProcess:
    """Answers by call, one site after the other."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self._answers = dict(answers)

    def begin(self, names: Sequence[str], anew: bool) -> str:
        return uuid4().hex

    def ask(self, number: int, request: bytes, names: Sequence[str], accept: Accept) -> dict[str, bytes]:
        said = {name: self._answers[name](request) for name in names}
        return {name: answer for name, answer in said.items() if not accept(name, answer)}

    def finish(self, sentence: str, save: Save | None = None) -> None:
        """Nobody waits."""
