"""``rootcausal reproduce``: the paper's tables and figures, from one command."""

import importlib.util
import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..errors import InputError, MissingExtraError
from ..wording import shown
from .console import say


class What(StrEnum):
    """The experiments; ``all`` is every one of them."""

    all = "all"
    rbo = "rbo"
    mse = "mse"
    speedup = "speedup"
    scaling = "scaling"
    pbc = "pbc"
    fhs = "fhs"


def reproduce(
    what: Annotated[What, typer.Argument(help="Which experiment.")] = What.all,
    reps: Annotated[
        int | None,
        typer.Option(min=2, help="Data sets a cell, or bootstrap samples.", show_default="as the paper"),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Names with commas between: RCI, ICA, CO, MS, HPC, TT, LR, or package.module:Class.",
            show_default="all",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(file_okay=False, help="Folder for rows, tables and figures.")] = Path(
        "reproduction"
    ),
    jobs: Annotated[int, typer.Option(help="How many data sets at once; -1 is one a core.")] = -1,
    quick: Annotated[bool, typer.Option("--quick", help="Everything in small, within minutes.")] = False,
    framingham: Annotated[
        Path | None,
        typer.Option(dir_okay=False, exists=True, help="The Framingham table; otherwise pip fetches it."),
    ] = None,
) -> None:
    """Run the experiments of the paper again, and write its tables and figures with ours beside.

    Rows are kept as they come: the same command goes on where it was stopped.
    The tables: rbo (accuracy), mse, speedup, scaling; the cohorts: pbc, fhs.

    rootcausal reproduce --quick
    rootcausal reproduce rbo --reps 20 --methods RCI,HPC,my_module:MyMethod
    rootcausal reproduce --out results/paper
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtraError("the figures need matplotlib: pip install 'rootcausal[plots]'")

    from joblib import effective_n_jobs

    from ..experiments.methods import find_method
    from ..experiments.outputs import Made, write_results
    from ..experiments.runner import run
    from ..experiments.spec import EXPERIMENTS, Scope

    names = list(EXPERIMENTS) if what is What.all else [what.value]
    chosen = tuple(name.strip() for name in methods.split(",")) if methods else None
    if jobs == 0:
        raise typer.BadParameter("0 jobs would do nothing; -1 is one a core.", param_hint="--jobs")
    if chosen:
        # A class of the user's own usually lies in the folder where the command is given.
        sys.path.insert(0, str(Path.cwd()))
        for name in chosen:
            find_method(name)
    scope = Scope(reps, chosen, quick, str(framingham) if framingham else None)
    left_out = _without_framingham(names, scope.framingham)
    tasks = [task for name in names for task in EXPERIMENTS[name].tasks(scope)]
    try:
        run(tasks, out / "rows", seed=scope.seed, jobs=jobs, progress=sys.stderr.isatty())
    except KeyboardInterrupt:
        say(f"rows so far are kept in {shown(out / 'rows')}: the same command goes on from there")
        raise
    made = Made(shlex.join(["rootcausal", *sys.argv[1:]]), effective_n_jobs(jobs))
    found = write_results(names, scope, out, made)
    for each in found.values():
        for table in each.tables.values():
            say()
            say(table.to_markdown())
    say(f"rows, tables and figures written to {shown(out)}")
    if left_out is not None:
        raise InputError(f"all but fhs is done: {left_out}")


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
        return error
    return None
