"""One table on its way to its page: the folder where it lies, and the work on it."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Sequence
from io import BufferedIOBase
from pathlib import Path
from typing import Any, Protocol

from ..errors import InputError
from ..files.tables import table_format
from ..wording import quoted
from .job import Job

MOST_BYTES = 2 << 30
LETTERS_OF_NAME = 120
BYTES_AT_ONCE = 1 << 20
# Beside the table: of a fit, copies of it are in memory, and the page is as large again.
PAGE, MODEL = "report.html", "model.rci"
KEPT = {PAGE: "text/html; charset=utf-8", MODEL: "application/octet-stream"}

# What file systems, shells and browsers take for something else than a letter.
_UNFIT = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*\u2028\u2029]')


class Commands(Protocol):
    """The command line as the app needs it."""

    runner: Sequence[str]

    def look(self, table: str, options: Any) -> list[str]: ...

    def report(self, table: str, options: Any, model: str, page: str) -> list[str]: ...

    def line(self, arguments: Sequence[str]) -> str | None: ...

    def script(self, table: Path, options: Any) -> str: ...


class Study:
    """A table, what was asked of it, and what came out.

    Its folder is readable by this user only, and goes with it.
    """

    def __init__(self, number: int, commands: Commands) -> None:
        self.number, self._commands = number, commands
        self.folder = Path(tempfile.mkdtemp(prefix="rootcausal-"))
        self.table = ""
        self.job: Job | None = None
        self._what = ""
        self._options: Any = []

    def take(self, name: str, body: BufferedIOBase, size: int) -> None:
        """Write a table of this many bytes into the folder; InputError where it is none, or not whole."""
        self.table = safe_name(name)
        table_format(self.table)  # refuses what no command could read, before it is here
        if shutil.disk_usage(self.folder).free < 2 * size:
            raise InputError(f"there is no room for {quoted(name)} in the folder for temporary files.")
        left = size
        with open(self.folder / self.table, "xb") as file:
            while left and (piece := body.read(min(left, BYTES_AT_ONCE))):
                file.write(piece)
                left -= len(piece)
        if left:
            raise InputError(f"{quoted(name)} did not come whole: try again.")

    def look(self, options: Any) -> None:
        """Start looking at the table."""
        self._start("look", self._commands.look(self.table, options))

    def fit(self, options: Any) -> None:
        """Start what leads to the page."""
        for name in KEPT:
            (self.folder / name).unlink(missing_ok=True)
        self._options = options
        self._start("fit", self._commands.report(self.table, options, MODEL, PAGE))

    def _start(self, what: str, arguments: list[str]) -> None:
        self.stop()
        self._what, self.job = what, Job(self._commands.runner, arguments, self.folder)

    def stop(self) -> None:
        """End what is at work."""
        if self.job is not None:
            self.job.stop()

    def told(self) -> dict[str, Any]:
        """How the work stands, and what came out of it."""
        if self.job is None:
            return {"state": "none"}
        told = {"what": self._what, **self.job.told()}
        if told["state"] == "done" and self._what == "look":
            told["look"] = json.loads(self.job.printed)
        elif told["state"] == "done":
            told["printed"] = self.job.printed.splitlines()
            told["line"] = self._commands.line(self.job.arguments)
        return told

    def script(self) -> str:
        """The same in Python, once there is a result."""
        if not (self.folder / MODEL).is_file():
            raise InputError("there is no result yet.")
        return self._commands.script(self.folder / self.table, self._options)

    def close(self) -> None:
        """End the work, and remove the folder with all that is in it."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def safe_name(name: str) -> str:
    """A name for a file in a folder of ours, as near to the user's as can be, with the same ending.

    It leads to no other folder, hides nothing, and is no option.
    """
    plain = _UNFIT.sub("_", name).strip().lstrip("-.").encode("utf-8", "replace").decode()
    ending = "".join(Path(plain).suffixes[-2:]) if plain.endswith(".gz") else Path(plain).suffix
    stem = plain.removesuffix(ending)[:LETTERS_OF_NAME].strip() or "table"
    if stem + ending in KEPT:
        stem += "_"
    return stem + ending
