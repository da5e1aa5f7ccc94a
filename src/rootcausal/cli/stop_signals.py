"""SIGTERM and the end of a terminal session, heard like Ctrl-C, so that whatever tidies up then does."""

import signal
import time
from typing import Any

STOP_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
SECONDS_OF_ONE_STOP = 1.0


class Stopped(KeyboardInterrupt):
    """One of the signals was heard; after a plain KeyboardInterrupt, Python may lose the exit code."""


class StopSignals:
    """Turns each such signal into :class:`Stopped`.

    Attributes
    ----------
    heard : the last one, or None.
    """

    def __init__(self) -> None:
        self.heard: int | None = None
        self._when = float("-inf")

    def listen(self) -> None:
        for number in STOP_SIGNALS:
            # nohup, or a shell that runs us in the background, may have it ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._stop)

    def ignore(self) -> None:
        """Hear no more of them: the command is ending."""
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def _stop(self, number: int, _: Any) -> None:
        # Some programs signal us and then all of our group: a second time would disturb the tidying up.
        now = time.monotonic()
        if now - self._when > SECONDS_OF_ONE_STOP:
            self.heard, self._when = number, now
            raise Stopped
