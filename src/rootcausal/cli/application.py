"""The command line: ``rootcausal app | demo | simulate | look | fit | explain | report | check | reproduce``.

To add a command ``name``: write ``cli/name.py`` with a function ``name``, import the module below, and
register it with one line. Heavy libraries are imported inside that function, so that ``--help`` answers at
once. Commands do not import each other: what several of them need is in ``options.py`` (their options, in
groups), ``models.py`` (what is learned or loaded) and ``console.py`` (what they print).

Here is also how every command ends: its exit code, and one line in place of a traceback.
"""

import errno
import os
import signal
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from typing import Annotated, Any, NoReturn, TextIO

import typer
from typer.core import TyperGroup

from ..errors import InputError, MissingExtraError
from ..files.memory import LEAST, memory_left
from ..version import __version__
from ..wording import shown
from . import (
    benchmark,
    browser,
    check,
    demo,
    depart,
    explain,
    federate,
    fit,
    look,
    report,
    reproduce,
    simulate,
    site,
)
from .console import complain, warnings_as_lines
from .help_text import PlainHelp, help_of, summary

EXIT_UNEXPECTED, EXIT_USAGE, EXIT_BAD_INPUT, EXIT_CANNOT_WRITE = 1, 2, 3, 4
STDERR = 2  # its file descriptor
SIGPIPE = 13  # which Windows does not have
EXIT_BY_SIGNAL = 128  # and the number of the signal, as shells have it

# All that is wrong with how a command is called: an error of Typer's own from 0.26 on, of click's before.
WrongUsage: type[BaseException] = typer.BadParameter.__mro__[-4]

EXIT_CODES_EXPLAINED = (
    "Exit codes: 0 done, 1 unexpected failure, 2 wrong usage, 3 input that cannot be used, "
    "4 output that cannot be written, 130 interrupted with Ctrl-C, 143 terminated (129 with the session), "
    "141 nobody reads what is printed."
)

STOP_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
SECONDS_OF_ONE_STOP = 1.0
SECONDS_TO_HEAR_AGAIN = 0.05


class Stopped(KeyboardInterrupt):
    """A stop signal was heard; after a plain KeyboardInterrupt, Python may lose the exit code."""


class StopSignals:
    """SIGTERM and the end of a terminal session, heard like Ctrl-C, so that whatever tidies up then does.

    Each becomes :class:`Stopped`.

    Attributes
    ----------
    heard : the last one, or None.
    """

    def __init__(self) -> None:
        self.heard: int | None = None
        self._when = float("-inf")
        self._hook: Any = sys.__unraisablehook__

    def listen(self) -> None:
        for number in STOP_SIGNALS:
            # nohup, or a shell that runs us in the background, may have it ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._stop)
        self._hook, sys.unraisablehook = sys.unraisablehook, self._lost

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

    def _lost(self, lost: Any) -> None:
        """Hear it again a little later, where Python dropped it: a callback of a compiler cannot raise."""
        if self.heard is None or not issubclass(lost.exc_type, Stopped):
            self._hook(lost)
            return
        self._when = float("-inf")
        again = threading.Timer(SECONDS_TO_HEAR_AGAIN, signal.raise_signal, (self.heard,))
        again.daemon = True
        again.start()


class PlainErrors(TyperGroup):
    """Runs a command; what is nobody's bug ends as one line on stderr and an exit code."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        commands = [(name, summary(self.get_command(ctx, name))) for name in self.list_commands(ctx)]
        formatter.write(help_of(self, ctx, commands))

    def main(self, *args: Any, **extra: Any) -> Any:
        if not extra.get("standalone_mode", True):
            return super().main(*args, **extra)
        try:
            sys.exit(super().main(*args, **{**extra, "standalone_mode": False}) or 0)
        except WrongUsage as error:
            _say_usage(error)
            sys.exit(getattr(error, "exit_code", EXIT_USAGE))
        except typer.Abort:
            sys.exit(EXIT_UNEXPECTED)

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


class Command(PlainHelp):
    """A command of which no option is given twice, unless it is one that adds up: none silently counts."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for option, times in Counter(given).items():
            if times > 1 and option.param_type_name == "option" and not (option.multiple or option.is_eager):
                named = " or ".join([option.opts[0], *option.secondary_opts])
                often = "twice" if times == 2 else f"{times} times"
                raise typer.BadParameter(f"was given {often}: give it once.", ctx, param_hint=named)
        return super().parse_args(ctx, args)


