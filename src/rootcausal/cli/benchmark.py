"""``rootcausal benchmark``: methods that name root causes, on real systems with known answers."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from ..errors import InputError
from ..files.writing import atomic_write, cannot_write
from ..version import __version__
from ..wording import shown
from .console import say, status_if_slow

CARD = "README.md"


def benchmark(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="light-tunnel, light-tunnel-unseen, sock-shop, petshop, tennessee-eastman, causrca, or "
            "package.module:Class for one of your own."
        ),
    ],
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            file_okay=False,
            exists=True,
            metavar="FOLDER",
            help="Folder with the files of the sources, each in a folder of its name.",
        ),
    ],
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Names with commas between, as the card has them (with a comma in a name, a semicolon "
            "between); or package.module:Class for one of your own.",
            show_default="all",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="How many draws of rows.")] = 3,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", file_okay=False, metavar="FOLDER", help="Folder for the card."),
    ] = Path("real-systems"),
) -> None:
    """Compare methods that name root causes on real systems with known answers, in one card.

    The files are public; docs/real-systems.md says where each is from. The same
    rows go to every method, in one process. Times are those of this machine.

    rootcausal benchmark light-tunnel sock-shop --data downloads
    rootcausal benchmark light-tunnel --data downloads --methods z-score
    rootcausal benchmark mine:MySystem --data folder --methods mine:Mine
    """
    from ..systems.card import run_source, table_of
    from ..systems.methods import METHODS, find_method
    from ..systems.sources import find_source, folder_of

    # A class of the user's own usually lies in the folder where the command is given.
    sys.path.insert(0, str(Path.cwd()))
    named = list(METHODS) if methods is None else _split(methods)
    chosen = [find_method(name) for name in dict.fromkeys(named)]
    found = [find_source(name) for name in dict.fromkeys(sources)]
    tables = []
    for source in found:
        with status_if_slow(f"comparing {len(chosen)} methods on {source.name}"):
            results = run_source(source, folder_of(source, data), chosen, range(seeds))
        if not results:
            raise InputError(f"none of these methods has a place in {source.name}")
        tables.append(table_of(source, results, range(seeds)))
        say()
        say(tables[-1].to_markdown())
    command = shlex.join(["rootcausal", *sys.argv[1:]])
    text = "\n".join(
        ["# Real systems with known answers\n", f"`{command}`, rootcausal {__version__}.\n"]
        + [table.to_markdown() for table in tables]
    )
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(out, error) from error
    with atomic_write(out / CARD) as handle:
        handle.write(text.encode("utf-8"))
    say(f"card written to {shown(out / CARD)}")


def _split(methods: str) -> list[str]:
    """Names, with semicolons between them where one has a comma."""
    return [name.strip() for name in methods.split(";" if ";" in methods else ",")]
