"""What answers the browser: this machine only, and only who knows the address.

The server listens on the loopback interface, at a port that is free. Other users of the machine reach that
too, so the address holds a token, without which everything is refused. Browsers are started with another
address, which works once: other users can see how a program was started. No request may come from another
site (by name, which a site could let point here, or by a form), and pages may ask for nothing but ours.
"""

from __future__ import annotations

import json
import secrets
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

from ..errors import InputError, MissingExtraError
from .study import KEPT, MOST_BYTES, PAGE, Commands, Study

LOOPBACK = "127.0.0.1"
SECONDS_WITHOUT_A_BYTE = 60
BYTES_OF_OPTIONS = 8 << 20
OURS = {
    "": ("app.html", "text/html; charset=utf-8"),
    "app.css": ("app.css", "text/css; charset=utf-8"),
    "app.js": ("app.js", "text/javascript; charset=utf-8"),
    "questions.js": ("questions.js", "text/javascript; charset=utf-8"),
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# The page of the patients has a policy of its own, within which it is a stranger to this one.
POLICY_OF_PAGE = "sandbox allow-scripts allow-downloads allow-modals allow-popups; frame-ancestors 'self'"


class Refused(Exception):
    """A request that is not answered, and why."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class App:
    """What the requests are about: the table of whoever sits before the browser, one at a time."""

    def __init__(self, commands: Commands) -> None:
        self.commands = commands
        self.token, self.once = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.study: Study | None = None
        self._number = 0
        self._lock = threading.RLock()

    def opened(self, code: str) -> bool:
        """Whether this is the address that works once, and it is the first time."""
        with self._lock:
            right = secrets.compare_digest(code.encode(), self.once.encode())
            if right:
                self.once = secrets.token_urlsafe(32)
            return right

    def begin(self) -> Study:
        """Take the next table, in place of the one before."""
        with self._lock:
            if self.study is not None:
                self.study.close()
            self._number += 1
            self.study = Study(self._number, self.commands)
            return self.study

    def at(self, number: Any) -> Study:
        """The study that a request is about; another tab may have begun another one."""
        study = self.study
        if study is None or str(number) != str(study.number):
            raise Refused(HTTPStatus.CONFLICT, "another table was opened since: start with this one again.")
        return study

    def close(self) -> None:
        """End the work, and remove what was uploaded."""
        with self._lock:
            if self.study is not None:
                self.study.close()


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    timeout = SECONDS_WITHOUT_A_BYTE
    server: Server

    def version_string(self) -> str:
        return "rootcausal"

    def log_message(self, *_: Any) -> None:
        """Keep no log: addresses are keys, and names of files are the user's."""

    def do_GET(self) -> None:
        with self._refusing():
            self._get(self._asked())

    def do_POST(self) -> None:
        with self._refusing():
            if self.headers.get("Origin", self._own()) != self._own():
                raise Refused(HTTPStatus.FORBIDDEN, "requests come from the page of the app only.")
            answer = self.POSTS.get(self._asked())
            if answer is None:
                raise Refused(HTTPStatus.NOT_FOUND, "there is nothing here.")
            self._answer_json(answer(self))

    # --- who may ask ----------------------------------------------------------------------------------------

    def _own(self) -> str:
        return f"http://{self.headers.get('Host', '')}"

    def _asked(self) -> str:
        """What is asked for, behind the token; Refused without it."""
        port = self.server.server_port
        if self.headers.get("Host") not in (f"{LOOPBACK}:{port}", f"localhost:{port}"):
            raise Refused(HTTPStatus.FORBIDDEN, "this server answers by its own address only.")
        first, _, rest = urlsplit(self.path).path.removeprefix("/").partition("/")
        if first == "open" and self.command == "GET" and self.server.app.opened(rest):
            self._see_other(f"/{self.server.app.token}/")
            return "opened"
        if not secrets.compare_digest(first.encode(), self.server.app.token.encode()):
            why = "this address is not the one that rootcausal app printed, or was opened before."
            raise Refused(HTTPStatus.FORBIDDEN, why)
        return rest

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except Refused as refusal:
            self._refuse(refusal.status, str(refusal))
        except (InputError, MissingExtraError) as error:
            self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True  # who asked has gone

    # --- answers --------------------------------------------------------------------------------------------

    def _get(self, asked: str) -> None:
        app = self.server.app
        if asked == "opened":
            return
        if asked in OURS:
            name, kind = OURS[asked]
            text = files(__package__).joinpath("pages", name).read_bytes()
            self._answer(text, kind, POLICY)
            return
        name, _, number = asked.partition("/")
        if name == "state":
            self._answer_json(app.at(number).told())
        elif name in KEPT:
            self._give_file(name, app.at(number))
        elif name == "rootcausal.py":
            self._answer(app.at(number).script().encode(), "text/x-python; charset=utf-8", POLICY, name)
        else:
            raise Refused(HTTPStatus.NOT_FOUND, "there is nothing here.")

    def _give_file(self, name: str, study: Study) -> None:
        path = study.folder / name
        if study.told()["state"] != "done" or not path.is_file():
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such result yet.")
        shown = name == PAGE and "save" not in urlsplit(self.path).query
        self._answer(path.read_bytes(), KEPT[name], POLICY_OF_PAGE, None if shown else name)

    def _upload(self) -> dict[str, Any]:
        size = self._size(MOST_BYTES, "a table for the app has at most 2 GB: use the command line for it.")
        study = self.server.app.begin()
        study.take(unquote(self.headers.get("X-Name", "")), self.rfile, size)
        study.look([])
        return {"study": study.number, "name": study.table}

    def _look(self) -> dict[str, Any]:
        asked = self._json()
        self.server.app.at(asked.get("study")).look(asked.get("options"))
        return {}

    def _fit(self) -> dict[str, Any]:
        asked = self._json()
        self.server.app.at(asked.get("study")).fit(asked.get("options"))
        return {}

    def _stop(self) -> dict[str, Any]:
        self.server.app.at(self._json().get("study")).stop()
        return {}

    def _end(self) -> dict[str, Any]:
        self._json()
        self.close_connection = True
        threading.Thread(target=self.server.shutdown).start()
        return {}

    POSTS: ClassVar[dict[str, Callable[[Handler], dict[str, Any]]]] = {
        "upload": _upload,
        "look": _look,
        "fit": _fit,
        "stop": _stop,
        "end": _end,
    }

    def _size(self, most: int, too_large: str) -> int:
        """How many bytes come, as they are announced."""
        text = self.headers.get("Content-Length", "")
        if not text.isdecimal():
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "say how long the request is.")
        if int(text) > most:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, too_large)
        return int(text)

    def _json(self) -> dict[str, Any]:
        body = self.rfile.read(self._size(BYTES_OF_OPTIONS, "these are too many options."))
        try:
            found = json.loads(body)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise Refused(HTTPStatus.BAD_REQUEST, "this is no request of the page.")
        return found

    def _answer_json(self, facts: dict[str, Any]) -> None:
        self._answer(json.dumps(facts).encode(), "application/json", POLICY)

    def _answer(self, body: bytes, kind: str, policy: str, save_as: str | None = None) -> None:
        self.send_response(HTTPStatus.OK)
        if save_as is not None:
            self.send_header("Content-Disposition", f'attachment; filename="{save_as}"')
        self._send(body, kind, policy)

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        # What of the request is still on its way is not read.
        self.close_connection = True
        self.send_response(status)
        self.send_header("Connection", "close")
        self._send(json.dumps({"error": why}).encode(), "application/json", POLICY)

    def _see_other(self, address: str) -> None:
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", address)
        self._send(b"", "text/plain", POLICY)

    def _send(self, body: bytes, kind: str, policy: str) -> None:
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Content-Security-Policy", policy),
            ("Cache-Control", "no-store"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    """It listens on the loopback interface."""

    daemon_threads = True

    def __init__(self, app: App) -> None:
        self.app = app
        super().__init__((LOOPBACK, 0), Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say what went wrong without data: tracebacks would show some."""
        error = sys.exc_info()[1]
        if not isinstance(error, ConnectionError | TimeoutError):
            print(f"error: a request failed ({type(error).__name__})", file=sys.stderr)

    @property
    def address(self) -> str:
        """Where the app is; who has it, has the app."""
        return f"http://{LOOPBACK}:{self.server_port}/{self.app.token}/"

    @property
    def address_for_once(self) -> str:
        """An address that leads there, the first time."""
        return f"http://{LOOPBACK}:{self.server_port}/open/{self.app.once}"


def serve(commands: Commands, ready: Callable[[str, str], None]) -> None:
    """Serve the app until its page ends it, or an interrupt does; nothing that was uploaded stays.

    ``ready`` is called with the address of the app, and one that leads there once.
    """
    app = App(commands)
    with Server(app) as server:
        try:
            ready(server.address, server.address_for_once)
            server.serve_forever(poll_interval=0.2)
        finally:
            app.close()
