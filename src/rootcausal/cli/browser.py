"""``rootcausal app``: all of it on a page in the browser."""

import os
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from .console import say
from .script import as_arguments

# Without one of these, what opens may be a browser of texts, which would take over the terminal.
SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


class CommandLine:
    """What the app asks of the command line: arguments, and what runs them."""

    # No module is looked for where it runs, which is where an uploaded table lies.
    runner: Sequence[str] = (sys.executable, "-P", "-m", "rootcausal.cli.watched")

    def look(self, table: str, options: Any) -> list[str]:
        return as_arguments(table, options, "look", more=["--json"])

    def report(self, table: str, options: Any, model: str, page: str) -> list[str]:
        return as_arguments(table, options, "report", more=["--save-model", model, "--out", page])

    def line(self, arguments: Sequence[str]) -> str | None:
        from ..profiling.fit_line import as_line

        return as_line(list(arguments))

    def script(self, table: Path, options: Any) -> str:
        from .script import script_of

        return script_of(table, options)


def browser(
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open no browser.")
    ] = False,
) -> None:
    """From a table to the page of its patients in the browser, without typing commands.

    A page opens that this machine serves to itself: nobody else gets in without
    the address that is printed, and nothing leaves the machine. Drop a table on
    it, answer what it asks, and read, or save, what comes out. Ctrl-C or "Close"
    on the page ends it, and removes what was uploaded.

    rootcausal app
    rootcausal app --no-browser
    """
    from ..app import serve

    def ready(address: str, once: str) -> None:
        say(f"the app is at {address}", to_paste=True)
        say("this address is its key, on this machine only; Ctrl-C ends it, and removes what was uploaded")
        screen = sys.platform in ("win32", "darwin") or any(name in os.environ for name in SCREENS)
        if screen and not no_browser:
            webbrowser.open(once)
        sys.stdout.flush()

    serve(CommandLine(), ready)