def _say_usage(error: Any) -> None:
    """Say what is wrong with the options as all other errors are said, and how to call the command."""
    if "\n" in error.format_message():  # the help, of a command without any argument
        error.show()
        return
    named = getattr(error, "param_hint", None)
    of_value = type(error) is typer.BadParameter
    if named is None and of_value and error.param is not None:
        named = error.param.opts[0]
    said = error.message.removeprefix("Value error, ") if of_value else error.format_message()
    said = f"{said[:1].lower()}{said[1:]}"
    complain(f"error: {said}" if named is None else f"error: {named}: {said}")
    context = getattr(error, "ctx", None)
    if context is not None and not of_value:
        complain(f"{context.get_usage()}\nAll options: {context.command_path} --help")


def _stop(signals: StopSignals | None) -> NoReturn:
    number = signal.SIGINT
    if signals is not None and signals.heard is not None:
        number = signal.Signals(signals.heard)
        signals.ignore()
    word = "interrupted" if number == signal.SIGINT else "terminated"
    _fail(f"{word}; unfinished files were removed.", EXIT_BY_SIGNAL + number)


def _end(error: BaseException) -> None:
    """End the command where the error is one that users can do something about."""
    if isinstance(error, InputError):
        _fail(str(error), EXIT_BAD_INPUT)
    if isinstance(error, MissingExtraError):
        _fail(str(error), EXIT_USAGE)
    # Libraries that cannot be loaded for want of memory say so in many ways.
    left = memory_left()
    if isinstance(error, MemoryError) or (left is not None and left < LEAST):
        _fail("there is not enough memory for this table.", EXIT_UNEXPECTED)
    if isinstance(error, OSError) and error.errno == errno.EPIPE:
        # Who read what is printed has gone, as head does: the end is that of all programs then.
        _print_nowhere(sys.stdout)
        raise typer.Exit(EXIT_BY_SIGNAL + SIGPIPE)
    if isinstance(error, OSError):
        # Reading turns its own OSError into InputError: what is left comes from writing.
        _fail(_cannot_write(error), EXIT_CANNOT_WRITE)


def _cannot_write(error: OSError) -> str:
    if error.filename is None:
        return error.strerror or str(error)
    return f"cannot write {shown(error.filename)}: {error.strerror}."


def _fail(message: str, code: int) -> NoReturn:
    """End the command with one line on stderr, where somebody reads that."""
    try:
        complain(f"error: {message}")
    except OSError:
        _print_nowhere(sys.stderr)
    raise typer.Exit(code)


def _print_nowhere(stream: TextIO) -> None:
    """Let a stream that cannot be written end quietly: Python would flush it once more at the end."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _open_closed_streams() -> None:
    """Print nowhere where a stream was closed (``>&-``); no file that is opened later may take its place."""
    while (place := os.open(os.devnull, os.O_RDWR)) <= STDERR:
        pass
    os.close(place)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (it lives as long as the process)


app = typer.Typer(
    cls=PlainErrors,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # its tracebacks would print patient data
    epilog=EXIT_CODES_EXPLAINED,
)

# One line a command, in the order in which --help lists them.
app.command("app", cls=Command)(browser.browser)
app.command(cls=Command)(look.look)
app.command(cls=Command)(fit.fit)
app.command(cls=Command)(explain.explain)
app.command(cls=Command)(report.report)
app.command(cls=Command)(check.check)
app.command(cls=Command)(federate.federate)
app.command(cls=Command)(site.site)
app.command(cls=Command)(simulate.simulate)
app.command(cls=Command)(demo.demo)
app.command(cls=Command)(reproduce.reproduce)
app.command(cls=Command)(depart.depart)
app.command(cls=Command)(benchmark.benchmark)


def main() -> None:
    """Run the command line."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character of a column name must not end the work.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    signals = StopSignals()
    signals.listen()
    app(prog_name="rootcausal", obj=signals)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"rootcausal {__version__}")
        raise typer.Exit


@app.callback()
def _rootcausal(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find, for each patient, the variables whose shocks led to the outcome (Root Causal Inference).

    rootcausal app                                         all in the browser
    rootcausal demo                                        a first look
    rootcausal simulate --out cohort.csv                   a cohort to try
    rootcausal look cohort.csv --target d                  is the table ready?
    rootcausal fit cohort.csv --target d --out model.rci   learn a model
    rootcausal fit c.csv --time t --event d --out m.rci    of times to an event
    rootcausal explain model.rci cohort.csv                root causes
    rootcausal report cohort.csv --target d --out d.html   a page to read
    rootcausal check cohort.csv --target d                 can they be trusted?
    rootcausal depart healthy.csv patients.csv             unlike the healthy?
    rootcausal federate --folder share --sites a,b,c       several hospitals
    rootcausal reproduce --quick                           the paper's evidence

    Tables are text (.csv, .tsv, .txt, .data, .arff, also .gz), Parquet, Excel,
    Stata or SAS.
    Nothing leaves this machine.
    """
