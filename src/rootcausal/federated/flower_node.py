"""A SuperNode of Flower that ends with the process that started it, however that ends.

python -m rootcausal.federated.flower_node OPTIONS OF flower-supernode
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from importlib.metadata import entry_points


def _end_with_whoever_started() -> None:
    sys.stdin.buffer.read()  # until they close it, or are gone
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Run ``flower-supernode``."""
    (command,) = entry_points(group="console_scripts", name="flower-supernode")
    run = command.load()
    threading.Thread(target=_end_with_whoever_started, daemon=True).start()
    run()


if __name__ == "__main__":
    main()
