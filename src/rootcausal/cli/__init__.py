"""The command line: ``rootcausal demo | simulate | fit | explain | report | check | reproduce``.

To add a command ``name``: write ``cli/name.py`` with a function ``name``, import the module below, and
register it with one line. Heavy libraries are imported inside that function, so that ``--help`` answers at
once.
"""

import sys
from typing import Annotated

import typer

from ..version import __version__
from . import check, demo, explain, fit, report, reproduce, simulate
from .exit_codes import EXIT_CODES_EXPLAINED, PlainErrors
from .stop_signals import StopSignals

app = typer.Typer(
    cls=PlainErrors,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # its tracebacks would print patient data
    epilog=EXIT_CODES_EXPLAINED,
)

# One line a command, in the order in which --help lists them.
app.command()(fit.fit)
app.command()(explain.explain)
app.command()(report.report)
app.command()(check.check)
app.command()(simulate.simulate)
app.command()(demo.demo)
app.command()(reproduce.reproduce)


def main() -> None:
    """Run the command line."""
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
    """Find, for each patient, the variables whose shocks led to the diagnosis (Root Causal Inference).

    rootcausal demo                                        a first look
    rootcausal simulate --out cohort.csv                   a cohort to try
    rootcausal fit cohort.csv --target d --out model.rci   learn a model
    rootcausal explain model.rci cohort.csv                root causes
    rootcausal report cohort.csv --target d --out d.html   a page to read
    rootcausal check cohort.csv --target d                 can they be trusted?
    rootcausal reproduce --quick                           the paper's evidence

    Tables are CSV (UTF-8, commas) or Parquet. Nothing leaves this machine.
    """
