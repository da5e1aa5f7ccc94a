"""How a command ends: its exit code, and one line in place of a traceback."""

import errno
import signal
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from ..errors import InputError, MissingExtraError
from ..wording import printable, shown
from .console import warnings_as_lines
from .stop_signals import StopSignals

EXIT_UNEXPECTED, EXIT_USAGE, EXIT_BAD_INPUT, EXIT_CANNOT_WRITE = 1, 2, 3, 4
EXIT_BY_SIGNAL = 128  # and the number of the signal, as shells have it

EXIT_CODES_EXPLAINED = (
    "Exit codes: 0 done, 1 unexpected failure, 2 wrong usage, 3 input that cannot be used, "
    "4 output that cannot be written, 130 interrupted with Ctrl-C, 143 terminated (129 with the session)."
)


class PlainErrors(TyperGroup):
    """Runs a command; what is nobody's bug ends as one line on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        with warnings_as_lines():
            try:
                return super().invoke(ctx)
            except (typer.Exit, typer.Abort):
                raise
            except (Exception, KeyboardInterrupt) as error:
                signals = ctx.find_object(StopSignals)
                # Libraries may turn an interrupt into an error of their own.
                if isinstance(error, KeyboardInterrupt) or (signals is not None and signals.heard):
                    _stop(signals)
                _end(error)
                raise


def _stop(signals: StopSignals | None) -> NoReturn:
    number = signal.SIGINT
    if signals is not None and signals.heard is not None:
        number = signal.Signals(signals.heard)
        signals.ignore()
    word = "interrupted" if number == signal.SIGINT else "terminated"
    fail(f"{word}; unfinished files were removed.", EXIT_BY_SIGNAL + number)


def _end(error: BaseException) -> None:
    """End the command where the error is one that users can do something about."""
    if isinstance(error, InputError):
        fail(str(error), EXIT_BAD_INPUT)
    if isinstance(error, MissingExtraError):
        fail(str(error), EXIT_USAGE)
    if isinstance(error, MemoryError):
        fail("there is not enough memory for this table.", EXIT_UNEXPECTED)
    if isinstance(error, OSError) and error.errno != errno.EPIPE:
        # Reading turns its own OSError into InputError: what is left comes from writing.
        fail(_cannot_write(error), EXIT_CANNOT_WRITE)


def _cannot_write(error: OSError) -> str:
    if error.filename is None:
        return error.strerror or str(error)
    return f"cannot write {shown(error.filename)}: {error.strerror}."


def fail(message: str, code: int) -> NoReturn:
    """End the command with one line on stderr."""
    typer.echo(f"error: {printable(message)}", err=True)
    raise typer.Exit(code)
