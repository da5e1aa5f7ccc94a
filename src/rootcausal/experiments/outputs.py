"""Writes what the experiments found: a page of everything, each table and figure as files of their own."""

from __future__ import annotations

import io
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..files.writing import atomic_write
from ..version import __version__
from .rows import Row, read_rows
from .runner import Task
from .spec import EXPERIMENTS, Scope, Shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FRAMINGHAM_NOTE = (
    "The Framingham table is the teaching data set of the US National Heart, Lung, and Blood Institute: it "
    "was altered to keep participants anonymous and is not for findings about people. It checks methods here."
)

METHOD_NOTE = (
    'RCI is `RCI(attribution="paper")`, the method as published; the package\'s default attribution is '
    "sharper. p counts the diagnosis."
)


@dataclass(frozen=True)
class Made:
    """How results were made: the command line, and how many jobs ran at once."""

    command: str
    jobs: int


def rows_of(tasks: Sequence[Task], folder: Path, seed: int) -> list[Row]:
    """The rows of these tasks, where they are there; each once."""
    wanted: dict[str, set[tuple[int, str]]] = {}
    for task in tasks:
        wanted.setdefault(task.file, set()).update((task.number, name) for name in task.methods)
    return [
        row
        for name, keys in wanted.items()
        if (path := folder / f"{name}.parquet").exists()
        for row in read_rows(path, seed)
        if (row.number, row.method) in keys
    ]


def write_results(names: Sequence[str], scope: Scope, out: Path, made: Made, page: str) -> dict[str, Shown]:
    """Write tables and figures of these experiments from the rows at hand, and a page of all of them."""
    shown = {}
    for name in names:
        experiment = EXPERIMENTS[name]
        shown[name] = experiment.show(scope, rows_of(experiment.tasks(scope), out / "rows", scope.seed))
    for folder in ("tables", "figures"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    for each in shown.values():
        for stem, table in each.tables.items():
            _write(out / "tables" / f"{stem}.md", table.to_markdown())
            _write(out / "tables" / f"{stem}.tex", table.to_latex())
        for stem, figure in each.figures.items():
            _write_figure(out / "figures" / stem, figure)
    _write(out / page, _page(shown, scope, made))
    return shown


def _page(shown: dict[str, Shown], scope: Scope, made: Made) -> str:
    beyond = list(shown) == ["nonlinear"]
    drawn = any(each.figures for each in shown.values())
    figures = ", each figure in `figures/` as PNG and SVG" if drawn else ""
    parts = [
        "# RCI where relations bend\n" if beyond else "# The paper's experiments, run again\n",
        f"Made by `{made.command}` with rootcausal {__version__}, seed {scope.seed}, {made.jobs} at a time, "
        f"on {_machine()}. Every number comes from the rows in `rows/`; each table is also in `tables/` as "
        f"Markdown and LaTeX{figures}.\n",
        "p counts the diagnosis.\n" if beyond else f"{METHOD_NOTE}\n",
    ]
    for name, each in shown.items():
        parts.append(f"## {name}\n")
        parts += [table.to_markdown() for table in each.tables.values()]
        parts += [f"![{stem}](figures/{stem}.png)\n" for stem in each.figures]
    if "fhs" in shown:
        parts.append(f"{FRAMINGHAM_NOTE}\n")
    return "\n".join(parts)


def _machine() -> str:
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
        model = next(
            (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model
        )
    return f"{model} with {os.cpu_count()} cores, Python {platform.python_version()}"


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as handle:
        handle.write(text.encode())


def _write_figure(stem: Path, figure: Figure) -> None:
    import matplotlib

    # Without a date and with fixed ids, the same rows give the same file.
    with matplotlib.rc_context({"svg.hashsalt": "rootcausal"}):
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
            content = io.BytesIO()
            figure.savefig(content, format=kind, dpi=150, metadata=metadata)
            with atomic_write(stem.with_name(f"{stem.name}.{kind}")) as handle:
                handle.write(content.getvalue())
