"""Flower as the way between coordinator and sites: TLS, and one port, at the coordinator.

Messages are files in a folder of the coordinator and in one of each site, as they are in
:mod:`.folder`; Flower keeps these in step (:mod:`.flower_apps`). Here its programs are started: a SuperNode
beside a site, and the run of the apps beside the coordinator. Both end with whoever started them.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import BinaryIO

from ..errors import InputError, MissingExtraError
from ..wording import one_line, shown
from .folder import end_file, session_in, write

SECONDS_A_LOOK = 0.2
SECONDS_TO_START = 120.0
SECONDS_TO_END = 90.0
LOG = "flower.log"
#: Flower tells its makers of each start, and asks them for newer versions, unless it is told not to.
QUIET = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
NEWS = ("INFO", "For more information", "Using SuperLink", "Error")
_COLOUR = re.compile(r"\x1b\[\d*m")

# The apps are those of the package that is installed at each place: no code travels.
APP = """[project]
name = "rootcausal-sites"
version = "1.0.0"
description = "Carries requests for sums, and their answers"
license = "Apache-2.0"
dependencies = []

[tool.flwr.app]
publisher = "rootcausal"

[tool.flwr.app.components]
serverapp = "rootcausal.federated.flower_apps:server_app"
clientapp = "rootcausal.federated.flower_apps:client_app"

[tool.flwr.app.config]
folder = {folder}
wish = {wish}
"""
CONNECTION = """[superlink]
default = "sites"

[superlink.sites]
address = {address}
"""


def refuse_missing(root_certificates: Path | None) -> None:
    """Refuse what cannot be begun: Flower is not installed, or the certificates are not there."""
    if find_spec("flwr") is None:
        raise MissingExtraError("a SuperLink needs Flower: pip install 'rootcausal[flower]'")
    if root_certificates is not None and not root_certificates.is_file():
        raise InputError(f"there are no certificates at {shown(root_certificates)}")


@contextmanager
def supernode(
    site: str, folder: Path, home: Path, superlink: str, root_certificates: Path | None
) -> Iterator[Callable[[], None]]:
    """Run a SuperNode that brings requests into a folder; yields what raises once it has ended.

    Parameters
    ----------
    site : its name.
    folder : where :func:`.folder.serve_folder` looks for requests.
    home : a folder for what Flower keeps, its log among it.
    superlink : host:port of the coordinator's SuperLink.
    root_certificates : of whoever vouches for it; None takes those of the system.
    """
    folder.mkdir(parents=True, exist_ok=True)
    about = f"site={json.dumps(site)} folder={json.dumps(str(folder.absolute()))}"
    command = [sys.executable, "-m", "rootcausal.federated.flower_node", "--superlink", superlink]
    command += ["--port", str(_free_port()), "--node-config", about]
    if root_certificates is not None:
        command += ["--root-certificates", str(root_certificates.absolute())]
    with _logged(home) as log:
        node = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, env=_environment(home)
        )
    assert node.stdin is not None

    def refuse_ended() -> None:
        if node.poll() is not None:
            raise InputError(
                f"Flower's SuperNode has ended: {_problem(home)} ({shown(home / LOG)} says more)"
            )

    try:
        yield refuse_ended
    finally:
        node.stdin.close()  # which it takes for the end
        try:
            node.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            node.kill()
            node.wait()


@contextmanager
def carried(folder: Path, superlink: str, root_certificates: Path | None) -> Iterator[None]:
    """Have Flower carry the messages of a folder while this lasts, and what the session ended with.

    Parameters
    ----------
    folder : that of a :class:`.folder.FolderTransport`; the SuperLink must be able to reach it.
    superlink, root_certificates : see :func:`supernode`.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder {shown(folder)}: make one, for what is asked and answered")
    home = folder / "flower"
    wishes, app = home / "wishes", home / "app"
    for old in wishes.glob("*"):  # of a coordinator that was killed: nobody carries twice
        old.unlink()
    wish = wishes / secrets.token_hex(8)
    write(wish, b"")
    places = {"folder": folder.absolute(), "wish": wish.absolute()}
    write(app / "pyproject.toml", APP.format(**{k: json.dumps(str(v)) for k, v in places.items()}).encode())
    connection = CONNECTION.format(address=json.dumps(superlink))
    if root_certificates is not None:
        connection += f"root-certificates = {json.dumps(str(root_certificates.absolute()))}\n"
    write(home / "config.toml", connection.encode())
    try:
        _await(lambda: _listens(superlink), SECONDS_TO_START)
        _run(home, app)
        _await(lambda: not wish.exists() or wish.stat().st_size > 0, SECONDS_TO_START)
        if not wish.exists() or wish.stat().st_size == 0:
            raise InputError(
                "Flower's ServerApp does not start: see that the SuperLink runs on this machine, in an "
                f"environment with rootcausal[flower], and may read and write {shown(folder)}"
            )
        yield
    finally:
        session = session_in(folder)
        if session is not None and end_file(folder, session).exists():
            _await(lambda: not wish.exists(), SECONDS_TO_END)  # until the sites know
        wish.unlink(missing_ok=True)


def _run(home: Path, app: Path) -> None:
    """Submit the apps to the SuperLink."""
    around = _environment(home)
    command = [shutil.which("flwr", path=around["PATH"]) or "flwr", "run", str(app.absolute())]
    done = subprocess.run(command, env=around, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    with _logged(home) as log:
        log.write((done.stdout + done.stderr).encode())
    if done.returncode != 0:
        raise InputError(f"Flower cannot run: {_problem(home)} ({shown(home / LOG)} says more)")


def _environment(home: Path) -> Mapping[str, str]:
    """Flower finds its programs beside this Python, and keeps what it keeps in one folder."""
    paths = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    return {
        **os.environ,
        **QUIET,
        "PATH": os.pathsep.join(paths),
        "FLWR_HOME": str(home.absolute()),
        "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.2",
    }


@contextmanager
def _logged(home: Path) -> Iterator[BinaryIO]:
    home.mkdir(parents=True, exist_ok=True)
    with open(home / LOG, "ab") as log:
        yield log


def _problem(home: Path) -> str:
    """What Flower said was wrong: its last lines that are no mere news, without colours and frames."""
    text = _COLOUR.sub("", (home / LOG).read_text(encoding="utf-8", errors="replace"))
    lines = [line.strip(" │╭╮╰╯─") for line in text.splitlines()]
    said = [line for line in lines if any(map(str.isalnum, line)) and not line.startswith(NEWS)]
    return one_line(" ".join(said[-3:]), 400) or "it does not say why"


def _listens(superlink: str) -> bool:
    host, _, port = superlink.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), SECONDS_A_LOOK):
            return True
    except (OSError, ValueError):
        return False


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _await(met: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not met() and time.monotonic() < until:
        time.sleep(SECONDS_A_LOOK)
