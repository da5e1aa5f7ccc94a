"""A command at work in a process of its own: how far it is, what it said, and how to stop it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from ..progress.watching import MARK

SECONDS_TO_END = 3.0
LINES_KEPT = 500


class Job:
    """A command of ``rootcausal``, started in a folder.

    It is the command that people type, in a process of its own: what it does is what the command line does,
    it may take what memory it needs, and stopping it stops all of it.

    Parameters
    ----------
    command : what runs a command of ``rootcausal`` and tells how far it is.
    arguments : of the command.
    folder : where it runs, and where its files are.
    """

    def __init__(self, command: Sequence[str], arguments: Sequence[str], folder: Path) -> None:
        self.arguments = list(arguments)
        self._began, self._ended = time.monotonic(), 0.0
        self._progress: dict[str, Any] = {}
        self._said: list[str] = []
        self._stopped = False
        self._lock = threading.Lock()
        # In its own session, so that a signal reaches its workers too; no module is looked for in the folder.
        self._process = subprocess.Popen(
            [*command, *self.arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
            env={**os.environ, "PYTHONSAFEPATH": "1", "PYTHONIOENCODING": "utf-8"},
        )
        self._printed = ""
        self._readers = [
            threading.Thread(target=self._read_output, args=(self._process.stdout,), daemon=True),
            threading.Thread(target=self._read_progress, args=(self._process.stderr,), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read_output(self, stream: IO[str]) -> None:
        with stream:
            self._printed = stream.read()

    def _read_progress(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                if line.startswith(MARK):
                    with suppress(ValueError):  # cut off, where the end came in its middle
                        self._progress = json.loads(line.removeprefix(MARK))
                elif line.strip() and len(self._said) < LINES_KEPT:
                    self._said.append(line.rstrip("\n"))

    @property
    def running(self) -> bool:
        """Whether it is still at work, or what it said is not yet read."""
        ended = self._process.poll() is not None
        if ended and not self._ended:
            self._ended = time.monotonic()
        return not ended or any(reader.is_alive() for reader in self._readers)

    def wait(self) -> None:
        """Wait until it ends."""
        self._process.wait()
        for reader in self._readers:
            reader.join(SECONDS_TO_END)  # what it started may still hold its streams

    def stop(self) -> None:
        """End it and all that it started, if it is still at work; kindly first."""
        with self._lock:
            if self._process.poll() is not None:
                return
            self._stopped = True
            self._signal(signal.SIGTERM)
            try:
                self._process.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                self._signal(getattr(signal, "SIGKILL", signal.SIGTERM))
        self.wait()

    def _signal(self, number: int) -> None:
        if sys.platform == "win32":
            self._process.terminate()
            return
        with suppress(ProcessLookupError):  # it has just ended
            os.killpg(self._process.pid, number)

    @property
    def printed(self) -> str:
        """What it printed, once it has ended."""
        return self._printed

    def told(self) -> dict[str, Any]:
        """How it stands, for the page."""
        state = "running"
        if not self.running:
            state = "stopped" if self._stopped else "done" if self._process.returncode == 0 else "failed"
        until = time.monotonic() if state == "running" else self._ended
        return {
            "state": state,
            "progress": self._progress,
            "said": list(self._said),
            "seconds": round(until - self._began, 1),
        }
