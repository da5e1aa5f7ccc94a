"""A SuperNode of Flower that ends with the process that started it, however that ends.

``python -m rootcausal.federated.flower_node`` takes the options of ``flower-supernode``.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from importlib.metadata import entry_points

SECONDS_TO_END = 10.0


def _end_with_whoever_started() -> None:
    sys.stdin.buffer.read()  # until they close it, or are gone
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(SECONDS_TO_END)
    _end_all()


def _end_all() -> None:
    """End what the SuperNode started, too, of which some would wait for it for ever."""
    if hasattr(os, "killpg"):
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


def main() -> None:
    """Run ``flower-supernode``, with all that it starts in a group of its own."""
    (command,) = entry_points(group="console_scripts", name="flower-supernode")
    run = command.load()
    if hasattr(os, "setsid"):
        os.setsid()
    threading.Thread(target=_end_with_whoever_started, daemon=True).start()
    try:
        run()
    finally:
        _end_all()


if __name__ == "__main__":
    main()
