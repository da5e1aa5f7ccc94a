"""How a command ends: its exit code, and one line in place of a traceback."""

import errno
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from ..errors import InputError, MissingExtraError
from ..wording import printable, shown
from .console import warnings_as_lines

EXIT_UNEXPECTED, EXIT_USAGE, EXIT_BAD_INPUT, EXIT_CANNOT_WRITE, EXIT_INTERRUPTED = 1, 2, 3, 4, 130

EXIT_CODES_EXPLAINED = (
    "Exit codes: 0 done, 1 unexpected failure, 2 wrong usage, 3 input that cannot be used, "
    "4 output that cannot be written, 130 interrupted with Ctrl-C."
)


class PlainErrors(TyperGroup):
    """Runs a command; what is nobody's bug ends as one line on stderr and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        with warnings_as_lines():
            try:
                return super().invoke(ctx)
            except InputError as error:
                fail(str(error), EXIT_BAD_INPUT)
            except MissingExtraError as error:
                fail(str(error), EXIT_USAGE)
            except MemoryError:
                fail("there is not enough memory for this table.", EXIT_UNEXPECTED)
            except OSError as error:
                if error.errno == errno.EPIPE:
                    raise
                # Reading turns its own OSError into InputError: what is left comes from writing.
                fail(_cannot_write(error), EXIT_CANNOT_WRITE)
            except KeyboardInterrupt:
                fail("interrupted; unfinished files were removed.", EXIT_INTERRUPTED)


def _cannot_write(error: OSError) -> str:
    if error.filename is None:
        return error.strerror or str(error)
    return f"cannot write {shown(error.filename)}: {error.strerror}."


def fail(message: str, code: int) -> NoReturn:
    """End the command with one line on stderr."""
    typer.echo(f"error: {printable(message)}", err=True)
    raise typer.Exit(code)
