"""``rootcausal reproduce``: the paper's tables and figures, from one command."""

import importlib.util
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError, MissingExtraError
from ..files.tables import refuse_streams
from ..files.writing import cannot_write
from ..wording import plural, printable, shown
from .console import say

if TYPE_CHECKING:
    from ..experiments.spec import Scope


class What(StrEnum):
    """The experiments; ``all`` is every one of them."""

    all = "all"
    rbo = "rbo"
    mse = "mse"
    speedup = "speedup"
    scaling = "scaling"
    pbc = "pbc"
    fhs = "fhs"
    nonlinear = "nonlinear"


def reproduce(
    what: Annotated[
        What, typer.Argument(help="Which experiment: all, rbo, mse, speedup, scaling, pbc or fhs.")
    ] = What.all,
    reps: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Data sets a cell, or bootstrap samples.",
            show_default="as in results/paper",
        ),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Names with commas between: RCI, ICA, CO, MS, HPC, TT, LR, 'RCI original', 'RCI linear', "
            "'RCI nonlinear', 'RCI auto', or package.module:Class for one of your own.",
            show_default="all",
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", file_okay=False, metavar="FOLDER", help="Folder for rows, tables and figures."
        ),
    ] = Path("reproduction"),
    jobs: Annotated[
        int, typer.Option(metavar="N", help="How many data sets at once; -1 is one a core.")
    ] = -1,
    quick: Annotated[bool, typer.Option("--quick", help="Everything in small, within minutes.")] = False,
    framingham: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            exists=True,
            metavar="FILE",
            help="The Framingham table; otherwise pip fetches it.",
        ),
    ] = None,
) -> None:
    """Run the experiments of the paper again, and write its tables and figures with ours beside.

    Rows are kept as they come: the same command goes on where it was stopped.
    The tables: rbo (accuracy), mse, speedup, scaling; the cohorts: pbc, fhs.
    Beyond the paper: nonlinear, RCI on nonlinear relations.

    rootcausal reproduce --quick
    rootcausal reproduce rbo --reps 20 --methods RCI,HPC,my_module:MyMethod
    rootcausal reproduce --out results/paper
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtraError("the figures need matplotlib: pip install 'rootcausal[plots]'")

    if jobs == 0:
        raise typer.BadParameter("0 jobs would do nothing; -1 is one a core.", param_hint="--jobs")

    if framingham is not None:
        refuse_streams(framingham)

    from ..experiments.runner import run
    from ..experiments.spec import EXPERIMENTS, Scope

    scope = Scope(reps, _chosen(methods), quick, str(framingham) if framingham else None)
    asked = list(EXPERIMENTS) if what is What.all else [what.value]
    names = [name for name in asked if scope.has_place_in(EXPERIMENTS[name])]
    if not names:
        raise InputError(
            f"none of these methods has a place in {what.value}: see rootcausal reproduce --help"
        )
    left_out = _without_framingham(names, scope.framingham)
    _make_folder(out / "rows")
    tasks = [task for name in names for task in EXPERIMENTS[name].tasks(scope)]
    try:
        kept = run(tasks, out / "rows", seed=scope.seed, jobs=jobs, progress=sys.stderr.isatty())
    except KeyboardInterrupt:
        say(f"rows so far are kept in {shown(out / 'rows')}: the same command goes on from there")
        raise
    # The page of everything is not to be replaced by that of one experiment.
    _show(names, scope, out, jobs, "README.md" if what is What.all else f"{what.value}.md")
    if kept:
        say(f"{plural(kept, 'row')} were there already; delete {shown(out / 'rows')} to make them anew")
    say(f"rows, tables and figures written to {shown(out)}")
    if left_out is not None:
        raise InputError(f"all but fhs is done: {left_out}")


def _chosen(methods: str | None) -> tuple[str, ...] | None:
    """Names with commas between, each of them a method."""
    if methods is None:
        return None
    from ..experiments.methods import find_method

    # A class of the user's own usually lies in the folder where the command is given.
    sys.path.insert(0, str(Path.cwd()))
    names = tuple(dict.fromkeys(name.strip() for name in methods.split(",")))
    for name in names:
        find_method(name)
    return names


def _show(names: list[str], scope: "Scope", out: Path, jobs: int, page: str) -> None:
    """Write and print the tables, and write the figures."""
    from joblib import effective_n_jobs

    from ..experiments.outputs import Made, write_results

    made = Made(shlex.join(["rootcausal", *sys.argv[1:]]), effective_n_jobs(jobs))
    for each in write_results(names, scope, out, made, page).values():
        for table in each.tables.values():
            say()
            say(table.to_markdown())


def _without_framingham(names: list[str], path: str | None) -> InputError | None:
    """Where the Framingham table cannot be had, leave its experiment out of several and say why."""
    if "fhs" not in names:
        return None
    from ..data import load_framingham

    try:
        load_framingham(path) if path else load_framingham(download=True)
    except InputError as error:
        if len(names) == 1:
            raise
        names.remove("fhs")
        told = f"warning: fhs is left out: {error}; or name a copy with --framingham FILE"
        typer.echo(printable(told), err=True)
        return error
    return None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from error
